package problems_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/crash/index"
	"mishap/crash/intake"
	"mishap/db"
	"mishap/db/bugs"
	"mishap/db/dbtest"
	"mishap/db/people"
	"mishap/db/problems"
)

// fixture is a database with a clock.
type fixture struct {
	*testing.T
	*problems.Store
	url string
	mu  *sync.Mutex
	now *time.Time
}

func start(t *testing.T) fixture {
	t.Helper()
	now := time.Now().UTC()
	f := fixture{T: t, url: dbtest.URL(t), mu: &sync.Mutex{}, now: &now}
	f.Store = f.another()
	return f
}

// another returns a store of another instance on the same database.
func (f fixture) another() *problems.Store {
	return problems.New(dbtest.OpenConfig(f.T, db.Config{URL: f.url, Now: func() time.Time {
		f.mu.Lock()
		defer f.mu.Unlock()
		return *f.now
	}}))
}

func (f fixture) pass(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	*f.now = f.now.Add(d)
}

// crash stores a report of problem n and returns its bucket.
func (f fixture) crash(n, machine int, options ...crashtest.Option) crash.BucketID {
	f.Helper()
	f.pass(time.Second)
	options = append([]crashtest.Option{
		crashtest.On("Ubuntu 24.04"), crashtest.Version("1.4-2"),
		crashtest.Set("DuplicateSignature", fmt.Sprint("problem ", n)),
		crashtest.Process(int(f.Now().Unix() % 100_000)), crashtest.At(f.Now()),
	}, options...)
	rec, err := intake.New(intake.Config{MaxAgeDays: 366}, nil).Examine(crash.Report{ID: crash.NewOopsID(f.Now()),
		System: crash.NewSystemID(fmt.Sprint("machine ", machine)), Fields: crashtest.Native(options...).Fields()})
	if err != nil {
		f.Fatal(err)
	}
	if _, _, err := f.SaveReport(f.Context(), rec); err != nil {
		f.Fatal(err)
	}
	dbtest.Counted(f.T, f.Store.Store)
	f.pass(time.Second)
	return crash.BucketIDOf(rec.Grouping.Signature)
}

func (f fixture) set(t crash.Mark) crash.Mark {
	f.Helper()
	t.Person = "anna"
	out, err := f.Set(f.Context(), t)
	if err != nil {
		f.Fatalf("set %+v: %v", t, err)
	}
	return out
}

func (f fixture) mute(id crash.BucketID, u crash.MuteUntil) crash.Mark {
	f.Helper()
	return f.set(crash.Mark{Bucket: id, Kind: crash.MarkMuted, Until: u})
}

func (f fixture) status(id crash.BucketID) crash.ManualStatus {
	f.Helper()
	m, _, err := f.Triage(f.Context(), id)
	if err != nil {
		f.Fatal(err)
	}
	return m
}

func (f fixture) end() {
	f.Helper()
	if err := f.EndMutes(f.Context()); err != nil {
		f.Fatal(err)
	}
}

