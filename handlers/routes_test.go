package handlers_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/audit"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/crash/grouping"
	"mishap/db/dbtest"
	"mishap/handlers"
	"mishap/handlers/handlertest"
	"mishap/handlers/web"
)

func TestUnknownAddresses(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	c := site.As(t, crash.RoleViewer)
	page := c.Get("/no/such/page").Want(http.StatusNotFound).WantText("h1", "Not found")
	page.WantText(".hint", page.Header.Get("X-Request-ID"))

	var got handlertest.APIError
	c.Get("/api/1.0/no-such-thing").Want(http.StatusNotFound).JSON(&got)
	if got.Code != "no_resource" || got.Error == "" {
		t.Errorf("got %+v, want a message and no_resource", got)
	}
	a := c.Get(handlertest.CreatePath).Want(http.StatusMethodNotAllowed)
	if allow := a.Header.Values("Allow"); len(allow) != 1 || allow[0] != "POST" {
		t.Errorf("Allow: got %q, want POST", allow)
	}
	a.JSON(&got)
	c.Post("/healthz", nil).Want(http.StatusMethodNotAllowed)
	part := c.Part("/no/such/page").Want(http.StatusNotFound)
	if part.HTML().Find(".flash-error").Length() != 1 || strings.Contains(part.Body, "<html") {
		t.Errorf("part: got %s, want one message", part.Body)
	}
}

func TestSlashes(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	id := strings.Repeat("0", 40)
	c := site.Visitor(t)
	c.Get("/problem/"+id+"/?period=day").WantRedirect(http.StatusMovedPermanently, "/problem/"+id+"?period=day")
	c.Get("/login/").WantRedirect(http.StatusMovedPermanently, "/login")
	c.Get("//login").WantRedirect(http.StatusMovedPermanently, "/login")
	c.Get("/no-such-page/").Want(http.StatusNotFound)
	for _, path := range []string{"//evil.example/", "//evil.example/..", "/%2F/evil.example/", `/\evil.example/`} {
		if a := c.Get(path).Want(http.StatusNotFound); a.Header.Get("Location") != "" {
			t.Errorf("%s redirects to %q, want no redirect", path, a.Header.Get("Location"))
		}
	}
}

func TestHead(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	b := site.Save(t, crashtest.Native())
	for path, want := range map[string]int{"/": 200, b.ID.Path(): 200, "/login": 200, "/healthz": 200,
		"/no-such-page": 404, "/admin/tracker": 303} {
		req := dbtest.Must(http.NewRequestWithContext(t.Context(), http.MethodHead, site.URL+path, nil))(t)
		if a := site.Visitor(t).Do(req).Want(want); a.Body != "" {
			t.Errorf("HEAD %s: got a body of %d bytes, want none", path, len(a.Body))
		}
	}
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	ids := map[string]bool{}
	for _, path := range []string{"/", "/login", "/healthz", "/no-such-page", "/api/1.0/x", "/assets/x"} {
		a := site.Visitor(t).Get(path, handlertest.Header{Name: "X-Request-ID", Value: "forged"})
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src " +
				"'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
			"X-Content-Type-Options": "nosniff",
			"X-Frame-Options":        "DENY",
			"Referrer-Policy":        "same-origin",
		} {
			checktest.Equal(t, fmt.Sprintf("%s: %s", path, name), a.Header.Get(name), want)
		}
		if a.Header.Get("Permissions-Policy") == "" {
			t.Errorf("%s: got no Permissions-Policy, want one", path)
		}
		id := a.Header.Get("X-Request-ID")
		if id == "" || id == "forged" || ids[id] {
			t.Errorf("%s: request id: got %q, want a new one", path, id)
		}
		ids[id] = true
	}
	for path, cookie := range map[string]bool{"/": true, "/healthz": false, "/readyz": false, "/assets/x": false} {
		if got := len(site.Visitor(t).Get(path).Header.Values("Set-Cookie")) > 0; got != cookie {
			t.Errorf("%s: cookie set: got %v, want %v", path, got, cookie)
		}
	}
	if got := site.As(t, crash.RoleViewer).Get("/").Header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("Cache-Control when signed in: got %q, want no-store", got)
	}
}

// TestInternalErrorsStayInside makes every page fail internally and checks what the visitor and the
// log get.
func TestInternalErrorsStayInside(t *testing.T) {
	t.Parallel()
	var log handlertest.SafeBuffer
	site := handlertest.New(t, handlertest.Options{Store: dbtest.Broken(t), Log: slog.New(slog.NewJSONHandler(&log, nil))})
	for _, path := range []string{"/", "/problem/" + strings.Repeat("0", 40), "/bug/1", "/bucket/?id=x", "/readyz"} {
		for name, headers := range map[string][]handlertest.Header{"page": nil, "part": handlertest.AsPart,
			"JSON": {{Name: "Accept", Value: "application/json"}}} {
			address := path
			switch { // the problem's own part and file require signing in
			case name == "part" && strings.HasPrefix(path, "/problem/"):
				address += "/bug"
			case name == "JSON" && strings.HasPrefix(path, "/problem/"):
				address = "/problems.json"
			}
			a := site.Visitor(t).Get(address, headers...).Want(http.StatusServiceUnavailable)
			id := a.Header.Get("X-Request-ID")
			body := strings.ReplaceAll(a.Body, id, "") // random letters, which can be SQL
			for _, inside := range []string{"pool", "SQL", "sql", "pgx", "closed", "goroutine", ".go:", "postgres"} {
				if strings.Contains(body, inside) {
					t.Errorf("%s as %s reveals %q: %s", path, name, inside, a.Body)
				}
			}
			// Probes come every few seconds, so their failures are logged only for debugging.
			if path != "/readyz" && strings.Count(log.String(), `"msg":"request failed","request_id":"`+id) != 1 {
				t.Errorf("%s as %s: want exactly one log line for %s", path, name, id)
			}
		}
	}
}

