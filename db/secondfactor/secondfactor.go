// Package secondfactor stores the authenticator apps (TOTP, RFC 6238) of accounts with a password, and
// their recovery codes. Passwords are in package accounts.
package secondfactor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
	"mishap/db/accounts"
)

// Store stores second factors. It is safe for concurrent use.
type Store struct {
	store    *db.Store
	accounts *accounts.Store
}

// New returns a Store. It counts wrong codes and checks passwords with accounts.
func New(store *db.Store, accounts *accounts.Store) *Store {
	return &Store{store: store, accounts: accounts}
}

var (
	errOn = crash.Errorf(crash.Conflict, "second_factor_on",
		"The authenticator app is on already. Switch it off to set up another one.")
	errOff        = crash.Errorf(crash.Conflict, "second_factor_off", "No authenticator app is set up.")
	errNoPassword = crash.Errorf(crash.Conflict, "no_password", "This account has no password, so it needs no "+
		"code either.")
	errUnreadable = crash.Errorf(crash.Unprocessable, "second_factor_unreadable",
		"Codes of the app cannot be checked, because the password of the database has changed. Enter a recovery code, or "+
			"ask an administrator to reset the app.")
	errSignInAgain = crash.Errorf(crash.Unauthenticated, crash.CodeSignInAgain,
		"Your account has changed since you entered the password. Sign in again.")
)

const sqlState = `
	select u.password_hash <> '', f.user_id is not null, coalesce(f.secret, ''), f.confirmed,
		(select count(*) from recovery_codes as r where r.user_id = u.id)
	from users as u left join second_factors as f on f.user_id = u.id where u.id = @user`

// State returns the second factor of an account. It contains the secret until the app is confirmed.
func (s *Store) State(ctx context.Context, user int64) (crash.SecondFactor, error) {
	var f crash.SecondFactor
	var begun bool
	var sealed string
	err := s.store.Pool.QueryRow(ctx, sqlState, pgx.NamedArgs{"user": user}).
		Scan(&f.HasPassword, &begun, &sealed, db.OrZero(&f.Since), &f.RecoveryCodes)
	if err != nil {
		return f, fmt.Errorf("second factor: %w", db.Classify(err))
	}
	if begun && !f.On() {
		if f.Secret, err = s.store.OpenSecret(sealed, sealContext(user)); err != nil {
			f.Secret = "" // Begin replaces it
		}
	}
	return f, nil
}

const sqlBegin = `
	insert into second_factors (user_id, secret, created) values (@user, @secret, @now)
	on conflict (user_id) do update set secret = excluded.secret, created = excluded.created
		where second_factors.confirmed is null`

// Begin makes a secret for an authenticator app, after checking the password. Signing in needs no code
// before Confirm. It returns Conflict if an app is on or the account has no password, and the errors of
// accounts.CheckPassword.
func (s *Store) Begin(ctx context.Context, in accounts.SignIn) error {
	f, user, err := s.checkPassword(ctx, in)
	if err != nil {
		return err
	}
	if f.On() {
		return errOn
	}
	sealed, err := s.store.SealSecret(newSecret(), sealContext(user))
	if err != nil {
		return err
	}
	args := pgx.NamedArgs{"user": user, "secret": sealed, "now": s.store.Now()}
	tag, err := s.store.Pool.Exec(ctx, sqlBegin, args)
	if err != nil {
		return fmt.Errorf("store second factor: %w", db.Classify(err))
	}
	if tag.RowsAffected() == 0 {
		return errOn
	}
	return nil
}

// checkPassword checks the password of an account, and returns its second factor and id.
func (s *Store) checkPassword(ctx context.Context, in accounts.SignIn) (f crash.SecondFactor, user int64, err error) {
	u, err := s.accounts.ByName(ctx, in.Name)
	if err != nil {
		return f, 0, err
	}
	if f, err = s.State(ctx, u.ID); err != nil {
		return f, 0, err
	}
	if !f.HasPassword {
		return f, 0, errNoPassword
	}
	return f, u.ID, s.accounts.CheckPassword(ctx, in)
}

const sqlConfirm = `update second_factors set confirmed = @now where user_id = @user and confirmed is null`

// Confirm switches an app on by its first code, and returns recovery codes. It returns Unauthenticated
// for a wrong code, Conflict if no app waits for it, and TooMany after too many wrong codes.
func (s *Store) Confirm(ctx context.Context, u crash.User, code string) (recovery []string, err error) {
	err = s.counted(ctx, u.ID, func(tx pgx.Tx) error {
		row, err := lock(ctx, tx, u.ID)
		if err != nil {
			return err
		}
		if row.confirmed {
			return errOn
		}
		if err := s.useAppCode(ctx, tx, u.ID, row, code); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlConfirm, pgx.NamedArgs{"user": u.ID, "now": s.store.Now()}); err != nil {
			return fmt.Errorf("confirm second factor: %w", err)
		}
		if recovery, err = replaceRecoveryCodes(ctx, tx, u.ID); err != nil {
			return err
		}
		return s.store.Audit(ctx, tx, db.AuditEvent{Person: u.Name, Action: "user.totp-on", Subject: u.Name,
			Before: map[string]any{"app": false}, After: map[string]any{"app": true, "recovery_codes": "changed"}})
	})
	return recovery, err
}

