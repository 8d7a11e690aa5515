package admin_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/db/upkeep"
	"mishap/handlers/handlertest"
	view "mishap/views/admin"
	"mishap/views/layout"
	problemsview "mishap/views/problems"
)

// TestErasePage erases a machine on its page and by the API.
func TestErasePage(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	site.Save(t, crashtest.Native())
	system := crash.SystemID(site.Value(t, `select max(system) from reports`))
	c := site.As(t, crash.RoleAdmin)
	c.Get(problemsview.SystemPath(system)).Want(http.StatusOK).WantText("a[href='"+problemsview.ErasePath(system)+"']",
		"Erase")
	site.As(t, crash.RoleTriager).Get(problemsview.SystemPath(system)).Want(http.StatusOK).
		WantNone("a[href='" + problemsview.ErasePath(system) + "']")
	c.Get(problemsview.ErasePath(system)).Want(http.StatusOK).WantText("main", "1 report, which arrived").WantText("main",
		"1 problem that no other machine has reported.")
	refused := c.Post(problemsview.ErasePath(system), url.Values{"confirm": {"no"}, "block": {"yes"}}).
		Want(http.StatusUnprocessableEntity).WantText("#erase-problem", "nothing was erased").
		WantText("main", "1 report, which arrived")
	if refused.Attr("input[name=block][checked]", "value") != "yes" {
		t.Error("the check box has lost its mark")
	}
	dump := c.Get(view.DumpPath(system)).Want(http.StatusOK).Body
	if !strings.Contains(dump, `{"kind":"report"`) || !strings.Contains(dump, string(system)) {
		t.Errorf("dump: got %s", dump)
	}
	confirm := url.Values{"confirm": {crash.Truncate(string(system), view.EraseConfirmLength)}}
	c.Post(problemsview.ErasePath(system), confirm).WantRedirect(http.StatusSeeOther, layout.PathErasures)
	c.Get(layout.PathErasures).WantText("tbody tr", "running").WantText("tbody tr", "nothing.")
	c.Get(problemsview.ErasePath(system)).WantText("main", "is being erased").WantNone("form#erase")
	if err := upkeep.NewErasing(site.Store).Continue(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	list := c.Get(layout.PathErasures).WantText("tbody tr", "1 report;")
	if strings.Contains(list.Body, string(system)) {
		t.Error("the receipt contains the machine")
	}
	c.Get(problemsview.SystemPath(system)).Want(http.StatusOK).WantNone(".machine")
	const path = "/api/1.0/erase-machine/"
	c.PostJSON(path, map[string]any{"system": "other-machine", "block": true}).Want(http.StatusAccepted)
	c.PostJSON(path, map[string]any{"system": ""}).Want(http.StatusBadRequest)
	site.As(t, crash.RoleTriager).PostJSON(path, map[string]any{"system": "x"}).Want(http.StatusForbidden)
	if n := site.Value(t, `select count(*) from erasures where blocked and finished is null`); n != "1" {
		t.Errorf("got %s erasures by the API, want 1", n)
	}
}
