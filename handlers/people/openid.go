package people

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"mishap/crash"
	"mishap/handlers/web"
)

// Namespaces of the protocol and its extensions.
const (
	nsOpenID       = "http://specs.openid.net/auth/2.0"
	nsRegistration = "http://openid.net/extensions/sreg/1.1"
	nsTeams        = "http://ns.launchpad.net/2007/openid-teams"
	anyIdentifier  = nsOpenID + "/identifier_select"
)

const (
	maxFields     = 200              // of an answer
	maxOpenIDBody = 64 << 10         // bytes of the provider's answer to a check
	maxNonce      = 255              // bytes, from section 10.1
	maxClockSkew  = 5 * time.Minute  // between the provider and this machine
	checkTimeout  = 15 * time.Second // of a check at the provider
)

// openIDClient lets people sign in with OpenID 2.0 at one fixed provider, Ubuntu SSO or Launchpad, with
// their teams there. It needs no discovery and no associations: the provider itself checks each
// signature (section 11.4.2 of OpenID Authentication 2.0). It is safe for concurrent use.
type openIDClient struct {
	url      string // of the provider, such as https://login.ubuntu.com, without a slash at the end
	endpoint string // of the provider
	realm    string // address of this site, with a slash at the end
	site     string // address of this site to which the provider sends people
	now      func() time.Time
	http     *http.Client

	// useNonce records a nonce of an endpoint, and returns false if any instance has seen it before.
	useNonce func(ctx context.Context, endpoint, nonce string) (bool, error)
}

