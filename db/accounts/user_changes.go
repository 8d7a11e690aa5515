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
	sqlSetRole     = `
		with old as (select id, role from users where lower(name) = lower(@name) for update)
		update users as u set role = @role from old where u.id = old.id returning u.name, old.role`
	sqlRemoveUser = `delete from users where lower(name) = lower(@name) returning name, role, disabled`
)

// Disable disables an account: it cannot sign in, its tokens do not work, and its sessions end at
// once. It does nothing if the account is disabled already. It returns NotFound for an unknown
// name.
func (a *Store) Disable(ctx context.Context, by, name string) error {
	return a.change(ctx, sqlDisableUser, pgx.NamedArgs{"name": name}, db.AuditEvent{Person: by, Action: "user.disable",
		Subject: name, Before: map[string]any{"disabled": false}, After: map[string]any{"disabled": true}})
}

// Enable enables a disabled account again, with its old password and tokens. It returns NotFound
// for an unknown name.
func (a *Store) Enable(ctx context.Context, by, name string) error {
	return a.change(ctx, sqlEnableUser, pgx.NamedArgs{"name": name}, db.AuditEvent{Person: by, Action: "user.enable",
		Subject: name, Before: map[string]any{"disabled": true}, After: map[string]any{"disabled": false}})
}

// SetRole changes the role that an account was given by hand; crash.RoleNone takes it away. The person
// keeps roles from groups. The new role applies to the next request, including those with tokens.
// Sessions continue. It returns Invalid for an unknown role, and NotFound for an unknown name.
func (a *Store) SetRole(ctx context.Context, by, name string, role crash.Role) error {
	if _, err := crash.ParseRole(string(role)); err != nil && role != crash.RoleNone {
		return err
	}
	return a.store.InTx(ctx, func(tx pgx.Tx) error {
		var old string
		err := tx.QueryRow(ctx, sqlSetRole, pgx.NamedArgs{"name": name, "role": role}).Scan(&name, &old)
		if errors.Is(err, pgx.ErrNoRows) {
			return errUnknownUser(name)
		}
		if err != nil {
			return fmt.Errorf("role of %q: %w", name, err)
		}
		return a.store.Audit(ctx, tx, db.AuditEvent{Person: by, Action: "user.role", Subject: name,
			Before: map[string]any{"role": old}, After: map[string]any{"role": role}})
	})
}

// Remove deletes an account with its sessions, tokens and follows. Records of the person's actions
// keep the name. It returns NotFound for an unknown name.
func (a *Store) Remove(ctx context.Context, by, name string) error {
	return a.store.InTx(ctx, func(tx pgx.Tx) error {
		var role string
		var disabled bool
		err := tx.QueryRow(ctx, sqlRemoveUser, pgx.NamedArgs{"name": name}).Scan(&name, &role, &disabled)
		if errors.Is(err, pgx.ErrNoRows) {
			return errUnknownUser(name)
		}
		if err != nil {
			return fmt.Errorf("remove %q: %w", name, err)
		}
		return a.store.Audit(ctx, tx, db.AuditEvent{Person: by, Action: "user.remove", Subject: name,
			Before: map[string]any{"role": role, "disabled": disabled}})
	})
}

const sqlRemoved = `select max(at) from audit_events where action = 'user.remove' and lower(subject) = lower(@name)`

// Removed returns when an account of this name was last removed, or the zero time if none was.
func (a *Store) Removed(ctx context.Context, name string) (time.Time, error) {
	var at time.Time
	err := a.store.Pool.QueryRow(ctx, sqlRemoved, pgx.NamedArgs{"name": name}).Scan(db.OrZero(&at))
	if err != nil {
		return time.Time{}, fmt.Errorf("time of removing %q: %w", name, db.Classify(err))
	}
	return at, nil
}

const sqlSetPassword = `update users set password_hash = @hash where lower(name) = lower(@name) returning id, name`

// SetPassword changes the password of an account and ends its sessions. It returns Invalid for a
// password that is not good enough, NotFound for an unknown name, and Conflict for a service
// account.
func (a *Store) SetPassword(ctx context.Context, by, name, password string) error {
	if err := checkPassword(name, password); err != nil {
		return err
	}
	if u, err := a.ByName(ctx, name); err == nil && u.Service() {
		return crash.Errorf(crash.Conflict, "service_account", "%s is a service account, to which nobody can sign in, "+
			"so it has no password. Create an API token for it instead.", u.Name)
	}
	hash, err := a.hash(ctx, password)
	if err != nil {
		return err
	}
	return a.change(ctx, sqlSetPassword, pgx.NamedArgs{"name": name, "hash": hash},
		db.AuditEvent{Person: by, Action: "user.password", Subject: name, After: map[string]any{"password": "changed"}})
}

const sqlDeleteUserSessions = `delete from sessions where user_id = @id`

// change updates an account, ends its sessions, and records the event.
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

// changeOne updates an account, records the event, and returns the account's id.
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
