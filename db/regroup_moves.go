package db

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
)

const (
	sqlSplitTargets = `
		select other_id from decisions
		where kind = 'split' and undone_at is null and other_id = any(@buckets::bytea[])`
	sqlBucketExists   = `select exists (select from buckets where id = @id)`
	sqlCurrentBuckets = `
		select r.id, r.bucket_id from unnest(@ids::uuid[], @received::timestamptz[]) as m (id, received)
			join reports as r on r.received = m.received and r.id = m.id`
	sqlInheritSplits = `
		insert into split_sources (bucket_id, decision_id)
		select @to, s.decision_id from split_sources as s join decisions as d on d.id = s.decision_id
		where s.bucket_id = @from and d.undone_at is null and d.other_id <> @to
		on conflict do nothing
		returning decision_id`
	// sqlRestartSplit makes a split examine the stored reports again, from the start.
	sqlRestartSplit = `update decisions set received = null, report_id = null, finished = false where id = @id`
)

// bucketPair holds the ids of the buckets between which reports move. An empty id stands for no
// bucket.
type bucketPair struct{ from, to string }

type pairCount struct {
	signature string
	isNew     bool
	reports   int64
}

// regroupReports moves the reports to which the new rules give another bucket. Decisions of people
// take precedence: a report in the target of a split stays there.
func (s *Decisions) regroupReports(ctx context.Context, run crash.RegroupRun, reports []groupedReport) error {
	return s.decide(ctx, func(d *deciding) error {
		if err := d.countAll(ctx); err != nil {
			return err
		}
		names := map[crash.BucketID]crash.BucketID{}
		for _, r := range reports {
			if id := nameOf(r.counted, r.grouping.Rule, r.address); id != nil {
				names[*id] = *r.own()
			}
		}
		pairs, err := d.regroup(ctx, reports, names, run.Rules)
		if err != nil {
			return err
		}
		return d.addMoves(ctx, run, pairs)
	})
}

// regroup moves the reports to the buckets of their new groupings. It then merges provisional buckets
// for which names are given. It returns how many reports moved between which buckets.
func (d *deciding) regroup(ctx context.Context, reports []groupedReport, names map[crash.BucketID]crash.BucketID,
	rules int) (map[bucketPair]pairCount, error) {
	moves, pairs, err := d.regroupMoves(ctx, reports)
	if err != nil {
		return nil, err
	}
	if _, err := d.moveReports(ctx, moves, rules); err != nil {
		return nil, err
	}
	if err := d.stampRule(ctx, reports, moves); err != nil {
		return nil, err
	}
	if err := d.inheritNew(ctx, pairs); err != nil {
		return nil, err
	}
	if _, err := d.store.insertNames(ctx, d, d.server, names); err != nil {
		return nil, err
	}
	return pairs, d.store.adoptProvisional(ctx, d, d.round)
}

// regroupMoves decides to which bucket each report moves. It also counts the moves for each pair of
// buckets.
func (d *deciding) regroupMoves(ctx context.Context, reports []groupedReport) ([]move, map[bucketPair]pairCount,
	error) {
	var moves []move
	pairs := map[bucketPair]pairCount{}
	if err := d.refreshBuckets(ctx, reports); err != nil {
		return nil, nil, err
	}
	splitOff, err := d.splitTargets(ctx, reports)
	if err != nil {
		return nil, nil, err
	}
	p := newPlacer(d.store, d)
	exists := map[crash.BucketID]bool{}
	for i := range reports {
		r := &reports[i]
		if r.from != nil && splitOff[*r.from] {
			continue
		}
		to := r.own()
		pair := bucketPair{}
		count := pairCount{}
		if r.from != nil {
			pair.from = string(r.from[:])
		}
		if to != nil {
			placed, err := p.place(ctx, &r.askedReport, *to)
			if err != nil {
				return nil, nil, err
			}
			if count.isNew, err = d.isNew(ctx, exists, placed); err != nil {
				return nil, nil, err
			}
			to, pair.to = &placed, string(placed[:])
			count.signature = crash.Truncate(r.grouping.Signature, maxMoveSignature)
		}
		if sameBucket(r.from, to) {
			continue
		}
		if known, ok := pairs[pair]; ok {
			count = known
		}
		count.reports++
		pairs[pair] = count
		moves = append(moves, move{id: r.id, to: to, grouping: r.grouping})
	}
	return moves, pairs, nil
}

// refreshBuckets reads the present buckets of reports, which may have moved since they were read.
func (d *deciding) refreshBuckets(ctx context.Context, reports []groupedReport) error {
	var at reportRows
	for _, r := range reports {
		at.add(r.id, move{})
	}
	rows, err := d.Query(ctx, sqlCurrentBuckets, pgx.NamedArgs{"ids": at.ids, "received": at.received})
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

// splitTargets returns those buckets of the reports that are the target of a split.
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
	targets := map[crash.BucketID]bool{}
	found, err := pgx.CollectRows(rows, scanID)
	for _, id := range found {
		targets[id] = true
	}
	return targets, err
}

// isNew reports whether a bucket does not exist yet. It caches the answers in exists.
func (d *deciding) isNew(ctx context.Context, exists map[crash.BucketID]bool, id crash.BucketID) (bool, error) {
	known, ok := exists[id]
	if !ok {
		if err := d.QueryRow(ctx, sqlBucketExists, pgx.NamedArgs{"id": id[:]}).Scan(&known); err != nil {
			return false, err
		}
		exists[id] = known
	}
	return !known, nil
}

// stampRule stores the new rule of the reports that do not move.
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

// inheritNew applies decisions about a bucket to the new bucket that its reports move to. The new
// one is merged into the same head, and the same splits apply to it.
func (d *deciding) inheritNew(ctx context.Context, pairs map[bucketPair]pairCount) error {
	for _, pair := range sortedPairs(pairs) {
		if !pairs[pair].isNew || pair.from == "" || pair.to == "" {
			continue
		}
		from, to := crash.BucketID([]byte(pair.from)), crash.BucketID([]byte(pair.to))
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

// inheritSplits applies the splits of the bucket from to the present and future reports of the
// bucket to.
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
		if _, err := d.Exec(ctx, sqlRestartSplit, pgx.NamedArgs{"id": id}); err != nil {
			return err
		}
		if err := d.store.addSplitJob(ctx, d, id); err != nil {
			return err
		}
	}
	return nil
}

func sortedPairs(pairs map[bucketPair]pairCount) []bucketPair {
	return slices.SortedFunc(maps.Keys(pairs), func(a, b bucketPair) int {
		return strings.Compare(a.from+a.to, b.from+b.to)
	})
}

// addMoves adds counts to the moves of a run.
func (d *deciding) addMoves(ctx context.Context, run crash.RegroupRun, pairs map[bucketPair]pairCount) error {
	var moved int64
	for _, pair := range sortedPairs(pairs) {
		c := pairs[pair]
		moved += c.reports
		if _, err := d.Exec(ctx, sqlAddMove, pgx.NamedArgs{
			"run": run.ID, "from": []byte(pair.from), "to": []byte(pair.to), "signature": c.signature, "is_new": c.isNew,
			"reports": c.reports,
		}); err != nil {
			return fmt.Errorf("record moves: %w", err)
		}
	}
	_, err := d.Exec(ctx, sqlRunMoved, pgx.NamedArgs{"id": run.ID, "moved": moved})
	return err
}
