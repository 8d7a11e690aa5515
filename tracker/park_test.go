package tracker_test

import (
	"testing"

	"mishap/crash"
	"mishap/db/bugs"
	"mishap/tracker"
	"mishap/tracker/trackertest"
)

// TestDeadCredentialsParkTheQueue checks that rejected credentials stop the queue. One call detects
// it, nothing else is sent, and a new connection releases all filings in order.
func TestDeadCredentialsParkTheQueue(t *testing.T) {
	t.Parallel()
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
	if _, err := u.lp.Check(t.Context()); err != nil {
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
