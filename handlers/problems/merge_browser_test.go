package problems_test

import (
	"testing"

	"github.com/chromedp/chromedp"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/handlers/browsertest"
	"mishap/handlers/handlertest"
	view "mishap/views/problems"
)

// TestDecideInBrowser merges two problems, names the result, splits off reports, and undoes
// everything from the history. It works without scripts and violates no security policy.
func TestDecideInBrowser(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	ada := site.AddUser(t, crash.RoleTriager)
	often, once := handlertest.Twins(t, site)
	site.Save(t, crashtest.Native(crashtest.Process(50), crashtest.Set("Architecture", "arm64")))
	ctx := browsertest.Start(t)
	browsertest.Do(ctx, t, chromedp.Navigate(site.URL+"/login"),
		browsertest.Type("#username", ada.Name), browsertest.Type("#password", handlertest.Password+"\r"),
		browsertest.WaitVisible(".account-name"),
		chromedp.Navigate(site.URL+once.ID.Path()), browsertest.Click(".decision-actions a"),
		browsertest.WaitVisible("#with"))
	browsertest.Do(ctx, t, browsertest.Type("#with", site.URL+often.ID.Path()+"\r"),
		browsertest.WaitVisible("table.merge-sides"))
	if got := browsertest.Eval[string](ctx, t,
		`[...document.querySelectorAll(".merge-sides mark")].map((m) => m.textContent).join(" ")`); got != "tide_reload tide_load" {
		t.Errorf("marked: got %q, want the differences", got)
	}
	browsertest.Do(ctx, t, browsertest.Type("#reason", "same row\r"), browsertest.WaitVisible(".flash-done form button"))
	if got := site.Bucket(t, once.ID); got.ID != often.ID {
		t.Fatalf("merged: got %s, want %s", got.ID, often.ID)
	}

	browsertest.Do(ctx, t, browsertest.Click(".decision-actions a:nth-of-type(3)"), browsertest.WaitVisible("#name"),
		browsertest.Type("#name", "The row parser\r"), browsertest.WaitVisible(".flash-done form button"))
	if got := browsertest.Eval[string](ctx, t, `document.querySelector("h1").textContent`); got != "The row parser" {
		t.Errorf("named: got %q", got)
	}

	browsertest.Do(ctx, t, browsertest.Click(".decision-actions a:nth-of-type(2)"),
		browsertest.WaitVisible(".term select"))
	browsertest.Eval[bool](ctx, t,
		`document.querySelector(".term select").value = "architecture"; document.querySelector(".term input").value = "arm64"; true`)
	browsertest.Do(ctx, t, browsertest.Click("form.decide[method=get] button"), browsertest.WaitVisible(".split-preview"))
	if got := browsertest.Eval[string](ctx, t,
		`document.querySelector(".split-preview h3").textContent.trim()`); got != "Of 5 reports, 1 would move and 4 "+
		"would stay" {
		t.Errorf("preview: got %q", got)
	}
	browsertest.Do(ctx, t, browsertest.Click(".split-preview button"), browsertest.WaitVisible(".flash-done form button"))
	if got := browsertest.Eval[string](ctx, t, `document.querySelector(".figures").innerText`); got == "" ||
		site.Bucket(t, often.ID).Reports != 4 {
		t.Errorf("split: got %q here and %d in the other problem, want 1 and 4", got, site.Bucket(t, often.ID).Reports)
	}

	// On a phone, nothing is wider than the screen.
	browsertest.Do(ctx, t, chromedp.EmulateViewport(360, 740))
	for _, path := range []string{
		once.ID.Path(), often.ID.Path() + "/merge", often.ID.Path() + "/rename", often.ID.Path() + "/traits",
		often.ID.Path() + "/split?field=architecture&value=amd64",
		view.MergeURL([]crash.BucketID{often.ID, crash.BucketIDOf(often.Signature + " [architecture arm64]")}),
	} {
		browsertest.Do(ctx, t, chromedp.Navigate(site.URL+path), browsertest.WaitVisible("main h1"))
		if got := browsertest.Eval[float64](ctx, t, `document.documentElement.scrollWidth`); got > 360 {
			t.Errorf("%s on a phone: got a page %v px wide: %s", path, got,
				browsertest.Eval[string](ctx, t,
					`[...document.querySelectorAll("*")].filter((e) => e.getBoundingClientRect().right > 360).map((e) => e.tagName + "." + e.className).slice(0, 8).join(" ")`))
		}
	}
	browsertest.Do(ctx, t, chromedp.EmulateViewport(1280, 900))

	// Undo everything, the last decision first.
	browsertest.Do(ctx, t, chromedp.Navigate(site.URL+once.ID.Path()), browsertest.WaitVisible(".came-from"))
	for range 3 {
		browsertest.Eval[bool](ctx, t, `document.body.dataset.before = "yes"`+`; true`)
		browsertest.Do(ctx, t, browsertest.Click(".decision-list form button"),
			browsertest.WaitVisible("body:not([data-before])"), browsertest.WaitVisible(".flash-done"))
	}
	if a, b := site.Bucket(t, often.ID), site.Bucket(t, once.ID); a.Name != "" || a.Reports != 4 || b.ID != once.ID ||
		b.Reports != 1 {
		t.Errorf("undone: got %q with %d and %s with %d reports, want 4 and 1 as before", a.Name, a.Reports, b.ID, b.Reports)
	}
	if got := browsertest.Eval[float64](ctx, t, `document.querySelectorAll(".decision-list form").length`); got != 0 {
		t.Errorf("decisions that can be undone: got %v, want none", got)
	}
}
