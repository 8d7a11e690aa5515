package tracker

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"mishap/crash"
	"mishap/crash/privacy"
	"mishap/crash/span"
)

// RequestToken is a token that a person authorises on the tracker's page. It is exchanged for an
// access token afterwards.
type RequestToken struct {
	Key    string
	Secret crash.Secret
	Made   time.Time // it is valid for requestTokenLife from then
}

// requestTokenLife is how long Launchpad accepts a request token. If nobody has decided, it answers
// "not yet" even later.
const requestTokenLife = 2 * time.Hour

// RequestToken obtains a request token, the first step of connecting. It returns Unavailable
// (tracker_unreachable, tracker_failed) or Refused (oauth_bad_consumer, oauth_bad_method,
// tracker_forbidden, tracker_wrong_address, tracker_malformed).
func (c *Client) RequestToken(ctx context.Context) (RequestToken, error) {
	const operation = "request-token"
	form := url.Values{
		"oauth_consumer_key":     {c.cfg.ConsumerKey},
		"oauth_signature_method": {"PLAINTEXT"}, "oauth_signature": {"&"},
	}
	a, err := c.tokenCall(ctx, operation, "/+request-token", form)
	if err != nil {
		return RequestToken{}, err
	}
	switch a.status {
	case http.StatusOK:
	case http.StatusUnauthorized:
		return RequestToken{}, errBadConsumer(c.cfg.ConsumerKey)
	case http.StatusBadRequest:
		return RequestToken{}, errBadMethod
	default:
		return RequestToken{}, c.tokenFailure(operation, a)
	}
	values, err := tokenValues(a)
	if err != nil {
		return RequestToken{}, err
	}
	c.metrics.called(operation, OutcomeDone)
	return RequestToken{
		Key: values.Get("oauth_token"), Secret: crash.Secret(values.Get("oauth_token_secret")), Made: c.cfg.Now(),
	}, nil
}

// AuthorizeURL returns the address of the page on which a person authorises a request token.
func (c *Client) AuthorizeURL(key string) string {
	return c.cfg.URL + "/+authorize-token?oauth_token=" + url.QueryEscape(key)
}

// AccessToken exchanges a request token, the last step of connecting. Its errors are those of
// RequestToken, Conflict (oauth_not_authorised, oauth_expired, oauth_unknown_token) and Refused
// (oauth_refused, oauth_bad_signature). After oauth_not_authorised the exchange may be tried again.
// StartOver reports which errors need a new request token.
func (c *Client) AccessToken(ctx context.Context, rt RequestToken) (crash.AccessToken, error) {
	const operation = "access-token"
	form := url.Values{
		"oauth_consumer_key": {c.cfg.ConsumerKey}, "oauth_token": {rt.Key},
		"oauth_signature_method": {"PLAINTEXT"}, "oauth_signature": {"&" + string(rt.Secret)},
	}
	a, err := c.tokenCall(ctx, operation, "/+access-token", form, rt.Secret)
	if err != nil {
		return crash.AccessToken{}, err
	}
	if a.status != http.StatusOK {
		return crash.AccessToken{}, c.exchangeFailure(operation, a, rt)
	}
	values, err := tokenValues(a)
	if err != nil {
		return crash.AccessToken{}, err
	}
	token := crash.AccessToken{
		Token: values.Get("oauth_token"), Secret: crash.Secret(values.Get("oauth_token_secret")),
	}
	for name := range values {
		if strings.HasSuffix(name, ".context") {
			token.Context = Clean(values.Get(name), 200)
		}
	}
	c.metrics.called(operation, OutcomeDone)
	return token, nil
}

func (c *Client) tokenCall(
	ctx context.Context, operation, path string, form url.Values, secrets ...crash.Secret,
) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.cfg.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		return answer{}, errWrongAddress.Because(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	started := c.cfg.Now()
	a, err := c.exchange(newWriter(maxSending), operation, req, maxSending)
	c.metrics.took(operation, c.cfg.Now().Sub(started))
	if err == nil && a.broken != nil {
		err = malformed(operation, a, "the answer ended too early")
	}
	if err != nil {
		e := callError(operation, err)
		e.Text = scrub(e.Text, secrets...)
		c.metrics.called(operation, e.Outcome)
		return a, sentence(e)
	}
	return a, nil
}

