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

// press returns a script that sends a key as a keyboard would.
func press(key string, shift bool) string {
	with := ""
	if shift {
		with = ", shiftKey: true"
	}
	return `document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "` + key +
		`", bubbles: true, cancelable: true` + with + `})); true`
}

// TestStatusInBrowser changes the bug of a problem in every possible way. The whole status on the
// page must follow without a reload.
func TestStatusInBrowser(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{CreateWait: handlertest.Patience})
	ada := site.AddUser(t, crash.RoleTriager)
	now := time.Now().UTC()
	problem := func(n int, signature string) crash.Bucket {
		b := site.Save(t, crashtest.Native(crashtest.Process(n), crashtest.At(now), crashtest.Set("DuplicateSignature",
			signature)))
		return site.Save(t, crashtest.Native(crashtest.Process(n+100), crashtest.At(now), crashtest.Set("DuplicateSignature",
			b.Signature)))
	}
	ctx := browsertest.Start(t)
	browsertest.Do(ctx, t, chromedp.Navigate(site.URL+"/login"),
		browsertest.Type("#username", ada.Name), browsertest.Type("#password", handlertest.Password+"\r"),
		browsertest.WaitVisible(".account-name"))
	open := func(path, wait string) {
		t.Helper()
		browsertest.Do(ctx, t, chromedp.Navigate(site.URL+path), browsertest.WaitVisible(wait))
		browsertest.Eval[bool](ctx, t, `window.stays = true`)
	}
	wantStatus := func(step string, has, hasNot []string) {
		t.Helper()
		text := browsertest.Eval[string](ctx, t, `document.querySelector("#status").innerText`)
		for _, want := range has {
			if !strings.Contains(text, want) {
				t.Errorf("%s: got the status %q, want %q in it", step, text, want)
			}
		}
		for _, stale := range hasNot {
			if strings.Contains(text, stale) {
				t.Errorf("%s: got the status %q, want no %q in it", step, text, stale)
			}
		}
		if n := browsertest.Eval[int](ctx, t, `document.querySelectorAll("#status").length`); n != 1 ||
			!browsertest.Eval[bool](ctx, t, `window.stays === true`) {
			t.Errorf("%s: got %d elements with the status, want one, without a reload", step, n)
		}
	}
	before, after := []string{"First seen in the past week", "Worth filing?", "Create"},
		[]string{"unread", "has not been read from the tracker yet"}

	created := problem(1, "created")
	open(created.ID.Path(), "#status .create-bug button")
	wantStatus("at first", before, nil)
	browsertest.Do(ctx, t, browsertest.Click("#status .create-bug button"), browsertest.WaitVisible("#status a.bug-link"))
	wantStatus("created", after, before)
	browsertest.Do(ctx, t, browsertest.Click("#status .bug-list button"),
		browsertest.WaitVisible("#status .create-bug button"))
	wantStatus("unlinked", before, after)
	browsertest.Do(ctx, t, browsertest.Click("#notes summary"),
		browsertest.Until(`document.activeElement.id === "new-note"`))

	reviewed := problem(2, "reviewed")
	open(reviewed.ID.Path(), "#status .review-link")
	for _, key := range []string{press("c", false), press("C", false)} { // the second with Caps Lock
		browsertest.Eval[bool](ctx, t, key)
		browsertest.Do(ctx, t, browsertest.WaitVisible("#review-heading"))
	}
	if n := len(site.Tracker.Bugs()); n != 1 {
		t.Errorf("c: got %d bugs, want no new one", n)
	}
	browsertest.Do(ctx, t, browsertest.Click(`#dialog button[value=file]`), browsertest.WaitVisible("#status a.bug-link"))
	wantStatus("filed", after, before)

	pressed := problem(3, "pressed")
	open(pressed.ID.Path(), "#status .create-bug button")
	browsertest.Eval[bool](ctx, t, press("C", true))
	browsertest.Do(ctx, t, browsertest.WaitVisible("#status a.bug-link"))
	wantStatus("pressed", after, before)
	if n := len(site.Tracker.Bugs()); n != 3 {
		t.Errorf("got %d bugs, want one for each problem", n)
	}
}

// TestCopiesOfACellInBrowser creates a bug on the page of a release that lists the problem twice.
func TestCopiesOfACellInBrowser(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{CreateWait: handlertest.Patience})
	ada := site.AddUser(t, crash.RoleTriager)
	b := site.Save(t, crashtest.Native(crashtest.At(time.Now().UTC())))
	ctx := browsertest.Start(t)
	cell := "#bug-" + b.ID.String()
	browsertest.Do(ctx, t, chromedp.Navigate(site.URL+"/login"),
		browsertest.Type("#username", ada.Name), browsertest.Type("#password", handlertest.Password+"\r"),
		browsertest.WaitVisible(".account-name"),
		chromedp.Navigate(site.URL+"/release/Ubuntu%2024.04"), browsertest.WaitVisible(cell+" button"),
		browsertest.WaitVisible(cell+"-new button"),
		browsertest.Click(cell+"-new button"), browsertest.WaitVisible(cell+"-new a.bug-link"),
		browsertest.WaitVisible(cell+" a.bug-link"))
	if n := len(site.Tracker.Bugs()); n != 1 {
		t.Errorf("got %d bugs, want 1", n)
	}
}
