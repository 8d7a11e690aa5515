package api

import (
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"net/http"
	"slices"
	"time"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/crash/privacy"
	"mishap/db/problems"
)

// chartDays is the number of days in a chart, including today.
const chartDays = 360

// series is one line of a chart.
type series struct {
	Color  string  `json:"color" doc:"Colour of the line in charts, always the same for a release."`
	Key    string  `json:"key" doc:"The release."`
	Values []point `json:"values"`
}

type point struct {
	X int64   `json:"x" doc:"The day, as milliseconds from 1970 to its midnight, UTC."`
	Y float64 `json:"y" doc:"Reports per active machine."`
}

func newPoint(day time.Time, y float64) point { return point{X: day.UnixMilli(), Y: y} }

// colour derives a colour from the public name of a release, so that new releases need no code.
func colour(r crash.Release) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(privacy.RedactLabel(r).Key()))
	n := h.Sum32()
	return fmt.Sprintf("#%02x%02x%02x", 40+n%160, 40+(n>>8)%160, 40+(n>>16)%160)
}

// lastDays returns the first and the last of the given number of days up to today.
func (a *answers) lastDays(days int) (since, until time.Time) {
	return crash.LastDays(a.now(), days)
}

// errExpired says that counts have expired.
func errExpired(from time.Time) error {
	return crash.Errorf(crash.Invalid, "counts_expired", "The counts of days before %s have expired; ask for later days.",
		from.Format(time.DateOnly))
}

func (a *answers) today() time.Time { return a.now().UTC().Truncate(24 * time.Hour) }

// chartReleases returns the releases that have a line in charts: the supported ones, and those
// with reports that lists name.
func (a *answers) chartReleases(reports map[crash.Release]int64) []crash.Release {
	reports = maps.Clone(reports)
	if reports == nil {
		reports = map[crash.Release]int64{}
	}
	for _, r := range a.releases.Supported(a.today()) {
		if a.series(r) != "" {
			reports[r] += 0
		}
	}
	return slices.DeleteFunc(a.releases.List(reports).Ascending(), func(r crash.Release) bool {
		return r == crash.OtherReleases
	})
}

func (a *answers) averageInstances(ctx context.Context, in input) ([]any, error) {
	id, err := a.find(ctx, in.sent("id"))
	if err != nil && crash.KindOf(err) != crash.NotFound {
		return nil, err
	}
	since, until := a.lastDays(chartDays)
	var counts map[crash.Release][]int64
	if err == nil {
		b, err := a.store.Index(ctx)
		if err != nil {
			return nil, err
		}
		counts = b.ReleaseDays(id, index.DayOf(since), index.DayOf(until))
	}
	reports := map[crash.Release]int64{}
	for release, days := range counts {
		for _, n := range days {
			reports[release] += n
		}
	}
	releases := a.chartReleases(reports)
	active, err := a.problems.ActiveMachines(ctx, releases, since, until)
	if err != nil {
		return nil, err
	}
	var objects []any
	for _, release := range releases {
		line := series{Color: colour(release), Key: string(privacy.RedactLabel(release)), Values: []point{}}
		for i, n := range slices.Backward(counts[release]) {
			if machines := active[release][i]; n > 0 && machines > 0 {
				line.Values = append(line.Values, newPoint(since.AddDate(0, 0, i), float64(n)/float64(machines)))
			}
		}
		objects = append(objects, line)
	}
	return objects, nil
}

const (
	recoverable = "RecoverableProblem"
	// oldStandardRelease is the release whose standard the first of two lines follows.
	oldStandardRelease = crash.Release("Ubuntu 12.04")
)

func (a *answers) averageCrashesResource() resource {
	return resource{
		name: "average-crashes", method: http.MethodGet, access: public,
		summary: "Reports of all types per active machine, by day and release.",
		doc: `Two objects for each release: "by 12.04 standards", which omits RecoverableProblem, and one for all types. ` +
			"The earliest day comes first.",
		params: []param{releaseParam, packageParam, {
			name: "version", kind: kindText, doc: "Version of the package; requires package.", example: "1.4.2-1ubuntu1",
		}},
		object: series{}, list: a.averageCrashes,
	}
}

func (a *answers) averageCrashes(ctx context.Context, in input) ([]any, error) {
	if in.given["version"] && !in.given["package"] {
		return nil, crash.Errorf(crash.Invalid, "missing_package", "A version is one of a package: say which by the "+
			"parameter package.")
	}
	since, until := a.lastDays(chartDays)
	f := problems.RateFilter{
		Since: since, Until: until, Release: crash.Release(in.text("release")), Package: in.text("package"),
		Version: in.text("version"), Apart: recoverable,
	}
	rates, err := a.problems.Rates(ctx, f)
	if err != nil {
		return nil, err
	}
	reports := map[crash.Release]int64{}
	for _, r := range rates {
		reports[r.Release] += r.Reports
	}
	releases := []crash.Release{f.Release}
	if f.Release == "" {
		releases = slices.DeleteFunc(a.chartReleases(reports), func(r crash.Release) bool {
			return r == "" || a.releases.EndOfLife(r, a.today())
		})
	}
	var objects []any
	for _, release := range releases {
		label := string(privacy.RedactLabel(release))
		strict := series{Color: colour(release), Key: label + " (by 12.04 standards)", Values: []point{}}
		complete := series{Color: colour(release), Key: label, Values: []point{}}
		for _, r := range rates {
			if r.Release == release {
				strict.Values = append(strict.Values, newPoint(r.Day, float64(r.Reports-r.OfType)/float64(r.Machines)))
				complete.Values = append(complete.Values, newPoint(r.Day, r.PerMachine()))
			}
		}
		if release != oldStandardRelease {
			objects = append(objects, strict)
		}
		objects = append(objects, complete)
	}
	return objects, nil
}
