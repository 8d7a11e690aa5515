package embedded

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"mishap/crash"
)

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
	programs, err := findPrograms(ctx, h)
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
