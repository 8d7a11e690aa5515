package db_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"mishap/db/dbtest"
)

// TestSQL makes PostgreSQL prepare every statement of package db and the packages below it, so that
// a misspelt column fails here. A statement is a constant whose name begins with sql.
func TestSQL(t *testing.T) {
	t.Parallel()
	all := readPackages(t)
	url := dbtest.URL(t)
	conn, hiding := dbtest.Connect(t, url), dbtest.Connect(t, url)
	if _, err := hiding.Exec(t.Context(), `set search_path = visible, public`); err != nil {
		t.Fatal(err)
	}
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
	"sqlDropReleaseDays": true,
	"sqlForgetVersions":  true, "sqlVersionsSince": true, "sqlForgetActive": true,
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
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	below, err := filepath.Glob("*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	files, all := token.NewFileSet(), packages{}
	for _, name := range append(names, below...) {
		folder := filepath.Dir(name)
		if strings.HasSuffix(name, "_test.go") || folder == "dbtest" {
			continue
		}
		if folder == "." {
			folder = core
		}
		file, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
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
	sql := call.Args[0] // for example batch.Queue(sql, args)
	switch method.Sel.Name {
	case "Exec", "Query", "QueryRow":
		if len(call.Args) < 2 {
			return false
		}
		sql = call.Args[1] // after the context
	case "Queue":
	default:
		return false
	}
	lit, ok := sql.(*ast.BasicLit)
	return ok && lit.Kind == token.STRING
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
