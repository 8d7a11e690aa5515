package problems_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/db/dbtest"
	"mishap/handlers/handlertest"
)

func TestNotesOnPages(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	b := site.Save(t, crashtest.Native())
	viewer, triager := site.As(t, crash.RoleViewer), site.As(t, crash.RoleTriager)
	path := b.ID.Path() + "/notes"
	viewer.Post(path, url.Values{"text": {"Needs a <full> disk.\nReally."}}).WantRedirect(http.StatusSeeOther, b.ID.Path()+
		"#notes")
	page := viewer.Get(b.ID.Path()).WantText(".flash-done", "Note saved").WantText(".note-text",
		"Needs a <full> disk.").WantText(".note-head", "ada-viewer")
	change := page.Attr(".note-folds form", "action")
	triager.Post(change, url.Values{"text": {"Needs two."}}).Want(http.StatusSeeOther)
	viewer.Get(b.ID.Path()).WantText(".note-text", "Needs two.").WantText(".note-folds",
		"1 change").WantText(".note-folds .note-list", "ada-triager")

	// A viewer cannot change another person's note.
	triager.Post(path, url.Values{"text": {"Mine."}}).Want(http.StatusSeeOther)
	other := strings.TrimSuffix(change, "1") + "2"
	viewer.Post(other, url.Values{"text": {"Not mine."}}).Want(http.StatusForbidden)
	triager.Post(other, url.Values{"text": {"x"}, "do": {"remove"}}).Want(http.StatusSeeOther)
	triager.Get(b.ID.Path()).WantText("#notes", "1 removed note").WantText("#notes", "Mine.")
	triager.Post(b.ID.Path()+"/notes/99", url.Values{"text": {"x"}}).Want(http.StatusNotFound)
	viewer.Post(path, url.Values{"text": {"  "}}).Want(http.StatusSeeOther)
	viewer.Get(b.ID.Path()).WantText(".flash-error", "Write something first.")
	site.Visitor(t).Get(b.ID.Path()).WantNone("#notes")
}

// TestProblemParts checks the versions, parts, similar problems and selected reports on a problem's
// page.
func TestProblemParts(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	often, once := handlertest.Twins(t, site)
	for pid := range 2 {
		site.Save(t, crashtest.Native(crashtest.Process(60+pid), crashtest.Set("Architecture", "arm64"),
			crashtest.Version("1.4.10-1")))
	}
	// Save another problem of the package, in a version without the first problem.
	for pid := range 100 {
		site.SaveFrom(t, "machine-2", crashtest.Native(crashtest.Process(70+pid), crashtest.Version("1.5.0-1"),
			crashtest.Set("Signal", "6")))
	}
	c := site.As(t, crash.RoleTriager)
	page := c.Get(often.ID.Path()).Want(http.StatusOK)
	page.WantText("#versions tbody tr:nth-child(1)", "1.5.0-1").WantText("#versions tbody tr:nth-child(1) .mark",
		"probable fix").
		WantText("#versions tbody tr:nth-child(2) .mark", "last").WantText(".breakdown", "arm64").WantText(".alike",
		"tide_reload")
	if got := page.HTML().Find(".alike a[href*=merge]").First().AttrOr("href", ""); !strings.Contains(got,
		once.ID.String()) && !strings.Contains(got, "problems=") {
		t.Errorf("link that merges a similar problem: got %q", got)
	}
	rows := func(query string) int {
		return c.Get(often.ID.Path() + query).Want(http.StatusOK).HTML().Find("#reports tbody tr").Length()
	}
	for query, want := range map[string]int{
		"": 5, "?architecture=arm64": 2, "?version=1.4.10-1": 2, "?version=1.4.9-2&architecture=arm64": 0,
		"?release=Ubuntu+24.04&complete=yes": 5, "?release=Ubuntu+22.04": 0,
	} {
		if got := rows(query); got != want {
			t.Errorf("reports%s: got %d, want %d", query, got, want)
		}
	}
	c.Get(often.ID.Path()+"?release=Ubuntu+22.04").WantText("#reports", "No stored report matches.").
		WantText(".report-filter", "All reports")
	c.Get(often.ID.Path() + "?version=" + strings.Repeat("x", 300)).Want(http.StatusBadRequest)
	site.Visitor(t).Get(often.ID.Path()).WantText(".breakdown", "arm64").WantNone(".report-filter, .alike a[href*=merge]")
}

