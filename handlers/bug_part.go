package handlers

import (
	"net/http"

	"github.com/justinas/nosurf"

	"mishap/crash"
	"mishap/views"
)

// bugPart decides what the bug cell of a bucket shows to the person who asks.
func (s *Server) bugPart(r *http.Request, b crash.Bucket) views.BugPart {
	u := currentUser(r)
	p := views.BugPart{
		Bucket: b.ID, Signature: b.Signature, Bug: b.Bug, Reason: b.Filing.Reason,
		MayFile:   s.config.AllowBugFiling && u.Role.Allows(crash.RoleTriager),
		CSRFToken: nosurf.Token(r), Next: comeBackTo(r),
	}
	p.State, p.Standing = s.bugState(u, b), crash.StateOf(b)
	switch p.State {
	case views.BugCreate, views.BugWaiting, views.BugRefused, views.BugImpossible:
		p.Review = p.MayFile && b.NoDraft() == ""
	case views.BugNothing, views.BugLinked, views.BugSignIn, views.BugCreating, views.BugChecking:
	}
	if p.State == views.BugWaiting && b.Filing.Problem == "tracker_credentials" && u.Role.Allows(crash.RoleAdmin) {
		p.Connect = pathTracker
	}
	if p.State == views.BugImpossible {
		p.Reason = b.NoFiling()
	}
	return p
}

func (s *Server) bugState(u crash.User, b crash.Bucket) views.BugState {
	if b.Bug.Number != 0 {
		return views.BugLinked
	}
	switch b.Filing.State {
	case crash.FilingUncertain:
		return views.BugChecking
	case crash.FilingSending, crash.FilingFiled:
		return views.BugCreating
	case crash.FilingQueued:
		if b.Filing.Problem != "" {
			return views.BugWaiting
		}
		return views.BugCreating
	case crash.FilingAbandoned: // as if nobody had asked
	case crash.FilingRefused:
		if u.Role.Allows(crash.RoleTriager) {
			return views.BugRefused
		}
	}
	switch {
	case !s.config.AllowBugFiling:
		return views.BugNothing
	case b.NoFiling() != "" && u.Role.Allows(crash.RoleTriager):
		return views.BugImpossible
	case b.NoFiling() != "":
		return views.BugNothing
	case u.Role.Allows(crash.RoleTriager):
		return views.BugCreate
	case u.Role == crash.RoleNone:
		return views.BugSignIn
	}
	return views.BugNothing
}

// showBug is the bug cell alone: what it asks for while a bug is being created. Without scripts it is on the bucket's page.
func (s *Server) showBug(w http.ResponseWriter, r *http.Request) error {
	id, err := crash.ParseBucketID(r.PathValue("id"))
	if err != nil {
		return err
	}
	if !wantsPart(r) {
		http.Redirect(w, r, id.Path(), http.StatusSeeOther)
		return nil
	}
	b, err := s.store.Bucket(r.Context(), id)
	if err != nil {
		return err
	}
	return s.page(w, r, http.StatusOK, views.BugNow(s.bugPart(r, s.seenBy(r, b))))
}
