package admin_test

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/handlers/handlertest"
	"mishap/tracker"
	"mishap/views/layout"
)

func TestRoutes(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{Trackers: []string{"bugzilla"}, Upstreams: []string{"gitlab"}})
	c := site.As(t, crash.RoleAdmin)
	c.Get(handlertest.TrackerPath).Want(http.StatusOK).WantText("main", "Routes say which bugs go")
	page := c.Get(layout.PathRoutes).Want(http.StatusOK)
	page.WantText("main", "There are no routes: all bugs go to the practice tracker.").
		WantText(".admin-nav [aria-current]", "Bug tracker").WantText("#routes-form .facts", "Product/Component").
		WantNone("#try .error")
	save := func(text string) *handlertest.Answer {
		return c.Post(layout.PathRoutes, url.Values{"routes": {text}})
	}

	mistakes := "package,type,release,tracker,target\r\nmutter,,,gitlab,GNOME/{source}\r\nlinux*,,,bugzilla,kernel\r\n"
	bad := save(mistakes).Want(http.StatusUnprocessableEntity)
	bad.WantText("#routes-problem", "Line 3: “kernel” is no target in Bugzilla, whose form is Product/Component.")
	checktest.Equal(t, "typed", strings.TrimLeft(bad.HTML().Find("#routes-text").Text(), "\n"),
		strings.ReplaceAll(mistakes, "\r\n", "\n"))
	save("package,tracker\nmutter,gone\n").Want(http.StatusUnprocessableEntity).
		WantText("#routes-problem", `Line 2: there is no tracker "gone" in the configuration`)
	save("package,tracker\nmut\x00ter,bugzilla\n").Want(http.StatusUnprocessableEntity).
		WantText("#routes-problem", "Line 2")

	routes := "package,type,release,tracker,target\nmutter,,,gitlab,GNOME/{source}\n" +
		"linux*,KernelOops,Fedora *,bugzilla,Fedora/kernel/{release}\ncups,,,bugzilla,Fedora/cups/{version}\n"
	save(routes).WantRedirect(http.StatusSeeOther, layout.PathRoutes)
	page = c.Get(layout.PathRoutes).Want(http.StatusOK).WantText("#flash", "Saved 3 routes. New bugs follow them.")
	page.WantText("table", "2 mutter any any GitLab upstream GNOME/{source}").
		WantText("table", "3 linux* KernelOops Fedora * Bugzilla Fedora/kernel/{release}")
	file := c.Get(layout.PathRoutes + ".csv").Want(http.StatusOK)
	checktest.Equal(t, "file", file.Body, routes)

	for _, tt := range []struct{ query, want string }{
		{"source=mutter&type=Crash&release=Fedora+42",
			"The bug goes to mutter in ubuntu : no route fits, and this is the first tracker. " +
				"Upstream’s bug goes to GNOME/mutter in GitLab : line 2 decides."},
		{"source=linux-lts&type=KernelOops&release=Fedora+42",
			"The bug goes to Fedora/kernel/42 in Bugzilla : line 3 decides. Upstream’s bug goes nowhere"},
		{"source=cups", "The bug goes to Fedora/cups/1.0-1 in Bugzilla : line 4 decides. 1.0-1 stands for the version."},
		{"source=%3Cb%3E%00", "The bug goes to <b> in ubuntu"},
	} {
		c.Get(layout.PathRoutes+"?"+tt.query).Want(http.StatusOK).WantText("section[aria-labelledby=try]", tt.want)
	}
	handlertest.WantRecords(t, c, "action=routes.save", "person|ada-admin||routes.save|routes|done|")
	if places := site.Value(t, "select count(*)::text from bug_places where project <> ''"); places != "0" {
		t.Errorf("asking where bugs go has numbered %s places, want none", places)
	}

	// A tracker has left the configuration.
	checktest.NoError(t, site.Bugs.SaveRoutes(t.Context(), crash.Routes{
		{Package: "tidewatch", Tracker: "gone", Target: "a"}, {Package: "*", Tracker: "bugzilla"},
	}, "ines"))
	page = c.Get(layout.PathRoutes + "?source=tidewatch").Want(http.StatusOK)
	page.WantText(".flash-error", "1 route leads to gone, which is not in the configuration: bugs are refused.").
		WantText("table", "gone not configured").
		WantText("section[aria-labelledby=try] .error", "The route “tidewatch → gone” leads to a tracker that is not")
	b := site.Save(t, crashtest.Native())
	_, err := site.Filer.CreateBug(t.Context(), b.Signature, tracker.Options{Person: "ines"})
	checktest.Equal(t, "filing by the route", crash.KindOf(err), crash.Unprocessable)
	site.As(t, crash.RoleTriager).Get(layout.PathRoutes).Want(http.StatusForbidden)
}

// TestRoutesFromFile saves more routes than the page shows.
func TestRoutesFromFile(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{Trackers: []string{"bugzilla"}})
	c := site.As(t, crash.RoleAdmin)
	send := func(content string) *handlertest.Answer {
		var body bytes.Buffer
		w := multipart.NewWriter(&body)
		c.Get("/login")
		checktest.NoError(t, w.WriteField("csrf_token", c.Cookie("csrftoken")))
		checktest.NoError(t, w.WriteField("routes", "package,tracker\nold,bugzilla\n"))
		part, err := w.CreateFormFile("file", "routes.csv")
		checktest.NoError(t, err)
		_, err = part.Write([]byte(content))
		checktest.NoError(t, err)
		checktest.NoError(t, w.Close())
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.URL+layout.PathRoutes, &body)
		checktest.NoError(t, err)
		req.Header.Set("Content-Type", w.FormDataContentType())
		req.Header.Set("Origin", c.URL)
		req.Header.Set("Accept", "text/html")
		return c.Do(req)
	}
	var table strings.Builder
	table.WriteString("package,tracker,target\r\n")
	for i := range 5000 {
		fmt.Fprintf(&table, "package-%d,bugzilla,Product/component-%d\r\n", i, i)
	}
	send(table.String()).WantRedirect(http.StatusSeeOther, layout.PathRoutes)
	page := c.Get(layout.PathRoutes).Want(http.StatusOK).
		WantText("section[aria-labelledby=routes]", "5,000 routes , of which the first 200 are shown").
		WantNone("#routes-text")
	checktest.Equal(t, "rows", page.HTML().Find("tbody tr").Length(), 200)
	c.Get(layout.PathRoutes+"?source=package-4711").WantText("section[aria-labelledby=try]", "line 4713 decides")

	bad := send(table.String() + "x,bugzilla,nothing\r\n").Want(http.StatusUnprocessableEntity)
	bad.WantText("#routes-problem", "Line 5002: “nothing” is no target in Bugzilla").WantNone("#routes-text")
	send("package,tracker\nx,gone\n").Want(http.StatusUnprocessableEntity).WantText("#routes-problem", "Line 2").
		WantText("#routes-text", "x,gone")
	send("").Want(http.StatusUnprocessableEntity)
	send(strings.Repeat("x", 1<<20)).Want(http.StatusRequestEntityTooLarge)
	send("package,tracker\n").WantRedirect(http.StatusSeeOther, layout.PathRoutes)
	c.Get(layout.PathRoutes).WantText("#flash", "There are no routes.")
}
