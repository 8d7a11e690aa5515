package doors

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash/stats"
	"mishap/db"
)

const (
	sqlClearInstalls = `delete from installs where day = any(@days::date[]) or day < @first`
	sqlAddInstalls   = `
		insert into installs (day, release, architecture, package, version, machines, source, imported)
		select *, @source, @now from unnest(@days::date[], @releases::text[], @architectures::text[],
			@packages::text[], @versions::text[], @machines::bigint[])`
	// sqlInstalls sums up imports by day.
	sqlInstalls = `
		select day, coalesce(sum(machines) filter (where package = ''), 0)::bigint,
			count(distinct release) filter (where package = ''), count(distinct (package, version)) filter (where package <> ''),
			min(source), max(imported)
		from installs group by day order by day desc limit @limit`
)

// ImportInstalls stores numbers of machines. They replace everything that was imported of the same days. It returns
// these days.
func (s *Store) ImportInstalls(ctx context.Context, all []stats.Install, source string) (days []time.Time, err error) {
	args := pgx.NamedArgs{"source": source, "now": s.Now(), "first": s.Now().UTC().AddDate(0, 0, -keepPings)}
	column := func(of func(stats.Install) string) (texts []string) {
		for _, i := range all {
			texts = append(texts, of(i))
		}
		return texts
	}
	var machines []int64
	var each []time.Time
	for _, i := range all {
		machines, each = append(machines, i.Machines), append(each, i.Day)
	}
	args["days"], args["machines"] = each, machines
	args["releases"] = column(func(i stats.Install) string { return string(i.Release) })
	args["architectures"] = column(func(i stats.Install) string { return i.Architecture })
	args["packages"] = column(func(i stats.Install) string { return i.Package })
	args["versions"] = column(func(i stats.Install) string { return i.Version })
	days = slices.Clone(each)
	slices.SortFunc(days, time.Time.Compare)
	days = slices.CompactFunc(days, time.Time.Equal)
	err = s.InTx(ctx, func(tx pgx.Tx) error {
		if err := db.Exec(ctx, tx, args, sqlClearInstalls, sqlAddInstalls); err != nil {
			return err
		}
		return s.Audit(ctx, tx, db.AuditEvent{Action: "installs.import", Subject: source, After: map[string]any{
			"rows": len(all), "first_day": days[0].Format(time.DateOnly), "last_day": days[len(days)-1].Format(time.DateOnly)}})
	})
	return days, db.Wrap(err, "import numbers of machines")
}

// Installs returns the imports of the newest days.
func (s *Store) Installs(ctx context.Context, limit int) ([]stats.InstallDay, error) {
	all, err := db.List(ctx, s.Pool, sqlInstalls, pgx.NamedArgs{"limit": limit}, pgx.RowToStructByPos[stats.InstallDay])
	return all, db.Wrap(err, "imported numbers of machines")
}
