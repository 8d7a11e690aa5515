// Package bugs stores filings of bugs from the click to the outcome, with their ledger, the access token
// of the tracker, and the templates of bug texts. It stores the links between problems and bugs, the
// states of the bugs in the tracker, mishap's comments on them, and facts of the tracker's package
// archive. It does not call the tracker.
package bugs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
)

// Store stores filings, bugs and facts of the archive. It is safe for concurrent use.
type Store struct{ *db.Store }

// New returns the Store of a database.
func New(s *db.Store) *Store { return &Store{s} }

const (
	sqlBucketExists = `select true from buckets where id = @bucket for no key update`
	sqlHasBug       = `select exists (select from bucket_bugs where bucket_id in ` + db.Members +
		` and bug_number = @number)`
	sqlForgetUnlink = `delete from unlinked_bugs where bucket_id in ` + db.Members + ` and bug_number = @number`
	sqlUnlinkBug    = `
		with gone as (
			delete from bucket_bugs where bucket_id in ` + db.Members + ` and bug_number = @number
			returning bucket_id, bug_number, how, person, at
		)
		insert into unlinked_bugs (bucket_id, bug_number, how, person, at, unlinked_by, unlinked_at)
		select bucket_id, bug_number, how, person, at, @by, now() from gone
		on conflict (bucket_id, bug_number) do update set
			how = excluded.how, person = excluded.person, at = excluded.at,
			unlinked_by = excluded.unlinked_by, unlinked_at = excluded.unlinked_at
		returning how, person, at`
	sqlRelinkBug = `
		with back as (
			delete from unlinked_bugs where bucket_id in ` + db.Members + ` and bug_number = @number
			returning bucket_id, bug_number, how, person, at
		)
		insert into bucket_bugs (bucket_id, bug_number, how, person, at)
		select bucket_id, bug_number, how, person, at from back
		on conflict do nothing
		returning true`
	// sqlUnfile abandons the filing of an unlinked bug, so that the bug can be filed again.
	sqlUnfile = `
		update filings set state = 'abandoned', bug_number = null, problem = 'unlinked', reason = @reason, updated = now()
		where bucket_id in ` + db.Members + ` and state = 'filed' and bug_number = @number`
	sqlRefile = `
		update filings set state = 'filed', bug_number = @number, problem = '', reason = '', updated = now()
		where bucket_id in ` + db.Members + ` and state = 'abandoned' and problem = 'unlinked' and exists (
			select from bucket_bugs as l where l.bucket_id = filings.bucket_id and l.bug_number = @number and l.how = 'filed')`
)

// LinkBug links a bug of the tracker to a bucket by hand. It returns false if they are linked
// already. It ends an open filing of the bucket with that bug, unless the filing is being sent. It
// returns NotFound for an unknown bucket.
func (s *Store) LinkBug(ctx context.Context, bucket crash.BucketID, bug crash.Bug) (isNew bool, err error) {
	bug.How = crash.Linked
	args := pgx.NamedArgs{"bucket": bucket[:], "number": bug.Number}
	err = s.InTx(ctx, func(tx pgx.Tx) error {
		var exists, has bool
		if err := tx.QueryRow(ctx, sqlBucketExists, args).Scan(&exists); err != nil {
			return err
		}
		if err := tx.QueryRow(ctx, sqlHasBug, args).Scan(&has); err != nil || has {
			return err
		}
		isNew = true
		if err := s.AddBugLink(ctx, tx, bucket, bug); err != nil {
			return err
		}
		if err := s.SettleByLink(ctx, tx, bucket, bug); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlForgetUnlink, args); err != nil {
			return err
		}
		return s.Audit(ctx, tx, db.AuditEvent{
			Person: bug.By, Action: "bug.link", Subject: bucket.String(), After: map[string]any{"bug": bug.Number},
		})
	})
	return isNew, db.WrapOr(err, crash.ErrUnknownBucket, "link bug %d to %s", bug.Number, bucket)
}

func errNotLinked(number int64) error {
	return crash.Errorf(crash.NotFound, "not_linked", "Bug %s is not linked to this problem.", crash.BugText(number))
}

