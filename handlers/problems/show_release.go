package problems

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/crash/stats"
	"mishap/db/problems"
	"mishap/handlers/web"
	"mishap/views/layout"
	view "mishap/views/problems"
)

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
		if filter.Muted, err = mutedInFile(r); err != nil {
			return err
		}
		if format == "atom" {
			filter.Sort = index.ByFirst // a feed lists the newest problems
		}
		list := exportedList{title: "Problems of " + name, path: view.ReleasePath(release), filter: filter}
		return s.exportList(w, r, format, list)
	}
	page, err := web.CachedFacts(s.web, r, name, func(r *http.Request) (view.ReleasePage, error) {
		return s.readRelease(r, release, filter)
	})
	if err != nil {
		return err
	}
	for table, rows := range map[string]*[]view.PackageProblem{
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

// readRelease returns the page of a release without bugs.
func (s *Lists) readRelease(r *http.Request, release crash.Release, filter index.Filter) (view.ReleasePage, error) {
	seen, err := s.Problems.Releases(r.Context(), s.web.Releases)
	if err != nil {
		return view.ReleasePage{}, err
	}
	trusted := slices.DeleteFunc(seen.Ascending(), func(other crash.Release) bool {
		return s.web.Releases.Kind(other) > s.web.Releases.Kind(release) // an unknown release precedes no known one
	})
	page := view.ReleasePage{Release: release, Days: releaseDays, Before: release.Predecessor(trusted)}
	page.Released, page.End = s.web.Releases.Life(release)
	if err := s.releaseRates(r, &page); err != nil {
		return page, err
	}
	return page, s.releaseLists(r, &page, filter)
}

// releaseLists fills the page with the problems and packages of a release, from the index.
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

// releaseRates fills the page with the rates of the release and its predecessor.
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
	out, _ := s.web.Releases.Life(page.Before)
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
