package debuginfod

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"

	"mishap/crash"
	"mishap/crash/symbols/builds"
	"mishap/crash/symbols/debuginfo"
	"mishap/crash/symbols/elffile"
	"mishap/db"
	"mishap/db/disk"
	"mishap/db/symbols"
)

const (
	maxPart  = 64 << 20         // bytes of one part
	readTime = 90 * time.Second // for the next bytes of a part
)

var errNoRoom = crash.Errorf(crash.Unavailable, "no_room", "The disk for symbols is nearly full.")

// Uploads receives files from builds, in parts, so that an interrupted upload can be resumed.
type Uploads struct {
	folder *debuginfo.Folder
	shared debuginfo.Shared // where other instances find the files; nil: nowhere
	builds *symbols.Builds
	jobs   *symbols.Store
	log    *slog.Logger
}

// NewUploads returns Uploads into a folder, and into shared, which may be nil.
func NewUploads(folder *debuginfo.Folder, shared debuginfo.Shared, store *db.Store, log *slog.Logger) *Uploads {
	return &Uploads{folder, shared, symbols.NewBuilds(store), symbols.New(store), log}
}

// share lets other instances find a stored file, and starts the jobs that wait for it. It may be
// repeated. Without shared storage, the instances that see the folder find the file by themselves.
func (h *Uploads) share(ctx context.Context, u debuginfo.Upload) error {
	if h.shared == nil {
		return nil
	}
	if err := h.folder.Share(ctx, h.shared, u.ID, u.Kind); err != nil {
		return err
	}
	return h.jobs.FilesAdded(ctx, "", []string{string(u.ID) + "/" + string(u.Kind)})
}

// Progress is the answer to all requests.
type Progress struct {
	Stored   bool  `json:"stored"`   // the file is complete; nothing more needs to be sent
	Received int64 `json:"received"` // offset of the next part, in bytes
}

// Show answers how much of a file has arrived.
//
//	GET /api/1.0/symbols/BUILD-ID/KIND?size=BYTES&sha256=HEX
func (h *Uploads) Show(w http.ResponseWriter, r *http.Request) error {
	u, err := uploadOf(r)
	if err != nil {
		return err
	}
	received, stored, err := h.folder.Received(u)
	if err == nil && stored {
		err = h.share(r.Context(), u) // the first attempt may have failed
	}
	if err != nil {
		return err
	}
	return send(w, http.StatusOK, Progress{stored, received})
}

// Receive receives a part of a file: 201 with the last one, else 202. After 409, the answer of Show has
// the offset of the next part.
//
//	PUT /api/1.0/symbols/BUILD-ID/KIND?size=BYTES&sha256=HEX&offset=BYTES
func (h *Uploads) Receive(w http.ResponseWriter, r *http.Request) error {
	u, err := uploadOf(r)
	if err != nil {
		return err
	}
	offset, err := strconv.ParseInt(r.URL.Query().Get("offset"), 10, 64)
	if err != nil || offset < 0 || offset > u.Size {
		return crash.Errorf(crash.Invalid, "bad_offset", "The parameter offset must be a number of bytes within the file.")
	}
	if space, err := disk.Of(h.folder.Dir()); err != nil {
		return err
	} else if space.Low() || space.Free < uint64(u.Size-offset) { //nolint:gosec // neither is negative
		return errNoRoom
	}
	body := http.MaxBytesReader(w, &paced{r.Body, http.NewResponseController(w)}, maxPart)
	received, stored, err := h.folder.Receive(r.Context(), u, offset, body)
	if err != nil {
		return uploadError(err)
	}
	status := http.StatusAccepted
	if stored {
		if err := h.share(r.Context(), u); err != nil {
			return err
		}
		status = http.StatusCreated
		h.log.InfoContext(r.Context(), "symbols uploaded", "build_id", u.ID, "kind", u.Kind, "bytes", u.Size)
	}
	return send(w, status, Progress{stored, received})
}