// UnlinkBug removes the link between a bug and a bucket's problem. RelinkBug undoes this. It
// returns NotFound if they are not linked.
func (s *Store) UnlinkBug(ctx context.Context, bucket crash.BucketID, number int64, person string) error {
	args := pgx.NamedArgs{
		"bucket": bucket[:], "number": number, "by": person,
		"reason": fmt.Sprintf("%s unlinked bug %s, which was filed for this problem.", person, crash.BugText(number)),
	}
	return s.changeLink(ctx, "unlink", bucket, number, func(tx pgx.Tx) error {
		var how, by string
		var at time.Time
		if err := tx.QueryRow(ctx, sqlUnlinkBug, args).Scan(&how, &by, &at); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlUnfile, args); err != nil {
			return err
		}
		return s.Audit(ctx, tx, db.AuditEvent{
			Person: person, Action: "bug.unlink", Subject: bucket.String(),
			Before: map[string]any{"bug": number, "how": how, "person": by, "at": at},
		})
	})
}

// RelinkBug restores a removed link, with the person who made it and its time. It returns NotFound
// if there is none.
func (s *Store) RelinkBug(ctx context.Context, bucket crash.BucketID, number int64, person string) error {
	args := pgx.NamedArgs{"bucket": bucket[:], "number": number}
	return s.changeLink(ctx, "relink", bucket, number, func(tx pgx.Tx) error {
		var back bool
		if err := tx.QueryRow(ctx, sqlRelinkBug, args).Scan(&back); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlRefile, args); err != nil {
			return err
		}
		return s.Audit(ctx, tx, db.AuditEvent{
			Person: person, Action: "bug.relink", Subject: bucket.String(), After: map[string]any{"bug": number},
		})
	})
}

func (s *Store) changeLink(ctx context.Context, what string, bucket crash.BucketID, number int64,
	change func(pgx.Tx) error) error {
	err := s.InTx(ctx, change)
	return db.WrapOr(err, errNotLinked(number), "%s bug %d of %s", what, number, bucket)
}

const (
	sqlImportFates = `
		select case
				when b.id is null then case when exists (
					select from lost_bugs as w where w.bucket_id = t.bucket and w.bug_number <= t.number
				) then 'known' else 'wait' end
				when exists (
					select from bucket_bugs as l join buckets as m on m.id = l.bucket_id
					where m.head = b.head and l.bug_number = t.number) then 'known'
				when exists (
					select from unlinked_bugs as l join buckets as m on m.id = l.bucket_id
					where m.head = b.head and l.bug_number = t.number) then 'unlinked'
				else 'link' end
		from unnest(@buckets::bytea[], @numbers::bigint[]) with ordinality as t (bucket, number, place)
			left join buckets as b on b.id = t.bucket
		order by place`
	sqlExpectBugs = `
		with links as (
				select * from unnest(@buckets::bytea[], @numbers::bigint[], @urls::text[]) as t (bucket, number, url)
			), new as (
				insert into bugs (number, url) select distinct on (number) number, url from links
				on conflict (number) do nothing
			)
		insert into lost_bugs (bucket_id, bug_number) select bucket, min(number) from links group by bucket
		on conflict (bucket_id) do update set bug_number = least(lost_bugs.bug_number, excluded.bug_number)`
)

func importArgs(links []crash.BugImport) pgx.NamedArgs {
	buckets, numbers, urls := make([][]byte, len(links)), make([]int64, len(links)), make([]string, len(links))
	for i, l := range links {
		id := crash.BucketIDOf(l.Signature)
		buckets[i], numbers[i], urls[i] = id[:], l.Bug.Number, l.Bug.URL
	}
	return pgx.NamedArgs{"buckets": buckets, "numbers": numbers, "urls": urls}
}

// ImportBugs links problems to bugs if apply is set, as LinkBug does, and returns what importing does with each link.
// A problem without a report gets its bug with the first one; of several, the bug with the lowest number. It does not
// restore links that people have removed.
func (s *Store) ImportBugs(ctx context.Context, links []crash.BugImport, apply bool) ([]crash.ImportFate, error) {
	fates, err := db.List(ctx, s.Pool, sqlImportFates, importArgs(links), pgx.RowTo[crash.ImportFate])
	if err != nil || !apply {
		return fates, db.Wrap(err, "fates of imported links")
	}
	var waiting []crash.BugImport
	for i, l := range links {
		switch fates[i] {
		case crash.ImportLinks:
			if _, err := s.LinkBug(ctx, crash.BucketIDOf(l.Signature), l.Bug); err != nil {
				return nil, err
			}
		case crash.ImportWaits:
			waiting = append(waiting, l)
		case crash.ImportKnown, crash.ImportRemoved:
		}
	}
	_, err = s.Pool.Exec(ctx, sqlExpectBugs, importArgs(waiting))
	return fates, db.Wrap(err, "bugs of problems without a report")
}

