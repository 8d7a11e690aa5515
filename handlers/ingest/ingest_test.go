package ingest_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/crash/grouping"
	"mishap/crash/intake"
	"mishap/crash/symbols/cores"
	"mishap/db"
	"mishap/db/dbtest"
	"mishap/db/doors"
	"mishap/db/problems"
	"mishap/db/symbols"
	"mishap/handlers/ingest"
	"mishap/handlers/proxies"
)

func body(r crashtest.Report) *bytes.Reader { return bytes.NewReader(r.BSON()) }

// TestAnswers checks the answers to everything that a machine may post.
func TestAnswers(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	usual := strings.Repeat("0123456789abcdef", 8)
	for _, c := range []struct {
		name, method, path string
		body               []byte
		status             int
		text               string // empty: an id and OOPSID
	}{
		{"a report", "POST", "/machine", crashtest.Python().BSON(), 200, ""},
		{"a doubled slash", "POST", "//machine2", crashtest.Python().BSON(), 200, ""},
		{"no machine", "POST", "/", crashtest.Native().BSON(), 200, ""},
		{"no machine, doubled", "POST", "//", crashtest.Native(crashtest.Process(2)).BSON(), 200, ""},
		{"an address with a prefix", "POST", "/crashdb/" + usual, crashtest.Native().BSON(), 200, ""},
		{"a machine with odd letters", "POST", "/m%20%2F%C5%BC%ff", crashtest.Native().BSON(), 200, ""},
		{"a test machine", "POST", "/deadbeef01", crashtest.Native().BSON(), 200, ""},
		{"snapd", "POST", "/snapd", crashtest.Report{"ProblemType": "Snap", "DuplicateSignature": "snap:x",
			"DistroRelease": "Ubuntu 24.04"}.BSON(), 200, ""},
		{"repair by snapd", "POST", "/snapd", crashtest.Report{"ProblemType": "Repair",
			"DuplicateSignature": "repair:x"}.BSON(), 200, ""},
		{"nothing to group by", "POST", "/machine3", crashtest.Ungroupable().BSON(), 200, ""},
		{"a release that nobody knows", "POST", "/machine4",
			crashtest.Python(crashtest.Set("DistroRelease", "Plum 7")).BSON(), 200, ""},

		{"no body", "POST", "/machine", nil, 400, "Invalid BSON."},
		{"no BSON", "POST", "/machine", []byte("ProblemType: Crash\n"), 400, "Invalid BSON."},
		{"cut short", "POST", "/machine", crashtest.Python().BSON()[:200], 400, "Invalid BSON."},
		{"an empty document", "POST", "/machine", []byte("\x05\x00\x00\x00\x00"), 400, "Empty report."},
		{"no package", "POST", "/machine", crashtest.Python(crashtest.Without("Package")).BSON(), 400,
			"Incomplete crash report."},
		{"an empty package", "POST", "/machine", crashtest.Python(crashtest.Set("Package", " ")).BSON(), 400,
			"Incomplete crash report."},
		{"armel", "POST", "/machine", crashtest.Python(crashtest.Set("Architecture", "armel")).BSON(), 400,
			"armel architecture is obsoleted."},
		{"end of life", "POST", "/machine", crashtest.Python(crashtest.On("Ubuntu 12.04")).BSON(), 400,
			"Ubuntu 12.04 is End of Life"},
		{"end of life before armel", "POST", "/machine", crashtest.Python(crashtest.On("Ubuntu 12.04"),
			crashtest.Set("Architecture", "armel")).BSON(), 400, "Ubuntu 12.04 is End of Life"},
		{"too large", "POST", "/machine", make([]byte, 1<<20+1), 400, "The body is larger than the limit of 1048576 bytes."},

		{"reading", "GET", "/machine", nil, 404, "Not found."},
		{"reading the root", "GET", "/", nil, 404, "Not found."},
		{"another method", "PUT", "/machine", crashtest.Python().BSON(), 404, "Not found."},
		{"two parts", "POST", "/one/two", crashtest.Python().BSON(), 404, "Not found."},
		{"a machine and more", "POST", "/" + usual + "/more", crashtest.Python().BSON(), 404, "Not found."},
		{"a slash at the end", "POST", "/machine/", crashtest.Python().BSON(), 404, "Not found."},
		{"a page", "GET", "/problem/0", nil, 404, "Not found."},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := h.send(t, c.method, c.path, bytes.NewReader(c.body))
			if c.text == "" {
				got.stored(t)
			} else {
				got.want(t, c.status, c.text)
			}
			if kind := got.header.Get("Content-Type"); kind != "text/plain; charset=utf-8" || len(got.header["Set-Cookie"]) > 0 {
				t.Errorf("got Content-Type %q, cookies %q; want plain text and none", kind, got.header["Set-Cookie"])
			}
		})
	}
}

// TestRepeatedReports sends reports of every kind twice and checks that each counts once per
// machine.
func TestRepeatedReports(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	for name, build := range map[string]func(...crashtest.Option) crashtest.Report{
		"crash": crashtest.Native, "package": crashtest.Package, "oops": crashtest.Oops, "snap": crashtest.Snap,
		"recoverable": crashtest.BareRecoverable, "suspend": crashtest.Suspend, "no trace": crashtest.Ungroupable,
	} {
		for _, without := range []string{"nothing", "Date", "ProcStatus"} {
			report := build(crashtest.Without(without))
			machine := "/" + strings.ReplaceAll(name+without, " ", "-")
			first := h.post(t, machine, body(report)).stored(t)
			later := crashtest.Report(report.Fields())
			later["UpgradeStatus"], later["JournalErrors"] = "Upgraded to noble on 2026-04-29 (200 days ago)", "x"
			for _, again := range []crashtest.Report{report, later} {
				if id := h.post(t, machine, body(again)).stored(t); id != first {
					t.Errorf("%s without %s, again: got id %v, want the first one, %v", name, without, id, first)
				}
			}
			if id := h.post(t, machine+"-2", body(report)).stored(t); id == first {
				t.Errorf("%s without %s: got one id for two machines", name, without)
			}
		}
	}
}

