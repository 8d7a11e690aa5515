package bugs_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/handlers/handlertest"
	"mishap/tracker/trackertest"
)

func TestLinkBug(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	b := site.Save(t, crashtest.Native())
	number := site.Tracker.Add(trackertest.Bug{Title: "The very <bug>", Package: b.SourcePackage, Status: "Triaged",
		Importance: "High"})
	c := site.As(t, crash.RoleTriager)
	page := c.Get(b.ID.Path()).Want(http.StatusOK)
	if got := page.Attr(`#bugs .link-bug-link`, "href"); got != b.ID.Path()+"/link" {
		t.Errorf("link to the page that links bugs: got %q", got)
	}

	// The bug is shown before anything is linked.
	for _, text := range []string{fmt.Sprint(number), fmt.Sprintf(" #%d", number),
		fmt.Sprintf("%s/bugs/%d", site.Tracker.URL, number)} {
		found := c.Get(b.ID.Path() + "/link?bug=" + url.QueryEscape(text)).Want(http.StatusOK)
		found.WantText(".found-bug", "The very <bug>").WantText(".found-bug", "Triaged, High").WantText(".found-bug button",
			fmt.Sprintf("Link bug %d", number))
	}
	c.Part(b.ID.Path()+"/link?bug="+fmt.Sprint(number)).Want(http.StatusOK).WantText(".found-bug",
		"The very <bug>").WantNone("main")
	if got := site.Bucket(t, b.ID); got.Bug.Number != 0 {
		t.Fatalf("after viewing: got bug %d, want none", got.Bug.Number)
	}

	c.Post(b.ID.Path()+"/link", handlertest.BugForm(number)).WantRedirect(http.StatusSeeOther, b.ID.Path())
	page = c.Get(b.ID.Path())
	page.WantText(".flash-done", fmt.Sprintf("Bug %d linked.", number)).WantText("#bugs .bug-link", fmt.Sprint(number)).
		WantText(".status-text", "Open in").WantText(".bug-list", "The very <bug>").WantText(".bug-list",
		"linked by ada-triager")
	site.Visitor(t).Get("/?period=year").WantText(`tbody [data-status="open"]`, fmt.Sprint(number))
	site.Visitor(t).Get(b.ID.Path()).WantText(".bug-list", "The very <bug>").WantNone(".link-bug-link, .bug-list form")
	if text := site.Visitor(t).Get(b.ID.Path()).Text(".bug-list"); strings.Contains(text, "ada") {
		t.Errorf("visitors: got %q, want no name of an account", text)
	}
	c.Get(b.ID.Path()+"/link?bug="+fmt.Sprint(number)).WantText(".found-bug",
		"already has that bug").WantNone(".found-bug form")
	c.Post(b.ID.Path()+"/link", handlertest.BugForm(number)).WantRedirect(http.StatusSeeOther, b.ID.Path())
	c.Get(b.ID.Path()).WantText(".flash-done", "was already linked")

	// Create returns the linked bug without filing anything.
	var created struct{ Report, State string }
	c.PostJSON(handlertest.CreatePath, map[string]string{"signature": b.Signature}).Want(http.StatusOK).JSON(&created)
	if created.Report != fmt.Sprint(number) || len(site.Tracker.Bugs()) != 1 {
		t.Errorf("create: got %+v and %d bugs in the tracker, want %d and 1", created, len(site.Tracker.Bugs()), number)
	}
}

