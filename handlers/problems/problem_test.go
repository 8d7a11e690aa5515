package problems_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/chromedp/chromedp"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/crash/grouping"
	"mishap/crash/intake"
	"mishap/db/dbtest"
	"mishap/handlers/handlertest"
)

func TestShowProblem(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	p.Several(3, crashtest.Native)
	p.Several(2, crashtest.Native, crashtest.On("Ubuntu 22.04"), crashtest.Version("1.4.10-1"),
		crashtest.At(handlertest.Today.AddDate(0, 0, -40)))
	id := handlertest.BucketOf(t, crashtest.Native())
	for _, role := range handlertest.Roles {
		a := p.As(t, role).Get(id.Path()).Want(http.StatusOK)
		a.WantText("title", "tidewatch crashed with SIGSEGV in tide_parse_row()")
		a.WantText("h1", "tidewatch crashed with SIGSEGV in tide_parse_row()")
		a.WantText(".signature", "tidewatch SIGSEGV tide_parse_row → tide_load → on_open_clicked")
		a.WantText(".figures", "reports (all time) 5 machines (all time) 5")
		a.WantText(".problem-facts", "tidewatch").WantText(".problem-facts", "/usr/bin/tidewatch")
		a.WantText(".grouping", "same functions on top of the stack")
		a.WantText(".grouping pre", grouping.SignatureOf(crashtest.Native().Fields()).Signature)
		a.WantText(".address", p.URL+id.Path())
		a.WantText(".versions thead", "Version Last seen 24.04 22.04 All")
		a.WantText(".versions tbody tr:nth-child(2)", "1.4.10-1 10 Apr · 2 2")
		a.WantText(".versions tbody tr:nth-child(1)", "1.4.9-2 18 May 3 · 3")
		a.WantText(".versions tfoot", "all versions 3 2 5")
		a.WantText(".chart-table tbody tr:nth-child(1)", "2026-05-18 3 · 3")
		a.WantText(".chart-table tbody tr:nth-child(2)", "2026-04-10 · 2 2")
		checktest.Equal(t, "bars", a.HTML().Find(".chart-plot rect").Length(), 2)
		if role == crash.RoleNone {
			handlertest.WantNothingPrivate(t, a)
			a.WantText(".stack", "Sign in to see all, with files and lines").WantText(".reports", "Sign in to see the reports")
			checktest.Equal(t, "sign-in link", a.Attr(".stack a", "href"), "/login?next=%2Fproblem%2F"+id.String())
			continue
		}
		a.WantText(".frame-table tbody tr:nth-child(1)", "0 tide_parse_row tidewatch parse.c:88").WantText(".stack pre",
			"../src/parse.c:88")
		checktest.Equal(t, "reports: rows", a.HTML().Find(".reports tbody tr").Length(), 5)
	}
}

// TestUnknownMachines checks that no number of machines is stated of reports that name none.
func TestUnknownMachines(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	p.SaveFrom(t, "", crashtest.Native())
	id := handlertest.BucketOf(t, crashtest.Native())
	p.Visitor(t).Get(id.Path()).Want(http.StatusOK).WantText(".figures", "machines (all time) unknown")
	p.SaveFrom(t, "one", crashtest.Native())
	p.Visitor(t).Get(id.Path()).Want(http.StatusOK).WantText(".figures", "machine (all time) 1")
}

func TestShowProblemHidesReportsFromVisitors(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	for name, build := range map[string]func(...crashtest.Option) crashtest.Report{
		"Python": crashtest.Python, "unsymbolised": crashtest.Unsymbolised, "recoverable": crashtest.Recoverable,
		"oops": crashtest.Oops,
	} {
		p.Several(1, build)
		a := p.Visitor(t).Get(handlertest.BucketOf(t, build()).Path()).Want(http.StatusOK)
		handlertest.WantNothingPrivate(t, a)
		if strings.Contains(a.Body, "invalid literal") {
			t.Errorf("%s: got the message of the exception, want it hidden from visitors", name)
		}
	}
	id := handlertest.BucketOf(t, crashtest.Python())
	p.Visitor(t).Part(id.Path()).Want(http.StatusUnauthorized).WantNone("table")
	p.As(t, crash.RoleViewer).Get(id.Path()).Want(http.StatusOK).WantText("h1", "invalid literal").
		WantText(".frame-table tbody tr:nth-child(3)", "2 load io.py:77 return int(s)").WantText(".exception",
		"ValueError: invalid literal").
		WantText(".stack pre", "Traceback (most recent call last)")
}

