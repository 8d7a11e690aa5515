// Package issuetest has practice trackers of the kinds other than Launchpad: small servers with state that
// speak the part of a tracker's API that mishap and other clients need, and that can fail in the ways in which
// real ones fail. Each kind has a file with its routes; this file has what they share.
package issuetest

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Issue is a bug in a practice tracker.
type Issue struct {
	ID      int64  // unique in the tracker
	Number  int64  // unique in the project, or the ID where the kind has no other number
	Project string // "owner/name", or a product
	Title   string
	Text    string
	Author  string
	Labels  []string
	Private bool
	Closed  bool

	State       string // the kind's word, where Closed does not say it all: "CONFIRMED", "duplicate"
	Resolution  string
	Assignee    string
	Milestone   string
	DuplicateOf int64          // Number of the issue that it duplicates; 0: none
	Extra       map[string]any // further fields of the kind, such as "alias"

	Created  time.Time
	Updated  time.Time
	ClosedAt time.Time // zero: open
	Comments []Comment
}

// Comment is a comment on an issue. It does not include the issue's own text.
type Comment struct {
	ID      int64
	Author  string
	Text    string
	Created time.Time
}

// Fault is a way to fail.
type Fault string

// The faults. After… means that the request was carried out although the answer does not say so.
const (
	DropBefore  Fault = "drop-before"  // the connection closes, and nothing was done
	DropAfter   Fault = "drop-after"   // the connection closes without an answer
	HangBefore  Fault = "hang-before"  // no answer comes, and nothing was done
	HangAfter   Fault = "hang-after"   // no answer comes
	ErrorBefore Fault = "error-before" // 502 with a page of a proxy, and nothing was done
	ErrorAfter  Fault = "error-after"  // the same
	PageAfter   Fault = "page-after"   // the success has a page of a proxy as its body
	CutAfter    Fault = "cut-after"    // the answer ends in its middle
	Busy        Fault = "busy"         // 429 with Retry-After
	Limit       Fault = "limit"        // the kind's limit that is not a 429, with Retry-After
	Expired     Fault = "expired"      // the token is not accepted any more
	Forbidden   Fault = "forbidden"    // the account may not do this
	Refused     Fault = "refused"      // the tracker refuses the contents, and says why
)

// Faults lists all faults.
var Faults = []Fault{DropBefore, DropAfter, HangBefore, HangAfter, ErrorBefore, ErrorAfter, PageAfter, CutAfter,
	Busy, Limit, Expired, Forbidden, Refused}

// Done reports whether a request with the fault is carried out.
func (f Fault) Done() bool {
	return slices.Contains([]Fault{DropAfter, HangAfter, ErrorAfter, PageAfter, CutAfter}, f)
}

// Request is a request that a practice tracker got.
type Request struct {
	Operation string
	Method    string
	Path      string
	Query     url.Values
	Header    http.Header
	Body      []byte
}

// Server is a practice tracker. It is safe for concurrent use.
type Server struct {
	URL   string // without a slash at the end
	Relay string // address of the relay for kinds that get mail, "smtp://127.0.0.1:2525"; empty: there is none

	kind kind
	mux  *http.ServeMux
	http *httptest.Server
	post *post // takes the mail; nil: the kind gets none
	done chan struct{}
	hung chan struct{}

	mu       sync.Mutex
	waiting  map[string]context.CancelCauseFunc // calls of clients in this process; see TimeOutHung
	file     string                             // for Keep
	issues   []*Issue
	last     int64             // the last ID
	tokens   map[string]string // accounts by token
	scopes   []string          // of all tokens; nil: those that filing needs
	hidden   time.Duration     // how long lists do not show a new issue
	delays   map[string]time.Duration
	faults   map[string][]Fault
	requests []Request
	now      func() time.Time
}

