// Package symbols stores which cores machines are asked for, and the jobs that symbolise cores.
package symbols

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/symbols/debuginfo"
	"mishap/db"
)

// Store stores requests for cores and jobs. It is safe for concurrent use.
type Store struct{ *db.Store }

// New returns the Store of a database.
func New(s *db.Store) *Store { return &Store{s} }

// The limits of asking for cores of one problem in one version.
const (
	maxUnanswered = 10 // requests within an hour
	maxBadCores   = 3  // cores that named no problem; then one request a day
)

const (
	// ungrouped holds for a report without a signature: its core gives names to no other report, so the
	// core of another one does not replace it.
	ungrouped = `exists (select from reports where received = @received and id = @report and bucket_id is null)`
	// sqlRequestCore inserts nothing if a core would not help. A machine may never send its core, so
	// others are asked until one has arrived. A problem that a name is known for, or that was merged,
	// needs no core. If a person wants a core (see WantCore), only the names count, and the limit of
	// unanswered requests begins anew.
	sqlRequestCore = `
		insert into core_requests (report_id, system, problem, version)
		select @report, @system, @problem, @version
		from (select max(asked) as asked ` + wantedOf + `) as wanted
		where exists (
				select from symbol_workers
				where store = @store and @architecture = any(architectures) and seen > now() - interval '3 minutes')
			and not exists (select from known_names where address_id = @problem)
			and (wanted.asked is not null
				or not exists (select from buckets where id = @problem and head <> id)
				and (` + ungrouped + ` or not exists (
					select from symbol_jobs
					where problem = @problem and version = @version and store <> '' and state not in ('failed', 'expired')))
				and ((select count(*) from symbol_jobs where problem = @problem and version = @version and store <> '') < @bad
					or not exists (
						select from core_requests
						where problem = @problem and version = @version and requested > now() - interval '1 day')))
			and (
				select count(*) from core_requests
				where problem = @problem and version = @version
					and requested > greatest(now() - interval '1 hour', wanted.asked)
			) < @unanswered
		on conflict do nothing`
	sqlCoreRequested = `
		select received is not null from core_requests where report_id = @report and system = @system`
	sqlCoreReceived = `
		update core_requests set received = now() where report_id = @report and received is null
		returning problem, version`
	// sqlQueueJob inserts nothing if another core of the same problem and version has arrived and may
	// be good, unless a person wants a core or the report is in no problem. A core replaces the job
	// that names the addresses of the same report.
	sqlQueueJob = `
		insert into symbol_jobs (report_id, problem, version, architecture, store, core_bytes, state)
		select @report, @problem, @version, @architecture, @store, @bytes, 'queued'
		where @wanted or @problem = ''::bytea or ` + ungrouped + ` or not exists (
			select from symbol_jobs
			where problem = @problem and version = @version and store <> '' and state not in ('failed', 'expired'))
		on conflict (report_id) do update set store = excluded.store, core_bytes = excluded.core_bytes, state = 'queued',
			architecture = excluded.architecture, attempt = symbol_jobs.attempt + 1, deaths = 0, tries = 0, lease = null,
			not_before = null, created = now()
		where symbol_jobs.store = ''`
	// sqlLockProblem makes two cores of one problem arrive one after the other.
	sqlLockProblem = `select pg_advisory_xact_lock(hashtextextended(encode(@problem, 'hex') || @version, 0))`
)

// RequestCore decides whether to ask a machine for the core of its report, and records that. store
// is the identity of the store that would hold the core.
func (s *Store) RequestCore(ctx context.Context, r crash.CoreRequest, store string) (wanted bool, err error) {
	tag, err := s.Pool.Exec(ctx, sqlRequestCore, pgx.NamedArgs{"report": [16]byte(r.Report), "system": string(r.System),
		"problem": r.Problem[:], "bucket": r.Problem[:], "version": r.Version, "architecture": r.Architecture,
		"received": r.Report.Received(), "store": store, "bad": maxBadCores, "unanswered": maxUnanswered})
	if err != nil {
		return false, fmt.Errorf("request core of %s: %w", r.Report, db.Classify(err))
	}
	if tag.RowsAffected() > 0 {
		return true, s.KeepBody(ctx, r.Report, r.Fields, r.Quality)
	}
	// The machine may not have got the answer and sends the report again.
	received, err := s.CoreRequested(ctx, r.Report, r.System)
	if errors.Is(err, errCoreNotRequested) {
		return false, nil
	}
	if err != nil || received {
		return false, err
	}
	return true, s.KeepBody(ctx, r.Report, r.Fields, r.Quality)
}

