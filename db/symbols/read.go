package symbols

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
)

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
	rows, err := s.Pool.Query(ctx, sql, args)
	if err != nil {
		return j, false, fmt.Errorf("job of symbolising: %w", db.Classify(err))
	}
	j, err = pgx.CollectExactlyOneRow(rows, scanJob)
	if errors.Is(err, pgx.ErrNoRows) {
		return j, false, nil
	}
	if err != nil {
		return j, false, fmt.Errorf("job of symbolising: %w", db.Classify(err))
	}
	return j, true, nil
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
	if err != nil {
		return fmt.Errorf("download core of %s: %w", report, err)
	}
	return nil
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
