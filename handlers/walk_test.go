package handlers_test

import (
	"context"
	"html"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/audit"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/db/dbtest"
	"mishap/handlers/handlertest"
	"mishap/notify/mail/mailtest"
	bugsview "mishap/views/bugs"
	"mishap/views/layout"
	problemsview "mishap/views/problems"
)

// walk follows the next links from a page to the end and returns the text of each page.
func walk(t *testing.T, c *handlertest.Client, path, what string) (seen []string) {
	t.Helper()
	return walkBy(t, c, path, what, ".pager a[rel=next]")
}

// walkBy follows links from a page to the end and returns the text of each page.
func walkBy(t *testing.T, c *handlertest.Client, path, what, links string) (seen []string) {
	t.Helper()
	for range 20 {
		a := c.Get(path).Want(http.StatusOK)
		seen = append(seen, strings.ReplaceAll(a.Text(what), " ", "")) // long ids have a gap in the middle
		next := a.HTML().Find(links)
		if next.Length() == 0 {
			return seen
		}
		path, _ = next.Attr("href")
	}
	t.Fatalf("the next links from %s do not end", path)
	return nil
}

func TestWalkThroughChosenReports(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	p.Several(2, crashtest.Native)
	p.Several(3, crashtest.Native, crashtest.On("Ubuntu 22.04"), crashtest.Version("1.4.10-1"))
	p.Several(2, crashtest.Native)
	id := handlertest.BucketOf(t, crashtest.Native())
	c := p.As(t, crash.RoleViewer)
	chosen := id.Path() + "?release=Ubuntu+22.04"
	list := c.Get(chosen).Want(http.StatusOK)
	seen := walk(t, c, list.Attr("#reports tbody tr:first-child a[href^='/oops/']", "href"), ".report-facts code")
	checktest.Equal(t, "reports by next links", len(seen), 3)
	a := c.Get(list.Attr("#reports tbody tr:nth-child(2) a[href^='/oops/']", "href"))
	a.WantText(".pager", "reports of this problem (Ubuntu 22.04)")
	checktest.Equal(t, "link to the list", a.Attr(".pager-list a", "href"), chosen)
	back := strings.ReplaceAll(c.Get(a.Attr(".pager a[rel=prev]", "href")).Text(".report-facts code"), " ", "")
	checktest.Equal(t, "back from the second", back, seen[0])
	newest := c.Get(id.Path()).Attr("#reports tbody tr:first-child a[href^='/oops/']", "href")
	if all := walk(t, c, newest, ".report-facts code"); len(all) != 7 {
		t.Errorf("without a choice: got %d reports by next links, want 7", len(all))
	}
}

// TestWalkThroughStacks steps from stack to stack on the page of a problem, within the chosen reports.
func TestWalkThroughStacks(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	p.Several(2, crashtest.Native, crashtest.On("Ubuntu 22.04"), crashtest.Version("1.4.10-1"))
	p.Several(2, crashtest.Native)
	p.Several(1, crashtest.Python)
	id, c := handlertest.BucketOf(t, crashtest.Native()), p.As(t, crash.RoleViewer)
	const report, older = "#stack-source a", "#stack-older[href]"
	checktest.Diff(t, "all", walkBy(t, c, id.Path(), report, older), []string{"Report1of4", "Report2of4", "Report3of4",
		"Report4of4"})
	chosen := id.Path() + "?release=Ubuntu+22.04&via=%2F%3Fperiod%3Dyear"
	checktest.Diff(t, "chosen", walkBy(t, c, chosen, report, older), []string{"Report1of2", "Report2of2"})
	page := c.Get(chosen).WantText("#stack-source", "1.4.10-1 on Ubuntu 22.04").WantNone("#stack-newer[href]")
	next := page.Attr(older, "href")
	part := c.PartFor(page.Attr(older, "hx-get"), "section#stack").Want(http.StatusOK).WantText(report, "Report 2 of 2")
	part.WantNone("main").WantNone(older)
	second := c.Get(next).WantText(".page-place .pager", "1 of 2").Attr(report, "href")
	c.Get(second).Want(http.StatusOK).WantText(".pager", "reports of this problem (Ubuntu 22.04)")
	other := handlertest.BucketOf(t, crashtest.Python()).Path() + "?report=" + second[len("/oops/"):][:36]
	c.Get(other).Want(http.StatusNotFound).WantText("main", "no report with this id")
	c.Get(id.Path() + "?report=x").Want(http.StatusBadRequest)
	p.Visitor(t).Get(next).Want(http.StatusOK).WantNone("#stack-source").WantNone(older)
}