const sqlOfferCore = `
	insert into core_requests (report_id, system, problem, version) values (@report, @system, @problem, @version)
	on conflict do nothing`

// OfferCore records that the core of a report will be stored, as if its machine had been asked for it.
// It reports whether the core was received before.
func (s *Store) OfferCore(ctx context.Context, r crash.CoreRequest) (received bool, err error) {
	_, err = s.Pool.Exec(ctx, sqlOfferCore, pgx.NamedArgs{"report": [16]byte(r.Report), "system": string(r.System),
		"problem": r.Problem[:], "version": r.Version})
	if err != nil {
		return false, fmt.Errorf("offer core of %s: %w", r.Report, db.Classify(err))
	}
	if err := s.KeepBody(ctx, r.Report, r.Fields, r.Quality); err != nil {
		return false, err
	}
	return s.CoreRequested(ctx, r.Report, r.System)
}

// CoreRequested reports whether the core that a machine was asked for was received. It returns
// NotFound if this machine was not asked for the core of this report.
func (s *Store) CoreRequested(
	ctx context.Context, report crash.OopsID, system crash.SystemID,
) (received bool, err error) {
	args := pgx.NamedArgs{"report": [16]byte(report), "system": string(system)}
	err = s.Pool.QueryRow(ctx, sqlCoreRequested, args).Scan(&received)
	return received, db.WrapOr(err, errCoreNotRequested, "request for core of %s", report)
}

var errCoreNotRequested = crash.Errorf(crash.NotFound, "core_not_requested", "This core dump was not asked for.")

const sqlIsRequested = `select exists (select from core_requests where report_id = @report)`

// CoreReceived records that the core of a report is on disk, and queues its job. needed is false if
// another core of the same problem and version has arrived before, or if the report was erased; then the
// caller removes this one.
func (s *Store) CoreReceived(ctx context.Context, c crash.ReceivedCore) (needed bool, err error) {
	err = s.InTx(ctx, func(tx pgx.Tx) error {
		var problem []byte
		var version string
		args := pgx.NamedArgs{"report": [16]byte(c.Report), "received": c.Report.Received(),
			"architecture": c.Architecture, "store": c.Store, "bytes": c.Bytes}
		switch err := tx.QueryRow(ctx, sqlCoreReceived, args).Scan(&problem, &version); {
		case errors.Is(err, pgx.ErrNoRows): // received before, or erased meanwhile
			return tx.QueryRow(ctx, sqlIsRequested, args).Scan(&needed)
		case err != nil:
			return err
		}
		args["problem"], args["version"] = problem, version
		if _, err := tx.Exec(ctx, sqlLockProblem, args); err != nil {
			return err
		}
		wanted, err := s.useWanted(ctx, tx, problem)
		if err != nil {
			return err
		}
		args["wanted"] = wanted
		tag, err := tx.Exec(ctx, sqlQueueJob, args)
		needed = err == nil && tag.RowsAffected() > 0
		return err
	})
	return needed, db.Wrap(err, "core of %s received", c.Report)
}

const (
	sqlWorkerSeen = `
		insert into symbol_workers as w (instance, store, architectures, problem, seen)
		values (@instance, @store, @architectures, @problem, now())
		on conflict (instance) do update set store = excluded.store, architectures = excluded.architectures,
			problem = excluded.problem, seen = now()`
	sqlRemoveWorkers = `delete from symbol_workers where seen < now() - interval '1 day'`
	sqlWorkerGone    = `delete from symbol_workers where instance = @instance`
	sqlWorkers       = `
		select store, architectures, problem, seen from symbol_workers
		where seen > now() - interval '3 minutes' order by problem, instance`
)

// WorkerSeen records what this instance can symbolise, or why it cannot. It must be called every
// minute.
func (s *Store) WorkerSeen(ctx context.Context, w crash.SymbolWorker) error {
	instance, err := s.InstanceNumber(ctx)
	if err != nil {
		return err
	}
	if w.Architectures == nil {
		w.Architectures = []string{}
	}
	err = s.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlRemoveWorkers); err != nil {
			return err
		}
		return db.Exec(ctx, tx, pgx.NamedArgs{"instance": instance, "store": w.Store,
			"architectures": w.Architectures, "problem": w.Problem}, sqlWorkerSeen)
	})
	return db.Wrap(err, "instance that symbolises")
}

