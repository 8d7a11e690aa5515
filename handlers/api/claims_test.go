package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/routers"

	"mishap/crash"
	"mishap/handlers/handlertest"
)

// claim is one behaviour that clients rely on: a request and the answer it must get.
type claim struct {
	fact   string // section about the old service; an asterisk marks a difference listed in docs/api.md
	ask    string // address below the prefix; {words} are replaced by values of the fixture
	status int
	wants  []string // path=JSON, see check

	method string // GET if empty, or POST with a body
	body   string // JSON
	as     role
	header handlertest.Header
}

type role int

const (
	visitor role = iota
	viewer
	triager
	anybody // a visitor if the resource allows it, else a viewer
)

// claims returns all claims, section by section.
func claims() []claim {
	return slices.Concat(addressClaims(), pagingClaims(), methodClaims(), commonClaims(), problemClaims(), countClaims(),
		reportClaims(), questionClaims(), clientClaims())
}

// TestClaims sends every request and checks each answer, also against the OpenAPI document.
func TestClaims(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.fill()
	words := h.words()
	clients := map[role]*handlertest.Client{visitor: h.Visitor(t), viewer: h.As(t, crash.RoleViewer),
		triager: h.As(t, crash.RoleTriager)}
	_, router := document(t, clients[visitor])
	all := claims()
	for _, c := range all { // requests the archive facts, which are fetched in the background
		if strings.HasPrefix(c.fact, "8.") { // of the form of answers only
			continue
		}
		if c.as == anybody {
			c.as = viewer
		}
		if c.method == "" && c.body == "" {
			clients[c.as].Get(api(words.Replace(c.ask)))
		} else if c.body != "" && !strings.HasPrefix(c.ask, "create") {
			h.ask(clients[c.as], c, words)
		}
	}
	h.read()
	checks, facts := 0, map[string]int{}
	for _, c := range all {
		if c.as == anybody {
			c.as = viewer
		}
		a := h.ask(clients[c.as], c, words)
		checks += 1 + len(c.wants)
		facts[strings.TrimSuffix(c.fact, "*")]++
		if a.Status != c.status {
			t.Errorf("§%s %s %s: got status %d, want %d: %.300s", c.fact, c.method, c.ask, a.Status, c.status, a.Body)
			continue
		}
		var value any
		if a.Body != "" && strings.HasPrefix(a.Header.Get("Content-Type"), "application/json") {
			if err := json.Unmarshal([]byte(a.Body), &value); err != nil {
				t.Errorf("§%s %s: the answer is not JSON: %v", c.fact, c.ask, err)
			}
			c.conforms(t, router, words, a)
		}
		for _, want := range c.wants {
			if text, inBody := strings.CutPrefix(want, "~="); inBody {
				if !strings.Contains(a.Body, text) {
					t.Errorf("§%s %s: got %.200s, want %s in it", c.fact, c.ask, a.Body, text)
				}
				continue
			}
			if got, want, ok := evaluate(value, a.Header, words.Replace(want)); !ok {
				t.Errorf("§%s %s: got %s, want %s", c.fact, c.ask, got, want)
			}
		}
	}
	for _, fact := range []string{"8.1", "8.2", "8.3", "8.4", "9.1", "9.2", "9.3", "9.4", "9.5", "9.6", "9.7", "11", "12",
		"15"} {
		if facts[fact] == 0 {
			t.Errorf("§%s: no request tests this section", fact)
		}
	}
	t.Logf("%d requests, %d checks, by section: %v", len(all), checks, facts)
}

// conforms checks the answer against the OpenAPI document if the document has the resource and
// method.
func (c claim) conforms(t *testing.T, router routers.Router, words *strings.Replacer, a *handlertest.Answer) {
	t.Helper()
	path := words.Replace(c.ask)
	route, _, _ := strings.Cut(path, "?")
	known := strings.Count(route, "/") <= 2 && strings.HasSuffix(route, "/") && !strings.Contains(route, "//") &&
		!strings.Contains(route, "%2F")
	if !known || c.method != "" || a.Status == http.StatusMethodNotAllowed || strings.HasSuffix(route, "schema/") ||
		strings.HasPrefix(path, "no-such") || strings.HasPrefix(path, "versions/some") || path == "" ||
		a.Status == http.StatusBadRequest && strings.HasPrefix(path, "dayoops/?") || path == "dayoops/" ||
		path == "bucket/" || path == "oops/" {
		return
	}
	method, body := http.MethodGet, any(nil)
	if c.body != "" {
		method = http.MethodPost
		if err := json.Unmarshal([]byte(words.Replace(c.body)), &body); err != nil {
			return // other formats have their own tests
		}
	}
	conforms(t, router, method, api(path), body, a)
}

// ask sends the request of a claim.
func (h *fixture) ask(client *handlertest.Client, c claim, words *strings.Replacer) *handlertest.Answer {
	h.t.Helper()
	if c.body != "" && c.method == "" && c.header.Name == "" && json.Valid([]byte(words.Replace(c.body))) {
		return client.PostJSON(api(words.Replace(c.ask)), json.RawMessage(words.Replace(c.body)))
	}
	method := c.method
	if method == "" {
		method = map[bool]string{true: http.MethodGet, false: http.MethodPost}[c.body == ""]
	}
	r, err := http.NewRequestWithContext(h.t.Context(), method, h.URL+api(words.Replace(c.ask)),
		strings.NewReader(words.Replace(c.body)))
	if err != nil {
		h.t.Fatal(err)
	}
	if c.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.header.Name != "" {
		r.Header.Set(c.header.Name, c.header.Value)
	}
	return client.Do(r)
}

// words returns the replacements for {words} in claims: ids of the fixture and spellings of
// signatures.
func (h *fixture) words() *strings.Replacer {
	h.t.Helper()
	c := h.As(h.t, crash.RoleTriager)
	var made struct {
		Report string `json:"report"`
	}
	c.PostJSON(api("create-bug-report/"), map[string]string{"signature": "on two machines"}).Want(http.StatusCreated).JSON(
		&made)
	number, err := strconv.ParseInt(made.Report, 10, 64)
	if err != nil {
		h.t.Fatal(err)
	}
	reading := crash.BugReading{Number: number, DuplicateOf: 77, Tasks: []crash.BugTask{
		{Target: "/ubuntu/+source/tidewatch", Status: "Fix Released", Complete: true},
		{Target: "/ubuntu/noble/+source/tidewatch", Status: "New"},
	}}
	if err := h.Bugs.SaveBugReading(h.t.Context(), reading, "https://tracker.example/bugs/77", time.Hour); err != nil {
		h.t.Fatal(err)
	}
	path := func(s string) string { return strings.ReplaceAll(url.PathEscape(s), "%2F", "/") }
	quoted := func(s string) string { return strings.ReplaceAll(strconv.Quote(s), `\u00fc`, "ü") }
	text := func(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }
	return strings.NewReplacer(
		"{tide}", text(nativeSignature()), "{tide-twice}", text(text(nativeSignature())), "{tide-path}",
		path(nativeSignature()),
		"{tide-key}", h.bucket(nativeSignature()).ID.String(), "{tide-json}", quoted(nativeSignature()),
		"{odd}", text(odd), "{odd-twice}", text(text(odd)), "{odd-key}", h.bucket(odd).ID.String(), "{odd-json}", quoted(odd),
		"{odd-bare}", strings.TrimPrefix(path(odd), "/"), "{odd-plus}", strings.ReplaceAll(text(odd), "%2B", "+"),
		"{odd-segment}", url.PathEscape(odd), "{two-key}", h.bucket("on two machines").ID.String(),
		"{older}", older, "{newer}", newer, "{id}", h.ids[0].String(), "{last}", h.ids[len(h.ids)-1].String(), "{bug}",
		made.Report,
		"{rate}", "release=Ubuntu%2024.04&package=tidewatch&old_version="+older+"&new_version="+newer+"&date=20260518",
	)
}

