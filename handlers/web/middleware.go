package web

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-chi/chi/v5"
	chimw "github.com/go-chi/chi/v5/middleware"
	"github.com/justinas/nosurf"
	fastgzip "github.com/klauspost/compress/gzip"
	"github.com/prometheus/client_golang/prometheus"

	"mishap/crash"
	"mishap/crash/audit"
	"mishap/crash/cache"
	"mishap/db"
	"mishap/handlers/proxies"
	"mishap/views/layout"
)

const headerRequestID = "X-Request-ID"

// Identify gives each request an id, and hides embargoed problems from it that its user must not see,
// whoever that turns out to be. It ignores ids from clients and proxies, because they could
// forge log entries.
func (s *Kit) Identify(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := &visit{id: rand.Text()[:16]}
		v.actor = &audit.Actor{Kind: audit.Visitor, RequestID: v.id}
		if address := proxies.Client(r); address.IsValid() {
			v.actor.Address = address.String()
		}
		w.Header().Set(headerRequestID, v.id)
		ctx := db.ReadFor(r.Context(), db.NewReader(func() crash.Packages { return v.User.Embargoed }))
		if SafeMethods[r.Method] {
			ctx = db.OneRevision(ctx)
		}
		next.ServeHTTP(w, withVisit(r.WithContext(db.WatchMissing(ctx)), v))
	})
}

// metrics counts requests by route pattern, never by path.
type metrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mishap_http_requests_total", Help: "Requests to the web side by route, method and status.",
		}, []string{"route", "method", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "mishap_http_request_seconds", Help: "Time to answer a request to the web side, by route.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"route"}),
	}
	if err := errors.Join(reg.Register(m.requests), reg.Register(m.seconds)); err != nil {
		return nil, fmt.Errorf("handlers: register metrics: %w", err)
	}
	return m, nil
}

// registerCacheMetrics registers the sizes of the caches.
func (s *Kit) registerCacheMetrics(reg prometheus.Registerer) error {
	size := func(c *cache.Cache[string]) func() (int64, int) {
		return func() (int64, int) { return c.Bytes(), c.Len() }
	}
	var errs []error
	for name, size := range map[string]func() (bytes int64, entries int){
		"pages": size(s.pageCache), "facts": size(s.factCache), "files": size(s.fileCache),
		"lists": s.store.CachedLists,
	} {
		label := prometheus.Labels{"cache": name}
		errs = append(errs,
			reg.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
				Name: "mishap_cache_bytes", Help: "Memory that a cache of the web side holds.", ConstLabels: label,
			}, func() float64 { bytes, _ := size(); return float64(bytes) })),
			reg.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
				Name: "mishap_cache_entries", Help: "Entries of a cache of the web side.", ConstLabels: label,
			}, func() float64 { _, entries := size(); return float64(entries) })))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("handlers: register metrics: %w", err)
	}
	return nil
}

// Observe logs and counts each request after its answer. It uses the route instead of the path and
// query, which can contain signatures and machine ids.
func (s *Kit) Observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		ctx, step := s.tracer.Request(r.Context())
		defer step.End(nil)
		if s.tracer != nil {
			r = r.WithContext(ctx)
		}
		ww := chimw.NewWrapResponseWriter(w, r.ProtoMajor)
		next.ServeHTTP(ww, r)

		took := time.Since(start)
		route := "unmatched"
		if rctx := chi.RouteContext(r.Context()); rctx != nil && rctx.RoutePattern() != "" && rctx.RoutePattern() != "/*" {
			route = rctx.RoutePattern()
		}
		status := ww.Status()
		if status == 0 && r.Context().Err() != nil {
			status = statusClientClosed
		}
		method := r.Method
		if !knownMethods[method] {
			method = "other"
		}
		s.metrics.requests.WithLabelValues(route, method, strconv.Itoa(status)).Inc()
		s.metrics.seconds.WithLabelValues(route).Observe(took.Seconds())
		step.Answered(method, route, status)
		v := VisitOf(r)
		attrs := []slog.Attr{slog.String("request_id", v.id), slog.String("method", method),
			slog.String("route", route), slog.Int("status", status), slog.Int("bytes", ww.BytesWritten()),
			slog.Float64("ms", float64(took.Microseconds())/1000), slog.String("user", v.User.Name)}
		if v.Token != nil {
			attrs = append(attrs, slog.String("token", v.Token.Label()))
		}
		level := slog.LevelInfo
		if route == "/healthz" || route == "/readyz" {
			level = slog.LevelDebug // load balancers ask every few seconds
		}
		s.Log.LogAttrs(r.Context(), level, "request", attrs...)
	})
}

