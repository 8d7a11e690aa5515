package db_test

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mishap/db/dbtest"
)

var update = flag.Bool("update", false, "write docs/schema.sql anew")

const schemaFile = "../docs/schema.sql"

const schemaHead = `-- The database schema as the migrations make it, for reading. Made by "make schema"; do not edit.
-- Left out are what others bring along: tern's table schema_version and the job queue's river_* tables.

`

// TestSchemaIsCurrent compares docs/schema.sql with what pg_dump says of a migrated database.
func TestSchemaIsCurrent(t *testing.T) {
	t.Parallel()
	got := schemaHead + readable(dump(t, dbtest.URL(t)))
	if *update {
		if err := os.WriteFile(schemaFile, []byte(got), 0o644); err != nil { // a document
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("docs/schema.sql is not current; run make schema (-file +database):\n%s", diff)
	}
}

// dump runs the newest pg_dump there is: an older one does not read a newer server.
func dump(t *testing.T, url string) string {
	t.Helper()
	program, err := exec.LookPath("pg_dump")
	if found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/pg_dump"); len(found) > 0 {
		program, err = found[len(found)-1], nil
	}
	if err != nil {
		t.Fatal("pg_dump was not found; apt-get install postgresql-client")
	}
	cmd := exec.CommandContext(t.Context(), program, "--schema-only", "--no-owner", "--no-privileges", "--schema=public",
		"--exclude-table=schema_version", "--exclude-table=river_*", "--dbname="+url)
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		t.Fatalf("pg_dump: %s", exit.Stderr)
	}
	if err != nil {
		t.Fatalf("pg_dump: %v", err)
	}
	return string(out)
}

var (
	noise = regexp.MustCompile(`(?m)^(--.*|SET .*;|SELECT pg_catalog\..*;|CREATE SCHEMA public;|COMMENT ON SCHEMA .*;|\\.*)\n`)
	// What the job queue brings beside tables.
	queueParts = regexp.MustCompile(`(?ms)^CREATE (TYPE|FUNCTION) public\.river_.*?;\n\n`)
	gaps       = regexp.MustCompile(`\n{3,}`)
)

// readable leaves out what differs between versions of pg_dump, and what nobody reads.
func readable(sql string) string {
	sql = noise.ReplaceAllString(sql, "")
	sql = gaps.ReplaceAllString(sql, "\n\n")
	sql = queueParts.ReplaceAllString(sql, "")
	sql = strings.ReplaceAll(sql, "public.", "")
	return strings.TrimSpace(sql) + "\n"
}
