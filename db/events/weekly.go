package events

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/db"
	"mishap/notify/rules"
)

// maxWeekly is the greatest number of weekly reports that a person gets.
const maxWeekly = 20

var (
	errManyWeekly = crash.Errorf(crash.Conflict, "too_many_weekly",
		"You get %d weekly reports, the maximum. Remove one first.", maxWeekly)
	errNoWeekly = crash.Errorf(crash.NotFound, "no_such_weekly", "You do not get this weekly report.")
)

const (
	sqlWeeklyMails = `
		select id, scope, name from weekly_mails where user_id = @user order by scope, name`
	sqlAddWeekly = `
		insert into weekly_mails (user_id, scope, name, created, planned)
		select @user, @scope, @name, @now, @now
		where (select count(*) from weekly_mails where user_id = @user) < @most
		on conflict (user_id, scope, name) do nothing returning id`
	sqlHasWeekly    = `select exists (select from weekly_mails where user_id = @user and scope = @scope and name = @name)`
	sqlRemoveWeekly = `delete from weekly_mails where id = @id and user_id = @user returning scope, name`
	// sqlWeeklyDue selects the reports of people who get mail and may read reports.
	sqlWeeklyDue = `
		select w.id, w.user_id, w.scope, w.name, w.planned
		from weekly_mails as w join users as u on u.id = w.user_id and not u.disabled
			join mail_settings as s on s.user_id = u.id and s.address <> '' and s.mode <> 'off'
		where w.planned < @before and u.id in (` + db.Readers + `) order by w.id`
	sqlPlanWeekly       = `update weekly_mails set planned = @at where id = @id and planned = @was`
	sqlInsertWeeklyMail = `
		insert into mails (user_id, kind, address, created, due, weekly_id, week)
		values (@user, 'weekly', @address, @now, @now, @weekly, @week)`
	sqlMailWeekly = `
		select w.scope, w.name, m.week from mails as m join weekly_mails as w on w.id = m.weekly_id
			join users as u on u.id = m.user_id and not u.disabled
		where m.id = @mail and u.id in (` + db.Readers + `)`
	sqlDropMail         = `delete from mails where id = @mail`
	sqlFollowedPackages = `
		select kind, name from followed where user_id = @user and kind in ('package', 'person', 'set', 'problem')`
)

// WeeklyMail is a weekly report that a person gets by mail.
type WeeklyMail struct {
	ID int64
	crash.WeeklyScope
}

// WeeklyMails returns the weekly reports that a person gets.
func (s *Store) WeeklyMails(ctx context.Context, user int64) ([]WeeklyMail, error) {
	mails, err := db.List(ctx, s.Pool, sqlWeeklyMails, pgx.NamedArgs{"user": user}, db.Into(func(w *WeeklyMail) []any {
		return []any{&w.ID, &w.Kind, &w.Name}
	}))
	return mails, db.Wrap(err, "weekly reports")
}

// AddWeeklyMail subscribes a person to a weekly report. It changes nothing if the person gets it already, and returns
// Conflict if the person gets too many.
func (s *Store) AddWeeklyMail(ctx context.Context, user int64, scope crash.WeeklyScope) error {
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		args := pgx.NamedArgs{"user": user, "scope": scope.Kind, "name": scope.Name, "now": s.Now(), "most": maxWeekly}
		var name string
		if err := tx.QueryRow(ctx, sqlLockPerson, args).Scan(&name); err != nil {
			return err
		}
		var id int64
		err := tx.QueryRow(ctx, sqlAddWeekly, args).Scan(&id)
		if errors.Is(err, pgx.ErrNoRows) {
			var has bool
			if err := tx.QueryRow(ctx, sqlHasWeekly, args).Scan(&has); err != nil || has {
				return err
			}
			return errManyWeekly
		}
		if err != nil {
			return err
		}
		return s.Audit(ctx, tx, db.AuditEvent{Action: "mail.weekly-add", Subject: name, After: auditedWeekly(scope)})
	})
	return db.Wrap(err, "subscribe to a weekly report")
}

