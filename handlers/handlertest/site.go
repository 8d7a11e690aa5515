// Package handlertest runs the pages on a real database and a practice tracker, and visits them as
// browsers and scripts do. Tests that use it are in external packages (handlers_test).
package handlertest

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/grouping"
	"mishap/crash/intake"
	"mishap/crash/privacy"
	"mishap/crash/symbols/cores"
	"mishap/crash/symbols/debuginfo"
	"mishap/db"
	"mishap/db/bugs"
	"mishap/db/dbtest"
	"mishap/db/doors"
	"mishap/db/events"
	"mishap/db/people"
	"mishap/db/problems"
	"mishap/db/symbols"
	"mishap/handlers"
	"mishap/handlers/proxies"
	"mishap/handlers/web"
	"mishap/notify/mail"
	"mishap/notify/webhook"
	"mishap/tracker"
	"mishap/tracker/issuetest"
	"mishap/tracker/kinds"
	"mishap/tracker/launchpad"
	"mishap/tracker/trackertest"
)

// Options configure New. The zero value suits most tests.
type Options struct {
	Store        *db.Store            // nil: a new one
	Tracker      *trackertest.Tracker // nil: a new one
	Disconnected bool                 // no access token: the tracker is not connected yet
	// Trackers and Upstreams are kinds of further trackers, each with a practice one. Their names are those of the kinds.
	Trackers, Upstreams []string
	NoLaunchpad         bool // there are only Trackers and Upstreams
	NoFiling            bool // filing is switched off
	// BaseURL is the public address, as behind a proxy; empty: where the site listens.
	BaseURL                            string
	CreateWait                         time.Duration // 0: 4 s
	SearchTime                         time.Duration // how long a review waits for the tracker; 0: 4 s
	Settle                             time.Duration // delay before the search after an unknown outcome; 0: 1 ms
	SourceLinks, VersionLinks          grouping.LinkTemplates
	Health                             func(context.Context) []crash.HealthCheck // nil: of the database
	Cores                              *cores.Store                              // core dumps; nil: none
	NoCores                            bool                                      // machines are not asked for cores
	CorePackages                       debuginfo.Patterns                        // of which programs they are; nil: all
	Privacy                            *privacy.Table                            // nil: the built-in table
	APIRatePerAddress, APIRatePerToken int                                       // requests per minute; 0: no limit
	ExportRatePerAddress               int                                       // files per minute; 0: no limit
	Instances                          func() int                                // that share these limits; nil: 1

	SMTPURL       string           // of the relay for mail, on this machine; empty: no mail is sent
	Environment   bool             // the access token counts as coming from the environment
	AllowNetworks webhook.Networks // private networks to which endpoints may be; nil: none

	OpenID      crash.OpenIDConfig // signing in with OpenID 2.0; zero: off
	OIDC        crash.OIDCConfig   // signing in with OpenID Connect; zero: off
	Proxy       web.ProxyConfig    // signing in by a header; zero: off
	Rights      crash.RightsConfig // unless Store is given
	RequireApp  crash.AppPolicy
	LocalSignIn crash.LocalSignIn

	WriteTokens func(context.Context, crash.AccessToken) error
	Log         *slog.Logger
	Now         func() time.Time
}

// Site is a site that listens on a port of its own until the test ends.
type Site struct {
	URL       string // where it listens
	Store     *db.Store
	People    *people.Store
	Bugs      *bugs.Store
	Problems  *problems.Store
	Decisions *db.Decisions
	Events    *events.Store
	Mailer    *mail.Mailer
	Sender    *webhook.Client
	Tracker   *trackertest.Tracker
	Practice  map[string]*issuetest.Server // the practice trackers of Options.Trackers and Upstreams, by name
	Filer     *tracker.Filer
	Handler   http.Handler // the whole web side, for requests with a context of their own
	Metrics   *prometheus.Registry
	Token     crash.AccessToken // of the configuration, zero with Options.Disconnected
	routes    chi.Routes
	// RefreshGroups asks the provider for the groups of people, as a periodic job does.
	RefreshGroups func(context.Context) error
	Written       []crash.AccessToken // what went into the configuration file, unless Options.WriteTokens was given
}

// Patience is how long tests wait for an outcome that must occur. It only makes a test that would
// never end fail with a message.
const Patience = 5 * time.Minute

// ConsumerKey is the name of the sites in the tracker.
const ConsumerKey = "mishap tests"

