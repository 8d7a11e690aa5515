package people

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
)

// maxFollows is the maximum number of follows of one person.
const maxFollows = 500

// visitGap is the minimum time between two looks that count as two visits.
const visitGap = 30 * time.Minute

var errFollowsTooMuch = crash.Errorf(crash.Conflict, "follows_too_much", "You follow %d things already; stop "+
	"following one first.", maxFollows)

const (
	sqlFollow = `
		insert into followed (user_id, kind, name, since)
		select @user, @kind, @name, @now where (select count(*) from followed where user_id = @user) < @most
		on conflict do nothing returning true`
	// sqlFollows omits searches that were deleted, or that the person cannot see any more.
	sqlFollows = `
		select kind, name, since from followed as f
		where user_id = @user and (kind <> 'search' or exists (
			select from saved_searches as s
			where s.id::text = f.name and s.deleted is null and (s.user_id = f.user_id or s.shared)))
		order by kind, name`
	// whichFollowed selects what a person follows under a name. For a problem, that is the id of any of its
	// buckets: who follows a problem that is merged into another one follows that one from then on.
	whichFollowed = `
		from followed where user_id = @user and kind = @kind and (name = @name or name in (
			select encode(id, 'hex') from buckets where head = (
				select head from buckets where id = case when @kind = 'problem' then decode(@name, 'hex') end)))`
	sqlIsFollowed = `select exists (select ` + whichFollowed + `)`
	sqlUnfollow   = `delete ` + whichFollowed
	sqlVisit      = `
		insert into follow_visits as v (user_id, last) values (@user, @now)
		on conflict (user_id) do update set
			seen = case when excluded.last > v.last + @gap::interval then v.last else v.seen end,
			last = greatest(v.last, excluded.last)
		returning seen, last`
	sqlSeen = `
		insert into follow_visits (user_id, seen, last) values (@user, @seen, @now)
		on conflict (user_id) do update set seen = excluded.seen`
	sqlLockVisit = `select seen from follow_visits where user_id = @user for update`
	sqlArrived   = `
		select w.id from unnest(@ids::bytea[]) as w (id)
		where not exists (
			select from buckets as m join reports as r on r.bucket_id = m.id where m.head = w.id and r.received <= @since)`
)

// Follow makes a person follow f. It does nothing if they follow it already. It returns Conflict if
// the person already follows the maximum number of things.
func (a *Store) Follow(ctx context.Context, user int64, f crash.Follow) error {
	args := pgx.NamedArgs{"user": user, "kind": f.Kind, "name": f.Name, "now": a.store.Now(), "most": maxFollows}
	if f.Kind == crash.FollowProblem { // perhaps by another of its buckets
		if does, err := a.Follows(ctx, user, f); err != nil || does {
			return err
		}
	}
	var done bool
	err := a.store.InTx(ctx, func(tx pgx.Tx) error {
		if err := tx.QueryRow(ctx, sqlFollow, args).Scan(&done); err != nil {
			return err
		}
		return a.store.Audit(ctx, tx, db.AuditEvent{Action: "follow.add", Subject: followObject(f),
			Before: map[string]any{"followed": false}, After: map[string]any{"followed": true}})
	})
	if errors.Is(err, pgx.ErrNoRows) {
		if done, err = a.Follows(ctx, user, f); err == nil && !done {
			return errFollowsTooMuch
		}
	}
	if err != nil {
		return fmt.Errorf("follow: %w", db.Classify(err))
	}
	return nil
}

// Unfollow makes a person no longer follow f. It does nothing if they do not follow it.
func (a *Store) Unfollow(ctx context.Context, user int64, f crash.Follow) error {
	err := a.store.InTx(ctx, func(tx pgx.Tx) error {
		done, err := tx.Exec(ctx, sqlUnfollow, pgx.NamedArgs{"user": user, "kind": f.Kind, "name": f.Name})
		if err != nil || done.RowsAffected() == 0 {
			return err
		}
		return a.store.Audit(ctx, tx, db.AuditEvent{Action: "follow.remove", Subject: followObject(f),
			Before: map[string]any{"followed": true}, After: map[string]any{"followed": false}})
	})
	if err != nil {
		return fmt.Errorf("unfollow: %w", err)
	}
	return nil
}

// Follows reports whether a person follows f.
func (a *Store) Follows(ctx context.Context, user int64, f crash.Follow) (does bool, err error) {
	args := pgx.NamedArgs{"user": user, "kind": f.Kind, "name": f.Name}
	if err := a.store.Pool.QueryRow(ctx, sqlIsFollowed, args).Scan(&does); err != nil {
		return false, fmt.Errorf("is followed: %w", db.Classify(err))
	}
	return does, nil
}

// Followed returns what a person follows, sorted by kind and name, without deleted searches:
// restoring a search restores its follows, too.
func (a *Store) Followed(ctx context.Context, user int64) ([]crash.Follow, error) {
	rows, err := a.store.Pool.Query(ctx, sqlFollows, pgx.NamedArgs{"user": user})
	if err != nil {
		return nil, fmt.Errorf("followed: %w", db.Classify(err))
	}
	follows, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (f crash.Follow, err error) {
		err = row.Scan(&f.Kind, &f.Name, &f.Since)
		return f, err
	})
	if err != nil {
		return nil, fmt.Errorf("followed: %w", db.Classify(err))
	}
	return follows, nil
}

