package people

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
)

// Read says that a person has read a problem.
type Read struct {
	Reason crash.NewsReason // why it was in the list of new problems
	At     time.Time        // zero: not at all
}

const (
	sqlReads    = `select bucket_id, reason, at from problem_reads where user_id = @user`
	sqlMarkRead = `
		insert into problem_reads as r (user_id, bucket_id, reason, at)
		select @user, n.bucket, n.reason, @now from unnest(@buckets::bytea[], @reasons::text[]) as n (bucket, reason)
		on conflict (user_id, bucket_id) do update set reason = excluded.reason, at = excluded.at
		where r.reason <> excluded.reason`
	sqlMarkUnread = `delete from problem_reads where user_id = @user and bucket_id = any (@buckets::bytea[])`
)

// Reads returns the problems that a person has read.
func (a *Store) Reads(ctx context.Context, user int64) (map[crash.BucketID]Read, error) {
	reads := map[crash.BucketID]Read{}
	var id crash.BucketID
	var read Read
	err := db.Each(ctx, a.store.Pool, sqlReads, pgx.NamedArgs{"user": user},
		[]any{db.ScanTo(id[:]), &read.Reason, &read.At}, func() { reads[id] = read })
	return reads, db.Wrap(err, "problems read")
}

// MarkRead records that a person has read problems, for the given reasons.
func (a *Store) MarkRead(ctx context.Context, user int64, reasons map[crash.BucketID]crash.NewsReason) error {
	if len(reasons) == 0 {
		return nil
	}
	var ids [][]byte
	var texts []string
	for id, reason := range reasons {
		ids, texts = append(ids, id[:]), append(texts, string(reason))
	}
	args := pgx.NamedArgs{"user": user, "buckets": ids, "reasons": texts, "now": a.store.Now()}
	return db.Wrap(db.Exec(ctx, a.store.Pool, args, sqlMarkRead), "mark as read")
}

// MarkUnread undoes MarkRead.
func (a *Store) MarkUnread(ctx context.Context, user int64, ids []crash.BucketID) error {
	keys := make([][]byte, len(ids))
	for i, id := range ids {
		keys[i] = id[:]
	}
	args := pgx.NamedArgs{"user": user, "buckets": keys}
	return db.Wrap(db.Exec(ctx, a.store.Pool, args, sqlMarkUnread), "mark as unread")
}
