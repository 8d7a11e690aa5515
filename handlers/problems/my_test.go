package problems_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/crash/grouping"
	"mishap/crash/intake"
	"mishap/db"
	"mishap/db/dbtest"
	"mishap/handlers/handlertest"
)

// groups returns the headings and packages on a person's page, in order.
func groups(a *handlertest.Answer) []string {
	var all []string
	rows := a.HTML().Find(".mine tbody tr")
	for i := range rows.Length() {
		row := rows.Eq(i)
		text := row.Find("td.problem b").Text()
		if row.HasClass("group") {
			text = "# " + row.Text()
		}
		all = append(all, strings.Join(strings.Fields(text), " "))
	}
	return all
}

func TestMyPackages(t *testing.T) {
	t.Parallel()
	p, later := atTime(t)
	p.Several(3, crashtest.Native)
	p.Several(2, crashtest.Python)
	p.Several(9, crashtest.Unsymbolised)
	ada := p.As(t, crash.RoleViewer)
	ada.Get("/my").Want(http.StatusOK).WantText(".empty", "You do not follow anything yet.").WantNone(".mine")

	// Packages are followed from their page, with and without scripts.
	ada.Get("/package/tidewatch").Want(http.StatusOK).WantText("#follow button", "Follow tidewatch")
	part := ada.Post("/my/follow", url.Values{"what": {"package:tidewatch"}}, handlertest.AsPart...).Want(http.StatusOK)
	part.WantText(".flash-done", "Following the package tidewatch.")
	ada.Post("/my/follow", url.Values{"kind": {"package"}, "name": {" harbor "}}).WantRedirect(http.StatusSeeOther, "/my")
	page := ada.Get("/my").Want(http.StatusOK).WantText(".flash-done", "Following the package harbor.").WantText(
		".totals", "2 problems · 5 reports")
	if got, want := groups(page), []string{"# 2 without a bug", "tidewatch", "harbor-sync"}; !slices.Equal(got, want) {
		t.Errorf("first visit: got %q, want %q", got, want)
	}
	page.WantText(".followed tbody tr:nth-child(1)", "harbor package 0 1 2")
	if got := groups(p.As(t, crash.RoleTriager).Get("/my")); len(got) != 0 {
		t.Errorf("another person: got %q, want nothing", got)
	}

	// A report that arrives after the visit is new on the next visit, whenever its crash was. It stays
	// new for the whole visit.
	later(time.Hour)
	p.Several(1, crashtest.Native, crashtest.At(handlertest.Today.AddDate(0, 0, -3)), crashtest.Set("DuplicateSignature",
		"came late"))
	page = ada.Get("/my").Want(http.StatusOK)
	want := []string{"# 1 unread", "tidewatch", "# 2 without a bug", "tidewatch", "harbor-sync"}
	if got := groups(page); !slices.Equal(got, want) {
		t.Errorf("second visit: got %q, want %q", got, want)
	}
	if got := groups(ada.Get("/my")); !slices.Equal(got, want) {
		t.Errorf("second visit, loaded again: got %q, want %q", got, want)
	}
	page.WantText(".followed tbody tr:nth-child(2)", "tidewatch package 1 2 4")
	if got, want := groups(ada.Get("/my?only=unread")), want[:2]; !slices.Equal(got, want) {
		t.Errorf("one group: got %q, want %q", got, want)
	}
	ada.Post("/my/seen", url.Values{"seen": {page.Attr("#seen input[name=seen]", "value")}}).WantRedirect(
		http.StatusSeeOther, "/my")
	page = ada.Get("/my").WantText(".flash-done", "Marked as read.")
	if got := groups(page); got[0] != "# 3 without a bug" {
		t.Errorf("after marking all as read: got %q, want nothing unread", got)
	}
	ada.Post("/my/seen", url.Values{"seen": {page.Attr(".flash input[name=seen]", "value")}}).WantRedirect(
		http.StatusSeeOther, "/my")
	if got := groups(ada.Get("/my")); !slices.Equal(got, want) {
		t.Errorf("after undoing: got %q, want %q", got, want)
	}

	file := ada.Get("/my.csv").Want(http.StatusOK)
	if rows := handlertest.CSVOf(t, file); len(rows) != 3 {
		t.Errorf("CSV: got %d rows, want 3", len(rows))
	}
	if rows := handlertest.CSVOf(t, ada.Get("/my", handlertest.Header{Name: "Accept", Value: "text/csv"}).
		Want(http.StatusOK)); len(
		rows) != 3 {
		t.Errorf("CSV by Accept: got %d rows, want 3", len(rows))
	}
	if f := handlertest.FeedOf(t, ada.Get("/my.atom").Want(http.StatusOK)); len(f.Entries) != 3 || f.Updated < "2020" {
		t.Errorf("feed: got %d entries, updated %s; want 3, now", len(f.Entries), f.Updated)
	}
	again := handlertest.Header{Name: "If-None-Match", Value: file.Header.Get("ETag")}
	ada.Get("/my.csv", again).Want(http.StatusNotModified)
	ada.Post("/my/unfollow", url.Values{"what": {"package:tidewatch"}}).WantRedirect(http.StatusSeeOther, "/my")
	page = ada.Get("/my").WantText(".flash-done", "No longer following the package tidewatch. Undo")
	if got, want := groups(page), []string{"# 1 without a bug", "harbor-sync"}; !slices.Equal(got, want) {
		t.Errorf("after unfollowing one: got %q, want %q", got, want)
	}
	tomorrow := handlertest.Header{Name: "If-Modified-Since",
		Value: time.Now().AddDate(0, 0, 1).UTC().Format(http.TimeFormat)}
	for _, header := range []handlertest.Header{again, tomorrow} {
		if rows := handlertest.CSVOf(t, ada.Get("/my.csv", header).Want(http.StatusOK)); len(rows) != 1 {
			t.Errorf("CSV after that: got %d rows, want 1", len(rows))
		}
	}
}

