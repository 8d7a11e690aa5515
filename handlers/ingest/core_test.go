package ingest_test

import (
	"crypto/rand"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/crash/symbols/debuginfo"
	"mishap/db"
	"mishap/db/dbtest"
	"mishap/db/symbols"
	"mishap/db/upkeep"
	"mishap/handlers/ingest"
)

const notAskedFor = "This core dump was not asked for."

// ask records that a machine was asked for the core of its report.
func (h *fixture) ask(t *testing.T, id, system string) {
	t.Helper()
	dbtest.Exec(t, h.url, "insert into core_requests (report_id, system) values ($1, $2)", id, system)
}

// TestCoreNotAskedFor checks that unrequested cores are refused permanently.
func TestCoreNotAskedFor(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	known := h.post(t, "/machine", body(crashtest.Native())).stored(t).String()
	nameless := h.post(t, "/", body(crashtest.Native())).stored(t).String()
	for _, path := range []string{
		"/" + known + "/submit-core/amd64/machine", "/" + known + "/submit-core/amd64/", "/" + nameless +
			"/submit-core/amd64/",
		"/" + crash.NewOopsID(today).String() + "/submit-core/amd64/machine",
	} {
		h.post(t, path, strings.NewReader(strings.Repeat("x", 1000))).want(t, http.StatusBadRequest, notAskedFor)
	}
	conn, in := h.dial(t) // like libcurl with a large body: it gets the answer before it sends anything
	write(t, conn, []byte(head("/"+known+"/submit-core/amd64/machine", 200<<20, "Expect: 100-continue")))
	readReply(t, in).want(t, http.StatusBadRequest, notAskedFor)
	h.wantFiles(t)
}

func TestCoreAnswers(t *testing.T) {
	t.Parallel()
	h := start(t, func(d *ingest.Deps) { d.MaxCoreBytes = 100 })
	known := h.post(t, "/machine", body(crashtest.Native())).stored(t).String()
	nameless := h.post(t, "/", body(crashtest.Native())).stored(t).String()
	h.ask(t, known, "machine")
	h.ask(t, nameless, "")
	for _, c := range []struct {
		name, path, body string
		status           int
		text             string
	}{
		{"no id", "/what/submit-core/amd64/machine", "core", 400, "No OOPS found for this core dump."},
		{"an id that nobody has", "/" + crash.NewOopsID(today).String() + "/submit-core/amd64/machine", "core", 400,
			notAskedFor},
		{"another machine", "/" + known + "/submit-core/amd64/other", "core", 400, notAskedFor},
		{"no machine", "/" + known + "/submit-core/amd64/", "core", 400, notAskedFor},
		{"the path of another id", "/../" + known + "/submit-core/amd64/other", "core", 400, notAskedFor},
		{"an unknown architecture", "/" + known + "/submit-core/pdp11/machine", "core", 400, "Unsupported architecture"},
		{"architecture all", "/" + known + "/submit-core/all/machine", "core", 400, "Unsupported architecture"},
		{"empty", "/" + known + "/submit-core/amd64/machine", "", 400, "Empty core dump."},
		{"too large", "/" + known + "/submit-core/amd64/machine", strings.Repeat("x", 101), 400, "The body is larger than " +
			"the limit of 100 bytes."},
		{"as large as may be", "/" + known + "/submit-core/amd64/machine", strings.Repeat("x", 100), 200, known},
		{"again", "/" + known + "/submit-core/amd64/machine", "something else", 200, known},
		{"with a prefix and doubled slash", "//crashdb/" + known + "/submit-core/riscv64/machine", "core", 200, known},
		{"of a machine without a name", "/" + nameless + "/submit-core/arm64/", "core", 200, nameless},
		{"without the last slash", "/" + nameless + "/submit-core/arm64", "core", 200, nameless},
	} {
		t.Run(c.name, func(t *testing.T) {
			h.post(t, c.path, text(c.body)).want(t, c.status, c.text)
		})
	}
	h.wantFiles(t, known+".core", nameless+".core")
	id, _ := crash.ParseOopsID(known)
	if kept := h.core(t, id); kept != strings.Repeat("x", 100) {
		t.Errorf("got %q, want the first core that was taken", kept)
	}
	if got := h.send(t, http.MethodGet, "/"+known+"/submit-core/amd64/machine", nil); got.status != http.StatusNotFound {
		t.Errorf("GET: got %d, want 404", got.status)
	}
}

