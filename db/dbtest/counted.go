package dbtest

import (
	"errors"
	"testing"

	"mishap/crash"
	"mishap/db"
)

// Counted waits until every report stored in s so far is counted. Saving a report waits for that only while the store is
// not busy, so a test that reads counts calls it first. A busy machine makes it wait longer; it fails on any other error.
func Counted(t testing.TB, s *db.Store) {
	t.Helper()
	for {
		err := s.WaitCounted(t.Context())
		if err == nil {
			return
		}
		if !errors.Is(err, crash.Unavailable) || t.Context().Err() != nil || s.Ping(t.Context()) != nil {
			t.Fatalf("wait until the stored reports are counted: %v", err)
		}
	}
}
