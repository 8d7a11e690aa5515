// Package db stores all data in PostgreSQL. It stores reports, counts them in rounds, loads the
// index of problems, and records decisions about problems. The packages below it hold the SQL of
// other areas; they embed [Handle], or [Store] if they also need its reads. An exported method does
// one job, in at most one transaction. Package db knows nothing about HTTP, pages or the tracker,
// and makes no external calls while a transaction is open.
//
// Methods return the kinds of error that their comments name. Each may also return
// [crash.Unavailable] if the database is unavailable; any other error is internal.
package db

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"

	"mishap/crash"
	"mishap/crash/cache"
	"mishap/crash/privacy"
	"mishap/crash/span"
	"mishap/db/reader"
)

// Config selects the database and configures the store.
type Config struct {
	URL      string // URL or key=value form
	MaxConns int32  // maximum number of connections; 0 means pgx's default, four or the number of cores
	Log      *slog.Logger
	Now      func() time.Time   // returns the current time; nil means time.Now
	Privacy  *privacy.Table     // which fields are secret; nil means the built-in table
	Rights   crash.RightsConfig // that people have beside those that administrators give them

	Tracer     *span.Tracer    // records rounds and batches; nil means none
	Statements pgx.QueryTracer // records statements; nil means none
}

// Store gives access to the database. It is safe for concurrent use.
type Store struct {
	*Handle

	reading    *readBudget
	saver      *saver
	counter    *counter
	indexCache *indexCache

	privacy *privacy.Table

	answerDelay time.Duration // see usualAnswerDelay

	counts *cache.Cache[stamp]            // see CachedCounts
	names  rowCache[crash.BucketID, bool] // provisional buckets whose names are stored
	spans  cachedSpans                    // periods in which machines are active
}

// sessionSettings are PostgreSQL settings of each connection, unless the URL sets them. They
// prevent endless statements, and make dates in SQL UTC dates.
var sessionSettings = map[string]string{
	"application_name":                    "mishap",
	"timezone":                            "UTC",
	"statement_timeout":                   "30s",
	"idle_in_transaction_session_timeout": "60s",
}

// NoTimeLimit is a statement that lets the later ones of its transaction take any time, because they
// read whole tables.
const NoTimeLimit = `set local statement_timeout = 0`

// Open connects to the database, checks that it answers, and starts the background writers. It does
// not migrate. It returns Invalid for an invalid URL, and Unavailable if the database does not
// answer or has another schema.
func Open(ctx context.Context, c Config) (*Store, error) {
	pc, err := ParseURL(c.URL)
	if err != nil {
		return nil, err
	}
	if c.MaxConns > 0 {
		pc.MaxConns = c.MaxConns
	}
	for name, value := range sessionSettings {
		if _, given := pc.ConnConfig.RuntimeParams[name]; !given {
			pc.ConnConfig.RuntimeParams[name] = value
		}
	}
	pc.AfterConnect, pc.PrepareConn = timesInUTC, reader.Prepare
	pc.ConnConfig.Tracer = c.Statements
	var pool *pgxpool.Pool
	dropFrozen(pc, func() { pool.Reset() })
	pool, err = pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	h, err := newHandle(ctx, pool, c)
	if err != nil {
		pool.Close()
		return nil, err
	}
	s := &Store{
		Handle: h, reading: newReadBudget(), indexCache: newIndexCache(),
		counts: cache.New[stamp](maxCountBytes, 0), answerDelay: usualAnswerDelay,
		privacy: c.Privacy,
	}
	s.names.limit, s.spans.limit = maxCachedNames, maxCachedSpans
	if err := s.Ping(ctx); err != nil {
		pool.Close()
		return nil, err
	}
	s.counter = newCounter(s)
	s.counter.start(ctx)
	s.saver = startSaver(ctx, s)
	return s, nil
}

// Close stores and counts all accepted reports, then closes the connections. Calls that are still
// running return Unavailable. Close may be called more than once.
func (s *Store) Close() {
	s.counter.release()
	s.saver.close()
	s.counter.close()
	s.indexCache.background.Wait()
	s.instance.close()
	s.Pool.Close()
}

