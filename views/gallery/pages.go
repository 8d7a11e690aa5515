package gallery

import (
	"fmt"
	"strings"

	"mishap/crash"
	"mishap/crash/stats"
	bugsview "mishap/views/bugs"
	"mishap/views/layout"
	problemsview "mishap/views/problems"
)

var releases = []crash.Release{"Ubuntu 22.04", "Ubuntu 24.04", "Ubuntu 26.04"}

// list returns the front page with a row for each of these bugs.
func list(s layout.Shell, bugs []bugsview.BugPart) problemsview.ListPage {
	page := problemsview.ListPage{
		Rates: problemsview.NewRateChart(nil, stats.Trend{}, nil, crash.BuiltInReleases(), day(-83), now).Rates(),
		Shell: s, Choice: problemsview.ListChoice{Period: crash.PeriodWeek}, Releases: releases,
		Types:    []string{"Crash", "KernelOops"},
		Machines: []string{"amd64", "arm64"}, First: 1, Size: 50, IngestURL: "http://localhost:8081",
		Tracker: "Launchpad",
		Saved: []crash.SavedSearch{{Name: "SRU watch", Path: "/?period=week", OwnerID: s.User.ID, Shared: true},
			{Name: "Unfiled, more than 5 machines", Path: "/?period=month&state=none", Owner: "bob", OwnerID: 99, Shared: true}},
	}
	for i, bug := range bugs {
		b := bucket(i)
		b.Provisional = i == 3
		page.Rows = append(page.Rows, problemsview.ListRow{
			Problem: &crash.Problem{Bucket: &b, Count: b.Reports}, First: b.First(), Last: b.Last(), Bug: bug, Rank: i + 1,
			Past: int64(i * 7 % 5), Compared: true, New: i == 2, Rising: i == 4,
			Spark: layout.NewSparkline([]int64{0, 1, 4, 2, 8, int64(i)}, now),
		})
		page.Totals.Problems++
		page.Totals.Reports += b.Reports
	}
	return page
}

func nothingFound() problemsview.ListPage {
	page := list(shell("", viewer), nil)
	page.Choice.Package, page.Choice.Release = "none-such", "Ubuntu 24.04"
	return page
}

// partial returns a list with further pages and with data that is still missing.
func partial() problemsview.ListPage {
	page := list(shell("", viewer), bugStates(viewer))
	page.Notice, page.Next = "The packages of this set are not known yet; try again shortly.", "/?after=50"
	return page
}

// status returns the status of a problem that was fixed in one release and not in another.
func status(b crash.Bucket) crash.Status {
	return stats.Judge(b, []crash.VersionSeen{
		{Release: releases[2], Version: "46.4-0ubuntu2", Reports: 40, Last: now.AddDate(0, 0, -13)},
		{Release: releases[1], Version: "46.2-0ubuntu1", Reports: 2110, Week: 11, Last: now},
	}, stats.ByRelease([]stats.VersionKnown{{
		Release: releases[2], Version: "46.5-0ubuntu1", Arrived: now.AddDate(0, 0, -9), Since: now.AddDate(0, 0, -9),
	}}), now)
}

// problem returns the page of a problem with everything that this person may see.
func problem(user crash.User) problemsview.ProblemPage {
	b := bucket(0)
	if user.ID == 0 {
		b.Title = ""
	}
	counts := []crash.DayCount{{Day: now.AddDate(0, 0, -20), Release: releases[1], Reports: 40},
		{Day: now, Release: releases[2], Reports: 9}}
	since, until := problemsview.ChartSpan(now.AddDate(0, 0, -20), now)
	cell := bugStates(user)[1]
	cell.Bucket, cell.Whole, cell.Tracker = b.ID, true, "Launchpad"
	if user.Role.Allows(crash.RoleTriager) {
		cell.Link = b.ID.Path() + "/link"
	}
	page := problemsview.ProblemPage{
		Impact: problemsview.Impact{Reports: b.Reports, Systems: b.Systems, Active: 9120, AtMost: true,
			Releases: releases[1:2],
			Days:     28, Week: 300,
			WeekBefore: 240, Today: 0.5, Rate: stats.NewMachineRate(1200, 255_000)},
		Shell: shell(b.Title, user), Bucket: b, First: b.First(), Last: b.Last(),
		Chart: problemsview.ChartPart(problemsview.NewChart(counts, crash.BuiltInReleases(), since, until), now),
		Status: problemsview.StatusView{
			Status: status(b), Now: now,
			Bugs: bugsview.BugsView{Bucket: b.ID, Cell: cell, MayLink: user.Role.Allows(crash.RoleTriager),
				SignedIn: user.ID != 0,
				Now:      now},
		},
		Versions: problemsview.NewVersionTable([]crash.VersionCount{
			{Version: "46.4-0ubuntu2", Release: releases[2], Reports: 40}, {Version: "46.2-0ubuntu1", Release: releases[1],
				Reports: 2110},
		}),
		Grouping: problemsview.GroupingView{Rule: b.Rule, Signature: b.Signature,
			Address: "https://crashes.example.org" + b.ID.Path()},
	}
	if user.ID == 0 {
		return page
	}
	page.People = people(user)
	page.Stack = problemsview.NewStack(crash.StoredReport{ReportRow: crash.ReportRow{ID: crash.NewOopsID(now)},
		Fields: crash.Fields{
			"Stacktrace": "#0  tide_parse_row (row=0x0) at ../src/parse.c:88\n#1  0x00007f00 in ?? () from " +
				"/usr/lib/libtide.so.2\n#2  main () at ../src/main.c:12\n",
		}})
	page.Reports = &problemsview.ReportList{ID: "reports", Now: now,
		Choice: &problemsview.ReportChoice{Path: page.Bucket.ID.Path()},
		Rows: []crash.ReportRow{{
			ID: crash.NewOopsID(now), Occurred: now, System: "machine-1",
			Summary: crash.Summary{ProblemType: "Crash", Package: "tidewatch", Version: "46.4-0ubuntu2", Release: releases[2],
				Architecture: "amd64"},
		}}}
	return page
}

