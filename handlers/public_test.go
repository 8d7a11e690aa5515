package handlers_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/crash/audit"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/crash/grouping"
	"mishap/db/dbtest"
	"mishap/handlers/handlertest"
)

// These are private data of reports, one text for each field that reaches a page.
const (
	privateHome = "/home/wendeline/harbour"
	privateMail = "wendeline@quay.example"
)

// privateReports returns reports with private data in every text that pages show about problems.
func privateReports() map[string]crashtest.Report {
	set := crashtest.Set
	message := "cannot open '" + privateHome + "/letter.txt' of " + privateMail
	native := crashtest.Native(set("ExecutablePath", privateHome+"/bin/tide"), set("Title", message))
	labels := crashtest.Recoverable(set("DuplicateSignature", "labels:main"),
		set("Package", privateMail+" 1.0-"+privateMail), set("SourcePackage", privateMail),
		set("DistroRelease", "Ubuntu of "+privateMail), set("Architecture", privateMail),
		set("PackageArchitecture", privateMail), set("ProblemType", privateHome))
	return map[string]crashtest.Report{
		"program":   native,
		"assertion": crashtest.Assertion(set("AssertionMessage", privateHome+"/src/buffer.c:120: take: "+message)),
		"own": crashtest.Recoverable(set("DuplicateSignature", "/usr/libexec/reefd:"+message), set("Title", message),
			set("DialogBody", message)),
		"python": crashtest.Python(set("Traceback", "Traceback (most recent call last):\n  File \""+privateHome+
			"/sync.py\", line 3, in <module>\n    x()\n  File \"/usr/x.py\", line 7, in x\n    y()\nValueError: "+message+"\n")),
		"labels": labels,
	}
}

