package events_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/grouping"
	"mishap/crash/stats"
	"mishap/db"
	"mishap/db/dbtest"
	"mishap/db/events"
	"mishap/db/problems"
	mishapmail "mishap/notify/mail"
	"mishap/notify/mail/mailtest"
	"mishap/notify/rules"
	"mishap/notify/webhook"
)

// TestStartsAnew checks that a rule ignores what was there before it began, also after an upgrade,
// and after it was switched on or its condition was changed.
func TestStartsAnew(t *testing.T) {
	t.Parallel()
	w := newWorld(t, events.EvaluatorOptions{})
	w.user(t, "fay", crash.RoleTriager, follow("tide"), follow("reef"))
	// The database has problems and a regression from before rules existed.
	w.machines(t, "old", 5, "tide 1.0-1", nil)
	w.machines(t, "fixed", 3, "reef 1.0-1", nil)
	w.link(t, "fixed", 7)
	w.report(t, "fixed", "machine 1", "reef 1.1-1", nil)
	w.exec(t, `update rule_progress set round = (select round from counting)`)
	w.exec(t, `insert into bucket_arrivals select id, 'epoch', 0 from buckets where reports > 0`)
	w.evaluate(t)
	w.set(begin.Add(time.Hour))
	w.machines(t, "old", 6, "tide 1.0-1", nil)
	w.report(t, "fixed", "machine 2", "reef 1.1-1", nil)
	w.evaluate(t)
	wantLines(t, "before the rules", w.events(t))

	off := dbtest.Must(w.rules.Rule(t.Context(), 1))(t)
	off.Enabled = false
	dbtest.Must(w.rules.SaveRule(t.Context(), off, "ada"))(t)
	w.machines(t, "while off", 3, "tide 1.0-1", nil)
	w.machines(t, "few", 2, "tide 1.0-1", nil)
	w.evaluate(t)
	w.set(begin.Add(2 * time.Hour))
	w.save(t, off)
	w.machines(t, "while off", 4, "tide 1.0-1", nil)
	w.evaluate(t)
	w.set(begin.Add(3 * time.Hour))
	w.machines(t, "later", 2, "tide 1.0-1", nil)
	w.evaluate(t)
	off.Machines = 2 // a lower threshold concerns only what comes
	w.save(t, off)
	w.set(begin.Add(4 * time.Hour))
	w.machines(t, "later", 2, "tide 1.0-1", nil)
	w.machines(t, "last", 2, "tide 1.0-1", nil)
	w.evaluate(t)
	wantLines(t, "after the changes", w.events(t), "01 new last crashed to fay")
	off.Name, off.Actions.Administrators = "New ones", true // other changes do not matter
	w.save(t, off)
	w.set(begin.Add(5 * time.Hour))
	w.user(t, "root", crash.RoleAdmin)
	w.machines(t, "last", 3, "tide 1.0-1", nil)
	w.machines(t, "one more", 2, "tide 1.0-1", nil)
	w.evaluate(t)
	wantLines(t, "after more changes", w.events(t), "01 new last crashed to fay", "01 new one more crashed to fay",
		"01 new one more crashed to root")
}

// TestMergesStaySilent checks that merging, separating, splitting and regrouping make no problem
// new.
func TestMergesStaySilent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, events.EvaluatorOptions{})
	w.user(t, "fay", crash.RoleTriager, follow("tide"))
	w.evaluate(t)
	w.set(begin.Add(time.Minute))
	w.machines(t, "one", 3, "tide 1.0-1", nil)
	w.machines(t, "two", 2, "tide 1.0-1", nil)
	w.machines(t, "parts", 3, "tide 1.0-1", crash.Fields{"Architecture": "arm64"})
	w.machines(t, "parts", 3, "tide 2.0-1", nil)
	w.evaluate(t)
	told := []string{"01 new one crashed to fay", "01 new parts crashed to fay"}
	wantLines(t, "at first", w.events(t), told...)
	w.set(begin.Add(time.Hour))
	d := db.NewDecisions(w.store)
	dbtest.Must(d.Merge(t.Context(), bucketOf("one"), []crash.BucketID{bucketOf("two")}, "ada", ""))(t)
	w.evaluate(t)
	history, err := d.Decisions(t.Context(), bucketOf("one"), 10)
	if err != nil || len(history) != 1 {
		t.Fatalf("decisions: %v, %v", history, err)
	}
	dbtest.Must(d.Undo(t.Context(), history[0].ID, "ada"))(t)
	w.machines(t, "one", 4, "tide 1.0-1", nil)
	w.evaluate(t)
	wantLines(t, "merged and separated", w.events(t), told...)
	// The part that was split off had its reports before.
	term := crash.Condition{Terms: []crash.Term{{Field: crash.TermArchitecture, Value: "arm64"}}}
	dbtest.Must(d.Split(t.Context(), bucketOf("parts"), term, "ada", ""))(t)
	checktest.NoError(t, d.FinishDecisions(t.Context(), grouping.CurrentRules()))
	w.set(begin.Add(2 * time.Hour))
	w.evaluate(t)
	wantLines(t, "split", w.events(t), told...)
}

