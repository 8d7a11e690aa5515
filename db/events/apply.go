// Package events stores what people and other programs are told about events: inboxes, mails, and
// deliveries to endpoints. It stores rules, evaluates them after counting, and stores what they have
// seen, so that a restart or another instance does not repeat anything; it stores the problems that
// rules propose for filing, and rehearses rules on stored reports. [db.Handle.Publish] stores the events,
// and package notify/rules has the conditions.
package events

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/audit"
	"mishap/crash/index"
	"mishap/crash/stats"
	"mishap/db"
	"mishap/db/people"
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
	for _, find := range []func(context.Context) error{
		r.findRegressed, r.findUpstream, r.findRefused, r.findDeadCredentials,
	} {
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
	own, err := db.List(ctx, tx, sqlInsertEdge, pgx.NamedArgs{"rule": e.Rule.ID, "head": head, "key": e.Key, "at": r.now,
		"held": held, "outcome": outcome}, pgx.RowTo[bool])
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
	if err != nil {
		return err
	}
	if edges, err = r.meeting(ctx, edges); err != nil || len(edges) == 0 {
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
		_, err := tx.Exec(ctx, sqlInsertStormEdges, args)
		return db.Wrap(err, "store problems of storm %s", s.Key)
	})
}

// unseen returns the edges that are not stored yet.
func (r *round) unseen(ctx context.Context) ([]rules.Edge, error) {
	seen, err := r.seen(ctx, r.edges)
	if err != nil {
		return nil, err
	}
	var edges []rules.Edge
	for i, e := range r.edges {
		if !seen[i] {
			edges = append(edges, e)
		}
	}
	return edges, nil
}

// meeting returns the edges for which the further conditions of their rules hold.
func (r *round) meeting(ctx context.Context, edges []rules.Edge) (some []rules.Edge, err error) {
	for _, e := range edges {
		meets, err := r.meets(ctx, e.Rule, e.Event)
		if err != nil {
			return nil, err
		}
		if meets {
			some = append(some, e)
		}
	}
	return some, nil
}

// meets reports whether the further conditions of a rule hold for the problem of an event.
func (r *round) meets(ctx context.Context, rule *rules.Rule, e crash.Event) (bool, error) {
	if e.Bucket == nil || rule.If == (rules.Conditions{}) {
		return true, nil
	}
	if rule.If.Duplicate != rules.DuplicateEither {
		may, err := r.o.Facts.MayBeDuplicate(ctx, *e.Bucket)
		if err != nil || may != (rule.If.Duplicate == rules.DuplicateOnly) {
			return false, db.Wrap(err, "conditions of rule %d", rule.ID)
		}
	}
	if rule.If.Concentrated == (rules.Concentrated{}) {
		return true, nil
	}
	is, err := r.concentrated(ctx, *e.Bucket, rule.If.Concentrated)
	return is, db.Wrap(err, "conditions of rule %d", rule.ID)
}

// concentratedKey identifies a condition about where a problem is concentrated.
type concentratedKey struct {
	problem crash.BucketID
	rules.Concentrated
}

// notConcentrated says when such a condition did not hold, and on how many machines the problem was then.
type notConcentrated struct {
	day      time.Time
	machines int64
}

const (
	maxNotConcentrated = 10_000
	// askedAgain is by which share more machines must have a problem before the same question may have another answer.
	askedAgain = 5
)

// concentrated reports whether a problem is concentrated. The answer takes hundreds of reports, and the same edge is
// found in each round, so a negative answer is valid for the day, or until a fifth more machines have the problem.
func (r *round) concentrated(ctx context.Context, id crash.BucketID, c rules.Concentrated) (bool, error) {
	p, ok := r.ix.Problem(id)
	if !ok {
		return false, nil
	}
	key, today := concentratedKey{id, c}, crash.Midnight(r.now)
	if last, ok := r.not[key]; ok && last.day.Equal(today) && p.Systems < last.machines+max(1, last.machines/askedAgain) {
		return false, nil
	}
	field, pattern := c.Stats()
	is, err := r.o.Facts.ConcentratedOn(ctx, id, field, pattern)
	if err == nil && !is {
		if len(r.not) >= maxNotConcentrated {
			clear(r.not)
		}
		r.not[key] = notConcentrated{today, p.Systems}
	}
	return is, err
}