// statusClientClosed is the status, as in nginx, of a request whose visitor left before the answer.
const statusClientClosed = 499

var knownMethods = map[string]bool{
	http.MethodGet: true, http.MethodHead: true, http.MethodPost: true, http.MethodPut: true,
	http.MethodPatch: true, http.MethodDelete: true, http.MethodOptions: true,
}

// Recovered returns a handler that answers a panic of next with an internal error and logs its
// stack.
func (s *Kit) Recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer s.recoverPanic(w, r)
		next.ServeHTTP(w, r)
	})
}

// recoverPanic recovers from a panic and answers with an error. It must be deferred.
func (s *Kit) recoverPanic(w http.ResponseWriter, r *http.Request) {
	p := recover()
	if p == nil {
		return
	}
	if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(p) // net/http closes the connection
	}
	err := fmt.Errorf("panic: %v\n%s", p, debug.Stack())
	if ww, ok := w.(chimw.WrapResponseWriter); ok && ww.Status() != 0 {
		s.Log.ErrorContext(r.Context(), "request failed", "request_id", RequestID(r), "error", err)
		panic(http.ErrAbortHandler) // the visitor must not take half an answer for a complete one
	}
	s.serveError(w, r, err)
}

// policy allows scripts and styles from this site only, and no inline ones.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Headers returns a handler that sets the security headers of an answer.
func Headers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		// The origin check reads the Referer within the site; other sites must not see the address of a
		// problem.
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		next.ServeHTTP(w, r)
	})
}

// visit holds what the middleware knows about one request. Handlers read it through the functions
// below.
type visit struct {
	id       string          // request id
	User     crash.User      // zero: a visitor
	Token    *crash.APIToken // API token of the request, or nil
	actor    *audit.Actor    // of records in the audit log
	session  bool            // the session of the request has been loaded
	slot     bool            // the request has a slot, see visitors
	csrf     *nosurf.CSRFHandler
	revision string // see Kit.revision; empty until read
}

type visitKey struct{}

// VisitOf returns the visit of a request, or an empty one if the middleware has not run.
func VisitOf(r *http.Request) *visit {
	if v, ok := r.Context().Value(visitKey{}).(*visit); ok {
		return v
	}
	return &visit{actor: &audit.Actor{Kind: audit.Visitor}}
}

// SignIn sets the account, and the token or nil, of the request.
func (v *visit) SignIn(u crash.User, t *crash.APIToken) {
	v.User, v.Token = u, t
	if u.ID == 0 {
		return
	}
	v.actor.Kind, v.actor.Person = audit.Person, u.Name
	if t != nil {
		v.actor.Kind, v.actor.Via = audit.Token, strings.TrimSpace(t.Name+" "+t.Hint)
	}
}

func withVisit(r *http.Request, v *visit) *http.Request {
	return r.WithContext(audit.WithActor(context.WithValue(r.Context(), visitKey{}, v), v.actor))
}

// AsVisitor returns a copy of r that may read what visitors may, for a token without the scope for more. Records name
// the same actor.
func AsVisitor(r *http.Request) *http.Request {
	v := *VisitOf(r)
	v.User, v.Token, v.revision = crash.User{}, nil, ""
	ctx := db.ReadFor(r.Context(), db.NewReader(func() crash.Packages { return crash.Packages{} }))
	return r.WithContext(context.WithValue(ctx, visitKey{}, &v))
}

// CurrentUser returns the account that is signed in, or the zero User for visitors.
func CurrentUser(r *http.Request) crash.User { return VisitOf(r).User }

// RequestID returns the id of the request in logs, answers and error pages.
func RequestID(r *http.Request) string { return VisitOf(r).id }

// MarkUnchanged says that a request with a method for changes has changed nothing, so that no
// record is needed.
func MarkUnchanged(r *http.Request) { VisitOf(r).actor.MarkRecorded() }

