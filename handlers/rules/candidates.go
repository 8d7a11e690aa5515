package rules

import (
	"context"
	"net/http"

	"mishap/crash"
	"mishap/handlers/web"
	"mishap/notify/rules"
	"mishap/views"
)

const (
	shownCandidates = 25
	shownDecided    = 10
)

var errFilingOff = crash.Errorf(crash.Forbidden, "filing_off", "%s", views.CandidatesOff)

// ListCandidates shows the problems that rules propose for filing.
func (s *Pages) ListCandidates(w http.ResponseWriter, r *http.Request) error {
	waiting, err := s.Events.Candidates(r.Context(), shownCandidates+1)
	if err != nil {
		return err
	}
	decided, err := s.Events.DecidedCandidates(r.Context(), shownDecided)
	if err != nil {
		return err
	}
	page := views.CandidatesPage{Shell: s.Shell(r, "Candidates for filing"), More: len(waiting) > shownCandidates}
	for _, c := range waiting[:min(len(waiting), shownCandidates)] {
		row, err := s.candidate(r.Context(), page.Shell, c)
		if err != nil {
			return err
		}
		page.Waiting = append(page.Waiting, row)
	}
	for _, c := range decided {
		row, err := s.candidate(r.Context(), page.Shell, c)
		if err != nil {
			return err
		}
		page.Decided = append(page.Decided, row)
	}
	return s.Page(w, r, http.StatusOK, views.Candidates(page))
}

// candidate returns a candidate with its problem and, while it waits, the title of the draft.
func (s *Pages) candidate(ctx context.Context, shell views.Shell, c rules.Candidate) (views.CandidateRow, error) {
	row := views.CandidateRow{Candidate: c, FilingOn: shell.FilingOn, CSRFToken: shell.CSRFToken, Now: shell.Now}
	var err error
	if row.Bucket, err = s.Store.Bucket(ctx, c.Problem); err != nil {
		return row, err
	}
	row.MayDecide = shell.User.MayTriage(row.Bucket.SourcePackage)
	row.Title = views.DocumentTitle(row.Bucket)
	if c.State != rules.CandidateWaiting && c.State != rules.CandidateAutomatic {
		return row, nil
	}
	if row.Cannot = row.Bucket.NoFiling(); row.Cannot != "" {
		return row, nil
	}
	draft, err := s.Filer.Propose(ctx, row.Bucket)
	switch {
	case crash.KindOf(err) == crash.Unprocessable:
		row.Cannot = err.Error()
	case err != nil:
		return row, err
	default:
		row.Title = draft.Title
	}
	return row, nil
}

// candidateInPath returns the number of the candidate in the path, and its problem, if the person may
// decide about it.
func (s *Pages) candidateInPath(r *http.Request) (id int64, b crash.Bucket, err error) {
	if id, err = idInPath(r); err != nil {
		return 0, b, err
	}
	c, err := s.Events.Candidate(r.Context(), id)
	if err != nil {
		return 0, b, err
	}
	if b, err = s.Store.Bucket(r.Context(), c.Problem); err != nil {
		return 0, b, err
	}
	return id, b, web.CheckTriage(r, b.SourcePackage)
}

// ApproveCandidate files the bug of a candidate.
func (s *Pages) ApproveCandidate(w http.ResponseWriter, r *http.Request) error {
	if !s.Config.AllowBugFiling {
		return errFilingOff
	}
	id, b, err := s.candidateInPath(r)
	if err != nil {
		return err
	}
	opts, err := s.FilingOptions(r)
	if err != nil {
		return err
	}
	result, failed := s.Filer.CreateBug(r.Context(), b.Signature, opts)
	// A tracker that cannot be reached gets the bug later.
	if failed != nil && crash.KindOf(failed) != crash.Unavailable {
		a := web.AnswerTo(r, failed)
		s.LogError(r, failed, a)
		if err := s.Events.FailCandidate(r.Context(), id, a.Message); err != nil {
			return err
		}
		return s.answerCandidate(w, r, id, views.Flash{Kind: views.FlashError, Text: a.Message}, a.Status)
	}
	if err := s.Events.ApproveCandidate(r.Context(), id, opts.Person); err != nil {
		return err
	}
	message := "The bug is being created."
	if result.State == crash.FilingFiled {
		message = views.CandidateFiled(result.Bug)
	}
	return s.answerCandidate(w, r, id, views.Flash{Kind: views.FlashDone, Text: message}, http.StatusOK)
}

// DeclineCandidate records that no bug is wanted.
func (s *Pages) DeclineCandidate(w http.ResponseWriter, r *http.Request) error {
	return s.decide(w, r, func(ctx context.Context, id int64, person string) error {
		return s.Events.DeclineCandidate(ctx, id, person, r.PostFormValue("reason"))
	})
}

// RestoreCandidate undoes DeclineCandidate.
func (s *Pages) RestoreCandidate(w http.ResponseWriter, r *http.Request) error {
	return s.decide(w, r, s.Events.RestoreCandidate)
}

func (s *Pages) decide(w http.ResponseWriter, r *http.Request, do func(context.Context, int64, string) error) error {
	id, _, err := s.candidateInPath(r)
	if err != nil {
		return err
	}
	if err := do(r.Context(), id, web.CurrentUser(r).Name); err != nil {
		return err
	}
	return s.answerCandidate(w, r, id, views.Flash{}, http.StatusOK)
}

// answerCandidate shows the present state of a candidate in place, or redirects to the page.
func (s *Pages) answerCandidate(w http.ResponseWriter, r *http.Request, id int64, message views.Flash,
	status int) error {
	if !web.WantsPart(r) {
		if message.Text != "" {
			if err := s.Flash(r, message.Kind, message.Text); err != nil {
				return err
			}
		}
		return web.Redirect(w, r, views.PathCandidates)
	}
	c, err := s.Events.Candidate(r.Context(), id)
	if err != nil {
		return err
	}
	row, err := s.candidate(r.Context(), s.BareShell(r, "Candidates for filing"), c)
	if err != nil {
		return err
	}
	if message.Kind == views.FlashError {
		row.Trouble, row.Failure = message.Text, ""
	}
	return s.Page(w, r, status, views.CandidateItem(row))
}
