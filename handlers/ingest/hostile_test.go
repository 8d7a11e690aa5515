package ingest_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/crash/intake"
	"mishap/crash/privacy"
	"mishap/db"
	"mishap/db/dbtest"
	"mishap/db/symbols"
	"mishap/handlers/ingest"
)

// document frames BSON elements.
func document(elements string) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(elements)+5))
	return append(append(b, elements...), 0)
}

func element(name, value string) string {
	b := append([]byte{2}, name+"\x00"...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(value)+1))
	return string(append(append(b, value...), 0))
}

// TestHostileDocuments posts documents that no honest machine sends. Each is either accepted or
// permanently refused.
func TestHostileDocuments(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	plain := element("Package", "x 1") + element("ProblemType", "Crash")
	huge := strings.Repeat("ż", 200_000)
	nested := strings.Repeat("\x03a\x00\xff\xff\x00\x00", 50_000)
	var many strings.Builder
	for i := range 30_000 {
		many.WriteString(element(fmt.Sprint("k", i), "v"))
	}
	documents := map[string][]byte{
		"a key twice": document(plain + element("Package", "y 2") + element("Package", "z 3")),
		"NUL in texts": document(plain + element("Title", "a\x00b") + element("DuplicateSignature", "s\x00t") +
			element("n", "\x00\x00")),
		"no UTF-8": document(plain + element("DistroRelease", "\xff\xfe") + element("\xff\xfe", "\xed\xa0\x80") +
			element("DuplicateSignature", "\xff")),
		"an empty name":         document(plain + element("", "x")),
		"nested deeply":         document(plain + nested),
		"very many fields":      document(plain + many.String()),
		"a length beyond":       append([]byte{0xff, 0xff, 0xff, 0x7f}, plain...),
		"a negative length":     append([]byte{0xff, 0xff, 0xff, 0xff}, plain...),
		"a text without length": document("\x02a\x00\xff\xff\xff\xff"),
		"numbers for texts": document("\x10Package\x00\x01\x00\x00\x00" +
			"\x01DistroRelease\x00\x00\x00\x00\x00\x00\x00\xf0\x7f"),
		"blanks for texts": document(element("Package", " \t\n") + element("ProblemType", " ")),
		"SQL and markup": document(element("Package", "'); drop table reports; -- <script>") +
			element("DuplicateSignature", "%s%n{{.}}${x}\\'\"")),
		"a date of long ago": document(plain + element("Date", "Mon Jan  1 00:00:00 0001") + element("DuplicateSignature",
			"d")),
		"a date far off": document(plain + element("Date", "Fri Dec 31 23:59:59 9999") + element("DuplicateSignature",
			"d")),
		"no date at all": document(plain + element("Date", strings.Repeat("9", 100_000)) +
			element("DuplicateSignature", "d")),
		"a bomb in base64": document(plain + element("Traceback", "H4sIAAAAAAAC/w==\n"+strings.Repeat("A", 100_000))),
	}
	for _, name := range []string{
		"ProblemType", "Title", "ExecutablePath", "Package", "SourcePackage", "DistroRelease", "Architecture",
		"PackageArchitecture",
		"StacktraceAddressSignature", "DuplicateSignature", "Tags", "ProcStatus", "Signal", "StacktraceTop", "Traceback",
		"OopsText",
		"AssertionMessage", "Failure", "JournalErrors",
	} {
		report := crashtest.Native(crashtest.Set("DuplicateSignature", ""), crashtest.Set(name, huge))
		if name == "Package" {
			report[name] = huge[:100_000] + " " + huge[:100_000]
		}
		documents["very long "+name] = report.BSON()
	}
	for name, data := range documents {
		t.Run(name, func(t *testing.T) {
			if got := h.post(t, "/"+strings.ReplaceAll(name, " ", "-"), bytes.NewReader(data)); got.status != 200 &&
				got.status != 400 {
				t.Errorf("got %d %q, want 200 or 400", got.status, got.text)
			} else if got.status == 200 {
				h.report(t, got.stored(t)) // it can be read back
			}
		})
	}
	h.wantAlive(t)
}

