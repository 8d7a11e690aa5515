package bugs_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"mishap/crash"
	"mishap/handlers/browsertest"
	"mishap/handlers/handlertest"
	"mishap/tracker/trackertest"
)

// TestFilingsInBrowser checks that the buttons of the ledger work in place and that the page fits
// on a phone.
func TestFilingsInBrowser(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	ada := site.AddUser(t, crash.RoleAdmin)
	handlertest.FileBug(t, site, 1)
	site.Tracker.Fail(trackertest.OpCreate, trackertest.FrontEnd403)
	refused := handlertest.FileBug(t, site, 2)
	site.Tracker.Fail(trackertest.OpCreate, trackertest.Permission)
	other := handlertest.FileBug(t, site, 3)
	entry := func(b crash.Bucket) string { return fmt.Sprintf("#filing-%d", b.Filing.ID) }
	ctx := browsertest.Start(t)
	browsertest.Do(ctx, t, chromedp.EmulateViewport(360, 800), chromedp.Navigate(site.URL+"/login"),
		browsertest.Type("#username", ada.Name), browsertest.Type("#password", handlertest.Password+"\r"),
		browsertest.WaitVisible(".account-name"))
	browsertest.Do(ctx, t, chromedp.Navigate(site.URL+handlertest.FilingsPath), browsertest.WaitVisible(entry(refused)))
	browsertest.Eval[bool](ctx, t,
		`document.querySelectorAll("details").forEach((d) => { d.open = true }); window.stays = true`)
	if over := browsertest.Eval[int](ctx, t, `document.documentElement.scrollWidth - window.innerWidth`); over > 0 {
		t.Errorf("at 360 px the page is %d px too wide", over)
	}
	browsertest.Do(ctx, t, chromedp.EmulateViewport(1600, 1000))
	browsertest.Do(ctx, t, browsertest.Click(entry(refused)+"-give-up button"),
		browsertest.WaitVisible(entry(refused)+" [role=alert]"))
	browsertest.Do(ctx, t, browsertest.Click(entry(other)+"-retry button"),
		browsertest.WaitVisible(entry(other)+"[data-state=filed]"))
	browsertest.Eval[bool](ctx, t, `document.querySelectorAll("details").forEach((d) => { d.open = true }); true`)
	browsertest.Do(ctx, t, browsertest.Type(entry(refused)+"-reason", "not ours\r"),
		browsertest.WaitVisible(entry(refused)+"[data-state=abandoned]"))
	if !browsertest.Eval[bool](ctx, t, `window.stays === true`) {
		t.Error("the page was reloaded, want it to stay")
	}
}
