package admin

import (
	"cmp"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"mishap/crash"
	"mishap/handlers/web"
	view "mishap/views/admin"
	"mishap/views/layout"
)

// shownRoutes is the number of routes that the page lists. More of them cannot be edited as text.
const shownRoutes = 200

// maxShownText is the largest length of a refused text that the page shows again, in bytes. A longer one came from a
// file.
const maxShownText = 100_000

// ShowRoutes shows where bugs go and, for a package in the query, where its bug would go.
func (s *Pages) ShowRoutes(w http.ResponseWriter, r *http.Request) error {
	page := view.RoutesPage{Try: tryIn(r.URL.Query())}
	if form, saved := s.web.TakeSavedForm(r); saved {
		page.Text, page.Editing = routesText(form.Get("routes")), true
		page.Notice = "Your text has been restored. It has not been saved yet."
	}
	return s.sendRoutes(w, r, http.StatusOK, page)
}

// ExportRoutes sends the routes as CSV, as SaveRoutes reads them.
func (s *Pages) ExportRoutes(w http.ResponseWriter, r *http.Request) error {
	routes, err := s.Bugs.Routes(r.Context())
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="routes.csv"`)
	w.Header().Set("Cache-Control", "no-store")
	_, _ = io.WriteString(w, routes.Text()) // an error means that the client has disconnected
	return nil
}

// SaveRoutes replaces all routes by those of a file or, without one, of the text.
func (s *Pages) SaveRoutes(w http.ResponseWriter, r *http.Request) error {
	text, fromFile, err := sentRoutes(r)
	if err != nil {
		return err
	}
	routes, err := crash.ReadRoutes(text, s.Filer.Sites().CheckRoute)
	if crash.KindOf(err) == crash.Unprocessable {
		page := view.RoutesPage{Problem: web.AnswerTo(r, err).Message}
		if page.Editing = !fromFile || len(text) <= maxShownText; page.Editing {
			page.Text = strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "\ufffd")
		}
		return s.sendRoutes(w, r, http.StatusUnprocessableEntity, page)
	}
	if err != nil {
		return err
	}
	if err := s.Bugs.SaveRoutes(r.Context(), routes, web.CurrentUser(r).Name); err != nil {
		return err
	}
	return s.web.Done(w, r, layout.PathRoutes, view.RoutesSaved(len(routes)))
}

// sentRoutes returns the text of a form, and whether it is that of a file.
func sentRoutes(r *http.Request) (text string, fromFile bool, err error) {
	// The middleware limits the body, which is in memory.
	if err := r.ParseMultipartForm(web.MaxTextBytes); err != nil && !errors.Is(err, http.ErrNotMultipart) {
		return "", false, web.ErrBadForm.Because(err)
	}
	file, _, err := r.FormFile("file")
	if err != nil { // none was chosen
		return routesText(r.PostFormValue("routes")), false, nil
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(file)
	if err != nil {
		return "", true, web.ErrBadForm.Because(err)
	}
	if len(content) == 0 {
		return "", true, crash.Errorf(crash.Unprocessable, "empty_file", "The file is empty. To remove all routes, save a "+
			"file with the names of the columns only: package,tracker")
	}
	return routesText(string(content)), true, nil
}

func routesText(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// tryIn reads what a person wants to know the tracker of.
func tryIn(query url.Values) view.RouteTry {
	value := func(name string) string {
		text := strings.ToValidUTF8(strings.ReplaceAll(query.Get(name), "\x00", ""), "")
		return strings.TrimSpace(crash.Truncate(text, 100))
	}
	return view.RouteTry{Source: value("source"), ProblemType: value("type"), Release: crash.Release(value("release"))}
}

func (s *Pages) sendRoutes(w http.ResponseWriter, r *http.Request, status int, page view.RoutesPage) error {
	routes, err := s.Bugs.Routes(r.Context())
	if err != nil {
		return err
	}
	sites := s.Filer.Sites()
	page.Shell, page.Count = s.web.Shell(r, "Where bugs go"), len(routes)
	for _, m := range sites.Members() {
		page.Trackers = append(page.Trackers, view.RouteTracker{Name: m.Name, Title: m.Title, Form: m.Kind.Form,
			Target: m.Target, Upstream: m.Upstream})
	}
	for i, route := range routes {
		m, known := sites.Member(route.Tracker)
		if !known {
			page.Unknown = addUnknown(page.Unknown, route.Tracker)
		}
		if i < shownRoutes {
			row := view.RouteRow{Route: route, Line: lineOf(i), Title: m.Title, Upstream: m.Upstream}
			row.Problem = sites.CheckRoute(route)
			page.Rows = append(page.Rows, row)
		}
	}
	if !page.Editing && len(routes) <= shownRoutes {
		page.Text, page.Editing = routes.Text(), true
	}
	if page.Try.Source != "" {
		if page.Try.Answer, err = s.tryRoute(r, routes, page.Try, false); err != nil {
			return err
		}
		if slices.ContainsFunc(page.Trackers, func(t view.RouteTracker) bool { return t.Upstream }) {
			if page.Try.Upstream, err = s.tryRoute(r, routes, page.Try, true); err != nil {
				return err
			}
		}
	}
	return s.web.Page(w, r, status, view.Routes(page))
}

// addUnknown counts a route to a tracker that is not in the configuration.
func addUnknown(all []crash.NameCount, name string) []crash.NameCount {
	i := slices.IndexFunc(all, func(c crash.NameCount) bool { return c.Name == name })
	if i < 0 {
		return append(all, crash.NameCount{Name: name, Reports: 1})
	}
	all[i].Reports++
	return all
}

// lineOf returns the line of a route in the text of all, whose first line has the names of the columns.
func lineOf(i int) int { return i + 2 }

// exampleVersion stands for the version of a package in a target.
const exampleVersion = "1.0-1"

// tryRoute returns where filing would send the bug of a package.
func (s *Pages) tryRoute(
	r *http.Request, routes crash.Routes, try view.RouteTry, upstream bool,
) (view.RouteAnswer, error) {
	b := crash.Bucket{SourcePackage: try.Source, ProblemType: try.ProblemType, LastSeenRelease: try.Release,
		LastSeenVersion: exampleVersion}
	choice, err := s.Filer.Choose(r.Context(), b, upstream)
	answer := view.RouteAnswer{Route: choice.Route}
	if i := slices.Index(routes, choice.Route); i >= 0 {
		answer.Line = lineOf(i)
	}
	e, refused := errors.AsType[*crash.Error](err)
	if refused && (e.Kind == crash.Unprocessable || e.Code == "no_tracker") {
		answer.Problem, answer.None = e.Message, e.Code == "no_upstream"
		return answer, nil
	}
	if err != nil {
		return view.RouteAnswer{}, err
	}
	answer.Where, answer.Review = choice.Where(), choice.Review
	if strings.Contains(cmp.Or(choice.Route.Target, choice.Member.Target), "{version}") {
		answer.Version = exampleVersion
	}
	return answer, nil
}
