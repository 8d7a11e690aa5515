package db

import (
	"github.com/jackc/pgx/v5"

	"mishap/crash/grouping"
)

const (
	// sqlSaveKeys stores the keys of a batch and returns the reports that are the first of their crash, within the batch and
	// across all instances. Keys are stored in their order, so that two writers cannot deadlock.
	sqlSaveKeys = `
		insert into report_keys (key, report_id)
		select distinct on (key) key, id from unnest(@keys::bytea[], @ids::uuid[]) as t (key, id) order by key, id
		on conflict do nothing
		returning report_id`
	// sqlSaveNewKeys is sqlSaveKeys without the reports that are stored under their former keys.
	sqlSaveNewKeys = `
		insert into report_keys (key, report_id)
		select distinct on (key) key, id from unnest(@keys::bytea[], @ids::uuid[], @former::bytea[]) as t (key, id, former)
		where not exists (select from report_keys as k where k.key = t.former)
		order by key, id
		on conflict do nothing
		returning report_id`
	// sqlStoredReports finds those of a batch that an earlier attempt, or somebody else, has stored.
	sqlStoredReports = `
		select r.id from unnest(@received::timestamptz[], @ids::uuid[]) as t (received, id)
			join reports as r on r.received = t.received and r.id = t.id`
	// sqlSaveWork lists what is to be counted: exactly what this transaction stores, whatever is sent or tried twice.
	sqlSaveWork = `insert into uncounted (id, reports) values (@work, @ids)`
	// sqlSaveBuckets stores the buckets that this instance has not cached, so that a report always has its bucket.
	sqlSaveBuckets = `
		insert into buckets (id, head, signature, rule, provisional, problem_type, title, executable, package, source_package, changed)
		select distinct on (id) id, id, signature, rule, provisional, problem_type, title, executable, package, source_package, 0
		from unnest(
			@id::bytea[], @report::uuid[], @signature::text[], @rule::text[], @provisional::boolean[],
			@problem_type::text[], @title::text[], @executable::text[], @package::text[], @source_package::text[]
		) as n (id, report, signature, rule, provisional, problem_type, title, executable, package, source_package)
		order by id, report desc
		on conflict do nothing`
	// sqlFirstReports finds the reports that were stored for these crashes before.
	sqlFirstReports = `select key, report_id from report_keys where key = any(@keys::bytea[])`
)

func newBucketArgs(first []*pendingReport) pgx.NamedArgs {
	return pgx.NamedArgs{
		"id":             column(first, func(p *pendingReport) []byte { return p.bucketID() }),
		"report":         column(first, func(p *pendingReport) [16]byte { return p.ID }),
		"signature":      column(first, func(p *pendingReport) string { return p.Grouping.Signature }),
		"rule":           column(first, func(p *pendingReport) string { return string(p.Grouping.Rule) }),
		"provisional":    column(first, func(p *pendingReport) bool { return p.Grouping.Provisional }),
		"problem_type":   column(first, func(p *pendingReport) string { return p.ProblemType }),
		"title":          column(first, func(p *pendingReport) string { return p.Title }),
		"executable":     column(first, func(p *pendingReport) string { return p.Executable }),
		"package":        column(first, func(p *pendingReport) string { return p.Package }),
		"source_package": column(first, func(p *pendingReport) string { return p.SourcePackage }),
	}
}

// copyRows implements pgx.CopyFromSource. COPY costs PostgreSQL half of what an INSERT of arrays does.
type copyRows struct {
	reports []*pendingReport
	values  []any
}

var reportRowColumns = []string{
	"rules", "id", "received", "occurred", "day", "counted", "system", "system_key", "bucket_id", "unbucketed", "rule", "problem_type",
	"title", "executable", "package", "version", "source_package", "release", "architecture", "package_architecture",
	"address_signature", "proposed", "complete", "body",
}

// Next implements pgx.CopyFromSource.
func (r *copyRows) Next() bool {
	if len(r.reports) == 0 {
		return false
	}
	p := r.reports[0]
	r.reports = r.reports[1:]
	r.values = append(r.values[:0],
		grouping.RulesVersion, (*[16]byte)(&p.ID), p.Received(), p.occurred, p.Day, p.Counted, (*string)(&p.System), p.systemKey, p.bucketID(),
		&p.Grouping.Reason, (*string)(&p.Grouping.Rule), &p.ProblemType, &p.Title, &p.Executable, &p.Package, &p.Version,
		&p.SourcePackage, (*string)(&p.Release), &p.Architecture, &p.PackageArchitecture, &p.AddressSignature, p.Proposed,
		p.Complete, p.body)
	return true
}

// Values implements pgx.CopyFromSource.
func (r *copyRows) Values() ([]any, error) { return r.values, nil }

// Err implements pgx.CopyFromSource.
func (r *copyRows) Err() error { return nil }
