// Package webhook sends events to other programs: as Standard Webhooks, and as messages to Slack,
// Mattermost and Matrix. [Client] makes one request, [Judge] decides what follows from the answer, and
// [Worker] works through stored deliveries. Package db/events stores them.
package webhook

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
)

const (
	defaultTimeout = 20 * time.Second
	bodyTimeout    = 3 * time.Second // for the body of an answer whose status is known
	maxAnswer      = 2 << 10         // bytes of an answer that are read
	maxHeader      = 64 << 10
)

// Config configures a Client.
type Config struct {
	Allow   Networks // private networks to which it may send
	BaseURL string   // own address, for links
	Version string   // of the program
	Now     func() time.Time
	Timeout time.Duration // for a request, from the look-up of the name to the status; 0: 20 s

	// Transport wraps the transport of every request, unless it is nil.
	Transport func(http.RoundTripper) http.RoundTripper
}

// Client sends requests to endpoints. It ignores the proxies of the environment, does not follow
// redirects, and refuses addresses that are not public. It is safe for concurrent use.
type Client struct {
	config Config
	http   *http.Client
}

// NewClient returns a Client.
func NewClient(c Config) *Client {
	c.Timeout = cmp.Or(c.Timeout, defaultTimeout)
	dialer := &net.Dialer{Control: c.Allow.control}
	var transport http.RoundTripper = &http.Transport{
		Proxy:                  nil, // a proxy would connect to addresses that the dialer refuses
		DialContext:            dialer.DialContext,
		DisableKeepAlives:      true, // each request checks its address
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxHeader,
	}
	if c.Transport != nil {
		transport = c.Transport(transport)
	}
	return &Client{config: c, http: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Reply is the answer to a request.
type Reply struct {
	Status     int    // 0: there was no answer
	Answer     string // its beginning, as text
	Problem    string // why the request failed, as a sentence; empty: it succeeded
	RetryAfter time.Duration
	Took       time.Duration
}

// Send sends a message to an endpoint once. id and payload are those of the delivery, and resent is
// how often a person has sent it again.
func (c *Client) Send(ctx context.Context, to crash.Endpoint, id crash.DeliveryID, resent int, payload string) Reply {
	began := time.Now()
	reply := c.send(ctx, to, id, resent, payload)
	reply.Took = time.Since(began)
	return reply
}

// Test sends a test to an endpoint once.
func (c *Client) Test(ctx context.Context, to crash.Endpoint, person string) Reply {
	id := crash.DeliveryID("test-" + strings.ToLower(rand.Text()))
	return c.Send(ctx, to, id, 0, c.testPayload(to, person))
}

func (c *Client) send(ctx context.Context, to crash.Endpoint, id crash.DeliveryID, resent int, payload string) Reply {
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	req, err := c.request(ctx, to, id, resent, payload)
	if err != nil {
		return Reply{Problem: crash.Truncate(err.Error(), 500)}
	}
	req.Header.Set("User-Agent", "mishap/"+c.config.Version)
	res, err := c.http.Do(req)
	if err != nil {
		return Reply{Problem: c.sendProblem(err)}
	}
	defer func() { _ = res.Body.Close() }()
	slow := time.AfterFunc(bodyTimeout, cancel)
	defer slow.Stop()
	answer, _ := io.ReadAll(io.LimitReader(res.Body, maxAnswer)) // the status decides
	reply := Reply{Status: res.StatusCode, Answer: plain(string(answer), maxAnswer)}
	switch res.StatusCode / 100 {
	case 2:
		return reply
	case 3:
		reply.Problem = "It redirects, and mishap does not follow redirects. Enter the address to which it redirects."
	default:
		reply.Problem = "It answered " + strings.TrimSpace(strconv.Itoa(res.StatusCode)+" "+
			http.StatusText(res.StatusCode)) + "."
	}
	reply.RetryAfter = c.retryAfter(res.Header.Get("Retry-After"), answer)
	return reply
}

// sendProblem returns a sentence about why there was no answer. It does not contain the address, which
// may contain a secret.
func (c *Client) sendProblem(err error) string {
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		return refused.Error()
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "Its certificate was signed by an authority that this machine does not know."
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return "Its name " + dns.Name + " cannot be resolved: " + dns.Err + "."
	}
	if failed, ok := errors.AsType[*url.Error](err); ok {
		if failed.Timeout() {
			return fmt.Sprintf("There was no answer within %v seconds.", c.config.Timeout.Seconds())
		}
		err = failed.Err
	}
	switch {
	case errors.Is(err, context.Canceled):
		return "mishap was stopped during the request."
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "It closed the connection without an answer."
	}
	return "There was no valid answer: " + plain(err.Error(), 300)
}

// plain returns text without invalid, control and hidden characters, cut to a number of bytes.
func plain(text string, limit int) string {
	text = strings.ToValidUTF8(text, "�")
	text = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f {
			return -1
		}
		return r
	}, crash.WithoutHidden(text))
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:limit], "")
	}
	return text
}
