package handlertest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"mishap/crash"
	"mishap/crash/checktest"
)

// stepTime limits one step in the browser. A step that works takes moments. The limit only makes a
// step that never ends fail with a description of the page, however slow the machine is.
const stepTime = 5 * time.Minute

// shared is the headless Chromium of this process, in which each test has windows and cookies of its own.
var shared struct {
	sync.Mutex
	browser context.Context //nolint:containedctx // nil: it has not been started
	stop    func()
}

// Main runs the tests of a package that uses [StartBrowser], and ends the browser.
func Main(m *testing.M) {
	m.Run()
	if shared.stop != nil {
		shared.stop()
	}
}

// StartBrowser returns the context of a tab in a headless Chromium, with a profile of its own that ends with the
// test. The tests of a process share the browser, because starting it takes a second of processor time.
//
// The actions below find elements with scripts in the page. chromedp's own actions read a tree of nodes
// that its event loop changes at the same time, and some of them without its lock, which the race
// detector reports against whatever test runs. Tests use chromedp directly only for what touches no
// nodes: Navigate, Evaluate and protocol calls.
func StartBrowser(t testing.TB) context.Context {
	t.Helper()
	checktest.Needs(t, "Chromium")
	ctx, closeTab := chromedp.NewContext(sharedBrowser(t), chromedp.WithNewBrowserContext())
	t.Cleanup(closeTab)
	// No deadline may be set yet. All tabs behave as if they had the focus, which only one has.
	if _, err := chromedp.Call(ctx, emulation.SetFocusEmulationEnabled,
		emulation.SetFocusEmulationEnabledParams{Enabled: true}); err != nil {
		t.Fatalf("open a tab: %v", err)
	}
	return ctx
}

// sharedBrowser starts the browser, unless it runs.
func sharedBrowser(t testing.TB) context.Context {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.browser != nil {
		return shared.browser
	}
	folder, err := os.MkdirTemp("", "mishap-browser-")
	checktest.NoError(t, err)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program(t)),
		chromedp.UserDataDir(filepath.Join(folder, "profile")), chromedp.Env("TMPDIR="+folder),
		chromedp.WindowSize(1280, 900), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("no-proxy-server", true),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"), chromedp.WSURLReadTimeout(stepTime))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, closeTab := chromedp.NewContext(ctx)
	shared.stop = func() {
		closeTab()
		stop()
		_ = os.RemoveAll(folder) // a temporary folder
	}
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil { // starts it
		t.Fatalf("start Chromium: %v", err)
	}
	shared.browser = ctx
	return ctx
}

// SignInBrowser gives a browser the session of a client with this role, without the page for signing in.
func (s *Site) SignInBrowser(ctx context.Context, t testing.TB, role crash.Role) {
	t.Helper()
	if _, err := chromedp.Call(ctx, network.SetCookie, network.SetCookieParams{Name: "sessionid",
		Value: s.As(t, role).Cookie("sessionid"), URL: s.URL}); err != nil {
		t.Fatalf("sign in: %v", err)
	}
}

// program returns the path of Chromium.
func program(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable",
		"headless-shell"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("Chromium is missing; on Debian and Ubuntu: sudo apt-get install chromium")
	return ""
}

// Do runs steps, each within stepTime. It fails the test at the first error and shows the page.
func Do(ctx context.Context, t testing.TB, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	for i, step := range steps {
		if _, err := Run(ctx, step); err != nil {
			t.Fatalf("step %d in the browser: %v; the page is\n%s", i+1, err, Page(ctx))
		}
	}
}

// Run runs one action within stepTime.
func Run[T any](ctx context.Context, action chromedp.Action[T]) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	return chromedp.Run(ctx, action)
}

// Eval returns the value of a script in the page.
func Eval[T any](ctx context.Context, t testing.TB, script string) T {
	t.Helper()
	value, err := Run(ctx, chromedp.Evaluate[T](script))
	if err != nil {
		t.Fatalf("script %s: %v", script, err)
	}
	return value
}

// Page returns the address and the visible text of the page, for messages.
func Page(ctx context.Context) string {
	text, err := Run(ctx, chromedp.Evaluate[string](`location.href + "\n" + document.body.innerText`))
	if err != nil {
		return fmt.Sprintf("(the page cannot be read: %v)", err)
	}
	return text
}

// visible is a script that reports whether an element takes up space and no style hides it.
const visible = `(e => e.getClientRects().length > 0 && e.checkVisibility({visibilityProperty: true}))`

// Until waits until a script returns true.
func Until(condition string) chromedp.Action[chromedp.Void] {
	return func(ctx context.Context, t *chromedp.Target) (done chromedp.Void, err error) {
		_, err = until(ctx, t, condition, func(holds bool) bool { return holds })
		return done, err
	}
}

// WaitVisible waits until an element that matches the CSS selector is visible.
func WaitVisible(selector string) chromedp.Action[chromedp.Void] {
	return Until(fmt.Sprintf(`[...document.querySelectorAll(%s)].some(%s)`, quote(selector), visible))
}

// WaitHidden waits until no element that matches the CSS selector is visible.
func WaitHidden(selector string) chromedp.Action[chromedp.Void] {
	return Until(fmt.Sprintf(`![...document.querySelectorAll(%s)].some(%s)`, quote(selector), visible))
}

// WaitPresent waits until an element matches the CSS selector, visible or not.
func WaitPresent(selector string) chromedp.Action[chromedp.Void] {
	return Until(fmt.Sprintf(`document.querySelector(%s) !== null`, quote(selector)))
}

