package views_test

import (
	"go/ast"
	goparser "go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/a-h/templ/parser/v2"
	"github.com/a-h/templ/parser/v2/visitor"
)

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
		for _, text := range proseIn(t, file) {
			t.Errorf("%s: %q should be in views/text", file, text)
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
