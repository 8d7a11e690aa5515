package handlers

import (
	"net/http"
	"slices"

	"mishap/crash"
	"mishap/views"
)

// showSystem is the page of one machine: its reports, the newest first. A machine that is not known here has a page too:
// it has not reported anything, and says so.
func (s *Server) showSystem(w http.ResponseWriter, r *http.Request) error {
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
	rows, err := s.reports.SystemReports(r.Context(), system, after, listSize+1)
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

// bugsOf returns the bug cells of the problems of reports, by the buckets that the reports are in.
func (s *Server) bugsOf(r *http.Request, rows []crash.ReportRow) (map[crash.BucketID]views.BugPart, error) {
	b, err := s.store.Index(r.Context())
	if err != nil {
		return nil, err
	}
	heads := map[crash.BucketID][]crash.BucketID{} // the buckets of each problem
	for _, row := range rows {
		if row.Bucket == nil {
			continue
		}
		if p, ok := b.Problem(*row.Bucket); ok && !slices.Contains(heads[p.ID], *row.Bucket) {
			heads[p.ID] = append(heads[p.ID], *row.Bucket)
		}
	}
	counts := make([]crash.ProblemCursor, 0, len(heads))
	for id := range heads {
		counts = append(counts, crash.ProblemCursor{ID: id})
	}
	problems, err := s.cachedProblems(r, counts)
	if err != nil {
		return nil, err
	}
	cells := map[crash.BucketID]views.BugPart{}
	for _, p := range problems {
		for _, id := range heads[p.ID] {
			cells[id] = s.bugPart(r, p.Bucket)
		}
	}
	return cells, nil
}

// storyReports is of how many reports of a machine its story is told.
const storyReports = 1000

// machineStory tells what a machine has reported; rows are the newest of its reports, one more than a list has when there are
// more.
func (s *Server) machineStory(r *http.Request, system crash.SystemID, rows []crash.ReportRow) (*views.MachineStory, error) {
	if len(rows) > listSize {
		var err error
		if rows, err = s.reports.SystemReports(r.Context(), system, crash.OopsID{}, storyReports+1); err != nil {
			return nil, err
		}
	}
	story := views.NewMachineStory(rows[:min(len(rows), storyReports)], len(rows) > storyReports, s.now())
	return &story, nil
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