// seen reports which of the edges are stored.
func (r *round) seen(ctx context.Context, edges []rules.Edge) ([]bool, error) {
	if len(edges) == 0 {
		return nil, nil
	}
	ruleIDs, heads, keys := make([]int64, len(edges)), make([][]byte, len(edges)), make([]string, len(edges))
	for i, e := range edges {
		ruleIDs[i], keys[i], heads[i] = e.Rule.ID, e.Key, []byte{}
		if e.Event.Bucket != nil {
			heads[i] = e.Event.Bucket[:]
		}
	}
	seen := make([]bool, len(edges))
	var place int
	err := db.Each(ctx, r.store.Pool, sqlSeenEdges, pgx.NamedArgs{"rules": ruleIDs, "buckets": heads, "keys": keys},
		[]any{&place}, func() { seen[place-1] = true })
	return seen, db.Wrap(err, "edges that are stored")
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
		{a.Merge, func(tx pgx.Tx) error { return r.o.Actions.Merge(ctx, tx, *e.Event.Bucket, e.Rule.Name) }},
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
		"This installation cannot mute, assign, tag, embargo or merge problems by rule.")
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
	_, err := r.store.Pool.Exec(ctx, sqlEndFailure, pgx.NamedArgs{"ids": fine})
	return db.Wrap(err, "end failures of rules")
}

const (
	// sqlArrivedPackages finds the packages of problems that have arrived since the last evaluation,
	// and the first arrival of each.
	sqlArrivedPackages = `
		select coalesce(nullif(b.source_package, ''), b.package) as pkg, min(a.at)
		from bucket_arrivals as a join buckets as b on b.id = a.bucket_id
		where a.round > @after and a.at >= @since and b.source_package || b.package <> ''
		group by pkg`
	// sqlPackageArrivals omits problems of which another bucket has arrived before: they are not new,
	// even if function names or a merge have brought new buckets.
	sqlPackageArrivals = `
		select coalesce(nullif(b.source_package, ''), b.package) as pkg, min(b.package), min(b.source_package), b.head,
			min(a.at)
		from bucket_arrivals as a join buckets as b on b.id = a.bucket_id
		where a.at >= @since and coalesce(nullif(b.source_package, ''), b.package) = any(@packages)
			and not exists (
				select from buckets as m join bucket_arrivals as o on o.bucket_id = m.id
				where m.head = b.head and o.at < @since)
		group by pkg, b.head
		order by pkg, min(a.at), b.head`
	sqlOpenStorms = `
		select rule_id, version, at, held from rule_edges
		where bucket_id = '' and starts_with(version, 'storm:') and held >= @since`
)

// stormEdge is a storm, and the problems that arrived in it. They are not reported one by one.
type stormEdge struct {
	rules.Edge
	storm    rules.Storm
	problems []crash.BucketID
	goesOn   string // key of the stored storm that it continues; empty: it is new
}

// stormLookBack is how old arrivals may be that begin or continue a storm.
const stormLookBack = 24 * time.Hour

// arrival is the arrival of the first report of a problem.
type arrival struct {
	pkg, binary, source string
	problem             crash.BucketID
	at                  time.Time
}

// findStorms finds packages with many new problems, for each rule about new problems that watches
// them. The number of machines does not matter.
func (r *round) findStorms(ctx context.Context) error {
	arrivals, err := r.readArrivals(ctx)
	if err != nil || len(arrivals) == 0 {
		return err
	}
	open, err := r.openStorms(ctx)
	if err != nil {
		return err
	}
	for i := 0; i < len(arrivals); {
		n := i
		for n < len(arrivals) && arrivals[n].pkg == arrivals[i].pkg {
			n++
		}
		r.findStormsOf(arrivals[i:n], open)
		i = n
	}
	return nil
}

