package problems

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/go-chi/chi/v5"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/crash/privacy"
	"mishap/crash/similar"
	"mishap/crash/stats"
	"mishap/db/problems"
	"mishap/handlers/panel"
	"mishap/handlers/web"
	"mishap/views/layout"
	view "mishap/views/problems"
)

// ShowProblem shows one problem. Visitors see its counts; signed-in users also see the stack and
// the reports. A request for a part, with after in the query, receives only the list of reports.
func (s *Pages) ShowProblem(w http.ResponseWriter, r *http.Request) error {
	id, err := crash.ParseBucketID(chi.URLParam(r, "id"))
	if err != nil {
		return err
	}
	signedIn := web.CurrentUser(r).Role.Allows(crash.RoleViewer)
	if web.WantsPart(r) {
		if !signedIn {
			return web.ErrNotSignedIn
		}
		return s.showReportsPart(w, r, id)
	}
	if format := web.AcceptedExport(r); format != "" {
		return s.ExportReports(w, r, format)
	}
	page, err := s.problemPage(r, id)
	if err != nil {
		return err
	}
	if page.Bucket.ID != id {
		return web.Redirect(w, r, headPath(page.Bucket.ID, id))
	}
	if page.From, err = s.mergedSignature(r, id); err != nil {
		return err
	}
	if page.Decisions, err = s.decisionsView(r, page.Bucket, page.Decisions.Triage); err != nil {
		return err
	}
	if signedIn {
		if err := s.addReports(r, page); err != nil {
			return err
		}
	}
	if page.Pager, err = s.choices.problemNavigation(r, page.Bucket.ID); err != nil {
		return err
	}
	page.Shell = s.web.Shell(r, view.DocumentTitle(page.Bucket))
	if signedIn {
		if err := s.choices.markRead(r, page.Bucket.ID); err != nil {
			return err
		}
		page.Shell.Also = layout.Alternates("Reports of this problem", page.Bucket.ID.Path(), "")
	}
	return s.web.Page(w, r, http.StatusOK, view.Problem(*page))
}

// problemPage returns the public part of the page of a problem.
func (s *Pages) problemPage(r *http.Request, id crash.BucketID) (*view.ProblemPage, error) {
	facts, err := web.CachedFacts(s.web, r, string(id[:]), func(r *http.Request) (problemFacts, error) {
		return s.readProblem(r, id)
	})
	if err != nil {
		return nil, err
	}
	status, err := s.panel.StatusViewOf(r, facts.bucket, facts.bugs, facts.manual)
	if err != nil {
		return nil, err
	}
	bucket := s.web.SeenBucket(r, facts.bucket)
	page := &view.ProblemPage{
		Bucket: bucket, Grouping: s.panel.ExplainBucket(bucket), Chart: facts.chart,
		Status:   status,
		Versions: facts.versions, Impact: facts.impact, Breakdowns: facts.breakdowns,
		Filter: facts.filter, Similar: facts.similar, Fixes: fixesPart(r, facts.bucket, facts.fixes),
	}
	page.Decisions.Triage = facts.triage
	page.First, page.Last = page.Bucket.First(), page.Bucket.Last()
	release, err := web.QueryText(r.URL.Query(), "release")
	if err != nil {
		return nil, err
	}
	if release = web.SeenLabel(r, release); release != "" {
		if page.First, page.Last, err = s.occurrencesIn(r.Context(), page.Bucket.ID, crash.Release(release)); err != nil {
			return nil, err
		}
		page.Impact.First, page.Impact.Last = page.First.At, page.Last.At
	}
	if web.IsPublic(r) {
		hideProblem(page)
	}
	page.Versions.Whole = r.URL.Query().Get("versions") == "all"
	return page, nil
}

// ProblemFacts returns the page of a problem as the current user may see it, without reports and what can be done. For
// people who may read reports it has the evidence of the representative report, notes, assignee and tags. If the
// problem was merged, it is that of the whole. It returns NotFound for an unknown problem.
func (s *Pages) ProblemFacts(r *http.Request, id crash.BucketID) (*view.ProblemPage, error) {
	page, err := s.problemPage(r, id)
	if err != nil || web.IsPublic(r) {
		return page, err
	}
	facts, err := s.panel.StackOf(r, page.Bucket, false)
	if err != nil {
		return nil, err
	}
	page.Stack, page.Grouping = facts.Stack, facts.Grouping
	if page.Notes, err = s.notesView(r, page.Bucket); err != nil {
		return nil, err
	}
	page.People, err = s.peopleView(r, page.Bucket)
	return page, err
}

