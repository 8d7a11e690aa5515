package db_test

import (
	"testing"
	"time"

	"mishap/crash"
	"mishap/db/dbtest"
)

// TestArchivedReports checks that reports in an archive are found.
func TestArchivedReports(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	old := today.AddDate(0, -3, 0)
	id := save(t, s, record(t, old, "machine", nil))
	recent := save(t, s, record(t, today, "machine", nil))
	dbtest.WithArchive(t, url, old, old.AddDate(0, 1, 0))
	for _, id := range []crash.OopsID{id, recent} {
		if r, err := s.Report(t.Context(), id); err != nil || r.ID != id {
			t.Errorf("got %v, %v; want %v", r.ID, err, id)
		}
	}
	parts, err := s.Archived(t.Context())
	if err != nil || len(parts) != 2 || parts[0].Archive != "old" || parts.Until().Month() != time.October {
		t.Errorf("got %+v, %v; want August and September", parts, err)
	}
}
