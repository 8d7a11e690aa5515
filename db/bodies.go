package db

import (
	"context"
	"encoding/binary"
	"hash/fnv"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/audit"
)

// With keep_bodies_per_problem, the body of a report is not stored if its bucket has enough of that month
// of arrival. The saver decides that before it stores the report; rounds record in bucket_bodies what is
// stored. Savers only read that table, so that those of several instances never wait for each other.

// bucketMonth identifies a row of bucket_bodies.
type bucketMonth struct {
	bucket crash.BucketID
	month  time.Time // first day, in UTC
}

func bucketMonthOf(bucket crash.BucketID, received time.Time) bucketMonth {
	return bucketMonth{bucket, monthOf(received).from}
}

func bucketMonthArgs(keys []bucketMonth) pgx.NamedArgs {
	return pgx.NamedArgs{
		"buckets": column(keys, func(k bucketMonth) []byte { return k.bucket[:] }),
		"months":  column(keys, func(k bucketMonth) time.Time { return k.month }),
	}
}

// noBody is the quality of a report without a body, so that lists need not read the body itself, which may be in an
// archive.
const noBody = -1

// maxCombinations limits the combinations of a bucket in a month, because machines may send any version.
const maxCombinations = 1000

// keptBodies says which reports of a bucket in a month have bodies.
type keptBodies struct {
	kept         int64
	slots        []byte // a bit for each
	combinations []byte // four for each
}

func (k *keptBodies) has(combination uint32) bool {
	for c := range slices.Chunk(k.combinations, 4) {
		if binary.BigEndian.Uint32(c) == combination {
			return true
		}
	}
	return len(k.combinations) >= 4*maxCombinations
}

// sampled is what decides whether the body of a report is stored.
type sampled struct {
	combination uint32 // hash of version, release and architecture
	machine     uint64 // hash of the machine, or of the report if the machine is unknown
}

func newSampled(s crash.Summary, system *int64, id crash.OopsID) sampled {
	h := fnv.New32a()
	for _, text := range []string{s.Version, string(s.Release), s.Architecture} {
		_, _ = h.Write(append([]byte(text), 0))
	}
	machine := binary.BigEndian.Uint64(id[8:])
	if system != nil {
		machine = uint64(*system) //nolint:gosec // all 64 bits
	}
	return sampled{h.Sum32(), machine}
}

// wants reports whether a body is stored under a limit: the first of each combination, half of the limit as
// they come, and then one for each of as many slots, which machines have by their hash. So a machine that
// crashes all the time cannot take the places of others.
func (k *keptBodies) wants(r sampled, limit int) bool {
	if k.kept < int64(limit+1)/2 || !k.has(r.combination) {
		return true
	}
	i, bit, ok := slotOf(r, limit)
	return ok && (i >= len(k.slots) || k.slots[i]&bit == 0)
}

// add adds a body.
func (k *keptBodies) add(r sampled, limit int) {
	if !k.has(r.combination) {
		k.combinations = binary.BigEndian.AppendUint32(k.combinations, r.combination)
	}
	if i, bit, ok := slotOf(r, limit); ok && k.kept >= int64(limit+1)/2 {
		if more := i + 1 - len(k.slots); more > 0 {
			k.slots = append(k.slots, make([]byte, more)...)
		}
		k.slots[i] |= bit
	}
	k.kept++
}

func slotOf(r sampled, limit int) (i int, bit byte, ok bool) {
	slots := uint64(limit / 2) //nolint:gosec // not negative
	if slots == 0 {
		return 0, 0, false
	}
	n := r.machine % slots
	return int(n / 8), 1 << (n % 8), true //nolint:gosec // below the limit
}

// merge adds what another one knows.
func (k *keptBodies) merge(o keptBodies) {
	k.kept = max(k.kept, o.kept)
	for i, bits := range o.slots {
		if i < len(k.slots) {
			k.slots[i] |= bits
		} else {
			k.slots = append(k.slots, bits)
		}
	}
	for c := range slices.Chunk(o.combinations, 4) {
		if !k.has(binary.BigEndian.Uint32(c)) {
			k.combinations = append(k.combinations, c...)
		}
	}
}

// isLimited is whether a report r counts in bucket_bodies.
const isLimited = `coalesce(r.counted and r.received >= (select bodies_since from counting), false)`

