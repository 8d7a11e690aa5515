package events

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"mishap/crash"
	"mishap/db"
)

// deliveriesKept is how long finished deliveries are stored.
const deliveriesKept = 30 * 24 * time.Hour

var errNoDelivery = crash.Errorf(crash.NotFound, "unknown_delivery", "There is no such delivery.")

// DeliveryFilter selects deliveries of an endpoint.
type DeliveryFilter struct {
	Endpoint int64
	State    crash.DeliveryState // empty: any
	Summary  crash.DeliveryID    // those that this delivery mentions; empty: any
	Before   time.Time           // stored before this time and, at the same time, with a smaller id; zero: newest
	BeforeID crash.DeliveryID
	Limit    int
}

const (
	sqlDeliveries = `
		select` + deliveryColumns + `
		from deliveries as d join events as v on v.id = d.event_id
		where d.endpoint_id = @endpoint and (@state = '' or d.state = @state)
			and (@summary = '' or d.summary = nullif(@summary, '')::uuid)
			and (@before::timestamptz is null
				or (d.created, d.id) < (@before, nullif(@beforeid, '')::uuid))
		order by d.created desc, d.id desc
		limit @limit`
	sqlDelivery = `
		select` + deliveryColumns + `
		from deliveries as d join events as v on v.id = d.event_id
		where d.endpoint_id = @endpoint and d.id = @id`
	sqlDeliveryAttempts = `
		select started, ended, status, answer, problem from delivery_attempts
		where delivery_id = @id order by id desc limit 100`
	sqlDeliveryStates = `select state, count(*) from deliveries where endpoint_id = @endpoint group by state`
)

// Deliveries returns deliveries of an endpoint, newest first.
func (s *Store) Deliveries(ctx context.Context, f DeliveryFilter) ([]crash.Delivery, error) {
	list, err := db.List(ctx, s.Pool, sqlDeliveries, pgx.NamedArgs{"endpoint": f.Endpoint, "state": f.State,
		"summary": f.Summary, "before": db.OrNull(f.Before), "beforeid": f.BeforeID, "limit": f.Limit}, scanDelivery)
	return list, db.Wrap(err, "deliveries")
}

// DeliveryStates returns the number of deliveries of an endpoint in each state.
func (s *Store) DeliveryStates(ctx context.Context, endpoint int64) (map[crash.DeliveryState]int64, error) {
	states := map[crash.DeliveryState]int64{}
	var state crash.DeliveryState
	var n int64
	err := db.Each(ctx, s.Pool, sqlDeliveryStates, pgx.NamedArgs{"endpoint": endpoint}, []any{&state, &n},
		func() { states[state] = n })
	return states, db.Wrap(err, "states of deliveries")
}

// Delivery returns a delivery of an endpoint with its attempts, newest first. It returns NotFound if
// there is none.
func (s *Store) Delivery(
	ctx context.Context, endpoint int64, id crash.DeliveryID,
) (d crash.Delivery, attempts []crash.DeliveryAttempt, err error) {
	d, err = db.One(ctx, s.Pool, sqlDelivery, pgx.NamedArgs{"endpoint": endpoint, "id": id}, scanDelivery)
	if err != nil {
		return d, nil, db.WrapOr(err, errNoDelivery, "delivery %s", id)
	}
	attempts, err = db.List(ctx, s.Pool, sqlDeliveryAttempts, pgx.NamedArgs{"id": d.ID},
		db.Into(func(a *crash.DeliveryAttempt) []any {
			return []any{&a.Started, db.OrZero(&a.Ended), &a.Status, &a.Answer, &a.Problem}
		}))
	return d, attempts, db.Wrap(err, "attempts of delivery %s", id)
}

const (
	// sqlSendAgain makes a waiting delivery due, and begins the schedule of another one again.
	sqlSendAgain = `
		with old as (select id, state, due from deliveries where id = @id and endpoint_id = @endpoint for update)
		update deliveries as d set state = 'waiting', due = @now,
			attempts = case when d.state = 'waiting' then d.attempts else 0 end,
			resent = d.resent + case when d.state = 'waiting' then 0 else 1 end
		from old, endpoints as e
		where d.id = old.id and e.id = d.endpoint_id
		returning e.name, e.disabled is not null, old.state, old.due`
	sqlEndPause = `update endpoints set not_before = null where id = @endpoint`
)

