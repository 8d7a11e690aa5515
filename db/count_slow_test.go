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

// slowCounting makes each machine of a bucket take a while to count.
const slowCounting = `
	create function slow() returns trigger language plpgsql as $$ begin perform pg_sleep(0.02); return new; end $$;
	create trigger slow before insert on bucket_systems for each row execute function slow()`

// storeUncounted stores reports of as many machines while nothing can be counted, several in one transaction.
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

// untilCounted waits until a bucket has so many counted reports.
func untilCounted(t *testing.T, s *db.Store, rec crash.Record, reports int64) {
	t.Helper()
	for t.Context().Err() == nil {
		_ = s.WaitCounted(t.Context()) // it may take longer than that waits
		if b, err := s.Bucket(t.Context(), crash.BucketIDOf(rec.Grouping.Signature)); err == nil && b.Reports >= reports {
			return
		}
	}
}

// TestCountingTooSlow counts in smaller rounds what takes too long in one: by the instance that stored it, and by one that
// finds it left over.
func TestCountingTooSlow(t *testing.T) {
	t.Parallel()
	const reports = 100 // two seconds in one round
	for _, who := range []string{"own", "left over"} {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			url := dbtest.URL(t)
			s := dbtest.Open(t, url)
			if _, err := connect(t, url).Exec(t.Context(), slowCounting); err != nil {
				t.Fatal(err)
			}
			s.LetRoundsTake(time.Second)
			counting := s
			if who == "left over" { // the instance that stored them cannot count, and does not get to do so before it closes
				s.LetRoundsTake(time.Nanosecond)
				counting = dbtest.Open(t, url)
				counting.LetRoundsTake(time.Second)
			}
			rec := storeUncounted(t, url, s, reports)
			untilCounted(t, counting, rec, reports)
			checkCounts(t, url)
		})
	}
}

// TestCountingFails shows that stored reports cannot be counted, and that they can again.
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
	conn := connect(t, url)
	run := func(sql string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	run("alter table report_days rename to elsewhere")
	rec := record(t, today, "machine", nil)
	save(t, s, rec)
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

// TestDatabaseDiskFull tells a full disk of the database from a database that is unavailable.
func TestDatabaseDiskFull(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	conn := connect(t, url)
	if _, err := conn.Exec(t.Context(), `
		create function full_disk() returns trigger language plpgsql as
			$$ begin raise 'could not extend file "base/1/2": No space left on device' using errcode = 'disk_full'; end $$;
		create trigger full_disk before insert on report_keys for each row execute function full_disk()`); err != nil {
		t.Fatal(err)
	}
	rec := record(t, today, "machine", nil)
	_, _, err := s.SaveReport(t.Context(), rec)
	if e, ok := err.(*crash.Error); !ok || e.Kind != crash.Unavailable || e.Code != "no_space" { //nolint:errorlint // as it is
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