const (
	sqlCountNewAddresses = `
		select count(*) from (select distinct * from unnest(@paths::text[], @buckets::bytea[]) as t (path, bucket)) as t
		where not exists (select from old_addresses as o where o.path = t.path and o.bucket_id = t.bucket)`
	sqlAddAddresses = `
		insert into old_addresses (path, bucket_id)
		select distinct path, bucket from unnest(@paths::text[], @buckets::bytea[]) as t (path, bucket)
		on conflict do nothing`
	sqlOldAddress = `
		select b.id from (
				select distinct m.head from old_addresses join buckets as m on m.id = bucket_id where path = @path
				union select head from buckets where id = @own
			) as l join buckets as b on b.id = l.head` + db.BucketJoins + `
		order by w.reports desc, b.id limit 1`
)

// ImportAddresses stores addresses of problems in another crash tracker if apply is set. It returns how many of
// them are new.
func (s *Store) ImportAddresses(ctx context.Context, addresses []crash.OldAddress, apply bool) (n int, err error) {
	paths, buckets := make([]string, len(addresses)), make([][]byte, len(addresses))
	for i, a := range addresses {
		paths[i], buckets[i] = a.Path, a.Bucket[:]
	}
	args := pgx.NamedArgs{"paths": paths, "buckets": buckets}
	if !apply {
		err = s.Pool.QueryRow(ctx, sqlCountNewAddresses, args).Scan(&n)
		return n, db.Wrap(err, "count new old addresses")
	}
	tag, err := s.Pool.Exec(ctx, sqlAddAddresses, args)
	return int(tag.RowsAffected()), db.Wrap(err, "store old addresses")
}

// ProblemAt returns the problem that an address in another crash tracker was about, in the form of
// [crash.ParseOldAddress], or that mishap has named to a client of ABRT: there, the hash is the id of the problem. Of
// several problems, it returns the most frequent one. It returns NotFound if the
// address is unknown, or none of its problems is stored.
func (s *Store) ProblemAt(ctx context.Context, path string) (crash.BucketID, error) {
	var id crash.BucketID
	var own []byte
	if hash, ok := strings.CutPrefix(path, "/reports/bthash/"); ok {
		if named, err := crash.ParseBucketID(hash); err == nil {
			own = named[:]
		}
	}
	err := s.Pool.QueryRow(ctx, sqlOldAddress, pgx.NamedArgs{"path": path, "own": own}).Scan(&id)
	return id, db.WrapOr(err, errUnknownAddress, "problem at %s", path)
}

var errUnknownAddress = crash.Errorf(crash.NotFound, "unknown_old_address",
	"This address of another crash tracker leads to no problem here. An administrator can import such addresses "+
		"with the command “mishap bugs import”.")

// maxBucketsOfBug limits how many buckets of a bug are listed.
const maxBucketsOfBug = 1000

const sqlBucketsOfBug = `
	select ` + db.BucketColumns + ` from (
			select m.head from bucket_bugs join buckets as m on m.id = bucket_id where bug_number = @number
			union
			select m.head from bucket_bugs join buckets as m on m.id = bucket_id join bug_states on number = bug_number
			where duplicate_of = @number
		) as l join buckets as b on b.id = l.head` + db.BucketJoins + `
	order by w.reports desc, b.id limit @limit`

