package events

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"mishap/crash"
	"mishap/db"
	"mishap/notify/rules"
)

const (
	noticeColumns = `
		n.id, n.reason, n.at, n.read, n.mail, e.id, e.kind, e.at, e.bucket_id, e.title, e.package,
		e.source_package, e.release, e.version, e.machines, e.text,
		coalesce(e.rule_id, 0)`
	sqlInbox = `
		select` + noticeColumns + ` from notices as n join events as e on e.id = n.event_id
		where n.user_id = @user and (@before::bigint = 0 or n.id < @before)
			and (@kind::text = '' or e.kind = @kind)
			and (@package::text = '' or e.package = @package or e.source_package = @package)
			and (@mail::bigint = 0 or n.mail_id = @mail) and (not @unread::boolean or n.read is null)
		order by n.id desc limit @limit`
	sqlInboxFacets = `
		select e.kind, e.package, count(*) from notices as n join events as e on e.id = n.event_id
		where n.user_id = @user group by e.kind, e.package`
	sqlUnread     = `select count(*) from (select from notices where user_id = @user and read is null limit @limit) as n`
	sqlReadNotice = `update notices set read = @now where user_id = @user and id = @id and read is null`
	sqlReadAll    = `update notices set read = @now where user_id = @user and id <= @id and read is null`
	sqlUnreadSame = `update notices set read = null where user_id = @user and read = @at`
)

// MaxUnread is the largest number of unread notices that Unread counts.
const MaxUnread = 100

// Inbox returns notices of a person, newest first.
func (s *Store) Inbox(ctx context.Context, user int64, f crash.NoticeFilter, limit int) ([]crash.Notice, error) {
	notices, err := db.List(ctx, s.Pool, sqlInbox, pgx.NamedArgs{
		"user": user, "kind": f.Kind, "package": f.Package, "mail": f.Mail, "unread": f.Unread, "before": f.Before,
		"limit": limit,
	}, scanNotice)
	return notices, db.Wrap(err, "inbox")
}

func scanNotice(row pgx.CollectableRow) (n crash.Notice, err error) {
	e := &n.Event
	err = row.Scan(&n.ID, &n.Reason, &n.At, db.OrZero(&n.Read), &n.Mail, &e.ID, &e.Kind, &e.At,
		&e.Bucket, &e.Title, &e.Package, &e.Source, &e.Release, &e.Version, &e.Machines, &e.Text, &e.Rule)
	return n, err
}

// InboxFacets returns how many notices a person has of each kind and about each package.
func (s *Store) InboxFacets(ctx context.Context, user int64) (
	kinds map[crash.EventKind]int64, packages map[string]int64, err error,
) {
	kinds, packages = map[crash.EventKind]int64{}, map[string]int64{}
	var kind crash.EventKind
	var pkg string
	var n int64
	err = db.Each(ctx, s.Pool, sqlInboxFacets, pgx.NamedArgs{"user": user}, []any{&kind, &pkg, &n}, func() {
		kinds[kind] += n
		if pkg != "" {
			packages[pkg] += n
		}
	})
	return kinds, packages, db.Wrap(err, "inbox")
}

// Unread returns how many notices a person has not read, at most MaxUnread.
func (s *Store) Unread(ctx context.Context, user int64) (n int64, err error) {
	err = s.Pool.QueryRow(ctx, sqlUnread, pgx.NamedArgs{"user": user, "limit": MaxUnread}).Scan(&n)
	return n, db.Wrap(err, "count unread notices")
}

// ReadNotices marks a notice of a person as read, or also all older ones. It returns how many were
// unread, and the time by which UnreadNotices undoes this.
func (s *Store) ReadNotices(ctx context.Context, user, id int64, older bool) (n int64, at time.Time, err error) {
	sql, at := sqlReadNotice, s.Now().UTC().Truncate(time.Microsecond)
	if older {
		sql = sqlReadAll
	}
	tag, err := s.Pool.Exec(ctx, sql, pgx.NamedArgs{"user": user, "id": id, "now": at})
	if err != nil {
		return 0, at, fmt.Errorf("mark notices as read: %w", db.Classify(err))
	}
	return tag.RowsAffected(), at, nil
}

