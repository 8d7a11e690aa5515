// Package handlers is the web side of mishap: pages, their parts, and the JSON API, for people and their scripts.
//
// All routes are in routes.go. The handlers are methods of the areas (problems, bugs, admin, account); each returns an error,
// which package web answers. Handlers read from [db.Store] and write through package tracker or db; they contain no SQL and no
// HTML (package views). Package ingest serves what machines post.
package handlers

import (
	"net/http"

	"mishap/handlers/account"
	"mishap/handlers/admin"
	"mishap/handlers/api"
	"mishap/handlers/bugs"
	"mishap/handlers/export"
	"mishap/handlers/problems"
	"mishap/handlers/web"
)

// Server answers browsers and scripts. It holds nothing that another instance on the same database would need to know.
type Server struct {
	*web.Kit
	api       *api.API
	lists     *problems.Lists
	problems  *problems.Pages
	decisions *problems.Decisions
	bugs      *bugs.Pages
	admin     *admin.Pages
	account   *account.Pages
	handler   http.Handler
}

// New builds the server. It returns an error that names every dependency that is missing.
func New(d web.Deps) (*Server, error) {
	kit, err := web.NewKit(d)
	if err != nil {
		return nil, err
	}
	panel, exporter := &web.Panel{Kit: kit}, &export.Exporter{Kit: kit}
	s := &Server{
		Kit: kit,
		api: api.New(api.Deps{
			Store: d.Store, Bugs: d.Bugs, Counts: d.Counts, Reports: d.Reports, BaseURL: kit.Base.String(), Version: d.Config.Version, Releases: d.Releases, Now: d.Now,
		}),
		bugs:  bugs.New(panel, exporter),
		admin: admin.New(kit), account: account.New(kit),
	}
	s.lists, s.problems, s.decisions = problems.New(panel, exporter)
	s.handler, err = s.routes()
	return s, err
}

// Handler is the whole web side.
func (s *Server) Handler() http.Handler { return s.handler }
