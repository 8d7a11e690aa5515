package symbols

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/symbols/debuginfo"
	"mishap/db"
)

const (
	// sqlQueueAddresses reads a page of the provisional problems that have changed since the last one,
	// and queues the newest report of each of their versions that has no job yet. It asks again for a
	// version whose cores gave no names, and one whose report was dropped.
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
				where bucket_id = due.id and version = due.version and address_signature <> ''
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
	next = since
	var n int
	err = s.Pool.QueryRow(ctx, sqlQueueAddresses, pgx.NamedArgs{"round": since.Round, "problem": since.Problem[:],
		"most": problemsPerPage}).Scan(&next.Round, db.ScanTo(next.Problem[:]), &n)
	if errors.Is(err, pgx.ErrNoRows) {
		return since, false, nil
	}
	if err != nil {
		return fail(err)
	}
	return next, n == problemsPerPage, nil
}

// sqlContradictory selects the files of packages for which two builds are known.
const sqlContradictory = `
	select b.path from builds as b
	join unnest(@packages::text[], @versions::text[]) as installed (package, version) using (package, version)
	where b.path = any(@paths) and b.architecture = @architecture
	group by b.path having count(distinct b.build_id) > 1`

// UnknownBuilds returns which builds mishap would have to know to name files of the machine that sent a
// report, with their packages as far as they are known. It leaves out files whose builds contradict each
// other: nothing that could be added helps.
func (b *Builds) UnknownBuilds(ctx context.Context, report crash.Fields, paths []string) ([]crash.UnknownBuild,
	error) {
	owners, err := b.owners(ctx, report, paths)
	if err != nil {
		return nil, err
	}
	contradictory, err := b.contradictory(ctx, report, paths)
	if err != nil {
		return nil, err
	}
	var unknown []crash.UnknownBuild
	for _, name := range paths {
		u := crash.UnknownBuild{Path: debuginfo.NormalPath(name), Architecture: debuginfo.ArchitectureOf(report)}
		if contradictory[u.Path] {
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

func (b *Builds) contradictory(ctx context.Context, report crash.Fields, paths []string) (map[string]bool, error) {
	args := installedArgs(report, paths)
	rows, err := b.Pool.Query(ctx, sqlContradictory, args)
	if err != nil {
		return nil, fmt.Errorf("contradictory builds: %w", db.Classify(err))
	}
	found := map[string]bool{}
	var path string
	_, err = pgx.ForEachRow(rows, []any{&path}, func() error {
		found[path] = true
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("contradictory builds: %w", db.Classify(err))
	}
	return found, nil
}
