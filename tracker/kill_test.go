package tracker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/db"
	"mishap/db/bugs"
	"mishap/db/dbtest"
	"mishap/tracker"
	"mishap/tracker/issuetest"
	"mishap/tracker/kinds"
	"mishap/tracker/trackertest"
)

// childEnv turns the test program into an instance that a test can kill.
const childEnv = "MISHAP_TEST_UNIT"

func TestMain(m *testing.M) {
	if spec := os.Getenv(childEnv); spec != "" {
		if err := runChild(spec); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child configures a child process.
type child struct {
	Database, URL, APIURL, Token, Secret string
	Kind, Relay                          string // of the tracker; an empty kind: Launchpad
	Settle                               time.Duration
	Count                                int   // problems whose bugs it requests, numbered from 0
	Own                                  int64 // id of the person whose own account files every other bug; 0: nobody
}

// runChild requests all bugs at once, as many people would, and works on filings until it is
// killed.
func runChild(spec string) error {
	var c child
	if err := json.Unmarshal([]byte(spec), &c); err != nil {
		return err
	}
	ctx := context.Background()
	store, err := db.Open(ctx, db.Config{URL: c.Database, MaxConns: 6})
	if err != nil {
		return err
	}
	cfg := tracker.Config{
		Kind: kinds.Launchpad,
		URL:  c.URL, APIURL: c.APIURL, ConsumerKey: consumer, Target: "ubuntu", BaseURL: "https://mishap.example",
		Token:   crash.AccessToken{Token: c.Token, Secret: crash.Secret(c.Secret)},
		Timeout: 2 * time.Second, Settle: c.Settle, Backoff: 10 * time.Millisecond, Pause: time.Millisecond,
		Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	}
	if kind := kinds.Named(c.Kind); kind != nil {
		cfg.Name, cfg.Target, cfg.Mail = c.Kind, "sandbox/trial", issuetest.MailerTo(c.Relay)
		cfg.Kind = new(*kind)
		cfg.Kind.Late = min(kind.Late, 2*time.Second)
	}
	filer := tracker.NewFiler(cfg, bugs.New(store), tracker.NewSites(bugs.New(store),
		tracker.Member{Config: cfg, Creds: tracker.NewCredentials(cfg, bugs.New(store))}))
	var people sync.WaitGroup
	for i := range c.Count {
		people.Go(func() {
			opts := tracker.Options{Person: "ines", Wait: time.Minute}
			if i%2 == 0 {
				opts.Own = c.Own
			}
			_, err := filer.CreateBug(ctx, problemSignature(i), opts)
			for crash.KindOf(err) == crash.Refused && cfg.Kind.Late > 0 { // nobody knows: a person decides to send it again
				_, err = filer.CreateBug(ctx, problemSignature(i), opts)
			}
			if err != nil {
				fmt.Fprintln(os.Stderr, "create:", err)
			}
		})
	}
	go func() { // closed when the parent dies
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	return work(ctx, store, filer)
}

// start starts a child. The test kills it, at the latest when it ends.
func (h *fixture) start(c child) *exec.Cmd {
	h.t.Helper()
	spec, err := json.Marshal(c)
	if err != nil {
		h.t.Fatal(err)
	}
	cmd := exec.CommandContext(h.t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+string(spec))
	stdin, err := cmd.StdinPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	cmd.Stderr = h.t.Output()
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = stdin.Close() })
	return cmd
}

// killsEnv names the variable with the number of bugs during which instances are killed. Without it
// there are few, so that the tests are fast.
const killsEnv = "MISHAP_TEST_KILLS"

// atLeastOne reads a number from an environment variable. If the variable is not set, it returns
// otherwise.
func atLeastOne(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s: got %q, want a number of at least 1", name, text)
	}
	return n
}