const (
	maxFacts     = 10_000 // in one request
	maxFactBytes = 16 << 20
)

// Learn stores which builds the versions of packages hold, so that crashes without a core dump can be
// named.
//
//	POST /api/1.0/symbols/builds
//	[{"path": …, "package": …, "version": …, "architecture": …, "build": …}, …]
func (h *Uploads) Learn(w http.ResponseWriter, r *http.Request) error {
	var facts []builds.Fact
	err := json.NewDecoder(http.MaxBytesReader(w, &paced{r.Body, http.NewResponseController(w)}, maxFactBytes)).Decode(
		&facts)
	if err != nil {
		return crash.Errorf(crash.Invalid, "bad_json", "The body must be a JSON list of builds.").Because(err)
	}
	if len(facts) > maxFacts {
		return crash.Errorf(crash.TooLarge, "too_many_builds", "A request has at most %d builds.", maxFacts)
	}
	for _, f := range facts {
		if id, err := elffile.ParseBuildID(string(f.Build)); err != nil || id != f.Build || !f.Valid() ||
			f.Path != builds.NormalPath(f.Path) {
			return crash.Errorf(crash.Unprocessable, "bad_build", "This is no build of a package: %s.",
				crash.Shorten(f.Path+" "+f.Package+" "+f.Version+" "+f.Architecture+" "+string(f.Build), 200))
		}
	}
	if err := h.builds.Learn(r.Context(), facts); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// uploadError turns errors of reading the body into answers.
func uploadError(err error) error {
	if _, ok := errors.AsType[*crash.Error](err); ok {
		return err
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return crash.Errorf(crash.TooLarge, "part_too_large", "A part has at most %d MiB.", maxPart>>20).Because(err)
	}
	if _, ok := errors.AsType[net.Error](err); ok || errors.Is(err, io.ErrUnexpectedEOF) {
		return crash.Errorf(crash.Unavailable, "interrupted", "The upload was interrupted.").Because(err)
	}
	return err
}

// uploadOf reads what a request is about.
func uploadOf(r *http.Request) (u debuginfo.Upload, err error) {
	query := r.URL.Query()
	if u.ID, err = elffile.ParseBuildID(chi.URLParam(r, "id")); err != nil {
		return u, crash.Errorf(crash.Invalid, "bad_build_id", "The address needs a build-id in hexadecimal digits.")
	}
	switch kind := chi.URLParam(r, "kind"); kind {
	case string(debuginfo.Executable), string(debuginfo.Debuginfo), string(debuginfo.Sources):
		u.Kind = debuginfo.Kind(kind)
	default:
		return u, crash.Errorf(crash.NotFound, "unknown_kind", "The kinds of files are executable, debuginfo and source.zip.")
	}
	if u.Size, err = strconv.ParseInt(query.Get("size"), 10, 64); err != nil || u.Size <= 0 ||
		u.Size > debuginfo.MaxUpload {
		return u, crash.Errorf(crash.Invalid, "bad_size", "The parameter size must be a number of bytes, from 1 to %d.",
			int64(debuginfo.MaxUpload))
	}
	sum, err := hex.DecodeString(query.Get("sha256"))
	if err != nil || len(sum) != sha256.Size {
		return u, crash.Errorf(crash.Invalid, "bad_sha256", "The parameter sha256 must have 64 hexadecimal digits.")
	}
	u.SHA256 = [sha256.Size]byte(sum)
	u.Origin = crash.Shorten(query.Get("origin"), 500)
	return u, nil
}

func send(w http.ResponseWriter, status int, p Progress) error {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(p) // an error means that the client has left
	return nil
}

// paced gives the client time to send each piece of a body.
type paced struct {
	io.ReadCloser
	control *http.ResponseController
}

func (p *paced) Read(b []byte) (int, error) {
	_ = p.control.SetReadDeadline(time.Now().Add(readTime)) // not every writer supports it
	return p.ReadCloser.Read(b)
}
