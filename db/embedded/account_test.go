package embedded

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"mishap/crash/sizetest"
)

// asRoot skips tests that need root, in order to run the server as another user. Without root, all
// other tests run it as the present user.
func asRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can run a server as another user")
	}
}

func TestRootRunsServerAsAnotherUser(t *testing.T) {
	t.Parallel()
	asRoot(t)
	s := start(t, Config{DataDir: dataDir(t), Throwaway: true})
	out, err := exec.CommandContext(t.Context(), "stat", "-c", "%u", "/proc/"+itoa(postmasterPID(t, s))).Output()
	if err != nil {
		t.Fatal(err)
	}
	if uid := strings.TrimSpace(string(out)); uid == "0" || uid != itoa(int(s.home.account.uid)) {
		t.Errorf("got user id %s, want %d", uid, s.home.account.uid)
	}
}

func TestOtherUsers(t *testing.T) {
	t.Parallel()
	asRoot(t)
	for _, name := range []string{"nobody", "postgres"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
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
		})
	}
}

// TestForeignDataDir uses a data directory that belongs to another user.
func TestForeignDataDir(t *testing.T) {
	t.Parallel()
	asRoot(t)
	dir := usedDataDir(t)
	stop(t, start(t, Config{DataDir: dir, Throwaway: true}))
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
	sizetest.Needs(t, "PostgreSQL")
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
