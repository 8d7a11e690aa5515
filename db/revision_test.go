package db_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"mishap/db/dbtest"
)

// A change is seen once it is visible, in whatever order transactions began, changed something and were committed; what
// changes nothing is not.
func TestRevision(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	last := ""
	check := func(what string, changed bool) {
		t.Helper()
		word, err := s.Revision(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if (word != last) != changed {
			t.Errorf("%s: got %q after %q, want another word: %t", what, word, last, changed)
		}
		last = word
	}
	const add, forget = "insert into bugs (number, url) values ($1, '')", "delete from bugs where number = $1"
	early, late := begin(t, url), begin(t, url)
	exec := func(tx pgx.Tx, sql string, number int64) {
		t.Helper()
		if _, err := tx.Exec(t.Context(), sql, number); err != nil {
			t.Fatal(err)
		}
	}
	check("nothing", true)
	exec(early, add, 1)
	exec(early, add, 2)
	exec(late, add, 3)
	check("not committed", false)
	commit(t, late)
	check("late committed", true)
	check("nothing since", false)
	commit(t, early)
	check("early committed", true)
	none := begin(t, url)
	exec(none, forget, 4)
	commit(t, none)
	check("no row changed", false)
	gone := begin(t, url)
	exec(gone, forget, 3)
	commit(t, gone)
	check("a row less", true)
	back := begin(t, url)
	exec(back, add, 5)
	if err := back.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	check("rolled back", false)
	if err := s.DeleteExpired(t.Context()); err != nil {
		t.Fatal(err)
	}
	check("new rows stay", false)
}

func begin(t *testing.T, url string) pgx.Tx {
	t.Helper()
	tx, err := connect(t, url).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return tx
}

func commit(t *testing.T, tx pgx.Tx) {
	t.Helper()
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
}
