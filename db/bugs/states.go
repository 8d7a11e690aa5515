package bugs

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
)

// sqlBucketBugs selects only the oldest link if several buckets of a problem are linked to the same
// bug.
const sqlBucketBugs = `
	select ` + db.BugColumns + ` from (
		select distinct on (bug_number) * from bucket_bugs where bucket_id in ` + db.Members +
	` order by bug_number, at, bucket_id
	) as l ` + db.BugJoins + ` order by ` + db.BugOrder

// BucketBugs returns all bugs of a bucket's problem. The first one determines the status, and lists
// show it.
func (s *Store) BucketBugs(ctx context.Context, id crash.BucketID) ([]crash.Bug, error) {
	bugs, err := db.List(ctx, s.Pool, sqlBucketBugs, pgx.NamedArgs{"bucket": id[:]},
		func(row pgx.CollectableRow) (crash.Bug, error) {
			var b db.BugScan
			err := row.Scan(b.Columns()...)
			return b.Bug(), err
		})
	if err != nil {
		return nil, fmt.Errorf("bugs of bucket %s: %w", id, db.Classify(err))
	}
	err = s.addUpdates(ctx, bugs)
	return bugs, db.Wrap(err, "bugs of bucket %s", id)
}

const sqlPublicBugs = `
	select b.url from (
		select distinct on (bug_number) bug_number, at, bucket_id from bucket_bugs where bucket_id in ` + db.Members + `
		order by bug_number, at, bucket_id
	) as l join bugs as b on b.number = l.bug_number join bug_states as st on st.number = l.bug_number
	where st.read is not null and not st.private and not st.hidden and b.url <> ''
	order by l.at, l.bug_number limit 20`

// PublicBugs returns the addresses of the bugs of a problem that everybody may see, oldest link first, at most 20.
// A bug that was never read from its tracker is not public. Embargoed problems have none.
func (s *Store) PublicBugs(ctx context.Context, id crash.BucketID) ([]string, error) {
	ctx = db.AsVisitor(ctx)
	urls, err := db.List(ctx, s.Pool, sqlPublicBugs, pgx.NamedArgs{"bucket": id[:]}, pgx.RowTo[string])
	return urls, db.Wrap(err, "public bugs of bucket %s", id)
}

const sqlDueBugs = `
	select number from bug_states where next_read <= now() and number >> 40 = @place
	order by next_read, number limit @limit`

// DueBugs returns the numbers of up to limit bugs of a place that should be read from the tracker now, longest
// overdue first.
func (s *Store) DueBugs(ctx context.Context, place, limit int) ([]int64, error) {
	return s.numbers(ctx, "due bugs", sqlDueBugs, pgx.NamedArgs{"place": place, "limit": limit})
}

func (s *Store) numbers(ctx context.Context, what, sql string, args pgx.NamedArgs) ([]int64, error) {
	numbers, err := db.List(ctx, s.Pool, sql, args, pgx.RowTo[int64])
	return numbers, db.Wrap(err, "%s", what)
}

const (
	sqlKnowBug = `
		insert into bugs (number, title, url) values (@number, '', @url) on conflict (number) do nothing`
	sqlSaveState = `
		update bug_states set information_type = @type, private = @private, hidden = @hidden,
			duplicate_of = nullif(@duplicate::bigint, 0), closed = @closed, tasks = @tasks, fixes = @fixes,
			read = now(), next_read = now() + @again::interval, failures = 0, failure = ''
		where number = @number`
	sqlSaveBugTitle = `update bugs set title = @title where number = @number and title <> @title`
)

// SaveBugReading stores the state of a bug that the tracker has returned. It schedules the next
// reading after the time again. If the bug is a duplicate, mishap reads its master from now on,
// too; masterURL is the page of the master.
func (s *Store) SaveBugReading(ctx context.Context, r crash.BugReading, masterURL string, again time.Duration) error {
	title := r.Title
	if r.Private || r.Hidden {
		title = ""
	}
	args := pgx.NamedArgs{
		"number": r.Number, "type": r.InformationType, "private": r.Private, "hidden": r.Hidden, "duplicate": r.DuplicateOf,
		"closed": r.Closed(), "tasks": listOf(r.Tasks), "fixes": listOf(r.Fixes), "again": again, "title": title,
	}
	return s.InTx(ctx, func(tx pgx.Tx) error {
		if r.DuplicateOf != 0 {
			master := pgx.NamedArgs{"number": r.DuplicateOf, "url": masterURL}
			if err := db.Exec(ctx, tx, master, sqlKnowBug, db.SQLWatchBug); err != nil {
				return fmt.Errorf("bug %d: %w", r.DuplicateOf, err)
			}
		}
		if err := db.Exec(ctx, tx, args, sqlSaveState, sqlSaveBugTitle); err != nil {
			return fmt.Errorf("state of bug %d: %w", r.Number, err)
		}
		return nil
	})
}

