package db

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/version"
)

// These statements delete rows whose count falls to zero. Each group subtracts before it adds, and
// changes rows in the order of their keys. No counting round runs meanwhile.
const (
	sqlSystemsThere = `
		select distinct s.bucket_id, s.system, s.release, s.version
		from (select distinct * from unnest(@bucket::bytea[], @system::bigint[]) as k (bucket_id, system)) as k
			join bucket_systems as s on s.bucket_id = k.bucket_id and s.system = k.system`
	sqlDropSystems = `
		delete from bucket_systems as s
		using unnest(@bucket::bytea[], @system::bigint[], @release::text[], @version::text[], @n::bigint[])
			as c (bucket_id, system, release, version, n)
		where s.bucket_id = c.bucket_id and s.system = c.system and s.release = c.release and s.version = c.version
			and s.reports + c.n <= 0`
	sqlTakeSystems = `
		update bucket_systems as s set reports = s.reports + c.n
		from unnest(@bucket::bytea[], @system::bigint[], @release::text[], @version::text[], @n::bigint[])
			as c (bucket_id, system, release, version, n)
		where c.n < 0 and s.bucket_id = c.bucket_id and s.system = c.system
			and s.release = c.release and s.version = c.version`
	sqlAddSystems = `
		insert into bucket_systems as s (bucket_id, system, release, version, reports)
		select * from unnest(@bucket::bytea[], @system::bigint[], @release::text[], @version::text[], @n::bigint[])
			as c (bucket_id, system, release, version, n) where n > 0
		on conflict (bucket_id, system, release, version) do update set reports = s.reports + excluded.reports`
	sqlDropTravellers = `
		delete from bucket_travellers as t
		using unnest(@bucket::bytea[], @system::bigint[], @version::text[]) as c (bucket_id, system, version)
		where t.bucket_id = c.bucket_id and t.version = c.version and t.system = c.system`
	sqlAddTravellers = `
		insert into bucket_travellers (bucket_id, version, system, extra)
		select s.bucket_id, s.version, s.system, count(*) - 1
		from (
			select distinct *
			from unnest(@bucket::bytea[], @system::bigint[], @version::text[]) as k (bucket_id, system, version)
		) as k join bucket_systems as s on s.bucket_id = k.bucket_id and s.system = k.system and s.version = k.version
		group by s.bucket_id, s.version, s.system having count(*) > 1`

	sqlDropVersions = `
		delete from bucket_versions as v
		using unnest(@bucket::bytea[], @release::text[], @version::text[], @n::bigint[])
			as c (bucket_id, release, version, n)
		where v.bucket_id = c.bucket_id and v.release = c.release and v.version = c.version and v.reports + c.n <= 0`
	sqlTakeVersions = `
		update bucket_versions as v set reports = v.reports + c.n, systems = v.systems + c.systems
		from unnest(@bucket::bytea[], @release::text[], @version::text[], @n::bigint[], @systems::bigint[])
			as c (bucket_id, release, version, n, systems)
		where c.n <= 0 and v.bucket_id = c.bucket_id and v.release = c.release and v.version = c.version`

	sqlDropDays = `
		delete from bucket_days as d
		using unnest(@bucket::bytea[], @day::date[], @release::text[], @version::text[], @architecture::text[],
				@of::text[], @n::bigint[])
			as c (bucket_id, day, release, version, architecture, package_architecture, n)
		where d.bucket_id = c.bucket_id and d.day = c.day and d.release = c.release and d.version = c.version
			and d.architecture = c.architecture and d.package_architecture = c.package_architecture and d.reports + c.n <= 0`
	sqlTakeDays = `
		update bucket_days as d set reports = d.reports + c.n, proposed = d.proposed + c.proposed, changed = @round
		from unnest(@bucket::bytea[], @day::date[], @release::text[], @version::text[], @architecture::text[],
				@of::text[], @n::bigint[], @proposed::bigint[])
			as c (bucket_id, day, release, version, architecture, package_architecture, n, proposed)
		where c.n <= 0 and d.bucket_id = c.bucket_id and d.day = c.day and d.release = c.release and d.version = c.version
			and d.architecture = c.architecture and d.package_architecture = c.package_architecture`
)

