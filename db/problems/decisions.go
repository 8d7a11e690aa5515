package problems

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/crash/stats"
	"mishap/db"
)

const (
	// sqlLockProblem makes decisions about one problem wait for each other.
	sqlLockProblem = `
		select id from buckets where id = (select head from buckets where id = @bucket) for no key update`
	sqlStanding = `
		select ` + db.MarkColumns + ` from marks as t
		where t.bucket_id in ` + db.Members + ` and t.kind = @kind and t.undone_at is null and t.ended_at is null
		order by t.id`
	sqlVersions = `
		select distinct release, version from bucket_versions where bucket_id in ` + db.Members + ` and reports > 0`
	sqlReports = `
		select release, version, sum(reports)::bigint from bucket_versions
		where bucket_id in ` + db.Members + ` and reports > 0 group by 1, 2`
	sqlReplaceMutes = `
		update marks set ended_at = @at where id = any(@replaced)`
	sqlInsert = `
		insert into marks (bucket_id, kind, until, fixes, seen, person, rule_id, reason, at)
		values (@bucket, @kind, @until, @fixes, @seen, @person, nullif(@rule::bigint, 0), @reason, @at) returning id`
	sqlReplacedBy = `update marks set replaced_by = @id where id = any(@replaced)`
)

// Set stores a mark of a problem, in a transaction of its own; see [Store.SetIn]. It also
// returns Invalid if a mute would end at once, because the problem is a regression already.
func (s *Store) Set(ctx context.Context, t crash.Mark) (crash.Mark, error) {
	if t.Kind == crash.MarkMuted && t.Until.Regression {
		if why, err := s.regression(ctx, t.Bucket); err != nil {
			return t, err
		} else if why != "" {
			return t, crash.Errorf(crash.Invalid, "regression_already",
				"The problem would return at once, because %s Choose another condition.", why)
		}
	}
	err := s.InTx(ctx, func(tx pgx.Tx) (err error) {
		t, err = s.SetIn(ctx, tx, t)
		return err
	})
	return t, err
}

// SetIn stores a mark of a problem: that of any bucket merged into it. It returns the stored entry. It
// stores nothing, and returns the standing entry, if that says the same; so do all embargoes and holds. A
// fix replaces earlier ones for the same releases.
//
// SetIn returns NotFound for an unknown bucket, Invalid for an impossible condition, and Conflict
// if the problem is muted with other conditions, unless t.Replaces is that mute, or if it was seen in a
// version with the fix, unless t.Confirmed is set. It returns these before it changes anything, so that
// the caller may continue its transaction.
func (s *Store) SetIn(ctx context.Context, tx pgx.Tx, t crash.Mark) (crash.Mark, error) {
	t.At = s.Now()
	if line, ok := crash.CleanLine(t.Reason, crash.MaxReason); ok { // else Check refuses it
		t.Reason = line
	}
	if err := t.Check(t.At); err != nil {
		return t, err
	}
	if err := lockProblem(ctx, tx, &t.Bucket, t.Kind); err != nil {
		return t, fmt.Errorf("manual status of %s: %w", t.Bucket, err)
	}
	standing, err := s.standing(ctx, tx, t.Bucket, t.Kind)
	if err != nil {
		return t, err
	}
	if len(standing) == 0 {
		return s.insert(ctx, tx, t, nil)
	}
	last := standing[len(standing)-1] // the page shows this one; new grouping rules may leave several mutes
	if same(last, t, standing) {
		return last, nil
	}
	var replaced []int64
	if t.Kind == crash.MarkMuted {
		if last.ID != t.Replaces {
			return t, crash.Errorf(crash.Conflict, "muted_already", "The problem is muted already: %s. "+
				"Look at that first; then replace it or leave it.", last.Text(true))
		}
		for _, old := range standing {
			replaced = append(replaced, old.ID)
		}
	}
	return s.insert(ctx, tx, t, replaced)
}

