package stats_test

import (
	"fmt"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/stats"
)

func TestFacetValueIn(t *testing.T) {
	t.Parallel()
	summary := crash.Summary{Release: noble, Version: "1.4-1", Architecture: "amd64"}
	fields := crash.Fields{
		"Uname": "Linux 6.8.0-85-generic x86_64", "CurrentDesktop": "ubuntu:GNOME",
		"ProcEnviron":        "PATH=(custom)\nLANG=de_DE.UTF-8\nXDG_SESSION_TYPE=wayland",
		"ProcCpuinfoMinimal": "processor\t: 3\nmodel name\t: Reef Core 7\nflags\t: a b",
		"Dependencies":       "libc6 2.39-0ubuntu8\nlibc6-dev 9\nlibtide1 1.2-1 [origin: unknown]",
		"Long":               fmt.Sprintf("%0200d", 7), "Lines": " a\n  b ", "MachineType": "Marlin Corp. SeaBook 14",
		"Package": "tidewatch 1.4-1 [origin: LP-PPA-tide]", "NonfreeKernelModules": "nvidia_drm nvidia brigwifi",
		".proc.driver.nvidia.version": "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.120  Fri Sep\n" +
			"GCC version:  13.2",
	}
	for field, want := range map[stats.FacetField]string{
		stats.FacetRelease: "Ubuntu 24.04", stats.FacetVersion: "1.4-1", stats.FacetArchitecture: "amd64",
		stats.FacetKernel: "6.8.0-85-generic", stats.FacetDesktop: "ubuntu:GNOME", stats.FacetSession: "wayland",
		stats.FacetLocale: "de_DE.UTF-8", stats.FacetCPU: "Reef Core 7", stats.PackageFacet("libc6"): "2.39-0ubuntu8",
		stats.FacetSeries: "6.8", stats.FacetFlavour: "generic", stats.FacetModel: "Marlin Corp. SeaBook 14",
		stats.FacetOrigin: "unknown, LP-PPA-tide", stats.FacetThirdParty: "libtide1, tidewatch",
		stats.FacetGraphics: "nvidia, nvidia-550", stats.PackageFacet("libtide1"): "1.2-1",
		stats.PackageFacet("none"): "", "Lines": "a b", "NoSuchField": "",
		"Long": fmt.Sprintf("%0149d…", 0),
	} {
		checktest.Equal(t, field, field.ValueIn(summary, fields), want)
	}
	for _, field := range stats.FacetFields {
		if field == stats.FacetRelease || field == stats.FacetVersion || field == stats.FacetArchitecture {
			continue
		}
		checktest.Equal(t, field+" of a report without fields", field.ValueIn(summary, nil), "")
	}
}

func TestNewFacet(t *testing.T) {
	t.Parallel()
	got := stats.NewFacet("kernel", [][]string{{"b", "d"}, {"a"}, {"b"}, nil, {"c"}},
		[][]string{{"b"}, {"x"}, {"a"}, {"x"}})
	want := stats.Facet{Field: "kernel", Here: 5, There: 4, OthersThere: 2, Values: []stats.FacetValue{
		{Value: "b", Here: 2, There: 1}, {Value: "", Here: 1}, {Value: "a", Here: 1, There: 1}, {Value: "c", Here: 1},
		{Value: "d", Here: 1},
	}}
	checktest.Diff(t, "facet", got, want)
	var many [][]string
	for i := range 20 {
		many = append(many, []string{fmt.Sprintf("%02d", i)})
	}
	got = stats.NewFacet("kernel", append(many, []string{"19"}), many[:15])
	if len(got.Values) != 12 || got.Values[0] != (stats.FacetValue{Value: "19", Here: 2}) || got.Others != 8 ||
		got.OthersHere != 8 || got.OthersThere != 4 {
		t.Errorf("of 20 values: got %+v", got)
	}
}

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
		checktest.Equal(t, fmt.Sprintf("predecessor of %q", release), release.Predecessor(all), want)
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

