package dbtest_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/db/dbtest"
)

func value[T any](t *testing.T, url, sql string) (got T) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if err := conn.QueryRow(t.Context(), sql).Scan(&got); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return got
}

func TestEachTestHasItsOwnDatabase(t *testing.T) {
	t.Parallel()
	for range 4 {
		t.Run("clone", func(t *testing.T) {
			t.Parallel()
			url := dbtest.URL(t)
			if n := value[int](t, url, `select count(*) from bugs`); n != 0 {
				t.Errorf("got %d bugs in a fresh database, want none", n)
			}
			value[int](t, url, `insert into bugs (number, url) values (1, 'https://example.org/1') returning number`)
		})
	}
}

func TestDatabasesGoAway(t *testing.T) {
	t.Parallel()
	var url string
	t.Run("inner", func(t *testing.T) {
		url = dbtest.URL(t)
		dbtest.Open(t, url)
	})
	if conn, err := pgx.Connect(t.Context(), url); err == nil {
		_ = conn.Close(t.Context())
		t.Error("the database is still there after its test")
	}
}

func TestEmpty(t *testing.T) {
	t.Parallel()
	n := value[int](t, dbtest.Empty(t), `select count(*) from information_schema.tables where table_schema = 'public'`)
	if n != 0 {
		t.Errorf("got %d tables, want none", n)
	}
}

func TestNewAndBroken(t *testing.T) {
	t.Parallel()
	if err := dbtest.New(t).Ping(t.Context()); err != nil {
		t.Errorf("new: %v", err)
	}
	if err := dbtest.Broken(t).Ping(t.Context()); crash.KindOf(err) != crash.Unavailable {
		t.Errorf("broken: got %v, want unavailable", err)
	}
}

func TestServerLeavesNothing(t *testing.T) {
	checktest.Needs(t, "PostgreSQL")
	tmp := dbtest.Must(os.MkdirTemp("", "dbtest-"))(t)
	t.Cleanup(func() { _ = os.RemoveAll(tmp) })
	if err := os.Chmod(tmp, 0o755); err != nil { // the server's user needs access
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", tmp)
	s := dbtest.Must(dbtest.StartServer(t.Context()))(t)
	if got := value[string](t, s.URL(), `show fsync`); got != "off" {
		t.Errorf("got fsync %s, want off", got)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Errorf("close: %v", err)
	}
	tick, limit := time.NewTicker(10*time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for left := []string{tmp}; len(left) > 0; left, _ = filepath.Glob(tmp + "/*") {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("%v are left", left)
		}
	}
}
