package forgejo_test

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
	"mishap/tracker/forgejo"
	"mishap/tracker/issuetest"
)

const repository = "tide/watch"

var suite = issuetest.Suite{
	Kind: issuetest.Forgejo(), API: "/api/v1", Target: repository,
	New: func(cfg tracker.Config, creds *tracker.Credentials) tracker.Tracker { return forgejo.New(cfg, creds) },
}

func TestForgejo(t *testing.T) {
	t.Parallel()
	suite.Run(t)
}

func create(t *testing.T, c tracker.Tracker) int64 {
	t.Helper()
	number, err := c.Create(t.Context(), issuetest.Intent, tracker.MaxSending)
	checktest.NoError(t, err)
	return number
}

func checkOutcome(t *testing.T, err error, want tracker.Outcome, text ...string) {
	t.Helper()
	e, ok := errors.AsType[*tracker.CallError](err)
	if !ok || e.Outcome != want || len(text) > 0 && e.Text != text[0] {
		t.Fatalf("got %v, want the outcome %s %s", err, want, text)
	}
}

// TestRequests compares requests with the OpenAPI document of Forgejo.
func TestRequests(t *testing.T) {
	t.Parallel()
	srv := issuetest.New(t, suite.Kind)
	c := suite.Connect(srv, nil)
	since := time.Date(2026, 11, 2, 3, 4, 5, 0, time.FixedZone("", 3600))
	number := create(t, c)
	_, err := c.FindBug(t.Context(), issuetest.Intent, since, nil)
	checktest.NoError(t, err)
	_, err = c.Changed(t.Context(), since)
	checktest.NoError(t, err)
	checktest.NoError(t, c.Comment(t.Context(), number, "text"))

	filed := srv.Requests("create")[0]
	checktest.Equal(t, "path", filed.Path, "/api/v1/repos/tide/watch/issues")
	checktest.Equal(t, "token", filed.Header.Get("Authorization"), "token secret-of-mishap")
	checktest.Equal(t, "type", filed.Header.Get("Content-Type"), "application/json")
	var body, want any = nil, map[string]any{
		"title": issuetest.Intent.Title, "body": tracker.Markdown(issuetest.Intent.Description, "https://mishap.example"),
		"labels": []any{12.0},
	}
	checktest.NoError(t, json.Unmarshal(filed.Body, &body))
	checktest.Diff(t, "body", body, want)
	if got := srv.Issues()[0].Labels; !slices.Equal(got, []string{"crash"}) {
		t.Errorf("got the labels %q, want the one that exists", got)
	}
	checktest.Equal(t, "search", srv.Requests("list")[0].Query.Encode(),
		"created_by=mishap&limit=50&page=1&since=2026-11-01T02%3A04%3A05Z&state=all&type=issues")
	checktest.Equal(t, "changes", srv.Requests("list")[2].Query.Encode(),
		"created_by=mishap&limit=50&page=1&since=2026-11-02T02%3A04%3A05Z&state=all&type=issues")
	checktest.Equal(t, "comment", string(srv.Requests("comment")[0].Body), `{"body":"`+"```text\\ntext\\n```"+`"}`)
}

// TestLabelFaults fails to read the labels. After each error, certainly nothing was filed.
func TestLabelFaults(t *testing.T) {
	t.Parallel()
	for fault, want := range map[issuetest.Fault]tracker.Outcome{
		issuetest.DropBefore: tracker.OutcomeNotSent, issuetest.ErrorBefore: tracker.OutcomeNotSent,
		issuetest.PageAfter: tracker.OutcomeNotSent, issuetest.CutAfter: tracker.OutcomeNotSent,
		issuetest.Busy: tracker.OutcomeBusy, issuetest.Expired: tracker.OutcomeCredentials, issuetest.Forbidden: "",
	} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			srv := issuetest.New(t, suite.Kind)
			c := suite.Connect(srv, nil)
			srv.Fail("labels", fault)
			if want == "" {
				create(t, c)
				checktest.Equal(t, "labels", len(srv.Issues()[0].Labels), 0)
				return
			}
			_, err := c.Create(t.Context(), issuetest.Intent, tracker.MaxSending)
			checkOutcome(t, err, want)
			checktest.Equal(t, "attempts to file", len(srv.Requests("create")), 0)
		})
	}
	srv := issuetest.New(t, suite.Kind)
	_, err := suite.Connect(srv, nil).Create(t.Context(), issuetest.Intent, time.Nanosecond)
	checkOutcome(t, err, tracker.OutcomeNotSent)
	checktest.Equal(t, "attempts to file too late", len(srv.Requests("create")), 0)
}