// publicRequests returns addresses of each public GET route, and of the API, that may show
// problems.
func publicRequests(p *handlertest.Pages, ids []crash.BucketID, signatures []string) []string {
	paths := []string{
		"GET /login /login", "GET /login/code /login/code", "GET / /", "GET / /?period=year&sort=problem", "GET /api /api",
		"GET /keys /keys",
		"GET /theme /theme?theme=dark", "GET /columns /columns?column=first", "GET /unsubscribe/{token} /unsubscribe/x",
		"GET /login/openid/return /login/openid/return?state=x", "GET /login/oidc/return /login/oidc/return?state=x",
		"GET /search /search?q=tide",
		"GET /search /search?q=wend", "GET /search /search?q=quay", "GET /search /search?q=-title:wend",
		"GET /search /search?q=file:wendeline",
		"GET /search/complete /search/complete?q=", "GET /search/complete /search/complete?q=program:",
		"GET /search/complete /search/complete?q=frame:/",
		"GET /search/complete /search/complete?q=package:w", "GET /search/complete /search/complete?q=version:",
		"GET /search/complete /search/complete?q=release:",
		"GET /search/complete /search/complete?q=arch:", "GET /search/complete /search/complete?q=type:",
		"GET /search/complete /search/complete?q=x&of=package&package=w",
		"GET /search/complete /search/complete?q=x&of=version&version=1", "GET /package/{name} /package/quillpad",
		"GET /package/{name} /package/harbor-sync", "GET /package/{name} /package/tidewatch",
		"GET /release/{name} /release/Ubuntu%2024.04", "GET /gate /gate", "GET /fixes /fixes", "GET /weekly /weekly",
		"GET /release/{name}/concentrated /release/Ubuntu%2024.04/concentrated",
		"GET /gate /gate?package=quillpad&version=0.9.1-1", "GET /gate /gate?package=tidewatch&version=9",
		"GET /bug/{number} /bug/4711", "GET /healthz /healthz", "GET /llms.txt /llms.txt", "GET /mcp /mcp",
		"GET /readyz /readyz", "GET /bucket /bucket?id=none", "GET /faf/* /faf/reports/12/",
		"GET /reports/* /reports/12/", "GET /problems/{number:[0-9]+} /problems/70",
		"GET /problems/{number:[0-9]+}/* /problems/70/", "GET /problems/bthash/{hash} /problems/bthash/98dae815e401",
	}
	for _, format := range []string{"json", "csv", "atom"} {
		paths = append(paths, "GET /problems.{format} /problems."+format+"?period=year", "GET /search.{format} /search."+
			format+"?q=tide", "GET /search.{format} /search."+format+"?q=-tide",
			"GET /bug/{number} /bug/4711."+format, "GET /package/{name} /package/quillpad."+format, "GET /release/{name} "+
				"/release/Ubuntu%2024.04."+format)
	}
	for i, id := range ids {
		path := id.Path()
		paths = append(paths, "GET /problem/{id} "+path, "GET /problem/{id}/bug "+path+"/bug", "GET /bucket/ /bucket/?id="+
			url.QueryEscape(signatures[i]),
			"GET /problem/{id} "+path+"?via="+url.QueryEscape("/search?q=wend"), "GET /problem/{id} "+ids[0].Path()+"?from="+
				id.String())
		for _, format := range []string{"json", "csv", "atom"} {
			paths = append(paths, "GET /problem/{id}/versions.{format} "+path+"/versions."+format)
		}
		for _, address := range []string{"bucket/" + id.String() + "/", "problem-status/" + id.String() + "/",
			"versions/?id=" + id.String(), "instances/?id=" +
				id.String(), "average-instances/?id=" + id.String()} {
			paths = append(paths, "GET /api/1.0/* /api/1.0/"+address)
		}
	}
	for _, address := range []string{
		"", "openapi.json", "most-common-problems/?period=year&limit=100", "most-common-problems/?period=2026&snap=1",
		"most-common-problems/?q=wendeline&period=year", "instances-count/?limit=100",
		"problems-count/", "retracers-results/?limit=100", "average-crashes/?limit=100", "crash-signatures-for-bug/?bug=4711",
		"dayoops/20260518/?details=1",
		"package-version-new-buckets/?package=quillpad&previous_version=0.1&new_version=0.9.1-1",
		"binary-package-versions/?binary_package=quillpad", "update-gate/?package=quillpad&version=0.9.1-1",
		"update-gate/?package=tidewatch&version=9",
	} {
		paths = append(paths, "GET /api/1.0/* /api/1.0/"+address)
	}
	return paths
}