// New starts a site.
func New(t testing.TB, o Options) *Site {
	t.Helper()
	if o.Store == nil {
		o.Store = dbtest.OpenConfig(t, db.Config{URL: dbtest.URL(t), Rights: o.Rights})
	}
	if o.Tracker == nil {
		o.Tracker = trackertest.New(t)
	}
	if o.Log == nil {
		o.Log = dbtest.Log(t)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	server := httptest.NewUnstartedServer(nil)
	site := &Site{
		URL: "http://" + server.Listener.Addr().String(), Store: o.Store, People: people.New(o.Store),
		Bugs: bugs.New(o.Store), Problems: problems.New(o.Store), Decisions: db.NewDecisions(o.Store),
		Events:  events.New(o.Store),
		Tracker: o.Tracker,
		Metrics: prometheus.NewRegistry(),
	}
	if o.WriteTokens == nil {
		o.WriteTokens = func(_ context.Context, token crash.AccessToken) error {
			site.Written = append(site.Written, token)
			return nil
		}
	}
	base := cmp.Or(o.BaseURL, site.URL)
	site.Sender = webhook.NewClient(webhook.Config{Allow: o.AllowNetworks, BaseURL: base, Version: "test", Now: o.Now})
	tc := tracker.Config{
		Kind: kinds.Launchpad, Title: "the practice tracker",
		URL: o.Tracker.URL, APIURL: o.Tracker.APIURL, ConsumerKey: ConsumerKey, Target: "ubuntu", BaseURL: base,
		Settle: cmp.Or(o.Settle, time.Millisecond), Backoff: time.Millisecond, Timeout: Patience, Log: o.Log, Now: o.Now,
		Privacy: o.Privacy,
	}
	if !o.Disconnected {
		tc.Token = o.Tracker.Token(ConsumerKey)
		site.Token = tc.Token
	}
	site.Mailer = newMailer(t, o, base, site)
	creds := tracker.NewCredentials(tc, site.Bugs)
	client := launchpad.New(tc, creds)
	members := site.trackers(t, o, tc, creds)
	if o.NoLaunchpad {
		client, creds = nil, members[0].Creds
	}
	site.Filer = tracker.NewFiler(tc, site.Bugs, tracker.NewSites(site.Bugs, members...))
	trusted, err := proxies.Parse(proxies.Loopback)
	if err != nil {
		t.Fatalf("trusted proxies: %v", err)
	}
	h, err := handlers.New(handlers.Deps{
		Decisions: site.Decisions, Mailer: site.Mailer, Sender: site.Sender, Health: o.Health, WriteTokens: o.WriteTokens,
		Deps: web.Deps{
			Store: o.Store, People: site.People, Bugs: site.Bugs, Doors: doors.New(o.Store), Problems: site.Problems,
			Events: site.Events, Symbols: symbols.New(o.Store),
			Filer: site.Filer, Tracker: client,
			Credentials: creds, Log: o.Log, Now: o.Now, Registerer: site.Metrics,
			Config: web.Config{
				BaseURL: base, AllowBugFiling: !o.NoFiling, CreateWait: o.CreateWait, SearchTime: o.SearchTime,
				TrackerName: members[0].Title, Privacy: o.Privacy,
				SourceLinks: o.SourceLinks, VersionLinks: o.VersionLinks, Cores: o.Cores,
				AskForCores: !o.NoCores, CorePackages: o.CorePackages,
				APIRatePerAddress: o.APIRatePerAddress, APIRatePerToken: o.APIRatePerToken,
				ExportRatePerAddress: o.ExportRatePerAddress, Instances: o.Instances,
				TrustedProxies: trusted, OpenID: o.OpenID, OIDC: o.OIDC, Proxy: o.Proxy,
				RequireApp: o.RequireApp, LocalSignIn: o.LocalSignIn,
				ConfigFile: "local_config.toml", TokensFromEnvironment: o.Environment, IngestURL: "http://localhost:8081",
			},
		},
	})
	if err != nil {
		t.Fatalf("handlers.New: %v", err)
	}
	var ok bool
	if site.routes, ok = h.Handler().(chi.Routes); !ok {
		t.Fatal("the handler has no route table")
	}
	site.Handler, site.RefreshGroups = h.Handler(), h.RefreshGroups
	server.Config.Handler = h.Handler()
	server.Start()
	t.Cleanup(func() {
		server.Close()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 200*time.Millisecond) // cancel what hangs
		defer cancel()
		site.Filer.Close(ctx)
	})
	return site
}

// WebhookSecret is the secret of the webhooks of a site's further trackers. It is a valid signing token, too.
const WebhookSecret = "whsec_bWlzaGFwLXByYWN0aWNlLXdlYmhvb2stc2VjcmV0IQ=="

// trackers returns the trackers of a site. Those besides the first one file bugs at sandbox/trial.
func (s *Site) trackers(t testing.TB, o Options, first tracker.Config, creds *tracker.Credentials) []tracker.Member {
	t.Helper()
	var members []tracker.Member
	if !o.NoLaunchpad {
		members = append(members, tracker.Member{Config: first, Creds: creds})
	}
	s.Practice = map[string]*issuetest.Server{}
	for i, name := range slices.Concat(o.Trackers, o.Upstreams) {
		kind, server := kinds.Named(name), issuetest.New(t, issuetest.Kinds[name]())
		c := first
		c.Name, c.Title, c.Kind, c.Target, c.ConsumerKey = name, kind.Title, kind, "sandbox/trial", name
		c.URL, c.APIURL, c.Mail = server.URL, kind.API(server.URL), server.Mailer()
		c.Upstream, c.Review, c.PerDay = i >= len(o.Trackers), kind.Review, kind.PerDay
		c.Token = crash.AccessToken{Token: "mishap@example.org", Secret: "secret-of-mishap"}
		c.WebhookSecret = WebhookSecret
		members = append(members, tracker.Member{Config: c, Creds: tracker.NewCredentials(c, s.Bugs)})
		s.Practice[name] = server
	}
	return members
}

