package handlers_test

import (
	"bytes"
	"encoding/base64"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/handlers/handlertest"
)

// csrfCase is a request that would change something. Its address does not exist: 404 means that the
// guard accepted it, 401 that the guard refused it.
type csrfCase struct {
	name    string
	method  string            // POST if empty
	headers map[string]string // "TOKEN" is replaced by the cookie's value, "MASKED" by the token of a page
	form    url.Values
	part    bool // whether the form is multipart
	cookie  string
	rawBody string
}

const (
	formType = "application/x-www-form-urlencoded"
	jsonType = "application/json"
)

var csrfPassing = []csrfCase{
	{name: "raw token in X-CSRFToken, own Referer", headers: map[string]string{"X-CSRFToken": "TOKEN",
		"Referer": "BASE/problem/1", "Content-Type": jsonType}},
	{name: "masked token in X-CSRFToken, own Origin", headers: map[string]string{"X-CSRFToken": "MASKED", "Origin": "BASE",
		"Content-Type": jsonType}},
	{name: "raw token in X-CSRF-Token", headers: map[string]string{"X-CSRF-Token": "TOKEN", "Origin": "BASE"}},
	{name: "masked token in X-CSRF-Token", headers: map[string]string{"X-CSRF-Token": "MASKED", "Origin": "BASE"}},
	{name: "raw form field", headers: map[string]string{"Origin": "BASE"}, form: url.Values{"csrf_token": {"TOKEN"}}},
	{name: "masked form field", headers: map[string]string{"Origin": "BASE"}, form: url.Values{"csrf_token": {"MASKED"}}},
	{name: "form field with plus signs not escaped", headers: map[string]string{"Origin": "BASE",
		"Content-Type": formType}, rawBody: "csrf_token=TOKEN"},
	{name: "multipart form", headers: map[string]string{"Origin": "BASE"}, form: url.Values{"csrf_token": {"MASKED"}},
		part: true},
	{name: "form with Sec-Fetch-Site only", headers: map[string]string{"Sec-Fetch-Site": "same-origin"},
		form: url.Values{"csrf_token": {"MASKED"}}},
	{name: "form with Referer only", headers: map[string]string{"Referer": "BASE/"},
		form: url.Values{"csrf_token": {"MASKED"}}},
	{name: "script without Origin, Referer and Sec-Fetch-Site", headers: map[string]string{"X-CSRFToken": "TOKEN",
		"Content-Type": jsonType}},
	{name: "all three headers of a browser", headers: map[string]string{"X-CSRFToken": "MASKED", "Origin": "BASE",
		"Referer": "BASE/", "Sec-Fetch-Site": "same-origin"}},
	{name: "PUT", method: http.MethodPut, headers: map[string]string{"X-CSRFToken": "TOKEN", "Origin": "BASE"}},
	{name: "DELETE", method: http.MethodDelete, headers: map[string]string{"X-CSRFToken": "TOKEN", "Origin": "BASE"}},
	{name: "GET needs nothing", method: http.MethodGet, headers: map[string]string{"Origin": "https://evil.example"}},
}

