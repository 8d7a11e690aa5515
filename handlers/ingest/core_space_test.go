package ingest

import (
	"errors"
	"io"
	"strings"
	"testing"

	"mishap/crash/symbols/cores"
	"mishap/db/disk"
)

func openStore(t *testing.T) *cores.Store {
	t.Helper()
	s, err := cores.OpenFolder(t.Context(), t.TempDir(), "key")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestCoreSpaceKeepsDiskFree checks that reservations leave the disk above its low mark, and stop
// when others fill it.
func TestCoreSpaceKeepsDiskFree(t *testing.T) {
	t.Parallel()
	const gib = 1 << 30
	free := disk.Space{Free: 3 * gib, Total: 100 * gib}
	s := &coreSpace{cores: openStore(t), most: 100 * gib, space: func(string) (disk.Space, error) { return free, nil }}
	if s.reserve(t.Context(), gib) != nil {
		t.Error("1 GiB of 3: got no room")
	}
	if !errors.Is(s.reserve(t.Context(), gib+1), errNoRoomForCore) {
		t.Error("1 GiB and more: got room, want 1 GiB to stay free")
	}
	if s.reserve(t.Context(), gib) != nil {
		t.Error("another 1 GiB: got no room")
	}
	s.release(gib)
	s.release(gib)
	if !errors.Is(s.reserve(t.Context(), 4*gib), errNoRoomForCore) {
		t.Error("more than the disk has: got room, want none")
	}
	body := s.whileRoom(strings.NewReader(strings.Repeat("x", 3*checkInterval)))
	if _, err := io.CopyN(io.Discard, body, checkInterval); err != nil {
		t.Error(err)
	}
	free.Free = gib / 2
	if _, err := io.Copy(io.Discard, body); !errors.Is(err, errNoRoomForCore) {
		t.Errorf("the disk fills up meanwhile: got %v, want %v", err, errNoRoomForCore)
	}
}
