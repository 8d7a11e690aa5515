package db_test

import (
	"fmt"
	"testing"

	"mishap/db"
	"mishap/db/dbtest"
)

// TestSnapshotAfterFailover starts from a snapshot after a failover to a standby with all rounds, and after one to a
// standby that has not received the last ones.
func TestSnapshotAfterFailover(t *testing.T) {
	t.Parallel()
	pair := dbtest.StartPair(t)
	if err := db.Migrate(t.Context(), pair.URL(), dbtest.Log(t)); err != nil {
		t.Fatal(err)
	}
	s := snapshotsOf(t, pair.URL())
	report := func(store *db.Store, n int) {
		t.Helper()
		s.add(store, fmt.Sprint("problem ", n%4), fmt.Sprint("m", n), n, nil)
	}
	store := s.open(s.folder)
	for n := range 8 {
		report(store, n)
	}
	s.save(store)
	report(store, 8) // only the standby has it, not the snapshot
	store.Close()
	pair.KillPrimary()
	pair.Promote()
	s.wantFresh("a failover", true)
	store = s.open(s.folder)
	report(store, 9)
	s.wantFresh("and a round of the new primary", true)
	s.save(store)
	s.wantFresh("a snapshot of the new primary", true)

	pair.AddStandby()
	report(store, 10)
	pair.DropStandby()
	for n := 11; n < 15; n++ {
		report(store, n)
	}
	s.save(store)
	s.wantFresh("before the second failover", true)
	store.Close()
	pair.KillPrimary()
	pair.Promote()
	s.wantFresh("a failover that has lost rounds", false)
	store = s.open("")
	for n := 20; n < 30; n++ {
		report(store, n)
	}
	s.wantFresh("and more rounds than were lost", false)
	s.save(s.open(s.folder))
	s.wantFresh("a new snapshot", true)
}
