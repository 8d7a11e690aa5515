package handlers

import (
	"net/http"

	"github.com/go-chi/chi/v5"

	"mishap/crash"
	"mishap/views"
)

// showReport is the page of one report.
func (s *Server) showReport(w http.ResponseWriter, r *http.Request) error {
	id, err := crash.ParseOopsID(chi.URLParam(r, "id"))
	if err != nil {
		return err
	}
	report, err := s.store.Report(r.Context(), id)
	if err != nil {
		return err
	}
	page := views.ReportPage{Report: report}
	if report.Bucket != nil {
		if page.Newer, page.Older, err = s.store.ReportNeighbours(r.Context(), *report.Bucket, id); err != nil {
			return err
		}
	}
	if page.Why, err = s.whyReport(r, report); err != nil {
		return err
	}
	page.Shell = s.shell(r, "Report "+id.String())
	return s.page(w, r, http.StatusOK, views.Report(page))
}
