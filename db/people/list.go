package people

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/db"
)

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

// Of returns who takes care of some problems, and their tags, without those that have neither. The
// ids are those of heads. It does not consider assignees of bugs.
func (s *Store) Of(ctx context.Context, ids []crash.BucketID) (map[crash.BucketID]index.People, error) {
	rows, err := s.Pool.Query(ctx, sqlPeopleOf, pgx.NamedArgs{"ids": db.IDBytes(ids)})
	if err != nil {
		return nil, fmt.Errorf("assignees of problems: %w", db.Classify(err))
	}
	all := map[crash.BucketID]index.People{}
	var id crash.BucketID
	var p index.People
	if _, err := pgx.ForEachRow(rows, []any{db.ScanTo(id[:]), &p.Name, &p.TagList}, func() error {
		all[id] = p
		return nil
	}); err != nil {
		return nil, fmt.Errorf("assignees of problems: %w", db.Classify(err))
	}
	return all, nil
}

const sqlKnownNames = `
	select name, tracker_name from users where not disabled and (
		lower(left(name, length(@begins))) = lower(@begins)
		or tracker_name <> '' and lower(left('~' || tracker_name, length(@begins))) = lower(@begins))
	order by lower(name) limit @limit`

// Names returns up to limit names of accounts, and their names at the tracker, with a prefix.
func (s *Store) Names(ctx context.Context, begins string, limit int) (accounts, atTracker []string, err error) {
	rows, err := s.Pool.Query(ctx, sqlKnownNames, pgx.NamedArgs{"begins": begins, "limit": limit})
	if err != nil {
		return nil, nil, fmt.Errorf("names of accounts: %w", db.Classify(err))
	}
	var name, tracker string
	if _, err := pgx.ForEachRow(rows, []any{&name, &tracker}, func() error {
		accounts = append(accounts, name)
		if tracker != "" {
			atTracker = append(atTracker, "~"+tracker)
		}
		return nil
	}); err != nil {
		return nil, nil, fmt.Errorf("names of accounts: %w", db.Classify(err))
	}
	return accounts, atTracker, nil
}
