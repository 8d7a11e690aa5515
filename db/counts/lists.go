package counts

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/stats"
	"mishap/db"
)

const sqlFirstBucket = `
	select coalesce((
		select b.head from unnest(@ids::bytea[]) with ordinality as i (id, place) join buckets as b on b.id = i.id
		order by i.place limit 1), '')`

// FirstBucket returns the head of the first of some buckets that exists. It returns NotFound if
// none exists.
func (s *Store) FirstBucket(ctx context.Context, ids []crash.BucketID) (crash.BucketID, error) {
	list := make([][]byte, len(ids))
	for i := range ids {
		list[i] = ids[i][:]
	}
	var id []byte
	if err := s.Pool.QueryRow(ctx, sqlFirstBucket, pgx.NamedArgs{"ids": list}).Scan(&id); err != nil {
		return crash.BucketID{}, fmt.Errorf("find bucket: %w", db.Classify(err))
	}
	if len(id) != len(crash.BucketID{}) {
		return crash.BucketID{}, crash.ErrUnknownBucket
	}
	return crash.BucketID(id), nil
}

// sqlNewBuckets counts each machine once. A machine that reported a version from several releases
// counts in each of them, so the query subtracts the extra ones. The buckets of a merged problem
// may share machines, so the query then counts distinct machines.
const sqlNewBuckets = `
	with cells as (
		select b.head, v.bucket_id, v.version, v.reports, v.systems
		from buckets as b join bucket_versions as v on v.bucket_id = b.id and v.version in (@new, @previous)
		where b.head in (select head from buckets where source_package = @source) and v.reports > 0
	), heads as (
		select head, count(distinct bucket_id) as members, (array_agg(bucket_id))[1] as member,
			sum(systems)::bigint as at_most, sum(reports)::bigint as reports
		from cells
		group by head having not bool_or(version = @previous)
	), counted as materialized (
		select head, reports, case
				when at_most <= @more_than then at_most
				when members = 1 then at_most - (
					select coalesce(sum(extra), 0) from bucket_travellers where bucket_id = heads.member and version = @new)
				else (select count(distinct s.system) from bucket_systems as s join buckets as m on m.id = s.bucket_id
					where m.head = heads.head and s.version = @new)
			end as systems
		from heads
	)
	select h.id, h.signature, c.reports, c.systems from counted as c join buckets as h on h.id = c.head
	where c.systems > @more_than and not h.provisional and not starts_with(h.signature, 'failed:')
	order by c.systems desc, c.reports desc, h.id`

// NewBuckets returns the problems of a source package that occur in a version on more than moreThan
// machines, and do not occur in the previous version. Those on most machines come first. It omits
// problems whose reports have no function names.
func (s *Store) NewBuckets(ctx context.Context, source, previous, version string,
	moreThan int) ([]stats.NewBucket, error) {
	args := pgx.NamedArgs{"source": source, "previous": previous, "new": version, "more_than": moreThan}
	// PostgreSQL plans the query anew for these values: they decide whether the version or the package
	// is rarer.
	rows, err := s.Pool.Query(ctx, sqlNewBuckets, pgx.QueryExecModeCacheDescribe, args)
	if err != nil {
		return nil, fmt.Errorf("new buckets: %w", db.Classify(err))
	}
	buckets, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (b stats.NewBucket, err error) {
		err = row.Scan(db.ScanTo(b.ID[:]), &b.Signature, &b.Reports, &b.Systems)
		return b, err
	})
	if err != nil {
		return nil, fmt.Errorf("new buckets: %w", db.Classify(err))
	}
	return buckets, nil
}
