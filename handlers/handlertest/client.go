package handlertest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"golang.org/x/net/html"
)

// Client is a browser without a display: it stores cookies, sends the headers that a browser sends,
// and does not follow redirects by itself. It is not safe for concurrent use.
type Client struct {
	URL string // address of the site
	t   testing.TB
	jar *cookiejar.Jar
}

// NewClient returns a client without cookies for the site at address.
func NewClient(t testing.TB, address string) *Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatalf("cookie jar: %v", err)
	}
	return &Client{URL: address, t: t, jar: jar}
}

// Cookie returns the value of a cookie of the client, or an empty string.
func (c *Client) Cookie(name string) string {
	u, err := url.Parse(c.URL)
	if err != nil {
		c.t.Fatalf("site address: %v", err)
	}
	for _, k := range c.jar.Cookies(u) {
		if k.Name == name {
			return k.Value
		}
	}
	return ""
}

// SetCookie sets a cookie of the client.
func (c *Client) SetCookie(name, value string) {
	u, err := url.Parse(c.URL)
	if err != nil {
		c.t.Fatalf("site address: %v", err)
	}
	c.jar.SetCookies(u, []*http.Cookie{{Name: name, Value: value, Path: "/"}})
}

// Header is one header of a request; an empty value removes the header.
type Header struct{ Name, Value string }

// AsPart makes a request one of htmx for a part of a page.
var AsPart = []Header{{"HX-Request", "true"}, {"HX-Request-Type", "partial"}, {"Accept", "text/html"}}

// Get requests a page.
func (c *Client) Get(path string, headers ...Header) *Answer {
	c.t.Helper()
	return c.Do(c.request(http.MethodGet, path, nil, headers))
}

// Part requests a part of a page, as htmx does.
func (c *Client) Part(path string) *Answer {
	c.t.Helper()
	return c.Get(path, AsPart...)
}

// PartFor requests the part of a page that replaces one element, named as htmx names its target:
// "section#facets".
func (c *Client) PartFor(path, target string) *Answer {
	c.t.Helper()
	return c.Get(path, append(slices.Clone(AsPart), Header{"HX-Target", target})...)
}

// Post sends a form as a browser does: with the CSRF token of its cookie in a field. It first
// requests the cookie if there is none.
func (c *Client) Post(path string, form url.Values, headers ...Header) *Answer {
	c.t.Helper()
	values := url.Values{"csrf_token": {c.token()}}
	for name, v := range form {
		values[name] = v
	}
	headers = append([]Header{{"Content-Type", "application/x-www-form-urlencoded"}, {"Origin", c.URL}}, headers...)
	return c.Do(c.request(http.MethodPost, path, strings.NewReader(values.Encode()), headers))
}

// PostJSON sends v as JSON with the token in X-CSRFToken, as scripts do.
func (c *Client) PostJSON(path string, v any, headers ...Header) *Answer {
	c.t.Helper()
	body, err := json.Marshal(v)
	if err != nil {
		c.t.Fatalf("encode: %v", err)
	}
	headers = append([]Header{
		{"Content-Type", "application/json"}, {"Referer", c.URL + "/"}, {"X-CSRFToken", c.token()}, {"Accept", "*/*"},
	}, headers...)
	return c.Do(c.request(http.MethodPost, path, bytes.NewReader(body), headers))
}

// token returns the raw value of the CSRF cookie.
func (c *Client) token() string {
	c.t.Helper()
	if c.Cookie("csrftoken") == "" {
		c.Get("/login")
	}
	return c.Cookie("csrftoken")
}

func (c *Client) request(method, path string, body io.Reader, headers []Header) *http.Request {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.URL+path, body)
	if err != nil {
		c.t.Fatalf("request: %v", err)
	}
	req.Header.Set("Accept", "text/html,application/xhtml+xml")
	for _, h := range headers {
		if h.Value == "" {
			req.Header.Del(h.Name)
		} else {
			req.Header.Set(h.Name, h.Value)
		}
	}
	return req
}

