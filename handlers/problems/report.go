package problems

import (
	"net/http"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"
	"github.com/justinas/nosurf"

	"mishap/crash"
	"mishap/crash/grouping"
	"mishap/crash/stats"
	"mishap/db/problems"
	"mishap/handlers/web"
	"mishap/views/layout"
	view "mishap/views/problems"
)

// ShowReport shows one report or, with the extension .json or .crash, sends it as a file.
func (s *Pages) ShowReport(w http.ResponseWriter, r *http.Request) error {
	name, format, _ := strings.Cut(chi.URLParam(r, "id"), ".")
	id, err := crash.ParseOopsID(name)
	if err != nil {
		return err
	}
	report, err := s.Store.Report(r.Context(), id)
	if err != nil {
		return err
	}
	switch format {
	case "":
		err = s.web.AuditView(r, "read.report", id.String())
	case "json", "crash":
		err = s.web.AuditDownload(r, "read.file", id.String())
	default:
		return web.ErrNoPage
	}
	switch {
	case err != nil:
		return err
	case format == "json":
		return s.sendReport(w, r, report)
	case format == "crash":
		return s.sendCrash(w, r, report)
	}
	readable := web.Readable(r, report.SourcePackage)
	page := view.ReportPage{Report: report, Core: s.coreSize(r, report)}
	if report.TypedOnly {
		if page.NotStored, err = s.notStored(r, report); err != nil {
			return err
		}
	} else {
		page.Stack = s.panel.ReportStack(report, readable)
		page.Stack.OfReport = true
	}
	if report.Bucket != nil && page.Stack != nil && page.Stack.Text != "" {
		best, err := s.Store.RepresentativeReport(r.Context(), *report.Bucket)
		if err != nil {
			return err
		}
		page.Comparable = best.ID != id
	}
	if report.ProblemType == "Crash" {
		if page.Symbols, err = s.symbolsOf(r, report); err != nil {
			return err
		}
	}
	if page.Pager, err = s.choices.reportNavigation(r, report); err != nil {
		return err
	}
	if page.Grouping, err = s.panel.ExplainReport(r, report, readable); err != nil {
		return err
	}
	u := web.CurrentUser(r)
	page.Report.Fields, page.Hidden = s.web.Config.Privacy.Visible(u, report.Fields, report.SourcePackage)
	page.Report.System = u.VisibleSystem(report.System, report.SourcePackage)
	page.Shell = s.web.Shell(r, "Report "+id.String())
	return s.web.Page(w, r, http.StatusOK, view.Report(page))
}

// notStored returns what the page of a report says that is not stored in full.
func (s *Pages) notStored(r *http.Request, report crash.StoredReport) (*view.NotStored, error) {
	n := &view.NotStored{Admin: web.CurrentUser(r).Role.Allows(crash.RoleAdmin)}
	if report.Bucket == nil {
		return n, nil
	}
	var err error
	if n.Bodies, err = s.Store.Bodies(r.Context(), *report.Bucket); err != nil {
		return nil, err
	}
	n.Newest, err = s.Store.NewestInFull(r.Context(), *report.Bucket)
	return n, err
}

// ShowSystem shows the reports of one machine, newest first. An unknown machine has a page that
// lists no reports. It leaves out reports of packages whose private data the person may not read.
func (s *Pages) ShowSystem(w http.ResponseWriter, r *http.Request) error {
	address, err := web.PathText(r, "system")
	if err != nil {
		return err
	}
	name, format := web.CutFormat(address)
	system := crash.NewSystemID(name)
	if format == "" {
		format = web.AcceptedExport(r)
	}
	u := web.CurrentUser(r)
	if !u.Private.Some() {
		return u.CheckPrivate("")
	}
	if format != "" {
		return s.exportSystemReports(w, r, system, format)
	}
	if err := s.web.AuditView(r, "read.machine", string(system)); err != nil {
		return err
	}
	after, err := web.QueryOops(r.URL.Query(), "after")
	if err != nil {
		return err
	}
	rows, err := s.Problems.SystemReports(r.Context(), system, after, web.ListSize+1)
	if err != nil {
		return err
	}
	list := s.panel.ReportList(r, view.SystemPath(system), after, rows)
	shown := len(list.Rows)
	list.Rows = withoutHidden(list.Rows)
	hidden := int64(shown - len(list.Rows))
	list.Via = view.SystemPath(system)
	list.Empty = "No reports from this machine are stored."
	if list.Bugs, err = s.panel.BugsOf(r, list.Rows); err != nil {
		return err
	}
	if web.WantsPart(r) {
		return s.web.Part(w, r, view.ReportListPart(list))
	}
	page := view.SystemPage{System: system, Reports: list, Hidden: hidden}
	if system != "" && after.IsZero() && len(rows) > 0 {
		if page.Story, err = s.machineStory(r, system, rows); err != nil {
			return err
		}
	}
	shell := s.web.Shell(r, "Machine")
	shell.Also = layout.Alternates("Reports of a machine", view.SystemPath(system), "")
	page.Shell = shell
	return s.web.Page(w, r, http.StatusOK, view.System(page))
}

