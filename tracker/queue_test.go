package tracker_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"mishap/crash"
	"mishap/db/bugs"
	"mishap/tracker"
	"mishap/tracker/trackertest"
)

// watch counts how many bugs are sent to the tracker at the same time.
func (h *fixture) watch() *senders {
	w := &senders{}
	front := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/bugs") {
			w.enter()
			defer w.leave()
		}
		h.lp.ServeHTTP(out, r)
	}))
	h.t.Cleanup(front.Close)
	h.cfg.APIURL = front.URL + "/devel"
	return w
}

type senders struct {
	mu        sync.Mutex
	now, most int
}

func (s *senders) enter() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now++
	s.most = max(s.most, s.now)
}

func (s *senders) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now--
}

// TestQueue clicks hundreds of times in two instances. The bugs must be sent one at a time, in the
// order of the clicks.
func TestQueue(t *testing.T) {
	t.Parallel()
	const clicks = 200
	h := newFixture(t)
	w := h.watch()
	h.cfg.Settle = patience
	for i := range clicks {
		h.problem(i)
	}
	instances := []*instance{h.instance(), h.instance()}
	for i := range clicks {
		if _, err := instances[i%2].filer.CreateBug(t.Context(), problemSignature(i),
			tracker.Options{Person: "ines"}); err != nil {
			t.Fatal(err)
		}
	}
	h.until("all bugs are filed", instances, func() bool { return len(h.lp.Bugs()) == clicks })
	for i, bug := range h.lp.Bugs() {
		if want := crash.BucketIDOf(problemSignature(i)).Path(); !contains(bug.Description, want) {
			t.Fatalf("bug %d: got another problem than that of click %d", bug.Number, i)
		}
	}
	h.until("all are linked", instances, func() bool { return h.totals()[crash.FilingFiled] == clicks })
	if w.most != 1 {
		t.Errorf("got %d bugs sent at the same time, want at most 1", w.most)
	}
}

func (h *fixture) totals() map[crash.FilingState]int64 {
	h.t.Helper()
	totals, err := bugs.New(h.db).FilingTotals(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	return totals.States
}

// TestWaitingBlocksNobody checks that a waiting filing does not delay the ones after it.
func TestWaitingBlocksNobody(t *testing.T) {
	t.Parallel()
	for _, fault := range []trackertest.Fault{trackertest.DropAfter, trackertest.Error503, trackertest.TooMany429} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			h := newFixture(t)
			u := h.instance(func(c *tracker.Config) { c.Settle, c.Backoff = time.Hour, time.Hour })
			waits, goes := h.problem(1), h.problem(2)
			h.lp.Fail(trackertest.OpCreate, fault)
			_, _ = u.filer.CreateBug(t.Context(), waits, tracker.Options{Wait: patience}) // uncertain, or postponed
			r, err := u.filer.CreateBug(t.Context(), goes, tracker.Options{Wait: patience})
			if err != nil || r.State != crash.FilingFiled {
				t.Errorf("the second: got %+v, %v, want it filed", r.Filing, err)
			}
			if f := h.bucket(waits).Filing; f.State == crash.FilingFiled || time.Until(f.NotBefore) < time.Minute &&
				fault != trackertest.TooMany429 {
				t.Errorf("the first: got %s until %v, want it waiting", f.State, f.NotBefore)
			}
		})
	}
}

// TestPause checks that the queue pauses after each bug. A filing that is requested while the queue
// is empty is sent at once.
func TestPause(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ctx := t.Context()
	first := h.claimed(h.problem(1))
	ask := func(n int) crash.Filing {
		t.Helper()
		in := crash.Intent{Bucket: crash.BucketIDOf(h.problem(n)), Target: "/ubuntu", Title: "t", Description: "d",
			Marker: "m"}
		f, _, err := bugs.New(h.db).RequestFiling(ctx, in, crash.Filing{})
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	wantStep := func(what string, f crash.Filing, want crash.FilingStep) {
		t.Helper()
		if c, err := bugs.New(h.db).ClaimFiling(ctx, f.ID, crash.OwnAccount{}); err != nil || c.Step != want {
			t.Errorf("%s: got step %q, %v, want %q", what, c.Step, err, want)
		}
	}
	second := ask(2)
	wantStep("while one is being sent", second, crash.StepNone)
	if next, err := bugs.New(h.db).NextFiling(ctx); err != nil || next.Filing != 0 {
		t.Errorf("while one is being sent: got %+v, %v, want no next filing", next, err)
	}
	result := crash.FilingResult{Claim: first, State: crash.FilingRefused, Problem: "p", Reason: "r", Pause: time.Hour}
	if _, err := bugs.New(h.db).FinishFiling(ctx, result, crash.FilingTerms{}); err != nil {
		t.Fatal(err)
	}
	wantStep("in the queue, within the pause", second, crash.StepNone)
	if next, err := bugs.New(h.db).NextFiling(ctx); err != nil || next.Filing != second.ID || next.In < 59*time.Minute {
		t.Errorf("in the queue: got %+v, %v, want the second in an hour", next, err)
	}
	third := ask(3)
	wantStep("behind the first of the queue", third, crash.StepNone)
	if _, err := bugs.New(h.db).GiveUpFiling(ctx, second.ID, "ada", "not worth it"); err != nil {
		t.Fatal(err)
	}
	wantStep("came after the last was sent", third, crash.StepCreate)
}
