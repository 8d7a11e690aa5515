package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"mishap/cmd/mishap/config"
	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/grouping"
	"mishap/db"
	"mishap/db/dbtest"
	"mishap/tracker/trackertest"
)

const testPassword = "correct horse battery staple"

// installation is a running mishap: the real serve command in this process, with its own database
// and a practice tracker.
type installation struct {
	t       *testing.T
	url     string // address of the pages
	ingest  string
	ops     string
	config  string // file
	environ []string
	store   *db.Store // a separate connection to check results
	tracker *trackertest.Tracker
	said    *quietBuffer // all output
}

// install starts an installation. lines are added to its configuration file; without any it is
// connected to the tracker.
func install(t *testing.T, lines ...string) *installation {
	t.Helper()
	tr := trackertest.New(t)
	if len(lines) == 0 {
		lines = connected(tr)
	}
	return installFor(t, tr, lines...)
}

// connected returns the lines of a configuration file that connect mishap to a tracker.
func connected(tr *trackertest.Tracker) []string {
	token := tr.Token("mishap")
	return []string{fmt.Sprintf("tracker_oauth_token = %q", token.Token), fmt.Sprintf("tracker_oauth_secret = %q",
		string(token.Secret))}
}

// installFor starts an installation for a practice tracker, with these lines in its configuration file.
func installFor(t *testing.T, tr *trackertest.Tracker, lines ...string) *installation {
	t.Helper()
	database := dbtest.URL(t)
	in := &installation{
		t: t, tracker: tr, said: &quietBuffer{}, store: dbtest.Open(t, database),
		config: configFile(t, strings.Join(lines, "\n")+"\n"),
	}
	listeners := map[string]net.Listener{}
	for _, key := range []string{"listen", "ingest_listen", "ops_listen"} {
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		listeners[key] = l
	}
	in.url, in.ingest, in.ops = "http://"+listeners["listen"].Addr().String(),
		"http://"+listeners["ingest_listen"].Addr().String(), "http://"+listeners["ops_listen"].Addr().String()
	in.environ = trackerEnviron(tr, "MISHAP_DATABASE_URL="+database, "MISHAP_BASE_URL="+in.url, "MISHAP_DATA_DIR="+
		t.TempDir(),
		"MISHAP_TRACKER_SETTLE_SECONDS=1", "MISHAP_TRACKER_TIMEOUT_SECONDS=600")
	p := &program{in: strings.NewReader(""), out: in.said, err: in.said, environ: in.environ,
		listen: func(_ context.Context, key, _ string) (net.Listener, error) { return listeners[key], nil }}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan int, 1)
	go func() { ended <- p.run(ctx, []string{"serve", "--config", in.config}) }()
	t.Cleanup(func() {
		stop()
		if status := <-ended; status != exitOK {
			t.Errorf("serve: got status %d, want %d; it printed\n%s", status, exitOK, in.said)
		}
		checkHidden(t, in.said.String(), append(secretOf(t, in.config), in.environ...))
	})
	in.get(in.ops+"/readyz", http.StatusOK)
	return in
}

// quietBuffer collects the output of several goroutines.
type quietBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *quietBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *quietBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// get requests an address and returns the body of the answer.
func (in *installation) get(url string, want int) string {
	in.t.Helper()
	req, err := http.NewRequestWithContext(in.t.Context(), http.MethodGet, url, nil)
	if err != nil {
		in.t.Fatal(err)
	}
	return in.do(req, want)
}

func (in *installation) do(req *http.Request, want int) string {
	in.t.Helper()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		in.t.Fatalf("%s %s: %v; the server printed\n%s", req.Method, req.URL, err, in.said)
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end below
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != want {
		in.t.Fatalf("%s %s: got status %d, %q, %v; want %d", req.Method, req.URL, resp.StatusCode, body, err, want)
	}
	return string(body)
}

// report posts a report as a machine would, waits until it is counted, and returns its bucket.
func (in *installation) report(system string, r crashtest.Report) crash.BucketID {
	in.t.Helper()
	req, err := http.NewRequestWithContext(in.t.Context(), http.MethodPost, in.ingest+"/"+system,
		bytes.NewReader(r.BSON()))
	if err != nil {
		in.t.Fatal(err)
	}
	if answer := in.do(req, http.StatusOK); !strings.HasSuffix(answer, " OOPSID") && !strings.HasSuffix(answer, " CORE") {
		in.t.Fatalf("answer to a report: got %q, want an id and OOPSID or CORE", answer)
	}
	dbtest.Counted(in.t, in.store)
	return crash.BucketIDOf(grouping.SignatureOf(r.Fields()).Signature)
}

// account creates an account with testPassword.
func (in *installation) account(name string, role crash.Role) {
	in.t.Helper()
	status, _, stderr := runIn(in.t.Context(), strings.NewReader(testPassword), in.environ,
		"user", "add", name, "--role", string(role), "--password-stdin", "--config", in.config)
	if status != exitOK {
		in.t.Fatalf("user add: got status %d and %q", status, stderr)
	}
}

// bucket reads a bucket.
func (in *installation) bucket(id crash.BucketID) crash.Bucket {
	in.t.Helper()
	b, err := in.store.Bucket(in.t.Context(), id)
	if err != nil {
		in.t.Fatal(err)
	}
	return b
}

// endSessions ends all sessions, as expiry would.
func (in *installation) endSessions() {
	in.t.Helper()
	conn, err := pgx.Connect(in.t.Context(), variableOf(in.environ, "MISHAP_DATABASE_URL"))
	if err != nil {
		in.t.Fatal(err)
	}
	if _, err := conn.Exec(in.t.Context(), "delete from sessions"); err != nil {
		in.t.Fatal(err)
	}
	if err := conn.Close(in.t.Context()); err != nil {
		in.t.Fatal(err)
	}
}

// secretOf returns the access token's secret in a configuration file, as an environment.
func secretOf(t *testing.T, file string) []string {
	t.Helper()
	c, err := config.Load(file, true, nil)
	if err != nil {
		t.Error(err)
	}
	if c.TrackerOAuthSecret == "" {
		return nil
	}
	return []string{"MISHAP_TRACKER_OAUTH_SECRET=" + string(c.TrackerOAuthSecret)}
}

func variableOf(environ []string, name string) string {
	for _, v := range environ {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}
