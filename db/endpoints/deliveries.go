package endpoints

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

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
	rows, err := s.Pool.Query(ctx, sqlDeliveries, pgx.NamedArgs{"endpoint": f.Endpoint, "state": f.State,
		"summary": f.Summary, "before": db.OrNull(f.Before), "beforeid": f.BeforeID, "limit": f.Limit})
	if err != nil {
		return nil, fmt.Errorf("deliveries: %w", db.Classify(err))
	}
	list, err := pgx.CollectRows(rows, scanDelivery)
	if err != nil {
		return nil, fmt.Errorf("deliveries: %w", db.Classify(err))
	}
	return list, nil
}

// DeliveryStates returns the number of deliveries of an endpoint in each state.
func (s *Store) DeliveryStates(ctx context.Context, endpoint int64) (map[crash.DeliveryState]int64, error) {
	rows, err := s.Pool.Query(ctx, sqlDeliveryStates, pgx.NamedArgs{"endpoint": endpoint})
	if err != nil {
		return nil, fmt.Errorf("states of deliveries: %w", db.Classify(err))
	}
	states := map[crash.DeliveryState]int64{}
	var state crash.DeliveryState
	var n int64
	if _, err := pgx.ForEachRow(rows, []any{&state, &n}, func() error {
		states[state] = n
		return nil
	}); err != nil {
		return nil, fmt.Errorf("states of deliveries: %w", db.Classify(err))
	}
	return states, nil
}

// Delivery returns a delivery of an endpoint with its attempts, newest first. It returns NotFound if
// there is none.
func (s *Store) Delivery(
	ctx context.Context, endpoint int64, id crash.DeliveryID,
) (d crash.Delivery, attempts []crash.DeliveryAttempt, err error) {
	rows, err := s.Pool.Query(ctx, sqlDelivery, pgx.NamedArgs{"endpoint": endpoint, "id": id})
	if err == nil {
		d, err = pgx.CollectExactlyOneRow(rows, scanDelivery)
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return d, nil, errNoDelivery
	}
	if err != nil {
		return d, nil, fmt.Errorf("delivery %s: %w", id, db.Classify(err))
	}
	rows, err = s.Pool.Query(ctx, sqlDeliveryAttempts, pgx.NamedArgs{"id": d.ID})
	if err == nil {
		attempts, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (a crash.DeliveryAttempt, err error) {
			err = row.Scan(&a.Started, db.OrZero(&a.Ended), &a.Status, &a.Answer, &a.Problem)
			return a, err
		})
	}
	if err != nil {
		return d, nil, fmt.Errorf("attempts of delivery %s: %w", id, db.Classify(err))
	}
	return d, attempts, nil
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
		if errors.Is(err, pgx.ErrNoRows) {
			return errNoDelivery
		}
		if err != nil {
			return fmt.Errorf("send delivery %s again: %w", id, err)
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
	if err != nil {
		return fmt.Errorf("delete old deliveries: %w", db.Classify(err))
	}
	return nil
}
