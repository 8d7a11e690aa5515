package problems

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/db"
	"mishap/db/bugs"
	"mishap/handlers/web"
	"mishap/views/layout"
	view "mishap/views/problems"
)

// Search handles the search box. An id, number or whole signature redirects to the page of what
// it identifies. Anything else is a query, and the page lists the problems that match.
func (s *Lists) Search(w http.ResponseWriter, r *http.Request) error {
	text, err := searchText(r)
	if err != nil {
		return err
	}
	page := view.SearchPage{Query: text}
	if format := web.AcceptedExport(r); format != "" && text != "" {
		return s.ExportSearch(w, r, format)
	}
	if text == "" {
		page.Shell = s.web.Shell(r, "Search")
		return s.web.Page(w, r, http.StatusOK, view.Search(page))
	}
	location, kind, err := s.resolve(r, text)
	switch {
	case err != nil:
		return err
	case location != "":
		return web.Redirect(w, r, location)
	}
	if page.Missing = kind; kind == view.MissingMachine || kind == view.MissingReport {
		page.Shell = s.web.Shell(r, view.SearchTitle(text))
		page.Shell.Search = text
		return s.web.Page(w, r, http.StatusOK, view.Search(page))
	}
	status := http.StatusOK
	q, err := index.ParseQuery(text)
	if problem, ok := errors.AsType[*index.QueryError](err); ok {
		status, page.Problem = http.StatusUnprocessableEntity, problem
	} else if err != nil {
		return err
	}
	if page.Problem == nil {
		list, err := s.searchList(r, text, q)
		if err != nil {
			return err
		}
		if page.List = &list; list.Totals.Problems == 0 && !strings.ContainsAny(text, ` :"()`) {
			location, _, err := s.resolve(r, "system:"+text) // any text without these characters may be the name of a machine
			if err != nil {
				return err
			}
			if location != "" {
				return web.Redirect(w, r, location)
			}
		}
	}
	if web.WantsPart(r) && page.List != nil {
		page.List.Shell = s.web.BareShell(r, "")
		w.Header().Set("HX-Push-Url", page.List.Choice.URL())
		return s.web.Part(w, r, view.ListAnswer(*page.List))
	}
	page.Shell = s.web.Shell(r, view.SearchTitle(text))
	page.Shell.Search = text
	if page.Problem == nil {
		page.Shell.Also = layout.Alternates(view.SearchTitle(text), layout.PathSearch, r.URL.RawQuery)
	}
	if page.List != nil {
		page.List.Shell = page.Shell
	}
	return s.web.Page(w, r, status, view.Search(page))
}

// searchText returns the text of the search box, which can be a whole, long signature.
func searchText(r *http.Request) (string, error) {
	text := strings.TrimSpace(r.URL.Query().Get("q"))
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) || utf8.RuneCountInString(text) > crash.MaxSignature {
		return "", crash.Errorf(crash.Invalid, "bad_q",
			"The search contains invalid characters, or more than %d characters.", crash.MaxSignature)
	}
	return text, nil
}

// searchPageChoice returns the choice of the page of a search, which ignores invalid values. The default period
// is the past year.
func (s *Lists) searchPageChoice(r *http.Request, text string) (
	choice view.ListChoice, cursor *index.Cursor, ignored []string, err error,
) {
	values := r.URL.Query()
	setSearchPeriod(values)
	choice, cursor, ignored, err = s.choices.readPageChoice(r, values, web.WantsPart(r))
	choice.Query = text
	return choice, cursor, ignored, err
}

// setSearchPeriod sets the period to a year if the query has no days.
func setSearchPeriod(values url.Values) {
	if !values.Has("period") && !values.Has("from") && !values.Has("to") {
		values.Set("period", string(crash.PeriodYear))
	}
}

// readAddress returns the parameters of the address of a list, and its query, which is empty on the front page.
func readAddress(u *url.URL) (values url.Values, search string) {
	values = u.Query()
	if u.Path == layout.PathSearch {
		search = strings.TrimSpace(values.Get("q"))
		setSearchPeriod(values)
	}
	return values, search
}

// FindProblems returns a page of the problems that a search selects, as the page at /search lists them. values is the
// query of that page. Unlike the page, it returns Invalid for invalid values, and Unprocessable for an invalid search.
func (s *Lists) FindProblems(r *http.Request, values url.Values) (view.ListPage, error) {
	text := strings.TrimSpace(values.Get("q"))
	q, err := parseSearch(text)
	if err != nil {
		return view.ListPage{}, err
	}
	setSearchPeriod(values)
	choice, cursor, _, err := s.choices.readPageChoice(r, values, true)
	if err != nil {
		return view.ListPage{}, err
	}
	choice.Query = text
	return s.problemList(r, choice, q, cursor)
}

