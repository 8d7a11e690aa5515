package handlers_test

import (
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/crash/audit"
	"mishap/db/dbtest"
	"mishap/handlers/handlertest"
)

// privatePlace matches a row of the table in docs/privacy.md: address, records and test.
var privatePlace = regexp.MustCompile("(?m)^\\| `((?:GET|POST) /[^`]*)` \\|[^|]*\\|[^|]*\\|([^|]*)\\| `(Test\\w+)` \\|$")

// TestPrivatePlaces compares the table of addresses with private data with what every address shows to a
// reader of everything.
func TestPrivatePlaces(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	p := handlertest.NewPagesIn(t, handlertest.Options{Store: dbtest.Open(t, address), Disconnected: true})
	alpha := newRightsPackage(t, p, address, "alpha", "1")
	text, err := os.ReadFile("../docs/privacy.md")
	if err != nil {
		t.Fatal(err)
	}
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
