package problems

import (
	"context"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/crash/stats"
	"mishap/db"
)

// sqlFixMachines counts, for each of some places with versions of a package in a release, the machines that reported
// anything of the package from these versions, and the reports that came from proposed. The lateral query makes
// PostgreSQL look up each bucket by the primary key.
const sqlFixMachines = `
	with cells as materialized (
		select w.place, v.bucket_id, v.release, v.version
		from unnest(@places::int[], @packages::text[], @releases::text[], @versions::text[])
				as w (place, package, release, version)
			join buckets as b on b.package = w.package
			join bucket_versions as v on v.bucket_id = b.id and v.release = w.release and v.version = w.version
		where v.reports > 0
	), machines as (
		select c.place, count(distinct s.system) as n from cells as c cross join lateral (
			select system from bucket_systems
			where bucket_id = c.bucket_id and release = c.release and version = c.version and reports > 0 offset 0
		) as s group by c.place
	), proposed as (
		select c.place, sum(d.proposed)::bigint as n from cells as c join bucket_days as d
			on d.bucket_id = c.bucket_id and d.release = c.release and d.version = c.version and d.day >= @since::date
		group by c.place
	)
	select p.place, coalesce(m.n, 0), p.n from proposed as p left join machines as m on m.place = p.place`

// countFixes completes fixes with their machines and reports from proposed, as visitors know them, or everyone who
// may see an embargoed problem.
func (s *Store) countFixes(ctx context.Context, fixes []*stats.FixWatch) error {
	var places []int
	var packages, releases, versions []string
	for i, f := range fixes {
		for _, v := range f.Versions {
			places, packages = append(places, i), append(packages, f.Package)
			releases, versions = append(releases, string(f.Release)), append(versions, v)
		}
	}
	if len(places) == 0 {
		return nil
	}
	var place int
	var machines, proposed int64
	return db.Each(ctx, s.Pool, sqlFixMachines, pgx.NamedArgs{"places": places, "packages": packages,
		"releases": releases, "versions": versions, "since": index.DayOf(s.Now()).Time().AddDate(0, 0, 1-db.IndexDays)},
		[]any{&place, &machines, &proposed}, func() { fixes[place].Machines, fixes[place].Proposed = machines, proposed })
}

// WatchFixes judges the fixes of a problem, from the facts of its status, which must be set. For others than embargoed
// problems the result is the same for everyone.
func (s *Store) WatchFixes(ctx context.Context, b crash.Bucket, manual crash.ManualStatus) ([]stats.FixWatch, error) {
	fixes, err := s.Store.WatchFixes(ctx, b, manual)
	if err != nil || len(fixes) == 0 {
		return nil, db.Wrap(err, "fixes of %s", b.ID)
	}
	if manual.Embargo == nil {
		ctx = db.AsVisitor(ctx)
	}
	all := make([]*stats.FixWatch, len(fixes))
	for i := range fixes {
		all[i] = &fixes[i]
	}
	return fixes, db.Wrap(s.countFixes(ctx, all), "machines with the fixes of %s", b.ID)
}

// CountFixes completes fixes that [db.Store.WatchedFixes] returned.
func (s *Store) CountFixes(ctx context.Context, fixes []db.WatchedFix) error {
	var public, embargoed []*stats.FixWatch
	for i := range fixes {
		if t := fixes[i].Triage; t != nil && t.Embargoed {
			embargoed = append(embargoed, &fixes[i].FixWatch)
		} else {
			public = append(public, &fixes[i].FixWatch)
		}
	}
	if err := s.countFixes(ctx, embargoed); err != nil {
		return db.Wrap(err, "machines with fixes")
	}
	return db.Wrap(s.countFixes(db.AsVisitor(ctx), public), "machines with fixes")
}