// evaluate evaluates one expectation of the form path=JSON. A path consists of names and indexes
// between slashes. In it, * means every element of a list, # its length and keys the names of an
// object. For a string, ^ reports whether it begins with the value. A path that begins with @ names
// a header; ~=text searches the body.
func evaluate(value any, header http.Header, want string) (got, wanted string, ok bool) {
	path, wanted, found := strings.Cut(want, "=")
	if !found {
		return "a want without =", want, false
	}
	if name, isHeader := strings.CutPrefix(path, "@"); isHeader {
		got = strings.Join(header.Values(name), ", ")
		return name + ": " + got, wanted, got == wanted
	}
	parts := strings.Split(path, "/")
	begins := parts[len(parts)-1] == "^"
	if begins {
		parts = parts[:len(parts)-1]
	}
	found1, err := follow(value, parts)
	if err != nil {
		return err.Error(), want, false
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(found1); err != nil {
		return err.Error(), want, false
	}
	got = strings.TrimSpace(b.String())
	if text, isText := found1.(string); begins {
		return path + "=" + got, wanted, isText && strings.HasPrefix(text, strings.Trim(wanted, `"`))
	}
	return path + "=" + got, wanted, got == wanted
}

func follow(value any, parts []string) (any, error) {
	if len(parts) == 0 {
		return value, nil
	}
	part, rest := parts[0], parts[1:]
	switch v := value.(type) {
	case map[string]any:
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names)
		switch part {
		case "keys":
			return strings.Join(names, " "), nil
		case "#":
			return len(v), nil
		}
		field, there := v[part]
		if !there {
			return nil, fmt.Errorf("no %s among %s", part, names)
		}
		return follow(field, rest)
	case []any:
		switch part {
		case "#":
			return len(v), nil
		case "*":
			all := []any{}
			for _, one := range v {
				x, err := follow(one, rest)
				if err != nil {
					return nil, err
				}
				all = append(all, x)
			}
			return all, nil
		}
		i, err := strconv.Atoi(part)
		if err != nil || i >= len(v) {
			return nil, fmt.Errorf("no %s in a list of %d", part, len(v))
		}
		return follow(v[i], rest)
	}
	return nil, fmt.Errorf("%s is below %v, which has nothing below", part, value)
}

// lists are the resources that return lists, with the parameters that each requires.
var lists = []string{
	"most-common-problems/?period=year", "versions/?id={tide}", "instances/?id={tide}", "average-instances/?id={tide}",
	"average-crashes/?release=Ubuntu%2024.04", "package-rate-of-crashes/?{rate}",
	"package-version-new-buckets/?package=tidewatch&previous_version={older}&new_version={newer}",
	"instances-count/?period=x",
	"problems-count/?period=x", "retracers-results/?period=x", "retracers-average-processing-time/?period=x",
	"retracer-queue-length/?hours=4",
	"crash-signatures-for-bug/?bug={bug}", "reports-for-system/?system=machine-1", "instance/?id={id}",
	"system-image-versions/?image_type=device_image",
	"binary-package-versions/?binary_package=tidewatch", "symbols/missing/?x=y",
}

// others are the resources that are read by a key.
var others = []string{"bucket/{tide-key}/", "dayoops/20260518/", "oops/{id}/", "problem-status/{tide-key}/"}

// questions are the resources that take a request body.
var questions = []string{"reports-state/", "package-version-is-most-recent/", "release-package-version-pockets/",
	"create-bug-report/", "set-problem-status/"}

// pagingClaims test the paging of every list, and of some, which share the code, with all kinds of parameters.
func pagingClaims() []claim {
	const envelope = `meta/keys="limit next offset previous total_count"`
	wrong := func(sentence string) []string {
		return []string{`error="` + sentence + `"`, `error_message="` + sentence + `"`, `keys="code error error_message"`}
	}
	var list []claim
	for i, ask := range lists {
		add := func(query string, status int, wants ...string) {
			list = append(list, claim{fact: "8.2", ask: ask + query, status: status, wants: wants, as: anybody})
		}
		add("", 200, envelope, `keys="meta objects"`, "meta/limit=360", "meta/offset=0", "meta/next=null",
			"meta/previous=null",
			"@Content-Type=application/json", "@Cache-Control=no-cache")
		add("&limit=1", 200, "meta/limit=1")
		add("&offset=abc", 400, wrong("Invalid offset 'abc' provided. Please provide an integer.")...)
		if i%5 > 0 {
			continue
		}
		add("&limit=0", 200, "meta/limit=360")
		add("&limit=1000", 200, "meta/limit=360")
		add("&limit=5&limit=2", 200, "meta/limit=2")
		add("&limit=&offset=", 200, "meta/limit=360", "meta/offset=0")
		add("&offset=99999", 200, "meta/offset=99999", "objects/#=0", "meta/next=null", `meta/previous/^="/api/1.0/`+
			ask[:strings.Index(ask, "?")])
		add("&limit=abc", 400, wrong("Invalid limit 'abc' provided. Please provide a positive integer.")...)
		add("&limit=-1", 400, wrong("Invalid limit '-1' provided. Please provide a positive integer >= 0.")...)
		add("&limit=1.5", 400, wrong("Invalid limit '1.5' provided. Please provide a positive integer.")...)
		add("&offset=-3", 400, wrong("Invalid offset '-3' provided. Please provide a positive integer >= 0.")...)
		add("&format=nosuch&unknown=1&callback=f", 200, envelope, "@Content-Type=application/json")
		list = append(list, claim{fact: "8.2", ask: ask, status: 200, as: anybody, header: handlertest.Header{Name: "Accept",
			Value: "text/html"}, wants: []string{"@Content-Type=application/json"}},
			claim{fact: "8.2", ask: ask + "&format=xml", status: 200, as: anybody,
				wants: []string{"@Content-Type=application/xml; charset=utf-8", "~=<response><meta type=\"hash\">",
					`~=<objects type="list">`}},
			claim{fact: "8.2", ask: ask, status: 200, as: anybody, header: handlertest.Header{Name: "Accept",
				Value: "application/xml"}, wants: []string{"@Content-Type=application/xml; charset=utf-8"}},
			claim{fact: "8.2*", ask: ask + "&format=yaml", status: 200, as: anybody,
				wants: []string{"@Content-Type=text/yaml; " +
					"charset=utf-8"}})
	}
	return list
}

