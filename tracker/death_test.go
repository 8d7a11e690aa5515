package tracker_test

import (
	"context"
	"testing"
	"time"

	"mishap/crash"
	"mishap/db/bugs"
	"mishap/tracker"
	"mishap/tracker/trackertest"
)

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
			dying, other := h.instance(patient), h.instance(patient)
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
			if _, err := bugs.New(h.db).DueFilings(t.Context(), overdue, 10); err != nil { // declares the instance dead
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
var overdue = crash.FilingTerms{Sending: -time.Hour, Answer: -time.Hour}

// claimed stores an intent and claims it.
func (h *fixture) claimed(signature string) crash.FilingClaim {
	h.t.Helper()
	in := crash.Intent{Bucket: crash.BucketIDOf(signature), Target: "/ubuntu", Title: "t", Description: "d", Marker: "m"}
	f, _, err := bugs.New(h.db).RequestFiling(h.t.Context(), in, crash.Filing{})
	if err != nil {
		h.t.Fatal(err)
	}
	claim, err := bugs.New(h.db).ClaimFiling(h.t.Context(), f.ID, crash.OwnAccount{})
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
	second, err := bugs.New(h.db).ClaimFiling(ctx, first.ID, crash.OwnAccount{})
	if err != nil || second.Step != crash.StepCreate || second.Attempts != 2 || !second.SentFrom.Equal(first.SentFrom) {
		t.Fatalf("second claim: got %+v, %v", second, err)
	}
	for _, state := range []crash.FilingState{crash.FilingQueued, crash.FilingRefused, crash.FilingUncertain} {
		if f := finish(first, crash.FilingResult{State: state}); f.State != crash.FilingSending {
			t.Errorf("an old outcome %s: got %s, want filing", state, f.State)
		}
	}
	finish(second, crash.FilingResult{State: crash.FilingUncertain})
	search, err := bugs.New(h.db).ClaimFiling(ctx, first.ID, crash.OwnAccount{})
	if err != nil || search.Step != crash.StepSearch {
		t.Fatalf("search: got %+v, %v", search, err)
	}
	if again, err := bugs.New(h.db).ClaimFiling(ctx, first.ID, crash.OwnAccount{}); err != nil ||
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
			if _, err := bugs.New(h.db).DueFilings(t.Context(), tt.terms, 10); err != nil {
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
