// Package web contains what all areas of the web side share: answers to errors, sessions, CSRF
// tokens, the current user, rendering, caches, and redaction for visitors. It imports none of the
// areas.
package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/prometheus/client_golang/prometheus"

	"mishap/crash"
	"mishap/crash/cache"
	"mishap/crash/grouping"
	"mishap/crash/privacy"
	"mishap/crash/span"
	"mishap/crash/symbols/cores"
	"mishap/crash/symbols/debuginfo"
	"mishap/db"
	"mishap/db/bugs"
	"mishap/db/events"
	"mishap/db/people"
	"mishap/db/problems"
	"mishap/db/reader"
	"mishap/db/symbols"
	"mishap/handlers/proxies"
	"mishap/tracker"
)

// Config holds the configuration of the web side.
type Config struct {
	BaseURL        string                 // such as "https://crashes.example.org"
	AllowBugFiling bool                   // if false, pages do not show Create, and it is refused
	IngestURL      string                 // where machines post reports, such as "http://localhost:8081"
	CreateWait     time.Duration          // time limit of the tracker for Create; 0: 4 s
	SearchTime     time.Duration          // time limit of a search of the tracker for a review; 0: 4 s
	Version        string                 // of the program
	Cores          *cores.Store           // core dumps; nil: not on this machine
	AskForCores    bool                   // machines are asked for cores
	CorePackages   debuginfo.Patterns     // of which programs machines are asked for cores
	SourceLinks    grouping.LinkTemplates // to lines of source packages
	VersionLinks   grouping.LinkTemplates // to versions of source packages
	AssetsDir      string                 // development: serve assets from this folder
	Privacy        *privacy.Table         // who may read which fields; nil: the built-in table
	Retention      Retention              // how long data is stored

	TrustedProxies proxies.Networks // proxies whose X-Forwarded headers are trusted

	OpenID crash.OpenIDConfig // signing in with OpenID 2.0
	OIDC   crash.OIDCConfig   // signing in with OpenID Connect
	Proxy  ProxyConfig        // signing in by a header

	RequireApp  crash.AppPolicy   // who must have an authenticator app; empty: nobody
	LocalSignIn crash.LocalSignIn // whether people sign in with a password; empty: they do

	APIRatePerToken      int // requests a minute to the API with one token; 0: no limit
	APIRatePerAddress    int // requests a minute to the API from one address without a token; 0: no limit
	ExportRatePerAddress int // files and feeds a minute that visitors get from one address; 0: no limit

	TrackerName           string // such as "Launchpad"
	ConfigFile            string // where WriteTokens writes
	TokensFromEnvironment bool   // the environment contains the access token and overrides the file
}

// Retention says for how many days data is stored; 0: forever.
type Retention struct {
	privacy.Periods
	CoresDays int
}

// Deps are the dependencies of a Kit. All but Releases and Tracer are required.
type Deps struct {
	Releases    *crash.ReleaseTable // nil: the built-in table
	Store       *db.Store
	People      *people.Store
	Bugs        *bugs.Store
	Problems    *problems.Store
	Events      *events.Store
	Symbols     *symbols.Store
	Filer       *tracker.Filer
	Tracker     *tracker.Client
	Credentials *tracker.Credentials
	Config      Config
	Log         *slog.Logger
	Now         func() time.Time
	Registerer  prometheus.Registerer
	Tracer      *span.Tracer // records requests; nil: none
}

// Kit holds the sessions and caches of the web side, and the methods that answer requests. The areas have
// stores of their own.
type Kit struct {
	*Auditor
	store       *db.Store
	people      *people.Store
	bugs        *bugs.Store
	events      *events.Store
	tracker     *tracker.Client
	credentials *tracker.Credentials

	Config   Config
	Log      *slog.Logger
	Now      func() time.Time
	Releases *crash.ReleaseTable

	Base     *url.URL
	Sessions *scs.SessionManager
	metrics  *metrics
	tracer   *span.Tracer
	visitors *visitors

	pageCache *cache.Cache[string] // whole pages for visitors, by Kit.revision
	fileCache *cache.Cache[string] // files for visitors
	factCache *cache.Cache[string] // see [CachedFacts]
}

