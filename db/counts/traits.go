package counts

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/stats"
	"mishap/db"
)

// These constants limit the newest reports that StandsOut compares.
const (
	traitsHere   = 100 // reports of the problem
	traitsOthers = 20  // other problems of its package
	traitsOfEach = 8   // reports of each of them
)

const (
	sqlBodiesHere = `
		select r.body from (select id from buckets where id in ` + db.Members + `) as m (source) cross join lateral (
			select received, id, body from reports where bucket_id = m.source order by received desc, id desc limit @limit
		) as r
		order by r.received desc, r.id desc limit @limit`
	sqlBodiesThere = `
		select r.body from (
			select id from buckets
			where package = @package and head <> (select head from buckets where id = @bucket) and reports > 0
			order by reports desc, id limit @others
		) as m (source) cross join lateral (
			select body from reports where bucket_id = m.source order by received desc, id desc limit @limit
		) as r`
)

// StandsOut compares the newest reports of a problem with those of other problems of the same
// package. It returns the traits that only the former have in common, and how many reports it
// compared on each side.
func (s *Store) StandsOut(ctx context.Context, b crash.Bucket) (found []stats.StandOut, here, there int, err error) {
	args := pgx.NamedArgs{"bucket": b.ID[:], "package": b.Package, "limit": traitsHere, "others": traitsOthers}
	of, err := s.traits(ctx, sqlBodiesHere, args)
	if err == nil {
		args["limit"] = traitsOfEach
		var others [][]stats.Trait
		if others, err = s.traits(ctx, sqlBodiesThere, args); err == nil {
			return stats.StandsOut(of, others), len(of), len(others), nil
		}
	}
	return nil, 0, 0, fmt.Errorf("traits of %s: %w", b.ID, db.Classify(err))
}

func (s *Store) traits(ctx context.Context, sql string, args pgx.NamedArgs) ([][]stats.Trait, error) {
	rows, err := s.Pool.Query(ctx, sql, args)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) ([]stats.Trait, error) {
		var body []byte
		if err := row.Scan(&body); err != nil {
			return nil, err
		}
		var traits []stats.Trait
		err := s.ReadBody(ctx, body, func(f crash.Fields) { traits = stats.Traits(f) })
		return traits, err
	})
}
