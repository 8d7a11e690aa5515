package db_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"mishap/crash"
	"mishap/db"
	"mishap/db/dbtest"
)

// migrateVar makes the test program migrate the database that it names, as another process.
const migrateVar = "MISHAP_TEST_MIGRATE"

func TestMain(m *testing.M) {
	url := os.Getenv(migrateVar)
	if url == "" {
		os.Exit(m.Run())
	}
	if err := migrateAtOnce(context.Background(), url, 4); err != nil {
		_, _ = os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
}

// migrateAtOnce runs Migrate several times at once, like instances that start at the same moment.
func migrateAtOnce(ctx context.Context, url string, instances int) error {
	g, ctx := errgroup.WithContext(ctx)
	for range instances {
		g.Go(func() error { return db.Migrate(ctx, url, slog.New(slog.DiscardHandler)) })
	}
	return g.Wait()
}

func TestMigrateAtOnce(t *testing.T) {
	t.Parallel()
	url := dbtest.Empty(t)
	// Two more processes migrate beside this one.
	others := make([]*exec.Cmd, 2)
	for i := range others {
		others[i] = exec.CommandContext(t.Context(), os.Args[0])
		others[i].Env = append(os.Environ(), migrateVar+"="+url)
		others[i].Stderr = os.Stderr
		if err := others[i].Start(); err != nil {
			t.Fatal(err)
		}
	}
	if err := migrateAtOnce(t.Context(), url, 8); err != nil {
		t.Errorf("migrate: %v", err)
	}
	for _, o := range others {
		if err := o.Wait(); err != nil {
			t.Errorf("migrate in another process: %v", err)
		}
	}
	if got, want := tables(t, url), tables(t, dbtest.URL(t)); got != want {
		t.Errorf("got tables %s\nwant %s", got, want)
	}
	if got := tables(t, url); !strings.Contains(got, "buckets") || !strings.Contains(got, "river_job") {
		t.Errorf("got tables %s, want ours and the job queue's", got)
	}
}

// tables returns the tables of a database with their columns.
func tables(t *testing.T, url string) string {
	t.Helper()
	const sql = `select table_name || '.' || column_name from information_schema.columns
		where table_schema = 'public' order by table_name, ordinal_position`
	rows, err := dbtest.Connect(t, url).Query(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(names, " ")
}

func TestMigrateAgain(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	if _, err := dbtest.Connect(t, url).Exec(t.Context(),
		`insert into bugs (number, url) values (1, 'https://example.org/1')`); err != nil {
		t.Fatal(err)
	}
	if err := db.Migrate(t.Context(), url, dbtest.Log(t)); err != nil {
		t.Errorf("migrate: %v", err)
	}
	var bugs int
	if err := dbtest.Connect(t, url).QueryRow(t.Context(), `select count(*) from bugs`).Scan(&bugs); err != nil || bugs != 1 {
		t.Errorf("got %d bugs, %v, want the one from before", bugs, err)
	}
}

func TestMigrateRefusals(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, before string // before changes a migrated database
		kind         crash.Kind
		says         string
	}{
		{"newer schema", `update schema_version set version = 999`, crash.Conflict, "migrated by a newer mishap (schema 999"},
		{"newer job queue", `insert into river_migration (line, version) values ('main', 999)`, crash.Conflict,
			"migrated by a newer mishap (schema 999"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			url := dbtest.URL(t)
			if _, err := dbtest.Connect(t, url).Exec(t.Context(), test.before); err != nil {
				t.Fatal(err)
			}
			err := db.Migrate(t.Context(), url, dbtest.Log(t))
			if crash.KindOf(err) != test.kind || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v, want %v: %s", err, test.kind, test.says)
			}
		})
	}
}

func TestMigrateWithoutDatabase(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, url string
		kind      crash.Kind
	}{
		{"nonsense", "postgres://user:hunter2@host:notaport/x", crash.Invalid},
		{"nobody listens", "postgres://user:hunter2@127.0.0.1:1/x", crash.Unavailable},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, openErr := db.Open(t.Context(), db.Config{URL: test.url})
			for _, err := range []error{db.Migrate(t.Context(), test.url, dbtest.Log(t)), openErr} {
				if crash.KindOf(err) != test.kind || strings.Contains(err.Error(), "hunter2") {
					t.Errorf("got %v, want %v without the password", err, test.kind)
				}
			}
		})
	}
}

// TestMigrateUnsuitable migrates databases that an administrator has to change first.
func TestMigrateUnsuitable(t *testing.T) {
	t.Parallel()
	err := db.Migrate(t.Context(), dbtest.Latin1(t), dbtest.Log(t))
	if crash.KindOf(err) != crash.Invalid || codeOf(err) != "bad_encoding" || !strings.Contains(err.Error(), "LATIN1") ||
		!strings.Contains(err.Error(), "encoding 'UTF8' template template0") {
		t.Errorf("LATIN1: got %v", err)
	}

	address := dbtest.Empty(t)
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.TrimPrefix(u.Path, "/")
	role := "app_" + name
	dbtest.Exec(t, address, fmt.Sprintf(`create role %q login password 'x'`, role))
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		conn, err := pgx.Connect(ctx, address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(ctx) //nolint:errcheck // the test is over
		if _, err := conn.Exec(ctx, fmt.Sprintf(`alter database %[2]q owner to current_user; drop owned by %[1]q cascade;
			drop role %[1]q`, role, name)); err != nil {
			t.Error(err)
		}
	})
	u.User = url.UserPassword(role, "x")
	err = db.Migrate(t.Context(), u.String(), dbtest.Log(t))
	owner := fmt.Sprintf(`alter database %q owner to %q`, name, role)
	grant := fmt.Sprintf(`grant usage, create on schema public to %q`, role)
	if crash.KindOf(err) != crash.Forbidden || !strings.Contains(err.Error(), owner) ||
		!strings.Contains(err.Error(), grant) {
		t.Fatalf("without rights: got %v, want what to grant", err)
	}
	dbtest.Exec(t, address, owner+"; "+grant)
	if err := db.Migrate(t.Context(), u.String(), dbtest.Log(t)); err != nil {
		t.Errorf("after that: %v", err)
	}
}
