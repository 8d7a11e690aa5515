package db

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/grouping"
	"mishap/crash/index"
	"mishap/crash/stats"
)

// sqlNextRound takes the lock that counting rounds take, and returns a new round number. Rows that
// the transaction stamps with it are reloaded by every instance that caches problems. The first round after
// the server has started records that start.
const sqlNextRound = `
	with next as (update counting set round = round + 1 returning round, ` + serverIDColumns + `),
	started as (
		insert into server_starts (started, database, round)
		select pg_postmaster_start_time, oid, round from next
		where not exists (
			select from server_starts as s where s.started = pg_postmaster_start_time and s.database = next.oid)
		on conflict (started, database) do nothing
	)
	select * from next`

// deciding is a transaction that changes decisions about problems. Only one runs at a time in all
// instances, and none during a counting round. So two people cannot merge problems into each other,
// or decide about reports while they are counted.
type deciding struct {
	pgx.Tx
	store  *Store
	round  int64
	server serverID
	at     time.Time // see now
}

// now returns the time of all merges of the transaction.
func (d *deciding) now() time.Time {
	if d.at.IsZero() {
		d.at = d.store.Now()
	}
	return d.at
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
	return bare(ctx, d, func() error { return d.countStored(ctx) })
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
	err = row.Scan(
		&d.ID, &d.Kind, &d.Cause, &d.Bucket, &d.Other, &d.BucketLabel, &d.OtherLabel,
		&d.Before, &d.After, &d.Condition, &d.Person, &d.Reason, &d.At, &d.UndoneBy, OrZero(&d.UndoneAt),
		&d.LookedAt, &d.Moved, &d.Finished)
	return d, err
}

