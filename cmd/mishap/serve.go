package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"mishap/cmd/mishap/config"
	"mishap/crash"
	"mishap/crash/audit"
	"mishap/db"
)

// kinds says what an instance does.
type kinds struct{ web, ingest, symbols bool }

func (p *program) serveCommand() *cobra.Command {
	var only string
	var k kinds
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serves pages and receives reports",
		Long: `Serves pages and the JSON API on "listen", reports from machines on "ingest_listen", and metrics and
profiles on "ops_listen". With an empty database_url it first starts a private PostgreSQL under
data_dir. It migrates the database schema; several instances may start at once.

SIGINT (Ctrl-C) and SIGTERM stop it: it serves for drain_seconds although /readyz says 503, then
accepts nothing new, finishes what it accepted, and gives calls to the bug tracker a little time to end.
A second signal stops it at once, without losing anything that was acknowledged.

It also symbolises the core dumps that machines send, if gdb is installed (see docs/symbols.md).

With --only the instance serves only pages, receives only reports, or only symbolises core dumps, so
that different machines can do so on one database_url. Core dumps are in data_dir, so an instance that
symbolises needs the data_dir of the one that receives.`,
		Example: `  mishap serve
  MISHAP_DATABASE_URL=postgres://mishap@db/mishap mishap serve --only ingest`,
		Args: cobra.NoArgs,
		PreRunE: func(*cobra.Command, []string) (err error) {
			k, err = kindsOf(only)
			return err
		},
		RunE: p.configured(func(ctx context.Context, _ []string, c config.Config) error { return p.serve(ctx, c, k) }),
	}
	cmd.Flags().StringVar(&only, "only", "", "run an instance of one kind: web, ingest or symbols")
	return cmd
}

// kindsOf returns what an instance does with a value of --only.
func kindsOf(only string) (kinds, error) {
	switch only {
	case "":
		return kinds{web: true, ingest: true, symbols: true}, nil
	case "web":
		return kinds{web: true}, nil
	case "ingest":
		return kinds{ingest: true}, nil
	case "symbols":
		return kinds{symbols: true}, nil
	}
	return kinds{}, fmt.Errorf("--only: expected web, ingest or symbols, got %q", only)
}

// serve runs an instance until ctx ends, then stops it gracefully. It returns nil after a graceful
// stop.
func (p *program) serve(ctx context.Context, c config.Config, k kinds) (err error) {
	ctx = audit.WithActor(ctx, &audit.Actor{Kind: audit.Job})
	log := newLog(p.err, c.Level())
	log.InfoContext(ctx, "starting", "version", versionText(), "config", c)
	p.warn(ctx, c, log)
	if err := setReleases(c, log); err != nil {
		return err
	}
	if err := checkBlobs(ctx, c); errors.Is(err, crash.Invalid) {
		return err
	} else if err != nil { // it may recover
		log.WarnContext(ctx, "blobs: added symbols are not shared for now", "error", err)
	}
	database, err := openDatabase(ctx, c, true, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, database.close(ctx)) }()
	listeners, err := p.openListeners(ctx, c, k)
	if err != nil {
		return err
	}
	defer listeners.close()
	i, err := newInstance(ctx, c, listeners, log)
	if err != nil {
		return err
	}
	defer i.traces.Stop(ctx)
	defer i.stopServers()
	if i.store, err = i.openStore(ctx, database.url); errors.Is(err, errStoppedWaiting) {
		return nil
	} else if err != nil {
		return err
	}
	defer i.store.Close()
	i.disk = database.watch(c.DataDir)
	if i.cores, err = openCores(ctx, c); err != nil {
		return err
	}
	if err := i.build(); err != nil { //nolint:contextcheck // jobs run until they are stopped
		return err
	}
	if k.symbols {
		if err := i.buildSymbols(); err != nil {
			return err
		}
	}
	return i.run(ctx, func() {
		p.banner(c, listeners, database)
		i.log.InfoContext(ctx, "ready", i.addresses(database)...)
	})
}

// maxConns is the maximum number of database connections of one process. The writers of reports
// need two, the job queue and background tasks up to five, and pages the rest.
const maxConns = 16

