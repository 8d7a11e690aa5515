package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mishap/cmd/mishap/doctor"
	"mishap/crash/symbols/sandbox/sandboxtest"
	"mishap/notify/mail/mailtest"
	"mishap/tracker/trackertest"
)

// diagnosis is what "mishap doctor --json" prints.
type diagnosis struct {
	Version  string
	Status   doctor.Status
	Findings []doctor.Finding
}

// has fails unless a line of the diagnosis has this status and text.
func (d diagnosis) has(t *testing.T, check string, status doctor.Status, text string) {
	t.Helper()
	for _, f := range d.Findings {
		if f.Check == check && f.Status == status && strings.Contains(f.Message, text) {
			return
		}
	}
	t.Errorf("got %+v, want %s %s %q", d, status, check, text)
}

// examine runs "mishap doctor" and checks its exit status.
func examine(t *testing.T, environ []string, cmd *exec.Cmd) diagnosis {
	t.Helper()
	cmd.Args = append(cmd.Args, "doctor", "--json", noConfig(t))
	cmd.Env = append(os.Environ(), environ...)
	out, _ := cmd.Output() // the status is checked below
	var d diagnosis
	if err := json.Unmarshal(out, &d); err != nil {
		t.Fatalf("got %q, %v", out, err)
	}
	if got := cmd.ProcessState.ExitCode(); got != exitStatusOf[d.Status] || d.Status == "" || d.Version == "" {
		t.Errorf("got exit status %d with %+v", got, d)
	}
	return d
}

// TestDoctor examines a server with a private database behind a proxy with TLS, while it runs and after
// it has stopped.
func TestDoctor(t *testing.T) {
	t.Parallel()
	tlsServer := httptest.NewUnstartedServer(nil)
	tlsServer.StartTLS()
	t.Cleanup(tlsServer.Close)
	authority := filepath.Join(t.TempDir(), "ca.pem")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: tlsServer.Certificate().Raw})
	if err := os.WriteFile(authority, certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	relay := mailtest.NewTLS(t, &tls.Config{Certificates: tlsServer.TLS.Certificates})
	lp := trackertest.New(t)
	token := lp.Token("mishap")
	data := dataDir(t)
	environ := []string{"SSL_CERT_FILE=" + authority, "MISHAP_DATA_DIR=" + data, "MISHAP_BASE_URL=" + tlsServer.URL,
		"MISHAP_CORES_TOTAL_MAX_BYTES=1000000",
		"MISHAP_SMTP_URL=" + relay.URL, "MISHAP_MAIL_FROM=mishap@example.org",
		"MISHAP_TRACKER_URL=" + lp.URL, "MISHAP_TRACKER_API_URL=" + lp.APIURL,
		"MISHAP_TRACKER_OAUTH_TOKEN=" + token.Token, "MISHAP_TRACKER_OAUTH_SECRET=" + string(token.Secret)}
	command := func() *exec.Cmd { return exec.CommandContext(t.Context(), built(t)) }

	listening, _ := freeAddresses(t)
	d := examine(t, slices.Concat(environ, listening), command())
	d.has(t, "database", doctor.OK, "does not exist yet")
	d.has(t, "service", doctor.OK, "not running")
	d.has(t, "base_url", doctor.Warning, "404")
	if _, err := os.Stat(data); !os.IsNotExist(err) {
		t.Errorf("data_dir: got %v, want that the doctor creates none", err)
	}

	server, addresses := serveProcess(t, environ)
	environ = append(environ, "MISHAP_LISTEN="+addresses["listen"], "MISHAP_OPS_LISTEN="+addresses["ops_listen"])
	pages, err := url.Parse("http://" + addresses["listen"])
	if err != nil {
		t.Fatal(err)
	}
	tlsServer.Config.Handler = httputil.NewSingleHostReverseProxy(pages)
	d = examine(t, environ, command())
	if d.Status != doctor.OK {
		t.Errorf("got %+v, want no warnings", d)
	}
	d.has(t, "database", doctor.OK, "private PostgreSQL")
	d.has(t, "schema", doctor.OK, "applied")
	d.has(t, "service", doctor.OK, "ready")
	d.has(t, "mail", doctor.OK, "encrypted")
	d.has(t, "base_url", doctor.OK, "is valid until")
	d.has(t, "base_url", doctor.OK, "leads to mishap")
	if n := len(relay.Mails()); n > 0 {
		t.Errorf("got %d mails, want none", n)
	}

	d = examine(t, append(environ, "PATH=/nonexistent"), command())
	d.has(t, "symbols", doctor.Warning, "gdb is not installed")
	d = examine(t, environ, sandboxtest.WithoutLandlock(t.Context(), built(t)))
	d.has(t, "symbols", doctor.Failure, "cannot confine the debugger")

	server.terminate()
	d = examine(t, environ, command())
	d.has(t, "database", doctor.OK, "is not running")
	d.has(t, "service", doctor.OK, "not running")
}

func TestDoctorText(t *testing.T) {
	t.Parallel()
	file := configFile(t, "lisen = 1\n")
	status, stdout, stderr := runIn(t.Context(), nil, nil, "doctor", "--config="+file)
	if status != 2 || stderr != "" || !strings.HasPrefix(stdout, "failure  configuration  "+file+
		":1: lisen: unknown key; "+
		"did you mean listen?: correct it") || !strings.HasSuffix(stdout, "\n1 check: 0 ok, 0 off, 0 with a warning, 1 "+
		"failed\n") {
		t.Errorf("mistakes: got %d, %q, %q", status, stdout, stderr)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if status, stdout, _ := runIn(ctx, nil, nil, "doctor", noConfig(t)); status != exitFailed || stdout != "" {
		t.Errorf("interrupted: got %d, %q", status, stdout)
	}
}