// readArrivals reads the recent arrivals of the packages that a new problem has, by package and
// time.
func (r *round) readArrivals(ctx context.Context) ([]arrival, error) {
	since := r.now.Add(-stormLookBack)
	var packages []string
	first := r.now
	var name string
	var at time.Time
	args := pgx.NamedArgs{"after": r.from.round, "since": since}
	if err := db.Each(ctx, r.store.Pool, sqlArrivedPackages, args, []any{&name, &at}, func() {
		packages = append(packages, name)
		if at.Before(first) {
			first = at
		}
	}); err != nil || len(packages) == 0 {
		return nil, err
	}
	arrivals, err := db.List(ctx, r.store.Pool, sqlPackageArrivals, pgx.NamedArgs{
		"packages": packages, "since": first.Add(-rules.StormTime),
	}, db.Into(func(a *arrival) []any { return []any{&a.pkg, &a.binary, &a.source, &a.problem, &a.at} }))
	return arrivals, db.Wrap(err, "new problems of packages")
}

// openStorm is a stored storm that arrivals may continue.
type openStorm struct {
	key      string
	at, held time.Time
}

func (r *round) openStorms(ctx context.Context) (map[int64][]openStorm, error) {
	open := map[int64][]openStorm{}
	var rule int64
	var s openStorm
	err := db.Each(ctx, r.store.Pool, sqlOpenStorms,
		pgx.NamedArgs{"since": r.now.Add(-stormLookBack - rules.StormTime)}, []any{&rule, &s.key, &s.at, &s.held}, func() {
			open[rule] = append(open[rule], s)
		})
	return open, db.Wrap(err, "storms")
}

// findStormsOf finds the storms among the arrivals of one package.
func (r *round) findStormsOf(arrivals []arrival, open map[int64][]openStorm) {
	pkg := arrivals[0].pkg
	prefix := rules.Key(crash.EventStorm, pkg) + ":"
	for _, rule := range r.of(crash.EventNew, arrivals[0].binary, arrivals[0].source) {
		var mine []arrival
		var times []time.Time
		for _, a := range arrivals {
			if a.at.After(rule.Since) {
				mine, times = append(mine, a), append(times, a.at)
			}
		}
		for _, s := range open[rule.ID] {
			if len(s.key) > len(prefix) && s.key[:len(prefix)] == prefix {
				mine = r.continueStorm(rule, s, mine)
			}
		}
		if len(mine) < len(times) { // those that continue a storm are part of no other
			times = times[:0]
			for _, a := range mine {
				times = append(times, a.at)
			}
		}
		for _, s := range rules.Storms(times) {
			e := crash.Event{Kind: crash.EventStorm, At: r.now, Title: "Many new problems of " + pkg, Package: pkg,
				Source: arrivals[0].source, Text: rules.StormText(pkg, s.Problems), Rule: rule.ID}
			storm := stormEdge{storm: s, Edge: rules.Edge{Rule: rule, Event: e,
				Key: prefix + s.From.UTC().Format(time.RFC3339)}}
			for _, a := range mine {
				if !a.at.Before(s.From) && !a.at.After(s.Until) {
					storm.problems = append(storm.problems, a.problem)
				}
			}
			r.storms = append(r.storms, storm)
		}
	}
}

// continueStorm adds arrivals to a stored storm, as long as they follow within StormTime. It
// returns the arrivals that are not part of it.
func (r *round) continueStorm(rule *rules.Rule, s openStorm, arrivals []arrival) []arrival {
	storm := stormEdge{Edge: rules.Edge{Rule: rule, Key: s.key}, goesOn: s.key, storm: rules.Storm{Until: s.held}}
	began := s.held // the key has the arrival of the first problem
	if at, err := time.Parse(time.RFC3339, s.key[len(s.key)-len("2006-01-02T15:04:05Z"):]); err == nil {
		began = at
	}
	others := slices.DeleteFunc(slices.Clone(arrivals), func(a arrival) bool {
		part := !a.at.Before(began) && a.at.Sub(storm.storm.Until) <= rules.StormTime
		if part {
			storm.problems = append(storm.problems, a.problem)
			if a.at.After(storm.storm.Until) {
				storm.storm.Until = a.at
			}
		}
		return part
	})
	if len(storm.problems) > 0 {
		r.storms = append(r.storms, storm)
	}
	return others
}

