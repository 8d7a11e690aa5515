package reports

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
)

const (
	sqlRequestCore = `
		insert into core_requests (report_id, system) values (@report, @system) on conflict do nothing`
	sqlCoreRequested = `
		select received is not null from core_requests where report_id = @report and system = @system`
	sqlCoreReceived = `
		update core_requests set received = now() where report_id = @report and received is null`
)

// RequestCore records that a machine is asked for the core of one of its reports. It does nothing
// if that is recorded already.
func (s *Store) RequestCore(ctx context.Context, report crash.OopsID, system crash.SystemID) error {
	_, err := s.Pool.Exec(ctx, sqlRequestCore, pgx.NamedArgs{"report": [16]byte(report), "system": string(system)})
	if err != nil {
		return fmt.Errorf("request core of %s: %w", report, db.Classify(err))
	}
	return nil
}

// CoreRequested reports whether the core that a machine was asked for was received. It returns
// NotFound if this machine was not asked for the core of this report.
func (s *Store) CoreRequested(ctx context.Context, report crash.OopsID, system crash.SystemID) (received bool,
	err error) {
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

// CoreReceived records that the core of a report is on disk.
func (s *Store) CoreReceived(ctx context.Context, report crash.OopsID) error {
	if _, err := s.Pool.Exec(ctx, sqlCoreReceived, pgx.NamedArgs{"report": [16]byte(report)}); err != nil {
		return fmt.Errorf("core of %s received: %w", report, db.Classify(err))
	}
	return nil
}