// methodClaims test methods that a resource does not support.
func methodClaims() []claim {
	var list []claim
	for _, ask := range slices.Concat(lists, others) {
		list = append(list, claim{fact: "8.1*", method: http.MethodHead, ask: ask, status: 200, as: anybody,
			wants: []string{"@Content-Type=application/json"}},
			claim{fact: "8.1", method: http.MethodOptions, ask: ask, status: 200, wants: []string{"@Allow=GET, HEAD"}})
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch} {
			list = append(list, claim{fact: "8.1", method: method, ask: ask, status: 405, wants: []string{"@Allow=GET, HEAD",
				`code="method"`}})
		}
		path, query, _ := strings.Cut(ask, "?")
		to := "@Location=/api/1.0/" + path
		if query != "" {
			to += "?" + query
		}
		list = append(list, claim{fact: "8.1", ask: strings.TrimSuffix(path, "/") +
			map[bool]string{true: "?" + query}[query != ""], status: 301, wants: []string{to}})
	}
	for _, ask := range questions {
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete} {
			list = append(list, claim{fact: "8.1", method: method, ask: ask, status: 405, wants: []string{"@Allow=POST"}})
		}
		list = append(list, claim{fact: "8.1", method: http.MethodOptions, ask: ask, status: 200,
			wants: []string{"@Allow=POST"}})
	}
	return list
}

// addressClaims test the form of addresses: slashes, escapes and the like.
func addressClaims() []claim {
	resources := `keys="average-crashes average-instances binary-package-versions bucket crash-signatures-for-bug ` +
		`create-bug-report dayoops erase-machine instance instances instances-count ` +
		`most-common-problems oops package-rate-of-crashes package-version-is-most-recent package-version-new-buckets ` +
		`problem-people problem-status problems-count release-health release-package-version-pockets ` +
		`reports-for-system reports-state retracer-queue-length retracers-average-processing-time retracers-results ` +
		`set-problem-status symbols/missing system-image-versions update-gate versions"`
	list := []claim{
		{fact: "8.1", ask: "", status: 200, wants: []string{"#=31", resources, `versions/list_endpoint="/api/1.0/versions/"`,
			`versions/schema="/api/1.0/versions/schema/"`}},
		{fact: "8.1*", ask: "no-such-thing/", status: 404, wants: []string{`code="no_resource"`}},
		{fact: "8.1*", ask: "no-such-thing/x/", status: 404},
		{fact: "8.1", ask: "versions/some-key/?id=x", status: 404},
		{fact: "8.1", ask: "dayoops/set/20260518;20260517;20250101/", status: 200,
			wants: []string{"objects/#=3", `objects/*/date=["20260518","20260517","20250101"]`, `keys="objects"`}},
		{fact: "8.1", ask: "bucket/set/{tide-key};nothing;{odd-key}/", status: 200,
			wants: []string{"objects/#=2", `not_found=["nothing"]`}},
		{fact: "8.1*", ask: "bucket/set/" + strings.Repeat("x;", 100) + "x/", status: 400,
			wants: []string{`code="too_many"`}},
		{fact: "8.1*", ask: "oops/set/{id};no-such-report/", status: 200, as: viewer,
			wants: []string{"objects/#=1", `not_found=["no-such-report"]`}},
		{fact: "8.1*", ask: "oops/set/{id}/", status: 401},
		{fact: "9.6*", ask: "dayoops/", status: 400, wants: []string{`code="no_list"`}},
		{fact: "9.2*", ask: "bucket/", status: 400, wants: []string{`code="no_list"`}},
		{fact: "9.6*", ask: "oops/", status: 400, as: viewer, wants: []string{`code="no_list"`}},
		{fact: "12", ask: "oops/", status: 401},
	}
	for _, ask := range slices.Concat(lists, others, questions) {
		name, _, _ := strings.Cut(ask, "/")
		if name == "symbols" {
			name = "symbols/missing"
		}
		method := map[bool]string{true: "post", false: "get"}[slices.Contains(questions, ask)]
		list = append(list, claim{fact: "8.1*", ask: name + "/schema/", status: 200,
			wants: []string{`default_format="application/json"`, `allowed_list_http_methods=["` + method + `"]`}})
	}
	return list
}

const commonRow = `objects/0/keys="count first_seen first_seen_release function last_seen last_seen_release ` +
	`package rank report web_link"`

