package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// The limits keep folders and types small enough for a quick overview.
const (
	maxFolderFiles = 45 // Go files in a folder, without tests and generated files
	maxTypeMethods = 60
	maxFileLines   = 500
)

// sourceFile is a hand-written Go file of the project.
type sourceFile struct {
	path   string // from the project's root
	test   bool
	lines  int
	syntax *ast.File
}

func TestFoldersAndTypesAreSmall(t *testing.T) {
	t.Parallel()
	files, methods := map[string]int{}, map[string]int{}
	for _, f := range sourceFiles(t) {
		folder := filepath.Dir(f.path)
		if f.lines > maxFileLines {
			t.Errorf("%s has %d lines, want at most %d", f.path, f.lines, maxFileLines)
		}
		if f.test {
			continue
		}
		if folder != "views" { // one file per component
			files[folder]++
		}
		for _, d := range f.syntax.Decls {
			if name := receiver(d); name != "" {
				methods[folder+"."+name]++
			}
		}
	}
	for folder, n := range files {
		if n > maxFolderFiles {
			t.Errorf("%s has %d Go files, want at most %d", folder, n, maxFolderFiles)
		}
	}
	for name, n := range methods {
		if n > maxTypeMethods {
			t.Errorf("%s has %d methods, want at most %d", name, n, maxTypeMethods)
		}
	}
}

// receiver returns the name of the receiver's type, or "" if the declaration is not a method.
func receiver(d ast.Decl) string {
	f, ok := d.(*ast.FuncDecl)
	if !ok || f.Recv == nil {
		return ""
	}
	of := f.Recv.List[0].Type
	if pointer, ok := of.(*ast.StarExpr); ok {
		of = pointer.X
	}
	switch of := of.(type) {
	case *ast.Ident:
		return of.Name
	case *ast.IndexExpr:
		return of.X.(*ast.Ident).Name
	case *ast.IndexListExpr:
		return of.X.(*ast.Ident).Name
	}
	return ""
}

// TestRoutesAreInOneFile checks that no other file of the web side adds a route.
func TestRoutesAreInOneFile(t *testing.T) {
	t.Parallel()
	verbs := map[string]bool{"Get": true, "Post": true, "Put": true, "Patch": true, "Delete": true, "Method": true,
		"Mount": true, "Route": true}
	for _, f := range sourceFiles(t) {
		area, ok := strings.CutPrefix(filepath.ToSlash(f.path), "handlers/")
		if !ok || f.test || area == "routes.go" || isBelow(filepath.ToSlash(filepath.Dir(area)), "api ingest handlertest "+
			"browsertest") {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) < 2 {
				return true
			}
			method, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || !verbs[method.Sel.Name] {
				return true
			}
			first := call.Args[0]
			if method.Sel.Name == "Method" {
				first = call.Args[1]
			}
			if path, ok := first.(*ast.BasicLit); ok && path.Kind == token.STRING && strings.HasPrefix(path.Value, `"/`) {
				t.Errorf("%s adds the route %s; want it in handlers/routes.go", f.path, path.Value)
			}
			return true
		})
	}
}

// sourceFiles returns the Go files of the project, without those that templ generates.
func sourceFiles(t *testing.T) []sourceFile {
	t.Helper()
	all, err := parsedFiles()
	if err != nil || len(all) < 100 {
		t.Fatalf("got %d Go files, %v", len(all), err)
	}
	return all
}

// parsedFiles parses the files that sourceFiles returns.
var parsedFiles = sync.OnceValues(func() (all []sourceFile, err error) {
	root := filepath.Join("..", "..")
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name := d.Name()
		if err != nil || d.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "bin" ||
			name == "data") {
			if err == nil {
				err = fs.SkipDir
			}
			return err
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_templ.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		syntax, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		from, err := filepath.Rel(root, path)
		all = append(all, sourceFile{from, strings.HasSuffix(name, "_test.go"), strings.Count(string(text), "\n"), syntax})
		return err
	})
	return all, err
})