func TestWalkThroughSearch(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	p.Several(3, crashtest.Native)
	p.Several(1, crashtest.Native, crashtest.On("Ubuntu 22.04"))
	p.Several(2, crashtest.Python)
	p.Several(1, crashtest.Java)
	const search = `/search?q=release%3A"Ubuntu+24.04"+-type%3ASnap`
	c := p.As(t, crash.RoleViewer)
	list := c.Get(search).Want(http.StatusOK)
	first := list.Attr("tbody tr:first-child td.problem a", "href")
	ids := walk(t, c, first, ".page-head .page-nav .mono")
	if len(ids) != 3 {
		t.Fatalf("got problems %v by next links, want 3", ids)
	}
	page := c.Get(first).Want(http.StatusOK)
	page.WantText(".pager", "1 of 3").WantText(".pager", "search: release:")
	reports := walk(t, c, page.Attr("#reports tbody tr:first-child a[href^='/oops/']", "href"), ".report-facts code")
	if got := len(reports); got != 6 && got != 7 { // the newest report may be that of 22.04
		t.Errorf("got %d reports by next links, want the 6 that the search counts", got)
	}
	last := c.Get("/oops/" + reports[len(reports)-1] + "?via=" + url.QueryEscape(search)).Want(http.StatusOK)
	var back []string
	for a := last; ; {
		back = append(back, strings.ReplaceAll(a.Text(".report-facts code"), " ", ""))
		if a.HTML().Find(".pager a[rel=prev]").Length() == 0 {
			break
		}
		a = c.Get(a.Attr(".pager a[rel=prev]", "href")).Want(http.StatusOK)
	}
	slices.Reverse(back)
	if !slices.Equal(back, reports[len(reports)-len(back):]) || len(back) != 6 {
		t.Errorf("backwards: got %v, want the reverse of %v", back, reports)
	}
	p.Visitor(t).Get(first).Want(http.StatusOK).WantText(".pager", "1 of 3")
}

// TestWalkOddWays checks that no page follows a "via" parameter that points elsewhere.
func TestWalkOddWays(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	p.Several(2, crashtest.Native)
	c := p.As(t, crash.RoleViewer)
	problem := handlertest.BucketOf(t, crashtest.Native()).Path()
	report := c.Get(problem).Attr("#reports tbody tr:first-child a[href^='/oops/']", "href")
	for _, via := range []string{
		"https://elsewhere.example/", "//elsewhere.example", "javascript:alert(1)", "/problem/x", "/search?q=%28",
		"/?release=Plan+9", "/admin", "\x00", "%",
	} {
		for _, path := range []string{problem, report} {
			a := c.Get(path + "?via=" + url.QueryEscape(via)).Want(http.StatusOK)
			a.WantNone(".pager-list a")
		}
	}
}

func TestWalkThroughMachine(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	p.Accept("m", crashtest.Native())
	p.Accept("m", crashtest.Python())
	p.Accept("other", crashtest.Python())
	p.Accept("", crashtest.Java())
	c := p.As(t, crash.RoleViewer)
	for path, want := range map[string]int{"/user/m": 2, "/user/": 1} {
		a := c.Get(path).Want(http.StatusOK)
		if seen := walk(t, c, a.Attr("#reports tbody tr:first-child a[href^='/oops/']", "href"),
			".report-facts code"); len(seen) != want {
			t.Errorf("%s: got %d reports by next links, want %d", path, len(seen), want)
		}
	}
}

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
	{"problem.unassign", "/problems/unassign?problems={problem}", "assignments=1",
		`{"assignee": "ada-admin"} {"assignee": ""}`},
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
	{"routes.save", layout.PathRoutes, "routes=package,tracker%0Alinux,launchpad%0A", `{"routes": 0} {"routes": 1}`},
	{"project.create", layout.PathDoors, "name=harbor&source=harbor-sync",
		` {"listed": false, "number": 1, "source": `},
	{"project.key", layout.PathDoors + "/1", "do=add", ` {"key": `},
	{"project.list", layout.PathDoors + "/1", "do=list", `{"listed": false} {"listed": true}`},
	{"door.close", layout.PathDoors + "/switch", "door=abrt&do=close", `{"closed": false} {"closed": true}`},
	{"door.open", layout.PathDoors + "/switch", "door=abrt&do=open", `{"closed": true} {"closed": false}`},
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
	form = dbtest.Must(url.ParseQuery(s.fill.Replace(own.Replace(step.form))))(t)
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

