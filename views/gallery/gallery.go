// Package gallery shows pages and parts in every state: empty, partial, refused, without
// permission, too long. Developers use it when they change styles, and so does the accessibility
// test. mishap itself does not contain it.
package gallery

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/a-h/templ"

	"mishap/assets"
	"mishap/crash"
	"mishap/crash/grouping"
	"mishap/crash/index"
	"mishap/crash/similar"
	"mishap/crash/stats"
	adminview "mishap/views/admin"
	bugsview "mishap/views/bugs"
	"mishap/views/layout"
	peopleview "mishap/views/people"
	problemsview "mishap/views/problems"
)

type specimen struct {
	name string
	page templ.Component
}

// path returns the address of a page: "/bug-cells" for "Bug cells".
func (s specimen) path() string {
	return "/" + strings.ReplaceAll(strings.ToLower(strings.ReplaceAll(s.name, ",", "")), " ", "-")
}

// Paths returns the addresses of all pages of the gallery.
func Paths() []string {
	paths := []string{"/"}
	for _, s := range specimens() {
		paths = append(paths, s.path())
	}
	return paths
}

// Handler serves the gallery. With an assetsDir (the folder assets/static of a checkout), it
// rereads style sheets on each request.
func Handler(assetsDir string) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET "+assets.Prefix, assets.Handler(assetsDir, nil))
	all := specimens()
	mux.Handle("GET /{$}", templ.Handler(contents(all)))
	for _, s := range all {
		mux.Handle("GET "+s.path(), templ.Handler(s.page))
	}
	return mux
}

var releases = []crash.Release{"Ubuntu 22.04", "Ubuntu 24.04", "Ubuntu 26.04"}

// refinedSearch returns a search within one release.
func refinedSearch() templ.Component {
	page := list(shell("Search", viewer), nil)
	page.Choice.Query, page.Choice.Release = "tidewatch", releases[0]
	page.Facets = []index.Facet{
		{Field: "version", More: 3, Values: []index.FacetValue{{Value: "1.4.9-2", Problems: 12}}},
		{Field: "bug", Values: []index.FacetValue{{Value: "none", Problems: 9}, {Value: "any", Problems: 5}}},
	}
	return problemsview.Search(problemsview.SearchPage{Shell: page.Shell, Query: "tidewatch", List: &page})
}

