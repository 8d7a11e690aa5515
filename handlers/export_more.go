package handlers

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/crash/stats"
	"mishap/views"
)

// exportBug is the list of the problems that have a bug, as a file or feed.
func (s *Server) exportBug(w http.ResponseWriter, r *http.Request, number int64, format string) error {
	return s.export(w, r, format, "", func(ctx context.Context) (table, error) {
		buckets, err := s.store.BucketsOfBug(ctx, number)
		if err != nil {
			return table{}, err
		}
		b, err := s.store.IndexWithStates(ctx)
		if err != nil {
			return table{}, err
		}
		signedIn := currentUser(r).Role.Allows(crash.RoleViewer)
		path := "/bug/" + strconv.FormatInt(number, 10)
		return table{title: "Problems of bug " + strconv.FormatInt(number, 10), path: path, columns: problemColumns, rows: func(yield func(row, error) bool) {
			for _, bucket := range buckets {
				bucket := s.seenBy(r, bucket)
				p, ok := b.Problem(bucket.ID)
				if !ok { // none of its reports counts
					p = &index.Problem{Bucket: &index.Bucket{Facts: &index.Facts{}, ID: bucket.ID, Signature: bucket.Signature, Title: bucket.Title}}
				}
				row := seenRow(r, index.Row{Problem: p, Facts: p.Facts, Count: p.Reports})
				if !yield(s.problemRow(row, bucket.Signature, signedIn), nil) {
					return
				}
			}
		}}, nil
	})
}

// versionColumns are the columns of the list of a problem's versions.
var versionColumns = []string{"version", "release", "reports", "machines", "first_day", "last_day", "url"}

// exportVersions is the list of the versions that a problem was seen with, as a file or feed: each with each release.
func (s *Server) exportVersions(w http.ResponseWriter, r *http.Request) error {
	format := chi.URLParam(r, "format")
	if exportTypes[format] == "" {
		return errNoFormat
	}
	id, err := crash.ParseBucketID(chi.URLParam(r, "id"))
	if err != nil {
		return err
	}
	bucket, err := s.store.Bucket(r.Context(), id)
	if err != nil {
		return err
	}
	return s.export(w, r, format, "", func(ctx context.Context) (table, error) {
		spans, err := s.store.BucketVersionSpans(ctx, bucket.ID)
		if err != nil {
			return table{}, err
		}
		title := "Versions of " + views.DocumentTitle(s.seenBy(r, bucket), !isPublic(r))
		return table{title: title, path: bucket.ID.Path(), columns: versionColumns, rows: func(yield func(row, error) bool) {
			for _, span := range spans {
				span.Version, span.Release = seenLabel(r, span.Version), seenLabel(r, span.Release)
				if !yield(s.versionRow(bucket, span), nil) {
					return
				}
			}
		}}, nil
	})
}

func (s *Server) versionRow(b crash.Bucket, span stats.BucketVersion) row {
	where := strings.TrimSpace(span.Version + " in " + string(span.Release))
	path := b.ID.Path() + "?" + url.Values{"release": {string(span.Release)}, "version": {span.Version}}.Encode()
	return row{
		cells: []any{
			span.Version, string(span.Release), span.Reports, span.Systems, dayText(span.First), dayText(span.Last), s.base.String() + path,
		},
		path: path, title: where,
		summary: fmt.Sprintf("Seen with version %s: %s on %s, from %s to %s.", where, views.Counted(span.Reports, "report", "reports"),
			views.Counted(span.Systems, "machine", "machines"), dayText(span.First), dayText(span.Last)),
		first: span.First, last: span.Last,
	}
}

// dayText is a day as files have it; empty for none.
func dayText(day time.Time) string {
	if day.IsZero() {
		return ""
	}
	return day.UTC().Format(time.DateOnly)
}

// filingColumns are the columns of the ledger.
var filingColumns = []string{
	"filing", "state", "asked_for", "changed", "person", "target", "title", "attempts", "bug", "trouble", "reason", "problem", "url",
}

// exportFilings is the ledger as a file or feed, all of it or the filings in one state.
func (s *Server) exportFilings(w http.ResponseWriter, r *http.Request) error {
	format := chi.URLParam(r, "format")
	if exportTypes[format] == "" {
		return errNoFormat
	}
	return s.exportLedger(w, r, format)
}

func (s *Server) exportLedger(w http.ResponseWriter, r *http.Request, format string) error {
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

func (s *Server) filingRow(e crash.LedgerEntry) row {
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
