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
	entry, err := p.Problems.Set(t.Context(), crash.Triage{Bucket: b.ID, Kind: crash.TriageWontFix, Person: "author"})
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
