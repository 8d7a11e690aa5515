package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"mishap/cmd/mishap/config"
	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/intake"
	"mishap/db/dbtest"
)

// runIn executes one command line in this process, with the given standard input and environment.
func runIn(ctx context.Context, stdin io.Reader, environ []string, args ...string) (status int, stdout, stderr string) {
	var out, errs bytes.Buffer
	p := &program{in: stdin, out: &out, err: &errs, environ: environ, listen: listenOn}
	status = p.run(ctx, args)
	return status, out.String(), errs.String()
}

// mishap executes a command line with an empty configuration, unless args name one, and testPassword as input.
func mishap(t *testing.T, environ []string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	return runIn(t.Context(), strings.NewReader(testPassword+"\n"), environ, append([]string{noConfig(t)}, args...)...)
}

// mustRun executes a command that must succeed, and returns what it prints.
func mustRun(t *testing.T, environ []string, args ...string) string {
	t.Helper()
	status, stdout, stderr := mishap(t, environ, args...)
	if status != exitOK {
		t.Fatalf("%v: got status %d: %s%s", args, status, stdout, stderr)
	}
	return stdout
}

// wantOutput executes a command that must succeed and print each text.
func wantOutput(t *testing.T, environ, args []string, texts ...string) {
	t.Helper()
	out := mustRun(t, environ, args...)
	for _, text := range texts {
		if !strings.Contains(out, text) {
			t.Errorf("%v: got %s, want %q", args, out, text)
		}
	}
}

// wantRefusal executes a command that must fail with a message.
func wantRefusal(t *testing.T, environ []string, message string, args ...string) {
	t.Helper()
	wantStatus(t, environ, exitFailed, message, args...)
}

// wantStatus executes a command that must end with a status, and print a text on either output.
func wantStatus(t *testing.T, environ []string, want int, text string, args ...string) {
	t.Helper()
	status, stdout, stderr := mishap(t, environ, args...)
	if status != want || !strings.Contains(stdout+stderr, text) {
		t.Errorf("%v: got status %d and %q, want %d and %q", args, status, stdout+stderr, want, text)
	}
}

// step is a command, its exit status, and what it prints on either output: parts that "…" separates, in which
// a blank stands for any white space.
type step struct {
	args   string
	status int
	want   string
}

// runSteps executes commands one after another.
func runSteps(t *testing.T, environ []string, steps ...step) {
	t.Helper()
	for _, s := range steps {
		status, stdout, stderr := mishap(t, environ, strings.Fields(s.args)...)
		got := strings.Join(strings.Fields(stdout+stderr), " ")
		for want := range strings.SplitSeq(s.want, " … ") {
			if status != s.status || !strings.Contains(got, want) {
				t.Errorf("%s: got status %d and %q, want %d and %q", s.args, status, got, s.status, want)
			}
		}
	}
}

// wantTexts checks that a text contains others.
func wantTexts(t *testing.T, got string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(got, want) {
			t.Errorf("got %q, want %q in it", got, want)
		}
	}
}

// ownDatabase returns an environment with a database and a data_dir of their own.
func ownDatabase(t *testing.T, more ...string) []string {
	t.Helper()
	return append([]string{"MISHAP_DATABASE_URL=" + dbtest.URL(t), "MISHAP_DATA_DIR=" + t.TempDir()}, more...)
}

// noConfig returns a --config argument with an empty file, so that no local_config.toml is read by
// accident.
func noConfig(t *testing.T) string { return "--config=" + configFile(t, "") }

// dataDir returns a data_dir that other users may enter, as the private PostgreSQL requires if the
// tests run as root.
func dataDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "mishap-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// PostgreSQL still writes for a moment after a test has killed the process that runs it.
		eventually(t, "the folder is removed", func() bool { return os.RemoveAll(dir) == nil })
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "data")
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"":                         "mishap needs one of the commands above",
		"frobnicate":               `unknown command "frobnicate" for "mishap"`,
		"version --frobnicate":     "unknown flag: --frobnicate",
		"version x":                `unknown command "x" for "mishap version"`,
		"user":                     "mishap user needs one of the commands above",
		"user frobnicate":          `unknown command "frobnicate" for "mishap user"`,
		"privacy nothing":          "unknown command",
		"user add --role=viewer":   "accepts 1 arg(s), received 0",
		"user add ada":             "--role is missing: viewer, triager or admin",
		"user add ada --role=king": `"king" is not a role`,
		"user password ada":        "give it with --password-stdin",
		"serve --only both":        `--only: expected web, ingest or symbols, got "both"`,
	} {
		runSteps(t, nil, step{args, exitUsage, want + ` … --help" shows the usage.`})
	}
}