// visitors limits what requests without an account take from people who are signed in and from
// machines, however many there are. A request waits for a slot, in the order of the requests, and holds
// it while its answer is made or looked up, and while it is sent, at most maxSlotSend. Cached answers
// need a slot, too: hundreds a second keep all processors of Go busy, and then a page for people waits
// some milliseconds for each answer of the database, although the processors have time to spare.
type visitors struct {
	slots  chan struct{} // as many as half the processors, at least one
	probes chan struct{} // for checks of load balancers, which must not wait for pages: one
	files  chan struct{} // for files, which take long; each also needs a slot for its work

	waiting atomic.Int64 // requests that wait for a slot

	mu      sync.Mutex
	readers map[*cachedPage]int // of answers that are being sent
	bytes   int64               // of these answers
}

const (
	maxPublicFiles = 2 // files that are made for visitors at the same time
	// maxFileWork is how long work on a file lasts before others go first.
	maxFileWork = 10 * time.Millisecond
	maxSending  = 64 << 20 // bytes of all answers that visitors are reading
	// minRest bounds the answers of a slot for which others wait to a thousand a second: what surrounds a quick
	// answer costs more than the answer.
	minRest = time.Millisecond
	// minSendRate is the lowest speed, in bytes a second, at which a visitor may read a file. It is so low
	// that a poor mobile connection reaches it.
	minSendRate = 8 << 10
	// sendGrace is the time that a visitor has in addition, as for pages.
	sendGrace = time.Minute
)

func newVisitors() *visitors {
	return &visitors{
		slots:  make(chan struct{}, max(runtime.GOMAXPROCS(0)/2, 1)),
		probes: make(chan struct{}, 1), files: make(chan struct{}, maxPublicFiles), readers: map[*cachedPage]int{},
	}
}

// errBusy is the answer to visitors when too many are served.
var errBusy = crash.Errorf(crash.Unavailable, "busy",
	"There are too many visitors right now. Try again shortly.")

// acquire waits for a place in slots or files until ctx ends. The caller calls release.
func acquire(ctx context.Context, from chan struct{}) (release func(), err error) {
	select {
	case from <- struct{}{}:
		return func() { <-from }, nil
	case <-ctx.Done():
		return nil, errBusy.Because(context.Cause(ctx))
	}
}

// enter waits for one of some slots until ctx ends. leave may be called more than once. If others wait then,
// the slot rests for as long as it was held, at least minRest: visitors that never pause use half of it.
func (v *visitors) enter(ctx context.Context, slots chan struct{}) (leave func(), err error) {
	v.waiting.Add(1)
	release, err := acquire(ctx, slots)
	v.waiting.Add(-1)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	return sync.OnceFunc(func() {
		if v.waiting.Load() == 0 {
			release()
			return
		}
		time.AfterFunc(max(time.Since(began), minRest), release)
	}), nil
}

// needsSlot reports whether the answer to a request is to be made in a slot that it does not have yet.
func needsSlot(r *http.Request) bool { return CurrentUser(r).ID == 0 && !VisitOf(r).slot }

// LimitVisitors returns middleware that answers visitors in a slot.
// Handlers that cache pages or send files do that themselves.
func (s *Kit) LimitVisitors(next http.Handler) http.Handler {
	return s.Do(func(w http.ResponseWriter, r *http.Request) error {
		if !needsSlot(r) {
			next.ServeHTTP(w, r)
			return nil
		}
		return s.inSlot(r.Context(), w, r, func(w http.ResponseWriter) error { next.ServeHTTP(w, r); return nil })
	})
}

// LimitProbes returns middleware that answers load balancers, one after the other.
func (s *Kit) LimitProbes(next http.Handler) http.Handler { return s.through(s.visitors.probes, next) }

// LimitAssets returns middleware that sends what has no session and needs no work in the slots of visitors.
func (s *Kit) LimitAssets(next http.Handler) http.Handler { return s.through(s.visitors.slots, next) }

func (s *Kit) through(slots chan struct{}, next http.Handler) http.Handler {
	return s.Do(func(w http.ResponseWriter, r *http.Request) error {
		leave, err := s.visitors.enter(r.Context(), slots)
		if err != nil {
			return err
		}
		defer leave()
		defer time.AfterFunc(maxSlotSend, leave).Stop()
		next.ServeHTTP(w, r)
		return nil
	})
}

