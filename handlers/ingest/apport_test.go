package ingest_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/crash/apport"
	"mishap/crash/crashtest"
	"mishap/crash/symbols/cores"
	"mishap/db/dbtest"
	"mishap/db/symbols"
	"mishap/handlers/ingest"
)

// apportResult is what upload.py prints.
type apportResult struct {
	Accepted            bool
	Reason, Handle, URL string
	Shown               []string
}

// uploadWithApport sends a report with the plugin for apport. MISHAP_TEST_APPORT names a folder with apport itself;
// without it, a module stands in for the class that the plugin extends.
func uploadWithApport(t *testing.T, options map[string]any, report map[string]string) (r apportResult) {
	t.Helper()
	python, modules := "/usr/bin/python3", os.Getenv("MISHAP_TEST_APPORT")
	if modules == "" {
		python, modules = "python3", dbtest.Must(filepath.Abs("testdata/apport/stand-in"))(t)
	}
	plugin := dbtest.Must(filepath.Abs("../../packaging/apport"))(t)
	cmd := exec.CommandContext(t.Context(), python, "testdata/apport/upload.py", plugin,
		string(dbtest.Must(json.Marshal(options))(t)))
	cmd.Env = append(os.Environ(), "PYTHONPATH="+modules, "PYTHONDONTWRITEBYTECODE=1")
	cmd.Stdin = bytes.NewReader(dbtest.Must(json.Marshal(report))(t))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || json.Unmarshal(out, &r) != nil {
		t.Fatalf("upload.py: %v\n%s%s", err, out, &stderr)
	}
	return r
}

// TestApportPlugin sends reports with packaging/apport/mishap.py.
func TestApportPlugin(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not installed")
	}
	if _, err := os.Stat("/etc/machine-id"); err != nil {
		t.Skip("this machine has no id")
	}
	var folder *cores.Store
	h := start(t, func(d *ingest.Deps) { folder = d.Cores })
	if err := symbols.New(h.store).WorkerSeen(t.Context(), crash.SymbolWorker{Store: folder.ID(),
		Architectures: []string{"amd64"}}); err != nil {
		t.Fatal(err)
	}
	options := map[string]any{"impl": "mishap", "url": h.URL + "/", "pages": "https://pages.example.org/", "cores": true}
	content := []byte(strings.Repeat("\x7fELF\x00\xff core of a program", 100_000))
	native := map[string]string{}
	maps.Copy(native, crashtest.Native(crashtest.Set("ProcEnviron", "TOKEN=secret"), crashtest.Set("Stacktrace", ""),
		crashtest.Set("StacktraceTop", "")).Fields())
	native["CoreDump"] = base64.StdEncoding.EncodeToString(content)
	r := uploadWithApport(t, options, native)
	id, err := crash.ParseOopsID(r.Handle)
	if err != nil || r.URL != "https://pages.example.org/oops/"+r.Handle || len(r.Shown) > 0 {
		t.Fatalf("got %+v, %v", r, err)
	}
	stored := dbtest.Must(h.store.Report(t.Context(), id))(t)
	machine := strings.TrimSpace(string(dbtest.Must(os.ReadFile("/etc/machine-id"))(t)))
	if stored.System != crash.HashedSystemID(machine) || stored.Fields["ProcEnviron"] != "" ||
		stored.Fields["Package"] != native["Package"] {
		t.Errorf("got %+v", stored)
	}
	var core bytes.Buffer
	_, err = apport.Decompress(&core, strings.NewReader(h.core(t, id)), 1<<30)
	if err != nil || !bytes.Equal(core.Bytes(), content) {
		t.Errorf("got a core dump of %d bytes, %v; want %d", core.Len(), err, len(content))
	}

	native["Traceback"] = strings.Repeat("x", 2<<20)
	if r := uploadWithApport(t, options, native); r.Handle != "" || len(r.Shown) != 1 {
		t.Errorf("a large report: got %+v", r)
	}
	refused := uploadWithApport(t, options, map[string]string{"ProblemType": "Crash", "ExecutablePath": "/usr/bin/x"})
	if refused.Handle != "" || len(refused.Shown) != 1 || refused.Shown[0] != "Incomplete crash report." {
		t.Errorf("a refused report: got %+v", refused)
	}
	bug := uploadWithApport(t, options, map[string]string{"ProblemType": "Bug", "Package": "x 1"})
	if bug.Accepted || !strings.Contains(bug.Reason, "takes no bug reports") {
		t.Errorf("a bug: got %+v", bug)
	}
}