// WorkerGone records that this instance no longer symbolises.
func (s *Store) WorkerGone(ctx context.Context) error {
	instance, err := s.InstanceNumber(ctx)
	if err != nil {
		return err
	}
	_, err = s.Pool.Exec(ctx, sqlWorkerGone, pgx.NamedArgs{"instance": instance})
	return db.Wrap(err, "instance that symbolised")
}

// Workers returns the live instances that symbolise or would if they could.
func (s *Store) Workers(ctx context.Context) ([]crash.SymbolWorker, error) {
	workers, err := db.List(ctx, s.Pool, sqlWorkers, nil, db.Into(func(w *crash.SymbolWorker) []any {
		return []any{&w.Store, &w.Architectures, &w.Problem, &w.Seen}
	}))
	return workers, db.Wrap(err, "instances that symbolise")
}

const (
	jobColumns = `
		report_id, state, reason, created, ended, not_before, store = '', core_removed is not null, engine, modules`
	sqlJob = `select ` + jobColumns + ` from symbol_jobs where report_id = @report`
	// sqlProblemJob selects the job whose result tells most about a problem.
	sqlProblemJob = `
		select ` + jobColumns + ` from symbol_jobs where problem in ` + db.Members + `
		order by state = 'done' desc, state in ('running', 'queued') desc, state in ('partial', 'waiting') desc,
			store <> '' desc, created desc
		limit 1`
	sqlCoreAskedOf = `select requested from core_requests where report_id = @report and received is null`
	sqlPressJob    = `
		update symbol_jobs set state = case when state = 'running' then state else 'queued' end, pressed = now(),
			pressed_by = @person, not_before = null
		where report_id = @report and core_removed is null and state not in ('done', 'expired')`
)

func scanJob(row pgx.CollectableRow) (j crash.SymbolJob, err error) {
	err = row.Scan((*[16]byte)(&j.Report), &j.State, &j.Reason, &j.Created, db.OrZero(&j.Ended), db.OrZero(&j.NotBefore),
		&j.Addresses, &j.CoreGone, &j.Engine, &j.Modules)
	return j, err
}

// ReportJob returns the job of a report, or the state SymbolsAsked if its core has yet to arrive. ok
// is false if nobody asked for its core.
func (s *Store) ReportJob(ctx context.Context, report crash.OopsID) (j crash.SymbolJob, ok bool, err error) {
	args := pgx.NamedArgs{"report": [16]byte(report)}
	if j, ok, err = s.oneJob(ctx, sqlJob, args); err != nil || ok && named(j) {
		return j, ok, err
	}
	var requested time.Time
	err = s.Pool.QueryRow(ctx, sqlCoreAskedOf, args).Scan(db.OrZero(&requested))
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return j, false, fmt.Errorf("requests for cores: %w", db.Classify(err))
	}
	if requested.IsZero() {
		return j, ok, nil
	}
	return awaitingCore(j, requested), true, nil
}

// oneJob returns the job that a statement selects. ok is false if there is none.
func (s *Store) oneJob(ctx context.Context, sql string, args pgx.NamedArgs) (j crash.SymbolJob, ok bool, err error) {
	j, err = db.One(ctx, s.Pool, sql, args, scanJob)
	return j, err == nil, db.WrapOr(err, nil, "job of symbolising")
}

// named reports whether a job gave names or may still give some. Otherwise only another core can help.
func named(j crash.SymbolJob) bool {
	return !j.Addresses || j.State == crash.SymbolsDone || j.State == crash.SymbolsRunning ||
		j.State == crash.SymbolsQueued
}

// awaitingCore returns the state SymbolsAsked for a core that a machine was asked for. It keeps the
// modules of the job before, which gave no names; without one, that is the zero job.
func awaitingCore(before crash.SymbolJob, requested time.Time) crash.SymbolJob {
	return crash.SymbolJob{State: crash.SymbolsAsked, Created: requested, Modules: before.Modules}
}

