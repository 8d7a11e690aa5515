package embedded

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"mishap/crash"
)

const (
	stopTimeout = 60 * time.Second // for a clean shutdown, which writes a checkpoint
	killTimeout = 5 * time.Second  // for a fast shutdown
	maxLog      = 16 << 20         // size of server.log in bytes at which a new file is started
)

// settings returns the settings of the server, which are passed at each start. PostgreSQL flushes
// written pages to the disk soon. If the kernel did, it would write up to 30 seconds' worth at
// once, and commits would wait: half a second was measured with 2,400 reports per second. Rare
// checkpoints reduce full-page writes to the write-ahead log.
func settings(throwaway bool) []string {
	s := []string{
		"listen_addresses=", "unix_socket_permissions=0700", "port=" + socketPort,
		"max_connections=100", "shared_buffers=256MB", "min_wal_size=512MB", "max_wal_size=4GB", "checkpoint_timeout=15min",
		"backend_flush_after=512kB",
		"jit=off", "timezone=UTC", "log_timezone=UTC", "log_destination=stderr",
		"logging_collector=off", "log_checkpoints=off",
	}
	if throwaway {
		s = append(s, "max_connections=400", "fsync=off", "synchronous_commit=off", "full_page_writes=off",
			"autovacuum=off", "checkpoint_timeout=1h")
	}
	return s
}

// walCompression compresses full pages in the write-ahead log: 15 kB instead of 18.6 kB per report
// at low load. A PostgreSQL built without lz4 does not start with this setting.
const walCompression = "wal_compression=lz4"

// accepts reports whether the installed server supports a setting and its value. It does not start
// a server.
func (h home) accepts(ctx context.Context, p programs, setting string) bool {
	name, _, _ := strings.Cut(setting, "=")
	return h.run(ctx, h.cluster(), "", p.path("postgres"), "-D", h.cluster(), "-c", setting, "-C", name) == nil
}

// postmaster is a running server process.
type postmaster struct {
	cmd    *exec.Cmd
	home   home
	log    *os.File
	logged int64         // size of the log before this start
	exited chan struct{} // closed when the process has ended
}

// launch starts the server process, which outlives ctx. It stops when the calling thread ends.
func launch(ctx context.Context, h home, p programs, socket string, throwaway bool) (*postmaster, error) {
	log, logged, err := openLog(h.path("server.log"))
	if err != nil {
		return nil, err
	}
	args := []string{"-D", h.cluster(), "-k", socket, "-c", "cluster_name=" + h.name()}
	for _, s := range settings(throwaway) {
		args = append(args, "-c", s)
	}
	if !throwaway && h.accepts(ctx, p, walCompression) {
		args = append(args, "-c", walCompression)
	}
	cmd := h.account.command(context.WithoutCancel(ctx), h.cluster(), p.path("postgres"), args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr.Pdeathsig = syscall.SIGINT // a clean stop when the thread that started it ends
	if err := cmd.Start(); err != nil {
		_ = log.Close()
		return nil, fmt.Errorf("start PostgreSQL: %w", err)
	}
	pm := &postmaster{cmd: cmd, home: h, log: log, logged: logged, exited: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // the log contains the cause
		_ = log.Close()
		close(pm.exited)
	}()
	return pm, nil
}

func openLog(path string) (*os.File, int64, error) {
	if info, err := os.Stat(path); err == nil && info.Size() > maxLog {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, 0, fmt.Errorf("server log: %w", err)
		}
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, 0, fmt.Errorf("server log: %w", err)
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, 0, fmt.Errorf("server log: %w", err)
	}
	return f, size, nil
}

// awaitReady waits until the server accepts connections, after recovery if necessary.
func (pm *postmaster) awaitReady(ctx context.Context) error {
	for !pm.ready() {
		select {
		case <-pm.exited:
			return fmt.Errorf("PostgreSQL did not start: %s", pm.lastMessages())
		default:
		}
		if err := crash.Sleep(ctx, pollEvery/2); err != nil {
			return fmt.Errorf("PostgreSQL is not ready yet: %w", err)
		}
	}
	return nil
}

// ready reads the server's status file: line 1 contains its process id, line 8 its state.
func (pm *postmaster) ready() bool {
	text, err := os.ReadFile(filepath.Join(pm.home.cluster(), "postmaster.pid"))
	if err != nil {
		return false
	}
	lines := strings.Split(string(text), "\n")
	return len(lines) >= 8 && lines[0] == strconv.Itoa(pm.cmd.Process.Pid) && strings.TrimSpace(lines[7]) == "ready"
}