const sqlKeptBodies = `
	select c.bodies_since, b.bucket_id, b.month, b.kept, b.slots, b.combinations
	from counting as c left join (
		select b.* from unnest(@buckets::bytea[], @months::date[]) as m (bucket_id, month)
			join bucket_bodies as b on b.bucket_id = m.bucket_id and b.month = m.month
	) as b on true`

// readBodies is a queued sqlKeptBodies.
type readBodies struct {
	since time.Time // zero: the limit never applied
	of    map[bucketMonth]keptBodies
}

func (b *readBodies) queue(batch *pgx.Batch, keys []bucketMonth) {
	b.of = map[bucketMonth]keptBodies{}
	batch.Queue(sqlKeptBodies, bucketMonthArgs(keys)).Query(func(rows pgx.Rows) error {
		var bucket *crash.BucketID
		var month *time.Time
		var kept *int64
		var slots, combinations []byte
		_, err := pgx.ForEachRow(rows, []any{OrZero(&b.since), &bucket, &month, &kept, &slots, &combinations},
			func() error {
				if bucket != nil {
					b.of[bucketMonth{*bucket, month.UTC()}] = keptBodies{*kept, slots, combinations}
					slots, combinations = nil, nil
				}
				return nil
			})
		return err
	})
}

// bodyLimit decides which bodies this instance stores. Counting is a moment behind, so it remembers what it
// has decided about a bucket while reports of it are stored or not counted.
type bodyLimit struct {
	limit int // keep_bodies_per_problem; 0: none

	mu      sync.Mutex
	buckets map[bucketMonth]*usedBodies
}

type usedBodies struct {
	keptBodies
	uses int // batches that are not counted
}

// use returns the buckets and months of a batch, which are remembered until release.
func (l *bodyLimit) use(batch []*pendingReport) (keys []bucketMonth) {
	if l.limit == 0 {
		return nil
	}
	seen := map[bucketMonth]bool{}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range batch {
		if p.bucket == nil {
			continue
		}
		key := bucketMonthOf(*p.bucket, p.Received())
		if seen[key] {
			continue
		}
		seen[key], keys = true, append(keys, key)
		if l.buckets[key] == nil {
			l.buckets[key] = &usedBodies{}
		}
		l.buckets[key].uses++
	}
	return keys
}

func (l *bodyLimit) release(keys []bucketMonth) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, key := range keys {
		if used := l.buckets[key]; used.uses > 1 {
			used.uses--
		} else {
			delete(l.buckets, key)
		}
	}
}

// decide sets bodyless of new reports. A report that is saved again keeps what was decided.
func (l *bodyLimit) decide(fresh []*pendingReport, read readBodies) {
	if l.limit == 0 || read.since.IsZero() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, kept := range read.of {
		l.buckets[key].merge(kept)
	}
	for _, p := range fresh {
		if p.decided || p.bucket == nil || !p.Counted || p.Received().Before(read.since) {
			continue
		}
		used := l.buckets[bucketMonthOf(*p.bucket, p.Received())]
		r := newSampled(p.Summary, p.systemKey, p.ID)
		p.decided, p.bodyless = true, !p.commented && !used.wants(r, l.limit)
		if !p.bodyless {
			used.add(r, l.limit)
		}
	}
}

// bodyCount is what a round or a move adds to a row of bucket_bodies.
type bodyCount struct{ reports, kept int64 }

type bodyCounts map[bucketMonth]bodyCount

// count adds n times a report in a bucket; nil is none.
func (c bodyCounts) count(bucket *crash.BucketID, r *storedReport, n int64) {
	if !r.limited || bucket == nil {
		return
	}
	key := bucketMonthOf(*bucket, r.received)
	sum := c[key]
	sum.reports += n
	if r.full {
		sum.kept += n
	}
	c[key] = sum
}

func (c bodyCounts) args(keys []bucketMonth) pgx.NamedArgs {
	args := bucketMonthArgs(keys)
	args["reports"] = column(keys, func(k bucketMonth) int64 { return c[k].reports })
	args["kept"] = column(keys, func(k bucketMonth) int64 { return c[k].kept })
	return args
}