// occurrencesIn returns the first and the last occurrence of a problem in one release.
func (s *Pages) occurrencesIn(ctx context.Context, id crash.BucketID,
	release crash.Release,
) (first, last crash.Occurrence, err error) {
	b, err := s.Store.Index(ctx)
	if err != nil {
		return first, last, err
	}
	if p, ok := b.Problem(id); ok {
		facts := p.In(release)
		first, last = facts.First(), facts.Last()
	}
	return first, last, nil
}

// problemFacts is the data of a problem that is the same for every user.
type problemFacts struct {
	bucket     crash.Bucket
	bugs       []crash.Bug
	manual     crash.ManualStatus
	triage     []crash.Mark // newest first
	chart      templ.Component
	versions   view.VersionTable
	impact     view.Impact
	breakdowns []view.Breakdown
	filter     view.ReportFilterForm
	similar    []similar.Problem
	fixes      []stats.FixWatch
}

func (s *Pages) readProblem(r *http.Request, id crash.BucketID) (facts problemFacts, err error) {
	bucket, err := s.panel.Bucket(r.Context(), id)
	if err != nil {
		return facts, err
	}
	facts.bucket = bucket
	if facts.bugs, err = s.Bugs.BucketBugs(r.Context(), bucket.ID); err != nil {
		return facts, err
	}
	if facts.manual, facts.triage, err = s.Problems.Triage(r.Context(), bucket.ID); err != nil {
		return facts, err
	}
	facts.triage = panel.NewestFirst(facts.triage, maxDecisions)
	since, until := view.ChartSpan(bucket.FirstSeen, s.web.Now())
	days, err := s.problemDays(r, bucket.ID, since, until)
	if err != nil {
		return facts, err
	}
	chart := view.ChartPart(view.NewChart(days, crash.Releases(), since, until), s.web.Now())
	if facts.chart, err = view.Draw(r.Context(), chart); err != nil {
		return facts, err
	}
	versions, err := s.versions(r, bucket)
	if err != nil {
		return facts, err
	}
	facts.versions = versions.Table()
	if facts.impact, err = s.impact(r, bucket, versions.Story.Counts); err != nil {
		return facts, err
	}
	architectures, proposed, err := s.Store.BucketArchitectures(r.Context(), id)
	if err != nil {
		return facts, err
	}
	types, err := s.Problems.NewestTypes(r.Context(), id, typeSample)
	if err != nil {
		return facts, err
	}
	facts.breakdowns = breakdowns(bucket, architectures, types, proposed)
	facts.filter = filterForm(bucket.ID.Path(), facts.versions, architectures)
	if facts.similar, err = s.Problems.Similar(r.Context(), bucket, similar.Shown, false); err != nil {
		return facts, err
	}
	facts.fixes, err = s.Problems.WatchFixes(r.Context(), bucket, facts.manual)
	return facts, err
}

// problemDays returns the reports of a problem by day and release, from the index because that
// is faster than the database.
func (s *Pages) problemDays(r *http.Request, id crash.BucketID, since, until time.Time) ([]crash.DayCount, error) {
	b, err := s.Store.Index(r.Context())
	if err != nil {
		return nil, err
	}
	counts := b.ReleaseDays(id, index.DayOf(since), index.DayOf(until))
	releases := slices.SortedFunc(maps.Keys(counts), crash.Release.Compare)
	var days []crash.DayCount
	for day := since; !day.After(until); day = day.AddDate(0, 0, 1) {
		i := int(index.DayOf(day)) - int(index.DayOf(since))
		for _, release := range releases {
			if n := counts[release][i]; n > 0 {
				days = append(days, crash.DayCount{Day: day, Release: privacy.RedactLabel(release), Reports: n})
			}
		}
	}
	return days, nil
}

// typeSample is the number of newest reports whose problem type is counted.
const typeSample = 500

// breakdowns returns the shares of a problem's reports by architecture, type and pocket, where
// there are several.
func breakdowns(b crash.Bucket, architectures, types []crash.NameCount, proposed int64) (all []view.Breakdown) {
	if len(architectures) > 1 {
		all = append(all, view.Breakdown{Title: "Architecture", Field: "architecture", Shares: architectures})
	}
	if len(types) > 1 {
		all = append(all, view.Breakdown{Title: "Type", Shares: types})
	}
	if proposed > 0 {
		all = append(all, view.Breakdown{Title: "Pocket", Shares: []crash.NameCount{
			{Name: "proposed", Reports: proposed}, {Name: "others", Reports: b.Reports - proposed},
		}})
	}
	return all
}

