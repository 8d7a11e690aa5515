package problems

import (
	"strings"
	"testing"

	"mishap/crash/stats"
)

// TestChangesAreEvidence checks everywhere that shows a change in per cent, for small and large counts: it
// shows the number only if the change is more than chance explains, or says beside it that it is not.
func TestChangesAreEvidence(t *testing.T) {
	t.Parallel()
	evident, noise := 0, 0
	for _, before := range []int64{0, 1, 2, 3, 5, 10, 20, 50, 200, 1000, 20_000} {
		for _, now := range []int64{0, 1, 2, 3, 5, 10, 20, 50, 210, 1000, 20_000} {
			a, b := stats.NewMachineRate(now, 7000), stats.NewMachineRate(before, 7000)
			ratio := a.Times(b)
			sure := ratio.Better() || ratio.Worse()
			if sure {
				evident++
			} else {
				noise++
			}
			impact := Impact{Week: now, WeekBefore: before, Today: 1}
			line := RateLine{Week: a.Per1000 / 1000, Before: b.Per1000 / 1000, Change: ratio}
			for where, text := range map[string]string{"figure of a problem": impact.trend(), "label of a line": line.value()} {
				if shown := strings.Contains(text, "%"); shown && !sure || !shown && sure && now > 0 && before > 0 {
					t.Errorf("%s, %d after %d: got %q; more than chance explains: %v", where, now, before, text, sure)
				}
			}
			week := stats.Trend{Now: a, Before: b, Change: ratio}
			for where, text := range map[string]string{
				"sentence about a week":       week.Text(),
				"sentence about a release":    week.ReleaseText(stats.Trend{Now: b}, "26.04", "24.04"),
				"sentence about an equal age": stats.SameAgeText(a, b, 90, 28),
			} {
				text = strings.ReplaceAll(text, "95% CI", "")
				if strings.Contains(text, "%") && strings.Contains(text, "more than chance explains") != sure {
					t.Errorf("%s, %d after %d: got %q; more than chance explains: %v", where, now, before, text, sure)
				}
				if strings.Contains(text, "%") && strings.Contains(text, "within normal variation") == sure {
					t.Errorf("%s, %d after %d: got %q; more than chance explains: %v", where, now, before, text, sure)
				}
			}
		}
	}
	if evident == 0 || noise == 0 {
		t.Errorf("got %d changes with evidence and %d without, want both", evident, noise)
	}
}