// parseSearch parses a search. It returns Unprocessable for an invalid one.
func parseSearch(text string) (index.Query, error) {
	q, err := index.ParseQuery(text)
	if problem, ok := errors.AsType[*index.QueryError](err); ok {
		return q, crash.Errorf(crash.Unprocessable, "bad_query",
			"%s (at character %d of the query)", problem.Message, problem.At+1)
	}
	return q, err
}

func (s *Lists) searchList(r *http.Request, text string, q index.Query) (view.ListPage, error) {
	choice, cursor, ignored, err := s.searchPageChoice(r, text)
	if err != nil {
		return view.ListPage{}, err
	}
	page, err := s.problemList(r, choice, q, cursor)
	page.Notice = cmp.Or(ignoredNotice(ignored), page.Notice)
	return page, err
}

// ExportSearch sends the results of a search as a file or feed. An invalid query is
// Unprocessable.
func (s *Lists) ExportSearch(w http.ResponseWriter, r *http.Request, format string) error {
	text, err := searchText(r)
	if err != nil {
		return err
	}
	q, err := parseSearch(text)
	if err != nil {
		return err
	}
	values := r.URL.Query()
	setSearchPeriod(values)
	choice, err := s.choices.readChoice(r, values)
	if err != nil {
		return err
	}
	choice.Query = text
	_, filter, _, err := s.choices.listFilter(r.Context(), choice)
	if err != nil {
		return err
	}
	filter, match := web.SearchFilter(r, q, filter)
	list := exportedList{title: view.SearchTitle(text), path: choice.URL(), filter: filter, match: match}
	if q.Personal() {
		list.private = strings.Join(web.CurrentUser(r).Names(), " ")
	}
	return s.exportList(w, r, format, list)
}

// CompleteSearch suggests completions of a query or, with the parameter of, of a name.
func (s *Lists) CompleteSearch(w http.ResponseWriter, r *http.Request) error {
	text, err := searchText(r)
	if err != nil {
		return err
	}
	b, err := s.Store.Index(r.Context())
	if err != nil {
		return err
	}
	if of := r.URL.Query().Get("of"); of == "mention" {
		begins, err := web.QueryText(r.URL.Query(), of)
		if err != nil {
			return err
		}
		offers, err := s.mentions(r, begins)
		if err != nil {
			return err
		}
		return s.web.Part(w, r, view.MentionOptions(offers))
	} else if of != "" {
		names, err := s.namesFor(r, of, b.Names(web.IsPublic(r)))
		if err != nil {
			return err
		}
		return s.web.Part(w, r, view.NameOffers(names))
	}
	releases, err := s.Problems.Releases(r.Context(), crash.Releases())
	if err != nil {
		return err
	}
	var names []string
	for _, release := range releases.Offered("") {
		names = append(names, string(release))
	}
	known := b.Names(web.IsPublic(r))
	return s.web.Part(w, r, view.SearchOffers(index.Complete(text, index.Known{
		Packages: known.Packages, Sources: known.Sources, Programs: known.Programs, Frames: known.Functions,
		Releases: prefixMatcher(web.SeenLabels(r, names)), Versions: known.Versions,
		Architectures: prefixMatcher(web.SeenLabels(r, b.Architectures())),
		Types:         prefixMatcher(web.SeenLabels(r, b.Types())),
		Assignees:     known.Assignees, Tags: known.Tags,
	})))
}

// namesFor suggests names for the control of a list, or the field of a form, that the parameter of
// names.
func (s *Lists) namesFor(r *http.Request, of string, known index.Names) ([]string, error) {
	q := r.URL.Query()
	text, err := web.QueryText(q, of)
	if err != nil {
		return nil, err
	}
	switch of {
	case "package":
		return known.Packages(text), nil
	case "source":
		return known.Sources(text), nil
	case "version":
		pkg, err := web.QueryText(q, "package")
		return known.Versions(text, pkg), err
	case "assignee":
		return s.assigneesFor(r, text, known)
	case "tag":
		return known.Tags(text), nil
	}
	return nil, crash.Errorf(crash.Invalid, "bad_of",
		"%.40q has no suggestions; only package, source, version, assignee, tag and mention have.", of)
}

