package handlers

import (
	"net/http"

	"mishap/crash"
	"mishap/views"
)

// showSystem is the page of one machine: its reports, the newest first. A machine that is not known here has a page too:
// it has not reported anything, and says so.
func (s *Server) showSystem(w http.ResponseWriter, r *http.Request) error {
	name, format := cutFormat(pathText(r, "system"))
	system := crash.NewSystemID(name)
	if format == "" {
		format = acceptedExport(r)
	}
	if format != "" {
		return s.exportSystemReports(w, r, system, format)
	}
	after, err := queryOops(r.URL.Query(), "after")
	if err != nil {
		return err
	}
	rows, err := s.store.SystemReports(r.Context(), system, after, listSize+1)
	if err != nil {
		return err
	}
	list := s.reportList(views.SystemPath(system), after, rows)
	list.WithBucket, list.Via = true, views.SystemPath(system)
	list.Empty = "No errors have been reported from this system."
	if wantsPart(r) {
		return s.part(w, r, views.ReportListPart(list))
	}
	shell := s.shell(r, "Machine")
	shell.Also = views.Alternates("Reports of a machine", views.SystemPath(system), "")
	return s.page(w, r, http.StatusOK, views.System(views.SystemPage{Shell: shell, System: system, Reports: list}))
}

// reportList is the page of a list of reports that begins below after; rows may hold one more than the page shows, and
// then there is a next page.
func (s *Server) reportList(path string, after crash.OopsID, rows []crash.ReportRow) views.ReportList {
	list := views.ReportList{ID: "reports", Rows: rows, Now: s.now()}
	if len(rows) > listSize {
		list.Rows = rows[:listSize]
		list.Next = path + "?after=" + list.Rows[listSize-1].ID.String()
	}
	if !after.IsZero() {
		list.First = path
	}
	return list
}
