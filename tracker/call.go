package tracker

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"mishap/crash"
)

// Caller makes single calls to a tracker over HTTP, with the current access token. It never repeats a call.
// It is safe for concurrent use.
type Caller struct {
	cfg     Config
	creds   *Credentials // nil: calls are made without an access token
	auth    Auth
	reading *http.Client // reuses connections; newWriter returns clients for changes
	metrics *metrics
}

// Auth is how a kind of tracker authenticates calls.
type Auth struct {
	Sign func(req *http.Request, token crash.AccessToken)
	// Dead reports whether an answer says that the access token is invalid. Any other refusal is about the
	// request, such as a missing permission.
	Dead func(a Answer) bool
	// Busy reports whether an answer asks to call later, and after which wait. Nil: only one with status 429 does.
	Busy func(a Answer) (wait time.Duration, ok bool)
	// Refusal returns the message of an answer that refuses, and the tracker's own code for the reason, if it has
	// one. Nil, or an empty message: the message is the text of the answer.
	Refusal func(a Answer) (text, code string)
}

// NewCaller returns a Caller that signs each call with the current token of creds, or makes anonymous calls
// if creds is nil.
func NewCaller(cfg Config, creds *Credentials, auth Auth) *Caller {
	return &Caller{
		cfg: cfg.WithDefaults(), creds: creds, auth: auth, reading: newHTTPClient(), metrics: newMetrics(cfg.Registerer),
	}
}

// As returns a Caller with other credentials; nil stands for none.
func (c *Caller) As(creds *Credentials) *Caller {
	out := *c
	out.creds = creds
	return &out
}

// Get reads JSON from an address.
func (c *Caller) Get(ctx context.Context, operation, address string, v any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return fmt.Errorf("%s: %w", operation, err)
	}
	a, err := c.Read(operation, req)
	if err != nil {
		return err
	}
	if a.Status != http.StatusOK {
		return c.Failed(ctx, operation, a)
	}
	if a.Broken != nil || json.Unmarshal(a.Body, v) != nil {
		return c.Malformed(ctx, operation, a, "the answer is not the JSON that was expected")
	}
	c.Done(ctx, operation, "")
	return nil
}

// Post sends a body as JSON, once, and no byte of it after sendBy. It reads the JSON of an answer with a status,
// which confirms the change; 0 stands for any success. Any other success gives an unknown outcome, as an answer does
// that is cut short or empty. Answers without a body are for Change and Confirm.
func (c *Caller) Post(
	ctx context.Context, operation, address string, body, v any, status int, sendBy time.Duration,
) error {
	return c.send(ctx, operation, http.MethodPost, address, body, v, status, sendBy)
}

// Put is Post with the method PUT.
func (c *Caller) Put(
	ctx context.Context, operation, address string, body, v any, status int, sendBy time.Duration,
) error {
	return c.send(ctx, operation, http.MethodPut, address, body, v, status, sendBy)
}

func (c *Caller) send(
	ctx context.Context, operation, method, address string, body, v any, status int, sendBy time.Duration,
) error {
	content, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("%s: %w", operation, err)
	}
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(content))
	if err != nil {
		return fmt.Errorf("%s: %w", operation, err)
	}
	req.Header.Set("Content-Type", "application/json")
	a, err := c.Change(operation, req, sendBy)
	if err != nil {
		return err
	}
	if status == 0 && a.Status >= 200 && a.Status < 300 {
		status = a.Status
	}
	const unclear = "the answer does not say what was done"
	if a.Status == status && (a.Broken != nil || json.Unmarshal(a.Body, v) != nil) {
		return c.Malformed(ctx, operation, a, unclear)
	}
	return c.Confirm(ctx, operation, a, status, unclear)
}

// Read sends a request that changes nothing. It records its own errors; the caller records the outcome of an
// answer.
func (c *Caller) Read(operation string, req *http.Request) (Answer, error) {
	return c.signed(c.reading, operation, req, MaxSending)
}

// Change sends a request that changes something, over a new connection, and no byte of it after sendBy. It
// records errors as Read does.
func (c *Caller) Change(operation string, req *http.Request, sendBy time.Duration) (Answer, error) {
	req.GetBody = nil // never repeated
	return c.signed(newWriter(sendBy), operation, req, sendBy)
}