// TestMoreKilledInstances runs two instances on one database and kills them at random moments while
// they file bugs at a failing tracker, every other one with the account of a person, which the
// tracker rejects halfway. No bug may be lost or filed twice.
func TestMoreKilledInstances(t *testing.T) {
	t.Parallel()
	bugs := atLeastOne(t, killsEnv, 40)
	h := newFixture(t)
	for i := range bugs {
		h.problem(i)
	}
	for range bugs / 5 {
		h.lp.FailWith(trackertest.FaultSpec{Operation: trackertest.OpCreate, Fault: trackertest.Slow,
			Delay: 50 * time.Millisecond, Times: 3})
		h.lp.Fail(trackertest.OpCreate, trackertest.DropAfter)
		h.lp.Fail(trackertest.OpCreate, trackertest.Error500)
	}
	token, ines := h.cfg.Token, h.person("ines")
	own := h.connect(h.instance(), ines, "WRITE_PUBLIC")
	spec := child{
		Database: h.url, URL: h.lp.URL, APIURL: h.lp.APIURL, Token: token.Token, Secret: string(token.Secret),
		Settle: 300 * time.Millisecond, // the practice tracker works for at most 50 ms
		Count:  bugs,
		Own:    ines.ID,
	}
	filed := func() int { return int(h.totals()[crash.FilingFiled]) }
	instances := []*exec.Cmd{h.start(spec), h.start(spec)}
	killed, whileSending, mostKills := 0, 0, bugs/2
	for filed() < bugs && killed < mostKills {
		for range rand.IntN(4) { // usually after some progress
			before := len(h.lp.Requests(trackertest.OpCreate))
			h.until("a bug is sent", nil, func() bool {
				return len(h.lp.Requests(trackertest.OpCreate)) > before ||
					filed() == bugs
			})
		}
		pause(t, rand.N(60*time.Millisecond))
		if h.totals()[crash.FilingSending] > 0 {
			whileSending++
		}
		i := rand.IntN(len(instances))
		if err := instances[i].Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = instances[i].Wait() // it was killed
		if killed++; killed == mostKills/2 {
			h.lp.Revoke(own.Token)
		}
		instances[i] = h.start(spec)
	}
	h.until("all bugs are filed", nil, func() bool { return filed() == bugs && h.lp.Working() == 0 })
	for i := range bugs {
		h.wantOneBug(problemSignature(i))
	}
	if got := len(h.lp.Bugs()); got != bugs {
		t.Errorf("got %d bugs in the tracker after %d kills, want %d", got, killed, bugs)
	}
	t.Logf("%d kills, %d of them while a bug was being sent; %d bugs, %d calls to create, %d searches",
		killed, whileSending, len(h.lp.Bugs()), len(h.lp.Requests(trackertest.OpCreate)),
		len(h.lp.Requests(trackertest.OpSearch)))
}

// TestKillsOfAllKinds runs two instances on one database and kills them eight times at random moments while they file
// 48 bugs in a failing tracker of each kind, some of whose answers come late. No bug may be lost or filed twice.
func TestKillsOfAllKinds(t *testing.T) {
	t.Parallel()
	checktest.Needs(t, "time")
	const count, kills = 48, 8
	for _, kind := range checktest.EveryNth(kinds.All, len(kinds.All), 0) {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			h := &fixture{t: t, url: dbtest.URL(t)}
			h.db = dbtest.Open(t, h.url)
			for i := range count {
				h.problem(i)
			}
			srv := issuetest.New(t, issuetest.Kinds[kind.Name]())
			srv.HideNew(200 * time.Millisecond)
			srv.Delay("create", 30*time.Millisecond)
			for range count / 6 {
				srv.Fail("create", "", "", issuetest.DropAfter, "", issuetest.ErrorBefore, "")
			}
			spec := child{
				Kind: kind.Name, Relay: srv.Relay, Database: h.url, URL: srv.URL, APIURL: kind.API(srv.URL),
				Token: "practice@example.org", Secret: "secret-of-mishap",
				Settle: 400 * time.Millisecond, // longer than the practice tracker works, and its lists lag
				Count:  count,
			}
			filed := func() int { return int(h.totals()[crash.FilingFiled]) }
			instances := []*exec.Cmd{h.start(spec), h.start(spec)}
			whileSending := 0
			for killed := range kills {
				h.until("some bugs are filed", nil, func() bool { return filed() >= killed*count/(kills+1) })
				before := len(srv.Requests("create"))
				h.until("a bug is sent", nil, func() bool { return len(srv.Requests("create")) > before || filed() == count })
				pause(t, rand.N(40*time.Millisecond))
				if h.totals()[crash.FilingSending] > 0 {
					whileSending++
				}
				i := rand.IntN(len(instances))
				checktest.NoError(t, instances[i].Process.Kill())
				_ = instances[i].Wait() // it was killed
				instances[i] = h.start(spec)
			}
			h.until("all bugs are filed", nil, func() bool { return filed() == count })
			for i := range count {
				b := h.bucket(problemSignature(i))
				var numbers []int64
				for _, issue := range srv.Issues() {
					if contains(issue.Text, b.ID.Path()) {
						numbers = append(numbers, issue.Number)
					}
				}
				if len(numbers) != 1 || crash.NumberInTracker(b.Bug.Number) != numbers[0] {
					t.Errorf("problem %d: got bugs %v in the tracker, %d linked, want one, linked", i, numbers, b.Bug.Number)
				}
			}
			t.Logf("%d kills, %d of them while a bug was being sent; %d bugs, %d calls to create, %d searches",
				kills, whileSending, len(srv.Issues()), len(srv.Requests("create")), len(srv.Requests("list")))
		})
	}
}

