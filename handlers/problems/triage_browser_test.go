package problems_test

import (
	"slices"
	"testing"

	"github.com/chromedp/chromedp"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/handlers/browsertest"
	"mishap/handlers/handlertest"
)

// TestMuteInBrowser mutes problems in as few steps as possible: two clicks on the page, two clicks
// in a list, two keys in a list, and selected rows together.
func TestMuteInBrowser(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	ada := site.AddUser(t, crash.RoleTriager)
	b := site.Save(t, crashtest.Native())
	second := site.Save(t, crashtest.Python())
	ctx := browsertest.Start(t)
	const row = "table.problems tbody tr"
	unmute := func(id crash.BucketID) {
		t.Helper()
		m := handlertest.ManualStatus(t, site, id).Muted
		if m == nil {
			t.Fatalf("%s is not muted", id)
		}
		if _, err := site.Problems.Undo(t.Context(), m.ID, ada.Name); err != nil {
			t.Fatal(err)
		}
	}
	browsertest.Do(ctx, t, chromedp.Navigate(site.URL+"/login"),
		browsertest.Type("#username", ada.Name), browsertest.Type("#password", handlertest.Password+"\r"),
		browsertest.WaitVisible(".account-name"))

	// On the page: two clicks, in place. Then the key, a mistake, and Unmute.
	browsertest.Do(ctx, t, chromedp.Navigate(site.URL+b.ID.Path()), browsertest.WaitVisible("#manual a"))
	browsertest.Eval[bool](ctx, t, `window.stays = true`)
	browsertest.Do(ctx, t, browsertest.Click("#manual a[href$='/mute']"), browsertest.WaitVisible("#dialog .presets"),
		browsertest.Click("#dialog .presets button"), browsertest.WaitVisible("#manual .manual-line .state"),
		browsertest.WaitAbsent("#dialog[open]"), browsertest.WaitVisible("#flash form button"))
	if until := handlertest.ManualStatus(t, site, b.ID).Muted.Until; until.Date.IsZero() {
		t.Errorf("got a mute %s, want for a week", until)
	}
	browsertest.Do(ctx, t, browsertest.Click("#manual .manual-line button"),
		browsertest.WaitAbsent("#manual .manual-line"),
		browsertest.Press("m"), browsertest.WaitVisible("#dialog .presets"),
		browsertest.Click("#dialog .mute-other summary"),
		browsertest.Type("#mute-reports", "many\r"), browsertest.WaitVisible("#dialog .error"))
	browsertest.Eval[bool](ctx, t, `document.querySelector("#mute-reports").value = ""; true`)
	browsertest.Do(ctx, t, browsertest.Type("#mute-reports", "50\r"), browsertest.WaitAbsent("#dialog[open]"),
		browsertest.WaitVisible("#manual .manual-line"))
	if until := handlertest.ManualStatus(t, site, b.ID).Muted.Until; until != (crash.MuteUntil{Reports: 50}) {
		t.Errorf("got a mute %s, want until 50 more reports", until)
	}
	browsertest.Do(ctx, t, browsertest.Press("f"), browsertest.WaitVisible("#dialog #fix-0"),
		browsertest.Type("#fix-0", "99\r"),
		browsertest.WaitAbsent("#dialog[open]"),
		browsertest.Until(`document.querySelectorAll("#manual .manual-line").length === 2`))
	if !browsertest.Eval[bool](ctx, t, `window.stays === true`) {
		t.Error("the page was reloaded, want it to stay")
	}
	unmute(b.ID)

	// In a list: m and Enter mute the current row, which stays but is marked.
	browsertest.Do(ctx, t, chromedp.Navigate(site.URL+"/?period=year&sort=package"),
		browsertest.WaitVisible(row+" .select input"))
	browsertest.Eval[bool](ctx, t, `window.stays = true`)
	browsertest.Do(ctx, t, browsertest.Press("j"), browsertest.Press("m"),
		browsertest.WaitVisible("#dialog .presets"), browsertest.Press("\r"),
		browsertest.WaitAbsent("#dialog[open]"), browsertest.WaitVisible(row+" [data-muted]"),
		browsertest.WaitVisible("#flash form button"))
	if got := browsertest.Eval[int](ctx, t, `document.querySelectorAll("[data-muted]").length`); got != 1 {
		t.Errorf("got %d muted rows, want 1", got)
	}

	// Two clicks in the menu of the other row.
	browsertest.Do(ctx, t, browsertest.Click(row+":not(:has([data-muted])) a.row-menu"),
		browsertest.WaitVisible("#row-menu button"),
		browsertest.Click("#row-menu button"), browsertest.Until(`document.querySelectorAll("[data-muted]").length === 2`))
	if !browsertest.Eval[bool](ctx, t, `window.stays === true`) {
		t.Error("the list was reloaded, want it to stay")
	}
	unmute(b.ID)
	unmute(second.ID)

	// Selected rows together, by key, with a page that asks.
	browsertest.Do(ctx, t, chromedp.Navigate(site.URL+"/?period=year"), browsertest.WaitVisible("#select-all"),
		browsertest.Click("#select-all"), browsertest.Press("m"), browsertest.WaitVisible(".presets"),
		browsertest.Click(".presets button[value=newer]"), browsertest.WaitVisible(".hidden-muted"),
		browsertest.WaitAbsent(row))
	for _, id := range []crash.BucketID{b.ID, second.ID} {
		if m := handlertest.ManualStatus(t, site, id).Muted; m == nil || !m.Until.Newer {
			t.Errorf("%s: got %+v, want muted until the next version", id, m)
		}
	}
	browsertest.Do(ctx, t, browsertest.Click("#flash form button"), browsertest.WaitVisible(row))

	// The same for the version with the fix.
	browsertest.Do(ctx, t, browsertest.Click("#select-all"), browsertest.Press("f"), browsertest.WaitVisible("#fix-0"),
		browsertest.Type("#fix-0", "99\r"), browsertest.WaitVisible("#flash form button"), browsertest.WaitVisible(row))
	for _, id := range []crash.BucketID{b.ID, second.ID} {
		if m := handlertest.ManualStatus(t, site, id); !slices.ContainsFunc(m.Fixes,
			func(f crash.ManualFix) bool { return f.Version == "99" }) {
			t.Errorf("%s: got %+v, want fixed in 99", id, m)
		}
	}
}
