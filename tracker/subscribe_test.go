package tracker_test

import (
	"errors"
	"slices"
	"testing"

	"mishap/crash"
	"mishap/db/bugs"
	"mishap/db/dbtest"
	"mishap/db/people"
	"mishap/tracker"
	"mishap/tracker/trackertest"
)

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