// listOf returns list, or an empty list for nil, so that its JSON is never null.
func listOf[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

const sqlFailState = `
	update bug_states set failures = failures + 1, failure = @failure,
		next_read = now() + least(@again::interval * power(2, least(failures, 9)), interval '6 hours')
	where number = @number`

// FailBugReading records that a bug could not be read, and why. The time until the next attempt
// starts with again and doubles with each failure in a row.
func (s *Store) FailBugReading(ctx context.Context, number int64, why string, again time.Duration) error {
	_, err := s.Pool.Exec(ctx, sqlFailState, pgx.NamedArgs{"number": number, "failure": why, "again": again})
	return db.Wrap(err, "state of bug %d", number)
}

const sqlReadBugsNow = `update bug_states set next_read = now() where number = any(@numbers)`

// ReadBugsNow schedules bugs to be read at once because someone asks for it, even those whose last
// reading failed.
func (s *Store) ReadBugsNow(ctx context.Context, numbers []int64) error {
	_, err := s.Pool.Exec(ctx, sqlReadBugsNow, pgx.NamedArgs{"numbers": numbers})
	return db.Wrap(err, "read bugs now")
}

const sqlRefreshBugs = `
	update bug_states set next_read = now()
	where number = any(@numbers) and next_read > now() and failures = 0
		and (read is null or read < now() - @older::interval)`

// RefreshBugs schedules bugs to be read soon if their state is older than a duration, because
// someone looks at them. It leaves bugs whose last reading failed to their own schedule.
func (s *Store) RefreshBugs(ctx context.Context, numbers []int64, older time.Duration) error {
	_, err := s.Pool.Exec(ctx, sqlRefreshBugs, pgx.NamedArgs{"numbers": numbers, "older": older})
	return db.Wrap(err, "read bugs soon")
}

const sqlStatesOf = `select to_jsonb(st) from bug_states as st where st.number = any(@numbers) and st.read is not null`

// BugStates returns the stored states of bugs, in no particular order. It omits bugs that were
// never read.
func (s *Store) BugStates(ctx context.Context, numbers []int64) ([]crash.BugState, error) {
	states, err := db.List(ctx, s.Pool, sqlStatesOf, pgx.NamedArgs{"numbers": numbers},
		func(row pgx.CollectableRow) (crash.BugState, error) {
			var st *db.StoredState
			if err := row.Scan(&st); err != nil {
				return crash.BugState{}, err
			}
			return st.State(st.Number, ""), nil
		})
	return states, db.Wrap(err, "states of bugs")
}

const (
	sqlChangesUntil     = `select changes_until from bug_places where place = @place`
	sqlSaveChangesUntil = `update bug_places set changes_until = @until where place = @place`
	sqlChangedBugs      = `update bug_states set next_read = now() where number = any(@numbers) and failures = 0`
)

// ChangesUntil returns up to which time the changes of a place were read from its tracker, or the zero time if they
// never were.
func (s *Store) ChangesUntil(ctx context.Context, place int) (until time.Time, err error) {
	err = s.Pool.QueryRow(ctx, sqlChangesUntil, pgx.NamedArgs{"place": place}).Scan(db.OrZero(&until))
	return until, db.Wrap(err, "changes in the tracker")
}

// SaveChanges schedules those of the bugs that are linked here to be read, and stores up to which
// time the changes of their place were read.
func (s *Store) SaveChanges(ctx context.Context, place int, numbers []int64, until time.Time) error {
	return s.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlChangedBugs, pgx.NamedArgs{"numbers": listOf(numbers)}); err != nil {
			return fmt.Errorf("changed bugs: %w", err)
		}
		_, err := tx.Exec(ctx, sqlSaveChangesUntil, pgx.NamedArgs{"place": place, "until": until})
		return db.Wrap(err, "changes in the tracker")
	})
}

