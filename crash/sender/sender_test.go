package sender

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/crash/apport"
	"mishap/crash/crashtest"
	"mishap/crash/format/coredump"
	"mishap/crash/intake"
	"mishap/db/dbtest"
	"mishap/db/symbols"
	"mishap/handlers/ingest"
)

const machineID = crash.SystemID("0123456789abcdef")

// fixture is a machine whose journalctl is a script.
type fixture struct {
	Config
	dir string // of the script and its files
	log *lockedBuffer
}

type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.String()
}

func newFixture(t *testing.T, server string, entries ...map[string]any) *fixture {
	t.Helper()
	dir := t.TempDir()
	script := dbtest.Must(filepath.Abs("testdata/journalctl"))(t)
	for _, err := range []error{
		os.Symlink(script, filepath.Join(dir, "journalctl")),
		os.WriteFile(filepath.Join(dir, "entries"), lines(t, entries...), 0o600),
		syscall.Mkfifo(filepath.Join(dir, "more"), 0o600),
		os.Mkdir(filepath.Join(dir, "crash"), 0o700),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	log := &lockedBuffer{}
	return &fixture{dir: dir, log: log, Config: Config{
		Server: server, ID: machineID, State: filepath.Join(dir, "state"), Journalctl: filepath.Join(dir, "journalctl"),
		Machine: Machine{Release: "Debian 12", Architecture: "amd64"}, Files: filepath.Join(dir, "crash"),
		Agent: "mishap-send/test", Log: slog.New(slog.NewTextHandler(log, nil)),
		FirstPause: time.Millisecond,
	}}
}

// lines returns entries as journalctl prints them: the sample with changes. Each has a cursor of its own.
func lines(t *testing.T, entries ...map[string]any) []byte {
	t.Helper()
	var all bytes.Buffer
	for _, changes := range entries {
		var e map[string]any
		sample := dbtest.Must(os.ReadFile("../format/coredump/testdata/record.json"))(t)
		if err := json.Unmarshal(sample, &e); err != nil {
			t.Fatal(err)
		}
		for name, value := range changes {
			e[name] = value
		}
		all.Write(append(dbtest.Must(json.Marshal(e))(t), '\n'))
	}
	return all.Bytes()
}

// run sends reports until done is closed. It returns the error of Run.
func (x *fixture) run(t *testing.T, done <-chan struct{}) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s := dbtest.Must(New(x.Config))(t)
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	select {
	case <-done:
		cancel()
		return <-ended
	case err := <-ended:
		if ctx.Err() != nil {
			t.Errorf("it did not come to an end: %s", x.log)
		}
		return err
	}
}

func (x *fixture) spooled(t *testing.T) int {
	t.Helper()
	names, _, err := spool{filepath.Join(x.State, "spool")}.list()
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

// server answers the requests one after the other, and closes done with the answer to the last one.
func server(t *testing.T, answers ...http.HandlerFunc) (url string, bodies func() [][]byte, done chan struct{}) {
	t.Helper()
	var mu sync.Mutex
	var got [][]byte
	done = make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		if err != nil || r.URL.Path != "/"+string(machineID) || r.Method != http.MethodPost ||
			len(got) == len(answers) {
			t.Errorf("request %d: got %s %s, %v", len(got), r.Method, r.URL, err)
			return
		}
		got = append(got, body)
		if len(got) == len(answers) {
			// Closed when the answer is complete, or the connection is closed.
			defer func() {
				if f, ok := w.(http.Flusher); ok {
					f.Flush()
				}
				close(done)
			}()
		}
		answers[len(got)-1](w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() [][]byte { mu.Lock(); defer mu.Unlock(); return got }, done
}

func status(code int, text string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, text)
	}
}

var stored = status(200, "11111111-2222-3333-4444-555555555555 OOPSID")

