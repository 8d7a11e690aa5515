// Package handlertest runs the web side on a real database and a practice tracker, and visits it as browsers and scripts
// do. Tests that use it are in external packages (handlers_test).
package handlertest

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"mishap/crash"
	"mishap/db"
	"mishap/db/dbtest"
	"mishap/handlers"
)

// Options change what New makes. The zero value is what most tests want.
type Options struct {
	Store     *db.Store // nil: a fresh one
	NoFiling  bool      // bug filing switched off
	HTTPSBase string    // a base address of its own, as behind a proxy; empty: the test server's
	Log       *slog.Logger
	Now       func() time.Time
}

// Site is a web side that listens on a port of its own until the test ends.
type Site struct {
	URL      string // where it listens
	Store    *db.Store
	Accounts *db.Accounts
	Metrics  *prometheus.Registry
}

// New starts a site.
func New(t testing.TB, o Options) *Site {
	t.Helper()
	if o.Store == nil {
		o.Store = dbtest.New(t)
	}
	if o.Log == nil {
		o.Log = dbtest.Log(t)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	server := httptest.NewUnstartedServer(nil)
	site := &Site{
		URL: "http://" + server.Listener.Addr().String(), Store: o.Store, Accounts: db.NewAccounts(o.Store),
		Metrics: prometheus.NewRegistry(),
	}
	base := site.URL
	if o.HTTPSBase != "" {
		base = o.HTTPSBase
	}
	h, err := handlers.New(handlers.Deps{
		Store: o.Store, Accounts: site.Accounts, Log: o.Log, Now: o.Now, Registerer: site.Metrics,
		Config: handlers.Config{BaseURL: base, AllowBugFiling: !o.NoFiling},
	})
	if err != nil {
		t.Fatalf("handlers.New: %v", err)
	}
	server.Config.Handler = h.Handler()
	server.Start()
	t.Cleanup(server.Close)
	return site
}

// Password is that of all accounts that AddUser makes.
const Password = "correct horse battery"

// AddUser makes an account named after its role.
func (s *Site) AddUser(t testing.TB, role crash.Role) crash.User {
	t.Helper()
	u, err := s.Accounts.Add(t.Context(), "", "ada-"+string(role), role, Password)
	if err != nil && crash.KindOf(err) != crash.Conflict {
		t.Fatalf("add user: %v", err)
	}
	if err != nil {
		if u, err = s.Accounts.ByName(t.Context(), "ada-"+string(role)); err != nil {
			t.Fatalf("read user: %v", err)
		}
	}
	return u
}

// Visitor is a client of somebody who is not signed in.
func (s *Site) Visitor(t testing.TB) *Client {
	t.Helper()
	return NewClient(t, s.URL)
}

// As is a client of somebody with this role, signed in through the form; RoleNone is a visitor.
func (s *Site) As(t testing.TB, role crash.Role) *Client {
	t.Helper()
	c := s.Visitor(t)
	if role != crash.RoleNone {
		c.SignIn(s.AddUser(t, role).Name, Password).Want(http.StatusSeeOther)
	}
	return c
}

// SignIn sends the sign-in form.
func (c *Client) SignIn(name, password string) *Answer {
	c.t.Helper()
	return c.Post("/login", map[string][]string{"username": {name}, "password": {password}, "next": {"/"}})
}

// Roles are all of them, visitors first.
var Roles = []crash.Role{crash.RoleNone, crash.RoleViewer, crash.RoleTriager, crash.RoleAdmin}

// RoleName names a role in the name of a test.
func RoleName(role crash.Role) string {
	if role == crash.RoleNone {
		return "visitor"
	}
	return strings.ToLower(string(role))
}