func (pm *postmaster) lastMessages() string {
	f, err := os.Open(pm.log.Name())
	if err != nil {
		return err.Error()
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.NewSectionReader(f, pm.logged, maxLog))
	if err != nil {
		return err.Error()
	}
	return lastMessages(text)
}

// shutdown stops the server cleanly. If ctx or stopTimeout ends first, it stops it immediately; the
// next start recovers the database.
func (pm *postmaster) shutdown(ctx context.Context) error {
	for _, step := range []struct {
		signal  syscall.Signal
		timeout time.Duration
	}{{syscall.SIGINT, stopTimeout}, {syscall.SIGQUIT, killTimeout}, {syscall.SIGKILL, killTimeout}} {
		if err := pm.cmd.Process.Signal(step.signal); errors.Is(err, os.ErrProcessDone) {
			<-pm.exited
			return nil
		}
		select {
		case <-pm.exited:
			if step.signal == syscall.SIGINT {
				return nil
			}
			return fmt.Errorf("PostgreSQL had to be stopped by %v", step.signal)
		case <-time.After(step.timeout):
		case <-doneUnless(ctx, step.signal != syscall.SIGINT):
		}
	}
	return errors.New("PostgreSQL does not stop")
}

// doneUnless returns ctx.Done(), or nil, which blocks forever, if over is true.
func doneUnless(ctx context.Context, over bool) <-chan struct{} {
	if over {
		return nil
	}
	return ctx.Done()
}

// supervisor runs the server and restarts it after a crash. It has one goroutine with its own
// thread. The kernel stops the server when that thread ends, at the latest with the process.
type supervisor struct {
	home      home
	programs  programs
	throwaway bool
	socket    string
	log       *slog.Logger

	running chan *postmaster // passes the server to stop; nil if it is not running
	ended   chan struct{}
}

func newSupervisor(h home, p programs, c Config, socket string) *supervisor {
	return &supervisor{
		home: h, programs: p, throwaway: c.Throwaway, socket: socket, log: c.Log,
		running: make(chan *postmaster), ended: make(chan struct{}),
	}
}

// start waits until the server is ready, or returns the error.
func (k *supervisor) start(ctx context.Context) error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
		pm, err := k.launch(ctx)
		started <- err
		if err == nil {
			k.supervise(context.WithoutCancel(ctx), pm)
			close(k.ended)
		}
	}()
	return <-started
}

// stop stops the server. It must be called exactly once, after a successful start.
func (k *supervisor) stop(ctx context.Context) error {
	if pm := <-k.running; pm != nil {
		if err := pm.shutdown(ctx); err != nil {
			return err
		}
	}
	<-k.ended
	return nil
}

// launch starts the server and waits until it is ready.
func (k *supervisor) launch(ctx context.Context) (*postmaster, error) {
	if err := k.home.removeStale(k.socket); err != nil {
		return nil, err
	}
	pm, err := launch(ctx, k.home, k.programs, k.socket, k.throwaway)
	if err != nil {
		return nil, err
	}
	if err := pm.awaitReady(ctx); err != nil {
		_ = pm.shutdown(ctx)
		return nil, err
	}
	return pm, nil
}

const (
	firstPause = 100 * time.Millisecond
	maxPause   = 30 * time.Second
)

// supervise restarts the server when it dies, until stop has received it and it has ended.
func (k *supervisor) supervise(ctx context.Context, pm *postmaster) {
	for {
		select {
		case k.running <- pm:
			<-pm.exited
			return
		case <-pm.exited:
		}
		k.log.Error("PostgreSQL died; restarting it", "reason", pm.lastMessages())
		wait := firstPause
		for pm = nil; pm == nil; wait = min(2*wait, maxPause) {
			select {
			case k.running <- nil:
				return
			case <-time.After(wait):
			}
			var err error
			if pm, err = k.revive(ctx); err != nil {
				k.log.Error("restart PostgreSQL", "error", err)
			}
		}
		k.log.Info("PostgreSQL is running again")
	}
}

func (k *supervisor) revive(ctx context.Context) (*postmaster, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := k.home.endOrphans(ctx, k.log); err != nil {
		return nil, err
	}
	return k.launch(ctx)
}

