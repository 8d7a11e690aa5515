package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mishap/crash/symbols/symboltest"
)

// TestSymbolise runs the commands of docs/symbols.md: without files, with added files, and with its
// debuginfod over packages.
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
	id := symboltest.BuildID(t, "tail")
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

	server := symboltest.Debuginfod(t, []string{"deep"}, debuginfodOptions(t, packages(t, "deep"))...)
	status, stdout, stderr = runIn(t.Context(), nil, []string{"MISHAP_DEBUGINFOD_URLS=" + server}, "symbolise", "--json",
		conf,
		symboltest.Crash(t, "deep", symboltest.Core(t, "deep")))
	var got symbolised
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || status != exitOK {
		t.Fatalf("got %d, %v, %q and\n%s", status, err, stderr, stdout)
	}
	if got.State != "done" || got.Signature != "/usr/bin/deep:11:down:down:down:down:down" ||
		got.Modules[0].Executable.Origin != server+" (deep_1.0_amd64.deb)" || got.Fields["Disassembly"] == "" ||
		got.CPUSeconds == 0 {
		t.Errorf("from a server: got\n%s", stdout)
	}
	if left, err := os.ReadDir(filepath.Join(data, "symbols", "jobs")); err != nil || len(left) > 0 {
		t.Errorf("got %v, %v; want no folder of a job", left, err)
	}
}

// TestPanicOfCommands checks that the text of a Go panic decides in the commands as in the server, whatever
// the core shows.
func TestPanicOfCommands(t *testing.T) {
	t.Parallel()
	dir := symboltest.Programs(t)
	conf := "--config=" + configFile(t, "data_dir = \""+filepath.Join(symboltest.TempDir(t), "data")+
		"\"\nsymbols_from_machine = false\n")
	status, stdout, stderr := runIn(t.Context(), nil, nil, "symbols", "add", conf,
		filepath.Join(dir, "root/usr/bin/spring"), filepath.Join(dir, "symbols/spring.debug"))
	if status != exitOK {
		t.Fatalf("symbols add: got %d, %q and\n%s", status, stderr, stdout)
	}
	file := symboltest.Crash(t, "spring", symboltest.Core(t, "spring-index"))
	signatures := func(want string, commands ...string) {
		t.Helper()
		for _, command := range commands {
			_, stdout, stderr := runIn(t.Context(), nil, nil, command, "--json", conf, file)
			var got struct{ Signature string }
			if err := json.Unmarshal([]byte(stdout), &got); err != nil || got.Signature != want {
				t.Errorf("%s: got %q, %v, %s; want %q", command, got.Signature, err, stderr, want)
			}
		}
	}
	signatures("/usr/bin/spring:11:main.(*row).index:main.main", "symbolise")
	report := append(symboltest.Read(t, file), []byte(`StdErr:
 panic: runtime error: index out of range [3] with length 0
 
 goroutine 1 [running]:
 main.(*row).index(...)
 	/src/main.go:18
 main.main()
 	/src/main.go:30 +0x1d
 exit status 2
`)...)
	if err := os.WriteFile(file, report, 0o600); err != nil {
		t.Fatal(err)
	}
	signatures("/usr/bin/spring:panic:index out of range [N] with length N:main.(*row).index:main.main",
		"symbolise", "inspect")
}

// debuginfodOptions returns the options of the unit file in docs/symbols.md, for another folder.
func debuginfodOptions(t *testing.T, folder string) []string {
	t.Helper()
	const start, port, index, packages = "ExecStart=/usr/bin/debuginfod ", "-p 8002 ", "-d ${STATE_DIRECTORY}/index ",
		" /srv/packages\n"
	_, line, _ := strings.Cut(readFile(t, "../../docs/symbols.md"), start+port+index)
	line, _, ok := strings.Cut(line, packages)
	if !ok {
		t.Fatalf("docs/symbols.md has no line %s%s%s…%s", start, port, index, packages)
	}
	var options []string
	for _, word := range regexp.MustCompile(`"[^"]*"|\S+`).FindAllString(line, -1) {
		options = append(options, strings.Trim(word, `"`))
	}
	return append(options, folder)
}

// packages returns a folder with the package of a program, and that of its debug file.
func packages(t *testing.T, program string) string {
	t.Helper()
	dir, folder, id := symboltest.Programs(t), t.TempDir(), symboltest.BuildID(t, program)
	for _, p := range []struct{ file, from, to string }{
		{program + "_1.0_amd64.deb", "root/usr/bin/" + program, "usr/bin/" + program},
		{program + "-dbgsym_1.0_amd64.ddeb", "symbols/" + program + ".debug",
			"usr/lib/debug/.build-id/" + id[:2] + "/" + id[2:] + ".debug"},
	} {
		root := t.TempDir()
		name, _, _ := strings.Cut(p.file, "_")
		for to, content := range map[string][]byte{
			"DEBIAN/control": []byte("Package: " + name + "\nVersion: 1.0\nArchitecture: amd64\n" +
				"Maintainer: A <a@example.com>\nDescription: x\n"),
			p.to: symboltest.Read(t, filepath.Join(dir, p.from)),
		} {
			err := os.MkdirAll(filepath.Dir(filepath.Join(root, to)), 0o755)
			if err == nil {
				err = os.WriteFile(filepath.Join(root, to), content, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		out, err := exec.CommandContext(t.Context(), "dpkg-deb", "--root-owner-group", "-b", root,
			filepath.Join(folder, p.file)).CombinedOutput()
		if err != nil {
			t.Fatalf("dpkg-deb: %v\n%s", err, out)
		}
	}
	return folder
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