// sending makes an instance send a bug, and returns when the tracker has the request but does not
// answer.
func (h *fixture) sending(u *instance, signature string, f trackertest.Fault) {
	h.t.Helper()
	h.lp.Fail(trackertest.OpCreate, f)
	r, err := u.filer.CreateBug(h.t.Context(), signature, tracker.Options{Person: "ines"})
	if err != nil || r.State == crash.FilingFiled {
		h.t.Fatalf("got %+v, %v, want it in progress", r.Filing, err)
	}
	h.until("the tracker has the request", nil, func() bool {
		return len(h.lp.Requests(trackertest.OpCreate)) == 1 && (!f.Works() || len(h.lp.Bugs()) == 1)
	})
}

// patient makes an instance wait for an answer that never comes.
func patient(c *tracker.Config) { c.Transport = nil }

// TestDeadInstance checks an instance that loses its database connection while it sends a bug. It
// counts as dead, and other instances settle its filing, whether the tracker filed the bug or not.
func TestDeadInstance(t *testing.T) {
	t.Parallel()
	for _, fault := range []trackertest.Fault{trackertest.HangBefore, trackertest.HangAfter} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			h := newFixture(t)
			other, dying := h.instance(patient), h.instance(patient)
			signature := h.problem(1)
			h.sending(dying, signature, fault)
			if err := other.filer.StartDue(t.Context()); err != nil {
				t.Fatal(err)
			}
			if f := h.bucket(signature).Filing; f.State != crash.FilingSending {
				t.Errorf("while the instance is alive: got %s, want filing", f.State)
			}
			dying.store.Close()
			h.until("the bug is filed", []*instance{other},
				func() bool { return h.bucket(signature).Filing.State == crash.FilingFiled })
			h.wantOneBug(signature)
		})
	}
}

// TestLateAnswers checks that an answer still counts after others have declared the instance dead.
func TestLateAnswers(t *testing.T) {
	t.Parallel()
	filed := crash.Bug{Number: 4711, URL: "u", How: crash.Filed}
	tests := []struct {
		name  string
		late  crash.FilingResult
		state crash.FilingState
	}{
		{"filed", crash.FilingResult{State: crash.FilingFiled, Bug: filed}, crash.FilingFiled},
		{"refused", crash.FilingResult{State: crash.FilingRefused, Problem: "tracker_refused"}, crash.FilingRefused},
		{"not sent", crash.FilingResult{State: crash.FilingQueued, Delay: time.Hour, Problem: "tracker_unreachable"},
			crash.FilingQueued},
		{"unknown", crash.FilingResult{State: crash.FilingUncertain}, crash.FilingUncertain},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newFixture(t)
			claim := h.claimed(h.problem(1))
			if _, err := bugs.New(h.db).DueFilings(t.Context(), termsOf(overdue), 10); err != nil { // it is declared dead
				t.Fatal(err)
			}
			if f, err := bugs.New(h.db).Filing(t.Context(), claim.ID); err != nil || f.State != crash.FilingUncertain {
				t.Fatalf("after the claim expired: got %+v, %v, want uncertain", f, err)
			}
			tt.late.Claim = claim
			f, err := bugs.New(h.db).FinishFiling(t.Context(), tt.late, overdue)
			if err != nil || f.State != tt.state || f.Bug != tt.late.Bug.Number {
				t.Errorf("got %+v, %v, want %s", f, err, tt.state)
			}
		})
	}
}

