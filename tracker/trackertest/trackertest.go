// Package trackertest implements a practice tracker: a server with state that speaks the part of
// Launchpad's protocol that mishap needs. It imitates the OAuth endpoints, the texts
// of refusals, and the visibility rules of searches. It can fail in every way in which a real tracker
// fails. It is stricter than Launchpad in one point: it refuses parameters that Launchpad would
// silently take for something else.
//
// Tests start one with New. `devtool demo` serves one to people, with pages to authorise mishap
// and to read bugs.
package trackertest

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
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
	FirstBug    int64            // number of the first bug; 0: 2100001
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

// Tracker is a practice tracker that listens on a port of its own.
type Tracker struct {
	*Server
	URL    string // web part and OAuth endpoints
	APIURL string // root of the API, version devel
}

// New starts a practice tracker that ends with the test. It uses at most one Options.
func New(tb testing.TB, options ...Options) *Tracker {
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

func (s *Server) begin(c *call) FaultSpec {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.working++
	s.requests = append(s.requests[max(0, len(s.requests)-maxRequests+1):], Request{
		Operation: c.op, Method: c.r.Method, URI: c.r.RequestURI, Header: c.r.Header.Clone(), Body: string(c.body),
	})
	i := slices.IndexFunc(s.faults, func(f FaultSpec) bool {
		return f.Operation == c.op && (f.Bug == "" || slices.Contains(c.parts, f.Bug))
	})
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

func (s *Server) now() time.Time { return s.opts.Now().Add(s.offset).UTC() }

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
	b.Number = s.state.nextBug(s.opts.FirstBug)
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

type state struct {
	Consumers     []string
	RequestTokens []*requestToken
	AccessTokens  []*accessToken
	Bugs          []*Bug
}

// Bug is a bug of the practice tracker.
type Bug struct {
	Number          int64
	Title           string
	Description     string
	Tags            []string
	InformationType string
	Reporter        string
	Distribution    string
	Package         string // source package; empty: the distribution itself
	Status          string
	DuplicateOf     int64 // 0: not a duplicate
	Created         time.Time
	Subscribers     []string

	Importance string // empty: Undecided
	Assignee   string // name of an account; empty: nobody
	Milestone  string
	Closed     time.Time // when Status became a complete one
	Updated    time.Time // last change; zero: none
	Series     []SeriesTask
	Messages   []Message // comments, without the description
}

// Message is a comment on a bug. The description is the first message.
type Message struct {
	Owner   string
	Content string
	Created time.Time
}

// SeriesTask is the state of a bug in one series of its distribution.
type SeriesTask struct {
	Series string // codename
	Status string
	Closed time.Time
}

// Janitor is the name of the tracker's own account.
const Janitor = "janitor"

// Janitor closes a bug as an upload would. It adds a message that names the version and the series.
func (b *Bug) Janitor(version, series string) {
	b.Status = "Fix Released"
	b.Messages = append(b.Messages, Message{Owner: Janitor, Content: fmt.Sprintf(
		"This bug was fixed in the package %s - %s\n\n---------------\n%s (%s) %s; urgency=medium\n\n  * Practice makes "+
			"perfect.\n",
		b.Package, version, b.Package, version, series)})
}

func (b *Bug) private() bool {
	return slices.Contains([]string{"Private", "Private Security", "Proprietary", "Embargoed"}, b.InformationType)
}

func (b *Bug) updated() time.Time {
	if b.Updated.After(b.Created) {
		return b.Updated
	}
	return b.Created
}

func (b *Bug) settle(before Bug, now time.Time) {
	b.Updated = now
	b.Closed = closing(b.Closed, before.Status, b.Status, now)
	for i := range b.Series {
		was := ""
		if i < len(before.Series) {
			was = before.Series[i].Status
		}
		b.Series[i].Closed = closing(b.Series[i].Closed, was, b.Series[i].Status, now)
	}
	for i := range b.Messages {
		if b.Messages[i].Created.IsZero() {
			b.Messages[i].Created = now
		}
	}
}

func closing(closed time.Time, before, status string, now time.Time) time.Time {
	switch {
	case !slices.Contains(complete, status):
		return time.Time{}
	case status != before || closed.IsZero():
		return now
	}
	return closed
}

func (b *Bug) copied() Bug {
	c := *b
	c.Tags, c.Subscribers = slices.Clone(b.Tags), slices.Clone(b.Subscribers)
	c.Series, c.Messages = slices.Clone(b.Series), slices.Clone(b.Messages)
	return c
}

type requestToken struct {
	Key, Secret, Consumer string
	Created               time.Time
	Level                 string // empty: not decided yet
	Person                string // who authorised it
}

type accessToken struct {
	Key, Secret, Consumer, Level, Person string
	Expired                              bool
	Suspended                            bool // the person's account is suspended
}

// writes reports whether the token permits changes. A nil token is anonymous.
func (t *accessToken) writes() bool {
	return t != nil && slices.Contains([]string{"WRITE_PUBLIC", "WRITE_PRIVATE"}, t.Level)
}

// sees reports whether the token shows a bug. Private bugs show only to their reporter and subscribers.
func (t *accessToken) sees(b *Bug) bool {
	if !b.private() {
		return true
	}
	return t != nil && slices.Contains([]string{"READ_PRIVATE", "WRITE_PRIVATE"}, t.Level) &&
		(b.Reporter == t.Person || slices.Contains(b.Subscribers, t.Person))
}

func (st *state) load(file string) error {
	if file == "" {
		return nil
	}
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, st); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

func (st *state) save(file string) error {
	if file == "" {
		return nil
	}
	b, err := json.MarshalIndent(st, "", "\t")
	if err != nil {
		return err
	}
	if err := os.WriteFile(file+".new", append(b, '\n'), 0o600); err != nil { // it contains tokens
		return err
	}
	return os.Rename(file+".new", file)
}

func (st *state) bug(number int64) *Bug {
	return find(st.Bugs, func(b *Bug) bool { return b.Number == number })
}

func (st *state) nextBug(first int64) int64 {
	if len(st.Bugs) == 0 {
		return cmp.Or(first, 2100001)
	}
	return st.Bugs[len(st.Bugs)-1].Number + 1
}

func (st *state) register(consumer string) {
	if !slices.Contains(st.Consumers, consumer) {
		st.Consumers = append(st.Consumers, consumer)
	}
}

func (st *state) request(key string) *requestToken {
	return find(st.RequestTokens, func(t *requestToken) bool { return t.Key == key })
}

func (st *state) access(consumer, key string) *accessToken {
	return find(st.AccessTokens, func(t *accessToken) bool { return t.Key == key && t.Consumer == consumer })
}

func find[T any](list []*T, match func(*T) bool) *T {
	if i := slices.IndexFunc(list, match); i >= 0 {
		return list[i]
	}
	return nil
}

// newKey returns a random key of n characters from Launchpad's alphabet.
func newKey(n int) string {
	const alphabet = "0123456789bcdfghjklmnpqrstvwxzBCDFGHJKLMNPQRSTVWXZ"
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	for i := range b {
		b[i] = alphabet[int(b[i])%len(alphabet)]
	}
	return string(b)
}

// Operation is a kind of request, for faults and Requests.
type Operation string

// Kinds of requests.
const (
	OpRequestToken  Operation = "request-token"
	OpAccessToken   Operation = "access-token"
	OpAuthorize     Operation = "authorize"
	OpCreate        Operation = "create"
	OpSearch        Operation = "search"
	OpBug           Operation = "bug"
	OpChange        Operation = "change" // PATCH of a bug
	OpSubscribe     Operation = "subscribe"
	OpMe            Operation = "me"
	OpSourcePackage Operation = "source-package"
	OpTasks         Operation = "tasks"
	OpMessages      Operation = "messages"
	OpComment       Operation = "comment"
	OpArchive       Operation = "archive"
	OpOther         Operation = "other"
)

var (
	webOperations = map[string]Operation{
		"/+request-token": OpRequestToken, "/+access-token": OpAccessToken, "/+authorize-token": OpAuthorize,
	}
	namedOperations = map[string]Operation{
		"createBug": OpCreate, "searchTasks": OpSearch, "subscribe": OpSubscribe, "newMessage": OpComment,
		"getSourcePackage": OpSourcePackage, "getPublishedSources": OpArchive, "getPublishedBinaries": OpArchive,
		"getSourcesIncluded": OpArchive, "getBugSubscriberPackages": OpArchive,
	}
)

var versions = []string{"beta", "1.0", "devel"}

type call struct {
	r       *http.Request
	body    []byte
	form    url.Values // from the body, if that is a form
	query   url.Values
	version string   // of the API; empty: the web part
	parts   []string // of the path, below the version; at least one
	origin  string   // scheme, host and port that the client used
	name    string   // of the named operation: ws.op
	op      Operation
}

const maxBody = 4 << 20

func newCall(r *http.Request) *call {
	c := &call{r: r, query: r.URL.Query(), form: url.Values{}, origin: "http://" + r.Host}
	c.body, _ = io.ReadAll(io.LimitReader(r.Body, maxBody)) // an incomplete body is refused later
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if r.Header.Get("Content-Type") == "" || media == "application/x-www-form-urlencoded" {
		c.form, _ = url.ParseQuery(string(c.body)) // invalid pairs are left out
	}
	c.parts = splitPath(r.URL.EscapedPath())
	if slices.Contains(versions, c.parts[0]) {
		c.version, c.parts = c.parts[0], c.parts[1:]
	}
	if len(c.parts) == 0 {
		c.parts = []string{""} // the root
	}
	c.name = c.query.Get("ws.op")
	if r.Method == http.MethodPost {
		c.name = c.form.Get("ws.op")
	}
	c.op = c.operation()
	return c
}

func (c *call) operation() Operation {
	op := webOperations[c.r.URL.EscapedPath()]
	if c.version != "" {
		op = namedOperations[c.name]
	}
	bug := c.version != "" && len(c.parts) > 1 && c.parts[0] == "bugs"
	switch {
	case op != "":
		return op
	case c.version != "" && slices.Equal(c.parts, []string{"people", "+me"}):
		return OpMe
	case bug && len(c.parts) == 2 && c.r.Method == http.MethodPatch:
		return OpChange
	case bug && len(c.parts) == 2:
		return OpBug
	case bug && c.parts[2] == "bug_tasks":
		return OpTasks
	case bug && c.parts[2] == "messages":
		return OpMessages
	}
	return OpOther
}

func (c *call) root() string { return c.origin + "/" + c.version }

func splitPath(escaped string) []string {
	var out []string
	for part := range strings.SplitSeq(strings.Trim(escaped, "/"), "/") {
		out = append(out, unescape(part))
	}
	return out
}

func unescape(s string) string {
	out, err := url.PathUnescape(s)
	if err != nil {
		return s
	}
	return out
}

// escapePath encodes a name as one segment of a path. "+" stays, as in the links of Launchpad.
func escapePath(s string) string { return strings.ReplaceAll(url.PathEscape(s), "%2B", "+") }

// params are the parameters of an operation or the attributes of a PATCH, encoded as JSON. Its
// methods note what is wrong with a parameter.
type params struct {
	url.Values
	wrong []string // one line for each invalid parameter
}

func (p *params) refuse(name, format string, args ...any) {
	p.wrong = append(p.wrong, name+": "+fmt.Sprintf(format, args...))
}

func (p *params) refusal() response {
	return text(400, strings.Join(p.wrong, "\n")).with("Content-Type", "text/plain")
}

// text decodes a required text. It accepts only JSON text. Launchpad accepts anything, but takes an
// unquoted 24.10 for a number.
func (p *params) text(name string) (value string) {
	if !p.Has(name) {
		p.refuse(name, "Required input is missing.")
	} else if json.Unmarshal([]byte(p.Get(name)), &value) != nil {
		p.refuse(name, "practice: %s is not JSON text", p.Get(name))
	}
	return strings.ReplaceAll(strings.ReplaceAll(value, "\r\n", "\n"), "\r", "\n")
}

// list decodes a list of texts, or a single text. Launchpad decodes each item as JSON once more, so
// list refuses items that would then be no text.
func (p *params) list(name string) (items []string) {
	if json.Unmarshal([]byte(p.Get(name)), &items) != nil {
		items = []string{p.text(name)}
	}
	for i, item := range items {
		var again any
		if json.Unmarshal([]byte(item), &again) != nil {
			continue
		}
		decoded, ok := again.(string)
		if !ok {
			p.refuse(name, "practice: the item %s is not JSON text", item)
		}
		items[i] = decoded
	}
	return items
}

func (p *params) choice(name, value string, accepted []string) string {
	if !slices.Contains(accepted, value) {
		p.refuse(name, "Invalid value %q. Acceptable values are: %s", value, strings.Join(accepted, ", "))
	}
	return value
}

func (p *params) time(name string) time.Time {
	value := p.text(name)
	for _, layout := range []string{"2006-01-02T15:04:05.999999999Z07:00", "2006-01-02"} {
		t, err := time.Parse(layout, value)
		if err != nil {
			continue
		}
		if _, offset := t.Zone(); offset != 0 {
			p.refuse(name, "Time not in UTC.")
		}
		return t
	}
	p.refuse(name, "Value doesn't look like a date.")
	return time.Time{}
}

// link returns the segments of the path in a link, or of a path that leads nowhere. A link must be a
// path, or an absolute address on this host in an active version of the API.
func (p *params) link(c *call, name string) []string {
	link := p.text(name)
	u, err := url.Parse(link)
	switch {
	case p.wrong != nil:
		return []string{""}
	case err != nil, u.Scheme == "" && !strings.HasPrefix(link, "/"):
		p.refuse(name, "%q is not a valid URI.", link)
		return []string{""}
	}
	path := splitPath(u.EscapedPath())
	if u.Host != "" && u.Scheme+"://"+u.Host == c.origin && slices.Contains(versions, path[0]) && len(path) > 1 {
		return path[1:]
	}
	if u.Host != "" || u.RawQuery != "" || u.Fragment != "" {
		p.refuse(name, "No such object %q.", link)
	}
	return path
}

func (p *params) person(c *call, name string) string {
	path := p.link(c, name)
	person, ok := strings.CutPrefix(path[0], "~")
	if !ok || person == "" || len(path) > 1 {
		p.refuse(name, "No such object %s.", p.Get(name))
	}
	return person
}

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
	Bug       string          // number of the only bug whose requests fail; empty: any
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

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements [http.RoundTripper].
func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// requestTokenLife is how long a request token can be exchanged, counted from its creation.
const requestTokenLife = 2 * time.Hour

// guessed returns a text answer of the token endpoints, which declare no media type.
func guessed(status int, body string) response {
	r := text(status, body).with("Vary", "Cookie, Authorization")
	if body != "" {
		r = r.with("X-Content-Type-Warning", "guessed from content")
	}
	return r
}

func challenged(r response) response {
	return r.with("WWW-Authenticate", `OAuth realm="https://api.launchpad.net"`)
}

func (s *Server) requestToken(c *call) response {
	params := c.form
	consumer := params.Get("oauth_consumer_key")
	switch {
	case params.Get("oauth_signature_method") != "PLAINTEXT" && consumer != "":
		return guessed(400, "")
	case consumer == "", params.Get("oauth_signature") != "&":
		return challenged(guessed(401, ""))
	}
	t := &requestToken{Key: newKey(20), Secret: newKey(80), Consumer: consumer, Created: s.now()}
	s.state.register(consumer)
	s.state.RequestTokens = append(s.state.RequestTokens, t)
	s.save()
	return guessed(200, "oauth_token="+t.Key+"&oauth_token_secret="+t.Secret)
}

// accessToken reads consumer key and token only from the form, and checks them in Launchpad's
// order.
func (s *Server) accessToken(c *call) response {
	params := c.form
	consumer := params.Get("oauth_consumer_key")
	t := s.state.request(params.Get("oauth_token"))
	switch {
	case !slices.Contains(s.state.Consumers, consumer):
		return challenged(guessed(401, ""))
	case t == nil, t.Consumer != consumer:
		return challenged(guessed(401, "No request token specified."))
	case params.Get("oauth_signature_method") != "PLAINTEXT":
		return guessed(400, "Invalid OAuth signature.")
	case params.Get("oauth_signature") != "&"+t.Secret:
		return challenged(guessed(401, "Invalid OAuth signature."))
	case t.Level == "":
		return challenged(guessed(401, "Request token has not yet been reviewed. Try again later."))
	case t.Level == "UNAUTHORIZED":
		return guessed(403, "End-user refused to authorize request token.")
	case s.now().Sub(t.Created) > requestTokenLife:
		return guessed(403, "This request token has expired and can no longer be exchanged for an access token.")
	}
	a := &accessToken{Key: newKey(20), Secret: newKey(80), Consumer: consumer, Level: t.Level, Person: t.Person}
	s.state.AccessTokens = append(s.state.AccessTokens, a)
	s.state.RequestTokens = slices.DeleteFunc(s.state.RequestTokens, func(o *requestToken) bool { return o == t })
	s.save()
	return guessed(200, "oauth_token="+a.Key+"&oauth_token_secret="+a.Secret+"&lp.context=None")
}

var headerParam = regexp.MustCompile(`^\s*([A-Za-z_]+)="([^"]*)"\s*$`)

// oauthHeader returns the parameters of the header, or false if there is no "OAuth " header. It
// percent-decodes values once; "+" stays a plus sign. The result is nil if the header is invalid.
func (c *call) oauthHeader() (params url.Values, ok bool) {
	header, ok := strings.CutPrefix(c.r.Header.Get("Authorization"), "OAuth ")
	if !ok {
		return nil, false
	}
	params = url.Values{}
	for item := range strings.SplitSeq(header, ",") {
		m := headerParam.FindStringSubmatch(item)
		if m == nil {
			return nil, true
		}
		params.Set(m[1], unescape(m[2]))
	}
	return params, true
}

// authenticate returns the access token of a request to the API. A request without an "OAuth "
// header or with an empty token is anonymous, which is not an error.
func (s *Server) authenticate(c *call) (token *accessToken, refusal *response) {
	refuse := func(words string) (*accessToken, *response) {
		r := challenged(text(401, words))
		return nil, &r
	}
	params, ok := c.oauthHeader()
	if ok && params == nil {
		r := text(500, "ValueError").with("X-Lazr-OopsId", "OOPS-practice-header")
		return nil, &r
	}
	consumer, key := params.Get("oauth_consumer_key"), params.Get("oauth_token")
	if consumer == "" || key == "" {
		return nil, nil
	}
	token = s.state.access(consumer, key)
	switch {
	case !slices.Contains(s.state.Consumers, consumer):
		return refuse("Unknown consumer (" + consumer + ").")
	case token == nil:
		return refuse("Unknown access token (" + key + ").")
	case token.Expired:
		return refuse("Expired token (" + key + ").")
	case token.Suspended:
		return refuse("Inactive account.")
	case params.Get("oauth_signature_method") != "PLAINTEXT", params.Get("oauth_signature") != "&"+token.Secret:
		return refuse("Invalid signature.")
	case token.Level == "UNAUTHORIZED":
		return refuse("Unauthorized token (" + key + ").")
	}
	return token, nil
}

type level struct{ Value, Title string }

var levels = []level{
	{"UNAUTHORIZED", "No Access"},
	{"READ_PUBLIC", "Read Non-Private Data"},
	{"WRITE_PUBLIC", "Change Non-Private Data"},
	{"READ_PRIVATE", "Read Anything"},
	{"WRITE_PRIVATE", "Change Anything"},
}

func (s *Server) authorizeToken(c *call) response {
	params := c.query
	if c.r.Method == http.MethodPost {
		params = c.form
	}
	t := s.state.request(params.Get("oauth_token"))
	page := authorizePage{Person: s.opts.Person, Token: params.Get("oauth_token")}
	switch {
	case t == nil:
		page.Message = "Unable to identify application. The request is not known here, or it has been used already."
	case s.now().Sub(t.Created) > requestTokenLife:
		page.Message = "This request token has expired and can no longer be reviewed."
	case t.Level != "":
		page.Message = "Unable to identify application. This request has been decided already."
	}
	if page.Message != "" {
		return htmlPage(authorizeTemplate, page)
	}
	page.Consumer, page.Levels = t.Consumer, levels
	for _, l := range page.Levels {
		if c.form.Has("field.actions." + l.Value) {
			return s.decide(t, l, c.form)
		}
	}
	return htmlPage(authorizeTemplate, page)
}

func (s *Server) decide(t *requestToken, l level, form url.Values) response {
	person := cmp.Or(form.Get("person"), s.opts.Person)
	if !validName.MatchString(person) {
		return text(400, "person: not a valid name")
	}
	t.Level, t.Person = l.Value, person
	s.save()
	message := "Almost finished: go back to " + t.Consumer + " and tell it that you have authorised it."
	if l.Value == "UNAUTHORIZED" {
		message = "Access was denied to " + t.Consumer + "."
	}
	return htmlPage(authorizeTemplate, authorizePage{Person: person, Message: message})
}
