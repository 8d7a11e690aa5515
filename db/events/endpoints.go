package events

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"mishap/crash"
	"mishap/db"
)

// RotationTime is how long the previous secret of a webhook signs after a rotation, beside the new one.
const RotationTime = 24 * time.Hour

var errNoEndpoint = crash.Errorf(crash.NotFound, "unknown_endpoint", "There is no such endpoint.")

const (
	selectEndpoints = `
		select e.id, e.name, e.kind, e.url, e.channel, coalesce(e.owner_id, 0), coalesce(u.name, ''), e.per_minute,
			e.previous_until, e.created, e.disabled, e.disabled_why, e.last_success, e.success_status, e.last_failure,
			e.failure_status, e.failure_answer, e.failures, e.not_before, w.number, w.oldest
		from endpoints as e left join users as u on u.id = e.owner_id
			cross join lateral (
				select count(*) as number, min(d.created) as oldest from deliveries as d
				where d.endpoint_id = e.id and d.state = 'waiting'
			) as w`
	sqlEndpoints       = selectEndpoints + ` order by lower(e.name)`
	sqlEndpoint        = selectEndpoints + ` where e.id = @id`
	sqlEndpointSecrets = `select address, secret, previous_secret from endpoints where id = @id`
)

// Endpoints returns all endpoints by name, without secrets.
func (s *Store) Endpoints(ctx context.Context) ([]crash.Endpoint, error) {
	rows, err := s.Pool.Query(ctx, sqlEndpoints)
	if err != nil {
		return nil, fmt.Errorf("endpoints: %w", db.Classify(err))
	}
	list, err := pgx.CollectRows(rows, scanEndpoint)
	if err != nil {
		return nil, fmt.Errorf("endpoints: %w", db.Classify(err))
	}
	return list, nil
}

// Endpoint returns an endpoint without secrets. It returns NotFound if there is none.
func (s *Store) Endpoint(ctx context.Context, id int64) (crash.Endpoint, error) {
	rows, err := s.Pool.Query(ctx, sqlEndpoint, pgx.NamedArgs{"id": id})
	if err != nil {
		return crash.Endpoint{}, fmt.Errorf("endpoint %d: %w", id, db.Classify(err))
	}
	e, err := pgx.CollectExactlyOneRow(rows, scanEndpoint)
	if errors.Is(err, pgx.ErrNoRows) {
		return e, errNoEndpoint
	}
	if err != nil {
		return e, fmt.Errorf("endpoint %d: %w", id, db.Classify(err))
	}
	return e, nil
}

func scanEndpoint(row pgx.CollectableRow) (e crash.Endpoint, err error) {
	err = row.Scan(&e.ID, &e.Name, &e.Kind, &e.Host, &e.Channel, &e.Owner, &e.OwnerName, &e.PerMinute,
		db.OrZero(&e.PreviousUntil), &e.Created, db.OrZero(&e.Disabled), &e.DisabledWhy, db.OrZero(&e.LastSuccess),
		&e.SuccessStatus, db.OrZero(&e.LastFailure), &e.FailureStatus, &e.FailureAnswer, &e.Failures,
		db.OrZero(&e.NotBefore), &e.Waiting, db.OrZero(&e.OldestDelivery))
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
	if errors.Is(err, pgx.ErrNoRows) {
		return e, errNoEndpoint
	}
	if err != nil {
		return e, fmt.Errorf("endpoint %d: %w", id, db.Classify(err))
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

// AddEndpoint stores a new endpoint with its secrets, and returns its number. It returns Conflict if
// the name is taken.
func (s *Store) AddEndpoint(ctx context.Context, e crash.Endpoint, person string) (int64, error) {
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		args := pgx.NamedArgs{"name": e.Name, "kind": e.Kind, "host": e.Host, "now": s.Now()}
		if err := tx.QueryRow(ctx, sqlAddEndpoint, args).Scan(&e.ID); err != nil {
			return endpointError("add", e, err)
		}
		return s.saveEndpoint(ctx, tx, e, person, "endpoint.add")
	})
	return e.ID, err
}

// SaveEndpoint changes the settings of an endpoint. Empty secrets leave the stored ones unchanged. The
// kind cannot change, because payloads are stored. It returns Conflict if the name is taken.
func (s *Store) SaveEndpoint(ctx context.Context, e crash.Endpoint, person string) error {
	return s.InTx(ctx, func(tx pgx.Tx) error { return s.saveEndpoint(ctx, tx, e, person, "endpoint.change") })
}

const (
	auditedColumns = `name, url, channel, coalesce(owner_id, 0), per_minute`
	sqlOldEndpoint = `select ` + auditedColumns + ` from endpoints where id = @id for update`
)

