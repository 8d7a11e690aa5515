package crash

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"mishap/crash/checktest"
)

// TestInFolder adds files to a folder while others remove it as soon as it is empty. Each file gets there.
func TestInFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b")
	var all sync.WaitGroup
	for i := range 3 {
		all.Go(func() {
			name := filepath.Join(dir, fmt.Sprint(i))
			for range 500 {
				err := InFolder(dir, func() error { return os.WriteFile(name, nil, 0o600) })
				if err = errors.Join(err, os.Remove(name)); err != nil {
					t.Error(err)
					return
				}
				_ = os.Remove(dir)               // unless it holds another file
				_ = os.Remove(filepath.Dir(dir)) // the same
			}
		})
	}
	all.Wait()
}

// TestInFolderErrors checks which errors end it at once.
func TestInFolderErrors(t *testing.T) {
	t.Parallel()
	dir, failed, calls := t.TempDir(), errors.New("failed"), 0
	for _, want := range []error{failed, fs.ErrExist, nil} {
		calls = 0
		if err := InFolder(dir, func() error { calls++; return want }); !errors.Is(err, want) || calls != 1 {
			t.Errorf("got %v after %d calls, want %v after one", err, calls, want)
		}
	}
	if err := InFolder(dir, func() error { calls++; return fs.ErrNotExist }); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want the error of a file that is always missing", err)
	}
	file := filepath.Join(dir, "file")
	checktest.NoError(t, os.WriteFile(file, nil, 0o600))
	if err := InFolder(file, func() error { return nil }); err == nil {
		t.Error("a file in the place of the folder: got no error")
	}
}
