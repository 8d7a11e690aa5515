package bugzilla_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/db/bugs"
	"mishap/db/dbtest"
	"mishap/tracker"
	"mishap/tracker/bugzilla"
	"mishap/tracker/issuetest"
)

const marker = "https://mishap.example/problem/2aae6c35c94fcfb415dbe95f408b9ce91ee846ed"

var intent = crash.Intent{
	Target: "/ubuntu/+source/tidewatch", Title: "tidewatch crashed in 市場 <b>", Tags: []string{"crash"},
	Description: "It did: \"a\" & <b>.\n\n" + marker + "\n", Marker: marker,
}

const configured = "Harbour%20Linux/tidewatch"

// fixture has a practice tracker and a database.
type fixture struct {
	t     *testing.T
	srv   *issuetest.Server
	store *bugs.Store
	start time.Time
}

func newFixture(t *testing.T, store *bugs.Store, o issuetest.BugzillaOptions) *fixture {
	t.Helper()
	srv := issuetest.New(t, issuetest.Bugzilla(o))
	srv.AddToken("robot@example.org", "key-of-robot")
	srv.AddToken("ada@example.org", "key-of-ada")
	return &fixture{t: t, srv: srv, store: store, start: time.Now()}
}

func newStore(t *testing.T) *bugs.Store {
	t.Helper()
	return bugs.New(dbtest.New(t))
}

// client returns an instance that acts for robot@example.org.
func (f *fixture) client(change ...func(*tracker.Config)) *bugzilla.Client {
	cfg := tracker.Config{
		URL: f.srv.URL, APIURL: f.srv.URL + "/rest", ConsumerKey: "mishap", Target: configured,
		BaseURL: "https://mishap.example", Log: dbtest.Log(f.t), Timeout: 10 * time.Minute,
		Token: crash.AccessToken{Token: "robot@example.org", Secret: "key-of-robot"},
	}
	for _, c := range change {
		c(&cfg)
	}
	return bugzilla.New(cfg, tracker.NewCredentials(cfg, f.store))
}

func (f *fixture) create(c tracker.Tracker, in crash.Intent) int64 {
	f.t.Helper()
	number, err := c.Create(f.t.Context(), in, tracker.MaxSending)
	if err != nil {
		f.t.Fatalf("Create: %v", err)
	}
	return number
}

func (f *fixture) find(c tracker.Tracker, others ...int64) int64 {
	f.t.Helper()
	number, err := c.FindBug(f.t.Context(), intent, f.start, others)
	if err != nil {
		f.t.Fatalf("FindBug: %v", err)
	}
	return number
}

// wantOutcome checks the outcome of a call, and that its text is one line for people with some words.
func wantOutcome(t *testing.T, err error, want tracker.Outcome, words ...string) {
	t.Helper()
	e, ok := errors.AsType[*tracker.CallError](err)
	if !ok || e.Outcome != want {
		t.Fatalf("got %v, want the outcome %s", err, want)
	}
	if e.Text == "" || e.Text != tracker.Clean(e.Text, 400) || strings.Contains(e.Text, "key-of") {
		t.Errorf("got the text %q, want a clean one", e.Text)
	}
	if e.Err != nil && strings.Contains(e.Err.Error(), "key-of") {
		t.Errorf("the error has the key: %v", e.Err)
	}
	for _, w := range words {
		if !strings.Contains(e.Text+" code "+e.Code, w) {
			t.Errorf("got the text %q and the code %q, want %q in it", e.Text, e.Code, w)
		}
	}
	if (e.RetryAfter == 2*time.Minute) != (want == tracker.OutcomeBusy) && e.Status != http.StatusServiceUnavailable {
		t.Errorf("got RetryAfter %v", e.RetryAfter)
	}
}

