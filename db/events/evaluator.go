package events

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/db"
	"mishap/notify/rules"
)

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
}

// EvaluatorOptions configure an Evaluator.
type EvaluatorOptions struct {
	Actions Actions // nil: rules cannot mute, assign, tag and embargo
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

	mu     sync.Mutex       // held during a round
	done   string           // what the last round has evaluated, see fingerprint
	warned map[int64]string // failures that were logged, by rule
}

// NewEvaluator returns an Evaluator. A background task calls Round.
func NewEvaluator(s *Store, o EvaluatorOptions) *Evaluator {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Evaluator{store: s, o: o, warned: map[int64]string{}}
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
	// have filled is not new: its reports were part of another one.
	sqlArrived = `
		insert into bucket_arrivals (bucket_id, at, round)
		select b.id, case
				when b.id in (select other_id from decisions where kind = 'split') or b.id in (select to_id from regroup_moves)
				then 'epoch'
				else coalesce((select min(received) from reports where bucket_id = b.id and counted), @now)
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
		r.findRefused, r.findDeadCredentials,
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
	if _, err := r.store.Pool.Exec(ctx, sqlArrived, pgx.NamedArgs{
		"after": r.from.round, "round": r.upTo.round, "now": r.now,
	}); err != nil {
		return fmt.Errorf("arrivals of problems: %w", db.Classify(err))
	}
	var err error
	if r.members, err = r.readMembers(ctx); err != nil {
		return err
	}
	if r.ix, err = r.store.IndexJudged(ctx); err != nil {
		return err
	}
	rows, err := r.store.Pool.Query(ctx, sqlChangedHeads, pgx.NamedArgs{"after": r.from.round})
	if err != nil {
		return fmt.Errorf("changed problems: %w", db.Classify(err))
	}
	var id crash.BucketID
	if _, err := pgx.ForEachRow(rows, []any{db.ScanTo(id[:])}, func() error {
		if p, ok := r.ix.Problem(id); ok && p.Reports > 0 {
			r.changed = append(r.changed, p)
		}
		return nil
	}); err != nil {
		return fmt.Errorf("changed problems: %w", db.Classify(err))
	}
	return nil
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

// any reports whether there is a rule of a kind.
func (r *round) any(kind crash.EventKind) bool {
	for _, rule := range r.rules {
		if rule.When == kind {
			return true
		}
	}
	return false
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
