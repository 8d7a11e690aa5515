package gallery

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"mishap/crash"
	"mishap/crash/grouping"
	"mishap/crash/index"
	"mishap/crash/stats"
	adminview "mishap/views/admin"
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
	part := report
	part.Fields, part.TypedOnly = part.TypedFields(), true
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
		{"Report, not in full", problemsview.Report(problemsview.ReportPage{Shell: shell("Report", admin), Report: part,
			Pager: way, Grouping: why, NotStored: &problemsview.NotStored{
				Bodies: crash.Bodies{Stored: 1000, All: 84_210}, Newest: crash.NewOopsID(now.Add(-time.Hour)),
				Admin: true}})},
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

func reportList() problemsview.ReportList {
	l := problemsview.ReportList{ID: "reports", Now: now, Empty: "None."}
	for i := range 4 {
		row := crash.ReportRow{
			ID: crash.NewOopsID(now.Add(-time.Duration(i) * time.Hour)), Occurred: now.AddDate(0, 0, -3*i), System: "machine-1",
			Bucket: new(bucket(i).ID),
			Summary: crash.Summary{ProblemType: "Crash", Title: bucket(i).Title, Package: "tidewatch",
				Version: fmt.Sprintf("46.%d-0ubuntu2", i), Release: releases[i%3], Architecture: "amd64", Proposed: i == 1},
			TypedOnly: i == 2,
		}
		if i == 3 {
			row.Bucket, row.Unbucketed = nil, "It has neither a stack nor a traceback."
		}
		l.Rows = append(l.Rows, row)
	}
	return l
}

