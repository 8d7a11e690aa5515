package bugs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
	"mishap/db/reader"
)

const sqlRestored = `select restored, backup_taken from filing_writer where restored is not null`

// Restored returns when the database was restored from a backup, unless it was compared with the
// tracker since. Until FinishRestore, no bugs, comments, mails or deliveries are sent. Restored
// returns the zero value if nothing is pending.
func (s *Store) Restored(ctx context.Context) (crash.Restored, error) {
	found, err := db.List(ctx, s.Pool, sqlRestored, nil, pgx.RowToStructByPos[crash.Restored])
	if err != nil {
		return crash.Restored{}, fmt.Errorf("restored database: %w", db.Classify(err))
	}
	if len(found) == 0 {
		return crash.Restored{}, nil
	}
	return found[0], nil
}

const (
	sqlAddLostBug = `insert into lost_bugs (bucket_id, bug_number) values (@bucket, @bug)
		on conflict (bucket_id) do update set bug_number = least(lost_bugs.bug_number, excluded.bug_number)`
	sqlFinishRestore = `update filing_writer set restored = null, backup_taken = null where restored = @at`
	sqlWakeRestored  = `
		update filings set not_before = now(), updated = now(), problem = '', reason = ''
		where state in ('queued', 'uncertain') and problem = 'restored' and unit is null
		returning id`
)

// FinishRestore permits sending again after the bugs in the tracker were linked to their problems.
// lost are bugs whose problems the database lacks: if such a problem returns and a person files it,
// it is linked to its bug instead. Unless resend is set, FinishRestore cancels the mails and
// deliveries that were waiting in the backup. It changes nothing if the database was restored again
// since.
func (s *Store) FinishRestore(
	ctx context.Context, r crash.Restored, lost map[crash.BucketID]int64, resend bool,
) error {
	ctx = reader.Everything(ctx)
	args := pgx.NamedArgs{"at": r.At}
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		for bucket, bug := range lost {
			if _, err := tx.Exec(ctx, sqlAddLostBug, pgx.NamedArgs{"bucket": bucket[:], "bug": bug}); err != nil {
				return err
			}
		}
		done, err := tx.Exec(ctx, sqlFinishRestore, args)
		if err != nil || done.RowsAffected() == 0 {
			return err
		}
		if !resend {
			if err := Cancel(ctx, tx, r); err != nil {
				return err
			}
		}
		if err := s.wake(ctx, tx, sqlWakeRestored); err != nil {
			return err
		}
		return s.Audit(ctx, tx, db.AuditEvent{
			Action: "filing.restored",
			Detail: map[string]any{"backup": r.BackupTaken, "lost": len(lost), "resend": resend},
		})
	})
	return db.Wrap(err, "finish the restore")
}

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
	items, err = db.List(reader.Everything(ctx), h.Pool, sqlHeld, pgx.NamedArgs{"at": r.At, "limit": limit},
		db.Into(func(i *crash.HeldItem) []any {
			return []any{&i.Kind, &i.ID, &i.Recipient, &i.About, &i.Since, &i.InBackup, &total}
		}))
	return items, total, db.Wrap(err, "what waits")
}

const sqlFilers = `
	select distinct account from own_tracker_accounts
	where tracker_url = @url and consumer_key = @consumer and account <> '' order by account`

// Filers returns the own accounts at the tracker with which people file bugs.
func Filers(ctx context.Context, h *db.Handle, key crash.TrackerKey) ([]string, error) {
	accounts, err := db.List(ctx, h.Pool, sqlFilers, pgx.NamedArgs{"url": key.URL, "consumer": key.ConsumerKey},
		pgx.RowTo[string])
	return accounts, db.Wrap(err, "accounts of people")
}

// Cancel cancels the mails and deliveries that were waiting in the backup.
func Cancel(ctx context.Context, tx pgx.Tx, r crash.Restored) error {
	return db.Exec(ctx, tx, pgx.NamedArgs{"at": r.At, "reason": notRepeated}, sqlCancelMails, sqlCancelNotices,
		sqlCancelDeliveries)
}

const sqlKnownBugs = `
	select number from unnest(@numbers::bigint[]) as n (number)
	where exists (select from bucket_bugs where bug_number = number)
		or exists (select from unlinked_bugs where bug_number = number)
		or exists (select from filings where bug_number = number)`

// KnownBugs returns those of the numbers whose bugs are or were linked to a bucket.
func (s *Store) KnownBugs(ctx context.Context, numbers []int64) ([]int64, error) {
	out, err := db.List(ctx, s.Pool, sqlKnownBugs, pgx.NamedArgs{"numbers": numbers}, pgx.RowTo[int64])
	return out, db.Wrap(err, "known bugs")
}

var errBeingFiled = crash.Errorf(crash.Conflict, "being_filed", "A bug for this problem is being filed at this "+
	"moment; run this again shortly.")

// ReconcileBug links a bucket to a bug that mishap has filed for it, and that was found in the
// tracker. It ends an open filing of the bucket with that bug. Calling it again changes nothing. It
// returns Conflict while a bug for the bucket is being sent.
func (s *Store) ReconcileBug(ctx context.Context, bucket crash.BucketID, bug crash.Bug) error {
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		var f crash.Filing
		err := scanFiling(tx.QueryRow(ctx, sqlFilingOfBucket, pgx.NamedArgs{"bucket": bucket[:]}), &f)
		switch {
		case errors.Is(err, pgx.ErrNoRows) || f.State == crash.FilingFiled:
			err = s.AddBugLink(ctx, tx, bucket, bug)
		case err != nil:
			return err
		case f.State == crash.FilingSending:
			return errBeingFiled
		default:
			err = s.filed(ctx, tx, &f, bug)
		}
		if err != nil {
			return err
		}
		return s.Audit(ctx, tx, db.AuditEvent{
			Action: "bug.reconciled", Subject: bucket.String(), After: map[string]any{"bug": bug.Number},
		})
	})
	return db.Wrap(err, "reconcile bug %d with %s", bug.Number, bucket)
}

const sqlFiledBugs = `
	select bug_number from bucket_bugs where how = 'filed' and at >= @since
	union
	select bug_number from unlinked_bugs where how = 'filed' and at >= @since`

// FiledBugs returns the numbers of the bugs that were filed since a time, including those that were
// unlinked later.
func (s *Store) FiledBugs(ctx context.Context, since time.Time) ([]int64, error) {
	numbers, err := db.List(ctx, s.Pool, sqlFiledBugs, pgx.NamedArgs{"since": since}, pgx.RowTo[int64])
	return numbers, db.Wrap(err, "filed bugs")
}
