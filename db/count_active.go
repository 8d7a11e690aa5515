package db

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

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

type (
	spanRow struct {
		releaseSystem
		daySpan
	}
	dayOf struct {
		release string
		day     time.Time
	}
)

// activity keeps the spans in which machines are active. Most machines of a round are active already for as long as its
// reports make them, and then nothing is written. It returns the spans of those of which that was not known before.
func (c *roundSum) activity(ctx context.Context, tx pgx.Tx, p *pace) (after machineSpans, put []iter.Seq[statement], err error) {
	machines := slices.SortedFunc(maps.Keys(c.active), func(a, b releaseSystem) int {
		return cmp.Or(strings.Compare(a.release, b.release), cmp.Compare(a.system, b.system))
	})
	after = make(machineSpans, len(machines))
	var gone, come []spanRow
	changes := map[dayOf]int64{}
	for machines := range pieces(machines) {
		before := machineSpans{}
		if err := before.read(ctx, tx, machines); err != nil {
			return nil, nil, err
		}
		for _, m := range machines {
			after[m] = mergeDays(before[m], c.active[m])
			change := changeOfSpans(before[m], after[m])
			for _, s := range change.gone {
				if !slices.ContainsFunc(change.come, func(n daySpan) bool { return n.from.Equal(s.from) }) {
					gone = append(gone, spanRow{m, s})
				}
			}
			for _, s := range change.come {
				come = append(come, spanRow{m, s})
			}
			for day, n := range change.active {
				changes[dayOf{m.release, day}] += n
			}
		}
		p.rest()
	}
	return after, putActivity(gone, come, changes), nil
}

func putActivity(gone, come []spanRow, changes map[dayOf]int64) []iter.Seq[statement] {
	args := func(rows []spanRow) pgx.NamedArgs {
		return pgx.NamedArgs{
			"release": column(rows, func(r spanRow) string { return r.release }), "system": column(rows, func(r spanRow) int64 { return r.system }),
			"from": column(rows, func(r spanRow) time.Time { return r.from }), "until": column(rows, func(r spanRow) time.Time { return r.until }),
		}
	}
	maps.DeleteFunc(changes, func(_ dayOf, n int64) bool { return n == 0 })
	return []iter.Seq[statement]{
		inPieces(sqlDropSpans, gone, args),
		inPieces(sqlPutSpans, come, args),
		sortedInPieces(sqlChangeActive, changes, compareDaysOf, func(days []dayOf) pgx.NamedArgs {
			return pgx.NamedArgs{
				"release": column(days, func(d dayOf) string { return d.release }), "day": column(days, func(d dayOf) time.Time { return d.day }),
				"change": column(days, func(d dayOf) int64 { return changes[d] }),
			}
		}),
	}
}

func compareDaysOf(a, b dayOf) int {
	return cmp.Or(strings.Compare(a.release, b.release), a.day.Compare(b.day))
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
