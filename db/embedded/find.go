package embedded

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"mishap/crash"
)

// Found describes the private PostgreSQL of a data directory.
type Found struct {
	Dir      string // directory of the server's files
	Created  bool   // the files exist
	Programs string // directory of the server programs that would run it
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
		return found, errForeign(dir, err)
	case err == nil:
		found.Created = true
	}
	programs, err := findPrograms(ctx, h)
	if err != nil {
		return found, err
	}
	found.Programs = programs.dir
	lock, err := os.Open(h.path("owner.lock"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return found, nil
	case errors.Is(err, fs.ErrPermission):
		return found, errForeign(dir, err)
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
		return "", errForeign(dataDir, err)
	}
	return filepath.Join(dataDir, "postgres"), nil
}

func errForeign(dir string, err error) error {
	return crash.Errorf(crash.Forbidden, "data_dir_forbidden",
		"%s belongs to another user; run this as that user or as root.", dir).Because(err)
}
