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

// TestSQL has PostgreSQL parse every statement of this package, that is every constant whose name begins with sql, so
// that a misspelt column fails here and not in front of a person.
func TestSQL(t *testing.T) {
	t.Parallel()
	texts, calls := readPackage(t)
	statements := 0
	conn := connect(t, dbtest.URL(t))
	for name := range texts {
		if !strings.HasPrefix(name, "sql") {
			continue
		}
		statements++
		sql, _, err := pgx.NamedArgs{}.RewriteQuery(t.Context(), nil, texts.value(t, name), nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if _, err := conn.Prepare(t.Context(), name, sql); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if statements < 30 {
		t.Errorf("got %d statements, want those of the whole package", statements)
	}
	for _, place := range calls {
		t.Errorf("%s: SQL without a name; make it a constant that begins with sql, so that this test sees it", place)
	}
}

// constants are the constants of a package by name.
type constants map[string]ast.Expr

// readPackage collects the constants of this folder's program, and the places where a literal is sent to the database.
func readPackage(t *testing.T) (constants, []string) {
	t.Helper()
	files := token.NewFileSet()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	texts := constants{}
	var calls []string
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(files, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				for i, name := range n.Names {
					if i < len(n.Values) {
						texts[name.Name] = n.Values[i]
					}
				}
			case *ast.CallExpr:
				if sendsLiteral(n) {
					calls = append(calls, files.Position(n.Pos()).String())
				}
			}
			return true
		})
	}
	return texts, calls
}

func sendsLiteral(call *ast.CallExpr) bool {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) == 0 {
		return false
	}
	sql := call.Args[0] // as in batch.Queue(sql, args)
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

// value works out a constant that is made of texts and other constants.
func (c constants) value(t *testing.T, name string) string {
	t.Helper()
	e, ok := c[name]
	if !ok {
		t.Fatalf("%s is not a constant of this package", name)
	}
	return c.text(t, e)
}

func (c constants) text(t *testing.T, e ast.Expr) string {
	t.Helper()
	switch e := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(e.Value)
		if err != nil {
			t.Fatalf("%s: %v", e.Value, err)
		}
		return s
	case *ast.Ident:
		return c.value(t, e.Name)
	case *ast.BinaryExpr:
		return c.text(t, e.X) + c.text(t, e.Y)
	case *ast.ParenExpr:
		return c.text(t, e.X)
	}
	t.Fatalf("a constant made of %T cannot be read here", e)
	return ""
}
