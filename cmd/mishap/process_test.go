package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	bin "encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"mishap/cmd/mishap/config"
	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/crash/symbols/sandbox"
	"mishap/crash/symbols/symboltest"
	"mishap/db/dbtest"
	"mishap/db/problems"
	"mishap/handlers/handlertest"
	"mishap/tracker/trackertest"
)

func TestMain(m *testing.M) {
	sandbox.Child()
	symboltest.Child()
	handlertest.Main(m)
	if binary.folder != "" {
		_ = os.RemoveAll(binary.folder) // a temporary folder
	}
}

// binary is the program under test, built once.
var binary struct {
	once   sync.Once
	folder string
	path   string
	err    error
}

// built returns the path of the built program.
func built(t *testing.T) string {
	t.Helper()
	checktest.Needs(t, "the built program")
	binary.once.Do(func() {
		if binary.folder, binary.err = os.MkdirTemp("", "mishap-built-"); binary.err != nil {
			return
		}
		binary.path = filepath.Join(binary.folder, "mishap")
		build := exec.Command("go", "build", "-ldflags=-s -w", "-o", binary.path, ".")
		// The flags of "make build", so that packages are compiled once for both.
		build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath -buildvcs=false")
		out, err := build.CombinedOutput()
		if err != nil {
			binary.err = fmt.Errorf("go build: %w\n%s", err, out)
		}
	})
	if binary.err != nil {
		t.Fatal(binary.err)
	}
	return binary.path
}

// process is a running copy of the program.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	said  *quietBuffer
	ended chan struct{}
}

// start runs the built program.
func start(t *testing.T, environ []string, args ...string) *process {
	t.Helper()
	return startCommand(t, environ, exec.CommandContext(context.WithoutCancel(t.Context()), built(t), args...))
}

// startCommand starts a command that runs the built program.
func startCommand(t *testing.T, environ []string, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{t: t, cmd: cmd, said: &quietBuffer{}, ended: make(chan struct{})}
	p.cmd.Env = append(append(os.Environ(), "GOGC="), environ...) // not that of the tests, which saves time
	p.cmd.Stdout, p.cmd.Stderr = p.said, p.said
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // ProcessState has the status
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // usually it has ended already
		<-p.ended
	})
	return p
}

// serveProcess starts a server on free ports and waits until it is ready. It returns the addresses
// by key.
func serveProcess(t *testing.T, environ []string, args ...string) (*process, map[string]string) {
	t.Helper()
	return serveCommand(t, environ, exec.CommandContext(context.WithoutCancel(t.Context()), built(t)), args...)
}

// serveCommand does the same with a command that runs the built program, to which it adds
// arguments.
func serveCommand(t *testing.T, environ []string, cmd *exec.Cmd, args ...string) (*process, map[string]string) {
	t.Helper()
	listening, addresses := freeAddresses(t)
	environ = slices.Concat([]string{"MISHAP_BASE_URL=http://" + addresses["listen"]}, environ, listening)
	cmd.Args = append(append(cmd.Args, "serve", noConfig(t)), args...)
	p := startCommand(t, environ, cmd)
	p.until(`"msg":"ready"`)
	return p, addresses
}

// freeAddresses returns an environment in which a server listens on unused addresses, and these addresses by
// the key of the configuration. The defaults may belong to another server.
func freeAddresses(t *testing.T) (environ []string, addresses map[string]string) {
	t.Helper()
	addresses = map[string]string{}
	for _, key := range []string{"listen", "ingest_listen", "ops_listen"} {
		addresses[key] = freeAddress(t)
		environ = append(environ, config.Variable(key)+"="+addresses[key])
	}
	return environ, addresses
}

