package symbols

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/symbols/debuginfo"
	"mishap/db"
)

// A claim holds for five minutes and is prolonged every minute (RenewInterval). When it ends
// without a result, its instance has died, and another one claims the job. The second death ends the
// job: its core probably caused both.

// RenewInterval is how often a claim must be prolonged.
const RenewInterval = time.Minute

const (
	sqlBuryJobs = `
		update symbol_jobs set state = 'failed', lease = null, pressed = null, ended = now(), deaths = deaths + 1,
			reason = 'mishap was stopped or died twice while it symbolised this report.'
		where state = 'running' and lease < now() and deaths > 0`
	// claimOne and inOrder surround the condition of which jobs an instance may claim. They prefer jobs
	// that a person asked for, then those of problems with many reports.
	claimOne = `
		update symbol_jobs as j set state = 'running', attempt = attempt + 1, started = now(),
			lease = now() + interval '5 minutes', deaths = deaths + case when state = 'running' then 1 else 0 end
		where report_id = (
			select o.report_id from symbol_jobs as o left join buckets as b on b.id = o.problem
			where (o.state = 'queued' or o.state in ('waiting', 'partial') and o.not_before <= now()
				or o.state = 'running' and o.lease < now())`
	inOrder = `
			order by o.pressed nulls last, coalesce(b.reports, 0) desc, o.created, o.report_id
			limit 1 for update of o skip locked)
		returning report_id, architecture, attempt, tries`
	sqlClaimJob = claimOne + `
				and o.store = @store and o.architecture = any(@architectures) and o.core_removed is null` + inOrder
	sqlClaimAddresses = claimOne + `
				and o.store = ''` + inOrder
	sqlRenewClaim = `
		update symbol_jobs set lease = now() + interval '5 minutes'
		where report_id = @report and attempt = @attempt and state = 'running'`
	sqlReleaseClaim = `
		update symbol_jobs set state = 'queued', lease = null
		where report_id = @report and attempt = @attempt and state = 'running'`
	sqlFinishJob = `
		update symbol_jobs set state = @state, reason = @reason, lease = null, pressed = null, ended = now(),
			tries = tries + case when @state in ('partial', 'waiting') then 1 else 0 end,
			not_before = now() + @again::interval, missing = @missing, modules = @modules, engine = @engine,
			seconds = @seconds, cpu_seconds = @cpu, memory_bytes = @memory
		where report_id = @report and attempt = @attempt and state = 'running'`
	sqlForgetUnknown = `delete from unknown_builds where report_id = @report`
	sqlSaveUnknown   = `
		insert into unknown_builds (report_id, path, package, version, architecture)
		select @report, * from unnest(@paths::text[], @packages::text[], @versions::text[], @architectures::text[])
		on conflict do nothing`
)

// ErrLostClaim is returned if another instance has taken over the job.
var ErrLostClaim = crash.Errorf(crash.Conflict, "lost_claim", "Another instance has taken over the job.")

// ClaimJob claims the next job whose core is in a store and of one of these architectures. It returns
// false if there is none.
func (s *Store) ClaimJob(ctx context.Context, store string, architectures []string) (c crash.SymbolClaim, ok bool,
	err error) {
	return s.claim(ctx, sqlClaimJob, pgx.NamedArgs{"store": store, "architectures": architectures})
}

// ClaimAddresses claims the next job that has no core, only an address signature. It returns false if
// there is none.
func (s *Store) ClaimAddresses(ctx context.Context) (c crash.SymbolClaim, ok bool, err error) {
	c, ok, err = s.claim(ctx, sqlClaimAddresses, pgx.NamedArgs{})
	c.Addresses = true
	return c, ok, err
}

func (s *Store) claim(ctx context.Context, sql string, args pgx.NamedArgs) (c crash.SymbolClaim, ok bool, err error) {
	if _, err := s.Pool.Exec(ctx, sqlBuryJobs); err != nil {
		return c, false, fmt.Errorf("claim a job: %w", db.Classify(err))
	}
	row := s.Pool.QueryRow(ctx, sql, args)
	err = row.Scan((*[16]byte)(&c.Report), &c.Architecture, &c.Attempt, &c.Tries)
	return c, err == nil, db.WrapOr(err, nil, "claim a job")
}

