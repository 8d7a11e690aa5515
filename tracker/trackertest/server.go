// Package trackertest implements a practice tracker: a server with state that speaks the part of
// Launchpad's protocol that mishap needs. It imitates the OAuth endpoints, the decoding of
// parameters, the texts of refusals, and the visibility rules of searches. It can fail in every way
// in which a real tracker fails.
//
// Tests start one with New. `devtool tracker` serves one to people, with pages to authorise mishap
// and to read bugs.
package trackertest

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Options configure a practice tracker. The zero value is valid.
type Options struct {
	StateFile    string           // JSON file for its state; empty: in memory only
	Control      bool             // serve /+practice/faults, which sets faults
	Person       string           // name of the person who is signed in; empty: "practice-person"
	People       []string         // names of other people, whom the page for authorising offers
	Distribution string           // empty: "ubuntu"
	Packages     []string         // source packages of the distribution; nil: every well-formed name
	Unpublished  []string         // source packages that exist but are not published
	Archive      *Archive         // what is published; nil: every requested version
	PageSize     int              // entries on a page of a search; 0: 75
	Now          func() time.Time // nil: time.Now
	Log          *slog.Logger     // nil: silent
}

// Server is a practice tracker. It is safe for concurrent use. Close ends the requests that hang.
type Server struct {
	*injector
	*requestLog

	opts Options
	log  *slog.Logger

	mu     sync.Mutex
	state  state
	offset time.Duration // how far the tracker's clock is ahead
}

// NewServer returns a practice tracker with the state in o.StateFile.
func NewServer(o Options) (*Server, error) {
	o.Person = cmp.Or(o.Person, "practice-person")
	o.Distribution = cmp.Or(o.Distribution, "ubuntu")
	o.PageSize = cmp.Or(o.PageSize, 75)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{
		injector: &injector{closing: make(chan struct{})}, requestLog: &requestLog{}, opts: o, log: o.Log,
	}
	if err := s.state.load(o.StateFile); err != nil {
		return nil, fmt.Errorf("practice tracker: %w", err)
	}
	return s, nil
}

// now returns the time of the tracker's clock.
func (s *Server) now() time.Time { return s.opts.Now().Add(s.offset).UTC() }

// Advance moves the tracker's clock forward.
func (s *Server) Advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.offset += d
}

// save writes the state file. The caller holds the lock.
func (s *Server) save() {
	if err := s.state.save(s.opts.StateFile); err != nil {
		s.log.Error("practice tracker cannot write its state", "error", err)
	}
}

// ServeHTTP serves the web pages, the OAuth endpoints and the API, which share one address here.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.count(1)
	defer s.count(-1)
	c := newCall(r)
	s.remember(Request{
		Operation: c.op, Method: r.Method, URI: r.RequestURI, Header: r.Header.Clone(), Body: string(c.body),
	})
	if r.URL.Path == controlPath && s.opts.Control {
		s.control(w, r, c)
		return
	}
	work := func() response { return s.answer(c) }
	if f, ok := s.take(c.op); ok {
		s.fail(w, r, f, work)
		return
	}
	work().write(w)
}

// answer handles one request.
func (s *Server) answer(c *call) response {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.version != "" {
		return s.api(c)
	}
	switch c.path {
	case "/+request-token":
		return s.requestToken(c)
	case "/+access-token":
		return s.accessToken(c)
	case "/+authorize-token":
		return s.authorizeToken(c)
	}
	return s.page(c)
}

// response is an answer before it is written, so that a fault can change it.
type response struct {
	status int
	header http.Header
	body   string
}

func (r response) write(w http.ResponseWriter) {
	for name, values := range r.header {
		w.Header()[name] = values
	}
	w.WriteHeader(r.status)
	_, _ = w.Write([]byte(r.body))
}

func text(status int, body string) response {
	return response{status: status, body: body, header: http.Header{"Content-Type": {"text/plain;charset=utf-8"}}}
}

func (r response) with(name, value string) response {
	r.header.Set(name, value)
	return r
}

// splitPath returns the decoded segments of a path. A segment may contain a decoded slash.
func splitPath(escaped string) []string {
	var out []string
	for part := range strings.SplitSeq(strings.Trim(escaped, "/"), "/") {
		out = append(out, unescape(part))
	}
	return out
}