// inSlot answers in a slot. ctx limits the wait for it.
func (s *Kit) inSlot(
	ctx context.Context, w http.ResponseWriter, r *http.Request, render func(http.ResponseWriter) error,
) error {
	leave, err := s.visitors.enter(ctx, s.visitors.slots)
	if err != nil {
		return err
	}
	defer leave()
	v := VisitOf(r)
	v.slot = true
	page, err := record(w.Header(), render)
	v.slot = false
	if err != nil {
		return err
	}
	page.header, page.tag = nil, "" // w has the headers
	return s.send(w, r, page, leave)
}

// hold counts an answer as being sent until release is called. Readers of the same answer share it.
func (v *visitors) hold(p *cachedPage) (release func(), err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	size := int64(len(p.compressed))
	if v.readers[p] == 0 {
		if v.bytes > 0 && v.bytes+size > maxSending {
			return nil, errBusy
		}
		v.bytes += size
	}
	v.readers[p]++
	return func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		if v.readers[p]--; v.readers[p] == 0 {
			delete(v.readers, p)
			v.bytes -= size
		}
	}, nil
}

// PublicFile sends visitors a file that all get until its revision changes. write writes the file, and
// calls rest between its parts, which lets others go first. tag is the entity tag of the file.
func (s *Kit) PublicFile(w http.ResponseWriter, r *http.Request, revision, tag string, limit time.Duration,
	write func(ctx context.Context, w http.ResponseWriter, rest func() error) error,
) error {
	made := func() (*cachedPage, error) { //nolint:contextcheck // see detached
		waiting, cancel := detached(r.Context())
		defer cancel()
		leave, err := acquire(waiting, s.visitors.files)
		if err != nil {
			return nil, err
		}
		defer leave()
		long, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), limit)
		defer cancel()
		ctx, cancel := detached(long)
		defer cancel()
		release, err := acquire(ctx, s.visitors.slots)
		if err != nil {
			return nil, err
		}
		defer func() { release() }()
		began := time.Now()
		rest := func() (err error) {
			worked := time.Since(began)
			if worked < maxFileWork {
				return nil
			}
			release()
			release = func() {}
			select {
			case <-time.After(3 * worked): // a quarter of the time
			case <-ctx.Done():
			}
			if release, err = acquire(ctx, s.visitors.slots); err != nil {
				release = func() {}
			}
			began = time.Now()
			return err
		}
		page, err := record(http.Header{}, func(w http.ResponseWriter) error { return write(ctx, w, rest) })
		if err == nil {
			page.tag = tag
		}
		return page, err
	}
	var file *cachedPage
	var err error
	if uri := r.URL.RequestURI(); len(uri) > maxPageKey {
		file, err = made()
	} else {
		key := strings.Join(r.Header.Values("Accept"), ",") + " " + uri + db.HiddenKey(r.Context())
		file, err = cache.Get(s.fileCache, revision, key, made)
	}
	if err != nil {
		return err
	}
	within := sendGrace + time.Duration(file.size)*time.Second/minSendRate
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(within)) // not every writer supports it
	leave, err := s.visitors.enter(r.Context(), s.visitors.slots)
	if err != nil {
		return err
	}
	defer leave()
	return s.send(w, r, file, leave)
}

const (
	maxPageBytes = 32 << 20 // limit of the page cache
	maxPageKey   = 2048     // longest address of a cached page, in bytes
	pageAge      = 10 * time.Second
	maxStalePage = 5 * time.Second // for visitors who ask for a page while it is rendered
)

type cachedPage struct {
	status     int
	header     http.Header
	tag        string // entity tag; empty if the page is not cached
	size       int    // bytes of the body
	compressed []byte // body as gzip
}

// errNotCacheable comes with a page that is sent but not cached: a redirect or an error.
var errNotCacheable = errors.New("only pages with status 200 are cached")

