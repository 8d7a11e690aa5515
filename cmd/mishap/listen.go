package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"mishap/cmd/mishap/config"
	"mishap/crash"
)

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

// isLoopback reports whether a host, without its port, is this machine.
func isLoopback(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
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
