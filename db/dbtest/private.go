package dbtest

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"syscall"

	"mishap/db/embedded"
)

// startPrivate starts a server that lives until the returned file is closed, which the end of this process does at the
// latest. Then its files are removed too.
func startPrivate(ctx context.Context) (string, *os.File, error) {
	dir, err := os.MkdirTemp("", "mishap-test-")
	if err != nil {
		return "", nil, err
	}
	// The server's user must get in; what is private lies further down.
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // see above
		return "", nil, err
	}
	s, err := embedded.Start(ctx, embedded.Config{
		DataDir: dir, Exclusive: true, Throwaway: true,
		Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		_ = os.RemoveAll(dir)
		return "", nil, err
	}
	alive, err := cleanUpAfter(dir, s.Dir())
	if err != nil {
		return "", nil, fmt.Errorf("watch over the test server: %w", err)
	}
	return s.URL(), alive, nil
}

// watch waits for the end of its standard input, stops the server (the kernel has done so already where it can), and
// removes the folders when it is gone.
const watch = `cat >/dev/null
pid=$(head -n 1 "$2/data/postmaster.pid" 2>/dev/null) && kill -INT "$pid" 2>/dev/null
while [ -n "$pid" ] && kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
rm -rf "$1" "$2"`

// cleanUpAfter starts a shell that outlives this process, by a moment.
func cleanUpAfter(dir, server string) (*os.File, error) {
	ended, alive, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = ended.Close() }()
	cmd := exec.Command("/bin/sh", "-c", watch, "sh", dir, server) //nolint:gosec // our own folders
	cmd.Stdin = ended
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is not for it
	return alive, cmd.Start()
}
