package problems_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/crash/privacy"
	"mishap/db/dbtest"
	"mishap/handlers/handlertest"
)

func TestAssignOnThePage(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	b := site.Save(t, crashtest.Native())
	path := b.ID.Path()
	viewer, triager := site.As(t, crash.RoleViewer), site.As(t, crash.RoleTriager)
	triager.Get(path).WantText("#people", "nobody").WantText("#assign-me button", "Assign to me")
	viewer.Get(path).WantText("#people", "nobody").WantNone("#people a[href$='/assign'], #assign-me, #tag-form")
	site.Visitor(t).Get(path).WantNone("#people")

	// Without scripts.
	triager.Post(path+"/assign", url.Values{"do": {"me"}}).WantRedirect(http.StatusSeeOther, path)
	page := triager.Get(path).WantText(".flash-done", "Assigned to ada-triager. Undo").WantText("#people dd",
		"ada-triager")
	page.WantNone("#assign-me").WantText("#people .note-list", "ada-triager → ada-triager")
	// In place.
	part := triager.Post(path+"/assign", url.Values{"assignee": {"ADA-viewer"}}, handlertest.AsPart...).Want(http.StatusOK)
	part.WantText(".flash-done", "Assigned to ada-viewer.")
	triager.Get(path).WantText("#people dd", "ada-viewer")
	undo, ids := part.Attr(".flash form", "action"), part.Attr(".flash input[name=assignments]", "value")
	triager.Post(undo, url.Values{"assignments": {ids}}, handlertest.AsPart...).Want(http.StatusOK).WantText(".flash-done",
		"Undid 1 assignment.")
	triager.Get(path).WantText("#people dd", "ada-triager").WantText("#people .undone", "undone by ada-triager")
	triager.Post(undo, url.Values{"assignments": {ids}}, handlertest.AsPart...).WantText(".flash-done",
		"Undid 0 assignments.")
	triager.Get(path+"/assign", handlertest.AsPart...).Want(http.StatusOK).
		WantText("#dialog-heading", "Assign this problem").
		WantText("button[autofocus]", "Assign to me").WantNone("main")
	part = triager.Post(path+"/assign", url.Values{"assignee": {"<nobody>"}, "dialog": {"1"}}, handlertest.AsPart...)
	part.Want(http.StatusUnprocessableEntity).WantText(".error", `no account named "<nobody>"`)
	if got := part.Attr("#assignee", "value"); got != "<nobody>" {
		t.Errorf("typed: got %q", got)
	}
	triager.Post(path+"/assign", url.Values{"assignee": {"<nobody>"}}).Want(http.StatusUnprocessableEntity).
		WantText(".error", "no account named")
	triager.Post(path+"/assign", url.Values{"do": {"nobody"}}, handlertest.AsPart...).Want(http.StatusOK)
	triager.Get(path).WantText("#people dd", "nobody")

	// The assignee of the bug counts.
	dbtest.Must(site.Bugs.LinkBug(t.Context(), b.ID, crash.Bug{Number: 7, URL: "https://bugs.example/7",
		By: "ada"}))(t)
	reading := crash.BugReading{Number: 7,
		Tasks: []crash.BugTask{{Target: "/ubuntu/+source/tidewatch", Assignee: "carla"}}}
	checktest.NoError(t, site.Bugs.SaveBugReading(t.Context(), reading, "", time.Hour))
	page = triager.Get(path).WantText("#people dd", "carla (in the practice tracker)").
		WantText("#people .hint", "Change the bug’s assignee in ").WantNone("#assign-me, a[href$='/assign']")
	if got := page.Attr("#people a.quiet", "href"); got != "https://bugs.example/7" {
		t.Errorf("link to the bug: got %q", got)
	}
	triager.Post(path+"/assign", url.Values{"do": {"me"}}, handlertest.AsPart...).Want(http.StatusConflict)
}

