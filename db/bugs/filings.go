package bugs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
)

// filingColumns are the columns that scanFiling reads.
const filingColumns = `id, bucket_id, state, person, tracker, project, upstream, target, title, description, tags,
	marker,
	edited, information_type, subscribe, coalesce(bug_number, 0), problem, reason, attempts, created, updated, not_before,
	own_user, sent_user, sent_as, fallback`

func scanFiling(row pgx.Row, f *crash.Filing, more ...any) error {
	return row.Scan(append([]any{
		&f.ID, &f.Bucket, &f.State, &f.Person, &f.Tracker, &f.Project, &f.Upstream, &f.Target, &f.Title,
		&f.Description, &f.Tags, &f.Marker,
		&f.Edited, &f.InformationType, &f.Subscribe, &f.Bug,
		&f.Problem, &f.Reason, &f.Attempts, &f.Created, &f.Updated, &f.NotBefore,
		&f.Own, &f.SentBy, &f.SentAs, &f.Fallback,
	}, more...)...)
}

const sqlFiling = `select ` + filingColumns + ` from filings where id = @id`

// Filing returns a filing. It returns NotFound if there is none with this id.
func (s *Store) Filing(ctx context.Context, id int64) (crash.Filing, error) {
	var f crash.Filing
	err := scanFiling(s.Pool.QueryRow(ctx, sqlFiling, pgx.NamedArgs{"id": id}), &f)
	return f, db.WrapOr(err, errUnknownFiling, "filing %d", id)
}

var errUnknownFiling = crash.Errorf(crash.NotFound, "unknown_filing", "There is no such filing.")

// jobHead delays the job of a new filing, because the instance that handles the click works on the
// filing at once, without the job.
const jobHead = 5 * time.Second

const (
	sqlInsertFiling = `
		insert into filings (bucket_id, state, person, tracker, project, upstream, target, title, description, tags, marker,
			edited, information_type, subscribe, own_user, created, updated, not_before)
		values (@bucket, 'queued', @person, @tracker, @project, @upstream, @target, @title, @description, @tags, @marker,
			@edited, @information, @subscribe, @own, now(), now(), now())
		on conflict (bucket_id, upstream) do nothing
		returning ` + filingColumns
	sqlSeenFiling     = `select ` + filingColumns + ` from filings where id = @seen for update`
	sqlFilingOfBucket = `
		select ` + filingColumns + ` from filings where bucket_id = @bucket and upstream = @upstream for update`
	sqlRenewFiling = `
		update filings set
			state = 'queued', person = @person, tracker = @tracker, project = @project, target = @target,
			title = @title, description = @description, tags = @tags,
			marker = @marker, edited = @edited, information_type = @information, subscribe = @subscribe,
			own_user = @own, fallback = '',
			problem = '', reason = '', created = now(), updated = now(), not_before = now()
		where id = @id
		returning ` + filingColumns
)

// RequestFiling stores an intent to file a bug, and queues the job that works on it. A bucket has
// at most one filing, and one for its upstream project. If there is one already, RequestFiling returns it with
// stored false. But if that filing was refused or abandoned, or waits for a retry, RequestFiling renews it with the new
// intent and returns stored true. It does so only if the filing has not changed since the caller
// read it as seen, so that concurrent clicks cause only one attempt. The filing seen may belong to
// another bucket of the same problem.
func (s *Store) RequestFiling(
	ctx context.Context, in crash.Intent, seen crash.Filing,
) (f crash.Filing, stored bool, err error) {
	args := pgx.NamedArgs{
		"bucket": in.Bucket[:], "person": in.Person, "tracker": cmp.Or(in.Tracker, crash.FirstTracker),
		"project": in.Project, "upstream": in.Upstream, "target": in.Target, "title": in.Title,
		"description": in.Description,
		"tags":        listOf(in.Tags), "marker": in.Marker, "edited": in.Edited, "information": string(in.InformationType),
		"subscribe": in.Subscribe, "own": in.Own, "seen": seen.ID,
	}
	err = s.InTx(ctx, func(tx pgx.Tx) error {
		stored = true
		err := pgx.ErrNoRows
		existing := sqlSeenFiling
		if seen.ID == 0 {
			err, existing = scanFiling(tx.QueryRow(ctx, sqlInsertFiling, args), &f), sqlFilingOfBucket
		}
		if errors.Is(err, pgx.ErrNoRows) {
			if err := scanFiling(tx.QueryRow(ctx, existing, args), &f); err != nil {
				return err
			}
			if stored = f.ID == seen.ID && f.Updated.Equal(seen.Updated) && f.Renewable(); !stored {
				return nil
			}
			args["id"] = f.ID
			err = s.renewFiling(ctx, tx, args, &f)
		}
		if err != nil {
			return err
		}
		if err := s.AddFilingJob(ctx, tx, f.ID, jobHead); err != nil {
			return err
		}
		return s.Audit(ctx, tx, db.AuditEvent{
			Person: in.Person, Action: "bug.create", Subject: in.Bucket.String(),
			After: map[string]any{"filing": f.ID, "tracker": in.Tracker, "target": in.Target, "upstream": in.Upstream,
				"own_account": in.Own != 0},
		})
	})
	return f, stored, db.Wrap(err, "request the filing of %s", in.Bucket)
}

