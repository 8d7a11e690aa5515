package debuginfo

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/crash/symbols/symboltest"
)

func TestMain(m *testing.M) { symboltest.Main(m) }

// wanted describes a file of a program of the tests.
func wanted(t *testing.T, name string, k Kind) Wanted {
	t.Helper()
	return Wanted{ID: BuildID(symboltest.BuildID(t, name)), Kind: k, Machine: elf.EM_X86_64, Class: elf.ELFCLASS64,
		Path: "/usr/bin/" + name}
}

func debugFile(t *testing.T, name string) []byte {
	t.Helper()
	return symboltest.Read(t, filepath.Join(symboltest.Programs(t), "symbols", name+".debug"))
}

func openFolder(t *testing.T, maxBytes int64) *Folder {
	t.Helper()
	f, err := OpenFolder(t.TempDir(), maxBytes)
	checktest.NoError(t, err)
	return f
}

// answers serves files with one handler and counts the requests.
func answers(t *testing.T, h http.HandlerFunc) (address string, asked *atomic.Int64) {
	t.Helper()
	asked = new(atomic.Int64)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		h(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL, asked
}

func newFinder(t *testing.T, cache *Folder, servers ...string) *Finder {
	t.Helper()
	list, err := ParseServers(strings.Join(servers, " "))
	checktest.NoError(t, err)
	return NewFinder(Config{Added: openFolder(t, 0), Cache: cache, Servers: list, UserAgent: "test"})
}

func find(t *testing.T, f *Finder, w Wanted) Result {
	t.Helper()
	r, err := f.Find(t.Context(), w, filepath.Join(t.TempDir(), "found"))
	checktest.NoError(t, err)
	return r
}

// TestServers shows what each fault of a server comes to. The next server is always asked.
func TestServers(t *testing.T) {
	t.Parallel()
	w := wanted(t, "tail", Debuginfo)
	right, wrong := debugFile(t, "tail"), debugFile(t, "deep")
	good, _ := answers(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(right) })
	elsewhere, _ := answers(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(right) })
	for name, c := range map[string]struct {
		answer  http.HandlerFunc
		outcome string
		detail  string
	}{
		"missing": {http.NotFound, OutcomeMissing, ""},
		"error": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
			OutcomeFailed, "the server answered 500"},
		"wrong build-id": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(wrong) },
			OutcomeUnusable, "its build-id is "},
		"a page": {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") },
			OutcomeUnusable, "not an ELF file"},
		"empty": {func(http.ResponseWriter, *http.Request) {}, OutcomeUnusable, "not an ELF file"},
		"cut": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(right[:len(right)/2]) },
			OutcomeUnusable, "cut short"},
		"cut, size known": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(len(right)))
			_, _ = w.Write(right[:len(right)/2])
		}, OutcomeFailed, "unexpected EOF"},
		"wrong size": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Debuginfod-Size", "1")
			_, _ = w.Write(right)
		}, OutcomeFailed, "bytes"},
		"endless": {func(w http.ResponseWriter, _ *http.Request) {
			for err := error(nil); err == nil; {
				_, err = w.Write(right)
			}
		}, OutcomeUnusable, "larger than 1000000 bytes"},
		"said to be large": {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "1000001") },
			OutcomeUnusable, "larger than 1000000 bytes"},
		"redirect": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere, http.StatusFound) },
			OutcomeFailed, "the server redirects to"},
		"silent": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, OutcomeFailed, "no byte in"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, _ := answers(t, c.answer)
			f := newFinder(t, openFolder(t, 1_000_000), address, good)
			if name == "silent" {
				f.servers[0].idle = 50 * time.Millisecond
			}
			r := find(t, f, w)
			got := r.Searched[2]
			if got.Outcome != c.outcome || !strings.Contains(got.Detail, c.detail) || got.Source != address {
				t.Errorf("got %+v, want %s, %q", got, c.outcome, c.detail)
			}
			if !r.Found || r.Origin != good {
				t.Errorf("got %+v, want the file of the next server", r)
			}
		})
	}
	if r := find(t, newFinder(t, openFolder(t, 0), crashtest.NobodyListens), w); r.Found || !r.Retry ||
		!strings.Contains(r.Searched[2].Detail, "connection refused") {
		t.Errorf("dead: got %+v", r)
	}
}

