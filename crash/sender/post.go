package sender

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
)

// Limits of requests.
const (
	requestTime   = 2 * time.Minute
	maxAnswer     = 64 << 10
	maxAnswerHead = 64 << 10
	maxRetryAfter = 24 * time.Hour
)

// ParseServer checks the address of a server, as in the configuration of whoopsie.
func ParseServer(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" ||
		u.Fragment != "" {
		return "", fmt.Errorf("expected the address where the server receives reports, such as "+
			`"https://crashes.example.org", got %q`, address)
	}
	return strings.TrimRight(u.String(), "/"), nil
}

// client posts reports as whoopsie does.
type client struct {
	server  string
	machine string
	agent   string
	http    *http.Client
	now     func() time.Time
}

func newClient(server string, machine crash.SystemID, agent string, now func() time.Time) client {
	return client{
		server: server, machine: string(machine), agent: agent, now: now,
		http: &http.Client{
			Timeout: requestTime,
			Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true,
				MaxResponseHeaderBytes: maxAnswerHead},
			// Who answers with a redirect is not the server that was agreed to.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// outcome is what a server made of a report.
type outcome struct {
	done   bool          // never send it again: it is stored, or refused for good
	refuse bool          // it is refused for good
	busy   bool          // the server takes no report at present
	after  time.Duration // the server asks for this pause
	text   string        // for the log
	core   string        // the server wants the core dump of the report with this number
}

// post sends a report. The report of an interrupted answer is sent again; the server stores it once.
func (c client) post(ctx context.Context, body []byte) outcome {
	to := c.server + "/" + url.PathEscape(c.machine)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return outcome{busy: true, text: err.Error()}
	}
	return c.do(c.http, req)
}

func (c client) do(with *http.Client, req *http.Request) outcome {
	if req.Header.Get("Content-Type") == "" {
		req.Header.Set("Content-Type", "application/octet-stream")
	}
	req.Header.Set("User-Agent", c.agent)
	res, err := with.Do(req)
	if err != nil {
		if inURL, ok := errors.AsType[*url.Error](err); ok { // without the machine's id
			err = inURL.Err
		}
		return outcome{busy: true, text: err.Error()}
	}
	defer res.Body.Close() //nolint:errcheck // nothing more is read
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	o := outcome{text: fmt.Sprintf("%s: %s", res.Status, crash.Shorten(strings.TrimSpace(string(answer)), 200)),
		after: c.retryAfter(res.Header.Get("Retry-After"))}
	switch {
	case err != nil:
		o.busy, o.text = true, "the answer is incomplete: "+err.Error()
	case res.StatusCode == http.StatusOK:
		o.done, o.core = true, wantsCore(string(answer))
	case res.StatusCode == http.StatusBadRequest:
		o.done, o.refuse = true, true
	case res.StatusCode == http.StatusTooManyRequests, res.StatusCode == http.StatusServiceUnavailable:
		o.busy = true
	case res.StatusCode/100 == 3:
		o.busy = true
		o.text = res.Status + "; redirects are not followed, so write the new address into the configuration"
	}
	return o
}

func (c client) retryAfter(header string) time.Duration {
	var pause time.Duration
	if seconds, err := strconv.ParseInt(header, 10, 32); err == nil {
		pause = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(header); err == nil {
		pause = at.Sub(c.now())
	}
	return min(max(pause, 0), maxRetryAfter)
}