// recordedElsewhere are actions that change something, with the tests that cause them. A record without
// values before and after is an error, so those tests fail if it has none.
var recordedElsewhere = map[string]string{
	"project.revoke": "TestDoors", "candidate.proposed": "TestProposeBug",
	"similar.learn": "TestLearnSimilar", "similar.forget": "TestLearnSimilar",
	"archive.add": "TestMove", "archive.move": "TestMove", "archive.remove": "TestMoveRefused",
	"installs.import": "TestInstallsCommand",
	"bug.fall-back":   "TestFallBack", "bug.give-up": "TestManageFilings", "bug.retry": "TestManageFilings",
	"bug.reconciled": "TestReconcile", "core.ask": "TestAskForCore",
	"core.withdraw": "TestAskForCore", "delivery.again": "TestWebhookPages", "endpoint.add": "TestWebhookPages",
	"endpoint.change": "TestWebhookPages", "endpoint.delete": "TestWebhookPages", "endpoint.disable": "TestWebhookPages",
	"endpoint.enable": "TestWebhookPages", "endpoint.rotate": "TestWebhookPages", "endpoint.off": "TestGone",
	"mail.weekly-add": "TestWeeklyMails", "mail.weekly-remove": "TestWeeklyMails",
	"problem.return": "TestMuteEnds", "mail.unsubscribe": "TestUnsubscribe", "mail.address-confirm": "TestMailSettings",
	"problem.split": "TestSplit", "problem.unsplit": "TestSplit", "regroup.start": "TestRegroupPage",
	"regroup.stop": "TestRegroupPage", "rule.create": "TestRuleIsRehearsed", "tracker.connect": "TestConnectTracker",
	"tracker.confirm-own": "TestOwnAccount", "tracker.connect-own": "TestOwnAccount",
	"tracker.disconnect-own": "TestOwnAccount", "tracker.prefer-own": "TestOwnAccount",
	"tracker.own-rejected": "TestFallBack", "tracker.forget": "TestConnectTracker", "identity.link": "TestLink",
	"identity.groups": "TestRefreshGroups",
	"identity.unlink": "TestLink", "privacy.expire": "TestRuns", "privacy.apply": "TestRuns",
	"machine.unblock": "TestBlock", "user.remove": "TestUserCommands",
	"user.disable": "TestUserCommands", "user.enable": "TestUserCommands", "user.role": "TestUserCommands",
	"user.totp-on": "TestSecondStepOfSignIn", "user.totp-off": "TestSecondStepOfSignIn",
	"user.recovery-code-used": "TestSecondStepOfSignIn", "user.recovery-codes": "TestSecondStepOfSignIn",
	"user.totp-reset": "TestResetSecondFactor",
}

// testNames returns the names of all tests.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names, root := map[string]bool{}, os.DirFS("..")
	checktest.NoError(t, fs.WalkDir(root, ".", func(file string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, "_test.go") {
			return err
		}
		text, err := fs.ReadFile(root, file)
		for line := range strings.Lines(string(text)) {
			if name, ok := strings.CutPrefix(line, "func Test"); ok {
				name, _, _ = strings.Cut(name, "(")
				names["Test"+name] = true
			}
		}
		return err
	}))
	return names
}

// sqlLockTables locks every table that sign-in does not need.
const sqlLockTables = `
	do $$ declare name regclass; begin
		for name in
			select c.oid from pg_class as c where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
				and c.relname not in ('sessions', 'users', 'api_tokens', 'counting', 'changes')
		loop execute format('lock table %s in access exclusive mode', name); end loop;
	end $$`

