package dbtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"mishap/db"
	"mishap/db/embedded"
	"mishap/migrations"
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
	if space, err := db.SpaceOf(sharedMemory); err == nil && space.Free >= minSharedMemory && os.Getenv("TMPDIR") == "" {
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

// Copy copies the database at address, which must have no connections. The returned function
// replaces the database by the copy, like an administrator who restores a backup. It terminates all
// connections.
func Copy(t testing.TB, address string) (restore func()) {
	t.Helper()
	h, err := theHost()
	if err != nil {
		t.Fatalf("no database to test with: %v", err)
	}
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.TrimPrefix(u.Path, "/")
	disconnect(address)
	run := func(ctx context.Context, sql, to, from string) {
		t.Helper()
		sql = strings.Replace(strings.Replace(sql, "%s", quote(to), 1), "%s", quote(from), 1)
		if _, err := h.admin.Exec(ctx, sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	run(t.Context(), sqlCloneTemplate, name+"_copy", name)
	t.Cleanup(func() { run(context.Background(), sqlDrop, name+"_copy", "") })
	return func() {
		t.Helper()
		run(t.Context(), sqlDrop, name, "")
		run(t.Context(), sqlCloneTemplate, name, name+"_copy")
	}
}

// Refuse makes the server end and refuse connections to the database at address, or accept them again.
func Refuse(t testing.TB, address string, refuse bool) {
	t.Helper()
	h, err := theHost()
	if err != nil {
		t.Fatalf("no database to test with: %v", err)
	}
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.TrimPrefix(u.Path, "/")
	sql := "alter database " + quote(name) + " allow_connections " + strconv.FormatBool(!refuse)
	if _, err := h.admin.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	if refuse {
		if _, err := h.admin.Exec(t.Context(), sqlDisconnect, name); err != nil {
			t.Fatalf("end the connections to %s: %v", name, err)
		}
	}
}

const sqlDisconnect = "select pg_terminate_backend(pid) from pg_stat_activity where datname = $1"

// host is the server with the test databases.
type host struct {
	url      string
	admin    *pgxpool.Pool
	template string
	private  *Server // nil: TEST_DATABASE_URL is set
}

// theHost starts or finds the server once per process.
var theHost = sync.OnceValues(func() (*host, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	h := &host{url: os.Getenv("TEST_DATABASE_URL")}
	if h.url == "" {
		var err error
		if h.private, err = StartServer(ctx); err != nil {
			return nil, err
		}
		h.url = h.private.URL()
	}
	c, err := pgxpool.ParseConfig(h.url)
	if _, urlErr := withDatabase(h.url, "x"); err != nil || urlErr != nil || !strings.HasPrefix(h.url, "postgres") {
		// The parser's error may contain the password.
		return nil, errors.New("TEST_DATABASE_URL should look like postgres://user:password@host:5432/postgres")
	}
	c.MaxConns = 2
	if h.admin, err = pgxpool.NewWithConfig(ctx, c); err != nil {
		return nil, err
	}
	if h.template, err = templateName(); err != nil {
		return nil, err
	}
	return h, h.makeTemplate(ctx)
})

// templateName returns a name that contains a hash of everything that determines the migrated
// schema.
func templateName() (string, error) {
	sum := sha256.New()
	add := func(files fs.FS) error {
		return fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := fs.ReadFile(files, path)
			fmt.Fprintf(sum, "%s %d\n%s", path, len(text), text)
			return err
		})
	}
	if err := errors.Join(add(migrations.Files), add(riverpgxv5.New(nil).GetMigrationFS("main"))); err != nil {
		return "", err
	}
	return "mishap_template_" + hex.EncodeToString(sum.Sum(nil)[:8]), nil
}

const (
	sqlLockTemplate   = `select pg_advisory_lock(@lock)`
	sqlUnlockTemplate = `select pg_advisory_unlock(@lock)`
	sqlHasTemplate    = `select exists (select from pg_database where datname = @name)`
	templateLock      = int64(0x6d697368_74706c) // any fixed number
)

// makeTemplate migrates the template, unless another test process has done so. It works under a
// temporary name until the template is complete. Cloning requires that a template has no
// connections, so it finally disallows them.
func (h *host) makeTemplate(ctx context.Context) error {
	conn, err := h.admin.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, sqlLockTemplate, pgx.NamedArgs{"lock": templateLock}); err != nil {
		return err
	}
	defer func() { _, _ = conn.Exec(ctx, sqlUnlockTemplate, pgx.NamedArgs{"lock": templateLock}) }()
	var made bool
	if err := conn.QueryRow(ctx, sqlHasTemplate, pgx.NamedArgs{"name": h.template}).Scan(&made); err != nil || made {
		return err
	}
	growing := h.template + "_growing"
	for _, sql := range []string{
		"drop database if exists " + quote(growing) + " with (force)",
		"create database " + quote(growing) + " template template0",
	} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return err
		}
	}
	if err := db.Migrate(ctx, h.urlOf(growing), slog.New(slog.DiscardHandler)); err != nil {
		return err
	}
	for _, sql := range []string{
		"alter database " + quote(growing) + " allow_connections false",
		"alter database " + quote(growing) + " rename to " + quote(h.template),
	} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

// urlOf returns the address of another database on the server.
func (h *host) urlOf(name string) string {
	u, err := withDatabase(h.url, name)
	if err != nil {
		panic(err) // theHost has parsed it
	}
	return u
}
