package tracker_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/db/bugs"
	"mishap/db/dbtest"
	"mishap/db/people"
	"mishap/tracker"
	"mishap/tracker/launchpad"
	"mishap/tracker/trackertest"
)

// person adds an account to mishap.
func (h *fixture) person(name string) crash.User {
	h.t.Helper()
	dbtest.AddUser(h.t, h.db, name, crash.RoleTriager, "correct horse battery")
	u, err := people.New(h.db).ByName(h.t.Context(), name)
	if err != nil {
		h.t.Fatal(err)
	}
	return u
}

// connect connects a person's own account, NAME-lp, with a level and returns the token.
func (h *fixture) connect(i *instance, u crash.User, level string) crash.AccessToken {
	h.t.Helper()
	token := h.lp.TokenFor(consumer, level, u.Name+"-lp")
	if _, err := i.filer.ConnectOwnAccount(h.t.Context(), u, token); err != nil {
		h.t.Fatalf("connect own account: %v", err)
	}
	return token
}

// own returns a person's connection.
func (h *fixture) own(i *instance, u crash.User) crash.OwnAccount {
	h.t.Helper()
	own, err := i.filer.OwnAccount(h.t.Context(), u.ID)
	if err != nil {
		h.t.Fatal(err)
	}
	return own
}

// reporter returns who filed the only bug of a bucket.
func (h *fixture) reporter(signature string) string {
	h.t.Helper()
	h.wantOneBug(signature)
	for _, bug := range h.lp.Bugs() {
		if bug.Number == h.bucket(signature).Bug.Number {
			return bug.Reporter
		}
	}
	return ""
}

// filing returns the filing of a bucket.
func (h *fixture) filing(signature string) crash.Filing {
	h.t.Helper()
	f, err := bugs.New(h.db).Filing(h.t.Context(), h.bucket(signature).Filing.ID)
	if err != nil {
		h.t.Fatal(err)
	}
	return f
}

// filed waits until the bug of a bucket is filed.
func (h *fixture) filed(i *instance, signature string) {
	h.t.Helper()
	h.until("the bug is filed", []*instance{i}, func() bool {
		return h.bucket(signature).Filing.State == crash.FilingFiled && h.lp.Working() == 0
	})
}

const (
	robot = "practice-person" // the application's account
	ines  = "ines-lp"
)

// TestFileWithOwnAccount checks who files a bug, and that the reporter is not subscribed again.
func TestFileWithOwnAccount(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	i, u := h.instance(), h.person("ines")
	h.connect(i, u, "WRITE_PUBLIC")
	for n, tt := range []struct {
		user int64
		want string
	}{{u.ID, ines}, {0, robot}} {
		signature := h.problem(n)
		opts := tracker.Options{Person: "ines", Own: tt.user, Wait: patience}
		if _, err := i.filer.CreateBug(t.Context(), signature, opts); err != nil {
			t.Fatal(err)
		}
		if got := h.reporter(signature); got != tt.want {
			t.Errorf("got a bug by %s, want by %s", got, tt.want)
		}
		if got := h.filing(signature); (got.SentAs == ines) != (tt.user != 0) || got.Fallback != "" {
			t.Errorf("got filing %+v", got)
		}
		if got := h.lineOf(signature, "create").Account; (got == ines) != (tt.user != 0) {
			t.Errorf("ledger: got a call by %q", got)
		}
	}
	second := h.bucket(problemSignature(1)).Bug.Number
	h.until("the person is subscribed", []*instance{i}, func() bool {
		return slices.ContainsFunc(h.lp.Bugs(), func(b trackertest.Bug) bool {
			return b.Number == second && slices.Contains(b.Subscribers, ines)
		})
	})
	if got := len(h.lp.Requests(trackertest.OpSubscribe)); got != 1 {
		t.Errorf("got %d subscriptions, want 1", got)
	}
	if own := h.own(i, u); own.Account != ines || own.LastSuccess.IsZero() || own.Dead {
		t.Errorf("got %+v", own)
	}
}

