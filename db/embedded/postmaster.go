package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
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
	stopWithParent(cmd.SysProcAttr)
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
