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
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"mishap/crash"
	"mishap/db"
	"mishap/db/reader"
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
	args["series"] = crash.BuiltInReleases().Latest("Ubuntu", a.store.Now()).Codename()
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
			"No account can be named %q: this word stands for people in searches and forms. Choose another name.", name)
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
	if err != nil {
		return crash.User{}, err
	}
	return u, nil
}

const sqlUsers = `select ` + userColumns + ` from users as u order by lower(u.name)`

// Accounts returns all accounts, including disabled ones, sorted by name.
func (a *Store) Accounts(ctx context.Context) ([]crash.User, error) {
	rows, err := a.store.Pool.Query(ctx, sqlUsers, a.withRights(pgx.NamedArgs{}))
	if err != nil {
		return nil, fmt.Errorf("list users: %w", db.Classify(err))
	}
	users, err := pgx.CollectRows(rows, a.scanUser)
	if err != nil {
		return nil, fmt.Errorf("list users: %w", db.Classify(err))
	}
	return users, nil
}

const sqlUserByName = `select ` + userColumns + ` from users as u where lower(u.name) = lower(@name)`

// ByName returns the account with this name, regardless of case. It returns NotFound if there is
// none.
func (a *Store) ByName(ctx context.Context, name string) (crash.User, error) {
	u, err := a.one(ctx, sqlUserByName, pgx.NamedArgs{"name": name})
	if errors.Is(err, pgx.ErrNoRows) {
		return crash.User{}, errUnknownUser(name)
	}
	return u, err
}

const sqlUserByID = `select ` + userColumns + ` from users as u where u.id = @id`

// ByID returns the account with this id. It returns NotFound if there is none.
func (a *Store) ByID(ctx context.Context, id int64) (crash.User, error) {
	u, err := a.one(ctx, sqlUserByID, pgx.NamedArgs{"id": id})
	if errors.Is(err, pgx.ErrNoRows) {
		return crash.User{}, crash.Errorf(crash.NotFound, "unknown_user", "This account no longer exists.")
	}
	return u, err
}

func (a *Store) one(ctx context.Context, sql string, args pgx.NamedArgs) (crash.User, error) {
	rows, err := a.store.Pool.Query(reader.Everything(ctx), sql, a.withRights(args))
	if err != nil {
		return crash.User{}, fmt.Errorf("read user: %w", db.Classify(err))
	}
	u, err := pgx.CollectExactlyOneRow(rows, a.scanUser)
	if err != nil {
		return crash.User{}, fmt.Errorf("read user: %w", db.Classify(err))
	}
	return u, nil
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
		if errors.Is(err, pgx.ErrNoRows) {
			return errUnknownUser(name)
		}
		if err != nil {
			return fmt.Errorf("tracker name of %q: %w", name, err)
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
