package handlers

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/a-h/templ"
	"github.com/go-chi/chi/v5"

	"mishap/crash"
	"mishap/crash/cache"
	"mishap/crash/grouping"
	"mishap/crash/index"
	"mishap/crash/redact"
	"mishap/crash/stats"
	"mishap/views"
)

// showProblem is the page of one bucket. Visitors see what is counted; people who are signed in see the stack and the
// reports too. The list of reports is also sent alone, as a part: it has the same address with after.
func (s *Server) showProblem(w http.ResponseWriter, r *http.Request) error {
	id, err := crash.ParseBucketID(chi.URLParam(r, "id"))
	if err != nil {
		return err
	}
	signedIn := currentUser(r).Role.Allows(crash.RoleViewer)
	if wantsPart(r) {
		if !signedIn {
			return errNotSignedIn
		}
		list, err := s.bucketReports(r, id)
		if err != nil {
			return err
		}
		return s.part(w, r, views.ReportListPart(*list))
	}
	if format := acceptedExport(r); format != "" {
		return s.exportReportsOf(w, r, id, format)
	}
	page, err := s.problemPage(r, id)
	if err != nil {
		return err
	}
	if page.Bucket.ID != id {
		return redirect(w, r, memberPath(page.Bucket.ID, id))
	}
	if page.From, err = s.cameFrom(r, id); err != nil {
		return err
	}
	if page.Decisions, err = s.decisionsView(r, page.Bucket); err != nil {
		return err
	}
	if signedIn {
		if err := s.addReports(r, page); err != nil {
			return err
		}
	}
	if page.Way, err = s.problemWay(r, page.Bucket.ID); err != nil {
		return err
	}
	page.Shell = s.shell(r, views.DocumentTitle(page.Bucket, signedIn))
	if signedIn {
		if page.Way != nil {
			page.Filter.Via = page.Way.Via
		}
		page.Shell.Also = views.Alternates("Reports of this problem", page.Bucket.ID.Path(), "")
	}
	return s.page(w, r, http.StatusOK, views.Problem(*page))
}

// problemPage is what everybody may see of a bucket.
func (s *Server) problemPage(r *http.Request, id crash.BucketID) (*views.ProblemPage, error) {
	facts, err := cachedFacts(s, r, string(id[:]), func(r *http.Request) (problemFacts, error) {
		return s.readProblem(r, id)
	})
	if err != nil {
		return nil, err
	}
	bucket := s.seenBy(r, facts.bucket)
	page := &views.ProblemPage{
		Bucket: bucket, Why: s.whyBucket(bucket), Status: s.statusViewOf(r, facts.bucket, facts.bugs), Chart: facts.chart,
		Versions: facts.versions, Much: facts.much, Breakdowns: facts.breakdowns, Filter: facts.filter, Alike: facts.alike,
	}
	page.First, page.Last = page.Bucket.First(), page.Bucket.Last()
	release, err := queryText(r.URL.Query(), "release")
	if err != nil {
		return nil, err
	}
	if release != "" {
		if page.First, page.Last, err = s.seenIn(r.Context(), page.Bucket.ID, crash.Release(release)); err != nil {
			return nil, err
		}
		page.Much.First, page.Much.Last = page.First.At, page.Last.At
	}
	if isPublic(r) {
		s.hideProblem(page)
	}
	page.Versions.Whole = r.URL.Query().Get("versions") == "all"
	return page, nil
}

// seenIn returns what the oldest and the newest report of a problem from one release say.
func (s *Server) seenIn(ctx context.Context, id crash.BucketID, release crash.Release) (first, last crash.Occurrence, err error) {
	b, err := s.store.Index(ctx)
	if err != nil {
		return first, last, err
	}
	if p, ok := b.Problem(id); ok {
		facts := p.In(release)
		first, last = facts.First, facts.Last
	}
	return first, last, nil
}

// problemFacts is what is known of a bucket and the same for everybody.
type problemFacts struct {
	bucket     crash.Bucket
	bugs       []crash.Bug
	chart      templ.Component
	versions   views.VersionTable
	much       views.Much
	breakdowns []views.Breakdown
	filter     views.ReportFilterForm
	alike      []grouping.SimilarProblem
}

func (s *Server) readProblem(r *http.Request, id crash.BucketID) (facts problemFacts, err error) {
	bucket, err := s.bucket(r.Context(), id)
	if err != nil {
		return facts, err
	}
	facts.bucket = bucket
	if facts.bugs, err = s.bugs.BucketBugs(r.Context(), bucket.ID); err != nil {
		return facts, err
	}
	since, until := views.ChartSpan(bucket.FirstSeen, s.now())
	days, err := s.problemDays(r, bucket.ID, since, until)
	if err != nil {
		return facts, err
	}
	if facts.chart, err = views.Draw(r.Context(), views.NewChart(days, s.releases, since, until), s.now()); err != nil {
		return facts, err
	}
	versions, err := s.versions(r, bucket)
	if err != nil {
		return facts, err
	}
	facts.versions = versions.Table()
	if facts.much, err = s.much(r, bucket, versions.Story.Counts); err != nil {
		return facts, err
	}
	architectures, proposed, err := s.store.BucketArchitectures(r.Context(), id)
	if err != nil {
		return facts, err
	}
	types, err := s.counts.NewestTypes(r.Context(), id, typesLooked)
	if err != nil {
		return facts, err
	}
	facts.breakdowns = breakdowns(bucket, architectures, types, proposed)
	facts.filter = filterForm(bucket.ID.Path(), facts.versions, architectures)
	facts.alike, err = s.counts.Alike(r.Context(), bucket)
	return facts, err
}

