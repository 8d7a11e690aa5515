package db

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
)

const (
	runColumns   = `id, rules, dry, person, state, started, updated, estimate, looked_at, moved, waiting`
	sqlInsertRun = `
		insert into regroup_runs (rules, dry, person, state, started, updated, estimate)
		select @rules, @dry, @person, 'running', @at, @at, coalesce((
			select case when min(c.reltuples) < 0 then null else sum(c.reltuples)::bigint end
			from pg_inherits as i join pg_class as c on c.oid = i.inhrelid where i.inhparent = 'reports'::regclass
		), (select count(*) from (select from reports limit 1000000) as r))
		on conflict ((true)) where state = 'running' do nothing
		returning ` + runColumns
	sqlRunningRun = `select ` + runColumns + ` from regroup_runs where state = 'running'`
	sqlRun        = `select ` + runColumns + ` from regroup_runs where id = @id`
	sqlRuns       = `select ` + runColumns + ` from regroup_runs order by id desc limit @limit`
	sqlStopRun    = `
		update regroup_runs set state = 'stopped', updated = @at where id = @id and state = 'running'
		returning ` + runColumns
)

func scanRun(row pgx.CollectableRow) (r crash.RegroupRun, err error) {
	err = row.Scan(runTargets(&r)...)
	return r, err
}

func runTargets(r *crash.RegroupRun) []any {
	return []any{&r.ID, &r.Rules, &r.Dry, &r.Person, &r.State, &r.Started, &r.Updated, &r.Estimate, &r.LookedAt,
		&r.Moved, &r.Waiting}
}

var (
	errRegroupRunning = crash.Errorf(crash.Conflict, "regroup_running", "Reports are already being regrouped.")
	errUnknownRun     = crash.Errorf(crash.NotFound, "unknown_run", "There is no such regrouping run.")
	errRunEnded       = crash.Errorf(crash.Conflict, "run_ended", "This run has already ended.")
)

// StartRegroup starts a run that applies grouping rules to the stored reports. A dry run only finds
// out what they would change. Jobs do the work in steps, in any instance (see
// [Decisions.StepRegroup]). It returns Conflict if another run has not ended, and ErrArchiveAway if an archive
// cannot be reached.
func (s *Decisions) StartRegroup(ctx context.Context, rules int, dry bool, person string) (crash.RegroupRun, error) {
	var run crash.RegroupRun
	if err := s.ReachArchives(ctx); err != nil {
		return run, err
	}
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		var err error
		run, err = One(ctx, tx, sqlInsertRun, pgx.NamedArgs{"rules": rules, "dry": dry, "person": person, "at": s.Now()},
			scanRun)
		if err != nil {
			return NoRows(err, errRegroupRunning)
		}
		if err := s.Audit(ctx, tx, AuditEvent{
			Person: person, Action: "regroup.start", Subject: "reports",
			After: map[string]any{"run": run.ID, "rules": rules, "dry": dry, "running": true},
		}); err != nil {
			return err
		}
		return s.addLongJob(ctx, tx, regroupJob{run.ID})
	})
	return run, Wrap(err, "start regrouping")
}

// StopRegroup ends a run early. Reports that it has moved stay moved. It returns Conflict if the
// run has ended.
func (s *Decisions) StopRegroup(ctx context.Context, id int64, person string) (crash.RegroupRun, error) {
	var run crash.RegroupRun
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		var err error
		run, err = One(ctx, tx, sqlStopRun, pgx.NamedArgs{"id": id, "at": s.Now()}, scanRun)
		if err != nil {
			return NoRows(err, errRunEnded)
		}
		return s.Audit(ctx, tx, AuditEvent{Person: person, Action: "regroup.stop", Subject: "reports",
			Before: map[string]any{"run": id, "running": true}, After: map[string]any{"run": id, "running": false}})
	})
	return run, Wrap(err, "stop regrouping")
}

// RunningRegroup returns the run that has not ended. It returns NotFound if there is none.
func (s *Decisions) RunningRegroup(ctx context.Context) (crash.RegroupRun, error) {
	return s.oneRun(ctx, sqlRunningRun, pgx.NamedArgs{})
}

// Regroup returns a run. It returns NotFound if there is none with this id.
func (s *Decisions) Regroup(ctx context.Context, id int64) (crash.RegroupRun, error) {
	return s.oneRun(ctx, sqlRun, pgx.NamedArgs{"id": id})
}