// commonClaims test most-common-problems.
func commonClaims() []claim {
	ask := func(fact, query string, status int, wants ...string) claim {
		return claim{fact: fact, ask: "most-common-problems/?" + query, status: status, wants: wants}
	}
	counts := func(fact, query, numbers string) claim {
		return ask(fact, query, 200, "objects/*/count=["+numbers+"]")
	}
	return []claim{
		ask("9.1", "", 200, commonRow, "objects/*/rank=[1,2,3,4,5]", "objects/*/count=[11,3,2,1,1]",
			"objects/0/function={tide-json}", `objects/0/package="tidewatch"`,
			`objects/0/first_seen="{older}"`, `objects/0/last_seen="{newer}"`, `objects/0/last_seen_release="Ubuntu 24.04"`,
			`objects/0/web_link="https://errors.example/problem/{tide-key}"`, `objects/0/report=""`, `objects/2/report="{bug}"`),
		ask("9.1", "limit=2", 200, "meta/total_count=2", "meta/limit=2", "objects/*/rank=[1,2]"),
		ask("9.1", "limit=0", 200, "meta/total_count=0", "meta/limit=360", "objects/#=0"),
		ask("9.1", "limit=1000&period=year", 200, "meta/limit=360", "objects/#=6"),
		ask("8.2", "limit=2&offset=1", 200, "objects/*/rank=[2]", `meta/previous=null`, "meta/next=null"),
		ask("8.2", "release=Ubuntu%2024.04&limit=1", 200, "meta/next=null", "meta/total_count=1"),
		counts("9.1", "period=day", "11,3,2,1,1"), counts("9.1", "period=today", "11,3,2,1,1"),
		counts("9.1", "period=week", "26,3,2,1,1,1"), counts("9.1", "period=month", "26,3,2,1,1,1"),
		counts("9.1", "period=year", "26,3,2,2,1,1"),
		counts("9.1", "period=20260517", "4,1"), counts("9.1", "period=202604", "1"), counts("9.1", "period=2025", ""),
		counts("9.1", "period=2026", "26,3,2,2,1,1"),
		counts("9.1", "from=20260516&to=20260517", "6,1"), counts("9.1", "from=2026-05-16&to=2026-05-17", "6,1"),
		counts("9.1", "from=2026/05/16&to=2026/05/17", "6,1"),
		counts("9.1", "from=20260517&to=20260516", ""), counts("9.1", "from=20260101&to=20260102&period=day", "11,3,2,1,1"),
		counts("9.1", "from=&to=&period=", "11,3,2,1,1"),
		counts("9.1", "release=Ubuntu%2024.04", "10,3,2,1"), counts("9.1", "release=Ubuntu+24.04", "10,3,2,1"),
		counts("9.1", "release=Debian%2013", "1"), counts("9.1", "release=Plan%209", ""),
		counts("9.1", "package=tidewatch", "11,3,2"), counts("9.1", "package=nosuch", ""),
		counts("9.1", "package=tidewatch&version={newer}", "10,3,2"),
		counts("9.1", "package=tidewatch&version={older}&period=week", "15"), counts("9.1", "pkg_arch=amd64", "11,3,2,1,1"),
		counts("9.1", "pkg_arch=riscv64", ""),
		counts("9.1", "release=Ubuntu%2024.04&package=tidewatch&version={newer}&pkg_arch=amd64&period=day", "10,3,2"),
		counts("9.1", "user=tide-team", "11,3,2"), counts("9.1", "user=idle-team", ""),
		counts("9.1", "user=https://launchpad.net/~tide-team", "11,3,2"),
		ask("9.1", "user=nobody-there", 404), counts("9.1", "packageset=desktop&release=Ubuntu%2024.04", "10,3,2"),
		counts("9.1", "user=idle-team&package=tidewatch", ""),
		counts("9.1", "package=nosuch&packageset=desktop&release=Ubuntu%2024.04", ""),
		counts("9.1", "first_appearance=1&version={newer}", "3,2"), counts("9.1", "first_appearance=true&version={older}",
			""), counts("9.1", "first_appearance=&version={newer}", "10,3,2"),
		ask("9.1*", "first_appearance=1", 400, `code="missing_version"`), counts("9.1", "snap=True", ""),
		counts("9.1", "snap=False", "11,3,2,1,1"),
		counts("9.1", "rootfs_build_version=7&channel_name=devel&device_name=mako&device_image_version=3", "11,3,2,1,1"),
		counts("9.1", "release=Plan%209&release=Debian%2013", "1"), counts("9.1", "q=package:tidewatch", "11,3,2"),
		ask("9.1*", "period=century", 400, `code="bad_period"`), ask("9.1*", "period=20261301", 400, `code="bad_period"`),
		ask("9.1*", "from=20260516", 400, `code="half_a_range"`),
		ask("9.1*", "to=20260516", 400, `code="half_a_range"`), ask("9.1*", "from=soon&to=20260516", 400, `code="bad_from"`),
		ask("9.1*", "from=20260516&to=20260231", 400, `code="bad_to"`),
		ask("9.1*", "q=x&period=2020", 400, `code="bad_q"`),
		ask("9.1", "package="+strings.Repeat("x", 201), 400, `code="bad_package"`),
		ask("9.1*", "q=(", 400, `code="bad_q"`), ask("9.1", "package=%00", 400, `code="bad_package"`),
		ask("8.4", "package=%FF%FE", 200, "objects/#=0"), ask("8.4", "package=100%25&version=%zz", 200, "objects/#=0"),
	}
}

