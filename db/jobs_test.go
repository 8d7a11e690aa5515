package db_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/crash/intake"
	"mishap/db"
	"mishap/db/bugs"
	"mishap/db/dbtest"
)

// A task runs even if an earlier job of it seems to be still running because its instance was
// killed.
func TestTaskAfterKill(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	ran := make(chan struct{}, 1)
	config := db.JobsConfig{Log: dbtest.Log(t),
		Tasks: []db.Task{{Name: "sound-horn", Every: time.Second, Run: func(context.Context) error {
			select {
			case ran <- struct{}{}:
			default:
			}
			return nil
		}}}}
	stop := startJobs(t, s, config)
	<-ran
	stop()
	dbtest.Exec(t, url,
		`update river_job set state = 'running', finalized_at = null, attempted_at = now() where kind = 'sound-horn'`)
	select {
	case <-ran: // the second run
	default:
	}
	startJobs(t, s, config)
	select {
	case <-ran:
	case <-time.After(2 * time.Minute):
		t.Error("the task does not run again")
	}
}

// During an update, an instance leaves unknown jobs to instances of the other version.
func TestUnknownJobs(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	dbtest.Exec(t, url,
		`insert into river_job (kind, args, max_attempts, queue) values ('from-tomorrow', '{}', 1, 'default')`)
	const filing = 7
	checktest.NoError(t, s.InTx(t.Context(), func(tx pgx.Tx) error {
		return s.AddFilingJob(t.Context(), tx, filing,
			0)
	}))
	worked := make(chan int64, 1)
	stop := startJobs(t, s, db.JobsConfig{Log: dbtest.Log(t), File: func(_ context.Context, id int64) error {
		worked <- id
		return nil
	}})
	if id := <-worked; id != filing { // the other job was queued first
		t.Errorf("got filing %d, want %d", id, filing)
	}
	stop()
	var n int
	checktest.NoError(t, s.Pool.QueryRow(t.Context(),
		`select count(*) from river_job where kind = 'from-tomorrow' and state = 'available' and attempt = 0`).Scan(&n))
	if n != 1 {
		t.Errorf("got %d untouched jobs of another version, want 1", n)
	}
}

// startJobs starts workers and returns a function that stops them. The end of the test also stops
// them.
func startJobs(t *testing.T, s *db.Store, c db.JobsConfig) (stop func()) {
	t.Helper()
	workers := dbtest.Must(db.NewJobs(s, c))(t)
	checktest.NoError(t, workers.Start(t.Context()))
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		if err := workers.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return stop
}

var fileTerms = crash.FilingTerms{Sending: time.Minute, Answer: time.Minute, Settle: time.Hour}

// asked stores a problem and an intent to file a bug for it.
func asked(t *testing.T, s *db.Store) crash.Filing {
	t.Helper()
	report := crash.Report{System: "m", Fields: crashtest.Native().Fields()}
	in := intake.New(intake.Config{MaxAgeDays: 3660}, s)
	rec := dbtest.Must(in.Examine(report))(t)
	dbtest.Must(in.Accept(t.Context(), report))(t)
	dbtest.Counted(t, s)
	f, stored, err := bugs.New(s).RequestFiling(t.Context(), crash.Intent{
		Bucket: crash.BucketIDOf(rec.Grouping.Signature), Person: "ines", Target: "/ubuntu", Title: "t", Description: "d",
		Marker: "m",
	}, crash.Filing{})
	if err != nil || !stored || f.State != crash.FilingQueued {
		t.Fatalf("ask: got %+v, %v, %v", f, stored, err)
	}
	return f
}

func due(t *testing.T, s *db.Store) []int64 {
	t.Helper()
	terms := map[string]crash.FilingTerms{crash.FirstTracker: fileTerms}
	return dbtest.Must(bugs.New(s).DueFilings(t.Context(), terms, 10))(t)
}

func stateOf(t *testing.T, s *db.Store, id int64) crash.FilingState {
	t.Helper()
	f := dbtest.Must(bugs.New(s).Filing(t.Context(), id))(t)
	return f.State
}

