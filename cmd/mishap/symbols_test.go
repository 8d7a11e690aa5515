package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mishap/crash/symbols/symboltest"
)

// TestSymbolise runs the commands of docs/symbols.md: without files, with added files, and with a
// debuginfod server.
func TestSymbolise(t *testing.T) {
	t.Parallel()
	dir := symboltest.Programs(t)
	data := filepath.Join(symboltest.TempDir(t), "data")
	conf := "--config=" + configFile(t, "data_dir = \""+data+"\"\nsymbols_from_machine = false\n")
	file := symboltest.Crash(t, "tail", symboltest.Core(t, "tail"))

	status, stdout, stderr := runIn(t.Context(), nil, nil, "symbolise", conf, file)
	if status != exitOK || stderr != "" || !strings.Contains(stdout, "  state        partial\n") ||
		!strings.Contains(stdout, "    program     not found; added files: missing; cache: missing\n") {
		t.Errorf("without files: got %d, %q and\n%s", status, stderr, stdout)
	}

	status, stdout, stderr = runIn(t.Context(), nil, nil, "symbols", "add", conf, filepath.Join(dir, "root/usr/bin/tail"),
		filepath.Join(dir, "symbols/tail.debug"), filepath.Join(dir, "src/tail.c"))
	if status != exitFailed || !strings.Contains(stdout, "2 added, 0 known already, 1 refused.") ||
		!strings.Contains(stderr, "tail.c: refused: neither an ELF file nor a Debian package") {
		t.Errorf("symbols add: got %d, %q and\n%s", status, stderr, stdout)
	}
	status, stdout, _ = runIn(t.Context(), nil, nil, "symbols", "list", conf)
	id := string(symboltest.BuildID(t, "tail"))
	if status != exitOK || strings.Count(stdout, id) != 2 || !strings.Contains(stdout, "  added   tail.debug\n") {
		t.Errorf("symbols list: got %d and\n%s", status, stdout)
	}

	status, stdout, stderr = runIn(t.Context(), nil, nil, "symbolise", conf, file)
	for _, want := range []string{
		"/usr/bin/tail:11:parse:hand_over:load", " in parse (p=...) at tail.c:1\n",
		"    build-id    " + id + "\n", "    program     added files (tail)\n", "    debug file  added files " +
			"(tail.debug)\n"} {
		if status != exitOK || stderr != "" || !strings.Contains(stdout, want) {
			t.Errorf("with files: got %d, %q and\n%s\nwant %q in it", status, stderr, stdout, want)
		}
	}

	server := symboltest.Debuginfod(t, []string{"deep"}, filepath.Join(dir, "root"), filepath.Join(dir, "symbols"))
	status, stdout, stderr = runIn(t.Context(), nil, []string{"MISHAP_DEBUGINFOD_URLS=" + server}, "symbolise", "--json",
		conf,
		symboltest.Crash(t, "deep", symboltest.Core(t, "deep")))
	var got symbolised
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || status != exitOK {
		t.Fatalf("got %d, %v, %q and\n%s", status, err, stderr, stdout)
	}
	if got.State != "done" || got.Signature != "/usr/bin/deep:11:down:down:down:down:down" ||
		got.Modules[0].Executable.Origin != server || got.Fields["Disassembly"] == "" || got.CPUSeconds == 0 {
		t.Errorf("from a server: got\n%s", stdout)
	}
	if left, err := os.ReadDir(filepath.Join(data, "symbols", "jobs")); err != nil || len(left) > 0 {
		t.Errorf("got %v, %v; want no folder of a job", left, err)
	}
}

func TestSymboliseRefuses(t *testing.T) {
	t.Parallel()
	dir := symboltest.TempDir(t)
	conf := "--config=" + configFile(t, "data_dir = \""+dir+"/data\"\ncore_max_bytes = 5000\n")
	broken := filepath.Join(dir, "broken.crash")
	if err := os.WriteFile(broken, []byte("no report"), 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		symboltest.Crash(t, "tiny", symboltest.Core(t, "tiny")): "The core is larger than core_max_bytes permits.",
		symboltest.Crash(t, "text", []byte("this is no core")):  "This is not a core dump: it is not an ELF file.",
		"testdata/crashes/brigwifi-dkms.0.crash": "There is no core dump of this report, and it has " +
			"no address",
		broken:                          "has no colon",
		filepath.Join(dir, "not-there"): "no such file",
	} {
		status, stdout, _ := runIn(t.Context(), nil, nil, "symbolise", "--json", conf, file)
		var got symbolised
		err := json.Unmarshal([]byte(stdout), &got)
		if err != nil || status != exitFailed || !strings.Contains(got.Failed, want) {
			t.Errorf("%s: got %d and %s, want %q", file, status, stdout, want)
		}
	}
}

// TestServeSymbols adds a debug file with its sources, and downloads both only if the configuration
// says so.
func TestServeSymbols(t *testing.T) {
	t.Parallel()
	dir, id := symboltest.Programs(t), string(symboltest.BuildID(t, "tail"))
	debug := filepath.Join(dir, "symbols/tail.debug")
	for line, want := range map[string]int{"serve_symbols = true": http.StatusOK,
		"serve_symbols = false": http.StatusNotFound} {
		in := install(t, line)
		status, stdout, stderr := runIn(t.Context(), nil, in.environ, "symbols", "add", "--config", in.config,
			"--source", "/usr/src/tide="+dir+"/src", "--source", "/nowhere", debug)
		if status != exitUsage || stdout != "" || !strings.Contains(stderr, "open /nowhere: no such file") {
			t.Errorf("a missing folder: got %d, %q and\n%s", status, stderr, stdout)
		}
		status, stdout, stderr = runIn(t.Context(), nil, in.environ, "symbols", "add", "--config", in.config,
			"--source", "/usr/src/tide="+dir+"/src", debug)
		if status != exitOK || !strings.Contains(stdout, id+"  source.zip  1 files named by ") {
			t.Errorf("symbols add: got %d, %q and\n%s", status, stderr, stdout)
		}
		if got := in.get(in.url+"/buildid/"+id+"/debuginfo", want); want == http.StatusOK &&
			got != string(symboltest.Read(t, debug)) {
			t.Errorf("got a debug file of %d bytes", len(got))
		}
		got := in.get(in.url+"/buildid/"+id+"/source/usr/src/tide/tail.c", want)
		if want == http.StatusOK && got != string(symboltest.Read(t, filepath.Join(dir, "src/tail.c"))) {
			t.Errorf("got the source %q", got)
		}
	}
	status, _, stderr := runIn(t.Context(), nil, nil, "symbols", "add", noConfig(t), "--source", "src", debug)
	if status != exitUsage || !strings.Contains(stderr, `"src" is neither an absolute path nor FROM=DIR`) {
		t.Errorf("a relative folder: got %d and %q", status, stderr)
	}
}