func newOpenIDClient(kit *web.Kit, useNonce func(ctx context.Context, endpoint, nonce string) (bool, error),
) *openIDClient {
	base, address := kit.Base.String(), kit.Config.OpenID.URL
	return &openIDClient{
		url: address, endpoint: address + "/+openid", realm: base + "/", site: base + web.PathOpenID + web.PathSignInReturn,
		now: kit.Now, useNonce: useNonce,
		http: &http.Client{
			Timeout:       checkTimeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// begin returns the address at the provider where a person signs in. state comes back in the answer.
// teams are the only teams about which the provider is asked.
func (c *openIDClient) begin(state string, teams []string) string {
	q := url.Values{
		"openid.ns":            {nsOpenID},
		"openid.mode":          {"checkid_setup"},
		"openid.claimed_id":    {anyIdentifier},
		"openid.identity":      {anyIdentifier},
		"openid.return_to":     {c.returnTo(state)},
		"openid.realm":         {c.realm},
		"openid.ns.sreg":       {nsRegistration},
		"openid.sreg.optional": {"nickname"},
	}
	if len(teams) > 0 {
		q.Set("openid.ns.lp", nsTeams)
		q.Set("openid.lp.query_membership", strings.Join(teams, ","))
	}
	return c.endpoint + "?" + q.Encode()
}

func (c *openIDClient) returnTo(state string) string {
	return c.site + "?state=" + url.QueryEscape(state)
}

// finish checks the answer of the provider, which the browser has brought as the query of returnTo. It
// returns the person with those of teams that the provider confirms. Errors of kind Unauthenticated say
// why the answer is refused; the provider may be Unavailable.
func (c *openIDClient) finish(
	ctx context.Context, query url.Values, state string, teams []string,
) (crash.Identity, error) {
	answer, err := parseOpenID(query)
	if err != nil {
		return crash.Identity{}, err
	}
	switch answer["mode"] {
	case "id_res":
	case "cancel":
		return crash.Identity{}, crash.ErrSignInCancelled
	case "error":
		return crash.Identity{}, refused("provider_error", "The provider reports an error: %s",
			crash.Truncate(printable(answer["error"]), 200))
	default:
		return crash.Identity{}, refused("bad_mode", "The answer is neither a confirmation nor a refusal.")
	}
	if err := c.check(answer, state); err != nil {
		return crash.Identity{}, err
	}
	person, err := c.person(answer, teams)
	if err != nil {
		return crash.Identity{}, err
	}
	if err := c.verify(ctx, answer); err != nil {
		return crash.Identity{}, err
	}
	// Only now, so that nobody can use up the nonce of another person's answer.
	fresh, err := c.useNonce(ctx, c.endpoint, answer["response_nonce"])
	if err != nil {
		return crash.Identity{}, err
	}
	if !fresh {
		return crash.Identity{}, refused("replayed", "This answer has been used before.")
	}
	return person, nil
}

// answer holds the openid.* fields of an answer, without the prefix.
type answer map[string]string

// parseOpenID returns the openid.* fields of a query. It refuses a field that occurs twice: the provider and
// this program could read different ones, so that a signature says nothing about the other.
func parseOpenID(query url.Values) (answer, error) {
	a := answer{}
	for name, values := range query {
		field, ours := strings.CutPrefix(name, "openid.")
		if !ours {
			continue
		}
		if len(values) != 1 {
			return nil, refused("doubled", "The field openid.%s occurs %d times.", crash.Truncate(printable(field), 60),
				len(values))
		}
		if a[field] = values[0]; len(a) > maxFields {
			return nil, refused("too_many_fields", "The answer has more than %d fields.", maxFields)
		}
	}
	return a, nil
}

// signed reports whether the provider claims to have signed a field.
func (a answer) signed(field string) bool {
	return slices.Contains(strings.Split(a["signed"], ","), field)
}

// check checks everything about a positive answer that needs no request.
func (c *openIDClient) check(a answer, state string) error {
	if a["ns"] != nsOpenID {
		return refused("bad_version", "The answer is not a valid OpenID 2.0 response.")
	}
	for _, field := range []string{"op_endpoint", "claimed_id", "identity", "return_to", "response_nonce",
		"assoc_handle"} {
		if a[field] == "" || !a.signed(field) {
			return refused("unsigned", "The provider has not signed the field openid.%s.", field)
		}
	}
	switch id := a["claimed_id"]; {
	case a["op_endpoint"] != c.endpoint:
		return refused("foreign_endpoint", "The answer comes from another provider.")
	case a["return_to"] != c.returnTo(state):
		return refused("foreign_return", "The answer is meant for another sign-in.")
	case id != a["identity"] || !strings.HasPrefix(id, c.url+"/+id/") || !isSuffix(id[len(c.url+"/+id/"):]):
		return refused("foreign_identity", "The answer is about a person of another provider.")
	}
	return c.checkNonce(a["response_nonce"])
}

// isSuffix reports whether s can be the last part of an identifier of the provider.
func isSuffix(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '-' && r != '_'
	})
}

func (c *openIDClient) checkNonce(nonce string) error {
	const layout = "2006-01-02T15:04:05Z"
	if len(nonce) < len(layout) || len(nonce) > maxNonce {
		return refused("bad_nonce", "The nonce of the answer is malformed.")
	}
	at, err := time.Parse(layout, nonce[:len(layout)])
	if err != nil {
		return refused("bad_nonce", "The nonce of the answer is malformed.")
	}
	if d := c.now().Sub(at); d > maxClockSkew || d < -maxClockSkew {
		return refused("old_answer", "The answer was made at %s, more than %.0f minutes from now. Sign in again. "+
			"(Administrators: check the clock of this machine.)", at.UTC().Format(time.DateTime+" UTC"), maxClockSkew.Minutes())
	}
	return nil
}

func (c *openIDClient) person(a answer, teams []string) (crash.Identity, error) {
	p := crash.Identity{Source: crash.SourceLaunchpad, Issuer: c.url, Subject: a["claimed_id"]}
	var err error
	if p.Name, err = a.extension(nsRegistration, "nickname"); err != nil {
		return p, err
	}
	members, err := a.extension(nsTeams, "is_member")
	if err != nil {
		return p, err
	}
	for team := range strings.SplitSeq(members, ",") { // an empty list is an empty text
		if slices.Contains(teams, team) && !slices.Contains(p.Groups, team) {
			p.Groups = append(p.Groups, team)
		}
	}
	return p, nil
}

// extension returns a field of an extension, or an empty text if the answer lacks it. It refuses an
// extension under two names, and one whose name or field is not signed.
func (a answer) extension(namespace, field string) (string, error) {
	var aliases []string
	for name, value := range a {
		if alias, ok := strings.CutPrefix(name, "ns."); ok && value == namespace {
			aliases = append(aliases, alias)
		}
	}
	if len(aliases) == 0 {
		return "", nil
	}
	if len(aliases) > 1 {
		return "", refused("doubled_extension", "The answer contains %s twice.", namespace)
	}
	alias := aliases[0]
	value, ok := a[alias+"."+field]
	if !ok {
		return "", nil
	}
	if !a.signed("ns."+alias) || !a.signed(alias+"."+field) {
		return "", refused("unsigned", "The provider has not signed the field openid.%s.%s.",
			crash.Truncate(printable(alias), 60), field)
	}
	return value, nil
}

// verify asks the provider whether it has made the signature.
func (c *openIDClient) verify(ctx context.Context, a answer) error {
	form := url.Values{}
	for field, value := range a {
		form.Set("openid."+field, value)
	}
	form.Set("openid.mode", "check_authentication")
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return fmt.Errorf("check sign-in: %w", err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := c.http.Do(req)
	if err != nil {
		return notVerified(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxOpenIDBody+1))
	if err != nil {
		return notVerified(err)
	}
	if res.StatusCode != http.StatusOK || len(body) > maxOpenIDBody {
		return notVerified(fmt.Errorf("status %d, %d bytes", res.StatusCode, len(body)))
	}
	lines := map[string]string{}
	for line := range strings.Lines(string(body)) {
		name, value, _ := strings.Cut(strings.TrimRight(line, "\n"), ":")
		if _, twice := lines[name]; twice {
			return notVerified(errors.New("a line occurs twice"))
		}
		lines[name] = value
	}
	if lines["ns"] != nsOpenID || lines["is_valid"] != "true" {
		return refused("bad_signature", "The provider says that it has not made this answer.")
	}
	return nil
}

func notVerified(err error) error {
	return crash.Errorf(crash.Unavailable, "provider_unavailable",
		"The sign-in site does not answer, so your sign-in could not be checked. Try again shortly.").
		Because(fmt.Errorf("check sign-in: %w", err))
}

// printable returns s without characters that do not print.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
}
