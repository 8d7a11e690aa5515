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
	"mishap/views"
)

// kinds is the one table from kinds of errors to HTTP: the status, and when trying again makes sense unless the error says
// so itself (0: not said).
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

// errorTime bounds rendering an error. It is a limit of its own, since the request's deadline may be what failed.
const errorTime = 5 * time.Second

// Errors that the web side itself knows.
var (
	ErrNotSignedIn = crash.Errorf(crash.Unauthenticated, "not_signed_in",
		"Unauthorized: nobody is signed in, or the session has ended. Sign in, then try again.")
	ErrNoPage = crash.Errorf(crash.NotFound, "no_page", "There is no page at this address.")
	errSlow   = crash.Errorf(crash.Unavailable, "too_slow", "This took too long and was given up. Please try again shortly.")
)

// Answer is an error as it is shown.
type Answer struct {
	*crash.Error
	Status     int
	retryAfter time.Duration // 0: not said
}

// AnswerTo decides what is shown of err. Internal errors lose everything but the request id.
func AnswerTo(r *http.Request, err error) Answer {
	if e, ok := errors.AsType[*crash.Error](err); ok && kinds[e.Kind].status != 0 {
		return answerOf(e)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return answerOf(errSlow)
	}
	if _, ok := errors.AsType[*MethodError](err); ok {
		e := crash.Errorf(crash.Invalid, "method", "This address does not answer to %s.", shortMethod(r))
		return Answer{Error: e, Status: http.StatusMethodNotAllowed}
	}
	e := crash.Errorf(0, "internal", "Something went wrong here. It has been noted as %s; trying again may help.", RequestID(r))
	return Answer{Error: e, Status: http.StatusInternalServerError}
}

// answerOf looks up an error in the table of kinds.
func answerOf(e *crash.Error) Answer {
	kind := kinds[e.Kind]
	return Answer{Error: e, Status: kind.status, retryAfter: cmp.Or(e.RetryAfter, kind.retryAfter)}
}

// serveError answers with err: as a part for htmx, as JSON for scripts, as a page for people. It is the only way in which
// an error reaches a visitor.
func (s *Kit) serveError(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(r.Context().Err(), context.Canceled) {
		return // the visitor has gone; nobody reads an answer
	}
	a := AnswerTo(r, err)
	s.LogError(r, err, a)
	a.Headers(w)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), errorTime)
	defer cancel()
	if err := s.sendError(w, r.WithContext(ctx), a); err != nil {
		s.Log.ErrorContext(ctx, "error page failed", "request_id", RequestID(r), "error", err)
		http.Error(w, a.Message, a.Status) // without this, net/http would send an empty 200
	}
}

// sendError writes an answer in the shape that the request asks for. It writes nothing when it returns an error.
func (s *Kit) sendError(w http.ResponseWriter, r *http.Request, a Answer) error {
	switch ShapeOf(r) {
	case ShapePart:
		return s.Page(w, r, a.Status, a.part(r))
	case ShapeJSON:
		refusal := apiError{Error: a.Message, Code: a.Code}
		if strings.HasPrefix(r.URL.Path, apiPrefix) && !strings.HasPrefix(r.URL.Path, pathCreateBug) {
			refusal.Message = a.Message
		}
		return WriteJSON(w, a.Status, refusal)
	case ShapePage:
	}
	return s.Page(w, r, a.Status, views.ErrorPage(s.BareShell(r, http.StatusText(a.Status)), views.ErrorView{
		Status: a.Status, Message: a.Message, RequestID: RequestID(r), SignIn: a.Kind == crash.Unauthenticated && CurrentUser(r).ID == 0,
	}))
}

// part is the error as a part of a page: the forms of views put it into the line of messages, Create into its own place.
func (a Answer) part(r *http.Request) templ.Component {
	if strings.TrimSuffix(r.URL.Path, "/") == pathCreateBug {
		return views.BugTrouble(a.Message, ComeBackTo(r), a.Kind == crash.Unauthenticated && CurrentUser(r).ID == 0)
	}
	if HoldsLongText(r.URL.Path) && a.Kind == crash.Unauthenticated && CurrentUser(r).ID == 0 {
		return views.SignInElsewhere()
	}
	return views.Flashes([]views.Flash{{Kind: views.FlashError, Text: a.Message}})
}

// LogError notes once what the visitor is not told.
func (s *Kit) LogError(r *http.Request, err error, a Answer) {
	if a.Status < http.StatusInternalServerError {
		return
	}
	level := slog.LevelWarn
	if a.Status == http.StatusInternalServerError {
		level = slog.LevelError
	}
	s.Log.Log(r.Context(), level, "request failed", "request_id", RequestID(r), "status", a.Status, "code", a.Code, "error", err)
}

// Headers sets what goes with the status.
func (a Answer) Headers(w http.ResponseWriter) {
	if a.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(a.retryAfter.Seconds()))))
	}
	if a.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Session realm="mishap"`)
		w.Header().Add("WWW-Authenticate", `Bearer realm="mishap"`)
	}
}

// apiError is the body of every refusal of the API.
type apiError struct {
	Error string `json:"error"` // one sentence a person can act on
	Code  string `json:"code"`  // one word a program can act on

	// Message is Error again, under the name that clients of the old service know; not in answers to Create.
	Message string `json:"error_message,omitempty"`
}

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
		return nil //nolint:nilerr // the visitor has gone
	}
	return nil
}

type Shape int

const (
	ShapePage Shape = iota
	ShapePart
	ShapeJSON
)

// ShapeOf says in which form a request wants its answer.
func ShapeOf(r *http.Request) Shape {
	accept := r.Header.Values("Accept")
	page := negotiate.Preferred(accept, mediaHTML, mediaXHTML, "application/json") != "application/json"
	if ForFile(r) { // a client that accepts anything is a program
		preferred := negotiate.Preferred(accept, "application/json", mediaHTML, mediaXHTML)
		page = preferred == mediaHTML || preferred == mediaXHTML
	}
	switch {
	case WantsPart(r):
		return ShapePart
	case !page:
		return ShapeJSON
	case strings.HasSuffix(r.URL.Path, ".json") && SafeMethods[r.Method], strings.HasPrefix(r.URL.Path, "/api/") && (!IsForm(r) || !strings.HasPrefix(r.URL.Path, pathCreateBug)):
		return ShapeJSON
	}
	return ShapePage
}

// MethodError is the answer to a method that an address does not know.
type MethodError struct{}

func (*MethodError) Error() string { return "method not allowed" }

// shortMethod is the request's method, bounded for a message.
func shortMethod(r *http.Request) string {
	if knownMethods[r.Method] {
		return r.Method
	}
	return "this method"
}