// problemDays is how often a problem was seen on each day, by release. Memory tells it faster than the database.
func (s *Server) problemDays(r *http.Request, id crash.BucketID, since, until time.Time) ([]crash.DayCount, error) {
	b, err := s.store.Index(r.Context())
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

// typesLooked is of how many of the newest reports the type is looked at.
const typesLooked = 500

// breakdowns are the parts that the reports of a problem fall into, as far as there are several.
func breakdowns(b crash.Bucket, architectures, types []crash.NameCount, proposed int64) (all []views.Breakdown) {
	if len(architectures) > 1 {
		all = append(all, views.Breakdown{Title: "Architecture", Field: "architecture", Shares: architectures})
	}
	if len(types) > 1 {
		all = append(all, views.Breakdown{Title: "Problem type of the newest", Shares: types})
	}
	if proposed > 0 {
		all = append(all, views.Breakdown{Title: "Pocket", Shares: []crash.NameCount{{Name: "proposed", Reports: proposed}, {Name: "others", Reports: b.Reports - proposed}}})
	}
	return all
}

// filterForm offers what the reports of a problem can be chosen by.
func filterForm(path string, table views.VersionTable, architectures []crash.NameCount) views.ReportFilterForm {
	f := views.ReportFilterForm{Path: path}
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

// stackFacts is what the representative report of a bucket says, to everybody who is signed in.
type stackFacts struct {
	stack  *views.Stack // nil: no report is stored
	why    views.WhyPart
	advice stats.Advice
	fields int64 // bytes of the report's fields, of which the stack may hold parts
}

// CachedBytes implements [cache.Sizer].
func (f stackFacts) CachedBytes() int64 { return cache.SizeOf(&f) + f.fields }

func (s *Server) readStack(r *http.Request, b crash.Bucket, advise bool) (facts stackFacts, err error) {
	report, err := s.store.RepresentativeReport(r.Context(), b.ID)
	switch {
	case err == nil:
		facts.stack = views.NewStack(report)
		for _, value := range report.Fields {
			facts.fields += int64(len(value))
		}
		facts.stack.Links = s.config.SourceLinks
		if facts.why, err = s.whyLike(r, b, report); err != nil {
			return facts, err
		}
	case !errors.Is(err, crash.NotFound):
		return facts, err
	default:
		facts.why = s.whyBucket(b)
	}
	if advise {
		facts.advice, _, err = s.advice(r.Context(), b, report.Fields)
		return facts, err
	}
	return facts, nil
}

// stackOf is what readStack reads, cached.
func (s *Server) stackOf(r *http.Request, b crash.Bucket, advise bool) (stackFacts, error) {
	return cachedFacts(s, r, string(b.ID[:])+strconv.FormatBool(advise), func(r *http.Request) (stackFacts, error) {
		return s.readStack(r, b, advise)
	})
}

// addReports adds what only people who are signed in may see.
func (s *Server) addReports(r *http.Request, page *views.ProblemPage) error {
	facts, err := s.stackOf(r, page.Bucket, page.Status.Bugs.Cell.Review)
	if err != nil {
		return err
	}
	page.Stack, page.Why, page.Status.Advice = facts.stack, facts.why, facts.advice
	if page.Filing, err = s.bucketFiling(r, page.Bucket.ID); err != nil {
		return err
	}
	if page.Notes, err = s.notesView(r, page.Bucket); err != nil {
		return err
	}
	if page.Filter.Filter, err = readReportFilter(r.URL.Query()); err != nil {
		return err
	}
	page.Reports, err = s.bucketReports(r, page.Bucket.ID)
	return err
}

// bucketReports is the list of a bucket's reports that the query asks for.
func (s *Server) bucketReports(r *http.Request, id crash.BucketID) (*views.ReportList, error) {
	after, err := queryOops(r.URL.Query(), "after")
	if err != nil {
		return nil, err
	}
	filter, err := readReportFilter(r.URL.Query())
	if err != nil {
		return nil, err
	}
	rows, further, err := s.reports.BucketReportsLike(r.Context(), id, filter, after, listSize+1)
	if err != nil {
		return nil, err
	}
	list := s.reportList(id.Path(), after, rows)
	list.Empty = "No report of this problem is stored any more."
	chosen := views.FilterQuery(filter)
	query := maps.Clone(chosen)
	if via := r.URL.Query().Get(views.Via); via != "" && localPath(via) == via {
		query.Set(views.Via, via)
		list.Via = via // the way through a search leads on to reports
	}
	if len(chosen) > 0 {
		list.Empty = "No report of this problem that is still stored is like that."
		list.Via = id.Path() + "?" + chosen.Encode()
	}
	if !further.IsZero() {
		list.Further = id.Path() + "?after=" + further.String()
		list.LookedTo = further.Received()
	}
	list.Keep(query)
	return &list, nil
}

// readReportFilter reads which reports of a problem are wanted: version, release, architecture,
// complete.
func readReportFilter(q url.Values) (f index.Filter, err error) {
	var release string
	for name, into := range map[string]*string{"version": &f.Version, "release": &release, "architecture": &f.Architecture} {
		if *into, err = queryText(q, name); err != nil {
			return f, err
		}
	}
	f.Release, f.Complete = crash.Release(release), q.Get("complete") != ""
	return f, nil
}