// TestFallBack checks that the application's account files a bug, once, if the person's own account
// cannot, and that the reason is recorded.
func TestFallBack(t *testing.T) {
	t.Parallel()
	type fallBack struct {
		level string
		spoil func(*fixture, *instance, crash.User, crash.AccessToken) error
		calls int // by the person's own account
		dead  bool
	}
	inTurn(t, map[string]fallBack{
		"revoked": {"WRITE_PUBLIC", func(h *fixture, _ *instance, _ crash.User, token crash.AccessToken) error {
			h.lp.Revoke(token.Token)
			return nil
		}, 1, true},
		"suspended": {"WRITE_PUBLIC", func(h *fixture, _ *instance, _ crash.User, _ crash.AccessToken) error {
			h.lp.Suspend(ines)
			return nil
		}, 1, true},
		"may only read": {"READ_PUBLIC", func(*fixture, *instance, crash.User, crash.AccessToken) error { return nil }, 1,
			true},
		"forbidden": {"WRITE_PUBLIC", func(h *fixture, _ *instance, _ crash.User, _ crash.AccessToken) error {
			h.lp.Fail(trackertest.OpCreate, trackertest.FrontEnd403)
			return nil
		}, 1, true},
		"disconnected": {"WRITE_PUBLIC", func(h *fixture, i *instance, u crash.User, _ crash.AccessToken) error {
			return i.filer.DisconnectOwnAccount(h.t.Context(), u)
		}, 0, false},
		"removed": {"WRITE_PUBLIC", func(h *fixture, _ *instance, u crash.User, _ crash.AccessToken) error {
			return people.New(h.db).Remove(h.t.Context(), "", u.Name)
		}, 0, false},
		"disabled": {"WRITE_PUBLIC", func(h *fixture, _ *instance, u crash.User, _ crash.AccessToken) error {
			return people.New(h.db).Disable(h.t.Context(), "", u.Name)
		}, 0, false},
	}, func(t *testing.T, h *fixture, tt fallBack) {
		i, u := h.instance(), h.person("ines")
		token := h.connect(i, u, tt.level)
		if err := tt.spoil(h, i, u, token); err != nil {
			t.Fatal(err)
		}
		for n := range 2 { // the second one needs no call by the rejected account
			signature := h.problem(n)
			opts := tracker.Options{Person: "ines", Own: u.ID, Wait: patience}
			r, err := i.filer.CreateBug(t.Context(), signature, opts)
			if err != nil || r.State != crash.FilingFiled || r.Fallback == "" {
				t.Fatalf("got %+v, %v, want it filed with a reason for the other account", r.Filing, err)
			}
			if got := h.reporter(signature); got != robot {
				t.Errorf("got a bug by %s, want by %s", got, robot)
			}
			if line := h.actionOf(signature, "bug.fall-back"); line.Text != r.Fallback {
				t.Errorf("ledger: got %+v, want the reason %q", line, r.Fallback)
			}
		}
		if got := len(h.lp.Requests(trackertest.OpCreate)); got != tt.calls+2 {
			t.Errorf("got %d calls to create, want %d", got, tt.calls+2)
		}
		if own := h.own(i, u); own.Dead != tt.dead {
			t.Errorf("got %+v, want it rejected: %t", own, tt.dead)
		}
		_ = people.New(h.db).Enable(t.Context(), "", u.Name) // for the next case
	})
}

// actionOf returns the last line of a bucket's ledger about an action.
func (h *fixture) actionOf(signature, action string) (last crash.LedgerLine) {
	h.t.Helper()
	entries, err := bugs.New(h.db).Ledger(h.t.Context(), crash.LedgerFilter{Bucket: crash.BucketIDOf(signature),
		Limit: 1})
	if err != nil || len(entries) != 1 {
		h.t.Fatalf("ledger: got %d entries, %v", len(entries), err)
	}
	for _, line := range entries[0].Lines {
		if line.Action == action {
			last = line
		}
	}
	return last
}

