package main

import (
	"context"
	"net/http"
	"net/http/pprof"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"mishap/crash"
)

// newMetrics returns the registry of this process.
func newMetrics() *prometheus.Registry {
	metrics := prometheus.NewRegistry()
	metrics.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return metrics
}

// opsHandler returns the handler of ops_listen: metrics, profiles, and checks for load balancers.
func opsHandler(metrics *prometheus.Registry, health func(context.Context) []crash.HealthCheck) http.Handler {
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
	return mux
}

// retryUnavailable is the Retry-After, in seconds, while the database is unavailable.
const retryUnavailable = "10"

func say(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text)) // an error means that the caller disconnected
}
