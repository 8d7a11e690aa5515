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

func TestFleetIsRealistic(t *testing.T) {
	t.Parallel()
	const n = 20_000
	type seen struct {
		reports, early, late int
		systems              map[crash.SystemID]bool
	}
	buckets := map[string]*seen{}
	systems, releases, versions := map[crash.SystemID]int{}, map[crash.Release]int{}, map[string]map[string]bool{}
	rules, perDay, lastWeek := map[crash.Rule]int{}, map[time.Time]int{}, 0
	var count int
	var last time.Time
	for r := range crashtest.Fleet(7, n, now) {
		count++
		occurred, ok := crash.OccurredAt(r.Fields["Date"])
		if !ok || occurred.Before(last) || r.Received().Before(occurred) || r.Received().After(now) ||
			r.Received().Sub(occurred) > 7*time.Hour {
			t.Fatalf("report %d occurred at %v and arrived at %v, after one of %v", count, occurred, r.Received(), last)
		}
		last = occurred
		s := grouping.SummaryOf(r.Fields)
		if s.Package == "" || s.Version == "" || s.SourcePackage == "" || s.Architecture == "" ||
			s.Release.EndOfLifeOn(now) || len(r.System) != 128 || r.System.IsTest() {
			t.Fatalf("report %d is not complete: %+v, system %s", count, s, r.System)
		}
		g := grouping.SignatureOf(r.Fields)
		b := buckets[g.Signature]
		if b == nil {
			b = &seen{systems: map[crash.SystemID]bool{}}
			buckets[g.Signature] = b
		}
		b.reports++
		b.systems[r.System] = true
		if day := crash.CountingDay(occurred, r.Received(), 366); day.Before(now.AddDate(0, 0, -40)) {
			b.early++
		} else if day.After(now.AddDate(0, 0, -10)) {
			b.late++
			lastWeek++
		}
		if versions[s.Package] == nil {
			versions[s.Package] = map[string]bool{}
		}
		versions[s.Package][s.Version] = true
		systems[r.System]++
		releases[s.Release]++
		rules[g.Rule]++
		perDay[occurred.Truncate(24*time.Hour)]++
	}
	sizes, appeared, faded := []int{}, 0, 0
	for _, b := range buckets {
		sizes = append(sizes, b.reports)
		if b.early == 0 && b.late > 10 {
			appeared++
		}
		if b.late == 0 && b.early > 10 {
			faded++
		}
	}
	slices.Sort(sizes)
	for what, ok := range map[string]bool{
		"as many reports as asked for":        count == n,
		"many problems":                       len(buckets) > 100 && len(buckets) < 1000,
		"the largest stands out":              sizes[len(sizes)-1] > n/20 && sizes[len(sizes)-1] < n/2,
		"half of the problems are rare":       sizes[len(sizes)/2] < n/100,
		"problems appear":                     appeared >= 2,
		"problems are fixed":                  faded >= 2,
		"each of 56 days has reports":         len(perDay) == 56,
		"the last ten days are alive":         lastWeek > n/8,
		"several releases":                    len(releases) >= 4 && releases["Ubuntu 24.04"] > n/20,
		"each program has several versions":   len(versions["tidewatch"]) >= 6,
		"many machines":                       len(systems) > n/10,
		"every kind of rule":                  len(rules) >= 16,
		"few reports that cannot be grouped":  rules[crash.RuleNone] > 0 && rules[crash.RuleNone] < n/20,
		"some that wait for being symbolised": rules[crash.RuleAddress] > n/100,
	} {
		if !ok {
			t.Errorf("condition not met: %s", what)
		}
	}
	t.Logf("%d buckets, the largest %d, %d machines, releases %v, rules %v, appeared %d, faded %d", len(buckets),
		sizes[len(sizes)-1], len(systems), releases, rules, appeared, faded)
}

func TestFleetIsDeterministic(t *testing.T) {
	t.Parallel()
	first := slices.Collect(crashtest.Fleet(1, 300, now))
	if diff := cmp.Diff(first, slices.Collect(crashtest.Fleet(1, 300, now))); diff != "" {
		t.Errorf("two fleets with the same seed differ:\n%s", diff)
	}
	if cmp.Equal(first, slices.Collect(crashtest.Fleet(2, 300, now))) {
		t.Error("two seeds gave the same fleet")
	}
	ids := map[crash.OopsID]bool{}
	for _, r := range first {
		if parsed, err := crash.ParseOopsID(r.ID.String()); err != nil || parsed != r.ID || r.ID[6]>>4 != 7 {
			t.Fatalf("got id %v, want version 7", r.ID)
		}
		ids[r.ID] = true
	}
	if len(ids) != 300 {
		t.Errorf("got %d ids for 300 reports", len(ids))
	}
	for range crashtest.Fleet(1, 10_000, now) {
		break // stopping early is allowed
	}
	if got := len(slices.Collect(crashtest.Fleet(1, 0, now))); got != 0 {
		t.Errorf("got %d reports, want none", got)
	}
}

// TestFleetNeverRunsOut checks that there are reports even in the far future, when no known release
// is supported.
func TestFleetNeverRunsOut(t *testing.T) {
	t.Parallel()
	for r := range crashtest.Fleet(1, 100, time.Date(2060, 1, 1, 0, 0, 0, 0, time.UTC)) {
		if got := r.Fields["DistroRelease"]; got != "Debian sid" {
			t.Fatalf("got a report of %s, want Debian sid", got)
		}
	}
}

func BenchmarkFleet(b *testing.B) {
	for b.Loop() {
		for range crashtest.Fleet(1, 10_000, now) {
		}
	}
}

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
