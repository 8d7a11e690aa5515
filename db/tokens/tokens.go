// Package tokens manages the API tokens of all accounts together: it lists, renews and revokes
// them, and warns before they expire. People create their own tokens in package accounts, which
// also checks them.
package tokens

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
	"mishap/db/accounts"
)

// Store manages API tokens. It is safe for concurrent use.
type Store struct {
	store    *db.Store
	accounts *accounts.Store
}

// New returns a Store for the tokens in store.
func New(store *db.Store, accounts *accounts.Store) *Store { return &Store{store, accounts} }

const sqlList = `
	select u.name, u.team_source, u.team, u.disabled, t.id, t.name, t.hint, t.scopes, t.created, t.expires, t.last_used,
		t.last_address, t.revoked
	from api_tokens as t join users as u on u.id = t.user_id
	where (@person::text = '' or lower(u.name) = lower(@person))
		and (@text::text = '' or strpos(lower(u.name || ' ' || u.team || ' ' || t.name), lower(@text)) > 0)
		and (@scope::text = '' or @scope = any(t.scopes))
		and case @state::text
			when 'all' then true
			when 'revoked' then t.revoked is not null
			when 'valid' then t.revoked is null and t.expires > @now and not u.disabled
			when 'soon' then t.revoked is null and t.expires > @now and t.expires <= @soon
			when 'expired' then t.revoked is null and t.expires <= @now
			when 'unused' then t.revoked is null and greatest(t.created, t.last_used) < @unused
			else t.revoked is null
		end
	order by lower(u.name), t.created desc, t.id desc
	limit nullif(@limit::bigint, 0)`

// List returns the tokens that a filter selects, by name of the account and then newest first.
func (s *Store) List(ctx context.Context, f crash.TokenFilter) ([]crash.PersonToken, error) {
	now := s.store.Now()
	rows, err := s.store.Pool.Query(ctx, sqlList, pgx.NamedArgs{"person": f.Person, "text": f.Text, "scope": f.Scope,
		"state": f.State, "now": now, "soon": now.Add(crash.TokenWarning), "unused": now.Add(-crash.TokenUnused),
		"limit": f.Limit})
	if err != nil {
		return nil, fmt.Errorf("list tokens: %w", db.Classify(err))
	}
	tokens, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (t crash.PersonToken, err error) {
		err = row.Scan(&t.Person, &t.Team.Source, &t.Team.Name, &t.Disabled, &t.ID, &t.Name, &t.Hint, &t.Scopes, &t.Created,
			&t.Expires, db.OrZero(&t.LastUsed), &t.LastAddress, db.OrZero(&t.Revoked))
		return t, err
	})
	if err != nil {
		return nil, fmt.Errorf("list tokens: %w", db.Classify(err))
	}
	return tokens, nil
}

const sqlRenewable = `
	select name, scopes, expires - created from api_tokens where id = @id and user_id = @user and revoked is null`

// Renew creates a token with the name, the scopes and the lifetime of another one of the same
// account, which goes on working until it expires or is revoked. by is the person who does so. It
// returns NotFound if the account has no such token, and the errors of accounts.AddTokenFor.
func (s *Store) Renew(ctx context.Context, by string, u crash.User, id int64) (string, crash.APIToken, error) {
	var t crash.APIToken
	var lifetime time.Duration
	args := pgx.NamedArgs{"id": id, "user": u.ID}
	err := s.store.Pool.QueryRow(ctx, sqlRenewable, args).Scan(&t.Name, &t.Scopes, &lifetime)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", t, crash.Errorf(crash.NotFound, "unknown_token", "%s has no such token.", u.Name)
	}
	if err != nil {
		return "", t, fmt.Errorf("renew token: %w", db.Classify(err))
	}
	return s.accounts.AddTokenFor(ctx, by, u, t.Name, t.Scopes, s.store.Now().Add(lifetime))
}

// revoked is what the statements that revoke tokens return.
type revoked struct{ hint, person string }

const (
	sqlRevoke = `
		update api_tokens as t set revoked = @now from users as u
		where t.id = @id and u.id = t.user_id and (@user::bigint = 0 or u.id = @user) and t.revoked is null
		returning t.hint, u.name`
	sqlRevokeExpired = `
		update api_tokens as t set revoked = @now from users as u
		where u.id = t.user_id and t.revoked is null and t.expires <= @now
		returning t.hint, u.name`
	sqlRevokeUnused = `
		update api_tokens as t set revoked = @now from users as u
		where u.id = t.user_id and t.revoked is null and greatest(t.created, t.last_used) < @unused
		returning t.hint, u.name`
)

// Revoke revokes a token of an account, or of any account if user is 0, at once. It returns the
// name of the account. by is the person who revokes it, or empty for the command line. It returns
// NotFound if there is no such token.
func (s *Store) Revoke(ctx context.Context, by string, user, id int64) (person string, err error) {
	all, err := s.revoke(ctx, by, sqlRevoke, pgx.NamedArgs{"id": id, "user": user})
	if err != nil {
		return "", err
	}
	if len(all) == 0 {
		return "", crash.Errorf(crash.NotFound, "unknown_token", "There is no valid token %d.", id)
	}
	return all[0].person, nil
}

// RevokeAll revokes all tokens that are expired or unused, and returns their number. It leaves a
// record for each. It returns Invalid for any other state.
func (s *Store) RevokeAll(ctx context.Context, by string, state crash.TokenState) (int, error) {
	sql := map[crash.TokenState]string{crash.TokensExpired: sqlRevokeExpired, crash.TokensUnused: sqlRevokeUnused}[state]
	if sql == "" {
		return 0, crash.Errorf(crash.Invalid, "unknown_state", "Only expired and unused tokens can be revoked together.")
	}
	all, err := s.revoke(ctx, by, sql, pgx.NamedArgs{"unused": s.store.Now().Add(-crash.TokenUnused)})
	return len(all), err
}

func (s *Store) revoke(ctx context.Context, by, sql string, args pgx.NamedArgs) (all []revoked, err error) {
	args["now"] = s.store.Now()
	err = s.store.InTx(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, sql, args)
		if err != nil {
			return fmt.Errorf("revoke tokens: %w", err)
		}
		all, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (t revoked, err error) {
			err = row.Scan(&t.hint, &t.person)
			return t, err
		})
		if err != nil {
			return fmt.Errorf("revoke tokens: %w", err)
		}
		for _, t := range all {
			err := s.store.Audit(ctx, tx, db.AuditEvent{Person: by, Action: "token.revoke", Subject: t.person,
				Before: map[string]any{"token": crash.APIToken{Hint: t.hint}.Label()}})
			if err != nil {
				return err
			}
		}
		return nil
	})
	return all, err
}
