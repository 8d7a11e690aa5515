package trackertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Fault is a way to fail.
type Fault string

// The faults. Of those that do the work, the caller cannot tell by the answer.
const (
	Error500       Fault = "error-500"        // before the work, with the id of an OOPS
	Error503       Fault = "error-503"        // the time limit: before the work, Retry-After 900, with the id of an OOPS
	Offline503     Fault = "offline-503"      // the front end's page, before the work, no id
	TooMany429     Fault = "too-many-429"     // before the work, Retry-After
	FrontEnd403    Fault = "front-end-403"    // before the work
	NotFound404    Fault = "not-found-404"    // before the work
	Redirect302    Fault = "redirect-302"     // before the work, to another place
	Redirect307    Fault = "redirect-307"     // the same, of the kind that a careless client repeats the POST for
	DropBefore     Fault = "drop-before"      // the connection is closed before the work
	HangBefore     Fault = "hang-before"      // no work and no answer, until the caller gives up
	PageBefore     Fault = "page-before"      // 200 and an HTML page instead of the work: a captive portal
	DropAfter      Fault = "drop-after"       // the work is done, then the connection is closed
	Lost502        Fault = "lost-502"         // the work is done, the front end answers 502
	Lost500        Fault = "lost-500"         // the work is done, the answer is 500
	HangAfter      Fault = "hang-after"       // the work is done, no answer until the caller gives up
	LateWork       Fault = "late-work"        // no answer until the caller gives up; only then the work is done
	Slow           Fault = "slow"             // as it should be, after Delay or Hold, whether the caller still waits or not
	NoLocation     Fault = "no-location"      // the work is done, the answer lacks its Location
	OddLocation    Fault = "odd-location"     // the work is done, Location makes no sense
	ForeignAddress Fault = "foreign-location" // the work is done, Location leads to another host
	Truncated      Fault = "truncated"        // the work is done, the answer breaks off in the middle
	Page200        Fault = "page-200"         // the work is done, the answer is 200 and an HTML page
	Status202      Fault = "status-202"       // the work is done, the answer is 202
	Garbled        Fault = "garbled"          // the work is done, the answer's body is broken
	UnknownConsum  Fault = "401-unknown-consumer"
	UnknownToken   Fault = "401-unknown-token"
	ExpiredToken   Fault = "401-expired-token"
	NoAccessToken  Fault = "401-unauthorized-token"
	BadSignature   Fault = "401-invalid-signature"
	Inactive       Fault = "401-inactive-account"
	Permission     Fault = "401-permission" // a missing permission, which says nothing about the credentials
)

// answers before the work, by fault.
var before = map[Fault]response{
	Error500:      text(500, "ProgrammingError").with("X-Lazr-OopsId", "OOPS-practice500"),
	Error503:      text(503, "<html><head><title>Timeout</title></head></html>").with("Content-Type", "text/html").with("Retry-After", "900").with("X-Lazr-OopsId", "OOPS-practice503"),
	Offline503:    text(503, "<html><head><title>Launchpad is offline</title></head></html>").with("Content-Type", "text/html"),
	TooMany429:    text(429, "Too many requests").with("Retry-After", "1"),
	FrontEnd403:   text(403, "<html><head><title>403 Forbidden</title></head></html>").with("Content-Type", "text/html"),
	NotFound404:   text(404, "Object: <lp.systemhomes.WebServiceApplication object>, name: 'bugs'"),
	Redirect302:   text(302, "").with("Location", "/+moved"),
	Redirect307:   text(307, "").with("Location", "/+moved"),
	PageBefore:    text(200, "<html><head><title>Welcome to the hotel</title></head></html>").with("Content-Type", "text/html"),
	UnknownConsum: text(401, "Unknown consumer (practice)."),
	UnknownToken:  text(401, "Unknown access token (practice)."),
	ExpiredToken:  text(401, "Expired token (practice)."),
	NoAccessToken: text(401, "Unauthorized token (practice)."),
	BadSignature:  text(401, "Invalid signature."),
	Inactive:      text(401, "Inactive account."),
	Permission:    text(401, "(<Person practice (Practice)>, 'display_name', 'launchpad.Edit')"),
}

var after = []Fault{
	DropAfter, Lost502, Lost500, HangAfter, LateWork, Slow, NoLocation, OddLocation, ForeignAddress, Truncated, Page200, Status202, Garbled,
}

// Faults lists every fault.
func Faults() []Fault {
	out := append([]Fault{DropBefore, HangBefore}, after...)
	for f := range before {
		out = append(out, f)
	}
	slices.Sort(out)
	return out
}

// Works reports whether the work is done all the same.
func (f Fault) Works() bool { return slices.Contains(after, f) }

// FaultSpec says what is to go wrong.
type FaultSpec struct {
	Operation Operation
	Fault     Fault
	Times     int             // how many requests it hits; 0: one
	Delay     time.Duration   // of Slow
	Hold      <-chan struct{} // of Slow, instead of Delay: the work begins when it is closed
}

// controlSpec is a FaultSpec as the control address reads and writes it.
type controlSpec struct {
	Operation Operation `json:"operation"`
	Fault     Fault     `json:"fault"`
	Times     int       `json:"times"`
	Delay     string    `json:"delay"` // "2s"
}