func TestTagsOnThePage(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	b := site.Save(t, crashtest.Native())
	path, c := b.ID.Path(), site.As(t, crash.RoleTriager)
	part := c.Post(path+"/tags", url.Values{"tag": {" SRU "}}, handlertest.AsPart...).Want(http.StatusOK)
	part.WantText(".flash-done", "Tag sru added. Undo")
	c.Post(path+"/tags", url.Values{"tag": {"sru"}}, handlertest.AsPart...).WantText(".flash-done",
		"It already has the tag sru.")
	c.Post(part.Attr(".flash form", "action"), url.Values{"tag": {part.Attr(".flash input[name=tag]", "value")}}).
		WantRedirect(http.StatusSeeOther, path)
	page := c.Get(path).WantNone(".problem-tags").WantText(".flash-done", "Tag sru removed. Undo")
	c.Post(page.Attr(".flash form", "action"), url.Values{"tag": {"sru"}}).Want(http.StatusSeeOther)
	c.Get(path).WantText(".problem-tags a", "sru")
	c.Post(path+"/tags", url.Values{"tag": {"two words"}}, handlertest.AsPart...).Want(http.StatusBadRequest).
		WantText(".flash-error", "is not a tag")
	site.As(t, crash.RoleViewer).Get(path).WantText(".problem-tags", "sru").WantNone(".problem-tags button")
}

// TestListsOfPeople checks searches, rows, files and suggestions by assignee and tag, for people
// and for visitors.
func TestListsOfPeople(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	a, b := site.Save(t, handlertest.Numbered(1)), site.Save(t, handlertest.Numbered(2))
	c, viewer, visitor := site.As(t, crash.RoleTriager), site.As(t, crash.RoleViewer), site.Visitor(t)
	checktest.NoError(t, site.People.SetTrackerName(t.Context(), "", "ada-viewer", "ada-lp"))
	c.Post(a.ID.Path()+"/assign", url.Values{"do": {"me"}}).Want(http.StatusSeeOther)
	c.Post(b.ID.Path()+"/assign", url.Values{"assignee": {"~ada-lp"}}).Want(http.StatusSeeOther)
	for _, tag := range []string{"sru", "c++", "later"} {
		c.Post(a.ID.Path()+"/tags", url.Values{"tag": {tag}}).Want(http.StatusSeeOther)
	}
	found := func(c *handlertest.Client, query string) string {
		t.Helper()
		var ids []string
		for _, row := range handlertest.CSVOf(t, c.Get("/search.csv?q="+url.QueryEscape(query)).Want(http.StatusOK)) {
			for name, id := range map[string]crash.BucketID{"a": a.ID, "b": b.ID} {
				if strings.HasSuffix(row["url"], id.String()) {
					ids = append(ids, name)
				}
			}
		}
		return strings.Join(ids, "")
	}
	for _, tt := range []struct {
		client      *handlertest.Client
		query, want string
	}{
		{c, "assignee:me", "a"}, {viewer, "assignee:me", "b"}, {c, "assignee:ada-lp", "b"}, {c, "assignee:none", ""},
		{c, "tag:c++", "a"}, {c, "tag:none", "b"}, {visitor, "assignee:me", ""}, {visitor, "assignee:ada*", ""},
		{visitor, "tag:sru", ""}, {c, "assignee:me", "a"}, {viewer, "-assignee:me", "a"},
	} {
		checktest.Equal(t, tt.query, found(tt.client, tt.query), tt.want)
	}
	c.Get("/search?q=assignee:me").WantText("tbody td.problem", "@ada-triager").WantText("tbody td.problem",
		"#c++ #later +1")
	for _, client := range []*handlertest.Client{c, visitor} { // in both orders
		rows := client.Get("/problems.csv?period=year").Want(http.StatusOK).Body
		page := client.Get("/?period=year").Want(http.StatusOK).Body
		for _, name := range []string{"ada-lp", "later"} {
			if got := strings.Contains(rows, name); got != (client == c) {
				t.Errorf("file: %q occurs: %t", name, got)
			}
		}
		if got := strings.Contains(page, "@ada-lp"); got != (client == c) {
			t.Errorf("page: the assignee occurs: %t", got)
		}
	}
	for address, want := range map[string]string{
		"?of=assignee&assignee=ad":  `"ada-triager" "ada-viewer"`,
		"?of=assignee&assignee=~ad": `"~ada-lp"`,
		"?of=tag&tag=l":             `"later"`,
		"?q=assignee:ada":           `"assignee:ada-triager" "assignee:~ada-lp"`,
		"?q=tag:s":                  `"tag:sru"`,
	} {
		body := c.Get("/search/complete" + address).Want(http.StatusOK).Body
		for _, name := range strings.Fields(want) {
			if !strings.Contains(body, "value="+name) {
				t.Errorf("%s: got %s, want %s", address, body, name)
			}
		}
		if body := visitor.Get("/search/complete" + address).Want(http.StatusOK).Body; strings.Contains(body, "ada") ||
			strings.Contains(body, "sru") || strings.Contains(body, "later") {
			t.Errorf("%s: visitors get %s", address, body)
		}
	}
}

