package symbols

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
)

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
	rows, err := s.Pool.Query(ctx, sqlMissingSymbols, pgx.NamedArgs{"jobs": MaxMissingJobs, "limit": limit,
		"offset": offset})
	if err != nil {
		return nil, 0, fmt.Errorf("missing symbols: %w", db.Classify(err))
	}
	list, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (m crash.MissingSymbol, err error) {
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
	if err != nil {
		return nil, 0, fmt.Errorf("missing symbols: %w", db.Classify(err))
	}
	return list, total, nil
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
	rows, err := s.Pool.Query(ctx, sqlSymbolTotals)
	if err != nil {
		return t, fmt.Errorf("count jobs: %w", db.Classify(err))
	}
	var state crash.SymbolState
	var count int64
	var oldest time.Time
	_, err = pgx.ForEachRow(rows, []any{&state, &count, &oldest}, func() error {
		t.States[state] = count
		if state == crash.SymbolsQueued {
			t.Oldest = oldest
		}
		return nil
	})
	if err != nil {
		return t, fmt.Errorf("count jobs: %w", db.Classify(err))
	}
	return t, nil
}

// SymbolQueue returns jobs in one state, those that ended last first. For an empty state, it
// returns the running jobs, then the queued ones in the order in which instances claim them.
func (s *Store) SymbolQueue(ctx context.Context, state crash.SymbolState, limit, offset int) ([]crash.SymbolQueueRow,
	error) {
	rows, err := s.Pool.Query(ctx, sqlSymbolQueue, pgx.NamedArgs{"state": string(state), "limit": limit,
		"offset": offset})
	if err != nil {
		return nil, fmt.Errorf("queue of jobs: %w", db.Classify(err))
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (j crash.SymbolQueueRow, err error) {
		var problem []byte
		err = row.Scan((*[16]byte)(&j.Report), &problem, &j.Title, &j.State, &j.Reason, &j.Architecture, &j.Reports,
			&j.Core, &j.PressedBy, &j.Created, db.OrZero(&j.Started), db.OrZero(&j.Ended), db.OrZero(&j.NotBefore))
		copy(j.Problem[:], problem)
		return j, err
	})
	if err != nil {
		return nil, fmt.Errorf("queue of jobs: %w", db.Classify(err))
	}
	return list, nil
}
