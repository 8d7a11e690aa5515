package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/intake"
	"mishap/crash/symbols/cores"
	"mishap/crash/symbols/sandbox/sandboxtest"
	"mishap/crash/symbols/symboltest"
	"mishap/db/dbtest"
	"mishap/db/symbols"
)

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
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: got %d %q, %v; want 200", path, resp.StatusCode, text, err)
	}
	return string(text)
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
		args := []string{"symbols", "add", noConfig(t)}
		for _, name := range files {
			args = append(args, filepath.Join(symboltest.Programs(t), name))
		}
		if status, _, stderr := runIn(t.Context(), nil, f.environ, args...); status != exitOK {
			t.Fatalf("symbols add: got %d and %s", status, stderr)
		}
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
// sent, and its problem gets the names. The instances write to data_dir only: there is no TMPDIR.
func TestServeSymbolises(t *testing.T) {
	t.Parallel()
	f := newSymbolsFixture(t, "root/usr/bin/tiny", "symbols/tiny.debug")
	environ := append(slices.Clone(f.environ), "TMPDIR=/nonexistent")
	_, addresses := serveProcess(t, environ, "--only", "ingest")
	p, _ := serveProcess(t, environ, "--only", "symbols")
	report := sendCore(t, addresses["ingest_listen"], "tiny")
	f.until(t, report, crash.SymbolsDone)
	if got := f.signature(t, report); got != "/usr/bin/tiny:11:parse:row:load:_start" {
		t.Errorf("got signature %q, want the functions of the program", got)
	}
	if status := p.terminate(); status != exitOK {
		t.Errorf("serve: got status %d; it printed\n%s", status, p.said)
	}
	if workers, err := f.store.Workers(t.Context()); err != nil || len(workers) != 0 {
		t.Errorf("got %v, %v; want no instance that symbolises after the stop", workers, err)
	}
	if status, out, _ := runIn(t.Context(), nil, f.environ, "check", "--all", noConfig(t)); status != exitOK {
		t.Errorf("check: got status %d and\n%s", status, out)
	}
}

// TestWithoutSandbox checks that gdb does not run where it cannot be confined, and that no core is
// asked for.
func TestWithoutSandbox(t *testing.T) {
	t.Parallel()
	f := newSymbolsFixture(t, "root/usr/bin/tiny", "symbols/tiny.debug")
	const reason = "cannot confine the debugger, so it does not run: the kernel has no Landlock"
	file := symboltest.Crash(t, "tiny", symboltest.Core(t, "tiny"))
	cmd := sandboxtest.WithoutLandlock(t.Context(), built(t), "symbolise", noConfig(t), file)
	cmd.Env = append(os.Environ(), f.environ...)
	out, err := cmd.Output()
	if err == nil || !strings.Contains(string(out), reason) || strings.Contains(string(out), "debugger  ") {
		t.Errorf("symbolise: got %v and\n%s, want %q", err, out, reason)
	}
	cmd = sandboxtest.WithoutLandlock(context.WithoutCancel(t.Context()), built(t))
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

// TestSymbolisedElsewhere checks that an instance on another machine symbolises a core, if both share a
// place for cores and symbols.
func TestSymbolisedElsewhere(t *testing.T) {
	t.Parallel()
	shared := []string{"MISHAP_BLOBS=" + t.TempDir(), "MISHAP_CORES_KEY=" + strings.Repeat("secret", 6)}
	f := newSymbolsFixture(t)
	f.environ = append(f.environ, shared...)
	other := slices.Concat(f.environ, []string{"MISHAP_DATA_DIR=" + filepath.Join(symboltest.TempDir(t), "data")})
	_, addresses := serveProcess(t, f.environ, "--only", "ingest")
	serveProcess(t, other, "--only", "symbols")
	report := sendCore(t, addresses["ingest_listen"], "tiny")
	eventually(t, "the job waits for files", func() bool {
		j, _, err := f.store.ReportJob(t.Context(), report)
		return err == nil && j.State == crash.SymbolsWaiting && !j.Addresses
	})
	dir := symboltest.Programs(t)
	status, _, stderr := runIn(t.Context(), nil, f.environ, "symbols", "add", noConfig(t),
		filepath.Join(dir, "root/usr/bin/tiny"), filepath.Join(dir, "symbols/tiny.debug"))
	if status != exitOK {
		t.Fatalf("symbols add: got %d and %s", status, stderr)
	}
	f.until(t, report, crash.SymbolsDone)
}

// TestSymboliseStored symbolises a stored report by hand: with its core and, when that was removed, by
// its addresses.
func TestSymboliseStored(t *testing.T) {
	t.Parallel()
	f := newSymbolsFixture(t, "root/usr/bin/tiny", "symbols/tiny.debug")
	id := crash.NewOopsID(time.Now())
	if status, stdout, _ := runIn(t.Context(), nil, f.environ, "symbolise", noConfig(t), id.String()); status !=
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
		_, stdout, stderr := runIn(t.Context(), nil, f.environ, "symbolise", noConfig(t), rec.ID.String())
		if stderr != "" || !strings.Contains(stdout, want) {
			t.Errorf("got %q and\n%s, want %q in it", stderr, stdout, want)
		}
	}
	symbolise("It is not known which builds")
	key, err := cores.Key(f.data, "")
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

// TestKilledWhileSymbolising checks that another instance completes a job whose instance was killed.
func TestKilledWhileSymbolising(t *testing.T) {
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
