package handlers

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"mishap/crash"
	"mishap/crash/stats"
	"mishap/views"
)

// versionColumns are the columns of the list of a problem's versions.
var versionColumns = []string{"version", "release", "reports", "machines", "first_day", "last_day", "url"}

// exportVersions is the list of the versions that a problem was seen with, as a file or feed: each with each release.
func (s *problemPages) exportVersions(w http.ResponseWriter, r *http.Request) error {
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

func (s *problemPages) versionRow(b crash.Bucket, span stats.BucketVersion) row {
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