// lockTables blocks every read of reports and problems until the caller calls unlock.
func lockTables(t *testing.T, url string) (unlock func()) {
	t.Helper()
	conn := dbtest.Must(pgx.Connect(t.Context(), url))(t)
	for _, sql := range []string{"begin", sqlLockTables} {
		dbtest.Must(conn.Exec(t.Context(), sql))(t)
	}
	return func() { _ = conn.Close(context.WithoutCancel(t.Context())) }
}

// wantUnavailable checks that an answer says what failed, why, and when to try again.
func wantUnavailable(t *testing.T, what string, w *httptest.ResponseRecorder) {
	t.Helper()
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "10" ||
		!strings.Contains(strings.ToLower(w.Body.String()), "try again") {
		t.Errorf("%s: got %d, Retry-After %q and %q; want 503, 10 and a message", what, w.Code,
			w.Header().Get("Retry-After"), w.Body)
	}
}

// TestDeadlinePasses lets the deadline of requests, or the limit of a statement, pass while the database is
// blocked.
func TestDeadlinePasses(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	// Exports have a longer deadline. The limit of a single statement ends this one.
	site := handlertest.New(t, handlertest.Options{Store: dbtest.Open(t, url+"&statement_timeout=2000")})
	b := site.Save(t, crashtest.Native())
	rows, err := site.Problems.BucketReports(t.Context(), b.ID, crash.OopsID{}, 1)
	if err != nil || len(rows) != 1 {
		t.Fatalf("reports: got %v, %v, want one", rows, err)
	}
	session := site.As(t, crash.RoleAdmin).Cookie("sessionid")
	unlock := lockTables(t, url)
	defer unlock()
	var asking sync.WaitGroup
	defer asking.Wait()
	for _, path := range []string{
		"/", "/search?q=a", b.ID.Path(), b.ID.Path() + "/traits", b.ID.Path() + "/review", "/bug/1", "/bucket/?id=x",
		"/package/tidewatch", "/release/Ubuntu%2024.04", "/oops/" + rows[0].ID.String(), "/user/machine-1", "/my", "/new",
		"/admin/tracker", "/admin/filings",
		"/problems.csv", "/problems.json", "/problems.atom", "/search.csv?q=a", b.ID.Path() + ".csv", b.ID.Path() +
			"/versions.csv",
		"/api/1.0/most-common-problems/", "/api/1.0/average-crashes/?format=json", "/api/1.0/instances-count/",
	} {
		for name, headers := range map[string]map[string]string{
			"page": {"Accept": "text/html"},
			"part": {"Accept": "text/html", "HX-Request": "true", "HX-Request-Type": "partial"},
			"JSON": {"Accept": "application/json"},
		} {
			asking.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
				defer cancel()
				r := httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil)
				for key, value := range headers {
					r.Header.Set(key, value)
				}
				r.AddCookie(&http.Cookie{Name: "sessionid", Value: session})
				w := httptest.NewRecorder()
				site.Handler.ServeHTTP(w, r)
				wantUnavailable(t, path+" as "+name, w)
			})
		}
	}
	// PostgreSQL cancels a slow statement long before the deadline of an export.
	for _, path := range []string{"/problems.csv", "/search.json?q=a", b.ID.Path(), "/api/1.0/most-common-problems/"} {
		asking.Go(func() {
			w := httptest.NewRecorder()
			site.Handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
			wantUnavailable(t, path, w)
		})
	}
}

// lostForms are the addresses whose forms are lost if the session has ended, with the reasons.
var lostForms = map[string]string{
	"/account/second-factor": "contains a secret",
	"/admin/notifications":   "may contain a secret",
}