// wantMuted checks that the problem is muted, on its page and in lists.
func (f fixture) wantMuted(id crash.BucketID, want bool, when string) {
	f.Helper()
	if got := f.status(id).Muted != nil; got != want {
		f.Errorf("%s: got muted %v, want %v", when, got, want)
	}
	b, err := f.Index(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	p, ok := b.Problem(id)
	if !ok || p.Muted() != want {
		f.Errorf("%s: got muted %v in the index, want %v", when, ok && p.Muted(), want)
	}
	everything := index.Filter{Until: 1<<16 - 1, Muted: index.MutedHidden}
	rows, totals := b.All(everything, nil)
	for _, row := range rows {
		if row.ID == p.ID && want {
			f.Errorf("%s: the list has the muted problem", when)
		}
	}
	if hidden := totals.Hidden > 0; hidden != want {
		f.Errorf("%s: got %d hidden problems", when, totals.Hidden)
	}
	everything.Muted = index.MutedOnly
	if rows, _ := b.All(everything, nil); (len(rows) > 0) != want {
		f.Errorf("%s: got %d muted problems", when, len(rows))
	}
}

// returned returns why the problem has returned.
func (f fixture) returned(id crash.BucketID) string {
	f.Helper()
	m := f.status(id)
	if m.Returned == nil {
		return ""
	}
	return m.Returned.EndedWhy
}

func TestMuteEnds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		until func(now time.Time) crash.MuteUntil
		stay  func(f fixture) // does not end it
		end   func(f fixture) // ends it
		why   string          // part of the sentence
	}{{
		name:  "date",
		until: func(now time.Time) crash.MuteUntil { return crash.MuteUntil{Date: now.Add(48 * time.Hour)} },
		stay:  func(f fixture) { f.pass(47 * time.Hour); f.crash(1, 1) },
		end:   func(f fixture) { f.pass(time.Hour) },
		why:   "it was muted until",
	}, {
		name:  "reports",
		until: func(time.Time) crash.MuteUntil { return crash.MuteUntil{Reports: 2} },
		stay:  func(f fixture) { f.crash(1, 1); f.crash(2, 1) },
		end:   func(f fixture) { f.crash(1, 1) },
		why:   "2 more reports arrived.",
	}, {
		name:  "reports within a period",
		until: func(time.Time) crash.MuteUntil { return crash.MuteUntil{Reports: 2, Days: 1} },
		stay:  func(f fixture) { f.crash(1, 1); f.pass(25 * time.Hour); f.crash(1, 1) },
		end:   func(f fixture) { f.pass(23 * time.Hour); f.crash(1, 1) },
		why:   "2 more reports arrived within 1 day.",
	}, {
		name:  "machines",
		until: func(time.Time) crash.MuteUntil { return crash.MuteUntil{Machines: 2, Days: 7} },
		stay:  func(f fixture) { f.crash(1, 1); f.crash(1, 1); f.crash(1, 1) },
		end:   func(f fixture) { f.crash(1, 2) },
		why:   "2 machines reported it within 7 days.",
	}, {
		name:  "version",
		until: func(time.Time) crash.MuteUntil { return crash.MuteUntil{Version: "1.4-3", Release: "Ubuntu 24.04"} },
		stay: func(f fixture) {
			f.crash(1, 1)
			f.crash(1, 1, crashtest.On("Ubuntu 26.04"), crashtest.Version("2.0-1"))
		},
		end: func(f fixture) { f.crash(1, 1, crashtest.Version("1.4-10")) },
		why: "it was seen in 1.4-10 (Ubuntu 24.04).",
	}, {
		name:  "newer version",
		until: func(time.Time) crash.MuteUntil { return crash.MuteUntil{Newer: true} },
		stay:  func(f fixture) { f.crash(1, 1); f.crash(1, 1, crashtest.Version("1.4-1")) },
		end:   func(f fixture) { f.crash(1, 1, crashtest.Version("1.4-3")) },
		why:   "it was seen in 1.4-3 (Ubuntu 24.04).",
	}, {
		name:  "regression of a fix marked by hand",
		until: func(time.Time) crash.MuteUntil { return crash.MuteUntil{Regression: true} },
		stay: func(f fixture) {
			id := f.crash(1, 1)
			f.set(crash.Mark{Bucket: id, Kind: crash.MarkFixed,
				Fixes: []crash.FixedIn{{Release: "Ubuntu 24.04", Version: "1.4-3"}}})
		},
		end: func(f fixture) { f.crash(1, 1, crashtest.Version("1.4-3")) },
		why: "it regressed: seen in 1.4-3 (Ubuntu 24.04).",
	}, {
		name:  "regression of a bug",
		until: func(time.Time) crash.MuteUntil { return crash.MuteUntil{Regression: true, Reports: 100} },
		stay: func(f fixture) {
			id := f.crash(1, 1)
			if _, err := bugs.New(f.Store.Store).LinkBug(f.Context(), id,
				crash.Bug{Number: 7, URL: "u", By: "anna"}); err != nil {
				f.Fatal(err)
			}
			b, err := f.Bucket(f.Context(), id)
			if err != nil {
				f.Fatal(err)
			}
			err = bugs.New(f.Store.Store).SaveBugReading(f.Context(), crash.BugReading{
				Number: 7, Tasks: []crash.BugTask{{Target: "/ubuntu/+source/" + b.SourcePackage, Status: crash.FixReleased,
					Complete: true, Closed: f.Now()}},
				Fixes: []crash.BugFix{{Package: b.SourcePackage, Version: "1.4-3", Series: "noble"}},
			}, "", time.Hour)
			if err != nil {
				f.Fatal(err)
			}
		},
		end: func(f fixture) { f.crash(1, 1, crashtest.Version("1.4-4")) },
		why: "it regressed: seen in 1.4-4 (Ubuntu 24.04).",
	}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := start(t)
			id := f.crash(1, 1)
			f.mute(id, c.until(f.Now()))
			f.wantMuted(id, true, "at first")
			f.end()
			c.stay(f)
			f.end()
			f.wantMuted(id, true, "before the condition is met")
			c.end(f)
			f.wantMuted(id, true, "before the task has run")
			// A new instance sees states that are not up to two seconds old.
			checktest.NoError(t, f.another().EndMutes(t.Context()))
			f.wantMuted(id, false, "afterwards")
			if got := f.returned(id); !strings.Contains(got, c.why) {
				t.Errorf("got %q, want %q", got, c.why)
			}
		})
	}
}

