package people_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/db/dbtest"
	"mishap/db/people"
)

func launchpad(subject, name string, groups ...string) crash.Identity {
	return crash.Identity{Source: crash.SourceLaunchpad, Issuer: "https://login.example", Subject: subject, Name: name,
		Groups: groups}
}

// grantOf returns a grant for all packages.
func grantOf(source crash.Source, group string, role crash.Role) crash.Grant {
	return crash.Grant{Source: source, Group: group, Role: role, Scope: crash.GrantScope{Kind: crash.GrantAll}}
}

func TestRolesFromGroups(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	a, people := people.New(store), people.New(store)
	role := func(in crash.Identity) crash.Role {
		t.Helper()
		signed, err := a.SignInIdentity(t.Context(), in)
		if err != nil {
			t.Fatalf("sign in: %v", err)
		}
		u := dbtest.Must(people.ByID(t.Context(), signed.UserID))(t)
		return u.Role
	}
	grant := func(source crash.Source, group string, r crash.Role) {
		t.Helper()
		if err := a.Grant(t.Context(), "ada", grantOf(source, group, r)); err != nil {
			t.Fatalf("grant: %v", err)
		}
	}
	grant(crash.SourceLaunchpad, "~readers", crash.RoleViewer)
	grant(crash.SourceLaunchpad, "bug-control", crash.RoleTriager)
	grant(crash.SourceOIDC, "staff", crash.RoleAdmin)

	for _, tt := range []struct {
		groups []string
		want   crash.Role
	}{
		{nil, crash.RoleNone},
		{[]string{"readers"}, crash.RoleViewer},
		{[]string{"readers", "bug-control"}, crash.RoleTriager},
		{[]string{"readers", "READERS"}, crash.RoleViewer},
		{[]string{"staff"}, crash.RoleNone}, // a group of another source
		{[]string{"bug-control"}, crash.RoleTriager},
		{nil, crash.RoleNone}, // has left
	} {
		if got := role(launchpad("https://login.example/+id/a", "kim", tt.groups...)); got != tt.want {
			t.Errorf("role in %q: got %q, want %q", tt.groups, got, tt.want)
		}
	}

	// A role given by hand counts if it is higher, and stays when the person leaves a group.
	checktest.NoError(t, people.SetRole(t.Context(), "ada", "kim", crash.RoleViewer))
	if got := role(launchpad("https://login.example/+id/a", "kim", "bug-control")); got != crash.RoleTriager {
		t.Errorf("role by hand and by group: got %q, want triager", got)
	}
	if got := role(launchpad("https://login.example/+id/a", "kim")); got != crash.RoleViewer {
		t.Errorf("role by hand after leaving the group: got %q, want viewer", got)
	}

	// Removing a grant takes effect without a new sign-in.
	role(launchpad("https://login.example/+id/a", "kim", "bug-control"))
	checktest.NoError(t, a.RevokeGrant(t.Context(), "ada", grantOf(crash.SourceLaunchpad, "bug-control", "")))
	u, err := people.ByName(t.Context(), "kim")
	if err != nil || u.Role != crash.RoleViewer || u.Manual != crash.RoleViewer {
		t.Errorf("after revoking: got role %q, by hand %q, %v, want viewer twice", u.Role, u.Manual, err)
	}
	if err := a.RevokeGrant(t.Context(), "ada", grantOf(crash.SourceLaunchpad, "bug-control", "")); !errors.Is(err,
		crash.NotFound) {
		t.Errorf("revoking twice: got %v, want NotFound", err)
	}

	// A role for everyone.
	checktest.NoError(t, people.SetRole(t.Context(), "ada", "kim", crash.RoleNone))
	if u, err = people.ByName(t.Context(), "kim"); err != nil || u.Role != crash.RoleNone {
		t.Errorf("without any role: got %q, %v, want none", u.Role, err)
	}
	store.Rights.Everyone = crash.RoleViewer
	if u, err = people.ByName(t.Context(), "kim"); err != nil ||
		u.Role != crash.RoleViewer {
		t.Errorf("role of everyone: got %q, %v, want viewer", u.Role, err)
	}
}

