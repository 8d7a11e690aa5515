package crash_test

import (
	"strings"
	"testing"
	"time"

	"mishap/crash"
)

func TestOccurredAt(t *testing.T) {
	t.Parallel()
	for date, want := range map[string]string{
		"Mon May  5 14:46:10 2025":     "2025-05-05T14:46:10Z",
		"Mon May 05 14:46:10 2025":     "2025-05-05T14:46:10Z",
		"Mon May 5 14:46:10 2025":      "2025-05-05T14:46:10Z",
		" Sun Nov 16  23:59:59 2025\n": "2025-11-16T23:59:59Z",
		"Tue Feb 29 00:00:00 2028":     "2028-02-29T00:00:00Z",
		"Mon Feb 29 00:00:00 2027":     "", // no such day
		"lun. mai  5 14:46:10 2025":    "",
		"2025-05-05 14:46:10":          "",
		"":                             "",
		strings.Repeat(" ", 1<<20) + "Mon May  5 14:46:10 2025": "",
	} {
		got, ok := crash.OccurredAt(date)
		if ok != (want != "") || ok && got.Format(time.RFC3339) != want {
			t.Errorf("OccurredAt(%.40q): got %v, %v, want %q", date, got, ok, want)
		}
	}
}

func TestCountingDay(t *testing.T) {
	t.Parallel()
	arrived := time.Date(2026, 11, 21, 0, 30, 0, 0, time.FixedZone("east", 3600)) // still the 20th in UTC
	for name, c := range map[string]struct {
		occurred time.Time
		want     string
	}{
		"not known":       {time.Time{}, "2026-11-20"},
		"that day":        {day("2026-11-20").Add(24*time.Hour - 1), "2026-11-20"},
		"the day before":  {day("2026-11-19"), "2026-11-19"},
		"tomorrow":        {day("2026-11-21").Add(24*time.Hour - 1), "2026-11-21"},
		"after tomorrow":  {day("2026-11-22"), "2026-11-20"},
		"just old enough": {day("2025-11-19"), "2025-11-19"},
		"too old":         {day("2025-11-18").Add(24*time.Hour - 1), "2026-11-20"},
		"far ahead":       {day("9999-01-01"), "2026-11-20"},
	} {
		if got := crash.CountingDay(c.occurred, arrived, 366); !got.Equal(day(c.want)) {
			t.Errorf("%s: got %v, want %s", name, got, c.want)
		}
	}
}

func TestElapsed(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 5, 18, 0, 0, 0, 0, time.UTC)
	for now, want := range map[time.Time]float64{
		day: 0, day.Add(6 * time.Hour): .25, day.Add(18*time.Hour + 59*time.Second): .75, day.AddDate(0, 0, 1): 1,
		day.AddDate(0, 0, 9): 1,
		day.Add(-time.Hour):  0,
	} {
		if got := crash.Elapsed(day, now); got != want {
			t.Errorf("%s: got %v, want %v", now, got, want)
		}
	}
}
