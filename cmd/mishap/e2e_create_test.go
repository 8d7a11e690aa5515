package main

import (
	"testing"

	"github.com/chromedp/chromedp"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/handlers/browsertest"
	"mishap/tracker/trackertest"
)

// TestBrowserCreateInPlace signs in, opens a problem and clicks Create. The bug number appears
// without a reload.
func TestBrowserCreateInPlace(t *testing.T) {
	t.Parallel()
	in := install(t)
	id := in.report("machine-1", crashtest.Native())
	in.account("tess", crash.RoleTriager)
	b := in.browser()
	b.signIn("tess", "/?period=year")
	b.do(browsertest.Click(`a[href^="`+id.Path()+`"]`), browsertest.WaitVisible(".create-bug button"))
	b.do(chromedp.Evaluate[chromedp.Void](`void (window.sameDocument = document)`))

	b.do(browsertest.Click(".create-bug button"))
	b.until(`document.querySelector(".bug-link") !== null`)
	if !ask(b, chromedp.Evaluate[bool](`window.sameDocument === document`)) {
		t.Error("after Create: got a reloaded page, want the same one")
	}
	bugs := in.tracker.Bugs()
	if len(bugs) != 1 {
		t.Fatalf("bugs in the tracker: got %d, want 1", len(bugs))
	}
	link := ask(b, browsertest.Attribute(".bug-link", "href"))
	if want := in.tracker.URL + "/bugs/2100001"; link != want {
		t.Errorf("link to the bug: got %q, want %q", link, want)
	}
	if got := in.bucket(id); got.Bug.Number != bugs[0].Number || got.Bug.By != "tess" {
		t.Errorf("bug of the bucket: got %d by %q, want %d by tess", got.Bug.Number, got.Bug.By, bugs[0].Number)
	}
	if got := b.complaints(); len(got) > 0 {
		t.Errorf("console: got %q, want nothing", got)
	}
	b.open("/?period=year")
	b.do(browsertest.WaitVisible(".problems .bug-link"))
}

// TestBrowserTripleClick checks that three clicks on Create send one request to a slow tracker.
func TestBrowserTripleClick(t *testing.T) {
	t.Parallel()
	in := install(t)
	answer := make(chan struct{})
	in.tracker.FailWith(trackertest.FaultSpec{Operation: trackertest.OpCreate, Fault: trackertest.Slow, Hold: answer})
	id := in.report("machine-1", crashtest.Python())
	in.account("tess", crash.RoleTriager)
	b := in.browser()
	b.signIn("tess", id.Path())
	b.do(browsertest.WaitVisible(".create-bug button"))
	if got := ask(b, chromedp.Evaluate[int](`document.querySelectorAll(".create-bug button").length`)); got != 1 {
		t.Fatalf("buttons: got %d, want one Create", got)
	}
	b.do(browsertest.ClickTimes(".create-bug button", 3))
	close(answer)
	b.until(`document.querySelector(".bug-link") !== null`)
	if got := len(in.tracker.Bugs()); got != 1 {
		t.Errorf("bugs in the tracker: got %d, want 1", got)
	}
	if got := len(in.tracker.Requests(trackertest.OpCreate)); got != 1 {
		t.Errorf("requests to create: got %d, want 1", got)
	}
}

// TestBrowserCreatingBecomesNumber checks that the page shows Creating until the tracker answers,
// and then the number without any click.
func TestBrowserCreatingBecomesNumber(t *testing.T) {
	t.Parallel()
	in := install(t)
	in.tracker.FailWith(trackertest.FaultSpec{Operation: trackertest.OpCreate, Fault: trackertest.DropAfter})
	id := in.report("machine-1", crashtest.Assertion())
	in.account("tess", crash.RoleTriager)
	b := in.browser()
	b.signIn("tess", id.Path())
	b.do(browsertest.Click(".create-bug button"))
	b.until(`document.querySelector(".bug-link") !== null`)
	if got := len(in.tracker.Bugs()); got != 1 {
		t.Errorf("bugs in the tracker: got %d, want 1", got)
	}
}

// TestBrowserExpiredSession checks that the page asks the person to sign in if the session has
// ended, and files nothing.
func TestBrowserExpiredSession(t *testing.T) {
	t.Parallel()
	in := install(t)
	id := in.report("machine-1", crashtest.Native())
	in.account("tess", crash.RoleTriager)
	b := in.browser()
	b.signIn("tess", id.Path())
	in.endSessions()
	b.do(browsertest.Click(".create-bug button"))
	b.until(`document.querySelector(".bug-now[data-state=trouble] a") !== null`)
	if got := b.location(); got != id.Path() {
		t.Errorf("address: got %s, want %s still", got, id.Path())
	}
	if got := len(in.tracker.Bugs()); got != 0 {
		t.Errorf("bugs in the tracker: got %d, want none", got)
	}
	b.do(browsertest.Click(".bug-now a"), browsertest.WaitVisible("#sign-in"))
}
