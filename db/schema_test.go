package db_test

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
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
	want := dbtest.Must(os.ReadFile(schemaFile))(t)
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
	rows := dbtest.Must(dbtest.Connect(t, dbtest.URL(t)).Query(t.Context(), sqlWithoutComment))(t)
	bare := dbtest.Must(pgx.CollectRows(rows, pgx.RowTo[string]))(t)
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
		rows := dbtest.Must(conn.Query(t.Context(), sqlViewColumns))(t)
		return dbtest.Must(pgx.CollectRows(rows, pgx.RowTo[string]))(t)
	}
	if different := read(); len(different) > 0 {
		t.Errorf("columns that only the table or only its view has: %q", different)
	}
	dbtest.Must(conn.Exec(t.Context(), "alter table notes add column added int"))(t)
	if different := read(); len(different) != 1 || different[0] != "notes.added" {
		t.Errorf("after adding a column: got %q, want notes.added", different)
	}
}

// TestSQL makes PostgreSQL prepare every statement of package db and the packages below it, so that
// a misspelt column fails here. A statement is a constant whose name begins with sql.
func TestSQL(t *testing.T) {
	t.Parallel()
	all := readPackages(t)
	url := dbtest.URL(t)
	conn, hiding := dbtest.Connect(t, url), dbtest.Connect(t, url)
	dbtest.Must(hiding.Exec(t.Context(), `set search_path = visible, public`))(t)
	for folder, p := range all {
		for name, text := range p.texts {
			if !strings.HasPrefix(strings.ToLower(name), "sql") {
				continue
			}
			sql, _, err := pgx.NamedArgs{}.RewriteQuery(t.Context(), nil, all.text(t, folder, text), nil)
			if err == nil {
				_, err = conn.Prepare(t.Context(), folder+"."+name, sql)
			}
			if err != nil {
				t.Errorf("%s in %s: %v", name, folder, err)
			}
			if _, err := hiding.Prepare(t.Context(), folder+"."+name, sql); err != nil && !unrestricted[name] {
				t.Errorf("%s in %s, for a reader who must not see some problems: %v", name, folder, err)
			} else if err == nil && unrestricted[name] {
				t.Errorf("%s in %s works for such a reader; remove it from the exceptions", name, folder)
			}
		}
		for _, place := range p.calls {
			t.Errorf("%s: SQL without a name; make it a constant that begins with sql, so that this test sees it", place)
		}
	}
	for _, folder := range []string{core, "bugs", "events", "people", "problems", "symbols"} {
		if p := all[folder]; p == nil || len(p.texts) < 10 {
			t.Errorf("got %v of package %s, want its statements", p, folder)
		}
	}
}

// unrestricted are statements that only counting rounds, retention and erasures send, which see all
// problems.
var unrestricted = map[string]bool{
	"sqlCountPackages": true, "sqlAddPackageVersions": true, "sqlChangeActive": true, "sqlCountReleases": true,
	"sqlTakePackages": true, "sqlDropPackages": true, "sqlTakeReleases": true, "sqlDropReleases": true,
	"sqlBaseline": true, "sqlEndSpans": true, "sqlShortenSpans": true, "sqlDropPackageDays": true,
	"sqlDropReleaseDays": true, "sqlCountHours": true, "sqlCountReleaseHours": true, "sqlTakeHours": true,
	"sqlDropHours": true, "sqlTakeReleaseHours": true, "sqlDropReleaseHours": true, "sqlDropOldHours": true,
	"sqlDropOldReleaseHours": true, "sqlCorrectHours": true, "sqlClearHours": true, "sqlClearReleaseHours": true,
	"sqlCorrectReleaseHours": true,
	"sqlForgetVersions":      true, "sqlVersionsSince": true, "sqlForgetActive": true,
}

// core is the name of package db among these packages.
const core = "db"

// packages maps the folder names of package db and those below it, except dbtest, to their
// contents.
type packages map[string]*parsed

// parsed holds what this test reads from a package, without its tests.
type parsed struct {
	texts map[string]ast.Expr // constants and variables by name
	calls []string            // positions of calls that send a literal to the database
}

func readPackages(t *testing.T) packages {
	t.Helper()
	names := dbtest.Must(filepath.Glob("*.go"))(t)
	below := dbtest.Must(filepath.Glob("*/*.go"))(t)
	files, all := token.NewFileSet(), packages{}
	for _, name := range append(names, below...) {
		folder := filepath.Dir(name)
		if strings.HasSuffix(name, "_test.go") || folder == "dbtest" {
			continue
		}
		if folder == "." {
			folder = core
		}
		file := dbtest.Must(parser.ParseFile(files, name, nil, parser.SkipObjectResolution))(t)
		if all[folder] == nil {
			all[folder] = &parsed{texts: map[string]ast.Expr{}}
		}
		all[folder].read(files, file)
	}
	return all
}

func (p *parsed) read(files *token.FileSet, file *ast.File) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ValueSpec:
			for i, name := range n.Names {
				if i < len(n.Values) {
					p.texts[name.Name] = n.Values[i]
				}
			}
		case *ast.CallExpr:
			if sendsLiteral(n) {
				p.calls = append(p.calls, files.Position(n.Pos()).String())
			}
		}
		return true
	})
}

func sendsLiteral(call *ast.CallExpr) bool {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) == 0 {
		return false
	}
	switch method.Sel.Name {
	case "Exec", "Query", "QueryRow", "Queue":
		return slices.ContainsFunc(call.Args, func(arg ast.Expr) bool {
			lit, ok := arg.(*ast.BasicLit)
			return ok && lit.Kind == token.STRING
		})
	}
	return false
}

// text returns the value of an expression in a package. It may consist of literals and constants,
// also those of another package.
func (all packages) text(t *testing.T, folder string, e ast.Expr) string {
	t.Helper()
	switch e := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(e.Value)
		if err != nil {
			t.Fatalf("%s: %v", e.Value, err)
		}
		return s
	case *ast.Ident:
		value, ok := all[folder].texts[e.Name]
		if !ok {
			t.Fatalf("%s is not a constant of package %s", e.Name, folder)
		}
		return all.text(t, folder, value)
	case *ast.SelectorExpr:
		if of, ok := e.X.(*ast.Ident); ok && all[of.Name] != nil {
			return all.text(t, of.Name, e.Sel)
		}
	case *ast.BinaryExpr:
		return all.text(t, folder, e.X) + all.text(t, folder, e.Y)
	case *ast.ParenExpr:
		return all.text(t, folder, e.X)
	}
	t.Fatalf("a constant made of %T cannot be read here", e)
	return ""
}
