package db

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"time"

	"mishap/crash"
	"mishap/crash/dpkg"

	"github.com/jackc/pgx/v5"
)

// The structs below are the keys of the count tables; cell, systemCell and dayCell are others.
type (
	releaseDay struct {
		day                                time.Time
		release, architecture, problemType string
		proposed                           bool
	}
	packageDay struct {
		releaseDay
		pkg, version string
	}
	packageVersion struct{ pkg, release, version string }
	bucketRelease  struct {
		bucket  crash.BucketID
		release string
	}
)

// roundSum holds what a round adds to the counts. It sums up the reports in memory first, so that
// the round changes each row once.
type roundSum struct {
	buckets  map[crash.BucketID]*bucketSum
	versions map[cell]int64
	machines map[systemCell]int64
	days     map[dayCell]dayCount
	packages map[packageDay]int64
	releases map[releaseDay]int64
	active   map[machine][]time.Time // days on which the machine may become active, without duplicates
	inUse    map[packageVersion]versionUse
	seen     map[bucketRelease]*crash.SeenSpan
	names    map[crash.BucketID]crash.BucketID // bucket with function names, by provisional bucket
	keys     sortKeys
	spans    *cachedSpans
	server   serverID // database whose spans are cached
}

// versionUse holds when a version of a package came into use.
type versionUse struct {
	arrived  time.Time // arrival of its first report
	firstDay time.Time // UTC day of its oldest report
}

// bucketSum holds what a round adds to one bucket.
type bucketSum struct {
	newest                 *storedReport // describes the bucket
	reports                int64
	lowVersion, topVersion versionSeen // none if the key is nil
	lowRelease, topRelease releaseSeen // none if the release is empty
}

// versionSeen and releaseSeen sort like the database types version_seen and release_seen.
type versionSeen struct {
	key                          []byte
	releaseKey, version, release string
}

type releaseSeen struct{ key, release string }

func (a versionSeen) compare(b versionSeen) int {
	return cmp.Or(bytes.Compare(a.key, b.key), strings.Compare(a.releaseKey, b.releaseKey),
		strings.Compare(a.version, b.version), strings.Compare(a.release, b.release))
}

func (a releaseSeen) compare(b releaseSeen) int {
	return cmp.Or(strings.Compare(a.key, b.key), strings.Compare(a.release, b.release))
}

// sortKeys caches the sort keys of versions and releases, because many reports share them.
type sortKeys struct {
	versions map[string][]byte
	releases map[crash.Release]string
}

func newSortKeys() sortKeys { return sortKeys{map[string][]byte{}, map[crash.Release]string{}} }

// ofVersion returns the sort key of a version. It returns nil if dpkg rejects the version; such a
// version is counted but is never a problem's first or last one.
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

func newRoundSum(spans *cachedSpans, server serverID) *roundSum {
	return &roundSum{
		buckets: map[crash.BucketID]*bucketSum{}, versions: map[cell]int64{}, machines: map[systemCell]int64{},
		days:     map[dayCell]dayCount{},
		packages: map[packageDay]int64{}, releases: map[releaseDay]int64{}, active: map[machine][]time.Time{},
		inUse: map[packageVersion]versionUse{}, seen: map[bucketRelease]*crash.SeenSpan{},
		names: map[crash.BucketID]crash.BucketID{},
		keys:  newSortKeys(), spans: spans, server: server,
	}
}

func (c *roundSum) add(r *storedReport) {
	if r.bucket != nil {
		c.addToBucket(r)
	}
	if !r.counted {
		return
	}
	day := releaseDay{r.day, string(r.Release), r.Architecture, r.ProblemType, r.Proposed}
	c.releases[day]++
	c.packages[packageDay{day, r.Package, r.Version}]++
	if r.system != nil {
		m := machine{string(r.Release), *r.system}
		if days := c.active[m]; !slices.Contains(days, r.day) && !c.spans.covers(c.server, m, r.day) {
			c.active[m] = append(days, r.day)
		}
	}
	if r.Package != "" && c.keys.ofVersion(r.Version) != nil {
		version := packageVersion{r.Package, string(r.Release), r.Version}
		use, ok := c.inUse[version]
		if !ok || r.received.Before(use.arrived) {
			use.arrived = r.received
		}
		if !ok || r.day.Before(use.firstDay) {
			use.firstDay = r.day
		}
		c.inUse[version] = use
	}
}

