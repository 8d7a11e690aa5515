package people_test

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/handlers/handlertest"
	"mishap/handlers/proxies"
)

// TestServiceAccounts creates a service account, and manages its tokens as a person of its team.
func TestServiceAccounts(t *testing.T) {
	t.Parallel()
	site := behindProxy(t, proxies.Loopback, handlertest.Options{})
	admin := site.As(t, crash.RoleAdmin)
	create := func(name string) *handlertest.Answer {
		return admin.Post("/admin/services", url.Values{"name": {name}, "role": {"triager"}, "source": {"proxy"},
			"team": {"sru"}})
	}
	create("a b").Want(http.StatusUnprocessableEntity).WantText("[role=alert]", "not a valid name")
	create("ada-admin").Want(http.StatusUnprocessableEntity).WantText("[role=alert]", "already an account")
	create("bot").WantRedirect(http.StatusSeeOther, "/service/bot")
	admin.Get("/admin/services").Want(http.StatusOK).WantText("tbody", "sru (Proxy)").WantText("tbody", "nobody")
	admin.Get("/service/bot").Want(http.StatusOK).WantText("#main", "triager: given by hand").WantText("#main",
		"Nobody of this team")
	newToken := func(form url.Values) *handlertest.Answer { return admin.Post("/service/bot/tokens", form) }
	newToken(url.Values{"name": {"gate"}, "scope": {"read"}, "days": {"1"}}).Want(http.StatusUnprocessableEntity)
	newToken(url.Values{"name": {"gate"}, "scope": {"admin"}, "days": {"30"}}).Want(http.StatusUnprocessableEntity).
		WantText("[role=alert]", "does not allow")
	first := newToken(url.Values{"name": {"gate"}, "scope": {"read", "file"}, "days": {"30"}}).Want(http.StatusCreated).
		Attr("#made-token", "value")

	// Nobody can sign in to it, whatever its password would be.
	site.Visitor(t).SignIn("bot", handlertest.Password).Want(http.StatusUnprocessableEntity)
	site.Visitor(t).SignIn("bot", "").Want(http.StatusUnprocessableEntity)
	use := func(token string) error {
		_, _, err := site.People.ByToken(t.Context(), token, netip.Addr{})
		return err
	}
	if err := use(first); err != nil {
		t.Fatalf("use the token: %v", err)
	}

	// A person of the team sees, renews and revokes tokens, but cannot create others or change the
	// team.
	kim, lee := site.Visitor(t), site.Visitor(t)
	lee.Get("/service/bot", person("lee"), inGroups("staff")).Want(http.StatusForbidden).
		WantText("main", "bot belongs to sru (Proxy)")
	kim.Get("/account", person("kim"), inGroups("sru")).Want(http.StatusOK).WantText("[aria-labelledby=services]", "bot")
	kim.Get("/service/bot", person("kim"), inGroups("sru")).Want(http.StatusOK).WantText("#main",
		"kim").WantNone("#make-token")
	kim.Post("/service/bot/tokens", url.Values{"name": {"x"}, "scope": {"read"}, "days": {"30"}}, person("kim"),
		inGroups("sru")).Want(http.StatusForbidden)
	kim.Post("/service/bot/team", url.Values{"source": {"proxy"}, "team": {"staff"}}, person("kim"), inGroups("sru")).
		Want(http.StatusForbidden)
	second := kim.Post("/service/bot/tokens/1/renew", nil, person("kim"), inGroups("sru")).Want(http.StatusCreated).
		WantText("[role=status]", "Revoke the old one").Attr("#made-token", "value")
	u, token, err := site.People.ByToken(t.Context(), second, netip.Addr{})
	if err != nil || u.Name != "bot" || token.Name != "gate" || !token.Allows(crash.ScopeFile) || use(first) != nil {
		t.Errorf("got %+v, %+v, %v, want a token like the first, which still works", u, token, err)
	}
	lee.Post("/service/bot/tokens/1/revoke", nil, person("lee"), inGroups("staff")).Want(http.StatusForbidden)
	kim.Post("/service/bot/tokens/1/revoke", nil, person("kim"), inGroups("sru")).WantRedirect(http.StatusSeeOther,
		"/service/bot")
	if use(first) == nil || use(second) != nil {
		t.Error("want only the first token revoked")
	}

	// Tokens of others are out of reach.
	_, other, err := site.People.AddToken(t.Context(), site.AddUser(t, crash.RoleAdmin), "mine", crash.Scopes[:1],
		token.Expires)
	if err != nil {
		t.Fatal(err)
	}
	for _, action := range []string{"renew", "revoke"} {
		path := "/service/bot/tokens/" + site.Value(t, "select $1::bigint::text", other.ID) + "/" + action
		kim.Post(path, nil, person("kim"), inGroups("sru")).Want(http.StatusNotFound)
	}

	// Whoever leaves the team loses access at once; the token goes on working, and the page says
	// that nobody is left.
	kim.Get("/service/bot", person("kim"), inGroups("staff")).Want(http.StatusForbidden)
	kim.Post("/service/bot/tokens/2/renew", nil, person("kim"), inGroups("staff")).Want(http.StatusForbidden)
	admin.Get("/service/bot").WantText("#main", "Nobody of this team")
	if err := use(second); err != nil {
		t.Errorf("use the token of an empty team: %v", err)
	}
	admin.Post("/service/bot/team", url.Values{"source": {"proxy"}, "team": {""}}).Want(http.StatusUnprocessableEntity)
	admin.Post("/service/bot/team", url.Values{"source": {"proxy"}, "team": {"staff"}}).Want(http.StatusSeeOther)
	kim.Get("/service/bot", person("kim"), inGroups("staff")).Want(http.StatusOK)

	const sqlRecords = `
		select string_agg(person || ' ' || action, ', ' order by id) from audit_events where subject = 'bot'`
	want := "ada-admin user.add, ada-admin token.add, kim token.add, kim token.revoke, ada-admin user.team"
	if got := site.Value(t, sqlRecords); got != want {
		t.Errorf("audit log: got %s, want %s", got, want)
	}
}