var csrfRefused = []csrfCase{
	{name: "no token", headers: map[string]string{"Origin": "BASE"}, form: url.Values{"x": {"y"}}},
	{name: "another token",
		headers: map[string]string{"X-CSRFToken": base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("x"), 32)),
			"Origin": "BASE"}},
	{name: "token of zeros", headers: map[string]string{"X-CSRFToken": base64.StdEncoding.EncodeToString(make([]byte, 32)),
		"Origin": "BASE"}},
	{name: "masked token of zeros",
		headers: map[string]string{"X-CSRFToken": base64.StdEncoding.EncodeToString(make([]byte, 64)), "Origin": "BASE"}},
	{name: "rubbish token", headers: map[string]string{"X-CSRFToken": "%%%", "Origin": "BASE"}},
	{name: "wrong header token beside a right field", headers: map[string]string{"X-CSRFToken": "AAAA", "Origin": "BASE"},
		form: url.Values{"csrf_token": {"TOKEN"}}},
	{name: "empty cookie", cookie: "none", headers: map[string]string{"X-CSRFToken": "TOKEN", "Origin": "BASE"}},
	{name: "cookie and token both empty", cookie: "none", headers: map[string]string{"Origin": "BASE"},
		form: url.Values{"csrf_token": {""}}},
	{name: "cookie of the old site", cookie: "hV3BmZHLrWpXcYf9aDq2sT8uNgJ5kE7R",
		headers: map[string]string{"X-CSRFToken": "hV3BmZHLrWpXcYf9aDq2sT8uNgJ5kE7R", "Origin": "BASE"}},
	{name: "token in the query", method: "POST ?csrf_token=TOKEN", headers: map[string]string{"Origin": "BASE",
		"Content-Type": formType}},
	{name: "foreign Origin", headers: map[string]string{"X-CSRFToken": "TOKEN", "Origin": "https://evil.example"}},
	{name: "foreign Origin, own Referer", headers: map[string]string{"X-CSRFToken": "TOKEN",
		"Origin": "https://evil.example", "Referer": "BASE/"}},
	{name: "foreign Origin, Sec-Fetch-Site same-origin", headers: map[string]string{"X-CSRFToken": "TOKEN",
		"Origin": "https://evil.example", "Sec-Fetch-Site": "same-origin"}},
	{name: "foreign Referer", headers: map[string]string{"X-CSRFToken": "TOKEN", "Referer": "https://evil.example/"}},
	{name: "foreign Referer, own Origin", headers: map[string]string{"X-CSRFToken": "TOKEN",
		"Referer": "https://evil.example/", "Origin": "BASE"}},
	{name: "own address within a foreign Referer", headers: map[string]string{"X-CSRFToken": "TOKEN",
		"Referer": "https://evil.example/?BASE/"}},
	{name: "Referer that cannot be read", headers: map[string]string{"X-CSRFToken": "TOKEN", "Referer": "http://[::1"}},
	{name: "Origin null", headers: map[string]string{"X-CSRFToken": "TOKEN", "Origin": "null"}},
	{name: "Origin null, own Referer", headers: map[string]string{"X-CSRFToken": "TOKEN", "Origin": "null",
		"Referer": "BASE/"}},
	{name: "other port", headers: map[string]string{"X-CSRFToken": "TOKEN", "Origin": "http://127.0.0.1:1"}},
	{name: "other scheme", headers: map[string]string{"X-CSRFToken": "TOKEN", "Origin": "HTTPSBASE"}},
	{name: "Sec-Fetch-Site same-site", headers: map[string]string{"X-CSRFToken": "TOKEN", "Sec-Fetch-Site": "same-site"}},
	{name: "Sec-Fetch-Site cross-site, own Referer", headers: map[string]string{"X-CSRFToken": "TOKEN",
		"Sec-Fetch-Site": "cross-site", "Referer": "BASE/"}},
	{name: "form without any of the three headers", form: url.Values{"csrf_token": {"TOKEN"}}},
	{name: "foreign Referer beside an own one", headers: map[string]string{"X-CSRFToken": "TOKEN",
		"Referer": "BASE/|https://evil.example/"}},
}

func TestGuard(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	c := site.As(t, crash.RoleViewer)
	for _, tt := range csrfPassing {
		t.Run("passing "+tt.name, func(t *testing.T) { tt.send(t, c, site.URL).Want(http.StatusNotFound) })
	}
	for _, tt := range csrfRefused {
		t.Run("refused "+tt.name, func(t *testing.T) {
			a := tt.send(t, c, site.URL).Want(http.StatusUnauthorized)
			if !strings.Contains(a.Body, "Unauthorized") {
				t.Errorf("got %q, want Unauthorized in it", a.Body)
			}
			if a.Header.Get("WWW-Authenticate") == "" {
				t.Error("no WWW-Authenticate, want one with 401")
			}
		})
	}
}

