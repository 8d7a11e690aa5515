package ingest

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"mishap/db/disk"
)

// coreSpace limits the space of cores: their total size, and the free space on their disk, which
// the database may share.
type coreSpace struct {
	folder string
	most   int64
	space  func(folder string) (disk.Space, error)

	mu       sync.Mutex
	reserved int64 // bytes of cores that are being received
}

// reserve reserves space for a core of size bytes. It returns errNoRoomForCore if there is none.
func (s *coreSpace) reserve(size int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	stored, err := storedCores(s.folder)
	if err != nil {
		return err
	}
	free, err := s.space(s.folder)
	if err != nil {
		return err
	}
	underWay := s.reserved + size
	total := underWay
	for _, c := range stored {
		total += c.size
	}
	left := disk.Space{Free: free.Free - uint64(underWay), Total: free.Total} //nolint:gosec // compared below
	if total > s.most || uint64(underWay) > free.Free || left.Low() {         //nolint:gosec // not negative
		return errNoRoomForCore
	}
	s.reserved += size
	return nil
}

func (s *coreSpace) release(size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reserved -= size
}

// whileRoom returns a reader of body that fails with errNoRoomForCore when other writers fill the
// disk.
func (s *coreSpace) whileRoom(body io.Reader) io.Reader { return &coreReader{from: body, space: s} }

type coreReader struct {
	from  io.Reader
	space *coreSpace
	next  int64 // bytes until the next check of the disk
}

const checkInterval = 4 << 20 // bytes

// Read implements io.Reader.
func (r *coreReader) Read(p []byte) (int, error) {
	if r.next <= 0 {
		if free, err := r.space.space(r.space.folder); err == nil && free.Low() {
			return 0, errNoRoomForCore
		}
		r.next = checkInterval
	}
	n, err := r.from.Read(p)
	r.next -= int64(n)
	return n, err
}

// storedCore is a file with a core.
type storedCore struct {
	name string
	size int64
	at   time.Time
}

// storedCores returns the cores in a folder, oldest first.
func storedCores(folder string) ([]storedCore, error) {
	names, _ := filepath.Glob(filepath.Join(folder, "*.core")) // the pattern is valid
	var cores []storedCore
	for _, name := range names {
		info, err := os.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed in the meantime
		}
		if err != nil {
			return nil, fmt.Errorf("list cores: %w", err)
		}
		cores = append(cores, storedCore{name, info.Size(), info.ModTime()})
	}
	slices.SortFunc(cores, func(a, b storedCore) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.name, b.name)) })
	return cores, nil
}

// RemoveCores removes the cores of a data_dir that were written before the given time. Then it
// removes the oldest until the total size is at most most bytes. It returns the number removed, and
// continues after a file that it cannot remove. A missing folder counts as empty.
func RemoveCores(dataDir string, before time.Time, most int64) (removed int, err error) {
	cores, err := storedCores(filepath.Join(dataDir, "cores"))
	if err != nil {
		return 0, err
	}
	var total int64
	for _, c := range cores {
		total += c.size
	}
	for _, c := range cores {
		if !c.at.Before(before) && total <= most {
			continue
		}
		if removeErr := os.Remove(c.name); removeErr != nil && !errors.Is(removeErr, fs.ErrNotExist) {
			err = removeErr
			continue
		}
		total -= c.size
		removed++
	}
	return removed, err
}