// prefixMatcher returns a function that finds the texts with a prefix, ignoring case.
func prefixMatcher(all []string) func(string) []string {
	return func(text string) []string {
		var found []string
		for _, s := range all {
			if len(s) >= len(text) && strings.EqualFold(s[:len(text)], text) {
				found = append(found, s)
			}
		}
		return found
	}
}

// ShowKeys describes the keyboard shortcuts, on a page or in a dialog.
func (s *Lists) ShowKeys(w http.ResponseWriter, r *http.Request) error {
	return s.web.Page(w, r, http.StatusOK, view.Keys(s.web.Shell(r, view.KeysTitle)))
}

var (
	oopsPattern   = regexp.MustCompile(`^[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$`)
	bucketPattern = regexp.MustCompile(`^[0-9a-fA-F]{40}$`)
	systemPattern = regexp.MustCompile(`^[0-9a-f]{128}$`)
	bugPattern    = regexp.MustCompile(`^(?i:#|lp: ?#?|bug ?#?)?([0-9]{1,16})$`)
	// namedBugPattern matches a bug after the name of its tracker or project.
	namedBugPattern = regexp.MustCompile(`^([\w./+-]{1,200})#([0-9]{1,12})$`)

	// Addresses of pages of mishap, and of bugs in a tracker.
	pagePattern    = regexp.MustCompile(`^(?i:https?://[^/\s]+)?/(problem|oops|user|bug)/([^/?#\s]+)(?:[?#]\S*)?$`)
	trackerPattern = regexp.MustCompile(`^(?i:https?://[^/\s]+)/(?:[^?#\s]*/)?\+?bugs?/([0-9]{1,12})(?:[/?#]\S*)?$`)
)

// identifierIn extracts the identifier from the address of a page or of a bug in a tracker, or
// from "oops:…". It returns other texts unchanged.
func identifierIn(text string) string {
	if match := trackerPattern.FindStringSubmatch(text); match != nil {
		return "#" + match[1]
	}
	match := pagePattern.FindStringSubmatch(text)
	if match == nil {
		return strings.TrimPrefix(text, "oops:")
	}
	id, err := url.PathUnescape(match[2])
	switch {
	case err != nil:
		return text
	case match[1] == "user":
		return "system:" + id
	case match[1] == "bug":
		return "#" + id
	}
	return id
}

// resolve returns the page that a text identifies by id, number or address: of a report,
// problem, machine or bug. If nothing matches, page is empty and missing names the kind of
// thing. Both are empty for a text to search for. Only signed-in users find reports and
// machines.
func (s *Lists) resolve(r *http.Request, text string) (page string, missing view.Missing, err error) {
	ctx, signedIn := r.Context(), web.CurrentUser(r).Role.Allows(crash.RoleViewer)
	if number := s.Filer.Sites().KnownBug(ctx, text); number != 0 {
		text = "#" + strconv.FormatInt(number, 10)
	}
	text = identifierIn(text)
	system, isSystem := strings.CutPrefix(text, "system:")
	switch {
	case oopsPattern.MatchString(text):
		missing = view.MissingReport
		id, parseErr := crash.ParseOopsID(strings.ToLower(text))
		if err = parseErr; err == nil && signedIn {
			_, err = s.Store.ReportSystem(ctx, id)
			page = "/oops/" + id.String()
		}
	case isSystem || systemPattern.MatchString(text):
		missing = view.MissingMachine
		if signedIn {
			rows, listErr := s.Problems.SystemReports(ctx, crash.NewSystemID(system), crash.OopsID{}, 1)
			if err = listErr; len(rows) > 0 {
				page = "/user/" + url.PathEscape(system)
			}
		}
	case bucketPattern.MatchString(text):
		missing = view.MissingProblem
		id, parseErr := crash.ParseBucketID(strings.ToLower(text))
		if err = parseErr; err == nil {
			_, err = s.Store.Bucket(ctx, id)
			page = id.Path()
		}
	case bugPattern.MatchString(text):
		number, parseErr := strconv.ParseInt(bugPattern.FindStringSubmatch(text)[1], 10, 64)
		if parseErr != nil {
			return "", "", nil //nolint:nilerr // too large for a bug number: search for the text
		}
		buckets, bugErr := s.Bugs.BucketsOfBug(ctx, number)
		numbers, numberErr := s.Bugs.BugsNumbered(ctx, number)
		if err = bugErr; numberErr != nil {
			return "", "", numberErr
		}
		switch {
		case len(numbers) > 1:
			page = layout.SearchURL("bug:" + strconv.FormatInt(number, 10))
		case len(numbers) == 1:
			page = bugPage(numbers[0])
		case len(buckets) > 0: // a bug that another one duplicates
			page = bugPage(number)
		case !isNumber(text):
			missing = view.MissingBug
		}
	case namedBugPattern.MatchString(text):
		page, err = s.namedBug(ctx, text)
		missing = view.MissingBug
	case strings.Contains(text, ":"):
		id := crash.BucketIDOf(text)
		_, err = s.Store.Bucket(ctx, id)
		page = id.Path()
	}
	if kind := crash.KindOf(err); kind == crash.NotFound || kind == crash.Invalid {
		return "", missing, nil
	}
	if err != nil || page != "" {
		return page, "", err
	}
	return "", missing, nil
}