func TestShowProblemPagesOfReports(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	p.Several(55, crashtest.Native)
	id := handlertest.BucketOf(t, crashtest.Native())
	c := p.As(t, crash.RoleViewer)
	first := c.Get(id.Path()).Want(http.StatusOK)
	next := first.Attr("#reports .paging a", "hx-get")
	checktest.Equal(t, "link without scripts", first.Attr("#reports .paging a", "href"), next+"#reports")
	page, part := c.Get(next).Want(http.StatusOK), c.Part(next).Want(http.StatusOK)
	for what, a := range map[string]*handlertest.Answer{"page": page, "part": part} {
		checktest.Equal(t, what+": rows", a.HTML().Find("#reports tbody tr").Length(), 5)
		checktest.Equal(t, what+": link to newer reports", a.Attr("#reports .paging a", "href"),
			id.Path()+"#reports")
	}
	page.WantText("h1", "tidewatch")
	part.WantNone("h1, header")
	c.Get(id.Path() + "?after=nonsense").Want(http.StatusBadRequest)
	c.Get(id.Path()+"?after="+crash.OopsID{7: 1}.String()).Want(http.StatusOK).WantText("#reports",
		"There are no older reports.")
}

func TestShowProblemManyVersions(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	for i := range 20 {
		p.Several(1, crashtest.Native, crashtest.Version(fmt.Sprintf("1.%d-1", i)))
	}
	id := handlertest.BucketOf(t, crashtest.Native())
	a := p.Visitor(t).Get(id.Path()).Want(http.StatusOK)
	a.WantText(".versions tbody tr:first-child", "1.19-1 highest").WantText(".versions .paging", "5 older versions")
	checktest.Equal(t, "versions: rows", a.HTML().Find(".versions tbody tr").Length(), 15)
	a = p.Visitor(t).Get(id.Path() + "?versions=all").Want(http.StatusOK)
	a.WantText(".versions tbody tr:last-child", "1.0-1 first").WantText(".versions .paging", "Show fewer versions")
}

// TestShowOddProblems shows hostile problems, one that is not counted, and none.
func TestShowOddProblems(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	c := p.As(t, crash.RoleTriager)
	for name, build := range map[string]func(...crashtest.Option) crashtest.Report{
		"markup": crashtest.Markup, "long": crashtest.Long, "Unicode": crashtest.Unicode, "newlines": crashtest.Package,
		"escapes": func(o ...crashtest.Option) crashtest.Report {
			return crashtest.Recoverable(append(o, crashtest.Set("DuplicateSignature", "\n 100% %41 %zz\n\n\tend "))...)
		},
	} {
		p.Several(1, build)
		report := build()
		a := c.Get(handlertest.BucketOf(t, report).Path()).Want(http.StatusOK)
		handlertest.WantNoMarkup(t, a)
		checktest.Equal(t, name+": signature on the page", a.HTML().Find(".grouping pre").Text(),
			grouping.SignatureOf(report.Fields()).Signature)
	}
	p.Accept("deadbeef-1", crashtest.Native())
	a := c.Get(handlertest.BucketOf(t, crashtest.Native()).Path()).Want(http.StatusOK)
	a.WantText(".figures", "reports (all time) 0").WantText(".problem-facts", "First seen never").WantText(".chart",
		"No counted reports")
	if got := a.HTML().Find(".reports tbody tr").Length(); got != 1 {
		t.Errorf("reports: got %d rows, want the report of the test machine", got)
	}
	for _, path := range []string{"/problem/" + sha1Text, "/problem/xyz", "/problem/" + sha1Text + "00", "/problem/%00"} {
		c.Get(path).Want(http.StatusNotFound).WantText("[role=alert]", "There is no such problem.")
	}
	id := handlertest.BucketOf(t, crashtest.Native())
	c.Get("/problem/"+strings.ToUpper(id.String())).Want(http.StatusOK).WantText("h1", "tidewatch")
}

