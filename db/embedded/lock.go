package embedded

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// lockFile is a file locked by flock. The kernel releases the lock when the process ends, even if
// it is killed.
type lockFile struct{ f *os.File }

const (
	shared    = syscall.LOCK_SH
	exclusive = syscall.LOCK_EX
)

func openLock(dataDir, path string) (*lockFile, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if errors.Is(err, os.ErrPermission) {
		return nil, errForeign(dataDir, path, err)
	}
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	return &lockFile{f}, nil
}

// tryLock acquires the lock or changes its mode. It returns false if another process holds a
// conflicting lock.
func (l *lockFile) tryLock(mode int) (bool, error) {
	for {
		err := syscall.Flock(int(l.f.Fd()), mode|syscall.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, syscall.EINTR):
			return false, fmt.Errorf("lock %s: %w", l.f.Name(), err)
		}
	}
}

func (l *lockFile) unlock() { _ = syscall.Flock(int(l.f.Fd()), syscall.LOCK_UN) }

func (l *lockFile) close() { _ = l.f.Close() }

// owner is the content of a lock file that the owner of a server writes.
type owner struct {
	pid       int
	exclusive bool
	socket    string // empty until the server is ready
}

const ownerFormat = "%d %t %q\n"

func (o owner) write(l *lockFile) error {
	if err := l.f.Truncate(0); err != nil {
		return fmt.Errorf("write %s: %w", l.f.Name(), err)
	}
	if _, err := l.f.WriteAt(fmt.Appendf(nil, ownerFormat, o.pid, o.exclusive, o.socket), 0); err != nil {
		return fmt.Errorf("write %s: %w", l.f.Name(), err)
	}
	return nil
}

// readOwner reads the owner of the server, and whether the server is ready. It ignores a dead
// owner.
func readOwner(l *lockFile) (o owner, ready bool) {
	text, err := io.ReadAll(io.NewSectionReader(l.f, 0, 4096))
	if err != nil {
		return owner{}, false
	}
	if _, err := fmt.Sscanf(string(text), ownerFormat, &o.pid, &o.exclusive, &o.socket); err != nil || !alive(o.pid) {
		return owner{}, false
	}
	return o, o.socket != ""
}

// serves reports whether the owner is exclusive, that is, long-running.
func (o owner) serves() bool { return o.exclusive }

func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}
