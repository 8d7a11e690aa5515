package handlers_test

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/db/dbtest"
	"mishap/handlers/handlertest"
)

// need says whom a route answers.
type need func(u crash.User, source string) bool

func everyone(crash.User, string) bool        { return true }
func anyPerson(u crash.User, _ string) bool   { return u.ID != 0 }
func viewer(u crash.User, _ string) bool      { return u.Role.Allows(crash.RoleViewer) }
func someTriage(u crash.User, _ string) bool  { return u.MayTriageSome() }
func somePrivate(u crash.User, _ string) bool { return u.Private.Some() }
func allPrivate(u crash.User, _ string) bool  { return u.Private.All }
func admin(u crash.User, _ string) bool       { return u.Role.Allows(crash.RoleAdmin) }
func adminPrivate(u crash.User, _ string) bool {
	return u.Role.Allows(crash.RoleAdmin) && u.Private.All
}

// triage and core depend on the package.
func triage(u crash.User, source string) bool { return u.MayTriage(source) }
func core(u crash.User, source string) bool   { return u.MayReadCore(source) }

// rightsCase is a request to a route. In path and form, {problem}, {report}, {machine}, {source},
// {candidate}, {entry} and {note} stand for those of each package. Other parameters of the route are
// those of nothing that exists.
type rightsCase struct {
	route string
	need  need
	path  string         // empty: the route with its parameters filled in
	form  string         // of a POST, as a query
	json  map[string]any // of a POST, instead of form
	shows bool           // the answer contains private data for those who may read it
}

// rightsRoles are the accounts of TestRights: the role by hand, and grants for some packages.
var rightsRoles = []struct {
	name   string
	role   crash.Role
	grants []crash.Grant
}{
	{name: "visitor"},
	{name: "none"},
	{name: "viewer", role: crash.RoleViewer},
	{name: "triager-of-alpha", grants: []crash.Grant{{Role: crash.RoleTriager,
		Scope: crash.GrantScope{Kind: crash.GrantPackage, Name: "alph?"}}}},
	{name: "triager", role: crash.RoleTriager},
	{name: "private-of-alpha", grants: []crash.Grant{{Role: crash.RolePrivate,
		Scope: crash.GrantScope{Kind: crash.GrantPackage, Name: "alpha"}}}},
	{name: "private", grants: []crash.Grant{{Role: crash.RolePrivate, Scope: crash.GrantScope{Kind: crash.GrantAll}}}},
	{name: "all-of-alpha", grants: []crash.Grant{
		{Role: crash.RolePrivate, Scope: crash.GrantScope{Kind: crash.GrantPackage, Name: "alpha"}},
		{Role: crash.RoleTriager, Scope: crash.GrantScope{Kind: crash.GrantPackage, Name: "alpha"}}}},
	{name: "admin", role: crash.RoleAdmin},
}

// rightsPackage is a package with a problem, and what belongs to it. The environment and the machine of
// its report contain "zebra" and "horse", which are private data.
type rightsPackage struct {
	source string
	fill   *strings.Replacer // fills in the parameters of a case
}

func (p rightsPackage) secrets() []string { return []string{"zebra-" + p.source, "horse-" + p.source} }