const sqlFilingTotals = `
	select state, count(*), min(created) filter (where state in ('queued', 'filing', 'uncertain')),
		count(*) filter (where state in ('queued', 'uncertain') and problem = 'tracker_credentials')
	from filings group by state`

const sqlWaiting = `
	select tracker, count(*), count(*) filter (where problem <> ''),
		coalesce((array_agg(reason order by updated desc) filter (where problem <> ''))[1], '')
	from filings where state in ('queued', 'filing', 'uncertain') group by tracker`

// Waiting returns the open filings of each tracker that has some.
func (s *Store) Waiting(ctx context.Context) (map[string]crash.WaitingFilings, error) {
	all := map[string]crash.WaitingFilings{}
	var tracker string
	var w crash.WaitingFilings
	err := db.Each(ctx, s.Pool, sqlWaiting, nil, []any{&tracker, &w.Open, &w.Held, &w.Reason}, func() {
		all[tracker] = w
	})
	return all, db.Wrap(err, "count open filings by tracker")
}

const sqlOwnTotals = `select count(*), count(*) filter (where broken) from own_tracker_accounts`

// FilingTotals returns the number of filings in each state, how many wait for a token, and when the
// oldest open one was requested.
func (s *Store) FilingTotals(ctx context.Context) (crash.FilingTotals, error) {
	totals := crash.FilingTotals{States: map[crash.FilingState]int64{}}
	var state crash.FilingState
	var count, parked int64
	var oldest time.Time
	err := db.Each(ctx, s.Pool, sqlFilingTotals, nil, []any{&state, &count, db.OrZero(&oldest), &parked}, func() {
		totals.States[state] = count
		totals.Parked += parked
		if !oldest.IsZero() && (totals.Oldest.IsZero() || oldest.Before(totals.Oldest)) {
			totals.Oldest = oldest
		}
	})
	if err != nil {
		return totals, fmt.Errorf("count filings: %w", db.Classify(err))
	}
	err = s.Pool.QueryRow(ctx, sqlOwnTotals).Scan(&totals.OwnAccounts, &totals.OwnBroken)
	return totals, db.Wrap(err, "count own accounts")
}

const (
	// embargoed reports whether the problem of a filing is embargoed; its bug is then private, whatever
	// the person chose, and nobody is subscribed publicly.
	embargoed = `exists (
		select from buckets as b join buckets as o on o.head = b.head
			join marks as e on e.bucket_id = o.id and e.kind = 'embargo' and e.undone_at is null
		where b.id = filings.bucket_id)`
	sqlLockFiling = `
		select ` + filingColumns + `, unit is not null, not_before <= now(), sent_from
		from filings where id = @id for update`
	sqlClaimCreate = `
		update filings set state = 'filing', unit = @instance, claimed = now(), attempts = attempts + 1,
			sent_from = coalesce(sent_from, now()), sent_user = @user, sent_as = @account, problem = '', reason = '',
			updated = now(),
			information_type = case when ` + embargoed + ` then 'Private Security' else information_type end,
			subscribe = subscribe and not ` + embargoed + `
		where id = @id
		returning ` + filingColumns + `, sent_from`
	sqlClaimSearch = `
		update filings set unit = @instance, claimed = now(), updated = now()
		where id = @id
		returning ` + filingColumns + `, sent_from`
	sqlInsertAttempt = `
		insert into filing_attempts (filing_id, action, unit, started, account)
		values (@id, @action, @instance, now(), @account)
		returning id, array(select distinct account from filing_attempts
			where filing_id = @id and action = 'create' and account <> '' order by account),
			(select max(started) from filing_attempts where filing_id = @id and action = 'create')`
)