// CoreDownloaded records that a person downloads a core.
func (s *Store) CoreDownloaded(ctx context.Context, report crash.OopsID, person string) error {
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		return s.Audit(ctx, tx, db.AuditEvent{Person: person, Action: "read.core", Subject: report.String()})
	})
	return db.Wrap(err, "download core of %s", report)
}

var errNoCore = crash.Errorf(crash.Conflict, "no_core", "No core of this report is stored any more.")

// PressJob symbolises a report again, before others. It returns Conflict if no core of it is stored.
func (s *Store) PressJob(ctx context.Context, report crash.OopsID, person string) error {
	tag, err := s.Pool.Exec(ctx, sqlPressJob, pgx.NamedArgs{"report": [16]byte(report), "person": person})
	if err != nil {
		return fmt.Errorf("symbolise %s again: %w", report, db.Classify(err))
	}
	if tag.RowsAffected() == 0 {
		return errNoCore
	}
	return nil
}

// MaxMissingJobs is the number of jobs from which MissingSymbols ranks what they wait for: those of
// the problems with the most reports. It bounds the time and the memory of the query.
const MaxMissingJobs = 10_000

const (
	// sqlMissingSymbols ranks what is missing. Several jobs of one problem that wait for the same
	// count once. A job whose problem has names by now does not count. The example is one of the jobs;
	// it knows the module and the package.
	sqlMissingSymbols = `
		with top as (
			select j.report_id, j.problem, coalesce(b.reports, 1) as reports, j.architecture, j.missing
			from symbol_jobs as j left join buckets as b on b.id = j.problem
			where j.state in ('waiting', 'partial') and j.core_removed is null
				and (b.id is null or b.head = b.id or (select provisional from buckets where id = b.head))
			order by 3 desc, 1 limit @jobs
		), wanted as (
			select t.problem, t.reports, t.report_id, t.architecture, f.file, '' as path, '' as package, '' as version
			from top as t, unnest(t.missing) as f (file)
			union all
			select t.problem, t.reports, t.report_id, u.architecture, '', u.path, u.package, u.version
			from top as t join unknown_builds as u using (report_id)
		), per_problem as (
			select file, path, package, version, architecture, max(reports) as reports, max(report_id::text) as example
			from wanted group by file, path, package, version, architecture, problem
		), ranked as (
			select file, path, package, version, architecture, max(example)::uuid as example, sum(reports)::bigint as reports,
				count(*) as problems, count(*) over () as total
			from per_problem group by file, path, package, version, architecture
			order by sum(reports) desc, count(*) desc, file, path, package, version, architecture
			limit @limit offset @offset
		)
		select r.file, r.path, r.package, r.version, r.architecture, r.reports, r.problems, r.total, m.module,
			coalesce(o.package, ''), coalesce(o.version, ''), coalesce((
					select release from bucket_versions where bucket_id = j.problem and version = j.version
					order by reports desc, release limit 1), (b.last_release).release, '')
		from ranked as r
			left join symbol_jobs as j on j.report_id = r.example
			left join buckets as b on b.id = j.problem
			left join lateral (
				select n.value as module, case when n.value ->> 'path' ~ '^/(lib|lib32|lib64|libx32|bin|sbin)/'
					then '/usr' || (n.value ->> 'path') else n.value ->> 'path' end as path
				from jsonb_array_elements(j.modules) as n
				where split_part(r.file, '/', 1) in (n.value ->> 'build_id', n.value ->> 'shared_build_id') limit 1
			) as m on r.file <> ''
			left join lateral (
				(select package, version, 1 as guess from builds
				where path = m.path and architecture = r.architecture and build_id = split_part(r.file, '/', 1) limit 1)
				union all
				select b.package, j.version, 2 where b.executable = m.module ->> 'path'
				union all
				(select package, '', 3 from builds where path = m.path and architecture = r.architecture limit 1)
				order by guess limit 1
			) as o on true
		order by r.reports desc, r.problems desc, r.file, r.path, r.package, r.version, r.architecture`
	sqlSymbolTotals = `
		select state, count(*), coalesce(min(created), now()) from symbol_jobs group by state`
	// sqlSymbolQueue selects jobs in one state, those that ended last first. Without a state, it
	// selects the running jobs and the next ones, in the order in which instances claim them.
	sqlSymbolQueue = `
		select j.report_id, coalesce(h.id, ''), coalesce(nullif(h.name, ''), nullif(h.title, ''), left(h.signature, 200), ''),
			j.state, j.reason, j.architecture, o.reports, j.store <> '', j.pressed_by, j.created, j.started, j.ended,
			j.not_before
		from (
				select j.report_id, b.head, coalesce(b.reports, 0) as reports, row_number() over (
					order by j.state = 'running' desc, j.pressed nulls last,
						case when j.state = 'queued' then coalesce(b.reports, 0) end desc,
						case when j.state not in ('queued', 'running') then j.ended end desc nulls last, j.created, j.report_id
				) as place
				from symbol_jobs as j left join buckets as b on b.id = j.problem
				where j.state = @state or @state = '' and j.state in ('queued', 'running')
				order by place limit @limit offset @offset
			) as o
			join symbol_jobs as j using (report_id) left join buckets as h on h.id = o.head
		order by o.place`
)

