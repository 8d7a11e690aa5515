package tracker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"mishap/crash"
)

// Client makes single calls to the tracker. It never repeats a call. It is safe for concurrent use.
type Client struct {
	cfg     Config
	creds   *Credentials
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

// get reads one address of the API into v.
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
		return c.record(ctx, failure(operation, a, c.creds.secrets()...))
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

// signed sends a request with the current access token. It records its own errors; the caller
// records the outcome of an answer.
func (c *Client) signed(hc *http.Client, operation string, req *http.Request, sendBy time.Duration) (answer, error) {
	token, err := c.creds.Current(req.Context())
	if err != nil {
		return answer{}, err
	}
	if !c.cfg.sameOrigin(req.URL) {
		return answer{}, &CallError{
			Operation: operation, Outcome: OutcomeNotSent, Text: "the tracker named an address that is not its own",
		}
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Authorization", authorization(c.realm(), c.cfg.ConsumerKey, token, c.cfg.Now()))
	started := c.cfg.Now()
	a, err := c.exchange(hc, operation, req, sendBy)
	c.metrics.took(operation, c.cfg.Now().Sub(started))
	if err != nil {
		return a, c.record(req.Context(), callError(operation, err))
	}
	return a, nil
}

func (c *Client) realm() string {
	u, err := url.Parse(c.cfg.APIURL)
	if err != nil {
		return c.cfg.APIURL
	}
	return u.Scheme + "://" + u.Host + "/"
}

// record records a failed call in the metrics and the credentials.
func (c *Client) record(ctx context.Context, e *CallError) *CallError {
	c.metrics.called(e.Operation, e.Outcome)
	c.creds.failed(ctx, e)
	return e
}

// unusable records and returns the error for an answer that is well-formed but makes no sense.
func (c *Client) unusable(ctx context.Context, operation, words string) *CallError {
	return c.record(ctx, &CallError{Operation: operation, Outcome: OutcomeUnknown, Text: words})
}

// done records a successful call.
func (c *Client) done(ctx context.Context, operation string) {
	c.metrics.called(operation, OutcomeDone)
	c.creds.worked(ctx)
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
		return "", c.record(ctx, failure(operation, a, c.creds.secrets()...))
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
	c.creds.is(ctx, name)
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

// errPermission returns the error for a call that the access token or its account may not make.
func errPermission(e *CallError) *crash.Error {
	return crash.Errorf(crash.Refused, "tracker_refused", "The tracker refused: mishap lacks a permission (%s). "+
		"An admin can reconnect at /admin/tracker with a level that may change data.", e.Text).Because(e)
}

// sentence returns the error that a person sees for a failed call.
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
			return errPermission(e)
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
