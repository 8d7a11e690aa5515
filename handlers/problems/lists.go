// Package problems shows lists of problems, single problems, reports and machines, and handles
// decisions about problems.
package problems

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/db"
	"mishap/db/bugs"
	"mishap/db/people"
	"mishap/db/problems"
	"mishap/db/symbols"
	"mishap/handlers/export"
	"mishap/handlers/panel"
	"mishap/handlers/web"
	"mishap/tracker"
	bugsview "mishap/views/bugs"
	"mishap/views/layout"
	view "mishap/views/problems"
)

// ListProblems shows the front page: the reliability of releases and the most common problems of
// a choice. The query contains the choice (see readChoice), and after for further pages.
func (s *Lists) ListProblems(w http.ResponseWriter, r *http.Request) error {
	if format := web.AcceptedExport(r); format != "" {
		return s.ExportProblems(w, r, format)
	}
	choice, cursor, ignored, err := s.choices.readPageChoice(r, r.URL.Query(), web.WantsPart(r))
	if err != nil {
		return err
	}
	page, err := s.problemList(r, choice, index.Query{}, cursor)
	if err != nil {
		return err
	}
	page.Notice = cmp.Or(ignoredNotice(ignored), page.Notice)
	if page.Rates, err = s.rates(r, choice); err != nil {
		return err
	}
	if web.WantsPart(r) {
		page.Shell = s.web.BareShell(r, "")
		w.Header().Set("HX-Push-Url", choice.URL())
		return s.web.Part(w, r, view.ListAnswer(page))
	}
	page.Shell = s.web.Shell(r, "Most common problems")
	page.Shell.Also = layout.Alternates("Most common problems", "/problems", r.URL.RawQuery)
	return s.web.Page(w, r, http.StatusOK, view.List(page))
}

