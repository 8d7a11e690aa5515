package doors_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/db/dbtest"
	"mishap/db/doors"
)

// TestInstances checks that one instance learns from the database what another has changed, and that counts of both
// add up.
func TestInstances(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	here, there := doors.New(dbtest.Open(t, url)), doors.New(dbtest.Open(t, url))
	checktest.NoError(t, there.Refresh(t.Context()))
	number := dbtest.Must(here.CreateProject(t.Context(), crash.Project{Name: "harbor", Source: "harbor"}, "ada"))(t)
	key := dbtest.Must(here.Projects(t.Context()))(t)[0].Key()
	checktest.NoError(t, there.Work(t.Context()))
	p, err := there.Project(t.Context(), number, key)
	if err != nil || p.Name != "harbor" {
		t.Fatalf("got %+v, %v, want the project", p, err)
	}
	for name, c := range map[string]struct {
		number int64
		key    string
	}{"no key": {number, ""}, "another project": {number + 1, key}, "a part of the key": {number, key[:31]},
		"a key in capitals": {number, strings.ToUpper(key) + " "}} {
		if _, err := there.Project(t.Context(), c.number, c.key); crash.KindOf(err) != crash.Forbidden {
			t.Errorf("%s: got %v, want Forbidden", name, err)
		}
	}
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			store := []*doors.Store{here, there}[i%2]
			for j := range 10 {
				store.Count(crash.DoorCount{Door: crash.DoorSentry, Project: number, Outcome: "refused",
					Reason: fmt.Sprint("r", j%3), Requests: 1}, key)
			}
			checktest.NoError(t, store.Flush(t.Context()))
		})
	}
	wg.Wait()
	counts := dbtest.Must(here.Activity(t.Context(), time.Now().AddDate(0, 0, -1)))(t)
	if len(counts) != 3 || counts[0].Requests != 160 || counts[1].Requests+counts[2].Requests != 240 {
		t.Errorf("got %+v, want 160, 120 and 120 requests", counts)
	}
	checktest.NoError(t, here.RevokeKey(t.Context(), number, key, "ada"))
	if _, err := here.Project(t.Context(), number, key); crash.KindOf(err) != crash.Forbidden {
		t.Errorf("revoked here: got %v, want Forbidden at once", err)
	}
	checktest.NoError(t, there.Work(t.Context()))
	if _, err := there.Project(t.Context(), number, key); crash.KindOf(err) != crash.Forbidden {
		t.Errorf("revoked there: got %v, want Forbidden after the next round", err)
	}
}

// TestOutage checks that a known key works while the database is unavailable, that an instance that knows none says
// so, and that counts are not lost.
func TestOutage(t *testing.T) {
	t.Parallel()
	_, err := doors.New(dbtest.Broken(t)).Project(t.Context(), 1, "k")
	if crash.KindOf(err) == crash.Forbidden || err == nil {
		t.Errorf("a fresh instance: got %v, want that the database is unavailable", err)
	}
	url := dbtest.URL(t)
	store := dbtest.Open(t, url)
	s := doors.New(store)
	number := dbtest.Must(s.CreateProject(t.Context(), crash.Project{Name: "harbor", Source: "harbor"}, "ada"))(t)
	key := dbtest.Must(s.Projects(t.Context()))(t)[0].Key()
	pool := store.Pool
	store.Pool = dbtest.Broken(t).Pool
	s.Count(crash.DoorCount{Door: crash.DoorABRT, Outcome: "stored", Requests: 5}, "")
	if err := s.Work(t.Context()); err == nil {
		t.Error("got no error without a database")
	}
	s.Count(crash.DoorCount{Door: crash.DoorABRT, Outcome: "stored", Requests: 2}, "")
	if _, err := s.Project(t.Context(), number, key); err != nil {
		t.Errorf("a known key without a database: got %v", err)
	}
	if _, err := s.Project(t.Context(), number, "k"); crash.KindOf(err) != crash.Forbidden {
		t.Errorf("an unknown key without a database: got %v, want Forbidden", err)
	}
	store.Pool = pool
	checktest.NoError(t, s.Work(t.Context()))
	counts := dbtest.Must(s.Activity(t.Context(), time.Now().AddDate(0, 0, -1)))(t)
	if len(counts) != 1 || counts[0].Requests != 7 {
		t.Errorf("got %+v, want 7 requests", counts)
	}
}

// TestOldCounts checks that counts are deleted after 90 days.
func TestOldCounts(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for _, days := range []int{91, 90, 0} {
		s := doors.New(dbtest.OpenAt(t, url, now.AddDate(0, 0, -days)))
		s.Count(crash.DoorCount{Door: crash.DoorABRT, Outcome: "stored", Requests: 1}, "")
		checktest.NoError(t, s.Work(t.Context()))
	}
	counts := dbtest.Must(doors.New(dbtest.Open(t, url)).Activity(t.Context(), now.AddDate(-1, 0, 0)))(t)
	if len(counts) != 1 || counts[0].Requests != 2 {
		t.Errorf("got %+v, want the counts of two days", counts)
	}
}

// TestPings checks that two instances together keep the limit of different names of a day, that none is lost, also
// without a database, and that old ones are deleted.
func TestPings(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for _, days := range []int{401, 400} {
		s := doors.New(dbtest.OpenAt(t, url, now.AddDate(0, 0, -days)))
		s.CountPing(crash.Ping{Release: "Old 1", Architecture: "amd64"})
		checktest.NoError(t, s.Flush(t.Context()))
	}
	store := dbtest.OpenAt(t, url, now)
	here, there := doors.New(store), doors.New(dbtest.OpenAt(t, url, now))
	var wg sync.WaitGroup
	for i, s := range []*doors.Store{here, there} {
		wg.Go(func() {
			for range 5 {
				s.CountPing(crash.Ping{Release: "Debian 13", Architecture: "amd64"})
			}
			for j := range 300 {
				s.CountPing(crash.Ping{Release: crash.Release(fmt.Sprint("x", i, j)), Architecture: "amd64"})
				if j%90 == 0 {
					checktest.NoError(t, s.Flush(t.Context()))
				}
			}
		})
	}
	wg.Wait()
	pool := store.Pool
	store.Pool = dbtest.Broken(t).Pool
	if err := here.Flush(t.Context()); err == nil {
		t.Error("got no error without a database")
	}
	here.CountPing(crash.Ping{Release: "Debian 13", Architecture: "arm64"})
	store.Pool = pool
	checktest.NoError(t, here.Flush(t.Context()))
	checktest.NoError(t, there.Flush(t.Context()))
	there.CountPing(crash.Ping{Release: "Debian 13", Architecture: "amd64"}) // known, so it keeps its name
	checktest.NoError(t, there.Flush(t.Context()))
	got := dbtest.Must(here.Pings(t.Context(), crash.Midnight(now)))(t)
	var all int64
	counts := map[crash.Release]int64{}
	for _, c := range got {
		all += c.Machines
		counts[c.Release] = c.Machines
	}
	if all != 612 || len(got) != 201 || counts["Debian 13"] != 11 || counts[""] != 612-11-199 {
		t.Errorf("got %d machines of %d releases, %d of Debian 13, %d without; want 612 of 201, 11 and 402", all,
			len(got), counts["Debian 13"], counts[""])
	}
	for days, want := range map[int]int{401: 0, 400: 1} {
		old := dbtest.Must(here.Pings(t.Context(), crash.Midnight(now).AddDate(0, 0, -days)))(t)
		checktest.Equal(t, fmt.Sprint("after days ", days), len(old), want)
	}
}
