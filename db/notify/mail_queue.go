package notify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
)

// An instance claims a mail before it talks to the relay, and settles it after the relay's answer.
// If it dies in between, nobody knows whether the relay has the mail. Another instance then sends
// it again, with the same Message-ID: rather a second copy that mail programs can recognise than a
// lost mail.

// ownClaim is how long an instance believes its own claims. The limits of SMTP are far below.
const ownClaim = 10 * time.Minute

// maxReply is the length to which replies of relays are cut, in bytes.
const maxReply = 500

const (
	mailColumns = `
		m.id, m.user_id, u.name, m.kind, m.address, m.created, m.due, m.state, m.attempts, m.ended, m.reply,
		(select count(*) from notices as n where n.mail_id = m.id)`
	sqlClaimMail = `
		with m as (
			update mails set state = 'sending', unit = @unit, claimed = @now, attempts = attempts + 1
			where id = (
				select id from mails
				where state = 'waiting' and due <= @now and (kind = 'confirm' or not @stopped) and not @restored
				order by kind <> 'confirm', due, id limit 1 for update skip locked)
			returning *)
		select` + mailColumns + ` from m join users as u on u.id = m.user_id`
	sqlMailNotices = `
		select` + noticeColumns + ` from notices as n join events as e on e.id = n.event_id
			join users as u on u.id = n.user_id and not u.disabled
		where n.mail_id = @mail and (e.kind = any (@own::text[]) or u.id in (` + db.Readers + `)) order by n.id`
	sqlFirstTitle = `select title from events where bucket_id = @bucket order by id limit 1`
	// sqlPutBack makes the notices of a mail wait that are not in it now, and sqlDropEmpty deletes the
	// mail if no others are left.
	sqlPutBack = `
		update notices set mail = 'waiting', mail_id = null
		where mail_id = @mail and id <> all (@shown::bigint[])`
	sqlDropEmpty = `
		delete from mails where id = @mail and not exists (select from notices where mail_id = @mail)`
	sqlSettleMail = `
		update mails set state = @state, due = @due, ended = case when @state <> 'waiting' then @now::timestamptz end,
			reply = @reply
		where id = @id and state = 'sending' and unit = @unit`
	sqlClaimingUnits = `select distinct unit from mails where state = 'sending'`
	sqlUnitDead      = `select pg_try_advisory_xact_lock(@unit)`
	sqlReleaseMails  = `
		update mails set state = 'waiting', due = @now, reply = @reply
		where state = 'sending' and unit = @unit and claimed < @before`
	sqlInsertTest = `
		insert into mails (user_id, kind, address, created, due, state, attempts, ended, reply)
		values (@user, 'test', @address, @now, @now, @state, 1, @now, @reply)`
)

// unknownOutcome is the reply of a mail whose instance has died.
const unknownOutcome = "The instance that was sending it has stopped. Whether the relay has it is unknown, so it is " +
	"sent again."

// ClaimMail claims the next mail that is due, with the notices in it. It returns NotFound if there
// is none. Notices that the person may not see any more since the mail was planned are not in it: those of
// embargoed problems wait until the embargo is lifted, PlanMails forgets the others, and a mail without
// notices is deleted.
func (s *Store) ClaimMail(ctx context.Context) (mail crash.Mail, notices []crash.Notice, err error) {
	for {
		mail, notices, err = s.claimMail(ctx)
		if err != nil || len(notices) == mail.Notices {
			return mail, notices, err
		}
		if err := s.putBack(ctx, mail.ID, notices); err != nil {
			return mail, nil, fmt.Errorf("claim a mail: %w", err)
		}
		if len(notices) > 0 {
			return mail, notices, nil
		}
	}
}

// putBack makes those notices of a mail wait that are not among the shown ones.
func (s *Store) putBack(ctx context.Context, mail int64, shown []crash.Notice) error {
	ids := make([]int64, len(shown))
	for i, n := range shown {
		ids[i] = n.ID
	}
	return s.InTx(ctx, func(tx pgx.Tx) error {
		args := pgx.NamedArgs{"mail": mail, "shown": ids}
		if _, err := tx.Exec(ctx, sqlPutBack, args); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, sqlDropEmpty, args)
		return err
	})
}

