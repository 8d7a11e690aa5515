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

// Outcome is what a call to the tracker came to.
type Outcome string

// The outcomes.
const (
	OutcomeDone        Outcome = "done"
	OutcomeRefused     Outcome = "refused"     // a definite no, in words
	OutcomeNotSent     Outcome = "not sent"    // nothing of the request left this machine
	OutcomeBusy        Outcome = "busy"        // a definite "later"
	OutcomeCredentials Outcome = "credentials" // the access token is no longer good
	OutcomeUnknown     Outcome = "unknown"     // it was sent, and what became of it cannot be told from the answer
)

// CallError is a call that did not come to OutcomeDone. It never holds a secret.
type CallError struct {
	Operation  string
	Outcome    Outcome
	Status     int           // HTTP status; 0: no answer
	Words      string        // the tracker's, or what the network said; one clean line
	RequestID  string        // the tracker's id of the failure
	RetryAfter time.Duration // as the tracker asked; 0: it did not
	Err        error
}

func (e *CallError) Error() string {
	s := "tracker: " + e.Operation + ": " + string(e.Outcome)
	if e.Status != 0 {
		s += ", status " + strconv.Itoa(e.Status)
	}
	if e.Words != "" {
		s += ": " + e.Words
	}
	return s
}

func (e *CallError) Unwrap() error { return e.Err }

// callError finds the CallError in err; for any other error it makes one of unknown outcome.
func callError(operation string, err error) *CallError {
	if e, ok := errors.AsType[*CallError](err); ok {
		return e
	}
	return &CallError{Operation: operation, Outcome: OutcomeUnknown, Words: Clean(err.Error(), maxWords), Err: err}
}

// maxAnswer bounds every answer that is read, in bytes.
const maxAnswer = 1 << 20

// newHTTPClient makes a client. Redirects are answers like any other, there are no cookies (with one, reads may come from a
// lagging standby), and it is HTTP/1.1 only, where a POST is never sent twice by itself.
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

// newWriter makes a client for one request that changes something: on a fresh connection, so that it is not found closed
// halfway through, over which nothing leaves any more once the time for sending is over.
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

// boundedConn refuses to write after a moment. Others reckon with that moment, so it holds even when this process was
// stopped or its machine slept in between: it is compared by the clock on the wall as well as by the steady one.
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

// answer is what came back, bounded.
type answer struct {
	status int
	header http.Header
	body   []byte
	broken error // the body ended early; status and header are good
}

var errSlowSending = errors.New("connecting and sending took too long")

// exchange sends one request and reads the answer. It gives up sending after sendBy, and altogether after the whole
// time-out. The error is a *CallError that says whether anything was sent.
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
		return answer{}, &CallError{Operation: operation, Outcome: outcome, Words: networkWords(ctx, err), Err: err}
	}
	defer func() { _ = resp.Body.Close() }()
	a := answer{status: resp.StatusCode, header: resp.Header}
	a.body, a.broken = io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if a.broken == nil && len(a.body) > maxAnswer {
		a.body, a.broken = a.body[:maxAnswer], errors.New("the answer is too long")
	}
	return a, nil
}

// networkWords says what went wrong on the way, without the address (which is configured) and without Go's own terms.
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
	for { // the innermost words say it best: "connection refused"
		inner := errors.Unwrap(err)
		if inner == nil {
			return Clean(err.Error(), maxWords)
		}
		err = inner
	}
}

// failure turns an answer that is not what was wanted into a CallError.
func failure(operation string, a answer, secrets ...crash.Secret) *CallError {
	e := &CallError{
		Operation:  operation,
		Outcome:    verdict(a),
		Status:     a.status,
		Words:      wordsOf(a.header.Get("Content-Type"), a.body, secrets...),
		RequestID:  Clean(scrub(a.header.Get("X-Lazr-OopsId"), secrets...), 100),
		RetryAfter: retryAfter(a.header),
		Err:        a.broken,
	}
	if e.Words == "" {
		e.Words = Clean(http.StatusText(a.status), maxWords)
	}
	return e
}

// verdict says what an unwanted answer means for the work that was asked for. Only a 4xx is a definite "not done"; a 5xx
// may have been made by a front end after the work was done, and a 408 by one that lost patience.
func verdict(a answer) Outcome {
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

// deadTexts are the ways in which Launchpad says that the credentials are no longer good. A 401 with any other text is a
// missing permission.
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

// retryAfter reads the seconds of a Retry-After header, within reason.
func retryAfter(h http.Header) time.Duration {
	n, err := strconv.Atoi(strings.TrimSpace(h.Get("Retry-After")))
	if err != nil || n < 0 {
		return 0
	}
	return min(time.Duration(n)*time.Second, time.Hour)
}

// createBug sends one bug and returns its number. It never sends anything twice. The errors are a *CallError: of
// OutcomeUnknown when the bug may have been filed all the same, and of the others when it certainly was not; or
// Unavailable with the code tracker_credentials when there is no token, and nothing was sent.
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
		form.Set("information_type", string(in.InformationType)) // a fixed vocabulary: as it stands
	}
	a, err := c.post(ctx, operation, c.cfg.link("/bugs"), form, sendBy)
	if err != nil {
		return 0, err
	}
	if a.status != http.StatusCreated {
		e := failure(operation, a, c.creds.secrets()...)
		if a.status < 300 {
			e.Outcome, e.Words = OutcomeUnknown, "the answer does not say whether a bug was filed"
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
