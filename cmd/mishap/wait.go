package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"mishap/crash"
	"mishap/db"
	"mishap/db/connect"
)

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
		select {
		case <-time.After(primaryPause):
		case <-ctx.Done():
			return nil, errStoppedWaiting
		}
	}
}

// tryStore is one attempt of openStore.
func tryStore(ctx context.Context, url string, i *instance) (*db.Store, error) {
	if err := connect.CheckPrimary(ctx, url); err != nil {
		return nil, err
	}
	if err := db.Migrate(ctx, url, i.log); err != nil {
		return nil, err
	}
	return db.Open(ctx, db.Config{URL: url, MaxConns: maxConns, Log: i.log, Privacy: i.config.Privacy(),
		Rights: i.config.Rights(),
		Tracer: i.traces.Tracer(), Statements: i.traces.Statements()})
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
