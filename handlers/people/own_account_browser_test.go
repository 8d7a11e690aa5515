package people_test

import (
	"testing"

	"github.com/chromedp/chromedp"

	"mishap/crash"
	"mishap/handlers/browsertest"
	"mishap/handlers/handlertest"
)

// TestOwnAccountInBrowser connects an account on the page of the practice tracker, chooses it in a
// review, and files a bug under that name. The page fits on a phone.
func TestOwnAccountInBrowser(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	tria, b := site.AddUser(t, crash.RoleTriager), nth(t, site, 1)
	ctx := browsertest.Start(t)
	browsertest.Do(ctx, t, chromedp.EmulateViewport(360, 800), chromedp.Navigate(site.URL+"/login"),
		browsertest.Type("#username", tria.Name), browsertest.Type("#password", handlertest.Password+"\r"),
		browsertest.WaitVisible(".account-name"))
	browsertest.Do(ctx, t, chromedp.Navigate(site.URL+"/account"), browsertest.Click("#own-request-token button"),
		browsertest.WaitVisible("#authorize"))
	if over := browsertest.Eval[int](ctx, t, `document.documentElement.scrollWidth - window.innerWidth`); over > 0 {
		t.Errorf("at 360 px the page is %d px too wide", over)
	}
	address := browsertest.Eval[string](ctx, t, `document.querySelector("#authorize").href`)
	browsertest.Do(ctx, t, chromedp.Navigate(address), browsertest.WaitVisible("input[name=person]"))
	browsertest.Eval[bool](ctx, t, `document.querySelector("input[name=person]").value = "tria-lp"; true`)
	browsertest.Do(ctx, t, browsertest.Click("button[name='field.actions.WRITE_PRIVATE']"),
		browsertest.Until(`document.body.innerText.includes("Almost finished")`),
		chromedp.Navigate(site.URL+"/account"), browsertest.Click("#own-access-token button"),
		browsertest.WaitVisible("#own-preferred"), browsertest.WaitVisible("#flash"))

	browsertest.Do(ctx, t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(site.URL+b.ID.Path()+"/review"),
		browsertest.Click("label[for=review-private]"), browsertest.WaitVisible("#file-as-own:checked"),
		browsertest.Click("#review-form button[value=file]"),
		browsertest.Until(`document.body.innerText.includes("You are its reporter, as ~tria-lp.")`))
	if got := reporterOf(t, site, b); got != "tria-lp" {
		t.Errorf("got a bug by %q, want by tria-lp", got)
	}
}
