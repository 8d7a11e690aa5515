// Package handlers is the web side of mishap: pages, their parts, and the JSON API, for people and their scripts.
//
// The routes stand in routes.go, all on one screen. A handler is a method of [Server] that returns an error; what an error
// becomes is decided in errors.go alone. Handlers read from [db.Store] and write through package tracker or db; they hold
// no SQL and no HTML (package views). What machines post is not here but in handlers/ingest.
package handlers

import (
	"net/http"

	"mishap/handlers/api"
)

// Server answers browsers and scripts. It holds nothing that another instance on the same database would need to know.
type Server struct {
	*Kit
	api       *api.API
	lists     *listPages
	problems  *problemPages
	decisions *decisionPages
	bugs      *bugPages
	admin     *adminPages
	account   *accountPages
	handler   http.Handler
}

// New builds the server. It returns an error that names every dependency that is missing.
func New(d Deps) (*Server, error) {
	kit, err := newKit(d)
	if err != nil {
		return nil, err
	}
	panel, exporter := &Panel{kit}, &Exporter{Kit: kit}
	s := &Server{
		Kit:   kit,
		api:   api.New(api.Deps{Store: d.Store, BaseURL: kit.base.String(), Version: d.Config.Version, Releases: d.Releases, Now: d.Now}),
		bugs:  &bugPages{panel, exporter, kit},
		admin: &adminPages{kit}, account: &accountPages{kit},
	}
	s.lists, s.problems, s.decisions = newProblemPages(panel, exporter)
	s.handler, err = s.routes()
	return s, err
}

// Handler is the whole web side.
func (s *Server) Handler() http.Handler { return s.handler }
