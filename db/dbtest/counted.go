package dbtest

import (
	"errors"
	"testing"

	"mishap/crash"
	"mishap/db"
)

// Counted waits until every report stored in s so far is counted. Tests call it before they read
// counts, since a busy store counts reports later. It waits as long as necessary, and fails on any
// error other than a time-out.
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
