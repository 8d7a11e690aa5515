package events

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
)

// Limits of mails that a click sends, so that nobody can flood an address with them.
const (
	maxConfirmsOfPerson  = 5 // per hour
	maxConfirmsOfAddress = 3 // per day, from all people together
	maxTests             = 5 // per person and hour
)

var (
	errManyConfirms = crash.Errorf(crash.TooMany, "too_many_confirmations",
		"You asked for too many links, or this address got too many. Look for the last one, or try again tomorrow.")
	errManyTests = crash.Errorf(crash.TooMany, "too_many_tests",
		"You have sent %d test emails within an hour. Try again later.", maxTests)
	errNotPending = crash.Errorf(crash.Conflict, "mail_address_not_pending",
		"This link is not for the address that you entered last. Ask for a new link.")
)

const (
	settingsColumns = `
		coalesce(s.address, ''), coalesce(s.pending, ''), coalesce(s.mode, 'immediate'), coalesce(s.hour, 8),
		coalesce(s.weekday, 1), coalesce(s.zone, 'UTC'), s.quiet_from, s.quiet_to, coalesce(s.kinds_off, '{}')`
	sqlMailSettings = `
		select` + settingsColumns + `
		from users as u left join mail_settings as s on s.user_id = u.id where u.id = @user`
	sqlLockMailSettings = sqlMailSettings + ` and not u.disabled for no key update of u skip locked`
	sqlLockPerson       = `select name from users where id = @user for no key update`
	sqlSaveMailSettings = `
		insert into mail_settings (user_id, mode, hour, weekday, zone, quiet_from, quiet_to, kinds_off)
		values (@user, @mode, @hour, @weekday, @zone, @from, @to, @off)
		on conflict (user_id) do update set mode = @mode, hour = @hour, weekday = @weekday, zone = @zone,
			quiet_from = @from, quiet_to = @to, kinds_off = @off`
	sqlHoldWaiting = `update notices set mail = 'held' where user_id = @user and mail = 'waiting'`
	sqlSetPending  = `
		insert into mail_settings (user_id, pending) values (@user, @address)
		on conflict (user_id) do update set pending = @address`
	sqlCountClicks = `
		select count(*) filter (where kind = 'confirm' and user_id = @user and created > @hour),
			count(*) filter (where kind = 'confirm' and lower(address) = lower(@address)),
			count(*) filter (where kind = 'test' and user_id = @user and created > @hour)
		from mails where created > @day and kind in ('confirm', 'test')
			and (user_id = @user or lower(address) = lower(@address))`
	sqlConfirmAddress = `
		update mail_settings set address = @address, confirmed = @now, pending = ''
		where user_id = @user and pending = @address`
	sqlMoveWaitingMails = `
		update mails set address = @address where user_id = @user and state = 'waiting' and kind not in ('confirm', 'test')`
	sqlRemoveAddress = `update mail_settings set address = '', confirmed = null, pending = '' where user_id = @user`
	sqlUnsubscribe   = `update mail_settings set mode = 'off' where user_id = @user`
	sqlCancelMails   = `
		update mails set state = 'cancelled', ended = @now
		where user_id = @user and state = 'waiting' and kind <> 'test'`
	sqlInsertKey = `insert into mail_key (key) values (@key) on conflict do nothing`
	sqlMailKey   = `select key from mail_key`
)

// MailSettings returns what a person has chosen for mail, or the default.
func (s *Store) MailSettings(ctx context.Context, user int64) (crash.MailSettings, error) {
	settings, err := scanSettings(s.Pool.QueryRow(ctx, sqlMailSettings, pgx.NamedArgs{"user": user}), user)
	return settings, db.Wrap(err, "mail settings")
}

func scanSettings(row pgx.Row, user int64) (crash.MailSettings, error) {
	settings := crash.MailSettings{User: user}
	var from, to *int
	var weekday int
	err := row.Scan(&settings.Address, &settings.Pending, &settings.Mode, &settings.Hour, &weekday, &settings.Zone, &from,
		&to, &settings.KindsOff)
	settings.Weekday = time.Weekday(weekday)
	if from != nil && to != nil {
		settings.Quiet = &crash.QuietHours{From: *from, To: *to}
	}
	return settings, err
}

