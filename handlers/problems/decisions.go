package problems

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/justinas/nosurf"

	"mishap/crash"
	"mishap/handlers/web"
	"mishap/views"
)

const (
	maxDecisions  = 100             // entries of the history on a page
	splitPatience = 2 * time.Second // how long a person waits while reports are moved; the rest goes on by itself
)

// decisionsView is the history of a problem and what this person may decide about it.
func (s *Pages) decisionsView(r *http.Request, b crash.Bucket) (views.DecisionsView, error) {
	u := web.CurrentUser(r)
	v := views.DecisionsView{
		Bucket: b, MayDecide: u.Role.Allows(crash.RoleTriager), CSRFToken: nosurf.Token(r), Now: s.Now(),
	}
	if !u.Role.Allows(crash.RoleViewer) { // entries hold names of accounts and titles of reports
		return v, nil
	}
	var err error
	v.Decisions, err = s.Decisions.Decisions(r.Context(), b.ID, maxDecisions)
	return v, err
}

// UndoDecision takes one decision about a problem back.
func (s *Decisions) UndoDecision(w http.ResponseWriter, r *http.Request) error {
	b, err := s.BucketInPath(r)
	if err != nil {
		return err
	}
	id, err := strconv.ParseInt(r.PostFormValue("decision"), 10, 64)
	if err != nil || id < 1 {
		return crash.Errorf(crash.NotFound, "unknown_decision", "There is no such entry in the history.")
	}
	decision, err := s.Decisions.Undo(r.Context(), id, web.CurrentUser(r).Name)
	if crash.KindOf(err) == crash.Conflict {
		if err := s.Flash(r, views.FlashError, web.AnswerTo(r, err).Message); err != nil {
			return err
		}
		return web.Redirect(w, r, b.ID.Path())
	}
	if err != nil {
		return err
	}
	text := "Undone."
	switch decision.Kind {
	case crash.DecisionMerged:
		text = "They are two problems again."
	case crash.DecisionRenamed:
		text = "The name is as it was before."
	case crash.DecisionSplit:
		text = "The reports that were taken out are back."
		finished, err := s.moveNow(r.Context(), id)
		if err != nil {
			return err
		}
		if !finished {
			text = "The reports that were taken out are being brought back; the history below says how far that is."
		}
	}
	if err := s.Flash(r, views.FlashDone, text); err != nil {
		return err
	}
	return web.Redirect(w, r, b.ID.Path())
}

// moveNow moves the reports of a split for as long as a person likes to wait. A job does the rest.
func (s *Decisions) moveNow(ctx context.Context, decision int64) (finished bool, err error) {
	for until := time.Now().Add(splitPatience); !finished && time.Now().Before(until); {
		if finished, err = s.Decisions.GoOnSplit(ctx, decision); err != nil {
			return false, err
		}
	}
	return finished, nil
}

// ShowRename asks for a name.
func (s *Decisions) ShowRename(w http.ResponseWriter, r *http.Request) error {
	b, err := s.BucketInPath(r)
	if err != nil {
		return err
	}
	p := views.RenamePage{Shell: s.Shell(r, "Name of a problem"), Bucket: b, Name: b.Name}
	return s.Page(w, r, http.StatusOK, views.Rename(p))
}

// RenameProblem gives a problem a name, and offers to take that back.
func (s *Decisions) RenameProblem(w http.ResponseWriter, r *http.Request) error {
	b, err := s.BucketInPath(r)
	if err != nil {
		return err
	}
	p := views.RenamePage{Bucket: b, Name: r.PostFormValue("name"), Reason: r.PostFormValue("reason")}
	reason, ok := crash.CleanLine(p.Reason, crash.MaxReason)
	if !ok {
		return errBadReason
	}
	err = s.Decisions.Rename(r.Context(), b.ID, p.Name, web.CurrentUser(r).Name, reason)
	if errors.Is(err, crash.Invalid) || errors.Is(err, crash.Conflict) {
		p.Problem = web.AnswerTo(r, err).Message
		p.Shell = s.Shell(r, "Name of a problem")
		return s.Page(w, r, http.StatusUnprocessableEntity, views.Rename(p))
	}
	if err != nil {
		return err
	}
	return s.decided(w, r, b.ID, "The problem has a new name.", crash.DecisionRenamed)
}

// memberPath is the address of a problem for somebody who comes by that of a bucket that is part of it.
func memberPath(head, id crash.BucketID) string {
	if head == id {
		return id.Path()
	}
	return head.Path() + "?from=" + id.String()
}

// cameFrom is the signature of the merged problem whose address led to this one, empty when none did.
func (s *Pages) cameFrom(r *http.Request, head crash.BucketID) (string, error) {
	var signature string
	var now crash.BucketID
	id, err := crash.ParseBucketID(r.URL.Query().Get("from"))
	if err == nil {
		signature, now, err = s.Decisions.Signature(r.Context(), id)
	}
	if errors.Is(err, crash.NotFound) || err == nil && (now != head || id == head) {
		return "", nil // whatever it is, it is none of ours
	}
	if web.IsPublic(r) {
		signature = s.Redacted.Signature(signature)
	}
	return signature, err
}
