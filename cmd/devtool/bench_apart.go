package main

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/klauspost/compress/s2"

	"mishap/crash"
)

// apart stores each report in a transaction of its own: its key, its row, its bucket, one counter of its day. That is what
// is left of storing a report when nothing is shared with others, and less than the store does: no versions, no machines, no
// lists of packages and releases.
type apart struct{ pool *pgxpool.Pool }

const apartTables = `
	drop table if exists bench_keys, bench_reports, bench_buckets, bench_days;
	create table bench_keys (key bytea primary key, report_id uuid not null);
	create table bench_reports (
		id uuid primary key, received timestamptz not null, system text not null, bucket_id bytea not null, package text not null,
		version text not null, release text not null, architecture text not null, body bytea not null);
	alter table bench_reports alter column body set storage external;
	create index bench_reports_bucket on bench_reports (bucket_id, received desc);
	create table bench_buckets (id bytea primary key, signature text not null, reports bigint not null) with (fillfactor = 80);
	create table bench_days (bucket_id bytea, day date, reports bigint not null, primary key (bucket_id, day)) with (fillfactor = 80)`

func newApart(ctx context.Context, pool *pgxpool.Pool) (apart, error) {
	_, err := pool.Exec(ctx, apartTables)
	return apart{pool}, err
}

// SaveReport implements intake.Store.
func (a apart) SaveReport(ctx context.Context, rec crash.Record) (crash.OopsID, bool, error) {
	var plain []byte
	for name, value := range rec.Fields {
		plain = append(append(append(append(plain, name...), 0), value...), 0)
	}
	id, bucket := [16]byte(rec.ID), crash.BucketIDOf(rec.Grouping.Signature)
	var b pgx.Batch
	b.Queue(`insert into bench_keys values ($1, $2) on conflict do nothing`, rec.DuplicateKey[:], id)
	b.Queue(`insert into bench_reports values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`, id, rec.Received(), string(rec.System), bucket[:],
		rec.Package, rec.Version, string(rec.Release), rec.Architecture, s2.Encode(nil, plain))
	b.Queue(`insert into bench_buckets as b values ($1, $2, 1) on conflict (id) do update set reports = b.reports + 1`, bucket[:], rec.Grouping.Signature)
	b.Queue(`insert into bench_days as d values ($1, $2, 1) on conflict (bucket_id, day) do update set reports = d.reports + 1`, bucket[:], rec.Day)
	return rec.ID, false, a.pool.SendBatch(ctx, &b).Close() // a batch is one transaction
}