// problemClaims test single problems and the answers that stop phased updates.
func problemClaims() []claim {
	get := func(fact, ask string, status int, wants ...string) claim {
		return claim{fact: fact, ask: ask, status: status, wants: wants}
	}
	missing := func(ask, name string) claim {
		return get("9.2*", ask, 400, `code="missing_`+name+`"`, `error/^="The parameter `+name+` is missing"`)
	}
	const fields = `keys="bucket_id metadata signature source_package stacktrace thread_stacktrace traceback"`
	const tide = `versions/?id={tide}`
	const buckets = "package-version-new-buckets/?package=tidewatch"
	const rate = "package-rate-of-crashes/?"
	return []claim{
		// bucket
		get("9.2", "bucket/{tide-path}/", 200, fields, "bucket_id={tide-json}", "signature={tide-json}",
			`source_package="tidewatch"`,
			"stacktrace=null", "thread_stacktrace=null", "traceback=null",
			`metadata/keys="FirstSeen FirstSeenRelease LastSeen LastSeenRelease Source"`, `metadata/Source="tidewatch"`,
			`metadata/FirstSeen="{older}"`, `metadata/LastSeen="{newer}"`),
		get("8.1", "bucket/{tide}/", 200, "bucket_id={tide-json}"), get("8.1", "bucket/{odd-segment}/", 200,
			"bucket_id={odd-json}"), get("9.2", "bucket/{odd}/", 200, "bucket_id={odd-json}"),
		get("9.2*", "bucket/{odd-twice}/", 200, "bucket_id={odd-json}"), get("9.2", "bucket/{tide-key}/", 200,
			"bucket_id={tide-json}"), get("9.2", "bucket/{two-key}/", 200, `metadata/CreatedBug="{bug}"`),
		get("9.2*", "bucket/{odd-bare}/", 200, "bucket_id={odd-json}"),
		get("9.2*", "versions/?id={odd-plus}", 200, "objects/#=2"),
		get("9.2", "bucket/no%20such%20thing/", 404, `code="unknown_bucket"`),
		get("9.2", "bucket/0000000000000000000000000000000000000000/", 404),
		get("8.1", "bucket/{tide}", 301, "@Location=/api/1.0/bucket/{tide}/"),
		{fact: "9.2", ask: "bucket/{tide-key}/", as: viewer, status: 200, wants: []string{`stacktrace/^="#0  0x"`,
			`thread_stacktrace/^="."`, "traceback=null"}},
		// versions
		get("9.2", tide, 200, "objects/#=4", `objects/*/version=["{older}","1.4.9-1+deb13u1","{newer}","All versions"]`,
			"objects/*/noble=[15,-1,10,25]", "objects/*/derivatives=[-1,1,-1,1]",
			"objects/*/total=[15,1,10,26]", "objects/*/precise=[-1,-1,-1,-1]", `objects/0/pockets={"noble":"Release"}`,
			`objects/2/pockets={"noble":"Updates"}`, "objects/3/pockets={}"),
		get("9.2", tide+"&limit=2", 200, "objects/#=2", `meta/next="/api/1.0/versions/?id=`+
			"%2Fusr%2Fbin%2Ftidewatch%3A11%3Atide_parse_row%3Atide_load%3Aon_open_clicked%3A__libc_start_call_main%3A_start"+
			`&limit=2&offset=2"`),
		get("9.2*", "versions/?id={tide-twice}", 200, "objects/#=4"), get("9.2", "versions/?id={tide-key}", 200,
			"objects/#=4"), get("9.2", "versions/?id={odd}", 200, "objects/#=2", "objects/*/noble=[3,3]"),
		get("9.2", "versions/?id={odd-twice}", 200, "objects/#=2"), get("9.2", "versions/?id=unknown", 200, "objects/#=0",
			"meta/total_count=0"), missing("versions/", "id"), missing("versions/?id=", "id"),
		get("9.2", "versions/?id=x&id={odd}", 200, "objects/#=2"),
		// instances
		get("9.2", "instances/?id={odd}", 200, "objects/#=3",
			`objects/0/keys="architecture incident package_version timestamp ubuntu_version"`,
			`objects/0/timestamp="2026-05-18T17:00:00"`,
			`objects/0/package_version="{newer}"`, `objects/0/ubuntu_version="Ubuntu 24.04"`, `objects/0/architecture="amd64"`),
		get("9.2", "instances/?limit=100&id={odd-twice}&start=", 200, "objects/#=3"),
		get("9.2", "instances/?id={tide}&start={id}", 200, "objects/#=11"),
		get("9.2*", "instances/?id={tide}&start=yesterday", 400, `code="bad_start"`),
		get("9.2", "instances/?id=unknown", 200, "objects/#=0"), missing("instances/", "id"),
		get("9.2", "instances/?id={tide}&start=00000000-0000-1000-8000-000000000000", 200, "objects/#=0"),
		// average-instances
		get("9.2", "average-instances/?limit=0&id={tide}", 200, `objects/0/keys="color key values"`,
			`objects/*/key=["Debian 13","Ubuntu 22.04","Ubuntu 24.04","Ubuntu 25.10","Ubuntu 26.04"]`,
			`objects/2/values/0={"x":1779062400000,"y":1.4285714285714286}`, "objects/2/values/#=6", "objects/1/values=[]",
			"objects/2/values/5/y=0.8"),
		get("9.2", "average-instances/?id={odd-twice}", 200,
			`objects/1/values=[{"x":1779062400000,"y":0.42857142857142855}]`), get("9.2", "average-instances/?id=unknown", 200,
			"objects/0/values=[]"), missing("average-instances/", "id"),
		// package-version-new-buckets
		get("9.2", buckets+"&previous_version={older}&new_version={newer}", 200, "objects/#=1",
			"objects/0/function={odd-json}", `objects/0/web_link="https://errors.example/problem/{odd-key}"`,
			`objects/0/archive="published"`, "objects/0/systems=3"),
		get("9.2", buckets+"&previous_version={newer}&new_version={older}", 200, "objects/#=0"),
		get("9.2", buckets+"&previous_version=0.1-1&new_version={newer}", 404, `code="unknown_version"`),
		get("9.2", buckets+"&previous_version={older}&new_version=99-1", 404,
			`error_message/^="The archive has no version 99-1"`), missing("package-version-new-buckets/", "package"),
		missing(buckets, "previous_version"),
		missing(buckets+"&previous_version=1", "new_version"),
		get("9.2", "package-version-new-buckets/?format=json&package=nosuch&previous_version=1&new_version=2", 404),
		// crash-signatures-for-bug
		get("9.2*", "crash-signatures-for-bug/?bug={bug}", 200, `objects=[{"signatures":["on two machines"]}]`),
		get("9.2", "crash-signatures-for-bug/?bug={bug}&limit=5", 200, `objects/0/signatures=["on two machines"]`),
		get("9.2", "crash-signatures-for-bug/?bug=1", 200, `objects=[{"signatures":[]}]`),
		missing("crash-signatures-for-bug/", "bug"), get("9.2*", "crash-signatures-for-bug/?bug=x", 400, `code="bad_bug"`),
		// package-rate-of-crashes: 15 crashes of the new version today; 4, 2, 3, 2, 4 of the old version
		// on the five days before
		get("9.3", rate+"{rate}", 200, "meta/total_count=1",
			`objects/0/keys="difference evidence increase previous_average previous_period_in_days web_link"`,
			"objects/0/increase=true", "objects/0/previous_average=4",
			"objects/0/previous_period_in_days=5", "objects/0/difference=12",
			`objects/0/web_link="https://errors.example/?release=Ubuntu%2024.04&package=tidewatch&version={newer}"`),
		get("9.3", rate+"{rate}&phased_update_percentage=10", 200, "objects/0/previous_average=0", "objects/0/difference=14"),
		get("9.3", rate+"{rate}&phased_update_percentage=100", 200, "objects/0/difference=12"),
		get("9.3", rate+"{rate}&exclude_proposed=True", 200, "objects/0/difference=11"),
		get("9.3", rate+"{rate}&exclude_proposed=", 200, "objects/0/difference=12"), get("9.3", rate+"{rate}&date=2026-05-18",
			200, "objects/0/difference=12"),
		get("9.3", rate+"{rate}&date=20260516", 200, "objects/0/previous_period_in_days=3", "objects/0/previous_average=4"),
		get("9.3", rate+"{rate}&date=20260513", 200, "objects/0/increase=false", "objects/0/difference=null"),
		get("9.3", rate+"{rate}&date=20260512", 200, "objects/0/increase=true", "objects/0/difference=15",
			"objects/0/previous_average=null", "objects/0/previous_period_in_days=null"),
		get("9.3", rate+"{rate}&new_version=77-1", 200, "objects/0/increase=false", "objects/0/web_link=null",
			"objects/0/previous_average=null"), get("9.3", rate+"{rate}&old_version=77-1", 200, "objects/0/increase=true",
			"objects/0/difference=15"),
		get("9.3", rate+"{rate}&release=Ubuntu%2026.04", 200, "objects/0/increase=false"),
		get("9.3", rate+"{rate}&package=nosuch", 200, "objects/0/increase=false"),
		get("9.3", rate+"{rate}&new_version={older}&old_version={newer}", 200, "objects/0/increase=false"),
		missing(rate, "release"), missing(rate+"release=x&package=x&old_version=1&new_version=2", "date"),
		missing(rate+"{rate}&package=", "package"),
		missing(rate+"{rate}&old_version=", "old_version"), missing(rate+"{rate}&new_version=", "new_version"),
		get("9.3*", rate+"{rate}&date=today", 400, `code="bad_date"`), get("9.3*", rate+"{rate}&phased_update_percentage=ten",
			400),
		get("9.3*", rate+"{rate}&phased_update_percentage=101", 400),
		get("9.3*", rate+"{rate}&phased_update_percentage=-1", 400, `code="bad_phased_update_percentage"`),
		get("9.3*", rate+"{rate}&date=99991231", 400, `code="bad_date"`),
		get("9.2*", "crash-signatures-for-bug/?bug=0", 400, `code="bad_bug"`),
		// evidence: 15 crashes on 7 machines for three quarters of a day, 15 on 26 machine-days
		get("9.3*", rate+"{rate}", 200, `objects/0/evidence/keys="new old ratio"`, "objects/0/evidence/new/crashes=15",
			"objects/0/evidence/new/machine_days=5.25", "objects/0/evidence/old/crashes=15",
			"objects/0/evidence/old/machine_days=26",
			"objects/0/evidence/ratio/ratio=4.95238"),
	}
}