// TestVisitorsSeeNothingPrivate requests every page and file as a visitor. Unless the run is thorough, it asks
// each for one of the other formats.
func TestVisitorsSeeNothingPrivate(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	var ids []crash.BucketID
	var signatures []string
	for name, report := range privateReports() {
		for n := range 2 {
			p.Accept(crash.SystemID(name+string(rune('a'+n))), report)
		}
		signatures = append(signatures, grouping.SignatureOf(report.Fields()).Signature)
		ids = append(ids, handlertest.BucketOf(t, report))
	}
	checktest.NoError(t, p.Store.WaitCounted(t.Context()))
	for _, id := range ids[:2] {
		dbtest.Must(p.Bugs.LinkBug(t.Context(), id, crash.Bug{Number: 4711, Title: "It fell over",
			URL: "https://bugs.example/4711", By: "ada"}))(t)
	}
	dbtest.Must(p.Problems.Set(t.Context(), crash.Mark{Bucket: ids[0], Kind: crash.MarkWontFix, Person: "wendeline",
		Reason: "wendeline says so"}))(t)
	reader, visitor := p.As(t, crash.RoleViewer), p.Visitor(t)
	requests := publicRequests(p, ids, signatures)
	asked := map[string]bool{}
	for i, request := range requests {
		method, rest, _ := strings.Cut(request, " ")
		route, path, _ := strings.Cut(rest, " ")
		asked[method+" "+route] = true
		// The signed-in reader asks first and last. No cache may serve one person's answer to the other.
		reader.Get(path)
		for _, headers := range append(checktest.EveryNth([][]handlertest.Header{
			handlertest.AsPart, {{Name: "Accept", Value: "application/json"}}, {{Name: "Accept", Value: "text/csv"}},
			{{Name: "Accept", Value: "application/atom+xml"}},
		}, 4, i), nil) {
			a := visitor.Get(path, headers...)
			if a.Status >= 500 {
				t.Errorf("%s: got status %d", path, a.Status)
			}
			wantNoMarker(t, path, path, a)
		}
	}
	for _, id := range ids {
		for _, call := range assistantCalls(id.String(), "x", id.String()) {
			a := visitor.PostJSON("/mcp", call, asAssistant).Want(http.StatusOK)
			wantNoMarker(t, fmt.Sprint("/mcp ", call), "/mcp", a)
		}
	}
	for _, route := range p.Routes(t) {
		if strings.HasPrefix(route, "GET ") && !asked[route] && !needsSignIn(route) {
			t.Errorf("%s: no address in this test covers the route", route)
		}
	}
	for i, id := range ids {
		body := reader.Get(id.Path()).Want(http.StatusOK).Body
		if private := strings.Contains(signatures[i], "wendeline"); private && !strings.Contains(body, "wendeline") {
			t.Errorf("%s: a signed-in reader does not see the original text of %q", id.Path(), signatures[i])
		}
		visitor.Get("/bucket/?id="+url.QueryEscape(signatures[i])).WantRedirect(http.StatusSeeOther, id.Path())
	}
	for _, path := range []string{"/?period=year", "/problems.csv?period=year", "/problems.json?period=year",
		"/search?q=wendeline", "/search/complete?q=frame:/home/w", "/api/1.0/most-common-problems/?period=year&limit=100"} {
		if body := reader.Get(path).Want(http.StatusOK).Body; !strings.Contains(body, "wendeline") {
			t.Errorf("%s: a signed-in reader does not see the original text", path)
		}
	}
}

// needsSignIn reports whether a route refuses visitors.
func needsSignIn(route string) bool {
	path := strings.TrimPrefix(route, "GET ")
	private := []string{"/admin", "/account", "/my", "/oops/", "/user/", "/problems/", "/searches", "/embargoed",
		"/inbox", "/service/", "/new",
		"/login/resume",
		"/candidates"}
	problem := []string{"/traits", "/mute", "/embargo", "/hold", "/wontfix", "/fixed", "/merge", "/rename", "/split",
		"/link", "/assign",
		"/review",
		"/review/bugs", "/compare",
		"/symbols"}
	return slices.ContainsFunc(private, func(start string) bool { return strings.HasPrefix(path, start) }) ||
		strings.HasPrefix(path, "/assets/") || path == "/problem/{id}.{format}" ||
		slices.ContainsFunc(problem, func(end string) bool { return path == "/problem/{id}"+end })
}

// wantNoMarker fails the test if an answer contains private data that is not part of its own
// address.
func wantNoMarker(t *testing.T, path, address string, a *handlertest.Answer) {
	t.Helper()
	text := strings.ToLower(a.Body)
	for name, values := range a.Header {
		if name != "Location" && name != "Hx-Push-Url" && name != "Hx-Redirect" {
			text += strings.ToLower(strings.Join(values, "\n"))
		}
	}
	if decoded, err := url.QueryUnescape(address); err == nil && (strings.Contains(decoded, "wend") ||
		strings.Contains(decoded, "quay")) {
		for _, echoed := range []string{"file:wendeline", "file%3awendeline", "q=wendeline", "search: wend", "wendeline\""} {
			if strings.Contains(decoded, "wendeline") {
				text = strings.ReplaceAll(text, echoed, "")
			}
		}
	}
	for _, marker := range []string{"wendeline", "quay.example"} {
		if i := strings.Index(text, marker); i >= 0 {
			t.Errorf("%s: visitors see %q: …%s…", path, marker, text[max(0, i-150):min(len(text), i+60)])
		}
	}
}

