package web

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	chimw "github.com/go-chi/chi/v5/middleware"
	"github.com/justinas/nosurf"
	"github.com/prometheus/client_golang/prometheus"

	"mishap/crash"
	"mishap/crash/audit"
	"mishap/crash/cache"
	"mishap/db"
	"mishap/db/reader"
	"mishap/handlers/proxies"
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
		ctx := reader.With(r.Context(), reader.New(func() crash.Packages { return v.User.Embargoed }))
		if SafeMethods[r.Method] {
			ctx = db.OneRevision(ctx)
		}
		next.ServeHTTP(w, withVisit(r.WithContext(ctx), v))
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

// CurrentUser returns the account that is signed in, or the zero User for visitors.
func CurrentUser(r *http.Request) crash.User { return VisitOf(r).User }

// RequestID returns the id of the request in logs, answers and error pages.
func RequestID(r *http.Request) string { return VisitOf(r).id }

// MarkUnchanged says that a request with a method for changes has changed nothing, so that no
// record is needed.
func MarkUnchanged(r *http.Request) { VisitOf(r).actor.MarkRecorded() }
