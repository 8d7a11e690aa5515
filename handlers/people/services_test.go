package people_test

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/db/dbtest"
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
	admin.Get("/admin/people").Want(http.StatusOK).WantText("tbody", "sru (Proxy)").WantText("tbody", "nobody")
	admin.Get("/service/bot").Want(http.StatusOK).WantText("#main", "triager: given by hand").WantText("#main",
		"nobody Only administrators")
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
	_, other, err := site.People.AddToken(t.Context(), "", site.AddUser(t, crash.RoleAdmin), "mine", crash.Scopes[:1],
		token.Expires)
	checktest.NoError(t, err)
	for _, action := range []string{"renew", "revoke"} {
		path := "/service/bot/tokens/" + site.Value(t, "select $1::bigint::text", other.ID) + "/" + action
		kim.Post(path, nil, person("kim"), inGroups("sru")).Want(http.StatusNotFound)
	}

	// Whoever leaves the team loses access at once; the token goes on working, and the page says
	// that nobody is left.
	kim.Get("/service/bot", person("kim"), inGroups("staff")).Want(http.StatusForbidden)
	kim.Post("/service/bot/tokens/2/renew", nil, person("kim"), inGroups("staff")).Want(http.StatusForbidden)
	admin.Get("/service/bot").WantText("#main", "nobody Only administrators")
	if err := use(second); err != nil {
		t.Errorf("use the token of an empty team: %v", err)
	}
	admin.Post("/service/bot/team", url.Values{"source": {"proxy"}, "team": {""}}).Want(http.StatusUnprocessableEntity)
	admin.Post("/service/bot/team", url.Values{"source": {"proxy"}, "team": {"staff"}}).Want(http.StatusSeeOther)
	kim.Get("/service/bot", person("kim"), inGroups("staff")).Want(http.StatusOK)

	const sqlRecords = `
		select string_agg(person || ' ' || action, ', ' order by id) from audit_events where subject = 'bot'`
	want := "ada-admin user.add, ada-admin token.add, kim token.add, kim token.revoke, ada-admin user.team"
	checktest.Equal(t, "audit log", site.Value(t, sqlRecords), want)
}

// TestAllTokens reads the tokens of all accounts, and revokes some of them.
func TestAllTokens(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	admin := site.As(t, crash.RoleAdmin)
	ada := site.AddUser(t, crash.RoleViewer)
	var secrets []string
	for _, name := range []string{"fresh", "expired", "unused", "revoked"} {
		secret, _, err := site.People.AddToken(t.Context(), "", ada, name, crash.Scopes[:1],
			site.Store.Now().AddDate(0, 6, 0))
		checktest.NoError(t, err)
		secrets = append(secrets, secret)
	}
	change := func(sql string) {
		t.Helper()
		dbtest.Must(site.Store.Pool.Exec(t.Context(), sql))(t)
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
		checktest.Equal(t, query, names(query), want)
	}
	admin.Get("/admin/tokens?state=x").Want(http.StatusBadRequest)
	admin.Post("/admin/tokens/revoke", url.Values{"state": {"valid"}}).Want(http.StatusBadRequest)
	for _, state := range []string{"expired", "unused"} {
		admin.Post("/admin/tokens/revoke", url.Values{"state": {state}}).WantRedirect(http.StatusSeeOther, "/admin/tokens")
		admin.Get("/admin/tokens").WantText("#flash", "1 token revoked.")
	}
	checktest.Equal(t, "after revoking", names(""), "fresh")
	admin.Post("/admin/tokens/1/revoke", url.Values{"filter": {"state=valid"}}).WantRedirect(http.StatusSeeOther,
		"/admin/tokens?state=valid")
	checktest.Equal(t, "records", site.Value(t,
		`select count(*)::text from audit_events where action = 'token.revoke' and person = 'ada-admin'`), "3")
}

