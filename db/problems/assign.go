package problems

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/db"
)

const (
	sqlAssignment = `
		select id, assignee from assignments where bucket_id in ` + db.Members + ` and undone_at is null
		order by id desc limit 1`
	sqlAssign = `
		insert into assignments (bucket_id, assignee, person, at) values (@head, @assignee, @by, @at) returning id`
	sqlUndoAssignment = `update assignments set undone_by = @by, undone_at = @at where id = @id`
	sqlAssignments    = `
		select id, bucket_id, assignee, person, at, coalesce(undone_by, ''), undone_at
		from assignments where bucket_id in ` + db.Members + ` order by id desc limit @limit`
	sqlAccount     = `select name from users where lower(name) = lower(@name) and not disabled`
	sqlCountingBug = `
		select ` + db.BugColumns + ` from bucket_bugs as l ` + db.BugJoins + `
		where l.bucket_id in ` + db.Members + ` order by ` + db.BugOrder + ` limit 1`
	// sqlAccountsOf selects the accounts of an assignee, except that of the person who assigns.
	sqlAccountsOf = `
		select id from users
		where (lower(name) = lower(@assignee) or '~' || tracker_name = @assignee and tracker_name <> '')
			and lower(name) <> lower(@by) and not disabled`
)

var errLaterAssignment = crash.Errorf(crash.Conflict, "assigned_since",
	"This cannot be undone any more: the problem has been assigned again since, or it was undone already.")

// errInTracker explains why a problem cannot be assigned here.
func errInTracker(bug int64, name string) error {
	return crash.Errorf(crash.Conflict, "assigned_in_tracker",
		"Bug %d is assigned to %s in the tracker, and that counts. Change the assignee of the bug.",
		bug, strings.TrimPrefix(name, "~"))
}

// Assign assigns a problem to an account or to a name at the tracker; see [crash.ParseAssignee]. An
// empty name assigns it to nobody. It returns the stored assignment, or one without id if nothing
// changes. It returns Invalid for an unknown account, NotFound for an unknown bucket, and Conflict
// if the problem's bug has an assignee in the tracker.
//
// It publishes an event to the account, unless the person assigns the problem to themselves.
func (s *Store) Assign(ctx context.Context, a crash.Assignment) (stored crash.Assignment, err error) {
	err = s.InTx(ctx, func(tx pgx.Tx) error {
		stored, err = s.assign(ctx, tx, a)
		return err
	})
	return stored, err
}

// AssignIn is like Assign, in a transaction of the caller.
func (s *Store) AssignIn(ctx context.Context, tx pgx.Tx, a crash.Assignment) error {
	_, err := s.assign(ctx, tx, a)
	return err
}

func (s *Store) assign(ctx context.Context, tx pgx.Tx, a crash.Assignment) (crash.Assignment, error) {
	var err error
	if a.Assignee, err = crash.ParseAssignee(a.Assignee); err != nil {
		return a, err
	}
	event, err := s.LockProblem(ctx, tx, a.Bucket)
	if err != nil {
		return a, err
	}
	a.ID, a.Bucket, a.At = 0, *event.Bucket, s.Now()
	args := pgx.NamedArgs{"bucket": a.Bucket[:], "head": a.Bucket[:], "by": a.By, "at": a.At}
	if a.Assignee, err = account(ctx, tx, a.Assignee); err != nil {
		return a, err
	}
	args["assignee"] = a.Assignee
	var bug db.BugScan
	if err := tx.QueryRow(ctx, sqlCountingBug, args).Scan(bug.Columns()...); err != nil &&
		!errors.Is(err, pgx.ErrNoRows) {
		return a, fmt.Errorf("assign %s: %w", a.Bucket, db.Classify(err))
	}
	if name := bug.Bug().AssigneeOf(event.Source); name != "" {
		return a, errInTracker(bug.Bug().Counts(), name)
	}
	_, before, err := present(ctx, tx, a.Bucket)
	if err != nil || before == a.Assignee {
		return a, err
	}
	if err := tx.QueryRow(ctx, sqlAssign, args).Scan(&a.ID); err != nil {
		return a, fmt.Errorf("assign %s: %w", a.Bucket, db.Classify(err))
	}
	if err := s.Audit(ctx, tx, db.AuditEvent{Person: a.By, Action: "problem.assign", Subject: a.Bucket.String(),
		Before: map[string]any{"assignee": before}, After: map[string]any{"assignee": a.Assignee}}); err != nil {
		return a, err
	}
	return a, s.tellAssignee(ctx, tx, event, a)
}

// account returns the name of an account as it is written, or a name at the tracker unchanged.
func account(ctx context.Context, tx pgx.Tx, name string) (string, error) {
	if name == "" || strings.HasPrefix(name, "~") {
		return name, nil
	}
	err := tx.QueryRow(ctx, sqlAccount, pgx.NamedArgs{"name": name}).Scan(&name)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", crash.Errorf(crash.Invalid, "unknown_assignee",
			"There is no account named %q. For a person or team at the tracker, write ~%s.", name, name)
	}
	return name, db.Wrap(err, "account %q", name)
}

// present returns the number and the assignee of the assignment that counts, or 0 and "".
func present(ctx context.Context, tx pgx.Tx, bucket crash.BucketID) (id int64, assignee string, err error) {
	err = tx.QueryRow(ctx, sqlAssignment, pgx.NamedArgs{"bucket": bucket[:]}).Scan(&id, &assignee)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return 0, "", fmt.Errorf("assignee of %s: %w", bucket, db.Classify(err))
	}
	return id, assignee, nil
}

