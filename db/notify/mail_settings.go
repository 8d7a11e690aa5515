package notify

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
		"Too many links were sent to this address or asked for by you. Look for the last one, or try again tomorrow.")
	errManyTests = crash.Errorf(crash.TooMany, "too_many_tests",
		"You have sent %d test mails within an hour. Try again later.", maxTests)
	errNotPending = crash.Errorf(crash.Conflict, "mail_address_not_pending",
		"This link belongs to another address than the one that you last asked for. Ask for a new link.")
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
	if err != nil {
		return settings, fmt.Errorf("mail settings: %w", db.Classify(err))
	}
	return settings, nil
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
			_, err := tx.Exec(ctx, sqlCancelMails, args)
			return err
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
		_, err = tx.Exec(ctx, sqlMoveWaitingMails, args)
		return err
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
	if errors.Is(err, pgx.ErrNoRows) { // the account is gone, and so is its mail
		return nil
	}
	return err
}

func (s *Store) endMail(ctx context.Context, user int64, action, sql string) error {
	return s.changeMail(ctx, user, action, func(tx pgx.Tx, _ crash.MailSettings) error {
		args := pgx.NamedArgs{"user": user, "now": s.Now()}
		if _, err := tx.Exec(ctx, sql, args); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, sqlCancelMails, args)
		return err
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
	if err := s.Pool.QueryRow(ctx, sqlMailKey).Scan(&key); err != nil {
		return nil, fmt.Errorf("mail key: %w", db.Classify(err))
	}
	return key, nil
}
