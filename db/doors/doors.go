// Package doors stores the projects whose programs report with a key, which doors are closed, and counts of what came
// through each door.
package doors

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
)

// RefreshInterval is the interval at which an instance learns about new and revoked keys and closed doors, and writes
// its counts.
const RefreshInterval = 2 * time.Second

const (
	keepDays    = 90   // days of counts
	maxProjects = 1000 // of an installation
	maxKeys     = 50   // of a project, with revoked ones
	maxSource   = 128  // characters of a source package
)

// Store stores projects and doors. It is safe for concurrent use. A process needs one, because it caches what requests
// need, and collects counts.
type Store struct {
	*db.Store

	refreshing sync.Mutex
	tried      atomic.Int64          // when the last attempt to read the state began, in nanoseconds since 1970
	present    atomic.Pointer[state] // nil: not read yet

	mu      sync.Mutex
	counts  map[countKey]count
	pings   map[pingKey]int64
	used    map[string]time.Time // keys
	cleaned time.Time            // when old counts were deleted
}

// state is what requests need.
type state struct {
	projects map[int64]crash.Project
	closed   map[crash.Door]bool
}

type countKey struct {
	day             time.Time
	door            crash.Door
	project         int64
	outcome, reason string
}

type count struct {
	requests int64
	last     time.Time
}

// New returns a Store of a database.
func New(s *db.Store) *Store {
	return &Store{Store: s, counts: map[countKey]count{}, pings: map[pingKey]int64{},
		used: map[string]time.Time{}}
}

const (
	sqlProjects = `
		select number, name, source_package, listed, created, created_by from door_projects order by name`
	sqlKeys = `
		select project, key, created, created_by, revoked, last_used from door_keys order by created desc, key`
	sqlClosed = `select door, closed, closed_by from closed_doors order by door`
)

// Projects returns all projects with their keys, by name.
func (s *Store) Projects(ctx context.Context) ([]crash.Project, error) {
	all, err := db.List(ctx, s.Pool, sqlProjects, nil, db.Into(func(p *crash.Project) []any {
		return []any{&p.Number, &p.Name, &p.Source, &p.Listed, &p.Created, &p.CreatedBy}
	}))
	if err != nil {
		return nil, db.Wrap(err, "projects")
	}
	place := map[int64]int{}
	for i, p := range all {
		place[p.Number] = i
	}
	var number int64
	var k crash.ProjectKey
	err = db.Each(ctx, s.Pool, sqlKeys, nil, []any{&number, &k.Key, &k.Created, &k.CreatedBy, db.OrZero(&k.Revoked),
		db.OrZero(&k.LastUsed)}, func() {
		if i, ok := place[number]; ok { // else it is newer
			all[i].Keys = append(all[i].Keys, k)
		}
	})
	return all, db.Wrap(err, "keys of projects")
}

// ClosedDoors returns the doors that are closed.
func (s *Store) ClosedDoors(ctx context.Context) ([]crash.ClosedDoor, error) {
	closed, err := db.List(ctx, s.Pool, sqlClosed, nil, db.Into(func(c *crash.ClosedDoor) []any {
		return []any{&c.Door, &c.Closed, &c.By}
	}))
	return closed, db.Wrap(err, "closed doors")
}

// Refresh reads what requests need.
func (s *Store) Refresh(ctx context.Context) error {
	s.refreshing.Lock()
	defer s.refreshing.Unlock()
	return s.refresh(ctx)
}

func (s *Store) refresh(ctx context.Context) error {
	s.tried.Store(time.Now().UnixNano())
	next := &state{projects: map[int64]crash.Project{}, closed: map[crash.Door]bool{}}
	projects, err := s.Projects(ctx)
	if err != nil {
		return err
	}
	for _, p := range projects {
		next.projects[p.Number] = p
	}
	closed, err := s.ClosedDoors(ctx)
	for _, c := range closed {
		next.closed[c.Door] = true
	}
	if err == nil {
		s.present.Store(next)
	}
	return err
}

// now returns what is known. It reads it first if it never was, or if the last attempt is older than the given age.
func (s *Store) now(ctx context.Context, age time.Duration) (*state, error) {
	recent := func(present *state) bool {
		return present != nil && time.Since(time.Unix(0, s.tried.Load())) < age
	}
	if present := s.present.Load(); recent(present) {
		return present, nil
	}
	s.refreshing.Lock()
	defer s.refreshing.Unlock()
	present := s.present.Load()
	if recent(present) {
		return present, nil // another request has read it
	}
	if err := s.refresh(ctx); err != nil && present == nil {
		return nil, err
	}
	return s.present.Load(), nil
}

