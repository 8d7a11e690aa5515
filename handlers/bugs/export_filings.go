package bugs

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"mishap/crash"
	"mishap/handlers/export"
	view "mishap/views/bugs"
	"mishap/views/layout"
)

// ExportLedger sends the ledger as a file or feed, with all filings or those in one state.
func (s *Pages) ExportLedger(w http.ResponseWriter, r *http.Request, format string) error {
	filter, err := readLedgerFilter(r.URL.Query())
	if err != nil {
		return err
	}
	filter.After, filter.Limit = crash.LedgerCursor{}, export.ExportPage
	return s.exporter.Export(w, r, format, "", func(ctx context.Context) (export.Table, error) {
		return export.Table{
			Title: "Filings", Path: view.FilingsURL(filter.State), Columns: filingColumns,
			Rows: export.Pages(func(after *crash.LedgerEntry) ([]crash.LedgerEntry, error) {
				from := filter
				if after != nil {
					from.After = crash.LedgerCursor{Created: after.Created, ID: after.ID}
				}
				return s.Bugs.Ledger(ctx, from)
			}, s.filingRow),
		}, nil
	})
}

func (s *Pages) filingRow(e crash.LedgerEntry) export.Row {
	path, bug := layout.PathFilings+"/"+strconv.FormatInt(e.ID, 10), ""
	if e.Bug != 0 {
		bug = strconv.FormatInt(e.Bug, 10)
	}
	times := crash.Counted(int64(e.Attempts), "time", "times")
	summary := fmt.Sprintf("Asked for by %s, %s, sent %s.", e.Person, e.State, times)
	if bug != "" {
		summary += " Bug " + bug + "."
	}
	if e.Reason != "" {
		summary += " " + e.Reason
	}
	return export.Row{
		Cells: []any{
			e.ID, string(e.State), e.Created, e.Updated, e.Person, e.Target, e.Title, e.Attempts, bug, e.Problem, e.Reason,
			s.web.Base.String() + e.Bucket.Path(), s.web.Base.String() + path,
		},
		Path: path, Title: e.Title, Summary: summary, First: e.Created, Last: e.Updated,
	}
}

// filingColumns are the columns of the ledger.
var filingColumns = []string{
	"filing", "state", "asked_for", "changed", "person", "target", "title", "attempts", "bug",
	"trouble", "reason", "problem", "url",
}