// countClaims test counts by day.
func countClaims() []claim {
	get := func(fact, ask string, status int, wants ...string) claim {
		return claim{fact: fact, ask: ask, status: status, wants: wants}
	}
	return []claim{
		get("9.4", "average-crashes/?release=Ubuntu%2024.04", 200,
			`objects/*/key=["Ubuntu 24.04 (by 12.04 standards)","Ubuntu 24.04"]`, "objects/0/values/5/y=0.6666666666666666",
			"objects/1/values/5/y=0.8333333333333334",
			"objects/1/values/0/x=1775606400000", "objects/1/values/6/x=1779062400000", "objects/1/values/#=7"),
		get("9.4", "average-crashes/?limit=0&release=Ubuntu%2024.04&package=tidewatch&version={older}", 200,
			"objects/1/values/#=5", "objects/1/values/0/y=0.8"),
		get("9.4", "average-crashes/?release=Ubuntu%2024.04&package=nosuch", 200, "objects/*/values=[[],[]]"),
		get("9.4", "average-crashes/?release=Ubuntu%2012.04", 200, `objects/*/key=["Ubuntu 12.04"]`),
		get("9.4", "average-crashes/?limit=0&release=&package=&version=", 200, "objects/#=10",
			`objects/0/key="Debian 13 (by 12.04 standards)"`, `objects/9/key="Ubuntu 26.04"`),
		get("9.4*", "average-crashes/?release=Plan%209", 200, "objects/#=2", "objects/*/values=[[],[]]"),
		get("9.4*", "average-crashes/?version=1", 400, `code="missing_package"`),
		get("9.4", "average-crashes/?release=Plan%209&release=Ubuntu%2026.04", 200, `objects/1/key="Ubuntu 26.04"`,
			"objects/1/values/0/y=1"),

		get("9.5", "instances-count/?limit=1", 200,
			`objects=[{"color":"#6a5364","release":"Debian 13","value":[{"date":"20260518","value":1}]}]`, "meta/total_count=3"),
		get("9.5", "instances-count/?limit=3", 200, "objects/#=3",
			`objects/*/release=["Debian 13","Ubuntu 24.04","Ubuntu 26.04"]`,
			`objects/1/value=[{"date":"20260518","value":16},{"date":"20260517","value":5},{"date":"20260516","value":2}]`),
		get("9.5*", "instances-count/", 200, "objects/1/value/#=6"), get("9.5", "instances-count/?limit=0", 200,
			"objects/#=0"), get("9.5", "instances-count/?limit=365", 200, "objects/#=3"),
		get("9.5", "problems-count/?limit=3", 200,
			`objects=[{"date":"20260518","value":5},{"date":"20260517","value":2},{"date":"20260516","value":1}]`),
		get("9.5", "problems-count/?limit=7", 200, "objects/#=7", "objects/6/value=0"), get("9.5*", "problems-count/", 200,
			"objects/#=30"), get("9.5", "problems-count/?limit=0", 200, "objects/#=0"), get("9.5", "problems-count/?limit=365",
			200, "objects/#=360"),
		get("9.5", "retracers-results/?limit=1", 200, `objects/0/date="20260518"`,
			`objects/0/value/keys="Debian 13 Debian 13:amd64 Ubuntu 24.04 Ubuntu 24.04:amd64"`, "objects/0/value/Ubuntu "+
				"24.04/success=10", "objects/0/value/Ubuntu 24.04:amd64/failed=1"),
		get("9.5*", "retracers-results/20260518/", 200, `date="20260518"`, "value/Ubuntu 24.04/success=10"),
		get("9.5*", "retracers-results/2026-05-18/", 200, `date="20260518"`), get("9.5*", "retracers-results/20260101/", 200,
			"value={}"),
		get("9.5*", "retracers-results/20261301/", 400, `code="bad_day"`), get("9.5*", "retracers-results/", 200,
			"objects/#=6"),
		get("9.5", "retracers-average-processing-time/?limit=2", 200, `objects/*/date=["20260518","20260517"]`,
			`objects/0/value={"Ubuntu 22.04":{},"Ubuntu 24.04":{},"Ubuntu 25.10":{},"Ubuntu 26.04":{}}`),
		get("9.5", "retracer-queue-length/", 200, "objects=[]"), get("9.5", "retracer-queue-length/?hours=336", 200,
			"objects=[]"), get("9.5*", "retracer-queue-length/?hours=0", 400, `code="bad_hours"`),
		get("9.5*", "retracer-queue-length/?hours=x", 400),
	}
}