// TestRegressedByHand checks that problems that a person has marked as fixed are reported when they are
// seen again, but not for reports from before the decision.
func TestRegressedByHand(t *testing.T) {
	t.Parallel()
	w := newWorld(t, events.EvaluatorOptions{})
	w.user(t, "fay", crash.RoleTriager, follow("reef"))
	w.set(begin.Add(time.Hour))
	w.machines(t, "marked", 3, "reef 1.1-1", nil)
	w.evaluate(t)
	told := []string{"01 new marked crashed to fay"}
	wantLines(t, "at first", w.events(t), told...)
	mark := func(version string) int64 {
		t.Helper()
		decided := dbtest.Must(problems.New(w.store).Set(t.Context(),
			crash.Mark{Bucket: bucketOf("marked"), Kind: crash.MarkFixed,
				Person: "ada", Fixes: []crash.FixedIn{{Version: version}}, Confirmed: true}))(t)
		return decided.ID
	}
	decided := mark("1.1-1")
	w.set(begin.Add(2 * time.Hour))
	w.report(t, "marked", "machine 1", "reef 1.0-1", nil) // lacks the fix
	w.evaluate(t)
	wantLines(t, "decided", w.events(t), told...)
	w.set(begin.Add(3 * time.Hour))
	w.report(t, "marked", "machine 1", "reef 1.1-1", nil)
	w.evaluate(t)
	w.evaluate(t)
	told = append(told, "01 regressed marked crashed to fay")
	wantLines(t, "seen again", w.events(t), told...)
	want := "Seen again in 1.1-1 on Ubuntu 24.04, though it was marked as fixed, by 3 machines."
	if got := w.lines(t, `select text from events where kind = 'regressed'`); len(got) != 1 || got[0] != want {
		t.Errorf("got %q, want %q", got, want)
	}
	dbtest.Must(problems.New(w.store).Undo(t.Context(), decided, "ada"))(t)
	w.set(begin.Add(4 * time.Hour))
	w.report(t, "marked", "machine 2", "reef 1.2-1", nil)
	w.evaluate(t)
	wantLines(t, "reopened by hand", w.events(t), told...)
	mark("1.3-1")
	w.set(begin.Add(5 * time.Hour))
	w.report(t, "marked", "machine 1", "reef 1.2-1", nil)
	w.evaluate(t)
	wantLines(t, "marked again", w.events(t), told...)
	w.set(begin.Add(6 * time.Hour))
	w.report(t, "marked", "machine 1", "reef 1.3-1", nil)
	w.evaluate(t)
	wantLines(t, "seen in the second fix", w.events(t), append(told, "01 regressed marked crashed to fay")...)
}

