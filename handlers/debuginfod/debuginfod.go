// Package debuginfod serves programs, debug files and sources to debuggers, by the protocol of
// debuginfod (https://sourceware.org/elfutils/Debuginfod.html). The protocol knows no accounts.
package debuginfod

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/klauspost/compress/gzhttp"

	"mishap/crash/symbols/debuginfo"
	"mishap/crash/symbols/elffile"
)

// Prefix begins the addresses of all files.
const Prefix = "/buildid"

// writeTime is how long a client may take to read the next bytes. Large files take minutes.
const writeTime = 90 * time.Second

// Files serves the files of a folder:
//
//	/buildid/BUILD-ID/executable
//	/buildid/BUILD-ID/debuginfo
//	/buildid/BUILD-ID/source/PATH   PATH is absolute, as the debug information has it
//
// Like debuginfod, it answers 404 for a file that it does not have.
type Files struct{ folder *debuginfo.Folder }

// NewFiles returns the Files of a folder.
func NewFiles(folder *debuginfo.Folder) *Files { return &Files{folder} }

// Executable serves a program or library.
func (f *Files) Executable(w http.ResponseWriter, r *http.Request) {
	f.file(w, r, debuginfo.Executable)
}

// Debuginfo serves a debug file.
func (f *Files) Debuginfo(w http.ResponseWriter, r *http.Request) { f.file(w, r, debuginfo.Debuginfo) }

func (f *Files) file(w http.ResponseWriter, r *http.Request, kind debuginfo.Kind) {
	id, err := elffile.ParseBuildID(chi.URLParam(r, "id"))
	if err != nil {
		f.NotFound(w, r)
		return
	}
	file, origin, err := f.folder.Open(id, kind)
	if err != nil {
		f.refuse(w, r, err)
		return
	}
	defer file.Close() //nolint:errcheck // only read
	info, err := file.Stat()
	if err != nil {
		f.refuse(w, r, err)
		return
	}
	headers(w, info.Size(), string(id)+"-"+string(kind))
	w.Header().Set("X-Debuginfod-File", origin)
	http.ServeContent(&patient{w}, r, "", info.ModTime(), file)
}

// Source serves a source file.
func (f *Files) Source(w http.ResponseWriter, r *http.Request) {
	id, err := elffile.ParseBuildID(chi.URLParam(r, "id"))
	if err != nil {
		f.NotFound(w, r)
		return
	}
	name := "/" + chi.URLParam(r, "*")
	file, info, err := f.folder.OpenSource(id, name)
	if err != nil {
		f.refuse(w, r, err)
		return
	}
	defer file.Close() //nolint:errcheck // only read
	headers(w, info.Size(), "")
	w.Header().Set("Content-Length", strconv.FormatInt(info.Size(), 10))
	_, _ = io.Copy(&patient{w}, file) // an error means that the client has left
}

// headers sets the headers of a file that never changes.
func headers(w http.ResponseWriter, size int64, tag string) {
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Cache-Control", "public, max-age=86400")
	h.Set(gzhttp.HeaderNoCompression, "yes") // clients may ask for a part, and know the size
	h.Set("X-Debuginfod-Size", strconv.FormatInt(size, 10))
	if tag != "" {
		h.Set("ETag", `"`+tag+`"`)
	}
}

// patient gives the client time to read each part of an answer.
type patient struct{ http.ResponseWriter }

func (p *patient) Write(b []byte) (int, error) {
	// Not every writer supports a deadline.
	_ = http.NewResponseController(p.ResponseWriter).SetWriteDeadline(time.Now().Add(writeTime))
	return p.ResponseWriter.Write(b)
}

func (f *Files) refuse(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		f.NotFound(w, r)
		return
	}
	answer(w, http.StatusInternalServerError, "The file could not be read.")
}

// NotFound answers requests for files that the folder does not have.
func (*Files) NotFound(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusNotFound, "Nobody has added this file.")
}

// answer sends one line for the person behind a debugger.
func answer(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n") // a client that has left needs no answer
}