const (
	// sqlCountBodies replaces slots and combinations unless they are null or empty.
	sqlCountBodies = `
		insert into bucket_bodies as b (bucket_id, month, reports, kept, slots, combinations)
		select bucket_id, month, reports, kept, coalesce(slots, ''), coalesce(combinations, '')
		from unnest(@buckets::bytea[], @months::date[], @reports::bigint[], @kept::bigint[], @slots::bytea[],
			@combinations::bytea[]) as t (bucket_id, month, reports, kept, slots, combinations)
		order by bucket_id, month
		on conflict (bucket_id, month) do update set reports = b.reports + excluded.reports, kept = b.kept + excluded.kept,
			slots = case when excluded.slots = '' then b.slots else excluded.slots end,
			combinations = case when excluded.combinations = '' then b.combinations else excluded.combinations end`
	sqlDropBodies = `
		delete from bucket_bodies as b using unnest(@buckets::bytea[], @months::date[]) as m (bucket_id, month)
		where b.bucket_id = m.bucket_id and b.month = m.month and b.reports <= 0`
)

// countBodies queues the statement that records which bodies of a round are stored.
func (c *roundSum) countBodies(ctx context.Context, tx pgx.Tx, limit int, write *pgx.Batch) error {
	if len(c.bodies) == 0 {
		return nil
	}
	keys := keysOf(c.bodies)
	args := c.bodies.args(keys)
	state := map[bucketMonth]*keptBodies{}
	if len(c.sampled) > 0 && limit > 0 {
		var batch pgx.Batch
		var read readBodies
		read.queue(&batch, keysOf(c.sampled))
		if err := tx.SendBatch(ctx, &batch).Close(); err != nil {
			return err
		}
		for key, reports := range c.sampled {
			kept := read.of[key]
			for _, r := range reports {
				kept.add(r, limit)
			}
			state[key] = &kept
		}
	}
	args["slots"] = column(keys, func(k bucketMonth) (slots []byte) {
		if kept := state[k]; kept != nil {
			slots = kept.slots
		}
		return slots
	})
	args["combinations"] = column(keys, func(k bucketMonth) (combinations []byte) {
		if kept := state[k]; kept != nil {
			combinations = kept.combinations
		}
		return combinations
	})
	write.Queue(sqlCountBodies, args)
	return nil
}

// apply adds the counts to bucket_bodies.
func (c bodyCounts) apply(ctx context.Context, tx pgx.Tx) error {
	if len(c) == 0 {
		return nil
	}
	keys := keysOf(c)
	args := c.args(keys)
	args["slots"], args["combinations"] = make([][]byte, len(keys)), make([][]byte, len(keys))
	return Exec(ctx, tx, args, sqlCountBodies, sqlDropBodies)
}

const sqlDropMonthOfBodies = `delete from bucket_bodies where month = @month`

// dropBodies removes the reports of a partition, which is being dropped, from bucket_bodies.
func dropBodies(ctx context.Context, tx pgx.Tx, p partition) error {
	if !p.week {
		return Exec(ctx, tx, pgx.NamedArgs{"month": p.from}, sqlDropMonthOfBodies)
	}
	bodies := bodyCounts{}
	key, sum := bucketMonth{month: monthOf(p.from).from}, bodyCount{}
	err := Each(ctx, tx, "select bucket_id, -count(*), -count(body) from "+p.table()+" as r where bucket_id is not null "+
		"and "+isLimited+" group by bucket_id", nil, []any{&key.bucket, &sum.reports, &sum.kept},
		func() { bodies[key] = sum })
	if err != nil {
		return err
	}
	return bodies.apply(ctx, tx)
}

const (
	recountedBodies = `
		select r.bucket_id, date_trunc('month', r.received at time zone 'UTC')::date as month, count(*) as reports,
			count(r.body) as kept
		from reports as r
		where r.bucket_id is not null and ` + isLimited + ` and r.id not in (select unnest(reports) from uncounted)`
	sqlWrongBodies = `
		select coalesce(b.bucket_id, r.bucket_id), coalesce(b.month, r.month)
		from bucket_bodies as b full join (` + recountedBodies + ` group by 1, 2) as r
			on r.bucket_id = b.bucket_id and r.month = b.month
		where (b.reports, b.kept) is distinct from (r.reports, r.kept)`
	sqlCorrectBodies = `
		insert into bucket_bodies (bucket_id, month, reports, kept)
		select w.bucket_id, w.month, coalesce(r.reports, 0), coalesce(r.kept, 0)
		from unnest(@buckets::bytea[], @months::date[]) as w (bucket_id, month)
			left join (` + recountedBodies + ` and r.bucket_id = any(@buckets::bytea[]) group by 1, 2) as r
				on r.bucket_id = w.bucket_id and r.month = w.month
		on conflict (bucket_id, month) do update set reports = excluded.reports, kept = excluded.kept`
)

