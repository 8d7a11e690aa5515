package problems_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"mishap/crash"
	"mishap/handlers/browsertest"
	"mishap/handlers/handlertest"
)

// TestAssignInBrowser assigns a problem by key and by one click, in place, and several from the
// list.
func TestAssignInBrowser(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	ada := site.AddUser(t, crash.RoleTriager)
	site.AddUser(t, crash.RoleViewer)
	first, second := site.Save(t, handlertest.Numbered(1)), site.Save(t, handlertest.Numbered(2))
	ctx := browsertest.Start(t)
	browsertest.Do(ctx, t, chromedp.Navigate(site.URL+"/login"),
		browsertest.Type("#username", ada.Name), browsertest.Type("#password", handlertest.Password+"\r"),
		browsertest.WaitVisible(".account-name"),
		chromedp.Navigate(site.URL+first.ID.Path()), browsertest.WaitVisible("#people"))
	assigned := func() string {
		t.Helper()
		return browsertest.Eval[string](ctx, t, `document.querySelector("#people dd").innerText.split("\n")[0].trim()`)
	}
	browsertest.Eval[bool](ctx, t, `window.stays = true`)
	// One click.
	browsertest.Do(ctx, t, browsertest.Click("#assign-me button"), browsertest.WaitVisible("#flash .flash-done "+
		"form button"),
		browsertest.WaitAbsent("#assign-me"))
	if got := assigned(); !strings.HasPrefix(got, ada.Name) {
		t.Errorf("assigned to me: got %q", got)
	}
	// The key opens the form with the cursor in the field, which suggests names.
	browsertest.Do(ctx, t, browsertest.Press("a"), browsertest.Until(`document.activeElement?.id === "assignee"`),
		browsertest.Press("ada-v"), browsertest.WaitPresent(`#assignee-offers option[value="ada-viewer"]`),
		browsertest.Press("x\r"), browsertest.WaitVisible("#assign .error"))
	browsertest.Eval[bool](ctx, t, `document.querySelector("#assignee").value = ""; true`)
	browsertest.Do(ctx, t, browsertest.Type("#assignee", "ada-viewer\r"), browsertest.WaitVisible("#assign-me"))
	if got := assigned(); !strings.HasPrefix(got, "ada-viewer") {
		t.Errorf("assigned by name: got %q", got)
	}
	browsertest.Do(ctx, t, browsertest.Click("#people dd:nth-of-type(2) summary"),
		browsertest.Until(`document.activeElement?.id === "tag"`), browsertest.Press("SRU\r"),
		browsertest.WaitVisible(".problem-tags"), browsertest.Click("#follow button"),
		browsertest.WaitVisible("#follow .state-done"))
	if !browsertest.Eval[bool](ctx, t, `window.stays === true`) {
		t.Error("the page was reloaded, want it to stay")
	}
	browsertest.Do(ctx, t, browsertest.Click(".problem-tags button"), browsertest.WaitAbsent(".problem-tags"))
	browsertest.Do(ctx, t, browsertest.Click("#flash form button"), browsertest.WaitVisible(".problem-tags"))

	// From the list: the current row and the selected ones.
	browsertest.Do(ctx, t, chromedp.Navigate(site.URL+"/?period=year"), browsertest.WaitVisible("table.problems"),
		browsertest.Press("j"), browsertest.Press("x"), browsertest.Press("j"), browsertest.Press("a"),
		browsertest.WaitVisible("#assign-chosen"))
	browsertest.Do(ctx, t, browsertest.Click(`#assign-chosen button[value="me"]`),
		browsertest.WaitVisible("#flash .flash-done"))
	for _, b := range []crash.Bucket{first, second} {
		browsertest.Do(ctx, t, chromedp.Navigate(site.URL+b.ID.Path()), browsertest.WaitVisible("#people"))
		if got := assigned(); !strings.HasPrefix(got, ada.Name) {
			t.Errorf("assigned from the list: got %q", got)
		}
	}

	// On a phone, nothing is wider than the screen.
	browsertest.Do(ctx, t, chromedp.EmulateViewport(360, 740))
	for _, path := range []string{first.ID.Path(), "/?period=year", "/my",
		"/problems/assign?problems=" + first.ID.String() + "." + second.ID.String(), "/searches"} {
		browsertest.Do(ctx, t, chromedp.Navigate(site.URL+path), browsertest.WaitVisible("main h1"))
		if got := browsertest.Eval[float64](ctx, t, `document.documentElement.scrollWidth`); got > 360 {
			t.Errorf("%s on a phone: got a page %v px wide", path, got)
		}
	}
}