// SendAgain makes a delivery due at once, with the same id and payload. It returns NotFound if there is
// none, and Conflict if the endpoint is off.
func (s *Store) SendAgain(ctx context.Context, endpoint int64, id crash.DeliveryID, person string) error {
	return s.InTx(ctx, func(tx pgx.Tx) error {
		var name, state string
		var off bool
		var due time.Time
		now := s.Now()
		args := pgx.NamedArgs{"endpoint": endpoint, "id": id, "now": now}
		err := tx.QueryRow(ctx, sqlSendAgain, args).Scan(&name, &off, &state, &due)
		if err != nil {
			return db.WrapOr(err, errNoDelivery, "send delivery %s again", id)
		}
		if off {
			return crash.Errorf(crash.Conflict, "endpoint_off", "“%s” is switched off. Switch it on first.", name)
		}
		if _, err := tx.Exec(ctx, sqlEndPause, args); err != nil {
			return fmt.Errorf("send delivery %s again: %w", id, err)
		}
		return s.Audit(ctx, tx, db.AuditEvent{Person: person, Action: "delivery.again", Subject: name,
			Before: map[string]any{"state": state, "due": due}, After: map[string]any{"state": "waiting", "due": now},
			Detail: map[string]any{"endpoint": endpoint, "delivery": id}})
	})
}

// sqlDeleteOldDeliveries deletes in portions, so that no statement takes long.
const sqlDeleteOldDeliveries = `
	delete from deliveries where id in (
		select id from deliveries where state <> 'waiting' and created < @before limit 10000)`

// DeleteOldDeliveries deletes finished deliveries, with their attempts, after 30 days.
func (s *Store) DeleteOldDeliveries(ctx context.Context) error {
	_, err := s.Pool.Exec(ctx, sqlDeleteOldDeliveries, pgx.NamedArgs{"before": s.Now().Add(-deliveriesKept)})
	return db.Wrap(err, "delete old deliveries")
}

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
	claims, err := db.List(ctx, s.Pool, sqlClaimedEndpoints, pgx.NamedArgs{"overdue": s.Now().Add(-maxClaimTime)},
		pgx.RowToStructByPos[claim])
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
			return db.Exec(ctx, tx, args, sqlCloseDeadAttempts)
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
	ctx = db.AsVisitor(ctx) // deliveries about embargoed problems wait until the embargo is lifted
	for again := true; again && err == nil; {
		claim = crash.DeliveryClaim{Instance: instance}
		err = s.InTx(ctx, func(tx pgx.Tx) (err error) {
			ok, again, err = s.claimDelivery(ctx, tx, &claim)
			return err
		})
		if errors.Is(err, errNoneLeft) {
			again, err = true, nil
		}
	}
	return claim, ok, db.Wrap(err, "claim a delivery")
}