func TestMovingRates(t *testing.T) {
	t.Parallel()
	day := func(n int) time.Time { return time.Date(2026, 5, n, 0, 0, 0, 0, time.UTC) }
	got, sums := stats.MovingRates([]stats.DayRate{
		{Day: day(2), Reports: 4, Machines: 4}, {Day: day(4), Reports: 8, Machines: 8},
		{Day: day(9), Reports: 99, Machines: 1},
	}, day(1), day(5), 3, day(5).Add(12*time.Hour))
	checktest.Diff(t, "reports", sums, []int64{0, 4, 4, 12, 8})
	want := []float64{0, 1, .5, .75, .5} // the last: 0, 8 and 0 reports of 4, 8 and, in half a day, 8 machines
	checktest.Diff(t, "result", got, want)
}

func TestTrendText(t *testing.T) {
	t.Parallel()
	trend := func(now, before int64) stats.Trend {
		t := stats.Trend{Now: stats.NewMachineRate(now, 7000), Before: stats.NewMachineRate(before, 7000)}
		t.Change = t.Now.Times(t.Before)
		return t
	}
	for _, test := range []struct {
		trend stats.Trend
		want  string
	}{
		{trend(532, 554), "Machines sent 0.076 reports a day each this week (95% CI 0.070–0.083), 4% fewer than last " +
			"week: within normal variation."},
		{trend(1000, 500), "Machines sent 0.14 reports a day each this week (95% CI 0.13–0.15), 100% more than last " +
			"week: more than chance explains."},
		{trend(500, 500), "Machines sent 0.071 reports a day each this week (95% CI 0.065–0.078), as many as last " +
			"week: within normal variation."},
		{stats.Trend{Now: stats.NewMachineRate(7, 70)}, "Machines sent 0.10 reports a day each this week (95% CI " +
			"0.040–0.21); there is no data for last week."},
	} {
		checktest.Equal(t, "trend", test.trend.Text(), test.want)
	}
}

func TestNewVersionStory(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	counts := []crash.VersionCount{
		{Version: "1.4-1", Release: "Ubuntu 24.04", Reports: 3}, {Version: "1.2-1", Release: "Ubuntu 24.04", Reports: 9},
		{Version: "1.2-1", Release: "Debian 13", Reports: 1},
	}
	known := []stats.VersionKnown{
		{Release: "Ubuntu 24.04", Version: "2.0-1", Arrived: day}, {Release: "Ubuntu 24.04", Version: "1.10-1", Arrived: day},
		{Release: "Ubuntu 24.04", Version: "1.4-1", Arrived: day}, {Release: "Ubuntu 24.04", Version: "1.3-1", Arrived: day},
		{Release: "Ubuntu 24.04", Version: "1.1-1", Arrived: day}, {Release: "Ubuntu 24.04", Version: "0.9-1", Arrived: day},
		{Release: "Ubuntu 26.04", Version: "3.0-1", Arrived: day}, {Release: "Debian 13", Version: "not valid!",
			Arrived: day},
	}
	story := stats.NewVersionStory(counts, known)
	var got []string
	for _, c := range story.Counts {
		got = append(got, c.Version+" "+string(c.Release))
	}
	want := []string{"2.0-1 Ubuntu 24.04", "1.10-1 Ubuntu 24.04", "1.4-1 Ubuntu 24.04", "1.2-1 Debian 13",
		"1.2-1 Ubuntu 24.04", "1.1-1 Ubuntu 24.04"}
	checktest.Diff(t, "versions", got, want)
	if len(story.After) != 1 || story.After[0].Version != "1.10-1" || story.Newest[0].Version != "2.0-1" ||
		len(story.Before) != 1 || story.Before[0].Version != "1.1-1" {
		t.Errorf("ends: got %+v", story)
	}
}
