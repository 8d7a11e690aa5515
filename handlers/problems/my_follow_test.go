package problems_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/intake"
	"mishap/db"
	"mishap/db/dbtest"
	"mishap/handlers/handlertest"
)

// atTime returns pages whose clock the test moves.
func atTime(t *testing.T) (p *handlertest.Pages, later func(time.Duration)) {
	t.Helper()
	now := handlertest.Today
	clock := func() time.Time { return now }
	store := dbtest.OpenConfig(t, db.Config{URL: dbtest.URL(t), Now: clock})
	site := handlertest.New(t, handlertest.Options{Store: store, Now: clock})
	return &handlertest.Pages{Site: site, Intake: intake.New(intake.Config{MaxAgeDays: 366, Now: clock}, store), T: t},
		func(d time.Duration) { now = now.Add(d) }
}

// TestFollowProblem follows a problem through a new version, a bug and a merge.
func TestFollowProblem(t *testing.T) {
	t.Parallel()
	p, later := atTime(t)
	old := crashtest.At(handlertest.Today.AddDate(0, 0, -20))
	p.Several(2, crashtest.Native, old, crashtest.Version("1.4.9-2"))
	p.Several(2, crashtest.Python, old)
	id, other := handlertest.BucketOf(t, crashtest.Native()), handlertest.BucketOf(t, crashtest.Python())
	ada := p.As(t, crash.RoleViewer)
	part := ada.Post("/my/follow", url.Values{"what": {"problem:" + id.String()}},
		handlertest.AsPart...).Want(http.StatusOK)
	part.WantText("#follow", "followed Stop following").WantText(".flash-done", "Following this problem. Undo")
	ada.Get(id.Path()).WantText("#people #follow", "Stop following")
	ada.Get(other.Path()).WantText("#people #follow", "Follow this problem")
	page := ada.Get("/my").WantText(".followed tbody tr", "problem 0 1 2").WantText(".followed th a", "tidewatch crashed")
	if got := page.Attr(".followed th a", "href"); got != id.Path() {
		t.Errorf("link: got %q", got)
	}
	if got, want := groups(page), []string{"# 1 without a bug", "tidewatch"}; !slices.Equal(got, want) {
		t.Errorf("first visit: got %q, want %q", got, want)
	}

	// More reports of the same kind are nothing new.
	later(time.Hour)
	p.Several(3, crashtest.Native, old, crashtest.Version("1.4.9-2"), crashtest.Process(40))
	ada.Get("/my").WantText(".followed tbody tr", "problem 0 1 5")
	later(time.Hour)
	p.Several(1, crashtest.Native, crashtest.At(handlertest.Today), crashtest.Version("1.5.0-1"), crashtest.Process(50))
	for range 2 { // it stays new for the whole visit
		page = ada.Get("/my").WantText(".followed tbody tr", "problem first seen in 1.5.0-1 1 1 6")
		if got, want := groups(page), []string{"# 1 new since your last visit", "tidewatch"}; !slices.Equal(got, want) {
			t.Errorf("new version: got %q, want %q", got, want)
		}
	}
	later(time.Hour)
	if _, err := p.Bugs.LinkBug(t.Context(), id, crash.Bug{Number: 7, By: "bob"}); err != nil {
		t.Fatal(err)
	}
	ada.Get("/my").WantText(".followed tbody tr", "bug 7")
	later(time.Hour)
	page = ada.Get("/my").WantText(".followed tbody tr", "problem 0 1 6")
	if got := groups(page); len(got) == 0 || strings.Contains(got[0], "new") {
		t.Errorf("next visit: got %q, want nothing new", got)
	}

	// Who follows a merged problem follows the other one.
	later(time.Hour)
	if _, err := p.Decisions.Merge(t.Context(), other, []crash.BucketID{id}, "bob", ""); err != nil {
		t.Fatal(err)
	}
	ada.Get(other.Path()).WantText("#people #follow", "Stop following")
	page = ada.Get("/my").WantText(".followed tbody tr", "problem")
	if got := page.Attr(".followed th a", "href"); got != other.Path() {
		t.Errorf("link after merging: got %q, want %q", got, other.Path())
	}
	ada.Post("/my/unfollow", url.Values{"what": {"problem:" + other.String()}}).Want(http.StatusSeeOther)
	ada.Get("/my").WantNone(".followed")
	ada.Post("/my/follow", url.Values{"what": {"problem:" + strings.Repeat("0", 40)}}).Want(http.StatusUnprocessableEntity)
	ada.Post("/my/follow", url.Values{"what": {"problem:xyz"}}).Want(http.StatusUnprocessableEntity)
}