// newRightsPackage stores a report of a package, a note, a triage entry and a candidate.
func newRightsPackage(t *testing.T, p *handlertest.Pages, url, source, candidate string) rightsPackage {
	t.Helper()
	set := crashtest.Set
	report := crashtest.Native(set("Package", source+" 1-1"), set("SourcePackage", source),
		set("ExecutablePath", "/usr/bin/"+source), set("ProcEnviron", "LANG=C\nTOKEN=zebra-"+source),
		set("ProcCmdline", source+" --key zebra-"+source), set("JournalErrors", "zebra-"+source))
	oops := p.Accept(crash.SystemID("horse-"+source), report)
	b := p.Bucket(t, handlertest.BucketOf(t, report))
	if b.SourcePackage != source {
		t.Fatalf("got a problem of %q, want of %q", b.SourcePackage, source)
	}
	if _, err := p.People.AddNote(t.Context(), b.ID, "note", "author"); err != nil {
		t.Fatal(err)
	}
	notes, err := p.People.Notes(t.Context(), b.ID)
	if err != nil || len(notes) != 1 {
		t.Fatalf("got notes %v, %v, want one", notes, err)
	}
	entry, err := p.Problems.Set(t.Context(), crash.Mark{Bucket: b.ID, Kind: crash.MarkWontFix, Person: "author"})
	if err != nil {
		t.Fatal(err)
	}
	const sqlCandidate = `
		insert into candidates (id, bucket_id, rule_id, automatic, state, why, machines, created) overriding system value
		values (@id, @bucket, (select min(id) from rules), false, 'waiting', 'why', 1, now())`
	dbtest.Exec(t, url, sqlCandidate, pgx.NamedArgs{"id": candidate, "bucket": b.ID[:]})
	return rightsPackage{source, strings.NewReplacer("{problem}", b.ID.String(), "{report}", oops.String(),
		"{machine}", "horse-"+source, "{source}", source, "{signature}", b.Signature, "{candidate}", candidate,
		"{entry}", strconv.FormatInt(entry.ID, 10), "{note}", strconv.FormatInt(notes[0].ID, 10), "{format}", "csv",
		"{token}", "x", "{delivery}", "x",
		"{id}", "1")}
}

// ofPackage reports whether a case depends on the package.
func (c rightsCase) ofPackage() bool {
	return c.json != nil || strings.Contains(c.path+c.form, "{") || strings.Contains(c.route, "/problem/{id}")
}

// send sends the request of a case about a package.
func (c rightsCase) send(client *handlertest.Client, p rightsPackage) *handlertest.Answer {
	method, path, _ := strings.Cut(c.route, " ")
	if c.path != "" {
		path = c.path
	}
	path = p.fill.Replace(strings.Replace(path, "/problem/{id}", "/problem/{problem}", 1))
	if method == http.MethodGet {
		return client.Get(path)
	}
	if c.json != nil {
		body := map[string]any{}
		for name, value := range c.json {
			if s, ok := value.(string); ok {
				value = p.fill.Replace(s)
			}
			body[name] = value
		}
		return client.PostJSON(path, body)
	}
	form, _ := url.ParseQuery(p.fill.Replace(c.form)) // the cases above are valid
	return client.Post(path, form)
}

// refusedBy reports whether an answer refuses the person, or asks a visitor to sign in.
func refusedBy(a *handlertest.Answer) bool {
	return a.Status == http.StatusUnauthorized || a.Status == http.StatusForbidden ||
		a.Status == http.StatusSeeOther && strings.HasPrefix(a.Header.Get("Location"), "/login")
}

