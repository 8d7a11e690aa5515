// Package people stores accounts with their sessions, second factors and API tokens, service accounts,
// what people follow, and their notes on problems. It also stores who may do what because of how they
// sign in: identities at other sites, the groups that they have there, and the roles that groups give.
// The account at the tracker belongs to package bugs.
package people

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"mishap/crash"
	"mishap/db"
)

// Store stores accounts. It is safe for concurrent use. A process needs exactly one, because it
// limits how many passwords are hashed at the same time.
type Store struct {
	store   *db.Store
	hashing chan struct{}
}

// New returns a Store for the accounts in store.
func New(store *db.Store) *Store {
	return &Store{store: store, hashing: make(chan struct{}, maxHashes)}
}

// userColumns are the columns of users as u that scanUser reads, with what groups and grants by hand
// give the person. Rights for sets and teams come with their source packages as the tracker has them;
// @series is the release whose sets count; groups count if they were stated after @groups_since.
const userColumns = `u.id, u.name, u.role, coalesce((
		select jsonb_agg(jsonb_build_object('role', g.role, 'kind', g.scope, 'name', g.scope_name,
			'embargoed', g.embargoed, 'expired', g.expired, 'members', case g.scope
				when 'set' then (select f.value -> 'names' from archive_facts as f
					where f.kind = 'set' and f.key = @series::text || '/' || g.scope_name)
				when 'team' then (select f.value -> 'names' from archive_facts as f
					where f.kind = 'person' and f.key = g.scope_name) end))
		from (
			select g.role, g.scope, g.scope_name, g.embargoed, (i.groups_read > @groups_since) is not true as expired
			from identities as i join user_groups as m on m.identity_id = i.id
				join group_grants as g on g.source = i.source and g.group_name = m.group_name
			where i.user_id = u.id
			union all
			select a.role, a.scope, a.scope_name, a.embargoed, false from account_grants as a where a.user_id = u.id
		) as g), '[]'),
	u.disabled, u.created, u.last_login, u.tracker_name, u.team_source, u.team, u.password_hash <> '',
	exists (select from second_factors as f where f.user_id = u.id and f.confirmed is not null)`

// right is a right of a person, from a group or given by hand.
type right struct {
	Role    crash.Role           `json:"role"`
	Kind    crash.GrantScopeKind `json:"kind"`
	Name    string               `json:"name"`
	Members []string             `json:"members"` // packages of the set or team; null: none, or not read yet

	Embargoed bool `json:"embargoed"` // with RolePrivate: includes the view of embargoed problems
	Expired   bool `json:"expired"`   // from a group that was stated too long ago
}

// withRights adds the arguments of userColumns. As in rules, the package sets of the newest release count.
func (a *Store) withRights(args pgx.NamedArgs) pgx.NamedArgs {
	args["series"] = crash.Releases().Latest("Ubuntu", a.store.Now()).Codename()
	return a.store.RightsArgs(args)
}

var accountName = regexp.MustCompile(`^[\pL\pN](?:[\pL\pN._@+-]{0,62}[\pL\pN])?$`)

func errUnknownUser(name string) error {
	return crash.Errorf(crash.NotFound, "unknown_user", "There is no account named %q.", name)
}

const sqlInsertUser = `
	insert into users (name, role, password_hash, team_source, team, created)
	values (@name, @role, @hash, @source, @team, @now)
	returning id`

// Add creates an account. by is the name of the person who creates it, or empty for the command
// line. A name has 1 to 64 letters, digits and "._@+-", and is unique regardless of case. Add
// returns Invalid for an invalid name, role or password, and Conflict if the name is taken.
func (a *Store) Add(ctx context.Context, by, name string, role crash.Role, password string) (crash.User, error) {
	if err := checkNew(name, role); err != nil {
		return crash.User{}, err
	}
	if err := checkPassword(name, password); err != nil {
		return crash.User{}, err
	}
	hash, err := a.hash(ctx, password)
	if err != nil {
		return crash.User{}, err
	}
	return a.insert(ctx, by, crash.User{Name: name, Manual: role, HasPassword: true}, hash)
}

