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
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"
	"github.com/jackc/pgx/v5"
	"github.com/prometheus/procfs"

	"mishap/crash"
	"mishap/crash/checktest"
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
		disconnect(h.urlOf(name))
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

// Counted waits until every report stored in s so far is counted. Tests call it before they read
// counts, since a busy store counts reports later. It waits as long as necessary, and fails on any
// error other than a time-out.
func Counted(t testing.TB, s *db.Store) {
	t.Helper()
	for {
		err := s.WaitCounted(t.Context())
		if err == nil {
			return
		}
		if !errors.Is(err, crash.Unavailable) || t.Context().Err() != nil || s.Ping(t.Context()) != nil {
			t.Fatalf("wait until the stored reports are counted: %v", err)
		}
	}
}

// Exec runs a statement in the database at url, bypassing stores. It creates rows that older
// versions of mishap, or accidents, leave behind.
func Exec(t testing.TB, url, sql string, args ...any) {
	t.Helper()
	beside(t, url, func(conn *pgx.Conn) {
		if _, err := conn.Exec(t.Context(), sql, args...); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	})
}

// side has a connection for each database, because PostgreSQL spends about 10 ms on each new one.
var side struct {
	sync.Mutex
	conns map[string]*pgx.Conn
}

// beside calls do with a connection that no store uses. It makes one if there is none that works.
func beside(t testing.TB, url string, do func(*pgx.Conn)) {
	t.Helper()
	side.Lock()
	conn := side.conns[url]
	delete(side.conns, url)
	side.Unlock()
	if conn == nil || conn.Ping(t.Context()) != nil {
		conn = Must(pgx.Connect(t.Context(), url))(t)
	}
	do(conn)
	disconnect(url) // another test may have connected meanwhile
	side.Lock()
	defer side.Unlock()
	if side.conns == nil {
		side.conns = map[string]*pgx.Conn{}
	}
	side.conns[url] = conn
}

// disconnect closes the connection of [beside] to a database, if there is one.
func disconnect(url string) {
	side.Lock()
	defer side.Unlock()
	if conn := side.conns[url]; conn != nil {
		_ = conn.Close(context.Background())
		delete(side.conns, url)
	}
}

// Log returns a logger that writes to the test's output.
func Log(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// Processes are a server and its PostgreSQL, both on this machine.
type Processes struct{ server, postmaster int }

// Used is the resource usage of processes so far.
type Used struct {
	Server, PostgreSQL float64 // processor time in seconds
	Memory             float64 // present resident memory of the server in MB
}

// FindProcesses returns the processes of a server, given its process id, and of the PostgreSQL at
// databaseURL.
func FindProcesses(ctx context.Context, server int, databaseURL string) (Processes, error) {
	conn, err := pgx.Connect(ctx, databaseURL)
	if err != nil {
		return Processes{}, err
	}
	defer conn.Close(ctx) //nolint:errcheck // its result does not matter
	backend, err := procfs.NewProc(int(conn.PgConn().PID()))
	if err != nil {
		return Processes{}, fmt.Errorf("PostgreSQL does not run on this machine: %w", err)
	}
	stat, err := backend.Stat()
	return Processes{server, stat.PPID}, err
}

// Used returns the total usage of the processes. Usage of ended backends is included in the
// postmaster's.
func (p Processes) Used() (u Used) {
	const ticksPerSecond = 100 // USER_HZ, the same on every Linux
	processes, _ := procfs.AllProcs()
	for _, process := range processes {
		stat, err := process.Stat()
		if err != nil { // it has just ended
			continue
		}
		seconds := (float64(stat.UTime+stat.STime) + float64(stat.CUTime+stat.CSTime)) / ticksPerSecond
		switch {
		case stat.PID == p.server:
			u.Server, u.Memory = seconds, float64(stat.ResidentMemory())/1e6
		case stat.PID == p.postmaster, stat.PPID == p.postmaster:
			u.PostgreSQL += seconds
		}
	}
	return u
}

// Connect returns a connection to a database, which is closed when the test ends.
func Connect(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	return conn
}

// Lines returns the rows of a query for two texts as a map.
func Lines(t testing.TB, url, sql string) map[string]string {
	t.Helper()
	found := map[string]string{}
	beside(t, url, func(conn *pgx.Conn) {
		rows, _ := conn.Query(t.Context(), sql) // ForEachRow returns its error
		var key, value string
		if _, err := pgx.ForEachRow(rows, []any{&key, &value}, func() error {
			found[key] = value
			return nil
		}); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	})
	return found
}

// cheapHash makes hashing take microseconds. The parameters for real passwords take 35 ms, and most
// tests sign in.
var cheapHash = argon2id.Params{Memory: 8, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32}

const sqlAddUser = `
	with added as (
		insert into users (name, role, password_hash, created) values (@name, @role, @hash, now())
		on conflict do nothing returning id
	)
	insert into account_grants (user_id, role, scope, scope_name, person, created)
	select id, 'private', 'everything', '', '', now() from added where @private::boolean`

// AddUser adds an account like [accounts.Store.Add], unless it exists, but with a hash that is fast
// to check. A hash contains its parameters, so signing in works as usual. The account may read
// private data of all packages.
func AddUser(t testing.TB, s *db.Store, name string, role crash.Role, password string) {
	t.Helper()
	addUser(t, s, name, role, password, role != crash.RoleAdmin) // administrators may do so anyway
}

// AddUserWithoutPrivate adds an account like [AddUser], without the right to read private data.
func AddUserWithoutPrivate(t testing.TB, s *db.Store, name string, role crash.Role, password string) {
	t.Helper()
	addUser(t, s, name, role, password, false)
}

func addUser(t testing.TB, s *db.Store, name string, role crash.Role, password string, private bool) {
	t.Helper()
	hash, err := argon2id.CreateHash(password, &cheapHash)
	if err != nil {
		t.Fatalf("hash password: %v", err)
	}
	// A connection of the store, because PostgreSQL spends about 25 ms on each new one.
	args := pgx.NamedArgs{"name": name, "role": role, "hash": hash, "private": private}
	if _, err := s.Pool.Exec(t.Context(), sqlAddUser, args); err != nil {
		t.Fatalf("add user %s: %v", name, err)
	}
}

// Must returns a function that returns value, or ends the test if err is not nil: Must(f())(t).
func Must[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		checktest.NoError(t, err)
		return value
	}
}