func TestLogHoldsNoContents(t *testing.T) {
	t.Parallel()
	var log handlertest.SafeBuffer
	site := handlertest.New(t, handlertest.Options{CreateWait: handlertest.Patience,
		Log: slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	b := site.Save(t, crashtest.Native())
	c := site.As(t, crash.RoleTriager)
	c.Get(b.ID.Path())
	c.Get("/user/machine-secret")
	c.Get("/bucket/?id=" + "private-signature")
	c.PostJSON(handlertest.CreatePath, map[string]string{"signature": b.Signature}).Want(http.StatusCreated)
	for _, private := range []string{b.Signature, "machine-secret", "private-signature", handlertest.Password,
		c.Cookie("sessionid"), c.Cookie("csrftoken")} {
		if strings.Contains(log.String(), private) {
			t.Errorf("the log contains %q", private)
		}
	}
	for _, want := range []string{`"route":"/problem/{id}"`, `"route":"/user/{system}"`, `"user":"ada-triager"`,
		`"status":201`} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %s", want)
		}
	}
	families, err := site.Metrics.Gather()
	if err != nil || len(families) == 0 {
		t.Fatalf("metrics: got %d families, %v, want some", len(families), err)
	}
	for _, f := range families {
		if strings.Contains(f.String(), "machine-secret") || strings.Contains(f.String(), b.ID.String()) {
			t.Errorf("metric %s contains a raw path", f.GetName())
		}
	}
}

func TestRedirectBucket(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	c := p.Visitor(t)
	for name, report := range map[string]crashtest.Report{
		"plain": crashtest.Native(), "markup": crashtest.Markup(), "newlines": crashtest.Package(),
		"Unicode": crashtest.Unicode(),
		"escapes": crashtest.Recoverable(crashtest.Set("DuplicateSignature", "a;b&c=d+e %41 %zz\n")),
	} {
		p.Accept(crash.SystemID(name), report)
		signature := grouping.SignatureOf(report.Fields()).Signature
		want := crash.BucketIDOf(signature).Path()
		for _, path := range []string{"/bucket/", "/bucket"} {
			if a := c.Get(path + "?id=" + url.QueryEscape(signature)); a.Header.Get("Location") != want {
				t.Errorf("%s%s: got %d to %q, want %q", path, name, a.Status, a.Header.Get("Location"), want)
			}
		}
	}
	c.Get("/bucket/?x=1&id=/usr/bin/tidewatch:11:tide_parse_row:tide_load:on_open_clicked:__libc_start_call_main:_start").
		WantRedirect(http.StatusSeeOther, handlertest.BucketOf(t, crashtest.Native()).Path())
	for _, query := range []string{"", "?", "?id=", "?x=1"} {
		c.Get("/bucket/"+query).WantRedirect(http.StatusSeeOther, "/")
	}
	for _, query := range []string{"?id=unknown", "?id=%ff%00", "?id=%zz"} {
		c.Get("/bucket/"+query).Want(http.StatusNotFound).WantText("[role=alert]", "There is no such problem.")
	}
}

// TestRedirectOld follows addresses of other crash trackers, to a problem and to one that was merged into it.
func TestRedirectOld(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	c, viewer := p.Visitor(t), p.As(t, crash.RoleViewer)
	problem := p.Save(t, crashtest.Native())
	const (
		oops = "/oops/9d8c5f6e-1f2a-11ee-9d1b-fa163e55efd0"
		hash = "98dae815e401c4c5b8f87c950f124778cad0415e"
	)
	doubled := "/usr/bin/x:KeyError(''a'')"
	paths := []string{"/reports/12/", "/faf/reports/12", "/faf/reports/12/", "/problems/70", "/problems/70/",
		"/faf/problems/70/", "/problems/70/tidewatch", "/reports/bthash/" + hash + "/", "/faf/problems/bthash/" + hash,
		"/problems/bthash/" + hash,
		"/problem/" + hash, "/bucket/?id=" + url.QueryEscape(doubled)}
	const unknown = "This address of another crash tracker leads to no problem here. An administrator can import such"
	for _, path := range paths {
		a := c.Get(path).Want(http.StatusNotFound)
		if !strings.HasPrefix(path, "/problem/") && !strings.HasPrefix(path, "/bucket") {
			a.WantText("[role=alert]", unknown)
		}
	}
	viewer.Get(oops).Want(http.StatusNotFound).WantText("[role=alert]", unknown)
	var old []crash.OldAddress
	for _, path := range append(paths, oops) {
		for _, bucket := range []crash.BucketID{problem.ID, crash.BucketIDOf("not here")} {
			old = append(old, crash.OldAddress{Path: dbtest.Must(crash.ParseOldAddress(path))(t), Bucket: bucket})
		}
	}
	if n, err := p.Bugs.ImportAddresses(t.Context(), old, true); err != nil || n != 12 {
		t.Errorf("got %d new addresses, %v, want 12", n, err)
	}
	for _, path := range paths {
		c.Get(path).WantRedirect(http.StatusMovedPermanently, problem.ID.Path())
	}
	viewer.Get(oops).WantRedirect(http.StatusMovedPermanently, problem.ID.Path())
	c.Get("/problems/bthash/"+hash+"/").WantRedirect(http.StatusMovedPermanently, "/problems/bthash/"+hash)
	c.Get("/reports/bthash/"+problem.ID.String()).WantRedirect(http.StatusMovedPermanently, problem.ID.Path())
	for _, path := range []string{"/faf/", "/faf/stats/", "/reports/new/", "/reports/x", "/problems/x",
		"/faf/problems/71"} {
		c.Get(path).Want(http.StatusNotFound)
	}
	c.Post("/faf/reports/new/", nil).Want(http.StatusMethodNotAllowed)
}

