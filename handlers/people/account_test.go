package people_test

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

func TestSessions(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	one, two, three := site.As(t, crash.RoleViewer), site.As(t, crash.RoleViewer), site.As(t, crash.RoleViewer)
	other := site.As(t, crash.RoleTriager)
	signedIn := func(c *handlertest.Client) bool { return c.Get("/account").Status == http.StatusOK }
	page := one.Get("/account").Want(http.StatusOK).WantText("#sessions", "127.0.0.1").WantText("#sessions",
		"Go-http-client")
	if n := page.HTML().Find("#sessions tbody tr").Length(); n != 3 {
		t.Errorf("got %d sessions, want 3", n)
	}
	if n := page.HTML().Find("#sessions .state").Length(); n != 1 {
		t.Errorf("got %d present sessions, want 1", n)
	}
	end := func(c *handlertest.Client, id string) *handlertest.Answer {
		t.Helper()
		return c.Post("/account/sessions/end", url.Values{"session": {id}}).Want(http.StatusSeeOther)
	}
	id := two.Get("/account").HTML().Find("#sessions tr:has(.state) input[name=session]").AttrOr("value", "")
	end(other, id) // of someone else
	if !signedIn(two) {
		t.Fatal("someone else has ended a session")
	}
	end(one, id)
	if signedIn(two) || !signedIn(one) || !signedIn(three) {
		t.Error("want only the chosen session ended")
	}
	end(one, "others")
	if !signedIn(one) || signedIn(three) || !signedIn(other) {
		t.Error("want all sessions of this person ended but the present one")
	}
	id = one.Get("/account").HTML().Find("#sessions tr:has(.state) input[name=session]").AttrOr("value", "")
	end(one, id)
	if signedIn(one) {
		t.Error("the present session goes on, want it ended")
	}
}