// TestRegroupingStaysSilent checks that neither new grouping rules nor the names of functions make
// any problem new, regressed, rising or unmuted, nor a storm of them, also while a run is under way.
func TestRegroupingStaysSilent(t *testing.T) {
	t.Parallel()
	const problems = rules.StormProblems + 3
	w := newWorld(t, events.EvaluatorOptions{})
	w.user(t, "fay", crash.RoleTriager, follow("tide"), follow("reef"))
	w.save(t, rules.Rule{When: crash.EventUnmuted, Actions: rules.Actions{Followers: true}})
	w.evaluate(t)
	var told []string
	var later []crash.OopsID  // whose function names are found later
	for i := range problems { // far apart, so that they are no storm
		w.set(begin.Add(time.Duration(i+1) * time.Hour))
		w.machines(t, fmt.Sprint("p", i), 3, "tide 1.0-1", nil)
		address := fmt.Sprintf("/usr/bin/tide:11:/usr/bin/tide+%x", i)
		for machine := range 3 {
			w.grouped(t, crash.Grouping{Signature: address, Rule: crash.RuleAddress, Provisional: true},
				fmt.Sprint("machine ", machine), "tide 1.0-1", crash.Fields{"StacktraceAddressSignature": address})
		}
		other := fmt.Sprintf("/usr/bin/tide:11:/usr/bin/tide+f%x", i)
		for machine := range 3 {
			later = append(later, w.grouped(t, crash.Grouping{Signature: other, Rule: crash.RuleAddress, Provisional: true},
				fmt.Sprint("machine ", machine), "tide 1.0-1", crash.Fields{"StacktraceAddressSignature": other,
					"DuplicateSignature": "", "Signal": "11", "Stacktrace": "#0  0x1 in ?? ()", "StacktraceTop": "?? ()"}))
		}
		w.evaluate(t)
		told = append(told, fmt.Sprintf("01 new p%d crashed to fay", i), "01 new "+address+" to fay",
			"01 new "+other+" to fay")
	}
	w.machines(t, "fixed", 3, "reef 1.0-1", nil)
	w.link(t, "fixed", 7)
	w.evaluate(t)
	w.report(t, "fixed", "machine 1", "reef 1.1-1", nil)
	w.exec(t, `insert into marks (bucket_id, kind, until, person, reason, at) values ($1, 'muted', '{}', 'ada', '', $2)`,
		idBytes("p0"), w.now())
	w.evaluate(t)
	told = append(told, "01 new fixed crashed to fay", "01 regressed fixed crashed to fay")
	wantLines(t, "at first", w.events(t), told...)

	// Within a few minutes, a report brings the names of each provisional problem.
	w.set(begin.Add(20 * time.Hour))
	for i := range problems {
		w.grouped(t, crash.Grouping{Signature: fmt.Sprint("named ", i), Rule: crash.RuleStacktrace}, "machine 1",
			"tide 1.0-1", crash.Fields{
				"StacktraceAddressSignature": fmt.Sprintf("/usr/bin/tide:11:/usr/bin/tide+%x", i)})
		w.evaluate(t)
	}
	wantLines(t, "symbolised", w.events(t), told...)

	// Within a few minutes, mishap itself finds the names in stored reports of the others.
	d := db.NewDecisions(w.store)
	for i, id := range later {
		frames := fmt.Sprintf("#0  tide_parse_%d () at parse.c:1\n#1  main () at main.c:2\n", i/3)
		checktest.NoError(t, d.NameReport(t.Context(), id, crash.Fields{"Stacktrace": frames,
			"StacktraceTop": fmt.Sprintf("tide_parse_%d ()\nmain ()", i/3)}, true,
			func(_ context.Context, _ pgx.Tx, named bool, why string) error {
				if !named {
					t.Errorf("%s has no names: %s", id, why)
				}
				return nil
			}))
		w.evaluate(t)
	}
	wantLines(t, "named later", w.events(t), told...)

	// New rules give every problem a new signature, and p1 and p2 the same.
	w.set(begin.Add(20*time.Hour + 5*time.Minute))
	next := crash.GroupingRules{Version: grouping.RulesVersion + 1, Group: func(f crash.Fields) crash.Grouping {
		signature := "again " + f["DuplicateSignature"]
		if signature == "again p2" {
			signature = "again p1"
		}
		return crash.Grouping{Signature: signature, Rule: crash.RuleDuplicateSignature}
	}}
	run, err := d.StartRegroup(t.Context(), next.Version, false, "ada")
	for err == nil && run.State == crash.RegroupRunning {
		if run, err = d.StepRegroup(t.Context(), run.ID, next); err == nil {
			w.evaluate(t)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	w.set(begin.Add(20*time.Hour + 6*time.Minute))
	w.evaluate(t)
	wantLines(t, "regrouped", w.events(t), told...)
	wantLines(t, "muted after regrouping",
		w.lines(t, `select h.signature from marks as t join buckets as b on b.id = t.bucket_id
		join buckets as h on h.id = b.head where t.ended_at is null`), "again p0")
	w.restart(t, 2)
	w.evaluate(t)
	wantLines(t, "after a restart", w.events(t), told...)
}

// TestEndedMutesOnce checks that rules hear of each mute that ends once, whichever instance evaluates
// it, also if its transaction was late or the round before failed.
func TestEndedMutesOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, events.EvaluatorOptions{})
	w.user(t, "fay", crash.RoleTriager, follow("tide"))
	w.save(t, rules.Rule{When: crash.EventUnmuted, Actions: rules.Actions{Followers: true}})
	w.restart(t, 2)
	w.evaluate(t)
	var told []string
	for day := range 5 {
		w.set(begin.AddDate(0, 0, day).Add(time.Hour))
		name := fmt.Sprint("back", day)
		w.machines(t, name, 1, "tide 1.0-1", nil)
		if day == 3 {
			w.restart(t, 2)
		}
		w.evaluate(t)
		// It ended half an hour before the last round, whose transaction did not see it yet.
		w.exec(t, `insert into marks (bucket_id, kind, until, person, reason, at, ended_at, ended_why)
			values ($1, 'muted', '{"reports":1}', 'ada', '', $2, $2, '1 more report arrived.')`, idBytes(name),
			w.now().Add(-30*time.Minute))
		if day == 3 { // a round fails after it has found the mute, and the next one is late
			w.exec(t, `alter table rule_edges add constraint broken check (version not like 'unmuted:%') not valid`)
			for _, e := range w.evals {
				if err := e.Round(t.Context()); err == nil {
					t.Error("the round succeeds, want that it fails")
				}
			}
			w.exec(t, `alter table rule_edges drop constraint broken`)
			w.set(w.now().Add(2 * time.Hour))
		}
		w.evaluate(t)
		w.evaluate(t)
		told = append(told, fmt.Sprintf("%02d unmuted %s crashed to fay", day+1, name))
		wantLines(t, fmt.Sprint("day ", day), w.events(t), told...)
	}
	// A round reads only what has ended since about the last one.
	read := w.lines(t,
		`select t.bucket_id::text from marks as t, rule_progress as p where t.ended_at > p.at - interval '1 hour'`)
	if len(read) != 1 {
		t.Errorf("a round would read %d ended mutes, want the last one of %d", len(read), len(told))
	}
}

