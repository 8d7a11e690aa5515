package gallery

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"mishap/crash"
	"mishap/crash/stats"
	bugsview "mishap/views/bugs"
	"mishap/views/layout"
	problemsview "mishap/views/problems"
)

// things returns the specimens of reports, machines, packages and releases.
func things() []specimen {
	report := crash.StoredReport{
		ReportRow: crash.ReportRow{
			ID: crash.NewOopsID(now), Occurred: now.Add(-time.Hour), System: "machine-1", Bucket: new(bucket(0).ID),
			Summary: crash.Summary{ProblemType: "Crash", Title: bucket(0).Title, Executable: "/usr/bin/tidewatch",
				Package: "tidewatch", Version: "46.4-0ubuntu2", Release: releases[2], Architecture: "amd64"},
		},
		Fields: crash.Fields{
			"ProblemType": "Crash", "ExecutablePath": "/usr/bin/tidewatch", "Package": "tidewatch 46.4-0ubuntu2",
			"DistroRelease": "Ubuntu 26.04", "Signal": "11",
			"Stacktrace": "#0  tide_parse_row (row=0x0) at ../src/parse.c:88\nNo locals.\n#1  0x00007f00 in ?? () from " +
				"/usr/lib/libtide.so.2\n#2  main () at ../src/main.c:12\n",
			"JournalErrors": strings.Repeat("nov 21 12:00:00 host kernel: something was odd\n", 300),
			"OddField":      "said by nobody's dictionary",
		},
	}
	way := layout.Pager{Via: "/?period=week", List: "most common problems", Previous: "/oops/a", Next: "/oops/b", Place: 2,
		Of: 40}
	why := problemsview.GroupingView{Rule: crash.RuleStacktrace, Signature: bucket(0).Signature,
		Address: "https://crashes.example.org" + bucket(0).ID.Path()}
	loose := report
	loose.Bucket, loose.Unbucketed, loose.Fields = nil, "It has neither a stack nor a traceback.",
		crash.Fields{"ProblemType": "Crash"}
	machine := problemsview.SystemPage{Shell: shell("Machine", viewer), System: crash.SystemID(strings.Repeat("9f3a", 32)),
		Reports: reportList()}
	machine.Reports.Next = "/user/machine-1?after=1"
	story := problemsview.NewMachineStory(machine.Reports.Rows, true, now)
	machine.Story = &story
	return []specimen{
		{"Report", problemsview.Report(problemsview.ReportPage{Shell: shell("Report", admin), Report: report,
			Comparable: true, Pager: way,
			Grouping: why, Core: 41_000_000})},
		{"Report, in no problem", problemsview.Report(problemsview.ReportPage{Shell: shell("Report", viewer),
			Report: loose})},
		{"Machine", problemsview.System(machine)},
		{"Machine, nothing reported", problemsview.System(problemsview.SystemPage{Shell: shell("Machine", viewer),
			System:  "machine-2",
			Reports: problemsview.ReportList{ID: "reports", Now: now, Empty: "No reports from this machine are stored."}})},
		{"Machines without an id", problemsview.System(problemsview.SystemPage{Shell: shell("Machine", viewer),
			Reports: reportList()})},
		{"Package for visitors", problemsview.Package(pkg(visitor))},
		{"Package, followed, too much", problemsview.Package(pkg(viewer))},
		{"Package, nothing lately", problemsview.Package(problemsview.PackagePage{Shell: shell("quillpad", viewer),
			Name: "quillpad",
			Days: 91, Follow: problemsview.FollowPart{Follow: crash.Follow{Kind: crash.FollowPackage, Name: "quillpad"}}})},
		{"Release", problemsview.Release(release(4000))},
		{"Release, too little data", problemsview.Release(release(0))},
		{"Reliability, better and worse", problemsview.List(reliability())},
	}
}

// reportList returns some reports, one of which is in no problem.
func reportList() problemsview.ReportList {
	l := problemsview.ReportList{ID: "reports", Now: now, Empty: "None."}
	for i := range 4 {
		row := crash.ReportRow{
			ID: crash.NewOopsID(now.Add(-time.Duration(i) * time.Hour)), Occurred: now.AddDate(0, 0, -3*i), System: "machine-1",
			Bucket: new(bucket(i).ID),
			Summary: crash.Summary{ProblemType: "Crash", Title: bucket(i).Title, Package: "tidewatch",
				Version: fmt.Sprintf("46.%d-0ubuntu2", i), Release: releases[i%3], Architecture: "amd64", Proposed: i == 1},
		}
		if i == 3 {
			row.Bucket, row.Unbucketed = nil, "It has neither a stack nor a traceback."
		}
		l.Rows = append(l.Rows, row)
	}
	return l
}

