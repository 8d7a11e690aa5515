package ingest

import (
	"io"
	"sync"
	"time"

	"mishap/crash/symbols/cores"
	"mishap/db/disk"
)

// coreSpace limits the space of cores: their total size, and the free space on their disk, which
// the database may share.
type coreSpace struct {
	cores *cores.Store
	most  int64
	space func(folder string) (disk.Space, error)

	mu       sync.Mutex
	reserved int64 // bytes of cores that are being received
	checked  time.Time
	room     bool // result of the last check
}

// roomFor is how long a check of the space holds for asking for cores.
const roomFor = 10 * time.Second

// hasRoom reports whether another core can be asked for.
func (s *coreSpace) hasRoom() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.checked.IsZero() || time.Since(s.checked) > roomFor {
		s.checked, s.room = time.Now(), s.fits(minCore) == nil
	}
	return s.room
}

// minCore is the space that must be free so that a core is asked for, in bytes.
const minCore = 1 << 20

// reserve reserves space for a core of size bytes. It returns errNoRoomForCore if there is none.
func (s *coreSpace) reserve(size int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.fits(size)
	if err == nil {
		s.reserved += size
	}
	return err
}

// fits returns errNoRoomForCore if there is no space for another core of size bytes.
func (s *coreSpace) fits(size int64) error {
	stored, err := s.cores.List()
	if err != nil {
		return err
	}
	free, err := s.space(s.cores.Dir())
	if err != nil {
		return err
	}
	underWay := s.reserved + size
	total := underWay
	for _, c := range stored {
		total += c.Size
	}
	left := disk.Space{Free: free.Free - uint64(underWay), Total: free.Total} //nolint:gosec // compared below
	if total > s.most || uint64(underWay) > free.Free || left.Low() {         //nolint:gosec // not negative
		return errNoRoomForCore
	}
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
		if free, err := r.space.space(r.space.cores.Dir()); err == nil && free.Low() {
			return 0, errNoRoomForCore
		}
		r.next = checkInterval
	}
	n, err := r.from.Read(p)
	r.next -= int64(n)
	return n, err
}
