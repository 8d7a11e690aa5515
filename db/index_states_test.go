package db_test

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/db"
	"mishap/db/bugs"
	"mishap/db/dbtest"
)

// TestStatesFollow changes counts, links, bugs and merges at random. It checks that the state of
// every problem in the index, which is updated step by step, equals that on its page, and that of a
// new store.
func TestStatesFollow(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	r := rand.New(rand.NewPCG(1, 2))
	now := time.Now().UTC()
	releases := []string{"Ubuntu 24.04", "Ubuntu 26.04", "Debian sid"}
	words := map[crash.StateWord]int{}
	save(t, s, record(t, now, "first", crash.Fields{"DuplicateSignature": "problem 0"}))
	for step := range 30 {
		for range r.IntN(6) {
			n, age, version := r.IntN(10), r.IntN(40), r.IntN(5)
			if n%2 == 0 { // neither this week nor in the newest version
				age, version = 8+r.IntN(30), r.IntN(3)
			}
			at := now.AddDate(0, 0, -age)
			save(t, s, record(t, at, fmt.Sprint("machine", r.IntN(50)), crash.Fields{
				"DuplicateSignature": fmt.Sprint("problem ", n), "DistroRelease": releases[r.IntN(1+n%3)],
				"Package":       fmt.Sprintf("tidewatch 1.%d-1", version),
				"SourcePackage": "tidewatch", "Date": at.Format(time.ANSIC),
			}))
		}
		if r.IntN(4) == 0 { // versions that have long been in use
			dbtest.Exec(t, url, `
				update package_versions set arrived = arrived - interval '9 days', first_day = first_day - 9;
				update counting set round = round + 1, versions_changed = round + 1`)
		}
		number := 1 + r.Int64N(5)
		_, err := bugs.New(s).LinkBug(t.Context(), crash.BucketIDOf(fmt.Sprint("problem ", r.IntN(6))),
			crash.Bug{Number: number, URL: "u", By: "ada"})
		if err != nil && crash.KindOf(err) != crash.NotFound {
			t.Fatal(err)
		}
		status := []string{"New", "Fix Released", "Won't Fix"}[r.IntN(3)]
		err = bugs.New(s).SaveBugReading(t.Context(), crash.BugReading{
			Number: number, Tasks: []crash.BugTask{{Target: "/ubuntu/+source/tidewatch", Status: status,
				Complete: status != "New", Closed: now.AddDate(0, 0, -r.IntN(20))}},
			Fixes: []crash.BugFix{{Package: "tidewatch", Version: fmt.Sprintf("1.%d-1", r.IntN(6)),
				Series: []string{"", "noble", "resolute"}[r.IntN(3)]}},
		}, "", time.Hour)
		if err != nil && crash.KindOf(err) != crash.NotFound {
			t.Fatal(err)
		}
		b, err := s.IndexWithStates(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		wantJudged(t, s, b, step)
		for _, p := range b.Select(func(*index.Problem) bool { return true }) {
			words[p.State]++
		}
	}
	fresh := dbtest.Open(t, url)
	all, err := fresh.IndexWithStates(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.IndexWithStates(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all.Select(func(*index.Problem) bool { return true }) {
		if other, ok := b.Problem(p.ID); !ok || other.State != p.State || other.Bug != p.Bug {
			t.Errorf("%s: got %s, bug %d, step by step; want %s, bug %d", p.Signature, other.State, other.Bug, p.State, p.Bug)
		}
	}
	if len(words) < 5 {
		t.Errorf("got the words %v, want more kinds of them", words)
	}
}

// wantJudged checks that the index has the same state of each problem as its page.
func wantJudged(t *testing.T, s *db.Store, b *index.Index, step int) {
	t.Helper()
	for _, p := range b.Select(func(*index.Problem) bool { return true }) {
		bucket, err := s.Bucket(t.Context(), p.ID)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Judge(t.Context(), &bucket); err != nil {
			t.Fatal(err)
		}
		if got := s.StatusOf(p); bucket.Status.Word != p.State || bucket.Bug.Number != p.Bug ||
			got.Text() != bucket.Status.Text() {
			t.Fatalf("step %d: %s: the index says %s, bug %d, and %q; the page %s, bug %d, and %q", step, p.Signature,
				p.State, p.Bug, got.Text(), bucket.Status.Word, bucket.Bug.Number, bucket.Status.Text())
		}
	}
}

// TestListsWhileJudging blocks the judging of problems with a lock on a table. It checks that only
// callers who need the result wait. Lists show what is counted meanwhile and, on a new day, the
// states of the day before.
func TestListsWhileJudging(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	var later atomic.Int64
	now := time.Now().UTC().Truncate(24 * time.Hour).Add(12 * time.Hour)
	s, err := db.Open(t.Context(), db.Config{URL: url, Log: dbtest.Log(t),
		Now: func() time.Time { return now.Add(time.Duration(later.Load())) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	other := dbtest.Open(t, url) // counts reports
	add := func(machine string) {
		t.Helper()
		save(t, other, record(t, now.AddDate(0, 0, -6), machine, crash.Fields{"DuplicateSignature": "one",
			"DistroRelease": "Ubuntu 24.04"}))
		dbtest.Counted(t, other)
	}
	id := crash.BucketIDOf("one")
	problem := func(read func() (*index.Index, error)) (p index.Problem) {
		t.Helper()
		b, err := read()
		if err != nil {
			t.Fatal(err)
		}
		if found, ok := b.Problem(id); ok {
			p = *found
		}
		return p
	}
	loaded := func() (*index.Index, error) { return s.Index(t.Context()) }
	withStates := func() (*index.Index, error) { return s.IndexWithStates(t.Context()) }
	stop := func() (goOn func()) {
		t.Helper()
		tx := begin(t, url)
		if _, err := tx.Exec(t.Context(), `lock table bucket_bugs in access exclusive mode`); err != nil {
			t.Fatal(err)
		}
		return func() { commit(t, tx) }
	}

	add("a")
	goOn := stop()
	judged := make(chan crash.StateWord, 1)
	go func() {
		b, err := s.IndexWithStates(t.Context())
		if err != nil {
			t.Error(err)
			judged <- ""
			return
		}
		p, _ := b.Problem(id)
		judged <- p.State
	}()
	waitForLock(t, url)
	if p := problem(loaded); p.Reports != 1 || p.State != "" {
		t.Errorf("first use: got %d reports, state %q, want 1 without a state", p.Reports, p.State)
	}
	add("b")
	if p := problem(loaded); p.Reports != 2 {
		t.Errorf("counted while problems are judged: got %d reports, want 2", p.Reports)
	}
	select {
	case state := <-judged:
		t.Fatalf("got the state %q while its table was locked", state)
	default:
	}
	goOn()
	if state := <-judged; state != crash.StateNew {
		t.Errorf("first use: got state %q, want %q", state, crash.StateNew)
	}

	goOn = stop()
	later.Store(int64(24 * time.Hour))
	for range 2 {
		if p := problem(withStates); p.State != crash.StateNew {
			t.Errorf("new day: got state %q, want yesterday's %q", p.State, crash.StateNew)
		}
	}
	waitForLock(t, url)
	add("c")
	if p := problem(withStates); p.Reports != 3 || p.State != crash.StateNew {
		t.Errorf("new day: got %d reports, state %q, want 3 with yesterday's %q", p.Reports, p.State, crash.StateNew)
	}
	goOn()
	for problem(withStates).State == crash.StateNew {
		if t.Context().Err() != nil {
			t.Fatal("new day: got yesterday's state for good")
		}
	}
}

// waitForLock waits until a statement waits for a lock on bucket_bugs.
func waitForLock(t *testing.T, url string) {
	t.Helper()
	conn := dbtest.Connect(t, url)
	for waiting := false; !waiting; {
		err := conn.QueryRow(t.Context(),
			`select exists (select from pg_locks where not granted and relation = 'bucket_bugs'::regclass)`).Scan(&waiting)
		if err != nil {
			t.Fatal(err)
		}
	}
}