// hugeProblem returns a problem with a long signature, many versions and many bugs.
func hugeProblem() problemsview.ProblemPage {
	page := problem(admin)
	page.Bucket.Signature = "/usr/bin/tidewatch:11" + strings.Repeat(":a_function_with_quite_a_long_name", 200)
	var versions []crash.VersionCount
	for i := range 60 {
		versions = append(versions, crash.VersionCount{Version: fmt.Sprintf("46.%d-0ubuntu1~really.long.version.%d", i, i),
			Release: releases[i%3], Reports: int64(1 + i*i)})
	}
	page.Versions = problemsview.NewVersionTable(versions)
	return page
}

// trackerAway returns a problem whose bug has a stale state.
func trackerAway() problemsview.ProblemPage {
	page := problem(admin)
	page.Status.Bugs.Bugs = []crash.Bug{{
		Number: 2101233, Title: "tidewatch crashes", URL: "https://bugs.launchpad.net/bugs/2101233", By: "ada",
		At: now.AddDate(0, -1, 0),
		State: crash.BugState{
			BugReading: crash.BugReading{Number: 2101233, Title: "tidewatch crashes",
				Tasks: []crash.BugTask{{Name: "tidewatch (Ubuntu)", Status: "Triaged", Importance: "High"}}},
			Read: now.AddDate(0, 0, -3), Failure: "The tracker did not answer.",
		},
	}}
	return page
}

// review returns the panel that reviews a bug.
func review(search *bugsview.ReviewSearch) bugsview.ReviewPage {
	b := bucket(0)
	cell := bugsview.BugPart{Bucket: b.ID, Signature: b.Signature, State: bugsview.BugCreate, MayFile: true, Review: true}
	if search != nil {
		search.Bug = cell
	}
	return bugsview.ReviewPage{
		Shell: shell("Review", admin), Bug: cell, Heading: b.Title, Source: "tidewatch", Distribution: "ubuntu",
		Tracker: "launchpad.net", Fileable: true,
		FileAs: bugsview.FilingChoice{Tracker: "launchpad.net", Account: "ada", Broken: true},
		Draft: crash.Draft{Title: b.Title, Description: "tidewatch crashed 4,211 times.", Tags: []string{"noble"},
			Package: "tidewatch"},
		Advice: stats.Advice{Kind: stats.AdviceOneMachine, Text: "One machine only: it may be broken."}, Search: search,
	}
}

// refusedReview returns a review with bugs found and with errors in its fields.
func refusedReview() bugsview.ReviewPage {
	page := review(&bugsview.ReviewSearch{Tracker: "launchpad.net", Words: "tide_parse_row", Where: "tidewatch",
		Bugs: []crash.FoundBug{
			{Number: 2101233, Title: "crash in tide_parse_row", Status: "Fix Released", Fixed: "46.3-0ubuntu1",
				URL: "https://bugs.launchpad.net/bugs/2101233"},
		}})
	page.Problem = "Two fields need another look."
	page.Problems = crash.DraftProblems{crash.DraftTitle: "A title has at most 200 characters.",
		crash.DraftTags: "A tag begins with a letter or a digit."}
	page.Suspected = "free(): invalid pointer"
	return page
}
