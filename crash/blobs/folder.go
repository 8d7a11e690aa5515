package blobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"mishap/crash"
)

// Folder is a Store in a folder. Any number of processes may use one folder, if its file system has
// hard links.
type Folder struct{ dir string }

const (
	incoming     = ".incoming-" // begins the names of files that are being written
	incomingKept = 24 * time.Hour
)

// OpenFolder opens a folder and creates it if it is missing. It removes what dead processes left.
func OpenFolder(dir string) (*Folder, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("folder of blobs: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("folder of blobs: %w", err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && strings.HasPrefix(e.Name(), incoming) &&
			time.Since(info.ModTime()) > incomingKept {
			_ = os.Remove(filepath.Join(dir, e.Name())) // tried again the next time
		}
	}
	return &Folder{dir}, nil
}

func (f *Folder) path(key string) string { return filepath.Join(f.dir, filepath.FromSlash(key)) }

// Put implements [Store].
func (f *Folder) Put(ctx context.Context, key string, content io.ReadSeeker, size int64) (fresh bool, err error) {
	if err := checkKey(key); err != nil {
		return false, err
	}
	if size > maxSize {
		return false, errTooLarge
	}
	if _, err := os.Stat(f.path(key)); err == nil {
		return false, nil
	}
	file, err := os.CreateTemp(f.dir, incoming+"*") // mode 0600
	if err != nil {
		return false, fmt.Errorf("store blob: %w", err)
	}
	defer os.Remove(file.Name()) //nolint:errcheck // the next start removes it
	n, err := io.Copy(file, crash.UntilDone(ctx, content))
	if err == nil && n != size {
		err = fmt.Errorf("%d bytes, want %d", n, size)
	}
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return false, fmt.Errorf("store blob: %w", err)
	}
	return f.link(file.Name(), key)
}

// link gives a complete file its name. Another process may remove the empty folder in the meantime.
func (f *Folder) link(file, key string) (fresh bool, err error) {
	place := f.path(key)
	err = crash.InFolder(filepath.Dir(place), func() error {
		err := os.Link(file, place)
		fresh = err == nil
		if errors.Is(err, fs.ErrExist) {
			return nil
		}
		return err
	})
	if err == nil && !fresh {
		return false, nil
	}
	for dir := filepath.Dir(place); err == nil; dir = filepath.Dir(dir) {
		if err = syncFolder(dir); err != nil || dir == filepath.Clean(f.dir) {
			break
		}
	}
	if err != nil {
		return false, fmt.Errorf("store blob: %w", err)
	}
	return true, nil
}

func syncFolder(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Open implements [Store].
func (f *Folder) Open(_ context.Context, key string, from, n int64) (io.ReadCloser, error) {
	if err := checkKey(key); err != nil {
		return nil, err
	}
	file, err := os.Open(f.path(key))
	if err != nil {
		return nil, fmt.Errorf("blob %s: %w", key, err)
	}
	if n < 0 {
		n = maxSize
	}
	return struct {
		io.Reader
		io.Closer
	}{io.NewSectionReader(file, from, n), file}, nil
}

// Stat implements [Store].
func (f *Folder) Stat(_ context.Context, key string) (Info, error) {
	if err := checkKey(key); err != nil {
		return Info{}, err
	}
	info, err := os.Stat(f.path(key))
	if err == nil && !info.Mode().IsRegular() {
		err = missing(key)
	}
	if err != nil {
		return Info{}, fmt.Errorf("blob %s: %w", key, err)
	}
	return Info{key, info.Size(), info.ModTime()}, nil
}

// List implements [Store].
func (f *Folder) List(ctx context.Context, prefix string) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		errStop := errors.New("enough")
		err := filepath.WalkDir(f.dir, func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // removed in the meantime
			}
			if err != nil {
				return err
			}
			key, _ := strings.CutPrefix(filepath.ToSlash(path), filepath.ToSlash(f.dir)+"/")
			if d.IsDir() {
				if path != f.dir && !strings.HasPrefix(key+"/", prefix) && !strings.HasPrefix(prefix, key+"/") {
					return fs.SkipDir
				}
				return ctx.Err()
			}
			if !strings.HasPrefix(key, prefix) || !isKey(key) {
				return nil
			}
			info, err := d.Info()
			if err != nil {
				return nil //nolint:nilerr // removed in the meantime
			}
			if !yield(Info{key, info.Size(), info.ModTime()}, nil) {
				return errStop
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStop) {
			yield(Info{}, fmt.Errorf("list blobs: %w", err))
		}
	}
}

// Delete implements [Store].
func (f *Folder) Delete(_ context.Context, key string) error {
	if err := checkKey(key); err != nil {
		return err
	}
	if err := os.Remove(f.path(key)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove blob: %w", err)
	}
	dir := filepath.Dir(f.path(key))
	for dir != filepath.Clean(f.dir) && os.Remove(dir) == nil { // until one is not empty
		dir = filepath.Dir(dir)
	}
	return nil
}

// DeletePrefix implements [Store].
func (f *Folder) DeletePrefix(ctx context.Context, prefix string) (int, error) {
	return deleteAll(ctx, f, prefix)
}
