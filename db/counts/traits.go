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
		select r.system_key, r.body from (select id from buckets where id in ` + db.Members + `) as m (source) cross join lateral (
			select received, id, system_key, body from reports where bucket_id = m.source order by received desc,
				id desc limit @limit
		) as r
		order by r.received desc, r.id desc limit @limit`
	sqlBodiesThere = `
		select r.system_key, r.body from (
			select id from buckets
			where package = @package and head <> (select head from buckets where id = @bucket) and reports > 0
			order by reports desc, id limit @others
		) as m (source) cross join lateral (
			select system_key, body from reports where bucket_id = m.source order by received desc, id desc limit @limit
		) as r`
)

// StandsOut compares the newest reports of a problem with those of other problems of the same
// package, one of each machine. It returns the traits that are more frequent in the former, and how
// many reports it compared on each side.
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
	var all [][]stats.Trait
	known := map[int64]bool{} // machines
	var machine *int64
	var body []byte
	_, err = pgx.ForEachRow(rows, []any{&machine, &body}, func() error {
		if machine != nil && known[*machine] {
			return nil
		}
		if machine != nil {
			known[*machine] = true
		}
		return s.ReadBody(ctx, body, func(f crash.Fields) { all = append(all, stats.Traits(f)) })
	})
	return all, err
}