// TestMyPackagesOrder has a fixed bug that is seen again.
func TestMyPackagesOrder(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	p.Several(3, crashtest.Native, crashtest.Version("1.4.9-2"))
	p.Several(5, crashtest.Native, crashtest.Set("DuplicateSignature", "no bug"))
	p.Several(9, crashtest.Native, crashtest.Set("DuplicateSignature", "has a bug"))
	ada := p.As(t, crash.RoleViewer)
	ada.Post("/my/follow", url.Values{"what": {"package:tidewatch"}}).Want(http.StatusSeeOther)
	fixed := grouping.SignatureOf(crashtest.Native().Fields()).Signature
	for signature, bug := range map[string]crash.BugReading{
		"has a bug": {Number: 7, Tasks: []crash.BugTask{{Target: "/ubuntu/+source/tidewatch", Status: "Triaged"}}},
		fixed: {
			Number: 8, Tasks: []crash.BugTask{{Target: "/ubuntu/+source/tidewatch", Status: crash.FixReleased, Complete: true}},
			Fixes: []crash.BugFix{{Package: "tidewatch", Version: "1.4.1-1"}},
		},
	} {
		dbtest.Must(p.Bugs.LinkBug(t.Context(), crash.BucketIDOf(signature),
			crash.Bug{Number: bug.Number, By: "ada"}))(t)
		checktest.NoError(t, p.Bugs.SaveBugReading(t.Context(), bug, "", time.Hour))
	}
	want := []string{"# 1 regression", "3", "# 1 without a bug", "5", "# 1 with a bug", "9"}
	var got []string
	rows := ada.Get("/my").Want(http.StatusOK).HTML().Find(".mine tbody tr")
	for i := range rows.Length() {
		text := rows.Eq(i).Find("td.reports").Text()
		if rows.Eq(i).HasClass("group") {
			text = "# " + strings.TrimSpace(rows.Eq(i).Text())
		}
		got = append(got, text)
	}
	if !slices.Equal(got, want) {
		t.Errorf("groups: got %q, want %q", got, want)
	}
}

func TestFollowErrors(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	ada := site.As(t, crash.RoleViewer)
	for _, test := range []struct{ kind, name, want string }{
		{"package", " ", "Enter the name"}, {"package", "two words", "and no spaces"},
		{"release", "x", "cannot be followed"}, {"package", strings.Repeat("x", 201), "at most 200"},
	} {
		a := ada.Post("/my/follow", url.Values{"kind": {test.kind}, "name": {test.name}}).Want(http.StatusUnprocessableEntity)
		a.WantText("#follow-problem", test.want)
	}
	// People are looked up in the tracker. Until it has answered, the page says so.
	ada.Post("/my/follow", url.Values{"kind": {"person"}, "name": {"~grace"}}).WantRedirect(http.StatusSeeOther, "/my")
	ada.Get("/my").WantText(".followed tbody tr", "grace person or team being read from the tracker").WantText(".notice",
		"The packages of grace are being read")
	ada.Post("/my/seen", url.Values{"seen": {"tomorrow"}}).Want(http.StatusBadRequest)
	ada.Get("/my?period=century&only=odd").Want(http.StatusOK).WantText(".notice",
		"Invalid values in the address ignored: period, only.")
	ada.Get("/my.csv?period=century").Want(http.StatusBadRequest) // a file must not silently differ
	ada.Get("/my.xml").Want(http.StatusNotFound)
}

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
	part.WantText(".flash-done", "Following this problem. Undo")
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
		if got, want := groups(page), []string{"# 1 unread", "tidewatch"}; !slices.Equal(got, want) {
			t.Errorf("new version: got %q, want %q", got, want)
		}
	}
	later(time.Hour)
	dbtest.Must(p.Bugs.LinkBug(t.Context(), id, crash.Bug{Number: 7, By: "bob"}))(t)
	ada.Get("/my").WantText(".followed tbody tr", "bug 7")
	later(time.Hour)
	page = ada.Get("/my").WantText(".followed tbody tr", "problem 0 1 6")
	if got := groups(page); len(got) == 0 || strings.Contains(got[0], "unread") {
		t.Errorf("next visit: got %q, want nothing new", got)
	}

	// Who follows a merged problem follows the other one.
	later(time.Hour)
	dbtest.Must(p.Decisions.Merge(t.Context(), other, []crash.BucketID{id}, "bob", ""))(t)
	ada.Get(other.Path()).WantText("#people #follow", "Stop following")
	page = ada.Get("/my").WantText(".followed tbody tr", "problem")
	checktest.Equal(t, "link after merging", page.Attr(".followed th a", "href"), other.Path())
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
	ada.Post("/my/follow", follow, handlertest.AsPart...).Want(http.StatusOK)
	ada.Get("/searches").WantText("#follow-search-1", "Stop following")
	page = ada.Get("/my").WantText(".followed tbody tr", "For an SRU saved search 0 1 2")
	checktest.Equal(t, "feed", page.Attr(".followed td a", "href"), "/search.atom?period=year&q=tag%3Asru")

	later(time.Hour)
	tag(other)
	for range 2 {
		page = ada.Get("/my").WantText(".followed tbody tr", "For an SRU saved search 1 2 4")
		if got, want := groups(page), []string{"# 1 unread", "harbor-sync", "# 1 without a bug",
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
	triager.Get("/my").WantText(".empty", "You do not follow anything yet")
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