// reportClaims test reports and who may read them.
func reportClaims() []claim {
	get := func(fact, ask string, status int, wants ...string) claim {
		return claim{fact: fact, ask: ask, status: status, wants: wants}
	}
	signed := func(fact, ask string, status int, wants ...string) claim {
		return claim{fact: fact, ask: ask, status: status, wants: wants, as: viewer}
	}
	return []claim{
		signed("9.6", "reports-for-system/?system=machine-6", 200,
			`objects/0/keys="instance occurred problemtype program timestamp"`,
			`objects/*/problemtype=["Crash","RecoverableProblem"]`, `objects/*/program=["harbor-sync","reefd"]`,
			`objects/0/occurred="Mon May 18 13:59:00 2026"`, `objects/0/timestamp="2026-05-18T14:00:00"`),
		signed("9.6", "reports-for-system/?system=machine-1&limit=4", 200, "objects/#=4", "meta/limit=4"),
		signed("9.6", "reports-for-system/?system=machine-1&limit=0", 200, "objects/#=10"),
		signed("9.6", "reports-for-system/?system=nobody", 200, "objects/#=0"),
		signed("9.6", "reports-for-system/?system=machine-7&start={last}", 200, "objects/#=0"),
		signed("9.6*", "reports-for-system/", 400, `code="missing_system"`),
		signed("9.6*", "reports-for-system/?system=x&start=x", 400, `code="bad_start"`),
		get("9.6*", "reports-for-system/?system=machine-6", 401, `code="not_signed_in"`),
		get("9.6", "dayoops/20260518/", 200, `keys="date value"`, `date="20260518"`, "value/oopses/#=18"),
		get("9.6", "dayoops/20260518/?limit=2", 200, "value/oopses/#=2"), get("9.6", "dayoops/20260518/?limit=0", 200,
			"value/oopses=[]"),
		get("9.6", "dayoops/2026-05-17/", 200, `date="20260517"`, "value/oopses/#=5"),
		get("9.6*", "dayoops/20260518/?release=Debian%2013", 200, "value/oopses/#=1"),
		get("9.6", "dayoops/20260518/?release=Plan%209", 200, "value/oopses=[]"),
		get("9.6", "dayoops/20260518/?details&limit=1", 200, `value/oopses/0/details={"ProblemType":"Crash"}`,
			`value/oopses/0/keys="details id"`), get("9.6", "dayoops/20260518/?details=&limit=1", 200,
			`value/oopses/0/keys="details id"`),
		get("9.6", "dayoops/20260517/?release=Ubuntu%2024.04&details=1&limit=9", 200,
			`value/oopses/4/details/ProblemType="RecoverableProblem"`), get("9.6", "dayoops/20250101/", 200, "value/oopses=[]"),
		get("9.6*", "dayoops/yesterday/", 400, `code="bad_day"`), get("9.6*", "dayoops/20260518/?limit=x", 400,
			`code="bad_limit"`), get("8.1", "dayoops/20260518", 301, "@Location=/api/1.0/dayoops/20260518/"),
		signed("9.6", "oops/{id}/", 200, `keys="data oopsid"`, `oopsid="{id}"`, "data/SAS={tide-json}",
			`data/ProblemType="Crash"`, `data/SystemIdentifier="machine-1"`, `data/Package="tidewatch {older}"`),
		signed("9.6", "oops/00000000-0000-1000-8000-000000000000/", 404, `code="unknown_oops"`),
		signed("9.6", "oops/nonsense/", 404), get("12", "oops/{id}/", 401, `code="not_signed_in"`, `error/^="Unauthorized"`),
		signed("9.6", "instance/?id={id}", 200, "meta/total_count=1", "objects/0/instance/SAS={tide-json}"),
		signed("9.6", "instance/?id=nonsense", 200, `objects=[{"instance":{}}]`),
		signed("9.6*", "instance/", 400, `code="missing_id"`),
		get("12*", "instance/?id={id}", 401), signed("9.7", "system-image-versions/?image_type=device_image", 200,
			`objects=[{"versions":[]}]`), get("12", "system-image-versions/?image_type=x", 401),
		{fact: "12", ask: "oops/{id}/", status: 401, wants: []string{`code="bad_token"`},
			header: handlertest.Header{Name: "Authorization", Value: "Bearer mishap_wrong"}, as: viewer},
		{fact: "12*", ask: "instance/?id={id}", status: 401, wants: []string{`code="not_signed_in"`},
			header: handlertest.Header{Name: "Authorization", Value: "some-key-of-old"}},
		{fact: "12", ask: "versions/?id={tide}", status: 401, wants: []string{`code="bad_token"`},
			header: handlertest.Header{Name: "Authorization", Value: "Bearer mishap_wrong"}},
		get("9.7", "binary-package-versions/?binary_package=tidewatch&release=Ubuntu%2024.04", 200,
			`objects=[{"versions":["1.4.9-1","1.4.9-2","1.4.10-1"]}]`),
		get("9.7", "binary-package-versions/?binary_package=tidewatch&release=24.04", 200, `objects/0/versions/#=3`),
		get("9.7", "binary-package-versions/?format=json&binary_package=tidewatch&release=", 200,
			`objects=[{"versions":[]}]`), get("9.7", "binary-package-versions/?binary_package=nosuch", 200,
			`objects=[{"versions":[]}]`),
		get("9.7*", "binary-package-versions/", 400, `code="missing_binary_package"`),
	}
}

// questionClaims test resources that take a request body.
func questionClaims() []claim {
	ask := func(fact, resource, body string, status int, wants ...string) claim {
		return claim{fact: fact, ask: resource + "/", body: body, status: status, wants: wants}
	}
	const recent, pockets, state = "package-version-is-most-recent", "release-package-version-pockets", "reports-state"
	list := []claim{
		ask("9.7", state, `{"reports":["{bug}"]}`, 201, `reports={"{bug}":[false,"77"]}`, `keys="reports"`),
		ask("9.7", state, `{"reports":[{bug},"5"],"release":"Ubuntu 24.04"}`, 201, `reports/{bug}=[false,"77"]`,
			"reports/5=[null,null]", `release="Ubuntu 24.04"`),
		ask("9.7", state, `{"reports":["{bug}"],"release":"Ubuntu 22.04"}`, 201, `reports/{bug}/1="77"`),
		ask("9.7", state, `{"reports":[]}`, 201, "reports={}"),
		ask("8.3", state, `{"reports":[],"mine":{"a":[1,2.50]},"x":"<&>"}`, 201, `keys="mine reports x"`,
			`mine={"a":[1,2.5]}`, `x="<&>"`),
		ask("9.7", recent,
			`{"packages":[{"package":"tidewatch","last_seen":"{older}"},{"package":"tidewatch","last_seen":"{newer}"},`+
				`{"package":"nosuch","last_seen":"1"}],"release":"Ubuntu 24.04"}`, 201,
			`packages={"nosuch 1":true,"tidewatch {older}":false,"tidewatch {newer}":true}`, `release="Ubuntu 24.04"`),
		ask("9.7", recent, `{"packages":[]}`, 201, "packages={}"),
		ask("9.7", pockets,
			`{"packages_data":[{"package":"tidewatch","seen":"{older}","release":"Ubuntu 24.04"},`+
				`{"package":"tidewatch","seen":"1.4.10-1","release":"Ubuntu 24.04"}]}`, 201,
			`packages_data={"tidewatch 1.4.10-1 Ubuntu 24.04":"Proposed","tidewatch {older} Ubuntu 24.04":"Release"}`),
		ask("9.7", pockets, `{"packages_data":[{"package":"tidewatch","seen":"9-1","release":"24.04"},`+
			`{"package":"Not a name!","seen":"1","release":"24.04"}]}`, 201,
			`packages_data={"Not a name! 1 24.04":"","tidewatch 9-1 24.04":""}`),
		ask("9.7", pockets, `{"packages_data":[{"package":"nosuch","seen":"1","release":"Ubuntu 24.04"}]}`, 201,
			`packages_data={"nosuch 1 Ubuntu 24.04":""}`),
		ask("9.7", pockets, `{"packages_data":[{"package":"tidewatch","release":"Ubuntu 24.04"}]}`, 201,
			`packages_data={"tidewatch  Ubuntu 24.04":"Not Found"}`),
		ask("9.7", pockets, `{"packages_data":[]}`, 201, "packages_data={}"),
		{fact: "11", ask: "create-bug-report/?format=json", body: `{"signature":"{tide-twice}"}`, as: triager, status: 404},
		{fact: "11", ask: "create-bug-report/?format=json", body: `{"signature":"on two machines"}`, as: triager, status: 200,
			wants: []string{`keys="report signature state url"`, `report="{bug}"`, `signature="on two machines"`,
				`state="filed"`}},
		{fact: "11", ask: "create-bug-report/?format=json", body: `{"signature":"on%20two%20machines"}`, as: triager,
			status: 200, wants: []string{`report="{bug}"`}},
		{fact: "11*", ask: "create-bug-report/", body: `{"signature":"{two-key}"}`, as: triager, status: 200,
			wants: []string{`report="{bug}"`, `signature="on two machines"`}},
		{fact: "11*", ask: "create-bug-report/", body: `{"signature":"no such thing"}`, as: triager, status: 404,
			wants: []string{`code="unknown_bucket"`, `keys="code error error_message"`,
				`error_message="There is no such problem."`}}, {fact: "11*", ask: "create-bug-report/", body: `{}`, as: triager,
			status: 400},
		{fact: "11", ask: "create-bug-report/", body: `{"signature":"x"}`, status: 401,
			wants: []string{`error/^="Unauthorized"`, `error_message/^="Unauthorized"`}},
		{fact: "12*", ask: "create-bug-report/",
			body: `{"signature":"on two machines"}`, as: viewer, status: 403, wants: []string{`code="role"`}},
		{fact: "11", ask: "create-bug-report/", body: `{"signature":"on two machines"}`, as: triager, status: 401,
			header: handlertest.Header{Name: "X-CSRFToken", Value: "wrong"}},
	}
	for _, resource := range []string{recent, pockets, state} {
		list = append(list, ask("8.3", resource, "no json", 400, `error="Request is not valid JSON."`),
			ask("8.3*", resource, "[1]", 400, `code="bad_question"`), ask("8.3*", resource, `"text"`, 400,
				`code="bad_question"`), ask("8.3*", resource, "{}", 400, `code="bad_question"`),
			claim{fact: "8.3", ask: resource + "/", method: http.MethodPost, body: "a=b", status: 415,
				header: handlertest.Header{Name: "Content-Type", Value: "application/x-www-form-urlencoded"},
				wants:  []string{`code="media_type"`}},
			claim{fact: "8.3", ask: resource + "/", method: http.MethodPost,
				body: `{"reports":[],"packages":[],"packages_data":[]}`, status: 201,
				header: handlertest.Header{Name: "Content-Type", Value: "application/json; charset=utf-8"}},
			claim{fact: "8.1", ask: resource, method: http.MethodPost, body: `{"reports":[],"packages":[],"packages_data":[]}`,
				status: 201})
	}
	return list
}

