package accounts

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
)

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