// BucketsOfBug returns the problems that are linked to a bug or to a duplicate of it, most frequent
// first. It returns NotFound if there are none.
func (s *Store) BucketsOfBug(ctx context.Context, number int64) ([]crash.Bucket, error) {
	buckets, err := db.List(ctx, s.Pool, sqlBucketsOfBug, pgx.NamedArgs{"number": number, "limit": maxBucketsOfBug},
		db.ScanBucket)
	if err != nil {
		return nil, fmt.Errorf("buckets of bug %d: %w", number, db.Classify(err))
	}
	if len(buckets) == 0 {
		return nil, crash.Errorf(crash.NotFound, "unknown_bug", "No problem here has the bug %s.", crash.BugText(number))
	}
	return buckets, nil
}

const sqlBugsNumbered = `
	select distinct bug_number from bucket_bugs where bug_number & 1099511627775 = @number order by bug_number`

// BugsNumbered returns the bugs with a number in any tracker, with their places, that are linked to problems.
func (s *Store) BugsNumbered(ctx context.Context, number int64) ([]int64, error) {
	return s.numbers(ctx, "bugs with a number", sqlBugsNumbered, pgx.NamedArgs{"number": number})
}

const sqlSignaturesOfBug = `
	select signature from bucket_bugs join buckets on id = bucket_id where bug_number = @number
	order by signature limit nullif(@limit::int, 0)`

// SignaturesOfBug returns the signatures of up to limit buckets that are linked to a bug, or of all
// if limit is 0.
func (s *Store) SignaturesOfBug(ctx context.Context, number int64, limit int) ([]string, error) {
	signatures, err := db.List(ctx, s.Pool, sqlSignaturesOfBug, pgx.NamedArgs{"number": number, "limit": limit},
		pgx.RowTo[string])
	return signatures, db.Wrap(err, "signatures of bug %d", number)
}

// These statements change filings by hand.
const (
	// sqlReviveFiling revives a filing that was abandoned or refused with an unknown outcome. It keeps the
	// old contents, because the tracker must be searched for these before anything is sent again.
	sqlReviveFiling = `
		update filings set state = 'uncertain', unsettled = false, person = @person, own_user = @own, problem = '',
			reason = '', created = now(), updated = now(), not_before = greatest(now(), coalesce(settles, now()))
		where id = @id and state in ('abandoned', 'refused') and unsettled
		returning ` + filingColumns
	sqlFilingForUpdate = sqlFiling + ` for update`
	sqlHastenFiling    = `
		update filings set updated = now(),
			not_before = case state when 'uncertain' then greatest(now(), coalesce(settles, now())) else now() end
		where id = @id and state in ('queued', 'uncertain') and unit is null
		returning ` + filingColumns
	sqlGiveUpFiling = `
		update filings set state = 'abandoned', unsettled = unsettled or state = 'uncertain', unit = null,
			problem = 'abandoned', reason = @reason, updated = now()
		where id = @id and state in ('queued', 'uncertain', 'refused')
		returning ` + filingColumns
)

// renewFiling gives a filing new contents and moves it to the end of the queue.
func (s *Store) renewFiling(ctx context.Context, tx pgx.Tx, args pgx.NamedArgs, f *crash.Filing) error {
	err := scanFiling(tx.QueryRow(ctx, sqlReviveFiling, args), f)
	if errors.Is(err, pgx.ErrNoRows) {
		err = scanFiling(tx.QueryRow(ctx, sqlRenewFiling, args), f)
	}
	return err
}

// HastenFiling makes a waiting filing due at once, or as soon as a search can find its bug if the
// outcome is unknown. It returns other filings unchanged. It returns NotFound for an unknown
// filing.
func (s *Store) HastenFiling(ctx context.Context, id int64, person string) (crash.Filing, error) {
	return s.byHand(ctx, sqlHastenFiling, pgx.NamedArgs{"id": id}, db.AuditEvent{Person: person, Action: "bug.retry"}, nil)
}

// GiveUpFiling abandons a filing that has no bug yet, with a reason. If a bug was filed
// nevertheless, and mishap learns of it later, that bug counts. It returns Conflict if the filing
// is being sent or is final, and NotFound for an unknown filing.
func (s *Store) GiveUpFiling(ctx context.Context, id int64, person, reason string) (crash.Filing, error) {
	return s.byHand(ctx, sqlGiveUpFiling, pgx.NamedArgs{"id": id, "reason": reason}, db.AuditEvent{
		Person: person, Action: "bug.give-up", Detail: map[string]any{"words": reason},
	}, errNotToGiveUp)
}

