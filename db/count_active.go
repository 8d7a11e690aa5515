package db

import (
	"context"
	"slices"
	"time"
	"unique"

	"github.com/jackc/pgx/v5"
)

const (
	sqlSpans = `
		select s.release, s.system, s.from_day, s.until_day
		from unnest(@release::text[], @system::bigint[]) as m (release, system)
			join release_systems as s on s.release = m.release and s.system = m.system
		order by s.release, s.system, s.from_day`
	sqlDropSpans = `
		delete from release_systems as s
		using unnest(@release::text[], @system::bigint[], @from::date[]) as m (release, system, from_day)
		where s.release = m.release and s.system = m.system and s.from_day = m.from_day`
	// sqlPutSpans updates the row of a span if only its end has changed.
	sqlPutSpans = `
		insert into release_systems as s (release, system, from_day, until_day)
		select * from unnest(@release::text[], @system::bigint[], @from::date[], @until::date[])
		on conflict (release, system, from_day) do update set until_day = excluded.until_day`
	// sqlShareSpans marks the spans of machines that have spans in several releases.
	sqlShareSpans = `
		update release_systems as s set shared = true
		where s.system = any(@system::bigint[]) and not s.shared
			and exists (select from release_systems as o where o.system = s.system and o.release <> s.release)`
	sqlChangeActive = `
		insert into release_active as a (release, day, change)
		select * from unnest(@release::text[], @day::date[], @change::bigint[])
		on conflict (release, day) do update set change = a.change + excluded.change`
)

// activeDays is the number of days for which a machine counts as active, starting with the day of
// its report. The existing service also counts a user for 90 days.
const activeDays = 90

type (
	// machine identifies a machine during its time on one release.
	machine struct {
		release string
		system  int64
	}
	// daySpan is a range of days on which a machine is active, inclusive at both ends.
	daySpan struct{ from, until time.Time }
	spanRow struct {
		machine
		daySpan
	}
	activeDay struct {
		release string
		day     time.Time
	}
)

// mergeDays extends the spans of one machine by the days on which it sent reports. It expects and
// returns sorted spans with at least one day between any two of them.
func mergeDays(spans []daySpan, days []time.Time) []daySpan {
	all := slices.Clone(spans)
	for _, d := range days {
		all = append(all, daySpan{d, d.AddDate(0, 0, activeDays-1)})
	}
	slices.SortFunc(all, func(a, b daySpan) int { return a.from.Compare(b.from) })
	merged := all[:0]
	for _, s := range all {
		if last := len(merged) - 1; last >= 0 && !s.from.After(merged[last].until.AddDate(0, 0, 1)) {
			if s.until.After(merged[last].until) {
				merged[last].until = s.until
			}
			continue
		}
		merged = append(merged, s)
	}
	return merged
}

// countActive records the days on which the machines of a round are active, and queues the
// statements that write them. For most machines nothing changes, so nothing is written. It returns
// the last span of each machine that changed, for the cache.
func (c *roundSum) countActive(ctx context.Context, tx pgx.Tx, write *pgx.Batch) (map[cachedMachine]cachedSpan, error) {
	if len(c.active) == 0 {
		return nil, nil
	}
	machines := keysOf(c.active)
	rows, err := tx.Query(ctx, sqlSpans, pgx.NamedArgs{
		"release": column(machines, func(m machine) string { return m.release }),
		"system":  column(machines, func(m machine) int64 { return m.system }),
	})
	if err != nil {
		return nil, err
	}
	stored := map[machine][]daySpan{}
	var row spanRow
	if _, err := pgx.ForEachRow(rows, []any{&row.release, &row.system, &row.from, &row.until}, func() error {
		stored[row.machine] = append(stored[row.machine], daySpan{row.from.UTC(), row.until.UTC()})
		return nil
	}); err != nil {
		return nil, err
	}
	changes := newSpanChanges()
	last := make(map[cachedMachine]cachedSpan, len(machines))
	for _, m := range machines {
		after := mergeDays(stored[m], c.active[m])
		changes.add(m, stored[m], after)
		end := after[len(after)-1]
		last[newCachedMachine(m)] = cachedSpan{dayNumber(end.from), dayNumber(end.until)}
	}
	changes.queue(write)
	return last, nil
}

