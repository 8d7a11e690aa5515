package problems_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/handlers/handlertest"
)

// newsSite has an undecided problem, an older one, and two that are new.
func newsSite(t *testing.T) (site *handlertest.Site, old, older, first, second crash.Bucket) {
	t.Helper()
	site = handlertest.New(t, handlertest.Options{})
	save := func(n, days int) crash.Bucket {
		report := handlertest.Numbered(n)
		crashtest.At(time.Now().AddDate(0, 0, -days))(report)
		return site.Save(t, report)
	}
	return site, save(1, 40), save(2, 60), save(3, 1), save(4, 2)
}

func TestNews(t *testing.T) {
	t.Parallel()
	site, old, older, first, second := newsSite(t)
	c := site.As(t, crash.RoleTriager)
	order := func(path string, want ...crash.Bucket) *handlertest.Answer {
		t.Helper()
		page := c.Get(path).Want(http.StatusOK)
		var got, ids []string
		for _, box := range page.HTML().Find("td.select input").EachIter() {
			id, _ := box.Attr("value")
			got = append(got, id)
		}
		for _, b := range want {
			ids = append(ids, b.ID.String())
		}
		checktest.Equal(t, path, strings.Join(got, " "), strings.Join(ids, " "))
		return page
	}
	page := order("/new", first, second, older, old)
	page.WantText("tbody:nth-of-type(1) .group", "2 problems first seen in the past week").
		WantText("tbody:nth-of-type(2) .group", "2 problems undecided, the oldest first").
		WantText("main", "4 problems to read")
	order("/new?of=mine").WantText(".empty", "read everything")
	c.Post("/my/follow", url.Values{"what": {"problem:" + old.ID.String()}}).Want(http.StatusSeeOther)
	order("/new?of=mine", old)

	// Reading a problem takes it away, and its page leads to the next one and back.
	via := "?via=%2Fnew"
	next := func(on crash.Bucket, want crash.Bucket) *handlertest.Answer {
		t.Helper()
		page := c.Get(on.ID.Path() + via).Want(http.StatusOK)
		checktest.Equal(t, "next", page.Attr(".pager a[rel=next]", "href"), want.ID.Path()+via)
		return page
	}
	next(first, second).WantNone(".pager a[rel=prev]")
	order("/new", second, older, old)
	checktest.Equal(t, "previous", next(second, older).Attr(".pager a[rel=prev]", "href"), first.ID.Path()+via)
	next(first, older) // the next unread one
	order("/new", older, old)

	// A decision takes one away, too; a version with the fix that is seen brings it back, although it was read.
	c.Post(older.ID.Path()+"/wontfix", url.Values{}).Want(http.StatusSeeOther)
	order("/new", old)
	c.Get(old.ID.Path() + via).Want(http.StatusOK)
	order("/new")
	c.Post(old.ID.Path()+"/fixed", url.Values{"fix-release": {""}, "fix-version": {"0"}, "confirm": {"0"}}).
		Want(http.StatusSeeOther)
	again := handlertest.Numbered(1)
	crashtest.At(time.Now())(again)
	crashtest.Process(99)(again)
	site.Save(t, again)
	order("/new", old).WantText(".group", "1 problem seen again after a fix")

	// All at once, and Undo. Other people have read nothing.
	fields := handlertest.FieldsOf(c.Get("/new"), "#read")
	c.Post("/new", fields).WantRedirect(http.StatusSeeOther, "/")
	page = order("/new")
	page.WantText(".flash-done", "1 problem marked as read.")
	c.Post(page.Attr(".flash form", "action"), handlertest.FieldsOf(page, ".flash form")).Want(http.StatusSeeOther)
	order("/new", old)
	c.Post("/new", url.Values{"problems": {"x"}}).Want(http.StatusNotFound)
	site.As(t, crash.RoleViewer).Get("/new").WantText("main", "3 problems to read")
	site.Visitor(t).Get("/new").Want(http.StatusSeeOther)
}

func TestNewsInBrowser(t *testing.T) {
	t.Parallel()
	site, _, older, first, second := newsSite(t)
	ctx := handlertest.StartBrowser(t)
	site.SignInBrowser(ctx, t, crash.RoleTriager)
	at := func(b crash.Bucket) chromedp.Action[chromedp.Void] {
		return handlertest.Until(`location.pathname === "` + b.ID.Path() + `"`)
	}
	handlertest.Do(ctx, t, chromedp.Navigate(site.URL+"/new"), handlertest.WaitVisible("table.problems"),
		handlertest.Press("j"), handlertest.Press("o"), at(first), handlertest.WaitVisible(".pager a[rel=next]"),
		handlertest.Press("j"), at(second), handlertest.WaitVisible(".pager a[rel=prev]"), handlertest.Press("w"),
		handlertest.WaitVisible("#dialog button.primary:focus"), handlertest.Press("\r"),
		handlertest.WaitVisible("#manual .manual-line"), handlertest.Press("j"), at(older))
	handlertest.Do(ctx, t, chromedp.Navigate(site.URL+"/new"), handlertest.WaitVisible("table.problems"),
		handlertest.Until(`document.querySelectorAll("td.select").length === 1`))
}

// TestSelectMany decides about all problems of a long list at once, and undoes that. What cannot be done with so many
// is said beside the button, and they stay selected.
func TestSelectMany(t *testing.T) {
	t.Parallel()
	const fresh, old = 45, 10 // more than a page of other lists shows
	site := handlertest.New(t, handlertest.Options{})
	for n := range fresh + old {
		report := handlertest.Numbered(n)
		days := 1
		if n >= fresh {
			days = 40
		}
		crashtest.At(time.Now().AddDate(0, 0, -days))(report)
		site.Save(t, report)
	}
	ctx := handlertest.StartBrowser(t)
	site.SignInBrowser(ctx, t, crash.RoleTriager)
	handlertest.Do(ctx, t, chromedp.Navigate(site.URL+"/new"), handlertest.Click("#select-all"),
		handlertest.Click("#bulk button[value=merge]"), handlertest.WaitVisible(".no-answer"))
	checktest.Equal(t, "refusal", handlertest.Eval[string](ctx, t, `document.querySelector(".no-answer").textContent`),
		"55 problems are selected. At most 20 can be merged at once: select fewer.")
	handlertest.Do(ctx, t, handlertest.Until(`document.querySelectorAll("td.select :checked").length === 55`),
		handlertest.Click("#bulk button[value=mute]"), handlertest.Click("#dialog button[value=week]"),
		handlertest.Until(`document.querySelectorAll("td.select").length === 0`),
		handlertest.Click("#flash form button"),
		handlertest.Until(`document.querySelectorAll("td.select").length === 55`))
}
