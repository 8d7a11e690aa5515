package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"mishap/cmd/mishap/config"
	"mishap/crash/crashtest"
	"mishap/db/dbtest"
	"mishap/db/problems"
	"mishap/tracker/trackertest"
)

// postTo posts a report and returns the status, or 0 if there is no answer.
func postTo(t *testing.T, address, system string, r crashtest.Report) int {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/"+system,
		bytes.NewReader(r.BSON()))
	if err != nil {
		return 0
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0
	}
	_ = resp.Body.Close() // only the status matters
	return resp.StatusCode
}

// TestTermFinishesAcceptedReports checks that exactly the reports that were acknowledged before a
// stop are stored.
func TestTermFinishesAcceptedReports(t *testing.T) {
	t.Parallel()
	database := dbtest.URL(t)
	p, addresses := serveProcess(t, []string{"MISHAP_DATABASE_URL=" + database, "MISHAP_DATA_DIR=" + t.TempDir()},
		"--only", "ingest")
	var acknowledged, pid atomic.Int64
	var machines sync.WaitGroup
	for range 8 {
		machines.Go(func() {
			for {
				switch postTo(t, addresses["ingest_listen"], "machine", crashtest.Native(crashtest.Process(int(pid.Add(1))))) {
				case http.StatusOK:
					acknowledged.Add(1)
				case 0:
					return // the listener is closed
				}
			}
		})
	}
	eventually(t, "200 reports are acknowledged", func() bool { return acknowledged.Load() >= 200 })
	if status := p.terminate(); status != exitOK {
		t.Errorf("serve: got status %d, want %d; it printed\n%s", status, exitOK, p.said)
	}
	machines.Wait()
	rows, err := problems.New(dbtest.Open(t, database)).SystemReports(t.Context(), "machine", [16]byte{}, 1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	if int64(len(rows)) != acknowledged.Load() {
		t.Errorf("stored reports: got %d, want the %d that were acknowledged", len(rows), acknowledged.Load())
	}
}

// TestServeOnly checks that an instance of one kind opens only its own listeners.
func TestServeOnly(t *testing.T) {
	t.Parallel()
	database := dbtest.URL(t)
	tr := trackertest.New(t)
	for _, tt := range []struct{ only, open, closed string }{
		{"web", "listen", "ingest_listen"}, {"ingest", "ingest_listen", "listen"},
	} {
		p, addresses := serveProcess(t, trackerEnviron(tr, "MISHAP_DATABASE_URL="+database, "MISHAP_DATA_DIR="+t.TempDir()),
			"--only="+tt.only)
		for key, want := range map[string]bool{tt.open: true, tt.closed: false, "ops_listen": true} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addresses[key]+"/healthz", nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := http.DefaultClient.Do(req)
			if err == nil {
				_ = resp.Body.Close() // only whether there is an answer matters
			}
			if open := err == nil; open != want {
				t.Errorf("--only %s: %s: got open %t, want %t", tt.only, key, open, want)
			}
		}
		if status := p.terminate(); status != exitOK {
			t.Errorf("--only %s: got status %d, want %d", tt.only, status, exitOK)
		}
	}
	p := start(t, nil, "serve", "--only", "both")
	if status := p.status(); status != exitUsage || !strings.Contains(p.said.String(),
		`--only: expected web, ingest or symbols, got "both"`) {
		t.Errorf("--only both: got status %d and %q, want %d and the valid values", status, p.said, exitUsage)
	}
}

