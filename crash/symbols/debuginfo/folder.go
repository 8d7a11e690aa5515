package debuginfo

import (
	"bytes"
	"cmp"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mishap/crash"
)

// Folder stores files by build-id, in the layout of debuginfod's own cache: BUILD-ID/executable and
// BUILD-ID/debuginfo. gdb can use it as its cache. A file beside each, such as debuginfo.origin, says
// where it came from. Any number of processes may use one folder.
type Folder struct {
	dir      string
	maxBytes int64
}

const (
	temporary    = ".incoming-" // begins the names of files that are being written
	originSuffix = ".origin"
)

// OpenFolder opens a folder and creates it if it is missing. If maxBytes is not 0, the folder removes
// the files that were not used for the longest time when all together are larger.
func OpenFolder(dir string, maxBytes int64) (*Folder, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("folder of symbols: %w", err)
	}
	f := &Folder{dir: dir, maxBytes: maxBytes}
	return f, f.removeLeftovers()
}

func (f *Folder) removeLeftovers() error {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return fmt.Errorf("folder of symbols: %w", err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && strings.HasPrefix(e.Name(), temporary) &&
			time.Since(info.ModTime()) > 24*time.Hour {
			_ = os.Remove(filepath.Join(f.dir, e.Name())) // tried again the next time
		}
	}
	return nil
}

func (f *Folder) path(id BuildID, k Kind) string {
	return filepath.Join(f.dir, string(id), string(k))
}

func (f *Folder) create() (*os.File, error) {
	file, err := os.CreateTemp(f.dir, temporary+"*")
	if err == nil {
		err = file.Chmod(0o644)
	}
	if err != nil {
		return nil, fmt.Errorf("folder of symbols: %w", err)
	}
	return file, nil
}

func (f *Folder) put(temp string, id BuildID, k Kind, origin string) error {
	// The name of the temporary file makes that of the origin unique, too.
	note := temp + originSuffix
	if err := os.WriteFile(note, []byte(origin+"\n"), 0o644); err != nil {
		return fmt.Errorf("folder of symbols: %w", err)
	}
	defer os.Remove(note) //nolint:errcheck // it is gone if it was moved
	place := f.path(id, k)
	// Eviction may remove the folder while it is empty.
	if err := crash.InFolder(filepath.Dir(place), func() error { return os.Rename(temp, place) }); err != nil {
		return fmt.Errorf("folder of symbols: %w", err)
	}
	if err := os.Rename(note, place+originSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("folder of symbols: %w", err)
	}
	return nil
}

// open opens a file and marks it as used now. The error is fs.ErrNotExist if the file is not there.
func (f *Folder) open(id BuildID, k Kind) (*os.File, error) {
	place := f.path(id, k)
	file, err := openRegular(place)
	if err != nil {
		return nil, err
	}
	if info, err := file.Stat(); err == nil && info.Size() > 0 {
		_ = os.Chtimes(place, time.Now(), info.ModTime()) // another user's folder: then it is not marked
		return file, nil
	}
	// An empty file: debuginfod's client writes it for a file that no server has.
	return nil, errors.Join(file.Close(), fs.ErrNotExist)
}

func (f *Folder) origin(id BuildID, k Kind) string {
	b, err := os.ReadFile(f.path(id, k) + originSuffix)
	if err != nil {
		return ""
	}
	return crash.Shorten(strings.TrimSpace(string(b)), 500)
}

// Entry is one stored file.
type Entry struct {
	ID     BuildID
	Kind   Kind
	Size   int64
	Used   time.Time // last use
	Origin string    // where it came from; empty: unknown
}

