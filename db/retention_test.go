package db_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/db"
	"mishap/db/dbtest"
	"mishap/db/problems"
)

// TestDropReports stores reports of four months and drops two. It checks that counts stay, that the
// remaining reports are still checked, and that an interrupted call is finished by the next one.
func TestDropReports(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	var ids []crash.OopsID
	for month := range 4 {
		for i := range 3 {
			rec := record(t, today.AddDate(0, -month, 0), fmt.Sprint("machine", i), nil)
			ids = append(ids, save(t, s, rec))
		}
	}
	old := record(t, today.AddDate(-3, 0, 0), "machine", nil)
	save(t, s, old)
	before := bucketOf(t, s, old)

	if months, err := s.DropReports(t.Context(), today.AddDate(-10, 0, 0)); err != nil || len(months) != 0 {
		t.Fatalf("nothing is that old: got %v, %v", months, err)
	}
	conn := dbtest.Connect(t, url)
	dbtest.Must(conn.Exec(t.Context(), "alter table reports detach partition reports_2026_09 concurrently"))(t)
	months, err := s.DropReports(t.Context(), time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC))
	if want := []string{"2023-11", "2023-12", "2026-08", "2026-09"}; err != nil || !slices.Equal(months, want) {
		t.Fatalf("got %v, %v; want %v", months, err, want)
	}
	for i, id := range ids {
		_, err := s.Report(t.Context(), id)
		if gone := i >= 6; gone != errors.Is(err, crash.NotFound) {
			t.Errorf("report %d of 12: got %v, want gone: %v", i, err, gone)
		}
	}
	if after := bucketOf(t, s, old); after.Reports != before.Reports || after.Systems != before.Systems ||
		!after.FirstSeen.Equal(before.FirstSeen) {
		t.Errorf("got %d reports since %v, want the %d since %v as before", after.Reports, after.FirstSeen, before.Reports,
			before.FirstSeen)
	}
	if again, err := s.DropReports(t.Context(), time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)); err != nil ||
		len(again) != 0 {
		t.Errorf("second call: got %v, %v; want nothing to do", again, err)
	}
	checkAfterDrop(t, s, url)
	resent := record(t, today.AddDate(0, -3, 0), "machine1", nil)
	if _, again, err := s.SaveReport(t.Context(), resent); err != nil || !again {
		t.Errorf("a crash whose report was dropped, sent again: got repetition %v, %v; want true", again, err)
	}
}

// TestDropKeys checks that keys of recent reports stay, whatever the dates in the reports, and that
// others are dropped.
func TestDropKeys(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	arrivals := map[string]time.Time{"new": time.Now(), "old": time.Now().AddDate(-3, 0, 0)}
	dates := map[string]string{"none": "", "years ago": "Fri Mar  1 12:00:00 2019",
		"another year": "Sun Mar  1 12:00:00 2015"}
	made := func(arrival, date string) crash.Record {
		return record(t, arrivals[arrival], "machine", crash.Fields{"ProcStatus": "", "Date": dates[date], "Package": "x " +
			arrival})
	}
	for arrival := range arrivals {
		for date := range dates {
			if date != "another year" || arrival == "old" {
				save(t, s, made(arrival, date))
			}
		}
	}
	dbtest.Must(s.DropReports(t.Context(), time.Now().AddDate(-2, 0, 0)))(t)
	for arrival := range arrivals {
		for date := range dates {
			again := made(arrival, date)
			again.ID = crash.NewOopsID(time.Now())
			if _, known, err := s.SaveReport(t.Context(), again); err != nil ||
				known != (arrival == "new" && date != "another year") {
				t.Errorf("arrived %s, date %s: got known %v, %v", arrival, date, known, err)
			}
		}
	}
	left := dbtest.Lines(t, url, "select relname, '' from pg_class where relname like 'report_keys_%' and relkind = 'r'")
	if _, there := left["report_keys_2019"]; !there {
		t.Errorf("got partitions %v, want that of 2019 still there", left)
	}
}

// checkAfterDrop checks that the remaining data is correct. It also checks that a count that is too
// low is found and, on a day that must be exact, also one that is too high.
func checkAfterDrop(t *testing.T, s *db.Store, url string) {
	t.Helper()
	got := checkStore(t, s, crash.CheckScope{Most: 5})
	if got.Found != 0 || got.Dropped != "2026-09" || got.Reports != 6 {
		t.Errorf("got %+v, want no difference in 6 reports after 2026-09 was dropped", got)
	}
	conn := dbtest.Connect(t, url)
	for _, step := range []struct {
		change string
		found  bool
	}{
		{"update bucket_days set reports = reports + 1 where day = '2026-11-21'", true},
		{"update bucket_days set reports = reports - 1 where day = '2026-11-21'", false},   // restores the count
		{"update bucket_days set reports = reports + 1 where day = '2026-08-21'", true},    // differs from the versions
		{"update bucket_days set reports = reports - 1 where day = '2026-08-21'", false},   // restores the count
		{"update bucket_systems set reports = reports + 1 where version = '1.0-1'", false}, // can no longer be verified
		{"update bucket_systems set reports = reports - 1 where version = '1.0-1'", false}, // restores the count
		{"update release_days set reports = 0 where day = '2026-10-21'", true},
	} {
		dbtest.Must(conn.Exec(t.Context(), step.change))(t)
		if got := checkStore(t, s, crash.CheckScope{Most: 5}); (got.Found > 0) != step.found {
			t.Errorf("after %s: got %+v, want a difference: %v", step.change, got, step.found)
		}
	}
}

