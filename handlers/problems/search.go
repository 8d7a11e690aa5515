package problems

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/go-chi/chi/v5"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/crash/query"
	"mishap/handlers/export"
	"mishap/handlers/web"
	"mishap/views"
)

// Search handles the search box. An id, number or whole signature redirects to the page of what
// it identifies. Anything else is a query, and the page lists the problems that match.
func (s *Lists) Search(w http.ResponseWriter, r *http.Request) error {
	text, err := searchText(r)
	if err != nil {
		return err
	}
	page := views.SearchPage{Query: text}
	if format := web.AcceptedExport(r); format != "" && text != "" {
		return s.exportFound(w, r, format)
	}
	if text == "" {
		page.Shell = s.Shell(r, "Search")
		return s.Page(w, r, http.StatusOK, views.Search(page))
	}
	location, kind, err := s.resolve(r, text)
	switch {
	case err != nil:
		return err
	case location != "":
		return web.Redirect(w, r, location)
	}
	if page.Missing = kind; kind == views.MissingMachine || kind == views.MissingReport {
		page.Shell = s.Shell(r, views.SearchTitle(text))
		page.Shell.Search = text
		return s.Page(w, r, http.StatusOK, views.Search(page))
	}
	status := http.StatusOK
	q, err := query.Parse(text)
	if problem, ok := errors.AsType[*query.Error](err); ok {
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
		page.List.Shell = s.BareShell(r, "")
		return s.Part(w, r, views.ListPart(*page.List))
	}
	page.Shell = s.Shell(r, views.SearchTitle(text))
	page.Shell.Search = text
	if page.Problem == nil {
		page.Shell.Also = views.Alternates(views.SearchTitle(text), views.PathSearch, r.URL.RawQuery)
	}
	if page.List != nil {
		page.List.Shell = page.Shell
	}
	return s.Page(w, r, status, views.Search(page))
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

// searchChoice returns the choice of a search. The default period is the past year.
func (s *Lists) searchChoice(r *http.Request, text string) (views.ListChoice, error) {
	values := r.URL.Query()
	setSearchPeriod(values)
	choice, err := s.readChoice(r, values)
	choice.Query = text
	return choice, err
}

// searchPageChoice is like searchChoice for a page, which ignores invalid values.
func (s *Lists) searchPageChoice(r *http.Request, text string) (
	choice views.ListChoice, cursor *index.Cursor, ignored []string, err error,
) {
	values := r.URL.Query()
	setSearchPeriod(values)
	choice, cursor, ignored, err = s.readPageChoice(r, values, web.WantsPart(r))
	choice.Query = text
	return choice, cursor, ignored, err
}

// setSearchPeriod sets the period to a year if the query has no days.
func setSearchPeriod(values url.Values) {
	if !values.Has("period") && !values.Has("from") && !values.Has("to") {
		values.Set("period", string(crash.PeriodYear))
	}
}

// searchList returns the problems that match a query.
func (s *Lists) searchList(r *http.Request, text string, q query.Query) (views.ListPage, error) {
	choice, cursor, ignored, err := s.searchPageChoice(r, text)
	if err != nil {
		return views.ListPage{}, err
	}
	page, err := s.problemList(r, choice, q, cursor)
	page.Notice = cmp.Or(ignoredNotice(ignored), page.Notice)
	return page, err
}

// ExportSearch sends the results of a search as a file or feed, at an address of its own.
func (s *Lists) ExportSearch(w http.ResponseWriter, r *http.Request) error {
	format := chi.URLParam(r, "format")
	if web.ExportTypes[format] == "" {
		return export.ErrNoFormat
	}
	return s.exportFound(w, r, format)
}

// exportFound sends the results of a search as a file or feed. An invalid query is
// Unprocessable.
func (s *Lists) exportFound(w http.ResponseWriter, r *http.Request, format string) error {
	text, err := searchText(r)
	if err != nil {
		return err
	}
	q, err := query.Parse(text)
	if problem, ok := errors.AsType[*query.Error](err); ok {
		return crash.Errorf(crash.Unprocessable, "bad_query",
			"%s (at character %d of the query)", problem.Message, problem.At+1)
	}
	if err != nil {
		return err
	}
	choice, err := s.searchChoice(r, text)
	if err != nil {
		return err
	}
	_, filter, _, err := s.listFilter(r.Context(), choice)
	if err != nil {
		return err
	}
	filter, match := web.SearchFilter(r, q, filter)
	list := exportedList{title: views.SearchTitle(text), path: choice.URL(), filter: filter, match: match}
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
		offers, err := mentionsFor(s.Kit, r, begins)
		if err != nil {
			return err
		}
		return s.Part(w, r, views.MentionOptions(offers))
	} else if of != "" {
		names, err := s.namesFor(r, of, b.Names(web.IsPublic(r)))
		if err != nil {
			return err
		}
		return s.Part(w, r, views.NameOffers(names))
	}
	releases, err := s.Problems.Releases(r.Context(), s.Releases)
	if err != nil {
		return err
	}
	var names []string
	for _, release := range releases.Offered("") {
		names = append(names, string(release))
	}
	known := b.Names(web.IsPublic(r))
	return s.Part(w, r, views.SearchOffers(query.Complete(text, query.Known{
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
		"There are suggestions for package, source, version, assignee, tag and mention, but not for %.40q.", of)
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
	if web.WantsPart(r) {
		return s.Page(w, r, http.StatusOK, views.KeysPart())
	}
	return s.Page(w, r, http.StatusOK, views.Keys(s.Shell(r, views.KeysTitle)))
}
