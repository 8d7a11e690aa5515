package handlers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/db/dbtest"
	"mishap/handlers/handlertest"
	"mishap/notify/mail/mailtest"
	"mishap/views/gallery"
	problemsview "mishap/views/problems"
)

func TestMain(m *testing.M) { handlertest.Main(m) }

// screens are the screens that pages are checked on: wide and light, and a phone in dark mode.
var screens = []screen{{"light, 1600 px", 1600, "light"}, {"dark, 320 px", 320, "dark"}}

// screen is the width of a browser and the colour scheme that it prefers.
type screen struct {
	name   string
	width  int64
	scheme string
}

// TestAccessibility runs axe-core on a tenth of the gallery, which has every part in every state, and on pages
// of a real site, with their scripts and styles. TestMoreGalleryInBrowser has the whole gallery.
func TestAccessibility(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{SearchTime: time.Millisecond})
	often, once := handlertest.Twins(t, site)
	python := site.Save(t, crashtest.Python())
	site.Save(t, crashtest.Markup())
	site.Save(t, crashtest.Long())
	dbtest.Must(site.Bugs.LinkBug(t.Context(), python.ID, crash.Bug{Number: 2101233, URL: site.Tracker.URL +
		"/bugs/2101233", By: "ada"}))(t)
	ctx := startWithAxe(t)
	for i, screen := range screens {
		checkGallery(ctx, t, screen, checktest.EveryNth(gallery.Paths(), 10*len(screens), i))
	}
	problem := often.ID.Path()
	for i, path := range []string{python.ID.Path(), "/?period=year", problem,
		problemsview.MergeURL([]crash.BucketID{often.ID, once.ID})} {
		if i == 1 {
			site.SignInBrowser(ctx, t, crash.RoleAdmin)
		}
		screen := screens[i%len(screens)]
		setScreen(ctx, t, screen)
		handlertest.Do(ctx, t, chromedp.Navigate(site.URL+path), handlertest.WaitPresent("main"))
		checkPage(ctx, t, path, screen)
	}
}

// TestMoreGalleryInBrowser checks every page of the gallery on every screen.
func TestMoreGalleryInBrowser(t *testing.T) {
	t.Parallel()
	ctx := startWithAxe(t)
	for _, screen := range screens {
		checkGallery(ctx, t, screen, gallery.Paths())
	}
}

// startWithAxe starts Chromium with axe-core in every page. It sends the script once, not once per page.
func startWithAxe(t *testing.T) context.Context {
	t.Helper()
	script := dbtest.Must(os.ReadFile("testdata/axe/axe.min.js"))(t)
	ctx := handlertest.StartBrowser(t)
	handlertest.Do(ctx, t, chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, page.AddScriptToEvaluateOnNewDocument,
			page.AddScriptToEvaluateOnNewDocumentParams{Source: string(script)})
		return err
	}))
	return ctx
}

// axeRun runs axe-core on the page, with the rule about the size of controls (WCAG 2.2: 24 px), which is
// off by default. For it, the whole page is laid out, and messages are in the page: what they cover can be scrolled.
const axeRun = `var sheet = new CSSStyleSheet();
	sheet.replaceSync("* {content-visibility: visible !important} .flashes {position: static !important}");
	document.adoptedStyleSheets = [sheet];
	axe.run({resultTypes: ["violations"], rules: {"target-size": {enabled: true}}}).
	then((r) => JSON.stringify(r.violations))`

// checkGallery checks pages of the gallery on a screen: axe-core finds nothing, and at most one button is
// filled, so that the main action is obvious. Only the first page is loaded, and its body is replaced by those
// of the others. So the browser compiles axe-core once, which halves the processor time.
func checkGallery(ctx context.Context, t *testing.T, screen screen, paths []string) {
	t.Helper()
	server := httptest.NewServer(gallery.Handler(""))
	defer server.Close()
	setScreen(ctx, t, screen)
	handlertest.Do(ctx, t, chromedp.Navigate(server.URL), handlertest.WaitPresent("main"))
	with := 0
	for _, path := range paths {
		title, err := handlertest.Run(ctx, chromedp.Evaluate[string](fmt.Sprintf(replaceBody, path),
			chromedp.EvalAwaitPromise))
		if err != nil || title == "" {
			t.Fatalf("%s: got the title %q, %v", path, title, err)
		}
		checkPage(ctx, t, path, screen)
		switch filled := handlertest.Eval[[]string](ctx, t, filledButtons); {
		case len(filled) > 1:
			t.Errorf("%s: got the filled buttons %q, want at most one", path, filled)
		case len(filled) == 1:
			with++
		}
	}
	if with < 2 {
		t.Errorf("got %d pages with a filled button, want at least 2", with)
	}
}

