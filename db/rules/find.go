package rules

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/db"
	"mishap/notify/rules"
)

// This file finds the edges of problems that are new, have regressed, are new in proposed, or are
// quiet. File find_rising.go finds rising problems, file find_others.go everything else. The
// finders may find edges that are stored already; round.apply ignores these.

const (
	sqlArrivals = `
		select h.head, min(a.at) from unnest(@heads::bytea[]) as h (head)
			join buckets as m on m.head = h.head join bucket_arrivals as a on a.bucket_id = m.id
		group by h.head having min(a.at) > @since`
	// sqlSeenVersions counts the machines that reported a problem from a version in a release.
	sqlSeenVersions = `
		select count(distinct s.system) from buckets as m join bucket_systems as s on s.bucket_id = m.id
		where m.head = @head and s.release = @release and s.version = @version`
	// sqlProposed finds problems that were reported from a release only from proposed versions.
	sqlProposed = `
		with fresh as (
			select distinct b.head, d.release, d.version
			from buckets as b join bucket_days as d on d.bucket_id = b.id
			where b.changed > @after and d.changed > @after and d.proposed > 0
		)
		select f.head, f.release, f.version, (
				select min(d.day) from buckets as m join bucket_days as d on d.bucket_id = m.id
				where m.head = f.head and d.release = f.release and d.version = f.version and d.proposed > 0
			), (
				select count(distinct s.system) from buckets as m join bucket_systems as s on s.bucket_id = m.id
				where m.head = f.head and s.release = f.release and s.version = f.version
			)
		from fresh as f
		where not exists (
			select from buckets as m join bucket_days as d on d.bucket_id = m.id
			where m.head = f.head and d.release = f.release and d.reports > d.proposed
		)
		order by f.head, f.release, f.version`
)

// findNew finds problems whose first report arrived after the rule began, once enough machines have
// reported them, and storms of them.
func (r *round) findNew(ctx context.Context) error {
	if !r.any(crash.EventNew) {
		return nil
	}
	since := r.now
	for _, rule := range r.rules {
		if rule.When == crash.EventNew && rule.Since.Before(since) {
			since = rule.Since
		}
	}
	rows, err := r.store.Pool.Query(ctx, sqlArrivals, pgx.NamedArgs{"heads": ids(r.changed), "since": since})
	if err != nil {
		return fmt.Errorf("arrivals of problems: %w", db.Classify(err))
	}
	var id crash.BucketID
	var at time.Time
	if _, err := pgx.ForEachRow(rows, []any{db.ScanTo(id[:]), &at}, func() error {
		p, ok := r.ix.Problem(id)
		if !ok {
			return nil
		}
		for _, rule := range r.of(crash.EventNew, p.Package, p.Source) {
			if at.After(rule.Since) && p.Systems >= rule.Machines {
				e := r.event(crash.EventNew, p, p.Public().First(), p.Systems)
				e.Text = rules.NewText(e)
				r.add(rule, rules.Key(crash.EventNew), e)
			}
		}
		return nil
	}); err != nil {
		return fmt.Errorf("arrivals of problems: %w", db.Classify(err))
	}
	return r.findStorms(ctx)
}

func ids(problems []*index.Problem) [][]byte {
	list := make([][]byte, len(problems))
	for i, p := range problems {
		list[i] = p.ID[:]
	}
	return list
}

// findRegressed finds problems that are regressions, in each release and version. It looks at all
// of them, because a bug that is closed makes a regression of a problem whose counts do not change.
func (r *round) findRegressed(ctx context.Context) error {
	if !r.any(crash.EventRegressed) {
		return nil
	}
	regressions, err := r.unseenRegressions(ctx)
	if err != nil {
		return err
	}
	for _, g := range regressions {
		for _, rule := range r.of(crash.EventRegressed, g.problem.Package, g.problem.Source) {
			if g.seenBy[rule.ID] {
				continue
			}
			if g.machines < 0 {
				if err := r.store.Pool.QueryRow(ctx, sqlSeenVersions, pgx.NamedArgs{
					"head": g.problem.ID[:], "release": string(g.Release), "version": g.Version,
				}).Scan(&g.machines); err != nil {
					return fmt.Errorf("machines of a regression: %w", db.Classify(err))
				}
			}
			if g.machines >= rule.Machines {
				e := r.event(crash.EventRegressed, g.problem, g.Occurrence, g.machines)
				e.Text = rules.RegressedText(e, g.marked)
				r.add(rule, g.key, e)
			}
		}
	}
	return nil
}

// regression is a version of a release in which a fixed problem was seen again.
type regression struct {
	crash.Occurrence
	marked   bool // a person has marked that version or an earlier one as fixed
	problem  *index.Problem
	key      string
	machines int64          // -1: not read yet
	seenBy   map[int64]bool // rules that have seen it
}

const sqlSeenKeys = `
	select m.head, e.rule_id, e.version from buckets as m join rule_edges as e on e.bucket_id = m.id
	where m.head = any(@heads) and starts_with(e.version, @kind)`