// UnreadNotices marks the notices as unread that a person marked as read at this time.
func (s *Store) UnreadNotices(ctx context.Context, user int64, at time.Time) (int64, error) {
	tag, err := s.Pool.Exec(ctx, sqlUnreadSame, pgx.NamedArgs{"user": user, "at": at})
	if err != nil {
		return 0, fmt.Errorf("mark notices as unread: %w", db.Classify(err))
	}
	return tag.RowsAffected(), nil
}

const (
	// followers selects those who follow an event's package or problem.
	followers = `
		select user_id, 1 as rank, kind, name from followed where @followers::boolean and (
			kind = 'package' and name <> '' and name in (@package, @source)
			or kind = 'problem' and name in (select encode(id, 'hex') from buckets where head = @bucket)
			or kind in ('set', 'person') and exists (
				select from archive_facts as a
				where a.kind = followed.kind and a.value -> 'names' ? @source::text
					and a.key = case followed.kind when 'set' then @series || '/' || followed.name else followed.name end
			))`
	// sqlRecipients omits people whom another rule has already told about the same change, and those who
	// may not read about it any more.
	sqlRecipients = `
		with whom as (` + followers + `
			union all
			select f.user_id, 1, 'search', f.name from unnest(@searchers::bigint[], @searches::text[]) as f (user_id, name)
			where @followers::boolean
			union all select id, 2, 'named', '' from unnest(@users::bigint[]) as id
			union all select id, 3, 'admin', '' from (` + db.Administrators + `) as a where @administrators::boolean
		), told as (
			select n.user_id from events as e join notices as n on n.event_id = e.id
			where e.bucket_id = @bucket and right(e.edge, length(@change)) = @change
			union all
			select n.user_id from events as e join notices as n on n.event_id = e.id
			where @bucket::bytea is null and e.bucket_id is null and e.at > @recent::timestamptz
				and right(e.edge, length(@change)) = @change
		)
		select distinct on (w.user_id) w.user_id, w.kind, w.name
		from whom as w
		where w.user_id in (` + db.Readers + `) and w.user_id not in (select user_id from told)
		order by w.user_id, w.rank, w.kind, w.name`
	sqlReceivers = `
		select p.id from endpoints as p
		where p.id = any(@endpoints) and p.disabled is null and not exists (
			select from events as e join deliveries as d on d.event_id = e.id
			where e.bucket_id = @bucket and d.endpoint_id = p.id and right(e.edge, length(@change)) = @change
		)
		order by p.id`
)

// notify publishes the event of an edge, which concerns these problems, to those whom the rule names,
// if there is anyone.
func (r *round) notify(ctx context.Context, tx pgx.Tx, e rules.Edge, problems ...crash.BucketID) error {
	var searchers []searchFollower
	for _, id := range problems {
		searchers = append(searchers, r.searched[id]...)
	}
	to, err := r.store.recipients(ctx, tx, e, searchers)
	if err != nil {
		return err
	}
	if len(to.People) == 0 && len(to.Endpoints) == 0 {
		return nil
	}
	e.Event.Edge = e.ID()
	_, err = r.store.Publish(ctx, tx, e.Event, to)
	return err
}