// RepairBodies corrects the numbers in bucket_bodies, and returns how many rows were wrong. It looks for them without
// the lock on counting, which it holds only while it counts their reports again.
func (s *Store) RepairBodies(ctx context.Context) (wrong int, err error) {
	if err := s.ReachArchives(ctx); err != nil {
		return 0, err
	}
	var keys []bucketMonth
	var key bucketMonth
	err = s.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, NoTimeLimit); err != nil {
			return err
		}
		return Each(ctx, tx, sqlWrongBodies, nil, []any{&key.bucket, &key.month}, func() { keys = append(keys, key) })
	})
	if err != nil || len(keys) == 0 {
		return 0, Wrap(err, "wrong numbers of bodies")
	}
	err = s.inRound(ctx, func(tx pgx.Tx, _ stamp) error {
		if err := Exec(ctx, tx, bucketMonthArgs(keys), NoTimeLimit, sqlCorrectBodies, sqlDropBodies); err != nil {
			return err
		}
		return s.Audit(ctx, tx, AuditEvent{Action: audit.CommandOther, Subject: "mishap check --repair",
			Detail: map[string]any{"wrong": len(keys)}})
	})
	return len(keys), Wrap(err, "repair numbers of bodies")
}

const sqlBodies = `
	select coalesce(sum(b.kept), 0)::bigint, coalesce(sum(b.reports), 0)::bigint, max(c.bodies_since)
	from counting as c left join bucket_bodies as b on b.bucket_id in ` + Members

// Bodies returns how many reports of a bucket's problem are stored in full.
func (s *Store) Bodies(ctx context.Context, id crash.BucketID) (b crash.Bodies, err error) {
	err = s.Pool.QueryRow(ctx, sqlBodies, pgx.NamedArgs{"bucket": id[:]}).Scan(&b.Stored, &b.All, OrZero(&b.Since))
	return b, Wrap(err, "bodies of %s", id)
}

const sqlNewestInFull = `
	select r.id from (select id from buckets where id in ` + Members + `) as m (source) cross join lateral (
		select received, id from reports where bucket_id = m.source and body is not null and received >= @here
		order by received desc, id desc limit 1
	) as r
	order by r.received desc, r.id desc limit 1`

// NewestInFull returns the newest report of a bucket's problem that is stored in full, or a zero id.
func (s *Store) NewestInFull(ctx context.Context, bucket crash.BucketID) (id crash.OopsID, err error) {
	id, err = Recent(ctx, s.Handle, func(ctx context.Context, since time.Time) (crash.OopsID, bool, error) {
		id, err := One(ctx, s.Pool, sqlNewestInFull, pgx.NamedArgs{"bucket": bucket[:], "here": since}, ScanReportID)
		return id, err == nil, NoRows(err, nil)
	})
	return id, Wrap(err, "newest report of %s", bucket)
}

const (
	sqlLimitBodies = `update counting set bodies_since = coalesce(bodies_since, @now)`
	sqlBodyMissing = `
		select body is null, id in (select unnest(reports) from uncounted) from reports
		where received = @received and id = @id`
	sqlAddBody = `update reports set body = @body, quality = @quality where received = @received and id = @id`
)

// KeepBody stores the body of a report whose core a machine is asked for, unless it is stored already.
func (s *Store) KeepBody(ctx context.Context, id crash.OopsID, fields crash.Fields, quality int) error {
	args := ReportArgs(id)
	var missing, uncounted bool
	err := s.Pool.QueryRow(ctx, sqlBodyMissing, args).Scan(&missing, &uncounted)
	if err != nil || !missing {
		return Wrap(NoRows(err, nil), "body of %s", id)
	}
	args["body"], args["quality"] = Compress(fields), quality
	err = NewDecisions(s).decide(ctx, func(d *deciding) error {
		if err := d.QueryRow(ctx, sqlBodyMissing, args).Scan(&missing, &uncounted); err != nil || !missing {
			return NoRows(err, nil)
		}
		reports, err := d.reportsToMove(ctx, []crash.OopsID{id})
		if err != nil || len(reports) == 0 {
			return err
		}
		if _, err := Planned(ctx, d, sqlAddBody, args); err != nil || uncounted {
			return err
		}
		r, bodies := &reports[0], bodyCounts{}
		bodies.count(r.bucket, r, -1)
		r.full = true
		bodies.count(r.bucket, r, 1)
		return bodies.apply(ctx, d)
	})
	return Wrap(err, "body of %s", id)
}
