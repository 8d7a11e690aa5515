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

// openSpool opens a spool and creates its folder. It removes what a killed process left half written, and without
// cores, all that was stored about core dumps.
func openSpool(dir string, cores bool) (spool, error) {
	s := spool{dir}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return spool{}, err
	}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), temporary) || s.isStale(e.Name(), cores) {
			err = errors.Join(err, os.Remove(filepath.Join(dir, e.Name())))
		}
	}
	return s, err
}

// add stores a report and the name of its core dump, if it has one. When add returns, it is on disk.
func (s spool) add(body []byte, core string, now time.Time) error {
	files, bytes, err := s.list()
	if err != nil {
		return err
	}
	if len(files) >= maxSpooled || bytes+int64(len(body)) > maxSpooledBytes || len(body) > maxReport {
		return fmt.Errorf("%w (%d reports, %d bytes)", errFull, len(files), bytes)
	}
	for n := 0; ; n++ {
		name := fmt.Sprintf("%020d-%03d%s", now.UnixNano(), n, spooled)
		if _, err := os.Lstat(filepath.Join(s.dir, name)); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if core != "" {
			if err := s.keepCore(name, core); err != nil {
				return err
			}
		}
		return writeFile(filepath.Join(s.dir, name), body)
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

// remove removes a file and, after that of a report, the name of its core dump.
func (s spool) remove(name string) error {
	err := os.Remove(filepath.Join(s.dir, name))
	if err != nil || !strings.HasSuffix(name, spooled) {
		return err
	}
	if err := os.Remove(filepath.Join(s.dir, stem(name)+coreOf)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// expired reports whether a file has waited for longer than most.
func expired(name string, now time.Time, most time.Duration) bool {
	var ns int64
	_, err := fmt.Sscanf(name, "%d-", &ns)
	return err != nil || now.Sub(time.Unix(0, ns)) > most
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