func TestTraitsOfProblem(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	var b crash.Bucket
	for pid := range 6 {
		b = site.SaveFrom(t, crash.SystemID(fmt.Sprint("machine ", pid)), crashtest.Native(crashtest.Process(pid+1),
			crashtest.Set("Dependencies", "libc6 2.39\nlibtide1 1.2-1<x>")))
		site.SaveFrom(t, crash.SystemID(fmt.Sprint("machine ", pid)), crashtest.Native(crashtest.Process(pid+100),
			crashtest.Set("Signal", "6"),
			crashtest.Set("Dependencies", "libc6 2.39\nlibtide1 1.1-1")))
	}
	c := site.As(t, crash.RoleViewer)
	c.Get(b.ID.Path()).WantText(".traits-fold h2", "What stands out")
	c.Get(b.ID.Path()+"/traits").Want(http.StatusOK).WantText("#traits",
		"100 % Package libtide1 1.2-1<x> (0 % elsewhere)").WantText("#traits .hint", "newest 6 reports and 6 "+
		"of the package’s other problems, one of each machine")
	for pid := range 9 { // the same machine again and again
		site.Save(t, crashtest.Native(crashtest.Process(pid+200), crashtest.Set("Dependencies", "libc6 2.38")))
	}
	part := c.Part(b.ID.Path()+"/traits").Want(http.StatusOK).WantText("#traits", "libtide1").WantNone("main")
	if strings.Contains(part.Text("#traits"), "libc6") {
		t.Errorf("got %q, want no common traits", part.Text("#traits"))
	}
}

// TestMentionsOnPages checks that a note links the names of accounts, and nothing else.
func TestMentionsOnPages(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	b := site.Save(t, crashtest.Native())
	viewer := site.As(t, crash.RoleViewer)
	site.AddUser(t, crash.RoleTriager)
	viewer.Post(b.ID.Path()+"/notes", url.Values{"text": {"<b>Ask</b>  @ADA-triager, not @nobody or ada@ada-triager."}}).
		Want(http.StatusSeeOther)
	page := viewer.Get(b.ID.Path()).WantText(".note-text .mention", "@ADA-triager")
	if got := page.HTML().Find(".note-text").Text(); got != "<b>Ask</b>  @ADA-triager, not @nobody or ada@ada-triager." {
		t.Errorf("the text is %q", got)
	}
	if got := page.HTML().Find(".mention").Length(); got != 1 {
		t.Errorf("got %d links, want 1", got)
	}
	if got := page.Attr(".mention", "href"); got != "/search?q=assignee%3Aada-triager" {
		t.Errorf("link: got %q", got)
	}
}

// TestMentionOffers checks whom the field of a note offers: accounts with a role that may see the
// problem, and nobody to visitors or for a problem that one may not see.
func TestMentionOffers(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	site := handlertest.New(t, handlertest.Options{Store: dbtest.Open(t, address)})
	b := site.Save(t, crashtest.Native())
	viewer, visitor := site.As(t, crash.RoleViewer), site.Visitor(t)
	stranger := site.AsWithoutPrivate(t, crash.RoleTriager)
	dbtest.AddUser(t, site.Store, "ada-former", crash.RoleViewer, handlertest.Password)
	if err := site.People.Disable(t.Context(), "", "ada-former"); err != nil {
		t.Fatal(err)
	}
	dbtest.AddUserWithoutPrivate(t, site.Store, "ada-none", crash.RoleNone, handlertest.Password)
	for i := range 9 {
		dbtest.AddUser(t, site.Store, fmt.Sprint("many", i), crash.RoleViewer, handlertest.Password)
	}
	const path = "/search/complete?of=mention&problem="
	offered := func(c *handlertest.Client, begins, want, announced string) {
		t.Helper()
		page := c.Part(path + b.ID.String() + "&mention=" + begins).Want(http.StatusOK)
		if got := page.Text("[role=option]"); got != want {
			t.Errorf("%q: got %q, want %q", begins, got, want)
		}
		if announced != "" && page.Attr("[data-announce]", "data-announce") != announced {
			t.Errorf("%q: got %q", begins, page.Attr("[data-announce]", "data-announce"))
		}
	}
	offered(viewer, "ADA-", "ada-triager ada-viewer", "2 names. Arrow keys select, Enter inserts.")
	offered(viewer, "many", "many0 many1 many2 many3 many4 many5 many6 many7",
		"The first 8 names. Arrow keys select, Enter inserts.")
	offered(viewer, "nobody", "", "No names.")
	offered(viewer, "%25", "", "No names.")
	offered(visitor, "ada", "", "")
	viewer.Part(path + "x&mention=ada").Want(http.StatusNotFound)
	viewer.Part(path + strings.Repeat("0", 40) + "&mention=ada").Want(http.StatusNotFound)

	dbtest.AddUser(t, site.Store, "ada-upgraded", crash.RoleViewer, handlertest.Password)
	dbtest.Exec(t, address, `update account_grants set embargoed = false
		where user_id = (select id from users where name = 'ada-upgraded')`)
	embargo := crash.Mark{Kind: crash.MarkEmbargo, Bucket: b.ID, Person: "ada"}
	if _, err := site.Problems.Set(t.Context(), embargo); err != nil {
		t.Fatal(err)
	}
	offered(viewer, "ada-", "ada-viewer", "1 name. Arrow keys select, Enter inserts.")
	stranger.Part(path + b.ID.String() + "&mention=ada").Want(http.StatusNotFound)
}