func (s *Decisions) oneRun(ctx context.Context, sql string, args pgx.NamedArgs) (crash.RegroupRun, error) {
	runs, err := List(ctx, s.Pool, sql, args, scanRun)
	if err != nil || len(runs) == 0 {
		return crash.RegroupRun{}, WrapOr(cmp.Or(err, pgx.ErrNoRows), errUnknownRun, "run of regrouping")
	}
	MarkWaiting(ctx, s.Handle, runs, waitingRun)
	return runs[0], nil
}

func waitingRun(r *crash.RegroupRun) *bool {
	if r.State == crash.RegroupRunning {
		return &r.Away
	}
	return nil
}

// Regroups returns up to limit runs, latest first.
func (s *Decisions) Regroups(ctx context.Context, limit int) ([]crash.RegroupRun, error) {
	runs, err := List(ctx, s.Pool, sqlRuns, pgx.NamedArgs{"limit": limit}, scanRun)
	MarkWaiting(ctx, s.Handle, runs, waitingRun)
	return runs, Wrap(err, "runs of regrouping")
}

const sqlRunMoves = `
	select m.from_id, m.to_id, coalesce(nullif(f.name, ''), nullif(f.title, ''), left(f.signature, 300), ''),
		coalesce(nullif(t.name, ''), m.signature), m.is_new, m.reports, coalesce(f.reports, 0)
	from regroup_moves as m left join buckets as f on f.id = m.from_id left join buckets as t on t.id = m.to_id
	where m.run_id = @run
	order by m.reports desc, m.from_id, m.to_id limit @limit`

// RegroupMoves returns between which buckets a run has moved reports, or would move them, and how
// many. The largest numbers come first.
func (s *Decisions) RegroupMoves(ctx context.Context, run int64, limit int) ([]crash.RegroupMove, error) {
	moves, err := List(ctx, s.Pool, sqlRunMoves, pgx.NamedArgs{"run": run, "limit": limit},
		func(row pgx.CollectableRow) (m crash.RegroupMove, err error) {
			err = row.Scan(&m.From, &m.To, &m.FromLabel, &m.ToLabel, &m.New, &m.Reports, &m.Left)
			return m, err
		})
	return moves, Wrap(err, "moves of run %d", run)
}

const sqlRunEffect = `
	with moves as (select * from regroup_moves where run_id = @run),
	sources as (
		select m.from_id, count(*) as targets, sum(m.reports) as reports, coalesce(max(b.reports), 0) as had
		from moves as m left join buckets as b on b.id = m.from_id where m.from_id <> '' group by m.from_id
	), targets as (
		select to_id, count(*) as sources, bool_and(is_new) as is_new from moves where to_id <> '' group by to_id
	)
	select (select count(*) from sources),
		(select count(*) from sources where targets > 1 or (had > case when @dry then reports else 0 end)),
		(select count(*) from targets where is_new), (select count(*) from targets where sources > 1 or not is_new)`

// RegroupEffect returns how many buckets a run has changed, or would change if it is dry.
func (s *Decisions) RegroupEffect(ctx context.Context, run crash.RegroupRun) (crash.RegroupEffect, error) {
	var e crash.RegroupEffect
	err := s.Pool.QueryRow(ctx, sqlRunEffect, pgx.NamedArgs{"run": run.ID, "dry": run.Dry}).Scan(&e.Changed, &e.Split,
		&e.New, &e.Merged)
	return e, Wrap(err, "effect of run %d", run.ID)
}

// regroupLock is the advisory lock of the instance that works on the run. The number is arbitrary.
const regroupLock = int64(0x6d69736861707267) // "mishaprg"

const (
	backlogPause  = 250 * time.Millisecond // pause while too many reports are uncounted
	watchInterval = 500 * time.Millisecond // interval of reading a run that another instance works on
)