// cancelHung returns a context that ends when the tracker lets a request hang.
func (f *fixture) cancelHung(operation string, done bool) context.Context {
	ctx, cancel := context.WithCancel(f.t.Context())
	requests, issues := len(f.srv.Requests(operation)), len(f.srv.Issues())
	go func() {
		defer cancel()
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for len(f.srv.Requests(operation)) == requests || done && len(f.srv.Issues()) == issues {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	return ctx
}

// TestCreateFaults files a bug with every fault, where aliases are stored, refused and ignored. There is never a
// second bug.
func TestCreateFaults(t *testing.T) {
	t.Parallel()
	outcomes := map[issuetest.Fault]tracker.Outcome{
		issuetest.Busy: tracker.OutcomeBusy, issuetest.Expired: tracker.OutcomeCredentials,
		issuetest.Forbidden: tracker.OutcomeRefused, issuetest.Refused: tracker.OutcomeRefused,
	}
	store := newStore(t)
	for _, alias := range []string{"", "refused", "ignored"} {
		for _, fault := range issuetest.Faults {
			t.Run(alias+"/"+string(fault), func(t *testing.T) {
				f := newFixture(t, store, issuetest.BugzillaOptions{Alias: alias})
				c := f.client()
				other := intent
				other.Marker, other.Description = marker+"1", marker[:60]+"1"
				before := f.create(c, other) // from it, c learns whether aliases are refused
				f.srv.Fail("create", fault)
				ctx := t.Context()
				if fault == issuetest.HangBefore || fault == issuetest.HangAfter {
					ctx = f.cancelHung("create", fault.Done())
				}
				_, err := c.Create(ctx, intent, tracker.MaxSending)
				want := outcomes[fault]
				if want == "" {
					want = tracker.OutcomeUnknown
				}
				wantOutcome(t, err, want)
				found := f.find(c)
				if (found != 0) != fault.Done() {
					t.Fatalf("found bug %d, want one: %v", found, fault.Done())
				}
				if found == 0 {
					found = f.create(f.client(), intent)
				}
				issues := f.srv.Issues()
				if len(issues) != 2 || issues[1].ID != found || issues[1].Text != intent.Description || found == before {
					t.Fatalf("found %d; the tracker has %+v", found, issues)
				}
				if again := f.find(f.client()); again != found {
					t.Errorf("another instance finds %d, want %d", again, found)
				}
			})
		}
	}
}

// TestAliasPreventsSecondBug sends a bug again without a search, as an instance would that is too early.
func TestAliasPreventsSecondBug(t *testing.T) {
	t.Parallel()
	f := newFixture(t, newStore(t), issuetest.BugzillaOptions{})
	c := f.client()
	f.srv.Fail("create", issuetest.DropAfter)
	_, err := c.Create(t.Context(), intent, tracker.MaxSending)
	wantOutcome(t, err, tracker.OutcomeUnknown)
	for _, again := range []*bugzilla.Client{c, f.client()} {
		_, err = again.Create(t.Context(), intent, tracker.MaxSending)
		wantOutcome(t, err, tracker.OutcomeUnknown, "Bug 1 has already taken the alias mishap-", "code 103")
	}
	if got := f.find(c); got != 1 || len(f.srv.Issues()) != 1 {
		t.Errorf("found %d among %d bugs, want the only one", got, len(f.srv.Issues()))
	}
}

// TestFileAgain files a problem again whose first bug has been unlinked. The alias of the first bug is used, and
// the next is tried.
func TestFileAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t, newStore(t), issuetest.BugzillaOptions{})
	c := f.client()
	first := f.create(c, intent)
	_, err := c.Create(t.Context(), intent, tracker.MaxSending)
	wantOutcome(t, err, tracker.OutcomeUnknown)
	if got := f.find(c, first); got != 0 {
		t.Fatalf("found %d, want none: the first one is that of another filing", got)
	}
	f.srv.Fail("create", issuetest.CutAfter)
	_, err = c.Create(t.Context(), intent, tracker.MaxSending)
	wantOutcome(t, err, tracker.OutcomeUnknown)
	second := f.find(f.client(), first)
	issues := f.srv.Issues()
	if len(issues) != 2 || issues[1].ID != second {
		t.Fatalf("found %d, want the second of %+v", second, issues)
	}
	one, two := aliases(issues[0]), aliases(issues[1])
	if len(one) != 1 || len(one[0]) != 37 || len(two) != 1 || two[0] != one[0]+"-2" {
		t.Errorf("got the aliases %v and %v", one, two)
	}
	for n := range 5 { // more than there are aliases
		all := f.srv.Issues()
		var others []int64
		for _, i := range all {
			others = append(others, i.ID)
		}
		if got := f.find(c, others...); got != 0 {
			t.Fatalf("round %d: found %d, want none", n, got)
		}
		if got := f.create(c, intent); f.find(f.client(), others...) != got {
			t.Errorf("round %d: bug %d is not found", n, got)
		}
	}
}