func TestAssignChosen(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	c := site.As(t, crash.RoleTriager)
	form := url.Values{"do": {"assign"}}
	var chosen []crash.Bucket
	for i := range 3 {
		chosen = append(chosen, site.Save(t, handlertest.Numbered(i)))
		form.Add("bucket", chosen[i].ID.String())
	}
	c.Post(chosen[0].ID.Path()+"/assign", url.Values{"do": {"me"}}).Want(http.StatusSeeOther)
	dbtest.Must(site.Bugs.LinkBug(t.Context(), chosen[1].ID, crash.Bug{Number: 7, By: "ada"}))(t)
	reading := crash.BugReading{Number: 7,
		Tasks: []crash.BugTask{{Target: "/ubuntu/+source/tidewatch", Assignee: "carla"}}}
	checktest.NoError(t, site.Bugs.SaveBugReading(t.Context(), reading, "", time.Hour))
	place := c.Post(handlertest.ChosenPath, form).Want(http.StatusSeeOther).Header.Get("Location")
	page := c.Get(place).Want(http.StatusOK).WantText("h1", "Assign 3 problems").
		WantText("tbody tr:nth-child(1)", "ada-triager").WantText("tbody tr:nth-child(2)", "carla")
	fields := handlertest.FieldsOf(page, "#assign")
	with := func(key, value string) url.Values {
		fields := url.Values{"problems": fields["problems"], "back": {place}}
		fields.Set(key, value)
		return fields
	}
	c.Post("/problems/assign", with("assignee", "no-such-account")).Want(http.StatusUnprocessableEntity).
		WantText(".error", "no account named")
	c.Post("/problems/assign", with("assignee", "")).Want(http.StatusUnprocessableEntity).WantText(".error",
		"Enter the name")
	c.Post("/problems/assign", with("do", "me")).WantRedirect(http.StatusSeeOther, place)
	page = c.Get(place).WantText(".flash-done", "1 problem assigned to ada-triager. 1 was already assigned like that. "+
		"1 problem was skipped: their bugs have an assignee in the tracker. Undo")
	page.WantText("tbody tr:nth-child(3)", "ada-triager")
	undo := url.Values{"assignments": {page.Attr(".flash input[name=assignments]", "value")}}
	c.Post(page.Attr(".flash form", "action"), undo).WantRedirect(http.StatusSeeOther, "/")
	page = c.Get(place).WantText(".flash-done", "Undid 1 assignment.").WantText("tbody tr:nth-child(3)", "nobody")
	page.WantText("tbody tr:nth-child(1)", "ada-triager")
	c.Post("/problems/unassign?problems="+chosen[0].ID.String(), undo).Want(http.StatusSeeOther)
	c.Get(place).WantText(".flash-done", "Undid 0 assignments.")
}

