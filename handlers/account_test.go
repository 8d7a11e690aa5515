package handlers_test

import (
	"net/http"
	"net/url"
	"testing"

	"mishap/crash"
	"mishap/handlers/handlertest"
	"mishap/tracker/trackertest"
)

func TestAccount(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	c := site.As(t, crash.RoleViewer)
	c.Get("/account").Want(http.StatusOK).WantText("main", "viewer")
	save := func(name string) *handlertest.Answer { return c.Post("/account", url.Values{"tracker_name": {name}}) }
	save("Ada Lovelace").Want(http.StatusUnprocessableEntity).WantText("[role=alert]", "not a valid account name")
	site.Tracker.Fail(trackertest.OpOther, trackertest.NotFound404)
	save("nobody-at-all").Want(http.StatusUnprocessableEntity).WantText("[role=alert]", "The tracker has no account with "+
		"the name nobody-at-all")
	site.Tracker.Fail(trackertest.OpOther, trackertest.Offline503)
	if got := save("ada-lp").Want(http.StatusServiceUnavailable).Attr("#tracker-name", "value"); got != "ada-lp" {
		t.Errorf("field after an error: got %q, want the submitted text", got)
	}
	save("~ada-lp").WantRedirect(http.StatusSeeOther, "/account")
	page := c.Get("/account").WantText("#flash", "Saved.")
	if got := page.Attr("#tracker-name", "value"); got != "ada-lp" {
		t.Errorf("stored name after saving: got %q, want ada-lp", got)
	}
	save("").WantRedirect(http.StatusSeeOther, "/account")
	if got := c.Get("/account").Attr("#tracker-name", "value"); got != "" {
		t.Errorf("stored name after removing: got %q, want none", got)
	}
	site.Visitor(t).Get("/account").WantRedirect(http.StatusSeeOther, "/login?next=%2Faccount")
}