// replaceBody is a script that replaces the body and the title of the page by those of another page, and
// returns the title.
const replaceBody = `fetch(%q).then((answer) => answer.text()).then((text) => {
	const page = new DOMParser().parseFromString(text, "text/html");
	document.body.replaceWith(document.adoptNode(page.body));
	return document.title = page.title;
})`

// setScreen changes the screen of the browser. It shows no animations: colours would otherwise change for a
// moment after the change of scheme.
func setScreen(ctx context.Context, t *testing.T, screen screen) {
	t.Helper()
	handlertest.Do(ctx, t, chromedp.EmulateViewport(screen.width, 900),
		chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
			_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
				Features: []*emulation.MediaFeature{
					{Name: "prefers-color-scheme", Value: screen.scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
				},
			})
			return err
		}), handlertest.Until(fmt.Sprintf(`matchMedia("(width: %dpx) and (prefers-color-scheme: %s)").matches`, screen.width,
			screen.scheme)))
}

// checkPage reports the violations that axe-core finds in the page as it is, and fails if the page is wider
// than the screen.
func checkPage(ctx context.Context, t *testing.T, what string, screen screen) {
	t.Helper()
	what += " (" + screen.name + ")"
	if wide := handlertest.Eval[float64](ctx, t, `document.documentElement.scrollWidth`); int64(wide) > screen.width {
		t.Errorf("%s: is %.0f px wide", what, wide)
	}
	runAxe(ctx, t, what)
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
	checktest.NoError(t, json.Unmarshal([]byte(result), &found))
	for _, violation := range found {
		for _, node := range violation.Nodes {
			t.Errorf("%s: %s: %s\n%v %s\n%s", what, violation.ID, violation.Help, node.Target, node.HTML,
				strings.ReplaceAll(node.FailureSummary, "\n", " "))
		}
	}
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

// story is a browser that counts clicks.
type story struct {
	t      *testing.T
	ctx    context.Context //nolint:containedctx // of the tab, for one test
	url    string
	clicks int
}

func (s *story) do(steps ...chromedp.Action[chromedp.Void]) {
	s.t.Helper()
	handlertest.Do(s.ctx, s.t, steps...)
}

// open opens an address, as the link in a mail does. The caller counts that click.
func (s *story) open(path, visible string) {
	s.t.Helper()
	s.do(chromedp.Navigate(s.url+path), handlertest.WaitVisible(visible))
}

// click clicks an element, and waits for another.
func (s *story) click(selector, visible string) {
	s.t.Helper()
	s.clicks++
	s.do(handlertest.Click(selector), handlertest.WaitVisible(visible))
}

// TestClicks counts the clicks of each story, the link in a mail among them, and checks what they do. The
// stories about a problem begin with the link in a real mail.
func TestClicks(t *testing.T) {
	t.Parallel()
	relay := mailtest.New(t)
	site := handlertest.New(t, handlertest.Options{SMTPURL: relay.URL})
	ada := site.AddUser(t, crash.RoleAdmin)
	b := handlertest.Candidates(t, site, 1)[0]
	checktest.NoError(t, site.Events.AskForMailAddress(t.Context(), ada.ID, "ada@example.org"))
	checktest.NoError(t, site.Events.ConfirmMailAddress(t.Context(), ada.ID, "ada@example.org"))
	handlertest.Publish(t, site, crash.Event{Edge: "1", Kind: crash.EventNew, Title: "tidewatch crashed", Bucket: &b.ID},
		ada.ID)
	checktest.NoError(t, site.Mailer.Round(t.Context()))
	mails := relay.Mails()
	problem := handlertest.LinkIn(t, mails[len(mails)-1], "/problem/")
	unsubscribe := handlertest.LinkIn(t, mails[len(mails)-1], "/unsubscribe/")
	ctx := handlertest.StartBrowser(t)
	s := &story{t: t, ctx: ctx, url: site.URL}
	// A visitor may unsubscribe, so this comes before signing in.
	stories := []struct {
		name   string
		clicks int
		run    func()
	}{
		{"unsubscribe, from a mail", 2, func() {
			s.clicks++
			s.open(unsubscribe, "#unsubscribe button")
			s.click("#unsubscribe button", "main [role=status]")
			settings, err := site.Events.MailSettings(t.Context(), ada.ID)
			if err != nil || settings.Mode != crash.MailOff {
				t.Errorf("unsubscribe: got mode %s, %v", settings.Mode, err)
			}
			s.do(chromedp.Navigate(site.URL+"/login"), handlertest.Type("#username", ada.Name),
				handlertest.Type("#password", handlertest.Password+"\r"), handlertest.WaitVisible(".account-name"))
		}},
		{"mute a problem for a week, from a mail", 3, func() {
			s.clicks++
			s.open(problem, "#manual")
			s.click("#manual a[href$='/mute']", "#dialog .presets")
			s.click("#dialog .presets button", "#manual .manual-line .state")
			if handlertest.ManualStatus(t, site, b.ID).Muted == nil {
				t.Error("the problem is not muted")
			}
		}},
		{"take a problem, from a mail", 2, func() {
			s.clicks++
			s.open(problem, "#people")
			const top = `document.querySelector("main").offsetTop`
			before := handlertest.Eval[float64](ctx, t, top)
			s.click("#assign-me button", "#flash .flash-done form button")
			checktest.Equal(t, "top of the page with a message", handlertest.Eval[float64](ctx, t, top), before)
			page := site.As(t, crash.RoleAdmin).Get(b.ID.Path())
			page.WantText("#people dd", ada.Name)
		}},
		{"mark a problem as fixed in a version, from a mail", 3, func() {
			s.clicks++
			s.open(problem, "#manual")
			s.click("#manual a[href$='/fixed']", "#dialog #fix-0")
			s.do(handlertest.Type("#fix-0", "99"))
			s.click("#dialog button.primary", "#flash .flash-done")
			if fixes := handlertest.ManualStatus(t, site, b.ID).Fixes; len(fixes) != 1 || fixes[0].Version != "99" {
				t.Errorf("fixed in: got %+v", fixes)
			}
		}},
		{"approve a candidate", 2, func() {
			s.open("/", "table.problems, .empty")
			s.click(".top-nav a[href='/candidates']", "#candidate-1")
			s.click("#candidate-1-approve button", "#candidate-1[data-state=filed]")
			checktest.Equal(t, "approve: bugs", len(site.Tracker.Bugs()), 1)
		}},
		{"file a bug, from a mail", 2, func() {
			other := site.Save(t, crashtest.Python())
			s.clicks++
			s.open(other.ID.Path(), "form.create-bug")
			s.click("form.create-bug button", ".bug-now .bug-link")
			checktest.Equal(t, "file: bugs", len(site.Tracker.Bugs()), 2)
		}},
		{"make a rule, with a preview", 5, func() {
			s.open("/", "main h1")
			s.click(".top-nav a[href^='/admin']", "main h1")
			s.click("a[href='/admin/rules']", ".rule-list")
			s.click("a[href='/admin/rules/new']", "#rule-form")
			s.do(handlertest.Type("#rule-name", "Harbour"))
			s.click("#rule-form button[value=rehearse]", "#rule-form button[value=save]")
			s.click("#rule-form button[value=save]", "#flash .flash-done")
			if n := handlertest.RuleCount(t, site); n != 7 { // the shipped ones, and that of candidates
				t.Errorf("make a rule: got %d rules, want 7", n)
			}
		}},
	}
	for _, one := range stories {
		s.clicks = 0
		one.run()
		checktest.Equal(t, one.name+": clicks", s.clicks, one.clicks)
	}
}

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
				checktest.Equal(t, name+": theme", page.Attr("html", "data-theme"), theme)
				if got := page.Attr(`button[name=theme][aria-pressed="true"]`, "value"); got != theme {
					t.Errorf("%s: got the button %q pressed, want %s", name, got, theme)
				}
				checktest.Equal(t, name+": scheme", page.Attr("meta[name=color-scheme]", "content"), theme)
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
	checktest.Equal(t, "tag", again.Header.Get("ETag"), tag)
	p.Visitor(t).Get("/", handlertest.Header{Name: "If-None-Match", Value: tag},
		handlertest.Header{Name: "Cookie", Value: "theme=dark"}).Want(http.StatusOK)
	p.Visitor(t).Get("/", handlertest.Header{Name: "Cookie", Value: `theme="><script>`}).WantNone("html[data-theme]")
}