// TestOwnUnknownOutcome lets the answer about a bug get lost that a person's own account has filed,
// and takes the account away before the search. There is never a second bug.
func TestOwnUnknownOutcome(t *testing.T) {
	t.Parallel()
	checktest.Needs(t, "time")
	revoke := func(h *fixture, _ *instance, _ crash.User, token crash.AccessToken) error {
		h.lp.Revoke(token.Token)
		return nil
	}
	disconnect := func(h *fixture, i *instance, u crash.User, _ crash.AccessToken) error {
		return i.filer.DisconnectOwnAccount(h.t.Context(), u)
	}
	remove := func(h *fixture, _ *instance, u crash.User, _ crash.AccessToken) error {
		return people.New(h.db).Remove(h.t.Context(), "", u.Name)
	}
	other := func(h *fixture, i *instance, u crash.User, _ crash.AccessToken) error {
		_, err := i.filer.ConnectOwnAccount(h.t.Context(), u, h.lp.TokenFor(consumer, "WRITE_PRIVATE", "someone"))
		return err
	}
	nothing := func(*fixture, *instance, crash.User, crash.AccessToken) error { return nil }
	type outcome struct {
		between func(*fixture, *instance, crash.User, crash.AccessToken) error
		private bool
		parks   bool
		final   bool // nobody can connect the account again, so a person has to decide
	}
	inTurn(t, map[string]outcome{
		"still connected":          {nothing, false, false, false},
		"revoked":                  {revoke, false, false, false},
		"disconnected":             {disconnect, false, false, false},
		"removed":                  {remove, false, false, false},
		"another account":          {other, false, false, false},
		"private, still connected": {nothing, true, false, false},
		"private, revoked":         {revoke, true, true, false},
		"private, disconnected":    {disconnect, true, true, false},
		"private, another account": {other, true, true, false},
		"private, removed":         {remove, true, true, true},
	}, func(t *testing.T, h *fixture, tt outcome) {
		h.cfg.Settle = 200 * time.Millisecond
		i, u := h.instance(), h.person("ines")
		token := h.connect(i, u, "WRITE_PRIVATE")
		signature := h.problem(1)
		h.lp.Fail(trackertest.OpCreate, trackertest.DropAfter)
		draft := crash.Draft{Title: "a title", Description: "a text", OnDistribution: true,
			Information: crash.InformationPublic}
		if tt.private {
			draft.Information = crash.InformationPrivate
		}
		opts := tracker.Options{Person: "ines", Own: u.ID, Draft: &draft}
		if _, err := i.filer.CreateBug(t.Context(), signature, opts); err != nil {
			t.Fatal(err)
		}
		h.until("the outcome is unknown", nil, func() bool { return h.filing(signature).State == crash.FilingUncertain })
		if err := tt.between(h, i, u, token); err != nil {
			t.Fatal(err)
		}
		if !tt.parks {
			h.filed(i, signature)
			if got := h.reporter(signature); got != ines {
				t.Errorf("got a bug by %s, want by %s", got, ines)
			}
			return
		}
		parked := func() bool { return h.filing(signature).State == crash.FilingRefused }
		h.until("the filing is parked", []*instance{i}, parked)
		f := h.filing(signature)
		if f.Problem != "private_unknown" || !contains(f.Reason, "~"+ines) || len(h.lp.Bugs()) != 1 {
			t.Fatalf("got %+v and %d bugs, want it parked and one bug", f, len(h.lp.Bugs()))
		}
		if tt.final {
			return
		}
		// A click searches again, and does not send it.
		h.exec(`update filings set settles = now()`)
		_, _ = i.filer.CreateBug(t.Context(), signature, tracker.Options{Person: "theo", Wait: patience})
		h.until("the filing is parked again", []*instance{i}, parked)
		if got := len(h.lp.Bugs()); got != 1 {
			t.Fatalf("got %d bugs, want 1", got)
		}
		h.connect(i, u, "WRITE_PRIVATE") // which has it searched for
		h.filed(i, signature)
		if got := h.reporter(signature); got != ines {
			t.Errorf("got a bug by %s, want by %s", got, ines)
		}
	})
}

// TestAccountsParkApart checks that a rejected account delays only the bugs that are filed with it.
func TestAccountsParkApart(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	i, u := h.instance(), h.person("ines")
	h.connect(i, u, "WRITE_PUBLIC")
	h.lp.Revoke(h.cfg.Token.Token)
	waits := h.problem(1)
	if _, err := i.filer.CreateBug(t.Context(), waits, tracker.Options{Person: "theo", Wait: patience}); codeOf(
		err) != "tracker_credentials" {
		t.Fatalf("got %v, want tracker_credentials", err)
	}
	goes := h.problem(2)
	r, err := i.filer.CreateBug(t.Context(), goes, tracker.Options{Person: "ines", Own: u.ID, Wait: patience})
	if err != nil || r.State != crash.FilingFiled || h.reporter(goes) != ines {
		t.Fatalf("got %+v, %v, want it filed by %s", r.Filing, err, ines)
	}
	lost := h.problem(3)
	h.lp.Fail(trackertest.OpCreate, trackertest.DropAfter)
	_, err = i.filer.CreateBug(t.Context(), lost, tracker.Options{Person: "ines", Own: u.ID})
	if err != nil {
		t.Fatal(err)
	}
	h.filed(i, lost) // the search needs the application's account neither
	if got := h.filing(waits); got.State != crash.FilingQueued || got.Problem != "tracker_credentials" {
		t.Errorf("got %+v, want it parked", got)
	}
}

