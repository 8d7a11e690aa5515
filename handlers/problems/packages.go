package problems

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/crash/privacy"
	"mishap/crash/stats"
	"mishap/db/problems"
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
	if format != "" {
		list := exportedList{title: problemsOf(name), path: view.PackagePath(name), filter: s.packageFilter(name)}
		return s.exportOf(w, r, format, list)
	}
	page, err := s.PackageFacts(r, name)
	if err != nil {
		return err
	}
	if page.Problems, err = s.addBugCells(r, page.Problems, ""); err != nil {
		return err
	}
	if page.Follow, err = s.choices.followPart(r, crash.Follow{Kind: crash.FollowPackage, Name: name}); err != nil {
		return err
	}
	a, b, err := comparedVersions(r)
	if err != nil {
		return err
	}
	if err := s.CompareVersions(r, &page, a, b); err != nil {
		return err
	}
	page.Shell = s.web.Shell(r, name)
	page.Shell.Also = layout.Alternates(problemsOf(name), view.PackagePath(name), "")
	return s.web.Page(w, r, http.StatusOK, view.Package(page))
}

// packageFilter selects what the page of a package covers.
func (s *Lists) packageFilter(name string) index.Filter {
	since, until := s.web.LastDays(packageDays)
	return index.Filter{Since: index.DayOf(since), Until: index.DayOf(until), Package: name, Muted: index.MutedHidden}
}

// PackageFacts returns the page of a package as the current user may see it, without bugs, a comparison and what
// belongs to one person. It returns NotFound for an unknown package.
func (s *Lists) PackageFacts(r *http.Request, name string) (view.PackagePage, error) {
	page, err := web.CachedFacts(s.web, r, name, func(r *http.Request) (view.PackagePage, error) {
		return s.readPackage(r, name, s.packageFilter(name))
	})
	if err == nil && web.IsPublic(r) {
		hidePackage(&page)
	}
	return page, err
}

// CompareVersions adds the comparison of two versions to the page of a package; see [view.PackagePage.Compare].
func (s *Lists) CompareVersions(r *http.Request, page *view.PackagePage, a, b string) error {
	page.Comparison = page.Compare(a, b)
	return s.countCompared(r, &page.Comparison, s.packageFilter(page.Name))
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
	count := func(rows []view.ListRow, v *view.PackageVersion) {
		of := index.Filter{Release: v.Release, Version: v.Version}
		for i := range rows {
			rows[i].Problem = &crash.Problem{Bucket: rows[i].Bucket} // the other one is cached
			if p, ok := b.Problem(rows[i].ID); ok {
				for _, n := range b.Days(p, of, filter.Since, filter.Until) {
					rows[i].Count += n
				}
			}
		}
		slices.SortStableFunc(rows, func(a, b view.ListRow) int { return cmp.Compare(b.Count, a.Count) })
	}
	count(c.New, c.Newer)
	count(c.Gone, c.Older)
	return nil
}

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
	page.Chart = view.NewChart(days, crash.Releases(), since, until)
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
func (s *Lists) addBugCells(r *http.Request, rows []view.ListRow, table string) ([]view.ListRow, error) {
	counts := make([]crash.ProblemCursor, len(rows))
	for i := range rows {
		counts[i].ID = rows[i].ID
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
		rows[i].Bug = cells[rows[i].ID]
	}
	return rows, nil
}

func packageProblem(b *index.Index, filter index.Filter, row index.Row) view.ListRow {
	p := namedProblem(row)
	p.Spark = layout.NewSparkline(b.Days(row.Problem, filter, filter.Until-sparkDays+1, filter.Until), filter.Until.Time())
	return p
}

