package ingest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"
	"syscall"
	"time"

	"mishap/crash"
	"mishap/crash/symbols/cores"
	"mishap/db"
)

// architectures lists Debian's and Ubuntu's ports, past and present. Cores of others could not be
// symbolised.
var architectures = [...]string{
	"alpha", "amd64", "arm64", "armhf", "hppa", "hurd-i386", "hurd-amd64", "i386", "ia64", "loong64", "m68k", "mips",
	"mips64el", "mipsel", "powerpc", "ppc64", "ppc64el", "riscv64", "s390x", "sh4", "sparc64", "x32",
}

// Where errors.ubuntu.com has such a message, the text is the same. A machine sends a core only
// once, whatever the answer.
var (
	errNoReport      = crash.Errorf(crash.Invalid, "no_report", "No OOPS found for this core dump.")
	errArchitecture  = crash.Errorf(crash.Invalid, "architecture", "Unsupported architecture")
	errEmptyCore     = crash.Errorf(crash.Invalid, "empty_core", "Empty core dump.")
	errNoRoomForCore = crash.Errorf(crash.Unavailable, "no_room", "There is no room for core dumps at the moment.")
)

// submitCore stores a core that the machine was asked for, as it was sent, and queues it for
// symbolising. A repeated upload gets the same answer and does not replace the first one. So does a
// core that is no longer needed, because another machine was faster; it is removed.
func (h *handler) submitCore(w http.ResponseWriter, r *http.Request, to path) (result, error) {
	id, err := crash.ParseOopsID(to.oops)
	if err != nil {
		return result{}, errNoReport
	}
	received, err := h.coreRequested(r.Context(), id, crash.NewSystemID(to.system))
	if err != nil {
		return result{}, err
	}
	if !slices.Contains(architectures[:], to.architecture) {
		return result{}, errArchitecture
	}
	repeated := result{text: id.String(), outcome: "repeated"}
	if received {
		return repeated, nil
	}
	body, err := newPacedBody(w, r, h.MaxCoreBytes)
	if err != nil {
		return result{}, err
	}
	needed := true
	expected := h.MaxCoreBytes
	if body.r.ContentLength >= 0 {
		expected = body.r.ContentLength
	}
	size, fresh, err := h.storeCore(r.Context(), id, body, expected)
	if errors.Is(err, cores.ErrPending) { // worker.Clean records its arrival
		h.Log.WarnContext(r.Context(), "a core waits on this machine, because the shared storage is away",
			"report", id.String())
		return result{text: id.String(), outcome: "stored"}, nil
	}
	if err == nil {
		ctx, cancel := context.WithTimeout(r.Context(), h.AnswerWithin)
		defer cancel()
		needed, err = h.Store.CoreReceived(ctx, crash.ReceivedCore{Report: id, Architecture: to.architecture,
			Store: h.Cores.ID(), Bytes: size})
	}
	if err == nil && !needed {
		err = h.Cores.Remove(r.Context(), id)
	}
	if err != nil {
		if crash.KindOf(err) == 0 {
			err = &crash.Error{Code: "storage", Err: err,
				Message: "Failure to write OOPS " + id.String() + " to storage provider"}
		}
		return result{}, err
	}
	if !fresh {
		return repeated, nil
	}
	if !needed {
		return result{text: id.String(), outcome: "not_needed"}, nil
	}
	return result{text: id.String(), outcome: "stored"}, nil
}

// coreRequested reports whether the core of this report has been received. It returns an error if
// nobody asked this machine for it.
func (h *handler) coreRequested(
	ctx context.Context, id crash.OopsID, system crash.SystemID,
) (received bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, h.AnswerWithin)
	defer cancel()
	return h.Store.CoreRequested(ctx, id, system)
}

// storeCore stores a core as it is sent, so that it is either complete and on disk or absent. It reserves space for the
// expected size. fresh is false if it was stored before.
func (h *handler) storeCore(ctx context.Context, id crash.OopsID, core io.Reader, expected int64) (
	size int64, fresh bool, err error,
) {
	if err := h.coreSpace.reserve(ctx, expected); err != nil {
		return 0, false, err
	}
	defer h.coreSpace.release(expected)
	size, fresh, err = h.Cores.Put(ctx, id, &coreReader{from: core, space: h.coreSpace})
	switch {
	case errors.Is(err, syscall.ENOSPC):
		err = errNoRoomForCore.Because(err)
	case errors.Is(err, cores.ErrEmpty):
		err = errEmptyCore
	}
	return size, fresh, err
}

// declinedCore identifies cores of which none was wanted.
type declinedCore struct {
	problem      crash.BucketID
	version      string
	architecture string
}

// The database is not asked again about a core that was not wanted a moment ago. So a problem that
// many machines have at once costs one query in this time, not one for each report.
const (
	declinedFor = 10 * time.Second
	maxDeclined = 4096
)

// wantsCore decides whether to ask a machine for the core of its report, which is stored already. If
// that fails, it asks for none: other machines will have the same crash.
func (h *handler) wantsCore(ctx context.Context, r crash.CoreRequest) bool {
	if !h.WantCores || !h.CorePackages.Match(r.Executable, r.Packages...) {
		return false
	}
	key := declinedCore{r.Problem, r.Version, r.Architecture}
	if h.declined.Contains(key) {
		return false
	}
	wanted := h.coreSpace.hasRoom(ctx)
	if wanted {
		var err error
		if wanted, err = h.Store.RequestCore(ctx, r, h.Cores.ID()); err != nil {
			h.Log.WarnContext(ctx, "cannot decide whether to ask for a core", "report", r.Report.String(), "error", err)
			return false
		}
	}
	if !wanted {
		h.declined.Add(key, struct{}{})
	}
	return wanted
}

// coreSpace limits the space of cores: their total size, and the free space on their disk, which
// the database may share.
type coreSpace struct {
	cores *cores.Store
	most  int64
	space func(folder string) (db.Space, error)

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
	left := db.Space{Free: free.Free - uint64(underWay), Total: free.Total} //nolint:gosec // compared below
	if total > s.most || uint64(underWay) > free.Free || left.Low() {       //nolint:gosec // not negative
		return errNoRoomForCore
	}
	return nil
}

func (s *coreSpace) release(size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reserved -= size
}

// coreReader reads a body, and fails with errNoRoomForCore when other writers fill the disk.
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
