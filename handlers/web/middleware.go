package web

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"
	chimw "github.com/go-chi/chi/v5/middleware"
	"github.com/prometheus/client_golang/prometheus"
)

const headerRequestID = "X-Request-ID"

// Identify gives each request a name of our own. One that a client or proxy sends is not used: logs could be forged by it.
func (s *Kit) Identify(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := &visit{id: rand.Text()[:16]}
		w.Header().Set(headerRequestID, v.id)
		next.ServeHTTP(w, withVisit(r, v))
	})
}

// metrics count requests by route pattern, never by path.
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

// registerCaches shows how much the caches hold.
func (s *Kit) registerCaches(reg prometheus.Registerer) error {
	type held interface {
		Held() int64
		Len() int
	}
	var errs []error
	for name, c := range map[string]held{"pages": s.pageCache, "facts": s.factCache} {
		label := prometheus.Labels{"cache": name}
		errs = append(errs,
			reg.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
				Name: "mishap_cache_bytes", Help: "Memory that a cache of the web side holds.", ConstLabels: label,
			}, func() float64 { return float64(c.Held()) })),
			reg.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
				Name: "mishap_cache_entries", Help: "Entries of a cache of the web side.", ConstLabels: label,
			}, func() float64 { return float64(c.Len()) })))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("handlers: register metrics: %w", err)
	}
	return nil
}

// Observe logs and counts each request once it is answered: which route, never the path or the query, since these can hold
// signatures and names of machines.
func (s *Kit) Observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		ww := chimw.NewWrapResponseWriter(w, r.ProtoMajor)
		next.ServeHTTP(ww, r)

		took := time.Since(start)
		route := "unmatched"
		if rctx := chi.RouteContext(r.Context()); rctx != nil && rctx.RoutePattern() != "" && rctx.RoutePattern() != "/*" {
			route = rctx.RoutePattern()
		}
		status := ww.Status()
		if status == 0 && r.Context().Err() != nil {
			status = statusGone
		}
		method := r.Method
		if !knownMethods[method] {
			method = "other"
		}
		s.metrics.requests.WithLabelValues(route, method, strconv.Itoa(status)).Inc()
		s.metrics.seconds.WithLabelValues(route).Observe(took.Seconds())
		v := VisitOf(r)
		s.Log.LogAttrs(r.Context(), slog.LevelInfo, "request", slog.String("request_id", v.id), slog.String("method", method),
			slog.String("route", route), slog.Int("status", status), slog.Int("bytes", ww.BytesWritten()),
			slog.Float64("ms", float64(took.Microseconds())/1000), slog.String("user", v.User.Name))
	})
}

// statusGone is logged when the visitor left before the answer; the number is nginx's.
const statusGone = 499

var knownMethods = map[string]bool{
	http.MethodGet: true, http.MethodHead: true, http.MethodPost: true, http.MethodPut: true,
	http.MethodPatch: true, http.MethodDelete: true, http.MethodOptions: true,
}

// Recovered makes an internal error of a panic in a handler, so that the visitor gets a page and the log gets the stack.
func (s *Kit) Recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer s.rescue(w, r)
		next.ServeHTTP(w, r)
	})
}

// rescue is deferred.
func (s *Kit) rescue(w http.ResponseWriter, r *http.Request) {
	p := recover()
	if p == nil {
		return
	}
	if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(p) // net/http's own way to give up on a connection
	}
	err := fmt.Errorf("panic: %v\n%s", p, debug.Stack())
	if ww, ok := w.(chimw.WrapResponseWriter); ok && ww.Status() != 0 {
		s.Log.ErrorContext(r.Context(), "request failed", "request_id", RequestID(r), "error", err)
		panic(http.ErrAbortHandler) // half an answer is out: the visitor must not take it for a whole one
	}
	s.serveError(w, r, err)
}

// policy allows what pages need and nothing else: own scripts and styles by address, none inline.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Headers restrict what a browser does with an answer.
func Headers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		// Within the site the Referer is sent: the origin check reads it. Outside nobody learns which crash was looked at.
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		next.ServeHTTP(w, r)
	})
}
