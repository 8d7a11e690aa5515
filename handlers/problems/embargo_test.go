package problems_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/db/dbtest"
	"mishap/handlers/handlertest"
	"mishap/tracker/trackertest"
)

// TestEmbargoedBugIsPrivate checks that the bug of an embargoed problem is private, whatever was
// chosen, and that the embargo covers what the problem is merged into.
func TestEmbargoedBugIsPrivate(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{CreateWait: handlertest.Patience})
	b, other := site.Save(t, crashtest.Native()), site.Save(t, crashtest.Python())
	triager, admin := site.AsWithoutPrivate(t, crash.RoleTriager), site.As(t, crash.RoleAdmin)
	triager.Get(b.ID.Path()+"/embargo").Want(http.StatusOK).WantText("main", "You will no longer see the problem")
	triager.Post(b.ID.Path()+"/embargo", url.Values{"do": {"set"}, "reason": {strings.Repeat("x", crash.MaxReason+1)}}).
		Want(http.StatusUnprocessableEntity)
	triager.Post(b.ID.Path()+"/embargo", url.Values{"do": {"set"}, "reason": {"writes"}}).WantRedirect(http.StatusSeeOther,
		"/")
	triager.Get(b.ID.Path()).Want(http.StatusNotFound)
	triager.Post(b.ID.Path()+"/embargo", url.Values{"do": {"lift"}}).Want(http.StatusNotFound)
	body := map[string]string{"signature": b.Signature}
	triager.PostJSON(handlertest.CreatePath, body).Want(http.StatusNotFound)
	admin.PostJSON(handlertest.CreatePath, body).Want(http.StatusCreated)
	bugs := site.Tracker.Bugs()
	if len(bugs) != 1 || bugs[0].InformationType != "Private Security" {
		t.Fatalf("got bugs %+v, want one that is private", bugs)
	}
	admin.Get(b.ID.Path()).Want(http.StatusOK).WantText("#manual", "Embargoed by ada-triager")
	if _, err := site.Decisions.Merge(t.Context(), other.ID, []crash.BucketID{b.ID}, "ada-admin", ""); err != nil {
		t.Fatal(err)
	}
	triager.Get(other.ID.Path()).Want(http.StatusNotFound)
	admin.Post(other.ID.Path()+"/embargo", url.Values{"do": {"lift"}}).WantRedirect(http.StatusSeeOther, other.ID.Path())
	triager.Get(other.ID.Path()).Want(http.StatusOK)
	if got := site.Tracker.Bugs()[0].InformationType; got != "Private Security" {
		t.Errorf("after the embargo: got a bug with %q, want it as before", got)
	}
}

// TestEmbargoByAPI sets and lifts embargoes by API tokens, with and without the right to see them.
func TestEmbargoByAPI(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	b := site.Save(t, crashtest.Native())
	admin := site.As(t, crash.RoleAdmin)
	all, blind := handlertest.Bearer(handlertest.MakeToken(t, admin, "triage", "read", "read-private")),
		handlertest.Bearer(handlertest.MakeToken(t, admin, "triage", "read"))
	set := func(headers []handlertest.Header, kind string, status int) (got struct {
		Code    string
		Embargo *struct{ At, Person, Reason string }
	}) {
		t.Helper()
		site.Visitor(t).PostJSON(setStatusPath, map[string]any{"signature": b.ID.String(), "kind": kind, "reason": "writes"},
			headers...).Want(status).JSON(&got)
		return got
	}
	if got := set(all, "lift-embargo", http.StatusConflict); got.Code != "not_embargoed" {
		t.Errorf("without an embargo: got %+v", got)
	}
	for range 2 {
		if got := set(blind, "embargo", http.StatusOK).Embargo; got == nil || got.Person != "ada-admin" ||
			got.Reason != "writes" || got.At == "" {
			t.Errorf("set: got %+v", got)
		}
		if got := set(blind, "embargo", http.StatusNotFound); got.Embargo != nil {
			t.Errorf("set without the right to see it: got %+v", got)
		}
		set(blind, "lift-embargo", http.StatusNotFound)
		set(all, "embargo", http.StatusOK) // changes nothing
		admin.Get(b.ID.Path()).WantText("#manual", "Embargoed by ada-admin")
		if got := set(all, "lift-embargo", http.StatusOK); got.Embargo != nil {
			t.Errorf("lifted: got %+v", got)
		}
	}
	handlertest.WantRecords(t, admin, "action=problem.embargo&object="+b.ID.String(), slices.Repeat([]string{
		"token|ada-admin|a script " + blindHint(blind) + "|problem.embargo|" + b.ID.String() + "|done|"}, 2)...)
}