func TestTokensOnThePage(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	viewer := site.As(t, crash.RoleViewer)
	token := handlertest.MakeToken(t, viewer, "read")
	page := viewer.Get("/account").Want(http.StatusOK).WantText("#tokens tbody th", "a script")
	if strings.Contains(page.Body, token) {
		t.Error("got the token a second time, want it shown only once")
	}
	page.WantNone("#tokens input[value=file]") // a viewer creates no bugs
	viewer.Post("/account/tokens", url.Values{"name": {"x"}, "scope": {"file"}, "days": {"30"}}).Want(http.StatusForbidden)
	for name, form := range map[string]url.Values{
		"no name":  {"scope": {"read"}, "days": {"30"}},
		"no scope": {"name": {"x"}, "days": {"30"}},
		"no days":  {"name": {"x"}, "scope": {"read"}},
		"odd days": {"name": {"x"}, "scope": {"read"}, "days": {"31"}},
	} {
		if a := viewer.Post("/account/tokens", form).Want(http.StatusUnprocessableEntity); a.Text("#token-problem") == "" {
			t.Errorf("%s: got no reason", name)
		}
	}
	action := page.Attr("#tokens tbody form", "action")
	site.As(t, crash.RoleTriager).Post(action, nil).Want(http.StatusNotFound) // another person's token
	site.Visitor(t).Get("/api/1.0/instance/?id=x").Want(http.StatusUnauthorized)
	visitor := site.Visitor(t)
	visitor.Get("/api/1.0/instance/?id=x", handlertest.Bearer(token)...).Want(http.StatusOK)
	viewer.Post(action, nil).WantRedirect(http.StatusSeeOther, "/account")
	visitor.Get("/api/1.0/instance/?id=x", handlertest.Bearer(token)...).Want(http.StatusUnauthorized)
}

// TestTokenScopes checks that a token grants its scopes, but never more than its owner's role.
func TestTokenScopes(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	b := site.Save(t, crashtest.Native())
	triager := site.As(t, crash.RoleTriager)
	read, file := handlertest.MakeToken(t, triager, "read"), handlertest.MakeToken(t, triager, "file")
	c := site.Visitor(t)
	body := map[string]string{"signature": b.Signature}
	plain := func(token string) []handlertest.Header {
		return append(handlertest.Bearer(token), handlertest.Header{Name: "X-CSRFToken"}, handlertest.Header{Name: "Referer"})
	}
	c.Get("/api/1.0/instance/?id=x", handlertest.Bearer(read)...).Want(http.StatusOK)
	c.Get("/api/1.0/instance/?id=x", handlertest.Bearer(file)...).Want(http.StatusForbidden)
	c.Get("/api/1.0/problems-count/", handlertest.Bearer(file)...).Want(http.StatusOK) // public
	c.PostJSON(handlertest.CreatePath, body, plain(read)...).Want(http.StatusForbidden)
	c.PostJSON(handlertest.CreatePath, body).Want(http.StatusUnauthorized)
	c.PostJSON(handlertest.CreatePath, body, plain("mishap_wrong")...).Want(http.StatusUnauthorized)
	c.PostJSON(handlertest.CreatePath, body, plain(file)...).Want(http.StatusCreated)
	c.PostJSON(handlertest.CreatePath, body, plain(file)...).Want(http.StatusOK)
	checktest.Equal(t, "bugs", len(site.Tracker.Bugs()), 1)
	// Tokens do not work for forms, parts or pages.
	c.Post(handlertest.CreatePath, url.Values{"signature": {b.Signature}}, handlertest.Bearer(file)...).
		Want(http.StatusUnsupportedMediaType)
	c.Get("/oops/x", handlertest.Bearer(read)...).Want(http.StatusSeeOther)
	// An invalid token does not replace the CSRF token of a session.
	triager.PostJSON(handlertest.CreatePath, body, plain("mishap_wrong")...).Want(http.StatusUnauthorized)
	// A person who has lost the right to file cannot file with a token either.
	viewer := site.AddUser(t, crash.RoleTriager)
	checktest.NoError(t, site.People.Disable(t.Context(), "", viewer.Name))
	c.PostJSON(handlertest.CreatePath, body, plain(file)...).Want(http.StatusUnauthorized)
}

