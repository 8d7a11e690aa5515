package backup

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"mishap/crash"
)

// TestBackupOfAnotherAccount reads a good backup as an account that may not. Nobody may call it damaged.
func TestBackupOfAnotherAccount(t *testing.T) {
	t.Parallel()
	all := t.TempDir()
	dir := filepath.Join(all, "mishap-20260101T000000Z")
	content := filepath.Join(dir, databaseName, "toc.dat")
	if err := writeFile(content, []byte("content")); err != nil {
		t.Fatal(err)
	}
	m := Manifest{Format: manifestFormat,
		Files: []File{{Path: "database/toc.dat", Size: 7, SHA256: sumOf([]byte("content"))}}}
	if err := m.write(dir); err != nil {
		t.Fatal(err)
	}
	if err := m.Verify(t.Context(), dir); err != nil {
		t.Fatalf("as the owner: %v", err)
	}
	for _, d := range []string{all, filepath.Dir(all)} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if os.Getuid() == 0 { // root may read everything, so this thread becomes another account for files
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		_, _, _ = syscall.RawSyscall(syscall.SYS_SETFSUID, 65534, 0, 0)
		defer func() { _, _, _ = syscall.RawSyscall(syscall.SYS_SETFSUID, 0, 0, 0) }()
	}
	for _, file := range []string{content, filepath.Join(dir, checksumName), filepath.Join(dir, manifestName)} {
		if os.Getuid() != 0 {
			if err := os.Chmod(file, 0); err != nil {
				t.Fatal(err)
			}
		}
		_, err := Read(dir)
		if file == content {
			err = m.Verify(t.Context(), dir)
		}
		if crash.KindOf(err) != crash.Forbidden || !strings.Contains(err.Error(), "may not read "+dir) ||
			strings.Contains(err.Error(), "damaged") {
			t.Errorf("%s: got %v, want that this account may not read it", filepath.Base(file), err)
		}
	}
	var r Result
	if err := r.deleteOld(t.Context(), folder(all), 1); err != nil || len(r.Damaged) > 0 ||
		!slices.Equal(r.Unread, []string{filepath.Base(dir)}) {
		t.Errorf("got %+v, %v, want a backup that may not be read", r, err)
	}
}