// blindHint returns the last characters of the token in a header.
func blindHint(headers []handlertest.Header) string {
	return headers[0].Value[len(headers[0].Value)-8:]
}

// TestEmbargoConfirmations checks the questions before an embargoed problem gets a public bug or is
// merged with one that everybody sees.
func TestEmbargoConfirmations(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	b, other := site.Save(t, crashtest.Native()), site.Save(t, crashtest.Python())
	c := site.As(t, crash.RoleAdmin)
	public := site.Tracker.Add(trackertest.Bug{Title: "open", Package: b.SourcePackage})
	both := b.ID.String() + "." + other.ID.String()
	const confirmation = ".found-bug input[name=public][required]"
	c.Get(b.ID.Path() + "/link?bug=" + fmt.Sprint(public)).Want(http.StatusOK).WantNone(confirmation)
	c.Get("/problems/merge?problems="+both).Want(http.StatusOK).WantText("#main", "Merge").WantNone("#main strong")
	c.Post(b.ID.Path()+"/embargo", url.Values{"do": {"set"}}).Want(http.StatusSeeOther)

	c.Get("/problems/merge?problems="+both).WantText("#main strong", "One of these problems is embargoed")
	for path, form := range map[string]url.Values{
		b.ID.Path() + "/link": handlertest.BugForm(public),
		"/problems/link":      {"problems": {both}, "bug": {fmt.Sprint(public)}},
	} {
		asks := c.Get(path + "?bug=" + fmt.Sprint(public) + "&problems=" + both).Want(http.StatusOK)
		if asks.Attr(confirmation, "value") != "yes" {
			t.Errorf("%s: the form does not ask for confirmation", path)
		}
		c.Post(path, form).Want(http.StatusConflict)
		for _, id := range []crash.BucketID{b.ID, other.ID} {
			if got := site.Bucket(t, id).Bug.Number; got != 0 {
				t.Fatalf("%s without confirmation: got bug %d", path, got)
			}
		}
	}
	confirmed := handlertest.BugForm(public)
	confirmed.Set("public", "yes")
	c.Post(b.ID.Path()+"/link", confirmed).WantRedirect(http.StatusSeeOther, b.ID.Path())
	if got := site.Bucket(t, b.ID).Bug.Number; got != public {
		t.Errorf("with confirmation: got bug %d, want %d", got, public)
	}
}

