package problems

import (
	"cmp"
	"fmt"
	"math"
	"net/url"
	"time"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/crash/stats"
	"mishap/views/layout"
)

// PackagePath returns the address of the page of a package.
func PackagePath(name string) string { return "/package/" + url.PathEscape(name) }

// CompareURL returns the address of the comparison of two versions of a package, which are given
// as release and version, with a slash between.
func CompareURL(name, a, b string) string {
	return PackagePath(name) + "?" + url.Values{"a": {a}, "b": {b}}.Encode() + "#compare"
}

// PackagePage holds the page of one package, by the name of a binary or a source package.
type PackagePage struct {
	Shell    layout.Shell
	Name     string
	Follow   FollowPart // for signed-in people
	Binaries []string   // other packages of the same source, and of the same name
	Chart    Chart
	Problems []ListRow // in decreasing order of reports
	More     int64     // number of problems that are not shown
	Hidden   int64     // number of muted problems, which are not shown
	Versions []PackageVersion

	Comparison Comparison // of two of the versions
	Days       int        // length of the period, in days
}

// PackageVersion is one version of a package, with the problems that are new in it, or gone.
type PackageVersion struct {
	stats.VersionRate
	New  []ListRow // problems that no earlier version in the release has
	Gone []ListRow // problems that the previous version has, but none from this one on in the release
	Old  bool      // the release has an earlier version

	CrashFree []stats.CrashFree // empty: no number of machines is known
}

// maxNamed is the number of problems that a cell lists.
const maxNamed = 20

func (p PackagePage) newURL(release crash.Release, version string) string {
	return ListChoice{
		Period: crash.PeriodYear, Filter: index.Filter{Release: release, Package: p.Name, Version: version, New: true},
	}.URL()
}

// digits formats a number with two or three significant digits.
func digits(x float64) string {
	switch {
	case math.IsInf(x, 1):
		return "∞"
	case x >= 100:
		return crash.Count(int64(x + .5))
	case x >= 10:
		return fmt.Sprintf("%.1f", x)
	case x > 0 && x < .01:
		return fmt.Sprintf("%.1g", x)
	}
	return fmt.Sprintf("%.2f", x)
}

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
	Worst         []ListRow
	New           []ListRow // problems that no earlier release has
	Regressions   []ListRow
	Packages      []ReleasePackage // in decreasing order of reports
	Health        Health
	CrashFree     []stats.CrashFree
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

func (p ReleasePage) listURL(state crash.StateWord, muted string) string {
	return ListChoice{Period: crash.PeriodMonth, ShowMuted: muted,
		Filter: index.Filter{Release: p.Release, State: string(state)}}.URL()
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

// GatePage holds the page of the update gate.
type GatePage struct {
	Shell    layout.Shell
	Question stats.GateQuestion
	Releases []crash.Release // to choose from
	Problem  string          // why there is no answer; empty if there is one or nothing was asked
	Answer   *stats.GateAnswer
	Health   []GateHealth // of the results, in the same order
}

// GateHealth is what the gate's page shows by hour of an update in a release.
type GateHealth struct {
	Health

	CrashFree []stats.CrashFree
}

func (p GatePage) healthOf(result int) (h GateHealth) {
	if result < len(p.Health) {
		h = p.Health[result]
	}
	return h
}

// verdictStates are the CSS classes of verdicts.
var verdictStates = map[stats.Verdict]string{stats.GateWorse: "state-error", stats.GatePass: "state-done",
	stats.GateNotEnough: "state-wait"}

// gateURL returns the address of the answer about another version.
func (p GatePage) gateURL(version string) string {
	return stats.GateQuestion{Package: p.Question.Package, Version: version, Release: p.Question.Release}.Path()
}

// findingBucket returns the bucket of a finding. A bucket that has just been merged is not known.
func (p GatePage) findingBucket(f stats.GateFinding) crash.Bucket {
	if b, ok := p.Answer.Buckets[f.ID]; ok {
		return b
	}
	return crash.Bucket{ID: f.ID, Signature: f.ID.String()}
}

func gateDays(w stats.Window, now time.Time) string {
	if w.Days() == 0 {
		return "–"
	}
	return layout.Date(w.Since, now) + " – " + layout.Date(w.Until, now)
}

func (p PackagePage) gateURL(v PackageVersion) string {
	return stats.GateQuestion{Package: p.Name, Version: v.Version, Release: v.Release}.Path()
}
