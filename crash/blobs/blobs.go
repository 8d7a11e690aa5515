// Package blobs stores files that all instances share: in a folder, or in object storage with S3's
// interface. A blob is stored under a key such as symbols/5f…/debuginfo, complete or not at all, and is
// never changed. The package knows nothing about the contents.
package blobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"mishap/crash"
)

// Info describes a stored blob.
type Info struct {
	Key  string
	Size int64
	At   time.Time // when it was stored
}

// Store is where blobs are. It is safe for concurrent use, also by several processes. If it cannot be
// reached or refuses the credentials, errors have the kind Unavailable, and a later try may succeed. A
// missing blob is fs.ErrNotExist.
type Store interface {
	// Put stores a blob of this size, unless the key is taken: then fresh is false, and what is stored
	// stays.
	Put(ctx context.Context, key string, content io.ReadSeeker, size int64) (fresh bool, err error)
	// Open returns n bytes of a blob from an offset, or all to its end if n is negative. If the blob is
	// shorter, it returns what there is.
	Open(ctx context.Context, key string, from, n int64) (io.ReadCloser, error)
	// Stat describes a blob.
	Stat(ctx context.Context, key string) (Info, error)
	// List returns the blobs whose keys begin with prefix, in the order of their keys.
	List(ctx context.Context, prefix string) iter.Seq2[Info, error]
	// Delete removes a blob. It does nothing if there is none.
	Delete(ctx context.Context, key string) error
}

// maxSize is the size limit of a blob, because S3 stores no larger ones in one step.
const maxSize = 5 << 30

// Location is the parsed configuration of a store in object storage.
type Location struct {
	Bucket   string
	Prefix   string // of all keys; empty or with a slash at its end
	Endpoint string // host and port
	Secure   bool   // https
	Region   string
}

// ParseLocation parses an address such as s3://bucket/prefix?endpoint=https://s3.example.com.
func ParseLocation(text string) (Location, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "s3" || u.Host == "" || u.User != nil || u.Fragment != "" {
		return Location{}, errors.New("want s3://bucket/prefix?endpoint=https://host")
	}
	l := Location{Bucket: u.Host, Region: "us-east-1", Prefix: strings.Trim(u.Path, "/")}
	if l.Prefix != "" {
		if err := checkKey(l.Prefix); err != nil {
			return Location{}, err
		}
		l.Prefix += "/"
	}
	endpoint := ""
	for name, values := range u.Query() {
		switch {
		case len(values) != 1:
			return Location{}, fmt.Errorf("%s is given %d times", name, len(values))
		case name == "endpoint":
			endpoint = values[0]
		case name == "region":
			l.Region = values[0]
		default:
			return Location{}, fmt.Errorf("unknown parameter %s; want endpoint or region", name)
		}
	}
	e, err := url.Parse(endpoint)
	if err != nil || e.Host == "" || e.Scheme != "http" && e.Scheme != "https" || strings.Trim(e.Path, "/") != "" ||
		e.User != nil || e.RawQuery != "" {
		return Location{}, errors.New("want the parameter endpoint=https://host or endpoint=http://host:port")
	}
	l.Endpoint, l.Secure = e.Host, e.Scheme == "https"
	return l, nil
}

// DeletePrefix removes all blobs whose keys begin with prefix, and returns how many there were.
func DeletePrefix(ctx context.Context, s Store, prefix string) (int, error) {
	n := 0
	for info, err := range s.List(ctx, prefix) {
		if err != nil {
			return n, err
		}
		if err := s.Delete(ctx, info.Key); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

var segment = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._+~-]*$`)

func checkKey(key string) error {
	for part := range strings.SplitSeq(key, "/") {
		if len(key) > 500 || !segment.MatchString(part) {
			return fmt.Errorf("%.100q is no key of a blob", key)
		}
	}
	return nil
}

func isKey(key string) bool { return checkKey(key) == nil }

func missing(key string) error { return fmt.Errorf("blob %s: %w", key, fs.ErrNotExist) }

var errTooLarge = crash.Errorf(crash.TooLarge, "blob_too_large", "A file of more than 5 GiB cannot be stored.")

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