// TestUnconfirmedPrivate checks that a right to private data that an upgrade gave does not show
// embargoed problems until an administrator confirms it.
func TestUnconfirmedPrivate(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	site := handlertest.New(t, handlertest.Options{Store: dbtest.Open(t, address)})
	b := site.Save(t, crashtest.Native())
	viewer, admin := site.As(t, crash.RoleViewer), site.As(t, crash.RoleAdmin)
	admin.Get("/admin/access").Want(http.StatusOK).WantNone("#unconfirmed")
	dbtest.Exec(t, address, `update account_grants set embargoed = false`) // as migration 040 does
	admin.Post(b.ID.Path()+"/embargo", url.Values{"do": {"set"}}).Want(http.StatusSeeOther)
	viewer.Get(b.ID.Path()).Want(http.StatusNotFound)
	viewer.Get("/user/machine-1").Want(http.StatusOK) // private data as before
	page := admin.Get("/admin/access").WantText("#unconfirmed", "1 right to private data comes from an upgrade.").
		WantText("tbody", "without embargoed problems")
	form := url.Values{}
	page.HTML().Find("form[action='/admin/access']:has(button[aria-label]) input").Each(func(_ int,
		in *goquery.Selection) {
		form.Set(in.AttrOr("name", ""), in.AttrOr("value", ""))
	})
	form.Del("csrf_token")
	admin.Post("/admin/access", form).WantRedirect(http.StatusSeeOther, "/admin/access")
	viewer.Get(b.ID.Path()).Want(http.StatusOK)
	admin.Get("/admin/access").WantNone("#unconfirmed")
	admin.Get("/admin/audit?action=access.grant").WantText("tbody",
		"role: private without embargoed problems → private")
}

// TestEmbargoedList checks the search is:embargoed and the page of embargoed problems, for people with and
// without the right to see them.
func TestEmbargoedList(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	native, python := site.Save(t, crashtest.Native()), site.Save(t, crashtest.Python())
	admin, viewer := site.As(t, crash.RoleAdmin), site.AsWithoutPrivate(t, crash.RoleViewer)
	admin.Get("/embargoed").Want(http.StatusOK).WantText(".empty", "no embargoed problem")
	admin.Get(handlertest.SearchFor("is:embargoed")).Want(http.StatusOK).WantNone("table.problems tbody tr")
	admin.Post(native.ID.Path()+"/embargo", url.Values{"do": {"set"}, "reason": {"writes"}}).Want(http.StatusSeeOther)
	page := admin.Get("/embargoed").Want(http.StatusOK).WantText("main", "Embargoed by ada-admin").
		WantText("main", "writes")
	if got := page.HTML().Find(`.rule-list time[datetime]`).Length(); got != 1 {
		t.Errorf("got %d times, want since when it is embargoed", got)
	}
	for path, want := range map[string]int{native.ID.Path(): 1, native.ID.Path() + "/embargo": 1, python.ID.Path(): 0} {
		if got := page.HTML().Find(`main a[href="` + path + `"]`).Length(); got != want {
			t.Errorf("%s: got %d links, want %d", path, got, want)
		}
	}
	for query, want := range map[string]*crash.Bucket{"is:embargoed": &native, "-is:embargoed": &python} {
		rows := admin.Get(handlertest.SearchFor(query)).Want(http.StatusOK).HTML().Find("table.problems tbody tr")
		if link := rows.Find(`a[href^="` + want.ID.Path() + `?via="]`); rows.Length() != 1 || link.Length() == 0 {
			t.Errorf("%s: got %d rows, want one for %s", query, rows.Length(), want.ID)
		}
	}
	viewer.Get("/embargoed").Want(http.StatusOK).WantText(".empty", "no embargoed problem")
	for query, rows := range map[string]int{"is:embargoed": 0, "-is:embargoed": 1} {
		got := viewer.Get(handlertest.SearchFor(query)).Want(http.StatusOK).HTML().Find("table.problems tbody tr").Length()
		if got != rows {
			t.Errorf("%s without the right: got %d rows, want %d", query, got, rows)
		}
	}
	site.Visitor(t).Get("/embargoed").WantRedirect(http.StatusSeeOther, "/login?next=%2Fembargoed")
	admin.Get("/account").Want(http.StatusOK).WantText("main", "Embargoed problems")
	admin.Post(native.ID.Path()+"/embargo", url.Values{"do": {"lift"}}).Want(http.StatusSeeOther)
	admin.Get("/embargoed").Want(http.StatusOK).WantText(".empty", "no embargoed problem")
	admin.Get(handlertest.SearchFor("is:embargoed")).Want(http.StatusOK).WantNone("table.problems tbody tr")
}
