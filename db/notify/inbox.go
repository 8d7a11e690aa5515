package notify

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
)

const (
	noticeColumns = `
		n.id, n.reason, n.at, n.read, n.mail, coalesce(n.mail_id, 0), e.id, e.kind, e.at, e.bucket_id, e.title, e.package,
		e.source_package, e.release, e.version, e.machines, e.text,
		coalesce(e.rule_id, 0)`
	sqlInbox = `
		select` + noticeColumns + ` from notices as n join events as e on e.id = n.event_id
		where n.user_id = @user and (@before::bigint = 0 or n.id < @before)
			and (@kind::text = '' or e.kind = @kind)
			and (@package::text = '' or e.package = @package or e.source_package = @package)
			and (@mail::bigint = 0 or n.mail_id = @mail) and (not @unread::boolean or n.read is null)
		order by n.id desc limit @limit`
	sqlInboxFacets = `
		select e.kind, e.package, count(*) from notices as n join events as e on e.id = n.event_id
		where n.user_id = @user group by e.kind, e.package`
	sqlUnread     = `select count(*) from (select from notices where user_id = @user and read is null limit @limit) as n`
	sqlReadNotice = `update notices set read = @now where user_id = @user and id = @id and read is null`
	sqlReadAll    = `update notices set read = @now where user_id = @user and id <= @id and read is null`
	sqlUnreadSame = `update notices set read = null where user_id = @user and read = @at`
)

// MaxUnread is the largest number of unread notices that Unread counts.
const MaxUnread = 100

// Inbox returns notices of a person, newest first.
func (s *Store) Inbox(ctx context.Context, user int64, f crash.NoticeFilter, limit int) ([]crash.Notice, error) {
	rows, err := s.Pool.Query(ctx, sqlInbox, pgx.NamedArgs{
		"user": user, "kind": f.Kind, "package": f.Package, "mail": f.Mail, "unread": f.Unread, "before": f.Before,
		"limit": limit,
	})
	if err != nil {
		return nil, fmt.Errorf("inbox: %w", db.Classify(err))
	}
	notices, err := pgx.CollectRows(rows, scanNotice)
	if err != nil {
		return nil, fmt.Errorf("inbox: %w", db.Classify(err))
	}
	return notices, nil
}

func scanNotice(row pgx.CollectableRow) (n crash.Notice, err error) {
	var bucket []byte
	e := &n.Event
	err = row.Scan(&n.ID, &n.Reason, &n.At, db.OrZero(&n.Read), &n.Mail, &n.MailID, &e.ID, &e.Kind, &e.At,
		&bucket, &e.Title, &e.Package, &e.Source, &e.Release, &e.Version, &e.Machines, &e.Text, &e.Rule)
	if len(bucket) == len(crash.BucketID{}) {
		e.Bucket = (*crash.BucketID)(bucket)
	}
	return n, err
}

// InboxFacets holds the values by which an inbox can be filtered.
type InboxFacets struct {
	Kinds    map[crash.EventKind]int64
	Packages map[string]int64
}

// InboxFacets returns the kinds and packages of a person's notices.
func (s *Store) InboxFacets(ctx context.Context, user int64) (InboxFacets, error) {
	f := InboxFacets{Kinds: map[crash.EventKind]int64{}, Packages: map[string]int64{}}
	rows, err := s.Pool.Query(ctx, sqlInboxFacets, pgx.NamedArgs{"user": user})
	if err != nil {
		return f, fmt.Errorf("inbox: %w", db.Classify(err))
	}
	var kind crash.EventKind
	var pkg string
	var n int64
	_, err = pgx.ForEachRow(rows, []any{&kind, &pkg, &n}, func() error {
		f.Kinds[kind] += n
		if pkg != "" {
			f.Packages[pkg] += n
		}
		return nil
	})
	if err != nil {
		return f, fmt.Errorf("inbox: %w", db.Classify(err))
	}
	return f, nil
}

// Unread returns how many notices a person has not read, at most MaxUnread.
func (s *Store) Unread(ctx context.Context, user int64) (n int64, err error) {
	if err := s.Pool.QueryRow(ctx, sqlUnread, pgx.NamedArgs{"user": user, "limit": MaxUnread}).Scan(&n); err != nil {
		return 0, fmt.Errorf("count unread notices: %w", db.Classify(err))
	}
	return n, nil
}

// ReadNotices marks a notice of a person as read, or also all older ones. It returns how many were
// unread, and the time by which UnreadNotices undoes this.
func (s *Store) ReadNotices(ctx context.Context, user, id int64, older bool) (n int64, at time.Time, err error) {
	sql, at := sqlReadNotice, s.Now().UTC().Truncate(time.Microsecond)
	if older {
		sql = sqlReadAll
	}
	tag, err := s.Pool.Exec(ctx, sql, pgx.NamedArgs{"user": user, "id": id, "now": at})
	if err != nil {
		return 0, at, fmt.Errorf("mark notices as read: %w", db.Classify(err))
	}
	return tag.RowsAffected(), at, nil
}

// UnreadNotices marks the notices as unread that a person marked as read at this time.
func (s *Store) UnreadNotices(ctx context.Context, user int64, at time.Time) (int64, error) {
	tag, err := s.Pool.Exec(ctx, sqlUnreadSame, pgx.NamedArgs{"user": user, "at": at})
	if err != nil {
		return 0, fmt.Errorf("mark notices as unread: %w", db.Classify(err))
	}
	return tag.RowsAffected(), nil
}
