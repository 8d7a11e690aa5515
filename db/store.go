// Package db stores everything in PostgreSQL: it stores reports, counts them in rounds, loads the
// index of problems, and records decisions about problems. The packages below it hold the SQL of
// other areas; they embed [Handle], or [Store] where they also need its reads. An exported method
// does one job, in at most one transaction. The package knows nothing of HTTP, pages or the
// tracker, and calls nothing outside while a transaction is open.
//
// Besides the kinds that a method names in its comment, each may return [crash.Unavailable] when
// the database cannot be reached; any other error is internal.
package db

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"mishap/crash"
	"mishap/crash/cache"
	"mishap/db/body"
	"mishap/db/connect"
)

// Config says which database to use and how.
type Config struct {
	URL      string // postgres://…, or key=value words
	MaxConns int32  // most connections at once; 0: pgx's default, four or the number of cores
	Log      *slog.Logger
	Now      func() time.Time // the clock; nil: time.Now
}

// Store is the database. It is safe for concurrent use.
type Store struct {
	*Handle
	bodies  *body.Codec
	reading *body.Budget
	saver   *saver
	counter *counter
	keeper  *indexKeeper

	counts   *cache.Cache[stamp] // see cachedCounts
	allInUse atomic.Pointer[versionsInUse]
	names    seen[crash.BucketID, bool] // of address signatures, that are in the database
	spans    cachedSpans                // in which machines are active
}

// Session settings; what the URL itself sets wins. No statement of a web request may run for ever, and dates in SQL are
// UTC dates.
var sessionSettings = map[string]string{
	"application_name":                    "mishap",
	"timezone":                            "UTC",
	"statement_timeout":                   "30s",
	"idle_in_transaction_session_timeout": "60s",
}

// Open connects to the database, checks that it answers, and starts the background writers. It does not migrate.
// It returns Invalid for a URL that cannot be read and Unavailable when nothing answers.
func Open(ctx context.Context, c Config) (*Store, error) {
	pc, err := connect.ParseURL(c.URL)
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
	pc.AfterConnect = timesInUTC
	var pool *pgxpool.Pool
	connect.DropFrozen(pc, func() { pool.Reset() })
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
		Handle: h, bodies: body.NewCodec(), reading: body.NewBudget(), keeper: newIndexKeeper(),
		counts: cache.New[stamp](maxCountBytes),
	}
	s.names.most, s.spans.most = maxSeenNames, maxCachedSpans
	if err := s.Ping(ctx); err != nil {
		pool.Close()
		return nil, err
	}
	s.counter = newCounter(s)
	s.counter.start(ctx)
	s.saver = startSaver(ctx, s)
	return s, nil
}

// Close finishes what was accepted, then closes the connections. Calls that are still under way get Unavailable. It may be
// called more than once.
func (s *Store) Close() {
	s.counter.release()
	s.saver.close()
	s.counter.close()
	s.keeper.background.Wait()
	s.instance.close()
	s.Pool.Close()
}

// Ping returns nil when the database answers and has a schema that this program can work with, else Unavailable.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.Pool.Ping(ctx); err != nil {
		return errUnavailable.Because(err)
	}
	return s.checkSchema(ctx)
}

// timesInUTC makes every timestamp that is read a time in UTC.
func timesInUTC(_ context.Context, conn *pgx.Conn) error {
	conn.TypeMap().RegisterType(&pgtype.Type{
		Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC},
	})
	return nil
}