func TestLinkBugRefusals(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	b := site.Save(t, crashtest.Native())
	c := site.As(t, crash.RoleTriager)
	for text, want := range map[string]string{
		"seven": "neither a bug number nor the address", "https://elsewhere.example/bugs/7": "belongs to another tracker",
	} {
		c.Get(b.ID.Path()+"/link?bug="+url.QueryEscape(text)).Want(http.StatusUnprocessableEntity).WantText(".error", want)
		c.Post(b.ID.Path()+"/link", handlertest.BugForm(text)).Want(http.StatusUnprocessableEntity).WantText("main", want)
	}
	c.Get(b.ID.Path()+"/link?bug=77").Want(http.StatusOK).WantText(".found-bug",
		"shows no bug 77").WantText(".found-bug button", "Link bug 77 anyway")
	c.Post(b.ID.Path()+"/unlink", handlertest.BugForm(77)).Want(http.StatusNotFound)
	c.Post(b.ID.Path()+"/relink", handlertest.BugForm(77)).Want(http.StatusNotFound)
	unknown := crash.BucketIDOf("no such").Path()
	c.Get(unknown + "/link").Want(http.StatusNotFound)
	c.Post(unknown+"/link", handlertest.BugForm(7)).Want(http.StatusNotFound)

	site.Tracker.FailWith(trackertest.FaultSpec{Operation: trackertest.OpBug, Fault: trackertest.DropBefore, Times: 10})
	c.Get(b.ID.Path()+"/link?bug=78").Want(http.StatusOK).WantText(".found-bug",
		"cannot be reached").WantText(".found-bug button", "anyway")
	c.Post(b.ID.Path()+"/link", handlertest.BugForm(78)).WantRedirect(http.StatusSeeOther, b.ID.Path())
	c.Get(b.ID.Path()).WantText(".flash-done", "Its state will appear once").WantText(".bug-list", "not read yet")
}

func TestUnlinkBugAndUndo(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	b := site.Save(t, crashtest.Native())
	c := site.As(t, crash.RoleTriager)
	var created struct{ Report string }
	c.PostJSON(handlertest.CreatePath, map[string]string{"signature": b.Signature}).Want(http.StatusCreated).JSON(&created)
	before := site.Bucket(t, b.ID)

	c.Post(b.ID.Path()+"/unlink", handlertest.BugForm(created.Report)).WantRedirect(http.StatusSeeOther, b.ID.Path())
	page := c.Get(b.ID.Path())
	page.WantText(".flash-done", "unlinked").WantNone(".bug-link")
	if got := site.Bucket(t, b.ID); got.Bug.Number != 0 || got.Filing.State != crash.FilingAbandoned ||
		!strings.Contains(got.Filing.Reason, "ada-triager") {
		t.Errorf("unlinked: got bug %d, filing %+v", got.Bug.Number, got.Filing)
	}
	if action, bug := page.Attr(".flash-done form", "action"), page.Attr(`.flash-done input[name=bug]`,
		"value"); action != b.ID.Path()+"/relink" || bug != created.Report {
		t.Fatalf("undo: got a form to %q for %q", action, bug)
	}
	c.Post(b.ID.Path()+"/relink", handlertest.BugForm(created.Report)).WantRedirect(http.StatusSeeOther, b.ID.Path())
	c.Get(b.ID.Path()).WantText(".flash-done", "linked again").WantText(".bug-link", created.Report)
	if got := site.Bucket(t, b.ID); got.Bug.How != crash.Filed || got.Bug.By != before.Bug.By ||
		!got.Bug.At.Equal(before.Bug.At) || got.Filing.State != crash.FilingFiled {
		t.Errorf("undone: got %+v, filing %s; want the state before: %+v", got.Bug, got.Filing.State, before.Bug)
	}

	// Unlinking in place returns the current bugs and a button to undo.
	part := c.Post(b.ID.Path()+"/unlink", handlertest.BugForm(created.Report), handlertest.AsPart...).Want(http.StatusOK)
	part.WantNone("main").WantNone("#bugs .bug-link").WantText("#flash .flash-done", "unlinked")
	if part.Attr("#flash input[name=csrf_token]", "value") == "" {
		t.Error("undo in place: got no token in the form, want one")
	}
	// A new filing does not find a bug that was unlinked. Create files another one.
	var second struct{ Report string }
	c.PostJSON(handlertest.CreatePath, map[string]string{"signature": b.Signature}).Want(http.StatusCreated).JSON(&second)
	if second.Report == created.Report || len(site.Tracker.Bugs()) != 2 {
		t.Errorf("create again: got bug %s and %d in the tracker, want another one", second.Report, len(site.Tracker.Bugs()))
	}
}