// TestFileAgainLater files a problem again, whose bug was unlinked long after it was filed. The bug is then too old to
// be among the others that FindBug skips.
func TestFileAgainLater(t *testing.T) {
	t.Parallel()
	f := newFixture(t, newStore(t), issuetest.BugzillaOptions{})
	f.srv.SetClock(func() time.Time { return f.start.Add(-25 * time.Hour) })
	c := f.client()
	f.create(c, intent)
	f.srv.SetClock(time.Now)
	_, err := c.Create(t.Context(), intent, tracker.MaxSending)
	wantOutcome(t, err, tracker.OutcomeUnknown, "code 103")
	if got := f.find(c); got != 0 {
		t.Fatalf("found %d, want none: it is too old", got)
	}
	if got := f.create(c, intent); got != 2 || f.find(f.client()) != 2 {
		t.Errorf("created %d, and found %d; want 2", got, f.find(f.client()))
	}
}

func aliases(i issuetest.Issue) []string {
	list, _ := i.Extra["alias"].([]string)
	return list
}

// TestFindBugSkips puts aliases and markers into bugs that are not ours.
func TestFindBugSkips(t *testing.T) {
	t.Parallel()
	f := newFixture(t, newStore(t), issuetest.BugzillaOptions{Limit: 7})
	c := f.client()
	theirs := f.create(f.client(func(cfg *tracker.Config) {
		cfg.Token = crash.AccessToken{Token: "ada@example.org", Secret: "key-of-ada"}
		cfg.ConsumerKey = "another"
	}), intent)
	f.srv.SetClock(func() time.Time { return f.start.Add(-48 * time.Hour) })
	old := intent
	old.Marker += "0" // and so its own alias, but the same text
	f.create(c, old)
	f.srv.SetClock(time.Now)
	for n := range 20 { // more than a page
		other := intent
		other.Marker, other.Description = marker+strings.Repeat("2", n+1), "Another problem."
		f.create(c, other)
	}
	f.srv.AddToken("a-robot@example.org.uk", "key-of-a-robot") // has our name as a part
	old.Marker += "1"
	f.create(f.client(func(cfg *tracker.Config) {
		cfg.Token = crash.AccessToken{Token: "a-robot@example.org.uk", Secret: "key-of-a-robot"}
		cfg.ConsumerKey = "a third"
	}), old)
	if got := f.find(c); got != 0 {
		t.Fatalf("found %d, want none", got)
	}
	if got, err := c.FindBug(t.Context(), intent, f.start, nil, "ada@example.org"); got != theirs || err != nil {
		t.Errorf("with a sender: got %d, %v; want %d", got, err, theirs)
	}
	number := f.create(c, intent)
	if got := f.find(c); got != number {
		t.Errorf("found %d, want %d", got, number)
	}
	f.srv.Change("", number, func(i *issuetest.Issue) { i.Closed, i.Extra["alias"] = true, []string(nil) })
	if got := f.find(c); got != number {
		t.Errorf("without its alias: found %d, want %d", got, number)
	}
	for _, fault := range []issuetest.Fault{issuetest.ErrorBefore, issuetest.PageAfter, issuetest.Busy} {
		for _, operation := range []string{"me", "read", "list", "comments"} {
			f.srv.Fail(operation, fault)
			if got, err := c.FindBug(t.Context(), intent, f.start, nil); err == nil {
				t.Errorf("with %s of %s: found %d, want an error", fault, operation, got)
			}
		}
	}
}

