package trackertest

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Fault is a kind of failure.
type Fault string

// Kinds of failures. If the work is done, the answer does not say so.
const (
	Error500    Fault = "error-500"     // before the work, with an OOPS id
	Error503    Fault = "error-503"     // time-out before the work, with Retry-After 900 and an OOPS id
	Offline503  Fault = "offline-503"   // the front end's page before the work, without an id
	TooMany429  Fault = "too-many-429"  // before the work, with Retry-After
	FrontEnd403 Fault = "front-end-403" // before the work
	NotFound404 Fault = "not-found-404" // before the work
	Redirect302 Fault = "redirect-302"  // before the work, to another place
	Redirect307 Fault = "redirect-307"  // the same, but careless clients repeat the POST
	PageBefore  Fault = "page-before"   // 200 and an HTML page instead of the work: a captive portal
	// A refusal of the credentials, before the work.
	UnknownConsum Fault = "401-unknown-consumer"
	UnknownToken  Fault = "401-unknown-token"
	ExpiredToken  Fault = "401-expired-token"
	NoAccessToken Fault = "401-unauthorized-token"
	BadSignature  Fault = "401-invalid-signature"
	Inactive      Fault = "401-inactive-account"
	Permission    Fault = "401-permission" // a missing permission; the credentials may be valid

	DropBefore Fault = "drop-before" // the connection is closed before the work
	HangBefore Fault = "hang-before" // no work and no answer, until the caller gives up
	DropAfter  Fault = "drop-after"  // the work is done, then the connection is closed
	HangAfter  Fault = "hang-after"  // the work is done, no answer until the caller gives up
	LateWork   Fault = "late-work"   // no answer until the caller gives up; only then the work is done
	Truncated  Fault = "truncated"   // the work is done, the answer lacks its Location and its end
	// The answer is normal, after Delay or Hold, even if the caller has given up.
	Slow Fault = "slow"

	Lost502        Fault = "lost-502"         // the work is done, the front end answers 502
	NoLocation     Fault = "no-location"      // the work is done, the answer lacks its Location
	OddLocation    Fault = "odd-location"     // the work is done, Location is invalid
	ForeignAddress Fault = "foreign-location" // the work is done, Location leads to another host
	Page200        Fault = "page-200"         // the work is done, the answer is 200 and an HTML page
	Garbled        Fault = "garbled"          // the work is done, the answer's body is broken
)

// before maps faults that prevent the work to their answers.
var before = map[Fault]response{
	Error500:      text(500, "ProgrammingError").with("X-Lazr-OopsId", "OOPS-practice500"),
	Error503:      html(503, "Timeout").with("Retry-After", "900").with("X-Lazr-OopsId", "OOPS-practice503"),
	Offline503:    html(503, "Launchpad is offline"),
	TooMany429:    text(429, "Too many requests").with("Retry-After", "1"),
	FrontEnd403:   html(403, "403 Forbidden"),
	NotFound404:   notFound("bugs"),
	Redirect302:   text(302, "").with("Location", "/+moved"),
	Redirect307:   text(307, "").with("Location", "/+moved"),
	PageBefore:    html(200, "Welcome to the hotel"),
	UnknownConsum: text(401, "Unknown consumer (practice)."),
	UnknownToken:  text(401, "Unknown access token (practice)."),
	ExpiredToken:  text(401, "Expired token (practice)."),
	NoAccessToken: text(401, "Unauthorized token (practice)."),
	BadSignature:  text(401, "Invalid signature."),
	Inactive:      text(401, "Inactive account."),
	Permission:    text(401, "(<Person practice (Practice)>, 'display_name', 'launchpad.Edit')"),
}

func html(status int, title string) response {
	return text(status, "<html><head><title>"+title+"</title></head></html>").with("Content-Type", "text/html")
}

// spoilers maps faults to functions that damage a complete answer.
var spoilers = map[Fault]func(response) response{
	Lost502: func(response) response { return html(502, "502 Proxy Error") },
	Page200: func(response) response { return html(200, "Welcome back") },
	NoLocation: func(r response) response {
		r.header.Del("Location")
		return r
	},
	OddLocation: func(r response) response {
		return r.with("Location", strings.Replace(r.header.Get("Location"), "/bugs/", "/bogs/", 1))
	},
	ForeignAddress: func(r response) response { return r.with("Location", "http://tracker.invalid/devel/bugs/1") },
	Garbled: func(r response) response {
		r.body = `{"entries": [{"bug_link"`
		r.header.Del("Location")
		return r
	},
}

