package layout_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/a-h/templ"

	"mishap/crash"
	"mishap/crash/grouping"
	"mishap/crash/index"
	"mishap/crash/stats"
	adminview "mishap/views/admin"
	"mishap/views/layout"
	problemsview "mishap/views/problems"
	"mishap/views/viewstest"
)

// decisionPages returns the pages about decisions, filled with text.
func decisionPages(text string, n int) map[string]templ.Component {
	shell := layout.Shell{Title: text, User: crash.User{ID: 1, Name: text, Role: crash.RoleAdmin}, CSRFToken: text,
		Path: "/x?y=" + text, Now: viewstest.Now}
	bucket := crash.Bucket{
		ID: crash.BucketIDOf(text), Signature: "/usr/bin/" + text + ":11:" + strings.Repeat(text+":", n), Name: text,
		Title: text, Members: int64(n),
		Bug: crash.Bug{Number: 7, Title: text,
			URL: text}, FirstSeen: viewstest.Now, LastSeen: viewstest.Now, LowestVersion: text,
		HighestVersion: text,
	}
	other := bucket
	other.ID[0]++
	condition := crash.Condition{Terms: []crash.Term{{Field: crash.TermFrame, Value: text}}}
	row := crash.ReportRow{ID: crash.NewOopsID(viewstest.Now), Summary: crash.Summary{Package: text, Version: text,
		Architecture: text, Release: crash.Release(text)}}
	history := problemsview.DecisionsView{Bucket: bucket, MayDecide: n > 0, CSRFToken: text, Now: viewstest.Now}
	split := problemsview.SplitPage{
		Shell: shell, Bucket: bucket, Problem: text, Terms: append(condition.Terms, crash.Term{Field: crash.TermPackage}),
		Preview: &problemsview.SplitPreview{Condition: condition, Into: text},
		Reports: problemsview.ReportList{ID: "reports", Empty: text, Next: "/?after=" + text, First: "/"},
		Chosen:  map[crash.OopsID]bool{row.ID: true},
	}
	run := crash.RegroupRun{ID: 7, Rules: 2, Dry: true, Person: text, State: crash.RegroupRunning, Started: viewstest.Now,
		Estimate: 10, LookedAt: 5, Moved: 2}
	regroup := adminview.RegroupPage{Shell: shell, Version: 3, Run: &run, Effect: crash.RegroupEffect{Changed: int64(n)},
		Runs: []crash.RegroupRun{run, run}}
	for i := range n {
		d := crash.Decision{
			ID: int64(i), Bucket: bucket.ID, Other: other.ID, BucketLabel: text, OtherLabel: text, Before: text, After: text,
			Condition: condition, Person: text, Reason: text, At: viewstest.Now,
		}
		for _, d.Kind = range []crash.DecisionKind{crash.DecisionMerged, crash.DecisionRenamed, crash.DecisionSplit} {
			for _, d.Cause = range []crash.DecisionCause{crash.CausePerson, crash.CauseSymbolised, crash.CauseRegrouped} {
				history.Decisions = append(history.Decisions, d)
				undone := d
				undone.UndoneAt, undone.UndoneBy, undone.After = viewstest.Now, text, ""
				history.Decisions = append(history.Decisions, undone)
			}
		}
		id := row
		id.ID = crash.NewOopsID(viewstest.Now)
		split.Reports.Rows = append(split.Reports.Rows, id)
		split.Preview.GoesExamples = append(split.Preview.GoesExamples, row)
		regroup.Moves = append(regroup.Moves, crash.RegroupMove{From: bucket.ID, To: other.ID, FromLabel: text, ToLabel: text,
			New: i%2 == 0, Reports: 5}, crash.RegroupMove{})
	}
	notes := problemsview.NotesView{Bucket: bucket.ID, Person: text, CSRFToken: text, Now: viewstest.Now,
		Everything: n > 0}
	traits := problemsview.TraitsPage{Shell: shell, Bucket: bucket, Here: 7, There: 9}
	for i := range n {
		said := crash.Note{ID: int64(i + 1), Written: viewstest.Now, Person: text,
			Texts: []crash.NoteText{{At: viewstest.Now, Person: text, Text: text}, {At: viewstest.Now, Person: text,
				Text: text + "!"}}}
		gone := said
		gone.ID, gone.Texts = int64(n+i+1), append(said.Texts[:2:2], crash.NoteText{At: viewstest.Now, Person: text})
		notes.Notes = append(notes.Notes, said, gone)
		traits.Found = append(traits.Found, stats.StandOut{Trait: stats.Trait{Kind: text, Value: text}, Here: 5, There: 1})
	}
	filter := problemsview.ReportFilterForm{
		Choice: problemsview.ReportChoice{Path: "/x", Filter: index.Filter{Version: text, Complete: true}, Facet: "cpu",
			Value: text},
		Versions: []string{text, "1"},
		Releases: []crash.Release{crash.Release(text)}, Architectures: []string{text},
	}
	choice := filter.Choice
	choice.ByValue = true
	facet := stats.NewFacet(stats.FacetField(text), slices.Repeat([]string{text, "", "b"}, n), []string{text})
	facets := problemsview.FacetsView{Choice: choice, Package: text, Facet: &facet, Names: []string{text}}
	frames := []grouping.Frame{{Function: text, Module: text, File: text, Line: 7}, {Function: "??"},
		{Function: text + "x"}}
	compared := problemsview.ComparePage{
		Shell: shell, Bucket: bucket, First: row, Second: row, Representative: n > 0,
		Frames: grouping.CompareFrames(frames[:n], []grouping.Frame{{Function: text, File: "b.c", Line: 1}}),
		Facts:  []problemsview.DifferentFact{{Field: stats.FacetKernel, First: text}},
	}
	parts := []problemsview.Breakdown{
		{Title: text, Field: "architecture", Shares: []crash.NameCount{{Name: text, Reports: 7}, {Reports: 1}}},
		{Title: text, Shares: []crash.NameCount{{Name: text, Reports: 7}}},
	}
	return map[string]templ.Component{
		"notes":      problemsview.Notes(notes),
		"traits":     problemsview.Traits(traits),
		"filter":     problemsview.ReportFilter(filter),
		"facets":     problemsview.FacetsPart(facets),
		"compare":    problemsview.Compare(compared),
		"breakdowns": problemsview.Breakdowns("/x", parts[:min(n, 2)]),
		"alike": problemsview.AlikeProblems(bucket, []grouping.SimilarProblem{{Bucket: other,
			Likeness: grouping.SameFunction}},
			n > 0),
		"history": problemsview.Decisions(history),
		"rename": problemsview.Rename(problemsview.RenamePage{Shell: shell, Bucket: bucket, Name: text, Reason: text,
			Problem: text}),
		"find": problemsview.FindMerge(problemsview.FindMergePage{Shell: shell, Bucket: bucket, Text: text, Problem: text,
			Similar: []grouping.SimilarProblem{{Bucket: other, Likeness: grouping.SameFunction}}}),
		"merge": problemsview.Merge(problemsview.MergePage{
			Shell: shell, Sides: problemsview.NewMergeSides([]crash.Bucket{bucket,
				other}), Head: other.ID, Reports: 7, Machines: 3,
			Bugs: []crash.Bug{bucket.Bug}, Problem: text,
		}),
		"split":   problemsview.Split(split),
		"regroup": adminview.Regroup(regroup),
	}
}

