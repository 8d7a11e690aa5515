package bugs_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/handlers/browsertest"
	"mishap/handlers/handlertest"
	"mishap/tracker/trackertest"
)

// TestCreateBugInBrowser tests the script behind Create in a real browser under the real policy.
func TestCreateBugInBrowser(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{CreateWait: time.Millisecond})
	ada := site.AddUser(t, crash.RoleTriager)
	ctx := browsertest.Start(t)
	browsertest.Do(ctx, t, chromedp.Navigate(site.URL+"/login"),
		browsertest.Type("#username", ada.Name), browsertest.Type("#password", handlertest.Password+"\r"),
		browsertest.WaitVisible(".account-name"))

	t.Run("in place", func(t *testing.T) {
		b := site.Save(t, crashtest.Native())
		site.Tracker.FailWith(trackertest.FaultSpec{Operation: trackertest.OpCreate, Fault: trackertest.Slow,
			Delay: 200 * time.Millisecond})
		cell := "#bug-" + b.ID.String()
		browsertest.Do(ctx, t, chromedp.Navigate(site.URL+b.ID.Path()), browsertest.WaitVisible(cell+" button"))
		// It records every text of the cell and checks that the document is not reloaded.
		browsertest.Eval[bool](ctx, t, `window.stays = true; window.words = [];
			new MutationObserver(() => {
				const word = document.querySelector("`+cell+`").innerText.trim().split("\n")[0];
				if (words.at(-1) !== word) words.push(word);
			}).observe(document.querySelector("`+cell+`"), {subtree: true, childList: true, characterData: true}); true`)
		browsertest.Do(ctx, t, browsertest.Focus(cell+" button"))
		browsertest.Eval[bool](ctx, t, `const button = document.querySelector("`+cell+
			` button"); button.click(); button.click(); button.click(); true`)
		browsertest.Do(ctx, t, browsertest.WaitVisible(cell+" a.bug-link"))
		number := strconv.FormatInt(site.Tracker.Bugs()[0].Number, 10)
		if got, want := browsertest.Eval[string](ctx, t, `words.join(", ")`), "Creating, "+number; got != want {
			t.Errorf("texts of the cell: got %q, want %q", got, want)
		}
		if !browsertest.Eval[bool](ctx, t, `window.stays === true`) {
			t.Error("the page was reloaded, want it to stay")
		}
		browsertest.Do(ctx, t, // the focus returns to the cell
			browsertest.Until(`(document.activeElement.id || document.activeElement.className).startsWith("bug")`))
		if got := len(site.Tracker.Bugs()); got != 1 {
			t.Errorf("got %d bugs, want 1", got)
		}
	})

	t.Run("no answer, then again", func(t *testing.T) {
		b := site.Save(t, crashtest.Native(crashtest.Process(2), crashtest.Set("DuplicateSignature", "no answer: 100% <b>")))
		cell := "#bug-" + b.ID.String()
		browsertest.Do(ctx, t, chromedp.Navigate(site.URL+b.ID.Path()), browsertest.WaitVisible(cell+" button"))
		browsertest.Eval[bool](ctx, t,
			`window.realFetch = window.fetch; window.fetch = () => Promise.reject(new TypeError("gone")); true`)
		browsertest.Do(ctx, t, browsertest.Click(cell+" button"), browsertest.WaitVisible(cell+" .bug-problem"))
		if got := browsertest.Eval[string](ctx, t, `document.querySelector("`+cell+
			` button").textContent`); got != "Create bug in the practice tracker" {
			t.Errorf("button: got %q, want its label again", got)
		}
		if got := browsertest.Eval[string](ctx, t, `document.querySelector("`+cell+
			` .bug-problem").textContent`); !strings.Contains(got, "did not answer") {
			t.Errorf("message: got %q, want one that the server did not answer", got)
		}
		browsertest.Eval[bool](ctx, t, `window.fetch = window.realFetch; true`)
		browsertest.Do(ctx, t, browsertest.Click(cell+" button"), browsertest.WaitVisible(cell+" a.bug-link"))
	})

	t.Run("signed out meanwhile", func(t *testing.T) {
		b := site.Save(t, crashtest.Native(crashtest.Process(3), crashtest.Set("DuplicateSignature", "signed out")))
		cell := "#bug-" + b.ID.String()
		browsertest.Do(ctx, t, chromedp.Navigate(site.URL+b.ID.Path()), browsertest.WaitVisible(cell+" button"))
		if err := site.People.Disable(t.Context(), "", ada.Name); err != nil {
			t.Fatal(err)
		}
		browsertest.Do(ctx, t, browsertest.Click(cell+" button"), browsertest.WaitVisible(cell+` [data-state="trouble"] a`))
		want := "/login?next=%2Fproblem%2F" + b.ID.String()
		if got := browsertest.Eval[string](ctx, t, `document.querySelector("`+cell+` a").getAttribute("href")`); got != want {
			t.Errorf("sign-in link: got %q, want %q", got, want)
		}
	})
}
