package db

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"mishap/crash"
	"mishap/crash/cache"
	"mishap/crash/index"
)

// serverID identifies a database: by the start time of its server and the oid of the database.
// Caches are keyed by it. After a failover or a restore, the database may lack rows that an
// instance has cached, and its serverID differs. It also differs after an erasure has deleted rows.
type serverID struct {
	started  serverStart
	database uint32 // the oid
	erasures int64
}

// columns returns where to scan serverIDColumns.
func (id *serverID) columns() []any { return []any{&id.started, &id.database, &id.erasures} }

// serverStart is a time in microseconds since 1970.
type serverStart int64

// ScanTimestamptz implements [pgtype.TimestamptzScanner].
func (s *serverStart) ScanTimestamptz(v pgtype.Timestamptz) error {
	*s = serverStart(v.Time.UnixMicro())
	return nil
}

// serverIDColumns select a serverID from the table counting. They add only a few microseconds to a
// statement.
const serverIDColumns = `
	pg_postmaster_start_time(), (select oid from pg_database where datname = current_database()), erasures`

// sqlServerID selects only a serverID.
const sqlServerID = `select ` + serverIDColumns + ` from counting`

func (id serverID) String() string {
	return strconv.FormatInt(int64(id.started), 36) + "." + strconv.FormatUint(uint64(id.database), 36) + "." +
		strconv.FormatInt(id.erasures, 36)
}

// stamp identifies a state of the counts. For one serverID, round only increases.
type stamp struct {
	server serverID
	round  int64
}

// rowCache caches rows of the database, so that they need not be written again. It is safe for
// concurrent use, and its zero value is empty. Without the caches of buckets, names and spans, a report
// takes 7% more processor time at the highest rate and 16% more at 300 reports per second (measured by
// devtool bench programs).
type rowCache[K comparable, V any] struct {
	limit int // number of rows at which the cache is cleared

	mu     sync.Mutex
	server serverID
	rows   map[K]V
}

// find returns the cached row with a key, if it is from this server.
func (s *rowCache[K, V]) find(server serverID, key K) (V, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.server != server {
		var none V
		return none, false
	}
	v, ok := s.rows[key]
	return v, ok
}

// add caches committed rows of a server. It removes the rows of any other server.
func (s *rowCache[K, V]) add(server serverID, rows map[K]V) {
	if len(rows) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rows == nil || s.server != server || len(s.rows)+len(rows) > s.limit {
		s.server, s.rows = server, make(map[K]V, len(rows))
	}
	for key, value := range rows {
		s.rows[key] = value
	}
}

const (
	sqlRevision = `
		select c.round, concat_ws('.', n.rows, n.ids), ` + serverIDColumns + `, ` + embargoedColumns + `
		from counting as c, ` + embargoedTable +
		` as e, (select count(*) as rows, coalesce(sum(id), 0) as ids from changes) as n`
	// sqlDeleteOldChanges keeps changes for an hour, because no transaction takes longer to become
	// visible.
	sqlDeleteOldChanges = `delete from changes where at < now() - interval '1 hour'`
)

// revision identifies a state of everything that pages show.
type revision struct {
	stamp          // state of the counts
	changes string // state of everything else
}

// revision returns the present revision, or the one that [OneRevision] remembers. It tells the reader
// of ctx which problems are embargoed.
func (s *Store) revision(ctx context.Context) (revision, error) {
	seen := &seenRevision{}
	if shared, ok := ctx.Value(seenKey{}).(*seenRevision); ok {
		seen = shared
		seen.mu.Lock()
		defer seen.mu.Unlock()
	}
	if !seen.known {
		columns := append([]any{&seen.round, &seen.changes}, seen.server.columns()...)
		err := s.Pool.QueryRow(Everything(ctx), sqlRevision).Scan(append(columns, &seen.embargoed.Buckets,
			&seen.embargoed.Sources)...)
		if err != nil {
			return revision{}, Classify(err)
		}
		seen.known = true
	}
	ReaderOf(ctx).set(seen.embargoed)
	return seen.revision, nil
}

// seenRevision is the revision that a request sees.
type seenRevision struct {
	mu    sync.Mutex
	known bool
	revision
	embargoed embargoed
}

type seenKey struct{}

// OneRevision returns a context for a request that only reads. Its revision is read once, so that all
// parts of the answer belong together, or to later ones where data are read themselves.
func OneRevision(ctx context.Context) context.Context {
	return context.WithValue(ctx, seenKey{}, &seenRevision{})
}

// SameRevision returns ctx with what [OneRevision] remembers in from, if anything.
func SameRevision(ctx, from context.Context) context.Context {
	if seen, ok := from.Value(seenKey{}).(*seenRevision); ok {
		return context.WithValue(ctx, seenKey{}, seen)
	}
	return ctx
}