// listeners holds the listeners of an instance. A listener is nil if the instance does not serve
// it.
type listeners struct{ web, ingest, ops net.Listener }

func (p *program) openListeners(ctx context.Context, c config.Config, k kinds) (*listeners, error) {
	var l listeners
	var err error
	open := func(wanted bool, key, address string, into *net.Listener) {
		if !wanted || err != nil {
			return
		}
		var opened net.Listener
		if opened, err = p.listen(ctx, key, address); err == nil {
			*into = opened
		}
	}
	open(k.web, "listen", c.Listen, &l.web)
	open(k.ingest, "ingest_listen", c.IngestListen, &l.ingest)
	open(true, "ops_listen", c.OpsListen, &l.ops)
	if err != nil {
		l.close()
		return nil, err
	}
	return &l, nil
}

// close closes the listeners that no server has closed.
func (l *listeners) close() {
	for _, one := range []net.Listener{l.web, l.ingest, l.ops} {
		if one != nil {
			_ = one.Close() // its server has usually closed it
		}
	}
}

// addresses returns the addresses of the instance for its log.
func (i *instance) addresses(database *database) []any {
	attrs := []any{"metrics", config.LocalURL(i.listeners.ops.Addr().String()) + "/metrics"}
	if i.listeners.web != nil {
		attrs = append(attrs, "pages", i.config.BaseURL)
	}
	if i.listeners.ingest != nil {
		attrs = append(attrs, "reports", config.LocalURL(i.listeners.ingest.Addr().String()))
	}
	if database.server != nil {
		attrs = append(attrs, "private_postgresql", database.server.Dir())
	}
	if notice := database.notice(); notice != "" {
		attrs = append(attrs, "notice", notice)
	}
	return attrs
}

// banner prints the addresses of an instance if people read its output.
func (p *program) banner(c config.Config, l *listeners, database *database) {
	if !isTerminal(p.out) {
		return
	}
	p.printf("mishap %s is running.\n", versionText())
	if l.web != nil {
		p.printf("  pages               %s", c.BaseURL)
	}
	if l.ingest != nil {
		p.printf("  machines post to    %s", config.LocalURL(l.ingest.Addr().String()))
	}
	p.printf("  metrics             %s/metrics", config.LocalURL(l.ops.Addr().String()))
	if database.server != nil {
		p.printf("  private PostgreSQL  %s", database.server.Dir())
	}
	if notice := database.notice(); notice != "" {
		p.printf("\n%s", notice)
	}
	p.printf("\nCtrl-C stops it.")
}

// warn logs settings that are valid but probably mistakes.
func (p *program) warn(ctx context.Context, c config.Config, log *slog.Logger) {
	for _, stray := range config.StrayVariables(p.environ) {
		log.WarnContext(ctx, "environment: "+stray)
	}
	type address struct{ name, address, danger string }
	addresses := []address{
		{"base_url", c.BaseURL, "passwords and sessions cross the network readable"},
		{"tracker_url", c.TrackerURL, "the tracker's secrets cross the network readable"},
		{"openid_url", c.OpenIDURL, "anyone on the way can sign in as anyone"},
		{"oidc_issuer", c.OIDCIssuer, "anyone on the way can sign in as anyone"},
		{"tracker_api_url", c.TrackerAPIURL, "the access token crosses the network readable"},
	}
	for _, t := range c.Trackers {
		addresses = append(addresses, address{"tracker." + t.Name + ".url", cmp.Or(t.APIURL, t.URL),
			"the access token crosses the network readable"})
	}
	for _, k := range addresses {
		if u, err := url.Parse(k.address); err == nil && u.Scheme == "http" && !config.IsLoopback(u.Hostname()) {
			log.WarnContext(ctx, k.name+" is http on another machine: "+k.danger+"; use https", k.name, k.address)
		}
	}
	if file := c.Exposed(); file != "" {
		log.WarnContext(ctx, "other accounts can read the secrets in the configuration file; chmod 600 it", "file", file)
	}
}

