package handlers

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"
	packing "github.com/klauspost/compress/gzip"
	"golang.org/x/sync/singleflight"

	"mishap/crash/cache"
	"mishap/handlers/api"
)

// keptPages are the pages that visitors get, compressed, for as long as nothing has changed that they show.
type keptPages struct {
	rendering singleflight.Group
	cache     *cache.Cache[string, *keptPage]
	mu        sync.Mutex
	state     string         // the newest one that was asked for, see [Server.state]
	waiting   map[string]int // how many wait for which page to be rendered
}

// newKeptPages returns a cache of pages that holds at most limit bytes.
func newKeptPages(limit int64) *keptPages {
	return &keptPages{cache: cache.New[string, *keptPage](limit), waiting: map[string]int{}}
}

const (
	maxPageBytes  = 32 << 20 // of all cached pages, with everything that they hold in memory
	maxPageKey    = 2048     // address, in bytes
	keptTime      = 10 * time.Second
	longestBefore = 5 * time.Second // how long a stale page is sent while somebody waits for the current one
)

// keptPage is an answer. It holds no more memory than it needs: it does not refer to the buffers that it was made in.
type keptPage struct {
	state  string // that it shows
	status int
	header http.Header
	tag    string // its entity tag; empty: it is not cached
	packed []byte // its body, by gzip
	plain  []byte // its body, when it is not cached
	made   time.Time
}

// kept sends visitors the page that another visitor got, while it would be the same; people who are signed in get one of
// their own. What pages show is the same until [db.Store.Revision] changes, or for keptTime: pages say how long ago
// things were, and ask for what should be read of the tracker again.
//
// canonical returns the part of the query that the page depends on, always written the same way; an error is answered.
// The page is rendered for a request that is made from the path and that query alone, see [publicRequest]: it cannot depend
// on who asks.
func (s *Server) kept(canonical func(*http.Request) (string, error), render func(http.ResponseWriter, *http.Request) error) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		if !s.isForAll(r) {
			return render(w, r)
		}
		query, err := canonical(r)
		if err != nil {
			return err
		}
		state, err := s.state(r)
		if err != nil {
			return err
		}
		u := &url.URL{Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: query}
		part, params := wantsPart(r), chi.RouteContext(r.Context()).URLParams
		key := strconv.FormatBool(part) + u.RequestURI()
		page, err := s.keptPages.get(state, key, s.now, func() (*keptPage, error) {
			ctx, cancel := detached(r.Context())
			defer cancel()
			return s.renderPage(render, publicRequest(ctx, state, u, params, part))
		})
		if err != nil {
			return err
		}
		return page.send(w, r)
	}
}

// publicRequest returns a request for what everybody may see. By construction it tells nothing of the one who asks: it has no
// cookies, no session, no user, no address and no headers but the one that asks for a part of a page.
func publicRequest(ctx context.Context, state string, u *url.URL, params chi.RouteParams, part bool) *http.Request {
	route := chi.NewRouteContext()
	route.URLParams = chi.RouteParams{Keys: slices.Clone(params.Keys), Values: slices.Clone(params.Values)}
	ctx = context.WithValue(ctx, visitKey{}, &visit{state: state})
	ctx = context.WithValue(ctx, chi.RouteCtxKey, route)
	r := &http.Request{Method: http.MethodGet, URL: u, Header: http.Header{}, Body: http.NoBody}
	if part {
		r.Header.Set(headerRequestType, requestTypePart)
	}
	return r.WithContext(ctx)
}

// get returns the page of a state, or renders it. While one visitor waits for it, others get a stale one, when there is one
// that is not older than longestBefore: with many reports coming in, a list of a year is stale as soon as it is there. Who
// asks alone always gets what is true now.
func (k *keptPages) get(state, key string, now func() time.Time, render func() (*keptPage, error)) (*keptPage, error) {
	if page := k.find(state, key, now()); page != nil {
		return page, nil
	}
	k.wait(key, 1)
	defer k.wait(key, -1)
	made, err, _ := k.rendering.Do(state+key, func() (any, error) {
		page, err := render()
		if err == nil && page.tag != "" {
			page.made, page.state = now(), state
			k.keep(key, page)
		}
		return page, err
	})
	if err != nil {
		return nil, err
	}
	return made.(*keptPage), nil //nolint:forcetypeassert // what the function above returns
}

func (k *keptPages) wait(key string, n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.waiting[key] += n; k.waiting[key] == 0 {
		delete(k.waiting, key)
	}
}