// CachePage returns a handler that sends all visitors the same compressed page until its revision
// changes (see [Kit.revision]), one for each look. People who are signed in get a page of their own.
//
// canonical returns the part of the query that the page depends on, in a canonical form; its error
// is the answer. render gets a request made from only the path and that query (see
// [publicRequest]), so that the page cannot depend on the visitor.
func (s *Kit) CachePage(
	canonical func(*http.Request) (string, error), render func(http.ResponseWriter, *http.Request) error,
) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		if CurrentUser(r).ID != 0 || asksForFile(r) {
			return render(w, r)
		}
		if !s.isCacheable(r) {
			return s.inSlot(r.Context(), w, r, func(w http.ResponseWriter) error { return render(w, r) })
		}
		leave, err := s.visitors.enter(r.Context(), s.visitors.slots)
		if err != nil {
			return err
		}
		defer leave()
		query, err := canonical(r)
		if err != nil {
			return err
		}
		revision, err := s.revision(r)
		if err != nil {
			return err
		}
		u := &url.URL{Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: query}
		part, look, params := WantsPart(r), LookOf(r), chi.RouteContext(r.Context()).URLParams
		look.OpenReports = false // visitors see no reports
		key := fmt.Sprint(part, look) + u.RequestURI() + db.HiddenKey(r.Context())
		page, err := cache.Get(s.pageCache, revision, key, func() (*cachedPage, error) { //nolint:contextcheck // see detached
			ctx, cancel := detached(r.Context())
			defer cancel()
			page, err := record(http.Header{}, func(w http.ResponseWriter) error {
				return render(w, publicRequest(ctx, u, params, part, look))
			})
			if err == nil && page.status != http.StatusOK {
				err = errNotCacheable
			}
			return page, err
		})
		if err != nil && !errors.Is(err, errNotCacheable) {
			return err
		}
		return s.send(w, r, page, leave)
	}
}

// revision returns a text that changes with everything that public pages show. It combines
// [db.Store.Revision], which contains the start of the database server, with the time in steps of
// pageAge, because pages show ages. A request that only reads uses one revision throughout.
func (s *Kit) revision(r *http.Request) (string, error) {
	v := VisitOf(r)
	if v.revision != "" && SafeMethods[r.Method] {
		return v.revision, nil
	}
	revision, err := s.store.Revision(r.Context())
	if err != nil {
		return "", err
	}
	v.revision = revision + " " + s.Now().UTC().Truncate(pageAge).Format(time.RFC3339)
	return v.revision, nil
}

// maxFactBytes is the limit of the cache of facts.
const maxFactBytes = 32 << 20

// CachedFacts returns the facts of type V about a key, as of the revision that the request sees, or calls read.
// Pages for people who are signed in are rendered for each request, but from facts that all share: without the
// cache, the page of a problem with many reports takes seven times as long. Callers must not change the facts.
// read gets a request that contains nothing of r, because other people get what it returns. People from whom
// different problems are hidden share nothing.
func CachedFacts[V any](s *Kit, r *http.Request, key string, read func(*http.Request) (V, error)) (V, error) {
	revision, err := s.revision(r)
	if err != nil {
		var none V
		return none, err
	}
	type facts struct {
		value   V
		missing db.ArchivedList
	}
	//nolint:contextcheck // the function uses the context of the request
	f, err := cache.Get(s.factCache, revision, key+db.HiddenKey(r.Context()), func() (f facts, err error) {
		ctx, cancel := detached(r.Context())
		defer cancel()
		public := publicRequest(ctx, &url.URL{Path: "/"}, chi.RouteParams{}, false, layout.Look{})
		f.value, err = read(public)
		f.missing = db.MissingIn(public.Context())
		return f, err
	})
	db.NoteMissing(r.Context(), f.missing)
	return f.value, err
}

// publicRequest returns a request for a public page. It contains nothing of the visitor's request
// that could identify the visitor: no session, user or address, no cookies but those of the look, and no
// header but the one that asks for a part of a page.
func publicRequest(
	ctx context.Context, u *url.URL, params chi.RouteParams, part bool, look layout.Look,
) *http.Request {
	route := chi.NewRouteContext()
	route.URLParams = chi.RouteParams{Keys: slices.Clone(params.Keys), Values: slices.Clone(params.Values)}
	ctx = context.WithValue(db.WatchMissing(ctx), visitKey{}, &visit{})
	ctx = context.WithValue(ctx, chi.RouteCtxKey, route)
	r := &http.Request{Method: http.MethodGet, URL: u, Header: http.Header{}, Body: http.NoBody}
	if part {
		r.Header.Set(headerRequestType, requestTypePart)
	}
	for _, c := range lookCookies(look) {
		r.AddCookie(c)
	}
	return r.WithContext(ctx)
}

