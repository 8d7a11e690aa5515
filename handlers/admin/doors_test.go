package admin_test

import (
	"net/http"
	"net/url"
	"testing"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/db/dbtest"
	"mishap/db/doors"
	"mishap/handlers/handlertest"
	"mishap/views/layout"
)

// TestDoors creates a project, its keys and a closed door on the page, and checks what the page shows of them.
func TestDoors(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	c := site.As(t, crash.RoleAdmin)
	store := doors.New(site.Store)
	do := func(path string, form ...string) *handlertest.Answer {
		values := url.Values{}
		for i := 0; i < len(form); i += 2 {
			values.Set(form[i], form[i+1])
		}
		return c.Post(layout.PathDoors+path, values)
	}
	c.Get(layout.PathDoors).Want(http.StatusOK).WantText(".admin-nav [aria-current]", "Doors").
		WantText("table", "ABRT Fedora’s reporter-ureport 0 0 0 0 0 never open Close").
		WantText("section[aria-labelledby=projects]", "There are no projects yet.").
		WantText("#connect-go + p + pre", "http://KEY@localhost:8081/NUMBER")

	for name, problem := range map[string]string{"": "1 to 64", "Harbor": "1 to 64", "a:b": "1 to 64"} {
		do("", "name", name, "source", "harbor-sync").Want(http.StatusUnprocessableEntity).
			WantText("#project-problem", problem)
	}
	do("", "name", "harbor", "source", "a b").Want(http.StatusUnprocessableEntity).
		WantText("#project-problem", "without blanks")
	do("", "name", "harbor", "source", "harbor-sync").WantRedirect(http.StatusSeeOther, layout.PathDoors)
	do("", "name", "harbor", "source", "other").Want(http.StatusUnprocessableEntity).
		WantText("#project-problem", "There is a project with this name already.")

	p := dbtest.Must(store.Projects(t.Context()))(t)[0]
	store.Count(crash.DoorCount{Door: crash.DoorSentry, Project: p.Number, Outcome: "stored", Requests: 3}, p.Key())
	store.Count(crash.DoorCount{Door: crash.DoorSentry, Outcome: "refused", Reason: "unknown_key", Requests: 2}, "")
	checktest.NoError(t, store.Flush(t.Context()))
	page := c.Get(layout.PathDoors + "?address=https%3A%2F%2Fcrashes.example%2Fx%2F%3Fq").Want(http.StatusOK)
	dsn := "https://" + p.Key() + "@crashes.example/x/1"
	page.WantText("section[aria-labelledby=projects] table", "harbor harbor-sync 3 0 0 0 0").
		WantText("section[aria-labelledby=projects] table", dsn+" Last used").
		WantText("table", "0 2 unknown key 2 0").
		WantText("#connect-python + p + pre", dsn).
		WantText("#connect-drkonqi + p + pre", "@crashes.example/x/api/1").
		WantText("#connect-minidump + p + pre", "https://crashes.example/x/api/1/minidump/?sentry_key=")
	c.Get(layout.PathDoors+"?address=javascript:x").Want(http.StatusOK).
		WantText("#connect-whoopsie + p + pre", "CRASH_DB_URL=http://localhost:8081")

	c.Get(layout.PathDoors).WantNone("#pings")
	// Today's are those of the last whole day if a day ends meanwhile.
	_, err := site.Store.Pool.Exec(t.Context(), `insert into ping_days
		select (now() at time zone 'UTC')::date - n, release, 'amd64', machines from generate_series(0, 1) as n,
			(values ('Fedora 43', 3), ('Debian 13', 1), ('', 2)) as v (release, machines)`)
	checktest.NoError(t, err)
	c.Get(layout.PathDoors).WantText("#pings",
		", 6 machines said that they are there (mishap-send with ping = true): 3 Fedora 43, 1 Debian 13, 2 others.")

	do("/1", "do", "add").WantRedirect(http.StatusSeeOther, layout.PathDoors)
	do("/1", "do", "revoke", "key", p.Key()).WantRedirect(http.StatusSeeOther, layout.PathDoors)
	do("/1", "do", "revoke", "key", p.Key()).Want(http.StatusNotFound)
	do("/1", "do", "list").WantRedirect(http.StatusSeeOther, layout.PathDoors)
	do("/1", "do", "other").Want(http.StatusBadRequest)
	do("/99", "do", "add").Want(http.StatusNotFound)
	do("/x", "do", "add").Want(http.StatusNotFound)
	now := dbtest.Must(store.Projects(t.Context()))(t)[0]
	if len(now.Keys) != 2 || now.Key() == p.Key() || now.Key() == "" || !now.Listed {
		t.Errorf("got %+v, want a new key, a revoked one, and the project in the list", now)
	}
	if _, err := store.Project(t.Context(), p.Number, p.Key()); crash.KindOf(err) != crash.Forbidden {
		t.Errorf("the revoked key: got %v, want Forbidden", err)
	}
	c.Get(layout.PathDoors).WantText("section[aria-labelledby=projects] table", now.Key()).
		WantText("section[aria-labelledby=projects] table", "in DrKonqi’s list")

	do("/switch", "door", "abrt", "do", "close").WantRedirect(http.StatusSeeOther, layout.PathDoors)
	c.Get(layout.PathDoors).WantText("table", "closed by ada-admin Open")
	checktest.NoError(t, store.Refresh(t.Context()))
	checktest.Equal(t, "closed", store.Closed(crash.DoorABRT), true)
	do("/switch", "door", "gate", "do", "close").Want(http.StatusNotFound)
	handlertest.WantRecords(t, c, "action=project.revoke", "person|ada-admin||project.revoke|harbor|done|")
	handlertest.WantRecords(t, c, "action=door.close", "person|ada-admin||door.close|abrt|done|")
	site.As(t, crash.RoleTriager).Get(layout.PathDoors).Want(http.StatusForbidden)
}