// namedProblem returns a row of a short list without its sparkline.
func namedProblem(row index.Row) view.ListRow {
	b := row.Named()
	return view.ListRow{Problem: &crash.Problem{Bucket: &b, Count: row.Count}, First: row.First(), Last: row.Last()}
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
	list := crash.Releases().List(reports)
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
	lowest, highest := map[versionIn][]view.ListRow{}, map[versionIn][]view.ListRow{}
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
		return cmp.Compare(crash.Releases().Kind(a.Release), crash.Releases().Kind(b.Release))
	})
	machines, err := s.Problems.MachineNumbers(r.Context(), list.Ascending(), name, s.web.Now())
	if err != nil {
		return nil, err
	}
	versions := make([]view.PackageVersion, min(len(rates), packageVersions))
	for i := range versions {
		versions[i] = view.PackageVersion{VersionRate: rates[i], New: lowest[versionIn{rates[i].Release, rates[i].Version}]}
		versions[i].CrashFree = machines.CrashFree(rates[i].Release, rates[i].Version)
		if i+1 < len(rates) && rates[i+1].Release == rates[i].Release {
			versions[i].Old, versions[i].Gone = true, highest[versionIn{rates[i+1].Release, rates[i+1].Version}]
		}
	}
	return versions, nil
}

// exportOf sends the problems of a package or a release. A feed lists the newest ones.
func (s *Lists) exportOf(w http.ResponseWriter, r *http.Request, format string, list exportedList) error {
	muted, err := readMuted(r.URL.Query())
	if err != nil {
		return err
	}
	list.filter.Muted = view.ListChoice{ShowMuted: muted}.MutedFilter()
	if format == "atom" {
		list.filter.Sort = index.ByFirst
	}
	return s.exportList(w, r, format, list)
}

// problemsOf is the title of the files and feeds of a package or a release.
func problemsOf(name string) string { return "Problems of " + name }

const (
	releaseDays     = 28 // days that the lists of a release cover
	releaseProblems = 20 // maximum number of problems in each list
	releasePackages = 25 // maximum number of packages
	activeDays      = 90 // days for which a machine counts as active after a report
)

// ShowRelease shows one release: its reliability compared with its predecessor, its problems and
// packages. With a file extension or Accept header it sends the problems as a file or feed.
func (s *Lists) ShowRelease(w http.ResponseWriter, r *http.Request) error {
	name, format, err := nameAndFormat(r)
	if err != nil {
		return err
	}
	release := crash.Release(name)
	has, err := s.Problems.HasRelease(r.Context(), release)
	if err != nil {
		return err
	}
	if !has {
		return crash.Errorf(crash.NotFound, "unknown_release", "There are no reports from a release named %s.", name)
	}
	since, until := s.web.LastDays(releaseDays)
	filter := index.Filter{Since: index.DayOf(since), Until: index.DayOf(until), Release: release}
	if format != "" {
		list := exportedList{title: problemsOf(name), path: view.ReleasePath(release), filter: filter}
		return s.exportOf(w, r, format, list)
	}
	page, err := web.CachedFacts(s.web, r, name, func(r *http.Request) (view.ReleasePage, error) {
		return s.readRelease(r, release, filter)
	})
	if err != nil {
		return err
	}
	for table, rows := range map[string]*[]view.ListRow{
		"": &page.Worst, "regressions": &page.Regressions, "new": &page.New,
	} {
		if *rows, err = s.addBugCells(r, *rows, table); err != nil {
			return err
		}
	}
	if web.IsPublic(r) {
		hideRelease(&page)
	}
	page.Shell = s.web.Shell(r, name)
	page.Shell.Also = layout.Alternates(problemsOf(name), view.ReleasePath(release), "")
	return s.web.Page(w, r, http.StatusOK, view.Release(page))
}

// releaseWhere is how many of a release's most common problems are compared.
const releaseWhere = 5

