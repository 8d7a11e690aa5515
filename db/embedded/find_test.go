package embedded

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mishap/crash"
)

func TestFind(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	found, err := Find(t.Context(), dir)
	if err != nil || found.Created || found.PID != 0 || found.URL != "" || found.Programs == "" {
		t.Errorf("before the first start: got %+v, %v", found, err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("got %v, want that no folder was created", err)
	}
	s := start(t, Config{DataDir: dir, Throwaway: true})
	found, err = Find(t.Context(), dir)
	if err != nil || !found.Created || found.PID != os.Getpid() || found.Dir != s.Dir() {
		t.Errorf("while it runs: got %+v, %v", found, err)
	}
	if got := query(t, found.URL, "select current_user::text"); got != role {
		t.Errorf("got user %s, want %s", got, role)
	}
	stop(t, s)
	if found, err = Find(t.Context(), dir); err != nil || !found.Created || found.PID != 0 || found.URL != "" {
		t.Errorf("after the stop: got %+v, %v", found, err)
	}
	version := filepath.Join(s.home.cluster(), "PG_VERSION")
	if err := os.WriteFile(version, []byte("9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Find(t.Context(), dir); crash.KindOf(err) != crash.Unavailable ||
		!strings.Contains(err.Error(), "PostgreSQL 9") {
		t.Errorf("files of another version: got %v", err)
	}
}
