package handlers

import (
	"net/http"

	"mishap/crash"
	"mishap/views"
)

// showSystem is the page of one machine: its reports, the newest first. A machine that is not known here has a page too:
// it has not reported anything, and says so.
func (s *problemPages) showSystem(w http.ResponseWriter, r *http.Request) error {
	text, err := pathText(r, "system")
	if err != nil {
		return err
	}
	name, format := cutFormat(text)
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
	if list.Bugs, err = s.bugsOf(r, list.Rows); err != nil {
		return err
	}
	if wantsPart(r) {
		return s.part(w, r, views.ReportListPart(list))
	}
	page := views.SystemPage{System: system, Reports: list}
	if system != "" && after.IsZero() && len(rows) > 0 {
		if page.Story, err = s.machineStory(r, system, rows); err != nil {
			return err
		}
	}
	shell := s.shell(r, "Machine")
	shell.Also = views.Alternates("Reports of a machine", views.SystemPath(system), "")
	page.Shell = shell
	return s.page(w, r, http.StatusOK, views.System(page))
}

// storyReports is of how many reports of a machine its story is told.
const storyReports = 1000

// machineStory tells what a machine has reported; rows are the newest of its reports, one more than a list has when there are
// more.
func (s *problemPages) machineStory(r *http.Request, system crash.SystemID, rows []crash.ReportRow) (*views.MachineStory, error) {
	if len(rows) > listSize {
		var err error
		if rows, err = s.store.SystemReports(r.Context(), system, crash.OopsID{}, storyReports+1); err != nil {
			return nil, err
		}
	}
	story := views.NewMachineStory(rows[:min(len(rows), storyReports)], len(rows) > storyReports, s.now())
	return &story, nil
}
