package problems

import (
	"cmp"
	"time"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/crash/stats"
	"mishap/views/layout"
)

// ReleasePage holds the page of one release: its reliability and its problems.
type ReleasePage struct {
	Shell         layout.Shell
	Release       crash.Release
	Released, End time.Time // UTC days of its publication and of the end of its support; zero: unknown
	Trend         stats.Trend
	Before        crash.Release // the previous release; empty: none is known
	BeforeNow     stats.Trend   // of the previous release, in the same days
	SameAge       *SameAge      // nil: no data about the previous release at that age
	Rates         Rates         // of both releases
	Days          int           // length of the period of the lists, in days
	MachineDays   float64       // active machine-days in that period
	Reports       int64
	Problems      int64
	Hidden        int64 // muted problems, which the lists omit
	Worst         []PackageProblem
	New           []PackageProblem // problems that no earlier release has
	Regressions   []PackageProblem
	Packages      []ReleasePackage // in decreasing order of reports
}

// SameAge holds the rate of the previous release when it was as old as this one is now.
type SameAge struct {
	Age, Days int // the age, and the length of the period of the rates, in days
	Now, Then stats.MachineRate
}

// ReleasePackage is a package in a release.
type ReleasePackage struct {
	Name     string
	Reports  int64
	Problems int64
	Rate     stats.MachineRate
}

// life describes when the release was published and until when it is supported.
func (p ReleasePage) life() string {
	now := p.Shell.Now
	switch {
	case p.Released.IsZero():
		return ""
	case p.Released.After(now):
		return "To be released on " + layout.Date(p.Released, now) + "."
	case p.End.IsZero():
		return "Released on " + layout.Date(p.Released, now) + "."
	case now.UTC().Truncate(24 * time.Hour).After(p.End):
		return "Released on " + layout.Date(p.Released, now) + "; support ended on " + layout.Date(p.End, now) + "."
	}
	return "Released on " + layout.Date(p.Released, now) + ", supported until " + layout.Date(p.End, now) + "."
}

// listURL returns the address of the list of all its problems.
func (p ReleasePage) listURL() string {
	return ListChoice{Period: crash.PeriodMonth, Filter: index.Filter{Release: p.Release}}.URL()
}

// mutedURL returns the address of the list of its muted problems.
func (p ReleasePage) mutedURL() string {
	return ListChoice{Period: crash.PeriodMonth, Filter: index.Filter{Release: p.Release}, ShowMuted: MutedOnly}.URL()
}

// stateURL returns the address of the list of its problems with that state.
func (p ReleasePage) stateURL(state crash.StateWord) string {
	return ListChoice{Period: crash.PeriodMonth, Filter: index.Filter{Release: p.Release, State: string(state)}}.URL()
}

// rateScale returns the rate at the right end of interval bars. Longer intervals are cut off.
func (p ReleasePage) rateScale() float64 {
	var most, high float64
	for _, row := range p.Packages {
		high = max(high, row.Rate.High)
		if row.Reports >= fewReports {
			most = max(most, row.Rate.High)
		}
	}
	return cmp.Or(most, high)
}
