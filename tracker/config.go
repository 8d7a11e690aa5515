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
)

// Config says which tracker is used and how patiently.
type Config struct {
	URL         string            // OAuth endpoints and pages for people, "https://launchpad.net"
	APIURL      string            // REST API root with its version, "https://api.launchpad.net/devel"
	ConsumerKey string            // the application's name towards the tracker; may hold blanks
	Target      string            // distribution that bugs are filed under, "ubuntu"
	BaseURL     string            // our own address, for the links in bugs
	Version     string            // of mishap, for the User-Agent
	Token       crash.AccessToken // from this unit's configuration; zero: none

	Timeout time.Duration // longest wait for one answer; 0: 75 s. Launchpad may work for 65 s
	Settle  time.Duration // how long after an unknown outcome the tracker is searched; 0: 75 s
	Backoff time.Duration // first wait after a filing could not be sent, doubled each time; 0: 5 s
	Rest    time.Duration // shortest pause between two bugs while some stand in line; 0: 250 ms

	// Transport wraps the transport of every request; nil: none. Tests let requests that the practice tracker never
	// answers time out at once, so that the time-out of all others can be long.
	Transport func(http.RoundTripper) http.RoundTripper

	Log        *slog.Logger
	Now        func() time.Time
	Registerer prometheus.Registerer // nil: no metrics
}

const (
	defaultTimeout = 75 * time.Second
	defaultSettle  = 75 * time.Second
	defaultBackoff = 5 * time.Second
	defaultRest    = 250 * time.Millisecond

	// maxSending bounds connecting and writing a request, counted from before the filing is claimed. After that the
	// request either has left completely or never will, which is what lets another unit reckon when to search.
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
	c.Rest = cmp.Or(c.Rest, defaultRest)
	c.Version = cmp.Or(c.Version, "unknown")
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// userAgent is distinctive, since the tracker's front end may turn away agents it does not know.
func (c Config) userAgent() string {
	return "mishap/" + c.Version + " (+" + c.BaseURL + ")"
}

// key says whose credentials these are.
func (c Config) key() crash.TrackerKey {
	return crash.TrackerKey{URL: c.URL, ConsumerKey: c.ConsumerKey}
}

// link makes the absolute link of a path below the API root, the form in which the API takes references to things.
func (c Config) link(path string) string { return c.APIURL + path }

// bugURL is the page of a bug for people.
func (c Config) bugURL(number int64) string { return c.URL + "/bugs/" + itoa(number) }

// sameOrigin reports whether u is on the API's scheme, host and port; other links are never followed.
func (c Config) sameOrigin(u *url.URL) bool {
	api, err := url.Parse(c.APIURL)
	return err == nil && u.User == nil && strings.EqualFold(u.Scheme, api.Scheme) && strings.EqualFold(hostPort(u), hostPort(api))
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
