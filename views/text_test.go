package views

import (
	"go/ast"
	goparser "go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/a-h/templ/parser/v2"
	"github.com/a-h/templ/parser/v2/visitor"
)

// notConverted are the templates that still contain texts of their own. Remove a file once its texts
// are in views/text; never add one.
var notConverted = []string{
	"admin_health.templ", "admin_tracker.templ", "api.templ",
	"ledger.templ", "my.templ", "regroup.templ", "search.templ", "sign_in.templ",
	"system.templ", "templates.templ", "tokens.templ",
}

var prose = regexp.MustCompile(`\pL{2}`)

// spoken are the attributes whose values people read or hear.
var spoken = []string{"aria-label", "title", "placeholder", "alt", "data-label", "aria-description"}

// TestTextsArePackaged checks that templates take their texts from views/text, where they can be
// read and translated together.
func TestTextsArePackaged(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.templ")
	if err != nil || len(files) < 20 {
		t.Fatalf("got %d templates, %v", len(files), err)
	}
	for _, file := range files {
		found := proseIn(t, file)
		switch listed := slices.Contains(notConverted, file); {
		case listed && len(found) == 0:
			t.Errorf("%s has no texts of its own any more: remove it from notConverted", file)
		case !listed:
			for _, text := range found {
				t.Errorf("%s: %q should be in views/text", file, text)
			}
		}
	}
	for _, file := range notConverted {
		if _, err := os.Stat(file); err != nil {
			t.Errorf("notConverted: %v", err)
		}
	}
}

// proseIn returns the texts in a template: text nodes, attributes for people, and string literals in
// expressions.
func proseIn(t *testing.T, file string) []string {
	t.Helper()
	parsed, err := parser.Parse(file)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	v := visitor.New()
	v.Text = func(n *parser.Text) error {
		if prose.MatchString(n.Value) {
			found = append(found, n.Value)
		}
		return nil
	}
	v.StringExpression = func(n *parser.StringExpression) error {
		found = append(found, proseLiterals(n.Expression.Value)...)
		return nil
	}
	v.ConstantAttribute = func(n *parser.ConstantAttribute) error {
		if slices.Contains(spoken, n.Key.String()) && prose.MatchString(n.Value) {
			found = append(found, n.Value)
		}
		return nil
	}
	v.ExpressionAttribute = func(n *parser.ExpressionAttribute) error {
		if slices.Contains(spoken, n.Key.String()) {
			found = append(found, proseLiterals(n.Expression.Value)...)
		}
		return nil
	}
	if err := parsed.Visit(v); err != nil {
		t.Fatal(err)
	}
	return found
}

// proseLiterals returns the string literals of a Go expression that contain words.
func proseLiterals(expression string) []string {
	parsed, err := goparser.ParseExpr(expression)
	if err != nil {
		return []string{err.Error()}
	}
	var found []string
	ast.Inspect(parsed, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING && prose.MatchString(literal.Value) {
			found = append(found, literal.Value)
		}
		return true
	})
	return found
}