func (h *fixture) wantFiles(t *testing.T, names ...string) {
	t.Helper()
	entries := dbtest.Must(os.ReadDir(filepath.Join(h.data, "cores")))(t)
	found := map[string]bool{}
	for _, e := range entries {
		if e.Name() != "store-id" {
			found[e.Name()] = true
		}
	}
	for _, name := range names {
		if !found[name] {
			t.Errorf("%s is missing among %v", name, found)
		}
	}
	if len(found) != len(names) {
		t.Errorf("got files %v, want %v", found, names)
	}
}

// TestCoreSpace checks that cores above the total limit are refused, counting those being received.
func TestCoreSpace(t *testing.T) {
	t.Parallel()
	h := start(t, func(d *ingest.Deps) { d.MaxCoresBytes = 100_000 })
	path := func(n int) string {
		id := h.post(t, "/machine", body(crashtest.Native(crashtest.Process(n)))).stored(t).String()
		h.ask(t, id, "machine")
		return "/" + id + "/submit-core/amd64/machine"
	}
	noRoom := func(got reply) {
		t.Helper()
		got.want(t, http.StatusServiceUnavailable, "There is no room for core dumps at the moment.")
	}
	if got := h.post(t, path(1), strings.NewReader(random(60_000))); got.status != http.StatusOK {
		t.Fatalf("got %d %q, want it stored", got.status, got.text)
	}
	conn, in := h.dial(t) // declares its length, and sends part of it
	second := path(2)
	write(t, conn, []byte(head(second, 30_000)+"a beginning"))
	third := path(3)
	noRoom(h.post(t, third, strings.NewReader(random(40_001)))) // even if the second upload fails
	noRoom(h.post(t, third, io.MultiReader(strings.NewReader("of unknown size"))))
	write(t, conn, []byte(random(30_000-len("a beginning"))))
	if got := readReply(t, in); got.status != http.StatusOK {
		t.Errorf("second core: got %d %q, want it stored", got.status, got.text)
	}
	noRoom(h.post(t, third, strings.NewReader(random(10_001))))
	if got := h.post(t, third, strings.NewReader(random(8_000))); got.status != http.StatusOK {
		t.Errorf("core that fits: got %d %q, want it stored", got.status, got.text)
	}
}

// random returns a text that cannot be compressed.
func random(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return string(b)
}

// TestCoreCutShort checks that an upload that breaks off leaves no file.
func TestCoreCutShort(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	conn, _ := h.dial(t)
	write(t, conn, []byte(head(h.coreOf(t), 5000)+"a beginning"))
	_ = conn.Close()
	h.Close() // waits for the request
	h.wantFiles(t)
}

// TestCoreStorageFails checks that the answer reports the failure without its cause.
func TestCoreStorageFails(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	path := h.coreOf(t)
	id := strings.Split(path, "/")[1]
	checktest.NoError(t, os.RemoveAll(filepath.Join(h.data, "cores")))
	h.post(t, path, text("core")).want(t, 500, "Failure to write OOPS "+id+" to storage provider")
	if _, err := os.Stat(filepath.Join(h.data, "cores")); !os.IsNotExist(err) {
		t.Errorf("got %v, want %v", err, fs.ErrNotExist)
	}
}

// addresses is a native crash without function names.
func addresses(changes ...crashtest.Option) crashtest.Report {
	const top = "?? ()\n?? ()\n?? ()"
	return crashtest.Native(append([]crashtest.Option{
		crashtest.Set("StacktraceAddressSignature", "/usr/bin/tide:11:/usr/bin/tide+1139:/usr/bin/tide+1177"),
		crashtest.Set("StacktraceTop", top), crashtest.Set("Stacktrace", "#0  0x1 in ?? ()"),
	}, changes...)...)
}

