package notify

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
)

var errUnknownMail = crash.Errorf(crash.NotFound, "unknown_mail", "There is no such mail that has failed.")

const (
	sqlMails = `
		select` + mailColumns + ` from mails as m join users as u on u.id = m.user_id
		where (@state::text = '' or m.state = @state) and (@before::bigint = 0 or m.id < @before)
			and (@user::bigint = 0 or m.user_id = @user)
		order by m.id desc limit @limit`
	sqlMailTotals = `
		select state, count(*), max(ended) from mails
		where state in ('waiting', 'sending') or ended > @since group by state`
	sqlLastSuccess = `select max(ended) from mails where state = 'sent'`
	sqlRetryMail   = `
		update mails set state = 'waiting', due = @now, created = @now, ended = null
		where id = @id and state = 'failed' and kind not in ('confirm', 'test')`
)

// Mails returns mails, newest first: those in a state, or all if it is empty; those of one person,
// or all if user is 0; those older than the one with number before, if it is not 0.
func (s *Store) Mails(ctx context.Context, state crash.MailState, user, before int64, limit int) ([]crash.Mail, error) {
	rows, err := s.Pool.Query(ctx, sqlMails,
		pgx.NamedArgs{"state": state, "user": user, "before": before, "limit": limit})
	if err != nil {
		return nil, fmt.Errorf("list mails: %w", db.Classify(err))
	}
	mails, err := pgx.CollectRows(rows, scanMail)
	if err != nil {
		return nil, fmt.Errorf("list mails: %w", db.Classify(err))
	}
	return mails, nil
}

// MailTotals counts mails: those that wait, and those that ended in the past day.
type MailTotals struct {
	States      map[crash.MailState]int64
	LastSuccess time.Time // ever; zero: never
}

// MailTotals returns how many mails wait, and how many ended in the past day.
func (s *Store) MailTotals(ctx context.Context) (t MailTotals, err error) {
	t.States = map[crash.MailState]int64{}
	rows, err := s.Pool.Query(ctx, sqlMailTotals, pgx.NamedArgs{"since": s.Now().AddDate(0, 0, -1)})
	if err != nil {
		return t, fmt.Errorf("count mails: %w", db.Classify(err))
	}
	var state crash.MailState
	var n int64
	var last *time.Time
	if _, err = pgx.ForEachRow(rows, []any{&state, &n, &last}, func() error {
		t.States[state] = n
		return nil
	}); err == nil {
		err = s.Pool.QueryRow(ctx, sqlLastSuccess).Scan(db.OrZero(&t.LastSuccess))
	}
	if err != nil {
		return t, fmt.Errorf("count mails: %w", db.Classify(err))
	}
	return t, nil
}

// RetryMail makes a mail that failed for good due again. It returns NotFound if there is none.
func (s *Store) RetryMail(ctx context.Context, id int64) error {
	tag, err := s.Pool.Exec(ctx, sqlRetryMail, pgx.NamedArgs{"id": id, "now": s.Now()})
	if err != nil {
		return fmt.Errorf("send mail %d again: %w", id, db.Classify(err))
	}
	if tag.RowsAffected() == 0 {
		return errUnknownMail
	}
	return nil
}