// same reports whether a standing entry says the same as a new one.
func same(old, t crash.Mark, standing []crash.Mark) bool {
	switch t.Kind {
	case crash.MarkMuted:
		return old.Until.Equal(t.Until)
	case crash.MarkFixed:
		now := crash.StandingFixes(standing)
		return !slices.ContainsFunc(t.Fixes, func(f crash.FixedIn) bool {
			return !slices.ContainsFunc(now, func(known crash.ManualFix) bool { return known.FixedIn == f })
		})
	case crash.MarkWontFix, crash.MarkEmbargo, crash.MarkHold:
	}
	return true
}

func (s *Store) standing(ctx context.Context, tx pgx.Tx, bucket crash.BucketID, kind crash.MarkKind) (
	[]crash.Mark, error,
) {
	standing, err := db.List(ctx, tx, sqlStanding, pgx.NamedArgs{"bucket": bucket[:], "kind": kind}, db.ScanMark)
	return standing, db.Wrap(err, "manual status of %s", bucket)
}

func (s *Store) insert(ctx context.Context, tx pgx.Tx, t crash.Mark, replaced []int64) (crash.Mark, error) {
	args := pgx.NamedArgs{"bucket": t.Bucket[:], "kind": t.Kind, "person": t.Person, "rule": t.Rule,
		"reason": t.Reason, "at": t.At, "until": nil, "fixes": nil, "seen": map[crash.Release]string{}, "replaced": replaced}
	after := map[string]any{"kind": t.Kind}
	switch t.Kind {
	case crash.MarkMuted:
		seen, err := versions(ctx, tx, t.Bucket)
		if err != nil {
			return t, err
		}
		u := t.Until
		u.Newer = false
		if why := stats.Met(u, seen, nil); why != "" {
			return t, crash.Errorf(crash.Invalid, "version_already",
				"The problem would return at once, because %s Choose a later version.", why)
		}
		args["until"], args["seen"], after["until"] = t.Until, highest(seen), t.Until
		if len(replaced) > 0 {
			if _, err := tx.Exec(ctx, sqlReplaceMutes, args); err != nil {
				return t, fmt.Errorf("replace the mute of %s: %w", t.Bucket, err)
			}
		}
	case crash.MarkFixed:
		var err error
		if t.Before, err = reports(ctx, tx, t.Bucket, t.Fixes); err != nil {
			return t, err
		}
		if len(t.Before) > 0 && !t.Confirmed {
			return t, crash.Errorf(crash.Conflict, ErrSeen, "%s. Enter a later version with the fix, or confirm this one.",
				seenAlready(t.Before))
		}
		args["fixes"], args["seen"], after["fixes"] = t.Fixes, t.Before, t.Fixes
	case crash.MarkWontFix, crash.MarkEmbargo, crash.MarkHold:
	}
	if err := tx.QueryRow(ctx, sqlInsert, args).Scan(&t.ID); err != nil {
		return t, fmt.Errorf("manual status of %s: %w", t.Bucket, err)
	}
	if len(replaced) > 0 {
		args["id"] = t.ID
		if _, err := tx.Exec(ctx, sqlReplacedBy, args); err != nil {
			return t, fmt.Errorf("replace the mute of %s: %w", t.Bucket, err)
		}
	}
	if restriction, ok := restrictions[t.Kind]; ok {
		detail := map[string]any{"reason": t.Reason}
		if t.Kind == crash.MarkEmbargo {
			detail["rule"] = t.Rule
		}
		return t, s.Audit(ctx, tx, restriction.event(t.Bucket, t.Person, true, detail))
	}
	return t, s.Audit(ctx, tx, db.AuditEvent{
		Person: t.Person, Action: "problem.triage", Subject: t.Bucket.String(), After: after,
		Detail: map[string]any{"entry": t.ID, "replaces": replaced, "reason": t.Reason},
	})
}

// versions returns the releases and versions in which a problem was seen.
func versions(ctx context.Context, q db.Querier, bucket crash.BucketID) ([]crash.FixedIn, error) {
	seen, err := db.List(ctx, q, sqlVersions, pgx.NamedArgs{"bucket": bucket[:]}, pgx.RowToStructByPos[crash.FixedIn])
	return seen, db.Wrap(err, "versions of %s", bucket)
}

// ErrSeen is the code of the error for a fix in a version in which the problem has been seen.
const ErrSeen = "seen_already"