func (c *Caller) signed(hc *http.Client, operation string, req *http.Request, sendBy time.Duration) (Answer, error) {
	if c.creds != nil {
		token, err := c.creds.Current(req.Context())
		if err != nil {
			return Answer{}, err
		}
		c.auth.Sign(req, token)
	}
	if !c.cfg.OnAPI(req.URL) {
		return Answer{}, &CallError{
			Operation: operation, Outcome: OutcomeNotSent, Text: "the tracker named an address that is not its own",
		}
	}
	req.Header.Set("Accept", "application/json")
	a, err := c.exchange(hc, operation, req, sendBy)
	if err != nil {
		return a, c.Record(req.Context(), callError(operation, err))
	}
	return a, nil
}

// Record records a failed call and returns it.
func (c *Caller) Record(ctx context.Context, e *CallError) *CallError {
	c.metrics.called(e.Operation, e.Outcome)
	if c.creds != nil {
		c.creds.failed(ctx, e)
	}
	return e
}

// Failed records and returns the error for an answer that does not say what a call should bring about.
func (c *Caller) Failed(ctx context.Context, operation string, a Answer) *CallError {
	var secrets []crash.Secret
	if c.creds != nil {
		secrets = c.creds.secrets()
	}
	return c.Record(ctx, c.failure(operation, a, secrets...))
}

// failure returns the error for an answer, without the secrets.
func (c *Caller) failure(operation string, a Answer, secrets ...crash.Secret) *CallError {
	e := failure(operation, a, secrets...)
	if c.auth.Refusal != nil {
		text, code := c.auth.Refusal(a)
		e.Code = Clean(scrub(code, secrets...), maxWords)
		if text = Clean(scrub(text, secrets...), maxWords); text != "" {
			e.Text = text
		}
	}
	if c.auth.Dead(a) {
		e.Outcome = OutcomeCredentials
	}
	if c.auth.Busy != nil {
		if wait, ok := c.auth.Busy(a); ok {
			e.Outcome, e.RetryAfter = OutcomeBusy, wait
		}
	}
	return e
}

// Confirm records the outcome of a change, which the answer confirms with a status. Any other success
// gives an unknown outcome, described by unclear.
func (c *Caller) Confirm(ctx context.Context, operation string, a Answer, status int, unclear string) error {
	if a.Status != status && a.Status < 300 {
		return c.Malformed(ctx, operation, a, unclear)
	}
	if a.Status != status {
		return c.Failed(ctx, operation, a)
	}
	c.Done(ctx, operation, "")
	return nil
}

// Unusable records and returns the error for an answer that is well-formed but makes no sense.
func (c *Caller) Unusable(ctx context.Context, operation, words string) *CallError {
	return c.Record(ctx, &CallError{Operation: operation, Outcome: OutcomeUnknown, Text: words})
}

// Malformed records and returns the error for an answer that does not say what was done.
func (c *Caller) Malformed(ctx context.Context, operation string, a Answer, words string) *CallError {
	return c.Record(ctx, malformed(operation, a, words))
}

// Done records a successful call. The account is that of the token, or empty if the answer does not tell.
func (c *Caller) Done(ctx context.Context, operation, account string) {
	c.metrics.called(operation, OutcomeDone)
	if c.creds != nil {
		c.creds.worked(ctx, account)
	}
}

func malformed(operation string, a Answer, words string) *CallError {
	return &CallError{Operation: operation, Outcome: OutcomeUnknown, Status: a.Status, Text: words, Err: a.Broken}
}

