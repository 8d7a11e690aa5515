package tracker_test

import (
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/privacy"
	"mishap/tracker"
)

// TestBugsWithoutPrivateFields files a bug for a report in which every private field has a value of its
// own. It checks that the bug has none of them, and no excerpt of a field that the configuration makes
// private.
func TestBugsWithoutPrivateFields(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	table, err := privacy.Parse("ErrorMessage=private", "private")
	if err != nil {
		t.Fatal(err)
	}
	report, values := crashtest.Native(), map[string]string{}
	for i, row := range table.Rows() {
		if row.Class >= privacy.Private && row.Excerpt == "" && row.Name != "ProcStatus" && !row.Fixed {
			values[row.Name] = "Zqx" + strings.Repeat(string(rune('a'+i%26)), 3+i/26) + "xqZ"
			report[row.Name] = values[row.Name]
		}
	}
	report["StepsToReproduce"] = "open harbour"
	signature := h.save("machine", time.Date(2026, 5, 20, 9, 0, 0, 0, time.UTC), report)
	u := h.instance(func(c *tracker.Config) { c.Privacy = table })
	b, err := u.store.Bucket(t.Context(), crash.BucketIDOf(signature))
	if err != nil {
		t.Fatal(err)
	}
	proposal, err := u.filer.Propose(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	draft := proposal.Draft
	for name, value := range values {
		if strings.Contains(draft.Title+draft.Description, value) {
			t.Errorf("the bug contains the private field %s", name)
		}
	}
	for _, want := range []string{"tide_parse_row", "open harbour"} {
		if !strings.Contains(draft.Description, want) {
			t.Errorf("got the description %q, want %q in it", draft.Description, want)
		}
	}
	if len(values) < 50 {
		t.Errorf("tried %d private fields, want more", len(values))
	}
}
