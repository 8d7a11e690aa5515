// Package handlers is the web side of mishap: pages, their parts, and the JSON API, for people and
// their scripts.
//
// File routes.go contains all routes. The handlers are methods of the areas (problems, bugs, admin,
// account). Each returns an error, which package web answers. Handlers read from [db.Store] and
// write through package tracker or db; they contain no SQL and no HTML (see package views). Package
// ingest serves the requests of machines.
package handlers

import (
	"context"
	"net/http"

	"mishap/handlers/admin"
	"mishap/handlers/api"
	"mishap/handlers/bugs"
	"mishap/handlers/events"
	"mishap/handlers/export"
	"mishap/handlers/people"
	"mishap/handlers/problems"
	"mishap/handlers/web"
)

// Server answers browsers and scripts. Instances on the same database need not share its state.
type Server struct {
	*web.Kit
	api       *api.API
	lists     *problems.Lists
	problems  *problems.Pages
	decisions *problems.Decisions
	bugs      *bugs.Pages
	admin     *admin.Pages
	people    *people.Pages
	events    *events.Pages
	handler   http.Handler
}

// New returns a Server. Its error names every missing dependency.
func New(d web.Deps) (*Server, error) {
	kit, err := web.NewKit(d)
	if err != nil {
		return nil, err
	}
	panel, exporter := &web.Panel{Kit: kit}, &export.Exporter{Kit: kit}
	s := &Server{
		Kit: kit,
		api: api.New(api.Deps{
			Store: d.Store, Bugs: d.Bugs, Problems: d.Problems, Symbols: d.Symbols,
			BaseURL: kit.Base.String(), Version: d.Config.Version, Releases: d.Releases, Privacy: d.Config.Privacy, Now: d.Now,
		}),
		bugs: bugs.New(panel, exporter), admin: admin.New(exporter), people: people.New(kit), events: events.New(exporter),
	}
	s.lists, s.problems, s.decisions = problems.New(panel, exporter)
	s.handler, err = s.routes()
	return s, err
}

// RefreshGroups asks the provider for the present groups of people. A periodic job calls it.
func (s *Server) RefreshGroups(ctx context.Context) error { return s.people.RefreshGroups(ctx) }

// Handler returns the handler of the web side.
func (s *Server) Handler() http.Handler { return s.handler }
