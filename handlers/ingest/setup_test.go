package ingest_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"mishap/crash"
	"mishap/crash/intake"
	"mishap/crash/symbols/cores"
	"mishap/db"
	"mishap/db/dbtest"
	"mishap/db/symbols"
	"mishap/handlers/ingest"
	"mishap/handlers/proxies"
)

var today = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// fixture is a running listener with its database.
type fixture struct {
	*httptest.Server
	store   *db.Store
	url     string // of the database
	data    string // folder
	metrics *prometheus.Registry
}

// start runs the real handler on a real database; change may alter its settings.
func start(t *testing.T, change func(*ingest.Deps)) *fixture {
	t.Helper()
	url := dbtest.URL(t)
	h := &fixture{store: dbtest.Open(t, url), url: url, data: t.TempDir(), metrics: prometheus.NewRegistry()}
	h.serve(t, change)
	return h
}

func (h *fixture) serve(t *testing.T, change func(*ingest.Deps)) {
	t.Helper()
	now := func() time.Time { return today }
	trusted, err := proxies.Parse(proxies.Loopback)
	if err != nil {
		t.Fatal(err)
	}
	d := ingest.Deps{
		Intake: intake.New(intake.Config{MaxAgeDays: 366, Now: now}, h.store), Store: symbols.New(h.store),
		Cores: openCores(t, h.data), WantCores: true,
		MaxBytes: 1 << 20, AnswerWithin: time.Minute, TrustedProxies: trusted, Log: dbtest.Log(t), Now: now,
		Registerer: h.metrics,
	}
	if change != nil {
		change(&d)
	}
	handler, err := ingest.New(d)
	if err != nil {
		t.Fatalf("make handler: %v", err)
	}
	h.Server = httptest.NewUnstartedServer(nil)
	h.Config = ingest.NewServer(handler)
	h.Start()
	t.Cleanup(h.Close)
}

// openCores opens the store of cores in a folder.
func openCores(t testing.TB, dir string) *cores.Store {
	t.Helper()
	s, err := cores.OpenFolder(t.Context(), filepath.Join(dir, "cores"), "the key of this test")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// reply is the answer that a client gets.
type reply struct {
	status int
	text   string
	header http.Header
}

// post sends body to path unchanged.
func (h *fixture) post(t *testing.T, path string, body io.Reader) reply {
	t.Helper()
	return h.send(t, http.MethodPost, path, body)
}

func (h *fixture) send(t *testing.T, method, path string, body io.Reader) reply {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, h.URL, body)
	if err != nil {
		t.Fatal(err)
	}
	req.URL.Opaque = "//" + req.URL.Host + path // preserves slashes and escapes
	req.Header.Set("Content-Type", "application/octet-stream")
	res, err := h.Client().Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer res.Body.Close() //nolint:errcheck // read to the end
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return reply{res.StatusCode, string(text), res.Header}
}

func (r reply) want(t *testing.T, status int, text string) {
	t.Helper()
	if r.status != status || r.text != text {
		t.Errorf("got %d %q, want %d %q", r.status, r.text, status, text)
	}
}

var oopsAnswer = regexp.MustCompile(`^([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}) OOPSID$`)

// stored checks that a report was accepted and returns its id.
func (r reply) stored(t *testing.T) crash.OopsID {
	t.Helper()
	m := oopsAnswer.FindStringSubmatch(r.text)
	if r.status != http.StatusOK || m == nil {
		t.Fatalf("got %d %q, want 200 and an id with OOPSID", r.status, r.text)
	}
	id, err := crash.ParseOopsID(m[1])
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func (h *fixture) report(t *testing.T, id crash.OopsID) crash.StoredReport {
	t.Helper()
	r, err := h.store.Report(t.Context(), id)
	if err != nil {
		t.Fatalf("report %s: %v", id, err)
	}
	return r
}

func samples(t *testing.T, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("testdata", pattern))
	if err != nil || len(names) == 0 {
		t.Fatalf("no samples %s: %v", pattern, err)
	}
	return names
}

func text(s string) io.Reader { return strings.NewReader(s) }

// counted waits until every stored report is counted.
func (h *fixture) counted(t *testing.T) {
	t.Helper()
	dbtest.Counted(t, h.store)
}
