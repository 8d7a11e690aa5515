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

// ExportVersions sends the versions in which a problem was seen, by release, as a file or feed.
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
		spans, err := s.Problems.BucketVersionSpans(ctx, bucket.ID)
		if err != nil {
			return export.Table{}, err
		}
		title := "Versions of " + views.DocumentTitle(s.SeenBucket(r, bucket))
		rows := func(yield func(export.Row, error) bool) {
			for _, span := range spans {
				span.Version, span.Release = web.SeenLabel(r, span.Version), web.SeenLabel(r, span.Release)
				if !yield(s.versionRow(bucket, span), nil) {
					return
				}
			}
		}
		return export.Table{Title: title, Path: bucket.ID.Path(), Columns: versionColumns, Rows: rows}, nil
	})
}

func (s *Pages) versionRow(b crash.Bucket, span stats.BucketVersion) export.Row {
	label := strings.TrimSpace(span.Version + " in " + string(span.Release))
	path := b.ID.Path() + "?" + url.Values{"release": {string(span.Release)}, "version": {span.Version}}.Encode()
	return export.Row{
		Cells: []any{
			span.Version, string(span.Release), span.Reports, span.Systems, dayText(span.First), dayText(span.Last),
			s.Base.String() + path,
		},
		Path: path, Title: label,
		Summary: fmt.Sprintf("Seen with version %s: %s on %s, from %s to %s.", label,
			crash.Counted(span.Reports, "report", "reports"), crash.Counted(span.Systems, "machine", "machines"),
			dayText(span.First), dayText(span.Last)),
		First: span.First, Last: span.Last,
	}
}

// dayText formats a day for files, and the zero time as "".
func dayText(day time.Time) string {
	if day.IsZero() {
		return ""
	}
	return day.UTC().Format(time.DateOnly)
}
