package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"mishap/crash"
)

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
