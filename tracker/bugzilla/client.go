// Package bugzilla files and reads bugs in a Bugzilla 5, over its REST API.
//
// The rules come from the sources of Bugzilla, mostly Bugzilla/WebService/Bug.pm and Bugzilla/Bug.pm, which the
// comments name. Branches 5.0 and 5.2, which most installations run, are called stock here.
//
// Each bug gets an alias, which is unique in an installation, so that a request that is sent twice makes one bug.
// Whether an installation lets our account set aliases cannot be known without trying. Some refuse them, and the
// bug is then sent without one. Some ignore them, as forks with the parameter usebugaliases do. So [Client.FindBug]
// reads the first comments of our newest bugs, too, in which the intent's marker stands.
package bugzilla

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mishap/crash"
	"mishap/tracker"
)

// Variants of the API, for [tracker.Config]. They differ in how a request carries the API key.
const (
	// VariantParameter is a parameter of the query, which every version of Bugzilla reads. Stock ones read nothing
	// else [Bugzilla/Auth/Login/APIKey.pm]. The key may appear in the logs of the tracker's web server.
	VariantParameter = ""
	// VariantHeader is the header X-BUGZILLA-API-KEY, for 5.1, 5.3 and Mozilla's [API_AUTH_HEADERS in
	// Bugzilla/API/1_0/Constants.pm].
	VariantHeader = "header"
	// VariantRedHat is the header Authorization. Red Hat's refuses requests with other credentials
	// [get_auth_params in python-bugzilla's _session.py].
	VariantRedHat = "redhat"
)

// Client makes single calls to a Bugzilla. It is safe for concurrent use, and is a [tracker.Tracker].
//
// Config.Target is "Product/Component", or "Product/Component/Version"; a "/" in a name is written "%2F". The
// Token of an access token is the login name of the account, and its Secret the API key.
type Client struct {
	cfg     tracker.Config
	creds   *tracker.Credentials
	call    *tracker.Caller
	aliases *aliases // shared with clients for other credentials
}

// New returns a client that signs each call with the current token of creds.
func New(cfg tracker.Config, creds *tracker.Credentials) *Client {
	c := &Client{cfg: cfg.WithDefaults(), creds: creds, aliases: &aliases{free: map[string]int{}}}
	c.call = tracker.NewCaller(c.cfg, creds, tracker.Auth{Sign: c.sign, Dead: dead, Refusal: refusal})
	return c
}

// As returns a client with other credentials.
func (c *Client) As(creds *tracker.Credentials) tracker.Tracker {
	return &Client{cfg: c.cfg, creds: creds, call: c.call.As(creds), aliases: c.aliases}
}

// Credentials returns those that calls are signed with.
func (c *Client) Credentials() *tracker.Credentials { return c.creds }

func (c *Client) sign(req *http.Request, token crash.AccessToken) {
	key := string(token.Secret)
	switch c.cfg.Variant {
	case VariantRedHat:
		req.Header.Set("Authorization", "Bearer "+key)
	case VariantHeader:
		req.Header.Set("X-BUGZILLA-API-KEY", key)
	default:
		query := req.URL.Query()
		query.Set("Bugzilla_api_key", key)
		req.URL.RawQuery = query.Encode()
	}
}

// Codes of errors [Bugzilla/WebService/Constants.pm].
const (
	codeNoAlias      = "100" // neither a number nor an alias
	codeNoBug        = "101"
	codeHidden       = "102"
	codeAlias        = "103" // an invalid alias; ours are valid, so it is used
	codeNoResource   = "32614"
	codeWrongAccount = "300"
)

// deadCodes are those of an invalid password or name, a disabled account, a failed authentication, an invalid or
// revoked API key, an invalid token, and of a missing login.
var deadCodes = []string{codeWrongAccount, "301", "304", "306", "307", "410"}

// dead reports whether an answer says that the API key is invalid. Bugzilla answers 401 to missing permissions,
// too, but then with a code. An answer without one is that of a server in front of it.
func dead(a tracker.Answer) bool {
	_, code := refusal(a)
	return slices.Contains(deadCodes, code) || code == "" && a.Status == http.StatusUnauthorized
}

