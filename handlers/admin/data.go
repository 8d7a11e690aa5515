package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"mishap/crash"
	"mishap/crash/grouping"
	"mishap/crash/privacy"
	"mishap/db"
	"mishap/db/symbols"
	"mishap/db/upkeep"
	"mishap/handlers/export"
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

// ShowPrivacy shows who may read which field of reports.
func (s *Pages) ShowPrivacy(w http.ResponseWriter, r *http.Request) error {
	table := s.web.Config.Privacy
	return s.web.Page(w, r, http.StatusOK, view.Privacy(view.PrivacyPage{Shell: s.web.Shell(r, "Privacy"),
		Rows: table.Rows(), Unlisted: table.Unlisted(), Secrets: privacy.SecretNames()}))
}

// ShowData shows how long data is stored, what is held, embargoed and erased, and the runs over stored reports.
func (s *Pages) ShowData(w http.ResponseWriter, r *http.Request) error {
	return s.sendData(w, r, http.StatusOK, "")
}

func (s *Pages) sendData(w http.ResponseWriter, r *http.Request, status int, problem string) (err error) {
	ctx, table := r.Context(), s.web.Config.Privacy
	store := upkeep.NewRetention(s.Store, table)
	p := view.DataPage{Problem: problem, Changed: len(view.Changed(table.Rows())), Version: grouping.RulesVersion}
	if p.Runs, err = store.Runs(ctx, shownPrivacyRuns); err != nil {
		return err
	}
	if web.WantsPart(r) && status == http.StatusOK {
		p.Shell = s.web.BareShell(r, "")
		return s.web.Page(w, r, status, view.PrivacyRuns(p))
	}
	if p.Removals, p.Held, err = s.removals(ctx, store); err != nil {
		return err
	}
	if p.CountsFrom, err = s.Problems.From(ctx); err != nil {
		return err
	}
	if p.Regroups, err = s.Decisions.Regroups(ctx, 1); err != nil {
		return err
	}
	if p.Workers, err = s.Symbols.Workers(ctx); err != nil {
		return err
	}
	if p.Symbols, err = s.Symbols.SymbolTotals(ctx); err != nil {
		return err
	}
	if p.Erasures, err = upkeep.NewErasing(s.Store).Erasures(ctx, shownErasures); err != nil {
		return err
	}
	embargoes, err := s.Problems.Restricted(ctx, crash.MarkEmbargo, shownHolds)
	if err != nil {
		return err
	}
	p.Embargoed = len(embargoes)
	holds, err := s.Problems.Restricted(ctx, crash.MarkHold, shownHolds)
	if err != nil {
		return err
	}
	for _, h := range holds {
		b, err := s.Store.Bucket(ctx, h.Bucket)
		if errors.Is(err, crash.NotFound) { // hidden from this administrator
			continue
		}
		if err != nil {
			return err
		}
		p.Holds = append(p.Holds, problemsview.MarkedProblem{Mark: h, Problem: b})
	}
	p.Shell, p.Checks = s.web.Shell(r, "Data"), s.Checks(ctx)
	return s.web.Page(w, r, status, view.Data(p))
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

// StartPrivacyRun starts a run that counts the secret and private fields of stored reports, or removes the secret
// ones. A task of any instance does the work.
func (s *Pages) StartPrivacyRun(kind privacy.RunKind) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		retention := upkeep.NewRetention(s.Store, s.web.Config.Privacy)
		_, err := retention.Start(r.Context(), kind, s.web.Now(), web.CurrentUser(r).Name)
		if errors.Is(err, crash.Conflict) || db.IsArchiveAway(err) {
			answer := web.AnswerTo(r, err)
			return s.sendData(w, r, answer.Status, "Nothing was started. "+answer.Message)
		}
		if err != nil {
			return err
		}
		return s.web.Done(w, r, layout.PathData+"#privacy", "The run over the stored reports has started.")
	}
}

// reportsOfType names the reports of a type; empty: of all types without a limit of their own.
func reportsOfType(problemType string) string {
	if problemType == "" {
		return "Reports"
	}
	return "Reports of type " + problemType
}

