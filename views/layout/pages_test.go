package layout_test

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/a-h/templ"
	"golang.org/x/net/html"

	"mishap/crash"
	"mishap/crash/grouping"
	"mishap/crash/index"
	"mishap/crash/stats"
	adminview "mishap/views/admin"
	bugsview "mishap/views/bugs"
	eventsview "mishap/views/events"
	"mishap/views/layout"
	peopleview "mishap/views/people"
	problemsview "mishap/views/problems"
	"mishap/views/viewstest"
)

// hostile is text that breaks out of every unescaped context.
const hostile = `"'><script>alert(1)</script><b onmouseover=alert(1) style="x">&amp; % %zz
	http://evil.example/ ${x} 漢字 \u0000 </title></textarea><!--`

// components returns all components, filled with text.
func components(text string, n int) map[string]templ.Component {
	signature := "/usr/bin/" + text + ":11:" + strings.Repeat(text+":", n)
	shell := layout.Shell{
		Title: text, User: crash.User{ID: 1, Name: text, Role: crash.RoleAdmin}, CSRFToken: text, Path: "/x?y=" + text,
		Flash: []layout.Flash{{Kind: layout.FlashError, Text: text, Undo: &layout.Undo{Action: "/x/relink", Field: "bug",
			Value: text, CSRFToken: text}}}, FilingOn: true, Now: viewstest.Now,
	}
	visitor := shell
	visitor.User = crash.User{}
	bucket := crash.Bucket{
		ID: crash.BucketIDOf(signature), Signature: signature, Rule: crash.RuleAddress, Provisional: true, ProblemType: text,
		Title: text, Executable: text, Package: text, SourcePackage: text + "-src", Reports: 41300, Systems: 1,
		FirstSeen: viewstest.Now.AddDate(0, -2,
			0), LastSeen: viewstest.Now, FirstSeenVersion: text, FirstSeenRelease: crash.Release(text),
		LastSeenVersion: text, LastSeenRelease: "Ubuntu 24.04", LowestVersion: text, HighestVersion: text,
		LowestVersionRelease: crash.Release(text), HighestVersionRelease: "Ubuntu 24.04",
	}
	bug := bugsview.BugPart{Bucket: bucket.ID, Signature: signature, State: bugsview.BugRefused, Reason: text,
		MayFile:   true,
		CSRFToken: text, Next: text}
	summary := crash.Summary{
		ProblemType: text, Title: text, Executable: text, Package: text, Version: text, Release: crash.Release(text),
		Architecture: text, Proposed: true,
	}
	list := problemsview.ListPage{
		Shell: shell, Choice: problemsview.ListChoice{
			Period: crash.PeriodWeek, Filter: index.Filter{Release: crash.Release(text), Package: text},
		},
		Releases: []crash.Release{crash.Release(text), "Ubuntu 24.04"}, First: 51, Size: 50, Next: "/?after=" + text,
		IngestURL: text, Rates: problemsview.RateChart{Since: viewstest.Now, Until: viewstest.Now}.Rates(),
	}
	endpoint := crash.Endpoint{ID: 1, Name: text, Kind: crash.EndpointMatrix, Host: text, Channel: text, OwnerName: text,
		Disabled: viewstest.Now, DisabledWhy: text, LastFailure: viewstest.Now, FailureAnswer: text, Failures: 1}
	endpointForm := eventsview.EndpointForm{Name: text, Address: text, Channel: text, Secret: text, PerMinute: text,
		Owners: []crash.User{shell.User}, Wrong: map[string]string{"name": text, "address": text, "owner": text}}
	delivery := crash.Delivery{ID: "x", Event: crash.Event{Title: text, Text: text, Kind: crash.EventMany}, Payload: text,
		Summary: "y", State: crash.DeliveryState(text)}
	reports := problemsview.ReportList{ID: "reports", Now: viewstest.Now, Next: "/?after=" + text, First: "/", Empty: text}
	var days []crash.DayCount
	var versions []crash.VersionCount
	fields := crash.Fields{}
	for i := range n {
		row := bucket
		row.ID[0] = byte(i)
		rowBug := bug
		rowBug.Bucket = row.ID
		list.Rows = append(list.Rows, problemsview.ListRow{Problem: &crash.Problem{Bucket: &row, Count: int64(n - i)},
			First: row.First(), Last: row.Last(), Bug: rowBug})
		reports.Rows = append(reports.Rows, crash.ReportRow{
			ID: crash.NewOopsID(viewstest.Now), Summary: summary, System: crash.SystemID(text), Occurred: viewstest.Now,
			Bucket: &bucket.ID,
		}, crash.ReportRow{ID: crash.NewOopsID(viewstest.Now), Unbucketed: text})
		release := crash.Release(fmt.Sprint(text, i%9))
		days = append(days, crash.DayCount{Day: viewstest.Now.AddDate(0, 0, -i), Release: release, Reports: int64(i + 1)})
		versions = append(versions, crash.VersionCount{Version: fmt.Sprint(text, i), Release: release, Reports: int64(i + 1)})
		fields[fmt.Sprint("Key", i, text)] = strings.Repeat(text+"\n", i*5)
		fields["Stacktrace"], fields["Traceback"] = text, text
	}
	machine := reports
	reports.Choice = &problemsview.ReportChoice{Path: "/x", Facet: "kernel", Value: text}

	since, until := problemsview.ChartSpan(bucket.FirstSeen, viewstest.Now)
	report := crash.StoredReport{
		ReportRow: crash.ReportRow{ID: crash.NewOopsID(viewstest.Now), Summary: summary, System: crash.SystemID(text),
			Occurred:   viewstest.Now,
			Unbucketed: text},
		Fields: fields,
	}
	bug.Status = crash.Status{Word: crash.StateRegression, Tracker: text, Read: viewstest.Now}
	for i := range n {
		bug.Status.Releases = append(bug.Status.Releases, crash.ReleaseStatus{
			Release: crash.Release(fmt.Sprint(text, i)), Word: crash.StateRegression, Reports: 1, Week: 1, Last: viewstest.Now,
			Highest: text, Fix: text, AgainAt: text, Again: 1,
		})
	}
	known := crash.BugState{
		BugReading: crash.BugReading{Number: 7, Title: text,
			Tasks: []crash.BugTask{{Name: text, Status: text, Importance: text, Assignee: text, Milestone: text}}},
		Read: viewstest.Now, Failure: text,
	}
	bugs := bugsview.BugsView{
		Bucket: bucket.ID, Cell: bug, MayLink: n > 0, SignedIn: true, Now: viewstest.Now, CSRFToken: text,
		Bugs: []crash.Bug{{Number: 7, Title: text, URL: text, By: text, At: viewstest.Now, State: known, Master: &known,
			MasterURL: text}},
	}
	why := problemsview.GroupingView{
		Rule: crash.Rule(text), Signature: signature, Address: "https://crashes.example.org" + bucket.ID.Path(),
		Report: crash.NewOopsID(viewstest.Now),
		Now:    &problemsview.PresentGrouping{Bucket: bucket.ID, Known: n > 0, Rules: 1}, Explained: &grouping.Explanation{
			Field: text, Frames: []grouping.FrameUse{{Text: text, Used: true, As: signature}, {Text: signature, Why: text}},
			Changes: []grouping.Change{{From: text, To: signature}},
		},
	}
	problem := problemsview.ProblemPage{
		Shell: shell, Bucket: bucket, First: bucket.First(), Last: bucket.Last(),
		Status: problemsview.StatusView{Status: bug.Status,
			Bugs: bugs, Now: viewstest.Now}, Grouping: why,
		Chart:    problemsview.ChartPart(problemsview.NewChart(days, crash.BuiltInReleases(), since, until), shell.Now),
		Versions: problemsview.NewVersionTable(versions), Stack: problemsview.NewStack(report), Reports: &reports,
	}
	forVisitors := problem
	forVisitors.Shell, forVisitors.Stack, forVisitors.Reports = visitor, nil, nil
	forVisitors.Grouping.Explained, forVisitors.Grouping.Now = nil, nil
	bucketed := problemsview.ReportPage{Shell: shell, Report: report, Core: 1 << 20,
		Pager: layout.Pager{Via: "/search?q=" + url.QueryEscape(text), List: text, Chosen: text, Previous: "/oops/1",
			Next: "/oops/2", Place: n, Of: n}}
	bucketed.Report.Bucket, bucketed.Grouping = &bucket.ID, problemsview.GroupingView{Rule: why.Rule,
		Explained: why.Explained,
		Now:       &problemsview.PresentGrouping{None: true}}
	story := problemsview.NewMachineStory(machine.Rows, true, viewstest.Now)
	found := crash.FoundBug{Number: 7, Title: text, Status: text, Fixed: text, URL: text}
	linked := bucket
	linked.Bug = crash.Bug{Number: 8, Title: text, URL: text}
	reviewable := bug
	reviewable.Review = true
	review := bugsview.ReviewPage{
		Shell: shell, InPart: n > 3, Bug: reviewable, Heading: text, Source: text, Distribution: text, Tracker: text,
		Fileable: true,
		Draft: crash.Draft{Title: text, Description: strings.Repeat(text+" https://x.example/"+text+"\n", n),
			Tags: []string{text, text}, Package: text},
		Problems: crash.DraftProblems{crash.DraftTitle: text, crash.DraftDescription: text, crash.DraftTags: text,
			crash.DraftPackage: text, crash.DraftInformation: text},
		Problem: text, Notice: text, Suspected: text, Advice: stats.Advice{Kind: stats.AdviceOneMachine, Text: text},
		Similar: []grouping.SimilarProblem{{Bucket: linked, Likeness: grouping.SameFunction}},
	}
	searched := review
	searched.Search = &bugsview.ReviewSearch{Bug: bug, Tracker: text, Words: text, Where: text,
		Bugs: []crash.FoundBug{found}}
	searched.Preview = &bugsview.ReviewPreview{Draft: review.Draft, Target: text, Marker: text, Private: []string{text}}
	visited := list
	visited.Shell, visited.First, visited.Choice = visitor, 1, problemsview.ListChoice{Period: crash.PeriodDay}
	symbolsPage := adminview.SymbolsPage{Shell: shell, MissingSize: 5, MissingTotal: int64(2 * n), QueueSize: 5,
		QueueMore: n > 3, MissingFrom: n, QueueFrom: n, State: crash.SymbolsWaiting}
	for i := range n {
		symbolsPage.Workers = append(symbolsPage.Workers, crash.SymbolWorker{Problem: text, Seen: viewstest.Now})
		for _, kind := range []crash.MissingKind{crash.MissingProgram, crash.MissingDebugFile, crash.MissingBuild} {
			symbolsPage.Missing = append(symbolsPage.Missing, crash.MissingSymbol{Kind: kind, Path: "/" + text, BuildID: text,
				Package: text, Version: text, Architecture: text, Reports: 1,
				Searched: []crash.SymbolAttempt{{Source: text, Outcome: text, Detail: text}}})
		}
		symbolsPage.Queue = append(symbolsPage.Queue, crash.SymbolQueueRow{Report: crash.NewOopsID(viewstest.Now),
			Title:   text,
			Problem: bucket.ID, State: crash.SymbolsWaiting, Reason: text, Architecture: text, Core: i > 1,
			Created:   viewstest.Now,
			NotBefore: viewstest.Now, PressedBy: text})
	}
	return map[string]templ.Component{
		"symbols": adminview.SymbolsAdmin(symbolsPage),
		"endpoints": eventsview.Endpoints(eventsview.EndpointsPage{Shell: shell,
			Stop: crash.NotificationStop{Stopped: viewstest.Now, Person: text}, Endpoints: []crash.Endpoint{endpoint}}),
		"no endpoints": eventsview.Endpoints(eventsview.EndpointsPage{Shell: shell}),
		"new endpoint": eventsview.NewEndpoint(eventsview.EndpointPage{Shell: shell,
			Endpoint: crash.Endpoint{Kind: endpoint.Kind},
			Form:     endpointForm}),
		"endpoint": eventsview.Endpoint(eventsview.EndpointPage{Shell: shell, Endpoint: endpoint, Form: endpointForm,
			Secret: text,
			Test:   &eventsview.EndpointTest{Problem: text, Answer: text}, Deliveries: []crash.Delivery{delivery}, Next: "/?" + text}),
		"delivery": eventsview.Delivery(eventsview.DeliveryPage{Shell: shell, Endpoint: endpoint, Type: text,
			Delivery: delivery,
			Attempts: []crash.DeliveryAttempt{{Started: viewstest.Now, Ended: viewstest.Now, Status: 500, Answer: text,
				Problem: text}}}),
		"symbols of a problem": problemsview.SymbolsPart(&problemsview.SymbolsView{
			Job: crash.SymbolJob{State: crash.SymbolsFailed, Reason: text}, MayPress: true, CSRFToken: text,
			Core: &problemsview.CoreView{Path: problemsview.CorePath(bucket.ID), MayAsk: n > 3, WhyNot: text[:min(len(text), n)],
				Wanted: crash.WantedCore{Person: text[:min(len(text), n%3)], Asked: viewstest.Now}},
		}),
		"list":              problemsview.List(list),
		"list for visitors": problemsview.List(visited),
		"problem":           problemsview.Problem(problem),
		"problem, visitors": problemsview.Problem(forVisitors),
		"report":            problemsview.Report(problemsview.ReportPage{Shell: shell, Report: report}),
		"report in bucket":  problemsview.Report(bucketed),
		"machine": problemsview.System(problemsview.SystemPage{Shell: shell, System: crash.SystemID(text), Story: &story,
			Reports: machine}),
		"error": layout.ErrorPage(visitor, layout.ErrorView{Status: 404, Message: text, RequestID: text,
			SignIn: true}),
		"sign in": peopleview.SignInPage(visitor, peopleview.SignInForm{Name: text, Problem: text, Next: text}),
		"sign in at other sites": peopleview.SignInPage(visitor, peopleview.SignInForm{Name: text, Problem: text, Next: text,
			SavedForm: text,
			Methods:   []peopleview.SignInMethod{{Path: "/login/openid", Name: text}, {Path: "/login/oidc", Name: text}}}),
		"leave": peopleview.LeavePage(visitor, text, "https://login.example/?q="+url.QueryEscape(text)),
		"roles": adminview.Access(adminview.AccessPage{Shell: shell, Search: text, More: true, Everyone: crash.RoleViewer,
			Form: adminview.GrantForm{Grant: crash.Grant{Group: text}, Problem: text},
			Grants: []crash.Grant{{Source: crash.SourceOIDC, Group: text, Role: crash.RoleAdmin, By: text,
				Created: viewstest.Now}},
			People: []crash.PersonAccess{{User: crash.User{Name: text, Disabled: true},
				Identities: []crash.StoredIdentity{{Identity: crash.Identity{Source: crash.SourceOIDC, Subject: text}}},
				Reasons:    []crash.RoleReason{{Role: crash.RoleAdmin, Source: crash.SourceOIDC, Group: text}}}}}),
		"account without a role": peopleview.Account(peopleview.AccountPage{
			Shell: layout.Shell{Title: text, User: crash.User{ID: 1, Name: text}, Now: viewstest.Now},
			Identities: []crash.StoredIdentity{{GroupsRead: viewstest.Now,
				Identity: crash.Identity{Source: crash.SourceLaunchpad,
					Subject: text, Name: text, Groups: []string{text}}}},
			Reasons: []crash.RoleReason{{Role: crash.RoleAdmin, Source: crash.SourceOIDC, Group: text}}}),
		"bugs": problemsview.StatusPart(problem.Status),
		"link a bug": bugsview.LinkBug(bugsview.LinkPage{Shell: shell, Bucket: bucket, BugLookup: bugsview.BugLookup{
			Text: text, Problem: text, Number: 7,
			Found: crash.BugReading{Title: text, DuplicateOf: 8, Tasks: known.Tasks}}}),
		"link all the same": bugsview.LinkBug(bugsview.LinkPage{Shell: shell, Bucket: bucket,
			BugLookup: bugsview.BugLookup{Text: text, Number: 7, Warning: text}}),
		"problems of a bug": bugsview.BugProblems(bugsview.BugProblemsPage{Shell: shell, Number: 7,
			Buckets: []crash.Bucket{bucket, linked}}),
		"review":           bugsview.Review(review),
		"review, searched": bugsview.Review(searched),
		"texts of bugs": adminview.Templates(adminview.TemplatesPage{
			Shell: shell, Saved: []crash.BugTemplate{{Package: text, Body: text, By: text, Changed: viewstest.Now}}, Own: n > 3,
			From:     text,
			Editing:  crash.BugTemplate{Package: text, ProblemType: text, Body: text},
			Names:    []adminview.TemplateName{{Name: text, Means: text}},
			Problems: []string{text}[:min(n, 1)], Bucket: text, NoBucket: text, Preview: searched.Preview, Notice: text,
		}),
		"review done":       problemsview.ReviewDone(bug, &problem.Status, text),
		"review not found":  bugsview.ReviewFound(bugsview.ReviewSearch{Tracker: text, Words: text, Problem: text}),
		"sign in elsewhere": bugsview.SignInElsewhere(),
		"bug trouble":       bugsview.BugTrouble(text, text, true),
	}
}