// apply writes a change of counts to the database.
func (d *deciding) apply(ctx context.Context, c *countChange) error {
	machines, cells, err := d.applySystems(ctx, c)
	if err != nil {
		return fmt.Errorf("move machines: %w", err)
	}
	if err := d.applyVersions(ctx, c, cells); err != nil {
		return fmt.Errorf("move versions: %w", err)
	}
	if err := d.applyDays(ctx, c); err != nil {
		return fmt.Errorf("move days: %w", err)
	}
	if err := d.applySeen(ctx, c); err != nil {
		return fmt.Errorf("move first and last seen: %w", err)
	}
	if err := c.bodies.apply(ctx, d); err != nil {
		return fmt.Errorf("move bodies: %w", err)
	}
	for _, id := range slices.SortedFunc(maps.Keys(c.buckets), compareIDs) {
		if err := d.applyBucket(ctx, c, id, machines[id]); err != nil {
			return fmt.Errorf("move counts of %s: %w", id, err)
		}
	}
	return nil
}

func compareIDs(a, b crash.BucketID) int { return slices.Compare(a[:], b[:]) }

// applySystems updates the counts by machine. It returns by how much the number of distinct
// machines changes, for each bucket and for each cell.
func (d *deciding) applySystems(ctx context.Context, c *countChange) (map[crash.BucketID]int64, map[cell]int64, error) {
	machines, cells := map[crash.BucketID]int64{}, map[cell]int64{}
	keys := slices.SortedFunc(maps.Keys(c.systems), func(a, b systemCell) int {
		return cmp.Or(slices.Compare(a.bucket[:], b.bucket[:]), cmp.Compare(a.system, b.system), compareCells(a.cell, b.cell))
	})
	args := c.systemArgs(keys)
	// Count the cells and buckets of each machine before and after the change. A machine is in a
	// bucket if it is in any of its cells.
	for _, sign := range []int64{-1, 1} {
		in := map[systemCell]bool{}
		var at systemCell
		if err := Each(ctx, d, sqlSystemsThere, args, []any{&at.bucket, &at.system, &at.release, &at.version},
			func() {
				cells[at.cell] += sign
				if whole := (systemCell{cell{bucket: at.bucket}, at.system}); !in[whole] {
					in[whole] = true
					machines[at.bucket] += sign
				}
			}); err != nil {
			return nil, nil, err
		}
		if sign > 0 {
			break
		}
		if err := Exec(ctx, d, args, sqlDropSystems, sqlTakeSystems, sqlAddSystems, sqlDropTravellers,
			sqlAddTravellers); err != nil {
			return nil, nil, err
		}
	}
	return machines, cells, nil
}

func column[K, V any](keys []K, value func(K) V) []V {
	values := make([]V, len(keys))
	for i, k := range keys {
		values[i] = value(k)
	}
	return values
}

func (d *deciding) applyVersions(ctx context.Context, c *countChange, systems map[cell]int64) error {
	keys := slices.SortedFunc(maps.Keys(c.versions), compareCells)
	args := c.versionArgs(keys, systems)
	return Exec(ctx, d, args, sqlDropVersions, sqlTakeVersions, sqlCountVersions)
}

func (d *deciding) applyDays(ctx context.Context, c *countChange) error {
	keys := slices.SortedFunc(maps.Keys(c.days), func(a, b dayCell) int {
		return cmp.Or(slices.Compare(a.bucket[:], b.bucket[:]), a.day.Compare(b.day), compareCells(a.cell, b.cell),
			cmp.Compare(a.architecture, b.architecture), cmp.Compare(a.of, b.of))
	})
	args := c.dayArgs(keys, d.round)
	return Exec(ctx, d, args, sqlDropDays, sqlTakeDays, sqlCountDays)
}