// kind is what a kind of tracker adds to a Server.
type kind struct {
	routes func(s *Server)
	token  func(r *http.Request) string // the token of a request; empty: none
	reply  func(f Fault) reply          // the answer to Busy, Limit, Expired, Forbidden and Refused
	first  int64                        // number of the first issue
	global bool                         // numbers are unique in the tracker
	states [2]string                    // the kind's words for issues that people have reopened, and closed
}

// New starts a practice tracker that ends with the test. The token of the account "mishap" is "secret-of-mishap".
func New(tb testing.TB, kind kind) *Server {
	tb.Helper()
	s := NewServer(kind, nil)
	s.http = httptest.NewServer(s)
	s.URL = s.http.URL
	stop, err := s.ServeMail(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		close(s.done)
		s.http.CloseClientConnections()
		s.http.Close()
		stop()
	})
	return s
}

// NewServer returns a practice tracker for a listener of the caller, who sets its URL. A nil now is the clock.
func NewServer(kind kind, now func() time.Time) *Server {
	if now == nil {
		now = time.Now
	}
	s := &Server{
		kind: kind, mux: http.NewServeMux(), done: make(chan struct{}), now: now,
		hung: make(chan struct{}, 1000), waiting: map[string]context.CancelCauseFunc{},
		tokens: map[string]string{"secret-of-mishap": "mishap"}, faults: map[string][]Fault{},
		delays: map[string]time.Duration{},
		last:   max(kind.first, 1) - 1,
	}
	kind.routes(s)
	s.pages()
	return s
}

// ServeHTTP serves the API and the pages.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// SetClock sets the clock.
func (s *Server) SetClock(now func() time.Time) { s.locked(func() { s.now = now }) }

// AddToken adds an account with a token.
func (s *Server) AddToken(account, token string) { s.locked(func() { s.tokens[token] = account }) }

// SetScopes sets the scopes of all tokens, for kinds that tell them. They do not limit what requests may do.
func (s *Server) SetScopes(scopes ...string) { s.locked(func() { s.scopes = scopes }) }

// scopesOr returns the scopes of tokens, which are usual unless a test has set them.
func (s *Server) scopesOr(usual ...string) []string {
	if s.scopes == nil {
		return usual
	}
	return s.scopes
}

// Fail lets the next requests of an operation fail, each with the next of these faults. The operations are "me",
// "create", "read", "list", "comment" and "change"; for kinds that get mail also "hello" and "sender", which are
// steps of SMTP.
func (s *Server) Fail(operation string, faults ...Fault) {
	s.locked(func() { s.faults[operation] = append(s.faults[operation], faults...) })
}

// Delay lets all requests of an operation take a time, half of it before they are carried out.
func (s *Server) Delay(operation string, d time.Duration) {
	s.locked(func() { s.delays[operation] = d })
}

// pause lets half of the time pass that a request of an operation takes.
func (s *Server) pause(operation string) {
	var d time.Duration
	s.locked(func() { d = s.delays[operation] / 2 })
	if d == 0 {
		return
	}
	select {
	case <-time.After(d):
	case <-s.done:
	}
}

// Hung has an element for each request that began to hang.
func (s *Server) Hung() <-chan struct{} { return s.hung }

// hang tells everyone that a call begins to hang, and ends it at once if its client uses TimeOutHung or Mailer.
func (s *Server) hang(name string) {
	s.hung <- struct{}{}
	var giveUp context.CancelCauseFunc
	s.locked(func() { giveUp = s.waiting[name] })
	if giveUp != nil {
		giveUp(context.DeadlineExceeded)
	}
}

// callHeader names a call, so that it can end at once if the tracker lets it hang.
const callHeader = "X-Practice-Call"

// TimeOutHung wraps the transport of a client in the same process. A request that the tracker lets hang fails at
// once, as if the client's time-out had passed, which can then be so long that a slow machine never reaches it.
func (s *Server) TimeOutHung(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		name := rand.Text()
		ctx, end := s.await(req.Context(), name)
		defer end()
		req = req.Clone(ctx)
		req.Header.Set(callHeader, name)
		resp, err := next.RoundTrip(req)
		if err != nil && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return resp, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip sends a request.
func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// await returns a context that ends when the call with a name begins to hang.
func (s *Server) await(ctx context.Context, name string) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	s.locked(func() { s.waiting[name] = cancel })
	return ctx, func() { s.locked(func() { delete(s.waiting, name) }) }
}

