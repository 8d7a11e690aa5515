package main

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"

	"mishap/crash/crashtest"
	"mishap/db/dbtest"
)

// statusAt sends one request and returns the status, the body and Retry-After. The status is 0 if
// there is no answer.
func statusAt(t *testing.T, address string) (status int, body, retryAfter string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", ""
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text), res.Header.Get("Retry-After")
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
	if status := p.terminate(); status != exitOK {
		t.Errorf("serve: got status %d, want %d", status, exitOK)
	}
}

// TestStopWhileWaiting stops an instance that is waiting for its database.
func TestStopWhileWaiting(t *testing.T) {
	t.Parallel()
	environ, _ := freeAddresses(t)
	environ = append(environ, "MISHAP_DATABASE_URL=postgres://"+freeAddress(t)+"/mishap", "MISHAP_DATA_DIR="+t.TempDir())
	p := start(t, environ, "serve", noConfig(t))
	p.until("waiting for a PostgreSQL server that accepts writes")
	if status := p.terminate(); status != exitOK {
		t.Errorf("serve: got status %d, want %d; it printed\n%s", status, exitOK, p.said)
	}
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
		status, _, stderr := runIn(context.WithoutCancel(t.Context()), nil, environ, "serve", noConfig(t))
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