// RemoveWeeklyMail ends a weekly report, also mails that wait. It returns NotFound if the person does not get it.
func (s *Store) RemoveWeeklyMail(ctx context.Context, user, id int64) error {
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		args := pgx.NamedArgs{"user": user, "id": id}
		var name string
		if err := tx.QueryRow(ctx, sqlLockPerson, args).Scan(&name); err != nil {
			return err
		}
		var scope crash.WeeklyScope
		if err := tx.QueryRow(ctx, sqlRemoveWeekly, args).Scan(&scope.Kind, &scope.Name); err != nil {
			return db.NoRows(err, errNoWeekly)
		}
		return s.Audit(ctx, tx, db.AuditEvent{Action: "mail.weekly-remove", Subject: name, Before: auditedWeekly(scope)})
	})
	return db.Wrap(err, "end a weekly report")
}

func auditedWeekly(s crash.WeeklyScope) map[string]any {
	return map[string]any{"scope": s.Kind, "name": s.Name}
}

// weeklyDue is a report that may be due.
type weeklyDue struct {
	WeeklyMail
	user    int64
	planned time.Time
}

// planWeekly decides which weekly reports become mails now. A report in which nothing happened becomes none; of several
// that are due, such as after an outage, only the last does.
func (s *Store) planWeekly(ctx context.Context) error {
	now := s.Now()
	due, err := db.List(ctx, s.Pool, sqlWeeklyDue, s.RightsArgs(pgx.NamedArgs{"before": now}),
		db.Into(func(w *weeklyDue) []any { return []any{&w.ID, &w.user, &w.Kind, &w.Name, &w.planned} }))
	if err != nil {
		return fmt.Errorf("weekly reports: %w", db.Classify(err))
	}
	var errs []error
	for _, w := range due {
		settings, err := s.MailSettings(ctx, w.user)
		if err != nil {
			return err
		}
		settings.Mode = crash.MailWeekly
		at := settings.NextDigest(w.planned)
		if at.After(now) {
			continue
		}
		for next := settings.NextDigest(at); !next.After(now); next = settings.NextDigest(at) {
			at = next
		}
		if err := s.planWeeklyMail(ctx, w, at); err != nil {
			errs = append(errs, fmt.Errorf("weekly report %d: %w", w.ID, err))
		}
	}
	return errors.Join(errs...)
}

// planWeeklyMail decides about a report that is due at a time. Its week ends on the UTC day before.
func (s *Store) planWeeklyMail(ctx context.Context, w weeklyDue, at time.Time) error {
	week := crash.WeekOf(at.AddDate(0, 0, -1).UTC())
	report, known, err := s.weeklyReport(ctx, w.user, w.WeeklyScope, week)
	if err != nil || !known { // the tracker has not said which packages it is about
		return err
	}
	return s.InTx(ctx, func(tx pgx.Tx) error {
		args := pgx.NamedArgs{"user": w.user, "id": w.ID, "was": w.planned, "at": at, "now": s.Now(), "weekly": w.ID,
			"week": week}
		settings, err := scanSettings(tx.QueryRow(ctx, sqlLockMailSettings, args), w.user)
		if err != nil { // without a row, the account is disabled, or another instance decides
			return db.NoRows(err, nil)
		}
		tag, err := tx.Exec(ctx, sqlPlanWeekly, args)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		if report == nil || settings.Address == "" || settings.Mode == crash.MailOff {
			return nil
		}
		args["address"] = settings.Address
		return db.Exec(ctx, tx, args, sqlInsertWeeklyMail)
	})
}

// weeklyOf returns the report of a mail as its recipient may see it now, or nil if nothing happened in it, or the
// person may not read it any more.
func (s *Store) weeklyOf(ctx context.Context, mail crash.Mail) (*crash.WeeklyReport, error) {
	var scope crash.WeeklyScope
	var week time.Time
	err := s.Pool.QueryRow(ctx, sqlMailWeekly, s.RightsArgs(pgx.NamedArgs{"mail": mail.ID})).
		Scan(&scope.Kind, &scope.Name, &week)
	if err != nil {
		return nil, db.NoRows(err, nil)
	}
	report, _, err := s.weeklyReport(ctx, mail.User, scope, week)
	return report, err
}