// TestOwnTokenStaysSecret checks that the database holds no access token in clear, and that removing
// the person's account removes the token.
func TestOwnTokenStaysSecret(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	i, u := h.instance(), h.person("ines")
	token := h.connect(i, u, "WRITE_PUBLIC")
	count := func(sql string, args ...any) (n int) {
		t.Helper()
		if err := h.db.Pool.QueryRow(t.Context(), sql, args...).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := count(`select count(*) from own_tracker_accounts
		where position(convert_to($1, 'UTF8') in secret_sealed) > 0`, string(token.Secret)); n != 0 {
		t.Error("the secret is stored in clear")
	}
	if n := count(`select count(*) from audit_events where position($1 in concat(detail, before, after)) > 0`,
		string(token.Secret)); n != 0 {
		t.Error("the secret is in an audit event")
	}
	if n := count(`select count(*) from audit_events where action = 'tracker.connect-own'`); n != 1 {
		t.Errorf("got %d audit events, want 1", n)
	}
	if err := people.New(h.db).Remove(t.Context(), "", "ines"); err != nil {
		t.Fatal(err)
	}
	if n := count(`select count(*) from own_tracker_accounts`); n != 0 {
		t.Error("the token outlives the account")
	}
}

const marker = "https://mishap.example/problem/1"

func TestFindBug(t *testing.T) {
	t.Parallel()
	now := time.Now()
	ours := func(change func(*trackertest.Bug)) trackertest.Bug {
		b := trackertest.Bug{
			Title: "tidewatch crashed", Description: "text\n" + marker + "\n", Package: "tidewatch", Reporter: "practice-person",
			Created: now,
		}
		change(&b)
		return b
	}
	tests := []struct {
		name   string
		change func(*trackertest.Bug)
		found  bool
	}{
		{"open", func(*trackertest.Bug) {}, true},
		{"fix released", func(b *trackertest.Bug) { b.Status = "Fix Released" }, true},
		{"invalid", func(b *trackertest.Bug) { b.Status = "Invalid" }, true},
		{"does not exist", func(b *trackertest.Bug) { b.Status = "Does Not Exist" }, true},
		{"deferred", func(b *trackertest.Bug) { b.Status = "Deferred" }, true},
		{"duplicate of another", func(b *trackertest.Bug) { b.DuplicateOf = 2100001 }, true},
		{"title changed", func(b *trackertest.Bug) { b.Title = "something else" }, true},
		{"an hour before, by a clock that is wrong", func(b *trackertest.Bug) { b.Created = now.Add(-time.Hour) }, true},
		{"long before", func(b *trackertest.Bug) { b.Created = now.Add(-48 * time.Hour) }, false},
		{"by another person", func(b *trackertest.Bug) { b.Reporter = "mallory" }, false},
		{"moved to another package", func(b *trackertest.Bug) { b.Package = "harbor" }, true},
		{"moved to another project", func(b *trackertest.Bug) { b.Package, b.Distribution = "", "tidewatch" }, true},
		{"another problem", func(b *trackertest.Bug) { b.Description = "https://mishap.example/problem/2" }, false},
		{"private, and hidden from us", func(b *trackertest.Bug) { b.InformationType = "Private" }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, lp := finder(t, trackertest.Options{PageSize: 3})
			for i := range 10 { // other bugs of our account, on several pages
				lp.Add(ours(func(b *trackertest.Bug) { b.Description = fmt.Sprintf("https://mishap.example/problem/other%d", i) }))
			}
			number := lp.Add(ours(tt.change))
			if !tt.found {
				number = 0
			}
			got, err := c.FindBug(t.Context(), anIntent, now, nil)
			if err != nil || got != number {
				t.Errorf("got bug %d, %v, want %d", got, err, number)
			}
		})
	}
}

// TestFindBugTakesTheFirst checks that the lowest of two numbers is returned, and that excluded
// bugs are not read.
func TestFindBugTakesTheFirst(t *testing.T) {
	t.Parallel()
	c, lp := finder(t, trackertest.Options{PageSize: 2})
	bug := trackertest.Bug{Title: "x", Description: marker, Package: "tidewatch", Reporter: "practice-person"}
	known := []int64{lp.Add(bug), lp.Add(bug)}
	want := lp.Add(bug)
	lp.Add(bug)
	if got, err := c.FindBug(t.Context(), anIntent, time.Now(), known); err != nil || got != want {
		t.Errorf("got %d, %v, want %d", got, err, want)
	}
	if got := len(lp.Requests(trackertest.OpBug)); got != 1 {
		t.Errorf("got %d bugs read, want 1", got)
	}
}