// TestDialogInBrowser opens parts of pages in the dialog with keys: the focus moves in, Escape
// closes it, and the focus returns. It also switches the theme in place.
func TestDialogInBrowser(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	b := site.Save(t, crashtest.Native())
	ctx := handlertest.StartBrowser(t)
	site.SignInBrowser(ctx, t, crash.RoleTriager)
	handlertest.Do(ctx, t, chromedp.Navigate(site.URL+b.ID.Path()),
		handlertest.WaitVisible("#status .review-link"))
	focus := func() string {
		return handlertest.Eval[string](ctx, t, `document.activeElement.id || document.activeElement.className`)
	}
	// The script gives the focus back when it handles "close", which follows later.
	handlertest.Eval[bool](ctx, t,
		`window.closes = 0; document.getElementById("dialog").addEventListener("close", () => window.closes++); true`)
	for i, tt := range []struct{ opener, key, inside, focus string }{
		{"review-link", "c", "#review-heading", "review-heading"},
		{"link-bug-link", "l", "#dialog #bug", "bug"},
		{"review-link", "?", "#dialog table.keys", "dialog-heading"},
	} {
		handlertest.Eval[bool](ctx, t, `document.querySelector("#status .`+tt.opener+`").focus() ?? true`)
		handlertest.Do(ctx, t, handlertest.Press(tt.key), handlertest.WaitVisible(tt.inside))
		checktest.Equal(t, tt.key+": focus on", focus(), tt.focus)
		if got := handlertest.Eval[bool](ctx, t, `document.getElementById("dialog").matches(":modal")`); !got {
			t.Errorf("%s: got a dialog that is not modal", tt.key)
		}
		handlertest.Do(ctx, t, handlertest.Press("\x1b"), handlertest.WaitHidden(tt.inside),
			handlertest.Until(fmt.Sprintf("window.closes > %d", i)))
		if got := focus(); !strings.HasPrefix(got, tt.opener) {
			t.Errorf("%s, closed: got the focus on %q, want it back on %q", tt.key, got, tt.opener)
		}
	}
	handlertest.Eval[bool](ctx, t, `window.stays = true`)
	handlertest.Do(ctx, t, handlertest.Click(`button[name=theme][value=dark]`))
	if got := handlertest.Eval[string](ctx, t,
		`document.documentElement.dataset.theme + " " + window.stays`); got != "dark true" {
		t.Errorf("theme: got %q, want dark on the same page", got)
	}
	handlertest.Do(ctx, t, chromedp.Navigate(site.URL+"/"), handlertest.WaitVisible("main"))
	if got := handlertest.Eval[string](ctx, t,
		`getComputedStyle(document.documentElement).colorScheme`); !strings.Contains(got, "dark") {
		t.Errorf("next page: got the scheme %q, want dark", got)
	}
}