// WorkRegroup does all remaining steps of a run. It pauses after each for as long as the step took,
// to leave room for other work. It calls progress after each step. If another instance works on the
// run, WorkRegroup watches it and takes over when that instance dies; if progress is nil, it
// returns at once instead. It returns the last state of the run. If ctx ends, it also returns ctx's
// error, and ErrArchiveAway if the run waits for an archive; another call continues it.
func (s *Decisions) WorkRegroup(ctx context.Context, id int64, rules crash.GroupingRules,
	progress func(crash.RegroupRun)) (crash.RegroupRun, error) {
	conn, err := s.Pool.Acquire(ctx)
	if err != nil {
		return crash.RegroupRun{}, fmt.Errorf("work on regrouping: %w", Classify(err))
	}
	defer conn.Release()
	for {
		var mine bool
		if err := conn.QueryRow(ctx, sqlTryLock, pgx.NamedArgs{"lock": regroupLock}).Scan(&mine); err != nil {
			return crash.RegroupRun{}, fmt.Errorf("work on regrouping: %w", Classify(err))
		}
		if mine {
			break
		}
		run, err := s.Regroup(ctx, id)
		if err != nil || progress == nil || run.State != crash.RegroupRunning {
			return run, err
		}
		progress(run)
		if crash.Sleep(ctx, watchInterval) != nil {
			return run, ctx.Err()
		}
	}
	defer func() { _, _ = conn.Exec(context.WithoutCancel(ctx), sqlUnlock, pgx.NamedArgs{"lock": regroupLock}) }()
	for {
		began := time.Now()
		run, err := s.StepRegroup(ctx, id, rules)
		if err != nil {
			return run, err
		}
		if progress != nil {
			progress(run)
		}
		if run.State != crash.RegroupRunning {
			return run, nil
		}
		pause := time.Since(began)
		if run.Waiting {
			pause = backlogPause
		}
		if crash.Sleep(ctx, pause) != nil {
			return run, ctx.Err()
		}
	}
}

const (
	// sqlMoveSources selects buckets that have lost reports, and the bucket to which most of those
	// went.
	sqlMoveSources = `
		select distinct on (from_id) from_id, to_id from regroup_moves
		where run_id = @run and from_id > @after and from_id <> '' and to_id <> ''
		order by from_id, reports desc, to_id limit @limit`
	sqlIsEmptied = `
		select b.head = b.id and not exists (select from reports where bucket_id = b.id offset 0), b.name, h.id, h.name
		from buckets as b, buckets as t join buckets as h on h.id = t.head where b.id = @from and t.id = @to`
	sqlDropFollowed = `delete from regroup_followed where run_id = @id`
	sqlEndRun       = `update regroup_runs set state = 'done', updated = @at where id = @id and state = 'running'`
)

// emptiedBatch is the number of buckets that one transaction examines at the end of a run.
const emptiedBatch = 100

// endRegroup merges each bucket without reports into the bucket to which most of its reports went.
// It can be repeated, because a merged bucket is no longer a head.
func (s *Decisions) endRegroup(ctx context.Context, run crash.RegroupRun) (crash.RegroupRun, error) {
	after := []byte{}
	for last := run.Dry; !last; {
		if err := s.decide(ctx, func(d *deciding) error {
			pairs, err := List(ctx, d, sqlMoveSources, pgx.NamedArgs{"run": run.ID, "after": after, "limit": emptiedBatch},
				scanIDs)
			if err != nil {
				return err
			}
			for _, p := range pairs {
				if err := d.mergeEmptied(ctx, p[0], p[1], run); err != nil {
					return err
				}
				after = p[0][:]
			}
			last = len(pairs) < emptiedBatch
			return nil
		}); err != nil {
			return run, err
		}
	}
	if err := Exec(ctx, s.Pool, pgx.NamedArgs{"id": run.ID, "at": s.Now()}, sqlDropFollowed, sqlEndRun); err != nil {
		return run, err
	}
	return s.Regroup(ctx, run.ID)
}

// mergeEmptied merges a bucket into the bucket that its reports went to, if it has no reports left.
// The latter gets its address, bugs, notes and splits, and its name unless it has one.
func (d *deciding) mergeEmptied(ctx context.Context, from, to crash.BucketID, run crash.RegroupRun) error {
	args := pgx.NamedArgs{"from": from[:], "to": to[:]}
	var empty bool
	var name, headName string
	var head crash.BucketID
	if err := d.QueryRow(ctx, sqlIsEmptied, args).Scan(&empty, &name, &head, &headName); err != nil {
		return err
	}
	if !empty || head == from {
		return nil
	}
	reason := fmt.Sprintf("Version %d of the grouping rules has left no report here.", run.Rules)
	if err := d.merge(ctx, from, head, crash.CauseRegrouped, run.Person, reason); err != nil {
		return err
	}
	if err := d.inheritSplits(ctx, from, to); err != nil {
		return err
	}
	if name != "" && headName == "" {
		return d.rename(ctx, head, "", name, crash.CauseRegrouped, run.Person, reason)
	}
	return nil
}