// transport is shared by all clients. It does not ask for compressed answers, because compressing
// and decompressing takes a third of the processor time of an average page under the race detector.
// Tests of compression send Accept-Encoding.
var transport = func() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DisableCompression = true
	return t
}()

// Do sends a request with the client's cookies.
func (c *Client) Do(req *http.Request) *Answer {
	c.t.Helper()
	a, err := c.Try(req)
	if err != nil {
		c.t.Fatalf("%s %s: %v", req.Method, req.URL.Path, err)
	}
	return a
}

// Try is Do for a server that may not answer.
func (c *Client) Try(req *http.Request) (*Answer, error) {
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	hc := &http.Client{Jar: c.jar, CheckRedirect: stay, Transport: transport}
	res, err := hc.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	return &Answer{Status: res.StatusCode, Header: res.Header, Body: string(body),
		what: req.Method + " " + req.URL.RequestURI(), t: c.t}, err
}

// Answer is the answer to a request.
type Answer struct {
	Status int
	Header http.Header
	Body   string
	what   string
	t      testing.TB
	doc    *goquery.Document // Body, once it has been parsed
}

// Want fails the test unless the answer has this status.
func (a *Answer) Want(status int) *Answer {
	a.t.Helper()
	if a.Status != status {
		a.t.Fatalf("%s: got status %d, want %d\n%s", a.what, a.Status, status, a.Body)
	}
	return a
}

// WantRedirect fails the test unless the answer redirects to this path.
func (a *Answer) WantRedirect(status int, path string) *Answer {
	a.t.Helper()
	a.Want(status)
	if got := a.Header.Get("Location"); got != path {
		a.t.Fatalf("%s: got redirect to %q, want %q", a.what, got, path)
	}
	return a
}

// WantText fails the test unless the text of the matching elements contains want.
func (a *Answer) WantText(selector, want string) *Answer {
	a.t.Helper()
	if got := a.Text(selector); !strings.Contains(got, want) {
		a.t.Errorf("%s: got %q in %q, want %q", a.what, got, selector, want)
	}
	return a
}

// WantNone fails the test if an element matches.
func (a *Answer) WantNone(selector string) *Answer {
	a.t.Helper()
	if n := a.HTML().Find(selector).Length(); n > 0 {
		a.t.Errorf("%s: got %d elements %q, want none\n%s", a.what, n, selector, a.Body)
	}
	return a
}

// Text returns the text of the matching elements, with single spaces between its pieces, as cells
// of a table are read.
func (a *Answer) Text(selector string) string {
	a.t.Helper()
	var pieces []string
	for _, node := range a.HTML().Find(selector).Nodes {
		for n := range node.Descendants() {
			if n.Type == html.TextNode {
				pieces = append(pieces, strings.Fields(n.Data)...)
			}
		}
	}
	return strings.Join(pieces, " ")
}

// Attr returns an attribute of the first matching element. There must be one.
func (a *Answer) Attr(selector, name string) string {
	a.t.Helper()
	value, ok := a.HTML().Find(selector).First().Attr(name)
	if !ok {
		a.t.Fatalf("%s: no %q with attribute %q in\n%s", a.what, selector, name, a.Body)
	}
	return value
}

// HTML parses the answer. Callers do not change the document.
func (a *Answer) HTML() *goquery.Document {
	a.t.Helper()
	if a.doc == nil {
		var err error
		if a.doc, err = goquery.NewDocumentFromReader(strings.NewReader(a.Body)); err != nil {
			a.t.Fatalf("%s: parse: %v", a.what, err)
		}
	}
	return a.doc
}

// JSON decodes the answer into v.
func (a *Answer) JSON(v any) {
	a.t.Helper()
	if err := json.Unmarshal([]byte(a.Body), v); err != nil {
		a.t.Fatalf("%s: got %q, want JSON: %v", a.what, a.Body, err)
	}
}
