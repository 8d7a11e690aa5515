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

// Server is a fast, temporary PostgreSQL server. It is removed by [Server.Close], or at the end of
// the process, even if that is killed.
type Server struct {
	server *embedded.Server
	alive  *os.File
}

// StartServer starts a temporary server. Its files are in memory if possible; see parentFolder.
func StartServer(ctx context.Context) (*Server, error) {
	dir, err := os.MkdirTemp(parentFolder(), "mishap-test-")
	if err != nil {
		return nil, err
	}
	// The server's user needs access to the directory; private files are in subdirectories.
	if err := os.Chmod(dir, 0o755); err != nil { // as explained above
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

// sharedMemory is a directory on Linux whose files are in memory.
const sharedMemory = "/dev/shm"

// minSharedMemory is the free space in bytes that sharedMemory needs. The databases of a complete
// test run take up half of it.
const minSharedMemory = 2 << 30

// parentFolder returns the directory for the server's files: TMPDIR if set, else sharedMemory if it
// has enough space, else the default temporary directory. Each test creates and removes about 400
// files. On ext4, that takes three times as much processor time as the queries of an average test;
// in memory, it takes almost none.
func parentFolder() string {
	if space, err := disk.Of(sharedMemory); err == nil && space.Free >= minSharedMemory && os.Getenv("TMPDIR") == "" {
		return sharedMemory
	}
	return os.TempDir()
}

// URL returns the address of a database whose user may create others.
func (s *Server) URL() string { return s.server.URL() }

// Close stops the server. Its files are removed soon after.
func (s *Server) Close(ctx context.Context) error {
	return errors.Join(s.server.Stop(ctx), s.alive.Close())
}

// watch is a script that waits for the end of its standard input, stops the server and removes its
// files. The server is still running only if the process was killed on a system other than Linux.
const watch = `cat >/dev/null
pid=$(head -n 1 "$2/data/postmaster.pid" 2>/dev/null) && kill -INT "$pid" 2>/dev/null
while [ -n "$pid" ] && kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
rm -rf "$1" "$2"`

// cleanUpAfter starts a shell that runs watch and survives this process. The shell waits until the
// returned file is closed, by Close or by the end of the process.
func cleanUpAfter(dir, server string) (*os.File, error) {
	ended, alive, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = ended.Close() }()
	cmd := exec.Command("/bin/sh", "-c", watch, "sh", dir, server) //nolint:noctx // it must outlive us
	cmd.Stdin = ended
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // protects it from Ctrl-C
	return alive, cmd.Start()
}
