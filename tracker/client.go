// Package tracker files bugs in the external tracker, which speaks Launchpad's protocol. [Client]
// makes single calls, signed with OAuth 1.0 PLAINTEXT. [Credentials] returns the access token.
// [Filer] turns a click on Create into exactly one bug, even if answers are lost or instances die.
// Package watch reads changes from the tracker.
//
// It contains neither pages nor SQL: [Store] stores everything that must last.
//
// The package treats every text of the tracker as hostile. It limits the length and removes control
// characters and our own secrets before it stores, logs or shows a text.
package tracker

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"mishap/crash"
)

// Client makes single calls to the tracker. It never repeats a call. It is safe for concurrent use.
type Client struct {
	cfg     Config
	creds   *Credentials // nil: the client reads public facts, without an access token
	reading *http.Client // reuses connections; newWriter returns clients for changes
	metrics *metrics
}

// NewClient returns a client that signs each call with the current token of creds.
func NewClient(cfg Config, creds *Credentials) *Client {
	cfg = cfg.WithDefaults()
	return &Client{
		cfg: cfg, creds: creds,
		reading: newHTTPClient(),
		metrics: newMetrics(cfg.Registerer),
	}
}

// HasToken reports whether there is an access token to sign with.
func (c *Client) HasToken(ctx context.Context) (bool, error) {
	_, err := c.creds.Current(ctx)
	if crash.KindOf(err) == crash.Unavailable {
		return false, nil
	}
	return err == nil, err
}

func (c *Client) get(ctx context.Context, operation, address string, v any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return fmt.Errorf("%s: %w", operation, err)
	}
	a, err := c.signed(c.reading, operation, req, maxSending)
	if err != nil {
		return err
	}
	if a.status != http.StatusOK || a.broken != nil {
		return c.failed(ctx, operation, a)
	}
	if err := json.Unmarshal(a.body, v); err != nil {
		return c.record(ctx, malformed(operation, a, "the answer is not the JSON that was expected"))
	}
	c.done(ctx, operation)
	return nil
}

// post sends one operation. encodeJSON has encoded its values.
func (c *Client) post(
	ctx context.Context, operation, address string, form url.Values, sendBy time.Duration,
) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		return answer{}, fmt.Errorf("%s: %w", operation, err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return c.signed(newWriter(sendBy), operation, req, sendBy)
}

// signed sends a request with the current access token, if the client has any. It records its own
// errors; the caller records the outcome of an answer.
func (c *Client) signed(hc *http.Client, operation string, req *http.Request, sendBy time.Duration) (answer, error) {
	if c.creds != nil {
		token, err := c.creds.Current(req.Context())
		if err != nil {
			return answer{}, err
		}
		req.Header.Set("Authorization", authorization(c.cfg.api(), c.cfg.ConsumerKey, token, c.cfg.Now()))
	}
	if !c.cfg.sameOrigin(req.URL) {
		return answer{}, &CallError{
			Operation: operation, Outcome: OutcomeNotSent, Text: "the tracker named an address that is not its own",
		}
	}
	req.Header.Set("Accept", "application/json")
	started := c.cfg.Now()
	a, err := c.exchange(hc, operation, req, sendBy)
	c.metrics.took(operation, c.cfg.Now().Sub(started))
	if err != nil {
		return a, c.record(req.Context(), callError(operation, err))
	}
	return a, nil
}

func (c *Client) record(ctx context.Context, e *CallError) *CallError {
	c.metrics.called(e.Operation, e.Outcome)
	if c.creds != nil {
		c.creds.failed(ctx, e)
	}
	return e
}

// failed records and returns the error for an answer that does not say what a call should bring about.
func (c *Client) failed(ctx context.Context, operation string, a answer) *CallError {
	var secrets []crash.Secret
	if c.creds != nil {
		secrets = c.creds.secrets()
	}
	return c.record(ctx, failure(operation, a, secrets...))
}

