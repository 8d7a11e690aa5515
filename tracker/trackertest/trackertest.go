package trackertest

import (
	"context"
	"net"
	"net/http"
	"slices"
	"time"

	"mishap/crash"
)

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
	tb     TB
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
	return &Tracker{Server: s, URL: url, APIURL: url + "/devel", tb: tb}
}

// Fail makes the next request for an operation fail.
func (t *Tracker) Fail(op Operation, f Fault) {
	t.tb.Helper()
	t.FailWith(FaultSpec{Operation: op, Fault: f})
}

// FailWith makes requests fail.
func (t *Tracker) FailWith(spec FaultSpec) {
	t.tb.Helper()
	if err := t.Fault(spec); err != nil {
		t.tb.Fatalf("%v", err)
	}
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
	before := b.copied()
	change(b)
	b.settle(before, s.now())
	s.save()
	return true
}

// Add adds a bug by another person and returns its number. It fills empty fields with plausible
// values.
func (s *Server) Add(b Bug) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	b.Number = s.state.nextBug()
	for field, value := range map[*string]string{
		&b.InformationType: "Public", &b.Reporter: "someone-else", &b.Distribution: s.opts.Distribution, &b.Status: "New",
	} {
		if *field == "" {
			*field = value
		}
	}
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
	if !s.state.knows(consumer) {
		s.state.Consumers = append(s.state.Consumers, consumer)
	}
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
func (s *Server) Revoke(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.state.AccessTokens, func(a *accessToken) bool { return a.Key == key })
	if i < 0 {
		return false
	}
	s.state.AccessTokens[i].Expired = true
	s.save()
	return true
}
