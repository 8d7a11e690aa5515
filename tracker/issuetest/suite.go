package issuetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/tracker"
)

// Suite is what the clients of most kinds have in common: the account is at an address that ends in "/user", the pages
// of bugs are below that of the target, and answers that confirm a change have a body.
type Suite struct {
	Kind   kind
	API    string // path of the API: "/api/v4"
	Target string // the project
	Lags   bool   // lists lack new issues for a while, and not only searches for words do
	Mail   bool   // bugs are sent by mail, so that Create returns no number; accounts are mail addresses
	New    func(cfg tracker.Config, creds *tracker.Credentials) tracker.Tracker
}

// Intent is a bug to file.
var Intent = crash.Intent{
	Target: "elsewhere", Title: "tidewatch crashed", Tags: []string{"crash", "from-reports"},
	Description: "It did: <b> & `c` ü.\nhttps://mishap.example/problem/1 has more.",
	Marker:      "https://mishap.example/problem/1",
}

// Connect returns a client that acts for "mishap", or for the account of another token.
func (s Suite) Connect(srv *Server, former []string, secret ...crash.Secret) tracker.Tracker {
	token := crash.AccessToken{Token: s.account("mishap"), Secret: "secret-of-mishap"}
	if len(secret) > 0 {
		token = crash.AccessToken{Token: s.account(strings.TrimPrefix(string(secret[0]), "secret-of-")), Secret: secret[0]}
	}
	cfg := tracker.Config{
		URL: srv.URL, APIURL: srv.URL + s.API, Target: s.Target, BaseURL: "https://mishap.example", Token: token,
		Mail: srv.Mailer(),
	}
	if s.Mail {
		cfg.Settle = 1 // no mail is under way
	}
	return s.New(cfg, tracker.NewCredentials(cfg, &Memory{Former: former}))
}

// account returns an account of the tracker.
func (s Suite) account(name string) string {
	if s.Mail && name != "" {
		return name + "@example.org"
	}
	return name
}

// create files a bug and returns its number.
func (s Suite) create(t *testing.T, c tracker.Tracker, since time.Time) int64 {
	t.Helper()
	number, err := c.Create(t.Context(), Intent, tracker.MaxSending)
	if s.Mail {
		checkOutcome(t, err, tracker.OutcomeUnknown)
		if me, err := c.Me(t.Context()); err == nil {
			return findBug(t, c, since, me)
		}
	}
	if err != nil {
		t.Fatalf("Create: %v", err)
	}
	return number
}

// outcome returns the outcome of a change with a fault.
func (s Suite) outcome(fault Fault) tracker.Outcome {
	if s.Mail && fault == Expired { // it is the relay that refuses
		return tracker.OutcomeRefused
	}
	return Outcomes[fault]
}

// Run tests a client.
func (s Suite) Run(t *testing.T) {
	t.Helper()
	for name, test := range map[string]func(*testing.T){
		"faults": s.testFaults, "accounts": s.testAccounts, "pages": s.testPages, "clocks": s.testClocks,
		"reading": s.testReading, "comments": s.testComments, "credentials": s.testCredentials,
	} {
		if s.Mail && name == "credentials" {
			continue // it has none
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}

// Outcomes are the outcomes of a change with a fault. They must be certain only if nothing was done.
var Outcomes = map[Fault]tracker.Outcome{
	DropBefore: tracker.OutcomeUnknown, DropAfter: tracker.OutcomeUnknown, HangBefore: tracker.OutcomeUnknown,
	HangAfter: tracker.OutcomeUnknown, ErrorBefore: tracker.OutcomeUnknown, ErrorAfter: tracker.OutcomeUnknown,
	PageAfter: tracker.OutcomeUnknown, CutAfter: tracker.OutcomeUnknown, Busy: tracker.OutcomeBusy,
	Limit: tracker.OutcomeBusy, Expired: tracker.OutcomeCredentials, Forbidden: tracker.OutcomeRefused,
	Refused: tracker.OutcomeRefused,
}

// hangUp returns a context that ends when the server lets a request hang.
func hangUp(t *testing.T, srv *Server) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		select {
		case <-srv.Hung():
		case <-t.Context().Done():
		}
	}()
	return ctx
}

func checkOutcome(t *testing.T, err error, want tracker.Outcome) {
	t.Helper()
	e, ok := errors.AsType[*tracker.CallError](err)
	if !ok || e.Outcome != want || e.Text == "" || e.Text != tracker.Clean(e.Text, 400) {
		t.Fatalf("got %v, want outcome %s and a text", err, want)
	}
	if strings.Contains(e.Error(), "secret-of") || strings.ContainsAny(e.Text, "{}<>") {
		t.Errorf("got the text %q, want a message without secrets, JSON and HTML", e.Text)
	}
	if (e.RetryAfter > 0) != (want == tracker.OutcomeBusy) {
		t.Errorf("got RetryAfter %v with outcome %s", e.RetryAfter, want)
	}
}

