package bugs

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
	"mishap/handlers/export"
	"mishap/handlers/web"
	view "mishap/views/bugs"
	"mishap/views/layout"
)

// ledgerSize is the number of filings on a page of the ledger.
const ledgerSize = 25

// ListFilings shows the ledger: every filing and its outcome. The query contains the state and the
// page.
func (s *Pages) ListFilings(w http.ResponseWriter, r *http.Request) error {
	if format := web.AcceptedExport(r); format != "" {
		return s.ExportLedger(w, r, format)
	}
	filter, err := readLedgerFilter(r.URL.Query())
	if err != nil {
		return err
	}
	filter.Limit = ledgerSize + 1
	entries, err := s.Bugs.Ledger(r.Context(), filter)
	if err != nil {
		return err
	}
	totals, err := s.Bugs.FilingTotals(r.Context())
	if err != nil {
		return err
	}
	page := view.LedgerPage{State: filter.State, Totals: totals, First: filter.After.ID == 0}
	if len(entries) > ledgerSize {
		entries = entries[:ledgerSize]
		page.Next = view.NextFilings(filter.State, entries[ledgerSize-1])
	}
	for _, e := range entries {
		page.Rows = append(page.Rows, s.panel.FilingPart(r, e))
	}
	page.Shell = s.web.Shell(r, "Filing log")
	_, query, _ := strings.Cut(view.FilingsURL(filter.State), "?")
	page.Shell.Also = layout.Alternates("Filing log", layout.PathFilings, query)
	return s.web.Page(w, r, http.StatusOK, view.Ledger(page))
}

func readLedgerFilter(q url.Values) (filter crash.LedgerFilter, err error) {
	if state := q.Get("state"); state != "" {
		if filter.State, err = crash.ParseWord(state, crash.FilingStates, "state of filings"); err != nil {
			return filter, err
		}
	}
	after := q.Get("after")
	if after == "" {
		return filter, nil
	}
	micros, id, _ := strings.Cut(after, ".")
	at, err := strconv.ParseInt(micros, 10, 64)
	if err == nil {
		filter.After.ID, err = strconv.ParseInt(id, 10, 64)
	}
	if err != nil || at < 0 || at > maxMicros || filter.After.ID < 1 {
		return filter, web.ErrBadCursor
	}
	filter.After.Created = time.UnixMicro(at)
	return filter, nil
}

// maxMicros is a time in microseconds since 1970 that PostgreSQL can still store.
const maxMicros = 1 << 57

// ShowFiling shows one filing as a page, or as a part that replaces it on a page.
func (s *Pages) ShowFiling(w http.ResponseWriter, r *http.Request) error {
	part, err := s.filing(r)
	if err != nil {
		return err
	}
	if web.WantsPart(r) {
		return s.web.Page(w, r, http.StatusOK, view.Filing(part))
	}
	page := view.LedgerPage{Only: true, First: true, Rows: []view.FilingPart{part}}
	page.Shell = s.web.Shell(r, view.FilingHeading(part.ID))
	return s.web.Page(w, r, http.StatusOK, view.Ledger(page))
}

var errNoFiling = crash.Errorf(crash.NotFound, "unknown_filing", "There is no such filing.")

// filing returns the filing in the path.
func (s *Pages) filing(r *http.Request) (view.FilingPart, error) {
	id := web.IDInPath(r)
	if id == 0 {
		return view.FilingPart{}, errNoFiling
	}
	entries, err := s.Bugs.Ledger(r.Context(), crash.LedgerFilter{ID: id, Limit: 1})
	if err != nil {
		return view.FilingPart{}, err
	}
	if len(entries) == 0 {
		return view.FilingPart{}, errNoFiling
	}
	return s.panel.FilingPart(r, entries[0]), nil
}

// RetryFiling tries a filing again at once.
func (s *Pages) RetryFiling(w http.ResponseWriter, r *http.Request) error {
	opts, err := s.panel.FilingOptions(r)
	if err != nil {
		return err
	}
	return s.changeFiling(w, r, func(id int64) (string, error) {
		f, err := s.Filer.Retry(r.Context(), id, opts)
		if f.State == crash.FilingFiled {
			return "Bug " + s.bugText(r, f.Bug) + " filed.", err
		}
		return "Retrying.", err
	})
}

// GiveUpFiling abandons a filing that has not led to a bug.
func (s *Pages) GiveUpFiling(w http.ResponseWriter, r *http.Request) error {
	return s.changeFiling(w, r, func(id int64) (string, error) {
		_, err := s.Filer.GiveUp(r.Context(), id, web.CurrentUser(r).Name, r.PostFormValue("reason"))
		return "Filing given up.", err
	})
}

// changeFiling calls do for the filing in the path, and answers with the changed filing, or with a
// redirect and a message.
func (s *Pages) changeFiling(w http.ResponseWriter, r *http.Request, do func(id int64) (string, error)) error {
	if !s.web.Config.AllowBugFiling {
		return errFilingOff
	}
	message, failed := do(web.IDInPath(r))
	if crash.KindOf(failed) == crash.NotFound {
		return failed
	}
	var a web.Answer
	if failed != nil {
		a = web.AnswerTo(r, failed)
		s.web.LogError(r, failed, a)
	}
	if !web.WantsPart(r) {
		kind := layout.FlashDone
		if failed != nil {
			kind, message = layout.FlashError, a.Message
		}
		back := web.ReturnPath(r)
		if back == "/" {
			back = layout.PathFilings
		}
		return s.web.RedirectWith(w, r, back, layout.Flash{Kind: kind, Text: message})
	}
	part, err := s.filing(r)
	if err != nil {
		return err
	}
	part.Alone = strings.HasPrefix(r.Header.Get("HX-Current-URL"), s.web.Base.String()+part.Bucket.Path())
	status := http.StatusOK
	if failed != nil {
		a.Headers(w)
		status, part.Trouble = a.Status, a.Message
	}
	return s.web.Page(w, r, status, view.Filing(part))
}

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
		bug = crash.BugText(e.Bug)
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
			e.Tracker, e.Project, e.Upstream,
		},
		Path: path, Title: e.Title, Summary: summary, First: e.Created, Last: e.Updated,
	}
}

// filingColumns are the columns of the ledger.
var filingColumns = []string{
	"filing", "state", "asked_for", "changed", "person", "target", "title", "attempts", "bug",
	"trouble", "reason", "problem", "url", "tracker", "project", "upstream",
}
