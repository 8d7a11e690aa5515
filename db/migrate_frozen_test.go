package db_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"mishap/migrations"
)

const checksumFile = "../migrations/checksums.txt"

// TestMigrationsAreFrozen fails if a migration was edited, renamed or removed after its checksum
// was committed. With -update it adds the checksums of new files, but never changes existing ones.
func TestMigrationsAreFrozen(t *testing.T) {
	t.Parallel()
	list, err := os.ReadFile(checksumFile)
	if err != nil {
		t.Fatal(err)
	}
	names, err := fs.Glob(migrations.Files, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]string{}
	for _, name := range names {
		text, err := fs.ReadFile(migrations.Files, name)
		if err != nil {
			t.Fatal(err)
		}
		sums[name] = fmt.Sprintf("%x", sha256.Sum256(text))
	}
	listed := map[string]bool{}
	for line := range strings.Lines(string(list)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ") // the format of sha256sum
		listed[name] = true
		if sums[name] != sum {
			t.Errorf("migrations/%s: got checksum %q, want %s: a committed migration must not change, as databases were "+
				"made by it. "+
				"Undo the change and put it into a new file. (If nobody can have a database of it yet, take its line out of %s "+
				"and run make schema.)",
				name, sums[name], sum, checksumFile)
		}
	}
	added := string(list)
	for _, name := range names {
		if !listed[name] && !*update {
			t.Errorf("migrations/%s is not in %s; run make schema", name, checksumFile)
		} else if !listed[name] {
			added += sums[name] + "  " + name + "\n"
		}
	}
	if *update && !t.Failed() && added != string(list) {
		if err := os.WriteFile(checksumFile, []byte(added), 0o644); err != nil { // a document
			t.Fatal(err)
		}
	}
}
