package problems

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
	"mishap/handlers/export"
	"mishap/handlers/web"
	"mishap/views"
)

// versionColumns are the columns of the list of a problem's versions.
var versionColumns = []string{"version", "release", "reports", "machines", "first_day", "last_day", "url"}

// ExportVersions is the list of the versions that a problem was seen with, as a file or feed: each with each release.
func (s *Pages) ExportVersions(w http.ResponseWriter, r *http.Request) error {
	format := chi.URLParam(r, "format")
	if web.ExportTypes[format] == "" {
		return export.ErrNoFormat
	}
	id, err := crash.ParseBucketID(chi.URLParam(r, "id"))
	if err != nil {
		return err
	}
	bucket, err := s.Store.Bucket(r.Context(), id)
	if err != nil {
		return err
	}
	return s.Export(w, r, format, "", func(ctx context.Context) (export.Table, error) {
		spans, err := s.Counts.BucketVersionSpans(ctx, bucket.ID)
		if err != nil {
			return export.Table{}, err
		}
		title := "Versions of " + views.DocumentTitle(s.SeenBucket(r, bucket), !web.IsPublic(r))
		return export.Table{Title: title, Path: bucket.ID.Path(), Columns: versionColumns, Rows: func(yield func(export.Row, error) bool) {
			for _, span := range spans {
				span.Version, span.Release = web.SeenLabel(r, span.Version), web.SeenLabel(r, span.Release)
				if !yield(s.versionRow(bucket, span), nil) {
					return
				}
			}
		}}, nil
	})
}

func (s *Pages) versionRow(b crash.Bucket, span stats.BucketVersion) export.Row {
	where := strings.TrimSpace(span.Version + " in " + string(span.Release))
	path := b.ID.Path() + "?" + url.Values{"release": {string(span.Release)}, "version": {span.Version}}.Encode()
	return export.Row{
		Cells: []any{
			span.Version, string(span.Release), span.Reports, span.Systems, dayText(span.First), dayText(span.Last), s.Base.String() + path,
		},
		Path: path, Title: where,
		Summary: fmt.Sprintf("Seen with version %s: %s on %s, from %s to %s.", where, views.Counted(span.Reports, "report", "reports"),
			views.Counted(span.Systems, "machine", "machines"), dayText(span.First), dayText(span.Last)),
		First: span.First, Last: span.Last,
	}
}

// dayText is a day as files have it; empty for none.
func dayText(day time.Time) string {
	if day.IsZero() {
		return ""
	}
	return day.UTC().Format(time.DateOnly)
}
