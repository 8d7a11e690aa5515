package bugs

import (
	"context"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
)

// sqlLockToken returns the public part of the stored token.
const sqlLockToken = `
	select token, context, person from oauth_credentials
	where tracker_url = @url and consumer_key = @consumer and secret_sealed <> '' for update`

// auditedToken returns what the audit log says about the stored token; nil if there is none.
func auditedToken(ctx context.Context, tx pgx.Tx, args pgx.NamedArgs) (map[string]any, error) {
	var token, scope, person string
	err := tx.QueryRow(ctx, sqlLockToken, args).Scan(&token, &scope, &person)
	if err != nil {
		return nil, db.WrapOr(err, nil, "stored token")
	}
	return map[string]any{"token": token, "context": scope, "person": person}, nil
}

const sqlSavedToken = `
	select token, secret_sealed, context, person, connected from oauth_credentials
	where tracker_url = @url and consumer_key = @consumer and secret_sealed <> ''`

// SavedToken returns the access token that all instances use, or the zero value if there is none.
// If the token was encrypted with another database password, SavedToken logs that and returns the
// zero value.
func (s *Store) SavedToken(ctx context.Context, key crash.TrackerKey) (crash.SavedToken, error) {
	var out crash.SavedToken
	var sealed []byte
	err := s.Pool.QueryRow(ctx, sqlSavedToken, keyArgs(key)).Scan(&out.Token, &sealed, &out.Context, &out.Person,
		&out.Connected)
	if err != nil {
		return crash.SavedToken{}, db.WrapOr(err, nil, "saved token")
	}
	var ok bool
	if out.Secret, ok = s.openToken(ctx, key, out.Token, sealed); !ok {
		return crash.SavedToken{}, nil
	}
	return out, nil
}

// openToken decrypts the secret of the saved token. If it was encrypted with another database
// password, openToken logs that, and ok is false.
func (s *Store) openToken(ctx context.Context, key crash.TrackerKey, token string, sealed []byte) (
	secret crash.Secret, ok bool,
) {
	secret, err := s.Sealer().Open(sealed, sealContext(key, token))
	if err != nil {
		s.Log.WarnContext(ctx, "connect the tracker again at /admin/tracker", "error", err)
	}
	return secret, err == nil
}

func keyArgs(key crash.TrackerKey) pgx.NamedArgs {
	return pgx.NamedArgs{"url": key.URL, "consumer": key.ConsumerKey}
}

// sealContext returns the context that binds an encrypted secret to its row.
func sealContext(key crash.TrackerKey, token string) string {
	return key.URL + "\x00" + key.ConsumerKey + "\x00" + token
}

const (
	sqlSaveToken = `
		insert into oauth_credentials (tracker_url, consumer_key, token, secret_sealed, context, person, connected)
		values (@url, @consumer, @token, @sealed, @context, @person, now())
		on conflict (tracker_url, consumer_key) do update set
			token = excluded.token, secret_sealed = excluded.secret_sealed,
			context = excluded.context, person = excluded.person, connected = excluded.connected`
	// sqlForgetHealth clears the errors of a token. It keeps the account, because bugs that were filed
	// with the token may have to be searched for.
	sqlForgetHealth = `
		update oauth_health set last_success = null, last_error = '', last_error_at = null, dead = false
		where tracker_url = @url and consumer_key = @consumer and token = @token`
	sqlWakeFilings = `
		update filings set not_before = now(), updated = now(), problem = '', reason = ''
		where state in ('queued', 'uncertain') and problem = 'tracker_credentials' and unit is null
		returning id`
)

// SaveToken stores an access token for all instances. Filings that wait for a token become due at
// once.
func (s *Store) SaveToken(ctx context.Context, key crash.TrackerKey, token crash.AccessToken, person string) error {
	args, err := s.tokenArgs(key, token)
	if err != nil {
		return err
	}
	args["person"] = person
	return s.InTx(ctx, func(tx pgx.Tx) error {
		before, err := auditedToken(ctx, tx, args)
		if err != nil {
			return err
		}
		if err := db.Exec(ctx, tx, args, sqlSaveToken, sqlForgetHealth); err != nil {
			return fmt.Errorf("save token: %w", err)
		}
		if err := s.wake(ctx, tx, sqlWakeFilings); err != nil {
			return err
		}
		return s.Audit(ctx, tx, db.AuditEvent{
			Person: person, Action: "tracker.connect", Subject: key.URL,
			Before: before, After: map[string]any{"token": token.Token, "context": token.Context, "person": person,
				"secret": "changed"},
			Detail: map[string]any{"consumer_key": key.ConsumerKey},
		})
	})
}

