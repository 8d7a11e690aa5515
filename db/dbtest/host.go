package dbtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"mishap/db"
	"mishap/migrations"
)

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
