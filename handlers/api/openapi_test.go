package api_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"

	"mishap/crash"
	"mishap/handlers/handlertest"
)

// document reads the OpenAPI document as clients do and validates it.
func document(t *testing.T, c *handlertest.Client) (*openapi3.T, routers.Router) {
	t.Helper()
	body := c.Get(api("openapi.json")).Want(http.StatusOK).Body
	doc, err := openapi3.NewLoader().LoadFromData([]byte(body))
	if err != nil {
		t.Fatalf("the document cannot be read: %v", err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Fatalf("the document is not valid OpenAPI: %v", err)
	}
	router, err := legacy.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	return doc, router
}

// TestOpenAPI validates the document, and real answers against it.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.fill()
	visitor, triager, admin := h.Visitor(t), h.As(t, crash.RoleTriager), h.As(t, crash.RoleAdmin)
	doc, router := document(t, visitor)
	asked := map[string]bool{}
	for _, q := range h.questions() {
		path := api(q.path)
		if q.name == "bucket" || q.name == "index" { // templates do not match keys with slashes; the index is not a resource
			continue
		}
		c := visitor
		if q.signedIn {
			c = triager
		}
		asked[conforms(t, router, http.MethodGet, path, nil, c.Get(path))] = true
		conforms(t, router, http.MethodGet, path, nil, h.Visitor(t).Get(path+"&limit=-1"))
	}
	for path, body := range map[string]any{
		"package-version-is-most-recent/": map[string]any{"packages": []any{map[string]string{"package": "tidewatch",
			"last_seen": older}}},
		"release-package-version-pockets/": map[string]any{"packages_data": []any{map[string]string{"package": "tidewatch",
			"seen": older, "release": "Ubuntu 24.04"}}},
		"reports-state/":     map[string]any{"reports": []any{1, "2"}, "release": "Ubuntu 24.04"},
		"create-bug-report/": map[string]any{"signature": nativeSignature()},
		"erase-machine/":     map[string]any{"system": "no-such-machine", "block": true},
		"problem-people/":    map[string]any{"problem": nativeSignature(), "assignee": "me", "add_tags": []string{"sru"}},
		"set-problem-status/": map[string]any{"signature": nativeSignature(), "kind": "muted", "reason": "waits",
			"until": map[string]any{"date": time.Now().UTC().AddDate(0, 1, 0).Format(time.DateOnly), "reports": 50, "days": 7}},
	} {
		asked[conforms(t, router, http.MethodPost, api(path), body, admin.PostJSON(api(path), body))] = true
		conforms(t, router, http.MethodPost, api(path), body, h.Visitor(t).PostJSON(api(path), body))
	}
	for path := range doc.Paths.Map() {
		if !asked[path] {
			t.Errorf("%s: no answer was checked", path)
		}
	}
}

// conforms validates an answer and returns its path in the document.
func conforms(t *testing.T, router routers.Router, method, path string, body any, a *handlertest.Answer) string {
	t.Helper()
	sent, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(method, base+path, bytes.NewReader(sent))
	r.Header.Set("Content-Type", "application/json")
	route, params, err := router.FindRoute(r)
	if err != nil {
		t.Fatalf("%s: not in the document: %v", path, err)
	}
	in := &openapi3filter.RequestValidationInput{
		Request: r, PathParams: params, Route: route,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc,
			IncludeResponseStatus: true},
	}
	if a.Status < 300 {
		if err := openapi3filter.ValidateRequest(t.Context(), in); err != nil {
			t.Errorf("%s: the request does not match the document: %v", path, err)
		}
	}
	err = openapi3filter.ValidateResponse(t.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Status: a.Status, Header: a.Header, Body: io.NopCloser(strings.NewReader(a.Body)),
		Options: in.Options,
	})
	if err != nil {
		t.Errorf("%s %s: status %d does not match the document: %v", method, path, a.Status, err)
	}
	return route.Path
}

// TestSchemas checks that each resource describes itself and that fields are sorted by name.
func TestSchemas(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	c := h.Visitor(t)
	var index map[string]struct {
		List   string `json:"list_endpoint"`
		Schema string `json:"schema"`
	}
	c.Get(api("")).Want(http.StatusOK).JSON(&index)
	if len(index) < 24 {
		t.Errorf("got %d resources, want at least 24", len(index))
	}
	doc, _ := document(t, c)
	for name, schema := range doc.Components.Schemas {
		if name == "versionRow" {
			continue // a map
		}
		for field := range schema.Value.Properties {
			if strings.ToLower(field) != field && name != "metadata" && name != "oopsDetails" && field != "ProblemType" {
				t.Errorf("%s.%s: got upper case, want a name in lower case", name, field)
			}
		}
	}
	for name, entry := range index {
		if entry.List != api(name, "/") {
			t.Errorf("%s: got %s", name, entry.List)
		}
		c.Get(entry.Schema).Want(http.StatusOK)
	}
}
