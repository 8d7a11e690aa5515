package people

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
)

const sqlGrants = `
	select id, source, group_name, role, scope, scope_name, person, created, not embargoed from group_grants
	union all
	select a.id, 'account', u.name, a.role, a.scope, a.scope_name, a.person, a.created, not a.embargoed
	from account_grants as a join users as u on u.id = a.user_id
	order by source, group_name, scope, scope_name, role`

// Grants returns all grants, by source and group. Those to single accounts come first.
func (a *Store) Grants(ctx context.Context) ([]crash.Grant, error) {
	rows, err := a.store.Pool.Query(ctx, sqlGrants)
	if err != nil {
		return nil, fmt.Errorf("grants: %w", db.Classify(err))
	}
	grants, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (g crash.Grant, err error) {
		err = row.Scan(&g.ID, &g.Source, &g.Group, &g.Role, &g.Scope.Kind, &g.Scope.Name, &g.By, &g.Created, &g.Unconfirmed)
		return g, err
	})
	if err != nil {
		return nil, fmt.Errorf("grants: %w", db.Classify(err))
	}
	return grants, nil
}

const sqlGrantedGroups = `
	select group_name from group_grants where source = @source
	union select team from users where team_source = @source
	order by 1`

// GrantedGroups returns the groups of a source that give a role or own a service account.
func (a *Store) GrantedGroups(ctx context.Context, source crash.Source) ([]string, error) {
	rows, err := a.store.Pool.Query(ctx, sqlGrantedGroups, pgx.NamedArgs{"source": source})
	if err != nil {
		return nil, fmt.Errorf("granted groups: %w", db.Classify(err))
	}
	groups, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("granted groups: %w", db.Classify(err))
	}
	return groups, nil
}

// The statements of a grant to a group, to an account for all packages, and to an account otherwise.
const (
	// oldRight is the right that a grant has given, for the audit log.
	oldRight    = `case when embargoed then role else role || ' without embargoed problems' end`
	sqlOldGrant = `
		select ` + oldRight + ` from group_grants where source = @source and group_name = @group and scope = @kind
			and scope_name = @name and (role = 'private') = (@role::text = 'private') for update`
	sqlGrant = `
		insert into group_grants (source, group_name, role, scope, scope_name, person, created)
		values (@source, @group, @role, @kind, @name, @by, @now)
		on conflict (source, group_name, scope, scope_name, (role = 'private'))
		do update set role = excluded.role, person = excluded.person, created = excluded.created, embargoed = true`
	sqlRevokeGrant = `
		delete from group_grants where source = @source and group_name = @group and scope = @kind
			and scope_name = @name and (role = 'private') = (@role::text = 'private')`

	sqlOldRole   = `select role from users where lower(name) = lower(@group) for update`
	sqlGrantRole = `update users set role = @role where lower(name) = lower(@group)`
	sqlNoRole    = `update users set role = '' where lower(name) = lower(@group) and role <> ''`

	sqlOldAccountGrant = `
		select coalesce((select ` + oldRight + ` from account_grants where user_id = u.id and role = @role and scope = @kind
			and scope_name = @name), '') from users as u where lower(u.name) = lower(@group) for update`
	sqlGrantAccount = `
		insert into account_grants (user_id, role, scope, scope_name, person, created)
		select id, @role, @kind, @name, @by, @now from users where lower(name) = lower(@group)
		on conflict (user_id, scope, scope_name, role)
		do update set person = excluded.person, created = excluded.created, embargoed = true`
	sqlRevokeAccount = `
		delete from account_grants as a using users as u where u.id = a.user_id and lower(u.name) = lower(@group)
			and a.role = @role and a.scope = @kind and a.scope_name = @name`

	sqlWantMembers = `
		insert into archive_facts (kind, key, asked, next_read) values (@fact, @key, @now, @now)
		on conflict (kind, key) do update set asked = excluded.asked`
)

// grantStatements are the statements that read, store and delete a grant.
type grantStatements struct{ old, store, remove string }

