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

// sharedRoot holds the files of data directories that the server's user may not enter.
const sharedRoot = "/var/lib/mishap"

const (
	role       = "mishap"
	database   = "mishap"
	socketPort = "5432"
	maxSocket  = 107 // bytes of a unix socket's path, of 108 with the closing NUL
)

// home is the folder of one private PostgreSQL:
//
//	data/        its files, as initdb made them
//	run/         the unix socket
//	server.log   what the server says
//	owner.lock   held by the process that runs the server
//	users.lock   held, shared, by those that use it
type home struct {
	dir     string
	account account
	notice  string
}

func (h home) path(name string) string { return filepath.Join(h.dir, name) }
func (h home) cluster() string         { return h.path("data") }

// name marks all processes of this server in the list of processes, where they can be found without further rights.
func (h home) name() string { return "mishap-" + shortHash(h.dir) }

func shortHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:6])
}

// openHome finds or makes the folder for dataDir: postgres below it, or, when the server's user may not go there, a
// folder below root. Where it went is written beside, in postgres.path, so that it is found again even after dataDir has
// been renamed.
func openHome(ctx context.Context, dataDir, root string) (home, error) {
	dataDir, err := filepath.Abs(dataDir)
	if err != nil {
		return home{}, fmt.Errorf("data_dir: %w", err)
	}
	if err := os.MkdirAll(dataDir, 0o755); err != nil { // the server's user must pass through
		return home{}, crash.Errorf(crash.Forbidden, "data_dir_forbidden", "The folder %s cannot be made: %v.", dataDir, err)
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
	_ = os.Remove(h.dir) // it is empty: nobody could work in it
	if err := os.MkdirAll(root, 0o755); err != nil {
		return home{}, fmt.Errorf("data_dir: %w", err)
	}
	if h, err = homeAt(ctx, dataDir, filepath.Join(root, filepath.Base(dataDir)+"-"+shortHash(dataDir))); err != nil {
		return h, err
	}
	return h, os.WriteFile(pointer, []byte(h.dir+"\n"), 0o644)
}

// homeAt makes the folder dir and sees that the server's user can reach it. Only data and run in it belong to that user.
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
		return h, crash.Errorf(crash.Forbidden, "data_dir_forbidden", "The folder %s cannot be made: %v.", dir, err)
	}
	if !a.mayEnter(ctx, dir) {
		return h, crash.Errorf(crash.Forbidden, "data_dir_forbidden",
			"PostgreSQL would run as %s, who may not enter %s; choose another data_dir.", a.name, dir)
	}
	if filepath.Dir(dir) != dataDir {
		h.notice = fmt.Sprintf("PostgreSQL does not run as root, and %s may not enter %s: its files are in %s.", a.name, dataDir, dir)
	}
	return h, nil
}

// socketFolder makes the folder of the unix socket: run, or where that path would be too long for a socket a short one
// in /tmp that belongs to the server's user alone.
func (h home) socketFolder() (string, error) {
	dir := h.path("run")
	if len(dir)+len("/.s.PGSQL."+socketPort) > maxSocket {
		dir = filepath.Join("/tmp", h.name())
	}
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, os.ErrExist) {
		// From the last time. But anyone may make folders in /tmp: one that is not ours cannot be used.
		if info, err := os.Lstat(dir); err == nil && privateTo(info, h.account) {
			return dir, nil
		}
		dir, err = os.MkdirTemp("/tmp", "mishap-")
	}
	if err != nil {
		return "", fmt.Errorf("socket folder: %w", err)
	}
	return dir, h.account.give(dir)
}

func privateTo(info os.FileInfo, a account) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.Mode() == os.ModeDir|0o700 && st.Uid == a.uid
}
