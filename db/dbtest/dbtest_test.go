package dbtest_test

import (
	"testing"

	"mishap/db/dbtest"
)

func TestNew(t *testing.T) {
	t.Parallel()
	if err := dbtest.New(t).Ping(t.Context()); err != nil {
		t.Error(err)
	}
}
