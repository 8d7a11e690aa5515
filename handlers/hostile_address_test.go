package handlers_test

import (
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/sizetest"
	"mishap/handlers/handlertest"
)

// hostileTexts are texts that attackers and broken links put into addresses, percent-encoded.
var hostileTexts = []string{
	"%00", "a%00b", "%ff", "%c3%28", "%ed%a0%80", "%C0%AF", "%F4%90%80%80", "..", "%2e%2e", "%2F", "a%2F..%2Fb", "%0A",
	"%0d%0aX:%20y", "%7f", "%20", "%25", "%25%32%35",
	"'", "%22%3E%3Cscript%3E", "99999999999999999999999999", "-1", "0", "1e309", "%E2%80%AE", strings.Repeat("x", 5000),
	strings.Repeat("%ff", 1500),
	"00000000-0000-0000-0000-000000000000", strings.Repeat("f", 40), "x.csv", "%00.csv", "%ff.atom", "x.crash",
	"%00.crash", "NaN", "2026-13-45", "*", "(", `\`,
}

var routeParameter = regexp.MustCompile(`\{[a-z]+\}`)

// queryNames are all query parameters that any page reads.
var queryNames = []string{
	"release", "package", "source", "version", "pkg_arch", "type", "state", "packageset", "user", "period", "from", "to",
	"shown", "sort", "order", "new", "after", "via",
	"q", "of", "id", "next", "versions", "architecture", "complete", "core", "problems", "limit", "offset", "start",
	"system", "bug", "binary_package", "format", "date",
	"old_version", "new_version", "previous_version", "snap", "first_appearance", "hours", "run", "tab", "csrf_token",
	"page", "from_version", "details", "problem",
}

// TestHostileAddresses puts hostile texts into every path and query parameter of every route.
// Nothing may fail internally, and no invalid text may reach the database.
func TestHostileAddresses(t *testing.T) {
	t.Parallel()
	var log safeBuffer
	site := handlertest.New(t, handlertest.Options{Disconnected: true, Log: slog.New(slog.NewTextHandler(&log, nil))})
	b := site.Save(t, crashtest.Native())
	if err := site.Store.WaitCounted(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := site.As(t, crash.RoleAdmin)
	ask := func(method, path string) {
		var a *handlertest.Answer
		if u, err := url.Parse(path); err != nil || u.EscapedPath() == "" {
			t.Fatalf("%s is not an address: %v", path, err)
		}
		if method == http.MethodGet {
			a = c.Get(path)
		} else {
			a = c.Post(path, nil)
		}
		if a.Status >= 500 && a.Header.Get("Retry-After") == "" {
			t.Errorf("%s %.120s: got status %d: %.200s", method, path, a.Status, a.Body)
		}
		// Invalid text must not match anything.
		if what, _, _ := strings.Cut(path, "?"); regexp.MustCompile(`%00|%ff|%c3%28|%ed%a0%80|%C0%AF|%F4%90`).MatchString(
			what) &&
			a.Status != http.StatusBadRequest && a.Status != http.StatusNotFound && a.Status != http.StatusUnauthorized &&
			a.Status != http.StatusUnsupportedMediaType && a.Status != http.StatusMethodNotAllowed &&
			(a.Status != http.StatusMovedPermanently || !strings.HasPrefix(path, "/api/1.0/")) {
			t.Errorf("%s %.120s: got status %d, want 400 or 404", method, path, a.Status)
		}
	}
	queried := map[string]bool{}
	for _, route := range site.Routes(t) {
		method, pattern, _ := strings.Cut(route, " ")
		if pattern == "/logout" || method == http.MethodHead {
			continue
		}
		if strings.HasSuffix(pattern, "/*") {
			for _, text := range hostileTexts {
				ask(method, strings.TrimSuffix(pattern, "*")+text)
				if strings.HasPrefix(pattern, "/api/") {
					for _, resource := range []string{"bucket", "dayoops", "oops", "retracers-results", "versions"} {
						ask(method, strings.TrimSuffix(pattern, "*")+resource+"/"+text+"/")
					}
				}
			}
		}
		good := map[string]string{"{id}": b.ID.String(), "{format}": "csv", "{name}": "tidewatch", "{number}": "1",
			"{note}": "1", "{system}": "machine-1"}
		filled := routeParameter.ReplaceAllStringFunc(pattern, func(name string) string { return good[name] })
		for _, name := range routeParameter.FindAllString(pattern, -1) {
			for _, text := range hostileTexts {
				path := strings.Replace(pattern, name, text, 1)
				ask(method, routeParameter.ReplaceAllStringFunc(path, func(name string) string { return good[name] }))
			}
		}
		if method != http.MethodGet || strings.HasSuffix(pattern, "*") || queried[filled] {
			continue
		}
		queried[filled] = true
		// A single check refuses both texts, so each parameter is normally tested with one of them.
		texts := []string{"a%00b", "%ff"}
		for i, name := range queryNames {
			for n := range sizetest.Rounds(1, len(texts)) {
				ask(method, filled+"?"+name+"="+texts[(i+n)%len(texts)])
			}
		}
		for _, text := range []string{"99999999999999999999999999", "-1", strings.Repeat("x", 300), "%0A",
			"%2F%2Fevil.example", "(", `%22`, "%E2%80%AE"} {
			for _, names := range [][]string{{"period"}, {"from"}, {"after"}, {"via"}, {"q"}, {"id"}, {"of", "package"},
				{"of", "version"}, {"release"}, {"start", "limit", "offset"}} {
				ask(method, filled+"?"+strings.Join(names, "="+text+"&")+"="+text)
			}
		}
	}
	for _, resource := range []string{
		"most-common-problems", "versions", "instances", "average-instances", "average-crashes", "package-rate-of-crashes",
		"package-version-new-buckets",
		"instances-count", "problems-count", "retracers-results", "retracer-queue-length", "crash-signatures-for-bug",
		"reports-for-system", "instance",
		"binary-package-versions", "system-image-versions", "dayoops/20260518", "bucket/x",
	} {
		for _, text := range []string{"%00", "%ff", "99999999999999999999999999", "-1", strings.Repeat("x", 300), "%0A",
			"("} {
			for _, name := range []string{"release", "package", "period", "limit", "start", "q", "pkg_arch", "user",
				"packageset"} {
				ask(http.MethodGet, "/api/1.0/"+resource+"/?id=x&bug=1&system=x&binary_package=x&"+name+"="+text)
			}
			ask(http.MethodGet, "/api/1.0/"+resource+"/?id="+text+"&bug="+text+"&system="+text+"&binary_package="+text+
				"&release="+text+"&package="+text+
				"&old_version="+text+"&new_version="+text+"&previous_version="+text+"&date=20260518")
		}
	}
	for _, name := range []string{"username", "password", "next", "note", "text", "name", "number", "bug", "title",
		"problems", "value"} {
		for _, path := range []string{
			"/login", "/account", "/account/tokens", "/my/follow", "/my/unfollow", "/my/seen", "/problems/chosen",
			"/problems/merge", "/problems/link", "/admin/templates",
			b.ID.Path() + "/notes", b.ID.Path() + "/rename", b.ID.Path() + "/link", b.ID.Path() + "/split", b.ID.Path() +
				"/undo", b.ID.Path() + "/review", "/admin/regroup",
		} {
			for _, text := range []string{"\x00", "\xff", "9999999999999999999999"} {
				form := url.Values{"kind": {"package"}, "field": {"package"}, "username": {"x"}, "password": {"y"}}
				form.Set(name, text)
				if a := c.Post(path, form); a.Status >= 500 && a.Header.Get("Retry-After") == "" {
					t.Errorf("POST %s with %s=%q: got status %d: %.200s", path, name, text, a.Status, a.Body)
				}
			}
		}
	}
	for _, word := range []string{"SQLSTATE", "level=ERROR", "invalid byte sequence", "panic"} {
		if text := log.String(); strings.Contains(text, word) {
			at := strings.Index(text, word)
			t.Errorf("the log contains %s: %s", word, text[max(0, at-300):min(len(text), at+200)])
		}
	}
}

// TestCrashFileByToken checks that scripts can fetch the crash file of a report with an API token.
func TestCrashFileByToken(t *testing.T) {
	t.Parallel()
	p := newPages(t)
	id := p.accept("m", crashtest.Native())
	visitor := p.Visitor(t)
	path := "/oops/" + id.String() + ".crash"
	token := func(scopes ...crash.Scope) handlertest.Header {
		user := p.AddUser(t, crash.RoleTriager)
		secret, _, err := p.Accounts.AddToken(t.Context(), user, "test", scopes, time.Now().AddDate(0, 0, 10))
		if err != nil {
			t.Fatal(err)
		}
		return handlertest.Header{Name: "Authorization", Value: "Bearer " + secret}
	}
	anything := handlertest.Header{Name: "Accept", Value: "*/*"}
	for _, accept := range []string{"*/*", "text/plain", "application/json", "text/html"} {
		a := visitor.Get(path, token(crash.ScopeRead), handlertest.Header{Name: "Accept", Value: accept}).Want(http.StatusOK)
		if !strings.Contains(a.Body, "ProblemType: Crash") {
			t.Errorf("Accept %s: got %.200s, want the file", accept, a.Body)
		}
	}
	visitor.Get("/oops/"+id.String()+".json", token(crash.ScopeRead), anything).Want(http.StatusOK)
	visitor.Get(path, token(crash.ScopeFile), anything).Want(http.StatusForbidden)
	visitor.Get(path, handlertest.Header{Name: "Authorization", Value: "Bearer mishap_no"},
		anything).Want(http.StatusUnauthorized)
	visitor.Get(path, anything).Want(http.StatusUnauthorized)
	visitor.Get("/oops/"+crash.OopsID{1}.String()+".crash", token(crash.ScopeRead), anything).Want(http.StatusNotFound)
	visitor.Get(path+"?core=yes", token(crash.ScopeReadPrivate), anything).Want(http.StatusNotFound) // no core is stored
}
