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

// mostClaims is the number of checks that the old service was measured with. This test has more.
const mostClaims = 265

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
	if len(all) < mostClaims {
		t.Errorf("got %d requests, want at least %d", len(all), mostClaims)
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