// ShowReleaseWhere shows where the most common problems of a release are concentrated: as a page, or as a part that
// the page of the release loads.
func (s *Lists) ShowReleaseWhere(w http.ResponseWriter, r *http.Request) error {
	name, _, err := nameAndFormat(r)
	if err != nil {
		return err
	}
	release := crash.Release(name)
	has, err := s.Problems.HasRelease(r.Context(), release)
	if err != nil {
		return err
	}
	if !has {
		return crash.Errorf(crash.NotFound, "unknown_release", "There are no reports from a release named %s.", name)
	}
	facts, err := web.CachedFacts(s.web, r, name+" concentrated", func(r *http.Request) (view.ReleaseWherePage, error) {
		return s.readReleaseWhere(r, release)
	})
	if err != nil {
		return err
	}
	page := facts
	page.Rows = nil
	for _, row := range facts.Rows {
		row.Concentrations, _ = web.SeenConcentrations(s.web, privacy.Restricted, row.Concentrations)
		if len(row.Found) > 0 {
			page.Rows = append(page.Rows, row)
		}
	}
	if web.WantsPart(r) {
		page.Shell = s.web.BareShell(r, "")
		return s.web.Part(w, r, view.ReleaseWherePart(page))
	}
	page.Shell = s.web.Shell(r, name)
	return s.web.Page(w, r, http.StatusOK, view.ReleaseWhere(page))
}

func (s *Lists) readReleaseWhere(r *http.Request, release crash.Release) (view.ReleaseWherePage, error) {
	page := view.ReleaseWherePage{Release: release}
	since, until := s.web.LastDays(releaseDays)
	filter := index.Filter{Since: index.DayOf(since), Until: index.DayOf(until), Release: release}
	b, err := s.Store.IndexWithStates(r.Context())
	if err != nil {
		return page, err
	}
	rows, _ := b.All(filter, nil)
	var of []crash.ProblemCursor
	for _, row := range rows {
		if !row.Muted() && len(of) < releaseWhere {
			of = append(of, crash.ProblemCursor{ID: row.ID})
		}
	}
	all, err := s.Problems.ProblemsByID(r.Context(), of)
	if err != nil {
		return page, err
	}
	page.All = len(all)
	for _, p := range all {
		c, err := s.Problems.Concentrations(r.Context(), *p.Bucket, problems.ConcentrationScope{Release: release})
		if err != nil {
			return page, err
		}
		if len(c.Found) > 0 {
			page.Rows = append(page.Rows, view.WhereRow{Bucket: p.Bucket, Concentrations: c})
		}
	}
	return page, nil
}

// readRelease returns the page of a release without bugs.
func (s *Lists) readRelease(r *http.Request, release crash.Release, filter index.Filter) (view.ReleasePage, error) {
	seen, err := s.Problems.Releases(r.Context(), crash.Releases())
	if err != nil {
		return view.ReleasePage{}, err
	}
	trusted := slices.DeleteFunc(seen.Ascending(), func(other crash.Release) bool {
		return crash.Releases().Kind(other) > crash.Releases().Kind(release) // an unknown release precedes no known one
	})
	page := view.ReleasePage{Release: release, Days: releaseDays, Before: release.Predecessor(trusted)}
	page.Released, page.End = crash.Releases().Life(release)
	if err := s.releaseRates(r, &page); err != nil {
		return page, err
	}
	if err := s.releaseHealth(r, &page); err != nil {
		return page, err
	}
	return page, s.releaseLists(r, &page, filter)
}

// releaseHealth reads the reports of a release by hour, and its machines without a crash.
func (s *Lists) releaseHealth(r *http.Request, page *view.ReleasePage) (err error) {
	page.Health = view.Health{ID: "release-hours", Now: s.web.Now()}
	page.Health.Health, err = s.Problems.Health(r.Context(), crash.Releases(), page.Release, "", "",
		page.Released, s.web.Now())
	if err != nil {
		return err
	}
	machines, err := s.Problems.MachineNumbers(r.Context(), []crash.Release{page.Release}, "", s.web.Now())
	page.CrashFree = machines.CrashFree(page.Release, "")
	return err
}

