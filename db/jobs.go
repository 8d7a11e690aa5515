package db

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"mishap/crash"
	"mishap/crash/audit"
	"mishap/crash/grouping"
	"mishap/crash/span"
)

// filingJob does the next step of one filing. It is harmless if the job runs too often, too late or
// never, because the filing itself records its next step.
type filingJob struct {
	Filing int64  `json:"filing"`
	Cause  string `json:"cause,omitempty"` // the span that queued the job, see package span; empty: not traced
}

// Kind returns the name of the job in the queue.
func (filingJob) Kind() string { return "filing" }

// newInserter returns a client that can only insert jobs.
func newInserter(pool *pgxpool.Pool) (*river.Client[pgx.Tx], error) {
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{Logger: slog.New(slog.DiscardHandler)})
	return client, Wrap(err, "job queue")
}

// AddFilingJob queues the next step of a filing in tx. The job runs after the delay in.
func (s *Handle) AddFilingJob(ctx context.Context, tx pgx.Tx, filing int64, in time.Duration) error {
	opts := &river.InsertOpts{}
	if in > 0 {
		opts.ScheduledAt = time.Now().Add(in)
	}
	_, err := s.inserter.InsertTx(ctx, tx, filingJob{filing, s.tracer.CauseOf(ctx).String()}, opts)
	return Wrap(err, "queue filing %d", filing)
}

// longQueue is the queue of long jobs. Filings use another queue, so that they never wait for long
// jobs. Older versions use the same name.
const longQueue = "slow"

// splitJob moves the stored reports of a split, or moves them back. The decision records the
// progress.
type splitJob struct {
	Decision int64 `json:"decision"`
}

// Kind returns the name of the job in the queue.
func (splitJob) Kind() string { return "split" }

// regroupJob works on one regrouping run. The run records the progress.
type regroupJob struct {
	Run int64 `json:"run"`
}

// Kind returns the name of the job in the queue.
func (regroupJob) Kind() string { return "regroup" }

// twinsJob merges a problem with its twins, for a rule. Nothing records its progress: what it has merged, it
// does not merge again.
type twinsJob struct {
	Problem string `json:"problem"`
	Rule    string `json:"rule"`
}

// Kind returns the name of the job in the queue.
func (twinsJob) Kind() string { return "twins" }

// AddTwinsJob queues in tx the merge of a problem with its twins, on behalf of a rule.
func (s *Handle) AddTwinsJob(ctx context.Context, tx pgx.Tx, problem crash.BucketID, rule string) error {
	return s.addLongJob(ctx, tx, twinsJob{problem.String(), rule})
}

// FinishDecisions continues all unfinished splits and regrouping runs that no instance works on. It does nothing while
// they wait for an archive.
func (s *Decisions) FinishDecisions(ctx context.Context, rules crash.GroupingRules) error {
	return UnlessAway(s.finishDecisions(ctx, rules))
}

func (s *Decisions) finishDecisions(ctx context.Context, rules crash.GroupingRules) error {
	ids, err := s.UnfinishedSplits(ctx)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := s.FinishSplit(ctx, id); err != nil {
			return err
		}
	}
	run, err := s.RunningRegroup(ctx)
	if errors.Is(err, crash.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.ContinueRegroup(ctx, run, rules)
}

// ContinueRegroup works on a run if the run uses these rules. During an update, only instances with
// the new rules do so.
func (s *Decisions) ContinueRegroup(ctx context.Context, run crash.RegroupRun, rules crash.GroupingRules) error {
	if run.Rules != rules.Version {
		return nil
	}
	_, err := s.WorkRegroup(ctx, run.ID, rules, nil)
	return err
}

func (s *Handle) addLongJob(ctx context.Context, tx pgx.Tx, job river.JobArgs) error {
	_, err := s.inserter.InsertTx(ctx, tx, job, &river.InsertOpts{Queue: longQueue})
	return Wrap(err, "queue %+v", job)
}

// FinishSplit runs all remaining steps of a split. It pauses after each for as long as the step
// took. It returns early if ctx ends.
func (s *Decisions) FinishSplit(ctx context.Context, id int64) error {
	return paced(ctx, func() (finished bool, err error) { return s.StepSplit(ctx, id) })
}

// paced repeats step until it is done. It pauses after each for as long as the step took, to leave room for
// other work.
func paced(ctx context.Context, step func() (done bool, err error)) error {
	for {
		began := time.Now()
		if done, err := step(); done || err != nil {
			return err
		}
		if err := crash.Sleep(ctx, time.Since(began)); err != nil {
			return err
		}
	}
}

