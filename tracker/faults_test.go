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

// Whatever goes wrong with the creation of a bug, in the end the tracker has one bug for the bucket and the bucket has it.
func TestEveryFaultEndsInOneBug(t *testing.T) {
	t.Parallel()
	for _, fault := range trackertest.Faults() {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			if fault == trackertest.Slow {
				// The tracker works on after we have given up: only a search that is late enough is right.
				h.cfg.Settle = 2 * time.Second
			}
			h.exerciseFault(fault)
		})
	}
}

func (h *house) exerciseFault(fault trackertest.Fault) {
	h.t.Helper()
	u := h.unit()
	signature := h.problem(1)
	h.lp.FailWith(trackertest.FaultSpec{Operation: trackertest.OpCreate, Fault: fault, Delay: 700 * time.Millisecond})
	press := func() {
		_, err := u.filer.CreateBug(h.t.Context(), signature, tracker.Options{Person: "ines", Wait: 50 * time.Millisecond})
		if err != nil && crash.KindOf(err) != crash.Refused && crash.KindOf(err) != crash.Unavailable {
			h.t.Errorf("after %s: got error %v of kind %v, want it refused or unavailable", fault, err, crash.KindOf(err))
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
	if got := len(h.lp.Bugs()); got != 1 {
		h.t.Errorf("got %d bugs in the tracker, want 1", got)
	}
}
