package endpoints

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
	"mishap/db/reader"
)

// An instance claims an endpoint, makes one attempt of one of its deliveries with no transaction open,
// and releases the endpoint with the outcome. So an endpoint gets one request at a time. A claim ends
// with its instance: another one then sends the delivery again, with the same id.

const (
	// limitWindow is the time to which the limit of an endpoint applies.
	limitWindow = time.Minute
	// maxClaimTime is the longest time that an attempt can take, with its statements.
	maxClaimTime = 5 * time.Minute
	// maxSummarised is the largest number of events that a summary names.
	maxSummarised = 20
)

const (
	sqlClaimedEndpoints  = `select id, claimed_by, claimed <= @overdue from endpoints where claimed_by is not null`
	sqlSenderDead        = `select pg_try_advisory_xact_lock(@instance)`
	sqlReleaseEndpoint   = `update endpoints set claimed_by = null where id = @id and claimed_by = @instance`
	sqlCloseDeadAttempts = `
		update delivery_attempts set ended = @now,
			problem = 'The instance that sent it stopped before it knew the answer. It is sent again with the same id.'
		where ended is null and delivery_id in (
			select id from deliveries where endpoint_id = @id and state = 'waiting')`
)

// ReleaseDeliveries releases the endpoints that were claimed by instances that have died. Their
// deliveries are due again.
func (s *Store) ReleaseDeliveries(ctx context.Context) error {
	type claim struct {
		ID, Instance int64
		Overdue      bool
	}
	rows, err := s.Pool.Query(ctx, sqlClaimedEndpoints, pgx.NamedArgs{"overdue": s.Now().Add(-maxClaimTime)})
	if err != nil {
		return fmt.Errorf("release deliveries: %w", db.Classify(err))
	}
	claims, err := pgx.CollectRows(rows, pgx.RowToStructByPos[claim])
	if err != nil {
		return fmt.Errorf("release deliveries: %w", db.Classify(err))
	}
	for _, c := range claims {
		err := s.InTx(ctx, func(tx pgx.Tx) error {
			var dead bool
			args := pgx.NamedArgs{"id": c.ID, "instance": c.Instance, "now": s.Now()}
			err := tx.QueryRow(ctx, sqlSenderDead, args).Scan(&dead)
			if err != nil || !dead && !c.Overdue {
				return err
			}
			tag, err := tx.Exec(ctx, sqlReleaseEndpoint, args)
			if err != nil || tag.RowsAffected() == 0 {
				return err
			}
			s.Log.WarnContext(ctx, "a delivery was abandoned by its instance and is sent again",
				"endpoint", c.ID, "instance", c.Instance, "instance_died", dead)
			_, err = tx.Exec(ctx, sqlCloseDeadAttempts, args)
			return err
		})
		if err != nil {
			return fmt.Errorf("release deliveries to endpoint %d: %w", c.ID, err)
		}
	}
	return nil
}

const (
	// sqlClaimEndpoint prefers the endpoint that was claimed the longest time ago, so that one with many
	// deliveries, or a slow one, does not delay the others.
	sqlClaimEndpoint = `
		update endpoints set claimed_by = @instance, claimed = @now
		where id = (
			select e.id from endpoints as e
			where e.disabled is null and e.claimed_by is null and (e.not_before is null or e.not_before <= @now)
				and ` + db.NotStopped + `
				and exists (select from deliveries as d
					where d.endpoint_id = e.id and d.state = 'waiting' and d.due <= @now)
			order by e.claimed nulls first, e.id
			limit 1 for update of e skip locked)
		returning id, name, kind, url, channel, per_minute, previous_until, failures, claimed, address, secret,
			previous_secret, window_began, window_sent, limited`
	sqlHoldEndpoint = `
		update endpoints set claimed_by = null, limited = true, not_before = @until where id = @id`
	sqlCountRequest = `
		update endpoints set window_began = @began, window_sent = @sent, limited = false where id = @id`
	deliveryEventColumns = `
		v.id, v.edge, v.kind, v.at, v.bucket_id, v.title, v.package, v.source_package, v.release, v.version, v.machines,
		v.text`
	deliveryColumns = `
		d.id::text, d.endpoint_id, d.created, d.state, d.due, d.attempts, d.resent, coalesce(d.payload, ''),
		coalesce(d.summary::text, ''),` + deliveryEventColumns
	sqlNextDelivery = `
		select` + deliveryColumns + `
		from deliveries as d join events as v on v.id = d.event_id
		where d.endpoint_id = @id and d.state = 'waiting' and d.due <= @now
		order by d.created, d.id
		limit 1`
	sqlBeginAttempt = `
		insert into delivery_attempts (delivery_id, started) values (@delivery, @now) returning id`
	sqlSummarisedEvents = `
		select` + deliveryEventColumns + `
		from deliveries as d join events as v on v.id = d.event_id
		where d.summary = @delivery
		order by v.id
		limit @limit`
)

