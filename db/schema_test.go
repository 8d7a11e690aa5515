package db_test

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

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

// sqlWithoutComment selects tables, types and columns of ours that have no comment. It omits
// partitions, the version table of tern and the tables of the job queue.
const sqlWithoutComment = `
	select t.relname || coalesce('.' || a.attname, '')
	from pg_class as t
		left join lateral (
			select null::name as attname, 0 as attnum
			union all
			select attname, attnum from pg_attribute where attrelid = t.oid and attnum > 0 and not attisdropped
		) as a on true
	where t.relnamespace = 'public'::regnamespace and t.relkind in ('r', 'p', 'c') and not t.relispartition
		and t.relname <> 'schema_version' and t.relname not like 'river\_%'
		and coalesce(case
			when a.attnum = 0 and t.relkind = 'c' then obj_description(t.reltype, 'pg_type')
			when a.attnum = 0 then obj_description(t.oid, 'pg_class')
			else col_description(t.oid, a.attnum) end, '') = ''
	order by t.relname, a.attnum`

// TestSchemaComments checks that all tables, types and columns have a comment. A migration that
// adds one must also add its comment.
func TestSchemaComments(t *testing.T) {
	t.Parallel()
	rows, err := dbtest.Connect(t, dbtest.URL(t)).Query(t.Context(), sqlWithoutComment)
	if err != nil {
		t.Fatal(err)
	}
	bare, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range bare {
		t.Errorf("%s has no comment: add one in the migration", name)
	}
}

// sqlViewColumns selects the columns that only a table or only its view in the schema visible has.
const sqlViewColumns = `
	select table_name || '.' || column_name
	from information_schema.columns
	where table_schema in ('public', 'visible') and table_name in (
			select v.table_name from information_schema.views as v
				join information_schema.tables as t on t.table_name = v.table_name and t.table_schema = 'public'
			where v.table_schema = 'visible')
	group by table_name, column_name having count(distinct table_schema) = 1
	order by 1`

// TestViewsHaveAllColumns checks that a migration that adds a column to a table also creates its view in
// the schema visible again.
func TestViewsHaveAllColumns(t *testing.T) {
	t.Parallel()
	conn := dbtest.Connect(t, dbtest.URL(t))
	read := func() []string {
		t.Helper()
		rows, err := conn.Query(t.Context(), sqlViewColumns)
		if err != nil {
			t.Fatal(err)
		}
		different, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		return different
	}
	if different := read(); len(different) > 0 {
		t.Errorf("columns that only the table or only its view has: %q", different)
	}
	if _, err := conn.Exec(t.Context(), "alter table notes add column added int"); err != nil {
		t.Fatal(err)
	}
	if different := read(); len(different) != 1 || different[0] != "notes.added" {
		t.Errorf("after adding a column: got %q, want notes.added", different)
	}
}