var errNotToGiveUp = crash.Errorf(crash.Conflict, "not_to_give_up",
	"This filing is being sent or is finished. It cannot be given up.")

// byHand changes a filing and records who did it. If the statement does not apply to the filing's
// state, byHand returns unfit, or the unchanged filing if unfit is nil.
func (s *Store) byHand(
	ctx context.Context, sql string, args pgx.NamedArgs, event db.AuditEvent, unfit error,
) (crash.Filing, error) {
	var f crash.Filing
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		err := scanFiling(tx.QueryRow(ctx, sqlFilingForUpdate, args), &f)
		if err != nil {
			return err
		}
		event.Before = auditedFiling(f)
		err = scanFiling(tx.QueryRow(ctx, sql, args), &f)
		if err != nil {
			return db.NoRows(err, unfit)
		}
		if f.State != crash.FilingAbandoned {
			if err := s.AddFilingJob(ctx, tx, f.ID, jobHead); err != nil {
				return err
			}
		}
		event.Subject, event.After = f.Bucket.String(), auditedFiling(f)
		return s.Audit(ctx, tx, event)
	})
	return f, db.WrapOr(err, errUnknownFiling, "%s of filing %v", event.Action, args["id"])
}

// auditedFiling returns what the audit log says about a filing that somebody changes.
func auditedFiling(f crash.Filing) map[string]any {
	return map[string]any{"filing": f.ID, "state": f.State, "due": f.NotBefore}
}

// sqlNamedBugs selects open bugs that were filed for a problem without function names, whose
// problem was then merged into one with names, and that mishap has not commented on because of
// that. The bug may belong to a bucket that a person had merged into the nameless one.
const sqlNamedBugs = `
	select ` + db.BucketColumns + `, q.number
	from (
			select distinct on (l.bug_number) l.bug_number as number, lb.head
			from bucket_bugs as l
				join buckets as lb on lb.id = l.bucket_id join buckets as h on h.id = lb.head
				join bug_states as st on st.number = l.bug_number
				left join decisions as m on m.bucket_id = lb.id and m.kind = 'merged' and m.undone_at is null
			where l.how = 'filed' and lb.provisional and not h.provisional
				and exists (
					select from decisions as d
					where d.bucket_id in (lb.id, m.other_id) and d.kind = 'merged' and d.cause = 'symbolised'
						and d.undone_at is null and d.at > l.at)
				and not exists (select from bug_comments as c where c.bug_number = l.bug_number and c.kind = 'names')
				and st.read is not null and not st.closed and not st.hidden and st.duplicate_of is null
			order by l.bug_number, lb.head
		) as q
		join buckets as b on b.id = q.head ` + db.BucketJoins + `
	order by q.number`

// NamedBugs returns the open bugs that mishap filed while their problem had no function names, that
// has them by now, and that mishap has not commented on because of that.
func (s *Store) NamedBugs(ctx context.Context) ([]crash.NamedBug, error) {
	ctx = db.AsVisitor(ctx) // mishap writes nothing about embargoed problems to bugs
	bugs, err := db.List(ctx, s.Pool, sqlNamedBugs, nil, func(row pgx.CollectableRow) (n crash.NamedBug, err error) {
		err = db.ScanBucketAnd(row, &n.Bucket, &n.Number)
		return n, err
	})
	return bugs, db.Wrap(err, "bugs that got names")
}

const (
	sqlBugTemplates = `
		select tracker, package, problem_type, body, person, changed from bug_templates
		order by package, problem_type, tracker`
	sqlSaveTemplate = `
		insert into bug_templates (tracker, package, problem_type, body, person, changed)
		values (@tracker, @package, @type, @body, @person, now())
		on conflict (tracker, package, problem_type) do update set body = @body, person = @person, changed = now()`
	sqlDropTemplate = `
		delete from bug_templates where tracker = @tracker and package = @package and problem_type = @type
		returning body`
)

// BugTemplates returns the templates that people have changed.
func (s *Store) BugTemplates(ctx context.Context) ([]crash.BugTemplate, error) {
	all, err := db.List(ctx, s.Pool, sqlBugTemplates, nil, pgx.RowToStructByPos[crash.BugTemplate])
	return all, db.Wrap(err, "templates of bugs")
}