var htmlTag = regexp.MustCompile(`<[^>]*>`)

// refusal reads the JSON of an error. Its message has the markup of a page, with links.
func refusal(a tracker.Answer) (text, code string) {
	var e struct {
		Code    json.Number `json:"code"`
		Message string      `json:"message"`
	}
	if json.Unmarshal(a.Body, &e) != nil {
		return "", ""
	}
	return html.UnescapeString(htmlTag.ReplaceAllString(e.Message, "")), e.Code.String()
}

// codeOf returns the code of the error that the tracker answered with, or "".
func codeOf(err error) string {
	if e, ok := errors.AsType[*tracker.CallError](err); ok {
		return e.Code
	}
	return ""
}

func (c *Client) link(path string, query url.Values) string {
	address := c.cfg.APIURL + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	return address
}

func bugPath(number int64) string { return "/bug/" + strconv.FormatInt(number, 10) }

// BugURL returns the address of the page of a bug.
func (c *Client) BugURL(number int64) string {
	return c.cfg.URL + "/show_bug.cgi?id=" + strconv.FormatInt(number, 10)
}

// Me returns the login name of the account that the API key is of. Stock versions cannot tell it, but confirm that
// it is the configured one.
func (c *Client) Me(ctx context.Context) (string, error) {
	const operation = "me"
	var is struct {
		Name   string `json:"name"`
		Result bool   `json:"result"`
	}
	a, err := c.read(ctx, operation, c.link("/whoami", nil))
	if err != nil {
		return "", err
	}
	if _, code := refusal(a); code == codeNoResource && c.creds != nil {
		token, err := c.creds.Current(ctx)
		if err != nil {
			return "", err
		}
		is.Name = token.Token
		if a, err = c.read(ctx, operation, c.link("/valid_login", url.Values{"login": {token.Token}})); err != nil {
			return "", err
		}
	}
	if a.Status != http.StatusOK || a.Broken != nil {
		return "", c.call.Failed(ctx, operation, a)
	}
	configured := is.Name
	if err := json.Unmarshal(a.Body, &is); err != nil {
		return "", c.call.Malformed(ctx, operation, a, "the answer is not the JSON that was expected")
	}
	if configured != "" && !is.Result {
		body, err := json.Marshal(map[string]any{
			"code": json.Number(codeWrongAccount), "message": "the API key is not that of the account " + configured,
		})
		if err != nil {
			return "", err
		}
		return "", c.call.Failed(ctx, operation, tracker.Answer{Status: http.StatusUnauthorized, Body: body})
	}
	if is.Name == "" || tracker.Clean(is.Name, maxName) != is.Name {
		return "", c.call.Malformed(ctx, operation, a, "the answer names no account")
	}
	c.call.Done(ctx, operation, is.Name)
	return is.Name, nil
}

func (c *Client) read(ctx context.Context, operation, address string) (tracker.Answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return tracker.Answer{}, fmt.Errorf("%s: %w", operation, err)
	}
	return c.call.Read(operation, req)
}

// target is where a bug is filed.
type target struct{ product, component, version string }

// readTarget returns the target of an intent, or the configured one if the intent's has another form.
func (c *Client) readTarget(in crash.Intent) (target, bool) {
	if t, ok := parseTarget(in.Target); ok {
		return t, true
	}
	return parseTarget(c.cfg.Target)
}

func parseTarget(s string) (target, bool) {
	names := strings.Split(s, "/")
	if len(names) < 2 || len(names) > 3 {
		return target{}, false
	}
	for i := range names {
		name, err := url.PathUnescape(names[i])
		if err != nil || name == "" {
			return target{}, false
		}
		names[i] = name
	}
	names = append(names, "")
	return target{names[0], names[1], names[2]}, true
}

// String returns the target in the form of the configuration, without the version.
func (t target) String() string { return tracker.Escape(t.product) + "/" + tracker.Escape(t.component) }