// SaveMailSettings stores everything that a person has chosen, except addresses. Notices that
// waited for a daily or weekly mail go into a summary if the person now wants immediate mail.
func (s *Store) SaveMailSettings(ctx context.Context, settings crash.MailSettings) error {
	off := settings.KindsOff
	if off == nil {
		off = []crash.EventKind{}
	}
	args := pgx.NamedArgs{"user": settings.User, "mode": settings.Mode, "hour": settings.Hour,
		"weekday": int(settings.Weekday), "zone": settings.Zone, "from": nil, "to": nil, "off": off, "now": s.Now()}
	if settings.Quiet != nil {
		args["from"], args["to"] = settings.Quiet.From, settings.Quiet.To
	}
	return s.changeMail(ctx, settings.User, "mail.settings", func(tx pgx.Tx, was crash.MailSettings) error {
		if _, err := tx.Exec(ctx, sqlSaveMailSettings, args); err != nil {
			return err
		}
		digest := was.Mode == crash.MailDaily || was.Mode == crash.MailWeekly
		if digest && settings.Mode == crash.MailImmediate {
			if _, err := tx.Exec(ctx, sqlHoldWaiting, args); err != nil {
				return err
			}
		}
		if settings.Mode == crash.MailOff {
			return db.Exec(ctx, tx, args, sqlCancelMails)
		}
		return nil
	})
}

// changeMail runs fn in a transaction, in which no other instance decides about the person's mail, and
// records the action unless nothing changed.
func (s *Store) changeMail(
	ctx context.Context, user int64, action string, fn func(tx pgx.Tx, was crash.MailSettings) error,
) error {
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		var name string
		if err := tx.QueryRow(ctx, sqlLockPerson, pgx.NamedArgs{"user": user}).Scan(&name); err != nil {
			return err
		}
		was, err := scanSettings(tx.QueryRow(ctx, sqlMailSettings, pgx.NamedArgs{"user": user}), user)
		if err != nil {
			return err
		}
		if err := fn(tx, was); err != nil {
			return err
		}
		is, err := scanSettings(tx.QueryRow(ctx, sqlMailSettings, pgx.NamedArgs{"user": user}), user)
		if err != nil {
			return err
		}
		before, after := auditedMail(was, was), auditedMail(is, was)
		if reflect.DeepEqual(before, after) {
			return nil
		}
		return s.Audit(ctx, tx, db.AuditEvent{Action: action, Subject: name, Before: before, After: after})
	})
	if err != nil && crash.KindOf(err) == 0 {
		return fmt.Errorf("%s: %w", action, err)
	}
	return err
}

// auditedMail returns what the audit log says about the settings of a person, which were others before.
// It has no mail addresses, because records stay when a person wants the address removed.
func auditedMail(s, was crash.MailSettings) map[string]any {
	return map[string]any{"address": auditedAddress(s.Address, was.Address),
		"unconfirmed_address": auditedAddress(s.Pending, was.Pending), "mode": s.Mode, "hour": s.Hour,
		"weekday": s.Weekday.String(), "zone": s.Zone, "quiet": s.Quiet, "kinds_off": s.KindsOff}
}

func auditedAddress(address, was string) string {
	switch address {
	case "":
		return "none"
	case was:
		return "set"
	}
	return "changed"
}

// AskForMailAddress stores an address that a person wants to use, and queues the mail with the link
// that confirms it. It returns TooMany if too many links were sent.
func (s *Store) AskForMailAddress(ctx context.Context, user int64, address string) error {
	return s.changeMail(ctx, user, "mail.address", func(tx pgx.Tx, _ crash.MailSettings) error {
		if err := s.limitClicks(ctx, tx, crash.MailConfirm, user, address); err != nil {
			return err
		}
		args := pgx.NamedArgs{"user": user, "address": address, "kind": crash.MailConfirm, "now": s.Now()}
		if _, err := tx.Exec(ctx, sqlSetPending, args); err != nil {
			return err
		}
		return tx.QueryRow(ctx, sqlInsertMail, args).Scan(new(int64))
	})
}