func bugPage(number int64) string { return "/bug/" + strconv.FormatInt(number, 10) }

// namedBug returns the page of the problems with a bug that is named like "mutter#12" or "GNOME/mutter#12". If several
// projects have the short name, it is the one with the lowest place whose bug has problems. It returns NotFound if
// there are none.
func (s *Lists) namedBug(ctx context.Context, text string) (string, error) {
	places, err := s.Bugs.BugPlaces(ctx)
	if err != nil {
		return "", err
	}
	m := namedBugPattern.FindStringSubmatch(text)
	n, err := strconv.ParseInt(m[2], 10, 64)
	if err != nil {
		return "", crash.ErrUnknownBucket
	}
	for _, place := range slices.Sorted(maps.Keys(places)) {
		p := places[place]
		bug := crash.Bug{Number: crash.NumberAt(place, n), Place: p}
		if !strings.EqualFold(bug.Text(), text) && !strings.EqualFold(p.Project, m[1]) {
			continue
		}
		if _, err := s.Bugs.BucketsOfBug(ctx, bug.Number); !errors.Is(err, crash.NotFound) {
			return bugPage(bug.Number), err
		}
	}
	return "", crash.ErrUnknownBucket
}

// isNumber reports whether a text has only digits, and so may also be a search term.
func isNumber(text string) bool { return strings.Trim(text, "0123456789") == "" }

// Searches reads saved searches for rules, which notify the people who follow them. It reads the same
// addresses in the same way as the pages do.
type Searches struct {
	facts *bugs.Store
	now   func() time.Time
}

// NewSearches returns a reader of saved searches.
func NewSearches(facts *bugs.Store, now func() time.Time) *Searches { return &Searches{facts, now} }

// Read returns the filter and the query of a saved search by its address. A period such as the past
// week does not count, since a rule concerns the present in any case; days in the address do. ok is
// false if the search finds nothing: its address is not valid any more, or the tracker does not know
// the person or the package set.
func (s *Searches) Read(ctx context.Context, path string) (f index.Filter, q index.Query, ok bool, err error) {
	address, err := url.Parse(path)
	if err != nil {
		return f, q, false, nil //nolint:nilerr // nobody can see such a list
	}
	values, search := readAddress(address)
	choice, err := readFilters(values)
	if err == nil {
		q, err = index.ParseQuery(search)
	}
	if err != nil {
		return f, q, false, nil //nolint:nilerr // nobody can see such a list
	}
	f, _, err = choiceFilter(ctx, s.facts, s.now(), choice)
	if crash.KindOf(err) == crash.NotFound {
		return f, q, false, nil
	}
	if choice.From.IsZero() && choice.To.IsZero() && !choice.New {
		f.Since = index.DayOf(s.now().UTC().AddDate(0, 0, -db.IndexDays))
	}
	return f, q, err == nil, err
}

var (
	errShare    = crash.Errorf(crash.Forbidden, "may_not_share", "%s", "Only triagers can share searches.")
	errNotYours = crash.Errorf(crash.Forbidden, "not_your_search", "%s",
		"Only its owner or an admin can change this search.")
	errSearchPath = crash.Errorf(crash.Invalid, "bad_search_path", "%s", "This is not the address of a list of "+
		"problems.")
)

// ShowSearches shows the saved searches that the user sees.
func (s *Lists) ShowSearches(w http.ResponseWriter, r *http.Request) error {
	user := web.CurrentUser(r)
	searches, err := s.Problems.SavedSearches(r.Context(), user.ID)
	if err != nil {
		return err
	}
	follows, err := s.People.Followed(r.Context(), user.ID)
	if err != nil {
		return err
	}
	followed := map[string]bool{}
	for _, f := range follows {
		if f.Kind == crash.FollowSearch {
			followed[f.Name] = true
		}
	}
	return s.web.Page(w, r, http.StatusOK, view.Saved(view.SavedPage{
		Shell: s.web.Shell(r, "Saved searches"), Searches: searches, Followed: followed,
		MayShare: user.Role.Allows(crash.RoleTriager),
	}))
}