// TestShowProblemVersions checks in which versions a problem begins and ends.
func TestShowProblemVersions(t *testing.T) {
	t.Parallel()
	links, err := grouping.ParseLinkTemplates("Ubuntu https://archive.example/{source}/{version}/{file}#{line}")
	if err != nil {
		t.Fatal(err)
	}
	p := handlertest.NewPagesIn(t, handlertest.Options{Store: dbtest.OpenAt(t, dbtest.URL(t), handlertest.Today),
		SourceLinks:  links,
		VersionLinks: links})
	p.Several(1, crashtest.Assertion, crashtest.Set("Package", "tidewatch 1.4.1-1"))
	p.Several(3, crashtest.Native)
	b := p.Save(t, crashtest.Native())
	a := p.As(t, crash.RoleViewer).Get(b.ID.Path()).Want(http.StatusOK)
	a.WantText(".status-text", "new Open in 24.04").WantText(".verdict", "First seen in the past week. No bug "+
		"filed. 24.04").
		WantText(".status-releases", "24.04 seen in 1.4.9-2, the newest version in use; 4 reports this week")
	a.WantText(".figures", "reports (all time) 4 machines (all time) 4").WantText(".figures",
		"of active machines with 24.04").WantText(".figures", "per 1,000 machine-days, past ")
	a.WantText(".matrix thead", "Last seen").WantText(".matrix tbody tr:nth-child(1)", "18 May")
	checktest.Equal(t, "link of the version", a.Attr(".matrix tbody tr:nth-child(1) a", "href"),
		"https://archive.example/tidewatch/1.4.9-2/#1")
	if got, want := a.Attr(".stack > .scroll .frame-table tbody tr:nth-child(1) a", "href"),
		"https://archive.example/tidewatch/1.4.9-2/src/parse.c#88"; got != want {
		t.Errorf("link of the first frame: got %q, want %q", got, want)
	}
	a.WantText(".stack .section-head", "1.4.9-2 on Ubuntu 24.04")

	p.Several(1, crashtest.Python, crashtest.Set("Package", "tidewatch 1.5.0-1"),
		crashtest.Set("SourcePackage", "tidewatch"))
	a = p.As(t, crash.RoleViewer).Get(b.ID.Path()).Want(http.StatusOK)
	a.WantText(".status-text", "new Open in 24.04").
		WantText(".status-releases", "24.04 seen up to 1.4.9-2; too few reports of 1.5.0-1 to tell (0 of 1; 2 more would "+
			"tell); 4 "+
			"reports this week")
	a.WantText(".verdict", "No bug filed. The newest versions in use have not shown it, but have too few reports "+
		"to tell.")
	a.WantText(".matrix tbody tr:nth-child(1)", "1.4.9-2 last").WantText(".versions .paging", "2 versions without reports")
	a = p.As(t, crash.RoleViewer).Get(b.ID.Path() + "?versions=all").Want(http.StatusOK)
	a.WantText(".matrix tbody tr:nth-child(1)", "1.5.0-1 not seen yet 0 0")
}

