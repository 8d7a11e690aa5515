package handlers_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/handlers/handlertest"
	"mishap/tracker/trackertest"
)

// TestLinkBugInBrowser links and unlinks a bug on the page of a problem, which is never loaded again, except by Undo.
func TestLinkBugInBrowser(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	ada := site.AddUser(t, crash.RoleTriager)
	b := site.Save(t, crashtest.Native())
	number := fmt.Sprint(site.Tracker.Add(trackertest.Bug{Title: "The very <bug>", Package: b.SourcePackage}))
	ctx := browser(t)
	do(ctx, t, chromedp.Navigate(site.URL+"/login"),
		chromedp.SendKeys("#username", ada.Name), chromedp.SendKeys("#password", handlertest.Password+"\r"),
		chromedp.WaitVisible(".account-name"),
		chromedp.Navigate(site.URL+b.ID.Path()), chromedp.WaitVisible("#bugs .bug-actions a"))
	eval[bool](ctx, t, `window.stays = true`)
	do(ctx, t, chromedp.Click("#bugs .bug-actions a"), chromedp.WaitVisible("#link-bug #bug"),
		chromedp.SendKeys("#link-bug #bug", "seven\r"), chromedp.WaitVisible("#link-bug .error"))
	if got := eval[string](ctx, t, `document.querySelector("#link-bug .error").innerText`); !strings.Contains(got, "neither the number") {
		t.Errorf("not a number: got %q", got)
	}
	eval[bool](ctx, t, `document.querySelector("#link-bug #bug").value = ""; true`)
	do(ctx, t, chromedp.SendKeys("#link-bug #bug", number+"\r"), chromedp.WaitVisible(".found-bug button"))
	if got := eval[string](ctx, t, `document.querySelector(".found-bug").innerText`); !strings.Contains(got, "The very <bug>") {
		t.Errorf("found: got %q, want its title", got)
	}
	do(ctx, t, chromedp.Click(".found-bug button"), chromedp.WaitVisible("#bugs .bug-list"), chromedp.WaitVisible("#flash .flash-done"))
	if got := eval[string](ctx, t, `document.querySelector("#bugs a.bug-link").innerText`); got != number {
		t.Errorf("linked: got %q, want %s", got, number)
	}
	do(ctx, t, chromedp.Click("#bugs .bug-list button"), chromedp.WaitVisible("#flash .flash-done form button"), chromedp.WaitNotPresent("#bugs a.bug-link"))
	if !eval[bool](ctx, t, `window.stays === true`) {
		t.Error("the page was loaded again, want it to stay")
	}
	do(ctx, t, chromedp.Click("#flash .flash-done form button"), chromedp.WaitVisible("#bugs a.bug-link"))
	if got := site.Bucket(t, b.ID); fmt.Sprint(got.Bug.Number) != number || got.Bug.How != crash.Linked {
		t.Errorf("undone: got %+v, want %s linked", got.Bug, number)
	}
}
