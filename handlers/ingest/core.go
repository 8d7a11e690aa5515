package ingest

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"syscall"

	"mishap/crash"
	"mishap/crash/symbols/cores"
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
	size, fresh, err := h.storeCore(r.Context(), id, body)
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

// storeCore stores the body, so that the core is either complete and on disk or absent. fresh is
// false if it was stored before.
func (h *handler) storeCore(ctx context.Context, id crash.OopsID, body *pacedBody) (size int64, fresh bool, err error) {
	expected := h.MaxCoreBytes
	if body.r.ContentLength >= 0 {
		expected = body.r.ContentLength
	}
	if err := h.coreSpace.reserve(ctx, expected); err != nil {
		return 0, false, err
	}
	defer h.coreSpace.release(expected)
	size, fresh, err = h.Cores.Put(ctx, id, h.coreSpace.whileRoom(body))
	switch {
	case errors.Is(err, syscall.ENOSPC):
		err = errNoRoomForCore.Because(err)
	case errors.Is(err, cores.ErrEmpty):
		err = errEmptyCore
	}
	return size, fresh, err
}