// testFaults files a bug with each fault. A search must say whether it was filed, so that there is never a second.
func (s Suite) testFaults(t *testing.T) {
	for _, fault := range Faults {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			srv := New(t, s.Kind)
			c := s.Connect(srv, nil)
			srv.Fail("create", fault)
			start := time.Now()
			_, err := c.Create(hangUp(t, srv), Intent, tracker.MaxSending)
			checkOutcome(t, err, s.outcome(fault))
			if got := len(srv.Requests("create")); got != 1 {
				t.Errorf("got %d requests, want 1: nothing may be sent twice", got)
			}
			found := findBug(t, c, start)
			if (found != 0) != fault.Done() {
				t.Fatalf("found bug %d, want one: %v", found, fault.Done())
			}
			if found == 0 {
				number := s.create(t, c, start)
				if found = findBug(t, c, start); found != number {
					t.Errorf("found bug %d, want %d", found, number)
				}
			}
			issues := srv.Issues()
			if len(issues) != 1 || issues[0].Number != found {
				t.Fatalf("the tracker has %+v, want the one bug %d", issues, found)
			}
			i := issues[0]
			if i.Title != Intent.Title || tracker.PlainText(i.Text) != Intent.Description ||
				i.Author != s.account("mishap") || i.Private || !strings.EqualFold(i.Project, s.Target) {
				t.Errorf("filed %+v, want the intent", i)
			}
		})
	}
}

func findBug(t *testing.T, c tracker.Tracker, since time.Time, senders ...string) int64 {
	t.Helper()
	number, err := c.FindBug(t.Context(), Intent, since, nil, senders...)
	if err != nil {
		t.Fatalf("FindBug: %v", err)
	}
	return number
}

// Add adds an issue that an account filed, and returns its number.
func (s *Server) Add(project, author, title, text string) (number int64) {
	s.locked(func() {
		i := &Issue{Project: project, Author: author, Title: title, Text: text, Extra: map[string]any{}}
		number = s.add(i, s.kind.global).Number
	})
	return number
}

func (s Suite) testAccounts(t *testing.T) {
	srv := New(t, s.Kind)
	srv.AddToken("kim", "secret-of-kim")
	srv.AddToken("elsie", "secret-of-elsie")
	c := s.Connect(srv, []string{"", s.account("mishap-before"), s.account("never-existed")})
	start, kim := time.Now(), s.account("kim")
	srv.Add(s.Target, s.account("mallory"), "copy", Intent.Marker)
	if !s.Mail { // people move bugs to other packages
		srv.Add("other/project", "mishap", "elsewhere", Intent.Marker)
	}
	srv.Add(s.Target, s.account("mishap"), "another problem", "https://mishap.example/problem/2")
	if got := findBug(t, c, start, kim); got != 0 {
		t.Errorf("found %d, want none: the marker is in bugs of others, and elsewhere", got)
	}
	if got, err := c.FindBug(t.Context(), Intent, start, nil, s.account("nobody")); got != 0 || err != nil {
		t.Errorf("for a sender that is gone: got %d and %v, want none", got, err)
	}
	byKim := s.create(t, s.Connect(srv, nil, "secret-of-kim"), start)
	if got := findBug(t, c, start); got != 0 {
		t.Errorf("found %d, want none: kim is not a sender", got)
	}
	if got := findBug(t, c, start, kim); got != byKim {
		t.Errorf("found %d, want %d of the sender kim", got, byKim)
	}
	former := srv.Add(s.Target, s.account("mishap-before"), "moved account", "x "+Intent.Marker)
	if got := findBug(t, c, start); got != former {
		t.Errorf("found %d, want %d of the former account", got, former)
	}
	own := srv.Add(s.Target, s.account("mishap"), "the same", Intent.Marker)
	if got := findBug(t, c, start, kim); got != byKim {
		t.Errorf("found %d, want %d, the lowest", got, byKim)
	}
	got, err := c.FindBug(t.Context(), Intent, start, []int64{byKim, former}, kim)
	if got != own || err != nil {
		t.Errorf("found %d, %v; want %d, since the others belong to other problems", got, err, own)
	}
	srv.Change(s.Target, own, func(i *Issue) { i.Closed = true })
	if got, err = c.FindBug(t.Context(), Intent, start, []int64{byKim, former}, kim); got != own || err != nil {
		t.Errorf("found %d, %v; want the closed bug %d", got, err, own)
	}
	for _, fault := range []Fault{ErrorBefore, Busy, Expired, Forbidden, CutAfter, PageAfter} {
		srv.Fail("list", fault)
		if got, err := c.FindBug(t.Context(), Intent, start, nil); err == nil {
			t.Errorf("with the fault %s: found %d, want an error", fault, got)
		}
	}
}

