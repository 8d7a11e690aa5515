package admin_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/handlers/handlertest"
	"mishap/tracker"
)

func TestTemplates(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{CreateWait: handlertest.Patience})
	b := site.Save(t, crashtest.Native())
	other := site.Save(t, crashtest.Python())
	c := site.As(t, crash.RoleAdmin)
	page := c.Get(handlertest.TemplatesPath + "?package=tidewatch&type=Crash").Want(http.StatusOK)
	page.WantText("#template", "bugs use the built-in template").WantText(".template-names",
		"versions_table").WantNone("button[value=default]")
	if got := strings.TrimPrefix(page.Text("#template-body"), "\n"); !strings.Contains(got, "{how_often}") {
		t.Errorf("got %q, want the built-in template", got)
	}
	mine := url.Values{"package": {"tidewatch"}, "type": {"Crash"},
		"body": {"Hello {program} <b>\r\n\r\n{problem_url}\r\n{?kernel_message}\r\nno\r\n{/kernel_message}\r\n"}}

	for name, headers := range map[string][]handlertest.Header{"page": nil, "part": handlertest.AsPart} {
		preview := c.Post(handlertest.TemplatesPath, handlertest.With(mine, "do", "preview"), headers...).Want(http.StatusOK)
		want := "Hello /usr/bin/tidewatch <b>\n\n" + site.URL + b.ID.Path() + "\n"
		if got := preview.HTML().Find(".tracker-text").Text(); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
		preview = c.Post(handlertest.TemplatesPath, handlertest.With(mine, "do", "preview", "bucket",
			site.URL+other.ID.Path()),
			headers...).Want(http.StatusOK)
		preview.WantText(".tracker-text", other.ID.String())
		c.Post(handlertest.TemplatesPath, handlertest.With(mine, "do", "preview", "bucket", "nonsense"),
			headers...).Want(http.StatusUnprocessableEntity).WantText(".error", "no such problem")
		bad := c.Post(handlertest.TemplatesPath, handlertest.With(mine, "do", "save", "body", "{hostname} {?trace}"),
			headers...).Want(http.StatusUnprocessableEntity)
		for _, problem := range []string{"“hostname”", "{?trace} is never ended", "{problem_url} is missing"} {
			bad.WantText("#template-problems", problem)
		}
		bad.WantText("#template-body", "{hostname} {?trace}")
	}
	if all, err := site.Bugs.BugTemplates(t.Context()); err != nil || len(all) != 0 {
		t.Fatalf("got templates %v, %v, want none saved yet", all, err)
	}

	address := handlertest.TemplatesPath + "?package=tidewatch&type=Crash"
	c.Post(handlertest.TemplatesPath, handlertest.With(mine, "do", "save")).WantRedirect(http.StatusSeeOther, address)
	c.Get(address).WantText(".flash-done", "saved. New bugs will use it.").WantText(".templates",
		"tidewatch, Crash").WantText("#template-body",
		"Hello {program}").WantText(".templates", "ada-admin")
	c.PostJSON(handlertest.CreatePath, map[string]string{"signature": b.Signature}).Want(http.StatusCreated)
	if got := site.Tracker.Bugs()[0].Description; !strings.HasPrefix(got, "Hello /usr/bin/tidewatch <b>\n\n") {
		t.Errorf("got bug %q, want it by the template", got)
	}
	c.Get(handlertest.TemplatesPath+"?package=tidewatch&type=Package").WantText("#template",
		"bugs use the built-in template")

	drop := c.Post(handlertest.TemplatesPath, handlertest.With(mine, "do", "default"), handlertest.AsPart...).
		Want(http.StatusOK)
	if got := drop.Header.Get("HX-Redirect"); got != address {
		t.Errorf("removed: got redirected to %q, want %q", got, address)
	}
	c.Get(address).WantText(".flash-done", "deleted").WantNone("button[value=default]")
	c.Post(handlertest.TemplatesPath, handlertest.With(mine, "do", "default")).Want(http.StatusNotFound)
	c.Get(handlertest.TemplatesPath + "?package=%ff").Want(http.StatusBadRequest)

	// Typed text outlives the session.
	c.SetCookie("sessionid", "ended")
	kept := c.Post(handlertest.TemplatesPath, handlertest.With(mine, "do", "save")).Want(http.StatusUnauthorized)
	c.Post("/login", url.Values{
		"username": {"ada-admin"}, "password": {handlertest.Password}, "next": {kept.Attr("[name=next]", "value")},
		"kept": {kept.Attr("[name=kept]", "value")},
	}).WantRedirect(http.StatusSeeOther, handlertest.TemplatesPath)
	c.Get(handlertest.TemplatesPath).WantText("#template-trouble", "has been restored").WantText("#template-body",
		"Hello {program}").WantText("#template-title", "tidewatch, Crash")
}

// TestShippedTemplate checks that saving the shipped text does not change bugs.
func TestShippedTemplate(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	b := site.Save(t, crashtest.Native())
	before, err := site.Filer.Propose(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	site.As(t, crash.RoleAdmin).Post(handlertest.TemplatesPath, url.Values{
		"do": {"save"}, "body": {strings.ReplaceAll(tracker.DefaultTemplate, "\n", "\r\n")},
	}).Want(http.StatusSeeOther)
	after, err := site.Filer.Propose(t.Context(), b)
	if err != nil || before.Description != after.Description {
		t.Errorf("got %q, %v, want %q", after.Description, err, before.Description)
	}
}
