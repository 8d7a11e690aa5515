package db

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
)

// move is a report and the bucket it moves to.
type move struct {
	id       crash.OopsID
	to       *crash.BucketID // nil for no bucket
	grouping crash.Grouping  // new result of the rules; unchanged if a split moves the report
}

// movedReport holds the properties of a moved report that counts depend on.
type movedReport struct {
	from, to     *crash.BucketID
	counted      bool
	day          time.Time
	received     time.Time
	occurred     time.Time
	system       *int64
	release      string
	version      string
	architecture string
	of           string // architecture of the package
	proposed     bool
	summary      crash.Summary
}

// seen returns the time of the occurrence.
func (r movedReport) seen() time.Time {
	if !r.occurred.IsZero() && r.occurred.UTC().Truncate(24*time.Hour).Equal(r.day) {
		return r.occurred
	}
	return r.received
}

const (
	sqlReportsToMove = `
		select r.id, r.bucket_id, r.counted, r.day, r.received, r.occurred, r.system_key, r.release, r.version,
			r.architecture, r.package_architecture, r.proposed,
			r.problem_type, r.title, r.executable, r.package, r.source_package
		from unnest(@ids::uuid[], @received::timestamptz[]) as m (id, received)
			join reports as r on r.received = m.received and r.id = m.id
		order by r.received, r.id for update of r`
	sqlMoveReports = `
		update reports as r set bucket_id = m.bucket_id, rule = m.rule, unbucketed = m.unbucketed,
			rules = greatest(r.rules, @rules)
		from unnest(@ids::uuid[], @received::timestamptz[], @buckets::bytea[], @rule::text[], @unbucketed::text[])
			as m (id, received, bucket_id, rule, unbucketed)
		where r.received = m.received and r.id = m.id`
	// sqlKeepEmbargo embargoes buckets that get reports of embargoed problems.
	sqlKeepEmbargo = `
		insert into embargoes (bucket_id, person, reason, at)
		select distinct m.target, '', 'Reports of an embargoed problem moved here.', @at::timestamptz
		from unnest(@from::bytea[], @to::bytea[]) as m (source, target)
			join buckets as s on s.id = m.source join buckets as o on o.head = s.head
			join embargoes as e on e.bucket_id = o.id and e.lifted_at is null
		where not exists (
			select from buckets as t join buckets as u on u.head = t.head
				join embargoes as x on x.bucket_id = u.id and x.lifted_at is null
			where t.id = m.target
		)
		on conflict do nothing`
	// sqlKeepHold holds buckets that get reports of held problems.
	sqlKeepHold = `
		insert into holds (bucket_id, person, reason, at)
		select distinct m.target, '', 'Reports of a held problem moved here.', @at::timestamptz
		from unnest(@from::bytea[], @to::bytea[]) as m (source, target)
			join buckets as s on s.id = m.source join buckets as o on o.head = s.head
			join holds as h on h.bucket_id = o.id and h.lifted_at is null
		where m.target is not null and not exists (
			select from buckets as t join buckets as u on u.head = t.head
				join holds as x on x.bucket_id = u.id and x.lifted_at is null
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
	ids, received := make([][16]byte, len(moves)), make([]time.Time, len(moves))
	byID := map[crash.OopsID]move{}
	for i, m := range moves {
		ids[i], received[i], byID[m.id] = m.id, m.id.Received(), m
	}
	reports, err := d.reportsToMove(ctx, ids, received)
	if err != nil {
		return 0, fmt.Errorf("reports to move: %w", err)
	}
	var change countChange
	var rows reportRows
	var from, to [][]byte
	for id, r := range reports {
		m := byID[id]
		if r.to = m.to; sameBucket(r.from, r.to) {
			continue
		}
		if r.to != nil {
			if err := d.ensureBucket(ctx, *r.to, m.grouping, r.summary); err != nil {
				return 0, err
			}
		}
		change.add(r)
		rows.add(id, m)
		if r.from != nil && r.to != nil {
			from, to = append(from, r.from[:]), append(to, r.to[:])
		}
	}
	if len(rows.ids) == 0 {
		return 0, nil
	}
	if _, err := d.Exec(ctx, sqlMoveReports, pgx.NamedArgs{
		"ids": rows.ids, "received": rows.received, "buckets": rows.buckets, "rule": rows.rule, "unbucketed": rows.unbucketed,
		"rules": rules,
	}); err != nil {
		return 0, fmt.Errorf("move reports: %w", err)
	}
	if _, err := d.Exec(ctx, sqlKeepEmbargo, pgx.NamedArgs{"from": from, "to": to, "at": d.store.Now()}); err != nil {
		return 0, fmt.Errorf("keep embargoes: %w", err)
	}
	if _, err := d.Exec(ctx, sqlKeepHold, pgx.NamedArgs{"from": from, "to": to, "at": d.store.Now()}); err != nil {
		return 0, fmt.Errorf("keep holds: %w", err)
	}
	return len(rows.ids), d.apply(ctx, &change)
}

func sameBucket(a, b *crash.BucketID) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// reportRows holds the arguments of sqlMoveReports.
type reportRows struct {
	ids              [][16]byte
	received         []time.Time
	buckets          [][]byte
	rule, unbucketed []string
}

func (r *reportRows) add(id crash.OopsID, m move) {
	r.ids = append(r.ids, id)
	r.received = append(r.received, id.Received())
	var bucket []byte
	if m.to != nil {
		bucket = slices.Clone(m.to[:])
	}
	r.buckets = append(r.buckets, bucket)
	r.rule = append(r.rule, string(m.grouping.Rule))
	r.unbucketed = append(r.unbucketed, m.grouping.Reason)
}

func (d *deciding) reportsToMove(ctx context.Context, ids [][16]byte,
	received []time.Time) (map[crash.OopsID]movedReport, error) {
	rows, err := d.Query(ctx, sqlReportsToMove, pgx.NamedArgs{"ids": ids, "received": received})
	if err != nil {
		return nil, err
	}
	found := map[crash.OopsID]movedReport{}
	var id [16]byte
	for rows.Next() {
		var r movedReport
		var from []byte
		if err := rows.Scan(&id, &from, &r.counted, &r.day, &r.received, OrZero(&r.occurred), &r.system, &r.release,
			&r.version, &r.architecture, &r.of, &r.proposed, &r.summary.ProblemType, &r.summary.Title,
			&r.summary.Executable, &r.summary.Package, &r.summary.SourcePackage); err != nil {
			return nil, err
		}
		if from != nil {
			r.from = (*crash.BucketID)(from)
		}
		r.day = r.day.UTC()
		found[id] = r
	}
	return found, rows.Err()
}

// ensureBucket creates a bucket unless it exists.
func (d *deciding) ensureBucket(ctx context.Context, id crash.BucketID, g crash.Grouping, s crash.Summary) error {
	_, err := d.Exec(ctx, sqlNewBucket, pgx.NamedArgs{
		"id": id[:], "signature": g.Signature, "rule": string(g.Rule), "provisional": g.Provisional,
		"problem_type": s.ProblemType, "title": s.Title, "executable": s.Executable, "package": s.Package,
		"source_package": s.SourcePackage, "round": d.round,
	})
	if err != nil {
		return fmt.Errorf("new bucket %s: %w", id, err)
	}
	return nil
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

// countChange holds what moving reports adds to counts and subtracts from them.
type countChange struct {
	buckets  map[crash.BucketID]int64
	versions map[cell]int64
	systems  map[systemCell]int64
	days     map[dayCell]dayCount
	seen     map[bucketRelease]*seenChange
	shrinks  map[crash.BucketID]bool // buckets that lose counted reports
	keys     sortKeys
}

// seenChange holds the occurrences that a bucket gains and loses in one release.
type seenChange struct{ came, went crash.SeenSpan }

func (c *countChange) add(r movedReport) {
	if c.buckets == nil {
		*c = countChange{
			buckets: map[crash.BucketID]int64{}, versions: map[cell]int64{}, systems: map[systemCell]int64{},
			days: map[dayCell]dayCount{},
			seen: map[bucketRelease]*seenChange{}, shrinks: map[crash.BucketID]bool{}, keys: newSortKeys(),
		}
	}
	if r.from != nil {
		c.count(*r.from, r, -1)
		if r.counted {
			c.shrinks[*r.from] = true
			c.seenOf(*r.from, r.release).went.Add(newOccurrence(r.seen(), r.version))
		}
	}
	if r.to != nil {
		c.count(*r.to, r, 1)
		if r.counted {
			c.seenOf(*r.to, r.release).came.Add(newOccurrence(r.seen(), r.version))
		}
	}
}

func (c *countChange) seenOf(bucket crash.BucketID, release string) *seenChange {
	key := bucketRelease{bucket, release}
	if c.seen[key] == nil {
		c.seen[key] = &seenChange{}
	}
	return c.seen[key]
}

func (c *countChange) count(bucket crash.BucketID, r movedReport, n int64) {
	if !r.counted {
		c.buckets[bucket] += 0 // counts stay the same, but the bucket changes
		return
	}
	at := cell{bucket, r.release, r.version}
	c.buckets[bucket] += n
	c.versions[at] += n
	if r.system != nil {
		c.systems[systemCell{at, *r.system}] += n
	}
	day := dayCell{at, r.day, r.architecture, r.of}
	count := c.days[day]
	count.reports += n
	if r.proposed {
		count.proposed += n
	}
	c.days[day] = count
}

func compareCells(a, b cell) int {
	return cmp.Or(slices.Compare(a.bucket[:], b.bucket[:]), strings.Compare(a.release, b.release),
		strings.Compare(a.version, b.version))
}
