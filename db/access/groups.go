package access

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
)

const (
	sqlDeleteGroups = `delete from user_groups where identity_id = @identity`
	sqlInsertGroups = `
		insert into user_groups (identity_id, group_name) select @identity, unnest(@groups::text[])
		on conflict do nothing`
	sqlGroupsRead = `update identities set groups_read = @now, refresh_token = @refresh where id = @identity`
)

// replaceGroups stores the groups and the refresh token that a source has stated now, instead of those
// that it stated before.
func (a *Store) replaceGroups(ctx context.Context, tx pgx.Tx, identity int64, in crash.Identity) error {
	var sealed string
	if in.Refresh != "" {
		var err error
		if sealed, err = a.store.SealSecret(in.Refresh, refreshContext(identity)); err != nil {
			return fmt.Errorf("encrypt refresh token: %w", err)
		}
	}
	args := pgx.NamedArgs{"identity": identity, "groups": in.Groups, "refresh": sealed, "now": a.store.Now()}
	for _, sql := range []string{sqlDeleteGroups, sqlInsertGroups, sqlGroupsRead} {
		if _, err := tx.Exec(ctx, sql, args); err != nil {
			return fmt.Errorf("store groups: %w", err)
		}
	}
	return nil
}

// refreshContext binds an encrypted refresh token to its identity.
func refreshContext(identity int64) string { return "refresh token " + strconv.FormatInt(identity, 10) }

const sqlRefreshable = `
	select i.id, i.user_id, i.subject, i.refresh_token
	from identities as i join users as u on u.id = i.user_id and not u.disabled
	where i.source = @source and i.issuer = @issuer and i.refresh_token <> '' and i.groups_read < @before
	order by random()`

// Refreshable returns the people of an issuer of OpenID Connect who have a refresh token, and whose
// groups it stated before a time. They are in random order, so that one for whom the provider
// fails does not hold up the others for ever. Tokens that cannot be decrypted any more are left out.
func (a *Store) Refreshable(ctx context.Context, issuer string, before time.Time) ([]crash.StoredIdentity, error) {
	rows, err := a.store.Pool.Query(ctx, sqlRefreshable, pgx.NamedArgs{"source": crash.SourceOIDC, "issuer": issuer,
		"before": before})
	if err != nil {
		return nil, fmt.Errorf("groups to refresh: %w", db.Classify(err))
	}
	var all []crash.StoredIdentity
	i := crash.StoredIdentity{Identity: crash.Identity{Source: crash.SourceOIDC, Issuer: issuer}}
	var sealed string
	if _, err := pgx.ForEachRow(rows, []any{&i.ID, &i.UserID, &i.Subject, &sealed}, func() (err error) {
		if i.Refresh, err = a.store.OpenSecret(sealed, refreshContext(i.ID)); err == nil {
			all = append(all, i)
		}
		return nil
	}); err != nil {
		return nil, fmt.Errorf("groups to refresh: %w", db.Classify(err))
	}
	return all, nil
}

const (
	sqlLockRefreshed = `
		select u.name, i.refresh_token, array(select group_name from user_groups where identity_id = i.id order by group_name)
		from identities as i join users as u on u.id = i.user_id where i.id = @identity for update of i`
	sqlRefuseGroups = `update identities set groups_read = null, refresh_token = '' where id = @identity`
	sqlNextRefresh  = `update identities set refresh_token = @refresh where id = @identity`
)

// StoreRefresh stores what the issuer has answered to the refresh token of an identity: the present
// groups and the next refresh token. With a refusal (Unauthenticated), the groups do not count any more
// until the person signs in again. With any other error, they stay as they are. It does nothing if the
// person has signed in, or has been removed, meanwhile.
func (a *Store) StoreRefresh(ctx context.Context, was crash.StoredIdentity, now crash.Identity, failed error) error {
	args := pgx.NamedArgs{"identity": was.ID}
	return a.store.InTx(ctx, func(tx pgx.Tx) error {
		var name, sealed string
		var old []string
		err := tx.QueryRow(ctx, sqlLockRefreshed, args).Scan(&name, &sealed, &old)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("lock identity: %w", err)
		}
		if token, err := a.store.OpenSecret(sealed, refreshContext(was.ID)); err != nil || token != was.Refresh {
			return nil //nolint:nilerr // the token is another one now
		}
		event := db.AuditEvent{Action: "identity.groups", Subject: name,
			Before: map[string]any{"groups": len(old)}, After: map[string]any{"groups": len(now.Groups)}}
		switch {
		case failed == nil:
			if err := a.replaceGroups(ctx, tx, was.ID, now); err != nil {
				return err
			}
			slices.Sort(now.Groups)
			if slices.Equal(slices.Compact(now.Groups), old) {
				return nil
			}
		case crash.KindOf(failed) == crash.Unauthenticated:
			if _, err := tx.Exec(ctx, sqlRefuseGroups, args); err != nil {
				return fmt.Errorf("end groups: %w", err)
			}
			event.After = map[string]any{"groups": "expired"}
		default:
			if args["refresh"], err = a.store.SealSecret(now.Refresh, refreshContext(was.ID)); err != nil {
				return fmt.Errorf("encrypt refresh token: %w", err)
			}
			if _, err := tx.Exec(ctx, sqlNextRefresh, args); err != nil {
				return fmt.Errorf("store refresh token: %w", err)
			}
			return nil
		}
		return a.store.Audit(ctx, tx, event)
	})
}