// Ping returns Unavailable if the database does not answer, or has a schema that this program
// cannot work with.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.Pool.Ping(ctx); err != nil {
		return errUnavailable.Because(err)
	}
	return s.checkSchema(ctx)
}

// timesInUTC makes pgx return all timestamps in UTC.
func timesInUTC(_ context.Context, conn *pgx.Conn) error {
	conn.TypeMap().RegisterType(&pgtype.Type{
		Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC},
	})
	return nil
}

// OrZero returns a scan target that sets *t to a time, or to the zero time for null.
func OrZero(t *time.Time) *nullTime { return (*nullTime)(t) }

type nullTime time.Time

// ScanTimestamptz implements [pgtype.TimestamptzScanner].
func (t *nullTime) ScanTimestamptz(v pgtype.Timestamptz) error {
	*t = nullTime(v.Time)
	if !v.Valid {
		*t = nullTime{}
	}
	return nil
}

// ScanTo returns a scan target that copies a bytea to dst. The scan fails if their lengths differ.
func ScanTo(dst []byte) *fixedBytes { return (*fixedBytes)(&dst) }

type fixedBytes []byte

// ScanBytes implements [pgtype.BytesScanner].
func (b *fixedBytes) ScanBytes(v []byte) error {
	if len(v) != len(*b) {
		return fmt.Errorf("got %d bytes, want %d", len(v), len(*b))
	}
	copy(*b, v)
	return nil
}

// OrNull returns a pointer to t, or nil if t is zero.
func OrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// Handle is the part of a [Store] that all packages below db need. They embed it in stores of their
// own.
type Handle struct {
	Pool *pgxpool.Pool
	Log  *slog.Logger
	Now  func() time.Time
	// Rights are those of people beside the ones that administrators give them.
	Rights crash.RightsConfig

	instance *instance             // shows other instances that this one is alive
	password string                // of the database; it encrypts the tracker's secrets
	inserter *river.Client[pgx.Tx] // inserts jobs into the queue
	audited  recentAudits
	tracer   *span.Tracer
}

func newHandle(ctx context.Context, pool *pgxpool.Pool, c Config) (*Handle, error) {
	inserter, err := newInserter(pool)
	if err != nil {
		return nil, err
	}
	h := &Handle{
		Pool: pool, Log: cmp.Or(c.Log, slog.New(slog.DiscardHandler)), Now: c.Now,
		instance: newInstance(ctx, pool.Config().ConnConfig), password: pool.Config().ConnConfig.Password, inserter: inserter,
		tracer: c.Tracer, Rights: c.Rights,
	}
	if h.Now == nil {
		h.Now = time.Now
	}
	h.Rights.GroupsMaxAge = cmp.Or(h.Rights.GroupsMaxAge, crash.GroupsMaxAge)
	return h, nil
}

const sqlReadOnly = `select set_config('default_transaction_read_only', 'on', false)`

// OpenReadOnly connects to the database without background work, in sessions that cannot write. It
// neither migrates nor checks the schema; [Handle.Inspect] does. It returns Invalid for an invalid
// URL. Close the pool afterwards.
func OpenReadOnly(ctx context.Context, url string) (*Handle, error) {
	pc, err := ParseURL(url)
	if err != nil {
		return nil, err
	}
	pc.MaxConns = 1
	pc.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, sqlReadOnly)
		return err
	}
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	h, err := newHandle(ctx, pool, Config{})
	if err != nil {
		pool.Close()
	}
	return h, err
}

// InTx runs fn in a transaction. It commits if fn returns nil, and otherwise rolls back.
func (h *Handle) InTx(ctx context.Context, fn func(pgx.Tx) error) error {
	return Classify(pgx.BeginFunc(ctx, h.Pool, fn))
}

// InstanceNumber returns the number under which this instance claims work. Other instances may take
// over the work once this one no longer holds the lock on the number.
func (h *Handle) InstanceNumber(ctx context.Context) (int64, error) { return h.instance.number(ctx) }