// seenAlready says how often a problem has been seen in versions with the fix: "The problem has been seen already in
// 1.4-2 (Ubuntu 24.04): 9 reports".
func seenAlready(before map[crash.Release]map[string]int64) string {
	var parts []string
	for _, release := range slices.SortedFunc(maps.Keys(before), func(a, b crash.Release) int { return b.Compare(a) }) {
		for _, version := range slices.SortedFunc(maps.Keys(before[release]), release.VersionOrder().Total) {
			n := before[release][version]
			parts = append(parts, crash.FixedIn{Release: release, Version: version}.String()+": "+
				crash.Counted(n, "report", "reports"))
		}
	}
	if most := 5; len(parts) > most {
		parts = append(parts[:most], "…")
	}
	return "The problem was already seen in " + strings.Join(parts, ", ")
}

// ReportsIn returns the number of reports of a problem from versions with one of the fixes.
func (s *Store) ReportsIn(ctx context.Context, bucket crash.BucketID, fixes []crash.FixedIn) (n int64, err error) {
	before, err := reports(ctx, s.Pool, bucket, fixes)
	for _, versions := range before {
		for _, some := range versions {
			n += some
		}
	}
	return n, err
}

// reports returns the number of reports from each version with one of the fixes.
func reports(ctx context.Context, q db.Querier, bucket crash.BucketID, fixes []crash.FixedIn) (
	before map[crash.Release]map[string]int64, err error,
) {
	before = map[crash.Release]map[string]int64{}
	var in crash.FixedIn
	var n int64
	err = db.Each(ctx, q, sqlReports, pgx.NamedArgs{"bucket": bucket}, []any{&in.Release, &in.Version, &n}, func() {
		if slices.ContainsFunc(fixes, func(f crash.FixedIn) bool { return f.Has(in.Release, in.Version) }) {
			if before[in.Release] == nil {
				before[in.Release] = map[string]int64{}
			}
			before[in.Release][in.Version] = n
		}
	})
	return before, db.Wrap(err, "versions of %s", bucket)
}

// highest returns the highest version in each release.
func highest(seen []crash.FixedIn) map[crash.Release]string {
	top := map[crash.Release]string{}
	for _, o := range seen {
		if old, ok := top[o.Release]; !ok || o.Release.VersionOrder().Total(o.Version, old) > 0 {
			top[o.Release] = o.Version
		}
	}
	return top
}

const (
	sqlEntry = `select ` + db.MarkColumns + ` from marks as t where t.id = @id and t.kind not in ('embargo', 'hold')`
	sqlUndo  = `update marks set undone_by = @person, undone_at = @at where id = @id and undone_at is null`
	// sqlRestore lets a mute stand again that this one has replaced.
	sqlRestore = `
		update marks set ended_at = null, replaced_by = null
		where replaced_by = @id and undone_at is null and ended_why = ''
			and not exists (select from marks where id = @id and merged_by is not null)`
)

var (
	errUnknown = crash.Errorf(crash.NotFound, "unknown_triage_entry", "There is no such entry in the history.")
	errUndone  = crash.Errorf(crash.Conflict, "undone_already", "This has already been undone.")
)

const sqlBucketOf = `select bucket_id from marks where id = @id and kind not in ('embargo', 'hold')`

// BucketOf returns the bucket of an entry. It returns NotFound if there is no such entry.
func (s *Store) BucketOf(ctx context.Context, id int64) (bucket crash.BucketID, err error) {
	err = s.Pool.QueryRow(ctx, sqlBucketOf, pgx.NamedArgs{"id": id}).Scan(&bucket)
	return bucket, db.WrapOr(err, errUnknown, "problem of a triage entry")
}

