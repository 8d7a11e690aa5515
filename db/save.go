package db

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"mishap/crash"
	"mishap/crash/grouping"
	"mishap/crash/span"
)

// SaveReport stores rec and returns its id once the transaction is on disk. Reports of concurrent
// calls may share a transaction. While the load is low, SaveReport also waits until the report is
// counted. If a report of the same crash (equal DuplicateKey) is stored already, SaveReport returns
// the id of that report and true.
//
// It returns Unavailable if the database is unavailable, the store is closing or the queue is full.
// The end of ctx ends only the wait: an accepted report is stored nevertheless.
func (s *Store) SaveReport(ctx context.Context, rec crash.Record) (id crash.OopsID, duplicate bool, err error) {
	s.saver.calls.Add(1)
	defer s.saver.calls.Add(-1)
	p := newPendingReport(rec, Compress(rec.Fields))
	p.cause = s.tracer.CauseOf(ctx)
	if err := s.saver.submit(p); err != nil {
		return crash.OopsID{}, false, err
	}
	select {
	case a := <-p.answer:
		if a.counted != nil {
			counting, cancel := context.WithTimeout(ctx, s.answerDelay)
			defer cancel()
			select {
			case <-a.counted:
			case <-counting.Done():
			}
		}
		return a.id, a.err == nil && a.id != rec.ID, a.err
	case <-ctx.Done():
		return crash.OopsID{}, false, errNotWaited.Because(ctx.Err())
	}
}

// usualAnswerDelay limits how long the answer for a stored report waits until the report is counted.
const usualAnswerDelay = 250 * time.Millisecond

var (
	errBusy = &crash.Error{Kind: crash.Unavailable, Code: "overload", RetryAfter: time.Minute,
		Message: "Too many reports are arriving at the moment; please send this one again later."}
	errNotWaited = crash.Errorf(crash.Unavailable, "not_waited", "The report was not confirmed in time; please send it "+
		"again later.")
)

// pendingReport is a report in the queue, with all values that the database needs. The caller
// computes them, so that a malformed report can cause a panic only in its own request. All texts
// are copies, so that the original report can be freed.
type pendingReport struct {
	crash.Record
	body   []byte
	answer chan saved // has room for one, so that the writer never blocks

	// Empty values are nil, which the database stores as null.
	bucket       *crash.BucketID
	occurred     *time.Time // according to the report
	systemKey    *int64     // identifies the machine
	duplicateKey []byte

	commented bool // a person has written something into the report
	decided   bool // by bodyLimit
	bodyless  bool // the body is not stored

	cause span.Cause // the request, if it is traced
}

// saved is the outcome of storing a report.
type saved struct {
	id      crash.OopsID    // of this report, or of the stored report of the same crash
	counted <-chan struct{} // closed when the report is counted; nil if the answer does not wait for that
	err     error
}

func newPendingReport(rec crash.Record, body []byte) *pendingReport {
	commented := crash.HasComment(rec.Fields)
	rec.Fields = nil // the body contains the fields
	rec.Summary = compact(rec.Summary)
	rec.Grouping.Signature, rec.Grouping.Reason = strings.Clone(rec.Grouping.Signature), strings.Clone(rec.Grouping.Reason)
	p := &pendingReport{Record: rec, body: body, answer: make(chan saved, 1), systemKey: SystemKey(rec.System),
		commented: commented}
	if !rec.Occurred.IsZero() {
		p.occurred = &rec.Occurred
	}
	if rec.DuplicateKey != (crash.ReportKey{}) {
		p.duplicateKey = rec.DuplicateKey[:]
	}
	if rec.Grouping.Signature != "" {
		id := crash.BucketIDOf(rec.Grouping.Signature)
		p.bucket = &id
	}
	return p
}

// SystemKey returns the number that identifies a machine in counts, or nil for a machine without an
// id.
func SystemKey(id crash.SystemID) *int64 {
	if id == "" {
		return nil
	}
	sum := sha256.Sum256([]byte(id))
	key := int64(binary.BigEndian.Uint64(sum[:8])) //nolint:gosec // all 64 bits; the sign does not matter
	return &key
}