// Decisions returns up to limit decisions about a problem and its merged buckets, latest first.
func (s *Decisions) Decisions(ctx context.Context, id crash.BucketID, limit int) ([]crash.Decision, error) {
	found, err := List(ctx, s.Pool, sqlDecisions, pgx.NamedArgs{"bucket": id[:], "limit": limit}, scanDecision)
	MarkWaiting(ctx, s.Handle, found, func(d *crash.Decision) *bool {
		if d.Finished {
			return nil
		}
		return &d.Waits
	})
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
	err = s.Pool.QueryRow(ctx, sqlSignature, pgx.NamedArgs{"id": id[:]}).Scan(&signature, &head)
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
		coalesce(mg.title, ''), coalesce(mg.url, ''),
		coalesce(pl.tracker, ''), coalesce(pl.project, ''), coalesce(pl.upstream, false)`
	// BugJoins joins the tables that BugColumns needs.
	BugJoins = `
		join bugs as g on g.number = l.bug_number
		left join bug_states as st on st.number = l.bug_number
		left join bug_states as m on m.number = st.duplicate_of
		left join bugs as mg on mg.number = st.duplicate_of
		left join bug_places as pl on pl.place = l.bug_number >> 40`
	// BugOrder sorts the bugs of a problem: those of the distribution before those of upstream projects, open ones
	// before closed ones, then the most recently linked first. Lists show only the first, and none of upstream's.
	BugOrder = `coalesce(pl.upstream, false), coalesce(m.closed, st.closed, false), l.at desc, l.bug_number desc`
)

// BugScan scans BugColumns, even if all of them are null.
type BugScan struct {
	number                  *int64
	title, url, how, person *string
	at                      time.Time
	state, master           *StoredState
	masterTitle, masterURL  *string
	tracker, project        *string
	upstream                *bool
}

// Columns returns the scan targets for BugColumns.
func (b *BugScan) Columns() []any {
	return []any{
		&b.number, &b.title, &b.url, &b.how, &b.person, OrZero(&b.at), &b.state, &b.master, &b.masterTitle, &b.masterURL,
		&b.tracker, &b.project, &b.upstream,
	}
}

// Bug returns the bug that was scanned, or an empty one if the columns were null.
func (b *BugScan) Bug() crash.Bug {
	if b.number == nil {
		return crash.Bug{}
	}
	out := crash.Bug{Number: *b.number, Title: *b.title, URL: *b.url, How: crash.LinkHow(*b.how), By: *b.person, At: b.at}
	out.Place = crash.BugPlace{Tracker: *b.tracker, Project: *b.project, Upstream: *b.upstream}
	out.State = b.state.State(out.Number, out.Title)
	if b.master != nil {
		master := b.master.State(b.master.Number, *b.masterTitle)
		out.Master, out.MasterURL = &master, *b.masterURL
	}
	return out
}

const sqlSettleByLink = `
	update filings set state = 'filed', bug_number = @number, unit = null, problem = '', reason = '', updated = now()
	where bucket_id in ` + Members + ` and state = 'queued' and upstream = upstream_bug(@number)`

// SettleByLink ends the queued filing of a problem that someone has linked to a bug, so that no
// second bug is filed. It does not stop a filing that is being sent. It leaves a filing with an
// unknown outcome to the search: the search adds any bug it finds, and then nothing more is sent.
func (s *Handle) SettleByLink(ctx context.Context, tx pgx.Tx, bucket crash.BucketID, bug crash.Bug) error {
	_, err := tx.Exec(ctx, sqlSettleByLink, pgx.NamedArgs{"bucket": bucket[:], "number": bug.Number})
	return Wrap(err, "end the filing of %s", bucket)
}

const sqlBugTemplate = `
	select tracker, package, problem_type, body, person, changed from bug_templates
	where tracker in ('', @tracker) and package in ('', @package) and problem_type in ('', @type)
	order by package = '', problem_type = '', tracker = '' limit 1`

// BugTemplate returns the template for bugs in a tracker of a source package and a problem type. It prefers a
// template for both, then one for the package, one for the type, and the general one; of equal ones, that of the
// tracker. The body is empty if there is none.
func (s *Store) BugTemplate(ctx context.Context, tracker, source, problemType string) (crash.BugTemplate, error) {
	args := pgx.NamedArgs{"tracker": tracker, "package": source, "type": problemType}
	t, err := One(ctx, s.Pool, sqlBugTemplate, args, pgx.RowToStructByPos[crash.BugTemplate])
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

// A native crash without function names goes to a provisional bucket, which is keyed by the address
// signature. Once a report has names for the same address signature, the provisional bucket is
// merged into the bucket of that report. Its counts, links and address then belong to the other
// problem, and so do later reports without names. If an address signature gets two different names,
// the first one stays: neither is known to be better, and reports must not move back and forth. A
// person can undo the merge, and then it is not repeated.

// nameOf returns the provisional bucket for which a grouped report has function names, or nil if
// there is none.
func nameOf(counted bool, rule crash.GroupingRule, address string) *crash.BucketID {
	if !counted || address == "" || rule != crash.RuleStacktrace && rule != crash.RuleStackNames {
		return nil
	}
	id := crash.BucketIDOf(address)
	return &id
}

// maxCachedNames is the maximum number of provisional buckets whose names a process caches as
// stored.
const maxCachedNames = 1 << 16

const sqlInsertNames = `
	insert into known_names (address_id, bucket_id)
	select * from unnest(@ids::bytea[], @buckets::bytea[]) as n (address_id, bucket_id)
	on conflict (address_id) do nothing`

// insertNames stores, in a transaction, which buckets have names for which provisional buckets. It
// skips those that are cached as stored. It returns the rest, which the caller adds to s.names
// after the commit.
func (s *Store) insertNames(
	ctx context.Context, tx pgx.Tx, server serverID, names map[crash.BucketID]crash.BucketID,
) (inserted map[crash.BucketID]bool, err error) {
	var ids []crash.BucketID
	for id := range names {
		if _, ok := s.names.find(server, id); !ok {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	slices.SortFunc(ids, compareIDs) // a fixed order prevents deadlocks
	buckets := make([]crash.BucketID, len(ids))
	inserted = make(map[crash.BucketID]bool, len(ids))
	for i, id := range ids {
		buckets[i], inserted[id] = names[id], true
	}
	_, err = tx.Exec(ctx, sqlInsertNames, pgx.NamedArgs{"ids": ids,
		"buckets": buckets})
	return inserted, Wrap(err, "store names")
}

const (
	// sqlToAdopt selects provisional buckets that this round has changed, and those with a new name.
	sqlToAdopt = `
		select b.id, h.id
		from (
			select id from buckets where changed = @round and provisional
			union
			select address_id from known_names where fresh
		) as c
			join buckets as b on b.id = c.id
			join known_names as n on n.address_id = b.id
			join buckets as h on h.id = n.bucket_id
		where b.provisional and b.head = b.id and not n.refused and h.head <> b.id
		order by b.id`
	sqlNamesUsed = `
		update known_names set fresh = false
		where fresh and exists (select from buckets where id = known_names.bucket_id)`
)

// adoptProvisional merges provisional buckets into the buckets that have names for them. tx holds
// the counting lock, and the buckets of the round exist already. A round without provisional
// buckets or new names costs only two index look-ups.
func (s *Store) adoptProvisional(ctx context.Context, tx pgx.Tx, round int64) error {
	pairs, err := List(ctx, tx, sqlToAdopt, pgx.NamedArgs{"round": round}, scanIDs)
	if err != nil {
		return fmt.Errorf("names for provisional problems: %w", err)
	}
	d := &deciding{Tx: tx, store: s, round: round}
	for _, p := range pairs {
		// Read the heads for each pair, because a merge may change those of the next pair.
		from, named := p[0], p[1]
		heads, err := d.heads(ctx, p[:])
		if err != nil {
			return err
		}
		head := heads[named]
		if heads[from] != from || head == from {
			continue
		}
		if err := d.merge(ctx, from, head, crash.CauseSymbolised, "", "A report with the same addresses has named the "+
			"functions."); err != nil {
			return err
		}
	}
	_, err = tx.Exec(ctx, sqlNamesUsed)
	return Wrap(err, "names for provisional problems")
}

// When mishap symbolises a report, it adds the fields of the stacks to the report's body, so that
// all code that reads reports sees them. The sender's value of such a field stays under the name
// with the prefix senderPrefix.
const senderPrefix = "Sender"

// stackFields are the fields that symbolising can replace.
var stackFields = [...]string{"Stacktrace", "StacktraceTop", "ThreadStacktrace", "Registers", "Disassembly",
	"AssertionMessage"}

const (
	sqlReportToName = `
		select bucket_id, counted, executable, package, version, release, architecture, address_signature, body
		from reports where received = @received and id = @id for update`
	sqlSaveNames = `
		update reports set body = @body, title = @title, complete = @complete, quality = @quality
		where received = @received and id = @id`
)

// NameReport adds the fields of a symbolised stack to a report. If final is true and the fields give
// a signature with names, the report moves to the problem with this signature, and so do all present
// and future reports with the same address signature. Every count, bug and decision stays exact.
//
// Before it commits, NameReport calls also with whether the report has a final signature, and why
// not. An error of also undoes everything. NameReport returns NotFound if the report is not stored in full.
func (s *Decisions) NameReport(ctx context.Context, id crash.OopsID, found crash.Fields, final bool,
	also func(ctx context.Context, tx pgx.Tx, named bool, why string) error) error {
	if err := s.ReachArchives(ctx); err != nil {
		return fmt.Errorf("name report %s: %w", id, err)
	}
	err := s.decide(ctx, func(d *deciding) error {
		if err := d.countAll(ctx); err != nil {
			return err
		}
		r, err := d.saveNames(ctx, id, found)
		if err != nil {
			return err
		}
		named := final && r.grouping.Signature != "" && !r.grouping.Provisional
		if named {
			names := map[crash.BucketID]crash.BucketID{}
			if r.counted && r.address != "" {
				names[crash.BucketIDOf(r.address)] = *r.own()
			}
			if _, err := d.regroup(ctx, []groupedReport{r}, names, grouping.RulesVersion); err != nil {
				return err
			}
		}
		return also(ctx, d, named, r.grouping.Reason)
	})
	return Wrap(err, "name report %s", id)
}

// saveNames stores the fields of a report with those of its symbolised stack, and groups it again.
func (d *deciding) saveNames(ctx context.Context, id crash.OopsID, found crash.Fields) (r groupedReport, err error) {
	r.id, r.stale = id, true
	args := ReportArgs(id)
	var body []byte
	err = d.QueryRow(ctx, sqlReportToName, args).Scan(&r.from, &r.counted, &r.summary.Executable,
		&r.summary.Package, &r.summary.Version, &r.summary.Release, &r.summary.Architecture, &r.address, &body)
	if err != nil {
		return r, NoRows(err, crash.ErrUnknownReport)
	}
	if body == nil {
		return r, crash.ErrUnknownReport
	}
	fields, err := Decompress(body)
	if err != nil {
		return r, err
	}
	found, _ = d.store.privacy.DropSecrets(found)
	r.fields = withNames(fields, found, r.address)
	r.grouping = grouping.SignatureOf(r.fields)
	args["body"], args["title"] = Compress(r.fields), grouping.TitleOf(r.fields, r.grouping)
	complete := grouping.HasEvidence(r.fields, r.grouping)
	args["complete"], args["quality"] = complete, grouping.Quality(r.fields, complete)
	_, err = Planned(ctx, d, sqlSaveNames, args)
	return r, err
}

// withNames returns the fields of a report with those of its symbolised stack. It keeps the address
// signature: computed from the new stack it would differ, because that has inlined functions.
func withNames(fields, found crash.Fields, address string) crash.Fields {
	all := maps.Clone(fields)
	if _, again := fields[crash.SymbolisedBy]; !again {
		for _, name := range stackFields { // also those that a later try will replace
			if value, ok := fields[name]; ok {
				all[senderPrefix+name] = value
			}
		}
	}
	maps.Copy(all, found)
	if address != "" && fields["StacktraceAddressSignature"] == "" {
		all["StacktraceAddressSignature"] = address
	}
	return all
}

const (
	sqlVersionsChanged  = `select versions_changed > @round from counting`
	sqlAllVersionsInUse = `
		select package, release, version, arrived, first_day from package_versions order by package, release, version`
)

// versionsInUse holds the versions in use of all packages. Once read, it is immutable.
type versionsInUse struct {
	texts index.Numbers[string]     // releases and versions
	of    map[string][]versionInUse // by binary package; sorted by release and version
}

func newVersionsInUse() *versionsInUse {
	return &versionsInUse{texts: index.NewNumbers[string](), of: map[string][]versionInUse{}}
}

// versionInUse is a [stats.VersionKnown] without pointers. There are hundreds of thousands of them,
// and each garbage collection would follow the pointers.
type versionInUse struct {
	release, version uint32 // numbers of texts
	arrived, since   int64  // in microseconds since 1970
}

// known returns the versions in use of a binary package, sorted by release and version.
func (v *versionsInUse) known(pkg string) []stats.VersionKnown {
	known := make([]stats.VersionKnown, 0, len(v.of[pkg]))
	for _, k := range v.of[pkg] {
		known = append(known, v.full(k))
	}
	return known
}

// add adds a version in use, after those of its package that sort before it.
func (v *versionsInUse) add(pkg string, k stats.VersionKnown) {
	v.of[pkg] = append(v.of[pkg], versionInUse{release: v.texts.Number(string(k.Release)),
		version: v.texts.Number(k.Version), arrived: k.Arrived.UnixMicro(), since: k.Since.UnixMicro()})
}

// full is the inverse of add.
func (v *versionsInUse) full(k versionInUse) stats.VersionKnown {
	return stats.VersionKnown{Release: crash.Release(v.texts.Value(k.release)), Version: v.texts.Value(k.version),
		Arrived: time.UnixMicro(k.arrived).UTC(), Since: time.UnixMicro(k.since).UTC()}
}

// changedSince returns the packages whose versions in use differ from those in old.
func (v *versionsInUse) changedSince(old *versionsInUse) map[string]bool {
	changed := map[string]bool{}
	if v == old {
		return changed
	}
	equal := func(a, b versionInUse) bool { return v.full(a).Equal(old.full(b)) }
	for name := range v.of {
		if !slices.EqualFunc(v.of[name], old.of[name], equal) {
			changed[name] = true
		}
	}
	for name := range old.of {
		if v.of[name] == nil {
			changed[name] = true
		}
	}
	return changed
}

// versionsInUse returns the versions in use of all packages, as far as the reader of ctx may know
// them.
func (s *Store) versionsInUse(ctx context.Context) (*versionsInUse, error) {
	if hidden, err := hiddenFrom(ctx, s); err != nil {
		return nil, err
	} else if len(hidden) == 0 {
		at, err := s.stamp(ctx)
		if err != nil {
			return nil, fmt.Errorf("versions in use: %w", err)
		}
		l, err := s.currentIndex(ctx, at)
		return l.inUse, Wrap(err, "versions in use")
	}
	type key struct{}
	return CachedCounts(ctx, s, key{}, func(ctx context.Context) (*versionsInUse, error) {
		return readVersionsInUse(ctx, s)
	})
}

func readVersionsInUse(ctx context.Context, s *Store) (*versionsInUse, error) {
	next := newVersionsInUse()
	var pkg string
	var k stats.VersionKnown
	err := Each(ctx, s.Pool, sqlAllVersionsInUse, nil,
		[]any{&pkg, (*string)(&k.Release), &k.Version, &k.Arrived, &k.Since}, func() {
			next.add(pkg, k)
		})
	if err != nil {
		return nil, fmt.Errorf("versions in use: %w", Classify(err))
	}
	for name, versions := range next.of {
		next.of[name] = slices.Clone(versions) // without spare capacity
	}
	return next, nil
}

// VersionsInUse returns the versions in use of a binary package, sorted by release and version.
func (s *Store) VersionsInUse(ctx context.Context, pkg string) ([]stats.VersionKnown, error) {
	v, err := s.versionsInUse(ctx)
	if err != nil {
		return nil, err
	}
	return v.known(pkg), nil
}
