// Package web is the kit that every area of the web side uses: errors and their answers, sessions and CSRF tokens, the person
// who asks, rendering, caches of pages, redaction for the public, and the panel that shows the status of a problem. It knows
// none of the areas.
package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/prometheus/client_golang/prometheus"

	"mishap/crash"
	"mishap/crash/cache"
	"mishap/crash/grouping"
	"mishap/crash/redact"
	"mishap/db"
	"mishap/db/accounts"
	"mishap/db/bugs"
	"mishap/db/counts"
	"mishap/db/filings"
	"mishap/db/reports"
	"mishap/handlers/proxies"
	"mishap/tracker"
)

// Config is what the web side needs to know of the configuration.
type Config struct {
	BaseURL        string                 // own base address, "https://crashes.example.org"
	AllowBugFiling bool                   // false: Create is shown nowhere and refused
	IngestURL      string                 // where machines post reports, as pages tell it: "http://localhost:8081"
	CreateWait     time.Duration          // how long an answer to Create waits for the tracker; 0: 4 s
	SearchTime     time.Duration          // how long a review waits for what the tracker knows; 0: 4 s
	Version        string                 // of the program
	CoresDir       string                 // where the way in keeps core dumps, when that is on this machine; empty: it is not
	SourceLinks    grouping.LinkTemplates // to lines of source packages
	VersionLinks   grouping.LinkTemplates // to versions of source packages
	AssetsDir      string                 // development: serve assets from this folder instead of the embedded ones

	TrustedProxies proxies.Networks // those that tell the client's address and scheme; none: nobody is believed

	APIRatePerToken   int // requests a minute to the API with one token; 0: no limit
	APIRatePerAddress int // the same of one address without a token

	TrackerName           string // of the tracker, for people: "launchpad.net"
	ConfigFile            string // where WriteTokens writes
	TokensFromEnvironment bool   // the environment gives the access token and wins over the file
}

// Deps are the things that a Server works with. All but Releases and Health are required.
type Deps struct {
	Releases    *crash.ReleaseTable // nil: the one that is built in
	Store       *db.Store
	Accounts    *accounts.Store
	Bugs        *bugs.Store
	Counts      *counts.Store
	Decisions   *db.Decisions
	Filings     *filings.Store
	Reports     *reports.Store
	Filer       *tracker.Filer
	Tracker     *tracker.Client
	Credentials *tracker.Credentials
	Config      Config
	Log         *slog.Logger
	Now         func() time.Time
	Registerer  prometheus.Registerer

	// Health checks what must work for this instance; nil: only the database.
	Health func(context.Context) []crash.HealthCheck
	// WriteTokens writes a new access token into the configuration file. Its *crash.Error says why that did not work.
	WriteTokens func(context.Context, crash.AccessToken) error
}

// Kit is what every area of the web side works with: the stores, the sessions, the caches, and the ways to answer.
type Kit struct {
	Store     *db.Store
	Accounts  *accounts.Store
	Bugs      *bugs.Store
	Counts    *counts.Store
	Decisions *db.Decisions
	Filings   *filings.Store
	Reports   *reports.Store
	Filer     *tracker.Filer
	Tracker   *tracker.Client
	Creds     *tracker.Credentials
	Write     func(context.Context, crash.AccessToken) error
	Health    func(context.Context) []crash.HealthCheck
	Config    Config
	Log       *slog.Logger
	Now       func() time.Time
	Releases  *crash.ReleaseTable

	Base        *url.URL
	Sessions    *scs.SessionManager
	metrics     *metrics
	pages       sync.Pool // of *bytes.Buffer, to render pages into
	compressors sync.Pool // of *fastgzip.Writer, for cached pages

	Redacted  redact.Cache
	pageCache *cache.Cache[string] // whole pages for visitors, by Kit.revision
	factCache *cache.Cache[string] // what pages are made of, by Kit.revision
}

