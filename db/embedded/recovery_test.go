package embedded

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

func TestOwnerKilled(t *testing.T) {
	t.Parallel()
	dir := usedDataDir(t)
	first := startOther(t, dir, serving)
	_, url, _ := strings.Cut(first.line(t), " ")
	query(t, url, "create table kept as select 'committed'::text as word; select word from kept")
	first.kill(t)

	// Immediately, since the server may still be stopping.
	s := start(t, Config{DataDir: dir, Exclusive: true})
	if got := query(t, s.URL(), "select word from kept"); got != "committed" {
		t.Errorf("got %q", got)
	}
	stop(t, s)

	// Without a next process, the server stops by itself.
	second := startOther(t, dir)
	second.line(t)
	second.kill(t)
	await(t, "for the server to follow its owner", func() bool { return len(s.testProcesses(t)) == 0 })
}

func TestPostmasterKilled(t *testing.T) {
	t.Parallel()
	s := start(t, Config{DataDir: usedDataDir(t), Exclusive: true})
	query(t, s.URL(), "create table kept as select 'committed'::text as word; select word from kept")
	for range 2 {
		before := postmasterPID(t, s)
		if err := syscall.Kill(before, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		await(t, "for a new server at the same address", func() bool {
			conn, err := pgx.Connect(t.Context(), s.URL())
			if err != nil {
				return false
			}
			_ = conn.Close(context.Background())
			return postmasterPID(t, s) != before
		})
		if got := query(t, s.URL(), "select word from kept"); got != "committed" {
			t.Errorf("got %q", got)
		}
	}
}

func TestBothKilled(t *testing.T) {
	t.Parallel()
	dir := usedDataDir(t)
	first := startOther(t, dir)
	_, url, _ := strings.Cut(first.line(t), " ")
	query(t, url, "create table kept as select 'committed'::text as word; select word from kept")
	guest := start(t, Config{DataDir: dir})
	server := postmasterPID(t, guest)
	first.kill(t)
	_ = syscall.Kill(server, syscall.SIGKILL)
	stop(t, guest)
	s := start(t, Config{DataDir: dir})
	if got := query(t, s.URL(), "select word from kept"); got != "committed" {
		t.Errorf("got %q", got)
	}
}

// TestKilledAnywhere kills a first start at random moments, including during initdb.
func TestKilledAnywhere(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	const rounds = 12
	for i := range rounds {
		if i%3 == 0 {
			// Processes of initdb may continue for a moment and create files.
			await(t, "for an empty folder", func() bool { return os.RemoveAll(dir) == nil })
		}
		o := startOther(t, dir)
		pause := time.NewTimer(time.Duration(rand.IntN(900)) * time.Millisecond) // any moment will do
		<-pause.C
		o.kill(t)
	}
	await(t, "for unfinished clusters to go", func() bool {
		s := start(t, Config{DataDir: dir})
		defer stop(t, s)
		if got := query(t, s.URL(), "select 'works'::text"); got != "works" {
			t.Errorf("got %q", got)
		}
		left, err := filepath.Glob(s.home.path("new-*"))
		return err == nil && len(left) == 0
	})
}

// TestStalePID writes the process id of another running process of the server's user to the
// server's status files.
func TestStalePID(t *testing.T) {
	t.Parallel()
	c := Config{DataDir: usedDataDir(t)}
	s := start(t, c)
	pidFile := filepath.Join(s.home.cluster(), "postmaster.pid")
	text, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	stop(t, s)
	sleeper := s.home.account.command(t.Context(), "/", "/bin/sleep", "600")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = sleeper.Process.Kill()
		_ = sleeper.Wait()
	})
	_, rest, _ := strings.Cut(string(text), "\n")
	if err := os.MkdirAll(s.socket, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pidFile, filepath.Join(s.socket, ".s.PGSQL.5432.lock")} {
		if err := os.WriteFile(path, []byte(itoa(sleeper.Process.Pid)+"\n"+rest), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := s.home.account.chown(path); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.home.account.chown(s.socket); err != nil {
		t.Fatal(err)
	}
	s = start(t, c)
	query(t, s.URL(), "select 'works'::text")
	if !alive(sleeper.Process.Pid) {
		t.Error("an innocent process was ended")
	}
}

// TestOrphan starts over a server that outlived its owner, as on systems without a parent-death
// signal.
func TestOrphan(t *testing.T) {
	t.Parallel()
	c := Config{DataDir: usedDataDir(t)}
	s := start(t, c)
	programs := s.supervisor.programs
	stop(t, s)
	socket, err := s.home.socketFolder()
	if err != nil {
		t.Fatal(err)
	}
	// Without a parent-death signal, any thread can start it.
	orphan := s.home.account.command(t.Context(), s.home.cluster(), programs.path("postgres"),
		"-D", s.home.cluster(), "-k", socket, "-c", "listen_addresses=", "-c", "cluster_name="+s.home.name())
	if err := orphan.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan error, 1)
	go func() { exited <- orphan.Wait() }()
	pm := &postmaster{cmd: orphan, home: s.home, exited: make(chan struct{})}
	await(t, "for the orphan", pm.ready)

	s = start(t, c)
	if err := <-exited; err != nil {
		t.Errorf("the orphan ended with %v, want a clean stop", err)
	}
	if postmasterPID(t, s) == orphan.Process.Pid {
		t.Error("the orphan is still there")
	}
	query(t, s.URL(), "select 'works'::text")
}
