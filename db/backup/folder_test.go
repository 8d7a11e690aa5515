package backup

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestDeleteOld checks that only good backups count and only good ones are deleted.
func TestDeleteOld(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name string, harm func(path string) error) {
		t.Helper()
		path := filepath.Join(dir, name)
		err := writeFile(filepath.Join(path, databaseName, "toc.dat"), []byte("content"))
		if err == nil {
			err = Manifest{Format: manifestFormat, Files: []File{{Path: "database/toc.dat", Size: 7}}}.write(path)
		}
		if err == nil && harm != nil {
			err = harm(path)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write("mishap-20260101T000000Z", nil)
	write("mishap-20260102T000000Z", nil)
	write("mishap-20260103T000000Z", nil)
	write("mishap-20260104T000000Z", func(path string) error {
		return os.Truncate(filepath.Join(path, databaseName, "toc.dat"), 3)
	})
	write("mishap-20260105T000000Z", func(path string) error { return os.Remove(filepath.Join(path, checksumName)) })
	write("mishap-20260106T000000Z", nil)
	write("of-another-program", nil)

	var r Result
	err := r.deleteOld(t.Context(), folder(dir), 2)
	if want := []string{"mishap-20260101T000000Z", "mishap-20260102T000000Z"}; err != nil ||
		!slices.Equal(r.Deleted, want) {
		t.Errorf("deleted: got %v, %v, want %v", r.Deleted, err, want)
	}
	want := []string{"mishap-20260104T000000Z", "mishap-20260105T000000Z"}
	if !slices.Equal(r.Damaged, want) || len(r.Unread) > 0 {
		t.Errorf("damaged: got %v, want %v; unread: %v, want none", r.Damaged, want, r.Unread)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 5 {
		t.Errorf("got %v, %v, want five folders left", entries, err)
	}
}
