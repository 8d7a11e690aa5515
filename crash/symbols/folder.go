package symbols

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"mishap/crash"
)

// jobPrefix begins the names of the folders of jobs.
const jobPrefix = "mishap-job-"

// nobody is the user and group that gdb gets if mishap runs as root.
const nobody = 65534

// workDir creates the folder of jobs. If mishap runs as root, gdb runs as nobody. If that user cannot
// reach the folder, workDir returns another one.
func workDir(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("folder of jobs: %w", err)
	}
	if os.Geteuid() != 0 || reachable(dir) {
		return dir, nil
	}
	return "/var/tmp", nil
}

// reachable reports whether every user can pass a folder and those above it.
func reachable(dir string) bool {
	for {
		info, err := os.Stat(dir)
		if err != nil || info.Mode()&0o001 == 0 {
			return false
		}
		above := filepath.Dir(dir)
		if above == dir {
			return true
		}
		dir = above
	}
}

// newFolder creates the folder of a job, which only this user and the debugger can read.
func newFolder(dir string) (string, error) {
	folder, err := os.MkdirTemp(dir, jobPrefix)
	if err == nil {
		err = readableForNobody(folder, 0o750)
	}
	if err != nil {
		return "", fmt.Errorf("folder of a job: %w", err)
	}
	return folder, nil
}

// readableForNobody gives the group nobody access, if gdb is going to run as that user.
func readableForNobody(path string, mode fs.FileMode) error {
	if os.Geteuid() != 0 {
		return nil
	}
	return errors.Join(os.Chown(path, 0, nobody), os.Chmod(path, mode))
}

// leftoverAge is the age at which a folder without a core is that of a process that died.
const leftoverAge = 24 * time.Hour

// hold locks the core of a job, so that others see that its process lives.
func hold(core *os.File) error {
	if err := syscall.Flock(int(core.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	return nil
}

// unheld reports whether the process of a job has died.
func unheld(folder string) bool {
	core, err := os.Open(filepath.Join(folder, coreName))
	if err != nil {
		return false
	}
	defer core.Close() //nolint:errcheck // only read
	return hold(core) == nil
}

// removeLeftovers removes the folders of processes that died. They hold cores that are not
// encrypted.
func removeLeftovers(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("folder of jobs: %w", err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !strings.HasPrefix(e.Name(), jobPrefix) {
			continue
		}
		if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() {
			continue
		}
		if folder := filepath.Join(dir, e.Name()); time.Since(info.ModTime()) >= leftoverAge || unheld(folder) {
			_ = os.RemoveAll(folder) // tried again the next time
		}
	}
	return nil
}

// sparseFile writes a core without the blocks that hold only zeros, which are most of some cores.
type sparseFile struct {
	file  *os.File
	data  int64 // bytes that may still be written, without blocks of zeros
	size  int64 // bytes that may still be written in all
	at    int64
	block []byte // the end of what was written, less than a block
}

const blockSize = 4096

var errLargeCore = crash.Errorf(crash.TooLarge, "core_too_large", "The core is larger than core_max_bytes permits.")

// Write implements io.Writer. It fails with a TooLarge error above the size limit.
func (f *sparseFile) Write(b []byte) (int, error) {
	if int64(len(b)) > f.size {
		return 0, errLargeCore
	}
	f.size -= int64(len(b))
	n := len(b)
	for len(f.block)+len(b) >= blockSize {
		part := b[:blockSize-len(f.block)]
		b = b[len(part):]
		if len(f.block) > 0 {
			part = append(f.block, part...)
		}
		if err := f.writeBlock(part); err != nil {
			return 0, err
		}
		f.block = f.block[:0]
	}
	f.block = append(f.block, b...)
	return n, nil
}

func (f *sparseFile) writeBlock(b []byte) error {
	at := f.at
	f.at += int64(len(b))
	if isZero(b) {
		return nil
	}
	if int64(len(b)) > f.data {
		return errLargeCore
	}
	f.data -= int64(len(b))
	if _, err := f.file.WriteAt(b, at); err != nil {
		return fmt.Errorf("write the core: %w", err)
	}
	return nil
}

var zeros [blockSize]byte

func isZero(b []byte) bool { return bytes.Equal(b, zeros[:len(b)]) }

// finish writes the rest, sets the size of the file and returns it.
func (f *sparseFile) finish() (int64, error) {
	if err := f.writeBlock(f.block); err != nil {
		return 0, err
	}
	f.block = nil
	if err := f.file.Truncate(f.at); err != nil {
		return 0, fmt.Errorf("write the core: %w", err)
	}
	return f.at, nil
}