const (
	sqlCellsOfBucket  = `select release, version, version_key from bucket_versions where bucket_id = @id`
	sqlCountsOfBucket = `
		update buckets set reports = reports + @n, systems = systems + @systems,
			first_version = case when @low_key::bytea is not null then
				row(@low_key::bytea, @low_release_key::text, @low_version::text, @low_version_release::text)::version_seen
			end,
			last_version = case when @top_key::bytea is not null then
				row(@top_key::bytea, @top_release_key::text, @top_version::text, @top_version_release::text)::version_seen
			end,
			first_release = case when @low_release::text <> '' then
				row(@low_seen_key::text, @low_release::text)::release_seen
			end,
			last_release = case when @top_release::text <> '' then
				row(@top_seen_key::text, @top_release::text)::release_seen
			end,
			changed = @round, shrunk = case when @shrinks then @round else shrunk end
		where id = @id`
)

// applyBucket updates the row of a bucket. The rows of its versions and days must be up to date.
func (d *deciding) applyBucket(ctx context.Context, c *countChange, id crash.BucketID, systems int64) error {
	seen, err := d.seenRange(ctx, id)
	if err != nil {
		return err
	}
	return Exec(ctx, d, pgx.NamedArgs{
		"id": id[:], "n": c.buckets[id], "systems": systems, "round": d.round, "shrinks": c.shrinks[id],
		"low_key": seen.lowVersion.key, "low_release_key": seen.lowVersion.releaseKey,
		"low_version": seen.lowVersion.version, "low_version_release": seen.lowVersion.release,
		"top_key": seen.topVersion.key, "top_release_key": seen.topVersion.releaseKey,
		"top_version": seen.topVersion.version, "top_version_release": seen.topVersion.release,
		"low_seen_key": seen.lowRelease.key, "low_release": seen.lowRelease.release,
		"top_seen_key": seen.topRelease.key, "top_release": seen.topRelease.release,
	}, sqlCountsOfBucket)
}

// seenRange returns the first and the last version and release of a bucket, according to the rows of
// its versions.
func (d *deciding) seenRange(ctx context.Context, id crash.BucketID) (seen seenRange, err error) {
	var at versionSeen
	err = Each(ctx, d, sqlCellsOfBucket, pgx.NamedArgs{"id": id[:]}, []any{&at.release, &at.version, &at.key},
		func() {
			at.releaseKey = crash.Release(at.release).Key()
			seen.widen(at)
		})
	return seen, err
}

// move is a report and the bucket it moves to.
type move struct {
	id       crash.OopsID
	to       *crash.BucketID // nil for no bucket
	grouping crash.Grouping  // new result of the rules; unchanged if a split moves the report
}

const (
	sqlReportsToMove = `
		select ` + storedColumns + ` from unnest(@ids::uuid[], @received::timestamptz[]) as m (id, received)
			join reports as r on ` + AmongReports + `
		order by r.received, r.id for update of r`
	sqlMoveReports = `
		update reports as r set bucket_id = m.bucket_id, rule = m.rule, unbucketed = m.unbucketed,
			rules = greatest(r.rules, @rules)
		from unnest(@ids::uuid[], @received::timestamptz[], @buckets::bytea[], @rule::text[], @unbucketed::text[])
			as m (id, received, bucket_id, rule, unbucketed)
		where ` + AmongReports
	// sqlCopyRestrictions embargoes or holds buckets that get reports of embargoed or held problems.
	sqlCopyRestrictions = `
		insert into marks (bucket_id, kind, person, reason, at)
		select distinct m.target, e.kind, '', case e.kind when 'hold' then 'Reports of a held problem moved here.'
			else 'Reports of an embargoed problem moved here.' end, @at::timestamptz
		from unnest(@from::bytea[], @to::bytea[]) as m (source, target)
			join buckets as s on s.id = m.source join buckets as o on o.head = s.head
			join marks as e on e.bucket_id = o.id and e.kind in ('embargo', 'hold') and e.undone_at is null
		where m.target is not null and not exists (
			select from buckets as t join buckets as u on u.head = t.head
				join marks as x on x.bucket_id = u.id and x.kind = e.kind and x.undone_at is null
			where t.id = m.target
		)
		on conflict do nothing`
	sqlNewBucket = `
		insert into buckets (
			id, head, signature, rule, provisional, problem_type, title, executable, package, source_package, changed)
		values (
			@id, @id, @signature, @rule, @provisional, @problem_type, @title, @executable, @package, @source_package, @round)
		on conflict (id) do nothing`
)

