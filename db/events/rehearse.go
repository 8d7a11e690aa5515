package events

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/db"
	"mishap/notify/rules"
)

const (
	// rehearsalTime limits a rehearsal, so that its page is answered in time.
	rehearsalTime = 15 * time.Second
	// maxRehearsed limits the problems whose reports a rehearsal reads: the newest ones count.
	maxRehearsed = 5000
	// maxRehearsedLines limits the list. Totals cover everything.
	maxRehearsedLines = 300
	// maxRehearsedPackages limits the packages whose followers a rehearsal looks up.
	maxRehearsedPackages = 500
)

// rehearsal collects edges of one rule.
type rehearsal struct {
	*round
	rule  *rules.Rule
	since time.Time
	lines []rules.RehearsalLine
	notes []string
}

// Rehearse returns what a rule, which need not be stored, would have done in the last 30 days. It
// reads stored counts and reports; Notes say what that cannot show. It changes nothing.
func (s *Store) Rehearse(ctx context.Context, rule rules.Rule, facts Facts) (rules.Rehearsal, error) {
	rule.Since, _ = crash.LastDays(s.Now(), rules.RehearsalDays)
	r := &rehearsal{rule: &rule, since: rule.Since, round: &round{
		Evaluator: NewEvaluator(s, EvaluatorOptions{Facts: facts}), now: s.Now(), rules: []rules.Rule{rule},
		watched: map[[2]string][]*rules.Rule{}, from: progress{round: -1}, upTo: progress{decision: math.MaxInt64},
	}}
	limited, cancel := context.WithTimeout(ctx, rehearsalTime)
	defer cancel()
	err := r.find(limited)
	for _, e := range r.edges {
		r.line(e.At, e.Event.Kind != crash.EventProposed, e.Event)
	}
	if err == nil {
		err = r.meetConditions(limited)
	}
	if err != nil && errors.Is(limited.Err(), context.DeadlineExceeded) && ctx.Err() == nil {
		r.notes = append(r.notes, "This took too long and was stopped, so the list is incomplete. Choose fewer packages.")
		err = nil
	}
	if err != nil {
		return rules.Rehearsal{}, fmt.Errorf("rehearse rule: %w", err)
	}
	slices.SortStableFunc(r.lines, func(a, b rules.RehearsalLine) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Event.Title, b.Event.Title))
	})
	out, err := r.act(ctx)
	if err != nil {
		return rules.Rehearsal{}, fmt.Errorf("rehearse rule: %w", err)
	}
	slices.Reverse(out.Lines)
	out.Lines = out.Lines[:min(len(out.Lines), maxRehearsedLines)]
	return out, nil
}

// find finds the edges.
func (r *rehearsal) find(ctx context.Context) error {
	kinds, keys := r.store.wants(r.rule.Scope)
	packages, err := r.store.packagesOf(ctx, kinds, keys)
	if err != nil {
		return err
	}
	r.members = members{r.rule.ID: r.store.membersOf(r.rule.Scope, packages)}
	if len(keys) > 0 && len(r.members[r.rule.ID]) == 0 {
		r.notes = append(r.notes, "The packages of this set or team are not known yet: the tracker is asked for them "+
			"once the rule is saved.")
	}
	if r.ix, err = r.store.IndexWithStates(ctx); err != nil {
		return err
	}
	switch r.rule.When { //nolint:exhaustive // rules wait for some kinds only, see rules.Kinds
	case crash.EventNew:
		return r.rehearseNew(ctx)
	case crash.EventRegressed:
		return r.rehearseRegressed(ctx)
	case crash.EventRising:
		return r.rehearseRising(ctx)
	case crash.EventProposed:
		r.notes = append(r.notes, "Only problems that are still unknown outside of proposed are listed.")
		return r.findProposed(ctx)
	case crash.EventSymbolised:
		return r.findSymbolised(ctx)
	case crash.EventQuiet:
		return r.rehearseQuiet()
	case crash.EventUnmuted:
		return r.findUnmuted(ctx)
	case crash.EventUpstream:
		return r.rehearseUpstream(ctx)
	case crash.EventRefused:
		return r.rehearseRefused(ctx)
	case crash.EventTracker:
		return r.rehearseTracker(ctx)
	}
	return nil
}

// meetConditions removes the lines for which the further conditions of the rule do not hold today.
func (r *rehearsal) meetConditions(ctx context.Context) error {
	if r.rule.If == (rules.Conditions{}) {
		return nil
	}
	r.notes = append(r.notes, "Whether the problems meet the conditions is judged by what is known today.")
	lines := r.lines
	r.lines = nil
	for _, l := range lines {
		meets, err := r.meets(ctx, r.rule, l.Event)
		if err != nil {
			return err
		}
		if meets {
			r.lines = append(r.lines, l)
		}
	}
	return nil
}