func (s *Lists) releaseLists(r *http.Request, page *view.ReleasePage, filter index.Filter) error {
	b, err := s.Store.IndexWithStates(r.Context())
	if err != nil {
		return err
	}
	rows, totals := b.All(filter, nil)
	page.Reports, page.Problems = totals.Reports, totals.Problems
	packages := map[string]*view.ReleasePackage{}
	for _, row := range rows {
		shown := !row.Muted()
		if !shown {
			page.Hidden++
		}
		if shown && len(page.Worst) < releaseProblems {
			page.Worst = append(page.Worst, packageProblem(b, filter, row))
		}
		if shown && isNewIn(row, page.Release) && len(page.New) < releaseProblems {
			page.New = append(page.New, packageProblem(b, filter, row))
		}
		if shown && row.State == crash.StateRegression && len(page.Regressions) < releaseProblems {
			page.Regressions = append(page.Regressions, packageProblem(b, filter, row))
		}
		if row.Package == "" {
			continue
		}
		if packages[row.Package] == nil {
			packages[row.Package] = &view.ReleasePackage{Name: row.Package}
		}
		packages[row.Package].Reports += row.Count
		packages[row.Package].Problems++
	}
	for _, p := range packages {
		p.Rate = stats.NewMachineRate(p.Reports, page.MachineDays)
		page.Packages = append(page.Packages, *p)
	}
	slices.SortFunc(page.Packages, func(a, b view.ReleasePackage) int {
		return cmp.Or(cmp.Compare(b.Reports, a.Reports), cmp.Compare(a.Name, b.Name))
	})
	page.Packages = page.Packages[:min(len(page.Packages), releasePackages)]
	return nil
}

// isNewIn reports whether no earlier release of the same distribution had the problem.
func isNewIn(row index.Row, release crash.Release) bool {
	for _, other := range row.Releases() {
		if other.SameDistribution(release) && other.Compare(release) < 0 {
			return false
		}
	}
	return true
}

func (s *Lists) releaseRates(r *http.Request, page *view.ReleasePage) error {
	since, until := s.web.LastDays(ratesDays)
	// The front page reads the same rates, so they are usually cached.
	rates, err := s.Problems.Rates(r.Context(), problems.RateFilter{Since: since, Until: until})
	if err != nil {
		return err
	}
	var selected []stats.DayRate
	for _, rate := range rates {
		if rate.Release == page.Release || page.Before != "" && rate.Release == page.Before {
			selected = append(selected, rate)
		}
	}
	all, err := s.totalTrend(r.Context(), selected)
	if err != nil {
		return err
	}
	if page.Rates, err = drawRates(r.Context(), s, selected, all, since); err != nil {
		return err
	}
	for _, t := range page.Rates.Trends {
		switch t.Release {
		case page.Release:
			page.Trend = t
		case page.Before:
			page.BeforeNow = t
		case crash.OtherReleases:
		}
	}
	for _, t := range stats.Trends(selected, until, releaseDays, s.web.Now()) {
		if t.Release == page.Release {
			page.MachineDays = t.Now.MachineDays
		}
	}
	return s.sameAge(r, page, until)
}

// sameAge compares the last weeks of a release with those of its predecessor at the same age.
func (s *Lists) sameAge(r *http.Request, page *view.ReleasePage, until time.Time) error {
	out, _ := crash.Releases().Life(page.Before)
	if page.Before == "" || out.IsZero() || page.Released.IsZero() || page.Released.After(until) {
		return nil
	}
	age := int(until.Sub(page.Released) / (24 * time.Hour))
	then := out.AddDate(0, 0, age)
	if !then.Before(until) {
		return nil
	}
	ctx := r.Context()
	known, err := s.Problems.From(ctx)
	if err != nil || then.AddDate(0, 0, 1-releaseDays).Before(known) {
		return err // the counts of these days have expired
	}
	rateOf := func(release crash.Release, until time.Time) (stats.MachineRate, error) {
		filter := problems.RateFilter{Since: until.AddDate(0, 0, 1-releaseDays-activeDays), Until: until, Release: release}
		rates, err := s.Problems.Rates(ctx, filter)
		if err != nil {
			return stats.MachineRate{}, err
		}
		for _, t := range stats.Trends(rates, until, releaseDays, s.web.Now()) {
			return t.Now, nil
		}
		return stats.MachineRate{}, nil
	}
	same := view.SameAge{Age: age, Days: releaseDays}
	if same.Then, err = rateOf(page.Before, then); err != nil || same.Then.Reports == 0 {
		return err
	}
	if same.Now, err = rateOf(page.Release, until); err != nil || !same.Now.Known() {
		return err
	}
	page.SameAge = &same
	return nil
}

