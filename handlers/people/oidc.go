package people

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"mishap/crash"
	"mishap/handlers/web"
)

const (
	requestTimeout = 15 * time.Second // of one request to the provider
	maxOIDCBody    = 1 << 20          // bytes of one answer of the provider
)

// oidcClient lets people sign in with OpenID Connect: the code flow with PKCE, groups from a claim, and
// back-channel logout. The library verifies tokens; this type does the checks that the library leaves to
// its users. It is safe for concurrent use. It reads the provider's configuration when it is first
// needed, and again after a failure, so that the provider may be down when this program starts.
type oidcClient struct {
	config   crash.OIDCConfig
	returnTo string // address of this site to which the provider sends people
	now      func() time.Time
	http     *http.Client

	mu    sync.Mutex
	found *provider // nil: not read yet
}

type provider struct {
	*oidc.Provider
	SendsIssuer bool     `json:"authorization_response_iss_parameter_supported"`
	Scopes      []string `json:"scopes_supported"`
}

func newOIDCClient(kit *web.Kit) *oidcClient {
	return &oidcClient{
		config: kit.Config.OIDC, returnTo: kit.Base.String() + web.PathOIDC + web.PathSignInReturn, now: kit.Now,
		http: &http.Client{
			Timeout: requestTimeout, Transport: limited{http.DefaultTransport},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// limited is a transport that limits the size of answers.
type limited struct{ http.RoundTripper }

func (l limited) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := l.RoundTripper.RoundTrip(r)
	if err == nil {
		res.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(res.Body, maxOIDCBody), res.Body}
	}
	return res, err
}

func (c *oidcClient) discover(ctx context.Context) (*provider, error) {
	c.mu.Lock()
	found := c.found
	c.mu.Unlock()
	if found != nil {
		return found, nil
	}
	p, err := oidc.NewProvider(oidc.ClientContext(ctx, c.http), c.config.Issuer)
	if err != nil {
		return nil, unavailable(err)
	}
	found = &provider{Provider: p}
	if err := p.Claims(found); err != nil {
		return nil, unavailable(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.found = found
	return found, nil
}

// oauth returns the client of the code flow.
func (c *oidcClient) oauth(p *provider) *oauth2.Config {
	scopes := []string{oidc.ScopeOpenID, "profile"}
	if slices.Contains(p.Scopes, c.config.GroupsClaim) { // many providers name the scope like the claim
		scopes = append(scopes, c.config.GroupsClaim)
	}
	return &oauth2.Config{ClientID: c.config.ClientID, ClientSecret: string(c.config.ClientSecret), Endpoint: p.Endpoint(),
		RedirectURL: c.returnTo, Scopes: scopes}
}

// begin returns the address at the provider where a person signs in. state comes back in the answer,
// nonce in the id token; verifier stays secret. refresh asks for a refresh token that works after the person
// has left the provider, if the provider knows such tokens.
func (c *oidcClient) begin(ctx context.Context, state, nonce, verifier string, refresh bool) (string, error) {
	p, err := c.discover(ctx)
	if err != nil {
		return "", err
	}
	config := c.oauth(p)
	if refresh && slices.Contains(p.Scopes, oidc.ScopeOfflineAccess) {
		config.Scopes = append(config.Scopes, oidc.ScopeOfflineAccess)
	}
	return config.AuthCodeURL(state, oidc.Nonce(nonce), oauth2.S256ChallengeOption(verifier)), nil
}

// finish checks the answer of the provider, which the browser has brought as a query, and gets the person
// from the provider. refresh is what begin got. Errors of kind Unauthenticated say why the answer is
// refused; the provider may be Unavailable.
func (c *oidcClient) finish(
	ctx context.Context, query url.Values, nonce, verifier string, refresh bool,
) (crash.Identity, error) {
	p, err := c.discover(ctx)
	if err != nil {
		return crash.Identity{}, err
	}
	code, err := c.code(p, query)
	if err != nil {
		return crash.Identity{}, err
	}
	ctx = oidc.ClientContext(ctx, c.http)
	tokens, err := c.oauth(p).Exchange(ctx, code, oauth2.VerifierOption(verifier))
	if err != nil {
		if answered, ok := errors.AsType[*oauth2.RetrieveError](err); ok && answered.Response.StatusCode < 500 {
			return crash.Identity{}, refused("bad_code", "The provider does not accept the code of the answer (%s).",
				crash.Truncate(answered.ErrorCode, 60))
		}
		return crash.Identity{}, unavailable(errors.New("exchange of the code failed")) // the error may hold tokens
	}
	token, claims, err := c.idToken(ctx, p, tokens)
	if err != nil {
		return crash.Identity{}, err
	}
	if token == nil {
		return crash.Identity{}, refused("no_id_token", "The provider has sent no id token.")
	}
	if subtle.ConstantTimeCompare([]byte(token.Nonce), []byte(nonce)) != 1 {
		return crash.Identity{}, refused("bad_nonce", "The id token belongs to another sign-in.")
	}
	if err := c.userInfo(ctx, p, token.Subject, tokens, claims); err != nil {
		return crash.Identity{}, err
	}
	in, err := c.person(token.Subject, claims)
	in.Refresh = crash.Secret(tokens.RefreshToken)
	in.Offline = in.Refresh != "" && c.offline(p, tokens, refresh)
	return in, err
}

// offline reports whether a refresh token was issued with offline_access. A provider may leave out the scope
// of its answer if it is that of the request.
func (c *oidcClient) offline(p *provider, tokens *oauth2.Token, refresh bool) bool {
	if scope, _ := tokens.Extra("scope").(string); scope != "" {
		return slices.Contains(strings.Fields(scope), oidc.ScopeOfflineAccess)
	}
	return refresh && slices.Contains(p.Scopes, oidc.ScopeOfflineAccess)
}

// refresh gets the present groups of a person by a refresh token. The identity has the next refresh token,
// even if there is an error. Errors of kind Unauthenticated mean that the provider says nothing about the
// person any more; after others, the same may work later.
func (c *oidcClient) refresh(ctx context.Context, subject string, refresh crash.Secret) (crash.Identity, error) {
	next := crash.Identity{Refresh: refresh}
	p, err := c.discover(ctx)
	if err != nil {
		return next, err
	}
	ctx = oidc.ClientContext(ctx, c.http)
	tokens, err := c.oauth(p).TokenSource(ctx, &oauth2.Token{RefreshToken: string(refresh)}).Token()
	if err != nil {
		if answered, ok := errors.AsType[*oauth2.RetrieveError](err); ok && answered.ErrorCode == "invalid_grant" {
			return next, refused("bad_refresh_token", "The provider no longer accepts the refresh token.")
		}
		return next, unavailable(errors.New("refreshing failed")) // the error may hold tokens
	}
	next.Refresh = crash.Secret(tokens.RefreshToken)
	token, claims, err := c.idToken(ctx, p, tokens)
	if err != nil {
		return next, err
	}
	if token != nil && token.Subject != subject {
		return next, refused("foreign_id_token", "The id token is about another person.")
	}
	if err := c.userInfo(ctx, p, subject, tokens, claims); err != nil {
		return next, err
	}
	if _, stated := claims[c.config.GroupsClaim]; token == nil && !stated {
		return next, crash.Errorf(crash.Unprocessable, "no_groups", "The provider states no groups without a sign-in.")
	}
	now, err := c.person(subject, claims)
	now.Refresh = next.Refresh
	return now, err
}

// idToken returns the id token that came with other tokens, after verifying it, and its claims. It returns
// nil if there is none.
func (c *oidcClient) idToken(ctx context.Context, p *provider, tokens *oauth2.Token) (
	*oidc.IDToken, map[string]any, error,
) {
	claims := map[string]any{}
	raw, _ := tokens.Extra("id_token").(string)
	if raw == "" {
		return nil, claims, nil
	}
	token, err := p.Verifier(&oidc.Config{ClientID: c.config.ClientID, Now: c.now}).Verify(ctx, raw)
	if err != nil {
		return nil, nil, refused("bad_id_token", "The id token is not valid.").Because(err)
	}
	if token.AccessTokenHash != "" {
		if err := token.VerifyAccessToken(tokens.AccessToken); err != nil {
			return nil, nil, refused("bad_access_token", "The access token does not belong to the id token.")
		}
	}
	if err := token.Claims(&claims); err != nil {
		return nil, nil, refused("bad_id_token", "The id token is not valid.").Because(err)
	}
	if authorised, ok := claims["azp"].(string); len(token.Audience) > 1 && (!ok || authorised != c.config.ClientID) {
		return nil, nil, refused("foreign_audience", "The id token was made for another site.")
	}
	return token, claims, nil
}

// errScope means that the provider does not allow what begin asked for. Some refuse refresh tokens to sites
// that are not registered for them.
var errScope error = refused("invalid_scope", "The provider reports an error: invalid_scope")

// code returns the code in an answer, after checking that it is from this provider.
func (c *oidcClient) code(p *provider, query url.Values) (string, error) {
	for name, values := range query {
		if len(values) > 1 {
			return "", refused("doubled", "The field %s occurs %d times.", crash.Truncate(name, 60), len(values))
		}
	}
	// RFC 9207: an answer of another provider must not be taken for one of this one.
	if issuer := query.Get("iss"); issuer != c.config.Issuer && (issuer != "" || p.SendsIssuer) {
		return "", refused("foreign_issuer", "The answer comes from another provider.")
	}
	switch e := query.Get("error"); {
	case e == "invalid_scope":
		return "", errScope
	case e == "access_denied":
		return "", crash.ErrSignInCancelled
	case e != "":
		return "", refused("provider_error", "The provider reports an error: %s", crash.Truncate(e, 60))
	case query.Get("code") == "":
		return "", refused("no_code", "The answer contains no code.")
	}
	return query.Get("code"), nil
}

// userInfo adds the claims of UserInfo, which are preferred to those of the id token: most providers send
// names and groups only there.
func (*oidcClient) userInfo(ctx context.Context, p *provider, subject string, tokens *oauth2.Token,
	claims map[string]any) error {
	if p.UserInfoEndpoint() == "" {
		return nil
	}
	info, err := p.UserInfo(ctx, oauth2.StaticTokenSource(tokens))
	if err != nil {
		return unavailable(errors.New("reading UserInfo failed")) // the error may hold the answer
	}
	if info.Subject != subject {
		return refused("foreign_user_info", "The user information from the provider is about another person.")
	}
	if err := info.Claims(&claims); err != nil { // overwrites those of the id token
		return refused("bad_user_info", "The user information from the provider has an unknown form.")
	}
	return nil
}

func (c *oidcClient) person(subject string, claims map[string]any) (crash.Identity, error) {
	in := crash.Identity{Source: crash.SourceOIDC, Issuer: c.config.Issuer, Subject: subject}
	in.Session, _ = claims["sid"].(string)
	for _, name := range []string{"preferred_username", "nickname", "name"} {
		if in.Name, _ = claims[name].(string); in.Name != "" {
			break
		}
	}
	elsewhere, _ := claims["_claim_names"].(map[string]any)
	if _, ok := elsewhere[c.config.GroupsClaim]; ok || claims["hasgroups"] == true {
		return in, crash.Errorf(crash.Unprocessable, "too_many_groups",
			"You are in so many groups that %s does not send them. Ask an administrator of %s to send this site only the "+
				"groups assigned to it.", c.config.Name, c.config.Name)
	}
	bad := crash.Errorf(crash.Unprocessable, "bad_groups", "The claim %q of %s is neither a text nor a list of texts. "+
		"(Administrators: oidc_groups_claim names it.)", c.config.GroupsClaim, c.config.Name)
	switch groups := claims[c.config.GroupsClaim].(type) {
	case nil:
	case string:
		if groups != "" {
			in.Groups = []string{groups}
		}
	case []any:
		for _, one := range groups {
			group, ok := one.(string)
			if !ok {
				return in, bad
			}
			in.Groups = append(in.Groups, group)
		}
	default:
		return in, bad
	}
	return in, nil
}

// verifyLogout checks a logout token of the back channel, by which the provider says that a person has signed
// out there. who has a Subject, a Session, or both. Errors are of kind Invalid or Unavailable.
func (c *oidcClient) verifyLogout(ctx context.Context, raw string) (id string, who crash.Identity, err error) {
	bad := func(why string) *crash.Error { return crash.Errorf(crash.Invalid, "bad_logout_token", "%s", why) }
	p, err := c.discover(ctx)
	if err != nil {
		return "", who, err
	}
	if typ, err := typeOf(raw); err != nil || typ != "logout+jwt" {
		return "", who, bad("The logout token is not of the type logout+jwt.")
	}
	ctx = oidc.ClientContext(ctx, c.http)
	token, err := p.Verifier(&oidc.Config{ClientID: c.config.ClientID, Now: c.now}).VerifyLogout(ctx, raw)
	if err != nil {
		return "", who, bad("The logout token is not valid.").Because(err)
	}
	if token.TokenID == "" {
		return "", who, bad("The logout token has no id.")
	}
	return token.TokenID, crash.Identity{Source: crash.SourceOIDC, Issuer: c.config.Issuer, Subject: token.Subject,
		Session: token.SessionID}, nil
}

func refused(code, format string, args ...any) *crash.Error {
	return crash.Errorf(crash.Unauthenticated, code, "Signing in was refused. "+format, args...)
}

func unavailable(err error) error {
	return crash.Errorf(crash.Unavailable, "provider_unavailable",
		"The sign-in site does not answer. Try again shortly, or sign in in another way.").
		Because(fmt.Errorf("OpenID Connect: %w", err))
}

// typeOf returns the type in the header of a token that nobody has verified.
func typeOf(raw string) (string, error) {
	first, _, _ := strings.Cut(raw, ".")
	b, err := base64.RawURLEncoding.DecodeString(first)
	if err != nil {
		return "", err
	}
	var header struct {
		Type string `json:"typ"`
	}
	err = json.Unmarshal(b, &header)
	return header.Type, err
}