// Faults lists every fault.
func Faults() []Fault {
	out := []Fault{DropBefore, HangBefore, DropAfter, HangAfter, LateWork, Truncated, Slow}
	out = slices.AppendSeq(out, maps.Keys(before))
	out = slices.AppendSeq(out, maps.Keys(spoilers))
	slices.Sort(out)
	return out
}

// Works reports whether the work is done in spite of the fault.
func (f Fault) Works() bool {
	_, prevented := before[f]
	return !prevented && f != DropBefore && f != HangBefore
}

// FaultSpec says which requests fail, and how.
type FaultSpec struct {
	Operation Operation
	Fault     Fault
	Times     int             // number of requests that fail; 0: one
	Delay     time.Duration   // of Slow
	Hold      <-chan struct{} // of Slow, instead of Delay: the work begins when it is closed
}

// Fail makes the next request for an operation fail.
func (s *Server) Fail(op Operation, f Fault) { s.FailWith(FaultSpec{Operation: op, Fault: f}) }

// FailWith makes the next requests for an operation fail. Several faults for one operation apply in
// order.
func (s *Server) FailWith(spec FaultSpec) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, spec)
}

// ClearFaults removes all faults.
func (s *Server) ClearFaults() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// fail answers one request with a fault.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, spec FaultSpec, work func() response) {
	if answer, ok := before[spec.Fault]; ok {
		answer.write(w)
		return
	}
	switch spec.Fault {
	case DropBefore:
		drop(w, "")
	case HangBefore:
		s.hang(r)
		panic(http.ErrAbortHandler) // the server closes the connection without an answer
	case LateWork:
		s.hang(r)
		work()
		panic(http.ErrAbortHandler)
	case HangAfter:
		work()
		s.hang(r)
		panic(http.ErrAbortHandler)
	case DropAfter:
		work()
		drop(w, "")
	case Truncated:
		answer := work()
		drop(w, fmt.Sprintf("HTTP/1.1 %d Cut\r\nContent-Length: %d\r\n\r\n%s", answer.status, len(answer.body)+1,
			answer.body))
	case Slow:
		s.wait(spec)
		work().write(w)
	default:
		spoilers[spec.Fault](work()).write(w)
	}
}

// drop closes the connection after some raw bytes.
func drop(w http.ResponseWriter, raw string) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	_, _ = conn.Write([]byte(raw)) // the connection is closed next anyway
	_ = conn.Close()
}

// wait delays a slow answer, even after its caller has given up.
func (s *Server) wait(spec FaultSpec) {
	var after <-chan time.Time
	if spec.Hold == nil {
		timer := time.NewTimer(spec.Delay)
		defer timer.Stop()
		after = timer.C
	}
	select {
	case <-after:
	case <-spec.Hold:
	case <-s.closing:
	}
}

// callHeader names a call, so that it can end at once if the tracker lets it hang.
const callHeader = "X-Practice-Call"

// hang blocks until the caller gives up or the tracker closes. A caller that uses TimeOutHung gives
// up at once.
func (s *Server) hang(r *http.Request) {
	s.mu.Lock()
	giveUp := s.waiting[r.Header.Get(callHeader)]
	s.mu.Unlock()
	if giveUp != nil {
		giveUp(context.DeadlineExceeded)
	}
	select {
	case <-r.Context().Done():
	case <-s.closing:
	}
}

// TimeOutHung wraps the transport of a client in the same process. A request that the tracker lets
// hang fails at once with [context.DeadlineExceeded], as if the client's time-out had passed. The
// time-out itself can then be so long that a slow machine never reaches it.
func (s *Server) TimeOutHung(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		ctx, cancel := context.WithCancelCause(req.Context())
		name := rand.Text()
		s.mu.Lock()
		s.waiting[name] = cancel
		s.mu.Unlock()
		defer func() {
			s.mu.Lock()
			delete(s.waiting, name)
			s.mu.Unlock()
		}()
		req = req.Clone(ctx)
		req.Header.Set(callHeader, name)
		resp, err := next.RoundTrip(req)
		if err != nil && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return resp, err
	})
}

// roundTripper is a function that implements [http.RoundTripper].
type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements [http.RoundTripper].
func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