func (c *Client) exchangeFailure(operation string, a answer, rt RequestToken) error {
	text := strings.TrimSpace(string(a.body))
	var err *crash.Error
	switch a.status {
	case http.StatusUnauthorized:
		switch text {
		case "":
			err = errBadConsumer(c.cfg.ConsumerKey)
		case "No request token specified.":
			err = errUnknownToken
		case "Invalid OAuth signature.":
			err = errBadSignature
		case "Request token has not yet been reviewed. Try again later.":
			err = errNotAuthorised
			if !rt.Made.IsZero() && c.cfg.Now().Sub(rt.Made) > requestTokenLife {
				err = errExpired
			}
		}
	case http.StatusBadRequest:
		err = errBadMethod
	case http.StatusForbidden:
		switch {
		case strings.HasPrefix(text, "End-user refused"):
			err = errDeclined
		case strings.HasPrefix(text, "This request token has expired"):
			err = errExpired
		}
	}
	if err == nil {
		return c.tokenFailure(operation, a, rt.Secret)
	}
	c.metrics.called(operation, OutcomeRefused)
	return err.Because(failure(operation, a, rt.Secret))
}

// tokenFailure returns the error for an answer that no token endpoint of a tracker gives.
func (c *Client) tokenFailure(operation string, a answer, secrets ...crash.Secret) error {
	e := failure(operation, a, secrets...)
	c.metrics.called(operation, e.Outcome)
	switch {
	case a.status == http.StatusForbidden:
		return crash.Errorf(crash.Refused, "tracker_forbidden",
			"The tracker's front end rejected the request (%s); "+
				"check tracker_url, or ask its administrators.", e.Text).Because(e)
	case a.status == http.StatusNotFound, a.status == http.StatusMethodNotAllowed, a.status >= 300 && a.status < 400:
		return errWrongAddress.Because(e)
	}
	return sentence(e)
}

// tokenValues parses the form-encoded answer of a token endpoint, whatever its media type.
func tokenValues(a answer) (url.Values, error) {
	values, err := url.ParseQuery(strings.TrimSpace(string(a.body)))
	if err != nil {
		// The parser's message may hold the secret.
		return nil, errMalformed.Because(errors.New("the answer is not form-encoded"))
	}
	for _, name := range []string{"oauth_token", "oauth_token_secret"} {
		if v := values.Get(name); v == "" || len(v) > 500 || Clean(v, 500) != v {
			return nil, errMalformed.Because(errors.New("no usable " + name))
		}
	}
	return values, nil
}

// StartOver reports whether an error of AccessToken requires a new request token.
func StartOver(err error) bool {
	e, ok := errors.AsType[*crash.Error](err)
	if !ok {
		return false
	}
	switch e.Code {
	case "oauth_refused", "oauth_expired", "oauth_unknown_token", "oauth_bad_signature", "tracker_malformed":
		return true
	}
	return false
}

var (
	errNotAuthorised = crash.Errorf(crash.Conflict, "oauth_not_authorised",
		"mishap has not been authorised on the tracker's page yet. Do that first, then press again.")
	errDeclined = crash.Errorf(crash.Refused, "oauth_refused",
		"Access was declined on the tracker's page (No Access). "+
			"To connect, start over and choose a level that may change data.")
	errExpired = crash.Errorf(crash.Conflict, "oauth_expired",
		"The request was not finished within two hours and has expired; start over.")
	errUnknownToken = crash.Errorf(crash.Conflict, "oauth_unknown_token",
		"The tracker no longer knows this request: it has already been used, "+
			"or the answer was lost. Start over.")
	errBadSignature = crash.Errorf(crash.Refused, "oauth_bad_signature",
		"The tracker rejected the secret of the request. Start over.")
	errBadMethod = crash.Errorf(crash.Refused, "oauth_bad_method",
		"The tracker does not accept the signature method PLAINTEXT at this address. Check tracker_url.")
	errWrongAddress = crash.Errorf(crash.Refused, "tracker_wrong_address",
		"There is no tracker to connect to at tracker_url; "+
			"check the address, and that it begins with https:// if the tracker redirects there.")
	errMalformed = crash.Errorf(crash.Refused, "tracker_malformed",
		"The tracker's answer contains no token. Check tracker_url, then start over.")
)

