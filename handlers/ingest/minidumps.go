package ingest

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"

	"github.com/klauspost/compress/gzip"

	"mishap/crash"
	"mishap/crash/format/minidump"
	"mishap/crash/intake"
)

// minidumpDoor is the protocol of Breakpad and crashpad. The client stores the answer as the id of the report. After
// 429 it would send the dump again at once.
var minidumpDoor = &door{
	name: crash.DoorMinidump, accepted: http.StatusOK,
	statuses: map[crash.Kind]int{
		crash.TooLarge: http.StatusRequestEntityTooLarge, crash.Forbidden: http.StatusForbidden,
		crash.UnsupportedMedia: http.StatusUnsupportedMediaType,
	},
	answer: answer, refuse: answer,
}

var errDumpForm = crash.Errorf(crash.Invalid, "malformed_form",
	"The body is neither a minidump nor a multipart/form-data form with one in its part “upload_file_minidump”.")

// submitMinidump accepts one minidump.
func (h *handler) submitMinidump(w http.ResponseWriter, r *http.Request, to path) (result, error) {
	if err := h.Disk.Room(); err != nil {
		return result{}, err
	}
	var res result
	var err error
	if res.project, res.key, err = h.project(r, to, ""); err != nil {
		return res, err
	}
	room := h.newRoom()
	defer room.release()
	body, err := newPacedBody(w, r, h.MaxBytes)
	if err != nil {
		return res, err
	}
	sent, err := room.read(r.Context(), body)
	if err != nil {
		return res, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), h.AnswerWithin)
	defer cancel()
	dump, notes, err := room.minidump(ctx, r, sent, h.MaxBytes)
	if err != nil {
		return res, err
	}
	parsed, err := minidump.Parse(dump)
	if err != nil {
		return res, err
	}
	report := parsed.Report(notes, minidump.Project{Number: res.project.Number, Source: res.project.Source})
	receipt, err := h.accept(ctx, w, r, report)
	if err != nil {
		return res, err
	}
	accepted := resultOf(receipt)
	res.outcome, res.reason, res.text = accepted.outcome, accepted.reason, receipt.ID.String()
	if err := h.storeDump(ctx, receipt, parsed.Architecture, dump); err != nil {
		h.Log.WarnContext(ctx, "a minidump was not stored, only its report", "report", receipt.ID.String(), "error", err)
	}
	return res, nil
}

// storeDump stores a dump as if its machine had been asked for a core, if one is wanted.
func (h *handler) storeDump(ctx context.Context, receipt intake.Receipt, architecture string, dump []byte) error {
	if receipt.Core == nil || receipt.Duplicate || !h.wantsCore(ctx, *receipt.Core) {
		return nil
	}
	text, to := io.Pipe()
	go func() { to.CloseWithError(writeAsSent(to, dump)) }()
	defer text.Close() //nolint:errcheck // a pipe
	size, _, err := h.storeCore(ctx, receipt.ID, text, int64(len(dump)))
	if err != nil {
		return err
	}
	needed, err := h.Store.CoreReceived(ctx, crash.ReceivedCore{Report: receipt.ID, Architecture: architecture,
		Store: h.Cores.ID(), Bytes: size})
	if err == nil && !needed {
		err = h.Cores.Remove(ctx, receipt.ID)
	}
	return err
}

// writeAsSent writes a dump in the form in which whoopsie sends cores.
func writeAsSent(to io.Writer, dump []byte) error {
	text := base64.NewEncoder(base64.StdEncoding, to)
	packed, err := gzip.NewWriterLevel(text, gzip.BestSpeed)
	if err != nil {
		return err
	}
	_, err = packed.Write(dump)
	return errors.Join(err, packed.Close(), text.Close())
}

// minidump returns the dump in a body without its compressions, of at most limit bytes, and what the program said about
// itself.
func (m *room) minidump(ctx context.Context, r *http.Request, body []byte, limit int64) (
	dump []byte, notes minidump.Annotations, err error,
) {
	reserved := false
	reserve := func() error {
		if reserved {
			return nil
		}
		reserved = true
		return m.reserve(ctx, decompressFactor*limit+brotliWindow)
	}
	if encoding := strings.ToLower(r.Header.Get("Content-Encoding")); encoding != "" && encoding != "identity" {
		if err := reserve(); err != nil {
			return nil, notes, err
		}
		var over bool
		if body, over, err = unpack(encoding, body, limit); err == nil && over {
			err = errTooLarge(limit)
		}
		if err != nil {
			return nil, notes, err
		}
	}
	if dump, notes, err = minidumpIn(r, body); err != nil || !minidump.Compressed(dump) {
		return dump, notes, err
	}
	if err := reserve(); err != nil {
		return nil, notes, err
	}
	dump, err = minidump.Unpack(dump, limit)
	return dump, notes, err
}

// minidumpIn returns the dump in a form, or a body that is one.
func minidumpIn(r *http.Request, body []byte) (dump []byte, notes minidump.Annotations, err error) {
	const mostParts, mostText = 200, 1000 // bytes of an annotation
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" || params["boundary"] == "" {
		if minidump.IsDump(body) || minidump.Compressed(body) {
			return body, notes, nil
		}
		return nil, notes, errDumpForm
	}
	form := multipart.NewReader(bytes.NewReader(body), params["boundary"])
	for range mostParts {
		part, err := form.NextRawPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, notes, errDumpForm.Because(err)
		}
		var to *string
		switch part.FormName() {
		case "upload_file_minidump":
			if dump, err = io.ReadAll(part); err != nil {
				return nil, notes, errDumpForm.Because(err)
			}
			continue
		case "ver", "Version", "sentry[release]":
			to = &notes.Version
		case "guid":
			to = &notes.Client
		default: // may be private
			continue
		}
		text, err := io.ReadAll(io.LimitReader(part, mostText))
		if err != nil {
			return nil, notes, errDumpForm.Because(err)
		}
		if *to = string(text); part.FormName() == "sentry[release]" {
			if _, version, found := strings.Cut(*to, "@"); found {
				*to = version
			}
		}
	}
	if dump == nil {
		return nil, notes, errDumpForm
	}
	return dump, notes, nil
}