// isCacheable reports whether all visitors get the same page for the request of a visitor.
func (s *Kit) isCacheable(r *http.Request) bool {
	return !s.Sessions.Exists(r.Context(), sessionFlash) && len(r.URL.RequestURI()) <= maxPageKey
}

// compressors holds writers for cached pages, each of which allocates more than half a megabyte.
var compressors = sync.Pool{New: func() any { return fastgzip.NewWriter(nil) }}

// record calls render and returns its compressed answer.
func record(header http.Header, render func(http.ResponseWriter) error) (*cachedPage, error) {
	var compressed bytes.Buffer
	compressor := compressors.Get().(*fastgzip.Writer) //nolint:forcetypeassert // see compressors
	defer compressors.Put(compressor)
	compressor.Reset(&compressed)
	sum := sha256.New()
	w := &recorder{status: http.StatusOK, header: header, body: io.MultiWriter(compressor, sum)}
	if err := render(w); err != nil {
		return nil, err
	}
	if err := compressor.Close(); err != nil {
		return nil, fmt.Errorf("compress a page: %w", err)
	}
	page := &cachedPage{status: w.status, header: w.header, size: w.size, compressed: bytes.Clone(compressed.Bytes())}
	if page.status == http.StatusOK {
		page.tag = `W/"` + hex.EncodeToString(sum.Sum(nil)[:12]) + `"`
	}
	return page, nil
}

// recorder is an [http.ResponseWriter] that records the answer in memory.
type recorder struct {
	status int
	header http.Header
	body   io.Writer
	size   int
}

func (w *recorder) Header() http.Header    { return w.header }
func (w *recorder) WriteHeader(status int) { w.status = status }

func (w *recorder) Write(b []byte) (int, error) {
	w.size += len(b)
	return w.body.Write(b)
}

// plainChunk is how many bytes of an answer are decompressed at a time, for clients without gzip. It is
// small because each of thousands of slow readers has one.
const plainChunk = 32 << 10

// maxSlotSend is the longest time that an answer is sent in a slot. Nearly all fit into the buffers of
// the connection at once; who reads slowly is served outside.
const maxSlotSend = 20 * time.Millisecond

// send answers with the page, or with 304 if the browser has it. It calls leave, which leaves the slot
// of the request, when sending takes long.
func (s *Kit) send(w http.ResponseWriter, r *http.Request, p *cachedPage, leave func()) error {
	unchanged := p.tag != "" && Matches(r.Header.Get("If-None-Match"), p.tag)
	if p.size > 0 && !unchanged {
		release, err := s.visitors.hold(p)
		if err != nil {
			return err
		}
		defer release()
	}
	h := w.Header()
	vary := h.Values("Vary")
	maps.Copy(h, p.header)
	h["Vary"] = append(vary[:len(vary):len(vary)], p.header.Values("Vary")...)
	if p.tag != "" {
		h.Set("ETag", p.tag)
	}
	if unchanged {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	if p.size == 0 {
		w.WriteHeader(p.status)
		return nil
	}
	if AcceptsGzip(r.Header.Get("Accept-Encoding")) {
		h.Set("Content-Encoding", "gzip")
		h.Set("Content-Length", strconv.Itoa(len(p.compressed)))
		w.WriteHeader(p.status)
		defer time.AfterFunc(maxSlotSend, leave).Stop()
		_, _ = w.Write(p.compressed) // an error means that the visitor has left
		return nil
	}
	leave()
	plain, err := gzip.NewReader(bytes.NewReader(p.compressed))
	if err != nil {
		return fmt.Errorf("decompress a page: %w", err)
	}
	w.WriteHeader(p.status)
	chunk := make([]byte, min(p.size, plainChunk))
	for {
		s.visitors.slots <- struct{}{}
		n, err := io.ReadFull(plain, chunk)
		<-s.visitors.slots
		if _, failed := w.Write(chunk[:n]); failed != nil || err != nil {
			return nil // the end, or the visitor has left
		}
	}
}
