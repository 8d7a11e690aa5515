package db

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"time"

	"mishap/crash"
	"mishap/crash/dpkg"
)

// The keys of what is counted, as those of the tables.
type (
	versionCell struct {
		bucket           crash.BucketID
		release, version string
	}
	machineCell struct {
		versionCell
		system int64
	}
	dayCellKey struct {
		versionCell
		day          time.Time
		architecture string
		of           string // the package's architecture
	}
	releaseDay struct {
		day                                time.Time
		release, architecture, problemType string
		proposed                           bool
	}
	reportDay struct {
		releaseDay
		pkg, version string
	}
	packageVersion struct{ pkg, release, version string }
	bucketRelease  struct {
		bucket  crash.BucketID
		release string
	}
	releaseSystem struct {
		release string
		system  int64
	}
)

type dayNumbers struct{ reports, proposed int64 }

// roundSum is what a round adds to the counts. Reports of one round are added up here, so that the database is asked once
// for each row that they touch together.
type roundSum struct {
	buckets  map[crash.BucketID]*bucketSum
	versions map[versionCell]int64
	machines map[machineCell]int64
	days     map[dayCellKey]dayNumbers
	reports  map[reportDay]int64
	releases map[releaseDay]int64
	active   map[releaseSystem][]time.Time // the days that may change when a machine is active, each once
	packages map[packageVersion]time.Time  // when the first report that has it arrived
	seen     map[bucketRelease]*crash.SeenSpan
	keys     sortKeys
	spans    *seenSpans
	server   serverID // whose spans these are
}

// bucketSum is what a round adds to one bucket.
type bucketSum struct {
	newest                 *sighting // which describes it
	reports                int64
	lowVersion, topVersion *versionSeen
	lowRelease, topRelease *releaseSeen
}

// versionSeen and releaseSeen sort as the types of the same names in the database.
type versionSeen struct {
	key                          []byte
	releaseKey, version, release string
}

type releaseSeen struct{ key, release string }

func (a versionSeen) compare(b *versionSeen) int {
	return cmp.Or(bytes.Compare(a.key, b.key), strings.Compare(a.releaseKey, b.releaseKey),
		strings.Compare(a.version, b.version), strings.Compare(a.release, b.release))
}

func (a releaseSeen) compare(b *releaseSeen) int {
	return cmp.Or(strings.Compare(a.key, b.key), strings.Compare(a.release, b.release))
}

// sortKeys remembers the sortable keys of versions and releases, which many reports share.
type sortKeys struct {
	versions map[string][]byte
	releases map[crash.Release]string
}

func newSortKeys() sortKeys { return sortKeys{map[string][]byte{}, map[crash.Release]string{}} }

// ofVersion returns nil for a version that dpkg does not take: it is counted, but is neither first nor last.
func (k sortKeys) ofVersion(version string) []byte {
	key, ok := k.versions[version]
	if !ok {
		if dpkg.Valid(version) {
			key = dpkg.Key(version)
		}
		k.versions[version] = key
	}
	return key
}

func (k sortKeys) ofRelease(r crash.Release) string {
	key, ok := k.releases[r]
	if !ok {
		key = r.Key()
		k.releases[r] = key
	}
	return key
}

func newRoundSum(spans *seenSpans, server serverID) *roundSum {
	return &roundSum{
		buckets: map[crash.BucketID]*bucketSum{}, versions: map[versionCell]int64{}, machines: map[machineCell]int64{},
		days: map[dayCellKey]dayNumbers{}, reports: map[reportDay]int64{}, releases: map[releaseDay]int64{},
		active: map[releaseSystem][]time.Time{}, packages: map[packageVersion]time.Time{}, seen: map[bucketRelease]*crash.SeenSpan{},
		keys: newSortKeys(), spans: spans, server: server,
	}
}

func (c *roundSum) add(s *sighting) {
	if s.bucket != nil {
		c.addToBucket(s)
	}
	if !s.counted {
		return
	}
	day := releaseDay{s.day, string(s.Release), s.Architecture, s.ProblemType, s.Proposed}
	c.releases[day]++
	c.reports[reportDay{day, s.Package, s.Version}]++
	if s.system != nil {
		machine := releaseSystem{string(s.Release), *s.system}
		if days := c.active[machine]; !slices.Contains(days, s.day) && !spanCovers(c.spans, c.server, machine, s.day) {
			c.active[machine] = append(days, s.day)
		}
	}
	if s.Package != "" && c.keys.ofVersion(s.Version) != nil {
		version := packageVersion{s.Package, string(s.Release), s.Version}
		if at, ok := c.packages[version]; !ok || s.received.Before(at) {
			c.packages[version] = s.received
		}
	}
}

func (c *roundSum) addToBucket(s *sighting) {
	b := c.buckets[*s.bucket]
	if b == nil {
		b = &bucketSum{}
		c.buckets[*s.bucket] = b
	}
	if b.newest == nil || describesBetter(s, b.newest) {
		b.newest = s
	}
	if !s.counted {
		return
	}
	b.reports++
	b.addVersion(s, c.keys)
	c.addSeen(bucketRelease{*s.bucket, string(s.Release)}, newOccurrence(s.seen, s.Version))
	cell := versionCell{*s.bucket, string(s.Release), s.Version}
	c.versions[cell]++
	if s.system != nil {
		c.machines[machineCell{cell, *s.system}]++
	}
	day := dayCellKey{cell, s.day, s.Architecture, s.PackageArchitecture}
	n := c.days[day]
	n.reports++
	if s.Proposed {
		n.proposed++
	}
	c.days[day] = n
}

// describesBetter: counted reports before those of test machines, those with a title before those without, then the one
// that arrived last.
func describesBetter(a, b *sighting) bool {
	if a.counted != b.counted {
		return a.counted
	}
	if (a.Title == "") != (b.Title == "") {
		return a.Title != ""
	}
	return bytes.Compare(a.id[:], b.id[:]) > 0
}

func (b *bucketSum) addVersion(s *sighting, keys sortKeys) {
	releaseKey := keys.ofRelease(s.Release)
	if s.Release != "" {
		at := releaseSeen{releaseKey, string(s.Release)}
		widen(&b.lowRelease, &b.topRelease, at, at.compare)
	}
	if key := keys.ofVersion(s.Version); key != nil {
		at := versionSeen{key, releaseKey, s.Version, string(s.Release)}
		widen(&b.lowVersion, &b.topVersion, at, at.compare)
	}
}

// widen makes low and top those of three.
func widen[T any](low, top **T, at T, compare func(*T) int) {
	if *low == nil || compare(*low) < 0 {
		*low = &at
	}
	if *top == nil || compare(*top) > 0 {
		*top = &at
	}
}
