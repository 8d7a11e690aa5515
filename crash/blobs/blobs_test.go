package blobs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/crash/blobs/blobstest"
	"mishap/crash/checktest"
)

// behaves checks that a store does what both kinds of stores do.
func behaves(t *testing.T, open func(*testing.T) Store) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, Store){
		"keys": keepsFirst, "at once": putsAtOnce, "cut short": refusesCutShort,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

func TestFolder(t *testing.T) {
	t.Parallel()
	behaves(t, func(t *testing.T) Store {
		t.Helper()
		s, err := OpenFolder(t.TempDir())
		checktest.NoError(t, err)
		return s
	})
}

func TestMoreBucket(t *testing.T) {
	t.Parallel()
	behaves(t, func(t *testing.T) Store {
		t.Helper()
		return bucket(t, blobstest.Start(t, "mishap").Address, blobstest.Secret)
	})
}

func bucket(t *testing.T, address string, secret crash.Secret) *Bucket {
	t.Helper()
	l, err := ParseLocation("s3://mishap/some/prefix?endpoint=http://" + address)
	checktest.NoError(t, err)
	b, err := openBucket(l, blobstest.AccessKey, secret, 2*time.Second)
	checktest.NoError(t, err)
	return b
}

func put(t *testing.T, s Store, key, content string) bool {
	t.Helper()
	fresh, err := s.Put(t.Context(), key, strings.NewReader(content), int64(len(content)))
	checktest.NoError(t, err)
	return fresh
}

func get(t *testing.T, s Store, key string, from, n int64) string {
	t.Helper()
	r, err := s.Open(t.Context(), key, from, n)
	checktest.NoError(t, err)
	b, err := io.ReadAll(r)
	checktest.NoError(t, errors.Join(err, r.Close()))
	return string(b)
}

func keys(t *testing.T, s Store, prefix string) []string {
	t.Helper()
	var all []string
	for info, err := range s.List(t.Context(), prefix) {
		checktest.NoError(t, err)
		all = append(all, info.Key)
	}
	return all
}

// keepsFirst checks keys, ranges and lists, and that the first blob under a key stays.
func keepsFirst(t *testing.T, s Store) {
	t.Helper()
	if !put(t, s, "cores/2026-11/one", "0123456789") || put(t, s, "cores/2026-11/one", "another content") {
		t.Error("the first blob under a key must stay")
	}
	put(t, s, "cores/2026-10/two", "")
	put(t, s, "symbols/5f/debuginfo", "names")
	for _, test := range []struct {
		from, n int64
		want    string
	}{{0, -1, "0123456789"}, {3, 4, "3456"}, {8, 10, "89"}, {4, -1, "456789"}, {0, 1, "0"}, {2, 0, ""}, {10, 5, ""}} {
		if got := get(t, s, "cores/2026-11/one", test.from, test.n); got != test.want {
			t.Errorf("%d bytes from %d: got %q, want %q", test.n, test.from, got, test.want)
		}
	}
	info, err := s.Stat(t.Context(), "cores/2026-11/one")
	if err != nil || info.Size != 10 || info.Key != "cores/2026-11/one" || time.Since(info.At).Abs() > time.Hour {
		t.Errorf("got %+v, %v", info, err)
	}
	for prefix, want := range map[string][]string{
		"": {"cores/2026-10/two", "cores/2026-11/one", "symbols/5f/debuginfo"}, "cores/2026-11/": {"cores/2026-11/one"},
		"cores/": {"cores/2026-10/two", "cores/2026-11/one"}, "cores/2026-1": {"cores/2026-10/two", "cores/2026-11/one"},
		"other/": nil,
	} {
		if diff := cmp.Diff(want, keys(t, s, prefix)); diff != "" {
			t.Errorf("%s: %s", prefix, diff)
		}
	}
	if _, err := s.Stat(t.Context(), "cores/2026-11/missing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("stat of a missing blob: got %v", err)
	}
	if _, err := s.Open(t.Context(), "missing", 0, -1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("open of a missing blob: got %v", err)
	}
	if n, err := DeletePrefix(t.Context(), s, "cores/"); n != 2 || err != nil {
		t.Errorf("got %d deleted, %v", n, err)
	}
	if err := s.Delete(t.Context(), "cores/2026-11/one"); err != nil {
		t.Errorf("delete of a missing blob: %v", err)
	}
	if got := keys(t, s, ""); !slices.Equal(got, []string{"symbols/5f/debuginfo"}) {
		t.Errorf("got %q left", got)
	}
	for _, key := range []string{"", "/etc/passwd", "a/../b", "a//b", "..", ".hidden", "a/", "ü", "a b",
		strings.Repeat("a", 501)} {
		if _, err := s.Put(t.Context(), key, strings.NewReader(""), 0); err == nil {
			t.Errorf("the key %q is accepted", key)
		}
		if _, err := s.Open(t.Context(), key, 0, -1); err == nil {
			t.Errorf("the key %q can be opened", key)
		}
	}
}

// putsAtOnce checks that of many processes that store under one key at the same time, one succeeds, and its content
// stays complete.
func putsAtOnce(t *testing.T, s Store) {
	t.Helper()
	const size = 1 << 20
	var fresh atomic.Int64
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			content := bytes.Repeat([]byte{byte('a' + i)}, size)
			ok, err := s.Put(t.Context(), "one", bytes.NewReader(content), size)
			if err != nil {
				t.Error(err)
			}
			if ok {
				fresh.Add(1)
			}
		})
	}
	group.Wait()
	got := get(t, s, "one", 0, -1)
	if fresh.Load() != 1 || len(got) != size || strings.Trim(got, got[:1]) != "" {
		t.Errorf("got %d winners and %d bytes", fresh.Load(), len(got))
	}
}

