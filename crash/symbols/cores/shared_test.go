package cores_test

import (
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/blobs"
	"mishap/crash/blobs/blobstest"
	"mishap/crash/symbols/cores"
)

// TestMoreShared checks that instances on different machines share cores in object storage, and what they do
// while it is away.
func TestMoreShared(t *testing.T) {
	t.Parallel()
	server := blobstest.Start(t, "mishap")
	open := func() *cores.Store {
		t.Helper()
		location, err := blobs.ParseLocation("s3://mishap/test?endpoint=http://" + server.Address)
		if err != nil {
			t.Fatal(err)
		}
		bucket, err := blobs.OpenBucket(location, blobstest.AccessKey, blobstest.Secret)
		if err != nil {
			t.Fatal(err)
		}
		s, err := cores.Open(t.Context(), bucket, "cores/", t.TempDir(), "the key of all instances")
		if err != nil {
			t.Fatal(err)
		}
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
	if err != nil {
		t.Fatal(err)
	}
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
	if in, err = other.Open(t.Context(), third); err != nil {
		t.Fatal(err)
	}
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
