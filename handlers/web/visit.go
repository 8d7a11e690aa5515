package web

import (
	"context"
	"net/http"

	"github.com/justinas/nosurf"

	"mishap/crash"
)

// visit is what the middleware found out about one request. There is one per request; handlers read it through the
// functions below.
type visit struct {
	id       string          // request id
	User     crash.User      // zero: a visitor
	Token    *crash.APIToken // by which the request came; nil: by a session, or nobody
	session  bool            // the session of the request has been loaded
	csrf     *nosurf.CSRFHandler
	revision string // see Server.revision; empty until it is read
}

type visitKey struct{}

// VisitOf returns the visit of a request; an empty one where the middleware has not run.
func VisitOf(r *http.Request) *visit {
	if v, ok := r.Context().Value(visitKey{}).(*visit); ok {
		return v
	}
	return &visit{}
}

func withVisit(r *http.Request, v *visit) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), visitKey{}, v))
}

// CurrentUser is the account that is signed in, as it is now; the zero User for visitors.
func CurrentUser(r *http.Request) crash.User { return VisitOf(r).User }

// RequestID names the request in logs, answers and error pages.
func RequestID(r *http.Request) string { return VisitOf(r).id }
