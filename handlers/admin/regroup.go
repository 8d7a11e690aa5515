package admin

import (
	"errors"
	"net/http"
	"strconv"

	"mishap/crash"
	"mishap/crash/grouping"
	"mishap/handlers/web"
	view "mishap/views/admin"
	"mishap/views/layout"
)

const (
	shownMoves = 50 // moves of a run
	shownRuns  = 10
)

// ShowRegroup shows the last run of regrouping, or the one in the query (run).
func (s *Pages) ShowRegroup(w http.ResponseWriter, r *http.Request) error {
	p := view.RegroupPage{Version: grouping.RulesVersion}
	var err error
	if p.Runs, err = s.Decisions.Regroups(r.Context(), shownRuns); err != nil {
		return err
	}
	switch run := r.URL.Query().Get("run"); {
	case run != "":
		id, err := strconv.ParseInt(run, 10, 64)
		if err != nil {
			return errNoRun
		}
		run, err := s.Decisions.Regroup(r.Context(), id)
		if err != nil {
			return err
		}
		p.Run = &run
	case len(p.Runs) > 0:
		p.Run = &p.Runs[0]
	}
	if p.Run != nil {
		if p.Effect, err = s.Decisions.RegroupEffect(r.Context(), *p.Run); err != nil {
			return err
		}
		if p.Moves, err = s.Decisions.RegroupMoves(r.Context(), p.Run.ID, shownMoves); err != nil {
			return err
		}
	}
	if web.WantsPart(r) && p.Run != nil {
		p.Shell = s.web.BareShell(r, "")
		return s.web.Page(w, r, http.StatusOK, view.RegroupRun(p))
	}
	p.Shell = s.web.Shell(r, "Grouping")
	return s.web.Page(w, r, http.StatusOK, view.Regroup(p))
}

var errNoRun = crash.Errorf(crash.NotFound, "unknown_run", "There is no such regrouping run.")

// TryRegroup starts a dry run, which finds out what the present grouping rules would change.
func (s *Pages) TryRegroup(w http.ResponseWriter, r *http.Request) error {
	return s.startRegroup(w, r, true)
}

// ApplyRegroup starts regrouping the stored reports.
func (s *Pages) ApplyRegroup(w http.ResponseWriter, r *http.Request) error {
	return s.startRegroup(w, r, false)
}

// startRegroup starts a run. A job of any instance does the work.
func (s *Pages) startRegroup(w http.ResponseWriter, r *http.Request, dry bool) error {
	_, err := s.Decisions.StartRegroup(r.Context(), grouping.RulesVersion, dry, web.CurrentUser(r).Name)
	return s.answerRegroup(w, r, err)
}

// StopRegroup stops a run.
func (s *Pages) StopRegroup(w http.ResponseWriter, r *http.Request) error {
	id, err := strconv.ParseInt(r.PostFormValue("run"), 10, 64)
	if err != nil {
		return errNoRun
	}
	_, err = s.Decisions.StopRegroup(r.Context(), id, web.CurrentUser(r).Name)
	return s.answerRegroup(w, r, err)
}

// answerRegroup redirects to the page, with a message if err is a conflict.
func (s *Pages) answerRegroup(w http.ResponseWriter, r *http.Request, err error) error {
	if errors.Is(err, crash.Conflict) {
		err = s.web.Flash(r, layout.FlashError, web.AnswerTo(r, err).Message)
	}
	if err != nil {
		return err
	}
	return web.Redirect(w, r, layout.PathRegroup)
}