// TestPeopleByAPI checks that programs assign and tag problems, with a token and with a session.
func TestPeopleByAPI(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	b := site.Save(t, crashtest.Native())
	const path = "/api/1.0/problem-people/"
	triager := site.As(t, crash.RoleTriager)
	file, read := handlertest.MakeToken(t, triager, "triage"), handlertest.MakeToken(t, triager, "read")
	program := func(token string) []handlertest.Header {
		return append(handlertest.Bearer(token), handlertest.Header{Name: "X-CSRFToken"}, handlertest.Header{Name: "Referer"})
	}
	type body = map[string]any
	got := func(a *handlertest.Answer) string {
		t.Helper()
		var now struct {
			Problem, Assignee string
			Bug               *string
			Tags              []string
		}
		a.Want(http.StatusOK).JSON(&now)
		if now.Problem != b.ID.String() || now.Bug != nil {
			t.Errorf("got %+v", now)
		}
		return fmt.Sprint(now.Assignee, now.Tags)
	}
	c := site.Visitor(t)
	for _, tt := range []struct {
		body body
		want string
	}{
		{body{"problem": b.ID.String(), "assignee": "me"}, "ada-triager[]"},
		{body{"problem": b.Signature, "add_tags": []string{"sru", "Later"}}, "ada-triager[later sru]"},
		{body{"problem": b.Signature, "remove_tags": []string{"sru"}, "assignee": "~desk"}, "~desk[later]"},
		{body{"problem": b.Signature, "assignee": ""}, "[later]"},
	} {
		checktest.Equal(t, tt.body, got(c.PostJSON(path, tt.body, program(file)...)), tt.want)
	}
	if got := got(triager.PostJSON(path,
		body{"problem": b.ID.String(), "assignee": "ada-triager"})); got != "ada-triager[later]" {
		t.Errorf("session: got %s", got)
	}
	var bucket struct {
		Assignee *string
		Tags     []string
	}
	c.Get("/api/1.0/bucket/"+b.ID.String()+"/", program(read)...).Want(http.StatusOK).JSON(&bucket)
	if bucket.Assignee == nil || *bucket.Assignee != "ada-triager" || len(bucket.Tags) != 1 {
		t.Errorf("bucket: got %+v", bucket)
	}
	if a := c.Get("/api/1.0/bucket/" + b.ID.String() + "/"); strings.Contains(a.Body, "ada-triager") ||
		strings.Contains(a.Body, "later") {
		t.Errorf("visitors see %s", a.Body)
	}
	for name, tt := range map[string]struct {
		a    *handlertest.Answer
		want int
	}{
		"scope":           {c.PostJSON(path, body{"problem": b.Signature}, program(read)...), http.StatusForbidden},
		"no token":        {c.PostJSON(path, body{"problem": b.Signature}), http.StatusUnauthorized},
		"no problem":      {c.PostJSON(path, body{"assignee": "me"}, program(file)...), http.StatusBadRequest},
		"unknown problem": {c.PostJSON(path, body{"problem": "no such"}, program(file)...), http.StatusNotFound},
		"unknown account": {c.PostJSON(path, body{"problem": b.Signature, "assignee": "x"}, program(file)...),
			http.StatusBadRequest},
		"bad tag": {c.PostJSON(path, body{"problem": b.Signature, "add_tags": []string{"a b"}}, program(file)...),
			http.StatusBadRequest},
		"a form": {c.Post(path, url.Values{"problem": {b.Signature}}, program(file)...),
			http.StatusUnsupportedMediaType},
	} {
		if tt.a.Status != tt.want {
			t.Errorf("%s: got %d, want %d: %s", name, tt.a.Status, tt.want, tt.a.Body)
		}
	}
}

