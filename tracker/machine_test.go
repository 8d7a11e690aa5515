package tracker_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"mishap/crash"
	"mishap/db/bugs"
	"mishap/db/dbtest"
)

// seedsEnv names the variable with the number of seeds. Without it there are few, so that the tests
// are fast.
const seedsEnv = "MISHAP_TEST_SEEDS"

// TestMachine runs the state machine of filings with random interleavings of people, instances,
// answers, deaths and searches. The tracker never has two bugs for a bucket. At the end it has one
// for each filing that was not abandoned.
func TestMachine(t *testing.T) {
	t.Parallel()
	const steps = 160
	for seed := range uint64(atLeastOne(t, seedsEnv, 8)) {
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
	c, err := bugs.New(m.h.db).ClaimFiling(ctx, f.ID, crash.OwnAccount{})
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
	_, err := bugs.New(m.h.db).DueFilings(m.t.Context(), instantly, 10)
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
