package gitlab_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/tracker"
	"mishap/tracker/gitlab"
	"mishap/tracker/issuetest"
)

const project = "GNOME/mutter"

var suite = issuetest.Suite{
	Kind: issuetest.GitLab(), API: "/api/v4", Target: project,
	New: func(cfg tracker.Config, creds *tracker.Credentials) tracker.Tracker { return gitlab.New(cfg, creds) },
}

func TestGitLab(t *testing.T) {
	t.Parallel()
	suite.Run(t)
}

func create(t *testing.T, c tracker.Tracker, in crash.Intent) int64 {
	t.Helper()
	number, err := c.Create(t.Context(), in, tracker.MaxSending)
	checktest.NoError(t, err)
	return number
}

func read(t *testing.T, c tracker.Tracker, number int64) crash.BugReading {
	t.Helper()
	r, err := c.ReadState(t.Context(), number)
	checktest.NoError(t, err)
	return r
}

// TestRequests compares requests with GitLab's documentation.
func TestRequests(t *testing.T) {
	t.Parallel()
	srv := issuetest.New(t, suite.Kind)
	c := suite.Connect(srv, nil)
	in := issuetest.Intent
	in.InformationType = crash.InformationPrivate
	since := time.Date(2026, 11, 2, 3, 4, 5, 0, time.FixedZone("", 3600))
	number := create(t, c, in)
	_, err := c.FindBug(t.Context(), in, since, nil)
	checktest.NoError(t, err)
	_, err = c.Changed(t.Context(), since)
	checktest.NoError(t, err)
	checktest.NoError(t, c.Comment(t.Context(), number, "text"))

	filed := srv.Requests("create")[0]
	checktest.Equal(t, "path", filed.Path, "/api/v4/projects/GNOME/mutter/issues")
	checktest.Equal(t, "token", filed.Header.Get("PRIVATE-TOKEN"), "secret-of-mishap")
	checktest.Equal(t, "type", filed.Header.Get("Content-Type"), "application/json")
	var body, want any = nil, map[string]any{
		"title": in.Title, "description": tracker.Markdown(in.Description, "https://mishap.example"),
		"labels": "crash,from-reports", "confidential": true,
	}
	checktest.NoError(t, json.Unmarshal(filed.Body, &body))
	checktest.Diff(t, "body", body, want)

	checktest.Equal(t, "search", srv.Requests("list")[0].Query.Encode(), "author_username=mishap&"+
		"created_after=2026-11-01T02%3A04%3A05Z&order_by=created_at&page=1&per_page=50&scope=all&sort=asc&state=all")
	checktest.Equal(t, "changes", srv.Requests("list")[2].Query.Encode(), "author_username=mishap&order_by=created_at&"+
		"page=1&per_page=50&scope=all&sort=asc&state=all&updated_after=2026-11-02T02%3A04%3A05Z")
	checktest.Equal(t, "comment", string(srv.Requests("comment")[0].Body), `{"body":"`+"```text\\ntext\\n```"+`"}`)
}

// TestConfidential files a private bug, which only its author sees.
func TestConfidential(t *testing.T) {
	t.Parallel()
	srv := issuetest.New(t, suite.Kind)
	srv.AddToken("kim", "secret-of-kim")
	c, start := suite.Connect(srv, nil), time.Now()
	in := issuetest.Intent
	in.InformationType = crash.InformationPrivate
	number := create(t, suite.Connect(srv, nil, "secret-of-kim"), in)
	found, err := c.FindBug(t.Context(), in, start, nil, "kim")
	checktest.NoError(t, err)
	checktest.Equal(t, "bug that our account does not see", found, 0)
	if r := read(t, c, number); !r.Hidden || len(r.Tasks) != 0 {
		t.Errorf("got %+v, want hidden", r)
	}
	has, err := c.HasComment(t.Context(), number, func(string) bool { return true })
	checktest.NoError(t, err)
	checktest.Equal(t, "comment that our account does not see", has, false)

	own := create(t, c, in)
	found, err = c.FindBug(t.Context(), in, start, nil, "kim")
	checktest.NoError(t, err)
	checktest.Equal(t, "our private bug", found, own)
	r := read(t, c, own)
	if !r.Private || r.Title != "" || r.Description != "" || r.Hidden {
		t.Errorf("got %+v, want a private bug without texts", r)
	}
}

// TestCommands files and comments with texts that GitLab would execute.
func TestCommands(t *testing.T) {
	t.Parallel()
	srv := issuetest.New(t, suite.Kind)
	c := suite.Connect(srv, nil)
	in := issuetest.Intent
	in.Description = "/close\n" + in.Marker + "\r\n/LABEL ~secret\n  /assign @mallory\rx\r/confidential\t\n\r/close\n" +
		"/close\v\n/usr/bin/mutter --x\n//close\n/close"
	number := create(t, c, in)
	checktest.NoError(t, c.Comment(t.Context(), number, "/close"))
	i := srv.Issues()[0]
	if i.Closed || i.Private || i.Assignee != "" || !slices.Equal(i.Labels, in.Tags) {
		t.Errorf("GitLab executed commands: %+v", i)
	}
	checktest.Equal(t, "description", tracker.PlainText(i.Text), `\/close`+"\n"+in.Marker+"\n"+`\/LABEL ~secret`+"\n"+
		`  \/assign @mallory`+"\nx\n"+`\/confidential`+"\t\n\n"+`\/close`+"\n"+`\/close`+"\v\n"+
		"/usr/bin/mutter --x\n//close\n"+`\/close`)
	checktest.Equal(t, "comment", i.Comments[0].Text, "```text\n"+`\/close`+"\n```")
}