// ClaimFiling claims the next step of a filing for this instance, which does it with a person's own
// account or, if own is zero, with that of the application. The step is StepNone if the filing is
// not due, is to be sent with another account, another instance works on it, other filings come
// first, or the tracker has had as many bugs as terms allow. In the last case the filing is postponed.
// ClaimFiling returns NotFound for an unknown filing.
func (s *Store) ClaimFiling(
	ctx context.Context, id int64, own crash.OwnAccount, terms crash.FilingTerms,
) (crash.FilingClaim, error) {
	ctx = db.Everything(ctx) // the caller knows the filing, and all filings wait for each other
	instance, err := s.InstanceNumber(ctx)
	if err != nil {
		return crash.FilingClaim{}, err
	}
	var claim crash.FilingClaim
	err = s.InTx(ctx, func(tx pgx.Tx) error {
		var taken, due bool
		row := tx.QueryRow(ctx, sqlLockFiling, pgx.NamedArgs{"id": id})
		if err := scanFiling(row, &claim.Filing, &taken, &due, db.OrZero(&claim.SentFrom)); err != nil {
			return err
		}
		claim.Step = nextStep(claim.State)
		if taken || !due || claim.Step == crash.StepCreate && claim.Own != own.User {
			claim.Step = crash.StepNone
		}
		if claim.Step == crash.StepCreate {
			next, err := s.maySend(ctx, tx, id, terms)
			if err != nil {
				return err
			}
			if next.linked != 0 || next.cedes || !next.allowed || !next.limited.IsZero() {
				claim.Step = crash.StepNone
			}
			if next.linked != 0 {
				return s.filed(ctx, tx, &claim.Filing, crash.Bug{Number: next.linked, How: crash.Linked})
			}
			if next.cedes {
				return scanFiling(tx.QueryRow(ctx, sqlCedeFiling, pgx.NamedArgs{
					"id": id, "reason": "This problem was merged with another one, for which a bug is being created already.",
				}), &claim.Filing)
			}
			if next.allowed && !next.limited.IsZero() {
				return s.limit(ctx, tx, &claim.Filing, next.limited, terms)
			}
		}
		sql := sqlClaimCreate
		switch claim.Step {
		case crash.StepNone:
			return nil
		case crash.StepSearch:
			sql = sqlClaimSearch
		case crash.StepCreate:
		}
		args := pgx.NamedArgs{
			"id": id, "instance": instance, "action": string(claim.Step), "user": own.User, "account": own.Account,
		}
		if err := scanFiling(tx.QueryRow(ctx, sql, args), &claim.Filing, db.OrZero(&claim.SentFrom)); err != nil {
			return err
		}
		return tx.QueryRow(ctx, sqlInsertAttempt, args).Scan(&claim.Entry, &claim.Senders, db.OrZero(&claim.SentLast))
	})
	return claim, db.WrapOr(err, errUnknownFiling, "claim filing %d", id)
}

// nextStep returns the step that a filing in a state needs.
func nextStep(state crash.FilingState) crash.FilingStep {
	switch state {
	case crash.FilingQueued:
		return crash.StepCreate
	case crash.FilingUncertain:
		return crash.StepSearch
	case crash.FilingSending, crash.FilingFiled, crash.FilingRefused, crash.FilingAbandoned:
	}
	return crash.StepNone
}

