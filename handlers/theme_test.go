package handlers_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/handlers/browsertest"
	"mishap/handlers/handlertest"
)

// TestTheme checks that the server stores a theme and renders pages in it, for visitors from the
// cache and for people who are signed in.
func TestTheme(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	p.Several(3, crashtest.Native)
	system := p.Visitor(t).Get("/").Want(http.StatusOK)
	if system.HTML().Find("html[data-theme]").Length() != 0 || system.Attr("meta[name=color-scheme]",
		"content") != "light dark" {
		t.Error("got a theme before one was chosen, want that of the system")
	}
	for name, c := range map[string]*handlertest.Client{"visitor": p.Visitor(t), "viewer": p.As(t, crash.RoleViewer)} {
		for _, theme := range []string{"dark", "light"} {
			c.Get("/theme?theme="+theme+"&next=%2Fsearch%3Fq%3Dtide").WantRedirect(http.StatusSeeOther, "/search?q=tide")
			for range 2 { // the second one from the cache
				page := c.Get("/").Want(http.StatusOK)
				if got := page.Attr("html", "data-theme"); got != theme {
					t.Errorf("%s: got the theme %q, want %s", name, got, theme)
				}
				if got := page.Attr(`button[name=theme][aria-pressed="true"]`, "value"); got != theme {
					t.Errorf("%s: got the button %q pressed, want %s", name, got, theme)
				}
				if got := page.Attr("meta[name=color-scheme]", "content"); got != theme {
					t.Errorf("%s: got the scheme %q, want %s", name, got, theme)
				}
			}
		}
		c.Get("/theme?theme=system").WantRedirect(http.StatusSeeOther, "/")
		c.Get("/").WantNone("html[data-theme]")
		c.Get("/theme?theme=pink").Want(http.StatusBadRequest)
		c.Get("/theme?theme=dark&next=https%3A%2F%2Fevil.example").WantRedirect(http.StatusSeeOther, "/")
	}
	// Another visitor's theme does not reach the others, also as a revalidated page.
	tag := system.Header.Get("ETag")
	again := p.Visitor(t).Get("/").WantNone("html[data-theme]")
	if again.Header.Get("ETag") != tag {
		t.Errorf("got the tag %q, want still %q", again.Header.Get("ETag"), tag)
	}
	p.Visitor(t).Get("/", handlertest.Header{Name: "If-None-Match", Value: tag},
		handlertest.Header{Name: "Cookie", Value: "theme=dark"}).Want(http.StatusOK)
	p.Visitor(t).Get("/", handlertest.Header{Name: "Cookie", Value: `theme="><script>`}).WantNone("html[data-theme]")
}

// TestDialogInBrowser opens parts of pages in the dialog with keys: the focus moves in, Escape
// closes it, and the focus returns. It also switches the theme in place.
func TestDialogInBrowser(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	ada := site.AddUser(t, crash.RoleTriager)
	b := site.Save(t, crashtest.Native())
	ctx := browsertest.Start(t)
	browsertest.Do(ctx, t, chromedp.Navigate(site.URL+"/login"),
		browsertest.Type("#username", ada.Name), browsertest.Type("#password", handlertest.Password+"\r"),
		browsertest.WaitVisible(".account-name"), chromedp.Navigate(site.URL+b.ID.Path()),
		browsertest.WaitVisible("#status .review-link"))
	focus := func() string {
		return browsertest.Eval[string](ctx, t, `document.activeElement.id || document.activeElement.className`)
	}
	// The script gives the focus back when it handles "close", which follows later.
	browsertest.Eval[bool](ctx, t,
		`window.closes = 0; document.getElementById("dialog").addEventListener("close", () => window.closes++); true`)
	for i, tt := range []struct{ opener, key, inside, focus string }{
		{"review-link", "c", "#review-heading", "review-heading"},
		{"link-bug-link", "l", "#dialog #bug", "bug"},
		{"review-link", "?", "#dialog table.keys", "keys-title"},
	} {
		browsertest.Eval[bool](ctx, t, `document.querySelector("#status .`+tt.opener+`").focus() ?? true`)
		browsertest.Do(ctx, t, browsertest.Press(tt.key), browsertest.WaitVisible(tt.inside))
		if got := focus(); got != tt.focus {
			t.Errorf("%s: got the focus on %q, want %q", tt.key, got, tt.focus)
		}
		if got := browsertest.Eval[bool](ctx, t, `document.getElementById("dialog").matches(":modal")`); !got {
			t.Errorf("%s: got a dialog that is not modal", tt.key)
		}
		browsertest.Do(ctx, t, browsertest.Press("\x1b"), browsertest.WaitHidden(tt.inside),
			browsertest.Until(fmt.Sprintf("window.closes > %d", i)))
		if got := focus(); !strings.HasPrefix(got, tt.opener) {
			t.Errorf("%s, closed: got the focus on %q, want it back on %q", tt.key, got, tt.opener)
		}
	}
	browsertest.Eval[bool](ctx, t, `window.stays = true`)
	browsertest.Do(ctx, t, browsertest.Click(`button[name=theme][value=dark]`))
	if got := browsertest.Eval[string](ctx, t,
		`document.documentElement.dataset.theme + " " + window.stays`); got != "dark true" {
		t.Errorf("theme: got %q, want dark on the same page", got)
	}
	browsertest.Do(ctx, t, chromedp.Navigate(site.URL+"/"), browsertest.WaitVisible("main"))
	if got := browsertest.Eval[string](ctx, t,
		`getComputedStyle(document.documentElement).colorScheme`); !strings.Contains(got, "dark") {
		t.Errorf("next page: got the scheme %q, want dark", got)
	}
}