// symbolised announces an instance that symbolises the cores of this listener.
func (h *fixture) symbolised(t *testing.T) {
	t.Helper()
	checktest.NoError(t, symbols.New(h.store).WorkerSeen(t.Context(), crash.SymbolWorker{
		Store: openCores(t, h.data).ID(), Architectures: []string{"amd64"}}))
}

// wantCore posts a report and checks whether its core is asked for. It returns the path for the
// core.
func (h *fixture) wantCore(t *testing.T, machine string, r crashtest.Report, want bool) string {
	t.Helper()
	got := h.post(t, "/"+machine, body(r))
	id, word, _ := strings.Cut(got.text, " ")
	if got.status != http.StatusOK || (word == "CORE") != want || (word == "OOPSID") == want {
		t.Errorf("%s: got %d %q, want a core asked for: %v", machine, got.status, got.text, want)
	}
	return "/" + id + "/submit-core/amd64/" + machine
}

// TestAskForCore checks which reports are answered with CORE, until a core has arrived.
func TestAskForCore(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	h.symbolised(t)
	first := h.wantCore(t, "m1", addresses(), true)
	h.wantCore(t, "m1", addresses(), true) // the same report again: the answer was lost
	h.wantCore(t, "m2", addresses(), true) // m1 may never send it
	other := crashtest.Set("StacktraceAddressSignature", "/usr/bin/tide:11:/usr/bin/tide+2000")
	for name, r := range map[string]crashtest.Report{
		"names":        crashtest.Native(),
		"a traceback":  addresses(other, crashtest.Set("Traceback", "Traceback (most recent call last):\nE: no\n")),
		"own":          addresses(other, crashtest.Set("DuplicateSignature", "mine")),
		"architecture": addresses(other, crashtest.Set("Architecture", "riscv64")),
		"python":       crashtest.Python(),
	} {
		h.wantCore(t, strings.ReplaceAll(name, " ", ""), r, false)
	}
	h.wantCore(t, "deadbeef1", addresses(other), false) // a test machine
	late := h.wantCore(t, "m3", addresses(), true)
	h.post(t, first, text("core")).want(t, http.StatusOK, strings.Split(first, "/")[1])
	h.wantCore(t, "m4", addresses(), false)
	h.post(t, late, text("another core")).want(t, http.StatusOK, strings.Split(late, "/")[1])
	h.wantFiles(t, strings.Split(first, "/")[1]+".core") // the late one is not needed
}

// TestAskForCoreBeyondTheLimit checks that a report whose core is asked for is stored in full although its problem has
// enough reports, before its machine gets the answer.
func TestAskForCoreBeyondTheLimit(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	store := dbtest.OpenConfig(t, db.Config{URL: url, KeepBodies: 2, Now: func() time.Time { return today }})
	h := &fixture{store: store, url: url, data: t.TempDir(), metrics: prometheus.NewRegistry()}
	h.serve(t, nil)
	inFull := func(path string, want bool) {
		t.Helper()
		id := dbtest.Must(crash.ParseOopsID(strings.Split(path, "/")[1]))(t)
		r := dbtest.Must(h.store.Report(t.Context(), id))(t)
		if r.TypedOnly == want || (r.Fields["ProcMaps"] != "") != want {
			t.Errorf("%s: got %v, want it in full: %v", path, r.Fields, want)
		}
	}
	for n := range 6 { // no instance symbolises yet
		inFull(h.wantCore(t, "m", addresses(crashtest.Process(n)), false), n < 2)
	}
	h.symbolised(t)
	h.Close() // it remembers for a moment that no core was wanted
	h.serve(t, func(d *ingest.Deps) { d.Registerer = prometheus.NewRegistry() })
	path := h.wantCore(t, "m", addresses(crashtest.Process(6)), true)
	inFull(path, true)
	again := h.wantCore(t, "m", addresses(crashtest.Process(5)), true) // is stored already, without its text
	inFull(again, true)
	id := strings.Split(path, "/")[1]
	h.post(t, path, text("core")).want(t, http.StatusOK, id)
	h.wantFiles(t, id+".core")
	inFull(h.wantCore(t, "m", addresses(crashtest.Process(7)), false), false)
	h.counted(t)
	b := dbtest.Must(h.store.Bodies(t.Context(), *h.report(t, dbtest.Must(crash.ParseOopsID(id))(t)).Bucket))(t)
	if b.Stored != 4 || b.All != 8 {
		t.Errorf("got %d of %d in full, want 4 of 8", b.Stored, b.All)
	}
	if c := dbtest.Must(upkeep.Check(t.Context(), h.store, crash.CheckScope{Most: 5}, func() {}))(t); c.Found > 0 {
		t.Errorf("check: got %+v, want no difference", c)
	}
}