func TestRedirectBugUnknown(t *testing.T) {
	t.Parallel()
	c := handlertest.NewPages(t).Visitor(t)
	c.Get("/bug/2101233").Want(http.StatusNotFound).WantText("[role=alert]", "No problem here has the bug 2101233.")
	for _, path := range []string{"/bug/x", "/bug/0", "/bug/-1", "/bug/99999999999999999999"} {
		c.Get(path).Want(http.StatusNotFound).WantText("[role=alert]", "There is no bug with such a number.")
	}
}

// TestBugOfProblem checks that a filed bug appears, with its number, on the list and on the page of
// its problem.
func TestBugOfProblem(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	p.Several(1, crashtest.Native)
	report := crashtest.Native()
	var filed struct{ Report, URL string }
	p.As(t, crash.RoleTriager).PostJSON("/api/1.0/create-bug-report/", map[string]string{
		"signature": grouping.SignatureOf(report.Fields()).Signature,
	}).Want(http.StatusCreated).JSON(&filed)
	c := p.Visitor(t)
	c.Get("/bug/"+filed.Report).WantRedirect(http.StatusSeeOther, handlertest.BucketOf(t, report).Path())
	for path, selector := range map[string]string{"/": "tbody td.bug a", handlertest.BucketOf(t, report).
		Path(): "#bugs a.bug-link"} {
		a := c.Get(path).Want(http.StatusOK).WantText(selector, filed.Report)
		checktest.Equal(t, path+": link to the bug", a.Attr(selector, "href"), filed.URL)
	}
}

func TestNewNamesMissingDeps(t *testing.T) {
	t.Parallel()
	_, err := handlers.New(handlers.Deps{Deps: web.Deps{Config: web.Config{BaseURL: "nonsense"}, Now: time.Now}})
	want := "handlers: base address \"nonsense\" is not an http or https address\n" +
		"handlers: missing: Store, People, Bugs, Doors, Problems, Events, Symbols, Filer, Credentials, Log, Registerer\n" +
		"handlers: missing: Decisions, Mailer, Sender, WriteTokens"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestAPIPage checks that the page names every resource of the API and that its examples work.
func TestAPIPage(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	c := site.Visitor(t)
	var index map[string]any
	c.Get("/api/1.0/").Want(http.StatusOK).JSON(&index)
	page := c.Get("/api").Want(http.StatusOK).WantText("h1", "API 1.0")
	for name := range index {
		page.WantText(`[id="`+name+`"] h2`, name)
	}
	checktest.Equal(t, "sections", page.HTML().Find("main section").Length(), len(index))
	for _, a := range page.HTML().Find("main section > p > a").EachIter() {
		switch got := c.Get(a.AttrOr("href", "")); got.Status {
		case http.StatusOK, http.StatusNotFound, http.StatusUnauthorized: // the database is empty, and nobody is signed in
		default:
			t.Errorf("%s: got %d", a.Text(), got.Status)
		}
	}
	c.Get("/api/").WantRedirect(http.StatusMovedPermanently, "/api")
}

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
		checktest.NoError(t, w.WriteField(name, form.Get(name)))
	}
	checktest.NoError(t, w.Close())
	return &b, w.FormDataContentType()
}

// need says whom a route answers.
type need func(u crash.User, source string) bool

func everyone(crash.User, string) bool        { return true }
func anyPerson(u crash.User, _ string) bool   { return u.ID != 0 }
func viewer(u crash.User, _ string) bool      { return u.Role.Allows(crash.RoleViewer) }
func someTriage(u crash.User, _ string) bool  { return u.MayTriageSome() }
func somePrivate(u crash.User, _ string) bool { return u.Private.Some() }
func allPrivate(u crash.User, _ string) bool  { return u.Private.All }
func admin(u crash.User, _ string) bool       { return u.Role.Allows(crash.RoleAdmin) }
func adminPrivate(u crash.User, _ string) bool {
	return u.Role.Allows(crash.RoleAdmin) && u.Private.All
}

// triage and core depend on the package.
func triage(u crash.User, source string) bool { return u.MayTriage(source) }
func core(u crash.User, source string) bool   { return u.MayReadCore(source) }

// rightsCase is a request to a route. In path and form, {problem}, {report}, {machine}, {source},
// {candidate}, {entry} and {note} stand for those of each package. Other parameters of the route are
// those of nothing that exists.
type rightsCase struct {
	route string
	need  need
	path  string         // empty: the route with its parameters filled in
	form  string         // of a POST, as a query
	json  map[string]any // of a POST, instead of form
	shows bool           // the answer contains private data for those who may read it
}

// rightsRole is an account of TestRights: the role by hand, and grants.
type rightsRole struct {
	name   string
	role   crash.Role
	grants []crash.Grant
}

// ofPackage reports whether the rights are those for some packages.
func (r rightsRole) ofPackage() bool {
	return slices.ContainsFunc(r.grants, func(g crash.Grant) bool { return g.Scope.Kind == crash.GrantPackage })
}

