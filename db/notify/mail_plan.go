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

// maxWaiting limits the notices of one person that one round decides about.
const maxWaiting = 10_000

const (
	sqlWaitingPeople  = `select distinct user_id from notices where mail in ('waiting', 'held')`
	sqlWaitingNotices = `
		select n.id, e.kind, n.at, n.mail = 'held'
		from notices as n join events as e on e.id = n.event_id
		where n.user_id = @user and n.mail in ('waiting', 'held') order by n.id limit @most`
	sqlRecentMails = `
		select count(*) filter (where kind = 'notice'), count(*) filter (where kind = 'summary')
		from mails where user_id = @user and created > @since and kind in ('notice', 'summary')`
	sqlInsertMail = `
		insert into mails (user_id, kind, address, created, due) values (@user, @kind, @address, @now, @now) returning id`
	sqlPutInMail = `update notices set mail = 'mailed', mail_id = @mail where id = any(@ids)`
	sqlMark      = `update notices set mail = @mark where id = any(@ids)`
	// sqlForgetUnreadable marks the notices that wait for a person who may not read about them any more.
	sqlForgetUnreadable = `
		update notices as n set mail = 'none' from events as e
		where e.id = n.event_id and n.user_id = @user and n.mail in ('waiting', 'held') and e.kind <> all (@own::text[])
			and n.user_id not in (` + db.Readers + `)`
	sqlMailNobody = `update notices set mail = 'none' where mail in ('waiting', 'held')`
)

// PlanMails decides for all people which notices become mails now. One transaction per person
// stores the mails and marks their notices, so that a crash loses nothing and repeats nothing. It
// decides nothing while notifications are stopped or a restore is pending.
func (s *Store) PlanMails(ctx context.Context) error {
	if stop, err := s.StopState(ctx); err != nil || stop.Holds() {
		return err
	}
	rows, err := s.Pool.Query(ctx, sqlWaitingPeople)
	if err != nil {
		return fmt.Errorf("plan mails: %w", db.Classify(err))
	}
	people, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return fmt.Errorf("plan mails: %w", db.Classify(err))
	}
	var errs []error
	for _, user := range people {
		if err := s.planMails(ctx, user); err != nil {
			errs = append(errs, fmt.Errorf("plan mails of person %d: %w", user, err))
		}
	}
	return errors.Join(errs...)
}

// MailNobody marks all notices that wait as not mailed. A site without a relay does this, so that
// old notices do not become mails when it gets one.
func (s *Store) MailNobody(ctx context.Context) error {
	if _, err := s.Pool.Exec(ctx, sqlMailNobody); err != nil {
		return fmt.Errorf("skip mail: %w", db.Classify(err))
	}
	return nil
}

func (s *Store) planMails(ctx context.Context, user int64) error {
	now := s.Now()
	ctx = s.as(ctx, user) // notices of problems that the person must not see wait until the embargo is lifted
	return s.InTx(ctx, func(tx pgx.Tx) error {
		args := s.RightsArgs(pgx.NamedArgs{"user": user, "most": maxWaiting, "since": now.Add(-time.Hour),
			"own": crash.OwnEvents})
		work := crash.MailWork{}
		var err error
		work.Settings, err = scanSettings(tx.QueryRow(ctx, sqlLockMailSettings, args), user)
		if errors.Is(err, pgx.ErrNoRows) { // the account is disabled, or another instance decides
			return nil
		}
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlForgetUnreadable, args); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, sqlWaitingNotices, args)
		if err != nil {
			return err
		}
		if work.Waiting, err = pgx.CollectRows(rows, scanWaiting); err != nil {
			return err
		}
		if err := tx.QueryRow(ctx, sqlRecentMails, args).Scan(&work.Sent, &work.Summaries); err != nil {
			return err
		}
		return storePlan(ctx, tx, work.Settings, work.Plan(now), now)
	})
}

func scanWaiting(row pgx.CollectableRow) (n crash.WaitingNotice, err error) {
	err = row.Scan(&n.ID, &n.Kind, &n.At, &n.Held)
	return n, err
}

func storePlan(ctx context.Context, tx pgx.Tx, to crash.MailSettings, plan crash.MailPlan, now time.Time) error {
	for _, mail := range plan.Mails {
		var id int64
		err := tx.QueryRow(ctx, sqlInsertMail, pgx.NamedArgs{
			"user": to.User, "kind": mail.Kind, "address": to.Address, "now": now,
		}).Scan(&id)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlPutInMail, pgx.NamedArgs{"mail": id, "ids": mail.Notices}); err != nil {
			return err
		}
	}
	for mark, ids := range map[crash.NoticeMail][]int64{crash.NotMailed: plan.None, crash.MailHeld: plan.Held} {
		if len(ids) == 0 {
			continue
		}
		if _, err := tx.Exec(ctx, sqlMark, pgx.NamedArgs{"mark": mark, "ids": ids}); err != nil {
			return err
		}
	}
	return nil
}
