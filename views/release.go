package views

import (
	"fmt"
	"time"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/crash/stats"
)

// ReleasePage is one release: how reliable it is, and what is broken in it.
type ReleasePage struct {
	Shell         Shell
	Release       crash.Release
	Released, End time.Time // UTC days on which it came out and until which it is supported; zero: not known
	Trend         stats.Trend
	Before        crash.Release // the release before it; empty: none that is known
	BeforeNow     stats.Trend   // of that, in the same days
	SameAge       *SameAge      // nil: nothing is known of the one before at that age
	Rates         RateChart     // of both
	Days          int           // that the lists are about
	MachineDays   float64       // of active machines, in these days
	Reports       int64
	Problems      int64
	Worst         []PackageProblem
	New           []PackageProblem // that no release before has
	Regressions   []PackageProblem
	Packages      []ReleasePackage // the most frequent first
}

// SameAge is the release before, as many days after it came out as this one is old.
type SameAge struct {
	Age, Days int // in days, and over how many of them the rates are
	Now, Then stats.MachineRate
}

// ReleasePackage is a package in a release.
type ReleasePackage struct {
	Name     string
	Reports  int64
	Problems int64
	Rate     stats.MachineRate
}

// life says when the release came out and how long it is supported.
func (p ReleasePage) life() string {
	now := p.Shell.Now
	switch {
	case p.Released.IsZero():
		return ""
	case p.Released.After(now):
		return "It comes out on " + Date(p.Released, now) + "."
	case p.End.IsZero():
		return "It came out on " + Date(p.Released, now) + "."
	case now.UTC().Truncate(24 * time.Hour).After(p.End):
		return fmt.Sprintf("It came out on %s; its support ended on %s.", Date(p.Released, now), Date(p.End, now))
	}
	return fmt.Sprintf("It came out on %s and is supported until %s.", Date(p.Released, now), Date(p.End, now))
}

// listURL is the list of all its problems.
func (p ReleasePage) listURL() string {
	return ListChoice{Period: crash.PeriodMonth, Filter: index.Filter{Release: p.Release}}.URL()
}

// stateURL is the list of its problems that stand so.
func (p ReleasePage) stateURL(state crash.StateWord) string {
	return ListChoice{Period: crash.PeriodMonth, Filter: index.Filter{Release: p.Release, State: string(state)}}.URL()
}
