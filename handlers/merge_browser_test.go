package handlers_test

import (
	"testing"

	"github.com/chromedp/chromedp"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/handlers/handlertest"
	"mishap/views"
)

// TestDecideInBrowser is the story of somebody who sorts problems: two are merged after a look, the whole gets a name,
// reports are taken out, and all of it is undone from the history. It needs no script, and the policy refuses nothing.
func TestDecideInBrowser(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	ada := site.AddUser(t, crash.RoleTriager)
	often, once := twins(t, site)
	site.Save(t, crashtest.Native(crashtest.Process(50), crashtest.Set("Architecture", "arm64")))
	ctx := browser(t)
	do(ctx, t, chromedp.Navigate(site.URL+"/login"),
		chromedp.SendKeys("#username", ada.Name), chromedp.SendKeys("#password", handlertest.Password+"\r"),
		chromedp.WaitVisible(".account-name"),
		chromedp.Navigate(site.URL+once.ID.Path()), chromedp.Click(".decision-actions a"), chromedp.WaitVisible("#with"))
	do(ctx, t, chromedp.SendKeys("#with", site.URL+often.ID.Path()+"\r"), chromedp.WaitVisible("table.merge-sides"))
	if got := eval[string](ctx, t, `[...document.querySelectorAll(".merge-sides mark")].map((m) => m.textContent).join(" ")`); got != "tide_reload tide_load" {
		t.Errorf("marked: got %q, want what differs", got)
	}
	do(ctx, t, chromedp.SendKeys("#reason", "same row\r"), chromedp.WaitVisible(".flash-done form button"))
	if got := site.Bucket(t, once.ID); got.ID != often.ID {
		t.Fatalf("merged: got %s, want %s", got.ID, often.ID)
	}

	do(ctx, t, chromedp.Click(".decision-actions a:nth-of-type(3)"), chromedp.WaitVisible("#name"),
		chromedp.SendKeys("#name", "The row parser\r"), chromedp.WaitVisible(".flash-done form button"))
	if got := eval[string](ctx, t, `document.querySelector("h1").textContent`); got != "The row parser" {
		t.Errorf("named: got %q", got)
	}

	do(ctx, t, chromedp.Click(".decision-actions a:nth-of-type(2)"), chromedp.WaitVisible(".term select"))
	eval[bool](ctx, t, `document.querySelector(".term select").value = "architecture"; document.querySelector(".term input").value = "arm64"; true`)
	do(ctx, t, chromedp.Click("form.decide[method=get] button"), chromedp.WaitVisible(".split-preview"))
	if got := eval[string](ctx, t, `document.querySelector(".split-preview h3").textContent.trim()`); got != "Of 5 reports, 1 would go and 4 stay" {
		t.Errorf("preview: got %q", got)
	}
	do(ctx, t, chromedp.Click(".split-preview button"), chromedp.WaitVisible(".flash-done form button"))
	if got := eval[string](ctx, t, `document.querySelector(".numbers").innerText`); got == "" || site.Bucket(t, often.ID).Reports != 4 {
		t.Errorf("taken out: got %q here and %d left, want 1 and 4", got, site.Bucket(t, often.ID).Reports)
	}

	// On a phone nothing is wider than the screen.
	do(ctx, t, chromedp.EmulateViewport(360, 740))
	for _, path := range []string{
		once.ID.Path(), often.ID.Path() + "/merge", often.ID.Path() + "/rename", often.ID.Path() + "/traits",
		often.ID.Path() + "/split?field=architecture&value=amd64", views.MergeURL([]crash.BucketID{often.ID, crash.BucketIDOf(often.Signature + " [architecture arm64]")}),
	} {
		do(ctx, t, chromedp.Navigate(site.URL+path), chromedp.WaitVisible("main h1"))
		if got := eval[float64](ctx, t, `document.documentElement.scrollWidth`); got > 360 {
			t.Errorf("%s on a phone: got a page %v px wide: %s", path, got, eval[string](ctx, t, `[...document.querySelectorAll("*")].filter((e) => e.getBoundingClientRect().right > 360).map((e) => e.tagName + "." + e.className).slice(0, 8).join(" ")`))
		}
	}
	do(ctx, t, chromedp.EmulateViewport(1280, 900))

	// Everything is taken back, the last thing first.
	do(ctx, t, chromedp.Navigate(site.URL+once.ID.Path()), chromedp.WaitVisible(".came-from"))
	for range 3 {
		eval[bool](ctx, t, `document.body.dataset.before = "yes"`+`; true`)
		do(ctx, t, chromedp.Click(".decision-list form button"), chromedp.WaitVisible("body:not([data-before])"), chromedp.WaitVisible(".flash-done"))
	}
	if a, b := site.Bucket(t, often.ID), site.Bucket(t, once.ID); a.Name != "" || a.Reports != 4 || b.ID != once.ID || b.Reports != 1 {
		t.Errorf("undone: got %q with %d and %s with %d reports, want 4 and 1 as before", a.Name, a.Reports, b.ID, b.Reports)
	}
	if got := eval[float64](ctx, t, `document.querySelectorAll(".decision-list form").length`); got != 0 {
		t.Errorf("left to undo: got %v, want nothing", got)
	}
}