// MissingSymbols ranks what reports without function names wait for, by the number of reports of
// their problems. It returns at most limit rows from offset on, and the length of the whole list,
// which is 0 if the offset is behind its end.
func (s *Store) MissingSymbols(ctx context.Context, limit, offset int) (list []crash.MissingSymbol, total int64,
	err error) {
	list, err = db.List(ctx, s.Pool, sqlMissingSymbols, pgx.NamedArgs{"jobs": MaxMissingJobs, "limit": limit,
		"offset": offset}, func(row pgx.CollectableRow) (m crash.MissingSymbol, err error) {
		var file, holder, version string
		var module *crash.SymbolModule
		err = row.Scan(&file, &m.Path, &m.Package, &m.Version, &m.Architecture, &m.Reports, &m.Problems, &total, &module,
			&holder, &version, &m.Release)
		if file == "" {
			m.Kind = crash.MissingBuild
			return m, err
		}
		m.Package, m.Version = holder, version
		describeMissing(&m, file, module)
		return m, err
	})
	return list, total, db.Wrap(err, "missing symbols")
}

// describeMissing adds what the module of a missing file (BUILD-ID/KIND) says. module is nil if no
// job says it.
func describeMissing(m *crash.MissingSymbol, file string, module *crash.SymbolModule) {
	id, kind, _ := strings.Cut(file, "/")
	m.BuildID, m.Kind = id, crash.MissingKind(kind)
	if module == nil {
		return
	}
	m.Path = module.Path
	search := module.Executable
	switch {
	case id == module.SharedID:
		search = module.Shared
	case m.Kind == crash.MissingDebugFile:
		search = module.Debuginfo
	}
	if search != nil {
		m.Searched = search.Searched
	}
}

// SymbolTotals counts the jobs by state.
func (s *Store) SymbolTotals(ctx context.Context) (crash.SymbolTotals, error) {
	t := crash.SymbolTotals{States: map[crash.SymbolState]int64{}}
	var state crash.SymbolState
	var count int64
	var oldest time.Time
	err := db.Each(ctx, s.Pool, sqlSymbolTotals, nil, []any{&state, &count, &oldest}, func() {
		t.States[state] = count
		if state == crash.SymbolsQueued {
			t.Oldest = oldest
		}
	})
	return t, db.Wrap(err, "count jobs")
}

// SymbolQueue returns jobs in one state, those that ended last first. For an empty state, it
// returns the running jobs, then the queued ones in the order in which instances claim them.
func (s *Store) SymbolQueue(ctx context.Context, state crash.SymbolState, limit, offset int) ([]crash.SymbolQueueRow,
	error) {
	list, err := db.List(ctx, s.Pool, sqlSymbolQueue, pgx.NamedArgs{"state": string(state), "limit": limit,
		"offset": offset}, func(row pgx.CollectableRow) (j crash.SymbolQueueRow, err error) {
		err = row.Scan((*[16]byte)(&j.Report), &j.Problem, &j.Title, &j.State, &j.Reason, &j.Architecture, &j.Reports,
			&j.Core, &j.PressedBy, &j.Created, db.OrZero(&j.Started), db.OrZero(&j.Ended), db.OrZero(&j.NotBefore))
		return j, err
	})
	return list, db.Wrap(err, "queue of jobs")
}

// Builds stores which builds the packages hold. It is safe for concurrent use.
type Builds struct{ *db.Store }

// NewBuilds returns the Builds of a database.
func NewBuilds(s *db.Store) *Builds { return &Builds{s} }

