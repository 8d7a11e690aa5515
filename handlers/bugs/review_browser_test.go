package bugs_test

import (
	"testing"

	"github.com/chromedp/chromedp"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/handlers/browsertest"
	"mishap/handlers/handlertest"
	"mishap/tracker/trackertest"
)

// TestReviewInBrowser reviews a bug in the panel of a list, in a real browser. The panel opens in
// place, counts characters, shows a preview, refuses with a reason, and files. The page stays, and
// no typed text is lost.
func TestReviewInBrowser(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{CreateWait: handlertest.Patience})
	ada := site.AddUser(t, crash.RoleTriager)
	b := site.Save(t, crashtest.Native())
	site.Tracker.Add(trackertest.Bug{Package: b.SourcePackage, Title: "segfault in tide_parse_row",
		Status: "Fix Released"})
	ctx := browsertest.Start(t)
	cell := "#bug-" + b.ID.String()
	browsertest.Do(ctx, t, chromedp.Navigate(site.URL+"/login"),
		browsertest.Type("#username", ada.Name), browsertest.Type("#password", handlertest.Password+"\r"),
		browsertest.WaitVisible(".account-name"),
		chromedp.Navigate(site.URL+"/?period=year"), browsertest.WaitVisible(".row-menu"))
	browsertest.Eval[bool](ctx, t, `window.stays = true; window.refused = [];
		document.addEventListener("securitypolicyviolation", (e) => refused.push(e.violatedDirective)); true`)

	browsertest.Do(ctx, t, browsertest.Click(".row-menu"), browsertest.Click("#row-menu .review-link"),
		browsertest.WaitVisible("#review-found .review-bug-title"),
		browsertest.Until(`document.activeElement.id === "review-heading"`))
	set := func(id, value string) {
		t.Helper()
		browsertest.Eval[bool](ctx, t, `{ const field = document.getElementById("`+id+`"); field.focus(); field.value = "`+
			value+`";
			field.dispatchEvent(new Event("input", {bubbles: true})); } true`)
	}
	set("review-title", "Żółw 🐢")
	if got := browsertest.Eval[string](ctx, t,
		`document.querySelector("output[for=review-title]").textContent`); got != "6" {
		t.Errorf("count: got %q, want 6 characters", got)
	}
	// Opening it again discards nothing.
	browsertest.Eval[bool](ctx, t,
		`document.querySelector(".row-menu").click(); document.querySelector("#row-menu .review-link").click(); true`)
	set("review-tags", "Not a tag")
	browsertest.Do(ctx, t, browsertest.Click(`#dialog button[value=file]`),
		browsertest.WaitVisible("#review-problem-tags"), browsertest.Until(`document.activeElement.id === "review-tags"`))
	if got := browsertest.Eval[string](ctx, t, `document.getElementById("review-title").value`); got != "Żółw 🐢" {
		t.Errorf("refused: got the title %q, want the typed one", got)
	}
	set("review-tags", "noble mine")
	browsertest.Do(ctx, t, browsertest.Click(`#dialog button[value=preview]`), browsertest.WaitVisible("#review-preview"))
	if got := browsertest.Eval[string](ctx, t,
		`document.querySelector("#review-preview h4").textContent`); got != "Żółw 🐢" {
		t.Errorf("preview: got %q, want the typed title", got)
	}
	browsertest.Eval[bool](ctx, t,
		`const button = document.querySelector("#dialog button[value=file]"); button.click(); button.click(); true`)
	browsertest.Do(ctx, t, browsertest.WaitVisible(cell+" a.bug-link"), browsertest.WaitVisible("#dialog h2"))
	bugs := site.Tracker.Bugs()
	if len(bugs) != 2 || bugs[1].Title != "Żółw 🐢" {
		t.Errorf("got bugs %+v, want one with the typed text", bugs)
	}
	browsertest.Do(ctx, t, browsertest.Click(".dialog-close"), browsertest.WaitAbsent("#dialog > *"))
	if got := browsertest.Eval[bool](ctx, t,
		`window.stays && refused.length === 0 && !document.getElementById("dialog").open`); !got {
		t.Errorf("got a reloaded page, a policy violation (%v), or an open dialog",
			browsertest.Eval[string](ctx, t, `String(window.refused)`))
	}
}