// wake queues jobs for the filings that an update makes due.
func (s *Store) wake(ctx context.Context, tx pgx.Tx, sql string) error {
	woken, err := db.List(ctx, tx, sql, nil, pgx.RowTo[int64])
	if err != nil {
		return fmt.Errorf("wake filings: %w", err)
	}
	for _, id := range woken {
		if err := s.AddFilingJob(ctx, tx, id, 0); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) tokenArgs(key crash.TrackerKey, token crash.AccessToken) (pgx.NamedArgs, error) {
	sealed, err := s.Sealer().Seal(token.Secret, sealContext(key, token.Token))
	if err != nil {
		return nil, err
	}
	args := keyArgs(key)
	args["token"], args["sealed"], args["context"] = token.Token, sealed, token.Context
	return args, nil
}

const sqlSaveConfiguredToken = `
	insert into oauth_credentials (tracker_url, consumer_key, token, secret_sealed, context, person, connected)
	values (@url, @consumer, @token, @sealed, @context, '', now())
	on conflict (tracker_url, consumer_key) do update set
		token = excluded.token, secret_sealed = excluded.secret_sealed,
		context = excluded.context, connected = excluded.connected
	where oauth_credentials.person = '' and oauth_credentials.token <> excluded.token`

// SaveConfiguredToken stores the token of this instance's configuration for instances without one.
// It changes neither a token that a person has connected, nor one that was forgotten.
func (s *Store) SaveConfiguredToken(ctx context.Context, key crash.TrackerKey, token crash.AccessToken) error {
	args, err := s.tokenArgs(key, token)
	if err != nil {
		return err
	}
	_, err = s.Pool.Exec(ctx, sqlSaveConfiguredToken, args)
	return db.Wrap(err, "save configured token")
}

const sqlForgetToken = `
	update oauth_credentials set secret_sealed = '', person = '', context = ''
	where tracker_url = @url and consumer_key = @consumer`

// ForgetToken deletes the secret of the stored token. It keeps the public part, so that an instance
// with the same token in its configuration does not store it again.
func (s *Store) ForgetToken(ctx context.Context, key crash.TrackerKey, person string) error {
	return s.InTx(ctx, func(tx pgx.Tx) error {
		before, err := auditedToken(ctx, tx, keyArgs(key))
		if err != nil || before == nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlForgetToken, keyArgs(key)); err != nil {
			return fmt.Errorf("forget token: %w", err)
		}
		return s.Audit(ctx, tx, db.AuditEvent{
			Person: person, Action: "tracker.forget", Subject: key.URL, Before: before,
			Detail: map[string]any{"consumer_key": key.ConsumerKey},
		})
	})
}

const sqlTokenHealth = `
	select account, last_success, last_error, last_error_at, dead from oauth_health
	where tracker_url = @url and consumer_key = @consumer and token = @token`

// TokenHealth returns the last success and error of a token, or the zero value if there are none.
func (s *Store) TokenHealth(ctx context.Context, key crash.TrackerKey, token string) (crash.TokenHealth, error) {
	var h crash.TokenHealth
	args := keyArgs(key)
	args["token"] = token
	err := s.Pool.QueryRow(ctx, sqlTokenHealth, args).Scan(&h.Account, db.OrZero(&h.LastSuccess), &h.LastError,
		db.OrZero(&h.LastErrorAt), &h.Dead)
	return h, db.WrapOr(err, nil, "token health")
}

const sqlTrackerAccounts = `
	select distinct account from oauth_health where tracker_url = @url and account <> '' order by account`

// TrackerAccounts returns the accounts to which present and former access tokens of a tracker
// belong.
func (s *Store) TrackerAccounts(ctx context.Context, key crash.TrackerKey) ([]string, error) {
	accounts, err := db.List(ctx, s.Pool, sqlTrackerAccounts, keyArgs(key), pgx.RowTo[string])
	return accounts, db.Wrap(err, "accounts of the tracker")
}