// Explain returns a failed call as a sentence for people: Refused, or Unavailable with a code such as
// tracker_unreachable. The code is tracker_credentials if the token is invalid.
func Explain(e *CallError) *crash.Error {
	var out *crash.Error
	by := cmp.Or(e.By, "The tracker")
	switch e.Outcome {
	case OutcomeCredentials:
		out = errCredentials(by+" no longer accepts mishap's access token ("+e.Text+").", e.By)
	case OutcomeNotSent:
		out = crash.Errorf(crash.Unavailable, "tracker_unreachable", "%s cannot be reached (%s).", by, e.Text)
		out.RetryAfter = defaultRetryAfter
	case OutcomeRefused:
		if e.Status == http.StatusUnauthorized && e.By == "" {
			return crash.Errorf(crash.Refused, "tracker_refused", "The tracker refused: mishap lacks a permission (%s). "+
				"An admin can reconnect at /admin/tracker with a level that may change data.", e.Text).Because(e)
		}
		out = crash.Errorf(crash.Refused, "tracker_refused", "%s refused: %s", by, e.Text)
	case OutcomeBusy:
		out = crash.Errorf(crash.Unavailable, "tracker_busy", "%s is busy (%s).", by, e.Text)
		out.RetryAfter = max(e.RetryAfter, defaultRetryAfter)
	default:
		out = crash.Errorf(crash.Unavailable, "tracker_failed", "%s gave no usable answer (%s).", by, e.Text)
		out.RetryAfter = defaultRetryAfter
	}
	return out.Because(e)
}

// Explained returns what Explain says about err if it is a *CallError, or else err.
func Explained(err error) error {
	if e, ok := errors.AsType[*CallError](err); ok {
		return Explain(e)
	}
	return err
}

// Check tries the access token of a tracker and returns the name of its account. Its errors are those of Explain.
func Check(ctx context.Context, t Tracker) (string, error) {
	name, err := t.Me(ctx)
	return name, Explained(err)
}

// Account reads the name of the account of the access token: a field of the JSON at an address.
func (c *Caller) Account(ctx context.Context, address, field string) (string, error) {
	const operation = "me"
	var account map[string]any
	if err := c.Get(ctx, operation, address, &account); err != nil {
		return "", err
	}
	name, _ := account[field].(string)
	if name == "" || Clean(name, 300) != name {
		return "", c.Unusable(ctx, operation, "the answer names no account")
	}
	c.Done(ctx, operation, name)
	return name, nil
}

// Exchange sends a request of a person without an access token, such as one for a token itself, and records
// its outcome unless it got a whole answer. Its errors are those of Explain, without the secrets.
func (c *Caller) Exchange(operation string, req *http.Request, secrets ...crash.Secret) (Answer, error) {
	a, err := c.exchange(newWriter(MaxSending), operation, req, MaxSending)
	if err == nil && a.Broken != nil {
		err = malformed(operation, a, "the answer ended too early")
	}
	if err != nil {
		e := callError(operation, err)
		e.Text = scrub(e.Text, secrets...)
		c.metrics.called(operation, e.Outcome)
		return a, Explain(e)
	}
	return a, nil
}

// Refused returns what an answer to Exchange says, without the secrets, and records its outcome.
func (c *Caller) Refused(operation string, a Answer, secrets ...crash.Secret) *CallError {
	e := c.failure(operation, a, secrets...)
	c.metrics.called(operation, e.Outcome)
	return e
}

// Outcome is the outcome of a call to the tracker.
type Outcome string

// Outcomes of calls.
const (
	OutcomeDone        Outcome = "done"
	OutcomeRefused     Outcome = "refused"     // the tracker refused, and says why
	OutcomeNotSent     Outcome = "not sent"    // no byte of the request was sent
	OutcomeBusy        Outcome = "busy"        // the tracker asks to call later
	OutcomeCredentials Outcome = "credentials" // the tracker refused the access token
	OutcomeUnknown     Outcome = "unknown"     // the request was sent, and no answer says what was done
)

// CallError is a call with another outcome than OutcomeDone. It never holds a secret.
type CallError struct {
	Operation  string
	Outcome    Outcome
	Status     int           // HTTP status; 0: no answer
	Text       string        // the message of the tracker or of the network error, cleaned
	Code       string        // the tracker's own code for a refusal; empty: none
	RequestID  string        // the tracker's id of the error
	RetryAfter time.Duration // as the tracker asks; 0: not given
	By         string        // title of the tracker; empty: the first one
	Err        error
}

func (e *CallError) Error() string {
	s := "tracker: " + e.Operation + ": " + string(e.Outcome)
	if e.Status != 0 {
		s += ", status " + strconv.Itoa(e.Status)
	}
	if e.Text != "" {
		s += ": " + e.Text
	}
	return s
}

func (e *CallError) Unwrap() error { return e.Err }

