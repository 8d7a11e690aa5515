package rules

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/audit"
	"mishap/db"
	"mishap/notify/rules"
)

const (
	// sqlSeenEdges returns the positions of edges that are stored for any bucket of their problems. The
	// limit ensures that each is looked up by index. Otherwise PostgreSQL may pair all edges with the same
	// rule and version first, which took 25 s instead of 60 ms for 14,000 new problems.
	sqlSeenEdges = `
		select w.place
		from unnest(@rules::bigint[], @buckets::bytea[], @keys::text[]) with ordinality as w (rule_id, head, key, place)
			join lateral (
				select from (select id from buckets where head = w.head union all select ''::bytea where w.head = '') as m
					join rule_edges as e on e.bucket_id = m.id and e.rule_id = w.rule_id and e.version = w.key
				limit 1
			) as stored on true`
	// sqlInsertEdge stores an edge for all buckets of a problem, so that it stays known if they are
	// separated or merged again.
	sqlInsertEdge = `
		insert into rule_edges (bucket_id, rule_id, version, at, held, outcome)
		select m.id, @rule, @key, @at, @held, @outcome from (
			select id from buckets where head = @head union all select ''::bytea where @head::bytea = ''
		) as m
		where not exists (
			select from buckets as o join rule_edges as e on e.bucket_id = o.id
			where o.head = @head and e.rule_id = @rule and e.version = @key
		)
		order by m.id
		on conflict do nothing returning bucket_id = @head`
	sqlInsertStormEdges = `
		insert into rule_edges (bucket_id, rule_id, version, at, held, outcome)
		select id, @rule, @key, @at, @at, 'storm' from buckets where head = any(@heads) order by id
		on conflict do nothing`
	sqlHoldStorm = `
		update rule_edges set held = greatest(held, @held) where rule_id = @rule and bucket_id = '' and version = @key`
	sqlPrepared    = `update rules set prepared = true where id = @id and since = @since`
	sqlSaveFailure = `update rules set failure = @failure, failed = @now where id = @id`
	sqlEndFailure  = `update rules set failure = '', failed = null where id = any(@ids) and failure <> ''`
)

// edgesPerTransaction limits the length of a transaction.
const edgesPerTransaction = 50

