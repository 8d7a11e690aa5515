package db

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/grouping"
)

// The round that counts a report decides which bucket it belongs to, under the lock that decisions
// take too. If the report is counted before someone splits the problem, the split moves it.
// Otherwise the round puts it into the right bucket.
const (
	sqlAnySplit = `
		select exists (
			select from split_sources as s join decisions as d on d.id = s.decision_id where d.undone_at is null)`
	sqlSplitsOf = `
		select s.bucket_id, d.other_id, d.condition from split_sources as s join decisions as d on d.id = s.decision_id
		where d.undone_at is null and s.bucket_id = any(@buckets::bytea[]) order by d.id`
	sqlAskedReports = `
		select r.id, r.bucket_id, r.executable, r.package, r.version, r.release, r.architecture
		from unnest(@ids::uuid[], @received::timestamptz[]) as m (id, received)
			join reports as r on r.received = m.received and r.id = m.id
		where r.bucket_id in (select bucket_id from split_sources)`
	sqlBody       = `select body from reports where received = @received and id = @id`
	sqlPutReports = `
		update reports as r set bucket_id = m.bucket_id
		from unnest(@ids::uuid[], @received::timestamptz[], @buckets::bytea[]) as m (id, received, bucket_id)
		where r.received = m.received and r.id = m.id`
)

// maxSplits limits how many splits in a row can move a report.
const maxSplits = 16

// splitRule is a split of a bucket that is not undone.
type splitRule struct {
	to        crash.BucketID
	condition crash.Condition
}

// askedReport is a report in a bucket with splits.
type askedReport struct {
	id      crash.OopsID
	bucket  crash.BucketID
	summary crash.Summary
	fields  crash.Fields // nil until they are read
}

func scanAsked(row pgx.CollectableRow) (r askedReport, err error) {
	err = row.Scan((*[16]byte)(&r.id), ScanTo(r.bucket[:]), &r.summary.Executable, &r.summary.Package, &r.summary.Version,
		&r.summary.Release, &r.summary.Architecture)
	return r, err
}

// placer applies splits to reports within one transaction.
type placer struct {
	tx    pgx.Tx
	rules map[crash.BucketID][]splitRule // cached, by bucket
}

func newPlacer(tx pgx.Tx) *placer {
	return &placer{tx: tx, rules: map[crash.BucketID][]splitRule{}}
}

// rulesOf returns the splits of a bucket, oldest first.
func (p *placer) rulesOf(ctx context.Context, bucket crash.BucketID) ([]splitRule, error) {
	if rules, ok := p.rules[bucket]; ok {
		return rules, nil
	}
	rows, err := p.tx.Query(ctx, sqlSplitsOf, pgx.NamedArgs{"buckets": [][]byte{bucket[:]}})
	if err != nil {
		return nil, err
	}
	rules, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r splitRule, err error) {
		var source crash.BucketID
		err = row.Scan(ScanTo(source[:]), ScanTo(r.to[:]), &r.condition)
		return r, err
	})
	p.rules[bucket] = rules
	return rules, err
}

// place returns the bucket that a report belongs to, starting from the given one.
func (p *placer) place(ctx context.Context, r *askedReport, bucket crash.BucketID) (crash.BucketID, error) {
	for range maxSplits {
		rules, err := p.rulesOf(ctx, bucket)
		if err != nil {
			return bucket, err
		}
		next := bucket
		for _, rule := range rules {
			holds, err := p.holds(ctx, r, rule.condition)
			if err != nil {
				return bucket, err
			}
			if holds {
				next = rule.to
				break
			}
		}
		if next == bucket {
			break
		}
		bucket = next
	}
	return bucket, nil
}

func (p *placer) holds(ctx context.Context, r *askedReport, c crash.Condition) (bool, error) {
	if c.NeedsFields() {
		if err := p.read(ctx, r); err != nil {
			return false, err
		}
	}
	return c.Holds(r.id, r.summary, func(function string) bool { return grouping.Calls(r.fields, function) }), nil
}

// read reads the fields of a report unless they have been read already.
func (p *placer) read(ctx context.Context, r *askedReport) error {
	if r.fields != nil {
		return nil
	}
	var body []byte
	err := p.tx.QueryRow(ctx, sqlBody, ReportArgs(r.id)).Scan(&body)
	if err == nil {
		r.fields, err = Decompress(body)
	}
	return err
}

// placeReports applies the splits to the reports of a round, and returns the new buckets of those
// that it has moved. Without splits it reads only two small tables.
func (s *Store) placeReports(ctx context.Context, tx pgx.Tx, ids [][16]byte) (map[crash.OopsID]crash.BucketID, error) {
	var anySplit bool
	if err := tx.QueryRow(ctx, sqlAnySplit).Scan(&anySplit); err != nil || !anySplit {
		return nil, err
	}
	received := make([]time.Time, len(ids))
	for i, id := range ids {
		received[i] = crash.OopsID(id).Received()
	}
	rows, err := tx.Query(ctx, sqlAskedReports, pgx.NamedArgs{"ids": ids, "received": received})
	if err != nil {
		return nil, fmt.Errorf("reports to place: %w", err)
	}
	asked, err := pgx.CollectRows(rows, scanAsked)
	if err != nil {
		return nil, fmt.Errorf("reports to place: %w", err)
	}
	p := newPlacer(tx)
	placed := map[crash.OopsID]crash.BucketID{}
	var put reportRows
	for i := range asked {
		r := &asked[i]
		to, err := p.place(ctx, r, r.bucket)
		if err != nil {
			return nil, fmt.Errorf("place report %s: %w", r.id, err)
		}
		if to != r.bucket {
			placed[r.id] = to
			put.add(r.id, move{to: &to})
		}
	}
	if len(placed) == 0 {
		return nil, nil
	}
	_, err = tx.Exec(ctx, sqlPutReports, pgx.NamedArgs{"ids": put.ids, "received": put.received, "buckets": put.buckets})
	if err != nil {
		return nil, fmt.Errorf("place reports: %w", err)
	}
	return placed, nil
}
