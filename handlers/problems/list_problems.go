package problems

import (
	"cmp"
	"net/http"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/crash/query"
	"mishap/handlers/web"
	"mishap/views"
)

// ListProblems shows the front page: the reliability of releases and the most common problems of
// a choice. The query contains the choice (see readChoice), and after for further pages.
func (s *Lists) ListProblems(w http.ResponseWriter, r *http.Request) error {
	if format := web.AcceptedExport(r); format != "" {
		return s.exportProblems(w, r, format)
	}
	choice, cursor, ignored, err := s.readPageChoice(r, r.URL.Query(), web.WantsPart(r))
	if err != nil {
		return err
	}
	page, err := s.problemList(r, choice, query.Query{}, cursor)
	if err != nil {
		return err
	}
	page.Notice = cmp.Or(ignoredNotice(ignored), page.Notice)
	if page.Rates, err = s.rates(r, choice); err != nil {
		return err
	}
	if web.WantsPart(r) {
		page.Shell = s.BareShell(r, "")
		w.Header().Set("HX-Push-Url", choice.URL())
		return s.Part(w, r, views.ListAnswer(page))
	}
	page.Shell = s.Shell(r, "Most common problems")
	page.Shell.Also = views.Alternates("Most common problems", "/problems", r.URL.RawQuery)
	return s.Page(w, r, http.StatusOK, views.List(page))
}

// problemList returns the problems of a choice that match a query, starting after cursor. The
// empty query matches all.
func (s *Lists) problemList(r *http.Request, choice views.ListChoice, q query.Query,
	cursor *index.Cursor,
) (views.ListPage, error) {
	page := views.ListPage{Choice: choice, Size: web.ListSize, IngestURL: s.Config.IngestURL,
		Tracker: s.Config.TrackerName}
	b, filter, notice, err := s.listFilter(r.Context(), choice)
	if err != nil {
		return page, err
	}
	releases, err := s.Problems.Releases(r.Context(), s.Releases)
	if err != nil {
		return page, err
	}
	page.Releases = web.SeenLabels(r, releases.Offered(choice.Release))
	page.Notice = notice
	filter, match := web.SearchFilter(r, q, filter)
	list := b.List(filter, match, cursor, web.ListSize)
	page.Totals, page.First = crash.ProblemTotals{Problems: list.Totals.Problems, Reports: list.Totals.Reports}, list.First
	page.Hidden = list.Totals.Hidden
	if page.Rows, err = s.listRows(r, b, filter, list.Rows); err != nil {
		return page, err
	}
	rising := b.Rising(index.DayOf(s.Now()))
	for i := range page.Rows {
		row := &page.Rows[i]
		row.Compared = list.Past
		row.Rise, row.Rising = rising[row.ID]
	}
	if n := len(list.Rows); list.More {
		last := list.Rows[n-1]
		page.Next = choice.NextURL(list.First+n-1, crash.ProblemCursor{ID: last.ID, Count: last.Count})
	}
	if user := web.CurrentUser(r); user.ID != 0 {
		if page.Saved, err = s.Problems.SavedSearches(r.Context(), user.ID); err != nil {
			return page, err
		}
	}
	page.Types, page.Machines = web.SeenLabels(r, b.Types()), web.SeenLabels(r, b.PackageArchitectures())
	return page, nil
}

// intersection returns the names that are in a and b, in the order of b.
func intersection(a, b []string) []string {
	inA := map[string]bool{}
	for _, name := range a {
		inA[name] = true
	}
	var common []string
	for _, name := range b {
		if inA[name] {
			common = append(common, name)
		}
	}
	return common
}

// sparkDays is the number of days that the small charts of a list show.
const sparkDays = 28

// listRows adds to rows of the index the data that only the database has: machines, bugs and
// their states.
func (s *Lists) listRows(r *http.Request, b *index.Index, filter index.Filter,
	rows []index.Row,
) ([]views.ListRow, error) {
	counts := make([]crash.ProblemCursor, len(rows))
	from := make(map[crash.BucketID]index.Row, len(rows))
	for i, row := range rows {
		counts[i] = crash.ProblemCursor{Count: row.Count, ID: row.ID}
		from[row.ID] = row
	}
	problems, err := s.CachedProblems(r, counts)
	if err != nil {
		return nil, err
	}
	until := index.DayOf(s.Now())
	week, _ := s.LastDays(crash.PeriodWeek.Days())
	people, err := s.peopleOf(r, problems)
	if err != nil {
		return nil, err
	}
	list := make([]views.ListRow, 0, len(problems))
	var bugs []crash.Bug
	for i := range problems {
		p := &problems[i]
		if p.Bug.Number != 0 {
			bugs = append(bugs, p.Bug)
		}
		row := web.SeenRow(r, from[p.ID])
		if web.IsPublic(r) {
			p.Bucket = new(s.SeenBucket(r, *p.Bucket))
		}
		list = append(list, views.ListRow{
			Problem: p, First: row.First(), Last: row.Last(), Bug: s.BugPart(r, *p.Bucket), People: people[p.ID],
			Held: row.Held(), Rank: row.Rank,
			Past:  row.Past,
			New:   !row.First().At.Before(week),
			Spark: views.NewSparkline(b.Days(row.Problem, filter, until-sparkDays+1, until), until.Time()),
		})
	}
	s.RefreshStaleBugs(r, web.StaleOnList, bugs...)
	return list, nil
}