// overdue are terms under which every claim has expired.
// termsOf returns the terms of the only tracker.
func termsOf(terms crash.FilingTerms) map[string]crash.FilingTerms {
	return map[string]crash.FilingTerms{crash.FirstTracker: terms}
}

var overdue = crash.FilingTerms{Sending: -time.Hour, Answer: -time.Hour}

// claimed stores an intent and claims it.
func (h *fixture) claimed(signature string) crash.FilingClaim {
	h.t.Helper()
	in := crash.Intent{Bucket: crash.BucketIDOf(signature), Target: "/ubuntu", Title: "t", Description: "d", Marker: "m"}
	f, _, err := bugs.New(h.db).RequestFiling(h.t.Context(), in, crash.Filing{})
	if err != nil {
		h.t.Fatal(err)
	}
	claim, err := bugs.New(h.db).ClaimFiling(h.t.Context(), f.ID, crash.OwnAccount{}, crash.FilingTerms{})
	if err != nil || claim.Step != crash.StepCreate {
		h.t.Fatalf("claim: got %+v, %v", claim, err)
	}
	return claim
}

// TestOldOutcomes checks that the outcome of a superseded attempt is ignored, unless a bug was
// filed.
func TestOldOutcomes(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ctx := t.Context()
	signature := h.problem(1)
	first := h.claimed(signature)
	finish := func(c crash.FilingClaim, r crash.FilingResult) crash.Filing {
		t.Helper()
		r.Claim = c
		f, err := bugs.New(h.db).FinishFiling(ctx, r, crash.FilingTerms{})
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	finish(first, crash.FilingResult{State: crash.FilingQueued})
	second, err := bugs.New(h.db).ClaimFiling(ctx, first.ID, crash.OwnAccount{}, crash.FilingTerms{})
	if err != nil || second.Step != crash.StepCreate || second.Attempts != 2 || !second.SentFrom.Equal(first.SentFrom) {
		t.Fatalf("second claim: got %+v, %v", second, err)
	}
	for _, state := range []crash.FilingState{crash.FilingQueued, crash.FilingRefused, crash.FilingUncertain} {
		if f := finish(first, crash.FilingResult{State: state}); f.State != crash.FilingSending {
			t.Errorf("an old outcome %s: got %s, want filing", state, f.State)
		}
	}
	finish(second, crash.FilingResult{State: crash.FilingUncertain})
	search, err := bugs.New(h.db).ClaimFiling(ctx, first.ID, crash.OwnAccount{}, crash.FilingTerms{})
	if err != nil || search.Step != crash.StepSearch {
		t.Fatalf("search: got %+v, %v", search, err)
	}
	if again, err := bugs.New(h.db).ClaimFiling(ctx, first.ID, crash.OwnAccount{}, crash.FilingTerms{}); err != nil ||
		again.Step != crash.StepNone {
		t.Errorf("a second search at once: got %s, %v, want none", again.Step, err)
	}
	if f := finish(first, crash.FilingResult{State: crash.FilingFiled, Bug: crash.Bug{Number: 9, URL: "u",
		How: crash.Filed}}); f.State != crash.FilingFiled || f.Bug != 9 {
		t.Errorf("a late number: got %+v, want it filed", f)
	}
	if f := finish(search, crash.FilingResult{State: crash.FilingQueued}); f.State != crash.FilingFiled {
		t.Errorf("a search that found nothing, after that: got %s, want filed", f.State)
	}
	if f := finish(second, crash.FilingResult{State: crash.FilingFiled, Bug: crash.Bug{Number: 10, URL: "u",
		How: crash.Filed}}); f.Bug != 9 {
		t.Errorf("a second number: got %d, want the first, 9", f.Bug)
	}
}

// TestWhenToSearch checks when an uncertain filing is searched for: once the tracker can no longer
// be processing it. That time counts from the last moment of sending, when the instance died or its
// sending time ended.
func TestWhenToSearch(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		terms crash.FilingTerms
		want  time.Duration // from now
	}{
		{"died just now", crash.FilingTerms{Sending: time.Hour, Answer: -3 * time.Hour, Settle: 2 * time.Hour},
			2 * time.Hour},
		{"sending was over long ago", crash.FilingTerms{Sending: -time.Hour, Answer: -time.Hour, Settle: 2 * time.Hour},
			time.Hour},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newFixture(t)
			claim := h.claimed(h.problem(1))
			if _, err := bugs.New(h.db).DueFilings(t.Context(), termsOf(tt.terms), 10); err != nil {
				t.Fatal(err)
			}
			f, err := bugs.New(h.db).Filing(t.Context(), claim.ID)
			if in := f.NotBefore.Sub(f.Updated); err != nil || f.State != crash.FilingUncertain || in < tt.want-time.Minute ||
				in > tt.want+time.Minute {
				t.Errorf("got %s, search in %v, %v, want uncertain, in %v", f.State, in, err, tt.want)
			}
		})
	}
}

