package problems

import (
	"net/http"

	"mishap/crash"
	"mishap/handlers/web"
	"mishap/views"
)

// ShowSystem is the page of one machine: its reports, the newest first. A machine that is not known here has a page too:
// it has not reported anything, and says so.
func (s *Pages) ShowSystem(w http.ResponseWriter, r *http.Request) error {
	text, err := web.PathText(r, "system")
	if err != nil {
		return err
	}
	name, format := web.CutFormat(text)
	system := crash.NewSystemID(name)
	if format == "" {
		format = web.AcceptedExport(r)
	}
	if format != "" {
		return s.exportSystemReports(w, r, system, format)
	}
	after, err := web.QueryOops(r.URL.Query(), "after")
	if err != nil {
		return err
	}
	rows, err := s.Reports.SystemReports(r.Context(), system, after, web.ListSize+1)
	if err != nil {
		return err
	}
	list := s.ReportList(views.SystemPath(system), after, rows)
	list.WithBucket, list.Via = true, views.SystemPath(system)
	list.Empty = "No errors have been reported from this system."
	if list.Bugs, err = s.BugsOf(r, list.Rows); err != nil {
		return err
	}
	if web.WantsPart(r) {
		return s.Part(w, r, views.ReportListPart(list))
	}
	page := views.SystemPage{System: system, Reports: list}
	if system != "" && after.IsZero() && len(rows) > 0 {
		if page.Story, err = s.machineStory(r, system, rows); err != nil {
			return err
		}
	}
	shell := s.Shell(r, "Machine")
	shell.Also = views.Alternates("Reports of a machine", views.SystemPath(system), "")
	page.Shell = shell
	return s.Page(w, r, http.StatusOK, views.System(page))
}

// storyReports is of how many reports of a machine its story is told.
const storyReports = 1000

// machineStory tells what a machine has reported; rows are the newest of its reports, one more than a list has when there are
// more.
func (s *Pages) machineStory(r *http.Request, system crash.SystemID, rows []crash.ReportRow) (*views.MachineStory, error) {
	if len(rows) > web.ListSize {
		var err error
		if rows, err = s.Reports.SystemReports(r.Context(), system, crash.OopsID{}, storyReports+1); err != nil {
			return nil, err
		}
	}
	story := views.NewMachineStory(rows[:min(len(rows), storyReports)], len(rows) > storyReports, s.Now())
	return &story, nil
}