// tellAssignee notifies the accounts of an assignee.
func (s *Store) tellAssignee(ctx context.Context, tx pgx.Tx, e crash.Event, a crash.Assignment) error {
	if a.Assignee == "" {
		return nil
	}
	users, err := db.List(ctx, tx, sqlAccountsOf, pgx.NamedArgs{"assignee": a.Assignee, "by": a.By}, pgx.RowTo[int64])
	if err != nil {
		return fmt.Errorf("accounts of %s: %w", a.Assignee, db.Classify(err))
	}
	if len(users) == 0 {
		return nil
	}
	e.Edge, e.Kind = fmt.Sprintf("assigned:%d", a.ID), crash.EventAssigned
	e.Text = fmt.Sprintf("%s assigned %s to %s.", a.By, e.Title, strings.TrimPrefix(a.Assignee, "~"))
	var to crash.Recipients
	for _, id := range users {
		to.People = append(to.People, crash.Recipient{User: id, Reason: "it was assigned to you"})
	}
	_, err = s.Publish(ctx, tx, e, to)
	return err
}

// UndoAssignment undoes the newest assignment of a problem, so that the one before counts again. It
// returns Conflict if the assignment with this number is not the one that counts.
func (s *Store) UndoAssignment(ctx context.Context, bucket crash.BucketID, id int64, by string) error {
	return s.InTx(ctx, func(tx pgx.Tx) error {
		e, err := s.LockProblem(ctx, tx, bucket)
		if err != nil {
			return err
		}
		newest, assignee, err := present(ctx, tx, *e.Bucket)
		if err != nil {
			return err
		}
		if newest != id || id == 0 {
			return errLaterAssignment
		}
		if _, err := tx.Exec(ctx, sqlUndoAssignment, pgx.NamedArgs{"id": id, "by": by, "at": s.Now()}); err != nil {
			return fmt.Errorf("undo assignment %d: %w", id, err)
		}
		_, after, err := present(ctx, tx, *e.Bucket)
		if err != nil {
			return err
		}
		return s.Audit(ctx, tx, db.AuditEvent{Person: by, Action: "problem.unassign", Subject: e.Bucket.String(),
			Before: map[string]any{"assignee": assignee}, After: map[string]any{"assignee": after},
			Detail: map[string]any{"assignment": id}})
	})
}

// Assignments returns up to limit assignments of a problem and its merged buckets, latest first,
// with those that were undone.
func (s *Store) Assignments(ctx context.Context, bucket crash.BucketID, limit int) ([]crash.Assignment, error) {
	found, err := db.List(ctx, s.Pool, sqlAssignments, pgx.NamedArgs{"bucket": bucket[:], "limit": limit},
		db.Into(func(a *crash.Assignment) []any {
			return []any{&a.ID, db.ScanTo(a.Bucket[:]), &a.Assignee, &a.By, &a.At, &a.UndoneBy, db.OrZero(&a.UndoneAt)}
		}))
	return found, db.Wrap(err, "assignments of %s", bucket)
}

const sqlPeopleOf = `
	select w.id, coalesce(a.assignee, ''), coalesce(t.tags, '')
	from unnest(@ids::bytea[]) as w (id)
		left join lateral (
			select assignee from assignments
			where bucket_id in (select id from buckets where head = w.id) and undone_at is null
			order by id desc limit 1
		) as a on true
		left join lateral (
			select string_agg(distinct tag, ' ' order by tag) as tags from problem_tags
			where bucket_id in (select id from buckets where head = w.id) and removed_at is null
		) as t on true
	where a.assignee <> '' or t.tags <> ''`

// AssigneesAndTags returns who takes care of some problems, and their tags, without those that have neither. The
// ids are those of heads. It does not consider assignees of bugs.
func (s *Store) AssigneesAndTags(ctx context.Context, ids []crash.BucketID) (map[crash.BucketID]index.People, error) {
	all := map[crash.BucketID]index.People{}
	var id crash.BucketID
	var p index.People
	err := db.Each(ctx, s.Pool, sqlPeopleOf, pgx.NamedArgs{"ids": db.IDBytes(ids)},
		[]any{db.ScanTo(id[:]), &p.Name, &p.TagList}, func() { all[id] = p })
	return all, db.Wrap(err, "assignees of problems")
}

const sqlKnownNames = `
	select name, tracker_name from users where not disabled and (
		lower(left(name, length(@begins))) = lower(@begins)
		or tracker_name <> '' and lower(left('~' || tracker_name, length(@begins))) = lower(@begins))
	order by lower(name) limit @limit`

// AssigneeNames returns up to limit names of accounts, and their names at the tracker, with a prefix.
func (s *Store) AssigneeNames(ctx context.Context, begins string, limit int) (accounts, atTracker []string, err error) {
	var name, tracker string
	err = db.Each(ctx, s.Pool, sqlKnownNames, pgx.NamedArgs{"begins": begins, "limit": limit}, []any{&name, &tracker},
		func() {
			accounts = append(accounts, name)
			if tracker != "" {
				atTracker = append(atTracker, "~"+tracker)
			}
		})
	return accounts, atTracker, db.Wrap(err, "names of accounts")
}