// TestHelp checks that every command has a help text with an example, and accepts --config.
func TestHelp(t *testing.T) {
	t.Parallel()
	root := (&program{}).rootCommand()
	root.InitDefaultHelpCmd()
	for _, cmd := range root.Commands() {
		for _, c := range append(cmd.Commands(), cmd) {
			if c.Name() == "help" || c.Name() == "completion" || c.Parent().Name() == "completion" {
				continue
			}
			args := append(strings.Fields(c.CommandPath())[1:], "--help")
			status, stdout, stderr := runIn(t.Context(), nil, nil, args...)
			if status != exitOK || stderr != "" {
				t.Errorf("%s --help: got status %d and %q, want 0 and no errors", c.CommandPath(), status, stderr)
			}
			wants := []string{"--config file", c.Long}
			if !c.HasSubCommands() {
				wants = append(wants, "Examples:\n  ")
			}
			for _, want := range wants {
				if !strings.Contains(stdout, want) {
					t.Errorf("%s --help: got %q, want %q in it", c.CommandPath(), stdout, want)
				}
			}
		}
	}
}

func TestConfigMistakesStopACommand(t *testing.T) {
	t.Parallel()
	file := configFile(t, "lisen = 1\nallow_bug_filing = 3\n")
	wantRefusal(t, nil, file+":1: lisen: unknown key; did you mean listen?\n"+
		file+":2: allow_bug_filing: expected true or false, got 3\n", "user", "list", "--config", file)
}

func TestUserCommands(t *testing.T) {
	t.Parallel()
	environ := []string{"MISHAP_DATABASE_URL=" + dbtest.URL(t)}
	status, _, stderr := runIn(t.Context(), strings.NewReader(""), environ, "user", "add", "bob", "--role=viewer",
		"--password-stdin", noConfig(t))
	if status != exitFailed || stderr != "mishap: --password-stdin: the standard input contains no password\n" {
		t.Errorf("without a password: got %d, %q", status, stderr)
	}
	const nobody = `mishap: There is no account named "bob".`
	runSteps(t, environ, []step{
		{"user add ada --role admin --password-stdin", exitOK, "ada can sign in now, with role admin."},
		{"user add ADA --role viewer --password-stdin", exitFailed, "mishap: There is already an account named"},
		{"user password ada --password-stdin", exitOK, "The password of ada is changed."},
		{"user password bob --password-stdin", exitFailed, nobody},
		{"user list", exitOK, "admin active "},
		{"user disable ada", exitOK, "ada can no longer sign in. … mishap: warning: no admin can sign in now."},
		{"user list", exitOK, "admin disabled "},
		{"user password ADA --password-stdin", exitOK,
			`The password of ada is changed. The account is disabled: ada cannot sign in before "mishap user enable ada".`},
		{"user role ada triager", exitOK, `The role of ada is triager now; it was admin. The account is disabled: `},
		{"user enable ADA", exitOK, "ada can sign in again, with role triager. mishap: warning: no admin"},
		{"user list", exitOK, "triager active "},
		{"user role ada admin", exitOK, "The role of ada is admin now; it was triager."},
		{"user role ada king", exitUsage, `"king" is not a role`},
		{"user role ada", exitUsage, "accepts 2 arg(s), received 1"},
		{"user disable bob", exitFailed, nobody},
		{"user enable bob", exitFailed, nobody},
		{"user role bob viewer", exitFailed, nobody},
		{"user remove bob", exitFailed, nobody},
		{"user remove ADA", exitOK,
			"The account of ada is removed. Decisions by ada stay under this name. mishap: warning: no admin"},
		{"user password ada --password-stdin", exitFailed, `mishap: There is no account named "ada".`},
		{"user add Ada --role admin --password-stdin", exitOK,
			"Ada can sign in now, with role admin. An account of this name was removed at "},
		{"migrate", exitOK, "The database schema is up to date."},
	}...)
}

func writeFile(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// configFile writes a configuration file into its own folder.
func configFile(t *testing.T, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "local_config.toml")
	writeFile(t, file, content)
	return file
}

