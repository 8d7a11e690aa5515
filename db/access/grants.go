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
	select id, source, group_name, role, person, created from group_grants order by source, group_name`

// Grants returns all grants, by source and group.
func (a *Store) Grants(ctx context.Context) ([]crash.Grant, error) {
	rows, err := a.store.Pool.Query(ctx, sqlGrants)
	if err != nil {
		return nil, fmt.Errorf("grants: %w", db.Classify(err))
	}
	grants, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (g crash.Grant, err error) {
		err = row.Scan(&g.ID, &g.Source, &g.Group, &g.Role, &g.By, &g.Created)
		return g, err
	})
	if err != nil {
		return nil, fmt.Errorf("grants: %w", db.Classify(err))
	}
	return grants, nil
}

const sqlGrantedGroups = `select group_name from group_grants where source = @source order by group_name`

// GrantedGroups returns the groups of a source that give a role.
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

const (
	sqlOldGrant = `select role from group_grants where source = @source and group_name = @group for update`
	sqlGrant    = `
		insert into group_grants (source, group_name, role, person, created) values (@source, @group, @role, @by, @now)
		on conflict (source, group_name) do update set role = excluded.role, person = excluded.person,
			created = excluded.created`
)

// Grant gives a role to the members of a group, instead of the role that the group had. It takes effect
// at once for people who were in the group when they last signed in. by is the account that does so, or
// empty for the command line. It returns Invalid for a group or role that cannot be.
func (a *Store) Grant(ctx context.Context, by string, source crash.Source, group string, role crash.Role) error {
	group = strings.TrimPrefix(strings.TrimSpace(group), "~") // as Launchpad writes teams in addresses
	if _, err := crash.ParseSource(string(source)); err != nil {
		return err
	}
	if _, err := crash.ParseRole(string(role)); err != nil {
		return err
	}
	if group == "" || len(group) > crash.MaxGroup || strings.ToValidUTF8(group, "") != group ||
		strings.ContainsFunc(group, unicode.IsControl) {
		return crash.Errorf(crash.Invalid, "bad_group", "A group needs a name of at most %d bytes on one line.",
			crash.MaxGroup)
	}
	if source != crash.SourceOIDC && strings.Contains(group, ",") {
		return crash.Errorf(crash.Invalid, "bad_group",
			"The name of a group cannot contain a comma: %s separates groups by commas. Add one group at a time.", source)
	}
	args := pgx.NamedArgs{"source": source, "group": group, "role": role, "by": by, "now": a.store.Now()}
	return a.store.InTx(ctx, func(tx pgx.Tx) error {
		var old string
		if err := tx.QueryRow(ctx, sqlOldGrant, args).Scan(&old); err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return fmt.Errorf("find grant: %w", err)
		}
		if _, err := tx.Exec(ctx, sqlGrant, args); err != nil {
			return fmt.Errorf("store grant: %w", err)
		}
		return a.store.Audit(ctx, tx, db.AuditEvent{Person: by, Action: "access.grant", Subject: string(source) + " " + group,
			Before: map[string]any{"role": old}, After: map[string]any{"role": role}})
	})
}

const sqlRevoke = `delete from group_grants where source = @source and group_name = @group returning role`

// Revoke removes the role of a group at once. It returns NotFound if the group has none.
func (a *Store) Revoke(ctx context.Context, by string, source crash.Source, group string) error {
	return a.store.InTx(ctx, func(tx pgx.Tx) error {
		var old string
		err := tx.QueryRow(ctx, sqlRevoke, pgx.NamedArgs{"source": source, "group": group}).Scan(&old)
		if errors.Is(err, pgx.ErrNoRows) {
			return crash.Errorf(crash.NotFound, "unknown_grant", "The group %q of %s gives no role.", group, source)
		}
		if err != nil {
			return fmt.Errorf("delete grant: %w", err)
		}
		return a.store.Audit(ctx, tx, db.AuditEvent{Person: by, Action: "access.revoke", Subject: string(source) + " " +
			group,
			Before: map[string]any{"role": old}, After: map[string]any{"role": ""}})
	})
}

const sqlIdentities = `
	select i.id, i.user_id, i.source, i.issuer, i.subject, i.name, i.last_sign_in,
		array(select group_name from user_groups where identity_id = i.id order by group_name)
	from identities as i where @user::bigint = 0 or i.user_id = @user order by i.user_id, i.id`

// Identities returns the identities of an account, or of all accounts if user is 0, with their groups.
func (a *Store) Identities(ctx context.Context, user int64) ([]crash.StoredIdentity, error) {
	rows, err := a.store.Pool.Query(ctx, sqlIdentities, pgx.NamedArgs{"user": user})
	if err != nil {
		return nil, fmt.Errorf("identities: %w", db.Classify(err))
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (i crash.StoredIdentity, err error) {
		err = row.Scan(&i.ID, &i.UserID, &i.Source, &i.Issuer, &i.Subject, &i.Name, &i.LastSignIn, &i.Groups)
		return i, err
	})
	if err != nil {
		return nil, fmt.Errorf("identities: %w", db.Classify(err))
	}
	return all, nil
}