// TestHiddenAlias hides the bug with the alias. It may be ours, so nothing may be sent.
func TestHiddenAlias(t *testing.T) {
	t.Parallel()
	f := newFixture(t, newStore(t), issuetest.BugzillaOptions{})
	c := f.client()
	number := f.create(c, intent)
	f.srv.Change("", number, func(i *issuetest.Issue) { i.Private, i.Author = true, "ada@example.org" })
	_, err := c.FindBug(t.Context(), intent, f.start, nil)
	wantOutcome(t, err, tracker.OutcomeRefused, "code 102")
	_, err = c.Create(t.Context(), intent, tracker.MaxSending)
	wantOutcome(t, err, tracker.OutcomeUnknown)
}

// TestRequests checks what is sent, in each variant.
func TestRequests(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	for _, variant := range []string{bugzilla.VariantParameter, bugzilla.VariantHeader, bugzilla.VariantRedHat} {
		t.Run("variant "+variant, func(t *testing.T) {
			f := newFixture(t, store, issuetest.BugzillaOptions{Variant: variant})
			c := f.client(func(cfg *tracker.Config) { cfg.Variant = variant; cfg.Group = issuetest.BugzillaGroup })
			if name, err := tracker.Check(t.Context(), c); name != "robot@example.org" || err != nil {
				t.Fatalf("got the account %q, %v", name, err)
			}
			public, private, elsewhere := intent, intent, intent
			public.InformationType, public.Marker = crash.InformationPublic, "b"
			private.InformationType, private.Marker = crash.InformationPrivate, "c"
			elsewhere.Target, elsewhere.Marker = "Harbour%20Linux/Look%2FFeel/1.0", "d"
			for _, in := range []crash.Intent{intent, public, private, elsewhere} {
				f.create(c, in)
			}
			want := map[string]any{
				"product": "Harbour Linux", "component": "tidewatch", "version": "unspecified", "op_sys": "All",
				"platform": "All", "summary": intent.Title, "description": intent.Description,
			}
			requests := f.srv.Requests("create")
			var got []map[string]any
			for _, r := range requests {
				var body map[string]any
				if err := json.Unmarshal(r.Body, &body); err != nil {
					t.Fatal(err)
				}
				got = append(got, body)
			}
			want["alias"] = got[0]["alias"]
			if diff := cmp.Diff(want, got[0]); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]any{nil, []any{}, []any{"security"}, nil},
				[]any{got[0]["groups"], got[1]["groups"], got[2]["groups"], got[3]["groups"]}); diff != "" {
				t.Errorf("groups (-want +got):\n%s", diff)
			}
			if got[3]["component"] != "Look/Feel" || got[3]["version"] != "1.0" {
				t.Errorf("got the component %v and version %v", got[3]["component"], got[3]["version"])
			}
			if issues := f.srv.Issues(); issues[1].Private || !issues[2].Private {
				t.Errorf("got %+v", issues)
			}
			for _, r := range slices.Concat(requests, f.srv.Requests("me"), f.srv.Requests("product")) {
				key := map[string]string{
					bugzilla.VariantParameter: r.Query.Get("Bugzilla_api_key"),
					bugzilla.VariantHeader:    r.Header.Get("X-Bugzilla-Api-Key"),
					bugzilla.VariantRedHat:    strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "),
				}
				maps.DeleteFunc(key, func(_, v string) bool { return v == "" })
				if diff := cmp.Diff(map[string]string{variant: "key-of-robot"}, key); diff != "" {
					t.Errorf("%s %s: keys (-want +got):\n%s", r.Method, r.Path, diff)
				}
				if r.Header.Get("Accept") != "application/json" ||
					r.Method == http.MethodPost && r.Header.Get("Content-Type") != "application/json" {
					t.Errorf("got the headers %v", r.Header)
				}
			}
			if n := len(f.srv.Requests("product")); n != 3 {
				t.Errorf("got %d requests for versions, want 3: one target names its own", n)
			}
		})
	}
}

