package ingest

import (
	"bytes"
	"compress/zlib"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"mishap/crash"
	"mishap/crash/format/sentry"
	"mishap/handlers/proxies"
)

// sentryDoor is the protocol of Sentry's libraries. They send nothing again, whatever the answer. So what can be
// accepted is, and the answer asks the client to pause when it comes near the limit (X-Sentry-Rate-Limits).
var sentryDoor = &door{
	name: crash.DoorSentry, accepted: http.StatusOK,
	statuses: map[crash.Kind]int{
		crash.TooLarge: http.StatusRequestEntityTooLarge, crash.Forbidden: http.StatusForbidden,
		crash.TooMany: http.StatusTooManyRequests, crash.UnsupportedMedia: http.StatusUnsupportedMediaType,
	},
	answer: answerJSON,
	refuse: func(w http.ResponseWriter, status int, sentence string) {
		if status == http.StatusTooManyRequests {
			askToPause(w)
		}
		w.Header().Set("X-Sentry-Error", asHeader(sentence))
		answerJSON(w, status, asJSON(map[string]string{"detail": sentence}))
	},
}

// asHeader returns a sentence in characters that headers may have.
func asHeader(sentence string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, sentence)
}

// askToPause asks the client to send nothing for a minute.
func askToPause(w http.ResponseWriter) {
	w.Header().Set("X-Sentry-Rate-Limits", strconv.Itoa(int(usualRetryAfter.Seconds()))+"::key:rate")
}

// pathList is where DrKonqi looks for the keys of projects.
const pathList = "/_drkonqi_static/0/dsns.json"

// sentryPath parses the paths of Sentry's libraries; the kind of others is unknown.
func sentryPath(parts []string) path {
	if "/"+strings.Join(parts, "/") == pathList {
		return path{kind: projectList}
	}
	if n := len(parts); n > 3 && parts[n-1] == "" {
		parts = parts[:n-1]
	}
	n := len(parts)
	if n < 3 || parts[n-3] != "api" {
		return path{}
	}
	number, err := strconv.ParseInt(parts[n-2], 10, 64)
	kind := map[string]pathKind{"envelope": envelope, "store": singleEvent, "minidump": dump}[parts[n-1]]
	if err != nil || number <= 0 || kind == unknown {
		return path{}
	}
	return path{kind: kind, project: number}
}

var errNoKey = crash.Errorf(crash.Forbidden, "no_key", "The request has no key. Send it as sentry_key in the header "+
	"X-Sentry-Auth, in the address, or in the DSN of the envelope.")

// project returns the project of a request by its key: that in the header, the query or the envelope.
func (h *handler) project(r *http.Request, to path, inBody string) (crash.Project, string, error) {
	key := sentryKey(r)
	if key == "" {
		key = inBody
	}
	if key == "" || h.Doors == nil {
		return crash.Project{}, "", errNoKey
	}
	p, err := h.Doors.Project(r.Context(), to.project, key)
	return p, key, err
}

// sentryKey returns the key in a header or the query of a request.
func sentryKey(r *http.Request) string {
	for _, header := range []string{"X-Sentry-Auth", "Authorization"} {
		values := strings.TrimSpace(r.Header.Get(header))
		if scheme, rest, _ := strings.Cut(values, " "); strings.EqualFold(scheme, "Sentry") {
			values = rest
		}
		for pair := range strings.SplitSeq(values, ",") {
			if name, value, _ := strings.Cut(strings.TrimSpace(pair), "="); name == "sentry_key" {
				return value
			}
		}
	}
	return r.URL.Query().Get("sentry_key")
}

