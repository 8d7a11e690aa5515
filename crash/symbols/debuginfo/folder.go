package debuginfo

import (
	"cmp"
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

// removeLeftovers removes temporary files of processes that died.
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

// create returns a new temporary file in the folder. The caller removes it.
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

// put moves a complete temporary file into its place.
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

// origin returns where a stored file came from.
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