// privatePlace matches a row of the table in docs/privacy.md: address, records and test.
var privatePlace = regexp.MustCompile("(?m)^\\| `((?:GET|POST) /[^`]*)` \\|[^|]*\\|[^|]*\\|" +
	"([^|]*)\\| `(Test\\w+)` \\|$")

// TestPrivatePlaces compares the table of addresses with private data with what every address shows to a
// reader of everything.
func TestPrivatePlaces(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	p := handlertest.NewPagesIn(t, handlertest.Options{Store: dbtest.Open(t, address), Disconnected: true})
	alpha := newRightsPackage(t, p, address, "alpha", "1")
	text := dbtest.Must(os.ReadFile("../docs/privacy.md"))(t)
	routes, tests, listed := map[string]bool{}, testNames(t), map[string]bool{}
	for _, route := range p.Routes(t) {
		routes[route] = true
	}
	for _, row := range privatePlace.FindAllStringSubmatch(string(text), -1) {
		route, records, test := row[1], row[2], row[3]
		listed[route] = true
		if !routes[route] || !tests[test] {
			t.Errorf("%s: there is no such route, or no test %s", route, test)
		}
		for action := range strings.SplitSeq(strings.ReplaceAll(records, "`", " "), ",") {
			action = strings.TrimSpace(action)
			if _, known := audit.Words(action); action != "" && !known {
				t.Errorf("%s: there is no action %s", route, action)
			}
		}
	}
	if len(listed) < 12 {
		t.Fatalf("got %d addresses from docs/privacy.md, want at least 12", len(listed))
	}
	admin := p.As(t, crash.RoleAdmin)
	shown := map[string]bool{}
	for _, c := range rightsCases {
		if !strings.HasPrefix(c.route, "GET ") {
			continue
		}
		a := c.send(admin, alpha)
		body := a.Body
		if strings.Contains(c.path, "{machine}") { // the answer may repeat the question
			body = strings.ReplaceAll(body, "horse-alpha", "")
		}
		if a.Status == http.StatusOK && (strings.Contains(body, "zebra-alpha") || strings.Contains(body, "horse-alpha")) {
			shown[c.route] = true
		}
	}
	for route := range shown {
		if !listed[route] {
			t.Errorf("%s shows private data, which docs/privacy.md does not say", route)
		}
	}
	for _, c := range rightsCases {
		if c.shows && !listed[c.route] {
			t.Errorf("%s is not in docs/privacy.md", c.route)
		}
	}
	if len(shown) < 6 {
		t.Errorf("got private data at %d addresses only", len(shown))
	}
}

// TestFilesForVisitors checks that visitors share a file until something is counted, and how many they get
// a minute. People and tokens have no such limit.
func TestFilesForVisitors(t *testing.T) {
	t.Parallel()
	const limit = 5
	site := handlertest.New(t, handlertest.Options{ExportRatePerAddress: limit})
	site.Save(t, crashtest.Native())
	visitor, person := site.Visitor(t), site.As(t, crash.RoleViewer)
	first := visitor.Get("/search.csv?q=tide").Want(http.StatusOK)
	again := visitor.Get("/search.csv?q=tide").Want(http.StatusOK)
	if len(handlertest.CSVOf(t, first)) != 1 || again.Body != first.Body ||
		again.Header.Get("ETag") != first.Header.Get("ETag") {
		t.Errorf("got %q and then %q, want the same file", first.Body, again.Body)
	}
	site.Save(t, crashtest.Native(crashtest.Process(2)))
	if rows := handlertest.CSVOf(t, visitor.Get("/search.csv?q=tide").Want(http.StatusOK)); rows[0]["count"] != "2" {
		t.Errorf("got %v after another report, want a new file", rows)
	}
	visitor.Get("/problems.atom").Want(http.StatusOK)
	visitor.Get("/", handlertest.Header{Name: "Accept", Value: "text/csv"}).Want(http.StatusOK)
	for _, path := range []string{"/problems.json", "/search.csv?q=tide", "/problems.atom"} {
		if a := visitor.Get(path).Want(http.StatusTooManyRequests); a.Header.Get("Retry-After") == "" {
			t.Errorf("%s: got no Retry-After", path)
		}
	}
	visitor.Get("/").Want(http.StatusOK)
	token := handlertest.Header{Name: "Authorization", Value: "Bearer " + handlertest.MakeToken(t, person, "read")}
	for range limit + 1 {
		person.Get("/problems.csv").Want(http.StatusOK)
		visitor.Get("/problems.csv", token).Want(http.StatusOK)
	}
}

