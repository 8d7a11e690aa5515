package problems

import (
	"fmt"
	"math"
	"net/url"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/crash/stats"
	"mishap/views/bugs"
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
	Problems []PackageProblem // in decreasing order of reports
	More     int64            // number of problems that are not shown
	Hidden   int64            // number of muted problems, which are not shown
	Versions []PackageVersion

	Comparison Comparison // of two of the versions
	Days       int        // length of the period, in days
}

// PackageVersion is one version of a package, with the problems that are new in it, or gone.
type PackageVersion struct {
	stats.VersionRate
	New  []PackageProblem // problems that no earlier version in the release has
	Gone []PackageProblem // problems that the previous version has, but none from this one on in the release
	Old  bool             // the release has an earlier version
}

// maxNamed is the number of problems that a cell lists.
const maxNamed = 20

// newURL returns the address of the list of problems that are new in a version.
func (p PackagePage) newURL(release crash.Release, version string) string {
	return ListChoice{
		Period: crash.PeriodYear, Filter: index.Filter{Release: release, Package: p.Name, Version: version, New: true},
	}.URL()
}

// PackageProblem is one problem of a package.
type PackageProblem struct {
	Bucket      crash.Bucket
	First, Last crash.Occurrence // in the release of the page, or anywhere
	Count       int64
	Bug         bugs.BugPart // bug cell for the viewer
	Package     string
	Spark       layout.Sparkline
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