func (c controlSpec) spec() (FaultSpec, error) {
	spec := FaultSpec{Operation: c.Operation, Fault: c.Fault, Times: c.Times}
	if c.Delay == "" {
		return spec, nil
	}
	var err error
	spec.Delay, err = time.ParseDuration(c.Delay)
	return spec, err
}

// Fault makes the next requests for an operation fail. Faults for one operation take their turns.
func (s *Server) Fault(spec FaultSpec) error {
	if !slices.Contains(Faults(), spec.Fault) {
		return errors.New("there is no fault " + string(spec.Fault))
	}
	spec.Times = max(spec.Times, 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, spec)
	return nil
}

// ClearFaults makes everything work again.
func (s *Server) ClearFaults() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

func (s *Server) takeFault(op Operation) (FaultSpec, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.faults {
		if s.faults[i].Operation != op {
			continue
		}
		spec := s.faults[i]
		if s.faults[i].Times--; s.faults[i].Times <= 0 {
			s.faults = slices.Delete(s.faults, i, i+1)
		}
		return spec, true
	}
	return FaultSpec{}, false
}

// fail answers one request wrongly.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, spec FaultSpec, work func() response) {
	if answer, ok := before[spec.Fault]; ok {
		answer.write(w)
		return
	}
	f := spec.Fault
	if f == DropBefore {
		drop(w, "")
		return
	}
	if f == HangBefore {
		s.hang(r)
	}
	if f == LateWork {
		s.outwait(r)
	}
	if f == Slow {
		s.wait(spec)
	}
	answer := work()
	if f == HangAfter || f == LateWork {
		s.hang(r)
	}
	if f == DropAfter {
		drop(w, "")
		return
	}
	if f == Truncated {
		drop(w, truncated(answer))
		return
	}
	if spoil := spoilers[f]; spoil != nil {
		answer = spoil(answer)
	}
	answer.write(w)
}

// truncated is an answer that breaks off: within the head when the head is what matters, else within the body.
func truncated(r response) string {
	head := fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Length: %d\r\n", r.status, http.StatusText(r.status), len(r.body))
	if len(r.body) == 0 {
		return head
	}
	return head + "Content-Type: " + r.header.Get("Content-Type") + "\r\n\r\n" + r.body[:len(r.body)/2]
}

// spoilers change an answer on its way out.
var spoilers = map[Fault]func(response) response{
	Lost502: func(response) response {
		return text(502, "<html><head><title>502 Proxy Error</title></head></html>").with("Content-Type", "text/html")
	},
	Lost500: func(response) response { return text(500, "DisconnectionError") },
	Page200: func(response) response {
		return text(200, "<html><head><title>Welcome back</title></head></html>").with("Content-Type", "text/html")
	},
	NoLocation: func(r response) response {
		r.header.Del("Location")
		return r
	},
	OddLocation: func(r response) response {
		return r.with("Location", strings.Replace(r.header.Get("Location"), "/bugs/", "/bogs/", 1))
	},
	ForeignAddress: func(r response) response { return r.with("Location", "http://tracker.invalid/devel/bugs/1") },
	Status202: func(r response) response {
		r.status = 202
		r.header.Del("Location")
		return r
	},
	Garbled: func(r response) response {
		r.body = `{"entries": [{"bug_link"`
		r.header.Del("Location")
		return r
	},
}

// hang keeps a request until its caller gives up or the tracker ends. It does not return: there is no answer.
func (s *Server) hang(r *http.Request) {
	s.outwait(r)
	panic(http.ErrAbortHandler) // the server closes the connection without an answer
}

// outwait returns when the caller of a request has given up, or the tracker ends.
func (s *Server) outwait(r *http.Request) {
	s.hung.announce(r.Header.Get(callHeader))
	select {
	case <-r.Context().Done():
	case <-s.closing:
	}
}

// wait delays a slow answer, also after its caller has given up.
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

// drop closes the connection after some raw bytes.
func drop(w http.ResponseWriter, raw string) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	_, _ = conn.Write([]byte(raw)) // it is about to be closed anyway
	_ = conn.Close()
}

const controlPath = "/+practice/faults"

// control lets demos and tests from outside make it fail: POST one as JSON, DELETE all, GET what is
// set and what there is.
func (s *Server) control(w http.ResponseWriter, r *http.Request, c *call) {
	switch r.Method {
	case http.MethodPost:
		var asked controlSpec
		var spec FaultSpec
		err := json.Unmarshal(c.body, &asked)
		if err == nil {
			spec, err = asked.spec()
		}
		if err == nil {
			err = s.Fault(spec)
		}
		if err != nil {
			text(400, err.Error()+"\n").write(w)
			return
		}
	case http.MethodDelete:
		s.ClearFaults()
	case http.MethodGet:
	default:
		text(405, "").with("Allow", "GET, POST, DELETE").write(w)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	set := []controlSpec{}
	for _, f := range s.faults {
		set = append(set, controlSpec{f.Operation, f.Fault, f.Times, f.Delay.String()})
	}
	b, _ := json.Marshal(map[string]any{"faults": set, "known": Faults()}) // plain values: cannot fail
	text(200, string(b)+"\n").with("Content-Type", "application/json").write(w)
}
