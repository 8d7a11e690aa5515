package db_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
	"mishap/db/dbtest"
)

var release = flag.String("release", "", "store a database of this version in testdata/released")

const releasedFolder = "testdata/released"

// TestReleasedSchema stores a dump of a small database of this version if -release is set. It never
// replaces a released dump, because databases like it are in use.
func TestReleasedSchema(t *testing.T) {
	t.Parallel()
	file := filepath.Join(releasedFolder, *release+".sql")
	if *release == "" {
		return
	}
	if _, err := os.Stat(file); err == nil {
		t.Fatalf("%s is there already, and databases like it may be in use; the next release needs another number in VERSION",
			file)
	}
	url := dbtest.URL(t)
	fillReleased(t, url)
	if err := os.WriteFile(file, []byte(releasedDump(t, url)), 0o644); err != nil { // test data
		t.Fatal(err)
	}
}

// TestUpgradeReleased upgrades a database of each released version. It checks that no data is lost,
// that the schema equals that of a new database, that counts are correct, and that reports can be
// stored and counted.
func TestUpgradeReleased(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(releasedFolder + "/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("got %d dumps of released versions, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".sql"), func(t *testing.T) {
			t.Parallel()
			url := dbtest.Empty(t)
			restore(t, url, file)
			before := rowCounts(t, url)
			if err := db.Migrate(t.Context(), url, dbtest.Log(t)); err != nil {
				t.Fatalf("migrate: %v", err)
			}
			if diff := cmp.Diff(readable(dumpParents(t, dbtest.URL(t))), readable(dumpParents(t, url))); diff != "" {
				t.Errorf("the schema differs from that of a new database (-new +upgraded):\n%s", diff)
			}
			after := rowCounts(t, url)
			for table, rows := range before {
				if after[table] != rows && table != "applied_migrations" && !strings.HasPrefix(table, "river_") {
					t.Errorf("%s: got %q rows after the upgrade, want the %s of before", table, after[table], rows)
				}
			}
			if _, err := dbtest.Connect(t, url).Exec(t.Context(), "update audit_events set person = 'x'"); err == nil {
				t.Error("the audit log can be changed after the upgrade")
			}
			s := dbtest.Open(t, url)
			checkCountsOf(t, url, s)
			id := saveProblems(t, s, 1)[0]
			checkCountsOf(t, url, s)
			if b := bucket(t, s, id); b.Reports < 2 {
				t.Errorf("got %d reports of a problem of before after one more, want at least 2", b.Reports)
			}
			if f := ask(t, s, id, crash.Filing{}); f.State != crash.FilingQueued {
				t.Errorf("got %s of a bug that is asked for, want it queued", f.State)
			}
		})
	}
}

// rowCounts returns the number of rows of each table, with those of partitions under their parents.
func rowCounts(t *testing.T, url string) map[string]string {
	t.Helper()
	conn := dbtest.Connect(t, url)
	rows, err := conn.Query(t.Context(),
		`select relname from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
		and not relispartition and relname <> 'schema_version'`)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]string{}
	for _, table := range tables {
		var n int64
		if err := conn.QueryRow(t.Context(), "select count(*) from "+pgx.Identifier{"public", table}.Sanitize()).Scan(
			&n); err != nil {
			t.Fatal(err)
		}
		counts[table] = fmt.Sprint(n)
	}
	return counts
}

// restore runs a dump in an empty database.
func restore(t *testing.T, url, file string) {
	t.Helper()
	sql, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dbtest.Connect(t, url).PgConn().Exec(t.Context(), string(sql)).ReadAll(); err != nil {
		t.Fatalf("restore %s: %v", file, err)
	}
}

// unportable matches lines of a dump that other versions of PostgreSQL reject or that differ in
// each run.
var unportable = regexp.MustCompile(
	`(?m)^(--.*|\\.*|` +
		`SET (transaction_timeout|default_table_access_method|idle_session_timeout|default_with_oids).*;|` +
		`CREATE SCHEMA public;|COMMENT ON SCHEMA .*;)\n`)

// releasedDump returns all data of a database as SQL without COPY, so that one call can execute it.
func releasedDump(t *testing.T, url string) string {
	t.Helper()
	sql := pgDump(t, url, "--inserts", "--rows-per-insert=50", "--no-owner", "--no-privileges", "--schema=public")
	return strings.TrimSpace(gaps.ReplaceAllString(unportable.ReplaceAllString(sql, ""), "\n\n")) + "\n"
}

// dumpParents returns the schema without partitions, which depend on the stored reports.
func dumpParents(t *testing.T, url string) string {
	t.Helper()
	return pgDump(t, url, "--schema-only", "--no-owner", "--no-privileges", "--schema=public",
		"--exclude-table=reports_*", "--exclude-table=report_keys_*")
}

// pgDump runs the newest installed pg_dump, because an older one cannot read a newer server.
func pgDump(t *testing.T, url string, args ...string) string {
	t.Helper()
	program, err := exec.LookPath("pg_dump")
	if found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/pg_dump"); len(found) > 0 {
		program, err = found[len(found)-1], nil
	}
	if err != nil {
		t.Fatal("pg_dump was not found; apt-get install postgresql-client")
	}
	out, err := exec.CommandContext(t.Context(), program, append(args, "--dbname="+url)...).Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		t.Fatalf("pg_dump: %s", exit.Stderr)
	}
	if err != nil {
		t.Fatalf("pg_dump: %v", err)
	}
	return string(out)
}