// moveReports moves counted reports to other buckets, and their counts with them. Afterwards every
// count is as exact as if the reports had always been there. It creates missing buckets with the
// signature of the grouping. It returns how many reports changed buckets: it skips those that no
// longer exist or are there already.
func (d *deciding) moveReports(ctx context.Context, moves []move, rules int) (moved int, err error) {
	if len(moves) == 0 {
		return 0, nil
	}
	byID := map[crash.OopsID]move{}
	for _, m := range moves {
		byID[m.id] = m
	}
	reports, err := d.reportsToMove(ctx, keysOf(byID))
	if err != nil {
		return 0, fmt.Errorf("reports to move: %w", err)
	}
	change := newCountChange()
	var rows reportRows
	var from, to [][]byte
	for i := range reports {
		r := &reports[i]
		m := byID[r.id]
		if sameBucket(r.bucket, m.to) {
			continue
		}
		if m.to != nil {
			if err := d.ensureBucket(ctx, *m.to, m.grouping, r.Summary); err != nil {
				return 0, err
			}
		}
		change.move(r, m.to)
		rows.add(r.id, m)
		if r.bucket != nil && m.to != nil {
			from, to = append(from, r.bucket[:]), append(to, m.to[:])
		}
	}
	if len(rows.ids) == 0 {
		return 0, nil
	}
	args := rows.args()
	args["rules"] = rules
	if _, err := Planned(ctx, d, sqlMoveReports, args); err != nil {
		return 0, fmt.Errorf("move reports: %w", err)
	}
	if _, err := d.Exec(ctx, ShareHolds); err != nil {
		return 0, fmt.Errorf("lock holds: %w", err)
	}
	if _, err := d.Exec(ctx, sqlCopyRestrictions, pgx.NamedArgs{"from": from, "to": to, "at": d.store.Now()}); err != nil {
		return 0, fmt.Errorf("copy embargoes and holds: %w", err)
	}
	return len(rows.ids), d.apply(ctx, change)
}

func sameBucket(a, b *crash.BucketID) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// reportRows holds the arguments of sqlMoveReports.
type reportRows struct {
	ids              []crash.OopsID
	buckets          []*crash.BucketID
	rule, unbucketed []string
}

func (r *reportRows) add(id crash.OopsID, m move) {
	r.ids = append(r.ids, id)
	r.buckets = append(r.buckets, m.to)
	r.rule = append(r.rule, string(m.grouping.Rule))
	r.unbucketed = append(r.unbucketed, m.grouping.Reason)
}

func (r *reportRows) args() pgx.NamedArgs {
	args := ReportsArgs(r.ids)
	args["buckets"], args["rule"], args["unbucketed"] = r.buckets, r.rule, r.unbucketed
	return args
}

func (d *deciding) reportsToMove(ctx context.Context, ids []crash.OopsID) ([]storedReport, error) {
	return List(ctx, d, sqlReportsToMove, ReportsArgs(ids), scanStored)
}

// ensureBucket creates a bucket unless it exists.
func (d *deciding) ensureBucket(ctx context.Context, id crash.BucketID, g crash.Grouping, s crash.Summary) error {
	_, err := d.Exec(ctx, sqlNewBucket, pgx.NamedArgs{
		"id": id[:], "signature": g.Signature, "rule": string(g.Rule), "provisional": g.Provisional,
		"problem_type": s.ProblemType, "title": s.Title, "executable": s.Executable, "package": s.Package,
		"source_package": s.SourcePackage, "round": d.round,
	})
	return Wrap(err, "new bucket %s", id)
}

// cell identifies a count of a bucket: that of one version in one release.
type cell struct {
	bucket           crash.BucketID
	release, version string
}

type systemCell struct {
	cell
	system int64
}

type dayCell struct {
	cell
	day          time.Time
	architecture string
	of           string // architecture of the package
}

type dayCount struct{ reports, proposed int64 }

// cellCounts holds what is added to the counts of buckets, or subtracted from them.
type cellCounts struct {
	versions map[cell]int64
	systems  map[systemCell]int64
	days     map[dayCell]dayCount
	keys     sortKeys
}

func newCellCounts() cellCounts {
	return cellCounts{map[cell]int64{}, map[systemCell]int64{}, map[dayCell]dayCount{}, newSortKeys()}
}

