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

// Whatever goes wrong with the creation of a bug, once or several times in a row, and with the
// searches after it, in the end the tracker has one bug for the bucket and the bucket has it.
func TestEveryFaultEndsInOneBug(t *testing.T) {
	t.Parallel()
	for _, fault := range trackertest.Faults() {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			if fault == trackertest.LateWork {
				// The tracker works on after we have given up: only a search that is late enough is
				// right.
				h.cfg.Settle = time.Second
			}
			u := h.unit()
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

// exerciseFault has a bug created by somebody who does not give up.
func (h *house) exerciseFault(u *unit, n int) {
	h.t.Helper()
	signature := h.problem(n)
	press := func() {
		_, err := u.filer.CreateBug(h.t.Context(), signature, tracker.Options{Person: "ines", Wait: 50 * time.Millisecond})
		if err != nil && crash.KindOf(err) != crash.Refused && crash.KindOf(err) != crash.Unavailable {
			h.t.Errorf("got error %v of kind %v, want it refused or unavailable", err, crash.KindOf(err))
		}
	}
	press()
	h.until("the bug is filed", []*unit{u}, func() bool {
		filing := h.bucket(signature).Filing
		if filing.State == crash.FilingRefused || filing.Problem == "tracker_credentials" { // a person presses again
			press()
		}
		return filing.State == crash.FilingFiled && h.lp.Working() == 0
	})
	h.wantOneBug(signature)
}