// problemList returns the problems of a choice that match a query, starting after cursor. The
// empty query matches all.
func (s *Lists) problemList(r *http.Request, choice view.ListChoice, q index.Query,
	cursor *index.Cursor,
) (view.ListPage, error) {
	page := view.ListPage{Choice: choice, Search: q, Size: web.ListSize, IngestURL: s.web.Config.IngestURL,
		Tracker: s.panel.Trackers()}
	b, filter, notice, err := s.choices.listFilter(r.Context(), choice)
	if err != nil {
		return page, err
	}
	releases, err := s.Problems.Releases(r.Context(), crash.Releases())
	if err != nil {
		return page, err
	}
	page.Releases = web.SeenLabels(r, releases.Offered(choice.Release))
	page.Notice = notice
	filter, match := web.SearchFilter(r, q, filter)
	list := b.List(filter, match, cursor, web.ListSize)
	page.Totals, page.First = crash.ProblemTotals{Problems: list.Totals.Problems, Reports: list.Totals.Reports}, list.First
	page.Hidden = list.Totals.Hidden
	if !q.Empty() {
		page.Facets = b.Facets(filter, match)
	}
	if page.Rows, err = s.listRows(r, b, filter, list.Rows); err != nil {
		return page, err
	}
	for i := range page.Rows {
		page.Rows[i].Compared = list.Past
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
) ([]view.ListRow, error) {
	counts := make([]crash.ProblemCursor, len(rows))
	from := make(map[crash.BucketID]index.Row, len(rows))
	for i, row := range rows {
		counts[i] = crash.ProblemCursor{Count: row.Count, ID: row.ID}
		from[row.ID] = row
	}
	problems, err := s.panel.ListedProblems(r, counts)
	if err != nil {
		return nil, err
	}
	until := index.DayOf(s.web.Now())
	week, _ := s.web.LastDays(crash.PeriodWeek.Days())
	people, err := s.peopleOf(r, problems)
	if err != nil {
		return nil, err
	}
	list := make([]view.ListRow, len(problems))
	rising := b.Rising(until)
	var bugs []crash.Bug
	for i := range problems {
		p := &problems[i]
		if p.Bug.Number != 0 {
			bugs = append(bugs, p.Bug)
		}
		row := web.SeenRow(r, from[p.ID])
		if web.IsPublic(r) {
			p.Bucket = new(s.web.SeenBucket(r, *p.Bucket))
		}
		list[i] = view.ListRow{
			Problem: p, First: row.First(), Last: row.Last(), Bug: s.panel.BugPart(r, *p.Bucket), People: people[p.ID],
			Held: row.Held(), Rank: row.Rank,
			Past:  row.Past,
			New:   !row.First().At.Before(week),
			Spark: layout.NewSparkline(b.Days(row.Problem, filter, until-sparkDays+1, until), until.Time()),
		}
		list[i].Rise, list[i].Rising = rising[p.ID]
	}
	s.panel.RefreshStaleBugs(r, panel.StaleOnList, bugs...)
	return list, nil
}

type choices struct {
	web *web.Kit
	Deps
}

// listFilter converts a choice to a filter of the index. The notice explains which part of the
// choice has no data yet.
func (s *choices) listFilter(ctx context.Context, choice view.ListChoice) (*index.Index, index.Filter, string, error) {
	filter, notice, err := choiceFilter(ctx, s.Bugs, s.web.Now(), choice)
	if err != nil {
		return nil, filter, "", err
	}
	oldest := s.web.Now().UTC().AddDate(0, 0, -db.IndexDays)
	switch {
	case notice != "":
	case choice.Ranged:
		notice = "Choose the first and last day. Until then, the list shows the past week."
	case filter.Since < index.DayOf(oldest):
		notice = "Lists go back to " + layout.Date(oldest, s.web.Now()) + "; what was counted before is in the API."
	}
	open := s.Store.Index
	if filter.State != "" || filter.Sort == index.ByBug || choice.Query != "" {
		open = s.Store.IndexWithStates
	}
	b, err := open(ctx)
	return b, filter, notice, err
}

// choiceFilter converts a choice to a filter of the index. The notice says that the tracker has not
// told the packages of the set or person yet.
func choiceFilter(ctx context.Context, facts *bugs.Store, now time.Time, choice view.ListChoice) (
	filter index.Filter, notice string, err error,
) {
	filter = choice.FilterOn(now)
	for _, group := range []struct {
		name, kind string
		packages   func() ([]string, bool, error)
	}{
		{choice.Set, "package set", func() ([]string, bool, error) {
			return facts.PackagesOfSet(ctx, choice.Release, choice.Set)
		}},
		{choice.Person, "person or team", func() ([]string, bool, error) {
			return facts.PackagesOfPerson(ctx, choice.Person)
		}},
	} {
		if group.name == "" {
			continue
		}
		names, known, err := group.packages()
		if err != nil {
			return filter, "", err
		}
		if !known {
			notice = "The packages of the " + group.kind + " " + group.name +
				" are being asked of the tracker: look again in a moment."
		}
		if filter.ByPackages {
			names = intersection(strings.Fields(filter.Packages), names)
		}
		filter.ByPackages, filter.Packages = true, strings.Join(names, " ")
	}
	return filter, notice, nil
}

// parameterIgnored names the parameters that a page has ignored, separated by blanks. The queries of
// cached pages have it instead of the invalid values.
const parameterIgnored = "ignored"

// choiceParameters are the parameters that a page ignores if their values are invalid.
var choiceParameters = []string{
	"release", "package", "source", "version", "pkg_arch", "type", "state", "period", "from", "to", "sort",
	"packageset", "user", "muted", "after",
}

// wrongParameters are the parameters that errors of readChoice and readCursor are about, by code.
// The code "bad_" and the name of a parameter is about that one.
var wrongParameters = map[string][]string{
	"unknown_release": {"release"}, "unknown_period": {"period"}, "unknown_state": {"state"},
	"unknown_column": {"sort"}, "bad_days": {"from", "to"}, "bad_day": {"from", "to"},
}

// readPageChoice is like readChoice and readCursor, for a page: it ignores invalid values, and
// returns the names of their parameters. With strict, they are an error, as for a part, which a
// form on the page has requested.
func (s *choices) readPageChoice(r *http.Request, q url.Values, strict bool) (
	choice view.ListChoice, cursor *index.Cursor, ignored []string, err error,
) {
	for _, name := range strings.Fields(q.Get(parameterIgnored)) {
		if slices.Contains(choiceParameters, name) {
			ignored = append(ignored, name)
		}
	}
	q = maps.Clone(q)
	for {
		if choice, err = s.readChoice(r, q); err == nil {
			cursor, err = readCursor(q.Get("after"))
		}
		wrong := wrongIn(q, err)
		if strict || len(wrong) == 0 {
			slices.Sort(ignored)
			return choice, cursor, slices.Compact(ignored), err
		}
		for _, name := range wrong {
			q.Del(name)
		}
		ignored = append(ignored, wrong...)
	}
}

// wrongIn returns the parameters of q that an error is about.
func wrongIn(q url.Values, err error) []string {
	invalid, ok := errors.AsType[*crash.Error](err)
	if !ok || invalid.Kind != crash.Invalid {
		return nil
	}
	names := wrongParameters[invalid.Code]
	if name, bad := strings.CutPrefix(invalid.Code, "bad_"); bad && slices.Contains(choiceParameters, name) {
		names = []string{name}
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !q.Has(name) })
}

