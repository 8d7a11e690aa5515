package db

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"

	"mishap/crash"
	"mishap/crash/span"
)

// These constants limit how often stored reports are counted, and how many at a time.
const (
	// roundInterval is the time between rounds under load. At 300 reports per second, 250 ms takes a
	// tenth less processor time per report than 100 ms (measured by devtool bench programs).
	roundInterval = 250 * time.Millisecond
	// promptRounds is how many small rounds may run without an interval after a quiet period. Each
	// interval adds one to this allowance.
	promptRounds = 64
	// promptReports is the maximum number of concurrent or uncounted reports at which the answer to a
	// report waits until it is counted.
	promptReports = 16
	// maxRoundReports limits the reports of one round, and thereby how long it holds the lock.
	maxRoundReports = 2048
	// maxUncounted limits the uncounted reports of this instance. Above it, storing waits for
	// counting.
	maxUncounted = 1 << 15
	// roundTimeout limits the duration of one round. After a time-out, the next round counts half as
	// many reports.
	roundTimeout = 20 * time.Second
	// retryInterval is the pause after a failed round.
	retryInterval = time.Second
	// orphanInterval is how often an instance looks for reports that a dead instance left uncounted.
	orphanInterval = 5 * time.Second
	// orphanAge is how long a report must be uncounted before an instance that did not store it counts
	// it.
	orphanAge = 10 * time.Second
	// closeAttempts is how many rounds may fail while the store closes. Another instance then counts
	// the remaining reports.
	closeAttempts = 4
	// maxCountWait limits how long WaitCounted waits.
	maxCountWait = 20 * time.Second
)

// work is a row of the table uncounted: the reports that one transaction has stored.
type work struct {
	id      [16]byte
	reports int
	counted chan struct{} // closed when the reports are counted
	cause   span.Cause    // the span that stored them, if it is traced
	bodies  []bucketMonth // see bodyLimit
}

// counter counts, in rounds, the reports that this instance stores and those that dead instances
// left uncounted.
type counter struct {
	store                   *Store
	stats                   workStats
	failed                  prometheus.Counter
	failing, orphansFailing failure
	interval                *rate.Limiter
	large                   atomic.Bool   // the last round counted more than promptReports
	wake                    chan struct{} // buffers one signal
	stop                    context.CancelFunc
	done                    sync.WaitGroup

	mu         sync.Mutex
	uncounted  []*work
	reports    int           // number of reports in uncounted
	maxReports int           // storing waits while reports is above it
	timeout    time.Duration // of one round
	limit      int           // maximum number of reports in the next round
	closing    bool
	room       sync.Cond // signalled when reports falls
}

func newCounter(s *Store) *counter {
	c := &counter{
		store: s, interval: rate.NewLimiter(rate.Every(roundInterval), promptRounds), wake: make(chan struct{}, 1),
		maxReports: maxUncounted, timeout: roundTimeout, limit: maxRoundReports,
		stats: newWorkStats("mishap_count_round", "Reports counted by one round.", "Time that a round of counting took.",
			prometheus.ExponentialBuckets(1, 4, 8)),
		failed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "mishap_count_rounds_failed_total", Help: "Rounds of counting that failed and were tried again.",
		}),
	}
	c.room.L = &c.mu
	return c
}

func (c *counter) start(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	stopping, stop := context.WithCancel(ctx)
	c.stop = stop
	c.done.Go(func() { c.run(ctx, stopping) })
}

// close counts the remaining reports and stops. No reports may be added after the call.
func (c *counter) close() {
	c.stop()
	c.done.Wait()
}

// add queues the reports that a transaction has stored under id for counting. It returns a channel
// that is closed once they are counted. It returns nil if counting may take long: under load, while
// rounds fail, or before the next round may start. Argument storing is the number of reports that
// are being stored. When they are counted, it releases bodies.
func (c *counter) add(id [16]byte, reports int, storing int64, cause span.Cause, bodies []bucketMonth) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, failing := c.failing.get()
	prompt := failing == nil && storing <= promptReports && c.reports <= promptReports && !c.busy()
	w := &work{id, reports, make(chan struct{}), cause, bodies}
	c.uncounted = append(c.uncounted, w)
	c.reports += reports
	c.notify()
	if !prompt {
		return nil
	}
	return w.counted
}

// busy reports whether so many reports arrive that rounds wait for their interval.
func (c *counter) busy() bool { return c.large.Load() || c.interval.Tokens() < 1 }