func (s Suite) testPages(t *testing.T) {
	srv := New(t, s.Kind)
	c, start := s.Connect(srv, nil), time.Now()
	first := srv.Add(s.Target, s.account("mishap"), "first", "a "+Intent.Marker)
	for n := range 120 {
		srv.Add(s.Target, s.account("mishap"), fmt.Sprint("bug ", n), strings.Repeat("<&>ü", 2000))
	}
	last := srv.Add(s.Target, s.account("mishap"), "last", Intent.Marker)
	if got := findBug(t, c, start); got != first {
		t.Errorf("found %d, want the first bug %d", got, first)
	}
	if got, err := c.FindBug(t.Context(), Intent, start, []int64{first}); got != last || err != nil {
		t.Errorf("found %d, %v; want the last bug %d", got, err, last)
	}
	changed, err := c.Changed(t.Context(), start.Add(-time.Minute))
	if err != nil || len(changed) != 122 {
		t.Errorf("got %d changed bugs, %v; want 122", len(changed), err)
	}
}

func (s Suite) testClocks(t *testing.T) {
	for _, moved := range []time.Duration{-20 * time.Hour, 20 * time.Hour} {
		srv := New(t, s.Kind)
		srv.SetClock(func() time.Time { return time.Now().Add(moved) })
		if !s.Lags {
			srv.HideNew(time.Hour) // in searches for words only
		}
		c, start := s.Connect(srv, nil), time.Now()
		number := s.create(t, c, start)
		if got := findBug(t, c, start); got != number {
			t.Errorf("with a clock moved by %v: found %d, want %d", moved, got, number)
		}
		if s.Mail {
			continue // until the beginning of the search, nothing is sure
		}
		if got := findBug(t, c, start.Add(moved+30*time.Hour)); got != 0 {
			t.Errorf("with a clock moved by %v: found %d, want none, since it is older", moved, got)
		}
	}
}

func (s Suite) testReading(t *testing.T) {
	srv := New(t, s.Kind)
	c := s.Connect(srv, nil)
	start := time.Now()
	number := s.create(t, c, start)
	srv.Change(s.Target, number, func(i *Issue) {
		i.Title, i.Assignee, i.Milestone = "a\u202eb\n\x07c", "ada", "47.1"
	})
	r := readState(t, c, number)
	if len(r.Tasks) != 1 || r.Title != "ab; c" || r.Private || r.Hidden ||
		!s.Mail && tracker.PlainText(r.Description) != Intent.Description {
		t.Fatalf("got %+v", r)
	}
	task := r.Tasks[0]
	want := crash.BugTask{Target: s.Target, Name: s.Target, Status: "Open", Assignee: "ada", Milestone: "47.1"}
	if s.Mail { // it has no milestones
		want.Milestone, want.Importance = "", "normal"
	}
	if task != want {
		t.Errorf("got the task %+v, want %+v", task, want)
	}
	srv.Change(s.Target, number, func(i *Issue) { i.Closed = true })
	task = readState(t, c, number).Tasks[0]
	if task.Status != "Closed" || !task.Complete || !s.Mail && task.Closed.Before(start.Add(-time.Minute)) {
		t.Errorf("got the closed task %+v", task)
	}
	if r = readState(t, c, number+100); !r.Hidden || r.Number != number+100 || len(r.Tasks) != 0 {
		t.Errorf("got %+v for a missing bug, want hidden", r)
	}
	changed, err := c.Changed(t.Context(), start.Add(-time.Minute))
	if err != nil || !slices.Equal(changed, []int64{number}) {
		t.Errorf("got the changed bugs %v, %v", changed, err)
	}
	if changed, err = c.Changed(t.Context(), time.Now().Add(time.Hour)); err != nil || len(changed) != 0 {
		t.Errorf("got the changed bugs %v, %v; want none since then", changed, err)
	}
	for _, fault := range []Fault{ErrorBefore, CutAfter, PageAfter} {
		srv.Fail("read", fault)
		_, err := c.ReadState(t.Context(), number)
		checkOutcome(t, err, tracker.OutcomeUnknown)
	}
}