// filterForm returns the options by which the reports of a problem can be filtered.
func filterForm(path string, table view.VersionTable, architectures []crash.NameCount) view.ReportFilterForm {
	f := view.ReportFilterForm{Choice: view.ReportChoice{Path: path}}
	for _, r := range table.Releases {
		if r != "" && r != crash.OtherReleases {
			f.Releases = append(f.Releases, r)
		}
	}
	for _, row := range table.Rows {
		if row.Total > 0 && row.Version != "" {
			f.Versions = append(f.Versions, row.Version)
		}
	}
	for _, a := range architectures {
		if a.Name != "" {
			f.Architectures = append(f.Architectures, a.Name)
		}
	}
	return f
}

// addReports adds the data that only signed-in users may see.
func (s *Pages) addReports(r *http.Request, page *view.ProblemPage) error {
	facts, err := s.panel.StackOf(r, page.Bucket, page.Status.Bugs.Cell.Review)
	if err != nil {
		return err
	}
	symbols, err := s.panel.SymbolsOf(r.Context(), page.Bucket)
	if err != nil {
		return err
	}
	page.Grouping, page.Status.Advice = facts.Grouping, s.panel.Advise(facts.Advice, symbols)
	if page.Symbols, err = s.panel.SymbolsView(r, page.Bucket, symbols); err != nil {
		return err
	}
	if page.Filings, err = s.panel.BucketFilings(r, page.Bucket.ID); err != nil {
		return err
	}
	if page.Notes, err = s.notesView(r, page.Bucket); err != nil {
		return err
	}
	if page.People, err = s.peopleView(r, page.Bucket); err != nil {
		return err
	}
	if page.Family, err = s.family(r, page.Bucket); err != nil {
		return err
	}
	choice, err := readReportChoice(r, page.Bucket.ID)
	if err != nil {
		return err
	}
	var names []string
	if facts.Stack != nil {
		names = facts.Stack.FacetNames
		if page.Stack, page.Steps, err = s.chosenStack(r, page.Bucket, choice, facts.Stack); err != nil {
			return err
		}
	}
	reports, err := s.chosenReports(r, page.Bucket, choice)
	if err != nil {
		return err
	}
	page.Filter.Choice, page.Reports = choice, reports.list
	page.Facets = reports.facets
	page.Facets.Names = names
	return nil
}

// chosenStack returns the stack of the report of a problem that the query names, and the steps from there. By default
// it is that of the representative report or, if the filter does not select that, of the newest one that it selects.
func (s *Pages) chosenStack(r *http.Request, b crash.Bucket, choice view.ReportChoice, best *view.Stack) (
	stack *view.Stack, steps view.Steps, err error,
) {
	ctx, filter := r.Context(), choice.Filter
	id, err := web.QueryOops(r.URL.Query(), view.ParamReport)
	if err == nil && id.IsZero() && !passes(filter, best.Summary) {
		id, _, err = s.Problems.EndReports(ctx, b.ID, filter)
	}
	if err != nil {
		return nil, steps, err
	}
	if stack = best; !id.IsZero() {
		if stack, err = s.stackOfReport(r, b, id); err != nil {
			return nil, steps, err
		}
		stack.OfReport = id != best.Report
	}
	steps.Choice = choice
	if steps.Place, steps.Of, steps.More, err = s.Problems.ReportPlace(ctx, b.ID, filter, stack.Report); err != nil {
		return nil, steps, err
	}
	steps.Newer, steps.Older, err = s.Problems.ReportNeighbours(ctx, b.ID, filter, stack.Report)
	return stack, steps, err
}

var errOtherProblem = crash.Errorf(crash.NotFound, "no_report",
	"This problem has no report with this id. It may have been deleted, or moved to another problem.")

// stackOfReport returns the stack of a report, or errOtherProblem.
func (s *Pages) stackOfReport(r *http.Request, b crash.Bucket, id crash.OopsID) (*view.Stack, error) {
	var of crash.Bucket
	report, err := s.Store.Report(r.Context(), id)
	if err == nil && report.Bucket != nil {
		of, err = s.Store.Bucket(r.Context(), *report.Bucket)
	}
	switch {
	case crash.KindOf(err) == crash.NotFound, err == nil && of.ID != b.ID:
		return nil, errOtherProblem
	case err != nil:
		return nil, err
	}
	if err := s.web.AuditView(r, "read.report", id.String()); err != nil {
		return nil, err
	}
	return s.panel.ReportStack(report, web.Readable(r, report.SourcePackage)), nil
}

