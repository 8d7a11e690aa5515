package events_test

import (
	"fmt"
	"testing"
	"time"

	"mishap/crash"
	"mishap/db/bugs"
	"mishap/db/events"
	"mishap/notify/rules"
)

// TestFleet lets an invented fleet report for 30 days. One or two instances count, evaluate rules and
// send mail and webhooks at the same time; they restart daily, die while they send, and are away for
// some days. Each known edge is reported exactly once: in the inbox, by mail and to an endpoint.
func TestFleet(t *testing.T) {
	t.Parallel()
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
	if _, err := store.LinkBug(t.Context(), bucketOf(signature), crash.Bug{Number: number, URL: "u",
		By: "ada"}); err != nil {
		t.Fatal(err)
	}
	if err := store.SaveBugReading(t.Context(), crash.BugReading{
		Number: number, Tasks: []crash.BugTask{{Target: "/ubuntu/+source/reef", Status: "Fix Released", Complete: true,
			Closed: w.now()}},
		Fixes: []crash.BugFix{{Package: "reef", Version: "1.1-1"}},
	}, "", time.Hour); err != nil {
		t.Fatal(err)
	}
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
