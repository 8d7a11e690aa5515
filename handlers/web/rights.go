package web

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"mishap/crash"
	"mishap/crash/audit"
	"mishap/crash/index"
	"mishap/crash/privacy"
	"mishap/crash/stats"
	"mishap/db"
	"mishap/handlers/proxies"
	eventsview "mishap/views/events"
	peopleview "mishap/views/people"
)

// NeedTriager returns middleware that requires the right to decide about problems. If the address names
// a problem, that must be the right for its package. Other handlers check the packages themselves.
func (s *Kit) NeedTriager(next http.Handler) http.Handler {
	return s.need(crash.RoleTriager, crash.User.MayTriageSome)(s.Do(func(w http.ResponseWriter, r *http.Request) error {
		if err := checkProblemInPath(s, r); err != nil {
			return err
		}
		next.ServeHTTP(w, r)
		return nil
	}))
}

const (
	// maxGroupAge is how old groups may be when a person changes something as an administrator.
	maxGroupAge = 12 * time.Hour
	// GroupsDue is the age at which groups are stated again by those that can do so without asking the
	// person: providers with a refresh token, and proxies.
	GroupsDue = maxGroupAge / 2
)

// NeedAdmin returns middleware that requires the role admin. Before a change, a person who has that role
// only from groups, which were stated long ago, signs in again and comes back.
func (s *Kit) NeedAdmin(next http.Handler) http.Handler {
	return s.Need(crash.RoleAdmin)(s.Do(func(w http.ResponseWriter, r *http.Request) error {
		if SafeMethods[r.Method] || CurrentUser(r).Manual.Allows(crash.RoleAdmin) {
			next.ServeHTTP(w, r)
			return nil
		}
		identities, err := s.people.Identities(r.Context(), CurrentUser(r).ID)
		if err != nil {
			return err
		}
		now, err := IsAdminNow(s, r, FreshIdentities(s, identities))
		if err != nil {
			return err
		}
		if !now {
			return AskToSignInAgain(s, w, r, ErrOldGroups)
		}
		next.ServeHTTP(w, r)
		return nil
	}))
}

// ErrOldGroups refuses a change because groups were stated too long ago for one.
var ErrOldGroups = crash.Errorf(crash.Unauthenticated, "old_groups", "%s", "Your role comes from groups that "+
	"were last checked more than 12 hours ago. Nothing was changed. Sign in again to continue.")

// AskToSignInAgain refuses a request because groups are too old, as why says, and leads back to it after
// signing in again.
func AskToSignInAgain(s *Kit, w http.ResponseWriter, r *http.Request, why *crash.Error) error {
	page := SafeMethods[r.Method] && formatOf(r) == formatPage
	if VisitOf(r).Token != nil || WantsPart(r) || !page && !IsForm(r) {
		return why
	}
	form := peopleview.SignInForm{Next: ReturnPath(r), Problem: why.Message}
	if s.saveable(r) {
		form.Next, form.SavedForm = formPath(r), encodeForm(r.PostForm)
	}
	return s.SendSignIn(w, r, http.StatusUnauthorized, form)
}

// FreshIdentities returns those of the person's identities whose groups count for a change: they were
// stated within maxGroupAge.
func FreshIdentities(s *Kit, identities []crash.StoredIdentity) []crash.StoredIdentity {
	return slices.DeleteFunc(slices.Clone(identities), func(i crash.StoredIdentity) bool {
		return s.Now().Sub(i.GroupsRead) > maxGroupAge
	})
}

// IsAdminNow reports whether the role that was given to the person by hand, or these identities,
// give the role admin.
func IsAdminNow(s *Kit, r *http.Request, identities []crash.StoredIdentity) (bool, error) {
	u := CurrentUser(r)
	if !u.Role.Allows(crash.RoleAdmin) || u.Manual.Allows(crash.RoleAdmin) {
		return u.Role.Allows(crash.RoleAdmin), nil
	}
	grants, err := s.people.Grants(r.Context())
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(crash.RoleReasons(u, identities, grants, crash.RoleNone),
		func(reason crash.RoleReason) bool {
			return reason.Role.Allows(crash.RoleAdmin)
		}), nil
}

// checkProblemInPath returns Forbidden if the address names a problem about which the person may not
// decide.
func checkProblemInPath(s *Kit, r *http.Request) error {
	route := chi.RouteContext(r.Context())
	if CurrentUser(r).Role.Allows(crash.RoleTriager) || route == nil ||
		!strings.HasPrefix(route.RoutePattern(), "/problem/{id}") {
		return nil
	}
	id, err := crash.ParseBucketID(chi.URLParam(r, "id"))
	if err != nil {
		return err
	}
	b, err := s.store.Bucket(r.Context(), id)
	if err != nil {
		return err
	}
	return CheckTriage(r, b.SourcePackage)
}

// CheckTriage returns Forbidden if the person may not decide about problems of any of these source
// packages.
func CheckTriage(r *http.Request, sources ...string) error {
	for _, source := range sources {
		if err := CurrentUser(r).CheckTriage(source); err != nil {
			return err
		}
	}
	return nil
}

