package db

import (
	"context"
	"os"
	"path/filepath"

	"mishap/crash/index"
)

// ReadSnapshot reads the snapshot without the database, and reports whether it is whole.
func (s *Store) ReadSnapshot(ctx context.Context) (bool, error) {
	f, err := os.Open(filepath.Join(s.dataDir, SnapshotName))
	if err != nil {
		return false, err
	}
	defer f.Close() //nolint:errcheck // it is only read
	head, err := readHead(f)
	if err != nil {
		return false, err
	}
	ix, err := decodeSnapshot(ctx, f, head, index.Day(0), nil)
	return err == nil && ix.Len() == 3, err
}
