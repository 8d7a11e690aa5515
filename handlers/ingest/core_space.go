package ingest

import (
	"context"
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

	reserving sync.Mutex // one reservation at a time

	mu       sync.Mutex
	reserved int64 // bytes of cores that are being received
	checked  time.Time
	room     bool // result of the last check
}

// roomFor is how long a check of the space holds for asking for cores.
const roomFor = 10 * time.Second

// checkTimeout limits the time of a check, because a machine waits for its answer.
const checkTimeout = 2 * time.Second

// hasRoom reports whether another core can be asked for. While one check is under way, others get the
// result of the last one.
func (s *coreSpace) hasRoom(ctx context.Context) bool {
	s.mu.Lock()
	due := s.checked.IsZero() || time.Since(s.checked) > roomFor
	if due {
		s.checked = time.Now()
	}
	room := s.room
	s.mu.Unlock()
	if !due {
		return room
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), checkTimeout) // the result is also for others
	defer cancel()
	stored, err := s.cores.List(ctx)
	room = err == nil && s.fits(stored, minCore) == nil
	s.mu.Lock()
	defer s.mu.Unlock()
	s.room = room
	return room
}

// minCore is the space that must be free so that a core is asked for, in bytes.
const minCore = 1 << 20

// reserve reserves space for a core of size bytes. It returns errNoRoomForCore if there is none.
func (s *coreSpace) reserve(ctx context.Context, size int64) error {
	s.reserving.Lock()
	defer s.reserving.Unlock()
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	stored, _ := s.cores.List(ctx) // while the shared storage is away, only the space of this machine counts
	err := s.fits(stored, size)
	if err == nil {
		s.release(-size)
	}
	return err
}

// fits returns errNoRoomForCore if there is no space for another core of size bytes.
func (s *coreSpace) fits(stored []cores.Core, size int64) error {
	free, err := s.space(s.cores.Dir())
	if err != nil {
		return err
	}
	s.mu.Lock()
	underWay := s.reserved + size
	s.mu.Unlock()
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