// Undo makes an entry of a problem's manual status not stand any more, whoever made it. A mute that
// it has replaced stands again. Undo returns NotFound if there is no such entry, and Conflict if it
// was undone already.
func (s *Store) Undo(ctx context.Context, id int64, person string) (crash.Mark, error) {
	var t crash.Mark
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		args := pgx.NamedArgs{"id": id, "person": person, "at": s.Now()}
		var err error
		t, err = db.One(ctx, tx, sqlEntry, args, db.ScanMark)
		if err != nil {
			return db.NoRows(err, errUnknown)
		}
		args["bucket"] = t.Bucket[:]
		var head crash.BucketID
		if err := tx.QueryRow(ctx, sqlLockProblem, args).Scan(&head); err != nil {
			return err
		}
		done, err := tx.Exec(ctx, sqlUndo, args)
		if err != nil {
			return err
		}
		if done.RowsAffected() == 0 {
			return errUndone
		}
		if _, err := tx.Exec(ctx, sqlRestore, args); err != nil {
			return err
		}
		t.UndoneBy, t.UndoneAt = person, s.Now()
		return s.Audit(ctx, tx, db.AuditEvent{
			Person: person, Action: "problem.untriage", Subject: t.Bucket.String(),
			Before: map[string]any{"kind": t.Kind}, Detail: map[string]any{"entry": id},
		})
	})
	return t, db.Wrap(err, "undo entry %d of a manual status", id)
}

const (
	// sqlMutes looks up the problem of each standing mute by index, which the limit ensures; a join
	// would read all problems.
	sqlMutes = `
		select ` + db.MarkColumns + `, t.seen, h.head,
			(select max(changed) from buckets where head = h.head) as changed
		from marks as t join lateral (select head from buckets where id = t.bucket_id limit 1) as h on true
		where t.kind = 'muted' and t.undone_at is null and t.ended_at is null order by t.id`
	// sqlReportsSince stops as soon as there are enough reports.
	sqlReportsSince = `
		select count(*) from (
			select from (select id from buckets where id in ` + db.Members + `) as m (source) cross join lateral (
				select from reports where bucket_id = m.source and received > @since and counted limit @limit
			) as r limit @limit
		) as found`
	// sqlMachinesSince looks only at the newest reports, so that a machine that crashes in a loop does
	// not make it slow.
	sqlMachinesSince = `
		select count(distinct system_key) from (
			select system_key from (select id from buckets where id in ` + db.Members + `) as m (source) cross join lateral (
				select received, system_key from reports where bucket_id = m.source and received > @since and counted
				order by received desc limit 50000
			) as r order by received desc limit 50000
		) as newest`
	sqlEnd = `
		update marks set ended_at = @at, ended_why = @why where id = @id and undone_at is null and ended_at is null`
)

// standingMute is a mute that may have to end.
type standingMute struct {
	crash.Mark
	known   map[crash.Release]string // highest version in each release when it was muted
	head    crash.BucketID           // the problem that it belongs to now
	changed int64                    // round in which the counts of the problem changed last
}

// EndMutes ends the mutes whose condition is met. Each ends once, even if several instances call
// EndMutes at the same time. It compares only mutes whose problem has changed since the previous
// call, besides those that wait for a day or a regression.
func (s *Store) EndMutes(ctx context.Context) error {
	mutes, err := s.standingMutes(ctx)
	if err != nil {
		return err
	}
	var failed error
	stand := map[int64]bool{}
	for _, m := range mutes {
		stand[m.ID] = true
		why, err := s.met(ctx, m)
		if err == nil && why != "" {
			err = s.end(ctx, m, why)
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("mute of %s: %w", m.head, db.Classify(err)))
			continue
		}
		s.mu.Lock()
		s.checked[m.ID] = m.changed
		s.mu.Unlock()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.checked, func(id int64, _ int64) bool { return !stand[id] })
	return failed
}

func (s *Store) standingMutes(ctx context.Context) ([]standingMute, error) {
	mutes, err := db.List(ctx, s.Pool, sqlMutes, nil, db.Into(func(m *standingMute) []any {
		return append(db.MarkTargets(&m.Mark), &m.known, &m.head, &m.changed)
	}))
	return mutes, db.Wrap(err, "standing mutes")
}

