package problems

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/crash/query"
	"mishap/handlers/web"
	"mishap/views"
)

// A page that was reached from a list knows the way through it: its address names the list in via, by its own path and query.
// So next and previous stay within what was searched for or chosen, and the way back is there, without anything kept here.

// list is the list that a way leads through.
type list struct {
	address string
	problem *crash.BucketID   // its reports
	chosen  index.Filter      // some of them only
	system  *crash.SystemID   // or the reports of this machine
	choice  *views.ListChoice // or problems: of the front page, or of a search
	query   query.Query       // what the search wants
}

// readVia reads where the visitor came from. What is no list of ours, or cannot be understood, is none: it only means that
// there is no way through it.
func (s *choices) readVia(r *http.Request) (*list, error) {
	via := r.URL.Query().Get(views.Via)
	if via == "" || web.LocalPath(via) != via {
		return nil, nil //nolint:nilnil // from nowhere
	}
	u, err := url.Parse(via)
	if err != nil {
		return nil, nil //nolint:nilerr,nilnil // as above
	}
	l := &list{address: via}
	switch name, ok := strings.CutPrefix(u.Path, "/problem/"); {
	case ok:
		id, err := crash.ParseBucketID(name)
		if err != nil {
			return nil, nil //nolint:nilerr,nilnil // as above
		}
		l.problem = &id
		if l.chosen, err = readReportFilter(u.Query()); err != nil {
			return nil, nil //nolint:nilerr,nilnil // as above
		}
	case strings.HasPrefix(u.Path, "/user/"):
		system := crash.NewSystemID(strings.TrimPrefix(u.Path, "/user/"))
		l.system = &system
	case u.Path == "/", u.Path == views.PathSearch:
		return s.readListVia(r.Context(), l, u)
	default:
		return nil, nil //nolint:nilnil // as above
	}
	return l, nil
}

// readListVia reads the choice of a list of problems.
func (s *choices) readListVia(ctx context.Context, l *list, u *url.URL) (*list, error) {
	values := u.Query()
	text := ""
	if u.Path == views.PathSearch {
		text = strings.TrimSpace(values.Get("q"))
		searchPeriod(values)
	}
	choice, err := s.readChoice(ctx, values)
	switch {
	case crash.KindOf(err) == crash.Invalid:
		return nil, nil //nolint:nilnil // not understood: no way
	case err != nil:
		return nil, err
	}
	if l.query, err = query.Parse(text); err != nil {
		return nil, nil //nolint:nilerr,nilnil // as above
	}
	choice.Query = text
	l.choice = &choice
	return l, nil
}

// walked is what a list of problems is on the index.
func (s *choices) walked(r *http.Request, l *list) (*index.Index, index.Filter, func(*index.Problem) bool, error) {
	b, filter, _, err := s.chosen(r.Context(), *l.choice)
	filter, match := web.SearchFilter(r, l.query, filter)
	return b, filter, match, err
}

// problemWay is the way from a problem to its neighbours in the list of problems by which the visitor came; nil: by none.
func (s *choices) problemWay(r *http.Request, id crash.BucketID) (*views.Way, error) {
	l, err := s.readVia(r)
	if err != nil || l == nil || l.choice == nil {
		return nil, err
	}
	b, filter, match, err := s.walked(r, l)
	if err != nil {
		return nil, err
	}
	before, after, place, of := b.Neighbours(filter, match, id)
	way := &views.Way{Via: l.address, List: l.choice.Name(), Place: place, Of: of}
	if before != nil {
		way.Previous = views.WithVia(before.ID.Path(), l.address)
	}
	if after != nil {
		way.Next = views.WithVia(after.ID.Path(), l.address)
	}
	return way, nil
}

// reportWay is the way from a report to the next and the previous one: among all of its problem, unless the visitor came by
// another list.
func (s *choices) reportWay(r *http.Request, report crash.StoredReport) (views.Way, error) {
	ctx := r.Context()
	l, err := s.readVia(r)
	if err != nil {
		return views.Way{}, err
	}
	if l == nil {
		if report.Bucket == nil {
			return views.Way{}, nil
		}
		l = &list{problem: report.Bucket}
	}
	way := views.Way{Via: l.address, List: "reports of this problem"}
	var newer, older crash.OopsID
	switch {
	case l.system != nil:
		way.List = "reports of this machine"
		newer, older, err = s.Reports.SystemNeighbours(ctx, *l.system, report.ID)
	case l.choice != nil:
		return s.searchWay(r, l, report)
	default:
		way.Chosen = views.FilterWords(l.chosen)
		newer, older, err = s.Reports.ReportNeighbours(ctx, *l.problem, l.chosen, report.ID)
	}
	way.Previous, way.Next = viaReport(newer, l.address), viaReport(older, l.address)
	return way, err
}

// viaReport is the address of a report on a way; empty for none.
func viaReport(id crash.OopsID, via string) string {
	if id.IsZero() {
		return ""
	}
	return views.WithVia(views.ReportPath(id), via)
}

// mostPassed is how many problems without a report that is still stored a way passes over before it ends.
const mostPassed = 5

// searchWay goes through the reports that a list of problems counts: those of one problem after the other, each problem's from
// the newest to the oldest.
func (s *choices) searchWay(r *http.Request, l *list, report crash.StoredReport) (views.Way, error) {
	ctx := r.Context()
	way := views.Way{Via: l.address, List: l.choice.Name()}
	b, filter, match, err := s.walked(r, l)
	if err != nil || report.Bucket == nil {
		return way, err
	}
	counted := filter.OfReports()
	whole, err := s.Store.Bucket(ctx, *report.Bucket) // what it was merged into is in the list
	if err != nil {
		return way, err
	}
	newer, older, err := s.Reports.ReportNeighbours(ctx, whole.ID, counted, report.ID)
	if err != nil {
		return way, err
	}
	before, after, place, of := b.Neighbours(filter, match, whole.ID)
	way.Place, way.Of = place, of
	for n := 0; older.IsZero() && after != nil && n < mostPassed; n++ {
		id := after.ID
		way.NextProblem = true
		if older, _, err = s.Reports.EndReports(ctx, id, counted); err != nil {
			return way, err
		}
		_, after, _, _ = b.Neighbours(filter, match, id)
	}
	for n := 0; newer.IsZero() && before != nil && n < mostPassed; n++ {
		id := before.ID
		way.PreviousProblem = true
		if _, newer, err = s.Reports.EndReports(ctx, id, counted); err != nil {
			return way, err
		}
		before, _, _, _ = b.Neighbours(filter, match, id)
	}
	way.Previous, way.Next = viaReport(newer, l.address), viaReport(older, l.address)
	return way, nil
}