// submitEnvelope accepts an envelope, or an event on its own.
func (h *handler) submitEnvelope(w http.ResponseWriter, r *http.Request, to path) (result, error) {
	if err := h.Disk.Room(); err != nil {
		return result{}, err
	}
	var res result
	var err error
	if sentryKey(r) != "" { // else it is in the body
		if res.project, res.key, err = h.project(r, to, ""); err != nil {
			return res, err
		}
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
	data, err := room.unpack(ctx, r.Header.Get("Content-Encoding"), sent, h.MaxBytes)
	if err != nil {
		return res, err
	}
	e := sentry.Event(data)
	if to.kind == envelope {
		if e, err = sentry.Parse(data); err != nil {
			return res, err
		}
	}
	if res.key == "" {
		if res.project, res.key, err = h.project(r, to, e.Key); err != nil {
			return res, err
		}
	}
	if err := h.submitEvent(ctx, w, r, e, &res); err != nil {
		return res, err
	}
	if h.byAddress.nearly(proxies.Key(proxies.Client(r))) {
		askToPause(w)
	}
	return res, nil
}

// submitEvent stores the event of an envelope, if it has one that is an error.
func (h *handler) submitEvent(ctx context.Context, w http.ResponseWriter, r *http.Request, e sentry.Envelope,
	res *result,
) error {
	p := sentry.Project{Number: res.project.Number, Name: res.project.Name, Source: res.project.Source}
	report, id, stored, err := e.Report(p)
	if err != nil {
		return err
	}
	answer := map[string]string{}
	if id != "" {
		answer["id"] = id
	}
	res.text, res.lost, res.outcome = asJSON(answer), e.Lost, "dropped"
	if !stored {
		return nil
	}
	receipt, err := h.accept(ctx, w, r, report)
	if err != nil {
		return err
	}
	accepted := resultOf(receipt)
	res.outcome, res.reason = accepted.outcome, accepted.reason
	return nil
}

var (
	errEncoding = crash.Errorf(crash.UnsupportedMedia, "content_encoding", "The Content-Encoding is not supported; "+
		"use gzip, deflate, br, zstd or none.")
	errPacked = crash.Errorf(crash.Invalid, "malformed_compression", "The body cannot be uncompressed as its "+
		"Content-Encoding says.")
)

const (
	maxWindow    = 8 << 20 // of zstd; RFC 9659 permits no more in HTTP
	brotliWindow = 16 << 20
)

// unpack returns a body without its compression, at most limit bytes, and reserves memory for it and for reading it.
// Bodies by gzip that need little do not wait.
func (m *room) unpack(ctx context.Context, encoding string, sent []byte, limit int64) ([]byte, error) {
	encoding = strings.ToLower(strings.TrimSpace(encoding))
	data := sent
	if encoding != "" && encoding != "identity" {
		var err error
		var over bool
		small := encoding == "gzip" || encoding == "x-gzip" || encoding == "deflate"
		if small {
			data, over, err = unpack(encoding, sent, freeBytes)
		}
		if !small || over {
			if err := m.reserve(ctx, decompressFactor*limit+brotliWindow); err != nil {
				return nil, err
			}
			data, over, err = unpack(encoding, sent, limit)
		}
		switch {
		case err != nil:
			return nil, err
		case over:
			return nil, errTooLarge(limit)
		}
	}
	need := int64(len(data)) + sentry.MemoryFor(data)
	if m.decompressed > 0 {
		m.keep(need)
		return data, nil
	}
	return data, m.reserve(ctx, need)
}

// unpack returns at most limit bytes, and whether there are more.
func unpack(encoding string, sent []byte, limit int64) (data []byte, over bool, err error) {
	var from io.Reader
	switch encoding {
	case "gzip", "x-gzip":
		from, err = gzip.NewReader(bytes.NewReader(sent))
	case "deflate":
		from, err = zlib.NewReader(bytes.NewReader(sent))
	case "br":
		from = brotli.NewReader(bytes.NewReader(sent))
	case "zstd":
		var d *zstd.Decoder
		d, err = zstd.NewReader(bytes.NewReader(sent), zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderLowmem(true))
		if err == nil {
			defer d.Close()
			from = d
		}
	default:
		return nil, false, errEncoding
	}
	if err != nil {
		return nil, false, errPacked.Because(err)
	}
	data, err = io.ReadAll(io.LimitReader(from, limit+1))
	if int64(len(data)) > limit {
		return nil, true, nil
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, errPacked.Because(err)
	}
	return data, false, nil
}

// listProjects sends the list that DrKonqi reads: projects by the name of the program.
func (h *handler) listProjects(w http.ResponseWriter, r *http.Request) {
	type entry struct {
		Project string `json:"project"`
		Key     string `json:"key"`
		Index   string `json:"index"`
	}
	list := map[string]entry{}
	if h.Doors != nil && !h.Doors.Closed(crash.DoorSentry) {
		projects, err := h.Doors.Listed(r.Context())
		if err != nil {
			h.refuse(w, r, sentryDoor, crash.Project{}, err)
			return
		}
		for _, p := range projects {
			list[p.Name] = entry{p.Name, p.Key(), strconv.FormatInt(p.Number, 10)}
		}
	}
	answerJSON(w, http.StatusOK, asJSON(list))
}
