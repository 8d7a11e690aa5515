package stats

import (
	"cmp"
	"slices"
	"time"

	"mishap/crash"
	"mishap/crash/dpkg"
)

// VersionSpan is the number of reports of a version of a package from one release, and the days of
// the first and the last.
type VersionSpan struct {
	Release     crash.Release
	Version     string
	First, Last time.Time // UTC days
	Reports     int64
}

// VersionRate is the rate of reports of a version, compared with the previous version in the
// release.
type VersionRate struct {
	VersionSpan
	Rate     MachineRate // from First to Last, per active machine of the release
	Previous RateRatio   // ratio to the rate of the previous version; unknown for the first one
}

// RateVersions compares each version with the previous one in its release, by dpkg's order. active
// contains the number of active machines of each release by day, beginning with since. The result
// is sorted by release and version, newest first.
func RateVersions(spans []VersionSpan, active map[crash.Release][]int64, since time.Time) []VersionRate {
	slices.SortFunc(spans, func(a, b VersionSpan) int {
		return cmp.Or(a.Release.Compare(b.Release), dpkg.Compare(a.Version, b.Version), cmp.Compare(a.Version, b.Version))
	})
	rates := make([]VersionRate, len(spans))
	for i, span := range spans {
		var machines int64
		days := active[span.Release]
		for day := max(dayIndex(span.First, since), 0); day <= dayIndex(span.Last, since) && day < len(days); day++ {
			machines += days[day]
		}
		rates[i] = VersionRate{VersionSpan: span, Rate: NewMachineRate(span.Reports, float64(machines))}
		if i > 0 && spans[i-1].Release == span.Release {
			rates[i].Previous = rates[i].Rate.Times(rates[i-1].Rate).Among(len(spans) - 1)
		}
	}
	slices.Reverse(rates)
	return rates
}

func dayIndex(day, since time.Time) int { return int(day.Sub(since) / (24 * time.Hour)) }