// AddService creates a service account, which belongs to a team. Nobody can sign in to it. It
// returns Invalid for an invalid name, role or team, and Conflict if the name is taken.
func (a *Store) AddService(ctx context.Context, by, name string, role crash.Role, team crash.Team) (crash.User, error) {
	if err := errors.Join(checkNew(name, role), team.Check()); err != nil {
		return crash.User{}, err
	}
	return a.insert(ctx, by, crash.User{Name: name, Manual: role, Team: team}, "")
}

// checkNew returns Invalid if no new account can have this name and role.
func checkNew(name string, role crash.Role) error {
	if !accountName.MatchString(name) {
		return crash.Errorf(crash.Invalid, "bad_user_name",
			"%q is not a valid name: use 1 to 64 letters and digits, with . _ @ + - between them.", name)
	}
	if crash.ReservedName(name) {
		return crash.Errorf(crash.Invalid, "reserved_name",
			"%q is reserved for searches and forms. Choose another name.", name)
	}
	_, err := crash.ParseRole(string(role))
	return err
}

// insert stores a new account with the hash of its password, or an empty one.
func (a *Store) insert(ctx context.Context, by string, u crash.User, hash string) (crash.User, error) {
	u.Created = a.store.Now().UTC().Truncate(time.Microsecond)
	a.setRights(&u, nil)
	name := u.Name
	after := map[string]any{"role": u.Manual}
	if u.Service() {
		after["team"] = u.Team.String()
	}
	err := a.store.InTx(ctx, func(tx pgx.Tx) error {
		args := pgx.NamedArgs{"name": name, "role": u.Manual, "hash": hash, "now": u.Created, "source": u.Team.Source,
			"team": u.Team.Name}
		if err := tx.QueryRow(ctx, sqlInsertUser, args).Scan(&u.ID); err != nil {
			if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.ConstraintName == "users_name" {
				return crash.Errorf(crash.Conflict, "user_exists", "There is already an account named %q.", name)
			}
			return fmt.Errorf("add user %q: %w", name, err)
		}
		return a.store.Audit(ctx, tx, db.AuditEvent{Person: by, Action: "user.add", Subject: name, After: after})
	})
	return u, err
}

const sqlUsers = `select ` + userColumns + ` from users as u order by lower(u.name)`

// Accounts returns all accounts, including disabled ones, sorted by name.
func (a *Store) Accounts(ctx context.Context) ([]crash.User, error) {
	users, err := db.List(ctx, a.store.Pool, sqlUsers, a.withRights(pgx.NamedArgs{}), a.scanUser)
	return users, db.Wrap(err, "list users")
}

const sqlUserByName = `select ` + userColumns + ` from users as u where lower(u.name) = lower(@name)`

// ByName returns the account with this name, regardless of case. It returns NotFound if there is
// none.
func (a *Store) ByName(ctx context.Context, name string) (crash.User, error) {
	return a.one(ctx, sqlUserByName, pgx.NamedArgs{"name": name}, errUnknownUser(name))
}

const sqlUserByID = `select ` + userColumns + ` from users as u where u.id = @id`

// ByID returns the account with this id. It returns NotFound if there is none.
func (a *Store) ByID(ctx context.Context, id int64) (crash.User, error) {
	return a.one(ctx, sqlUserByID, pgx.NamedArgs{"id": id},
		crash.Errorf(crash.NotFound, "unknown_user", "This account no longer exists."))
}

func (a *Store) one(ctx context.Context, sql string, args pgx.NamedArgs, none error) (crash.User, error) {
	u, err := db.One(db.Everything(ctx), a.store.Pool, sql, a.withRights(args), a.scanUser)
	return u, db.WrapOr(err, none, "read user")
}