// Time limits and intervals of waiting for a database that accepts writes, such as during a
// failover.
const (
	primaryTimeout  = 10 * time.Minute // then the instance ends; a supervisor restarts it
	primaryPause    = time.Second      // pause between two attempts
	waitingLogEvery = 10 * time.Second // interval of log messages
)

// errStoppedWaiting ends an instance that is stopped while it waits for its database.
var errStoppedWaiting = errors.New("stopped while waiting for the database")

// openStore migrates and opens the database. While no server accepts writes, it waits and the
// listeners answer 503. It returns configuration errors at once.
func (i *instance) openStore(ctx context.Context, url string) (*db.Store, error) {
	until := i.now().Add(primaryTimeout)
	var said time.Time
	for {
		store, err := tryStore(ctx, url, i)
		switch {
		case err != nil && ctx.Err() != nil && !said.IsZero():
			return nil, errStoppedWaiting
		case crash.KindOf(err) != crash.Unavailable || ctx.Err() != nil:
			return store, err
		}
		i.listen() // until now, connections waited in the kernel's queue
		if now := i.now(); now.After(until) {
			return nil, fmt.Errorf("gave up after waiting %v for the database: %w", primaryTimeout, err)
		} else if now.Sub(said) >= waitingLogEvery {
			said = now
			i.log.WarnContext(ctx, "waiting for a PostgreSQL server that accepts writes",
				"give_up_at", until.UTC().Format(time.RFC3339), "error", explain(err))
		}
		if crash.Sleep(ctx, primaryPause) != nil {
			return nil, errStoppedWaiting
		}
	}
}

// tryStore is one attempt of openStore.
func tryStore(ctx context.Context, url string, i *instance) (*db.Store, error) {
	if err := db.CheckPrimary(ctx, url); err != nil {
		return nil, err
	}
	if err := db.Migrate(ctx, url, i.log); err != nil {
		return nil, err
	}
	return db.Open(ctx, db.Config{URL: url, MaxConns: maxConns, Log: i.log, Privacy: i.config.Privacy(),
		Rights: i.config.Rights(), Partitions: db.PartitionsBy(i.config.ReportsPartitions), Roles: i.roles(),
		KeepBodies: i.config.KeepBodies, DataDir: i.config.DataDir,
		Tracer: i.traces.Tracer(), Statements: i.traces.Statements()})
}

// roles returns what this instance does, as other instances see it.
func (i *instance) roles() (roles []string) {
	if i.web != nil {
		roles = append(roles, "web")
	}
	if i.ingest != nil {
		roles = append(roles, "ingest")
	}
	return roles
}

// replaceable is a handler that can be replaced while it is in use.
type replaceable struct{ now atomic.Pointer[http.Handler] }

func newReplaceable(first http.Handler) *replaceable {
	h := &replaceable{}
	h.replace(first)
	return h
}

func (h *replaceable) replace(next http.Handler) { h.now.Store(&next) }

// ServeHTTP implements http.Handler.
func (h *replaceable) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	(*h.now.Load()).ServeHTTP(w, r)
}

const textStarting = "mishap is starting and waits for its database. Please try again shortly."

// startingHealth is the health of an instance that waits for its database.
func startingHealth(context.Context) []crash.HealthCheck {
	return []crash.HealthCheck{{ID: "database", Name: "Database", Problem: textStarting}}
}

// notReady returns a handler whose /readyz says that the instance stops. Everything else still works.
func notReady(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/readyz" {
			w.Header().Set("Retry-After", retryUnavailable)
			say(w, http.StatusServiceUnavailable, "This instance is stopping.\n")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// startingPages answers requests for pages and the API while the instance starts.
func startingPages(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/healthz":
		say(w, http.StatusOK, "ok\n")
	case strings.HasPrefix(r.URL.Path, "/api/"):
		w.Header().Set("Retry-After", retryUnavailable)
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = fmt.Fprintf(w, "{\"error\":%q,\"code\":\"starting\"}\n", textStarting)
	default:
		w.Header().Set("Retry-After", retryUnavailable)
		say(w, http.StatusServiceUnavailable, textStarting+"\n")
	}
}

// startingIngest refuses reports while the instance starts; machines send them again.
func startingIngest(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Retry-After", "60")
	say(w, http.StatusServiceUnavailable, textStarting)
}

