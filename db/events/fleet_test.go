package events_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/db"
	"mishap/db/bugs"
	"mishap/db/dbtest"
	"mishap/db/events"
	"mishap/db/people"
	dbproblems "mishap/db/problems"
	"mishap/handlers/problems"
	"mishap/notify/rules"
)

// TestMoreFleet lets an invented fleet report for 30 days. One or two instances count, evaluate rules and
// send mail and webhooks at the same time; they restart daily, die while they send, and are away for
// some days. Each known edge is reported exactly once: in the inbox, by mail and to an endpoint.
func TestMoreFleet(t *testing.T) {
	t.Parallel()
	checktest.Needs(t, "time")
	w := newWorld(t, events.EvaluatorOptions{})
	w.user(t, "fay", crash.RoleTriager, follow("tide"), follow("gale"), follow("reef"), follow("calm"))
	w.user(t, "root", crash.RoleAdmin)
	followers := rules.Actions{Followers: true}
	w.save(t, rules.Rule{When: crash.EventProposed, Actions: followers})
	w.save(t, rules.Rule{When: crash.EventQuiet, Weeks: 2, Actions: followers,
		Scope: rules.Scope{Kind: rules.OfPackage, Names: []string{"calm"}}})
	w.save(t, rules.Rule{When: crash.EventSymbolised, Actions: followers})
	w.save(t, rules.Rule{When: crash.EventUnmuted, Actions: followers})
	// A second rule about the same edges tells nobody twice.
	w.save(t, rules.Rule{Name: "Tide", When: crash.EventNew, Machines: 3, Actions: followers,
		Scope: rules.Scope{Kind: rules.OfPackage, Names: []string{"tid*"}}})
	out := newOutlets(t, w)

	deaths := 0
	for day := 1; day <= 30; day++ {
		w.set(begin.AddDate(0, 0, day-1).Add(6 * time.Hour))
		if day < 12 || day > 13 {
			w.restart(t, 1+day%2)
			w.evaluate(t) // nothing has happened since the evening
			out.send(t)   // what an instance that died in the evening has left
		}
		w.set(w.now().Add(6 * time.Hour))
		w.reportsOf(t, day)
		w.set(w.now().Add(8 * time.Hour))
		if day < 12 || day > 13 { // nothing is evaluated on two days
			w.evaluate(t)
			w.evaluate(t)
			if day%2 == 0 && out.die(t, w.store) {
				deaths++
			} else if day%2 == 1 {
				out.send(t)
			}
		}
	}
	w.restart(t, 2)
	out.send(t)
	out.check(t)
	if deaths < 3 {
		t.Errorf("%d instances died while they sent something, want some", deaths)
	}
	wantLines(t, "notices", w.events(t),
		"01 new steady crashed to fay", "09 new slow crashed to fay", "01 new rises crashed to fay",
		"02 new fixed crashed to fay", "04 new quiet crashed to fay", "14 new away crashed to fay",
		"06 new named crashed to fay",
		"16 rising rises crashed to fay", "29 rising rises crashed to fay",
		"17 regressed fixed crashed to fay", "20 regressed fixed crashed to fay",
		"10 proposed early crashed to fay",
		"06 symbolised named crashed to fay",
		"18 quiet quiet crashed to fay",
		"24 unmuted muted crashed to fay",
		"22 storm Many new problems of gale to fay",
		"25 refused slow crashed to root", "26 tracker "+rules.TrackerTitle+" to root", "29 tracker "+rules.TrackerTitle+
			" to root",
	)
}