// ClaimDelivery claims the next delivery that is due, together with its endpoint. It returns false if
// there is none, or notifications are stopped. Where the limit of an endpoint has held back several
// events, ClaimDelivery first replaces them by one summary.
func (s *Store) ClaimDelivery(ctx context.Context) (claim crash.DeliveryClaim, ok bool, err error) {
	instance, err := s.InstanceNumber(ctx)
	if err != nil {
		return claim, false, err
	}
	ctx = reader.AsVisitor(ctx) // deliveries about embargoed problems wait until the embargo is lifted
	for again := true; again && err == nil; {
		claim = crash.DeliveryClaim{Instance: instance}
		err = s.InTx(ctx, func(tx pgx.Tx) (err error) {
			ok, again, err = s.claimDelivery(ctx, tx, &claim)
			return err
		})
	}
	if err != nil {
		return claim, false, fmt.Errorf("claim a delivery: %w", err)
	}
	return claim, ok, nil
}

// claimDelivery returns again if it has held back an endpoint, and there may be another one.
func (s *Store) claimDelivery(ctx context.Context, tx pgx.Tx, claim *crash.DeliveryClaim) (ok, again bool, err error) {
	now := s.Now()
	var sealed sealedEndpoint
	var began time.Time
	var sent int
	var limited bool
	to := &claim.To
	row := tx.QueryRow(ctx, sqlClaimEndpoint, pgx.NamedArgs{"instance": claim.Instance, "now": now})
	err = row.Scan(&to.ID, &to.Name, &to.Kind, &to.Host, &to.Channel, &to.PerMinute, db.OrZero(&to.PreviousUntil),
		&to.Failures, &claim.Claimed, &sealed.address, &sealed.secret, &sealed.previous, db.OrZero(&began), &sent, &limited)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, false, nil
	}
	if err != nil {
		return false, false, err
	}
	args := pgx.NamedArgs{"id": to.ID, "now": now, "until": began.Add(limitWindow)}
	if now.Before(began.Add(limitWindow)) && sent >= to.PerMinute {
		_, err := tx.Exec(ctx, sqlHoldEndpoint, args)
		return false, true, err
	}
	if !now.Before(began.Add(limitWindow)) {
		began, sent = now, 0
	}
	if limited {
		if err := s.summarise(ctx, tx, to.ID, now); err != nil {
			return false, false, err
		}
		args["now"] = s.Now() // the summary is due now
	}
	args["began"], args["sent"] = began, sent+1
	if _, err := tx.Exec(ctx, sqlCountRequest, args); err != nil {
		return false, false, err
	}
	rows, err := tx.Query(ctx, sqlNextDelivery, args)
	if err != nil {
		return false, false, err
	}
	if claim.Delivery, err = pgx.CollectExactlyOneRow(rows, scanDelivery); err != nil {
		return false, false, err
	}
	args["delivery"], args["limit"] = claim.ID, maxSummarised
	if err := tx.QueryRow(ctx, sqlBeginAttempt, args).Scan(&claim.Attempt); err != nil {
		return false, false, err
	}
	if claim.Event.Kind == crash.EventMany && claim.Payload == "" {
		rows, err := tx.Query(ctx, sqlSummarisedEvents, args)
		if err != nil {
			return false, false, err
		}
		if claim.Summarised, err = pgx.CollectRows(rows, scanDeliveryEvent); err != nil {
			return false, false, err
		}
	}
	s.openEndpoint(ctx, to, sealed)
	return true, false, nil
}

