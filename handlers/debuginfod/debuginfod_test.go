package debuginfod_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mishap/crash/symbols/debuginfo"
	"mishap/crash/symbols/symboltest"
	"mishap/handlers/handlertest"
)

func TestMain(m *testing.M) { symboltest.Main(m) }

// compiledIn is the folder of the sources that the debug files name.
const compiledIn = "/usr/src/tide"

// serve adds a program, its debug file and its sources, and serves them.
func serve(t *testing.T, program string) (address string) {
	t.Helper()
	dir := symboltest.Programs(t)
	folder, err := debuginfo.OpenFolder(t.TempDir(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"root/usr/bin/" + program, "symbols/" + program + ".debug"} {
		err := folder.Add(t.Context(), filepath.Join(dir, name), func(a debuginfo.Added) {
			if a.Refused != nil {
				t.Errorf("%s: %v", a.Name, a.Refused)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	tree := debuginfo.SourceTree{From: compiledIn, Dir: filepath.Join(dir, "src")}
	n, err := folder.AddSources(t.Context(), symboltest.BuildID(t, program), []debuginfo.SourceTree{tree})
	if err != nil || n == 0 {
		t.Fatalf("got %d source files, %v", n, err)
	}
	return handlertest.New(t, handlertest.Options{SymbolFiles: folder}).URL
}

// TestClient fetches all kinds of files with debuginfod's own client, and lets gdb list a source.
func TestClient(t *testing.T) {
	t.Parallel()
	address := serve(t, "tidewatch")
	dir, id := symboltest.Programs(t), string(symboltest.BuildID(t, "tidewatch"))
	environ := append(os.Environ(), "DEBUGINFOD_URLS="+address, "DEBUGINFOD_CACHE_PATH="+t.TempDir(),
		"DEBUGINFOD_TIMEOUT=60")
	for original, args := range map[string][]string{
		"root/usr/bin/tidewatch":  {"executable", id},
		"symbols/tidewatch.debug": {"debuginfo", id},
		"src/tidewatch.c":         {"source", id, compiledIn + "/tidewatch.c"},
		"src/tide.h":              {"source", id, compiledIn + "/../tide//tide.h"},
	} {
		cmd := exec.CommandContext(t.Context(), "debuginfod-find", args...)
		cmd.Env = environ
		out, err := cmd.Output()
		if err != nil {
			t.Errorf("debuginfod-find %s: %v", strings.Join(args, " "), err)
			continue
		}
		got, want := symboltest.Read(t, strings.TrimSpace(string(out))), symboltest.Read(t, filepath.Join(dir, original))
		if !bytes.Equal(got, want) {
			t.Errorf("%s: got %d other bytes, want %d", original, len(got), len(want))
		}
	}
	cmd := exec.CommandContext(t.Context(), "gdb", "-nx", "-batch", "-iex", "set debuginfod enabled on",
		"-ex", "list parse", filepath.Join(dir, "root/usr/bin/tidewatch"))
	cmd.Env = environ
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "parse(const struct row "+
		"*r, int n)") {
		t.Errorf("gdb: got %v and\n%s", err, out)
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	address := serve(t, "tail")
	id := string(symboltest.BuildID(t, "tail"))
	size := fmt.Sprint(len(symboltest.Read(t, filepath.Join(symboltest.Programs(t), "symbols/tail.debug"))))
	for _, c := range []struct {
		method, path, part string
		status             int
		size               string
	}{
		{http.MethodGet, id + "/debuginfo", "", http.StatusOK, size},
		{http.MethodHead, id + "/debuginfo", "", http.StatusOK, size},
		{http.MethodGet, id + "/debuginfo", "bytes=0-3", http.StatusPartialContent, size},
		{http.MethodGet, id + "/source" + compiledIn + "/tail.c", "", http.StatusOK, ""},
		{http.MethodGet, id + "/source/etc/passwd", "", http.StatusNotFound, ""},
		{http.MethodGet, id + "/source/", "", http.StatusNotFound, ""},
		{http.MethodGet, id + "/source" + compiledIn, "", http.StatusNotFound, ""},
		{http.MethodGet, id + "/source/..%2f..%2fetc/passwd", "", http.StatusNotFound, ""},
		{http.MethodGet, id + "/source.zip", "", http.StatusNotFound, ""},
		{http.MethodGet, strings.Repeat("00", 20) + "/debuginfo", "", http.StatusNotFound, ""},
		{http.MethodGet, "%2e%2e/debuginfo", "", http.StatusNotFound, ""},
		{http.MethodGet, "x/executable", "", http.StatusNotFound, ""},
		{http.MethodPost, id + "/debuginfo", "", http.StatusMethodNotAllowed, ""},
	} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, address+"/buildid/"+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if c.part != "" {
			req.Header.Set("Range", c.part)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != c.status || c.size != "" && resp.Header.Get("X-Debuginfod-Size") != c.size ||
			c.part != "" && string(body) != "\x7fELF" || c.method == http.MethodHead && len(body) > 0 {
			t.Errorf("%s %s: got %d, %d bytes, size %q, %v; want %d, %q", c.method, c.path, resp.StatusCode, len(body),
				resp.Header.Get("X-Debuginfod-Size"), err, c.status, c.size)
		}
	}
}