func named(n int, table string) []problemsview.ListRow {
	all := make([]problemsview.ListRow, n)
	for i := range all {
		b := bucket(i)
		all[i] = problemsview.ListRow{Problem: &crash.Problem{Bucket: &b, Count: int64(n - i)},
			First: b.First(), Last: b.Last(),
			Spark: layout.NewSparkline([]int64{0, 2, 1, int64(i), 5}, now),
			Bug:   bugsview.BugPart{Bucket: b.ID, Copy: table}}
		if i%2 == 1 {
			all[i].Bug = bugsview.BugPart{
				Bucket: b.ID, Copy: table, State: bugsview.BugLinked,
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
		Problems: named(5, ""),
		Follow:   problemsview.FollowPart{Follow: crash.Follow{Kind: crash.FollowPackage, Name: "tidewatch"}, On: true},
	}
	counts := []crash.DayCount{{Day: now.AddDate(0, 0, -20), Release: releases[1], Reports: 40},
		{Day: now, Release: releases[2], Reports: 9}}
	page.Chart = problemsview.NewChart(counts, crash.Releases(), now.AddDate(0, 0, -90), now)
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
		page.Versions = append(page.Versions, problemsview.PackageVersion{VersionRate: rate, Old: i < 3, New: named(i*8, ""),
			Gone: named(30*(i%2), ""), CrashFree: numbers(int64(4000*i), 0, int64(9*i)).CrashFree(releases[1], "")})
	}
	if user.ID != 0 {
		page.Problems, page.More = named(50, ""), 4200
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
		crash.Releases(), day(-83), now).Rates()
	return page
}

func release(machines int64) problemsview.ReleasePage {
	each := stats.Trends(rates(machines), now, 7, now)
	page := problemsview.ReleasePage{
		Shell: shell("Ubuntu 26.04", visitor), Release: releases[2], Released: day(-200), End: day(1600), Before: releases[1],
		Days: 28,
		Rates: problemsview.NewRateChart(rates(machines), total(machines), nil, crash.Releases(), day(-83),
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
	page.Worst, page.New, page.Regressions = named(20, ""), named(8, "new"), named(3, "regressions")
	page.Packages = []problemsview.ReleasePackage{{Name: "tidewatch", Reports: 900, Problems: 20,
		Rate: stats.NewMachineRate(900, 112000)}, {Name: "quillpad", Reports: 1, Problems: 1,
		Rate: stats.NewMachineRate(1, 112000)}}
	return page
}

// people returns who takes care of a problem, as a person sees it.
func people(user crash.User) problemsview.PeopleView {
	b := bucket(0)
	return problemsview.PeopleView{Bucket: b.ID, Person: user, Tracker: "Launchpad", CSRFToken: "token", Now: now,
		Follow: problemsview.FollowPart{Follow: crash.Follow{Kind: crash.FollowProblem, Name: b.ID.String()},
			CSRFToken: "token"}}
}

// assigned returns a problem that is assigned in the tracker, with tags, a history and a note that
// names its reader.
func assigned() problemsview.ProblemPage {
	page := problem(viewer)
	page.People.Assigned = crash.Assigned{Name: "~desktop-packages", Bug: 2101233}
	page.People.BugURL = "https://bugs.launchpad.net/bugs/2101233"
	page.People.Follow.On = true
	for i := range crash.MaxTags {
		page.People.Tags = append(page.People.Tags, crash.ProblemTag{Tag: fmt.Sprint("quite-a-long-tag-", i), Person: "ada"})
	}
	page.People.History = []crash.Assignment{
		{ID: 2, Assignee: "~desktop-packages", By: "vera", At: now},
		{ID: 1, Assignee: "ada", By: "ada", At: now.AddDate(0, 0, -2), UndoneBy: "vera", UndoneAt: now.AddDate(0, 0, -1)},
	}
	page.Notes = problemsview.NotesView{Bucket: page.Bucket.ID, Person: "vera", Now: now, CSRFToken: "token",
		Names: map[string]string{"Vera": "vera"}, Notes: []crash.Note{{ID: 1, Person: "ada", Written: now,
			Texts: []crash.NoteText{{At: now, Person: "ada", Text: "@Vera, can you look? Or @nobody."}}}}}
	return page
}

func assign() problemsview.AssignPage {
	return problemsview.AssignPage{Shell: shell("Assign 3 problems", admin), Tracker: "Launchpad", Typed: "ver",
		Problem: `There is no account named "ver". For a person or team at the tracker, write ~ver.`, Back: "/",
		Rows: []problemsview.AssignRow{
			{Bucket: bucket(0), Assigned: crash.Assigned{Name: "ada"}},
			{Bucket: bucket(1), Assigned: crash.Assigned{Name: "~desktop-packages", Bug: 2101233}},
			{Bucket: bucket(2)},
		}}
}

func assignedList() problemsview.ListPage {
	page := list(shell("", admin), bugStates(admin))
	for i, p := range []index.People{
		{Assigned: crash.Assigned{Name: "ada"}, TagList: "needs-info sru"},
		{Assigned: crash.Assigned{Name: "~desktop-packages"}},
		{TagList: "a-long-tag-of-many-letters b c d"},
	} {
		page.Rows[i].People = &p
	}
	return page
}

// compared returns the specimens of comparisons: facets, stacks, chosen columns, and the page that asks
// before several bugs are created.
func compared() []specimen {
	none := problem(viewer)
	none.Facets.Problem = "Comparing the reports took too long. Try again, or choose another field."
	columns := problem(viewer)
	columns.Reports.Choice.Columns = []string{"occurred", "arrived", "version", "release", "pocket", "trace", "machine"}
	columns.Reports.Rows = reportList().Rows
	return []specimen{
		{"Problem, compared by a field", problemsview.Problem(faceted())},
		{"Problem, comparison too slow", problemsview.Problem(none)},
		{"Problem, chosen columns", problemsview.Problem(columns)},
		{"Compare stacks", problemsview.Compare(comparison())},
		{"Compare stacks, the same", problemsview.Compare(problemsview.ComparePage{Shell: shell("Compare stacks", viewer),
			Bucket: bucket(0), First: reportList().Rows[0], Second: reportList().Rows[1],
			Representative: reportList().Rows[0].ID,
			Frames:         grouping.CompareFrames(frames(88), frames(88))})},
		{"Where a problem is concentrated", problemsview.Traits(concentrated())},
		{"Where a problem is concentrated: nowhere", problemsview.Traits(traits(stats.Concentrations{Here: 31, There: 104,
			Problems: 9}))},
		{"Where a problem is concentrated: too few machines", problemsview.Traits(traits(stats.Concentrations{Here: 2,
			There: 3, Problems: 1, TooFew: true}))},
		{"Where the problems of a release are concentrated", problemsview.ReleaseWhere(releaseWhere(2))},
		{"Where the problems of a release are concentrated: nowhere", problemsview.ReleaseWhere(releaseWhere(0))},
		{"Create several bugs", bugsview.ConfirmCreate(bugsview.ConfirmCreatePage{
			Shell: shell("Create bugs", admin), Tracker: "Launchpad", Back: "/",
			FileAs: bugsview.FilingChoice{Tracker: "Launchpad", Account: "ada", Own: true},
			File: []bugsview.FiledRow{{Bucket: bucket(0), Where: "tidewatch in ubuntu"},
				{Bucket: bucket(1), Where: "tidewatch in ubuntu"}},
			Skipped: []bugsview.SkippedRow{{Bucket: bucket(2), Reason: "has bug 2101233"}},
		})},
		{"Create several bugs, none possible", bugsview.ConfirmCreate(bugsview.ConfirmCreatePage{
			Shell: shell("Create bugs", admin), Tracker: "Launchpad", Back: "/"})},
	}
}

// traits returns the page that says where a problem is concentrated.
func traits(c stats.Concentrations) problemsview.TraitsPage {
	c.Since, c.Until = now.AddDate(0, -1, 0), now
	return problemsview.TraitsPage{Shell: shell("Where it is concentrated", viewer), Bucket: bucket(0), Concentrations: c}
}

// concentrated returns a problem that is concentrated in every way.
func concentrated() problemsview.TraitsPage {
	return traits(stats.Concentrations{Here: 15, There: 104, Problems: 9, Unknown: 3, Comparisons: 41,
		Found: []stats.Concentration{
			{Trait: stats.Trait{Field: stats.FacetGraphics, Value: "nvidia-550"}, Here: 14, HereOf: 15, There: 20, ThereOf: 104,
				Odds: stats.Interval{Value: 57.2, Low: 3.4, High: 2651}, Same: []stats.Trait{{Field: stats.FacetGraphics,
					Value: "nvidia"}},
				Also: []stats.Trait{{Field: stats.FacetKernel, Value: "6.8.0-85-generic"},
					{Field: stats.FacetSession, Value: "x11"},
					{Field: stats.PackageFacet("libnvidia-gl-550"), Value: "550.120-0ubuntu0.24.04.1"}}},
			{Trait: stats.Trait{Field: stats.FacetModel, Value: "Marlin Corp. SeaBook 14 with a name that is far too long " +
				"for the column at the side"}, Here: 12, HereOf: 12, There: 4, ThereOf: 61,
				Odds: stats.Interval{Value: math.Inf(1), Low: 8.25, High: math.Inf(1)}},
		}})
}

// releaseWhere returns where the first problems of a release are concentrated.
func releaseWhere(n int) problemsview.ReleaseWherePage {
	page := problemsview.ReleaseWherePage{Shell: shell("Ubuntu 24.04", viewer), Release: releases[0], All: 10}
	for i := range n {
		b := bucket(i)
		page.Rows = append(page.Rows, problemsview.WhereRow{Bucket: &b, Concentrations: concentrated().Concentrations})
	}
	return page
}

// faceted returns a problem whose reports are compared by their kernel. Those with one of the values
// are selected.
func faceted() problemsview.ProblemPage {
	page := problem(viewer)
	choice := problemsview.ReportChoice{Path: page.Bucket.ID.Path(), Facet: stats.FacetKernel, ByValue: true,
		Value: "6.8.0-85-generic"}
	page.Facets = problemsview.FacetsView{Choice: choice, Package: "tidewatch", Names: []string{"Uname", "package:libc6"},
		Facet: &stats.Facet{
			Field: stats.FacetKernel, Here: 155, There: 47, Others: 3, OthersHere: 12, OthersThere: 9,
			Values: []stats.FacetValue{
				{Value: "6.8.0-85-generic", Here: 80, There: 7},
				{Value: "7.0.0-12-generic-with-a-name-that-is-too-long-for-its-column", Here: 39, There: 21},
				{Value: "", Here: 24, There: 10},
			},
		}}
	page.Reports.Choice, page.Reports.Sample = &choice, 155
	page.Filter.Choice = choice
	return page
}

// comparison returns two stacks with every kind of difference.
func comparison() problemsview.ComparePage {
	second := append(frames(91)[:2:2], grouping.Frame{Function: "tide_cache", File: "../src/cache.c", Line: 5})
	second = append(second, frames(91)[2:4]...)
	for i := range second {
		second[i].Number = i
	}
	return problemsview.ComparePage{
		Shell: shell("Compare stacks", viewer), Bucket: bucket(0), First: reportList().Rows[0], Second: reportList().Rows[1],
		Frames: grouping.CompareFrames(frames(88), second),
		Facts: []problemsview.DifferentFact{
			{Field: stats.FacetVersion, First: "46.0-0ubuntu2", Second: "46.1-0ubuntu2"},
			{Field: stats.FacetRelease, First: "Ubuntu 22.04", Second: ""},
		},
	}
}

// frames returns a stack whose first frame is in that line.
func frames(line int) []grouping.Frame {
	return []grouping.Frame{
		{Function: "tide_parse_row", File: "../src/parse.c", Line: line},
		{Number: 1, Function: "??", Address: "0x00007f00", Module: "/usr/lib/x86_64-linux-gnu/libtide.so.2"},
		{Number: 2, Function: "tide_load", File: "../src/load.c", Line: 41},
		{Number: 3, Function: "on_open_clicked", File: "../src/win.c", Line: 207},
		{Number: 4, Function: "main", File: "main.c", Line: 12},
	}
}

// triageForms returns the forms that change the manual status, in every state, and problems with
// every decision.
func triageForms() []specimen {
	form := func(kind crash.MarkKind, change func(*problemsview.TriageForm)) problemsview.TriageForm {
		p := problemsview.TriageForm{Kind: kind, Buckets: []crash.Bucket{bucket(0)}, Releases: releases, Back: "/",
			Tracker: "Launchpad"}
		if kind == crash.MarkFixed {
			for _, r := range append([]crash.Release{""}, releases...) {
				p.Values.Fixes = append(p.Values.Fixes, problemsview.FixRow{FixedIn: crash.FixedIn{Release: r},
					Hint: "46.5-0ubuntu1"})
			}
		}
		if change != nil {
			change(&p)
		}
		p.Shell = shell(p.Heading(), admin)
		return p
	}
	chosen := func(p *problemsview.TriageForm) {
		other := bucket(1)
		other.SourcePackage, other.Package = "quillpad", "quillpad"
		p.Buckets = append(p.Buckets, other)
	}
	muted := crash.Mark{ID: 1, Kind: crash.MarkMuted, Person: "grace", Reason: "waits for upstream",
		At: now.AddDate(0, 0, -3), Until: crash.MuteUntil{Machines: 50, Days: 7}}
	return []specimen{
		{"Mute", problemsview.TriagePage(form(crash.MarkMuted, nil))},
		{"Mute, muted already, mistake", problemsview.TriagePage(form(crash.MarkMuted, func(p *problemsview.TriageForm) {
			p.Replaces, p.Regressed = &muted, true
			p.Values = problemsview.TriageValues{Reports: "many", Release: string(releases[0]), Reason: "x"}
			p.Problem = "More reports: “many” is not a number."
		}))},
		{"Mute several", problemsview.TriagePage(form(crash.MarkMuted, chosen))},
		{"Won’t fix", problemsview.TriagePage(form(crash.MarkWontFix, nil))},
		{"Won’t fix several", problemsview.TriagePage(form(crash.MarkWontFix, chosen))},
		{"Fixed in", problemsview.TriagePage(form(crash.MarkFixed, nil))},
		{"Fixed in, several packages, mistake", problemsview.TriagePage(form(crash.MarkFixed,
			func(p *problemsview.TriageForm) {
				chosen(p)
				p.Values.Fixes[0].Version, p.Problem = "next one", "“next one” is not a version."
			}))},
		{"Embargo", problemsview.TriagePage(form(crash.MarkEmbargo, nil))},
		{"Embargo, not seen afterwards, mistake", problemsview.TriagePage(form(crash.MarkEmbargo,
			func(p *problemsview.TriageForm) {
				p.Blind, p.Problem = true, "A reason can have at most 500 characters."
			}))},
		{"Embargo, lift", problemsview.TriagePage(form(crash.MarkEmbargo, func(p *problemsview.TriageForm) {
			p.Replaces = &embargo
		}))},
		{"Problem, every decision", problemsview.Problem(manual(admin, muted))},
		{"Problem, every decision, for viewers", problemsview.Problem(manual(viewer, muted))},
		{"Problem, every decision, for visitors", problemsview.Problem(manual(visitor, muted))},
	}
}

var embargo = crash.Mark{ID: 1, Kind: crash.MarkEmbargo, Person: "grace", Reason: "double free", At: now}

// manual returns the page of a problem with every kind of decision.
func manual(user crash.User, muted crash.Mark) problemsview.ProblemPage {
	page := problem(user)
	wontFix := crash.Mark{ID: 2, Kind: crash.MarkWontFix, Person: "ada", At: now.AddDate(0, 0, -2),
		Reason: "hardware of one person"}
	fixed := crash.Mark{ID: 3, Kind: crash.MarkFixed, Person: "ada", At: now.AddDate(0, 0, -1)}
	page.Status.Manual = problemsview.ManualView{Bucket: page.Bucket.ID, SignedIn: user.ID != 0, Now: now,
		CSRFToken: "token",
		MayDecide: user.Role.Allows(crash.RoleTriager), Status: crash.ManualStatus{Muted: &muted, WontFix: &wontFix,
			Embargo: &embargo,
			Fixes: []crash.ManualFix{{FixedIn: crash.FixedIn{Release: releases[1], Version: "46.3-1"}, By: fixed, Again: 3,
				AgainIn: releases[1], AgainAt: "46.3-1"}, {FixedIn: crash.FixedIn{Version: "46.4-1"}, By: fixed}}}}
	page.Shell.Flash = []layout.Flash{{Kind: layout.FlashDone, Text: "muted",
		Undo: problemsview.UndoTriage([]crash.Mark{muted})}}
	return page
}

func gates() []specimen {
	page := func(in *stats.GateInput) problemsview.GatePage {
		q := stats.GateQuestion{Package: "tidewatch", Version: "46.4-0ubuntu2"}
		p := problemsview.GatePage{Shell: shell("Update gate", visitor), Releases: releases}
		if in == nil {
			return p
		}
		p.Question = q
		r := stats.AssessGate(*in)
		p.Answer = &stats.GateAnswer{GateQuestion: q, Verdict: r.Verdict, Results: []stats.GateResult{r},
			Buckets: map[crash.BucketID]crash.Bucket{bucket(0).ID: bucket(0), bucket(1).ID: bucket(1)}}
		p.Health = []problemsview.GateHealth{{Health: health(q.Version, 50),
			CrashFree: numbers(4000, 0, 40).CrashFree(releases[1], "")}}
		return p
	}
	worse := page(gateInput(21, 12))
	where := concentrated().Concentrations
	update := where
	update.Update, update.Found = true, where.Found[1:]
	worse.Answer.Where = []stats.GateConcentration{
		{Release: worse.Answer.Results[0].Release, Concentrations: update},
		{Release: worse.Answer.Results[0].Release, Problem: bucket(0).ID, Concentrations: where},
	}
	unknown := page(nil)
	unknown.Question = stats.GateQuestion{Package: "tidewatch", Version: "99"}
	unknown.Answer = &stats.GateAnswer{GateQuestion: unknown.Question, Verdict: stats.GateNotEnough,
		Known: []string{"46.4-0ubuntu2", "46.3-1"}}
	problem := page(nil)
	problem.Problem = "46.4 is not lower than 46.3: the gate compares a version with a lower one."
	return []specimen{
		{"Update gate, empty", problemsview.Gate(page(nil))},
		{"Update gate, wrong question", problemsview.Gate(problem)},
		{"Update gate, unknown version", problemsview.Gate(unknown)},
		{"Update gate, not enough data", problemsview.Gate(page(gateInput(3, 4)))},
		{"Update gate, pass", problemsview.Gate(page(gateInput(21, 4)))},
		{"Update gate, worse", problemsview.Gate(page(gateInput(21, 12)))},
		{"Update gate, worse and concentrated", problemsview.Gate(worse)},
	}
}

// gateInput returns the counts of an update that arrived some days ago, with the given number of
// reports a day since then.
func gateInput(days int, reports int64) *stats.GateInput {
	today := crash.Midnight(now)
	arrived := today.AddDate(0, 0, 1-days)
	in := &stats.GateInput{
		GatePlan: stats.GatePlan{Release: releases[0], Version: "46.4-0ubuntu2", Against: "46.3-0ubuntu1",
			Choice: stats.ChoicePrevious,
			Before: stats.Window{Since: arrived.AddDate(0, 0, -40), Until: arrived.AddDate(0, 0, -1)},
			After:  stats.Window{Since: arrived, Until: today}, BeforeIn: 40, AfterIn: days},
		New: stats.Clusters{Machines: 30, Reports: 40, Squares: 60}, Old: stats.Clusters{Machines: 90, Reports: 120,
			Squares: 200},
		Problems: []stats.GateProblem{
			{ID: bucket(0).ID, After: 3 * reports, Machines: 3,
				Clusters: stats.Clusters{Machines: 3, Reports: 30, Squares: 402}},
			{ID: bucket(1).ID, Before: 9, After: 10 * reports, History: 9, Lower: true, Machines: 40,
				Clusters: stats.Clusters{Machines: 60, Reports: 100, Squares: 120}},
			{ID: bucket(2).ID, After: 4, Machines: 4, Nameless: true},
		},
	}
	in.History = in.Before
	for day := in.Before.Since; !day.After(today); day = day.AddDate(0, 0, 1) {
		d := stats.GateDay{Day: day, Machines: 1000, Reports: 4, Old: 4}
		if !day.Before(arrived) {
			d.Reports, d.New, d.Old = reports, reports, 0
		}
		in.Days = append(in.Days, d)
	}
	return in
}

// symbols returns the page about symbols, with everything that can be missing and every state.
func symbols() adminview.SymbolsPage {
	searched := []crash.SymbolAttempt{{Source: "added files", Outcome: "missing"},
		{Source: "https://symbols.example.org", Outcome: "missing", Detail: "HTTP 404"}}
	page := adminview.SymbolsPage{
		Shell: shell("Symbols", admin), MissingSize: 25, MissingTotal: 40, MissingJobs: 10_000, MissingCapped: true,
		QueueSize: 20, QueueMore: true,
		Missing: []crash.MissingSymbol{
			{Kind: crash.MissingDebugFile, Path: "/usr/lib/x86_64-linux-gnu/libtide.so.1", Package: "libtide1",
				Version: "1:2.0-1ubuntu1", Architecture: "amd64", BuildID: "9a3f6c1b2d4e5f60718293a4b5c6d7e8f9012345",
				Release: releases[1], Reports: 41_300, Problems: 72, Searched: searched},
			{Kind: crash.MissingProgram, Path: "/opt/reef/bin/reefd", Architecture: "amd64",
				BuildID: "1111111111111111111111111111111111111111", Reports: 900, Problems: 2, Searched: searched},
			{Kind: crash.MissingBuild, Path: "/usr/lib/libsand.so.3", Package: "libsand3", Version: "3.1-2",
				Architecture: "arm64", Reports: 12, Problems: 1},
			{Kind: crash.MissingBuild, Path: "/usr/lib/libdune.so.3", Architecture: "arm64", Reports: 1, Problems: 1},
		},
		Totals: crash.SymbolTotals{States: map[crash.SymbolState]int64{crash.SymbolsQueued: 12, crash.SymbolsWaiting: 900},
			Oldest: now.AddDate(0, 0, -1)},
	}
	for i, state := range []crash.SymbolState{crash.SymbolsRunning, crash.SymbolsQueued, crash.SymbolsWaiting,
		crash.SymbolsPartial, crash.SymbolsFailed, crash.SymbolsExpired, crash.SymbolsDone} {
		b := bucket(i)
		page.Queue = append(page.Queue, crash.SymbolQueueRow{Report: crash.NewOopsID(now), Problem: b.ID, Title: b.Title,
			State: state, Architecture: "amd64", Reports: b.Reports, Core: i%2 == 0, Created: now, Started: now, Ended: now,
			PressedBy: "ada", Reason: "Files with function names are missing: /usr/lib/x86_64-linux-gnu/libtide.so.1."})
	}
	return page
}

// nameless returns the page of a native crash without function names that waits for symbols. If
// wanted is true, a person has asked for a core.
func nameless(wanted bool) problemsview.ProblemPage {
	page := problem(admin)
	page.Bucket.Provisional, page.Bucket.Rule = true, crash.RuleAddress
	lost := &crash.SymbolSearch{Searched: []crash.SymbolAttempt{{Source: "added files", Outcome: "missing"},
		{Source: "https://symbols.example.org", Outcome: "missing", Detail: "HTTP 404"}}}
	known := crash.ProblemSymbols{Missing: []string{"/usr/lib/libtide.so.1"}, Job: crash.SymbolJob{
		Report: crash.NewOopsID(now), State: crash.SymbolsPartial, NotBefore: now.AddDate(0, 0, 1),
		Reason: "Files with function names are missing: /usr/lib/libtide.so.1.", Modules: []crash.SymbolModule{
			{Path: "/usr/lib/libtide.so.1", BuildID: "9a3f6c1b2d4e5f60718293a4b5c6d7e8f9012345", Frames: 2, Executable: lost},
			{Path: "/usr/bin/tidewatch"}}}}
	page.Symbols = &problemsview.SymbolsView{Job: known.Job, MayPress: true, CSRFToken: "token",
		Core: &problemsview.CoreView{Path: problemsview.CorePath(page.Bucket.ID), MayAsk: true}}
	if wanted {
		page.Symbols.Core.Wanted = crash.WantedCore{Person: "grace", Asked: now}
		page.Symbols.Core.WhyNot = "No instance can symbolise core dumps of riscv64, so machines are not asked for any."
	}
	page.Status.Admin = true
	page.Status.Advice = stats.Advise(stats.AdviceFacts{Bucket: page.Bucket, Symbols: known})
	return page
}
