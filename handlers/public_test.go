package handlers_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/grouping"
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
		"GET /theme /theme?theme=dark", "GET /unsubscribe/{token} /unsubscribe/x",
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
		"GET /release/{name} /release/Ubuntu%2024.04", "GET /gate /gate",
		"GET /gate /gate?package=quillpad&version=0.9.1-1", "GET /gate /gate?package=tidewatch&version=9",
		"GET /bug/{number} /bug/4711", "GET /healthz /healthz",
		"GET /readyz /readyz", "GET /bucket /bucket?id=none",
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
	if err := p.Store.WaitCounted(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids[:2] {
		if _, err := p.Bugs.LinkBug(t.Context(), id, crash.Bug{Number: 4711, Title: "It fell over",
			URL: "https://bugs.example/4711", By: "ada"}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.Problems.Set(t.Context(), crash.Mark{Bucket: ids[0], Kind: crash.MarkWontFix, Person: "wendeline",
		Reason: "wendeline says so"}); err != nil {
		t.Fatal(err)
	}
	reader, visitor := p.As(t, crash.RoleViewer), p.Visitor(t)
	requests := publicRequests(p, ids, signatures)
	asked := map[string]bool{}
	for _, request := range requests {
		method, rest, _ := strings.Cut(request, " ")
		route, path, _ := strings.Cut(rest, " ")
		asked[method+" "+route] = true
		// The signed-in reader asks first and last. No cache may serve one person's answer to the other.
		reader.Get(path)
		for _, headers := range [][]handlertest.Header{
			nil, handlertest.AsPart, {{Name: "Accept", Value: "application/json"}}, {{Name: "Accept", Value: "text/csv"}},
			{{Name: "Accept", Value: "application/atom+xml"}},
		} {
			a := visitor.Get(path, headers...)
			if a.Status >= 500 {
				t.Errorf("%s: got status %d", path, a.Status)
			}
			wantNoMarker(t, path, path, a)
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
		"/inbox", "/service/",
		"/login/resume",
		"/candidates"}
	problem := []string{"/traits", "/mute", "/embargo", "/hold", "/wontfix", "/fixed", "/merge", "/rename", "/split",
		"/link",
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

// TestSearchIsNoOracle checks that visitors cannot infer hidden text from search results.
func TestSearchIsNoOracle(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	p.Accept("m", crashtest.Native(crashtest.Set("ExecutablePath", privateHome+"/bin/tide")))
	p.Accept("m", crashtest.Native(crashtest.Process(7)))
	if err := p.Store.WaitCounted(t.Context()); err != nil {
		t.Fatal(err)
	}
	reader, visitor := p.As(t, crash.RoleViewer), p.Visitor(t)
	rows := func(c *handlertest.Client, query string) int {
		return strings.Count(c.Get("/search.csv?q="+url.QueryEscape(query)).Want(http.StatusOK).Body, "\n") - 1
	}
	for query, want := range map[string][2]int{ // visitor, reader
		"/home/wend": {0, 1}, "/home/nobody": {0, 0}, "-/home/wend": {2, 1}, "-/home/nobody": {2, 2},
		"program:/home/w*": {0, 1}, "file:wend": {0, 1}, "signature:wend": {0, 1}, "frame:tide": {2, 2},
	} {
		for i, c := range []*handlertest.Client{reader, visitor, reader} {
			if got := rows(c, query); got != want[(i+1)%2] {
				t.Errorf("%s, request %d: got %d rows, want %d", query, i, got, want[(i+1)%2])
			}
		}
	}
	for _, typed := range []string{"program:t", "frame:/home/w", "frame:w", "program:w"} {
		if body := visitor.Get("/search/complete?q=" + url.QueryEscape(typed)).Want(http.StatusOK).Body; strings.Contains(
			body, "wendeline") {
			t.Errorf("%s: got a hidden name as a suggestion: %s", typed, body)
		}
	}
}
