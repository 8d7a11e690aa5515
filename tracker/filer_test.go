package tracker_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/crash/privacy"
	"mishap/db/bugs"
	"mishap/db/dbtest"
	"mishap/db/people"
	"mishap/tracker"
	"mishap/tracker/trackertest"
)

const patience = timeout // longer than any expected event takes

func TestCreateBug(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	u := h.instance()
	signature := h.problem(1)
	opts := tracker.Options{Person: "ines", Wait: patience}
	first, err := u.filer.CreateBug(t.Context(), signature, opts)
	if err != nil || first.State != crash.FilingFiled || !first.New || first.Bug == 0 {
		t.Fatalf("got %+v, %v, want it filed", first, err)
	}
	if want := h.lp.URL + "/bugs/2100001"; first.URL != want {
		t.Errorf("got address %s, want %s", first.URL, want)
	}
	again, err := u.filer.CreateBug(t.Context(), signature, opts)
	if err != nil || again.New || again.Bug != first.Bug || again.URL != first.URL || again.State != crash.FilingFiled {
		t.Errorf("second time: got %+v, %v, want the same bug, not new", again, err)
	}
	h.wantOneBug(signature)
	b := h.bucket(signature)
	if b.Bug.How != crash.Filed || b.Bug.By != "ines" || b.Bug.URL != first.URL || b.Bug.Title == "" {
		t.Errorf("got bug %+v", b.Bug)
	}
	if got, err := bugs.New(h.db).BucketsOfBug(t.Context(), first.Bug); err != nil || len(got) != 1 || got[0].ID != b.ID {
		t.Errorf("bucket of the bug: got %d buckets, %v, want %v", len(got), err, b.ID)
	}
	if _, err := bugs.New(h.db).BucketsOfBug(t.Context(), 1); crash.KindOf(err) != crash.NotFound {
		t.Errorf("bucket of an unknown bug: got %v, want NotFound", err)
	}
}

// TestFiftyClicks has fifty people in three instances click at once. They must all get the number
// of the same bug.
func TestFiftyClicks(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	signature := h.problem(1)
	h.lp.FailWith(trackertest.FaultSpec{Operation: trackertest.OpCreate, Fault: trackertest.Slow,
		Delay: 150 * time.Millisecond})
	instances := []*instance{h.instance(), h.instance(), h.instance()}
	var (
		people  sync.WaitGroup
		mu      sync.Mutex
		numbers = map[int64]int{}
		isNew   int
	)
	for i := range 50 {
		people.Go(func() {
			r, err := instances[i%3].filer.CreateBug(t.Context(), signature, tracker.Options{Person: "ines", Wait: patience})
			if err != nil || r.State != crash.FilingFiled {
				t.Errorf("got %+v, %v, want it filed", r.Filing, err)
			}
			mu.Lock()
			defer mu.Unlock()
			numbers[r.Bug]++
			if r.New {
				isNew++
			}
		})
	}
	people.Wait()
	if len(numbers) != 1 || isNew != 1 {
		t.Errorf("got numbers %v, %d of them new, want one number, new once", numbers, isNew)
	}
	h.wantOneBug(signature)
	if got := len(h.lp.Requests(trackertest.OpCreate)); got != 1 {
		t.Errorf("got %d requests to create, want 1", got)
	}
}

func TestCannotBeFiled(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	u := h.instance()
	native := h.problem(1)
	sourceless := h.report(crashtest.Native(crashtest.Without("SourcePackage"), crashtest.Set("DuplicateSignature",
		"no source"), crashtest.Process(2)))
	failed := h.report(crashtest.Native(crashtest.Set("DuplicateSignature", "failed:/usr/bin/tidewatch:11"),
		crashtest.Process(3)))
	tests := []struct {
		name, signature string
		opts            tracker.Options
		kind            crash.Kind
		code            string
	}{
		{"no such bucket", "nothing like it", tracker.Options{}, crash.NotFound, "unknown_bucket"},
		{"no source package", sourceless, tracker.Options{}, crash.Unprocessable, "cannot_be_filed"},
		{"retrace failed", failed, tracker.Options{}, crash.Unprocessable, "cannot_be_filed"},
		{"retrace failed, on the distribution", failed, tracker.Options{Distribution: true}, crash.Unprocessable,
			"cannot_be_filed"},
		{"impossible source package", native, tracker.Options{Source: "../../~mallory"}, crash.Unprocessable,
			"bad_source_package"},
		{"blank in source package", native, tracker.Options{Source: "tide watch"}, crash.Unprocessable, "bad_source_package"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := u.filer.CreateBug(t.Context(), tt.signature, tt.opts)
			if crash.KindOf(err) != tt.kind || codeOf(err) != tt.code {
				t.Errorf("got %v (kind %v, code %s), want kind %v, code %s", err, crash.KindOf(err), codeOf(err), tt.kind, tt.code)
			}
		})
	}
	if got := len(h.lp.Requests("")); got != 0 {
		t.Errorf("got %d requests to the tracker, want none", got)
	}
}

