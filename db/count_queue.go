package db

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

func (c *roundSum) queueVersions(b *pgx.Batch, machines map[versionCell]int64) {
	if len(c.versions) == 0 {
		return
	}
	keys := slices.SortedFunc(maps.Keys(c.versions), compareVersionCells)
	for keys := range pieces(keys) {
		b.Queue(sqlCountVersions, pgx.NamedArgs{
			"bucket":  column(keys, func(k versionCell) []byte { return k.bucket[:] }),
			"release": column(keys, func(k versionCell) string { return k.release }),
			"version": column(keys, func(k versionCell) string { return k.version }),
			"key":     column(keys, func(k versionCell) []byte { return c.keys.of(k.version) }),
			"n":       column(keys, func(k versionCell) int64 { return c.versions[k] }),
			"systems": column(keys, func(k versionCell) int64 { return machines[k] }),
		})
	}
}

func (c *roundSum) queueDays(b *pgx.Batch, round int64) {
	if len(c.days) == 0 {
		return
	}
	keys := slices.SortedFunc(maps.Keys(c.days), func(a, b dayCellKey) int {
		return cmp.Or(bytes.Compare(a.bucket[:], b.bucket[:]), a.day.Compare(b.day),
			compareVersionCells(a.versionCell, b.versionCell), strings.Compare(a.architecture, b.architecture))
	})
	for keys := range pieces(keys) {
		b.Queue(sqlCountDays, pgx.NamedArgs{
			"round":        round,
			"bucket":       column(keys, func(k dayCellKey) []byte { return k.bucket[:] }),
			"day":          column(keys, func(k dayCellKey) time.Time { return k.day }),
			"release":      column(keys, func(k dayCellKey) string { return k.release }),
			"version":      column(keys, func(k dayCellKey) string { return k.version }),
			"architecture": column(keys, func(k dayCellKey) string { return k.architecture }),
			"n":            column(keys, func(k dayCellKey) int64 { return c.days[k].reports }),
			"proposed":     column(keys, func(k dayCellKey) int64 { return c.days[k].proposed }),
		})
	}
}

func compareReleaseDays(a, b releaseDay) int {
	proposed := func(d releaseDay) int {
		if d.proposed {
			return 1
		}
		return 0
	}
	return cmp.Or(a.day.Compare(b.day), strings.Compare(a.release, b.release), strings.Compare(a.architecture, b.architecture),
		strings.Compare(a.problemType, b.problemType), proposed(a)-proposed(b))
}

// queueReports counts by day what is counted whether it has a bucket or not.
func (c *roundSum) queueReports(b *pgx.Batch) {
	if len(c.reports) == 0 {
		return
	}
	keys := slices.SortedFunc(maps.Keys(c.reports), func(a, b reportDay) int {
		return cmp.Or(strings.Compare(a.pkg, b.pkg), compareReleaseDays(a.releaseDay, b.releaseDay), strings.Compare(a.version, b.version))
	})
	for keys := range pieces(keys) {
		b.Queue(sqlCountReports, pgx.NamedArgs{
			"package":      column(keys, func(k reportDay) string { return k.pkg }),
			"day":          column(keys, func(k reportDay) time.Time { return k.day }),
			"release":      column(keys, func(k reportDay) string { return k.release }),
			"version":      column(keys, func(k reportDay) string { return k.version }),
			"architecture": column(keys, func(k reportDay) string { return k.architecture }),
			"problem_type": column(keys, func(k reportDay) string { return k.problemType }),
			"proposed":     column(keys, func(k reportDay) bool { return k.proposed }),
			"n":            column(keys, func(k reportDay) int64 { return c.reports[k] }),
		})
	}
	days := slices.SortedFunc(maps.Keys(c.releases), compareReleaseDays)
	b.Queue(sqlCountReleases, pgx.NamedArgs{
		"day":          column(days, func(k releaseDay) time.Time { return k.day }),
		"release":      column(days, func(k releaseDay) string { return k.release }),
		"architecture": column(days, func(k releaseDay) string { return k.architecture }),
		"problem_type": column(days, func(k releaseDay) string { return k.problemType }),
		"proposed":     column(days, func(k releaseDay) bool { return k.proposed }),
		"n":            column(days, func(k releaseDay) int64 { return c.releases[k] }),
	})
	seen := map[string]bool{}
	for d := range c.releases {
		if d.release != "" {
			seen[d.release] = true
		}
	}
	b.Queue(sqlSeeReleases, pgx.NamedArgs{"release": slices.Sorted(maps.Keys(seen))})
}