// TestSize checks that the answer says where its figures come from, and which flags are refused.
func TestSize(t *testing.T) {
	t.Parallel()
	wantOutput(t, nil, []string{"doctor", "--size", "500/s", "--retention", "2y", "--keep-bodies", "1000",
		"--problems", "1000000"},
		"43,000,000 a day, 500 a second on average and 2,000 at peaks", "1,000,000", "given",
		"calculated from a measured rate\n", "calculated\n",
		"archive servers", "by week")
	for _, bad := range []struct {
		args []string
		text string
	}{
		{[]string{"--size", "500"}, "--size: expected a number of reports per second, hour or day"},
		{[]string{"--size", "500/s", "--retention", "two years"}, "--retention: expected days, weeks, months or years"},
		{[]string{"--size", "500/s", "--keep-bodies", "-1"}, "not negative"},
		{[]string{"--size", "500/s", "--json"}, "json"},
		{[]string{"--retention", "2y"}, "--retention needs --size"},
	} {
		wantStatus(t, nil, exitUsage, bad.text, append([]string{"doctor"}, bad.args...)...)
	}
}

func TestManualPages(t *testing.T) {
	t.Parallel()
	const commented = "../../local_config.default.toml"
	dir := t.TempDir()
	mustRun(t, nil, "man", dir, commented)
	pages, err := filepath.Glob(filepath.Join(dir, "mishap*.1"))
	if err != nil || len(pages) < 30 {
		t.Fatalf("got %d pages, %v", len(pages), err)
	}
	for _, page := range pages {
		text := readFile(t, page)
		for _, section := range []string{"NAME", "SYNOPSIS", "DESCRIPTION", "EXIT STATUS", "FILES", "ENVIRONMENT"} {
			if strings.Count(text, "\n.SH "+section+"\n") != 1 {
				t.Errorf("%s: got not one section %s", filepath.Base(page), section)
			}
		}
	}
	page, file := readFile(t, filepath.Join(dir, "mishap.toml.5")), readFile(t, commented)
	for _, section := range []string{"NAME", "SYNOPSIS", "DESCRIPTION", "KEYS", "FILES", "ENVIRONMENT", "SEE ALSO"} {
		if strings.Count(page, "\n.SH "+section+"\n") != 1 {
			t.Errorf("mishap.toml.5: got not one section %s", section)
		}
	}
	keys := regexp.MustCompile(`(?m)^([a-z_0-9]+) = `).FindAllStringSubmatch(file, -1)
	for _, key := range keys {
		if !regexp.MustCompile(`\n\.TP\n\\fB` + key[1] + `\\fP = .*\n[A-Z]`).MatchString(page) {
			t.Errorf("%s is not explained", key[1])
		}
		if _, err := config.Load("missing", false, []string{config.Variable(key[1]) + "_FILE=/nonexistent"}); err == nil {
			t.Errorf("%s is no key", key[1])
		}
	}
	if !strings.HasPrefix(page, `.TH "MISHAP.TOML" "5" `) && !strings.Contains(page, "\n"+`.TH "MISHAP.TOML" "5" `) {
		t.Errorf("got %.200s", page)
	}
}

const modernOops = "testdata/crashes/linux-image-6.8.0-41-generic.3f1b77aa.crash"

func TestInspectWhy(t *testing.T) {
	t.Parallel()
	status, stdout, stderr := mishap(t, nil, "inspect", "--why", modernOops,
		"testdata/crashes/linux-image-7.0.0-12-generic-202607010203.crash")
	if status != exitOK || stderr != "" {
		t.Errorf("got status %d and %q, want 0 and nothing", status, stderr)
	}
	wantTexts(t, stdout,
		"  grouped by      kernel\n", "  why: The same kernel problem in the same function, called by the same functions.\n",
		"    read from  OopsText ",
		"    used       RIP: 0010:brig_tx_done+0x62/0x110 [brigwifi]  brig_tx_done [brigwifi]\n",
		"    left out   ? show_regs+0x6d/0x80                         the kernel marks it as unreliable\n",
		"  why: The kernel report holds no text and no stack to group by.\n")
}

func TestInspectWhyAsJSON(t *testing.T) {
	t.Parallel()
	_, stdout, _ := mishap(t, nil, "inspect", "--why", "--json", modernOops)
	var got struct {
		Rule string
		Why  reasons
	}
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatal(err)
	}
	if got.Rule != "kernel" || got.Why.Because == "" || len(got.Why.Used) != 4 ||
		got.Why.Used[0].As != "brig_tx_done [brigwifi]" || len(got.Why.Skipped) != 1 {
		t.Errorf("got %+v", got)
	}
	_, stdout, _ = mishap(t, nil, "inspect", "--json", modernOops)
	if strings.Contains(stdout, `"why"`) {
		t.Errorf("got %s, want no reasons without --why", stdout)
	}
}

