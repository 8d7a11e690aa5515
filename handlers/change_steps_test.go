package handlers_test

import (
	"net/url"
	"strings"
	"testing"

	"mishap/crash/crashtest"
	"mishap/db/dbtest"
	"mishap/handlers/handlertest"
	"mishap/notify/mail/mailtest"
	bugsview "mishap/views/bugs"
	"mishap/views/layout"
	problemsview "mishap/views/problems"
)

// changeStep is a form that changes something.
type changeStep struct{ action, path, form, values string }

// changeSteps are forms in the order in which an administrator sends them, with the actions that they
// cause and what their records say before and after.
var changeSteps = []changeStep{
	{"access.grant", "/admin/access", "source=oidc&group=staff&role=viewer", `{"role": ""} {"role": "viewer"}`},
	{"access.revoke", "/admin/access/revoke", "source=oidc&group=staff", `{"role": "viewer"} {"role": ""}`},
	{"note.add", "/problem/{problem}/notes", "text=One", ` `},
	{"note.change", "/problem/{problem}/notes/{note}", "text=Two", ` `},
	{"problem.assign", "/problem/{problem}/assign", "do=me", `{"assignee": ""} {"assignee": "ada-admin"}`},
	{"problem.unassign", "/problem/{problem}/assign/undo", "assignment=1", `{"assignee": "ada-admin"} {"assignee": ""}`},
	{"problem.tag", "/problem/{problem}/tags", "tag=sru", ` {"tag": "sru"}`},
	{"problem.untag", "/problem/{problem}/tags?do=remove", "tag=sru", `{"tag": "sru"} `},
	{"problem.triage", "/problem/{problem}/mute", "reports=9&reason=x", ` {"kind": "muted", "until": {"reports": 9}}`},
	{"problem.untriage", "/problems/triage/undo", "entries={entry}", `{"kind": "wontfix"} `},
	{"problem.embargo", "/problem/{problem}/embargo", "do=set", `{"embargoed": false} {"embargoed": true}`},
	{"problem.lift-embargo", "/problem/{problem}/embargo", "do=lift", `{"embargoed": true} {"embargoed": false}`},
	{"problem.hold", "/problem/{problem}/hold", "do=set", `{"held": false} {"held": true}`},
	{"problem.lift-hold", "/problem/{problem}/hold", "do=lift", `{"held": true} {"held": false}`},
	{"problem.rename", "/problem/{problem}/rename", "name=New", `{"name": ""} {"name": "New"}`},
	{"problem.unname", "/problem/{problem}/undo", "decision=1", `{"name": "New"} {"name": ""}`},
	{"problem.merge", problemsview.PathMerge, "problem={problem}&problem={other}&head={problem}",
		` {"into": "{problem}"}`},
	{"problem.unmerge", "/problem/{problem}/undo", "decision=2", `{"into": "{problem}"} `},
	{"follow.add", "/my/follow", "what=problem:{problem}", `{"followed": false} {"followed": true}`},
	{"follow.remove", "/my/unfollow", "what=problem:{problem}", `{"followed": true} {"followed": false}`},
	{"bug.link", "/problem/{problem}/link", "bug=4711", ` {"bug": 4711}`},
	{"bug.unlink", "/problem/{problem}/unlink", "bug=4711", `"bug": 4711`},
	{"bug.relink", "/problem/{problem}/relink", "bug=4711", ` {"bug": 4711}`},
	{"candidate.declined", "/candidates/1/decline", "", `{"state": "waiting"} {"state": "declined"}`},
	{"candidate.waiting", "/candidates/1/restore", "", `{"state": "declined"} {"state": "waiting"}`},
	{"candidate.filed", "/candidates/1/approve", "", `{"state": "waiting"} {"state": "filed"}`},
	{"search.save", "/searches", "name=Mine&path=/search?q%3Dx",
		` {"name": "Mine", "path": "/search?period=year&q=x", "shared": false}`},
	{"search.change", "/searches/1", "name=Ours&shared=1", `"Mine"`},
	{"search.delete", "/searches/1/delete", "", `"Ours"`},
	{"search.restore", "/searches/1/restore", "", `"Ours"`},
	{"token.add", "/account/tokens", "name=x&scope=read&days=365", `"name": "x"`},
	{"token.revoke", "/account/tokens/1/revoke", "", `{"token": `},
	{"user.tracker-name", "/account", "tracker_name=", `{"tracker_name": ""} {"tracker_name": ""}`},
	{"mail.settings", "/account/notifications", "mode=weekly&hour=9&weekday=2&zone=UTC", `"immediate"`},
	{"mail.address", "/account/notifications/address", "address=ada@example.org", `"unconfirmed_address": "changed"`},
	{"mail.address-remove", "/account/notifications/remove", "", `"unconfirmed_address": "set"`},
	{"notifications.stop", layout.PathEndpoints + "/stop", "", `{"stopped": false} {"stopped": true}`},
	{"notifications.resume", layout.PathEndpoints + "/resume", "", `{"stopped": true} {"stopped": false}`},
	{"rule.change", "/admin/rules/1/switch", "on=", `"on": true`},
	{"rule.delete", "/admin/rules/1/delete", "", `"name": `},
	{"rule.restore", "/admin/rules/1/restore", "", `"name": `},
	{"template.save", handlertest.TemplatesPath, "package=alpha&type=Crash&body={problem_url}&do=save", `{"body": `},
	{"template.drop", handlertest.TemplatesPath, "package=alpha&type=Crash&do=default", `{"body": `},
	{"tracker.updates", bugsview.PathUpdates, "do=add&pattern=a&quiet=on&weeks=6", `"weeks": 6`},
	{"tracker.updates", bugsview.PathUpdates, "do=save&pattern=a&weeks=7", `{"again": false, "quiet": true, `},
	{"tracker.updates", bugsview.PathUpdates, "do=add&pattern=b&quiet=on&weeks=6", `"weeks": 6`},
	{"tracker.updates-order", bugsview.PathUpdates, "do=raise&pattern=b", `{"position": 2} {"position": 1}`},
	{"tracker.updates-drop", bugsview.PathUpdates, "do=drop&pattern=a", `"weeks": 7`},
	{"user.add", "/admin/services", "name=bot&role=viewer&source=proxy&team=a", ` {"role": "viewer", "team": `},
	{"user.team", "/service/bot/team", "source=proxy&team=b", `"team": `},
	{"privacy.check", "/admin/privacy/check", "", `{"run": 1}`},
	{"bug.create", "/problem/{other}/review",
		"do=file&title=A+title&description=Some+text&tags=xy&information_type=Public&target=package&package=tidewatch",
		` {"filing": `},
	{"problem.split", "/problem/{problem}/split", "field=architecture&value=amd64", ` {"into": "`},
	{"machine.erase", "/user/machine-1/erase", "confirm=machine-", `{"blocked": false}`},
	{"user.password", "/account/password", "password={password}&new=another+good+one&again=another+good+one",
		` {"password": "changed"}`},
}

