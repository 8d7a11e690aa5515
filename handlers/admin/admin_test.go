package admin_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/db"
	"mishap/db/dbtest"
	"mishap/handlers/handlertest"
)

// TestHealth checks that load balancers and admins see a problem, and only admins its details.
func TestHealth(t *testing.T) {
	t.Parallel()
	problem := crash.HealthCheck{Name: "Counting", Remedy: "repair the relation", Link: "/admin/regroup"}
	site := handlertest.New(t, handlertest.Options{Health: func(context.Context) []crash.HealthCheck {
		return []crash.HealthCheck{{Name: "Database"}, problem}
	}})
	visitor, admin := site.Visitor(t), site.As(t, crash.RoleAdmin)
	visitor.Get("/readyz").Want(http.StatusOK)
	admin.Get("/admin").Want(http.StatusOK).WantText("main", "OK").WantNone(".state-error").WantText(".attention",
		"Nothing needs attention.")
	problem.Problem, problem.Detail = "Reports cannot be counted.", "relation secret does not exist"
	if a := visitor.Get("/readyz").Want(http.StatusServiceUnavailable); !strings.Contains(a.Body, problem.Problem) ||
		strings.Contains(a.Body, "secret") {
		t.Errorf("got %q, want the problem without its details", a.Body)
	}
	admin.Get("/admin").Want(http.StatusOK).WantText("main", problem.Problem).WantText("main",
		problem.Detail).WantText(".state-error", "Failure").WantText(".attention", "Repair the relation.")
	checktest.Equal(t, "link", admin.Get("/admin").Attr(".attention a", "href"), problem.Link)
	admin.Get("/admin/audit").WantText(".attention", "Nothing needs attention.") // it has other problems
	problem.Link, problem.Warning = "/admin/audit?result=refused", true
	admin.Get("/admin/audit").WantText(".attention", problem.Problem)
	admin.Get("/admin").Want(http.StatusOK).WantText(".state-warn", "Warning").WantNone(".state-error")
}

// TestAuditReads checks that each way to private data leaves a record: views one an hour, downloads each.
func TestAuditReads(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPagesIn(t, handlertest.Options{})
	id := p.Accept("machine-1", crashtest.Native())
	stepped, other := p.Accept("machine-3", crashtest.Native()), p.Accept("machine-2", crashtest.Native())
	rows := dbtest.Must(p.Store.Report(t.Context(), id))(t)
	problem, report := rows.Bucket.Path(), "/oops/"+id.String()
	viewer, admin := p.As(t, crash.RoleViewer), p.As(t, crash.RoleAdmin)
	for range 2 {
		for _, path := range []string{report, report + ".json", report + ".crash", problem + ".csv", "/user/machine-1",
			"/user/machine-1.csv", problem + "/compare?report=" + id.String() + "&report=" + other.String(),
			problem + "?facet=ProcEnviron", problem + "?report=" + stepped.String(),
			"/api/1.0/instance/?id=" + id.String(), problem, "/"} {
			viewer.Get(path).Want(http.StatusOK)
		}
	}
	p.Visitor(t).Get(report).Want(http.StatusSeeOther)
	line := func(action, object string) string { return "person|ada-viewer||" + action + "|" + object + "|done|" }
	system, bucket := string(rows.System), rows.Bucket.String()
	handlertest.WantRecords(t, admin, "who=ada-viewer",
		line("user.sign-in", "ada-viewer"),
		line("read.report", id.String()), line("read.file", id.String()), line("read.file", id.String()),
		line("read.reports", bucket), line("read.machine", system), line("read.machine", system),
		line("read.compare", id.String()), line("read.compare", other.String()), line("read.values", bucket),
		line("read.report", stepped.String()), line("read.api", "/api/1.0/instance/"),
		line("read.file", id.String()), line("read.file", id.String()), line("read.reports", bucket),
		line("read.machine", system))
}

