package events_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/handlers/handlertest"
)

// titles returns the titles in an inbox, in order.
func titles(a *handlertest.Answer) string {
	var all []string
	heads := a.HTML().Find(".notice-head > a, .notice-head > b")
	for i := range heads.Length() {
		all = append(all, heads.Eq(i).Text())
	}
	return strings.Join(all, " ")
}

func TestInbox(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	ada := site.As(t, crash.RoleViewer)
	ada.Get("/inbox").Want(http.StatusOK).WantText(".empty", "Nothing yet.").WantText(".hint", "sends no mail")
	user := site.AddUser(t, crash.RoleViewer).ID
	kinds := []crash.EventKind{crash.EventNew, crash.EventRegressed, crash.EventTracker}
	for i, kind := range kinds {
		e := crash.Event{Edge: string(kind), Kind: kind, Title: fmt.Sprintf("t%d", i), Text: "It happened.",
			Package: fmt.Sprintf("p%d", i/2), Machines: 3}
		if kind != crash.EventTracker {
			e.Bucket = &crash.BucketID{byte(i)}
		}
		handlertest.Publish(t, site, e, user)
	}
	page := ada.Get("/inbox").Want(http.StatusOK).WantText(".inbox-link .unread-count", "3")
	for query, want := range map[string]string{"": "t2 t1 t0", "?kind=new": "t0", "?package=p0": "t1 t0",
		"?package=px": "",
		"?unread=1":   "t2 t1 t0", "?before=2": "t0", "?mail=7": "", "?kind=regressed&package=p1": ""} {
		if got := titles(ada.Get("/inbox" + query).Want(http.StatusOK)); got != want {
			t.Errorf("%q: got %q, want %q", query, got, want)
		}
	}
	for _, query := range []string{"?before=x", "?before=-1", "?mail=x", "?package=%00"} {
		ada.Get("/inbox" + query).Want(http.StatusBadRequest)
	}
	if got := page.Attr("#notice-1 .notice-head a", "href"); got != (crash.BucketID{0}).Path() {
		t.Errorf("link: got %q, want the problem", got)
	}
	if got := page.Attr("#notice-3 .notice-head a", "href"); got != "/admin/tracker" {
		t.Errorf("link of an alert: got %q, want the page of the tracker", got)
	}
	page.WantText("#notice-2", "Regressed t1").WantText("#notice-2", "p0 · 3 machines · because you follow p0")
	ada.Post("/inbox/read", url.Values{"notice": {"2"}}).WantRedirect(http.StatusSeeOther, "/inbox")
	page = ada.Get("/inbox?unread=1").WantText(".flash-done", "1 notification marked as read.")
	if got := titles(page); got != "t2 t0" {
		t.Errorf("after reading one: got %q unread, want t2 t0", got)
	}
	ada.Post("/inbox/read", url.Values{"notice": {"3"}, "older": {"1"}}).Want(http.StatusSeeOther)
	page = ada.Get("/inbox").WantText(".flash-done", "2 notifications marked as read.").WantNone(
		".unread-count, #read-all")
	ada.Post("/inbox/unread", url.Values{"at": {page.Attr(".flash input[name=at]", "value")}}).Want(http.StatusSeeOther)
	if got := titles(ada.Get("/inbox?unread=1")); got != "t2 t0" {
		t.Errorf("after undo: got %q unread, want t2 t0", got)
	}
	other := site.As(t, crash.RoleTriager)
	other.Get("/inbox").Want(http.StatusOK).WantNone(".notices")
	other.Post("/inbox/read", url.Values{"notice": {"3"}}).Want(http.StatusSeeOther)
	if n, err := site.Events.Unread(t.Context(), user); err != nil || n != 2 {
		t.Errorf("after another person tried: got %d unread, %v, want 2", n, err)
	}
	for format, want := range map[string]string{"csv": "because", "json": `"title":`, "atom": "<entry>"} {
		if body := ada.Get("/inbox." + format).Want(http.StatusOK).Body; format != "csv" && !strings.Contains(body, want) ||
			!strings.Contains(body, "you follow p0") && format != "atom" {
			t.Errorf("%s: got %s", format, body)
		}
	}
}

func TestInboxPages(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	ada := site.As(t, crash.RoleViewer)
	for n := range 120 {
		handlertest.Publish(t, site, crash.Event{Edge: fmt.Sprint(n), Kind: crash.EventNew, Title: fmt.Sprintf("t%d", n)},
			site.AddUser(t, crash.RoleViewer).ID)
	}
	page := ada.Get("/inbox?kind=new").WantText(".unread-count", "99+")
	seen := strings.Fields(titles(page))
	for page.HTML().Find(".paging a").First().Text() == "Older" {
		page = ada.Get(page.Attr(".paging a", "href")).Want(http.StatusOK)
		seen = append(seen, strings.Fields(titles(page))...)
	}
	if len(seen) != 120 || seen[0] != "t119" || seen[119] != "t0" {
		t.Errorf("got %d notices %q, want all once, newest first", len(seen), seen)
	}
}
