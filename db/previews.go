package db

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/grouping"
)

const sqlTogether = `
	with members as (
		select id, reports from buckets where head in (select head from buckets where id = any(@ids::bytea[]))
	)
	select coalesce((select sum(reports) from members), 0)::bigint,
		(select count(distinct system) from bucket_systems where bucket_id in (select id from members))`

// Together returns how many reports and distinct machines some problems have in total.
func (s *Decisions) Together(ctx context.Context, ids []crash.BucketID) (reports, machines int64, err error) {
	if err := s.Pool.QueryRow(ctx, sqlTogether, pgx.NamedArgs{"ids": IDBytes(ids)}).Scan(&reports, &machines); err != nil {
		return 0, 0, fmt.Errorf("count problems together: %w", Classify(err))
	}
	return reports, machines, nil
}

// These constants limit how many of the newest reports a preview examines. It examines fewer if it
// needs all fields of each.
const (
	previewReports = 1000
	previewBodies  = 200
	previewShown   = 5 // examples on each side
)

const sqlPreviewReports = `
	select ` + ReportColumns +
	`, case when @bodies then body end from unnest(@buckets::bytea[]) as s (source) cross join lateral (
		select * from reports where bucket_id = s.source order by received desc, id desc limit @limit
	) as r
	order by received desc, id desc limit @limit`

const sqlMembers = `select id from buckets where id in ` + Members + ` order by id`

// PreviewSplit examines which of the newest reports of a problem meet a condition. It returns
// Invalid for an invalid condition.
func (s *Decisions) PreviewSplit(ctx context.Context, bucket crash.BucketID, c crash.Condition) (p crash.SplitPreview,
	err error) {
	if err := c.Check(); err != nil {
		return p, err
	}
	limit := previewReports
	if c.NeedsFields() {
		limit = previewBodies
	}
	err = s.InTx(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, sqlMembers, pgx.NamedArgs{"bucket": bucket[:]})
		if err != nil {
			return err
		}
		buckets, err := pgx.CollectRows(rows, scanID)
		if err != nil {
			return err
		}
		rows, err = tx.Query(ctx, sqlPreviewReports, pgx.NamedArgs{"buckets": IDBytes(buckets), "limit": limit + 1,
			"bodies": c.NeedsFields()})
		if err != nil {
			return err
		}
		var body []byte
		for rows.Next() {
			var r crash.ReportRow
			if err := scanReportAnd(rows, &r, &body); err != nil {
				return err
			}
			if p.LookedAt == int64(limit) {
				p.More = true
				continue
			}
			p.LookedAt++
			var fields crash.Fields
			if body != nil {
				if fields, err = s.Decompress(body); err != nil {
					return err
				}
			}
			side, count := &p.StayExamples, &p.Stays
			if c.Holds(r.ID, r.Summary, func(function string) bool { return grouping.Calls(fields, function) }) {
				side, count = &p.GoesExamples, &p.Goes
			}
			*count++
			if len(*side) < previewShown {
				*side = append(*side, r)
			}
		}
		return rows.Err()
	})
	if err != nil {
		return p, fmt.Errorf("preview of a split of %s: %w", bucket, err)
	}
	return p, nil
}