// compact copies the texts of a summary, so that a queued report does not keep all fields in
// memory. All but the address signature share one copy.
func compact(s crash.Summary) crash.Summary {
	texts := [...]*string{
		&s.ProblemType, &s.Title, &s.Executable, &s.Package, &s.Version, &s.SourcePackage, (*string)(&s.Release),
		&s.Architecture, &s.PackageArchitecture,
	}
	length := 0
	for _, text := range texts {
		length += len(*text)
	}
	var b strings.Builder
	b.Grow(length)
	for _, text := range texts {
		b.WriteString(*text)
	}
	all := b.String()
	for _, text := range texts {
		*text, all = all[:len(*text)], all[len(*text):]
	}
	s.AddressSignature = strings.Clone(s.AddressSignature)
	return s
}

// These constants limit the queues and the transactions of reports.
const (
	maxQueuedReports = 2048 // in each of the two queues
	maxQueuedBytes   = 64 << 20
	maxBatchReports  = 256
	maxBatchBytes    = 2 << 20   // limits how long small reports wait for a batch of larger ones
	largeBody        = 256 << 10 // minimum size in bytes of the reports in the second queue
	usualWriters     = 2         // one fills its batch while the other waits for the disk
	maxCachedBuckets = 1 << 17
	// batchInterval is how long a writer waits for more reports under load. Without the wait there are
	// twice as many transactions, and each report takes a quarter more processor time (devtool bench,
	// half load).
	batchInterval = 2 * time.Millisecond
)

// saver groups reports into transactions. Large reports take long to store, so they have their own
// queue and writer, and other reports never wait for them.
type saver struct {
	store        *Store
	usual, large chan *pendingReport
	bytes        atomic.Int64 // size of the bodies that are queued or being written
	calls        atomic.Int64 // running calls of SaveReport
	noSpace      atomic.Bool  // the last transaction failed because the database's disk is full
	partitions   partitions
	buckets      rowCache[crash.BucketID, bool] // stored buckets; erasing a bucket ends the validity of the cache
	stats        workStats
	writers      sync.WaitGroup

	mu     sync.RWMutex // held for reading while a report is queued
	closed bool
}

func startSaver(ctx context.Context, s *Store) *saver {
	v := &saver{store: s, usual: make(chan *pendingReport, maxQueuedReports),
		large: make(chan *pendingReport, maxQueuedReports)}
	v.buckets.limit = maxCachedBuckets
	v.stats = newWorkStats("mishap_save_batch", "Reports stored by one transaction.",
		"Time until a batch of reports was on disk, or had failed.", []float64{1, 2, 4, 8, 16, 32, 64, 128, maxBatchReports})
	ctx = context.WithoutCancel(ctx)
	var filling sync.Mutex
	for range usualWriters {
		v.writers.Go(func() { v.write(ctx, v.usual, &filling) })
	}
	v.writers.Go(func() { v.write(ctx, v.large, new(sync.Mutex)) })
	return v
}

// close waits until the writers have stored all accepted reports.
func (v *saver) close() {
	v.mu.Lock()
	if !v.closed {
		v.closed = true
		close(v.usual)
		close(v.large)
	}
	v.mu.Unlock()
	v.writers.Wait()
}

// submit queues a report. It returns Unavailable if the queue is full or closed.
func (v *saver) submit(p *pendingReport) error {
	v.mu.RLock()
	defer v.mu.RUnlock()
	if v.closed {
		return errUnavailable
	}
	queue, size := v.usual, int64(len(p.body))
	if size >= largeBody {
		queue = v.large
	}
	if waiting := v.bytes.Add(size); waiting <= maxQueuedBytes || waiting == size { // a single report always fits
		select {
		case queue <- p:
			return nil
		default:
		}
	}
	v.bytes.Add(-size)
	return errBusy
}

// waiting returns the number of queued reports.
func (v *saver) waiting() int { return len(v.usual) + len(v.large) }

// write stores batches until the queue is closed and empty. Only one writer of a queue fills a
// batch at a time, so that two writers do not share what could be one batch.
func (v *saver) write(ctx context.Context, queue <-chan *pendingReport, filling *sync.Mutex) {
	for {
		filling.Lock()
		batch := v.fill(ctx, queue)
		filling.Unlock()
		if len(batch) == 0 {
			return
		}
		v.save(ctx, batch)
		for _, p := range batch {
			v.bytes.Add(-int64(len(p.body)))
		}
	}
}