// errNoneLeft undoes the claim of an endpoint whose delivery is no longer due: another instance has just
// sent it, or its problem was embargoed.
var errNoneLeft = errors.New("no delivery is left")

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
	if err != nil {
		return false, false, db.NoRows(err, nil)
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
	claim.Delivery, err = db.One(ctx, tx, sqlNextDelivery, args, scanDelivery)
	if err != nil {
		return false, false, db.NoRows(err, errNoneLeft)
	}
	args["delivery"], args["limit"] = claim.ID, maxSummarised
	if err := tx.QueryRow(ctx, sqlBeginAttempt, args).Scan(&claim.Attempt); err != nil {
		return false, false, err
	}
	if claim.Event.Kind == crash.EventMany && claim.Payload == "" {
		if claim.Summarised, err = db.List(ctx, tx, sqlSummarisedEvents, args, scanDeliveryEvent); err != nil {
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
	return row.Scan(append(into, &e.ID, &e.Edge, &e.Kind, &e.At, &e.Bucket, &e.Title, &e.Package,
		&e.Source, &e.Release, &e.Version, &e.Machines, &e.Text)...)
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
	kinds := map[crash.EventKind]int64{}
	var id string
	var kind crash.EventKind
	var held []string
	if err := db.Each(ctx, tx, sqlHeldDeliveries, pgx.NamedArgs{"id": endpoint, "now": now}, []any{&id, &kind},
		func() {
			held = append(held, id)
			kinds[kind]++
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
	return db.Exec(ctx, tx, args, sqlSummariseDeliveries)
}

// ErrLostDelivery is returned if another instance has taken over a delivery, or a person has deleted
// its endpoint.
var ErrLostDelivery = crash.Errorf(crash.Conflict, "lost_delivery", "Another instance has taken over the delivery.")

const (
	sqlSavePayload = `
		update deliveries as d set payload = coalesce(d.payload, @payload)
		from endpoints as e
		where d.id = @delivery and e.id = d.endpoint_id and e.claimed_by = @instance and e.claimed = @claimed
		returning d.payload`
	sqlLockClaimed = `
		select name, coalesce(owner_id, 0), disabled is not null from endpoints
		where id = @id and claimed_by = @instance and claimed = @claimed
		for update`
	sqlEndAttempt = `
		update delivery_attempts set ended = @now, status = @status, answer = @answer, problem = @problem
		where id = @attempt`
	sqlInterruptEndpoint = `update endpoints set claimed_by = null where id = @id`
	sqlEndpointSucceeded = `
		update endpoints set claimed_by = null, not_before = @pause, last_success = @now, success_status = @status,
			failures = 0
		where id = @id`
	sqlEndpointFailed = `
		update endpoints set claimed_by = null, not_before = @pause, last_failure = @now, failure_status = @status,
			failure_answer = @failure, failures = failures + 1
		where id = @id`
	// sqlEndDelivery keeps the time of a delivery that a person has sent again during the attempt.
	sqlEndDelivery = `
		update deliveries set state = @state,
			due = case when due > (select started from delivery_attempts where id = @attempt) then due
				else coalesce(@due, due) end,
			attempts = case when @state = 'delivered' then attempts else attempts + 1 end
		where id = @delivery`
	sqlEndpointOff    = `update endpoints set disabled = @now, disabled_why = @off where id = @id`
	sqlToldOfEndpoint = `
		select id from users
		where not disabled and (id = @owner or id in (` + db.Administrators + `) and not exists (
			select from users as o where o.id = @owner and not o.disabled))`
)

// SavePayload stores the body of the first attempt of a delivery, and returns the one to send: that of
// the first attempt. It returns ErrLostDelivery if the claim has ended.
func (s *Store) SavePayload(ctx context.Context, claim crash.DeliveryClaim, payload string) (string, error) {
	args := claimArgs(claim)
	args["payload"] = payload
	err := s.Pool.QueryRow(ctx, sqlSavePayload, args).Scan(&payload)
	return payload, db.WrapOr(err, ErrLostDelivery, "payload of delivery %s", claim.ID)
}

func claimArgs(claim crash.DeliveryClaim) pgx.NamedArgs {
	return pgx.NamedArgs{"id": claim.To.ID, "delivery": claim.ID, "instance": claim.Instance, "claimed": claim.Claimed,
		"attempt": claim.Attempt}
}

// FinishDelivery stores the outcome of an attempt and releases the endpoint. If the outcome switches
// the endpoint off, its owner is told in the same transaction. It returns ErrLostDelivery, and stores
// nothing, if the claim has ended.
func (s *Store) FinishDelivery(ctx context.Context, claim crash.DeliveryClaim, o crash.DeliveryOutcome) error {
	args := claimArgs(claim)
	args["now"], args["status"], args["answer"], args["problem"] = s.Now(), o.Status, o.Answer, o.Problem
	args["state"], args["due"], args["pause"], args["off"] = string(o.State), db.OrNull(o.Due), db.OrNull(o.Pause), o.Off
	args["failure"] = cmp.Or(o.Answer, o.Problem)
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		var off bool
		err := tx.QueryRow(ctx, sqlLockClaimed, args).Scan(&claim.To.Name, &claim.To.Owner, &off)
		if err != nil {
			return db.NoRows(err, ErrLostDelivery)
		}
		statements := []string{sqlEndAttempt, sqlEndpointFailed, sqlEndDelivery}
		switch {
		case o.Interrupted:
			statements = []string{sqlEndAttempt, sqlInterruptEndpoint}
		case o.State == crash.DeliveryDelivered:
			statements[1] = sqlEndpointSucceeded
		}
		if err := db.Exec(ctx, tx, args, statements...); err != nil {
			return err
		}
		if o.Off == "" || off {
			return nil
		}
		return s.switchOff(ctx, tx, claim.To, args)
	})
	return db.Wrap(err, "outcome of delivery %s", claim.ID)
}

// switchOff switches an endpoint off and tells its owner, or all administrators, by inbox and mail.
func (s *Store) switchOff(ctx context.Context, tx pgx.Tx, e crash.Endpoint, args pgx.NamedArgs) error {
	if _, err := tx.Exec(ctx, sqlEndpointOff, args); err != nil {
		return err
	}
	people, err := db.List(ctx, tx, sqlToldOfEndpoint, s.RightsArgs(pgx.NamedArgs{"owner": e.Owner}),
		func(row pgx.CollectableRow) (r crash.Recipient, err error) {
			err = row.Scan(&r.User)
			r.Reason = "you are an administrator"
			if r.User == e.Owner {
				r.Reason = "you own this endpoint"
			}
			return r, err
		})
	if err != nil {
		return err
	}
	_, err = s.Publish(ctx, tx, crash.Event{
		Edge:  fmt.Sprintf("endpoint off:%d:%s:%d", e.ID, args["delivery"], args["attempt"]),
		Kind:  crash.EventEndpointOff,
		Title: "The endpoint “" + e.Name + "” was switched off",
		Text: fmt.Sprintf("%s Events no longer reach “%s”. An administrator can switch it on again under Notifications.",
			args["off"], e.Name),
	}, crash.Recipients{People: people})
	if err != nil {
		return err
	}
	return s.Audit(ctx, tx, db.AuditEvent{Action: "endpoint.off", Subject: e.Name,
		Before: map[string]any{"on": true}, After: map[string]any{"on": false},
		Detail: map[string]any{"endpoint": e.ID, "why": args["off"]}})
}

// RotationTime is how long the previous secret of a webhook signs after a rotation, beside the new one.
const RotationTime = 24 * time.Hour

var errNoEndpoint = crash.Errorf(crash.NotFound, "unknown_endpoint", "There is no such endpoint.")

const (
	selectEndpoints = `
		select e.id, e.name, e.kind, e.url, e.channel, coalesce(e.owner_id, 0), coalesce(u.name, ''), e.per_minute,
			e.previous_until, e.created, e.disabled, e.disabled_why, e.last_success, e.success_status, e.last_failure,
			e.failure_status, e.failure_answer, e.failures, e.not_before,
			(select count(*) from deliveries as d where d.endpoint_id = e.id and d.state = 'waiting')
		from endpoints as e left join users as u on u.id = e.owner_id`
	sqlEndpoints       = selectEndpoints + ` order by lower(e.name)`
	sqlEndpoint        = selectEndpoints + ` where e.id = @id`
	sqlEndpointSecrets = `select address, secret, previous_secret from endpoints where id = @id`
)

// Endpoints returns all endpoints by name, without secrets.
func (s *Store) Endpoints(ctx context.Context) ([]crash.Endpoint, error) {
	list, err := db.List(ctx, s.Pool, sqlEndpoints, nil, scanEndpoint)
	return list, db.Wrap(err, "endpoints")
}

// Endpoint returns an endpoint without secrets. It returns NotFound if there is none.
func (s *Store) Endpoint(ctx context.Context, id int64) (crash.Endpoint, error) {
	e, err := db.One(ctx, s.Pool, sqlEndpoint, pgx.NamedArgs{"id": id}, scanEndpoint)
	return e, db.WrapOr(err, errNoEndpoint, "endpoint %d", id)
}

func scanEndpoint(row pgx.CollectableRow) (e crash.Endpoint, err error) {
	err = row.Scan(&e.ID, &e.Name, &e.Kind, &e.Host, &e.Channel, &e.Owner, &e.OwnerName, &e.PerMinute,
		db.OrZero(&e.PreviousUntil), &e.Created, db.OrZero(&e.Disabled), &e.DisabledWhy, db.OrZero(&e.LastSuccess),
		&e.SuccessStatus, db.OrZero(&e.LastFailure), &e.FailureStatus, &e.FailureAnswer, &e.Failures,
		db.OrZero(&e.NotBefore), &e.Waiting)
	return e, err
}

// EndpointWithSecrets returns an endpoint with its secrets, for a request to it. It returns NotFound if
// there is none.
func (s *Store) EndpointWithSecrets(ctx context.Context, id int64) (crash.Endpoint, error) {
	e, err := s.Endpoint(ctx, id)
	if err != nil {
		return e, err
	}
	var sealed sealedEndpoint
	err = s.Pool.QueryRow(ctx, sqlEndpointSecrets, pgx.NamedArgs{"id": id}).
		Scan(&sealed.address, &sealed.secret, &sealed.previous)
	if err != nil {
		return e, db.WrapOr(err, errNoEndpoint, "endpoint %d", id)
	}
	s.openEndpoint(ctx, &e, sealed)
	return e, nil
}

// sealedEndpoint holds the encrypted secrets of an endpoint.
type sealedEndpoint struct{ address, secret, previous string }

// openEndpoint decrypts the secrets of an endpoint. One that cannot be decrypted, because the password
// of the database has changed, remains empty; package webhook reports that.
func (s *Store) openEndpoint(ctx context.Context, e *crash.Endpoint, sealed sealedEndpoint) {
	for _, one := range []struct {
		sealed, purpose string
		into            *crash.Secret
	}{
		{sealed.address, endpointAddress, &e.Address}, {sealed.secret, endpointSecret, &e.Secret},
		{sealed.previous, endpointSecret, &e.Previous},
	} {
		if one.sealed == "" {
			continue
		}
		secret, err := s.OpenSecret(one.sealed, endpointContext(e.ID, one.purpose))
		if err != nil {
			s.Log.WarnContext(ctx, "enter the secrets of an endpoint again at /admin/notifications",
				"endpoint", e.Name, "secret", one.purpose, "error", err)
			continue
		}
		*one.into = secret
	}
}

// The purposes of the encrypted secrets of an endpoint.
const (
	endpointAddress = "address"
	endpointSecret  = "secret"
)

// endpointContext returns the context that binds an encrypted secret to its endpoint and purpose.
func endpointContext(id int64, purpose string) string {
	return "endpoint\x00" + strconv.FormatInt(id, 10) + "\x00" + purpose
}

// sealEndpoint encrypts a secret of an endpoint. It returns an empty text for an empty one.
func (s *Store) sealEndpoint(id int64, purpose string, secret crash.Secret) (string, error) {
	if secret == "" {
		return "", nil
	}
	return s.SealSecret(secret, endpointContext(id, purpose))
}

const (
	sqlAddEndpoint = `
		insert into endpoints (name, kind, url, created) values (@name, @kind, @host, @now)
		returning id`
	// sqlSaveEndpoint leaves secrets unchanged that are empty.
	sqlSaveEndpoint = `
		update endpoints set name = @name, url = @host, channel = @channel, owner_id = nullif(@owner::bigint, 0),
			per_minute = @perminute, not_before = null,
			address = case when @address = '' then address else @address end,
			secret = case when @secret = '' then secret else @secret end
		where id = @id`
)

// SaveEndpoint stores an endpoint, a new one if its number is 0, and returns its number. Empty secrets leave the
// stored ones unchanged. The kind cannot change, because payloads are stored. It returns Conflict if the name is
// taken.
func (s *Store) SaveEndpoint(ctx context.Context, e crash.Endpoint, person string) (int64, error) {
	err := s.InTx(ctx, func(tx pgx.Tx) error { return s.saveEndpoint(ctx, tx, &e, person) })
	return e.ID, err
}

const (
	auditedColumns = `name, url, channel, coalesce(owner_id, 0), per_minute`
	sqlOldEndpoint = `select ` + auditedColumns + ` from endpoints where id = @id for update`
)

// scanAudited scans auditedColumns of an endpoint. It returns NotFound if there is none.
func scanAudited(row pgx.Row, id int64) (crash.Endpoint, error) {
	e := crash.Endpoint{ID: id}
	err := row.Scan(&e.Name, &e.Host, &e.Channel, &e.Owner, &e.PerMinute)
	return e, db.WrapOr(err, errNoEndpoint, "read endpoint %d", id)
}

func (s *Store) saveEndpoint(ctx context.Context, tx pgx.Tx, e *crash.Endpoint, person string) error {
	args := pgx.NamedArgs{"name": e.Name, "kind": e.Kind, "host": e.Host, "channel": e.Channel, "owner": e.Owner,
		"perminute": e.PerMinute, "now": s.Now()}
	event := db.AuditEvent{Person: person, Action: "endpoint.add", Subject: e.Name, After: auditedEndpoint(*e)}
	if e.ID == 0 {
		if err := tx.QueryRow(ctx, sqlAddEndpoint, args).Scan(&e.ID); err != nil {
			return endpointError("add", *e, err)
		}
	} else {
		old, err := scanAudited(tx.QueryRow(ctx, sqlOldEndpoint, pgx.NamedArgs{"id": e.ID}), e.ID)
		if err != nil {
			return err
		}
		event.Action, event.Before = "endpoint.change", auditedEndpoint(old)
	}
	args["id"] = e.ID
	for purpose, secret := range map[string]crash.Secret{endpointAddress: e.Address, endpointSecret: e.Secret} {
		sealed, err := s.sealEndpoint(e.ID, purpose, secret)
		if err != nil {
			return err
		}
		if args[purpose] = sealed; sealed != "" {
			event.After[purpose] = "changed"
		}
	}
	if _, err := tx.Exec(ctx, sqlSaveEndpoint, args); err != nil {
		return endpointError("save", *e, err)
	}
	event.Detail = map[string]any{"endpoint": e.ID, "kind": e.Kind}
	return s.Audit(ctx, tx, event)
}

// auditedEndpoint returns what the audit log says about an endpoint, without its secrets.
func auditedEndpoint(e crash.Endpoint) map[string]any {
	return map[string]any{"name": e.Name, "host": e.Host, "channel": e.Channel, "owner": e.Owner,
		"per_minute": e.PerMinute}
}

// endpointError returns the error of a statement that stores an endpoint.
func endpointError(action string, e crash.Endpoint, err error) error {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	switch {
	case ok && pg.ConstraintName == "endpoints_name":
		return crash.Errorf(crash.Conflict, "endpoint_exists", "There is already an endpoint named %q.", e.Name)
	case ok && pg.ConstraintName == "endpoints_owner_id_fkey":
		return crash.Errorf(crash.Invalid, "unknown_owner", "The account of the owner no longer exists.")
	}
	return fmt.Errorf("%s endpoint %q: %w", action, e.Name, err)
}

const (
	sqlRotateEndpoint = `
		update endpoints set previous_secret = secret, previous_until = @until, secret = @secret
		where id = @id and kind = 'webhook'
		returning name`
	sqlEnableEndpoint = `
		update endpoints set disabled = null, disabled_why = '', failures = 0, not_before = null
		where id = @id and disabled is not null
		returning name`
	sqlRestartDeliveries = `
		update deliveries set due = @now, attempts = 0 where endpoint_id = @id and state = 'waiting'`
	sqlDisableEndpoint = `
		update endpoints set disabled = @now, disabled_why = @why where id = @id and disabled is null
		returning name`
	sqlDeleteEndpoint = `delete from endpoints where id = @id returning ` + auditedColumns
)

// RotateSecret replaces the secret of a webhook. The previous one signs, too, for RotationTime. It
// returns NotFound if there is no such webhook.
func (s *Store) RotateSecret(ctx context.Context, id int64, secret crash.Secret, person string) error {
	sealed, err := s.sealEndpoint(id, endpointSecret, secret)
	if err != nil {
		return err
	}
	args := pgx.NamedArgs{"id": id, "secret": sealed, "until": s.Now().Add(RotationTime)}
	return s.changeEndpoint(ctx, args, db.AuditEvent{Person: person, Action: "endpoint.rotate",
		After: map[string]any{"secret": "changed"}}, sqlRotateEndpoint)
}

// SwitchEndpoint switches an endpoint on or off. While it is off, its deliveries wait, and new events are not delivered
// to it. When it is switched on, the waiting deliveries are due at once, and their schedule begins again. It returns
// NotFound if the endpoint does not exist or already is so.
func (s *Store) SwitchEndpoint(ctx context.Context, id int64, on bool, person string) error {
	args := pgx.NamedArgs{"id": id, "now": s.Now(), "why": person + " switched it off."}
	event := db.AuditEvent{Person: person, Action: "endpoint.disable", Before: map[string]any{"on": !on},
		After: map[string]any{"on": on}}
	if !on {
		return s.changeEndpoint(ctx, args, event, sqlDisableEndpoint)
	}
	event.Action = "endpoint.enable"
	return s.changeEndpoint(ctx, args, event, sqlEnableEndpoint, sqlRestartDeliveries)
}

// DeleteEndpoint deletes an endpoint and its deliveries. It returns NotFound if there is none.
func (s *Store) DeleteEndpoint(ctx context.Context, id int64, person string) error {
	return s.InTx(ctx, func(tx pgx.Tx) error {
		old, err := scanAudited(tx.QueryRow(ctx, sqlDeleteEndpoint, pgx.NamedArgs{"id": id}), id)
		if err != nil {
			return err
		}
		return s.Audit(ctx, tx, db.AuditEvent{Person: person, Action: "endpoint.delete", Subject: old.Name,
			Before: auditedEndpoint(old), Detail: map[string]any{"endpoint": id}})
	})
}

const (
	sqlTestSucceeded = `
		update endpoints set last_success = @now, success_status = @status, failures = 0, not_before = null
		where id = @id`
	sqlTestFailed = `
		update endpoints set last_failure = @now, failure_status = @status, failure_answer = @answer
		where id = @id`
)

// EndpointTested stores the result of a test that a person has sent to an endpoint. A success ends the
// pause after failures.
func (s *Store) EndpointTested(ctx context.Context, e crash.Endpoint, o crash.DeliveryOutcome, person string) error {
	sql := sqlTestSucceeded
	if o.Problem != "" {
		sql = sqlTestFailed
	}
	return s.InTx(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, sql, pgx.NamedArgs{"id": e.ID, "now": s.Now(), "status": o.Status,
			"answer": cmp.Or(o.Answer, o.Problem)})
		if err != nil {
			return fmt.Errorf("test of endpoint %q: %w", e.Name, err)
		}
		return s.Audit(ctx, tx, db.AuditEvent{Person: person, Action: "endpoint.test", Subject: e.Name,
			Detail: map[string]any{"endpoint": e.ID, "status": o.Status}})
	})
}

