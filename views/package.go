package views

import (
	"fmt"
	"net/url"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/crash/stats"
)

// PackagePath is the page of a package.
func PackagePath(name string) string { return "/package/" + url.PathEscape(name) }

// PackagePage is one package, by the name of a binary or a source package.
type PackagePage struct {
	Shell    Shell
	Name     string
	Follow   FollowPart // for people who are signed in
	Binaries []string   // other packages of the same source, and of the same name
	Chart    Chart
	Problems []PackageProblem // the most frequent first
	More     int64            // problems that are not shown
	Versions []PackageVersion
	Days     int // that all of this is about
}

// PackageVersion is one version of a package, with what came and went with it.
type PackageVersion struct {
	stats.VersionRate
	New  []PackageProblem // that no version before had in the release
	Gone []PackageProblem // that the version before had, and none from this one on in the release
	Old  bool             // there is one before it in the release
}

// maxNamed is how many problems a cell names.
const maxNamed = 20

// several reports whether problems of more than one binary package are shown.
func (p PackagePage) several() bool {
	for _, row := range p.Problems {
		if row.Package != p.Problems[0].Package {
			return true
		}
	}
	return false
}

// newURL is the list of what is new in a version.
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
	Bug         BugPart // filled in for the person who asks
	Package     string
	Spark       Sparkline
}

// rateText is a rate and its interval, per 1000 active machines and day.
func rateText(r stats.MachineRate) string {
	if !r.Known() {
		return "—"
	}
	return fmt.Sprintf("%s (%s–%s)", digits(r.Per1000), digits(r.Low), digits(r.High))
}

func ratioText(r stats.RateRatio) string {
	return fmt.Sprintf("%s times (%s–%s)", digits(r.Ratio), digits(r.Low), digits(r.High))
}

// digits writes a number with two or three digits that mean something.
func digits(x float64) string {
	switch {
	case x >= 100:
		return Count(int64(x + .5))
	case x >= 10:
		return fmt.Sprintf("%.1f", x)
	case x > 0 && x < .01:
		return fmt.Sprintf("%.1g", x)
	}
	return fmt.Sprintf("%.2f", x)
}
