package stats

import (
	"cmp"
	"slices"
	"time"

	"mishap/crash"
	"mishap/crash/dpkg"
)

// VersionSpan is how often a version of a package was reported from a release, and between which days.
type VersionSpan struct {
	Release     crash.Release
	Version     string
	First, Last time.Time // UTC days
	Reports     int64
}

// VersionRate is a version beside the machines that could have reported it, and the version before it in the release.
type VersionRate struct {
	VersionSpan
	Rate     MachineRate // on the days from First to Last, of the release's active machines
	Previous RateRatio   // how many times the rate of the version before it is; not known for the first
}

// RateVersions compares each version with the one before it in its release, in dpkg's order. active are the active machines
// of each release by day from since on. Releases come in reverse order, their versions too: the newest first.
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
			rates[i].Previous = rates[i].Rate.Times(rates[i-1].Rate)
		}
	}
	slices.Reverse(rates)
	return rates
}

func dayIndex(day, since time.Time) int { return int(day.Sub(since) / (24 * time.Hour)) }
