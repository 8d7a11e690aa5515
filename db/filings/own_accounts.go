package filings

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
)

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
	if errors.Is(err, pgx.ErrNoRows) {
		return crash.OwnAccount{}, nil, nil
	}
	if err != nil {
		return own, nil, fmt.Errorf("own account at the tracker: %w", db.Classify(err))
	}
	return own, sealed, nil
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
		for _, sql := range []string{sqlConfirmOwn, sqlFillTrackerName, sqlResumeSearches} {
			if _, err := tx.Exec(ctx, sql, args); err != nil {
				return fmt.Errorf("confirm own account: %w", err)
			}
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
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("remove own account: %w", err)
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
		if errors.Is(err, pgx.ErrNoRows) || err == nil && before == preferred {
			return nil
		}
		if err != nil {
			return fmt.Errorf("prefer own account: %w", err)
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
	if _, err := s.Pool.Exec(ctx, sqlSaveOwnHealth, args); err != nil {
		return fmt.Errorf("save the health of an own account: %w", db.Classify(err))
	}
	return nil
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
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		return s.auditFallback(ctx, tx, f)
	})
	if err != nil {
		return fmt.Errorf("fall back for filing %d: %w", id, err)
	}
	return nil
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
	if errors.Is(err, pgx.ErrNoRows) {
		return nil // rejected already, or disconnected meanwhile
	}
	if err != nil {
		return fmt.Errorf("mark an own account as rejected: %w", err)
	}
	return s.Audit(ctx, tx, db.AuditEvent{
		Action: "tracker.own-rejected", Subject: name,
		Before: map[string]any{"broken": false}, After: map[string]any{"broken": true},
		Detail: map[string]any{"account": account, "words": r.Answer.Message},
	})
}