func TestTargets(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	u := h.instance()
	sourceless := h.report(crashtest.Native(crashtest.Without("SourcePackage"), crashtest.Set("DuplicateSignature",
		"no source"), crashtest.Process(2)))
	for signature, opts := range map[string]tracker.Options{
		h.problem(1): {Wait: patience}, h.problem(2): {Source: "libstdc++6", Distribution: true, Wait: patience},
		sourceless: {Distribution: true, Wait: patience},
	} {
		if _, err := u.filer.CreateBug(t.Context(), signature, opts); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]bool{}
	for _, b := range h.lp.Bugs() {
		got[b.Distribution+" "+b.Package] = true
	}
	if len(got) != 3 || !got["ubuntu tidewatch"] || !got["ubuntu libstdc++6"] || !got["ubuntu "] {
		t.Errorf("got targets %v, want ubuntu's tidewatch, libstdc++6 and ubuntu itself", got)
	}
}

// TestRefusal checks that a refusal stores the tracker's text, and that a retry sends new contents.
func TestRefusal(t *testing.T) {
	t.Parallel()
	h := newFixture(t, trackertest.Options{Packages: []string{"harbor"}})
	u := h.instance()
	signature := h.problem(1)
	opts := tracker.Options{Person: "ines", Wait: patience}
	for range 2 {
		_, err := u.filer.CreateBug(t.Context(), signature, opts)
		if crash.KindOf(err) != crash.Refused || !strings.Contains(err.Error(), `No such object "`+h.lp.APIURL+
			`/ubuntu/+source/tidewatch"`) {
			t.Errorf("got %v, want the tracker's text", err)
		}
	}
	if b := h.bucket(signature); b.Filing.State != crash.FilingRefused || b.Filing.Attempts != 2 || b.Filing.Reason == "" {
		t.Errorf("got %+v, want two refusals", b.Filing)
	}
	opts.Source = "harbor"
	if r, err := u.filer.CreateBug(t.Context(), signature, opts); err != nil || r.State != crash.FilingFiled || !r.New {
		t.Errorf("with another package: got %+v, %v, want it filed", r, err)
	}
	h.wantOneBug(signature)
}

// TestConcurrentRetriesRenewOnce has many people retry a refused filing at once. It is renewed
// once.
func TestConcurrentRetriesRenewOnce(t *testing.T) {
	t.Parallel()
	h := newFixture(t, trackertest.Options{Packages: []string{"harbor"}})
	signature := h.problem(1)
	b := h.bucket(signature)
	_, _ = h.instance().filer.CreateBug(t.Context(), signature, tracker.Options{Wait: patience})
	seen := h.bucket(signature).Filing
	intent := crash.Intent{Bucket: b.ID, Target: "/ubuntu/+source/harbor", Title: "t", Description: "d", Marker: "m"}
	stored := 0
	for range 5 {
		f, ok, err := bugs.New(h.db).RequestFiling(t.Context(), intent, seen)
		if err != nil || f.State != crash.FilingQueued {
			t.Fatalf("got %+v, %v, want it queued", f, err)
		}
		if ok {
			stored++
		}
	}
	if stored != 1 {
		t.Errorf("got %d renewals, want 1", stored)
	}
}

// TestUnreachable checks that an unreachable tracker causes no search and no loss: the bug is filed
// later.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	away := h.instance(func(c *tracker.Config) { c.APIURL = crashtest.NobodyListens + "/devel" })
	signature := h.problem(1)
	_, err := away.filer.CreateBug(t.Context(), signature, tracker.Options{Person: "ines", Wait: patience})
	if crash.KindOf(err) != crash.Unavailable || codeOf(err) != "tracker_unreachable" {
		t.Errorf("got %v, want tracker_unreachable", err)
	}
	// The next attempt may be in progress; it fails like the first.
	h.until("it is queued", nil, func() bool {
		f := h.bucket(signature).Filing
		return f.State == crash.FilingQueued && f.Problem == "tracker_unreachable"
	})
	back := h.instance()
	h.until("the bug is filed", []*instance{back},
		func() bool { return h.bucket(signature).Filing.State == crash.FilingFiled })
	h.wantOneBug(signature)
	if got := len(h.lp.Requests(trackertest.OpSearch)); got != 0 {
		t.Errorf("got %d searches, want none", got)
	}
}