// errKey does not say whether the project exists.
var errKey = crash.Errorf(crash.Forbidden, "unknown_key", "There is no project with this number and key. Take the "+
	"address (DSN) from the page /admin/doors of this server.")

// Project returns the project with a number, if the key is one of it and valid, else Forbidden. A key that is revoked
// stops within [RefreshInterval]. An unknown key is looked up in the database, at most once a second.
func (s *Store) Project(ctx context.Context, number int64, key string) (crash.Project, error) {
	for _, age := range []time.Duration{time.Hour, time.Second} {
		present, err := s.now(ctx, age)
		if err != nil {
			return crash.Project{}, err
		}
		p := present.projects[number]
		for _, k := range p.Keys {
			if k.Key == key && k.Revoked.IsZero() {
				return p, nil
			}
		}
	}
	return crash.Project{}, errKey
}

// Listed returns the projects whose keys are public.
func (s *Store) Listed(ctx context.Context) ([]crash.Project, error) {
	present, err := s.now(ctx, time.Hour)
	if err != nil {
		return nil, err
	}
	listed := slices.Collect(maps.Values(present.projects))
	return slices.DeleteFunc(listed, func(p crash.Project) bool { return !p.Listed || p.Key() == "" }), nil
}

// Closed reports whether a door is closed, as far as it is known: it never waits for the database.
func (s *Store) Closed(door crash.Door) bool {
	present := s.present.Load()
	return present != nil && present.closed[door]
}

// Count counts requests in memory. A key that was accepted was used.
func (s *Store) Count(c crash.DoorCount, key string) {
	at := s.Now().UTC()
	k := countKey{crash.Midnight(at), c.Door, c.Project, c.Outcome, c.Reason}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.counts[k]
	s.counts[k] = count{n.requests + c.Requests, at}
	if key != "" {
		s.used[key] = at
	}
}

const (
	sqlAddCounts = `
		insert into door_days as d (day, door, project, outcome, reason, requests, last_seen)
		select * from unnest(@days::date[], @doors::text[], @projects::bigint[], @outcomes::text[], @reasons::text[],
			@requests::bigint[], @seen::timestamptz[]) as c (day, door, project, outcome, reason, requests, seen)
		order by day, door, project, outcome, reason
		on conflict (day, door, project, outcome, reason) do update
		set requests = d.requests + excluded.requests, last_seen = greatest(d.last_seen, excluded.last_seen)`
	sqlUseKeys = `
		update door_keys as k set last_used = greatest(k.last_used, u.at)
		from (
			select k.key, u.at from unnest(@keys::text[], @used::timestamptz[]) as u (key, at)
				join door_keys as k using (key) order by k.key for no key update of k
		) as u where k.key = u.key`
	sqlDeleteOldCounts = `delete from door_days where day < @first`
)

// Work writes the counts of this instance and reads what requests need. Counts that cannot be written stay in memory.
func (s *Store) Work(ctx context.Context) error {
	if err := s.Flush(ctx); err != nil {
		return err
	}
	return s.Refresh(ctx)
}

// Flush writes the counts of this instance.
func (s *Store) Flush(ctx context.Context) error {
	s.mu.Lock()
	counts, pings, used := s.counts, s.pings, s.used
	s.counts, s.pings, s.used = map[countKey]count{}, map[pingKey]int64{}, map[string]time.Time{}
	today := crash.Midnight(s.Now().UTC())
	clean := today.After(s.cleaned)
	s.mu.Unlock()
	if len(counts) == 0 && len(pings) == 0 && !clean {
		return nil
	}
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		if err := db.Exec(ctx, tx, countArgs(counts), sqlAddCounts); err != nil {
			return err
		}
		keys := slices.Sorted(maps.Keys(used))
		times := make([]time.Time, len(keys))
		for i, key := range keys {
			times[i] = used[key]
		}
		if err := db.Exec(ctx, tx, pgx.NamedArgs{"keys": keys, "used": times}, sqlUseKeys); err != nil {
			return err
		}
		first := pgx.NamedArgs{"first": today.AddDate(0, 0, -keepDays)}
		if err := db.Exec(ctx, tx, first, sqlDeleteOldCounts); err != nil {
			return err
		}
		return writePings(ctx, tx, pings, today)
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.cleaned = today
		return nil
	}
	for k, c := range counts {
		now := s.counts[k]
		s.counts[k] = count{now.requests + c.requests, later(now.last, c.last)}
	}
	for k, machines := range pings {
		s.addPing(k, machines)
	}
	for key, at := range used {
		s.used[key] = later(s.used[key], at)
	}
	return db.Wrap(err, "write the counts of doors")
}