func callError(operation string, err error) *CallError {
	if e, ok := errors.AsType[*CallError](err); ok {
		return e
	}
	return &CallError{Operation: operation, Outcome: OutcomeUnknown, Text: Clean(err.Error(), maxWords), Err: err}
}

// AnswerStatus returns the HTTP status of the answer that caused err, or 0 if there was no answer.
func AnswerStatus(err error) int {
	if e, ok := errors.AsType[*CallError](err); ok {
		return e.Status
	}
	return 0
}

// maxAnswer bounds the size of an answer. A page of 50 bugs with long descriptions is smaller.
const maxAnswer = 16 << 20

// newHTTPClient returns a client that follows no redirects and sends no cookies. With a cookie, the
// tracker may read from a lagging standby. It uses HTTP/1.1 only, because Go never repeats a POST
// there.
func newHTTPClient() *http.Client {
	t := &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DisableCompression:     true,
		MaxIdleConnsPerHost:    4,
		IdleConnTimeout:        20 * time.Second,
		TLSHandshakeTimeout:    MaxSending,
		MaxResponseHeaderBytes: 64 << 10,
		Protocols:              new(http.Protocols),
	}
	t.Protocols.SetHTTP1(true)
	return &http.Client{
		Transport:     t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// newWriter returns a client for one changing request. It opens a new connection, which the tracker
// cannot have closed, and sends nothing after sendBy.
func newWriter(sendBy time.Duration) *http.Client {
	hc := newHTTPClient()
	if t, ok := hc.Transport.(*http.Transport); ok {
		until := time.Now().Add(sendBy)
		t.DisableKeepAlives = true
		t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &boundedConn{Conn: conn, until: until}, nil
		}
	}
	return hc
}

// boundedConn refuses to write after a deadline, on which other instances rely. It checks both the
// wall clock and the monotonic clock, so that the deadline holds across a suspend.
type boundedConn struct {
	net.Conn
	until time.Time
}

func (c *boundedConn) Write(p []byte) (int, error) {
	if now := time.Now(); now.After(c.until) || now.Round(0).After(c.until.Round(0)) {
		return 0, errSlowSending
	}
	return c.Conn.Write(p)
}

// Answer is what a tracker answered.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
	Broken error // the body is incomplete; Status and Header are valid
}

var errSlowSending = errors.New("connecting and sending took too long")

// exchange sends one request and reads the answer. It stops sending after sendBy, and waiting after
// Config.Timeout. The error is a *CallError that says whether anything was sent.
func (c *Caller) exchange(hc *http.Client, operation string, req *http.Request, sendBy time.Duration) (Answer, error) {
	started := c.cfg.Now()
	defer func() { c.metrics.took(operation, c.cfg.Now().Sub(started)) }()
	ctx, cancel := context.WithTimeout(req.Context(), c.cfg.Timeout)
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)

	var connected, written atomic.Bool
	slow := time.AfterFunc(sendBy, func() {
		if !written.Load() {
			stop(errSlowSending)
		}
	})
	defer slow.Stop()
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn:      func(httptrace.GotConnInfo) { connected.Store(true) },
		WroteRequest: func(httptrace.WroteRequestInfo) { written.Store(true) },
	})

	if wrap := c.cfg.Transport; wrap != nil {
		hc = &http.Client{Transport: wrap(hc.Transport), CheckRedirect: hc.CheckRedirect}
	}
	req = req.WithContext(ctx)
	req.Header.Set("User-Agent", "mishap/"+c.cfg.Version+" (+"+c.cfg.BaseURL+")")
	resp, err := hc.Do(req)
	if err != nil {
		outcome := OutcomeUnknown
		if !connected.Load() {
			outcome = OutcomeNotSent
		}
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // without the address, which holds the access token of some kinds
		}
		return Answer{}, &CallError{Operation: operation, Outcome: outcome, Text: networkWords(ctx, err), Err: err}
	}
	defer func() { _ = resp.Body.Close() }()
	a := Answer{Status: resp.StatusCode, Header: resp.Header}
	a.Body, a.Broken = io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if a.Broken == nil && len(a.Body) > maxAnswer {
		a.Body, a.Broken = a.Body[:maxAnswer], errors.New("the answer is too long")
	}
	return a, nil
}