// notify wakes the counter. If it is running a round, it starts another one afterwards.
func (c *counter) notify() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// await blocks while too many reports are uncounted, unless the store is closing.
func (c *counter) await() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.reports > c.maxReports && !c.closing {
		c.room.Wait()
	}
}

// release ends all calls of await because the store is closing.
func (c *counter) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closing = true
	c.room.Broadcast()
}

// waiting returns the number of uncounted reports of this instance.
func (c *counter) waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reports
}

// run counts in rounds until stopping ends. ctx never ends, so that a running round is finished.
func (c *counter) run(ctx, stopping context.Context) {
	c.countOrphans(ctx, stopping, 0)
	orphans := time.NewTicker(orphanInterval)
	defer orphans.Stop()
	for {
		select {
		case <-stopping.Done():
			for failed := 0; c.waiting() > 0 && failed < closeAttempts; {
				if c.countOwn(ctx) != nil {
					failed++
				}
			}
			return
		case <-orphans.C:
			c.countOrphans(ctx, stopping, orphanAge)
		case <-c.wake:
			if c.interval.Wait(stopping) != nil {
				continue
			}
			if err := c.countOwn(ctx); err != nil {
				_ = crash.Sleep(stopping, retryInterval)
			} else if c.large.Load() {
				_ = crash.Sleep(stopping, roundInterval)
			}
			if c.waiting() > 0 {
				c.notify()
			}
		}
	}
}

// countOwn runs one round on the oldest work of this instance. Another instance may have counted
// some of it; the round skips that.
func (c *counter) countOwn(ctx context.Context) error {
	c.mu.Lock()
	var ids [][16]byte
	var causes []span.Cause
	sum := 0
	for _, w := range c.uncounted {
		if sum += w.reports; sum > c.limit && len(ids) > 0 {
			break
		}
		ids = append(ids, w.id)
		if c.store.tracer != nil {
			causes = append(causes, w.cause)
		}
	}
	c.mu.Unlock()
	if len(ids) == 0 {
		return nil
	}
	r, err := c.round(ctx, workOf(ids), causes...)
	c.failing.result(err)
	if err != nil {
		c.store.Log.ErrorContext(ctx, "reports not counted yet", "reports", r.reports, "error", err)
		return err
	}
	c.large.Store(r.reports > promptReports)
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.room.Broadcast()
	for _, w := range c.uncounted[:len(ids)] {
		if c.reports -= w.reports; r.remaining > 0 { // the round counted only a part of one row
			w.reports = r.remaining
			c.reports += r.remaining
			return nil
		}
		close(w.counted)
		c.store.bodies.release(w.bodies)
	}
	c.uncounted = c.uncounted[len(ids):]
	return nil
}

// countOrphans counts reports that have been uncounted for longer than age: the instance that
// stored them is dead or too slow.
func (c *counter) countOrphans(ctx, stopping context.Context, age time.Duration) {
	for stopping.Err() == nil {
		r, err := c.round(ctx, workOlderThan(age))
		c.orphansFailing.result(err)
		if err != nil && !isUnavailable(err) {
			c.store.Log.ErrorContext(ctx, "reports of another instance not counted yet", "error", err)
		}
		if err != nil || r.reports == 0 {
			return
		}
		c.store.Log.InfoContext(ctx, "counted reports of another instance", "reports", r.reports)
	}
}

// round runs one round with a time-out. If it fails, and its size may be the reason, round halves
// the limit for the next one. So a slow round is repeated in smaller parts, and a report that
// cannot be counted is isolated in the end. Each success raises the limit by an eighth. causes are the
// spans that stored the reports.
func (c *counter) round(ctx context.Context, which workChoice, causes ...span.Cause) (roundResult, error) {
	c.mu.Lock()
	timeout, limit := c.timeout, c.limit
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	began := time.Now()
	ctx, step := c.store.tracer.Start(ctx, "count reports", causes...)
	r, err := c.store.countRound(ctx, which, limit)
	step.Count(span.Reports, r.reports)
	step.End(err)
	if err == nil && r.reports > 0 {
		c.stats.observe(r.reports, time.Since(began))
	} else if err != nil {
		c.failed.Inc()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err == nil:
		c.limit = min(c.limit+c.limit/8+1, maxRoundReports)
	case r.reports > 0 && (timedOut(err) || !isUnavailable(err)):
		c.limit = max(1, r.reports/2)
	}
	return r, err
}