const (
	// sqlLockFiling makes instances take turns in claiming candidates, so that they keep the limits.
	sqlLockFiling = `select true from rule_progress for update`
	// sqlNextFiling also finds candidates whose instance died while it handed them over.
	sqlNextFiling = `
		select c.id, m.head, r.name, r.actions, r.enabled and r.deleted is null, c.state = 'filing',
			(select count(*) from candidates where automatic and state in ('filing', 'filed') and decided > @since
				and rule_id = c.rule_id and id <> c.id),
			(select count(*) from candidates where automatic and state in ('filing', 'filed') and decided > @since
				and id <> c.id),
			b.signature, ` + withoutBug + `
		from ` + candidateTables + ` join buckets as b on b.id = m.head
		where c.state = 'automatic' or c.state = 'filing' and c.decided < @lost
		order by c.created, c.id limit 1`
	sqlClaimFiling = `
		update candidates set state = @state, decided = @decided, decided_by = @by, failure = @failure,
			automatic = @automatic
		where id = @id`
)

const (
	filingPeriod = time.Hour
	// filingLost is how long an instance may take to hand a bug over. Handing it over twice files one
	// bug.
	filingLost = 5 * time.Minute
	// filingsPerRound limits the length of a round. The next one continues.
	filingsPerRound = 50
)

// dueFiling is a candidate that a rule files.
type dueFiling struct {
	id        int64
	problem   crash.BucketID
	signature string
	rule      string
}

// fileDue files the bugs that rules file without asking, within their limits. What exceeds a limit
// waits for a person.
func (e *Evaluator) fileDue(ctx context.Context) error {
	if e.o.File == nil {
		return nil
	}
	for range filingsPerRound {
		due, more, err := e.claimFiling(ctx)
		if err != nil {
			return fmt.Errorf("file bugs for rules: %w", err)
		}
		if due == nil && !more {
			return nil
		}
		if due == nil {
			continue
		}
		state, failure := rules.CandidateFiled, ""
		// A tracker that is not reachable gets the bug later: the intent is stored.
		ctx := audit.WithActor(ctx, &audit.Actor{Kind: audit.Rule, Via: due.rule})
		if err := e.o.File(ctx, due.signature, RulePerson(due.rule)); err != nil && crash.KindOf(err) != crash.Unavailable {
			state, failure = rules.CandidateWaiting, "The bug could not be filed. The log has details."
			if known, ok := errors.AsType[*crash.Error](err); ok {
				failure = known.Message
			}
			e.o.Log.WarnContext(ctx, "a rule could not file a bug", "rule", due.rule, "problem", due.problem.String(),
				"error", err)
		}
		if _, err := e.store.Pool.Exec(ctx, sqlClaimFiling, pgx.NamedArgs{"id": due.id, "state": state,
			"decided": e.store.Now(), "by": RulePerson(due.rule), "failure": failure, "automatic": failure == ""}); err != nil {
			return fmt.Errorf("file bugs for rules: %w", db.Classify(err))
		}
	}
	return nil
}

// RulePerson returns the name under which a rule files bugs. No account matches this name.
func RulePerson(rule string) string { return "rule: " + rule }

