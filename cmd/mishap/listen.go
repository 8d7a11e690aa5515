package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"mishap/cmd/mishap/config"
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
