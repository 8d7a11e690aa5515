// Package symbols stores which cores machines are asked for, and the jobs that symbolise cores.
package symbols

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
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
		return true, nil
	}
	// The machine may not have got the answer and sends the report again.
	received, err := s.CoreRequested(ctx, r.Report, r.System)
	if errors.Is(err, errCoreNotRequested) {
		return false, nil
	}
	return err == nil && !received, err
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
	return s.CoreRequested(ctx, r.Report, r.System)
}

// CoreRequested reports whether the core that a machine was asked for was received. It returns
// NotFound if this machine was not asked for the core of this report.
func (s *Store) CoreRequested(
	ctx context.Context, report crash.OopsID, system crash.SystemID,
) (received bool, err error) {
	args := pgx.NamedArgs{"report": [16]byte(report), "system": string(system)}
	switch err := s.Pool.QueryRow(ctx, sqlCoreRequested, args).Scan(&received); {
	case errors.Is(err, pgx.ErrNoRows):
		return false, errCoreNotRequested
	case err != nil:
		return false, fmt.Errorf("request for core of %s: %w", report, db.Classify(err))
	}
	return received, nil
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
	if err != nil {
		return false, fmt.Errorf("core of %s received: %w", c.Report, err)
	}
	return needed, nil
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
		_, err := tx.Exec(ctx, sqlWorkerSeen, pgx.NamedArgs{"instance": instance, "store": w.Store,
			"architectures": w.Architectures, "problem": w.Problem})
		return err
	})
	if err != nil {
		return fmt.Errorf("instance that symbolises: %w", err)
	}
	return nil
}

// WorkerGone records that this instance no longer symbolises.
func (s *Store) WorkerGone(ctx context.Context) error {
	instance, err := s.InstanceNumber(ctx)
	if err != nil {
		return err
	}
	if _, err := s.Pool.Exec(ctx, sqlWorkerGone, pgx.NamedArgs{"instance": instance}); err != nil {
		return fmt.Errorf("instance that symbolised: %w", db.Classify(err))
	}
	return nil
}

// Workers returns the live instances that symbolise or would if they could.
func (s *Store) Workers(ctx context.Context) ([]crash.SymbolWorker, error) {
	rows, err := s.Pool.Query(ctx, sqlWorkers)
	if err != nil {
		return nil, fmt.Errorf("instances that symbolise: %w", db.Classify(err))
	}
	workers, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (w crash.SymbolWorker, err error) {
		err = row.Scan(&w.Store, &w.Architectures, &w.Problem, &w.Seen)
		return w, err
	})
	if err != nil {
		return nil, fmt.Errorf("instances that symbolise: %w", db.Classify(err))
	}
	return workers, nil
}
