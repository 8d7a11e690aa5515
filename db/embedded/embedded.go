// Package embedded runs a private PostgreSQL from server programs that are installed on the
// machine, so that mishap needs no database set-up. The server listens only on a Unix socket.
//
// Several processes may use one data directory at the same time. The first one owns the server: it
// starts it, restarts it after a crash, and stops it when it ends, after the others have finished.
// The others attach. If the owner is killed, the server stops by itself, and the next process
// recovers the database.
//
// This package is not used if database_url is set.
package embedded

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"mishap/crash"
)

// Config contains the settings of a private PostgreSQL.
type Config struct {
	DataDir   string // mishap's data directory; the server's files are in DataDir/postgres
	Exclusive bool   // for serve: no other process may be exclusive on the same DataDir
	Throwaway bool   // for tests: nothing is synced to disk, so a power failure loses everything
	From      *Copy  // the files of a new private PostgreSQL; nil: initdb makes them
	Log       *slog.Logger
}

const (
	// startTimeout limits starting the server, which may have to recover from a crash first, and
	// waiting while another process starts or stops it.
	startTimeout = 5 * time.Minute
	// commandTimeout is how long an exclusive process waits for a command that owns the server.
	commandTimeout = time.Minute
	// userTimeout is how long a stopping exclusive owner waits for commands that use its server.
	userTimeout = 5 * time.Second
	pollEvery   = 10 * time.Millisecond
)

// Server is a running private PostgreSQL, owned by this process or by another one.
type Server struct {
	cfg        Config
	home       home
	socket     string // directory of the Unix socket
	owner      *lockFile
	users      *lockFile
	supervisor *supervisor // nil: another process owns the server

	stop    sync.Once
	stopErr error
}

// Start starts the private PostgreSQL of c.DataDir, or attaches to a running one. ctx limits only
// the start; the server runs until [Server.Stop].
//
// Start returns an error of kind Unavailable if no suitable server programs are installed, and of
// kind Conflict if c.Exclusive is set and another process uses the data directory.
func Start(ctx context.Context, c Config) (*Server, error) {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	h, err := openHome(ctx, c.DataDir, sharedRoot)
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: c, home: h}
	if s.owner, err = openLock(c.DataDir, h.path("owner.lock")); err != nil {
		return nil, err
	}
	if s.users, err = openLock(c.DataDir, h.path("users.lock")); err != nil {
		s.owner.close()
		return nil, err
	}
	if err := s.acquire(ctx); err != nil {
		s.owner.close()
		s.users.close()
		return nil, err
	}
	return s, nil
}

// acquire becomes the owner of the server or attaches to the owner's server.
func (s *Server) acquire(ctx context.Context) error {
	if s.cfg.From == nil { // unpacking and recovering a copy takes as long as its size requires
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, startTimeout)
		defer cancel()
	}
	began := time.Now()
	for {
		owned, err := s.owner.tryLock(exclusive)
		if err != nil {
			return err
		}
		if owned {
			return s.startAsOwner(ctx)
		}
		other, ready := readOwner(s.owner)
		switch {
		case s.cfg.Exclusive:
			if other.exclusive || time.Since(began) > commandTimeout {
				return inUse(s.cfg.DataDir, other)
			}
		case ready:
			attached, err := s.attach(other)
			if err != nil || attached {
				return err
			}
		}
		if err := crash.Sleep(ctx, pollEvery); err != nil {
			return inUse(s.cfg.DataDir, other).Because(err)
		}
	}
}

// attach becomes a user of the owner's server. It returns false if the owner is stopping the server
// or has ended.
func (s *Server) attach(other owner) (bool, error) {
	joined, err := s.users.tryLock(shared)
	if err != nil || !joined {
		return false, err
	}
	if again, ready := readOwner(s.owner); !ready || again != other {
		s.users.unlock()
		return false, nil
	}
	s.socket = other.socket
	return true, nil
}

