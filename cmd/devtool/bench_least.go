package main

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/klauspost/compress/s2"

	"mishap/crash"
)

// The least that is stored of a report by what the store is compared with: its key, so that it is not taken twice, its row, its
// bucket, one counter of its day. No versions, no machines, no lists of packages and releases.
const leastTables = `
	drop table if exists bench_keys, bench_reports, bench_buckets, bench_days;
	create table bench_keys (key bytea primary key, report_id uuid not null);
	create table bench_reports (
		id uuid primary key, received timestamptz not null, system text not null, bucket_id bytea not null, package text not null,
		version text not null, release text not null, architecture text not null, body bytea not null);
	alter table bench_reports alter column body set storage external;
	create index bench_reports_bucket on bench_reports (bucket_id, received desc);
	create table bench_buckets (id bytea primary key, signature text not null, reports bigint not null) with (fillfactor = 80);
	create table bench_days (bucket_id bytea, day date, reports bigint not null, primary key (bucket_id, day)) with (fillfactor = 80)`

// forgetLeast leaves the disk to what follows.
const forgetLeast = `truncate bench_rows, bench_keys, bench_reports, bench_buckets, bench_days`

// leastReport is a report on its way into those tables.
type leastReport struct {
	rec    crash.Record
	id     [16]byte
	bucket crash.BucketID
	body   []byte
	done   chan error
}

func newLeastReport(rec crash.Record, p *packer) *leastReport {
	return &leastReport{rec: rec, id: rec.ID, bucket: crash.BucketIDOf(rec.Grouping.Signature), body: p.fields(rec.Fields), done: make(chan error, 1)}
}

// apart stores each report in a transaction of its own.
type apart struct{ pool *pgxpool.Pool }

// SaveReport implements intake.Store.
func (a apart) SaveReport(ctx context.Context, rec crash.Record) (crash.OopsID, bool, error) {
	p := takePacker()
	defer packers.Put(p)
	r := newLeastReport(rec, p)
	var b pgx.Batch
	b.Queue(`insert into bench_keys values ($1, $2) on conflict do nothing`, rec.DuplicateKey[:], r.id)
	b.Queue(`insert into bench_reports values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`, r.id, rec.Received(), string(rec.System), r.bucket[:],
		rec.Package, rec.Version, string(rec.Release), rec.Architecture, r.body)
	b.Queue(`insert into bench_buckets as b values ($1, $2, 1) on conflict (id) do update set reports = b.reports + 1`, r.bucket[:], rec.Grouping.Signature)
	b.Queue(`insert into bench_days as d values ($1, $2, 1) on conflict (bucket_id, day) do update set reports = d.reports + 1`, r.bucket[:], rec.Day)
	return rec.ID, false, a.pool.SendBatch(ctx, &b).Close() // a batch is one transaction
}

// together stores reports in shared transactions: two writers take whatever has come while they wrote, one statement each time.
type together struct {
	pool  *pgxpool.Pool
	queue chan *leastReport
}

const (
	togetherWriters = 2
	togetherBatch   = 256
)

// startTogether runs until ctx ends.
func startTogether(ctx context.Context, pool *pgxpool.Pool) together {
	t := together{pool, make(chan *leastReport, mostLoad)}
	for range togetherWriters {
		go t.write(ctx)
	}
	return t
}

// SaveReport implements intake.Store. It waits whatever becomes of the caller, for the body is in use.
func (t together) SaveReport(_ context.Context, rec crash.Record) (crash.OopsID, bool, error) {
	p := takePacker()
	defer packers.Put(p)
	r := newLeastReport(rec, p)
	t.queue <- r
	return rec.ID, false, <-r.done
}

func (t together) write(ctx context.Context) {
	for {
		var batch []*leastReport
		select {
		case <-ctx.Done():
			return
		case r := <-t.queue:
			batch = append(batch, r)
		}
		for more := true; more && len(batch) < togetherBatch; {
			select {
			case r := <-t.queue:
				batch = append(batch, r)
			default:
				more = false
			}
		}
		err := t.store(context.WithoutCancel(ctx), batch)
		for _, r := range batch {
			r.done <- err
		}
	}
}

const sqlTogether = `
	with u as materialized (
		select * from unnest(@key::bytea[], @id::uuid[], @received::timestamptz[], @system::text[], @bucket::bytea[], @package::text[],
			@version::text[], @release::text[], @architecture::text[], @signature::text[], @day::date[], @body::bytea[])
			as u (key, id, received, system, bucket_id, package, version, release, architecture, signature, day, body)
	), new as (
		insert into bench_keys select key, id from u order by key on conflict do nothing returning report_id
	), stored as (
		insert into bench_reports select id, received, system, bucket_id, package, version, release, architecture, body
		from u where id in (select report_id from new)
	), counted as (
		insert into bench_buckets as b select bucket_id, min(signature), count(*) from u where id in (select report_id from new) group by 1 order by 1
		on conflict (id) do update set reports = b.reports + excluded.reports
	)
	insert into bench_days as d select bucket_id, day, count(*) from u where id in (select report_id from new) group by 1, 2 order by 1, 2
	on conflict (bucket_id, day) do update set reports = d.reports + excluded.reports`

func (t together) store(ctx context.Context, batch []*leastReport) error {
	slices.SortFunc(batch, func(a, b *leastReport) int { return bytes.Compare(a.rec.DuplicateKey[:], b.rec.DuplicateKey[:]) })
	_, err := t.pool.Exec(ctx, sqlTogether, pgx.NamedArgs{
		"key":          each(batch, func(r *leastReport) []byte { return r.rec.DuplicateKey[:] }),
		"id":           each(batch, func(r *leastReport) [16]byte { return r.id }),
		"received":     each(batch, func(r *leastReport) time.Time { return r.rec.Received() }),
		"system":       each(batch, func(r *leastReport) string { return string(r.rec.System) }),
		"bucket":       each(batch, func(r *leastReport) []byte { return r.bucket[:] }),
		"package":      each(batch, func(r *leastReport) string { return r.rec.Package }),
		"version":      each(batch, func(r *leastReport) string { return r.rec.Version }),
		"release":      each(batch, func(r *leastReport) string { return string(r.rec.Release) }),
		"architecture": each(batch, func(r *leastReport) string { return r.rec.Architecture }),
		"signature":    each(batch, func(r *leastReport) string { return r.rec.Grouping.Signature }),
		"day":          each(batch, func(r *leastReport) time.Time { return r.rec.Day }),
		"body":         each(batch, func(r *leastReport) []byte { return r.body }),
	})
	return err
}

func each[T any](batch []*leastReport, value func(*leastReport) T) []T {
	all := make([]T, len(batch))
	for i, r := range batch {
		all[i] = value(r)
	}
	return all
}

// packer packs as the store does, in buffers that are used again.
type packer struct {
	plain  bytes.Buffer
	packed []byte
}

var packers = sync.Pool{New: func() any { return new(packer) }}

func takePacker() *packer {
	p := packers.Get().(*packer) //nolint:forcetypeassert // nothing else is put there
	p.plain.Reset()
	return p
}

// fields returns what is good until the packer is used again.
func (p *packer) fields(f crash.Fields) []byte {
	for name, value := range f {
		p.plain.WriteString(name)
		p.plain.WriteByte(0)
		p.plain.WriteString(value)
		p.plain.WriteByte(0)
	}
	return p.pack()
}

func (p *packer) pack() []byte {
	if n := s2.MaxEncodedLen(p.plain.Len()); cap(p.packed) < n {
		p.packed = make([]byte, n)
	}
	return s2.Encode(p.packed[:cap(p.packed)], p.plain.Bytes())
}