// unspecified is the version that Bugzilla gives to new products.
const unspecified = "unspecified"

// version returns the version of a product to file a bug with, which Bugzilla requires, but a problem has none in
// the tracker's sense. It is that of the target, or else "unspecified" if the product has it, or else its only
// version. Otherwise nobody but a person can choose.
func (c *Client) version(ctx context.Context, t target) (string, error) {
	if t.version != "" {
		return t.version, nil
	}
	query := url.Values{"names": {t.product}, "include_fields": {"versions.name,versions.is_active"}}
	var answer struct {
		Products []struct {
			Versions []struct {
				Name   string `json:"name"`
				Active *bool  `json:"is_active"`
			} `json:"versions"`
		} `json:"products"`
	}
	err := c.call.Get(ctx, "product", c.link("/product", query), &answer)
	if err != nil {
		return "", err
	}
	if len(answer.Products) == 0 {
		return unspecified, nil // the tracker will say why it has no such product for us
	}
	var names []string
	for _, v := range answer.Products[0].Versions {
		if v.Active == nil || *v.Active {
			names = append(names, v.Name)
		}
	}
	switch {
	case slices.Contains(names, unspecified):
		return unspecified, nil
	case len(names) == 1:
		return names[0], nil
	}
	return "", refused("The product " + tracker.Clean(t.product, maxName) + " has no version “" + unspecified +
		"”. The target must name one of its versions, as in Product/Component/Version.")
}

// Probe reads the product, its components and versions, and whether the installation has aliases, which all have from
// version 5.0 on.
func (c *Client) Probe(ctx context.Context) ([]tracker.Concern, error) {
	const operation = "probe"
	var installation struct {
		Parameters map[string]any `json:"parameters"`
	}
	var found []tracker.Concern
	err := c.call.Get(ctx, operation, c.link("/parameters", nil), &installation)
	if on, known := installation.Parameters["usebugaliases"]; err == nil && known && fmt.Sprint(on) == "0" {
		found = append(found, tracker.Concern{Minor: true,
			Text: "it has no aliases, so mishap searches the first comments of its bugs after an unknown outcome"})
	}
	if c.cfg.Target == "" {
		return found, nil
	}
	to, ok := parseTarget(c.cfg.Target)
	if !ok {
		return append(found, tracker.Concern{Text: "the target is not of the form Product/Component", Key: "target"}), nil
	}
	var answer struct {
		Products []struct {
			Components []struct {
				Name string `json:"name"`
			} `json:"components"`
		} `json:"products"`
	}
	err = c.call.Get(ctx, operation, c.link("/product", url.Values{"names": {to.product}}), &answer)
	if err != nil {
		return found, err
	}
	what := "product “" + to.product + "”"
	for _, p := range answer.Products {
		for _, component := range p.Components {
			if component.Name == to.component {
				_, err := c.version(ctx, to)
				if e, ok := errors.AsType[*tracker.CallError](err); ok && e.Outcome == tracker.OutcomeRefused {
					return append(found, tracker.Concern{Text: strings.TrimSuffix(e.Text, "."), Key: "target"}), nil
				}
				return found, err
			}
		}
		what = "component “" + to.component + "” in the product “" + to.product + "”"
	}
	return append(found, tracker.Concern{Text: "there is no " + what + ", or not for this account", Key: "target"}), nil
}

// refused returns the error of a bug that is not sent.
func refused(why string) *tracker.CallError {
	return &tracker.CallError{Operation: create, Outcome: tracker.OutcomeRefused, Text: why}
}

const create = "create"