func list(s layout.Shell, bugs []bugsview.BugPart) problemsview.ListPage {
	page := problemsview.ListPage{
		Rates: problemsview.NewRateChart(nil, stats.Trend{}, nil, crash.Releases(), day(-83), now).Rates(),
		Shell: s, Choice: problemsview.ListChoice{Period: crash.PeriodWeek}, Releases: releases,
		Types:    []string{"Crash", "KernelOops"},
		Machines: []string{"amd64", "arm64"}, First: 1, Size: 50, IngestURL: "http://localhost:8081",
		Tracker: "Launchpad",
		Saved: []crash.SavedSearch{{ID: 1, Name: "SRU watch", Path: "/?period=week", OwnerID: s.User.ID, Shared: true},
			{ID: 2, Name: "Unfiled, more than 5 machines", Path: "/?period=month&state=none",
				Owner: "bob", OwnerID: 99, Shared: true}},
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
		Chart: problemsview.ChartPart(problemsview.NewChart(counts, crash.Releases(), since, until), now),
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
	other := similar.Problem{Bucket: bucket(1), Likely: true,
		Order: similar.Order{Same: 2, Of: 4, Differs: "tide_parse_row_0"}}
	other.SourcePackage = "tide-tools"
	page.Similar = []similar.Problem{other}
	if user.ID == 0 {
		return page
	}
	page.People = people(user)
	twin := grouping.Twin{Bucket: bucket(2), Reason: "tide_parse_row recurs 3 and 5 times; tide_load is missing in one",
		Like: page.Bucket.ID}
	page.Family = problemsview.Family{Bucket: page.Bucket, Head: twin.Bucket, OneKey: true,
		Twins: []grouping.Twin{twin, {Bucket: bucket(1), Reason: "a lambda has the name of tide_load in one",
			Like: twin.ID}},
		MayDecide: user.Role.Allows(crash.RoleTriager)}
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

// watchedFixes returns a fix with each verdict.
func watchedFixes() []stats.FixWatch {
	var all []stats.FixWatch
	for i, c := range []struct{ with, of, seen, after, machines int64 }{{30, 120, 9, 40, 31}, {30, 120, 3, 90, 77},
		{30, 120, 0, 40, 35}, {30, 120, 0, 12, 11}, {30, 120, 0, 5, 4}, {30, 30, 0, 1, 1}, {30, 120, 0, 0, 0}} {
		version := fmt.Sprintf("46.%d-0ubuntu2", i+3)
		seen := []crash.VersionSeen{{Release: releases[1], Version: "46.2-0ubuntu1", Reports: c.with, Last: day(-20)}}
		known := []stats.VersionKnown{{Release: releases[1], Version: "46.2-0ubuntu1", Since: day(-90), Reports: c.of}}
		if c.after > 0 {
			known = append(known, stats.VersionKnown{Release: releases[1], Version: version, Since: day(-12),
				Reports: c.after, Recent: c.after})
		}
		if c.seen > 0 {
			seen = append(seen, crash.VersionSeen{Release: releases[1], Version: version, Reports: c.seen, Last: day(-1)})
		}
		b := bucket(0)
		b.Bug = crash.Bug{}
		b.Reports, b.Systems = c.with+c.seen, c.with+c.seen
		b.Status = stats.Judge(b, seen, stats.ByRelease(known), now)
		manual := stats.JudgeManual([]crash.Mark{{ID: 1, Kind: crash.MarkFixed, At: day(-15),
			Fixes: []crash.FixedIn{{Release: releases[1], Version: version}}}}, seen, now)
		for _, w := range stats.WatchFixes(b, manual, seen, stats.ByRelease(known), now) {
			w.Machines, w.Manual = c.machines, i%2 == 0
			if i == 4 {
				w.Proposed = w.Reports
			}
			all = append(all, w)
		}
	}
	return all
}

// weekly returns a weekly report with n problems in each list.
func weekly(user crash.User, n int) problemsview.WeeklyPage {
	page := problemsview.WeeklyPage{Shell: shell("Weekly report", user), First: day(-6), Last: day(0), Newest: true,
		Scope:   crash.WeeklyScope{Kind: crash.WeeklySet, Name: "desktop-core"},
		Reports: int64(n) * 1411, Before: int64(n) * 1290, Problems: int64(n) * 5, Muted: int64(n / 10)}
	if user.ID == 0 {
		page.Scope = crash.WeeklyScope{Kind: crash.WeeklyAll}
	}
	page.Headline = crash.WeeklyHeadline(func(crash.WeeklyPart) int { return n })
	var days []crash.DayCount
	for i := range 56 {
		for j, release := range releases {
			days = append(days, crash.DayCount{Day: day(i - 55), Release: release, Reports: int64((i*7+j*13)%40) * int64(n)})
		}
	}
	page.Chart = problemsview.NewChart(days, crash.Releases(), day(-55), day(0))
	texts := map[crash.WeeklyPart]string{crash.WeeklyFixed: "Probably fixed in 24.04.",
		crash.WeeklyBack: "Seen again after the fix in 26.04 and 24.04."}
	for _, part := range crash.WeeklyParts {
		list := problemsview.WeeklyPart{Part: part, Count: n}
		for i := range min(n, crash.WeeklyRows) {
			list.Rows = append(list.Rows, problemsview.WeeklyRow{Bucket: bucket(i % 5), Reports: int64(400 - i*30),
				Before: int64(i * 20), Text: texts[part]})
		}
		page.Parts = append(page.Parts, list)
	}
	return page
}

func weeklyUnknown() problemsview.WeeklyPage {
	page := weekly(viewer, 0)
	page.Notice = problemsview.ReadingPackages("desktop-core")
	return page
}

func withFixes() problemsview.ProblemPage {
	page := problem(viewer)
	page.Fixes = problemsview.FixesPart{Fixes: watchedFixes(), List: problemsview.FixesChoice{Package: "tidewatch"}.URL()}
	return page
}

func fixesPage(user crash.User, fixes []stats.FixWatch) problemsview.FixesPage {
	page := problemsview.FixesPage{Shell: shell(problemsview.FixesTitle, user), Counts: map[stats.FixVerdict]int64{}}
	for i, w := range fixes {
		page.Counts[w.Verdict]++
		page.Rows = append(page.Rows, problemsview.WatchedRow{Fix: w, Bucket: bucket(i % 5)})
	}
	page.More = int64(len(fixes) / 100)
	return page
}

// notInFull returns a problem of which few reports are stored in full.
func notInFull() problemsview.ProblemPage {
	page := problem(viewer)
	page.Reports.Bodies = crash.Bodies{Stored: 1000, All: 84_210, Since: now.AddDate(0, 0, -20)}
	page.Reports.Rows = reportList().Rows
	page.Shell.Look.OpenReports = true
	return page
}

// duplicate returns a new problem that may be a duplicate.
func duplicate() problemsview.ProblemPage {
	page := problem(admin)
	page.Bucket.FirstSeen = now.AddDate(0, 0, -1)
	page.Decisions.MayDecide = true
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

func review(search *bugsview.ReviewSearch) bugsview.ReviewPage {
	b := bucket(0)
	cell := bugsview.BugPart{Bucket: b.ID, Signature: b.Signature, State: bugsview.BugCreate, MayFile: true, Review: true}
	if search != nil {
		search.Bug = cell
	}
	return bugsview.ReviewPage{
		Shell: shell("Review", admin), Bug: cell, Heading: b.Title, Source: "tidewatch", Distribution: "ubuntu",
		Tracker: "launchpad.net", Fileable: true, To: launchpadTarget,
		FileAs: bugsview.FilingChoice{Tracker: "launchpad.net", Account: "ada", Broken: true},
		Draft: crash.Draft{Title: b.Title, Description: "tidewatch crashed 4,211 times.", Tags: []string{"noble"},
			Package: "tidewatch"},
		Advice: stats.Advice{Kind: stats.AdviceOneMachine, Text: "One machine only: it may be broken."}, Search: search,
		Unfiled: []similar.Problem{{Bucket: bucket(1), Order: similar.Order{Same: 2, Of: 4, Differs: "tide_load"}}},
	}
}

var launchpadTarget = bugsview.ReviewTarget{Name: "launchpad", Where: "tidewatch in ubuntu", Launchpad: true,
	Tags: true, Private: "only the security team and subscribers", MaxTitle: 200, MaxDescription: 50_000}

// reviewElsewhere returns a review of a bug that goes upstream, with the request that would be sent.
func reviewElsewhere() bugsview.ReviewPage {
	page := review(nil)
	page.Tracker, page.Bug.Upstream = "GNOME", true
	page.To = bugsview.ReviewTarget{Name: "GNOME/mutter in GNOME", Where: "GNOME/mutter in GNOME", Tags: true,
		Private: "only members of the project", MaxTitle: 255, MaxDescription: 200_000,
		Search: "https://gitlab.gnome.org/GNOME/mutter/-/issues?search=tide_parse_row"}
	page.Preview = &bugsview.ReviewPreview{Private: []string{"/home/ada"}}
	page.Request = "POST https://gitlab.gnome.org/api/v4/projects/GNOME%2Fmutter/issues\nPrivate-Token: [secret]\n\n" +
		strings.Repeat(`{"title":"tidewatch crashed"}`, 12) + "\n"
	return page
}

// reviewPublic returns a review of a bug in a tracker without private bugs and tags.
func reviewPublic() bugsview.ReviewPage {
	page := review(nil)
	page.Tracker, page.Suspected = "Debian", "free(): invalid pointer"
	page.To = bugsview.ReviewTarget{Name: "tidewatch in Debian", Where: "tidewatch in Debian", MaxTitle: 200,
		MaxDescription: 100_000}
	return page
}

// upstream returns a problem with a bug of the distribution, in a state of forwarding it to the upstream project.
func upstream(state bugsview.BugState) problemsview.ProblemPage {
	page := trackerAway()
	page.Status.Bugs.Cell.Bug, page.Status.Bugs.Cell.State = page.Status.Bugs.Bugs[0], bugsview.BugLinked
	page.Status.Bugs.Cell.Review, page.Status.Bugs.Tracker = false, "Launchpad"
	if state == bugsview.BugLinked {
		page.Status.Bugs.Bugs = append(page.Status.Bugs.Bugs, crash.Bug{
			Number: crash.NumberAt(1, 12), Place: crash.BugPlace{Tracker: "gnome", Project: "GNOME/mutter", Upstream: true},
			Title: "crash in tide_parse_row", By: "ada", At: now, URL: "https://gitlab.gnome.org/GNOME/mutter/-/issues/12",
			State: crash.BugState{Read: now, BugReading: crash.BugReading{
				Tasks: []crash.BugTask{{Name: "GNOME/mutter", Status: "Closed", Complete: true}},
				Fixes: []crash.BugFix{{Version: "2.4"}}}}})
		return page
	}
	page.Status.Bugs.Upstream = bugsview.BugPart{Bucket: page.Bucket.ID, State: state, Upstream: true, MayFile: true,
		Reason: "GNOME refused: the title is too long.", Where: "GNOME/mutter in GNOME",
		Review: state == bugsview.BugCreate || state == bugsview.BugRefused}
	return page
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

// now is the time at which the gallery is viewed.
var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

var (
	admin   = crash.User{ID: 1, Name: "ada", Role: crash.RoleAdmin}
	viewer  = crash.User{ID: 2, Name: "vera", Role: crash.RoleViewer, HasPassword: true}
	visitor = crash.User{}
)

func shell(title string, user crash.User) layout.Shell {
	return layout.Shell{Title: title, User: user, CSRFToken: "token", Path: "/", FilingOn: true, Now: now}
}

func specimens() []specimen {
	withFlashes := shell("", admin)
	withFlashes.Flash = []layout.Flash{
		{Kind: layout.FlashDone, Text: bugsview.BugUnlinked("2101233"), Undo: &layout.Undo{Action: "/", Field: "bug",
			Value: "2101233"}},
		{Kind: layout.FlashError, Text: "Launchpad did not answer. Try again in a minute."},
	}
	withFlashes.Banner = layout.Banner{
		Text: bugsview.BannerRejected("Launchpad"), Href: "/admin/tracker", Link: "Connect",
	}
	lists := []specimen{
		{"List, empty", problemsview.List(list(shell("", visitor), nil))},
		{"List, nothing found", problemsview.List(nothingFound())},
		{"List for visitors", problemsview.List(list(shell("", visitor), bugStates(visitor)))},
		{"List, every state, with messages", problemsview.List(list(withFlashes, bugStates(admin)))},
		{"List, not all known yet", problemsview.List(partial())},
		{"Saved searches", problemsview.Saved(problemsview.SavedPage{Shell: shell("Saved searches", admin), MayShare: true,
			Searches: list(shell("", admin), nil).Saved})},
		{"Saved searches, none", problemsview.Saved(problemsview.SavedPage{Shell: shell("Saved searches", viewer)})},
		{"Bug cells", bugCells(bugStates(admin))},
		{"Problem for visitors", problemsview.Problem(problem(visitor))},
		{"Problem", problemsview.Problem(problem(viewer))},
		{"Problem, all verdicts about fixes", problemsview.Problem(withFixes())},
		{"Weekly report", problemsview.Weekly(weekly(viewer, 14))},
		{"Weekly report for visitors", problemsview.Weekly(weekly(visitor, 3))},
		{"Weekly report, nothing", problemsview.Weekly(weekly(viewer, 0))},
		{"Weekly report, packages not known yet", problemsview.Weekly(weeklyUnknown())},
		{"Fix watch", problemsview.Fixes(fixesPage(visitor, watchedFixes()))},
		{"Fix watch, too much", problemsview.Fixes(fixesPage(viewer, slices.Repeat(watchedFixes(), 30)))},
		{"Fix watch, nothing", problemsview.Fixes(fixesPage(viewer, nil))},
		{"Problem, assigned in the tracker", problemsview.Problem(assigned())},
		{"List, assigned and tagged", problemsview.List(assignedList())},
		{"Assign problems", problemsview.Assign(assign())},
		{"Problem, without names", problemsview.Problem(nameless(false))},
		{"Problem, core asked for", problemsview.Problem(nameless(true))},
		{"Problem, too much", problemsview.Problem(hugeProblem())},
		{"Problem, possible duplicate", problemsview.Problem(duplicate())},
		{"Problem, few reports in full", problemsview.Problem(notInFull())},
		{"Problem, tracker unavailable", problemsview.Problem(trackerAway())},
		{"Review, searching the tracker", bugsview.Review(review(nil))},
		{"Review, tracker unavailable",
			bugsview.Review(review(&bugsview.ReviewSearch{Tracker: "Launchpad",
				Problem: "It did not answer within 4 seconds."}))},
		{"Review, upstream, with the request", bugsview.Review(reviewElsewhere())},
		{"Review, everyone sees bugs", bugsview.Review(reviewPublic())},
		{"Problem, to be forwarded upstream", problemsview.Problem(upstream(bugsview.BugCreate))},
		{"Problem, being forwarded upstream", problemsview.Problem(upstream(bugsview.BugChecking))},
		{"Problem, not forwarded upstream", problemsview.Problem(upstream(bugsview.BugRefused))},
		{"Problem, bug upstream", problemsview.Problem(upstream(bugsview.BugLinked))},
		{"Review, found, mistakes", bugsview.Review(refusedReview())},
		{"Search, help", problemsview.Search(problemsview.SearchPage{Shell: shell("Search", visitor)})},
		{"Search, refined", refinedSearch()},
		{"Search, mistake", problemsview.Search(problemsview.SearchPage{Shell: shell("Search", visitor), Query: "colour:red",
			Problem: &index.QueryError{
				Length: 6, Message: "There is no field named colour."}})},
		{"Keys and words", problemsview.Keys(shell(problemsview.KeysTitle, visitor))},
		{"Error, not signed in", layout.ErrorPage(shell("Error", visitor),
			layout.ErrorView{Status: 401, Message: "Reports are for people with an account.", SignIn: true})},
		{"Error, no permission", layout.ErrorPage(shell("Error", viewer),
			layout.ErrorView{Status: 403, Message: "This needs the role admin; yours is viewer. Ask an admin."})},
		{"Error, not found", layout.ErrorPage(shell("Error", visitor),
			layout.ErrorView{Status: 404, Message: "There is no page at this address."})},
		{"Error, database unavailable", layout.ErrorPage(shell("Error", visitor),
			layout.ErrorView{Status: 503, Message: "The database cannot be reached.", RequestID: "B5Z6BTVSNBPIG2Y6"})},
		{"Sign in", peopleview.SignInPage(shell("Sign in", visitor),
			peopleview.SignInForm{Name: "ada", Problem: "Wrong name or password. Check both, and whether Caps Lock is on."})},
		{"Sign in elsewhere", peopleview.SignInPage(shell("Sign in", visitor),
			peopleview.SignInForm{Problem: "You have cancelled " +
				"signing in.",
				Methods: []peopleview.SignInMethod{{Path: "/login/openid", Name: "Launchpad"},
					{Path: "/login/oidc", Name: "id.example.com"}}})},
		{"Send again", layout.Resume(shell("Send again?", viewer), "/problem/x/notes", url.Values{"text": {"What I wrote"}})},
		{"Sign in, password folded", peopleview.SignInPage(shell("Sign in", visitor),
			peopleview.SignInForm{Local: crash.LocalHidden,
				Methods: []peopleview.SignInMethod{{Path: "/login/oidc", Name: "id.example.com"}}})},
		{"Sign in, password off", peopleview.SignInPage(shell("Sign in", visitor),
			peopleview.SignInForm{Local: crash.LocalOff,
				Problem: "Signing in with a name and password is switched off here.",
				Methods: []peopleview.SignInMethod{{Path: "/login/oidc", Name: "id.example.com"}}})},
		{"Leaving to sign in", peopleview.LeavePage(shell("Sign in", visitor), "Launchpad",
			"https://login.launchpad.net/+openid")},
		{"People", adminview.People(peoplePage())},
		{"Service account", peopleview.Service(service(admin))},
		{"Service account, new token, of one's team", peopleview.Service(service(viewer))},
		{"API tokens of all", adminview.AllTokens(allTokens())},
		{"API tokens of all, none", adminview.AllTokens(adminview.AllTokensPage{Shell: shell("API tokens", admin)})},
		{"Audit log", adminview.Audit(auditLog())},
		{"Audit log, none", adminview.Audit(adminview.AuditPage{Shell: shell("Audit log", admin),
			Problem: "“x” is not a day."})},
		{"People, none", adminview.People(adminview.PeoplePage{Shell: shell("People", admin)})},
		{"Account without a role",
			peopleview.Account(peopleview.AccountPage{Shell: shell("Your account", crash.User{ID: 4, Name: "noel"}),
				Identities: []crash.StoredIdentity{{GroupsRead: now, Identity: crash.Identity{Source: crash.SourceLaunchpad,
					Subject: "https://login.launchpad.net/+id/abc123", Name: "noel"}}}})},
		{"Doors", adminview.Doors(doorsPage())},
		{"Doors, no project, mistake", adminview.Doors(adminview.DoorsPage{Shell: shell("Doors", admin), Days: 7,
			Address: "http://localhost:8081", Problem: "There is a project with this name already.",
			New: crash.Project{Name: "harbor", Source: "harbor-sync"}})},
		{"Where bugs go", adminview.Routes(routesPage())},
		{"Where bugs go, none", adminview.Routes(adminview.RoutesPage{Shell: shell("Where bugs go", admin),
			Trackers: routeTrackers()[:1], Editing: true})},
		{"Where bugs go, many, mistake in a file", adminview.Routes(manyRoutes())},
		{"Trackers", adminview.Tracker(severalTrackers(true))},
		{"Trackers without Launchpad", adminview.Tracker(severalTrackers(false))},
		{"Tracker, not connected", adminview.Tracker(trackerPage(bugsview.TrackerPage{}, false))},
	}
	return slices.Concat(lists, things(), compared(), decided(), gates(), healthOf(), embargoes(), triageForms(),
		notices(),
		ruleStates())
}

func bucket(i int) crash.Bucket {
	signature := fmt.Sprintf("/usr/bin/tidewatch:11:tide_parse_row_%d:tide_load:on_open_clicked:main", i)
	return crash.Bucket{
		ID: crash.BucketIDOf(signature), Signature: signature, Rule: crash.RuleStacktrace, ProblemType: "Crash",
		Executable: "/usr/bin/tidewatch",
		Title:      fmt.Sprintf("tidewatch crashed with SIGSEGV in tide_parse_row_%d()", i), Package: "tidewatch",
		SourcePackage: "tidewatch",
		Reports:       int64(4211 / (i + 1)), Systems: int64(1902 / (i + 1)), FirstSeen: now.AddDate(0, -2, 0),
		LastSeen:         now.Add(-3 * time.Minute),
		FirstSeenVersion: "46.3-0ubuntu1", FirstSeenRelease: "Ubuntu 24.04", LastSeenVersion: "46.2-0ubuntu1",
		LastSeenRelease: "Ubuntu 24.04",
		LowestVersion:   "46.2-0ubuntu1", HighestVersion: "46.4-0ubuntu2",
		HighestVersionRelease: "Ubuntu 26.04",
	}
}

// bugStates returns bug cells in every state, as this person sees them.
func bugStates(user crash.User) []bugsview.BugPart {
	linked := crash.Bug{Number: 2101233, Title: "tidewatch crashes", URL: "https://bugs.launchpad.net/bugs/2101233",
		By: "ada", At: now}
	reasons := map[bugsview.BugState]string{
		bugsview.BugImpossible: "No source package is known.", bugsview.BugWaiting: "The tracker cannot be reached.",
		bugsview.BugRefused: "The tracker said: title is too long.",
	}
	var all []bugsview.BugPart
	add := func(p bugsview.BugPart) {
		b := bucket(len(all))
		p.Bucket, p.Signature, p.Next = b.ID, b.Signature, b.ID.Path()
		p.MayFile = user.Role.Allows(crash.RoleTriager)
		p.Review = p.MayFile && p.State == bugsview.BugCreate
		all = append(all, p)
	}
	if user.ID == 0 {
		add(bugsview.BugPart{State: bugsview.BugSignIn})
		add(bugsview.BugPart{State: bugsview.BugLinked, Bug: linked})
		return all
	}
	for _, state := range []bugsview.BugState{
		bugsview.BugNothing, bugsview.BugCreate, bugsview.BugImpossible, bugsview.BugCreating, bugsview.BugChecking,
		bugsview.BugWaiting,
		bugsview.BugRefused,
	} {
		add(bugsview.BugPart{State: state, Reason: reasons[state]})
	}
	for _, word := range []crash.StateWord{crash.StateOpen, crash.StateDisappeared, crash.StateFixed,
		crash.StateRegression, crash.StatePrivate} {
		add(bugsview.BugPart{State: bugsview.BugLinked, Bug: linked, Status: crash.Status{Word: word, Read: now}})
	}
	return all
}

// stateName returns the name of a cell's state. People who may not file see none.
func stateName(p bugsview.BugPart) string {
	if p.State == bugsview.BugNothing {
		return "nothing"
	}
	return strings.TrimSpace(string(p.State) + " " + string(p.Status.Word))
}