// watched returns the problems that the rule watches and for which ok returns true, the newest
// first.
func (r *rehearsal) watched(ok func(*index.Problem) bool) []*index.Problem {
	some := r.ix.Select(func(p *index.Problem) bool {
		return p.Reports > 0 && p.Systems >= r.rule.Machines && ok(p) &&
			r.rule.Scope.Watches(p.Package, p.Source, r.members[r.rule.ID])
	})
	slices.SortFunc(some, func(a, b *index.Problem) int {
		return cmp.Or(b.First().At.Compare(a.First().At), slices.Compare(a.ID[:], b.ID[:]))
	})
	return some
}

func (r *rehearsal) line(at time.Time, exact bool, e crash.Event) {
	e.At = at
	r.lines = append(r.lines, rules.RehearsalLine{At: at, Exact: exact, Event: e})
}

// act works out what the rule would have done about each edge, with the present followers.
func (r *rehearsal) act(ctx context.Context) (rules.Rehearsal, error) {
	out := rules.Rehearsal{Since: r.since, Lines: r.lines, Edges: len(r.lines), People: map[string]int64{}, Notes: r.notes}
	a := r.rule.Actions
	cache := map[[2]string]crash.Recipients{}
	names, err := r.store.AccountNames(ctx)
	if err != nil {
		return out, err
	}
	var filed []time.Time
	for i := range out.Lines {
		l := &out.Lines[i]
		if a.Notifies() {
			to, err := r.recipientsOf(ctx, cache, l.Event)
			if err != nil {
				return out, err
			}
			for _, p := range to.People {
				out.People[names[p.User]]++
			}
			out.Programs += int64(len(to.Endpoints))
			if n := int64(len(to.People) + len(to.Endpoints)); n > 0 {
				l.Does = append(l.Does, fmt.Sprintf("notify %d", n))
			}
		}
		if l.Event.Bucket == nil {
			continue
		}
		filed = r.fileLine(l, &out, filed)
		for _, done := range []struct {
			wanted bool
			phrase string
		}{{a.Mute != nil, "mute"}, {a.Assign != "", "assign"}, {a.Tag != "", "tag"}, {a.Merge, "merge with twins"},
			{a.Embargo == rules.EmbargoAlways, "embargo"}, {a.Embargo == rules.EmbargoSuspected, "embargo if suspected"}} {
			if done.wanted {
				l.Does = append(l.Does, done.phrase)
				out.Changed++
			}
		}
	}
	if len(cache) > maxRehearsedPackages {
		out.Notes = append(out.Notes, fmt.Sprintf("Followers were looked up for %d packages only.", maxRehearsedPackages))
	}
	if a.Queue || a.File {
		out.Notes = append(out.Notes, "Problems that have a bug today are not proposed, even if they had none at that time.")
	}
	if a.Followers {
		out.Notes = append(out.Notes, "Notices go to those who follow the package today. "+
			"People who follow a saved search are not counted.")
	}
	return out, nil
}

// fileLine proposes or files the problem of an edge. filed has the times of bugs that were filed.
func (r *rehearsal) fileLine(l *rules.RehearsalLine, out *rules.Rehearsal, filed []time.Time) []time.Time {
	a := r.rule.Actions
	if !a.Queue && !a.File {
		return filed
	}
	p, ok := r.ix.Problem(*l.Event.Bucket)
	switch {
	case !ok || p.Bug != 0:
		out.Skipped++
		l.Does = append(l.Does, "none: it has a bug")
		return filed
	case a.File && !p.Provisional && p.Source != "":
		if n := len(filed); n < a.HourlyLimit || l.At.Sub(filed[n-a.HourlyLimit]) >= filingPeriod {
			out.Filed++
			l.Does = append(l.Does, "file a bug")
			return append(filed, l.At)
		}
	}
	out.Proposed++
	l.Does = append(l.Does, "queue for filing")
	return filed
}

// recipientsOf returns the recipients of an event, by package.
func (r *rehearsal) recipientsOf(ctx context.Context, cache map[[2]string]crash.Recipients, e crash.Event,
) (crash.Recipients, error) {
	key := [2]string{e.Package, e.Source}
	to, ok := cache[key]
	if ok || len(cache) > maxRehearsedPackages {
		return to, nil
	}
	e.Bucket = nil
	to, err := r.store.recipients(ctx, r.store.Pool, rules.Edge{Rule: r.rule, Key: "rehearsal", Event: e}, nil)
	cache[key] = to
	return to, err
}