// TestClose checks that Close waits for a call while ctx permits, then cancels it without losing
// the bug.
func TestClose(t *testing.T) {
	t.Parallel()
	t.Run("finishes", func(t *testing.T) {
		t.Parallel()
		h := newFixture(t)
		u := h.instance(patient)
		signature := h.problem(1)
		h.lp.FailWith(trackertest.FaultSpec{Operation: trackertest.OpCreate, Fault: trackertest.Slow,
			Delay: 200 * time.Millisecond})
		if _, err := u.filer.CreateBug(t.Context(), signature, tracker.Options{}); err != nil {
			t.Fatal(err)
		}
		h.until("the tracker has the request", nil, func() bool { return len(h.lp.Requests(trackertest.OpCreate)) == 1 })
		u.filer.Close(t.Context())
		h.wantOneBug(signature)
	})
	t.Run("gives up", func(t *testing.T) {
		t.Parallel()
		h := newFixture(t)
		u := h.instance(patient)
		signature := h.problem(1)
		h.sending(u, signature, trackertest.HangAfter)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		u.filer.Close(ctx)
		if f := h.bucket(signature).Filing; f.State != crash.FilingUncertain {
			t.Errorf("got %s, want uncertain", f.State)
		}
		if r, err := u.filer.CreateBug(t.Context(), h.problem(2), tracker.Options{Wait: 10 * time.Millisecond}); err != nil ||
			r.State != crash.FilingQueued {
			t.Errorf("after closing: got %+v, %v, want it stored", r.Filing, err)
		}
		other := h.instance()
		h.until("both are filed", []*instance{other}, func() bool {
			return h.bucket(signature).Bug.Number != 0 && h.bucket(problemSignature(2)).Bug.Number != 0
		})
		h.wantOneBug(signature)
		h.wantOneBug(problemSignature(2))
	})
}

// seedsEnv names the variable with the number of seeds. Without it there are few, so that the tests
// are fast.
const seedsEnv = "MISHAP_TEST_SEEDS"

// TestMachine runs the state machine of filings with random interleavings of people, instances,
// answers, deaths and searches. The tracker never has two bugs for a bucket. At the end it has one
// for each filing that was not abandoned.
func TestMachine(t *testing.T) {
	t.Parallel()
	checktest.Needs(t, "time")
	const steps = 160
	for seed := range uint64(atLeastOne(t, seedsEnv, 1)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, seed)
			for range steps {
				m.step()
			}
			m.settle()
		})
	}
}

// machine drives the real ledger and simulates a tracker.
type machine struct {
	t       *testing.T
	h       *fixture
	r       *rand.Rand
	next    int64
	buckets []crash.BucketID
	bugs    map[crash.BucketID][]int64 // in the tracker
	refuses map[crash.BucketID]int     // how many more times the tracker refuses
	calls   []*machineCall             // claimed, without a recorded outcome
	late    []*machineCall             // the instance no longer waits, but the tracker may continue
	calm    bool                       // nothing fails any more
	did     map[string]int
}

