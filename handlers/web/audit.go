package web

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"mishap/crash"
	"mishap/crash/audit"
	"mishap/db"
	"mishap/handlers/proxies"
	eventsview "mishap/views/events"
)

// recordedRoutes are changes that only the middleware records, with the actions of their records. A
// new route that leaves no record itself, or one whose request changed nothing, gets the action
// audit.RequestOther.
var recordedRoutes = map[string]string{
	"POST /problem/{id}/recheck":        "tracker.recheck",
	"POST /oops/{id}/symbolise":         "symbols.retry",
	"POST /account/notifications/test":  "mail.test",
	"POST /logout":                      "user.sign-out",
	"POST /admin/mail/test":             "mail.test",
	"POST /admin/mail/{id}/retry":       "mail.retry",
	"POST /admin/tracker/request-token": "tracker.request",
}

// UnrecordedRoutes are routes with a method for changes that leave no record, with the reasons.
var UnrecordedRoutes = map[string]string{
	"POST /login/openid":                   "begins a sign-in, whose result is recorded",
	"POST /login/openid/return":            "passes an answer on to a page, which records the sign-in",
	"POST /login/oidc":                     "begins a sign-in, whose result is recorded",
	"POST /account/identities/{id}/unlink": "records itself unless it is refused",
	"POST /account/identities/link":        "begins to connect, whose result is recorded",
	"POST /inbox/read":                     "marks of the reader",
	"POST /inbox/unread":                   "marks of the reader",
	"POST /my/seen":                        "marks of the reader",
	"POST /problems/chosen":                "a choice that only the page holds",
	"POST /admin/regroup":                  "a trial that changes nothing",
	"POST /admin/tracker/check":            "a trial that changes nothing",
	"POST /api/1.0/*":                      "questions whose text is too long for an address",
	"POST /problem/{id}/review":            "a draft, or a filing that records itself",
	"POST /api/1.0/set-problem-status":     "records itself, for each problem that it changes",
	"POST /api/1.0/set-problem-status/":    "records itself, for each problem that it changes",
	"POST /api/1.0/problem-people":         "records itself, for each problem that it changes",
	"POST /api/1.0/problem-people/":        "records itself, for each problem that it changes",
	"POST /api/1.0/create-bug-report":      "records itself unless there is a bug already",
	"POST /api/1.0/create-bug-report/":     "records itself unless there is a bug already",
}

// auditTimeout bounds writing a record after an answer, whose deadline may have passed.
const auditTimeout = 5 * time.Second

// refusalPeriod is the time within which equal refusals are one record. Failed sign-ins have
// signInPeriod.
const (
	refusalPeriod = time.Hour
	signInPeriod  = time.Minute
)

// Auditor records what people and programs do in the audit log.
type Auditor struct {
	store *db.Store
	log   *slog.Logger
}

// NoteAddress sets the address of the actor, once the trusted proxies are known.
func (s *Kit) NoteAddress(next http.Handler) http.Handler {
	return s.Config.TrustedProxies.Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if address := proxies.Client(r); address.IsValid() {
			VisitOf(r).actor.Address = address.String()
		}
		next.ServeHTTP(w, r)
	}))
}

// RecordChanges returns a handler that records requests with a method for changes that succeed, unless
// their handler has left a record. It does so before the first byte of the answer.
func (s *Auditor) RecordChanges(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if SafeMethods[r.Method] {
			next.ServeHTTP(w, r)
			return
		}
		recorder := &changeRecorder{ResponseWriter: w, record: func(status int) { s.recordChange(r, status) }}
		next.ServeHTTP(recorder, r)
		if r.Context().Err() == nil { // else nothing was sent because the visitor left before the change
			recorder.begin(http.StatusOK)
		}
	})
}