// timedOut reports whether the database took too long.
func timedOut(err error) bool {
	return pgCode(err) == queryCanceled || errors.Is(err, context.DeadlineExceeded)
}

const sqlAnyUncounted = `select exists (select from uncounted where stored <= clock_timestamp() - @age::interval)`

// WaitCounted waits until all reports stored before the call, by any instance, are counted. It
// returns Unavailable if that takes longer than 20 seconds or the database is unavailable.
func (s *Store) WaitCounted(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, maxCountWait)
	defer cancel()
	began := time.Now()
	for {
		var left bool
		err := s.Pool.QueryRow(ctx, sqlAnyUncounted, workOlderThan(time.Since(began)).args).Scan(&left)
		if err == nil && !left {
			return nil
		}
		if err == nil {
			_, err = s.counter.round(ctx, workOlderThan(time.Since(began)))
		}
		if err != nil {
			return crash.Errorf(crash.Unavailable, "not_counted", "The reports could not be counted in time; please "+
				"try again.").Because(Classify(err))
		}
		s.counter.failing.result(nil)
		s.counter.orphansFailing.result(nil)
	}
}

const (
	// sqlSetRound makes the statements of a round look up rows by index, whatever the statistics say
	// about table sizes. PostgreSQL then plans each statement once for each connection. Without it, a
	// report takes 5% more processor time, and a tenth fewer are stored per second (measured by devtool
	// bench programs on 20,000 reports).
	sqlSetRound = `
		select set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true),
			set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)`
	sqlWorkOf = `select id, reports from uncounted where id = any(@ids::uuid[]) order by stored, id`
	// sqlWorkOlderThan has a limit to bound memory: a row lists up to 256 reports.
	sqlWorkOlderThan = `
		select id, reports from uncounted where stored <= clock_timestamp() - @age::interval order by stored, id limit 256`
	sqlDeleteWork     = `delete from uncounted where id = any(@ids::uuid[])`
	sqlShortenWork    = `update uncounted set reports = @reports where id = @id`
	sqlReportsToCount = `select ` + storedColumns + ` from ` + eachReport
	// storedColumns are those of a report that are counted.
	storedColumns = `r.id, r.counted, r.day, r.received, r.occurred, r.system_key, r.bucket_id, r.rule, r.problem_type,
			r.title, r.executable, r.package, r.version, r.source_package, r.release, r.architecture, r.package_architecture,
			r.proposed, r.address_signature, r.body is not null, ` + isLimited
)

// inRound runs fn in a transaction that holds the counting lock and has the next round number.
// While it runs, no other instance changes counts.
func (s *Store) inRound(ctx context.Context, fn func(tx pgx.Tx, at stamp) error) error {
	return s.InTx(ctx, func(tx pgx.Tx) error {
		var at stamp
		if err := tx.QueryRow(ctx, sqlNextRound).Scan(append([]any{&at.round}, at.server.columns()...)...); err != nil {
			return fmt.Errorf("next round: %w", err)
		}
		return fn(tx, at)
	})
}

// errNothing rolls back a round that has found nothing to count, so that its number is reused.
var errNothing = errors.New("nothing to count")

// workChoice is a query that selects rows of the table uncounted.
type workChoice struct {
	sql  string
	args pgx.NamedArgs
}

func workOf(ids [][16]byte) workChoice { return workChoice{sqlWorkOf, pgx.NamedArgs{"ids": ids}} }

func workOlderThan(age time.Duration) workChoice {
	return workChoice{sqlWorkOlderThan, pgx.NamedArgs{"age": age}}
}

// roundResult is the outcome of a round.
type roundResult struct {
	reports   int // counted, or attempted if the round failed
	remaining int // uncounted reports left in the last work row
	names     map[crash.BucketID]bool
	spans     map[cachedMachine]cachedSpan
}

// countRound counts up to limit reports of the selected work rows in one transaction. After the
// commit it caches the names and spans that it has written.
func (s *Store) countRound(ctx context.Context, which workChoice, limit int) (r roundResult, err error) {
	var server serverID
	err = s.inRound(ctx, func(tx pgx.Tx, at stamp) error {
		if _, err := tx.Exec(ctx, sqlSetRound); err != nil {
			return err
		}
		server = at.server
		r, err = s.countWork(ctx, tx, at, which, limit)
		return err
	})
	if errors.Is(err, errNothing) {
		return roundResult{}, nil
	}
	if err == nil {
		s.names.add(server, r.names)
		s.spans.add(server, r.spans)
	}
	return r, err
}