const (
	regroupBatch     = 250     // reports in one step
	maxMoveSignature = 300     // bytes of a signature that are stored with a run
	maxRegroupQueue  = 2 * 256 // uncounted reports above which regrouping pauses

	sqlRunCursor = `select ` + runColumns +
		`, coalesce(received, '0001-01-01'), coalesce(report_id, '00000000-0000-0000-0000-000000000000')
		from regroup_runs where id = @id`
	// sqlReportsToGroup reads the bodies only of those reports that older rules have grouped.
	sqlReportsToGroup = `
		select id, bucket_id, rule, counted, executable, package, version, release, architecture, address_signature,
			rules < @rules, case when rules < @rules then body end
		from reports where received >= @received and (received, id) > (@received, @id)
		order by received, id limit @limit`
	sqlUncounted = `
		select coalesce(sum(cardinality(reports)), 0) from (select reports from uncounted limit 1000) as u`
	sqlRunWaits = `
		update regroup_runs set waiting = @waiting, updated = @at
		where id = @id and state = 'running' and waiting <> @waiting`
	sqlStampRules = `
		update reports as r set rules = @rules from unnest(@ids::uuid[], @received::timestamptz[]) as m (id, received)
		where r.rules < @rules and ` + AmongReports
	sqlStampRule = `
		update reports as r set rule = m.rule, unbucketed = m.unbucketed
		from unnest(@ids::uuid[], @received::timestamptz[], @rule::text[], @unbucketed::text[])
			as m (id, received, rule, unbucketed)
		where ` + AmongReports
	// sqlRunStep changes nothing if another instance has recorded the same step.
	sqlRunStep = `
		update regroup_runs set looked_at = looked_at + @looked_at, received = @received, report_id = @report,
			updated = @at, waiting = false
		where id = @id and state = 'running' and received is not distinct from nullif(@from::timestamptz, '0001-01-01')
			and coalesce(report_id, '00000000-0000-0000-0000-000000000000') = @from_id`
	sqlRunMoved = `update regroup_runs set moved = moved + @moved where id = @id`
	sqlAddMove  = `
		insert into regroup_moves as m (run_id, from_id, to_id, signature, is_new, reports)
		values (@run, @from, @to, @signature, @is_new, @reports)
		on conflict (run_id, from_id, to_id) do update set reports = m.reports + excluded.reports`
)

// groupedReport is a stored report with its result under the new rules.
type groupedReport struct {
	askedReport
	from     *crash.BucketID
	rule     crash.GroupingRule
	counted  bool
	address  string
	stale    bool // grouped by older rules
	bodyless bool
	grouping crash.Grouping
}

// own returns the bucket of the report's signature, or nil if it has none.
func (r groupedReport) own() *crash.BucketID {
	if r.grouping.Signature == "" {
		return nil
	}
	id := crash.BucketIDOf(r.grouping.Signature)
	return &id
}

// differs reports whether the new rules give another result than the stored one.
func (r groupedReport) differs() bool {
	return r.stale && r.grouping != (crash.Grouping{}) && (!sameBucket(r.from, r.own()) || r.rule != r.grouping.Rule)
}

// StepRegroup does the next step of a run: it groups some reports again, and moves those that now
// belong to other buckets, with their counts. Only the move holds the counting lock. A lost step
// can be repeated without harm, even by two instances at once. While too many reports are
// uncounted, StepRegroup does nothing and sets Waiting. It returns NotFound for an unknown run.
func (s *Decisions) StepRegroup(ctx context.Context, id int64, rules crash.GroupingRules) (crash.RegroupRun, error) {
	run, err := s.stepRegroup(ctx, id, rules)
	return run, Wrap(err, "regroup")
}

