package web

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"mishap/crash"
	"mishap/handlers/negotiate"
	bugsview "mishap/views/bugs"
	"mishap/views/layout"
)

// kinds maps kinds of errors to HTTP statuses and default values of Retry-After (0: no header).
var kinds = map[crash.Kind]struct {
	status     int
	retryAfter time.Duration
}{
	crash.Invalid:          {http.StatusBadRequest, 0},
	crash.Unauthenticated:  {http.StatusUnauthorized, 0},
	crash.Forbidden:        {http.StatusForbidden, 0},
	crash.NotFound:         {http.StatusNotFound, 0},
	crash.Conflict:         {http.StatusConflict, 0},
	crash.TooLarge:         {http.StatusRequestEntityTooLarge, 0},
	crash.UnsupportedMedia: {http.StatusUnsupportedMediaType, 0},
	crash.Unprocessable:    {http.StatusUnprocessableEntity, 0},
	crash.TooMany:          {http.StatusTooManyRequests, time.Minute},
	crash.Refused:          {http.StatusBadGateway, 0},
	crash.Unavailable:      {http.StatusServiceUnavailable, 10 * time.Second},
}

// CodeNotReady is the code of the answer of /readyz while an instance cannot work.
const CodeNotReady = "not_ready"

// errorTimeout bounds rendering an error. It does not depend on the deadline of the request, which
// may be the cause of the error.
const errorTimeout = 5 * time.Second

// Errors of the middleware.
var (
	ErrNotSignedIn = crash.Errorf(crash.Unauthenticated, "not_signed_in",
		"Unauthorized: nobody is signed in, or the session has ended. Sign in, then try again.")
	ErrNoPage  = crash.Errorf(crash.NotFound, "no_page", "There is no page at this address.")
	errTimeout = crash.Errorf(crash.Unavailable, "too_slow",
		"This took too long. Try again shortly.")
)

// Answer is an error in the form that visitors see.
type Answer struct {
	*crash.Error
	Status     int
	retryAfter time.Duration // 0: no Retry-After header
}

// AnswerTo returns the answer for err. The answer to an internal error contains only the request
// id.
func AnswerTo(r *http.Request, err error) Answer {
	if e, ok := errors.AsType[*crash.Error](err); ok && kinds[e.Kind].status != 0 {
		return answerByKind(e)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return answerByKind(errTimeout)
	}
	if _, ok := errors.AsType[*MethodError](err); ok {
		e := crash.Errorf(crash.Invalid, "method", "This address does not support %s.", methodName(r))
		return Answer{Error: e, Status: http.StatusMethodNotAllowed}
	}
	e := crash.Errorf(0, "internal",
		"Something went wrong. It has been logged as %s; trying again may help.", RequestID(r))
	return Answer{Error: e, Status: http.StatusInternalServerError}
}

// answerByKind returns the answer for e with the status of its kind.
func answerByKind(e *crash.Error) Answer {
	kind := kinds[e.Kind]
	return Answer{Error: e, Status: kind.status, retryAfter: cmp.Or(e.RetryAfter, kind.retryAfter)}
}

// serveError answers with err: a part for htmx, JSON for scripts, a page for people. Every error
// that a visitor sees goes through it.
func (s *Kit) serveError(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(r.Context().Err(), context.Canceled) {
		return // the visitor has left
	}
	a := AnswerTo(r, err)
	s.LogError(r, err, a)
	for _, name := range []string{"ETag", "Last-Modified", "Content-Disposition"} {
		w.Header().Del(name) // they describe the answer that failed
	}
	a.Headers(w)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), errorTimeout)
	defer cancel()
	r = r.WithContext(ctx)
	send := func(w http.ResponseWriter) error {
		s.auditRefusal(r, a)
		return s.sendError(w, r, a)
	}
	if needsSlot(r) {
		err = s.inSlot(ctx, w, r, send)
	} else {
		err = send(w)
	}
	if err != nil {
		if crash.KindOf(err) != crash.Unavailable {
			s.Log.ErrorContext(ctx, "cannot render error page", "request_id", RequestID(r), "error", err)
		}
		http.Error(w, a.Message, a.Status) //nolint:forbidigo // the error page failed; net/http would send an empty 200
	}
}