// TestPrivateDatabaseIsShared checks that commands use the private PostgreSQL of a running server,
// and that a second server is refused. After SIGKILL the next start works, and acknowledged reports
// are still there.
func TestPrivateDatabaseIsShared(t *testing.T) {
	t.Parallel()
	tr := trackertest.New(t)
	environ := trackerEnviron(tr, "MISHAP_DATA_DIR="+dataDir(t))
	p, addresses := serveProcess(t, environ)
	if status := postTo(t, addresses["ingest_listen"], "machine", crashtest.Native()); status != http.StatusOK {
		t.Fatalf("report: got status %d", status)
	}
	config := noConfig(t)
	for _, args := range []string{
		"migrate", "user add ada --role viewer --password-stdin", "user list",
		"import testdata/crashes/_usr_bin_tidewatch.1000.crash",
	} {
		status, _, stderr := runIn(t.Context(), strings.NewReader(testPassword), environ,
			append(strings.Fields(args), config)...)
		if status != exitOK {
			t.Errorf("%s while serve runs: got status %d and %q", args, status, stderr)
		}
	}
	// This error comes before the one about the address in use.
	second := start(t, append(environ, "MISHAP_LISTEN="+addresses["listen"]), "serve", config)
	if status := second.status(); status != exitFailed || !strings.Contains(second.said.String(), "uses the database in") {
		t.Errorf("second server: got status %d and %q, want %d and the other server", status, second.said, exitFailed)
	}
	p.kill()
	if status, stdout, _ := runIn(t.Context(), nil, environ, "user", "list", config); status != exitOK ||
		!strings.Contains(stdout, "ada") {
		t.Errorf("user list after kill -9: got status %d and %q", status, stdout)
	}
	p, addresses = serveProcess(t, environ)
	if status := postTo(t, addresses["ingest_listen"], "machine", crashtest.Native()); status != http.StatusOK {
		t.Errorf("report after kill -9: got status %d", status)
	}
	if page := getText(t, "http://"+addresses["listen"]+"/?period=year"); !strings.Contains(page,
		"<span>2 reports</span>") {
		t.Errorf("front page: got %q, want the 2 acknowledged reports, the repeated one counted once", page)
	}
	if status := p.terminate(); status != exitOK {
		t.Errorf("serve: got status %d, want %d; it printed\n%s", status, exitOK, p.said)
	}
}

func TestPortInUse(t *testing.T) {
	t.Parallel()
	database := "MISHAP_DATABASE_URL=" + dbtest.URL(t)
	_, addresses := serveProcess(t, []string{database, "MISHAP_DATA_DIR=" + t.TempDir()})
	for _, key := range []string{"listen", "ingest_listen", "ops_listen"} {
		environ := []string{database, "MISHAP_LISTEN=127.0.0.1:0", "MISHAP_INGEST_LISTEN=127.0.0.1:0",
			"MISHAP_OPS_LISTEN=127.0.0.1:0",
			config.Variable(key) + "=" + addresses[key]}
		p := start(t, environ, "serve", noConfig(t))
		want := "mishap: " + key + ": " + addresses[key] + " is in use by another program"
		if status := p.status(); status != exitFailed || !strings.Contains(p.said.String(), want) {
			t.Errorf("got status %d and %q, want %d and %q", status, p.said, exitFailed, want)
		}
	}
}

func getText(t *testing.T, url string) string {
	t.Helper()
	in := &installation{t: t, said: &quietBuffer{}}
	return in.get(url, http.StatusOK)
}

// TestSecretsNeverComeOut checks that failing commands do not print the secrets of their
// configuration.
func TestSecretsNeverComeOut(t *testing.T) {
	t.Parallel()
	tr := trackertest.New(t)
	database, err := url.Parse(dbtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	// serve would wait for other errors.
	database.User, database.Path = url.UserPassword(database.User.Username(), "hush-one"), "/no_such_database"
	file := configFile(t, fmt.Sprintf("database_url = %q\n", database)+
		"tracker_oauth_token = \"hush-two\"\ntracker_oauth_secret = \"hush-three\"\n")
	for _, args := range []string{"serve", "migrate", "user list", "import testdata/crashes/brigwifi-dkms.0.crash",
		"setup-oauth-token"} {
		environ := trackerEnviron(tr, "MISHAP_LISTEN=127.0.0.1:0", "MISHAP_INGEST_LISTEN=127.0.0.1:0",
			"MISHAP_OPS_LISTEN=127.0.0.1:0")
		status, stdout, stderr := runIn(t.Context(), strings.NewReader(""), environ, append(strings.Fields(args), "--config",
			file)...)
		if status != exitFailed {
			t.Errorf("%s: got status %d, want %d", args, status, exitFailed)
		}
		if got := stdout + stderr; got == "" || strings.Contains(got, "hush") {
			t.Errorf("%s: got %q, want a message without secrets", args, got)
		}
	}
	if doc, err := os.ReadFile(file); err != nil || !strings.Contains(string(doc), "hush-three") {
		t.Errorf("file: got %q, %v, want it unchanged", doc, err)
	}
}