// claimFiling claims the next candidate that a rule files. due is nil if there is none, or if it
// exceeds a limit; more says which.
func (e *Evaluator) claimFiling(ctx context.Context) (due *dueFiling, more bool, err error) {
	now := e.store.Now()
	err = e.store.InTx(ctx, func(tx pgx.Tx) error {
		var locked, active, again, free bool
		if err := tx.QueryRow(ctx, sqlLockFiling).Scan(&locked); err != nil {
			return err
		}
		var d dueFiling
		var actions rules.Actions
		var ofRule, ofAll int
		err := tx.QueryRow(ctx, sqlNextFiling, pgx.NamedArgs{
			"since": now.Add(-filingPeriod), "lost": now.Add(-filingLost),
		}).Scan(&d.id, &d.problem, &d.rule, &actions, &active, &again, &ofRule, &ofAll, &d.signature, &free)
		if err != nil {
			return db.NoRows(err, nil)
		}
		more = true
		args := pgx.NamedArgs{"id": d.id, "state": rules.CandidateFiling, "decided": now, "by": RulePerson(d.rule),
			"failure":   "",
			"automatic": true}
		switch {
		case !free && !again: // a person was faster
			args["state"], args["automatic"] = rules.CandidateFiled, false
		case !again && !active:
			args["state"], args["failure"] = rules.CandidateWaiting, "The rule was switched off before it filed the bug."
		case !again && ofRule >= actions.HourlyLimit:
			args["state"], args["failure"] = rules.CandidateWaiting, fmt.Sprintf(
				"The rule has filed %d bugs within an hour, which is its limit.", ofRule)
		case !again && ofAll >= e.o.HourlyLimit:
			args["state"], args["failure"] = rules.CandidateWaiting, fmt.Sprintf(
				"Rules have filed %d bugs within an hour, which is the limit (rule_filings_per_hour).", ofAll)
		default:
			due = &d
		}
		if args["state"] == rules.CandidateWaiting {
			args["decided"], args["by"], args["automatic"] = nil, "", false
		}
		return db.Exec(ctx, tx, args, sqlClaimFiling)
	})
	return due, more, err
}

// Actions changes problems for rules, in the transaction that stores the edge. Its errors may be
// *crash.Error, whose messages administrators see.
type Actions interface {
	// Mute mutes a problem, unless it is muted already.
	Mute(ctx context.Context, tx pgx.Tx, bucket crash.BucketID, until rules.Mute, rule string) error
	// Assign assigns a problem to a person or team, unless somebody is assigned.
	Assign(ctx context.Context, tx pgx.Tx, bucket crash.BucketID, to, rule string) error
	// Tag adds a tag to a problem.
	Tag(ctx context.Context, tx pgx.Tx, bucket crash.BucketID, tag, rule string) error
	// Embargo embargoes a problem, unless it is embargoed already.
	Embargo(ctx context.Context, tx pgx.Tx, bucket crash.BucketID, when rules.Embargo, rule rules.Rule) error
	// Merge has a job merge a problem with its twins.
	Merge(ctx context.Context, tx pgx.Tx, bucket crash.BucketID, rule string) error
}

// Facts answers what conditions ask about a problem. Of single other problems it tells only what visitors may know,
// because what a rule does reveals whether its condition holds.
type Facts interface {
	// MayBeDuplicate reports whether a problem may be a duplicate of an older one.
	MayBeDuplicate(ctx context.Context, problem crash.BucketID) (bool, error)
	// ConcentratedOn reports whether a problem is concentrated on a value of a field that matches a pattern.
	ConcentratedOn(ctx context.Context, problem crash.BucketID, field stats.FacetField, pattern string) (bool, error)
}

// EvaluatorOptions configure an Evaluator.
type EvaluatorOptions struct {
	Facts   Facts   // needed by rules with conditions
	Actions Actions // nil: rules cannot mute, assign, tag, embargo and merge
	// File hands a problem over to be filed, once per problem. nil: bug filing is switched off.
	File func(ctx context.Context, signature, rule string) error
	// Searches reads saved searches, whose followers rules notify. nil: these get no notices.
	Searches Searches
	// HourlyLimit is the largest number of bugs that all rules file in an hour.
	HourlyLimit int
	Log         *slog.Logger
}

// Evaluator evaluates rules. Any number of them may work on one database.
type Evaluator struct {
	store *Store
	o     EvaluatorOptions

	mu   sync.Mutex // held during a round
	done string     // what the last round has evaluated, see fingerprint
	not  map[concentratedKey]notConcentrated
}