const sqlSaveTokenHealth = `
	insert into oauth_health (tracker_url, consumer_key, token, account, last_success, last_error, last_error_at, dead)
	values (@url, @consumer, @token, @account, @success, @error, @errorat, @dead)
	on conflict (tracker_url, consumer_key, token) do update set
		account = case when excluded.account = '' then oauth_health.account else excluded.account end,
		last_success = greatest(oauth_health.last_success, excluded.last_success),
		last_error = case when excluded.last_error_at >= coalesce(oauth_health.last_error_at, '-infinity')
			then excluded.last_error else oauth_health.last_error end,
		last_error_at = greatest(oauth_health.last_error_at, excluded.last_error_at),
		dead = excluded.dead`

// SaveTokenHealth stores the last success and error of a token. If two instances store at the same
// time, the later event counts. If the token works, filings that wait for a token become due at
// once.
func (s *Store) SaveTokenHealth(ctx context.Context, key crash.TrackerKey, token string, h crash.TokenHealth) error {
	args := keyArgs(key)
	args["token"], args["account"], args["error"], args["dead"] = token, h.Account, h.LastError, h.Dead
	args["success"], args["errorat"] = db.OrNull(h.LastSuccess), db.OrNull(h.LastErrorAt)
	return s.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlSaveTokenHealth, args); err != nil {
			return fmt.Errorf("save token health: %w", err)
		}
		if h.Dead || h.LastSuccess.Before(h.LastErrorAt) {
			return nil
		}
		return s.wake(ctx, tx, sqlWakeFilings)
	})
}

const sqlOwnAccount = `
	select o.user_id, o.account, o.token, o.context, o.preferred, o.connected, o.last_success, o.last_error,
		o.last_error_at, o.broken, not u.disabled, o.secret_sealed
	from own_tracker_accounts as o join users as u on u.id = o.user_id
	where o.user_id = @user and o.tracker_url = @url and o.consumer_key = @consumer`

// OwnAccount returns a person's connection to their own account of the tracker, or the zero value if
// there is none.
func (s *Store) OwnAccount(ctx context.Context, key crash.TrackerKey, user int64) (crash.OwnAccount, error) {
	own, _, err := readOwnAccount(s.Pool.QueryRow(ctx, sqlOwnAccount, ownArgs(key, user)))
	return own, err
}

// OwnToken is like OwnAccount, and returns the access token too. If the token was encrypted with
// another database password, the account counts as rejected, and the token is zero.
func (s *Store) OwnToken(
	ctx context.Context, key crash.TrackerKey, user int64,
) (crash.OwnAccount, crash.AccessToken, error) {
	own, sealed, err := readOwnAccount(s.Pool.QueryRow(ctx, sqlOwnAccount, ownArgs(key, user)))
	if err != nil || own.User == 0 {
		return own, crash.AccessToken{}, err
	}
	token := crash.AccessToken{Token: own.Token, Context: own.Context}
	if token.Secret, err = s.Sealer().Open(sealed, ownSealContext(key, user, own.Token)); err != nil {
		own.Dead, own.LastError = true, "the token cannot be decrypted, because the database password has changed"
		return own, crash.AccessToken{}, nil //nolint:nilerr // LastError says it
	}
	return own, token, nil
}

func readOwnAccount(row pgx.Row) (own crash.OwnAccount, sealed []byte, err error) {
	err = row.Scan(&own.User, &own.Account, &own.Token, &own.Context, &own.Preferred, &own.Connected,
		db.OrZero(&own.LastSuccess), &own.LastError, db.OrZero(&own.LastErrorAt), &own.Dead, &own.Enabled, &sealed)
	return own, sealed, db.WrapOr(err, nil, "own account at the tracker")
}

func ownArgs(key crash.TrackerKey, user int64) pgx.NamedArgs {
	args := keyArgs(key)
	args["user"] = user
	return args
}

// ownSealContext returns the context that binds an encrypted secret to the person and the token.
func ownSealContext(key crash.TrackerKey, user int64, token string) string {
	return "own account\x00" + strconv.FormatInt(user, 10) + "\x00" + sealContext(key, token)
}