// stepSite is a site with what changeSteps are about.
type stepSite struct {
	*handlertest.Pages
	fill *strings.Replacer
}

func newStepSite(t *testing.T) stepSite {
	t.Helper()
	address := dbtest.URL(t)
	p := handlertest.NewPagesIn(t, handlertest.Options{Store: dbtest.Open(t, address), SMTPURL: mailtest.New(t).URL,
		CreateWait: handlertest.Patience})
	fill := newRightsPackage(t, p, address, "alpha", "1").fill
	p.Accept("machine-1", crashtest.Python())
	return stepSite{p, fill}
}

// request returns the address and the fields of a step.
func (s stepSite) request(t *testing.T, step changeStep) (path string, form url.Values) {
	t.Helper()
	own := strings.NewReplacer("{other}", handlertest.BucketOf(t, crashtest.Python()).String(), "{problem_url}",
		"%7Bproblem_url%7D",
		"{password}", url.QueryEscape(handlertest.Password))
	form, err := url.ParseQuery(s.fill.Replace(own.Replace(step.form)))
	if err != nil {
		t.Fatal(err)
	}
	return s.fill.Replace(own.Replace(step.path)), form
}

// values returns what the records of a request and an action say before and after.
func (s stepSite) values(t *testing.T, a *handlertest.Answer, action string) string {
	t.Helper()
	return s.Value(t, `
		select coalesce(string_agg(coalesce(before::text, '') || ' ' || coalesce(after::text, ''), '; ' order by id), '')
		from audit_events where request_id = $1 and action = $2 and result = 'done' and person = 'ada-admin'`,
		a.Header.Get("X-Request-Id"), action)
}