// TestExpiredSession sends every form after the session has ended: what was typed survives signing
// in.
func TestExpiredSession(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	visitor := site.Visitor(t)
	forms := 0
	for _, route := range site.Routes(t) {
		path, ok := strings.CutPrefix(route, "POST ")
		if !ok || strings.HasPrefix(path, "/api/") || strings.HasPrefix(path, "/login") {
			continue
		}
		a := visitor.Post(path, url.Values{"text": {"What I wrote"}, "list": {"1", "2"}})
		if a.Status != http.StatusUnauthorized {
			continue // this form needs no session
		}
		forms++
		lost := false
		for start := range lostForms {
			lost = lost || strings.HasPrefix(path, start)
		}
		saved := a.HTML().Find("#sign-in input[name=kept]").Length() == 1
		if saved == lost {
			t.Errorf("%s: the sign-in form carries what was typed: %v, want %v", path, saved, !lost)
		}
	}
	if forms < 80 {
		t.Errorf("got %d forms that need a session, want more than 80", forms)
	}
	for _, secret := range []string{"password", "new", "code", "token", "secret"} {
		visitor.Post("/account", url.Values{secret: {"hunter2"}, "x": {"y"}}).Want(http.StatusUnauthorized).
			WantNone("input[name=kept]")
	}
	visitor.Post("/account", url.Values{"text": {"x"}}, handlertest.Header{Name: "Origin", Value: "https://evil.example"}).
		Want(http.StatusUnauthorized).WantNone("input[name=kept]")
}

// TestActionsHaveValues does what the router offers, and checks the record of each request. It sends each form
// after the session has ended, signs in again, and gets back to what was typed. Every action that changes
// something is in changeSteps, in recordedElsewhere, or has a reason to have no values.
func TestActionsHaveValues(t *testing.T) {
	t.Parallel()
	p := newStepSite(t)
	admin := p.As(t, crash.RoleAdmin)
	seen := map[string]bool{}
	for _, step := range changeSteps {
		path, form := p.request(t, step)
		a := &handlertest.Answer{}
		if strings.HasPrefix(path, "/admin/notifications") || form.Has("password") { // contains a secret
			a = admin.Post(path, form)
		} else {
			a = p.sendExpired(t, path, form)
		}
		got := p.values(t, a, step.action)
		if want := p.fill.Replace(step.values); !strings.Contains(got, want) || a.Status >= 400 {
			t.Errorf("%s: got status %d and the values %s, want %s", step.action, a.Status, got, want)
		}
		if got == " " && !audit.Valueless(step.action) {
			t.Errorf("%s: the record has no values", step.action)
		}
		seen[step.action] = true
	}
	seen["bug.filed"] = p.Value(t, `
		select count(*)::text from audit_events where action = 'bug.filed' and after ? 'bug'`) != "0"
	tests := testNames(t)
	for action := range audit.Actions {
		test := recordedElsewhere[action]
		if test != "" && !tests[test] {
			t.Errorf("%s: there is no test %s", action, test)
		}
		if !seen[action] && test == "" && !audit.Valueless(action) {
			t.Errorf("%s: no test checks what its record contains", action)
		}
	}
}

// sendExpired sends a form without a session, signs in, and sends the form that the site shows then.
func (s stepSite) sendExpired(t *testing.T, path string, form url.Values) *handlertest.Answer {
	t.Helper()
	c := s.Visitor(t)
	refused := c.Post(path, form).Want(http.StatusUnauthorized)
	signIn := url.Values{"username": {"ada-admin"}, "password": {handlertest.Password}}
	for _, name := range []string{"next", "kept"} {
		signIn.Set(name, refused.Attr("#sign-in input[name="+name+"]", "value"))
	}
	place := c.Post("/login", signIn).Want(http.StatusSeeOther).Header.Get("Location")
	page := c.Get(place).Want(http.StatusOK)
	if place != "/login/resume" { // the page with the form itself, which holds a long text
		for name := range form {
			if value := form.Get(name); name != "do" && !strings.Contains(page.Body, html.EscapeString(value)) {
				t.Errorf("%s: the form has lost %s=%q", path, name, value)
			}
		}
		return c.Post(path, form)
	}
	sent := url.Values{}
	page = c.Get(place).Want(http.StatusOK) // a reload
	page.HTML().Find("#resume input").Each(func(_ int, in *goquery.Selection) {
		sent.Add(in.AttrOr("name", ""), in.AttrOr("value", ""))
	})
	sent.Del("csrf_token")
	if diff := cmp.Diff(form, sent); diff != "" {
		t.Errorf("%s: the form has changed (-typed +shown):\n%s", path, diff)
	}
	return c.Post(page.Attr("#resume", "action"), sent)
}
