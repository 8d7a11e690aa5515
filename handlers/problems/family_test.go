package problems_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/handlers/handlertest"
)

// stacked returns a report of a program in a version, with a stack of functions and lines: "walk@12".
func stacked(version, functions string, options ...crashtest.Option) crashtest.Report {
	var stack, top strings.Builder
	for i, word := range strings.Fields(functions) {
		name, line, _ := strings.Cut(word, "@")
		frame := fmt.Sprintf("%s (n=...) at quay.cc:%s\n", name, line)
		fmt.Fprintf(&stack, "#%-2d 0x%016x in %s", i, 0x401000+16*i, frame)
		if i < 5 {
			top.WriteString(frame)
		}
	}
	return crashtest.Native(append([]crashtest.Option{
		crashtest.On("Ubuntu 24.04"), crashtest.Version(version), crashtest.Set("ExecutablePath", "/usr/bin/quay"),
		crashtest.Set("Stacktrace", stack.String()), crashtest.Set("StacktraceTop", top.String()),
		crashtest.Set("ThreadStacktrace", "")}, options...)...)
}

const (
	walkOnce   = "weigh@130 walk@137 walk@136 stow@138 run@266 main@289"
	walkThrice = "weigh@130 walk@137 walk@136 walk@136 walk@136 walk@136 stow@138 run@266 main@289"
	walkJumped = "weigh@130 walk@137 walk@136 stow@138 main@289"
	walkOther  = "count@131 walk@137 walk@136 stow@138 run@266 main@289"
)

// saveFamily stores three problems of one fault, and one of another fault of the same functions.
func saveFamily(t *testing.T, site *handlertest.Site) (family [3]crash.Bucket, other crash.Bucket) {
	t.Helper()
	for i, stack := range []string{walkOnce, walkThrice, walkJumped} {
		version := fmt.Sprintf("1.4.2-%d", 1+i/2)
		for n := range 3 - i {
			family[i] = site.SaveFrom(t, crash.NewSystemID(fmt.Sprint("machine ", i, n)), stacked(version, stack,
				crashtest.Process(100*i+n+1)))
		}
	}
	return family, site.Save(t, stacked("1.4.2-1", walkOther))
}

func TestFamilyOnPages(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	family, other := saveFamily(t, site)
	c, viewer := site.As(t, crash.RoleAdmin), site.As(t, crash.RoleViewer)

	page := c.Get(family[0].ID.Path()).Want(http.StatusOK)
	page.WantText(".family > p", "2 problems with other signatures are probably the same fault").
		WantText(".family li:nth-child(1)", "walk recurs 2 and 5 times").
		WantText(".family li:nth-child(1)", "2 reports of 2 machines, version 1.4.2-1").
		WantText(".family li:nth-child(2)", "run is missing in one").
		WantText(".family li:nth-child(2)", "1 report of 1 machine, version 1.4.2-2").
		WantText(".family button", "Merge these 3 problems")
	if strings.Contains(page.Text(".family"), "count") {
		t.Errorf("got %q, want no problem of another fault", page.Text(".family"))
	}
	c.Get(family[2].ID.Path()).WantText(".family", "The main problem will be")
	c.Get(other.ID.Path()).WantNone(".family")
	viewer.Get(family[0].ID.Path()).WantText(".family", "walk recurs 2 and 5 times").
		WantNone(".family form, .family .buttons")
	site.Visitor(t).Get(family[0].ID.Path()).Want(http.StatusOK).WantNone(".family")

	// One of them is embargoed: people without the right do not learn of it, and others see the preview first.
	c.Post(family[1].ID.Path()+"/embargo", url.Values{"do": {"set"}, "reason": {"secret"}}).Want(http.StatusSeeOther)
	site.AsWithoutPrivate(t, crash.RoleTriager).Get(family[0].ID.Path()).
		WantText(".family > p", "1 problem with another signature is").WantText(".family", "run is missing").
		WantText(".family button", "Merge these 2 problems")
	c.Get(family[0].ID.Path()).WantText(".family li:nth-child(1)", "walk recurs").WantNone(".family form").
		WantText(".family .buttons", "Preview the merge…")
}

// TestMergeFamilyInBrowser merges a family with one key, and undoes that with another one.
func TestMergeFamilyInBrowser(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	family, other := saveFamily(t, site)
	ctx := handlertest.StartBrowser(t)
	site.SignInBrowser(ctx, t, crash.RoleTriager)
	heads := func(want string) {
		t.Helper()
		got := site.Value(t, `select count(distinct head)::text from buckets where id <> $1`, other.ID[:])
		if got != want {
			t.Errorf("got %s problems of the family, want %s", got, want)
		}
	}
	heads("3")
	handlertest.Do(ctx, t, chromedp.Navigate(site.URL+family[2].ID.Path()),
		handlertest.WaitVisible("#merge-family button"), handlertest.Press("t"),
		handlertest.WaitVisible("#flash form button"))
	heads("1")
	if path := handlertest.Eval[string](ctx, t, `location.pathname`); path != family[0].ID.Path() {
		t.Errorf("got %s, want the page of the main problem, %s", path, family[0].ID.Path())
	}
	handlertest.Do(ctx, t, handlertest.Press("u"), handlertest.WaitVisible("#merge-family button"))
	heads("3")
}