// TestStatusIsTheSameEverywhere makes problems with different statuses. It compares their status on
// pages, in lists, filters, searches, files and feeds.
func TestStatusIsTheSameEverywhere(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	now := time.Now().UTC()
	process := 0
	seen := func(name, release, version string, days int) crash.Bucket {
		process++
		return site.Save(t, crashtest.Native(crashtest.Set("DuplicateSignature", name), crashtest.Process(process),
			crashtest.On(crash.Release(release)),
			crashtest.Version(version), crashtest.At(now.AddDate(0, 0, -days))))
	}
	bug := func(b crash.Bucket, number int64, status, fix, series string) {
		t.Helper()
		dbtest.Must(site.Bugs.LinkBug(t.Context(), b.ID,
			crash.Bug{Number: number, URL: fmt.Sprint("https://tracker.example/", number), By: "ada"}))(t)
		reading := crash.BugReading{Number: number, Tasks: []crash.BugTask{{
			Target: "/ubuntu/+source/" + b.SourcePackage, Status: status, Complete: status != "New",
			Closed: now.AddDate(0, 0, -20),
		}}}
		if fix != "" {
			reading.Fixes = []crash.BugFix{{Package: b.SourcePackage, Version: fix, Series: series}}
		}
		checktest.NoError(t, site.Bugs.SaveBugReading(t.Context(), reading, "", time.Hour))
	}
	seen("fixed in one release", "Debian sid", "1.9.4-1", 30)
	in := intake.New(intake.Config{MaxAgeDays: 366}, site.Store)
	for i := range 100 { // enough reports to tell
		for release, version := range map[crash.Release]string{"Debian sid": "1.9.4-2", "Ubuntu 24.04": "1.5-1"} {
			report := crashtest.Native(crashtest.Set("DuplicateSignature", "of a version in use for long"),
				crashtest.On(release), crashtest.Version(version), crashtest.At(now.AddDate(0, 0, -12)))
			dbtest.Must(in.Accept(t.Context(), crash.Report{System: crash.SystemID(fmt.Sprint(release, i)),
				Fields: report.Fields()}))(t)
		}
	}
	seen("in the newest version of sid", "Debian sid", "1.9.4-2", 1)
	problems := map[string]struct {
		bucket crash.Bucket
		word   crash.StateWord
		text   string
		page   string // in short, as its page begins
	}{
		"fixed in one release": {seen("fixed in one release", "Ubuntu 24.04", "1.5.4-1", 1), crash.StateUnfiled,
			"Probably fixed in sid; still open in 24.04 (1 report this week).",
			"Probably fixed in sid; still open in 24.04"},
		"in the newest version of sid": {seen("in the newest version of sid", "Debian sid", "1.9.4-2", 2), crash.StateNew,
			"First seen in the past week. Open in sid (2 reports this week).", "new Open in sid"},
		"gone": {seen("gone", "Ubuntu 24.04", "1.2-1", 40), crash.StateGone, "Probably fixed in 24.04.",
			"gone Probably fixed in 24.04"},
		"disappeared": {seen("disappeared", "Ubuntu 24.04", "1.2-1", 40), crash.StateDisappeared, "The bug is open. " +
			"Probably fixed in 24.04.", "disappeared Probably fixed in 24.04"},
		"open": {seen("open", "Ubuntu 24.04", "1.2-1", 1), crash.StateOpen, "Open in 24.04 (1 report this week).",
			"Open in 24.04"},
		"fixed": {seen("fixed", "Ubuntu 24.04", "1.2-1", 40), crash.StateFixed, "Fixed in 24.04.",
			"Fixed in 24.04"},
		"regression": {seen("regression", "Ubuntu 24.04", "1.5-1", 1), crash.StateRegression, "Seen again after the fix in " +
			"24.04 (1 report this week).", "regression Seen again after the fix in 24.04"},
		"not in 24.04": {seen("not in 24.04", "Ubuntu 24.04", "1.4-1", 1), crash.StateOpen,
			"Fixed in 26.04; still open in 24.04 (1 report this week).", "open Fixed in 26.04; still open in 24.04"},
		"closed": {seen("closed", "Ubuntu 24.04", "1.4-1", 1), crash.StateClosed, "Closed as Won't Fix for 24.04 (1 report " +
			"this week).", "Closed as Won't Fix for 24.04"},
	}
	bug(problems["disappeared"].bucket, 1, "New", "", "")
	bug(problems["open"].bucket, 2, "New", "", "")
	bug(problems["fixed"].bucket, 3, "Fix Released", "1.3-1", "noble")
	bug(problems["regression"].bucket, 4, "Fix Released", "1.3-1", "noble")
	bug(problems["not in 24.04"].bucket, 5, "Fix Released", "2.0-1", "resolute")
	bug(problems["closed"].bucket, 6, "Won't Fix", "", "")

	visitor, triager := site.Visitor(t), site.As(t, crash.RoleTriager)
	body := visitor.Get("/problems.json?period=year").Want(http.StatusOK).Body
	feed := html.UnescapeString(visitor.Get("/problems.atom?period=year").Want(http.StatusOK).Body)
	table := visitor.Get("/problems.csv?period=year").Want(http.StatusOK).Body
	for name, p := range problems {
		for _, c := range []*handlertest.Client{visitor, triager} {
			c.Get(p.bucket.ID.Path()).Want(http.StatusOK).WantText(".status-text", p.page)
		}
		if !strings.Contains(feed, p.text) || !strings.Contains(table, ","+string(p.word)+","+quoted(p.text)+",") {
			t.Errorf("%s: the feed or the table does not say %s: %q", name, p.word, p.text)
		}
		if !strings.Contains(body, fmt.Sprintf(`"state":%q,"status":%q`, p.word, p.text)) {
			t.Errorf("%s: the JSON file does not say %s: %q", name, p.word, p.text)
		}
		for _, list := range []string{"/?period=year&state=" + string(p.word), "/search?q=state:" + string(p.word),
			"/search?q=is:" + string(p.word)} {
			rows := triager.Get(list).Want(http.StatusOK).HTML()
			cell := rows.Find("#bug-" + p.bucket.ID.String() + " .bug-now")
			if got := cell.AttrOr("data-status", "nothing"); got != string(p.word) {
				t.Errorf("%s: got status %[3]s in %[2]s, want %[4]s", name, list, got, p.word)
			}
			if list == "/search?q=is:unfiled" {
				continue // this search returns all problems without a bug
			}
			rows.Find(".bug-now").Each(func(_ int, s *goquery.Selection) {
				if got := s.AttrOr("data-status", ""); got != string(p.word) {
					t.Errorf("%s: got a problem with status %s", list, got)
				}
			})
		}
	}
	for _, path := range []string{"/package/" + problems["gone"].bucket.Package, "/release/Ubuntu%2024.04?", "/search?q=" +
		url.QueryEscape("package:"+problems["gone"].bucket.Package)} {
		a := triager.Get(path).Want(http.StatusOK)
		for name, p := range problems {
			cell := a.HTML().Find("#bug-" + p.bucket.ID.String() + "-row")
			if cell.Length() == 0 {
				continue // too old for the lists of a release
			}
			if got := cell.AttrOr("data-status", ""); got != string(p.word) {
				t.Errorf("%s: got status %[3]s on %[2]s, want %[4]s", name, path, got, p.word)
			}
			if wants := p.bucket.ID.String() == problems["gone"].bucket.ID.String(); wants &&
				cell.Find("button.create").Length() != 1 {
				t.Errorf("%s: got no Create button on %s", name, path)
			}
		}
	}
	machine := triager.Get("/user/machine-1").Want(http.StatusOK).HTML()
	for name, p := range problems {
		cells := machine.Find(`.bug-now[id^="bug-` + p.bucket.ID.String() + `"]`)
		if got := cells.AttrOr("data-status", "nothing"); got != string(p.word) {
			t.Errorf("%s: got status %s on the page of its machine, want %s", name, got, p.word)
		}
		if name == "fixed in one release" && (cells.Length() != 2 || cells.Find("button.create").Length() != 2) {
			t.Errorf("%s: got %d cells on the page of its machine, want one with a button for each report", name,
				cells.Length())
		}
	}
	site.As(t, crash.RoleViewer).Get("/user/machine-1").Want(http.StatusOK).WantNone("#create-bug, button.create")
	visitor.Get("/package/" + problems["gone"].bucket.Package).WantNone("#create-bug, button.create").WantNone(
		".review-link")
}