// add adds n times a report to the counts of a bucket.
func (c *cellCounts) add(bucket crash.BucketID, r *storedReport, n int64) {
	at := cell{bucket, string(r.Release), r.Version}
	c.versions[at] += n
	if r.system != nil {
		c.systems[systemCell{at, *r.system}] += n
	}
	day := dayCell{at, r.day, r.Architecture, r.PackageArchitecture}
	count := c.days[day]
	count.reports += n
	if r.Proposed {
		count.proposed += n
	}
	c.days[day] = count
}

func (c *cellCounts) systemArgs(keys []systemCell) pgx.NamedArgs {
	return pgx.NamedArgs{
		"bucket":  column(keys, func(k systemCell) []byte { return k.bucket[:] }),
		"system":  column(keys, func(k systemCell) int64 { return k.system }),
		"release": column(keys, func(k systemCell) string { return k.release }),
		"version": column(keys, func(k systemCell) string { return k.version }),
		"n":       column(keys, func(k systemCell) int64 { return c.systems[k] }),
	}
}

// versionArgs returns the arguments for rows of bucket_versions. systems says by how much the number of
// machines changes.
func (c *cellCounts) versionArgs(keys []cell, systems map[cell]int64) pgx.NamedArgs {
	return pgx.NamedArgs{
		"bucket":  column(keys, func(k cell) []byte { return k.bucket[:] }),
		"release": column(keys, func(k cell) string { return k.release }),
		"version": column(keys, func(k cell) string { return k.version }),
		"key":     column(keys, func(k cell) []byte { return c.keys.ofVersion(crash.Release(k.release), k.version) }),
		"n":       column(keys, func(k cell) int64 { return c.versions[k] }),
		"systems": column(keys, func(k cell) int64 { return systems[k] }),
	}
}

func (c *cellCounts) dayArgs(keys []dayCell, round int64) pgx.NamedArgs {
	return pgx.NamedArgs{
		"bucket":       column(keys, func(k dayCell) []byte { return k.bucket[:] }),
		"day":          column(keys, func(k dayCell) time.Time { return k.day }),
		"release":      column(keys, func(k dayCell) string { return k.release }),
		"version":      column(keys, func(k dayCell) string { return k.version }),
		"architecture": column(keys, func(k dayCell) string { return k.architecture }),
		"of":           column(keys, func(k dayCell) string { return k.of }),
		"n":            column(keys, func(k dayCell) int64 { return c.days[k].reports }),
		"proposed":     column(keys, func(k dayCell) int64 { return c.days[k].proposed }),
		"round":        round,
	}
}

// countChange holds what moving reports adds to counts and subtracts from them.
type countChange struct {
	cellCounts
	buckets map[crash.BucketID]int64
	bodies  bodyCounts
	seen    map[bucketRelease]*seenChange
	shrinks map[crash.BucketID]bool // buckets that lose counted reports
}

func newCountChange() *countChange {
	return &countChange{newCellCounts(), map[crash.BucketID]int64{}, bodyCounts{}, map[bucketRelease]*seenChange{},
		map[crash.BucketID]bool{}}
}

// seenChange holds the occurrences that a bucket gains and loses in one release.
type seenChange struct{ came, went crash.SeenSpan }

// move moves a report to another bucket, or nil for no bucket.
func (c *countChange) move(r *storedReport, to *crash.BucketID) {
	if r.bucket != nil {
		c.count(*r.bucket, r, -1)
		if r.counted {
			c.shrinks[*r.bucket] = true
			c.seenOf(*r.bucket, r.Release).went.Add(newOccurrence(r.seen, r.Version, r.Release))
		}
	}
	if to != nil {
		c.count(*to, r, 1)
		if r.counted {
			c.seenOf(*to, r.Release).came.Add(newOccurrence(r.seen, r.Version, r.Release))
		}
	}
}

func (c *countChange) seenOf(bucket crash.BucketID, release crash.Release) *seenChange {
	key := bucketRelease{bucket, string(release)}
	if c.seen[key] == nil {
		c.seen[key] = &seenChange{}
	}
	return c.seen[key]
}