// statementsOf returns the statements of a grant. The role of an account for all packages is in users.
func statementsOf(g crash.Grant) grantStatements {
	switch {
	case g.Source != crash.SourceAccount:
		return grantStatements{sqlOldGrant, sqlGrant, sqlRevokeGrant}
	case g.Scope.Kind == crash.GrantAll && g.Role != crash.RolePrivate:
		return grantStatements{sqlOldRole, sqlGrantRole, sqlNoRole}
	}
	return grantStatements{sqlOldAccountGrant, sqlGrantAccount, sqlRevokeAccount}
}

// grantArgs returns the arguments of the statements of a grant.
func (a *Store) grantArgs(by string, g crash.Grant) pgx.NamedArgs {
	args := pgx.NamedArgs{"source": g.Source, "group": g.Group, "role": g.Role, "kind": g.Scope.Kind,
		"name": g.Scope.Name, "by": by, "now": a.store.Now()}
	switch g.Scope.Kind {
	case crash.GrantSet:
		args["fact"] = crash.ArchiveSet
		args["key"] = crash.BuiltInReleases().Latest("Ubuntu", a.store.Now()).Codename() + "/" + g.Scope.Name
	case crash.GrantTeam:
		args["fact"], args["key"] = crash.ArchivePerson, g.Scope.Name
	case crash.GrantAll, crash.GrantPackage:
	}
	return args
}

// groupName returns the name of a group or account as it is stored, without the tilde with which
// Launchpad writes teams.
func groupName(name string) string { return strings.TrimPrefix(strings.TrimSpace(name), "~") }

// Grant gives a role to the members of a group or to an account, instead of the role that it had for
// the same packages. It takes effect at once for people who were in the group when they last signed
// in. by is the account that does so, or empty for the command line. It returns Invalid for a grant
// that cannot be, and NotFound for an unknown account.
func (a *Store) Grant(ctx context.Context, by string, g crash.Grant) error {
	g.Group = groupName(g.Group)
	if err := g.Check(); err != nil {
		return err
	}
	if g.Group == "" || len(g.Group) > crash.MaxGroup || strings.ToValidUTF8(g.Group, "") != g.Group ||
		strings.ContainsFunc(g.Group, unicode.IsControl) {
		return crash.Errorf(crash.Invalid, "bad_group", "A group needs a name of at most %d bytes on one line.",
			crash.MaxGroup)
	}
	if g.Source != crash.SourceOIDC && strings.Contains(g.Group, ",") {
		return crash.Errorf(crash.Invalid, "bad_group",
			"The name of a group cannot contain a comma: %s separates groups by commas. Add one group at a time.", g.Source)
	}
	statements, args := statementsOf(g), a.grantArgs(by, g)
	return a.store.InTx(ctx, func(tx pgx.Tx) error {
		var old string
		err := tx.QueryRow(ctx, statements.old, args).Scan(&old)
		if errors.Is(err, pgx.ErrNoRows) && g.Source == crash.SourceAccount {
			return crash.Errorf(crash.NotFound, "unknown_user", "There is no account named %q.", g.Group)
		}
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return fmt.Errorf("find grant: %w", err)
		}
		if _, err := tx.Exec(ctx, statements.store, args); err != nil {
			return fmt.Errorf("store grant: %w", err)
		}
		if args["key"] != nil {
			if _, err := tx.Exec(ctx, sqlWantMembers, args); err != nil {
				return fmt.Errorf("want packages of a grant: %w", err)
			}
		}
		return a.store.Audit(ctx, tx, grantEvent(by, "access.grant", g, old, string(g.Role)))
	})
}

// RevokeGrant takes away at once what a grant gives: the right to private data if its role is private,
// otherwise whatever role is given for these packages. It returns NotFound if there is no such grant.
func (a *Store) RevokeGrant(ctx context.Context, by string, g crash.Grant) error {
	g.Group = groupName(g.Group)
	if g.Role == crash.RoleNone && g.Scope.Kind != crash.GrantAll {
		g.Role = crash.RoleTriager // the only role for some packages
	}
	statements, args := statementsOf(g), a.grantArgs(by, g)
	return a.store.InTx(ctx, func(tx pgx.Tx) error {
		var old string
		if err := tx.QueryRow(ctx, statements.old, args).Scan(&old); err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return fmt.Errorf("find grant: %w", err)
		}
		if old == "" {
			return crash.Errorf(crash.NotFound, "unknown_grant", "%q of %s has no such right by itself.", g.Group, g.Source)
		}
		if _, err := tx.Exec(ctx, statements.remove, args); err != nil {
			return fmt.Errorf("delete grant: %w", err)
		}
		return a.store.Audit(ctx, tx, grantEvent(by, "access.revoke", g, old, ""))
	})
}