// endOrphans stops the processes of a server whose owner was killed. The caller holds the owner's
// lock, so no other process is responsible for them.
//
// PostgreSQL's own check is not sufficient: it trusts the process id in postmaster.pid. That may be
// a zombie that is never reaped or, after a reboot, another process.
func (h home) endOrphans(ctx context.Context, log *slog.Logger) error {
	for _, step := range []struct {
		signal  syscall.Signal
		timeout time.Duration
	}{{syscall.SIGINT, stopTimeout / 2}, {syscall.SIGQUIT, killTimeout}, {syscall.SIGKILL, killTimeout}} {
		orphans, err := h.processes()
		if err != nil || len(orphans) == 0 {
			return err
		}
		log.Info("stopping an orphaned PostgreSQL", "processes", orphans, "signal", step.signal.String())
		for _, pid := range orphans {
			_ = syscall.Kill(pid, step.signal) // it may have ended in the meantime
		}
		for began := time.Now(); time.Since(began) < step.timeout; {
			if orphans, err = h.processes(); err != nil || len(orphans) == 0 {
				return err
			}
			if err := crash.Sleep(ctx, pollEvery); err != nil {
				return err
			}
		}
	}
	return fmt.Errorf("an earlier PostgreSQL on %s does not end", h.dir)
}

// onOwnThread calls fn on a thread that lives at least as long as fn runs.
func onOwnThread(fn func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return fn()
}

// processes returns the processes of this home's server. They have its name in their command lines,
// which any user can read, unlike their working directories. Zombies have no command line.
func (h home) processes() ([]int, error) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var pids []int
	for _, dir := range dirs {
		line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err != nil || !bytes.Contains(line, []byte(h.name())) {
			continue
		}
		comm, err := os.ReadFile(filepath.Join(dir, "comm"))
		if err != nil || string(comm) != "postgres\n" {
			continue
		}
		info, err := os.Stat(dir)
		if err != nil || info.Sys().(*syscall.Stat_t).Uid != h.account.uid {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// removeStale removes the files that would make PostgreSQL mistake a dead server for a running one.
func (h home) removeStale(socket string) error {
	for _, path := range []string{
		filepath.Join(h.cluster(), "postmaster.pid"),
		filepath.Join(socket, ".s.PGSQL."+socketPort),
		filepath.Join(socket, ".s.PGSQL."+socketPort+".lock"),
	} {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove files of an earlier server: %w", err)
		}
	}
	return nil
}

// minMajor is the oldest major version of PostgreSQL with which mishap is tested.
const minMajor = 15

// usualFolders lists patterns of directories with server programs in distributions. These are often
// not on PATH.
var usualFolders = []string{
	"/usr/lib/postgresql/*/bin", // Debian, Ubuntu
	"/usr/pgsql-*/bin",          // the PostgreSQL project's packages for Fedora, RHEL, SUSE
	"/usr/lib/postgresql*/bin",  // SUSE
	"/usr/libexec/postgresql*",  // Alpine
}

// programs is one installation of the server programs.
type programs struct {
	dir   string
	major int
}

func (p programs) path(name string) string { return filepath.Join(p.dir, name) }

// choosePrograms returns the programs with the major version of the files in the folder h or, if there are
// none, the newest programs.
func choosePrograms(found []programs, h home) (programs, error) {
	if major := majorOf(h.cluster()); major != 0 {
		return ofMajor(found, major, "The database in "+h.cluster())
	}
	return newest(found)
}

// majorOf returns the major version of the files of a server, or 0 if there are none.
func majorOf(cluster string) int {
	text, _ := os.ReadFile(filepath.Join(cluster, "PG_VERSION")) // a missing file is no database
	major, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return major
}

// candidates lists directories that may contain the server programs: PATH, the output of pg_config,
// and usualFolders.
func candidates(ctx context.Context) []string {
	var dirs []string
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		// PATH often contains only a link to postgres, and initdb is in the directory of its
		// target.
		if target, err := filepath.EvalSymlinks(filepath.Join(dir, "postgres")); err == nil {
			dirs = append(dirs, filepath.Dir(target))
		}
	}
	if out, err := exec.CommandContext(ctx, "pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	for _, pattern := range usualFolders {
		matches, _ := filepath.Glob(pattern) // the patterns are valid
		dirs = append(dirs, matches...)
	}
	return dirs
}