// withoutHidden returns the rows whose machines the person may know.
func withoutHidden(rows []crash.ReportRow) []crash.ReportRow {
	return slices.DeleteFunc(slices.Clone(rows),
		func(row crash.ReportRow) bool { return row.System == crash.HiddenSystem })
}

// maxStoryReports is the maximum number of reports that a machine's summary covers.
const maxStoryReports = 1000

// machineStory summarises the reports of a machine. rows are its newest reports; more than
// web.ListSize of them mean that there are further ones.
func (s *Pages) machineStory(r *http.Request, system crash.SystemID,
	rows []crash.ReportRow,
) (*view.MachineStory, error) {
	if len(rows) > web.ListSize {
		var err error
		if rows, err = s.Problems.SystemReports(r.Context(), system, crash.OopsID{}, maxStoryReports+1); err != nil {
			return nil, err
		}
	}
	rows = withoutHidden(web.HideMachines(r, rows))
	if len(rows) == 0 {
		return nil, nil //nolint:nilnil // nothing to summarise
	}
	story := view.NewMachineStory(rows[:min(len(rows), maxStoryReports)], len(rows) > maxStoryReports, s.web.Now())
	return &story, nil
}

// errNoneSelected is the error for a comparison of no report, or of more than two.
var errNoneSelected = crash.Errorf(crash.Invalid, "select_reports",
	"Select two reports to compare their stacks, or one to compare it with the representative report.")

// errRepresentative is the error for a comparison of the representative report with itself.
var errRepresentative = crash.Errorf(crash.Invalid, "representative_report", "This is the representative report of "+
	"the problem. Select another one to compare it with.")

// errNotInFull is the error for a comparison of a report that is not stored in full.
var errNotInFull = crash.Errorf(crash.Conflict, "not_in_full", "The full text of one of these reports is not stored, "+
	"so its stack cannot be compared. Select another report.")