// freeAddress returns an unused address, a different one each time.
func freeAddress(t *testing.T) string {
	t.Helper()
	address, err := checktest.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// until waits until the output contains text.
func (p *process) until(text string) {
	p.t.Helper()
	eventually(p.t, "the program says "+text, func() bool {
		select {
		case <-p.ended:
			if !strings.Contains(p.said.String(), text) {
				p.t.Fatalf("the program ended with status %d and printed\n%s", p.cmd.ProcessState.ExitCode(), p.said)
			}
		default:
		}
		return strings.Contains(p.said.String(), text)
	})
}

// kill kills the process, like a power failure would.
func (p *process) kill() {
	p.t.Helper()
	if !p.killed() {
		p.t.Fatal(os.ErrProcessDone)
	}
}

// killed kills the process, and returns false if it had ended before.
func (p *process) killed() bool {
	p.t.Helper()
	err := p.cmd.Process.Kill()
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Fatal(err)
	}
	<-p.ended
	return err == nil
}

// terminate sends SIGTERM and returns the exit status.
func (p *process) terminate() int {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Fatal(err)
	}
	return p.status()
}

// stops sends SIGTERM to a server, which must end well.
func (p *process) stops() {
	p.t.Helper()
	if status := p.terminate(); status != exitOK {
		p.t.Errorf("serve: got status %d, want %d; it printed\n%s", status, exitOK, p.said)
	}
}

// status waits for the end of the process and returns its exit status.
func (p *process) status() int {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(eventualPatience):
		p.t.Fatalf("the program does not end; it printed\n%s", p.said)
	}
	return p.cmd.ProcessState.ExitCode()
}

// eventualPatience limits the wait for something that must happen, even on a busy machine. It only
// ends tests that would otherwise hang.
const eventualPatience = 5 * time.Minute

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(eventualPatience)
	for !holds() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("timed out waiting until %s", what)
		}
	}
}

// request sends a request and returns the status of the answer, its body and Retry-After. The status is 0 if
// there is no whole answer.
func request(t *testing.T, method, address string, body []byte) (status int, text, retryAfter string) {
	req, err := http.NewRequestWithContext(t.Context(), method, address, bytes.NewReader(body))
	if err != nil {
		return 0, err.Error(), ""
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error(), ""
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	read, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error(), ""
	}
	return resp.StatusCode, string(read), resp.Header.Get("Retry-After")
}

// statusAt gets an address.
func statusAt(t *testing.T, address string) (status int, text, retryAfter string) {
	return request(t, http.MethodGet, address, nil)
}

// getText gets an address, which must be there.
func getText(t *testing.T, address string) string {
	t.Helper()
	status, text, _ := statusAt(t, address)
	if status != http.StatusOK {
		t.Fatalf("%s: got %d %q, want 200", address, status, text)
	}
	return text
}

// postTo posts a report and returns the status, or 0 if there is no answer.
func postTo(t *testing.T, address, system string, r crashtest.Report) int {
	status, _, _ := request(t, http.MethodPost, "http://"+address+"/"+system, r.BSON())
	return status
}