// SaveSearch saves the address of a list under a name. Triagers can share it.
func (s *Lists) SaveSearch(w http.ResponseWriter, r *http.Request) error {
	search, err := readSearch(r, false)
	if err != nil {
		return err
	}
	if search.Path, err = listPath(r.PostFormValue("path")); err != nil {
		return err
	}
	search.OwnerID = web.CurrentUser(r).ID
	if search.ID, err = s.Problems.SaveSearch(r.Context(), search); err != nil {
		return err
	}
	message := layout.Flash{Kind: layout.FlashDone, Text: "Saved as “" + search.Name + "”.", Undo: &layout.Undo{
		Action: view.SavedSearchPath(search.ID, "/delete"), Field: "id", Value: strconv.FormatInt(search.ID, 10),
	}}
	return s.web.RedirectWith(w, r, search.Path, message)
}

// ChangeSearch renames a saved search, and shares it or ends that.
func (s *Lists) ChangeSearch(w http.ResponseWriter, r *http.Request) error {
	old, err := s.searchInPath(r, false)
	if err != nil {
		return err
	}
	search, err := readSearch(r, old.Shared)
	if err != nil {
		return err
	}
	search.ID = old.ID
	if err := s.Problems.ChangeSearch(r.Context(), search); err != nil {
		return err
	}
	return s.web.Done(w, r, view.PathSearches, "Changed “"+search.Name+"”.")
}

// DeleteSearch deletes a saved search. The message has a form that undoes that.
func (s *Lists) DeleteSearch(w http.ResponseWriter, r *http.Request) error {
	search, err := s.searchInPath(r, false)
	if err != nil {
		return err
	}
	if err := s.Problems.DeleteSearch(r.Context(), search.ID); err != nil {
		return err
	}
	message := layout.Flash{Kind: layout.FlashDone, Text: "Deleted “" + search.Name + "”.", Undo: &layout.Undo{
		Action: view.SavedSearchPath(search.ID, "/restore"), Field: "id", Value: strconv.FormatInt(search.ID, 10),
	}}
	return s.web.RedirectWith(w, r, view.PathSearches, message)
}

// RestoreSearch undoes DeleteSearch.
func (s *Lists) RestoreSearch(w http.ResponseWriter, r *http.Request) error {
	search, err := s.searchInPath(r, true)
	if err != nil {
		return err
	}
	if err := s.Problems.RestoreSearch(r.Context(), search.ID); err != nil {
		return err
	}
	return s.web.Done(w, r, view.PathSearches, "Search restored.")
}

// searchInPath returns the saved search whose id is in the path, if the user may change it.
func (s *Lists) searchInPath(r *http.Request, deleted bool) (crash.SavedSearch, error) {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil {
		return crash.SavedSearch{}, web.ErrNoPage
	}
	user := web.CurrentUser(r)
	search, err := s.Problems.SavedSearch(r.Context(), user.ID, id, deleted)
	if err == nil && !search.MayChange(user) {
		err = errNotYours
	}
	return search, err
}

// readSearch reads the name of a search and whether it is shared. Sharing needs the role triager;
// a search that is shared already stays so for others.
func readSearch(r *http.Request, wasShared bool) (search crash.SavedSearch, err error) {
	search.Shared = r.PostFormValue("shared") == "1"
	if !web.CurrentUser(r).Role.Allows(crash.RoleTriager) {
		if search.Shared && !wasShared {
			return search, errShare
		}
	}
	search.Name, err = crash.SearchName(r.PostFormValue("name"))
	return search, err
}

// listPath returns the canonical form of the address of a list or a search.
func listPath(path string) (string, error) {
	u, err := url.Parse(path)
	if err != nil || u.IsAbs() || u.Host != "" || u.Path != "/" && u.Path != layout.PathSearch {
		return "", errSearchPath
	}
	values, search := readAddress(u)
	choice, err := readFilters(values)
	if err != nil {
		return "", err
	}
	if choice.Query = search; search == "" && u.Path == layout.PathSearch {
		return "", errSearchPath
	}
	if path = choice.URL(); len(path) > maxListPath {
		return "", errSearchPath
	}
	return path, nil
}

// maxListPath is the largest length of the address of a saved search, in bytes.
const maxListPath = 2000