// TestScopes checks rules for packages, sets and teams, and who is notified why.
func TestScopes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, events.EvaluatorOptions{})
	w.exec(t, `update rules set enabled = false`)
	w.user(t, "fay", crash.RoleTriager, crash.Follow{Kind: crash.FollowSet, Name: "sea"}, follow("tide"))
	w.user(t, "gus", crash.RoleViewer, crash.Follow{Kind: crash.FollowPerson, Name: "reefers"})
	named := w.user(t, "hal", crash.RoleViewer)
	w.exec(t, `insert into endpoints (name, kind, url, created) values ('chat', 'slack', 'https://a.example/', now())`)
	a := rules.Actions{Followers: true, Users: []int64{named}, Endpoints: []int64{1}}
	w.save(t, rules.Rule{Name: "Sets", When: crash.EventNew, Scope: rules.Scope{Kind: rules.OfSet, Names: []string{"sea"}},
		Actions: a})
	w.save(t, rules.Rule{Name: "Teams", When: crash.EventNew, Actions: rules.Actions{Followers: true},
		Scope: rules.Scope{Kind: rules.OfTeam, Names: []string{"reefers"}}})
	w.evaluate(t) // asks for the packages
	w.exec(t, `update archive_facts set read = now(), value = '{"names": ["tide", "reef"]}' where kind = 'set'`)
	w.exec(t, `update archive_facts set read = now(), value = '{"names": ["reef"]}' where kind = 'person'`)
	w.set(begin.Add(time.Minute))
	w.report(t, "first", "m", "tide 1.0-1", nil)
	w.report(t, "second", "m", "reef 1.0-1", nil)
	w.report(t, "third", "m", "gale 1.0-1", nil)
	w.evaluate(t)
	wantLines(t, "reasons", w.lines(t, `select e.title || ' to ' || u.name || ': ' || n.reason from events as e
		join notices as n on n.event_id = e.id join users as u on u.id = n.user_id`),
		"first crashed to fay: you follow tide", "first crashed to hal: the rule “Sets” names you",
		"second crashed to fay: you follow the package set sea", "second crashed to hal: the rule “Sets” names you",
		"second crashed to gus: you follow the packages of reefers")
	wantLines(t, "deliveries", w.lines(t, `select e.title from deliveries as d join events as e on e.id = d.event_id`),
		"first crashed", "second crashed")
}

// TestRehearsal checks that a rehearsal lists what the rule does about the same reports.
// TestRehearsalOfRegressed checks that machines count from the version that was seen again, as when rules
// are evaluated.
func TestRehearsalOfRegressed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, events.EvaluatorOptions{})
	w.set(begin.Add(time.Hour))
	w.machines(t, "marked", 3, "reef 1.0-1", nil)
	w.evaluate(t)
	dbtest.Must(problems.New(w.store).Set(t.Context(), crash.Mark{Bucket: bucketOf("marked"), Kind: crash.MarkFixed,
		Person: "ada", Fixes: []crash.FixedIn{{Version: "1.1-1"}}, Confirmed: true}))(t)
	w.set(begin.Add(2 * time.Hour))
	w.report(t, "marked", "machine 1", "reef 1.1-1", nil)
	w.evaluate(t)
	for machines, want := range map[int64]int{1: 1, 2: 0} {
		found := dbtest.Must(w.rules.Rehearse(t.Context(), rules.Rule{When: crash.EventRegressed, Machines: machines,
			Scope: rules.Scope{Kind: rules.Everything}}, nil))(t)
		if len(found.Lines) != want {
			t.Errorf("at least %d machines: got %+v, want %d", machines, found.Lines, want)
		}
	}
}

func TestRehearsal(t *testing.T) {
	t.Parallel()
	w := newWorld(t, events.EvaluatorOptions{File: (&filer{}).file, HourlyLimit: 99})
	w.user(t, "fay", crash.RoleTriager, follow("tide"), follow("gale"), follow("calm"), follow("reef"))
	w.exec(t, `update rules set enabled = false`)
	a := rules.Actions{Followers: true}
	all := []rules.Rule{
		{Name: "new", When: crash.EventNew, Machines: 3, Actions: a},
		{Name: "rising", When: crash.EventRising, Machines: 10, Actions: a},
		{Name: "proposed", When: crash.EventProposed, Actions: a},
		{Name: "quiet", When: crash.EventQuiet, Weeks: 2, Actions: a,
			Scope: rules.Scope{Kind: rules.OfPackage, Names: []string{"calm"}}},
		{Name: "regressed", When: crash.EventRegressed, Actions: a},
		{Name: "symbolised", When: crash.EventSymbolised, Actions: a},
		{Name: "unmuted", When: crash.EventUnmuted, Actions: a},
	}
	for i := range all {
		all[i].ID = w.save(t, all[i])
		if all[i].Scope.Kind == "" {
			all[i].Scope.Kind = rules.Everything
		}
		all[i].Machines = max(all[i].Machines, 1)
	}
	for day := 1; day <= 30; day++ {
		w.set(begin.AddDate(0, 0, day-1).Add(12 * time.Hour))
		w.reportsOf(t, day)
		if day == 20 { // the date of a report does not make a problem old
			w.machines(t, "late", 3, "tide 1.0-1", crash.Fields{"Date": w.now().AddDate(0, 0, -60).Format(time.ANSIC)})
		}
		w.evaluate(t)
	}
	activity := dbtest.Must(w.rules.Activity(t.Context()))(t)
	for _, r := range all {
		found := dbtest.Must(w.rules.Rehearse(t.Context(), r, nil))(t)
		var got []string
		for _, l := range found.Lines {
			got = append(got, fmt.Sprintf("%s %s to fay", l.At.Format("02"), string(l.Event.Kind)+" "+l.Event.Title))
		}
		want := w.lines(t, `select to_char(e.at at time zone 'utc', 'DD') || ' ' || e.kind || ' ' || e.title || ' to fay'
			from events as e where rule_id = $1`, r.ID)
		if r.When == crash.EventRegressed { // past regressions are not known
			want = slices.DeleteFunc(want, func(s string) bool { return strings.HasPrefix(s, "17") })
		}
		if r.When == crash.EventNew { // muted at that time, which is not known
			want = append(want, "12 new muted crashed to fay")
		}
		wantLines(t, r.Name, got, want...)
		edges := int64(found.Edges)
		if r.When == crash.EventNew { // see above
			edges--
		}
		if n := activity[r.ID].Recent; r.When != crash.EventRegressed && n != edges {
			t.Errorf("%s: got %d matches in the list of rules, want the %d of the rehearsal", r.Name, n, edges)
		}
		if len(want) > 0 && found.People["fay"] != int64(len(want)) {
			t.Errorf("%s: fay gets %d notices, want %d", r.Name, found.People["fay"], len(want))
		}
	}
	// Bugs: with a limit of one an hour, others wait. Problems with a bug are skipped.
	found, err := w.rules.Rehearse(t.Context(), rules.Rule{When: crash.EventNew, Machines: 3, Scope: rules.Scope{
		Kind: rules.Everything}, Actions: rules.Actions{File: true, HourlyLimit: 1}}, nil)
	if err != nil || found.Filed == 0 || found.Proposed == 0 || found.Skipped != 1 {
		t.Errorf("bugs: filed %d, queued %d, skipped %d, want some, some, 1; %v", found.Filed, found.Proposed, found.Skipped,
			err)
	}
}

