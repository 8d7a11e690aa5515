package handlers_test

import (
	"context"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/handlers/handlertest"
	"mishap/tracker/trackertest"
)

// TestCreateBugInBrowser is what the script around Create does, in a real browser under the real policy.
func TestCreateBugInBrowser(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{CreateWait: time.Millisecond})
	ada := site.AddUser(t, crash.RoleTriager)
	ctx := browser(t)
	do(ctx, t, chromedp.Navigate(site.URL+"/login"),
		chromedp.SendKeys("#username", ada.Name), chromedp.SendKeys("#password", handlertest.Password+"\r"),
		chromedp.WaitVisible(".account-name"))

	t.Run("in place", func(t *testing.T) {
		b := site.Save(t, crashtest.Native())
		site.Tracker.FailWith(trackertest.FaultSpec{Operation: trackertest.OpCreate, Fault: trackertest.Slow, Delay: 200 * time.Millisecond})
		cell := "#bug-" + b.ID.String()
		do(ctx, t, chromedp.Navigate(site.URL+b.ID.Path()), chromedp.WaitVisible(cell+" button"))
		// What a screen reader and a person see: the words of the cell, one after the other, and the document stays.
		eval[bool](ctx, t, `window.stays = true; window.words = [];
			new MutationObserver(() => {
				const word = document.querySelector("`+cell+`").innerText.trim();
				if (words.at(-1) !== word) words.push(word);
			}).observe(document.querySelector("`+cell+`"), {subtree: true, childList: true, characterData: true}); true`)
		do(ctx, t, chromedp.Focus(cell+" button"))
		eval[bool](ctx, t, `const button = document.querySelector("`+cell+` button"); button.click(); button.click(); button.click(); true`)
		do(ctx, t, chromedp.WaitVisible(cell+" a.bug-link"))
		number := strconv.FormatInt(site.Tracker.Bugs()[0].Number, 10)
		if got, want := eval[string](ctx, t, `words.join(", ")`), "Creating, "+number; got != want {
			t.Errorf("words: got %q, want %q", got, want)
		}
		if !eval[bool](ctx, t, `window.stays === true`) {
			t.Error("the page was loaded again, want it to stay")
		}
		if got := eval[string](ctx, t, `document.activeElement.id || document.activeElement.className`); !strings.HasPrefix(got, "bug") {
			t.Errorf("focus: got %q, want it in the cell", got)
		}
		if got := len(site.Tracker.Bugs()); got != 1 {
			t.Errorf("got %d bugs, want 1", got)
		}
	})

	t.Run("no answer, then again", func(t *testing.T) {
		b := site.Save(t, crashtest.Native(crashtest.Process(2), crashtest.Set("DuplicateSignature", "no answer: 100% <b>")))
		cell := "#bug-" + b.ID.String()
		do(ctx, t, chromedp.Navigate(site.URL+b.ID.Path()), chromedp.WaitVisible(cell+" button"))
		eval[bool](ctx, t, `window.realFetch = window.fetch; window.fetch = () => Promise.reject(new TypeError("gone")); true`)
		do(ctx, t, chromedp.Click(cell+" button"), chromedp.WaitVisible(cell+" .bug-problem"))
		if got := eval[string](ctx, t, `document.querySelector("`+cell+` button").textContent`); got != "Create" {
			t.Errorf("button: got %q, want Create again", got)
		}
		if got := eval[string](ctx, t, `document.querySelector("`+cell+` .bug-problem").textContent`); !strings.Contains(got, "did not answer") {
			t.Errorf("problem: got %q, want that the server did not answer", got)
		}
		eval[bool](ctx, t, `window.fetch = window.realFetch; true`)
		do(ctx, t, chromedp.Click(cell+" button"), chromedp.WaitVisible(cell+" a.bug-link"))
	})

	t.Run("signed out meanwhile", func(t *testing.T) {
		b := site.Save(t, crashtest.Native(crashtest.Process(3), crashtest.Set("DuplicateSignature", "signed out")))
		cell := "#bug-" + b.ID.String()
		do(ctx, t, chromedp.Navigate(site.URL+b.ID.Path()), chromedp.WaitVisible(cell+" button"))
		if err := site.Accounts.Disable(t.Context(), "", ada.Name); err != nil {
			t.Fatal(err)
		}
		do(ctx, t, chromedp.Click(cell+" button"), chromedp.WaitVisible(cell+` [data-state="trouble"] a`))
		want := "/login?next=%2Fproblem%2F" + b.ID.String()
		if got := eval[string](ctx, t, `document.querySelector("`+cell+` a").getAttribute("href")`); got != want {
			t.Errorf("way on: got %q, want %q", got, want)
		}
	})
}

// browser starts Chromium with a fresh profile; it ends with the test.
func browser(t *testing.T) context.Context {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Fatal("no Chromium; install it: apt-get install chromium")
	}
	options := append([]chromedp.ExecAllocatorOption{}, chromedp.DefaultExecAllocatorOptions[:]...)
	options = append(options, chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.Flag("disable-dev-shm-usage", true))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil { // starts it; no deadline may be set yet
		t.Fatalf("start Chromium: %v", err)
	}
	return ctx
}

// do runs actions, and gives up after a while.
func do(ctx context.Context, t *testing.T, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		page, _ := chromedp.Run(ctx, chromedp.OuterHTML("html"))
		t.Fatalf("browser: %v\n%s", err, page)
	}
}

// eval is the value of a script.
func eval[T any](ctx context.Context, t *testing.T, script string) T {
	t.Helper()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](script))
	if err != nil {
		t.Fatalf("script %s: %v", script, err)
	}
	return value
}
