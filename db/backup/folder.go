package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"mishap/crash"
)

// partial begins the names of incomplete backups and of those that are being deleted.
const partial = ".mishap-"

// complete matches the names of complete backups, which sort by age.
var complete = regexp.MustCompile(`^mishap-\d{8}T\d{6}Z(-\d+)?$`)

// openFolder creates the folder for backups if its parent exists, and locks it until unlock is
// called or the process ends. It returns NotFound if the parent is missing, as after a typing error
// or while a disk is not mounted, Invalid if dir is a file, and Conflict if another process makes a
// backup there.
func openFolder(dir string) (unlock func(), err error) {
	err = os.Mkdir(dir, 0o700)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, crash.Errorf(crash.NotFound, "no_backup_folder", "The folder %s does not exist, so no backup was "+
			"written. Correct the name, mount the disk, or create the folder.", filepath.Dir(filepath.Clean(dir)))
	case errors.Is(err, fs.ErrExist):
		if info, err := os.Stat(dir); err == nil && !info.IsDir() {
			return nil, crash.Errorf(crash.Invalid, "backup_folder_is_file", "%s is a file; name a folder.", dir)
		}
	case err != nil:
		return nil, err
	}
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	return lock(f, crash.Errorf(crash.Conflict, "backup_running", "Another backup to %s is running; wait for its end.",
		dir))
}

// LockFile creates and locks a file until unlock is called, which deletes it, or the process ends.
// It returns busy if another process has locked the file.
func LockFile(name string, busy error) (unlock func(), err error) {
	for {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		release, err := lock(f, busy)
		if err != nil {
			return nil, err
		}
		ours, err := f.Stat()
		now, nowErr := os.Stat(name)
		if err == nil && nowErr == nil && os.SameFile(ours, now) {
			return func() {
				_ = os.Remove(name) // an empty file is harmless
				release()
			}, nil
		}
		release() // another process has deleted the file
	}
}

// lock locks an open file or folder until unlock is called or the process ends.
func lock(f *os.File, busy error) (unlock func(), err error) {
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = busy
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

// IsName reports whether a backup can have this name.
func IsName(name string) bool { return complete.MatchString(name) }

// nameOf returns the name of a complete backup.
func nameOf(taken time.Time) string { return "mishap-" + taken.UTC().Format("20060102T150405Z") }

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
	base := filepath.Join(dir, nameOf(taken))
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

// folder is a folder with backups.
type folder string

func (dir folder) held(context.Context) (all []held, err error) {
	entries, err := os.ReadDir(string(dir)) // sorted
	for _, e := range entries {
		if !e.IsDir() || !complete.MatchString(e.Name()) {
			continue
		}
		h := held{name: e.Name()}
		path := filepath.Join(string(dir), e.Name())
		m, err := Read(path)
		if err == nil {
			err = m.hasAllFiles(path)
		}
		h.good, h.unread = err == nil, crash.KindOf(err) == crash.Forbidden
		all = append(all, h)
	}
	return all, err
}

func (dir folder) remove(_ context.Context, name string) error {
	tmp := filepath.Join(string(dir), partial+"delete-"+name)
	return errors.Join(os.Rename(filepath.Join(string(dir), name), tmp), os.RemoveAll(tmp))
}

// hasAllFiles checks that all files of the backup in dir have their sizes. It does not read them. The
// errors are those of Verify.
func (m Manifest) hasAllFiles(dir string) error {
	for _, f := range m.Files {
		info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(f.Path)))
		if err != nil {
			return unread(dir, f.Path, err)
		}
		if info.Size() != f.Size {
			return damaged(filepath.Base(dir), f.Path, "it has another size")
		}
	}
	return nil
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
