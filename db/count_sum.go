package db

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
	"unique"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/version"
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
	releaseHour struct {
		release string
		hour    time.Time
	}
	packageHour struct {
		releaseHour
		pkg, version string
	}
)

// totals counts the reports of packages and releases.
type totals struct {
	packages     map[packageDay]int64
	releases     map[releaseDay]int64
	hours        map[packageHour]int64
	releaseHours map[releaseHour]int64
	hoursFrom    time.Time // first day that is also counted by hour
}

func newTotals(hoursFrom time.Time) totals {
	return totals{map[packageDay]int64{}, map[releaseDay]int64{}, map[packageHour]int64{}, map[releaseHour]int64{},
		hoursFrom}
}

func (t totals) add(r *storedReport) {
	day := releaseDay{r.day, string(r.Release), r.Architecture, r.ProblemType, r.Proposed}
	t.releases[day]++
	t.packages[packageDay{day, r.Package, r.Version}]++
	if !r.day.Before(t.hoursFrom) {
		hour := releaseHour{string(r.Release), r.seen.UTC().Truncate(time.Hour)}
		t.releaseHours[hour]++
		t.hours[packageHour{hour, r.Package, r.Version}]++
	}
}

// args returns the arguments for rows of report_days and of release_days.
func (t totals) args() (packages, releases pgx.NamedArgs) {
	days := func(keys []releaseDay) pgx.NamedArgs {
		return pgx.NamedArgs{
			"day":          column(keys, func(k releaseDay) time.Time { return k.day }),
			"release":      column(keys, func(k releaseDay) string { return k.release }),
			"architecture": column(keys, func(k releaseDay) string { return k.architecture }),
			"problem_type": column(keys, func(k releaseDay) string { return k.problemType }),
			"proposed":     column(keys, func(k releaseDay) bool { return k.proposed }),
		}
	}
	p, r := keysOf(t.packages), keysOf(t.releases)
	packages, releases = days(column(p, func(k packageDay) releaseDay { return k.releaseDay })), days(r)
	packages["package"] = column(p, func(k packageDay) string { return k.pkg })
	packages["version"] = column(p, func(k packageDay) string { return k.version })
	packages["n"] = column(p, func(k packageDay) int64 { return t.packages[k] })
	releases["n"] = column(r, func(k releaseDay) int64 { return t.releases[k] })
	return packages, releases
}

// roundSum holds what a round adds to the counts. It sums up the reports in memory first, so that
// the round changes each row once.
type roundSum struct {
	cellCounts
	totals  totals
	buckets map[crash.BucketID]*bucketSum
	active  map[machine][]time.Time // days on which the machine may become active, without duplicates
	inUse   map[packageVersion]versionUse
	seen    map[bucketRelease]*crash.SeenSpan
	names   map[crash.BucketID]crash.BucketID // bucket with function names, by provisional bucket
	bodies  bodyCounts
	sampled map[bucketMonth][]sampled // reports with bodies
	spans   *cachedSpans
	server  serverID // database whose spans are cached
}

// versionUse holds when a version of a package came into use.
type versionUse struct {
	arrived  time.Time // arrival of its first report
	firstDay time.Time // UTC day of its oldest report
}

// bucketSum holds what a round adds to one bucket.
type bucketSum struct {
	seenRange
	newest  *storedReport // describes the bucket
	reports int64
}

// seenRange holds the first and the last version and release of a bucket.
type seenRange struct {
	lowVersion, topVersion versionSeen // none if the key is nil
	lowRelease, topRelease releaseSeen // none if the release is empty
}