var rightsRoles = []rightsRole{
	{name: "visitor"},
	{name: "none"},
	{name: "viewer", role: crash.RoleViewer},
	{name: "triager-of-alpha", grants: []crash.Grant{{Role: crash.RoleTriager,
		Scope: crash.GrantScope{Kind: crash.GrantPackage, Name: "alph?"}}}},
	{name: "triager", role: crash.RoleTriager},
	{name: "private-of-alpha", grants: []crash.Grant{{Role: crash.RolePrivate,
		Scope: crash.GrantScope{Kind: crash.GrantPackage, Name: "alpha"}}}},
	{name: "private", grants: []crash.Grant{{Role: crash.RolePrivate, Scope: crash.GrantScope{Kind: crash.GrantAll}}}},
	{name: "all-of-alpha", grants: []crash.Grant{
		{Role: crash.RolePrivate, Scope: crash.GrantScope{Kind: crash.GrantPackage, Name: "alpha"}},
		{Role: crash.RoleTriager, Scope: crash.GrantScope{Kind: crash.GrantPackage, Name: "alpha"}}}},
	{name: "admin", role: crash.RoleAdmin},
}

// rightsPackage is a package with a problem, and what belongs to it. The environment and the machine of
// its report contain "zebra" and "horse", which are private data.
type rightsPackage struct {
	source string
	fill   *strings.Replacer // fills in the parameters of a case
}

func (p rightsPackage) secrets() []string { return []string{"zebra-" + p.source, "horse-" + p.source} }

// newRightsPackage stores a report of a package, a note, a triage entry and a candidate.
func newRightsPackage(t *testing.T, p *handlertest.Pages, url, source, candidate string) rightsPackage {
	t.Helper()
	set := crashtest.Set
	report := crashtest.Native(set("Package", source+" 1-1"), set("SourcePackage", source),
		set("ExecutablePath", "/usr/bin/"+source), set("ProcEnviron", "LANG=C\nTOKEN=zebra-"+source),
		set("ProcCmdline", source+" --key zebra-"+source), set("JournalErrors", "zebra-"+source))
	oops := p.Accept(crash.SystemID("horse-"+source), report)
	b := p.Bucket(t, handlertest.BucketOf(t, report))
	if b.SourcePackage != source {
		t.Fatalf("got a problem of %q, want of %q", b.SourcePackage, source)
	}
	dbtest.Must(p.People.AddNote(t.Context(), b.ID, "note", "author"))(t)
	notes, err := p.People.Notes(t.Context(), b.ID)
	if err != nil || len(notes) != 1 {
		t.Fatalf("got notes %v, %v, want one", notes, err)
	}
	entry, err := p.Problems.Set(t.Context(), crash.Mark{Bucket: b.ID, Kind: crash.MarkWontFix, Person: "author"})
	if err != nil {
		t.Fatal(err)
	}
	const sqlCandidate = `
		insert into candidates (id, bucket_id, rule_id, automatic, state, why, machines, created) overriding system value
		values (@id, @bucket, (select min(id) from rules), false, 'waiting', 'why', 1, now())`
	dbtest.Exec(t, url, sqlCandidate, pgx.NamedArgs{"id": candidate, "bucket": b.ID[:]})
	return rightsPackage{source, strings.NewReplacer("{problem}", b.ID.String(), "{report}", oops.String(),
		"{machine}", "horse-"+source, "{source}", source, "{signature}", b.Signature, "{candidate}", candidate,
		"{entry}", strconv.FormatInt(entry.ID, 10), "{note}", strconv.FormatInt(notes[0].ID, 10), "{format}", "csv",
		"{token}", "x", "{delivery}", "x",
		"{id}", "1")}
}

// ofPackage reports whether a case depends on the package.
func (c rightsCase) ofPackage() bool {
	return c.json != nil || strings.Contains(c.path+c.form, "{") || strings.Contains(c.route, "/problem/{id}")
}

// send sends the request of a case about a package.
func (c rightsCase) send(client *handlertest.Client, p rightsPackage) *handlertest.Answer {
	method, path, _ := strings.Cut(c.route, " ")
	if c.path != "" {
		path = c.path
	}
	path = p.fill.Replace(strings.Replace(path, "/problem/{id}", "/problem/{problem}", 1))
	if method == http.MethodGet {
		return client.Get(path)
	}
	if c.json != nil {
		body := map[string]any{}
		for name, value := range c.json {
			if s, ok := value.(string); ok {
				value = p.fill.Replace(s)
			}
			body[name] = value
		}
		return client.PostJSON(path, body)
	}
	form, _ := url.ParseQuery(p.fill.Replace(c.form)) // the cases above are valid
	return client.Post(path, form)
}

// refusedBy reports whether an answer refuses the person, or asks a visitor to sign in.
func refusedBy(a *handlertest.Answer) bool {
	return a.Status == http.StatusUnauthorized || a.Status == http.StatusForbidden ||
		a.Status == http.StatusSeeOther && strings.HasPrefix(a.Header.Get("Location"), "/login")
}