// All instances together send one bug at a time to each tracker, in the order of the requests. A filing
// that waits for a retry or a search is not in this queue. The lock on filing_writer is released before the
// tracker is called. While a filing has the state "filing", the others of its tracker wait. All wait in a
// restored database, until FinishRestore.
const (
	sqlLockWriter = `select from filing_writer for update`
	sqlMaySend    = `
		select
			coalesce((select min(bug_number) from bucket_bugs
					where bucket_id = any(whole.ids) and upstream_bug(bug_number) = f.upstream),
				(select min(bug_number) from lost_bugs
					where bucket_id = any(whole.ids) and upstream_bug(bug_number) = f.upstream), 0),
			exists (
				select from filings as o
				where o.bucket_id = any(whole.ids) and o.id <> f.id and o.upstream = f.upstream
					and (o.state in ('filing', 'uncertain') or o.state = 'queued' and (o.created, o.id) < (f.created, f.id))),
			w.restored is null and not exists (select from filings where state = 'filing' and tracker = f.tracker)
			and not exists (
				select from filings as o
				where o.state = 'queued' and o.tracker = f.tracker and o.unit is null and o.not_before <= clock_timestamp()
					and (o.created, o.id) < (f.created, f.id))
			and (q.tracker is null or (f.created > q.ended or clock_timestamp() >= q.ended + q.rest)
				and clock_timestamp() >= q.resumes),
			greatest(
				case when @perminute > 0 then ` + freeAgain + `interval '1 minute' > clock_timestamp()
					order by a.started desc offset greatest(@perminute - 1, 0) limit 1) + interval '1 minute' end,
				case when @perday > 0 then ` + freeAgain + `interval '1 day' > clock_timestamp()
					order by a.started desc offset greatest(@perday - 1, 0) limit 1) + interval '1 day' end)
		from filings as f cross join filing_writer as w left join filing_queues as q on q.tracker = f.tracker
			cross join lateral (
				select array_agg(id) || f.bucket_id as ids from buckets
				where head = (select head from buckets where id = f.bucket_id)
			) as whole
		where f.id = @id`
	// freeAgain begins the selection of a bug that the tracker may have got within a time, of the tracker of f.
	freeAgain = `(
		select a.started from filing_attempts as a join filings as o on o.id = a.filing_id
		where a.action = 'create' and o.tracker = f.tracker and a.outcome not in ('not sent', 'busy')
			and a.started + `
)

// sending is the decision about a queued filing.
type sending struct {
	linked  int64     // bug that the problem has already, so that nothing is sent; 0 if none
	cedes   bool      // the problem was merged with one that has an older filing, whose bug stands for both
	allowed bool      // it is the filing's turn
	limited time.Time // when the tracker may get another bug; zero: now
}

// maySend decides about a queued filing. It considers all buckets that are part of the problem now.
// tx holds the lock on sending afterwards.
func (s *Store) maySend(ctx context.Context, tx pgx.Tx, id int64, terms crash.FilingTerms) (sending, error) {
	var next sending
	if _, err := tx.Exec(ctx, sqlLockWriter); err != nil {
		return next, fmt.Errorf("lock the queue of filings: %w", err)
	}
	row := tx.QueryRow(ctx, sqlMaySend, pgx.NamedArgs{"id": id, "perminute": terms.PerMinute, "perday": terms.PerDay})
	err := row.Scan(&next.linked, &next.cedes, &next.allowed, db.OrZero(&next.limited))
	return next, db.Wrap(err, "place of filing %d in the queue", id)
}

const sqlLimitFiling = `
	update filings set problem = 'tracker_limit', reason = @reason, updated = now(), not_before = @until where id = @id
	returning ` + filingColumns + `, not_before - now()`

// limit postpones a filing until its tracker may get another bug.
func (s *Store) limit(ctx context.Context, tx pgx.Tx, f *crash.Filing, until time.Time, terms crash.FilingTerms) error {
	limit := crash.Counted(int64(terms.PerDay), "bug", "bugs") + " a day"
	if terms.PerDay == 0 || until.Before(s.Now().Add(time.Minute)) {
		limit = crash.Counted(int64(terms.PerMinute), "bug", "bugs") + " a minute"
	}
	var wait time.Duration
	err := scanFiling(tx.QueryRow(ctx, sqlLimitFiling, pgx.NamedArgs{"id": f.ID, "until": until,
		"reason": fmt.Sprintf("mishap files at most %s in the tracker “%s”. This one is sent after %s.", limit,
			f.Tracker,
			until.UTC().Format("2006-01-02 15:04 UTC"))}), f, &wait)
	if err != nil {
		return err
	}
	return s.AddFilingJob(ctx, tx, f.ID, max(wait, 0))
}

// sqlCedeFiling abandons a filing in favour of one for another bucket of the same problem.
const sqlCedeFiling = `
	update filings set state = 'abandoned', problem = 'merged', reason = @reason, updated = now() where id = @id
	returning ` + filingColumns