// TestAssignInBrowser assigns a problem by key and by one click, in place, and several from the
// list.
func TestAssignInBrowser(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	ada := site.AddUser(t, crash.RoleTriager)
	site.AddUser(t, crash.RoleViewer)
	first, second := site.Save(t, handlertest.Numbered(1)), site.Save(t, handlertest.Numbered(2))
	ctx := handlertest.StartBrowser(t)
	site.SignInBrowser(ctx, t, crash.RoleTriager)
	handlertest.Do(ctx, t, chromedp.Navigate(site.URL+first.ID.Path()), handlertest.WaitVisible("#people"))
	assigned := func() string {
		t.Helper()
		return handlertest.Eval[string](ctx, t, `document.querySelector("#people dd").innerText.split("\n")[0].trim()`)
	}
	handlertest.Eval[bool](ctx, t, `window.stays = true`)
	// One click.
	handlertest.Do(ctx, t, handlertest.Click("#assign-me button"), handlertest.WaitVisible("#flash .flash-done "+
		"form button"),
		handlertest.WaitAbsent("#assign-me"))
	if got := assigned(); !strings.HasPrefix(got, ada.Name) {
		t.Errorf("assigned to me: got %q", got)
	}
	// The key opens the dialog, whose field suggests names; letters go there.
	handlertest.Do(ctx, t, handlertest.Press("a"), handlertest.WaitVisible("#dialog button[value=me]:focus"),
		handlertest.Press("ada-v"), handlertest.WaitPresent(`#assignee-offers option[value="ada-viewer"]`),
		handlertest.Press("x\r"), handlertest.WaitVisible("#dialog .error"))
	handlertest.Eval[bool](ctx, t, `document.querySelector("#assignee").value = ""; true`)
	handlertest.Do(ctx, t, handlertest.Type("#assignee", "ada-viewer\r"), handlertest.WaitVisible("#assign-me"))
	if got := assigned(); !strings.HasPrefix(got, "ada-viewer") {
		t.Errorf("assigned by name: got %q", got)
	}
	handlertest.Do(ctx, t, handlertest.Click("#people dd:nth-of-type(2) summary"),
		handlertest.Until(`document.activeElement?.id === "tag"`), handlertest.Press("SRU\r"),
		handlertest.WaitVisible(".problem-tags"),
		handlertest.WaitVisible("#people details:not([open]) > summary:focus"), handlertest.Click("#follow button"),
		handlertest.WaitVisible("#follow .state-done"))
	if !handlertest.Eval[bool](ctx, t, `window.stays === true`) {
		t.Error("the page was reloaded, want it to stay")
	}
	handlertest.Do(ctx, t, handlertest.Click(".problem-tags button"), handlertest.WaitAbsent(".problem-tags"))
	handlertest.Do(ctx, t, handlertest.Click("#flash form button"), handlertest.WaitVisible(".problem-tags"))

	// From the list: the selected rows, with two keys.
	handlertest.Do(ctx, t, chromedp.Navigate(site.URL+"/?period=year"), handlertest.WaitVisible("table.problems"),
		handlertest.Press("k"), handlertest.Press("k"), handlertest.Press("x"), handlertest.Press("j"),
		handlertest.Press("x"), handlertest.Press("a"),
		handlertest.WaitVisible("#dialog button[value=me]:focus"), handlertest.Press("\r"),
		handlertest.WaitVisible("#flash .flash-done"), handlertest.WaitVisible("tr:nth-child(2).current a.title:focus"))
	// One key takes a row.
	mine := func(n int) chromedp.Action[chromedp.Void] {
		return handlertest.Until(`document.querySelectorAll('.word[title="Assigned to ada-triager"]').length === ` +
			strconv.Itoa(n))
	}
	handlertest.Do(ctx, t, mine(2), handlertest.Press("u"), mine(0), handlertest.Press("i"), mine(1),
		handlertest.Press("k"), handlertest.Press("i"), mine(2))
	for _, b := range []crash.Bucket{first, second} {
		handlertest.Do(ctx, t, chromedp.Navigate(site.URL+b.ID.Path()), handlertest.WaitVisible("#people"))
		if got := assigned(); !strings.HasPrefix(got, ada.Name) {
			t.Errorf("assigned from the list: got %q", got)
		}
	}

	// On a phone, nothing is wider than the screen.
	handlertest.Do(ctx, t, chromedp.EmulateViewport(360, 740))
	for _, path := range []string{first.ID.Path(), "/?period=year", "/my",
		"/problems/assign?problems=" + first.ID.String() + "." + second.ID.String(), "/searches"} {
		handlertest.Do(ctx, t, chromedp.Navigate(site.URL+path), handlertest.WaitVisible("main h1"))
		if got := handlertest.Eval[float64](ctx, t, `document.documentElement.scrollWidth`); got > 360 {
			t.Errorf("%s on a phone: got a page %v px wide", path, got)
		}
	}
}

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
		WantText("#versions tbody tr:nth-child(2) .mark", "last").WantText(".breakdown", "arm64").WantText(".similar",
		"tide_reload")
	if got := page.HTML().Find(".similar a[href*=merge]").First().AttrOr("href", ""); !strings.Contains(got,
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
		checktest.Equal(t, fmt.Sprintf("reports%s", query), rows(query), want)
	}
	c.Get(often.ID.Path()+"?release=Ubuntu+22.04").WantText("#reports", "No stored report matches.").
		WantText(".report-filter", "All reports")
	c.Get(often.ID.Path() + "?version=" + strings.Repeat("x", 300)).Want(http.StatusBadRequest)
	site.Visitor(t).Get(often.ID.Path()).WantText(".breakdown", "arm64").
		WantNone(".report-filter, .similar a[href*=merge]")
}

