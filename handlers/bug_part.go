package handlers

import (
	"context"
	"net/http"
	"net/url"

	"github.com/justinas/nosurf"

	"mishap/crash"
	"mishap/views"
)

// bucket is the problem that the bucket with this id is part of, with its status.
func (s *Server) bucket(ctx context.Context, id crash.BucketID) (crash.Bucket, error) {
	b, err := s.store.Bucket(ctx, id)
	if err != nil {
		return b, err
	}
	err = s.store.Judge(ctx, &b)
	return b, err
}

// bugPart decides what the bug cell of a bucket, with its status, shows to the person who asks.
func (s *Server) bugPart(r *http.Request, b crash.Bucket) views.BugPart {
	u := currentUser(r)
	p := views.BugPart{
		Bucket: b.ID, Signature: b.Signature, Bug: b.Bug, Reason: b.Filing.Reason,
		MayFile:   s.config.AllowBugFiling && u.Role.Allows(crash.RoleTriager),
		CSRFToken: nosurf.Token(r), Next: comeBackTo(r),
	}
	p.State, p.Status = s.bugState(u, b), b.Status
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

// showBug is the bug cell alone, or the status around it: what it asks for while a bug is being created. Without scripts it is on the bucket's page.
func (s *Server) showBug(w http.ResponseWriter, r *http.Request) error {
	id, err := crash.ParseBucketID(r.PathValue("id"))
	if err != nil {
		return err
	}
	if !wantsPart(r) {
		http.Redirect(w, r, id.Path(), http.StatusSeeOther)
		return nil
	}
	b, err := s.bucket(r.Context(), id)
	if err != nil {
		return err
	}
	return s.answerBug(w, r, http.StatusOK, b)
}

// answerBug shows the bug cell as it is now, or, where the request says that it replaces that, the whole status around it.
func (s *Server) answerBug(w http.ResponseWriter, r *http.Request, status int, b crash.Bucket) error {
	if !views.IsStatusTarget(r.Header.Get("HX-Target")) {
		p := s.bugPart(r, s.seenBy(r, b))
		p.Copy = views.CopyTargeted(r.Header.Get("HX-Target"), b.ID)
		return s.page(w, r, status, views.BugNow(p))
	}
	v, err := s.statusView(r, b)
	if err != nil {
		return err
	}
	return s.page(w, r, status, views.StatusPart(v))
}

// statusView is how a problem stands, to the person who asks.
func (s *Server) statusView(r *http.Request, b crash.Bucket) (views.StatusView, error) {
	bugs, err := s.bugs.BucketBugs(r.Context(), b.ID)
	if err != nil {
		return views.StatusView{}, err
	}
	v := s.statusViewOf(r, b, bugs)
	if v.Bugs.Cell.Review {
		facts, err := s.stackOf(r, b, true)
		if err != nil {
			return v, err
		}
		v.Advice = facts.advice
	}
	return v, nil
}

// statusViewOf is statusView without advice, when the bugs have been read.
func (s *Server) statusViewOf(r *http.Request, b crash.Bucket, bugs []crash.Bug) views.StatusView {
	b = s.seenBy(r, b)
	return views.StatusView{Status: b.Status, Bugs: s.bugsViewOf(r, b, bugs), Now: s.now()}
}

// onProblemPage reports whether htmx asks from the page of a problem.
func onProblemPage(r *http.Request, id crash.BucketID) bool {
	from, err := url.Parse(r.Header.Get("HX-Current-URL"))
	return err == nil && from.Path == id.Path()
}