const (
	sqlClaimedFilings = `
		select id, tracker, unit, claimed, state, now() - claimed from filings
		where state in ('queued', 'filing', 'uncertain') and unit is not null order by claimed limit 1000`
	// sqlAbandonFiling assumes that the request left before the instance died and before the time
	// limit for sending.
	sqlAbandonFiling = `
		update filings set
			state = 'uncertain', unit = null, updated = now(), problem = 'tracker_failed',
			reason = @reason,
			settles = case state
				when 'filing' then least(now(), claimed + @sending::interval) + @settle::interval
				else settles end,
			not_before = case state
				when 'filing' then least(now(), claimed + @sending::interval) + @settle::interval
				else greatest(now(), not_before) end
		where id = @id and unit = @instance and claimed = @claimed`
	sqlCloseAttempts = `
		update filing_attempts set ended = now(), outcome = 'unknown', words = 'the instance ended before it knew'
		where filing_id = @id and ended is null`
	sqlDueFilings = `
		(select id from (
				select id, created, row_number() over (partition by tracker order by created, id) as place from filings
				where state = 'uncertain' and unit is null and not_before <= now()
			) as u where place <= @limit order by created, id)
		union all
		(select distinct on (f.tracker) f.id from filings as f
			where f.state = 'queued' and f.unit is null and f.not_before <= now()
				and not exists (select from filings where state = 'filing' and tracker = f.tracker)
			order by f.tracker, f.created, f.id)`
)

// A claim ends after the longest time that its calls can take. The filing then counts as abandoned
// by its instance.
const (
	claimGrace  = 30 * time.Second
	searchLimit = 15 * time.Minute
)

// DueFilings returns filings with a due step: of each tracker up to limit that must be searched for, oldest
// first, and the first one in its queue unless one is being sent. First it makes filings uncertain
// whose instance died while it worked on them, or took longer than the terms of their tracker allow.
func (s *Store) DueFilings(
	ctx context.Context, terms map[string]crash.FilingTerms, limit int,
) ([]int64, error) {
	var due []int64
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		err := s.abandonDead(ctx, tx, terms)
		if err != nil {
			return err
		}
		due, err = db.List(ctx, tx, sqlDueFilings, pgx.NamedArgs{"limit": limit}, pgx.RowTo[int64])
		return err
	})
	return due, db.Wrap(err, "due filings")
}

// claimedFiling is a filing that an instance works on.
type claimedFiling struct {
	ID       int64
	Tracker  string
	Instance int64
	Claimed  time.Time
	State    crash.FilingState
	Age      time.Duration // since it was claimed
}

// overdue reports whether the claim has ended.
func (f claimedFiling) overdue(terms crash.FilingTerms) bool {
	if f.State == crash.FilingSending {
		return f.Age > terms.Sending+terms.Answer+claimGrace
	}
	return f.Age > searchLimit
}

func (s *Store) abandonDead(ctx context.Context, tx pgx.Tx, all map[string]crash.FilingTerms) error {
	claimed, err := db.List(ctx, tx, sqlClaimedFilings, nil, pgx.RowToStructByPos[claimedFiling])
	if err != nil {
		return err
	}
	dead := map[int64]bool{}
	for _, f := range claimed {
		terms, known := all[f.Tracker]
		if !known {
			continue // an instance that has this tracker in its configuration does it
		}
		gone, asked := dead[f.Instance]
		if !asked {
			if err := tx.QueryRow(ctx, sqlInstanceDead, pgx.NamedArgs{"instance": f.Instance}).Scan(&gone); err != nil {
				return err
			}
			dead[f.Instance] = gone
		}
		if !gone && !f.overdue(terms) {
			continue
		}
		tag, err := tx.Exec(ctx, sqlAbandonFiling, pgx.NamedArgs{
			"id": f.ID, "instance": f.Instance, "claimed": f.Claimed, "sending": terms.Sending, "settle": terms.Settle,
			"reason": "The instance that was sending the bug ended before it knew whether it was filed. " +
				"The tracker is searched before anything is sent again.",
		})
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			continue
		}
		if _, err := tx.Exec(ctx, sqlCloseAttempts, pgx.NamedArgs{"id": f.ID}); err != nil {
			return err
		}
		s.Log.WarnContext(ctx, "a filing was abandoned by its instance",
			"filing", f.ID, "instance", f.Instance, "instance_died", gone)
		if err := s.AddFilingJob(ctx, tx, f.ID, terms.Settle); err != nil {
			return err
		}
	}
	return nil
}

