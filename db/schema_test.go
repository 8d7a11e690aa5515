package db_test

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mishap/db/dbtest"
)

var update = flag.Bool("update", false, "rewrite docs/schema.sql")

const schemaFile = "../docs/schema.sql"

const schemaHead = `-- The schema of the database, for reading. "make schema" generates it from the migrations; ` +
	`do not edit it.
-- It omits tern's table schema_version and the job queue's river_* tables.

`

// TestSchemaIsCurrent checks that docs/schema.sql equals the schema of a migrated database.
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

// dump returns the schema without the tables of tern and of the job queue.
func dump(t *testing.T, url string) string {
	t.Helper()
	return pgDump(t, url, "--schema-only", "--no-owner", "--no-privileges", "--schema=public",
		"--exclude-table=schema_version", "--exclude-table=river_*")
}

var (
	noise = regexp.MustCompile(
		`(?m)^(--.*|SET .*;|SELECT pg_catalog\..*;|CREATE SCHEMA public;|COMMENT ON SCHEMA .*;|\\.*)\n`)
	// queueParts matches the types and functions of the job queue.
	queueParts = regexp.MustCompile(`(?ms)^CREATE (TYPE|FUNCTION) public\.river_.*?;\n\n`)
	gaps       = regexp.MustCompile(`\n{3,}`)
)

// readable removes what differs between versions of pg_dump, and what readers do not need. It puts
// comments directly below what they describe.
func readable(sql string) string {
	sql = noise.ReplaceAllString(sql, "")
	sql = gaps.ReplaceAllString(sql, "\n\n")
	sql = queueParts.ReplaceAllString(sql, "")
	sql = strings.ReplaceAll(sql, "\n\nCOMMENT ON ", "\nCOMMENT ON ")
	sql = strings.ReplaceAll(sql, "public.", "")
	return strings.TrimSpace(sql) + "\n"
}
