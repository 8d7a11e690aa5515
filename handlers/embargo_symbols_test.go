package handlers_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"mishap/handlers/handlertest"
)

// isSymbolRoute reports whether a route serves symbols or receives them. Both know builds, and nothing of
// problems; see compareSymbols.
func isSymbolRoute(route string) bool {
	_, path, _ := strings.Cut(route, " ")
	return strings.HasPrefix(path, "/buildid/") || strings.HasPrefix(path, "/api/1.0/symbols/")
}

// compareSymbols compares the answers to debuggers and builds, about builds of the embargoed reports and
// of others.
func (w *twin) compareSymbols(t *testing.T, other *twin) {
	t.Helper()
	routes := slices.DeleteFunc(w.Routes(t), func(route string) bool { return !isSymbolRoute(route) })
	if len(routes) < 6 {
		t.Errorf("got the routes %q, want those of debuggers and uploads", routes)
	}
	const sum = "?size=9&sha256=e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	for _, route := range routes {
		method, path, _ := strings.Cut(route, " ")
		for _, build := range []string{strings.Repeat("5a", 20), strings.Repeat("0", 40)} {
			path := strings.NewReplacer("missing/*", "missing/", "{id}", build, "{kind}", "debuginfo", "*",
				"usr/src/main.c").Replace(path) + sum
			for name, token := range map[string]string{"": "", "triager upload": "triager upload",
				"triager read": "triager read"} {
				ask := func(site *twin) *handlertest.Answer {
					req, err := http.NewRequestWithContext(t.Context(), method, site.URL+path, strings.NewReader("[]"))
					if err != nil {
						t.Fatal(err)
					}
					if token != "" {
						req.Header.Set("Authorization", "Bearer "+site.tokens[token])
					}
					return site.Visitor(t).Do(req)
				}
				here, there := ask(w), ask(other)
				if diff := difference(here, there); diff != "" || here.Status >= 500 || strings.Contains(here.Body, marker) {
					t.Errorf("%q: %s %s: got status %d: %s", name, method, path, here.Status, diff)
				}
			}
		}
	}
}