func (s *Decisions) stepRegroup(ctx context.Context, id int64, rules crash.GroupingRules) (crash.RegroupRun, error) {
	var from crash.OopsID
	var since time.Time
	run, err := s.runAt(ctx, id, &since, &from)
	if err != nil || run.State != crash.RegroupRunning {
		return run, err
	}
	if err := s.ReachArchives(ctx); err != nil {
		run.Away = IsArchiveAway(err)
		return run, err
	}
	var uncounted int64
	if err := s.Pool.QueryRow(ctx, sqlUncounted).Scan(&uncounted); err != nil {
		return run, err
	}
	run.Waiting = uncounted > maxRegroupQueue
	if _, err := s.Pool.Exec(ctx, sqlRunWaits, pgx.NamedArgs{"id": id, "waiting": run.Waiting,
		"at": s.Now()}); err != nil || run.Waiting {
		return run, err
	}
	reports, err := s.readAndGroup(ctx, since, from, rules)
	if err != nil {
		return run, err
	}
	if err := s.follow(ctx, run.ID, reports); err != nil {
		return run, err
	}
	var changed []groupedReport
	for _, r := range reports {
		if r.differs() {
			changed = append(changed, r)
		}
	}
	if len(changed) > 0 && !run.Dry {
		if err := s.regroupReports(ctx, run, changed); err != nil {
			return run, err
		}
		changed = nil
	}
	if len(reports) == 0 {
		return s.endRegroup(ctx, run)
	}
	if err := s.recordStep(ctx, run, reports, changed, since, from); err != nil {
		return run, err
	}
	return s.Regroup(ctx, id)
}

func (s *Decisions) runAt(ctx context.Context, id int64, since *time.Time, from *crash.OopsID) (crash.RegroupRun,
	error) {
	run, err := One(ctx, s.Pool, sqlRunCursor, pgx.NamedArgs{"id": id}, Into(func(r *crash.RegroupRun) []any {
		return append(runTargets(r), since, (*[16]byte)(from))
	}))
	return run, NoRows(err, errUnknownRun)
}

// readAndGroup reads the next reports and groups them by the new rules.
func (s *Decisions) readAndGroup(ctx context.Context, since time.Time, from crash.OopsID,
	rules crash.GroupingRules) ([]groupedReport, error) {
	return List(ctx, s.Pool, sqlReportsToGroup, pgx.NamedArgs{
		"received": since, "id": [16]byte(from), "rules": rules.Version, "limit": regroupBatch,
	}, func(row pgx.CollectableRow) (r groupedReport, err error) {
		var body []byte
		err = row.Scan((*[16]byte)(&r.id), &r.from, &r.rule, &r.counted, &r.summary.Executable,
			&r.summary.Package, &r.summary.Version, &r.summary.Release, &r.summary.Architecture, &r.address, &r.stale, &body)
		r.bodyless = body == nil
		if err != nil || !r.stale || r.bodyless {
			return r, err
		}
		fields, err := Decompress(body)
		if err != nil {
			return r, err
		}
		r.grouping = rules.Group(fields)
		return r, nil
	})
}

const (
	// sqlFollowed also returns a row for each limited bucket that has none.
	sqlFollowed = `
		select b.bucket_id, f.run_id is not null, coalesce(f.version, ''), coalesce(f.release, ''),
			coalesce(f.architecture, ''), coalesce(f.to_signature, ''), coalesce(f.rule, ''), coalesce(f.provisional, false),
			coalesce(f.reason, '')
		from (
			select distinct bucket_id from bucket_bodies where bucket_id = any(@buckets::bytea[]) and kept < reports
		) as b left join regroup_followed as f on f.run_id = @run and f.from_id = b.bucket_id
		order by b.bucket_id, f.version, f.release, f.architecture`
	sqlSaveFollowed = `
		insert into regroup_followed as f
		select @run, * from unnest(@buckets::bytea[], @version::text[], @release::text[], @architecture::text[],
			@signature::text[], @rule::text[], @provisional::boolean[], @reason::text[])
		on conflict (run_id, from_id, version, release, architecture) do update set to_signature = excluded.to_signature,
			rule = excluded.rule, provisional = excluded.provisional, reason = excluded.reason`
)

// followed is how the last report of a bucket, version, release and architecture was grouped.
type followed struct {
	bucket                         crash.BucketID
	version, release, architecture string
	grouping                       crash.Grouping
	changed                        bool
}

