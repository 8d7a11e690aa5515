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
	"mishap/crash/redact"
	"mishap/db/counts"
)

// chartDays is how many days the averages go back, today included.
const chartDays = 360

// series is one line of a chart.
type series struct {
	Color  string  `json:"color" doc:"For the line in a chart; the same for a release everywhere."`
	Key    string  `json:"key" doc:"The release."`
	Values []point `json:"values"`
}

type point struct {
	X int64   `json:"x" doc:"The day: milliseconds since 1970 at its midnight, UTC."`
	Y float64 `json:"y" doc:"Reports per active machine."`
}

func newPoint(day time.Time, y float64) point { return point{X: day.UnixMilli(), Y: y} }

// colour is made from the name, so that a new release has one without a line of code.
func colour(r crash.Release) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(r.Key()))
	n := h.Sum32()
	return fmt.Sprintf("#%02x%02x%02x", 40+n%160, 40+(n>>8)%160, 40+(n>>16)%160)
}

// span is the days that averages are of.
func (a *answers) span(days int) (since, until time.Time) {
	until = a.today()
	return until.AddDate(0, 0, 1-days), until
}

func (a *answers) today() time.Time { return a.now().UTC().Truncate(24 * time.Hour) }

// chartReleases are the releases that charts have a line for: those that are supported, and those with reports that a list
// names.
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
	return slices.DeleteFunc(a.releases.List(reports).Ascending(), func(r crash.Release) bool { return r == crash.OtherReleases })
}

func (a *answers) averageInstances(ctx context.Context, in input) ([]any, error) {
	id, err := a.find(ctx, in.sent("id"))
	if err != nil && crash.KindOf(err) != crash.NotFound {
		return nil, err
	}
	since, until := a.span(chartDays)
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
	active, err := a.counts.ActiveMachines(ctx, releases, since, until)
	if err != nil {
		return nil, err
	}
	var objects []any
	for _, release := range releases {
		line := series{Color: colour(release), Key: string(redact.Label(release)), Values: []point{}}
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
	// firstStandard is the release whose way of counting the first of two lines follows.
	firstStandard = crash.Release("Ubuntu 12.04")
)

func (a *answers) averageCrashesResource() resource {
	return resource{
		name: "average-crashes", method: http.MethodGet, access: public,
		summary: "Reports of all types per active machine, by day and release.",
		doc: `Two objects for each release: without the problems that were got over (RecoverableProblem), named "by 12.04 standards", then ` +
			"with them. The earliest day comes first.",
		params: []param{releaseParam, packageParam, {
			name: "version", kind: kindText, doc: "Version of the package; only together with one.", example: "1.4.2-1ubuntu1",
		}},
		object: series{}, list: a.averageCrashes,
	}
}

func (a *answers) averageCrashes(ctx context.Context, in input) ([]any, error) {
	if in.given["version"] && !in.given["package"] {
		return nil, crash.Errorf(crash.Invalid, "missing_package", "A version is one of a package: say which by the parameter package.")
	}
	since, until := a.span(chartDays)
	f := counts.RateFilter{
		Since: since, Until: until, Release: crash.Release(in.text("release")), Package: in.text("package"),
		Version: in.text("version"), Apart: recoverable,
	}
	rates, err := a.counts.Rates(ctx, f)
	if err != nil {
		return nil, err
	}
	reports := map[crash.Release]int64{}
	for _, r := range rates {
		reports[r.Release] += r.Reports
	}
	releases := []crash.Release{f.Release}
	if f.Release == "" {
		releases = slices.DeleteFunc(a.chartReleases(reports), func(r crash.Release) bool { return r == "" || a.releases.EndOfLife(r, a.today()) })
	}
	var objects []any
	for _, release := range releases {
		strict := series{Color: colour(release), Key: string(redact.Label(release)) + " (by 12.04 standards)", Values: []point{}}
		whole := series{Color: colour(release), Key: string(redact.Label(release)), Values: []point{}}
		for _, r := range rates {
			if r.Release == release {
				strict.Values = append(strict.Values, newPoint(r.Day, float64(r.Reports-r.Apart)/float64(r.Machines)))
				whole.Values = append(whole.Values, newPoint(r.Day, r.PerMachine()))
			}
		}
		if release != firstStandard {
			objects = append(objects, strict)
		}
		objects = append(objects, whole)
	}
	return objects, nil
}