// fill waits for a report, and returns it together with the reports queued behind it. A single
// report is returned at once; the more arrive, the larger the batch. fill returns nothing if the
// queue is closed and empty.
func (v *saver) fill(ctx context.Context, queue <-chan *pendingReport) (batch []*pendingReport) {
	p, open := <-queue
	if !open {
		return nil
	}
	if v.calls.Load() > 1 && v.store.counter.busy() {
		_ = crash.Sleep(ctx, batchInterval)
	}
	for size := 0; ; {
		batch = append(batch, p)
		if size += len(p.body); len(batch) == maxBatchReports || size >= maxBatchBytes {
			return batch
		}
		select {
		case p = <-queue:
			if p == nil { // closed
				return batch
			}
		default:
			return batch
		}
	}
}

const (
	saveTimeout  = 20 * time.Second // of one transaction
	saveAttempts = 4
	savePause    = 25 * time.Millisecond // before the second attempt; quadrupled for each further attempt
)

// save stores a batch, queues it for counting and answers its callers. If the database rejects the
// contents, save tries each half of the batch on its own, and so on. In the end only the invalid
// report fails.
func (v *saver) save(ctx context.Context, batch []*pendingReport) {
	v.store.counter.await()
	began := time.Now()
	bodies := v.store.bodies.use(batch)
	ctx, step := v.startSpan(ctx, batch)
	done, err := v.saveWithRetries(ctx, batch, bodies)
	step.End(err)
	if err != nil || len(done.now) == 0 {
		v.store.bodies.release(bodies)
	}
	if faulty(err) && len(batch) > 1 {
		v.save(ctx, batch[:len(batch)/2])
		v.save(ctx, batch[len(batch)/2:])
		return
	}
	v.stats.observe(len(batch), time.Since(began))
	v.noSpace.Store(noSpace(err))
	if err != nil {
		err = fmt.Errorf("save %d reports: %w", len(batch), err)
		if noSpace(err) {
			err = errNoSpace.Because(err)
		} else if !faulty(err) { // the report itself is fine and can be sent again
			err = errUnavailable.Because(err)
		}
		v.store.Log.ErrorContext(ctx, "reports not stored", "reports", len(batch), "first", batch[0].ID.String(), "error",
			err)
		for _, p := range batch {
			p.answer <- saved{err: err}
		}
		return
	}
	var counted <-chan struct{}
	if len(done.now) > 0 {
		counted = v.store.counter.add(done.work, len(done.now), v.calls.Load(), v.store.tracer.CauseOf(ctx), bodies)
	}
	buckets := map[crash.BucketID]bool{}
	for i, p := range batch {
		if done.first[i].IsZero() {
			p.answer <- saved{err: errErased}
			continue
		}
		p.answer <- saved{id: done.first[i], counted: counted}
		if p.bucket != nil && done.now[p.ID] { // the bucket of a duplicate may not be stored
			buckets[*p.bucket] = true
		}
	}
	v.buckets.add(done.server, buckets)
}

// startSpan starts the span of a batch, which the requests of its reports have caused.
func (v *saver) startSpan(ctx context.Context, batch []*pendingReport) (context.Context, *span.Span) {
	if v.store.tracer == nil {
		return ctx, nil
	}
	ctx, step := v.store.tracer.Start(ctx, "store reports",
		column(batch, func(p *pendingReport) span.Cause { return p.cause })...)
	step.Count(span.Reports, len(batch))
	return ctx, step
}

// stored is the result of a transaction.
type stored struct {
	first  []crash.OopsID        // for each report of the batch, the id under which its crash is stored; zero: erased
	now    map[crash.OopsID]bool // reports stored by this transaction
	work   [16]byte              // id of its row of uncounted
	server serverID              // database in which they are stored
}