// scanUser reads userColumns.
func (a *Store) scanUser(row pgx.CollectableRow) (crash.User, error) {
	var u crash.User
	var rights []right
	err := row.Scan(userFields(&u, &rights)...)
	a.setRights(&u, rights)
	return u, err
}

// userFields returns where to store userColumns. setRights must follow.
func userFields(u *crash.User, rights *[]right) []any {
	return []any{&u.ID, &u.Name, &u.Manual, rights, &u.Disabled, &u.Created, db.OrZero(&u.LastLogin), &u.TrackerName,
		&u.Team.Source, &u.Team.Name, &u.HasPassword, &u.HasApp}
}

// setRights sets what u may do, and whether u might do more after signing in again.
func (a *Store) setRights(u *crash.User, rights []right) {
	again := *u
	a.addRights(&again, rights)
	a.addRights(u, slices.DeleteFunc(rights, func(r right) bool { return r.Expired }))
	u.GroupsExpired = !reflect.DeepEqual(*u, again)
}

// addRights gives u these rights. Somebody with a right for some packages is a viewer of the others.
func (a *Store) addRights(u *crash.User, rights []right) {
	u.Role = u.Manual
	if !u.Service() {
		u.Role = u.Role.Higher(a.store.Rights.Everyone)
	}
	for _, r := range rights {
		scope := crash.GrantScope{Kind: r.Kind, Name: r.Name}
		switch {
		case r.Role == crash.RolePrivate:
			u.Private = u.Private.Add(scope, r.Members)
			if r.Embargoed {
				u.Embargoed = u.Embargoed.Add(scope, r.Members)
			}
		case r.Kind == crash.GrantAll:
			u.Role = u.Role.Higher(r.Role)
			continue
		default:
			u.Triage = u.Triage.Add(scope, r.Members)
		}
		u.Role = u.Role.Higher(crash.RoleViewer)
	}
	u.Triage.All = u.Triage.All || u.Role.Allows(crash.RoleTriager)
	if u.Role.Allows(crash.RoleAdmin) {
		u.Private.All, u.Embargoed.All = true, true
	}
}

const sqlSetTrackerName = `
	with old as (select id, tracker_name from users where lower(name) = lower(@name) for update)
	update users as u set tracker_name = @tracker from old where u.id = old.id returning u.name, old.tracker_name`

// SetTrackerName sets the name that an account has at the tracker, or removes it if trackerName is
// empty. Sessions continue. It returns NotFound for an unknown name.
func (a *Store) SetTrackerName(ctx context.Context, by, name, trackerName string) error {
	return a.store.InTx(ctx, func(tx pgx.Tx) error {
		var old string
		event := db.AuditEvent{Person: by, Action: "user.tracker-name", After: map[string]any{"tracker_name": trackerName}}
		err := tx.QueryRow(ctx, sqlSetTrackerName, pgx.NamedArgs{"name": name, "tracker": trackerName}).
			Scan(&event.Subject, &old)
		if err != nil {
			return db.WrapOr(err, errUnknownUser(name), "tracker name of %q", name)
		}
		event.Before = map[string]any{"tracker_name": old}
		return a.store.Audit(ctx, tx, event)
	})
}

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
		if err != nil {
			return db.WrapOr(err, errUnknownUser(name), "role of %q", name)
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
		if err != nil {
			return db.WrapOr(err, errUnknownUser(name), "remove %q", name)
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
	return at, db.Wrap(err, "time of removing %q", name)
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
		var id int64
		if err := tx.QueryRow(ctx, sql, args).Scan(&id, &event.Subject); err != nil {
			return db.WrapOr(err, errUnknownUser(event.Subject), "%s %q", event.Action, event.Subject)
		}
		if err := a.store.Audit(ctx, tx, event); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, sqlDeleteUserSessions, pgx.NamedArgs{"id": id})
		return db.Wrap(err, "end sessions of %q", event.Subject)
	})
}

