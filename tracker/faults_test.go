package tracker_test

import (
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/tracker"
	"mishap/tracker/trackertest"
)

func contains(s, sub string) bool { return strings.Contains(s, sub) }

// TestEveryFaultEndsInOneBug lets creating a bug fail, once or several times, and also the searches
// after it. In the end the tracker has exactly one bug for the bucket, and the bucket has this bug.
func TestEveryFaultEndsInOneBug(t *testing.T) {
	t.Parallel()
	for _, fault := range trackertest.Faults() {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			h := newFixture(t)
			if fault == trackertest.LateWork {
				// The tracker continues after we have stopped waiting, so only a search that is late enough
				// gives the right result.
				h.cfg.Settle = time.Second
			}
			u := h.instance()
			for i, tt := range []struct{ create, search trackertest.FaultSpec }{
				{trackertest.FaultSpec{Fault: fault}, trackertest.FaultSpec{}},
				{trackertest.FaultSpec{Fault: fault, Times: 3}, trackertest.FaultSpec{}},
				{trackertest.FaultSpec{Fault: fault}, trackertest.FaultSpec{Fault: fault, Times: 2}},
				{trackertest.FaultSpec{Fault: trackertest.DropAfter}, trackertest.FaultSpec{Fault: fault}},
				{trackertest.FaultSpec{Fault: trackertest.DropBefore}, trackertest.FaultSpec{Fault: fault}},
			} {
				for operation, spec := range map[trackertest.Operation]trackertest.FaultSpec{
					trackertest.OpCreate: tt.create, trackertest.OpSearch: tt.search,
				} {
					if spec.Operation, spec.Delay = operation, 10*time.Millisecond; spec.Fault != "" {
						h.lp.FailWith(spec)
					}
				}
				h.exerciseFault(u, i)
				h.lp.ClearFaults()
				if got := len(h.lp.Bugs()); got != i+1 {
					t.Fatalf("after %+v: got %d bugs in the tracker, want %d", tt, got, i+1)
				}
			}
		})
	}
}

// exerciseFault requests a bug again and again, like a persistent person.
func (h *fixture) exerciseFault(u *instance, n int) {
	h.t.Helper()
	signature := h.problem(n)
	press := func() {
		_, err := u.filer.CreateBug(h.t.Context(), signature, tracker.Options{Person: "ines", Wait: 50 * time.Millisecond})
		if err != nil && crash.KindOf(err) != crash.Refused && crash.KindOf(err) != crash.Unavailable {
			h.t.Errorf("got error %v of kind %v, want Refused or Unavailable", err, crash.KindOf(err))
		}
	}
	press()
	h.until("the bug is filed", []*instance{u}, func() bool {
		filing := h.bucket(signature).Filing
		if filing.State == crash.FilingRefused || filing.Problem == "tracker_credentials" { // a person clicks again
			press()
		}
		return filing.State == crash.FilingFiled && h.lp.Working() == 0
	})
	h.wantOneBug(signature)
}
