package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/db/dbtest"
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
	router := dbtest.Must(legacy.NewRouter(doc))(t)
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
	sent := dbtest.Must(json.Marshal(body))(t)
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

// walkFrom follows the next or previous links from a page and returns the objects of each page as
// JSON.
func walkFrom(t *testing.T, c *handlertest.Client, path string, forward bool) (pages [][]string, last string) {
	t.Helper()
	for range 1000 {
		var page struct {
			Meta struct {
				Next, Previous *string
			}
			Objects []json.RawMessage
		}
		c.Get(path).Want(http.StatusOK).JSON(&page)
		var objects []string
		for _, o := range page.Objects {
			objects = append(objects, string(o))
		}
		pages, last = append(pages, objects), path
		link := page.Meta.Previous
		if forward {
			link = page.Meta.Next
		}
		if link == nil {
			return pages, last
		}
		path = *link
	}
	t.Fatalf("%s: the links do not end", path)
	return nil, ""
}

// TestWalks follows the links of every list forwards and backwards, with several limits. It must
// meet each object exactly once. Unless the run is thorough, it walks each list with two or three limits.
func TestWalks(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.fill()
	for i := range 120 {
		h.save(77, now.Add(-6*time.Hour), crashtest.Native(crashtest.Set("DuplicateSignature", "often"),
			crashtest.Set("DistroRelease", fmt.Sprintf("Plum %d", i%9))))
	}
	c := h.As(t, crash.RoleViewer)
	words := h.words()
	reach := map[string]int{ // the number of objects, for any limit
		"reports-for-system/?system=machine-1": 10,
		"instances/?id=often":                  120, "reports-for-system/?system=machine-77": 120, "versions/?id={tide}": 4,
	}
	resources := slices.Concat(lists, []string{"instances/?id=often", "reports-for-system/?system=machine-77",
		"average-crashes/?x=y"})
	for i, resource := range resources {
		for _, limit := range checktest.EveryNth([]string{"", "1", "7", "100", "365"}, 2, i) {
			if limit == "1" && reach[resource] > 100 {
				continue // would take as many requests
			}
			path := api(words.Replace(resource)) + "&limit=" + limit
			forward, last := walkFrom(t, c, path, true)
			met := slices.Concat(forward...)
			seen := map[string]bool{}
			for _, o := range met {
				if seen[o] {
					t.Errorf("%s: got an object twice: %s", path, o)
				}
				seen[o] = true
			}
			if want, ok := reach[resource]; ok && len(met) != want {
				t.Errorf("%s: got %d objects, want %d", path, len(met), want)
			}
			var first list
			c.Get(path).JSON(&first)
			if _, ok := reach[resource]; !ok && len(met) != first.Meta.Total {
				t.Errorf("%s: got %d objects, want %d", path, len(met), first.Meta.Total)
			}
			back, _ := walkFrom(t, c, last, false)
			slices.Reverse(back)
			if !slices.EqualFunc(back, forward, slices.Equal) {
				t.Errorf("%s: got %d pages with %d objects forwards, %d with %d backwards", path, len(forward), len(met), len(back),
					len(slices.Concat(back...)))
			}
		}
	}
	whole, _ := walkFrom(t, c, api("average-instances/?id=")+url.QueryEscape(nativeSignature()), true)
	for offset := range 9 { // starting at any offset
		path := api("average-instances/?id=") + url.QueryEscape(nativeSignature()) + fmt.Sprintf("&limit=4&offset=%d", offset)
		back, _ := walkFrom(t, c, path, false)
		slices.Reverse(back)
		end := min(offset+4, len(whole[0]))
		if got := slices.Concat(back...); !slices.Equal(got, whole[0][:end]) {
			t.Errorf("backwards from %d: got %d objects, want the first %d", offset, len(got), end)
		}
	}
}

// TestDays checks that lists of days reach back as far as the query asks.
func TestDays(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.save(1, now.AddDate(0, 0, -450), crashtest.Native(crashtest.Version(older)))
	h.save(2, now.AddDate(0, 0, -450), crashtest.Native(crashtest.Set("DuplicateSignature", "another")))
	h.save(3, now.AddDate(0, 0, -364), crashtest.Native(crashtest.Version(older)))
	c := h.Visitor(t)
	for _, tt := range []struct {
		days  int
		value map[string]any // by day
	}{
		{365, map[string]any{"20250519": 1.0, "20260518": 0.0}},
		{399, map[string]any{"20250519": 1.0}},
		{500, map[string]any{"20250519": 1.0, "20250222": 2.0, "20250221": 0.0}},
	} {
		first := get(t, c, fmt.Sprintf("problems-count/?limit=%d", tt.days))
		if first.Meta.Total != tt.days || len(first.Objects) != 360 || first.Meta.Next == nil {
			t.Fatalf("%d days: got %+v with %d objects, want 360 and a link to the next page", tt.days, first.Meta,
				len(first.Objects))
		}
		pages, _ := walkFrom(t, c, api(fmt.Sprintf("problems-count/?limit=%d", tt.days)), true)
		got := map[string]any{}
		for _, o := range slices.Concat(pages...) {
			var day struct {
				Date  string
				Value any
			}
			checktest.NoError(t, json.Unmarshal([]byte(o), &day))
			got[day.Date] = day.Value
		}
		if len(got) != tt.days {
			t.Errorf("%d days: got %d", tt.days, len(got))
		}
		for day, want := range tt.value {
			checktest.Equal(t, fmt.Sprintf("%d days: %s", tt.days, day), got[day], want)
		}
	}
	for path, want := range map[string]int{"instances-count/?limit=500": 1, "retracers-results/?limit=365": 1,
		"retracers-results/?limit=500": 2} {
		if got := get(t, c, path); len(got.Objects) != want {
			t.Errorf("%s: got %v, want %d objects", path, got.Objects, want)
		}
	}
	value := get(t, c, "instances-count/?limit=500").Objects[0]["value"]
	if days := value.([]any); len(days) != 2 { //nolint:forcetypeassert // a panic fails the test
		t.Errorf("got %v, want two days", days)
	}
	if body := c.Get(api("retracers-results/20250222/")).Want(http.StatusOK).Body; !strings.Contains(body,
		`"success": 1`) {
		t.Errorf("a day in the past: got %s", body)
	}
}