// TestPause checks that a server that does not answer is not asked again for some time, neither by
// searches that already wait for it nor by later ones.
func TestPause(t *testing.T) {
	t.Parallel()
	w := wanted(t, "tail", Debuginfo)
	again := make(chan struct{}, 9) // requests for w
	address, asked := answers(t, func(_ http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, string(w.ID)) {
			again <- struct{}{}
		}
		<-r.Context().Done()
	})
	f := newFinder(t, openFolder(t, 0), address)
	f.servers[0].idle = 50 * time.Millisecond
	var searches sync.WaitGroup
	for n := range 3 * atOnce {
		searches.Go(func() {
			w := w
			w.ID = BuildID(fmt.Sprintf("%040x", n))
			if r := find(t, f, w); r.Found || !r.Retry {
				t.Errorf("search %d: got %+v, want a failure that is tried again", n, r)
			}
		})
	}
	searches.Wait()
	before := asked.Load()
	if before == 0 || before > atOnce {
		t.Errorf("the server was asked %d times, want at most %d", before, atOnce)
	}
	r := find(t, f, w)
	if got := r.Searched[2]; got.Outcome != OutcomeFailed || !strings.Contains(got.Detail, "no byte in 50ms") ||
		!strings.Contains(got.Detail, "not asked until") {
		t.Errorf("got %+v, want the reason", got)
	}
	if len(again) > 0 {
		t.Error("the server was asked during the pause")
	}
	f.servers[0].askAgain = time.Now()
	find(t, f, w)
	<-again // the server may see the request after the finder has given up
}

// TestHangs checks that a server that hangs ends with the caller's context.
func TestHangs(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	address, _ := answers(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	f := newFinder(t, openFolder(t, 0), address)
	_, err := f.Find(ctx, wanted(t, "tail", Debuginfo), filepath.Join(t.TempDir(), "x"))
	if err == nil || ctx.Err() == nil {
		t.Errorf("got %v, want it cancelled", err)
	}
}

// TestCache checks that a file is fetched once, works without the server, and is in the layout of
// debuginfod's own cache.
func TestCache(t *testing.T) {
	t.Parallel()
	w := wanted(t, "tail", Debuginfo)
	address, asked := answers(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Debuginfod-Archive", "/srv/pool/tail-dbgsym_1.0_amd64.deb")
		_, _ = w.Write(debugFile(t, "tail"))
	})
	cache := openFolder(t, 0)
	for i := range 3 {
		r := find(t, newFinder(t, cache, address), w)
		if want := []string{"", "cache (", "cache ("}[i] + address + " (tail-dbgsym_1.0_amd64.deb)"; !r.Found ||
			!strings.HasPrefix(r.Origin, want) || asked.Load() != 1 {
			t.Errorf("got %+v after %d requests, want %s", r, asked.Load(), want)
		}
	}
	if _, err := os.Stat(filepath.Join(cache.dir, string(w.ID), "debuginfo")); err != nil {
		t.Error(err)
	}
	// Debian's client uses the folder as its cache.
	cmd := exec.CommandContext(t.Context(), "debuginfod-find", "debuginfo", string(w.ID))
	cmd.Env = append(os.Environ(), "DEBUGINFOD_CACHE_PATH="+cache.dir, "DEBUGINFOD_URLS=http://127.0.0.1:1")
	want := filepath.Join(cache.dir, string(w.ID), "debuginfo")
	if out, err := cmd.Output(); err != nil || strings.TrimSpace(string(out)) != want {
		t.Errorf("debuginfod-find: got %q, %v", out, err)
	}
}