const sqlGrants = `
	select id, source, group_name, role, scope, scope_name, person, created, not embargoed from group_grants
	union all
	select a.id, 'account', u.name, a.role, a.scope, a.scope_name, a.person, a.created, not a.embargoed
	from account_grants as a join users as u on u.id = a.user_id
	order by source, group_name, scope, scope_name, role`

// Grants returns all grants, by source and group. Those to single accounts come first.
func (a *Store) Grants(ctx context.Context) ([]crash.Grant, error) {
	grants, err := db.List(ctx, a.store.Pool, sqlGrants, nil, func(row pgx.CollectableRow) (g crash.Grant, err error) {
		err = row.Scan(&g.ID, &g.Source, &g.Group, &g.Role, &g.Scope.Kind, &g.Scope.Name, &g.By, &g.Created, &g.Unconfirmed)
		return g, err
	})
	return grants, db.Wrap(err, "grants")
}

const sqlGrantedGroups = `
	select group_name from group_grants where source = @source
	union select team from users where team_source = @source
	order by 1`

// GrantedGroups returns the groups of a source that give a role or own a service account.
func (a *Store) GrantedGroups(ctx context.Context, source crash.Source) ([]string, error) {
	groups, err := db.List(ctx, a.store.Pool, sqlGrantedGroups, pgx.NamedArgs{"source": source}, pgx.RowTo[string])
	return groups, db.Wrap(err, "granted groups")
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
		args["key"] = crash.Releases().Latest("Ubuntu", a.store.Now()).Codename() + "/" + g.Scope.Name
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
	if !isPlain(g.Group, crash.MaxGroup) {
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
			return errUnknownUser(g.Group)
		}
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return fmt.Errorf("find grant: %w", err)
		}
		steps := []string{statements.store}
		if args["key"] != nil {
			steps = append(steps, sqlWantMembers)
		}
		if err := db.Exec(ctx, tx, args, steps...); err != nil {
			return fmt.Errorf("store grant: %w", err)
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
			return crash.Errorf(crash.NotFound, "unknown_grant", "%q of %s has no such right.", g.Group, g.Source)
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
	all, err := db.List(ctx, a.store.Pool, sqlIdentities, a.store.RightsArgs(pgx.NamedArgs{"user": user}),
		func(row pgx.CollectableRow) (i crash.StoredIdentity, err error) {
			err = row.Scan(&i.ID, &i.UserID, &i.Source, &i.Issuer, &i.Subject, &i.Name, &i.LastSignIn,
				db.OrZero(&i.GroupsRead), &i.Groups, &i.Expired)
			return i, err
		})
	return all, db.Wrap(err, "identities")
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
	if err := db.Exec(ctx, tx, args, sqlDeleteGroups, sqlInsertGroups, sqlGroupsRead); err != nil {
		return fmt.Errorf("store groups: %w", err)
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
	args := pgx.NamedArgs{"source": crash.SourceOIDC, "issuer": issuer, "before": before}
	var all []crash.StoredIdentity
	i := crash.StoredIdentity{Identity: crash.Identity{Source: crash.SourceOIDC, Issuer: issuer}}
	var sealed string
	row := []any{&i.ID, &i.UserID, &i.Subject, &sealed, &i.Offline}
	err := db.Each(ctx, a.store.Pool, sqlRefreshable, args, row, func() {
		var err error
		if i.Refresh, err = a.store.OpenSecret(sealed, refreshContext(i.ID)); err == nil {
			all = append(all, i)
		}
	})
	return all, db.Wrap(err, "groups to refresh")
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
		if err != nil {
			return db.WrapOr(err, nil, "lock identity")
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
			_, err := tx.Exec(ctx, sqlNextRefresh, args)
			return db.Wrap(err, "store refresh token")
		}
		return a.store.Audit(ctx, tx, event)
	})
}
