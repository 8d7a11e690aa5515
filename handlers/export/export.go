// Package export sends lists as files (CSV, JSON) and feeds (Atom).
package export

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"sync"
	"time"

	"mishap/crash"
	"mishap/db"
	"mishap/db/reader"
	"mishap/handlers/negotiate"
	"mishap/handlers/web"
)

// ExportTime is the maximum duration of an export, including the time in which a slow client
// reads it.
const ExportTime = 15 * time.Minute

// Table is a list to export. Its rows are generated while they are written.
type Table struct {
	Title   string
	Path    string // path of the page, with its query
	Columns []string
	Rows    iter.Seq2[Row, error]
}

// Row is one row of a table: a value for each column (string, int, int64 or time.Time), and the
// fields of its feed entry.
type Row struct {
	Cells   []any
	Path    string    // path of its page, which also identifies it permanently
	Title   string    // one line
	Summary string    // a few sentences
	First   time.Time // start of its existence
	Last    time.Time // latest event
}

// Export sends a table in a format. If the client's copy is current, it answers 304 and does not
// call build. private names what the table depends on besides public data, such as the account
// that reads it; such a table has no Last-Modified header, because its time of change is
// unknown.
func (s *Exporter) Export(w http.ResponseWriter, r *http.Request, format, private string,
	build func(context.Context) (Table, error),
) error {
	revision, err := s.store.Revision(r.Context())
	if err != nil {
		return err
	}
	changed := s.revisions.since(revision+s.web.Now().UTC().Format(time.DateOnly), s.web.Now())
	u := web.CurrentUser(r)
	sum := sha256.Sum256([]byte(strings.Join([]string{
		revision, s.web.Now().UTC().Format(time.DateOnly), format, r.URL.RequestURI(), string(u.Role),
		fmt.Sprint(u.Private), private, reader.Key(r.Context()),
	}, "\n")))
	h := w.Header()
	h.Set("ETag", `W/"`+hex.EncodeToString(sum[:12])+`"`)
	var modified time.Time
	if private == "" {
		modified = changed
		h.Set("Last-Modified", modified.Format(http.TimeFormat))
	}
	h.Set("Cache-Control", "no-cache")
	if u.ID != 0 {
		h.Set("Cache-Control", "private, no-cache")
	}
	h.Add("Vary", "Accept")
	tag := h.Get("ETag")
	if notModified(r, tag, modified) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	if u.ID == 0 {
		return s.web.PublicFile(w, r, revision+s.web.Now().UTC().Format(time.DateOnly), tag, ExportTime,
			func(ctx context.Context, w http.ResponseWriter, rest func() error) error {
				t, err := build(ctx)
				if err != nil {
					return err
				}
				w.Header().Set("Last-Modified", modified.Format(http.TimeFormat))
				describe(w, format, t)
				t.Rows = restingRows(t.Rows, rest)
				return s.writeTable(w, r, format, t, changed)
			})
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), ExportTime)
	defer cancel()
	request := r.Context()
	defer context.AfterFunc(request, func() {
		if context.Cause(request) == context.Canceled { //nolint:errorlint // exactly this error: the client disconnected
			cancel()
		}
	})()
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(ExportTime)) // not every writer supports it
	t, err := build(ctx)
	if err != nil {
		return err
	}
	describe(w, format, t)
	if r.Method == http.MethodHead {
		w.WriteHeader(http.StatusOK)
		return nil
	}
	return s.stream(w, r, format, t, changed)
}

// describe sets the headers that say what a file is.
func describe(w http.ResponseWriter, format string, t Table) {
	w.Header().Set("Content-Type", web.ExportTypes[format])
	if format == "csv" {
		w.Header().Set("Content-Disposition", `attachment; filename="`+fileName(t.Path)+`.csv"`)
	}
}

// restingRows returns rows that calls rest before each row.
func restingRows(rows iter.Seq2[Row, error], rest func() error) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for row, err := range rows {
			if err == nil {
				err = rest()
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}

// notModified reports whether the client's copy is current. An entity tag takes precedence over
// a time. The zero time means that the time of change is unknown.
func notModified(r *http.Request, tag string, changed time.Time) bool {
	if sent := r.Header.Get("If-None-Match"); sent != "" {
		return negotiate.Matches(sent, tag)
	}
	since, err := http.ParseTime(r.Header.Get("If-Modified-Since"))
	return err == nil && !changed.IsZero() && !changed.After(since)
}

// fileName returns a file name, without extension, for the page at path.
func fileName(path string) string {
	path, _, _ = strings.Cut(strings.Trim(path, "/"), "?")
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, path)
	if name = strings.Trim(name, "-."); name == "" {
		return "problems"
	}
	return name[:min(len(name), 100)]
}

// revisions records when this instance first saw the current revision.
type revisions struct {
	mu       sync.Mutex
	revision string
	first    time.Time
}

// since returns when this instance first saw a revision, rounded up to a full second. The time
// of each revision is later than that of the previous one.
func (v *revisions) since(revision string, now time.Time) time.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	if revision != v.revision {
		from := now.UTC().Truncate(time.Second).Add(time.Second)
		if !from.After(v.first) {
			from = v.first.Add(time.Second)
		}
		v.revision, v.first = revision, from
	}
	return v.first
}

// Pages returns the rows of a list that read returns page by page. Each page begins after the
// last element of the previous one.
func Pages[T any](read func(after *T) ([]T, error), rowOf func(T) Row) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		var after *T
		for {
			list, err := read(after)
			if err != nil {
				yield(Row{}, err)
				return
			}
			for i := range list {
				if !yield(rowOf(list[i]), nil) {
					return
				}
			}
			if len(list) < ExportPage {
				return
			}
			after = &list[len(list)-1]
		}
	}
}

// New returns an Exporter.
func New(kit *web.Kit, store *db.Store) *Exporter { return &Exporter{web: kit, store: store} }

// ExportPage is the number of rows that an export reads at once.
const ExportPage = 500

// ErrNoFormat is the error for a file extension that is not an export format.
var ErrNoFormat = crash.Errorf(crash.NotFound, "no_page",
	"There is no such file: lists are to be had as .csv, .json and .atom.")

// Exporter sends lists as files and feeds.
type Exporter struct {
	web       *web.Kit
	store     *db.Store
	revisions revisions
}
