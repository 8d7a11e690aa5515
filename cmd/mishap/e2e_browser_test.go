package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"mishap/handlers/browsertest"
)

// browser is a headless Chromium with its own profile that visits an installation.
type browser struct {
	t   *testing.T
	ctx context.Context
	in  *installation

	watching sync.WaitGroup
	mu       sync.Mutex
	console  []string // console messages of pages and of the browser
	requests []string // requested addresses
}

func (in *installation) browser() *browser {
	t := in.t
	t.Helper()
	b := &browser{t: t, in: in}
	t.Cleanup(b.watching.Wait) // after the browser has ended
	b.ctx = browsertest.Start(t)
	b.watch()
	return b
}

// watch records console messages and requests.
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

// do runs steps.
func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	browsertest.Do(b.ctx, b.t, steps...)
}

// ask runs one step and returns its result.
func ask[T any](b *browser, step chromedp.Action[T]) T {
	b.t.Helper()
	v, err := browsertest.Run(b.ctx, step)
	if err != nil {
		b.t.Fatalf("browser step: %v", err)
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

// text returns the visible text of the first matching element, without waiting for one.
func (b *browser) text(selector string) string {
	b.t.Helper()
	return ask(b, chromedp.Evaluate[string](fmt.Sprintf(`document.querySelector(%q)?.innerText ?? ""`, selector)))
}

// until waits for a condition in the page.
func (b *browser) until(condition string) {
	b.t.Helper()
	if _, err := browsertest.Run(b.ctx, browsertest.Until(condition)); err != nil {
		b.t.Fatalf("%v; the page is\n%s\nconsole: %s", err, browsertest.Page(b.ctx), b.complaints())
	}
}

// signIn signs in with the form and must end at path.
func (b *browser) signIn(name, path string) {
	b.t.Helper()
	b.open("/login?next=" + path)
	b.until(`document.activeElement.id === "username"`) // else the browser complains that it cannot focus the field
	b.do(
		browsertest.Type("#username", name),
		browsertest.Type("#password", testPassword),
		browsertest.Click("#sign-in button"),
		browsertest.WaitVisible(".account form button"),
	)
	if got := b.location(); got != path {
		b.t.Fatalf("after signing in: got %s, want %s", got, path)
	}
}

// complaints returns the console messages of pages and of the browser.
func (b *browser) complaints() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.console...)
}

// outside returns requests to other hosts.
func (b *browser) outside() []string {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.requests) == 0 {
		b.t.Error("requests of the browser: got none, want them recorded")
	}
	var list []string
	for _, url := range b.requests {
		if !strings.HasPrefix(url, b.in.url+"/") && !strings.HasPrefix(url, "data:") && !strings.HasPrefix(url, "about:") {
			list = append(list, url)
		}
	}
	return list
}