// RenewClaim prolongs a claim. It returns ErrLostClaim if another instance has claimed the job since.
func (s *Store) RenewClaim(ctx context.Context, c crash.SymbolClaim) error {
	return s.change(ctx, sqlRenewClaim, c)
}

// ReleaseClaim returns a job to the queue, because this instance stops.
func (s *Store) ReleaseClaim(ctx context.Context, c crash.SymbolClaim) error {
	return s.change(ctx, sqlReleaseClaim, c)
}

func (s *Store) change(ctx context.Context, sql string, c crash.SymbolClaim) error {
	tag, err := s.Pool.Exec(ctx, sql, pgx.NamedArgs{"report": [16]byte(c.Report), "attempt": c.Attempt})
	if err != nil {
		return fmt.Errorf("claim of %s: %w", c.Report, db.Classify(err))
	}
	if tag.RowsAffected() == 0 {
		return ErrLostClaim
	}
	return nil
}

// FinishJob stores the outcome of a job. If it has fields, they go to the report in the same
// transaction; if it is done, the report and all others with its addresses move to the problem with
// names. It returns ErrLostClaim, and changes nothing, if another instance has claimed the job since.
func (s *Store) FinishJob(ctx context.Context, c crash.SymbolClaim, o crash.SymbolOutcome) error {
	finish := func(ctx context.Context, tx pgx.Tx, state crash.SymbolState, reason string) error {
		tag, err := tx.Exec(ctx, sqlFinishJob, finishArgs(c, o, state, reason))
		if err == nil && tag.RowsAffected() == 0 {
			err = ErrLostClaim
		}
		if err != nil {
			return err
		}
		return saveUnknown(ctx, tx, c.Report, o.Unknown)
	}
	var err error
	if len(o.Fields) == 0 {
		err = s.InTx(ctx, func(tx pgx.Tx) error { return finish(ctx, tx, o.State, o.Reason) })
	} else {
		err = db.NewDecisions(s.Store).NameReport(ctx, c.Report, o.Fields, o.State == crash.SymbolsDone,
			func(ctx context.Context, tx pgx.Tx, named bool, why string) error {
				if o.State == crash.SymbolsDone && !named {
					return finish(ctx, tx, crash.SymbolsPartial, cmp.Or(why, "The names that were found give no signature."))
				}
				return finish(ctx, tx, o.State, o.Reason)
			})
	}
	return db.Wrap(err, "outcome of %s", c.Report)
}

// saveUnknown replaces the builds that a job lacks.
func saveUnknown(ctx context.Context, tx pgx.Tx, job crash.OopsID, unknown []crash.UnknownBuild) error {
	args := pgx.NamedArgs{"report": [16]byte(job)}
	if _, err := tx.Exec(ctx, sqlForgetUnknown, args); err != nil || len(unknown) == 0 {
		return err
	}
	var paths, packages, versions, architectures []string
	for _, u := range unknown {
		paths, packages = append(paths, db.Indexed(u.Path)), append(packages, db.Indexed(u.Package))
		versions, architectures = append(versions, u.Version), append(architectures, u.Architecture)
	}
	args["paths"], args["packages"], args["versions"], args["architectures"] = paths, packages, versions, architectures
	return db.Exec(ctx, tx, args, sqlSaveUnknown)
}

func finishArgs(c crash.SymbolClaim, o crash.SymbolOutcome, state crash.SymbolState, reason string) pgx.NamedArgs {
	if o.Missing == nil {
		o.Missing = []string{}
	}
	if o.Modules == nil {
		o.Modules = []crash.SymbolModule{}
	}
	var again *time.Duration
	if o.Again > 0 {
		again = &o.Again
	}
	return pgx.NamedArgs{"report": [16]byte(c.Report), "attempt": c.Attempt, "state": string(state), "reason": reason,
		"again": again, "missing": o.Missing, "modules": o.Modules, "engine": o.Engine, "seconds": o.Seconds,
		"cpu": o.CPU.Seconds(), "memory": o.Memory}
}