const sqlOldTemplate = `
	select body from bug_templates
	where tracker = @tracker and package = @package and problem_type = @type for update`

// SaveBugTemplate stores a template, and replaces an existing one. It does not check the template.
func (s *Store) SaveBugTemplate(ctx context.Context, t crash.BugTemplate) error {
	return s.InTx(ctx, func(tx pgx.Tx) error {
		args := templateArgs(t)
		event := templateEvent("template.save", t)
		var old string
		err := tx.QueryRow(ctx, sqlOldTemplate, args).Scan(&old)
		if err == nil {
			event.Before = map[string]any{"body": old}
		} else if !errors.Is(err, pgx.ErrNoRows) {
			return fmt.Errorf("save template: %w", err)
		}
		if _, err := tx.Exec(ctx, sqlSaveTemplate, args); err != nil {
			return fmt.Errorf("save template: %w", err)
		}
		event.After = map[string]any{"body": t.Body}
		return s.Audit(ctx, tx, event)
	})
}

var errUnknownTemplate = crash.Errorf(crash.NotFound, "unknown_template",
	"This template no longer exists. Reload the page.")

// DropBugTemplate deletes a template, so that a more general one applies again. An audit event
// keeps its text. It returns NotFound if there is no such template.
func (s *Store) DropBugTemplate(ctx context.Context, t crash.BugTemplate) error {
	return s.InTx(ctx, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, sqlDropTemplate, templateArgs(t)).Scan(&t.Body)
		if err != nil {
			return db.WrapOr(err, errUnknownTemplate, "drop template")
		}
		event := templateEvent("template.drop", t)
		event.Before = map[string]any{"body": t.Body}
		return s.Audit(ctx, tx, event)
	})
}

func templateArgs(t crash.BugTemplate) pgx.NamedArgs {
	return pgx.NamedArgs{
		"tracker": t.Tracker, "package": t.Package, "type": t.ProblemType, "body": t.Body, "person": t.By,
	}
}

func templateEvent(action string, t crash.BugTemplate) db.AuditEvent {
	subject := t.Package + "/" + t.ProblemType
	if t.Tracker != "" {
		subject = t.Tracker + ": " + subject
	}
	return db.AuditEvent{Person: t.By, Action: action, Subject: subject}
}

const (
	// sqlDueSections also selects bugs that were closed since their section was written. Only the first tracker's
	// descriptions can be changed.
	sqlDueSections = `
		select number, source_package, closed from (
				select distinct on (st.number) st.number, h.source_package, st.closed, s.next
				from ` + publicBugs + ` left join bug_sections as s on s.bug_number = st.number
				where st.number >> 40 = 0 and (not st.closed and s.bug_number is null or s.stopped = '' and s.next <= now()
					and (not st.closed or s.written is not null and not s.final))
				order by st.number, h.reports desc, h.id
			) as q
		order by next nulls first, number`
	sqlBugSection = `
		select g.number, s.bug_number is not null, coalesce(f.description, ''), f.updated, coalesce(s.hashes, '{}'),
			coalesce(s.facts, '{}'), coalesce(s.pending, '{}'), coalesce(s.replace, false), coalesce(s.attempt, 0),
			s.written, coalesce(s.stopped, ''), s.stopped_at, coalesce(s.problem, '')
		from bugs as g left join bug_sections as s on s.bug_number = g.number
			left join lateral (
				select description, updated from filings
				where s.bug_number is null and bug_number = g.number and state = 'filed' order by id limit 1
			) as f on true
		where g.number = any(@numbers)`
	// closedBug tells whether the bug is closed. The section of such a bug is updated once more.
	closedBug     = `exists (select from bug_states where number = @number and closed)`
	sqlAddSection = `
		insert into bug_sections (bug_number, hashes, facts, written, next)
		values (@number, @hashes, @facts, @written, now() + @again::interval) on conflict do nothing`
	sqlDelaySection = `
		update bug_sections set next = now() + @again::interval, problem = @problem, final = @problem = '' and ` + closedBug +
		`
		where bug_number = @number and attempt = @attempt`
	sqlBeginSection = `
		update bug_sections set attempt = attempt + 1, hashes = array_append(hashes, @hash), pending = @facts,
			next = now() + @again::interval
		where bug_number = @number and attempt = @attempt and stopped = ''
		returning attempt`
	sqlWrittenSection = `
		update bug_sections set hashes = array[@hash], facts = @facts, pending = '{}', replace = false, problem = '',
			written = now(), next = now() + @again::interval, final = ` + closedBug + `
		where bug_number = @number and attempt = @attempt`
	sqlCancelSection = `
		update bug_sections set hashes = hashes[:cardinality(hashes) - 1], pending = '{}', problem = @problem,
			next = now() + @again::interval
		where bug_number = @number and attempt = @attempt`
	sqlStopSection = `
		update bug_sections set stopped = @why, stopped_at = now(), problem = '', pending = '{}'
		where bug_number = @number and attempt = @attempt and stopped = ''`
	sqlResumeSection = `
		update bug_sections set stopped = '', stopped_at = null, replace = true, next = now(), problem = ''
		where bug_number = @number and stopped <> '' and exists (
			select from bucket_bugs where bug_number = @number and bucket_id in ` + db.Members + `)`
)