// outlets are a relay and a receiver of webhooks, which get what rules report.
type outlets struct {
	world *world
	relay *mailtest.Server
	hook  *httptest.Server

	mu     sync.Mutex
	bodies map[string][]string // by webhook-id
}

// newOutlets starts the outlets, adds an endpoint to all rules, and confirms an address of everyone.
func newOutlets(t *testing.T, w *world) *outlets {
	t.Helper()
	o := &outlets{world: w, relay: mailtest.New(t), bodies: map[string][]string{}}
	o.hook = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		o.mu.Lock()
		defer o.mu.Unlock()
		id := r.Header.Get("webhook-id")
		o.bodies[id] = append(o.bodies[id], string(body))
	}))
	t.Cleanup(o.hook.Close)
	e := crash.Endpoint{Name: "hook", Kind: crash.EndpointWebhook, Address: crash.Secret(o.hook.URL),
		Secret: webhook.NewSecret(), PerMinute: 600}
	if wrong := webhook.CheckSettings(&e, true); len(wrong) > 0 {
		t.Fatalf("settings: %v", wrong)
	}
	id := dbtest.Must(events.New(w.store).SaveEndpoint(t.Context(), e, "ada"))(t)
	w.exec(t, `update rules set actions = jsonb_set(actions, '{endpoints}', to_jsonb(array[$1::bigint]))`, id)
	w.exec(t, `insert into mail_settings (user_id, address, confirmed) select id, name || '@example.org', $1 from users`,
		w.now())
	return o
}

// send lets all instances send what is due, at the same time, until nothing is left.
func (o *outlets) send(t *testing.T) {
	t.Helper()
	relay := dbtest.Must(mishapmail.ParseRelay(o.relay.URL, "off"))(t)
	allow := dbtest.Must(crash.ParseNetworks("127.0.0.0/8"))(t)
	var rounds []func() error
	for _, s := range o.world.stores {
		mailer := dbtest.Must(mishapmail.New(mishapmail.Config{Relay: relay, From: "crashes@example.org",
			BaseURL: "https://crashes.example.org", Log: dbtest.Log(t), Now: o.world.now,
			Registerer: prometheus.NewRegistry()}, events.New(s)))(t)
		worker := dbtest.Must(webhook.NewWorker(events.New(s), webhook.NewClient(webhook.Config{Allow: allow,
			BaseURL: "https://crashes.example.org", Version: "1.0", Now: o.world.now}), dbtest.Log(t), nil))(t)
		rounds = append(rounds, func() error { return mailer.Round(t.Context()) }, func() error {
			err := worker.Round(t.Context())
			worker.Wait()
			return err
		})
	}
	for waiting := []string{"?"}; len(waiting) > 0; { // the server notices the death of an instance a little later
		var all sync.WaitGroup
		for _, round := range rounds {
			all.Go(func() {
				if err := round(); err != nil {
					t.Errorf("%s: %v", o.world.now().Format(time.DateTime), err)
				}
			})
		}
		all.Wait()
		if t.Failed() {
			t.FailNow()
		}
		waiting = o.world.lines(t, `
			select 'mail ' || id from mails where state in ('waiting', 'sending')
			union all select 'delivery ' || id from deliveries where state not in ('delivered', 'dead')`)
	}
}

// die lets an instance claim a mail and a delivery, and ends it before it can send them, like SIGKILL.
// It reports whether there was something to claim.
func (o *outlets) die(t *testing.T, s *db.Store) bool {
	t.Helper()
	mails := events.New(s)
	checktest.NoError(t, mails.PlanMails(t.Context()))
	_, _, err := mails.ClaimMail(t.Context())
	if err != nil && crash.KindOf(err) != crash.NotFound {
		t.Fatal(err)
	}
	_, claimed, errDelivery := events.New(s).ClaimDelivery(t.Context())
	if errDelivery != nil {
		t.Fatal(errDelivery)
	}
	s.Close()
	return err == nil && claimed
}