// TestRights requests every route with every combination of rights about two packages. Whoever may not
// read private data of a package finds none in any answer. The audit log has all changes and refusals. Unless the
// run is thorough, it sends each request that must be refused, and a third of the others.
func TestRights(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	p := handlertest.NewPagesIn(t, handlertest.Options{Store: dbtest.Open(t, address), Disconnected: true})
	packages := []rightsPackage{newRightsPackage(t, p, address, "alpha", "1"),
		newRightsPackage(t, p, address, "beta", "2")}
	covered, asked := map[string]bool{}, map[string]bool{}
	for _, c := range rightsCases {
		covered[c.route] = true
	}
	for _, route := range p.Routes(t) {
		if !covered[route] {
			t.Errorf("route %s is not in this table", route)
		}
	}
	for route := range web.UnrecordedRoutes {
		if !covered[route] || strings.HasPrefix(route, "GET ") {
			t.Errorf("%s of web.UnrecordedRoutes is no route that changes something", route)
		}
	}
	for n, role := range rightsRoles {
		client, u := p.Visitor(t), crash.User{}
		if role.name != "visitor" {
			dbtest.AddUserWithoutPrivate(t, p.Store, role.name, role.role, handlertest.Password)
			for _, g := range role.grants {
				g.Source, g.Group = crash.SourceAccount, role.name
				checktest.NoError(t, p.People.Grant(t.Context(), "", g))
			}
			client.SignIn(role.name, handlertest.Password).Want(http.StatusSeeOther)
			u = dbtest.Must(p.People.ByName(t.Context(), role.name))(t)
		}
		for at, c := range rightsCases {
			for i, of := range packages {
				if i > 0 && (!c.ofPackage() || !role.ofPackage()) { // the answer is the same for every package
					break
				}
				want := !c.need(u, of.source)
				if !want && (at+n)%checktest.Rounds(3, 1) > 0 {
					continue
				}
				a := c.send(client, of)
				if got := refusedBy(a); got != want || a.Status >= 500 && a.Status != http.StatusServiceUnavailable {
					t.Errorf("%s (%s%s) as %s about %s: got status %d, want refused %v", c.route, c.path, c.form, role.name,
						of.source, a.Status, want)
				}
				first := !asked[role.name+c.route]
				asked[role.name+c.route] = true
				if wrong := c.wrongRecord(t, p, u, a, first); wrong != "" {
					t.Errorf("%s (%s%s) as %s: %s", c.route, c.path, c.form, role.name, wrong)
				}
				c.checkPrivate(t, a, u, role.name, of, packages)
			}
		}
	}
}

// wrongRecord returns what is wrong with the record of an answer in the audit log, or with the way in which a
// visitor is asked to sign in; empty: nothing. first says whether the person asks this route for the first time.
func (c rightsCase) wrongRecord(t *testing.T, p *handlertest.Pages, u crash.User, a *handlertest.Answer,
	first bool) string {
	t.Helper()
	reads := strings.HasPrefix(c.route, "GET ")
	if u.ID == 0 {
		page := reads && !strings.HasPrefix(c.route, "GET /api/") && !strings.HasSuffix(c.path, ".json")
		if refusedBy(a) && page != (a.Status == http.StatusSeeOther) {
			return fmt.Sprintf("got status %d, want pages alone to redirect visitors", a.Status)
		}
		return ""
	}
	want := ""
	switch {
	case a.Status == http.StatusForbidden && first: // others are in its record
		want = audit.Refused
	case !reads && a.Status < 400 && web.UnrecordedRoutes[c.route] == "":
		want = audit.Done
	default:
		return ""
	}
	recorded := p.Value(t, `select coalesce(max(result), '') from audit_events where request_id = $1`,
		a.Header.Get("X-Request-Id"))
	if recorded != want {
		return fmt.Sprintf("got the record %q, want %q", recorded, want)
	}
	return ""
}

// checkPrivate checks which private data an answer contains.
func (c rightsCase) checkPrivate(t *testing.T, a *handlertest.Answer, u crash.User, name string, of rightsPackage,
	all []rightsPackage,
) {
	t.Helper()
	for _, p := range all {
		for _, secret := range p.secrets() {
			asked := strings.Contains(c.path, "{machine}") && of.source == p.source && strings.HasPrefix(secret, "horse")
			if strings.Contains(a.Body, secret) && !asked && !u.Private.Include(p.source) {
				t.Errorf("%s (%s) as %s about %s: the answer contains %q", c.route, c.path, name, of.source, secret)
			}
		}
	}
	sees := strings.Contains(a.Body, "zebra-"+of.source) || strings.Contains(a.Body, "horse-"+of.source)
	if c.shows && u.Private.Include(of.source) && !sees {
		t.Errorf("%s (%s) as %s about %s: the answer lacks private data", c.route, c.path, name, of.source)
	}
}

