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
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/httprate"

	"mishap/crash"
	"mishap/db"
	dbpeople "mishap/db/people"
	"mishap/db/upkeep"
	"mishap/handlers/admin"
	"mishap/handlers/api"
	"mishap/handlers/bugs"
	"mishap/handlers/events"
	"mishap/handlers/export"
	"mishap/handlers/hooks"
	"mishap/handlers/mcp"
	"mishap/handlers/panel"
	"mishap/handlers/people"
	"mishap/handlers/problems"
	"mishap/handlers/proxies"
	"mishap/handlers/web"
	"mishap/notify/mail"
	"mishap/notify/webhook"
	"mishap/views/layout"
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
	panel     *panel.Panel
	tokens    *dbpeople.Store
	api       *api.API
	lists     *problems.Lists
	problems  *problems.Pages
	decisions *problems.Decisions
	bugs      *bugs.Pages
	admin     *admin.Pages
	people    *people.Pages
	events    *events.Pages
	hooks     *hooks.Receiver
	mcp       *mcp.Server
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
	checks := func(ctx context.Context) []crash.HealthCheck {
		ctx, cancel := context.WithTimeout(ctx, admin.HealthTimeout)
		defer cancel()
		return append(d.Health(ctx), vitals.Checks(ctx)...)
	}
	s := &Server{
		web: kit, panel: panel,
		api: api.New(api.Deps{
			Store: d.Store, Bugs: d.Bugs, Problems: d.Problems, Symbols: d.Symbols,
			BaseURL: kit.Base.String(), Version: d.Config.Version, Privacy: d.Config.Privacy, Now: d.Now,
		}),
		bugs: bugs.New(kit, panel, exporter, bugs.Deps{Store: d.Store, Bugs: d.Bugs, Filer: d.Filer, Tracker: d.Tracker}),
		admin: admin.New(kit, exporter, admin.Deps{
			Store: d.Store, Bugs: d.Bugs, Doors: d.Doors, People: d.People, Problems: d.Problems,
			Decisions: d.Decisions, Symbols: d.Symbols, Filer: d.Filer, Tracker: d.Tracker, Creds: d.Credentials,
			Health: d.Health, Checks: checks, Write: d.WriteTokens,
		}),
		people: people.New(kit, people.Deps{Store: d.Store, People: d.People, Filer: d.Filer, Tracker: d.Tracker}),
		events: events.New(kit, panel, exporter, events.Deps{
			Store: d.Store, Events: d.Events, People: d.People, Filer: d.Filer, Mailer: d.Mailer, Sender: d.Sender,
			Checks: checks,
		}),
		hooks:  hooks.New(kit, hooks.Deps{Bugs: d.Bugs, Sites: d.Filer.Sites()}),
		tokens: d.People,
	}
	s.lists, s.problems, s.decisions = problems.New(kit, panel, exporter, problems.Deps{
		Store: d.Store, Problems: d.Problems, Decisions: d.Decisions, People: d.People, Bugs: d.Bugs, Symbols: d.Symbols,
		Filer: d.Filer,
	})
	s.mcp = mcp.New(kit, panel, mcp.Deps{Store: d.Store, Problems: d.Problems, People: d.People, Events: d.Events,
		Lists: s.lists, Pages: s.problems})
	s.handler, err = s.routes()
	return s, err
}

// RefreshGroups asks the provider for the present groups of people. A periodic job calls it.
func (s *Server) RefreshGroups(ctx context.Context) error { return s.people.RefreshGroups(ctx) }

// Handler returns the handler of the web side.
func (s *Server) Handler() http.Handler { return s.handler }

func (s *Server) serveAPI(w http.ResponseWriter, r *http.Request) error {
	caller := callerOf(r)
	caller.AuditRead = func() error { return s.web.AuditView(r, "read.api", r.URL.Path) }
	err := s.api.Serve(w, r, caller)
	if e, ok := errors.AsType[*api.MethodError](err); ok {
		w.Header().Set("Allow", e.Allow)
		return &web.MethodError{}
	}
	return err
}

// callerOf returns who sends a request, with the rights that the token leaves.
func callerOf(r *http.Request) api.Caller {
	v := web.VisitOf(r)
	return api.Caller{Role: v.User.Role, Token: v.Token, Names: v.User.Names(), Triage: v.User.Triage,
		Private: v.User.Private}
}

// withoutToken returns a handler that uses next for requests with an API token, and wrap(next) for
// those without.
func (s *Server) withoutToken(wrap func(http.Handler) http.Handler, next http.Handler) http.Handler {
	wrapped := wrap(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if web.VisitOf(r).Token != nil {
			next.ServeHTTP(w, r)
			return
		}
		wrapped.ServeHTTP(w, r)
	})
}

// authenticateToken loads the user of an API token. It refuses an invalid token even if the request
// also has a session.
func (s *Server) authenticateToken(next http.Handler) http.Handler {
	return s.web.Do(func(w http.ResponseWriter, r *http.Request) error {
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if !strings.EqualFold(scheme, "Bearer") {
			next.ServeHTTP(w, r)
			return nil
		}
		u, t, err := s.tokens.ByToken(r.Context(), strings.TrimSpace(token), proxies.Client(r))
		if err != nil {
			return err
		}
		web.VisitOf(r).SignIn(u, &t)
		next.ServeHTTP(w, r)
		return nil
	})
}

