package problems

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/a-h/templ"
	"github.com/go-chi/chi/v5"

	"mishap/crash"
	"mishap/crash/grouping"
	"mishap/crash/index"
	"mishap/crash/redact"
	"mishap/handlers/web"
	"mishap/views"
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
		return s.exportReportsOf(w, r, id, format)
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
	if page.Pager, err = s.problemNavigation(r, page.Bucket.ID); err != nil {
		return err
	}
	page.Shell = s.Shell(r, views.DocumentTitle(page.Bucket))
	if signedIn {
		page.Shell.Also = views.Alternates("Reports of this problem", page.Bucket.ID.Path(), "")
	}
	return s.Page(w, r, http.StatusOK, views.Problem(*page))
}

// problemPage returns the public part of the page of a problem.
func (s *Pages) problemPage(r *http.Request, id crash.BucketID) (*views.ProblemPage, error) {
	facts, err := web.CachedFacts(s.Kit, r, string(id[:]), func(r *http.Request) (problemFacts, error) {
		return s.readProblem(r, id)
	})
	if err != nil {
		return nil, err
	}
	bucket := s.SeenBucket(r, facts.bucket)
	page := &views.ProblemPage{
		Bucket: bucket, Grouping: s.ExplainBucket(bucket), Chart: facts.chart,
		Status:   s.StatusViewOf(r, facts.bucket, facts.bugs),
		Versions: facts.versions, Impact: facts.impact, Breakdowns: facts.breakdowns,
		Filter: facts.filter, Alike: facts.alike,
	}
	page.Status.Manual = s.ManualView(r, facts.bucket, facts.manual)
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
		s.HideProblem(page)
	}
	page.Versions.Whole = r.URL.Query().Get("versions") == "all"
	return page, nil
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
	triage     []crash.Triage // newest first
	chart      templ.Component
	versions   views.VersionTable
	impact     views.Impact
	breakdowns []views.Breakdown
	filter     views.ReportFilterForm
	alike      []grouping.SimilarProblem
}

func (s *Pages) readProblem(r *http.Request, id crash.BucketID) (facts problemFacts, err error) {
	bucket, err := s.Bucket(r.Context(), id)
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
	facts.triage = web.NewestFirst(facts.triage, maxDecisions)
	since, until := views.ChartSpan(bucket.FirstSeen, s.Now())
	days, err := s.problemDays(r, bucket.ID, since, until)
	if err != nil {
		return facts, err
	}
	chart := views.ChartPart(views.NewChart(days, s.Releases, since, until), s.Now())
	if facts.chart, err = views.Draw(r.Context(), chart); err != nil {
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
	facts.alike, err = s.Problems.Alike(r.Context(), bucket)
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
				days = append(days, crash.DayCount{Day: day, Release: redact.Label(release), Reports: n})
			}
		}
	}
	return days, nil
}

// typeSample is the number of newest reports whose problem type is counted.
const typeSample = 500

// breakdowns returns the shares of a problem's reports by architecture, type and pocket, where
// there are several.
func breakdowns(b crash.Bucket, architectures, types []crash.NameCount, proposed int64) (all []views.Breakdown) {
	if len(architectures) > 1 {
		all = append(all, views.Breakdown{Title: "Architecture", Field: "architecture", Shares: architectures})
	}
	if len(types) > 1 {
		all = append(all, views.Breakdown{Title: "Type", Shares: types})
	}
	if proposed > 0 {
		all = append(all, views.Breakdown{Title: "Pocket", Shares: []crash.NameCount{
			{Name: "proposed", Reports: proposed}, {Name: "others", Reports: b.Reports - proposed},
		}})
	}
	return all
}

// filterForm returns the options by which the reports of a problem can be filtered.
func filterForm(path string, table views.VersionTable, architectures []crash.NameCount) views.ReportFilterForm {
	f := views.ReportFilterForm{Choice: views.ReportChoice{Path: path}}
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
func (s *Pages) addReports(r *http.Request, page *views.ProblemPage) error {
	facts, err := s.StackOf(r, page.Bucket, page.Status.Bugs.Cell.Review)
	if err != nil {
		return err
	}
	symbols, err := s.SymbolsOf(r.Context(), page.Bucket)
	if err != nil {
		return err
	}
	page.Stack, page.Grouping, page.Status.Advice = facts.Stack, facts.Grouping, s.Advise(facts.Advice, symbols)
	if page.Symbols, err = s.SymbolsView(r, page.Bucket, symbols); err != nil {
		return err
	}
	if page.Filing, err = s.BucketFiling(r, page.Bucket.ID); err != nil {
		return err
	}
	if page.Notes, err = s.notesView(r, page.Bucket); err != nil {
		return err
	}
	if page.People, err = s.peopleView(r, page.Bucket); err != nil {
		return err
	}
	choice, err := readReportChoice(r, page.Bucket.ID)
	if err != nil {
		return err
	}
	var names []string
	if page.Stack != nil {
		names = page.Stack.FacetNames
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