func countArgs(counts map[countKey]count) pgx.NamedArgs {
	var days, seen []time.Time
	var doors, outcomes, reasons []string
	var projects, requests []int64
	for k, c := range counts {
		days, seen, doors = append(days, k.day), append(seen, c.last), append(doors, string(k.door))
		outcomes, reasons = append(outcomes, k.outcome), append(reasons, k.reason)
		projects, requests = append(projects, k.project), append(requests, c.requests)
	}
	return pgx.NamedArgs{"days": days, "doors": doors, "projects": projects, "outcomes": outcomes, "reasons": reasons,
		"requests": requests, "seen": seen}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

const sqlActivity = `
	select door, project, outcome, reason, sum(requests)::bigint, max(last_seen) from door_days
	where day >= @first group by door, project, outcome, reason order by 5 desc, 1, 2, 3, 4`

// Activity returns what came through the doors since a UTC day.
func (s *Store) Activity(ctx context.Context, first time.Time) ([]crash.DoorCount, error) {
	counts, err := db.List(ctx, s.Pool, sqlActivity, pgx.NamedArgs{"first": first},
		db.Into(func(c *crash.DoorCount) []any {
			return []any{&c.Door, &c.Project, &c.Outcome, &c.Reason, &c.Requests, &c.LastSeen}
		}))
	return counts, db.Wrap(err, "counts of doors")
}

var projectName = regexp.MustCompile(`^[a-z0-9][a-z0-9._+-]{0,63}$`)

var (
	errName = crash.Errorf(crash.Unprocessable, "bad_project_name", "The name of a project consists of 1 to 64 small "+
		"letters, digits and . _ + -, and begins with a letter or digit.")
	errSource = crash.Errorf(crash.Unprocessable, "bad_source_package", "Enter the source package without blanks.")
	errTaken  = crash.Errorf(crash.Unprocessable, "project_exists", "There is a project with this name already.")
	errMost   = crash.Errorf(crash.Unprocessable, "too_many_projects", "There can be %d projects.", maxProjects)
	errKeys   = crash.Errorf(crash.Conflict, "too_many_keys", "A project can have %d keys, with revoked ones.", maxKeys)
	// ErrNoProject is returned for a number that no project has.
	ErrNoProject = crash.Errorf(crash.NotFound, "unknown_project", "There is no such project.")
	errNoKey     = crash.Errorf(crash.NotFound, "unknown_project_key", "There is no such key, or it is revoked.")
)

const (
	sqlCreateProject = `
		insert into door_projects (name, source_package, listed, created, created_by)
		select @name, @source, @listed, @now, @person where (select count(*) from door_projects) < @most
		on conflict (name) do nothing returning number`
	sqlProjectExists = `select exists (select from door_projects where name = @name)`
	sqlAddKey        = `
		insert into door_keys (key, project, created, created_by)
		select @key, number, @now, @person from door_projects where number = @project
			and (select count(*) from door_keys where project = @project) < @most`
	sqlProject = `select name from door_projects where number = @project for no key update`
)

// CreateProject creates a project with its first key, and returns its number.
func (s *Store) CreateProject(ctx context.Context, p crash.Project, person string) (int64, error) {
	switch {
	case !projectName.MatchString(p.Name):
		return 0, errName
	case p.Source == "" || !utf8.ValidString(p.Source) || utf8.RuneCountInString(p.Source) > maxSource ||
		strings.ContainsFunc(p.Source, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return 0, errSource
	}
	var number int64
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		args := pgx.NamedArgs{"name": p.Name, "source": p.Source, "listed": p.Listed, "now": s.Now(), "person": person,
			"most": maxProjects}
		err := tx.QueryRow(ctx, sqlCreateProject, args).Scan(&number)
		if err := db.NoRows(err, errMost); err != nil {
			var taken bool
			if other := tx.QueryRow(ctx, sqlProjectExists, args).Scan(&taken); other == nil && taken {
				return errTaken
			}
			return err
		}
		if _, err := s.insertKey(ctx, tx, number, person); err != nil {
			return err
		}
		return s.Audit(ctx, tx, db.AuditEvent{Person: person, Action: "project.create", Subject: p.Name,
			After: map[string]any{"number": number, "source": p.Source, "listed": p.Listed}})
	})
	return number, s.changed(ctx, db.Wrap(err, "create project %s", p.Name))
}

// insertKey adds a key and returns it.
func (s *Store) insertKey(ctx context.Context, tx pgx.Tx, project int64, person string) (string, error) {
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails
	key := hex.EncodeToString(random[:])
	tag, err := tx.Exec(ctx, sqlAddKey, pgx.NamedArgs{"key": key, "project": project, "now": s.Now(), "person": person,
		"most": maxKeys})
	if err == nil && tag.RowsAffected() == 0 {
		err = errKeys
	}
	return key, err
}

