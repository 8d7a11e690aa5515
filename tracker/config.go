package tracker

import (
	"cmp"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"mishap/crash"
	"mishap/crash/privacy"
	"mishap/crash/span"
)

// Config says which tracker to use, and with which time-outs.
type Config struct {
	URL         string            // OAuth endpoints and pages for people, "https://launchpad.net"
	APIURL      string            // REST API root with its version, "https://api.launchpad.net/devel"
	ConsumerKey string            // name of the application for the tracker; may hold blanks
	Target      string            // distribution that bugs are filed under, "ubuntu"
	BaseURL     string            // address of mishap, for links in bugs
	Version     string            // of mishap, for the User-Agent
	Token       crash.AccessToken // configured for this instance; zero: none

	Timeout time.Duration // for one answer; 0: 75 s, since Launchpad may work for 65 s
	Settle  time.Duration // pause between an unknown outcome and the search for it; 0: 75 s
	Backoff time.Duration // first pause after a filing could not be sent, doubled each time; 0: 5 s
	Pause   time.Duration // shortest pause between two bugs of the queue; 0: 250 ms

	// Transport wraps the transport of every request, unless it is nil. With it, tests cancel
	// requests that the practice tracker never answers, so that Timeout can be long.
	Transport func(http.RoundTripper) http.RoundTripper

	Tracer *span.Tracer // records steps of filings; nil: none

	Privacy *privacy.Table // which fields bugs may quote; nil: the built-in table

	Log        *slog.Logger
	Now        func() time.Time
	Registerer prometheus.Registerer // nil: no metrics
}

const (
	defaultTimeout = 75 * time.Second
	defaultSettle  = 75 * time.Second
	defaultBackoff = 5 * time.Second
	defaultPause   = 250 * time.Millisecond

	// maxSending limits the time for connecting and writing a request, from before the claim of the
	// filing. After that, the request was sent completely or never will be, so other instances know
	// when to search.
	maxSending = 10 * time.Second
)

// WithDefaults returns c with a value for every setting that may be left out.
func (c Config) WithDefaults() Config {
	c.URL = strings.TrimRight(c.URL, "/")
	c.APIURL = strings.TrimRight(c.APIURL, "/")
	c.BaseURL = strings.TrimRight(c.BaseURL, "/")
	c.Target = strings.Trim(c.Target, "/")
	c.Timeout = cmp.Or(c.Timeout, defaultTimeout)
	c.Settle = cmp.Or(c.Settle, defaultSettle)
	c.Backoff = cmp.Or(c.Backoff, defaultBackoff)
	c.Pause = cmp.Or(c.Pause, defaultPause)
	c.Version = cmp.Or(c.Version, "unknown")
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// userAgent returns the User-Agent header. It is distinctive, because the tracker may refuse common
// ones.
func (c Config) userAgent() string {
	return "mishap/" + c.Version + " (+" + c.BaseURL + ")"
}

// Key identifies the tracker and the application in the database.
func (c Config) Key() crash.TrackerKey {
	return crash.TrackerKey{URL: c.URL, ConsumerKey: c.ConsumerKey}
}

// link returns the absolute link of a path below the root of the API.
func (c Config) link(path string) string { return c.APIURL + path }

// bugURL returns the address of the page of a bug.
func (c Config) bugURL(number int64) string { return c.URL + "/bugs/" + itoa(number) }

// sameOrigin reports whether u has the scheme, host and port of the API. The client never follows
// other links.
func (c Config) sameOrigin(u *url.URL) bool {
	api, err := url.Parse(c.APIURL)
	return err == nil && u.User == nil &&
		strings.EqualFold(u.Scheme, api.Scheme) && strings.EqualFold(hostPort(u), hostPort(api))
}

func hostPort(u *url.URL) string {
	port := u.Port()
	switch {
	case port != "":
	case strings.EqualFold(u.Scheme, "https"):
		port = "443"
	default:
		port = "80"
	}
	return u.Hostname() + ":" + port
}
