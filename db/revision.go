package db

import (
	"context"
	"fmt"
	"mishap/crash/cache"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// serverID identifies the database that an answer came from: the server, by the time when it was started, and the database on
// it. Everything that an instance remembers of the database is remembered together with the serverID, and counts for nothing
// under another one: after a failover or a restored backup the database may lack what an instance has seen in it.
type serverID struct {
	started  serverStart
	database uint32 // the oid
}

// serverStart is a time in microseconds since 1970.
type serverStart int64

// ScanTimestamptz implements [pgtype.TimestamptzScanner].
func (s *serverStart) ScanTimestamptz(v pgtype.Timestamptz) error {
	*s = serverStart(v.Time.UnixMicro())
	return nil
}

// serverIDColumns select a serverID. They cost a few microseconds, beside other columns of a statement.
const serverIDColumns = `
	pg_postmaster_start_time(), (select oid from pg_database where datname = current_database())`

// sqlServerID asks for nothing else.
const sqlServerID = `select ` + serverIDColumns

func (id serverID) String() string {
	return strconv.FormatInt(int64(id.started), 36) + "." + strconv.FormatUint(uint64(id.database), 36)
}

// stamp says how far the counts of a database have come. Under one serverID, rounds only grow.
type stamp struct {
	server serverID
	round  int64
}

// seen remembers rows that are in the database, so that they need not be written again. It is safe for concurrent use; its
// zero value remembers nothing.
type seen[K comparable, V any] struct {
	most int // how many are remembered; then it begins anew

	mu     sync.Mutex
	server serverID
	rows   map[K]V
}

// find returns what is remembered of a row in a database.
func (s *seen[K, V]) find(server serverID, key K) (V, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.server != server {
		var none V
		return none, false
	}
	v, ok := s.rows[key]
	return v, ok
}

// add remembers rows that are committed in a database, and forgets those of any other.
func (s *seen[K, V]) add(server serverID, rows map[K]V) {
	if len(rows) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rows == nil || s.server != server || len(s.rows)+len(rows) > s.most {
		s.server, s.rows = server, make(map[K]V, len(rows))
	}
	for key, value := range rows {
		s.rows[key] = value
	}
}

const (
	sqlRevision = `
		select c.round, concat_ws('.', n.rows, n.ids), ` + serverIDColumns + `
		from counting as c, (select count(*) as rows, coalesce(sum(id), 0) as ids from changes) as n`
	// No transaction takes so long to become visible.
	sqlDeleteOldChanges = `delete from changes where at < now() - interval '1 hour'`
)

// revision identifies the state of everything that pages show.
type revision struct {
	stamp          // of counting
	changes string // of all else
}

func (s *Store) revision(ctx context.Context) (r revision, err error) {
	err = s.Pool.QueryRow(ctx, sqlRevision).Scan(&r.round, &r.changes, &r.server.started, &r.server.database)
	return r, Classify(err)
}

// Revision returns a word that changes with everything that lists and pages show to everybody:
// counts, problems, bugs and their states, filings, notes, decisions and facts of the archive. It
// also changes with the database server and its start. It does not depend on the order in which
// transactions commit: see migrations/009_changes.sql.
func (s *Store) Revision(ctx context.Context) (string, error) {
	r, err := s.revision(ctx)
	if err != nil {
		return "", fmt.Errorf("revision: %w", err)
	}
	return fmt.Sprintf("%s.%d.%s", r.server, r.round, r.changes), nil
}

// DeleteOldChanges deletes rows of the table changes that [Store.Revision] no longer needs.
func (h *Handle) DeleteOldChanges(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, sqlDeleteOldChanges); err != nil {
		return fmt.Errorf("delete old changes: %w", err)
	}
	return nil
}

const (
	maxCountBytes   = 32 << 20         // limit of the cache of counts
	cachedCountTime = 30 * time.Second // longest time to read a value for the cache
)

// CachedCounts returns the counts of type V about a key, which must not be changed, or calls read.
// Everything that read looks at may change only when reports are counted: the stamp is read first,
// so the counts are at least as new as it says. read gets a context that is not cancelled when the
// caller leaves, since others may wait for the result.
func CachedCounts[V any](ctx context.Context, s *Store, key any, read func(context.Context) (V, error)) (V, error) {
	at, err := s.stamp(ctx)
	if err != nil {
		var none V
		return none, err
	}
	return cache.Get(s.counts, at, key, func() (V, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cachedCountTime)
		defer cancel()
		return read(ctx)
	})
}