// TestUncertainIsNotSentAgain checks that nothing is sent again while the outcome is unknown,
// however often people click. The state stays "filing".
func TestUncertainIsNotSentAgain(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	u := h.instance(func(c *tracker.Config) { c.Settle = time.Hour })
	signature := h.problem(1)
	h.lp.Fail(trackertest.OpCreate, trackertest.DropAfter)
	for range 5 {
		r, err := u.filer.CreateBug(t.Context(), signature, tracker.Options{Wait: patience})
		if err != nil || r.State != crash.FilingUncertain || r.URL != "" {
			t.Errorf("got %+v, %v, want it uncertain", r.Filing, err)
		}
		if err := u.filer.StartDue(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if f := h.bucket(signature).Filing; f.Reason == "" || time.Until(f.NotBefore) < 50*time.Minute {
		t.Errorf("got %+v, want a reason and a search in an hour", f)
	}
	if creates, searches := len(h.lp.Requests(trackertest.OpCreate)),
		len(h.lp.Requests(trackertest.OpSearch)); creates != 1 || searches != 0 {
		t.Errorf("got %d creates and %d searches, want 1 and 0", creates, searches)
	}
}

// TestLinkedByHand checks that a bug linked by hand is returned instead of filing one.
func TestLinkedByHand(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	signature := h.problem(1)
	id := crash.BucketIDOf(signature)
	h.exec(`insert into bugs (number, title, url) values (77, '', 'x')`)
	h.exec(`insert into bucket_bugs (bucket_id, bug_number, how, person, at) values ('\x` + id.String() +
		`', 77, 'linked', 'theo', now())`)
	r, err := h.instance().filer.CreateBug(t.Context(), signature, tracker.Options{Wait: patience})
	if err != nil || r.Bug != 77 || r.State != crash.FilingFiled || r.New || r.URL != h.lp.URL+"/bugs/77" {
		t.Errorf("got %+v, %v, want bug 77", r, err)
	}
	if got := len(h.lp.Requests("")); got != 0 {
		t.Errorf("got %d requests, want none", got)
	}
}

// watch counts how many bugs are sent to the tracker at the same time.
func (h *fixture) watch() *senders {
	w := &senders{}
	front := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/bugs") {
			w.enter()
			defer w.leave()
		}
		h.lp.ServeHTTP(out, r)
	}))
	h.t.Cleanup(front.Close)
	h.cfg.APIURL = front.URL + "/devel"
	return w
}

type senders struct {
	mu        sync.Mutex
	now, most int
}

func (s *senders) enter() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now++
	s.most = max(s.most, s.now)
}

func (s *senders) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now--
}

// TestQueue clicks dozens of times in two instances. The bugs must be sent one at a time, in the
// order of the clicks.
func TestQueue(t *testing.T) {
	t.Parallel()
	checktest.Needs(t, "time")
	const clicks = 24
	h := newFixture(t)
	w := h.watch()
	h.cfg.Settle = patience
	for i := range clicks {
		h.problem(i)
	}
	instances := []*instance{h.instance(), h.instance()}
	for i := range clicks {
		if _, err := instances[i%2].filer.CreateBug(t.Context(), problemSignature(i),
			tracker.Options{Person: "ines"}); err != nil {
			t.Fatal(err)
		}
	}
	h.until("all bugs are filed", instances, func() bool { return len(h.lp.Bugs()) == clicks })
	for i, bug := range h.lp.Bugs() {
		if want := crash.BucketIDOf(problemSignature(i)).Path(); !contains(bug.Description, want) {
			t.Fatalf("bug %d: got another problem than that of click %d", bug.Number, i)
		}
	}
	h.until("all are linked", instances, func() bool { return h.totals()[crash.FilingFiled] == clicks })
	if w.most != 1 {
		t.Errorf("got %d bugs sent at the same time, want at most 1", w.most)
	}
}