// ShowCompare compares the stacks of two reports, or of one and the representative report of its
// problem.
func (s *Pages) ShowCompare(w http.ResponseWriter, r *http.Request, b crash.Bucket) error {
	var ids []crash.OopsID
	for _, text := range r.URL.Query()["report"] {
		id, err := crash.ParseOopsID(text)
		if err != nil {
			return err
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 || len(ids) > 2 {
		return errNoneSelected
	}
	best, err := s.Store.RepresentativeReport(r.Context(), b.ID)
	switch {
	case len(ids) == 1 && err != nil, err != nil && crash.KindOf(err) != crash.NotFound:
		return err
	case len(ids) == 1 && best.ID == ids[0]:
		return errRepresentative
	case len(ids) == 1:
		ids = []crash.OopsID{best.ID, ids[0]}
	}
	page := view.ComparePage{Bucket: b, Representative: best.ID}
	var sides [2]crash.StoredReport
	for i, id := range ids {
		var err error
		if sides[i], err = s.Store.Report(r.Context(), id); err != nil {
			return err
		}
		if sides[i].TypedOnly {
			return errNotInFull
		}
	}
	for _, side := range sides {
		if err := s.web.AuditView(r, "read.compare", side.ID.String()); err != nil {
			return err
		}
	}
	page.First, page.Second = sides[0].ReportRow, sides[1].ReportRow
	for i := range sides {
		sides[i].Fields = s.web.Config.Privacy.Excerpts(sides[i].Fields, web.Readable(r, sides[i].SourcePackage))
	}
	page.Frames = grouping.CompareFrames(grouping.AnyFrames(sides[0].Fields), grouping.AnyFrames(sides[1].Fields))
	page.Facts = differentFacts(sides)
	page.Shell = s.web.Shell(r, "Compare stacks")
	return s.web.Page(w, r, http.StatusOK, view.Compare(page))
}

// differentFacts returns the properties in which two reports differ.
func differentFacts(sides [2]crash.StoredReport) []view.DifferentFact {
	var facts []view.DifferentFact
	for _, field := range stats.FacetFields {
		first := field.ValueIn(sides[0].Summary, sides[0].Fields)
		if second := field.ValueIn(sides[1].Summary, sides[1].Fields); first != second {
			facts = append(facts, view.DifferentFact{Field: field, First: first, Second: second})
		}
	}
	return facts
}

// ShowTraits shows where a problem is concentrated: as a page, or as a part that the problem's page loads.
func (s *Pages) ShowTraits(w http.ResponseWriter, r *http.Request, b crash.Bucket) error {
	found, err := web.CachedFacts(s.web, r, string(b.ID[:]), func(r *http.Request) (stats.Concentrations, error) {
		return s.Problems.Concentrations(r.Context(), b, problems.ConcentrationScope{})
	})
	if err != nil {
		return err
	}
	found, private := web.SeenConcentrations(s.web, web.Readable(r, b.SourcePackage), found)
	if private {
		if err := s.web.AuditView(r, "read.values", b.ID.String()); err != nil {
			return err
		}
	}
	p := view.TraitsPage{Bucket: b, Concentrations: found}
	if web.WantsPart(r) {
		p.Shell = s.web.BareShell(r, "")
		return s.web.Page(w, r, http.StatusOK, view.TraitsPart(p))
	}
	p.Shell = s.web.Shell(r, "Where it is concentrated")
	return s.web.Page(w, r, http.StatusOK, view.Traits(p))
}

// symbolsOf returns how far a report is symbolised. It returns nil if nothing was tried, and nobody
// asked for its core.
func (s *Pages) symbolsOf(r *http.Request, report crash.StoredReport) (*view.SymbolsView, error) {
	j, ok, err := s.Symbols.ReportJob(r.Context(), report.ID)
	if err != nil || !ok {
		return nil, err
	}
	return &view.SymbolsView{Job: j, MayPress: web.CurrentUser(r).MayTriage(report.SourcePackage),
		CSRFToken: nosurf.Token(r)}, nil
}

// ShowSymbols shows how far a problem is symbolised, as a part of its page: nothing if that has not changed.
// When the reports have got names, it leads to their problem.
func (s *Pages) ShowSymbols(w http.ResponseWriter, r *http.Request) error {
	id, err := crash.ParseBucketID(chi.URLParam(r, "id"))
	if err != nil {
		return err
	}
	b, err := s.panel.BucketInPath(r)
	if err != nil {
		return err
	}
	if b.ID != id || !web.WantsPart(r) {
		return web.Redirect(w, r, headPath(b.ID, id))
	}
	symbols, err := s.panel.SymbolsOf(r.Context(), b)
	if err != nil {
		return err
	}
	shown, err := s.panel.SymbolsView(r, b, symbols)
	if err != nil {
		return err
	}
	if shown == nil || shown.Mark() == r.URL.Query().Get("seen") {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	return s.web.Part(w, r, view.SymbolsPart(shown))
}

// Symbolise symbolises a report again, as soon as an instance is free.
func (s *Pages) Symbolise(w http.ResponseWriter, r *http.Request) error {
	id, err := crash.ParseOopsID(chi.URLParam(r, "id"))
	if err != nil {
		return err
	}
	report, err := s.Store.Report(r.Context(), id)
	if err != nil {
		return err
	}
	if err := web.CheckTriage(r, report.SourcePackage); err != nil {
		return err
	}
	if err := s.Symbols.PressJob(r.Context(), id, web.CurrentUser(r).Name); err != nil {
		return err
	}
	return s.web.Done(w, r, view.ReportPath(id)+"#symbols", "It will be symbolised again soon.")
}

// AskForCore makes the next machine that reports a problem be asked for its core.
func (s *Pages) AskForCore(w http.ResponseWriter, r *http.Request, b crash.Bucket) error {
	why, err := s.panel.WhyNoCore(r.Context(), b)
	if err != nil {
		return err
	}
	if why != "" {
		return crash.Errorf(crash.Conflict, "no_core_wanted", "%s", why)
	}
	if err := s.Symbols.WantCore(r.Context(), b.ID, web.CurrentUser(r).Name); err != nil {
		return err
	}
	return s.answerCore(w, r, b, "The next machine that reports this problem will be asked for its core dump.")
}

// WithdrawCore withdraws what AskForCore did.
func (s *Pages) WithdrawCore(w http.ResponseWriter, r *http.Request, b crash.Bucket) error {
	if err := s.Symbols.UnwantCore(r.Context(), b.ID, web.CurrentUser(r).Name); err != nil {
		return err
	}
	return s.answerCore(w, r, b, "Your request is withdrawn.")
}

func (s *Pages) answerCore(w http.ResponseWriter, r *http.Request, b crash.Bucket, message string) error {
	return s.web.Done(w, r, b.ID.Path()+"#symbols", message)
}