// TestDamagedDocuments flips and truncates bytes of real documents.
func TestDamagedDocuments(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	r := rand.New(rand.NewPCG(1, 2))
	for _, file := range samples(t, "*.bson") {
		whole := dbtest.Must(os.ReadFile(file))(t)
		for range 20 {
			data := bytes.Clone(whole)
			for range 1 + r.IntN(8) {
				data[r.IntN(len(data))] = byte(r.IntN(256))
			}
			if r.IntN(4) == 0 {
				data = data[:r.IntN(len(data))]
			}
			if len(data) >= 4 && r.IntN(8) > 0 { // mostly with the right length, so that more is parsed
				binary.LittleEndian.PutUint32(data, uint32(len(data)))
			}
			if got := h.post(t, "/machine", bytes.NewReader(data)); got.status != 200 && got.status != 400 {
				t.Errorf("%s: got %d %q for %q", file, got.status, got.text, data)
			}
		}
	}
	h.wantAlive(t)
}

// wantAlive checks that honest reports are still accepted.
func (h *fixture) wantAlive(t *testing.T) {
	t.Helper()
	h.post(t, "/honest", body(crashtest.Python())).stored(t)
}

// TestSecretFields sends secret fields, some large enough to be compressed. It searches the whole
// database, with all bodies decompressed, and all files of the instance for their values.
func TestSecretFields(t *testing.T) {
	t.Parallel()
	table := dbtest.Must(privacy.Parse("ErrorMessage=secret JournalErrors=secret Acme*=secret", "private"))(t)
	url := dbtest.URL(t)
	h := &fixture{store: dbtest.Open(t, url), url: url, data: t.TempDir(), metrics: prometheus.NewRegistry()}
	h.serve(t, func(d *ingest.Deps) {
		d.Intake = intake.New(intake.Config{MaxAgeDays: 3660, Privacy: table}, h.store)
	})
	const secret, harmless = "Tgr7secretvalue9Qx", "Tgr7harmlessvalue9Qx"
	long := strings.Repeat("a line of a log\n", 10_000) + secret
	for i, r := range []crashtest.Report{
		crashtest.Native(crashtest.Process(1), crashtest.Set("JournalErrors", long), crashtest.Set("MyApiToken", secret),
			crashtest.Set("AcmeNote", secret), crashtest.Set("Note", harmless)),
		// The error message would become the signature and the title.
		crashtest.Package(crashtest.Set("ErrorMessage", secret+" failed"), crashtest.Set("DpkgTerminalLog", ""),
			crashtest.Set("Note", harmless)),
		crashtest.Native(crashtest.Process(2), crashtest.Set("JournalErrors", crashtest.Compressed(long)),
			crashtest.Set("Note", harmless)),
	} {
		if got := h.post(t, "/machine", bytes.NewReader(r.BSON())); got.status != http.StatusOK {
			t.Fatalf("report %d: got %d %q, want it stored", i, got.status, got.text)
		}
	}
	h.counted(t)
	if found := h.search(t, harmless); len(found) == 0 {
		t.Fatal("the search does not even find a field that is stored")
	}
	if found := h.search(t, secret); len(found) > 0 {
		t.Errorf("got a secret value in %q, want none", found)
	}
	found := strings.Join(h.search(t, "AcmeNote\nJournalErrors\nMyApiToken"), "\n")
	if strings.Count(found, crash.DroppedField) != 1 {
		t.Errorf("got %q, want one report that lists the names of its three dropped fields", found)
	}
}

// search returns where a text is in the database and in the files of the instance.
func (h *fixture) search(t *testing.T, text string) (found []string) {
	t.Helper()
	conn := dbtest.Must(pgx.Connect(t.Context(), h.url))(t)
	defer conn.Close(t.Context()) //nolint:errcheck // only read
	rows := dbtest.Must(conn.Query(t.Context(), `
		select format('%I.%I', n.nspname, c.relname) from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
		where c.relkind = 'r' and n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast')`))(t)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(tables) < 30 {
		t.Fatalf("got %d tables, %v", len(tables), err)
	}
	for _, table := range tables {
		var n int64
		if err := conn.QueryRow(t.Context(), "select count(*) from "+table+" as t where strpos(t::text, $1) > 0 or "+
			"strpos(t::text, encode(convert_to($1, 'UTF8'), 'hex')) > 0", text).Scan(&n); err != nil {
			t.Fatalf("%s: %v", table, err)
		}
		if n > 0 {
			found = append(found, table)
		}
	}
	rows = dbtest.Must(conn.Query(t.Context(), "select id from reports"))(t)
	ids := dbtest.Must(pgx.CollectRows(rows, pgx.RowTo[[16]byte]))(t)
	for _, id := range ids {
		for name, value := range h.report(t, crash.OopsID(id)).Fields {
			if strings.Contains(name, text) || strings.Contains(value, text) {
				found = append(found, crash.OopsID(id).String()+" "+name)
			}
		}
	}
	checktest.NoError(t, filepath.WalkDir(h.data, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if strings.Contains(string(content), text) {
			found = append(found, path)
		}
		return err
	}))
	return found
}