func readState(t *testing.T, c tracker.Tracker, number int64) crash.BugReading {
	t.Helper()
	r, err := c.ReadState(t.Context(), number)
	if err != nil {
		t.Fatalf("ReadState: %v", err)
	}
	return r
}

func (s Suite) testComments(t *testing.T) {
	for _, fault := range append([]Fault{""}, Faults...) {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			srv := New(t, s.Kind)
			c := s.Connect(srv, nil)
			number := srv.Add(s.Target, s.account("kim"), "a bug", "text")
			const text = "It is back.\nIn version 2~rc1."
			if fault != "" {
				srv.Fail("comment", fault)
			}
			err := c.Comment(hangUp(t, srv), number, text)
			if fault == "" && err != nil {
				t.Fatalf("Comment: %v", err)
			}
			if fault != "" {
				checkOutcome(t, err, s.outcome(fault))
			}
			done := fault == "" || fault.Done()
			has, err := c.HasComment(t.Context(), number, func(got string) bool { return got == text })
			if has != done || err != nil {
				t.Errorf("has the comment: %v, %v; want %v", has, err, done)
			}
			if got := len(srv.Requests("comment")); got != 1 {
				t.Errorf("got %d requests, want 1", got)
			}
		})
	}
	srv := New(t, s.Kind)
	c := s.Connect(srv, nil)
	if has, err := c.HasComment(t.Context(), 99, func(string) bool { return true }); has || err != nil {
		t.Errorf("a missing bug has a comment: %v, %v", has, err)
	}
	checkOutcome(t, c.Comment(t.Context(), 99, "x"), tracker.OutcomeRefused)
}

func (s Suite) testCredentials(t *testing.T) {
	srv := New(t, s.Kind)
	c := s.Connect(srv, nil)
	if name, err := tracker.Check(t.Context(), c); name != "mishap" || err != nil {
		t.Errorf("got the account %q, %v", name, err)
	}
	for fault, code := range map[Fault]string{Expired: "tracker_credentials", Busy: "tracker_busy",
		Forbidden: "tracker_refused", ErrorBefore: "tracker_failed"} {
		srv.Fail("me", fault)
		name, err := tracker.Check(t.Context(), c)
		if e, ok := errors.AsType[*crash.Error](err); !ok || e.Code != code || name != "" {
			t.Errorf("with the fault %s: got %q and %v, want the code %s", fault, name, err, code)
		}
	}
	if h, err := c.Credentials().Status(t.Context()); err != nil || !h.Dead || h.Account != "mishap" {
		t.Errorf("got %+v, %v; want the dead token of mishap", h, err)
	}
	revoked := s.Connect(srv, nil, "no-such-token")
	_, err := revoked.Create(t.Context(), Intent, tracker.MaxSending)
	checkOutcome(t, err, tracker.OutcomeCredentials)
	if _, err := tracker.Check(t.Context(), revoked); err == nil {
		t.Error("an unknown token is accepted")
	}
	if got := c.BugURL(7); !strings.HasPrefix(got, srv.URL+"/"+s.Target) || !strings.HasSuffix(got, "/7") {
		t.Errorf("got the address %s", got)
	}
}

// HostileAnswer is an answer that makes no sense, or that lies.
type HostileAnswer struct {
	name, call string
	status     int
	body       string
	want       tracker.Outcome
}

// Hostile returns an answer to a call, which is "me", "create", "find", "read" or "comment". The last two are about
// the bug 7.
func Hostile(name, call string, status int, body string, want tracker.Outcome) HostileAnswer {
	return HostileAnswer{name, call, status, body, want}
}

// Answers tests the client with answers to all calls but that for the account, which gets the answer user, unless
// the call is "me".
func (s Suite) Answers(t *testing.T, user string, answers []HostileAnswer) {
	t.Helper()
	for _, a := range answers {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/user") && a.call != "me" {
					_, _ = io.WriteString(w, user)
					return
				}
				w.WriteHeader(a.status)
				_, _ = io.WriteString(w, a.body)
			}))
			t.Cleanup(srv.Close)
			c := s.Connect(&Server{URL: srv.URL}, nil)
			in := Intent
			in.Tags = nil
			var err error
			switch a.call {
			case "me":
				_, err = c.Me(t.Context())
			case "create":
				_, err = c.Create(t.Context(), in, tracker.MaxSending)
			case "find":
				_, err = c.FindBug(t.Context(), in, time.Now(), nil)
			case "read":
				_, err = c.ReadState(t.Context(), 7)
			case "comment":
				err = c.Comment(t.Context(), 7, "text")
			}
			checkOutcome(t, err, a.want)
		})
	}
}