// countWork runs a round in tx, which must hold the counting lock. It returns errNothing if there
// is no work.
func (s *Store) countWork(ctx context.Context, tx pgx.Tx, at stamp, which workChoice, limit int) (r roundResult,
	err error) {
	var write pgx.Batch
	ids, remaining, err := takeWork(ctx, tx, &write, which, limit)
	if err != nil {
		return r, fmt.Errorf("take work: %w", err)
	}
	if len(ids) == 0 {
		return r, errNothing
	}
	r.reports, r.remaining = len(ids), remaining
	reports, err := s.readReports(ctx, tx, ids)
	if err != nil {
		return r, fmt.Errorf("read reports to count: %w", err)
	}
	sum := newRoundSum(&s.spans, at.server, HoursFrom(s.Now()))
	for i := range reports {
		sum.count(&reports[i])
	}
	machines, cells, err := sum.countMachines(ctx, tx)
	if err != nil {
		return r, fmt.Errorf("count machines: %w", err)
	}
	if r.spans, err = sum.countActive(ctx, tx, &write); err != nil {
		return r, fmt.Errorf("count active machines: %w", err)
	}
	if err := sum.countBodies(ctx, tx, s.bodies.limit, &write); err != nil {
		return r, fmt.Errorf("count bodies: %w", err)
	}
	sum.write(&write, at.round, machines, cells)
	if err := tx.SendBatch(ctx, &write).Close(); err != nil {
		return r, fmt.Errorf("write counts: %w", err)
	}
	if r.names, err = s.insertNames(ctx, tx, at.server, sum.names); err != nil {
		return r, err
	}
	return r, s.adoptProvisional(ctx, tx, at.round)
}

// takeWork returns the ids of up to limit uncounted reports, and queues the statements that remove
// them from the table uncounted. It also returns how many reports remain in the last row that it
// has read.
func takeWork(ctx context.Context, tx pgx.Tx, write *pgx.Batch, which workChoice, limit int) (ids [][16]byte,
	remaining int, err error) {
	var whole [][16]byte
	var id [16]byte
	var reports [][16]byte
	err = Each(ctx, tx, which.sql, which.args, []any{&id, &reports}, func() {
		n := min(len(reports), limit-len(ids))
		ids = append(ids, reports[:n]...)
		switch {
		case n == len(reports):
			whole = append(whole, id)
		case n > 0:
			remaining = len(reports) - n
			write.Queue(sqlShortenWork, pgx.NamedArgs{"id": id, "reports": reports[n:]})
		}
		reports = nil
	})
	write.Queue(sqlDeleteWork, pgx.NamedArgs{"ids": whole})
	return ids, remaining, err
}

// storedReport holds the parts of a stored report that are counted.
type storedReport struct {
	crash.Summary
	id             crash.OopsID
	counted        bool      // false for a test machine, whose reports at most describe their bucket
	day            time.Time // UTC day on which the report counts
	received, seen time.Time // seen: time of the occurrence
	system         *int64    // nil for a machine without an id
	bucket         *crash.BucketID
	rule           crash.GroupingRule
	full           bool // the body is stored
	limited        bool // counted in bucket_bodies
}

// readReports reads the reports to count, after moving those that match a split. It omits reports
// whose partition has been dropped.
func (s *Store) readReports(ctx context.Context, tx pgx.Tx, ids [][16]byte) ([]storedReport, error) {
	if _, err := s.placeReports(ctx, tx, ids); err != nil {
		return nil, err
	}
	rows, err := tx.Query(ctx, sqlReportsToCount, ReportsArgs(ids))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scanStored)
}

// scanStored scans a row of storedColumns.
func scanStored(row pgx.CollectableRow) (r storedReport, err error) {
	var occurred time.Time
	err = row.Scan((*[16]byte)(&r.id), &r.counted, &r.day, &r.received, OrZero(&occurred), &r.system,
		&r.bucket, &r.rule,
		&r.ProblemType, &r.Title, &r.Executable, &r.Package, &r.Version, &r.SourcePackage, &r.Release, &r.Architecture,
		&r.PackageArchitecture, &r.Proposed, &r.AddressSignature, &r.full, &r.limited)
	r.day = r.day.UTC()
	r.seen = seenAt(occurred, r.day, r.received)
	return r, err
}

