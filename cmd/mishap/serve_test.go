package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"mishap/cmd/mishap/config"
	"mishap/crash"
	"mishap/crash/crashtest"
)

func TestOpsHandler(t *testing.T) {
	t.Parallel()
	tests := []struct {
		path    string
		problem string
		status  int
		want    string
	}{
		{"/healthz", "The database cannot be reached.", http.StatusOK, "ok\n"},
		{"/readyz", "", http.StatusOK, "ready\n"},
		{"/readyz", "The database cannot be reached.", http.StatusServiceUnavailable, "The database cannot be reached.\n"},
		{"/metrics", "", http.StatusOK, "go_goroutines "},
		{"/debug/pprof/", "", http.StatusOK, "goroutine"},
		{"/debug/pprof/cmdline", "", http.StatusOK, ""},
		{"/", "", http.StatusNotFound, ""},
	}
	for _, tt := range tests {
		w := httptest.NewRecorder()
		health := func(context.Context) []crash.HealthCheck {
			return []crash.HealthCheck{{Name: "Database", Problem: tt.problem, Detail: "10.1.2.3"}, {Name: "Counting"}}
		}
		opsHandler(newMetrics(), health, nil).ServeHTTP(w, httptest.NewRequest(http.MethodGet, tt.path, nil))
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) || strings.Contains(w.Body.String(),
			"10.1.2.3") {
			t.Errorf("%s with problem %q: got %d and %q, want %d and %q", tt.path, tt.problem, w.Code, w.Body, tt.status,
				tt.want)
		}
	}
}

// TestMetrics checks that the metrics of each part are on the metrics page, and on no other.
func TestMetrics(t *testing.T) {
	t.Parallel()
	in := install(t)
	in.report("machine-1", crashtest.Native())
	in.get(in.url+"/", http.StatusOK)
	page := in.get(in.ops+"/metrics", http.StatusOK)
	for _, want := range []string{"mishap_http_requests_total{", "mishap_ingest", "mishap_filing",
		"process_resident_memory_bytes"} {
		if !strings.Contains(page, want) {
			t.Errorf("/metrics: got %q, want %q in it", page, want)
		}
	}
	in.get(in.url+"/metrics", http.StatusNotFound)
	in.get(in.ingest+"/metrics", http.StatusNotFound)
	in.get(in.url+"/debug/pprof/", http.StatusNotFound)
	in.get(in.url+"/healthz", http.StatusOK)
	in.get(in.url+"/readyz", http.StatusOK)
}

func TestListenOn(t *testing.T) {
	t.Parallel()
	l, err := listenOn(t.Context(), "listen", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // the error does not matter
	taken := l.Addr().String()
	for address, want := range map[string]string{
		taken: "ops_listen: " + taken + " is in use by another program; stop that one, or set ops_listen (or " +
			"MISHAP_OPS_LISTEN) to another address",
		"192.0.2.1:4711": "ops_listen: 192.0.2.1:4711 is not an address of this machine; set ops_listen (or " +
			"MISHAP_OPS_LISTEN) to one that is",
	} {
		if l, err := listenOn(t.Context(), "ops_listen", address); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, %v; want %s", address, l, err, want)
		}
	}
}

func TestHTTPAddress(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"127.0.0.1:8081": "http://127.0.0.1:8081", "0.0.0.0:80": "http://localhost:80", "[::]:80": "http://localhost:80",
		":80": "http://localhost:80", "[2001:db8::1]:80": "http://[2001:db8::1]:80",
		"crash.example.com:80": "http://crash.example.com:80",
	} {
		if got := httpAddress(address); got != want {
			t.Errorf("%s: got %s, want %s", address, got, want)
		}
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	file := configFile(t, "base_url = \"http://crashes.example.com\"\ntracker_url = "+
		"\"http://127.0.0.1:8085\"\ntracker_api_url = \"http://tracker.example.com/devel\"\n"+
		"tracker_oauth_token = \"t\"\ntracker_oauth_secret = \"hush\"\n")
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(file, true, nil)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	p := &program{environ: []string{"MISHAP_LISTN=x"}}
	p.warn(t.Context(), c, slog.New(slog.NewTextHandler(&out, nil)))
	for _, want := range []string{"did you mean MISHAP_LISTEN?", "base_url is http on another machine",
		"tracker_api_url is http", "chmod 600"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("warnings: got %q, want %q", out.String(), want)
		}
	}
	if got := strings.Count(out.String(), "\n"); got != 4 || strings.Contains(out.String(), "hush") {
		t.Errorf("warnings: got %d, want 4 without the secret: %q", got, out.String())
	}
	out.Reset()
	quiet := config.Default()
	(&program{}).warn(t.Context(), quiet, slog.New(slog.NewTextHandler(&out, nil)))
	if out.Len() > 0 {
		t.Errorf("warnings about the defaults: got %q, want none", out.String())
	}
}

// TestListenersCloseTogether checks that open listeners are closed if another cannot be opened.
func TestListenersCloseTogether(t *testing.T) {
	t.Parallel()
	var opened net.Listener
	p := &program{listen: func(ctx context.Context, key, address string) (net.Listener, error) {
		if key == "ops_listen" {
			return nil, errors.New("no")
		}
		l, err := listenOn(ctx, key, "127.0.0.1:0")
		opened = l
		return l, err
	}}
	if _, err := p.openListeners(t.Context(), config.Default(), kinds{web: true, ingest: true}); err == nil {
		t.Fatal("got no error")
	}
	if err := opened.Close(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("listener opened before: got %v, want it closed", err)
	}
}
