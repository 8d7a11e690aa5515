package views_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"
	"golang.org/x/net/html"

	"mishap/crash"
	"mishap/crash/grouping"
	"mishap/crash/index"
	"mishap/crash/stats"
	"mishap/views"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// hostile is text that breaks out of every unescaped context.
const hostile = `"'><script>alert(1)</script><b onmouseover=alert(1) style="x">&amp; % %zz
	http://evil.example/ ${x} 漢字 \u0000 </title></textarea><!--`

// components returns all components, filled with text.
func components(text string, n int) map[string]templ.Component {
	signature := "/usr/bin/" + text + ":11:" + strings.Repeat(text+":", n)
	shell := views.Shell{
		Title: text, User: crash.User{ID: 1, Name: text, Role: crash.RoleAdmin}, CSRFToken: text, Path: "/x?y=" + text,
		Flash: []views.Flash{{Kind: views.FlashError, Text: text, Undo: &views.Undo{Action: "/x/relink", Field: "bug",
			Value: text, CSRFToken: text}}}, FilingOn: true, Now: now,
	}
	visitor := shell
	visitor.User = crash.User{}
	bucket := crash.Bucket{
		ID: crash.BucketIDOf(signature), Signature: signature, Rule: crash.RuleAddress, Provisional: true, ProblemType: text,
		Title: text, Executable: text, Package: text, SourcePackage: text + "-src", Reports: 41300, Systems: 1,
		FirstSeen: now.AddDate(0, -2, 0), LastSeen: now, FirstSeenVersion: text, FirstSeenRelease: crash.Release(text),
		LastSeenVersion: text, LastSeenRelease: "Ubuntu 24.04", LowestVersion: text, HighestVersion: text,
		LowestVersionRelease: crash.Release(text), HighestVersionRelease: "Ubuntu 24.04",
	}
	bug := views.BugPart{Bucket: bucket.ID, Signature: signature, State: views.BugRefused, Reason: text, MayFile: true,
		CSRFToken: text, Next: text}
	summary := crash.Summary{
		ProblemType: text, Title: text, Executable: text, Package: text, Version: text, Release: crash.Release(text),
		Architecture: text, Proposed: true,
	}
	list := views.ListPage{
		Shell: shell, Choice: views.ListChoice{
			Period: crash.PeriodWeek, Filter: index.Filter{Release: crash.Release(text), Package: text},
		},
		Releases: []crash.Release{crash.Release(text), "Ubuntu 24.04"}, First: 51, Size: 50, Next: "/?after=" + text,
		IngestURL: text, Rates: views.RateChart{Since: now, Until: now}.Rates(),
	}
	endpoint := crash.Endpoint{ID: 1, Name: text, Kind: crash.EndpointMatrix, Host: text, Channel: text, OwnerName: text,
		Disabled: now, DisabledWhy: text, LastFailure: now, FailureAnswer: text, Failures: 1}
	endpointForm := views.EndpointForm{Name: text, Address: text, Channel: text, Secret: text, PerMinute: text,
		Owners: []crash.User{shell.User}, Wrong: map[string]string{"name": text, "address": text, "owner": text}}
	delivery := crash.Delivery{ID: "x", Event: crash.Event{Title: text, Text: text, Kind: crash.EventMany}, Payload: text,
		Summary: "y", State: crash.DeliveryState(text)}
	reports := views.ReportList{ID: "reports", Now: now, Next: "/?after=" + text, First: "/", Empty: text}
	var days []crash.DayCount
	var versions []crash.VersionCount
	fields := crash.Fields{}
	for i := range n {
		row := bucket
		row.ID[0] = byte(i)
		rowBug := bug
		rowBug.Bucket = row.ID
		list.Rows = append(list.Rows, views.ListRow{Problem: &crash.Problem{Bucket: &row, Count: int64(n - i)},
			First: row.First(), Last: row.Last(), Bug: rowBug})
		reports.Rows = append(reports.Rows, crash.ReportRow{
			ID: crash.NewOopsID(now), Summary: summary, System: crash.SystemID(text), Occurred: now, Bucket: &bucket.ID,
		}, crash.ReportRow{ID: crash.NewOopsID(now), Unbucketed: text})
		release := crash.Release(fmt.Sprint(text, i%9))
		days = append(days, crash.DayCount{Day: now.AddDate(0, 0, -i), Release: release, Reports: int64(i + 1)})
		versions = append(versions, crash.VersionCount{Version: fmt.Sprint(text, i), Release: release, Reports: int64(i + 1)})
		fields[fmt.Sprint("Key", i, text)] = strings.Repeat(text+"\n", i*5)
		fields["Stacktrace"], fields["Traceback"] = text, text
	}
	machine := reports
	reports.Choice = &views.ReportChoice{Path: "/x", Facet: "kernel", Value: text}

	since, until := views.ChartSpan(bucket.FirstSeen, now)
	report := crash.StoredReport{
		ReportRow: crash.ReportRow{ID: crash.NewOopsID(now), Summary: summary, System: crash.SystemID(text), Occurred: now,
			Unbucketed: text},
		Fields: fields,
	}
	bug.Status = crash.Status{Word: crash.StateRegression, Tracker: text, Read: now}
	for i := range n {
		bug.Status.Releases = append(bug.Status.Releases, crash.ReleaseStatus{
			Release: crash.Release(fmt.Sprint(text, i)), Word: crash.StateRegression, Reports: 1, Week: 1, Last: now,
			Highest: text, Fix: text, AgainAt: text, Again: 1,
		})
	}
	known := crash.BugState{
		BugReading: crash.BugReading{Number: 7, Title: text,
			Tasks: []crash.BugTask{{Name: text, Status: text, Importance: text, Assignee: text, Milestone: text}}},
		Read: now, Failure: text,
	}
	bugs := views.BugsView{
		Bucket: bucket.ID, Cell: bug, MayLink: n > 0, SignedIn: true, Now: now, CSRFToken: text,
		Bugs: []crash.Bug{{Number: 7, Title: text, URL: text, By: text, At: now, State: known, Master: &known,
			MasterURL: text}},
	}
	why := views.GroupingView{
		Rule: crash.Rule(text), Signature: signature, Address: "https://crashes.example.org" + bucket.ID.Path(),
		Report: crash.NewOopsID(now),
		Now:    &views.PresentGrouping{Bucket: bucket.ID, Known: n > 0, Rules: 1}, Explained: &grouping.Explanation{
			Field: text, Frames: []grouping.FrameUse{{Text: text, Used: true, As: signature}, {Text: signature, Why: text}},
			Changes: []grouping.Change{{From: text, To: signature}},
		},
	}
	problem := views.ProblemPage{
		Shell: shell, Bucket: bucket, First: bucket.First(), Last: bucket.Last(), Status: views.StatusView{Status: bug.Status,
			Bugs: bugs, Now: now}, Grouping: why,
		Chart:    views.ChartPart(views.NewChart(days, crash.BuiltInReleases(), since, until), shell.Now),
		Versions: views.NewVersionTable(versions), Stack: views.NewStack(report), Reports: &reports,
	}
	forVisitors := problem
	forVisitors.Shell, forVisitors.Stack, forVisitors.Reports = visitor, nil, nil
	forVisitors.Grouping.Explained, forVisitors.Grouping.Now = nil, nil
	bucketed := views.ReportPage{Shell: shell, Report: report, Core: 1 << 20,
		Pager: views.Pager{Via: "/search?q=" + url.QueryEscape(text), List: text, Chosen: text, Previous: "/oops/1",
			Next: "/oops/2", Place: n, Of: n}}
	bucketed.Report.Bucket, bucketed.Grouping = &bucket.ID, views.GroupingView{Rule: why.Rule, Explained: why.Explained,
		Now: &views.PresentGrouping{None: true}}
	story := views.NewMachineStory(machine.Rows, true, now)
	found := crash.FoundBug{Number: 7, Title: text, Status: text, Fixed: text, URL: text}
	linked := bucket
	linked.Bug = crash.Bug{Number: 8, Title: text, URL: text}
	reviewable := bug
	reviewable.Review = true
	review := views.ReviewPage{
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
	searched.Search = &views.ReviewSearch{Bug: bug, Tracker: text, Words: text, Where: text, Bugs: []crash.FoundBug{found}}
	searched.Preview = &views.ReviewPreview{Draft: review.Draft, Target: text, Marker: text, Private: []string{text}}
	visited := list
	visited.Shell, visited.First, visited.Choice = visitor, 1, views.ListChoice{Period: crash.PeriodDay}
	symbolsPage := views.SymbolsPage{Shell: shell, MissingSize: 5, MissingTotal: int64(2 * n), QueueSize: 5,
		QueueMore: n > 3, MissingFrom: n, QueueFrom: n, State: crash.SymbolsWaiting}
	for i := range n {
		symbolsPage.Workers = append(symbolsPage.Workers, crash.SymbolWorker{Problem: text, Seen: now})
		for _, kind := range []crash.MissingKind{crash.MissingProgram, crash.MissingDebugFile, crash.MissingBuild} {
			symbolsPage.Missing = append(symbolsPage.Missing, crash.MissingSymbol{Kind: kind, Path: "/" + text, BuildID: text,
				Package: text, Version: text, Architecture: text, Reports: 1,
				Searched: []crash.SymbolAttempt{{Source: text, Outcome: text, Detail: text}}})
		}
		symbolsPage.Queue = append(symbolsPage.Queue, crash.SymbolQueueRow{Report: crash.NewOopsID(now), Title: text,
			Problem: bucket.ID, State: crash.SymbolsWaiting, Reason: text, Architecture: text, Core: i > 1, Created: now,
			NotBefore: now, PressedBy: text})
	}
	return map[string]templ.Component{
		"symbols": views.SymbolsAdmin(symbolsPage),
		"endpoints": views.Endpoints(views.EndpointsPage{Shell: shell,
			Stop: crash.NotificationStop{Stopped: now, Person: text}, Endpoints: []crash.Endpoint{endpoint}}),
		"no endpoints": views.Endpoints(views.EndpointsPage{Shell: shell}),
		"new endpoint": views.NewEndpoint(views.EndpointPage{Shell: shell, Endpoint: crash.Endpoint{Kind: endpoint.Kind},
			Form: endpointForm}),
		"endpoint": views.Endpoint(views.EndpointPage{Shell: shell, Endpoint: endpoint, Form: endpointForm, Secret: text,
			Test: &views.EndpointTest{Problem: text, Answer: text}, Deliveries: []crash.Delivery{delivery}, Next: "/?" + text}),
		"delivery": views.Delivery(views.DeliveryPage{Shell: shell, Endpoint: endpoint, Type: text, Delivery: delivery,
			Attempts: []crash.DeliveryAttempt{{Started: now, Ended: now, Status: 500, Answer: text, Problem: text}}}),
		"symbols of a problem": views.SymbolsPart(&views.SymbolsView{
			Job: crash.SymbolJob{State: crash.SymbolsFailed, Reason: text}, MayPress: true, CSRFToken: text,
			Core: &views.CoreView{Path: views.CorePath(bucket.ID), MayAsk: n > 3, WhyNot: text[:min(len(text), n)],
				Wanted: crash.WantedCore{Person: text[:min(len(text), n%3)], Asked: now}},
		}),
		"list":              views.List(list),
		"list for visitors": views.List(visited),
		"problem":           views.Problem(problem),
		"problem, visitors": views.Problem(forVisitors),
		"report":            views.Report(views.ReportPage{Shell: shell, Report: report}),
		"report in bucket":  views.Report(bucketed),
		"machine": views.System(views.SystemPage{Shell: shell, System: crash.SystemID(text), Story: &story,
			Reports: machine}),
		"error": views.ErrorPage(visitor, views.ErrorView{Status: 404, Message: text, RequestID: text,
			SignIn: true}),
		"sign in": views.SignInPage(visitor, views.SignInForm{Name: text, Problem: text, Next: text}),
		"sign in at other sites": views.SignInPage(visitor, views.SignInForm{Name: text, Problem: text, Next: text,
			SavedForm: text,
			Methods:   []views.SignInMethod{{Path: "/login/openid", Name: text}, {Path: "/login/oidc", Name: text}}}),
		"leave": views.LeavePage(visitor, text, "https://login.example/?q="+url.QueryEscape(text)),
		"roles": views.Access(views.AccessPage{Shell: shell, Search: text, More: true, Everyone: crash.RoleViewer,
			Form:   views.GrantForm{Grant: crash.Grant{Group: text}, Problem: text},
			Grants: []crash.Grant{{Source: crash.SourceOIDC, Group: text, Role: crash.RoleAdmin, By: text, Created: now}},
			People: []crash.PersonAccess{{User: crash.User{Name: text, Disabled: true},
				Identities: []crash.StoredIdentity{{Identity: crash.Identity{Source: crash.SourceOIDC, Subject: text}}},
				Reasons:    []crash.RoleReason{{Role: crash.RoleAdmin, Source: crash.SourceOIDC, Group: text}}}}}),
		"account without a role": views.Account(views.AccountPage{
			Shell: views.Shell{Title: text, User: crash.User{ID: 1, Name: text}, Now: now},
			Identities: []crash.StoredIdentity{{GroupsRead: now, Identity: crash.Identity{Source: crash.SourceLaunchpad,
				Subject: text, Name: text, Groups: []string{text}}}},
			Reasons: []crash.RoleReason{{Role: crash.RoleAdmin, Source: crash.SourceOIDC, Group: text}}}),
		"bugs": views.StatusPart(problem.Status),
		"link a bug": views.LinkBug(views.LinkPage{Shell: shell, Bucket: bucket, BugLookup: views.BugLookup{
			Text: text, Problem: text, Number: 7,
			Found: crash.BugReading{Title: text, DuplicateOf: 8, Tasks: known.Tasks}}}),
		"link all the same": views.LinkBug(views.LinkPage{Shell: shell, Bucket: bucket,
			BugLookup: views.BugLookup{Text: text, Number: 7, Warning: text}}),
		"problems of a bug": views.BugProblems(views.BugProblemsPage{Shell: shell, Number: 7,
			Buckets: []crash.Bucket{bucket, linked}}),
		"review":           views.Review(review),
		"review, searched": views.Review(searched),
		"texts of bugs": views.Templates(views.TemplatesPage{
			Shell: shell, Saved: []crash.BugTemplate{{Package: text, Body: text, By: text, Changed: now}}, Own: n > 3,
			From:     text,
			Editing:  crash.BugTemplate{Package: text, ProblemType: text, Body: text},
			Names:    []views.TemplateName{{Name: text, Means: text}},
			Problems: []string{text}[:min(n, 1)], Bucket: text, NoBucket: text, Preview: searched.Preview, Notice: text,
		}),
		"review done":       views.ReviewDone(bug, &problem.Status, text),
		"review not found":  views.ReviewFound(views.ReviewSearch{Tracker: text, Words: text, Problem: text}),
		"sign in elsewhere": views.SignInElsewhere(),
		"bug trouble":       views.BugTrouble(text, text, true),
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
				checkHTML(t, render(t, c))
			})
		}
	}
}

func TestNothingHostileGetsThrough(t *testing.T) {
	t.Parallel()
	for what, c := range components(hostile, 10) {
		text := render(t, c)
		for _, bad := range []string{"<script>alert", "<b onmouseover"} {
			if strings.Contains(text, bad) {
				t.Errorf("%s: got %q unescaped", what, bad)
			}
		}
	}
}

func render(t *testing.T, c templ.Component) string {
	t.Helper()
	var b bytes.Buffer
	if err := c.Render(t.Context(), &b); err != nil {
		t.Fatalf("render: %v", err)
	}
	return b.String()
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
