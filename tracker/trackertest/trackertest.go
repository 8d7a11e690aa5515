// Package trackertest implements a practice tracker: a server with state that speaks the part of
// Launchpad's protocol that mishap and launchpadlib need. It imitates the OAuth endpoints, the texts
// of refusals, and the visibility rules of searches. It can fail in every way in which a real tracker
// fails. It is stricter than Launchpad in one point: it refuses parameters that Launchpad would
// silently take for something else.
//
// Tests start one with New. `devtool tracker` serves one to people, with pages to authorise mishap
// and to read bugs.
package trackertest

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"mishap/crash"
)

// Options configure a practice tracker. The zero value is valid.
type Options struct {
	StateFile   string           // JSON file for its state; empty: in memory only
	Person      string           // name of the person who is signed in; empty: "practice-person"
	Packages    []string         // source packages of the distribution; nil: every well-formed name
	Unpublished []string         // source packages that exist but are not published
	Archive     *Archive         // what is published; nil: every requested version
	PageSize    int              // entries on a page of a search; 0: 75
	Now         func() time.Time // nil: time.Now
}

// Server is a practice tracker. It is safe for concurrent use. Close ends the requests that hang.
type Server struct {
	opts Options

	closing   chan struct{} // closed by Close
	closeOnce sync.Once

	mu       sync.Mutex
	state    state
	offset   time.Duration // how far the tracker's clock is ahead
	requests []Request     // the last ones
	working  int           // requests under way
	faults   []FaultSpec
	waiting  map[string]context.CancelCauseFunc // calls of clients in this process; see TimeOutHung
}

// NewServer returns a practice tracker with the state in o.StateFile.
func NewServer(o Options) (*Server, error) {
	o.Person = cmp.Or(o.Person, "practice-person")
	o.PageSize = cmp.Or(o.PageSize, 75)
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Server{opts: o, closing: make(chan struct{}), waiting: map[string]context.CancelCauseFunc{}}
	if err := s.state.load(o.StateFile); err != nil {
		return nil, fmt.Errorf("practice tracker: %w", err)
	}
	return s, nil
}

// Close ends the requests that hang.
func (s *Server) Close() { s.closeOnce.Do(func() { close(s.closing) }) }

// TB is the part of testing.TB that New needs.
type TB interface {
	Helper()
	Cleanup(func())
	Fatalf(format string, args ...any)
}

// Tracker is a practice tracker that listens on a port of its own.
type Tracker struct {
	*Server
	URL    string // web part and OAuth endpoints
	APIURL string // root of the API, version devel
}

// New starts a practice tracker that ends with the test. It uses at most one Options.
func New(tb TB, options ...Options) *Tracker {
	tb.Helper()
	var o Options
	if len(options) > 0 {
		o = options[0]
	}
	s, err := NewServer(o)
	if err != nil {
		tb.Fatalf("%v", err)
	}
	var lc net.ListenConfig
	l, err := lc.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("practice tracker: %v", err)
	}
	hs := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = hs.Serve(l) // returns after Close
	}()
	tb.Cleanup(func() {
		s.Close()
		_ = hs.Close()
		<-done
	})
	url := "http://" + l.Addr().String()
	return &Tracker{Server: s, URL: url, APIURL: url + "/devel"}
}

// ServeHTTP serves the web pages, the OAuth endpoints and the API, which share one address here.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := newCall(r)
	fault := s.begin(c)
	defer s.end()
	if fault.Fault != "" {
		s.fail(w, r, fault, func() response { return s.answer(c) })
		return
	}
	s.answer(c).write(w)
}

// begin records a request and returns the fault that applies to it, or none.
func (s *Server) begin(c *call) FaultSpec {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.working++
	s.requests = append(s.requests[max(0, len(s.requests)-maxRequests+1):], Request{
		Operation: c.op, Method: c.r.Method, URI: c.r.RequestURI, Header: c.r.Header.Clone(), Body: string(c.body),
	})
	i := slices.IndexFunc(s.faults, func(f FaultSpec) bool { return f.Operation == c.op })
	if i < 0 {
		return FaultSpec{}
	}
	spec := s.faults[i]
	if s.faults[i].Times--; s.faults[i].Times <= 0 {
		s.faults = slices.Delete(s.faults, i, i+1)
	}
	return spec
}

func (s *Server) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.working--
}