// quoted returns a text as CSV quotes it.
func quoted(s string) string {
	if strings.ContainsAny(s, `,"`) {
		return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
	}
	return s
}

// press returns a script that sends a key as a keyboard would.
func press(key string, shift bool) string {
	with := ""
	if shift {
		with = ", shiftKey: true"
	}
	return `document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "` + key +
		`", bubbles: true, cancelable: true` + with + `})); true`
}

// TestStatusInBrowser changes the bug of a problem in every possible way. The whole status on the
// page must follow without a reload.
func TestStatusInBrowser(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{CreateWait: handlertest.Patience})
	now := time.Now().UTC()
	problem := func(n int, signature string) crash.Bucket {
		b := site.Save(t, crashtest.Native(crashtest.Process(n), crashtest.At(now), crashtest.Set("DuplicateSignature",
			signature)))
		return site.Save(t, crashtest.Native(crashtest.Process(n+100), crashtest.At(now), crashtest.Set("DuplicateSignature",
			b.Signature)))
	}
	ctx := handlertest.StartBrowser(t)
	site.SignInBrowser(ctx, t, crash.RoleTriager)

	open := func(path, wait string) {
		t.Helper()
		handlertest.Do(ctx, t, chromedp.Navigate(site.URL+path), handlertest.WaitVisible(wait))
		handlertest.Eval[bool](ctx, t, `window.stays = true`)
	}
	wantStatus := func(step string, has, hasNot []string) {
		t.Helper()
		text := handlertest.Eval[string](ctx, t, `document.querySelector("#status").innerText`)
		for _, want := range has {
			if !strings.Contains(text, want) {
				t.Errorf("%s: got the status %q, want %q in it", step, text, want)
			}
		}
		for _, stale := range hasNot {
			if strings.Contains(text, stale) {
				t.Errorf("%s: got the status %q, want no %q in it", step, text, stale)
			}
		}
		if n := handlertest.Eval[int](ctx, t, `document.querySelectorAll("#status").length`); n != 1 ||
			!handlertest.Eval[bool](ctx, t, `window.stays === true`) {
			t.Errorf("%s: got %d elements with the status, want one, without a reload", step, n)
		}
	}
	before, after := []string{"First seen in the past week", "Worth filing?", "Create"},
		[]string{"unknown", "has not been read from the tracker yet"}

	created := problem(1, "created")
	open(created.ID.Path(), "#status .create-bug button")
	wantStatus("at first", before, nil)
	handlertest.Do(ctx, t, handlertest.Click("#status .create-bug button"), handlertest.WaitVisible("#status a.bug-link"))
	wantStatus("created", after, before)
	handlertest.Do(ctx, t, handlertest.Click("#status .bug-list button"),
		handlertest.WaitVisible("#status .create-bug button"))
	wantStatus("unlinked", before, after)
	handlertest.Do(ctx, t, handlertest.Click("#notes summary"),
		handlertest.Until(`document.activeElement.id === "new-note"`))

	reviewed := problem(2, "reviewed")
	open(reviewed.ID.Path(), "#status .review-link")
	for _, key := range []string{press("c", false), press("C", false)} { // the second with Caps Lock
		handlertest.Eval[bool](ctx, t, key)
		handlertest.Do(ctx, t, handlertest.WaitVisible("#review-heading"))
	}
	checktest.Equal(t, "c: bugs", len(site.Tracker.Bugs()), 1)
	handlertest.Do(ctx, t, handlertest.Click(`#dialog button[value=file]`), handlertest.WaitVisible("#status a.bug-link"))
	wantStatus("filed", after, before)

	pressed := problem(3, "pressed")
	open(pressed.ID.Path(), "#status .create-bug button")
	handlertest.Eval[bool](ctx, t, press("C", true))
	handlertest.Do(ctx, t, handlertest.WaitVisible("#status a.bug-link"))
	wantStatus("pressed", after, before)
	if n := len(site.Tracker.Bugs()); n != 3 {
		t.Errorf("got %d bugs, want one for each problem", n)
	}
}