// recipients returns those whom a rule notifies of an edge. searchers follow searches that list its
// problem.
func (s *Store) recipients(ctx context.Context, q db.Querier, e rules.Edge, searchers []searchFollower) (
	to crash.Recipients, err error,
) {
	a := e.Rule.Actions
	args := s.RightsArgs(pgx.NamedArgs{
		"followers": a.Followers, "administrators": a.Administrators, "users": a.Users, "endpoints": a.Endpoints,
		"package": e.Event.Package, "source": e.Event.Source, "bucket": e.Event.Bucket, "series": s.series(),
		"change": e.Change(), "recent": s.Now().Add(-stormLookBack),
	})
	users, names := make([]int64, len(searchers)), make([]string, len(searchers))
	for i, f := range searchers {
		users[i], names[i] = f.user, f.name
	}
	args["searchers"], args["searches"] = users, names
	to.People, err = db.List(ctx, q, sqlRecipients, args, func(row pgx.CollectableRow) (p crash.Recipient, err error) {
		var kind, name string
		err = row.Scan(&p.User, &kind, &name)
		p.Reason = reason(kind, name, e.Rule.Name)
		return p, err
	})
	if err != nil {
		return to, fmt.Errorf("recipients of rule %d: %w", e.Rule.ID, db.Classify(err))
	}
	if len(a.Endpoints) == 0 {
		return to, nil
	}
	if to.Endpoints, err = db.List(ctx, q, sqlReceivers, args, pgx.RowTo[int64]); err != nil {
		return to, fmt.Errorf("endpoints of rule %d: %w", e.Rule.ID, db.Classify(err))
	}
	return to, nil
}

// reason says why a person gets an event.
func reason(kind, name, rule string) string {
	switch kind {
	case "named":
		return "the rule “" + rule + "” names you"
	case "admin":
		return "you are an administrator"
	case "problem":
		return "you follow this problem"
	case "search":
		return "you follow the search “" + name + "”"
	case "set":
		return "you follow the package set " + name
	case "person":
		return "you follow the packages of " + name
	}
	return "you follow " + name
}

// noticeLifetime is how long notices, mails and the events of rules are stored.
const noticeLifetime = 400 * 24 * time.Hour

// oldBatch is the number of rows that one statement deletes.
const oldBatch = 1000

const (
	// sqlOldEvents deletes events of rules with their notices. The edges of rules prevent repeats.
	sqlOldEvents = `
		delete from events where id in (
			select e.id from events as e
			where e.at < @before and e.rule_id is not null
				and not exists (select from notices as n where n.event_id = e.id and n.mail in ('waiting', 'held'))
				and not exists (select from deliveries as d where d.event_id = e.id and d.state = 'waiting')
			order by e.at limit @limit)`
	// sqlOldNotices deletes notices of other events. These events stay: they prevent repeats.
	sqlOldNotices = `
		delete from notices where id in (
			select n.id from events as e join notices as n on n.event_id = e.id
			where e.at < @before and e.rule_id is null and n.mail not in ('waiting', 'held')
			order by e.at limit @limit)`
	sqlOldMails = `
		delete from mails where id in (select id from mails where ended < @before order by ended limit @limit)`
)

// DeleteOld deletes notices, mails and events of rules that are older than 400 days, unless they have
// yet to be sent. What they were about is not reported again.
func (s *Store) DeleteOld(ctx context.Context) error {
	for _, sql := range []string{sqlOldEvents, sqlOldNotices, sqlOldMails} {
		for deleted := int64(oldBatch); deleted == oldBatch; {
			tag, err := s.Pool.Exec(ctx, sql, pgx.NamedArgs{"before": s.Now().Add(-noticeLifetime), "limit": oldBatch})
			if err != nil {
				return fmt.Errorf("delete old notices: %w", db.Classify(err))
			}
			deleted = tag.RowsAffected()
		}
	}
	return nil
}

var (
	errNoRule   = crash.Errorf(crash.NotFound, "no_such_rule", "There is no such rule.")
	errRuleName = crash.Errorf(crash.Conflict, "rule_name_taken", "Another rule has this name. Choose another name.")
)