// TestRealServer checks how mishap's own listener stores and groups what is sent.
func TestRealServer(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, dbtest.URL(t))
	handler := dbtest.Must(ingest.New(ingest.Deps{Intake: intake.New(intake.Config{MaxAgeDays: 3660}, db),
		Store: symbols.New(db), MaxBytes: 1 << 20, AnswerWithin: time.Minute}))(t)
	answers := make(chan string, 4)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := httptest.NewRecorder()
		handler.ServeHTTP(rec, r)
		w.WriteHeader(rec.Code)
		_, _ = io.WriteString(w, rec.Body.String())
		answers <- rec.Body.String()
	}))
	t.Cleanup(s.Close)
	nameless := "\nStack trace of thread 4311:\n#0  0x000055d000009234 n/a (tidewatch + 0x9234)\n" +
		"#1  0x000055d000009a10 n/a (tidewatch + 0x9a10)\n"
	notes := `{"tidewatch":{"name":"tidewatch","version":"1.4.9-2","architecture":"amd64",` +
		`"buildId":"aa11aa11aa11aa11"}}`
	x := newFixture(t, s.URL, append([]map[string]any{{}, {"MESSAGE": nameless, "COREDUMP_PACKAGE_JSON": notes}},
		kernelEntries(t, unchanged)...)...)
	x.ownKernel(t)
	file := crashtest.Python(crashtest.On("Debian 12")).Crash()
	if err := os.WriteFile(filepath.Join(x.Files, "_usr_bin_x.0.crash"), file, 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var ids []string
	go func() {
		defer close(done)
		for range cap(answers) {
			ids = append(ids, <-answers)
		}
	}()
	if err := x.run(t, done); err != nil {
		t.Fatal(err)
	}
	got := map[crash.BucketID]crash.GroupingRule{}
	for _, answer := range ids {
		id, word, _ := strings.Cut(answer, " ")
		r, err := db.Report(t.Context(), dbtest.Must(crash.ParseOopsID(id))(t))
		if err != nil || r.Bucket == nil || word != "OOPSID" || r.System != machineID || r.Release != "Debian 12" {
			t.Fatalf("%s: got %v of %q, %v", answer, r.Release, r.System, err)
		}
		got[*r.Bucket] = r.Rule
	}
	want := map[string]crash.GroupingRule{
		"kernel:NULL pointer dereference:reef_read [reef]:reef_poll [reef]:vfs_read:ksys_read":  crash.RuleKernel,
		"/usr/bin/tidewatch:11:tide_parse_row:tide_load:[libc.so]":                              crash.RuleStackPartial,
		"/usr/bin/tidewatch:11:tidewatch@aa11aa11aa11aa11+9234:tidewatch@aa11aa11aa11aa11+9a10": crash.RuleAddress,
	}
	for signature, rule := range want {
		if got[crash.BucketIDOf(signature)] != rule {
			t.Errorf("got no %q by %q: %v", signature, rule, got)
		}
	}
	if len(got) != 4 {
		t.Errorf("got %v, want four problems", got)
	}
}

// TestAnswers checks what each answer does to the report, and that it is sent again where it should be.
func TestAnswers(t *testing.T) {
	t.Parallel()
	hang := func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_ = c.Close()
		}
	}
	short := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "100")
		stored(w, r)
	}
	huge := func(w http.ResponseWriter, _ *http.Request) {
		for range 200 {
			_, _ = w.Write(bytes.Repeat([]byte("x"), 64<<10))
		}
	}
	for name, answers := range map[string][]http.HandlerFunc{
		"unavailable":       {status(503, "busy"), stored},
		"retry after":       {status(503, "busy", "Retry-After", "1"), stored},
		"not found":         {status(404, "Not found."), status(404, "Not found."), stored},
		"closed connection": {hang, stored},
		"cut short":         {short, stored},
		"refused":           {status(400, "Incomplete crash report.")},
		"huge":              {huge},
		"a repeat":          {status(429, ""), status(500, ""), status(409, ""), stored},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, bodies, done := server(t, answers...)
			x := newFixture(t, url, map[string]any{})
			if err := x.run(t, done); err != nil {
				t.Fatal(err)
			}
			all := bodies()
			for _, body := range all {
				if !bytes.Equal(body, all[0]) {
					t.Errorf("got another report when it was sent again")
				}
			}
		})
	}
}

// TestRounds checks the decision on single answers, without waiting.
func TestRounds(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the redirect was followed")
	}))
	t.Cleanup(elsewhere.Close)
	for name, c := range map[string]struct {
		answers []http.HandlerFunc
		left    int
		after   time.Duration
	}{
		"stored":                  {[]http.HandlerFunc{stored, stored}, 0, 0},
		"refused":                 {[]http.HandlerFunc{status(400, "no"), stored}, 0, 0},
		"one that nobody accepts": {[]http.HandlerFunc{status(413, "no"), stored}, 1, 0},
		"busy":                    {[]http.HandlerFunc{status(503, "", "Retry-After", "7")}, 2, 7 * time.Second},
		"busy for ever":           {[]http.HandlerFunc{status(429, "", "Retry-After", "999999999")}, 2, maxRetryAfter},
		"a date": {[]http.HandlerFunc{status(503, "", "Retry-After", "Thu, 01 Jan 1970 00:00:01 GMT")}, 2,
			0},
		"a redirect": {[]http.HandlerFunc{status(307, "", "Location", elsewhere.URL)}, 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, _, _ := server(t, c.answers...)
			x := newFixture(t, url)
			s := dbtest.Must(New(x.Config))(t)
			s.store(report{fields: crash.Fields{"Package": "a 1"}})
			s.store(report{fields: crash.Fields{"Package": "b 1"}})
			left, after, err := s.round(t.Context())
			if err != nil || left != (c.left > 0) || after != c.after || x.spooled(t) != c.left {
				t.Errorf("got %v, %v, %v with %d in the spool; want %d, %v", left, after, err, x.spooled(t), c.left,
					c.after)
			}
		})
	}
}

