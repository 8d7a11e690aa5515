package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// browser is a headless Chromium with a profile of its own, looking at an installation.
type browser struct {
	t   *testing.T
	ctx context.Context
	in  *installation

	watching sync.WaitGroup
	mu       sync.Mutex
	console  []string // what pages wrote to the console, and what the browser complained of
	requests []string // addresses that were asked for
}

// stepTime is how long one step in the browser may take on a busy machine.
const stepTime = 60 * time.Second

// patience waits for what a page becomes by itself.
const patience = 40 * time.Second

func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "headless-shell"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("Chromium is missing; on Debian and Ubuntu: sudo apt-get install chromium")
	return ""
}

func (in *installation) browser() *browser {
	t := in.t
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(chromium(t)), chromedp.UserDataDir(t.TempDir()), chromedp.WindowSize(1280, 900),
		chromedp.Env("TMPDIR="+t.TempDir()), chromedp.Flag("disable-component-update", true), chromedp.Flag("no-proxy-server", true),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	ctx, stopBrowser := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), options...)
	ctx, closeTab := chromedp.NewContext(ctx)
	b := &browser{t: t, ctx: ctx, in: in}
	t.Cleanup(func() {
		closeTab()
		stopBrowser()
		b.watching.Wait()
	})
	if err := chromedp.Do(ctx); err != nil { // starts the browser; no deadline may be set here
		t.Fatalf("start Chromium: %v", err)
	}
	b.watch()
	return b
}

// watch notes what the browser complains of and asks for.
func (b *browser) watch() {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{
		Source: `addEventListener("securitypolicyviolation", e => console.error("CSP: " + e.violatedDirective + " " + e.blockedURI))`,
	}); err != nil {
		b.t.Fatal(err)
	}
	console, requests := chromedp.Console(b.ctx), chromedp.Events(b.ctx, network.RequestWillBeSent)
	b.watching.Go(func() {
		for m, err := range console {
			if err != nil {
				return
			}
			b.mu.Lock()
			b.console = append(b.console, fmt.Sprintf("%s %s (%s)", m.Type, m.Text, m.URL))
			b.mu.Unlock()
		}
	})
	b.watching.Go(func() {
		for e, err := range requests {
			if err != nil {
				return
			}
			b.mu.Lock()
			b.requests = append(b.requests, e.Request.URL)
			b.mu.Unlock()
		}
	})
}

// do takes steps, each within stepTime.
func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	for i, step := range steps {
		ctx, cancel := context.WithTimeout(b.ctx, stepTime)
		err := chromedp.Do(ctx, step)
		cancel()
		if err != nil {
			b.t.Fatalf("step %d in the browser: %v; at %s it shows\n%s", i+1, err, b.location(), b.text("body"))
		}
	}
}

// ask takes one step and returns what it finds.
func ask[T any](b *browser, step chromedp.Action[T]) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, stepTime)
	defer cancel()
	v, err := chromedp.Run(ctx, step)
	if err != nil {
		b.t.Fatalf("asking the browser: %v", err)
	}
	return v
}

func (b *browser) open(path string) {
	b.t.Helper()
	b.do(chromedp.Navigate(b.in.url + path))
}

func (b *browser) location() string {
	b.t.Helper()
	return strings.TrimPrefix(ask(b, chromedp.Location()), b.in.url)
}

// text is the visible text of the first element that fits, without waiting for one.
func (b *browser) text(selector string) string {
	b.t.Helper()
	return ask(b, chromedp.Evaluate[string](fmt.Sprintf(`document.querySelector(%q)?.innerText ?? ""`, selector)))
}

// until waits for a condition in the page.
func (b *browser) until(condition string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		// While the browser goes from one page to the next an evaluation may fail.
		if holds, err := chromedp.Run(ctx, chromedp.Evaluate[bool](condition)); err == nil && holds {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			b.t.Fatalf("waited in vain for %s; at %s the page shows\n%s\nconsole: %s", condition, b.location(), b.text("body"), b.complaints())
		}
	}
}

// signIn fills in the form, as a person does, and ends at path.
func (b *browser) signIn(name, path string) {
	b.t.Helper()
	b.open("/login?next=" + path)
	b.do(
		chromedp.SendKeys(chromedp.CSS("#username"), name),
		chromedp.SendKeys(chromedp.CSS("#password"), testPassword),
		chromedp.Click(chromedp.CSS("#sign-in button")),
		chromedp.WaitVisible(chromedp.CSS(".account form button")),
	)
	if got := b.location(); got != path {
		b.t.Fatalf("after signing in: got %s, want %s", got, path)
	}
}

// complaints are what pages and browser wrote to the console.
func (b *browser) complaints() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.console...)
}

// outside lists requests to other places than the installation.
func (b *browser) outside() []string {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.requests) == 0 {
		b.t.Error("requests of the browser: got none, want them noted")
	}
	var list []string
	for _, url := range b.requests {
		if !strings.HasPrefix(url, b.in.url+"/") && !strings.HasPrefix(url, "data:") && !strings.HasPrefix(url, "about:") {
			list = append(list, url)
		}
	}
	return list
}