// changeEndpoint runs a statement that returns the name of the changed endpoint, then others, and records who did it.
func (s *Store) changeEndpoint(
	ctx context.Context, args pgx.NamedArgs, event db.AuditEvent, sql string, others ...string,
) error {
	return s.InTx(ctx, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, sql, args).Scan(&event.Subject)
		if err == nil {
			err = db.Exec(ctx, tx, args, others...)
		}
		if err != nil {
			return db.WrapOr(err, errNoEndpoint, "%s", event.Action)
		}
		event.Detail = map[string]any{"endpoint": args["id"]}
		return s.Audit(ctx, tx, event)
	})
}

const (
	sqlStopNotifications = `
		insert into notification_stop (stopped, person) values (@now, @person) on conflict do nothing`
	sqlResumeNotifications = `delete from notification_stop`
)

// SwitchNotifications stops all notifications: nothing leaves mishap until they are resumed. Requests and messages in
// progress are finished, and events are still stored. Resuming sends what has been waiting, within the limits.
func (s *Store) SwitchNotifications(ctx context.Context, stopped bool, person string) error {
	sql, action := sqlResumeNotifications, "notifications.resume"
	if stopped {
		sql, action = sqlStopNotifications, "notifications.stop"
	}
	return s.InTx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, sql, pgx.NamedArgs{"now": s.Now(), "person": person})
		if err != nil || tag.RowsAffected() == 0 { // another person was faster
			return db.Wrap(err, "%s", action)
		}
		return s.Audit(ctx, tx, db.AuditEvent{Person: person, Action: action,
			Before: map[string]any{"stopped": !stopped}, After: map[string]any{"stopped": stopped}})
	})
}