// TestPrivate refuses a private bug before anything is sent.
func TestPrivate(t *testing.T) {
	t.Parallel()
	srv := issuetest.New(t, suite.Kind)
	in := issuetest.Intent
	in.InformationType = crash.InformationPrivate
	_, err := suite.Connect(srv, nil).Create(t.Context(), in, tracker.MaxSending)
	checkOutcome(t, err, tracker.OutcomeRefused,
		"Forgejo has no private issues. Make the bug public, or tell the project about it in another way")
	checktest.Equal(t, "requests", len(srv.Requests("labels"))+len(srv.Requests("create")), 0)
}

// TestSubscribe subscribes the account of the token, and nobody else.
func TestSubscribe(t *testing.T) {
	t.Parallel()
	srv := issuetest.New(t, suite.Kind)
	srv.AddToken("kim", "secret-of-kim")
	c, kim := suite.Connect(srv, nil), suite.Connect(srv, nil, "secret-of-kim")
	number := create(t, c)
	checkOutcome(t, c.Subscribe(t.Context(), number, "kim"), tracker.OutcomeRefused,
		"Forgejo lets mishap subscribe only itself to an issue")
	for range 2 {
		checktest.NoError(t, c.Subscribe(t.Context(), number, "mishap"))
		checktest.NoError(t, c.As(kim.Credentials()).Subscribe(t.Context(), number, "kim"))
	}
	checkOutcome(t, c.Subscribe(t.Context(), 99, "mishap"), tracker.OutcomeRefused)
}

// TestHostileAnswers checks answers that make no sense, or that lie.
func TestHostileAnswers(t *testing.T) {
	t.Parallel()
	const unknown, refused = tracker.OutcomeUnknown, tracker.OutcomeRefused
	is := issuetest.Hostile
	marked := `[{"user":{"login":"mishap"},"body":"` + issuetest.Intent.Marker + `"}]`
	suite.Answers(t, `{"login":"mishap"}`, []issuetest.HostileAnswer{
		is("no account", "me", 200, `{}`, unknown),
		is("account of two lines", "me", 200, `{"login":"a\nb"}`, unknown),
		is("no bug number", "create", 201, `{}`, unknown),
		is("text for a number", "create", 201, `{"number":"7"}`, unknown),
		is("other success", "create", 200, `{"number":7}`, unknown),
		is("redirect of a renamed repository", "create", 301, ``, unknown),
		is("secret", "create", 422, `{"message":"a\u202e\u0000 secret-of-mishap "}`, refused),
		is("long refusal", "create", 422, `{"message":"`+strings.Repeat("x", 5000)+`"}`, refused),
		is("sign-in of a proxy", "create", 401, `<title>Sign in</title>`, refused),
		is("archived repository", "create", 423, `{"message":"repo is archived"}`, refused),
		is("list of nothing", "find", 200, `null`, unknown),
		is("bug without a number", "find", 200, marked, unknown),
		is("list without an end", "find", 200, `[{"number":7}]`, unknown),
		is("repository that is gone", "find", 404, `{"message":"not found"}`, refused),
		is("another bug", "read", 200, `{"number":8}`, unknown),
		is("a date that is none", "read", 200, `{"number":7,"closed_at":"yesterday"}`, unknown),
		is("comment without a number", "comment", 201, `{}`, unknown),
	})
}