// hiddenFrom returns the buckets of the problems that the reader of ctx must not see.
func hiddenFrom(ctx context.Context, s *Store) ([]crash.BucketID, error) {
	r := ReaderOf(ctx)
	hidden, known := r.Hidden()
	if known {
		return hidden, nil
	}
	if _, err := s.revision(ctx); err != nil {
		return nil, fmt.Errorf("embargoed problems: %w", err)
	}
	hidden, _ = r.Hidden()
	return hidden, nil
}

// visible returns the part of an index that the reader of ctx may see.
func visible(ctx context.Context, s *Store, ix *index.Index) (*index.Index, error) {
	hidden, err := hiddenFrom(ctx, s)
	if err != nil {
		return nil, err
	}
	return ix.Without(hidden), nil
}

// Revision returns a text that changes whenever lists or pages change for everyone: with counts,
// problems, bugs and their states, filings, notes, decisions and archive facts. It also changes
// when the database server restarts or is replaced. It does not depend on the order in which
// transactions commit (see migrations/009_changes.sql).
func (s *Store) Revision(ctx context.Context) (string, error) {
	r, err := s.revision(ctx)
	if err != nil {
		return "", fmt.Errorf("revision: %w", err)
	}
	return fmt.Sprintf("%s.%d.%s", r.server, r.round, r.changes), nil
}

// DeleteOldChanges deletes rows of the table changes that [Store.Revision] no longer needs.
func (h *Handle) DeleteOldChanges(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, sqlDeleteOldChanges)
	return Wrap(err, "delete old changes")
}

const (
	maxCountBytes   = 32 << 20         // limit of the cache of counts
	cachedCountTime = 30 * time.Second // longest time to read a value for the cache
)

// hiddenCacheKey is the key of a value for readers from whom problems are hidden.
type hiddenCacheKey struct {
	hidden string
	key    any
}

// CachedCounts returns the value of type V that is cached for a key, or calls read to get it. The
// caller must not modify the result. The value may depend only on data that changes with a counting
// round. The context of read does not end with the caller's, because other callers may wait for the
// same result.
func CachedCounts[V any](ctx context.Context, s *Store, key any, read func(context.Context) (V, error)) (V, error) {
	var none V
	at, err := s.stamp(ctx)
	if err != nil {
		return none, err
	}
	if _, err := hiddenFrom(ctx, s); err != nil {
		return none, err
	}
	if hidden := HiddenKey(ctx); hidden != "" {
		key = hiddenCacheKey{hidden, key}
	}
	return cache.Get(s.counts, at, key, func() (V, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cachedCountTime)
		defer cancel()
		return read(ctx)
	})
}

// A reader hides embargoed problems from people without the right to see them. A context says
// for whom the program reads. While it reads for somebody from whom problems are hidden, each
// connection to the database uses the views of the schema visible instead of the tables, so no
// statement can return a trace of these problems. A context without a reader sees everything, as
// counting, rules and commands need.

// embargoed are the buckets of all embargoed problems: pairs of a bucket and a source package. Only
// people with the private right for each package of a bucket may see it.
type embargoed struct {
	Buckets []crash.BucketID
	Sources []string
}

// embargoedColumns selects an [embargoed]: two columns, from the rows of From. Without embargoed problems,
// they add a few microseconds to a statement.
const (
	embargoedColumns = `e.buckets, e.sources`
	embargoedTable   = `(
		select coalesce(array_agg(m.id), '{}') as buckets, coalesce(array_agg(o.source_package::text), '{}') as sources
		from (
			select distinct b.head, b.source_package
			from public.marks as x join buckets as b on b.id = x.bucket_id
			where x.kind = 'embargo' and x.undone_at is null
		) as o join buckets as m on m.head = o.head
	)`
	sqlEmbargoed = `select ` + embargoedColumns + ` from ` + embargoedTable + ` as e`
)

// Reader is a person or a visitor for whom the program reads. It is safe for concurrent use.
type Reader struct {
	sees func() crash.Packages // whose embargoed problems the person may see at present

	mu     sync.Mutex
	loaded bool
	all    embargoed
}

// NewReader returns a reader that may see the embargoed problems of the packages that sees returns.
func NewReader(sees func() crash.Packages) *Reader { return &Reader{sees: sees} }

type readerKey struct{}

// ReadFor returns a context that reads for r; nil reads everything.
func ReadFor(ctx context.Context, r *Reader) context.Context {
	return context.WithValue(ctx, readerKey{}, r)
}

// Everything returns a context that reads everything. The caller must show nothing of it to people
// without a check of its own.
func Everything(ctx context.Context) context.Context {
	if ReaderOf(ctx) == nil {
		return ctx
	}
	return ReadFor(ctx, nil)
}

