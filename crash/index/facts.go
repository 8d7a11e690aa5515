package index

import (
	"cmp"
	"slices"

	"mishap/crash"
	"mishap/crash/dpkg"
)

// Facts say when and in which versions a problem was seen, in all releases or in one.
type Facts struct {
	First, Last                   crash.Occurrence // the oldest and the newest report
	LowestVersion, HighestVersion string           // by dpkg's order; empty: no version is comparable
	LowestRelease, HighestRelease crash.Release    // empty: no report has a release

	// Keys sort in dpkg's order of the versions. They are empty for versions that dpkg rejects.
	FirstKey, LastKey, LowestKey, HighestKey string
}

// noFacts are the facts of a problem that was never seen. They are read-only.
var noFacts = &Facts{}

// In returns the facts of one release or, for the empty release, of all. The caller must not modify
// them.
func (l *Bucket) In(release crash.Release) *Facts {
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

// overall combines the facts of releases. It returns the facts of a single release unchanged.
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

// byRelease combines the facts of several buckets for each release. The result is sorted by release
// name.
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

// add extends f by other facts. The order of several calls does not matter.
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

// shareFactTexts replaces texts that many facts have by shared copies.
func (ix *Index) shareFactTexts(f *Facts) {
	for _, text := range []*string{&f.First.Version, &f.Last.Version, &f.LowestVersion, &f.HighestVersion, &f.FirstKey,
		&f.LastKey, &f.LowestKey, &f.HighestKey} {
		share(ix.texts, text)
	}
	for _, release := range []*crash.Release{&f.First.Release, &f.Last.Release, &f.LowestRelease, &f.HighestRelease} {
		share(ix.texts, release)
	}
}
