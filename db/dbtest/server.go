package dbtest

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"syscall"

	"mishap/db/disk"
	"mishap/db/embedded"
)

// Server is a throw-away PostgreSQL server: fast, and gone after [Server.Close] or the end of the process, however that
// comes about.
type Server struct {
	server *embedded.Server
	alive  *os.File
}

// StartServer starts a throw-away server. Its files lie in memory where that is possible, see parentFolder.
func StartServer(ctx context.Context) (*Server, error) {
	dir, err := os.MkdirTemp(parentFolder(), "mishap-test-")
	if err != nil {
		return nil, err
	}
	// The server's user must get in; what is private lies further down.
	if err := os.Chmod(dir, 0o755); err != nil { // see above
		return nil, err
	}
	s, err := embedded.Start(ctx, embedded.Config{
		DataDir: dir, Exclusive: true, Throwaway: true,
		Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	alive, err := cleanUpAfter(dir, s.Dir())
	if err != nil {
		return nil, errors.Join(err, s.Stop(ctx), os.RemoveAll(dir))
	}
	return &Server{s, alive}, nil
}

// sharedMemory is the folder on Linux whose files lie in memory.
const sharedMemory = "/dev/shm"

// minSharedMemory is the free space from which sharedMemory is used. The databases of a run of all tests need half of it.
const minSharedMemory = 2 << 30

// parentFolder returns the folder for the server's files: TMPDIR if it is set, else sharedMemory if it has enough space,
// else the folder for temporary files. Each test makes and removes some 400 files; on ext4 that costs three times as much
// processor time as the queries of an average test, in memory next to nothing.
func parentFolder() string {
	if space, err := disk.Of(sharedMemory); err == nil && space.Free >= minSharedMemory && os.Getenv("TMPDIR") == "" {
		return sharedMemory
	}
	return os.TempDir()
}

// URL is the address of a database whose user may create others.
func (s *Server) URL() string { return s.server.URL() }

// Close stops the server. Its files go away a moment later.
func (s *Server) Close(ctx context.Context) error {
	return errors.Join(s.server.Stop(ctx), s.alive.Close())
}

// watch waits for the end of its standard input, stops the server (which has happened already, unless the process was
// killed on a system where the kernel does not see to it), and removes the folders when it is gone.
const watch = `cat >/dev/null
pid=$(head -n 1 "$2/data/postmaster.pid" 2>/dev/null) && kill -INT "$pid" 2>/dev/null
while [ -n "$pid" ] && kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
rm -rf "$1" "$2"`

// cleanUpAfter starts a shell that outlives this process by a moment. It waits for the returned file to be closed, which
// the end of the process does too.
func cleanUpAfter(dir, server string) (*os.File, error) {
	ended, alive, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = ended.Close() }()
	cmd := exec.Command("/bin/sh", "-c", watch, "sh", dir, server) //nolint:noctx // it must outlive us
	cmd.Stdin = ended
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is not for it
	return alive, cmd.Start()
}