// answer handles one request.
func (s *Server) answer(c *call) response {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case c.version != "":
		return s.api(c).with("Vary", "Accept").with("X-Lazr-Notifications", "[]").
			with("X-Powered-By", "Zope (www.zope.org), Python (www.python.org)")
	case c.op == OpRequestToken:
		return s.requestToken(c)
	case c.op == OpAccessToken:
		return s.accessToken(c)
	case c.op == OpAuthorize:
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

func (r response) with(name, value string) response {
	r.header.Set(name, value)
	return r
}

func text(status int, body string) response {
	return response{status: status, body: body, header: http.Header{"Content-Type": {"text/plain;charset=utf-8"}}}
}

// now returns the time of the tracker's clock.
func (s *Server) now() time.Time { return s.opts.Now().Add(s.offset).UTC() }

// save writes the state file. The caller holds the lock.
func (s *Server) save() {
	if err := s.state.save(s.opts.StateFile); err != nil {
		slog.Error("practice tracker cannot write its state", "error", err)
	}
}

// Request is one request to the tracker.
type Request struct {
	Operation Operation
	Method    string
	URI       string
	Header    http.Header
	Body      string
}

// maxRequests bounds the stored requests.
const maxRequests = 2000

// Requests returns the last requests for an operation, or all if op is empty, oldest first.
func (s *Server) Requests(op Operation) []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Request
	for _, r := range s.requests {
		if op == "" || r.Operation == op {
			out = append(out, r)
		}
	}
	return out
}

// Working returns the number of requests under way, including those that hang.
func (s *Server) Working() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.working
}

// Advance moves the tracker's clock forward.
func (s *Server) Advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.offset += d
}

// Bugs returns all bugs, in the order in which they were filed.
func (s *Server) Bugs() []Bug {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Bug, len(s.state.Bugs))
	for i, b := range s.state.Bugs {
		out[i] = b.copied()
	}
	return out
}

// Change changes a bug as a person would. It returns false if there is no bug with this number.
func (s *Server) Change(number int64, change func(*Bug)) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.state.bug(number)
	if b == nil {
		return false
	}
	s.change(b, change)
	return true
}

// change changes a bug and its dates. The caller holds the lock.
func (s *Server) change(b *Bug, change func(*Bug)) {
	before := b.copied()
	change(b)
	b.settle(before, s.now())
	s.save()
}

// Add adds a bug by another person and returns its number. It fills empty fields with plausible
// values.
func (s *Server) Add(b Bug) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	b.Number = s.state.nextBug()
	b.InformationType = cmp.Or(b.InformationType, "Public")
	b.Reporter = cmp.Or(b.Reporter, "someone-else")
	b.Distribution = cmp.Or(b.Distribution, distribution)
	b.Status = cmp.Or(b.Status, "New")
	if b.Created.IsZero() {
		b.Created = s.now()
	}
	closed := b.Closed
	b.settle(Bug{}, b.Created)
	if !closed.IsZero() && !b.Closed.IsZero() {
		b.Closed, b.Updated = closed, closed
	}
	s.state.Bugs = append(s.state.Bugs, &b)
	s.save()
	return b.Number
}

// Authorize grants a level to a request token, as the person who is signed in would on the page. It
// returns false if the token is unknown.
func (s *Server) Authorize(key, level string) bool { return s.AuthorizeAs(key, level, s.opts.Person) }

// AuthorizeAs is like Authorize, for any person.
func (s *Server) AuthorizeAs(key, level, person string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.state.request(key)
	if t == nil {
		return false
	}
	t.Level, t.Person = level, person
	s.save()
	return true
}

// Token returns a new access token for a consumer, with permission to change public data.
func (s *Server) Token(consumer string) crash.AccessToken { return s.TokenOf(consumer, "WRITE_PUBLIC") }

// TokenOf returns a new access token with a level.
func (s *Server) TokenOf(consumer, level string) crash.AccessToken {
	return s.TokenFor(consumer, level, s.opts.Person)
}

// TokenFor returns a new access token of a person with a level.
func (s *Server) TokenFor(consumer, level, person string) crash.AccessToken {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.register(consumer)
	a := &accessToken{Key: newKey(20), Secret: newKey(80), Consumer: consumer, Level: level, Person: person}
	s.state.AccessTokens = append(s.state.AccessTokens, a)
	s.save()
	return crash.AccessToken{Token: a.Key, Secret: crash.Secret(a.Secret), Context: "None"}
}

// Suspend suspends the account of a person.
func (s *Server) Suspend(person string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.state.AccessTokens {
		a.Suspended = a.Suspended || a.Person == person
	}
	s.save()
}

// Revoke revokes an access token, as a person can on a page.
func (s *Server) Revoke(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.state.AccessTokens {
		a.Expired = a.Expired || a.Key == key
	}
	s.save()
}
