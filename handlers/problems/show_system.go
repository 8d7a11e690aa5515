package problems

import (
	"net/http"
	"slices"

	"mishap/crash"
	"mishap/handlers/web"
	"mishap/views"
)

// ShowSystem shows the reports of one machine, newest first. An unknown machine has a page that
// lists no reports. It leaves out reports of packages whose private data the person may not read.
func (s *Pages) ShowSystem(w http.ResponseWriter, r *http.Request) error {
	address, err := web.PathText(r, "system")
	if err != nil {
		return err
	}
	name, format := web.CutFormat(address)
	system := crash.NewSystemID(name)
	if format == "" {
		format = web.AcceptedExport(r)
	}
	u := web.CurrentUser(r)
	if !u.Private.Some() {
		return u.CheckPrivate("")
	}
	if format != "" {
		return s.exportSystemReports(w, r, system, format)
	}
	if err := s.AuditView(r, "read.machine", string(system)); err != nil {
		return err
	}
	after, err := web.QueryOops(r.URL.Query(), "after")
	if err != nil {
		return err
	}
	rows, err := s.Problems.SystemReports(r.Context(), system, after, web.ListSize+1)
	if err != nil {
		return err
	}
	list := s.ReportList(r, views.SystemPath(system), after, rows)
	shown := len(list.Rows)
	list.Rows = withoutHidden(list.Rows)
	hidden := int64(shown - len(list.Rows))
	list.Via = views.SystemPath(system)
	list.Empty = "No reports from this machine are stored."
	if list.Bugs, err = s.BugsOf(r, list.Rows); err != nil {
		return err
	}
	if web.WantsPart(r) {
		return s.Part(w, r, views.ReportListPart(list))
	}
	page := views.SystemPage{System: system, Reports: list, Hidden: hidden}
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

// withoutHidden returns the rows whose machines the person may know.
func withoutHidden(rows []crash.ReportRow) []crash.ReportRow {
	return slices.DeleteFunc(slices.Clone(rows),
		func(row crash.ReportRow) bool { return row.System == crash.HiddenSystem })
}

// maxStoryReports is the maximum number of reports that a machine's summary covers.
const maxStoryReports = 1000

// machineStory summarises the reports of a machine. rows are its newest reports; more than
// web.ListSize of them mean that there are further ones.
func (s *Pages) machineStory(r *http.Request, system crash.SystemID,
	rows []crash.ReportRow,
) (*views.MachineStory, error) {
	if len(rows) > web.ListSize {
		var err error
		if rows, err = s.Problems.SystemReports(r.Context(), system, crash.OopsID{}, maxStoryReports+1); err != nil {
			return nil, err
		}
	}
	rows = withoutHidden(web.HideMachines(r, rows))
	if len(rows) == 0 {
		return nil, nil //nolint:nilnil // nothing to summarise
	}
	story := views.NewMachineStory(rows[:min(len(rows), maxStoryReports)], len(rows) > maxStoryReports, s.Now())
	return &story, nil
}
