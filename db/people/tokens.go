package people

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
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

// AddToken creates an API token of an account. by is the person who does so, or empty for the command line.
// It returns the token, which cannot be read again, and the data that is stored about it. It returns Invalid
// for an invalid name, scope or expiry time, Conflict if the account has too many tokens, and Forbidden for a
// scope that its role does not allow, and for a disabled account.
func (a *Store) AddToken(ctx context.Context, by string, u crash.User, name string, scopes []crash.Scope,
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
		return "", t, crash.Errorf(crash.Forbidden, "disabled", "The account %s is disabled, so its tokens would not "+
			"work.", u.Name)
	case !expires.After(now) || expires.After(now.AddDate(maxTokenYears, 0, 0)):
		return "", t, crash.Errorf(crash.Invalid, "bad_expiry", "A token must expire within %d years.", maxTokenYears)
	}
	for _, scope := range scopes {
		if !u.MayScope(scope) {
			return "", t, crash.Errorf(crash.Forbidden, "role", "The role of %s does not allow the scope %s, so tokens "+
				"of %s cannot have it.", u.Name, scope, u.Name)
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
		if err != nil {
			return db.WrapOr(err, crash.Errorf(crash.Conflict, "too_many_tokens", "An account has at most %d tokens. "+
				"Revoke one that is no longer used.", maxTokens), "add token")
		}
		return a.store.Audit(ctx, tx, db.AuditEvent{Person: by, Action: "token.add", Subject: u.Name,
			After: map[string]any{"token": t.Label(), "name": name, "scopes": scopes, "expires": t.Expires}})
	})
	return token, t, err
}

// Tokens returns a person's tokens that were not revoked, newest first. It includes expired ones.
func (a *Store) Tokens(ctx context.Context, u crash.User) ([]crash.APIToken, error) {
	tokens, err := db.List(ctx, a.store.Pool, sqlTokens, pgx.NamedArgs{"user": u.ID}, db.Into(tokenFields))
	return tokens, db.Wrap(err, "tokens")
}