// spanChanges holds changes of release_systems, and those of release_active that follow.
type spanChanges struct {
	drop, put []spanRow
	systems   []int64             // machines without a span in one of their releases until now
	active    map[activeDay]int64 // change in the number of active machines, from that day on
}

func newSpanChanges() *spanChanges { return &spanChanges{active: map[activeDay]int64{}} }

// add replaces the spans of a machine.
func (c *spanChanges) add(m machine, before, after []daySpan) {
	if len(before) == 0 {
		c.systems = append(c.systems, m.system)
	}
	for _, s := range before {
		if slices.Contains(after, s) {
			continue
		}
		c.active[activeDay{m.release, s.from}]--
		c.active[activeDay{m.release, s.until.AddDate(0, 0, 1)}]++
		if !slices.ContainsFunc(after, func(n daySpan) bool { return n.from.Equal(s.from) }) {
			c.drop = append(c.drop, spanRow{m, s})
		}
	}
	for _, s := range after {
		if slices.Contains(before, s) {
			continue
		}
		c.active[activeDay{m.release, s.from}]++
		c.active[activeDay{m.release, s.until.AddDate(0, 0, 1)}]--
		c.put = append(c.put, spanRow{m, s})
	}
}

// queue queues the statements that write the changes.
func (c *spanChanges) queue(write *pgx.Batch) {
	args := func(rows []spanRow) pgx.NamedArgs {
		return pgx.NamedArgs{
			"release": column(rows, func(r spanRow) string { return r.release }),
			"system":  column(rows, func(r spanRow) int64 { return r.system }),
			"from":    column(rows, func(r spanRow) time.Time { return r.from }),
			"until":   column(rows, func(r spanRow) time.Time { return r.until }),
		}
	}
	write.Queue(sqlDropSpans, args(c.drop))
	write.Queue(sqlPutSpans, args(c.put))
	write.Queue(sqlShareSpans, pgx.NamedArgs{"system": c.systems})
	days := slices.DeleteFunc(keysOf(c.active), func(d activeDay) bool { return c.active[d] == 0 })
	write.Queue(sqlChangeActive, pgx.NamedArgs{
		"release": column(days, func(d activeDay) string { return d.release }),
		"day":     column(days, func(d activeDay) time.Time { return d.day }),
		"change":  column(days, func(d activeDay) int64 { return c.active[d] }),
	})
}

// maxCachedSpans is the maximum number of machines whose last span is cached, at about 30 bytes
// each.
const maxCachedSpans = 1 << 17

type (
	// cachedSpans caches the last stored span of machines. Spans shrink only when a machine is erased,
	// which ends the validity of the cache. So a cached span never covers too much.
	cachedSpans struct {
		rowCache[cachedMachine, cachedSpan]
	}
	cachedMachine struct {
		release unique.Handle[string]
		system  int64
	}
	cachedSpan struct{ from, until int32 } // days since 1970
)

func newCachedMachine(m machine) cachedMachine {
	return cachedMachine{unique.Make(m.release), m.system}
}

func dayNumber(day time.Time) int32 {
	return int32(day.Unix() / (24 * 60 * 60)) //nolint:gosec // in range for millions of years
}

// covers reports whether a cached span already covers all days on which a report of that day makes
// the machine active.
func (c *cachedSpans) covers(server serverID, m machine, day time.Time) bool {
	span, ok := c.find(server, newCachedMachine(m))
	n := dayNumber(day)
	return ok && span.from <= n && n+activeDays-1 <= span.until
}