const (
	sqlForgetCalls = `delete from tracker_calls where at < now() - interval '7 days'`
	sqlAddCalls    = `
		insert into tracker_calls (tracker, id, at) select @tracker, unnest(@ids::text[]), now()
		where not exists (select from tracker_calls where tracker = @tracker and id = any(@ids::text[]))
		on conflict do nothing`
)

// ReceiveCall schedules those of the bugs that are linked here to be read, because a tracker has called. The ids
// identify the call. ReceiveCall returns false, and does nothing, if it knows one of them from the past week.
func (s *Store) ReceiveCall(
	ctx context.Context, tracker string, ids []string, numbers []int64,
) (first bool, err error) {
	args := pgx.NamedArgs{"tracker": tracker, "ids": ids, "numbers": listOf(numbers)}
	err = s.InTx(ctx, func(tx pgx.Tx) error {
		if err := db.Exec(ctx, tx, args, sqlForgetCalls); err != nil {
			return err
		}
		added, err := tx.Exec(ctx, sqlAddCalls, args)
		if first = added.RowsAffected() == int64(len(ids)); err != nil || !first {
			return err
		}
		return db.Exec(ctx, tx, args, sqlReadBugsNow)
	})
	return first, db.Wrap(err, "call of tracker %s", tracker)
}

const (
	sqlPlaces   = `select place, tracker, project, upstream from bug_places order by place`
	sqlAddPlace = `
		insert into bug_places (place, tracker, project, upstream)
		select max(place) + 1, @tracker, @project, @upstream from bug_places
		on conflict (tracker, project) do nothing`
	sqlLockPlaces  = `lock table bug_places in share row exclusive mode`
	sqlSetUpstream = `
		update bug_places set upstream = @upstream where tracker = @tracker and upstream <> @upstream`
)

// BugPlaces returns all places of bugs, by their numbers.
func (s *Store) BugPlaces(ctx context.Context) (map[int]crash.BugPlace, error) {
	places := map[int]crash.BugPlace{}
	var number int
	var p crash.BugPlace
	err := db.Each(ctx, s.Pool, sqlPlaces, nil, []any{&number, &p.Tracker, &p.Project, &p.Upstream}, func() {
		places[number] = p
	})
	return places, db.Wrap(err, "places of bugs")
}

// AddBugPlace adds a place, unless it is there, and sets for all places of its tracker whether they are upstream's.
func (s *Store) AddBugPlace(ctx context.Context, p crash.BugPlace) error {
	args := pgx.NamedArgs{"tracker": p.Tracker, "project": p.Project, "upstream": p.Upstream}
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		return db.Exec(ctx, tx, args, sqlLockPlaces, sqlAddPlace, sqlSetUpstream)
	})
	return db.Wrap(err, "place of bugs %s %s", p.Tracker, p.Project)
}

// sqlClosedBugs selects the problems whose bug is closed, with the versions that mishap has
// commented on.
const sqlClosedBugs = `
	select ` + db.BucketColumns + `, array(
			select c.version from bug_comments as c
			where c.kind = 'again' and c.bug_number = coalesce((g.state ->> 'duplicate_of')::bigint, g.number))
	from buckets as b ` + db.BucketJoins + `
	where b.id in (
			select lb.head
			from bucket_bugs as l join buckets as lb on lb.id = l.bucket_id join bug_states as st on st.number = l.bug_number
				left join bug_states as m on m.number = st.duplicate_of
			where coalesce(m.closed, st.closed) and not upstream_bug(l.bug_number))
	order by b.id`

// UncommentedRegressions returns the problems that are regressions in a version that mishap has not
// commented on in the tracker yet. The problems include their status.
func (s *Store) UncommentedRegressions(ctx context.Context) ([]crash.Bucket, error) {
	ctx = db.AsVisitor(ctx) // mishap writes nothing about embargoed problems to bugs
	type closed struct {
		crash.Bucket
		commented []string
	}
	all, err := db.List(ctx, s.Pool, sqlClosedBugs, nil, func(row pgx.CollectableRow) (c closed, err error) {
		err = db.ScanBucketAnd(row, &c.Bucket, &c.commented)
		return c, err
	})
	if err != nil {
		return nil, fmt.Errorf("regressions: %w", db.Classify(err))
	}
	buckets := make([]*crash.Bucket, len(all))
	for i := range all {
		buckets[i] = &all[i].Bucket
	}
	if err := s.Judge(ctx, buckets...); err != nil {
		return nil, fmt.Errorf("regressions: %w", err)
	}
	var out []crash.Bucket
	for _, c := range all {
		if _, version, again := c.Status.Regressed(); again && !slices.Contains(c.commented, version) {
			out = append(out, c.Bucket)
		}
	}
	return out, nil
}