const sqlPostponeFilings = `
	update filings set problem = @problem, reason = @reason, updated = now(), not_before = now() + @delay::interval
	where id in (
		select id from filings as f where state in ('queued', 'uncertain') and unit is null and not_before <= now()
			and tracker = (select tracker from filings where id = @id) and (id = @id or not exists (
				select from own_tracker_accounts as o
				where o.user_id = case f.state when 'queued' then f.own_user else f.sent_user end and not o.broken))
		for update skip locked)`

// PostponeFilings postpones a due filing, and all others of its tracker that need the application's account,
// for a reason that affects all of them alike.
func (s *Store) PostponeFilings(ctx context.Context, id int64, problem, reason string, delay time.Duration) error {
	_, err := s.Pool.Exec(ctx, sqlPostponeFilings, pgx.NamedArgs{
		"id": id, "problem": problem, "reason": reason, "delay": delay,
	})
	return db.Wrap(err, "postpone filings")
}

// sqlInstanceDead selects true if no instance holds the lock on its number.
const sqlInstanceDead = `select pg_try_advisory_xact_lock(@instance)`

const (
	sqlFinishAttempt = `
		update filing_attempts
		set ended = now(), outcome = @outcome, status = @status, request_id = @request, words = @words,
			account = case when @account = '' then account else @account end
		where id = @entry`
	sqlFiledFiling = `
		update filings set state = 'filed', bug_number = @bug, unit = null, problem = '', reason = '', updated = now(),
			unsettled = false, subscription = case
				when subscribe and sent_as = '' and tracker = 'launchpad' and exists (
					select from users where name = filings.person and tracker_name <> '') then 'due'
				else '' end
		where id = @id
		returning ` + filingColumns
	sqlMoveFiling = `
		update filings set state = @state, unit = null, problem = @problem, reason = @reason, updated = now(),
			unsettled = @refusedunsettled and (sent_as = '' or exists (select from users where id = sent_user)),
			own_user = case when @fallback = '' then own_user else 0 end,
			fallback = case when @fallback = '' then fallback else @fallback end,
			settles = case when @unsettled then least(now(), claimed + @sending::interval) + @settle::interval else settles end,
			not_before = case when @unsettled then least(now(), claimed + @sending::interval) + @settle::interval
				else now() + @delay::interval end
		where id = @id
		returning ` + filingColumns + `, not_before - now()`
)

// FinishFiling records the outcome of a claimed step and returns the filing. A filed bug always
// counts, however late mishap learns of it. Any other outcome counts only if the filing still waits
// for this step. If the filing has another bug already, FinishFiling returns that one; the tracker
// then has two bugs.
func (s *Store) FinishFiling(ctx context.Context, r crash.FilingResult, terms crash.FilingTerms) (crash.Filing, error) {
	var f crash.Filing
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		var taken, due bool
		var sentFrom time.Time
		row := tx.QueryRow(ctx, sqlLockFiling, pgx.NamedArgs{"id": r.Claim.ID})
		if err := scanFiling(row, &f, &taken, &due, db.OrZero(&sentFrom)); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, sqlFinishAttempt, pgx.NamedArgs{
			"entry": r.Claim.Entry, "outcome": r.Answer.Outcome, "status": r.Answer.Status,
			"request": r.Answer.RequestID, "words": r.Answer.Message, "account": r.Own.Account,
		})
		sent := r.Claim.Step == crash.StepCreate
		if err == nil && sent {
			err = db.Exec(ctx, tx, pgx.NamedArgs{
				"tracker": f.Tracker, "rest": max(r.Pause, 0), "stop": max(r.Stop, 0),
			}, sqlLockWriter, sqlEndSending)
		}
		if err == nil && r.Fallback != "" {
			err = s.breakOwnAccount(ctx, tx, r)
		}
		switch {
		case err != nil:
		case r.State == crash.FilingFiled:
			err = s.filed(ctx, tx, &f, r.Bug)
		case awaits(f, r):
			err = s.move(ctx, tx, &f, r, terms)
		}
		if err == nil && sent {
			err = s.queueNext(ctx, tx, f.ID)
		}
		return err
	})
	return f, db.WrapOr(err, errUnknownFiling, "finish filing %d", r.Claim.ID)
}

