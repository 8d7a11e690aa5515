package accounts

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
)

const (
	sqlNamed = `
		select n.name, u.name from unnest(@names::text[]) as n (name) join users as u on lower(u.name) = lower(n.name)`
	sqlMentioned = `
		select distinct u.id from unnest(@names::text[]) as n (name) join users as u on lower(u.name) = lower(n.name)
		where not u.disabled and lower(u.name) <> lower(@person) order by u.id`
	sqlEmbargoSources = `
		select distinct b.source_package from embargoes as e join buckets as b on b.id = e.bucket_id
		where e.bucket_id in ` + db.Members + ` and e.lifted_at is null`
	sqlMentionable = `
		select ` + userColumns + ` from users as u
		where not u.disabled and lower(left(u.name, length(@begins))) = lower(@begins)
		order by lower(u.name) limit @limit`
)

// maxMentionable is the number of accounts that Mentionable examines. Only accounts without rights
// count without being returned.
const maxMentionable = 200

// Mentionable returns up to limit names of accounts that begin with a text, regardless of case,
// sorted. These are the accounts that a note about a problem can reach: they are not disabled, have
// a role and, if the problem is embargoed, may see it.
func (a *Store) Mentionable(ctx context.Context, bucket crash.BucketID, begins string, limit int) ([]string, error) {
	rows, err := a.store.Pool.Query(ctx, sqlEmbargoSources, pgx.NamedArgs{"bucket": bucket[:]})
	if err != nil {
		return nil, fmt.Errorf("embargo of %s: %w", bucket, db.Classify(err))
	}
	embargoed, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("embargo of %s: %w", bucket, db.Classify(err))
	}
	rows, err = a.store.Pool.Query(ctx, sqlMentionable, a.withRights(pgx.NamedArgs{"begins": begins,
		"limit": maxMentionable}))
	if err != nil {
		return nil, fmt.Errorf("names of accounts: %w", db.Classify(err))
	}
	users, err := pgx.CollectRows(rows, a.scanUser)
	if err != nil {
		return nil, fmt.Errorf("names of accounts: %w", db.Classify(err))
	}
	var names []string
	for _, u := range users {
		hidden := slices.ContainsFunc(embargoed, func(source string) bool { return !u.Embargoed.Include(source) })
		if u.Role.Allows(crash.RoleViewer) && !hidden && len(names) < limit {
			names = append(names, u.Name)
		}
	}
	return names, nil
}

// Named returns which names are those of accounts, whatever their case, with the names of the
// accounts.
func (a *Store) Named(ctx context.Context, names []string) (map[string]string, error) {
	known := map[string]string{}
	if len(names) == 0 {
		return known, nil
	}
	rows, err := a.store.Pool.Query(ctx, sqlNamed, pgx.NamedArgs{"names": names})
	if err != nil {
		return nil, fmt.Errorf("names of accounts: %w", db.Classify(err))
	}
	var typed, name string
	if _, err := pgx.ForEachRow(rows, []any{&typed, &name}, func() error {
		known[typed] = name
		return nil
	}); err != nil {
		return nil, fmt.Errorf("names of accounts: %w", db.Classify(err))
	}
	return known, nil
}

// mention publishes an event to each account that the text of a note names and the text before did
// not. An account gets at most one event for each note. The events do not contain the text: notes
// are for people who are signed in.
func mention(ctx context.Context, store *db.Store, tx pgx.Tx, bucket crash.BucketID, note int64, before, text,
	person string) error {
	var names []string
	old := crash.Mentions(before)
	for _, m := range crash.Mentions(text) {
		if !slices.ContainsFunc(old, func(o crash.Mention) bool { return strings.EqualFold(o.Name, m.Name) }) {
			names = append(names, m.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	rows, err := tx.Query(ctx, sqlMentioned, pgx.NamedArgs{"names": names, "person": person})
	if err != nil {
		return fmt.Errorf("accounts in note %d: %w", note, db.Classify(err))
	}
	users, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil || len(users) == 0 {
		return db.Classify(err)
	}
	e, err := store.LockProblem(ctx, tx, bucket)
	if err != nil {
		return err
	}
	e.Kind, e.Text = crash.EventMentioned, fmt.Sprintf("%s mentioned you in a note about %s.", person, e.Title)
	for _, user := range users {
		e.Edge = fmt.Sprintf("mentioned:%d:%d", note, user)
		to := crash.Recipients{People: []crash.Recipient{{User: user, Reason: "a note names you"}}}
		if _, err := store.Publish(ctx, tx, e, to); err != nil {
			return err
		}
	}
	return nil
}