// clientClaims are queries of known clients, copied exactly.
func clientClaims() []claim {
	get := func(ask string, status int, wants ...string) claim {
		return claim{fact: "15", ask: ask, status: status, wants: wants}
	}
	const gauge = "most-common-problems/?format=json&user=tide-team&limit=10&from=20260517&to=20260517"
	return []claim{
		get("package-rate-of-crashes/?format=json&exclude_proposed=True&release=Ubuntu+24.04&package=tidewatch"+
			"&old_version={older}&new_version={newer}&phased_update_percentage=10&date=20260518", 200,
			"objects/0/increase=true", "objects/0/previous_average=0",
			`objects/0/web_link="https://errors.example/?release=Ubuntu%2024.04&package=tidewatch&version={newer}"`),
		get("package-rate-of-crashes/?exclude_proposed=True&format=json&new_version={newer}&old_version={older}"+
			"&package=tidewatch&phased_update_percentage=100&date=20260518&release=Ubuntu%2024.04", 200,
			"objects/0/increase=true", "objects/0/previous_average=4"),
		get("package-version-new-buckets/?format=json&package=tidewatch&previous_version={older}&new_version={newer}", 200,
			"objects/0/function={odd-json}", `objects/0/web_link="https://errors.example/problem/{odd-key}"`),
		get("package-version-new-buckets/?format=json&package=tidewatch&previous_version=gone&new_version={newer}", 404,
			`error_message/^="The archive has no version gone"`),
		get(gauge, 200, "objects/*/count=[4]"), get(gauge+"&release=Ubuntu%2022.04", 200, "objects/*/count=[]"),
		get(gauge+"&release=Ubuntu%2022.04&release=Ubuntu%2024.04", 200, "objects/*/count=[4]"),
		get(gauge+"&release=Ubuntu%2022.04&release=Ubuntu%2024.04&release=Ubuntu%2026.04", 200, "objects/*/count=[]"),
		get("retracers-results/?limit=1&format=json", 200, `objects/0/date="20260518"`, "objects/0/value/Ubuntu "+
			"24.04/success=10", "objects/0/value/Ubuntu 24.04:amd64/success=10"),
		get("retracers-average-processing-time/?limit=1&format=json", 200, `objects/0/date="20260518"`,
			"objects/0/value/Ubuntu 24.04={}"),
		get("retracers-results", 301, "@Location=/api/1.0/retracers-results/"),
		get("retracers-results/", 200, "objects/0/value/Ubuntu 24.04/failed=1", "objects/0/value/Ubuntu 24.04/success=10"),
		get("most-common-problems/?limit=100&format=json", 200, "objects/0/function={tide-json}"),
		get("versions/?limit=0&id={tide}", 200, "objects/#=4"), get("instances/?limit=100&id={tide}&start=", 200,
			"objects/#=26"), get("average-instances/?limit=0&id={tide}", 200, "objects/#=5"),
		get("average-crashes/?limit=0&release=Ubuntu%2024.04&package=tidewatch&version=", 200, "objects/#=2"),
		get("average-crashes/?limit=0&release=&package=&version=", 200, "objects/#=10"),
		get("most-common-problems/?format=json&limit=30&release=Ubuntu%2024.04&package=&period=week&from=&to="+
			"&version=&pkg_arch=&user=&packageset=&snap=&rootfs_build_version=", 200, "objects/0/count=25"),
		{fact: "15", ask: "reports-for-system/?limit=50&system=machine-6", as: viewer, status: 200,
			wants: []string{"objects/#=2"}},
		get("binary-package-versions/?format=json&binary_package=tidewatch&release=Ubuntu+24.04", 200,
			"objects/0/versions/#=3"),
		get("instances-count/?limit=200", 200, "objects/#=3"), get("problems-count/?limit=365", 200, "objects/#=360"),
		get("retracers-results/?limit=365", 200, "objects/#=7"), get("retracer-queue-length/?hours=336", 200, "objects/#=0"),
		{fact: "15", ask: "reports-state/?format=json", body: `{"reports":["{bug}"],"release":"Ubuntu 24.04"}`, status: 201,
			wants: []string{"reports/{bug}/0=false"}},
	}
}
