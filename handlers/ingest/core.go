package ingest

import (
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

// architectures are the names of Debian's and Ubuntu's ports, past and present. A core of anything else could not be
// symbolised by anybody.
var architectures = [...]string{
	"alpha", "amd64", "arm64", "armhf", "hppa", "hurd-i386", "hurd-amd64", "i386", "ia64", "loong64", "m68k", "mips",
	"mips64el", "mipsel", "powerpc", "ppc64", "ppc64el", "riscv64", "s390x", "sh4", "sparc64", "x32",
}

// The sentences are those of errors.ubuntu.com.
var (
	errNoReport      = crash.Errorf(crash.Invalid, "no_report", "No OOPS found for this core dump.")
	errArchitecture  = crash.Errorf(crash.Invalid, "architecture", "Unsupported architecture")
	errEmptyCore     = crash.Errorf(crash.Invalid, "empty_core", "Empty core dump.")
	errNoRoomForCore = crash.Errorf(crash.Unavailable, "no_room", "There is no room for core dumps at the moment.")
)

// submitCore takes the core that belongs to a report of the same machine, and keeps it as it was sent. The first one
// stays: a repetition is answered alike and changes nothing.
func (h *handler) submitCore(w http.ResponseWriter, r *http.Request, to path) (result, error) {
	id, err := h.reportOf(r, to)
	if err != nil {
		return result{}, err
	}
	if !slices.Contains(architectures[:], to.architecture) {
		return result{}, errArchitecture
	}
	body, err := newPacedBody(w, r, h.MaxCoreBytes)
	if err != nil {
		return result{}, err
	}
	if !roomFor(h.cores, max(r.ContentLength, 0)) {
		return result{}, errNoRoomForCore
	}
	fresh, err := h.keepCore(id, body)
	if err != nil {
		if crash.KindOf(err) == 0 {
			err = &crash.Error{Code: "storage", Message: "Failure to write OOPS " + id.String() + " to storage provider", Err: err}
		}
		return result{}, err
	}
	if !fresh {
		return result{text: id.String(), outcome: "repeated"}, nil
	}
	return result{text: id.String(), outcome: "stored"}, nil
}

// reportOf finds the report that a core belongs to. Whether there is none, or that of another machine, is all one to the
// sender.
func (h *handler) reportOf(r *http.Request, to path) (crash.OopsID, error) {
	id, err := crash.ParseOopsID(to.oops)
	if err != nil {
		return id, errNoReport
	}
	system, err := h.Store.ReportSystem(r.Context(), id)
	switch {
	case errors.Is(err, crash.NotFound):
		return id, errNoReport
	case err != nil:
		return id, err
	case system != crash.NewSystemID(to.system):
		return id, errNoReport
	}
	return id, nil
}

const restPattern = ".upload-*"

// keepCore writes the body to cores/<id>.core, so that the file is either whole and on disk or not there. fresh is false
// when there was one already.
func (h *handler) keepCore(id crash.OopsID, body io.Reader) (fresh bool, err error) {
	f, err := os.CreateTemp(h.cores, restPattern) // mode 0600
	if err != nil {
		return false, fmt.Errorf("keep core: %w", err)
	}
	defer func() {
		_ = f.Close()
		_ = os.Remove(f.Name())
	}()
	n, err := io.Copy(f, body)
	if err != nil {
		return false, fmt.Errorf("keep core: %w", err)
	}
	if n == 0 {
		return false, errEmptyCore
	}
	if err := f.Sync(); err != nil {
		return false, fmt.Errorf("keep core: %w", err)
	}
	switch err := os.Link(f.Name(), filepath.Join(h.cores, id.String()+".core")); {
	case errors.Is(err, fs.ErrExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("keep core: %w", err)
	}
	if err := syncFolder(h.cores); err != nil {
		return false, fmt.Errorf("keep core: %w", err)
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

// roomFor reports whether, with size bytes more in the folder, a twentieth of the file system stays free: cores come
// unasked for and in any number, and the database may live on the same disk.
func roomFor(folder string, size int64) bool {
	var st syscall.Statfs_t
	if err := syscall.Statfs(folder, &st); err != nil {
		return true // writing will tell
	}
	return uint64(size)/uint64(st.Bsize)+st.Blocks/20 < st.Bavail //nolint:gosec // neither is negative
}

// removeRests removes what uploads left behind that were cut off by the end of a process. Another process may be
// writing to the same folder, so young files stay.
func (h *handler) removeRests() {
	rests, _ := filepath.Glob(filepath.Join(h.cores, restPattern)) // the pattern is good
	for _, name := range rests {
		info, err := os.Lstat(name)
		if err == nil && time.Since(info.ModTime()) > 24*time.Hour {
			_ = os.Remove(name)
		}
	}
}

// RemoveCores removes the core dumps of a data_dir that were written before the given time, and returns how many. It goes
// on after one that cannot be removed. A folder that is not there holds none.
func RemoveCores(dataDir string, before time.Time) (removed int, err error) {
	names, _ := filepath.Glob(filepath.Join(dataDir, "cores", "*.core")) // the pattern is good
	for _, name := range names {
		info, statErr := os.Lstat(name)
		if statErr != nil || !info.ModTime().Before(before) {
			continue
		}
		if removeErr := os.Remove(name); removeErr != nil && !errors.Is(removeErr, os.ErrNotExist) {
			err = removeErr
			continue
		}
		removed++
	}
	return removed, err
}
