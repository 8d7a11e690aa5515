package ingest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"mishap/crash"
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

// submitCore stores a core that the machine was asked for, unchanged. A repeated upload gets the
// same answer and does not replace the first one.
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
	fresh, err := h.storeCore(id, body)
	if err == nil {
		ctx, cancel := context.WithTimeout(r.Context(), h.AnswerWithin)
		defer cancel()
		err = h.Store.CoreReceived(ctx, id)
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

const partialPattern = ".upload-*"

// storeCore writes the body to cores/<id>.core, so that the file is either complete and on disk or
// absent. fresh is false if the file existed.
func (h *handler) storeCore(id crash.OopsID, body *pacedBody) (fresh bool, err error) {
	size := h.MaxCoreBytes
	if body.r.ContentLength >= 0 {
		size = body.r.ContentLength
	}
	if err := h.coreSpace.reserve(size); err != nil {
		return false, err
	}
	defer h.coreSpace.release(size)
	f, err := os.CreateTemp(h.cores, partialPattern) // mode 0600
	if err != nil {
		return false, fmt.Errorf("store core: %w", err)
	}
	defer func() {
		_ = f.Close()
		_ = os.Remove(f.Name())
	}()
	n, err := io.Copy(f, h.coreSpace.whileRoom(body))
	if errors.Is(err, syscall.ENOSPC) {
		return false, errNoRoomForCore.Because(err)
	}
	if err != nil {
		return false, fmt.Errorf("store core: %w", err)
	}
	if n == 0 {
		return false, errEmptyCore
	}
	if err := f.Sync(); err != nil {
		return false, fmt.Errorf("store core: %w", err)
	}
	switch err := os.Link(f.Name(), filepath.Join(h.cores, id.String()+".core")); {
	case errors.Is(err, fs.ErrExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("store core: %w", err)
	}
	if err := syncFolder(h.cores); err != nil {
		return false, fmt.Errorf("store core: %w", err)
	}
	return true, nil
}

func syncFolder(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	defer d.Close() //nolint:errcheck // nothing was written through it
	return d.Sync()
}

// removePartials removes partial files that a terminated process left. It skips recent files,
// because another process may be writing them.
func (h *handler) removePartials() {
	rests, _ := filepath.Glob(filepath.Join(h.cores, partialPattern)) // the pattern is valid
	for _, name := range rests {
		info, err := os.Lstat(name)
		if err == nil && time.Since(info.ModTime()) > 24*time.Hour {
			_ = os.Remove(name)
		}
	}
}
