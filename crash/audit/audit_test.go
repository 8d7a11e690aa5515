package audit_test

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"

	"mishap/crash/audit"
	"mishap/crash/checktest"
)

// TestActionsHaveWords looks for the actions that the source code names, because recording an action
// without words fails.
func TestActionsHaveWords(t *testing.T) {
	t.Parallel()
	action := regexp.MustCompile(`Action:\s*"([a-z.-]+)"`)
	found := 0
	root := os.DirFS("../..")
	err := fs.WalkDir(root, ".", func(file string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return err
		}
		text, err := fs.ReadFile(root, file)
		for _, m := range action.FindAllSubmatch(text, -1) {
			found++
			name := string(m[1])
			_, known := audit.Words(name)
			if strings.HasSuffix(name, ".") { // a value follows
				known = hasPrefix(name)
			}
			if !known {
				t.Errorf("%s: the action %s has no words", file, name)
			}
		}
		return err
	})
	checktest.NoError(t, err)
	if found < 50 {
		t.Errorf("got %d actions in the source code, want at least 50", found)
	}
}

// hasPrefix reports whether an action has the prefix.
func hasPrefix(prefix string) bool {
	for name := range audit.Actions {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
