package stats_test

import (
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/stats"
)

func TestTrends(t *testing.T) {
	t.Parallel()
	until := time.Date(2026, 9, 14, 15, 0, 0, 0, time.UTC)
	const today = 15. / 24 // has passed
	day := func(n int) time.Time { return time.Date(2026, 9, 14-n, 0, 0, 0, 0, time.UTC) }
	rates := []stats.DayRate{
		// This day is before both weeks, but its machines still count as active.
		{Release: "Ubuntu 22.04", Day: day(20), Reports: 9, Machines: 100},
		{Release: "Ubuntu 22.04", Day: day(10), Reports: 70, Machines: 200},
		{Release: "Ubuntu 22.04", Day: day(6), Reports: 140, Machines: 200},
		{Release: "Ubuntu 24.04", Day: day(0), Reports: 5, Machines: 50},
		{Release: "Ubuntu 20.04", Day: day(200), Reports: 5, Machines: 50}, // too old to matter
	}
	each := stats.Trends(rates, until, 7, until)
	if len(each) != 2 || each[0].Release != "Ubuntu 24.04" || each[1].Release != "Ubuntu 22.04" {
		t.Fatalf("got %+v, want 24.04, then 22.04", each)
	}
	noble, jammy := each[0], each[1]
	if noble.Now.Reports != 5 || noble.Now.MachineDays != 50*today || noble.Before.Known() || noble.Change.Known() {
		t.Errorf("24.04, new today: got %+v, want 5 reports of 50 machines in 15 hours and none before", noble)
	}
	// Days 13 to 11 precede the first report in the range: they have the 100 machines of day 20.
	// Days 10 to 7 have 200.
	if jammy.Before.Reports != 70 || jammy.Before.MachineDays != 3*100+4*200 || jammy.Now.Reports != 140 ||
		jammy.Now.MachineDays != (6+today)*200 {
		t.Errorf("22.04: got %+v, want 70 in 1100 and 140 in 1325", jammy)
	}
	if whole := stats.Trends(rates, until, 7, until.AddDate(0, 0, 1))[1]; whole.Now.MachineDays != 7*200 {
		t.Errorf("22.04 on the day after: got %+v, want 1400 machine-days", whole)
	}
	if !jammy.Change.Worse() {
		t.Errorf("22.04: got %+v, want it to be worse", jammy.Change)
	}
	machines := make([]int64, 14) // one of the 50 machines was active in both releases
	for i := range machines {
		machines[i] = 200
	}
	machines[13] = 249
	all := stats.TotalTrend(rates, machines, until, 7)
	if all.Now.Reports != 145 || all.Now.MachineDays != 6*200+249*today || all.Before.Reports != 70 ||
		all.Before.MachineDays != 7*200 || all.Machines != 249 {
		t.Errorf("all: got %+v", all)
	}
	if each := stats.Trends(nil, until, 7, until); len(each) != 0 {
		t.Errorf("no rates: got %+v", each)
	}
}

func TestPredecessor(t *testing.T) {
	t.Parallel()
	all := []crash.Release{"Debian 12", "Debian 13", "Debian sid", "Ubuntu 9.10", "Ubuntu 22.04", "Ubuntu 24.04",
		"Kubuntu 23.10", ""}
	for release, want := range map[crash.Release]crash.Release{
		"Ubuntu 24.04": "Ubuntu 22.04", "Ubuntu 22.04": "Ubuntu 9.10", "Ubuntu 9.10": "", "Debian 13": "Debian 12",
		"Debian sid":   "",
		"Ubuntu 24.10": "Ubuntu 24.04", "Linux Mint 22": "", "": "",
	} {
		if got := release.Predecessor(all); got != want {
			t.Errorf("predecessor of %q: got %q, want %q", release, got, want)
		}
	}
}

func TestRising(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		week, before int64
		others       int
		want         bool
	}{
		{0, 0, 0, false}, {1, 0, 0, false}, {4, 0, 0, false}, {5, 0, 0, true}, {12, 10, 0, false},
		{30, 12, 0, true}, {1300, 1000, 0, false}, // certain, but slight
		{1600, 1000, 0, true}, {5, 50, 0, false},
		{30, 12, 20, false}, {40, 12, 20, true}, // one of 21 problems
	} {
		all := []stats.Rise{{Week: test.week, Before: test.before}}
		for range test.others {
			all = append(all, stats.Rise{Week: 50, Before: 50})
		}
		for range 1000 { // too few reports to tell: they do not count as comparisons
			all = append(all, stats.Rise{Week: 2, Before: 1})
		}
		if got := stats.Rising(all)[0]; got != test.want {
			t.Errorf("%d after %d, with %d others: got %t, want %t", test.week, test.before, test.others, got, test.want)
		}
	}
}