// ignoredNotice returns the sentence about ignored parameters, or an empty text.
func ignoredNotice(ignored []string) string {
	if len(ignored) == 0 {
		return ""
	}
	return "Invalid " + crash.Plural(int64(len(ignored)), "value", "values") + " in the address ignored: " +
		strings.Join(ignored, ", ") + "."
}

// The functions below return the part of a query that a public page depends on, in a canonical
// form. Unknown parameters and equivalent queries therefore create no further cache entries.

// NoQuery returns the query of pages without parameters.
func NoQuery(*http.Request) (string, error) { return "", nil }

// CompareQuery returns the query of the page of a package: the two versions that it compares.
func CompareQuery(r *http.Request) (string, error) {
	a, b, err := comparedVersions(r)
	if err != nil || a == "" && b == "" {
		return "", err
	}
	return url.Values{"a": {a}, "b": {b}}.Encode(), nil
}

// ListQuery returns the query of the front page.
func (s *Lists) ListQuery(r *http.Request) (string, error) {
	choice, cursor, ignored, err := s.choices.readPageChoice(r, r.URL.Query(), web.WantsPart(r))
	if err != nil {
		return "", err
	}
	return choiceQuery(choice, cursor, ignored, view.ListChoice{Period: defaultPeriod})
}

// SearchQuery returns the query of a search. The page itself reports an invalid query or choice.
func (s *Lists) SearchQuery(r *http.Request) (string, error) {
	text, err := searchText(r)
	if err != nil || text == "" {
		return "", err
	}
	choice, cursor, ignored, err := s.searchPageChoice(r, text)
	if err != nil {
		return "", err
	}
	return choiceQuery(choice, cursor, ignored, view.ListChoice{})
}

// choiceQuery encodes a choice, a cursor and the names of ignored parameters. It encodes the usual
// choice as "".
func choiceQuery(
	choice view.ListChoice, cursor *index.Cursor, ignored []string, usual view.ListChoice,
) (string, error) {
	if cursor == nil && len(ignored) == 0 && choice == usual {
		return "", nil
	}
	u, err := url.Parse(choice.URL())
	if err != nil {
		return "", fmt.Errorf("address of a choice: %w", err)
	}
	q := u.Query()
	if cursor != nil {
		q.Set("after", cursorText(*cursor))
	}
	if len(ignored) > 0 {
		q.Set(parameterIgnored, strings.Join(ignored, " "))
	}
	return q.Encode(), nil
}

// cursorText formats a cursor for readCursor, which ignores the number in the middle.
func cursorText(p index.Cursor) string { return fmt.Sprintf("%d.0.%s", p.Position, p.ID) }

// defaultPeriod is a week, so that the front page has content early in the day and after a quiet
// weekend.
const defaultPeriod = crash.PeriodWeek

// readChoice reads the filters of the front page. The names come from errors.ubuntu.com:
// release, package, version, pkg_arch, period, from, to, packageset, user. Added are source,
// type, state, new, muted, sort and order. The period is "range" if from and to replace it; shown is
// the previous value of the control. An unknown value, or a release without counted reports, is
// Invalid.
func (s *choices) readChoice(r *http.Request, q url.Values) (view.ListChoice, error) {
	choice, err := readFilters(q)
	if err != nil || choice.Release == "" {
		return choice, err
	}
	has, err := s.Problems.HasRelease(r.Context(), choice.Release)
	if err == nil && (!has || web.SeenLabel(r, choice.Release) != choice.Release) {
		err = crash.Errorf(crash.Invalid, "unknown_release", "No counted reports from the release %q.", choice.Release)
	}
	return choice, err
}

