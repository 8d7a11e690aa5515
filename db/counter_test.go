package db_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"mishap/crash"
	"mishap/db"
	"mishap/db/dbtest"
)

// TestCountedWhenAnswered checks that under low load a report is counted before its caller gets the
// answer.
func TestCountedWhenAnswered(t *testing.T) {
	t.Parallel()
	s := dbtest.New(t)
	s.SetAnswerDelay(time.Hour) // a busy machine is no load
	for i := range 5 {
		rec := record(t, today, fmt.Sprint("machine", i), nil)
		store(t, s, rec)
		b, err := s.Bucket(t.Context(), crash.BucketIDOf(rec.Grouping.Signature))
		if err != nil || b.Reports != int64(i+1) || b.Systems != int64(i+1) {
			t.Fatalf("after report %d: got %d reports of %d machines, %v", i+1, b.Reports, b.Systems, err)
		}
	}
}

// TestWaitCounted checks that WaitCounted waits for all reports that two instances store at once.
func TestWaitCounted(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	instances := [...]*db.Store{dbtest.Open(t, url), dbtest.Open(t, url)}
	const reports = 300
	var wg sync.WaitGroup
	for i := range reports {
		rec := record(t, today.AddDate(0, 0, -i%5), fmt.Sprint("machine", i%40),
			crash.Fields{"ProcStatus": fmt.Sprint("Pid:\t", i)})
		wg.Go(func() {
			if _, _, err := instances[i%2].SaveReport(t.Context(), rec); err != nil {
				t.Errorf("report %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	b := bucketOf(t, dbtest.Open(t, url), record(t, today, "", nil))
	if b.Reports != reports || b.Systems != 40 {
		t.Errorf("got %d reports of %d machines, want %d of 40", b.Reports, b.Systems, reports)
	}
	checkCounts(t, url)
}

// TestActiveMachineIsCached checks that active days are complete despite cached spans, in whatever
// order reports arrive and whichever instance counts them.
func TestActiveMachineIsCached(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	instances := [...]*db.Store{dbtest.Open(t, url), dbtest.Open(t, url)}
	for i, day := range []int{-40, -40, -30, -41, -130, -129, -131, -220, 0, 0, -300, -40, -219, -390} {
		for _, machine := range []string{"a", "b"} {
			rec := record(t, today.AddDate(0, 0, day), machine, crash.Fields{"ProcStatus": fmt.Sprint("Pid:\t", i)})
			save(t, instances[(i+i/3)%2], rec) // each report has a round of its own
		}
	}
	checkCounts(t, url)
}

// TestCountingHeldUp checks that reports are stored while counting is blocked. Afterwards they are
// counted once, by the instance that stored them or by another one.
func TestCountingHeldUp(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	release := holdCounting(t, url)
	rec := record(t, today, "machine", nil)
	store(t, s, rec)
	if b, err := s.Bucket(t.Context(), crash.BucketIDOf(rec.Grouping.Signature)); err != nil || b.Reports != 0 {
		t.Errorf("while it cannot be counted: got %d reports, %v", b.Reports, err)
	}
	release()
	checkCounts(t, url)
	if b := bucketOf(t, s, rec); b.Reports != 1 {
		t.Errorf("got %d reports, want 1", b.Reports)
	}
}

// TestNoOrphans checks that an instance uses up no round number when it looks for orphans and there
// are none. Each instance looks when it starts and then every few seconds.
func TestNoOrphans(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	release := holdCounting(t, url)
	looks := dbtest.Open(t, url)
	conn := dbtest.Connect(t, url)
	value := func(sql string) (n int64) {
		t.Helper()
		if err := conn.QueryRow(t.Context(), sql).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	const round = "select round from counting"
	before := value(round)
	waitFor(t, "it looks", func() bool {
		return value("select count(*) from pg_locks where not granted and pid in (select pid from pg_stat_activity where "+
			"datname = current_database())") > 0
	})
	release()
	looks.Close()
	if after := value(round); after != before {
		t.Errorf("round %d became %d, and nothing was counted", before, after)
	}
}

// TestUncountedIsLimited checks that a limited number of reports is stored and queued while
// counting is blocked. Further reports are refused, and all accepted ones are counted in the end.
func TestUncountedIsLimited(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	const (
		reports, most      = 3500, 40
		queued             = 2048
		batches, batchSize = 2, 256 // batches that may be running when the limit is reached
	)
	s.SetMaxUncounted(most)
	release := holdCounting(t, url)
	refused, taken := make(chan error, reports), make(chan struct{}, reports)
	for i := range reports {
		rec := record(t, today, "machine", crash.Fields{"ProcStatus": fmt.Sprint("Pid:\t", i)})
		go func() {
			if _, _, err := s.SaveReport(context.WithoutCancel(t.Context()), rec); err != nil {
				refused <- err
			} else {
				taken <- struct{}{}
			}
		}()
	}
	// These are the queue, the stored reports, and the batches of the writers.
	atLeast := reports - queued - (most + batches*batchSize) - batches*batchSize
	for range atLeast {
		wantOverload(t, <-refused)
	}
	var stored int
	if err := dbtest.Connect(t, url).QueryRow(t.Context(), "select count(*) from reports").Scan(&stored); err != nil ||
		stored > most+batches*batchSize {
		t.Errorf("while counting is blocked: %d reports are stored, %v; want at most %d", stored, err,
			most+batches*batchSize)
	}
	release()
	answered, took := atLeast, 0
	for ; answered < reports; answered++ {
		select {
		case err := <-refused:
			wantOverload(t, err)
		case <-taken:
			took++
		}
	}
	checkCounts(t, url)
	if b := bucketOf(t, s, record(t, today, "", nil)); int(b.Reports) != took {
		t.Errorf("got %d reports counted, want the %d that were taken", b.Reports, took)
	}
}

func wantOverload(t *testing.T, err error) {
	t.Helper()
	if e, ok := errors.AsType[*crash.Error](err); !ok || e.Code != "overload" || e.RetryAfter <= 0 {
		t.Errorf("got %v, want an error that says when to try again", err)
	}
}

// TestRepetitionCreatesNoBucket checks that a repeated report that would now belong to another
// bucket does not create that bucket. The next new report of the bucket does.
func TestRepetitionCreatesNoBucket(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	save(t, s, record(t, today, "machine", nil))
	again := record(t, today, "machine", crash.Fields{"DuplicateSignature": "harbor:other"})
	if _, duplicate, err := s.SaveReport(t.Context(), again); err != nil || !duplicate {
		t.Fatalf("got duplicate %t, %v; want a repetition", duplicate, err)
	}
	next := record(t, today, "machine", crash.Fields{"DuplicateSignature": "harbor:other", "ProcStatus": "Pid:\t2"})
	save(t, s, next)
	if b := bucketOf(t, s, next); b.Reports != 1 || b.Signature != "harbor:other" {
		t.Errorf("got %d reports of %q, want 1 of the other signature", b.Reports, b.Signature)
	}
	checkCounts(t, url)
}

// TestCountManyAtOnce counts many different reports in one round.
func TestCountManyAtOnce(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	first := dbtest.Open(t, url)
	release := holdCounting(t, url)
	r := rand.New(rand.NewPCG(8, 9))
	var wg sync.WaitGroup
	for i := range 1200 {
		rec := anyRecord(t, r, i)
		wg.Go(func() {
			if _, _, err := first.SaveReport(t.Context(), rec); err != nil {
				t.Errorf("save report: %v", err)
			}
		})
	}
	wg.Wait() // all reports are stored, and wait for the counting lock
	release()
	checkCountsOf(t, url, first)
}

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
