package db_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"mishap/crash"
	"mishap/db"
	"mishap/db/dbtest"
)

// TestWeeks checks that the next month is stored by weeks if the present one grows large, that this can change
// while the next month is empty, and that reports of every day find their partition and are dropped with it.
func TestWeeks(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.OpenAt(t, url, today)
	save(t, s, record(t, today, "machine", nil))
	tables := func(month string) []string {
		t.Helper()
		parts := dbtest.Must(db.ReportsParts(t.Context(), s.Pool))(t)
		var names []string
		for _, p := range parts {
			if p.From.Format("2006-01") == month {
				names = append(names, p.Table)
			}
		}
		return names
	}
	weeks := []string{"reports_2026_12_01", "reports_2026_12_08", "reports_2026_12_15", "reports_2026_12_22"}
	for _, step := range []struct {
		large int64
		want  []string
	}{
		{db.LargeMonth, []string{"reports_2026_12"}},
		{1, weeks},
		{1, weeks},
		{db.LargeMonth, []string{"reports_2026_12"}},
		{1, weeks},
	} {
		if err := s.PlanNextMonth(t.Context(), step.large); err != nil {
			t.Fatal(err)
		}
		if got := tables("2026-12"); !slices.Equal(got, step.want) {
			t.Fatalf("a month is large from %d bytes: got %v, want %v", step.large, got, step.want)
		}
	}
	december := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	for day := range 31 {
		store(t, s, record(t, december.AddDate(0, 0, day), fmt.Sprint("machine", day), nil))
	}
	dbtest.Counted(t, s)
	if err := s.PlanNextMonth(t.Context(), db.LargeMonth); err != nil {
		t.Fatal(err)
	}
	if got := tables("2026-12"); !slices.Equal(got, weeks) {
		t.Errorf("a month with reports has changed: %v", got)
	}
	for i, want := range []string{"7", "7", "7", "10"} {
		if got := dbtest.Lines(t, url, "select count(*)::text, '' from "+weeks[i]); len(got) != 1 {
			t.Fatal(got)
		} else if _, ok := got[want]; !ok {
			t.Errorf("%s has %v reports, want %s", weeks[i], got, want)
		}
	}
	if got := checkStore(t, s, crash.CheckScope{}); got.Found != 0 {
		t.Errorf("check: got %+v, want no difference", got)
	}
	months, err := s.DropReports(t.Context(), december.AddDate(0, 0, 14))
	if want := []string{"2026-11", "2026-12"}; err != nil || !slices.Equal(months, want) {
		t.Errorf("got %v, %v; want %v", months, err, want)
	}
	if got := tables("2026-12"); !slices.Equal(got, weeks[2:]) {
		t.Errorf("after dropping two weeks: got %v, want %v", got, weeks[2:])
	}

	always := dbtest.OpenConfig(t, db.Config{URL: dbtest.URL(t), Partitions: db.PartitionsByWeek})
	save(t, always, record(t, today, "machine", nil))
	if parts := dbtest.Must(db.ReportsParts(t.Context(), always.Pool))(t); len(parts) != 8 {
		t.Errorf("by weeks from the first day: got %v, want eight tables", parts)
	}
}
