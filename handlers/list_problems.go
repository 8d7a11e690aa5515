package handlers

import (
	"context"
	"net/http"
	"strings"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/crash/query"
	"mishap/db"
	"mishap/views"
)

// listProblems is the front page: how reliable releases are, and the most common problems of what was chosen. All that is
// chosen stands in the query, see readChoice, and after for the next pages.
func (s *Server) listProblems(w http.ResponseWriter, r *http.Request) error {
	if format := acceptedExport(r); format != "" {
		return s.exportProblems(w, r, format)
	}
	ctx := r.Context()
	choice, err := s.readChoice(ctx, r.URL.Query())
	if err != nil {
		return err
	}
	place, err := readPlace(r.URL.Query().Get("after"))
	if err != nil {
		return err
	}
	page, err := s.problemList(r, choice, query.Query{}, place)
	if err != nil {
		return err
	}
	if page.Rates, err = s.rates(r, choice); err != nil {
		return err
	}
	if wantsPart(r) {
		page.Shell = s.bareShell(r, "")
		w.Header().Set("HX-Push-Url", choice.URL())
		return s.part(w, r, views.ListAnswer(page))
	}
	page.Shell = s.shell(r, "Most common problems")
	page.Shell.Also = views.Alternates("Most common problems", "/problems", r.URL.RawQuery)
	return s.page(w, r, http.StatusOK, views.List(page))
}

// problemList is the list of a choice, as far as a query (empty: all) wants it, from a place on.
func (s *Server) problemList(r *http.Request, choice views.ListChoice, q query.Query, place *index.Cursor) (views.ListPage, error) {
	page := views.ListPage{Choice: choice, Size: listSize, IngestURL: s.config.IngestURL}
	b, filter, notice, err := s.chosen(r.Context(), choice)
	if err != nil {
		return page, err
	}
	releases, err := s.store.Releases(r.Context(), s.releases)
	if err != nil {
		return page, err
	}
	page.Releases = seenLabels(r, releases.Offered(choice.Release))
	page.Notice = notice
	filter, match := searched(r, q, filter)
	list := b.List(filter, match, place, listSize)
	page.Totals, page.First = crash.ProblemTotals(list.Totals), list.First
	if !list.Past { // none of them is new: there was nothing before
		for i := range list.Rows {
			list.Rows[i].Before = list.Rows[i].Rank
		}
	}
	if page.Rows, err = s.listRows(r, b, filter, list.Rows); err != nil {
		return page, err
	}
	if n := len(list.Rows); list.More {
		last := list.Rows[n-1]
		page.Next = choice.NextURL(list.First+n-1, crash.Problem{Bucket: crash.Bucket{ID: last.ID}, Count: last.Count})
	}
	page.Types, page.Machines = seenLabels(r, b.Types()), seenLabels(r, b.PackageArchitectures())
	return page, nil
}

// chosen turns a choice into a filter for the index. The notice says what cannot be shown yet.
func (s *Server) chosen(ctx context.Context, choice views.ListChoice) (*index.Index, index.Filter, string, error) {
	filter, notice := choice.FilterOn(s.now()), ""
	if oldest := s.now().UTC().AddDate(0, 0, -db.IndexDays); filter.Since < index.DayOf(oldest) {
		notice = "Lists go back to " + views.Date(oldest, s.now()) + "; what was counted before is in the API."
	}
	if choice.Ranged {
		notice = "Choose the days from which and up to which reports count; until then these are those of the past week."
	}
	for _, of := range []struct {
		name, what string
		names      func() ([]string, bool, error)
	}{
		{choice.Set, "package set", func() ([]string, bool, error) { return s.store.PackagesOfSet(ctx, choice.Release, choice.Set) }},
		{choice.Person, "person or team", func() ([]string, bool, error) { return s.store.PackagesOfPerson(ctx, choice.Person) }},
	} {
		if of.name == "" {
			continue
		}
		names, known, err := of.names()
		if err != nil {
			return nil, filter, "", err
		}
		if !known {
			notice = "The packages of the " + of.what + " " + of.name + " are being asked of the tracker: look again in a moment."
		}
		if filter.Some {
			names = both(strings.Fields(filter.Packages), names)
		}
		filter.Some, filter.Packages = true, strings.Join(names, " ")
	}
	open := s.store.Index
	if filter.State != "" || filter.Sort == index.ByBug || choice.Query != "" {
		open = s.store.IndexWithStates
	}
	b, err := open(ctx)
	return b, filter, notice, err
}

func both(a, b []string) []string {
	in := map[string]bool{}
	for _, name := range a {
		in[name] = true
	}
	var some []string
	for _, name := range b {
		if in[name] {
			some = append(some, name)
		}
	}
	return some
}

// sparkDays is how many days the small charts of a list show.
const sparkDays = 28

// listRows adds to rows of the index what only the database knows: machines, bugs and their states.
func (s *Server) listRows(r *http.Request, b *index.Index, filter index.Filter, rows []index.Row) ([]views.ListRow, error) {
	counts := make([]crash.ProblemCursor, len(rows))
	from := make(map[crash.BucketID]index.Row, len(rows))
	for i, row := range rows {
		counts[i] = crash.ProblemCursor{Count: row.Count, ID: row.ID}
		from[row.ID] = row
	}
	problems, err := s.cachedProblems(r, counts)
	if err != nil {
		return nil, err
	}
	until := index.DayOf(s.now())
	list := make([]views.ListRow, 0, len(problems))
	var bugs []crash.Bug
	for _, p := range problems {
		if p.Bug.Number != 0 {
			bugs = append(bugs, p.Bug)
		}
		row := seenRow(r, from[p.ID])
		p.Bucket = s.seenBy(r, p.Bucket)
		list = append(list, views.ListRow{
			Problem: p, First: row.First, Last: row.Last, Bug: s.bugPart(r, p.Bucket), Rank: row.Rank, Before: row.Before,
			Spark: views.NewSparkline(b.Days(row.Problem, filter, until-sparkDays+1, until), until.Time()),
		})
	}
	s.hurry(r, staleOnList, bugs...)
	return list, nil
}
