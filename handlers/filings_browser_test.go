package handlers_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"mishap/crash"
	"mishap/handlers/handlertest"
	"mishap/tracker/trackertest"
)

// The buttons of the ledger work where they stand, and the page fits on a phone.
func TestFilingsInBrowser(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	ada := site.AddUser(t, crash.RoleAdmin)
	file(t, site, 1)
	site.Tracker.Fail(trackertest.OpCreate, trackertest.FrontEnd403)
	refused := file(t, site, 2)
	site.Tracker.Fail(trackertest.OpCreate, trackertest.Permission)
	other := file(t, site, 3)
	entry := func(b crash.Bucket) string { return fmt.Sprintf("#filing-%d", b.Filing.ID) }
	ctx := browser(t)
	do(ctx, t, chromedp.EmulateViewport(360, 800), chromedp.Navigate(site.URL+"/login"),
		chromedp.SendKeys("#username", ada.Name), chromedp.SendKeys("#password", handlertest.Password+"\r"),
		chromedp.WaitVisible(".account-name"))
	do(ctx, t, chromedp.Navigate(site.URL+filingsPath), chromedp.WaitVisible(entry(refused)))
	eval[bool](ctx, t, `document.querySelectorAll("details").forEach((d) => { d.open = true }); window.stays = true`)
	if over := eval[int](ctx, t, `document.documentElement.scrollWidth - window.innerWidth`); over > 0 {
		t.Errorf("at 360 px the page is %d px too wide", over)
	}
	do(ctx, t, chromedp.EmulateViewport(1600, 1000))
	do(ctx, t, chromedp.Click(entry(refused)+"-give-up button"), chromedp.WaitVisible(entry(refused)+" [role=alert]"))
	do(ctx, t, chromedp.Click(entry(other)+"-retry button"), chromedp.WaitVisible(entry(other)+"[data-state=filed]"))
	eval[bool](ctx, t, `document.querySelectorAll("details").forEach((d) => { d.open = true }); true`)
	do(ctx, t, chromedp.SendKeys(entry(refused)+"-reason", "not ours\r"), chromedp.WaitVisible(entry(refused)+"[data-state=abandoned]"))
	if !eval[bool](ctx, t, `window.stays === true`) {
		t.Error("the page was loaded again, want it to stay")
	}
}
