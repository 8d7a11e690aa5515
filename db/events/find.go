package events

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/db"
	"mishap/notify/rules"
)

// The finders may find edges that are stored already; round.apply ignores these. rehearse.go must find
// the same edges.

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
			where b.changed > @after and d.changed > @after and d.proposed > 0 and d.day >= @since::date
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

// begin returns the earliest time at which a rule of a kind began, and whether there is such a rule.
func (r *round) begin(kind crash.EventKind) (since time.Time, some bool) {
	for _, rule := range r.rules {
		if rule.When == kind && (!some || rule.Since.Before(since)) {
			since, some = rule.Since, true
		}
	}
	return since, some
}

// found adds an edge of a problem for each rule that watches it, unless the time at is from before the rule
// began. A zero time is not. describe returns the event without its text.
func (r *round) found(kind crash.EventKind, id crash.BucketID, at time.Time,
	describe func(*index.Problem) crash.Event, text func(crash.Event) string, key ...string) {
	p, ok := r.ix.Problem(id)
	if !ok {
		return
	}
	for _, rule := range r.of(kind, p.Package, p.Source) {
		since := rule.Since
		if kind == crash.EventProposed { // its time is a day
			since = crash.Midnight(since).Add(-1)
		}
		if e := describe(p); e.Machines >= rule.Machines && (at.IsZero() || at.After(since)) {
			e.Text, e.Rule = text(e), rule.ID
			r.edges = append(r.edges, rules.Edge{Rule: rule, Key: rules.Key(kind, key...), Event: e, At: at})
		}
	}
}

// last describes a problem by its last occurrence.
func (r *round) last(kind crash.EventKind) func(*index.Problem) crash.Event {
	return func(p *index.Problem) crash.Event { return r.event(kind, p, p.Public().Last(), p.Systems) }
}

