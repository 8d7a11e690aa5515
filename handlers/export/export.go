// Package export sends lists as files (CSV, JSON) and feeds (Atom).
package export

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"iter"
	"net/http"
	"strings"
	"sync"
	"time"

	"mishap/crash"
	"mishap/handlers/negotiate"
	"mishap/handlers/web"
)

// ExportTime is the longest that an export may take, the reading of a slow client included.
const ExportTime = 15 * time.Minute

// Table is a list as it is exported. Rows are made one after the other, as they are written.
type Table struct {
	Title   string
	Path    string // of the page, with its query
	Columns []string
	Rows    iter.Seq2[Row, error]
}

// Row is one line of a table: a value for each column (string, int, int64 or time.Time), and what feeds say of it.
type Row struct {
	Cells   []any
	Path    string    // of its page: also what tells it from others, for ever
	Title   string    // one line
	Summary string    // a few sentences
	First   time.Time // since when there is it
	Last    time.Time // when something happened to it last
}

// Export sends a table. Nothing is made and sent when the client has it already. own is what the table depends on besides what
// everybody sees, such as whom it is for; when that changed is not known.
func (s *Exporter) Export(w http.ResponseWriter, r *http.Request, format, own string, make func(context.Context) (Table, error)) error {
	revision, err := s.Store.Revision(r.Context())
	if err != nil {
		return err
	}
	changed := s.revisions.since(revision+s.Now().UTC().Format(time.DateOnly), s.Now())
	sum := sha256.Sum256([]byte(strings.Join([]string{
		revision, s.Now().UTC().Format(time.DateOnly), format, r.URL.RequestURI(), string(web.CurrentUser(r).Role), own,
	}, "\n")))
	h := w.Header()
	h.Set("ETag", `W/"`+hex.EncodeToString(sum[:12])+`"`)
	var modified time.Time
	if own == "" {
		modified = changed
		h.Set("Last-Modified", modified.Format(http.TimeFormat))
	}
	h.Set("Cache-Control", "no-cache")
	if web.CurrentUser(r).ID != 0 {
		h.Set("Cache-Control", "private, no-cache")
	}
	h.Add("Vary", "Accept")
	if notModified(r, h.Get("ETag"), modified) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), ExportTime)
	defer cancel()
	asked := r.Context()
	defer context.AfterFunc(asked, func() {
		if context.Cause(asked) == context.Canceled { //nolint:errorlint // the very error: the client has gone
			cancel()
		}
	})()
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(ExportTime)) // as far as the server can
	t, err := make(ctx)
	if err != nil {
		h.Del("ETag")
		h.Del("Last-Modified")
		return err
	}
	h.Set("Content-Type", web.ExportTypes[format])
	if format == "csv" {
		h.Set("Content-Disposition", `attachment; filename="`+fileName(t.Path)+`.csv"`)
	}
	if r.Method == http.MethodHead {
		w.WriteHeader(http.StatusOK)
		return nil
	}
	return s.writeTable(w, r, format, t, changed)
}

// notModified reports whether the client has what it would be sent. An entity tag counts more than a time; the zero time is not
// known.
func notModified(r *http.Request, tag string, changed time.Time) bool {
	if sent := r.Header.Get("If-None-Match"); sent != "" {
		return negotiate.Matches(sent, tag)
	}
	since, err := http.ParseTime(r.Header.Get("If-Modified-Since"))
	return err == nil && !changed.IsZero() && !changed.After(since)
}

// fileName is a name for the file of a page.
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

// revisions remembers when this unit first saw the state of things as it is.
type revisions struct {
	mu    sync.Mutex
	word  string
	first time.Time
}

// since is when this unit first saw a revision: never before it was made, and later than that of the one before.
func (v *revisions) since(word string, now time.Time) time.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	if word != v.word {
		from := now.UTC().Truncate(time.Second).Add(time.Second)
		if !from.After(v.first) {
			from = v.first.Add(time.Second)
		}
		v.word, v.first = word, from
	}
	return v.first
}

// Pages makes one sequence of a list that is read page by page, each beginning below the last row of the one before.
func Pages[T any](read func(after *T) ([]T, error), make func(T) Row) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		var after *T
		for {
			list, err := read(after)
			if err != nil {
				yield(Row{}, err)
				return
			}
			for i := range list {
				if !yield(make(list[i]), nil) {
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

// ExportPage is how many rows are read at once.
const ExportPage = 500

// ErrNoFormat is the answer to an ending that is none.
var ErrNoFormat = crash.Errorf(crash.NotFound, "no_page", "There is no such file: lists are to be had as .csv, .json and .atom.")

// Exporter sends lists as files and feeds.
type Exporter struct {
	*web.Kit
	revisions revisions
}
