package tracker

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"mishap/crash"
)

// healthEvery is how often an unchanged state of health is written down again.
const healthEvery = time.Minute

// saveWithin bounds writing down what must not be lost because the person who asked has gone.
const saveWithin = 5 * time.Second

// Credentials knows the access token in use: the configuration's when there is one, else the one that the database
// remembers for all units. It is safe for concurrent use.
type Credentials struct {
	cfg   Config
	store CredentialStore
	log   *slog.Logger

	mu         sync.Mutex
	configured crash.AccessToken // what this unit's configuration says, zero: nothing
	kept       bool              // configured has been offered to the database
	current    crash.AccessToken // as last given out, to know its secret in answers
	health     crash.TokenHealth // of current, as last written or read
	known      bool              // health has been read
	written    time.Time
}

// NewCredentials returns the credentials of cfg's tracker and consumer.
func NewCredentials(cfg Config, store CredentialStore) *Credentials {
	cfg = cfg.WithDefaults()
	return &Credentials{cfg: cfg, store: store, log: cfg.Log, configured: cfg.Token}
}

// Current returns the access token to sign with. It returns Unavailable with the code tracker_credentials when there is
// none.
func (c *Credentials) Current(ctx context.Context) (crash.AccessToken, error) {
	c.mu.Lock()
	token, offer := c.configured, !c.configured.IsZero() && !c.kept
	c.kept = c.kept || offer
	c.mu.Unlock()
	if offer {
		if err := c.store.KeepConfiguredToken(ctx, c.cfg.key(), token); err != nil {
			c.log.WarnContext(ctx, "cannot remember the configured access token for other units", "error", err)
		}
	}
	if token.IsZero() {
		saved, err := c.store.SavedToken(ctx, c.cfg.key())
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

// errCredentials is the error that sends an admin to the page where it can be put right.
func errCredentials(what string) *crash.Error {
	e := crash.Errorf(crash.Unavailable, "tracker_credentials", "%s An admin can connect it at /admin/tracker; nothing is lost, and the bug is filed then.", what)
	e.RetryAfter = defaultRetryAfter
	return e
}

const defaultRetryAfter = 30 * time.Second

// use notes which token is in use, so that its health is kept apart from that of others.
func (c *Credentials) use(token crash.AccessToken) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current.Token != token.Token {
		c.health, c.known, c.written = crash.TokenHealth{}, false, time.Time{}
	}
	c.current = token
}

// Remember takes a token that a person has just been given: all units without one of their own use it from now on, and so
// does this one.
func (c *Credentials) Remember(ctx context.Context, token crash.AccessToken, person string) error {
	if err := c.store.SaveToken(ctx, c.cfg.key(), token, person); err != nil {
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

// Forget drops the remembered token. A token in a configuration file stays in use until it is taken out there.
func (c *Credentials) Forget(ctx context.Context, person string) error {
	return c.store.ForgetToken(ctx, c.cfg.key(), person)
}

// Status says how this unit stands with the tracker. No secret is in it.
func (c *Credentials) Status(ctx context.Context) (crash.Connection, error) {
	saved, err := c.store.SavedToken(ctx, c.cfg.key())
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
	out.TokenHealth, err = c.store.TokenHealth(ctx, c.cfg.key(), out.Token)
	return out, err
}

// dead reports whether the tracker has said that the current token is no longer good, to any unit.
func (c *Credentials) dead(ctx context.Context) bool {
	h, ok := c.readHealth(ctx)
	return ok && h.Dead
}

func (c *Credentials) readHealth(ctx context.Context) (crash.TokenHealth, bool) {
	c.mu.Lock()
	token := c.current.Token
	c.mu.Unlock()
	h, err := c.store.TokenHealth(ctx, c.cfg.key(), token)
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

// accounts are the tracker's names of those that we act for or have acted for, the present one first.
func (c *Credentials) accounts(ctx context.Context, present string) ([]string, error) {
	before, err := c.store.TrackerAccounts(ctx, c.cfg.key())
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

// secrets are what must be taken out of the tracker's words.
func (c *Credentials) secrets() []crash.Secret {
	c.mu.Lock()
	defer c.mu.Unlock()
	return []crash.Secret{c.current.Secret, c.configured.Secret}
}

// worked notes a call that the tracker answered as it should.
func (c *Credentials) worked(ctx context.Context) { c.note(ctx, func(*crash.TokenHealth) {}) }

// is notes the account that the token acts for.
func (c *Credentials) is(ctx context.Context, account string) {
	c.note(ctx, func(h *crash.TokenHealth) { h.Account = account })
}

func (c *Credentials) note(ctx context.Context, change func(*crash.TokenHealth)) {
	c.save(ctx, func(h *crash.TokenHealth) {
		h.LastSuccess, h.Dead = c.cfg.Now(), false
		change(h)
	})
}

// failed notes a call that went wrong. A refusal is about what was asked, not about the connection.
func (c *Credentials) failed(ctx context.Context, e *CallError) {
	if e.Outcome == OutcomeRefused {
		return
	}
	c.save(ctx, func(h *crash.TokenHealth) {
		h.LastError, h.LastErrorAt = e.Error(), c.cfg.Now()
		h.Dead = h.Dead || e.Outcome == OutcomeCredentials
	})
}

// save changes the state of health, and writes it when something other than times has changed or the last writing is a
// while ago.
func (c *Credentials) save(ctx context.Context, change func(*crash.TokenHealth)) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveWithin)
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
		before.LastSuccess.IsZero() != after.LastSuccess.IsZero() || c.cfg.Now().Sub(c.written) >= healthEvery
	due = due && c.current.Token == token
	if due {
		c.written = c.cfg.Now()
	}
	c.mu.Unlock()
	if !due {
		return
	}
	if err := c.store.SaveTokenHealth(ctx, c.cfg.key(), token, after); err != nil {
		c.log.WarnContext(ctx, "cannot write down how the tracker answers", "error", err)
	}
}
