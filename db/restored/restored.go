// Package restored knows what waits in a database that was restored from a backup. It does not compare
// the database with the tracker.
package restored

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
	"mishap/db/reader"
)

const (
	// What was created before the restore was in the backup. It has probably been sent since then.
	sqlHeld = `
		select h.kind, h.id, h.recipient, h.about, h.since, h.kind <> 'filing' and h.since <= @at, count(*) over ()
		from (
			select 'mail' as kind, m.id::text as id, u.name as recipient, m.kind as about, m.created as since
			from mails as m join users as u on u.id = m.user_id where m.state in ('waiting', 'sending')
			union all
			select 'notice', n.id::text, u.name, e.title, n.at
			from notices as n join users as u on u.id = n.user_id join events as e on e.id = n.event_id
			where n.mail in ('waiting', 'held')
			union all
			select 'delivery', d.id::text, p.name, e.title, d.created
			from deliveries as d join endpoints as p on p.id = d.endpoint_id join events as e on e.id = d.event_id
			where d.state = 'waiting'
			union all
			select 'filing', id::text, person, title, created from filings
			where state in ('queued', 'filing', 'uncertain')
		) as h
		order by h.kind, h.since, h.id limit @limit`
	sqlCancelMails = `
		update mails set state = 'cancelled', ended = now(), reply = @reason
		where state in ('waiting', 'sending') and created <= @at`
	sqlCancelNotices    = `update notices set mail = 'none' where mail in ('waiting', 'held') and at <= @at`
	sqlCancelDeliveries = `
		with cancelled as (
			update deliveries set state = 'failed' where state = 'waiting' and created <= @at returning id)
		insert into delivery_attempts (delivery_id, started, ended, problem) select id, now(), now(), @reason from cancelled`
)

// notRepeated is the reason why a mail or a delivery of the backup was not sent.
const notRepeated = "It was waiting in the backup from which the database was restored, and was probably sent before " +
	"the restore."

// Held returns up to limit of what waits in a restored database, and how many there are in all.
func Held(ctx context.Context, h *db.Handle, r crash.Restored, limit int) (items []crash.HeldItem, total int,
	err error) {
	rows, err := h.Pool.Query(reader.Everything(ctx), sqlHeld, pgx.NamedArgs{"at": r.At, "limit": limit})
	if err != nil {
		return nil, 0, fmt.Errorf("what waits: %w", db.Classify(err))
	}
	items, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (i crash.HeldItem, err error) {
		err = row.Scan(&i.Kind, &i.ID, &i.Recipient, &i.About, &i.Since, &i.InBackup, &total)
		return i, err
	})
	if err != nil {
		return nil, 0, fmt.Errorf("what waits: %w", db.Classify(err))
	}
	return items, total, nil
}

const sqlFilers = `
	select distinct account from own_tracker_accounts
	where tracker_url = @url and consumer_key = @consumer and account <> '' order by account`

// Filers returns the own accounts at the tracker with which people file bugs.
func Filers(ctx context.Context, h *db.Handle, key crash.TrackerKey) ([]string, error) {
	rows, err := h.Pool.Query(ctx, sqlFilers, pgx.NamedArgs{"url": key.URL, "consumer": key.ConsumerKey})
	if err != nil {
		return nil, fmt.Errorf("accounts of people: %w", db.Classify(err))
	}
	accounts, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("accounts of people: %w", db.Classify(err))
	}
	return accounts, nil
}

// Cancel cancels the mails and deliveries that were waiting in the backup.
func Cancel(ctx context.Context, tx pgx.Tx, r crash.Restored) error {
	for _, sql := range []string{sqlCancelMails, sqlCancelNotices, sqlCancelDeliveries} {
		if _, err := tx.Exec(ctx, sql, pgx.NamedArgs{"at": r.At, "reason": notRepeated}); err != nil {
			return err
		}
	}
	return nil
}