var versionWord = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)

// installed returns the candidates that contain both programs, without duplicates, with their versions.
func installed(ctx context.Context) []programs { return installedIn(ctx, candidates(ctx)) }

func installedIn(ctx context.Context, dirs []string) []programs {
	var found []programs
	for _, dir := range dirs {
		if slices.ContainsFunc(found, func(p programs) bool { return p.dir == dir }) {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, "initdb")); err != nil {
			continue
		}
		out, err := exec.CommandContext(ctx, filepath.Join(dir, "postgres"), "--version").Output()
		m := versionWord.FindSubmatch(out)
		if err != nil || m == nil {
			continue
		}
		if major, err := strconv.Atoi(string(m[1])); err == nil {
			found = append(found, programs{dir, major})
		}
	}
	return found
}

// HowToInstall says how to install the server programs.
const HowToInstall = "install PostgreSQL 15 or newer (Debian, Ubuntu: apt-get install postgresql; " +
	"Fedora: dnf install postgresql-server)"

func newest(found []programs) (programs, error) {
	if len(found) == 0 {
		return programs{}, crash.Errorf(crash.Unavailable, "no_postgresql",
			"No PostgreSQL server programs were found on this machine: %s, or set database_url.", HowToInstall)
	}
	// Of several programs with one version, the first one wins: PATH precedes the usual
	// directories.
	best := found[0]
	for _, p := range found {
		if p.major > best.major {
			best = p
		}
	}
	if best.major < minMajor {
		return programs{}, crash.Errorf(crash.Unavailable, "old_postgresql",
			"The PostgreSQL found in %s is version %d: %s, or set database_url.", best.dir, best.major, HowToInstall)
	}
	return best, nil
}

// ofMajor returns the programs of a major version, which what needs.
func ofMajor(found []programs, major int, what string) (programs, error) {
	for _, p := range found {
		if p.major == major {
			return p, nil
		}
	}
	return programs{}, crash.Errorf(crash.Unavailable, "other_postgresql",
		"%s belongs to PostgreSQL %d, whose server programs were not found; "+
			"install that version (Debian, Ubuntu: apt-get install postgresql-%d), or use the container image that has it. "+
			"docs/operating.md (A newer PostgreSQL) says how to change to another version.", what, major, major)
}

// Found describes the private PostgreSQL of a data directory.
type Found struct {
	Dir      string // directory of the server's files
	Created  bool   // the files exist
	Programs string // directory of the server programs that would run it
	Major    int    // major version of these programs
	PID      int    // process of mishap that runs the server; 0: it is not running
	URL      string // address of the database, for pgx; empty: the server is not running or not ready
}

// Find looks for the private PostgreSQL of a data directory. It neither starts nor changes anything.
// It returns Unavailable if no suitable server programs are installed, and Forbidden if this user
// may not see the files. Even then, Found holds what is known.
func Find(ctx context.Context, dataDir string) (Found, error) {
	dir, err := findHome(dataDir)
	if err != nil {
		return Found{}, err
	}
	h := home{dir: dir}
	found := Found{Dir: dir}
	switch _, err := os.Stat(filepath.Join(h.cluster(), "PG_VERSION")); {
	case errors.Is(err, fs.ErrPermission) && os.Geteuid() != 0:
		return found, errForeign(dataDir, dir, err)
	case err == nil:
		found.Created = true
	}
	programs, err := choosePrograms(installed(ctx), h)
	if err != nil {
		return found, err
	}
	found.Programs, found.Major = programs.dir, programs.major
	lock, err := os.Open(h.path("owner.lock"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return found, nil
	case errors.Is(err, fs.ErrPermission):
		return found, errForeign(dataDir, h.path("owner.lock"), err)
	case err != nil:
		return found, fmt.Errorf("private database: %w", err)
	}
	l := &lockFile{lock}
	defer l.close()
	// A process that starts at this moment tries again, so this lock does not disturb it.
	if free, err := l.tryLock(syscall.LOCK_SH); err != nil || free {
		return found, err
	}
	owner, ready := readOwner(l)
	found.PID = owner.pid
	if ready {
		found.URL = (&Server{socket: owner.socket}).URL()
	}
	return found, nil
}

// findHome returns the directory of the server's files without creating it.
func findHome(dataDir string) (string, error) {
	dataDir, err := filepath.Abs(dataDir)
	if err != nil {
		return "", fmt.Errorf("data_dir: %w", err)
	}
	if target, err := filepath.EvalSymlinks(dataDir); err == nil {
		dataDir = target
	}
	elsewhere, err := os.ReadFile(filepath.Join(dataDir, "postgres.path"))
	switch {
	case err == nil:
		return strings.TrimSpace(string(elsewhere)), nil
	case errors.Is(err, fs.ErrPermission):
		return "", errForeign(dataDir, dataDir, err)
	}
	return filepath.Join(dataDir, "postgres"), nil
}

// errForeign returns the error about a file or folder below dataDir that this user may not use.
func errForeign(dataDir, path string, err error) error {
	owner := ""
	if info, statErr := os.Lstat(path); statErr == nil {
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			owner = userName(st.Uid)
		}
	}
	if owner == "root" {
		return crash.Errorf(crash.Forbidden, "data_dir_forbidden", "%s belongs to root. If this user is the one that runs "+
			"mishap, give it the whole data_dir, as root: chown -R %d:%d '%s'", path, os.Geteuid(), os.Getegid(),
			dataDir).Because(err)
	}
	if owner == "" {
		owner = "the owner of data_dir"
	}
	return crash.Errorf(crash.Forbidden, "data_dir_forbidden", "%s is not for this user; run this as %s: "+
		"sudo -u USER mishap …; or as root, which becomes the owner of data_dir by itself.", path, owner).Because(err)
}

