package web

import (
	"context"
	"net/http"

	"github.com/justinas/nosurf"

	"mishap/crash"
)

// visit holds what the middleware knows about one request. Handlers read it through the functions
// below.
type visit struct {
	id       string          // request id
	User     crash.User      // zero: a visitor
	Token    *crash.APIToken // API token of the request, or nil
	session  bool            // the session of the request has been loaded
	csrf     *nosurf.CSRFHandler
	revision string // see Kit.revision; empty until read
}

type visitKey struct{}

// VisitOf returns the visit of a request, or an empty one if the middleware has not run.
func VisitOf(r *http.Request) *visit {
	if v, ok := r.Context().Value(visitKey{}).(*visit); ok {
		return v
	}
	return &visit{}
}

func withVisit(r *http.Request, v *visit) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), visitKey{}, v))
}

// CurrentUser returns the account that is signed in, or the zero User for visitors.
func CurrentUser(r *http.Request) crash.User { return VisitOf(r).User }

// RequestID returns the id of the request in logs, answers and error pages.
func RequestID(r *http.Request) string { return VisitOf(r).id }