// TestFollowSearch follows a search that other problems begin to match, and deletes it.
func TestFollowSearch(t *testing.T) {
	t.Parallel()
	p, later := atTime(t)
	old := crashtest.At(handlertest.Today.AddDate(0, 0, -20))
	p.Several(2, crashtest.Native, old)
	p.Several(2, crashtest.Python, old)
	id, other := handlertest.BucketOf(t, crashtest.Native()), handlertest.BucketOf(t, crashtest.Python())
	ada, triager := p.As(t, crash.RoleViewer), p.As(t, crash.RoleTriager)
	tag := func(id crash.BucketID) {
		t.Helper()
		triager.Post(id.Path()+"/tags", url.Values{"tag": {"sru"}}).Want(http.StatusSeeOther)
	}
	tag(id)
	triager.Post("/searches", url.Values{"name": {"For an SRU"}, "path": {"/search?q=tag:sru"}, "shared": {"1"}}).
		Want(http.StatusSeeOther)
	page := ada.Get("/searches").WantText("#follow-search-1 button", "Follow")
	follow := url.Values{"what": {page.Attr("#follow-search-1 input[name=what]", "value")}}
	ada.Post("/my/follow", follow, handlertest.AsPart...).Want(http.StatusOK).WantText("#follow-search-1",
		"Stop following")
	ada.Get("/searches").WantText("#follow-search-1", "Stop following")
	page = ada.Get("/my").WantText(".followed tbody tr", "For an SRU saved search 0 1 2")
	if got, want := page.Attr(".followed td a", "href"), "/search.atom?period=year&q=tag%3Asru"; got != want {
		t.Errorf("feed: got %q, want %q", got, want)
	}

	later(time.Hour)
	tag(other)
	for range 2 {
		page = ada.Get("/my").WantText(".followed tbody tr", "For an SRU saved search 1 2 4")
		if got, want := groups(page), []string{"# 1 new since your last visit", "harbor-sync", "# 1 without a bug",
			"tidewatch"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if rows := handlertest.CSVOf(t, ada.Get("/my.csv").Want(http.StatusOK)); len(rows) != 2 {
		t.Errorf("CSV: got %d rows, want 2", len(rows))
	}
	ada.Post("/my/seen", url.Values{"seen": {page.Attr("#seen input[name=seen]", "value")}}).Want(http.StatusSeeOther)
	ada.Get("/my").WantText(".followed tbody tr", "For an SRU saved search 0 2 4")

	// Deleting the search ends following it; restoring it restores that.
	triager.Post("/searches/1/delete", nil).Want(http.StatusSeeOther)
	ada.Get("/my").WantNone(".followed")
	ada.Post("/my/follow", follow).Want(http.StatusUnprocessableEntity)
	triager.Post("/searches/1/restore", nil).Want(http.StatusSeeOther)
	ada.Get("/my").WantText(".followed tbody tr", "For an SRU")
	// Nobody follows searches that they cannot see.
	triager.Post("/searches/1", url.Values{"name": {"For an SRU"}}).Want(http.StatusSeeOther)
	ada.Get("/my").WantNone(".followed")
	ada.Post("/my/follow", url.Values{"what": {"search:x"}}).Want(http.StatusUnprocessableEntity)
}

// TestMine lists problems that are assigned to the person, whether they follow them or not.
func TestMine(t *testing.T) {
	t.Parallel()
	p, _ := atTime(t)
	p.Several(2, crashtest.Native)
	p.Several(2, crashtest.Python)
	id := handlertest.BucketOf(t, crashtest.Native())
	triager := p.As(t, crash.RoleTriager)
	triager.Get("/my").WantText(".empty", "not following anything")
	triager.Post(id.Path()+"/assign", url.Values{"do": {"me"}}).Want(http.StatusSeeOther)
	page := triager.Get("/my").Want(http.StatusOK).WantText(".my-controls", "all that is assigned to you")
	if got, want := groups(page), []string{"# 1 assigned to you", "tidewatch"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := groups(triager.Get("/my?only=assigned")); len(got) != 2 {
		t.Errorf("one group: got %q", got)
	}
	triager.Get("/search?q=assignee:me").WantText("tbody td.problem", "tidewatch")
	if got := groups(p.As(t, crash.RoleViewer).Get("/my")); len(got) != 0 {
		t.Errorf("another person: got %q, want nothing", got)
	}
}