const (
	ruleColumns = `id, name, scope, names, kind, machines, weeks, conditions, actions, enabled, author, created, editor,
		changed, since, prepared, failure, failed, deleted is not null`
	sqlRules      = `select ` + ruleColumns + ` from rules where deleted is null order by lower(name), id`
	sqlRule       = `select ` + ruleColumns + ` from rules where id = @id`
	sqlLockRule   = `select ` + ruleColumns + ` from rules where id = @id for update`
	sqlInsertRule = `
		insert into rules (name, scope, names, kind, machines, weeks, conditions, actions, enabled, author, created,
			editor, changed, since)
		values (@name, @scope, @names, @kind, @machines, @weeks, @conditions, @actions, @enabled, @person, @now,
			@person, @now, @now)
		returning id`
	// sqlChangeRule also removes the last failure, since the change may be meant to fix it.
	sqlChangeRule = `
		update rules set name = @name, scope = @scope, names = @names, kind = @kind, machines = @machines, weeks = @weeks,
			conditions = @conditions, actions = @actions, enabled = @enabled, editor = @person, changed = @now,
			failure = '', failed = null,
			since = case when @anew then @now else since end, prepared = prepared and not @anew
		where id = @id`
	sqlDeleteRule = `update rules set deleted = case when @deleted then @now::timestamptz end, editor = @person,
			changed = @now, since = @now, prepared = false
		where id = @id and (deleted is null) = @deleted`
	// sqlRuleActivity counts an edge once, although each bucket of a problem has a row.
	sqlRuleActivity = `
		select rule_id, max(at), count(distinct (head, version, at)) filter (where at >= @since) from (
			select e.rule_id, coalesce(b.head, e.bucket_id) as head, e.version, e.at
			from rule_edges as e left join buckets as b on b.id = e.bucket_id
			where e.outcome = 'done' and e.rule_id in (select id from rules where deleted is null)
		) as edges group by rule_id`
)

func scanRule(row pgx.CollectableRow) (r rules.Rule, err error) {
	err = row.Scan(&r.ID, &r.Name, &r.Scope.Kind, &r.Scope.Names, &r.When, &r.Machines, &r.Weeks, &r.If,
		&r.Actions, &r.Enabled, &r.Author, &r.Created, &r.Editor, &r.Changed, &r.Since, &r.Prepared, &r.Failure,
		db.OrZero(&r.Failed), &r.Deleted)
	return r, err
}

// Rules returns all rules, by name, without deleted ones.
func (s *Store) Rules(ctx context.Context) ([]rules.Rule, error) {
	all, err := db.List(ctx, s.Pool, sqlRules, nil, scanRule)
	return all, db.Wrap(err, "rules")
}

// Rule returns a rule, even if it is deleted. It returns NotFound if there is none with this id.
func (s *Store) Rule(ctx context.Context, id int64) (rules.Rule, error) {
	return oneRule(ctx, s.Pool, sqlRule, pgx.NamedArgs{"id": id})
}

func oneRule(ctx context.Context, q db.Querier, sql string, args pgx.NamedArgs) (rules.Rule, error) {
	r, err := db.One(ctx, q, sql, args, scanRule)
	return r, db.WrapOr(err, errNoRule, "rule")
}

// SaveRule stores a rule that Check accepts: a new one if its id is 0. A rule whose condition has
// changed, or that was off, starts anew: it ignores what happened before. It returns Conflict if
// another rule has the name, and Invalid if a rule that is on names somebody who does not exist or may not
// read reports.
func (s *Store) SaveRule(ctx context.Context, r rules.Rule, person string) (int64, error) {
	names := r.Scope.Names
	if names == nil {
		names = []string{}
	}
	args := pgx.NamedArgs{"id": r.ID, "name": r.Name, "scope": r.Scope.Kind, "names": names, "kind": r.When,
		"machines": r.Machines, "weeks": r.Weeks, "conditions": r.If,
		"actions": r.Actions, "enabled": r.Enabled, "person": person, "now": s.Now()}
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		if err := s.checkPeople(ctx, tx, r); r.Enabled && err != nil {
			return err
		}
		action, before := "rule.change", map[string]any(nil)
		if r.ID == 0 {
			action = "rule.create"
			if err := tx.QueryRow(ctx, sqlInsertRule, args).Scan(&r.ID); err != nil {
				return err
			}
		} else {
			old, err := oneRule(ctx, tx, sqlLockRule, args)
			if err == nil && old.Deleted {
				err = errNoRule
			}
			if err != nil {
				return err
			}
			before = auditedRule(old)
			args["anew"] = !old.SameCondition(r) || r.Enabled && !old.Enabled
			if _, err := tx.Exec(ctx, sqlChangeRule, args); err != nil {
				return err
			}
		}
		return s.auditRule(ctx, tx, person, action, before, r)
	})
	return r.ID, ruleError("save rule", err)
}