// startAsOwner starts the server as its owner.
func (s *Server) startAsOwner(ctx context.Context) error {
	me := owner{pid: os.Getpid(), exclusive: s.cfg.Exclusive}
	if err := me.write(s.owner); err != nil {
		return err
	}
	if s.cfg.From != nil {
		if err := s.home.copyCluster(ctx, s.cfg.From, s.cfg.Throwaway); err != nil {
			return err
		}
	}
	programs, err := choosePrograms(installed(ctx), s.home)
	if err != nil {
		return err
	}
	if err := s.home.endOrphans(ctx, s.cfg.Log); err != nil {
		return err
	}
	if err := s.home.makeCluster(ctx, programs, s.cfg.Throwaway); err != nil {
		return err
	}
	if s.socket, err = s.home.socketFolder(); err != nil {
		return err
	}
	s.supervisor = newSupervisor(s.home, programs, s.cfg, s.socket)
	if err := s.supervisor.start(ctx); err != nil {
		return err
	}
	me.socket = s.socket
	if err := me.write(s.owner); err != nil {
		return errors.Join(err, s.supervisor.stop(ctx))
	}
	return nil
}

// URL returns the address of the database, for pgx.
func (s *Server) URL() string {
	q := url.Values{"host": {s.socket}, "port": {socketPort}, "sslmode": {"disable"}}
	u := url.URL{Scheme: "postgres", User: url.User(role), Path: "/" + database, RawQuery: q.Encode()}
	return u.String()
}

// Dir returns the directory of the server's files and log, usually DataDir/postgres.
func (s *Server) Dir() string { return s.home.dir }

// Notice returns a sentence for people about the location of the files, or "" if they are in the
// data directory.
func (s *Server) Notice() string { return s.home.notice }

// Stop ends the use of the server. The owner waits until no other process uses it (an exclusive
// owner only for userTimeout), then stops it cleanly. If ctx ends first, it stops the server
// immediately; the next start recovers the database. Stop may be called several times.
func (s *Server) Stop(ctx context.Context) error {
	s.stop.Do(func() {
		if s.supervisor != nil {
			s.awaitUsers(ctx)
			s.stopErr = s.supervisor.stop(ctx)
			_ = os.Remove(s.socket) // the next start creates it again
		}
		s.users.close()
		s.owner.close()
	})
	return s.stopErr
}

// awaitUsers waits until no other process is attached, and prevents others from attaching.
func (s *Server) awaitUsers(ctx context.Context) {
	if s.cfg.Exclusive {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, userTimeout)
		defer cancel()
	}
	for waiting := false; ; {
		alone, err := s.users.tryLock(exclusive)
		if alone || err != nil {
			return
		}
		if !waiting {
			waiting = true
			s.cfg.Log.InfoContext(ctx, "waiting for other mishap commands to finish with the database")
		}
		if crash.Sleep(ctx, pollEvery) != nil {
			return
		}
	}
}

func inUse(dataDir string, other owner) *crash.Error {
	who := "Another mishap"
	if other.pid != 0 {
		who = fmt.Sprintf("Another mishap (process %d)", other.pid)
	}
	return crash.Errorf(crash.Conflict, "data_dir_in_use",
		"%s uses the database in %s; stop it first, or choose another data_dir.", who, dataDir)
}

// sharedRoot is the directory for files of data directories that the server's user cannot access.
const sharedRoot = "/var/lib/mishap"

const (
	role       = "mishap"
	database   = "mishap"
	socketPort = "5432"
	maxSocket  = 107 // largest length of a Unix socket's path in bytes, without the final NUL
)

// home is the directory of one private PostgreSQL:
//
//	data/        its files, created by initdb
//	run/         the Unix socket
//	server.log   the log of the server
//	owner.lock   locked by the process that runs the server
//	users.lock   locked (shared) by the processes that use it
type home struct {
	dir     string
	account account
	notice  string
}

func (h home) path(name string) string { return filepath.Join(h.dir, name) }
func (h home) cluster() string         { return h.path("data") }

