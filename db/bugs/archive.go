package bugs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
)

const (
	// maxUnread limits the facts that the tracker has not been asked for yet. Visitors choose the
	// names, so there could be any number.
	maxUnread = 2000
	// archiveFactLifetime is how long mishap updates a fact after someone last wanted it.
	archiveFactLifetime = 30 * 24 * time.Hour
)

const (
	sqlArchiveFacts = `
		select w.kind, w.key, f.read, f.value, coalesce(f.asked < @now::timestamptz - interval '1 day', true)
		from unnest(@kinds::text[], @keys::text[]) with ordinality as w (kind, key, place)
		left join archive_facts as f using (kind, key)
		order by w.place`
	sqlWantFacts = `
		insert into archive_facts (kind, key, asked, next_read)
		select distinct kind, key, @now::timestamptz, @now::timestamptz
		from unnest(@kinds::text[], @keys::text[]) as w (kind, key)
		where exists (select from archive_facts as f where f.kind = w.kind and f.key = w.key)
			or (select count(*) from (select from archive_facts where read is null limit @most) as unread) < @most
		order by kind, key
		on conflict (kind, key) do update set asked = excluded.asked`
)

// ArchiveFacts returns the stored facts of the tracker's archive, in the order of wants. It
// schedules those that are unknown or were not wanted recently to be read. It never waits for the
// tracker.
func (s *Store) ArchiveFacts(ctx context.Context, wants []crash.ArchiveWant) ([]crash.ArchiveFact, error) {
	facts := make([]crash.ArchiveFact, len(wants))
	var kinds, keys []string
	var places []int
	for i, w := range wants {
		facts[i].ArchiveWant = w
		if w.Valid() {
			kinds, keys, places = append(kinds, string(w.Kind)), append(keys, w.Key), append(places, i)
		}
	}
	if len(places) == 0 {
		return facts, nil
	}
	args := pgx.NamedArgs{"kinds": kinds, "keys": keys, "now": s.Now(), "most": maxUnread}
	kinds, keys = nil, nil
	at := 0
	var f crash.ArchiveFact
	var value *factValue
	var want bool
	into := []any{&f.Kind, &f.Key, db.OrZero(&f.Read), &value, &want}
	if err := db.Each(ctx, s.Pool, sqlArchiveFacts, args, into, func() {
		fact := &facts[places[at]]
		at++
		fact.Read = f.Read
		if value != nil {
			fact.Exists, fact.Publications, fact.Names = true, value.Publications, value.Names
		}
		if want {
			kinds, keys = append(kinds, string(f.Kind)), append(keys, f.Key)
		}
		value = nil
	}); err != nil {
		return nil, fmt.Errorf("archive facts: %w", db.Classify(err))
	}
	if len(kinds) > 0 {
		args["kinds"], args["keys"] = kinds, keys
		if _, err := s.Pool.Exec(ctx, sqlWantFacts, args); err != nil {
			return nil, fmt.Errorf("want archive facts: %w", db.Classify(err))
		}
	}
	return facts, nil
}

// factValue is the JSON form of a fact in the database.
type factValue struct {
	Publications []crash.Publication `json:"publications,omitempty"`
	Names        []string            `json:"names,omitempty"`
}

// PackagesOfSet returns the source packages of a package set in a release, sorted. known is false
// if the tracker has not been asked yet, or has no series for the release. It returns NotFound if
// there is no such set.
func (s *Store) PackagesOfSet(ctx context.Context, release crash.Release, set string) (names []string, known bool,
	err error) {
	if release == "" {
		release = crash.Releases().Latest("Ubuntu", s.Now())
	}
	return s.namesOf(ctx, crash.ArchiveWant{Kind: crash.ArchiveSet, Key: release.Codename() + "/" + set},
		crash.Errorf(crash.NotFound, "unknown_set", "The tracker knows no package set %.100q in that release.", set))
}

// PackagesOfPerson returns the source packages to whose bugs a person or team of the tracker is
// subscribed, sorted. known is false if the tracker has not been asked yet. It returns NotFound if
// there is no such person.
func (s *Store) PackagesOfPerson(ctx context.Context, name string) (names []string, known bool, err error) {
	return s.namesOf(ctx, crash.ArchiveWant{Kind: crash.ArchivePerson, Key: name},
		crash.Errorf(crash.NotFound, "unknown_person", "The tracker knows nobody of the name %.100q.", name))
}