// checkPeople returns Invalid if a rule names somebody who does not exist or may not read reports.
func (s *Store) checkPeople(ctx context.Context, tx pgx.Tx, r rules.Rule) error {
	strangers, err := db.List(ctx, tx, sqlStrangers, s.RightsArgs(pgx.NamedArgs{"users": r.Actions.Users,
		"assign": r.Actions.Assign}), pgx.RowTo[string])
	if err != nil || len(strangers) == 0 {
		return err
	}
	return crash.Errorf(crash.Invalid, "unknown_people", "%s", rules.UnknownPeople(strangers))
}

// DeleteRule deletes a rule, or restores a deleted one, which starts anew. It returns NotFound if
// there is no such rule, and Conflict if a rule to restore has the name of another.
func (s *Store) DeleteRule(ctx context.Context, id int64, deleted bool, person string) (r rules.Rule, err error) {
	err = s.InTx(ctx, func(tx pgx.Tx) error {
		args := pgx.NamedArgs{"id": id, "deleted": deleted, "person": person, "now": s.Now()}
		tag, err := tx.Exec(ctx, sqlDeleteRule, args)
		if err == nil && tag.RowsAffected() == 0 {
			err = errNoRule
		}
		if err != nil {
			return err
		}
		if r, err = oneRule(ctx, tx, sqlRule, args); err != nil {
			return err
		}
		event := db.AuditEvent{Person: person, Action: "rule.restore", Subject: r.Name, After: auditedRule(r),
			Detail: map[string]any{"rule": r.ID}}
		if deleted {
			event.Action, event.Before, event.After = "rule.delete", event.After, nil
		}
		return s.Audit(ctx, tx, event)
	})
	return r, ruleError("delete rule", err)
}

func (s *Store) auditRule(ctx context.Context, tx pgx.Tx, person, action string, before map[string]any,
	r rules.Rule) error {
	return s.Audit(ctx, tx, db.AuditEvent{Person: person, Action: action, Subject: r.Name, Before: before,
		After: auditedRule(r), Detail: map[string]any{"rule": r.ID}})
}

// auditedRule returns what the audit log says about a rule.
func auditedRule(r rules.Rule) map[string]any {
	return map[string]any{"name": r.Name, "on": r.Enabled, "does": r.Sentence()}
}

// ruleError wraps an error of the database. A duplicate name is a Conflict.
func ruleError(what string, err error) error {
	if err == nil {
		return nil
	}
	if violation, ok := errors.AsType[*pgconn.PgError](err); ok && violation.ConstraintName == "rules_name" {
		return errRuleName
	}
	return fmt.Errorf("%s: %w", what, db.Classify(err))
}

// Activity returns what rules have done, by id. It counts the edges of the days that rehearsals cover.
func (s *Store) Activity(ctx context.Context) (map[int64]rules.Activity, error) {
	since, _ := crash.LastDays(s.Now(), rules.RehearsalDays)
	all := map[int64]rules.Activity{}
	var id int64
	var a rules.Activity
	err := db.Each(ctx, s.Pool, sqlRuleActivity, pgx.NamedArgs{"since": since}, []any{&id, &a.Last, &a.Recent},
		func() { all[id] = a })
	return all, db.Wrap(err, "activity of rules")
}

