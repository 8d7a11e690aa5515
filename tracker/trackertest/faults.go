package trackertest

import (
	"fmt"
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
	DropBefore  Fault = "drop-before"   // the connection is closed before the work
	HangBefore  Fault = "hang-before"   // no work and no answer, until the caller gives up
	PageBefore  Fault = "page-before"   // 200 and an HTML page instead of the work: a captive portal
	DropAfter   Fault = "drop-after"    // the work is done, then the connection is closed
	Lost502     Fault = "lost-502"      // the work is done, the front end answers 502
	Lost500     Fault = "lost-500"      // the work is done, the answer is 500
	HangAfter   Fault = "hang-after"    // the work is done, no answer until the caller gives up
	LateWork    Fault = "late-work"     // no answer until the caller gives up; only then the work is done
	// The answer is normal, after Delay or Hold, even if the caller has given up.
	Slow           Fault = "slow"
	NoLocation     Fault = "no-location"      // the work is done, the answer lacks its Location
	OddLocation    Fault = "odd-location"     // the work is done, Location is invalid
	ForeignAddress Fault = "foreign-location" // the work is done, Location leads to another host
	Truncated      Fault = "truncated"        // the work is done, the answer is cut off
	Page200        Fault = "page-200"         // the work is done, the answer is 200 and an HTML page
	Status202      Fault = "status-202"       // the work is done, the answer is 202
	Garbled        Fault = "garbled"          // the work is done, the answer's body is broken
	UnknownConsum  Fault = "401-unknown-consumer"
	UnknownToken   Fault = "401-unknown-token"
	ExpiredToken   Fault = "401-expired-token"
	NoAccessToken  Fault = "401-unauthorized-token"
	BadSignature   Fault = "401-invalid-signature"
	Inactive       Fault = "401-inactive-account"
	Permission     Fault = "401-permission" // a missing permission; the credentials may be valid
)

// before maps faults that prevent the work to their answers.
var before = map[Fault]response{
	Error500: text(500, "ProgrammingError").with("X-Lazr-OopsId", "OOPS-practice500"),
	Error503: text(503, "<html><head><title>Timeout</title></head></html>").with("Content-Type",
		"text/html").with("Retry-After", "900").with("X-Lazr-OopsId", "OOPS-practice503"),
	Offline503: text(503, "<html><head><title>Launchpad is offline</title></head></html>").with("Content-Type",
		"text/html"),
	TooMany429:  text(429, "Too many requests").with("Retry-After", "1"),
	FrontEnd403: text(403, "<html><head><title>403 Forbidden</title></head></html>").with("Content-Type", "text/html"),
	NotFound404: text(404, "Object: <lp.systemhomes.WebServiceApplication object>, name: 'bugs'"),
	Redirect302: text(302, "").with("Location", "/+moved"),
	Redirect307: text(307, "").with("Location", "/+moved"),
	PageBefore: text(200, "<html><head><title>Welcome to the hotel</title></head></html>").with("Content-Type",
		"text/html"),
	UnknownConsum: text(401, "Unknown consumer (practice)."),
	UnknownToken:  text(401, "Unknown access token (practice)."),
	ExpiredToken:  text(401, "Expired token (practice)."),
	NoAccessToken: text(401, "Unauthorized token (practice)."),
	BadSignature:  text(401, "Invalid signature."),
	Inactive:      text(401, "Inactive account."),
	Permission:    text(401, "(<Person practice (Practice)>, 'display_name', 'launchpad.Edit')"),
}

var after = []Fault{
	DropAfter, Lost502, Lost500, HangAfter, LateWork, Slow, NoLocation, OddLocation, ForeignAddress, Truncated, Page200,
	Status202, Garbled,
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

// Works reports whether the work is done in spite of the fault.
func (f Fault) Works() bool { return slices.Contains(after, f) }

// FaultSpec says which requests fail, and how.
type FaultSpec struct {
	Operation Operation
	Fault     Fault
	Times     int             // number of requests that fail; 0: one
	Delay     time.Duration   // of Slow
	Hold      <-chan struct{} // of Slow, instead of Delay: the work begins when it is closed
}

// truncated returns an incomplete answer: an incomplete header if the body is empty, else half of
// the body.
func truncated(r response) string {
	head := fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Length: %d\r\n", r.status, http.StatusText(r.status), len(r.body))
	if len(r.body) == 0 {
		return head
	}
	return head + "Content-Type: " + r.header.Get("Content-Type") + "\r\n\r\n" + r.body[:len(r.body)/2]
}

// spoilers maps faults to functions that damage a complete answer.
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
