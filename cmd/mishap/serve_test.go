package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"mishap/cmd/mishap/config"
	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/db/dbtest"
	"mishap/handlers/ingest"
	"mishap/tracker/trackertest"
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

// TestMetrics checks that the metrics of each part are on the metrics page, and on no other, and that log_level
// decides which messages a server writes.
func TestMetrics(t *testing.T) {
	t.Parallel()
	tr := trackertest.New(t)
	in := installFor(t, tr, append(connected(tr), `log_level = "warn"`)...)
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
	if strings.Contains(in.said.String(), `"level":"INFO"`) {
		t.Errorf("with log_level = \"warn\": got\n%s", in.said)
	}
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

func TestLocalURL(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"127.0.0.1:8081": "http://127.0.0.1:8081", "0.0.0.0:80": "http://localhost:80", "[::]:80": "http://localhost:80",
		":80": "http://localhost:80", "[2001:db8::1]:80": "http://[2001:db8::1]:80",
		"crash.example.com:80": "http://crash.example.com:80",
	} {
		if got := config.LocalURL(address); got != want {
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
	wantTexts(t, out.String(), "did you mean MISHAP_LISTEN?", "base_url is http on another machine",
		"tracker_api_url is http", "chmod 600")
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

// TestDoubtfulLengthClosesTheConnection sends a request with both Content-Length and Transfer-Encoding, and
// another one behind it, to each kind of server. Only the first may be answered.
func TestDoubtfulLengthClosesTheConnection(t *testing.T) {
	t.Parallel()
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, r.URL.Path)
	})
	log := slog.New(slog.DiscardHandler)
	for name, server := range map[string]*http.Server{"web": webServer(h, log), "ops": opsServer(h, log),
		"ingest": ingest.NewServer(closing(h))} {
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() { _ = server.Serve(l) }()
		t.Cleanup(func() { _ = server.Close() })
		send := func(text string) string {
			conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			if _, err := io.WriteString(conn, text); err != nil {
				t.Fatal(err)
			}
			answers, err := io.ReadAll(bufio.NewReader(conn))
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			return string(answers)
		}
		const next = "GET /next HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
		const first = "POST /first HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n"
		got := send(first + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + next)
		if strings.Count(got, "HTTP/1.1 ") != 1 || !strings.Contains(got, "Connection: close") ||
			!strings.HasSuffix(got, "/first") {
			t.Errorf("%s: got %q, want one answer and the end of the connection", name, got)
		}
		got = send(first + "\r\nabcdef" + next)
		if strings.Count(got, "HTTP/1.1 200") != 2 {
			t.Errorf("%s: got %q, want two answers on one connection", name, got)
		}
	}
}

// TestServeWaitsForPrimary starts an instance before its database accepts connections.
func TestServeWaitsForPrimary(t *testing.T) {
	t.Parallel()
	database := dbtest.URL(t)
	dbtest.Refuse(t, database, true)
	environ, addresses := freeAddresses(t)
	environ = append(environ, "MISHAP_DATABASE_URL="+database, "MISHAP_DATA_DIR="+t.TempDir(),
		"MISHAP_BASE_URL=http://"+addresses["listen"])
	p := start(t, environ, "serve", noConfig(t))
	p.until("waiting for a PostgreSQL server that accepts writes")
	for _, tt := range []struct {
		key, path string
		status    int
		body      string
	}{
		{"listen", "/healthz", http.StatusOK, "ok"}, {"ops_listen", "/healthz", http.StatusOK, "ok"},
		{"ops_listen", "/metrics", http.StatusOK, "go_goroutines"},
		{"listen", "/readyz", http.StatusServiceUnavailable, "waits for its database"},
		{"ops_listen", "/readyz", http.StatusServiceUnavailable, "database"},
		{"listen", "/", http.StatusServiceUnavailable, "waits for its database"},
		{"listen", "/api/1.0/", http.StatusServiceUnavailable, `"code":"starting"`},
	} {
		status, body, retryAfter := statusAt(t, "http://"+addresses[tt.key]+tt.path)
		if status != tt.status || !strings.Contains(body, tt.body) ||
			(retryAfter == "10") != (status == http.StatusServiceUnavailable) {
			t.Errorf("%s%s: got %d, %q and Retry-After %q; want %d and %q", tt.key, tt.path, status, body, retryAfter, tt.status,
				tt.body)
		}
	}
	if status := postTo(t, addresses["ingest_listen"], "machine",
		crashtest.Native()); status != http.StatusServiceUnavailable {
		t.Errorf("report: got %d, want 503", status)
	}
	dbtest.Refuse(t, database, false)
	p.until(`"msg":"ready"`)
	if status, body, _ := statusAt(t, "http://"+addresses["listen"]+"/readyz"); status != http.StatusOK {
		t.Errorf("/readyz: got %d %q, want 200", status, body)
	}
	if status := postTo(t, addresses["ingest_listen"], "machine", crashtest.Native()); status != http.StatusOK {
		t.Errorf("report: got %d, want 200", status)
	}
	p.stops()
}

