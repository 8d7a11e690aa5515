package tracker_test

import (
	"strings"
	"testing"
	"time"

	"mishap/crash/crashtest"
	"mishap/crash/privacy"
	"mishap/tracker"
)

// TestBugsWithoutPrivateFields checks that bugs quote a field unless the configuration makes it private.
func TestBugsWithoutPrivateFields(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	table, err := privacy.Parse("StepsToReproduce=private", "private")
	if err != nil {
		t.Fatal(err)
	}
	signature := h.save("machine", time.Date(2026, 5, 20, 9, 0, 0, 0, time.UTC),
		crashtest.Native(crashtest.Set("StepsToReproduce", "open harbour")))
	for name, tt := range map[string]struct {
		table *privacy.Table
		want  bool
	}{"built in": {nil, true}, "private": {table, false}} {
		u := h.instance(func(c *tracker.Config) { c.Privacy = tt.table })
		p, err := u.filer.Propose(t.Context(), h.bucket(signature))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(p.Description, "open harbour") != tt.want || !strings.Contains(p.Description, "tide_parse_row") {
			t.Errorf("%s: got the description %q, want the steps in it: %t", name, p.Description, tt.want)
		}
	}
}