// awaits reports whether the filing still waits for the outcome of this step.
func awaits(f crash.Filing, r crash.FilingResult) bool {
	if f.Attempts != r.Claim.Attempts {
		return false
	}
	switch r.Claim.Step {
	case crash.StepCreate: // another instance may have wrongly assumed that this one is dead
		return f.State == crash.FilingSending || f.State == crash.FilingUncertain && r.State != crash.FilingUncertain
	case crash.StepSearch:
		return f.State == crash.FilingUncertain
	case crash.StepNone:
	}
	return false
}

// filed links the bug to the bucket, unless the filing has a bug already.
func (s *Store) filed(ctx context.Context, tx pgx.Tx, f *crash.Filing, bug crash.Bug) error {
	if f.State == crash.FilingFiled {
		return nil
	}
	if err := s.AddBugLink(ctx, tx, f.Bucket, bug); err != nil {
		return err
	}
	if err := scanFiling(tx.QueryRow(ctx, sqlFiledFiling, pgx.NamedArgs{"id": f.ID, "bug": bug.Number}), f); err != nil {
		return err
	}
	return s.Audit(ctx, tx, db.AuditEvent{
		Action: "bug.filed", Subject: f.Bucket.String(), After: map[string]any{"bug": bug.Number},
		Detail: map[string]any{"filing": f.ID},
	})
}

func (s *Store) move(
	ctx context.Context, tx pgx.Tx, f *crash.Filing, r crash.FilingResult, terms crash.FilingTerms,
) error {
	var wait time.Duration
	err := scanFiling(tx.QueryRow(ctx, sqlMoveFiling, pgx.NamedArgs{
		"id": f.ID, "state": string(r.State), "problem": r.Problem, "reason": r.Reason,
		"unsettled": r.State == crash.FilingUncertain && r.Claim.Step == crash.StepCreate,
		"sending":   terms.Sending, "settle": terms.Settle, "delay": r.Delay, "fallback": r.Fallback,
		"refusedunsettled": r.State == crash.FilingRefused && r.Unsettled,
	}), f, &wait)
	if err == nil && r.Fallback != "" {
		err = s.auditFallback(ctx, tx, *f)
	}
	if err != nil || r.State == crash.FilingRefused {
		return err
	}
	return s.AddFilingJob(ctx, tx, f.ID, max(wait, 0))
}

const (
	// sqlEndSending starts the pause after a bug was sent. The caller has the lock on sending.
	sqlEndSending = `
		insert into filing_queues (tracker, ended, rest, resumes)
		values (@tracker, clock_timestamp(), @rest::interval, clock_timestamp() + @stop::interval)
		on conflict (tracker) do update set ended = excluded.ended, rest = excluded.rest, resumes = excluded.resumes`
	sqlNextFiling = `
		select f.id, greatest(
			case when f.created > q.ended then interval '0' else q.ended + q.rest - clock_timestamp() end, interval '0')
		from (
			select id, created, tracker from filings
			where state = 'queued' and unit is null and not_before <= clock_timestamp()
				and tracker = (select tracker from filings where id = @id)
			order by created, id limit 1) as f left join filing_queues as q on q.tracker = f.tracker
		where not exists (select from filings where state = 'filing' and tracker = f.tracker)
			and (q.tracker is null or q.resumes <= clock_timestamp())`
)

// queueNext queues a job for the filing that is sent next, if there is one, to the tracker of a filing.
func (s *Store) queueNext(ctx context.Context, tx pgx.Tx, id int64) error {
	next, err := nextFiling(tx.QueryRow(ctx, sqlNextFiling, pgx.NamedArgs{"id": id}))
	if err != nil || next.Filing == 0 {
		return err
	}
	return s.AddFilingJob(ctx, tx, next.Filing, 0)
}

// NextFiling returns which filing is sent next to the tracker of a filing, and the time until then. Its
// Filing is 0 if none waits, one is being sent, or the tracker wants none for a while.
func (s *Store) NextFiling(ctx context.Context, id int64) (crash.NextFiling, error) {
	return nextFiling(s.Pool.QueryRow(ctx, sqlNextFiling, pgx.NamedArgs{"id": id}))
}

func nextFiling(row pgx.Row) (next crash.NextFiling, err error) {
	err = row.Scan(&next.Filing, &next.In)
	return next, db.WrapOr(err, nil, "next filing")
}