func scanDelivery(row pgx.CollectableRow) (d crash.Delivery, err error) {
	into := []any{&d.ID, &d.Endpoint, &d.Created, &d.State, &d.Due, &d.Attempts, &d.Resent, &d.Payload, &d.Summary}
	return d, scanEventAfter(row, &d.Event, into...)
}

func scanDeliveryEvent(row pgx.CollectableRow) (e crash.Event, err error) {
	return e, scanEventAfter(row, &e)
}

// scanEventAfter scans the columns into, and then those of an event.
func scanEventAfter(row pgx.CollectableRow, e *crash.Event, into ...any) error {
	var bucket []byte
	err := row.Scan(append(into, &e.ID, &e.Edge, &e.Kind, &e.At, &bucket, &e.Title, &e.Package, &e.Source, &e.Release,
		&e.Version, &e.Machines, &e.Text)...)
	if err == nil && len(bucket) == len(crash.BucketID{}) {
		id := crash.BucketID(bucket)
		e.Bucket = &id
	}
	return err
}

const (
	// sqlHeldDeliveries selects the deliveries that a summary replaces: those that were never sent, and
	// that no person has asked for.
	sqlHeldDeliveries = `
		select d.id::text, v.kind
		from deliveries as d join events as v on v.id = d.event_id
		where d.endpoint_id = @id and d.state = 'waiting' and d.due <= @now and d.payload is null and d.resent = 0
			and v.kind <> 'many'
		order by d.created, d.id
		for update of d`
	sqlSummaryOfEdge = `
		select d.id::text from deliveries as d join events as v on v.id = d.event_id
		where v.edge = @edge and d.endpoint_id = @id`
	sqlSummariseDeliveries = `
		update deliveries set state = 'summarised', summary = @summary where id = any(@held::text[]::uuid[])`
)

// summarise replaces the deliveries that the limit of an endpoint has held back by one summary, if
// there are at least two.
func (s *Store) summarise(ctx context.Context, tx pgx.Tx, endpoint int64, now time.Time) error {
	rows, err := tx.Query(ctx, sqlHeldDeliveries, pgx.NamedArgs{"id": endpoint, "now": now})
	if err != nil {
		return err
	}
	kinds := map[crash.EventKind]int64{}
	var id string
	var kind crash.EventKind
	var held []string
	if _, err := pgx.ForEachRow(rows, []any{&id, &kind}, func() error {
		held = append(held, id)
		kinds[kind]++
		return nil
	}); err != nil || len(held) < 2 {
		return err
	}
	var parts []string
	for _, kind := range crash.EventKinds {
		if n := kinds[kind]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d × %s", n, kind))
		}
	}
	event := crash.Event{
		Edge: fmt.Sprintf("many:endpoint %d:%d", endpoint, now.UnixMicro()), Kind: crash.EventMany, At: now,
		Title: fmt.Sprintf("%d more events", len(held)),
		Text:  "More events than the limit of this endpoint permits in a minute: " + strings.Join(parts, ", ") + ".",
	}
	published, err := s.Publish(ctx, tx, event, crash.Recipients{Endpoints: []int64{endpoint}})
	if err == nil && !published {
		err = fmt.Errorf("the summary %s exists already", event.Edge)
	}
	if err != nil {
		return err
	}
	args := pgx.NamedArgs{"id": endpoint, "edge": event.Edge, "held": held}
	var summary string
	if err := tx.QueryRow(ctx, sqlSummaryOfEdge, args).Scan(&summary); err != nil {
		return err
	}
	args["summary"] = summary
	_, err = tx.Exec(ctx, sqlSummariseDeliveries, args)
	return err
}