// HideNew lets lists show new issues only after a time, as an index that lags does.
func (s *Server) HideNew(d time.Duration) { s.locked(func() { s.hidden = d }) }

// Issues returns copies of all issues, oldest first.
func (s *Server) Issues() (all []Issue) {
	s.locked(func() {
		for _, i := range s.issues {
			all = append(all, *i)
		}
	})
	return all
}

// Change changes an issue of a project as a person would, and sets the time of the change.
func (s *Server) Change(project string, number int64, change func(*Issue)) {
	s.locked(func() {
		if i := s.find(project, number); i != nil {
			change(i)
			s.touch(i)
		}
	})
}

// Requests returns the requests of an operation so far.
func (s *Server) Requests(operation string) (all []Request) {
	s.locked(func() {
		for _, r := range s.requests {
			if r.Operation == operation {
				all = append(all, r)
			}
		}
	})
	return all
}

func (s *Server) locked(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// The methods below are for routes, which run with the lock held.

// find returns an issue, or nil. An empty project stands for any.
func (s *Server) find(project string, number int64) *Issue {
	for _, i := range s.issues {
		if i.Number == number && (project == "" || strings.EqualFold(i.Project, project)) {
			return i
		}
	}
	return nil
}

// add stores a new issue. Its Number is the next of the project, or the ID if global.
func (s *Server) add(i *Issue, global bool) *Issue {
	s.last++
	i.ID, i.Created = s.last, s.now().UTC()
	if i.Number = i.ID; !global {
		i.Number = max(s.kind.first, 1)
		for _, o := range s.issues {
			if o.Project == i.Project {
				i.Number = max(i.Number, o.Number+1)
			}
		}
	}
	s.touch(i)
	s.issues = append(s.issues, i)
	return i
}

// comment adds a comment to an issue.
func (s *Server) comment(i *Issue, author, text string) Comment {
	s.last++
	c := Comment{ID: s.last, Author: author, Text: text, Created: s.now().UTC()}
	i.Comments = append(i.Comments, c)
	s.touch(i)
	return c
}

func (s *Server) touch(i *Issue) {
	i.Updated = s.now().UTC()
	if !i.Closed {
		i.ClosedAt = time.Time{}
	} else if i.ClosedAt.IsZero() {
		i.ClosedAt = i.Updated
	}
}

// listed returns the issues that lists show, oldest first, for which ok returns true.
func (s *Server) listed(ok func(*Issue) bool) (list []*Issue) {
	for _, i := range s.issues {
		if s.now().Sub(i.Created) >= s.hidden && ok(i) {
			list = append(list, i)
		}
	}
	return list
}

// call is a request to a route.
type call struct {
	*http.Request
	Account string // of the token; empty: none
	Body    []byte
	fields  map[string]any // of a JSON body; read with text and list
}

// number returns a number in the path, or 0.
func (c *call) number(name string) int64 {
	n, _ := strconv.ParseInt(c.PathValue(name), 10, 64) // 0 finds nothing
	return n
}

// text returns a field of the JSON body, or else of the form or query.
func (c *call) text(name string) string {
	if v, ok := c.fields[name]; ok && v != nil {
		if s, ok := v.(string); ok {
			return s
		}
		return fmt.Sprint(v)
	}
	return c.FormValue(name)
}

// list returns a field that is a list of texts, or one text with commas.
func (c *call) list(name string) (list []string) {
	if v, ok := c.fields[name].([]any); ok {
		for _, e := range v {
			list = append(list, fmt.Sprint(e))
		}
		return list
	}
	for s := range strings.SplitSeq(c.text(name), ",") {
		if s = strings.TrimSpace(s); s != "" {
			list = append(list, s)
		}
	}
	return list
}

// since returns a time of the query, or the zero time.
func (c *call) since(name string) time.Time {
	at, _ := time.Parse(time.RFC3339, c.FormValue(name))
	return at
}

// page returns the entries of a page, whose number and size are in the query. Pages begin at 1.
func page[T any](c *call, all []T, sizeName string, size int) []T {
	if n, err := strconv.Atoi(c.FormValue(sizeName)); err == nil && n > 0 {
		size = min(n, 100)
	}
	n, _ := strconv.Atoi(c.FormValue("page"))
	from := min((max(n, 1)-1)*size, len(all))
	return all[from:min(from+size, len(all))]
}

// reply is an answer. A nil Body is empty; a string is sent as it is; anything else is JSON.
type reply struct {
	Status int
	Body   any
	Header map[string]string
}

// handle serves an operation. The route runs with the lock held.
func (s *Server) handle(operation, pattern string, route func(c *call) reply) {
	s.handleAny(pattern, func(*call) (string, func(*call) reply) { return operation, route })
}

// handleAny serves operations that choose tells apart.
func (s *Server) handleAny(pattern string, choose func(c *call) (operation string, route func(c *call) reply)) {
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		c := &call{Request: r}
		c.Body, _ = io.ReadAll(io.LimitReader(r.Body, 1<<20)) // a cut body is not JSON
		r.Body = io.NopCloser(strings.NewReader(string(c.Body)))
		if strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
			_ = json.Unmarshal(c.Body, &c.fields) // else it has no fields
		}
		operation, route := choose(c)
		var fault Fault
		s.locked(func() {
			c.Account = s.tokens[s.kind.token(r)]
			s.requests = append(s.requests, Request{operation, r.Method, r.URL.Path, r.URL.Query(), r.Header.Clone(), c.Body})
			fault = s.nextFault(operation)
		})
		var out reply
		s.pause(operation)
		if fault == "" || fault.Done() {
			s.locked(func() {
				if out = route(c); r.Method != http.MethodGet {
					s.save()
				}
			})
		}
		s.pause(operation)
		s.answer(r, w, fault, out)
	})
}