// changed records the outcome of a change, which the answer confirms with a status. Any other success
// gives an unknown outcome, described by unclear.
func (c *Client) changed(ctx context.Context, operation string, a answer, status int, unclear string) error {
	if a.status != status && a.status < 300 {
		return c.record(ctx, malformed(operation, a, unclear))
	}
	if a.status != status {
		return c.failed(ctx, operation, a)
	}
	c.done(ctx, operation)
	return nil
}

// unusable records and returns the error for an answer that is well-formed but makes no sense.
func (c *Client) unusable(ctx context.Context, operation, words string) *CallError {
	return c.record(ctx, &CallError{Operation: operation, Outcome: OutcomeUnknown, Text: words})
}

func (c *Client) done(ctx context.Context, operation string) {
	c.metrics.called(operation, OutcomeDone)
	if c.creds != nil {
		c.creds.worked(ctx, "")
	}
}

func malformed(operation string, a answer, words string) *CallError {
	return &CallError{Operation: operation, Outcome: OutcomeUnknown, Status: a.status, Text: words, Err: a.broken}
}

// Me returns the name of the account that the access token acts for. The error is a *CallError, or
// Unavailable with the code tracker_credentials if there is no token.
func (c *Client) Me(ctx context.Context) (string, error) {
	const operation = "me"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.cfg.link("/people/+me"), nil)
	if err != nil {
		return "", fmt.Errorf("%s: %w", operation, err)
	}
	a, err := c.signed(c.reading, operation, req, maxSending)
	if err != nil {
		return "", err
	}
	if a.status != http.StatusSeeOther {
		return "", c.failed(ctx, operation, a)
	}
	location, err := req.URL.Parse(a.header.Get("Location"))
	if err != nil || !c.cfg.sameOrigin(location) {
		return "", c.record(ctx, malformed(operation, a, "the answer leads away from the tracker"))
	}
	name, ok := strings.CutPrefix(path.Base(location.Path), "~")
	if !ok || Clean(name, 100) != name || name == "" {
		return "", c.record(ctx, malformed(operation, a, "the answer names no account"))
	}
	c.metrics.called(operation, OutcomeDone)
	c.creds.worked(ctx, name)
	return name, nil
}

// Check tries the access token and returns the name of its account. Its errors are sentences for
// people: Refused, or Unavailable with a code such as tracker_unreachable. The code is
// tracker_credentials if there is no token, or an invalid one.
func (c *Client) Check(ctx context.Context) (string, error) {
	name, err := c.Me(ctx)
	if e, ok := errors.AsType[*CallError](err); ok {
		return "", sentence(e)
	}
	return name, err
}