const (
	sqlAccountIDs = `select id, name from users where lower(name) = any(@names) and id in (` + db.Readers + `)`
	// sqlStrangers selects the people whom a rule names and who may not read reports.
	sqlStrangers = `
		select coalesce(u.name, 'number ' || w.id) from unnest(@users::bigint[]) as w (id) left join users as u on u.id = w.id
		where w.id not in (` + db.Readers + `)
		union
		select @assign::text where @assign <> '' and @assign not like '~%' and not exists (
			select from users where lower(name) = lower(@assign) and id in (` + db.Readers + `))
		order by 1`
)

// AccountIDs returns the ids of accounts that may read reports by name, whatever the case, and the names
// without such an account.
func (s *Store) AccountIDs(ctx context.Context, names []string) (ids []int64, unknown []string, err error) {
	lower := make([]string, len(names))
	for i, name := range names {
		lower[i] = strings.ToLower(name)
	}
	known := map[string]int64{}
	var id int64
	var name string
	if err := db.Each(ctx, s.Pool, sqlAccountIDs, s.RightsArgs(pgx.NamedArgs{"names": lower}), []any{&id, &name},
		func() {
			known[strings.ToLower(name)] = id
		}); err != nil {
		return nil, nil, fmt.Errorf("accounts: %w", db.Classify(err))
	}
	for i, name := range names {
		if id, ok := known[lower[i]]; !ok {
			unknown = append(unknown, name)
		} else if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids, unknown, nil
}

var errNoCandidate = crash.Errorf(crash.NotFound, "no_such_candidate",
	"This candidate does not exist, or somebody else has decided about it. Reload the page.")

const (
	candidateColumns = `c.id, m.head, coalesce(r.name, ''), coalesce(c.rule_id, 0), c.proposed_by, c.state, c.why,
		c.machines, c.created, c.decided_by, c.decided, c.reason, c.failure`
	candidateTables = `candidates as c join buckets as m on m.id = c.bucket_id left join rules as r on r.id = c.rule_id`
	// withoutBug excludes problems that have got a bug meanwhile, or are getting one.
	withoutBug = `not exists (
			select from buckets as o join bucket_bugs as l on l.bucket_id = o.id where o.head = m.head
		) and not exists (
			select from buckets as o join filings as f on f.bucket_id = o.id
			where o.head = m.head and f.state not in ('refused', 'abandoned')
		)`
	// sqlPropose does nothing if the problem has or gets a bug, or is a candidate already, even a declined one.
	sqlPropose = `
		insert into candidates (bucket_id, rule_id, proposed_by, automatic, state, why, machines, created)
		select m.head, @rule, @by, @automatic, @state, @why, @machines, @now from (select @head::bytea as head) as m
		where ` + withoutBug + ` and not exists (
				select from buckets as o join candidates as c on c.bucket_id = o.id where o.head = m.head
			)
		on conflict do nothing`
	sqlCandidateOf = `
		select ` + candidateColumns + ` from ` + candidateTables + ` where m.head = @head order by c.created, c.id limit 1`
	// sqlCandidates lists a problem that was merged from several candidates once.
	sqlCandidates = `
		select * from (
			select distinct on (m.head) ` + candidateColumns + ` from ` + candidateTables + `
			where c.state in ('automatic', 'waiting') and ` + withoutBug + ` order by m.head, c.created, c.id
		) as c order by created, id limit @limit`
	sqlDecided = `
		select ` + candidateColumns + ` from ` + candidateTables + `
		where c.state in ('filed', 'declined') order by c.decided desc, c.id desc limit @limit`
	sqlCandidate = `select ` + candidateColumns + ` from ` + candidateTables + ` where c.id = @id`
	sqlDecide    = `
		with old as (select id, state from candidates where id = @id and state = any(@from) for update)
		update candidates as c
		set state = @state, decided_by = @person, decided = @decided, reason = @reason, failure = ''
		from old where c.id = old.id returning c.bucket_id, old.state`
	sqlCandidateFailed = `update candidates set failure = @failure where id = @id and state = 'waiting'`
)

// propose makes a problem a candidate, in the transaction that stores the edge.
func (r *round) propose(ctx context.Context, tx pgx.Tx, e rules.Edge) error {
	p, ok := r.ix.Problem(*e.Event.Bucket)
	if !ok {
		return nil
	}
	automatic := e.Rule.Actions.File && !p.Provisional && p.Source != ""
	state := rules.CandidateWaiting
	if automatic {
		state = rules.CandidateAutomatic
	}
	_, err := tx.Exec(ctx, sqlPropose, pgx.NamedArgs{"head": p.ID[:], "rule": e.Rule.ID, "by": "", "automatic": automatic,
		"state": state, "why": e.Event.Text, "machines": e.Event.Machines, "now": r.now})
	return db.Wrap(err, "propose %s for filing", p.ID)
}

// ProposeBug makes a problem a candidate on behalf of a person, who gives the reason. It files nothing. It returns
// Invalid for a bad reason, NotFound for an unknown problem, and Conflict if the problem has or gets a bug, or is
// a candidate already, even a declined one.
func (s *Store) ProposeBug(ctx context.Context, b crash.Bucket, why, person string) (c rules.Candidate, err error) {
	line, ok := crash.CleanLine(why, crash.MaxReason)
	if line = crash.OneLine(line); !ok || line == "" {
		return c, crash.Errorf(crash.Invalid, "bad_reason", "Give the reason: one line of at most %d characters.",
			crash.MaxReason)
	}
	err = s.InTx(ctx, func(tx pgx.Tx) error {
		e, err := s.LockProblem(ctx, tx, b.ID)
		if err != nil {
			return err
		}
		args := pgx.NamedArgs{"head": e.Bucket[:], "rule": nil, "by": person, "automatic": false,
			"state": rules.CandidateWaiting, "why": line, "machines": b.Systems, "now": s.Now()}
		added, err := tx.Exec(ctx, sqlPropose, args)
		if err != nil {
			return db.Classify(err)
		}
		c, err = db.One(ctx, tx, sqlCandidateOf, args, scanCandidate)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return crash.Errorf(crash.Conflict, "has_bug", "This problem has a bug, or one is being created.")
		case err != nil:
			return err
		case added.RowsAffected() == 0:
			return errProposed(c)
		}
		return s.Audit(ctx, tx, db.AuditEvent{Person: person, Action: "candidate.proposed", Subject: e.Bucket.String(),
			After: map[string]any{"state": c.State}, Detail: map[string]any{"candidate": c.ID, "reason": line}})
	})
	return c, db.Wrap(err, "propose a bug for %s", b.ID)
}