func TestEveryComponentIsWellFormed(t *testing.T) {
	t.Parallel()
	for name, data := range map[string]map[string]templ.Component{
		"empty":   components("", 0),
		"typical": components("tidewatch", 3),
		"many":    components("tidewatch", 40),
		"hostile": components(hostile, 10),
		"long":    components(strings.Repeat("żółw ", 4000), 2),
	} {
		for what, c := range data {
			t.Run(name+" "+what, func(t *testing.T) {
				t.Parallel()
				checkHTML(t, viewstest.Render(t, c))
			})
		}
	}
}

func TestNothingHostileGetsThrough(t *testing.T) {
	t.Parallel()
	for what, c := range components(hostile, 10) {
		text := viewstest.Render(t, c)
		for _, bad := range []string{"<script>alert", "<b onmouseover"} {
			if strings.Contains(text, bad) {
				t.Errorf("%s: got %q unescaped", what, bad)
			}
		}
	}
}

var void = []string{"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track",
	"wbr"}

// checkHTML fails the test if tags do not nest, an id occurs twice, a label has no target, or an
// attribute violates the content security policy.
func checkHTML(t *testing.T, text string) {
	t.Helper()
	var open, references []string
	ids := map[string]int{}
	z := html.NewTokenizer(strings.NewReader(text))
	for kind := z.Next(); kind != html.ErrorToken; kind = z.Next() {
		token := z.Token()
		if kind == html.EndTagToken {
			if len(open) == 0 || open[len(open)-1] != token.Data {
				t.Fatalf("got </%s> inside %q, want the innermost element closed first", token.Data, open)
			}
			open = open[:len(open)-1]
		}
		if kind != html.StartTagToken {
			continue
		}
		if !slices.Contains(void, token.Data) {
			open = append(open, token.Data)
		}
		for _, a := range token.Attr {
			switch {
			case a.Key == "id":
				ids[a.Val]++
			case a.Key == "for", a.Key == "aria-labelledby", a.Key == "aria-describedby":
				references = append(references, strings.Fields(a.Val)...)
			case a.Key == "style", strings.HasPrefix(a.Key, "on"), strings.HasPrefix(a.Key, "hx-on"):
				t.Errorf("got attribute %s=%q on <%s>, want no such attribute", a.Key, a.Val, token.Data)
			case strings.HasPrefix(strings.TrimSpace(strings.ToLower(a.Val)), "javascript:"):
				t.Errorf("got a script address in %s of <%s>", a.Key, token.Data)
			}
		}
	}
	if !errors.Is(z.Err(), io.EOF) {
		t.Fatalf("tokenise: %v", z.Err())
	}
	if len(open) > 0 {
		t.Errorf("got %q unclosed, want every element closed", open)
	}
	for id, n := range ids {
		if n > 1 {
			t.Errorf("got id %q %d times, want once", id, n)
		}
	}
	for _, id := range references {
		if ids[id] == 0 {
			t.Errorf("got a reference to id %q, which does not exist", id)
		}
	}
}

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

