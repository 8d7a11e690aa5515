package apport

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"mishap/crash"
)

var errNoFile = crash.Errorf(crash.Invalid, "no_file", "This is not a file, but a folder, FIFO, socket or device.")

// OpenFile opens a report file. It does not follow a symbolic link, which anyone who may write to the
// folder could point elsewhere, and refuses what is no file: opening a FIFO would wait for ever.
func OpenFile(name string) (*os.File, error) {
	info, err := os.Lstat(name)
	if err != nil {
		return nil, err
	}
	switch mode := info.Mode(); {
	case mode&fs.ModeSymlink != 0:
		return nil, crash.Errorf(crash.Invalid, "symbolic_link",
			"This is a symbolic link, which is not followed; name the file itself.")
	case !mode.IsRegular():
		return nil, errNoFile
	}
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() { // it was replaced
		err = errNoFile
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