// named returns n problems of a package.
func named(n int) []problemsview.PackageProblem {
	all := make([]problemsview.PackageProblem, n)
	for i := range all {
		b := bucket(i)
		all[i] = problemsview.PackageProblem{Bucket: b, First: b.First(), Last: b.Last(), Count: int64(n - i),
			Package: "tidewatch",
			Spark:   layout.NewSparkline([]int64{0, 2, 1, int64(i), 5}, now)}
		if i%2 == 1 {
			all[i].Bug = bugsview.BugPart{
				Bucket: bucket(i).ID, State: bugsview.BugLinked,
				Bug:    crash.Bug{Number: 2101233, URL: "https://bugs.launchpad.net/bugs/2101233"},
				Status: crash.Status{Word: crash.StateRegression},
			}
		}
	}
	return all
}

func pkg(user crash.User) problemsview.PackagePage {
	page := problemsview.PackagePage{
		Shell: shell("tidewatch", user), Name: "tidewatch", Days: 91, Binaries: []string{"tidewatch-data", "libtide2"},
		Problems: named(5),
		Follow:   problemsview.FollowPart{Follow: crash.Follow{Kind: crash.FollowPackage, Name: "tidewatch"}, On: true},
	}
	counts := []crash.DayCount{{Day: now.AddDate(0, 0, -20), Release: releases[1], Reports: 40},
		{Day: now, Release: releases[2], Reports: 9}}
	page.Chart = problemsview.NewChart(counts, crash.BuiltInReleases(), now.AddDate(0, 0, -90), now)
	spans := []stats.VersionSpan{
		{Release: releases[1], Version: "46.2-0ubuntu1", First: day(-60), Last: day(-30), Reports: 300},
		{Release: releases[1], Version: "46.3-0ubuntu1", First: day(-29), Last: day(-10), Reports: 20},
		{Release: releases[1], Version: "46.4-0ubuntu1", First: day(-9), Last: day(0), Reports: 400},
		{Release: releases[2], Version: "48.0-1", First: day(-3), Last: day(-2), Reports: 1},
	}
	active := map[crash.Release][]int64{}
	for range 91 {
		active[releases[1]], active[releases[2]] = append(active[releases[1]], 900), append(active[releases[2]], 3)
	}
	for i, rate := range stats.RateVersions(spans, active, day(-90)) {
		page.Versions = append(page.Versions, problemsview.PackageVersion{VersionRate: rate, Old: i < 3, New: named(i * 8),
			Gone: named(30 * (i % 2))})
	}
	if user.ID != 0 {
		page.Problems, page.More = named(50), 4200
	}
	return page
}

// day returns a UTC day, relative to that of now.
func day(n int) time.Time { return now.Truncate(24*time.Hour).AddDate(0, 0, n) }

// rates returns days of all releases: the newest release gets worse, the next one better.
func rates(machines int64) []stats.DayRate {
	var all []stats.DayRate
	for n := -80; machines > 0 && n <= 0; n++ {
		worse := int64(1)
		if n > -7 {
			worse = 3
		}
		all = append(all,
			stats.DayRate{Release: releases[2], Day: day(n), Reports: machines / 50 * worse, Machines: machines},
			stats.DayRate{Release: releases[1], Day: day(n), Reports: machines / 10 / worse, Machines: machines},
			stats.DayRate{Release: releases[0], Day: day(n), Reports: machines / 90, Machines: machines})
	}
	return all
}

// total returns the trend of all releases together.
func total(machines int64) stats.Trend {
	return stats.TotalTrend(rates(machines), slices.Repeat([]int64{2 * machines}, 14), now, 7)
}

func reliability() problemsview.ListPage {
	page := list(shell("", visitor), bugStates(visitor))
	page.Rates = problemsview.NewRateChart(rates(4000), total(4000), []crash.ReleaseDay{{Release: releases[2],
		Day: day(-40)}},
		crash.BuiltInReleases(), day(-83), now).Rates()
	return page
}

func release(machines int64) problemsview.ReleasePage {
	each := stats.Trends(rates(machines), now, 7, now)
	page := problemsview.ReleasePage{
		Shell: shell("Ubuntu 26.04", visitor), Release: releases[2], Released: day(-200), End: day(1600), Before: releases[1],
		Days: 28,
		Rates: problemsview.NewRateChart(rates(machines), total(machines), nil, crash.BuiltInReleases(), day(-83),
			now).Rates(),
	}
	for _, t := range each {
		switch t.Release {
		case releases[2]:
			page.Trend = t
		case releases[1]:
			page.BeforeNow = t
		default:
		}
	}
	if machines == 0 {
		return page
	}
	page.SameAge = &problemsview.SameAge{Age: 200, Days: 28, Now: stats.NewMachineRate(2240, 112000),
		Then: stats.NewMachineRate(3000, 90000)}
	page.Reports, page.Problems, page.MachineDays = 2240, 90, 112000
	page.Worst, page.New, page.Regressions = named(20), named(8), named(3)
	page.Packages = []problemsview.ReleasePackage{{Name: "tidewatch", Reports: 900, Problems: 20,
		Rate: stats.NewMachineRate(900, 112000)}, {Name: "quillpad", Reports: 1, Problems: 1,
		Rate: stats.NewMachineRate(1, 112000)}}
	return page
}
