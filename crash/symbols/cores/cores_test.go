package cores_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"mishap/crash"
	"mishap/crash/blobs"
	"mishap/crash/blobs/blobstest"
	"mishap/crash/checktest"
	"mishap/crash/symbols/cores"
	"mishap/db/dbtest"
)

func open(t *testing.T, dir string, key crash.Secret) *cores.Store {
	t.Helper()
	s, err := cores.OpenFolder(t.Context(), dir, key)
	checktest.NoError(t, err)
	return s
}

func put(t *testing.T, s *cores.Store, content string) crash.OopsID {
	t.Helper()
	id := crash.NewOopsID(time.Now())
	if _, fresh, err := s.Put(t.Context(), id, strings.NewReader(content)); !fresh || err != nil {
		t.Fatalf("put: got fresh %v, %v", fresh, err)
	}
	return id
}

// TestStore checks that a core comes back unchanged, that its file reveals nothing, and that the
// first core of a report stays.
func TestStore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, "a long enough key of cores")
	content := strings.Repeat("the password is hunter2\n", 100_000)
	id := put(t, s, content)
	if _, fresh, err := s.Put(t.Context(), id, strings.NewReader("another")); fresh || err != nil {
		t.Errorf("again: got fresh %v, %v; want neither", fresh, err)
	}
	in, err := open(t, dir, "a long enough key of cores").Open(t.Context(), id)
	checktest.NoError(t, err)
	if got, err := io.ReadAll(in); err != nil || string(got) != content {
		t.Errorf("got %d bytes, %v; want the %d that were stored", len(got), err, len(content))
	}
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	path := filepath.Join(dir, id.String()+".core")
	raw, err := os.ReadFile(path)
	if err != nil || bytes.Contains(raw, []byte("hunter2")) || len(raw) > len(content)/10 {
		t.Errorf("got %d bytes, %v; want them compressed and encrypted", len(raw), err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v; want mode 0600", info.Mode(), err)
	}
	if _, err := open(t, dir, "another key").Open(t.Context(), id); crash.KindOf(err) != crash.Unprocessable {
		t.Errorf("another key: got %v, want it refused", err)
	}
	checktest.NoError(t, os.WriteFile(path, append(raw[:len(raw)-20], make([]byte, 20)...), 0o600))
	if in, err := s.Open(t.Context(), id); err == nil {
		if _, err := io.ReadAll(in); err == nil {
			t.Error("a file that was changed: got no error")
		}
		_ = in.Close()
	}
}

// TestFailedPut checks that a core that is not stored completely leaves nothing.
func TestFailedPut(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), "a long enough key of cores")
	broken := errors.New("the machine hung up")
	cut := io.MultiReader(strings.NewReader(strings.Repeat("x", 1<<20)), iotest.ErrReader(broken))
	if _, _, err := s.Put(t.Context(), crash.NewOopsID(time.Now()), cut); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
	if _, _, err := s.Put(t.Context(), crash.NewOopsID(time.Now()), strings.NewReader("")); !errors.Is(err,
		cores.ErrEmpty) {
		t.Errorf("empty: got %v, want %v", err, cores.ErrEmpty)
	}
	if all, err := s.List(t.Context()); len(all) != 0 || err != nil {
		t.Errorf("got %v, %v; want no core", all, err)
	}
	if rest, _ := filepath.Glob(filepath.Join(s.Dir(), ".upload-*")); len(rest) != 0 {
		t.Errorf("got %v, want no partial file", rest)
	}
	missing := crash.NewOopsID(time.Now())
	if _, err := s.Open(t.Context(), missing); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("open: got %v, want %v", err, fs.ErrNotExist)
	}
	if _, err := s.Size(t.Context(), missing); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("size: got %v, want %v", err, fs.ErrNotExist)
	}
	if err := s.Remove(t.Context(), missing); err != nil {
		t.Errorf("remove: got %v, want no error", err)
	}
}

// TestIdentity checks that processes that open one folder at the same time agree on its identity and
// on the generated key.
func TestIdentity(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var mu sync.Mutex
	ids, keys := map[string]bool{}, map[crash.Secret]bool{}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			key, err := cores.Key(t.Context(), dir, "")
			if err != nil {
				t.Error(err)
			}
			s, err := cores.OpenFolder(t.Context(), filepath.Join(dir, "cores"), key)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			ids[s.ID()], keys[key] = true, true
		})
	}
	all.Wait()
	if len(ids) != 1 || len(keys) != 1 {
		t.Errorf("got %d identities and %d keys, want one each", len(ids), len(keys))
	}
	if key, err := cores.Key(t.Context(), dir, "mine"); key != "mine" || err != nil {
		t.Errorf("configured: got %v; want the configured key", err)
	}
	if ids[open(t, t.TempDir(), "key").ID()] {
		t.Error("another folder has the same identity")
	}
	checktest.NoError(t, os.WriteFile(filepath.Join(dir, "cores.key"), nil, 0o600))
	if _, err := cores.Key(t.Context(), dir, ""); err == nil {
		t.Error("damaged key: got no error")
	}
}

// noHolds returns no report.
func noHolds(context.Context, []crash.OopsID) ([]crash.OopsID, error) { return nil, nil }

