package ingest_test

import (
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/db/reports"
	"mishap/handlers/ingest"
)

const notAskedFor = "This core dump was not asked for."

// ask records that a machine was asked for the core of its report.
func (h *fixture) ask(t *testing.T, id, system string) {
	t.Helper()
	report, err := crash.ParseOopsID(id)
	if err == nil {
		err = reports.New(h.store).RequestCore(t.Context(), report, crash.SystemID(system))
	}
	if err != nil {
		t.Fatal(err)
	}
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
	if kept, err := os.ReadFile(h.coreFile(id)); err != nil || string(kept) != strings.Repeat("x", 100) {
		t.Errorf("got %q, error %v; want the first core that was taken", kept, err)
	}
	if info, err := os.Stat(h.coreFile(id)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, error %v; want mode 0600", info.Mode(), err)
	}
	if got := h.send(t, http.MethodGet, "/"+known+"/submit-core/amd64/machine", nil); got.status != http.StatusNotFound {
		t.Errorf("GET: got %d, want 404", got.status)
	}
}

func (h *fixture) wantFiles(t *testing.T, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(h.data, "cores"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, e := range entries {
		found[e.Name()] = true
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
	h := start(t, func(d *ingest.Deps) { d.MaxCoresBytes = 1000 })
	path := func(n int) string {
		id := h.post(t, "/machine", body(crashtest.Native(crashtest.Process(n)))).stored(t).String()
		h.ask(t, id, "machine")
		return "/" + id + "/submit-core/amd64/machine"
	}
	noRoom := func(got reply) {
		t.Helper()
		got.want(t, http.StatusServiceUnavailable, "There is no room for core dumps at the moment.")
	}
	if got := h.post(t, path(1), strings.NewReader(strings.Repeat("x", 600))); got.status != http.StatusOK {
		t.Fatalf("got %d %q, want it stored", got.status, got.text)
	}
	conn, in := h.dial(t) // declares its length, and sends part of it
	second := path(2)
	write(t, conn, []byte(head(second, 300)+"a beginning"))
	third := path(3)
	noRoom(h.post(t, third, strings.NewReader(strings.Repeat("x", 401)))) // even if the second upload fails
	noRoom(h.post(t, third, io.MultiReader(strings.NewReader("of unknown size"))))
	write(t, conn, []byte(strings.Repeat("x", 300-len("a beginning"))))
	if got := readReply(t, in); got.status != http.StatusOK {
		t.Errorf("second core: got %d %q, want it stored", got.status, got.text)
	}
	noRoom(h.post(t, third, strings.NewReader(strings.Repeat("x", 101))))
	if got := h.post(t, third, strings.NewReader(strings.Repeat("x", 100))); got.status != http.StatusOK {
		t.Errorf("core that just fits: got %d %q, want it stored", got.status, got.text)
	}
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

// TestPartialCores checks that partial files of killed processes are removed, but not files that
// another process may be writing.
func TestPartialCores(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	for name, age := range map[string]time.Duration{".upload-old": 48 * time.Hour, ".upload-new": time.Hour,
		"x.core": 1000 * time.Hour} {
		file := filepath.Join(h.data, "cores", name)
		if err := os.WriteFile(file, []byte("rest"), 0o600); err != nil {
			t.Fatal(err)
		}
		then := time.Now().Add(-age)
		if err := os.Chtimes(file, then, then); err != nil {
			t.Fatal(err)
		}
	}
	again := &fixture{store: h.store, data: h.data}
	again.serve(t, func(d *ingest.Deps) { d.Registerer = nil })
	h.wantFiles(t, ".upload-new", "x.core")
}

// TestCoreStorageFails checks that the answer reports the failure without its cause.
func TestCoreStorageFails(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	path := h.coreOf(t)
	id := strings.Split(path, "/")[1]
	if err := os.RemoveAll(filepath.Join(h.data, "cores")); err != nil {
		t.Fatal(err)
	}
	h.post(t, path, text("core")).want(t, 500, "Failure to write OOPS "+id+" to storage provider")
	if _, err := os.Stat(filepath.Join(h.data, "cores")); !os.IsNotExist(err) {
		t.Errorf("got %v, want %v", err, fs.ErrNotExist)
	}
}