// name returns a name that all processes of this server have in their command lines, which any user
// can read.
func (h home) name() string { return "mishap-" + shortHash(h.dir) }

func shortHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:6])
}

// openHome finds or creates the directory for dataDir. It is dataDir/postgres or, if the server's
// user cannot access that, a directory in root. In that case, it writes the location to
// postgres.path, so that it is found again after dataDir has been renamed.
func openHome(ctx context.Context, dataDir, root string) (home, error) {
	dataDir, err := filepath.Abs(dataDir)
	if err != nil {
		return home{}, fmt.Errorf("data_dir: %w", err)
	}
	if err := os.MkdirAll(dataDir, 0o755); err != nil { // the server's user needs access
		return home{}, errNoFolder(dataDir, dataDir, err)
	}
	if dataDir, err = filepath.EvalSymlinks(dataDir); err != nil {
		return home{}, fmt.Errorf("data_dir: %w", err)
	}
	pointer := filepath.Join(dataDir, "postgres.path")
	elsewhere, err := os.ReadFile(pointer)
	switch {
	case err == nil:
		return homeAt(ctx, dataDir, strings.TrimSpace(string(elsewhere)))
	case !errors.Is(err, os.ErrNotExist):
		return home{}, fmt.Errorf("data_dir: %w", err)
	}
	h, err := homeAt(ctx, dataDir, filepath.Join(dataDir, "postgres"))
	if err == nil || !h.account.other {
		return h, err
	}
	_ = os.Remove(h.dir) // it is empty, since the server's user cannot access it
	if err := os.MkdirAll(root, 0o755); err != nil {
		return home{}, fmt.Errorf("data_dir: %w", err)
	}
	if h, err = homeAt(ctx, dataDir, filepath.Join(root, filepath.Base(dataDir)+"-"+shortHash(dataDir))); err != nil {
		return h, err
	}
	return h, os.WriteFile(pointer, []byte(h.dir+"\n"), 0o644)
}

// homeAt creates the directory dir and checks that the server's user can access it. That user owns
// only data and run in it.
func homeAt(ctx context.Context, dataDir, dir string) (home, error) {
	a, err := chooseAccount(filepath.Join(dir, "data"))
	if err != nil {
		return home{}, err
	}
	h := home{dir: dir, account: a}
	mode := os.FileMode(0o700)
	if a.other {
		mode = 0o711
	}
	if err := os.MkdirAll(dir, mode); err != nil {
		return h, errNoFolder(dataDir, dir, err)
	}
	if !a.mayEnter(ctx, dir) {
		return h, crash.Errorf(crash.Forbidden, "data_dir_forbidden",
			"PostgreSQL would run as %s, who may not enter %s; choose another data_dir.", a.name, dir)
	}
	if filepath.Dir(dir) != dataDir {
		h.notice = fmt.Sprintf("PostgreSQL does not run as root, and %s may not enter %s: its files are in %s.", a.name,
			dataDir, dir)
	}
	return h, nil
}

// socketFolder creates the directory of the Unix socket. That is run or, if the path would be too
// long for a socket, a short one in /tmp that belongs to the server's user.
func (h home) socketFolder() (string, error) {
	dir := h.path("run")
	if len(dir)+len("/.s.PGSQL."+socketPort) > maxSocket {
		dir = filepath.Join("/tmp", h.name())
	}
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, os.ErrExist) {
		// It may remain from an earlier run. Anyone can create directories in /tmp, so check the
		// owner.
		if info, err := os.Lstat(dir); err == nil && privateTo(info, h.account) {
			return dir, nil
		}
		dir, err = os.MkdirTemp("/tmp", "mishap-")
	}
	if err != nil {
		return "", fmt.Errorf("socket folder: %w", err)
	}
	return dir, h.account.chown(dir)
}

func privateTo(info os.FileInfo, a account) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.Mode() == os.ModeDir|0o700 && st.Uid == a.uid
}

// lockFile is a file locked by flock. The kernel releases the lock when the process ends, even if
// it is killed.
type lockFile struct{ f *os.File }