// AddKey adds a key to a project.
func (s *Store) AddKey(ctx context.Context, project int64, person string) error {
	err := s.inProject(ctx, project, func(tx pgx.Tx, name string) error {
		key, err := s.insertKey(ctx, tx, project, person)
		if err != nil {
			return err
		}
		return s.Audit(ctx, tx, db.AuditEvent{Person: person, Action: "project.key", Subject: name,
			After: map[string]any{"key": hint(key)}})
	})
	return s.changed(ctx, db.Wrap(err, "add key to project %d", project))
}

// inProject calls do in a transaction, in which nobody else changes the project.
func (s *Store) inProject(ctx context.Context, number int64, do func(tx pgx.Tx, name string) error) error {
	return s.InTx(ctx, func(tx pgx.Tx) error {
		var name string
		err := tx.QueryRow(ctx, sqlProject, pgx.NamedArgs{"project": number}).Scan(&name)
		if err := db.NoRows(err, ErrNoProject); err != nil {
			return err
		}
		return do(tx, name)
	})
}

// hint returns the part of a key that logs contain.
func hint(key string) string { return crash.Truncate(key, 8) }

const sqlRevokeKey = `
	update door_keys set revoked = @now where key = @key and project = @project and revoked is null`

// RevokeKey revokes a key of a project. It cannot be undone.
func (s *Store) RevokeKey(ctx context.Context, project int64, key, person string) error {
	err := s.inProject(ctx, project, func(tx pgx.Tx, name string) error {
		tag, err := tx.Exec(ctx, sqlRevokeKey, pgx.NamedArgs{"key": key, "project": project, "now": s.Now()})
		if err == nil && tag.RowsAffected() == 0 {
			err = errNoKey
		}
		if err != nil {
			return err
		}
		return s.Audit(ctx, tx, db.AuditEvent{Person: person, Action: "project.revoke", Subject: name,
			Before: map[string]any{"key": hint(key)}})
	})
	return s.changed(ctx, db.Wrap(err, "revoke a key of project %d", project))
}

const (
	sqlListProject = `update door_projects set listed = @listed where number = @project`
	sqlIsListed    = `select listed from door_projects where number = @project`
)

// ListProject puts the key of a project into the public list, or removes it.
func (s *Store) ListProject(ctx context.Context, project int64, listed bool, person string) error {
	err := s.inProject(ctx, project, func(tx pgx.Tx, name string) error {
		args := pgx.NamedArgs{"project": project, "listed": listed}
		var before bool
		if err := tx.QueryRow(ctx, sqlIsListed, args).Scan(&before); err != nil {
			return err
		}
		if err := db.Exec(ctx, tx, args, sqlListProject); err != nil {
			return err
		}
		return s.Audit(ctx, tx, db.AuditEvent{Person: person, Action: "project.list", Subject: name,
			Before: map[string]any{"listed": before}, After: map[string]any{"listed": listed}})
	})
	return s.changed(ctx, db.Wrap(err, "list project %d", project))
}

const (
	sqlCloseDoor = `
		insert into closed_doors (door, closed, closed_by) values (@door, @now, @person) on conflict (door) do nothing`
	sqlOpenDoor = `delete from closed_doors where door = @door`
)

var errNoDoor = crash.Errorf(crash.NotFound, "unknown_door", "There is no such door.")

// SetDoor opens or closes a door.
func (s *Store) SetDoor(ctx context.Context, door crash.Door, closed bool, person string) error {
	if !slices.Contains(crash.Doors, door) {
		return errNoDoor
	}
	sql, action := sqlOpenDoor, "door.open"
	if closed {
		sql, action = sqlCloseDoor, "door.close"
	}
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, sql, pgx.NamedArgs{"door": door, "now": s.Now(), "person": person})
		if err != nil || tag.RowsAffected() == 0 { // it is so already
			return err
		}
		return s.Audit(ctx, tx, db.AuditEvent{Person: person, Action: action, Subject: string(door),
			Before: map[string]any{"closed": !closed}, After: map[string]any{"closed": closed}})
	})
	return s.changed(ctx, db.Wrap(err, "change door %s", door))
}

// changed makes a change known to the requests of this process at once. Others learn of it by themselves.
func (s *Store) changed(ctx context.Context, err error) error {
	if err != nil {
		return err
	}
	if err := s.Refresh(ctx); err != nil {
		s.Log.WarnContext(ctx, "a change of a door takes effect later", "error", err)
	}
	return nil
}
