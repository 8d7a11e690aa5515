package db

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
)

const (
	// sqlSurplusOfMachine selects what counts know of a machine beyond its stored reports: reports that
	// retention has dropped.
	sqlSurplusOfMachine = `
		select b.bucket_id, b.release, b.version, b.reports - coalesce(r.n, 0)
		from bucket_systems as b left join (
			select bucket_id, release, version, count(*) as n from reports
			where system_key = @system_key and counted and id not in (select unnest(reports) from uncounted)
			group by bucket_id, release, version
		) as r on r.bucket_id = b.bucket_id and r.release = b.release and r.version = b.version
		where b.system = @system_key and b.reports > coalesce(r.n, 0)`
	sqlReleasesOfMachine = `select distinct release from release_systems where system = @system_key`

	// PeoplesWork selects the buckets that people or rules have worked on.
	PeoplesWork = `
		select bucket_id from bucket_bugs union select bucket_id from unlinked_bugs union select bucket_id from filings
		union select bucket_id from decisions union select other_id from decisions where other_id is not null
		union select bucket_id from split_sources union select bucket_id from notes union select bucket_id from triage
		union select bucket_id from embargoes union select bucket_id from assignments
		union select bucket_id from problem_tags union select bucket_id from candidates
		union select bucket_id from bug_comments`
	sqlEmptiedBuckets = `
		select b.id from erasures as e cross join unnest(e.touched) as t (id) join buckets as b on b.id = t.id
		where e.id = @erasure and b.reports = 0 and b.head = b.id and b.id not in (` + PeoplesWork + `)
			and not exists (select from reports as r where r.bucket_id = b.id)
			and not exists (select from buckets as m where m.head = b.id and m.id <> b.id)
		order by b.id`
	sqlForgetBuckets   = `delete from buckets where id = any(@ids::bytea[])`
	sqlForgetArrivals  = `delete from bucket_arrivals where bucket_id = any(@ids::bytea[])`
	sqlForgetNames     = `delete from known_names where bucket_id = any(@ids::bytea[]) or address_id = any(@ids::bytea[])`
	sqlForgetEdges     = `delete from rule_edges where bucket_id = any(@ids::bytea[])`
	sqlForgetMarks     = `delete from follow_marks where bucket_id = any(@ids::bytea[])`
	sqlForgetWanted    = `delete from wanted_cores where problem = any(@ids::bytea[])`
	sqlForgetMoves     = `update regroup_moves set signature = '' where to_id = any(@ids::bytea[])`
	sqlForgetDelivered = `
		update deliveries set payload = null
		where event_id in (select id from events where bucket_id = any(@ids::bytea[]))`
	sqlForgetEvents = `
		update events set title = 'Removed problem', text = @why, package = '',
			source_package = '', version = '' where bucket_id = any(@ids::bytea[])`
	sqlNextErasure  = `update counting set erasures = erasures + 1`
	sqlEraseInAudit = `select erase_from_audit_events(@machine, 'erased:' || encode(substr(digest, 1, 8), 'hex'))
		from erasures where id = @erasure`
	sqlEndErasure = `
		update erasures set finished = @at, system = '', touched = '{}', receipt = @receipt::jsonb || jsonb_build_object(
				'problems', cardinality(touched))
		where id = @erasure`
)