// Create sends one bug, once, and returns its number. It does not send the tags, since keywords are a list of the
// installation's administrators, and an unknown one is refused.
//
// If the alias is used, Bugzilla refuses, and the outcome is unknown: the bug that has it may be that of an earlier
// request, as FindBug finds out. If FindBug rejects it, because a person has unlinked it, the next alias of the
// intent is used. An instance that has not searched itself tries the first alias again, and searches then.
func (c *Client) Create(ctx context.Context, in crash.Intent, sendBy time.Duration) (int64, error) {
	end := time.Now().Add(sendBy)
	body, err := c.newBug(ctx, in, sendBy)
	if err != nil {
		return 0, err
	}
	number, err := c.send(ctx, body, time.Until(end))
	e, ok := errors.AsType[*tracker.CallError](err)
	if body["alias"] == nil || !ok || e.Outcome != tracker.OutcomeRefused {
		return number, err
	}
	switch {
	case e.Code == codeAlias:
		e.Outcome = tracker.OutcomeUnknown
	case strings.Contains(strings.ToLower(e.Text), "alias"): // certainly nothing was filed
		c.aliases.refused.Store(true)
		delete(body, "alias")
		return c.send(ctx, body, time.Until(end))
	}
	return 0, err
}

// newBug returns the fields of a bug. After any error, nothing was sent.
func (c *Client) newBug(ctx context.Context, in crash.Intent, sendBy time.Duration) (map[string]any, error) {
	to, ok := c.readTarget(in)
	if !ok {
		return nil, refused("The target is not a product and a component, as in Product/Component.")
	}
	if in.InformationType.Private() && c.cfg.Group == "" {
		return nil, refused("The bug would be public, since no group of the tracker for private bugs is configured.")
	}
	reading, cancel := context.WithTimeout(ctx, sendBy)
	defer cancel()
	version, err := c.version(reading, to)
	if e, ok := errors.AsType[*tracker.CallError](err); ok && e.Outcome == tracker.OutcomeUnknown {
		e.Outcome = tracker.OutcomeNotSent
	}
	if err != nil {
		return nil, err
	}
	body := map[string]any{
		"product": to.product, "component": to.component, "version": version,
		"summary": in.Title, "description": in.Description,
		"op_sys": "All", "platform": "All", // some installations have no defaults [docs/en/rst/api/core/v1/bug.rst]
	}
	switch in.InformationType { // without groups, those apply that the product has by default
	case crash.InformationPublic:
		body["groups"] = []string{}
	case crash.InformationPrivate:
		body["groups"] = []string{c.cfg.Group}
	case crash.InformationDefault:
	}
	if alias := c.aliases.next(in.Marker); alias != "" {
		body["alias"] = alias
	}
	return body, nil
}

func (c *Client) send(ctx context.Context, body map[string]any, sendBy time.Duration) (int64, error) {
	var bug struct {
		ID int64 `json:"id"`
	}
	// Stock versions answer 200, although their route says 201 [Server/REST/Resources/Bug.pm].
	if err := c.call.Post(ctx, create, c.link("/bug", nil), body, &bug, 0, sendBy); err != nil {
		return 0, err
	}
	if bug.ID <= 0 {
		return 0, c.call.Unusable(ctx, create, "the answer does not say which bug was filed")
	}
	return bug.ID, nil
}

// aliases says which aliases can be used.
type aliases struct {
	refused atomic.Bool // the tracker refused one

	mu   sync.Mutex
	free map[string]int // by marker: the first alias that no bug had at the last search, from 1
}

// maxAliases is how many bugs of one problem can have an alias: more are filed only if people unlink them.
const maxAliases = 5

// aliasOf returns an alias for the bug with a marker: 37 or 39 characters of at most 40, not a number, without
// blanks and commas [Bugzilla/Bug.pm, _check_alias]. The marker differs between installations of mishap, which may
// file the same problem in one tracker.
func aliasOf(marker string, n int) string {
	sum := sha256.Sum256([]byte(marker))
	alias := "mishap-" + hex.EncodeToString(sum[:])[:30]
	if n > 1 {
		alias += "-" + strconv.Itoa(n)
	}
	return alias
}

// next returns the alias for a new bug, or "" if it can have none.
func (a *aliases) next(marker string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := max(a.free[marker], 1)
	if n > maxAliases || a.refused.Load() {
		return ""
	}
	return aliasOf(marker, n)
}

// learn records the first free alias.
func (a *aliases) learn(marker string, n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n == 1 {
		delete(a.free, marker)
	} else {
		a.free[marker] = n
	}
}
