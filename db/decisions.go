package db

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db/reader"
)

// sqlNextRound takes the lock that counting rounds take, and returns a new round number. Rows that
// the transaction stamps with it are reloaded by every instance that caches problems.
const sqlNextRound = `update counting set round = round + 1 returning round, ` + serverIDColumns

// deciding is a transaction that changes decisions about problems. Only one runs at a time in all
// instances, and none during a counting round. So two people cannot merge problems into each other,
// or decide about reports while they are counted.
type deciding struct {
	pgx.Tx
	store  *Store
	round  int64
	server serverID
}

// Decisions stores what people decide about problems, and regroups reports. It is safe for
// concurrent use.
type Decisions struct{ *Store }

// NewDecisions returns the Decisions of a store.
func NewDecisions(s *Store) *Decisions { return &Decisions{s} }

func (s *Decisions) decide(ctx context.Context, do func(*deciding) error) error {
	return s.inRound(ctx, func(tx pgx.Tx, at stamp) error {
		return do(&deciding{Tx: tx, store: s.Store, round: at.round, server: at.server})
	})
}

// InRound runs do in a transaction that holds the lock on counting. No other transaction changes counts
// meanwhile.
func (s *Decisions) InRound(ctx context.Context, do func(tx pgx.Tx) error) error {
	return s.inRound(ctx, func(tx pgx.Tx, _ stamp) error { return do(tx) })
}

// countAll counts all reports stored before the call. It ignores those that arrive meanwhile.
func (d *deciding) countAll(ctx context.Context) error {
	return reader.Bare(ctx, d, func() error { return d.countStored(ctx) })
}

