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

func TestChoose(t *testing.T) {
	t.Parallel()
	able := server{size: 1, role: "app", mayReplicate: true}
	with := func(change func(*server)) server {
		s := able
		change(&s)
		return s
	}
	large := with(func(s *server) { s.size = baseFrom })
	tests := []struct {
		name         string
		server       server
		method       Method
		want         Method
		notice, fail string
	}{
		{name: "small", server: able, method: Auto, want: Dump},
		{name: "large", server: large, method: Auto, want: Base},
		{name: "large, wanted dump", server: large, method: Dump, want: Dump},
		{name: "small, wanted base", server: able, method: Base, want: Base},
		{name: "large without the right", server: with(func(s *server) { s.size, s.mayReplicate = baseFrom, false }),
			method: Auto, want: Dump, notice: `let an administrator of PostgreSQL run "alter role "app" with replication"`},
		{name: "beside larger databases", server: with(func(s *server) { s.size, s.others = baseFrom, baseFrom+1 }),
			method: Auto, want: Dump},
		{name: "base without the right", server: with(func(s *server) { s.mayReplicate = false }), method: Base,
			fail: "may not make base backups"},
		{name: "tablespaces", server: with(func(s *server) { s.hasTablespaces = true }), method: Base, fail: "tablespaces"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, notice, err := tt.server.choose(tt.method)
			switch {
			case tt.fail != "":
				if err == nil || !strings.Contains(err.Error(), tt.fail) {
					t.Errorf("got %v, want %q", err, tt.fail)
				}
			case err != nil || got != tt.want:
				t.Errorf("got %s, %v, want %s", got, err, tt.want)
			case notice == "" && tt.notice != "" || !strings.Contains(notice, tt.notice):
				t.Errorf("got notice %q, want %q", notice, tt.notice)
			}
		})
	}
}

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
