package problems

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/justinas/nosurf"

	"mishap/crash"
	"mishap/handlers/web"
	"mishap/views"
)

const (
	maxDecisions = 100             // entries of the history on a page
	splitTimeout = 2 * time.Second // maximum time that a request moves reports; a job moves the rest
)

var errNoDecision = crash.Errorf(crash.NotFound, "unknown_decision", "There is no such entry in the history.")

// decisionsView returns the history of a problem and the decisions that the user may take.
func (s *Pages) decisionsView(r *http.Request, b crash.Bucket, triage []crash.Triage) (views.DecisionsView, error) {
	u := web.CurrentUser(r)
	v := views.DecisionsView{
		Bucket: b, MayDecide: u.MayTriage(b.SourcePackage), CSRFToken: nosurf.Token(r), Now: s.Now(),
	}
	if !u.Role.Allows(crash.RoleViewer) { // entries contain account names and report titles
		return v, nil
	}
	work, err := s.workOn(r, b.ID)
	v.Triage, v.Decisions = triage, work.decisions
	return v, err
}

// UndoDecision undoes one decision about a problem.
func (s *Decisions) UndoDecision(w http.ResponseWriter, r *http.Request) error {
	b, err := s.BucketInPath(r)
	if err != nil {
		return err
	}
	id, err := strconv.ParseInt(r.PostFormValue("decision"), 10, 64)
	if err != nil || id < 1 {
		return errNoDecision
	}
	if err := s.checkDecision(r, b.ID, id); err != nil {
		return err
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
	done := "Undone"
	switch decision.Kind {
	case crash.DecisionMerged:
		done = "Problems separated"
	case crash.DecisionRenamed:
		done = "Previous name restored"
	case crash.DecisionSplit:
		done = "Reports moved back"
		finished, err := s.moveReports(r.Context(), id)
		if err != nil {
			return err
		}
		if !finished {
			done = "The reports are moving back. The history below shows the progress."
		}
	}
	if err := s.Flash(r, views.FlashDone, done); err != nil {
		return err
	}
	return web.Redirect(w, r, b.ID.Path())
}

// checkDecision returns NotFound if a person with rights for some packages only undoes a decision that
// the problem's history does not show.
func (s *Decisions) checkDecision(r *http.Request, problem crash.BucketID, id int64) error {
	if web.CurrentUser(r).Role.Allows(crash.RoleTriager) {
		return nil
	}
	all, err := s.Decisions.Decisions(r.Context(), problem, maxDecisions)
	if err == nil && !slices.ContainsFunc(all, func(d crash.Decision) bool { return d.ID == id }) {
		err = errNoDecision
	}
	return err
}

// moveReports moves the reports of a split for at most splitTimeout. A job moves the rest.
func (s *Decisions) moveReports(ctx context.Context, decision int64) (finished bool, err error) {
	for deadline := time.Now().Add(splitTimeout); !finished && time.Now().Before(deadline); {
		if finished, err = s.Decisions.StepSplit(ctx, decision); err != nil {
			return false, err
		}
	}
	return finished, nil
}

// ShowRename shows the form that asks for a name.
func (s *Decisions) ShowRename(w http.ResponseWriter, r *http.Request) error {
	b, err := s.BucketInPath(r)
	if err != nil {
		return err
	}
	p := views.RenamePage{Shell: s.Shell(r, "Rename problem"), Bucket: b, Name: b.Name}
	return s.Page(w, r, http.StatusOK, views.Rename(p))
}

// RenameProblem renames a problem and offers to undo that.
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
		p.Shell = s.Shell(r, "Rename problem")
		return s.Page(w, r, http.StatusUnprocessableEntity, views.Rename(p))
	}
	if err != nil {
		return err
	}
	return s.redirectWithUndo(w, r, b.ID, "Problem renamed", crash.DecisionRenamed)
}

// headPath returns the address of the problem head for a visitor who asked for bucket id.
func headPath(head, id crash.BucketID) string {
	if head == id {
		return id.Path()
	}
	return head.Path() + "?from=" + id.String()
}

// mergedSignature returns the signature of the merged bucket whose address redirected to head,
// or "".
func (s *Pages) mergedSignature(r *http.Request, head crash.BucketID) (string, error) {
	var signature string
	var current crash.BucketID
	id, err := crash.ParseBucketID(r.URL.Query().Get("from"))
	if err == nil {
		signature, current, err = s.Decisions.Signature(r.Context(), id)
	}
	if errors.Is(err, crash.NotFound) || err == nil && (current != head || id == head) {
		return "", nil // not a bucket of this problem
	}
	if web.IsPublic(r) {
		signature = s.Redacted.Signature(signature)
	}
	return signature, err
}