// TestMisses checks how long a missing file is not asked for again.
func TestMisses(t *testing.T) {
	t.Parallel()
	w := wanted(t, "tail", Debuginfo)
	address, asked := answers(t, http.NotFound)
	cache := openFolder(t, 0)
	f := newFinder(t, cache, address)
	age := func(by time.Duration) {
		t.Helper()
		all := cache.misses(w.ID, w.Kind)
		last := all[address]
		checktest.NoError(t, cache.addMiss(w.ID, w.Kind, map[string]miss{address: {count: last.count - 1}}, address,
			OutcomeMissing, last.at.Add(-by)))
	}
	for i, step := range []struct {
		age  time.Duration
		want int64
		last string
	}{
		{0, 1, OutcomeMissing}, {0, 1, OutcomeNotAsked}, {59 * time.Minute, 1, OutcomeNotAsked},
		{2 * time.Minute, 2, OutcomeMissing}, {23 * time.Hour, 2, OutcomeNotAsked}, {2 * time.Hour, 3, OutcomeMissing},
	} {
		if step.age > 0 {
			age(step.age)
		}
		r := find(t, f, w)
		if asked.Load() != step.want || r.Searched[2].Outcome != step.last {
			t.Errorf("step %d: got %d requests and %+v, want %d and %s", i, asked.Load(), r.Searched, step.want, step.last)
		}
	}
	other, asked := answers(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(debugFile(t, "tail")) })
	if r := find(t, newFinder(t, cache, address, other), w); !r.Found || asked.Load() != 1 {
		t.Errorf("a new server: got %+v", r)
	}
}

// TestEviction fills a small cache from many searches at once. Each search gets its file, and the
// cache stays within its limit.
func TestEviction(t *testing.T) {
	t.Parallel()
	names := []string{"tail", "deep", "many", "lost", "aborted", "tidewatch", "tiny"}
	files := map[string][]byte{}
	for _, n := range names {
		files["/buildid/"+symboltest.BuildID(t, n)+"/debuginfo"] = debugFile(t, n)
	}
	address, _ := answers(t, func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(files[r.URL.Path]) })
	const limit = 20_000
	cache := openFolder(t, limit)
	f := newFinder(t, cache, address)
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			name := names[i%len(names)]
			to := filepath.Join(t.TempDir(), fmt.Sprint("found", i))
			r, err := f.Find(t.Context(), wanted(t, name, Debuginfo), to)
			if err != nil || !r.Found {
				t.Errorf("%s: got %+v, %v", name, r, err)
				return
			}
			if got := symboltest.Read(t, to); !bytes.Equal(got, debugFile(t, name)) {
				t.Errorf("%s: got another file", name)
			}
		})
	}
	all.Wait()
	checktest.NoError(t, cache.evict())
	entries, err := cache.List()
	checktest.NoError(t, err)
	var total int64
	for _, e := range entries {
		total += e.Size
	}
	if total > limit || len(entries) == 0 {
		t.Errorf("got %d bytes in %d files, want at most %d", total, len(entries), limit)
	}
	if left, err := filepath.Glob(filepath.Join(cache.dir, temporary+"*")); err != nil || len(left) > 0 {
		t.Errorf("got %v, %v; want no temporary files", left, err)
	}
}

func TestMachine(t *testing.T) {
	t.Parallel()
	dir := symboltest.Programs(t)
	for _, path := range []string{filepath.Join(dir, "root/usr/bin/tail"), filepath.Join(dir, "root/usr/bin/deep"), dir,
		"/dev/zero", "relative", "/nowhere"} {
		w := wanted(t, "tail", Executable)
		w.Path = path
		allowed := NewFinder(Config{Added: openFolder(t, 0), Cache: openFolder(t, 0), Machine: true})
		if r := find(t, allowed, w); r.Found != strings.HasSuffix(path, "/tail") {
			t.Errorf("%s: got %+v", path, r)
		}
		if r := find(t, newFinder(t, openFolder(t, 0)), w); r.Found || len(r.Searched) != 2 {
			t.Errorf("%s, not allowed: got %+v", path, r)
		}
	}
}

