package db

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
)

const (
	sqlSplitTargets = `select other_id from decisions where kind = 'split' and undone_at is null and other_id = any(@buckets::bytea[])`
	sqlBucketThere  = `select exists (select from buckets where id = @id)`
	sqlCurrentPlace = `
		select r.id, r.bucket_id from unnest(@ids::uuid[], @received::timestamptz[]) as m (id, received)
			join reports as r on r.received = m.received and r.id = m.id`
	sqlInheritSplits = `
		insert into split_sources (bucket_id, decision_id)
		select @to, s.decision_id from split_sources as s join decisions as d on d.id = s.decision_id
		where s.bucket_id = @from and d.undone_at is null and d.other_id <> @to
		on conflict do nothing
		returning decision_id`
	// What is stored there is looked through too, from the start.
	sqlLookAgain = `update decisions set received = null, report_id = null, finished = false where id = @id`
)

// way is from where to where reports move; an empty text: in no bucket.
type way struct{ from, to string }

type wayCount struct {
	signature string
	isNew     bool
	reports   int64
}

// regroupReports moves reports that the new rules see otherwise. What people decided stays: a report that was taken out stays
// where it is.
func (s *Decisions) regroupReports(ctx context.Context, run crash.RegroupRun, reports []groupedReport) error {
	return s.decide(ctx, func(d *deciding) error {
		if err := d.countAll(ctx); err != nil {
			return err
		}
		moves, ways, err := d.regroupMoves(ctx, reports)
		if err != nil {
			return err
		}
		if _, err := d.moveReports(ctx, moves, run.Rules); err != nil {
			return err
		}
		if err := d.stampRule(ctx, reports, moves); err != nil {
			return err
		}
		if err := d.inheritNew(ctx, ways); err != nil {
			return err
		}
		names := map[crash.BucketID]crash.BucketID{}
		for _, r := range reports {
			if id := nameOf(r.counted, r.grouping.Rule, r.address); id != nil {
				names[*id] = *r.own()
			}
		}
		if _, err := s.learnNames(ctx, d, d.server, names); err != nil {
			return err
		}
		if err := s.adoptProvisional(ctx, d, d.round); err != nil {
			return err
		}
		return d.noteWays(ctx, run, ways)
	})
}

// regroupMoves decides where each report goes, as it stands now, and counts that by ways.
func (d *deciding) regroupMoves(ctx context.Context, reports []groupedReport) ([]move, map[way]wayCount, error) {
	var moves []move
	ways := map[way]wayCount{}
	if err := d.refreshPlaces(ctx, reports); err != nil {
		return nil, nil, err
	}
	kept, err := d.splitTargets(ctx, reports)
	if err != nil {
		return nil, nil, err
	}
	p := newPlacer(d.store, d)
	there := map[crash.BucketID]bool{}
	for i := range reports {
		r := &reports[i]
		if r.from != nil && kept[*r.from] {
			continue
		}
		to := r.own()
		w := way{to: ""}
		count := wayCount{}
		if r.from != nil {
			w.from = string(r.from[:])
		}
		if to != nil {
			placed, err := p.place(ctx, &r.askedReport, *to)
			if err != nil {
				return nil, nil, err
			}
			if count.isNew, err = d.isNew(ctx, there, placed); err != nil {
				return nil, nil, err
			}
			to, w.to, count.signature = &placed, string(placed[:]), crash.Truncate(r.grouping.Signature, labelledUntil)
		}
		if sameBucket(r.from, to) {
			continue
		}
		if known, ok := ways[w]; ok {
			count = known
		}
		count.reports++
		ways[w] = count
		moves = append(moves, move{id: r.id, to: to, grouping: r.grouping})
	}
	return moves, ways, nil
}

// refreshPlaces reads where the reports are by now: they may have been moved since they were read.
func (d *deciding) refreshPlaces(ctx context.Context, reports []groupedReport) error {
	var at reportRows
	for _, r := range reports {
		at.add(r.id, move{})
	}
	rows, err := d.Query(ctx, sqlCurrentPlace, pgx.NamedArgs{"ids": at.ids, "received": at.received})
	if err != nil {
		return err
	}
	now := map[crash.OopsID]*crash.BucketID{}
	var id [16]byte
	var bucket []byte
	if _, err := pgx.ForEachRow(rows, []any{&id, &bucket}, func() error {
		now[id] = nil
		if bucket != nil {
			now[id] = (*crash.BucketID)(slices.Clone(bucket))
		}
		return nil
	}); err != nil {
		return err
	}
	for i := range reports {
		reports[i].from = now[reports[i].id]
	}
	return nil
}