func (s *Server) nextFault(operation string) (fault Fault) {
	if next := s.faults[operation]; len(next) > 0 {
		fault, s.faults[operation] = next[0], next[1:]
	}
	return fault
}

const proxyPage = "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"

func (s *Server) answer(r *http.Request, w http.ResponseWriter, fault Fault, out reply) {
	switch fault {
	case DropBefore, DropAfter:
		panic(http.ErrAbortHandler)
	case HangBefore, HangAfter:
		s.hang(r.Header.Get(callHeader))
		select {
		case <-r.Context().Done():
		case <-s.done:
		}
		panic(http.ErrAbortHandler)
	case ErrorBefore, ErrorAfter:
		out = reply{http.StatusBadGateway, proxyPage, nil}
	case PageAfter:
		out.Body = proxyPage
	case Busy, Limit, Expired, Forbidden, Refused:
		out = s.kind.reply(fault)
	case CutAfter:
	}
	body, isText := out.Body.(string)
	kind := "text/html; charset=utf-8"
	if !isText && out.Body != nil {
		b, err := json.Marshal(out.Body)
		if err != nil {
			panic(err) // a route returns only what JSON can hold
		}
		body, kind = string(b), "application/json"
	}
	w.Header().Set("Content-Type", kind)
	for _, name := range slices.Sorted(maps.Keys(out.Header)) {
		w.Header().Set(name, out.Header[name])
	}
	if fault == CutAfter {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)+1))
	}
	w.WriteHeader(out.Status)
	_, _ = io.WriteString(w, body)
}

// Kinds are the kinds of practice trackers by name.
var Kinds = map[string]func() kind{
	"bugzilla": func() kind { return Bugzilla(BugzillaOptions{Variant: "header"}) },
	"debian":   Debian,
	"forgejo":  Forgejo,
	"github":   GitHub,
	"gitlab":   GitLab,
}