// TestPageCache checks that visitors get the same page until something on it changes, and that
// signed-in people get their own.
func TestPageCache(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	p.Several(3, crashtest.Native)
	id := handlertest.BucketOf(t, crashtest.Native())
	for _, path := range []string{"/", "/?period=day", "/search?q=tide", "/package/tidewatch", id.Path()} {
		first := p.Visitor(t).Get(path).Want(http.StatusOK)
		tag := first.Header.Get("ETag")
		again := p.Visitor(t).Get(path).Want(http.StatusOK)
		if tag == "" || again.Header.Get("ETag") != tag || again.Body != first.Body ||
			again.Header.Get("Content-Type") != first.Header.Get("Content-Type") {
			t.Errorf("%s: got %q and %q, want the same page with an entity tag", path, tag, again.Header.Get("ETag"))
		}
		if strings.Contains(first.Body, "csrf_token") {
			t.Errorf("%s: got a POST form, want none for visitors", path)
		}
		same := p.Visitor(t).Get(path, handlertest.Header{Name: "If-None-Match", Value: tag}).Want(http.StatusNotModified)
		if same.Body != "" || same.Header.Get("ETag") != tag ||
			!strings.Contains(strings.Join(same.Header.Values("Vary"), ","), "Cookie") {
			t.Errorf("%s: got %q and %v, want an empty body, the tag and Vary: Cookie", path, same.Body, same.Header)
		}
		own := p.As(t, crash.RoleTriager).Get(path, handlertest.Header{Name: "If-None-Match", Value: tag}).Want(http.StatusOK)
		if own.Header.Get("ETag") != "" || own.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: signed in: got %v, want a private page", path, own.Header)
		}
	}
	page, part := p.Visitor(t).Get("/").Want(http.StatusOK), p.Visitor(t).Part("/").Want(http.StatusOK)
	if part.WantNone("header, main"); part.Header.Get("ETag") == page.Header.Get("ETag") {
		t.Error("got the entity tag of the page on a part of it")
	}
}

// TestPagesFollow checks that visitors, whose pages are cached, and signed-in people see changes at once.
func TestPagesFollow(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	p.Several(3, crashtest.Native)
	id := handlertest.BucketOf(t, crashtest.Native())
	clients := []*handlertest.Client{p.Visitor(t), p.As(t, crash.RoleTriager)}
	for _, count := range []string{"3", "5"} {
		for _, c := range clients {
			c.Get(id.Path()).WantText(".figures", "reports (all time) "+count+" machines (all time) "+count)
			for _, path := range []string{"/", "/package/tidewatch", "/release/Ubuntu%2024.04"} {
				c.Get(path).WantText("td.reports", count)
			}
		}
		if count == "3" {
			p.Several(2, crashtest.Native)
		}
	}
	dbtest.Must(p.Bugs.LinkBug(t.Context(), id, crash.Bug{Number: 4711, Title: "It fell over",
		URL: "https://bugs.example/4711", By: "ada"}))(t)
	for _, path := range []string{"/", id.Path()} {
		for _, c := range clients {
			if a := c.Get(path).Want(http.StatusOK); !strings.Contains(a.Body, "bugs.example/4711\"") {
				t.Errorf("%s: got a page without the bug, want it there at once", path)
			}
		}
	}
	clients[0].Get("/?state=none").WantNone("#problems tbody tr")
	checktest.NoError(t, p.Bugs.UnlinkBug(t.Context(), id, 4711, "ada"))
	if a := clients[0].Get(id.Path()).Want(http.StatusOK); strings.Contains(a.Body, "bugs.example/4711\"") {
		t.Error("got a page with the bug, want it gone at once")
	}
}