// TestAllTokens reads the tokens of all accounts, and revokes some of them.
func TestAllTokens(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	admin := site.As(t, crash.RoleAdmin)
	ada := site.AddUser(t, crash.RoleViewer)
	var secrets []string
	for _, name := range []string{"fresh", "expired", "unused", "revoked"} {
		secret, _, err := site.People.AddToken(t.Context(), ada, name, crash.Scopes[:1], site.Store.Now().AddDate(0, 6, 0))
		if err != nil {
			t.Fatal(err)
		}
		secrets = append(secrets, secret)
	}
	change := func(sql string) {
		t.Helper()
		if _, err := site.Store.Pool.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	change(`update api_tokens set created = now() - interval '20 days',
		expires = now() - interval '1 day' where name = 'expired'`)
	change(`update api_tokens set created = now() - interval '91 days' where name = 'unused'`)
	change(`update api_tokens set revoked = now() where name = 'revoked'`)
	names := func(query string) string {
		t.Helper()
		page := admin.Get("/admin/tokens" + query).Want(http.StatusOK)
		for _, secret := range secrets {
			if strings.Contains(page.Body, secret) {
				t.Error("the page shows a token")
			}
		}
		var all []string
		for _, name := range []string{"fresh", "expired", "unused", "revoked"} {
			if page.HTML().Find("td:nth-of-type(1):contains("+name+")").Length() > 0 {
				all = append(all, name)
			}
		}
		return strings.Join(all, " ")
	}
	for query, want := range map[string]string{
		"": "fresh expired unused", "?state=valid": "fresh unused", "?state=expired": "expired", "?state=unused": "unused",
		"?state=revoked": "revoked", "?state=all": "fresh expired unused revoked", "?text=FRE": "fresh",
		"?text=ada-viewer&scope=read": "fresh expired unused", "?scope=admin": "", "?text=%25": "",
		"?text=%00": "fresh expired unused",
	} {
		if got := names(query); got != want {
			t.Errorf("%q: got %q, want %q", query, got, want)
		}
	}
	admin.Get("/admin/tokens?state=x").Want(http.StatusBadRequest)
	admin.Post("/admin/tokens/revoke", url.Values{"state": {"valid"}}).Want(http.StatusBadRequest)
	for _, state := range []string{"expired", "unused"} {
		admin.Post("/admin/tokens/revoke", url.Values{"state": {state}}).WantRedirect(http.StatusSeeOther, "/admin/tokens")
		admin.Get("/admin/tokens").WantText("#flash", "1 token revoked.")
	}
	if got := names(""); got != "fresh" {
		t.Errorf("after revoking: got %q, want fresh", got)
	}
	admin.Post("/admin/tokens/1/revoke", url.Values{"filter": {"state=valid"}}).WantRedirect(http.StatusSeeOther,
		"/admin/tokens?state=valid")
	if got := site.Value(t,
		`select count(*)::text from audit_events where action = 'token.revoke' and person = 'ada-admin'`); got != "3" {
		t.Errorf("got %s records, want 3", got)
	}
}