// TestCopiesOfACellInBrowser creates a bug on the page of a release that lists the problem twice.
func TestCopiesOfACellInBrowser(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{CreateWait: handlertest.Patience})
	b := site.Save(t, crashtest.Native(crashtest.At(time.Now().UTC())))
	ctx := handlertest.StartBrowser(t)
	cell := "#bug-" + b.ID.String()
	site.SignInBrowser(ctx, t, crash.RoleTriager)
	handlertest.Do(ctx, t, chromedp.Navigate(site.URL+"/release/Ubuntu%2024.04"), handlertest.WaitVisible(cell+" button"),
		handlertest.WaitVisible(cell+"-new button"),
		handlertest.Click(cell+"-new button"), handlertest.WaitVisible(cell+"-new a.bug-link"),
		handlertest.WaitVisible(cell+" a.bug-link"))
	checktest.Equal(t, "bugs", len(site.Tracker.Bugs()), 1)
}

// TestWhyHere checks that everyone can read the rule, and people who may see reports the text that
// the rule used and ignored.
func TestWhyHere(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	build := crashtest.ModernOops
	report := p.Accept("m", build())
	path := handlertest.BucketOf(t, build()).Path()
	description := crash.RuleKernel.Description()

	visitor := p.Visitor(t).Get(path).Want(http.StatusOK)
	visitor.WantText(".grouping p", description).WantText(".grouping-rule", "kernel").WantNone(".grouping-list")
	for _, at := range []string{path, "/oops/" + report.String()} {
		a := p.As(t, crash.RoleViewer).Get(at).Want(http.StatusOK)
		a.WantText(".grouping summary", "Why grouped here").WantText(".grouping p", description).WantText(".grouping-rule",
			"kernel")
		a.WantText(".grouping-used li:nth-child(1)", "brig_tx_done [brigwifi] RIP: 0010:brig_tx_done+0x62/0x110 [brigwifi]")
		a.WantText(".grouping-ignored", "? show_regs+0x6d/0x80 the kernel marks it as unreliable")
		a.WantNone(".grouping-now").WantNone(".grouping[open]")
	}
	checktest.Equal(t, "example", p.As(t, crash.RoleViewer).Get(path).Attr(".grouping a[href^='/oops/']", "href"),
		"/oops/"+
			report.String())
	normalised := p.Accept("m", crashtest.Assertion())
	p.As(t, crash.RoleViewer).Get("/oops/"+normalised.String()).WantText(".grouping-changed", "(ADDR)")
}