// TestRemoveOld checks that old cores are removed, then the oldest until the rest is within the limit.
func TestRemoveOld(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, "a long enough key of cores")
	now := time.Now()
	ids := make([]crash.OopsID, 4)
	var size int64
	for i := range ids { // each core is older than the one before
		ids[i] = put(t, s, "core")
		at := now.Add(-time.Duration(i) * time.Hour)
		checktest.NoError(t, os.Chtimes(filepath.Join(dir, ids[i].String()+".core"), at, at))
		size, _ = s.Size(t.Context(), ids[i])
	}
	checktest.NoError(t, os.WriteFile(filepath.Join(dir, "other.core"), nil, 0o600))
	if removed, err := s.RemoveOld(t.Context(), now.Add(-150*time.Minute), 3*size, noHolds); len(removed) != 1 ||
		removed[0] != ids[3] ||
		err != nil {
		t.Errorf("old: got %v, %v; want %s removed", removed, err, ids[3])
	}
	if removed, err := s.RemoveOld(t.Context(), time.Time{}, 2*size, noHolds); len(removed) != 1 || removed[0] != ids[2] ||
		err != nil {
		t.Errorf("too many: got %v, %v; want %s removed", removed, err, ids[2])
	}
	all, err := s.List(t.Context())
	if len(all) != 2 || all[0].Report != ids[1] || err != nil {
		t.Errorf("got %v, %v; want the two youngest, oldest first", all, err)
	}
}

// TestPartials checks that partial files of killed processes are removed, but not files that another
// process may be writing.
func TestPartials(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, age := range map[string]time.Duration{".upload-old": 48 * time.Hour, ".upload-new": time.Hour} {
		file := filepath.Join(dir, name)
		checktest.NoError(t, os.WriteFile(file, []byte("rest"), 0o600))
		then := time.Now().Add(-age)
		checktest.NoError(t, os.Chtimes(file, then, then))
	}
	open(t, dir, "key")
	rest, _ := filepath.Glob(filepath.Join(dir, ".upload-*"))
	if len(rest) != 1 || filepath.Base(rest[0]) != ".upload-new" {
		t.Errorf("got %v, want only the new one", rest)
	}
}

// TestMoreShared checks that instances on different machines share cores in object storage, and what they do
// while it is away.
func TestMoreShared(t *testing.T) {
	t.Parallel()
	server := blobstest.Start(t, "mishap")
	open := func() *cores.Store {
		t.Helper()
		location, err := blobs.ParseLocation("s3://mishap/test?endpoint=http://" + server.Address)
		checktest.NoError(t, err)
		bucket, err := blobs.OpenBucket(location, blobstest.AccessKey, blobstest.Secret)
		checktest.NoError(t, err)
		s, err := cores.Open(t.Context(), bucket, "cores/", t.TempDir(), "the key of all instances")
		checktest.NoError(t, err)
		return s
	}
	one, other := open(), open()
	if one.ID() != other.ID() || len(one.ID()) < 32 {
		t.Errorf("got identities %q and %q, want the same", one.ID(), other.ID())
	}
	first, second := put(t, one, "core 1"), put(t, other, "core 2")
	if _, fresh, err := other.Put(t.Context(), first, strings.NewReader("another")); fresh || err != nil {
		t.Errorf("again: got fresh %v, %v; want neither", fresh, err)
	}
	in, err := other.Open(t.Context(), first)
	checktest.NoError(t, err)
	if got, err := io.ReadAll(in); string(got) != "core 1" || err != nil {
		t.Errorf("got %q, %v; want the core that the other instance stored", got, err)
	}
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	size, err := one.Size(t.Context(), second)
	if all, listErr := one.List(t.Context()); len(all) != 2 || all[1].Size != size || errors.Join(err, listErr) != nil {
		t.Errorf("got %v, %v, %v; want two cores, the second of %d bytes", all, err, listErr, size)
	}
	if err := one.Remove(t.Context(), first); err != nil {
		t.Error(err)
	}
	if _, err := other.Open(t.Context(), first); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("removed: got %v, want %v", err, fs.ErrNotExist)
	}

	server.Kill()
	third := crash.NewOopsID(time.Now())
	if _, _, err := one.Put(t.Context(), third, strings.NewReader("core 3")); !errors.Is(err, cores.ErrPending) {
		t.Errorf("away: got %v, want %v", err, cores.ErrPending)
	}
	_, err = one.Open(t.Context(), second)
	for _, err := range []error{err, one.Ship(t.Context()), one.Remove(t.Context(), second)} {
		if !errors.Is(err, crash.Unavailable) {
			t.Errorf("away: got %v, want it unavailable", err)
		}
	}
	server.Run(t)
	if err := one.Ship(t.Context()); err != nil {
		t.Error(err)
	}
	in = dbtest.Must(other.Open(t.Context(), third))(t)
	if got, err := io.ReadAll(in); string(got) != "core 3" || err != nil {
		t.Errorf("got %q, %v; want the core that waited", got, err)
	}
	if err := errors.Join(in.Close(), other.Remove(t.Context(), third)); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(one.Dir(), "*")); len(left) > 0 {
		t.Errorf("got %v, want no file on this machine", left)
	}
	if removed, err := one.RemoveOld(t.Context(), time.Now().Add(time.Hour), 0, noHolds); len(removed) != 1 ||
		removed[0] !=
			second || err != nil {
		t.Errorf("old: got %v, %v; want %s", removed, err, second)
	}
}
