package access

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
)

const sqlLockUser = `
	select name, team, disabled, password_hash <> '' from users where id = @user for update`

// Link adds an identity to an account, whose owner has just proved to have both. It returns
// Conflict if the identity belongs to an account already; accounts are never merged. It returns
// Unprocessable for an identity that cannot be stored.
func (a *Store) Link(ctx context.Context, user int64, in crash.Identity) error {
	if err := check(in); err != nil {
		return err
	}
	args := identityArgs(in, a.store.Now())
	args["user"] = user
	return a.store.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlLockIdentity, args); err != nil {
			return fmt.Errorf("lock identity: %w", err)
		}
		name, _, err := lockUser(ctx, tx, user)
		if err != nil {
			return err
		}
		var id, owner int64
		var other string
		var disabled bool
		err = tx.QueryRow(ctx, sqlFindIdentity, args).Scan(&id, &owner, &other, &disabled)
		switch {
		case err == nil && owner == user:
			return crash.Errorf(crash.Conflict, "linked_already", "You can sign in this way already.")
		case err == nil:
			return crash.Errorf(crash.Conflict, "identity_taken", "Whom you signed in as there belongs to another "+
				"account here, "+
				"%s. Nothing was changed: accounts are not merged. Disconnect it from that account first, or ask an "+
				"administrator to remove that account.", other)
		case !errors.Is(err, pgx.ErrNoRows):
			return fmt.Errorf("find identity: %w", err)
		}
		if err := tx.QueryRow(ctx, sqlInsertIdentity, args).Scan(&id); err != nil {
			return fmt.Errorf("store identity: %w", err)
		}
		if err := a.replaceGroups(ctx, tx, id, in); err != nil {
			return err
		}
		return a.store.Audit(ctx, tx, db.AuditEvent{Person: name, Action: "identity.link", Subject: name,
			After:  map[string]any{"source": in.Source, "identity": in.Subject},
			Detail: map[string]any{"groups": len(in.Groups)}})
	})
}

// lockUser locks an account that a person uses, and returns its name and whether it has a password.
func lockUser(ctx context.Context, tx pgx.Tx, user int64) (name string, hasPassword bool, err error) {
	var team string
	var disabled bool
	err = tx.QueryRow(ctx, sqlLockUser, pgx.NamedArgs{"user": user}).Scan(&name, &team, &disabled, &hasPassword)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return "", false, fmt.Errorf("lock account: %w", err)
	}
	if err != nil || disabled || team != "" {
		return "", false, crash.Errorf(crash.Conflict, "no_person", "Nobody can sign in to this account.")
	}
	return name, hasPassword, nil
}

const (
	sqlIdentitiesOfUser = `select id, source, issuer, subject from identities where user_id = @user`
	sqlUnlink           = `delete from identities where id = @id`
)

// Ways are the ways of signing in that work at present.
type Ways struct {
	Password bool
	Issuers  []crash.Identity // Source and Issuer
}

// Unlink removes an identity from an account, with its groups and sessions. It returns NotFound if
// the account has no such identity, and Conflict if it is the last way of signing in that works.
func (a *Store) Unlink(ctx context.Context, user, id int64, ways Ways) error {
	return a.store.InTx(ctx, func(tx pgx.Tx) error {
		name, left, err := lockUser(ctx, tx, user)
		if err != nil {
			return err
		}
		left = left && ways.Password
		rows, err := tx.Query(ctx, sqlIdentitiesOfUser, pgx.NamedArgs{"user": user})
		if err != nil {
			return fmt.Errorf("identities of account: %w", err)
		}
		all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (i crash.StoredIdentity, err error) {
			err = row.Scan(&i.ID, &i.Source, &i.Issuer, &i.Subject)
			return i, err
		})
		if err != nil {
			return fmt.Errorf("identities of account: %w", err)
		}
		var removed crash.StoredIdentity
		for _, i := range all {
			if i.ID == id {
				removed = i
				continue
			}
			left = left || slices.ContainsFunc(ways.Issuers, func(way crash.Identity) bool {
				return way.Source == i.Source && way.Issuer == i.Issuer
			})
		}
		if removed.ID == 0 {
			return crash.Errorf(crash.NotFound, "unknown_identity", "Your account is not connected to this.")
		}
		if !left {
			return crash.Errorf(crash.Conflict, "last_way_in", "This is the last way to sign in to your account. Connect "+
				"another one first.")
		}
		if _, err := tx.Exec(ctx, sqlUnlink, pgx.NamedArgs{"id": id}); err != nil {
			return fmt.Errorf("remove identity: %w", err)
		}
		return a.store.Audit(ctx, tx, db.AuditEvent{Person: name, Action: "identity.unlink", Subject: name,
			Before: map[string]any{"source": removed.Source, "identity": removed.Subject}})
	})
}