func (h *fixture) totals() map[crash.FilingState]int64 {
	h.t.Helper()
	totals, err := bugs.New(h.db).FilingTotals(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	return totals.States
}

// TestWaitingBlocksNobody checks that a waiting filing does not delay the ones after it.
func TestWaitingBlocksNobody(t *testing.T) {
	t.Parallel()
	for _, fault := range []trackertest.Fault{trackertest.DropAfter, trackertest.Error503, trackertest.TooMany429} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			h := newFixture(t)
			u := h.instance(func(c *tracker.Config) { c.Settle, c.Backoff = time.Hour, time.Hour })
			waits, goes := h.problem(1), h.problem(2)
			h.lp.Fail(trackertest.OpCreate, fault)
			_, _ = u.filer.CreateBug(t.Context(), waits, tracker.Options{Wait: patience}) // uncertain, or postponed
			r, err := u.filer.CreateBug(t.Context(), goes, tracker.Options{Wait: patience})
			if err != nil || r.State != crash.FilingFiled {
				t.Errorf("the second: got %+v, %v, want it filed", r.Filing, err)
			}
			if f := h.bucket(waits).Filing; f.State == crash.FilingFiled || time.Until(f.NotBefore) < time.Minute &&
				fault != trackertest.TooMany429 {
				t.Errorf("the first: got %s until %v, want it waiting", f.State, f.NotBefore)
			}
		})
	}
}