// GateQuery returns the query of the page of the update gate: the question.
func GateQuery(r *http.Request) (string, error) {
	q, err := gateQuestion(r)
	return q.Query(), err
}

func gateQuestion(r *http.Request) (q stats.GateQuestion, err error) {
	query := r.URL.Query()
	var release string
	for name, to := range map[string]*string{
		"package": &q.Package, "version": &q.Version, "against": &q.Against, "release": &release,
	} {
		if *to, err = web.QueryText(query, name); err != nil {
			return q, err
		}
		*to = web.SeenLabel(r, *to)
	}
	q.Release = crash.Release(release)
	return q, nil
}

// ShowGate shows whether an update made things worse, or the form that asks.
func (s *Lists) ShowGate(w http.ResponseWriter, r *http.Request) error {
	q, err := gateQuestion(r)
	if err != nil {
		return err
	}
	list, err := s.Problems.Releases(r.Context(), crash.Releases())
	if err != nil {
		return err
	}
	page := view.GatePage{
		Shell: s.web.Shell(r, "Update gate"), Question: q, Releases: web.SeenLabels(r, list.Offered(q.Release)),
	}
	if q.Package == "" && q.Version == "" {
		return s.web.Page(w, r, http.StatusOK, view.Gate(page))
	}
	answer, err := s.GateAnswer(r, q)
	status := http.StatusOK
	if e, ok := errors.AsType[*crash.Error](err); ok && (e.Kind == crash.NotFound || e.Kind == crash.Invalid) {
		page.Problem, status = e.Message, http.StatusNotFound
		if e.Kind == crash.Invalid {
			status = http.StatusUnprocessableEntity
		}
		return s.web.Page(w, r, status, view.Gate(page))
	}
	if err != nil {
		return err
	}
	page.Answer = &answer
	if page.Health, err = s.gateHealth(r, answer); err != nil {
		return err
	}
	return s.web.Page(w, r, status, view.Gate(page))
}

// GateAnswer returns the answer of the update gate as the current user may see it. It returns Invalid for a question
// that makes no sense, and NotFound for an unknown package.
func (s *Lists) GateAnswer(r *http.Request, q stats.GateQuestion) (stats.GateAnswer, error) {
	answer, err := s.Problems.UpdateGate(r.Context(), crash.Releases(), q, s.web.Now())
	if err != nil {
		return answer, err
	}
	if web.IsPublic(r) {
		answer = answer.Labelled(privacy.RedactLabel)
	} else if err := s.Problems.ConcentrateGate(r.Context(), &answer); err != nil {
		return answer, err
	}
	for i := range answer.Where {
		w := &answer.Where[i]
		w.Concentrations, _ = web.SeenConcentrations(s.web, privacy.Restricted, w.Concentrations)
	}
	for id, b := range answer.Buckets {
		answer.Buckets[id] = s.web.SeenBucket(r, b)
	}
	return answer, nil
}

// gateHealth reads the first days of an update by hour, in each release of an answer.
func (s *Lists) gateHealth(r *http.Request, answer stats.GateAnswer) ([]view.GateHealth, error) {
	var all []view.GateHealth
	for i, result := range answer.Results {
		h := view.GateHealth{Health: view.Health{ID: "gate-hours-" + strconv.Itoa(i), Now: s.web.Now()}}
		var err error
		h.Health.Health, err = s.Problems.Health(r.Context(), crash.Releases(), result.Release, answer.Package,
			result.Version, result.GatePlan.After.Since, s.web.Now())
		if err != nil {
			return nil, err
		}
		machines, err := s.Problems.MachineNumbers(r.Context(), []crash.Release{result.Release}, answer.Package,
			s.web.Now())
		if err != nil {
			return nil, err
		}
		h.CrashFree = machines.CrashFree(result.Release, result.Version)
		all = append(all, h)
	}
	return all, nil
}
