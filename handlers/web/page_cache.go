package web

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"
	fastgzip "github.com/klauspost/compress/gzip"

	"mishap/crash/cache"
	"mishap/db/reader"
	"mishap/handlers/negotiate"
	"mishap/views/layout"
)

const (
	maxPageBytes = 32 << 20 // limit of the page cache
	maxPageKey   = 2048     // longest address of a cached page, in bytes
	pageAge      = 10 * time.Second
	maxStalePage = 5 * time.Second // for visitors who ask for a page while it is rendered
)

// cachedPage is a complete answer.
type cachedPage struct {
	status     int
	header     http.Header
	tag        string // entity tag; empty if the page is not cached
	size       int    // bytes of the body
	compressed []byte // body as gzip
}

// errNotCacheable comes with a page that is sent but not cached: a redirect or an error.
var errNotCacheable = errors.New("only pages with status 200 are cached")

// CachePage returns a handler that sends all visitors the same compressed page until its revision
// changes (see [Kit.revision]), one for each theme. People who are signed in get a page of their own.
//
// canonical returns the part of the query that the page depends on, in a canonical form; its error
// is the answer. render gets a request made from only the path and that query (see
// [publicRequest]), so that the page cannot depend on the visitor.
func (s *Kit) CachePage(
	canonical func(*http.Request) (string, error), render func(http.ResponseWriter, *http.Request) error,
) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		if CurrentUser(r).ID != 0 || asksForFile(r) {
			return render(w, r)
		}
		if !s.isCacheable(r) {
			return s.inSlot(r.Context(), w, r, func(w http.ResponseWriter) error { return render(w, r) })
		}
		leave, err := s.visitors.enter(r.Context(), s.visitors.slots)
		if err != nil {
			return err
		}
		defer leave()
		query, err := canonical(r)
		if err != nil {
			return err
		}
		revision, err := s.revision(r)
		if err != nil {
			return err
		}
		u := &url.URL{Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: query}
		part, theme, params := WantsPart(r), ThemeOf(r), chi.RouteContext(r.Context()).URLParams
		key := strconv.FormatBool(part) + string(theme) + u.RequestURI() + reader.Key(r.Context())
		page, err := cache.Get(s.pageCache, revision, key, func() (*cachedPage, error) { //nolint:contextcheck // see detached
			ctx, cancel := detached(r.Context())
			defer cancel()
			page, err := record(http.Header{}, func(w http.ResponseWriter) error {
				return render(w, publicRequest(ctx, u, params, part, theme))
			})
			if err == nil && page.status != http.StatusOK {
				err = errNotCacheable
			}
			return page, err
		})
		if err != nil && !errors.Is(err, errNotCacheable) {
			return err
		}
		return s.send(w, r, page, leave)
	}
}

// revision returns a text that changes with everything that public pages show. It combines
// [db.Store.Revision], which contains the start of the database server, with the time in steps of
// pageAge, because pages show ages. A request that only reads uses one revision throughout.
func (s *Kit) revision(r *http.Request) (string, error) {
	v := VisitOf(r)
	if v.revision != "" && SafeMethods[r.Method] {
		return v.revision, nil
	}
	revision, err := s.store.Revision(r.Context())
	if err != nil {
		return "", err
	}
	v.revision = revision + " " + s.Now().UTC().Truncate(pageAge).Format(time.RFC3339)
	return v.revision, nil
}

// maxFactBytes is the limit of the cache of facts.
const maxFactBytes = 32 << 20

// CachedFacts returns the facts of type V about a key, as of the revision that the request sees, or calls read.
// Pages for people who are signed in are rendered for each request, but from facts that all share: without the
// cache, the page of a problem with many reports takes seven times as long. Callers must not change the facts.
// read gets a request that contains nothing of r, because other people get what it returns. People from whom
// different problems are hidden share nothing.
func CachedFacts[V any](s *Kit, r *http.Request, key string, read func(*http.Request) (V, error)) (V, error) {
	revision, err := s.revision(r)
	if err != nil {
		var none V
		return none, err
	}
	//nolint:contextcheck // the function uses the context of the request
	return cache.Get(s.factCache, revision, key+reader.Key(r.Context()), func() (V, error) {
		ctx, cancel := detached(r.Context())
		defer cancel()
		return read(publicRequest(ctx, &url.URL{Path: "/"}, chi.RouteParams{}, false, layout.ThemeSystem))
	})
}