// follow groups the reports without a body like others of their bucket: like the last one before them of the
// same version, release and architecture, else one of the same version, else any. The first report of each
// combination and month has a body. If no other report is known, they stay where they are.
func (s *Decisions) follow(ctx context.Context, run int64, reports []groupedReport) error {
	var buckets []crash.BucketID
	for _, r := range reports {
		if r.stale && r.from != nil && !slices.Contains(buckets, *r.from) {
			buckets = append(buckets, *r.from)
		}
	}
	all := map[crash.BucketID][]*followed{} // of buckets that have reports without a body
	var f followed
	var exists bool
	if err := Each(ctx, s.Pool, sqlFollowed, pgx.NamedArgs{"run": run, "buckets": buckets}, []any{&f.bucket, &exists,
		&f.version, &f.release, &f.architecture, &f.grouping.Signature, &f.grouping.Rule, &f.grouping.Provisional,
		&f.grouping.Reason}, func() {
		if all[f.bucket] = append(all[f.bucket], new(f)); !exists {
			all[f.bucket] = []*followed{}
		}
	}); err != nil || len(all) == 0 {
		return err
	}
	for i := range reports {
		r := &reports[i]
		if !r.stale || r.from == nil || all[*r.from] == nil {
			continue
		}
		at := followed{*r.from, r.summary.Version, string(r.summary.Release), r.summary.Architecture, r.grouping, true}
		best := closest(all[*r.from], at)
		switch {
		case r.bodyless && best != nil:
			r.grouping = best.grouping
		case r.bodyless:
		case best != nil && best.alike(at) == alikeInAll:
			best.grouping, best.changed = r.grouping, true
		default:
			all[*r.from] = append(all[*r.from], &at)
		}
	}
	var save []*followed
	for _, of := range all {
		save = append(save, slices.DeleteFunc(of, func(f *followed) bool { return !f.changed })...)
	}
	text := func(of func(*followed) string) []string { return column(save, of) }
	return Exec(ctx, s.Pool, pgx.NamedArgs{
		"run": run, "buckets": column(save, func(f *followed) []byte { return f.bucket[:] }),
		"version":      text(func(f *followed) string { return f.version }),
		"release":      text(func(f *followed) string { return f.release }),
		"architecture": text(func(f *followed) string { return f.architecture }),
		"signature":    text(func(f *followed) string { return f.grouping.Signature }),
		"rule":         text(func(f *followed) string { return string(f.grouping.Rule) }),
		"provisional":  column(save, func(f *followed) bool { return f.grouping.Provisional }),
		"reason":       text(func(f *followed) string { return f.grouping.Reason }),
	}, sqlSaveFollowed)
}

const alikeInAll = 2

// alike returns how well a report matches: 2 in all, 1 in the version only.
func (f followed) alike(o followed) int {
	switch {
	case f.version != o.version:
		return 0
	case f.release != o.release || f.architecture != o.architecture:
		return 1
	}
	return alikeInAll
}

// closest returns the first of those that match best, or nil if there is none.
func closest(all []*followed, to followed) (best *followed) {
	for _, f := range all {
		if best == nil || f.alike(to) > best.alike(to) {
			best = f
		}
	}
	return best
}

// recordStep records the progress of a run. In a dry run it records what would move; otherwise it
// marks the reports as grouped by the new rules.
func (s *Decisions) recordStep(ctx context.Context, run crash.RegroupRun, reports, changed []groupedReport,
	since time.Time, from crash.OopsID) error {
	return s.InTx(ctx, func(tx pgx.Tx) error {
		last := reports[len(reports)-1].id
		tag, err := tx.Exec(ctx, sqlRunStep, pgx.NamedArgs{
			"id": run.ID, "looked_at": len(reports), "received": last.Received(), "report": [16]byte(last), "at": s.Now(),
			"from": since, "from_id": [16]byte(from),
		})
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		if run.Dry {
			d := &deciding{Tx: tx, store: s.Store}
			_, pairs, err := d.regroupMoves(ctx, changed)
			if err != nil {
				return err
			}
			return d.addMoves(ctx, run, pairs)
		}
		var stale reportRows
		for _, r := range reports {
			if r.stale {
				stale.add(r.id, move{})
			}
		}
		args := stale.args()
		args["rules"] = run.Rules
		_, err = Planned(ctx, tx, sqlStampRules, args)
		return err
	})
}

const (
	sqlSplitTargets = `
		select other_id from decisions
		where kind = 'split' and undone_at is null and other_id = any(@buckets::bytea[])`
	sqlBucketExists   = `select exists (select from buckets where id = @id)`
	sqlCurrentBuckets = `
		select r.id, r.bucket_id from unnest(@ids::uuid[], @received::timestamptz[]) as m (id, received)
			join reports as r on ` + AmongReports
	sqlInheritSplits = `
		insert into split_sources (bucket_id, decision_id)
		select @to, s.decision_id from split_sources as s join decisions as d on d.id = s.decision_id
		where s.bucket_id = @from and d.undone_at is null and d.other_id <> @to
		on conflict do nothing
		returning decision_id`
	// sqlRestartSplit makes a split examine the stored reports again, from the start.
	sqlRestartSplit = `update decisions set received = null, report_id = null, finished = false where id = @id`
)