func TestIdentitiesStayApart(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	a, persons := people.New(store), people.New(store)
	dbtest.AddUser(t, store, "grace", crash.RoleAdmin, "a long password")
	dbtest.AddUser(t, store, "gone", crash.RoleAdmin, "a long password")
	checktest.NoError(t, persons.Remove(t.Context(), "", "gone"))
	base := launchpad("https://login.example/+id/1", "grace")
	other := base
	other.Source, other.Issuer = crash.SourceOIDC, "https://id.example"
	elsewhere := other
	elsewhere.Issuer = "https://id2.example"
	renamed := base
	renamed.Name = "someone-else"
	for _, tt := range []struct {
		in   crash.Identity
		name string
		new  bool
	}{
		{base, "grace-2", true}, // the local account of this name belongs to someone else
		{base, "grace-2", false},
		{renamed, "grace-2", false}, // a new nickname is no new person
		{other, "grace-3", true},    // the same identifier at another site is another person
		{elsewhere, "grace-4", true},
		{launchpad("https://login.example/+id/2", "GONE"), "GONE-2", true}, // decisions of "gone" stay theirs
		{launchpad("https://login.example/+id/3", "  <b>\x00 "), "b", true},
		{launchpad("https://login.example/+id/4", ""), "person", true},
		{launchpad("https://login.example/+id/6", "Me"), "Me-2", true}, // these words have another meaning
		{launchpad("https://login.example/+id/7", "nobody"), "nobody-2", true},
		{launchpad("https://login.example/+id/5", strings.Repeat("é", 90)), strings.Repeat("é", 50), true},
	} {
		got, err := a.SignInIdentity(t.Context(), tt.in)
		if err != nil || got.Name != tt.name || got.New != tt.new {
			t.Errorf("sign in %v: got %+v, %v, want name %q, new %v", tt.in, got, err, tt.name, tt.new)
		}
	}
	// An account without a password cannot sign in with one.
	for _, password := range []string{"", "x"} {
		if _, err := persons.SignIn(t.Context(), people.SignIn{Name: "grace-2", Password: password}); !errors.Is(err,
			crash.Unauthenticated) {
			t.Errorf("password %q: got %v, want Unauthenticated", password, err)
		}
	}
	checktest.NoError(t, persons.Disable(t.Context(), "", "grace-2"))
	if _, err := a.SignInIdentity(t.Context(), base); !errors.Is(err, crash.Forbidden) || !strings.Contains(err.Error(),
		"disabled") {
		t.Errorf("disabled account: got %v, want Forbidden with the reason", err)
	}
	for _, bad := range []crash.Identity{launchpad("", "x"), launchpad("a\nb", "x"), launchpad("\xff", "x"),
		launchpad(strings.Repeat("x", 501), "x"), launchpad("s", "x", ""), launchpad("s", "x", "a\x00"),
		launchpad("s", "x", make([]string, 1001)...)} {
		if _, err := a.SignInIdentity(t.Context(), bad); !errors.Is(err, crash.Unprocessable) {
			t.Errorf("sign in %.60q: got %v, want Unprocessable", bad.Subject, err)
		}
	}
}

func TestFirstSignInsAtTheSameTime(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	a := people.New(store)
	var wg sync.WaitGroup
	ids := make([]int64, 8)
	for i := range ids {
		wg.Go(func() {
			in := launchpad("https://login.example/+id/"+string(rune('a'+i%2)), "kim")
			signed, err := a.SignInIdentity(t.Context(), in)
			if err != nil {
				t.Errorf("sign in: %v", err)
			}
			ids[i] = signed.UserID
		})
	}
	wg.Wait()
	slices.Sort(ids)
	if got := slices.Compact(ids); len(got) != 2 {
		t.Errorf("got accounts %v, want 2", got)
	}
}

func TestGrantRefuses(t *testing.T) {
	t.Parallel()
	a := people.New(dbtest.New(t))
	for _, tt := range []struct {
		source crash.Source
		group  string
		role   crash.Role
	}{
		{"ldap", "x", crash.RoleViewer}, {crash.SourceOIDC, "", crash.RoleViewer}, {crash.SourceOIDC, "x", "king"},
		{crash.SourceOIDC, "x", crash.RoleNone}, {crash.SourceLaunchpad, "a,b", crash.RoleViewer},
		{crash.SourceOIDC, "a\nb", crash.RoleViewer}, {crash.SourceOIDC, strings.Repeat("x", 201), crash.RoleViewer},
	} {
		if err := a.Grant(t.Context(), "", grantOf(tt.source, tt.group, tt.role)); !errors.Is(err, crash.Invalid) {
			t.Errorf("grant %v: got %v, want Invalid", tt, err)
		}
	}
	grants, err := a.Grants(t.Context())
	if err != nil || len(grants) != 0 {
		t.Errorf("got grants %v, %v, want none", grants, err)
	}
}