func TestDecisionPagesAreWellFormed(t *testing.T) {
	t.Parallel()
	for name, data := range map[string]map[string]templ.Component{
		"empty": decisionPages("", 0), "typical": decisionPages("tidewatch", 2), "hostile": decisionPages(hostile, 3),
		"long": decisionPages(strings.Repeat("żółw ", 4000), 1),
	} {
		for what, c := range data {
			t.Run(name+" "+what, func(t *testing.T) {
				t.Parallel()
				text := viewstest.Render(t, c)
				checkHTML(t, text)
				for _, bad := range []string{"<script>alert", "<b onmouseover"} {
					if strings.Contains(text, bad) {
						t.Errorf("got %q unescaped", bad)
					}
				}
			})
		}
	}
}

func TestMergeSidesMarkDifferences(t *testing.T) {
	t.Parallel()
	side := func(functions string) crash.Bucket {
		return crash.Bucket{Signature: "/usr/bin/tide:11:" + functions, Executable: "/usr/bin/tide",
			Rule: crash.RuleStacktrace}
	}
	var got []string
	for _, s := range problemsview.NewMergeSides([]crash.Bucket{side("parse:load:main"), side("parse:reload:main"),
		side("parse:load:main:start")}) {
		var parts []string
		for _, p := range s.Parts {
			if p.Differs {
				parts = append(parts, p.Text)
			}
		}
		got = append(got, strings.Join(parts, " "))
	}
	if want := "load|reload|load start"; strings.Join(got, "|") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
