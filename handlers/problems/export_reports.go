package problems

import (
	"context"
	"fmt"
	"net/http"

	"github.com/go-chi/chi/v5"

	"mishap/crash"
	"mishap/handlers/export"
	"mishap/handlers/web"
	"mishap/views"
)

// reportColumns are the columns of lists of reports.
var reportColumns = []string{
	"report", "arrived", "occurred", "problem_type", "title", "package", "version", "source_package", "release",
	"architecture", "machine", "problem", "url",
}

// machineColumn is the place of the machine in reportColumns.
const machineColumn = 10

// ExportProblemReports sends a problem's reports as a file or feed.
func (s *Pages) ExportProblemReports(w http.ResponseWriter, r *http.Request) error {
	format := chi.URLParam(r, "format")
	if web.ExportTypes[format] == "" {
		return export.ErrNoFormat
	}
	id, err := crash.ParseBucketID(chi.URLParam(r, "id"))
	if err != nil {
		return err
	}
	return s.exportReportsOf(w, r, id, format)
}

func (s *Pages) exportReportsOf(w http.ResponseWriter, r *http.Request, id crash.BucketID, format string) error {
	if !web.CurrentUser(r).Role.Allows(crash.RoleViewer) {
		return web.ErrNotSignedIn
	}
	b, err := s.Store.Bucket(r.Context(), id)
	if err != nil {
		return err
	}
	if err := s.AuditDownload(r, "read.reports", b.ID.String()); err != nil {
		return err
	}
	return s.Export(w, r, format, "", func(ctx context.Context) (export.Table, error) {
		read := func(after crash.OopsID) ([]crash.ReportRow, error) {
			return s.Problems.BucketReports(ctx, b.ID, after, export.ExportPage)
		}
		return s.reportTable(r, "Reports of "+views.DocumentTitle(b), b.ID.Path(), read), nil
	})
}

// exportSystemReports sends a machine's reports as a file or feed.
// It leaves out reports of packages whose private data the person may not read.
func (s *Pages) exportSystemReports(w http.ResponseWriter, r *http.Request, system crash.SystemID,
	format string,
) error {
	if err := s.AuditDownload(r, "read.machine", string(system)); err != nil {
		return err
	}
	return s.Export(w, r, format, "", func(ctx context.Context) (export.Table, error) {
		read := func(after crash.OopsID) ([]crash.ReportRow, error) {
			return s.Problems.SystemReports(ctx, system, after, export.ExportPage)
		}
		table := s.reportTable(r, "Reports of a machine", views.SystemPath(system), read)
		all := table.Rows
		table.Rows = func(yield func(export.Row, error) bool) {
			for row, err := range all {
				if (err != nil || row.Cells[machineColumn] != string(crash.HiddenSystem)) && !yield(row, err) {
					return
				}
			}
		}
		return table, nil
	})
}

func (s *Pages) reportTable(r *http.Request, title, path string,
	read func(after crash.OopsID) ([]crash.ReportRow, error),
) export.Table {
	return export.Table{
		Title: title, Path: path, Columns: reportColumns,
		Rows: export.Pages(func(after *crash.ReportRow) ([]crash.ReportRow, error) {
			if after == nil {
				return read(crash.OopsID{})
			}
			return read(after.ID)
		}, func(row crash.ReportRow) export.Row { return s.reportRow(r, row) }),
	}
}

// reportRow returns the row of one report.
func (s *Pages) reportRow(request *http.Request, r crash.ReportRow) export.Row {
	problem := ""
	if r.Bucket != nil {
		problem = s.Base.String() + r.Bucket.Path()
	}
	path := "/oops/" + r.ID.String()
	title := r.Title
	if title == "" {
		title = r.ProblemType + " of " + r.Executable
	}
	return export.Row{
		Cells: []any{
			r.ID.String(), r.ID.Received(), r.Occurred, r.ProblemType, r.Title, r.Package, r.Version, r.SourcePackage,
			string(r.Release), r.Architecture,
			string(web.CurrentUser(request).VisibleSystem(r.System, r.SourcePackage)), problem, s.Base.String() + path,
		},
		Path: path, Title: title, First: r.ID.Received(), Last: r.ID.Received(),
		Summary: fmt.Sprintf("%s %s on %s, %s.", r.Package, r.Version, r.Release, r.Architecture),
	}
}
