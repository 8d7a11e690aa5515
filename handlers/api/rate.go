package api

import (
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"net/http"
	"slices"
	"time"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/crash/privacy"
	"mishap/crash/stats"
	"mishap/db/problems"
)

// The constants of the formula that stops phased updates. They equal those of errors.ubuntu.com,
// because a program depends on the result; docs/api.md explains the formula.
const (
	maxCrashDays  = 15 // maximum number of days with crashes, for each version
	minCrashes    = 3  // minimum of crashes today for an increase
	minutesPerDay = 24 * 60
	minDifference = 1 // crashes above the number expected by now
)

// rateQuestion is the question of package-rate-of-crashes.
type rateQuestion struct {
	date            time.Time // last day of the old version, and end of its mean
	percentage      float64   // share of machines that receive the new version
	phased          bool      // whether percentage is set
	excludeProposed bool
}

// verdict is the answer in the old fields. The pointers are nil for unknown values.
type verdict struct {
	increase   bool
	difference *float64
	average    *float64
	days       *int
}

// evaluate compares today's crashes of the new version with the number expected by now from the
// old version.
func evaluate(days []stats.VersionDay, q rateQuestion, now time.Time) verdict {
	now = now.UTC()
	newer := newest(days, func(d stats.VersionDay) int64 { return d.New })
	older := newest(days, func(d stats.VersionDay) int64 {
		if d.Day.After(q.date) {
			return 0
		}
		return d.Old
	})
	today, ok := find(newer, now.Truncate(24*time.Hour))
	if !ok {
		return verdict{}
	}
	crashes := today.New
	if q.excludeProposed {
		if crashes -= today.NewProposed; crashes == 0 {
			return verdict{}
		}
	}
	difference := float64(crashes)
	if len(older) == 0 {
		return verdict{increase: true, difference: &difference}
	}
	first := older[len(older)-1].Day
	var counts []float64
	for day := first; day.Before(q.date); day = day.AddDate(0, 0, 1) {
		d, _ := find(older, day)
		n := d.Old
		if q.excludeProposed {
			n -= d.OldProposed
		}
		counts = append(counts, float64(n))
	}
	if crashes < minCrashes || len(counts) == 0 {
		return verdict{}
	}
	mean, deviation := meanAndDeviation(counts)
	expected := math.RoundToEven(mean + deviation)
	if q.phased {
		expected = expected * q.percentage / 100
	}
	minutes := float64(now.Hour()*60 + now.Minute())
	difference -= expected * (minutes / minutesPerDay)
	if !(difference > minDifference) {
		return verdict{}
	}
	period := len(counts)
	return verdict{increase: true, difference: &difference, average: &expected, days: &period}
}

// newest returns the latest days that have a count, newest first, at most maxCrashDays.
func newest(days []stats.VersionDay, count func(stats.VersionDay) int64) []stats.VersionDay {
	var out []stats.VersionDay
	for _, d := range slices.Backward(days) {
		if count(d) > 0 && len(out) < maxCrashDays {
			out = append(out, d)
		}
	}
	return out
}

func find(days []stats.VersionDay, day time.Time) (stats.VersionDay, bool) {
	i := slices.IndexFunc(days, func(d stats.VersionDay) bool { return d.Day.Equal(day) })
	if i < 0 {
		return stats.VersionDay{}, false
	}
	return days[i], true
}

// meanAndDeviation returns the mean and the standard deviation of a whole population.
func meanAndDeviation(counts []float64) (mean, deviation float64) {
	for _, n := range counts {
		mean += n
	}
	mean /= float64(len(counts))
	var squares float64
	for _, n := range counts {
		squares += (n - mean) * (n - mean)
	}
	return mean, math.Sqrt(squares / float64(len(counts)))
}

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

// defaultDays is the number of days in daily counts without a limit.
const defaultDays = 30