// listenOn opens the listener of a key. Its errors name the key and say what to do.
func listenOn(ctx context.Context, key, address string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	name := config.Variable(key)
	switch {
	case err == nil:
		return l, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s: %s is in use by another program; stop that one, or set %s (or %s) to another address",
			key, address, key, name)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("%s: %s may not be used by this account; set %s (or %s) to a port above 1023",
			key, address, key, name)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return nil, fmt.Errorf("%s: %s is not an address of this machine; set %s (or %s) to one that is",
			key, address, key, name)
	}
	return nil, fmt.Errorf("%s: cannot listen on %s: %w", key, address, err)
}

// webServer returns a server for pages and the API, with small requests and answers within a
// minute.
func webServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           closing(h),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      60 * time.Second,
		IdleTimeout:       120 * time.Second,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

// opsServer returns a server for metrics and profiles. A profile may take minutes.
func opsServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           closing(h),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       120 * time.Second,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

// closing returns a handler that ends the connection after each request with Transfer-Encoding. If such a
// request has a Content-Length, too, a proxy may understand its end differently, and the rest as another
// person's request (RFC 9112, section 6.1); net/http drops the Content-Length before a handler sees it.
func closing(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TransferEncoding != nil {
			w.Header().Set("Connection", "close")
		}
		h.ServeHTTP(w, r)
	})
}

// newMetrics returns the registry of this process.
func newMetrics() *prometheus.Registry {
	metrics := prometheus.NewRegistry()
	metrics.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return metrics
}

// opsHandler returns the handler of ops_listen: metrics, profiles, and checks. health checks whether this
// instance can work, for load balancers; vitals are the checks of the whole site, or nil.
func opsHandler(metrics *prometheus.Registry, health, vitals func(context.Context) []crash.HealthCheck) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "ok\n") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
		defer cancel()
		var problems strings.Builder
		for _, c := range health(ctx) {
			if c.Problem != "" {
				problems.WriteString(c.Problem + "\n")
			}
		}
		if problems.Len() > 0 {
			w.Header().Set("Retry-After", retryUnavailable)
			say(w, http.StatusServiceUnavailable, problems.String())
			return
		}
		say(w, http.StatusOK, "ready\n")
	})
	if vitals != nil {
		mux.HandleFunc("GET /health", func(w http.ResponseWriter, r *http.Request) {
			ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
			defer cancel()
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Cache-Control", "no-store")
			_ = json.NewEncoder(w).Encode(healthReport(append(health(ctx), vitals(ctx)...))) // the caller disconnected
		})
	}
	return mux
}

// healthLine is a health check in the answer of /health.
type healthLine struct {
	Check   string             `json:"check"`
	Name    string             `json:"name"`
	Status  crash.HealthStatus `json:"status"`
	Problem string             `json:"problem,omitempty"`
	Detail  string             `json:"detail,omitempty"`
	Remedy  string             `json:"remedy,omitempty"`
}

func healthReport(checks []crash.HealthCheck) map[string][]healthLine {
	lines := []healthLine{}
	for _, c := range checks {
		l := healthLine{Check: c.ID, Name: c.Name, Status: c.Status(), Problem: c.Problem, Detail: c.Detail}
		if c.Problem != "" {
			l.Remedy = c.Remedy
		}
		lines = append(lines, l)
	}
	return map[string][]healthLine{"checks": lines}
}

// retryUnavailable is the Retry-After, in seconds, while the database is unavailable.
const retryUnavailable = "10"

func say(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text)) // an error means that the caller disconnected
}

// newLog returns a logger that writes text to a terminal, and JSON elsewhere.
func newLog(w io.Writer, level slog.Level) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	if isTerminal(w) {
		return slog.New(slog.NewTextHandler(w, options))
	}
	return slog.New(slog.NewJSONHandler(w, options))
}

// isTerminal reports whether a stream, an io.Reader or io.Writer, is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// outage logs the first message about a database that is unavailable or full, and leaves out further
// ones until it works again.
type outage struct {
	mu          sync.Mutex
	since, last time.Time // of the messages; zero: the database works
	quiet       time.Duration
	leftOut     int
}

