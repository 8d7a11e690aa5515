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
	"errors"
	"net/http"

	"mishap/crash"
	"mishap/db"
	dbpeople "mishap/db/people"
	"mishap/db/upkeep"
	"mishap/handlers/admin"
	"mishap/handlers/api"
	"mishap/handlers/bugs"
	"mishap/handlers/events"
	"mishap/handlers/export"
	"mishap/handlers/panel"
	"mishap/handlers/people"
	"mishap/handlers/problems"
	"mishap/handlers/web"
	"mishap/notify/mail"
	"mishap/notify/webhook"
)

// Deps are the dependencies of a Server. All are required but Health and those that [web.Deps] excepts.
type Deps struct {
	web.Deps
	Decisions *db.Decisions
	Mailer    *mail.Mailer
	Sender    *webhook.Client // tests endpoints
	// Health checks whether this instance works; nil: checks only the database.
	Health func(context.Context) []crash.HealthCheck
	// WriteTokens writes a new access token into the configuration file. It may return a *crash.Error.
	WriteTokens func(context.Context, crash.AccessToken) error
}

// Server answers browsers and scripts. Instances on the same database need not share its state.
type Server struct {
	web       *web.Kit
	tokens    *dbpeople.Store
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
func New(d Deps) (*Server, error) {
	kit, err := web.NewKit(d.Deps)
	err = errors.Join(err, web.Missing(web.Required{Name: "Decisions", Nil: d.Decisions == nil},
		web.Required{Name: "Mailer", Nil: d.Mailer == nil}, web.Required{Name: "Sender", Nil: d.Sender == nil},
		web.Required{Name: "WriteTokens", Nil: d.WriteTokens == nil}))
	if err != nil {
		return nil, err
	}
	exporter, panel := export.New(kit, d.Store), panel.New(kit, panel.Deps{
		Store: d.Store, Bugs: d.Bugs, Problems: d.Problems, Symbols: d.Symbols, Filer: d.Filer,
	})
	vitals := upkeep.NewVitals(d.Store, nil, d.Mailer.Enabled())
	if d.Config.AllowBugFiling {
		vitals = upkeep.NewVitals(d.Store, d.Credentials.Status, d.Mailer.Enabled())
	}
	if d.Health == nil {
		d.Health = d.Store.Health
	}
	s := &Server{
		web: kit,
		api: api.New(api.Deps{
			Store: d.Store, Bugs: d.Bugs, Problems: d.Problems, Symbols: d.Symbols,
			BaseURL: kit.Base.String(), Version: d.Config.Version, Releases: d.Releases, Privacy: d.Config.Privacy, Now: d.Now,
		}),
		bugs: bugs.New(kit, panel, exporter, bugs.Deps{Store: d.Store, Bugs: d.Bugs, Filer: d.Filer, Tracker: d.Tracker}),
		admin: admin.New(kit, exporter, admin.Deps{
			Store: d.Store, Bugs: d.Bugs, People: d.People, Problems: d.Problems, Decisions: d.Decisions, Symbols: d.Symbols,
			Filer: d.Filer, Tracker: d.Tracker, Creds: d.Credentials, Vitals: vitals, Health: d.Health, Write: d.WriteTokens,
		}),
		people: people.New(kit, people.Deps{Store: d.Store, People: d.People, Filer: d.Filer, Tracker: d.Tracker}),
		events: events.New(kit, panel, exporter, events.Deps{
			Store: d.Store, Events: d.Events, People: d.People, Filer: d.Filer, Mailer: d.Mailer, Sender: d.Sender,
		}),
		tokens: d.People,
	}
	s.lists, s.problems, s.decisions = problems.New(kit, panel, exporter, problems.Deps{
		Store: d.Store, Problems: d.Problems, Decisions: d.Decisions, People: d.People, Bugs: d.Bugs, Symbols: d.Symbols,
		Tracker: d.Tracker,
	})
	s.handler, err = s.routes()
	return s, err
}

// RefreshGroups asks the provider for the present groups of people. A periodic job calls it.
func (s *Server) RefreshGroups(ctx context.Context) error { return s.people.RefreshGroups(ctx) }

// Handler returns the handler of the web side.
func (s *Server) Handler() http.Handler { return s.handler }