func (c *roundSum) queuePackages(b *pgx.Batch) {
	if len(c.packages) == 0 {
		return
	}
	keys := slices.SortedFunc(maps.Keys(c.packages), func(a, b packageVersion) int {
		return cmp.Or(strings.Compare(a.pkg, b.pkg), strings.Compare(a.release, b.release), strings.Compare(a.version, b.version))
	})
	b.Queue(sqlCountPackages, pgx.NamedArgs{
		"package": column(keys, func(k packageVersion) string { return k.pkg }),
		"release": column(keys, func(k packageVersion) string { return k.release }),
		"version": column(keys, func(k packageVersion) string { return k.version }),
		"key":     column(keys, func(k packageVersion) []byte { return c.keys.of(k.version) }),
		"arrived": column(keys, func(k packageVersion) time.Time { return c.packages[k] }),
	})
}

const (
	sqlSpans = `
		select s.release, s.system, s.from_day, s.until_day
		from unnest(@release::text[], @system::bigint[]) as m (release, system)
			join release_systems as s on s.release = m.release and s.system = m.system
		order by s.release, s.system, s.from_day`
	sqlDropSpans = `
		delete from release_systems as s using unnest(@release::text[], @system::bigint[], @from::date[]) as m (release, system, from_day)
		where s.release = m.release and s.system = m.system and s.from_day = m.from_day`
	// A span that only grew at its end keeps its row.
	sqlPutSpans = `
		insert into release_systems as s (release, system, from_day, until_day)
		select * from unnest(@release::text[], @system::bigint[], @from::date[], @until::date[])
		on conflict (release, system, from_day) do update set until_day = excluded.until_day`
	sqlChangeActive = `
		insert into release_active as a (release, day, change)
		select * from unnest(@release::text[], @day::date[], @change::bigint[])
		on conflict (release, day) do update set change = a.change + excluded.change`
)

// queueActive keeps the spans in which machines are active. Most machines of a round are active already for as long as its
// reports make them, and then nothing is written. It returns the spans of those of which that was not known before.
func (c *roundSum) queueActive(ctx context.Context, tx pgx.Tx, b *pgx.Batch) (machineSpans, error) {
	if len(c.active) == 0 {
		return nil, nil
	}
	machines := slices.SortedFunc(maps.Keys(c.active), func(a, b releaseSystem) int {
		return cmp.Or(strings.Compare(a.release, b.release), cmp.Compare(a.system, b.system))
	})
	before := machineSpans{}
	for machines := range pieces(machines) {
		began := time.Now()
		if err := before.read(ctx, tx, machines); err != nil {
			return nil, err
		}
		c.pace.rest(ctx, began)
	}
	after := make(machineSpans, len(machines))
	type row struct {
		releaseSystem
		daySpan
	}
	type dayOf struct {
		release string
		day     time.Time
	}
	var gone, come []row
	changes := map[dayOf]int64{}
	for _, m := range machines {
		after[m] = mergeDays(before[m], slices.Collect(maps.Keys(c.active[m])))
		change := changeOfSpans(before[m], after[m])
		for _, s := range change.gone {
			if !slices.ContainsFunc(change.come, func(n daySpan) bool { return n.from.Equal(s.from) }) {
				gone = append(gone, row{m, s})
			}
		}
		for _, s := range change.come {
			come = append(come, row{m, s})
		}
		for day, n := range change.active {
			changes[dayOf{m.release, day}] += n
		}
	}
	maps.DeleteFunc(changes, func(_ dayOf, n int64) bool { return n == 0 })
	args := func(rows []row) pgx.NamedArgs {
		return pgx.NamedArgs{
			"release": column(rows, func(r row) string { return r.release }), "system": column(rows, func(r row) int64 { return r.system }),
			"from": column(rows, func(r row) time.Time { return r.from }), "until": column(rows, func(r row) time.Time { return r.until }),
		}
	}
	for gone := range pieces(gone) {
		b.Queue(sqlDropSpans, args(gone))
	}
	for come := range pieces(come) {
		b.Queue(sqlPutSpans, args(come))
	}
	if len(changes) > 0 {
		days := slices.SortedFunc(maps.Keys(changes), func(a, b dayOf) int {
			return cmp.Or(strings.Compare(a.release, b.release), a.day.Compare(b.day))
		})
		b.Queue(sqlChangeActive, pgx.NamedArgs{
			"release": column(days, func(d dayOf) string { return d.release }), "day": column(days, func(d dayOf) time.Time { return d.day }),
			"change": column(days, func(d dayOf) int64 { return changes[d] }),
		})
	}
	return after, nil
}

// read adds the spans of some machines, as they are in the database.
func (spans machineSpans) read(ctx context.Context, tx pgx.Tx, machines []releaseSystem) error {
	rows, err := tx.Query(ctx, sqlSpans, pgx.NamedArgs{
		"release": column(machines, func(m releaseSystem) string { return m.release }),
		"system":  column(machines, func(m releaseSystem) int64 { return m.system }),
	})
	if err != nil {
		return err
	}
	var m releaseSystem
	var s daySpan
	_, err = pgx.ForEachRow(rows, []any{&m.release, &m.system, &s.from, &s.until}, func() error {
		spans[m] = append(spans[m], daySpan{s.from.UTC(), s.until.UTC()})
		return nil
	})
	return err
}
