package panel

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/justinas/nosurf"

	"mishap/crash"
	"mishap/handlers/web"
	"mishap/tracker"
	bugsview "mishap/views/bugs"
	problemsview "mishap/views/problems"
)

// BugsOf returns the bug cells of the problems of reports, keyed by the buckets of the reports.
func (s *Panel) BugsOf(r *http.Request, rows []crash.ReportRow) (map[crash.BucketID]bugsview.BugPart, error) {
	b, err := s.Store.Index(r.Context())
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
	problems, err := s.Problems.ProblemsByID(ctx, counts)
	if err != nil {
		return nil, err
	}
	buckets := make([]*crash.Bucket, len(problems))
	for i := range problems {
		buckets[i] = problems[i].Bucket
	}
	return problems, s.Store.Judge(ctx, buckets...)
}

// ListedProblems returns what ProblemsOf does, from the cache: a list of 50 problems then takes a fifth of the
// time. Callers must not change the buckets.
func (s *Panel) ListedProblems(r *http.Request, counts []crash.ProblemCursor) ([]crash.Problem, error) {
	var key strings.Builder
	for _, c := range counts {
		key.Write(c.ID[:])
		key.WriteString(strconv.FormatInt(c.Count, 36) + " ")
	}
	problems, err := web.CachedFacts(s.web, r, key.String(), func(r *http.Request) ([]crash.Problem, error) {
		return s.ProblemsOf(r.Context(), counts)
	})
	return slices.Clone(problems), err
}

// ReportList returns a page of a list of reports that begins below after. It links to a next page
// if rows contains more than web.ListSize.
func (s *Panel) ReportList(r *http.Request, path string, after crash.OopsID,
	rows []crash.ReportRow) problemsview.ReportList {
	list := problemsview.ReportList{ID: "reports", Rows: web.HideMachines(r, rows), Now: s.web.Now()}
	if len(rows) > web.ListSize {
		list.Rows = list.Rows[:web.ListSize]
		list.Next = path + "?after=" + list.Rows[web.ListSize-1].ID.String()
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
	bugs, err := s.Bugs.BucketBugs(r.Context(), id)
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
		if s.web.Now().Sub(b.State.Read) > age && s.web.Now().Before(b.State.Next) {
			stale = append(stale, b)
		}
	}
	if len(stale) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), refreshTimeout)
	defer cancel()
	if err := s.Bugs.RefreshBugs(ctx, NumbersOf(stale...), age); err != nil {
		s.web.Log.WarnContext(ctx, "cannot request new states of bugs", "request_id", web.RequestID(r), "error", err)
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

// FilingPart returns the view of a filing for the current user.
func (s *Panel) FilingPart(r *http.Request, e crash.LedgerEntry) bugsview.FilingPart {
	p := bugsview.FilingPart{
		LedgerEntry: e, CSRFToken: nosurf.Token(r), Now: s.web.Now(),
		MayManage: s.web.Config.AllowBugFiling && web.CurrentUser(r).Role.Allows(crash.RoleAdmin),
	}
	if e.Bug != 0 {
		p.BugURL = s.Filer.BugURL(e.Bug)
	}
	return p
}

// BucketFiling returns the latest filing of a bucket, or nil if there is none.
func (s *Panel) BucketFiling(r *http.Request, id crash.BucketID) (*bugsview.FilingPart, error) {
	entries, err := web.CachedFacts(s.web, r, string(id[:]), func(r *http.Request) ([]crash.LedgerEntry, error) {
		return s.Bugs.Ledger(r.Context(), crash.LedgerFilter{Bucket: id, Limit: 1})
	})
	if err != nil || len(entries) == 0 {
		return nil, err
	}
	p := s.FilingPart(r, entries[0])
	p.Alone = true
	return &p, nil
}

// FilingOptions returns how a bug is filed that the current user asks for. The field "as" of a form
// chooses their own account at the tracker or that of the application; without it, the person's
// preference counts.
func (s *Panel) FilingOptions(r *http.Request) (tracker.Options, error) {
	u := web.CurrentUser(r)
	opts := tracker.Options{Person: u.Name, Wait: s.web.Config.CreateWait}
	if u.ID == 0 {
		return opts, nil
	}
	own, err := s.Filer.OwnAccount(r.Context(), u.ID)
	if err != nil {
		return opts, err
	}
	if bugsview.FilingChoiceOf(own, r.PostFormValue(bugsview.FieldFileAs)).Own {
		opts.Own = u.ID
	}
	return opts, nil
}

// FilingChoice returns the choice between the accounts that can file a bug of the current user.
func (s *Panel) FilingChoice(r *http.Request) (bugsview.FilingChoice, error) {
	own, err := s.Filer.OwnAccount(r.Context(), web.CurrentUser(r).ID)
	if err != nil {
		return bugsview.FilingChoice{}, err
	}
	choice := bugsview.FilingChoiceOf(own, r.PostFormValue(bugsview.FieldFileAs))
	choice.Tracker = s.web.Config.TrackerName
	return choice, nil
}