// TestCachedPagesAsSent checks that cached pages are sent compressed only to clients that accept
// it, and that redirects and errors are not cached.
func TestCachedPagesAsSent(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	p.Several(3, crashtest.Native)
	body := map[string]string{}
	for accept, want := range map[string]string{"gzip, br": "gzip", "gzip;q=0": "", "identity": "",
		"br;q=1, *;q=0.1": "gzip", "*, gzip;q=0": "", "GZIP; q=0.5": "gzip"} {
		req := dbtest.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, p.URL+"/", nil))(t)
		req.Header.Set("Accept-Encoding", accept)
		resp, err := http.DefaultTransport.RoundTrip(req)
		checktest.NoError(t, err)
		checktest.Equal(t, accept, resp.Header.Get("Content-Encoding"), want)
		var plain io.Reader = resp.Body
		if want == "gzip" {
			plain = dbtest.Must(gzip.NewReader(resp.Body))(t)
		}
		read := dbtest.Must(io.ReadAll(plain))(t)
		_ = resp.Body.Close()
		body[string(read)] = accept
	}
	checktest.Equal(t, "different pages", len(body), 1)
	visitor := p.Visitor(t)
	for range 2 {
		visitor.Get("/search?q="+handlertest.BucketOf(t, crashtest.Native()).String()).WantRedirect(http.StatusSeeOther,
			handlertest.BucketOf(t, crashtest.Native()).Path())
		if a := visitor.Get("/release/none").Want(http.StatusNotFound); a.Header.Get("ETag") != "" {
			t.Errorf("not found: got the tag %q, want none", a.Header.Get("ETag"))
		}
		if a := visitor.Get("/search?q=" + "package%3A%3A(").Want(http.StatusUnprocessableEntity); a.Header.Get(
			"ETag") != "" {
			t.Errorf("invalid query: got the tag %q, want none", a.Header.Get("ETag"))
		}
	}
}

// publicPaths returns pages that are cached for visitors.
func publicPaths(t *testing.T) []string {
	id := handlertest.BucketOf(t, crashtest.Native())
	return []string{"/", "/?period=month", "/search", "/search?q=tide", "/search?q=nothing-like-that",
		"/package/tidewatch", "/release/Ubuntu%2024.04",
		id.Path(), id.Path() + "?versions=all", id.Path() + "?via=" + url.QueryEscape("/?period=month")}
}