func (s *Store) claimMail(ctx context.Context) (mail crash.Mail, notices []crash.Notice, err error) {
	unit, err := s.InstanceNumber(ctx)
	if err != nil {
		return mail, nil, err
	}
	stop, err := s.StopState(ctx)
	if err != nil {
		return mail, nil, err
	}
	rows, err := s.Pool.Query(ctx, sqlClaimMail, pgx.NamedArgs{"unit": unit, "now": s.Now(),
		"stopped": !stop.Stopped.IsZero(), "restored": !stop.Restored.IsZero()})
	if err == nil {
		mail, err = pgx.CollectExactlyOneRow(rows, scanMail)
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return mail, nil, crash.Errorf(crash.NotFound, "no_mail", "No mail is due.")
	}
	if err == nil {
		rows, err = s.Pool.Query(s.as(ctx, mail.User), sqlMailNotices, s.RightsArgs(pgx.NamedArgs{"mail": mail.ID,
			"own": crash.OwnEvents}))
	}
	if err == nil {
		notices, err = pgx.CollectRows(rows, scanNotice)
	}
	if err == nil && mail.Kind == crash.MailNotice && len(notices) == 1 && notices[0].Event.Bucket != nil {
		e := &notices[0].Event
		err = s.Pool.QueryRow(ctx, sqlFirstTitle, pgx.NamedArgs{"bucket": e.Bucket[:]}).Scan(&e.Thread)
	}
	if err != nil {
		return mail, nil, fmt.Errorf("claim a mail: %w", db.Classify(err))
	}
	return mail, notices, nil
}

func scanMail(row pgx.CollectableRow) (m crash.Mail, err error) {
	err = row.Scan(&m.ID, &m.User, &m.Name, &m.Kind, &m.Address, &m.Created, &m.Due, &m.State, &m.Attempts,
		db.OrZero(&m.Ended), &m.Reply, &m.Notices)
	return m, err
}

// SettleMail records the outcome of an attempt to send a claimed mail.
func (s *Store) SettleMail(ctx context.Context, id int64, outcome crash.MailOutcome) error {
	unit, err := s.InstanceNumber(ctx)
	if err != nil {
		return err
	}
	now := s.Now()
	due := outcome.Due
	if due.IsZero() {
		due = now
	}
	_, err = s.Pool.Exec(ctx, sqlSettleMail, pgx.NamedArgs{"id": id, "unit": unit, "now": now, "due": due,
		"state": outcome.State, "reply": crash.Truncate(outcome.Reply, maxReply)})
	if err != nil {
		return fmt.Errorf("settle mail %d: %w", id, db.Classify(err))
	}
	return nil
}

// ReleaseMails makes mails due again that instances claimed which have died since.
func (s *Store) ReleaseMails(ctx context.Context) error {
	own, err := s.InstanceNumber(ctx)
	if err != nil {
		return err
	}
	rows, err := s.Pool.Query(ctx, sqlClaimingUnits)
	if err != nil {
		return fmt.Errorf("release mails: %w", db.Classify(err))
	}
	units, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return fmt.Errorf("release mails: %w", db.Classify(err))
	}
	for _, unit := range units {
		err := s.InTx(ctx, func(tx pgx.Tx) error {
			args := pgx.NamedArgs{"unit": unit, "now": s.Now(), "before": s.Now().Add(-ownClaim), "reply": unknownOutcome}
			if unit != own {
				var dead bool
				if err := tx.QueryRow(ctx, sqlUnitDead, args).Scan(&dead); err != nil || !dead {
					return err
				}
				args["before"] = s.Now().Add(time.Hour) // clocks of instances may differ
			}
			_, err := tx.Exec(ctx, sqlReleaseMails, args)
			return err
		})
		if err != nil {
			return fmt.Errorf("release mails: %w", err)
		}
	}
	return nil
}

// AllowTestMail returns TooMany if a person has sent too many test mails.
func (s *Store) AllowTestMail(ctx context.Context, user int64) error {
	return s.limitClicks(ctx, s.Pool, crash.MailTest, user, "")
}

// RecordTestMail records a test mail that was sent at once, and its outcome.
func (s *Store) RecordTestMail(ctx context.Context, user int64, address string, outcome crash.MailOutcome) error {
	_, err := s.Pool.Exec(ctx, sqlInsertTest, pgx.NamedArgs{"user": user, "address": address, "now": s.Now(),
		"state": outcome.State, "reply": crash.Truncate(outcome.Reply, maxReply)})
	if err != nil {
		return fmt.Errorf("record test mail: %w", db.Classify(err))
	}
	return nil
}
