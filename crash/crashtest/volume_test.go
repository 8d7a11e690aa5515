package crashtest_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/grouping"
)

func TestVolume(t *testing.T) {
	t.Parallel()
	v := crashtest.Volume{Reports: 20_000, Padding: 300, Now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
	signatures, machines, releases, rules := map[string]int{}, map[crash.SystemID]bool{}, map[string]int{},
		map[crash.Rule]int{}
	ids := map[crash.OopsID]bool{}
	var all []crash.Report
	last := time.Time{}
	for r := range v.All() {
		g := grouping.SignatureOf(r.Fields)
		if g.Signature == "" {
			t.Fatalf("report %d cannot be grouped: %s", len(all), g.Reason)
		}
		signatures[g.Signature]++
		rules[g.Rule]++
		machines[r.System] = true
		releases[r.Fields["DistroRelease"]]++
		ids[r.ID] = true
		if r.Received().Before(last) {
			t.Errorf("report %d arrives before the previous one", len(all))
		}
		last = r.Received()
		all = append(all, r)
	}
	if len(all) != v.Reports || len(ids) != v.Reports {
		t.Errorf("got %d reports with %d ids, want %d", len(all), len(ids), v.Reports)
	}
	most := 0
	for _, n := range signatures {
		most = max(most, n)
	}
	if len(signatures) < 100 || len(signatures) > 400 || most < 500 || most > 10_000 {
		t.Errorf("got %d problems, the largest with %d reports; want about 200 of different sizes", len(signatures), most)
	}
	if len(machines) < 500 || len(releases) != 4 || len(rules) != 3 {
		t.Errorf("got %d machines, releases %v, rules %v", len(machines), releases, rules)
	}
	v.From = 12_345
	for r := range v.All() {
		if diff := cmp.Diff(all[12_345], r); diff != "" {
			t.Errorf("continued in the middle (-whole +rest):\n%s", diff)
		}
		break
	}
}