// saveWithRetries repeats an attempt after a transient error: a deadlock, a lost connection, or a
// missing partition. This is safe even if the failed attempt was committed: no report is stored or
// counted twice.
func (v *saver) saveWithRetries(ctx context.Context, batch []*pendingReport, bodies []bucketMonth) (done stored,
	err error) {
	pause := savePause
	for n := range saveAttempts {
		if n > 0 {
			_ = crash.Sleep(ctx, pause)
			pause *= 4
		}
		if done, err = v.attempt(ctx, batch, bodies, n > 0); err == nil || !transient(err) {
			return done, err
		}
		if missingPartition(err) {
			v.partitions.forget()
		}
	}
	return done, err
}

// transient reports whether another attempt may succeed after err. After a time-out it may not.
func transient(err error) bool {
	switch pgCode(err) {
	case "40001", "40P01", lockNotAvailable: // serialisation failure, deadlock
		return true
	}
	return missingPartition(err) || alreadyStored(err) ||
		isUnavailable(err) && !errors.Is(err, context.DeadlineExceeded)
}

// alreadyStored reports whether err says that a report with this id is stored already.
func alreadyStored(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pg.Code == "23505" && strings.HasPrefix(pg.TableName, "reports_2")
}

// faulty reports whether err is due to the contents: an invalid value, a violated constraint or too
// large a row.
func faulty(err error) bool {
	code := pgCode(err)
	return strings.HasPrefix(code, "22") || strings.HasPrefix(code, "23") || strings.HasPrefix(code, "54")
}

// missingPartition reports whether err says that there is no partition for a row. Such an error has
// no constraint name, unlike one of a violated constraint.
func missingPartition(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pg.Code == "23514" && pg.ConstraintName == ""
}

// attempt stores a batch in one transaction. Each attempt uses a new id for its row of uncounted.
// So if its outcome is lost, it has stored either nothing, or reports that are later counted as
// orphans. Argument again says that some of the batch may be stored already.
func (v *saver) attempt(ctx context.Context, batch []*pendingReport, bodies []bucketMonth, again bool) (done stored,
	err error) {
	ctx, cancel := context.WithTimeout(ctx, saveTimeout)
	defer cancel()
	if err := v.partitions.ensure(ctx, v.store, batch); err != nil {
		return done, err
	}
	done.work = crash.NewOopsID(batch[0].Received())
	err = v.store.Pool.AcquireFunc(ctx, func(c *pgxpool.Conn) error {
		err := v.transact(ctx, c.Conn(), batch, bodies, &done, again)
		if err != nil {
			_, _ = c.Exec(ctx, sqlRollback) // if that fails too, the pool closes the connection
		}
		return err
	})
	if err == nil {
		done.first, err = v.firsts(ctx, batch, done.now)
	}
	return done, err
}

const (
	sqlBegin    = `begin`
	sqlCommit   = `commit`
	sqlRollback = `rollback`
)

// transact makes three round trips: it finds the new reports, copies them, and stores the rows that
// depend on them.
func (v *saver) transact(ctx context.Context, c *pgx.Conn, batch []*pendingReport, bodies []bucketMonth, done *stored,
	again bool) error {
	var read readBodies
	fresh, err := freshReports(ctx, c, batch, bodies, &read, done, again)
	if err != nil {
		return err
	}
	v.store.bodies.decide(fresh, read)
	done.now = make(map[crash.OopsID]bool, len(fresh))
	var last pgx.Batch
	if len(fresh) > 0 {
		if _, err := c.CopyFrom(ctx, pgx.Identifier{"reports"}, reportRowColumns, &copyRows{reports: fresh}); err != nil {
			return err
		}
		last.Queue(sqlSaveWork, pgx.NamedArgs{"work": done.work, "ids": column(fresh, reportID)})
		var newBuckets []*pendingReport
		for _, p := range fresh {
			done.now[p.ID] = true
			if p.bucket == nil {
				continue
			}
			if _, ok := v.buckets.find(done.server, *p.bucket); !ok {
				newBuckets = append(newBuckets, p)
			}
		}
		if len(newBuckets) > 0 {
			args := newBucketArgs(newBuckets)
			last.Queue(sqlSaveBuckets, args)
			last.Queue(sqlLinkExpected, args)
		}
	}
	last.Queue(sqlCommit)
	return c.SendBatch(ctx, &last).Close()
}

func reportID(p *pendingReport) [16]byte { return p.ID }

