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
	now := handlertest.Today
	clock := func() time.Time { return now }
	store := dbtest.OpenConfig(t, db.Config{URL: dbtest.URL(t), Now: clock})
	site := handlertest.New(t, handlertest.Options{Store: store, Now: clock})
	p := &handlertest.Pages{Site: site, Intake: intake.New(intake.Config{MaxAgeDays: 366, Now: clock}, store), T: t}
	p.Several(3, crashtest.Native)
	p.Several(2, crashtest.Python)
	p.Several(9, crashtest.Unsymbolised)
	ada := p.As(t, crash.RoleViewer)
	ada.Get("/my").Want(http.StatusOK).WantText(".empty", "You’re not following anything yet.").WantNone(".mine")

	// Packages are followed from their page, with and without scripts.
	ada.Get("/package/tidewatch").Want(http.StatusOK).WantText("#follow button", "Follow tidewatch")
	part := ada.Post("/my/follow", url.Values{"what": {"package:tidewatch"}}, handlertest.AsPart...).Want(http.StatusOK)
	part.WantText("#follow", "followed Stop following").WantText(".flash-done", "Following the package tidewatch.")
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
	now = now.Add(time.Hour)
	p.Several(1, crashtest.Native, crashtest.At(handlertest.Today.AddDate(0, 0, -3)), crashtest.Set("DuplicateSignature",
		"came late"))
	page = ada.Get("/my").Want(http.StatusOK)
	want := []string{"# 1 new since your last visit", "tidewatch", "# 2 without a bug", "tidewatch", "harbor-sync"}
	if got := groups(page); !slices.Equal(got, want) {
		t.Errorf("second visit: got %q, want %q", got, want)
	}
	if got := groups(ada.Get("/my")); !slices.Equal(got, want) {
		t.Errorf("second visit, loaded again: got %q, want %q", got, want)
	}
	page.WantText(".followed tbody tr:nth-child(2)", "tidewatch package 1 2 4")
	if got, want := groups(ada.Get("/my?only=new")), want[:2]; !slices.Equal(got, want) {
		t.Errorf("one group: got %q, want %q", got, want)
	}
	ada.Post("/my/seen", url.Values{"seen": {page.Attr("#seen input[name=seen]", "value")}}).WantRedirect(
		http.StatusSeeOther, "/my")
	page = ada.Get("/my").WantText(".flash-done", "Marked as seen.")
	if got := groups(page); got[0] != "# 3 without a bug" {
		t.Errorf("after marking all as seen: got %q, want nothing new", got)
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
		if _, err := p.Bugs.LinkBug(t.Context(), crash.BucketIDOf(signature),
			crash.Bug{Number: bug.Number, By: "ada"}); err != nil {
			t.Fatal(err)
		}
		if err := p.Bugs.SaveBugReading(t.Context(), bug, "", time.Hour); err != nil {
			t.Fatal(err)
		}
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
		{"package", " ", "Enter the name"}, {"package", "two words", "not a valid name"},
		{"release", "x", "but not"}, {"package", strings.Repeat("x", 201), "at most 200"},
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