// bucketPair holds the ids of the buckets between which reports move. An empty id stands for no
// bucket.
type bucketPair struct{ from, to string }

type pairCount struct {
	signature string
	isNew     bool
	reports   int64
}

// regroupReports moves the reports to which the new rules give another bucket. Decisions of people
// take precedence: a report in the target of a split stays there.
func (s *Decisions) regroupReports(ctx context.Context, run crash.RegroupRun, reports []groupedReport) error {
	return s.decide(ctx, func(d *deciding) error {
		if err := d.countAll(ctx); err != nil {
			return err
		}
		names := map[crash.BucketID]crash.BucketID{}
		for _, r := range reports {
			if id := nameOf(r.counted, r.grouping.Rule, r.address); id != nil {
				names[*id] = *r.own()
			}
		}
		pairs, err := d.regroup(ctx, reports, names, run.Rules)
		if err != nil {
			return err
		}
		return d.addMoves(ctx, run, pairs)
	})
}

// regroup moves the reports to the buckets of their new groupings. It then merges provisional buckets
// for which names are given. It returns how many reports moved between which buckets.
func (d *deciding) regroup(ctx context.Context, reports []groupedReport, names map[crash.BucketID]crash.BucketID,
	rules int) (map[bucketPair]pairCount, error) {
	moves, pairs, err := d.regroupMoves(ctx, reports)
	if err != nil {
		return nil, err
	}
	if _, err := d.moveReports(ctx, moves, rules); err != nil {
		return nil, err
	}
	if err := d.stampRule(ctx, reports, moves); err != nil {
		return nil, err
	}
	if err := d.inheritNew(ctx, pairs); err != nil {
		return nil, err
	}
	if _, err := d.store.insertNames(ctx, d, d.server, names); err != nil {
		return nil, err
	}
	return pairs, d.store.adoptProvisional(ctx, d, d.round)
}

// regroupMoves decides to which bucket each report moves. It also counts the moves for each pair of
// buckets.
func (d *deciding) regroupMoves(ctx context.Context, reports []groupedReport) ([]move, map[bucketPair]pairCount,
	error) {
	var moves []move
	pairs := map[bucketPair]pairCount{}
	if err := d.refreshBuckets(ctx, reports); err != nil {
		return nil, nil, err
	}
	splitOff, err := d.splitTargets(ctx, reports)
	if err != nil {
		return nil, nil, err
	}
	p := newPlacer(d)
	exists := map[crash.BucketID]bool{}
	for i := range reports {
		r := &reports[i]
		if r.from != nil && splitOff[*r.from] {
			continue
		}
		to := r.own()
		pair := bucketPair{}
		count := pairCount{}
		if r.from != nil {
			pair.from = string(r.from[:])
		}
		if to != nil {
			placed, err := p.place(ctx, &r.askedReport, *to)
			if err != nil {
				return nil, nil, err
			}
			if count.isNew, err = d.isNew(ctx, exists, placed); err != nil {
				return nil, nil, err
			}
			to, pair.to = &placed, string(placed[:])
			count.signature = crash.Truncate(r.grouping.Signature, maxMoveSignature)
		}
		if sameBucket(r.from, to) {
			continue
		}
		if known, ok := pairs[pair]; ok {
			count = known
		}
		count.reports++
		pairs[pair] = count
		moves = append(moves, move{id: r.id, to: to, grouping: r.grouping})
	}
	return moves, pairs, nil
}

// refreshBuckets reads the present buckets of reports, which may have moved since they were read.
func (d *deciding) refreshBuckets(ctx context.Context, reports []groupedReport) error {
	var at reportRows
	for _, r := range reports {
		at.add(r.id, move{})
	}
	now := map[crash.OopsID]*crash.BucketID{}
	var id [16]byte
	var bucket *crash.BucketID
	if err := Each(ctx, d, sqlCurrentBuckets, ReportsArgs(at.ids),
		[]any{&id, &bucket}, func() { now[id] = bucket }); err != nil {
		return err
	}
	for i := range reports {
		reports[i].from = now[reports[i].id]
	}
	return nil
}

