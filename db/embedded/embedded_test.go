package embedded

import (
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/checktest"
)

func TestColdAndWarmStart(t *testing.T) {
	t.Parallel()
	c := Config{DataDir: dataDir(t), Exclusive: true}
	s := start(t, c)
	if !s.Started() {
		t.Error("got attached, want started")
	}
	if s.Notice() != "" {
		t.Errorf("got notice %q, want none", s.Notice())
	}
	query(t, s.URL(), "create table kept as select 'still here'::text as word; select word from kept")
	got := map[string]string{}
	for _, name := range []string{"listen_addresses", "data_checksums", "fsync", "server_encoding", "TimeZone",
		"log_error_verbosity", "wal_compression"} {
		got[name] = query(t, s.URL(), "select current_setting('"+name+"', true)")
	}
	got["lc_collate"] = query(t, s.URL(), "select datcollate from pg_database where datname = current_database()")
	want := map[string]string{
		"listen_addresses": "", "data_checksums": "on", "fsync": "on", "server_encoding": "UTF8", "lc_collate": "C.UTF-8",
		"TimeZone": "UTC", "log_error_verbosity": "terse", "wal_compression": "lz4",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	if info, err := os.Stat(s.socket); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("socket folder: got %v, %v, want mode 0700", info, err)
	}
	if len(s.testProcesses(t)) == 0 {
		t.Error("its processes were not found while it runs")
	}
	// Checked in a directory in use, since a crashed server is restarted in the same way.
	if s.home.accepts(t.Context(), s.supervisor.programs, "wal_compression=of_another_build") ||
		!s.home.accepts(t.Context(), s.supervisor.programs, walCompression) {
		t.Error("a value that the server does not know is given to it, or one that it knows is not")
	}
	stop(t, s)
	stop(t, s) // again: nothing happens
	if left := s.testProcesses(t); len(left) > 0 {
		t.Errorf("processes %v are left after the stop", left)
	}

	s = start(t, c)
	if got := query(t, s.URL(), "select word from kept"); got != "still here" {
		t.Errorf("after a warm start: got %q", got)
	}
}

func TestAttach(t *testing.T) {
	t.Parallel()
	dir := usedDataDir(t)
	owner := start(t, Config{DataDir: dir})
	guest := start(t, Config{DataDir: dir})
	if !owner.Started() || guest.Started() {
		t.Fatalf("got started %t, %t; want true, false", owner.Started(), guest.Started())
	}
	if guest.URL() != owner.URL() {
		t.Errorf("got %s, want %s", guest.URL(), owner.URL())
	}
	ended := make(chan error, 1)
	go func() { ended <- owner.Stop(t.Context()) }()
	// The owner now waits and lets no other process attach; the guest can finish.
	if got := query(t, guest.URL(), "select 'works'::text from pg_sleep(0.2)"); got != "works" {
		t.Errorf("guest: got %q", got)
	}
	select {
	case err := <-ended:
		t.Errorf("the owner stopped the server under its guest: %v", err)
	default:
	}
	stop(t, guest)
	if err := <-ended; err != nil {
		t.Errorf("owner: %v", err)
	}
	if left := owner.testProcesses(t); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
}

func TestManyCommandsAtOnce(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	others := make([]*other, 6)
	for i := range others {
		others[i] = startOther(t, dir)
	}
	started := 0
	for _, o := range others {
		word, url, _ := strings.Cut(o.line(t), " ")
		if word == "started" {
			started++
		}
		query(t, url, "select 'works'::text")
	}
	if started != 1 {
		t.Errorf("got %d owners, want 1", started)
	}
	for _, o := range others {
		_ = o.stdin.Close()
	}
	for _, o := range others {
		if err := o.cmd.Wait(); err != nil {
			t.Errorf("helper: %v", err)
		}
	}
}

func TestTwoServersOnOneDataDir(t *testing.T) {
	t.Parallel()
	dir := usedDataDir(t)
	first := startOther(t, dir, serving)
	if line := first.line(t); !strings.HasPrefix(line, "started") {
		t.Fatalf("got %q", line)
	}
	_, err := Start(t.Context(), Config{DataDir: dir, Exclusive: true})
	want := "Another mishap (process " + itoa(first.cmd.Process.Pid) + ") uses the database in " + dir +
		"; stop it first, or choose another data_dir."
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if crash.KindOf(err) != crash.Conflict {
		t.Errorf("got kind %v, want conflict", crash.KindOf(err))
	}
	// A command still finds the database.
	if s := start(t, Config{DataDir: dir}); s.Started() {
		t.Error("got started, want attached")
	}
}

func TestServeWaitsForCommand(t *testing.T) {
	t.Parallel()
	dir := usedDataDir(t)
	command := start(t, Config{DataDir: dir})
	serve := startOther(t, dir, serving)
	stop(t, command)
	if line := serve.line(t); !strings.HasPrefix(line, "started") {
		t.Errorf("got %q, want started", line)
	}
}

func TestLongPath(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(dataDir(t), strings.Repeat("a-long-name/", 10))
	s := start(t, Config{DataDir: dir, Throwaway: true})
	if len(s.socket)+len("/.s.PGSQL.5432") > maxSocket {
		t.Errorf("socket folder %s is too long", s.socket)
	}
	if guest := start(t, Config{DataDir: dir}); query(t, guest.URL(), "select 'works'::text") != "works" {
		t.Error("a guest finds the socket elsewhere")
	} else {
		stop(t, guest)
	}
	stop(t, s)
	if _, err := os.Stat(s.socket); !os.IsNotExist(err) {
		t.Errorf("the folder %s is left in /tmp", s.socket)
	}
}