const (
	sqlMissing = `
		select distinct m from symbol_jobs, unnest(missing) as m
		where store in (@store, '') and state in ('waiting', 'partial') and core_removed is null limit 10000`
	sqlFilesAdded = `
		update symbol_jobs set state = 'queued', not_before = null
		where (store in (@store, '') or @store = '') and state in ('waiting', 'partial') and core_removed is null
			and missing && @ids`
	// sqlDoneCores includes cores that nobody has asked for any more: their reports were erased or dropped.
	sqlDoneCores = `
		select report_id from symbol_jobs where report_id = any(@ids::uuid[]) and state = 'done' and core_removed is null
		union
		select id from unnest(@ids::uuid[]) as c (id)
		where not exists (select from core_requests as r where r.report_id = c.id)
			and not exists (select from symbol_jobs as j where j.report_id = c.id)`
	sqlHeldReports = `
		select r.id from unnest(@ids::uuid[], @received::timestamptz[]) as m (id, received)
			join reports as r on ` + db.AmongReports + `
		where r.bucket_id in (` + db.HeldBuckets + `)`
	sqlUnrecordedCores = `
		select c.report_id, r.architecture
		from unnest(@ids::uuid[], @received::timestamptz[]) as m (id, received)
			join core_requests as c on c.report_id = m.id and c.received is null
			join reports as r on ` + db.AmongReports
	// sqlCoresRemoved also ends the jobs that needed the cores. A claimed job finds out by itself.
	sqlCoresRemoved = `
		update symbol_jobs set core_removed = now(), not_before = null,
			reason = case when state in ('queued', 'waiting')
				then 'The core was removed before it was symbolised.' else reason end,
			state = case when state in ('queued', 'waiting') then 'expired' else state end
		where report_id = any(@ids::uuid[]) and core_removed is null`
)

// MissingFiles returns the files (BUILD-ID/KIND) that jobs wait for, those with a core in this store
// and those without a core.
func (s *Store) MissingFiles(ctx context.Context, store string) ([]string, error) {
	ids, err := db.List(ctx, s.Pool, sqlMissing, pgx.NamedArgs{"store": store}, pgx.RowTo[string])
	return ids, db.Wrap(err, "missing files")
}

// FilesAdded queues the jobs again that wait for one of these files (BUILD-ID/KIND): those with a core
// in this store, in any if store is empty, and those without a core.
func (s *Store) FilesAdded(ctx context.Context, store string, ids []string) error {
	_, err := s.Pool.Exec(ctx, sqlFilesAdded, pgx.NamedArgs{"store": store, "ids": ids})
	return db.Wrap(err, "files added")
}

// HeldReports returns those of the reports that belong to held problems.
func (s *Store) HeldReports(ctx context.Context, reports []crash.OopsID) ([]crash.OopsID, error) {
	held, err := db.List(ctx, s.Pool, sqlHeldReports, db.ReportsArgs(reports), db.ScanReportID)
	return held, db.Wrap(err, "reports of held problems")
}

// DoneCores returns which of these cores are no longer needed, because their reports have names or do not
// exist any more.
func (s *Store) DoneCores(ctx context.Context, cores []crash.OopsID) ([]crash.OopsID, error) {
	done, err := db.List(ctx, s.Pool, sqlDoneCores, db.ReportsArgs(cores), db.ScanReportID)
	return done, db.Wrap(err, "cores that are done")
}

// UnrecordedCores returns those of the stored cores that were asked for, but whose arrival was not
// recorded because the database did not answer.
func (s *Store) UnrecordedCores(ctx context.Context, stored []crash.OopsID) ([]crash.ReceivedCore, error) {
	found, err := db.List(ctx, s.Pool, sqlUnrecordedCores, db.ReportsArgs(stored),
		db.Into(func(c *crash.ReceivedCore) []any { return []any{(*[16]byte)(&c.Report), &c.Architecture} }))
	return found, db.Wrap(err, "cores not recorded")
}

// CoresRemoved records that cores are no longer stored.
func (s *Store) CoresRemoved(ctx context.Context, cores []crash.OopsID) error {
	if len(cores) == 0 {
		return nil
	}
	_, err := s.Pool.Exec(ctx, sqlCoresRemoved, db.ReportsArgs(cores))
	return db.Wrap(err, "cores removed")
}