const (
	shared    = syscall.LOCK_SH
	exclusive = syscall.LOCK_EX
)

func openLock(dataDir, path string) (*lockFile, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if errors.Is(err, os.ErrPermission) {
		return nil, errForeign(dataDir, path, err)
	}
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	return &lockFile{f}, nil
}

// tryLock acquires the lock or changes its mode. It returns false if another process holds a
// conflicting lock.
func (l *lockFile) tryLock(mode int) (bool, error) {
	for {
		err := syscall.Flock(int(l.f.Fd()), mode|syscall.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, syscall.EINTR):
			return false, fmt.Errorf("lock %s: %w", l.f.Name(), err)
		}
	}
}

func (l *lockFile) unlock() { _ = syscall.Flock(int(l.f.Fd()), syscall.LOCK_UN) }

func (l *lockFile) close() { _ = l.f.Close() }

// owner is the content of a lock file that the owner of a server writes.
type owner struct {
	pid       int
	exclusive bool   // it serves, so it runs for long
	socket    string // empty until the server is ready
}

const ownerFormat = "%d %t %q\n"

func (o owner) write(l *lockFile) error {
	if err := l.f.Truncate(0); err != nil {
		return fmt.Errorf("write %s: %w", l.f.Name(), err)
	}
	if _, err := l.f.WriteAt(fmt.Appendf(nil, ownerFormat, o.pid, o.exclusive, o.socket), 0); err != nil {
		return fmt.Errorf("write %s: %w", l.f.Name(), err)
	}
	return nil
}

// readOwner reads the owner of the server, and whether the server is ready. It ignores a dead
// owner.
func readOwner(l *lockFile) (o owner, ready bool) {
	text, err := io.ReadAll(io.NewSectionReader(l.f, 0, 4096))
	if err != nil {
		return owner{}, false
	}
	if _, err := fmt.Sscanf(string(text), ownerFormat, &o.pid, &o.exclusive, &o.socket); err != nil || !alive(o.pid) {
		return owner{}, false
	}
	return o, o.socket != ""
}

func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// account is the user that runs the server: the present user or, for root, which PostgreSQL
// refuses, another one.
type account struct {
	name     string
	uid, gid uint32
	other    bool // not the present user
}

// unprivileged lists users that root can run the server as, in order of preference.
var unprivileged = []string{"postgres", "mishap", "nobody"}

// chooseAccount returns the user for the server. If the server's files exist, that is their owner.
func chooseAccount(cluster string) (account, error) {
	me := account{uid: uint32(os.Geteuid()), gid: uint32(os.Getegid())} //nolint:gosec // never negative here
	if me.uid != 0 {
		return me, nil
	}
	if info, err := os.Stat(cluster); err == nil {
		if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid != 0 {
			return account{name: "user " + strconv.Itoa(int(st.Uid)), uid: st.Uid, gid: st.Gid, other: true}, nil
		}
	}
	for _, name := range unprivileged {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
		if uidErr == nil && gidErr == nil && uid != 0 {
			return account{name: "user " + name, uid: uint32(uid), gid: uint32(gid), other: true}, nil
		}
	}
	return account{}, crash.Errorf(crash.Unavailable, "no_account",
		"PostgreSQL does not run as root, and this machine has no user postgres, mishap or nobody to run it as; "+
			"add one (useradd --system postgres).")
}

// command returns a command that runs as the account in directory dir. It has a process group of
// its own, so that Ctrl-C in a terminal reaches only mishap.
func (a account) command(ctx context.Context, dir, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8", "TZ=UTC"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if a.other {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: a.uid, Gid: a.gid}
	}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd
}

// chown changes the owner of a file or directory to the account.
func (a account) chown(path string) error {
	if !a.other {
		return nil
	}
	if err := os.Lchown(path, int(a.uid), int(a.gid)); err != nil {
		return fmt.Errorf("give %s to %s: %w", path, a.name, err)
	}
	return nil
}

