package main

import (
	"context"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/grouping"
	"mishap/db/problems"
	"mishap/handlers/browsertest"
)

// TestBrowserCreateWithoutScripts checks that the form files the bug without scripts. The browser
// then shows the problem with a message.
func TestBrowserCreateWithoutScripts(t *testing.T) {
	t.Parallel()
	in := install(t)
	id := in.report("machine-1", crashtest.Native())
	in.account("tess", crash.RoleTriager)
	b := in.browser()
	b.do(chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled,
			emulation.SetScriptExecutionDisabledParams{Value: true})
		return err
	}))
	b.signIn("tess", id.Path())
	b.do(browsertest.Click(".create-bug button"), browsertest.WaitVisible(".bug-link"))
	if got := b.location(); got != id.Path() {
		t.Errorf("after Create: got %s, want %s", got, id.Path())
	}
	if got := b.text("#flash"); !strings.Contains(got, "Bug 2100001 was created.") {
		t.Errorf("message: got %q, want one that the bug was created", got)
	}
	if got := len(in.tracker.Bugs()); got != 1 {
		t.Errorf("bugs in the tracker: got %d, want 1", got)
	}
}

// TestBrowserConnectTracker connects the tracker as an admin: request, decision on the practice
// tracker's page, and return. The file then contains the tokens.
func TestBrowserConnectTracker(t *testing.T) {
	t.Parallel()
	in := install(t, "# mine", "data_dir = \"/nowhere\" # the environment wins", "tracker_oauth_token = \"\"")
	id := in.report("machine-1", crashtest.Native())
	in.account("ann", crash.RoleAdmin)
	b := in.browser()
	b.signIn("ann", "/admin/tracker")
	b.do(
		browsertest.Click(`form[action$="/request-token"] button`),
		browsertest.WaitVisible("#authorize"),
		browsertest.Click(`form[action$="/access-token"] button`), // before the decision
		browsertest.WaitVisible("#tracker-problem"),
	)
	if got := b.text("#tracker-problem"); !strings.Contains(got, "mishap has not been authorised on the "+
		"tracker's page yet") {
		t.Errorf("before the decision: got %q, want a message that nobody has authorised it yet", got)
	}
	page := ask(b, browsertest.Attribute("#authorize", "href"))
	if !strings.HasPrefix(page, in.tracker.URL+"/+authorize-token?oauth_token=") {
		t.Fatalf("address to authorise at: got %q", page)
	}
	b.do(
		chromedp.Navigate(page),
		browsertest.Click(`button[name="field.actions.WRITE_PUBLIC"]`),
	)
	b.until(`document.body.innerText.includes("Almost finished")`)
	b.open("/admin/tracker")
	b.do(browsertest.Click(`form[action$="/access-token"] button`), browsertest.WaitVisible(".state-done"))
	if got := b.text("main"); !strings.Contains(got, "Connected") || !strings.Contains(got, "practice-person") {
		t.Errorf("after connecting: got %q, want the connection and its account", got)
	}
	doc, err := os.ReadFile(in.config)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"# mine\n", "# the environment wins\n", "tracker_oauth_token = \"",
		"tracker_oauth_secret = \""} {
		if !strings.Contains(string(doc), want) {
			t.Errorf("configuration file: got %q, want %q in it", doc, want)
		}
	}
	if strings.Contains(string(doc), `tracker_oauth_token = ""`) {
		t.Errorf("configuration file: got %q, want a token in it", doc)
	}
	b.open(id.Path())
	b.do(browsertest.Click(".create-bug button"))
	b.until(`document.querySelector(".bug-link") !== null`)
}

// These call Back and Forward in the page, where new history entries are available at once.
var (
	goBack    = chromedp.Evaluate[chromedp.Void]("void history.back()")
	goForward = chromedp.Evaluate[chromedp.Void]("void history.forward()")
)