// readFilters reads the filters without checking the release in the database.
func readFilters(q url.Values) (view.ListChoice, error) {
	choice := view.ListChoice{Period: defaultPeriod}
	var release, period, previous, from, to, sort string
	for name, target := range map[string]*string{
		"release": &release, "period": &period, "shown": &previous, "from": &from, "to": &to, "sort": &sort,
		"package": &choice.Package, "source": &choice.Source, "version": &choice.Version,
		"pkg_arch": &choice.PackageArchitecture, "type": &choice.Type, "state": &choice.State,
		"packageset": &choice.Set, "user": &choice.Person,
	} {
		text, err := web.QueryText(q, name)
		if err != nil {
			return choice, err
		}
		*target = text
	}
	switch {
	case period == view.PeriodRange:
		choice.Ranged = from == "" && to == ""
	case period != "":
		choice.Period = crash.Period(period)
		if previous != "" && previous != period {
			from, to = "", "" // the visitor chose another period instead of the days
		}
	}
	if choice.Period.Days() == 0 {
		return choice, crash.Errorf(crash.Invalid, "unknown_period",
			"%q is not a period; the periods are day, week, month and year.", period)
	}
	choice.Release = crash.Release(release)
	isState := func(s struct{ State, Label string }) bool { return s.State == choice.State }
	if choice.State != "" && !slices.ContainsFunc(view.ProblemStates, isState) {
		return choice, crash.Errorf(crash.Invalid, "unknown_state", "%q is not a state of problems.", choice.State)
	}
	var err error
	if choice.ShowMuted, err = readMuted(q); err != nil {
		return choice, err
	}
	if choice.From, err = readDay("from", from); err != nil {
		return choice, err
	}
	if choice.To, err = readDay("to", to); err != nil {
		return choice, err
	}
	if !choice.From.IsZero() && !choice.To.IsZero() && choice.To.Before(choice.From) {
		return choice, crash.Errorf(crash.Invalid, "bad_days", "The last day, %s, is before the first, %s.", to, from)
	}
	sortable := []index.Column{index.ByCount, index.ByPackage, index.ByFirst, index.ByLast, index.ByProblem, index.ByBug}
	if sort != "" && !slices.Contains(sortable, index.Column(sort)) {
		return choice, crash.Errorf(crash.Invalid, "unknown_column",
			"%q is not a column that the list can be sorted by.", sort)
	}
	if choice.Sort = index.Column(sort); choice.Sort == index.ByCount {
		choice.Sort = ""
	}
	choice.Ascending, choice.New = q.Get("order") == "up", q.Get("new") == "1"
	return choice, nil
}

// errBadMuted is the code of the error for an unknown choice of muted problems.
const errBadMuted = "bad_muted"

// readMuted reads what a list does with muted problems: empty (hide them), show or only.
func readMuted(q url.Values) (string, error) {
	m := q.Get("muted")
	if m != "" && m != view.MutedShow && m != view.MutedOnly {
		return "", crash.Errorf(crash.Invalid, errBadMuted,
			"%.40q is not a value of muted; the values are show and only.", m)
	}
	return m, nil
}

// readDay parses "2026-05-18" or "20260518", and returns the zero time for an empty text.
func readDay(name, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, form := range []string{time.DateOnly, "20060102"} {
		if day, err := time.Parse(form, text); err == nil && day.Year() >= 2000 && day.Year() < 2179 {
			return day, nil
		}
	}
	return time.Time{}, crash.Errorf(crash.Invalid, "bad_day",
		"The %s in the address, %q, is not a day like 2026-05-18.", name, text)
}

// readCursor parses a position in a list: "50.17.9f3a…" is after the 50th row, which had 17
// reports and this id.
func readCursor(text string) (*index.Cursor, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // from the start
	}
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return nil, web.ErrBadCursor
	}
	position, positionErr := strconv.Atoi(parts[0])
	count, countErr := strconv.ParseInt(parts[1], 10, 64)
	id, idErr := hex.DecodeString(parts[2])
	if positionErr != nil || countErr != nil || idErr != nil || position < 1 || count < 0 ||
		len(id) != len(crash.BucketID{}) {
		return nil, web.ErrBadCursor
	}
	return &index.Cursor{Position: position, ID: crash.BucketID(id)}, nil
}

