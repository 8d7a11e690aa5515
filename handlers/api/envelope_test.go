package api_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"mishap/handlers/handlertest"
)

// list is a list of the API as clients decode it.
type list struct {
	Meta struct {
		Limit    int     `json:"limit"`
		Next     *string `json:"next"`
		Offset   int     `json:"offset"`
		Previous *string `json:"previous"`
		Total    int     `json:"total_count"`
	} `json:"meta"`
	Objects []map[string]any `json:"objects"`
}

// get reads a list and fails the test if the status is not 200.
func get(t *testing.T, c *handlertest.Client, path string) list {
	t.Helper()
	var l list
	c.Get(api(path)).Want(http.StatusOK).JSON(&l)
	return l
}

// refusal is the body of an error answer.
type refusal struct {
	Error   string `json:"error"`
	Code    string `json:"code"`
	Message string `json:"error_message"`
}

func TestConditional(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.fill()
	c := h.Visitor(t)
	for _, path := range []string{"most-common-problems/?period=week", "versions/?id=" +
		url.QueryEscape(nativeSignature()), "", "openapi.json"} {
		a := c.Get(api(path)).Want(http.StatusOK)
		tag := a.Header.Get("ETag")
		for _, sent := range []string{tag, "W/" + strings.TrimPrefix(tag, "W/"), `"other", ` + tag,
			strings.TrimSuffix(strings.TrimPrefix(tag, "W/"), `"`) + `-gzip"`, "*"} {
			if b := c.Get(api(path), handlertest.Header{Name: "If-None-Match", Value: sent}).Want(
				http.StatusNotModified); b.Body != "" {
				t.Errorf("%s with %s: got a body", path, sent)
			}
		}
		c.Get(api(path), handlertest.Header{Name: "If-None-Match", Value: `"other"`}).Want(http.StatusOK)
		if a.Header.Get("Cache-Control") != "no-cache" || !strings.Contains(strings.Join(a.Header.Values("Vary"), ","),
			"Accept") {
			t.Errorf("%s: got %v", path, a.Header)
		}
	}
	for _, cookie := range []string{"csrftoken", "sessionid"} {
		if got := c.Cookie(cookie); got != "" {
			t.Errorf("got a cookie %s, want none from the API", cookie)
		}
	}
	tag := c.Get(api("problems-count/")).Header.Get("ETag")
	h.save(9, now, newProblem())
	c.Get(api("problems-count/"), handlertest.Header{Name: "If-None-Match", Value: tag}).Want(http.StatusOK)
}
