package api

import (
	"context"
	"net/http"
	"time"

	"mishap/crash"
)

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