// sendError writes an answer in the format that the request asks for. It writes nothing if it
// returns an error.
func (s *Kit) sendError(w http.ResponseWriter, r *http.Request, a Answer) error {
	switch formatOf(r) {
	case formatPart:
		return s.Page(w, r, a.Status, a.part(r))
	case formatJSON:
		refusal := apiError{Error: a.Message, Code: a.Code}
		if strings.HasPrefix(r.URL.Path, apiPrefix) {
			refusal.Message = a.Message
		}
		return WriteJSON(w, a.Status, refusal)
	case formatPage:
	}
	return s.Page(w, r, a.Status, layout.ErrorPage(s.BareShell(r, http.StatusText(a.Status)), layout.ErrorView{
		Status: a.Status, Message: a.Message, RequestID: RequestID(r),
		SignIn: a.Kind == crash.Unauthenticated && CurrentUser(r).ID == 0,
	}))
}

// part returns the answer as a part of a page. Most forms show it among the messages; Create and
// forms with long texts show parts of their own.
func (a Answer) part(r *http.Request) templ.Component {
	if strings.TrimSuffix(r.URL.Path, "/") == pathCreateBug {
		return bugsview.BugTrouble(a.Message, ReturnPath(r), a.Kind == crash.Unauthenticated && CurrentUser(r).ID == 0)
	}
	if HoldsLongText(r.URL.Path) && a.Kind == crash.Unauthenticated && CurrentUser(r).ID == 0 {
		return bugsview.SignInElsewhere()
	}
	return layout.Flashes([]layout.Flash{{Kind: layout.FlashError, Text: a.Message}})
}

// LogError logs errors with status 500 and above, whose causes the answer leaves out.
func (s *Kit) LogError(r *http.Request, err error, a Answer) {
	if a.Status < http.StatusInternalServerError {
		return
	}
	level := slog.LevelWarn
	switch {
	case a.Status == http.StatusInternalServerError:
		level = slog.LevelError
	case a.Code == CodeNotReady:
		level = slog.LevelDebug // load balancers ask every few seconds; the reason has a message of its own
	}
	s.Log.Log(r.Context(), level, "request failed",
		"request_id", RequestID(r), "status", a.Status, "code", a.Code, "error", err)
}

// ForPerson reports whether a form shows the answer as the reason why it was refused.
func (a Answer) ForPerson() bool {
	return a.Status < http.StatusInternalServerError && a.Kind != crash.NotFound
}

// Headers sets Retry-After and WWW-Authenticate where the answer needs them.
func (a Answer) Headers(w http.ResponseWriter) {
	if a.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(a.retryAfter.Seconds()))))
	}
	if a.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Session realm="mishap"`)
		w.Header().Add("WWW-Authenticate", `Bearer realm="mishap"`)
	}
}

// apiError is the body of every error of the API.
type apiError struct {
	Error string `json:"error"` // a sentence for people
	Code  string `json:"code"`  // a word for programs

	// Message repeats Error in API 1.0, for clients of errors.ubuntu.com.
	Message string `json:"error_message,omitempty"`
}

// WriteJSON answers with v as JSON. It ignores write errors, which mean that the client has left.
func WriteJSON(w http.ResponseWriter, status int, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, err = w.Write(append(body, '\n'))
	if err != nil {
		return nil //nolint:nilerr // the visitor has left
	}
	return nil
}

// answerFormat is the format of an answer: a page, a part of one, or JSON.
type answerFormat int

const (
	formatPage answerFormat = iota
	formatPart
	formatJSON
)

// formatOf returns the format that a request asks for.
func formatOf(r *http.Request) answerFormat {
	accept := r.Header.Values("Accept")
	page := negotiate.Preferred(accept, mediaHTML, mediaXHTML, "application/json") != "application/json"
	if ForFile(r) { // a client that accepts anything is a program
		preferred := negotiate.Preferred(accept, "application/json", mediaHTML, mediaXHTML)
		page = preferred == mediaHTML || preferred == mediaXHTML
	}
	switch {
	case WantsPart(r):
		return formatPart
	case !page:
		return formatJSON
	case strings.HasSuffix(r.URL.Path, ".json") && SafeMethods[r.Method],
		strings.HasPrefix(r.URL.Path, "/api/") && (!IsForm(r) || !strings.HasPrefix(r.URL.Path, pathCreateBug)):
		return formatJSON
	}
	return formatPage
}

// MethodError is the error for a method that an address does not support.
type MethodError struct{}

func (*MethodError) Error() string { return "method not allowed" }

// methodName returns the method of a request for a message, or "this method" if it is not a known
// one.
func methodName(r *http.Request) string {
	if knownMethods[r.Method] {
		return r.Method
	}
	return "this method"
}