// TestAuditRefusals checks the records of refusals, which contain no names that were typed.
func TestAuditRefusals(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	viewer, admin := site.As(t, crash.RoleViewer), site.As(t, crash.RoleAdmin)
	for range 2 {
		viewer.Get("/admin/tracker").Want(http.StatusForbidden)
	}
	viewer.Post("/admin/rules", nil).Want(http.StatusForbidden)
	viewer.Post("/my/follow", nil, handlertest.Header{Name: "Origin", Value: "https://evil.example"}).Want(
		http.StatusUnauthorized)
	token := handlertest.MakeToken(t, viewer, "read")
	last := token[len(token)-8:]
	site.Visitor(t).Get("/admin/audit.jsonl", handlertest.Bearer(token)...).Want(http.StatusForbidden)
	site.Visitor(t).Get("/api/1.0/instance/?id=x", handlertest.Bearer(token)...).Want(http.StatusOK)
	visitor := site.Visitor(t)
	visitor.Get("/admin/tracker").Want(http.StatusSeeOther)
	visitor.Get("/api/1.0/instance/?id=x", handlertest.Bearer("mishap_no-such-token")...).Want(http.StatusUnauthorized)
	visitor.SignIn("my password", "typed into the wrong field").Want(http.StatusUnprocessableEntity)

	handlertest.WantRecords(t, admin, "result=refused",
		"person|ada-viewer||request.refused|GET /admin/tracker|refused|role",
		"person|ada-viewer||request.refused|POST /admin/rules|refused|role",
		"person|ada-viewer||request.refused|POST /my/follow|refused|foreign_origin",
		"token|ada-viewer|a script "+last+"|request.refused|GET /admin/audit.jsonl|refused|scope",
		"visitor|||request.refused|GET /api/1.0/instance/|refused|bad_token",
		"visitor|||user.sign-in-refused|password|refused|wrong_password")
	handlertest.WantRecords(t, admin, "action=read.api",
		"token|ada-viewer|a script "+last+"|read.api|/api/1.0/instance/|done|")
	if all := admin.Get("/admin/audit.jsonl").Body; strings.Contains(all, "my password") {
		t.Error("the log contains a name that was typed")
	}
}

// TestAuditPage checks filters, paging and what a record looks like.
func TestAuditPage(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	admin := site.As(t, crash.RoleAdmin)
	b := site.Save(t, crashtest.Native())
	admin.Post("/admin/access", url.Values{"source": {"oidc"}, "group": {"<staff>"}, "role": {"viewer"}}).Want(
		http.StatusSeeOther)
	admin.Post("/admin/access", url.Values{"source": {"oidc"}, "group": {"<staff>"}, "role": {"triager"}}).Want(
		http.StatusSeeOther)
	admin.Post(b.ID.Path()+"/tags", url.Values{"tag": {"sru"}}).Want(http.StatusSeeOther)
	admin.Get("/admin/audit?action=access.grant").Want(http.StatusOK).
		WantText("tbody tr:first-child", "role: viewer → triager").WantText("tbody tr:last-child", "role: nothing → viewer").
		WantText("tbody tr:first-child th + td", "ada-admin").WantText("tbody tr:first-child", "oidc <staff>").
		WantText("tbody tr:first-child", "Gave a role to a group")
	page := admin.Get("/admin/audit?object=" + b.ID.String()).Want(http.StatusOK).WantNone("tbody tr:nth-child(2)")
	checktest.Equal(t, "link to", page.Attr("tbody a", "href"), b.ID.Path())
	for range 60 {
		checktest.NoError(t, site.Store.AuditAlone(t.Context(), auditEvent()))
	}
	first := admin.Get("/admin/audit?action=regroup.start").WantNone("tbody tr:nth-child(51)")
	second := admin.Get(first.Attr(".paging a", "href")).Want(http.StatusOK).WantNone("tbody tr:nth-child(11)").
		WantText("tbody tr:nth-child(10)", "regrouping")
	admin.Get(second.Attr(".paging a", "href")).WantText("tbody tr:nth-child(50)", "regrouping")
	admin.Get("/admin/audit?who=nobody").Want(http.StatusOK).WantText(".empty", "No record matches")
	for _, query := range []string{"from=yesterday", "to=2026-13-01", "action=no.such", "result=maybe", "address=here",
		"who=%00%ff", "after=1.x"} {
		a := admin.Get("/admin/audit?" + query)
		if query == "who=%00%ff" && a.Status != http.StatusOK || query != "who=%00%ff" && a.Status != http.StatusBadRequest {
			t.Errorf("%s: got status %d", query, a.Status)
		}
		if a := admin.Get("/admin/audit.jsonl?" + query); strings.Contains(query,
			"=%00") == (a.Status == http.StatusBadRequest) {
			t.Errorf("export of %s: got status %d", query, a.Status)
		}
	}
	today := site.Value(t, `select to_char(now() at time zone 'utc', 'YYYY-MM-DD')`)
	admin.Get("/admin/audit?from="+today+"&to="+today+"&address=127.0.0.1&result=done").
		Want(http.StatusOK).WantText("tbody", "Signed in")
}