// machineCall is a call in progress in an instance.
type machineCall struct {
	claim crash.FilingClaim
	bug   int64 // created by the tracker; 0: none
	ended bool  // the tracker has finished
}

// instantly are terms under which every claim has expired and no wait is needed.
var instantly = crash.FilingTerms{Sending: -time.Hour, Answer: -time.Hour, Settle: -time.Hour}

func newMachine(t *testing.T, seed uint64) *machine {
	t.Helper()
	m := &machine{
		t: t, h: &fixture{t: t, url: dbtest.URL(t)}, r: rand.New(rand.NewPCG(seed, 1)), next: 100,
		bugs: map[crash.BucketID][]int64{}, refuses: map[crash.BucketID]int{}, did: map[string]int{},
	}
	m.h.db = dbtest.Open(t, m.h.url)
	for i := range 4 {
		id := crash.BucketIDOf(m.h.problem(i))
		m.buckets = append(m.buckets, id)
		m.refuses[id] = m.r.IntN(2)
	}
	return m
}

func (m *machine) any() crash.BucketID { return m.buckets[m.r.IntN(len(m.buckets))] }

func (m *machine) check(err error, fine ...crash.Kind) {
	m.t.Helper()
	for _, kind := range fine {
		if crash.KindOf(err) == kind {
			return
		}
	}
	if err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) filing(id crash.BucketID) crash.Filing {
	m.t.Helper()
	b, err := m.h.db.Bucket(m.t.Context(), id)
	m.check(err)
	return b.Filing
}

// step does one random action.
func (m *machine) step() {
	ctx := m.t.Context()
	id := m.any()
	var what string
	switch n := m.r.IntN(100); {
	case n < 20:
		what = "ask"
		m.ask(ctx, id)
	case n < 50:
		what = "claim"
		m.claim(ctx, id)
	case n < 62:
		what = "work"
		m.work()
	case n < 82:
		what = "answer"
		m.answer(ctx)
	case n < 87:
		what = "die"
		m.die()
	case n < 91:
		what = "give up"
		if f := m.filing(id); f.ID != 0 {
			_, err := bugs.New(m.h.db).GiveUpFiling(ctx, f.ID, "ada", "why not")
			m.check(err, crash.Conflict)
		}
	case n < 95:
		what = "retry"
		if f := m.filing(id); f.ID != 0 {
			_, err := bugs.New(m.h.db).HastenFiling(ctx, f.ID, "ada")
			m.check(err)
		}
	default:
		what = "park"
		m.check(bugs.New(m.h.db).PostponeFilings(ctx, 0, "tracker_unreachable", "r", -time.Second))
	}
	m.did[what]++
	for id, bugs := range m.bugs {
		if len(bugs) > 1 {
			m.t.Fatalf("after %v, last %s: bucket %s has the bugs %v", m.did, what, id, bugs)
		}
	}
}

func (m *machine) ask(ctx context.Context, id crash.BucketID) {
	in := crash.Intent{Bucket: id, Person: "ines", Target: "/ubuntu", Title: "t", Description: "d", Marker: "m"}
	b, err := m.h.db.Bucket(ctx, id)
	m.check(err)
	if b.Bug.Number != 0 {
		return // like CreateBug
	}
	_, _, err = bugs.New(m.h.db).RequestFiling(ctx, in, b.Filing)
	m.check(err)
}

func (m *machine) claim(ctx context.Context, id crash.BucketID) {
	f := m.filing(id)
	if f.ID == 0 {
		return
	}
	c, err := bugs.New(m.h.db).ClaimFiling(ctx, f.ID, crash.OwnAccount{}, crash.FilingTerms{})
	m.check(err)
	switch c.Step {
	case crash.StepNone:
		return
	case crash.StepSearch:
		m.settled() // a search starts only when the tracker has finished
	case crash.StepCreate:
		for _, other := range m.calls {
			if now, err := bugs.New(m.h.db).Filing(ctx, other.claim.ID); err == nil && other.claim.Step == crash.StepCreate &&
				now.State == crash.FilingSending && other.claim.ID != c.ID {
				m.t.Fatalf("got filings %d and %d sent at the same time", c.ID, other.claim.ID)
			}
		}
	}
	m.calls = append(m.calls, &machineCall{claim: c, ended: c.Step == crash.StepSearch})
}