func sentence(e *CallError) *crash.Error {
	var out *crash.Error
	switch e.Outcome {
	case OutcomeCredentials:
		out = errCredentials("The tracker no longer accepts mishap's access token (" + e.Text + ").")
	case OutcomeNotSent:
		out = crash.Errorf(crash.Unavailable, "tracker_unreachable", "The tracker cannot be reached (%s).", e.Text)
		out.RetryAfter = defaultRetryAfter
	case OutcomeRefused:
		if e.Status == http.StatusUnauthorized {
			return crash.Errorf(crash.Refused, "tracker_refused", "The tracker refused: mishap lacks a permission (%s). "+
				"An admin can reconnect at /admin/tracker with a level that may change data.", e.Text).Because(e)
		}
		out = crash.Errorf(crash.Refused, "tracker_refused", "The tracker refused: %s", e.Text)
	case OutcomeBusy:
		out = crash.Errorf(crash.Unavailable, "tracker_busy", "The tracker is busy (%s).", e.Text)
		out.RetryAfter = max(e.RetryAfter, defaultRetryAfter)
	default:
		out = crash.Errorf(crash.Unavailable, "tracker_failed", "The tracker gave no usable answer (%s).", e.Text)
		out.RetryAfter = defaultRetryAfter
	}
	return out.Because(e)
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
	RequestID  string        // the tracker's id of the error
	RetryAfter time.Duration // as the tracker asks; 0: not given
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

const maxAnswer = 1 << 20

// newHTTPClient returns a client that follows no redirects and sends no cookies. With a cookie, the
// tracker may read from a lagging standby. It uses HTTP/1.1 only, because Go never repeats a POST
// there.
func newHTTPClient() *http.Client {
	t := &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DisableCompression:     true,
		MaxIdleConnsPerHost:    4,
		IdleConnTimeout:        20 * time.Second,
		TLSHandshakeTimeout:    maxSending,
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

type answer struct {
	status int
	header http.Header
	body   []byte
	broken error // the body is incomplete; status and header are valid
}

var errSlowSending = errors.New("connecting and sending took too long")

// exchange sends one request and reads the answer. It stops sending after sendBy, and waiting after
// Config.Timeout. The error is a *CallError that says whether anything was sent.
func (c *Client) exchange(hc *http.Client, operation string, req *http.Request, sendBy time.Duration) (answer, error) {
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
		return answer{}, &CallError{Operation: operation, Outcome: outcome, Text: networkWords(ctx, err), Err: err}
	}
	defer func() { _ = resp.Body.Close() }()
	a := answer{status: resp.StatusCode, header: resp.Header}
	a.body, a.broken = io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if a.broken == nil && len(a.body) > maxAnswer {
		a.body, a.broken = a.body[:maxAnswer], errors.New("the answer is too long")
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

func failure(operation string, a answer, secrets ...crash.Secret) *CallError {
	e := &CallError{
		Operation:  operation,
		Outcome:    classify(a),
		Status:     a.status,
		Text:       wordsOf(a.header.Get("Content-Type"), a.body, secrets...),
		RequestID:  Clean(scrub(a.header.Get("X-Lazr-OopsId"), secrets...), 100),
		RetryAfter: retryAfter(a.header),
		Err:        a.broken,
	}
	if e.Text == "" {
		e.Text = Clean(http.StatusText(a.status), maxWords)
	}
	return e
}

// classify returns the outcome that an unexpected answer implies. Only a 4xx means that nothing was
// done. A front end may answer 5xx, or 408, although the work was done.
func classify(a answer) Outcome {
	switch {
	case a.status == http.StatusUnauthorized && deadToken(a.body):
		return OutcomeCredentials
	case a.status == http.StatusTooManyRequests:
		return OutcomeBusy
	case a.status == http.StatusRequestTimeout:
		return OutcomeUnknown
	case a.status >= 400 && a.status < 500:
		return OutcomeRefused
	}
	return OutcomeUnknown
}

// deadTexts are the beginnings of Launchpad's answers to invalid credentials. A 401 with any other
// text means a missing permission.
var deadTexts = []string{
	"Unknown consumer (", "Unknown access token (", "Expired token (", "Unauthorized token (", "Invalid token",
	"Invalid signature.", "Inactive account.", "You need to be logged in to view this URL.",
}

func deadToken(body []byte) bool {
	s := strings.TrimSpace(string(body))
	return slices.ContainsFunc(deadTexts, func(text string) bool { return strings.HasPrefix(s, text) })
}

func retryAfter(h http.Header) time.Duration {
	n, err := strconv.Atoi(strings.TrimSpace(h.Get("Retry-After")))
	if err != nil || n < 0 {
		return 0
	}
	return min(time.Duration(n)*time.Second, time.Hour)
}

// createBug sends one bug, once, and returns its number. The error is a *CallError; with
// OutcomeUnknown the bug may have been filed, with any other outcome it was not. Without a token
// the error is Unavailable with the code tracker_credentials, and nothing was sent.
func (c *Client) createBug(ctx context.Context, in crash.Intent, sendBy time.Duration) (int64, error) {
	const operation = "create"
	form := url.Values{
		"ws.op":       {"createBug"},
		"title":       {encodeJSON(in.Title)},
		"description": {encodeJSON(in.Description)},
		"target":      {encodeJSON(c.cfg.link(in.Target))},
	}
	if len(in.Tags) > 0 {
		form.Set("tags", encodeList(in.Tags))
	}
	if in.InformationType != crash.InformationDefault {
		form.Set("information_type", string(in.InformationType)) // one of fixed words, not JSON
	}
	a, err := c.post(ctx, operation, c.cfg.link("/bugs"), form, sendBy)
	if err != nil {
		return 0, err
	}
	number, ok := c.bugNumber(a.header.Get("Location"))
	if a.status == http.StatusCreated && !ok {
		return 0, c.record(ctx, malformed(operation, a, "the answer does not say which bug was filed"))
	}
	err = c.changed(ctx, operation, a, http.StatusCreated, "the answer does not say whether a bug was filed")
	if err != nil {
		return 0, err
	}
	return number, nil
}

// encodeJSON encodes a parameter for the API. The tracker parses each parameter as JSON, and treats
// it as text only if that fails. So an unquoted 24.10 would become 24.1.
func encodeJSON(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // never fails for strings and lists of them
	return strings.TrimSuffix(b.String(), "\n")
}

// encodeList encodes a list of strings. The tracker parses each item of a list as JSON a second
// time. So encodeList encodes items that look like JSON twice; otherwise "24.10" would become 24.1.
func encodeList(items []string) string {
	out := make([]string, len(items))
	for i, item := range items {
		if out[i] = item; looksLikeJSON(item) {
			out[i] = encodeJSON(item)
		}
	}
	return encodeJSON(out)
}

// looksLikeJSON reports whether Python's parser, which the tracker uses, accepts s as JSON.
func looksLikeJSON(s string) bool {
	switch strings.TrimSpace(s) {
	case "NaN", "Infinity", "-Infinity":
		return true
	}
	return json.Valid([]byte(s))
}

// authorization returns the header that signs an API request. Each value is percent-encoded once,
// except for unreserved characters: "+" would mean a plus here. The signature is "&" and the
// secret, since consumers have no secret.
func authorization(api *url.URL, consumer string, token crash.AccessToken, now time.Time) string {
	nonce := make([]byte, 16)
	_, _ = rand.Read(nonce) // never fails
	return `OAuth realm="` + api.Scheme + `://` + api.Host + `/"` +
		`, oauth_consumer_key="` + escape(consumer) + `"` +
		`, oauth_token="` + escape(token.Token) + `"` +
		`, oauth_signature_method="PLAINTEXT"` +
		`, oauth_signature="` + escape("&"+string(token.Secret)) + `"` +
		`, oauth_timestamp="` + itoa(now.Unix()) + `"` +
		`, oauth_nonce="` + hex.EncodeToString(nonce) + `"` +
		`, oauth_version="1.0"`
}

// escape percent-encodes all bytes except the unreserved ones of RFC 3986.
func escape(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

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

// wordsOf returns the text of an answer, or the title of an HTML page, without secrets.
func wordsOf(contentType string, body []byte, secrets ...crash.Secret) string {
	s := string(body)
	if strings.Contains(contentType, "html") || strings.HasPrefix(strings.TrimSpace(s), "<") {
		s = ""
		if m := htmlTitle.FindSubmatch(body); m != nil {
			s = string(m[1])
		}
	}
	return Clean(scrub(s, secrets...), maxWords)
}

func scrub(s string, secrets ...crash.Secret) string {
	for _, secret := range secrets {
		if secret != "" {
			s = strings.ReplaceAll(s, string(secret), secret.String())
			s = strings.ReplaceAll(s, escape(string(secret)), secret.String())
		}
	}
	return s
}

const (
	maxTaskPages    = 5
	messagesAtOnce  = 25  // per answer, whose size is bounded
	lastMessages    = 100 // number of the last comments that may name a fix
	janitor         = "janitor"
	maxName         = 300
	maxFixes        = 20
	redactedValue   = "tag:launchpad.net:2008:redacted"
	informationText = 40
)

type page[T any] struct {
	Next    string `json:"next_collection_link"`
	Entries []T    `json:"entries"`
}

// collect reads at most limit pages of a collection. whole reports whether these are all.
func collect[T any](
	ctx context.Context, c *Client, operation, address string, limit int,
) (list []T, whole bool, err error) {
	for range limit {
		var p page[T]
		if err := c.get(ctx, operation, address, &p); err != nil {
			return nil, false, err
		}
		list = append(list, p.Entries...)
		if p.Next == "" {
			return list, true, nil
		}
		u, err := url.Parse(p.Next)
		if err != nil || !c.cfg.sameOrigin(u) {
			return nil, false, c.unusable(ctx, operation, "the next page is not on the tracker")
		}
		address = p.Next
	}
	return list, false, nil
}

type taskEntry struct {
	TargetLink string    `json:"target_link"`
	Name       string    `json:"bug_target_display_name"`
	Status     string    `json:"status"`
	Importance string    `json:"importance"`
	Assignee   string    `json:"assignee_link"`
	Milestone  string    `json:"milestone_link"`
	Complete   bool      `json:"is_complete"`
	Closed     time.Time `json:"date_closed"`
	Released   time.Time `json:"date_fix_released"`
}

type messageEntry struct {
	Owner   string `json:"owner_link"`
	Content string `json:"content"`
}

// ReadState reads the state of a bug: its tasks, and the versions that have the fix if there is
// one. A bug that our account may not see gives a reading with Hidden. All texts are cleaned and
// bounded. The errors are those of ReadBug.
func (c *Client) ReadState(ctx context.Context, number int64) (crash.BugReading, error) {
	bug, err := c.ReadBug(ctx, number)
	if missing(err) {
		return crash.BugReading{Number: number, Hidden: true}, nil
	}
	if err != nil {
		return crash.BugReading{}, err
	}
	r := crash.BugReading{
		Number: number, Title: Clean(bug.Title, maxName), Private: bug.Private,
		InformationType: Clean(bug.InformationType, informationText),
	}
	if bug.Private {
		r.Title = ""
	} else {
		r.Description = bug.Description
	}
	if master, ok := c.bugNumber(bug.DuplicateOf); ok && master != number {
		r.DuplicateOf = master
	}
	entries, _, err := collect[taskEntry](ctx, c, "tasks", c.cfg.link("/bugs/"+itoa(number)+"/bug_tasks"), maxTaskPages)
	if missing(err) {
		return crash.BugReading{Number: number, Hidden: true}, nil
	}
	if err != nil {
		return crash.BugReading{}, err
	}
	for _, e := range entries {
		r.Tasks = append(r.Tasks, c.task(e))
	}
	if slices.ContainsFunc(r.Tasks, func(t crash.BugTask) bool { return t.Status == crash.FixReleased }) {
		r.Fixes, err = c.fixes(ctx, number, bug.MessageCount)
	}
	return r, err
}

// AnswerStatus returns the HTTP status of the answer that caused err, or 0 if there was no answer.
func AnswerStatus(err error) int {
	if e, ok := errors.AsType[*CallError](err); ok {
		return e.Status
	}
	return 0
}

// missing reports whether the tracker answered that an entry does not exist, or not for our
// account.
func missing(err error) bool {
	return AnswerStatus(err) == http.StatusNotFound || AnswerStatus(err) == http.StatusGone
}

func (c *Client) task(e taskEntry) crash.BugTask {
	t := crash.BugTask{
		Target: Clean(c.path(e.TargetLink), maxName), Name: Clean(e.Name, maxName),
		Status: Clean(e.Status, informationText), Importance: Clean(e.Importance, informationText), Complete: e.Complete,
		Assignee: strings.TrimPrefix(c.name(e.Assignee), "~"), Milestone: c.name(e.Milestone),
	}
	if t.Complete {
		if t.Closed = e.Closed.UTC(); t.Closed.IsZero() {
			t.Closed = e.Released.UTC()
		}
	}
	return t
}

func (c *Client) name(link string) string {
	p := c.path(link)
	return Clean(p[strings.LastIndexByte(p, '/')+1:], 100)
}

// path returns the path of a link below the root of the API. It returns "" for any other link,
// including a hidden one.
func (c *Client) path(link string) string {
	u, err := url.Parse(link)
	if link == "" || link == redactedValue || err != nil || !c.cfg.sameOrigin(u) {
		return ""
	}
	return strings.TrimPrefix(u.Path, c.cfg.api().Path)
}

var (
	fixedIn = regexp.MustCompile(
		`^This bug was fixed in the package ([a-z0-9][a-z0-9+.-]+) - ([0-9A-Za-z.+:~-]{1,128})\s`)
	uploaded = regexp.MustCompile(`(?m)^\s*[a-z0-9][a-z0-9+.-]+ \([^()\s]+\) ([a-z]+)(-[a-z]+)*; urgency=`)
)

// fixes returns the versions named in messages of the tracker's own account, which closes a bug
// after an upload. It returns none for an invalid answer, because a reading is useful without
// fixes.
func (c *Client) fixes(ctx context.Context, number int64, count int) ([]crash.BugFix, error) {
	messages, err := c.messages(ctx, number, count)
	if AnswerStatus(err) == http.StatusOK || missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []crash.BugFix
	for _, m := range messages {
		if c.path(m.Owner) != "/~"+janitor {
			continue // any other account may write the same text
		}
		content := strings.ReplaceAll(m.Content, "\r\n", "\n") + "\n"
		fix := fixedIn.FindStringSubmatch(content)
		if fix == nil || len(out) >= maxFixes {
			continue
		}
		f := crash.BugFix{Package: fix[1], Version: fix[2]}
		if to := uploaded.FindStringSubmatch(content); to != nil {
			f.Series = to[1]
		}
		out = append(out, f)
	}
	return out, nil
}

func (c *Client) messages(ctx context.Context, number int64, count int) ([]messageEntry, error) {
	query := url.Values{"ws.size": {itoa(messagesAtOnce)}}
	if count > lastMessages {
		query.Set("ws.start", itoa(int64(count-lastMessages)))
	}
	address := c.cfg.link("/bugs/" + itoa(number) + "/messages?" + query.Encode())
	list, _, err := collect[messageEntry](ctx, c, "messages", address, lastMessages/messagesAtOnce+1)
	return list, err
}

// HasComment reports whether match returns true for one of the last messages of a bug, whoever wrote
// it. A bug that our account may not see has none. The errors are those of ReadBug.
func (c *Client) HasComment(ctx context.Context, number int64, match func(text string) bool) (bool, error) {
	bug, err := c.ReadBug(ctx, number)
	if missing(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	messages, err := c.messages(ctx, number, bug.MessageCount)
	if missing(err) {
		return false, nil
	}
	return slices.ContainsFunc(messages, func(m messageEntry) bool {
		return match(strings.ReplaceAll(m.Content, "\r\n", "\n"))
	}), err
}

// Changed lists the bugs that our account filed on the target and that have changed since a time,
// including closed bugs and duplicates.
func (c *Client) Changed(ctx context.Context, since time.Time) ([]int64, error) {
	me, err := c.Me(ctx)
	if err != nil {
		return nil, err
	}
	tasks, _, err := c.searchTasks(ctx, "changes", "/"+c.cfg.Target, maxPages, url.Values{
		"bug_reporter":   {encodeJSON(c.cfg.link("/~" + me))},
		"modified_since": {encodeJSON(since.UTC().Format(timeFormat))},
		"order_by":       {encodeJSON([]string{"id"})},
	})
	var numbers []int64
	for _, t := range tasks {
		if n, ok := c.bugNumber(t.Bug); ok && !slices.Contains(numbers, n) {
			numbers = append(numbers, n)
		}
	}
	return numbers, err
}

// Comment adds a message to a bug, and sends it once. The error is a *CallError; with
// OutcomeUnknown the message may have been added. Without a token the error is Unavailable with the
// code tracker_credentials, and nothing was sent.
func (c *Client) Comment(ctx context.Context, number int64, text string) error {
	const operation = "comment"
	form := url.Values{"ws.op": {"newMessage"}, "content": {encodeJSON(text)}}
	a, err := c.post(ctx, operation, c.cfg.link("/bugs/"+itoa(number)), form, maxSending)
	if err != nil {
		return err
	}
	return c.changed(ctx, operation, a, http.StatusCreated, "the answer does not say whether the message was added")
}
