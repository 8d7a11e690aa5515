package rules

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/db"
	"mishap/notify/rules"
)

// sqlMachineDays counts the machines that reported problems on each day, among reports that arrived
// since a time. Machines without a hash are not counted.
const sqlMachineDays = `
	select m.head, r.day, count(distinct r.system_key)
	from buckets as m join reports as r on r.bucket_id = m.id
	where m.head = any(@heads) and r.received >= @received and r.counted and r.system_key is not null
		and r.day between @since and @until
	group by m.head, r.day`

// sqlHold extends the edges of a rising problem or of a storm, so that it does not begin anew, and
// returns how many there were.
const sqlHold = `
	update rule_edges set held = greatest(held, @held)
	where rule_id = @rule and bucket_id in (select id from buckets where head = @head)
		and starts_with(version, @kind) and held >= @after`

// usualMachines caches, for one day, how many machines a problem must exceed to be rising. The days
// before change only if a report arrives late, so they are read once.
type usualMachines struct {
	day   time.Time
	above map[crash.BucketID]usual
}

type usual struct {
	above int64
	known bool // false: the problem was first seen on the day
}

// maxUsual limits the number of cached problems.
const maxUsual = 100_000

// findRising finds problems that are rising today, or were yesterday: reports arrive late.
func (r *round) findRising(ctx context.Context) error {
	if !r.any(crash.EventRising) {
		return nil
	}
	today := crash.Midnight(r.now)
	for _, day := range []time.Time{today.AddDate(0, 0, -1), today} {
		if err := r.findRisingOn(ctx, day, day.Equal(today)); err != nil {
			return fmt.Errorf("rising problems: %w", err)
		}
	}
	return nil
}

func (r *round) findRisingOn(ctx context.Context, day time.Time, today bool) error {
	candidates := r.mayRise(day)
	cache := usualMachines{day: day, above: map[crash.BucketID]usual{}}
	if today {
		if !r.usual.day.Equal(day) || len(r.usual.above) > maxUsual {
			r.usual = cache
		}
		cache = r.usual
	}
	if err := r.readUsual(ctx, cache, candidates); err != nil {
		return err
	}
	var some []*index.Problem
	for _, p := range candidates {
		if u := cache.above[p.ID]; u.known && r.reportsOn(p, day) > u.above {
			some = append(some, p)
		}
	}
	if len(some) == 0 {
		return nil
	}
	machines, err := r.store.machineDays(ctx, some, day, day)
	if err != nil {
		return err
	}
	for _, p := range some {
		n, above := machines[p.ID][day], cache.above[p.ID].above
		if n <= above {
			continue
		}
		for _, rule := range r.of(crash.EventRising, p.Package, p.Source) {
			if n < rule.Machines || day.Before(crash.Midnight(rule.Since)) {
				continue
			}
			tag, err := r.store.Pool.Exec(ctx, sqlHold, pgx.NamedArgs{"rule": rule.ID, "head": p.ID[:],
				"kind": string(crash.EventRising), "held": day, "after": day.AddDate(0, 0, -rules.RisingPause)})
			if err != nil {
				return db.Classify(err)
			}
			if tag.RowsAffected() > 0 {
				continue
			}
			e := r.event(crash.EventRising, p, p.Public().Last(), n)
			e.Text = rules.RisingText(e, day, above)
			r.addHeld(rule, rules.Key(crash.EventRising, day.Format(time.DateOnly)), e, day)
		}
	}
	return nil
}

// mayRise returns the changed problems that a rule watches and that have enough reports on a day.
func (r *round) mayRise(day time.Time) []*index.Problem {
	var some []*index.Problem
	for _, p := range r.changed {
		watching := r.of(crash.EventRising, p.Package, p.Source)
		if len(watching) == 0 {
			continue
		}
		least := watching[0].Machines
		for _, rule := range watching {
			least = min(least, rule.Machines)
		}
		if r.reportsOn(p, day) >= least {
			some = append(some, p)
		}
	}
	return some
}

func (r *round) reportsOn(p *index.Problem, day time.Time) int64 {
	d := index.DayOf(day)
	return r.ix.Days(p, index.Filter{}, d, d)[0]
}

// readUsual completes the cache for some problems.
func (r *round) readUsual(ctx context.Context, cache usualMachines, some []*index.Problem) error {
	var unknown []*index.Problem
	for _, p := range some {
		if _, ok := cache.above[p.ID]; !ok {
			unknown = append(unknown, p)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	from := cache.day.AddDate(0, 0, -rules.MedianDays)
	machines, err := r.store.machineDays(ctx, unknown, from, cache.day.AddDate(0, 0, -1))
	if err != nil {
		return err
	}
	for _, p := range unknown {
		before := daysBefore(machines[p.ID], p.First().At, cache.day)
		cache.above[p.ID] = usual{rules.RisingAbove(before), len(before) > 0}
	}
	return nil
}

// daysBefore returns the machines on the seven days before a day, or on those since the problem was
// first seen.
func daysBefore(machines map[time.Time]int64, first, day time.Time) []int64 {
	from := day.AddDate(0, 0, -rules.MedianDays)
	if first = crash.Midnight(first); first.After(from) {
		from = first
	}
	var before []int64
	for at := from; at.Before(day); at = at.AddDate(0, 0, 1) {
		before = append(before, machines[at])
	}
	return before
}

// machineDays returns the number of machines that reported problems on each UTC day from since to
// until. A report can count on the day after its arrival, if the machine's clock is ahead.
func (s *Store) machineDays(ctx context.Context, some []*index.Problem, since, until time.Time,
) (map[crash.BucketID]map[time.Time]int64, error) {
	rows, err := s.Pool.Query(ctx, sqlMachineDays, pgx.NamedArgs{
		"heads": ids(some), "received": since.AddDate(0, 0, -1), "since": since, "until": until,
	})
	if err != nil {
		return nil, db.Classify(err)
	}
	machines := map[crash.BucketID]map[time.Time]int64{}
	var id crash.BucketID
	var day time.Time
	var n int64
	if _, err := pgx.ForEachRow(rows, []any{db.ScanTo(id[:]), &day, &n}, func() error {
		if machines[id] == nil {
			machines[id] = map[time.Time]int64{}
		}
		machines[id][day.UTC()] = n
		return nil
	}); err != nil {
		return nil, db.Classify(err)
	}
	return machines, nil
}