// TestBrowserBackAndForward checks that filters and pages have their own addresses, through which
// Back and Forward lead.
func TestBrowserBackAndForward(t *testing.T) {
	t.Parallel()
	in := install(t)
	var id crash.BucketID
	for i := range 60 {
		id = in.report("machine-1", crashtest.Native(crashtest.Process(1000+i), crashtest.On("Ubuntu 24.04")))
	}
	in.report("machine-2", crashtest.Python(crashtest.On("Ubuntu 22.04")))
	in.account("vera", crash.RoleViewer)
	b := in.browser()
	b.signIn("vera", "/?period=year")
	rows := func(n int) string {
		return `document.querySelectorAll(".problems tbody tr").length === ` + string(rune('0'+n))
	}
	b.until(rows(2))
	b.do(browsertest.Choose("#release", "Ubuntu 22.04"))
	b.until(rows(1))
	b.until(`new URLSearchParams(location.search).get("release") === "Ubuntu 22.04"`)
	b.do(goBack)
	b.until(rows(2))
	b.until(`document.querySelector("#release").value === ""`)
	b.do(goForward)
	b.until(rows(1))
	b.until(`document.querySelector("#release").value === "Ubuntu 22.04"`)

	b.open(id.Path())
	b.do(browsertest.WaitVisible(".reports-table"))
	first := b.text(".reports-table tbody tr a")
	b.do(browsertest.Click(`.reports a[href*="after="]`))
	b.until(`location.search.includes("after=") && document.querySelector(".reports-table tbody tr a").innerText !== ` +
		strconv.Quote(first))
	b.do(goBack)
	b.until(`!location.search.includes("after=") && document.querySelector(".reports-table tbody tr a").innerText === ` +
		strconv.Quote(first))
	b.do(goForward)
	b.until(`location.search.includes("after=")`)
	b.do(chromedp.Reload(), browsertest.WaitVisible(".reports-table"))
	if got := b.complaints(); len(got) > 0 {
		t.Errorf("console: got %q, want nothing", got)
	}
}

// TestBrowserPolicySweep checks that no page violates the content policy, writes to the console or
// contacts another host, whatever reports contain.
func TestBrowserPolicySweep(t *testing.T) {
	t.Parallel()
	in := install(t)
	pages := []string{"/", "/?period=year", "/?period=year&release=Ubuntu+24.04&package=tidewatch", "/admin/tracker",
		"/user/machine-1", "/user/"}
	for i, build := range []func(...crashtest.Option) crashtest.Report{
		crashtest.Native, crashtest.Unsymbolised, crashtest.Python, crashtest.Package, crashtest.Oops, crashtest.Recoverable,
		crashtest.Ungroupable, crashtest.Markup, crashtest.Long, crashtest.Unicode,
	} {
		r := build(crashtest.Process(100 + i))
		id := in.report("machine-1", r)
		if signature := grouping.SignatureOf(r.Fields()).Signature; signature != "" {
			pages = append(pages, id.Path(), "/bucket/?id="+url.QueryEscape(signature))
		}
	}
	rows, err := problems.New(in.store).SystemReports(t.Context(), "machine-1", crash.OopsID{}, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		pages = append(pages, "/oops/"+row.ID.String())
	}
	in.account("ann", crash.RoleAdmin)
	b := in.browser()
	b.open("/login")
	for _, path := range pages {
		b.open(path)
	}
	b.signIn("ann", "/?period=year")
	for _, path := range pages {
		b.open(path)
		b.until(`!!document.querySelector("h1")?.innerText`)
	}
	if got := b.complaints(); len(got) > 0 {
		t.Errorf("console: got %q, want nothing", got)
	}
	if got := b.outside(); len(got) > 0 {
		t.Errorf("requests to other hosts: got %q, want none", got)
	}
	b.open("/no/such/page") // the browser itself logs the status
	if got := b.text("main"); got == "" {
		t.Error("/no/such/page: got an empty page")
	}
}