func TestSeveralBucketsOfABug(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	c := site.As(t, crash.RoleTriager)
	first, second := site.Save(t, crashtest.Native()), site.Save(t, crashtest.Python())
	number := site.Tracker.Add(trackertest.Bug{Title: "One for two", Package: first.SourcePackage})
	address := fmt.Sprintf("/bug/%d", number)
	visitor := site.Visitor(t)
	visitor.Get(address).Want(http.StatusNotFound)
	c.Post(first.ID.Path()+"/link", handlertest.BugForm(number))
	visitor.Get(address).WantRedirect(http.StatusSeeOther, first.ID.Path())
	c.Post(second.ID.Path()+"/link", handlertest.BugForm(number))
	list := visitor.Get(address).Want(http.StatusOK)
	for _, b := range []crash.Bucket{first, second} {
		if got := list.HTML().Find(`.bug-problems a[href="` + b.ID.Path() + `"]`).Length(); got != 1 {
			t.Errorf("list: got %d links to %s, want 1", got, b.ID)
		}
	}

	type answer struct {
		Meta struct {
			Limit      int     `json:"limit"`
			Next       *string `json:"next"`
			Offset     int     `json:"offset"`
			Previous   *string `json:"previous"`
			TotalCount int     `json:"total_count"`
		} `json:"meta"`
		Objects []struct {
			Signatures []string `json:"signatures"`
		} `json:"objects"`
	}
	want := []string{first.Signature, second.Signature}
	slices.Sort(want)
	for query, signatures := range map[string][]string{
		"": want, "&limit=0": want, "&limit=1": want[:1], "&limit=5": want, "&limit=1000": want,
	} {
		for _, path := range []string{"/api/1.0/crash-signatures-for-bug/?bug=",
			"/api/1.0/crash-signatures-for-bug/?format=json&bug="} {
			var got answer
			visitor.Get(path + fmt.Sprint(number) + query).Want(http.StatusOK).JSON(&got)
			if len(got.Objects) != 1 || !slices.Equal(got.Objects[0].Signatures, signatures) || got.Meta.TotalCount != 1 {
				t.Errorf("%s%s: got %+v, want %q", path, query, got, signatures)
			}
		}
	}
	visitor.Get("/api/1.0/crash-signatures-for-bug?bug=5").WantRedirect(http.StatusMovedPermanently,
		"/api/1.0/crash-signatures-for-bug/?bug=5")
	none := visitor.Get("/api/1.0/crash-signatures-for-bug/?bug=5").Want(http.StatusOK)
	if !strings.Contains(none.Body, `"signatures": []`) || !strings.Contains(none.Body, `"limit": 360`) {
		t.Errorf("a bug without problems: got %s", none.Body)
	}
	for query, want := range map[string]string{
		"": "Number of a bug", "bug=": "Number of a bug", "bug=seven": "not a number", "bug=-1": "not a number",
		"bug=99999999999999999999": "not a number",
		"bug=1&limit=abc":          "Invalid limit 'abc' provided. Please provide a positive integer.",
		"bug=1&limit=-1":           "Invalid limit '-1' provided. Please provide a positive integer >= 0.",
		"bug=1&offset=x":           "Invalid offset 'x' provided. Please provide an integer.",
	} {
		var got handlertest.APIError
		visitor.Get("/api/1.0/crash-signatures-for-bug/?" + query).Want(http.StatusBadRequest).JSON(&got)
		if !strings.Contains(got.Error, want) {
			t.Errorf("%q: got %q, want %q", query, got.Error, want)
		}
	}
}
