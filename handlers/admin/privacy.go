package admin

import (
	"context"
	"errors"
	"net/http"
	"time"

	"mishap/crash"
	"mishap/crash/privacy"
	"mishap/db/upkeep"
	"mishap/handlers/web"
	view "mishap/views/admin"
	"mishap/views/layout"
	problemsview "mishap/views/problems"
)

const (
	shownPrivacyRuns = 5
	shownHolds       = 200
	dueTime          = 7 * 24 * time.Hour
)

// ShowPrivacy shows who may read which field of reports, how long data is stored, what is held, and
// the runs over stored reports.
func (s *Pages) ShowPrivacy(w http.ResponseWriter, r *http.Request) error {
	return s.sendPrivacy(w, r, http.StatusOK, "")
}

func (s *Pages) sendPrivacy(w http.ResponseWriter, r *http.Request, status int, problem string) error {
	table := s.web.Config.Privacy
	store := upkeep.NewRetention(s.Store, table)
	p := view.PrivacyPage{Rows: table.Rows(), Unlisted: table.Unlisted(), Secrets: privacy.SecretNames(),
		Problem: problem}
	var err error
	if p.Runs, err = store.Runs(r.Context(), shownPrivacyRuns); err != nil {
		return err
	}
	if web.WantsPart(r) && status == http.StatusOK {
		p.Shell = s.web.BareShell(r, "")
		return s.web.Page(w, r, status, view.PrivacyRuns(p))
	}
	if p.Removals, p.Held, err = s.removals(r.Context(), store); err != nil {
		return err
	}
	if p.CountsFrom, err = s.Problems.From(r.Context()); err != nil {
		return err
	}
	holds, err := s.Problems.Restricted(r.Context(), crash.MarkHold, shownHolds)
	if err != nil {
		return err
	}
	for _, h := range holds {
		b, err := s.Store.Bucket(r.Context(), h.Bucket)
		if errors.Is(err, crash.NotFound) { // hidden from this administrator
			continue
		}
		if err != nil {
			return err
		}
		p.Holds = append(p.Holds, problemsview.MarkedProblem{Mark: h, Problem: b})
	}
	p.Shell = s.web.Shell(r, "Privacy")
	return s.web.Page(w, r, status, view.Privacy(p))
}

// removals returns how long the kinds of data are stored, and how much of them will be removed.
func (s *Pages) removals(ctx context.Context, store *upkeep.Retention) (all []privacy.Removal, held int64, err error) {
	keep, until := s.web.Config.Retention, s.web.Now().Add(dueTime)
	due, err := store.Due(ctx, until, keep.Periods)
	if err != nil {
		return nil, 0, err
	}
	cores := privacy.Removal{What: "Core dumps", Key: "cores_keep_days", Days: keep.CoresDays}
	if s.web.Config.Cores != nil {
		stored, err := s.web.Config.Cores.List(ctx)
		if err != nil {
			return nil, 0, err
		}
		for _, c := range stored {
			cores.All++
			if keep.CoresDays > 0 && c.At.Before(until.AddDate(0, 0, -keep.CoresDays)) {
				cores.Week++
			}
		}
	}
	all = []privacy.Removal{
		cores,
		{What: "Private fields of reports", Key: "private_keep_days", Days: keep.PrivateDays, Week: due.Private,
			All: due.Stored, Least: due.Private >= upkeep.CountLimit},
	}
	for i, l := range keep.Reports.Limits() {
		r := privacy.Removal{What: reportsOfType(l.Type), Key: "reports_keep_types", Days: l.Days, Week: due.Reports[i],
			Least: due.Reports[i] >= upkeep.CountLimit, Unknown: true}
		if l.Type == "" {
			r.Key, r.All, r.Unknown = "reports_keep_days", due.Stored, false
		}
		all = append(all, r)
	}
	return append(all,
		privacy.Removal{What: "Daily counts of problems", Key: "counts_keep_years", Years: keep.CountsYears, Week: due.Days,
			All: due.DaysStored, Least: due.Days >= upkeep.CountLimit},
		privacy.Removal{What: "Records of the audit log", Key: "audit_keep_days", Days: keep.AuditDays, Week: due.Audit,
			All: due.AuditStored, Least: due.Audit >= upkeep.CountLimit},
		privacy.Removal{What: "Problems with a count", All: due.Problems},
	), due.Held, nil
}

// CheckPrivacy starts a run that counts the secret and private fields of stored reports.
func (s *Pages) CheckPrivacy(w http.ResponseWriter, r *http.Request) error {
	return s.startPrivacyRun(w, r, privacy.RunCheck)
}

// ApplyPrivacy starts a run that removes the secret fields of stored reports.
func (s *Pages) ApplyPrivacy(w http.ResponseWriter, r *http.Request) error {
	return s.startPrivacyRun(w, r, privacy.RunApply)
}

// startPrivacyRun starts a run. A task of any instance does the work.
func (s *Pages) startPrivacyRun(w http.ResponseWriter, r *http.Request, kind privacy.RunKind) error {
	retention := upkeep.NewRetention(s.Store, s.web.Config.Privacy)
	_, err := retention.Start(r.Context(), kind, s.web.Now(), web.CurrentUser(r).Name)
	if errors.Is(err, crash.Conflict) {
		return s.sendPrivacy(w, r, http.StatusConflict, web.AnswerTo(r, err).Message)
	}
	if err != nil {
		return err
	}
	return s.web.Done(w, r, layout.PathPrivacy, "The run over the stored reports has started.")
}

// reportsOfType names the reports of a type; empty: of all types without a limit of their own.
func reportsOfType(problemType string) string {
	if problemType == "" {
		return "Reports"
	}
	return "Reports of type " + problemType
}