func TestLimitsOfTheAPI(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{APIRatePerAddress: 3, APIRatePerToken: 5})
	viewer := site.As(t, crash.RoleViewer)
	one, other := handlertest.MakeToken(t, viewer, "read"), handlertest.MakeToken(t, viewer, "read")
	c := site.Visitor(t)
	for range 3 {
		c.Get("/api/1.0/").Want(http.StatusOK)
	}
	var got handlertest.APIError
	a := c.Get("/api/1.0/").Want(http.StatusTooManyRequests)
	if a.JSON(&got); a.Header.Get("Retry-After") == "" || got.Code != "too_many_requests" {
		t.Errorf("got %v, %+v, want Retry-After", a.Header, got)
	}
	for range 5 {
		c.Get("/api/1.0/", handlertest.Bearer(one)...).Want(http.StatusOK)
	}
	c.Get("/api/1.0/", handlertest.Bearer(one)...).Want(http.StatusTooManyRequests)
	c.Get("/api/1.0/", handlertest.Bearer(other)...).Want(http.StatusOK)
	c.Get("/").Want(http.StatusOK) // pages have no limit

	// One of two instances allows half as many.
	half := handlertest.New(t, handlertest.Options{APIRatePerAddress: 6, Instances: func() int { return 2 }}).Visitor(t)
	for range 3 {
		half.Get("/api/1.0/").Want(http.StatusOK)
	}
	half.Get("/api/1.0/").Want(http.StatusTooManyRequests)
}

// TestScopesOfFiles checks which scope each kind of data needs, and that a refusal names it.
func TestScopesOfFiles(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	b := site.Save(t, crashtest.Native())
	admin := site.As(t, crash.RoleAdmin)
	c := site.Visitor(t)
	tokens := map[crash.Scope]string{}
	for _, scope := range crash.Scopes {
		tokens[scope] = handlertest.MakeToken(t, admin, string(scope))
	}
	for _, tt := range []struct {
		path string
		want crash.Scope
	}{
		{"/problem/" + b.ID.String() + ".csv", crash.ScopeRead},
		{"/my.csv", crash.ScopeRead},
		{"/user/" + strings.Repeat("0", 128) + ".csv", crash.ScopeReadPrivate},
		{"/api/1.0/reports-for-system/?id=x", crash.ScopeReadPrivate},
		{"/api/1.0/instance/?id=x", crash.ScopeRead},
		{"/admin/filings.csv", crash.ScopeAdmin},
	} {
		for _, scope := range crash.Scopes {
			a := c.Get(tt.path, append(handlertest.Bearer(tokens[scope]), handlertest.Header{Name: "Accept", Value: "*/*"})...)
			if scope == tt.want {
				if a.Status == http.StatusForbidden || a.Status == http.StatusUnauthorized {
					t.Errorf("%s with %s: got %d %s", tt.path, scope, a.Status, a.Body)
				}
				continue
			}
			a.Want(http.StatusForbidden)
			var refusal handlertest.APIError
			if a.JSON(&refusal); !strings.HasSuffix(refusal.Error, " does not have the scope "+string(tt.want)+".") {
				t.Errorf("%s with %s: got %q, want the name of the scope", tt.path, scope, refusal.Error)
			}
		}
	}
	a := c.Get("/api/1.0/instance/?id=x&access_token=" + tokens[crash.ScopeRead] + "&token=" +
		tokens[crash.ScopeRead]).Want(
		http.StatusUnauthorized)
	if !strings.Contains(strings.Join(a.Header.Values("WWW-Authenticate"), ", "), "Bearer") {
		t.Errorf("got %v, want WWW-Authenticate: Bearer", a.Header)
	}
	mistyped := tokens[crash.ScopeRead][:20] + "x" + tokens[crash.ScopeRead][20:53]
	var refusal handlertest.APIError
	if c.Get("/api/1.0/instance/?id=x", handlertest.Bearer(mistyped)...).Want(http.StatusUnauthorized).
		JSON(&refusal); refusal.Code !=
		"mistyped_token" {
		t.Errorf("mistyped: got %+v", refusal)
	}
}