// List returns the stored files, the one with the oldest use first.
func (f *Folder) List() ([]Entry, error) {
	var all []Entry
	builds, err := os.ReadDir(f.dir)
	if err != nil {
		return nil, fmt.Errorf("folder of symbols: %w", err)
	}
	for _, b := range builds {
		id, err := ParseBuildID(b.Name())
		if err != nil {
			continue
		}
		for _, k := range []Kind{Executable, Debuginfo} {
			info, err := os.Stat(f.path(id, k))
			if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
				continue
			}
			all = append(all, Entry{ID: id, Kind: k, Size: info.Size(), Used: usedAt(info), Origin: f.origin(id, k)})
		}
	}
	slices.SortStableFunc(all, func(a, b Entry) int { return cmp.Or(a.Used.Compare(b.Used), cmp.Compare(a.ID, b.ID)) })
	return all, nil
}

// evict removes the files that were not used for the longest time, until the rest has at most the
// maximum size. A file that a job uses stays readable, because the job has a link of its own.
func (f *Folder) evict() error {
	if f.maxBytes == 0 {
		return nil
	}
	all, err := f.List()
	if err != nil {
		return err
	}
	var total int64
	for _, e := range all {
		total += e.Size
	}
	for _, e := range all {
		if total <= f.maxBytes {
			break
		}
		place := f.path(e.ID, e.Kind)
		if err := os.Remove(place); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("folder of symbols: %w", err)
		}
		_ = os.Remove(place + originSuffix)
		_ = os.Remove(filepath.Dir(place)) // unless it holds something else
		total -= e.Size
	}
	return nil
}

// place makes an open file available under another name: as a hard link, or as a copy if that name is
// on another file system.
func place(file *os.File, from, to string) error {
	if err := os.Link(from, to); err == nil {
		return nil
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.NewSectionReader(file, 0, 1<<62))
	return errors.Join(err, out.Close())
}

// Added says what became of one file that Add was given or found.
type Added struct {
	Name    string // path, or path of the package and of the file in it
	ID      BuildID
	Kind    Kind
	Known   bool  // it was stored before
	Refused error // why it was not stored; nil: it is stored

	// In packages:
	Package Package
	Path    string // that the package installs the file at
}

// Add stores a program, library or debug file, all of those in a folder and the folders below it, or
// all of those in a Debian package (.deb, .ddeb). It calls report for each of them. In folders and
// packages it ignores files of other formats. It returns an error if it cannot go on.
func (f *Folder) Add(ctx context.Context, name string, report func(Added)) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return f.addFile(ctx, name, true, report)
	}
	return filepath.WalkDir(name, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			report(Added{Name: path, Refused: err})
			return nil //nolint:nilerr // reported; the others are added
		}
		if !d.Type().IsRegular() {
			return ctx.Err()
		}
		return f.addFile(ctx, path, false, report)
	})
}

// addFile stores one file or the files of one package. If it must be one of these, others are
// reported as refused.
func (f *Folder) addFile(ctx context.Context, name string, must bool, report func(Added)) error {
	file, err := openRegular(name)
	if err != nil {
		report(Added{Name: name, Refused: err})
		return nil
	}
	defer file.Close() //nolint:errcheck // only read
	start := make([]byte, len(arMagic))
	n, err := io.ReadFull(file, start)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		report(Added{Name: name, Refused: err})
		return nil
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	switch start := start[:n]; {
	case bytes.HasPrefix(start, []byte(elf.ELFMAG)):
		return f.addELF(ctx, file, name, filepath.Base(name), report)
	case string(start) == arMagic && (must || isPackageName(name)):
		return f.addPackage(ctx, file, name, report)
	case must:
		report(Added{Name: name, Refused: errors.New("neither an ELF file nor a Debian package")})
	}
	return ctx.Err()
}

