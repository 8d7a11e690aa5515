package problems

import (
	"cmp"
	"net/http"
	"slices"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/crash/stats"
	"mishap/handlers/panel"
	"mishap/handlers/web"
	bugsview "mishap/views/bugs"
	"mishap/views/layout"
	view "mishap/views/problems"
)

const (
	packageDays     = 91 // days that the page of a package covers
	packageProblems = 50 // maximum number of problems that it shows
	packageVersions = 40 // maximum number of versions that it compares
)

// nameAndFormat returns the name in the path, and the format of the file or feed that the request
// asks for by a file extension or Accept header; "" is the page. Names that the current user may not
// see are not found.
func nameAndFormat(r *http.Request) (name, format string, err error) {
	text, err := web.PathText(r, "name")
	if err != nil {
		return "", "", err
	}
	name, format = web.CutFormat(text)
	if format == "" {
		format = web.AcceptedExport(r)
	}
	if name == "" || len(name) > web.MaxQueryText || web.SeenLabel(r, name) != name {
		return "", "", web.ErrNoPage
	}
	return name, format, nil
}

// ShowPackage shows a binary or source package: its problems, reports by day, and a comparison
// of versions. With a file extension or Accept header it sends the problems as a file or feed.
func (s *Lists) ShowPackage(w http.ResponseWriter, r *http.Request) error {
	name, format, err := nameAndFormat(r)
	if err != nil {
		return err
	}
	since, until := s.web.LastDays(packageDays)
	filter := index.Filter{Since: index.DayOf(since), Until: index.DayOf(until), Package: name, Muted: index.MutedHidden}
	if format != "" {
		if filter.Muted, err = mutedInFile(r); err != nil {
			return err
		}
		if format == "atom" {
			filter.Sort = index.ByFirst // a feed lists the newest problems
		}
		list := exportedList{title: "Problems of " + name, path: view.PackagePath(name), filter: filter}
		return s.exportList(w, r, format, list)
	}
	page, err := web.CachedFacts(s.web, r, name, func(r *http.Request) (view.PackagePage, error) {
		return s.readPackage(r, name, filter)
	})
	if err != nil {
		return err
	}
	if page.Problems, err = s.addBugCells(r, page.Problems, ""); err != nil {
		return err
	}
	if web.IsPublic(r) {
		hidePackage(&page)
	}
	if page.Follow, err = s.choices.followPart(r, crash.Follow{Kind: crash.FollowPackage, Name: name}); err != nil {
		return err
	}
	a, b, err := comparedVersions(r)
	if err != nil {
		return err
	}
	page.Comparison = page.Compare(a, b)
	if err := s.countCompared(r, &page.Comparison, filter); err != nil {
		return err
	}
	page.Shell = s.web.Shell(r, name)
	page.Shell.Also = layout.Alternates(problemsOf(name), view.PackagePath(name), "")
	return s.web.Page(w, r, http.StatusOK, view.Package(page))
}

// countCompared counts the reports of the problems that a comparison names: of new ones those from the
// newer version, of gone ones those from the older version, in the release and the days of the page.
func (s *Lists) countCompared(r *http.Request, c *view.Comparison, filter index.Filter) error {
	if c.Newer == nil {
		return nil
	}
	b, err := s.Store.Index(r.Context())
	if err != nil {
		return err
	}
	count := func(rows []view.PackageProblem, v *view.PackageVersion) {
		of := index.Filter{Release: v.Release, Version: v.Version}
		for i := range rows {
			rows[i].Count = 0
			if p, ok := b.Problem(rows[i].Bucket.ID); ok {
				for _, n := range b.Days(p, of, filter.Since, filter.Until) {
					rows[i].Count += n
				}
			}
		}
		slices.SortStableFunc(rows, func(a, b view.PackageProblem) int { return cmp.Compare(b.Count, a.Count) })
	}
	count(c.New, c.Newer)
	count(c.Gone, c.Older)
	return nil
}

// comparedVersions returns the versions that a request compares.
func comparedVersions(r *http.Request) (a, b string, err error) {
	if a, err = web.QueryText(r.URL.Query(), "a"); err != nil {
		return "", "", err
	}
	b, err = web.QueryText(r.URL.Query(), "b")
	return a, b, err
}

// readPackage returns the public part of the page of a package.
func (s *Lists) readPackage(r *http.Request, name string, filter index.Filter) (page view.PackagePage, err error) {
	since, until := s.web.LastDays(packageDays)
	b, err := s.Store.Index(r.Context())
	if err != nil {
		return page, err
	}
	rows, totals := b.All(filter, nil)
	filter.Muted = index.MutedShown
	all, _ := b.All(filter, nil)
	page = view.PackagePage{Name: name, Days: packageDays, Hidden: totals.Hidden}
	for i, row := range rows {
		for _, other := range []string{row.Package, row.Source} {
			if other != "" && other != name && !slices.Contains(page.Binaries, other) {
				page.Binaries = append(page.Binaries, other)
			}
		}
		if i < packageProblems {
			page.Problems = append(page.Problems, packageProblem(b, filter, row))
		}
	}
	slices.Sort(page.Binaries)
	page.More = int64(len(rows) - len(page.Problems))
	days, err := s.Problems.PackageDays(r.Context(), name, since, until)
	if err != nil {
		return page, err
	}
	page.Chart = view.NewChart(days, s.web.Releases, since, until)
	if page.Versions, err = s.packageVersions(r, name, all); err != nil {
		return page, err
	}
	if len(all) == 0 && len(days) == 0 && len(page.Versions) == 0 {
		return page, crash.Errorf(crash.NotFound, "unknown_package",
			"%s", "No recent reports of a package named “"+name+"”.")
	}
	return page, nil
}