// JobsConfig contains the settings of [Jobs].
type JobsConfig struct {
	Log   *slog.Logger
	File  func(ctx context.Context, filing int64) error // does one step of a filing
	Tasks []Task                                        // periodic tasks; each run takes place in one instance
	Rules crash.GroupingRules                           // for regrouping; zero means this program's

	// Twins merges a problem with its twins, for a rule; nil: this instance does not.
	Twins func(ctx context.Context, problem crash.BucketID, rule string) error

	Tracer *span.Tracer // records jobs; nil means none
}

// Jobs works on the queue of jobs in the database: filings, long decisions and periodic tasks. Each
// instance may have one.
type Jobs struct {
	client *river.Client[pgx.Tx]
	stop   context.CancelFunc // ends long jobs and tasks at once
}

const (
	filingWorkers = 4
	longWorkers   = 2
	fetchCooldown = 5 * time.Millisecond // minimum time between two fetches; new jobs cause a notification

	// jobLimit is the maximum duration of a job, far above that of a filing's step. If a job seems to run an
	// hour longer, River assumes that its instance was killed and gives the job to another one.
	jobLimit = 6 * time.Hour
)

// NewJobs returns Jobs for this instance. Start starts them.
func NewJobs(s *Store, c JobsConfig) (*Jobs, error) {
	if c.Log == nil {
		c.Log = s.Log
	}
	if c.Rules.Group == nil {
		c.Rules = grouping.CurrentRules()
	}
	running, stop := context.WithCancel(context.Background()) //nolint:forbidigo // Stop ends it
	d := NewDecisions(s)
	// Long jobs record their progress in the database, so that another instance or a later job can continue
	// after an interruption. FinishDecisions continues those that wait for an archive.
	long := func(ctx context.Context, name string, do func(context.Context) error) error {
		ctx, step := c.Tracer.Start(ctx, name)
		err := interruptible(ctx, running, do)
		step.End(err)
		return UnlessAway(err)
	}
	workers := river.NewWorkers()
	// The next step of a filing has a job of its own.
	river.AddWorker(workers, river.WorkFunc(func(ctx context.Context, job *river.Job[filingJob]) error {
		ctx = audit.WithActor(ctx, &audit.Actor{Kind: audit.Job, Via: "file-bugs"})
		ctx, step := c.Tracer.Start(ctx, "job file-bugs", span.ParseCause(job.Args.Cause))
		err := c.File(ctx, job.Args.Filing)
		step.End(err)
		return err
	}))
	river.AddWorker(workers, river.WorkFunc(func(ctx context.Context, job *river.Job[splitJob]) error {
		return long(ctx, "job split", func(ctx context.Context) error { return d.FinishSplit(ctx, job.Args.Decision) })
	}))
	river.AddWorker(workers, river.WorkFunc(func(ctx context.Context, job *river.Job[regroupJob]) error {
		return long(ctx, "job regroup", func(ctx context.Context) error {
			run, err := d.Regroup(ctx, job.Args.Run)
			if err != nil {
				return err
			}
			return d.ContinueRegroup(ctx, run, c.Rules)
		})
	}))
	if c.Twins != nil {
		river.AddWorker(workers, river.WorkFunc(func(ctx context.Context, job *river.Job[twinsJob]) error {
			ctx = audit.WithActor(ctx, &audit.Actor{Kind: audit.Rule, Via: job.Args.Rule})
			return long(ctx, "job twins", func(ctx context.Context) error {
				id, err := crash.ParseBucketID(job.Args.Problem)
				if err != nil {
					return err
				}
				return c.Twins(ctx, id, job.Args.Rule)
			})
		}))
	}
	var periodic []*river.PeriodicJob
	for _, t := range c.Tasks {
		river.AddWorkerArgs(workers, taskJob{kind: t.Name}, t.worker(running))
		periodic = append(periodic, t.periodic())
	}
	client, err := river.NewClient(riverpgxv5.New(s.Pool), &river.Config{
		Logger:  c.Log,
		Workers: workers,
		Queues: map[string]river.QueueConfig{
			river.QueueDefault: {MaxWorkers: filingWorkers},
			longQueue:          {MaxWorkers: longWorkers},
			queueTasks:         {MaxWorkers: len(c.Tasks) + 1}, // one more, for a run whose task is still busy
		},
		JobTimeout:          jobLimit,
		FetchCooldown:       fetchCooldown,
		FetchOnlyKnownKinds: true, // during an update, leave the jobs of another version to its instances
		PeriodicJobs:        periodic,
	})
	if err != nil {
		stop()
		return nil, fmt.Errorf("jobs: %w", err)
	}
	return &Jobs{client: client, stop: stop}, nil
}