// publicRequest returns a request for a public page. It contains nothing of the visitor's request
// that could identify the visitor: no session, user or address, no cookie but the theme, and no
// header but the one that asks for a part of a page.
func publicRequest(
	ctx context.Context, u *url.URL, params chi.RouteParams, part bool, theme layout.Theme,
) *http.Request {
	route := chi.NewRouteContext()
	route.URLParams = chi.RouteParams{Keys: slices.Clone(params.Keys), Values: slices.Clone(params.Values)}
	ctx = context.WithValue(ctx, visitKey{}, &visit{})
	ctx = context.WithValue(ctx, chi.RouteCtxKey, route)
	r := &http.Request{Method: http.MethodGet, URL: u, Header: http.Header{}, Body: http.NoBody}
	if part {
		r.Header.Set(headerRequestType, requestTypePart)
	}
	if theme != layout.ThemeSystem {
		r.AddCookie(&http.Cookie{Name: cookieTheme, Value: string(theme)})
	}
	return r.WithContext(ctx)
}

// isCacheable reports whether all visitors get the same page for the request of a visitor.
func (s *Kit) isCacheable(r *http.Request) bool {
	return !s.Sessions.Exists(r.Context(), sessionFlash) && len(r.URL.RequestURI()) <= maxPageKey
}

// compressors holds writers for cached pages, each of which allocates more than half a megabyte.
var compressors = sync.Pool{New: func() any { return fastgzip.NewWriter(nil) }}

// record calls render and returns its compressed answer.
func record(header http.Header, render func(http.ResponseWriter) error) (*cachedPage, error) {
	var compressed bytes.Buffer
	compressor := compressors.Get().(*fastgzip.Writer) //nolint:forcetypeassert // see compressors
	defer compressors.Put(compressor)
	compressor.Reset(&compressed)
	sum := sha256.New()
	w := &recorder{status: http.StatusOK, header: header, body: io.MultiWriter(compressor, sum)}
	if err := render(w); err != nil {
		return nil, err
	}
	if err := compressor.Close(); err != nil {
		return nil, fmt.Errorf("compress a page: %w", err)
	}
	page := &cachedPage{status: w.status, header: w.header, size: w.size, compressed: bytes.Clone(compressed.Bytes())}
	if page.status == http.StatusOK {
		page.tag = `W/"` + hex.EncodeToString(sum.Sum(nil)[:12]) + `"`
	}
	return page, nil
}

// recorder is an [http.ResponseWriter] that records the answer in memory.
type recorder struct {
	status int
	header http.Header
	body   io.Writer
	size   int
}

func (w *recorder) Header() http.Header    { return w.header }
func (w *recorder) WriteHeader(status int) { w.status = status }

func (w *recorder) Write(b []byte) (int, error) {
	w.size += len(b)
	return w.body.Write(b)
}

// plainChunk is how many bytes of an answer are decompressed at a time, for clients without gzip. It is
// small because each of thousands of slow readers has one.
const plainChunk = 32 << 10

// maxSlotSend is the longest time that an answer is sent in a slot. Nearly all fit into the buffers of
// the connection at once; who reads slowly is served outside.
const maxSlotSend = 20 * time.Millisecond

// send answers with the page, or with 304 if the browser has it. It calls leave, which leaves the slot
// of the request, when sending takes long.
func (s *Kit) send(w http.ResponseWriter, r *http.Request, p *cachedPage, leave func()) error {
	unchanged := p.tag != "" && negotiate.Matches(r.Header.Get("If-None-Match"), p.tag)
	if p.size > 0 && !unchanged {
		release, err := s.visitors.hold(p)
		if err != nil {
			return err
		}
		defer release()
	}
	h := w.Header()
	vary := h.Values("Vary")
	maps.Copy(h, p.header)
	h["Vary"] = append(vary[:len(vary):len(vary)], p.header.Values("Vary")...)
	if p.tag != "" {
		h.Set("ETag", p.tag)
	}
	if unchanged {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	if p.size == 0 {
		w.WriteHeader(p.status)
		return nil
	}
	if negotiate.AcceptsGzip(r.Header.Get("Accept-Encoding")) {
		h.Set("Content-Encoding", "gzip")
		h.Set("Content-Length", strconv.Itoa(len(p.compressed)))
		w.WriteHeader(p.status)
		defer time.AfterFunc(maxSlotSend, leave).Stop()
		_, _ = w.Write(p.compressed) // an error means that the visitor has left
		return nil
	}
	leave()
	plain, err := gzip.NewReader(bytes.NewReader(p.compressed))
	if err != nil {
		return fmt.Errorf("decompress a page: %w", err)
	}
	w.WriteHeader(p.status)
	chunk := make([]byte, min(p.size, plainChunk))
	for {
		s.visitors.slots <- struct{}{}
		n, err := io.ReadFull(plain, chunk)
		<-s.visitors.slots
		if _, failed := w.Write(chunk[:n]); failed != nil || err != nil {
			return nil // the end, or the visitor has left
		}
	}
}
