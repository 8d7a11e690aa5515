package accounts

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
	"mishap/db/reader"
)

const (
	maxTokens     = 50 // of one person
	maxTokenName  = 100
	maxTokenYears = 5
)

const (
	sqlAddToken = `
		insert into api_tokens (user_id, hash, name, hint, scopes, created, expires)
		select @user, @hash, @name, @hint, @scopes, @now, @expires
		where (select count(*) from api_tokens where user_id = @user and revoked is null) < @most
		returning id`
	tokenColumns = `t.id, t.name, t.hint, t.scopes, t.created, t.expires, t.last_used,
		t.last_address`
	sqlTokens = `select ` + tokenColumns +
		` from api_tokens as t where t.user_id = @user and t.revoked is null order by t.created desc, t.id desc`
)

// AddToken creates an API token for a person. It returns the token, which cannot be read again, and
// the data that is stored about it. It returns Invalid for an invalid name, scope or expiry time,
// Conflict if the person has too many tokens, and Forbidden as AddTokenFor does.
func (a *Store) AddToken(ctx context.Context, u crash.User, name string, scopes []crash.Scope,
	expires time.Time) (string, crash.APIToken, error) {
	return a.AddTokenFor(ctx, u.Name, u, name, scopes, expires)
}

// AddTokenFor creates an API token on behalf of another person; by is empty for the command line.
// It returns the same errors as AddToken. It returns Forbidden for a scope that the person's role
// does not allow, and for a disabled account.
func (a *Store) AddTokenFor(ctx context.Context, by string, u crash.User, name string, scopes []crash.Scope,
	expires time.Time) (string, crash.APIToken, error) {
	now, expires := a.store.Now().UTC().Truncate(time.Microsecond), expires.UTC().Truncate(time.Microsecond)
	name = strings.TrimSpace(name)
	t := crash.APIToken{Name: name, Scopes: scopes, Created: now, Expires: expires}
	switch {
	case name == "" || !utf8.ValidString(name) || utf8.RuneCountInString(name) > maxTokenName ||
		strings.ContainsRune(name, 0):
		return "", t, crash.Errorf(crash.Invalid, "bad_token_name", "Give the token a name of one to %d characters, so that "+
			"you can tell it from others.", maxTokenName)
	case len(scopes) == 0:
		return "", t, crash.Errorf(crash.Invalid, "no_scope", "Choose what the token may do.")
	case u.Disabled:
		return "", t, crash.Errorf(crash.Forbidden, "disabled", "The account %s is disabled, so a token of it "+
			"would not work.", u.Name)
	case !expires.After(now) || expires.After(now.AddDate(maxTokenYears, 0, 0)):
		return "", t, crash.Errorf(crash.Invalid, "bad_expiry", "A token must expire within %d years.", maxTokenYears)
	}
	for _, scope := range scopes {
		if !u.MayScope(scope) {
			return "", t, crash.Errorf(crash.Forbidden, "role", "The role of %s does not allow what the scope %s is for, "+
				"so no token of %s does.", u.Name, scope, u.Name)
		}
	}
	token, hint := crash.NewTokenText()
	t.Hint = hint
	hash := sha256.Sum256([]byte(token))
	err := a.store.InTx(ctx, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, sqlAddToken, pgx.NamedArgs{
			"user": u.ID, "hash": hash[:], "name": name, "hint": t.Hint, "scopes": scopes, "now": now, "expires": t.Expires,
			"most": maxTokens,
		}).Scan(&t.ID)
		if errors.Is(err, pgx.ErrNoRows) {
			return crash.Errorf(crash.Conflict, "too_many_tokens", "An account has at most %d tokens: revoke one that is no "+
				"longer used.", maxTokens)
		}
		if err != nil {
			return fmt.Errorf("add token: %w", err)
		}
		return a.store.Audit(ctx, tx, db.AuditEvent{Person: by, Action: "token.add", Subject: u.Name,
			After: map[string]any{"token": t.Label(), "name": name, "scopes": scopes, "expires": t.Expires}})
	})
	if err != nil {
		return "", t, err
	}
	return token, t, nil
}

