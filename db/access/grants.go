package access

import (
	"context"
	"errors"
	"fmt"
	"strings"
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
	sqlRevoke = `
		delete from group_grants where source = @source and group_name = @group and scope = @kind
			and scope_name = @name and (role = 'private') = (@role::text = 'private')`

	sqlOldRole = `select role from users where lower(name) = lower(@group) for update`
	sqlSetRole = `update users set role = @role where lower(name) = lower(@group)`
	sqlNoRole  = `update users set role = '' where lower(name) = lower(@group) and role <> ''`

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
		return grantStatements{sqlOldGrant, sqlGrant, sqlRevoke}
	case g.Scope.Kind == crash.GrantAll && g.Role != crash.RolePrivate:
		return grantStatements{sqlOldRole, sqlSetRole, sqlNoRole}
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

// Revoke takes away at once what a grant gives: the right to private data if its role is private,
// otherwise whatever role is given for these packages. It returns NotFound if there is no such grant.
func (a *Store) Revoke(ctx context.Context, by string, g crash.Grant) error {
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