const (
	sqlSaveOwnToken = `
		insert into own_tracker_accounts
			(user_id, tracker_url, consumer_key, account, token, secret_sealed, context, connected, last_error)
		values (@user, @url, @consumer, '', @token, @sealed, @context, now(), '')
		on conflict (user_id, tracker_url, consumer_key) do update set
			account = '', token = excluded.token, secret_sealed = excluded.secret_sealed, context = excluded.context,
			connected = excluded.connected, last_success = null, last_error = '', last_error_at = null, broken = false`
	sqlConfirmOwn = `
		update own_tracker_accounts set account = @account, broken = false, last_success = now()
		where user_id = @user and tracker_url = @url and consumer_key = @consumer and token = @token`
	sqlFillTrackerName = `update users set tracker_name = @account where id = @user and tracker_name = ''`
	// sqlResumeSearches has private bugs searched for that were sent with the account before.
	sqlResumeSearches = `
		update filings set state = 'uncertain', unsettled = false, problem = '', reason = '', updated = now(),
			not_before = greatest(now(), coalesce(settles, now()))
		where state = 'refused' and unsettled and sent_user = @user and sent_as = @account`
	sqlRemoveOwn = `
		delete from own_tracker_accounts
		where user_id = @user and tracker_url = @url and consumer_key = @consumer returning account`
	sqlPreferOwn = `
		update own_tracker_accounts as o set preferred = @preferred from own_tracker_accounts as before
		where o.user_id = @user and o.tracker_url = @url and o.consumer_key = @consumer
			and before.user_id = o.user_id and before.tracker_url = o.tracker_url and before.consumer_key = o.consumer_key
		returning before.preferred`
)

// SaveOwnToken stores the access token of a person's own account. ConfirmOwnAccount makes it usable.
func (s *Store) SaveOwnToken(ctx context.Context, key crash.TrackerKey, u crash.User, token crash.AccessToken) error {
	sealed, err := s.Sealer().Seal(token.Secret, ownSealContext(key, u.ID, token.Token))
	if err != nil {
		return err
	}
	args := ownArgs(key, u.ID)
	args["token"], args["sealed"], args["context"] = token.Token, sealed, token.Context
	return s.InTx(ctx, func(tx pgx.Tx) error {
		before, _, err := readOwnAccount(tx.QueryRow(ctx, sqlOwnAccount, args))
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlSaveOwnToken, args); err != nil {
			return fmt.Errorf("save own token: %w", err)
		}
		return s.Audit(ctx, tx, db.AuditEvent{
			Person: u.Name, Action: "tracker.connect-own", Subject: u.Name,
			Before: map[string]any{"account": before.Account, "token": before.Token},
			After:  map[string]any{"token": token.Token, "context": token.Context, "secret": "changed"},
		})
	})
}

// ConfirmOwnAccount records the name of the account to which the tracker says that a token belongs.
// The name becomes the person's name at the tracker if that was unknown.
func (s *Store) ConfirmOwnAccount(
	ctx context.Context, key crash.TrackerKey, u crash.User, token, account string,
) error {
	args := ownArgs(key, u.ID)
	args["token"], args["account"] = token, account
	return s.InTx(ctx, func(tx pgx.Tx) error {
		before, _, err := readOwnAccount(tx.QueryRow(ctx, sqlOwnAccount, args))
		if err != nil {
			return err
		}
		if err := db.Exec(ctx, tx, args, sqlConfirmOwn, sqlFillTrackerName, sqlResumeSearches); err != nil {
			return fmt.Errorf("confirm own account: %w", err)
		}
		if before.Account == account && !before.Dead {
			return nil
		}
		return s.Audit(ctx, tx, db.AuditEvent{
			Person: u.Name, Action: "tracker.confirm-own", Subject: u.Name,
			Before: map[string]any{"account": before.Account, "broken": before.Dead},
			After:  map[string]any{"account": account, "broken": false},
		})
	})
}

// RemoveOwnAccount deletes the access token of a person's own account. It does nothing if there is
// none.
func (s *Store) RemoveOwnAccount(ctx context.Context, key crash.TrackerKey, u crash.User) error {
	return s.InTx(ctx, func(tx pgx.Tx) error {
		var account string
		err := tx.QueryRow(ctx, sqlRemoveOwn, ownArgs(key, u.ID)).Scan(&account)
		if err != nil {
			return db.WrapOr(err, nil, "remove own account")
		}
		return s.Audit(ctx, tx, db.AuditEvent{
			Person: u.Name, Action: "tracker.disconnect-own", Subject: u.Name,
			Before: map[string]any{"account": account},
		})
	})
}

