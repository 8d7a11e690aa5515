package handlers

import (
	"context"
	"fmt"
	"net/http"

	"github.com/go-chi/chi/v5"

	"mishap/crash"
	"mishap/views"
)

// reportColumns are the columns of lists of reports.
var reportColumns = []string{
	"report", "arrived", "occurred", "problem_type", "title", "package", "version", "source_package", "release", "architecture",
	"machine", "problem", "url",
}

// exportProblemReports is the list of a problem's reports as a file or feed.
func (s *Server) exportProblemReports(w http.ResponseWriter, r *http.Request) error {
	format := chi.URLParam(r, "format")
	if exportTypes[format] == "" {
		return errNoFormat
	}
	id, err := crash.ParseBucketID(chi.URLParam(r, "id"))
	if err != nil {
		return err
	}
	return s.exportReportsOf(w, r, id, format)
}

func (s *Server) exportReportsOf(w http.ResponseWriter, r *http.Request, id crash.BucketID, format string) error {
	if !currentUser(r).Role.Allows(crash.RoleViewer) {
		return errNotSignedIn
	}
	b, err := s.store.Bucket(r.Context(), id)
	if err != nil {
		return err
	}
	return s.export(w, r, format, "", func(ctx context.Context) (table, error) {
		return s.reportTable("Reports of "+views.DocumentTitle(b, true), b.ID.Path(), func(after crash.OopsID) ([]crash.ReportRow, error) {
			return s.reports.BucketReports(ctx, b.ID, after, exportPage)
		}), nil
	})
}

// exportSystemReports is the list of a machine's reports as a file or feed.
func (s *Server) exportSystemReports(w http.ResponseWriter, r *http.Request, system crash.SystemID, format string) error {
	return s.export(w, r, format, "", func(ctx context.Context) (table, error) {
		return s.reportTable("Reports of a machine", views.SystemPath(system), func(after crash.OopsID) ([]crash.ReportRow, error) {
			return s.reports.SystemReports(ctx, system, after, exportPage)
		}), nil
	})
}

func (s *Server) reportTable(title, path string, read func(after crash.OopsID) ([]crash.ReportRow, error)) table {
	return table{
		title: title, path: path, columns: reportColumns,
		rows: pages(func(after *crash.ReportRow) ([]crash.ReportRow, error) {
			if after == nil {
				return read(crash.OopsID{})
			}
			return read(after.ID)
		}, s.reportRow),
	}
}

// reportRow is one report of a list.
func (s *Server) reportRow(r crash.ReportRow) row {
	problem := ""
	if r.Bucket != nil {
		problem = s.base.String() + r.Bucket.Path()
	}
	path := "/oops/" + r.ID.String()
	title := r.Title
	if title == "" {
		title = r.ProblemType + " of " + r.Executable
	}
	return row{
		cells: []any{
			r.ID.String(), r.ID.Received(), r.Occurred, r.ProblemType, r.Title, r.Package, r.Version, r.SourcePackage, string(r.Release),
			r.Architecture, string(r.System), problem, s.base.String() + path,
		},
		path: path, title: title, first: r.ID.Received(), last: r.ID.Received(),
		summary: fmt.Sprintf("%s %s on %s, %s.", r.Package, r.Version, r.Release, r.Architecture),
	}
}
