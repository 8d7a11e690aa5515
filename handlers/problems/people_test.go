package problems_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/handlers/handlertest"
)

func TestAssignOnThePage(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	b := site.Save(t, crashtest.Native())
	path := b.ID.Path()
	viewer, triager := site.As(t, crash.RoleViewer), site.As(t, crash.RoleTriager)
	triager.Get(path).WantText("#people", "nobody").WantText("#assign-me button", "Assign to me")
	viewer.Get(path).WantText("#people", "nobody").WantNone("#assign, #assign-me, #tag-form")
	site.Visitor(t).Get(path).WantNone("#people")

	// Without scripts.
	triager.Post(path+"/assign", url.Values{"do": {"me"}}).WantRedirect(http.StatusSeeOther, path)
	page := triager.Get(path).WantText(".flash-done", "Assigned to ada-triager. Undo").WantText("#people dd",
		"ada-triager")
	page.WantNone("#assign-me").WantText("#people .note-list", "ada-triager → ada-triager")
	// In place.
	part := triager.Post(path+"/assign", url.Values{"assignee": {"ADA-viewer"}}, handlertest.AsPart...).Want(http.StatusOK)
	part.WantText("#people dd", "ada-viewer").WantText(".flash-done", "Assigned to ada-viewer.")
	undo := part.Attr(".flash form", "action")
	id := part.Attr(".flash input[name=assignment]", "value")
	part = triager.Post(undo, url.Values{"assignment": {id}}, handlertest.AsPart...).Want(http.StatusOK)
	part.WantText("#people dd", "ada-triager").WantText(".flash-done", "The assignment was undone.").
		WantText("#people .undone", "undone by ada-triager")
	triager.Post(undo, url.Values{"assignment": {id}}, handlertest.AsPart...).WantText(".flash-error",
		"cannot be undone any more")
	part = triager.Post(path+"/assign", url.Values{"assignee": {"<nobody>"}}, handlertest.AsPart...)
	part.Want(http.StatusUnprocessableEntity).WantText("#assign[open] .error", `no account named "<nobody>"`)
	if got := part.Attr("#assignee", "value"); got != "<nobody>" {
		t.Errorf("typed: got %q", got)
	}
	triager.Post(path+"/assign", url.Values{"assignee": {"<nobody>"}}).Want(http.StatusSeeOther)
	triager.Get(path).WantText(".flash-error", "no account named")
	triager.Post(path+"/assign", url.Values{"do": {"nobody"}}, handlertest.AsPart...).WantText("#people dd", "nobody")

	// The assignee of the bug counts.
	if _, err := site.Bugs.LinkBug(t.Context(), b.ID, crash.Bug{Number: 7, URL: "https://bugs.example/7",
		By: "ada"}); err != nil {
		t.Fatal(err)
	}
	reading := crash.BugReading{Number: 7,
		Tasks: []crash.BugTask{{Target: "/ubuntu/+source/tidewatch", Assignee: "carla"}}}
	if err := site.Bugs.SaveBugReading(t.Context(), reading, "", time.Hour); err != nil {
		t.Fatal(err)
	}
	page = triager.Get(path).WantText("#people dd", "carla (in the practice tracker)").
		WantText("#people .hint", "The bug’s assignee counts.").WantNone("#assign, #assign-me")
	if got := page.Attr("#people a.quiet", "href"); got != "https://bugs.example/7" {
		t.Errorf("link to the bug: got %q", got)
	}
	triager.Post(path+"/assign", url.Values{"do": {"me"}}, handlertest.AsPart...).Want(http.StatusUnprocessableEntity)
}

func TestTagsOnThePage(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	b := site.Save(t, crashtest.Native())
	path, c := b.ID.Path(), site.As(t, crash.RoleTriager)
	part := c.Post(path+"/tags", url.Values{"tag": {" SRU "}}, handlertest.AsPart...).Want(http.StatusOK)
	part.WantText(".problem-tags", "sru").WantText(".flash-done", "Tag sru added. Undo")
	c.Post(path+"/tags", url.Values{"tag": {"sru"}}, handlertest.AsPart...).WantText(".flash-done",
		"It already has the tag sru.")
	c.Post(part.Attr(".flash form", "action"), url.Values{"tag": {part.Attr(".flash input[name=tag]", "value")}}).
		WantRedirect(http.StatusSeeOther, path)
	page := c.Get(path).WantNone(".problem-tags").WantText(".flash-done", "Tag sru removed. Undo")
	c.Post(page.Attr(".flash form", "action"), url.Values{"tag": {"sru"}}).Want(http.StatusSeeOther)
	c.Get(path).WantText(".problem-tags a", "sru")
	c.Post(path+"/tags", url.Values{"tag": {"two words"}}, handlertest.AsPart...).Want(http.StatusUnprocessableEntity).
		WantText("#tag-form .error", "is not a tag")
	site.As(t, crash.RoleViewer).Get(path).WantText(".problem-tags", "sru").WantNone(".problem-tags button")
}

// TestListsOfPeople checks searches, rows, files and suggestions by assignee and tag, for people
// and for visitors.
func TestListsOfPeople(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	a, b := site.Save(t, handlertest.Numbered(1)), site.Save(t, handlertest.Numbered(2))
	c, viewer, visitor := site.As(t, crash.RoleTriager), site.As(t, crash.RoleViewer), site.Visitor(t)
	if err := site.People.SetTrackerName(t.Context(), "", "ada-viewer", "ada-lp"); err != nil {
		t.Fatal(err)
	}
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
		if got := found(tt.client, tt.query); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.query, got, tt.want)
		}
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
	if _, err := site.Bugs.LinkBug(t.Context(), chosen[1].ID, crash.Bug{Number: 7, By: "ada"}); err != nil {
		t.Fatal(err)
	}
	reading := crash.BugReading{Number: 7,
		Tasks: []crash.BugTask{{Target: "/ubuntu/+source/tidewatch", Assignee: "carla"}}}
	if err := site.Bugs.SaveBugReading(t.Context(), reading, "", time.Hour); err != nil {
		t.Fatal(err)
	}
	place := c.Post(handlertest.ChosenPath, form).Want(http.StatusSeeOther).Header.Get("Location")
	page := c.Get(place).Want(http.StatusOK).WantText("h1", "Assign 3 problems").
		WantText("tbody tr:nth-child(1)", "ada-triager").WantText("tbody tr:nth-child(2)", "carla")
	fields := handlertest.FieldsOf(page, "#assign-chosen")
	with := func(key, value string) url.Values {
		fields := url.Values{"problems": fields["problems"]}
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
	c.Post(page.Attr(".flash form", "action"), undo).WantRedirect(http.StatusSeeOther, place)
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
		if got := got(c.PostJSON(path, tt.body, program(file)...)); got != tt.want {
			t.Errorf("%v: got %s, want %s", tt.body, got, tt.want)
		}
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