// TestNotSent has bugs that cannot be filed as they should be, for which nothing is sent.
func TestNotSent(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	for name, test := range map[string]struct {
		options issuetest.BugzillaOptions
		change  func(*crash.Intent)
		config  func(*tracker.Config)
		fault   issuetest.Fault
		want    tracker.Outcome
		text    string
	}{
		"private without a group": {
			change: func(in *crash.Intent) { in.InformationType = crash.InformationPrivate },
			want:   tracker.OutcomeRefused, text: "would be public",
		},
		"no target": {
			config: func(cfg *tracker.Config) { cfg.Target = "ubuntu" }, want: tracker.OutcomeRefused, text: "Product/Component",
		},
		"empty component": {
			config: func(cfg *tracker.Config) { cfg.Target = "a//b" }, want: tracker.OutcomeRefused, text: "Product/Component",
		},
		"several versions": {
			options: issuetest.BugzillaOptions{Versions: []string{"41", "42"}},
			want:    tracker.OutcomeRefused, text: "has no version “unspecified”",
		},
		"versions unknown": {fault: issuetest.ErrorBefore, want: tracker.OutcomeNotSent, text: "Bad Gateway"},
		"versions cut":     {fault: issuetest.CutAfter, want: tracker.OutcomeNotSent},
		"versions busy":    {fault: issuetest.Busy, want: tracker.OutcomeBusy, text: "Too Many"},
		"versions refused": {fault: issuetest.Expired, want: tracker.OutcomeCredentials, text: "revoked"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, store, test.options)
			in := intent
			if test.change != nil {
				test.change(&in)
			}
			if test.config == nil {
				test.config = func(*tracker.Config) {}
			}
			if test.fault != "" {
				f.srv.Fail("product", test.fault)
			}
			_, err := f.client(test.config).Create(t.Context(), in, tracker.MaxSending)
			wantOutcome(t, err, test.want, test.text)
			if n := len(f.srv.Requests("create")); n != 0 {
				t.Errorf("got %d requests", n)
			}
		})
	}
	f := newFixture(t, store, issuetest.BugzillaOptions{Versions: []string{"rolling"}})
	f.create(f.client(), intent)
	if got := f.srv.Issues()[0].Extra["version"]; got != "rolling" {
		t.Errorf("got the version %v, want the only one", got)
	}
}

// TestAliasRefused sends the bug without an alias at once, and later ones without trying.
func TestAliasRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t, newStore(t), issuetest.BugzillaOptions{Alias: "refused"})
	c := f.client()
	f.create(c, intent)
	second := intent
	second.Marker = "b"
	f.create(c.As(c.Credentials()), second)
	if n := len(f.srv.Requests("create")); n != 3 || len(f.srv.Issues()) != 2 {
		t.Errorf("got %d requests and %d bugs, want 3 and 2", n, len(f.srv.Issues()))
	}
}