// NewRecoveryCodes replaces the recovery codes of an account, after checking the password. It returns
// Conflict if no app is on.
func (s *Store) NewRecoveryCodes(ctx context.Context, in accounts.SignIn) (recovery []string, err error) {
	f, user, err := s.checkPassword(ctx, in)
	if err != nil {
		return nil, err
	}
	if !f.On() {
		return nil, errOff
	}
	err = s.store.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := lock(ctx, tx, user); err != nil {
			return err
		}
		if recovery, err = replaceRecoveryCodes(ctx, tx, user); err != nil {
			return err
		}
		return s.store.Audit(ctx, tx, db.AuditEvent{Person: in.Name, Action: "user.recovery-codes", Subject: in.Name,
			After: map[string]any{"recovery_codes": "changed"}})
	})
	return recovery, err
}

const sqlDelete = `
	delete from second_factors as f using users as u
	where u.id = f.user_id and lower(u.name) = lower(@name) returning u.name`

// SwitchOff removes the app and its recovery codes, after checking the password. It returns Conflict if
// there is none.
func (s *Store) SwitchOff(ctx context.Context, in accounts.SignIn) error {
	if _, _, err := s.checkPassword(ctx, in); err != nil {
		return err
	}
	return s.store.InTx(ctx, func(tx pgx.Tx) error { return s.remove(ctx, tx, in.Name, in.Name, "user.totp-off") })
}

const sqlEndSessions = `delete from sessions where user_id = @user`

// Reset removes the app and recovery codes of an account whose owner has lost them, ends the
// sessions of the account, and tells its owner. by is the person who does so, or empty for the
// command line. It returns Conflict if there is none, and NotFound for an unknown name.
func (s *Store) Reset(ctx context.Context, by, name string) error {
	u, err := s.accounts.ByName(ctx, name)
	if err != nil {
		return err
	}
	return s.store.InTx(ctx, func(tx pgx.Tx) error {
		if err := s.remove(ctx, tx, by, u.Name, "user.totp-reset"); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlEndSessions, pgx.NamedArgs{"user": u.ID}); err != nil {
			return fmt.Errorf("end sessions of %q: %w", u.Name, err)
		}
		_, err := s.store.Publish(ctx, tx, crash.Event{
			Edge:  fmt.Sprintf("app removed:%d:%d", u.ID, s.store.Now().UnixNano()),
			Kind:  crash.EventAccount,
			Title: "Your authenticator app was removed",
			Text: fmt.Sprintf("%s removed the authenticator app and the recovery codes of the account %s, and signed it out "+
				"everywhere. If nobody asked for that, change the password, and tell an administrator.",
				cmp.Or(by, "An administrator"), u.Name),
		}, crash.Recipients{People: []crash.Recipient{{User: u.ID, Reason: "it is your account"}}})
		return err
	})
}

func (s *Store) remove(ctx context.Context, tx pgx.Tx, by, name, action string) error {
	err := tx.QueryRow(ctx, sqlDelete, pgx.NamedArgs{"name": name}).Scan(&name)
	if errors.Is(err, pgx.ErrNoRows) {
		return errOff
	}
	if err != nil {
		return fmt.Errorf("remove second factor: %w", err)
	}
	return s.store.Audit(ctx, tx, db.AuditEvent{Person: by, Action: action, Subject: name,
		Before: map[string]any{"app": true}, After: map[string]any{"app": false}})
}

const sqlAll = `select user_id, confirmed from second_factors where confirmed is not null`

// All returns since when accounts have an authenticator app, by id of the account.
func (s *Store) All(ctx context.Context) (map[int64]time.Time, error) {
	rows, err := s.store.Pool.Query(ctx, sqlAll)
	if err != nil {
		return nil, fmt.Errorf("second factors: %w", db.Classify(err))
	}
	all := map[int64]time.Time{}
	var user int64
	var since time.Time
	if _, err := pgx.ForEachRow(rows, []any{&user, &since}, func() error { all[user] = since; return nil }); err != nil {
		return nil, fmt.Errorf("second factors: %w", db.Classify(err))
	}
	return all, nil
}

func sealContext(user int64) string { return fmt.Sprintf("second factor\x00%d", user) }
