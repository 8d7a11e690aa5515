package ingest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/intake"
	"mishap/db/dbtest"
	"mishap/db/disk"
	"mishap/db/disk/disktest"
	"mishap/db/symbols"
	"mishap/handlers/ingest"
)

func TestRates(t *testing.T) {
	t.Parallel()
	h := start(t, func(d *ingest.Deps) { d.RatePerSystem = 2; d.RatePerAddress = 5 })
	n := 0
	send := func(path, address string) reply {
		n++
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.URL+path,
			body(crashtest.Native(crashtest.Process(n))))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Forwarded-For", address) // the test acts as a proxy on this machine
		res, err := h.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return reply{status: res.StatusCode, header: res.Header}
	}
	for i, c := range []struct {
		path, address string
		status        int
	}{
		{"/ant", "192.0.2.1", 200},
		{"/ant", "192.0.2.1", 200},
		{"/ant", "192.0.2.1", 503}, // too many from this machine, at any address
		{"/ant", "192.0.2.2", 503},
		{"/bee", "192.0.2.1", 200},
		{"/", "192.0.2.1", 200},
		{"/cat", "192.0.2.1", 503}, // too many from this address
		{"/", "192.0.2.1", 503},
		{"/cat", "192.0.2.3", 200},
		{"/dog", "198.51.100.7, 192.0.2.1", 503}, // the address that the client sent is ignored
		{"/dog", "2001:db8::1", 200},
	} {
		got := send(c.path, c.address)
		if got.status != c.status || (got.status == 503) != (got.header.Get("Retry-After") != "") {
			t.Errorf("request %d, %s from %s: got %d, Retry-After %q; want %d", i, c.path, c.address, got.status,
				got.header.Get("Retry-After"), c.status)
		}
	}
	h.wantMetric(t, "mishap_ingest_reports_total", map[string]string{"outcome": "failed", "reason": "rate_per_system"}, 2)
	h.wantMetric(t, "mishap_ingest_reports_total", map[string]string{"outcome": "failed", "reason": "rate_per_address"}, 3)
	h.wantMetric(t, "mishap_ingest_reports_total", map[string]string{"outcome": "stored", "reason": "bucketed"}, 6)
}

func (h *fixture) wantMetric(t *testing.T, name string, labels map[string]string, want float64) {
	t.Helper()
	families, err := h.metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			match := f.GetName() == name
			for _, l := range m.GetLabel() {
				match = match && labels[l.GetName()] == l.GetValue()
			}
			if match {
				if got := m.GetCounter().GetValue(); got != want {
					t.Errorf("%s%v: got %v, want %v", name, labels, got, want)
				}
				return
			}
		}
	}
	t.Errorf("%s%v: got no such metric", name, labels)
}

// storeFunc is a store that calls a function of the test.
type storeFunc func(crash.Record) (crash.OopsID, bool, error)

func (f storeFunc) SaveReport(_ context.Context, rec crash.Record) (crash.OopsID, bool, error) {
	return f(rec)
}

// TestTroubleInside checks that answers to internal errors do not reveal their cause.
func TestTroubleInside(t *testing.T) {
	t.Parallel()
	secret := "/home/ada/secret"
	for _, c := range []struct {
		name       string
		store      storeFunc
		status     int
		text       string
		retryAfter string
	}{
		{"overload", func(crash.Record) (crash.OopsID, bool, error) {
			return crash.OopsID{}, false, &crash.Error{Kind: crash.Unavailable, Code: "overload", Message: "Too many.",
				RetryAfter: 2 * time.Minute}
		}, 503, "Too many.", "120"},
		{"away", func(crash.Record) (crash.OopsID, bool, error) {
			return crash.OopsID{}, false, crash.Errorf(crash.Unavailable, "database_away", "Away.").Because(errors.New(secret))
		}, 503, "Away.", "60"},
		{"something else", func(crash.Record) (crash.OopsID, bool, error) {
			return crash.OopsID{}, false, errors.New(secret)
		}, 500, "Internal error.", ""},
		{"panic", func(crash.Record) (crash.OopsID, bool, error) { panic(secret) }, 500, "Internal error.", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := start(t, func(d *ingest.Deps) { d.Intake = intake.New(intake.Config{}, c.store) })
			got := h.post(t, "/machine", body(crashtest.Native()))
			got.want(t, c.status, c.text)
			if got.header.Get("Retry-After") != c.retryAfter {
				t.Errorf("got Retry-After %q, want %q", got.header.Get("Retry-After"), c.retryAfter)
			}
		})
	}
}