// DueSections returns the bugs whose section is due to be considered, longest waiting first: open ones,
// and closed ones whose section was not updated since.
func (s *Store) DueSections(ctx context.Context) ([]crash.DueSection, error) {
	ctx = db.AsVisitor(ctx) // mishap writes nothing about embargoed problems to bugs
	due, err := db.List(ctx, s.Pool, sqlDueSections, nil, pgx.RowToStructByPos[crash.DueSection])
	return due, db.Wrap(err, "due sections")
}

// Sections returns the sections of bugs, in no particular order. A bug without one has a section
// that was never written.
func (s *Store) Sections(ctx context.Context, numbers []int64) ([]crash.BugSection, error) {
	all, err := db.List(ctx, s.Pool, sqlBugSection, pgx.NamedArgs{"numbers": listOf(numbers)},
		func(row pgx.CollectableRow) (b crash.BugSection, err error) {
			err = row.Scan(&b.Number, &b.Known, &b.Filed, db.OrZero(&b.FiledAt), &b.Hashes, &b.Facts, &b.Pending, &b.Replace,
				&b.Attempt, db.OrZero(&b.Written), &b.Stopped, db.OrZero(&b.StoppedAt), &b.Problem)
			return b, err
		})
	return all, db.Wrap(err, "sections of bugs")
}

// AddSection stores that mishap updates the section of a bug from now on. If the bug was filed with a
// section, b has its hash and facts, and Written. It changes nothing if the section is known.
func (s *Store) AddSection(ctx context.Context, b crash.BugSection, again time.Duration) error {
	args := pgx.NamedArgs{"number": b.Number, "hashes": listOf(b.Hashes), "facts": b.Facts, "written": nil, "again": again}
	if !b.Written.IsZero() {
		args["written"] = b.Written
	}
	_, err := s.Pool.Exec(ctx, sqlAddSection, args)
	return db.Wrap(err, "section of bug %d", b.Number)
}

// DelaySection schedules the next look at a section, with a problem if there is one.
func (s *Store) DelaySection(ctx context.Context, b crash.BugSection, problem string, again time.Duration) error {
	return s.postponeSection(ctx, sqlDelaySection, b, problem, again)
}

// CancelSection records that the text of the last BeginSection was certainly not written, and why.
func (s *Store) CancelSection(ctx context.Context, b crash.BugSection, problem string, again time.Duration) error {
	return s.postponeSection(ctx, sqlCancelSection, b, problem, again)
}

func (s *Store) postponeSection(ctx context.Context, sql string, b crash.BugSection, problem string,
	again time.Duration) error {
	return s.changeSection(ctx, b.Number, sql, pgx.NamedArgs{
		"number": b.Number, "attempt": b.Attempt, "problem": problem, "again": again,
	}, func(tx pgx.Tx) error {
		if problem == "" || problem == b.Problem {
			return nil
		}
		return s.auditUpdate(ctx, tx, b.Number, "bug.section-failed", "", problem)
	})
}

