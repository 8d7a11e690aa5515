// Package browsertest drives a headless Chromium in tests.
//
// Its actions find elements with scripts in the page. chromedp's own actions read a tree of nodes
// that its event loop changes at the same time, and some of them without its lock, which the race
// detector reports against whatever test runs. Tests use chromedp directly only for what touches no
// nodes: Navigate, Evaluate and protocol calls.
package browsertest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"mishap/crash/sizetest"
)

// StepTime limits one step in the browser. A step that works takes moments. The limit only makes a
// step that never ends fail with a description of the page, however slow the machine is.
const StepTime = 5 * time.Minute

// Start starts Chromium with a fresh profile and returns the context of its tab. Both end with the
// test.
func Start(t testing.TB, options ...chromedp.ExecAllocatorOption) context.Context {
	t.Helper()
	sizetest.Needs(t, "Chromium")
	all := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program(t)), chromedp.UserDataDir(t.TempDir()), chromedp.Env("TMPDIR="+t.TempDir()),
		chromedp.WindowSize(1280, 900), chromedp.Flag("disable-dev-shm-usage", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("no-proxy-server", true), chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"),
		chromedp.WSURLReadTimeout(StepTime))
	if os.Geteuid() == 0 {
		all = append(all, chromedp.NoSandbox)
	}
	// The browser must outlive t.Context, which ends before the test's cleanup.
	ctx, stop := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), append(all, options...)...)
	t.Cleanup(stop)
	ctx, closeTab := chromedp.NewContext(ctx)
	t.Cleanup(closeTab)
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil { // starts it; no deadline may be set yet
		t.Fatalf("start Chromium: %v", err)
	}
	return ctx
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

// Do runs steps, each within StepTime. It fails the test at the first error and shows the page.
func Do(ctx context.Context, t testing.TB, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	for i, step := range steps {
		if _, err := Run(ctx, step); err != nil {
			t.Fatalf("step %d in the browser: %v; the page is\n%s", i+1, err, Page(ctx))
		}
	}
}

// Run runs one action within StepTime.
func Run[T any](ctx context.Context, action chromedp.Action[T]) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, StepTime)
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