// TestRightsOnSomeRows changes two problems at once as a triager of the package of one of them.
func TestRightsOnSomeRows(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	p := handlertest.NewPagesIn(t, handlertest.Options{Store: dbtest.Open(t, address), Disconnected: true})
	both := newRightsPackage(t, p, address, "alpha", "1").fill.Replace("{problem}") + "." +
		newRightsPackage(t, p, address, "beta", "2").fill.Replace("{problem}")
	dbtest.AddUserWithoutPrivate(t, p.Store, "kim", crash.RoleViewer, handlertest.Password)
	checktest.NoError(t, p.People.Grant(t.Context(), "", crash.Grant{Source: crash.SourceAccount, Group: "kim",
		Role: crash.RoleTriager, Scope: crash.GrantScope{Kind: crash.GrantPackage, Name: "alpha"}}))
	c := p.Visitor(t)
	c.SignIn("kim", handlertest.Password).Want(http.StatusSeeOther)
	ids := strings.Split(both, ".")
	const left = "1 problem was left unchanged, because you are not a triager of its package."
	for path, form := range map[string]url.Values{
		"/problems/assign":  {"problems": {both}, "do": {"me"}},
		"/problems/link":    {"problems": {both}, "bug": {"4711"}},
		"/problems/wontfix": {"problems": {both}, "reason": {"no"}},
		"/problems/chosen":  {"bucket": ids, "do": {"recheck"}},
	} {
		c.Post(path, form).Want(http.StatusSeeOther)
		c.Get("/account").WantText("#flash", left)
	}
	c.Post("/problems/merge", url.Values{"problem": ids, "head": ids[:1]}).Want(http.StatusForbidden)
	c.Get("/problems/create?problems="+both).Want(http.StatusOK).WantText("#main", "role triager for this package")
	c.Get("/candidates").Want(http.StatusOK).WantText("#main", "Only triagers of beta can decide about it.")
	for i, id := range ids {
		parsed := dbtest.Must(crash.ParseBucketID(id))(t)
		linked, err := p.Bugs.BucketBugs(t.Context(), parsed)
		if err != nil || (len(linked) == 1) != (i == 0) {
			t.Errorf("problem %d: got bugs %v, %v, want the bug at the first problem only", i, linked, err)
		}
	}
	page := c.Get("/problem/" + ids[1]).Want(http.StatusOK)
	page.WantNone("a[href$='/mute']")
	c.Get("/problem/"+ids[0]).Want(http.StatusOK).WantText("#main", "Mute")
}