// regressions returns all versions in which fixed problems were seen again: after the fix that the tracker
// knows, or after a person has marked them as fixed.
func (r *round) regressions() []*regression {
	var all []*regression
	add := func(p *index.Problem, o crash.Occurrence, key string, marked bool) {
		if !slices.ContainsFunc(all, func(g *regression) bool { return g.problem == p && g.Occurrence == o }) {
			all = append(all, &regression{Occurrence: o, marked: marked, problem: p, key: key, machines: -1,
				seenBy: map[int64]bool{}})
		}
	}
	for _, p := range r.ix.Select(func(p *index.Problem) bool {
		return p.State == crash.StateRegression || p.Triage != nil && len(p.Triage.Fixes) > 0
	}) {
		if p.State == crash.StateRegression {
			for _, s := range r.store.StatusOf(p).Releases {
				if s.Word == crash.StateRegression && !s.Ended {
					add(p, crash.Occurrence{Release: s.Release, Version: s.AgainAt},
						rules.Key(crash.EventRegressed, string(s.Release), s.AgainAt), false)
				}
			}
		}
		for _, f := range db.ManualOf(r.ix, p, index.DayOf(r.now)).Fixes {
			if f.Again > 0 {
				add(p, crash.Occurrence{Release: f.AgainIn, Version: f.AgainAt}, rules.Key(crash.EventRegressed,
					string(f.AgainIn), f.AgainAt, strconv.FormatInt(f.By.ID, 10)), true) // each decision has its regressions
			}
		}
	}
	return all
}

// unseenRegressions returns the regressions, each with the rules that have seen it.
func (r *round) unseenRegressions(ctx context.Context) ([]*regression, error) {
	all := r.regressions()
	if len(all) == 0 {
		return nil, nil
	}
	type edge struct {
		problem crash.BucketID
		key     string
	}
	at := map[edge]*regression{}
	heads := make([][]byte, len(all))
	for i, g := range all {
		at[edge{g.problem.ID, g.key}], heads[i] = g, g.problem.ID[:]
	}
	rows, err := r.store.Pool.Query(ctx, sqlSeenKeys, pgx.NamedArgs{"heads": heads, "kind": string(crash.EventRegressed)})
	if err != nil {
		return nil, fmt.Errorf("regressions that rules have seen: %w", db.Classify(err))
	}
	var id crash.BucketID
	var rule int64
	var key string
	if _, err := pgx.ForEachRow(rows, []any{db.ScanTo(id[:]), &rule, &key}, func() error {
		if g := at[edge{id, key}]; g != nil {
			g.seenBy[rule] = true
		}
		return nil
	}); err != nil {
		return nil, fmt.Errorf("regressions that rules have seen: %w", db.Classify(err))
	}
	return all, nil
}

// findProposed finds problems that only proposed versions of a release have.
func (r *round) findProposed(ctx context.Context) error {
	if !r.any(crash.EventProposed) {
		return nil
	}
	rows, err := r.store.Pool.Query(ctx, sqlProposed, pgx.NamedArgs{"after": r.from.round})
	if err != nil {
		return fmt.Errorf("problems in proposed: %w", db.Classify(err))
	}
	var id crash.BucketID
	var o crash.Occurrence
	var first time.Time
	var machines int64
	if _, err := pgx.ForEachRow(rows, []any{db.ScanTo(id[:]), &o.Release, &o.Version, &first, &machines}, func() error {
		p, ok := r.ix.Problem(id)
		if !ok {
			return nil
		}
		for _, rule := range r.of(crash.EventProposed, p.Package, p.Source) {
			if machines >= rule.Machines && !first.Before(crash.Midnight(rule.Since)) {
				e := r.event(crash.EventProposed, p, o, machines)
				e.Text = rules.ProposedText(e)
				r.add(rule, rules.Key(crash.EventProposed, string(o.Release), o.Version), e)
			}
		}
		return nil
	}); err != nil {
		return fmt.Errorf("problems in proposed: %w", db.Classify(err))
	}
	return nil
}

// findQuiet finds, once on each UTC day, problems that have been quiet for the number of weeks of a
// rule since the previous time.
func (r *round) findQuiet(context.Context) error {
	if r.from.day.IsZero() || !r.upTo.day.After(r.from.day) {
		return nil
	}
	for i := range r.rules {
		rule := &r.rules[i]
		if rule.When != crash.EventQuiet {
			continue
		}
		length := time.Duration(rule.Weeks) * 7 * 24 * time.Hour
		began := crash.Midnight(rule.Since)
		for _, p := range r.ix.Select(func(p *index.Problem) bool {
			quiet := crash.Midnight(p.Last().At).Add(length) // the day on which it has been quiet for so long
			return p.Reports > 0 && p.Systems >= rule.Machines && quiet.After(r.from.day) && !quiet.After(r.upTo.day) &&
				quiet.After(began) && rule.Scope.Watches(p.Package, p.Source, r.members[rule.ID])
		}) {
			e := r.event(crash.EventQuiet, p, p.Public().Last(), p.Systems)
			e.Text = rules.QuietText(rule.Weeks, p.Last().At)
			r.add(rule, rules.Key(crash.EventQuiet, p.Last().At.UTC().Format(time.DateOnly)), e)
		}
	}
	return nil
}
