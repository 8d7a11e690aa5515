package counts

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/stats"
	"mishap/db"
)

// A facet reads the newest reports of a problem, and the newest of each of some other problems of
// its package. Both are found by the index of reports by bucket and time of arrival, so the work
// does not grow with the number of stored reports.
const (
	facetHere   = 300
	facetOthers = 30 // problems
	facetOfEach = 10 // reports of each of these
	facetTime   = 5 * time.Second
)

const (
	sqlFacetHere = `
		select ` + db.ReportColumns + `, body from (
			select r.* from (select id from buckets where id in ` + db.Members + `) as m (source) cross join lateral (
				select * from reports where bucket_id = m.source order by received desc, id desc limit @limit
			) as r
			order by r.received desc, r.id desc limit @limit
		) as newest`
	sqlFacetThere = `
		select r.* from (
			select id from buckets
			where package = @package and head <> (select head from buckets where id = @bucket) and reports > 0
			order by reports desc, id limit @others
		) as m (source) cross join lateral (
			select ` + db.ReportColumns + `, body from reports where bucket_id = m.source
			order by received desc, id desc limit @limit
		) as r`
)

// FacetReport is a report with its value of a field.
type FacetReport struct {
	crash.ReportRow
	Value string
}

// Facet counts the values of a field in the newest reports of a problem and in others of its
// package. It also returns these reports of the problem, newest first. It takes at most five
// seconds, and returns Unavailable if that is not enough.
func (s *Store) Facet(ctx context.Context, b crash.Bucket, field stats.FacetField) (
	f stats.Facet, reports []FacetReport, err error,
) {
	ctx, cancel := context.WithTimeout(ctx, facetTime)
	defer cancel()
	args := pgx.NamedArgs{"bucket": b.ID[:], "package": b.Package, "limit": facetHere, "others": facetOthers}
	reports, err = s.facetReports(ctx, sqlFacetHere, args, field)
	var others []FacetReport
	if err == nil && b.Package != "" {
		args["limit"] = facetOfEach
		others, err = s.facetReports(ctx, sqlFacetThere, args, field)
	}
	if err != nil {
		return f, nil, fmt.Errorf("values of %s in %s: %w", field, b.ID, db.Classify(err))
	}
	return stats.NewFacet(field, valuesOf(reports), valuesOf(others)), reports, nil
}

func valuesOf(reports []FacetReport) []string {
	values := make([]string, len(reports))
	for i, r := range reports {
		values[i] = r.Value
	}
	return values
}

func (s *Store) facetReports(
	ctx context.Context, sql string, args pgx.NamedArgs, field stats.FacetField,
) ([]FacetReport, error) {
	rows, err := s.Pool.Query(ctx, sql, args)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (r FacetReport, err error) {
		var body []byte
		if r.ReportRow, body, err = db.ScanReportBody(row); err != nil {
			return r, err
		}
		err = s.ReadBody(ctx, body, func(f crash.Fields) { r.Value = field.ValueIn(r.Summary, f) })
		return r, err
	})
}