// TestGroupedByOlderRules checks that a report grouped by older rules links to its problem under
// the current rules.
func TestGroupedByOlderRules(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	p := handlertest.NewPagesOn(t, dbtest.Open(t, url))
	build := crashtest.ModernOops
	old, other := p.Accept("m", build()), p.Accept("m2", crashtest.Native())
	today, elsewhere := handlertest.BucketOf(t, build()), handlertest.BucketOf(t, crashtest.Native())
	move := func(id crash.OopsID, bucket any, rules int) {
		t.Helper()
		dbtest.Exec(t, url, "update reports set bucket_id = $2, rules = $3 where id = $1", [16]byte(id), bucket, rules)
	}
	move(old, nil, 1)
	c := p.As(t, crash.RoleViewer)
	a := c.Get("/oops/" + old.String()).Want(http.StatusOK)
	a.WantText(".grouping-now", "grouped by older rules Version 1 of the rules grouped it. The current rules would "+
		"put it into "+
		today.String())
	checktest.Equal(t, "link", a.Attr(".grouping-now a", "href"), today.Path())

	move(old, elsewhere[:], 1)
	c.Get("/oops/"+old.String()).WantText(".grouping-now", "grouped by older rules")
	move(old, elsewhere[:], grouping.RulesVersion)
	c.Get("/oops/"+old.String()).WantText(".grouping-now", "moved by hand").WantText(".grouping-now a", today.String())
	move(old, today[:], 1)
	c.Get("/oops/" + old.String()).WantNone(".grouping-now")

	dbtest.Exec(t, url, "delete from buckets where id = $1", today[:])
	move(old, nil, 1)
	a = c.Get("/oops/" + old.String()).Want(http.StatusOK)
	if text := a.Text(".grouping-now"); !strings.Contains(text, "a new problem:") ||
		!strings.Contains(text, today.String()) {
		t.Errorf("got %q, want a new problem", text)
	}
	c.Get("/oops/" + other.String()).WantNone(".grouping-now")
}
