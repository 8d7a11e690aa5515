package handlers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/handlers/browsertest"
	"mishap/handlers/handlertest"
	bugsview "mishap/views/bugs"
	"mishap/views/gallery"
	"mishap/views/layout"
	problemsview "mishap/views/problems"
)

// screens are the screens that each page is checked on: wide and light, and a phone in dark mode.
var screens = []struct {
	name   string
	width  int64
	scheme string
}{{"light, 1600 px", 1600, "light"}, {"dark, 360 px", 360, "dark"}}

// TestAccessibility runs axe-core on every kind of page, as a visitor and signed in.
func TestAccessibility(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{SearchTime: time.Millisecond})
	often, once := handlertest.Twins(t, site)
	python := site.Save(t, crashtest.Python())
	site.Save(t, crashtest.Markup())
	site.Save(t, crashtest.Long())
	if _, err := site.Bugs.LinkBug(t.Context(), python.ID, crash.Bug{Number: 2101233, URL: site.Tracker.URL +
		"/bugs/2101233", By: "ada"}); err != nil {
		t.Fatal(err)
	}
	rows, err := site.Problems.BucketReports(t.Context(), often.ID, crash.OopsID{}, 1)
	if err != nil || len(rows) != 1 {
		t.Fatalf("got %d reports, %v", len(rows), err)
	}
	ctx := startWithAxe(t)
	public := []string{
		"/", "/?period=day&package=none-such", often.ID.Path(), python.ID.Path(), "/bug/2101233",
		"/search", "/search?q=tidewatch", "/search?q=none-such", "/search?q=colour%3Ared", "/package/tidewatch",
		"/release/Ubuntu%2024.04", "/keys", "/api", "/login", "/no-such-page",
	}
	for _, path := range public {
		checkAxe(ctx, t, site.URL+path)
	}

	ada := site.AddUser(t, crash.RoleAdmin)
	browsertest.Do(ctx, t, chromedp.Navigate(site.URL+"/login"),
		browsertest.Type("#username", ada.Name), browsertest.Type("#password", handlertest.Password+"\r"),
		browsertest.WaitVisible(".account-name"))
	problem := often.ID.Path()
	for _, path := range []string{
		"/", "/search?q=tidewatch", problem, python.ID.Path(), "/oops/" + rows[0].ID.String(), "/user/machine-1",
		problem + "/review", problem + "/link", problem + "/merge", problem + "/rename", problem + "/split",
		problem + "/traits",
		problemsview.MergeURL([]crash.BucketID{often.ID, once.ID}), "/account", "/my",
		"/admin/tracker", bugsview.PathUpdates, layout.PathTemplates, layout.PathRegroup, layout.PathPrivacy,
		layout.PathErasures, "/user/abc/erase", layout.PathFilings, layout.PathSymbols,
	} {
		checkAxe(ctx, t, site.URL+path)
	}
}

// TestGalleryInBrowser checks each page of the gallery, which has every part in every state, with and
// without rights: axe-core finds nothing, and at most one button is filled, so that the main action is
// obvious. Only the first page is loaded, and its body is replaced by those of the others. So the browser
// compiles axe-core once, which halves the processor time (36 s instead of 78 s).
func TestGalleryInBrowser(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(gallery.Handler(""))
	t.Cleanup(server.Close)
	ctx := startWithAxe(t)
	browsertest.Do(ctx, t, chromedp.Navigate(server.URL), browsertest.WaitPresent("main"))
	with := 0
	for _, path := range gallery.Paths() {
		title, err := browsertest.Run(ctx, chromedp.Evaluate[string](fmt.Sprintf(replaceBody, path),
			chromedp.EvalAwaitPromise))
		if err != nil || title == "" {
			t.Fatalf("%s: got the title %q, %v", path, title, err)
		}
		checkScreens(ctx, t, path)
		switch filled := browsertest.Eval[[]string](ctx, t, filledButtons); {
		case len(filled) > 1:
			t.Errorf("%s: got the filled buttons %q, want at most one", path, filled)
		case len(filled) == 1:
			with++
		}
	}
	if with < 5 {
		t.Errorf("got %d pages with a filled button, want at least 5", with)
	}
}