// Start starts the workers. They outlive ctx; Stop ends them.
func (j *Jobs) Start(ctx context.Context) error {
	return Wrap(j.client.Start(context.WithoutCancel(ctx)), "start jobs")
}

// Stop stops fetching jobs, and interrupts long jobs and tasks, whose progress is in the database.
// It waits for running filings until ctx ends, and then cancels them.
func (j *Jobs) Stop(ctx context.Context) error {
	j.stop()
	err := j.client.Stop(ctx)
	if err != nil && ctx.Err() != nil {
		err = j.client.StopAndCancel(context.WithoutCancel(ctx))
	}
	return Wrap(err, "stop jobs")
}

// Task is a periodic task. Each run takes place in one instance. An unfinished run is not repeated,
// because the next one follows anyway.
type Task struct {
	Name  string        // kind of its jobs in the queue
	Every time.Duration // at least one second
	Run   func(context.Context) error
}

// queueTasks is a separate queue, so that tasks do not wait for long jobs, and filings do not wait
// for tasks.
const queueTasks = "tasks"

// uniquePeriod is the maximum time within which a task is queued only once. Each instance that
// becomes leader of the queue queues all tasks. A longer period would omit the first run after a
// restart.
const uniquePeriod = 10 * time.Second

// periodic returns the entry of the task in River's schedule. The leader of the queue follows the
// schedule, and queues each task when it becomes leader. Jobs are unique by time, not by state, so
// that a job of a killed instance does not block the next one.
func (t Task) periodic() *river.PeriodicJob {
	return river.NewPeriodicJob(river.PeriodicInterval(t.Every), func() (river.JobArgs, *river.InsertOpts) {
		return taskJob{kind: t.Name}, &river.InsertOpts{
			Queue: queueTasks, MaxAttempts: 1, UniqueOpts: river.UniqueOpts{ByPeriod: min(t.Every, uniquePeriod)},
		}
	}, &river.PeriodicJobOpts{RunOnStart: true})
}

// taskJob runs a task once. Its kind is the name of the task, so that instances without that task
// leave the job to others.
type taskJob struct{ kind string }

// Kind returns the name of the job in the queue.
func (j taskJob) Kind() string { return j.kind }

// worker returns what runs the task, unless the previous run has not ended in this instance. Tasks that
// must not run in two instances at once hold a lock in the database.
func (t Task) worker(running context.Context) river.Worker[taskJob] {
	var busy sync.Mutex
	return river.WorkFunc(func(ctx context.Context, _ *river.Job[taskJob]) error {
		if !busy.TryLock() {
			return nil
		}
		defer busy.Unlock()
		return interruptible(ctx, running, t.Run)
	})
}

// interruptible calls do with a context that also ends with running, which ends when the instance stops.
// It returns nil if jobLimit interrupts do, because the next job or task continues the work.
func interruptible(ctx, running context.Context, do func(context.Context) error) error {
	both, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(running, cancel)()
	err := do(both)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil
	}
	return err
}

// instance shows other instances that this one is alive. Its own connection holds an advisory lock
// on a random number while the process and the connection live. The lock needs a lasting session:
// the database must be reached directly or through a pooler in session mode.
type instance struct {
	config *pgx.ConnConfig
	roles  string          // see Config.Roles
	ctx    context.Context // never ends, because the lock outlives the request that acquires it

	mu     sync.Mutex
	conn   *pgx.Conn
	id     int64
	closed bool
}

// lockTimeout limits how long it may take to acquire or check the lock.
const lockTimeout = 5 * time.Second

const (
	sqlInstanceSettings = `
		select set_config('idle_session_timeout', '0', false),
			set_config('application_name', 'mishap instance' || @roles, false)`
	sqlLockInstance   = `select pg_try_advisory_lock(@instance)`
	sqlCountInstances = `
		select count(*) filter (where application_name like '% web%'),
			count(*) filter (where application_name like '% ingest%')
		from pg_stat_activity where datname = current_database() and application_name like 'mishap instance%'`
)

func newInstance(ctx context.Context, config *pgx.ConnConfig, roles []string) *instance {
	return &instance{config: config, roles: strings.Join(append([]string{""}, roles...), " "),
		ctx: context.WithoutCancel(ctx)}
}

// Instances is how many instances serve pages and how many receive reports.
type Instances struct{ Web, Ingest int }