// readReportFilter reads the filter of a problem's reports: version, release, architecture and
// complete.
func readReportFilter(q url.Values) (f index.Filter, err error) {
	var release string
	for name, target := range map[string]*string{
		"version": &f.Version, "release": &release, "architecture": &f.Architecture,
	} {
		if *target, err = web.QueryText(q, name); err != nil {
			return f, err
		}
	}
	f.Release, f.Complete = crash.Release(release), q.Get("complete") != ""
	return f, nil
}

// ProblemQuery returns the query of a public problem page: all versions, one release, the merged
// problem that led here, and the list for navigation.
func (s *Pages) ProblemQuery(r *http.Request) (string, error) {
	known := url.Values{}
	if r.URL.Query().Get("versions") == "all" {
		known.Set("versions", "all")
	}
	if from, err := crash.ParseBucketID(r.URL.Query().Get("from")); err == nil {
		known.Set("from", from.String())
	}
	release, err := web.QueryText(r.URL.Query(), "release")
	if err != nil {
		return "", err
	}
	if release != "" {
		known.Set("release", release)
	}
	l, err := s.choices.readOrigin(r)
	if err != nil {
		return "", err
	}
	if l != nil && l.choice != nil {
		known.Set(layout.Via, l.choice.URL())
	}
	return known.Encode(), nil
}

// rateDays is the number of days that a problem's rate covers.
const rateDays = 28

// impact returns the number of reports and machines of a problem, and its rate per active
// machine.
func (s *Pages) impact(r *http.Request, b crash.Bucket, versions []crash.VersionCount) (view.Impact, error) {
	m := view.Impact{Reports: b.Reports, Systems: b.Systems, First: b.FirstSeen, Last: b.LastSeen, Days: rateDays,
		Today: crash.Elapsed(s.web.Now(), s.web.Now())}
	today := s.web.Now().UTC().Truncate(24 * time.Hour)
	since := today.AddDate(0, 0, 1-rateDays)
	if first := crash.Midnight(b.FirstSeen); first.After(since) && !first.After(today) {
		since = first
		m.Days = int(today.Sub(since)/(24*time.Hour)) + 1
	}
	releases := map[crash.Release]problems.Days{}
	for _, c := range versions {
		if c.Reports > 0 {
			releases[c.Release] = problems.Days{Since: since, Until: today}
		}
	}
	for _, release := range slices.SortedFunc(maps.Keys(releases), func(a, b crash.Release) int { return b.Compare(a) }) {
		m.Releases = append(m.Releases, privacy.RedactLabel(release))
	}
	problems, err := s.Store.Index(r.Context())
	if err != nil {
		return m, err
	}
	var reports int64
	week := crash.PeriodWeek.Days()
	before, _ := s.web.LastDays(2 * week)
	for _, days := range problems.ReleaseDays(b.ID, index.DayOf(before), index.DayOf(today)) {
		for i, n := range days {
			if i < week {
				m.WeekBefore += n
			} else {
				m.Week += n
			}
		}
	}
	for release, days := range problems.ReleaseDays(b.ID, index.DayOf(since), index.DayOf(today)) {
		if _, ok := releases[release]; ok {
			for _, n := range days {
				reports += n
			}
		}
	}
	machines, err := s.Problems.DistinctMachines(r.Context(), releases, since, today)
	if err != nil {
		return m, err
	}
	m.Active = machines[len(machines)-1]
	// Affected machines are known for all time, active machines only for the past 90 days.
	m.AtMost = b.FirstSeen.Before(today.AddDate(0, 0, -90))
	m.Rate = stats.NewMachineRate(reports, stats.MachineDays(machines, since, s.web.Now()))
	return m, nil
}

// versions compares the versions in which a problem was seen with those in use, and adds its
// status.
func (s *Pages) versions(r *http.Request, b crash.Bucket) (view.VersionFacts, error) {
	ctx := r.Context()
	facts := view.VersionFacts{Now: s.web.Now(), Last: map[crash.FixedIn]time.Time{}}
	counts, err := s.Store.BucketVersions(ctx, b.ID)
	if err != nil {
		return facts, err
	}
	if b.Package != "" {
		if facts.Known, err = s.Problems.VersionsInUse(ctx, b.Package); err != nil {
			return facts, err
		}
	}
	facts.Story = stats.NewVersionStory(counts, facts.Known)
	problems, err := s.Store.Index(ctx)
	if err != nil {
		return facts, err
	}
	for _, span := range problems.Spans(b.ID) {
		facts.Last[crash.FixedIn{Release: span.Release, Version: span.Version}] = span.Last
	}
	facts.Status, facts.Bug = b.Status, b.Bug.OtherText(b.Bug.Counts())
	for _, r := range b.Status.Releases {
		if r.Fix != "" && len(counts) > 0 {
			facts.Story.Add(crash.VersionCount{Version: r.Fix, Release: r.Release})
		}
	}
	if b.SourcePackage != "" {
		facts.Link = func(version string, release crash.Release) string {
			return s.web.Config.VersionLinks.Version(release, b.SourcePackage, version)
		}
	}
	return facts, nil
}

