package endpoints

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
)

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
	if errors.Is(err, pgx.ErrNoRows) {
		return "", ErrLostDelivery
	}
	if err != nil {
		return "", fmt.Errorf("payload of delivery %s: %w", claim.ID, db.Classify(err))
	}
	return payload, nil
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
		if errors.Is(err, pgx.ErrNoRows) {
			return ErrLostDelivery
		}
		if err != nil {
			return err
		}
		statements := []string{sqlEndAttempt, sqlEndpointFailed, sqlEndDelivery}
		switch {
		case o.Interrupted:
			statements = []string{sqlEndAttempt, sqlInterruptEndpoint}
		case o.State == crash.DeliveryDelivered:
			statements[1] = sqlEndpointSucceeded
		}
		for _, sql := range statements {
			if _, err := tx.Exec(ctx, sql, args); err != nil {
				return err
			}
		}
		if o.Off == "" || off {
			return nil
		}
		return s.switchOff(ctx, tx, claim.To, args)
	})
	if err != nil {
		return fmt.Errorf("outcome of delivery %s: %w", claim.ID, err)
	}
	return nil
}

// switchOff switches an endpoint off and tells its owner, or all administrators, by inbox and mail.
func (s *Store) switchOff(ctx context.Context, tx pgx.Tx, e crash.Endpoint, args pgx.NamedArgs) error {
	if _, err := tx.Exec(ctx, sqlEndpointOff, args); err != nil {
		return err
	}
	rows, err := tx.Query(ctx, sqlToldOfEndpoint, s.RightsArgs(pgx.NamedArgs{"owner": e.Owner}))
	if err != nil {
		return err
	}
	people, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r crash.Recipient, err error) {
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