// rightsCases has every route of the router. A package matters only if a case names one of its things.
var rightsCases = slices.Concat(
	[]rightsCase{
		{route: "GET /gate", need: everyone, path: "/gate?package={source}&version=2"},
		{route: "GET /assets/*", need: everyone, path: "/assets/no-such-file"},
		{route: "GET /problems.{format}", need: everyone, path: "/problems.csv?period=year"},
		{route: "GET /search", need: everyone, path: "/search?q={source}"},
		{route: "GET /search", need: everyone, path: "/search?q=zebra"},
		{route: "GET /search.{format}", need: everyone, path: "/search.csv?q={source}"},
		{route: "GET /search/complete", need: everyone, path: "/search/complete?q=package:{source}"},
		{route: "GET /package/{name}", need: everyone, path: "/package/{source}"},
		{route: "GET /release/{name}", need: everyone, path: "/release/Ubuntu%2024.04"},
		{route: "GET /bug/{number}", need: everyone, path: "/bug/1"},
		{route: "GET /bucket", need: everyone, path: "/bucket?id=x"},
		{route: "GET /bucket/", need: everyone, path: "/bucket/?id=x"},
		{route: "GET /faf/*", need: everyone, path: "/faf/reports/12/"},
		{route: "GET /reports/*", need: everyone, path: "/reports/12/"},
		{route: "GET /problems/{number:[0-9]+}", need: everyone, path: "/problems/70"},
		{route: "GET /problems/{number:[0-9]+}/*", need: everyone, path: "/problems/70/"},
		{route: "GET /problems/bthash/{hash}", need: everyone, path: "/problems/bthash/98dae815e401"},
		{route: "GET /problem/{id}", need: everyone, path: "/problem/{problem}"},
		{route: "GET /problem/{id}", need: everyone, path: "/problem/{problem}?facet=JournalErrors"},
		{route: "GET /problem/{id}", need: everyone, path: "/problem/{problem}?facet=ProcEnviron&value=LANG%3DC"},
		{route: "GET /problem/{id}/bug", need: everyone, path: "/problem/{problem}/bug"},
		{route: "GET /problem/{id}/versions.{format}", need: everyone, path: "/problem/{problem}/versions.csv"},

		{route: "GET /api/1.0/*", need: everyone, path: "/api/1.0/"},
		{route: "GET /api/1.0/*", need: everyone, path: "/api/1.0/bucket/{problem}/"},
		{route: "GET /api/1.0/*", need: everyone, path: "/api/1.0/problem-status/{problem}/"},
		{route: "GET /api/1.0/*", need: everyone, path: "/api/1.0/instances/?id={problem}"},
		{route: "GET /api/1.0/*", need: viewer, path: "/api/1.0/oops/{report}/", shows: true},
		{route: "GET /api/1.0/*", need: viewer, path: "/api/1.0/instance/?id={report}", shows: true},
		{route: "GET /api/1.0/*", need: allPrivate, path: "/api/1.0/reports-for-system/?system={machine}"},
		{route: "POST /api/1.0/*", need: everyone, path: "/api/1.0/reports-state/"},
		{route: "POST /api/1.0/create-bug-report", need: triage, path: "/api/1.0/create-bug-report",
			form: "signature={signature}"},
		{route: "POST /api/1.0/create-bug-report/", need: triage, path: "/api/1.0/create-bug-report/",
			json: map[string]any{"signature": "{signature}"}},
		{route: "POST /api/1.0/set-problem-status", need: triage, path: "/api/1.0/set-problem-status",
			json: map[string]any{"signature": "{problem}", "kind": "wontfix"}},
		{route: "POST /api/1.0/set-problem-status/", need: triage, path: "/api/1.0/set-problem-status/",
			json: map[string]any{"signature": "{signature}", "kind": "wontfix"}},
		{route: "POST /api/1.0/problem-people", need: triage, path: "/api/1.0/problem-people",
			json: map[string]any{"problem": "{problem}", "assignee": "me"}},
		{route: "POST /api/1.0/problem-people/", need: triage, path: "/api/1.0/problem-people/",
			json: map[string]any{"problem": "{signature}", "add_tags": []string{"sru"}}},

		{route: "POST /api/1.0/erase-machine", need: admin, path: "/api/1.0/erase-machine",
			json: map[string]any{"system": "no-such-machine"}},
		{route: "POST /api/1.0/erase-machine/", need: admin, path: "/api/1.0/erase-machine/",
			json: map[string]any{"system": "no-such-machine"}},

		{route: "POST /new", need: viewer, form: "problems={problem}"},
		{route: "GET /problem/{id}.{format}", need: viewer, path: "/problem/{problem}.csv", shows: true},
		{route: "GET /problem/{id}.{format}", need: viewer, path: "/problem/{problem}.json", shows: true},
		{route: "GET /release/{name}/concentrated", need: viewer, path: "/release/Ubuntu%2024.04/concentrated"},
		{route: "GET /problem/{id}/traits", need: viewer, path: "/problem/{problem}/traits"},
		{route: "GET /problem/{id}/compare", need: viewer, path: "/problem/{problem}/compare?report={report}"},
		{route: "GET /problem/{id}/symbols", need: viewer, path: "/problem/{problem}/symbols"},
		{route: "POST /problem/{id}/notes", need: viewer, path: "/problem/{problem}/notes"},
		{route: "POST /problem/{id}/notes/{note}", need: triage, path: "/problem/{problem}/notes/{note}",
			form: "text=better"},
		{route: "GET /oops/{id}", need: viewer, path: "/oops/{report}", shows: true},
		{route: "GET /oops/{id}", need: viewer, path: "/oops/{report}.json", shows: true},
		{route: "GET /oops/{id}", need: viewer, path: "/oops/{report}.crash", shows: true},
		{route: "GET /oops/{id}", need: core, path: "/oops/{report}.crash?core=yes"},
		{route: "GET /user/{system}", need: somePrivate, path: "/user/{machine}"},
		{route: "GET /user/{system}", need: somePrivate, path: "/user/{machine}.csv"},

		{route: "POST /oops/{id}/symbolise", need: triage, path: "/oops/{report}/symbolise"},
		{route: "GET /problems/chosen", need: someTriage, path: "/problems/chosen?problems={problem}"},
		{route: "POST /problems/chosen", need: triage, form: "bucket={problem}&do=recheck"},
		{route: "POST /problems/chosen", need: triage, form: "bucket={problem}&do=file"},
		{route: "GET /problems/create", need: someTriage, path: "/problems/create?problems={problem}"},
		{route: "GET /problems/link", need: someTriage, path: "/problems/link?problems={problem}"},
		{route: "POST /problems/link", need: triage, form: "problems={problem}&bug=4711"},
		{route: "POST /problems/unlink", need: triage, path: "/problems/unlink?problems={problem}", form: "bug=4711"},
		{route: "GET /problems/merge", need: triage, path: "/problems/merge?problems={problem}"},
		{route: "POST /problems/merge", need: triage, form: "problem={problem}&head={problem}"},
		{route: "GET /problems/assign", need: someTriage, path: "/problems/assign?problems={problem}"},
		{route: "POST /problems/assign", need: triage, form: "problems={problem}&do=me"},
		{route: "POST /problems/unassign", need: triage, path: "/problems/unassign?problems={problem}"},
		{route: "GET /problem/{id}/embargo", need: triage, path: "/problem/{problem}/embargo"},
		{route: "POST /problem/{id}/embargo", need: triage, path: "/problem/{problem}/embargo"},
		{route: "GET /problem/{id}/hold", need: triage, path: "/problem/{problem}/hold"},
		{route: "POST /problem/{id}/hold", need: triage, path: "/problem/{problem}/hold"},
		{route: "GET /problems/fixed", need: someTriage, path: "/problems/fixed?problems={problem}"},
		{route: "POST /problems/fixed", need: triage, form: "problems={problem}"},
		{route: "GET /problems/mute", need: someTriage, path: "/problems/mute?problems={problem}"},
		{route: "POST /problems/mute", need: triage, form: "problems={problem}"},
		{route: "GET /problems/wontfix", need: someTriage, path: "/problems/wontfix?problems={problem}"},
		{route: "POST /problems/wontfix", need: triage, form: "problems={problem}"},
		{route: "POST /problems/triage/undo", need: triage, form: "entries={entry}"},
		{route: "POST /candidates/{id}/decline", need: triage, path: "/candidates/{candidate}/decline"},
		{route: "POST /candidates/{id}/restore", need: triage, path: "/candidates/{candidate}/restore"},
		{route: "POST /candidates/{id}/approve", need: triage, path: "/candidates/{candidate}/approve"},

		{route: "GET /user/{system}/erase", need: admin, path: "/user/{machine}/erase", shows: true},
		{route: "POST /user/{system}/erase", need: admin, path: "/user/{machine}/erase", form: "confirm=no"},
		{route: "GET /user/{system}/dump.jsonl", need: adminPrivate, path: "/user/{machine}/dump.jsonl", shows: true},
	},
	plain(everyone, "GET /", "GET /api", "GET /keys", "GET /theme", "GET /columns", "GET /fixes", "GET /gate",
		"GET /healthz", "GET /readyz", "GET /weekly", "GET /login", "POST /login", "POST /login/openid",
		"GET /login/openid/return",
		"POST /login/openid/return",
		"POST /login/oidc", "GET /login/oidc/return", "POST /login/oidc/logout", "GET /login/code",
		"POST /login/code", "GET /unsubscribe/{token}", "POST /unsubscribe/{token}", "POST /hooks/tracker/{name}",
		"GET /llms.txt", "GET /mcp", "POST /mcp", "DELETE /mcp"),
	plain(anyPerson, "GET /account", "POST /account/identities/link", "POST /account/identities/{id}/unlink",
		"POST /account/password", "GET /login/resume", "GET /service/{name}",
		"POST /service/{name}/tokens/{id}/renew", "POST /service/{name}/tokens/{id}/revoke",
		"POST /account/sessions/end", "GET /account/second-factor", "POST /account/second-factor/begin",
		"POST /account/second-factor/confirm", "POST /account/second-factor/recovery-codes",
		"POST /account/second-factor/off"),
	plain(viewer, "POST /account", "POST /account/tokens", "POST /account/tokens/{id}/revoke",
		"GET /account/notifications", "POST /account/notifications", "POST /account/notifications/address",
		"POST /account/notifications/remove", "POST /account/notifications/test",
		"POST /account/notifications/weekly", "POST /account/notifications/weekly/{id}/remove",
		"GET /account/notifications/confirm/{token}", "POST /account/notifications/confirm/{token}", "GET /embargoed",
		"GET /inbox", "GET /inbox.{format}", "POST /inbox/read", "POST /inbox/unread", "GET /my", "GET /my.{format}",
		"GET /new",
		"POST /my/follow", "POST /my/unfollow", "POST /my/seen", "GET /searches", "POST /searches",
		"POST /searches/{id}", "POST /searches/{id}/delete", "POST /searches/{id}/restore"),
	plain(somePrivate, "GET /user/"),
	plain(triage, "POST /problem/{id}/core", "POST /problem/{id}/core/withdraw", "GET /problem/{id}/merge",
		"GET /problem/{id}/rename", "POST /problem/{id}/rename", "GET /problem/{id}/split",
		"POST /problem/{id}/split", "POST /problem/{id}/undo", "POST /problem/{id}/assign",
		"GET /problem/{id}/assign", "POST /problem/{id}/tags", "GET /problem/{id}/mute",
		"POST /problem/{id}/mute", "GET /problem/{id}/wontfix", "POST /problem/{id}/wontfix",
		"GET /problem/{id}/fixed", "POST /problem/{id}/fixed", "GET /problem/{id}/link", "POST /problem/{id}/link",
		"POST /problem/{id}/unlink", "POST /problem/{id}/relink", "POST /problem/{id}/recheck",
		"POST /problem/{id}/resume-section", "GET /problem/{id}/review", "POST /problem/{id}/review",
		"GET /problem/{id}/review/bugs"),
	plain(someTriage, "POST /account/tracker/request-token", "POST /account/tracker/access-token",
		"POST /account/tracker/check", "POST /account/tracker/preference", "POST /account/tracker/disconnect",
		"GET /candidates"),
	plain(admin, "POST /admin/access/second-factor", "POST /service/{name}/team", "POST /service/{name}/tokens",
		"GET /admin/services", "POST /admin/services", "GET /admin/tokens", "POST /admin/tokens/revoke",
		"POST /admin/tokens/{id}/revoke", "GET /admin", "GET /admin/audit", "GET /admin/audit.jsonl",
		"GET /admin/tracker", "POST /admin/tracker/request-token", "POST /admin/tracker/access-token",
		"POST /admin/tracker/check", "POST /admin/tracker/test", "POST /admin/tracker/show-token",
		"POST /admin/tracker/forget",
		"GET /admin/tracker/updates", "POST /admin/tracker/updates", "GET /admin/mail", "POST /admin/mail/test",
		"POST /admin/mail/{id}/retry", "GET /admin/rules", "POST /admin/rules", "GET /admin/rules/new",
		"GET /admin/rules/{id}", "POST /admin/rules/{id}", "POST /admin/rules/{id}/switch",
		"POST /admin/rules/{id}/delete", "POST /admin/rules/{id}/restore", "GET /admin/access", "GET /admin/data",
		"GET /admin/people", "POST /admin/access",
		"POST /admin/access/revoke", "GET /admin/templates", "POST /admin/templates", "GET /admin/privacy",
		"GET /admin/routes", "GET /admin/routes.csv", "POST /admin/routes",
		"GET /admin/doors", "POST /admin/doors", "POST /admin/doors/switch", "POST /admin/doors/{id}",
		"POST /admin/privacy/check", "POST /admin/privacy/apply", "GET /admin/erasures", "GET /admin/regroup",
		"POST /admin/regroup", "POST /admin/regroup/apply", "POST /admin/regroup/stop", "GET /admin/symbols",
		"GET /admin/symbols.{format}", "GET /admin/filings", "GET /admin/filings.{format}", "GET /admin/filings/{id}",
		"POST /admin/filings/{id}/retry", "POST /admin/filings/{id}/give-up", "GET /admin/notifications",
		"POST /admin/notifications", "GET /admin/notifications/new", "POST /admin/notifications/stop",
		"POST /admin/notifications/resume", "GET /admin/notifications/{id}", "POST /admin/notifications/{id}",
		"POST /admin/notifications/{id}/test", "POST /admin/notifications/{id}/rotate",
		"POST /admin/notifications/{id}/enable", "POST /admin/notifications/{id}/disable",
		"POST /admin/notifications/{id}/delete", "GET /admin/notifications/{id}/deliveries/{delivery}",
		"POST /admin/notifications/{id}/deliveries/{delivery}/again"),
	plain(everyone, "POST /logout")) // last: it ends the sessions

// plain returns cases for routes whose parameters are filled in, without a form.
func plain(need need, routes ...string) (cases []rightsCase) {
	for _, route := range routes {
		cases = append(cases, rightsCase{route: route, need: need})
	}
	return cases
}