// PreferOwnAccount sets whether a person's bugs are filed with their own account unless they choose
// otherwise. It does nothing if the person has not connected one.
func (s *Store) PreferOwnAccount(ctx context.Context, key crash.TrackerKey, u crash.User, preferred bool) error {
	args := ownArgs(key, u.ID)
	args["preferred"] = preferred
	return s.InTx(ctx, func(tx pgx.Tx) error {
		var before bool
		err := tx.QueryRow(ctx, sqlPreferOwn, args).Scan(&before)
		if err != nil || before == preferred {
			return db.WrapOr(err, nil, "prefer own account")
		}
		return s.Audit(ctx, tx, db.AuditEvent{
			Person: u.Name, Action: "tracker.prefer-own", Subject: u.Name,
			Before: map[string]any{"preferred": before}, After: map[string]any{"preferred": preferred},
		})
	})
}

const sqlSaveOwnHealth = `
	update own_tracker_accounts set
		last_success = greatest(last_success, @success),
		last_error = case when @errorat::timestamptz >= coalesce(last_error_at, '-infinity') then @error else last_error end,
		last_error_at = greatest(last_error_at, @errorat), broken = broken or @dead
	where user_id = @user and tracker_url = @url and consumer_key = @consumer and token = @token`

// SaveOwnHealth stores the last success and error of a person's token. Only ConfirmOwnAccount makes a
// rejected account usable again.
func (s *Store) SaveOwnHealth(
	ctx context.Context, key crash.TrackerKey, user int64, token string, h crash.TokenHealth,
) error {
	args := ownArgs(key, user)
	args["token"], args["error"], args["dead"] = token, h.LastError, h.Dead
	args["success"], args["errorat"] = db.OrNull(h.LastSuccess), db.OrNull(h.LastErrorAt)
	_, err := s.Pool.Exec(ctx, sqlSaveOwnHealth, args)
	return db.Wrap(err, "save the health of an own account")
}

const (
	sqlFallBack = `
		update filings set own_user = 0, fallback = @reason, updated = now()
		where id = @id and state = 'queued' and unit is null and own_user <> 0
		returning ` + filingColumns
	sqlBreakOwn = `
		update own_tracker_accounts set broken = true, last_error = @error, last_error_at = now()
		where user_id = @user and token = @token and not broken
		returning account, (select name from users where id = user_id)`
)

// FallBack has the application's account file a queued bug instead of the person's own account, for
// a reason that people read. It does nothing if the filing is no longer queued.
func (s *Store) FallBack(ctx context.Context, id int64, reason string) error {
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		var f crash.Filing
		err := scanFiling(tx.QueryRow(ctx, sqlFallBack, pgx.NamedArgs{"id": id, "reason": reason}), &f)
		if err != nil {
			return db.NoRows(err, nil)
		}
		return s.auditFallback(ctx, tx, f)
	})
	return db.Wrap(err, "fall back for filing %d", id)
}

// auditFallback records that the application's account takes over a filing. The ledger shows it.
func (s *Store) auditFallback(ctx context.Context, tx pgx.Tx, f crash.Filing) error {
	return s.Audit(ctx, tx, db.AuditEvent{
		Action: "bug.fall-back", Subject: f.Bucket.String(), Before: map[string]any{"own_account": true},
		After: map[string]any{"own_account": false}, Detail: map[string]any{"filing": f.ID, "words": f.Fallback},
	})
}

// breakOwnAccount marks the account of a step as rejected by the tracker.
func (s *Store) breakOwnAccount(ctx context.Context, tx pgx.Tx, r crash.FilingResult) error {
	var account, name string
	err := tx.QueryRow(ctx, sqlBreakOwn, pgx.NamedArgs{
		"user": r.Own.User, "token": r.Own.Token, "error": r.Answer.Message,
	}).Scan(&account, &name)
	if err != nil { // without a row, it was rejected already, or disconnected meanwhile
		return db.WrapOr(err, nil, "mark an own account as rejected")
	}
	return s.Audit(ctx, tx, db.AuditEvent{
		Action: "tracker.own-rejected", Subject: name,
		Before: map[string]any{"broken": false}, After: map[string]any{"broken": true},
		Detail: map[string]any{"account": account, "words": r.Answer.Message},
	})
}
