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
	"time"

	"github.com/go-chi/chi/v5"
	fastgzip "github.com/klauspost/compress/gzip"

	"mishap/crash/cache"
	"mishap/db/reader"
	"mishap/handlers/negotiate"
	"mishap/views"
)

const (
	maxPageBytes = 32 << 20 // limit of the page cache
	maxPageKey   = 2048     // longest address of a cached page, in bytes
	pageAge      = 10 * time.Second
	maxStalePage = 5 * time.Second // for visitors who ask for a page while it is rendered
)

// cachedPage is a complete answer. It does not refer to the buffers that it was rendered in.
type cachedPage struct {
	status     int
	header     http.Header
	tag        string // entity tag; empty if the page is not cached
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
		if !s.isCacheable(r) {
			return s.turns.render(w, r, render)
		}
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
			defer s.turns.wait(ctx)()
			return s.renderPage(render, publicRequest(ctx, revision, u, params, part, theme))
		})
		if err != nil && !errors.Is(err, errNotCacheable) {
			return err
		}
		return page.send(w, r)
	}
}

// publicRequest returns a request for a public page. It contains nothing of the visitor's request
// that could identify the visitor: no session, user or address, no cookie but the theme, and no
// header but the one that asks for a part of a page.
func publicRequest(
	ctx context.Context, revision string, u *url.URL, params chi.RouteParams, part bool, theme views.Theme,
) *http.Request {
	route := chi.NewRouteContext()
	route.URLParams = chi.RouteParams{Keys: slices.Clone(params.Keys), Values: slices.Clone(params.Values)}
	ctx = context.WithValue(ctx, visitKey{}, &visit{revision: revision})
	ctx = context.WithValue(ctx, chi.RouteCtxKey, route)
	r := &http.Request{Method: http.MethodGet, URL: u, Header: http.Header{}, Body: http.NoBody}
	if part {
		r.Header.Set(headerRequestType, requestTypePart)
	}
	if theme != views.ThemeSystem {
		r.AddCookie(&http.Cookie{Name: cookieTheme, Value: string(theme)})
	}
	return r.WithContext(ctx)
}

// isCacheable reports whether all visitors get the same page for a request.
func (s *Kit) isCacheable(r *http.Request) bool {
	return CurrentUser(r).ID == 0 && !s.Sessions.Exists(r.Context(), sessionFlash) &&
		!asksForFile(r) && len(r.URL.RequestURI()) <= maxPageKey
}

// renderPage renders and compresses a page. With errNotCacheable it returns a page, too.
func (s *Kit) renderPage(render func(http.ResponseWriter, *http.Request) error, r *http.Request) (*cachedPage, error) {
	w := &recorder{status: http.StatusOK, header: http.Header{}}
	if err := render(w, r); err != nil {
		return nil, err
	}
	var compressed bytes.Buffer
	compressor, ok := s.compressors.Get().(*fastgzip.Writer)
	if !ok {
		compressor = fastgzip.NewWriter(nil)
	}
	defer s.compressors.Put(compressor)
	compressor.Reset(&compressed)
	_, err := compressor.Write(w.body.Bytes())
	if err := errors.Join(err, compressor.Close()); err != nil {
		return nil, fmt.Errorf("compress a page: %w", err)
	}
	compressor.Reset(nil) // so that the pool does not hold the buffer
	page := &cachedPage{status: w.status, header: w.header, compressed: bytes.Clone(compressed.Bytes())}
	if page.status != http.StatusOK {
		return page, errNotCacheable
	}
	sum := sha256.Sum256(w.body.Bytes())
	page.tag = `W/"` + hex.EncodeToString(sum[:12]) + `"`
	return page, nil
}

// recorder is an [http.ResponseWriter] that records the answer in memory.
type recorder struct {
	status int
	header http.Header
	body   bytes.Buffer
}

func (w *recorder) Header() http.Header         { return w.header }
func (w *recorder) WriteHeader(status int)      { w.status = status }
func (w *recorder) Write(b []byte) (int, error) { return w.body.Write(b) }

// send answers with the page, or with 304 if the browser has it.
func (p *cachedPage) send(w http.ResponseWriter, r *http.Request) error {
	h := w.Header()
	vary := h.Values("Vary")
	maps.Copy(h, p.header)
	h["Vary"] = append(vary[:len(vary):len(vary)], p.header.Values("Vary")...)
	if p.tag != "" {
		h.Set("ETag", p.tag)
		if negotiate.Matches(r.Header.Get("If-None-Match"), p.tag) {
			w.WriteHeader(http.StatusNotModified)
			return nil
		}
	}
	if negotiate.AcceptsGzip(r.Header.Get("Accept-Encoding")) {
		h.Set("Content-Encoding", "gzip")
		h.Set("Content-Length", strconv.Itoa(len(p.compressed)))
		w.WriteHeader(p.status)
		_, _ = w.Write(p.compressed) // an error means that the visitor has left
		return nil
	}
	plain, err := gzip.NewReader(bytes.NewReader(p.compressed))
	if err != nil {
		return fmt.Errorf("decompress a page: %w", err)
	}
	w.WriteHeader(p.status)
	_, _ = io.Copy(w, plain) //nolint:gosec // as above; compressed by renderPage
	return nil
}