// addBugCells returns a copy of rows, which are cached, with the bug cells that the user sees. table
// distinguishes the cells of lists on one page that contain the same problem.
func (s *Lists) addBugCells(r *http.Request, rows []view.PackageProblem, table string) ([]view.PackageProblem, error) {
	counts := make([]crash.ProblemCursor, len(rows))
	for i := range rows {
		counts[i].ID = rows[i].Bucket.ID
	}
	problems, err := s.panel.ListedProblems(r, counts)
	if err != nil {
		return nil, err
	}
	cells := make(map[crash.BucketID]bugsview.BugPart, len(problems))
	var bugs []crash.Bug
	for _, p := range problems {
		cell := s.panel.BugPart(r, *p.Bucket)
		cell.Copy = table
		cells[p.ID] = cell
		if p.Bug.Number != 0 {
			bugs = append(bugs, p.Bug)
		}
	}
	s.panel.RefreshStaleBugs(r, panel.StaleOnList, bugs...)
	rows = slices.Clone(rows)
	for i := range rows {
		rows[i].Bug = cells[rows[i].Bucket.ID]
	}
	return rows, nil
}

// packageProblem returns a row of a short list.
func packageProblem(b *index.Index, filter index.Filter, row index.Row) view.PackageProblem {
	p := namedProblem(row)
	p.Spark = layout.NewSparkline(b.Days(row.Problem, filter, filter.Until-sparkDays+1, filter.Until), filter.Until.Time())
	return p
}

// namedProblem returns a row of a short list without its sparkline.
func namedProblem(row index.Row) view.PackageProblem {
	return view.PackageProblem{
		Bucket: crash.Bucket{
			ID: row.ID, Signature: row.Signature, Rule: row.Rule, Provisional: row.Provisional, ProblemType: row.Type,
			Title: row.Title, Name: row.Name, Executable: row.Executable, Package: row.Package, SourcePackage: row.Source,
		},
		First: row.First(), Last: row.Last(), Count: row.Count, Package: row.Package,
	}
}

// packageVersions compares the newest versions of a binary package: their rates, and the
// problems that appeared and disappeared. rows are the problems of the period.
func (s *Lists) packageVersions(r *http.Request, name string, rows []index.Row) ([]view.PackageVersion, error) {
	since, until := s.web.LastDays(packageDays)
	spans, err := s.Problems.VersionSpans(r.Context(), name, since, until)
	if err != nil || len(spans) == 0 {
		return nil, err
	}
	reports := map[crash.Release]int64{}
	for _, span := range spans {
		reports[span.Release] += span.Reports
	}
	list := s.web.Releases.List(reports)
	spans = slices.DeleteFunc(spans, func(span stats.VersionSpan) bool { return !list.Names(span.Release) })
	active, err := s.Problems.ActiveMachines(r.Context(), list.Ascending(), since, until)
	if err != nil {
		return nil, err
	}
	// Versions are comparable only within a release.
	type versionIn struct {
		release crash.Release
		version string
	}
	lowest, highest := map[versionIn][]view.PackageProblem{}, map[versionIn][]view.PackageProblem{}
	for _, row := range rows {
		if row.Package != name {
			continue
		}
		for _, release := range list.Ascending() {
			facts := row.In(release)
			first, last := versionIn{release, facts.LowestVersion()}, versionIn{release, facts.HighestVersion()}
			lowest[first] = append(lowest[first], namedProblem(row))
			highest[last] = append(highest[last], namedProblem(row))
		}
	}
	rates := stats.RateVersions(spans, active, since)
	slices.SortStableFunc(rates, func(a, b stats.VersionRate) int { // known releases first
		return cmp.Compare(s.web.Releases.Kind(a.Release), s.web.Releases.Kind(b.Release))
	})
	versions := make([]view.PackageVersion, min(len(rates), packageVersions))
	for i := range versions {
		versions[i] = view.PackageVersion{VersionRate: rates[i], New: lowest[versionIn{rates[i].Release, rates[i].Version}]}
		if i+1 < len(rates) && rates[i+1].Release == rates[i].Release {
			versions[i].Old, versions[i].Gone = true, highest[versionIn{rates[i+1].Release, rates[i+1].Version}]
		}
	}
	return versions, nil
}

// problemsOf is the title of the files and feeds of a package or a release.
func problemsOf(name string) string { return "Problems of " + name }
