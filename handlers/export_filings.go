package handlers

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/go-chi/chi/v5"

	"mishap/crash"
	"mishap/views"
)

// exportFilings is the ledger as a file or feed, all of it or the filings in one state.
func (s *bugPages) exportFilings(w http.ResponseWriter, r *http.Request) error {
	format := chi.URLParam(r, "format")
	if exportTypes[format] == "" {
		return errNoFormat
	}
	return s.exportLedger(w, r, format)
}

func (s *bugPages) exportLedger(w http.ResponseWriter, r *http.Request, format string) error {
	filter, err := readLedgerFilter(r.URL.Query())
	if err != nil {
		return err
	}
	filter.After, filter.Limit = crash.LedgerCursor{}, exportPage
	return s.export(w, r, format, "", func(ctx context.Context) (table, error) {
		return table{
			title: "Filings", path: views.FilingsURL(filter.State), columns: filingColumns,
			rows: pages(func(after *crash.LedgerEntry) ([]crash.LedgerEntry, error) {
				from := filter
				if after != nil {
					from.After = crash.LedgerCursor{Created: after.Created, ID: after.ID}
				}
				return s.store.Ledger(ctx, from)
			}, s.filingRow),
		}, nil
	})
}

func (s *bugPages) filingRow(e crash.LedgerEntry) row {
	path, bug := views.PathFilings+"/"+strconv.FormatInt(e.ID, 10), ""
	if e.Bug != 0 {
		bug = strconv.FormatInt(e.Bug, 10)
	}
	summary := fmt.Sprintf("Asked for by %s, %s, sent %s.", e.Person, e.State, views.Counted(int64(e.Attempts), "time", "times"))
	if bug != "" {
		summary += " Bug " + bug + "."
	}
	if e.Reason != "" {
		summary += " " + e.Reason
	}
	return row{
		cells: []any{
			e.ID, string(e.State), e.Created, e.Updated, e.Person, e.Target, e.Title, e.Attempts, bug, e.Problem, e.Reason,
			s.base.String() + e.Bucket.Path(), s.base.String() + path,
		},
		path: path, title: e.Title, summary: summary, first: e.Created, last: e.Updated,
	}
}

// filingColumns are the columns of the ledger.
var filingColumns = []string{
	"filing", "state", "asked_for", "changed", "person", "target", "title", "attempts", "bug", "trouble", "reason", "problem", "url",
}