// isForAll reports whether the answer would be the same for all visitors, and one page.
func (s *Server) isForAll(r *http.Request) bool {
	_, ending := cutFormat(r.URL.Path)
	return currentUser(r).ID == 0 && !s.sessions.Exists(r.Context(), sessionFlash) && ending == "" && acceptedExport(r) == "" &&
		len(r.URL.RequestURI()) <= maxPageKey
}

func (k *keptPages) find(state, key string, now time.Time) *keptPage {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.state = state
	page, ok := k.cache.Get(key)
	if ok && (page.state == state || k.waiting[key] > 0 && now.Sub(page.made) < longestBefore) {
		return page
	}
	return nil
}

// keep stores a page, unless something has changed since it was asked for.
func (k *keptPages) keep(key string, page *keptPage) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.state == page.state {
		k.cache.Put(key, page, cache.SizeOf(page))
	}
}

// renderPage renders and compresses a page.
func (s *Server) renderPage(render func(http.ResponseWriter, *http.Request) error, r *http.Request) (*keptPage, error) {
	w := &recorder{status: http.StatusOK, header: http.Header{}}
	if err := render(w, r); err != nil {
		return nil, err
	}
	page := &keptPage{status: w.status, header: w.header}
	if page.status != http.StatusOK {
		page.plain = w.body.Bytes()
		return page, nil
	}
	sum := sha256.Sum256(w.body.Bytes())
	page.tag = `W/"` + hex.EncodeToString(sum[:12]) + `"`
	var packed bytes.Buffer
	pack, ok := s.packers.Get().(*packing.Writer)
	if !ok {
		pack = packing.NewWriter(nil)
	}
	defer s.packers.Put(pack)
	pack.Reset(&packed)
	if _, err := pack.Write(w.body.Bytes()); err != nil {
		return nil, fmt.Errorf("compress a page: %w", err)
	}
	if err := pack.Close(); err != nil {
		return nil, fmt.Errorf("compress a page: %w", err)
	}
	pack.Reset(nil) // else the pool would hold the buffer
	page.packed = bytes.Clone(packed.Bytes())
	return page, nil
}

// recorder takes down an answer.
type recorder struct {
	status int
	header http.Header
	body   bytes.Buffer
}

func (w *recorder) Header() http.Header         { return w.header }
func (w *recorder) WriteHeader(status int)      { w.status = status }
func (w *recorder) Write(b []byte) (int, error) { return w.body.Write(b) }

// send answers with the page, or says that the visitor has it.
func (p *keptPage) send(w http.ResponseWriter, r *http.Request) error {
	h := w.Header()
	vary := h.Values("Vary")
	maps.Copy(h, p.header)
	h["Vary"] = append(vary[:len(vary):len(vary)], p.header.Values("Vary")...)
	if p.tag == "" {
		w.WriteHeader(p.status)
		_, _ = w.Write(p.plain) // an error means that the visitor has gone
		return nil
	}
	h.Set("ETag", p.tag)
	if api.Matches(r.Header.Get("If-None-Match"), p.tag) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	if takesGzip(r.Header.Get("Accept-Encoding")) {
		h.Set("Content-Encoding", "gzip")
		h.Set("Content-Length", strconv.Itoa(len(p.packed)))
		w.WriteHeader(p.status)
		_, _ = w.Write(p.packed) // as above
		return nil
	}
	plain, err := gzip.NewReader(bytes.NewReader(p.packed))
	if err != nil {
		return fmt.Errorf("decompress a page: %w", err)
	}
	w.WriteHeader(p.status)
	_, _ = io.Copy(w, plain) //nolint:gosec // as above; what was packed here
	return nil
}

// takesGzip reads Accept-Encoding (RFC 9110, section 12.5.3): gzip is named, or everything is, and not with the weight 0.
func takesGzip(header string) bool {
	takes, named := false, false
	for one := range strings.SplitSeq(header, ",") {
		coding, weight, _ := strings.Cut(one, ";")
		coding = strings.ToLower(strings.TrimSpace(coding))
		if coding != "gzip" && coding != "x-gzip" && (coding != "*" || named) {
			continue
		}
		value, weighted := strings.CutPrefix(strings.ToLower(strings.ReplaceAll(weight, " ", "")), "q=")
		q, err := strconv.ParseFloat(value, 64)
		takes, named = !weighted || err == nil && q > 0, coding != "*"
	}
	return takes
}
