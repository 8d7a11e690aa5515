package tracker

import (
	"context"
	"errors"
	"net/http"

	"mishap/crash"
)

// sender is the account of the tracker that does a step of a filing.
type sender struct {
	client *Client
	own    crash.OwnAccount // a person's own account; zero: the application's account
}

// sender returns the account that does the next step of a filing. A queued bug is sent with the
// person's own account if they chose that. If the account cannot be used, the application's account
// takes over for good. An unknown outcome is searched for with the account that sent the bug, if it
// still works.
func (f *Filer) sender(ctx context.Context, id int64) (sender, error) {
	application := sender{client: f.client}
	filing, err := f.requests.Filing(ctx, id)
	if err != nil {
		return application, err
	}
	user := filing.Own
	if filing.State == crash.FilingUncertain {
		user = filing.SentBy
	}
	if user == 0 {
		return application, nil
	}
	own, token, err := f.accounts.OwnToken(ctx, f.cfg.Key(), user)
	if err != nil {
		return application, err
	}
	why := own.Unusable()
	switch {
	case filing.State == crash.FilingUncertain && own.Account != filing.SentAs:
		return application, nil
	case why == "":
		return sender{f.as(own, token), own}, nil
	case filing.State == crash.FilingQueued:
		return application, f.queue.FallBack(ctx, id, why)
	}
	return application, nil
}

// owners manages the accounts that people have at the tracker.
type owners struct {
	cfg         Config
	application *Client
	accounts    ownAccounts
	health      ownHealth
}

// ownAccounts stores the access tokens of the accounts that people have at the tracker.
type ownAccounts interface {
	// OwnAccount returns the zero value if the person has not connected an account.
	OwnAccount(ctx context.Context, key crash.TrackerKey, user int64) (crash.OwnAccount, error)
	// OwnToken is like OwnAccount, and returns the token too.
	OwnToken(ctx context.Context, key crash.TrackerKey, user int64) (crash.OwnAccount, crash.AccessToken, error)
	// SaveOwnToken stores the token of an account whose name is not known yet.
	SaveOwnToken(ctx context.Context, key crash.TrackerKey, u crash.User, token crash.AccessToken) error
	// ConfirmOwnAccount records the name of the account, which makes it usable.
	ConfirmOwnAccount(ctx context.Context, key crash.TrackerKey, u crash.User, token, account string) error
	// RemoveOwnAccount deletes the token.
	RemoveOwnAccount(ctx context.Context, key crash.TrackerKey, u crash.User) error
	// PreferOwnAccount sets whether the person's bugs are filed with it by default.
	PreferOwnAccount(ctx context.Context, key crash.TrackerKey, u crash.User, preferred bool) error
}

// ownHealth stores the health of access tokens of people's own accounts.
type ownHealth interface {
	// SaveOwnHealth stores the last success and error of a token.
	SaveOwnHealth(ctx context.Context, key crash.TrackerKey, user int64, token string, h crash.TokenHealth) error
}

// as returns a client that acts for a person's own account.
func (o *owners) as(own crash.OwnAccount, token crash.AccessToken) *Client {
	out := *o.application
	out.creds = &Credentials{
		cfg: o.cfg, store: ownCredentials{o.application.creds.store, o.health, own}, log: o.cfg.Log,
		configured: token, offered: true,
	}
	return &out
}

// ownCredentials stores the health of the token of a person's own account. The rest is the
// application's, such as its accounts, whose bugs a search includes.
type ownCredentials struct {
	CredentialStore
	health ownHealth
	own    crash.OwnAccount
}

// TokenHealth implements CredentialStore.
func (s ownCredentials) TokenHealth(context.Context, crash.TrackerKey, string) (crash.TokenHealth, error) {
	return s.own.TokenHealth, nil
}

// SaveTokenHealth implements CredentialStore.
func (s ownCredentials) SaveTokenHealth(
	ctx context.Context, key crash.TrackerKey, token string, h crash.TokenHealth,
) error {
	return s.health.SaveOwnHealth(ctx, key, s.own.User, token, h)
}

// rejectsAccount reports whether the tracker refused because of the access token or its account, and
// did nothing: the token is invalid, its level is too low, or the account is suspended.
func (e *CallError) rejectsAccount() bool {
	return e.Outcome == OutcomeCredentials ||
		e.Outcome == OutcomeRefused && (e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden)
}

// OwnAccount returns a person's connection to their own account of the tracker, or the zero value if
// there is none.
func (o *owners) OwnAccount(ctx context.Context, user int64) (crash.OwnAccount, error) {
	return o.accounts.OwnAccount(ctx, o.cfg.Key(), user)
}

// ConnectOwnAccount stores the access token of a person's own account, and checks it. If the check
// fails, the token stays, and CheckOwnAccount may be called again. The errors are those of Check.
func (o *owners) ConnectOwnAccount(ctx context.Context, u crash.User, token crash.AccessToken) (string, error) {
	if err := o.accounts.SaveOwnToken(ctx, o.cfg.Key(), u, token); err != nil {
		return "", err
	}
	return o.CheckOwnAccount(ctx, u)
}

// CheckOwnAccount reads the name of a person's own account from the tracker, after which bugs can be
// filed with it. It returns Conflict if the person has not connected one, and the errors of Check.
func (o *owners) CheckOwnAccount(ctx context.Context, u crash.User) (string, error) {
	own, token, err := o.accounts.OwnToken(ctx, o.cfg.Key(), u.ID)
	if err != nil {
		return "", err
	}
	if token.IsZero() {
		return "", crash.Errorf(crash.Conflict, "not_connected",
			"There is no usable access token for your own account. Connect it again.")
	}
	account, err := o.as(own, token).Me(ctx)
	if e, ok := errors.AsType[*CallError](err); ok {
		if e.rejectsAccount() {
			return "", crash.Errorf(crash.Refused, "own_rejected",
				"The tracker no longer accepts the access token of your own account (%s). Connect it again.", e.Text).Because(e)
		}
		return "", sentence(e)
	}
	if err != nil {
		return "", err
	}
	return account, o.accounts.ConfirmOwnAccount(ctx, o.cfg.Key(), u, token.Token, account)
}

// DisconnectOwnAccount deletes the access token of a person's own account. Bugs that wait for it are
// filed with the application's account.
func (o *owners) DisconnectOwnAccount(ctx context.Context, u crash.User) error {
	return o.accounts.RemoveOwnAccount(ctx, o.cfg.Key(), u)
}

// PreferOwnAccount sets whether a person's bugs are filed with their own account unless they choose
// otherwise.
func (o *owners) PreferOwnAccount(ctx context.Context, u crash.User, preferred bool) error {
	return o.accounts.PreferOwnAccount(ctx, o.cfg.Key(), u, preferred)
}

// TokensURL returns the address at which people revoke the access tokens of an account.
func (o *owners) TokensURL(account string) string {
	return o.cfg.URL + "/~" + account + "/+oauth-tokens"
}
