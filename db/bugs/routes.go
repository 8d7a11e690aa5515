package bugs

import (
	"context"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
)

const (
	sqlRoutes    = `select package, type, release, tracker, target from bug_routes order by line`
	sqlRoutesFor = `
		select package, type, release, tracker, target from bug_routes
		where package = @source or package ~ '[][*?\\]' order by line`
	sqlClearRoutes = `delete from bug_routes`
	sqlSaveRoutes  = `
		insert into bug_routes (line, package, type, release, tracker, target)
		select line, package, type, release, tracker, target
		from unnest(@packages::text[], @types::text[], @releases::text[], @trackers::text[], @targets::text[])
			with ordinality as r (package, type, release, tracker, target, line)`
)

// Routes returns where bugs go, in order.
func (s *Store) Routes(ctx context.Context) (crash.Routes, error) {
	routes, err := db.List(ctx, s.Pool, sqlRoutes, nil, pgx.RowToStructByPos[crash.Route])
	return routes, db.Wrap(err, "routes of bugs")
}

// RoutesFor returns the routes that may fit a source package, in order.
func (s *Store) RoutesFor(ctx context.Context, source string) (crash.Routes, error) {
	routes, err := db.List(ctx, s.Pool, sqlRoutesFor, pgx.NamedArgs{"source": source}, pgx.RowToStructByPos[crash.Route])
	return routes, db.Wrap(err, "routes of bugs")
}

// SaveRoutes replaces all routes. It does not check them.
func (s *Store) SaveRoutes(ctx context.Context, routes crash.Routes, person string) error {
	n := len(routes)
	columns := [5][]string{}
	for i := range columns {
		columns[i] = make([]string, n)
	}
	for i, r := range routes {
		for c, value := range []string{r.Package, r.ProblemType, r.Release, r.Tracker, r.Target} {
			columns[c][i] = value
		}
	}
	args := pgx.NamedArgs{"packages": columns[0], "types": columns[1], "releases": columns[2], "trackers": columns[3],
		"targets": columns[4]}
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		before, err := db.List(ctx, tx, sqlRoutes, nil, pgx.RowToStructByPos[crash.Route])
		if err != nil {
			return err
		}
		if err := db.Exec(ctx, tx, args, sqlClearRoutes, sqlSaveRoutes); err != nil {
			return err
		}
		return s.Audit(ctx, tx, db.AuditEvent{
			Person: person, Action: "routes.save", Subject: "routes",
			Before: map[string]any{"routes": len(before)}, After: map[string]any{"routes": n},
		})
	})
	return db.Wrap(err, "save routes of bugs")
}

const sqlUpstream = `
	select coalesce((select min(bug_number) from bucket_bugs where bucket_id in ` + db.Members + `
		and upstream_bug(bug_number)), 0), coalesce((select id from filings where bucket_id in ` + db.Members + `
		and upstream order by ` + db.FilingRank + `, bucket_id = @bucket desc, updated desc, id desc limit 1), 0)`

// Upstream returns the bug and the filing of a problem in an upstream project's tracker. Both may be zero.
func (s *Store) Upstream(ctx context.Context, id crash.BucketID) (bug int64, f crash.Filing, err error) {
	err = s.Pool.QueryRow(ctx, sqlUpstream, pgx.NamedArgs{"bucket": id[:]}).Scan(&bug, &f.ID)
	if err == nil && f.ID != 0 {
		f, err = s.Filing(ctx, f.ID)
	}
	return bug, f, db.Wrap(err, "upstream bug of %s", id)
}