// TestAskForUngroupedCore checks that crashes that no signature tells apart, as of Go programs, do not
// share one request: each kind gets its own, and one core does not replace another.
func TestAskForUngroupedCore(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	h.symbolised(t)
	ungrouped := func(number, address string) crashtest.Report {
		return crashtest.Native(crashtest.Set("StacktraceAddressSignature", ""), crashtest.Set("StacktraceTop",
			"?? ()\n?? ()"),
			crashtest.Set("ProcMaps", "00401000-0048a000 r-xp 00001000 08:01 17     /usr/bin/keel"),
			crashtest.Set("Stacktrace", "#0  0x"+address+" in ?? ()\n#1  0x14e9914a33a0 in ?? ()"),
			crashtest.Set("ProcStatus", "Pid:\t"+number))
	}
	var stored []string
	for i, number := range []string{"1", "2", "3", "4", "5"} {
		// Three cores of one kind are enough for a day.
		path := h.wantCore(t, "m"+number, ungrouped(number, "47e581"), i < 3)
		if i < 3 {
			id := strings.Split(path, "/")[1]
			h.post(t, path, text("core")).want(t, http.StatusOK, id)
			stored = append(stored, id+".core")
		}
	}
	h.wantFiles(t, stored...)
	h.wantCore(t, "m6", ungrouped("6", "45c7c5"), true)
}

// TestAskForNoCore checks that no core is asked for if the configuration, the disk or the lack of a
// debugger forbids it.
func TestAskForNoCore(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*ingest.Deps){
		"never":    func(d *ingest.Deps) { d.WantCores = false },
		"packages": func(d *ingest.Deps) { d.CorePackages = debuginfo.Patterns{"acme-*"} },
		"space":    func(d *ingest.Deps) { d.MaxCoresBytes = 1000 },
	} {
		h := start(t, change)
		h.symbolised(t)
		h.wantCore(t, name, addresses(), false)
	}
	h := start(t, nil) // no instance symbolises
	h.wantCore(t, "m1", addresses(), false)
}

// TestWantedCore checks that a person's wish for a core is put to the next machine, in any version,
// and that cores = "never" and the lack of a debugger take precedence.
func TestWantedCore(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	h.symbolised(t)
	store := symbols.New(h.store)
	problem := crash.BucketIDOf("/usr/bin/tide:11:/usr/bin/tide+1139:/usr/bin/tide+1177")
	first := h.wantCore(t, "m1", addresses(), true)
	h.post(t, first, text("core")).want(t, http.StatusOK, strings.Split(first, "/")[1])
	h.counted(t)
	h.wantCore(t, "m2", addresses(), false)
	checktest.NoError(t, store.WantCore(t.Context(), problem, "ada"))
	h.Close()
	h.serve(t, func(d *ingest.Deps) { d.WantCores, d.Registerer = false, prometheus.NewRegistry() })
	h.wantCore(t, "m3", addresses(), false)
	h.Close()
	h.serve(t, func(d *ingest.Deps) { d.Registerer = prometheus.NewRegistry() })
	second := h.wantCore(t, "m4", addresses(), true)
	h.wantCore(t, "m5", addresses(crashtest.Version("2.0-1")), true)
	h.post(t, second, text("core")).want(t, http.StatusOK, strings.Split(second, "/")[1])
	h.wantFiles(t, strings.Split(first, "/")[1]+".core", strings.Split(second, "/")[1]+".core")
	h.wantCore(t, "m6", addresses(), false)
	if p, err := store.ProblemSymbols(t.Context(), problem); err != nil || p.Wanted.Person != "" {
		t.Errorf("got %+v, %v; want the wish fulfilled", p.Wanted, err)
	}
}