const sqlBugTotals = `
	select count(*), count(*) filter (where next_read <= now()), count(*) filter (where failures > 0), min(read)
	from bug_states`

// BugTotals returns how many bugs are read regularly, overdue or failing, for the metrics.
func (s *Store) BugTotals(ctx context.Context) (t crash.BugTotals, err error) {
	err = s.Pool.QueryRow(ctx, sqlBugTotals).Scan(&t.Followed, &t.Due, &t.Failing, db.OrZero(&t.Oldest))
	return t, db.Wrap(err, "count bugs")
}

// sqlTrackerState is one statement, because every page of people who file bugs needs all of it.
const sqlTrackerState = `
	select w.restored, w.backup_taken,
		exists (
			select from own_tracker_accounts
			where user_id = @user and tracker_url = @url and consumer_key = @consumer and broken
		),
		coalesce(c.token, ''), coalesce(c.secret_sealed, ''), coalesce(h.dead, false),
		(select count(*) from filings where state in ('queued', 'uncertain'))
	from filing_writer as w
		left join oauth_credentials as c
			on c.tracker_url = @url and c.consumer_key = @consumer and c.secret_sealed <> ''
		left join oauth_health as h
			on h.tracker_url = @url and h.consumer_key = @consumer and h.token = coalesce(nullif(@token, ''), c.token)`

// TrackerState returns the state of the tracker for a person. configured is the public part of the
// access token that this instance was configured with; without one, it uses the saved token.
func (s *Store) TrackerState(ctx context.Context, key crash.TrackerKey, user int64, configured string) (
	t crash.TrackerState, err error,
) {
	args := ownArgs(key, user)
	args["token"] = configured
	var saved string
	var sealed []byte
	err = s.Pool.QueryRow(ctx, sqlTrackerState, args).Scan(db.OrZero(&t.Restored.At), db.OrZero(&t.Restored.BackupTaken),
		&t.OwnRejected, &saved, &sealed, &t.Rejected, &t.Waiting)
	if err != nil {
		return t, fmt.Errorf("state of the tracker: %w", db.Classify(err))
	}
	t.Connected = configured != ""
	if !t.Connected && saved != "" {
		_, t.Connected = s.openToken(ctx, key, saved, sealed)
	}
	return t, nil
}

const (
	// sqlClaimSubscription marks a subscription as failed until it succeeds, because it is tried only
	// once.
	sqlClaimSubscription = `
		with due as (
			select f.id, u.tracker_name, u.id as user_id
			from filings as f join users as u on u.name = f.person
			where f.subscription = 'due' and u.tracker_name <> ''
			order by f.id limit 1 for update of f skip locked
		)
		update filings as f set subscription = 'failed' from due where f.id = due.id
		returning f.id, f.bug_number, due.tracker_name, due.user_id, f.information_type = 'Private Security'`
	sqlInsertSubscribing = `
		insert into filing_attempts (filing_id, action, unit, started) values (@id, 'subscribe', @instance, now())
		returning id`
	sqlSubscribed = `update filings set subscription = 'done' where id = @id`
)

// ClaimSubscription claims one person to subscribe to the bug that they had filed. Filing is 0 if
// there is none.
func (s *Store) ClaimSubscription(ctx context.Context) (crash.Subscription, error) {
	var sub crash.Subscription
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		if err := tx.QueryRow(ctx, sqlClaimSubscription).Scan(
			&sub.Filing, &sub.Bug, &sub.Account, &sub.User, &sub.Private); err != nil {
			return err
		}
		instance, err := s.InstanceNumber(ctx)
		if err != nil {
			return err
		}
		return tx.QueryRow(ctx, sqlInsertSubscribing, pgx.NamedArgs{"id": sub.Filing, "instance": instance}).Scan(&sub.Entry)
	})
	return sub, db.WrapOr(err, nil, "claim subscription")
}