func TestServersOwnWordsInError(t *testing.T) {
	t.Parallel()
	c := Config{DataDir: usedDataDir(t), Throwaway: true}
	s := start(t, c)
	stop(t, s)
	conf := filepath.Join(s.home.cluster(), "postgresql.conf")
	if err := os.WriteFile(conf, []byte("work_mem = banana\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.home.account.chown(conf); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), c)
	if err == nil || !strings.Contains(err.Error(), `invalid value for parameter "work_mem": "banana"`) {
		t.Errorf("got %v, want the server's complaint about banana", err)
	}
}

// asRoot skips tests that need root, in order to run the server as another user. Without root, all
// other tests run it as the present user.
func asRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can run a server as another user")
	}
}

func TestOtherUsers(t *testing.T) {
	t.Parallel()
	asRoot(t)
	const name = "nobody"
	dir := dataDir(t)
	if err := os.Chmod(filepath.Dir(dir), 0o777); err != nil { // for that user
		t.Fatal(err)
	}
	o := startOther(t, dir, as(t, name))
	word, url, _ := strings.Cut(o.line(t), " ")
	if word != "started" {
		t.Fatalf("got %s %s, want started", word, url)
	}
	query(t, url, "create table kept as select 'theirs'::text as word; select word from kept")
	// Root can use the server of another user, and start it if that user does not.
	guest := start(t, Config{DataDir: dir})
	if guest.Started() {
		t.Error("root: got started, want attached")
	}
	stop(t, guest)
	o.kill(t)
	s := start(t, Config{DataDir: dir})
	if got := query(t, s.URL(), "select word from kept"); got != "theirs" {
		t.Errorf("root afterwards: got %q", got)
	}
	stop(t, s)
	again := startOther(t, dir, as(t, name))
	if line := again.line(t); !strings.HasPrefix(line, "started") {
		t.Errorf("the user again: got %q, want started", line)
	}
}

// TestForeignDataDir checks that root runs the server as another user, and uses its data directory as a
// third one.
func TestForeignDataDir(t *testing.T) {
	t.Parallel()
	asRoot(t)
	dir := usedDataDir(t)
	s := start(t, Config{DataDir: dir, Throwaway: true})
	out, err := exec.CommandContext(t.Context(), "stat", "-c", "%u", "/proc/"+itoa(postmasterPID(t, s))).Output()
	if err != nil {
		t.Fatal(err)
	}
	if uid := strings.TrimSpace(string(out)); uid == "0" || uid != itoa(int(s.home.account.uid)) {
		t.Errorf("got user id %s, want %d", uid, s.home.account.uid)
	}
	stop(t, s)
	line := startOther(t, dir, as(t, "nobody")).line(t)
	if !strings.Contains(line, "owner.lock belongs to root. If this user is the one that runs mishap, give it the whole "+
		"data_dir, as root: chown") {
		t.Errorf("got %q", line)
	}
}

// TestFolderCannotBeMade uses a data directory in a folder of root, and one on a read-only file system.
func TestFolderCannotBeMade(t *testing.T) {
	t.Parallel()
	asRoot(t)
	dir := dataDir(t) // does not exist yet
	line := startOther(t, dir, as(t, "nobody")).line(t)
	if want := "data_dir: the folder " + dir + " cannot be made: set data_dir to a folder of this user, or make it as " +
		"root: " +
		"install -d -o nobody -m 700 '" + dir + "'"; !strings.Contains(line, want) {
		t.Errorf("got %q, want %q", line, want)
	}
	err := errNoFolder(dir, dir, &os.PathError{Op: "mkdir", Path: dir, Err: syscall.EROFS})
	if text := err.Error(); !strings.Contains(text, "make the disk writable") || strings.Contains(text, "install -d") {
		t.Errorf("read-only: got %q", text)
	}
}

func TestDataDirBelowRootsHome(t *testing.T) {
	t.Parallel()
	checktest.Needs(t, "PostgreSQL")
	asRoot(t)
	closed := t.TempDir()
	if err := os.Chmod(closed, 0o700); err != nil { // a folder
		t.Fatal(err)
	}
	dir := filepath.Join(closed, "checkout", "data")
	s := start(t, Config{DataDir: dir, Throwaway: true})
	t.Cleanup(func() { _ = os.RemoveAll(s.Dir()) })
	if !strings.HasPrefix(s.Dir(), sharedRoot+"/data-") {
		t.Errorf("got files in %s, want a folder in %s", s.Dir(), sharedRoot)
	}
	if !strings.Contains(s.Notice(), dir) || !strings.Contains(s.Notice(), s.Dir()) {
		t.Errorf("got notice %q, want both folders in it", s.Notice())
	}
	query(t, s.URL(), "create table kept as select 'found again'::text as word; select word from kept")
	stop(t, s)

	// If the checkout is moved, the database is found again.
	moved := filepath.Join(closed, "renamed")
	if err := os.Rename(filepath.Join(closed, "checkout"), moved); err != nil {
		t.Fatal(err)
	}
	s = start(t, Config{DataDir: filepath.Join(moved, "data"), Throwaway: true})
	if got := query(t, s.URL(), "select word from kept"); got != "found again" {
		t.Errorf("got %q", got)
	}
}

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

// TestMoreKilledAnywhere kills a first start at random moments, including during initdb.
func TestMoreKilledAnywhere(t *testing.T) {
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