// TestDropHeldReports holds one of two problems. It checks that retention removes the old reports of the
// other one only, that counts stay verifiable, and that it removes the rest after the hold.
func TestDropHeldReports(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	conn := dbtest.Connect(t, url)
	other := crash.Fields{"DuplicateSignature": "another problem"}
	var held, free []crash.OopsID
	for month := range 3 {
		at := today.AddDate(0, -month, 0)
		held = append(held, save(t, s, record(t, at, "machine", nil)))
		free = append(free, save(t, s, record(t, at, "machine2", other)))
	}
	dbtest.Counted(t, s)
	bucket := record(t, today, "machine", nil).Grouping.Signature
	dbtest.Must(conn.Exec(t.Context(), "insert into marks (kind, bucket_id, person, reason, at) "+
		"values ('hold', $1, 'ada', '', now())", idOf(bucket)))(t)
	before := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	there := func(id crash.OopsID) bool {
		t.Helper()
		_, err := s.Report(t.Context(), id)
		if err != nil && !errors.Is(err, crash.NotFound) {
			t.Fatal(err)
		}
		return err == nil
	}
	for call, want := range []int{2, 0} {
		months, err := s.DropReports(t.Context(), before)
		if err != nil || len(months) != want {
			t.Errorf("call %d: got %v, %v; want %d months", call, months, err, want)
		}
		for i := range held {
			if !there(held[i]) || there(free[i]) != (i == 0) {
				t.Errorf("month %d: got held %v, other %v; want the old ones of the other problem gone", i, there(held[i]),
					there(free[i]))
			}
		}
	}
	if got := checkStore(t, s, crash.CheckScope{Most: 5}); got.Found != 0 || got.Dropped != "2026-10" {
		t.Errorf("check: got %+v, want no difference after 2026-10 was dropped in part", got)
	}
	dbtest.Must(conn.Exec(t.Context(), "update marks set undone_by = 'ada', undone_at = now()"))(t)
	if months, err := s.DropReports(t.Context(), before); err != nil || len(months) != 2 {
		t.Errorf("after the hold: got %v, %v; want two months", months, err)
	}
	if !there(held[0]) || there(held[1]) || there(held[2]) {
		t.Error("after the hold: want the old reports gone")
	}
	if got := checkStore(t, s, crash.CheckScope{Most: 5}); got.Found != 0 {
		t.Errorf("check: got %+v, want no difference", got)
	}
}

func idOf(signature string) []byte {
	id := crash.BucketIDOf(signature)
	return id[:]
}

// wantSameIndex checks that an instance returns the same lists as an instance that has just
// started.
func wantSameIndex(t *testing.T, url string, s *db.Store) {
	t.Helper()
	followed := dbtest.Must(s.Index(t.Context()))(t)
	loaded := dbtest.Must(dbtest.Open(t, url).Index(t.Context()))(t)
	f := index.Filter{Since: index.DayOf(today.AddDate(0, 0, -30)), Until: index.DayOf(today)}
	if got, want := totals(followed.List(f, nil, nil, 1000)), totals(loaded.List(f, nil, nil, 1000)); !maps.Equal(got,
		want) {
		t.Errorf("got the list %v, want %v", got, want)
	}
}

// totals returns, for each problem of a list, the number of reports in the period and in total.
func totals(p index.Page) map[string][2]int64 {
	sum := map[string][2]int64{}
	for _, r := range p.Rows {
		sum[r.Signature] = [2]int64{r.Count, r.Reports}
	}
	return sum
}

// TestOlderCopyRestored replaces the database of a running instance by an older copy. The instance
// then counts more reports than were lost before anyone looks at lists.
func TestOlderCopyRestored(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	early := dbtest.Open(t, url)
	for i := range 3 {
		crashed(t, early, i, "aa", "old:load", nil)
	}
	early.Close()
	restore := dbtest.Copy(t, url)

	s := dbtest.Open(t, url)
	for i := 10; i < 40; i++ { // machines, buckets and names that the copy does not have
		crashed(t, s, i, fmt.Sprint("b", i%7), fmt.Sprint("new:f", i%7), nil)
	}
	dbtest.Must(s.IndexWithStates(t.Context()))(t)
	before := dbtest.Must(s.Revision(t.Context()))(t)
	rates := func() (sum int64) {
		t.Helper()
		all := dbtest.Must(problems.New(s).Rates(t.Context(), problems.RateFilter{Since: today, Until: today}))(t)
		for _, r := range all {
			sum += r.Reports
		}
		return sum
	}
	if got := rates(); got != 33 {
		t.Errorf("before: got %d reports of today, want 33", got)
	}

	restore()
	var id crash.BucketID
	// Count more rounds than were lost. The lost reports are among these, because they are sent again.
	for i := 10; i < 60; i++ {
		if i%2 == 0 || i >= 40 {
			id = crashed(t, s, i, fmt.Sprint("b", i%7), fmt.Sprint("new:f", i%7), nil)
		}
	}
	wantSameIndex(t, url, s)
	if b := bucket(t, s, id); b.ID != id {
		t.Errorf("got bucket %v, want %v", b.ID, id)
	}
	if got, want := rates(), int64(3+15+20); got != want {
		t.Errorf("restored: got %d reports of today, want %d", got, want)
	}
	after, err := s.Revision(t.Context())
	if err != nil || after == before {
		t.Errorf("revision: got %q and %v after %q, want another one", after, err, before)
	}
	checkCounts(t, url)
}