// die ends the instance, leaving its claims behind, and starts another one. Late answers may still
// arrive, as if only a network failure had made the instance look dead.
func (m *machine) die() {
	m.settled()
	m.h.db.Close()
	m.h.db = dbtest.Open(m.t, m.h.url)
	_, err := bugs.New(m.h.db).DueFilings(m.t.Context(), termsOf(instantly), 10)
	m.check(err)
}

// work lets the tracker process one request.
func (m *machine) work() {
	for _, c := range append(m.late, m.calls...) {
		if !c.ended {
			m.end(c)
			return
		}
	}
}

func (m *machine) end(c *machineCall) {
	if c.ended = true; c.claim.Step != crash.StepCreate || m.refuses[c.claim.Bucket] > 0 || !m.calm && m.r.IntN(3) == 0 {
		return // refused or never arrived
	}
	m.next++
	c.bug = m.next
	m.bugs[c.claim.Bucket] = append(m.bugs[c.claim.Bucket], c.bug)
}

// settled lets the tracker finish all requests.
func (m *machine) settled() {
	for _, c := range append(m.late, m.calls...) {
		if !c.ended {
			m.end(c)
		}
	}
	m.late = nil
}

// answer ends one of the calls: with its real outcome, without any answer, or with the death of the
// instance.
func (m *machine) answer(ctx context.Context) {
	if len(m.calls) == 0 {
		return
	}
	i := m.r.IntN(len(m.calls))
	c := m.calls[i]
	m.calls = append(m.calls[:i:i], m.calls[i+1:]...)
	r := crash.FilingResult{Claim: c.claim}
	lost := !m.calm && m.r.IntN(3) == 0
	switch {
	case c.claim.Step == crash.StepSearch && lost:
		r.State = crash.FilingUncertain
	case c.claim.Step == crash.StepSearch:
		if r.State = crash.FilingQueued; len(m.bugs[c.claim.Bucket]) > 0 {
			r.State, r.Bug = crash.FilingFiled, crash.Bug{Number: m.bugs[c.claim.Bucket][0], URL: "u", How: crash.Filed}
		}
	case lost || !c.ended:
		r.State = crash.FilingUncertain
		m.late = append(m.late, c) // the tracker may continue, but only until a search
	case c.bug != 0:
		r.State, r.Bug = crash.FilingFiled, crash.Bug{Number: c.bug, URL: "u", How: crash.Filed}
	case m.refuses[c.claim.Bucket] > 0:
		m.refuses[c.claim.Bucket]--
		r.State = crash.FilingRefused
	default:
		r.State, r.Problem = crash.FilingQueued, "tracker_unreachable"
	}
	if !m.calm && m.r.IntN(6) == 0 {
		return // the instance dies before it records anything
	}
	_, err := bugs.New(m.h.db).FinishFiling(ctx, r, instantly)
	m.check(err)
}

// settle lets everything finish without failures and checks the result.
func (m *machine) settle() {
	ctx := m.t.Context()
	m.calm = true
	for range 6 {
		m.die()
		for len(m.calls) > 0 {
			m.answer(ctx)
		}
		for _, id := range m.buckets {
			m.ask(ctx, id)
			m.claim(ctx, id)
			m.settled()
			for len(m.calls) > 0 {
				m.answer(ctx)
			}
		}
	}
	for _, id := range m.buckets {
		b, err := m.h.db.Bucket(ctx, id)
		m.check(err)
		if bugs := m.bugs[id]; len(bugs) != 1 || b.Bug.Number != bugs[0] || b.Filing.State != crash.FilingFiled ||
			b.Filing.Bug != bugs[0] {
			m.t.Errorf("after %v: bucket %s has %v in the tracker, bug %d and filing %s with bug %d here, want the same bug",
				m.did, id, bugs, b.Bug.Number, b.Filing.State, b.Filing.Bug)
		}
	}
}