// widen extends the range to a version that was seen in a release. The key is nil if the version is not
// comparable.
func (s *seenRange) widen(at versionSeen) {
	if release := (releaseSeen{at.releaseKey, at.release}); at.release != "" {
		if s.lowRelease.release == "" || release.compare(s.lowRelease) < 0 {
			s.lowRelease = release
		}
		if release.compare(s.topRelease) > 0 {
			s.topRelease = release
		}
	}
	if at.key != nil {
		if s.lowVersion.key == nil || at.compare(s.lowVersion) < 0 {
			s.lowVersion = at
		}
		if at.compare(s.topVersion) > 0 {
			s.topVersion = at
		}
	}
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
	versions [version.Orders]map[string][]byte
	releases map[crash.Release]string
}

func newSortKeys() sortKeys {
	k := sortKeys{releases: map[crash.Release]string{}}
	for o := range k.versions {
		k.versions[o] = map[string][]byte{}
	}
	return k
}

// ofVersion returns the sort key of a version in a release. It returns nil if the version is not
// comparable; such a version is counted but is never a problem's first or last one.
func (k sortKeys) ofVersion(release crash.Release, text string) []byte {
	order := release.VersionOrder()
	key, ok := k.versions[order][text]
	if !ok {
		if order.Valid(text) {
			key = order.Key(text)
		}
		k.versions[order][text] = key
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

func newRoundSum(spans *cachedSpans, server serverID, hoursFrom time.Time) *roundSum {
	return &roundSum{
		cellCounts: newCellCounts(), totals: newTotals(hoursFrom), buckets: map[crash.BucketID]*bucketSum{},
		active: map[machine][]time.Time{},
		inUse:  map[packageVersion]versionUse{}, seen: map[bucketRelease]*crash.SeenSpan{},
		names:  map[crash.BucketID]crash.BucketID{},
		bodies: bodyCounts{}, sampled: map[bucketMonth][]sampled{},
		spans: spans, server: server,
	}
}

func (c *roundSum) count(r *storedReport) {
	if r.bucket != nil {
		c.addToBucket(r)
	}
	if !r.counted {
		return
	}
	c.totals.add(r)
	if r.system != nil {
		m := machine{string(r.Release), *r.system}
		if days := c.active[m]; !slices.Contains(days, r.day) && !c.spans.covers(c.server, m, r.day) {
			c.active[m] = append(days, r.day)
		}
	}
	if r.Package != "" && c.keys.ofVersion(r.Release, r.Version) != nil {
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
	c.bodies.count(r.bucket, r, 1)
	if r.limited && r.full {
		key := bucketMonthOf(*r.bucket, r.received)
		c.sampled[key] = append(c.sampled[key], newSampled(r.Summary, r.system, r.id))
	}
	b.widen(versionSeen{c.keys.ofVersion(r.Release, r.Version), c.keys.ofRelease(r.Release), r.Version,
		string(r.Release)})
	c.addSeen(bucketRelease{*r.bucket, string(r.Release)}, newOccurrence(r.seen, r.Version, r.Release))
	c.add(*r.bucket, r, 1)
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
func newOccurrence(seen time.Time, text string, release crash.Release) crash.Occurrence {
	return crash.Occurrence{At: seen.Truncate(time.Microsecond), Version: text, Release: release}
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
			return append([]byte{}, keys.ofVersion(of(s).Release, of(s).Version)...) // never null
		})
		args[name+"_version"] = column(rows, func(s *crash.SeenSpan) string { return of(s).Version })
	}
	for name, of := range map[string]func(*crash.SeenSpan) string{
		"lowest":  func(s *crash.SeenSpan) string { return s.Versions.Lowest },
		"highest": func(s *crash.SeenSpan) string { return s.Versions.Highest },
	} {
		args[name+"_key"] = column(rows, func(s *crash.SeenSpan) []byte {
			return keys.ofVersion(s.First.Release, of(s))
		})
		args[name+"_version"] = column(rows, of)
	}
	return args
}

const (
	// sqlCountMachines counts a machine as new to a cell if it has no row there, and as new to the
	// bucket if it has no row in any cell. All parts of the statement see the same snapshot, and the
	// counting lock excludes other writers.
	sqlCountMachines = `
		with input as materialized (
			select i.*, s.known, s.visited, s.releases
			from unnest(@bucket::bytea[], @system::bigint[], @release::text[], @version::text[], @n::bigint[])
				as i (bucket_id, system, release, version, n)
				cross join lateral (
					select count(*) > 0 as visited,
						coalesce(bool_or(s.release = i.release and s.version = i.version), false) as known,
						count(*) filter (where s.version = i.version) as releases
					from bucket_systems as s where s.bucket_id = i.bucket_id and s.system = i.system
				) as s
		), again as (
			update bucket_systems as s set reports = s.reports + i.n from input as i
			where i.known and s.bucket_id = i.bucket_id and s.system = i.system
				and s.release = i.release and s.version = i.version
		), fresh as (
			insert into bucket_systems (bucket_id, system, release, version, reports)
			select bucket_id, system, release, version, n from input where not known
		), travelled as (
			insert into bucket_travellers (bucket_id, version, system, extra)
			select bucket_id, version, system, count(*) + max(releases) - 1 from input where not known
			group by bucket_id, version, system having count(*) + max(releases) > 1
			on conflict (bucket_id, version, system) do update set extra = excluded.extra
		)
		select bucket_id, release, version, count(*) from input where not known group by bucket_id, release, version
		union all
		select bucket_id, null, null, count(distinct system) from input where not visited group by bucket_id`
	sqlCountBuckets = `
		update buckets as b set
			problem_type   = case when t.reports = 0 then b.problem_type else t.problem_type end,
			title          = case when t.reports = 0 or t.title = '' then b.title else t.title end,
			executable     = case when t.reports = 0 or t.executable = '' then b.executable else t.executable end,
			package        = case when t.reports = 0 or t.package = '' then b.package else t.package end,
			source_package = case when t.reports = 0 or t.source_package = '' then b.source_package else t.source_package end,
			reports        = b.reports + t.reports,
			systems        = b.systems + t.systems,
			first_version  = case when low_key is null then b.first_version else
				least(b.first_version, row(low_key, low_release_key, low_version, low_version_release)::version_seen) end,
			last_version   = case when top_key is null then b.last_version else
				greatest(b.last_version, row(top_key, top_release_key, top_version, top_version_release)::version_seen) end,
			first_release  = case when low_release = '' then b.first_release else
				least(b.first_release, row(low_seen_key, low_release)::release_seen) end,
			last_release   = case when top_release = '' then b.last_release else
				greatest(b.last_release, row(top_seen_key, top_release)::release_seen) end,
			changed        = @round
		from unnest(
			@id::bytea[], @problem_type::text[], @title::text[],
			@executable::text[], @package::text[], @source_package::text[], @reports::bigint[], @systems::bigint[],
			@low_key::bytea[], @low_release_key::text[], @low_version::text[], @low_version_release::text[],
			@top_key::bytea[], @top_release_key::text[], @top_version::text[], @top_version_release::text[],
			@low_seen_key::text[], @low_release::text[], @top_seen_key::text[], @top_release::text[]
		) as t (
			id, problem_type, title, executable, package, source_package, reports, systems,
			low_key, low_release_key, low_version, low_version_release,
			top_key, top_release_key, top_version, top_version_release, low_seen_key, low_release, top_seen_key, top_release)
		where b.id = t.id`
	sqlCountVersions = `
		insert into bucket_versions as v (bucket_id, release, version, version_key, reports, systems)
		select * from unnest(
			@bucket::bytea[], @release::text[], @version::text[], @key::bytea[], @n::bigint[], @systems::bigint[])
			as c (bucket_id, release, version, version_key, n, systems) where n > 0
		on conflict (bucket_id, release, version)
		do update set reports = v.reports + excluded.reports, systems = v.systems + excluded.systems`
	sqlCountDays = `
		insert into bucket_days as d (
			bucket_id, day, release, version, architecture, package_architecture, reports, proposed, changed)
		select t.*, @round from unnest(@bucket::bytea[], @day::date[], @release::text[], @version::text[],
			@architecture::text[], @of::text[], @n::bigint[], @proposed::bigint[])
			as t (bucket_id, day, release, version, architecture, package_architecture, n, proposed) where n > 0
		on conflict (bucket_id, day, release, version, architecture, package_architecture)
		do update set reports = d.reports + excluded.reports, proposed = d.proposed + excluded.proposed,
			changed = excluded.changed`
	sqlCountPackages = `
		insert into report_days as d (package, day, release, version, architecture, problem_type, proposed, reports)
		select * from unnest(@package::text[], @day::date[], @release::text[], @version::text[], @architecture::text[],
			@problem_type::text[], @proposed::boolean[], @n::bigint[])
		on conflict (package, day, release, version, architecture, problem_type, proposed)
		do update set reports = d.reports + excluded.reports`
	sqlCountReleases = `
		insert into release_days as d (day, release, architecture, problem_type, proposed, reports)
		select * from unnest(@day::date[], @release::text[], @architecture::text[], @problem_type::text[],
			@proposed::boolean[], @n::bigint[])
		on conflict (day, release, architecture, problem_type, proposed) do update set reports = d.reports + excluded.reports`
	sqlCountHours = `
		insert into report_hours as d (package, release, hour, version, reports)
		select * from unnest(@package::text[], @release::text[], @hour::timestamptz[], @version::text[], @n::bigint[])
		on conflict (package, release, hour, version) do update set reports = d.reports + excluded.reports`
	sqlCountReleaseHours = `
		insert into release_hours as d (release, hour, reports)
		select * from unnest(@release::text[], @hour::timestamptz[], @n::bigint[])
		on conflict (release, hour) do update set reports = d.reports + excluded.reports`
	// sqlAddPackageVersions writes nothing for known versions, which most are.
	sqlAddPackageVersions = `
		with added as (
			insert into package_versions as v (package, release, version, version_key, arrived, first_day)
			select package, release, version, version_key, arrived, first_day
			from unnest(@package::text[], @release::text[], @version::text[], @key::bytea[], @arrived::timestamptz[],
					@first_day::date[])
				as t (package, release, version, version_key, arrived, first_day)
			where not exists (
				select from package_versions as v
				where v.package = t.package and v.release = t.release and v.version = t.version
					and v.arrived <= t.arrived and v.first_day <= t.first_day)
			on conflict (package, release, version) do update
			set arrived = least(v.arrived, excluded.arrived), first_day = least(v.first_day, excluded.first_day)
			returning 1
		)
		update counting set versions_changed = round where exists (select from added)`
	sqlAddReleases = `
		insert into releases (release)
		select distinct release from unnest(@release::text[]) as release where release <> ''
		on conflict do nothing`
)

// countMachines counts the reports of each machine. It returns how many machines are new to each
// bucket and to each cell.
func (c *roundSum) countMachines(ctx context.Context, tx pgx.Tx) (buckets map[crash.BucketID]int64,
	cells map[cell]int64, err error) {
	buckets, cells = map[crash.BucketID]int64{}, map[cell]int64{}
	if len(c.systems) == 0 {
		return buckets, cells, nil
	}
	var bucket crash.BucketID
	var release, version *string
	var n int64
	err = Each(ctx, tx, sqlCountMachines, c.systemArgs(keysOf(c.systems)),
		[]any{&bucket, &release, &version, &n}, func() {
			if release == nil {
				buckets[bucket] += n
			} else {
				cells[cell{bucket, *release, *version}] += n
			}
		})
	return buckets, cells, err
}

// write queues the statements that write all other counts, one for each table.
func (c *roundSum) write(b *pgx.Batch, round int64, newToBucket map[crash.BucketID]int64, newToCell map[cell]int64) {
	if len(c.buckets) > 0 {
		b.Queue(sqlCountBuckets, c.bucketArgs(round, newToBucket))
	}
	if seen := keysOf(c.seen); len(seen) > 0 {
		args := seenArgs(column(seen, func(k bucketRelease) *crash.SeenSpan { return c.seen[k] }), c.keys)
		args["bucket"] = column(seen, func(k bucketRelease) []byte { return k.bucket[:] })
		args["release"] = column(seen, func(k bucketRelease) string { return k.release })
		b.Queue(sqlCountSeen, args)
	}
	if versions := keysOf(c.versions); len(versions) > 0 {
		b.Queue(sqlCountVersions, c.versionArgs(versions, newToCell))
	}
	if days := keysOf(c.days); len(days) > 0 {
		b.Queue(sqlCountDays, c.dayArgs(days, round))
	}
	if len(c.totals.releases) == 0 { // all reports are from test machines
		return
	}
	packages, releases := c.totals.args()
	b.Queue(sqlCountPackages, packages)
	b.Queue(sqlCountReleases, releases)
	b.Queue(sqlAddReleases, releases)
	if len(c.totals.hours) > 0 {
		packages, releases := c.totals.hourArgs()
		b.Queue(sqlCountHours, packages)
		b.Queue(sqlCountReleaseHours, releases)
	}
	inUse := keysOf(c.inUse)
	b.Queue(sqlAddPackageVersions, pgx.NamedArgs{
		"package": column(inUse, func(k packageVersion) string { return k.pkg }),
		"release": column(inUse, func(k packageVersion) string { return k.release }),
		"version": column(inUse, func(k packageVersion) string { return k.version }),
		"key": column(inUse, func(k packageVersion) []byte {
			return c.keys.ofVersion(crash.Release(k.release), k.version)
		}),
		"arrived":   column(inUse, func(k packageVersion) time.Time { return c.inUse[k].arrived }),
		"first_day": column(inUse, func(k packageVersion) time.Time { return c.inUse[k].firstDay }),
	})
}

func (c *roundSum) bucketArgs(round int64, newToBucket map[crash.BucketID]int64) pgx.NamedArgs {
	ids := keysOf(c.buckets)
	rows := column(ids, func(id crash.BucketID) *bucketSum { return c.buckets[id] })
	text := func(value func(*bucketSum) string) []string { return column(rows, value) }
	return pgx.NamedArgs{
		"round":               round,
		"id":                  ids,
		"problem_type":        text(func(s *bucketSum) string { return s.newest.ProblemType }),
		"title":               text(func(s *bucketSum) string { return s.newest.Title }),
		"executable":          text(func(s *bucketSum) string { return s.newest.Executable }),
		"package":             text(func(s *bucketSum) string { return s.newest.Package }),
		"source_package":      text(func(s *bucketSum) string { return s.newest.SourcePackage }),
		"reports":             column(rows, func(s *bucketSum) int64 { return s.reports }),
		"systems":             column(ids, func(id crash.BucketID) int64 { return newToBucket[id] }),
		"low_key":             column(rows, func(s *bucketSum) []byte { return s.lowVersion.key }),
		"low_release_key":     text(func(s *bucketSum) string { return s.lowVersion.releaseKey }),
		"low_version":         text(func(s *bucketSum) string { return s.lowVersion.version }),
		"low_version_release": text(func(s *bucketSum) string { return s.lowVersion.release }),
		"top_key":             column(rows, func(s *bucketSum) []byte { return s.topVersion.key }),
		"top_release_key":     text(func(s *bucketSum) string { return s.topVersion.releaseKey }),
		"top_version":         text(func(s *bucketSum) string { return s.topVersion.version }),
		"top_version_release": text(func(s *bucketSum) string { return s.topVersion.release }),
		"low_seen_key":        text(func(s *bucketSum) string { return s.lowRelease.key }),
		"low_release":         text(func(s *bucketSum) string { return s.lowRelease.release }),
		"top_seen_key":        text(func(s *bucketSum) string { return s.topRelease.key }),
		"top_release":         text(func(s *bucketSum) string { return s.topRelease.release }),
	}
}

const (
	sqlSpans = `
		select s.release, s.system, s.from_day, s.until_day
		from unnest(@release::text[], @system::bigint[]) as m (release, system)
			join release_systems as s on s.release = m.release and s.system = m.system
		order by s.release, s.system, s.from_day`
	sqlDropSpans = `
		delete from release_systems as s
		using unnest(@release::text[], @system::bigint[], @from::date[]) as m (release, system, from_day)
		where s.release = m.release and s.system = m.system and s.from_day = m.from_day`
	// sqlPutSpans updates the row of a span if only its end has changed.
	sqlPutSpans = `
		insert into release_systems as s (release, system, from_day, until_day)
		select * from unnest(@release::text[], @system::bigint[], @from::date[], @until::date[])
		on conflict (release, system, from_day) do update set until_day = excluded.until_day`
	// sqlShareSpans marks the spans of machines that have spans in several releases.
	sqlShareSpans = `
		update release_systems as s set shared = true
		where s.system = any(@system::bigint[]) and not s.shared
			and exists (select from release_systems as o where o.system = s.system and o.release <> s.release)`
	sqlChangeActive = `
		insert into release_active as a (release, day, change)
		select * from unnest(@release::text[], @day::date[], @change::bigint[])
		on conflict (release, day) do update set change = a.change + excluded.change`
)

// activeDays is the number of days for which a machine counts as active, starting with the day of
// its report. The existing service also counts a user for 90 days.
const activeDays = 90

type (
	// machine identifies a machine during its time on one release.
	machine struct {
		release string
		system  int64
	}
	// daySpan is a range of days on which a machine is active, inclusive at both ends.
	daySpan struct{ from, until time.Time }
	spanRow struct {
		machine
		daySpan
	}
	activeDay struct {
		release string
		day     time.Time
	}
)

// mergeDays extends the spans of one machine by the days on which it sent reports. It expects and
// returns sorted spans with at least one day between any two of them.
func mergeDays(spans []daySpan, days []time.Time) []daySpan {
	all := slices.Clone(spans)
	for _, d := range days {
		all = append(all, daySpan{d, d.AddDate(0, 0, activeDays-1)})
	}
	slices.SortFunc(all, func(a, b daySpan) int { return a.from.Compare(b.from) })
	merged := all[:0]
	for _, s := range all {
		if last := len(merged) - 1; last >= 0 && !s.from.After(merged[last].until.AddDate(0, 0, 1)) {
			if s.until.After(merged[last].until) {
				merged[last].until = s.until
			}
			continue
		}
		merged = append(merged, s)
	}
	return merged
}

// countActive records the days on which the machines of a round are active, and queues the
// statements that write them. For most machines nothing changes, so nothing is written. It returns
// the last span of each machine that changed, for the cache.
func (c *roundSum) countActive(ctx context.Context, tx pgx.Tx, write *pgx.Batch) (map[cachedMachine]cachedSpan, error) {
	if len(c.active) == 0 {
		return nil, nil
	}
	machines := keysOf(c.active)
	stored, err := readSpans(ctx, tx, machines)
	if err != nil {
		return nil, err
	}
	changes := newSpanChanges()
	last := make(map[cachedMachine]cachedSpan, len(machines))
	for _, m := range machines {
		after := mergeDays(stored[m], c.active[m])
		changes.add(m, stored[m], after)
		end := after[len(after)-1]
		last[newCachedMachine(m)] = cachedSpan{dayNumber(end.from), dayNumber(end.until)}
	}
	changes.queue(write)
	return last, nil
}

// readSpans reads the spans of machines, sorted.
func readSpans(ctx context.Context, tx pgx.Tx, machines []machine) (map[machine][]daySpan, error) {
	stored := map[machine][]daySpan{}
	var row spanRow
	err := Each(ctx, tx, sqlSpans, pgx.NamedArgs{
		"release": column(machines, func(m machine) string { return m.release }),
		"system":  column(machines, func(m machine) int64 { return m.system }),
	}, []any{&row.release, &row.system, &row.from, &row.until}, func() {
		stored[row.machine] = append(stored[row.machine], daySpan{row.from.UTC(), row.until.UTC()})
	})
	return stored, err
}

// spanChanges holds changes of release_systems, and those of release_active that follow.
type spanChanges struct {
	drop, put []spanRow
	systems   []int64             // machines without a span in one of their releases until now
	active    map[activeDay]int64 // change in the number of active machines, from that day on
}

func newSpanChanges() *spanChanges { return &spanChanges{active: map[activeDay]int64{}} }

// add replaces the spans of a machine.
func (c *spanChanges) add(m machine, before, after []daySpan) {
	if len(before) == 0 {
		c.systems = append(c.systems, m.system)
	}
	for _, s := range before {
		if slices.Contains(after, s) {
			continue
		}
		c.active[activeDay{m.release, s.from}]--
		c.active[activeDay{m.release, s.until.AddDate(0, 0, 1)}]++
		if !slices.ContainsFunc(after, func(n daySpan) bool { return n.from.Equal(s.from) }) {
			c.drop = append(c.drop, spanRow{m, s})
		}
	}
	for _, s := range after {
		if slices.Contains(before, s) {
			continue
		}
		c.active[activeDay{m.release, s.from}]++
		c.active[activeDay{m.release, s.until.AddDate(0, 0, 1)}]--
		c.put = append(c.put, spanRow{m, s})
	}
}

// queue queues the statements that write the changes.
func (c *spanChanges) queue(write *pgx.Batch) {
	args := func(rows []spanRow) pgx.NamedArgs {
		return pgx.NamedArgs{
			"release": column(rows, func(r spanRow) string { return r.release }),
			"system":  column(rows, func(r spanRow) int64 { return r.system }),
			"from":    column(rows, func(r spanRow) time.Time { return r.from }),
			"until":   column(rows, func(r spanRow) time.Time { return r.until }),
		}
	}
	write.Queue(sqlDropSpans, args(c.drop))
	write.Queue(sqlPutSpans, args(c.put))
	write.Queue(sqlShareSpans, pgx.NamedArgs{"system": c.systems})
	days := slices.DeleteFunc(keysOf(c.active), func(d activeDay) bool { return c.active[d] == 0 })
	write.Queue(sqlChangeActive, pgx.NamedArgs{
		"release": column(days, func(d activeDay) string { return d.release }),
		"day":     column(days, func(d activeDay) time.Time { return d.day }),
		"change":  column(days, func(d activeDay) int64 { return c.active[d] }),
	})
}

// maxCachedSpans is the maximum number of machines whose last span is cached, at about 30 bytes
// each.
const maxCachedSpans = 1 << 17

type (
	// cachedSpans caches the last stored span of machines. Spans shrink only when a machine is erased,
	// which ends the validity of the cache. So a cached span never covers too much.
	cachedSpans struct {
		rowCache[cachedMachine, cachedSpan]
	}
	cachedMachine struct {
		release unique.Handle[string]
		system  int64
	}
	cachedSpan struct{ from, until int32 } // days since 1970
)

func newCachedMachine(m machine) cachedMachine {
	return cachedMachine{unique.Make(m.release), m.system}
}

func dayNumber(day time.Time) int32 {
	return int32(day.Unix() / (24 * 60 * 60)) //nolint:gosec // in range for millions of years
}

// covers reports whether a cached span already covers all days on which a report of that day makes
// the machine active.
func (c *cachedSpans) covers(server serverID, m machine, day time.Time) bool {
	span, ok := c.find(server, newCachedMachine(m))
	n := dayNumber(day)
	return ok && span.from <= n && n+activeDays-1 <= span.until
}
