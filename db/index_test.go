package db_test

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/grouping"
	"mishap/crash/index"
	"mishap/crash/intake"
	"mishap/db"
	"mishap/db/dbtest"
	"mishap/db/problems"
)

// The index equals the tables, whether it is loaded at once or updated step by step.
func TestIndexFollows(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	now := time.Date(2026, 5, 20, 12, 0, 0, 0, time.UTC)
	in := intake.New(intake.Config{MaxAgeDays: 366, Now: func() time.Time { return now }}, s)
	followed, err := s.Index(t.Context())
	if err != nil || followed.Len() != 0 {
		t.Fatalf("got %d problems and %v, want none", followed.Len(), err)
	}
	r := rand.New(rand.NewPCG(1, 0))
	n := 0
	for report := range crashtest.Fleet(3, 400, now) {
		if _, err := in.Accept(t.Context(), report); err != nil {
			t.Fatal(err)
		}
		if n++; n%97 == 0 {
			if _, err := s.Index(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	dbtest.Counted(t, s)
	if followed, err = s.Index(t.Context()); err != nil {
		t.Fatal(err)
	}
	loaded, err := dbtest.Open(t, url).Index(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if loaded.Len() != followed.Len() || loaded.Len() < 40 {
		t.Errorf("got %d problems loaded and %d followed, want the same, some dozens", loaded.Len(), followed.Len())
	}
	releases := append(loaded.Types(), "")
	for range 200 {
		until := now.AddDate(0, 0, -r.IntN(30))
		since := until.AddDate(0, 0, -r.IntN(60))
		f := index.Filter{Since: index.DayOf(since), Until: index.DayOf(until), Type: releases[r.IntN(len(releases))]}
		if r.IntN(2) == 0 {
			f.Release = "Ubuntu 24.04"
		}
		if r.IntN(3) == 0 {
			f.Package = "reef"
		}
		checkIndex(t, s, f, since, until, loaded, followed)
	}
}

// checkIndex compares lists of several indexes with each other and with the results of SQL.
func checkIndex(t *testing.T, s *db.Store, f index.Filter, since, until time.Time, indexes ...*index.Index) {
	t.Helper()
	var want []string
	if f.Type == "" {
		problems, err := problems.New(s).CommonProblems(t.Context(), f, true, true, 1000)
		if err != nil {
			t.Fatal(err)
		}
		slices.SortStableFunc(problems, func(a, b crash.Problem) int {
			return cmp.Or(cmp.Compare(b.Count, a.Count), slices.Compare(a.ID[:], b.ID[:]))
		})
		for _, p := range problems {
			want = append(want, fmt.Sprint(p.Count, p.ID))
		}
	}
	for i, b := range indexes {
		rows, totals := b.All(f, nil)
		var got []string
		var sum int64
		for _, row := range rows {
			got = append(got, fmt.Sprint(row.Count, row.ID))
			sum += row.Count
		}
		if totals.Reports != sum || totals.Problems != int64(len(rows)) {
			t.Errorf("%+v: got totals %+v, want %d reports of %d problems", f, totals, sum, len(rows))
		}
		if f.Type != "" && i == 0 {
			want = got
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%+v, index %d:\n got %v\nwant %v", f, i, got, want)
		}
	}
}

// The index follows merges and their undoing.
func TestIndexMerges(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	system := crash.SystemID("m")
	now := time.Date(2026, 5, 20, 12, 0, 0, 0, time.UTC)
	in := intake.New(intake.Config{MaxAgeDays: 366, Now: func() time.Time { return now }}, s)
	save := func(report crashtest.Report) crash.BucketID {
		if _, err := in.Accept(t.Context(), crash.Report{System: system, Fields: report.Fields()}); err != nil {
			t.Fatal(err)
		}
		dbtest.Counted(t, s)
		return crash.BucketIDOf(grouping.SignatureOf(report.Fields()).Signature)
	}
	one, two := save(crashtest.Native()), save(crashtest.Python())
	f := index.Filter{Since: index.DayOf(now.AddDate(0, 0, -30)), Until: index.DayOf(now)}
	want := func(problems int, counts ...int64) {
		t.Helper()
		b, err := s.Index(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		rows, _ := b.All(f, nil)
		var got []int64
		for _, row := range rows {
			got = append(got, row.Count)
		}
		if len(rows) != problems || fmt.Sprint(got) != fmt.Sprint(counts) || b.Len() != problems {
			t.Errorf("got %v of %d, want %v of %d", got, b.Len(), counts, problems)
		}
	}
	want(2, 1, 1)
	if _, err := db.NewDecisions(s).Merge(t.Context(), one, []crash.BucketID{two}, "ada", "the same"); err != nil {
		t.Fatal(err)
	}
	decisions, err := db.NewDecisions(s).Decisions(t.Context(), one, 1)
	if err != nil || len(decisions) != 1 {
		t.Fatalf("got %d decisions and %v, want one", len(decisions), err)
	}
	want(1, 2)
	b, _ := s.Index(t.Context())
	if p, ok := b.Problem(two); !ok || p.ID != one || p.Reports != 2 || p.Systems != 1 {
		t.Errorf("got %+v, want the problem that it was merged into, with one machine", p)
	}
	save(crashtest.Python(crashtest.Process(7)))
	want(1, 3)
	system = "another"
	save(crashtest.Python(crashtest.Process(8)))
	want(1, 4)
	counted, err := s.Bucket(t.Context(), two)
	loaded, errLoaded := dbtest.Open(t, url).Index(t.Context())
	if err := errors.Join(err, errLoaded); err != nil {
		t.Fatal(err)
	}
	for name, ix := range map[string]*index.Index{"updated": b, "loaded": loaded} {
		if p, ok := ix.Problem(one); !ok || p.Systems != 2 || counted.Systems != 2 {
			t.Errorf("got %d machines in the %s index and %d on the page, want 2", p.Systems, name, counted.Systems)
		}
	}
	if _, err := db.NewDecisions(s).Undo(t.Context(), decisions[0].ID, "ada"); err != nil {
		t.Fatal(err)
	}
	want(2, 3, 1)
	for id, systems := range map[crash.BucketID]int64{one: 1, two: 2} {
		if p, ok := b.Problem(id); !ok || p.Systems != systems {
			t.Errorf("got %d machines after the merge was undone, want %d", p.Systems, systems)
		}
	}
}

// A lower round number means that an older copy of the database was restored, so the index is
// loaded again.
func TestIndexOfAnOlderCopy(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	now := time.Date(2026, 5, 20, 12, 0, 0, 0, time.UTC)
	in := intake.New(intake.Config{MaxAgeDays: 366, Now: func() time.Time { return now }}, s)
	for n := range 3 {
		if _, err := in.Accept(t.Context(),
			crash.Report{System: "m", Fields: crashtest.Native(crashtest.Process(n + 1)).Fields()}); err != nil {
			t.Fatal(err)
		}
	}
	dbtest.Counted(t, s)
	f := index.Filter{Since: index.DayOf(now.AddDate(0, 0, -30)), Until: index.DayOf(now)}
	for _, want := range []int64{3, 1} {
		b, err := s.Index(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if rows, _ := b.All(f, nil); len(rows) != 1 || rows[0].Count != want {
			t.Errorf("got %+v, want %d reports of one problem", rows, want)
		}
		dbtest.Exec(t, url, "update bucket_days set reports = 1, changed = 1")
		dbtest.Exec(t, url, "update counting set round = 1")
	}
}
