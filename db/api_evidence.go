package db

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
)

const sqlVersionStarts = `
	with names as (select distinct package from buckets where source_package = @source and package <> '')
	select d.release, @new, min(d.day), max(d.day), sum(d.reports)::bigint
	from names as n join report_days as d on d.package = n.package
	where d.version = @new group by d.release
	union all
	select d.release, @previous, min(d.day), max(d.day), sum(d.reports)::bigint
	from names as n join report_days as d on d.package = n.package
	where d.version = @previous group by d.release
	order by 1, 2`

// SourceVersionSpans returns for two versions of a source package from which releases its binary packages were reported
// with them, how often, and between which UTC days.
func (s *Store) SourceVersionSpans(ctx context.Context, source, previous, new string) ([]crash.VersionSpan, error) {
	rows, err := s.pool.Query(ctx, sqlVersionStarts, pgx.NamedArgs{"source": source, "previous": previous, "new": new})
	if err != nil {
		return nil, fmt.Errorf("versions of a source package: %w", known(err))
	}
	spans, err := pgx.CollectRows(rows, pgx.RowToStructByPos[crash.VersionSpan])
	if err != nil {
		return nil, fmt.Errorf("versions of a source package: %w", known(err))
	}
	return spans, nil
}
