package stats

import (
	"cmp"
	"slices"
	"strings"
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

// VersionKnown is a version of a package in use: counted reports of any problem came from it, in
// one release.
type VersionKnown struct {
	Release crash.Release
	Version string
	Arrived time.Time // when the first of these reports arrived
	Since   time.Time // UTC day of the oldest of these reports, by its own date
	Reports int64     // in the past year; only [Judge] needs it
}

// Equal reports whether both are the same version of the same release, with equal times.
func (k VersionKnown) Equal(other VersionKnown) bool {
	return k.Release == other.Release && k.Version == other.Version && k.Arrived.Equal(other.Arrived) &&
		k.Since.Equal(other.Since)
}

// VersionsByRelease are versions of a package in use that dpkg can compare.
type VersionsByRelease map[crash.Release][]VersionKnown

// ByRelease groups versions by release. It omits those that dpkg cannot compare.
func ByRelease(known []VersionKnown) VersionsByRelease {
	grouped := VersionsByRelease{}
	for _, k := range known {
		if dpkg.Valid(k.Version) {
			grouped[k.Release] = append(grouped[k.Release], k)
		}
	}
	return grouped
}

// VersionStory shows a problem in the history of its package's versions.
type VersionStory struct {
	Counts []crash.VersionCount // newest version first; Reports 0: in use, but the problem was not seen
	After  []VersionKnown       // by release: the version after the last one with the problem
	Before []VersionKnown       // in the newest release: the version before the first one with the problem
	Newest []VersionKnown       // by release: the newest version in use, if higher than the last one with the problem
}

// NewVersionStory combines the versions in which a problem was seen with those that show where it
// begins and ends. In each release with the problem, these are the version after the last one, and
// the newest. In the newest release, it adds the version before the first one. known are the
// versions of the package in use. Versions that dpkg cannot compare are ignored.
func NewVersionStory(counts []crash.VersionCount, known []VersionKnown) VersionStory {
	seen := map[crash.Release]*dpkg.Range{}
	for _, c := range counts {
		if c.Reports == 0 || !dpkg.Valid(c.Version) {
			continue
		}
		if seen[c.Release] == nil {
			seen[c.Release] = &dpkg.Range{}
		}
		seen[c.Release].Add(c.Version)
	}
	before, after, newest := map[crash.Release]VersionKnown{}, map[crash.Release]VersionKnown{},
		map[crash.Release]VersionKnown{}
	take := func(into map[crash.Release]VersionKnown, k VersionKnown, better int) {
		if old, ok := into[k.Release]; !ok || dpkg.Compare(k.Version, old.Version)*better > 0 {
			into[k.Release] = k
		}
	}
	for _, k := range known {
		e := seen[k.Release]
		if e == nil || !dpkg.Valid(k.Version) {
			continue
		}
		if dpkg.Compare(k.Version, e.Lowest) < 0 {
			take(before, k, 1)
		}
		if dpkg.Compare(k.Version, e.Highest) > 0 {
			take(after, k, -1)
			take(newest, k, 1)
		}
	}
	story := VersionStory{Counts: slices.Clone(counts), Before: sorted(before)[:min(len(before), 1)], After: sorted(after),
		Newest: sorted(newest)}
	for _, some := range [][]VersionKnown{story.Before, story.After, story.Newest} {
		for _, k := range some {
			story.Add(crash.VersionCount{Version: k.Version, Release: k.Release})
		}
	}
	return story
}

// Add inserts a version at its position, unless it is present.
func (s *VersionStory) Add(c crash.VersionCount) {
	same := func(o crash.VersionCount) bool { return o.Version == c.Version && o.Release == c.Release }
	if !slices.ContainsFunc(s.Counts, same) {
		s.Counts = append(s.Counts, c)
		slices.SortStableFunc(s.Counts, newestVersionFirst)
	}
}

func sorted(of map[crash.Release]VersionKnown) []VersionKnown {
	var all []VersionKnown
	for _, k := range of {
		all = append(all, k)
	}
	slices.SortFunc(all, func(a, b VersionKnown) int { return b.Release.Compare(a.Release) })
	return all
}

// newestVersionFirst compares versions in descending order. Versions that dpkg cannot compare come
// last.
func newestVersionFirst(a, b crash.VersionCount) int {
	if valid := dpkg.Valid(a.Version); valid != dpkg.Valid(b.Version) {
		if valid {
			return -1
		}
		return 1
	}
	return cmp.Or(dpkg.Compare(b.Version, a.Version), strings.Compare(a.Version, b.Version),
		strings.Compare(a.Release.Key(), b.Release.Key()))
}