// shownErasures is the number of erasures that the page lists.
const shownErasures = 200

var errEraseConfirm = crash.Errorf(crash.Unprocessable, "not_confirmed", "These are not the first 8 characters of "+
	"the id of the machine; nothing was erased.")

func systemInPath(r *http.Request) (crash.SystemID, error) {
	name, err := web.PathText(r, "system")
	return crash.NewSystemID(name), err
}

// ShowErase asks whether to erase a machine, and says what that removes.
func (s *Pages) ShowErase(w http.ResponseWriter, r *http.Request) error {
	return s.askErase(w, r, http.StatusOK, view.ErasePage{})
}

func (s *Pages) askErase(w http.ResponseWriter, r *http.Request, status int, p view.ErasePage) (err error) {
	if p.System, err = systemInPath(r); err != nil {
		return err
	}
	if err := s.web.AuditView(r, "read.machine", string(p.System)); err != nil {
		return err
	}
	machines := upkeep.NewErasing(s.Store)
	if p.Facts, err = machines.Facts(r.Context(), p.System); err != nil {
		return err
	}
	if p.Before, err = machines.Of(r.Context(), p.System); err != nil {
		return err
	}
	p.Shell = s.web.Shell(r, "Erase a machine")
	return s.web.Page(w, r, status, view.Erase(p))
}

// Erase begins to erase a machine. A background task of any instance does the work.
func (s *Pages) Erase(w http.ResponseWriter, r *http.Request) error {
	system, err := systemInPath(r)
	if err != nil {
		return err
	}
	block := r.PostFormValue("block") != ""
	if r.PostFormValue("confirm") != crash.Truncate(string(system), view.EraseConfirmLength) {
		return s.askErase(w, r, http.StatusUnprocessableEntity,
			view.ErasePage{Block: block, Problem: errEraseConfirm.Message})
	}
	if _, err := upkeep.NewErasing(s.Store).Request(r.Context(), system, block, web.CurrentUser(r).Name); err != nil {
		return err
	}
	return s.web.Done(w, r, layout.PathData+"#erased", "The machine is being erased.")
}

// DumpSystem sends everything that is known about a machine as lines of JSON, to administrators with the
// right to all private data.
func (s *Pages) DumpSystem(w http.ResponseWriter, r *http.Request) error {
	system, err := systemInPath(r)
	if err != nil {
		return err
	}
	u := web.CurrentUser(r)
	if !u.Private.All {
		return u.CheckPrivate("")
	}
	if err := s.Store.ReachArchives(r.Context()); err != nil {
		return err
	}
	ctx, cancel := beginLines(w, r, "machine.jsonl")
	defer cancel()
	//nolint:contextcheck // see export.LongContext
	if err := upkeep.NewErasing(s.Store).Dump(ctx, system, u.Name, w); err != nil {
		s.web.Log.WarnContext(ctx, "the dump of a machine was cut short", "request_id", web.RequestID(r), "error", err)
		panic(http.ErrAbortHandler) // the client must not take a part for everything
	}
	return nil
}

const (
	shownMoves = 50 // moves of a run
	shownRuns  = 10
)

// ShowRegroup shows the last run of regrouping, or the one in the query (run).
func (s *Pages) ShowRegroup(w http.ResponseWriter, r *http.Request) error {
	var p view.RegroupPage
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
	p.Shell = s.web.Shell(r, "Regrouping")
	return s.web.Page(w, r, http.StatusOK, view.Regroup(p))
}

var errNoRun = crash.Errorf(crash.NotFound, "unknown_run", "There is no such regrouping run.")

// StartRegroup starts regrouping the stored reports, or a dry run, which finds out what would change. A job of any
// instance does the work.
func (s *Pages) StartRegroup(dry bool) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		_, err := s.Decisions.StartRegroup(r.Context(), grouping.RulesVersion, dry, web.CurrentUser(r).Name)
		return s.answerRegroup(w, r, err)
	}
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

// answerRegroup redirects to the page, with a message if err is a conflict or an archive is away.
func (s *Pages) answerRegroup(w http.ResponseWriter, r *http.Request, err error) error {
	if errors.Is(err, crash.Conflict) || db.IsArchiveAway(err) {
		err = s.web.Flash(r, layout.FlashError, web.AnswerTo(r, err).Message)
	}
	if err != nil {
		return err
	}
	return web.Redirect(w, r, layout.PathRegroup)
}