func TestParseServers(t *testing.T) {
	t.Parallel()
	got, err := ParseServers("http://a:8002/ acme-* !acme-secret /opt/acme/*, https://b/path\n!acme-*")
	want := []Server{{"http://a:8002", []string{"acme-*", "!acme-secret", "/opt/acme/*"}},
		{"https://b/path", []string{"!acme-*"}}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, bad := range []string{"acme-*", "ftp://a", "http://", "http://u:p@a", "http://a?q", "http://a [", "://"} {
		if got, err := ParseServers(bad); err == nil {
			t.Errorf("%q: got %+v, want an error", bad, got)
		}
	}
	for _, c := range []struct {
		path     string
		packages []string
		a, b     bool
	}{
		{"/usr/bin/tail", []string{"tide"}, false, true},
		{"/usr/bin/acme", []string{"acme-tools"}, true, false},
		{"/usr/bin/acme", []string{"acme-secret"}, false, false},
		{"/opt/acme/lib/libx.so.1", nil, true, true},
		{"/usr/lib/acme-plugin.so", nil, true, false},
		{"/lib/libc.so.6", nil, false, true},
	} {
		w := Wanted{Path: c.path, Packages: c.packages}
		if a, b := got[0].Patterns.Match(w.Path, w.Packages...), got[1].Patterns.Match(w.Path, w.Packages...); a != c.a ||
			b != c.b {
			t.Errorf("%s %v: got %v, %v; want %v, %v", c.path, c.packages, a, b, c.a, c.b)
		}
	}
}

// A server that is excluded by a pattern gets no request.
func TestPatternsAreKept(t *testing.T) {
	t.Parallel()
	address, asked := answers(t, http.NotFound)
	r := find(t, newFinder(t, openFolder(t, 0), address, "!tai*"), wanted(t, "tail", Executable))
	if asked.Load() != 0 || r.Searched[2].Outcome != OutcomeNotAsked {
		t.Errorf("got %d requests and %+v", asked.Load(), r)
	}
}

// TestAdd adds files, folders and packages in each compression.
func TestAdd(t *testing.T) {
	t.Parallel()
	dir := symboltest.Programs(t)
	add := func(f *Folder, name string) (got []Added) {
		t.Helper()
		checktest.NoError(t, f.Add(t.Context(), name, func(a Added) { got = append(got, a) }))
		return got
	}
	folder := openFolder(t, 0)
	if got := add(folder, filepath.Join(dir, "root/usr/bin/tail")); len(got) != 1 || got[0].Kind != Executable ||
		string(got[0].ID) != symboltest.BuildID(t, "tail") || got[0].Refused != nil {
		t.Errorf("a program: got %+v", got)
	}
	if got := add(folder, filepath.Join(dir, "original/tail")); len(got) != 2 || !got[0].Known ||
		got[1].Kind != Debuginfo || got[1].Known || got[1].Refused != nil {
		t.Errorf("with its debug information: got %+v", got)
	}
	text := filepath.Join(t.TempDir(), "text")
	checktest.NoError(t, os.WriteFile(text, []byte("text"), 0o600))
	if got := add(folder, text); len(got) != 1 || got[0].Refused == nil {
		t.Errorf("a text: got %+v", got)
	}
	if got := add(folder, filepath.Dir(text)); len(got) != 0 {
		t.Errorf("a folder with a text: got %+v", got)
	}
	if got := add(folder, filepath.Join(dir, "cores/tiny.core")); len(got) != 1 || got[0].Refused == nil {
		t.Errorf("a core: got %+v", got)
	}
	for _, form := range []string{"none", "gzip", "xz", "zstd"} {
		file := debianPackage(t, form)
		folder := openFolder(t, 0)
		got := add(folder, file)
		if len(got) != 2 || got[0].Refused != nil || got[1].Refused != nil {
			t.Errorf("%s: got %+v", form, got)
		}
		entries, err := folder.List()
		if err != nil || len(entries) != 2 || entries[0].Origin != filepath.Base(file) ||
			string(entries[0].ID) != symboltest.BuildID(t, "tail") {
			t.Errorf("%s: got %+v, %v", form, entries, err)
		}
		if got := add(folder, filepath.Dir(file)); len(got) != 2 || !got[0].Known {
			t.Errorf("%s in a folder: got %+v", form, got)
		}
		whole := symboltest.Read(t, file)
		cut := filepath.Join(t.TempDir(), "cut.ddeb")
		for _, size := range []int{8, 100, len(whole) / 2, len(whole) * 2 / 3} {
			checktest.NoError(t, os.WriteFile(cut, whole[:size], 0o600))
			if got := add(openFolder(t, 0), cut); len(got) == 0 || got[len(got)-1].Refused == nil {
				t.Errorf("%s, %d of %d bytes: got %+v, want it refused", form, size, len(whole), got)
			}
		}
	}
}

// debianPackage builds a package with dpkg-deb.
func debianPackage(t *testing.T, compression string) string {
	t.Helper()
	dir := symboltest.Programs(t)
	root := t.TempDir()
	for _, d := range []string{"DEBIAN", "usr/bin", "usr/share", "usr/lib/debug"} {
		checktest.NoError(t, os.MkdirAll(filepath.Join(root, d), 0o755))
	}
	for to, content := range map[string][]byte{
		"DEBIAN/control": []byte("Package: tail\nVersion: 1.0\nArchitecture: amd64\nMaintainer: A <a@example.com>\n" +
			"Description: x\n"),
		"usr/bin/tail":             symboltest.Read(t, filepath.Join(dir, "root/usr/bin/tail")),
		"usr/lib/debug/tail.debug": debugFile(t, "tail"),
		"usr/share/text":           []byte("text"),
	} {
		checktest.NoError(t, os.WriteFile(filepath.Join(root, to), content, 0o644))
	}
	file := filepath.Join(t.TempDir(), "tail_1.0_"+compression+".deb")
	cmd := exec.CommandContext(t.Context(), "dpkg-deb", "--root-owner-group", "-Z"+compression, "-b", root, file)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("dpkg-deb: %v\n%s", err, out)
	}
	return file
}

