package admin

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"

	"mishap/crash"
	"mishap/db/doors"
	"mishap/handlers/web"
	view "mishap/views/admin"
	"mishap/views/layout"
)

// shownDays is the number of days whose counts the page of doors shows.
const shownDays = 7

// ShowDoors shows what came through which door, the projects with their keys, and how to connect clients. The query
// can have the public address of the listener.
func (s *Pages) ShowDoors(w http.ResponseWriter, r *http.Request) error {
	return s.sendDoors(w, r, http.StatusOK, view.DoorsPage{})
}

// CreateProject creates a project with its first key.
func (s *Pages) CreateProject(w http.ResponseWriter, r *http.Request) error {
	p := crash.Project{Name: strings.TrimSpace(r.PostFormValue("name")),
		Source: strings.TrimSpace(r.PostFormValue("source")), Listed: r.PostFormValue("listed") != ""}
	_, err := s.Doors.CreateProject(r.Context(), p, web.CurrentUser(r).Name)
	if crash.KindOf(err) == crash.Unprocessable {
		clean := func(s string) string { return crash.Truncate(crash.OneLine(s), 200) }
		return s.sendDoors(w, r, http.StatusUnprocessableEntity, view.DoorsPage{Problem: web.AnswerTo(r, err).Message,
			New: crash.Project{Name: clean(p.Name), Source: clean(p.Source), Listed: p.Listed}})
	}
	if err != nil {
		return err
	}
	return s.web.Done(w, r, layout.PathDoors, "Created the project "+p.Name+". Its address is below.")
}

// ChangeProject adds or revokes a key of a project, or changes whether DrKonqi's list has it.
func (s *Pages) ChangeProject(w http.ResponseWriter, r *http.Request) error {
	number, err := strconv.ParseInt(chi.URLParam(r, "id"), 10, 64)
	if err != nil {
		return doors.ErrNoProject
	}
	person, done := web.CurrentUser(r).Name, ""
	switch r.PostFormValue("do") {
	case "add":
		err, done = s.Doors.AddKey(r.Context(), number, person), "Added a key."
	case "revoke":
		err = s.Doors.RevokeKey(r.Context(), number, r.PostFormValue("key"), person)
		done = "Revoked the key. All instances refuse it within a few seconds."
	case "list":
		err, done = s.Doors.ListProject(r.Context(), number, true, person), "DrKonqi’s list has the project now."
	case "unlist":
		err, done = s.Doors.ListProject(r.Context(), number, false, person), "DrKonqi’s list no longer has the project."
	default:
		return web.ErrBadForm
	}
	if err != nil {
		return err
	}
	return s.web.Done(w, r, layout.PathDoors, done)
}

// SwitchDoor opens or closes a door.
func (s *Pages) SwitchDoor(w http.ResponseWriter, r *http.Request) error {
	door, closed := crash.Door(r.PostFormValue("door")), r.PostFormValue("do") == "close"
	if err := s.Doors.SetDoor(r.Context(), door, closed, web.CurrentUser(r).Name); err != nil {
		return err
	}
	done := "Opened the door."
	if closed {
		done = "Closed the door. All instances refuse its reports within a few seconds."
	}
	return s.web.Done(w, r, layout.PathDoors, done)
}

// shownInstalls is the number of days of which the page shows the imported numbers of machines.
const shownInstalls = 10

func (s *Pages) sendDoors(w http.ResponseWriter, r *http.Request, status int, page view.DoorsPage) error {
	projects, err := s.Doors.Projects(r.Context())
	if err != nil {
		return err
	}
	closed, err := s.Doors.ClosedDoors(r.Context())
	if err != nil {
		return err
	}
	first, _ := crash.LastDays(s.web.Now(), shownDays)
	counts, err := s.Doors.Activity(r.Context(), first)
	if err != nil {
		return err
	}
	page.PingDay = crash.Midnight(s.web.Now()).AddDate(0, 0, -1) // the last whole one
	if page.Pings, err = s.Doors.Pings(r.Context(), page.PingDay); err != nil {
		return err
	}
	if page.Installs, err = s.Doors.Installs(r.Context(), shownInstalls); err != nil {
		return err
	}
	page.Shell, page.Days = s.web.Shell(r, "Doors"), shownDays
	page.Address = publicAddress(cmp.Or(r.URL.Query().Get("address"), s.web.Config.IngestURL), s.web.Config.IngestURL)
	for _, door := range crash.Doors {
		row := view.DoorRow{Door: door}
		for _, c := range counts {
			if c.Door == door {
				row.Add(c)
			}
		}
		if i := slices.IndexFunc(closed, func(c crash.ClosedDoor) bool { return c.Door == door }); i >= 0 {
			row.Closed = closed[i]
		}
		page.Doors = append(page.Doors, row)
	}
	for _, p := range projects {
		row := view.ProjectRow{Project: p}
		for _, c := range counts {
			if c.Project == p.Number {
				row.Add(c)
			}
		}
		page.Projects = append(page.Projects, row)
	}
	return s.web.Page(w, r, status, view.Doors(page))
}

// publicAddress returns an address without its query, or the usual one if it is none.
func publicAddress(text, usual string) string {
	u, err := url.Parse(strings.TrimSpace(crash.Truncate(text, 200)))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return usual
	}
	return strings.TrimRight((&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String(), "/")
}
