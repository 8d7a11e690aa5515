package embedded

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"mishap/crash"
)

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
