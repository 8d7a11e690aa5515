package debuginfo

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// openOnMachine opens a file of this machine: the module's own path, or the place where
// distributions install debug files. The path comes from a core and can be anything; verify decides
// whether the file is the right one.
func (f *Finder) openOnMachine(w Wanted) (*os.File, string, string, error) {
	if f.machine == "" {
		return nil, "", "", fs.ErrNotExist
	}
	id := string(w.ID)
	path := filepath.Join(f.machine, "usr/lib/debug/.build-id", id[:2], id[2:]+".debug")
	if w.Kind == Executable {
		if !filepath.IsAbs(w.Path) {
			return nil, "", "", fs.ErrNotExist
		}
		path = filepath.Join(f.machine, w.Path)
	}
	file, err := openRegular(path)
	if err != nil && w.Kind == Debuginfo && errors.Is(err, fs.ErrNotExist) && filepath.IsAbs(w.Path) {
		path = filepath.Join(f.machine, w.Path) // not stripped
		file, err = openRegular(path)
	}
	if err != nil {
		return nil, "", "", fs.ErrNotExist
	}
	return file, path, path, nil
}