// showReportsPart sends what htmx requested of the reports of a problem: the comparison by a field,
// the section of the reports, or a page of their list.
func (s *Pages) showReportsPart(w http.ResponseWriter, r *http.Request, id crash.BucketID) error {
	bucket, err := s.Store.Bucket(r.Context(), id)
	if err != nil {
		return err
	}
	choice, err := readReportChoice(r, bucket.ID)
	if err != nil {
		return err
	}
	target := r.Header.Get("HX-Target")
	if view.IsStackTarget(target) {
		return s.showStackPart(w, r, bucket, choice)
	}
	if !view.IsFacetsTarget(target) && !view.IsReportSectionTarget(target) {
		reports, err := s.chosenReports(r, bucket, choice)
		if err != nil {
			return err
		}
		return s.web.Part(w, r, view.ReportListPart(*reports.list))
	}
	facts, err := web.CachedFacts(s.web, r, string(bucket.ID[:]), func(r *http.Request) (problemFacts, error) {
		return s.readProblem(r, bucket.ID)
	})
	if err != nil {
		return err
	}
	stack, err := s.panel.StackOf(r, bucket, false)
	if err != nil {
		return err
	}
	reports, err := s.chosenReports(r, bucket, choice)
	if err != nil {
		return err
	}
	if stack.Stack != nil {
		reports.facets.Names = stack.Stack.FacetNames
	}
	if view.IsFacetsTarget(target) {
		return s.web.Part(w, r, view.FacetsPart(reports.facets))
	}
	form := facts.filter
	form.Choice = choice
	return s.web.Part(w, r, view.ReportSectionPart(*reports.list, form, reports.facets))
}

// showStackPart sends the stack of another report.
func (s *Pages) showStackPart(w http.ResponseWriter, r *http.Request, b crash.Bucket, choice view.ReportChoice) error {
	best, err := s.panel.StackOf(r, b, false)
	if err != nil {
		return err
	}
	page := view.ProblemPage{Bucket: b, Shell: s.web.BareShell(r, "")}
	if best.Stack != nil {
		if page.Stack, page.Steps, err = s.chosenStack(r, b, choice, best.Stack); err != nil {
			return err
		}
	}
	return s.web.Part(w, r, view.StackPart(page))
}

func readReportChoice(r *http.Request, id crash.BucketID) (view.ReportChoice, error) {
	q := r.URL.Query()
	filter, err := readReportFilter(q)
	if err != nil {
		return view.ReportChoice{}, err
	}
	for _, name := range []string{"facet", "value"} {
		if _, err := web.QueryText(q, name); err != nil {
			return view.ReportChoice{}, err
		}
	}
	choice := view.ReadReportChoice(id.Path(), filter, q)
	if via := q.Get(layout.Via); via != "" && web.LocalPath(via) == via {
		choice.Via = via
	}
	return choice, nil
}

type chosenReports struct {
	list   *view.ReportList
	facets view.FacetsView
}

type facetFacts struct {
	facet   stats.Facet
	reports []problems.FacetReport
}