// limitClicks returns TooMany if a person or an address has too many mails of this kind.
func (s *Store) limitClicks(
	ctx context.Context, q interface {
		QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	}, kind crash.MailKind, user int64, address string,
) error {
	var ofPerson, ofAddress, tests int
	err := q.QueryRow(ctx, sqlCountClicks, pgx.NamedArgs{"user": user, "address": address,
		"hour": s.Now().Add(-time.Hour), "day": s.Now().AddDate(0, 0, -1)}).Scan(&ofPerson, &ofAddress, &tests)
	switch {
	case err != nil:
		return fmt.Errorf("count mails: %w", db.Classify(err))
	case kind == crash.MailConfirm && (ofPerson >= maxConfirmsOfPerson || ofAddress >= maxConfirmsOfAddress):
		return errManyConfirms
	case kind == crash.MailTest && tests >= maxTests:
		return errManyTests
	}
	return nil
}

// ConfirmMailAddress makes the address that a person asked for the one that gets mail. It returns
// Conflict if the person has asked for another one since. Confirming twice changes nothing.
func (s *Store) ConfirmMailAddress(ctx context.Context, user int64, address string) error {
	return s.changeMail(ctx, user, "mail.address-confirm", func(tx pgx.Tx, was crash.MailSettings) error {
		args := pgx.NamedArgs{"user": user, "address": address, "now": s.Now()}
		tag, err := tx.Exec(ctx, sqlConfirmAddress, args)
		switch {
		case err != nil:
			return err
		case tag.RowsAffected() == 0 && was.Address == address:
			return nil
		case tag.RowsAffected() == 0:
			return errNotPending
		}
		return db.Exec(ctx, tx, args, sqlMoveWaitingMails)
	})
}

// RemoveMailAddress removes both addresses of a person and cancels waiting mails.
func (s *Store) RemoveMailAddress(ctx context.Context, user int64) error {
	return s.endMail(ctx, user, "mail.address-remove", sqlRemoveAddress)
}

// Unsubscribe switches mail to a person off and cancels waiting mails. The address stays, so that
// the person can switch mail on again.
func (s *Store) Unsubscribe(ctx context.Context, user int64) error {
	err := s.endMail(ctx, user, "mail.unsubscribe", sqlUnsubscribe)
	return db.NoRows(err, nil) // without a row, the account is gone, and so is its mail
}

func (s *Store) endMail(ctx context.Context, user int64, action, sql string) error {
	return s.changeMail(ctx, user, action, func(tx pgx.Tx, _ crash.MailSettings) error {
		args := pgx.NamedArgs{"user": user, "now": s.Now()}
		if _, err := tx.Exec(ctx, sql, args); err != nil {
			return err
		}
		return db.Exec(ctx, tx, args, sqlCancelMails)
	})
}

// MailKey returns the key that signs links in mails. All instances have the same.
func (s *Store) MailKey(ctx context.Context) ([]byte, error) {
	fresh := make([]byte, 32)
	_, _ = rand.Read(fresh) // never fails
	if _, err := s.Pool.Exec(ctx, sqlInsertKey, pgx.NamedArgs{"key": fresh}); err != nil {
		return nil, fmt.Errorf("mail key: %w", db.Classify(err))
	}
	var key []byte
	err := s.Pool.QueryRow(ctx, sqlMailKey).Scan(&key)
	return key, db.Wrap(err, "mail key")
}

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
	people, err := db.List(ctx, s.Pool, sqlWaitingPeople, nil, pgx.RowTo[int64])
	if err != nil {
		return fmt.Errorf("plan mails: %w", db.Classify(err))
	}
	errs := []error{s.planWeekly(ctx)}
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
	_, err := s.Pool.Exec(ctx, sqlMailNobody)
	return db.Wrap(err, "skip mail")
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
		if err != nil { // without a row, the account is disabled, or another instance decides
			return db.NoRows(err, nil)
		}
		if _, err := tx.Exec(ctx, sqlForgetUnreadable, args); err != nil {
			return err
		}
		if work.Waiting, err = db.List(ctx, tx, sqlWaitingNotices, args, scanWaiting); err != nil {
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
// notices is deleted, as is a weekly report in which nothing is left.
func (s *Store) ClaimMail(ctx context.Context) (mail crash.Mail, notices []crash.Notice, err error) {
	for {
		mail, notices, err = s.claimMail(ctx)
		if err == nil && mail.Kind == crash.MailReport && mail.Weekly == nil {
			if _, err := s.Pool.Exec(ctx, sqlDropMail, pgx.NamedArgs{"mail": mail.ID}); err != nil {
				return mail, nil, fmt.Errorf("claim a mail: %w", db.Classify(err))
			}
			continue
		}
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
		return db.Exec(ctx, tx, args, sqlDropEmpty)
	})
}