// FinishErasure removes what is left of a machine after its reports, and ends the erasure: what counts
// know of it, its id in texts, and the problems of which nothing is left. It returns false, and does
// nothing, if there are reports to erase. It returns ErrErasureEnded if the erasure is finished. Texts
// are statements that replace the text @machine by "erased-machine".
func (s *Decisions) FinishErasure(ctx context.Context, e crash.Erasure, texts []string) (done bool, err error) {
	err = s.decide(ctx, func(d *deciding) error {
		counts, err := d.erasureForUpdate(ctx, e.ID)
		if err != nil {
			return err
		}
		if _, err := d.Exec(ctx, NoTimeLimit); err != nil {
			return err
		}
		args := pgx.NamedArgs{"system": string(e.System), "machine": string(e.System), "system_key": SystemKey(e.System),
			"until": e.Until, "erasure": e.ID, "lock": eraseLock, "at": s.Now()}
		var left bool
		if err := d.QueryRow(ctx, sqlReportsLeft, args).Scan(&left); err != nil || left {
			return err
		}
		if counts.Anonymous, err = d.forgetMachine(ctx, *SystemKey(e.System)); err != nil {
			return err
		}
		for _, sql := range texts {
			tag, err := d.Exec(ctx, sql, args)
			if err != nil {
				return err
			}
			counts.Texts += tag.RowsAffected()
		}
		if err := d.QueryRow(ctx, sqlEraseInAudit, args).Scan(&counts.Audit); err != nil {
			return err
		}
		if counts.Gone, err = ForgetProblems(ctx, d, sqlEmptiedBuckets, args, "",
			"All reports of this problem were erased."); err != nil {
			return err
		}
		args["receipt"] = counts
		if _, err := d.Exec(ctx, sqlEndErasure, args); err != nil {
			return err
		}
		done = true
		return s.Audit(ctx, d, AuditEvent{Person: e.Person, Action: "machine.erased", Subject: e.Digest,
			Detail: map[string]any{"reports": counts.Reports, "cores": counts.Cores, "problems gone": counts.Gone}})
	})
	if err != nil {
		return false, fmt.Errorf("finish erasure: %w", err)
	}
	return done, nil
}

// forgetMachine removes a machine from counts, as far as they know more of it than its stored reports.
// It returns the number of reports that are counted without a machine from then on.
func (d *deciding) forgetMachine(ctx context.Context, system int64) (anonymous int64, err error) {
	args := pgx.NamedArgs{"system_key": system}
	rows, err := d.Query(ctx, sqlSurplusOfMachine, args)
	if err != nil {
		return 0, err
	}
	change := countChange{
		buckets: map[crash.BucketID]int64{}, versions: map[cell]int64{}, systems: map[systemCell]int64{},
		days: map[dayCell]dayCount{}, seen: map[bucketRelease]*seenChange{}, shrinks: map[crash.BucketID]bool{},
		keys: newSortKeys(),
	}
	var c cell
	var n int64
	if _, err := pgx.ForEachRow(rows, []any{ScanTo(c.bucket[:]), &c.release, &c.version, &n}, func() error {
		change.buckets[c.bucket], change.versions[c], change.systems[systemCell{c, system}] = 0, 0, -n
		anonymous += n
		return nil
	}); err != nil {
		return 0, err
	}
	if anonymous > 0 {
		if err := d.apply(ctx, &change); err != nil {
			return 0, err
		}
	}
	if rows, err = d.Query(ctx, sqlReleasesOfMachine, args); err != nil {
		return 0, err
	}
	releases, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return 0, err
	}
	return anonymous, d.shortenSpans(ctx, system, releases)
}

// ForgetProblems deletes the problems that a statement selects. first is a statement that deletes their
// counts; empty: they have none. tx must hold the lock on counting. No report can be stored before its
// end. Afterwards no instance uses what it has cached. why is for people who have read of the problems
// before. ForgetProblems returns the number of problems.
func ForgetProblems(ctx context.Context, tx pgx.Tx, selected string, args pgx.NamedArgs, first, why string) (
	gone int64, err error) {
	for _, sql := range []string{sqlLockErasing, sqlNextErasure} {
		if _, err := tx.Exec(ctx, sql, pgx.NamedArgs{"lock": eraseLock}); err != nil {
			return 0, err
		}
	}
	rows, err := tx.Query(ctx, selected, args)
	if err != nil {
		return 0, err
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	if first != "" {
		if _, err := tx.Exec(ctx, first, pgx.NamedArgs{"ids": ids}); err != nil {
			return 0, err
		}
	}
	for _, sql := range []string{sqlForgetArrivals, sqlForgetNames, sqlForgetEdges, sqlForgetMarks, sqlForgetWanted,
		sqlForgetMoves, sqlForgetDelivered, sqlForgetEvents, sqlForgetBuckets} {
		if _, err := tx.Exec(ctx, sql, pgx.NamedArgs{"ids": ids, "why": why}); err != nil {
			return 0, err
		}
	}
	return int64(len(ids)), nil
}
