package gallery

import (
	"mishap/crash"
	"mishap/crash/grouping"
	"mishap/crash/stats"
	bugsview "mishap/views/bugs"
	problemsview "mishap/views/problems"
)

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
			Bucket: bucket(0), First: reportList().Rows[0], Second: reportList().Rows[1], Representative: true,
			Frames: grouping.CompareFrames(frames(88), frames(88))})},
		{"Create several bugs", bugsview.ConfirmCreate(bugsview.ConfirmCreatePage{
			Shell: shell("Create bugs", admin), Tracker: "Launchpad", Back: "/",
			FileAs:  bugsview.FilingChoice{Tracker: "Launchpad", Account: "ada", Own: true},
			File:    []crash.Bucket{bucket(0), bucket(1)},
			Skipped: []bugsview.SkippedRow{{Bucket: bucket(2), Reason: "has bug 2101233"}},
		})},
		{"Create several bugs, none possible", bugsview.ConfirmCreate(bugsview.ConfirmCreatePage{
			Shell: shell("Create bugs", admin), Tracker: "Launchpad", Back: "/"})},
	}
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
