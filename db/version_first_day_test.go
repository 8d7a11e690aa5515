package db_test

import (
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mishap/db/dbtest"
	"mishap/migrations"
)

// TestVersionFirstDayMigration removes the first days of versions and migrates again. It checks
// that the result equals counting from the start.
func TestVersionFirstDayMigration(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	mixture(t, url, 400)
	want := storedCounts(t, url).Packages
	if len(want) < 20 {
		t.Fatalf("got %d versions of packages, want more to look at", len(want))
	}
	dbtest.Exec(t, url, `drop schema visible cascade; alter table package_versions drop column first_day`)
	sql, err := fs.ReadFile(migrations.Files, "016_version_first_day.sql")
	if err != nil {
		t.Fatal(err)
	}
	dbtest.Exec(t, url, "begin; "+string(sql)+"; commit")
	if diff := cmp.Diff(want, storedCounts(t, url).Packages); diff != "" {
		t.Errorf("versions of packages (-want +got):\n%s", diff)
	}
}