func (c *countChange) count(bucket crash.BucketID, r *storedReport, n int64) {
	if !r.counted {
		c.buckets[bucket] += 0 // counts stay the same, but the bucket changes
		return
	}
	c.buckets[bucket] += n
	c.bodies.count(&bucket, r, n)
	c.add(bucket, r, n)
}

func compareCells(a, b cell) int {
	return cmp.Or(slices.Compare(a.bucket[:], b.bucket[:]), strings.Compare(a.release, b.release),
		strings.Compare(a.version, b.version))
}

const (
	sqlSeenRows = `
		select r.bucket_id, r.release, (r.first_seen).seen, (r.first_seen).version,
			(r.last_seen).seen, (r.last_seen).version
		from unnest(@bucket::bytea[], @release::text[]) as k (bucket_id, release)
			join bucket_releases as r on r.bucket_id = k.bucket_id and r.release = k.release`
	sqlVersionsOfSeen = `
		select v.bucket_id, v.release, v.version
		from unnest(@bucket::bytea[], @release::text[]) as k (bucket_id, release)
			join bucket_versions as v on v.bucket_id = k.bucket_id and v.release = k.release`
	sqlDropSeen = `
		delete from bucket_releases as r using unnest(@bucket::bytea[], @release::text[]) as k (bucket_id, release)
		where r.bucket_id = k.bucket_id and r.release = k.release`
	// sqlStoredEnds selects the oldest and the newest of the stored reports.
	sqlStoredEnds = `
		with stored as materialized (
			select release, version,
				case when (occurred at time zone 'UTC')::date = day then occurred else received end as seen
			from reports where bucket_id = @id and counted and release = any(@releases)
		), ends as (
			select release, min(seen) as first, max(seen) as last from stored group by release
		)
		select distinct s.release, s.seen, s.version
		from stored as s join ends as e on e.release = s.release and s.seen in (e.first, e.last)`
	// sqlDayEnds selects the first and the last day. Where retention has deleted old reports, days
	// reach back further than reports, also after they have expired.
	sqlDayEnds = `
		with days as materialized (
			select release, day, version from bucket_days where bucket_id = @id and release = any(@releases)
			union all select release, unnest(array[first_day, last_day]), version from bucket_expired
			where bucket_id = @id and release = any(@releases)
		), ends as materialized (
			select release, min(day) as first, max(day) as last from days group by release
		)
		select distinct d.release, d.day, d.version
		from days as d join ends as e on e.release = d.release and d.day in (e.first, e.last)`
)

// applySeen updates the rows of bucket_releases after reports have moved. The rows of versions and
// days must be up to date. It reads stored reports only for releases that have lost their oldest or
// newest report.
func (d *deciding) applySeen(ctx context.Context, c *countChange) error {
	touched := slices.SortedFunc(maps.Keys(c.seen), compareBucketReleases)
	args := pgx.NamedArgs{
		"bucket":  column(touched, func(k bucketRelease) []byte { return k.bucket[:] }),
		"release": column(touched, func(k bucketRelease) string { return k.release }),
	}
	rows, err := d.seenRows(ctx, args)
	if err != nil {
		return err
	}
	again := map[crash.BucketID][]string{} // releases that lost their oldest or newest report
	for _, key := range touched {
		change := c.seen[key]
		row := rows[key]
		switch {
		case row == nil:
			rows[key] = &change.came
		case touches(&change.went, row):
			again[key.bucket] = append(again[key.bucket], key.release)
		case !change.came.Empty():
			row.Add(change.came.First)
			row.Add(change.came.Last)
		}
	}
	for _, id := range slices.SortedFunc(maps.Keys(again), compareIDs) {
		if err := d.recomputeSeen(ctx, id, again[id], rows); err != nil {
			return err
		}
	}
	if err := d.addVersions(ctx, args, rows); err != nil {
		return err
	}
	if _, err := d.Exec(ctx, sqlDropSeen, args); err != nil {
		return err
	}
	touched = slices.DeleteFunc(touched, func(k bucketRelease) bool { return rows[k].Empty() })
	args = seenArgs(column(touched, func(k bucketRelease) *crash.SeenSpan { return rows[k] }), c.keys)
	args["bucket"] = column(touched, func(k bucketRelease) []byte { return k.bucket[:] })
	args["release"] = column(touched, func(k bucketRelease) string { return k.release })
	return Exec(ctx, d, args, sqlCountSeen)
}