// TestStopWhileWaiting stops an instance that is waiting for its database.
func TestStopWhileWaiting(t *testing.T) {
	t.Parallel()
	environ, _ := freeAddresses(t)
	environ = append(environ, "MISHAP_DATABASE_URL=postgres://"+freeAddress(t)+"/mishap", "MISHAP_DATA_DIR="+t.TempDir())
	p := start(t, environ, "serve", noConfig(t))
	p.until("waiting for a PostgreSQL server that accepts writes")
	p.stops()
}

// TestNoWaitForMistakes starts instances with a database that will never exist. They must not wait
// for it.
func TestNoWaitForMistakes(t *testing.T) {
	t.Parallel()
	u, err := url.Parse(dbtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	missing := *u
	missing.Path = "/there_is_no_such_database"
	stranger := *u
	stranger.User = url.User("there_is_no_such_user")
	for address, want := range map[string]string{
		missing.String():                   "There is no database of the name in database_url",
		stranger.String():                  "The database refuses the user in database_url",
		u.String() + "&tcp_user_timeout=x": "The database address cannot be read",
	} {
		environ, _ := freeAddresses(t)
		environ = append(environ, "MISHAP_DATABASE_URL="+address, "MISHAP_DATA_DIR="+t.TempDir())
		status, _, stderr := mishap(t, environ, "serve")
		if status != exitFailed || !strings.Contains(stderr, want) || strings.Contains(stderr, "waiting for") {
			t.Errorf("%s: got status %d and %q, want %d and %q", address, status, stderr, exitFailed, want)
		}
	}
}

// TestDrain stops an instance that proxies know. It says that it is not ready, and serves until they have
// noticed.
func TestDrain(t *testing.T) {
	t.Parallel()
	p, addresses := serveProcess(t, []string{"MISHAP_DATABASE_URL=" + dbtest.URL(t), "MISHAP_DATA_DIR=" + t.TempDir(),
		"MISHAP_DRAIN_SECONDS=3600"})
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.until("stopping")
	for _, key := range []string{"listen", "ops_listen"} {
		eventually(t, "/readyz says that the instance stops", func() bool {
			status, body, _ := statusAt(t, "http://"+addresses[key]+"/readyz")
			return status == http.StatusServiceUnavailable && strings.Contains(body, "stopping")
		})
	}
	if status, _, _ := statusAt(t, "http://"+addresses["listen"]+"/"); status != http.StatusOK {
		t.Errorf("page: got %d, want 200", status)
	}
	if status := postTo(t, addresses["ingest_listen"], "machine", crashtest.Native()); status != http.StatusOK {
		t.Errorf("report: got %d, want 200", status)
	}
	p.kill()
}

// TestVersionFile checks that a clone without git's tags, or without git, builds the version in
// VERSION.
func TestVersionFile(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../VERSION")
	if err != nil {
		t.Fatal(err)
	}
	version := strings.TrimSpace(string(text))
	if !regexp.MustCompile(`^\d+\.\d+\.\d+(-dev)?$`).MatchString(version) {
		t.Errorf("got %q in VERSION, want three numbers, with -dev between releases", version)
	}
	out, err := exec.CommandContext(t.Context(), "make", "-C", "../..", "--no-print-directory", "-n", "build").Output()
	if err != nil {
		t.Fatalf("make -n build: %v", err)
	}
	built := regexp.MustCompile(`-X main\.version=` + regexp.QuoteMeta(version) + `(\+[0-9a-f.]+(dirty)?)?'`)
	if !built.Match(out) {
		t.Errorf("make build runs\n%s\nwant the version %s in it, followed at most by the commit", out, version)
	}
}