// replaceBody is a script that replaces the body and the title of the page by those of another page, and
// returns the title.
const replaceBody = `fetch(%q).then((answer) => answer.text()).then((text) => {
	const page = new DOMParser().parseFromString(text, "text/html");
	document.body.replaceWith(document.adoptNode(page.body));
	return document.title = page.title;
})`

// startWithAxe starts Chromium with axe-core in every page. It sends the script once, not once per page.
func startWithAxe(t *testing.T) context.Context {
	t.Helper()
	script, err := os.ReadFile("testdata/axe/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	ctx := browsertest.Start(t)
	browsertest.Do(ctx, t, chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, page.AddScriptToEvaluateOnNewDocument,
			page.AddScriptToEvaluateOnNewDocumentParams{Source: string(script)})
		return err
	}))
	return ctx
}

// axeRun runs axe-core on the page, with the rule about the size of controls (WCAG 2.2: 24 px), which is
// off by default.
const axeRun = `axe.run({resultTypes: ["violations"], rules: {"target-size": {enabled: true}}}).
	then((r) => JSON.stringify(r.violations))`

// checkAxe loads a page and checks it on every screen.
func checkAxe(ctx context.Context, t *testing.T, address string) {
	t.Helper()
	browsertest.Do(ctx, t, chromedp.Navigate(address), browsertest.WaitPresent("main"))
	checkScreens(ctx, t, address)
}

// checkScreens checks the page in the browser on every screen, and reports the violations that axe-core
// finds. It also fails if the page is wider than the window. It changes the screen of the loaded page, as
// somebody does who turns a tablet.
func checkScreens(ctx context.Context, t *testing.T, what string) {
	t.Helper()
	for _, screen := range screens {
		browsertest.Do(ctx, t, chromedp.EmulateViewport(screen.width, 900), scheme(screen.scheme),
			browsertest.Until(fmt.Sprintf(`matchMedia("(width: %dpx) and (prefers-color-scheme: %s)").matches`, screen.width,
				screen.scheme)))
		if wide := browsertest.Eval[float64](ctx, t, `document.documentElement.scrollWidth`); int64(wide) > screen.width {
			t.Errorf("%s (%s): is %.0f px wide", what, screen.name, wide)
		}
		runAxe(ctx, t, what+" ("+screen.name+")")
	}
}

// runAxe reports the violations that axe-core finds in the page as it is. The browser comes from
// startWithAxe.
func runAxe(ctx context.Context, t *testing.T, what string) {
	t.Helper()
	var found []struct {
		ID, Help string
		Nodes    []struct {
			Target         []any
			HTML           string
			FailureSummary string
		}
	}
	result, err := chromedp.Run(ctx, chromedp.Evaluate[string](
		axeRun, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatalf("%s: axe: %v", what, err)
	}
	if err := json.Unmarshal([]byte(result), &found); err != nil {
		t.Fatal(err)
	}
	for _, violation := range found {
		for _, node := range violation.Nodes {
			t.Errorf("%s: %s: %s\n%v %s\n%s", what, violation.ID, violation.Help, node.Target, node.HTML,
				strings.ReplaceAll(node.FailureSummary, "\n", " "))
		}
	}
}

// scheme emulates a browser that prefers the named colour scheme, light or dark, and no animations:
// colours would otherwise change for a moment after the change of scheme.
func scheme(name string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{
				{Name: "prefers-color-scheme", Value: name}, {Name: "prefers-reduced-motion", Value: "reduce"},
			},
		})
		return err
	})
}

// filledButtons is a script that returns the texts of the visible buttons with the accent colour as
// background, except chips and other marks of a choice.
const filledButtons = `(() => {
	const probe = document.body.appendChild(document.createElement("i"));
	probe.style.backgroundColor = "var(--accent)";
	const accent = getComputedStyle(probe).backgroundColor;
	probe.remove();
	return [...document.querySelectorAll("button, .button, input[type=submit]")]
		.filter((e) => e.checkVisibility({visibilityProperty: true}) && getComputedStyle(e).backgroundColor === accent)
		.map((e) => e.textContent.trim());
})()`