// A claim holds exactly as long as its instance lives.
func TestClaimsOfInstances(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	one, two := dbtest.Open(t, url), dbtest.Open(t, url)
	f := asked(t, two)
	if got := due(t, two); len(got) != 1 || got[0] != f.ID {
		t.Errorf("got due %v, want %d", got, f.ID)
	}
	if c, err := bugs.New(one).ClaimFiling(t.Context(), f.ID, crash.OwnAccount{}, crash.FilingTerms{}); err != nil ||
		c.Step != crash.StepCreate ||
		c.Attempts != 1 {
		t.Fatalf("claim: got %+v, %v", c, err)
	}
	for name, s := range map[string]*db.Store{"the same": one, "another": two} {
		if c, err := bugs.New(s).ClaimFiling(t.Context(), f.ID, crash.OwnAccount{}, crash.FilingTerms{}); err != nil ||
			c.Step != crash.StepNone {
			t.Errorf("second claim by %s instance: got %s, %v, want none", name, c.Step, err)
		}
	}
	if got := due(t, two); len(got) != 0 || stateOf(t, two, f.ID) != crash.FilingSending {
		t.Errorf("while the instance lives: got due %v, state %s", got, stateOf(t, two, f.ID))
	}
	one.Close()
	waitFor(t, "the instance counts as dead", func() bool {
		due(t, two)
		return stateOf(t, two, f.ID) == crash.FilingUncertain
	})
	if _, err := bugs.New(one).ClaimFiling(t.Context(), f.ID,
		crash.OwnAccount{}, crash.FilingTerms{}); crash.KindOf(err) != crash.Unavailable {
		t.Errorf("claim by a closed unit: got %v, want unavailable", err)
	}
}

// After a lost connection, an instance continues under another number, and its old claims are
// settled.
func TestInstanceLosesConnection(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	one, two := dbtest.Open(t, url), dbtest.Open(t, url)
	f := asked(t, two)
	dbtest.Must(bugs.New(one).ClaimFiling(t.Context(), f.ID, crash.OwnAccount{}, crash.FilingTerms{}))(t)
	dbtest.Exec(t, url,
		`select pg_terminate_backend(pid) from pg_stat_activity
		where application_name = 'mishap instance' and datname = current_database()`)
	waitFor(t, "the instance counts as dead", func() bool {
		due(t, two)
		return stateOf(t, two, f.ID) == crash.FilingUncertain
	})
	dbtest.Exec(t, url, `update filings set not_before = now()`)
	if c, err := bugs.New(one).ClaimFiling(t.Context(), f.ID, crash.OwnAccount{}, crash.FilingTerms{}); err != nil ||
		c.Step != crash.StepSearch {
		t.Errorf("claim after the cut: got %+v, %v, want a search", c, err)
	}
	due(t, two)
	if c, err := bugs.New(two).ClaimFiling(t.Context(), f.ID, crash.OwnAccount{}, crash.FilingTerms{}); err != nil ||
		c.Step != crash.StepNone {
		t.Errorf("got %s, %v, want the instance alive under its new number", c.Step, err)
	}
}

// The intent and its job are stored in one transaction.
func TestIntentAndJobTogether(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	f := asked(t, s)
	if n := countRows(t, url, `select count(*) from river_job where kind = 'filing'`); n != 1 {
		t.Errorf("got %d jobs, want 1", n)
	}
	if n := countRows(t, url,
		`select count(*) from audit_events where action = 'bug.create' and person = 'ines'`); n != 1 {
		t.Errorf("got %d audit events, want 1", n)
	}
	dbtest.Exec(t, url, `delete from filings`)
	dbtest.Exec(t, url, `alter table river_job rename to river_job_away`)
	if _, _, err := bugs.New(s).RequestFiling(t.Context(), f.Intent, crash.Filing{}); err == nil {
		t.Error("ask without a queue: got no error, want one")
	}
	if n := countRows(t, url, `select count(*) from filings`); n != 0 {
		t.Errorf("got %d intents without a job, want none", n)
	}
}

// A worker of the queue gets the filing.
func TestJobs(t *testing.T) {
	t.Parallel()
	s := dbtest.New(t)
	f := asked(t, s)
	worked := make(chan int64, 1)
	workers, err := db.NewJobs(s, db.JobsConfig{Log: dbtest.Log(t), File: func(_ context.Context, id int64) error {
		select {
		case worked <- id:
		default:
		}
		return nil
	}})
	if err == nil {
		err = workers.Start(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := workers.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	checktest.NoError(t, bugs.New(s).PostponeFilings(t.Context(), 0, "tracker_credentials", "r", time.Hour))
	key := crash.TrackerKey{URL: "https://tracker.example", ConsumerKey: "c"}
	checktest.NoError(t, bugs.New(s).SaveToken(t.Context(), key, crash.AccessToken{Token: "t", Secret: "s"}, "ada"))
	select {
	case id := <-worked:
		if id != f.ID {
			t.Errorf("got filing %d, want %d", id, f.ID)
		}
	case <-time.After(time.Minute):
		t.Error("no worker got the filing")
	}
}

func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(30 * time.Second); !ok(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("waited too long until %s", what)
		}
	}
}

func countRows(t *testing.T, url, sql string) (n int) {
	t.Helper()
	checktest.NoError(t, dbtest.Connect(t, url).QueryRow(t.Context(), sql).Scan(&n))
	return n
}
