// Package oidctest is an OpenID Connect provider for tests: the provider of zitadel/oidc with its example
// storage, to which this package adds groups, back-channel logout, and ways to misbehave.
package oidctest

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// The client that the provider knows.
const (
	ClientID     = "mishap"
	ClientSecret = "a secret of the client"
)

// Claims are the claims of a token or of UserInfo.
type Claims = map[string]any

// Provider is the provider. Its fields may be changed between requests, under Do.
type Provider struct {
	URL string // the issuer

	mu       sync.Mutex
	storage  *store
	handler  http.Handler
	Groups   any            // value of the claim groups in UserInfo; nil: none
	Down     bool           // every request fails
	Issuer   string         // of answers (RFC 9207); empty: the provider does not support that
	IDToken  func(Claims)   // alters id tokens before they are signed; nil: unaltered
	UserInfo func(Claims)   // alters UserInfo; nil: unaltered
	Tokens   func(Claims)   // alters answers with tokens; nil: unaltered
	Asked    url.Values     // of the last authorisation request
	Answered map[string]int // number of requests by path
}

// store is the example storage with groups.
type store struct {
	*storage.Storage
	groups func() any
}

func (s *store) SetUserinfoFromToken(ctx context.Context, info *oidc.UserInfo, token, subject, origin string) error {
	if err := s.Storage.SetUserinfoFromToken(ctx, info, token, subject, origin); err != nil {
		return err
	}
	if groups := s.groups(); groups != nil {
		info.AppendClaims("groups", groups)
	}
	return nil
}

// Start returns a provider that listens until the test ends, for a site at base.
func Start(t testing.TB, base string) *Provider {
	t.Helper()
	p := &Provider{Answered: map[string]int{}}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	p.URL = server.URL
	p.storage = &store{
		Storage: storage.NewStorageWithClients(storage.NewUserStore(p.URL), map[string]*storage.Client{
			ClientID: storage.WebClient(ClientID, ClientSecret, base+"/login/oidc/return"),
		}),
		groups: func() any {
			p.mu.Lock()
			defer p.mu.Unlock()
			return p.Groups
		},
	}
	provider, err := op.NewProvider(&op.Config{CryptoKey: sha256.Sum256([]byte("test")), CodeMethodS256: true,
		AuthMethodPost: true, GrantTypeRefreshToken: true,
		SupportedScopes: []string{"openid", "profile", "groups", "offline_access"}}, p.storage,
		op.StaticIssuer(p.URL), op.WithAllowInsecure(), op.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatalf("OpenID Connect provider: %v", err)
	}
	p.handler = provider
	return p
}

// Do calls fn while no request is in progress.
func (p *Provider) Do(fn func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fn()
}

// ServeHTTP implements [http.Handler].
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.Answered[r.URL.Path]++
	if r.URL.Path == "/authorize" {
		p.Asked = r.URL.Query()
	}
	down, issuer, idToken, userInfo, tokens := p.Down, p.Issuer, p.IDToken, p.UserInfo, p.Tokens
	p.mu.Unlock()
	if down {
		http.Error(w, "down", http.StatusServiceUnavailable)
		return
	}
	answer := httptest.NewRecorder()
	p.handler.ServeHTTP(answer, r)
	maps.Copy(w.Header(), answer.Header())
	body := answer.Body.Bytes()
	var doc Claims
	switch {
	case answer.Code != http.StatusOK || json.Unmarshal(body, &doc) != nil:
	case r.URL.Path == "/.well-known/openid-configuration" && issuer != "":
		doc["authorization_response_iss_parameter_supported"] = true
	case r.URL.Path == "/userinfo" && userInfo != nil:
		userInfo(doc)
	case r.URL.Path == "/oauth/token" && idToken != nil:
		doc["id_token"] = p.alter(doc["id_token"].(string), idToken)
	case r.URL.Path == "/oauth/token" && tokens != nil:
		tokens(doc)
	}
	if doc != nil {
		body, _ = json.Marshal(doc) // of what was JSON
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(answer.Code)
	_, _ = w.Write(body)
}

// alter alters the claims of a token and signs it again.
func (p *Provider) alter(raw string, change func(Claims)) string {
	token, err := jwt.ParseSigned(raw, []jose.SignatureAlgorithm{jose.RS256})
	if err != nil {
		panic(err)
	}
	claims := Claims{}
	if err := token.UnsafeClaimsWithoutVerification(&claims); err != nil {
		panic(err)
	}
	change(claims)
	return p.Sign("JWT", claims)
}

// Sign returns a token of a type with claims, signed by the key of the provider.
func (p *Provider) Sign(typ string, claims Claims) string {
	key, err := p.storage.SigningKey(context.Background())
	if err != nil {
		panic(err)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: key.SignatureAlgorithm(),
		Key: jose.JSONWebKey{Key: key.Key(), KeyID: key.ID()}}, (&jose.SignerOptions{}).WithType(jose.ContentType(typ)))
	if err != nil {
		panic(err)
	}
	raw, err := jwt.Signed(signer).Claims(claims).Serialize() //nolint:misspell // the library spells it so
	if err != nil {
		panic(err)
	}
	return raw
}

// Revoke makes the tokens of a person invalid.
func (p *Provider) Revoke(t testing.TB, subject string) {
	t.Helper()
	if err := p.storage.TerminateSession(t.Context(), subject, ClientID); err != nil {
		t.Fatal(err)
	}
}

// LogoutToken returns the claims of a message that a person has signed out.
func (p *Provider) LogoutToken(id, subject, session string) Claims {
	c := Claims{"iss": p.URL, "aud": ClientID, "iat": time.Now().Unix(), "exp": time.Now().Add(time.Minute).Unix(),
		"jti":    id,
		"events": Claims{"http://schemas.openid.net/event/backchannel-logout": Claims{}}}
	if subject != "" {
		c["sub"] = subject
	}
	if session != "" {
		c["sid"] = session
	}
	return c
}

// SignIn lets a user of the example storage sign in at the address to which a site has sent the
// browser, and returns the answer to which the provider redirects.
func (p *Provider) SignIn(t testing.TB, address, user string) *url.URL {
	t.Helper()
	login := p.follow(t, address)
	id := login.Query().Get("authRequestID")
	if id == "" {
		t.Fatalf("the provider redirects to %s, want its sign-in page", login)
	}
	if err := p.storage.CheckUsernamePassword(user, "verysecure", id); err != nil {
		t.Fatalf("sign in at the provider: %v", err)
	}
	back := p.follow(t, p.URL+"/authorize/callback?id="+url.QueryEscape(id))
	var issuer string
	if p.Do(func() { issuer = p.Issuer }); issuer != "" {
		back.RawQuery += "&iss=" + url.QueryEscape(issuer)
	}
	return back
}

// follow returns the address to which the provider redirects.
func (*Provider) follow(t testing.TB, address string) *url.URL {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	to, err := res.Location()
	if err != nil {
		t.Fatalf("%s: status %d without a redirect", strings.SplitN(address, "?", 2)[0], res.StatusCode)
	}
	return to
}