// RedirectBug redirects from a bug's number to its bucket, or lists the buckets if there are
// several. With a file extension or Accept header it sends the list as a file or feed.
func (s *Lists) RedirectBug(w http.ResponseWriter, r *http.Request) error {
	text, format := web.CutFormat(chi.URLParam(r, "number"))
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil || number <= 0 {
		return crash.Errorf(crash.NotFound, "unknown_bug", "There is no bug with such a number.")
	}
	if format == "" {
		format = web.AcceptedExport(r)
	}
	if format != "" {
		return s.exportBug(w, r, number, format)
	}
	buckets, err := s.Bugs.BucketsOfBug(r.Context(), number)
	if err != nil {
		return err
	}
	if len(buckets) == 1 {
		return web.Redirect(w, r, buckets[0].ID.Path())
	}
	pointers := make([]*crash.Bucket, len(buckets))
	for i := range buckets {
		pointers[i] = &buckets[i]
	}
	if err := s.Store.Judge(r.Context(), pointers...); err != nil {
		return err
	}
	for i := range buckets {
		buckets[i] = s.web.SeenBucket(r, buckets[i])
	}
	name := s.Filer.Sites().BugText(r.Context(), number)
	page := bugsview.BugProblemsPage{Shell: s.web.Shell(r, "Bug "+name), Name: name, Buckets: buckets}
	page.Shell.Also = layout.Alternates("Problems of bug "+name, "/bug/"+text, "")
	return s.web.Page(w, r, http.StatusOK, bugsview.BugProblems(page))
}

// RedirectBucket redirects from a signature in the query (id) to the page of its bucket.
func (s *Lists) RedirectBucket(w http.ResponseWriter, r *http.Request) error {
	signature, ok := rawQueryValue(r.URL.RawQuery, "id")
	if !ok || signature == "" {
		return web.Redirect(w, r, "/")
	}
	id := crash.BucketIDOf(signature)
	bucket, err := s.Store.Bucket(r.Context(), id)
	if err != nil {
		return err
	}
	return web.Redirect(w, r, headPath(bucket.ID, id))
}

// RedirectOld redirects from the address of a page in another crash tracker to the problem here.
func (s *Lists) RedirectOld(w http.ResponseWriter, r *http.Request) error {
	path, err := crash.ParseOldAddress(r.URL.RequestURI())
	if err != nil {
		return web.ErrNoPage
	}
	id, err := s.Bugs.ProblemAt(r.Context(), path)
	if err != nil {
		return err
	}
	http.Redirect(w, r, id.Path(), http.StatusMovedPermanently)
	return nil
}

// OrOld returns a handler that redirects as [Lists.RedirectOld] does where show finds no problem or report. Else
// the answer is that of show, except for reports with ids as errors.ubuntu.com makes them.
func (s *Lists) OrOld(show func(http.ResponseWriter, *http.Request) error,
) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		err := show(w, r)
		if crash.KindOf(err) != crash.NotFound {
			return err
		}
		old := s.RedirectOld(w, r)
		if id := chi.URLParam(r, "id"); old == nil || len(id) == 36 && id[14] == '1' { // a UUID of version 1
			return old
		}
		return err
	}
}

// rawQueryValue returns a value of a query that may be written by hand. Semicolons are text, and
// invalid escapes stay unchanged.
func rawQueryValue(query, name string) (string, bool) {
	for pair := range strings.SplitSeq(query, "&") {
		key, value, _ := strings.Cut(pair, "=")
		if key != name {
			continue
		}
		if decoded, err := url.QueryUnescape(value); err == nil {
			return decoded, true
		}
		return value, true
	}
	return "", false
}

// Deps are the stores that the handlers of this package use.
type Deps struct {
	Store     *db.Store
	Problems  *problems.Store
	Decisions *db.Decisions
	People    *people.Store
	Bugs      *bugs.Store
	Symbols   *symbols.Store
	Filer     *tracker.Filer
}

// Lists shows lists of problems: the front page, searches, packages, releases and followed
// packages.
type Lists struct {
	web      *web.Kit
	panel    *panel.Panel
	exporter *export.Exporter
	choices  *choices
	Deps
}

// Pages shows one problem, one report or one machine.
type Pages struct {
	web      *web.Kit
	panel    *panel.Panel
	exporter *export.Exporter
	choices  *choices
	Deps
}

// Decisions changes the manual status of problems (muted, won't fix, fixed in a version, embargoed, held),
// merges, splits and renames them, and undoes such decisions.
type Decisions struct {
	web   *web.Kit
	panel *panel.Panel
	Deps
}

// New returns the handlers of this package.
func New(kit *web.Kit, panel *panel.Panel, exporter *export.Exporter, d Deps) (*Lists, *Pages, *Decisions) {
	c := &choices{kit, d}
	return &Lists{kit, panel, exporter, c, d}, &Pages{kit, panel, exporter, c, d}, &Decisions{kit, panel, d}
}