// TestReadState reads bugs in the states of installations.
func TestReadState(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	closed := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	task := crash.BugTask{
		Target: configured, Name: "tidewatch (Harbour Linux)", Status: "CONFIRMED", Importance: "normal P3",
		Assignee: "owner@example.org",
	}
	reading := crash.BugReading{Number: 1, Title: "tidewatch crashed in 市場 <b>", InformationType: "Public"}
	type state = func(*issuetest.Issue)
	end := func(status, resolution string) state {
		return func(i *issuetest.Issue) {
			i.Closed, i.ClosedAt, i.State, i.Resolution = true, closed, status, resolution
		}
	}
	for name, test := range map[string]struct {
		change state
		want   func(*crash.BugReading, *crash.BugTask)
	}{
		"open": {func(i *issuetest.Issue) { i.Milestone = "43.1" }, func(_ *crash.BugReading, t *crash.BugTask) {
			t.Milestone = "43.1"
		}},
		"fixed": {end("RESOLVED", "FIXED"), func(_ *crash.BugReading, t *crash.BugTask) {
			t.Status, t.Complete, t.Closed = crash.FixReleased, true, closed
		}},
		"errata": {func(i *issuetest.Issue) {
			end("CLOSED", "ERRATA")(i)
			i.Extra["cf_fixed_in"] = "tidewatch-2.3~rc1-4.fc43, somewhere else libtide-0-9.2-1.fc42"
		}, func(r *crash.BugReading, t *crash.BugTask) {
			t.Status, t.Complete, t.Closed = crash.FixReleased, true, closed
			r.Fixes = []crash.BugFix{
				{Package: "tidewatch", Version: "2.3~rc1-4.fc43"}, {Package: "libtide-0", Version: "9.2-1.fc42"},
			}
		}},
		"no fix": {end("RESOLVED", "WONTFIX"), func(_ *crash.BugReading, t *crash.BugTask) {
			t.Status, t.Complete, t.Closed = "RESOLVED WONTFIX", true, closed
		}},
		"promised": {end("CLOSED", "RAWHIDE"), func(_ *crash.BugReading, t *crash.BugTask) {
			t.Status, t.Complete, t.Closed = "CLOSED RAWHIDE", true, closed
		}},
		"duplicate": {func(i *issuetest.Issue) {
			end("RESOLVED", "DUPLICATE")(i)
			i.DuplicateOf = 77
		}, func(r *crash.BugReading, t *crash.BugTask) {
			r.DuplicateOf = 77
			t.Status, t.Complete, t.Closed = "RESOLVED DUPLICATE", true, closed
		}},
		"private": {func(i *issuetest.Issue) { i.Private, i.Extra["groups"] = true, []string{"security", "core"} },
			func(r *crash.BugReading, _ *crash.BugTask) {
				r.Private, r.Title, r.InformationType = true, "", "security, core"
			}},
		"hidden": {func(i *issuetest.Issue) { i.Private, i.Author = true, "ada@example.org" },
			func(r *crash.BugReading, _ *crash.BugTask) { *r = crash.BugReading{Number: 1, Hidden: true} }},
		"hostile": {func(i *issuetest.Issue) {
			i.Title, i.State = "a\u202eb\n\x07c", "x\x00\ny"
			i.Assignee, i.Milestone, i.Extra["component"] = strings.Repeat("z", 5000), "\u2066m", "+source/tidewatch"
			i.Extra["severity"] = "\r\n"
		}, func(r *crash.BugReading, t *crash.BugTask) {
			r.Title, t.Status, t.Milestone = "ab; c", "x; y", "m"
			t.Assignee = crash.Shorten(strings.Repeat("z", 5000), 300)
			t.Target, t.Name = "Harbour%20Linux/%2Bsource%2Ftidewatch", "+source/tidewatch (Harbour Linux)"
			t.Importance = "P3"
		}},
	} {
		for _, variant := range []string{bugzilla.VariantHeader, bugzilla.VariantRedHat} {
			t.Run(name+" "+variant, func(t *testing.T) {
				f := newFixture(t, store, issuetest.BugzillaOptions{Variant: variant})
				c := f.client(func(cfg *tracker.Config) { cfg.Variant = variant })
				number := f.create(c, intent)
				f.srv.Change("", number, test.change)
				got, err := c.ReadState(t.Context(), number)
				if err != nil {
					t.Fatal(err)
				}
				want, its := reading, task
				if test.want(&want, &its); !want.Hidden {
					want.Tasks = []crash.BugTask{its}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		}
	}
	f := newFixture(t, store, issuetest.BugzillaOptions{})
	c := f.client()
	if got, err := c.ReadState(t.Context(), 5); err != nil || !got.Hidden {
		t.Errorf("a missing bug: got %+v, %v", got, err)
	}
	f.create(c, intent)
	for fault, want := range map[issuetest.Fault]tracker.Outcome{
		issuetest.ErrorBefore: tracker.OutcomeUnknown, issuetest.CutAfter: tracker.OutcomeUnknown,
		issuetest.PageAfter: tracker.OutcomeUnknown, issuetest.Expired: tracker.OutcomeCredentials,
	} {
		f.srv.Fail("read", fault)
		_, err := c.ReadState(t.Context(), 1)
		wantOutcome(t, err, want)
	}
	f.srv.Change("", 1, end("RESOLVED", "FIXED"))
	f.srv.Fail("history", issuetest.PageAfter)
	if got, err := c.ReadState(t.Context(), 1); err != nil || !got.Tasks[0].Closed.IsZero() {
		t.Errorf("without a history: got %+v, %v", got, err)
	}
}

// TestComments comments on a bug, subscribes to it and lists what has changed.
func TestComments(t *testing.T) {
	t.Parallel()
	f := newFixture(t, newStore(t), issuetest.BugzillaOptions{Variant: bugzilla.VariantHeader})
	c := f.client(func(cfg *tracker.Config) { cfg.Variant = bugzilla.VariantHeader })
	number := f.create(c, intent)
	const text = "It is back.\nIn version 2~rc1, <b>\"quoted\"</b>."
	is := func(s string) bool { return s == text }
	if has, err := c.HasComment(t.Context(), number, is); has || err != nil {
		t.Fatalf("has the comment: %v, %v", has, err)
	}
	if err := c.Comment(t.Context(), number, text); err != nil {
		t.Fatalf("Comment: %v", err)
	}
	if has, err := c.HasComment(t.Context(), number, is); !has || err != nil {
		t.Errorf("has the comment: %v, %v", has, err)
	}
	if has, err := c.HasComment(t.Context(), 99, is); has || err != nil {
		t.Errorf("a missing bug has the comment: %v, %v", has, err)
	}
	wantOutcome(t, c.Comment(t.Context(), 99, text), tracker.OutcomeRefused)
	for fault, want := range map[issuetest.Fault]tracker.Outcome{
		issuetest.DropAfter: tracker.OutcomeUnknown, issuetest.CutAfter: tracker.OutcomeUnknown,
		issuetest.Forbidden: tracker.OutcomeRefused, issuetest.Busy: tracker.OutcomeBusy,
	} {
		f.srv.Fail("comment", fault)
		wantOutcome(t, c.Comment(t.Context(), number, text), want)
	}
	for range 2 {
		if err := c.Subscribe(t.Context(), number, "ada@example.org"); err != nil {
			t.Fatalf("Subscribe: %v", err)
		}
	}
	wantOutcome(t, c.Subscribe(t.Context(), number, "nobody@example.org"), tracker.OutcomeRefused,
		"There is no user named 'nobody@example.org'.")
	if got := f.srv.Issues()[0].Extra["cc"]; !slices.Contains(got.([]string), "ada@example.org") {
		t.Errorf("got the CC list %v", got)
	}
	for at, want := range map[time.Time][]int64{f.start.Add(-time.Hour): {number}, f.start.Add(time.Hour): nil} {
		if got, err := c.Changed(t.Context(), at); err != nil || !slices.Equal(got, want) {
			t.Errorf("changed since %v: got %v, %v; want %v", at, got, err, want)
		}
	}
	if got := c.BugURL(7); got != f.srv.URL+"/show_bug.cgi?id=7" {
		t.Errorf("got the address %s", got)
	}
}

// TestCheck tries keys.
func TestCheck(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	for name, test := range map[string]struct {
		variant string // of the tracker
		token   crash.AccessToken
		fault   issuetest.Fault
		code    string
	}{
		"stock": {token: crash.AccessToken{Token: "robot@example.org", Secret: "key-of-robot"}},
		"stock, wrong name": {token: crash.AccessToken{Token: "ada@example.org", Secret: "key-of-robot"},
			code: "credentials"},
		"stock, invalid":      {token: crash.AccessToken{Token: "robot@example.org", Secret: "x"}, code: "credentials"},
		"another name counts": {variant: "header", token: crash.AccessToken{Token: "x", Secret: "key-of-robot"}},
		"invalid":             {variant: "header", token: crash.AccessToken{Token: "x", Secret: "y"}, code: "credentials"},
		"revoked": {variant: "header", token: crash.AccessToken{Token: "x", Secret: "key-of-robot"},
			fault: issuetest.Expired, code: "credentials"},
		"busy": {variant: "header", token: crash.AccessToken{Token: "x", Secret: "key-of-robot"},
			fault: issuetest.Busy, code: "busy"},
		"down": {variant: "header", token: crash.AccessToken{Token: "x", Secret: "key-of-robot"},
			fault: issuetest.ErrorBefore, code: "failed"},
		"key in the wrong place": {variant: "redhat", token: crash.AccessToken{Token: "x", Secret: "key-of-robot"},
			code: "credentials"},
		"none": {variant: "header", code: "credentials"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, store, issuetest.BugzillaOptions{Variant: test.variant})
			c := f.client(func(cfg *tracker.Config) { cfg.Token = test.token; cfg.ConsumerKey = name })
			if test.fault != "" {
				f.srv.Fail("me", test.fault)
			}
			got, err := tracker.Check(t.Context(), c)
			e, _ := errors.AsType[*crash.Error](err)
			switch {
			case test.code == "" && (err != nil || got != "robot@example.org"):
				t.Errorf("got %q, %v", got, err)
			case test.code != "" && (e == nil || e.Code != "tracker_"+test.code):
				t.Errorf("got %q, %v; want the code tracker_%s", got, err, test.code)
			}
		})
	}
}

// TestServerInFront gets answers of a server in front of the tracker, which have no code.
func TestServerInFront(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	for status, code := range map[int]string{401: "tracker_credentials", 403: "tracker_refused", 302: "tracker_failed"} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "<html><title>key-of-robot is not wanted</title></html>")
		}))
		t.Cleanup(srv.Close)
		cfg := tracker.Config{
			URL: srv.URL, APIURL: srv.URL + "/rest", ConsumerKey: "mishap", Target: configured, Log: dbtest.Log(t),
			Token: crash.AccessToken{Token: "robot@example.org", Secret: "key-of-robot"},
		}
		_, err := tracker.Check(t.Context(), bugzilla.New(cfg, tracker.NewCredentials(cfg, store)))
		if e, ok := errors.AsType[*crash.Error](err); !ok || e.Code != code || strings.Contains(e.Message, "key-of") {
			t.Errorf("status %d: got %v, want the code %s", status, err, code)
		}
	}
}

// TestForward records the address of an upstream bug, which must be of a known kind of tracker.
func TestForward(t *testing.T) {
	t.Parallel()
	f := newFixture(t, newStore(t), issuetest.BugzillaOptions{})
	var c tracker.Forwarder = f.client()
	number := f.create(c, intent)
	const upstream = "https://code.example.org/tidewatch/tidewatch/issues/7"
	if err := c.Forward(t.Context(), number, upstream); err != nil {
		t.Fatal(err)
	}
	if got, _ := f.srv.Issues()[0].Extra["see_also"].([]string); !slices.Equal(got, []string{upstream}) {
		t.Errorf("got the addresses %v", got)
	}
	err := c.Forward(t.Context(), number, "https://example.org/")
	wantOutcome(t, err, tracker.OutcomeRefused, "is not a valid bug number")
}
