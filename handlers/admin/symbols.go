package admin

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"mishap/crash"
	"mishap/db/symbols"
	"mishap/handlers/export"
	"mishap/handlers/web"
	view "mishap/views/admin"
	"mishap/views/layout"
	problemsview "mishap/views/problems"
)

// Rows on a page.
const (
	shownMissing = 25
	shownJobs    = 20
)

// ShowSymbols shows which instances symbolise, which symbols are missing, and the queue. The query
// contains the state of the jobs, and from which row on to show both lists.
func (s *Pages) ShowSymbols(w http.ResponseWriter, r *http.Request) error {
	if format := web.AcceptedExport(r); format != "" {
		return s.ExportSymbols(w, r, format)
	}
	p := view.SymbolsPage{MissingSize: shownMissing, MissingJobs: symbols.MaxMissingJobs, QueueSize: shownJobs}
	var err error
	q := r.URL.Query()
	if p.MissingFrom, err = offset(q, "missing"); err != nil {
		return err
	}
	if p.QueueFrom, err = offset(q, "queue"); err != nil {
		return err
	}
	if state := q.Get("state"); state != "" {
		var ok bool
		if p.State, ok = view.SymbolStateOf(state); !ok {
			return crash.Errorf(crash.Invalid, "unknown_state", "%q is not a state of symbolising.", state)
		}
	}
	if p.Workers, err = s.Symbols.Workers(r.Context()); err != nil {
		return err
	}
	if p.Totals, err = s.Symbols.SymbolTotals(r.Context()); err != nil {
		return err
	}
	p.MissingCapped = p.Totals.Wanting() > symbols.MaxMissingJobs
	if p.Missing, p.MissingTotal, err = s.Symbols.MissingSymbols(r.Context(), shownMissing, p.MissingFrom); err != nil {
		return err
	}
	if p.Queue, err = s.Symbols.SymbolQueue(r.Context(), p.State, shownJobs+1, p.QueueFrom); err != nil {
		return err
	}
	if p.QueueMore = len(p.Queue) > shownJobs; p.QueueMore {
		p.Queue = p.Queue[:shownJobs]
	}
	p.Shell = s.web.Shell(r, "Symbols")
	return s.web.Page(w, r, http.StatusOK, view.SymbolsAdmin(p))
}

// maxOffset limits the row from which a list is shown.
const maxOffset = 1_000_000

func offset(q url.Values, name string) (int, error) {
	value := q.Get(name)
	if value == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 || n > maxOffset {
		return 0, web.ErrBadCursor
	}
	return n, nil
}

// exportedMissing is the largest number of missing symbols in a file.
const exportedMissing = 10_000

// ExportSymbols sends the missing symbols as a file or feed. The table depends on jobs, which change
// without the revision of the data. So the time takes part in its entity tag.
func (s *Pages) ExportSymbols(w http.ResponseWriter, r *http.Request, format string) error {
	version := s.web.Now().Format(time.RFC3339Nano)
	return s.exporter.Export(w, r, format, version, func(ctx context.Context) (export.Table, error) {
		list, _, err := s.Symbols.MissingSymbols(ctx, exportedMissing, 0)
		return export.Table{Title: "Missing symbols", Path: layout.PathSymbols, Columns: missingColumns,
			Rows: func(yield func(export.Row, error) bool) {
				for _, m := range list {
					if !yield(missingRow(m), nil) {
						return
					}
				}
			}}, err
	})
}

// missingColumns are the columns of the missing symbols.
var missingColumns = []string{"reports", "problems", "kind", "path", "build_id", "architecture", "package", "version",
	"command", "searched"}

func missingRow(m crash.MissingSymbol) export.Row {
	id := url.Values{"kind": {string(m.Kind)}, "build": {m.BuildID}, "path": {m.Path}, "package": {m.Package},
		"version": {m.Version}, "architecture": {m.Architecture}}
	summary := fmt.Sprintf("%s of %s would get names.", crash.Counted(m.Reports, "report", "reports"),
		crash.Counted(m.Problems, "problem", "problems"))
	if command := m.Command(); command != "" {
		summary += " " + command
	}
	return export.Row{
		Cells: []any{m.Reports, m.Problems, string(m.Kind), m.Path, m.BuildID, m.Architecture, m.Package, m.Version,
			m.Command(), problemsview.Searched(m.Searched)},
		Path: layout.PathSymbols + "?" + id.Encode(), Title: m.Path + " " + string(m.Kind), Summary: summary,
	}
}
