package crashtest_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/grouping"
)

var now = time.Date(2026, 11, 21, 15, 30, 0, 0, time.UTC)

// TestFleet checks that a fleet is complete and ordered, that it uses every kind of rule, and that the
// same seed gives the same reports.
func TestFleet(t *testing.T) {
	t.Parallel()
	const n = 20_000
	rules, ids := map[crash.GroupingRule]int{}, map[crash.OopsID]bool{}
	var last time.Time
	for r := range crashtest.Fleet(7, n, now) {
		occurred, ok := crash.OccurredAt(r.Fields["Date"])
		if !ok || occurred.Before(last) || r.Received().Before(occurred) || r.Received().After(now) {
			t.Fatalf("report %d occurred at %v and arrived at %v, after one of %v", len(ids), occurred, r.Received(), last)
		}
		last = occurred
		s := grouping.SummaryOf(r.Fields)
		if s.Package == "" || s.Version == "" || s.SourcePackage == "" || s.Architecture == "" ||
			s.Release.EndOfLifeOn(now) || len(r.System) != 128 || r.System.IsTest() {
			t.Fatalf("report %d is not complete: %+v, system %s", len(ids), s, r.System)
		}
		rules[grouping.SignatureOf(r.Fields).Rule]++
		ids[r.ID] = true
	}
	if len(ids) != n || len(rules) < 16 || rules[crash.RuleNone] > n/20 || rules[crash.RuleAddress] < n/100 {
		t.Errorf("got %d ids and rules %v", len(ids), rules)
	}
	first := slices.Collect(crashtest.Fleet(1, 300, now))
	if diff := cmp.Diff(first, slices.Collect(crashtest.Fleet(1, 300, now))); diff != "" {
		t.Errorf("two fleets with the same seed differ:\n%s", diff)
	}
	for r := range crashtest.Fleet(1, 100, now.AddDate(34, 0, 0)) { // no known release is supported
		if got := r.Fields["DistroRelease"]; got != "Debian sid" {
			t.Fatalf("got a report of %s, want Debian sid", got)
		}
	}
}

// TestVolume checks that every report can be grouped, and that a fill can continue anywhere.
func TestVolume(t *testing.T) {
	t.Parallel()
	v := crashtest.Volume{Reports: 20_000, Padding: 300, Now: now}
	all := slices.Collect(v.All())
	signatures, ids := map[string]int{}, map[crash.OopsID]bool{}
	for i, r := range all {
		g := grouping.SignatureOf(r.Fields)
		if g.Signature == "" || i > 0 && r.Received().Before(all[i-1].Received()) {
			t.Fatalf("report %d cannot be grouped, or arrives before the previous one: %s", i, g.Reason)
		}
		signatures[g.Signature]++
		ids[r.ID] = true
	}
	if len(ids) != v.Reports || len(signatures) < 100 || len(signatures) > 400 {
		t.Errorf("got %d ids of %d reports with %d signatures, want about 200", len(ids), v.Reports, len(signatures))
	}
	v.From = 12_345
	if diff := cmp.Diff(all[v.From:], slices.Collect(v.All())); diff != "" {
		t.Errorf("continued in the middle (-whole +rest):\n%s", diff)
	}
}