// TestServerAway loses the server, with or without a proxy in front of it, while a person works: the page says so
// beside what was pressed and keeps what was typed, and pressing again works.
func TestServerAway(t *testing.T) {
	t.Parallel()
	var target *url.URL
	var away atomic.Pointer[http.HandlerFunc] // answers instead of the server
	forward := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.SetXForwarded()
	}}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if instead := away.Load(); instead != nil {
			(*instead)(w, r)
			return
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	site := handlertest.New(t, handlertest.Options{BaseURL: proxy.URL})
	target = dbtest.Must(url.Parse(site.URL))(t)
	problem := site.Save(t, crashtest.Native()).ID.Path()
	ctx := handlertest.StartBrowser(t)
	site.SignInBrowser(ctx, t, crash.RoleTriager)
	ways := []http.HandlerFunc{
		func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, // which closes the connection
		func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadGateway) // as a proxy answers
		},
	}
	for _, tt := range []struct{ name, path, before, field, typed, press, done string }{
		{"link of a dialog", problem, "", "", "", "#manual a[href$='/fixed']", "#dialog #fix-0"},
		{"form in a dialog", problem, "#manual a[href$='/fixed']", "#fix-0", "99", "#dialog button.primary", ".flash-done"},
		{"action on rows", "/?period=year", "td.select input", "", "", "#bulk button[value=link]", "#bug"},
		{"link to a page", "/?period=year", "", "", "", "a[href='/new']", ".my-controls"},
		{"form that reads", "/?period=year", "details:has([action='/columns']) summary", "", "", "[action='/columns'] button",
			"details:not([open]):has([action='/columns'])"},
		{"plain form", "/account", "", "#token-name", "harbour", "#make-token button:not([type=button])", "#made-token"},
	} {
		handlertest.Do(ctx, t, chromedp.Navigate(proxy.URL+tt.path))
		if tt.before != "" {
			handlertest.Do(ctx, t, handlertest.Click(tt.before))
		}
		if tt.field != "" {
			handlertest.Do(ctx, t, handlertest.Type(tt.field, tt.typed))
		}
		for _, way := range ways {
			away.Store(&way)
			handlertest.Do(ctx, t, handlertest.Click(tt.press), handlertest.WaitVisible(".no-answer"))
		}
		if tt.field != "" {
			checktest.Equal(t, tt.name+": field", handlertest.Eval[string](ctx, t,
				`document.querySelector("`+tt.field+`").value`), tt.typed)
		}
		away.Store(nil)
		handlertest.Do(ctx, t, handlertest.Click(tt.press), handlertest.WaitVisible(tt.done))
	}

	missing := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/traits") {
			ways[0](w, r)
		}
		forward.ServeHTTP(w, r)
	})
	away.Store(&missing)
	handlertest.Do(ctx, t, chromedp.Navigate(proxy.URL+problem),
		handlertest.Until(`(document.querySelector(".traits").scrollIntoView(),
			document.getElementById("flash").textContent.includes("could not be loaded"))`))
}