// TestXZDictionary checks that a package cannot choose how much memory its decoder needs.
func TestXZDictionary(t *testing.T) {
	t.Parallel()
	b := symboltest.Read(t, debianPackage(t, "xz"))
	const streamHeader, filter, largest = 12, 2, 40 // 40 is a dictionary of 4 GiB
	data := b[bytes.Index(b, []byte("data.tar.xz")):]
	block := data[bytes.Index(data, []byte("\xfd7zXZ\x00"))+streamHeader:]
	block = block[:(int(block[0])+1)*4]
	at := bytes.Index(block[filter:], []byte{0x21, 1}) // LZMA2 with one byte of properties
	if at < 0 {
		t.Fatalf("the header of the block is % x", block)
	}
	block[filter+at+2] = largest
	binary.LittleEndian.PutUint32(block[len(block)-4:], crc32.ChecksumIEEE(block[:len(block)-4]))
	file := filepath.Join(t.TempDir(), "tail.deb")
	checktest.NoError(t, os.WriteFile(file, b, 0o600))
	var got []Added
	checktest.NoError(t, openFolder(t, 0).Add(t.Context(), file, func(a Added) { got = append(got, a) }))
	if len(got) != 1 || got[0].Refused == nil || !strings.Contains(got[0].Refused.Error(), "dictionary") {
		t.Errorf("got %+v, want it refused because of the dictionary", got)
	}
}

