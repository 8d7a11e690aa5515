// Package dbtest gives each test a PostgreSQL database of its own, so that tests commit for real
// and run in parallel.
//
// The databases are clones of a template, which is migrated once for each state of the migrations;
// a clone takes about 20 ms. They are on the server that TEST_DATABASE_URL names, whose user must
// be allowed to create databases. Without it, they are on a private server that stops with the test
// process, even if that is killed. If PostgreSQL is not installed, tests fail with a message that
// says what to install.
package dbtest

import (
	"cmp"
	"context"
	"crypto/rand"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/db"
)

// New opens a store with a new, migrated database. Both exist until the test ends.
func New(t testing.TB) *db.Store {
	t.Helper()
	return Open(t, URL(t))
}

// URL returns the address of a new, migrated database, for tests with several stores or processes.
// The end of the test removes the database, even if there are connections to it.
func URL(t testing.TB) string {
	t.Helper()
	return create(t, sqlCloneTemplate)
}

// Empty returns the address of a new database without tables, to test migrations.
func Empty(t testing.TB) string {
	t.Helper()
	return create(t, sqlCreateEmpty)
}

// Latin1 returns the address of a new database without tables that cannot store all characters.
func Latin1(t testing.TB) string {
	t.Helper()
	return create(t, sqlCreateLatin1)
}

// Open opens a store on the database at url and closes it when the test ends. It logs to the test's
// output.
func Open(t testing.TB, url string) *db.Store {
	t.Helper()
	return OpenConfig(t, db.Config{URL: url})
}

// OpenAt works like Open, with a clock that always shows now.
func OpenAt(t testing.TB, url string, now time.Time) *db.Store {
	t.Helper()
	return OpenConfig(t, db.Config{URL: url, Now: func() time.Time { return now }})
}

// OpenConfig opens a store like [Open], with the given settings. It sets the log and, unless c
// does, the number of connections.
func OpenConfig(t testing.TB, c db.Config) *db.Store {
	t.Helper()
	c.MaxConns, c.Log = cmp.Or(c.MaxConns, 8), Log(t)
	s, err := db.Open(t.Context(), c)
	if err != nil {
		t.Fatalf("open test database: %v", err)
	}
	t.Cleanup(s.Close)
	return s
}

// Broken returns a store whose database is unavailable, so that each call fails.
func Broken(t testing.TB) *db.Store {
	t.Helper()
	s := New(t)
	s.Close()
	return s
}

const (
	sqlCloneTemplate = `create database %s template %s strategy file_copy`
	sqlCreateEmpty   = `create database %s template template0`
	sqlCreateLatin1  = `create database %s encoding 'LATIN1' lc_collate 'C' lc_ctype 'C' template template0`
	sqlDrop          = `drop database if exists %s with (force)`
)

func create(t testing.TB, sql string) string {
	t.Helper()
	h, err := theHost()
	if err != nil {
		t.Fatalf("no database to test with: %v", err)
	}
	name := "test_" + strings.ToLower(rand.Text())
	sql = strings.Replace(strings.Replace(sql, "%s", quote(name), 1), "%s", quote(h.template), 1)
	if _, err := h.admin.Exec(t.Context(), sql); err != nil {
		t.Fatalf("create test database: %v", err)
	}
	t.Cleanup(func() {
		// t.Context() has been cancelled.
		if _, err := h.admin.Exec(context.Background(), strings.Replace(sqlDrop, "%s", quote(name), 1)); err != nil {
			t.Errorf("drop test database: %v", err)
		}
	})
	return h.urlOf(name)
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }

// withDatabase replaces the database in a postgres:// address. Connecting may take a minute, because
// tests also run on crowded machines.
func withDatabase(address, name string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	u.Path = "/" + name
	options := u.Query()
	options.Set("connect_timeout", "60")
	u.RawQuery = options.Encode()
	return u.String(), nil
}