// Required is a dependency that must not be nil.
type Required struct {
	Name string
	Nil  bool
}

// Missing returns an error that names the dependencies that are nil, or nil if none is.
func Missing(required ...Required) error {
	var names []string
	for _, r := range required {
		if r.Nil {
			names = append(names, r.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf("handlers: missing: %s", strings.Join(names, ", "))
}

func (d Deps) missing() error {
	return Missing([]Required{
		{"Store", d.Store == nil}, {"People", d.People == nil}, {"Bugs", d.Bugs == nil},
		{"Problems", d.Problems == nil}, {"Events", d.Events == nil}, {"Symbols", d.Symbols == nil},
		{"Filer", d.Filer == nil}, {"Tracker", d.Tracker == nil}, {"Credentials", d.Credentials == nil},
		{"Log", d.Log == nil}, {"Now", d.Now == nil}, {"Registerer", d.Registerer == nil},
	}...)
}

// parseBase parses the base address and writes its host as browsers write origins.
func parseBase(address string) (*url.URL, error) {
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

// Do returns an http.HandlerFunc that calls h and answers with its error.
func (s *Kit) Do(h func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := h(w, r); err != nil {
			s.serveError(w, r, err)
		}
	}
}

// Deadline returns middleware that limits each request to the time d.
func Deadline(d time.Duration) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ctx, cancel := context.WithTimeout(r.Context(), d)
			defer cancel()
			next.ServeHTTP(w, r.WithContext(ctx))
		})
	}
}

// detached returns a context with the deadline of ctx that does not end when the visitor of ctx
// leaves. It contains no session and no user, because other visitors share the result of the work.
func detached(ctx context.Context) (context.Context, context.CancelFunc) {
	at, ok := ctx.Deadline()
	if !ok {
		at = time.Now().Add(PageTime)
	}
	other := context.Background() //nolint:forbidigo // the work goes on when the visitor leaves
	return context.WithDeadline(reader.With(db.SameRevision(other, ctx), reader.From(ctx)), at)
}

// PageTime is the time limit of a page.
const PageTime = 30 * time.Second

// NewKit returns a Kit. Its error names every missing dependency.
func NewKit(d Deps) (*Kit, error) {
	base, err := parseBase(d.Config.BaseURL)
	if err := errors.Join(err, d.missing()); err != nil {
		return nil, err
	}
	s := &Kit{
		Auditor: &Auditor{d.Store, d.Log},
		store:   d.Store, people: d.People, bugs: d.Bugs, events: d.Events,
		tracker: d.Tracker, credentials: d.Credentials,
		Config: d.Config, Log: d.Log, Now: d.Now, Base: base, Releases: d.Releases,
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
	s.visitors = newVisitors()
	s.pageCache, s.factCache = cache.New[string](maxPageBytes, maxStalePage), cache.New[string](maxFactBytes, 0)
	s.fileCache = cache.New[string](maxPageBytes, maxStalePage)
	s.tracer = d.Tracer
	if s.metrics, err = newMetrics(d.Registerer); err != nil {
		return nil, err
	}
	if err := s.registerCacheMetrics(d.Registerer); err != nil {
		return nil, err
	}
	s.Sessions = s.newSessions()
	return s, nil
}

const (
	// PathAdmin is the page with the health of mishap.
	PathAdmin = "/admin"
	// PathTracker is the page that connects mishap to the tracker.
	PathTracker = "/admin/tracker"
	// PathAccount is the page of one's own account.
	PathAccount = "/account"

	apiPrefix     = "/api/1.0/" // errors below it are JSON
	pathCreateBug = apiPrefix + "create-bug-report"
)