// check compares what arrived with the notices: each comes once by mail, and each event once to the
// endpoint.
func (o *outlets) check(t *testing.T) {
	t.Helper()
	var mails []string
	ids := map[string]int{}
	for _, m := range o.relay.Mails() {
		read := dbtest.Must(mail.ReadMessage(strings.NewReader(m.Raw)))(t)
		_, subject, found := strings.Cut(read.Header.Get("Subject"), ": ") // without the kind, if it names that
		if !found {
			subject = read.Header.Get("Subject")
		}
		date := dbtest.Must(read.Header.Date())(t)
		mails = append(mails, fmt.Sprintf("%s %s to %s", date.UTC().Format("02"), subject, m.To))
		if ids[read.Header.Get("Message-Id")]++; ids[read.Header.Get("Message-Id")] > 1 {
			t.Errorf("got %s twice", mails[len(mails)-1])
		}
	}
	wantLines(t, "mails", mails, o.world.lines(t, `
		select to_char(e.at at time zone 'utc', 'DD') || ' ' || e.title || ' to ' || u.name || '@example.org'
		from events as e join notices as n on n.event_id = e.id join users as u on u.id = n.user_id`)...)

	kinds := map[string]crash.EventKind{}
	for _, kind := range crash.EventKinds {
		kinds[webhook.EventType(kind)] = kind
	}
	var bodies []string
	for id, got := range o.bodies {
		var body struct {
			Type      string
			Timestamp time.Time
			Data      struct{ Title string }
		}
		if err := json.Unmarshal([]byte(got[0]), &body); err != nil || len(got) != 1 {
			t.Errorf("%s: got %d requests, %v: %s", id, len(got), err, got[0])
		}
		bodies = append(bodies, fmt.Sprintf("%s %s %s", body.Timestamp.UTC().Format("02"), kinds[body.Type],
			body.Data.Title))
	}
	wantLines(t, "webhooks", bodies, o.world.lines(t,
		`select to_char(at at time zone 'utc', 'DD') || ' ' || kind || ' ' || title from events`)...)
}

// filer records the bugs that rules file.
type filer struct {
	filed []string
	fail  error
}

func (f *filer) file(_ context.Context, signature, rule string) error {
	if f.fail != nil {
		return f.fail
	}
	f.filed = append(f.filed, signature+" by "+rule)
	return nil
}

// TestFiling checks that rules file within their limits, and that what exceeds them waits.
func TestFiling(t *testing.T) {
	t.Parallel()
	f := &filer{}
	w := newWorld(t, events.EvaluatorOptions{File: f.file, HourlyLimit: 3})
	w.exec(t, `update rules set enabled = false`)
	w.save(t, rules.Rule{Name: "Two", When: crash.EventNew, Actions: rules.Actions{File: true, HourlyLimit: 2},
		Scope: rules.Scope{Kind: rules.OfPackage, Names: []string{"tide"}}})
	w.save(t, rules.Rule{Name: "Many", When: crash.EventNew, Actions: rules.Actions{File: true, HourlyLimit: 9},
		Scope: rules.Scope{Kind: rules.OfPackage, Names: []string{"reef"}}})
	w.set(begin.Add(time.Minute))
	w.report(t, "has a bug", "m", "tide 1.0-1", nil)
	w.link(t, "has a bug", 5)
	for i := range 4 {
		w.report(t, fmt.Sprint("tide ", i), "m", "tide 1.0-1", nil)
		w.report(t, fmt.Sprint("reef ", i), "m", "reef 1.0-1", nil)
	}
	w.report(t, "no source", "m", "reef 1.0-1", crash.Fields{"SourcePackage": ""})
	w.evaluate(t)
	w.evaluate(t)
	if len(f.filed) != 3 {
		t.Errorf("filed %q, want 3, the limit of all", f.filed)
	}
	for _, bug := range f.filed {
		if !strings.HasSuffix(bug, " by rule: Two") && !strings.HasSuffix(bug, " by rule: Many") {
			t.Errorf("filed %q, want the name of the rule", bug)
		}
	}
	waiting := dbtest.Must(w.rules.Candidates(t.Context(), 100))(t)
	for _, c := range waiting {
		if c.State != rules.CandidateWaiting || c.Problem == bucketOf("has a bug") {
			t.Errorf("candidate %+v", c)
		}
	}
	if len(waiting) < 5 { // of 8 or 9 problems, 3 were filed
		t.Errorf("got %d candidates: %+v", len(waiting), waiting)
	}
	// An hour later there is room for others. A refusal waits for a person.
	w.set(begin.Add(2 * time.Hour))
	w.report(t, "later", "m", "tide 1.0-1", nil)
	f.fail = crash.Errorf(crash.Unprocessable, "no", "It cannot be filed.")
	w.evaluate(t)
	w.set(begin.Add(4 * time.Hour))
	w.report(t, "unreachable", "m", "tide 1.0-1", nil)
	f.fail = crash.Errorf(crash.Unavailable, "away", "The tracker is away.") // the intent is stored
	w.evaluate(t)
	states := w.lines(t, `select b.signature || ' ' || c.state || ' ' || c.failure from candidates as c
		join buckets as b on b.id = c.bucket_id where b.signature in ('later', 'unreachable')`)
	wantLines(t, "after failures", states, "later waiting It cannot be filed.", "unreachable filed ")
}