// met returns the sentence that says which condition of a mute is met, or "".
func (s *Store) met(ctx context.Context, m standingMute) (string, error) {
	u := m.Until
	if !u.Date.IsZero() && !s.Now().Before(u.Date) {
		return u.ReachedDate(), nil
	}
	if u.Regression {
		if why, err := s.regression(ctx, m.head); err != nil || why != "" {
			return why, err
		}
	}
	s.mu.Lock()
	round, known := s.checked[m.ID]
	s.mu.Unlock()
	if known && round == m.changed {
		return "", nil
	}
	args := pgx.NamedArgs{"bucket": m.head[:], "since": m.At, "limit": u.Reports}
	if within := s.Now().Add(-time.Duration(u.Days) * 24 * time.Hour); u.Days > 0 && within.After(m.At) {
		args["since"] = within
	}
	if u.Reports > 0 {
		if enough, err := s.enoughSince(ctx, sqlReportsSince, args, u.Reports); err != nil {
			return "", err
		} else if enough {
			return u.ReachedReports(), nil
		}
	}
	if u.Machines > 0 {
		if enough, err := s.enoughSince(ctx, sqlMachinesSince, args, u.Machines); err != nil {
			return "", err
		} else if enough {
			return u.ReachedMachines(), nil
		}
	}
	if u.Version == "" && !u.Newer {
		return "", nil
	}
	seen, err := versions(ctx, s.Pool, m.head)
	slices.SortFunc(seen, func(a, b crash.FixedIn) int { return b.Release.Compare(a.Release) })
	return stats.Met(u, seen, m.known), err
}

// enoughSince reports whether a statement counts a number of reports or machines that arrived since a time. It looks in
// archives only if there are not enough here. It returns ErrArchiveAway if it has to, and one does not answer.
func (s *Store) enoughSince(ctx context.Context, sql string, args pgx.NamedArgs, want int64) (bool, error) {
	parts, err := s.Archived(ctx)
	if err != nil {
		return false, err
	}
	args = maps.Clone(args)
	count := func(ctx context.Context) (n int64, err error) {
		err = s.Pool.QueryRow(ctx, sql, args).Scan(&n)
		return n, db.Classify(err)
	}
	since, _ := args["since"].(time.Time)
	if here := parts.Until(); since.Before(here) {
		args["since"] = here
		if n, err := count(ctx); err != nil || n >= want {
			return err == nil, err
		}
		args["since"] = since
		n, err := db.FromArchives(ctx, s.Handle, count)
		return n >= want, err
	}
	n, err := count(ctx)
	return n >= want, err
}

// regression returns a sentence if a problem is a regression, or is seen in a version that was
// marked as fixed. Else it returns "".
func (s *Store) regression(ctx context.Context, bucket crash.BucketID) (string, error) {
	b, err := s.IndexWithStates(ctx)
	if err != nil {
		return "", err
	}
	p, ok := b.Problem(bucket)
	if !ok {
		return "", nil
	}
	if p.State == crash.StateRegression {
		release, version, _ := s.StatusOf(p).Regressed()
		return crash.Regressed(release, version), nil
	}
	for _, f := range db.ManualOf(b, p, index.DayOf(s.Now())).Fixes {
		if f.Again > 0 {
			return crash.Regressed(f.AgainIn, f.AgainAt), nil
		}
	}
	return "", nil
}

// end ends a mute, unless it was undone or ended meanwhile.
func (s *Store) end(ctx context.Context, m standingMute, why string) error {
	return s.InTx(ctx, func(tx pgx.Tx) error {
		args := pgx.NamedArgs{"id": m.ID, "at": s.Now(), "why": why}
		done, err := tx.Exec(ctx, sqlEnd, args)
		if err != nil || done.RowsAffected() == 0 {
			return err
		}
		return s.Audit(ctx, tx, db.AuditEvent{
			Action: "problem.return", Subject: m.head.String(), Before: map[string]any{"muted": true},
			After: map[string]any{"muted": false}, Detail: map[string]any{"entry": m.ID, "why": why},
		})
	})
}

// restriction holds what the audit log and errors say about embargoes or holds.
type restriction struct {
	set, lift string // actions in the audit log
	state     string // its name there
	none      error  // if there is nothing to lift
}

var restrictions = map[crash.MarkKind]restriction{
	crash.MarkEmbargo: {"problem.embargo", "problem.lift-embargo", "embargoed",
		crash.Errorf(crash.Conflict, "not_embargoed", "This problem is not embargoed.")},
	crash.MarkHold: {"problem.hold", "problem.lift-hold", "held",
		crash.Errorf(crash.Conflict, "not_held", "This problem is not held.")},
}