// How long there must be no further message before an outage is over. A full disk fails only what
// writes.
const (
	quietAway = 3 * time.Second
	quietFull = 10 * time.Minute
)

// logger returns a logger without repeated messages.
func (o *outage) logger(log *slog.Logger) *slog.Logger {
	return slog.New(outageHandler{Handler: log.Handler(), outage: o})
}

// queueLogger returns a logger for the job queue. What the queue reports as information is of use only to
// those who debug it, and its errors are errors of the database, as text.
func (o *outage) queueLogger(log *slog.Logger) *slog.Logger {
	return slog.New(outageHandler{Handler: log.Handler(), outage: o, queue: true})
}

// check logs the end of an outage if the database answers to ping.
func (o *outage) check(ctx context.Context, log *slog.Logger, now time.Time, ping func(context.Context) error) {
	o.mu.Lock()
	over := !o.since.IsZero() && now.Sub(o.last) >= o.quiet
	o.mu.Unlock()
	if !over || ping(ctx) != nil {
		return
	}
	o.mu.Lock()
	since, last, leftOut := o.since, o.last, o.leftOut
	o.since, o.leftOut = time.Time{}, 0
	o.mu.Unlock()
	log.InfoContext(ctx, "the database works again", "seconds", last.Sub(since).Seconds(), "messages_left_out", leftOut)
}

type outageHandler struct {
	slog.Handler
	*outage

	queue bool
}

// Enabled implements [slog.Handler].
func (h outageHandler) Enabled(ctx context.Context, level slog.Level) bool {
	if h.queue && level == slog.LevelInfo {
		level = slog.LevelDebug
	}
	return h.Handler.Enabled(ctx, level)
}

// Handle implements [slog.Handler].
func (h outageHandler) Handle(ctx context.Context, r slog.Record) error {
	if h.queue && r.Level == slog.LevelInfo {
		r.Level = slog.LevelDebug
	}
	about, full := h.about(r)
	if !about {
		return h.Handler.Handle(ctx, r)
	}
	h.mu.Lock()
	first := h.since.IsZero()
	if first {
		h.since, h.quiet = r.Time, quietAway
	} else {
		h.leftOut++
	}
	if h.last = r.Time; full {
		h.quiet = quietFull
	}
	h.mu.Unlock()
	if !first {
		return nil
	}
	r = r.Clone()
	r.AddAttrs(slog.String("note", "further messages about the database are left out until it works again"))
	if full {
		r.AddAttrs(slog.String("remedy", "make space on the disk of the database; mishap then continues"))
	}
	return h.Handler.Handle(ctx, r)
}

// about reports whether a record is about a database that is unavailable, and whether it is full.
func (h outageHandler) about(r slog.Record) (about, full bool) {
	if r.Level < slog.LevelWarn {
		return false, false
	}
	r.Attrs(func(a slog.Attr) bool {
		if a.Key != "error" && a.Key != "err" {
			return true
		}
		err, isError := a.Value.Any().(error)
		about = h.queue || isError && db.IsOutage(err)
		full = isError && db.IsFull(err)
		return false
	})
	return about, full
}

// WithAttrs implements [slog.Handler].
func (h outageHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	h.Handler = h.Handler.WithAttrs(attrs)
	return h
}

// WithGroup implements [slog.Handler].
func (h outageHandler) WithGroup(name string) slog.Handler {
	h.Handler = h.Handler.WithGroup(name)
	return h
}

// machineProblems logs what is wrong with this machine once, when it begins, and its end.
type machineProblems struct {
	log *slog.Logger
	now map[string]string // the problem of each check
}

// update compares the checks with the previous ones.
func (p *machineProblems) update(ctx context.Context, checks []crash.HealthCheck) {
	for _, c := range checks {
		before := p.now[c.Name]
		p.now[c.Name] = c.Problem // also if only a number in it has changed
		switch {
		case (c.Problem == "") == (before == ""):
		case c.Problem != "":
			p.log.WarnContext(ctx, c.Problem, "detail", c.Detail, "remedy", c.Remedy)
		default:
			p.log.InfoContext(ctx, "this is over: "+before)
		}
	}
}
