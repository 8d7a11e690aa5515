package db_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"

	"mishap/crash"
	"mishap/db/dbtest"
)

// hold blocks the storing of reports until release is called.
func hold(t *testing.T, url string) (release func()) {
	t.Helper()
	return holdBy(t, url, "lock table report_keys in access exclusive mode")
}

// holdCounting blocks the counting of reports until release is called.
func holdCounting(t *testing.T, url string) (release func()) {
	t.Helper()
	return holdBy(t, url, "select from counting for update")
}

func holdBy(t *testing.T, url, lock string) (release func()) {
	t.Helper()
	tx, err := dbtest.Connect(t, url).BeginTx(t.Context(), pgx.TxOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), lock); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := tx.Commit(t.Context()); err != nil {
			t.Errorf("release: %v", err)
		}
	}
}

// TestSaveReportFullQueue fills the queue while storing is blocked. Further reports are refused at
// once. Accepted ones are stored although their senders have gone, and closing the store waits for
// them.
func TestSaveReportFullQueue(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	release := hold(t, url)

	gone, leave := context.WithCancel(t.Context())
	leave()
	const bound = 2048 + 2*256 // in the queue and in the two writers
	accepted, refused := 0, 0
	for i := range bound + 100 {
		_, _, err := s.SaveReport(gone, record(t, today, fmt.Sprint("machine", i), nil))
		e, _ := errors.AsType[*crash.Error](err)
		switch {
		case e == nil || e.Kind != crash.Unavailable:
			t.Fatalf("report %d: got %v, want unavailable", i, err)
		case e.Code == "not_waited":
			accepted++
		case e.Code == "overload" && e.RetryAfter > 0:
			refused++
		default:
			t.Fatalf("report %d: got %q, retry after %v", i, e.Code, e.RetryAfter)
		}
	}
	if accepted > bound || refused < 100 {
		t.Errorf("got %d accepted and %d refused, want at most %d accepted", accepted, refused, bound)
	}
	release()
	s.Close()

	s = dbtest.Open(t, url)
	if b := bucketOf(t, s, record(t, today, "", nil)); int(b.Reports) != accepted || int(b.Systems) != accepted {
		t.Errorf("got %d reports of %d machines, want the %d accepted ones", b.Reports, b.Systems, accepted)
	}
	checkCounts(t, url)
}

// TestSaveReportSharesTransactions checks that many concurrent reports take few transactions.
func TestSaveReportSharesTransactions(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	registry := prometheus.NewRegistry()
	registry.MustRegister(s.Collectors()...)
	release := hold(t, url)
	const reports = 100
	var wg, sent sync.WaitGroup
	sent.Add(reports)
	for i := range reports {
		wg.Go(func() {
			gone, leave := context.WithCancel(t.Context())
			leave()
			rec := record(t, today, fmt.Sprint("machine", i), nil)
			_, _, _ = s.SaveReport(gone, rec) // the report is queued when this returns
			sent.Done()
			if _, again, err := s.SaveReport(t.Context(), rec); err != nil || again {
				t.Errorf("got %v, repetition %v; want the report's own id again", err, again)
			}
		})
	}
	sent.Wait()
	release()
	wg.Wait()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "mishap_save_batch_reports" {
			h := f.GetMetric()[0].GetHistogram()
			if h.GetSampleCount() > reports/4 || h.GetSampleSum() != 2*reports {
				t.Errorf("got %v reports in %d transactions, want %d in far fewer", h.GetSampleSum(), h.GetSampleCount(), 2*reports)
			}
			return
		}
	}
	t.Error("no histogram of batches")
}

// TestSaveReportBesideLargeOnes checks that other reports do not wait while large ones are stored.
func TestSaveReportBesideLargeOnes(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	save(t, s, record(t, today, "first", nil))
	tx, err := dbtest.Connect(t, url).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	noise := make([]byte, 1<<20) // cannot be compressed
	_, _ = rand.NewChaCha8([32]byte{1}).Read(noise)
	var heavy sync.WaitGroup
	for i := range 4 {
		rec := record(t, today, fmt.Sprint("heavy", i),
			crash.Fields{"JournalErrors": base64.StdEncoding.EncodeToString(noise)})
		// Another transaction stores the same crash and stays open.
		if _, err := tx.Exec(t.Context(), "insert into report_keys (key, report_id) values ($1, $2)", rec.DuplicateKey[:],
			crash.NewOopsID(today)); err != nil {
			t.Fatal(err)
		}
		heavy.Go(func() {
			if id, again, err := s.SaveReport(t.Context(), rec); err != nil || again || id != rec.ID {
				t.Errorf("heavy report: got %v, repetition %v, %v; want it stored", id, again, err)
			}
		})
	}
	for i := range 50 {
		save(t, s, record(t, today, fmt.Sprint("machine", i), nil))
	}
	if b := bucketOf(t, s, record(t, today, "", nil)); b.Reports != 51 {
		t.Errorf("got %d reports while heavy ones wait, want the 51 others", b.Reports)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	heavy.Wait()
	checkCounts(t, url)
}

// TestSaveReportWhileBucketChanges stores a report of a problem that another transaction is changing,
// in a store that does not know the problem yet. It must not wait for that transaction: an erasure would
// wait for the report in turn.
func TestSaveReportWhileBucketChanges(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	save(t, dbtest.Open(t, url), record(t, today, "first", nil))
	release := holdBy(t, url, "update buckets set reports = reports")
	second := dbtest.Open(t, url)
	rec := record(t, today, "second", nil)
	if id, again, err := second.SaveReport(t.Context(), rec); err != nil || again || id != rec.ID {
		t.Errorf("got %v, repetition %v, %v; want it stored", id, again, err)
	}
	release()
	checkCounts(t, url)
}

func TestSaveReportAfterClose(t *testing.T) {
	t.Parallel()
	s := dbtest.New(t)
	s.Close()
	s.Close() // closing twice is harmless
	if _, _, err := s.SaveReport(t.Context(), record(t, today, "a", nil)); !errors.Is(err, crash.Unavailable) {
		t.Errorf("got %v, want unavailable", err)
	}
}
