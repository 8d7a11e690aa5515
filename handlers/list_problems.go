package handlers

import (
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
	"mishap/views"
)

// defaultPeriod makes a first page that has something on it also early in the day and after a quiet weekend.
const defaultPeriod = crash.PeriodWeek

// listProblems is the front page: the most common problems of a period, of all packages and releases or of one. All that
// is chosen stands in the query: period, release, package, and after for the next pages.
func (s *Server) listProblems(w http.ResponseWriter, r *http.Request) error {
	if format := acceptedExport(r); format != "" {
		return s.exportProblems(w, r, format)
	}
	ctx := r.Context()
	releases, err := s.store.Releases(ctx)
	if err != nil {
		return err
	}
	choice, err := readChoice(r.URL.Query(), releases)
	if err != nil {
		return err
	}
	rank, after, err := readPlace(r.URL.Query().Get("after"))
	if err != nil {
		return err
	}
	until := s.now().UTC().Truncate(24 * time.Hour)
	filter := crash.ProblemFilter{
		Since: until.AddDate(0, 0, 1-choice.Period.Days()), Until: until,
		Release: choice.Release, Package: choice.Package, Limit: listSize + 1, After: after,
	}
	problems, totals, err := s.store.Problems(ctx, filter)
	if err != nil {
		return err
	}
	page := views.ListPage{
		Choice: choice, Releases: releases, Totals: totals, First: rank + 1, Size: listSize, IngestURL: s.config.IngestURL,
	}
	if len(problems) > listSize {
		problems = problems[:listSize]
		page.Next = choice.NextURL(rank+listSize, problems[listSize-1])
	}
	var bugs []crash.Bug
	for _, p := range problems {
		if p.Bug.Number != 0 {
			bugs = append(bugs, p.Bug)
		}
		page.Rows = append(page.Rows, views.ListRow{Problem: p, Bug: s.bugPart(r, p.Bucket)})
	}
	s.hurry(r, staleOnList, bugs...)
	if wantsPart(r) {
		page.Shell = s.bareShell(r, "")
		w.Header().Set("HX-Push-Url", choice.URL())
		return s.part(w, r, views.ListPart(page))
	}
	page.Shell = s.shell(r, "Most common problems")
	page.Shell.Also = views.Alternates("Most common problems", "/problems", r.URL.RawQuery)
	return s.page(w, r, http.StatusOK, views.List(page))
}

// readChoice reads the filters of the front page. A word that is no choice is Invalid: it is answered, not ignored.
func readChoice(q url.Values, releases []crash.Release) (views.ListChoice, error) {
	choice := views.ListChoice{Period: defaultPeriod}
	period, err := queryText(q, "period")
	if err != nil {
		return choice, err
	}
	if period != "" {
		choice.Period = crash.Period(period)
	}
	if choice.Period.Days() == 0 {
		return choice, crash.Errorf(crash.Invalid, "unknown_period", "%q is not a period; the periods are day, week, month and year.", period)
	}
	release, err := queryText(q, "release")
	if err != nil {
		return choice, err
	}
	choice.Release = crash.Release(release)
	if release != "" && !slices.Contains(releases, choice.Release) {
		return choice, crash.Errorf(crash.Invalid, "unknown_release", "No counted report came from the release %q.", release)
	}
	choice.Package, err = queryText(q, "package")
	return choice, err
}

// readPlace reads where the list goes on: "50.17.9f3a…" is below the row of rank 50, which has 17 reports and this id.
func readPlace(text string) (rank int, after *crash.ProblemCursor, err error) {
	if text == "" {
		return 0, nil, nil
	}
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return 0, nil, errBadPlace
	}
	rank, rankErr := strconv.Atoi(parts[0])
	count, countErr := strconv.ParseInt(parts[1], 10, 64)
	id, idErr := hex.DecodeString(parts[2])
	if rankErr != nil || countErr != nil || idErr != nil || rank < 1 || count < 0 || len(id) != len(crash.BucketID{}) {
		return 0, nil, errBadPlace
	}
	return rank, &crash.ProblemCursor{Count: count, ID: crash.BucketID(id)}, nil
}
