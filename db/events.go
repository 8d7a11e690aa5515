package db

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/privacy"
)

const (
	sqlInsertEvent = `
		insert into events
			(edge, kind, at, bucket_id, title, package, source_package, release, version, machines, text, rule_id)
		values (@edge, @kind, @at, @bucket, @title, @package, @source, @release, @version, @machines, @text,
			nullif(@rule::bigint, 0))
		on conflict (edge) do nothing
		returning id`
	sqlInsertNotices = `
		insert into notices (event_id, user_id, reason, at)
		select @event, n.user_id, n.reason, @at
		from unnest(@users::bigint[], @reasons::text[]) as n(user_id, reason)
			join users on users.id = n.user_id and not users.disabled
		where @own::boolean or users.id in (` + Readers + `)
		on conflict do nothing`
	sqlInsertDeliveries = `
		insert into deliveries (event_id, endpoint_id, created, due)
		select @event, id, @at, @at from endpoints where id = any(@endpoints) and disabled is null
		on conflict do nothing`
)

// Publish stores an event and who is told about it, in the transaction that detects it. It returns
// false, and stores nothing, if the same edge has been published before. It sets e.At to the present
// time if it is zero. It ignores disabled accounts and endpoints, and
// people who may not read about the event.
func (s *Handle) Publish(ctx context.Context, tx pgx.Tx, e crash.Event, to crash.Recipients) (bool, error) {
	if !slices.Contains(crash.EventKinds, e.Kind) {
		return false, fmt.Errorf("publish event: unknown kind %q", e.Kind)
	}
	if e.At.IsZero() {
		e.At = s.Now()
	}
	var bucket []byte
	if e.Bucket != nil {
		bucket = e.Bucket[:]
	}
	var id int64
	err := tx.QueryRow(ctx, sqlInsertEvent, pgx.NamedArgs{
		"edge": e.Edge, "kind": e.Kind, "at": e.At, "bucket": bucket, "title": e.Title, "package": e.Package,
		"source": e.Source, "release": e.Release, "version": e.Version, "machines": e.Machines, "text": e.Text,
		"rule": e.Rule,
	}).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("publish event %s: %w", e.Edge, Classify(err))
	}
	users, reasons := make([]int64, len(to.People)), make([]string, len(to.People))
	for i, p := range to.People {
		users[i], reasons[i] = p.User, p.Reason
	}
	if _, err := tx.Exec(ctx, sqlInsertNotices, s.RightsArgs(pgx.NamedArgs{
		"event": id, "users": users, "reasons": reasons, "at": s.Now(), "own": slices.Contains(crash.OwnEvents, e.Kind),
	})); err != nil {
		return false, fmt.Errorf("publish event %s: %w", e.Edge, Classify(err))
	}
	if _, err := tx.Exec(ctx, sqlInsertDeliveries, pgx.NamedArgs{
		"event": id, "endpoints": to.Endpoints, "at": s.Now(),
	}); err != nil {
		return false, fmt.Errorf("publish event %s: %w", e.Edge, Classify(err))
	}
	return true, nil
}

const sqlLockProblem = `
	select b.id, b.rule, b.title, b.name, b.executable, left(b.signature, 1000), b.package, b.source_package
	from buckets as b where b.id = (select head from buckets where id = @bucket) for no key update`

// maxEventTitle is the largest length of the title of an event, in code points.
const maxEventTitle = 200

// LockProblem returns the head of a bucket's problem, as an event describes it: without private
// data. It locks the head, so that changes of one problem follow each other. It returns NotFound
// for an unknown bucket.
func (s *Handle) LockProblem(ctx context.Context, tx pgx.Tx, bucket crash.BucketID) (crash.Event, error) {
	var id crash.BucketID
	var t privacy.Texts
	e := crash.Event{Bucket: &id}
	err := tx.QueryRow(ctx, sqlLockProblem, pgx.NamedArgs{"bucket": bucket[:]}).Scan(
		ScanTo(id[:]), &t.Rule, &t.Title, &t.Name, &t.Executable, &t.Signature, &e.Package, &e.Source)
	if errors.Is(err, pgx.ErrNoRows) {
		return e, crash.ErrUnknownBucket
	}
	if err != nil {
		return e, fmt.Errorf("problem of %s: %w", bucket, Classify(err))
	}
	t = t.Public()
	// The title is the heading of the page for visitors.
	e.Title = crash.Truncate(crash.OneLine(cmp.Or(t.Name, t.Title, t.Signature)), maxEventTitle)
	e.Package, e.Source = privacy.RedactLabel(e.Package), privacy.RedactLabel(e.Source)
	return e, nil
}

// NotStopped is the condition, in SQL, that notifications may be sent: nobody has stopped them, and
// no restore from a backup is pending.
const NotStopped = `(not exists (select from notification_stop)
	and not exists (select from filing_writer where restored is not null))`

const sqlStopOfNotifications = `
	select n.stopped, coalesce(n.person, ''), w.restored from filing_writer as w left join notification_stop as n on true`

// StopState returns why no notifications are sent, or the zero value if they are.
func (s *Handle) StopState(ctx context.Context) (crash.NotificationStop, error) {
	var stop crash.NotificationStop
	err := s.Pool.QueryRow(ctx, sqlStopOfNotifications).Scan(OrZero(&stop.Stopped), &stop.Person, OrZero(&stop.Restored))
	if err != nil {
		return stop, fmt.Errorf("stop of notifications: %w", Classify(err))
	}
	return stop, nil
}