// chosenReports returns the reports that a choice selects. Reports with one value of a field are
// selected among those that the comparison examined.
func (s *Pages) chosenReports(r *http.Request, b crash.Bucket, choice view.ReportChoice) (chosenReports, error) {
	bodies, err := s.Store.Bodies(r.Context(), b.ID)
	if err != nil {
		return chosenReports{}, err
	}
	facets := view.FacetsView{Choice: choice, Package: b.Package, Bodies: bodies}
	if choice.Facet != "" && !web.PermitsFacet(s.web, web.Readable(r, b.SourcePackage), choice.Facet) {
		facets.Problem = view.PrivateOf(b.SourcePackage)
	}
	if choice.Facet == "" || facets.Problem != "" {
		list, err := s.bucketReports(r, b.ID, choice, bodies)
		return chosenReports{list, facets}, err
	}
	if !web.PermitsFacet(s.web, privacy.Restricted, choice.Facet) {
		if err := s.web.AuditView(r, "read.values", b.ID.String()); err != nil {
			return chosenReports{}, err
		}
	}
	facts, err := web.CachedFacts(s.web, r, string(b.ID[:])+string(choice.Facet),
		func(r *http.Request) (f facetFacts, err error) {
			f.facet, f.reports, err = s.Problems.Facet(r.Context(), b, choice.Facet)
			return f, err
		})
	switch {
	case crash.KindOf(err) == crash.Unavailable:
		facets.Problem = "Comparing the reports took too long. Try again, or choose another field."
	case err != nil:
		return chosenReports{}, err
	default:
		facets.Facet = &facts.facet
	}
	if !choice.ByValue || err != nil {
		list, err := s.bucketReports(r, b.ID, choice, bodies)
		return chosenReports{list, facets}, err
	}
	var rows []crash.ReportRow
	for _, report := range facts.reports {
		if report.Has(choice.Value) && passes(choice.Filter, report.Summary) {
			rows = append(rows, report.ReportRow)
		}
	}
	list := view.ReportList{ID: "reports", Rows: web.HideMachines(r, rows), Now: s.web.Now(), Choice: &choice,
		ComparePath: view.ComparePath(b.ID), Sample: len(facts.reports), Empty: "No report matches.",
		Bodies: bodies}
	list.Via = choice.Via
	return chosenReports{&list, facets}, nil
}

func passes(f index.Filter, r crash.Summary) bool {
	return (f.Version == "" || f.Version == r.Version) && (f.Release == "" || f.Release == r.Release) &&
		(f.Architecture == "" || f.Architecture == r.Architecture) && (!f.Complete || r.Complete)
}

// bucketReports returns the page of a bucket's reports that a choice and the query select.
func (s *Pages) bucketReports(r *http.Request, id crash.BucketID, choice view.ReportChoice, bodies crash.Bodies) (
	*view.ReportList, error,
) {
	after, err := web.QueryOops(r.URL.Query(), "after")
	if err != nil {
		return nil, err
	}
	rows, further, err := s.Problems.BucketReportsLike(r.Context(), id, choice.Filter, after, web.ListSize+1)
	if err != nil {
		return nil, err
	}
	list := s.panel.ReportList(r, id.Path(), after, rows)
	list.Choice, list.ComparePath, list.Via = &choice, view.ComparePath(id), choice.Origin()
	list.Empty, list.Bodies = view.NoReportsStored, bodies
	if choice.Filter != (index.Filter{}) {
		list.Empty = "No stored report matches."
	}
	if !further.IsZero() {
		list.Further = id.Path() + "?after=" + further.String()
		list.LookedTo = further.Received()
	}
	list.Keep(choice.Query())
	return &list, nil
}

// problemWork is what people have written and decided about a problem. It is the same for everyone who
// is signed in.
type problemWork struct {
	decisions   []crash.Decision
	notes       []crash.Note
	named       map[string]string // accounts that the notes name, by the names as typed
	assignments []crash.Assignment
	tags        []crash.ProblemTag
}

// workOn returns what people have done about a problem. Only people who are signed in may see it.
func (s *Pages) workOn(r *http.Request, id crash.BucketID) (problemWork, error) {
	return web.CachedFacts(s.web, r, string(id[:]), func(r *http.Request) (problemWork, error) {
		return s.readWork(r.Context(), id)
	})
}

func (s *Pages) readWork(ctx context.Context, id crash.BucketID) (w problemWork, err error) {
	if w.decisions, err = s.Decisions.Decisions(ctx, id, maxDecisions); err != nil {
		return w, err
	}
	if w.notes, err = s.People.Notes(ctx, id); err != nil {
		return w, err
	}
	var names []string
	for _, n := range w.notes {
		for _, t := range n.Texts {
			for _, m := range crash.Mentions(t.Text) {
				names = append(names, m.Name)
			}
		}
	}
	if w.named, err = s.People.Named(ctx, names); err != nil {
		return w, err
	}
	if w.assignments, err = s.Problems.Assignments(ctx, id, maxAssignments); err != nil {
		return w, err
	}
	w.tags, err = s.Problems.Tags(ctx, id)
	return w, err
}

// A page reached from a list has that list's path and query in its parameter via. Its links to the
// next and the previous page, and back, therefore stay within that list without server state.

// origin is the list from which the visitor came.
type origin struct {
	address string
	problem *crash.BucketID  // reports of this problem
	reports index.Filter     // selects the reports of problem
	system  *crash.SystemID  // or reports of this machine
	news    bool             // or what is new for the person
	mine    bool             // of that, only what they follow
	choice  *view.ListChoice // or problems of the front page or of a search
	query   index.Query      // query of the search
}