// NewEvaluator returns an Evaluator. A background task calls Round.
func NewEvaluator(s *Store, o EvaluatorOptions) *Evaluator {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Evaluator{store: s, o: o, not: map[concentratedKey]notConcentrated{}}
}

// progress says which changes have been evaluated.
type progress struct {
	round    int64     // counting rounds
	decision int64     // decisions
	day      time.Time // UTC day, of quiet problems; zero: none
	at       time.Time // when the round began; zero: none
}

const (
	sqlProgress = `
		select p.round, p.decision, p.day, p.at, c.round, coalesce((select max(id) from decisions), 0)
		from rule_progress as p, counting as c`
	sqlSaveProgress = `
		update rule_progress set round = greatest(round, @round), decision = greatest(decision, @decision),
			day = greatest(day, @day), at = greatest(at, @at)`
	sqlChangedHeads = `select distinct head from buckets where changed > @after and reports > 0`
	// sqlArrived finds the oldest report of new buckets. A bucket that a split or new grouping rules
	// have filled is not new: its reports were part of another one. A bucket of which all reports are in archives
	// arrived before @earlier.
	sqlArrived = `
		insert into bucket_arrivals (bucket_id, at, round)
		select b.id, case
				when b.id in (select other_id from decisions where kind = 'split') or b.id in (select to_id from regroup_moves)
				then 'epoch'
				else coalesce(
					(select min(received) from reports where bucket_id = b.id and counted and received >= @here), @earlier)
			end, @round
		from buckets as b
		where b.changed > @after and b.reports > 0 and not exists (select from bucket_arrivals where bucket_id = b.id)
		order by b.id
		on conflict do nothing`
)

// round is one evaluation of all rules.
type round struct {
	*Evaluator
	now     time.Time
	rules   []rules.Rule // enabled ones
	members members
	from    progress // evaluated before
	upTo    progress // evaluated by this round
	ix      *index.Index
	changed []*index.Problem // since from
	watched map[[2]string][]*rules.Rule
	edges   []rules.Edge
	storms  []stormEdge

	searched map[crash.BucketID][]searchFollower // who follows a search that lists the problem
}

// Round evaluates all rules on what has changed since the last round of any instance, acts on new
// edges, and files bugs that are due. After an error, or if the process dies, the next round
// repeats the evaluation; edges that were stored are not repeated.
func (e *Evaluator) Round(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	err := e.evaluate(ctx)
	if err != nil {
		err = fmt.Errorf("evaluate rules: %w", err)
	}
	return errors.Join(err, e.fileDue(ctx))
}

func (e *Evaluator) evaluate(ctx context.Context) error {
	all, err := e.store.Rules(ctx)
	if err != nil {
		return err
	}
	r := &round{Evaluator: e, now: e.store.Now(), watched: map[[2]string][]*rules.Rule{}}
	for _, rule := range all {
		if rule.Enabled {
			r.rules = append(r.rules, rule)
		}
	}
	fingerprint, err := r.fingerprint(ctx)
	if err != nil || fingerprint == e.done {
		return err
	}
	if err := r.read(ctx); err != nil {
		return err
	}
	if err := r.prepare(ctx); err != nil {
		return fmt.Errorf("prepare new rules: %w", err)
	}
	for _, find := range []func(context.Context) error{
		r.findNew, r.findRegressed, r.findRising, r.findProposed, r.findSymbolised, r.findQuiet, r.findUnmuted,
		r.findUpstream, r.findRefused, r.findDeadCredentials,
	} {
		if err := find(ctx); err != nil {
			return err
		}
	}
	if err := r.apply(ctx); err != nil {
		return err
	}
	if _, err := e.store.Pool.Exec(ctx, sqlSaveProgress, pgx.NamedArgs{
		"round": r.upTo.round, "decision": r.upTo.decision, "day": r.upTo.day, "at": r.upTo.at,
	}); err != nil {
		return fmt.Errorf("save the progress of rules: %w", db.Classify(err))
	}
	e.done = fingerprint
	return nil
}