// userName returns the name of an account, or its number if it has none.
func userName(uid uint32) string {
	id := strconv.Itoa(int(uid))
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return "#" + id
}

// errNoFolder returns the error about a folder that cannot be made. dataDir is the value of data_dir.
func errNoFolder(dataDir, dir string, err error) error {
	remedy := fmt.Sprintf("set data_dir to a folder of this user, or make it as root: install -d -o %s -m 700 '%s'",
		userName(uint32(os.Geteuid())), dataDir) //nolint:gosec // never negative here
	if errors.Is(err, syscall.EROFS) {
		remedy = "make the disk writable, or set data_dir to a folder on another one; a service of systemd may need " +
			"ReadWritePaths= for it"
	}
	return crash.Errorf(crash.Forbidden, "data_dir_forbidden", "data_dir: the folder %s cannot be made: %s.", dir,
		remedy).Because(err)
}

// FindTool returns the path of a client program such as pg_dump for a server of this major version: of
// the same version or, if there is none, the oldest later one. It returns Unavailable, with what to
// install, if there is no such program.
func FindTool(ctx context.Context, name string, major int) (string, error) {
	dirs := append(candidates(ctx), filepath.SplitList(os.Getenv("PATH"))...)
	best, bestMajor, oldMajor := "", 0, 0
	for _, dir := range dirs {
		path := filepath.Join(dir, name)
		out, err := exec.CommandContext(ctx, path, "--version").Output()
		m := versionWord.FindSubmatch(out)
		if err != nil || m == nil {
			continue
		}
		found, err := strconv.Atoi(string(m[1]))
		switch {
		case err != nil:
		case found < major:
			oldMajor = max(oldMajor, found)
		case best == "" || found < bestMajor:
			best, bestMajor = path, found
		}
	}
	remedy := fmt.Sprintf("install the client programs of PostgreSQL %d or newer (Debian, Ubuntu: apt-get install "+
		"postgresql-client-%d)", major, major)
	switch {
	case best != "":
		return best, nil
	case oldMajor > 0:
		return "", crash.Errorf(crash.Unavailable, "old_tool", "The %s of this machine has version %d, and the server "+
			"needs version %d: %s.", name, oldMajor, major, remedy)
	}
	return "", crash.Errorf(crash.Unavailable, "no_tool", "The program %s was not found on this machine: %s.", name,
		remedy)
}

// Remove deletes a data directory with its private database, which must not run. The database may be in
// another directory, see openHome.
func Remove(dataDir string) error {
	elsewhere, err := os.ReadFile(filepath.Join(dataDir, "postgres.path"))
	if dir := strings.TrimSpace(string(elsewhere)); err == nil && filepath.Dir(dir) == sharedRoot {
		err = os.RemoveAll(dir)
	}
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, os.RemoveAll(dataDir))
}