func (s *Store) namesOf(ctx context.Context, want crash.ArchiveWant, unknown error) ([]string, bool, error) {
	if !want.Valid() {
		return nil, false, unknown
	}
	facts, err := s.ArchiveFacts(ctx, []crash.ArchiveWant{want})
	if err != nil {
		return nil, false, err
	}
	if facts[0].Known() && !facts[0].Exists {
		return nil, false, unknown
	}
	return facts[0].Names, facts[0].Known(), nil
}

const sqlDueFacts = `
	select kind, key from archive_facts where next_read <= @now
	order by read is not null, next_read, kind, key limit @limit`

// DueArchiveFacts returns up to limit facts that should be read from the tracker now. Those that
// were never read come first.
func (s *Store) DueArchiveFacts(ctx context.Context, limit int) ([]crash.ArchiveWant, error) {
	wants, err := db.List(ctx, s.Pool, sqlDueFacts, pgx.NamedArgs{"now": s.Now(), "limit": limit},
		pgx.RowToStructByPos[crash.ArchiveWant])
	return wants, db.Wrap(err, "due archive facts")
}

const sqlSaveFact = `
	update archive_facts set value = @value, read = @now, next_read = @now::timestamptz + @again::interval,
		failures = 0, failure = ''
	where kind = @kind and key = @key`

// SaveArchiveFact stores a fact that the tracker has returned. It schedules the next reading after
// the time again.
func (s *Store) SaveArchiveFact(ctx context.Context, f crash.ArchiveFact, again time.Duration) error {
	var value *factValue
	if f.Exists {
		value = &factValue{f.Publications, f.Names}
	}
	args := pgx.NamedArgs{"kind": f.Kind, "key": f.Key, "value": value, "now": s.Now(), "again": again}
	_, err := s.Pool.Exec(ctx, sqlSaveFact, args)
	return db.Wrap(err, "save archive fact")
}

const sqlFailFact = `
	update archive_facts set failures = failures + 1, failure = @why,
		next_read = @now::timestamptz + least(@again::interval * power(2, least(failures, 10)), interval '1 day')
	where kind = @kind and key = @key`

// FailArchiveFact records that a fact could not be read, and why. The time until the next attempt
// starts with again and doubles with each failure. The stored fact stays.
func (s *Store) FailArchiveFact(ctx context.Context, w crash.ArchiveWant, why string, again time.Duration) error {
	args := pgx.NamedArgs{"kind": w.Kind, "key": w.Key, "why": why, "now": s.Now(), "again": again}
	_, err := s.Pool.Exec(ctx, sqlFailFact, args)
	return db.Wrap(err, "archive fact failed")
}

const sqlDropFacts = `delete from archive_facts where asked < @before`

// DropArchiveFacts deletes facts that no one has wanted for a month.
func (s *Store) DropArchiveFacts(ctx context.Context) error {
	_, err := s.Pool.Exec(ctx, sqlDropFacts, pgx.NamedArgs{"before": s.Now().Add(-archiveFactLifetime)})
	return db.Wrap(err, "drop archive facts")
}

const (
	sqlSaveUpdatePolicy = `
		insert into update_rules (pattern, position, again, quiet, quiet_weeks, section, person, changed)
		values (@pattern, (select coalesce(max(position), 0) + 1 from update_rules), @again, @quiet, @weeks, @section,
			@person, now())
		on conflict (pattern) do update set again = @again, quiet = @quiet, quiet_weeks = @weeks, section = @section,
			person = @person, changed = now()
		where (update_rules.again, update_rules.quiet, update_rules.quiet_weeks, update_rules.section)
			is distinct from (@again, @quiet, @weeks, @section)`
	updatePolicyColumns = `again, quiet, quiet_weeks, section`
	sqlOldUpdatePolicy  = `select ` + updatePolicyColumns + ` from update_rules where pattern = @pattern for update`
	sqlDropUpdatePolicy = `
		delete from update_rules where pattern = @pattern and pattern <> '*' returning ` + updatePolicyColumns
	sqlLockUpdatePolicies  = `select pattern from update_rules where pattern <> '*' order by position, pattern for update`
	sqlOrderUpdatePolicies = `
		update update_rules set position = o.position
		from unnest(@patterns::text[]) with ordinality as o (pattern, position) where update_rules.pattern = o.pattern`
)

var errUnknownRule = crash.Errorf(crash.NotFound, "unknown_rule", "This row no longer exists. Reload the page.")

