package backup

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"mishap/crash"
)

// partial begins the names of incomplete backups and of those that are being deleted.
const partial = ".mishap-"

// complete matches the names of complete backups, which sort by age.
var complete = regexp.MustCompile(`^mishap-\d{8}T\d{6}Z(-\d+)?$`)

// lockFolder creates the folder for backups and locks it until unlock is called or the process ends.
// It returns Conflict if another process makes a backup there.
func lockFolder(dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = crash.Errorf(crash.Conflict, "backup_running", "Another backup to %s is running; wait for its end.", dir)
	}
	if err != nil {
		_ = f.Close() // it was only opened for the lock
		return nil, err
	}
	return func() { _ = f.Close() }, nil
}

// removePartials removes what interrupted backups left in dir, which must be locked.
func removePartials(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), partial) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	return err
}

// publish renames a complete backup to its final name, which it returns. All files must be synced.
func publish(dir, tmp string, taken time.Time) (string, error) {
	err := filepath.WalkDir(tmp, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return syncFolder(path)
	})
	if err != nil {
		return "", err
	}
	base := filepath.Join(dir, "mishap-"+taken.UTC().Format("20060102T150405Z"))
	name := base
	for i := 2; ; i++ {
		if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			break
		}
		name = fmt.Sprintf("%s-%d", base, i)
	}
	if err := os.Rename(tmp, name); err != nil {
		return "", err
	}
	return name, syncFolder(dir)
}

// deleteOld deletes all but the newest complete backups in dir, and returns the deleted names.
func deleteOld(dir string, keep int) (deleted []string, err error) {
	entries, err := os.ReadDir(dir) // sorted
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && complete.MatchString(e.Name()) {
			names = append(names, e.Name())
		}
	}
	for _, name := range names[:max(0, len(names)-keep)] {
		// An interrupted deletion must not leave anything that looks like a backup.
		tmp := filepath.Join(dir, partial+"delete-"+name)
		if err := os.Rename(filepath.Join(dir, name), tmp); err != nil {
			return deleted, err
		}
		deleted = append(deleted, filepath.Join(dir, name))
		if err := os.RemoveAll(tmp); err != nil {
			return deleted, err
		}
	}
	slices.Sort(deleted)
	return deleted, nil
}

// writeFile writes and syncs a file that only its owner can read.
func writeFile(name string, content []byte) error {
	return writeFrom(name, strings.NewReader(string(content)))
}

func writeFrom(name string, content io.Reader) (err error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Sync(), f.Close())
}

func syncFolder(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// copyTree copies the files below from, as far as they exist, and calls each before every file. It
// skips files that are deleted meanwhile.
func copyTree(from, to string, each func() error) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if err := each(); err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }() // only read
		return writeFrom(filepath.Join(to, name), f)
	})
}