func TestNonceOnTwoInstances(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	first, second := people.New(dbtest.Open(t, url)), people.New(dbtest.Open(t, url))
	use := func(a *people.Store, endpoint string, want bool) {
		t.Helper()
		if got, err := a.UseNonce(t.Context(), endpoint, "2026-11-22T01:22:01Zpy"); err != nil || got != want {
			t.Errorf("use nonce of %s: got %v, %v, want %v", endpoint, got, err, want)
		}
	}
	use(first, "https://a.example", true)
	use(second, "https://a.example", false)
	use(second, "https://b.example", true)
	use(first, "https://b.example", false)
}

func TestEndSessions(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	a, sessions := people.New(store), people.NewSessions(store)
	for _, subject := range []string{"ada", "bob"} {
		dbtest.Must(a.SignInIdentity(t.Context(), crash.Identity{Source: crash.SourceOIDC, Issuer: "https://id.example",
			Subject: subject, Name: subject}))(t)
	}
	all, err := a.Identities(t.Context(), 0)
	if err != nil || len(all) != 2 {
		t.Fatalf("got identities %v, %v, want 2", all, err)
	}
	begin := func() {
		t.Helper()
		for token, values := range map[string]map[string]any{
			"ada-1": {people.SessionIdentity: "1", people.SessionProvider: "s1"},
			"ada-2": {people.SessionIdentity: "1", people.SessionProvider: "s2"},
			"ada-?": {people.SessionIdentity: "1"},
			"bob-1": {people.SessionIdentity: "2", people.SessionProvider: "s3"},
			"local": {people.SessionUser: "1"},
		} {
			expiry := time.Now().Add(time.Hour)
			data := dbtest.Must(people.SessionCodec{}.Encode(expiry, values))(t)
			checktest.NoError(t, sessions.CommitCtx(t.Context(), token, data, expiry))
		}
	}
	for _, tt := range []struct {
		who  crash.Identity
		ends []string
	}{
		{crash.Identity{}, nil},
		{crash.Identity{Subject: "ada"}, []string{"ada-1", "ada-2", "ada-?"}},
		{crash.Identity{Subject: "ada", Session: "s1"}, []string{"ada-1", "ada-?"}},
		{crash.Identity{Session: "s2"}, []string{"ada-2"}},
		{crash.Identity{Subject: "bob", Session: "s1"}, nil},
		{crash.Identity{Issuer: "https://other.example", Subject: "ada"}, nil},
	} {
		begin()
		tt.who.Source = crash.SourceOIDC
		if tt.who.Issuer == "" {
			tt.who.Issuer = "https://id.example"
		}
		n, err := a.EndProviderSessions(t.Context(), tt.who)
		if err != nil || n != len(tt.ends) {
			t.Errorf("end %v: got %d, %v, want %d", tt.who, n, err, len(tt.ends))
		}
		for _, token := range []string{"ada-1", "ada-2", "ada-?", "bob-1", "local"} {
			_, found, err := sessions.FindCtx(t.Context(), token)
			if err != nil || found == slices.Contains(tt.ends, token) {
				t.Errorf("end %v: session %s found %v, %v", tt.who, token, found, err)
			}
		}
	}
}