// WaitAbsent waits until no element matches the CSS selector.
func WaitAbsent(selector string) chromedp.Action[chromedp.Void] {
	return Until(fmt.Sprintf(`document.querySelector(%s) === null`, quote(selector)))
}

// Click clicks the first visible element that matches the CSS selector, once nothing covers it.
func Click(selector string) chromedp.Action[chromedp.Void] {
	return clickTimes(selector, 1)
}

// clickTimes clicks n times in quick succession, as a double click does.
func clickTimes(selector string, n int) chromedp.Action[chromedp.Void] {
	return func(ctx context.Context, t *chromedp.Target) (done chromedp.Void, err error) {
		at, err := uncovered(ctx, t, selector)
		for i := 1; err == nil && i <= n; i++ {
			_, err = chromedp.MouseClickXY(at[0], at[1], chromedp.ClickCount(i))(ctx, t)
		}
		return done, err
	}
}

// uncovered returns the centre of the first visible element that matches the CSS selector, once
// nothing covers it.
func uncovered(ctx context.Context, t *chromedp.Target, selector string) ([]float64, error) {
	return until(ctx, t, fmt.Sprintf(`(() => {
		const e = [...document.querySelectorAll(%s)].find(%s);
		if (!e) return [];
		e.scrollIntoView({block: "center", inline: "center", behavior: "instant"});
		const box = e.getClientRects()[0], x = box.x + box.width / 2, y = box.y + box.height / 2;
		const hit = document.elementFromPoint(x, y);
		return hit && (e.contains(hit) || hit.contains(e)) ? [x, y] : [];
	})()`, quote(selector), visible), func(at []float64) bool { return len(at) == 2 })
}

// Tap taps the first visible element that matches the CSS selector with a finger, once nothing
// covers it.
func Tap(selector string) chromedp.Action[chromedp.Void] {
	return func(ctx context.Context, t *chromedp.Target) (done chromedp.Void, err error) {
		at, err := uncovered(ctx, t, selector)
		if err != nil {
			return done, err
		}
		for _, touch := range []input.DispatchTouchEventParams{
			{Type: input.DispatchTouchEventTypeTouchStart, TouchPoints: []*input.TouchPoint{{X: at[0], Y: at[1]}}},
			{Type: input.DispatchTouchEventTypeTouchEnd, TouchPoints: []*input.TouchPoint{}},
		} {
			if _, err := cdp.Call(ctx, t, input.DispatchTouchEvent, touch); err != nil {
				return done, err
			}
		}
		return done, nil
	}
}

// Focus focuses the first element that matches the CSS selector, once it can have the focus.
func Focus(selector string) chromedp.Action[chromedp.Void] {
	return Until(fmt.Sprintf(`(() => {
		const e = document.querySelector(%s);
		e?.focus();
		return e !== null && document.activeElement === e;
	})()`, quote(selector)))
}

// Press presses keys one after the other; "\r" is the Enter key. As on a keyboard, a key that a script
// handles types nothing. With chromedp.KeyEvent alone, its character goes to whatever has the focus by
// then.
func Press(keys string) chromedp.Action[chromedp.Void] {
	return chromedp.KeyEvent(keys, func(p *input.DispatchKeyEventParams) { //nolint:forbidigo // the remedy is here
		if p.Type == kb.KeyDown {
			p.Type = kb.KeyRawDown
		}
	})
}

// Type focuses the first element that matches the CSS selector and types text; "\r" is the Enter
// key.
func Type(selector, text string) chromedp.Action[chromedp.Void] {
	return chromedp.Steps(WaitVisible(selector), Focus(selector), Press(text))
}

// Choose sets the value of the first form field that matches the CSS selector, as a person does who
// selects it from a list.
func Choose(selector, value string) chromedp.Action[chromedp.Void] {
	return Until(fmt.Sprintf(`(() => {
		const e = document.querySelector(%s);
		if (!e) return false;
		e.value = %s;
		e.dispatchEvent(new Event("change", {bubbles: true}));
		return true;
	})()`, quote(selector), quote(value)))
}

// Attribute returns an attribute of the first element that matches the CSS selector, once there is
// one.
func Attribute(selector, name string) chromedp.Action[string] {
	return func(ctx context.Context, t *chromedp.Target) (string, error) {
		values, err := until(ctx, t,
			fmt.Sprintf(`[document.querySelector(%s)?.getAttribute(%s)].filter(v => typeof v === "string")`,
				quote(selector), quote(name)), func(values []string) bool { return len(values) == 1 })
		if err != nil {
			return "", err
		}
		return values[0], nil
	}
}

// until evaluates a script until its value satisfies ok, and returns that value. It waits until the page
// and its scripts are loaded, since keys and clicks have their full effect only then. While one page
// replaces another, an evaluation may fail; it is repeated until ctx ends.
func until[T any](ctx context.Context, t *chromedp.Target, script string, ok func(T) bool) (value T, err error) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		values, err := chromedp.Evaluate[[]T](`document.readyState === "complete" ? [`+script+`] : []`)(ctx, t)
		if err == nil && len(values) == 1 {
			if value = values[0]; ok(value) {
				return value, nil
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return value, fmt.Errorf("waited in vain for %s: %w (last error: %w)", script, ctx.Err(), err)
		}
	}
}

// quote returns s as a JavaScript string.
func quote(s string) string {
	b, _ := json.Marshal(s) // a string cannot fail
	return string(b)
}
