package handlers_test

import (
	"net/http"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/handlers/handlertest"
)

// TestPagesFollow checks that signed-in people see changes at once. It covers lists and the pages of problems, packages and releases.
func TestPagesFollow(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	p.Several(3, crashtest.Native)
	id := handlertest.BucketOf(t, crashtest.Native())
	ada := p.As(t, crash.RoleTriager)
	release := "/release/Ubuntu%2024.04"
	ada.Get(id.Path()).WantText(".figures", "reports (all time) 3 machines (all time) 3")
	ada.Get("/").WantText("td.reports", "3")
	ada.Get("/package/tidewatch").WantText("td.reports", "3")
	ada.Get(release).WantText("td.reports", "3")
	p.Several(2, crashtest.Native)
	ada.Get(id.Path()).WantText(".figures", "reports (all time) 5 machines (all time) 5")
	ada.Get("/").WantText("td.reports", "5")
	ada.Get("/package/tidewatch").WantText("td.reports", "5")
	ada.Get(release).WantText("td.reports", "5")
	if _, err := p.Bugs.LinkBug(t.Context(), id, crash.Bug{Number: 4711, Title: "It fell over",
		URL: "https://bugs.example/4711", By: "ada"}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/", id.Path()} {
		if a := ada.Get(path).Want(http.StatusOK); !strings.Contains(a.Body, "bugs.example/4711") {
			t.Errorf("%s: got a page without the bug, want it there at once", path)
		}
	}
}
