package handlers

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	packing "github.com/klauspost/compress/gzip"
	"golang.org/x/sync/singleflight"

	"mishap/handlers/api"
)

// keptPages are pages as visitors see them, packed, for as long as nothing has changed that they show.
type keptPages struct {
	making singleflight.Group
	mu     sync.Mutex
	state  string // of what they show
	pages  map[string]*keptPage
	before map[string]*keptPage // of states before, for those who ask while the page is made anew
	makes  map[string]int       // how many make which page
	bytes  int
}

const (
	mostKeptBytes = 32 << 20 // of all of them, packed
	longestKept   = 2048     // address, in bytes
	keptTime      = 10 * time.Second
	longestBefore = 5 * time.Second // for so long a page of before is sent while somebody waits for the one of now
)

// keptPage is an answer.
type keptPage struct {
	status int
	header http.Header
	tag    string // its entity tag; empty: it is not kept
	packed []byte // its body, by gzip
	plain  []byte // the same, of an answer that is not kept
	made   time.Time
}

// kept gives visitors the page that another visitor got, while it would be the same; people who are signed in get one of
// their own. What pages show is the same until [db.Store.Revision] is another one, or for keptTime: pages say how long ago
// things were, and ask for what should be read of the tracker again.
func (s *Server) kept(make func(http.ResponseWriter, *http.Request) error) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		if !s.isForAll(r) {
			return make(w, r)
		}
		state, err := s.state(r)
		if err != nil {
			return err
		}
		key := strconv.FormatBool(wantsPart(r)) + r.URL.RequestURI()
		page, err := s.keptPages.get(state, key, s.now, func() (*keptPage, error) { return s.makePage(make, r) })
		if err != nil {
			return err
		}
		return page.send(w, r)
	}
}

// get returns the page of a state, or makes it. While one visitor waits for it to be made, others get that of before, when
// there is one that is not older than longestBefore: with many reports coming in, a list of a year is stale as soon as it is
// there. Who asks alone always gets what is true now.
func (k *keptPages) get(state, key string, now func() time.Time, make func() (*keptPage, error)) (*keptPage, error) {
	if page := k.find(state, key, now()); page != nil {
		return page, nil
	}
	k.count(key, 1)
	defer k.count(key, -1)
	made, err, _ := k.making.Do(state+key, func() (any, error) {
		page, err := make()
		if err == nil && page.tag != "" {
			page.made = now()
			k.keep(state, key, page)
		}
		return page, err
	})
	if err != nil {
		return nil, err
	}
	return made.(*keptPage), nil //nolint:forcetypeassert // what the function above returns
}

func (k *keptPages) count(key string, n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.makes == nil {
		k.makes = map[string]int{}
	}
	if k.makes[key] += n; k.makes[key] == 0 {
		delete(k.makes, key)
	}
}

// isForAll reports whether the answer would be the same for all visitors, and one page.
func (s *Server) isForAll(r *http.Request) bool {
	_, ending := cutFormat(r.URL.Path)
	return currentUser(r).ID == 0 && !s.sessions.Exists(r.Context(), sessionFlash) && ending == "" && acceptedExport(r) == "" &&
		len(r.URL.RequestURI()) <= longestKept
}

func (k *keptPages) find(state, key string, now time.Time) *keptPage {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.state != state {
		before := map[string]*keptPage{}
		for _, pages := range []map[string]*keptPage{k.before, k.pages} {
			for key, page := range pages {
				if len(before) < mostShown && now.Sub(page.made) < longestBefore {
					before[key] = page
				}
			}
		}
		k.state, k.pages, k.before, k.bytes = state, nil, before, 0
	}
	if page := k.pages[key]; page != nil {
		return page
	}
	if page := k.before[key]; page != nil && k.makes[key] > 0 && now.Sub(page.made) < longestBefore {
		return page
	}
	return nil
}

// keep keeps a page, unless something has changed since it was asked for.
func (k *keptPages) keep(state, key string, page *keptPage) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.state != state {
		return
	}
	if k.pages == nil || k.bytes > mostKeptBytes {
		k.pages, k.bytes = map[string]*keptPage{}, 0
	}
	k.pages[key] = page
	k.bytes += len(page.packed) + len(key)
}

// makePage makes the page for all who wait for it, so it goes on when the one who asked first has left.
func (s *Server) makePage(make func(http.ResponseWriter, *http.Request) error, r *http.Request) (*keptPage, error) {
	ctx, cancel := detached(r.Context())
	defer cancel()
	w := &keeper{page: keptPage{status: http.StatusOK, header: http.Header{}}}
	if err := make(w, r.WithContext(ctx)); err != nil {
		return nil, err
	}
	page, body := &w.page, w.body.Bytes()
	// What has a form that changes something belongs to one visitor.
	if page.status != http.StatusOK || bytes.Contains(body, []byte(`name="csrf_token"`)) {
		page.plain = body
		return page, nil
	}
	sum := sha256.Sum256(body)
	page.tag = `W/"` + hex.EncodeToString(sum[:12]) + `"`
	var packed bytes.Buffer
	pack, ok := s.packers.Get().(*packing.Writer)
	if !ok {
		pack = packing.NewWriter(nil)
	}
	defer s.packers.Put(pack)
	pack.Reset(&packed)
	if _, err := pack.Write(body); err != nil {
		return nil, fmt.Errorf("pack a page: %w", err)
	}
	if err := pack.Close(); err != nil {
		return nil, fmt.Errorf("pack a page: %w", err)
	}
	page.packed = bytes.Clone(packed.Bytes())
	return page, nil
}

// keeper takes an answer down.
type keeper struct {
	page keptPage
	body bytes.Buffer
}

func (k *keeper) Header() http.Header         { return k.page.header }
func (k *keeper) WriteHeader(status int)      { k.page.status = status }
func (k *keeper) Write(b []byte) (int, error) { return k.body.Write(b) }

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
		return fmt.Errorf("unpack a page: %w", err)
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
