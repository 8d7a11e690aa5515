package handlers_test

import (
	"fmt"
	"net/url"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/db/dbtest"
	"mishap/handlers/browsertest"
	"mishap/handlers/handlertest"
)

// TestMentionsInBrowser completes names in a note by key, by mouse and by touch, and checks what
// assistive technology gets.
func TestMentionsInBrowser(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	ada := site.AddUser(t, crash.RoleTriager)
	for _, name := range []string{"berta", "bernd", "bert.x"} {
		dbtest.AddUser(t, site.Store, name, crash.RoleViewer, handlertest.Password)
	}
	b := site.Save(t, crashtest.Native())
	ctx := startWithAxe(t)
	const list, options, note = ".mentions", `.mentions [role="option"]`, "#new-note"
	value := func(want string) {
		t.Helper()
		if got := browsertest.Eval[string](ctx, t, `document.querySelector("#new-note").value`); got != want {
			t.Errorf("the note is %q, want %q", got, want)
		}
	}
	selected := func(name string) chromedp.Action[chromedp.Void] {
		return browsertest.Until(fmt.Sprintf(`(() => {
			const field = document.querySelector("#new-note");
			const option = document.getElementById(field.getAttribute("aria-activedescendant"));
			return document.activeElement === field && option?.textContent === %q &&
				option.getAttribute("aria-selected") === "true" && option.closest("[role=listbox]").id ===
				field.getAttribute("aria-controls") && document.querySelectorAll("[aria-selected=true]").length === 1;
		})()`, name))
	}
	says := func(text string) chromedp.Action[chromedp.Void] {
		return browsertest.Until(fmt.Sprintf(`document.querySelector(".notes [role=status]").textContent === %q`, text))
	}
	browsertest.Do(ctx, t, chromedp.Navigate(site.URL+"/login"),
		browsertest.Type("#username", ada.Name), browsertest.Type("#password", handlertest.Password+"\r"),
		browsertest.WaitVisible(".account-name"),
		chromedp.Navigate(site.URL+b.ID.Path()), browsertest.Click("#notes > details > summary"))

	// Keys: the first name is selected, arrows move and wrap around, Enter inserts, a further name filters.
	browsertest.Do(ctx, t, browsertest.Type(note, "Ask @ber"), browsertest.WaitVisible(list), selected("bernd"),
		says("3 names. Arrow keys select, Enter inserts."))
	runAxe(ctx, t, "the list of names")
	browsertest.Do(ctx, t, browsertest.Press(kb.ArrowDown), selected("bert.x"), browsertest.Press(kb.ArrowUp),
		selected("bernd"), browsertest.Press(kb.ArrowUp), selected("berta"), browsertest.Press("\r"),
		browsertest.WaitHidden(list), says(""))
	value("Ask @berta ")
	browsertest.Do(ctx, t, browsertest.Press("or @bert."), selected("bert.x"), browsertest.Press("\t"),
		browsertest.WaitHidden(list), browsertest.Until(`document.activeElement?.id === "new-note"`))
	value("Ask @berta or @bert.x ")

	// Escape closes the list and leaves the text; so does a whole name, after which Enter is a line.
	browsertest.Do(ctx, t, browsertest.Press("and @b"), selected("bernd"), browsertest.Press(kb.Escape),
		browsertest.WaitHidden(list), browsertest.Press("er"), selected("bernd"), browsertest.Press("nd"),
		browsertest.WaitHidden(list), browsertest.Press("\r"))
	value("Ask @berta or @bert.x and @bernd\n")

	// An address or a path is no mention; an unknown name offers nothing but says so.
	browsertest.Do(ctx, t, browsertest.Press("x@ber /@ber @zz"), says("No names."), browsertest.WaitHidden(list))

	// The mouse, in the middle of a text, and a finger.
	browsertest.Eval[bool](ctx, t, `(() => {
		const field = document.querySelector("#new-note");
		field.value = "See  again";
		field.setSelectionRange(4, 4);
		return true;
	})()`)
	browsertest.Do(ctx, t, browsertest.Press("@BER"), browsertest.WaitVisible(list),
		browsertest.Click(options+":nth-child(2)"), browsertest.WaitHidden(list))
	value("See @bert.x again")
	browsertest.Do(ctx, t, chromedp.EmulateViewport(360, 740, chromedp.EmulateTouch), browsertest.Press(" @"),
		browsertest.WaitVisible(list), says("4 names. Arrow keys select, Enter inserts."))
	if got := browsertest.Eval[float64](ctx, t, `document.documentElement.scrollWidth`); got > 360 {
		t.Errorf("on a phone: got a page %v px wide", got)
	}
	browsertest.Do(ctx, t, browsertest.Tap(options+":nth-child(3)"), browsertest.WaitHidden(list))
	value("See @bert.x @bert.x again")

	// Leaving the field closes the list.
	browsertest.Do(ctx, t, browsertest.Press(" @"), browsertest.WaitVisible(list), browsertest.Focus("#q"),
		browsertest.WaitHidden(list))

	// Another note has a list of its own.
	site.As(t, crash.RoleTriager).Post(b.ID.Path()+"/notes", url.Values{"text": {"First."}})
	browsertest.Do(ctx, t, chromedp.Navigate(site.URL+b.ID.Path()), browsertest.Click(".note-folds summary"),
		browsertest.Focus("#note-1"), browsertest.Until(`(document.querySelector("#note-1").setSelectionRange(6, 6), true)`),
		browsertest.Press(" @bernd"), browsertest.WaitPresent("#note-1-names"), browsertest.WaitHidden("#note-1-names"),
		browsertest.Click(".note-folds .buttons button"), browsertest.WaitVisible(".mention"))
}
