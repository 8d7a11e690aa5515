package github_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/tracker"
	"mishap/tracker/github"
	"mishap/tracker/issuetest"
)

const repository = "systemd/systemd"

var suite = issuetest.Suite{
	Kind: issuetest.GitHub(), API: "/api/v3", Target: repository, Lags: true,
	New: func(cfg tracker.Config, creds *tracker.Credentials) tracker.Tracker { return github.New(cfg, creds) },
}

func TestGitHub(t *testing.T) {
	t.Parallel()
	suite.Run(t)
}

// TestRequests compares requests with GitHub's documentation.
func TestRequests(t *testing.T) {
	t.Parallel()
	srv := issuetest.New(t, suite.Kind)
	c := suite.Connect(srv, nil)
	since := time.Date(2026, 11, 2, 3, 4, 5, 0, time.FixedZone("", 3600))
	number, err := c.Create(t.Context(), issuetest.Intent, tracker.MaxSending)
	checktest.NoError(t, err)
	_, err = c.FindBug(t.Context(), issuetest.Intent, since, nil)
	checktest.NoError(t, err)
	checktest.NoError(t, c.Comment(t.Context(), number, "text"))

	filed := srv.Requests("create")[0]
	var body map[string]any
	checktest.NoError(t, json.Unmarshal(filed.Body, &body))
	checktest.Equal(t, "path", filed.Path, "/api/v3/repos/systemd/systemd/issues")
	checktest.Equal(t, "token", filed.Header.Get("Authorization"), "Bearer secret-of-mishap")
	checktest.Equal(t, "version", filed.Header.Get("X-Github-Api-Version"), "2022-11-28")
	checktest.Equal(t, "media type", filed.Header.Get("Content-Type"), "application/json")
	checktest.Equal(t, "body", fmt.Sprint(body), fmt.Sprint(map[string]any{"title": issuetest.Intent.Title,
		"body":   tracker.Markdown(issuetest.Intent.Description, "https://mishap.example"),
		"labels": []any{"crash", "from-reports"}}))
	search := srv.Requests("list")[0].Query
	checktest.Equal(t, "search", search.Encode(), "creator=mishap&direction=asc&page=1&per_page=50&"+
		"since=2026-11-01T02%3A04%3A05Z&sort=created&state=all")
	checktest.Equal(t, "comment", string(srv.Requests("comment")[0].Body), `{"body":"`+"```text\\ntext\\n```"+`"}`)
}

// TestPrivate checks that nothing of a private bug is sent: GitHub has no private issues.
func TestPrivate(t *testing.T) {
	t.Parallel()
	srv := issuetest.New(t, suite.Kind)
	in := issuetest.Intent
	in.InformationType = crash.InformationPrivate
	_, err := suite.Connect(srv, nil).Create(t.Context(), in, tracker.MaxSending)
	if e, ok := errors.AsType[*tracker.CallError](err); !ok || e.Outcome != tracker.OutcomeRefused ||
		len(srv.Requests("create")) != 0 {
		t.Errorf("got %v and %d requests, want a refusal and none", err, len(srv.Requests("create")))
	}
}

// TestStates checks what people do with issues.
func TestStates(t *testing.T) {
	t.Parallel()
	srv := issuetest.New(t, suite.Kind)
	c := suite.Connect(srv, nil)
	number := srv.Add(repository, "mishap", "tidewatch crashed", "text")
	for reason, want := range map[string]string{"": "Closed", "not_planned": "Not planned", "duplicate": "Duplicate"} {
		srv.Change(repository, number, func(i *issuetest.Issue) { i.Closed, i.State = true, reason })
		r, err := c.ReadState(t.Context(), number)
		if err != nil || len(r.Tasks) != 1 || r.Tasks[0].Status != want || !r.Tasks[0].Complete {
			t.Errorf("closed as %q: got %+v, %v, want %s", reason, r, err, want)
		}
	}
	srv.Change(repository, number, func(i *issuetest.Issue) {
		i.Extra = map[string]any{"moved": srv.URL + "/api/v3/repos/a/b/issues/1"}
	})
	r, err := c.ReadState(t.Context(), number)
	if err != nil || r.Hidden || len(r.Tasks) != 1 || r.Tasks[0].Status != "Moved" || r.Tasks[0].Complete {
		t.Errorf("moved: got %+v, %v", r, err)
	}
}

// TestPullRequests checks that lists, which include pull requests, give issues only.
func TestPullRequests(t *testing.T) {
	t.Parallel()
	srv := issuetest.New(t, suite.Kind)
	c := suite.Connect(srv, nil)
	start := time.Now()
	number := srv.Add(repository, "mishap", "a change", issuetest.Intent.Marker)
	srv.Change(repository, number, func(i *issuetest.Issue) { i.Extra = map[string]any{"pull_request": true} })
	if got, err := c.FindBug(t.Context(), issuetest.Intent, start, nil); got != 0 || err != nil {
		t.Errorf("got %d, %v, want none", got, err)
	}
	if got, err := c.Changed(t.Context(), start.Add(-time.Minute)); len(got) != 0 || err != nil {
		t.Errorf("changed: got %v, %v, want none", got, err)
	}
}

// TestLag files a bug that lists do not show yet. Only after the time in which they may lag, a search is sure.
func TestLag(t *testing.T) {
	t.Parallel()
	srv := issuetest.New(t, suite.Kind)
	srv.HideNew(github.Settle - time.Minute)
	srv.Fail("create", issuetest.DropAfter)
	c := suite.Connect(srv, nil)
	start := time.Now()
	if _, err := c.Create(t.Context(), issuetest.Intent, tracker.MaxSending); err == nil {
		t.Fatal("got no error for a lost answer")
	}
	for wait, want := range map[time.Duration]int64{0: 0, github.Settle: 1} {
		srv.SetClock(func() time.Time { return time.Now().Add(wait) })
		if got, err := c.FindBug(t.Context(), issuetest.Intent, start, nil); got != want || err != nil {
			t.Errorf("after %v: got bug %d, %v, want %d", wait, got, err, want)
		}
	}
}

// TestLastComments finds the last of many comments, and neither the first nor one of another issue.
func TestLastComments(t *testing.T) {
	t.Parallel()
	srv := issuetest.New(t, suite.Kind)
	c := suite.Connect(srv, nil)
	number := srv.Add(repository, "kim", "busy", "text")
	srv.Change(repository, number, func(i *issuetest.Issue) {
		for n := range 250 {
			i.Comments = append(i.Comments, issuetest.Comment{ID: int64(n + 1), Text: fmt.Sprintf("no. %d\r\nmore", n)})
		}
	})
	for text, want := range map[string]bool{"no. 249\nmore": true, "no. 150\nmore": true, "no. 0\nmore": false} {
		got, err := c.HasComment(t.Context(), number, func(s string) bool { return s == text })
		if got != want || err != nil {
			t.Errorf("%q: got %v, %v, want %v", text, got, err, want)
		}
	}
}

// TestSubscribe checks that nobody is subscribed without the account's own doing.
func TestSubscribe(t *testing.T) {
	t.Parallel()
	c := suite.Connect(issuetest.New(t, suite.Kind), nil)
	checktest.NoError(t, c.Subscribe(t.Context(), 1, "Mishap"))
	if err := c.Subscribe(t.Context(), 1, "kim"); err == nil || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("another account: got %v, want a refusal", err)
	}
}