// prepare stores, for rules that have begun or begun anew, what holds already.
func (r *round) prepare(ctx context.Context) error {
	all := r.rules
	var fresh []rules.Rule
	for _, rule := range all {
		if !rule.Prepared {
			fresh = append(fresh, rule)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	r.rules = fresh
	r.watched = map[[2]string][]*rules.Rule{}
	for _, find := range []func(context.Context) error{r.findRegressed, r.findRefused, r.findDeadCredentials} {
		if err := find(ctx); err != nil {
			return err
		}
	}
	err := r.store.InTx(ctx, func(tx pgx.Tx) error {
		for _, e := range r.edges {
			if _, err := r.insertEdge(ctx, tx, e, "before"); err != nil {
				return err
			}
		}
		for _, rule := range fresh {
			if _, err := tx.Exec(ctx, sqlPrepared, pgx.NamedArgs{"id": rule.ID, "since": rule.Since}); err != nil {
				return err
			}
		}
		return nil
	})
	r.rules, r.watched, r.edges = all, map[[2]string][]*rules.Rule{}, nil
	return err
}

// insertEdge stores an edge. It returns false if the edge is stored already.
func (r *round) insertEdge(ctx context.Context, tx pgx.Tx, e rules.Edge, outcome string) (bool, error) {
	head, held := []byte{}, e.Held
	if e.Event.Bucket != nil {
		head = e.Event.Bucket[:]
	}
	if held.IsZero() {
		held = r.now
	}
	rows, err := tx.Query(ctx, sqlInsertEdge, pgx.NamedArgs{"rule": e.Rule.ID, "head": head, "key": e.Key, "at": r.now,
		"held": held, "outcome": outcome})
	if err != nil {
		return false, fmt.Errorf("store edge %s: %w", e.ID(), err)
	}
	own, err := pgx.CollectRows(rows, pgx.RowTo[bool])
	if err != nil {
		return false, fmt.Errorf("store edge %s: %w", e.ID(), err)
	}
	return slices.Contains(own, true), nil
}

// apply stores new edges and storms, and acts on them.
func (r *round) apply(ctx context.Context) error {
	if err := r.matchSearches(ctx, r.stormsToNotify()); err != nil {
		return err
	}
	for _, s := range r.storms {
		if err := r.applyStorm(ctx, s); err != nil {
			return err
		}
	}
	edges, err := r.unseen(ctx)
	if err != nil || len(edges) == 0 {
		return err
	}
	if err := r.matchSearches(ctx, toNotify(edges)); err != nil {
		return err
	}
	heads := [][]byte{}
	for _, e := range edges {
		if e.Event.Bucket != nil {
			heads = append(heads, e.Event.Bucket[:])
		}
	}
	muted, err := r.muted(ctx, heads)
	if err != nil {
		return err
	}
	failures := map[int64]error{}
	for chunk := range slices.Chunk(edges, edgesPerTransaction) {
		if err := r.store.InTx(ctx, func(tx pgx.Tx) error {
			for _, e := range chunk {
				outcome := "done"
				if e.Event.Bucket != nil && muted[*e.Event.Bucket] && e.Event.Kind != crash.EventRefused {
					outcome = "muted"
				}
				isNew, err := r.insertEdge(ctx, tx, e, outcome)
				if err != nil {
					return err
				}
				if !isNew || outcome != "done" {
					continue
				}
				failed, err := r.act(ctx, tx, e)
				if err != nil {
					return err
				}
				failures[e.Rule.ID] = errors.Join(failures[e.Rule.ID], failed)
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return r.saveFailures(ctx, failures)
}

// toNotify returns the problems of edges of which rules notify followers.
func toNotify(edges []rules.Edge) []crash.BucketID {
	var heads []crash.BucketID
	for _, e := range edges {
		if e.Event.Bucket != nil && e.Rule.Actions.Followers {
			heads = append(heads, *e.Event.Bucket)
		}
	}
	return heads
}

// stormsToNotify returns the problems of new storms of which rules notify followers.
func (r *round) stormsToNotify() []crash.BucketID {
	var heads []crash.BucketID
	for _, s := range r.storms {
		if s.goesOn == "" && s.Rule.Actions.Followers {
			heads = append(heads, s.problems...)
		}
	}
	return heads
}

// applyStorm stores a storm and its problems, and notifies people of it once.
func (r *round) applyStorm(ctx context.Context, s stormEdge) error {
	heads := make([][]byte, len(s.problems))
	for i := range heads {
		heads[i] = s.problems[i][:]
	}
	args := pgx.NamedArgs{"rule": s.Rule.ID, "key": s.Key, "held": s.storm.Until, "heads": heads, "at": r.now}
	return r.store.InTx(ctx, func(tx pgx.Tx) error {
		if s.goesOn == "" {
			s.Held = s.storm.Until
			isNew, err := r.insertEdge(ctx, tx, s.Edge, "done")
			if err != nil {
				return err
			}
			if isNew && s.Rule.Actions.Notifies() {
				if err := r.notify(ctx, tx, s.Edge, s.problems...); err != nil {
					return err
				}
			}
		}
		if _, err := tx.Exec(ctx, sqlHoldStorm, args); err != nil {
			return fmt.Errorf("store storm %s: %w", s.Key, err)
		}
		args["key"] = rules.Key(crash.EventNew)
		if _, err := tx.Exec(ctx, sqlInsertStormEdges, args); err != nil {
			return fmt.Errorf("store problems of storm %s: %w", s.Key, err)
		}
		return nil
	})
}

// unseen returns the edges that are not stored yet.
func (r *round) unseen(ctx context.Context) ([]rules.Edge, error) {
	if len(r.edges) == 0 {
		return nil, nil
	}
	ruleIDs, heads, keys := make([]int64, len(r.edges)), make([][]byte, len(r.edges)), make([]string, len(r.edges))
	for i, e := range r.edges {
		ruleIDs[i], keys[i], heads[i] = e.Rule.ID, e.Key, []byte{}
		if e.Event.Bucket != nil {
			heads[i] = e.Event.Bucket[:]
		}
	}
	rows, err := r.store.Pool.Query(ctx, sqlSeenEdges, pgx.NamedArgs{"rules": ruleIDs, "buckets": heads, "keys": keys})
	if err != nil {
		return nil, fmt.Errorf("edges that are stored: %w", db.Classify(err))
	}
	seen := make([]bool, len(r.edges))
	var place int
	if _, err := pgx.ForEachRow(rows, []any{&place}, func() error {
		seen[place-1] = true
		return nil
	}); err != nil {
		return nil, fmt.Errorf("edges that are stored: %w", db.Classify(err))
	}
	var edges []rules.Edge
	for i, e := range r.edges {
		if !seen[i] {
			edges = append(edges, e)
		}
	}
	return edges, nil
}

// act does what a rule says, in the transaction that stores the edge. failed says which actions
// were impossible; the others are done.
func (r *round) act(ctx context.Context, tx pgx.Tx, e rules.Edge) (failed, err error) {
	ctx = audit.WithActor(ctx, &audit.Actor{Kind: audit.Rule, Via: e.Rule.Name})
	a := e.Rule.Actions
	if a.Notifies() {
		var problems []crash.BucketID
		if e.Event.Bucket != nil {
			problems = append(problems, *e.Event.Bucket)
		}
		if err := r.notify(ctx, tx, e, problems...); err != nil {
			return nil, err
		}
	}
	if e.Event.Bucket == nil {
		return nil, nil
	}
	if a.Queue || a.File {
		if r.o.File == nil {
			failed = errors.Join(failed, errFilingOff)
		} else if err := r.propose(ctx, tx, e); err != nil {
			return nil, err
		}
	}
	for _, change := range []struct {
		wanted bool
		do     func(pgx.Tx) error
	}{
		{a.Embargo != rules.EmbargoNever, func(tx pgx.Tx) error {
			return r.o.Actions.Embargo(ctx, tx, *e.Event.Bucket, a.Embargo, *e.Rule)
		}},
		{a.Mute != nil, func(tx pgx.Tx) error { return r.o.Actions.Mute(ctx, tx, *e.Event.Bucket, *a.Mute, e.Rule.Name) }},
		{a.Assign != "", func(tx pgx.Tx) error {
			return r.o.Actions.Assign(ctx, tx, *e.Event.Bucket, a.Assign, e.Rule.Name)
		}},
		{a.Tag != "", func(tx pgx.Tx) error { return r.o.Actions.Tag(ctx, tx, *e.Event.Bucket, a.Tag, e.Rule.Name) }},
	} {
		switch {
		case !change.wanted:
		case r.o.Actions == nil:
			failed = errors.Join(failed, errNoActions)
		default:
			why := pgx.BeginFunc(ctx, tx, change.do) // a savepoint: the other actions stay
			if crash.KindOf(why) == 0 && why != nil || errors.Is(why, crash.Unavailable) {
				return nil, why
			}
			failed = errors.Join(failed, why)
		}
	}
	return failed, nil
}

var (
	errFilingOff = crash.Errorf(crash.Forbidden, "filing_off",
		"Creating bugs is switched off (allow_bug_filing), so the rule neither queues nor files bugs.")
	errNoActions = crash.Errorf(crash.Unprocessable, "no_actions",
		"This installation cannot mute, assign, tag or embargo problems by rule.")
)

// saveFailures stores why actions failed, for administrators, and removes failures of rules whose
// actions have succeeded.
func (r *round) saveFailures(ctx context.Context, failures map[int64]error) error {
	var fine []int64
	for id, failed := range failures {
		if failed == nil {
			fine = append(fine, id)
			continue
		}
		sentence := "An action failed. The log has details."
		if e, ok := errors.AsType[*crash.Error](failed); ok {
			sentence = e.Message
		}
		r.o.Log.WarnContext(ctx, "an action of a rule failed", "rule", id, "error", failed)
		if _, err := r.store.Pool.Exec(ctx, sqlSaveFailure, pgx.NamedArgs{
			"id": id, "failure": sentence, "now": r.now,
		}); err != nil {
			return fmt.Errorf("store the failure of rule %d: %w", id, db.Classify(err))
		}
	}
	if len(fine) == 0 {
		return nil
	}
	if _, err := r.store.Pool.Exec(ctx, sqlEndFailure, pgx.NamedArgs{"ids": fine}); err != nil {
		return fmt.Errorf("end failures of rules: %w", db.Classify(err))
	}
	return nil
}

// addHeld works like add, for a condition that may hold for some time.
func (r *round) addHeld(rule *rules.Rule, key string, e crash.Event, held time.Time) {
	r.add(rule, key, e)
	r.edges[len(r.edges)-1].Held = held
}
