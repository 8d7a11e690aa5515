package embedded

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"mishap/crash"
)

// firstSQL creates mishap's database. Error messages in the server's log omit the rows that caused
// them, since rows contain crash reports.
const firstSQL = "create database " + database + ";\n" +
	"alter database " + database + " set log_error_verbosity = terse;\n"

// makeCluster creates the server's files if there are none. It uses a temporary directory and
// renames it at the end, so an interrupted start leaves nothing that looks like a database.
func (h home) makeCluster(ctx context.Context, p programs, throwaway bool) error {
	h.removeScratch()
	if _, err := os.Stat(filepath.Join(h.cluster(), "PG_VERSION")); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	scratch, err := os.MkdirTemp(h.dir, scratchPrefix)
	if err != nil {
		return fmt.Errorf("make the private database: %w", err)
	}
	defer func() { _ = os.RemoveAll(scratch) }() // after success, it has been renamed
	if err := h.account.chown(scratch); err != nil {
		return err
	}
	if err := h.initdb(ctx, p, scratch, throwaway); err != nil {
		return err
	}
	if err := h.run(ctx, scratch, firstSQL, p.path("postgres"), "--single", "-D", scratch, "postgres"); err != nil {
		return err
	}
	if err := os.Rename(scratch, h.cluster()); err != nil {
		return fmt.Errorf("make the private database: %w", err)
	}
	return nil
}

// initdb makes the files of a server without databases in an empty directory.
func (h home) initdb(ctx context.Context, p programs, dir string, throwaway bool) error {
	args := []string{
		"--pgdata=" + dir, "--username=" + role, "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8",
		"--lc-messages=C", "--data-checksums", "--no-instructions",
	}
	if throwaway {
		args = append(args, "--no-sync")
	}
	return h.run(ctx, dir, "", p.path("initdb"), args...)
}

// scratchPrefix begins the names of temporary directories.
const scratchPrefix = "new-"

// removeScratch removes the temporary directories of interrupted starts.
func (h home) removeScratch() {
	leftovers, _ := filepath.Glob(h.path(scratchPrefix + "*")) // the pattern is valid
	for _, dir := range leftovers {
		_ = os.RemoveAll(dir) // a remaining directory does no harm
	}
}

// run runs a program until it ends. An error includes its last messages.
func (h home) run(ctx context.Context, dir, input, program string, args ...string) error {
	cmd := h.account.command(ctx, dir, program, args...)
	dieWithParent(cmd.SysProcAttr)
	cmd.Stdin = strings.NewReader(input)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := onOwnThread(cmd.Run); err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(program), err, lastMessages(out.Bytes()))
	}
	return nil
}

// routineMessages lists routine messages at the start of a server, which explain nothing.
var routineMessages = []string{"starting PostgreSQL", "listening on", "database system is", "database system was",
	"shutting down"}

// lastMessages returns the messages in a program's output that explain its failure: the last lines
// with a level, without time stamps, or else the last lines.
func lastMessages(out []byte) string {
	const enough = 5
	level := regexp.MustCompile(`\b(?:FATAL|PANIC|ERROR|LOG|DETAIL|HINT|error|detail|hint):\s+(.*)$`)
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	var said []string
	for _, line := range lines {
		m := level.FindStringSubmatch(line)
		if m != nil && !slices.ContainsFunc(routineMessages, func(s string) bool { return strings.HasPrefix(m[1], s) }) {
			said = append(said, m[1])
		}
	}
	if len(said) == 0 {
		said = lines
	}
	said = slices.Compact(said)
	return strings.Join(said[max(0, len(said)-enough):], "; ")
}

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
