package problems

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"mishap/crash"
	"mishap/db"
)

// maxSearches is the largest number of saved searches of one person.
const maxSearches = 100

var (
	errSearchName = crash.Errorf(crash.Conflict, "search_name_taken",
		"You already have a saved search with this name. Choose another name.")
	errTooManySearches = crash.Errorf(crash.Conflict, "too_many_searches",
		"You have %d saved searches, the most that one person can have. Delete one first.", maxSearches)
	errNoSearch = crash.Errorf(crash.NotFound, "no_such_search", "There is no such saved search.")
)

const (
	sqlSavedSearches = `
		select s.id, s.name, s.path, s.shared, u.name, s.user_id, s.created
		from saved_searches as s join users as u on u.id = s.user_id
		where s.deleted is null and (s.user_id = @user or s.shared) order by lower(s.name), s.id`
	sqlSavedSearch = `
		select s.id, s.name, s.path, s.shared, u.name, s.user_id, s.created
		from saved_searches as s join users as u on u.id = s.user_id
		where s.id = @id and (s.user_id = @user or s.shared) and (s.deleted is not null) = @deleted`
	sqlSaveSearch = `
		insert into saved_searches (user_id, name, path, shared, created)
		select @user, @name, @path, @shared, @now
		where (select count(*) from saved_searches where user_id = @user and deleted is null) < @most
		returning id`
	sqlLockSearch = `
		select name, path, shared from saved_searches where id = @id and (deleted is not null) = @deleted for update`
	sqlChangeSearch  = `update saved_searches set name = @name, shared = @shared where id = @id`
	sqlDeleteSearch  = `update saved_searches set deleted = @now where id = @id`
	sqlRestoreSearch = `update saved_searches set deleted = null where id = @id`
)

// SavedSearches returns the searches of a person and those that others share, by name.
func (a *Store) SavedSearches(ctx context.Context, user int64) ([]crash.SavedSearch, error) {
	rows, err := a.Pool.Query(ctx, sqlSavedSearches, pgx.NamedArgs{"user": user})
	if err != nil {
		return nil, fmt.Errorf("saved searches: %w", db.Classify(err))
	}
	searches, err := pgx.CollectRows(rows, scanSearch)
	if err != nil {
		return nil, fmt.Errorf("saved searches: %w", db.Classify(err))
	}
	return searches, nil
}

func scanSearch(row pgx.CollectableRow) (s crash.SavedSearch, err error) {
	err = row.Scan(&s.ID, &s.Name, &s.Path, &s.Shared, &s.Owner, &s.OwnerID, &s.Created)
	return s, err
}

// SavedSearch returns a search that a person can see, live or deleted. It returns NotFound if there
// is none, also for the personal searches of others.
func (a *Store) SavedSearch(ctx context.Context, user, id int64, deleted bool) (crash.SavedSearch, error) {
	rows, err := a.Pool.Query(ctx, sqlSavedSearch, pgx.NamedArgs{"user": user, "id": id, "deleted": deleted})
	if err != nil {
		return crash.SavedSearch{}, fmt.Errorf("saved search: %w", db.Classify(err))
	}
	s, err := pgx.CollectExactlyOneRow(rows, scanSearch)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return s, errNoSearch
	case err != nil:
		return s, fmt.Errorf("saved search: %w", db.Classify(err))
	}
	return s, nil
}

// SaveSearch stores a search of its owner and returns its id. It returns Conflict if the owner has
// another one with this name, or too many.
func (a *Store) SaveSearch(ctx context.Context, s crash.SavedSearch) (id int64, err error) {
	err = a.InTx(ctx, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, sqlSaveSearch, pgx.NamedArgs{
			"user": s.OwnerID, "name": s.Name, "path": s.Path, "shared": s.Shared, "now": a.Now(), "most": maxSearches,
		}).Scan(&id)
		if errors.Is(err, pgx.ErrNoRows) {
			return errTooManySearches
		}
		if err != nil {
			return err
		}
		return a.Audit(ctx, tx, db.AuditEvent{Action: "search.save", Subject: s.Name, After: auditedSearch(s),
			Detail: map[string]any{"search": id}})
	})
	return id, searchError("save a search", err)
}

// ChangeSearch changes the name of a search, and whether it is shared.
func (a *Store) ChangeSearch(ctx context.Context, s crash.SavedSearch) error {
	return a.changeSearch(ctx, "search.change", sqlChangeSearch,
		pgx.NamedArgs{"id": s.ID, "name": s.Name, "shared": s.Shared, "deleted": false},
		func(e *db.AuditEvent, was crash.SavedSearch) {
			s.Path = was.Path
			e.Before, e.After = auditedSearch(was), auditedSearch(s)
		})
}

// DeleteSearch deletes a search. RestoreSearch undoes that.
func (a *Store) DeleteSearch(ctx context.Context, id int64) error {
	return a.changeSearch(ctx, "search.delete", sqlDeleteSearch, pgx.NamedArgs{"id": id, "now": a.Now(),
		"deleted": false}, func(e *db.AuditEvent, was crash.SavedSearch) { e.Before = auditedSearch(was) })
}

// RestoreSearch restores a deleted search. It returns Conflict if its name is in use again.
func (a *Store) RestoreSearch(ctx context.Context, id int64) error {
	return a.changeSearch(ctx, "search.restore", sqlRestoreSearch, pgx.NamedArgs{"id": id, "deleted": true},
		func(e *db.AuditEvent, was crash.SavedSearch) { e.After = auditedSearch(was) })
}

// changeSearch executes a statement that changes one search, and records it with what values returns for
// the search before the change. It returns NotFound if there is no such search.
func (a *Store) changeSearch(ctx context.Context, action, sql string, args pgx.NamedArgs,
	values func(e *db.AuditEvent, was crash.SavedSearch)) error {
	return searchError(action, a.InTx(ctx, func(tx pgx.Tx) error {
		var was crash.SavedSearch
		err := tx.QueryRow(ctx, sqlLockSearch, args).Scan(&was.Name, &was.Path, &was.Shared)
		if errors.Is(err, pgx.ErrNoRows) {
			return errNoSearch
		}
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sql, args); err != nil {
			return err
		}
		event := db.AuditEvent{Action: action, Subject: was.Name, Detail: map[string]any{"search": args["id"]}}
		values(&event, was)
		return a.Audit(ctx, tx, event)
	}))
}

// auditedSearch returns what the audit log says about a search.
func auditedSearch(s crash.SavedSearch) map[string]any {
	return map[string]any{"name": s.Name, "path": s.Path, "shared": s.Shared}
}

// searchError wraps an error of the database. A duplicate name is a Conflict.
func searchError(what string, err error) error {
	if err == nil {
		return nil
	}
	if violation, ok := errors.AsType[*pgconn.PgError](err); ok && violation.ConstraintName == "saved_searches_name" {
		return errSearchName
	}
	return fmt.Errorf("%s: %w", what, db.Classify(err))
}