// grantEvent returns the audit event of a change from one role to another.
func grantEvent(by, action string, g crash.Grant, before, after string) db.AuditEvent {
	detail := map[string]any{"scope": g.Scope.Kind}
	if g.Scope.Name != "" {
		detail["packages"] = g.Scope.Name
	}
	return db.AuditEvent{Person: by, Action: action, Subject: string(g.Source) + " " + g.Group,
		Before: map[string]any{"role": before}, After: map[string]any{"role": after}, Detail: detail}
}

const sqlIdentities = `
	select i.id, i.user_id, i.source, i.issuer, i.subject, i.name, i.last_sign_in, i.groups_read,
		array(select group_name from (` + db.CurrentGroups + `) as m where m.identity_id = i.id order by group_name),
		(i.groups_read > @groups_since) is not true
	from identities as i where @user::bigint = 0 or i.user_id = @user order by i.user_id, i.id`

// Identities returns the identities of an account, or of all accounts if user is 0, with the groups that
// count.
func (a *Store) Identities(ctx context.Context, user int64) ([]crash.StoredIdentity, error) {
	rows, err := a.store.Pool.Query(ctx, sqlIdentities, a.store.RightsArgs(pgx.NamedArgs{"user": user}))
	if err != nil {
		return nil, fmt.Errorf("identities: %w", db.Classify(err))
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (i crash.StoredIdentity, err error) {
		err = row.Scan(&i.ID, &i.UserID, &i.Source, &i.Issuer, &i.Subject, &i.Name, &i.LastSignIn,
			db.OrZero(&i.GroupsRead), &i.Groups, &i.Expired)
		return i, err
	})
	if err != nil {
		return nil, fmt.Errorf("identities: %w", db.Classify(err))
	}
	return all, nil
}

const (
	sqlDeleteGroups = `delete from user_groups where identity_id = @identity`
	sqlInsertGroups = `
		insert into user_groups (identity_id, group_name) select @identity, unnest(@groups::text[])
		on conflict do nothing`
	sqlGroupsRead = `
		update identities set groups_read = @now, refresh_token = @refresh, refresh_offline = @offline where id = @identity`
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
	args := pgx.NamedArgs{"identity": identity, "groups": in.Groups, "refresh": sealed,
		"offline": in.Offline, "now": a.store.Now()}
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
	select i.id, i.user_id, i.subject, i.refresh_token, i.refresh_offline
	from identities as i join users as u on u.id = i.user_id and not u.disabled
	where i.source = @source and i.issuer = @issuer and i.refresh_token <> '' and i.groups_read < @before
		and not exists (select from filing_writer where restored is not null)
	order by random()`

// Refreshable returns the people of an issuer of OpenID Connect who have a refresh token, and whose
// groups it stated before a time. They are in random order, so that one for whom the provider
// fails does not hold up the others for ever. Tokens that cannot be decrypted any more are left out. There
// are none in a restored database that was not compared with the tracker yet: the server from which the
// backup is may still run, and use the same tokens.
func (a *Store) Refreshable(ctx context.Context, issuer string, before time.Time) ([]crash.StoredIdentity, error) {
	rows, err := a.store.Pool.Query(ctx, sqlRefreshable, pgx.NamedArgs{"source": crash.SourceOIDC, "issuer": issuer,
		"before": before})
	if err != nil {
		return nil, fmt.Errorf("groups to refresh: %w", db.Classify(err))
	}
	var all []crash.StoredIdentity
	i := crash.StoredIdentity{Identity: crash.Identity{Source: crash.SourceOIDC, Issuer: issuer}}
	var sealed string
	if _, err := pgx.ForEachRow(rows, []any{&i.ID, &i.UserID, &i.Subject, &sealed, &i.Offline}, func() (err error) {
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