// reportsOf stores the reports of a day, counted from 1, and what else happens on it.
func (w *world) reportsOf(t *testing.T, day int) {
	t.Helper()
	w.machines(t, "steady", 3, "tide 1.0-1", nil)
	w.machines(t, "rare", 2, "tide 1.0-1", nil)
	w.report(t, "tests", "deadbeef"+fmt.Sprint(day), "tide 1.0-1", nil)
	for i := range 3 {
		if day == []int{3, 5, 9}[i] {
			w.report(t, "slow", fmt.Sprint("slow machine ", i), "tide 1.0-1", nil)
		}
	}
	rises := map[int]int{15: 14, 16: 13, 17: 13, 29: 120}[day]
	w.machines(t, "rises", max(rises, 3), "tide 1.0-1", nil)
	switch day {
	case 2, 5:
		w.machines(t, "fixed", 3, "reef 1.0-1", nil)
	case 4:
		w.machines(t, "quiet", 3, "calm 1.0-1", nil)
	case 6:
		address := crash.Fields{"StacktraceAddressSignature": "/usr/bin/tide:11:/usr/bin/tide+aa"}
		for i := range 5 {
			bucket := crash.Grouping{Signature: address["StacktraceAddressSignature"], Rule: crash.RuleAddress,
				Provisional: true}
			if i >= 2 {
				bucket = crash.Grouping{Signature: "named", Rule: crash.RuleStacktrace}
			}
			if i == 2 {
				w.evaluate(t)
			}
			w.grouped(t, bucket, fmt.Sprint("machine ", i), "tide 1.0-1", address)
		}
	case 7:
		w.link(t, "fixed", 7)
	case 10:
		w.report(t, "early", "machine 1", "tide 1.1-1", crash.Fields{"Tags": "noble package-from-proposed"})
		w.report(t, "both", "machine 1", "tide 1.1-1", crash.Fields{"Tags": "noble package-from-proposed"})
		w.report(t, "both", "machine 2", "tide 1.0-1", nil)
	case 11:
		w.report(t, "early", "machine 2", "tide 1.1-1", crash.Fields{"Tags": "noble package-from-proposed"})
	case 12:
		w.machines(t, "away", 3, "reef 1.0-1", nil)
		w.mute(t, "muted", 3)
	case 17:
		w.report(t, "fixed", "machine 1", "reef 1.1-1", nil)
	case 18:
		w.report(t, "fixed", "machine 2", "reef 1.1-1", nil)
	case 20:
		w.report(t, "fixed", "machine 2", "reef 1.2-1", nil)
	case 22:
		for i := range 14 {
			w.set(w.now().Add(30 * time.Second))
			w.report(t, fmt.Sprint("storm ", i), "machine 1", "gale 1.0-1", nil)
			if i == 12 {
				w.evaluate(t)
			}
		}
	case 23:
		w.machines(t, "storm 3", 4, "gale 1.0-1", nil)
	case 24:
		w.exec(t, `update marks set ended_at = $1, ended_why = 'Seen in 1.1.'`, w.now())
	case 25:
		w.exec(t, `insert into filings (bucket_id, state, person, target, title, description, tags, marker, attempts, created,
			updated, not_before) select id, 'refused', 'ada', '/ubuntu', 't', 'd', '{}', 'm', 1, now(), now(), now()
			from buckets where signature = 'slow'`)
	case 26:
		w.exec(t, `insert into oauth_health values ('t', 'c', 'k', 'bot', '2026-06-25', 'no', '2026-06-26', true)`)
	case 27:
		w.exec(t, `update oauth_health set dead = false, last_success = '2026-06-27'`)
	case 29:
		w.exec(t, `update oauth_health set dead = true`)
	}
}

// link links a bug that is fixed in version 1.1-1.
func (w *world) link(t *testing.T, signature string, number int64) {
	t.Helper()
	store := bugs.New(w.store)
	dbtest.Must(store.LinkBug(t.Context(), bucketOf(signature), crash.Bug{Number: number, URL: "u",
		By: "ada"}))(t)
	checktest.NoError(t, store.SaveBugReading(t.Context(), crash.BugReading{
		Number: number, Tasks: []crash.BugTask{{Target: "/ubuntu/+source/reef", Status: "Fix Released", Complete: true,
			Closed: w.now()}},
		Fixes: []crash.BugFix{{Package: "reef", Version: "1.1-1"}},
	}, "", time.Hour))
}

// mute lets machines report a problem that was muted when it had one machine.
func (w *world) mute(t *testing.T, signature string, machines int) {
	t.Helper()
	w.exec(t, `insert into marks (bucket_id, kind, until, person, reason, at) values ($1, 'muted', '{}', 'ada', '', $2)`,
		idBytes(signature), w.now())
	w.machines(t, signature, machines, "tide 1.0-1", nil)
}

func idBytes(signature string) []byte {
	id := bucketOf(signature)
	return id[:]
}