// Visit records that a person looks at the problems that they follow, and returns the visit.
func (a *Store) Visit(ctx context.Context, user int64) (v crash.Visit, err error) {
	args := pgx.NamedArgs{"user": user, "now": a.store.Now(), "gap": visitGap}
	if err := a.store.Pool.QueryRow(ctx, sqlVisit, args).Scan(db.OrZero(&v.Seen), &v.Last); err != nil {
		return v, fmt.Errorf("visit: %w", db.Classify(err))
	}
	return v, nil
}

// SetSeen marks reports that arrived up to a time as seen by a person, and returns the previous
// time. A zero time marks nothing as new.
func (a *Store) SetSeen(ctx context.Context, user int64, seen time.Time) (before time.Time, err error) {
	args := pgx.NamedArgs{"user": user, "seen": db.OrNull(seen), "now": a.store.Now()}
	err = a.store.InTx(ctx, func(tx pgx.Tx) error {
		if err := tx.QueryRow(ctx, sqlLockVisit, args).Scan(db.OrZero(&before)); err != nil &&
			!errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		_, err := tx.Exec(ctx, sqlSeen, args)
		return err
	})
	if err != nil {
		return before, fmt.Errorf("mark as seen: %w", err)
	}
	return before, nil
}

// ArrivedSince returns those of the problems whose stored reports all arrived after a time.
func (a *Store) ArrivedSince(ctx context.Context, ids []crash.BucketID, since time.Time) ([]crash.BucketID, error) {
	keys := make([][]byte, len(ids))
	for i, id := range ids {
		keys[i] = id[:]
	}
	rows, err := a.store.Pool.Query(ctx, sqlArrived, pgx.NamedArgs{"ids": keys, "since": since})
	if err != nil {
		return nil, fmt.Errorf("arrived since: %w", db.Classify(err))
	}
	arrived, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (id crash.BucketID, err error) {
		err = row.Scan(db.ScanTo(id[:]))
		return id, err
	})
	if err != nil {
		return nil, fmt.Errorf("arrived since: %w", db.Classify(err))
	}
	return arrived, nil
}

// followObject returns the object of records about following something: the problem itself, so that all
// records about it have the same object.
func followObject(f crash.Follow) string {
	if f.Kind == crash.FollowProblem {
		return f.Name
	}
	return f.String()
}

const (
	sqlMarks = `
		select kind, name, bucket_id, mark, news, at from follow_marks where user_id = @user
		order by kind, name, bucket_id`
	sqlDropMarks = `
		delete from follow_marks as m
			using unnest(@kinds::text[], @names::text[], @buckets::bytea[]) as d (kind, name, bucket)
		where m.user_id = @user and m.kind = d.kind and m.name = d.name and m.bucket_id = d.bucket`
	// sqlSaveMarks ignores marks of what the person does not follow any more.
	sqlSaveMarks = `
		insert into follow_marks (user_id, kind, name, bucket_id, mark, news, at)
		select f.user_id, f.kind, f.name, n.bucket, n.mark, n.news, n.at
		from unnest(@kinds::text[], @names::text[], @buckets::bytea[], @marks::text[], @news::text[], @ats::timestamptz[])
				as n (kind, name, bucket, mark, news, at)
			join followed as f on f.user_id = @user and f.kind = n.kind and f.name = n.name
		on conflict (user_id, kind, name, bucket_id) do update set
			mark = excluded.mark, news = excluded.news, at = excluded.at`
)

// Marks returns what a person has seen of the problems and searches that they follow.
func (a *Store) Marks(ctx context.Context, user int64) ([]crash.FollowMark, error) {
	rows, err := a.store.Pool.Query(ctx, sqlMarks, pgx.NamedArgs{"user": user})
	if err != nil {
		return nil, fmt.Errorf("marks: %w", db.Classify(err))
	}
	marks, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (m crash.FollowMark, err error) {
		err = row.Scan(&m.Kind, &m.Name, db.ScanTo(m.Bucket[:]), &m.Mark, &m.News, db.OrZero(&m.At))
		return m, err
	})
	if err != nil {
		return nil, fmt.Errorf("marks: %w", db.Classify(err))
	}
	return marks, nil
}

// SaveMarks stores marks of a person, and deletes others.
func (a *Store) SaveMarks(ctx context.Context, user int64, save, drop []crash.FollowMark) error {
	if len(save)+len(drop) == 0 {
		return nil
	}
	err := a.store.InTx(ctx, func(tx pgx.Tx) error {
		for _, step := range []struct {
			sql   string
			marks []crash.FollowMark
		}{{sqlDropMarks, drop}, {sqlSaveMarks, save}} {
			if len(step.marks) == 0 {
				continue
			}
			if _, err := tx.Exec(ctx, step.sql, markArgs(user, step.marks)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("save marks: %w", err)
	}
	return nil
}

func markArgs(user int64, marks []crash.FollowMark) pgx.NamedArgs {
	n := len(marks)
	kinds, names, buckets := make([]string, n), make([]string, n), make([][]byte, n)
	texts, news, ats := make([]string, n), make([]string, n), make([]*time.Time, n)
	for i, m := range marks {
		kinds[i], names[i], buckets[i] = string(m.Kind), m.Name, m.Bucket[:]
		texts[i], news[i], ats[i] = m.Mark, m.News, db.OrNull(m.At)
	}
	return pgx.NamedArgs{"user": user, "kinds": kinds, "names": names, "buckets": buckets, "marks": texts, "news": news,
		"ats": ats}
}