// TestDuplicates reads issues that go on elsewhere.
func TestDuplicates(t *testing.T) {
	t.Parallel()
	srv := issuetest.New(t, suite.Kind)
	c := suite.Connect(srv, nil)
	other := srv.Add(project, "kim", "original", "")
	number := create(t, c, issuetest.Intent)
	srv.Change(project, number, func(i *issuetest.Issue) { i.Closed, i.DuplicateOf = true, other })
	r := read(t, c, number)
	checktest.Equal(t, "duplicate of", r.DuplicateOf, other)
	checktest.Equal(t, "complete", r.Tasks[0].Complete, true)
	for _, link := range []string{
		"", "x", "http://elsewhere.example/api/v4/projects/1/issues/1", srv.URL + "/api/v4/projects/2/issues/1",
		srv.URL + "/api/v4/projects/1/issues/1?x", srv.URL + "/api/v4/projects/1/issues/0",
		srv.URL + "/GNOME/mutter/-/issues/1",
		srv.URL + "/api/v4/projects/1/issues/2", srv.URL + "/api/v4/projects/1/issues/1234567890123456789", "::", "%",
	} {
		srv.Change(project, number, func(i *issuetest.Issue) { i.Extra["closed_as_duplicate_of"] = link })
		if got := read(t, c, number).DuplicateOf; got != 0 {
			t.Errorf("with the link %q: got a duplicate of %d", link, got)
		}
	}
	srv.Change(project, number, func(i *issuetest.Issue) { i.Extra["moved_to_id"] = 4711 })
	task := read(t, c, number).Tasks[0]
	if task.Status != "Moved" || task.Complete || !task.Closed.IsZero() {
		t.Errorf("got %+v, want a moved issue that is not complete", task)
	}
}

// TestSubscribe subscribes the account of the token, and nobody else.
func TestSubscribe(t *testing.T) {
	t.Parallel()
	srv := issuetest.New(t, suite.Kind)
	srv.AddToken("kim", "secret-of-kim")
	c, kim := suite.Connect(srv, nil), suite.Connect(srv, nil, "secret-of-kim")
	number := create(t, c, issuetest.Intent)
	e, ok := errors.AsType[*tracker.CallError](c.Subscribe(t.Context(), number, "kim"))
	if !ok || e.Outcome != tracker.OutcomeRefused || e.Text != "GitLab lets mishap subscribe only itself to an issue" {
		t.Errorf("got %v, want a refusal", e)
	}
	for range 2 {
		checktest.NoError(t, c.Subscribe(t.Context(), number, "mishap"))
		checktest.NoError(t, c.As(kim.Credentials()).Subscribe(t.Context(), number, "kim"))
	}
	checktest.Equal(t, "requests", len(srv.Requests("subscribe")), 1)
}

// TestHostileAnswers checks answers that make no sense, or that lie.
func TestHostileAnswers(t *testing.T) {
	t.Parallel()
	const unknown, refused = tracker.OutcomeUnknown, tracker.OutcomeRefused
	is := issuetest.Hostile
	marked := `[{"author":{"username":"mishap"},"description":"` + issuetest.Intent.Marker + `"}]`
	suite.Answers(t, `{"username":"mishap"}`, []issuetest.HostileAnswer{
		is("no account", "me", 200, `{}`, unknown),
		is("account of two lines", "me", 200, `{"username":"a\nb"}`, unknown),
		is("long account", "me", 200, `{"username":"`+strings.Repeat("x", 400)+`"}`, unknown),
		is("no bug number", "create", 201, `{}`, unknown),
		is("negative bug number", "create", 201, `{"iid":-1}`, unknown),
		is("text for a number", "create", 201, `{"iid":"7"}`, unknown),
		is("other success", "create", 200, `{"iid":7}`, unknown),
		is("accepted", "create", 202, `{"iid":7}`, unknown),
		is("redirect", "create", 301, "", unknown),
		is("secret", "create", 400, `{"message":{"title":["a\u202e\u0000 secret-of-mishap "]}}`, refused),
		is("long refusal", "create", 422, `{"error":"`+strings.Repeat("x", 5000)+`"}`, refused),
		is("sign-in of a proxy", "create", 401, `<title>Sign in</title>`, refused),
		is("list of nothing", "find", 200, `null`, unknown),
		is("list that is an object", "find", 200, `{"message":"x"}`, unknown),
		is("bug without a number", "find", 200, marked, unknown),
		is("list without an end", "find", 200, `[{"iid":7}]`, unknown),
		is("project that is gone", "find", 404, `{"message":"404 Project Not Found"}`, refused),
		is("another bug", "read", 200, `{"iid":8}`, unknown),
		is("a date that is none", "read", 200, `{"iid":7,"closed_at":"yesterday"}`, unknown),
		is("comment without a number", "comment", 201, `{"commands_changes":{}}`, unknown),
		is("comment of commands", "comment", 202, `{"commands_changes":{}}`, unknown),
	})
}
