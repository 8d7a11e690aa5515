package ingest_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"mishap/handlers/ingest"
)

func TestRemoveCores(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if n, err := ingest.RemoveCores(dir, time.Now(), 0); n != 0 || err != nil {
		t.Errorf("no folder: got %d, %v; want 0 and no error", n, err)
	}
	if err := os.Mkdir(filepath.Join(dir, "cores"), 0o700); err != nil {
		t.Fatal(err)
	}
	limit := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	for name, at := range map[string]time.Time{
		"old.core": limit.Add(-time.Second), "young.core": limit.Add(time.Second), "old.other": limit.Add(-time.Hour),
	} {
		path := filepath.Join(dir, "cores", name)
		if err := os.WriteFile(path, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := ingest.RemoveCores(dir, limit, 1<<20); n != 1 || err != nil {
		t.Errorf("got %d, %v; want one removed", n, err)
	}
	for name, there := range map[string]bool{"old.core": false, "young.core": true, "old.other": true} {
		if _, err := os.Stat(filepath.Join(dir, "cores", name)); (err == nil) != there {
			t.Errorf("%s: got %v, want there: %v", name, err, there)
		}
	}
}

// TestRemoveCoresOverLimit checks that the oldest cores are removed until the rest is within the
// limit.
func TestRemoveCoresOverLimit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cores := filepath.Join(dir, "cores")
	if err := os.Mkdir(cores, 0o700); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for i, name := range []string{"c.core", "a.core", "b.core"} { // each file is older than the one before
		path := filepath.Join(cores, name)
		if err := os.WriteFile(path, make([]byte, 100), 0o600); err != nil {
			t.Fatal(err)
		}
		at := now.Add(-time.Duration(i) * time.Hour)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := ingest.RemoveCores(dir, now.AddDate(0, 0, -7), 250); n != 1 || err != nil {
		t.Errorf("got %d, %v; want one removed", n, err)
	}
	if _, err := os.Stat(filepath.Join(cores, "b.core")); !os.IsNotExist(err) {
		t.Errorf("the oldest: got %v, want it removed", err)
	}
}
