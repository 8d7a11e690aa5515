package bugs_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/handlers/browsertest"
	"mishap/handlers/handlertest"
	"mishap/tracker/trackertest"
)

// TestLinkBugInBrowser links and unlinks a bug on the page of a problem. Only Undo reloads the
// page.
func TestLinkBugInBrowser(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	ada := site.AddUser(t, crash.RoleTriager)
	b := site.Save(t, crashtest.Native())
	number := fmt.Sprint(site.Tracker.Add(trackertest.Bug{Title: "The very <bug>", Package: b.SourcePackage}))
	ctx := browsertest.Start(t)
	browsertest.Do(ctx, t, chromedp.Navigate(site.URL+"/login"),
		browsertest.Type("#username", ada.Name), browsertest.Type("#password", handlertest.Password+"\r"),
		browsertest.WaitVisible(".account-name"),
		chromedp.Navigate(site.URL+b.ID.Path()), browsertest.WaitVisible("#bugs .link-bug-link"))
	browsertest.Eval[bool](ctx, t, `window.stays = true`)
	browsertest.Do(ctx, t, browsertest.Click("#bugs .link-bug-link"), browsertest.WaitVisible("#dialog #bug"),
		browsertest.Type("#dialog #bug", "seven\r"), browsertest.WaitVisible("#dialog .error"))
	if got := browsertest.Eval[string](ctx, t, `document.querySelector("#dialog .error").innerText`); !strings.Contains(
		got, "neither a bug number") {
		t.Errorf("not a number: got %q", got)
	}
	browsertest.Eval[bool](ctx, t, `document.querySelector("#dialog #bug").value = ""; true`)
	browsertest.Do(ctx, t, browsertest.Type("#dialog #bug", number+"\r"), browsertest.WaitVisible(".found-bug button"))
	if got := browsertest.Eval[string](ctx, t, `document.querySelector(".found-bug").innerText`); !strings.Contains(got,
		"The very <bug>") {
		t.Errorf("found: got %q, want its title", got)
	}
	browsertest.Do(ctx, t, browsertest.Click(".found-bug button"), browsertest.WaitVisible("#bugs .bug-list"),
		browsertest.WaitVisible("#flash .flash-done"))
	if got := browsertest.Eval[string](ctx, t, `document.querySelector("#bugs a.bug-link").innerText`); got != number {
		t.Errorf("linked: got %q, want %s", got, number)
	}
	browsertest.Do(ctx, t, browsertest.Click("#bugs .bug-list button"), browsertest.WaitVisible("#flash .flash-done "+
		"form button"), browsertest.WaitAbsent("#bugs a.bug-link"))
	if !browsertest.Eval[bool](ctx, t, `window.stays === true`) {
		t.Error("the page was reloaded, want it to stay")
	}
	browsertest.Do(ctx, t, browsertest.Click("#flash .flash-done form button"),
		browsertest.WaitVisible("#bugs a.bug-link"))
	if got := site.Bucket(t, b.ID); fmt.Sprint(got.Bug.Number) != number || got.Bug.How != crash.Linked {
		t.Errorf("undone: got %+v, want %s linked", got.Bug, number)
	}
}