func TestRates(t *testing.T) {
	t.Parallel()
	h := start(t, func(d *ingest.Deps) { d.RatePerSystem = 2; d.RatePerAddress = 5 })
	n := 0
	send := func(path, address string) reply {
		n++
		req := dbtest.Must(http.NewRequestWithContext(t.Context(), http.MethodPost, h.URL+path,
			body(crashtest.Native(crashtest.Process(n)))))(t)
		req.Header.Set("X-Forwarded-For", address) // the test acts as a proxy on this machine
		res, err := h.Client().Do(req)
		checktest.NoError(t, err)
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
	h.wantMetric(t, "mishap_ingest_reports_total",
		map[string]string{"door": "whoopsie", "outcome": "failed", "reason": "rate_per_system"}, 2)
	h.wantMetric(t, "mishap_ingest_reports_total",
		map[string]string{"door": "whoopsie", "outcome": "failed", "reason": "rate_per_address"}, 3)
	h.wantMetric(t, "mishap_ingest_reports_total",
		map[string]string{"door": "whoopsie", "outcome": "stored", "reason": "bucketed"}, 6)
}

// TestRatesOfInstances checks that two instances on one database together allow what one does, and that the
// rest of them has the whole limit after one has died.
func TestRatesOfInstances(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	dbtest.Must(dbtest.OpenConfig(t, db.Config{URL: url, Roles: []string{"web"}}).CountInstances(t.Context()))(t)
	var alive atomic.Int64
	count := func(s *db.Store) {
		t.Helper()
		alive.Store(int64(dbtest.Must(s.CountInstances(t.Context()))(t).Ingest))
	}
	var both [2]*fixture
	for i := range both {
		both[i] = &fixture{url: url, data: t.TempDir(), metrics: prometheus.NewRegistry(),
			store: dbtest.OpenConfig(t, db.Config{URL: url, Roles: []string{"web", "ingest"}})}
		both[i].serve(t, func(d *ingest.Deps) {
			d.RatePerSystem, d.Instances = 6, func() int { return int(alive.Load()) }
		})
		count(both[i].store)
	}
	sent := 0
	stored := func(to ...*fixture) (n int) {
		for range 10 {
			sent++
			if to[sent%len(to)].post(t, "/ant", body(crashtest.Native(crashtest.Process(sent)))).status == http.StatusOK {
				n++
			}
		}
		return n
	}
	checktest.Equal(t, "stored by two", stored(both[:]...), 6)
	both[1].store.Close()
	for alive.Load() > 1 {
		count(both[0].store)
	}
	checktest.Equal(t, "stored by the other one later", stored(both[0]), 3)
}

func (h *fixture) wantMetric(t *testing.T, name string, labels map[string]string, want float64) {
	t.Helper()
	families := dbtest.Must(h.metrics.Gather())(t)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			match := f.GetName() == name
			for _, l := range m.GetLabel() {
				match = match && labels[l.GetName()] == l.GetValue()
			}
			if match {
				checktest.Equal(t, fmt.Sprintf("%s%v", name, labels), m.GetCounter().GetValue(), want)
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
			checktest.Equal(t, "Retry-After", got.header.Get("Retry-After"), c.retryAfter)
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
		dbtest.Must(admin.Exec(t.Context(), sql))(t)
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
	conn := dbtest.Must(pgx.Connect(t.Context(), h.url))(t)
	defer conn.Close(context.WithoutCancel(t.Context())) //nolint:errcheck // the test is over
	dbtest.Must(conn.Exec(t.Context(), "begin; lock table report_keys, core_requests in access "+
		"exclusive mode"))(t)
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
	folder, full, ok := dbtest.SmallDisk(t, 256<<20, "TEST_DATABASE_URL="+url)
	if !ok {
		return
	}
	watch := db.NewDiskWatch()
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
	config := dbtest.Must(pgx.ParseConfig(h.url))(t)
	name, config.Database = config.Database, "postgres"
	conn = dbtest.Must(pgx.ConnectConfig(t.Context(), config))(t)
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

var accepted = regexp.MustCompile(`^[0-9a-f-]{36} (OOPSID|CORE)$`)

// noReports is a store without reports. With a real database, each worker of the fuzzer would start
// a server.
type noReports struct{}

func (noReports) CoreRequested(context.Context, crash.OopsID, crash.SystemID) (bool, error) {
	return false, crash.Errorf(crash.NotFound, "core_not_requested", "Not asked for.")
}

func (noReports) RequestCore(context.Context, crash.CoreRequest, string) (bool, error) {
	return false, nil
}

func (noReports) CoreReceived(context.Context, crash.ReceivedCore) (bool, error) { return false, nil }

func (noReports) Collectors() []prometheus.Collector { return nil }

// FuzzPost posts any body to any machine's address, through everything except the database.
// whoopsie must understand the answer, which must not be an internal error.
// anyKey is a project with any number and any key.
type anyKey struct{}

func (anyKey) Project(_ context.Context, number int64, _ string) (crash.Project, error) {
	return crash.Project{Number: number, Name: "harbor", Source: "harbor"}, nil
}

func (anyKey) Listed(context.Context) ([]crash.Project, error) { return nil, nil }

func (anyKey) Closed(crash.Door) bool { return false }

func (anyKey) Count(crash.DoorCount, string) {}

func (anyKey) CountPing(crash.Ping) {}

func FuzzPost(f *testing.F) {
	files, err := filepath.Glob("testdata/*.bson")
	if err != nil || len(files) == 0 {
		f.Fatalf("no samples: %v", err)
	}
	for _, file := range files {
		body := dbtest.Must(os.ReadFile(file))(f)
		f.Add("ant", body)
	}
	f.Add("", crashtest.Markup().BSON())
	f.Add("%2f..%00", []byte("\x05\x00\x00\x00\x00"))
	f.Add("6f3a0c1e-8a52-4a8e-9d0c-0f4f3f2b1a10/submit-core/amd64/ant", []byte("core"))
	f.Add("a/b/c", crashtest.Native().BSON()[:400])
	_, uReport, _ := strings.Cut(form("/", uReport(f, "python.json")), "\r\n\r\n")
	f.Add("reports/new/", []byte(uReport))
	for _, name := range []string{"go.envelope", "node.envelope", "drkonqi.envelope", "native.envelope"} {
		f.Add("api/7/envelope/?sentry_key=k", envelope(f, name))
	}
	for encoding, body := range compressed(f, envelope(f, "python.json")) {
		f.Add("api/7/store/?sentry_key=k&encoding="+encoding, body)
	}
	f.Add("faf/reports/attach", []byte(strings.ReplaceAll(uReport, "file", "files")))

	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	store := storeFunc(func(rec crash.Record) (crash.OopsID, bool, error) {
		if strings.Contains(string(rec.System), "\x00") {
			f.Errorf("got the system %q, which cannot be stored", rec.System)
		}
		return rec.ID, false, nil
	})
	handler := dbtest.Must(ingest.New(ingest.Deps{
		Intake: intake.New(intake.Config{MaxAgeDays: 366, Now: func() time.Time { return now }}, store),
		Store:  noReports{}, Cores: openCores(f, f.TempDir()), MaxBytes: 1 << 20, Now: func() time.Time { return now },
		Doors: anyKey{},
	}))(f)
	f.Fuzz(func(t *testing.T, system string, body []byte) {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", bytes.NewReader(body))
		req.URL.Path, req.URL.RawPath = "/"+system, ""
		if path, err := url.PathUnescape("/" + system); err == nil {
			req.URL.Path, req.URL.RawPath = path, "/"+system
		}
		req.Header.Set("Content-Type", "multipart/form-data; boundary=------------------------d74496d66958873e")
		if path, query, ok := strings.Cut(req.URL.Path, "?"); ok {
			req.URL.Path, req.URL.RawPath, req.URL.RawQuery = path, "", query
			req.Header.Set("Content-Encoding", req.URL.Query().Get("encoding"))
		}
		res := httptest.NewRecorder()
		handler.ServeHTTP(res, req)
		text := res.Body.String()
		switch res.Code {
		case http.StatusOK:
			if text != "" && !accepted.MatchString(text) && !json.Valid([]byte(text)) {
				t.Errorf("got 200 %q", text)
			}
		case http.StatusAccepted, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusForbidden:
			if !json.Valid([]byte(text)) {
				t.Errorf("got %d %q, want JSON", res.Code, text)
			}
		case http.StatusBadRequest, http.StatusNotFound:
			if text == "" || len(text) > 500 || strings.ContainsRune(text, 0) {
				t.Errorf("got %d with %.600q, want a sentence", res.Code, text)
			}
		default:
			t.Errorf("got %d %.200q", res.Code, text)
		}
	})
}