// seenAt returns the time of the crash according to the machine if the report counts on that day.
// Otherwise the machine's clock was not trusted, and seenAt returns the time of arrival.
func seenAt(occurred, day, received time.Time) time.Time {
	if !occurred.IsZero() && occurred.UTC().Truncate(24*time.Hour).Equal(day) {
		return occurred
	}
	return received
}

func keysOf[K comparable, V any](m map[K]V) []K { return slices.Collect(maps.Keys(m)) }

// workStats are the metrics of work on several reports at a time: of transactions that store them,
// including retries, or of rounds that count them.
type workStats struct{ reports, seconds prometheus.Histogram }

func newWorkStats(name, reports, seconds string, sizes []float64) workStats {
	return workStats{
		prometheus.NewHistogram(prometheus.HistogramOpts{Name: name + "_reports", Help: reports, Buckets: sizes}),
		prometheus.NewHistogram(prometheus.HistogramOpts{Name: name + "_seconds", Help: seconds,
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 14)}),
	}
}

func (s *workStats) observe(reports int, took time.Duration) {
	s.reports.Observe(float64(reports))
	s.seconds.Observe(took.Seconds())
}

// Collectors returns the metrics of the store for registration.
func (s *Store) Collectors() []prometheus.Collector {
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value)
	}
	number := func(yes bool) float64 {
		if yes {
			return 1
		}
		return 0
	}
	c, v := s.counter, s.saver
	return []prometheus.Collector{
		c.stats.reports, c.stats.seconds, c.failed, v.stats.reports, v.stats.seconds,
		gauge("mishap_uncounted_reports", "Reports that this process has stored and that are not counted yet.",
			func() float64 { return float64(c.waiting()) }),
		gauge("mishap_count_failing", "1 while stored reports cannot be counted: the last round failed; else 0.",
			func() float64 { return number(c.health().Problem != "") }),
		gauge("mishap_save_queue_reports", "Reports that wait to be stored.",
			func() float64 { return float64(v.waiting()) }),
		gauge("mishap_database_no_space", "1 while the database says that its disk is full; else 0.",
			func() float64 { return number(v.noSpace.Load()) }),
	}
}

// failure holds the last error of an operation and the start of the failures, until the operation
// succeeds.
type failure struct {
	mu    sync.Mutex
	since time.Time // zero while the operation succeeds
	err   error
}

func (f *failure) result(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
	switch {
	case err == nil:
		f.since = time.Time{}
	case f.since.IsZero():
		f.since = time.Now()
	}
}

// get returns the last error and the start of the failures. The error is nil if the last result was
// a success.
func (f *failure) get() (since time.Time, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.since, f.err
}

// Health reports whether the database answers, has disk space, and keeps up with counting. Without an
// answer, nothing else is known.
func (s *Store) Health(ctx context.Context) []crash.HealthCheck {
	database := crash.HealthCheck{ID: "database", Name: "Database",
		Remedy: "start PostgreSQL, or correct database_url; the server's log says more"}
	storing := crash.HealthCheck{ID: "storing", Name: "Report storage", Remedy: "make space on the disk of the database"}
	if err := s.Ping(ctx); err != nil {
		database.Problem, database.Detail = "The database cannot be reached.", err.Error()
		if e, ok := errors.AsType[*crash.Error](err); ok && e.Code == errReplaced.Code {
			database.Problem = e.Message
		}
		return []crash.HealthCheck{database}
	}
	if s.saver.noSpace.Load() {
		storing.Problem = "There is no space left on the disk of the database: reports cannot be stored."
	}
	return []crash.HealthCheck{database, storing, s.counter.health()}
}

// health reports whether stored reports can be counted.
func (c *counter) health() crash.HealthCheck {
	h := crash.HealthCheck{ID: "counting", Name: "Report counts",
		Remedy: "correct what the last error says; counting then continues automatically"}
	c.mu.Lock()
	reports, limit := c.reports, c.limit
	c.mu.Unlock()
	if reports > 0 {
		h.Detail = fmt.Sprintf("%d stored reports of this instance are not counted yet.", reports)
	}
	for _, f := range []*failure{&c.failing, &c.orphansFailing} {
		if since, err := f.get(); err != nil {
			h.Problem = "Reports are stored, but they cannot be counted at the moment: lists and charts are behind."
			h.Detail = fmt.Sprintf("Counting has failed since %s, with up to %d reports at a time. %s The last error: %v",
				since.UTC().Format("2006-01-02 15:04:05 UTC"), limit, h.Detail, err)
			break
		}
	}
	return h
}