// concentrated saves reports of a problem that machines with nvidia-550 have: 14 of 15, and 2 of 10 with other
// problems. Machines with nvidia-550 also have an own library from a third party, and a model of their own.
func concentrated(t *testing.T, site *handlertest.Site) (b crash.Bucket) {
	t.Helper()
	report := func(machine int, problem int, nvidia bool) crash.Bucket {
		options := []crashtest.Option{crashtest.Process(machine), crashtest.Set("Signal", strconv.Itoa(11-problem)),
			crashtest.Set("Dependencies", "libc6 2.39"), crashtest.Set("MachineType", fmt.Sprint("Marlin ", machine%2))}
		if nvidia {
			options = append(options, crashtest.Set("NonfreeKernelModules", "nvidia"),
				crashtest.Set("Dependencies", "libc6 2.39\nlibtide1 1.2-1<x> [origin: LP-PPA-tide]"),
				crashtest.Set(".proc.driver.nvidia.version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.120"))
		}
		return site.SaveFrom(t, crash.SystemID(fmt.Sprint("machine ", machine)), crashtest.Native(options...))
	}
	for machine := range 15 {
		b = report(machine, 0, machine > 0)
	}
	for machine := range 10 {
		report(100+machine, 3+machine%2, machine < 2)
	}
	return b
}

func TestTraitsOfProblem(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	b := concentrated(t, site)
	c := site.As(t, crash.RoleViewer)
	c.Get(b.ID.Path()).WantText(".traits-fold h2", "Where it is concentrated")
	page := c.Get(b.ID.Path()+"/traits").Want(http.StatusOK).WantText("#traits li",
		"14 of 15 machines have packages from LP-PPA-tide (2 of 10 elsewhere)").
		WantText("#traits .hint", "Compared: 15 machines with this problem and 10 with 2 other problems of tidewatch, of "+
			"the same releases").
		WantText("#traits li", "The same machines: libtide1 from a third party, nvidia-550, nvidia").
		WantText(".trait-odds", "The same machines: libtide1 from a third party, nvidia-550, nvidia, libtide1 1.2-1<x>").
		WantText(".trait-odds td", "42.1").WantNone("#traits li + li")
	list := c.Get(page.Attr("#traits li a", "href")).Want(http.StatusOK)
	checktest.Equal(t, "reports with the value", list.HTML().Find("#reports tbody tr").Length(), 14)
	for pid := range 9 { // the same machine again and again
		site.SaveFrom(t, "machine 0", crashtest.Native(crashtest.Process(pid+200),
			crashtest.Set("Dependencies", "libc6 2.38")))
	}
	c.Part(b.ID.Path()+"/traits").Want(http.StatusOK).WantText("#traits", "14 of 15 machines").WantNone("main")
	site.Visitor(t).Get(b.ID.Path() + "/traits").Want(http.StatusSeeOther)
}