// findNew finds problems whose first report arrived after the rule began, once enough machines have
// reported them, and storms of them.
func (r *round) findNew(ctx context.Context) error {
	since, some := r.begin(crash.EventNew)
	if !some {
		return nil
	}
	var id crash.BucketID
	var at time.Time
	if err := db.Each(ctx, r.store.Pool, sqlArrivals, pgx.NamedArgs{"heads": ids(r.changed), "since": since},
		[]any{&id, &at}, func() {
			r.found(crash.EventNew, id, at, func(p *index.Problem) crash.Event {
				return r.event(crash.EventNew, p, p.Public().First(), p.Systems)
			}, rules.NewText)
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
	if _, some := r.begin(crash.EventRegressed); !some {
		return nil
	}
	var edges []rules.Edge
	var of []*regression // of each edge
	for _, g := range r.regressions() {
		for _, rule := range r.of(crash.EventRegressed, g.problem.Package, g.problem.Source) {
			edges = append(edges, rules.Edge{Rule: rule, Key: g.key, Event: crash.Event{Bucket: &g.problem.ID}})
			of = append(of, g)
		}
	}
	seen, err := r.seen(ctx, edges)
	if err != nil {
		return err
	}
	for i, edge := range edges {
		if seen[i] {
			continue
		}
		g := of[i]
		if err := r.countMachines(ctx, g); err != nil {
			return err
		}
		if g.machines >= edge.Rule.Machines {
			e := r.event(crash.EventRegressed, g.problem, g.Occurrence, g.machines)
			e.Text = rules.RegressedText(e, g.marked)
			r.add(edge.Rule, g.key, e)
		}
	}
	return nil
}

// countMachines reads the machines that reported a regression from its version, unless they are known.
func (r *round) countMachines(ctx context.Context, g *regression) error {
	if g.machines >= 0 {
		return nil
	}
	err := r.store.Pool.QueryRow(ctx, sqlSeenVersions, pgx.NamedArgs{
		"head": g.problem.ID[:], "release": string(g.Release), "version": g.Version,
	}).Scan(&g.machines)
	return db.Wrap(err, "machines of a regression")
}

// regression is a version of a release in which a fixed problem was seen again.
type regression struct {
	crash.Occurrence
	marked   bool // a person has marked that version or an earlier one as fixed
	problem  *index.Problem
	key      string
	machines int64 // -1: not read yet
}

// regressions returns all versions in which fixed problems were seen again: after the fix that the tracker
// knows, or after a person has marked them as fixed.
func (r *round) regressions() []*regression {
	var all []*regression
	add := func(p *index.Problem, o crash.Occurrence, key string, marked bool) {
		if !slices.ContainsFunc(all, func(g *regression) bool { return g.problem == p && g.Occurrence == o }) {
			all = append(all, &regression{Occurrence: o, marked: marked, problem: p, key: key, machines: -1})
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

// findProposed finds problems that only proposed versions of a release have.
func (r *round) findProposed(ctx context.Context) error {
	since, some := r.begin(crash.EventProposed)
	if !some {
		return nil
	}
	var id crash.BucketID
	var o crash.Occurrence
	var first time.Time
	var machines int64
	err := db.Each(ctx, r.store.Pool, sqlProposed, pgx.NamedArgs{"after": r.from.round, "since": crash.Midnight(since)},
		[]any{&id, &o.Release, &o.Version, &first, &machines}, func() {
			r.found(crash.EventProposed, id, first, func(p *index.Problem) crash.Event {
				return r.event(crash.EventProposed, p, o, machines)
			}, rules.ProposedText, string(o.Release), o.Version)
		})
	return db.Wrap(err, "problems in proposed")
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

const (
	sqlSymbolised = `
		select h.head, min(d.at) from decisions as d join buckets as h on h.id = d.other_id
		where d.cause = 'symbolised' and d.id > @after and d.id <= @upto and d.kind = 'merged' and d.undone_at is null
		group by h.head order by h.head`
	sqlRefused = `
		select h.head, f.id, f.attempts, f.reason from filings as f join buckets as h on h.id = f.bucket_id
		where f.state = 'refused' order by f.id`
	// sqlDeadCredentials identifies a token without revealing it.
	sqlDeadCredentials = `
		select left(encode(sha256(convert_to(tracker_url || ' ' || consumer_key || ' ' || token, 'UTF8')), 'hex'), 16)
			|| ' ' || coalesce(extract(epoch from last_success)::bigint, 0)
		from oauth_health where dead order by 1`
	// sqlUpstream selects the bugs of upstream projects that are closed and public, with the state that counts.
	sqlUpstream = `
		select distinct on (h.head, g.number) h.head, g.number, g.title, pl.tracker, pl.project, to_jsonb(st)
		from bug_places as pl join bucket_bugs as l on l.bug_number >> 40 = pl.place
			join buckets as h on h.id = l.bucket_id
			join bug_states as own on own.number = l.bug_number
			join bug_states as st on st.number = coalesce(own.duplicate_of, own.number)
			join bugs as g on g.number = st.number
		where pl.upstream and st.closed and not st.private and not st.hidden and not own.private and not own.hidden
		order by h.head, g.number`
	sqlTriageEnded = `
		select h.head, t.id, t.ended_why, t.ended_at from marks as t join buckets as h on h.id = t.bucket_id
		where t.ended_at > @since and t.kind = 'muted' and t.ended_why <> '' and t.undone_at is null order by t.id`
	sqlTriageMuted = `
		select distinct h.head from marks as t join buckets as h on h.id = t.bucket_id
		where t.kind = 'muted' and t.undone_at is null and t.ended_at is null and h.head = any(@heads)`
)

// findSymbolised finds problems whose functions got names since the last round. More of their
// reports may follow; a rule acts once.
func (r *round) findSymbolised(ctx context.Context) error {
	if _, some := r.begin(crash.EventSymbolised); !some {
		return nil
	}
	var id crash.BucketID
	var at time.Time
	err := db.Each(ctx, r.store.Pool, sqlSymbolised, pgx.NamedArgs{"after": r.from.decision, "upto": r.upTo.decision},
		[]any{&id, &at}, func() {
			if p, ok := r.ix.Problem(id); ok && !p.Provisional {
				r.found(crash.EventSymbolised, id, at, r.last(crash.EventSymbolised),
					func(crash.Event) string { return rules.SymbolisedText })
			}
		})
	return db.Wrap(err, "symbolised problems")
}

// mutesLookBack is how long before the last round a mute may have ended without that round having seen
// it: because its transaction was still running, or the clock of another instance is slow.
const mutesLookBack = time.Hour

// findUnmuted finds mutes that have ended since the last round because their condition was met.
func (r *round) findUnmuted(ctx context.Context) error {
	since, some := r.begin(crash.EventUnmuted)
	if !some {
		return nil
	}
	if last := r.from.at.Add(-mutesLookBack); !r.from.at.IsZero() && last.After(since) {
		since = last
	}
	var id crash.BucketID
	var mute int64
	var why string
	var at time.Time
	err := db.Each(ctx, r.store.Pool, sqlTriageEnded, pgx.NamedArgs{"since": since},
		[]any{&id, &mute, &why, &at}, func() {
			r.found(crash.EventUnmuted, id, at, r.last(crash.EventUnmuted),
				func(crash.Event) string { return strings.TrimSpace(rules.UnmutedText + " " + why) }, fmt.Sprint(mute))
		})
	return db.Wrap(err, "ended mutes")
}

// muted returns those of the problems that are muted.
func (r *round) muted(ctx context.Context, heads [][]byte) (map[crash.BucketID]bool, error) {
	if len(heads) == 0 {
		return nil, nil
	}
	muted := map[crash.BucketID]bool{}
	var id crash.BucketID
	err := db.Each(ctx, r.store.Pool, sqlTriageMuted, pgx.NamedArgs{"heads": heads}, []any{&id},
		func() { muted[id] = true })
	return muted, db.Wrap(err, "muted problems")
}

// findUpstream finds bugs of upstream projects that are closed, each time anew.
func (r *round) findUpstream(ctx context.Context) error {
	if _, some := r.begin(crash.EventUpstream); !some {
		return nil
	}
	var id crash.BucketID
	var bug crash.Bug
	var title string
	var state db.StoredState
	err := db.Each(ctx, r.store.Pool, sqlUpstream, nil,
		[]any{&id, &bug.Number, &title, &bug.Place.Tracker, &bug.Place.Project, &state}, func() {
			var at time.Time // zero: the tracker does not say
			fixed := false
			for _, t := range state.Tasks {
				if t.Closed.After(at) {
					at = t.Closed
				}
				fixed = fixed || t.Complete && t.Status == crash.FixReleased
			}
			text := rules.UpstreamText(bug.Text(), title, fixed)
			r.found(crash.EventUpstream, id, at, r.last(crash.EventUpstream), func(crash.Event) string { return text },
				fmt.Sprint(bug.Number), at.UTC().Format(time.RFC3339))
			state = db.StoredState{} // names that the next row lacks keep no value
		})
	return db.Wrap(err, "bugs closed upstream")
}

// findRefused finds filings that the tracker has refused, each time anew.
func (r *round) findRefused(ctx context.Context) error {
	if _, some := r.begin(crash.EventRefused); !some {
		return nil
	}
	var id crash.BucketID
	var filing, attempts int64
	var reason string
	err := db.Each(ctx, r.store.Pool, sqlRefused, nil, []any{&id, &filing, &attempts, &reason},
		func() { r.foundRefused(id, time.Time{}, reason, fmt.Sprint(filing), fmt.Sprint(attempts)) })
	return db.Wrap(err, "refused bugs")
}

// foundRefused adds the edges of a filing that was refused, with the tracker's message, shortened.
func (r *round) foundRefused(id crash.BucketID, at time.Time, why string, key ...string) {
	r.found(crash.EventRefused, id, at, r.last(crash.EventRefused), func(crash.Event) string {
		return strings.TrimSpace(rules.RefusedText + " " + crash.Truncate(why, 300))
	}, key...)
}

// deadCredentials returns texts that identify access tokens that the tracker has rejected, and
// since when.
func (r *round) deadCredentials(ctx context.Context) ([]string, error) {
	tokens, err := db.List(ctx, r.store.Pool, sqlDeadCredentials, nil, pgx.RowTo[string])
	return tokens, db.Wrap(err, "credentials of the tracker")
}

// findDeadCredentials finds access tokens that the tracker does not accept.
func (r *round) findDeadCredentials(ctx context.Context) error {
	if _, some := r.begin(crash.EventTracker); !some {
		return nil
	}
	tokens, err := r.deadCredentials(ctx)
	if err != nil {
		return err
	}
	for i := range r.rules {
		for _, token := range tokens {
			if rule := &r.rules[i]; rule.When == crash.EventTracker {
				r.add(rule, rules.Key(crash.EventTracker, token), crash.Event{Kind: crash.EventTracker, At: r.now,
					Title: rules.TrackerTitle, Text: rules.TrackerText})
			}
		}
	}
	return nil
}

// sqlMachinesIn counts the machines that reported problems on some days. A report can count on the
// day after its arrival, if the machine's clock is ahead. Machines without a hash are not counted.
const sqlMachinesIn = `
	select m.head, count(distinct r.system_key)
	from buckets as m cross join lateral (
		select system_key from reports
		where bucket_id = m.id and received >= @here and counted and system_key is not null
			and day between @since and @until offset 0
	) as r
	where m.head = any(@heads)
	group by m.head`

// sqlHold extends the edges of a rising problem or of a storm, so that it does not begin anew, and
// returns how many there were.
const sqlHold = `
	update rule_edges set held = greatest(held, @held)
	where rule_id = @rule and bucket_id in (select id from buckets where head = @head)
		and starts_with(version, @kind) and held >= @after`

// findRising finds the changed problems that are rising.
func (r *round) findRising(ctx context.Context) error {
	if _, some := r.begin(crash.EventRising); !some {
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
			r.add(rule, rules.Key(crash.EventRising, today.Format(time.DateOnly)), e)
			r.edges[len(r.edges)-1].Held = today
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
	var id crash.BucketID
	var n int64
	since := until.AddDate(0, 0, 1-crash.PeriodWeek.Days())
	_, err := db.Since(ctx, s.Handle, since.AddDate(0, 0, -1), func(ctx context.Context, here time.Time) (bool, error) {
		return true, db.Each(ctx, s.Pool, sqlMachinesIn, pgx.NamedArgs{"heads": ids(some), "since": since, "until": until,
			"here": here}, []any{&id, &n}, func() { machines[id] = n })
	})
	return machines, err
}

// Searches reads saved searches.
type Searches interface {
	// Read returns the filter and the query of a search by its address. ok is false if it finds nothing.
	Read(ctx context.Context, path string) (f index.Filter, q index.Query, ok bool, err error)
}

// maxFollowedSearches limits how many follows of searches a round evaluates, the oldest first.
const maxFollowedSearches = 20_000

// sqlFollowedSearches selects those who follow searches that they can see, and may read reports.
const sqlFollowedSearches = `
	select s.path, s.name, u.id, u.name, u.tracker_name
	from followed as f
		join saved_searches as s on s.id::text = f.name and s.deleted is null and (s.user_id = f.user_id or s.shared)
		join users as u on u.id = f.user_id
	where f.kind = 'search' and u.id in (` + db.Readers + `) order by f.since, f.user_id, f.name limit @most`

// searchFollow is one person's follow of a search.
type searchFollow struct {
	path, name string
	user       crash.User
}

// searchFollower is a person who follows a search that lists a problem.
type searchFollower struct {
	user int64
	name string // of the search
}

// matchSearches finds out which of the problems are in lists that people follow. It evaluates a search
// once for all its followers, unless its query depends on the person.
func (r *round) matchSearches(ctx context.Context, heads []crash.BucketID) error {
	r.searched = map[crash.BucketID][]searchFollower{}
	if r.o.Searches == nil || len(heads) == 0 {
		return nil
	}
	// A problem may have several edges.
	slices.SortFunc(heads, func(a, b crash.BucketID) int { return bytes.Compare(a[:], b[:]) })
	heads = slices.Compact(heads)
	args := r.store.RightsArgs(pgx.NamedArgs{"most": maxFollowedSearches})
	follows, err := db.List(ctx, r.store.Pool, sqlFollowedSearches, args,
		db.Into(func(f *searchFollow) []any {
			return []any{&f.path, &f.name, &f.user.ID, &f.user.Name, &f.user.TrackerName}
		}))
	if err != nil {
		return fmt.Errorf("followed searches: %w", db.Classify(err))
	}
	if len(follows) == maxFollowedSearches {
		r.o.Log.WarnContext(ctx, "people follow more searches than rules evaluate; the newest follows get no notices",
			"limit", maxFollowedSearches)
	}
	type view struct{ path, person string }
	listed := map[view]map[crash.BucketID]bool{}
	searches := map[string]readSearch{}
	for _, f := range follows {
		s, known := searches[f.path]
		if !known {
			if s.filter, s.query, s.ok, err = r.o.Searches.Read(ctx, f.path); err != nil {
				return fmt.Errorf("followed search %q: %w", f.name, err)
			}
			searches[f.path] = s
		}
		if !s.ok {
			continue
		}
		as := view{path: f.path}
		if s.query.Personal() {
			as.person = f.user.Name
		}
		found, known := listed[as]
		if !known {
			found = s.list(r.ix, f, heads)
			listed[as] = found
		}
		for id := range found {
			r.searched[id] = append(r.searched[id], searchFollower{f.user.ID, f.name})
		}
	}
	return nil
}

// readSearch is a saved search that Searches has read.
type readSearch struct {
	filter index.Filter
	query  index.Query
	ok     bool
}

// list returns which of the problems the search lists for a follower.
func (s readSearch) list(ix *index.Index, f searchFollow, heads []crash.BucketID) map[crash.BucketID]bool {
	q := s.query.For(f.user.Names())
	return ix.Listed(q.Narrow(s.filter), q.Matcher(), heads)
}

// members holds the source packages of the sets and teams in the scopes of rules, by rule.
type members map[int64]map[string]bool

const (
	// sqlWantMembers makes the tracker's archive facts about followed, watched and granted sets and
	// teams available, and lets them be updated. New facts are read within seconds.
	sqlWantMembers = `
		insert into archive_facts (kind, key, asked, next_read)
		select distinct kind, key, @now::timestamptz, @now::timestamptz from (
			select case kind when 'set' then 'set' else 'person' end,
				case kind when 'set' then @series || '/' || name else name end
			from followed where kind in ('set', 'person')
			union select case scope when 'set' then 'set' else 'person' end,
				case scope when 'set' then @series || '/' || name else name end
			from weekly_mails where scope in ('set', 'team')
			union select case scope when 'set' then 'set' else 'person' end,
				case scope when 'set' then @series || '/' || scope_name else scope_name end
			from (select scope, scope_name from group_grants union select scope, scope_name from account_grants) as g
			where scope in ('set', 'team')
			union select unnest(@kinds::text[]), unnest(@keys::text[])
		) as w (kind, key) where key ~ '^[a-z0-9][a-z0-9+./-]*$' and length(key) <= 100
		order by kind, key
		on conflict (kind, key) do update set asked = excluded.asked
			where archive_facts.asked < excluded.asked - interval '1 day'`
	sqlMembers = `
		select kind, key, coalesce(array(select jsonb_array_elements_text(value -> 'names')), '{}')
		from archive_facts where (kind, key) in (select * from unnest(@kinds::text[], @keys::text[]))`
)

// series is the code name of the release whose package sets count, as on the page of followed
// packages.
func (s *Store) series() string {
	return crash.Releases().Latest("Ubuntu", s.Now()).Codename()
}

// wants returns the archive facts that a scope needs.
func (s *Store) wants(scope rules.Scope) (kinds, keys []string) {
	for _, name := range scope.Names {
		switch scope.Kind {
		case rules.OfSet:
			kinds, keys = append(kinds, string(crash.ArchiveSet)), append(keys, s.series()+"/"+name)
		case rules.OfTeam:
			kinds, keys = append(kinds, string(crash.ArchivePerson)), append(keys, name)
		case rules.Everything, rules.OfPackage:
		}
	}
	return kinds, keys
}

// readMembers reads the packages of sets and teams. Those that the tracker has not been asked for
// yet have none.
func (r *round) readMembers(ctx context.Context) (members, error) {
	var kinds, keys []string
	for _, rule := range r.rules {
		k, names := r.store.wants(rule.Scope)
		kinds, keys = append(kinds, k...), append(keys, names...)
	}
	if _, err := r.store.Pool.Exec(ctx, sqlWantMembers, pgx.NamedArgs{
		"kinds": kinds, "keys": keys, "series": r.store.series(), "now": r.now,
	}); err != nil {
		return nil, fmt.Errorf("want packages of sets and teams: %w", db.Classify(err))
	}
	all := members{}
	if len(keys) == 0 {
		return all, nil
	}
	packages, err := r.store.packagesOf(ctx, kinds, keys)
	if err != nil {
		return nil, err
	}
	for _, rule := range r.rules {
		all[rule.ID] = r.store.membersOf(rule.Scope, packages)
	}
	return all, nil
}

// packagesOf reads the source packages of sets and teams, by kind and key.
func (s *Store) packagesOf(ctx context.Context, kinds, keys []string) (map[[2]string][]string, error) {
	packages := map[[2]string][]string{}
	var kind, key string
	var names []string
	err := db.Each(ctx, s.Pool, sqlMembers, pgx.NamedArgs{"kinds": kinds, "keys": keys}, []any{&kind, &key, &names},
		func() {
			packages[[2]string{kind, key}], names = names, nil
		})
	return packages, db.Wrap(err, "packages of sets and teams")
}

// membersOf returns the source packages of the sets or teams of a scope.
func (s *Store) membersOf(scope rules.Scope, packages map[[2]string][]string) map[string]bool {
	some := map[string]bool{}
	kinds, keys := s.wants(scope)
	for i := range kinds {
		for _, name := range packages[[2]string{kinds[i], keys[i]}] {
			some[name] = true
		}
	}
	return some
}