// networkWords describes a network error without the address, which is configured, and without Go's
// terms.
func networkWords(ctx context.Context, err error) string {
	switch {
	case errors.Is(context.Cause(ctx), errSlowSending):
		return errSlowSending.Error()
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	case errors.Is(err, context.Canceled):
		return "stopped here before the answer came"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection was closed without an answer"
	}
	for { // the innermost error is the clearest: "connection refused"
		inner := errors.Unwrap(err)
		if inner == nil {
			return Clean(err.Error(), maxWords)
		}
		err = inner
	}
}

func failure(operation string, a Answer, secrets ...crash.Secret) *CallError {
	e := &CallError{
		Operation:  operation,
		Outcome:    classify(a),
		Status:     a.Status,
		Text:       wordsOf(a.Header.Get("Content-Type"), a.Body, secrets...),
		RequestID:  Clean(scrub(a.Header.Get("X-Lazr-OopsId"), secrets...), 100),
		RetryAfter: retryAfter(a.Header),
		Err:        a.Broken,
	}
	if e.Text == "" {
		e.Text = Clean(http.StatusText(a.Status), maxWords)
	}
	return e
}

// classify returns the outcome that an unexpected answer implies. Only a 4xx means that nothing was
// done. A front end may answer 5xx, or 408, although the work was done.
func classify(a Answer) Outcome {
	switch {
	case a.Status == http.StatusTooManyRequests:
		return OutcomeBusy
	case a.Status == http.StatusRequestTimeout:
		return OutcomeUnknown
	case a.Status >= 400 && a.Status < 500:
		return OutcomeRefused
	}
	return OutcomeUnknown
}

func retryAfter(h http.Header) time.Duration {
	n, err := strconv.Atoi(strings.TrimSpace(h.Get("Retry-After")))
	if err != nil || n < 0 {
		return 0
	}
	return min(time.Duration(n)*time.Second, time.Hour)
}

// Escape percent-encodes all bytes except the unreserved ones of RFC 3986.
func Escape(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// maxWords bounds stored texts of the tracker, since a refusal repeats the whole refused text.
const maxWords = 400

// Clean returns outside text as one line of at most limit characters. The line is valid UTF-8
// without control or direction-changing characters; "; " joins the original lines.
func Clean(s string, limit int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	var lines []string
	for line := range strings.SplitSeq(strings.ReplaceAll(s, "\r", "\n"), "\n") {
		if line = strings.Join(strings.Fields(strings.Map(printable, line)), " "); line != "" {
			lines = append(lines, line)
		}
	}
	return crash.Shorten(strings.Join(lines, "; "), limit)
}

func printable(r rune) rune {
	switch {
	case unicode.IsSpace(r):
		return ' '
	case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs):
		return -1
	}
	return r
}

var htmlTitle = regexp.MustCompile(`(?is)<title[^>]*>(.{0,200}?)</title>`)

// wordsOf returns the text of an answer, the message in a JSON object, or the title of an HTML page, without
// secrets.
func wordsOf(contentType string, body []byte, secrets ...crash.Secret) string {
	s := string(body)
	var fields map[string]any
	switch {
	case strings.Contains(contentType, "html") || strings.HasPrefix(strings.TrimSpace(s), "<"):
		s = ""
		if m := htmlTitle.FindSubmatch(body); m != nil {
			s = string(m[1])
		}
	case json.Unmarshal(body, &fields) == nil:
		s = cmp.Or(messageOf(fields["message"]), messageOf(fields["error_description"]), messageOf(fields["error"]), s)
	}
	return Clean(scrub(s, secrets...), maxWords)
}

// messageOf returns the text of a message in JSON: a string, a list, or texts by the name of a field.
func messageOf(v any) string {
	var parts []string
	switch v := v.(type) {
	case string:
		return v
	case []any:
		for _, e := range v {
			parts = append(parts, messageOf(e))
		}
		return strings.Join(parts, ", ")
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, name+": "+messageOf(v[name]))
		}
		return strings.Join(parts, "; ")
	}
	return ""
}

func scrub(s string, secrets ...crash.Secret) string {
	for _, secret := range secrets {
		if secret != "" {
			s = strings.ReplaceAll(s, string(secret), secret.String())
			s = strings.ReplaceAll(s, Escape(string(secret)), secret.String())
		}
	}
	return s
}