// Tokens returns a person's tokens that were not revoked, newest first. It includes expired ones.
func (a *Store) Tokens(ctx context.Context, u crash.User) ([]crash.APIToken, error) {
	rows, err := a.store.Pool.Query(ctx, sqlTokens, pgx.NamedArgs{"user": u.ID})
	if err != nil {
		return nil, fmt.Errorf("tokens: %w", db.Classify(err))
	}
	tokens, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (t crash.APIToken, err error) {
		err = row.Scan(tokenFields(&t)...)
		return t, err
	})
	if err != nil {
		return nil, fmt.Errorf("tokens: %w", db.Classify(err))
	}
	return tokens, nil
}

func tokenFields(t *crash.APIToken) []any {
	return []any{&t.ID, &t.Name, &t.Hint, &t.Scopes, &t.Created, &t.Expires, db.OrZero(&t.LastUsed), &t.LastAddress}
}

const sqlRevokeToken = `
	update api_tokens as t set revoked = @now where t.id = @id and t.user_id = @user and t.revoked is null
	returning t.hint`

// RevokeToken revokes a person's token at once. It returns NotFound if the person has no such
// token.
func (a *Store) RevokeToken(ctx context.Context, u crash.User, id int64) error {
	return a.store.InTx(ctx, func(tx pgx.Tx) error {
		var hint string
		args := pgx.NamedArgs{"id": id, "user": u.ID, "now": a.store.Now()}
		err := tx.QueryRow(ctx, sqlRevokeToken, args).Scan(&hint)
		if errors.Is(err, pgx.ErrNoRows) {
			return crash.Errorf(crash.NotFound, "unknown_token", "You have no such token.")
		}
		if err != nil {
			return fmt.Errorf("revoke token: %w", err)
		}
		return a.store.Audit(ctx, tx, db.AuditEvent{Person: u.Name, Action: "token.revoke", Subject: u.Name,
			Before: map[string]any{"token": crash.APIToken{Hint: hint}.Label()}})
	})
}

const sqlUserByToken = `
	with used as (
		update api_tokens set last_used = @now, last_address = @address
		where hash = @hash and revoked is null and expires > @now
			and (last_used is null or last_used < @now::timestamptz - interval '1 minute')
	)
	select ` + userColumns + `, ` + tokenColumns + `
	from api_tokens as t join users as u on u.id = t.user_id
	where t.hash = @hash and t.revoked is null and t.expires > @now and not u.disabled`

// ByToken returns the owner of an API token and the data of the token, and records at most once a minute
// that a client at an address has used it. It returns Unauthenticated if the token is mistyped, unknown,
// revoked or expired, if its account is disabled, or if rights that it needs have expired. The owner has
// no private rights if the token lacks the scope for them.
func (a *Store) ByToken(ctx context.Context, token string, from netip.Addr) (crash.User, crash.APIToken, error) {
	var u crash.User
	var t crash.APIToken
	if err := crash.CheckTokenText(token); err != nil {
		return u, t, err
	}
	hash, address := sha256.Sum256([]byte(token)), ""
	if from.IsValid() {
		address = from.String()
	}
	row := a.store.Pool.QueryRow(reader.Everything(ctx), sqlUserByToken, a.withRights(pgx.NamedArgs{
		"hash": hash[:], "now": a.store.Now(), "address": address}))
	var rights []right
	err := row.Scan(append(userFields(&u, &rights), tokenFields(&t)...)...)
	if errors.Is(err, pgx.ErrNoRows) {
		return u, t, crash.ErrBadToken
	}
	if err != nil {
		return u, t, fmt.Errorf("read token: %w", db.Classify(err))
	}
	a.setRights(&u, rights)
	if u.GroupsExpired && slices.ContainsFunc(t.Scopes, func(s crash.Scope) bool { return !u.MayScope(s) }) {
		return u, t, crash.ErrGroupsExpired
	}
	if !t.Allows(crash.ScopeReadPrivate) {
		u.Private, u.Embargoed = crash.Packages{}, crash.Packages{}
	}
	return u, t, nil
}