// readOrigin reads the list from which the visitor came. It returns nil if there is none or if
// its address is not valid.
func (s *choices) readOrigin(r *http.Request) (*origin, error) {
	via := r.URL.Query().Get(layout.Via)
	if via == "" || web.LocalPath(via) != via {
		return nil, nil //nolint:nilnil // the visitor came from no list
	}
	u, err := url.Parse(via)
	if err != nil {
		return nil, nil //nolint:nilerr,nilnil // an invalid origin counts as none
	}
	l := &origin{address: via}
	switch name, ok := strings.CutPrefix(u.Path, "/problem/"); {
	case ok:
		id, err := crash.ParseBucketID(name)
		if err != nil {
			return nil, nil //nolint:nilerr,nilnil // an invalid origin counts as none
		}
		l.problem = &id
		if l.reports, err = readReportFilter(u.Query()); err != nil {
			return nil, nil //nolint:nilerr,nilnil // an invalid origin counts as none
		}
	case strings.HasPrefix(u.Path, "/user/") && web.CurrentUser(r).Private.Some():
		system := crash.NewSystemID(strings.TrimPrefix(u.Path, "/user/"))
		l.system = &system
	case u.Path == layout.PathNews && !web.IsPublic(r):
		l.news, l.mine = true, isMine(u.Query())
	case u.Path == "/", u.Path == layout.PathSearch:
		return s.readListOrigin(r, l, u)
	default:
		return nil, nil //nolint:nilnil // an invalid origin counts as none
	}
	return l, nil
}

func (s *choices) readListOrigin(r *http.Request, l *origin, u *url.URL) (*origin, error) {
	values, search := readAddress(u)
	choice, err := s.readChoice(r, values)
	switch {
	case crash.KindOf(err) == crash.Invalid:
		return nil, nil //nolint:nilnil // an invalid origin counts as none
	case err != nil:
		return nil, err
	}
	if l.query, err = index.ParseQuery(search); err != nil {
		return nil, nil //nolint:nilerr,nilnil // an invalid origin counts as none
	}
	choice.Query = search
	l.choice = &choice
	return l, nil
}

// originRows returns the index, filter and match function of a list of problems.
func (s *choices) originRows(r *http.Request, l *origin) (
	*index.Index, index.Filter, func(*index.Problem) bool, error,
) {
	b, filter, _, err := s.listFilter(r.Context(), *l.choice)
	filter, match := web.SearchFilter(r, l.query, filter)
	return b, filter, match, err
}

// problemNavigation returns the neighbours of a problem in the list from which the visitor came,
// or nil if there is no such list.
func (s *choices) problemNavigation(r *http.Request, id crash.BucketID) (*layout.Pager, error) {
	l, err := s.readOrigin(r)
	if err != nil || l == nil || l.choice == nil && !l.news {
		return nil, err
	}
	if l.news {
		return s.newsNavigation(r, l, id)
	}
	b, filter, match, err := s.originRows(r, l)
	if err != nil {
		return nil, err
	}
	previous, next, position, total := b.Neighbours(filter, match, id)
	nav := &layout.Pager{Via: l.address, List: l.choice.Name(), Place: position, Of: total}
	if previous != nil {
		nav.Previous = layout.WithVia(previous.ID.Path(), l.address)
	}
	if next != nil {
		nav.Next = layout.WithVia(next.ID.Path(), l.address)
	}
	return nav, nil
}

// reportNavigation returns the neighbours of a report: within the list from which the visitor
// came, or else among the reports of its problem.
func (s *choices) reportNavigation(r *http.Request, report crash.StoredReport) (layout.Pager, error) {
	ctx := r.Context()
	l, err := s.readOrigin(r)
	if err != nil {
		return layout.Pager{}, err
	}
	if l == nil || l.news {
		if report.Bucket == nil {
			return layout.Pager{}, nil
		}
		l = &origin{problem: report.Bucket}
	}
	nav := layout.Pager{Via: l.address, List: "reports of this problem"}
	var newer, older crash.OopsID
	switch {
	case l.system != nil:
		nav.List = "reports of this machine"
		newer, older, err = s.Problems.SystemNeighbours(ctx, *l.system, report.ID)
	case l.choice != nil:
		return s.searchNavigation(r, l, report)
	default:
		nav.Chosen = layout.FilterText(l.reports)
		newer, older, err = s.Problems.ReportNeighbours(ctx, *l.problem, l.reports, report.ID)
	}
	nav.Previous, nav.Next = viaReport(newer, l.address), viaReport(older, l.address)
	return nav, err
}

