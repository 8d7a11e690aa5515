package db_test

import (
	"fmt"
	"testing"
	"time"

	"mishap/crash"
	"mishap/db"
	"mishap/db/dbtest"
)

// TestFirstSeenOfOneMoment counts reports of the same second in both orders, in two instances. The
// lowest version is the first one and the highest is the last one; versions that dpkg rejects come
// before both.
func TestFirstSeenOfOneMoment(t *testing.T) {
	t.Parallel()
	at := today.AddDate(0, 0, -3)
	for name, order := range map[string][]string{"up": {"1.9-1", "1.10-1"}, "down": {"1.10-1", "1.9-1"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := dbtest.URL(t)
			instances := [...]*db.Store{dbtest.Open(t, url), dbtest.Open(t, url)}
			var rec crash.Record
			for i, version := range order {
				rec = record(t, at, fmt.Sprint("machine", i), crash.Fields{"Package": "harbor " + version})
				store(t, instances[i], rec)
				if err := instances[i].WaitCounted(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			b := bucketOf(t, instances[0], rec)
			if b.FirstSeenVersion != "1.9-1" || b.LastSeenVersion != "1.10-1" || !b.FirstSeen.Equal(at.Truncate(time.Second)) ||
				!b.LastSeen.Equal(b.FirstSeen) {
				t.Errorf("got %+v – %+v, want 1.9-1 – 1.10-1", b.First(), b.Last())
			}
			checkCounts(t, url)
		})
	}
}

// TestFirstSeenOfOddDates checks that a report with an implausible date counts on its arrival, and
// that reports of test machines have no effect.
func TestFirstSeenOfOddDates(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	save(t, s, record(t, today.AddDate(0, 0, -2), "machine", crash.Fields{"Package": "harbor 1.4-1"}))
	odd := record(t, today, "machine", crash.Fields{"Package": "harbor 1.2-1", "Date": time.Date(1999, 1, 1, 0, 0, 0, 0,
		time.UTC).Format(time.ANSIC)})
	save(t, s, odd)
	save(t, s, record(t, today.AddDate(0, 0, -9), "deadbeef", crash.Fields{"Package": "harbor 9.9-1"}))
	b := bucketOf(t, s, odd)
	if b.FirstSeenVersion != "1.4-1" || b.LastSeenVersion != "1.2-1" || b.LastSeen.Before(today.AddDate(0, 0, -1)) ||
		b.Reports != 2 {
		t.Errorf("got %d reports, %+v – %+v; want 2, first in 1.4-1 and last, on arrival, in 1.2-1", b.Reports, b.First(),
			b.Last())
	}
	checkCounts(t, url)
}