// TestUnknownParameters adds unknown parameters to addresses, and every cookie and header that identifies a
// person. They return the same page, tell nothing about the person, and add no cache entries.
func TestUnknownParameters(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	p.Several(3, crashtest.Native)
	visitor := p.Visitor(t)
	for _, path := range publicPaths(t) {
		first := visitor.Get(path).Want(http.StatusOK)
		pages := cachedPages(t, p)
		join := map[bool]string{true: "&", false: "?"}[strings.Contains(path, "?")]
		for _, more := range []string{"u=1", "u=2", "utm_source=x", "new=0", "order=sideways", "sort=count", "complete=",
			"%00=1", "from2=3"} {
			other := visitor.Get(path + join + more).Want(http.StatusOK)
			if other.Body != first.Body || other.Header.Get("ETag") != first.Header.Get("ETag") {
				t.Errorf("%s with %s: got another page", path, more)
			}
		}
		a := p.Visitor(t).Get(path, handlertest.Header{Name: "Cookie", Value: "sessionid=mine; csrftoken=canary"},
			handlertest.Header{Name: "Referer", Value: p.URL + "/canary"},
			handlertest.Header{Name: "User-Agent", Value: "canary"}, handlertest.Header{Name: "X-Forwarded-For",
				Value: "192.0.2.77"}).Want(http.StatusOK)
		for _, private := range []string{"csrf_token", "canary", "192.0.2.77"} {
			if strings.Contains(a.Body, private) {
				t.Errorf("%s: got a cached page that contains %q, want nothing about a person", path, private)
			}
		}
		if b := p.Visitor(t).Get(path).Want(http.StatusOK); b.Body != a.Body {
			t.Errorf("%s: got a different page without cookies, want the same", path)
		}
		checktest.Equal(t, path+": cached pages after unknown parameters", cachedPages(t, p), pages)
	}
	// Known parameters, and different spellings of the same values.
	pages := cachedPages(t, p)
	for i, same := range []string{"/?period=week", "/?shown=week", "/?release=&state=", "/?sort=count",
		"/?period=week&u=1", "/?new=no"} {
		visitor.Get(same).Want(http.StatusOK)
		if after := cachedPages(t, p); after != pages {
			t.Errorf("%d: got %d cached pages after %s, want still %d", i, after, same, pages)
		}
	}
	for _, metric := range []string{"mishap_cache_entries", "mishap_cache_bytes"} {
		if cached(t, p, metric, "lists") == 0 {
			t.Errorf("%s: got 0 for lists, want what the page has computed", metric)
		}
	}
}

// cachedPages returns the number of cached pages from the metrics.
func cachedPages(t *testing.T, p *handlertest.Pages) int {
	t.Helper()
	return cached(t, p, "mishap_cache_entries", "pages")
}

// cached returns a metric of a cache.
func cached(t *testing.T, p *handlertest.Pages, metric, cache string) int {
	t.Helper()
	families := dbtest.Must(p.Metrics.Gather())(t)
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() == metric && m.GetLabel()[0].GetValue() == cache {
				return int(m.GetGauge().GetValue())
			}
		}
	}
	t.Fatalf("got no %s of cached %s", metric, cache)
	return 0
}

// TestPollChangesNothing reads unchanged bugs from the tracker again. Visitors still get the cached
// page.
func TestPollChangesNothing(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	p.Several(3, crashtest.Native)
	id := handlertest.BucketOf(t, crashtest.Native())
	dbtest.Must(p.Bugs.LinkBug(t.Context(), id, crash.Bug{Number: 4711, Title: "It fell over",
		URL: "https://bugs.example/4711", By: "ada"}))(t)
	reading := crash.BugReading{Number: 4711, Title: "It fell over",
		Tasks: []crash.BugTask{{Target: "/ubuntu/+source/tidewatch", Name: "tidewatch (Ubuntu)", Status: "New"}}}
	poll := func() {
		t.Helper()
		checktest.NoError(t, p.Bugs.SaveBugReading(t.Context(), reading, "", 0))
	}
	poll()
	for _, path := range []string{"/", id.Path(), "/problems.json", "/problems.atom"} {
		first := p.Visitor(t).Get(path).Want(http.StatusOK)
		before := dbtest.Must(p.Store.Revision(t.Context()))(t)
		poll()
		same := p.Visitor(t).Get(path, handlertest.Header{Name: "If-None-Match", Value: first.Header.Get("ETag")})
		if after, err := p.Store.Revision(t.Context()); err != nil || after != before ||
			same.Status != http.StatusNotModified {
			t.Errorf("%s: got status %d and revision %s, %v after a poll that found nothing new, want 304 and %s", path,
				same.Status, after, err, before)
		}
	}
	reading.Tasks[0].Status = "Fix Released"
	before := p.Visitor(t).Get(id.Path()).Header.Get("ETag")
	poll()
	if after := p.Visitor(t).Get(id.Path()).Header.Get("ETag"); after == before {
		t.Error("got the stale page after the bug was fixed, want a new one")
	}
}
