package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"mishap/crash"
)

// Upgraded describes what Upgrade has done.
type Upgraded struct {
	From, To int    // major versions of PostgreSQL
	Old      string // directory with the files of the old version; empty: there was nothing to do
}

// Upgrade moves the private PostgreSQL of c.DataDir to the newest version that is installed, with
// pg_upgrade. The files of the old version stay in Upgraded.Old. Until its end, and if it fails, the
// database is as it was.
//
// Upgrade returns Conflict if another process uses the data directory or if it has no database, and
// Unavailable if the server programs of the old version are not installed.
func Upgrade(ctx context.Context, c Config) (Upgraded, error) {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	h, err := openHome(ctx, c.DataDir, sharedRoot)
	if err != nil {
		return Upgraded{}, err
	}
	lock, err := openLock(c.DataDir, h.path("owner.lock"))
	if err != nil {
		return Upgraded{}, err
	}
	defer lock.close()
	if owned, err := lock.tryLock(exclusive); err != nil || !owned {
		other, _ := readOwner(lock)
		return Upgraded{}, errors.Join(err, inUse(c.DataDir, other))
	}
	if err := (owner{pid: os.Getpid(), exclusive: true}).write(lock); err != nil {
		return Upgraded{}, err
	}
	major := majorOf(h.cluster())
	if major == "" {
		return Upgraded{}, crash.Errorf(crash.Conflict, "no_database", "There is no database in %s yet; mishap makes it "+
			"with the newest PostgreSQL that is installed.", c.DataDir)
	}
	found := installed(ctx, candidates(ctx))
	from, err := ofMajor(found, major, h.cluster())
	if err != nil {
		return Upgraded{}, err
	}
	to, err := newest(found)
	if err != nil || to.major <= from.major {
		return Upgraded{From: from.major, To: from.major}, err
	}
	if err := h.endOrphans(ctx, c.Log); err != nil {
		return Upgraded{}, err
	}
	old, err := h.upgrade(ctx, from, to, c.Throwaway)
	return Upgraded{From: from.major, To: to.major, Old: old}, err
}

// majorOf returns the major version of the files of a server, or "" if there are none.
func majorOf(cluster string) string {
	text, _ := os.ReadFile(filepath.Join(cluster, "PG_VERSION")) // a missing file is no database
	return strings.TrimSpace(string(text))
}

// upgrade makes the files of the new version beside the old ones and exchanges the two directories. It
// returns the directory that has the old files then.
func (h home) upgrade(ctx context.Context, from, to programs, throwaway bool) (string, error) {
	dir := fmt.Sprintf("%s-%d", h.cluster(), from.major)
	if majorOf(dir) == fmt.Sprint(from.major) {
		return "", crash.Errorf(crash.Conflict, "old_database_exists", "%s has the files of an earlier upgrade; move it "+
			"away.", dir)
	}
	socket, err := h.socketFolder()
	if err != nil {
		return "", err
	}
	defer func() { _ = os.Remove(socket) }() // the next start creates it again
	if err := errors.Join(h.removeStale(socket), os.RemoveAll(dir), os.Mkdir(dir, 0o700),
		h.account.chown(dir)); err != nil {
		return "", fmt.Errorf("upgrade PostgreSQL: %w", err)
	}
	if err := h.initdb(ctx, to, dir, throwaway); err != nil {
		return "", err
	}
	// A server that was killed has to recover first.
	if err := h.run(ctx, h.cluster(), "", from.path("postgres"), "--single", "-D", h.cluster(), "template1"); err != nil {
		return "", err
	}
	// With the name, the next start finds the servers of pg_upgrade if this process is killed.
	options := "-c cluster_name=" + h.name()
	err = h.run(ctx, dir, "", to.path("pg_upgrade"), "--old-bindir="+from.dir, "--new-bindir="+to.dir,
		"--old-datadir="+h.cluster(), "--new-datadir="+dir, "--username="+role, "--socketdir="+socket, "--jobs=2",
		"--old-options="+options, "--new-options="+options)
	if err != nil {
		return "", fmt.Errorf("%w; the database is as it was", err)
	}
	_ = os.Remove(filepath.Join(dir, "delete_old_cluster.sh")) // it would delete the wrong files
	if err := exchange(h.cluster(), dir); err != nil {
		return "", fmt.Errorf("exchange %s and %s: %w; the database is as it was", h.cluster(), dir, err)
	}
	return dir, nil
}