// TestGate asks the gate about updates in a small fleet, and checks its exit status.
func TestGate(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	store := dbtest.Open(t, url)
	in := intake.New(intake.Config{MaxAgeDays: 366}, store)
	process := 0
	save := func(machine, days int, version string, options ...crashtest.Option) {
		t.Helper()
		process++
		at := time.Now().AddDate(0, 0, -days)
		report := crashtest.Native(append([]crashtest.Option{crashtest.Version(version), crashtest.At(at),
			crashtest.Process(process)}, options...)...)
		if _, err := in.Accept(t.Context(), crash.Report{ID: crash.NewOopsID(at), Fields: report.Fields(),
			System: crash.NewSystemID(fmt.Sprint("machine ", machine))}); err != nil {
			t.Fatal(err)
		}
	}
	for machine := range 60 { // reports of another package make the machines active
		save(machine, 80, "1.0", crashtest.Set("Package", "other 1.0"))
		save(machine, 40+machine%30, "1.9-1", crashtest.Set("DuplicateSignature", fmt.Sprint("old ", machine%2)))
	}
	save(1, 30, "1.10-1")
	for machine := range 8 {
		save(machine, machine, "1.11-1", crashtest.Set("DuplicateSignature", "a new \x1b problem"),
			crashtest.Set("CurrentDesktop", "KDE"))
		save(20+machine, machine, "1.11-1", crashtest.Set("DuplicateSignature", fmt.Sprint("old ", machine%2)))
	}
	dbtest.Counted(t, store)
	environ := []string{"MISHAP_DATABASE_URL=" + url, "MISHAP_BASE_URL=https://crashes.example"}
	run := func(want int, args ...string) (stdout, stderr string) {
		t.Helper()
		status, stdout, stderr := mishap(t, environ, append([]string{"gate"}, args...)...)
		if status != want {
			t.Errorf("%q: got status %d, want %d; output:\n%s%s", args, status, want, stdout, stderr)
		}
		return stdout, stderr
	}

	stdout, _ := run(exitOK, "tidewatch", "1.10-1")
	wantTexts(t, stdout, "Pass: no sign that tidewatch 1.10-1 made things worse.\nhttps://crashes.example/gate?",
		"\nUbuntu 24.04: pass\n  Compared with 1.9-1, the version before.", "  before  1.9-1 ", "  after   1.10-1 ")
	stdout, _ = run(exitWorse, "tidewatch", "1.11-1", "--release=Ubuntu 24.04", "--against", "1.9-1")
	wantTexts(t, stdout, "Worse since tidewatch 1.11-1 arrived.\n", "NEW PROBLEM", "1 problem is new",
		"Compared with 1.9-1, as asked.", "  Concentrated: https://crashes.example/problem/",
		"\n    8 of 8 machines use desktop KDE (0 of 8 elsewhere)\n",
		"https://crashes.example/problem/"+crash.BucketIDOf("a new \x1b problem").String()+"  8 ")
	if strings.Contains(stdout, "\x1b") {
		t.Errorf("got a control character in %q", stdout)
	}
	stdout, _ = run(exitNotEnough, "tidewatch", "1.9-1")
	wantTexts(t, stdout, "Not enough data about", "There is no report of a lower version")
	stdout, _ = run(exitNotEnough, "tidewatch", "1.12-1")
	wantTexts(t, stdout, "no release has a report of tidewatch 1.12-1",
		"Versions that reports name: 1.11-1, 1.10-1, 1.9-1\n")
	run(exitNotEnough, "tidewatch", "1.11-1", "--release=Debian 13")
	_, stderr := run(exitNoAnswer, "nosuch", "1")
	wantTexts(t, stderr, "mishap: No report of a binary package nosuch")
	_, stderr = run(exitUsage, "tidewatch", "1.9-1", "--against=1.10-1")
	wantTexts(t, stderr, "1.10-1 is not lower than 1.9-1")
	run(exitUsage, "tidewatch")
	environ[0] = "MISHAP_DATABASE_URL=postgres://127.0.0.1:1/none"
	run(exitNoAnswer, "tidewatch", "1.11-1")
	run(exitNoAnswer, "tidewatch", "1.11-1", "--config="+configFile(t, "lisen = 1\n"))
	environ[0] = "MISHAP_DATABASE_URL=" + url
	var answer struct {
		Objects []struct {
			Verdict  string
			Releases []struct {
				Problems []struct {
					Machines int
					Function string
				} `json:"new_problems"`
			}
		}
	}
	stdout, _ = run(exitWorse, "tidewatch", "1.11-1", "--json")
	if err := json.Unmarshal([]byte(stdout), &answer); err != nil {
		t.Fatal(err)
	}
	if o := answer.Objects; len(o) != 1 || o[0].Verdict != "worse" || len(o[0].Releases) != 1 ||
		len(o[0].Releases[0].Problems) != 1 || o[0].Releases[0].Problems[0].Machines != 8 {
		t.Errorf("got %s", stdout)
	}
}