// TestTermFinishesAcceptedReports checks that exactly the reports that were acknowledged before a
// stop are stored, and that an instance of one kind opens only its own listeners.
func TestTermFinishesAcceptedReports(t *testing.T) {
	t.Parallel()
	database := dbtest.URL(t)
	p, addresses := serveProcess(t, []string{"MISHAP_DATABASE_URL=" + database, "MISHAP_DATA_DIR=" + t.TempDir()},
		"--only", "ingest")
	for key, want := range map[string]bool{"ingest_listen": true, "listen": false, "ops_listen": true} {
		if status, _, _ := statusAt(t, "http://"+addresses[key]+"/healthz"); (status != 0) != want {
			t.Errorf("%s: got status %d, want it open: %t", key, status, want)
		}
	}
	var acknowledged, pid atomic.Int64
	var machines sync.WaitGroup
	for range 8 {
		machines.Go(func() {
			for {
				switch postTo(t, addresses["ingest_listen"], "machine", crashtest.Native(crashtest.Process(int(pid.Add(1))))) {
				case http.StatusOK:
					acknowledged.Add(1)
				case 0:
					return // the listener is closed
				}
			}
		})
	}
	eventually(t, "200 reports are acknowledged", func() bool { return acknowledged.Load() >= 200 })
	p.stops()
	machines.Wait()
	rows, err := problems.New(dbtest.Open(t, database)).SystemReports(t.Context(), "machine", [16]byte{}, 1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	if int64(len(rows)) != acknowledged.Load() {
		t.Errorf("stored reports: got %d, want the %d that were acknowledged", len(rows), acknowledged.Load())
	}
}

// TestPrivateDatabaseIsShared checks that commands use the private PostgreSQL of a running server,
// and that a second server is refused. After SIGKILL the next start works, and acknowledged reports
// are still there.
func TestPrivateDatabaseIsShared(t *testing.T) {
	t.Parallel()
	tr := trackertest.New(t)
	environ := trackerEnviron(tr, "MISHAP_DATA_DIR="+dataDir(t))
	p, addresses := serveProcess(t, environ)
	if status := postTo(t, addresses["ingest_listen"], "machine", crashtest.Native()); status != http.StatusOK {
		t.Fatalf("report: got status %d", status)
	}
	for _, args := range []string{"migrate", "user add ada --role viewer --password-stdin", "user list",
		"import " + crashFile} {
		mustRun(t, environ, strings.Fields(args)...)
	}
	// This error comes before the one about the address in use.
	wantRefusal(t, append(environ, "MISHAP_LISTEN="+addresses["listen"]), "uses the database in", "serve")
	p.kill()
	wantOutput(t, environ, []string{"user", "list"}, "ada")
	p, addresses = serveProcess(t, environ)
	if status := postTo(t, addresses["ingest_listen"], "machine", crashtest.Native()); status != http.StatusOK {
		t.Errorf("report after kill -9: got status %d", status)
	}
	if page := getText(t, "http://"+addresses["listen"]+"/?period=year"); !strings.Contains(page,
		"<span>2 reports</span>") {
		t.Errorf("front page: got %q, want the 2 acknowledged reports, the repeated one counted once", page)
	}
	p.stops()
}

// TestSnapshotOfTwoServers stops two servers on one data_dir at once, which write the snapshot of the index at the same
// time. Then both start from it.
func TestSnapshotOfTwoServers(t *testing.T) {
	t.Parallel()
	environ := ownDatabase(t)
	var servers [2]*process
	var addresses [2]map[string]string
	for round := range 3 {
		for i := range servers {
			servers[i], addresses[i] = serveProcess(t, environ)
			servers[i].until("loaded the problems")
			if round > 0 && !strings.Contains(servers[i].said.String(), "loaded the snapshot of the index") {
				t.Errorf("a server has not used the snapshot: %s", servers[i].said)
			}
		}
		if status := postTo(t, addresses[round%2]["ingest_listen"], "machine",
			crashtest.Native(crashtest.Process(round))); status != http.StatusOK {
			t.Fatalf("report: got status %d", status)
		}
		want := "<span>" + crash.Counted(int64(round+1), "report", "reports") + "</span>"
		for i := range servers {
			eventually(t, "front page with "+want, func() bool { // a round counts it
				return strings.Contains(getText(t, "http://"+addresses[i]["listen"]+"/?period=year"), want)
			})
		}
		for _, p := range servers {
			if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
		}
		for _, p := range servers {
			status := p.status()
			if status != exitOK || strings.Contains(p.said.String(), "the next start will take longer") {
				t.Errorf("serve: got status %d; it printed\n%s", status, p.said)
			}
		}
	}
}

// TestSecretsNeverComeOut checks that failing commands do not print the secrets of their
// configuration.
func TestSecretsNeverComeOut(t *testing.T) {
	t.Parallel()
	tr := trackertest.New(t)
	database, err := url.Parse(dbtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	// serve would wait for other errors.
	database.User, database.Path = url.UserPassword(database.User.Username(), "hush-one"), "/no_such_database"
	file := configFile(t, fmt.Sprintf("database_url = %q\n", database)+
		"tracker_oauth_token = \"hush-two\"\ntracker_oauth_secret = \"hush-three\"\n")
	for _, args := range []string{"serve", "migrate", "user list", "import testdata/crashes/brigwifi-dkms.0.crash",
		"setup-oauth-token"} {
		environ := trackerEnviron(tr, "MISHAP_LISTEN=127.0.0.1:0", "MISHAP_INGEST_LISTEN=127.0.0.1:0",
			"MISHAP_OPS_LISTEN=127.0.0.1:0")
		status, stdout, stderr := mishap(t, environ, append(strings.Fields(args), "--config", file)...)
		if status != exitFailed {
			t.Errorf("%s: got status %d, want %d", args, status, exitFailed)
		}
		if got := stdout + stderr; got == "" || strings.Contains(got, "hush") {
			t.Errorf("%s: got %q, want a message without secrets", args, got)
		}
	}
	if doc, err := os.ReadFile(file); err != nil || !strings.Contains(string(doc), "hush-three") {
		t.Errorf("file: got %q, %v, want it unchanged", doc, err)
	}
}

// kills returns how many kills "make hard" wants, or 0.
func kills(t *testing.T) int {
	t.Helper()
	n, err := strconv.Atoi(cmp.Or(os.Getenv("MISHAP_TEST_KILLS"), "0"))
	if err != nil {
		t.Fatalf("MISHAP_TEST_KILLS: %v", err)
	}
	return n
}

// TestMoreKillUnderLoad repeatedly kills the server, its PostgreSQL or both with SIGKILL while reports
// arrive. At the end every report is stored once, and every count equals a recount.
func TestMoreKillUnderLoad(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	environ := []string{"MISHAP_DATA_DIR=" + dir, "MISHAP_INGEST_RATE_PER_SYSTEM=0"}
	p, addresses := serveProcess(t, environ, "--only", "ingest")
	m := &fleet{t: t, ingest: []string{addresses["ingest_listen"]}}
	m.start(8)
	for round := range max(3, kills(t)/10) {
		m.more(60)
		if round%2 == 0 {
			killPostgreSQL(t, dir)
		}
		if round%4 != 2 { // in the third round the server survives and restarts PostgreSQL
			p.kill()
			p, addresses = serveProcess(t, environ, "--only", "ingest")
			m.moveTo(addresses["ingest_listen"])
		}
	}
	m.more(60)
	m.stopped.Store(true)
	m.sending.Wait()
	if m.refused > 0 {
		t.Errorf("got %d permanent refusals, want none", m.refused)
	}
	p.stops()
	wantOutput(t, environ, []string{"check", "--all"}, fmt.Sprintf(" %d reports", len(m.acknowledged())), " 0 differences")
}

// killPostgreSQL kills all processes of the private PostgreSQL at once.
func killPostgreSQL(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "postgres", "*", "postmaster.pid"))
	if more, _ := filepath.Glob(filepath.Join(dir, "postgres", "postmaster.pid")); err == nil {
		files = append(files, more...)
	}
	if err != nil || len(files) != 1 {
		t.Fatalf("got the files %v, %v; want PostgreSQL's postmaster.pid", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	pid, err := strconv.Atoi(string(line))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(-pid, syscall.SIGKILL); err != nil {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatalf("kill PostgreSQL %d: %v", pid, err)
		}
	}
}

// memoryLimit limits the memory of the ingest server under hostile load: about 400 MB in 24 bodies
// at once, and bombs that decompress to many times as much. The settings allow bodies of 16 MiB.
const memoryLimit = 512 << 20

// TestMoreHostileLoadNeedsLittleMemory posts the worst bodies that the settings allow, many at once, to a separate
// server.
// Some fields decompress to far more than the limit, others to just below it. Normal machines send reports at the
// same time.
func TestMoreHostileLoadNeedsLittleMemory(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip("this system does not report the peak memory of a process")
	}
	p, addresses := serveProcess(t, []string{
		"MISHAP_DATABASE_URL=" + dbtest.URL(t), "MISHAP_DATA_DIR=" + t.TempDir(), "MISHAP_INGEST_RATE_PER_SYSTEM=0",
	}, "--only", "ingest")
	const most = 16<<20 - 1<<16
	packedZeros := bomb(128)
	huge := strings.Repeat("Ä", most/2-500)
	bodies := map[string][]byte{
		"one field": crashtest.Native(crashtest.Set("ProcMaps", huge)).BSON(),
		"stack": crashtest.Native(crashtest.Set("Stacktrace", strings.Repeat("#1  0x00 in f () at x.c:1\n",
			most/26))).BSON(),
		"traceback": crashtest.Python(crashtest.Set("Traceback", strings.Repeat("  File \"x\", line 1, in "+
			"f\n    g()\n", most/33))).BSON(),
		"kernel's text": crashtest.Oops(crashtest.Set("OopsText", strings.Repeat("[    1.0] Call Trace: "+
			"x+0x1/0x2\n", most/33))).BSON(),
		"many fields": bsonOf(t, most, func(i int) string {
			return "\x02k" + strconv.Itoa(i) +
				"\x00\x02\x00\x00\x00v\x00"
		}),
		"nested":    bsonOf(t, most, func(int) string { return "\x03a\x00\xff\xff\x00\x00" }),
		"not UTF-8": crashtest.Native(crashtest.Set("Title", strings.Repeat("\xff\x00", most/2-1000))).BSON(),
		"bomb": crashtest.Native(crashtest.Set("Stacktrace", packedZeros),
			crashtest.Set("StacktraceTop", packedZeros), crashtest.Set("ProcMaps", packedZeros)).BSON(),
	}
	for _, mib := range []int{200, 15} {
		bodies[fmt.Sprint(mib, " MiB")] = crashtest.Native(crashtest.Set("Stacktrace", bomb(mib))).BSON()
	}
	var hostile, honest statuses
	var attack, machines sync.WaitGroup
	var over atomic.Bool
	for name, body := range bodies {
		for i := range checktest.Rounds(4, 30) {
			attack.Go(func() {
				status, _, _ := request(t, http.MethodPost, "http://"+addresses["ingest_listen"]+"/"+fmt.Sprint(name[:3], i), body)
				hostile.add(status)
			})
		}
	}
	for machine := range 3 {
		machines.Go(func() {
			for i := 0; i < 5 || !over.Load(); i++ {
				honest.add(postTo(t, addresses["ingest_listen"], fmt.Sprint("honest", machine),
					crashtest.Native(crashtest.Process(1+i))))
			}
		})
	}
	attack.Wait()
	over.Store(true)
	machines.Wait()
	for status := range hostile.counts {
		switch status {
		case http.StatusOK, http.StatusBadRequest, http.StatusServiceUnavailable:
		case 0: // the server refused a body before it had arrived, and a slow sender does not see the answer
		default:
			t.Errorf("got status %d, want one that a machine understands", status)
		}
	}
	if len(honest.counts) != 1 || honest.counts[http.StatusOK] == 0 {
		t.Errorf("normal machines: got answers %v, want every report accepted", honest.counts)
	}
	need := mostMemory(t, p.cmd.Process.Pid)
	t.Logf("peak memory of the server: %d MB; answers by status: %v", need>>20, hostile.counts)
	if need > memoryLimit {
		t.Errorf("peak memory of the server: got %d MB, want less than %d MB", need>>20, memoryLimit>>20)
	}
}