// TestCandidateLost checks that a candidate whose instance died while it filed is filed again.
func TestCandidateLost(t *testing.T) {
	t.Parallel()
	f := &filer{}
	w := newWorld(t, events.EvaluatorOptions{File: f.file, HourlyLimit: 3})
	w.save(t, rules.Rule{When: crash.EventNew, Actions: rules.Actions{File: true, HourlyLimit: 2}})
	w.set(begin.Add(time.Minute))
	w.report(t, "lost", "m", "tide 1.0-1", nil)
	w.evaluate(t)
	w.exec(t, `update candidates set state = 'filing'`)
	w.evaluate(t)
	if len(f.filed) != 1 {
		t.Errorf("at once: %q", f.filed)
	}
	w.set(begin.Add(10 * time.Minute))
	w.evaluate(t)
	if len(f.filed) != 2 || f.filed[0] != f.filed[1] {
		t.Errorf("later: %q", f.filed)
	}
}

// TestFilingOff checks that nothing is proposed while filing is off, and that the rule says so.
func TestFilingOff(t *testing.T) {
	t.Parallel()
	w := newWorld(t, events.EvaluatorOptions{})
	id := w.save(t, rules.Rule{When: crash.EventNew, Actions: rules.Actions{Queue: true, Tag: "x"}})
	w.set(begin.Add(time.Minute))
	w.report(t, "any", "m", "tide 1.0-1", nil)
	w.evaluate(t)
	r, err := w.rules.Rule(t.Context(), id)
	if err != nil || !strings.Contains(r.Failure, "allow_bug_filing") || r.Failed.IsZero() {
		t.Errorf("got %q, %v", r.Failure, err)
	}
	if n := w.lines(t, `select state from candidates`); len(n) != 0 {
		t.Errorf("candidates: %q", n)
	}
}

// notes stands for the manual status and tags of problems: it writes notes.
type notes struct{ fail bool }

func (n notes) add(ctx context.Context, tx pgx.Tx, bucket crash.BucketID, what, rule string) error {
	if _, err := tx.Exec(ctx, `insert into audit_events (at, person, action, subject) values (now(), $1, $2, $3)`, rule,
		what,
		bucket.String()); err != nil {
		return err
	}
	if n.fail && strings.HasPrefix(what, "assign") {
		return crash.Errorf(crash.NotFound, "nobody", "There is no person or team “nobody”.")
	}
	return nil
}

func (n notes) Mute(ctx context.Context, tx pgx.Tx, bucket crash.BucketID, until rules.Mute, rule string) error {
	return n.add(ctx, tx, bucket, fmt.Sprintf("mute %d days", until.Days), rule)
}

func (n notes) Assign(ctx context.Context, tx pgx.Tx, bucket crash.BucketID, to, rule string) error {
	return n.add(ctx, tx, bucket, "assign "+to, rule)
}

func (n notes) Tag(ctx context.Context, tx pgx.Tx, bucket crash.BucketID, tag, rule string) error {
	return n.add(ctx, tx, bucket, "tag "+tag, rule)
}

func (n notes) Embargo(ctx context.Context, tx pgx.Tx, bucket crash.BucketID, when rules.Embargo,
	rule rules.Rule) error {
	return n.Tag(ctx, tx, bucket, "embargo "+string(when), rule.Name)
}

func (n notes) Merge(ctx context.Context, tx pgx.Tx, bucket crash.BucketID, rule string) error {
	return n.add(ctx, tx, bucket, "merge", rule)
}

// TestActions checks that an action that fails is undone and shown, and that the others are done.
func TestActions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, events.EvaluatorOptions{Actions: notes{fail: true}})
	w.user(t, "fay", crash.RoleTriager, follow("tide"))
	id := w.save(t, rules.Rule{When: crash.EventNew, Actions: rules.Actions{Followers: true, Mute: &rules.Mute{Days: 3},
		Assign: "~nobody", Tag: "x", Merge: true}})
	w.set(begin.Add(time.Minute))
	w.report(t, "any", "m", "tide 1.0-1", nil)
	w.evaluate(t)
	wantLines(t, "done", w.lines(t, `select action from audit_events where action !~ '^(rule|follow)'`), "merge",
		"mute 3 days", "tag x")
	wantLines(t, "notices", w.events(t), "01 new any crashed to fay")
	r, err := w.rules.Rule(t.Context(), id)
	if err != nil || r.Failure != "There is no person or team “nobody”." {
		t.Errorf("failure: got %q, %v", r.Failure, err)
	}
}

