package tracker_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/db"
	"mishap/db/bugs"
	"mishap/db/dbtest"
	"mishap/tracker"
	"mishap/tracker/kinds"
	"mishap/tracker/launchpad"
	"mishap/tracker/trackertest"
)

const consumer = "my crash service" // contains blanks on purpose

// fixture is one database, one practice tracker and any number of instances.
type fixture struct {
	t   *testing.T
	url string
	lp  *trackertest.Tracker
	cfg tracker.Config
	db  *db.Store // to read results, and of the first instance

	number    int // of this case among those that share the database
	instances int
}

// timeout is longer than any answer takes on a slow machine. Calls that the practice tracker lets
// hang do not wait for it.
const timeout = 10 * time.Minute

// instance is one running mishap.
type instance struct {
	store *db.Store
	creds *tracker.Credentials
	lp    *launchpad.Client
	filer *tracker.Filer
}

// newFixture starts a practice tracker for instances with a configured token. Its pauses are short,
// so that tests are fast.
func newFixture(t *testing.T, options ...trackertest.Options) *fixture {
	t.Helper()
	h := &fixture{t: t, url: dbtest.URL(t)}
	h.db = dbtest.Open(t, h.url)
	h.practise(options...)
	return h
}

// inTurn runs the cases of a table one after another. Each has its own practice tracker and
// problems, but all share one database and its connections, which take most of the time.
func inTurn[C any](t *testing.T, cases map[string]C, test func(*testing.T, *fixture, C)) {
	t.Helper()
	h := newFixture(t)
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		h.number++
		t.Run(name, func(t *testing.T) {
			own := &fixture{t: t, url: h.url, db: h.db, number: h.number}
			own.practise(trackertest.Options{FirstBug: int64(1000 * h.number)})
			test(t, own, cases[name])
		})
	}
}

// practise starts the practice tracker.
func (h *fixture) practise(options ...trackertest.Options) {
	h.lp = trackertest.New(h.t, options...)
	h.cfg = tracker.Config{
		Kind: kinds.Launchpad,
		URL:  h.lp.URL, APIURL: h.lp.APIURL, ConsumerKey: consumer, Target: "ubuntu", BaseURL: "https://mishap.example",
		Token: h.lp.Token(consumer), Timeout: timeout, Settle: 20 * time.Millisecond, Backoff: 10 * time.Millisecond,
		Pause: time.Millisecond, Transport: h.lp.TimeOutHung, Log: dbtest.Log(h.t),
	}
}

// sites returns the places of the instance's tracker.
func (u *instance) sites(cfg tracker.Config) *tracker.Sites {
	return tracker.NewSites(bugs.New(u.store), tracker.Member{Config: cfg, Creds: u.creds})
}

// instance starts an instance with changes to the configuration. It ends with the test. The first
// one uses the store that reads results.
func (h *fixture) instance(change ...func(*tracker.Config)) *instance {
	h.t.Helper()
	cfg := h.cfg
	for _, c := range change {
		c(&cfg)
	}
	u := &instance{store: h.db}
	if h.instances++; h.instances > 1 {
		u.store = dbtest.Open(h.t, h.url)
	}
	u.creds = tracker.NewCredentials(cfg, bugs.New(u.store))
	u.lp = launchpad.New(cfg, u.creds)
	u.filer = tracker.NewFiler(cfg, bugs.New(u.store), u.sites(cfg))
	h.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
		defer cancel()
		u.filer.Close(ctx)
	})
	return u
}

// work runs the queue's workers and the loop for due filings until ctx ends.
func work(ctx context.Context, store *db.Store, filer *tracker.Filer) error {
	jobs, err := db.NewJobs(store, db.JobsConfig{File: filer.Work})
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
			_ = filer.StartDue(ctx) // the next call retries
		case <-ctx.Done():
			return jobs.Stop(context.WithoutCancel(ctx))
		}
	}
}

// report stores a report and returns the signature of its bucket.
func (h *fixture) report(r crashtest.Report) string {
	h.t.Helper()
	return h.save("5d41402abc4b2a76b9719d911017c592", time.Now(), r)
}

// problem stores a report of the nth problem.
func (h *fixture) problem(n int) string {
	h.t.Helper()
	n += 1000 * h.number
	return h.report(crashtest.Native(crashtest.Set("DuplicateSignature", problemSignature(n)),
		crashtest.Process(10_000+n)))
}

func problemSignature(n int) string { return fmt.Sprintf("/usr/bin/tidewatch:11:problem_%d", n) }

// until starts due filings and calls check until it returns true.
func (h *fixture) until(what string, instances []*instance, check func() bool) {
	h.t.Helper()
	deadline := time.Now().Add(timeout)
	for !check() {
		if time.Now().After(deadline) {
			h.t.Fatalf("waited too long until %s", what)
		}
		for _, u := range instances {
			if err := u.filer.StartDue(h.t.Context()); err != nil {
				h.t.Fatalf("start due filings: %v", err)
			}
		}
		pause(h.t, 5*time.Millisecond)
	}
}

// pause lets other goroutines run for a moment.
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
func (h *fixture) bucket(signature string) crash.Bucket {
	h.t.Helper()
	b, err := h.db.Bucket(h.t.Context(), crash.BucketIDOf(signature))
	if err != nil {
		h.t.Fatalf("bucket: %v", err)
	}
	return b
}

// wantOneBug checks that the tracker has exactly one bug for the bucket, and that the bucket has
// this bug.
func (h *fixture) wantOneBug(signature string) {
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
		h.t.Errorf("bucket %s: got bugs %v in the tracker, bug %d and filing %+v in the database, want the same bug",
			b.ID, numbers, b.Bug.Number, b.Filing)
	}
}

// exec changes the database directly.
func (h *fixture) exec(sql string) {
	h.t.Helper()
	dbtest.Exec(h.t, h.url, sql)
}

func codeOf(err error) string {
	if e, ok := errors.AsType[*crash.Error](err); ok {
		return e.Code
	}
	return ""
}

func asCall(err error) *tracker.CallError {
	e, _ := errors.AsType[*tracker.CallError](err)
	return e
}

// memory stores one token, for tests of single calls that need no database.
type memory struct {
	mu     sync.Mutex
	saved  crash.SavedToken
	health map[string]crash.TokenHealth
	writes int
}

func newMemory() *memory { return &memory{health: map[string]crash.TokenHealth{}} }

func (m *memory) SavedToken(context.Context, crash.TrackerKey) (crash.SavedToken, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.saved, nil
}

func (m *memory) SaveToken(_ context.Context, _ crash.TrackerKey, token crash.AccessToken, person string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.saved = crash.SavedToken{AccessToken: token, Person: person}
	return nil
}

func (m *memory) SaveConfiguredToken(context.Context, crash.TrackerKey, crash.AccessToken) error {
	return nil
}

func (m *memory) ForgetToken(context.Context, crash.TrackerKey, string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.saved = crash.SavedToken{}
	return nil
}

func (m *memory) TokenHealth(_ context.Context, _ crash.TrackerKey, token string) (crash.TokenHealth, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.health[token], nil
}

func (m *memory) TrackerAccounts(context.Context, crash.TrackerKey) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []string
	for _, h := range m.health {
		out = append(out, h.Account)
	}
	return out, nil
}

func (m *memory) SaveTokenHealth(_ context.Context, _ crash.TrackerKey, token string, h crash.TokenHealth) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.health[token] = h
	m.writes++
	return nil
}
