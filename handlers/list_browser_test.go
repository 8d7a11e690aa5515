package handlers_test

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/handlers/handlertest"
)

// TestListInBrowser changes the controls of the front page in place, goes back, and links a bug to a row by keys alone.
func TestListInBrowser(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	ada := site.AddUser(t, crash.RoleTriager)
	lately := crashtest.At(time.Now())
	b := site.Save(t, crashtest.Native(lately))
	site.Save(t, crashtest.Python(lately))
	site.Save(t, crashtest.Native(lately, crashtest.On("Ubuntu 22.04"), crashtest.Process(77)))
	ctx := browser(t)
	do(ctx, t, chromedp.Navigate(site.URL+"/login"),
		chromedp.SendKeys("#username", ada.Name), chromedp.SendKeys("#password", handlertest.Password+"\r"), chromedp.WaitVisible(".account-name"),
		chromedp.Navigate(site.URL+"/?period=year"), chromedp.WaitVisible("table.problems"))
	eval[bool](ctx, t, `window.stays = true`)
	choose := func(control, value string) {
		t.Helper()
		eval[bool](ctx, t, `(() => { const c = document.querySelector("`+control+`"); c.value = "`+value+`"; return c.dispatchEvent(new Event("change", { bubbles: true })); })()`)
	}
	do(ctx, t, chromedp.Click("th.first a"), chromedp.WaitVisible("th.first[aria-sort]"))
	choose("#release", "Ubuntu 22.04") // the chart follows, and what it is sorted by stays
	do(ctx, t, chromedp.WaitVisible(`.rates .legend li:only-child a[href="/release/Ubuntu%2022.04"]`), chromedp.WaitVisible("th.first[aria-sort]"), chromedp.WaitNotPresent(".htmx-request"))
	choose("#from", "2026-01-01")
	do(ctx, t, chromedp.WaitVisible(`th.first a[href*="from=2026-01-01"]`), chromedp.WaitNotPresent(".htmx-request"))
	if got := eval[string](ctx, t, `document.querySelector("#period").value`); got != "range" {
		t.Errorf("period with days: got %q, want the days chosen", got)
	}
	choose("#period", "month")
	do(ctx, t, chromedp.WaitVisible(`th.first a[href*="period=month"]`), chromedp.WaitNotPresent(".htmx-request"))
	if got := eval[string](ctx, t, `document.querySelector("#from").value + location.search`); got != "?period=month&release=Ubuntu+22.04&sort=first" {
		t.Errorf("a period in place of the days: got %q", got)
	}
	if !eval[bool](ctx, t, `window.stays === true`) {
		t.Error("the page was loaded again, want it to stay")
	}
	do(ctx, t, chromedp.NavigateBack(), chromedp.WaitVisible(`#from[value="2026-01-01"]`), chromedp.WaitVisible(`th.first a[href*="from=2026-01-01"]`))

	do(ctx, t, chromedp.Navigate(site.URL+"/?period=year"), chromedp.WaitVisible("table.problems"), chromedp.KeyEvent("j"), chromedp.WaitVisible("tr.current td.problem a:focus"),
		chromedp.KeyEvent("x"), chromedp.WaitVisible("tr.current :checked"), chromedp.KeyEvent("x"), chromedp.WaitNotPresent("tr.current :checked"),
		chromedp.KeyEvent("l"), chromedp.WaitVisible("#bug-hint"))
	if got := eval[string](ctx, t, `location.search`); !strings.Contains(got, b.ID.String()) {
		t.Errorf("got %s, want to link a bug to %s", got, b.ID)
	}
}
