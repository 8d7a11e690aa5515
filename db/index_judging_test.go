package db_test

import (
	"sync/atomic"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/db"
	"mishap/db/dbtest"
)

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