// freshReports begins a transaction and returns the reports to store in it: the first of each
// crash, and all reports without a duplicate key. It sets done.server, and reads what is stored of bodies.
func freshReports(ctx context.Context, c *pgx.Conn, batch []*pendingReport, bodies []bucketMonth, read *readBodies,
	done *stored, again bool) (fresh []*pendingReport, err error) {
	var keys [][]byte
	var keyed [][16]byte
	var systems []string
	for _, p := range batch {
		if p.duplicateKey != nil {
			keys, keyed = append(keys, p.duplicateKey), append(keyed, p.ID)
			systems = append(systems, string(p.System))
		}
	}
	first, stored := map[crash.OopsID]bool{}, map[crash.OopsID]bool{}
	collect := func(ids map[crash.OopsID]bool) func(pgx.Rows) error {
		return func(rows pgx.Rows) error {
			var id [16]byte
			_, err := pgx.ForEachRow(rows, []any{&id}, func() error { ids[id] = true; return nil })
			return err
		}
	}
	var b pgx.Batch
	b.Queue(sqlBegin)
	b.Queue(sqlShareErasing, pgx.NamedArgs{"lock": eraseLock})
	b.Queue(sqlServerID).QueryRow(func(row pgx.Row) error { return row.Scan(done.server.columns()...) })
	if len(keys) > 0 {
		b.Queue(sqlSaveKeys, pgx.NamedArgs{"keys": keys, "ids": keyed, "systems": systems}).Query(collect(first))
	}
	if len(bodies) > 0 {
		read.queue(&b, bodies)
	}
	if again {
		b.Queue(sqlStoredReports, ReportsArgs(column(batch, reportID))).Query(collect(stored))
	}
	if err := c.SendBatch(ctx, &b).Close(); err != nil {
		return nil, err
	}
	for _, p := range batch {
		if (p.duplicateKey == nil || first[p.ID]) && !stored[p.ID] {
			fresh = append(fresh, p)
			stored[p.ID] = true
		}
	}
	return fresh, nil
}

// firsts returns, for each report of a batch, the id under which its crash is stored. It returns a zero
// id for a report that was erased, or whose machine is blocked.
func (v *saver) firsts(ctx context.Context, batch []*pendingReport, stored map[crash.OopsID]bool) ([]crash.OopsID,
	error) {
	first := make([]crash.OopsID, len(batch))
	var keys [][]byte
	for i, p := range batch {
		first[i] = p.ID
		if !stored[p.ID] && p.duplicateKey != nil {
			keys = append(keys, p.duplicateKey)
		}
	}
	if len(keys) == 0 {
		return first, nil
	}
	byKey := map[crash.ReportKey]crash.OopsID{}
	var key []byte
	var id [16]byte
	if err := Each(ctx, v.store.Pool, sqlFirstReports, pgx.NamedArgs{"keys": keys}, []any{&key, &id}, func() {
		byKey[crash.ReportKey(key)] = id
	}); err != nil {
		return nil, err
	}
	for i, p := range batch {
		if !stored[p.ID] && p.duplicateKey != nil {
			first[i] = byKey[p.DuplicateKey]
		}
	}
	return first, nil
}