const (
	// sqlQueueAddresses reads a page of the provisional problems that have changed since the last one,
	// and queues the newest report of each of their versions that has no job yet. It asks again for a
	// version whose cores gave no names, and one whose report was dropped. It does not look in archives.
	sqlQueueAddresses = `
		with page as materialized (
			select id, changed from buckets
			where provisional and changed >= @round and (changed, id) > (@round, @problem)
			order by changed, id limit @most
		), due as (
			select distinct p.id, v.version from page as p
				join buckets as b on b.id = p.id and b.head = b.id
				join bucket_versions as v on v.bucket_id = p.id and v.reports > 0
			where not exists (select from known_names where address_id = p.id)
				and not exists (
					select from symbol_jobs as j
					where j.problem = p.id and j.version = v.version and j.state <> 'expired'
						and (j.store = '' or j.state <> 'failed'))
		), queued as (
			insert into symbol_jobs (report_id, problem, version, architecture, store, core_bytes, state)
			select r.id, due.id, due.version, r.architecture, '', 0, 'queued'
			from due cross join lateral (
				select id, architecture from reports
				where bucket_id = due.id and version = due.version and address_signature <> '' and received >= @here
					and body is not null
					and not exists (select from symbol_jobs where report_id = reports.id)
				order by received desc, id desc limit 1
			) as r
			on conflict do nothing
		)
		select changed, id, (select count(*) from page) from page order by changed desc, id desc limit 1`
	sqlRoundsGone = `select round < @round from counting`
)

// problemsPerPage limits the problems that QueueAddresses reads at once.
const problemsPerPage = 1000

// QueueAddresses queues jobs for problems that are known by their addresses only and have changed since
// the position. It returns the new position, and whether there are more problems.
func (s *Store) QueueAddresses(ctx context.Context, since crash.SymbolCursor) (next crash.SymbolCursor, more bool,
	err error) {
	fail := func(err error) (crash.SymbolCursor, bool, error) {
		return since, false, fmt.Errorf("queue addresses: %w", db.Classify(err))
	}
	var restored bool // an older copy of the database
	if err := s.Pool.QueryRow(ctx, sqlRoundsGone, pgx.NamedArgs{"round": since.Round}).Scan(&restored); err != nil {
		return fail(err)
	}
	if restored {
		since = crash.SymbolCursor{}
	}
	parts, err := s.Archived(ctx)
	if err != nil {
		return fail(err)
	}
	next = since
	var n int
	err = s.Pool.QueryRow(ctx, sqlQueueAddresses, pgx.NamedArgs{"round": since.Round, "problem": since.Problem[:],
		"most": problemsPerPage, "here": parts.Until()}).Scan(&next.Round, &next.Problem, &n)
	if errors.Is(err, pgx.ErrNoRows) {
		return since, false, nil
	}
	if err != nil {
		return fail(err)
	}
	return next, n == problemsPerPage, nil
}

// UnknownBuilds returns which builds mishap would have to know to name files of the machine that sent a
// report, with their packages as far as they are known. It leaves out files whose builds contradict each
// other: nothing that could be added helps.
func (b *Builds) UnknownBuilds(ctx context.Context, report crash.Fields, paths []string) ([]crash.UnknownBuild,
	error) {
	owners, err := b.owners(ctx, report, paths)
	if err != nil {
		return nil, err
	}
	builds, err := b.builds(ctx, report, paths)
	if err != nil {
		return nil, err
	}
	var unknown []crash.UnknownBuild
	for _, name := range paths {
		u := crash.UnknownBuild{Path: debuginfo.NormalPath(name), Architecture: debuginfo.ArchitectureOf(report)}
		if id, known := builds[u.Path]; known && id == "" {
			continue
		}
		candidates := debuginfo.OwnersOf(report, name, owners[u.Path])
		for _, u.Package = range candidates {
			u.Version = debuginfo.InstalledOf(report)[u.Package]
			unknown = append(unknown, u)
		}
		if len(candidates) == 0 {
			unknown = append(unknown, u)
		}
	}
	return unknown, nil
}