// Triageable returns those of the problems about which the person may decide, and the number of the
// others. It returns Forbidden if there is none.
func Triageable(r *http.Request, buckets []crash.Bucket) (some []crash.Bucket, refused int64, err error) {
	for _, b := range buckets {
		if CurrentUser(r).MayTriage(b.SourcePackage) {
			some = append(some, b)
		}
	}
	if len(some) == 0 && len(buckets) > 0 {
		return nil, 0, CheckTriage(r, buckets[0].SourcePackage)
	}
	return some, int64(len(buckets) - len(some)), nil
}

// Readable returns the highest class of fields that the person may read in reports of a source
// package.
func Readable(r *http.Request, source string) privacy.Class {
	return privacy.Readable(CurrentUser(r), source)
}

// PermitsFacet reports whether readers up to a class may compare reports by a field.
func PermitsFacet(s *Kit, readable privacy.Class, field stats.FacetField) bool {
	names, excerpt := field.Sources()
	return s.Config.Privacy.Permits(readable, names, excerpt)
}

// SeenConcentrations returns the concentrations on those fields that readers up to a class may compare, and
// whether some of them are private.
func SeenConcentrations(s *Kit, readable privacy.Class, c stats.Concentrations) (
	seen stats.Concentrations, private bool,
) {
	seen = c.Only(func(field stats.FacetField) bool {
		permits := PermitsFacet(s, readable, field)
		private = private || permits && !PermitsFacet(s, privacy.Restricted, field)
		return permits
	})
	return seen, private
}

// HideMachines replaces the machines in rows that the person may not know. It returns a copy.
func HideMachines(r *http.Request, rows []crash.ReportRow) []crash.ReportRow {
	u := CurrentUser(r)
	if u.Private.All {
		return rows
	}
	rows = slices.Clone(rows)
	for i, row := range rows {
		rows[i].System = u.VisibleSystem(row.System, row.SourcePackage)
	}
	return rows
}

// WithRefused returns a message about selected problems, with the number of those that were refused.
func WithRefused(message string, refused int64) string {
	if refused == 0 {
		return message
	}
	return message + " " + crash.Counted(refused, "problem was", "problems were") + " left unchanged, because you are " +
		"not a triager of " + crash.Plural(refused, "its package", "their packages") + ". Somebody who is an " +
		"administrator here can change that."
}

// Visitors see the same redacted text as in bugs: pages, feeds, files and the API must not contain
// private data. The caches hold unredacted values, and each page for a visitor redacts what it
// shows.

// IsPublic reports whether the current user may not read reports, so that the answer must be
// redacted.
func IsPublic(r *http.Request) bool { return !CurrentUser(r).Role.Allows(crash.RoleViewer) }

// SeenBucket returns b, redacted if the current user may not read reports.
func (s *Kit) SeenBucket(r *http.Request, b crash.Bucket) crash.Bucket {
	if IsPublic(r) {
		return privacy.RedactBucket(b)
	}
	return b
}

// SeenRow returns a row of the index, redacted if the current user may not read reports.
func SeenRow(r *http.Request, row index.Row) index.Row {
	if IsPublic(r) {
		return row.ForVisitors()
	}
	return row
}

// SeenLabels returns names, without those that the current user may not see.
func SeenLabels[T ~string](r *http.Request, names []T) []T {
	if IsPublic(r) {
		return privacy.RedactLabels(names)
	}
	return names
}

// SeenLabel returns a name, redacted if the current user may not read reports.
func SeenLabel[T ~string](r *http.Request, name T) T {
	if IsPublic(r) {
		return privacy.RedactLabel(name)
	}
	return name
}

// SearchFilter narrows filter by a query and returns a function that matches problems, or nil to
// match all. For visitors, filter and function see problems as visitors do; otherwise they could
// find out hidden text by trial.
func SearchFilter(r *http.Request, q index.Query, filter index.Filter) (index.Filter, func(*index.Problem) bool) {
	q = q.For(CurrentUser(r).Names())
	filter = q.Narrow(filter)
	filter.Public = IsPublic(r)
	return filter, q.Matcher()
}

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
	"POST /admin/tracker/test":             "a trial that changes nothing",
	"POST /api/1.0/*":                      "requests that are too long for an address",
	"POST /hooks/tracker/{name}":           "calls of trackers, which only cause a reading",
	"POST /problem/{id}/review":            "a draft, or a filing that records itself",
	"POST /api/1.0/set-problem-status":     "records itself, for each problem that it changes",
	"POST /api/1.0/set-problem-status/":    "records itself, for each problem that it changes",
	"POST /api/1.0/problem-people":         "records itself, for each problem that it changes",
	"POST /api/1.0/problem-people/":        "records itself, for each problem that it changes",
	"POST /api/1.0/create-bug-report":      "records itself unless there is a bug already",
	"POST /api/1.0/create-bug-report/":     "records itself unless there is a bug already",
	"POST /mcp":                            "reads, and tools that record what they change",
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
		recorder := &beforeAnswer{ResponseWriter: w, do: func(status int) error { s.recordChange(r, status); return nil }}
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
