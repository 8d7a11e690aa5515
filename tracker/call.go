package tracker

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"mishap/crash"
)

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

// callError returns the CallError in err, or a new one with an unknown outcome.
func callError(operation string, err error) *CallError {
	if e, ok := errors.AsType[*CallError](err); ok {
		return e
	}
	return &CallError{Operation: operation, Outcome: OutcomeUnknown, Text: Clean(err.Error(), maxWords), Err: err}
}

// maxAnswer bounds every answer, in bytes.
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

// answer is an answer of the tracker.
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
	req.Header.Set("User-Agent", c.cfg.userAgent())
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

// failure returns the CallError for an unexpected answer.
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
	for _, text := range deadTexts {
		if strings.HasPrefix(s, text) {
			return true
		}
	}
	return false
}

// retryAfter returns the duration of a Retry-After header, at most an hour.
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
	if a.status != http.StatusCreated {
		e := failure(operation, a, c.creds.secrets()...)
		if a.status < 300 {
			e.Outcome, e.Text = OutcomeUnknown, "the answer does not say whether a bug was filed"
		}
		return 0, c.record(ctx, e)
	}
	number, ok := c.bugNumber(a.header.Get("Location"))
	if !ok {
		return 0, c.record(ctx, malformed(operation, a, "the answer does not say which bug was filed"))
	}
	c.done(ctx, operation)
	return number, nil
}