// TestTraitsByClass checks that nobody sees where a problem is concentrated by a field that they may not read.
func TestTraitsByClass(t *testing.T) {
	t.Parallel()
	table := dbtest.Must(privacy.Parse("Dependencies=private", "restricted"))(t)
	site := handlertest.New(t, handlertest.Options{Privacy: table})
	path := concentrated(t, site).ID.Path() + "/traits"
	site.AsWithoutPrivate(t, crash.RoleTriager).Get(path).Want(http.StatusOK).WantText("#traits", "Nothing stands out").
		WantNone("#traits li")
	site.As(t, crash.RoleAdmin).Get(path).Want(http.StatusOK).WantText("#traits li", "packages from LP-PPA-tide").
		WantText(".trait-odds", "libtide1")
	checktest.Equal(t, "records", site.Value(t,
		"select count(*)::text from audit_events where action = 'read.values'"), "1")
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
	checktest.Equal(t, "links", page.HTML().Find(".mention").Length(), 1)
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
	checktest.NoError(t, site.People.Disable(t.Context(), "", "ada-former"))
	dbtest.AddUserWithoutPrivate(t, site.Store, "ada-none", crash.RoleNone, handlertest.Password)
	for i := range 9 {
		dbtest.AddUser(t, site.Store, fmt.Sprint("many", i), crash.RoleViewer, handlertest.Password)
	}
	const path = "/search/complete?of=mention&problem="
	offered := func(c *handlertest.Client, begins, want, announced string) {
		t.Helper()
		page := c.Part(path + b.ID.String() + "&mention=" + begins).Want(http.StatusOK)
		checktest.Equal(t, begins, page.Text("[role=option]"), want)
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
	dbtest.Must(site.Problems.Set(t.Context(), embargo))(t)
	offered(viewer, "ada-", "ada-viewer", "1 name. Arrow keys select, Enter inserts.")
	stranger.Part(path + b.ID.String() + "&mention=ada").Want(http.StatusNotFound)
}

func TestSimilarProblems(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	now := time.Now()
	stack := func(pid int, signature string, at time.Time) crash.Bucket {
		return site.Save(t, crashtest.Native(crashtest.Process(pid), crashtest.At(at),
			crashtest.Set("DuplicateSignature", signature)))
	}
	old := stack(1, "/usr/bin/gull:11:gull_dive:gull_fly:gull_loop:main", now.AddDate(0, 0, -40))
	secret := stack(2, "/usr/bin/gull:6:gull_dive:gull_fly:gull_loop:main", now.AddDate(0, 0, -40))
	stack(3, "/usr/bin/gull:11:other:things", now.AddDate(0, 0, -40))
	fresh := stack(4, "/usr/bin/tern:11:gull_dive:gull_fly:tern_loop:main", now)
	admin, triager := site.As(t, crash.RoleAdmin), site.AsWithoutPrivate(t, crash.RoleTriager)
	admin.Post(secret.ID.Path()+"/embargo", url.Values{"do": {"set"}, "reason": {"x"}}).Want(http.StatusSeeOther)
	page := triager.Get(fresh.ID.Path()).Want(http.StatusOK)
	const reason = "3 of 4 functions in the same order, differs from tern_loop"
	page.WantText(".duplicate", "Possible duplicate of").WantText(".duplicate", reason+".").
		WantText(".similar-problems li", reason+", 1 report")
	checktest.Equal(t, "duplicate", page.Attr(".duplicate a", "href"), old.ID.Path())
	checktest.Equal(t, "merge", page.Attr(".duplicate a[data-dialog]", "href"),
		"/problems/merge?problems="+fresh.ID.String()+"."+old.ID.String())
	checktest.Equal(t, "similar problems", page.HTML().Find(".similar .similar-problems li").Length(), 1)
	triager.Get(old.ID.Path()).Want(http.StatusOK).WantNone(".duplicate"). // it is not new
										WantText(".similar-problems li", "differs from gull_loop, 1 report")
	triager.Get(fresh.ID.Path()+"/merge").WantText(".similar-problems", reason)
	site.Visitor(t).Get(fresh.ID.Path()).Want(http.StatusOK).WantText(".duplicate", reason).
		WantNone(".duplicate a[data-dialog]")
	admin.Get(fresh.ID.Path()).WantText(".similar .similar-problems li:nth-child(2)", reason)

	triager.PostJSON(handlertest.CreatePath, map[string]string{"signature": fresh.Signature}).Want(http.StatusCreated)
	triager.Get(fresh.ID.Path()).WantNone(".duplicate").WantText(".similar-problems", reason)
}
