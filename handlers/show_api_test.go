package handlers_test

import (
	"net/http"
	"testing"

	"mishap/handlers/handlertest"
)

// TestAPIPage checks that the page names every resource of the API and that its examples work.
func TestAPIPage(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	c := site.Visitor(t)
	var index map[string]any
	c.Get("/api/1.0/").Want(http.StatusOK).JSON(&index)
	page := c.Get("/api").Want(http.StatusOK).WantText("h1", "API 1.0")
	for name := range index {
		page.WantText(`[id="`+name+`"] h2`, name)
	}
	if got := page.HTML().Find("main section").Length(); got != len(index) {
		t.Errorf("got %d sections, want %d", got, len(index))
	}
	for _, a := range page.HTML().Find("main section > p > a").EachIter() {
		switch got := c.Get(a.AttrOr("href", "")); got.Status {
		case http.StatusOK, http.StatusNotFound, http.StatusUnauthorized: // the database is empty, and nobody is signed in
		default:
			t.Errorf("%s: got %d", a.Text(), got.Status)
		}
	}
	c.Get("/api/").WantRedirect(http.StatusMovedPermanently, "/api")
}