const (
	// sqlLearnBuilds also queues the jobs again that lack one of the builds. If the package of a file was
	// unknown, its first package in any version tells which versions help.
	sqlLearnBuilds = `
		with learned as (
			insert into builds (path, package, version, architecture, build_id)
			select * from unnest(@paths::text[], @packages::text[], @versions::text[], @architectures::text[], @ids::text[])
			on conflict do nothing
			returning path, package, version, architecture
		)
		update symbol_jobs as j set state = 'queued', not_before = null
		from unknown_builds as u join learned as l on l.path = u.path and l.architecture = u.architecture
			and (u.package = '' or u.package = l.package and u.version = l.version)
		where u.report_id = j.report_id and j.state in ('waiting', 'partial') and j.core_removed is null`
	// sqlBuildsOf selects the builds of files in the versions of the packages that a machine has. A build is
	// empty if there are several, which contradict each other.
	sqlBuildsOf = `
		select b.path, case when count(distinct b.build_id) = 1 then min(b.build_id) else '' end from builds as b
		join unnest(@packages::text[], @versions::text[]) as installed (package, version) using (package, version)
		where b.path = any(@paths) and b.architecture = @architecture
		group by b.path`
	sqlBuildOwners = `
		select path, array_agg(distinct package) from builds
		where path = any(@paths) and architecture = @architecture group by path`
)

// Learn stores facts, and queues the jobs again that they help. It ignores incomplete facts.
func (b *Builds) Learn(ctx context.Context, facts []debuginfo.Fact) error {
	var paths, packages, versions, architectures, ids []string
	for _, f := range facts {
		if !f.Valid() {
			continue
		}
		paths, packages = append(paths, f.Path), append(packages, f.Package)
		versions, architectures = append(versions, f.Version), append(architectures, f.Architecture)
		ids = append(ids, string(f.Build))
	}
	if len(ids) == 0 {
		return nil
	}
	_, err := b.Pool.Exec(ctx, sqlLearnBuilds, pgx.NamedArgs{"paths": paths, "packages": packages, "versions": versions,
		"architectures": architectures, "ids": ids})
	return db.Wrap(err, "learn builds")
}

// LearnFromCore stores what the core of a report says about the packages of its machine.
func (b *Builds) LearnFromCore(ctx context.Context, report crash.Fields, loaded []debuginfo.Loaded) error {
	paths := make([]string, len(loaded))
	for i, l := range loaded {
		paths[i] = l.Path
	}
	owners, err := b.owners(ctx, report, paths)
	if err != nil {
		return err
	}
	return b.Learn(ctx, debuginfo.BuildsOfCore(report, loaded, owners))
}

// owners returns the packages that hold files in any version, by normal path.
func (b *Builds) owners(ctx context.Context, report crash.Fields, paths []string) (map[string][]string, error) {
	owners := map[string][]string{}
	var path string
	var packages []string
	err := db.Each(ctx, b.Pool, sqlBuildOwners, pgx.NamedArgs{"paths": normalPaths(paths),
		"architecture": debuginfo.ArchitectureOf(report)}, []any{&path, &packages}, func() {
		owners[path] = append([]string(nil), packages...)
	})
	return owners, db.Wrap(err, "owners of files")
}

// BuildsOf returns the build-ids of files of the machine that sent a report. It leaves out files
// whose build is unknown or contradictory.
func (b *Builds) BuildsOf(ctx context.Context, report crash.Fields, paths []string) (map[string]debuginfo.BuildID,
	error) {
	builds, err := b.builds(ctx, report, paths)
	known := map[string]debuginfo.BuildID{}
	for _, name := range paths {
		if id := builds[debuginfo.NormalPath(name)]; id != "" {
			known[name] = id
		}
	}
	return known, err
}

// builds returns the build-ids of files by normal path. Contradictory ones are empty.
func (b *Builds) builds(ctx context.Context, report crash.Fields, paths []string) (map[string]debuginfo.BuildID,
	error) {
	var packages, versions []string
	for name, version := range debuginfo.InstalledOf(report) {
		packages, versions = append(packages, name), append(versions, version)
	}
	found := map[string]debuginfo.BuildID{}
	var path string
	var id debuginfo.BuildID
	err := db.Each(ctx, b.Pool, sqlBuildsOf, pgx.NamedArgs{"packages": packages, "versions": versions,
		"paths": normalPaths(paths), "architecture": debuginfo.ArchitectureOf(report)}, []any{&path, &id},
		func() { found[path] = id })
	return found, db.Wrap(err, "builds of files")
}