// forbidden lists what templates must not contain. The content security policy would block most of
// it; the rest belongs in one file.
var forbidden = []struct {
	what    string
	pattern *regexp.Regexp
	allowed string // the one file that may contain it
}{
	{"a script in the page", regexp.MustCompile(`(?i)<script(?:[^>]*[^/])?>\s*[^<\s]`), ""},
	{"a script element", regexp.MustCompile(`(?i)<script`), "shell.templ"},
	{"a style in the page", regexp.MustCompile(`(?i)<style|\sstyle\s*=|\bstyle\?=`), ""},
	{"an event handler", regexp.MustCompile(`(?i)\s(?:hx-)?on[a-z:-]*\s*=`), ""},
	{"an outside address", regexp.MustCompile(`(?i)["'\x60(]\s*(?:https?:)?//[a-z]`), ""},
	{"a form of its own that is sent by POST", regexp.MustCompile(`(?i)method\s*=\s*["']?post`), "common.templ"},
	{"text that is not escaped", regexp.MustCompile(`templ\.Raw\(|templ\.ToGoHTML|templ\.JSUnsafe`), ""},
}

func TestTemplates(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../*/*.templ")
	if err != nil || len(files) < 10 {
		t.Fatalf("templates: got %d (%v), want all of them", len(files), err)
	}
	for _, name := range files {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(content), "\n") {
			for _, f := range forbidden {
				if f.allowed != filepath.Base(name) && f.pattern.MatchString(line) {
					t.Errorf("%s:%d: got %s, want none: %s", name, i+1, f.what, strings.TrimSpace(line))
				}
			}
		}
	}
}

func TestForbiddenPatterns(t *testing.T) {
	t.Parallel()
	for what, line := range map[string]string{
		"a script in the page":                   `<script>alert(1)</script>`,
		"a script element":                       `<script src="/x.js"></script>`,
		"a style in the page":                    `<p style="color: red">`,
		"an event handler":                       `<button onclick={ x }>`,
		"an outside address":                     `<img src="//cdn.example.org/x.png"/>`,
		"a form of its own that is sent by POST": `<form method="POST" action="/">`,
		"text that is not escaped":               `@templ.Raw(x)`,
	} {
		found := false
		for _, f := range forbidden {
			found = found || f.what == what && f.pattern.MatchString(line)
		}
		if !found {
			t.Errorf("%s: got no match of %q, want one", what, line)
		}
	}
}