// BeginSection records that a text with this hash and these facts is about to be sent. It returns
// the number of the attempt. It returns false if another instance has sent something since b was
// read; then the caller must not send anything. The outcome is due to be settled after the time
// again.
func (s *Store) BeginSection(ctx context.Context, b crash.BugSection, hash string, facts crash.SectionFacts,
	again time.Duration) (attempt int64, ok bool, err error) {
	err = s.Pool.QueryRow(ctx, sqlBeginSection, pgx.NamedArgs{
		"number": b.Number, "attempt": b.Attempt, "hash": hash, "facts": facts, "again": again,
	}).Scan(&attempt)
	return attempt, err == nil, db.WrapOr(err, nil, "section of bug %d", b.Number)
}

// SectionWritten records that the tracker has the text with this hash and these facts.
func (s *Store) SectionWritten(ctx context.Context, b crash.BugSection, hash string, facts crash.SectionFacts,
	again time.Duration) error {
	return s.changeSection(ctx, b.Number, sqlWrittenSection, pgx.NamedArgs{
		"number": b.Number, "attempt": b.Attempt, "hash": hash, "facts": facts, "again": again,
	}, func(tx pgx.Tx) error {
		return s.auditUpdate(ctx, tx, b.Number, "bug.section-written", "", "")
	})
}

// StopSection records that mishap no longer updates the section of a bug, until ResumeSection.
func (s *Store) StopSection(ctx context.Context, b crash.BugSection, why crash.SectionStop) error {
	return s.changeSection(ctx, b.Number, sqlStopSection, pgx.NamedArgs{
		"number": b.Number, "attempt": b.Attempt, "why": string(why),
	}, func(tx pgx.Tx) error {
		return s.auditUpdate(ctx, tx, b.Number, "bug.section-"+string(why), "", "")
	})
}

// ResumeSection makes mishap update the section of a bug of a bucket's problem again, and replace
// whatever section the description has. It returns NotFound if it has not stopped.
func (s *Store) ResumeSection(ctx context.Context, bucket crash.BucketID, number int64, person string) error {
	var resumed bool
	err := s.changeSection(ctx, number, sqlResumeSection, pgx.NamedArgs{"number": number, "bucket": bucket[:]},
		func(tx pgx.Tx) error {
			resumed = true
			return s.auditUpdate(ctx, tx, number, "bug.section-resumed", person, "")
		})
	if err == nil && !resumed {
		return crash.Errorf(crash.NotFound, "not_stopped", "mishap has not stopped updating bug %s.", crash.BugText(number))
	}
	return err
}

// changeSection runs a statement that changes at most one section. If it changed one, record adds to
// the history in the same transaction.
func (s *Store) changeSection(ctx context.Context, number int64, sql string, args pgx.NamedArgs,
	record func(pgx.Tx) error) error {
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, sql, args)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		return record(tx)
	})
	return db.Wrap(err, "section of bug %d", number)
}

const sqlBugUpdates = `
	select bug_number, kind, version, at, outcome, words from bug_comments
	where bug_number = any(@numbers) order by bug_number, at desc, kind`

// addUpdates adds to bugs the comments that mishap has sent, and the state of the sections.
func (s *Store) addUpdates(ctx context.Context, bugs []crash.Bug) error {
	if len(bugs) == 0 {
		return nil
	}
	at := map[int64][]*crash.Bug{}
	var numbers []int64
	for i := range bugs {
		for _, number := range []int64{bugs[i].Number, bugs[i].Counts()} {
			if len(at[number]) == 0 {
				numbers = append(numbers, number)
			}
			if len(at[number]) == 0 || at[number][len(at[number])-1] != &bugs[i] {
				at[number] = append(at[number], &bugs[i])
			}
		}
	}
	var number int64
	var u crash.BugUpdate
	err := db.Each(ctx, s.Pool, sqlBugUpdates, pgx.NamedArgs{"numbers": numbers},
		[]any{&number, &u.Kind, &u.About, &u.At, &u.Outcome, &u.Answer}, func() {
			for _, b := range at[number] {
				b.Updates = append(b.Updates, u)
			}
		})
	if err != nil {
		return db.Classify(err)
	}
	sections, err := s.Sections(ctx, numbers)
	if err != nil {
		return err
	}
	for i, section := range sections {
		for _, b := range at[section.Number] {
			if b.Number == section.Number {
				b.Section = &sections[i]
			}
		}
	}
	return nil
}
