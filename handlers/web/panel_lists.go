package web

import (
	"context"
	"net/http"
	"slices"
	"time"

	"mishap/crash"
	bugsview "mishap/views/bugs"
	problemsview "mishap/views/problems"
)

// BugsOf returns the bug cells of the problems of reports, keyed by the buckets of the reports.
func (s *Panel) BugsOf(r *http.Request, rows []crash.ReportRow) (map[crash.BucketID]bugsview.BugPart, error) {
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
	problems, err := s.ProblemsOf(r.Context(), counts)
	if err != nil {
		return nil, err
	}
	cells := map[crash.BucketID]bugsview.BugPart{}
	for _, p := range problems {
		for _, id := range heads[p.ID] {
			cells[id] = s.BugPart(r, *p.Bucket)
		}
	}
	return cells, nil
}

// ProblemsOf returns the problems of some counts with their status, in the same order and without those
// that no longer exist.
func (s *Panel) ProblemsOf(ctx context.Context, counts []crash.ProblemCursor) ([]crash.Problem, error) {
	if len(counts) == 0 {
		return nil, nil
	}
	problems, err := s.problems.ProblemsByID(ctx, counts)
	if err != nil {
		return nil, err
	}
	buckets := make([]*crash.Bucket, len(problems))
	for i := range problems {
		buckets[i] = problems[i].Bucket
	}
	return problems, s.store.Judge(ctx, buckets...)
}

// ReportList returns a page of a list of reports that begins below after. It links to a next page
// if rows contains more than ListSize.
func (s *Panel) ReportList(r *http.Request, path string, after crash.OopsID,
	rows []crash.ReportRow) problemsview.ReportList {
	list := problemsview.ReportList{ID: "reports", Rows: HideMachines(r, rows), Now: s.Now()}
	if len(rows) > ListSize {
		list.Rows = list.Rows[:ListSize]
		list.Next = path + "?after=" + list.Rows[ListSize-1].ID.String()
	}
	if !after.IsZero() {
		list.First = path
	}
	return list
}

// HasBug reports whether the bug is linked to the problem.
func (s *Panel) HasBug(r *http.Request, id crash.BucketID, number int64) (bool, error) {
	if number == 0 {
		return false, nil
	}
	bugs, err := s.bugs.BucketBugs(r.Context(), id)
	if err != nil {
		return false, err
	}
	for _, b := range bugs {
		if b.Number == number {
			return true, nil
		}
	}
	return false, nil
}

// RefreshStaleBugs requests that states of bugs older than the given age are read again soon. It
// does not wait for the tracker; if the request fails, it logs a warning.
func (s *Panel) RefreshStaleBugs(r *http.Request, age time.Duration, bugs ...crash.Bug) {
	var stale []crash.Bug
	for _, b := range bugs {
		if s.Now().Sub(b.State.Read) > age && s.Now().Before(b.State.Next) {
			stale = append(stale, b)
		}
	}
	if len(stale) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), refreshTimeout)
	defer cancel()
	if err := s.bugs.RefreshBugs(ctx, NumbersOf(stale...), age); err != nil {
		s.Log.WarnContext(ctx, "cannot request new states of bugs", "request_id", RequestID(r), "error", err)
	}
}

// NumbersOf returns the numbers of bugs and of the bugs that they duplicate.
func NumbersOf(bugs ...crash.Bug) []int64 {
	numbers := make([]int64, 0, len(bugs))
	for _, b := range bugs {
		numbers = append(numbers, b.Number)
		if b.Master != nil {
			numbers = append(numbers, b.Master.Number)
		}
	}
	return numbers
}

// Ages at which the state of a bug that is shown becomes stale, and the time limit of
// RefreshStaleBugs.
const (
	staleOnPage    = 2 * time.Minute
	StaleOnList    = 30 * time.Minute
	refreshTimeout = 200 * time.Millisecond
)