// newMailer returns the mailer of a site.
func newMailer(t testing.TB, o Options, base string, site *Site) *mail.Mailer {
	t.Helper()
	c := mail.Config{From: "mishap <crashes@example.org>", BaseURL: base, Timeout: Patience, Log: o.Log, Now: o.Now,
		Registerer: site.Metrics}
	var err error
	if o.SMTPURL != "" {
		if c.Relay, err = mail.ParseRelay(o.SMTPURL, "off"); err != nil {
			t.Fatalf("relay: %v", err)
		}
	}
	m, err := mail.New(c, site.Events)
	if err != nil {
		t.Fatalf("mailer: %v", err)
	}
	return m
}

// Save stores a report as if a machine had sent it, and returns its bucket.
func (s *Site) Save(t testing.TB, report crashtest.Report) crash.Bucket {
	t.Helper()
	return s.SaveFrom(t, "machine-1", report)
}

// SaveFrom works like Save, for a report from another machine.
func (s *Site) SaveFrom(t testing.TB, machine crash.SystemID, report crashtest.Report) crash.Bucket {
	t.Helper()
	in := intake.New(intake.Config{MaxAgeDays: 366}, s.Store)
	receipt, err := in.Accept(t.Context(), crash.Report{System: machine, Fields: report.Fields()})
	if err != nil {
		t.Fatalf("save report: %v", err)
	}
	dbtest.Counted(t, s.Store)
	stored, err := s.Store.Report(t.Context(), receipt.ID)
	if err != nil {
		t.Fatalf("read report: %v", err)
	}
	if stored.Bucket == nil {
		return crash.Bucket{}
	}
	return s.Bucket(t, *stored.Bucket)
}

// Bucket returns a bucket in its current state.
func (s *Site) Bucket(t testing.TB, id crash.BucketID) crash.Bucket {
	t.Helper()
	b, err := s.Store.Bucket(t.Context(), id)
	if err != nil {
		t.Fatalf("read bucket: %v", err)
	}
	return b
}

// Routes returns the route table, with entries such as "GET /problem/{id}".
func (s *Site) Routes(t testing.TB) []string {
	t.Helper()
	var routes []string
	err := chi.Walk(s.routes, func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		routes = append(routes, method+" "+strings.Replace(route, "/*/", "/", 1))
		return nil
	})
	if err != nil {
		t.Fatalf("route table: %v", err)
	}
	return routes
}

// Password is the password of all accounts that AddUser adds.
const Password = "correct horse battery"

// Value returns the text that a query of one row and column selects.
func (s *Site) Value(t testing.TB, sql string, args ...any) string {
	t.Helper()
	var value string
	if err := s.Store.Pool.QueryRow(t.Context(), sql, args...).Scan(&value); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return value
}

// AddUser returns the account that is named after its role, and adds it if necessary.
func (s *Site) AddUser(t testing.TB, role crash.Role) crash.User {
	t.Helper()
	name := "ada-" + string(role)
	dbtest.AddUser(t, s.Store, name, role, Password)
	u, err := s.People.ByName(t.Context(), name)
	if err != nil {
		t.Fatalf("read user: %v", err)
	}
	return u
}

// Visitor returns a client without a session.
func (s *Site) Visitor(t testing.TB) *Client {
	t.Helper()
	return NewClient(t, s.URL)
}

// As returns a client with this role, signed in through the form; RoleNone is a visitor.
func (s *Site) As(t testing.TB, role crash.Role) *Client {
	t.Helper()
	c := s.Visitor(t)
	if role != crash.RoleNone {
		c.SignIn(s.AddUser(t, role).Name, Password).Want(http.StatusSeeOther)
	}
	return c
}

// AsWithoutPrivate returns a client that is signed in with a role, without the right to private data.
func (s *Site) AsWithoutPrivate(t testing.TB, role crash.Role) *Client {
	t.Helper()
	c := s.Visitor(t)
	if role != crash.RoleNone {
		name := "ada-" + string(role)
		dbtest.AddUserWithoutPrivate(t, s.Store, name, role, Password)
		c.SignIn(name, Password).Want(http.StatusSeeOther)
	}
	return c
}

// SignIn sends the sign-in form.
func (c *Client) SignIn(name, password string) *Answer {
	c.t.Helper()
	return c.Post("/login", map[string][]string{"username": {name}, "password": {password}, "next": {"/"}})
}

// Roles lists all roles, visitors first.
var Roles = []crash.Role{crash.RoleNone, crash.RoleViewer, crash.RoleTriager, crash.RoleAdmin}

// RoleName returns the name of a role for the name of a test.
func RoleName(role crash.Role) string {
	if role == crash.RoleNone {
		return "visitor"
	}
	return strings.ToLower(string(role))
}