func (d *deciding) countStored(ctx context.Context) error {
	for began := time.Now(); ; {
		_, err := d.store.countWork(ctx, d, stamp{d.server, d.round}, workOlderThan(time.Since(began)), maxRoundReports)
		if errors.Is(err, errNothing) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

const (
	decisionColumns = `
		d.id, d.kind, d.cause, d.bucket_id, d.other_id,
		coalesce((select coalesce(nullif(name, ''), nullif(title, ''), left(signature, 200))
			from buckets where id = d.bucket_id), ''),
		coalesce((select coalesce(nullif(name, ''), nullif(title, ''), left(signature, 200))
			from buckets where id = d.other_id), ''),
		d.before, d.after, coalesce(d.condition, '{}'), d.person, d.reason, d.at, d.undone_by, d.undone_at,
		d.looked_at, d.moved, d.finished`
	sqlDecision = `select ` + decisionColumns + ` from decisions as d where d.id = @id`
	// sqlDecisions includes decisions about problems that were or are merged into this one. It
	// excludes decisions that mishap made because another one was undone.
	sqlDecisions = `
		with members as ` + Members + `
		select ` + decisionColumns + ` from decisions as d
		where (d.bucket_id in (select id from members) or d.other_id in (select id from members)) and d.cause <> 'emptied'
		order by d.id desc limit @limit`
)

func scanDecision(row pgx.CollectableRow) (d crash.Decision, err error) {
	var other []byte
	err = row.Scan(
		&d.ID, &d.Kind, &d.Cause, ScanTo(d.Bucket[:]), &other, &d.BucketLabel, &d.OtherLabel,
		&d.Before, &d.After, &d.Condition, &d.Person, &d.Reason, &d.At, &d.UndoneBy, OrZero(&d.UndoneAt),
		&d.LookedAt, &d.Moved, &d.Finished)
	copy(d.Other[:], other)
	return d, err
}

// Decisions returns up to limit decisions about a problem and its merged buckets, latest first.
func (s *Decisions) Decisions(ctx context.Context, id crash.BucketID, limit int) ([]crash.Decision, error) {
	found, err := List(ctx, s.Pool, sqlDecisions, pgx.NamedArgs{"bucket": id[:], "limit": limit}, scanDecision)
	return found, Wrap(err, "decisions about %s", id)
}

var (
	errUnknownDecision = crash.Errorf(crash.NotFound, "unknown_decision", "There is no such entry in the history.")
	errUndone          = crash.Errorf(crash.Conflict, "undone_already", "This has already been undone.")
)

// Decision returns one entry of the history. It returns NotFound if there is none.
func (s *Decisions) Decision(ctx context.Context, id int64) (crash.Decision, error) {
	return oneDecision(ctx, s.Pool, sqlDecision, id)
}

func oneDecision(ctx context.Context, q Querier, sql string, id int64) (crash.Decision, error) {
	d, err := One(ctx, q, sql, pgx.NamedArgs{"id": id}, scanDecision)
	return d, WrapOr(err, errUnknownDecision, "decision %d", id)
}

const sqlUndone = `update decisions set undone_by = @person, undone_at = @at where id = @id`

// Undo reverses a decision on behalf of person, whoever made it. The history shows both. Undoing a
// split moves its reports back in steps (see StepSplit). Undo returns NotFound for an
// unknown decision. It returns Conflict if the decision is undone already, or if a later one
// depends on it.
func (s *Decisions) Undo(ctx context.Context, id int64, person string) (crash.Decision, error) {
	var decision crash.Decision
	err := s.decide(ctx, func(d *deciding) error {
		var err error
		if decision, err = oneDecision(ctx, d, sqlDecision, id); err != nil {
			return err
		}
		if !decision.Stands() {
			return errUndone
		}
		decision.UndoneBy, decision.UndoneAt = person, s.Now()
		if _, err := d.Exec(ctx, sqlUndone, pgx.NamedArgs{"id": id, "person": person, "at": decision.UndoneAt}); err != nil {
			return err
		}
		event := AuditEvent{Person: person, Subject: decision.Bucket.String(), Detail: map[string]any{"decision": id}}
		switch decision.Kind {
		case crash.DecisionMerged:
			event.Action, err = "problem.unmerge", d.unmerge(ctx, decision)
			event.Before = map[string]any{"into": decision.Other.String()}
		case crash.DecisionRenamed:
			event.Action, err = "problem.unname", d.unname(ctx, decision)
			event.Before, event.After = map[string]any{"name": decision.After}, map[string]any{"name": decision.Before}
		case crash.DecisionSplit:
			event.Action, err = "problem.unsplit", d.unsplit(ctx, decision)
			event.Before = auditedSplit(decision.Other, decision.Condition)
		}
		if err != nil {
			return err
		}
		return s.Audit(ctx, d, event)
	})
	return decision, Wrap(err, "undo decision %d", id)
}

const sqlSignature = `select signature, head from buckets where id = @id`

// Signature returns the signature of a bucket, and the head of its problem. It returns NotFound if
// there is no such bucket.
func (s *Decisions) Signature(ctx context.Context, id crash.BucketID) (signature string, head crash.BucketID,
	err error) {
	err = s.Pool.QueryRow(ctx, sqlSignature, pgx.NamedArgs{"id": id[:]}).Scan(&signature, ScanTo(head[:]))
	return signature, head, WrapOr(err, crash.ErrUnknownBucket, "signature of %s", id)
}

const (
	sqlInsertBug = `insert into bugs (number, title, url) values (@number, @title, @url) on conflict (number) do nothing`
	// SQLWatchBug schedules a bug to be read from the tracker, unless it is scheduled already.
	SQLWatchBug = `
		insert into bug_states (number, next_read) values (@number, now()) on conflict (number) do nothing`
	sqlInsertLink = `
		insert into bucket_bugs (bucket_id, bug_number, how, person, at) values (@bucket, @number, @how, @person, now())
		on conflict (bucket_id, bug_number) do nothing`
)

// AddBugLink links a bug to a bucket. It does nothing if they are linked already.
func (s *Handle) AddBugLink(ctx context.Context, tx pgx.Tx, bucket crash.BucketID, bug crash.Bug) error {
	args := pgx.NamedArgs{
		"number": bug.Number, "title": bug.Title, "url": bug.URL,
		"bucket": bucket[:], "how": string(bug.How), "person": bug.By,
	}
	if _, err := tx.Exec(ctx, sqlInsertBug, args); err != nil {
		return fmt.Errorf("bug %d: %w", bug.Number, err)
	}
	if _, err := tx.Exec(ctx, SQLWatchBug, args); err != nil {
		return fmt.Errorf("watch bug %d: %w", bug.Number, err)
	}
	_, err := tx.Exec(ctx, sqlInsertLink, args)
	return Wrap(err, "link bug %d to %s", bug.Number, bucket)
}

// StoredState is a row of bug_states, as PostgreSQL converts it to JSON.
type StoredState struct {
	Number          int64           `json:"number"`
	InformationType string          `json:"information_type"`
	Private         bool            `json:"private"`
	Hidden          bool            `json:"hidden"`
	DuplicateOf     int64           `json:"duplicate_of"`
	Tasks           []crash.BugTask `json:"tasks"`
	Fixes           []crash.BugFix  `json:"fixes"`
	Read            time.Time       `json:"read"`
	Next            time.Time       `json:"next_read"`
	Failures        int             `json:"failures"`
	Failure         string          `json:"failure"`
}

// State converts a row to a BugState. A nil row gives a state with only the number and the title.
func (s *StoredState) State(number int64, title string) crash.BugState {
	if s == nil {
		return crash.BugState{BugReading: crash.BugReading{Number: number, Title: title}}
	}
	return crash.BugState{
		BugReading: crash.BugReading{
			Number: number, Title: title, InformationType: s.InformationType, Private: s.Private, Hidden: s.Hidden,
			DuplicateOf: s.DuplicateOf, Tasks: s.Tasks, Fixes: s.Fixes,
		},
		Read: s.Read.UTC(), Next: s.Next.UTC(), Failures: s.Failures, Failure: s.Failure,
	}
}

// These fragments of SQL read a crash.Bug from each row of bucket_bugs, which is called l.
const (
	// BugColumns are the columns that BugScan reads.
	BugColumns = `
		g.number, g.title, g.url, l.how, l.person, l.at, to_jsonb(st), to_jsonb(m),
		coalesce(mg.title, ''), coalesce(mg.url, '')`
	// BugJoins joins the tables that BugColumns needs.
	BugJoins = `
		join bugs as g on g.number = l.bug_number
		left join bug_states as st on st.number = l.bug_number
		left join bug_states as m on m.number = st.duplicate_of
		left join bugs as mg on mg.number = st.duplicate_of`
	// BugOrder sorts the bugs of a problem: open ones before closed ones, then the most recently
	// linked first. Lists show only the first.
	BugOrder = `coalesce(m.closed, st.closed, false), l.at desc, l.bug_number desc`
)

// BugScan scans BugColumns, even if all of them are null.
type BugScan struct {
	number                  *int64
	title, url, how, person *string
	at                      time.Time
	state, master           *StoredState
	masterTitle, masterURL  *string
}

// Columns returns the scan targets for BugColumns.
func (b *BugScan) Columns() []any {
	return []any{
		&b.number, &b.title, &b.url, &b.how, &b.person, OrZero(&b.at), &b.state, &b.master, &b.masterTitle, &b.masterURL,
	}
}

// Bug returns the bug that was scanned, or an empty one if the columns were null.
func (b *BugScan) Bug() crash.Bug {
	if b.number == nil {
		return crash.Bug{}
	}
	out := crash.Bug{Number: *b.number, Title: *b.title, URL: *b.url, How: crash.LinkHow(*b.how), By: *b.person, At: b.at}
	out.State = b.state.State(out.Number, out.Title)
	if b.master != nil {
		master := b.master.State(b.master.Number, *b.masterTitle)
		out.Master, out.MasterURL = &master, *b.masterURL
	}
	return out
}

const sqlSettleByLink = `
	update filings set state = 'filed', bug_number = @number, unit = null, problem = '', reason = '', updated = now()
	where bucket_id in ` + Members + ` and state = 'queued'`

// SettleByLink ends the queued filing of a problem that someone has linked to a bug, so that no
// second bug is filed. It does not stop a filing that is being sent. It leaves a filing with an
// unknown outcome to the search: the search adds any bug it finds, and then nothing more is sent.
func (s *Handle) SettleByLink(ctx context.Context, tx pgx.Tx, bucket crash.BucketID, bug crash.Bug) error {
	_, err := tx.Exec(ctx, sqlSettleByLink, pgx.NamedArgs{"bucket": bucket[:], "number": bug.Number})
	return Wrap(err, "end the filing of %s", bucket)
}

const sqlBugTemplate = `
	select package, problem_type, body, person, changed from bug_templates
	where package in ('', @package) and problem_type in ('', @type)
	order by package = '', problem_type = '' limit 1`

// BugTemplate returns the template for bugs of a source package and a problem type. It prefers a
// template for both, then one for the package, one for the type, and the general one. The body is
// empty if there is none.
func (s *Store) BugTemplate(ctx context.Context, source, problemType string) (crash.BugTemplate, error) {
	t, err := One(ctx, s.Pool, sqlBugTemplate, pgx.NamedArgs{"package": source, "type": problemType},
		pgx.RowToStructByPos[crash.BugTemplate])
	return t, WrapOr(err, nil, "template of bugs")
}

const sqlUpdatePolicies = `
	select pattern, again, quiet, quiet_weeks, section, person, changed from update_rules
	order by pattern = '*', position, pattern`

// UpdatePolicies returns what mishap writes to bugs by itself, in the order in which the rules apply.
func (s *Store) UpdatePolicies(ctx context.Context) (crash.UpdatePolicies, error) {
	rules, err := List(ctx, s.Pool, sqlUpdatePolicies, nil, Into(func(r *crash.UpdatePolicy) []any {
		return []any{&r.Pattern, &r.Again, &r.Quiet, &r.QuietWeeks, &r.Section, &r.Person, OrZero(&r.Changed)}
	}))
	return rules, Wrap(err, "rules of updates")
}

// CurrentGroups selects the groups of people that count: identity_id, user_id, source and group_name.
// Statements that contain it need the arguments of RightsArgs.
const CurrentGroups = `
	select i.id as identity_id, i.user_id, i.source, m.group_name
	from identities as i join user_groups as m on m.identity_id = i.id
	where i.groups_read > @groups_since::timestamptz`

// GroupsSince returns the time since which groups must have been stated to count.
func (h *Handle) GroupsSince() time.Time { return h.Now().Add(-h.Rights.GroupsMaxAge) }

// RightsArgs adds the arguments that CurrentGroups, Readers and Administrators need.
func (h *Handle) RightsArgs(args pgx.NamedArgs) pgx.NamedArgs {
	args["groups_since"], args["everyone"] = h.GroupsSince(), h.Rights.Everyone
	return args
}

// Readers selects the ids of the accounts that may read reports: those that have a role, or a right for
// some packages, and are not disabled.
const Readers = `
	select id from users where not disabled and (
		role <> '' or @everyone::text <> '' and team = '' or id in (
			select user_id from account_grants
			union all
			select m.user_id from (` + CurrentGroups + `) as m
				join group_grants as g on g.source = m.source and g.group_name = m.group_name))`

// Administrators selects the ids of the accounts with the role admin, given by hand or by a group.
const Administrators = `
	select id from users where role = 'admin'
	union
	select m.user_id from (` + CurrentGroups + `) as m
		join group_grants as g on g.source = m.source and g.group_name = m.group_name and g.role = 'admin'`