func errBadConsumer(key string) *crash.Error {
	return crash.Errorf(crash.Refused, "oauth_bad_consumer",
		"The tracker rejects the consumer key %q. Check tracker_consumer_key.", key)
}

// healthInterval is how often an unchanged health is saved.
const healthInterval = time.Minute

const saveTimeout = 5 * time.Second

// Credentials returns the access token to use: that of the configuration if there is one, else that
// in the database, which all instances share. It is safe for concurrent use.
type Credentials struct {
	cfg   Config
	store CredentialStore
	log   *slog.Logger

	mu         sync.Mutex
	configured crash.AccessToken // token in this instance's configuration, or zero
	offered    bool              // configured has been saved for the other instances
	current    crash.AccessToken // the last result of Current
	health     crash.TokenHealth // health of current, as last saved or read
	known      bool              // health has been read
	saved      time.Time         // when health was last saved
}

// CredentialStore stores access tokens for all instances, as package db/bugs describes.
type CredentialStore interface {
	SavedToken(ctx context.Context, key crash.TrackerKey) (crash.SavedToken, error)
	SaveToken(ctx context.Context, key crash.TrackerKey, token crash.AccessToken, person string) error
	SaveConfiguredToken(ctx context.Context, key crash.TrackerKey, token crash.AccessToken) error
	ForgetToken(ctx context.Context, key crash.TrackerKey, person string) error
	TokenHealth(ctx context.Context, key crash.TrackerKey, token string) (crash.TokenHealth, error)
	TrackerAccounts(ctx context.Context, key crash.TrackerKey) ([]string, error)
	SaveTokenHealth(ctx context.Context, key crash.TrackerKey, token string, h crash.TokenHealth) error
}

// NewCredentials returns the credentials of cfg's tracker and consumer.
func NewCredentials(cfg Config, store CredentialStore) *Credentials {
	cfg = cfg.WithDefaults()
	return &Credentials{cfg: cfg, store: store, log: cfg.Log, configured: cfg.Token}
}

// Current returns the access token to sign with, or Unavailable with the code tracker_credentials
// if there is none.
func (c *Credentials) Current(ctx context.Context) (crash.AccessToken, error) {
	c.mu.Lock()
	token, offer := c.configured, !c.configured.IsZero() && !c.offered
	c.offered = c.offered || offer
	c.mu.Unlock()
	if offer {
		if err := c.store.SaveConfiguredToken(ctx, c.cfg.Key(), token); err != nil {
			c.log.WarnContext(ctx, "cannot save the configured access token for other instances", "error", err)
		}
	}
	if token.IsZero() {
		saved, err := c.store.SavedToken(ctx, c.cfg.Key())
		if err != nil {
			return crash.AccessToken{}, err
		}
		if token = saved.AccessToken; token.IsZero() {
			return token, errCredentials("mishap is not connected to the tracker.")
		}
	}
	c.use(token)
	return token, nil
}

// errCredentials returns an error that names the page on which an admin can fix it.
func errCredentials(what string) *crash.Error {
	e := crash.Errorf(crash.Unavailable, "tracker_credentials",
		"%s An admin can connect it at /admin/tracker. Nothing is lost: the bug will be filed then.", what)
	e.RetryAfter = defaultRetryAfter
	return e
}

const defaultRetryAfter = 30 * time.Second

// use makes token the current one, and discards the health of another one.
func (c *Credentials) use(token crash.AccessToken) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current.Token != token.Token {
		c.health, c.known, c.saved = crash.TokenHealth{}, false, time.Time{}
	}
	c.current = token
}

// SaveToken saves a new access token. From now on this instance uses it, and so do all instances
// without a configured token.
func (c *Credentials) SaveToken(ctx context.Context, token crash.AccessToken, person string) error {
	if err := c.store.SaveToken(ctx, c.cfg.Key(), token, person); err != nil {
		return err
	}
	c.mu.Lock()
	if !c.configured.IsZero() {
		c.configured = token
	}
	c.mu.Unlock()
	c.use(token)
	return nil
}

