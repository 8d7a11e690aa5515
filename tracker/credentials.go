package tracker

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"mishap/crash"
)

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
			return token, errCredentials("mishap is not connected to "+cmp.Or(c.cfg.called(), "the tracker")+".",
				c.cfg.called())
		}
	}
	c.use(token)
	return token, nil
}

// Connected reports whether there is an access token to sign with.
func (c *Credentials) Connected(ctx context.Context) (bool, error) {
	_, err := c.Current(ctx)
	if crash.KindOf(err) == crash.Unavailable {
		return false, nil
	}
	return err == nil, err
}

// called returns the title of the tracker for messages, or an empty text for the first one.
func (c Config) called() string {
	if c.Name == "" || c.Name == crash.FirstTracker {
		return ""
	}
	return c.Title
}

// errCredentials returns an error that says where an admin can fix it. The title is empty for the first tracker.
func errCredentials(what, title string) *crash.Error {
	remedy := "An admin can connect it at /admin/tracker."
	if title != "" {
		remedy = "An admin can set the token of " + title + " in the configuration."
	}
	e := crash.Errorf(crash.Unavailable, "tracker_credentials", "%s %s Nothing is lost: the bug will be filed then.",
		what, remedy)
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

// Accounts returns the names of the accounts that we act for or have acted for, the present one
// first, and then others, each once.
func (c *Credentials) Accounts(ctx context.Context, present string, others ...string) ([]string, error) {
	before, err := c.store.TrackerAccounts(ctx, c.cfg.Key())
	if err != nil {
		return nil, err
	}
	accounts := []string{present}
	for _, account := range append(before, others...) {
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