// touches reports whether s contains the oldest or the newest report of a row.
func touches(s, row *crash.SeenSpan) bool {
	return !s.Empty() && (s.First.Compare(row.First) <= 0 || s.Last.Compare(row.Last) >= 0)
}

// seenRows reads rows of bucket_releases, without their lowest and highest versions.
func (d *deciding) seenRows(ctx context.Context, args pgx.NamedArgs) (map[bucketRelease]*crash.SeenSpan, error) {
	rows := map[bucketRelease]*crash.SeenSpan{}
	var key bucketRelease
	var row crash.SeenSpan
	err := Each(ctx, d, sqlSeenRows, args, []any{&key.bucket, &key.release, &row.First.At, &row.First.Version,
		&row.Last.At, &row.Last.Version}, func() {
		row.First.Release, row.Last.Release = crash.Release(key.release), crash.Release(key.release)
		rows[key] = new(row)
	})
	return rows, err
}

// addVersions sets the lowest and highest versions of rows from the counts by version. It empties
// rows without counts.
func (d *deciding) addVersions(ctx context.Context, args pgx.NamedArgs, rows map[bucketRelease]*crash.SeenSpan) error {
	counted := map[bucketRelease]bool{}
	for _, row := range rows {
		row.Versions = version.Range{}
	}
	var key bucketRelease
	var text string
	if err := Each(ctx, d, sqlVersionsOfSeen, args, []any{&key.bucket, &key.release, &text}, func() {
		counted[key] = true
		rows[key].Versions.Add(crash.Release(key.release).VersionOrder(), text)
	}); err != nil {
		return err
	}
	for key, row := range rows {
		if !counted[key] {
			*row = crash.SeenSpan{}
		}
	}
	return nil
}

// recomputeSeen sets the rows of some releases of a bucket from the stored reports. If the counts
// reach back or ahead further than the stored reports, it uses the day and the version of the
// counts. It then keeps the time of the old row if that is on the same day.
func (d *deciding) recomputeSeen(
	ctx context.Context, id crash.BucketID, releases []string, rows map[bucketRelease]*crash.SeenSpan,
) error {
	stored, err := d.endsBy(ctx, sqlStoredEnds, id, releases)
	if err != nil {
		return fmt.Errorf("oldest and newest reports: %w", err)
	}
	days, err := d.endsBy(ctx, sqlDayEnds, id, releases)
	if err != nil {
		return fmt.Errorf("first and last days: %w", err)
	}
	for _, release := range releases {
		key := bucketRelease{id, release}
		old, now := *rows[key], stored[release]
		if day, ok := days[release]; ok {
			if now.Empty() || day.First.At.Before(now.First.At.UTC().Truncate(24*time.Hour)) {
				now.First = day.First
				now.First.At = timeOnDay(day.First.At, old.First.At, old.Last.At)
			}
			if now.Last.At.IsZero() || day.Last.At.After(now.Last.At) {
				now.Last = day.Last
				now.Last.At = timeOnDay(day.Last.At, old.Last.At, old.First.At)
			}
		} else {
			now = crash.SeenSpan{}
		}
		*rows[key] = now
	}
	return nil
}

// timeOnDay returns the first of some times that is on the UTC day, or the start of the day.
func timeOnDay(day time.Time, times ...time.Time) time.Time {
	for _, at := range times {
		if at.UTC().Truncate(24 * time.Hour).Equal(day.UTC()) {
			return at
		}
	}
	return day
}

// endsBy runs a query for releases, times and versions. It returns the first and the last
// occurrence in each release.
func (d *deciding) endsBy(
	ctx context.Context, sql string, id crash.BucketID, releases []string,
) (map[string]crash.SeenSpan, error) {
	ends := map[string]crash.SeenSpan{}
	var release, text string
	var seen time.Time
	err := Each(ctx, d, sql, pgx.NamedArgs{"id": id[:], "releases": releases}, []any{&release, &seen, &text}, func() {
		sum := ends[release]
		sum.Add(newOccurrence(seen, text, crash.Release(release)))
		ends[release] = sum
	})
	return ends, err
}