// TestRights requests every route with every combination of rights about two packages. Whoever may not
// read private data of a package finds none in any answer.
func TestRights(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	p := handlertest.NewPagesIn(t, handlertest.Options{Store: dbtest.Open(t, address), Disconnected: true})
	packages := []rightsPackage{newRightsPackage(t, p, address, "alpha", "1"),
		newRightsPackage(t, p, address, "beta", "2")}
	covered := map[string]bool{}
	for _, c := range rightsCases {
		covered[c.route] = true
	}
	for _, route := range p.Routes(t) {
		if !covered[route] {
			t.Errorf("route %s is not in this table", route)
		}
	}
	for _, role := range rightsRoles {
		client, u := p.Visitor(t), crash.User{}
		if role.name != "visitor" {
			dbtest.AddUserWithoutPrivate(t, p.Store, role.name, role.role, handlertest.Password)
			for _, g := range role.grants {
				g.Source, g.Group = crash.SourceAccount, role.name
				if err := p.People.Grant(t.Context(), "", g); err != nil {
					t.Fatal(err)
				}
			}
			client.SignIn(role.name, handlertest.Password).Want(http.StatusSeeOther)
			var err error
			if u, err = p.People.ByName(t.Context(), role.name); err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range rightsCases {
			for i, of := range packages {
				if i > 0 && !c.ofPackage() {
					break
				}
				a, want := c.send(client, of), !c.need(u, of.source)
				if got := refusedBy(a); got != want || a.Status >= 500 && a.Status != http.StatusServiceUnavailable {
					t.Errorf("%s (%s%s) as %s about %s: got status %d, want refused %v", c.route, c.path, c.form, role.name,
						of.source, a.Status, want)
				}
				c.checkPrivate(t, a, u, role.name, of, packages)
			}
		}
	}
}

// checkPrivate checks which private data an answer contains.
func (c rightsCase) checkPrivate(t *testing.T, a *handlertest.Answer, u crash.User, name string, of rightsPackage,
	all []rightsPackage,
) {
	t.Helper()
	for _, p := range all {
		for _, secret := range p.secrets() {
			asked := strings.Contains(c.path, "{machine}") && of.source == p.source && strings.HasPrefix(secret, "horse")
			if strings.Contains(a.Body, secret) && !asked && !u.Private.Include(p.source) {
				t.Errorf("%s (%s) as %s about %s: the answer contains %q", c.route, c.path, name, of.source, secret)
			}
		}
	}
	sees := strings.Contains(a.Body, "zebra-"+of.source) || strings.Contains(a.Body, "horse-"+of.source)
	if c.shows && u.Private.Include(of.source) && !sees {
		t.Errorf("%s (%s) as %s about %s: the answer lacks private data", c.route, c.path, name, of.source)
	}
}

// TestRightsOnSomeRows changes two problems at once as a triager of the package of one of them.
func TestRightsOnSomeRows(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	p := handlertest.NewPagesIn(t, handlertest.Options{Store: dbtest.Open(t, address), Disconnected: true})
	both := newRightsPackage(t, p, address, "alpha", "1").fill.Replace("{problem}") + "." +
		newRightsPackage(t, p, address, "beta", "2").fill.Replace("{problem}")
	dbtest.AddUserWithoutPrivate(t, p.Store, "kim", crash.RoleViewer, handlertest.Password)
	if err := p.People.Grant(t.Context(), "", crash.Grant{Source: crash.SourceAccount, Group: "kim",
		Role: crash.RoleTriager, Scope: crash.GrantScope{Kind: crash.GrantPackage, Name: "alpha"}}); err != nil {
		t.Fatal(err)
	}
	c := p.Visitor(t)
	c.SignIn("kim", handlertest.Password).Want(http.StatusSeeOther)
	ids := strings.Split(both, ".")
	const left = "1 problem was left unchanged, because you are not a triager of its package."
	for path, form := range map[string]url.Values{
		"/problems/assign":  {"problems": {both}, "do": {"me"}},
		"/problems/link":    {"problems": {both}, "bug": {"4711"}},
		"/problems/wontfix": {"problems": {both}, "reason": {"no"}},
		"/problems/chosen":  {"bucket": ids, "do": {"recheck"}},
	} {
		c.Post(path, form).Want(http.StatusSeeOther)
		c.Get("/account").WantText("#flash", left)
	}
	c.Post("/problems/merge", url.Values{"problem": ids, "head": ids[:1]}).Want(http.StatusForbidden)
	c.Get("/problems/create?problems="+both).Want(http.StatusOK).WantText("#main", "role triager for this package")
	c.Get("/candidates").Want(http.StatusOK).WantText("#main", "Only triagers of beta can decide about it.")
	for i, id := range ids {
		parsed, err := crash.ParseBucketID(id)
		if err != nil {
			t.Fatal(err)
		}
		linked, err := p.Bugs.BucketBugs(t.Context(), parsed)
		if err != nil || (len(linked) == 1) != (i == 0) {
			t.Errorf("problem %d: got bugs %v, %v, want the bug at the first problem only", i, linked, err)
		}
	}
	page := c.Get("/problem/" + ids[1]).Want(http.StatusOK)
	page.WantNone("a[href$='/mute']")
	c.Get("/problem/"+ids[0]).Want(http.StatusOK).WantText("#main", "Mute")
}

// rightsCases has every route of the router. A package matters only if a case names one of its things.
var rightsCases = []rightsCase{
	{route: "GET /", need: everyone},
	{route: "GET /api", need: everyone},
	{route: "GET /keys", need: everyone},
	{route: "GET /theme", need: everyone},
	{route: "GET /gate", need: everyone},
	{route: "GET /gate", need: everyone, path: "/gate?package={source}&version=2"},
	{route: "GET /healthz", need: everyone},
	{route: "GET /readyz", need: everyone},
	{route: "GET /assets/*", need: everyone, path: "/assets/no-such-file"},
	{route: "GET /login", need: everyone},
	{route: "POST /login", need: everyone},
	{route: "POST /login/openid", need: everyone},
	{route: "GET /login/openid/return", need: everyone},
	{route: "POST /login/openid/return", need: everyone},
	{route: "POST /login/oidc", need: everyone},
	{route: "GET /login/oidc/return", need: everyone},
	{route: "POST /login/oidc/logout", need: everyone},
	{route: "GET /login/code", need: everyone},
	{route: "POST /login/code", need: everyone},
	{route: "GET /unsubscribe/{token}", need: everyone},
	{route: "POST /unsubscribe/{token}", need: everyone},
	{route: "GET /problems.{format}", need: everyone, path: "/problems.csv?period=year"},
	{route: "GET /search", need: everyone, path: "/search?q={source}"},
	{route: "GET /search", need: everyone, path: "/search?q=zebra"},
	{route: "GET /search.{format}", need: everyone, path: "/search.csv?q={source}"},
	{route: "GET /search/complete", need: everyone, path: "/search/complete?q=package:{source}"},
	{route: "GET /package/{name}", need: everyone, path: "/package/{source}"},
	{route: "GET /release/{name}", need: everyone, path: "/release/Ubuntu%2024.04"},
	{route: "GET /bug/{number}", need: everyone, path: "/bug/1"},
	{route: "GET /bucket", need: everyone, path: "/bucket?id=x"},
	{route: "GET /bucket/", need: everyone, path: "/bucket/?id=x"},
	{route: "GET /problem/{id}", need: everyone, path: "/problem/{problem}"},
	{route: "GET /problem/{id}", need: everyone, path: "/problem/{problem}?facet=JournalErrors"},
	{route: "GET /problem/{id}", need: everyone, path: "/problem/{problem}?facet=ProcEnviron&value=LANG%3DC"},
	{route: "GET /problem/{id}/bug", need: everyone, path: "/problem/{problem}/bug"},
	{route: "GET /problem/{id}/versions.{format}", need: everyone, path: "/problem/{problem}/versions.csv"},

	{route: "GET /api/1.0/*", need: everyone, path: "/api/1.0/"},
	{route: "GET /api/1.0/*", need: everyone, path: "/api/1.0/bucket/{problem}/"},
	{route: "GET /api/1.0/*", need: everyone, path: "/api/1.0/problem-status/{problem}/"},
	{route: "GET /api/1.0/*", need: everyone, path: "/api/1.0/instances/?id={problem}"},
	{route: "GET /api/1.0/*", need: viewer, path: "/api/1.0/oops/{report}/", shows: true},
	{route: "GET /api/1.0/*", need: viewer, path: "/api/1.0/instance/?id={report}", shows: true},
	{route: "GET /api/1.0/*", need: allPrivate, path: "/api/1.0/reports-for-system/?system={machine}"},
	{route: "POST /api/1.0/*", need: everyone, path: "/api/1.0/reports-state/"},
	{route: "POST /api/1.0/create-bug-report", need: triage, path: "/api/1.0/create-bug-report",
		form: "signature={signature}"},
	{route: "POST /api/1.0/create-bug-report/", need: triage, path: "/api/1.0/create-bug-report/",
		json: map[string]any{"signature": "{signature}"}},
	{route: "POST /api/1.0/set-problem-status", need: triage, path: "/api/1.0/set-problem-status",
		json: map[string]any{"signature": "{problem}", "kind": "wontfix"}},
	{route: "POST /api/1.0/set-problem-status/", need: triage, path: "/api/1.0/set-problem-status/",
		json: map[string]any{"signature": "{signature}", "kind": "wontfix"}},
	{route: "POST /api/1.0/problem-people", need: triage, path: "/api/1.0/problem-people",
		json: map[string]any{"problem": "{problem}", "assignee": "me"}},
	{route: "POST /api/1.0/problem-people/", need: triage, path: "/api/1.0/problem-people/",
		json: map[string]any{"problem": "{signature}", "add_tags": []string{"sru"}}},

	{route: "POST /api/1.0/erase-machine", need: admin, path: "/api/1.0/erase-machine",
		json: map[string]any{"system": "no-such-machine"}},
	{route: "POST /api/1.0/erase-machine/", need: admin, path: "/api/1.0/erase-machine/",
		json: map[string]any{"system": "no-such-machine"}},

	{route: "GET /account", need: anyPerson},
	{route: "POST /account/identities/link", need: anyPerson},
	{route: "POST /account/identities/{id}/unlink", need: anyPerson},
	{route: "POST /account/password", need: anyPerson},
	{route: "POST /admin/access/second-factor", need: admin},
	{route: "GET /login/resume", need: anyPerson},
	{route: "GET /service/{name}", need: anyPerson}, // of no service account
	{route: "POST /service/{name}/tokens/{id}/renew", need: anyPerson},
	{route: "POST /service/{name}/tokens/{id}/revoke", need: anyPerson},
	{route: "POST /service/{name}/team", need: admin},
	{route: "POST /service/{name}/tokens", need: admin},
	{route: "GET /admin/services", need: admin},
	{route: "POST /admin/services", need: admin},
	{route: "GET /admin/tokens", need: admin},
	{route: "POST /admin/tokens/revoke", need: admin},
	{route: "POST /admin/tokens/{id}/revoke", need: admin},
	{route: "POST /account/sessions/end", need: anyPerson},
	{route: "GET /account/second-factor", need: anyPerson},
	{route: "POST /account/second-factor/begin", need: anyPerson},
	{route: "POST /account/second-factor/confirm", need: anyPerson},
	{route: "POST /account/second-factor/recovery-codes", need: anyPerson},
	{route: "POST /account/second-factor/off", need: anyPerson},
	{route: "POST /account", need: viewer},
	{route: "POST /account/tokens", need: viewer},
	{route: "POST /account/tokens/{id}/revoke", need: viewer},
	{route: "GET /account/notifications", need: viewer},
	{route: "POST /account/notifications", need: viewer},
	{route: "POST /account/notifications/address", need: viewer},
	{route: "POST /account/notifications/remove", need: viewer},
	{route: "POST /account/notifications/test", need: viewer},
	{route: "GET /account/notifications/confirm/{token}", need: viewer},
	{route: "POST /account/notifications/confirm/{token}", need: viewer},
	{route: "GET /embargoed", need: viewer},
	{route: "GET /inbox", need: viewer},
	{route: "GET /inbox.{format}", need: viewer},
	{route: "POST /inbox/read", need: viewer},
	{route: "POST /inbox/unread", need: viewer},
	{route: "GET /my", need: viewer},
	{route: "GET /my.{format}", need: viewer},
	{route: "POST /my/follow", need: viewer},
	{route: "POST /my/unfollow", need: viewer},
	{route: "POST /my/seen", need: viewer},
	{route: "GET /searches", need: viewer},
	{route: "POST /searches", need: viewer},
	{route: "POST /searches/{id}", need: viewer},
	{route: "POST /searches/{id}/delete", need: viewer},
	{route: "POST /searches/{id}/restore", need: viewer},

	{route: "GET /problem/{id}.{format}", need: viewer, path: "/problem/{problem}.csv", shows: true},
	{route: "GET /problem/{id}.{format}", need: viewer, path: "/problem/{problem}.json", shows: true},
	{route: "GET /problem/{id}/traits", need: viewer, path: "/problem/{problem}/traits"},
	{route: "GET /problem/{id}/compare", need: viewer, path: "/problem/{problem}/compare?report={report}"},
	{route: "GET /problem/{id}/symbols", need: viewer, path: "/problem/{problem}/symbols"},
	{route: "POST /problem/{id}/notes", need: viewer, path: "/problem/{problem}/notes"},
	{route: "POST /problem/{id}/notes/{note}", need: triage, path: "/problem/{problem}/notes/{note}", form: "text=better"},
	{route: "GET /oops/{id}", need: viewer, path: "/oops/{report}", shows: true},
	{route: "GET /oops/{id}", need: viewer, path: "/oops/{report}.json", shows: true},
	{route: "GET /oops/{id}", need: viewer, path: "/oops/{report}.crash", shows: true},
	{route: "GET /oops/{id}", need: core, path: "/oops/{report}.crash?core=yes"},
	{route: "GET /user/", need: somePrivate},
	{route: "GET /user/{system}", need: somePrivate, path: "/user/{machine}"},
	{route: "GET /user/{system}", need: somePrivate, path: "/user/{machine}.csv"},

	{route: "POST /oops/{id}/symbolise", need: triage, path: "/oops/{report}/symbolise"},
	{route: "POST /problem/{id}/core", need: triage},
	{route: "POST /problem/{id}/core/withdraw", need: triage},
	{route: "GET /problem/{id}/merge", need: triage},
	{route: "GET /problem/{id}/rename", need: triage},
	{route: "POST /problem/{id}/rename", need: triage},
	{route: "GET /problem/{id}/split", need: triage},
	{route: "POST /problem/{id}/split", need: triage},
	{route: "POST /problem/{id}/undo", need: triage},
	{route: "POST /problem/{id}/assign", need: triage},
	{route: "POST /problem/{id}/assign/undo", need: triage},
	{route: "POST /problem/{id}/tags", need: triage},
	{route: "GET /problem/{id}/mute", need: triage},
	{route: "POST /problem/{id}/mute", need: triage},
	{route: "GET /problem/{id}/wontfix", need: triage},
	{route: "POST /problem/{id}/wontfix", need: triage},
	{route: "GET /problem/{id}/fixed", need: triage},
	{route: "POST /problem/{id}/fixed", need: triage},
	{route: "GET /problem/{id}/link", need: triage},
	{route: "POST /problem/{id}/link", need: triage},
	{route: "POST /problem/{id}/unlink", need: triage},
	{route: "POST /problem/{id}/relink", need: triage},
	{route: "POST /problem/{id}/recheck", need: triage},
	{route: "POST /problem/{id}/resume-section", need: triage},
	{route: "GET /problem/{id}/review", need: triage},
	{route: "POST /problem/{id}/review", need: triage},
	{route: "GET /problem/{id}/review/bugs", need: triage},
	{route: "GET /problems/chosen", need: someTriage, path: "/problems/chosen?problems={problem}"},
	{route: "POST /problems/chosen", need: triage, form: "bucket={problem}&do=recheck"},
	{route: "POST /problems/chosen", need: triage, form: "bucket={problem}&do=file"},
	{route: "GET /problems/create", need: someTriage, path: "/problems/create?problems={problem}"},
	{route: "GET /problems/link", need: someTriage, path: "/problems/link?problems={problem}"},
	{route: "POST /problems/link", need: triage, form: "problems={problem}&bug=4711"},
	{route: "POST /problems/unlink", need: triage, path: "/problems/unlink?problems={problem}", form: "bug=4711"},
	{route: "GET /problems/merge", need: triage, path: "/problems/merge?problems={problem}"},
	{route: "POST /problems/merge", need: triage, form: "problem={problem}&head={problem}"},
	{route: "GET /problems/assign", need: someTriage, path: "/problems/assign?problems={problem}"},
	{route: "POST /problems/assign", need: triage, form: "problems={problem}&do=me"},
	{route: "POST /problems/unassign", need: triage, path: "/problems/unassign?problems={problem}"},
	{route: "POST /account/tracker/request-token", need: someTriage},
	{route: "POST /account/tracker/access-token", need: someTriage},
	{route: "POST /account/tracker/check", need: someTriage},
	{route: "POST /account/tracker/preference", need: someTriage},
	{route: "POST /account/tracker/disconnect", need: someTriage},
	{route: "GET /problem/{id}/embargo", need: triage, path: "/problem/{problem}/embargo"},
	{route: "POST /problem/{id}/embargo", need: triage, path: "/problem/{problem}/embargo"},
	{route: "GET /problem/{id}/hold", need: triage, path: "/problem/{problem}/hold"},
	{route: "POST /problem/{id}/hold", need: triage, path: "/problem/{problem}/hold"},
	{route: "GET /problems/fixed", need: someTriage, path: "/problems/fixed?problems={problem}"},
	{route: "POST /problems/fixed", need: triage, form: "problems={problem}"},
	{route: "GET /problems/mute", need: someTriage, path: "/problems/mute?problems={problem}"},
	{route: "POST /problems/mute", need: triage, form: "problems={problem}"},
	{route: "GET /problems/wontfix", need: someTriage, path: "/problems/wontfix?problems={problem}"},
	{route: "POST /problems/wontfix", need: triage, form: "problems={problem}"},
	{route: "POST /problems/triage/undo", need: triage, form: "entries={entry}"},
	{route: "GET /candidates", need: someTriage},
	{route: "POST /candidates/{id}/decline", need: triage, path: "/candidates/{candidate}/decline"},
	{route: "POST /candidates/{id}/restore", need: triage, path: "/candidates/{candidate}/restore"},
	{route: "POST /candidates/{id}/approve", need: triage, path: "/candidates/{candidate}/approve"},

	{route: "GET /admin", need: admin},
	{route: "GET /admin/audit", need: admin},
	{route: "GET /admin/audit.jsonl", need: admin},
	{route: "GET /admin/tracker", need: admin},
	{route: "POST /admin/tracker/request-token", need: admin},
	{route: "POST /admin/tracker/access-token", need: admin},
	{route: "POST /admin/tracker/check", need: admin},
	{route: "POST /admin/tracker/show-token", need: admin},
	{route: "POST /admin/tracker/forget", need: admin},
	{route: "GET /admin/tracker/updates", need: admin},
	{route: "POST /admin/tracker/updates", need: admin},
	{route: "GET /admin/mail", need: admin},
	{route: "POST /admin/mail/test", need: admin},
	{route: "POST /admin/mail/{id}/retry", need: admin},
	{route: "GET /admin/rules", need: admin},
	{route: "POST /admin/rules", need: admin},
	{route: "GET /admin/rules/new", need: admin},
	{route: "GET /admin/rules/{id}", need: admin},
	{route: "POST /admin/rules/{id}", need: admin},
	{route: "POST /admin/rules/{id}/switch", need: admin},
	{route: "POST /admin/rules/{id}/delete", need: admin},
	{route: "POST /admin/rules/{id}/restore", need: admin},
	{route: "GET /admin/access", need: admin},
	{route: "POST /admin/access", need: admin},
	{route: "POST /admin/access/revoke", need: admin},
	{route: "GET /admin/templates", need: admin},
	{route: "POST /admin/templates", need: admin},
	{route: "GET /admin/privacy", need: admin},
	{route: "POST /admin/privacy/check", need: admin},
	{route: "POST /admin/privacy/apply", need: admin},
	{route: "GET /user/{system}/erase", need: admin, path: "/user/{machine}/erase", shows: true},
	{route: "POST /user/{system}/erase", need: admin, path: "/user/{machine}/erase", form: "confirm=no"},
	{route: "GET /user/{system}/dump.jsonl", need: adminPrivate, path: "/user/{machine}/dump.jsonl", shows: true},
	{route: "GET /admin/erasures", need: admin},
	{route: "GET /admin/regroup", need: admin},
	{route: "POST /admin/regroup", need: admin},
	{route: "POST /admin/regroup/apply", need: admin},
	{route: "POST /admin/regroup/stop", need: admin},
	{route: "GET /admin/symbols", need: admin},
	{route: "GET /admin/symbols.{format}", need: admin},
	{route: "GET /admin/filings", need: admin},
	{route: "GET /admin/filings.{format}", need: admin},
	{route: "GET /admin/filings/{id}", need: admin},
	{route: "POST /admin/filings/{id}/retry", need: admin},
	{route: "POST /admin/filings/{id}/give-up", need: admin},
	{route: "GET /admin/notifications", need: admin},
	{route: "POST /admin/notifications", need: admin},
	{route: "GET /admin/notifications/new", need: admin},
	{route: "POST /admin/notifications/stop", need: admin},
	{route: "POST /admin/notifications/resume", need: admin},
	{route: "GET /admin/notifications/{id}", need: admin},
	{route: "POST /admin/notifications/{id}", need: admin},
	{route: "POST /admin/notifications/{id}/test", need: admin},
	{route: "POST /admin/notifications/{id}/rotate", need: admin},
	{route: "POST /admin/notifications/{id}/enable", need: admin},
	{route: "POST /admin/notifications/{id}/disable", need: admin},
	{route: "POST /admin/notifications/{id}/delete", need: admin},
	{route: "GET /admin/notifications/{id}/deliveries/{delivery}", need: admin},
	{route: "POST /admin/notifications/{id}/deliveries/{delivery}/again", need: admin},

	{route: "POST /logout", need: everyone}, // last: it ends the sessions
}