// missing lists the dependencies that were not given.
func (d Deps) missing() []string {
	var names []string
	for _, dep := range []struct {
		name    string
		missing bool
	}{
		{"Store", d.Store == nil}, {"Accounts", d.Accounts == nil}, {"Bugs", d.Bugs == nil},
		{"Counts", d.Counts == nil}, {"Decisions", d.Decisions == nil}, {"Filings", d.Filings == nil}, {"Reports", d.Reports == nil},
		{"Filer", d.Filer == nil}, {"Tracker", d.Tracker == nil},
		{"Credentials", d.Credentials == nil}, {"WriteTokens", d.WriteTokens == nil}, {"Log", d.Log == nil},
		{"Now", d.Now == nil}, {"Registerer", d.Registerer == nil},
	} {
		if dep.missing {
			names = append(names, dep.name)
		}
	}
	return names
}

// ParseBase reads the base address and writes it as browsers write origins.
func ParseBase(address string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimRight(address, "/"))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("handlers: base address %q is not an http or https address", address)
	}
	u.Host = strings.ToLower(u.Host)
	if port := map[string]string{"http": ":80", "https": ":443"}[u.Scheme]; strings.HasSuffix(u.Host, port) {
		u.Host = strings.TrimSuffix(u.Host, port)
	}
	return u, nil
}

// Do makes an http.HandlerFunc of a handler that returns an error.
func (s *Kit) Do(h func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := h(w, r); err != nil {
			s.serveError(w, r, err)
		}
	}
}

// Deadline gives every request of a route at most d.
func Deadline(d time.Duration) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ctx, cancel := context.WithTimeout(r.Context(), d)
			defer cancel()
			next.ServeHTTP(w, r.WithContext(ctx))
		})
	}
}

// detached returns a context that goes on when the visitor of ctx leaves, and ends at the deadline of ctx. It holds nothing
// else of ctx: no session and no user. It is for work whose result other visitors get too.
func detached(ctx context.Context) (context.Context, context.CancelFunc) {
	at, ok := ctx.Deadline()
	if !ok {
		at = time.Now().Add(PageTime)
	}
	return context.WithDeadline(context.Background(), at) //nolint:forbidigo // see above
}

// PageTime is the longest that a page may take.
const PageTime = 30 * time.Second

// NewKit returns the kit. Its error names every dependency that is missing.
func NewKit(d Deps) (*Kit, error) {
	base, err := ParseBase(d.Config.BaseURL)
	if missing := d.missing(); len(missing) > 0 {
		err = errors.Join(err, fmt.Errorf("handlers: missing: %s", strings.Join(missing, ", ")))
	}
	if err != nil {
		return nil, err
	}
	s := &Kit{
		Store: d.Store, Accounts: d.Accounts, Bugs: d.Bugs, Counts: d.Counts, Decisions: d.Decisions,
		Filings: d.Filings, Reports: d.Reports, Filer: d.Filer, Tracker: d.Tracker, Creds: d.Credentials, Write: d.WriteTokens,
		Config: d.Config, Log: d.Log, Now: d.Now, Base: base, Health: d.Health, Releases: d.Releases,
	}
	if s.Health == nil {
		s.Health = d.Store.Health
	}
	if s.Releases == nil {
		s.Releases = crash.BuiltInReleases()
	}
	if s.Config.CreateWait == 0 {
		s.Config.CreateWait = 4 * time.Second
	}
	if s.Config.SearchTime == 0 {
		s.Config.SearchTime = 4 * time.Second
	}
	s.pageCache, s.factCache = cache.NewStale[string](maxPageBytes, maxStalePage), cache.New[string](maxFactBytes)
	if s.metrics, err = newMetrics(d.Registerer); err != nil {
		return nil, err
	}
	if err := s.registerCaches(d.Registerer); err != nil {
		return nil, err
	}
	s.Sessions = s.newSessions()
	return s, nil
}