func (a *answers) countResources() []resource {
	return []resource{
		a.averageCrashesResource(),
		{
			name: "instances-count", method: http.MethodGet, access: public,
			summary: "The number of reports per day, for each release with reports.",
			doc: "The limit applies to the days of each release and to the releases in one answer, as on " +
				"errors.ubuntu.com. Known releases come first, then the derivative and unknown ones with the " +
				"most reports. Reports without a release are omitted.",
			params: []param{daysParam()},
			object: releaseDays{}, list: a.instancesCount,
		},
		{
			name: "problems-count", method: http.MethodGet, access: public,
			summary: "The number of distinct problems on each day.",
			params:  []param{daysParam()},
			object:  dayValue{}, list: a.problemsCount,
		},
		{
			name: "retracers-results", method: http.MethodGet, access: public,
			summary: "The number of native crashes with and without function names in their stack, by day, release " +
				"and architecture.",
			doc: "A crash counts as success if the machine sent a stack with function names or mishap symbolised it, " +
				"and as failed if its problem has only addresses. Only days with such crashes are listed.",
			params: []param{daysParam()},
			key:    "A day, YYYYMMDD.", example: "20260518",
			object: tracedDay{}, list: a.tracedDays, detail: a.tracedDay,
		},
		{
			name: "retracers-average-processing-time", method: http.MethodGet, access: public,
			summary: "Retracing times. Always empty: the metric mishap_symbol_job_seconds has the times of symbolising.",
			params:  []param{daysParam()},
			object:  processingDay{}, list: a.processingTimes,
		},
		{
			name: "retracer-queue-length", method: http.MethodGet, access: public,
			summary: "Number of cores waiting for a retracer. Always empty: mishap has no queues of this kind.",
			params: []param{{
				name: "hours", kind: kindNumber, min: 1, max: 24 * 366, fallback: 48, doc: "Number of past hours.", example: "48",
			}},
			object: queueLength{}, list: func(context.Context, input) ([]any, error) { return nil, nil },
		},
	}
}

// dayValue is the count of one day.
type dayValue struct {
	Date  string `json:"date" doc:"YYYYMMDD, UTC."`
	Value int64  `json:"value"`
}

// releaseDays are the daily counts of a release.
type releaseDays struct {
	Color   string     `json:"color"`
	Release string     `json:"release"`
	Value   []dayValue `json:"value" doc:"Days with reports, latest first."`
}

// dateFormat is the format of days in the API.
const dateFormat = "20060102"

func (a *answers) instancesCount(ctx context.Context, in input) ([]any, error) {
	days := in.number("limit")
	if days == 0 {
		return nil, nil
	}
	since, until := a.lastDays(days)
	counts, err := a.problems.ReleaseDays(ctx, since, until)
	if err != nil {
		return nil, err
	}
	byRelease, reports := map[crash.Release][]dayValue{}, map[crash.Release]int64{}
	for _, c := range counts {
		byRelease[c.Release] = append(byRelease[c.Release], dayValue{Date: c.Day.Format(dateFormat), Value: c.Reports})
		reports[c.Release] += c.Reports
	}
	var objects []any
	for _, release := range a.releases.List(reports).Ascending() {
		if release == "" || release == crash.OtherReleases {
			continue // as at errors.ubuntu.com
		}
		objects = append(objects, releaseDays{
			Color: colour(release), Release: string(visibleLabel(in, release)), Value: byRelease[release],
		})
	}
	return objects, nil
}

// processingDay is a day of retracing times, which are always empty.
type processingDay struct {
	Date  string                        `json:"date"`
	Value map[string]map[string]float64 `json:"value" doc:"Seconds by release and architecture."`
}

func (a *answers) processingTimes(_ context.Context, in input) ([]any, error) {
	var objects []any
	for day := range a.days(in.number("limit")) {
		value := map[string]map[string]float64{}
		for _, r := range a.releases.Supported(day) {
			if a.series(r) != "" {
				value[string(r)] = map[string]float64{}
			}
		}
		objects = append(objects, processingDay{Date: day.Format(dateFormat), Value: value})
	}
	return objects, nil
}

// queueLength is the length of one queue over time.
type queueLength struct {
	Queue  string `json:"queue"`
	Values []struct {
		Timestamp string `json:"timestamp"`
		Value     int64  `json:"value"`
	} `json:"values"`
}

// days yields the last n days, today first.
func (a *answers) days(n int) func(func(time.Time) bool) {
	return func(yield func(time.Time) bool) {
		for i := range n {
			if !yield(a.today().AddDate(0, 0, -i)) {
				return
			}
		}
	}
}
