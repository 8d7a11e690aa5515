package db

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
)

// A reader hides embargoed problems from people without the right to see them. A context says
// for whom the program reads. While it reads for somebody from whom problems are hidden, each
// connection to the database uses the views of the schema visible instead of the tables, so no
// statement can return a trace of these problems. A context without a reader sees everything, as
// counting, rules and commands need.

// embargoed are the buckets of all embargoed problems: pairs of a bucket and a source package. Only
// people with the private right for each package of a bucket may see it.
type embargoed struct {
	Buckets [][]byte
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
		if !sees.Include(r.all.Sources[i]) && len(id) == len(crash.BucketID{}) {
			hidden = append(hidden, crash.BucketID(id))
		}
	}
	slices.SortFunc(hidden, compareIDs)
	return slices.Compact(hidden), true
}

// HiddenKey returns a text that identifies what the reader of a context must not see, for keys of caches.
// It is empty if nothing is hidden. The hidden problems must be known.
func HiddenKey(ctx context.Context) string {
	hidden, _ := ReaderOf(ctx).Hidden()
	return string(bytes.Join(IDBytes(hidden), nil))
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