// Rows on a page.
const (
	shownMissing = 25
	shownJobs    = 20
)

// ShowSymbols shows which symbols are missing, and the queue. The query
// contains the state of the jobs, and from which row on to show both lists.
func (s *Pages) ShowSymbols(w http.ResponseWriter, r *http.Request) error {
	if format := web.AcceptedExport(r); format != "" {
		return s.ExportSymbols(w, r, format)
	}
	p := view.SymbolsPage{MissingSize: shownMissing, MissingJobs: symbols.MaxMissingJobs, QueueSize: shownJobs}
	var err error
	q := r.URL.Query()
	if p.MissingFrom, err = offset(q, "missing"); err != nil {
		return err
	}
	if p.QueueFrom, err = offset(q, "queue"); err != nil {
		return err
	}
	if state := q.Get("state"); state != "" {
		if p.State, err = crash.ParseWord(state, view.QueueStates, "state of symbolising"); err != nil {
			return err
		}
	}
	if p.Totals, err = s.Symbols.SymbolTotals(r.Context()); err != nil {
		return err
	}
	p.MissingCapped = p.Totals.Wanting() > symbols.MaxMissingJobs
	if p.Missing, p.MissingTotal, err = s.Symbols.MissingSymbols(r.Context(), shownMissing, p.MissingFrom); err != nil {
		return err
	}
	if p.Queue, err = s.Symbols.SymbolQueue(r.Context(), p.State, shownJobs+1, p.QueueFrom); err != nil {
		return err
	}
	if p.QueueMore = len(p.Queue) > shownJobs; p.QueueMore {
		p.Queue = p.Queue[:shownJobs]
	}
	p.Shell = s.web.Shell(r, "Symbols")
	return s.web.Page(w, r, http.StatusOK, view.SymbolsAdmin(p))
}

// maxOffset limits the row from which a list is shown.
const maxOffset = 1_000_000

func offset(q url.Values, name string) (int, error) {
	value := q.Get(name)
	if value == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 || n > maxOffset {
		return 0, web.ErrBadCursor
	}
	return n, nil
}

// exportedMissing is the largest number of missing symbols in a file.
const exportedMissing = 10_000

// ExportSymbols sends the missing symbols as a file or feed. The table depends on jobs, which change
// without the revision of the data. So the time takes part in its entity tag.
func (s *Pages) ExportSymbols(w http.ResponseWriter, r *http.Request, format string) error {
	version := s.web.Now().Format(time.RFC3339Nano)
	return s.exporter.Export(w, r, format, version, func(ctx context.Context) (export.Table, error) {
		list, _, err := s.Symbols.MissingSymbols(ctx, exportedMissing, 0)
		return export.Table{Title: "Missing symbols", Path: layout.PathSymbols, Columns: missingColumns,
			Rows: export.RowsOf(list, missingRow)}, err
	})
}

// missingColumns are the columns of the missing symbols.
var missingColumns = []string{"reports", "problems", "kind", "path", "build_id", "architecture", "package", "version",
	"command", "searched"}

func missingRow(m crash.MissingSymbol) export.Row {
	id := url.Values{"kind": {string(m.Kind)}, "build": {m.BuildID}, "path": {m.Path}, "package": {m.Package},
		"version": {m.Version}, "architecture": {m.Architecture}}
	summary := fmt.Sprintf("%s of %s would get names.", crash.Counted(m.Reports, "report", "reports"),
		crash.Counted(m.Problems, "problem", "problems"))
	if command := m.Command(); command != "" {
		summary += " " + command
	}
	return export.Row{
		Cells: []any{m.Reports, m.Problems, string(m.Kind), m.Path, m.BuildID, m.Architecture, m.Package, m.Version,
			m.Command(), problemsview.Searched(m.Searched)},
		Path: layout.PathSymbols + "?" + id.Encode(), Title: m.Path + " " + string(m.Kind), Summary: summary,
	}
}