// scanAudited scans auditedColumns of an endpoint. It returns NotFound if there is none.
func scanAudited(row pgx.Row, id int64) (crash.Endpoint, error) {
	e := crash.Endpoint{ID: id}
	err := row.Scan(&e.Name, &e.Host, &e.Channel, &e.Owner, &e.PerMinute)
	if errors.Is(err, pgx.ErrNoRows) {
		return e, errNoEndpoint
	}
	if err != nil {
		return e, fmt.Errorf("read endpoint %d: %w", id, err)
	}
	return e, nil
}

func (s *Store) saveEndpoint(ctx context.Context, tx pgx.Tx, e crash.Endpoint, person, action string) error {
	address, err := s.sealEndpoint(e.ID, endpointAddress, e.Address)
	if err != nil {
		return err
	}
	secret, err := s.sealEndpoint(e.ID, endpointSecret, e.Secret)
	if err != nil {
		return err
	}
	var before map[string]any
	if action == "endpoint.change" {
		old, err := scanAudited(tx.QueryRow(ctx, sqlOldEndpoint, pgx.NamedArgs{"id": e.ID}), e.ID)
		if err != nil {
			return err
		}
		before = auditedEndpoint(old)
	}
	tag, err := tx.Exec(ctx, sqlSaveEndpoint, pgx.NamedArgs{
		"id": e.ID, "name": e.Name, "host": e.Host, "channel": e.Channel, "owner": e.Owner, "perminute": e.PerMinute,
		"address": address, "secret": secret,
	})
	if err != nil {
		return endpointError("save", e, err)
	}
	if tag.RowsAffected() == 0 {
		return errNoEndpoint
	}
	after := auditedEndpoint(e)
	for name, sealed := range map[string]string{"address": address, "secret": secret} {
		if sealed != "" {
			after[name] = "changed"
		}
	}
	return s.Audit(ctx, tx, db.AuditEvent{Person: person, Action: action, Subject: e.Name, Before: before, After: after,
		Detail: map[string]any{"endpoint": e.ID, "kind": e.Kind}})
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
	return s.changeEndpoint(ctx, sqlRotateEndpoint, args, db.AuditEvent{Person: person, Action: "endpoint.rotate",
		After: map[string]any{"secret": "changed"}}, nil)
}

// EnableEndpoint switches an endpoint on. Deliveries that have been waiting are due at once, and their
// schedule begins again. It returns NotFound if the endpoint is on or does not exist.
func (s *Store) EnableEndpoint(ctx context.Context, id int64, person string) error {
	args := pgx.NamedArgs{"id": id, "now": s.Now()}
	event := db.AuditEvent{Person: person, Action: "endpoint.enable", Before: map[string]any{"on": false},
		After: map[string]any{"on": true}}
	return s.changeEndpoint(ctx, sqlEnableEndpoint, args, event, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, sqlRestartDeliveries, args)
		return err
	})
}

// DisableEndpoint switches an endpoint off. Its deliveries wait until it is on again; new events are
// not delivered to it. It returns NotFound if the endpoint is off or does not exist.
func (s *Store) DisableEndpoint(ctx context.Context, id int64, person string) error {
	args := pgx.NamedArgs{"id": id, "now": s.Now(), "why": person + " switched it off."}
	return s.changeEndpoint(ctx, sqlDisableEndpoint, args, db.AuditEvent{Person: person, Action: "endpoint.disable",
		Before: map[string]any{"on": true}, After: map[string]any{"on": false}}, nil)
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

// changeEndpoint runs a statement that returns the name of the changed endpoint, then the function if
// there is one, and records who did it.
func (s *Store) changeEndpoint(
	ctx context.Context, sql string, args pgx.NamedArgs, event db.AuditEvent, then func(pgx.Tx) error,
) error {
	return s.InTx(ctx, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, sql, args).Scan(&event.Subject)
		if errors.Is(err, pgx.ErrNoRows) {
			return errNoEndpoint
		}
		if err == nil && then != nil {
			err = then(tx)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", event.Action, err)
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

// Stop stops all notifications: nothing leaves mishap until Resume. Requests and messages in progress
// are finished. Events are still stored.
func (s *Store) Stop(ctx context.Context, person string) error {
	return s.switchNotifications(ctx, sqlStopNotifications, "notifications.stop", true, person)
}

// Resume ends a stop. What has been waiting is sent, within the limits.
func (s *Store) Resume(ctx context.Context, person string) error {
	return s.switchNotifications(ctx, sqlResumeNotifications, "notifications.resume", false, person)
}

func (s *Store) switchNotifications(ctx context.Context, sql, action string, stopped bool, person string) error {
	return s.InTx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, sql, pgx.NamedArgs{"now": s.Now(), "person": person})
		if err != nil {
			return fmt.Errorf("%s: %w", action, err)
		}
		if tag.RowsAffected() == 0 {
			return nil // another person was faster
		}
		return s.Audit(ctx, tx, db.AuditEvent{Person: person, Action: action,
			Before: map[string]any{"stopped": !stopped}, After: map[string]any{"stopped": stopped}})
	})
}
