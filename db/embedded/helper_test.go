package embedded

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash/checktest"
)

// helperVar is an environment variable that names a data directory and turns the test program into
// a process that uses it. Tests start and kill such processes.
const helperVar = "MISHAP_TEST_DATA_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(helperVar); dir != "" {
		os.Exit(helper(dir))
	}
	status := m.Run()
	if dir, err := usedCluster(); err == nil {
		_ = os.RemoveAll(filepath.Dir(dir))
	}
	os.Exit(status)
}

// usedCluster is a data directory whose server was started and stopped once. Tests that do not test
// the first start use copies of it.
var usedCluster = sync.OnceValues(func() (string, error) {
	parent, err := os.MkdirTemp("", "embedded-")
	if err != nil {
		return "", err
	}
	dir := filepath.Join(parent, "data")
	if err := os.Chmod(parent, 0o755); err != nil {
		return dir, err
	}
	s, err := Start(context.Background(), Config{DataDir: dir, Throwaway: true})
	if err != nil {
		return dir, err
	}
	return dir, s.Stop(context.Background())
})

// usedDataDir returns a data directory with a cluster.
func usedDataDir(t *testing.T) string {
	t.Helper()
	checktest.Needs(t, "PostgreSQL")
	source, err := usedCluster()
	if err != nil {
		t.Fatalf("start and stop once: %v", err)
	}
	dir := dataDir(t)
	if out, err := exec.CommandContext(t.Context(), "cp", "-a", source, dir).CombinedOutput(); err != nil {
		t.Fatalf("copy: %s", out)
	}
	return dir
}

// helper starts the server or attaches, prints which, and stops when its standard input ends.
func helper(dir string) int {
	ctx := context.Background()
	s, err := Start(ctx, Config{DataDir: dir, Exclusive: os.Getenv("MISHAP_TEST_EXCLUSIVE") != ""})
	if err != nil {
		_, _ = os.Stdout.WriteString("error: " + err.Error() + "\n")
		return 1
	}
	_, _ = os.Stdout.WriteString(map[bool]string{true: "started ", false: "attached "}[s.Started()] + s.URL() + "\n")
	_, _ = io.Copy(io.Discard, os.Stdin)
	if err := s.Stop(ctx); err != nil {
		return 1
	}
	return 0
}

// other is a helper process.
type other struct {
	cmd   *exec.Cmd
	stdin io.Closer
	says  *bufio.Reader
}

// startOther starts a helper on dir; options modify its command first.
func startOther(t *testing.T, dir string, options ...func(*exec.Cmd)) *other {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), helperVar+"="+dir)
	for _, o := range options {
		o(cmd)
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	o := &other{cmd: cmd, stdin: stdin, says: bufio.NewReader(stdout)}
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait()
	})
	return o
}

func serving(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, "MISHAP_TEST_EXCLUSIVE=1") }

// line returns the next line of the helper's output: "started URL", "attached URL" or "error: …".
func (o *other) line(t *testing.T) string {
	t.Helper()
	line, err := o.says.ReadString('\n')
	if err != nil {
		t.Fatalf("helper said %q and then: %v", line, err)
	}
	return strings.TrimSpace(line)
}

// kill sends SIGKILL.
func (o *other) kill(t *testing.T) {
	t.Helper()
	if err := o.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = o.cmd.Wait() // says "signal: killed"
}

// dataDir returns a directory that the server's user can access, unlike t.TempDir.
func dataDir(t *testing.T) string {
	t.Helper()
	checktest.Needs(t, "PostgreSQL")
	dir, err := os.MkdirTemp("", "embedded-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil { // see above
		t.Fatal(err)
	}
	return filepath.Join(dir, "data")
}

func start(t *testing.T, c Config) *Server {
	t.Helper()
	s, err := Start(t.Context(), c)
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	t.Cleanup(func() { _ = s.Stop(context.Background()) })
	return s
}

func stop(t *testing.T, s *Server) {
	t.Helper()
	if err := s.Stop(t.Context()); err != nil {
		t.Errorf("stop: %v", err)
	}
}

// query runs sql on a new connection and returns the first value.
func query(t *testing.T, url, sql string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	rows, err := conn.Query(t.Context(), sql, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return strings.Join(got, "\n")
}

// await polls until ok returns true, for events in other processes.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	limit := time.After(startTimeout)
	for !ok() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("gave up waiting: %s", what)
		}
	}
}

func itoa(n int) string { return strconv.Itoa(n) }

func (s *Server) testProcesses(t *testing.T) []int {
	t.Helper()
	pids, err := s.home.processes()
	if err != nil {
		t.Fatal(err)
	}
	return pids
}

// postmasterPID reads the server's process id from its status file.
func postmasterPID(t *testing.T, s *Server) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.home.cluster(), "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// as makes a helper run as another user, from a copy of the test program that this user can read.
func as(t *testing.T, name string) func(*exec.Cmd) {
	t.Helper()
	u, err := user.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	uid, _ := strconv.ParseUint(u.Uid, 10, 32)
	gid, _ := strconv.ParseUint(u.Gid, 10, 32)
	dir, err := os.MkdirTemp("", "embedded-program-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	program := filepath.Join(dir, "helper")
	if out, err := exec.CommandContext(t.Context(), "cp", os.Args[0], program).CombinedOutput(); err != nil {
		t.Fatalf("copy: %s", out)
	}
	for _, path := range []string{dir, program} {
		if err := os.Chmod(path, 0o755); err != nil { // to be run by that user
			t.Fatal(err)
		}
	}
	return func(cmd *exec.Cmd) {
		cmd.Path, cmd.Dir = program, dir
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	}
}

// Started reports whether this process started the server, rather than attaching to it.
func (s *Server) Started() bool { return s.supervisor != nil }