func normalPaths(paths []string) []string {
	normal := make([]string, len(paths))
	for i, name := range paths {
		normal[i] = debuginfo.NormalPath(name)
	}
	return normal
}

// A person can ask for a core of a problem. Then machines are asked, even if a core of the problem
// has arrived before, until another one arrives.

const (
	// wantedOf selects the rows of the problem that the bucket @bucket belongs to.
	wantedOf    = `from wanted_cores where problem in ` + db.Members
	sqlWantCore = `
		insert into wanted_cores (problem, person)
		select head, @person from buckets where id = @bucket and not exists (select ` + wantedOf + `)
		on conflict do nothing`
	sqlUnwantCore = `delete ` + wantedOf
	// sqlAwaited selects what a problem waits for: the files whose build is unknown, the person who asked
	// for a core and when, and when a machine was last asked for one, in the last week. The last column
	// says whether the problem has a job.
	sqlAwaited = `
		select array(
				select distinct u.path from symbol_jobs as j join unknown_builds as u using (report_id)
				where j.problem in ` + db.Members + ` and j.state in ('waiting', 'partial')
				order by u.path limit 100),
			coalesce(c.person, ''), c.asked,
			(select max(requested) from core_requests
				where problem in ` + db.Members + ` and received is null and requested > now() - interval '7 days'),
			exists (select from symbol_jobs where problem in ` + db.Members + `)
		from (select) as one left join lateral (
			select person, asked ` + wantedOf + ` order by asked desc limit 1) as c on true`
)

// WantCore records that a person asks for a core of a problem, unless somebody has asked already.
func (s *Store) WantCore(ctx context.Context, problem crash.BucketID, person string) error {
	return s.changeWanted(ctx, sqlWantCore, "core.ask", true, problem, person)
}

// UnwantCore withdraws the request of WantCore, if there is one.
func (s *Store) UnwantCore(ctx context.Context, problem crash.BucketID, person string) error {
	return s.changeWanted(ctx, sqlUnwantCore, "core.withdraw", false, problem, person)
}

func (s *Store) changeWanted(ctx context.Context, sql, action string, wanted bool, problem crash.BucketID,
	person string) error {
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, sql, pgx.NamedArgs{"bucket": problem[:], "person": person})
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		return s.Audit(ctx, tx, db.AuditEvent{Person: person, Action: action, Subject: problem.String(),
			Before: map[string]any{"core_wanted": !wanted}, After: map[string]any{"core_wanted": wanted}})
	})
	return db.Wrap(err, "%s of %s", action, problem)
}

// useWanted ends the request for a core of a problem, because one has arrived. It reports whether
// there was one.
func (s *Store) useWanted(ctx context.Context, tx pgx.Tx, problem []byte) (wanted bool, err error) {
	tag, err := tx.Exec(ctx, sqlUnwantCore, pgx.NamedArgs{"bucket": problem})
	return err == nil && tag.RowsAffected() > 0, err
}

// ProblemSymbols returns how far a problem is symbolised. Its job is the one that tells most or, if
// that gave no names, has the state SymbolsAsked while a core is on its way.
func (s *Store) ProblemSymbols(ctx context.Context, problem crash.BucketID) (p crash.ProblemSymbols, err error) {
	args := pgx.NamedArgs{"bucket": problem[:]}
	var unknown []string
	var requested time.Time
	var known bool
	err = s.Pool.QueryRow(ctx, sqlAwaited, args).Scan(&unknown, &p.Wanted.Person, db.OrZero(&p.Wanted.Asked),
		db.OrZero(&requested), &known)
	if err != nil {
		return p, fmt.Errorf("what the symbols of %s wait for: %w", problem, db.Classify(err))
	}
	if known {
		if p.Job, known, err = s.oneJob(ctx, sqlProblemJob, args); err != nil {
			return p, err
		}
	}
	if !requested.IsZero() && (!known || !named(p.Job)) {
		p.Job = awaitingCore(p.Job, requested)
	}
	p.Missing = append(p.Job.MissingPaths(), unknown...)
	return p, nil
}
