package db_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"mishap/crash"
	"mishap/db"
	"mishap/db/dbtest"
)

// slowCounting makes counting slow for each machine of a bucket.
const slowCounting = `
	create function slow() returns trigger language plpgsql as $$ begin perform pg_sleep(0.02); return new; end $$;
	create trigger slow before insert on bucket_systems for each row execute function slow()`

// storeUncounted stores one report from each of many machines while counting is blocked. Several
// reports share a transaction.
func storeUncounted(t *testing.T, url string, s *db.Store, reports int) crash.Record {
	t.Helper()
	release := holdCounting(t, url)
	defer release()
	var wg sync.WaitGroup
	for i := range reports {
		rec := record(t, today, fmt.Sprint("machine", i), nil)
		wg.Go(func() {
			if _, _, err := s.SaveReport(t.Context(), rec); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	return record(t, today, "", nil)
}

// untilCounted waits until a bucket has a number of counted reports.
func untilCounted(t *testing.T, s *db.Store, rec crash.Record, reports int64) {
	t.Helper()
	for t.Context().Err() == nil {
		_ = s.WaitCounted(t.Context()) // counting may take longer than WaitCounted waits
		if b, err := s.Bucket(t.Context(), crash.BucketIDOf(rec.Grouping.Signature)); err == nil && b.Reports >= reports {
			return
		}
	}
}

// TestCountingTooSlow checks that reports that are too slow to count in one round are counted in
// smaller ones. The instance that stored them does so, or another one that finds them as orphans.
func TestCountingTooSlow(t *testing.T) {
	t.Parallel()
	const reports = 100 // take two seconds in one round
	for _, who := range []string{"own", "orphans"} {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			url := dbtest.URL(t)
			s := dbtest.Open(t, url)
			if _, err := dbtest.Connect(t, url).Exec(t.Context(), slowCounting); err != nil {
				t.Fatal(err)
			}
			s.SetRoundTimeout(time.Second)
			counting := s
			if who == "orphans" {
				s.SetRoundTimeout(time.Nanosecond) // this instance cannot count anything before it closes
				counting = dbtest.Open(t, url)
				counting.SetRoundTimeout(time.Second)
			}
			rec := storeUncounted(t, url, s, reports)
			untilCounted(t, counting, rec, reports)
			checkCounts(t, url)
		})
	}
}

// TestCountingFails checks that Health reports that counting fails, and that it works again.
func TestCountingFails(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	problem := func() (problem, detail string) {
		for _, c := range s.Health(t.Context()) {
			if c.Problem != "" {
				return c.Problem, c.Detail
			}
		}
		return "", ""
	}
	if p, _ := problem(); p != "" {
		t.Fatalf("got %q, want no problem", p)
	}
	conn := dbtest.Connect(t, url)
	run := func(sql string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	run("alter table report_days rename to elsewhere")
	rec := record(t, today, "machine", nil)
	store(t, s, rec)
	for p, detail := problem(); ; p, detail = problem() {
		if p != "" {
			if !strings.Contains(p, "cannot be counted") || !strings.Contains(detail, "1 stored reports") ||
				!strings.Contains(detail, "report_days") {
				t.Errorf("got %q, %q; want that counting fails, and why", p, detail)
			}
			break
		}
	}
	run("alter table elsewhere rename to report_days")
	untilCounted(t, s, rec, 1)
	if p, _ := problem(); p != "" {
		t.Errorf("afterwards: got %q, want no problem", p)
	}
	checkCounts(t, url)
}

// TestDatabaseDiskFull checks that a full disk of the database has another error than an
// unavailable database.
func TestDatabaseDiskFull(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	conn := dbtest.Connect(t, url)
	if _, err := conn.Exec(t.Context(), `
		create function full_disk() returns trigger language plpgsql as
			$$ begin raise 'could not extend file "base/1/2": No space left on device' using errcode = 'disk_full'; end $$;
		create trigger full_disk before insert on report_keys for each row execute function full_disk()`); err != nil {
		t.Fatal(err)
	}
	rec := record(t, today, "machine", nil)
	_, _, err := s.SaveReport(t.Context(), rec)
	//nolint:errorlint // the error must not be wrapped
	if e, ok := err.(*crash.Error); !ok || e.Kind != crash.Unavailable || e.Code != "no_space" {
		t.Errorf("got %v, want no_space", err)
	}
	if got := s.Health(context.WithoutCancel(t.Context()))[1]; !strings.Contains(got.Problem, "no space left") {
		t.Errorf("got %+v, want a full disk", got)
	}
	if _, err := conn.Exec(t.Context(), "drop trigger full_disk on report_keys"); err != nil {
		t.Fatal(err)
	}
	save(t, s, rec)
	if got := s.Health(t.Context())[1]; got.Problem != "" {
		t.Errorf("afterwards: got %+v, want no problem", got)
	}
}