// splitTargets returns those buckets of the reports that are the target of a split.
func (d *deciding) splitTargets(ctx context.Context, reports []groupedReport) (map[crash.BucketID]bool, error) {
	var ids []crash.BucketID
	for _, r := range reports {
		if r.from != nil && !slices.Contains(ids, *r.from) {
			ids = append(ids, *r.from)
		}
	}
	targets := map[crash.BucketID]bool{}
	found, err := List(ctx, d, sqlSplitTargets, pgx.NamedArgs{"buckets": ids}, pgx.RowTo[crash.BucketID])
	for _, id := range found {
		targets[id] = true
	}
	return targets, err
}

// isNew reports whether a bucket does not exist yet. It caches the answers in exists.
func (d *deciding) isNew(ctx context.Context, exists map[crash.BucketID]bool, id crash.BucketID) (bool, error) {
	known, ok := exists[id]
	if !ok {
		if err := d.QueryRow(ctx, sqlBucketExists, pgx.NamedArgs{"id": id[:]}).Scan(&known); err != nil {
			return false, err
		}
		exists[id] = known
	}
	return !known, nil
}

// stampRule stores the new rule of the reports that do not move.
func (d *deciding) stampRule(ctx context.Context, reports []groupedReport, moves []move) error {
	moved := map[crash.OopsID]bool{}
	for _, m := range moves {
		moved[m.id] = true
	}
	var rows reportRows
	for _, r := range reports {
		if !moved[r.id] {
			rows.add(r.id, move{grouping: r.grouping})
		}
	}
	_, err := Planned(ctx, d, sqlStampRule, rows.args())
	return err
}

// inheritNew applies decisions about a bucket to the new bucket that its reports move to. The new
// one is merged into the same head, and the same splits apply to it.
func (d *deciding) inheritNew(ctx context.Context, pairs map[bucketPair]pairCount) error {
	for _, pair := range sortedPairs(pairs) {
		if !pairs[pair].isNew || pair.from == "" || pair.to == "" {
			continue
		}
		from, to := crash.BucketID([]byte(pair.from)), crash.BucketID([]byte(pair.to))
		if err := d.inheritSplits(ctx, from, to); err != nil {
			return err
		}
		heads, err := d.heads(ctx, []crash.BucketID{from, to})
		if errors.Is(err, crash.NotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if head := heads[from]; head != from && heads[to] == to && head != to {
			reason := "New grouping rules made this signature from one of this problem."
			if err := d.merge(ctx, to, head, crash.CauseRegrouped, "", reason); err != nil {
				return err
			}
		}
	}
	return nil
}

// inheritSplits applies the splits of the bucket from to the present and future reports of the
// bucket to.
func (d *deciding) inheritSplits(ctx context.Context, from, to crash.BucketID) error {
	ids, err := List(ctx, d, sqlInheritSplits, pgx.NamedArgs{"from": from[:], "to": to[:]}, pgx.RowTo[int64])
	if err != nil {
		return err
	}
	for _, id := range ids {
		if _, err := d.Exec(ctx, sqlRestartSplit, pgx.NamedArgs{"id": id}); err != nil {
			return err
		}
		if err := d.store.addLongJob(ctx, d, splitJob{id}); err != nil {
			return err
		}
	}
	return nil
}

func sortedPairs(pairs map[bucketPair]pairCount) []bucketPair {
	return slices.SortedFunc(maps.Keys(pairs), func(a, b bucketPair) int {
		return strings.Compare(a.from+a.to, b.from+b.to)
	})
}

// addMoves adds counts to the moves of a run.
func (d *deciding) addMoves(ctx context.Context, run crash.RegroupRun, pairs map[bucketPair]pairCount) error {
	var moved int64
	for _, pair := range sortedPairs(pairs) {
		c := pairs[pair]
		moved += c.reports
		if _, err := d.Exec(ctx, sqlAddMove, pgx.NamedArgs{
			"run": run.ID, "from": []byte(pair.from), "to": []byte(pair.to), "signature": c.signature, "is_new": c.isNew,
			"reports": c.reports,
		}); err != nil {
			return fmt.Errorf("record moves: %w", err)
		}
	}
	return Exec(ctx, d, pgx.NamedArgs{"id": run.ID, "moved": moved}, sqlRunMoved)
}