func TestRightsForSomePackages(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	store := dbtest.Open(t, url)
	a, people := people.New(store), people.New(store)
	in := launchpad("https://login.example/+id/a", "kim", "kernel", "desktop")
	dbtest.Must(a.SignInIdentity(t.Context(), in))(t)
	kim := func() crash.User {
		t.Helper()
		return dbtest.Must(people.ByName(t.Context(), "kim"))(t)
	}
	series := crash.BuiltInReleases().Latest("Ubuntu", store.Now()).Codename()
	grants := []crash.Grant{
		{Source: crash.SourceLaunchpad, Group: "kernel", Role: crash.RoleTriager,
			Scope: crash.GrantScope{Kind: crash.GrantPackage, Name: "linux-*"}},
		{Source: crash.SourceLaunchpad, Group: "desktop", Role: crash.RolePrivate,
			Scope: crash.GrantScope{Kind: crash.GrantTeam, Name: "desktop-packages"}},
		{Source: crash.SourceAccount, Group: "KIM", Role: crash.RoleTriager,
			Scope: crash.GrantScope{Kind: crash.GrantSet, Name: "sea"}},
	}
	for _, g := range grants {
		if err := a.Grant(t.Context(), "ada", g); err != nil {
			t.Fatalf("grant %v: %v", g, err)
		}
	}
	u := kim()
	if u.Role != crash.RoleViewer || !u.MayTriage("linux-hwe") || u.MayTriage("linux") || u.MayTriage("") ||
		u.MayTriage("reef") || u.Private.Some() {
		t.Errorf("before the tracker answered: got %+v", u)
	}
	const sqlAnswer = `update archive_facts set value = @value, read = now() where kind = @kind and key = @key`
	for key, value := range map[[2]string]string{
		{"set", series + "/sea"}:       `{"names": ["reef", "tide"]}`,
		{"person", "desktop-packages"}: `{"names": ["nautilus"]}`,
	} {
		dbtest.Exec(t, url, sqlAnswer, pgx.NamedArgs{"kind": key[0], "key": key[1], "value": value})
	}
	if u = kim(); !u.MayTriage("tide") || !u.MayTriage("linux-hwe") || u.MayTriage("nautilus") ||
		!u.Private.Include("nautilus") || u.Private.Include("tide") || u.Private.All {
		t.Errorf("after the tracker answered: got %+v", u)
	}
	all, err := a.Grants(t.Context())
	if err != nil || len(all) != len(grants) || all[0].Group != "kim" {
		t.Errorf("got grants %+v, %v, want 3, the first of kim", all, err)
	}

	// Leaving the group takes the right away at the next sign-in, and revoking does so at once.
	in.Groups = []string{"desktop"}
	dbtest.Must(a.SignInIdentity(t.Context(), in))(t)
	if u = kim(); u.MayTriage("linux-hwe") || !u.MayTriage("tide") {
		t.Errorf("after leaving the group: got %+v", u)
	}
	for _, g := range grants[1:] {
		if err := a.RevokeGrant(t.Context(), "ada", g); err != nil {
			t.Errorf("revoke %v: %v", g, err)
		}
		if err := a.RevokeGrant(t.Context(), "ada", g); !errors.Is(err, crash.NotFound) {
			t.Errorf("revoke %v twice: got %v, want NotFound", g, err)
		}
	}
	if u = kim(); u.Role != crash.RoleNone || u.Triage.Some() || u.Private.Some() {
		t.Errorf("without grants: got %+v, want no right", u)
	}

	// For all packages, the role of an account is that given by hand.
	byHand := crash.Grant{Source: crash.SourceAccount, Group: "kim", Role: crash.RoleTriager,
		Scope: crash.GrantScope{Kind: crash.GrantAll}}
	checktest.NoError(t, a.Grant(t.Context(), "", byHand))
	if u = kim(); u.Manual != crash.RoleTriager || !u.Triage.All || u.Private.Some() {
		t.Errorf("role by hand: got %+v", u)
	}
	checktest.NoError(t, a.RevokeGrant(t.Context(), "", byHand))
	if u = kim(); u.Role != crash.RoleNone {
		t.Errorf("role by hand taken away: got %+v", u)
	}

	for _, g := range []crash.Grant{
		{Source: crash.SourceOIDC, Group: "x", Role: crash.RoleAdmin,
			Scope: crash.GrantScope{Kind: crash.GrantPackage, Name: "a"}},
		{Source: crash.SourceOIDC, Group: "x", Role: crash.RoleViewer,
			Scope: crash.GrantScope{Kind: crash.GrantPackage, Name: "a"}},
		{Source: crash.SourceOIDC, Group: "x", Role: crash.RoleTriager,
			Scope: crash.GrantScope{Kind: crash.GrantPackage, Name: "[a"}},
		{Source: crash.SourceOIDC, Group: "x", Role: crash.RoleTriager,
			Scope: crash.GrantScope{Kind: crash.GrantSet, Name: "a*"}},
		{Source: crash.SourceOIDC, Group: "x", Role: crash.RoleTriager, Scope: crash.GrantScope{Kind: "some", Name: "a"}},
		{Source: crash.SourceOIDC, Group: "x", Role: crash.RoleTriager, Scope: crash.GrantScope{Kind: crash.GrantTeam}},
	} {
		if err := a.Grant(t.Context(), "", g); !errors.Is(err, crash.Invalid) {
			t.Errorf("grant %v: got %v, want Invalid", g, err)
		}
	}
	byHand.Group = "nobody"
	if err := a.Grant(t.Context(), "", byHand); !errors.Is(err, crash.NotFound) {
		t.Errorf("grant to nobody: got %v, want NotFound", err)
	}
}