// mayEnter reports whether the account can access the directory, including all its parents.
func (a account) mayEnter(ctx context.Context, path string) bool {
	return !a.other || a.command(ctx, path, "/bin/sh", "-c", "test -x .").Run() == nil
}

// firstSQL creates mishap's database. Error messages in the server's log omit the rows that caused
// them, since rows contain crash reports.
const firstSQL = "create database " + database + ";\n" +
	"alter database " + database + " set log_error_verbosity = terse;\n"

// makeCluster creates the server's files if there are none. It uses a temporary directory and
// renames it at the end, so an interrupted start leaves nothing that looks like a database.
func (h home) makeCluster(ctx context.Context, p programs, throwaway bool) error {
	h.removeScratch()
	if _, err := os.Stat(filepath.Join(h.cluster(), "PG_VERSION")); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	scratch, err := os.MkdirTemp(h.dir, scratchPrefix)
	if err != nil {
		return fmt.Errorf("make the private database: %w", err)
	}
	defer func() { _ = os.RemoveAll(scratch) }() // after success, it has been renamed
	if err := h.account.chown(scratch); err != nil {
		return err
	}
	if err := h.initdb(ctx, p, scratch, throwaway); err != nil {
		return err
	}
	if err := h.run(ctx, scratch, firstSQL, p.path("postgres"), "--single", "-D", scratch, "postgres"); err != nil {
		return err
	}
	if err := os.Rename(scratch, h.cluster()); err != nil {
		return fmt.Errorf("make the private database: %w", err)
	}
	return nil
}

// initdb makes the files of a server without databases in an empty directory.
func (h home) initdb(ctx context.Context, p programs, dir string, throwaway bool) error {
	args := []string{
		"--pgdata=" + dir, "--username=" + role, "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8",
		"--lc-messages=C", "--data-checksums", "--no-instructions",
	}
	if throwaway {
		args = append(args, "--no-sync")
	}
	return h.run(ctx, dir, "", p.path("initdb"), args...)
}

// scratchPrefix begins the names of temporary directories.
const scratchPrefix = "new-"

// removeScratch removes the temporary directories of interrupted starts.
func (h home) removeScratch() {
	leftovers, _ := filepath.Glob(h.path(scratchPrefix + "*")) // the pattern is valid
	for _, dir := range leftovers {
		_ = os.RemoveAll(dir) // a remaining directory does no harm
	}
}

// run runs a program until it ends. An error includes its last messages.
func (h home) run(ctx context.Context, dir, input, program string, args ...string) error {
	cmd := h.account.command(ctx, dir, program, args...)
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	cmd.Stdin = strings.NewReader(input)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := onOwnThread(cmd.Run); err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(program), err, lastMessages(out.Bytes()))
	}
	return nil
}

// routineMessages lists routine messages at the start of a server, which explain nothing.
var routineMessages = []string{"starting PostgreSQL", "listening on", "database system is", "database system was",
	"shutting down"}

// lastMessages returns the messages in a program's output that explain its failure: the last lines
// with a level, without time stamps, or else the last lines.
func lastMessages(out []byte) string {
	const enough = 5
	level := regexp.MustCompile(`\b(?:FATAL|PANIC|ERROR|LOG|DETAIL|HINT|error|detail|hint):\s+(.*)$`)
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	var said []string
	for _, line := range lines {
		m := level.FindStringSubmatch(line)
		if m != nil && !slices.ContainsFunc(routineMessages, func(s string) bool { return strings.HasPrefix(m[1], s) }) {
			said = append(said, m[1])
		}
	}
	if len(said) == 0 {
		said = lines
	}
	said = slices.Compact(said)
	return strings.Join(said[max(0, len(said)-enough):], "; ")
}

// Upgraded describes what Upgrade has done.
type Upgraded struct {
	From, To int    // major versions of PostgreSQL
	Old      string // directory with the files of the old version; empty: there was nothing to do
}

