package index

import (
	"cmp"
	"slices"

	"mishap/crash"
	"mishap/crash/dpkg"
)

// Facts say when and in which versions a problem was seen: everywhere, or in one release.
type Facts struct {
	First, Last                   crash.Occurrence // the oldest and the newest report
	LowestVersion, HighestVersion string           // by dpkg's order; empty: none that dpkg can compare
	LowestRelease, HighestRelease crash.Release    // empty: no report names one

	// Keys sort as dpkg compares the versions. They are empty where dpkg cannot.
	FirstKey, LastKey, LowestKey, HighestKey string
}

// noFacts are those of a problem that was never seen there. They are not to be changed.
var noFacts = &Facts{}

// In returns the facts of one release, or, for the empty release, of all. They are not to be changed.
func (l *Leaf) In(release crash.Release) *Facts {
	if release == "" {
		return l.Facts
	}
	for _, f := range l.Releases {
		if f.First.Release == release {
			return f
		}
	}
	return noFacts
}

// overall joins the facts of releases. Those of a single one are those of all.
func overall(releases []*Facts) *Facts {
	switch len(releases) {
	case 0:
		return noFacts
	case 1:
		return releases[0]
	}
	all := *releases[0]
	for _, f := range releases[1:] {
		all.add(f)
	}
	return &all
}

// byRelease joins facts of several buckets, release by release. The result is in the order of release names.
func byRelease(some []*Facts) []*Facts {
	slices.SortStableFunc(some, func(a, b *Facts) int { return cmp.Compare(a.First.Release, b.First.Release) })
	var joined []*Facts
	for _, f := range some {
		n := len(joined)
		if n == 0 || joined[n-1].First.Release != f.First.Release {
			joined = append(joined, f)
			continue
		}
		both := *joined[n-1]
		both.add(f)
		joined[n-1] = &both
	}
	return joined
}

// add widens f by other facts, in any order to the same effect.
func (f *Facts) add(other *Facts) {
	if other.First.Compare(f.First) < 0 {
		f.First, f.FirstKey = other.First, other.FirstKey
	}
	if other.Last.Compare(f.Last) > 0 {
		f.Last, f.LastKey = other.Last, other.LastKey
	}
	if v := other.LowestVersion; v != "" && (f.LowestVersion == "" || dpkg.Order(v, f.LowestVersion) < 0) {
		f.LowestVersion, f.LowestKey = other.LowestVersion, other.LowestKey
	}
	if dpkg.Order(other.HighestVersion, f.HighestVersion) > 0 {
		f.HighestVersion, f.HighestKey = other.HighestVersion, other.HighestKey
	}
	if r := other.LowestRelease; r != "" && (f.LowestRelease == "" || r.Compare(f.LowestRelease) < 0) {
		f.LowestRelease = r
	}
	if r := other.HighestRelease; r != "" && r.Compare(f.HighestRelease) > 0 {
		f.HighestRelease = r
	}
}

// onceFacts gives the texts that many facts have the same place.
func (b *Index) onceFacts(f *Facts) {
	for _, text := range []*string{&f.First.Version, &f.Last.Version, &f.LowestVersion, &f.HighestVersion, &f.FirstKey, &f.LastKey, &f.LowestKey, &f.HighestKey} {
		share(b.texts, text)
	}
	for _, release := range []*crash.Release{&f.First.Release, &f.Last.Release, &f.LowestRelease, &f.HighestRelease} {
		share(b.texts, release)
	}
}
