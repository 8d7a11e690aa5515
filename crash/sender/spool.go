package sender

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Limits of the spool.
const (
	maxSpooled      = 200      // reports
	maxSpooledBytes = 32 << 20 // of all reports
	maxReport       = 1 << 20  // bytes of one report, the default limit of servers
	maxWaiting      = 30 * 24 * time.Hour
)

const (
	spooled   = ".bson"
	temporary = ".new-"
)

// errFull means that the spool has no room; the report is lost.
var errFull = errors.New("the spool is full")

// spool is a folder with a file for each report that is not sent yet. Names sort by age.
type spool struct{ dir string }

// openSpool opens a spool and creates its folder. It removes what a killed process left half written.
func openSpool(dir string) (spool, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return spool{}, err
	}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), temporary) {
			err = errors.Join(err, os.Remove(filepath.Join(dir, e.Name())))
		}
	}
	return spool{dir}, err
}

// add stores a report. When add returns, it is on disk.
func (s spool) add(body []byte, now time.Time) error {
	files, bytes, err := s.list()
	if err != nil {
		return err
	}
	if len(files) >= maxSpooled || bytes+int64(len(body)) > maxSpooledBytes || len(body) > maxReport {
		return fmt.Errorf("%w (%d reports, %d bytes)", errFull, len(files), bytes)
	}
	for n := 0; ; n++ {
		name := filepath.Join(s.dir, fmt.Sprintf("%020d-%03d%s", now.UnixNano(), n, spooled))
		if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			return writeFile(name, body)
		}
	}
}

// list returns the names of the files, oldest first, and their size.
func (s spool) list() (names []string, bytes int64, err error) {
	entries, err := os.ReadDir(s.dir)
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || !strings.HasSuffix(e.Name(), spooled) {
			continue
		}
		names = append(names, e.Name())
		bytes += info.Size()
	}
	slices.Sort(names)
	return names, bytes, err
}

func (s spool) read(name string) ([]byte, error) { return os.ReadFile(filepath.Join(s.dir, name)) }

func (s spool) remove(name string) error { return os.Remove(filepath.Join(s.dir, name)) }

// expired reports whether a report has waited for too long.
func (s spool) expired(name string, now time.Time) bool {
	var ns int64
	_, err := fmt.Sscanf(name, "%d-", &ns)
	return err != nil || now.Sub(time.Unix(0, ns)) > maxWaiting
}

// writeFile writes a file atomically: it is there as a whole or, after an error, not at all.
func writeFile(name string, content []byte) (err error) {
	folder := filepath.Dir(name)
	f, err := os.CreateTemp(folder, temporary+"*") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_, _ = f.Close(), os.Remove(f.Name())
		}
	}()
	if _, err = f.Write(content); err != nil {
		return err
	}
	if err = f.Sync(); err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), name); err != nil {
		return err
	}
	dir, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