// RunTool runs a client program, with additional environment variables, until it ends. The program
// and its children are killed if ctx ends. If this process is killed, the kernel kills the program. An
// error contains the program's last messages.
func RunTool(ctx context.Context, environ []string, program string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "LC_ALL=C.UTF-8"}, environ...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	var out, messages bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &messages
	if err := onOwnThread(cmd.Run); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		text := lastMessages(messages.Bytes())
		if strings.Contains(text, syscall.ENOSPC.Error()) || strings.Contains(text, "No space left on device") {
			err = errors.Join(err, syscall.ENOSPC)
		}
		return nil, fmt.Errorf("%s: %w: %s", filepath.Base(program), err, text)
	}
	return out.Bytes(), nil
}

// Copy is a physical copy of the files of a PostgreSQL server, such as a base backup, from which Start
// makes a private PostgreSQL.
type Copy struct {
	Major    int                                         // major version of PostgreSQL
	Database string                                      // mishap's database in it
	Private  bool                                        // of a private PostgreSQL, whose configuration stays
	Write    func(ctx context.Context, dir string) error // writes the files to the empty directory dir
}

// CheckMajor returns Unavailable if the server programs of a major version of PostgreSQL are not
// installed. Files of a server work only with programs of the same major version.
func CheckMajor(ctx context.Context, major int) error {
	_, err := ofMajor(installed(ctx), major, theBackup)
	return err
}

const theBackup = "The database in the backup"

// The configuration of a private PostgreSQL that was made from the files of another server. That of the
// other server may name files of its machine, or send its write-ahead log to the same archive.
const (
	copiedSettings = "# mishap passes all settings on the command line.\n"
	copiedAccess   = "local all all trust\nlocal replication all trust\n"
)

// copyCluster creates the server's files from a copy. It returns Conflict if there are files.
func (h home) copyCluster(ctx context.Context, from *Copy, throwaway bool) error {
	h.removeScratch()
	if _, err := os.Stat(h.cluster()); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, crash.Errorf(crash.Conflict, "database_exists", "There is a database in %s; "+
			"name another folder, or move it away.", h.cluster()))
	}
	p, err := ofMajor(installed(ctx), from.Major, theBackup)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(h.dir, scratchPrefix)
	if err != nil {
		return fmt.Errorf("copy the database: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // after success, it has been renamed
	if err := from.Write(ctx, dir); err != nil {
		return err
	}
	if !from.Private {
		for name, text := range map[string]string{"postgresql.conf": copiedSettings, "pg_hba.conf": copiedAccess,
			"pg_ident.conf": "", "postgresql.auto.conf": ""} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				return err
			}
		}
	}
	err = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, h.account.chown(path))
	})
	if err != nil {
		return err
	}
	if !from.Private {
		if err := h.adoptDatabase(ctx, p, dir, from.Database, throwaway); err != nil {
			return err
		}
	}
	if err := os.Rename(dir, h.cluster()); err != nil {
		return fmt.Errorf("copy the database: %w", err)
	}
	return nil
}

// Statements for a single-user server, one a line. The server may have another database with our name.
const (
	adoptRole = "do $$ begin if not exists (select from pg_roles where rolname = '" + role + "') then create role " +
		role + "; end if; end $$;\n" +
		"alter role " + role + " with superuser login connection limit -1 valid until 'infinity';\n"
	freeName = "do $$ begin if exists (select from pg_database where datname = '" + database + "') then " +
		"alter database " + database + " rename to other_" + database + "; end if; end $$;\n"
)

// adoptDatabase gives the database and its role the names that a private PostgreSQL has. The server
// recovers from the write-ahead log of the copy first.
func (h home) adoptDatabase(ctx context.Context, p programs, dir, name string, throwaway bool) error {
	sql := adoptRole
	if name != database {
		quoted := `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
		sql += freeName + "alter database " + quoted + " rename to " + database + ";\n"
	}
	sql += "alter database " + database + " set log_error_verbosity = terse;\n"
	args := []string{"--single", "-D", dir, "-c", "exit_on_error=on"}
	for _, s := range settings(throwaway) {
		args = append(args, "-c", s)
	}
	if err := h.run(ctx, dir, sql, p.path("postgres"), append(args, "template1")...); err != nil {
		return fmt.Errorf("recover PostgreSQL %d: %w", p.major, err)
	}
	return nil
}
