package problems

import (
	"net/http"
	"net/url"
	"strings"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/crash/query"
	"mishap/handlers/web"
	"mishap/views"
)

// A page reached from a list has that list's path and query in its parameter via. Its links to the
// next and the previous page, and back, therefore stay within that list without server state.

// origin is the list from which the visitor came.
type origin struct {
	address string
	problem *crash.BucketID   // reports of this problem
	reports index.Filter      // selects the reports of problem
	system  *crash.SystemID   // or reports of this machine
	choice  *views.ListChoice // or problems of the front page or of a search
	query   query.Query       // query of the search
}

// readOrigin reads the list from which the visitor came. It returns nil if there is none or if
// its address is not valid.
func (s *choices) readOrigin(r *http.Request) (*origin, error) {
	via := r.URL.Query().Get(views.Via)
	if via == "" || web.LocalPath(via) != via {
		return nil, nil //nolint:nilnil // the visitor came from no list
	}
	u, err := url.Parse(via)
	if err != nil {
		return nil, nil //nolint:nilerr,nilnil // an invalid origin counts as none
	}
	l := &origin{address: via}
	switch name, ok := strings.CutPrefix(u.Path, "/problem/"); {
	case ok:
		id, err := crash.ParseBucketID(name)
		if err != nil {
			return nil, nil //nolint:nilerr,nilnil // an invalid origin counts as none
		}
		l.problem = &id
		if l.reports, err = readReportFilter(u.Query()); err != nil {
			return nil, nil //nolint:nilerr,nilnil // an invalid origin counts as none
		}
	case strings.HasPrefix(u.Path, "/user/") && web.CurrentUser(r).Private.Some():
		system := crash.NewSystemID(strings.TrimPrefix(u.Path, "/user/"))
		l.system = &system
	case u.Path == "/", u.Path == views.PathSearch:
		return s.readListOrigin(r, l, u)
	default:
		return nil, nil //nolint:nilnil // an invalid origin counts as none
	}
	return l, nil
}

// readListOrigin reads the choice and the query of a list of problems.
func (s *choices) readListOrigin(r *http.Request, l *origin, u *url.URL) (*origin, error) {
	values := u.Query()
	search := ""
	if u.Path == views.PathSearch {
		search = strings.TrimSpace(values.Get("q"))
		setSearchPeriod(values)
	}
	choice, err := s.readChoice(r, values)
	switch {
	case crash.KindOf(err) == crash.Invalid:
		return nil, nil //nolint:nilnil // an invalid origin counts as none
	case err != nil:
		return nil, err
	}
	if l.query, err = query.Parse(search); err != nil {
		return nil, nil //nolint:nilerr,nilnil // an invalid origin counts as none
	}
	choice.Query = search
	l.choice = &choice
	return l, nil
}

// originRows returns the index, filter and match function of a list of problems.
func (s *choices) originRows(r *http.Request, l *origin) (
	*index.Index, index.Filter, func(*index.Problem) bool, error,
) {
	b, filter, _, err := s.listFilter(r.Context(), *l.choice)
	filter, match := web.SearchFilter(r, l.query, filter)
	return b, filter, match, err
}

// problemNavigation returns the neighbours of a problem in the list from which the visitor came,
// or nil if there is no such list.
func (s *choices) problemNavigation(r *http.Request, id crash.BucketID) (*views.Pager, error) {
	l, err := s.readOrigin(r)
	if err != nil || l == nil || l.choice == nil {
		return nil, err
	}
	b, filter, match, err := s.originRows(r, l)
	if err != nil {
		return nil, err
	}
	previous, next, position, total := b.Neighbours(filter, match, id)
	nav := &views.Pager{Via: l.address, List: l.choice.Name(), Place: position, Of: total}
	if previous != nil {
		nav.Previous = views.WithVia(previous.ID.Path(), l.address)
	}
	if next != nil {
		nav.Next = views.WithVia(next.ID.Path(), l.address)
	}
	return nav, nil
}

// reportNavigation returns the neighbours of a report: within the list from which the visitor
// came, or else among the reports of its problem.
func (s *choices) reportNavigation(r *http.Request, report crash.StoredReport) (views.Pager, error) {
	ctx := r.Context()
	l, err := s.readOrigin(r)
	if err != nil {
		return views.Pager{}, err
	}
	if l == nil {
		if report.Bucket == nil {
			return views.Pager{}, nil
		}
		l = &origin{problem: report.Bucket}
	}
	nav := views.Pager{Via: l.address, List: "reports of this problem"}
	var newer, older crash.OopsID
	switch {
	case l.system != nil:
		nav.List = "reports of this machine"
		newer, older, err = s.Problems.SystemNeighbours(ctx, *l.system, report.ID)
	case l.choice != nil:
		return s.searchNavigation(r, l, report)
	default:
		nav.Chosen = views.FilterText(l.reports)
		newer, older, err = s.Problems.ReportNeighbours(ctx, *l.problem, l.reports, report.ID)
	}
	nav.Previous, nav.Next = viaReport(newer, l.address), viaReport(older, l.address)
	return nav, err
}

// viaReport returns the address of a report with the list it was reached from, or "" for no
// report.
func viaReport(id crash.OopsID, via string) string {
	if id.IsZero() {
		return ""
	}
	return views.WithVia(views.ReportPath(id), via)
}

// maxSkipped is the maximum number of problems without a stored report that navigation skips.
const maxSkipped = 5

// searchNavigation returns the neighbours of a report in a list of problems. It passes through
// the reports of each problem from the newest to the oldest, then to the next problem.
func (s *choices) searchNavigation(r *http.Request, l *origin, report crash.StoredReport) (views.Pager, error) {
	ctx := r.Context()
	nav := views.Pager{Via: l.address, List: l.choice.Name()}
	b, filter, match, err := s.originRows(r, l)
	if err != nil || report.Bucket == nil {
		return nav, err
	}
	counted := filter.OfReports()
	problem, err := s.Store.Bucket(ctx, *report.Bucket) // the list contains the problem that it was merged into
	if err != nil {
		return nav, err
	}
	newer, older, err := s.Problems.ReportNeighbours(ctx, problem.ID, counted, report.ID)
	if err != nil {
		return nav, err
	}
	previous, next, position, total := b.Neighbours(filter, match, problem.ID)
	nav.Place, nav.Of = position, total
	for n := 0; older.IsZero() && next != nil && n < maxSkipped; n++ {
		id := next.ID
		nav.NextProblem = true
		if older, _, err = s.Problems.EndReports(ctx, id, counted); err != nil {
			return nav, err
		}
		_, next, _, _ = b.Neighbours(filter, match, id)
	}
	for n := 0; newer.IsZero() && previous != nil && n < maxSkipped; n++ {
		id := previous.ID
		nav.PreviousProblem = true
		if _, newer, err = s.Problems.EndReports(ctx, id, counted); err != nil {
			return nav, err
		}
		previous, _, _, _ = b.Neighbours(filter, match, id)
	}
	nav.Previous, nav.Next = viaReport(newer, l.address), viaReport(older, l.address)
	return nav, nil
}
