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
	"mishap/views"
)

// TestErasePage erases a machine on its page and by the API.
func TestErasePage(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	site.Save(t, crashtest.Native())
	system := crash.SystemID(site.Value(t, `select max(system) from reports`))
	c := site.As(t, crash.RoleAdmin)
	c.Get(views.SystemPath(system)).Want(http.StatusOK).WantText("a[href='"+views.ErasePath(system)+"']", "Erase")
	site.As(t, crash.RoleTriager).Get(views.SystemPath(system)).Want(http.StatusOK).
		WantNone("a[href='" + views.ErasePath(system) + "']")
	c.Get(views.ErasePath(system)).Want(http.StatusOK).WantText("main", "1 report, which arrived").WantText("main",
		"1 problem that no other machine has reported.")
	refused := c.Post(views.ErasePath(system), url.Values{"confirm": {"no"}, "block": {"yes"}}).
		Want(http.StatusUnprocessableEntity).WantText("#erase-problem", "nothing was erased").
		WantText("main", "1 report, which arrived")
	if refused.Attr("input[name=block][checked]", "value") != "yes" {
		t.Error("the check box has lost its mark")
	}
	dump := c.Get(views.DumpPath(system)).Want(http.StatusOK).Body
	if !strings.Contains(dump, `{"kind":"report"`) || !strings.Contains(dump, string(system)) {
		t.Errorf("dump: got %s", dump)
	}
	confirm := url.Values{"confirm": {crash.Truncate(string(system), views.EraseConfirmLength)}}
	c.Post(views.ErasePath(system), confirm).WantRedirect(http.StatusSeeOther, views.PathErasures)
	c.Get(views.PathErasures).WantText("tbody tr", "running").WantText("tbody tr", "nothing.")
	c.Get(views.ErasePath(system)).WantText("main", "is being erased").WantNone("form#erase")
	if err := upkeep.NewErasing(site.Store).Continue(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	list := c.Get(views.PathErasures).WantText("tbody tr", "1 report;")
	if strings.Contains(list.Body, string(system)) {
		t.Error("the receipt contains the machine")
	}
	c.Get(views.SystemPath(system)).Want(http.StatusOK).WantNone(".machine")
	const path = "/api/1.0/erase-machine/"
	c.PostJSON(path, map[string]any{"system": "other-machine", "block": true}).Want(http.StatusAccepted)
	c.PostJSON(path, map[string]any{"system": ""}).Want(http.StatusBadRequest)
	site.As(t, crash.RoleTriager).PostJSON(path, map[string]any{"system": "x"}).Want(http.StatusForbidden)
	if n := site.Value(t, `select count(*) from erasures where blocked and finished is null`); n != "1" {
		t.Errorf("got %s erasures by the API, want 1", n)
	}
}