const (
	// sqlReached finds when the first report of problems arrived, and when the machine arrived that
	// reached a number of machines. It knows only reports that are stored.
	sqlReached = `
		select head, min(at), min(at) filter (where n = @machines) from (
			select m.head, min(r.received) as at, row_number() over (partition by m.head order by min(r.received)) as n
			from buckets as m cross join lateral (
				select received, system_key from reports
				where bucket_id = m.id and received >= @since and counted and system_key is not null offset 0
			) as r
			where m.head = any(@heads)
			group by m.head, r.system_key
		) as machines group by head`
	// sqlArrivedSince finds the problems that are new to rules since a time, as findNew does.
	sqlArrivedSince = `
		select m.head from buckets as m join bucket_arrivals as a on a.bucket_id = m.id
		where m.head in (
			select b.head from bucket_arrivals as s join buckets as b on b.id = s.bucket_id where s.at > @since
		)
		group by m.head having min(a.at) > @since`
	sqlRehearseRefused = `
		select h.head, a.ended, a.words
		from filing_attempts as a join filings as f on f.id = a.filing_id join buckets as h on h.id = f.bucket_id
		where a.action = 'create' and a.outcome = 'refused' and a.ended >= @since order by a.ended`
	sqlRehearseTracker = `select last_error_at from oauth_health where dead and last_error_at >= @since`
	sqlAccountNames    = `select id, name from users`
)

// AccountNames returns the names of accounts, by id.
func (s *Store) AccountNames(ctx context.Context) (map[int64]string, error) {
	names := map[int64]string{}
	var id int64
	var name string
	err := db.Each(ctx, s.Pool, sqlAccountNames, nil, []any{&id, &name}, func() { names[id] = name })
	return names, db.Classify(err)
}

// rehearseNew finds problems whose first report arrived in the last 30 days, and storms of them.
func (r *rehearsal) rehearseNew(ctx context.Context) error {
	r.notes = append(r.notes, "Problems are new if their first report arrived in these days, whatever its own date. "+
		"A machine counts from the arrival of its oldest stored report.")
	var id crash.BucketID
	arrived := map[crash.BucketID]bool{}
	if err := db.Each(ctx, r.store.Pool, sqlArrivedSince, pgx.NamedArgs{"since": r.since}, []any{&id},
		func() { arrived[id] = true }); err != nil {
		return err
	}
	least := r.rule.Machines
	r.rule.Machines = 1 // storms count problems of any number of machines
	some := r.watched(func(p *index.Problem) bool { return arrived[p.ID] })
	r.rule.Machines = least
	if len(some) > maxRehearsed {
		some = some[:maxRehearsed]
		r.notes = append(r.notes, fmt.Sprintf("Only the newest %d problems were examined.", maxRehearsed))
	}
	type reached struct{ first, enough time.Time }
	at := map[crash.BucketID]reached{}
	var one reached
	if _, err := db.Since(ctx, r.store.Handle, r.since, func(ctx context.Context, since time.Time) (bool, error) {
		return true, db.Each(ctx, r.store.Pool, sqlReached, pgx.NamedArgs{"heads": ids(some), "since": since,
			"machines": least}, []any{&id, &one.first, db.OrZero(&one.enough)}, func() { at[id] = one })
	}); err != nil {
		return err
	}
	byPackage := map[string][]*index.Problem{}
	for _, p := range some {
		name := cmp.Or(p.Source, p.Package)
		byPackage[name] = append(byPackage[name], p)
	}
	for name, problems := range byPackage {
		var times []time.Time
		for _, p := range problems {
			if a, ok := at[p.ID]; ok {
				times = append(times, a.first)
			}
		}
		var storms []rules.Storm
		if name != "" {
			storms = rules.Storms(times)
		}
		for _, s := range storms {
			r.line(s.Known, true, crash.Event{Kind: crash.EventStorm, Title: "Many new problems of " + name, Package: name,
				Source: name, Text: rules.StormText(name, s.Problems)})
		}
		for _, p := range problems {
			a, ok := at[p.ID]
			covered := slices.ContainsFunc(storms, func(s rules.Storm) bool {
				return !a.first.Before(s.From) && !a.first.After(s.Until) && !a.enough.Before(s.Known)
			})
			if ok && !covered && !a.enough.IsZero() {
				e := r.event(crash.EventNew, p, p.Public().First(), least)
				e.Text = rules.NewText(e)
				r.line(a.enough, true, e)
			}
		}
	}
	return nil
}