// TestMuteEndsOnce lets several instances end the same mutes at once, and starts new ones.
func TestMuteEndsOnce(t *testing.T) {
	t.Parallel()
	f := start(t)
	id := f.crash(1, 1)
	m := f.mute(id, crash.MuteUntil{Reports: 1})
	f.crash(1, 1)
	instances := []*problems.Store{f.Store, f.another(), f.another()}
	var all sync.WaitGroup
	for range 4 {
		for _, s := range instances {
			all.Go(func() {
				if err := s.EndMutes(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
	}
	all.Wait()
	ended := f.status(id).Returned
	if ended == nil {
		t.Fatal("the mute has not ended")
	}
	at := ended.EndedAt
	f.pass(time.Hour)
	f.end()
	if again := f.status(id).Returned; again == nil || !again.EndedAt.Equal(at) || again.ID != m.ID {
		t.Errorf("got %+v, want the end at %s", again, at)
	}
	var events int
	err := f.Pool.QueryRow(t.Context(), `select count(*) from audit_events where action = 'problem.return'`).Scan(&events)
	if err != nil || events != 1 {
		t.Errorf("got %d events, %v; want 1", events, err)
	}
	// Muting it again starts anew.
	f.mute(id, crash.MuteUntil{Reports: 1})
	f.end()
	f.wantMuted(id, true, "muted again")
}

func TestSetTwice(t *testing.T) {
	t.Parallel()
	f := start(t)
	id := f.crash(1, 1)
	first := f.mute(id, crash.MuteUntil{Reports: 5})
	if same := f.mute(id, crash.MuteUntil{Reports: 5}); same.ID != first.ID {
		t.Errorf("the same mute: got entry %d, want %d", same.ID, first.ID)
	}
	other := crash.Mark{Bucket: id, Kind: crash.MarkMuted, Until: crash.MuteUntil{Newer: true}, Person: "bob"}
	if _, err := f.Set(t.Context(), other); crash.KindOf(err) != crash.Conflict || !strings.Contains(err.Error(), "anna") {
		t.Errorf("another mute: got %v, want a conflict that names anna", err)
	}
	other.Replaces = first.ID
	second := f.set(other)
	if m := f.status(id).Muted; m == nil || m.ID != second.ID {
		t.Fatalf("replaced: got %+v, want entry %d", m, second.ID)
	}
	dbtest.Must(f.Undo(t.Context(), second.ID, "bob"))(t)
	if m := f.status(id).Muted; m == nil || m.ID != first.ID {
		t.Errorf("after undoing: got %+v, want entry %d again", m, first.ID)
	}
	if _, err := f.Undo(t.Context(), second.ID, "bob"); crash.KindOf(err) != crash.Conflict {
		t.Errorf("undo twice: got %v, want a conflict", err)
	}
	dbtest.Must(f.Undo(t.Context(), first.ID, "bob"))(t)
	f.wantMuted(id, false, "after undoing both")
	if m := f.status(id); m.Returned != nil {
		t.Errorf("undone: got returned %+v, want nothing", m.Returned)
	}

	wontFix := f.set(crash.Mark{Bucket: id, Kind: crash.MarkWontFix, Reason: "hardware"})
	if again := f.set(crash.Mark{Bucket: id, Kind: crash.MarkWontFix}); again.ID != wontFix.ID {
		t.Errorf("won't fix twice: got entry %d, want %d", again.ID, wontFix.ID)
	}
	fixes := []crash.FixedIn{{Release: "Ubuntu 24.04", Version: "1.4-3"}, {Release: "Ubuntu 26.04", Version: "2.0-2"}}
	fixed := f.set(crash.Mark{Bucket: id, Kind: crash.MarkFixed, Fixes: fixes})
	if again := f.set(crash.Mark{Bucket: id, Kind: crash.MarkFixed, Fixes: fixes[1:]}); again.ID != fixed.ID {
		t.Errorf("the same fix: got entry %d, want %d", again.ID, fixed.ID)
	}
	later := f.set(crash.Mark{Bucket: id, Kind: crash.MarkFixed,
		Fixes: []crash.FixedIn{{Release: "Ubuntu 24.04", Version: "1.4-4"}}})
	if m := f.status(id); m.WontFix == nil || len(m.Fixes) != 2 || m.Fixes[0].Version != "2.0-2" ||
		m.Fixes[1].Version != "1.4-4" {
		t.Errorf("got %+v, want one fix for each release, and won't fix", m)
	}
	dbtest.Must(f.Undo(t.Context(), later.ID, "bob"))(t)
	if m := f.status(id); len(m.Fixes) != 2 || m.Fixes[1].Version != "1.4-3" {
		t.Errorf("undone: got %+v, want the fix before", m.Fixes)
	}
}

func TestSetAtOnce(t *testing.T) {
	t.Parallel()
	f := start(t)
	id := f.crash(1, 1)
	stores := []*problems.Store{f.Store, f.another()}
	results := make([]error, 16)
	var all sync.WaitGroup
	for i := range results {
		all.Go(func() {
			_, results[i] = stores[i%2].Set(t.Context(), crash.Mark{Bucket: id, Kind: crash.MarkMuted, Person: "anna",
				Until: crash.MuteUntil{Reports: int64(1 + i%4)}})
		})
	}
	all.Wait()
	stored := 0
	for _, err := range results {
		switch {
		case err == nil:
			stored++
		case crash.KindOf(err) != crash.Conflict:
			t.Error(err)
		}
	}
	_, entries, err := f.Triage(t.Context(), id)
	if err != nil || len(entries) != 1 || stored != 4 {
		t.Errorf("got %d entries and %d successes, %v; want 1 entry, and 4 clicks that say the same", len(entries), stored,
			err)
	}
}

func TestSetRefusals(t *testing.T) {
	t.Parallel()
	f := start(t)
	id := f.crash(1, 1)
	mute := func(u crash.MuteUntil) crash.Mark {
		return crash.Mark{Bucket: id, Kind: crash.MarkMuted, Until: u, Person: "anna"}
	}
	for name, c := range map[string]struct {
		triage crash.Mark
		kind   crash.Kind
		code   string
	}{
		"unknown problem": {crash.Mark{Bucket: crash.BucketIDOf("no such"), Kind: crash.MarkWontFix}, crash.NotFound, ""},
		"long reason": {crash.Mark{Bucket: id, Kind: crash.MarkWontFix, Reason: strings.Repeat("x", crash.MaxReason+2)},
			crash.Invalid, "A reason is one line"},
		"past": {mute(crash.MuteUntil{Date: f.Now()}), crash.Invalid, "not in the future"},
		"seen already": {mute(crash.MuteUntil{Version: "1.4-2"}), crash.Invalid, "return at once, because it was " +
			"seen in 1.4-2"},
	} {
		if _, err := f.Set(t.Context(), c.triage); crash.KindOf(err) != c.kind || !strings.Contains(fmt.Sprint(err), c.code) {
			t.Errorf("%s: got %v, want %s %q", name, err, c.kind, c.code)
		}
	}
	fixed := crash.Mark{Bucket: id, Kind: crash.MarkFixed, Fixes: []crash.FixedIn{{Version: "1.4-1"}}}
	if _, err := f.Set(t.Context(), fixed); crash.KindOf(err) != crash.Conflict ||
		!strings.Contains(err.Error(), "already seen in 1.4-2 (Ubuntu 24.04): 1 report.") {
		t.Errorf("seen already: got %v, want a conflict with the count", err)
	}
	fixed.Confirmed = true
	f.set(fixed)
	if m := f.status(id); m.SeenAgain() {
		t.Errorf("got %+v; want no report since the decision", m.Fixes)
	}
	f.crash(1, 1)
	if m := f.status(id); !m.SeenAgain() || m.Fixes[0].Again != 1 {
		t.Errorf("got %+v; want one report since the decision", m.Fixes)
	}
	if _, err := f.Set(t.Context(), mute(crash.MuteUntil{Regression: true})); crash.KindOf(err) != crash.Invalid ||
		!strings.Contains(err.Error(), "return at once, because it regressed: seen in 1.4-2 (Ubuntu 24.04).") {
		t.Errorf("a regression already: got %v", err)
	}
	entry := f.mute(id, crash.MuteUntil{})
	if _, err := f.Undo(t.Context(), entry.ID+100, "bob"); crash.KindOf(err) != crash.NotFound {
		t.Errorf("undo nothing: got %v, want not found", err)
	}
}

// TestFollowed checks that another instance notices a decision, whether it judges states or not.
func TestFollowed(t *testing.T) {
	t.Parallel()
	f := start(t)
	id := f.crash(1, 1)
	other := f.another()
	for _, open := range []func() (*index.Index, error){
		func() (*index.Index, error) { return other.IndexWithStates(t.Context()) },
		func() (*index.Index, error) { return other.Index(t.Context()) },
	} {
		for _, muted := range []bool{true, false} {
			if muted {
				f.mute(id, crash.MuteUntil{})
			} else if _, err := f.Undo(t.Context(), f.status(id).Muted.ID, "bob"); err != nil {
				t.Fatal(err)
			}
			b := dbtest.Must(open())(t)
			if p, _ := b.Problem(id); p.Muted() != muted {
				t.Errorf("got muted %v, want %v", p.Muted(), muted)
			}
		}
	}
}

// TestManyMutes checks that a thousand mutes take little time once they were checked: nothing is
// counted for a problem that has not changed.
func TestManyMutes(t *testing.T) {
	t.Parallel()
	f := start(t)
	for n := range 20 {
		f.mute(f.crash(n, 1), crash.MuteUntil{Reports: 5, Machines: 5, Days: 7, Newer: true})
	}
	f.end()
	dbtest.Exec(t, f.url, `alter table reports rename to reports_away`)
	f.end() // would fail if it looked at the reports again
	dbtest.Exec(t, f.url, `alter table reports_away rename to reports`)
	id := f.crash(3, 2)
	for n := range 5 {
		f.crash(3, n)
	}
	f.end()
	if got := f.returned(id); got == "" {
		t.Error("the mute of the problem that changed has not ended")
	}
}

// TestDecisionsOfMerged checks that a merged problem is muted if the problem that it was merged into is, that the
// conditions count the reports of both, and that undoing the merge restores what was before.
func TestDecisionsOfMerged(t *testing.T) {
	t.Parallel()
	f := start(t)
	from, into := f.crash(1, 1), f.crash(2, 1)
	decisions := db.NewDecisions(f.Store.Store)
	merge := func() {
		t.Helper()
		dbtest.Must(decisions.Merge(t.Context(), into, []crash.BucketID{from}, "anna", ""))(t)
	}
	separate := func() {
		t.Helper()
		all, err := decisions.Decisions(t.Context(), into, 1)
		if err != nil || len(all) != 1 {
			t.Fatalf("got %v, %v", all, err)
		}
		dbtest.Must(decisions.Undo(t.Context(), all[0].ID, "anna"))(t)
	}

	// Only the problem that is merged is muted: the other one stays visible, and the history says why.
	hidden := f.mute(from, crash.MuteUntil{Reports: 2})
	f.set(crash.Mark{Bucket: from, Kind: crash.MarkFixed, Fixes: []crash.FixedIn{{Version: "1.4-3"}}})
	dbtest.Must(f.Index(t.Context()))(t)
	merge()
	f.wantMuted(into, false, "merged into a visible problem")
	m, history, err := f.Triage(t.Context(), into)
	if err != nil || len(m.Fixes) != 1 || m.Returned != nil || len(history) != 2 || !history[0].Merged {
		t.Errorf("merged: got %+v, %+v, %v; want the fix, and a mute that the merge has ended", m, history, err)
	}
	f.end()
	separate()
	f.wantMuted(from, true, "separated")
	if m := f.status(into); len(m.Fixes) != 0 || m.Muted != nil {
		t.Errorf("separated: got %+v, want nothing", m)
	}

	// Both are muted: the mute of the other problem counts, and can be replaced.
	shown := f.mute(into, crash.MuteUntil{Reports: 3})
	merge()
	if m := f.status(into); m.Muted == nil || m.Muted.ID != shown.ID {
		t.Errorf("got %+v, want the mute of the problem that stays", m.Muted)
	}
	later := f.set(crash.Mark{Bucket: from, Kind: crash.MarkMuted, Until: crash.MuteUntil{Reports: 2},
		Replaces: shown.ID})
	f.end()
	f.crash(2, 1)
	f.end()
	f.wantMuted(into, true, "after one report")
	f.crash(1, 1)
	f.end()
	f.wantMuted(into, false, "after two reports, one of the merged problem")
	if m := f.status(into); m.Returned == nil || m.Returned.ID != later.ID {
		t.Errorf("got %+v, want the return of mute %d", m, later.ID)
	}
	separate()
	if m := f.status(from); m.Muted == nil || m.Muted.ID != hidden.ID || len(m.Fixes) != 1 {
		t.Errorf("separated: got %+v, want the first mute and the fix", m)
	}

	// Only the problem that stays is muted: it remains so.
	dbtest.Must(f.Undo(t.Context(), hidden.ID, "anna"))(t)
	f.mute(into, crash.MuteUntil{Newer: true})
	merge()
	f.wantMuted(into, true, "merged into a muted problem")
}

func TestSavedSearches(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	a, searches := people.New(store), problems.New(store)
	ctx := t.Context()
	add := func(name string) crash.User {
		return dbtest.Must(a.Add(ctx, "", name, crash.RoleViewer, "correct horse battery"))(t)
	}
	ada, bob := add("ada"), add("bob")
	save := func(u crash.User, name string, shared bool) int64 {
		t.Helper()
		id := dbtest.Must(searches.SaveSearch(ctx, crash.SavedSearch{Name: name, Path: "/?period=week", Shared: shared,
			OwnerID: u.ID}))(t)
		return id
	}
	personal, shared := save(ada, "Mine", false), save(ada, "Ours", true)
	save(bob, "mine", false) // names are unique per person
	wantNames := func(u crash.User, want ...string) {
		t.Helper()
		all, err := searches.SavedSearches(ctx, u.ID)
		var got []string
		for _, s := range all {
			got = append(got, s.Name+" of "+s.Owner)
			if s.Path != "/?period=week" || time.Since(s.Created) > time.Hour {
				t.Errorf("got %+v", s)
			}
		}
		if err != nil || len(got) != len(want) {
			t.Fatalf("searches of %s: got %q, %v, want %q", u.Name, got, err, want)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("searches of %s: got %q, want %q", u.Name, got, want)
			}
		}
	}
	wantNames(ada, "Mine of ada", "Ours of ada")
	wantNames(bob, "mine of bob", "Ours of ada")
	wantKind := func(what string, err error, want crash.Kind) {
		t.Helper()
		if crash.KindOf(err) != want {
			t.Errorf("%s: got %v, want %v", what, err, want)
		}
	}
	_, err := searches.SavedSearch(ctx, bob.ID, personal, false)
	wantKind("a personal search of another", err, crash.NotFound)
	if s, err := searches.SavedSearch(ctx, bob.ID, shared, false); err != nil || s.MayChange(bob) || !s.MayChange(ada) ||
		!s.MayChange(crash.User{ID: 99, Role: crash.RoleAdmin}) {
		t.Errorf("a shared search: got %+v, %v", s, err)
	}
	_, err = searches.SaveSearch(ctx, crash.SavedSearch{Name: "MINE", Path: "/?period=day", OwnerID: ada.ID})
	wantKind("a name in use", err, crash.Conflict)
	wantKind("renaming to a name in use", searches.ChangeSearch(ctx, crash.SavedSearch{ID: shared, Name: "mine"}),
		crash.Conflict)
	checktest.NoError(t, searches.ChangeSearch(ctx, crash.SavedSearch{ID: shared, Name: "Not ours"}))
	wantNames(bob, "mine of bob")

	checktest.NoError(t, searches.DeleteSearch(ctx, personal))
	wantNames(ada, "Not ours of ada")
	wantKind("deleting twice", searches.DeleteSearch(ctx, personal), crash.NotFound)
	again := save(ada, "Mine", false)
	wantKind("restoring a name in use", searches.RestoreSearch(ctx, personal), crash.Conflict)
	checktest.NoError(t, searches.DeleteSearch(ctx, again))
	checktest.NoError(t, searches.RestoreSearch(ctx, personal))
	wantNames(ada, "Mine of ada", "Not ours of ada")
	for n := range 98 {
		save(ada, fmt.Sprintf("search %d", n), false)
	}
	_, err = searches.SaveSearch(ctx, crash.SavedSearch{Name: "one more", Path: "/?period=day", OwnerID: ada.ID})
	wantKind("too many", err, crash.Conflict)
}

func TestSearchName(t *testing.T) {
	t.Parallel()
	if got, err := crash.SearchName("  SRU watch "); got != "SRU watch" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	for _, name := range []string{"", "  ", "a\nb", "\xff", string(make([]byte, 61))} {
		if _, err := crash.SearchName(name); crash.KindOf(err) != crash.Invalid {
			t.Errorf("%q: got %v, want Invalid", name, err)
		}
	}
}