// event returns the entry of the audit log for setting or lifting a mark.
func (r restriction) event(bucket crash.BucketID, person string, set bool, detail map[string]any) db.AuditEvent {
	e := db.AuditEvent{Person: person, Action: r.lift, Subject: bucket.String(), Detail: detail,
		Before: map[string]any{r.state: !set}, After: map[string]any{r.state: set}}
	if set {
		e.Action = r.set
	}
	return e
}

// sqlLift lifts the standing embargo or hold of a problem, with those of the buckets that were merged into it.
const sqlLift = `
	update marks set undone_by = @person, undone_at = @at
	where bucket_id in ` + db.Members + ` and kind = @kind and undone_at is null`

// Lift ends the embargo or the hold of the problem of any bucket; the bugs of the problem stay as they are. It
// returns NotFound for an unknown bucket, and Conflict if there is no such mark.
func (s *Store) Lift(ctx context.Context, bucket crash.BucketID, kind crash.MarkKind, person string) error {
	r := restrictions[kind]
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		if err := lockProblem(ctx, tx, &bucket, kind); err != nil {
			return err
		}
		lifted, err := tx.Exec(ctx, sqlLift,
			pgx.NamedArgs{"bucket": bucket[:], "kind": kind, "person": person, "at": s.Now()})
		if err != nil {
			return err
		}
		if lifted.RowsAffected() == 0 {
			return r.none
		}
		return s.Audit(ctx, tx, r.event(bucket, person, false, nil))
	})
	return db.Wrap(err, "lift the %s of %s", kind, bucket)
}

// lockProblem makes other changes of a problem's marks of a kind wait, and sets bucket to the problem. It
// returns NotFound for an unknown bucket.
func lockProblem(ctx context.Context, tx pgx.Tx, bucket *crash.BucketID, kind crash.MarkKind) error {
	if kind == crash.MarkHold {
		if _, err := tx.Exec(ctx, db.ShareHolds); err != nil {
			return err
		}
	}
	err := tx.QueryRow(ctx, sqlLockProblem, pgx.NamedArgs{"bucket": bucket[:]}).Scan(&bucket)
	return db.NoRows(err, crash.ErrUnknownBucket)
}

// sqlRestricted selects the oldest standing mark of a kind for each problem.
const sqlRestricted = `
	select * from (
		select distinct on (b.head) ` + db.MarkColumns + `, b.head
		from marks as t join buckets as b on b.id = t.bucket_id
		where t.kind = @kind and t.undone_at is null order by b.head, t.id
	) as x order by case when @newest then -extract(epoch from at) else extract(epoch from at) end, id limit @limit`

// Restricted returns up to limit standing embargoes, the oldest first, or holds, the newest first, of problems
// that the reader of ctx may see. The bucket of each is the problem that it covers now.
func (s *Store) Restricted(ctx context.Context, kind crash.MarkKind, limit int) ([]crash.Mark, error) {
	args := pgx.NamedArgs{"kind": kind, "newest": kind == crash.MarkHold, "limit": limit}
	marks, err := db.List(ctx, s.Pool, sqlRestricted, args,
		db.Into(func(m *crash.Mark) []any { return append(db.MarkTargets(m), &m.Bucket) }))
	return marks, db.Wrap(err, "problems with the mark %s", kind)
}

// sqlCountEmbargoed counts the embargoed problems among those of some buckets.
const sqlCountEmbargoed = `
	select count(*) from (select distinct head from buckets where id = any(@buckets::bytea[])) as p
	where exists (
		select from buckets as m join marks as e on e.bucket_id = m.id
		where m.head = p.head and e.kind = 'embargo' and e.undone_at is null)`

// CountEmbargoed returns how many of the problems of some buckets are embargoed.
func (s *Store) CountEmbargoed(ctx context.Context, buckets []crash.BucketID) (n int, err error) {
	err = s.Pool.QueryRow(ctx, sqlCountEmbargoed, pgx.NamedArgs{"buckets": buckets}).Scan(&n)
	return n, db.Wrap(err, "count embargoed problems")
}