// DeleteToken deletes the saved token. A token in a configuration file stays in use until it is
// removed from the file.
func (c *Credentials) DeleteToken(ctx context.Context, person string) error {
	return c.store.ForgetToken(ctx, c.cfg.Key(), person)
}

// Configured returns which credentials these are, and the public part of the access token in this
// instance's configuration, if any.
func (c *Credentials) Configured() (key crash.TrackerKey, token string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cfg.Key(), c.configured.Token
}

// Status returns the state of this instance's connection to the tracker, without secrets.
func (c *Credentials) Status(ctx context.Context) (crash.Connection, error) {
	saved, err := c.store.SavedToken(ctx, c.cfg.Key())
	if err != nil {
		return crash.Connection{}, err
	}
	c.mu.Lock()
	token := c.configured
	c.mu.Unlock()
	out := crash.Connection{Source: crash.FromConfiguration, Token: token.Token, Context: token.Context}
	switch {
	case token.IsZero() && saved.IsZero():
		return crash.Connection{}, nil
	case token.IsZero():
		out = crash.Connection{Source: crash.FromDatabase, Token: saved.Token, Context: saved.Context}
	}
	if out.Token == saved.Token {
		out.Context, out.Person, out.Since = saved.Context, saved.Person, saved.Connected
	}
	out.TokenHealth, err = c.store.TokenHealth(ctx, c.cfg.Key(), out.Token)
	return out, err
}

// dead reports whether the tracker has refused the current token, to any instance.
func (c *Credentials) dead(ctx context.Context) bool {
	h, ok := c.readHealth(ctx)
	return ok && h.Dead
}

func (c *Credentials) readHealth(ctx context.Context) (crash.TokenHealth, bool) {
	c.mu.Lock()
	token := c.current.Token
	c.mu.Unlock()
	h, err := c.store.TokenHealth(ctx, c.cfg.Key(), token)
	if err != nil {
		return h, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current.Token == token {
		c.health, c.known = h, true
	}
	return h, true
}

// accounts returns the names of the accounts that we act for or have acted for, the present one
// first.
func (c *Credentials) accounts(ctx context.Context, present string) ([]string, error) {
	before, err := c.store.TrackerAccounts(ctx, c.cfg.Key())
	if err != nil {
		return nil, err
	}
	accounts := []string{present}
	for _, account := range before {
		if account != "" && !slices.Contains(accounts, account) {
			accounts = append(accounts, account)
		}
	}
	return accounts, nil
}

func (c *Credentials) secrets() []crash.Secret {
	c.mu.Lock()
	defer c.mu.Unlock()
	return []crash.Secret{c.current.Secret, c.configured.Secret}
}

// worked records a successful call; account is that of the token, or empty if the call did not tell.
func (c *Credentials) worked(ctx context.Context, account string) {
	c.save(ctx, func(h *crash.TokenHealth) {
		h.LastSuccess, h.Dead = c.cfg.Now(), false
		h.Account = cmp.Or(account, h.Account)
	})
}

// failed records a failed call. It ignores a refusal, which is about the request, not the
// connection.
func (c *Credentials) failed(ctx context.Context, e *CallError) {
	if e.Outcome == OutcomeRefused {
		return
	}
	c.save(ctx, func(h *crash.TokenHealth) {
		h.LastError, h.LastErrorAt = e.Error(), c.cfg.Now()
		h.Dead = h.Dead || e.Outcome == OutcomeCredentials
	})
}

// save changes the health. It stores it if more than times has changed, or after healthInterval.
func (c *Credentials) save(ctx context.Context, change func(*crash.TokenHealth)) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTimeout)
	defer cancel()
	c.mu.Lock()
	token, known := c.current.Token, c.known
	c.mu.Unlock()
	if token == "" {
		return
	}
	if !known {
		c.readHealth(ctx)
	}
	c.mu.Lock()
	before := c.health
	change(&c.health)
	after := c.health
	due := before.Account != after.Account || before.Dead != after.Dead || before.LastError != after.LastError ||
		before.LastSuccess.IsZero() != after.LastSuccess.IsZero() || c.cfg.Now().Sub(c.saved) >= healthInterval
	due = due && c.current.Token == token
	if due {
		c.saved = c.cfg.Now()
	}
	c.mu.Unlock()
	if !due {
		return
	}
	if err := c.store.SaveTokenHealth(ctx, c.cfg.Key(), token, after); err != nil {
		c.log.WarnContext(ctx, "cannot save the state of the connection to the tracker", "error", err)
	}
}

