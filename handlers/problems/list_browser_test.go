package problems_test

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/handlers/browsertest"
	"mishap/handlers/handlertest"
)

// TestListInBrowser changes the controls of the front page in place, goes back, and links a bug
// using only the keyboard.
func TestListInBrowser(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	ada := site.AddUser(t, crash.RoleTriager)
	lately := crashtest.At(time.Now())
	b := site.Save(t, crashtest.Native(lately))
	site.Save(t, crashtest.Python(lately))
	site.Save(t, crashtest.Native(lately, crashtest.On("Ubuntu 22.04"), crashtest.Process(77)))
	site.Save(t, crashtest.Native(lately, crashtest.Without("SourcePackage"), crashtest.Process(9),
		crashtest.Set("DuplicateSignature", "cannot be filed")))
	ctx := browsertest.Start(t)
	browsertest.Do(ctx, t, chromedp.Navigate(site.URL+"/login"),
		browsertest.Type("#username", ada.Name), browsertest.Type("#password", handlertest.Password+"\r"),
		browsertest.WaitVisible(".account-name"),
		chromedp.Navigate(site.URL+"/?period=year"), browsertest.WaitVisible("table.problems"))
	browsertest.Eval[bool](ctx, t, `window.stays = true`)
	choose := func(control, value string) {
		t.Helper()
		browsertest.Eval[bool](ctx, t, `(() => { const c = document.querySelector("`+control+`"); c.value = "`+value+
			`"; return c.dispatchEvent(new Event("change", { bubbles: true })); })()`)
	}
	browsertest.Do(ctx, t, browsertest.Click(".columns-link[data-htmx-powered]"),
		browsertest.Click("th.first a[data-htmx-powered]"), browsertest.WaitVisible("th.first[aria-sort]"))
	choose("#release", "Ubuntu 22.04") // the chart follows; the sort order stays
	browsertest.Do(ctx, t, browsertest.WaitVisible(`.rate-labels a:only-of-type[href="/release/Ubuntu%2022.04"]`),
		browsertest.WaitVisible("th.first[aria-sort]"), browsertest.WaitAbsent(".htmx-request"))
	choose("#from", "2026-01-01")
	browsertest.Do(ctx, t, browsertest.WaitVisible(`th.first a[href*="from=2026-01-01"]`),
		browsertest.WaitAbsent(".htmx-request"))
	if got := browsertest.Eval[string](ctx, t, `document.querySelector("#period").value`); got != "range" {
		t.Errorf("period with days: got %q, want the chosen days", got)
	}
	choose("#period", "month")
	browsertest.Do(ctx, t, browsertest.WaitVisible(`th.first a[href*="period=month"]`),
		browsertest.WaitAbsent(".htmx-request"))
	if got := browsertest.Eval[string](ctx, t,
		`document.querySelector("#from").value + location.search`); got != "?columns=first&period=month&release=Ubuntu+22.04&sort=first" {
		t.Errorf("days after choosing a period: got %q, want none", got)
	}
	if !browsertest.Eval[bool](ctx, t, `window.stays === true`) {
		t.Error("the page was reloaded, want it to stay")
	}
	browsertest.Do(ctx, t, chromedp.NavigateBack(), browsertest.WaitVisible(`#from[value="2026-01-01"]`),
		browsertest.WaitVisible(`th.first a[href*="from=2026-01-01"]`))

	// The bar counts only rows that will get a bug.
	browsertest.Do(ctx, t, chromedp.Navigate(site.URL+"/?period=year"), browsertest.Click("#select-all"),
		browsertest.WaitVisible("#bulk [data-many]"))
	if got := browsertest.Eval[string](ctx, t, `document.querySelector("#bulk .bulk-count").textContent + ", " +
		document.querySelector("#bulk [data-many]").textContent`); got != "3 selected, Create 2 bugs…" {
		t.Errorf("bar: got %q, want 3 selected rows and 2 bugs", got)
	}
	browsertest.Do(ctx, t, chromedp.Navigate(site.URL+"/?period=year"), browsertest.WaitVisible("table.problems"),
		browsertest.Press("j"), browsertest.WaitVisible("tr.current td.problem a:focus"),
		browsertest.Press("x"), browsertest.WaitVisible("tr.current :checked"), browsertest.Press("x"),
		browsertest.WaitAbsent("tr.current :checked"),
		browsertest.Press("l"), browsertest.WaitVisible("#bug-hint"))
	if got := browsertest.Eval[string](ctx, t, `location.search`); !strings.Contains(got, b.ID.String()) {
		t.Errorf("got %s, want the page that links a bug to %s", got, b.ID)
	}
}
