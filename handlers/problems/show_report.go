package problems

import (
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"

	"mishap/crash"
	"mishap/handlers/web"
	"mishap/views"
)

// ShowReport shows one report or, with the extension .json or .crash, sends it as a file.
func (s *Pages) ShowReport(w http.ResponseWriter, r *http.Request) error {
	name, format, _ := strings.Cut(chi.URLParam(r, "id"), ".")
	id, err := crash.ParseOopsID(name)
	if err != nil {
		return err
	}
	report, err := s.Store.Report(r.Context(), id)
	if err != nil {
		return err
	}
	switch format {
	case "":
		err = s.AuditView(r, "read.report", id.String())
	case "json", "crash":
		err = s.AuditDownload(r, "read.file", id.String())
	default:
		return web.ErrNoPage
	}
	switch {
	case err != nil:
		return err
	case format == "json":
		return s.sendReport(w, r, report)
	case format == "crash":
		return s.sendCrash(w, r, report)
	}
	readable := web.Readable(r, report.SourcePackage)
	page := views.ReportPage{Report: report, Core: s.coreSize(r, report), Stack: s.ReportStack(report, readable)}
	page.Stack.OfReport = true
	if report.Bucket != nil && page.Stack.Text != "" {
		best, err := s.Store.RepresentativeReport(r.Context(), *report.Bucket)
		if err != nil {
			return err
		}
		page.Comparable = best.ID != id
	}
	if report.ProblemType == "Crash" {
		if page.Symbols, err = s.symbolsOf(r, report); err != nil {
			return err
		}
	}
	if page.Pager, err = s.reportNavigation(r, report); err != nil {
		return err
	}
	if page.Grouping, err = s.ExplainReport(r, report, readable); err != nil {
		return err
	}
	u := web.CurrentUser(r)
	page.Report.Fields, page.Hidden = s.Config.Privacy.Visible(u, report.Fields, report.SourcePackage)
	page.Report.System = u.VisibleSystem(report.System, report.SourcePackage)
	page.Shell = s.Shell(r, "Report "+id.String())
	return s.Page(w, r, http.StatusOK, views.Report(page))
}
