package problems

import (
	"net/http"
	"slices"
	"time"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/crash/privacy"
	"mishap/db"
	"mishap/handlers/web"
	view "mishap/views/problems"
)

// weeklyOnlyRows is the number of problems of a list of the weekly report that the page shows alone.
const weeklyOnlyRows = 500

// weeklyChoice is what the address of a weekly report asks for.
type weeklyChoice struct {
	scope crash.WeeklyScope
	first time.Time // zero: the past week
	only  crash.WeeklyPart
}

func readWeekly(r *http.Request) (c weeklyChoice, err error) {
	q := r.URL.Query()
	name, err := web.QueryText(q, "name")
	if err != nil {
		return c, err
	}
	kind := q.Get("of")
	if kind == "" && name != "" {
		kind = string(crash.WeeklyPackage)
	}
	if c.scope, err = crash.ParseWeeklyScope(kind, web.SeenLabel(r, name)); err != nil {
		return c, err
	}
	if c.scope.Kind == crash.WeeklyMine && web.IsPublic(r) {
		return c, web.ErrNotSignedIn
	}
	if text := q.Get("week"); text != "" {
		if c.first, err = time.Parse(time.DateOnly, text); err != nil || c.first.Year() < 2000 || c.first.Year() > 2100 {
			return c, crash.Errorf(crash.Invalid, "bad_week", "%.20q is not the first day of a week, such as 2026-11-16.", text)
		}
	}
	if text := q.Get("only"); text != "" {
		c.only, err = crash.ParseWord(text, crash.WeeklyParts, "list")
	}
	return c, err
}

// WeeklyQuery returns the query of a public weekly report.
func WeeklyQuery(r *http.Request) (string, error) {
	c, err := readWeekly(r)
	if err != nil {
		return "", err
	}
	query := c.scope.Query(c.first)
	if c.only != "" {
		query += "&only=" + string(c.only)
	}
	return query, nil
}

// ShowWeekly shows what happened in seven days to the problems of some packages.
func (s *Lists) ShowWeekly(w http.ResponseWriter, r *http.Request) error {
	choice, err := readWeekly(r)
	if err != nil {
		return err
	}
	page := view.WeeklyPage{Scope: choice.scope, Only: choice.only}
	b, err := s.Store.IndexWithStates(r.Context())
	if err != nil {
		return err
	}
	match, err := s.weeklyMatch(r, &page)
	if err != nil {
		return err
	}
	now := s.web.Now()
	past := crash.WeekOf(now)
	if choice.first.IsZero() || choice.first.After(past) {
		choice.first = past
	}
	week, err := s.Store.Week(r.Context(), b, match, choice.first)
	if err != nil {
		return err
	}
	page.First, page.Last, page.Headline = week.First, week.Last, week.Headline()
	page.Past, page.Newest = week.Last.Before(crash.Midnight(now)), !week.First.Before(past)
	page.Reports, page.Before, page.Problems, page.Muted = week.Reports, week.Before, week.Problems, week.Muted
	if web.IsPublic(r) {
		for i, d := range week.Days {
			week.Days[i].Release = privacy.RedactLabel(d.Release)
		}
	}
	page.Chart = view.NewChart(week.Days, crash.Releases(), week.Last.AddDate(0, 0, 1-db.WeekChartDays), week.Last)
	if err := s.weeklyParts(r, &page, week); err != nil {
		return err
	}
	page.Shell = s.web.Shell(r, "Weekly report")
	return s.web.Page(w, r, http.StatusOK, view.Weekly(page))
}

// weeklyMatch returns what selects the problems of the report.
func (s *Lists) weeklyMatch(r *http.Request, page *view.WeeklyPage) (func(*index.Problem) bool, error) {
	follows := []crash.Follow{{Name: page.Scope.Name}}
	switch page.Scope.Kind {
	case crash.WeeklyAll:
		return func(*index.Problem) bool { return true }, nil
	case crash.WeeklyMine:
		all, err := s.People.Followed(r.Context(), web.CurrentUser(r).ID)
		if err != nil {
			return nil, err
		}
		follows = all
	case crash.WeeklyPackage:
		follows[0].Kind = crash.FollowPackage
	case crash.WeeklySet:
		follows[0].Kind = crash.FollowSet
	case crash.WeeklyTeam:
		follows[0].Kind = crash.FollowPerson
	}
	packages, list, err := s.choices.packagesFollowed(r.Context(), follows)
	if err != nil {
		return nil, err
	}
	for _, f := range list {
		switch {
		case f.Unknown:
			page.Notice = view.ReadingPackages(f.Name)
		case f.Nobody:
			page.Notice = "The tracker knows no " + f.Name + "."
		}
	}
	problems := map[string]bool{}
	for _, f := range follows {
		if f.Kind == crash.FollowProblem {
			problems[f.Name] = true
		}
	}
	return func(p *index.Problem) bool {
		return len(packages[p.Package]) > 0 || len(packages[p.Source]) > 0 || len(problems) > 0 && problems[p.ID.String()]
	}, nil
}

// weeklyParts fills the lists of the page.
func (s *Lists) weeklyParts(r *http.Request, page *view.WeeklyPage, week db.Week) error {
	var ids []crash.ProblemCursor
	known := map[crash.BucketID]bool{}
	for _, part := range crash.WeeklyParts {
		if page.Only != "" && page.Only != part {
			continue
		}
		limit := crash.WeeklyRows
		if page.Only != "" {
			limit = weeklyOnlyRows
		}
		list := week.List(part)
		shown := view.WeeklyPart{Part: part, Count: len(list)}
		for _, e := range list[:min(limit, len(list))] {
			if !known[e.ID] {
				known[e.ID], ids = true, append(ids, crash.ProblemCursor{ID: e.ID})
			}
			row := view.WeeklyRow{Reports: e.Reports, Before: e.Before, Text: e.Text}
			if web.IsPublic(r) {
				row.Text = privacy.RedactLabel(row.Text)
			}
			row.Bucket.ID = e.ID
			shown.Rows = append(shown.Rows, row)
		}
		page.Parts = append(page.Parts, shown)
	}
	problems, err := s.Problems.ProblemsByID(r.Context(), ids)
	if err != nil {
		return err
	}
	buckets := map[crash.BucketID]crash.Bucket{}
	for _, p := range problems {
		buckets[p.ID] = s.web.SeenBucket(r, *p.Bucket)
	}
	for i := range page.Parts {
		rows := page.Parts[i].Rows
		for j := range rows {
			rows[j].Bucket = buckets[rows[j].Bucket.ID]
		}
		page.Parts[i].Rows = slices.DeleteFunc(rows, func(row view.WeeklyRow) bool {
			return row.Bucket.ID == crash.BucketID{}
		})
	}
	return nil
}