const (
	// sqlSaveKeys stores the keys of a batch. It returns the reports that are the first of their
	// crash, in the batch and in the database, unless they were erased or their machine is blocked. It
	// inserts keys in order, so that two writers cannot deadlock.
	sqlSaveKeys = `
		insert into report_keys (key, report_id)
		select distinct on (key) key, id
		from unnest(@keys::bytea[], @ids::uuid[], @systems::text[]) as t (key, id, system)
		where not exists (
				select from erased_reports as e where e.digest = sha256((select key from erasure_key) || t.key)
			) and not exists (select from erasures as e where e.blocked and e.digest = system_digest(t.system))
		order by key, id
		on conflict do nothing
		returning report_id`
	// sqlStoredReports selects the reports of a batch that are stored already.
	sqlStoredReports = `
		select r.id from unnest(@ids::uuid[], @received::timestamptz[]) as m (id, received)
			join reports as r on ` + AmongReports
	// sqlSaveWork lists the reports that this transaction stores, to be counted once each.
	sqlSaveWork = `insert into uncounted (id, reports) values (@work, @ids)`
	// sqlSaveBuckets stores all buckets that are not cached as stored, so that every report has its
	// bucket. It leaves out stored ones first, because "on conflict" waits for a transaction that is
	// changing the row. An erasure that changes it waits for this transaction in turn (see eraseLock).
	sqlSaveBuckets = `
		insert into buckets (
			id, head, signature, rule, provisional, problem_type, title, executable, package, source_package, changed)
		select distinct on (id)
			id, id, signature, rule, provisional, problem_type, title, executable, package, source_package, 0
		from unnest(
			@id::bytea[], @report::uuid[], @signature::text[], @rule::text[], @provisional::boolean[],
			@problem_type::text[], @title::text[], @executable::text[], @package::text[], @source_package::text[]
		) as n (id, report, signature, rule, provisional, problem_type, title, executable, package, source_package)
		where not exists (select from buckets as b where b.id = n.id)
		order by id, report desc
		on conflict do nothing`
	// sqlLinkExpected links buckets to the bugs that were imported before their first report.
	sqlLinkExpected = `
		with expected as (
				delete from lost_bugs as l using bugs where l.bucket_id = any(@id::bytea[]) and number = bug_number
				returning l.bucket_id, bug_number
			), watched as (
				insert into bug_states (number, next_read) select distinct bug_number, now() from expected
				on conflict do nothing
			)
		insert into bucket_bugs (bucket_id, bug_number, how, person, at)
		select bucket_id, bug_number, 'linked', '', now() from expected
		on conflict do nothing`
	// sqlFirstReports selects the stored reports of crashes.
	sqlFirstReports = `select key, report_id from report_keys where key = any(@keys::bytea[])`
)

func newBucketArgs(first []*pendingReport) pgx.NamedArgs {
	return pgx.NamedArgs{
		"id":             column(first, func(p *pendingReport) []byte { return p.bucket[:] }),
		"report":         column(first, func(p *pendingReport) [16]byte { return p.ID }),
		"signature":      column(first, func(p *pendingReport) string { return p.Grouping.Signature }),
		"rule":           column(first, func(p *pendingReport) string { return string(p.Grouping.Rule) }),
		"provisional":    column(first, func(p *pendingReport) bool { return p.Grouping.Provisional }),
		"problem_type":   column(first, func(p *pendingReport) string { return p.ProblemType }),
		"title":          column(first, func(p *pendingReport) string { return p.Title }),
		"executable":     column(first, func(p *pendingReport) string { return p.Executable }),
		"package":        column(first, func(p *pendingReport) string { return p.Package }),
		"source_package": column(first, func(p *pendingReport) string { return p.SourcePackage }),
	}
}

// copyRows implements pgx.CopyFromSource. COPY takes half of PostgreSQL's time for an INSERT of
// arrays.
type copyRows struct {
	reports []*pendingReport
	values  []any
}

var reportRowColumns = []string{
	"rules", "id", "received", "occurred", "day", "counted", "system", "system_key", "bucket_id", "unbucketed", "rule",
	"problem_type", "title", "executable", "package", "version", "source_package", "release", "architecture",
	"package_architecture",
	"address_signature", "proposed", "complete", "quality", "body",
}

// Next implements pgx.CopyFromSource.
func (r *copyRows) Next() bool {
	if len(r.reports) == 0 {
		return false
	}
	p := r.reports[0]
	r.reports = r.reports[1:]
	body, quality := p.body, p.Quality
	if p.bodyless {
		body, quality = nil, noBody
	}
	r.values = append(r.values[:0],
		grouping.RulesVersion, (*[16]byte)(&p.ID), p.Received(), p.occurred, p.Day, p.Counted, (*string)(&p.System),
		p.systemKey, p.bucket, &p.Grouping.Reason, (*string)(&p.Grouping.Rule),
		&p.ProblemType, &p.Title, &p.Executable, &p.Package, &p.Version,
		&p.SourcePackage, (*string)(&p.Release), &p.Architecture, &p.PackageArchitecture, &p.AddressSignature, p.Proposed,
		p.Complete, quality, body)
	return true
}

// Values implements pgx.CopyFromSource.
func (r *copyRows) Values() ([]any, error) { return r.values, nil }

// Err implements pgx.CopyFromSource.
func (r *copyRows) Err() error { return nil }