const (
	// sqlTag adds a tag, unless a bucket of the problem has it or the problem has too many.
	sqlTag = `
		insert into problem_tags (bucket_id, tag, person, at) select @head, @tag, @person, @at
		where (select count(distinct tag) from problem_tags
			where bucket_id in ` + db.Members + ` and removed_at is null) < @most`
	sqlHasTag = `
		select exists (select from problem_tags where bucket_id in ` + db.Members + ` and tag = @tag and removed_at is null)`
	sqlUntag = `
		update problem_tags set removed_by = @person, removed_at = @at
		where bucket_id in ` + db.Members + ` and tag = @tag and removed_at is null`
	sqlTags = `
		select distinct on (tag) tag, person, at from problem_tags
		where bucket_id in ` + db.Members + ` and removed_at is null order by tag, id`
)

var errTooManyTags = crash.Errorf(crash.Conflict, "too_many_tags",
	"A problem can have at most %d tags. Remove one first.", crash.MaxTags)

// Tag adds a tag to a problem. It returns false if the problem has it already. It returns Invalid
// for a malformed tag, NotFound for an unknown bucket, and Conflict if the problem has the largest
// number of tags.
func (s *Store) Tag(ctx context.Context, bucket crash.BucketID, tag, person string) (added bool, err error) {
	err = s.InTx(ctx, func(tx pgx.Tx) error {
		added, err = s.tag(ctx, tx, bucket, tag, person)
		return err
	})
	return added, err
}

// TagIn is like Tag, in a transaction of the caller.
func (s *Store) TagIn(ctx context.Context, tx pgx.Tx, bucket crash.BucketID, tag, person string) error {
	_, err := s.tag(ctx, tx, bucket, tag, person)
	return err
}

func (s *Store) tag(ctx context.Context, tx pgx.Tx, bucket crash.BucketID, tag, person string) (bool, error) {
	tag, err := crash.ParseTag(tag)
	if err != nil {
		return false, err
	}
	problem, err := s.LockProblem(ctx, tx, bucket)
	if err != nil {
		return false, err
	}
	args := pgx.NamedArgs{"bucket": problem.Bucket[:], "head": problem.Bucket[:], "tag": tag, "person": person,
		"at": s.Now(), "most": crash.MaxTags}
	var has bool
	if err := tx.QueryRow(ctx, sqlHasTag, args).Scan(&has); err != nil || has {
		return false, db.Classify(err)
	}
	done, err := tx.Exec(ctx, sqlTag, args)
	if err != nil {
		return false, fmt.Errorf("tag %s: %w", bucket, db.Classify(err))
	}
	if done.RowsAffected() == 0 {
		return false, errTooManyTags
	}
	return true, s.Audit(ctx, tx, db.AuditEvent{Person: person, Action: "problem.tag", Subject: problem.Bucket.String(),
		After: map[string]any{"tag": tag}})
}

// Untag removes a tag from a problem. It returns false if the problem does not have it.
func (s *Store) Untag(ctx context.Context, bucket crash.BucketID, tag, person string) (removed bool, err error) {
	err = s.InTx(ctx, func(tx pgx.Tx) error {
		problem, err := s.LockProblem(ctx, tx, bucket)
		if err != nil {
			return err
		}
		done, err := tx.Exec(ctx, sqlUntag, pgx.NamedArgs{"bucket": problem.Bucket[:], "tag": tag, "person": person,
			"at": s.Now()})
		if err != nil {
			return fmt.Errorf("untag %s: %w", bucket, err)
		}
		if removed = done.RowsAffected() > 0; !removed {
			return nil
		}
		return s.Audit(ctx, tx, db.AuditEvent{Person: person, Action: "problem.untag", Subject: problem.Bucket.String(),
			Before: map[string]any{"tag": tag}})
	})
	return removed, err
}

// Tags returns the tags of a problem and its merged buckets, sorted.
func (s *Store) Tags(ctx context.Context, bucket crash.BucketID) ([]crash.ProblemTag, error) {
	tags, err := db.List(ctx, s.Pool, sqlTags, pgx.NamedArgs{"bucket": bucket[:]}, pgx.RowToStructByPos[crash.ProblemTag])
	return tags, db.Wrap(err, "tags of %s", bucket)
}
