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

// endOrphans ends what is left of a server whose owner was killed. The caller holds the owner's lock, so nobody else
// has a right to these processes.
//
// PostgreSQL's own check is not enough: it trusts the process id in postmaster.pid, which may be a zombie that nobody
// reaps or, after a reboot, another process altogether.
func (h home) endOrphans(ctx context.Context, log *slog.Logger) error {
	for _, step := range []struct {
		signal   syscall.Signal
		patience time.Duration
	}{{syscall.SIGINT, stopPatience / 2}, {syscall.SIGQUIT, killPatience}, {syscall.SIGKILL, killPatience}} {
		orphans, err := h.processes()
		if err != nil || len(orphans) == 0 {
			return err
		}
		log.Info("ending a PostgreSQL that lost its mishap", "processes", orphans, "signal", step.signal.String())
		for _, pid := range orphans {
			_ = syscall.Kill(pid, step.signal) // it may have ended meanwhile
		}
		for began := time.Now(); time.Since(began) < step.patience; {
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

// removeStale removes the files by which PostgreSQL would take a dead server for a living one.
func (h home) removeStale(socket string) error {
	for _, path := range []string{
		filepath.Join(h.cluster(), "postmaster.pid"),
		filepath.Join(socket, ".s.PGSQL."+socketPort),
		filepath.Join(socket, ".s.PGSQL."+socketPort+".lock"),
	} {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("clear away after an earlier server: %w", err)
		}
	}
	return nil
}