func TestPause(t *testing.T) {
	t.Parallel()
	s := Sender{config: Config{FirstPause: time.Minute}}
	for failures, want := range map[int]time.Duration{1: time.Minute, 2: 2 * time.Minute, 5: 16 * time.Minute,
		9: maxPause, 1000: maxPause} {
		if got := s.pause(failures); got < want/2 || got > want {
			t.Errorf("after %d failures: got %v, want %v at most and half of it at least", failures, got, want)
		}
	}
}

// TestKilled stops between the spool and the server, and starts again.
func TestKilled(t *testing.T) {
	t.Parallel()
	refused := make(chan struct{})
	x := newFixture(t, "", map[string]any{})
	busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusServiceUnavailable)
		close(refused)
	}))
	t.Cleanup(busy.Close)
	x.Server = busy.URL
	if err := x.run(t, refused); err != nil {
		t.Fatal(err)
	}
	if x.spooled(t) != 1 {
		t.Fatalf("got %d reports in the spool, want 1", x.spooled(t))
	}
	half := filepath.Join(x.State, "spool", temporary+"1")
	if err := os.WriteFile(half, []byte("half a report"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(x.dir, "entries"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	url, bodies, done := server(t, stored)
	x.Server = url
	if err := x.run(t, done); err != nil {
		t.Fatal(err)
	}
	if fields := decode(t, bodies()[0]); fields["Package"] != "tidewatch 1.4.9-2" {
		t.Errorf("got %v", fields)
	}
	if _, err := os.Stat(half); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("half a report is still there: %v", err)
	}
}

func decode(t *testing.T, body []byte) crash.Fields {
	t.Helper()
	fields, _, _ := dbtest.Must(apport.OpenBSON(body))(t).Fields(apport.MaxDecompressed)
	return fields
}

// TestSpoolFull checks that the newest report is lost, and the log says so.
func TestSpoolFull(t *testing.T) {
	t.Parallel()
	x := newFixture(t, "http://unused.invalid")
	s := dbtest.Must(New(x.Config))(t)
	for range maxSpooled + 1 {
		s.store(report{fields: crash.Fields{"Package": "a 1"}})
	}
	s.store(report{fields: crash.Fields{"Package": "a 1", "Traceback": strings.Repeat("x", maxReport)}})
	if x.spooled(t) != maxSpooled || strings.Count(x.log.String(), "a report is lost") != 2 {
		t.Errorf("got %d reports, log %s", x.spooled(t), x.log)
	}
}

// TestFullDisk fills a small disk. It needs root.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	x := newFixture(t, "http://unused.invalid", map[string]any{})
	if err := os.MkdirAll(x.State, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", x.State, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("cannot mount a small disk: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(x.State, syscall.MNT_DETACH) })
	s := dbtest.Must(New(x.Config))(t)
	for range 20 {
		s.store(report{fields: crash.Fields{"Package": "a 1", "Traceback": strings.Repeat("x", 8000)}})
	}
	kept := x.spooled(t)
	if kept == 0 || kept > 8 || strings.Count(x.log.String(), "a report is lost") != 20-kept {
		t.Errorf("got %d reports, log %s", kept, x.log)
	}
	entries := dbtest.Must(os.ReadDir(filepath.Join(x.State, "spool")))(t)
	if len(entries) != kept {
		t.Errorf("got %d files for %d reports", len(entries), kept)
	}
	// With room again, it goes on.
	names, _, _ := s.spool.list()
	if err := s.spool.remove(names[0]); err != nil {
		t.Fatal(err)
	}
	if s.store(report{fields: crash.Fields{"Package": "a 1"}}); x.spooled(t) != kept {
		t.Errorf("got %d reports, want %d", x.spooled(t), kept)
	}
}

// TestEntries follows the journal: forged entries, and those that cannot be reported, only move the cursor.
func TestEntries(t *testing.T) {
	t.Parallel()
	url, bodies, done := server(t, stored)
	x := newFixture(t, url,
		map[string]any{"_SYSTEMD_UNIT": "user@1000.service", "__CURSOR": "s=1;i=1"},
		map[string]any{"COREDUMP_EXE": "/home/marina/bin/private", "COREDUMP_PACKAGE_NAME": "", "__CURSOR": "s=1;i=2",
			"COREDUMP_PACKAGE_JSON": ""},
		map[string]any{"COREDUMP_EXE": "/usr/bin/other", "COREDUMP_PACKAGE_NAME": nil, "COREDUMP_PACKAGE_JSON": nil,
			"COREDUMP_ROOT": "/var/lib/machines/x"})
	go func() {
		pipe, err := os.OpenFile(filepath.Join(x.dir, "more"), os.O_WRONLY, 0) // blocks until it is read
		if err == nil {
			_, _ = pipe.Write(lines(t, map[string]any{"__CURSOR": "s=1;i=4"}))
		}
		<-done
		_ = pipe.Close()
	}()
	if err := x.run(t, done); err != nil {
		t.Fatal(err)
	}
	body := bodies()[0]
	if bytes.Contains(body, []byte("private")) || bytes.Contains(body, []byte("marina")) {
		t.Errorf("got private data: %q", body)
	}
	if got := string(dbtest.Must(os.ReadFile(filepath.Join(x.State, cursorFile)))(t)); got != "s=1;i=4\n" {
		t.Errorf("got cursor %q", got)
	}
	for _, reason := range []string{"did not write the entry", errNoPackage.Error()} {
		if !strings.Contains(x.log.String(), reason) {
			t.Errorf("log: got %s, want %q", x.log, reason)
		}
	}
}

