package problems

import (
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"

	"mishap/crash"
	"mishap/handlers/web"
	"mishap/views"
)

// ShowReport is the page of one report; with an ending, .json or .crash, the report as a file.
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
	case "json":
		return s.sendReport(w, report)
	case "crash":
		return s.sendCrash(w, r, report)
	default:
		return web.ErrNoPage
	}
	page := views.ReportPage{Report: report, Core: s.coreSize(r, id)}
	if page.Way, err = s.reportWay(r, report); err != nil {
		return err
	}
	if page.Why, err = s.ExplainReport(r, report); err != nil {
		return err
	}
	page.Shell = s.Shell(r, "Report "+id.String())
	return s.Page(w, r, http.StatusOK, views.Report(page))
}