func (f *Folder) addELF(ctx context.Context, in io.Reader, name, origin string, report func(Added)) error {
	temp, err := f.create()
	if err != nil {
		return err
	}
	defer func() {
		_ = os.Remove(temp.Name()) // it is gone if it was moved into its place
		_ = temp.Close()
	}()
	size, err := io.Copy(writes{temp}, crash.UntilDone(ctx, in))
	if errors.Is(err, errDisk) || ctx.Err() != nil {
		return err
	}
	var info Info
	if err == nil {
		info, err = Inspect(temp, size)
	}
	switch {
	case err != nil:
	case info.ID == "":
		err = errors.New("it has no build-id; link it with -Wl,--build-id")
	case len(info.kinds()) == 0:
		err = errors.New("it holds neither code nor debug information")
	}
	if err != nil {
		report(Added{Name: name, Refused: err})
		return nil
	}
	for i, k := range info.kinds() {
		if file, err := f.open(info.ID, k); err == nil {
			_ = file.Close() // only opened to see that it is there
			report(Added{Name: name, ID: info.ID, Kind: k, Known: true})
			continue
		}
		from := temp.Name()
		if i+1 < len(info.kinds()) { // the file serves as both
			from += ".first"
			if err := os.Link(temp.Name(), from); err != nil {
				return fmt.Errorf("folder of symbols: %w", err)
			}
		}
		if err := f.put(from, info.ID, k, origin); err != nil {
			return err
		}
		report(Added{Name: name, ID: info.ID, Kind: k})
	}
	return nil
}

// Shared is where every instance finds the files that were added on another one.
type Shared interface {
	// Put stores a file of this size, unless there is one already.
	Put(ctx context.Context, key string, content io.ReadSeeker, size int64) (fresh bool, err error)
	// Open returns n bytes of a file from an offset, or all if n is negative. The error is
	// fs.ErrNotExist if there is none.
	Open(ctx context.Context, key string, from, n int64) (io.ReadCloser, error)
}

const sharedFiles = "shared files"

func sharedKey(id BuildID, k Kind) string { return "symbols/" + string(id) + "/" + string(k) }

// Share stores a file of the folder in to.
func (f *Folder) Share(ctx context.Context, to Shared, id BuildID, k Kind) error {
	file, err := openRegular(f.path(id, k))
	if err != nil {
		return fmt.Errorf("share a file of symbols: %w", err)
	}
	defer file.Close() //nolint:errcheck // only read
	info, err := file.Stat()
	if err == nil {
		_, err = to.Put(ctx, sharedKey(id, k), file, info.Size())
	}
	if err != nil {
		return fmt.Errorf("share a file of symbols: %w", err)
	}
	return nil
}

// askShared searches a file among those that were added on other instances, and caches it.
func (f *Finder) askShared(ctx context.Context, w Wanted, to string, r *Result) (Attempt, error) {
	a := Attempt{Source: sharedFiles, Outcome: OutcomeMissing}
	content, err := f.shared.Open(ctx, sharedKey(w.ID, w.Kind), 0, -1)
	if errors.Is(err, fs.ErrNotExist) {
		return a, nil
	}
	if err == nil {
		err = f.fetchShared(ctx, content, w, to, r)
	}
	switch {
	case ctx.Err() != nil:
		return a, ctx.Err()
	case errors.As(err, new(unusableError)):
		a.Outcome, a.Detail = OutcomeUnusable, err.Error()
	case errors.Is(err, crash.Unavailable):
		a.Outcome, a.Detail = OutcomeFailed, err.Error()
	case err != nil:
		return a, err
	}
	return a, nil
}

func (f *Finder) fetchShared(ctx context.Context, content io.ReadCloser, w Wanted, to string, r *Result) error {
	defer content.Close() //nolint:errcheck // only read
	file, err := f.cache.create()
	if err != nil {
		return err
	}
	defer func() {
		_ = os.Remove(file.Name()) // it is gone if it was moved into its place
		_ = file.Close()
	}()
	if _, err := io.Copy(file, crash.UntilDone(ctx, content)); err != nil {
		return fmt.Errorf("fetch a shared file: %w", err)
	}
	info, size, err := verify(file, w)
	if err != nil {
		return unusableError{err}
	}
	return f.keep(file, w, to, sharedFiles, "", size, info, r)
}