// TestRulesRefuseStrangers saves rules that name people who do not exist or may not read reports. Such a
// rule can be switched off, but not on again.
func TestRulesRefuseStrangers(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	store := dbtest.Open(t, url)
	s := events.New(store)
	for _, name := range []string{"reader", "lost", "off"} {
		dbtest.AddUser(t, store, name, crash.RoleViewer, "correct horse battery")
	}
	ids, unknown, err := s.AccountIDs(t.Context(), []string{"reader", "LOST", "off", "stranger"})
	if err != nil || len(ids) != 3 || len(unknown) != 1 || unknown[0] != "stranger" {
		t.Fatalf("got %v, %v, %v, want three accounts", ids, unknown, err)
	}
	rule := func(name string, a rules.Actions) rules.Rule {
		return rules.Rule{Name: name, Scope: rules.Scope{Kind: rules.Everything}, When: crash.EventNew, Machines: 1,
			Enabled: true, Actions: a}
	}
	saved := rule("all three", rules.Actions{Users: ids})
	if saved.ID, err = s.SaveRule(t.Context(), saved, "ada"); err != nil {
		t.Fatal(err)
	}
	dbtest.Exec(t, url, `update users set role = '' where name = 'lost'`)
	dbtest.Exec(t, url, `delete from account_grants`)
	dbtest.Exec(t, url, `update users set disabled = true where name = 'off'`)
	refused := func(r rules.Rule, names ...string) {
		t.Helper()
		_, err := s.SaveRule(t.Context(), r, "ada")
		if crash.KindOf(err) != crash.Invalid {
			t.Errorf("%s: got %v, want Invalid", r.Name, err)
		}
		for _, name := range names {
			if err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s: got %v, want the name %s", r.Name, err, name)
			}
		}
	}
	refused(saved, "lost", "off")
	refused(rule("number", rules.Actions{Users: []int64{4711}}), "number 4711")
	refused(rule("assign", rules.Actions{Assign: "stranger"}), "stranger")
	refused(rule("assign again", rules.Actions{Assign: "lost"}), "lost")
	saved.Enabled = false
	if _, err := s.SaveRule(t.Context(), saved, "ada"); err != nil {
		t.Errorf("switching off: %v", err)
	}
	for name, a := range map[string]rules.Actions{"a": {Assign: "Reader"}, "b": {Assign: "~desktop-packages"},
		"c": {Users: ids[:1]}} {
		if _, err := s.SaveRule(t.Context(), rule(name, a), "ada"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDeleteOld checks that old notices and mails are deleted, that those which wait or are new stay,
// and that an event whose edge prevents repeats is not published again.
func TestDeleteOld(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	clock := &now
	store := dbtest.OpenConfig(t, db.Config{URL: dbtest.URL(t), Now: func() time.Time { return *clock }})
	dbtest.AddUser(t, store, "ada", crash.RoleViewer, "correct horse battery")
	ada := dbtest.Must(people.New(store).ByName(t.Context(), "ada"))(t)
	publish := func(edge string, rule int64) bool {
		t.Helper()
		var isNew bool
		checktest.NoError(t, store.InTx(t.Context(), func(tx pgx.Tx) (err error) {
			isNew, err = store.Publish(t.Context(), tx, crash.Event{Edge: edge, Kind: crash.EventMentioned, Rule: rule,
				Title: edge}, crash.Recipients{People: []crash.Recipient{{User: ada.ID, Reason: "a test"}}})
			return err
		}))
		return isNew
	}
	exec := func(sql string, args ...any) {
		t.Helper()
		dbtest.Must(store.Pool.Exec(t.Context(), sql, args...))(t)
	}
	for i := range 1001 { // more than one batch
		publish(fmt.Sprint("rule 1 new ", i), 1)
	}
	publish("rule 1 waits", 1)
	publish("mentioned:1:1", 0)
	publish("mentioned:2:1", 0)
	exec(`update notices set mail = 'none'
		where event_id in (select id from events where edge not in ('rule 1 waits', 'mentioned:2:1'))`)
	exec(`insert into mails (user_id, kind, address, created, due, state, ended)
		select $1, 'test', 'a@example.org', $2, $2, 'sent', $2 from generate_series(1, 3)`, ada.ID, now)
	exec(`insert into mails (user_id, kind, address, created, due) values ($1, 'test', 'a@example.org', $2, $2)`, ada.ID,
		now)
	notices := events.New(store)
	want := func(when, sql string, count int64) {
		t.Helper()
		var n int64
		if err := store.Pool.QueryRow(t.Context(), sql).Scan(&n); err != nil || n != count {
			t.Errorf("%s: %s: got %d, %v; want %d", when, sql, n, err, count)
		}
	}
	now = now.AddDate(0, 0, 399)
	checktest.NoError(t, notices.DeleteOld(t.Context()))
	want("after 399 days", `select count(*) from notices`, 1004)
	want("after 399 days", `select count(*) from mails`, 4)
	now = now.AddDate(0, 0, 2)
	publish("rule 1 fresh", 1)
	checktest.NoError(t, notices.DeleteOld(t.Context()))
	want("after 401 days", `select count(*) from notices`, 3) // two wait, one is fresh
	want("after 401 days", `select count(*) from events`, 4)
	want("after 401 days", `select count(*) from mails`, 1)
	if publish("mentioned:1:1", 0) {
		t.Error("a mention was reported again")
	}
}

// search saves a search and lets people follow it.
func (w *world) search(t *testing.T, owner int64, name, path string, shared bool, followers ...int64) int64 {
	t.Helper()
	a := people.New(w.store)
	id := dbtest.Must(dbproblems.New(w.store).SaveSearch(t.Context(),
		crash.SavedSearch{Name: name, Path: path, OwnerID: owner,
			Shared: shared}))(t)
	for _, user := range followers {
		f := crash.Follow{Kind: crash.FollowSearch, Name: strconv.FormatInt(id, 10)}
		checktest.NoError(t, a.Follow(t.Context(), user, f))
	}
	return id
}

// searching returns options of rules that read saved searches as the pages do.
func (w *world) searching() events.EvaluatorOptions {
	return events.EvaluatorOptions{Searches: problems.NewSearches(bugs.New(w.store), w.now)}
}

// TestSearchFollowers checks that people who follow a search hear of problems in it, once each, and of
// no others; also by searches of other kinds, and of storms.
func TestSearchFollowers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, events.EvaluatorOptions{})
	w.o = w.searching()
	w.restart(t, 2)
	fay := w.user(t, "fay", crash.RoleTriager)
	gus := w.user(t, "gus", crash.RoleViewer, follow("tide")) // also follows the package: one notice
	hal := w.user(t, "hal", "")                               // sees what visitors see
	ida := w.user(t, "ida", crash.RoleTriager)
	w.search(t, fay, "tide", "/search?period=week&q=package%3Atide", true, fay, gus, hal)
	w.search(t, ida, "mine", "/search?q=assignee%3Ame", false, ida, fay) // fay cannot see it
	w.search(t, ida, "jammy", "/?period=day&release=Ubuntu+22.04", false, ida)
	w.search(t, ida, "old days", "/?from=2026-01-01&to=2026-01-31&package=tide", false, ida)
	w.search(t, ida, "muted", "/?muted=only&package=tide", false, ida)
	w.search(t, ida, "not valid", "/search?q=%28", false, ida)
	gone := w.search(t, ida, "deleted", "/?package=tide", false, ida)
	checktest.NoError(t, dbproblems.New(w.store).DeleteSearch(t.Context(), gone))
	w.evaluate(t)
	w.set(begin.Add(time.Minute))
	w.machines(t, "one", 3, "tide 1.0-1", nil)
	w.machines(t, "other", 3, "reef 1.0-1", nil)
	w.machines(t, "there", 3, "reef 1.0-1", crash.Fields{"DistroRelease": "Ubuntu 22.04"})
	w.evaluate(t)
	told := []string{"01 new one crashed to fay", "01 new one crashed to gus", "01 new one crashed to hal",
		"01 new there crashed to ida"}
	wantLines(t, "new", w.events(t), told...)
	wantLines(t, "reasons", w.lines(t, `select distinct reason from notices`), "you follow tide",
		"you follow the search “tide”", "you follow the search “jammy”")
	w.restart(t, 2)
	w.set(begin.Add(2 * time.Minute))
	w.machines(t, "one", 4, "tide 1.0-1", nil)
	w.evaluate(t)
	wantLines(t, "after a restart", w.events(t), told...)

	// A regression of a problem that is assigned to ida.
	w.exec(t, `insert into assignments (bucket_id, assignee, person, at) select id, 'ida', 'ada', now() from buckets
		where signature = 'other'`)
	w.set(begin.Add(24 * time.Hour))
	w.link(t, "other", 7)
	w.report(t, "other", "machine 1", "reef 1.1-1", nil)
	w.evaluate(t)
	told = append(told, "02 regressed other crashed to ida")
	wantLines(t, "regressed", w.events(t), told...)

	// A storm: one notice for those who follow a search with any of its problems.
	w.set(begin.Add(48 * time.Hour))
	for i := range 12 {
		w.machines(t, fmt.Sprint("storm ", i), 3, "tide 2.0-1", nil)
	}
	w.evaluate(t)
	told = append(told, "03 storm Many new problems of tide to fay", "03 storm Many new problems of tide to gus",
		"03 storm Many new problems of tide to hal")
	wantLines(t, "storm", w.events(t), told...)
}