func FuzzInspect(f *testing.F) {
	f.Add([]byte("\x7fELF\x02\x01\x01"))
	f.Fuzz(func(t *testing.T, b []byte) {
		info, err := Inspect(bytes.NewReader(b), int64(len(b)))
		if err == nil && info.ID != "" {
			if _, err := ParseBuildID(string(info.ID)); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestInstalledOf(t *testing.T) {
	t.Parallel()
	got := InstalledOf(crash.Fields{"Package": "tidewatch 1:1.0-2 [origin: unknown]",
		"Dependencies": "libc6 2.36-9\nlibtide1 1.0 [modified: usr/lib/libtide.so.1]\nbroken\nnone (not installed)\n"})
	checktest.Diff(t, "result", got, Installed{"tidewatch": "1:1.0-2", "libc6": "2.36-9"})
	if got := InstalledOf(crash.Fields{"Package": "tidewatch 1.0 [modified: usr/bin/tidewatch]"}); len(got) > 0 {
		t.Errorf("got %v of a modified package", got)
	}
}

// Only what is certain is learned from a core.
func TestOfCore(t *testing.T) {
	t.Parallel()
	report := crash.Fields{"ExecutablePath": "/usr/bin/tidewatch", "Package": "tidewatch 1.0", "Architecture": "amd64",
		"Dependencies": "libc6 2.36-9\nzlib1g 1:1.2.13-1\nlibtide1 1.0\nlibreef1 2.0\nlibreef-extra 2.0\n"}
	loaded := []Loaded{
		{Path: "/usr/bin/tidewatch", Build: "aa01"},
		{Path: "/lib/x86_64-linux-gnu/libc.so.6", Build: "aa02", Archive: "libc6_2.36-9_amd64.deb"},
		{Path: "/usr/lib/libz.so.1.2.13", Build: "aa03", Archive: "zlib1g_1.2.13-1_amd64.deb"}, // without the epoch
		{Path: "/usr/lib/libold.so.1", Build: "aa04", Archive: "libc6_2.35-1_amd64.deb"},       // another version
		{Path: "/usr/lib/libtide.so.1", Build: "aa05"},                                         // known owner
		{Path: "/usr/lib/libreef.so.1", Build: "aa06"},                                         // two owners
		{Path: "/opt/other/lib.so", Build: "aa07"},
		{Path: "/usr/lib/libtide.so.2", Build: "aa08", Deleted: true},
		{Path: "/usr/lib/libtide.so.3"},
	}
	owners := map[string][]string{"/usr/lib/libtide.so.1": {"libtide1", "libtide0"},
		"/usr/lib/libreef.so.1": {"libreef1", "libreef-extra"}, "/usr/lib/libtide.so.2": {"libtide1"}}
	want := []Fact{
		{"/usr/bin/tidewatch", "tidewatch", "1.0", "amd64", "aa01"},
		{"/usr/lib/x86_64-linux-gnu/libc.so.6", "libc6", "2.36-9", "amd64", "aa02"},
		{"/usr/lib/libz.so.1.2.13", "zlib1g", "1:1.2.13-1", "amd64", "aa03"},
		{"/usr/lib/libtide.so.1", "libtide1", "1.0", "amd64", "aa05"},
	}
	checktest.Diff(t, "result", BuildsOfCore(report, loaded, owners), want)
	// The program of a script is not in the package of the script.
	report["InterpreterPath"] = "/usr/bin/python3.11"
	if got := BuildsOfCore(report, loaded[:1], nil); len(got) > 0 {
		t.Errorf("got %v of a script", got)
	}
	delete(report, "InterpreterPath")
	report["Package"] = "tidewatch 1.0 [modified: usr/bin/tidewatch]"
	if got := BuildsOfCore(report, loaded[:1], nil); len(got) > 0 {
		t.Errorf("got %v of a modified package", got)
	}
}