// FinishSubscription records the outcome of subscribing a person.
func (s *Store) FinishSubscription(ctx context.Context, sub crash.Subscription, a crash.TrackerAnswer,
	done bool) error {
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, sqlFinishAttempt, pgx.NamedArgs{
			"entry": sub.Entry, "outcome": a.Outcome, "status": a.Status, "request": a.RequestID, "words": a.Message,
			"account": sub.As,
		})
		if err == nil && done {
			_, err = tx.Exec(ctx, sqlSubscribed, pgx.NamedArgs{"id": sub.Filing})
		}
		return err
	})
	return db.Wrap(err, "finish subscription of filing %d", sub.Filing)
}

const (
	sqlBeginComment = `
		insert into bug_comments (bug_number, kind, version, bucket_id, at, outcome)
		values (@number, @kind, @about, @bucket, now(), 'sending')
		on conflict do nothing
		returning true`
	sqlEndComment = `
		update bug_comments set outcome = @outcome, words = @words
		where bug_number = @number and kind = @kind and version = @about`
	sqlCancelComment = `
		delete from bug_comments
		where bug_number = @number and kind = @kind and version = @about and outcome = 'sending'`
)

// BeginComment records that a comment of a kind is about to be sent, about a version or a day. It
// returns false if such a comment was or may have been sent before; then the caller must not send
// another one.
func (s *Store) BeginComment(ctx context.Context, number int64, kind crash.UpdateKind, about string,
	bucket crash.BucketID) (first bool, err error) {
	args := pgx.NamedArgs{"number": number, "kind": string(kind), "about": about, "bucket": bucket[:]}
	err = s.Pool.QueryRow(ctx, sqlBeginComment, args).Scan(&first)
	return first, db.WrapOr(err, nil, "comment on bug %d", number)
}

// EndComment records the outcome of a comment: "sent", "refused" or "unknown", with the tracker's
// answer. An empty outcome means that certainly nothing was sent, so that it can be tried again.
func (s *Store) EndComment(ctx context.Context, number int64, kind crash.UpdateKind, about, outcome,
	answer string) error {
	sql := sqlEndComment
	if outcome == "" {
		sql = sqlCancelComment
	}
	args := pgx.NamedArgs{"number": number, "kind": string(kind), "about": about, "outcome": outcome, "words": answer}
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sql, args); err != nil || outcome == "" {
			return err
		}
		words := commentWords[kind] + about
		if other, err := strconv.ParseInt(about, 10, 64); kind == crash.UpdateForwarded && err == nil {
			words = commentWords[kind] + crash.BugText(other)
		}
		if answer != "" {
			words += ": " + answer
		}
		return s.auditUpdate(ctx, tx, number, "bug.comment-"+outcome, "", words)
	})
	return db.Wrap(err, "comment on bug %d", number)
}

// commentWords say what a comment of a kind is about, before the version or the day.
var commentWords = map[crash.UpdateKind]string{
	crash.UpdateAgain: "seen again in ", crash.UpdateNames: "function names", crash.UpdateQuiet: "no report since ",
	crash.UpdateForwarded: "address of bug ",
}

const sqlBucketOfBug = `
	select encode(l.bucket_id, 'hex')
	from bucket_bugs as l left join bug_states as st on st.number = l.bug_number
	where l.bug_number = @number or st.duplicate_of = @number
	order by l.bug_number <> @number, l.at, l.bucket_id limit 1`

// auditUpdate records what mishap wrote to a bug, in the history of the bucket that had the bug
// first. It records nothing for a bug that has been unlinked.
func (s *Store) auditUpdate(ctx context.Context, tx pgx.Tx, number int64, action, person, words string) error {
	var subject string
	err := tx.QueryRow(ctx, sqlBucketOfBug, pgx.NamedArgs{"number": number}).Scan(&subject)
	if err != nil {
		return db.WrapOr(err, nil, "bucket of bug %d", number)
	}
	return s.Audit(ctx, tx, db.AuditEvent{Person: person, Action: action, Subject: subject,
		Detail: map[string]any{"bug": number, "words": words}})
}

// openBugs joins the bugs that comments and sections are for: open bugs that the tracker shows to
// everyone, and that duplicate no other. h is a problem of the bug.
const openBugs = publicBugs + ` and not st.closed`