func (r *rehearsal) rehearseRegressed(ctx context.Context) error {
	r.notes = append(r.notes, "Only problems that are regressions today are listed, on the day of their first report "+
		"from the version with the fix: past states are not stored.")
	for _, g := range r.regressions() {
		p := g.problem
		if !r.rule.Scope.Watches(p.Package, p.Source, r.members[r.rule.ID]) {
			continue
		}
		var first time.Time
		for _, s := range r.ix.Spans(p.ID) {
			if at := s.First; s.Release == g.Release && s.Version == g.Version && (first.IsZero() || at.Before(first)) {
				first = at
			}
		}
		if first.Before(r.since) {
			continue
		}
		if err := r.countMachines(ctx, g); err != nil {
			return err
		}
		if g.machines < r.rule.Machines {
			continue
		}
		e := r.event(crash.EventRegressed, p, g.Occurrence, g.machines)
		e.Text = fmt.Sprintf("Seen again in %s, %s.", g.Version, rules.WhyFixed(g.marked))
		r.line(first, false, e)
	}
	return nil
}

// rehearseRising finds the problems that were rising on each day.
func (r *rehearsal) rehearseRising(ctx context.Context) error {
	held := map[crash.BucketID]time.Time{}
	for day := crash.Midnight(r.since); !day.After(r.now); day = day.AddDate(0, 0, 1) {
		rising := r.ix.Rising(index.DayOf(day))
		some := r.watched(func(p *index.Problem) bool {
			_, rises := rising[p.ID]
			return rises
		})
		machines, err := r.store.machinesIn(ctx, some, day)
		if err != nil {
			return err
		}
		for _, p := range some {
			if machines[p.ID] < r.rule.Machines {
				continue
			}
			if last, was := held[p.ID]; !was || day.Sub(last) > rules.RisingPause*24*time.Hour {
				e := r.event(crash.EventRising, p, p.Public().Last(), machines[p.ID])
				e.Text = rules.RisingText(e, day, rising[p.ID].Week, rising[p.ID].Before)
				r.line(day, false, e)
			}
			held[p.ID] = day
		}
	}
	return nil
}

func (r *rehearsal) rehearseRefused(ctx context.Context) error {
	var id crash.BucketID
	var at time.Time
	var why string
	return db.Each(ctx, r.store.Pool, sqlRehearseRefused, pgx.NamedArgs{"since": r.since},
		[]any{&id, &at, &why}, func() { r.foundRefused(id, at, why) })
}

func (r *rehearsal) rehearseUpstream(ctx context.Context) error {
	r.notes = append(r.notes, "Only bugs that are closed at present, and whose tracker says since when, are listed.")
	err := r.findUpstream(ctx)
	r.edges = slices.DeleteFunc(r.edges, func(e rules.Edge) bool { return e.At.IsZero() })
	return err
}

func (r *rehearsal) rehearseTracker(ctx context.Context) error {
	r.notes = append(r.notes, "Only the present failure is known; earlier ones are not stored.")
	var at time.Time
	return db.Each(ctx, r.store.Pool, sqlRehearseTracker, pgx.NamedArgs{"since": r.since}, []any{&at}, func() {
		r.line(at, true, crash.Event{Kind: crash.EventTracker, Title: rules.TrackerTitle, Text: rules.TrackerText})
	})
}

// rehearseQuiet finds gaps between days with reports, by the dates of the reports.
func (r *rehearsal) rehearseQuiet() error {
	length := 7 * r.rule.Weeks
	today := index.DayOf(r.now)
	begin := index.DayOf(r.since)
	from := begin - index.Day(min(length, int(begin))) //nolint:gosec // not negative
	for _, p := range r.watched(func(p *index.Problem) bool {
		return index.DayOf(p.Last().At) >= from
	}) {
		last := -1 // position of the last day with a report
		for i, n := range append(r.ix.Days(p, index.Filter{}, from, today), 1) {
			if n == 0 {
				continue
			}
			// The extra day at the end stands for the present.
			if last >= 0 && i-last > length {
				if at := from + index.Day(last+length); at >= begin && at <= today { //nolint:gosec // within the days
					e := r.event(crash.EventQuiet, p, p.Public().Last(), p.Systems)
					e.Text = rules.QuietText(r.rule.Weeks, (from + index.Day(last)).Time())
					r.line(at.Time(), false, e)
				}
			}
			last = i
		}
	}
	return nil
}
