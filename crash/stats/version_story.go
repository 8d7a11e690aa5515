package stats

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"mishap/crash"
	"mishap/crash/dpkg"
)

// VersionKnown is a version of a package that counted reports of any problem came from, in a release.
type VersionKnown struct {
	Release crash.Release
	Version string
	Arrived time.Time // when the first of these reports arrived
	Since   time.Time // UTC day of the oldest of these reports, by its own date
}

// Equal reports whether two versions are the same, known for the same time.
func (k VersionKnown) Equal(other VersionKnown) bool {
	return k.Release == other.Release && k.Version == other.Version && k.Arrived.Equal(other.Arrived) && k.Since.Equal(other.Since)
}

// VersionStory is a problem beside the versions of its package.
type VersionStory struct {
	Counts []crash.VersionCount // how often it was seen; 0: not, though it could have been; the newest version first
	After  []VersionKnown       // by release, the version that came after the last in which it was seen
	Before []VersionKnown       // in the newest release, the version before the first in which it was seen
	Newest []VersionKnown       // by release, the newest version in use, where that is after the last, too
}

// TellVersions puts beside the versions in which a problem was seen those that say where it begins and ends: in each release
// that it was seen in, the one after the last, and the newest; in the newest release, the one before the first, too. known are
// the versions of the package in use. Versions are compared as dpkg does; those that it cannot order are passed over.
func TellVersions(counts []crash.VersionCount, known []VersionKnown) VersionStory {
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
	before, after, newest := map[crash.Release]VersionKnown{}, map[crash.Release]VersionKnown{}, map[crash.Release]VersionKnown{}
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
	story := VersionStory{Counts: slices.Clone(counts), Before: sorted(before)[:min(len(before), 1)], After: sorted(after), Newest: sorted(newest)}
	for _, some := range [][]VersionKnown{story.Before, story.After, story.Newest} {
		for _, k := range some {
			story.Add(crash.VersionCount{Version: k.Version, Release: k.Release})
		}
	}
	return story
}

// Add adds a version in its place, unless it is there.
func (s *VersionStory) Add(c crash.VersionCount) {
	if !slices.ContainsFunc(s.Counts, func(o crash.VersionCount) bool { return o.Version == c.Version && o.Release == c.Release }) {
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

// newestVersionFirst puts what dpkg cannot order last.
func newestVersionFirst(a, b crash.VersionCount) int {
	if valid := dpkg.Valid(a.Version); valid != dpkg.Valid(b.Version) {
		if valid {
			return -1
		}
		return 1
	}
	return cmp.Or(dpkg.Compare(b.Version, a.Version), strings.Compare(a.Version, b.Version), strings.Compare(a.Release.Key(), b.Release.Key()))
}