// TestDatabaseGoneAndBack posts while the database refuses connections, and again afterwards.
func TestDatabaseGoneAndBack(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	h.post(t, "/machine", body(crashtest.Native())).stored(t)
	name, admin := h.admin(t)
	run := func(sql string) {
		t.Helper()
		if _, err := admin.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	run("alter database " + name + " with allow_connections false")
	run("select pg_terminate_backend(pid) from pg_stat_activity where datname = '" + name + "'")
	for i := range 3 {
		got := h.post(t, "/machine", body(crashtest.Native(crashtest.Process(i))))
		if got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") == "" {
			t.Errorf("got %d %q, want 503 and Retry-After", got.status, got.text)
		}
	}
	run("alter database " + name + " with allow_connections true")
	for i := range 3 {
		h.post(t, "/machine", body(crashtest.Native(crashtest.Process(i)))).stored(t)
	}
	h.wantCounts(t, crashtest.Native(), 4, 1)
}

// TestDatabaseHangs checks that machines get answers while the database hangs, to reports and
// cores.
func TestDatabaseHangs(t *testing.T) {
	t.Parallel()
	h := start(t, func(d *ingest.Deps) { d.AnswerWithin = 50 * time.Millisecond })
	var core string
	for core == "" { // a slow machine may need several attempts
		if got := h.post(t, "/machine", body(crashtest.Native())); got.status == http.StatusOK {
			core = "/" + strings.Fields(got.text)[0] + "/submit-core/amd64/machine"
		}
	}
	h.ask(t, strings.Split(core, "/")[1], "machine")
	conn, err := pgx.Connect(t.Context(), h.url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context())) //nolint:errcheck // the test is over
	if _, err := conn.Exec(t.Context(), "begin; lock table report_keys, core_requests in access "+
		"exclusive mode"); err != nil {
		t.Fatal(err)
	}
	for path, document := range map[string][]byte{"/machine": crashtest.Native(crashtest.Process(2)).BSON(),
		core: []byte("core")} {
		got := h.post(t, path, bytes.NewReader(document))
		if got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") == "" {
			t.Errorf("%s: got %d %q, want 503 and Retry-After", path, got.status, got.text)
		}
	}
}

// TestDiskFull checks that reports are refused, with a message of their own, before PostgreSQL runs
// out of space.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	folder, full, ok := disktest.Small(t, 256<<20, "TEST_DATABASE_URL="+url)
	if !ok {
		return
	}
	watch := disk.NewWatch()
	watch.Add("database", folder, true)
	h := start(t, func(d *ingest.Deps) { d.Disk = watch })
	h.post(t, "/machine", body(crashtest.Native())).stored(t)
	full(t, true)
	got := h.post(t, "/machine", body(crashtest.Native(crashtest.Process(2))))
	if got.status != http.StatusServiceUnavailable || !strings.Contains(got.text, "no space") ||
		got.header.Get("Retry-After") != "600" {
		t.Errorf("got %d %q, want 503 that says there is no space", got.status, got.text)
	}
	full(t, false)
	h.post(t, "/machine", body(crashtest.Native(crashtest.Process(2)))).stored(t)
}

// admin connects to the server of the fixture's database, but to another database.
func (h *fixture) admin(t *testing.T) (name string, conn *pgx.Conn) {
	t.Helper()
	config, err := pgx.ParseConfig(h.url)
	if err != nil {
		t.Fatal(err)
	}
	name, config.Database = config.Database, "postgres"
	if conn, err = pgx.ConnectConfig(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	return name, conn
}

// TestRegisterTwice checks that registering metrics twice returns an error instead of a panic.
func TestRegisterTwice(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	_, err := ingest.New(ingest.Deps{
		Intake: intake.New(intake.Config{}, h.store), Store: symbols.New(h.store), Cores: openCores(t, h.data), MaxBytes: 1,
		Registerer: h.metrics,
	})
	if again := (prometheus.AlreadyRegisteredError{}); !errors.As(err, &again) || !strings.Contains(fmt.Sprint(err),
		"metrics") {
		t.Errorf("got %v, want an error about metrics", err)
	}
}
