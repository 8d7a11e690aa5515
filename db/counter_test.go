package db_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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
