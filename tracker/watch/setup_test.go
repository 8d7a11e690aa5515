package watch_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/intake"
	"mishap/db"
	"mishap/db/bugs"
	"mishap/db/dbtest"
	"mishap/tracker"
	"mishap/tracker/trackertest"
)

// timeout is longer than any answer takes on a slow machine. Calls that the practice tracker lets
// hang time out at once.
const timeout = 10 * time.Minute

const consumer = "my crash service" // blanks are allowed

// fixture is one database, one practice tracker and any number of instances.
type fixture struct {
	t   *testing.T
	url string
	lp  *trackertest.Tracker
	cfg tracker.Config
	db  *db.Store // the test reads results with it

	process int // id of the last process that inVersion let crash
}

// instance holds the tracker's part of one running mishap.
type instance struct {
	store *db.Store
	lp    *tracker.Client
	filer *tracker.Filer
}

func newFixture(t *testing.T, options ...trackertest.Options) *fixture {
	t.Helper()
	f := &fixture{t: t, url: dbtest.URL(t), lp: trackertest.New(t, options...)}
	f.db = dbtest.Open(t, f.url)
	f.cfg = tracker.Config{
		URL: f.lp.URL, APIURL: f.lp.APIURL, ConsumerKey: consumer, Target: "ubuntu", BaseURL: "https://mishap.example",
		Token: f.lp.Token(consumer), Timeout: timeout, Settle: 20 * time.Millisecond, Backoff: 10 * time.Millisecond,
		Pause: time.Millisecond, Transport: f.lp.TimeOutHung, Log: dbtest.Log(t),
	}
	return f
}

// instance starts an instance with changes to the configuration. It ends with the test.
func (f *fixture) instance(change ...func(*tracker.Config)) *instance {
	f.t.Helper()
	cfg := f.cfg
	for _, c := range change {
		c(&cfg)
	}
	i := &instance{store: dbtest.Open(f.t, f.url)}
	i.lp = tracker.NewClient(cfg, tracker.NewCredentials(cfg, bugs.New(i.store)))
	i.filer = tracker.NewFiler(cfg, bugs.New(i.store), i.lp)
	f.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
		defer cancel()
		i.filer.Close(ctx)
	})
	return i
}

// report stores a report and returns the signature of its bucket.
func (f *fixture) report(r crashtest.Report) string {
	f.t.Helper()
	report := crash.Report{System: "5d41402abc4b2a76b9719d911017c592", Fields: r.Fields()}
	in := intake.New(intake.Config{MaxAgeDays: 3660}, f.db)
	rec, err := in.Examine(report)
	if err != nil {
		f.t.Fatalf("examine report: %v", err)
	}
	if _, err := in.Accept(f.t.Context(), report); err != nil {
		f.t.Fatalf("store report: %v", err)
	}
	dbtest.Counted(f.t, f.db)
	return rec.Grouping.Signature
}

// problem stores a report of the nth problem and returns its signature.
func (f *fixture) problem(n int) string {
	f.t.Helper()
	return f.report(crashtest.Native(crashtest.Set("DuplicateSignature", problemSignature(n)),
		crashtest.Process(10_000+n)))
}

func problemSignature(n int) string { return fmt.Sprintf("/usr/bin/tidewatch:11:problem_%d", n) }

func (f *fixture) bucket(signature string) crash.Bucket {
	f.t.Helper()
	b, err := f.db.Bucket(f.t.Context(), crash.BucketIDOf(signature))
	if err != nil {
		f.t.Fatalf("bucket: %v", err)
	}
	return b
}

// judged returns the problem of a signature with its status.
func (f *fixture) judged(signature string) crash.Bucket {
	f.t.Helper()
	b := f.bucket(signature)
	if err := f.db.Judge(f.t.Context(), &b); err != nil {
		f.t.Fatalf("judge: %v", err)
	}
	return b
}

// rule saves a rule about updates.
func (f *fixture) rule(r crash.UpdateRule) {
	f.t.Helper()
	if r.QuietWeeks == 0 {
		r.QuietWeeks = crash.DefaultQuietWeeks
	}
	r.Person = "root"
	if err := bugs.New(f.db).SaveUpdateRule(f.t.Context(), r); err != nil {
		f.t.Fatal(err)
	}
}

// exec runs a statement on the database.
func (f *fixture) exec(sql string) {
	f.t.Helper()
	conn, err := pgx.Connect(f.t.Context(), f.url)
	if err != nil {
		f.t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(f.t.Context())) }()
	if _, err := conn.Exec(f.t.Context(), sql); err != nil {
		f.t.Fatalf("%s: %v", sql, err)
	}
}
