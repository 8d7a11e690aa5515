package layout

import (
	"os"
	"slices"
	"strings"
	"testing"

	"mishap/crash/checktest"
)

// TestWords checks that words have one meaning on pages and in docs/glossary.md.
func TestWords(t *testing.T) {
	t.Parallel()
	glossary, err := os.ReadFile("../../docs/glossary.md")
	checktest.NoError(t, err)
	for _, w := range Words {
		if row := "\n| " + w[0] + " | " + w[1] + " |\n"; !strings.Contains(string(glossary), row) {
			t.Errorf("docs/glossary.md lacks the row %q", row)
		}
	}
	if !slices.IsSortedFunc(Words, func(x, y [2]string) int { return strings.Compare(x[0], y[0]) }) {
		t.Error("the words are not sorted")
	}
	checktest.Equal(t, "plural", Means("Reports"), Means("report"))
	checktest.Equal(t, "unknown word", Means("Last reply of the relay"), "")
}