// fingerprint identifies everything that an evaluation depends on, except the health of
// credentials, which it reads every time.
func (r *round) fingerprint(ctx context.Context) (string, error) {
	revision, err := r.store.Revision(ctx)
	if err != nil {
		return "", err
	}
	dead, err := r.deadCredentials(ctx)
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("%s %s %v", revision, r.now.UTC().Format(time.DateOnly), dead)
	for _, rule := range r.rules {
		text += fmt.Sprintf(" %d %d", rule.ID, rule.Changed.UnixMicro())
	}
	return text, nil
}

// read reads what has changed since the last round, stores arrivals, and updates the index.
func (r *round) read(ctx context.Context) error {
	if err := r.store.Pool.QueryRow(ctx, sqlProgress).Scan(&r.from.round, &r.from.decision, db.OrZero(&r.from.day),
		db.OrZero(&r.from.at), &r.upTo.round, &r.upTo.decision); err != nil {
		return fmt.Errorf("progress of rules: %w", db.Classify(err))
	}
	r.upTo.day, r.upTo.at = crash.Midnight(r.now), r.now
	parts, err := r.store.Archived(ctx)
	if err != nil {
		return err
	}
	here, earlier := parts.Until(), r.now
	if !here.IsZero() {
		earlier = here
	}
	if _, err := r.store.Pool.Exec(ctx, sqlArrived, pgx.NamedArgs{
		"after": r.from.round, "round": r.upTo.round, "here": here, "earlier": earlier,
	}); err != nil {
		return fmt.Errorf("arrivals of problems: %w", db.Classify(err))
	}
	if r.members, err = r.readMembers(ctx); err != nil {
		return err
	}
	if r.ix, err = r.store.IndexJudged(ctx); err != nil {
		return err
	}
	var id crash.BucketID
	err = db.Each(ctx, r.store.Pool, sqlChangedHeads, pgx.NamedArgs{"after": r.from.round}, []any{&id},
		func() {
			if p, ok := r.ix.Problem(id); ok && p.Reports > 0 {
				r.changed = append(r.changed, p)
			}
		})
	return db.Wrap(err, "changed problems")
}

// of returns the rules of a kind that watch a problem.
func (r *round) of(kind crash.EventKind, binary, source string) []*rules.Rule {
	key := [2]string{binary, source}
	watching, ok := r.watched[key]
	if !ok {
		for i := range r.rules {
			if rule := &r.rules[i]; rule.Scope.Watches(binary, source, r.members[rule.ID]) {
				watching = append(watching, rule)
			}
		}
		r.watched[key] = watching
	}
	var some []*rules.Rule
	for _, rule := range watching {
		if rule.When == kind {
			some = append(some, rule)
		}
	}
	return some
}

// event returns an event about a problem, with texts as visitors see them.
func (r *round) event(kind crash.EventKind, p *index.Problem, o crash.Occurrence, machines int64) crash.Event {
	public := p.Public()
	id, title := p.ID, crash.OneLine(cmp.Or(public.Name, public.Title, crash.Truncate(public.Signature, 200)))
	return crash.Event{Kind: kind, At: r.now, Bucket: &id, Title: title, Package: public.Package, Source: public.Source,
		Release: o.Release, Version: o.Version, Machines: machines}
}

func (r *round) add(rule *rules.Rule, key string, e crash.Event) {
	e.Rule = rule.ID
	r.edges = append(r.edges, rules.Edge{Rule: rule, Key: key, Event: e})
}

// Store gives access to notices, mails, endpoints and rules. It is safe for concurrent use.
type Store struct {
	*db.Store
	accounts *people.Store
}

// New returns the Store of a database.
func New(s *db.Store) *Store { return &Store{s, people.New(s)} }

// as returns a context that reads what a person may see. It hides all embargoed problems if the
// account cannot be read.
func (s *Store) as(ctx context.Context, user int64) context.Context {
	u, err := s.accounts.ByID(ctx, user)
	if err != nil {
		return db.AsVisitor(ctx)
	}
	return db.ReadFor(ctx, db.NewReader(func() crash.Packages { return u.Embargoed }))
}