// exportsByToken returns a handler that serves files and feeds to scripts with an API token of the
// right scope, without a session and within the rate limits of the API. Pages need a session. Visitors
// get files within a rate limit of their own.
func (s *Server) exportsByToken(next http.Handler) http.Handler {
	authenticateToken := s.authenticateToken(s.limitRate(s.web.Do(func(w http.ResponseWriter, r *http.Request) error {
		for _, scope := range scopesOfFile(r) {
			if err := web.VisitOf(r).Token.Need(scope); err != nil {
				return err
			}
		}
		next.ServeHTTP(w, r)
		return nil
	})))
	limited := s.limitTo(s.web.Config.ExportRatePerAddress, next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !web.ForFile(r):
			next.ServeHTTP(w, r)
		case r.Header.Get("Authorization") != "":
			authenticateToken.ServeHTTP(w, r)
		case web.CurrentUser(r).ID == 0:
			limited.ServeHTTP(w, r)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// scopesOfFile returns the scopes that reading a file needs. The audit log names machines and embargoed
// problems.
func scopesOfFile(r *http.Request) []crash.Scope {
	switch {
	case strings.HasPrefix(r.URL.Path, layout.PathAudit):
		return []crash.Scope{crash.ScopeAdmin, crash.ScopeReadPrivate}
	case strings.HasPrefix(r.URL.Path, "/admin/"):
		return []crash.Scope{crash.ScopeAdmin}
	case strings.HasPrefix(r.URL.Path, "/user/"), r.URL.Query().Get("core") != "":
		return []crash.Scope{crash.ScopeReadPrivate}
	}
	return []crash.Scope{crash.ScopeRead}
}

// limitRate limits the requests a minute of one API token, or of one address without a token.
func (s *Server) limitRate(next http.Handler) http.Handler {
	authenticateToken := s.limitTo(s.web.Config.APIRatePerToken, next)
	byAddress := s.limitTo(s.web.Config.APIRatePerAddress, next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if web.VisitOf(r).Token != nil {
			authenticateToken.ServeHTTP(w, r)
			return
		}
		byAddress.ServeHTTP(w, r)
	})
}

// limitTo limits the requests a minute of one API token or address; 0 is no limit.
func (s *Server) limitTo(perMinute int, next http.Handler) http.Handler {
	if perMinute == 0 {
		return next
	}
	limited := httprate.LimitBy(perMinute, time.Minute, rateLimitKey, httprate.WithLimitHandler(s.web.Do(
		func(_ http.ResponseWriter, r *http.Request) error {
			select {
			case <-time.After(refusalPause):
			case <-r.Context().Done():
			}
			return crash.Errorf(crash.TooMany, "too_many_requests",
				"Too many requests: at most %d a minute. Go on later.", perMinute)
		})))(next)
	if s.web.Config.Instances == nil {
		return limited
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		limited.ServeHTTP(w, proxies.Share(r, perMinute, s.web.Config.Instances()))
	})
}

// refusalPause is how long a client waits for the answer that it sent too many requests. Without it,
// clients that repeat requests at once get thousands of such answers a second.
const refusalPause = time.Second

func rateLimitKey(r *http.Request) (string, error) {
	if t := web.VisitOf(r).Token; t != nil {
		return "token:" + strconv.FormatInt(t.ID, 10), nil
	}
	return "address:" + proxies.Key(proxies.Client(r)), nil
}

// setStatusByAPI returns the handler that changes the manual status of problems, with the same
// rights as createByAPI.
func (s *Server) setStatusByAPI() http.Handler {
	return s.triageByAPI(func(w http.ResponseWriter, r *http.Request) error {
		v := web.VisitOf(r)
		return s.api.SetStatus(w, r, callerOf(r), v.User.Name)
	}, crash.ScopeTriage, bugs.ErrMediaType)
}

func (s *Server) createByAPI() http.Handler {
	return s.triageByAPI(s.bugs.CreateBug, crash.ScopeFile, bugs.ErrMediaType)
}

func (s *Server) eraseByAPI() http.Handler {
	return s.changeByAPI(s.web.NeedAdmin, func(w http.ResponseWriter, r *http.Request) error {
		return s.api.Erase(w, r, web.VisitOf(r).User.Name)
	}, crash.ScopeAdmin, bugs.ErrMediaType)
}

// triageByAPI returns a handler by which triagers change problems: with a session and its CSRF token,
// or with an API token that has a scope. No page of another site can send an API token, so it needs no
// CSRF token. media is the error for bodies that are not JSON.
func (s *Server) triageByAPI(
	change func(http.ResponseWriter, *http.Request) error, scope crash.Scope, media error,
) http.Handler {
	return s.changeByAPI(s.web.NeedTriager, change, scope, media)
}

// changeByAPI does the same for people whom the middleware need lets through.
func (s *Server) changeByAPI(
	need func(http.Handler) http.Handler, change func(http.ResponseWriter, *http.Request) error, scope crash.Scope,
	media error,
) http.Handler {
	do := need(s.web.Do(change))
	return s.withoutToken(func(http.Handler) http.Handler { return s.web.WithSession(s.web.Recognise(s.web.Guard(do))) },
		s.web.Do(func(w http.ResponseWriter, r *http.Request) error {
			if err := web.VisitOf(r).Token.Need(scope); err != nil {
				return err
			}
			if web.IsForm(r) || web.WantsPart(r) {
				return media
			}
			r.Body = http.MaxBytesReader(w, r.Body, web.MaxRequestBytes)
			do.ServeHTTP(w, r)
			return nil
		}))
}

// showAPI shows the reference of the API, generated from the descriptions of its resources.
func (s *Server) showAPI(w http.ResponseWriter, r *http.Request) error {
	page := layout.APIPage{
		Shell: s.web.Shell(r, "API"), Address: s.web.Base.String() + api.Prefix, PerMinute: s.web.Config.APIRatePerAddress,
		Resources: s.api.Describe(),
	}
	return s.web.Page(w, r, http.StatusOK, layout.API(page))
}