// TestEndOfLifeOnTheDayOfTheCrash checks that late reports are accepted. The clock of a machine
// that is years behind is ignored.
func TestEndOfLifeOnTheDayOfTheCrash(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	alive := crashtest.Python(crashtest.On("Ubuntu 25.10"), crashtest.Set("Date", "Mon Jan 12 07:00:01 2026"))
	h.post(t, "/late", body(alive)).stored(t)
	over := crashtest.Python(crashtest.On("Ubuntu 25.10"), crashtest.Set("Date", "Sun Nov  1 07:00:01 2026"))
	h.post(t, "/over", body(over)).want(t, 400, "Ubuntu 25.10 is End of Life")
	long := crashtest.Python(crashtest.On("Ubuntu 12.04"), crashtest.Set("Date", "Thu Nov  1 07:00:01 2012"))
	h.post(t, "/long", body(long)).want(t, 400, "Ubuntu 12.04 is End of Life")
}

func TestMachines(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	long := strings.Repeat("x", 5000)
	for path, want := range map[string]crash.SystemID{
		"/":                   "",
		"/%61nt":              "ant",
		"/a%2Fb%00%ff":        "a/b\uFFFD\uFFFD",
		"//two":               "two",
		"/" + long:            crash.NewSystemID(long),
		"/deadbeef" + long:    crash.NewSystemID("deadbeef" + long),
		"/?k=v/of-old-config": "",
	} {
		r := h.report(t, h.post(t, path, body(crashtest.Native(crashtest.Set("Nonce", path)))).stored(t))
		if r.System != want || len(r.System) > crash.MaxSystemID {
			t.Errorf("%.40s: got machine %q, want %q", path, r.System, want)
		}
	}
}

// TestRepetition posts one crash fifty times at once through two instances: it is one report with
// one id.
func TestRepetition(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	other := &fixture{store: dbtest.Open(t, h.url), url: h.url, data: t.TempDir()}
	other.serve(t, func(d *ingest.Deps) { d.Registerer = nil })
	var (
		wg  sync.WaitGroup
		mu  sync.Mutex
		ids = map[crash.OopsID]int{}
	)
	for i := range 50 {
		wg.Go(func() {
			id := []*fixture{h, other}[i%2].post(t, "/machine", body(crashtest.Native())).stored(t)
			mu.Lock()
			defer mu.Unlock()
			ids[id]++
		})
	}
	wg.Wait()
	checktest.Equal(t, "ids", len(ids), 1)
	h.wantCounts(t, crashtest.Native(), 1, 1)

	h.post(t, "/machine", body(crashtest.Native(crashtest.Process(77)))).stored(t)
	h.post(t, "/other", body(crashtest.Native())).stored(t)
	h.wantCounts(t, crashtest.Native(), 3, 2)
}

func (h *fixture) wantCounts(t *testing.T, of crashtest.Report, reports, systems int64) {
	t.Helper()
	h.counted(t)
	b := dbtest.Must(h.store.Bucket(t.Context(), crash.BucketIDOf(grouping.SignatureOf(of.Fields()).Signature)))(t)
	if b.Reports != reports || b.Systems != systems {
		t.Errorf("got %d reports of %d machines, want %d of %d", b.Reports, b.Systems, reports, systems)
	}
}

// TestTestMachines checks that reports of test machines are stored and can be found, but are never
// counted.
func TestTestMachines(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	id := h.post(t, "/deadbeefcafe", body(crashtest.Native())).stored(t)
	h.wantCounts(t, crashtest.Native(), 0, 0)
	h.counted(t)
	b, err := h.store.Bucket(t.Context(), *h.report(t, id).Bucket)
	if err != nil || !b.FirstSeen.IsZero() || b.LowestVersion != "" || b.HighestRelease != "" {
		t.Errorf("got bucket %+v, error %v; want a bucket without occurrences", b, err)
	}
	rows, err := problems.New(h.store).BucketReports(t.Context(), b.ID, crash.OopsID{}, 10)
	if err != nil || len(rows) != 1 || rows[0].ID != id {
		t.Errorf("got reports %v, error %v; want %s", rows, err, id)
	}
}

var today = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// fixture is a running listener with its database.
type fixture struct {
	*httptest.Server
	store   *db.Store
	url     string // of the database
	data    string // folder
	metrics *prometheus.Registry
	doors   *doors.Store
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
	trusted := dbtest.Must(proxies.Parse(proxies.Loopback))(t)
	h.doors = doors.New(h.store)
	d := ingest.Deps{
		Doors:  h.doors,
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
	s := dbtest.Must(cores.OpenFolder(t.Context(), filepath.Join(dir, "cores"), "the key of this test"))(t)
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
	req := dbtest.Must(http.NewRequestWithContext(t.Context(), method, h.URL, body))(t)
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
	id := dbtest.Must(crash.ParseOopsID(m[1]))(t)
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