// weeklyReport returns the report of a week for a person, or nil if nothing happened. known is false until the tracker
// has said which packages it is about.
func (s *Store) weeklyReport(ctx context.Context, user int64, scope crash.WeeklyScope, first time.Time) (
	report *crash.WeeklyReport, known bool, err error) {
	ctx = s.as(ctx, user)
	match, known, err := s.weeklyMatch(ctx, user, scope)
	if err != nil || !known {
		return nil, false, err
	}
	ix, err := s.IndexWithStates(ctx)
	if err != nil {
		return nil, false, err
	}
	week, err := s.Week(ctx, ix, match, first)
	if err != nil || week.Empty() {
		return nil, err == nil, err
	}
	report = &crash.WeeklyReport{Scope: scope, First: week.First, Last: week.Last, Reports: week.Reports,
		Before: week.Before}
	for _, part := range crash.WeeklyParts {
		list := week.List(part)
		if len(list) == 0 {
			continue
		}
		shown := crash.WeeklyList{Part: part, Count: len(list)}
		for _, e := range list[:min(len(list), crash.WeeklyRows)] {
			public := e.Public()
			shown.Lines = append(shown.Lines, crash.WeeklyLine{ID: e.ID, Package: public.Package, Reports: e.Reports,
				Title: crash.OneLine(cmp.Or(public.Name, public.Title, crash.Truncate(public.Signature, 200))), Text: e.Text})
		}
		report.Parts = append(report.Parts, shown)
	}
	return report, true, nil
}

// weeklyMatch returns what selects the problems of a report.
func (s *Store) weeklyMatch(ctx context.Context, user int64, scope crash.WeeklyScope) (
	match func(*index.Problem) bool, known bool, err error) {
	if scope.Kind == crash.WeeklyAll {
		return func(*index.Problem) bool { return true }, true, nil
	}
	follows := []crash.Follow{{Name: scope.Name}}
	switch scope.Kind {
	case crash.WeeklyMine:
		follows, err = db.List(ctx, s.Pool, sqlFollowedPackages, pgx.NamedArgs{"user": user},
			db.Into(func(f *crash.Follow) []any { return []any{&f.Kind, &f.Name} }))
		if err != nil {
			return nil, false, fmt.Errorf("followed packages: %w", db.Classify(err))
		}
	case crash.WeeklySet:
		follows[0].Kind = crash.FollowSet
	case crash.WeeklyTeam:
		follows[0].Kind = crash.FollowPerson
	case crash.WeeklyPackage, crash.WeeklyAll:
		follows[0].Kind = crash.FollowPackage
	}
	packages, problems := map[string]bool{}, map[string]bool{}
	var kinds, keys []string
	for _, f := range follows {
		switch f.Kind {
		case crash.FollowPackage:
			packages[f.Name] = true
		case crash.FollowProblem:
			problems[f.Name] = true
		case crash.FollowSet, crash.FollowPerson:
			of := rules.OfSet
			if f.Kind == crash.FollowPerson {
				of = rules.OfTeam
			}
			k, names := s.wants(rules.Scope{Kind: of, Names: []string{f.Name}})
			kinds, keys = append(kinds, k...), append(keys, names...)
		case crash.FollowSearch:
		}
	}
	if len(keys) > 0 {
		members, err := s.packagesOf(ctx, kinds, keys)
		if err != nil {
			return nil, false, err
		}
		for i := range keys {
			names, said := members[[2]string{kinds[i], keys[i]}]
			if !said && scope.Kind != crash.WeeklyMine {
				return nil, false, nil
			}
			for _, name := range names {
				packages[name] = true
			}
		}
	}
	return func(p *index.Problem) bool {
		return packages[p.Package] || packages[p.Source] || len(problems) > 0 && problems[p.ID.String()]
	}, true, nil
}