// errProposed says what became of the candidate that a problem has already.
func errProposed(c rules.Candidate) error {
	switch c.State {
	case rules.CandidateDeclined:
		return crash.Errorf(crash.Conflict, "declined", "%s declined a bug for this problem on %s. Triagers can undo that "+
			"on the page of candidates.", c.DecidedBy, c.Decided.UTC().Format(time.DateOnly))
	case rules.CandidateFiled, rules.CandidateFiling:
		return crash.Errorf(crash.Conflict, "has_bug", "This problem has a bug, or one is being created.")
	case rules.CandidateAutomatic, rules.CandidateWaiting:
	}
	return crash.Errorf(crash.Conflict, "is_candidate", "This problem waits for a decision on the page of candidates "+
		"already.")
}

func scanCandidate(row pgx.CollectableRow) (c rules.Candidate, err error) {
	err = row.Scan(&c.ID, &c.Problem, &c.Rule, &c.RuleID, &c.Proposer, &c.State, &c.Why, &c.Machines, &c.Created,
		&c.DecidedBy, db.OrZero(&c.Decided), &c.Reason, &c.Failure)
	return c, err
}

// Candidates returns the candidates that wait for a decision or for the rule, oldest first.
func (s *Store) Candidates(ctx context.Context, limit int) ([]rules.Candidate, error) {
	return s.candidates(ctx, sqlCandidates, limit)
}