// SaveUpdatePolicy stores a row for all instances. It replaces the row with the same pattern, or adds
// a new one after all others but the one for every package. r.Person is who does it.
func (s *Store) SaveUpdatePolicy(ctx context.Context, r crash.UpdatePolicy) error {
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		before, err := auditedUpdatePolicy(tx.QueryRow(ctx, sqlOldUpdatePolicy, pgx.NamedArgs{"pattern": r.Pattern}))
		if err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, sqlSaveUpdatePolicy, pgx.NamedArgs{"pattern": r.Pattern, "again": r.Again, "quiet": r.Quiet,
			"weeks": r.QuietWeeks, "section": r.Section, "person": r.Person})
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		return s.Audit(ctx, tx, db.AuditEvent{Person: r.Person, Action: "tracker.updates", Subject: r.Pattern,
			Before: before,
			After:  map[string]any{"again": r.Again, "quiet": r.Quiet, "weeks": r.QuietWeeks, "section": r.Section}})
	})
	return db.Wrap(err, "rule of updates")
}

// auditedUpdatePolicy returns what the audit log says about a row; nil if there is none.
func auditedUpdatePolicy(row pgx.Row) (map[string]any, error) {
	var again, quiet, section bool
	var weeks int
	err := row.Scan(&again, &quiet, &weeks, &section)
	if err != nil {
		return nil, db.NoRows(err, nil)
	}
	return map[string]any{"again": again, "quiet": quiet, "weeks": weeks, "section": section}, nil
}

// DropUpdatePolicy deletes the row with a pattern. It returns NotFound if there is none, or if it is
// the row for every package.
func (s *Store) DropUpdatePolicy(ctx context.Context, pattern, person string) error {
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		before, err := auditedUpdatePolicy(tx.QueryRow(ctx, sqlDropUpdatePolicy, pgx.NamedArgs{"pattern": pattern}))
		if err != nil {
			return err
		}
		if before == nil {
			return errUnknownRule
		}
		return s.Audit(ctx, tx, db.AuditEvent{Person: person, Action: "tracker.updates-drop", Subject: pattern,
			Before: before})
	})
	return db.Wrap(err, "drop row of updates")
}

// RaiseUpdatePolicy moves the row with a pattern one place up, so that it applies before its
// neighbour. It returns NotFound if there is none.
func (s *Store) RaiseUpdatePolicy(ctx context.Context, pattern, person string) error {
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		patterns, err := db.List(ctx, tx, sqlLockUpdatePolicies, nil, pgx.RowTo[string])
		if err != nil {
			return err
		}
		i := slices.Index(patterns, pattern)
		if i < 0 {
			return errUnknownRule
		}
		if i == 0 {
			return nil
		}
		patterns[i-1], patterns[i] = patterns[i], patterns[i-1]
		if _, err := tx.Exec(ctx, sqlOrderUpdatePolicies, pgx.NamedArgs{"patterns": patterns}); err != nil {
			return err
		}
		return s.Audit(ctx, tx, db.AuditEvent{Person: person, Action: "tracker.updates-order", Subject: pattern,
			Before: map[string]any{"position": i + 1}, After: map[string]any{"position": i}})
	})
	return db.Wrap(err, "order of updates")
}

const sqlRestored = `select restored, backup_taken from filing_writer where restored is not null`

// Restored returns when the database was restored from a backup, unless it was compared with the
// tracker since. Until FinishRestore, no bugs, comments, mails or deliveries are sent. Restored
// returns the zero value if nothing is pending.
func (s *Store) Restored(ctx context.Context) (crash.Restored, error) {
	r, err := db.One(ctx, s.Pool, sqlRestored, nil, pgx.RowToStructByPos[crash.Restored])
	return r, db.WrapOr(err, nil, "restored database")
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
	ctx = db.Everything(ctx)
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
	items, err = db.List(db.Everything(ctx), h.Pool, sqlHeld, pgx.NamedArgs{"at": r.At, "limit": limit},
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

const sqlFilingForBug = `
	select ` + filingColumns + ` from filings
	where bucket_id = @bucket and upstream = upstream_bug(@number) for update`

// ReconcileBug links a bucket to a bug that mishap has filed for it, and that was found in the
// tracker. It ends an open filing of the bucket with that bug. Calling it again changes nothing. It
// returns Conflict while a bug for the bucket is being sent.
func (s *Store) ReconcileBug(ctx context.Context, bucket crash.BucketID, bug crash.Bug) error {
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		var f crash.Filing
		err := scanFiling(tx.QueryRow(ctx, sqlFilingForBug, pgx.NamedArgs{
			"bucket": bucket[:], "number": bug.Number,
		}), &f)
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