// TestDuplicates checks that rules about possible duplicates act on those only, and the others on none of them.
func TestDuplicates(t *testing.T) {
	t.Parallel()
	w := newWorld(t, events.EvaluatorOptions{})
	w.o = events.EvaluatorOptions{Facts: problems.New(w.store)}
	w.restart(t, 2)
	for name, of := range map[string]rules.Duplicate{"only": rules.DuplicateOnly, "never": rules.DuplicateNever} {
		user := w.user(t, name, crash.RoleTriager)
		r := rules.Rule{Name: name, Scope: rules.Scope{Kind: rules.Everything}, When: crash.EventNew, Machines: 1,
			Enabled: true, If: rules.Conditions{Duplicate: of}, Actions: rules.Actions{Users: []int64{user}}}
		wrong := r.Check()
		checktest.Equal(t, "mistakes", len(wrong), 0)
		w.save(t, r)
	}
	off := dbtest.Must(w.rules.Rule(t.Context(), 1))(t)
	off.Enabled = false
	w.save(t, off)
	w.evaluate(t)
	w.set(begin.Add(time.Hour))
	const old, like, unlike = "/usr/bin/a:11:f:g:h", "/usr/bin/b:11:f:g:i", "/usr/bin/c:11:x:y:z"
	w.report(t, old, "machine 1", "tide 1.0-1", nil)
	w.evaluate(t)
	w.set(begin.Add(2 * time.Hour))
	w.report(t, like, "machine 1", "tide 1.0-1", nil)
	w.report(t, unlike, "machine 1", "tide 1.0-1", nil)
	w.evaluate(t)
	want := []string{
		"01 new /usr/bin/a:11:f:g:h crashed to never", "01 new /usr/bin/b:11:f:g:i crashed to only",
		"01 new /usr/bin/c:11:x:y:z crashed to never",
	}
	wantLines(t, "conditions", w.events(t), want...)
	for of, n := range map[rules.Duplicate]int{rules.DuplicateOnly: 1, rules.DuplicateNever: 2, rules.DuplicateEither: 3} {
		found := dbtest.Must(w.rules.Rehearse(t.Context(), rules.Rule{When: crash.EventNew, Machines: 1,
			If: rules.Conditions{Duplicate: of}, Scope: rules.Scope{Kind: rules.Everything}}, w.o.Facts))(t)
		checktest.Equal(t, "rehearsed lines of "+string(of), len(found.Lines), n)
	}
	for _, r := range dbtest.Must(w.rules.Rules(t.Context()))(t) {
		if r.Name != "only" && r.Name != "never" {
			continue
		}
		checktest.Equal(t, "stored condition", string(r.If.Duplicate), r.Name)
		other := r
		other.If = rules.Conditions{}
		checktest.Equal(t, "another condition starts anew", r.SameCondition(other), false)
	}
}

// countedFacts counts the questions that take many reports.
type countedFacts struct {
	*problems.Store
	asked atomic.Int64
}

func (f *countedFacts) ConcentratedOn(
	ctx context.Context, id crash.BucketID, field stats.FacetField, pattern string,
) (bool, error) {
	f.asked.Add(1)
	return f.Store.ConcentratedOn(ctx, id, field, pattern)
}

// TestConcentrated checks that rules about concentrated problems act once these are, and ask rarely.
func TestConcentrated(t *testing.T) {
	t.Parallel()
	w := newWorld(t, events.EvaluatorOptions{})
	facts := &countedFacts{Store: problems.New(w.store)}
	w.o = events.EvaluatorOptions{Facts: facts}
	w.restart(t, 1)
	for name, c := range map[string]rules.Concentrated{
		"nvidia": {Field: stats.FacetGraphics, Value: "nvidia-*"}, "any": {Field: rules.ConcentratedAny},
		"radeon": {Field: stats.FacetGraphics, Value: "radeon"}, "desktop": {Field: stats.FacetDesktop},
	} {
		user := w.user(t, name, crash.RoleTriager)
		w.save(t, rules.Rule{Name: name, Scope: rules.Scope{Kind: rules.Everything}, When: crash.EventNew, Machines: 3,
			Enabled: true, If: rules.Conditions{Concentrated: c}, Actions: rules.Actions{Users: []int64{user}}})
	}
	w.evaluate(t)
	w.set(begin.Add(time.Hour))
	plain := crash.Fields{"Uname": "Linux 6.8.0-41-generic x86_64", "CurrentDesktop": "KDE"}
	for i := range 20 {
		w.report(t, fmt.Sprint("/usr/bin/tide:11:other", i%2), fmt.Sprint("other ", i), "tide 1.0-1", plain)
	}
	nvidia := crash.Fields{"Uname": plain["Uname"], "CurrentDesktop": "KDE", "NonfreeKernelModules": "nvidia",
		".proc.driver.nvidia.version": "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.120"}
	const signature = "/usr/bin/tide:11:f:g:h"
	w.machines(t, signature, 2, "tide 1.0-1", nvidia)
	w.evaluate(t)
	wantLines(t, "two machines", w.events(t))
	asked := facts.asked.Load()
	if asked == 0 {
		t.Fatal("nobody asked about the problems with ten machines")
	}
	for range 3 { // the same machines report the same again
		w.report(t, "/usr/bin/tide:11:other1", "other 1", "tide 1.0-1", plain)
		w.report(t, signature, "machine 1", "tide 1.0-1", nvidia)
		w.evaluate(t)
	}
	checktest.Equal(t, "questions without a new machine", facts.asked.Load(), asked)
	w.machines(t, signature, 9, "tide 1.0-1", nvidia)
	w.evaluate(t)
	wantLines(t, "nine machines", w.events(t), "01 new /usr/bin/tide:11:f:g:h crashed to any",
		"01 new /usr/bin/tide:11:f:g:h crashed to nvidia")
	for value, n := range map[string]int{"nvidia-*": 1, "nvidia-5?0": 1, "": 1, "nvidia": 1, "nvidia-47*": 0} {
		found := dbtest.Must(w.rules.Rehearse(t.Context(), rules.Rule{When: crash.EventNew, Machines: 1,
			If:    rules.Conditions{Concentrated: rules.Concentrated{Field: stats.FacetGraphics, Value: value}},
			Scope: rules.Scope{Kind: rules.Everything}}, w.o.Facts))(t)
		checktest.Equal(t, "rehearsed lines of "+value, len(found.Lines), n)
	}
}