// bsonOf returns a document of the given size, made of elements.
func bsonOf(t *testing.T, size int, element func(i int) string) []byte {
	t.Helper()
	var b bytes.Buffer
	b.Write(make([]byte, 4))
	b.WriteString("\x02Package\x00\x04\x00\x00\x00x 1\x00\x02ProblemType\x00\x06\x00\x00\x00Crash\x00")
	for i := 0; b.Len() < size-100; i++ {
		b.WriteString(element(i))
	}
	b.WriteByte(0)
	bin.LittleEndian.PutUint32(b.Bytes(), uint32(b.Len()))
	return b.Bytes()
}

// bomb returns a compressed field, in whoopsie's format, of so many MiB of equal bytes.
func bomb(mib int) string {
	return base64.StdEncoding.EncodeToString(crashtest.Bomb(bytes.Repeat([]byte("0"), 1<<20), mib))
}

// statuses counts answers by status.
type statuses struct {
	mu     sync.Mutex
	counts map[int]int
}

func (s *statuses) add(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.counts == nil {
		s.counts = map[int]int{}
	}
	s.counts[status]++
}

var peakMemory = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// mostMemory returns the peak resident memory of a process, in bytes.
func mostMemory(t *testing.T, pid int) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	found := peakMemory.FindSubmatch(text)
	if found == nil {
		t.Fatalf("no VmHWM in %q", text)
	}
	kb, err := strconv.ParseInt(string(found[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kb << 10
}
