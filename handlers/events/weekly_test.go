package events_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/handlers/handlertest"
	"mishap/notify/mail/mailtest"
)

// TestWeeklyMails subscribes to weekly reports, on the page of one and in the settings, and ends them.
func TestWeeklyMails(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{SMTPURL: mailtest.New(t).URL})
	ada, eve, admin := site.As(t, crash.RoleViewer), site.As(t, crash.RoleTriager), site.As(t, crash.RoleAdmin)
	const page = "/account/notifications"
	ada.Get(page).Want(http.StatusOK).WantText("#weekly ~ p", "You get no weekly report.")
	form := handlertest.FieldsOf(ada.Get("/weekly?of=set&name=desktop").Want(http.StatusOK), "#weekly-mail")
	ada.Post(page+"/weekly", form).WantRedirect(http.StatusSeeOther, page+"#weekly")
	a := ada.Get(page).Want(http.StatusOK)
	a.WantText(".flash-done",
		"You are subscribed to the weekly report of the package set desktop, but you get no mail yet.")
	a.WantText("#weekly ~ ul", "the package set desktop Remove").WantText("#weekly ~ p", "on Monday at 08:00")
	checktest.Equal(t, "link", a.Attr("#weekly ~ ul a", "href"), "/weekly?name=desktop&of=set")
	ada.Post(page+"/weekly", form).WantRedirect(http.StatusSeeOther, page+"#weekly") // once is enough
	ada.Post(page+"/weekly", url.Values{"of": {"mine"}, "name": {"ignored"}}).Want(http.StatusSeeOther)
	checktest.Equal(t, "stored", site.Value(t, `select string_agg(concat_ws(' ', scope, name), ', ' order by scope)
		from weekly_mails`), "mine , set desktop")

	for name, bad := range map[string]url.Values{"no name": {"of": {"package"}}, "kind": {"of": {"else"}, "name": {"x"}},
		"long": {"of": {"team"}, "name": {strings.Repeat("x", 101)}}, "two": {"of": {"package"}, "name": {"a b"}}} {
		if a := ada.Post(page+"/weekly", bad); a.Status != http.StatusUnprocessableEntity || a.Text("#weekly-problem") == "" {
			t.Errorf("%s: got status %d and %q", name, a.Status, a.Text("main"))
		}
	}
	id := site.Value(t, `select id::text from weekly_mails where scope = 'set'`)
	eve.Post(page+"/weekly/"+id+"/remove", nil).Want(http.StatusNotFound)
	ada.Post(page+"/weekly/"+id+"/remove", nil).WantRedirect(http.StatusSeeOther, page+"#weekly")
	ada.Post(page+"/weekly/"+id+"/remove", nil).Want(http.StatusNotFound)
	ada.Get(page).WantText("#weekly ~ ul", "what you follow Remove")
	handlertest.WantRecords(t, admin, "action=mail.weekly-remove",
		"person|ada-viewer||mail.weekly-remove|ada-viewer|done|")
	for _, action := range []string{"add", "remove"} {
		values := site.Value(t, `select coalesce(before, after)::text from audit_events where action = $1
			order by id limit 1`, "mail.weekly-"+action)
		checktest.Equal(t, action+": values", values, `{"name": "desktop", "scope": "set"}`)
	}

	for i := range 19 {
		ada.Post(page+"/weekly", url.Values{"of": {"package"}, "name": {fmt.Sprint("p", i)}}).Want(http.StatusSeeOther)
	}
	ada.Post(page+"/weekly", url.Values{"of": {"package"}, "name": {"one-more"}}).Want(http.StatusUnprocessableEntity).
		WantText("main", "You get 20 weekly reports, the maximum.")
	site.Visitor(t).Get("/weekly").Want(http.StatusOK).WantNone("#weekly-mail")
}