func (s *Auditor) recordChange(r *http.Request, status int) {
	v := VisitOf(r)
	route := r.Method + " " + chi.RouteContext(r.Context()).RoutePattern()
	if status >= http.StatusBadRequest || v.actor.Recorded() || UnrecordedRoutes[route] != "" {
		return
	}
	action := recordedRoutes[route]
	if v.actor.Kind == audit.Visitor {
		return // only a page that asks to sign in answers visitors without an error
	}
	if action == "" {
		action = audit.RequestOther
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), auditTimeout)
	defer cancel()
	if err := s.store.AuditAlone(ctx, db.AuditEvent{Action: action, Subject: auditedRequest(r)}); err != nil {
		s.log.ErrorContext(ctx, "a change was made but not recorded", "request_id", v.id, "route", route, "error", err)
	}
}

// changeRecorder calls record before the first byte of an answer.
type changeRecorder struct {
	http.ResponseWriter
	record func(status int)
	begun  bool
}

func (w *changeRecorder) begin(status int) {
	if !w.begun && status >= http.StatusOK {
		w.begun = true
		w.record(status)
	}
}

func (w *changeRecorder) WriteHeader(status int) {
	w.begin(status)
	w.ResponseWriter.WriteHeader(status)
}

func (w *changeRecorder) Write(b []byte) (int, error) {
	w.begin(http.StatusOK)
	return w.ResponseWriter.Write(b)
}

// Unwrap implements the interface that [http.ResponseController] uses.
func (w *changeRecorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// auditedRequest returns the method and path of a request, without the secrets that mail programs have.
func auditedRequest(r *http.Request) string {
	path := r.URL.Path
	for _, secret := range []string{eventsview.PathUnsubscribe, eventsview.PathNotifications + "/confirm/"} {
		if strings.HasPrefix(path, secret) {
			path = secret + "…"
		}
	}
	return r.Method + " " + crash.Truncate(strings.ToValidUTF8(path, ""), 200)
}

// auditRefusal records a refusal: of a signed-in person or token, of a request that may come from
// another site, and of too many requests. Most requests of visitors that need signing in are no
// attempts at anything, so they leave no record.
func (s *Auditor) auditRefusal(r *http.Request, a Answer) {
	v := VisitOf(r)
	if v.actor == nil {
		return
	}
	switch {
	case a.Kind == crash.Forbidden && v.actor.Kind != audit.Visitor, a.Kind == crash.TooMany:
	case a.Kind == crash.Unauthenticated && (v.actor.Kind != audit.Visitor || r.Header.Get("Authorization") != ""):
	case a.Kind == crash.Unauthenticated && a.Code != ErrNotSignedIn.Code && isSignIn(r.URL.Path):
	default:
		return
	}
	e := db.AuditEvent{Action: audit.RequestRefused, Subject: auditedRequest(r), Refused: a.Code}
	s.auditOnce(r, e, refusalPeriod)
}

// AuditSignInRefused records a failed sign-in, without the name that was typed: people type passwords
// there.
func (s *Auditor) AuditSignInRefused(r *http.Request, source string, a Answer) {
	s.auditOnce(r, db.AuditEvent{Action: audit.SignInRefused, Subject: source, Refused: a.Code}, signInPeriod)
}

func (s *Auditor) auditOnce(r *http.Request, e db.AuditEvent, period time.Duration) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), auditTimeout)
	defer cancel()
	if err := s.store.AuditOnce(ctx, e, period); err != nil {
		s.log.ErrorContext(ctx, "a refusal was not recorded", "request_id", RequestID(r), "error", err)
	}
}

// AuditView records that a person views private data: once an hour for each person and object. If that
// fails, the data must not be shown.
func (s *Auditor) AuditView(r *http.Request, action, object string) error {
	return s.store.AuditOnce(r.Context(), db.AuditEvent{Action: action, Subject: object}, time.Hour)
}

// AuditDownload records that a person downloads private data. If that fails, the data must not be sent.
func (s *Auditor) AuditDownload(r *http.Request, action, object string) error {
	return s.store.AuditAlone(r.Context(), db.AuditEvent{Action: action, Subject: object})
}