// splitTargets are those buckets of the reports that people took reports out into.
func (d *deciding) splitTargets(ctx context.Context, reports []groupedReport) (map[crash.BucketID]bool, error) {
	var ids []crash.BucketID
	for _, r := range reports {
		if r.from != nil && !slices.Contains(ids, *r.from) {
			ids = append(ids, *r.from)
		}
	}
	rows, err := d.Query(ctx, sqlSplitTargets, pgx.NamedArgs{"buckets": IDBytes(ids)})
	if err != nil {
		return nil, err
	}
	kept := map[crash.BucketID]bool{}
	found, err := pgx.CollectRows(rows, scanID)
	for _, id := range found {
		kept[id] = true
	}
	return kept, err
}

func (d *deciding) isNew(ctx context.Context, there map[crash.BucketID]bool, id crash.BucketID) (bool, error) {
	known, ok := there[id]
	if !ok {
		if err := d.QueryRow(ctx, sqlBucketThere, pgx.NamedArgs{"id": id[:]}).Scan(&known); err != nil {
			return false, err
		}
		there[id] = known
	}
	return !known, nil
}

// stampRule notes the new rule of the reports that stay where they are.
func (d *deciding) stampRule(ctx context.Context, reports []groupedReport, moves []move) error {
	moved := map[crash.OopsID]bool{}
	for _, m := range moves {
		moved[m.id] = true
	}
	var rows reportRows
	for _, r := range reports {
		if !moved[r.id] {
			rows.add(r.id, move{grouping: r.grouping})
		}
	}
	_, err := d.Exec(ctx, sqlStampRule, pgx.NamedArgs{"ids": rows.ids, "received": rows.received, "rule": rows.rule,
		"unbucketed": rows.unbucketed})
	return err
}

// inheritNew gives a bucket that the move has made what people decided about the one that its reports come from: it counts
// under the same head, and the same splits are asked.
func (d *deciding) inheritNew(ctx context.Context, ways map[way]wayCount) error {
	for _, w := range sortedWays(ways) {
		if !ways[w].isNew || w.from == "" || w.to == "" {
			continue
		}
		from, to := crash.BucketID([]byte(w.from)), crash.BucketID([]byte(w.to))
		if err := d.inheritSplits(ctx, from, to); err != nil {
			return err
		}
		heads, err := d.heads(ctx, []crash.BucketID{from, to})
		if errors.Is(err, crash.NotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if head := heads[from]; head != from && heads[to] == to && head != to {
			reason := "New grouping rules made this signature of one that counts here."
			if err := d.merge(ctx, to, head, crash.CauseRegrouped, "", reason); err != nil {
				return err
			}
		}
	}
	return nil
}

// inheritSplits has the splits of one bucket asked about the reports of another, those that are stored there as well.
func (d *deciding) inheritSplits(ctx context.Context, from, to crash.BucketID) error {
	rows, err := d.Query(ctx, sqlInheritSplits, pgx.NamedArgs{"from": from[:], "to": to[:]})
	if err != nil {
		return err
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return err
	}
	for _, id := range ids {
		if _, err := d.Exec(ctx, sqlLookAgain, pgx.NamedArgs{"id": id}); err != nil {
			return err
		}
		if err := d.store.addSplitJob(ctx, d, id); err != nil {
			return err
		}
	}
	return nil
}

func sortedWays(ways map[way]wayCount) []way {
	keys := make([]way, 0, len(ways))
	for w := range ways {
		keys = append(keys, w)
	}
	slices.SortFunc(keys, func(a, b way) int { return slices.Compare([]byte(a.from+a.to), []byte(b.from+b.to)) })
	return keys
}

// noteWays adds to what the run has moved, or would move.
func (d *deciding) noteWays(ctx context.Context, run crash.RegroupRun, ways map[way]wayCount) error {
	var moved int64
	for _, w := range sortedWays(ways) {
		c := ways[w]
		moved += c.reports
		if _, err := d.Exec(ctx, sqlAddMove, pgx.NamedArgs{
			"run": run.ID, "from": []byte(w.from), "to": []byte(w.to), "signature": c.signature, "is_new": c.isNew,
			"reports": c.reports,
		}); err != nil {
			return fmt.Errorf("note what moves: %w", err)
		}
	}
	_, err := d.Exec(ctx, sqlRunMoved, pgx.NamedArgs{"id": run.ID, "moved": moved})
	return err
}