// Config says which tracker to use, and with which time-outs.
type Config struct {
	URL         string            // OAuth endpoints and pages for people, "https://launchpad.net"
	APIURL      string            // REST API root with its version, "https://api.launchpad.net/devel"
	ConsumerKey string            // name of the application for the tracker; may hold blanks
	Target      string            // distribution that bugs are filed under, "ubuntu"
	BaseURL     string            // address of mishap, for links in bugs
	Version     string            // of mishap, for the User-Agent
	Token       crash.AccessToken // configured for this instance; zero: none

	Timeout time.Duration // for one answer; 0: 75 s, since Launchpad may work for 65 s
	Settle  time.Duration // pause between an unknown outcome and the search for it; 0: 75 s
	Backoff time.Duration // first pause after a filing could not be sent, doubled each time; 0: 5 s
	Pause   time.Duration // shortest pause between two bugs of the queue; 0: 250 ms

	// Transport wraps the transport of every request, unless it is nil. With it, tests cancel
	// requests that the practice tracker never answers, so that Timeout can be long.
	Transport func(http.RoundTripper) http.RoundTripper

	Tracer *span.Tracer // records steps of filings; nil: none

	Privacy *privacy.Table // which fields bugs may quote; nil: the built-in table

	Log        *slog.Logger
	Now        func() time.Time
	Registerer prometheus.Registerer // nil: no metrics
}

const (
	defaultTimeout = 75 * time.Second
	defaultSettle  = 75 * time.Second
	defaultBackoff = 5 * time.Second
	defaultPause   = 250 * time.Millisecond

	// maxSending limits the time for connecting and writing a request, from before the claim of the
	// filing. After that, the request was sent completely or never will be, so other instances know
	// when to search.
	maxSending = 10 * time.Second
)

// WithDefaults returns c with a value for every setting that may be left out.
func (c Config) WithDefaults() Config {
	c.URL = strings.TrimRight(c.URL, "/")
	c.APIURL = strings.TrimRight(c.APIURL, "/")
	c.BaseURL = strings.TrimRight(c.BaseURL, "/")
	c.Target = strings.Trim(c.Target, "/")
	c.Timeout = cmp.Or(c.Timeout, defaultTimeout)
	c.Settle = cmp.Or(c.Settle, defaultSettle)
	c.Backoff = cmp.Or(c.Backoff, defaultBackoff)
	c.Pause = cmp.Or(c.Pause, defaultPause)
	c.Version = cmp.Or(c.Version, "unknown")
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// Key identifies the tracker and the application in the database.
func (c Config) Key() crash.TrackerKey {
	return crash.TrackerKey{URL: c.URL, ConsumerKey: c.ConsumerKey}
}

func (c Config) link(path string) string { return c.APIURL + path }

func (c Config) bugURL(number int64) string { return c.URL + "/bugs/" + itoa(number) }

// api returns the parsed APIURL, or an empty one if it cannot be parsed.
func (c Config) api() *url.URL {
	api, err := url.Parse(c.APIURL)
	if err != nil {
		return &url.URL{}
	}
	return api
}

// sameOrigin reports whether u has the scheme, host and port of the API. The client never follows
// other links.
func (c Config) sameOrigin(u *url.URL) bool {
	api := c.api()
	return u.User == nil && strings.EqualFold(u.Scheme, api.Scheme) && strings.EqualFold(hostPort(u), hostPort(api))
}

func hostPort(u *url.URL) string {
	port := u.Port()
	switch {
	case port != "":
	case strings.EqualFold(u.Scheme, "https"):
		port = "443"
	default:
		port = "80"
	}
	return u.Hostname() + ":" + port
}