const (
	sqlLedger = `
		select ` + filingColumns + `,
			coalesce((select coalesce(nullif(name, ''), nullif(title, ''), left(signature, 200))
				from buckets where id = filings.bucket_id), ''),
			coalesce((select package from buckets where id = filings.bucket_id), ''),
			coalesce((select max(bug_number) from bucket_bugs
				where bucket_id = filings.bucket_id and upstream_bug(bug_number) = filings.upstream), 0)
		from filings
		where (@state = '' or state = @state) and (@bucket::bytea is null or bucket_id in ` + db.Members +
		`) and (@id = 0 or id = @id)
			and (@after = 0 or (created, id) < (@created, @after))
		order by created desc, id desc limit @limit`
	sqlLedgerCalls = `
		select filing_id, started, ended, action, outcome, status, request_id, words, account from (
			select *, row_number() over (partition by filing_id order by id desc) as back from filing_attempts
			where filing_id = any(@ids)) as a
		where back <= @most order by filing_id, id`
	sqlLedgerCallCounts = `
		select filing_id, count(*)::int from filing_attempts where filing_id = any(@ids) group by filing_id`
	sqlLedgerEvents = `
		select f.id, e.at, e.person, e.action, coalesce(e.detail ->> 'words', ''),
			case when e.bug ~ '^[0-9]{1,18}$' then e.bug::bigint else 0 end
		from filings as f, lateral (
			select *, coalesce(after ->> 'bug', before ->> 'bug', detail ->> 'bug') as bug from audit_events
			where subject = encode(f.bucket_id, 'hex') and action like 'bug.%'
				and coalesce(after ->> 'filing', before ->> 'filing', detail ->> 'filing', f.id::text) = f.id::text
			order by at desc limit @most) as e
		where f.id = any(@ids)`
)

// maxLines limits how many calls, and how many actions of people, an entry of the ledger contains.
const maxLines = 40

// Ledger returns filings, latest first, with the calls and actions about each, earliest first.
func (s *Store) Ledger(ctx context.Context, filter crash.LedgerFilter) ([]crash.LedgerEntry, error) {
	args := pgx.NamedArgs{
		"state": string(filter.State), "bucket": nil, "id": filter.ID, "after": filter.After.ID,
		"created": filter.After.Created, "limit": filter.Limit,
	}
	if filter.Bucket != (crash.BucketID{}) {
		args["bucket"] = filter.Bucket[:]
	}
	entries, err := db.List(ctx, s.Pool, sqlLedger, args, func(row pgx.CollectableRow) (e crash.LedgerEntry, err error) {
		err = scanFiling(row, &e.Filing, &e.Heading, &e.Package, &e.Linked)
		return e, err
	})
	if err == nil && len(entries) > 0 {
		err = s.addLines(ctx, entries)
	}
	return entries, db.Wrap(err, "ledger")
}

// addLines adds the calls and actions to entries.
func (s *Store) addLines(ctx context.Context, entries []crash.LedgerEntry) error {
	at := map[int64]*crash.LedgerEntry{}
	ids := make([]int64, len(entries))
	for i := range entries {
		ids[i] = entries[i].ID
		at[ids[i]] = &entries[i]
	}
	args := pgx.NamedArgs{"ids": ids, "most": maxLines}
	var id int64
	var line crash.LedgerLine
	each := func(sql string, into []any, do func(*crash.LedgerEntry)) error {
		return db.Each(ctx, s.Pool, sql, args, append([]any{&id}, into...), func() { do(at[id]) })
	}
	err := each(sqlLedgerEvents, []any{&line.At, &line.Person, &line.Action, &line.Text, &line.Bug},
		func(e *crash.LedgerEntry) {
			e.Lines = append(e.Lines, line)
		})
	if err != nil {
		return err
	}
	line = crash.LedgerLine{}
	calls := []any{&line.At, db.OrZero(&line.Ended), &line.Call, &line.Outcome, &line.Status, &line.RequestID, &line.Text,
		&line.Account}
	err = each(sqlLedgerCalls, calls, func(e *crash.LedgerEntry) {
		if line.Took = 0; !line.Ended.IsZero() {
			line.Took = line.Ended.Sub(line.At)
		}
		e.Lines = append(e.Lines, line)
	})
	if err != nil {
		return err
	}
	var count int
	err = each(sqlLedgerCallCounts, []any{&count}, func(e *crash.LedgerEntry) { e.Left = max(0, count-maxLines) })
	for i := range entries {
		slices.SortStableFunc(entries[i].Lines, func(a, b crash.LedgerLine) int { return a.At.Compare(b.At) })
	}
	return err
}