// CountInstances counts the instances that are alive, with this one.
func (s *Handle) CountInstances(ctx context.Context) (n Instances, err error) {
	if _, err = s.instance.number(ctx); err == nil {
		err = s.Pool.QueryRow(ctx, sqlCountInstances).Scan(&n.Web, &n.Ingest)
	}
	return n, Wrap(err, "count instances")
}

// number returns the number of this instance, on which it holds the lock. After a lost connection
// the instance gets a new number, and work claimed under the old one counts as abandoned.
func (i *instance) number(ctx context.Context) (int64, error) {
	// Do not let the caller's context close the connection.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lockTimeout)
	defer cancel()
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed {
		return 0, errUnavailable
	}
	if i.conn != nil {
		if err := i.conn.Ping(ctx); err == nil {
			return i.id, nil
		}
		_ = i.conn.Close(ctx)
		i.conn = nil
	}
	conn, err := pgx.ConnectConfig(ctx, i.config)
	if err != nil {
		return 0, Classify(fmt.Errorf("connect for the lock of the instance: %w", err))
	}
	id := randomNumber()
	var locked bool
	_, err = conn.Exec(ctx, sqlInstanceSettings, pgx.NamedArgs{"roles": i.roles})
	if err == nil {
		err = conn.QueryRow(ctx, sqlLockInstance, pgx.NamedArgs{"instance": id}).Scan(&locked)
	}
	if err == nil && !locked {
		err = fmt.Errorf("the number %d of the instance is taken", id)
	}
	if err != nil {
		_ = conn.Close(ctx)
		return 0, Classify(fmt.Errorf("acquire the lock of the instance: %w", err))
	}
	i.conn, i.id = conn, id
	return id, nil
}

func randomNumber() int64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return int64(binary.BigEndian.Uint64(b[:]) >> 1)
}

func (i *instance) close() {
	ctx, cancel := context.WithTimeout(i.ctx, lockTimeout)
	defer cancel()
	i.mu.Lock()
	defer i.mu.Unlock()
	i.closed = true
	if i.conn != nil {
		_ = i.conn.Close(ctx)
		i.conn = nil
	}
}

// These advisory locks ensure that only one instance at a time does a job. The numbers are
// arbitrary but fixed: older versions use them too.
const (
	bugsLock    = int64(0x6d69736861707761) // "mishapwa": reading bugs from the tracker
	archiveLock = int64(0x6d69736861706172) // "mishapar": reading the tracker's archive
	countsLock  = int64(0x6d6973436f756e74) // "misCount": removing expired counts
)

const (
	sqlTryLock = `select pg_try_advisory_lock(@lock)`
	sqlUnlock  = `select pg_advisory_unlock(@lock)`
)

// LockBugs acquires the lock on reading bugs from the tracker. It returns ok false if another
// instance holds the lock. This instance holds it until it calls unlock or dies. Do not call
// LockBugs again before unlock: the lock belongs to the whole instance. It returns Unavailable if
// the database is unavailable.
func (s *Handle) LockBugs(ctx context.Context) (unlock func(), ok bool, err error) {
	return s.lock(ctx, bugsLock)
}

// LockArchive acquires the lock on reading the tracker's archive. It works like LockBugs.
func (s *Handle) LockArchive(ctx context.Context) (unlock func(), ok bool, err error) {
	return s.lock(ctx, archiveLock)
}

// LockExpiry acquires the lock on removing expired counts. It works like LockBugs.
func (s *Handle) LockExpiry(ctx context.Context) (unlock func(), ok bool, err error) {
	return s.lock(ctx, countsLock)
}

func (s *Handle) lock(ctx context.Context, lock int64) (unlock func(), ok bool, err error) {
	if _, err := s.instance.number(ctx); err != nil { // the instance's connection will hold the lock
		return nil, false, err
	}
	if ok, err = s.instance.ask(ctx, sqlTryLock, lock); err != nil || !ok {
		return nil, false, err
	}
	unlock = func() {
		_, _ = s.instance.ask(context.WithoutCancel(ctx), sqlUnlock, lock) // a lost connection also unlocks
	}
	return unlock, true, nil
}

// ask runs a query about an advisory lock on the instance's connection.
func (i *instance) ask(ctx context.Context, sql string, lock int64) (yes bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lockTimeout)
	defer cancel()
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.conn == nil {
		return false, errUnavailable
	}
	if err := i.conn.QueryRow(ctx, sql, pgx.NamedArgs{"lock": lock}).Scan(&yes); err != nil {
		return false, Classify(fmt.Errorf("advisory lock %d: %w", lock, err))
	}
	return yes, nil
}
