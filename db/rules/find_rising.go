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

// sqlMachinesIn counts the machines that reported problems on some days. A report can count on the
// day after its arrival, if the machine's clock is ahead. Machines without a hash are not counted.
const sqlMachinesIn = `
	select m.head, count(distinct r.system_key)
	from buckets as m join reports as r on r.bucket_id = m.id
	where m.head = any(@heads) and r.received >= @since::date - 1 and r.counted and r.system_key is not null
		and r.day between @since and @until
	group by m.head`

// sqlHold extends the edges of a rising problem or of a storm, so that it does not begin anew, and
// returns how many there were.
const sqlHold = `
	update rule_edges set held = greatest(held, @held)
	where rule_id = @rule and bucket_id in (select id from buckets where head = @head)
		and starts_with(version, @kind) and held >= @after`

// findRising finds the changed problems that are rising.
func (r *round) findRising(ctx context.Context) error {
	if !r.any(crash.EventRising) {
		return nil
	}
	today := crash.Midnight(r.now)
	rising := r.ix.Rising(index.DayOf(today))
	var some []*index.Problem
	for _, p := range r.changed {
		if _, rises := rising[p.ID]; rises && len(r.of(crash.EventRising, p.Package, p.Source)) > 0 {
			some = append(some, p)
		}
	}
	machines, err := r.store.machinesIn(ctx, some, today)
	if err != nil {
		return fmt.Errorf("rising problems: %w", err)
	}
	for _, p := range some {
		n := machines[p.ID]
		for _, rule := range r.of(crash.EventRising, p.Package, p.Source) {
			if n < rule.Machines {
				continue
			}
			tag, err := r.store.Pool.Exec(ctx, sqlHold, pgx.NamedArgs{"rule": rule.ID, "head": p.ID[:],
				"kind": string(crash.EventRising), "held": today, "after": today.AddDate(0, 0, -rules.RisingPause)})
			if err != nil {
				return fmt.Errorf("rising problems: %w", db.Classify(err))
			}
			if tag.RowsAffected() > 0 {
				continue
			}
			e := r.event(crash.EventRising, p, p.Public().Last(), n)
			e.Text = rules.RisingText(e, today, rising[p.ID].Week, rising[p.ID].Before)
			r.addHeld(rule, rules.Key(crash.EventRising, today.Format(time.DateOnly)), e, today)
		}
	}
	return nil
}

// machinesIn returns the number of machines that reported problems in the week up to a day.
func (s *Store) machinesIn(ctx context.Context, some []*index.Problem, until time.Time,
) (map[crash.BucketID]int64, error) {
	machines := map[crash.BucketID]int64{}
	if len(some) == 0 {
		return machines, nil
	}
	rows, err := s.Pool.Query(ctx, sqlMachinesIn, pgx.NamedArgs{
		"heads": ids(some), "since": until.AddDate(0, 0, 1-crash.PeriodWeek.Days()), "until": until,
	})
	if err != nil {
		return nil, db.Classify(err)
	}
	var id crash.BucketID
	var n int64
	_, err = pgx.ForEachRow(rows, []any{db.ScanTo(id[:]), &n}, func() error {
		machines[id] = n
		return nil
	})
	return machines, db.Classify(err)
}