// Upgrade moves the private PostgreSQL of c.DataDir to the newest version that is installed, with
// pg_upgrade. The files of the old version stay in Upgraded.Old. Until its end, and if it fails, the
// database is as it was.
//
// Upgrade returns Conflict if another process uses the data directory or if it has no database, and
// Unavailable if the server programs of the old version are not installed.
func Upgrade(ctx context.Context, c Config) (Upgraded, error) {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	h, err := openHome(ctx, c.DataDir, sharedRoot)
	if err != nil {
		return Upgraded{}, err
	}
	lock, err := openLock(c.DataDir, h.path("owner.lock"))
	if err != nil {
		return Upgraded{}, err
	}
	defer lock.close()
	if owned, err := lock.tryLock(exclusive); err != nil || !owned {
		other, _ := readOwner(lock)
		return Upgraded{}, errors.Join(err, inUse(c.DataDir, other))
	}
	if err := (owner{pid: os.Getpid(), exclusive: true}).write(lock); err != nil {
		return Upgraded{}, err
	}
	major := majorOf(h.cluster())
	if major == 0 {
		return Upgraded{}, crash.Errorf(crash.Conflict, "no_database", "There is no database in %s yet; mishap makes it "+
			"with the newest PostgreSQL that is installed.", c.DataDir)
	}
	found := installed(ctx)
	from, err := ofMajor(found, major, "The database in "+h.cluster())
	if err != nil {
		return Upgraded{}, err
	}
	to, err := newest(found)
	if err != nil || to.major <= from.major {
		return Upgraded{From: from.major, To: from.major}, err
	}
	if err := h.endOrphans(ctx, c.Log); err != nil {
		return Upgraded{}, err
	}
	old, err := h.upgrade(ctx, from, to, c.Throwaway)
	return Upgraded{From: from.major, To: to.major, Old: old}, err
}

// upgrade makes the files of the new version beside the old ones and exchanges the two directories. It
// returns the directory that has the old files then.
func (h home) upgrade(ctx context.Context, from, to programs, throwaway bool) (string, error) {
	dir := fmt.Sprintf("%s-%d", h.cluster(), from.major)
	if majorOf(dir) == from.major {
		return "", crash.Errorf(crash.Conflict, "old_database_exists", "%s has the files of an earlier upgrade; move it "+
			"away.", dir)
	}
	socket, err := h.socketFolder()
	if err != nil {
		return "", err
	}
	defer func() { _ = os.Remove(socket) }() // the next start creates it again
	if err := errors.Join(h.removeStale(socket), os.RemoveAll(dir), os.Mkdir(dir, 0o700),
		h.account.chown(dir)); err != nil {
		return "", fmt.Errorf("upgrade PostgreSQL: %w", err)
	}
	if err := h.initdb(ctx, to, dir, throwaway); err != nil {
		return "", err
	}
	// A server that was killed has to recover first.
	if err := h.run(ctx, h.cluster(), "", from.path("postgres"), "--single", "-D", h.cluster(), "template1"); err != nil {
		return "", err
	}
	// With the name, the next start finds the servers of pg_upgrade if this process is killed.
	options := "-c cluster_name=" + h.name()
	err = h.run(ctx, dir, "", to.path("pg_upgrade"), "--old-bindir="+from.dir, "--new-bindir="+to.dir,
		"--old-datadir="+h.cluster(), "--new-datadir="+dir, "--username="+role, "--socketdir="+socket, "--jobs=2",
		"--old-options="+options, "--new-options="+options)
	if err != nil {
		return "", fmt.Errorf("%w; the database is as it was", err)
	}
	_ = os.Remove(filepath.Join(dir, "delete_old_cluster.sh")) // it would delete the wrong files
	if err := unix.Renameat2(unix.AT_FDCWD, h.cluster(), unix.AT_FDCWD, dir, unix.RENAME_EXCHANGE); err != nil {
		return "", fmt.Errorf("exchange %s and %s: %w; the database is as it was", h.cluster(), dir, err)
	}
	return dir, nil
}
