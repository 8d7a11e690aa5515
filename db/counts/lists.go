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

// FirstBucket returns the first of some buckets that there is, or the one that it was merged into. It returns NotFound when
// there is none of them.
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

// What one machine reported from several releases counts in each of them, so those beyond the first are taken off again. The
// machines of problems that were merged may be the same ones: they are gone through.
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
				when at_most <= @few then at_most
				when members = 1 then at_most - (
					select coalesce(sum(extra), 0) from bucket_travellers where bucket_id = heads.member and version = @new)
				else (select count(distinct s.system) from bucket_systems as s join buckets as m on m.id = s.bucket_id
					where m.head = heads.head and s.version = @new)
			end as systems
		from heads
	)
	select h.id, h.signature, c.reports, c.systems from counted as c join buckets as h on h.id = c.head
	where c.systems > @few and not h.provisional and not starts_with(h.signature, 'failed:')
	order by c.systems desc, c.reports desc, h.id`

// NewBuckets lists the buckets of a source package that were seen with the new version, on more than few machines, and not
// with the previous one; those on most machines first. Reports that have no symbols yet, or could not get any, make no new
// bucket.
func (s *Store) NewBuckets(ctx context.Context, source, previous, new string, few int) ([]stats.NewBucket, error) {
	args := pgx.NamedArgs{"source": source, "previous": previous, "new": new, "few": few}
	// Planned each time for these very words: it depends on them whether fewer problems have the version or the package.
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