func TestGuardBehindProxies(t *testing.T) {
	t.Parallel()
	const base = "https://crashes.example.org"
	site := handlertest.New(t, handlertest.Options{BaseURL: base})
	c := site.Visitor(t)
	for _, tt := range []struct {
		name    string
		headers map[string]string
		want    int
	}{
		{"rewritten Host", map[string]string{"Origin": base, "X-Forwarded-Proto": "https"}, http.StatusNotFound},
		{"rewritten Host, no X-Forwarded-Proto", map[string]string{"Origin": base, "Referer": base + "/problem/1"},
			http.StatusNotFound},
		{"kept Host", map[string]string{"Host": "crashes.example.org", "Origin": base, "X-Forwarded-Proto": "https"},
			http.StatusNotFound},
		{"kept Host of another name", map[string]string{"Host": "alias.example.org", "Origin": "https://alias.example.org",
			"X-Forwarded-Proto": "https"}, http.StatusNotFound},
		{"plain http on the loopback", map[string]string{"Origin": site.URL}, http.StatusNotFound},
		{"http page, https request", map[string]string{"Host": "crashes.example.org", "Origin": "http://crashes.example.org",
			"X-Forwarded-Proto": "https"}, http.StatusUnauthorized},
		{"https page, http request", map[string]string{"Host": "alias.example.org", "Origin": "https://alias.example.org"},
			http.StatusUnauthorized},
		{"foreign", map[string]string{"Origin": "https://evil.example", "X-Forwarded-Proto": "https"},
			http.StatusUnauthorized},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.headers["X-CSRFToken"] = "TOKEN"
			csrfCase{headers: tt.headers}.send(t, c, site.URL).Want(tt.want)
		})
	}
}

func TestGuardTooLarge(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	c := site.As(t, crash.RoleViewer)
	c.Post("/logout", url.Values{"x": {strings.Repeat("x", 256<<10)}}).Want(http.StatusRequestEntityTooLarge)
	c.Post("/logout", url.Values{"x": {strings.Repeat("x", 200<<10)}}).Want(http.StatusSeeOther)
}

// send sends the request and returns the answer.
func (tt csrfCase) send(t *testing.T, c *handlertest.Client, base string) *handlertest.Answer {
	t.Helper()
	page := c.Get("/no-such-page")
	if page.HTML().Find("form input[name=csrf_token]").Length() == 0 {
		page = c.Get("/login")
	}
	masked := page.Attr("form input[name=csrf_token]", "value")
	raw := c.Cookie("csrftoken")
	if masked == raw || raw == "" {
		t.Fatal("the page contains the raw token, want a masked one")
	}
	fill := strings.NewReplacer("TOKEN", raw, "MASKED", masked, "HTTPSBASE", "https"+strings.TrimPrefix(base, "http"),
		"BASE", base).Replace
	method, query, _ := strings.Cut(tt.method, " ")
	if method == "" {
		method = http.MethodPost
	}
	body, contentType := tt.body(t, fill)
	req, err := http.NewRequestWithContext(t.Context(), method, base+"/no-such-page"+strings.ReplaceAll(query, "TOKEN",
		url.QueryEscape(raw)), body)
	if err != nil {
		t.Fatal(err)
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	for name, value := range tt.headers {
		for _, v := range strings.Split(value, "|") {
			req.Header.Add(name, fill(v))
		}
	}
	if host := req.Header.Get("Host"); host != "" {
		req.Host = host
		req.AddCookie(&http.Cookie{Name: "csrftoken", Value: raw}) // the cookie jar depends on Host
	}
	if tt.cookie == "" {
		return c.Do(req)
	}
	other := handlertest.NewClient(t, base)
	other.SetCookie("sessionid", c.Cookie("sessionid"))
	if tt.cookie != "none" {
		other.SetCookie("csrftoken", tt.cookie)
	}
	return other.Do(req)
}

func (tt csrfCase) body(t *testing.T, fill func(string) string) (io.Reader, string) {
	t.Helper()
	switch {
	case tt.rawBody != "":
		return strings.NewReader(fill(tt.rawBody)), ""
	case tt.form == nil:
		return strings.NewReader("{}"), ""
	}
	form := url.Values{}
	for name, values := range tt.form {
		form.Set(name, fill(values[0]))
	}
	if !tt.part {
		return strings.NewReader(form.Encode()), formType
	}
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for name := range form {
		if err := w.WriteField(name, form.Get(name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &b, w.FormDataContentType()
}