var errNoMail = crash.Errorf(crash.NotFound, "no_mail", "No mail is due.")

func (s *Store) claimMail(ctx context.Context) (mail crash.Mail, notices []crash.Notice, err error) {
	unit, err := s.InstanceNumber(ctx)
	if err != nil {
		return mail, nil, err
	}
	stop, err := s.StopState(ctx)
	if err != nil {
		return mail, nil, err
	}
	mail, err = db.One(ctx, s.Pool, sqlClaimMail, pgx.NamedArgs{"unit": unit, "now": s.Now(),
		"stopped": !stop.Stopped.IsZero(), "restored": !stop.Restored.IsZero()}, scanMail)
	if err != nil {
		return mail, nil, db.WrapOr(err, errNoMail, "claim a mail")
	}
	if mail.Kind == crash.MailReport {
		mail.Weekly, err = s.weeklyOf(ctx, mail)
		return mail, nil, db.Wrap(err, "claim a mail")
	}
	notices, err = db.List(s.as(ctx, mail.User), s.Pool, sqlMailNotices, s.RightsArgs(pgx.NamedArgs{"mail": mail.ID,
		"own": crash.OwnEvents}), scanNotice)
	if err == nil && mail.Kind == crash.MailNotice && len(notices) == 1 && notices[0].Event.Bucket != nil {
		e := &notices[0].Event
		err = s.Pool.QueryRow(ctx, sqlFirstTitle, pgx.NamedArgs{"bucket": e.Bucket[:]}).Scan(&e.Thread)
	}
	return mail, notices, db.Wrap(err, "claim a mail")
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
	return db.Wrap(err, "settle mail %d", id)
}

// ReleaseMails makes mails due again that instances claimed which have died since.
func (s *Store) ReleaseMails(ctx context.Context) error {
	own, err := s.InstanceNumber(ctx)
	if err != nil {
		return err
	}
	units, err := db.List(ctx, s.Pool, sqlClaimingUnits, nil, pgx.RowTo[int64])
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
			return db.Exec(ctx, tx, args, sqlReleaseMails)
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
	return db.Wrap(err, "record test mail")
}

var errUnknownMail = crash.Errorf(crash.NotFound, "unknown_mail", "There is no failed email with this number.")

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
	mails, err := db.List(ctx, s.Pool, sqlMails,
		pgx.NamedArgs{"state": state, "user": user, "before": before, "limit": limit}, scanMail)
	return mails, db.Wrap(err, "list mails")
}

// MailTotals counts mails: those that wait, and those that ended in the past day.
type MailTotals struct {
	States      map[crash.MailState]int64
	LastSuccess time.Time // ever; zero: never
}

// MailTotals returns how many mails wait, and how many ended in the past day.
func (s *Store) MailTotals(ctx context.Context) (t MailTotals, err error) {
	t.States = map[crash.MailState]int64{}
	var state crash.MailState
	var n int64
	var last *time.Time
	if err = db.Each(ctx, s.Pool, sqlMailTotals, pgx.NamedArgs{"since": s.Now().AddDate(0, 0, -1)},
		[]any{&state, &n, &last}, func() { t.States[state] = n }); err == nil {
		err = s.Pool.QueryRow(ctx, sqlLastSuccess).Scan(db.OrZero(&t.LastSuccess))
	}
	return t, db.Wrap(err, "count mails")
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
