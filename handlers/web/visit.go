package web

import (
	"context"
	"net/http"
	"strings"

	"github.com/justinas/nosurf"

	"mishap/crash"
	"mishap/crash/audit"
)

// visit holds what the middleware knows about one request. Handlers read it through the functions
// below.
type visit struct {
	id       string          // request id
	User     crash.User      // zero: a visitor
	Token    *crash.APIToken // API token of the request, or nil
	actor    *audit.Actor    // of records in the audit log
	session  bool            // the session of the request has been loaded
	slot     bool            // the request has a slot, see visitors
	csrf     *nosurf.CSRFHandler
	revision string // see Kit.revision; empty until read
}

type visitKey struct{}

// VisitOf returns the visit of a request, or an empty one if the middleware has not run.
func VisitOf(r *http.Request) *visit {
	if v, ok := r.Context().Value(visitKey{}).(*visit); ok {
		return v
	}
	return &visit{actor: &audit.Actor{Kind: audit.Visitor}}
}

// SignIn sets the account, and the token or nil, of the request.
func (v *visit) SignIn(u crash.User, t *crash.APIToken) {
	v.User, v.Token = u, t
	if u.ID == 0 {
		return
	}
	v.actor.Kind, v.actor.Person = audit.Person, u.Name
	if t != nil {
		v.actor.Kind, v.actor.Via = audit.Token, strings.TrimSpace(t.Name+" "+t.Hint)
	}
}

func withVisit(r *http.Request, v *visit) *http.Request {
	return r.WithContext(audit.WithActor(context.WithValue(r.Context(), visitKey{}, v), v.actor))
}

// CurrentUser returns the account that is signed in, or the zero User for visitors.
func CurrentUser(r *http.Request) crash.User { return VisitOf(r).User }

// RequestID returns the id of the request in logs, answers and error pages.
func RequestID(r *http.Request) string { return VisitOf(r).id }

// MarkUnchanged says that a request with a method for changes has changed nothing, so that no
// record is needed.
func MarkUnchanged(r *http.Request) { VisitOf(r).actor.MarkRecorded() }