// DecidedCandidates returns the candidates that were filed or declined, the latest first.
func (s *Store) DecidedCandidates(ctx context.Context, limit int) ([]rules.Candidate, error) {
	return s.candidates(ctx, sqlDecided, limit)
}

func (s *Store) candidates(ctx context.Context, sql string, limit int) ([]rules.Candidate, error) {
	all, err := db.List(ctx, s.Pool, sql, pgx.NamedArgs{"limit": limit}, scanCandidate)
	return all, db.Wrap(err, "candidates")
}

// Candidate returns a candidate. It returns NotFound if there is none with this id.
func (s *Store) Candidate(ctx context.Context, id int64) (rules.Candidate, error) {
	c, err := db.One(ctx, s.Pool, sqlCandidate, pgx.NamedArgs{"id": id}, scanCandidate)
	return c, db.WrapOr(err, errNoCandidate, "candidate")
}

// ApproveCandidate records that a person filed the bug of a candidate.
func (s *Store) ApproveCandidate(ctx context.Context, id int64, person string) error {
	return s.decide(ctx, id, rules.CandidateFiled, person, "", rules.CandidateWaiting, rules.CandidateAutomatic,
		rules.CandidateFiled)
}

// DeclineCandidate records that a person does not want a bug for a candidate. No rule proposes the
// problem again. It returns NotFound if somebody else has decided already.
func (s *Store) DeclineCandidate(ctx context.Context, id int64, person, reason string) error {
	line, ok := crash.CleanLine(reason, crash.MaxReason)
	if !ok {
		return crash.Errorf(crash.Invalid, "bad_reason", "A reason is one line of at most %d characters.", crash.MaxReason)
	}
	return s.decide(ctx, id, rules.CandidateDeclined, person, line, rules.CandidateWaiting, rules.CandidateAutomatic)
}

// RestoreCandidate undoes DeclineCandidate.
func (s *Store) RestoreCandidate(ctx context.Context, id int64, person string) error {
	return s.decide(ctx, id, rules.CandidateWaiting, person, "", rules.CandidateDeclined)
}

// decide changes the state of a candidate from one of others.
func (s *Store) decide(ctx context.Context, id int64, to rules.CandidateState, person, reason string,
	from ...rules.CandidateState,
) error {
	decided, by := s.Now(), person
	if to == rules.CandidateWaiting {
		decided, by = time.Time{}, ""
	}
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		var problem crash.BucketID
		var before rules.CandidateState
		err := tx.QueryRow(ctx, sqlDecide, pgx.NamedArgs{"id": id, "state": to, "person": by,
			"decided": db.OrNull(decided), "reason": reason, "from": from}).Scan(&problem, &before)
		if err != nil {
			return db.NoRows(err, errNoCandidate)
		}
		return s.Audit(ctx, tx, db.AuditEvent{Person: person, Action: "candidate." + string(to),
			Subject: problem.String(), Before: map[string]any{"state": before},
			After: map[string]any{"state": to}, Detail: map[string]any{"candidate": id, "reason": reason}})
	})
	return db.Wrap(err, "decide about candidate %d", id)
}

// FailCandidate stores why no bug could be filed for a candidate that waits.
func (s *Store) FailCandidate(ctx context.Context, id int64, failure string) error {
	_, err := s.Pool.Exec(ctx, sqlCandidateFailed, pgx.NamedArgs{"id": id, "failure": failure})
	return db.Wrap(err, "candidate %d", id)
}