// AsVisitor returns a context that reads what visitors may see, for what leaves the site, such
// as comments on bugs and requests to endpoints.
func AsVisitor(ctx context.Context) context.Context {
	visitor := NewReader(func() crash.Packages { return crash.Packages{} })
	if r := ReaderOf(ctx); r != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		visitor.loaded, visitor.all = r.loaded, r.all
	}
	return ReadFor(ctx, visitor)
}

// ReaderOf returns the reader of a context; nil reads everything.
func ReaderOf(ctx context.Context) *Reader {
	r, _ := ctx.Value(readerKey{}).(*Reader)
	return r
}

// set stores which problems are embargoed, for all that the reader reads from now on. It has no
// effect if that is known already, so that a request sees one state.
func (r *Reader) set(all embargoed) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.loaded {
		r.loaded, r.all = true, all
	}
}

// Hidden returns the buckets of the problems that the reader must not see, sorted, and whether they
// are known.
func (r *Reader) Hidden() (hidden []crash.BucketID, known bool) {
	if r == nil {
		return nil, true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.all.Buckets) == 0 {
		return nil, r.loaded
	}
	sees := r.sees()
	for i, id := range r.all.Buckets {
		if !sees.Include(r.all.Sources[i]) {
			hidden = append(hidden, id)
		}
	}
	slices.SortFunc(hidden, compareIDs)
	return slices.Compact(hidden), true
}

// HiddenKey returns a text that identifies what the reader of a context must not see, for keys of caches.
// It is empty if nothing is hidden. The hidden problems must be known.
func HiddenKey(ctx context.Context) string {
	hidden, _ := ReaderOf(ctx).Hidden()
	return literal(hidden)
}

const (
	sqlReset = `select set_config('mishap.hidden', '', false)`
	// sqlHide keeps the search path of the connection behind the views.
	sqlHide = `
		select set_config('mishap.hidden', @hidden, false),
			set_config('search_path', 'visible, ' || current_setting('search_path'), false)`
	sqlResetPath = `reset search_path`
)

// hiddenOf is the key of the hidden problems in the custom data of a connection.
const hiddenOf = "mishap.hidden"

// prepareReader makes a connection hide what the reader of ctx must not see. The pool calls it before each
// use of a connection.
func prepareReader(ctx context.Context, conn *pgx.Conn) (bool, error) {
	data := conn.PgConn().CustomData()
	present, _ := data[hiddenOf].(string)
	r := ReaderOf(ctx)
	hidden, known := r.Hidden()
	if known && literal(hidden) == present {
		return true, nil
	}
	if present != "" {
		if err := Exec(ctx, conn, nil, sqlReset, sqlResetPath); err != nil {
			return false, fmt.Errorf("show all problems: %w", err)
		}
		delete(data, hiddenOf)
	}
	if !known {
		var all embargoed
		if err := conn.QueryRow(ctx, sqlEmbargoed).Scan(&all.Buckets, &all.Sources); err != nil {
			return false, fmt.Errorf("read embargoed problems: %w", err)
		}
		r.set(all)
		hidden, _ = r.Hidden()
	}
	if len(hidden) == 0 {
		return true, nil
	}
	if _, err := conn.Exec(ctx, sqlHide, pgx.NamedArgs{"hidden": literal(hidden)}); err != nil {
		return false, fmt.Errorf("hide embargoed problems: %w", err)
	}
	data[hiddenOf] = literal(hidden)
	return true, nil
}

const (
	sqlShowAll = `
		select current_setting('search_path'), set_config('search_path',
			regexp_replace(current_setting('search_path'), '^visible, ', ''), true)`
	sqlShowPart = `select set_config('search_path', @path, true)`
)

// bare calls do while a transaction uses the tables themselves, to count reports.
func bare(ctx context.Context, tx pgx.Tx, do func() error) error {
	if hidden, _ := ReaderOf(ctx).Hidden(); len(hidden) == 0 {
		return do()
	}
	var path, bare string
	if err := tx.QueryRow(ctx, sqlShowAll).Scan(&path, &bare); err != nil {
		return fmt.Errorf("show all problems: %w", err)
	}
	if err := do(); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, sqlShowPart, pgx.NamedArgs{"path": path}); err != nil {
		return fmt.Errorf("hide embargoed problems: %w", err)
	}
	return nil
}

// literal returns ids as an array of bytea for PostgreSQL; empty if there are none.
func literal(ids []crash.BucketID) string {
	if len(ids) == 0 {
		return ""
	}
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = `"\\x` + hex.EncodeToString(id[:]) + `"`
	}
	return "{" + strings.Join(texts, ",") + "}"
}