func auditEvent() db.AuditEvent {
	return db.AuditEvent{Action: "regroup.start", Subject: "reports", After: map[string]any{"run": 1}}
}

func TestAccessPage(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	c := site.As(t, crash.RoleAdmin)
	c.Get("/admin/people").Want(http.StatusOK).WantText("#main", "No group or account has been granted rights yet").
		WantText("#main", "admin: given by hand")
	grant := func(source, group, role string) *handlertest.Answer {
		t.Helper()
		return c.Post("/admin/access", url.Values{"source": {source}, "group": {group}, "role": {role}})
	}
	grant("oidc", "staff<b>", "triager").WantRedirect(http.StatusSeeOther, "/admin/people")
	signed, err := site.People.SignInIdentity(t.Context(), crash.Identity{
		Source: crash.SourceOIDC, Issuer: "https://id.example", Subject: "42", Name: "kim", Groups: []string{"staff<b>"},
	})
	if err != nil {
		t.Fatal(err)
	}
	page := c.Get("/admin/people").Want(http.StatusOK).WantText("#flash", "have the role triager now").
		WantText("#main", "triager: member of staff<b> (OpenID Connect)").WantText("#main", "by ada-admin,")
	page.WantNone("main th b")
	c.Get("/admin/people?person=KI").WantText("#main", "kim")
	if got := c.Get("/admin/people?person=nobody").Text("#main"); got == "" ||
		len(c.Get("/admin/people?person=ki").Text("#main")) <= len(got) {
		t.Errorf("search for nobody: got %q, want fewer people", got)
	}

	scoped := url.Values{"source": {"account"}, "group": {"kim"}, "role": {"private"}, "scope": {"package"},
		"packages": {"linux-*"}}
	c.Post("/admin/access", scoped).WantRedirect(http.StatusSeeOther, "/admin/people")
	c.Get("/admin/people").WantText("#flash", "The account kim has the right to private data and embargoed problems of "+
		"linux-* now.").
		WantText("#main", "private for linux-*: given by hand")
	c.Post("/admin/access/revoke", scoped).WantRedirect(http.StatusSeeOther, "/admin/people")
	scoped.Set("group", "nobody")
	c.Post("/admin/access", scoped).Want(http.StatusUnprocessableEntity).WantText("[role=alert]", "no account named")
	scoped.Set("role", "admin")
	c.Post("/admin/access", scoped).Want(http.StatusUnprocessableEntity).WantText("[role=alert]",
		"applies to all packages")

	bad := grant("oidc", "a\nb", "viewer").Want(http.StatusUnprocessableEntity).WantText("[role=alert]", "on one line")
	if got := bad.HTML().Find("#grant-role option[selected]").AttrOr("value", ""); got != "viewer" {
		t.Errorf("role in the refused form: got %q, want viewer", got)
	}
	grant("ldap", "x", "viewer").Want(http.StatusUnprocessableEntity).WantText("[role=alert]", "not a way of signing in")
	grant("oidc", "x", "king").Want(http.StatusUnprocessableEntity).WantText("[role=alert]", "is not a role")

	revoke := url.Values{"source": {"oidc"}, "group": {"staff<b>"}, "role": {"triager"}}
	c.Post("/admin/access/revoke", revoke).WantRedirect(http.StatusSeeOther, "/admin/people")
	c.Post("/admin/access/revoke", revoke).Want(http.StatusNotFound)
	u, err := site.People.ByID(t.Context(), signed.UserID)
	if err != nil || u.Role != crash.RoleNone {
		t.Errorf("after revoking: got role %q, %v, want none", u.Role, err)
	}
}