// crashFileWith writes a report of a native crash without names at this address, and more fields.
func crashFileWith(t *testing.T, address, more string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tiny"+address+".crash")
	writeFile(t, file, "ProblemType: Crash\nArchitecture: amd64\nPackage: tide 1.0\nSignal: 11\n"+
		"ExecutablePath: /usr/bin/tiny\nStacktraceAddressSignature: /usr/bin/tiny:11:/usr/bin/tiny+"+address+"\n"+more)
	return file
}

// packed returns a field in apport's compressed form.
func packed(name, value string) string {
	return name + ": base64\n " + strings.ReplaceAll(crashtest.Compressed(value), "\n", "\n ") + "\n"
}

// TestImportCores checks that the core of a file is stored as if it had been asked for, or that the
// reason is printed, and that fields that are not text are named.
func TestImportCores(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	environ := []string{"MISHAP_DATABASE_URL=" + dbtest.URL(t), "MISHAP_DATA_DIR=" + data}
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	files := []string{
		crashFileWith(t, "1", packed("CoreDump", "core one")+packed("Picture", "\x89PNG\x00")+"Title: a\xffb\n"),
		crashFileWith(t, "2", packed("CoreDump.zst", string(w.EncodeAll([]byte("core two"), nil)))),
		crashFileWith(t, "3", packed("CoreDump", "core three")+"Traceback: none\n"),
		crashFileWith(t, "1", packed("CoreDump", "another core of the first problem")+"ProcStatus: other\n"),
	}
	for _, core := range []string{"wanted", "never"} {
		status, stdout, stderr := mishap(t, append(environ, "MISHAP_CORES="+core), append([]string{"import"}, files...)...)
		wantOut, want := "4 stored, 0 known already, 0 refused.\n", []string{"2 cores stored.\n",
			"tiny1.crash: 1 field dropped (not text, or too large): Picture\n",
			"tiny3.crash: without its core: The report needs none",
			"tiny1.crash: without its core: Another core of the same problem"}
		if core == "never" {
			wantOut = "0 stored, 4 known already, 0 refused.\n"
			want = []string{`tiny2.crash: without its core: The configuration has cores = "never".`}
		}
		if status != exitOK || stdout != wantOut {
			t.Errorf("%s: got status %d and %q, want %q", core, status, stdout, wantOut)
		}
		wantTexts(t, stderr, want...)
	}
	if stored, err := filepath.Glob(filepath.Join(data, "cores", "*.core")); err != nil || len(stored) != 2 {
		t.Errorf("got %v, %v; want two cores", stored, err)
	}
	// A core that is stored already is not stored again, and needs no words.
	_, _, stderr := mishap(t, environ, "import", files[1])
	if strings.Contains(stderr, "core") {
		t.Errorf("again: got %q", stderr)
	}
}

// TestNoFiles checks that a FIFO, a device and a symbolic link are refused instead of read.
func TestNoFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fifo, link := filepath.Join(dir, "fifo.crash"), filepath.Join(dir, "link.crash")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(crashFileWith(t, "1", ""), link); err != nil {
		t.Fatal(err)
	}
	environ := ownDatabase(t)
	for _, command := range []string{"import", "inspect", "symbolise"} {
		status, stdout, stderr := mishap(t, environ, command, fifo, link, os.DevNull)
		if status != exitFailed || strings.Count(stdout+stderr, "This is not a file") != 2 ||
			strings.Count(stdout+stderr, "This is a symbolic link, which is not followed") != 1 {
			t.Errorf("%s: got status %d, %q and %q", command, status, stdout, stderr)
		}
	}
}
