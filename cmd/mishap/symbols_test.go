package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/intake"
	"mishap/crash/symbols/cores"
	"mishap/crash/symbols/symboltest"
	"mishap/db/dbtest"
	"mishap/db/symbols"
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

// TestMorePanicOfCommands checks that the text of a Go panic decides in the commands as in the server, whatever
// the core shows.
func TestMorePanicOfCommands(t *testing.T) {
	t.Parallel()
	dir := symboltest.Programs(t)
	conf := "--config=" + configFile(t, "data_dir = \""+filepath.Join(symboltest.TempDir(t), "data")+
		"\"\nsymbols_from_machine = false\n")
	mustRun(t, nil, "symbols", "add", conf, filepath.Join(dir, "root/usr/bin/spring"),
		filepath.Join(dir, "symbols/spring.debug"))
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

// debPackage builds a Debian package with one file.
func debPackage(t *testing.T, file, name, version, to, from string) {
	t.Helper()
	root := t.TempDir()
	control := "Package: " + name + "\nVersion: " + version + "\nArchitecture: amd64\nMaintainer: A <a@example.com>\n" +
		"Description: x\n continued\n"
	for name, content := range map[string][]byte{"DEBIAN/control": []byte(control), to: symboltest.Read(t, from)} {
		err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755)
		if err == nil {
			err = os.WriteFile(filepath.Join(root, name), content, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.CommandContext(t.Context(), "dpkg-deb", "--root-owner-group", "-b", root, file).CombinedOutput()
	if err != nil {
		t.Fatalf("dpkg-deb: %v\n%s", err, out)
	}
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
		name, _, _ := strings.Cut(p.file, "_")
		debPackage(t, filepath.Join(folder, p.file), name, "1.0", p.to, filepath.Join(dir, p.from))
	}
	return folder
}

func TestSymboliseRefuses(t *testing.T) {
	t.Parallel()
	dir := symboltest.TempDir(t)
	conf := "--config=" + configFile(t, "data_dir = \""+dir+"/data\"\ncore_max_bytes = 5000\n")
	broken := filepath.Join(dir, "broken.crash")
	writeFile(t, broken, "no report")
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

// nameless is a crash of a program of package symboltest without function names.
func nameless(name string) crashtest.Report {
	return crashtest.Native(crashtest.Set("ExecutablePath", "/usr/bin/"+name), crashtest.Set("Architecture", "amd64"),
		crashtest.Set("StacktraceAddressSignature", fmt.Sprintf("/usr/bin/%[1]s:11:/usr/bin/%[1]s+139:/usr/bin/%[1]s+177",
			name)),
		crashtest.Set("Stacktrace", "#0  0x1 in ?? ()"), crashtest.Set("StacktraceTop", "?? ()\n?? ()\n?? ()"))
}

// answerTo posts to a listener of reports and returns the answer.
func answerTo(t *testing.T, address, path string, body []byte) string {
	t.Helper()
	status, text, _ := request(t, http.MethodPost, "http://"+address+path, body)
	if status != http.StatusOK {
		t.Fatalf("%s: got %d %q; want 200", path, status, text)
	}
	return text
}

// sendCore posts reports of a program until its core is asked for, as new machines do, and sends it. It
// returns the report.
func sendCore(t *testing.T, ingest, name string) crash.OopsID {
	t.Helper()
	var id, machine string
	asked := 0
	eventually(t, "a core is asked for", func() bool {
		asked++
		machine = fmt.Sprint("machine", asked)
		var word string
		id, word, _ = strings.Cut(answerTo(t, ingest, "/"+machine, nameless(name).BSON()), " ")
		return word == "CORE"
	})
	if got := answerTo(t, ingest, "/"+id+"/submit-core/amd64/"+machine, sentCore(t, name)); got != id {
		t.Fatalf("send core: got %q, want %q", got, id)
	}
	report, err := crash.ParseOopsID(id)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// sentCore returns the core of a program as whoopsie sends it.
func sentCore(t *testing.T, name string) []byte {
	t.Helper()
	file := symboltest.Read(t, symboltest.Crash(t, name, symboltest.Core(t, name)))
	_, core, _ := bytes.Cut(file, []byte("CoreDump: base64\n"))
	return bytes.TrimSuffix(bytes.ReplaceAll(bytes.TrimPrefix(core, []byte(" ")), []byte("\n "), []byte("\n")),
		[]byte("\n"))
}

// symbolsFixture is a database and a data_dir with the files of a program.
type symbolsFixture struct {
	environ   []string
	url, data string
	store     *symbols.Store
}

func newSymbolsFixture(t *testing.T, files ...string) symbolsFixture {
	t.Helper()
	f := symbolsFixture{url: dbtest.URL(t), data: filepath.Join(symboltest.TempDir(t), "data")}
	f.store = symbols.New(dbtest.Open(t, f.url))
	f.environ = []string{"MISHAP_DATABASE_URL=" + f.url, "MISHAP_DATA_DIR=" + f.data, "MISHAP_READ_ARCHIVE=false"}
	if len(files) > 0 {
		args := []string{"symbols", "add"}
		for _, name := range files {
			args = append(args, filepath.Join(symboltest.Programs(t), name))
		}
		mustRun(t, f.environ, args...)
	}
	return f
}

// until waits for a state of the job of a report.
func (f symbolsFixture) until(t *testing.T, report crash.OopsID, state crash.SymbolState) {
	t.Helper()
	eventually(t, "the report is "+string(state), func() bool {
		j, _, err := f.store.ReportJob(t.Context(), report)
		if err != nil {
			t.Fatal(err)
		}
		switch j.State {
		case state:
			return true
		case crash.SymbolsAsked, crash.SymbolsQueued, crash.SymbolsRunning:
		default:
			t.Fatalf("the job is %s (%s), want %s; its modules are %+v", j.State, j.Reason, state, j.Modules)
		}
		return false
	})
}

func (f symbolsFixture) signature(t *testing.T, report crash.OopsID) string {
	t.Helper()
	r, err := f.store.Report(t.Context(), report)
	if err != nil {
		t.Fatal(err)
	}
	b, err := f.store.Bucket(t.Context(), *r.Bucket)
	if err != nil {
		t.Fatal(err)
	}
	return b.Signature
}

// TestServeSymbolises checks the whole way: a report without names is answered with CORE, the core is
// sent, an instance on another machine waits until files are added, and the problem gets the names. The
// instances write to data_dir and the shared place only: there is no TMPDIR.
func TestServeSymbolises(t *testing.T) {
	t.Parallel()
	f := newSymbolsFixture(t)
	f.environ = append(f.environ, "MISHAP_BLOBS="+t.TempDir(), "MISHAP_CORES_KEY="+strings.Repeat("secret", 6))
	environ := append(slices.Clone(f.environ), "TMPDIR=/nonexistent")
	_, addresses := serveProcess(t, environ, "--only", "ingest")
	other := append(environ, "MISHAP_DATA_DIR="+filepath.Join(symboltest.TempDir(t), "data"))
	p, _ := serveProcess(t, other, "--only", "symbols")
	report := sendCore(t, addresses["ingest_listen"], "tiny")
	eventually(t, "the job waits for files", func() bool {
		j, _, err := f.store.ReportJob(t.Context(), report)
		return err == nil && j.State == crash.SymbolsWaiting && !j.Addresses
	})
	dir := symboltest.Programs(t)
	mustRun(t, f.environ, "symbols", "add", filepath.Join(dir, "root/usr/bin/tiny"),
		filepath.Join(dir, "symbols/tiny.debug"))
	f.until(t, report, crash.SymbolsDone)
	if got := f.signature(t, report); got != "/usr/bin/tiny:11:parse:row:load:_start" {
		t.Errorf("got signature %q, want the functions of the program", got)
	}
	p.stops()
	if workers, err := f.store.Workers(t.Context()); err != nil || len(workers) != 0 {
		t.Errorf("got %v, %v; want no instance that symbolises after the stop", workers, err)
	}
	mustRun(t, f.environ, "check", "--all")
}

// TestWithoutSandbox checks that gdb does not run where it cannot be confined, and that no core is
// asked for.
func TestWithoutSandbox(t *testing.T) {
	t.Parallel()
	f := newSymbolsFixture(t, "root/usr/bin/tiny", "symbols/tiny.debug")
	const reason = "cannot confine the debugger, so it does not run: the kernel has no Landlock"
	file := symboltest.Crash(t, "tiny", symboltest.Core(t, "tiny"))
	cmd := symboltest.WithoutLandlock(t.Context(), built(t), "symbolise", noConfig(t), file)
	cmd.Env = append(os.Environ(), f.environ...)
	out, err := cmd.Output()
	if err == nil || !strings.Contains(string(out), reason) || strings.Contains(string(out), "debugger  ") {
		t.Errorf("symbolise: got %v and\n%s, want %q", err, out, reason)
	}
	cmd = symboltest.WithoutLandlock(context.WithoutCancel(t.Context()), built(t))
	_, addresses := serveCommand(t, f.environ, cmd)
	eventually(t, "the instance says why it cannot symbolise", func() bool {
		workers, err := f.store.Workers(t.Context())
		return err == nil && len(workers) == 1 && strings.Contains(workers[0].Problem, reason)
	})
	for n := range 3 {
		got := answerTo(t, addresses["ingest_listen"], fmt.Sprint("/machine", n), nameless("tiny").BSON())
		if _, word, _ := strings.Cut(got, " "); word != "OOPSID" {
			t.Errorf("got %q, want no core asked for", got)
		}
	}
}

// TestSymboliseStored symbolises a stored report by hand: with its core and, when that was removed, by
// its addresses.
func TestSymboliseStored(t *testing.T) {
	t.Parallel()
	f := newSymbolsFixture(t, "root/usr/bin/tiny", "symbols/tiny.debug")
	id := crash.NewOopsID(time.Now())
	if status, stdout, _ := mishap(t, f.environ, "symbolise", id.String()); status !=
		exitFailed || !strings.Contains(stdout, "There is no report with this id.") {
		t.Errorf("an unknown report: got %d and\n%s", status, stdout)
	}
	rec, err := intake.New(intake.Config{MaxAgeDays: 10000}, nil).Examine(crash.Report{Fields: nameless("tiny").Fields()})
	if err == nil {
		_, _, err = f.store.SaveReport(t.Context(), rec)
	}
	if err != nil {
		t.Fatal(err)
	}
	symbolise := func(want string) {
		t.Helper()
		_, stdout, stderr := mishap(t, f.environ, "symbolise", rec.ID.String())
		if stderr != "" || !strings.Contains(stdout, want) {
			t.Errorf("got %q and\n%s, want %q in it", stderr, stdout, want)
		}
	}
	symbolise("It is not known which builds")
	key, err := cores.Key(t.Context(), f.data, "")
	if err != nil {
		t.Fatal(err)
	}
	stored, err := cores.OpenFolder(t.Context(), filepath.Join(f.data, "cores"), key)
	if err == nil {
		_, _, err = stored.Put(t.Context(), rec.ID, bytes.NewReader(sentCore(t, "tiny")))
	}
	if err != nil {
		t.Fatal(err)
	}
	symbolise("signature   /usr/bin/tiny:11:parse:row:load:_start")
}

// TestMoreKilledWhileSymbolising checks that another instance completes a job whose instance was killed.
func TestMoreKilledWhileSymbolising(t *testing.T) {
	t.Parallel()
	var asked atomic.Bool
	file := filepath.Join(symboltest.Programs(t), "symbols/tiny.debug")
	hang := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Store(true)
		select {
		case <-hang:
		case <-r.Context().Done():
		}
		http.ServeFile(w, r, file)
	}))
	defer server.Close()
	f := newSymbolsFixture(t, "root/usr/bin/tiny")
	f.environ = append(f.environ, "MISHAP_DEBUGINFOD_URLS="+server.URL)
	_, addresses := serveProcess(t, f.environ, "--only", "ingest")
	first, _ := serveProcess(t, f.environ, "--only", "symbols")
	report := sendCore(t, addresses["ingest_listen"], "tiny")
	f.until(t, report, crash.SymbolsRunning)
	eventually(t, "the job is under way", asked.Load)
	serveProcess(t, f.environ, "--only", "symbols")
	first.kill()
	close(hang)
	dbtest.Exec(t, f.url, "update symbol_jobs set lease = now() - interval '1 second' where store <> ''")
	f.until(t, report, crash.SymbolsDone)
	var attempts, deaths int
	row := f.store.Pool.QueryRow(t.Context(), "select attempt, deaths from symbol_jobs where store <> ''")
	if err := row.Scan(&attempts, &deaths); err != nil || attempts != 2 || deaths != 1 {
		t.Errorf("got %d attempts and %d deaths, %v; want 2 and 1", attempts, deaths, err)
	}
	if got := f.signature(t, report); got != "/usr/bin/tiny:11:parse:row:load:_start" {
		t.Errorf("got signature %q, want the functions of the program", got)
	}
}

// TestSymboliseAddresses names a report without a core dump, after packages with the program of
// exactly this version were added. The signature is that of the core.
func TestSymboliseAddresses(t *testing.T) {
	t.Parallel()
	dir := symboltest.Programs(t)
	conf := "--config=" + configFile(t, fmt.Sprintf("data_dir = %q\ndatabase_url = %q\nsymbols_from_machine = false\n",
		filepath.Join(symboltest.TempDir(t), "data"), dbtest.URL(t)))
	run := func(args ...string) (int, string, string) {
		t.Helper()
		return mishap(t, nil, append(args, conf)...)
	}
	mustRun(t, nil, "symbols", "add", conf, filepath.Join(dir, "original/tiny"))
	status, stdout, stderr := run("symbolise", "--json", symboltest.Crash(t, "tiny", symboltest.Core(t, "tiny")))
	var withCore symbolised
	if err := json.Unmarshal([]byte(stdout), &withCore); err != nil || status != exitOK {
		t.Fatalf("with a core: got %d, %v, %s", status, err, stderr)
	}
	file := addressReport(t, withCore.Fields["Stacktrace"])

	status, stdout, _ = run("symbolise", file)
	if status != exitFailed || !strings.Contains(stdout, "It is not known which builds") ||
		!strings.Contains(stdout, "build-id    unknown: no package of this version was added") {
		t.Errorf("before the package is added: got %d and\n%s", status, stdout)
	}
	for _, version := range []string{"0.9", "1.0"} {
		program := "root/usr/bin/tiny"
		if version == "0.9" { // a neighbouring version, with another program
			program = "root/usr/bin/tail"
		}
		mustRun(t, nil, "symbols", "add", conf, tinyPackage(t, version, filepath.Join(dir, program)))
		if version == "0.9" {
			if status, stdout, _ = run("symbolise", file); status != exitFailed {
				t.Errorf("with another version: got %d and\n%s", status, stdout)
			}
		}
	}
	status, stdout, stderr = run("symbolise", "--json", file)
	var got symbolised
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || status != exitOK {
		t.Fatalf("got %d, %v, %s and\n%s", status, err, stderr, stdout)
	}
	if got.State != "done" || got.Signature != withCore.Signature || !strings.HasPrefix(got.Engine, "GNU gdb") ||
		got.Signature != "/usr/bin/tiny:11:parse:row:load:_start" {
		t.Errorf("got %s; want signature %s", stdout, withCore.Signature)
	}
}

// addressReport writes a report with the addresses of a stack of tiny.
func addressReport(t *testing.T, stack string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tiny.crash")
	text := "ProblemType: Crash\nArchitecture: amd64\nDate: Sun Nov 22 12:00:00 2026\nDistroRelease: Debian 12\n" +
		"Package: tiny 1.0\nExecutablePath: /usr/bin/tiny\nSignal: 11\nStacktraceAddressSignature: " +
		symboltest.TinyAddresses(t, stack) + "\n"
	writeFile(t, file, text)
	return file
}

// tinyPackage builds a Debian package with a program as /usr/bin/tiny.
func tinyPackage(t *testing.T, version, program string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tiny_"+version+"_amd64.deb")
	debPackage(t, file, "tiny", version, "usr/bin/tiny", program)
	return file
}