// TestPause checks that the queue pauses after each bug. A filing that is requested while the queue
// is empty is sent at once.
func TestPause(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ctx := t.Context()
	first := h.claimed(h.problem(1))
	ask := func(n int) crash.Filing {
		t.Helper()
		in := crash.Intent{Bucket: crash.BucketIDOf(h.problem(n)), Target: "/ubuntu", Title: "t", Description: "d",
			Marker: "m"}
		f, _, err := bugs.New(h.db).RequestFiling(ctx, in, crash.Filing{})
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	wantStep := func(what string, f crash.Filing, want crash.FilingStep) {
		t.Helper()
		c, err := bugs.New(h.db).ClaimFiling(ctx, f.ID, crash.OwnAccount{}, crash.FilingTerms{})
		if err != nil || c.Step != want {
			t.Errorf("%s: got step %q, %v, want %q", what, c.Step, err, want)
		}
	}
	second := ask(2)
	wantStep("while one is being sent", second, crash.StepNone)
	if next, err := bugs.New(h.db).NextFiling(ctx, second.ID); err != nil || next.Filing != 0 {
		t.Errorf("while one is being sent: got %+v, %v, want no next filing", next, err)
	}
	result := crash.FilingResult{Claim: first, State: crash.FilingRefused, Problem: "p", Reason: "r", Pause: time.Hour}
	if _, err := bugs.New(h.db).FinishFiling(ctx, result, crash.FilingTerms{}); err != nil {
		t.Fatal(err)
	}
	wantStep("in the queue, within the pause", second, crash.StepNone)
	next, err := bugs.New(h.db).NextFiling(ctx, second.ID)
	if err != nil || next.Filing != second.ID || next.In < 59*time.Minute {
		t.Errorf("in the queue: got %+v, %v, want the second in an hour", next, err)
	}
	third := ask(3)
	wantStep("behind the first of the queue", third, crash.StepNone)
	if _, err := bugs.New(h.db).GiveUpFiling(ctx, second.ID, "ada", "not worth it"); err != nil {
		t.Fatal(err)
	}
	wantStep("came after the last was sent", third, crash.StepCreate)
}

// TestDeadCredentialsParkTheQueue checks that rejected credentials stop the queue. One call detects
// it, nothing else is sent, and a new connection releases all filings in order.
func TestDeadCredentialsParkTheQueue(t *testing.T) {
	t.Parallel()
	checktest.Needs(t, "time")
	const clicks = 20
	h := newFixture(t)
	token := h.cfg.Token
	h.cfg.Token = crash.AccessToken{} // the database has it, for all instances
	instances := []*instance{h.instance(), h.instance()}
	if err := instances[0].creds.SaveToken(t.Context(), token, "ada"); err != nil {
		t.Fatal(err)
	}
	h.lp.Revoke(token.Token)
	for i := range clicks {
		_, err := instances[i%2].filer.CreateBug(t.Context(), h.problem(i), tracker.Options{Person: "ines", Wait: patience})
		if crash.KindOf(err) != crash.Unavailable || codeOf(err) != "tracker_credentials" ||
			!contains(err.Error(), "Expired token") {
			t.Errorf("click %d: got %v, want tracker_credentials with the tracker's text", i, err)
		}
	}
	for range 5 {
		for _, u := range instances {
			if err := u.filer.StartDue(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	totals, err := bugs.New(h.db).FilingTotals(t.Context())
	if err != nil || totals.Parked != clicks || totals.States[crash.FilingQueued] != clicks {
		t.Errorf("got %+v, %v, want %d parked", totals, err, clicks)
	}
	if got := len(h.lp.Requests(trackertest.OpCreate)); got != 1 {
		t.Errorf("got %d requests to create, want 1", got)
	}
	if got := len(h.lp.Requests(trackertest.OpMe)); got > len(instances) {
		t.Errorf("got %d probes, want at most one by each instance", got)
	}
	if s := h.status(instances[0]); !s.Dead || !contains(s.LastError, "Expired token") || s.LastErrorAt.IsZero() {
		t.Errorf("got %+v, want a dead token and the reason", s)
	}
	if err := instances[1].creds.SaveToken(t.Context(), h.lp.Token(consumer), "ada"); err != nil {
		t.Fatal(err)
	}
	h.until("the queue is released", instances, func() bool { return h.totals()[crash.FilingFiled] == clicks })
	for i, bug := range h.lp.Bugs() {
		if want := crash.BucketIDOf(problemSignature(i)).Path(); !contains(bug.Description, want) {
			t.Errorf("bug %d does not belong to click %d", bug.Number, i)
		}
	}
}

// TestTokenThatWorksAgain checks that a token that works again releases the queue, whoever used it.
func TestTokenThatWorksAgain(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	u := h.instance()
	h.lp.Fail(trackertest.OpCreate, trackertest.ExpiredToken)
	signature := h.problem(1)
	if _, err := u.filer.CreateBug(t.Context(), signature, tracker.Options{Person: "ines", Wait: patience}); codeOf(
		err) != "tracker_credentials" {
		t.Fatalf("got %v, want tracker_credentials", err)
	}
	if _, err := tracker.Check(t.Context(), u.lp); err != nil {
		t.Fatal(err)
	}
	h.until("the queue is released", []*instance{u}, func() bool { return h.bucket(signature).Bug.Number != 0 })
}

// TestMissingPermissionParksNothing checks that a missing permission affects only one bug, which is
// refused. The others continue.
func TestMissingPermissionParksNothing(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	u := h.instance()
	h.lp.Fail(trackertest.OpCreate, trackertest.Permission)
	first, second := h.problem(1), h.problem(2)
	if _, err := u.filer.CreateBug(t.Context(), first, tracker.Options{Wait: patience}); crash.KindOf(
		err) != crash.Refused {
		t.Errorf("got %v, want Refused", err)
	}
	if r, err := u.filer.CreateBug(t.Context(), second, tracker.Options{Wait: patience}); err != nil ||
		r.State != crash.FilingFiled {
		t.Errorf("the next: got %+v, %v, want it filed", r.Filing, err)
	}
	if totals, err := bugs.New(h.db).FilingTotals(t.Context()); err != nil || totals.Parked != 0 {
		t.Errorf("got %d parked, %v, want none", totals.Parked, err)
	}
}

// TestAccountChangesWhileUnknown checks that a bug whose answer was lost is found even if mishap
// uses another account by then. Nothing is sent again.
func TestAccountChangesWhileUnknown(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	u := h.instance()
	signature := h.problem(1)
	before := crash.TrackerKey{URL: h.cfg.URL, ConsumerKey: consumer}
	if err := bugs.New(h.db).SaveToken(t.Context(), before, crash.AccessToken{Token: "before", Secret: "s"},
		"ines"); err != nil {
		t.Fatal(err)
	}
	if err := bugs.New(h.db).SaveTokenHealth(t.Context(), before, "before",
		crash.TokenHealth{Account: "old-robot"}); err != nil {
		t.Fatal(err)
	}
	if err := bugs.New(h.db).ForgetToken(t.Context(), before, "ines"); err != nil {
		t.Fatal(err)
	}
	want := h.lp.Add(trackertest.Bug{
		Title: "x", Description: u.filer.Marker(crash.BucketIDOf(signature)), Package: "tidewatch", Reporter: "old-robot",
	})
	h.lp.Fail(trackertest.OpCreate, trackertest.DropBefore)
	_, _ = u.filer.CreateBug(t.Context(), signature, tracker.Options{Person: "ines"})
	h.until("the bug is found", []*instance{u}, func() bool { return h.bucket(signature).Bug.Number == want })
	if got := len(h.lp.Requests(trackertest.OpCreate)); got != 1 {
		t.Errorf("got %d bugs sent, want 1", got)
	}
}

// lineOf returns the last line of a bucket's ledger about one kind of call.
func (h *fixture) lineOf(signature, call string) crash.LedgerLine {
	h.t.Helper()
	entries, err := bugs.New(h.db).Ledger(h.t.Context(), crash.LedgerFilter{Bucket: crash.BucketIDOf(signature),
		Limit: 1})
	if err != nil || len(entries) != 1 {
		h.t.Fatalf("ledger: got %d entries, %v", len(entries), err)
	}
	for _, line := range slices.Backward(entries[0].Lines) {
		if line.Call == call {
			return line
		}
	}
	return crash.LedgerLine{}
}

// TestSubscribe checks that the person who requested a bug is subscribed if their tracker account
// is known. A failed subscription does not affect the bug.
func TestSubscribe(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	u := h.instance()
	accounts := people.New(h.db)
	for _, name := range []string{"ines", "theo"} {
		dbtest.AddUser(t, h.db, name, crash.RoleTriager, "correct horse battery")
	}
	if err := accounts.SetTrackerName(t.Context(), "", "ines", "ines-lp"); err != nil {
		t.Fatal(err)
	}
	if ines, err := accounts.ByName(t.Context(), "ines"); err != nil || ines.TrackerName != "ines-lp" {
		t.Errorf("account: got %+v, %v", ines, err)
	}
	create := func(n int, person string) string {
		t.Helper()
		signature := h.problem(n)
		if r, err := u.filer.CreateBug(t.Context(), signature, tracker.Options{Person: person, Wait: patience}); err != nil ||
			r.State != crash.FilingFiled {
			t.Fatalf("got %+v, %v, want it filed", r.Filing, err)
		}
		return signature
	}
	first := create(1, "ines")
	h.until("the outcome is recorded", []*instance{u}, func() bool { return h.lineOf(first, "subscribe").Outcome != "" })
	if got := h.lineOf(first, "subscribe"); got.Outcome != "done" || got.Text != "ines-lp" {
		t.Errorf("ledger: got %+v, want it done", got)
	}
	if bugs := h.lp.Bugs(); !slices.Contains(bugs[0].Subscribers, "ines-lp") {
		t.Errorf("got subscribers %v, want ines-lp among them", bugs[0].Subscribers)
	}

	h.lp.Fail(trackertest.OpSubscribe, trackertest.Permission)
	failed := create(2, "ines")
	h.until("the outcome is recorded", []*instance{u}, func() bool { return h.lineOf(failed, "subscribe").Outcome != "" })
	if got := h.lineOf(failed, "subscribe"); got.Status != 401 || got.Text == "" {
		t.Errorf("ledger: got %+v, want the tracker's text", got)
	}
	h.wantOneBug(failed)

	// A subscription for a removed account does not delay others.
	dbtest.AddUser(t, h.db, "gone", crash.RoleTriager, "correct horse battery")
	create(4, "gone")
	next := create(5, "theo")
	dbtest.Exec(t, h.url, `update filings set subscription = 'due' where person in ('gone', 'theo')`)
	if err := errors.Join(accounts.Remove(t.Context(), "", "gone"), accounts.SetTrackerName(t.Context(), "", "theo",
		"theo-lp")); err != nil {
		t.Fatal(err)
	}
	if err := u.filer.StartDue(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.until("the outcome is recorded", []*instance{u}, func() bool { return h.lineOf(next, "subscribe").Outcome != "" })
	if got := h.lineOf(next, "subscribe"); got.Outcome != "done" || got.Text != "theo-lp" {
		t.Errorf("ledger: got %+v, want it done", got)
	}
	if err := accounts.SetTrackerName(t.Context(), "", "theo", ""); err != nil {
		t.Fatal(err)
	}

	unknown := create(3, "theo")
	dbtest.Exec(t, h.url, `update filings set subscription = 'due' where person = 'theo'`)
	if err := u.filer.StartDue(t.Context()); err != nil {
		t.Fatal(err)
	}
	u.filer.Close(t.Context()) // waits for subscribing
	if got := h.lineOf(unknown, "subscribe"); got.Call != "" || len(h.lp.Requests(trackertest.OpSubscribe)) != 3 {
		t.Errorf("without a tracker account: got %+v, want no call", got)
	}
}

// TestNothingPrivateLeaves checks that bugs contain no private data of a report, whatever names a
// template uses.
func TestNothingPrivateLeaves(t *testing.T) {
	t.Parallel()
	secrets := []string{
		"ines.almeida", "cedarbox", "Almeida", "hunter2", "letter-to-ann", "192.168.7.12", "fe80::1c2a", "00:1a:2b:3c:4d:5e",
		"ann@mail.example.org", "ghp_abcdefghijklmnop", "--secret-project", "WAYLAND_DISPLAY", "/srv/private",
	}
	everything := "{problem_url}\n"
	for _, n := range tracker.TemplateNames() {
		everything += n.Name + ": {" + n.Name + "}\n"
	}
	message := "cannot open /home/ines.almeida/letter-to-ann.odt on cedarbox (192.168.7.12, fe80::1c2a:3bff:fe4d:5e6f, " +
		"00:1a:2b:3c:4d:5e) " +
		"for ann@mail.example.org password=hunter2 ghp_abcdefghijklmnopqrstuvwxyz0123456789"
	private := []crashtest.Option{
		crashtest.Set("ProcEnviron", "USER=ines.almeida\nHOSTNAME=cedarbox\nWAYLAND_DISPLAY=wayland-0\nTOKEN=hunter2"),
		crashtest.Set("ProcCmdline", "tidewatch --secret-project /srv/private/x"),
		crashtest.Set("ProcCwd", "/home/ines.almeida"),
		crashtest.Set("Uname", "Linux cedarbox 6.8.0-31-generic x86_64"), crashtest.Set("RealName", "Inês Almeida"),
		crashtest.Set("JournalErrors", message), crashtest.Set("UserName", "ines.almeida"),
		crashtest.Set("HostName", "cedarbox"),
	}
	tests := map[string]crashtest.Report{
		"traceback": crashtest.Python(append(private, crashtest.Set("Traceback", "Traceback (most recent call last):\n"+
			"  File \"/home/ines.almeida/bin/tide\", line 3, in run\n    open(\"/home/ines.almeida/letter-to-ann.odt\")\n"+
			"  File \"/usr/lib/python3/dist-packages/tide/io.py\", line 9, in load\n    f(1)\nOSError: "+message))...),
		"assertion": crashtest.Assertion(append(private, crashtest.Set("AssertionMessage", "tide: "+message))...),
		"package":   crashtest.Package(append(private, crashtest.Set("ErrorMessage", message))...),
		"stack": crashtest.Native(append(private,
			crashtest.Set("Stacktrace", "#0  0x1 in tide_open (path=0x7f \"/home/ines.almeida/letter-to-ann.odt\", "+
				"pw=\"hunter2\") at /home/ines.almeida/src/open.c:3\n"+
				"#1  0x2 in main (argv=\"--secret-project\") at main.c:1\n#2  0x3 in _start ()"),
			crashtest.Set("StacktraceTop", "tide_open (path=\"letter-to-ann\") at /home/ines.almeida/src/open.c:3\nmain () at "+
				"main.c:1\n_start ()"))...),
		"program in a home": crashtest.Native(append(private,
			crashtest.Set("ExecutablePath", "/home/ines.almeida/bin/tide"))...),
	}
	inTurn(t, tests, func(t *testing.T, h *fixture, report crashtest.Report) {
		if err := bugs.New(h.db).SaveBugTemplate(t.Context(), crash.BugTemplate{Body: everything,
			By: "ada"}); err != nil {
			t.Fatal(err)
		}
		bug := h.bugOf(h.report(report))
		text := bug.Title + "\n" + bug.Description
		for _, secret := range secrets {
			if strings.Contains(text, secret) {
				t.Errorf("the bug contains %q:\n%s", secret, text)
			}
		}
		if !strings.Contains(text, "signature: ") || strings.Count(text, "https://mishap.example/problem/") < 2 {
			t.Errorf("the template was not used:\n%s", text)
		}
	})
}

// TestTemplateChosen checks that the most specific template is used, or the shipped text if there
// is none.
func TestTemplateChosen(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	u := h.instance()
	saved := []crash.BugTemplate{
		{Body: "for all {problem_url}"}, {ProblemType: "Crash", Body: "for crashes {problem_url}"},
		{Package: "tidewatch", Body: "for the package {problem_url}"}, {Package: "tidewatch", ProblemType: "Crash",
			Body: "for both {problem_url}"},
		{Package: "other", ProblemType: "Crash", Body: "for others {problem_url}"},
	}
	b := h.bucket(h.report(crashtest.Native()))
	text := func() string {
		t.Helper()
		p, err := u.filer.Propose(t.Context(), b, false)
		if err != nil {
			t.Fatal(err)
		}
		return p.Description
	}
	shipped := text()
	for i, tpl := range saved {
		if err := bugs.New(h.db).SaveBugTemplate(t.Context(), tpl); err != nil {
			t.Fatal(err)
		}
		want := saved[min(i, 3)].Body[:8]
		if got := text(); !strings.HasPrefix(got, want) {
			t.Errorf("with %d templates: got %q, want %q", i+1, got, want)
		}
	}
	for i := 4; i >= 0; i-- {
		if err := bugs.New(h.db).DropBugTemplate(t.Context(), saved[i]); err != nil {
			t.Fatal(err)
		}
	}
	if got := text(); got != shipped {
		t.Errorf("without any: got %q, want the shipped text", got)
	}
	if err := bugs.New(h.db).DropBugTemplate(t.Context(), saved[0]); crash.KindOf(err) != crash.NotFound {
		t.Errorf("deleted twice: got %v, want NotFound", err)
	}
	// A template that was damaged in the database is ignored.
	h.exec(`insert into bug_templates values ('', '', '{nonsense', 'x', now())`)
	if got := text(); got != shipped {
		t.Errorf("an invalid template: got %q, want the shipped text", got)
	}
}

// TestPrivateBugNotFiledTwice checks that nothing is sent again if the bug may exist but be hidden
// from our account. A person must decide.
func TestPrivateBugNotFiledTwice(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		level string
		want  crash.FilingState
	}{
		"an account that sees it": {"WRITE_PRIVATE", crash.FilingFiled}, "an account that does not": {"WRITE_PUBLIC",
			crash.FilingRefused},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newFixture(t)
			h.cfg.Token = h.lp.TokenOf(consumer, tt.level)
			u := h.instance()
			signature := h.problem(1)
			h.lp.Fail(trackertest.OpCreate, trackertest.Lost502)
			draft := crash.Draft{Title: "t", Description: "d", Package: "tidewatch", Information: crash.InformationPrivate}
			if _, err := u.filer.CreateBug(t.Context(), signature, tracker.Options{Person: "ines", Wait: 0,
				Draft: &draft}); err != nil {
				t.Fatal(err)
			}
			h.until("it is settled", []*instance{u}, func() bool {
				s := h.bucket(signature).Filing.State
				return s == crash.FilingFiled || s == crash.FilingRefused
			})
			f := h.bucket(signature).Filing
			if f.State != tt.want || len(h.lp.Bugs()) != 1 {
				t.Errorf("got state %s (%s) and %d bugs, want %s and 1", f.State, f.Reason, len(h.lp.Bugs()), tt.want)
			}
			if tt.want == crash.FilingRefused && f.Problem != "private_unknown" {
				t.Errorf("got problem %q, want private_unknown", f.Problem)
			}
		})
	}
}

// TestBugsWithoutPrivateFields checks that bugs quote a field unless the configuration makes it private.
func TestBugsWithoutPrivateFields(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	table, err := privacy.Parse("StepsToReproduce=private", "private")
	if err != nil {
		t.Fatal(err)
	}
	signature := h.save("machine", time.Date(2026, 5, 20, 9, 0, 0, 0, time.UTC),
		crashtest.Native(crashtest.Set("StepsToReproduce", "open harbour")))
	for name, tt := range map[string]struct {
		table *privacy.Table
		want  bool
	}{"built in": {nil, true}, "private": {table, false}} {
		u := h.instance(func(c *tracker.Config) { c.Privacy = tt.table })
		p, err := u.filer.Propose(t.Context(), h.bucket(signature), false)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(p.Description, "open harbour") != tt.want || !strings.Contains(p.Description, "tide_parse_row") {
			t.Errorf("%s: got the description %q, want the steps in it: %t", name, p.Description, tt.want)
		}
	}
}