// refusesCutShort checks that a blob whose content ends early is not stored.
func refusesCutShort(t *testing.T, s Store) {
	t.Helper()
	if fresh, err := s.Put(t.Context(), "short", strings.NewReader("12345"), 10); err == nil || fresh {
		t.Errorf("got %t, %v", fresh, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if fresh, err := s.Put(ctx, "short", strings.NewReader("12345"), 5); !errors.Is(err, context.Canceled) || fresh {
		t.Errorf("got %t, %v", fresh, err)
	}
	if got := keys(t, s, ""); len(got) > 0 {
		t.Errorf("got %q", got)
	}
}

func TestMoreUnavailable(t *testing.T) {
	t.Parallel()
	server := blobstest.Start(t, "mishap")
	b := bucket(t, server.Address, blobstest.Secret)
	content := bytes.Repeat([]byte("0123456789"), 1<<20)
	if _, err := b.Put(t.Context(), "kept", bytes.NewReader(content), int64(len(content))); err != nil {
		t.Fatal(err)
	}
	if err := b.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if err := bucket(t, server.Address, "wrong").Check(t.Context()); !errors.Is(err, crash.Invalid) {
		t.Errorf("wrong secret: got %v", err)
	}
	if _, err := bucket(t, server.Address, "wrong").Stat(t.Context(), "kept"); !errors.Is(err, crash.Unavailable) {
		t.Errorf("wrong secret: got %v", err)
	}
	other := *b
	other.location.Bucket = "other"
	if err := other.Check(t.Context()); !errors.Is(err, crash.Invalid) {
		t.Errorf("missing bucket: got %v", err)
	}

	server.Kill()
	if err := b.Check(t.Context()); !errors.Is(err, crash.Unavailable) {
		t.Errorf("check: got %v", err)
	}
	if _, err := b.Put(t.Context(), "new", strings.NewReader("x"), 1); !errors.Is(err, crash.Unavailable) {
		t.Errorf("put: got %v", err)
	}
	if _, err := b.Open(t.Context(), "kept", 0, -1); !errors.Is(err, crash.Unavailable) || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("open: got %v", err)
	}
	for _, err := range b.List(t.Context(), "") {
		if !errors.Is(err, crash.Unavailable) {
			t.Errorf("list: got %v", err)
		}
	}
	if err := b.Delete(t.Context(), "kept"); !errors.Is(err, crash.Unavailable) {
		t.Errorf("delete: got %v", err)
	}
	server.Run(t)
	if got := get(t, b, "kept", 0, -1); sha256.Sum256([]byte(got)) != sha256.Sum256(content) {
		t.Errorf("got %d bytes after the restart, want the same %d", len(got), len(content))
	}
}

// A server that accepts connections and then is silent costs a bounded time.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	checktest.NoError(t, err)
	defer l.Close() //nolint:errcheck // the end of the test
	go func() {
		for {
			if _, err := l.Accept(); err != nil {
				return
			}
		}
	}()
	location, err := ParseLocation("s3://mishap?endpoint=http://" + l.Addr().String())
	checktest.NoError(t, err)
	b, err := openBucket(location, "a", "b", 100*time.Millisecond)
	checktest.NoError(t, err)
	if _, err := b.Stat(t.Context(), "one"); !errors.Is(err, crash.Unavailable) {
		t.Errorf("got %v", err)
	}
}

func TestParseLocation(t *testing.T) {
	t.Parallel()
	got, err := ParseLocation("s3://bucket/a/b/?endpoint=https://s3.example.com&region=eu-1")
	if diff := cmp.Diff(Location{"bucket", "a/b/", "s3.example.com", true, "eu-1"}, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	for _, text := range []string{"", "/var/lib/mishap", "s3://bucket", "s3://?endpoint=https://x", "s3://b?endpoint=x",
		"s3://b?endpoint=ftp://x", "s3://b?endpoint=https://x&a=b", "s3://user:secret@b?endpoint=https://x",
		"s3://b/../c?endpoint=https://x", "s3://b?endpoint=https://x/path", "s3://b?endpoint=https://x&endpoint=https://y",
		"s3://b?endpoint=https://user:secret@x"} {
		if got, err := ParseLocation(text); err == nil {
			t.Errorf("%s: got %+v, want an error", text, got)
		}
	}
}
