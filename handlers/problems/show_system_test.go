package problems_test

import (
	"net/http"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/handlers/handlertest"
	view "mishap/views/problems"
)

func TestShowSystem(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	c := p.As(t, crash.RoleViewer)
	for _, name := range []crash.SystemID{
		"0123456789abcdef", "my machine", "a/b/../c?d#e%41", "żółw 😀", "<b>", crash.NewSystemID(strings.Repeat("x", 400)),
	} {
		p.Accept(name, crashtest.Native())
		p.Accept(name, crashtest.Ungroupable())
		a := c.Get(view.SystemPath(name)).Want(http.StatusOK)
		handlertest.WantNoMarkup(t, a)
		a.WantText(".system-name", string(name))
		if got := a.HTML().Find("#reports tbody tr").Length(); got != 2 {
			t.Errorf("machine %q: got %d reports, want 2", name, got)
		}
		a.WantText("tbody", "tidewatch crashed with SIGSEGV in tide_parse_row()").WantText("tbody .state", "not grouped")
	}
}

func TestShowSystemUnknown(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	c := p.As(t, crash.RoleViewer)
	c.Get("/user/nobody").Want(http.StatusOK).WantText("#reports", "No reports from this machine are "+
		"stored.").WantNone("table")
	c.Get("/user/").Want(http.StatusOK).WantText("h1", "Machines without an id").WantNone("table")
	c.Get("/user/nobody?after=x").Want(http.StatusBadRequest)
	p.Visitor(t).Get("/user/nobody").WantRedirect(http.StatusSeeOther, "/login?next=%2Fuser%2Fnobody")
}

func TestShowSystemPages(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	for pid := range 53 {
		p.Accept("m", crashtest.Native(crashtest.Process(pid)))
	}
	c := p.As(t, crash.RoleViewer)
	next := c.Get("/user/m").Want(http.StatusOK).Attr("#reports .paging a", "hx-get")
	for _, a := range []int{c.Get(next).HTML().Find("#reports tbody tr").Length(),
		c.Part(next).HTML().Find("tbody tr").Length()} {
		if a != 3 {
			t.Errorf("second page: got %d rows, want 3", a)
		}
	}
	c.Part(next).WantNone("h1, header")
	c.Get("/user/m").WantText(".machine .figures", "reports 53").WantText(".lanes tbody tr", "tidewatch 53 1")
}

func TestShowTestMachine(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	p.Accept("deadbeef-7", crashtest.Native())
	p.As(t, crash.RoleViewer).Get("/user/deadbeef-7").Want(http.StatusOK).WantText("main", "test machine Its reports are "+
		"stored but not counted.")
}