// TestCursor checks where journalctl begins: a day ago, or after the last entry that was dealt with.
func TestCursor(t *testing.T) {
	t.Parallel()
	x := newFixture(t, "", map[string]any{})
	dbtest.Must(New(x.Config))(t)
	j := journal{x.Journalctl, x.State}
	read := func() (arguments string) {
		n := 0
		if err := j.read(t.Context(), false, func(coredump.Entry) error { n++; return nil }); err != nil || n != 1 {
			t.Errorf("got %d entries, %v; want 1", n, err)
		}
		all := strings.Split(string(dbtest.Must(os.ReadFile(filepath.Join(x.dir, "arguments")))(t)), "\n")
		return all[len(all)-2]
	}
	for _, c := range []struct{ stored, want string }{
		{"", firstDay}, {"s=a4;i=1;b=01\n", "--cursor=s=a4;i=1;b=01"}, {"s=a4 --file=x\n", firstDay},
	} {
		if c.stored != "" {
			if err := os.WriteFile(filepath.Join(x.State, cursorFile), []byte(c.stored), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := read(); !strings.Contains(got, " "+c.want+" ") || strings.Contains(got, "--follow") {
			t.Errorf("%q: got arguments %s, want %s", c.stored, got, c.want)
		}
	}
}

// TestJournalctlEnds checks that the program ends, too, so that systemd starts it again.
func TestJournalctlEnds(t *testing.T) {
	t.Parallel()
	x := newFixture(t, "http://unused.invalid")
	if err := os.Remove(filepath.Join(x.dir, "more")); err != nil {
		t.Fatal(err)
	}
	if err := x.run(t, nil); err == nil || !strings.Contains(err.Error(), "journalctl ended") ||
		!strings.Contains(err.Error(), "more") {
		t.Errorf("got %v, want the complaint of journalctl", err)
	}
}

func TestPreview(t *testing.T) {
	t.Parallel()
	x := newFixture(t, "", map[string]any{}, map[string]any{"_SYSTEMD_UNIT": "x.service"})
	file := crashtest.Native(crashtest.Set("ProcEnviron", "HOME=/home/private"), crashtest.Set("UserGroups", "private"))
	if err := os.WriteFile(filepath.Join(x.Files, "a.crash"), file.Crash(), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	n, err := Preview(t.Context(), &out, x.Config)
	if err != nil || n != 2 || strings.Count(out.String(), "ProblemType: Crash") != 2 ||
		strings.Contains(out.String(), "private") || strings.Contains(out.String(), "ProcMaps") {
		t.Errorf("got %d, %v: %s", n, err, out.String())
	}
	if _, err := os.Stat(x.State); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the state folder: got %v, want none", err)
	}
}

// TestFiles checks that new files are noticed, and that none is sent twice, also after a restart.
func TestFiles(t *testing.T) {
	t.Parallel()
	url, bodies, done := server(t, stored)
	x := newFixture(t, url)
	write := func(name string, r crashtest.Report) {
		if err := os.WriteFile(filepath.Join(x.Files, name), r.Crash(), 0o600); err != nil {
			t.Error(err)
		}
	}
	go func() {
		pipe, err := os.OpenFile(filepath.Join(x.dir, "more"), os.O_WRONLY, 0) // journalctl runs
		if err == nil {
			write("a.crash", crashtest.Native())
		}
		<-done
		_ = pipe.Close()
	}()
	if err := x.run(t, done); err != nil {
		t.Fatal(err)
	}
	got := decode(t, bodies()[0])
	if got["StacktraceTop"] == "" || got["ProcMaps"]+got["Stacktrace"] != "" {
		t.Errorf("got %v", got)
	}
	f := dbtest.Must(openFiles(x.Files, x.State))(t)
	write("b.crash", crashtest.Native())
	todo, err := f.pending()
	if diff := cmp.Diff([]string{"b.crash"}, keys(todo)); err != nil || diff != "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}

func keys(m map[string]string) (names []string) {
	for name := range m {
		names = append(names, name)
	}
	return names
}

func TestParseServer(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"https://crashes.example.org":        "https://crashes.example.org",
		"http://crashes.example.org:8081/x/": "http://crashes.example.org:8081/x",
		"crashes.example.org":                "", "ftp://x": "", "https://": "", "https://a:b@x": "",
		"https://x/?a": "",
	} {
		if got, err := ParseServer(in); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: got %q, %v; want %q", in, got, err, want)
		}
	}
}

func TestMachine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]crash.Release{
		"NAME=\"Debian GNU/Linux\"\nVERSION_ID=\"12\"\n":                                  "Debian 12",
		"NAME=\"Debian GNU/Linux\"\nVERSION_CODENAME=forky\n":                             "Debian 14",
		"NAME='Ubuntu'\nVERSION_ID='24.04'\n":                                             "Ubuntu 24.04",
		"NAME=\"Fedora Linux\"\nVERSION_ID=43\nVERSION_CODENAME=\"\"\n":                   "Fedora 43",
		"NAME=\"Arch Linux\"\nID=arch\nBUILD_ID=rolling\n":                                "Arch",
		"NAME=\"openSUSE Tumbleweed\"\nID=opensuse-tumbleweed\nVERSION_ID=\"20261129\"\n": "openSUSE Tumbleweed",
	} {
		if got := releaseOf(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	root := t.TempDir()
	if _, err := MachineID(root); err == nil {
		t.Error("got no error without a machine id")
	}
	for _, c := range []struct{ file, text, want string }{
		// sha512sum of the 32 digits, as snapd computes it
		{"etc/machine-id", "fedcba9876543210fedcba9876543210\n",
			"36d1e560927691ae5c3ed5b75f45b9ac7c9ca05c2f82219c4249abc0ac70d060" +
				"5c159e7e6b8a4f3f0476281d0bd0d1fcc31d272931bd664a1d5412dc1b7ca146"},
		{"var/lib/whoopsie/whoopsie-id", strings.Repeat("ab", 64), strings.Repeat("ab", 64)},
	} {
		name := filepath.Join(root, c.file)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := MachineID(root); string(got) != c.want {
			t.Errorf("%s: got %q, %v", c.file, got, err)
		}
	}
}

// TestDpkg asks the real dpkg-query.
func TestDpkg(t *testing.T) {
	t.Parallel()
	m := ReadMachine("/")
	if m.Packages != "dpkg-query" {
		t.Skipf("this machine has %q, not dpkg-query", m.Packages)
	}
	for program, want := range map[string]string{"/usr/bin/dpkg": "dpkg", "/usr/bin/no-such": "",
		"/usr/bin/dp*": "", "": "", "--help": "", "/usr/bin/cat": "coreutils"} {
		p, found, err := m.packageOf(t.Context(), program)
		complete := p.version != "" && p.source != "" && p.architecture != ""
		if err != nil || p.name != want || found != (want != "") || found != complete {
			t.Errorf("%q: got %v, %v, %v; want %q", program, p, found, err, want)
		}
	}
}

// TestPackageThen checks the version of a package that was upgraded after the crash. It asks the real dpkg-query; the
// logs are others.
func TestPackageThen(t *testing.T) {
	t.Parallel()
	m := ReadMachine("/")
	if m.Packages != "dpkg-query" {
		t.Skipf("this machine has %q, not dpkg-query", m.Packages)
	}
	now, _, err := m.packageOf(t.Context(), "/usr/bin/cat")
	if err != nil {
		t.Fatal(err)
	}
	if now.installed.IsZero() {
		t.Fatalf("got %+v, want the time of its installation", now)
	}
	at := func(hours int) time.Time { return now.installed.Add(time.Duration(hours) * time.Hour) }
	line := func(hours int, text string) string { return at(hours).Format(time.DateTime) + " " + text + "\n" }
	log := line(-30, "upgrade coreutils:amd64 9.0-1 9.0-2") + line(-5, "upgrade coreutils-x:amd64 7 8") +
		line(-5, "status installed coreutils:amd64 9.0-2") + line(-5, "upgrade coreutils:amd64 9.0-2 9.1-1") +
		line(0, "upgrade coreutils:amd64 9.1-1 "+now.version)
	for name, c := range map[string]struct {
		crash     time.Time
		log, want string
	}{
		"after all upgrades": {at(1), log, now.version},
		"upgraded twice":     {at(-7), log, "9.0-2"},
		"upgraded once":      {at(-2), log, "9.1-1"},
		"no log":             {at(-2), "", ""},
		"a crash long ago":   {at(-50), log, "9.0-1"},
		"an unknown moment":  {time.Time{}, log, now.version},
	} {
		m.Root = t.TempDir()
		if err := os.MkdirAll(filepath.Join(m.Root, "var/log"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(m.Root, "var/log/dpkg.log"), []byte(c.log), 0o600); err != nil {
			t.Fatal(err)
		}
		p, found, err := m.packageAt(t.Context(), "/usr/bin/cat", c.crash)
		if err != nil || !found || p.version != c.want || p.field() != strings.TrimSpace("coreutils "+c.want) {
			t.Errorf("%s: got %+v, %v, %v; want version %q", name, p, found, err, c.want)
		}
	}
}

// TestRPM asks the real rpm about a package that the real rpmbuild has made.
func TestRPM(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("rpmbuild"); err != nil || os.Geteuid() != 0 {
		t.Skip("needs root and rpmbuild (apt-get install rpm)")
	}
	dir := t.TempDir()
	spec := filepath.Join(dir, "reef.spec")
	if err := os.WriteFile(spec, []byte(`Name: reef
Epoch: 2
Version: 5.5
Release: 1.fc43
Summary: reef
License: MIT
BuildArch: noarch
%description
reef
%package tools
Summary: tools
%description tools
tools
%install
mkdir -p %{buildroot}/usr/bin
echo x >%{buildroot}/usr/bin/reef-probe
%files tools
/usr/bin/reef-probe
`), 0o600); err != nil {
		t.Fatal(err)
	}
	m := Machine{Packages: "rpm", Root: filepath.Join(dir, "root")}
	for _, args := range [][]string{
		{"rpmbuild", "--quiet", "-bb", "--define=_topdir " + dir, spec},
		{"mkdir", m.Root}, // rpm changes to it
		{"rpm", "--root=" + m.Root, "-i", filepath.Join(dir, "RPMS/noarch/reef-tools-5.5-1.fc43.noarch.rpm")},
	} {
		if out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	for program, want := range map[string]pack{"/usr/bin/reef-probe": {name: "reef-tools", version: "2:5.5-1.fc43",
		source: "reef", architecture: "all"}, "/usr/bin/other": {}} {
		p, found, err := m.packageAt(t.Context(), program, time.Now().Add(time.Hour))
		p.installed = time.Time{}
		if err != nil || p != want || found != (want.name != "") {
			t.Errorf("%s: got %+v, %v, %v; want %+v", program, p, found, err, want)
		}
	}
	p, found, err := m.packageAt(t.Context(), "/usr/bin/reef-probe", time.Now().Add(-time.Hour))
	if err != nil || !found || p.field() != "reef-tools" {
		t.Errorf("a crash before the package was installed: got %+v, %v, %v; want no version", p, found, err)
	}
}

// TestPacman asks the real pacman about packages in files of its format.
func TestPacman(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("pacman"); err != nil {
		t.Skip("needs pacman (apt-get install pacman-package-manager)")
	}
	m := Machine{Packages: "pacman", Root: t.TempDir(), Architecture: "amd64"}
	for file, content := range map[string]string{
		"usr/bin/reef-probe":                      "x",
		"var/lib/pacman/local/ALPM_DB_VERSION":    "9\n",
		"var/lib/pacman/local/reef-1:5.5-2/desc":  "%NAME%\nreef\n\n%VERSION%\n1:5.5-2\n\n%ARCH%\nx86_64\n\n",
		"var/lib/pacman/local/reef-1:5.5-2/files": "%FILES%\nusr/\nusr/bin/\nusr/bin/reef-probe\n\n",
		"var/log/pacman.log":                      "[2026-11-03T13:00:00+0000] [ALPM] upgraded reef (1:5.5-1 -> 1:5.5-2)\n",
	} {
		place := filepath.Join(m.Root, file)
		if err := os.MkdirAll(filepath.Dir(place), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(place, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for hour, want := range map[int]string{12: "reef 1:5.5-1", 14: "reef 1:5.5-2"} {
		at := time.Date(2026, 11, 3, hour, 0, 0, 0, time.UTC)
		p, found, err := m.packageAt(t.Context(), "/usr/bin/reef-probe", at)
		if err != nil || !found || p.field() != want || p.architecture != "amd64" {
			t.Errorf("at %d: got %+v, %v, %v; want %s", hour, p, found, err, want)
		}
	}
	if p, found, err := m.packageOf(t.Context(), "/usr/bin/other"); found || err != nil {
		t.Errorf("got %+v, %v", p, err)
	}
}

// TestBundles checks what is reported of snaps and of applications of flatpak.
func TestBundles(t *testing.T) {
	t.Parallel()
	commit := strings.Repeat("a1", 32)
	m := Machine{Root: t.TempDir(), Release: "Fedora 43", Architecture: "amd64"}
	app := filepath.Join(m.Root, "var/lib/flatpak/app/org.example.Reef-Tool/current")
	for _, err := range []error{
		os.MkdirAll(filepath.Join(m.Root, "snap/reef/1234/meta"), 0o700),
		os.WriteFile(filepath.Join(m.Root, "snap/reef/1234/meta/snap.yaml"),
			[]byte("name: reef\nversion: '5.5-1'\nsummary: x\n"), 0o600),
		os.MkdirAll(filepath.Join(app, commit), 0o700),
		os.WriteFile(filepath.Join(app, commit, "metadata"),
			[]byte("[Application]\nname=org.example.Reef-Tool\nruntime=org.gnome.Platform/x86_64/48\n"), 0o600),
		os.Symlink(commit, filepath.Join(app, "active")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	const uses = " (org.gnome.Platform/x86_64/48)"
	later := fmt.Sprint(time.Now().Add(time.Hour).UnixMicro())
	unit := `app-flatpak-org.example.Reef\x2dTool-4711.scope`
	for name, c := range map[string]struct{ exe, unit, at, program, pack, field string }{
		"a snap": {exe: "/snap/reef/1234/usr/bin/reef", program: "/snap/reef/current/usr/bin/reef", pack: "reef 5.5-1",
			field: "reef 5.5-1 (1234)"},
		"a snap of Fedora": {exe: "/var/lib/snapd/snap/reef/1234/bin/reef", program: "/snap/reef/current/bin/reef",
			pack: "reef 5.5-1", field: "reef 5.5-1 (1234)"},
		"a removed revision": {exe: "/snap/reef/x1/bin/reef", program: "/snap/reef/current/bin/reef", pack: "reef",
			field: "reef (x1)"},
		"flatpak": {exe: "/app/bin/reef", unit: unit, at: later, program: "/app/org.example.Reef-Tool/bin/reef",
			pack: "org.example.Reef-Tool a1a1a1a1a1a1", field: "org.example.Reef-Tool " + commit + uses},
		"an update since": {exe: "/app/bin/reef", unit: unit, program: "/app/org.example.Reef-Tool/bin/reef",
			pack: "org.example.Reef-Tool", field: "org.example.Reef-Tool" + uses},
		"an unknown one": {exe: "/app/bin/x", unit: "app-flatpak-org.example.Other-1.scope",
			program: "/app/org.example.Other/bin/x", pack: "org.example.Other", field: "org.example.Other"},
		"no application":  {exe: "/app/bin/reef", unit: "app-reef-1.scope"},
		"no snap":         {exe: "/snap/bin/reef"},
		"another package": {exe: "/usr/bin/reef", unit: unit},
		"a hostile unit":  {exe: "/app/bin/reef", unit: "app-flatpak-../../../etc.a.b-1.scope"},
	} {
		changes := map[string]any{"COREDUMP_EXE": c.exe, "COREDUMP_USER_UNIT": c.unit, "COREDUMP_PACKAGE_NAME": nil,
			"COREDUMP_PACKAGE_JSON": nil}
		if c.at != "" {
			changes["COREDUMP_TIMESTAMP"] = c.at
		}
		e, err := coredump.Parse(bytes.TrimSpace(lines(t, changes)))
		if err != nil {
			t.Fatal(err)
		}
		r, err := m.report(t.Context(), e)
		if c.pack == "" {
			if !errors.Is(err, errNoPackage) {
				t.Errorf("%s: got %v, %v; want no package", name, r.fields, err)
			}
			continue
		}
		f := r.fields
		if err != nil || f["ExecutablePath"] != c.program || f["Package"] != c.pack ||
			f["Snap"]+f["Flatpak"] != c.field || f["DistroRelease"] != "Fedora 43" {
			t.Errorf("%s: got %v, %v", name, f, err)
		}
	}
}

// TestPacmanLog reads lines as pacman writes them.
func TestPacmanLog(t *testing.T) {
	t.Parallel()
	m := Machine{Root: t.TempDir()}
	log := "[2026-11-03T11:00:00+0000] [ALPM] upgraded reef (1.0-1 -> 1.1-1)\n" +
		"[2026-11-03T12:30:00+0000] [PACMAN] Running 'pacman -Syu'\n" +
		"[2026-11-03T13:30:00+0100] [ALPM] upgraded reef (1.1-1 -> 1:0.9-1)\n[2026-11-03T13:00:00+0000] [ALPM] " +
		"downgraded reef (1:0.9-1 -> 1.1-1)\n"
	if err := os.WriteFile(filepath.Join(m.Root, "log"), []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	for clock, want := range map[string]string{"10:00": "1.0-1", "12:00": "1.1-1", "12:45": "1:0.9-1", "14:00": ""} {
		at, err := time.Parse(time.DateTime, "2026-11-03 "+clock+":00")
		if got := m.versionBefore(at, pacmanUpgrade, pack{name: "reef"}, "log"); got != want || err != nil {
			t.Errorf("%s: got %q, want %q", clock, got, want)
		}
	}
}

func TestParsePackage(t *testing.T) {
	t.Parallel()
	got, ok := parsePackage("reef\t0:5.5-1.fc43\treef-5.5-1.fc43.src.rpm\tx86_64\n")
	if !ok || got.architecture != "amd64" || sourceRPM.ReplaceAllString(got.source, "") != "reef" {
		t.Errorf("got %v, %v", got, ok)
	}
	if got, ok := parsePackage("file /x is not owned by any package\n"); ok {
		t.Errorf("got %v", got)
	}
}

// TestRepeats checks how many crashes of one program are reported, also when the clock jumps.
func TestRepeats(t *testing.T) {
	t.Parallel()
	var r repeats
	start := time.Date(2026, 11, 3, 12, 0, 0, 0, time.UTC)
	crashes := func(program string, from time.Time, step time.Duration, n int) (reported int) {
		for i := range n {
			if ok, _ := r.allow(program, from.Add(time.Duration(i)*step)); ok {
				reported++
			}
		}
		return reported
	}
	for _, c := range []struct {
		name, program string
		from          time.Time
		step          time.Duration
		n, want       int
	}{
		{"a loop", "/usr/bin/a", start, time.Second, 100, maxPerHour},
		{"another program", "/usr/bin/b", start, time.Second, 3, 3},
		{"a minute earlier", "/usr/bin/a", start.Add(-time.Minute), time.Second, 5, 0},
		{"a loop of a day", "/usr/bin/a", start.Add(time.Hour + 5*time.Second), time.Minute, 22 * 60,
			maxPerDay - maxPerHour},
		{"the clock jumps ahead", "/usr/bin/a", start.AddDate(10, 0, 0), time.Second, 100, maxPerHour},
		{"and back", "/usr/bin/a", start, time.Second, 100, maxPerHour},
	} {
		if got := crashes(c.program, c.from, c.step, c.n); got != c.want {
			t.Errorf("%s: got %d reports, want %d", c.name, got, c.want)
		}
	}
	if ok, leftOut := r.allow("/usr/bin/a", start.AddDate(0, 0, 2)); !ok || leftOut != 95 {
		t.Errorf("got %v after %d crashes that were left out, want 95", ok, leftOut)
	}
	for i := range 3 * maxPrograms {
		r.allow(strconv.Itoa(i), start)
	}
	if len(r.programs) > maxPrograms {
		t.Errorf("got %d programs in memory", len(r.programs))
	}
}

// TestLoop checks that the log says when the crashes of a program are no longer reported.
func TestLoop(t *testing.T) {
	t.Parallel()
	x := newFixture(t, "http://unused.invalid", make([]map[string]any, 30)...)
	s := dbtest.Must(New(x.Config))(t)
	if err := s.followJournalOnce(t); err != nil || x.spooled(t) != maxPerHour ||
		strings.Count(x.log.String(), "crashes again and again") != 1 {
		t.Errorf("got %d reports, %v, log %s", x.spooled(t), err, x.log)
	}
}

// TestUsers checks whose crashes leave the machine.
func TestUsers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		users []int64
		want  int
	}{
		"all": {nil, 4}, "one": {[]int64{1000}, 1}, "two": {[]int64{1000, 33}, 2}, "another": {[]int64{7}, 0},
		"of the file": {[]int64{int64(os.Getuid())}, 1},
	} {
		x := newFixture(t, "http://unused.invalid", append([]map[string]any{{"COREDUMP_UID": "1000"},
			{"COREDUMP_UID": "33"}}, kernelEntries(t, unchanged)...)...)
		x.ownKernel(t)
		x.Users = c.users
		file := filepath.Join(x.Files, "a.crash")
		if err := os.WriteFile(file, crashtest.Native().Crash(), 0o600); err != nil {
			t.Fatal(err)
		}
		s := dbtest.Must(New(x.Config))(t)
		err := s.followJournalOnce(t)
		f := dbtest.Must(openFiles(x.Files, x.State))(t)
		if err := errors.Join(err, s.storeFiles(f)); err != nil || x.spooled(t) != c.want {
			t.Errorf("%s: got %d reports, %v; want %d\n%s", name, x.spooled(t), err, c.want, x.log)
		}
		x.State = filepath.Join(x.dir, "none")
		if n, err := Preview(t.Context(), io.Discard, x.Config); err != nil || n != c.want {
			t.Errorf("%s: got a preview of %d reports, %v; want %d", name, n, err, c.want)
		}
	}
}

// TestClockJumps sends a report although the clock says that it has waited for years, and gives it up only if the
// server does not take it then. A clock that goes back keeps no report for longer.
func TestClockJumps(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		jump   time.Duration
		kept   int
	}{
		"ahead, taken":     {stored, 10 * 365 * 24 * time.Hour, 0},
		"ahead, not taken": {status(503, ""), 10 * 365 * 24 * time.Hour, 0},
		"back, taken":      {stored, -10 * 365 * 24 * time.Hour, 0},
		"back, not taken":  {status(503, ""), -10 * 365 * 24 * time.Hour, 1},
	} {
		url, bodies, _ := server(t, c.answer)
		x := newFixture(t, url)
		dbtest.Must(New(x.Config))(t).store(report{fields: crash.Fields{"Package": "a 1"}})
		x.Now = func() time.Time { return time.Now().Add(c.jump) }
		s := dbtest.Must(New(x.Config))(t)
		left, _, err := s.round(t.Context())
		if err != nil || left != (c.kept > 0) || x.spooled(t) != c.kept || len(bodies()) != 1 {
			t.Errorf("%s: got %v, %v, %d in the spool; want %d", name, left, err, x.spooled(t), c.kept)
		}
	}
}