// TestFailedSearchIsUnknown checks that any failure during a search makes the result unknown.
func TestFailedSearchIsUnknown(t *testing.T) {
	t.Parallel()
	for _, op := range []trackertest.Operation{trackertest.OpMe, trackertest.OpSearch, trackertest.OpBug} {
		for _, fault := range trackertest.Faults() {
			if fault == trackertest.Slow || op == trackertest.OpBug && fault == trackertest.NotFound404 ||
				op == trackertest.OpSearch && fault == trackertest.NotFound404 {
				continue // not failures of a search; see the next test
			}
			if fault == trackertest.OddLocation || op != trackertest.OpMe && strings.HasSuffix(string(fault), "-location") {
				continue // these faults only damage a Location, which a search does not use
			}
			t.Run(string(op)+" "+string(fault), func(t *testing.T) {
				t.Parallel()
				c, lp := authorised(t)
				lp.Add(trackertest.Bug{Title: "x", Description: "other", Package: "tidewatch", Reporter: "practice-person"})
				// Several times, because Go repeats a read request if a reused connection was closed.
				lp.FailWith(trackertest.FaultSpec{Operation: op, Fault: fault, Times: 5})
				if n, err := c.FindBug(t.Context(), anIntent, time.Now(), nil); err == nil {
					t.Errorf("got %d and no error, want an error", n)
				}
			})
		}
	}
}

// TestSearchOfUnknownPackage checks that an unknown package has no bugs, and that a bug moved to
// another package is found.
func TestSearchOfUnknownPackage(t *testing.T) {
	t.Parallel()
	c, lp := finder(t, trackertest.Options{Packages: []string{"harbor"}})
	if n, err := c.FindBug(t.Context(), anIntent, time.Now(), nil); err != nil || n != 0 {
		t.Errorf("got %d, %v, want certainly none", n, err)
	}
	want := lp.Add(trackertest.Bug{Title: "x", Description: marker, Package: "harbor", Reporter: "practice-person"})
	if n, err := c.FindBug(t.Context(), anIntent, time.Now(), nil); err != nil || n != want {
		t.Errorf("got %d, %v, want %d", n, err, want)
	}
}

// TestFindBugOfLostAccount checks that a former account may be unknown to the tracker, but our own
// must be known.
func TestFindBugOfLostAccount(t *testing.T) {
	t.Parallel()
	for lost, fails := range map[string]bool{"old-robot": false, "ines": true} {
		t.Run(lost, func(t *testing.T) {
			t.Parallel()
			store := newMemory()
			store.health["before"] = crash.TokenHealth{Account: "old-robot"}
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				root := "http://" + r.Host + "/devel"
				switch {
				case strings.HasSuffix(r.URL.Path, "/+me"):
					w.Header().Set("Location", root+"/~ines")
					w.WriteHeader(http.StatusSeeOther)
				case strings.Contains(r.URL.Query().Get("bug_reporter"), lost):
					w.WriteHeader(http.StatusBadRequest)
					_, _ = io.WriteString(w, `bug_reporter: No such object "/~`+lost+`".`)
				default:
					_, _ = io.WriteString(w, `{"entries": []}`)
				}
			}))
			t.Cleanup(s.Close)
			cfg := tracker.Config{URL: s.URL, APIURL: s.URL + "/devel", ConsumerKey: consumer,
				Token: crash.AccessToken{Token: "key", Secret: "secret"}}
			c := launchpad.New(cfg, tracker.NewCredentials(cfg, store))
			if n, err := c.FindBug(t.Context(), anIntent, time.Now(), nil); n != 0 || (err != nil) != fails {
				t.Errorf("got %d, %v, want 0 and an error: %t", n, err, fails)
			}
		})
	}
}

// TestSearchWithOlderStatuses checks that a tracker that does not know the newer statuses is
// searched without them.
func TestSearchWithOlderStatuses(t *testing.T) {
	t.Parallel()
	c := hostile(t, func(w http.ResponseWriter, r *http.Request) {
		root := "http://" + r.Host + "/devel"
		switch {
		case strings.HasSuffix(r.URL.Path, "/+me"):
			w.Header().Set("Location", root+"/~ines")
			w.WriteHeader(http.StatusSeeOther)
		case strings.HasSuffix(r.URL.Path, "/bugs/7"):
			_, _ = io.WriteString(w, `{"id": 7, "description": "`+marker+`"}`)
		case strings.Contains(r.URL.Query().Get("status"), "Deferred"):
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `status: Invalid value "Deferred".`)
		default:
			_, _ = io.WriteString(w, `{"entries": [{"bug_link": "`+root+`/bugs/7"}]}`)
		}
	})
	if n, err := c.FindBug(t.Context(), anIntent, time.Now(), nil); err != nil || n != 7 {
		t.Errorf("got %d, %v, want 7", n, err)
	}
}
