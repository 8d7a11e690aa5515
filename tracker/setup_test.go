package tracker_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/intake"
	"mishap/db"
	"mishap/db/dbtest"
	"mishap/db/filings"
	"mishap/db/jobs"
	"mishap/tracker"
	"mishap/tracker/trackertest"
)

const consumer = "my crash service" // with blanks, on purpose

// house is one database, one practice tracker and any number of units.
type house struct {
	t   *testing.T
	url string
	lp  *trackertest.Tracker
	cfg tracker.Config
	db  *db.Store // for looking

}

// timeout is longer than any answer takes on a busy machine. Calls that the practice tracker lets
// hang do not wait for it.
const timeout = 10 * time.Minute

// unit is one running mishap.
type unit struct {
	store *db.Store
	creds *tracker.Credentials
	lp    *tracker.Client
	filer *tracker.Filer
}

// newHouse starts a house whose units are authorised by configuration. Times are short, so that no
// test waits long.
func newHouse(t *testing.T, options ...trackertest.Options) *house {
	t.Helper()
	h := &house{t: t, url: dbtest.URL(t), lp: trackertest.New(t, options...)}
	h.db = dbtest.Open(t, h.url)
	h.cfg = tracker.Config{
		URL: h.lp.URL, APIURL: h.lp.APIURL, ConsumerKey: consumer, Target: "ubuntu", BaseURL: "https://mishap.example",
		Token: h.lp.Token(consumer), Timeout: timeout, Settle: 20 * time.Millisecond, Backoff: 10 * time.Millisecond,
		Pause: time.Millisecond, Transport: h.lp.TimeOutHung, Log: dbtest.Log(t),
	}
	return h
}

// unit starts a unit with changes to the configuration. It ends with the test.
func (h *house) unit(change ...func(*tracker.Config)) *unit {
	h.t.Helper()
	cfg := h.cfg
	for _, c := range change {
		c(&cfg)
	}
	u := &unit{store: dbtest.Open(h.t, h.url)}
	u.creds = tracker.NewCredentials(cfg, filings.New(u.store))
	u.lp = tracker.NewClient(cfg, u.creds)
	u.filer = tracker.NewFiler(cfg, filings.New(u.store), u.lp)
	h.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
		defer cancel()
		u.filer.Close(ctx)
	})
	return u
}

// run starts the queue's workers and the loop for due filings, as an instance does. They end with
// the test.
func (u *unit) run(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() {
		if err := work(ctx, u.store, u.filer); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		cancel()
		done.Wait()
	})
}

// work runs the queue's workers and the loop for due filings until ctx ends.
func work(ctx context.Context, store *db.Store, filer *tracker.Filer) error {
	jobs, err := jobs.New(store, jobs.Config{File: filer.Work})
	if err != nil {
		return err
	}
	if err := jobs.Start(ctx); err != nil {
		return err
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			_ = filer.StartDue(ctx) // the next one tries again
		case <-ctx.Done():
			return jobs.Stop(context.WithoutCancel(ctx))
		}
	}
}

// report stores a report and returns the signature of its bucket.
func (h *house) report(r crashtest.Report) string {
	h.t.Helper()
	return saveReport(h.t, h.db, r)
}

func saveReport(t testing.TB, store *db.Store, r crashtest.Report) string {
	t.Helper()
	report := crash.Report{System: "5d41402abc4b2a76b9719d911017c592", Fields: r.Fields()}
	in := intake.New(intake.Config{MaxAgeDays: 3660}, store)
	rec, err := in.Examine(report)
	if err != nil {
		t.Fatalf("examine report: %v", err)
	}
	if _, err := in.Accept(t.Context(), report); err != nil {
		t.Fatalf("store report: %v", err)
	}
	dbtest.Counted(t, store)
	return rec.Grouping.Signature
}

// problem stores a report of a problem of its own.
func (h *house) problem(n int) string {
	h.t.Helper()
	return h.report(crashtest.Native(crashtest.Set("DuplicateSignature", problemSignature(n)),
		crashtest.Process(10_000+n)))
}

func problemSignature(n int) string { return fmt.Sprintf("/usr/bin/tidewatch:11:problem_%d", n) }

// until runs check again and again, driving the units on, until it is satisfied.
func (h *house) until(what string, units []*unit, check func() bool) {
	h.t.Helper()
	deadline := time.Now().Add(timeout)
	for !check() {
		if time.Now().After(deadline) {
			h.t.Fatalf("waited too long until %s", what)
		}
		for _, u := range units {
			if err := u.filer.StartDue(h.t.Context()); err != nil {
				h.t.Fatalf("start due filings: %v", err)
			}
		}
		pause(h.t, 5*time.Millisecond)
	}
}

// pause lets others go on for a moment.
func pause(t testing.TB, d time.Duration) {
	t.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
	}
}

// bucket reads a bucket.
func (h *house) bucket(signature string) crash.Bucket {
	h.t.Helper()
	b, err := h.db.Bucket(h.t.Context(), crash.BucketIDOf(signature))
	if err != nil {
		h.t.Fatalf("bucket: %v", err)
	}
	return b
}

// wantOneBug checks that the tracker has one bug for the bucket, and the bucket that bug.
func (h *house) wantOneBug(signature string) {
	h.t.Helper()
	b := h.bucket(signature)
	marker := "https://mishap.example" + b.ID.Path()
	var numbers []int64
	for _, bug := range h.lp.Bugs() {
		if contains(bug.Description, marker) {
			numbers = append(numbers, bug.Number)
		}
	}
	if len(numbers) != 1 || b.Bug.Number != numbers[0] || b.Filing.State != crash.FilingFiled ||
		b.Filing.Bug != numbers[0] {
		h.t.Errorf("bucket %s: got bugs %v in the tracker, bug %d and filing %+v here, want one and the same",
			b.ID, numbers, b.Bug.Number, b.Filing)
	}
}

// exec changes the database behind everybody's back.
func (h *house) exec(sql string) {
	h.t.Helper()
	conn, err := pgx.Connect(h.t.Context(), h.url)
	if err != nil {
		h.t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(h.t.Context())) }()
	if _, err := conn.Exec(h.t.Context(), sql); err != nil {
		h.t.Fatalf("%s: %v", sql, err)
	}
}