// viaReport returns the address of a report with the list it was reached from, or "" for no
// report.
func viaReport(id crash.OopsID, via string) string {
	if id.IsZero() {
		return ""
	}
	return layout.WithVia(view.ReportPath(id), via)
}

// maxSkipped is the maximum number of problems without a stored report that navigation skips.
const maxSkipped = 5

// searchNavigation returns the neighbours of a report in a list of problems. It passes through
// the reports of each problem from the newest to the oldest, then to the next problem.
func (s *choices) searchNavigation(r *http.Request, l *origin, report crash.StoredReport) (layout.Pager, error) {
	ctx := r.Context()
	nav := layout.Pager{Via: l.address, List: l.choice.Name()}
	b, filter, match, err := s.originRows(r, l)
	if err != nil || report.Bucket == nil {
		return nav, err
	}
	counted := filter.OfReports()
	problem, err := s.Store.Bucket(ctx, *report.Bucket) // the list contains the problem that it was merged into
	if err != nil {
		return nav, err
	}
	newer, older, err := s.Problems.ReportNeighbours(ctx, problem.ID, counted, report.ID)
	if err != nil {
		return nav, err
	}
	previous, next, position, total := b.Neighbours(filter, match, problem.ID)
	nav.Place, nav.Of = position, total
	for n := 0; older.IsZero() && next != nil && n < maxSkipped; n++ {
		id := next.ID
		nav.NextProblem = true
		if older, _, err = s.Problems.EndReports(ctx, id, counted); err != nil {
			return nav, err
		}
		_, next, _, _ = b.Neighbours(filter, match, id)
	}
	for n := 0; newer.IsZero() && previous != nil && n < maxSkipped; n++ {
		id := previous.ID
		nav.PreviousProblem = true
		if _, newer, err = s.Problems.EndReports(ctx, id, counted); err != nil {
			return nav, err
		}
		previous, _, _, _ = b.Neighbours(filter, match, id)
	}
	nav.Previous, nav.Next = viaReport(newer, l.address), viaReport(older, l.address)
	return nav, nil
}

// ratesDays is the number of days in the reliability chart: twelve weeks.
const ratesDays = 84

// rates returns the chart of reports per active machine and day. The release, package and
// version of the choice apply to it; the other filters do not.
func (s *Lists) rates(r *http.Request, choice view.ListChoice) (view.Rates, error) {
	pkg, version := web.SeenLabel(r, choice.Package), web.SeenLabel(r, choice.Version)
	if pkg == "" {
		version = ""
	}
	key := strings.Join([]string{string(choice.Release), pkg, version}, "\x00")
	return web.CachedFacts(s.web, r, key, func(r *http.Request) (view.Rates, error) {
		return s.readRates(r.Context(), choice.Release, pkg, version)
	})
}

func (s *Lists) readRates(ctx context.Context, release crash.Release, pkg, version string) (view.Rates, error) {
	since, until := s.web.LastDays(ratesDays)
	filter := problems.RateFilter{Since: since, Until: until, Release: release, Package: pkg, Version: version}
	rates, err := s.Problems.Rates(ctx, filter)
	if err != nil {
		return view.Rates{}, err
	}
	all, err := s.totalTrend(ctx, rates)
	if err != nil {
		return view.Rates{}, err
	}
	rates = slices.Clone(rates) // the store caches the original
	for i := range rates {      // the chart is part of public pages
		rates[i].Release = privacy.RedactLabel(rates[i].Release)
	}
	return drawRates(ctx, s, rates, all, since)
}

// totalTrend returns the trend of the last week of all releases in rates together.
func (s *Lists) totalTrend(ctx context.Context, rates []stats.DayRate) (stats.Trend, error) {
	week := crash.PeriodWeek.Days()
	since, until := s.web.LastDays(2 * week)
	releases := map[crash.Release]problems.Days{}
	for _, r := range rates {
		releases[r.Release] = problems.Days{Since: since, Until: until}
	}
	machines, err := s.Problems.DistinctMachines(ctx, releases, since, until)
	if err != nil {
		return stats.Trend{}, err
	}
	return stats.TotalTrend(rates, machines, s.web.Now(), week), nil
}

// drawRates draws the chart of rates from a day to today.
func drawRates(ctx context.Context, s *Lists, rates []stats.DayRate, all stats.Trend, since time.Time) (view.Rates,
	error) {
	now, known := s.web.Now(), crash.Releases()
	page := view.NewRateChart(rates, all, known.ReleasedBetween(since, now), known, since, now).Rates()
	var err error
	page.Chart, err = view.Draw(ctx, page.Chart)
	return page, err
}