// publicBugs is the same, with closed bugs.
const publicBugs = `
	bucket_bugs as l
		join bug_states as st on st.number = l.bug_number and st.read is not null
			and not st.hidden and not st.private and st.duplicate_of is null
		join buckets as lb on lb.id = l.bucket_id join buckets as h on h.id = lb.head`

const (
	sqlQuietBugs = `
		select q.number, q.source_package, seen.releases, c.at
		from (
				select distinct on (st.number) st.number, h.source_package from ` + openBugs + `
				where not upstream_bug(st.number)
				order by st.number, h.reports desc, h.id
			) as q
			cross join lateral (
				select jsonb_object_agg(release, last) as releases, max(last) as last from (
					select r.release, max((r.last_seen).seen) as last
					from buckets as m join bucket_releases as r on r.bucket_id = m.id
					where (r.last_seen).seen is not null and m.head in (
						select lb.head from bucket_bugs as l join buckets as lb on lb.id = l.bucket_id
							left join bug_states as d on d.number = l.bug_number
						where l.bug_number = q.number or d.duplicate_of = q.number)
					group by r.release
				) as each_release
			) as seen
			left join lateral (
				select max(at) as at from bug_comments where bug_number = q.number and kind = 'quiet'
			) as c on true
		where seen.last is not null and (c.at is null or c.at < seen.last)
		order by q.number`
	sqlPackageReported = `
		select exists (
			select from report_days
			where package = @package and day > (@after::timestamptz at time zone 'utc')::date)`
)

// sqlForwardedBugs selects for each problem the bug that was linked last in an upstream project, and in the
// distribution, if both are open and public. It omits imported links, which no person asked for.
const sqlForwardedBugs = `
	with pairs as (
		select distinct on (u.id) u.id, d.number as distribution, u.number as upstream
		from (
				select h.id, st.number, l.at from ` + openBugs + `
					join bug_places as p on p.place = l.bug_number >> 40 and p.upstream
				where l.person <> ''
			) as u
			join lateral (
				select st.number from ` + openBugs + `
				where h.id = u.id and not upstream_bug(l.bug_number)
				order by l.at desc, l.bug_number desc limit 1
			) as d on true
		order by u.id, u.at desc, u.number desc
	)
	select p.id, p.distribution, p.upstream, n.named, n.back
	from pairs as p cross join lateral (
		select exists (select from bug_comments as c where c.bug_number = p.distribution and c.kind = 'forwarded'
				and c.version = p.upstream::text) as named,
			exists (select from bug_comments as c where c.bug_number = p.upstream and c.kind = 'forwarded'
				and c.version = p.distribution::text) as back
	) as n
	where not (n.named and n.back)
	order by p.id`

// ForwardedBugs returns the pairs of bugs that do not name each other yet.
func (s *Store) ForwardedBugs(ctx context.Context) ([]crash.ForwardedBug, error) {
	ctx = db.AsVisitor(ctx) // mishap writes nothing about embargoed problems to bugs
	pairs, err := db.List(ctx, s.Pool, sqlForwardedBugs, nil, db.Into(func(f *crash.ForwardedBug) []any {
		return []any{&f.Bucket, &f.Distribution, &f.Upstream, &f.Named, &f.NamedBack}
	}))
	return pairs, db.Wrap(err, "forwarded bugs")
}

// QuietBugs returns the open bugs without a comment about being quiet since the last report of any
// of their problems.
func (s *Store) QuietBugs(ctx context.Context) ([]crash.QuietBug, error) {
	ctx = db.AsVisitor(ctx) // mishap writes nothing about embargoed problems to bugs
	bugs, err := db.List(ctx, s.Pool, sqlQuietBugs, nil, db.Into(func(q *crash.QuietBug) []any {
		return []any{&q.Number, &q.SourcePackage, &q.Last, db.OrZero(&q.Commented)}
	}))
	return bugs, db.Wrap(err, "quiet bugs")
}

// PackageReported reports whether any problem of a binary package was reported on a later UTC day.
func (s *Store) PackageReported(ctx context.Context, pkg string, after time.Time) (reported bool, err error) {
	err = s.Pool.QueryRow(ctx, sqlPackageReported, pgx.NamedArgs{"package": pkg, "after": after}).Scan(&reported)
	return reported, db.Wrap(err, "reports of a package")
}
