package events

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
	"mishap/notify/rules"
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

const (
	// followers selects those who follow an event's package or problem.
	followers = `
		select user_id, 1 as rank, kind, name from followed where @followers::boolean and (
			kind = 'package' and name <> '' and name in (@package, @source)
			or kind = 'problem' and name in (select encode(id, 'hex') from buckets where head = @bucket)
			or kind in ('set', 'person') and exists (
				select from archive_facts as a
				where a.kind = followed.kind and a.value -> 'names' ? @source::text
					and a.key = case followed.kind when 'set' then @series || '/' || followed.name else followed.name end
			))`
	// sqlRecipients omits people whom another rule has already told about the same change, and those who
	// may not read about it any more.
	sqlRecipients = `
		with whom as (` + followers + `
			union all
			select f.user_id, 1, 'search', f.name from unnest(@searchers::bigint[], @searches::text[]) as f (user_id, name)
			where @followers::boolean
			union all select id, 2, 'named', '' from unnest(@users::bigint[]) as id
			union all select id, 3, 'admin', '' from (` + db.Administrators + `) as a where @administrators::boolean
		), told as (
			select n.user_id from events as e join notices as n on n.event_id = e.id
			where e.bucket_id = @bucket and right(e.edge, length(@change)) = @change
			union all
			select n.user_id from events as e join notices as n on n.event_id = e.id
			where @bucket::bytea is null and e.bucket_id is null and e.at > @recent::timestamptz
				and right(e.edge, length(@change)) = @change
		)
		select distinct on (w.user_id) w.user_id, w.kind, w.name
		from whom as w
		where w.user_id in (` + db.Readers + `) and w.user_id not in (select user_id from told)
		order by w.user_id, w.rank, w.kind, w.name`
	sqlReceivers = `
		select p.id from endpoints as p
		where p.id = any(@endpoints) and p.disabled is null and not exists (
			select from events as e join deliveries as d on d.event_id = e.id
			where e.bucket_id = @bucket and d.endpoint_id = p.id and right(e.edge, length(@change)) = @change
		)
		order by p.id`
)

// notify publishes the event of an edge, which concerns these problems, to those whom the rule names,
// if there is anyone.
func (r *round) notify(ctx context.Context, tx pgx.Tx, e rules.Edge, problems ...crash.BucketID) error {
	var searchers []searchFollower
	for _, id := range problems {
		searchers = append(searchers, r.searched[id]...)
	}
	to, err := r.store.recipients(ctx, tx, e, searchers)
	if err != nil {
		return err
	}
	if len(to.People) == 0 && len(to.Endpoints) == 0 {
		return nil
	}
	e.Event.Edge = e.ID()
	_, err = r.store.Publish(ctx, tx, e.Event, to)
	return err
}

// querier is a transaction or a pool.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// recipients returns those whom a rule notifies of an edge. searchers follow searches that list its
// problem.
func (s *Store) recipients(ctx context.Context, q querier, e rules.Edge, searchers []searchFollower) (
	to crash.Recipients, err error,
) {
	a := e.Rule.Actions
	var bucket []byte
	if e.Event.Bucket != nil {
		bucket = e.Event.Bucket[:]
	}
	args := s.RightsArgs(pgx.NamedArgs{
		"followers": a.Followers, "administrators": a.Administrators, "users": a.Users, "endpoints": a.Endpoints,
		"package": e.Event.Package, "source": e.Event.Source, "bucket": bucket, "series": s.series(),
		"change": e.Change(), "recent": s.Now().Add(-stormLookBack),
	})
	users, names := make([]int64, len(searchers)), make([]string, len(searchers))
	for i, f := range searchers {
		users[i], names[i] = f.user, f.name
	}
	args["searchers"], args["searches"] = users, names
	rows, err := q.Query(ctx, sqlRecipients, args)
	if err != nil {
		return to, fmt.Errorf("recipients of rule %d: %w", e.Rule.ID, db.Classify(err))
	}
	to.People, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (p crash.Recipient, err error) {
		var kind, name string
		err = row.Scan(&p.User, &kind, &name)
		p.Reason = reason(kind, name, e.Rule.Name)
		return p, err
	})
	if err != nil {
		return to, fmt.Errorf("recipients of rule %d: %w", e.Rule.ID, db.Classify(err))
	}
	if len(a.Endpoints) == 0 {
		return to, nil
	}
	rows, err = q.Query(ctx, sqlReceivers, args)
	if err != nil {
		return to, fmt.Errorf("endpoints of rule %d: %w", e.Rule.ID, db.Classify(err))
	}
	if to.Endpoints, err = pgx.CollectRows(rows, pgx.RowTo[int64]); err != nil {
		return to, fmt.Errorf("endpoints of rule %d: %w", e.Rule.ID, db.Classify(err))
	}
	return to, nil
}

// reason says why a person gets an event.
func reason(kind, name, rule string) string {
	switch kind {
	case "named":
		return "the rule “" + rule + "” names you"
	case "admin":
		return "you are an administrator"
	case "problem":
		return "you follow this problem"
	case "search":
		return "you follow the search “" + name + "”"
	case "set":
		return "you follow the package set " + name
	case "person":
		return "you follow the packages of " + name
	}
	return "you follow " + name
}

// noticeLifetime is how long notices, mails and the events of rules are stored.
const noticeLifetime = 400 * 24 * time.Hour

// oldBatch is the number of rows that one statement deletes.
const oldBatch = 1000

const (
	// sqlOldEvents deletes events of rules with their notices. The edges of rules prevent repeats.
	sqlOldEvents = `
		delete from events where id in (
			select e.id from events as e
			where e.at < @before and e.rule_id is not null
				and not exists (select from notices as n where n.event_id = e.id and n.mail in ('waiting', 'held'))
				and not exists (select from deliveries as d where d.event_id = e.id and d.state = 'waiting')
			order by e.at limit @limit)`
	// sqlOldNotices deletes notices of other events. These events stay: they prevent repeats.
	sqlOldNotices = `
		delete from notices where id in (
			select n.id from events as e join notices as n on n.event_id = e.id
			where e.at < @before and e.rule_id is null and n.mail not in ('waiting', 'held')
			order by e.at limit @limit)`
	sqlOldMails = `
		delete from mails where id in (select id from mails where ended < @before order by ended limit @limit)`
)

// DeleteOld deletes notices, mails and events of rules that are older than 400 days, unless they have
// yet to be sent. What they were about is not reported again.
func (s *Store) DeleteOld(ctx context.Context) error {
	for _, sql := range []string{sqlOldEvents, sqlOldNotices, sqlOldMails} {
		for deleted := int64(oldBatch); deleted == oldBatch; {
			tag, err := s.Pool.Exec(ctx, sql, pgx.NamedArgs{"before": s.Now().Add(-noticeLifetime), "limit": oldBatch})
			if err != nil {
				return fmt.Errorf("delete old notices: %w", db.Classify(err))
			}
			deleted = tag.RowsAffected()
		}
	}
	return nil
}