func (c *roundSum) addToBucket(r *storedReport) {
	b := c.buckets[*r.bucket]
	if b == nil {
		b = &bucketSum{}
		c.buckets[*r.bucket] = b
	}
	if b.newest == nil || describesBetter(r, b.newest) {
		b.newest = r
	}
	if id := nameOf(r.counted, r.rule, r.AddressSignature); id != nil {
		if _, known := c.names[*id]; !known {
			c.names[*id] = *r.bucket
		}
	}
	if !r.counted {
		return
	}
	b.reports++
	releaseKey, versionKey := c.keys.ofRelease(r.Release), c.keys.ofVersion(r.Version)
	if at := (releaseSeen{releaseKey, string(r.Release)}); r.Release != "" {
		if b.lowRelease.release == "" || at.compare(b.lowRelease) < 0 {
			b.lowRelease = at
		}
		if at.compare(b.topRelease) > 0 {
			b.topRelease = at
		}
	}
	if at := (versionSeen{versionKey, releaseKey, r.Version, string(r.Release)}); versionKey != nil {
		if b.lowVersion.key == nil || at.compare(b.lowVersion) < 0 {
			b.lowVersion = at
		}
		if b.topVersion.key == nil || at.compare(b.topVersion) > 0 {
			b.topVersion = at
		}
	}
	c.addSeen(bucketRelease{*r.bucket, string(r.Release)}, newOccurrence(r.seen, r.Version))
	at := cell{*r.bucket, string(r.Release), r.Version}
	c.versions[at]++
	if r.system != nil {
		c.machines[systemCell{at, *r.system}]++
	}
	day := dayCell{at, r.day, r.Architecture, r.PackageArchitecture}
	n := c.days[day]
	n.reports++
	if r.Proposed {
		n.proposed++
	}
	c.days[day] = n
}

// describesBetter reports whether a describes a bucket better than b. Counted reports come before
// those of test machines, then reports with a title, then later arrivals.
func describesBetter(a, b *storedReport) bool {
	if a.counted != b.counted {
		return a.counted
	}
	if (a.Title == "") != (b.Title == "") {
		return a.Title != ""
	}
	return bytes.Compare(a.id[:], b.id[:]) > 0
}

// sqlCountSeen updates the first and the last occurrence of buckets, by release. It relies on
// least() and greatest() ignoring nulls.
const sqlCountSeen = `
	insert into bucket_releases as r (bucket_id, release, first_seen, last_seen, lowest_version, highest_version)
	select bucket_id, release, row(first_seen, first_key, first_version)::occurrence,
		row(last_seen, last_key, last_version)::occurrence,
		case when lowest_key is not null then row(lowest_key, lowest_version)::package_version end,
		case when highest_key is not null then row(highest_key, highest_version)::package_version end
	from unnest(@bucket::bytea[], @release::text[],
		@first_seen::timestamptz[], @first_key::bytea[], @first_version::text[],
		@last_seen::timestamptz[], @last_key::bytea[], @last_version::text[],
		@lowest_key::bytea[], @lowest_version::text[], @highest_key::bytea[], @highest_version::text[]
	) as t (bucket_id, release, first_seen, first_key, first_version, last_seen, last_key, last_version,
		lowest_key, lowest_version, highest_key, highest_version)
	on conflict (bucket_id, release) do update set
		first_seen = least(r.first_seen, excluded.first_seen), last_seen = greatest(r.last_seen, excluded.last_seen),
		lowest_version = least(r.lowest_version, excluded.lowest_version),
		highest_version = greatest(r.highest_version, excluded.highest_version)`

// newOccurrence returns an occurrence. It truncates the time to microseconds, as PostgreSQL does.
func newOccurrence(seen time.Time, version string) crash.Occurrence {
	return crash.Occurrence{At: seen.Truncate(time.Microsecond), Version: version}
}

func (c *roundSum) addSeen(key bucketRelease, o crash.Occurrence) {
	span := c.seen[key]
	if span == nil {
		span = &crash.SeenSpan{}
		c.seen[key] = span
	}
	span.Add(o)
}

func compareBucketReleases(a, b bucketRelease) int {
	return cmp.Or(bytes.Compare(a.bucket[:], b.bucket[:]), strings.Compare(a.release, b.release))
}

// seenArgs returns the arguments for rows of bucket_releases, except the columns of the primary
// key.
func seenArgs(rows []*crash.SeenSpan, keys sortKeys) pgx.NamedArgs {
	args := pgx.NamedArgs{}
	for name, of := range map[string]func(*crash.SeenSpan) crash.Occurrence{
		"first": func(s *crash.SeenSpan) crash.Occurrence { return s.First },
		"last":  func(s *crash.SeenSpan) crash.Occurrence { return s.Last },
	} {
		args[name+"_seen"] = column(rows, func(s *crash.SeenSpan) time.Time { return of(s).At })
		args[name+"_key"] = column(rows, func(s *crash.SeenSpan) []byte {
			return append([]byte{}, keys.ofVersion(of(s).Version)...) // never null
		})
		args[name+"_version"] = column(rows, func(s *crash.SeenSpan) string { return of(s).Version })
	}
	for name, of := range map[string]func(*crash.SeenSpan) string{
		"lowest":  func(s *crash.SeenSpan) string { return s.Versions.Lowest },
		"highest": func(s *crash.SeenSpan) string { return s.Versions.Highest },
	} {
		args[name+"_key"] = column(rows, func(s *crash.SeenSpan) []byte { return keys.ofVersion(of(s)) })
		args[name+"_version"] = column(rows, of)
	}
	return args
}
