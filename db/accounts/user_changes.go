package accounts

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
)

const (
	sqlDisableUser = `update users set disabled = true where lower(name) = lower(@name) returning id, name`
	sqlEnableUser  = `update users set disabled = false where lower(name) = lower(@name) returning id, name`
	sqlSetRole     = `update users set role = @role where lower(name) = lower(@name) returning id, name`
	sqlRemoveUser  = `delete from users where lower(name) = lower(@name) returning id, name`
)

// Disable closes an account: it can no longer sign in, its tokens no longer work, and its sessions end at once. Disabling
// twice is no error. It returns NotFound for an unknown name.
func (a *Store) Disable(ctx context.Context, by, name string) error {
	return a.change(ctx, sqlDisableUser, pgx.NamedArgs{"name": name}, db.AuditEvent{Person: by, Action: "user.disable",
		Subject: name})
}

// Enable opens an account that was disabled, with the password and the tokens that it had. It returns NotFound for an
// unknown name.
func (a *Store) Enable(ctx context.Context, by, name string) error {
	return a.change(ctx, sqlEnableUser, pgx.NamedArgs{"name": name}, db.AuditEvent{Person: by, Action: "user.enable",
		Subject: name})
}

// SetRole gives an account another role, which counts from the next request on, also for its tokens. Sessions stay. It
// returns Invalid for what is no role and NotFound for an unknown name.
func (a *Store) SetRole(ctx context.Context, by, name string, role crash.Role) error {
	if _, err := crash.ParseRole(string(role)); err != nil {
		return err
	}
	event := db.AuditEvent{Person: by, Action: "user.role", Subject: name, Detail: map[string]any{"role": role}}
	return a.store.InTx(ctx, func(tx pgx.Tx) error {
		_, err := a.changeOne(ctx, tx, sqlSetRole, pgx.NamedArgs{"name": name, "role": role}, event)
		return err
	})
}

// Remove deletes an account with its sessions, tokens, and what it follows. What the person did stays, under the name. It
// returns NotFound for an unknown name.
func (a *Store) Remove(ctx context.Context, by, name string) error {
	return a.change(ctx, sqlRemoveUser, pgx.NamedArgs{"name": name}, db.AuditEvent{Person: by, Action: "user.remove",
		Subject: name})
}

const sqlRemoved = `select max(at) from audit_events where action = 'user.remove' and lower(subject) = lower(@name)`

// Removed returns when an account of this name was last removed; zero: never.
func (a *Store) Removed(ctx context.Context, name string) (time.Time, error) {
	var at time.Time
	err := a.store.Pool.QueryRow(ctx, sqlRemoved, pgx.NamedArgs{"name": name}).Scan(db.OrZero(&at))
	if err != nil {
		return time.Time{}, fmt.Errorf("when was %q removed: %w", name, db.Classify(err))
	}
	return at, nil
}

const sqlSetPassword = `update users set password_hash = @hash where lower(name) = lower(@name) returning id, name`

// SetPassword gives an account a new password and ends its sessions. It returns Invalid for a password that is not good
// enough and NotFound for an unknown name.
func (a *Store) SetPassword(ctx context.Context, by, name, password string) error {
	if err := checkPassword(name, password); err != nil {
		return err
	}
	hash, err := a.hash(ctx, password)
	if err != nil {
		return err
	}
	return a.change(ctx, sqlSetPassword, pgx.NamedArgs{"name": name, "hash": hash},
		db.AuditEvent{Person: by, Action: "user.password", Subject: name})
}

const sqlDeleteUserSessions = `delete from sessions where user_id = @id`

// change updates one account, ends its sessions, and records it.
func (a *Store) change(ctx context.Context, sql string, args pgx.NamedArgs, event db.AuditEvent) error {
	return a.store.InTx(ctx, func(tx pgx.Tx) error {
		id, err := a.changeOne(ctx, tx, sql, args, event)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlDeleteUserSessions, pgx.NamedArgs{"id": id}); err != nil {
			return fmt.Errorf("end sessions of %q: %w", event.Subject, err)
		}
		return nil
	})
}

// changeOne updates one account, records it, and returns its id.
func (a *Store) changeOne(ctx context.Context, tx pgx.Tx, sql string, args pgx.NamedArgs,
	event db.AuditEvent) (id int64, err error) {
	err = tx.QueryRow(ctx, sql, args).Scan(&id, &event.Subject)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, errUnknownUser(event.Subject)
	}
	if err != nil {
		return 0, fmt.Errorf("%s %q: %w", event.Action, event.Subject, err)
	}
	return id, a.store.Audit(ctx, tx, event)
}
