package db_test

import (
	"testing"

	"mishap/db/dbtest"
)

// TestHealthWithoutDatabase checks that an instance whose database is down says that, and nothing that it
// cannot know.
func TestHealthWithoutDatabase(t *testing.T) {
	t.Parallel()
	checks := dbtest.Broken(t).Health(t.Context())
	if len(checks) != 1 || checks[0].Problem != "The database cannot be reached." {
		t.Errorf("got %+v, want one problem", checks)
	}
}