func tokenFields(t *crash.APIToken) []any {
	return []any{&t.ID, &t.Name, &t.Hint, &t.Scopes, &t.Created, &t.Expires, db.OrZero(&t.LastUsed), &t.LastAddress}
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
	row := a.store.Pool.QueryRow(db.Everything(ctx), sqlUserByToken, a.withRights(pgx.NamedArgs{
		"hash": hash[:], "now": a.store.Now(), "address": address}))
	var rights []right
	err := row.Scan(append(userFields(&u, &rights), tokenFields(&t)...)...)
	if err != nil {
		return u, t, db.WrapOr(err, crash.ErrBadToken, "read token")
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

const sqlAllTokens = `
	select u.name, u.team_source, u.team, u.disabled, t.revoked, ` + tokenColumns + `
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

// AllTokens returns the tokens that a filter selects, by name of the account and then newest first.
func (s *Store) AllTokens(ctx context.Context, f crash.TokenFilter) ([]crash.PersonToken, error) {
	now := s.store.Now()
	tokens, err := db.List(ctx, s.store.Pool, sqlAllTokens,
		pgx.NamedArgs{"person": f.Person, "text": f.Text, "scope": f.Scope,
			"state": f.State, "now": now, "soon": now.Add(crash.TokenWarning), "unused": now.Add(-crash.TokenUnused),
			"limit": f.Limit}, db.Into(func(t *crash.PersonToken) []any {
			return append([]any{&t.Person, &t.Team.Source, &t.Team.Name, &t.Disabled, db.OrZero(&t.Revoked)},
				tokenFields(&t.APIToken)...)
		}))
	return tokens, db.Wrap(err, "list tokens")
}

const sqlCountTokens = `
	select count(*) filter (where t.expires > @now and not u.disabled),
		count(*) filter (where t.expires > @now and t.expires <= @soon), count(*) filter (where t.expires <= @now),
		count(*) filter (where greatest(t.created, t.last_used) < @unused)
	from api_tokens as t join users as u on u.id = t.user_id where t.revoked is null`

// CountTokens returns how many tokens are in the states that AllTokens selects, without the revoked ones.
func (s *Store) CountTokens(ctx context.Context) (map[crash.TokenState]int64, error) {
	now := s.store.Now()
	var valid, soon, expired, unused int64
	err := s.store.Pool.QueryRow(ctx, sqlCountTokens, pgx.NamedArgs{"now": now, "soon": now.Add(crash.TokenWarning),
		"unused": now.Add(-crash.TokenUnused)}).Scan(&valid, &soon, &expired, &unused)
	return map[crash.TokenState]int64{crash.TokensValid: valid, crash.TokensSoon: soon, crash.TokensExpired: expired,
		crash.TokensUnused: unused}, db.Wrap(err, "count tokens")
}

const sqlRenewable = `
	select name, scopes, expires - created from api_tokens where id = @id and user_id = @user and revoked is null`

// RenewToken creates a token with the name, the scopes and the lifetime of another one of the same
// account, which goes on working until it expires or is revoked. by is the person who does so. It
// returns NotFound if the account has no such token, and the errors of AddToken.
func (s *Store) RenewToken(ctx context.Context, by string, u crash.User, id int64) (string, crash.APIToken, error) {
	var t crash.APIToken
	var lifetime time.Duration
	args := pgx.NamedArgs{"id": id, "user": u.ID}
	err := s.store.Pool.QueryRow(ctx, sqlRenewable, args).Scan(&t.Name, &t.Scopes, &lifetime)
	if err != nil {
		return "", t, db.WrapOr(err, crash.Errorf(crash.NotFound, "unknown_token", "%s has no such token.", u.Name),
			"renew token")
	}
	return s.AddToken(ctx, by, u, t.Name, t.Scopes, s.store.Now().Add(lifetime))
}

// revoked is what the statements that revoke tokens return.
type revoked struct{ hint, person string }

const (
	sqlRevokeTokenOf = `
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

// RevokeTokenOf revokes a token of an account, or of any account if user is 0, at once. It returns the
// name of the account. by is the person who revokes it, or empty for the command line. It returns
// NotFound if there is no such token.
func (s *Store) RevokeTokenOf(ctx context.Context, by string, user, id int64) (person string, err error) {
	all, err := s.revokeTokens(ctx, by, sqlRevokeTokenOf, pgx.NamedArgs{"id": id, "user": user})
	if err != nil {
		return "", err
	}
	if len(all) == 0 {
		return "", crash.Errorf(crash.NotFound, "unknown_token", "There is no valid token %d.", id)
	}
	return all[0].person, nil
}

// RevokeTokens revokes all tokens that are expired or unused, and returns their number. It leaves a
// record for each. It returns Invalid for any other state.
func (s *Store) RevokeTokens(ctx context.Context, by string, state crash.TokenState) (int, error) {
	sql := map[crash.TokenState]string{crash.TokensExpired: sqlRevokeExpired, crash.TokensUnused: sqlRevokeUnused}[state]
	if sql == "" {
		return 0, crash.Errorf(crash.Invalid, "unknown_state", "Only expired and unused tokens can be revoked together.")
	}
	all, err := s.revokeTokens(ctx, by, sql, pgx.NamedArgs{"unused": s.store.Now().Add(-crash.TokenUnused)})
	return len(all), err
}

func (s *Store) revokeTokens(ctx context.Context, by, sql string, args pgx.NamedArgs) (all []revoked, err error) {
	args["now"] = s.store.Now()
	err = s.store.InTx(ctx, func(tx pgx.Tx) error {
		all, err = db.List(ctx, tx, sql, args, db.Into(func(t *revoked) []any { return []any{&t.hint, &t.person} }))
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

// maxWarnings is the greatest number of tokens that one round of WarnOfExpiry warns about.
const maxWarnings = 500

// Tokens that live shorter than the warning time cause none.
const sqlExpiringTokens = `
	select t.id, t.name, t.hint, t.expires, u.id, u.name, u.team_source, u.team
	from api_tokens as t join users as u on u.id = t.user_id and not u.disabled
	where t.revoked is null and t.warned is null and t.expires > @now and t.expires <= @until
		and t.expires - t.created > @until - @now::timestamptz
	order by t.id limit @most for update of t skip locked`

// The members of the team that owns a service account, or administrators if there is none.
const sqlResponsible = `
	with members as (
		select distinct u.id from (` + db.CurrentGroups + `) as m join users as u on u.id = m.user_id and not u.disabled
		where m.source = @source and m.group_name = @team
	)
	select id from members
	union
	select id from (` + db.Administrators + `) as administrators where not exists (select from members)`

const sqlWarned = `update api_tokens set warned = @now where id = @id`

// WarnOfTokenExpiry tells the owners of tokens that expire within crash.TokenWarning, once for each
// token. For a service account it tells the members of its team, or administrators if there is
// none. A periodic job calls it.
func (s *Store) WarnOfTokenExpiry(ctx context.Context) error {
	type expiring struct {
		crash.APIToken
		owner crash.User
	}
	now := s.store.Now()
	return s.store.InTx(ctx, func(tx pgx.Tx) error {
		tokens, err := db.List(ctx, tx, sqlExpiringTokens, pgx.NamedArgs{"now": now, "until": now.Add(crash.TokenWarning),
			"most": maxWarnings}, func(row pgx.CollectableRow) (t expiring, err error) {
			err = row.Scan(&t.ID, &t.Name, &t.Hint, &t.Expires, &t.owner.ID, &t.owner.Name, &t.owner.Team.Source,
				&t.owner.Team.Name)
			return t, err
		})
		if err != nil {
			return fmt.Errorf("expiring tokens: %w", err)
		}
		for _, t := range tokens {
			to, where, err := s.tokenRecipients(ctx, tx, t.owner)
			if err != nil {
				return err
			}
			_, err = s.store.Publish(ctx, tx, crash.Event{
				Edge:  fmt.Sprintf("token expires:%d", t.ID),
				Kind:  crash.EventToken,
				Title: fmt.Sprintf("The API token “%s” expires soon", t.Name),
				Text: fmt.Sprintf("The API token “%s” (%s) of %s stops working at %s UTC. %s on the page of the "+
					"account, and replace it where it is used.", t.Name, t.Label(), t.owner.Name,
					t.Expires.UTC().Format(time.DateTime), where),
			}, to)
			if err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, sqlWarned, pgx.NamedArgs{"now": now, "id": t.ID}); err != nil {
				return fmt.Errorf("record warning: %w", err)
			}
		}
		return nil
	})
}

// tokenRecipients returns who is told about a token of an account, and what they can do.
func (s *Store) tokenRecipients(ctx context.Context, tx pgx.Tx, owner crash.User) (
	to crash.Recipients, advice string, err error,
) {
	if !owner.Service() {
		return crash.Recipients{People: []crash.Recipient{{User: owner.ID, Reason: "the token is yours"}}},
			"Create a new one", nil
	}
	to.People, err = db.List(ctx, tx, sqlResponsible, s.store.RightsArgs(pgx.NamedArgs{"source": owner.Team.Source,
		"team": owner.Team.Name}), func(row pgx.CollectableRow) (r crash.Recipient, err error) {
		r.Reason = "the token belongs to a service account of " + owner.Team.Name
		return r, row.Scan(&r.User)
	})
	if err != nil {
		return to, "", fmt.Errorf("members of the team: %w", err)
	}
	return to, "Renew it", nil
}

const sqlServices = `
	select u.name, u.team_source, u.team, u.disabled, u.created,
		(select count(distinct p.id) from (` + db.CurrentGroups + `) as m
			join users as p on p.id = m.user_id and not p.disabled
			where m.source = u.team_source and m.group_name = u.team),
		count(t.id) filter (where t.revoked is null and t.expires > @now),
		min(t.expires) filter (where t.revoked is null and t.expires > @now), max(t.last_used)
	from users as u left join api_tokens as t on t.user_id = u.id
	where u.team <> '' and (@user::bigint = 0 or exists (
		select from (` + db.CurrentGroups + `) as m
		where m.user_id = @user and m.source = u.team_source and m.group_name = u.team))
	group by u.id order by lower(u.name)`

// ServiceAccounts returns the service accounts of the teams of a person, or all if user is 0, by name.
func (s *Store) ServiceAccounts(ctx context.Context, user int64) ([]crash.ServiceAccount, error) {
	args := s.store.RightsArgs(pgx.NamedArgs{"user": user, "now": s.store.Now()})
	all, err := db.List(ctx, s.store.Pool, sqlServices, args,
		func(row pgx.CollectableRow) (v crash.ServiceAccount, err error) {
			err = row.Scan(&v.Name, &v.Team.Source, &v.Team.Name, &v.Disabled, &v.Created, &v.Members, &v.Tokens,
				db.OrZero(&v.Expires), db.OrZero(&v.LastUsed))
			return v, err
		})
	return all, db.Wrap(err, "service accounts")
}

const sqlMembers = `
	select distinct u.name from (` + db.CurrentGroups + `) as m
		join users as u on u.id = m.user_id and not u.disabled
	where m.source = @source and m.group_name = @team order by u.name`

// TeamMembers returns the names of the people in a team as of their last sign-in, without disabled
// accounts.
func (s *Store) TeamMembers(ctx context.Context, team crash.Team) ([]string, error) {
	names, err := db.List(ctx, s.store.Pool, sqlMembers, s.store.RightsArgs(pgx.NamedArgs{"source": team.Source,
		"team": team.Name}), pgx.RowTo[string])
	return names, db.Wrap(err, "members of a team")
}

const sqlSetTeam = `
	with old as (
		select id, team_source, team from users where lower(name) = lower(@name) and team <> '' for update
	)
	update users as u set team_source = @source, team = @team from old where u.id = old.id
	returning u.name, old.team_source, old.team`

// SetTeam gives a service account to another team. by is the person who does so, or empty for the
// command line. It returns Invalid for an invalid team, and NotFound if there is no service account
// of this name.
func (s *Store) SetTeam(ctx context.Context, by, name string, team crash.Team) error {
	if err := team.Check(); err != nil {
		return err
	}
	return s.store.InTx(ctx, func(tx pgx.Tx) error {
		var old crash.Team
		args := pgx.NamedArgs{"name": name, "source": team.Source, "team": team.Name}
		err := tx.QueryRow(ctx, sqlSetTeam, args).Scan(&name, &old.Source, &old.Name)
		if err != nil {
			return db.WrapOr(err, crash.Errorf(crash.NotFound, "unknown_service", "There is no service account named %q.",
				name), "team of %q", name)
		}
		return s.store.Audit(ctx, tx, db.AuditEvent{Person: by, Action: "user.team", Subject: name,
			Before: map[string]any{"team": old.String()}, After: map[string]any{"team": team.String()}})
	})
}
