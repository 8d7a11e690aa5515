package db

import (
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
)

// sqlSaveReports stores a batch as one statement and so in one transaction and one round trip, and puts down that it is
// to be counted. It returns the ids of the reports that were stored now.
//
//   - keys: of several sendings of one crash the first wins, within the batch and across all units.
//   - work: counted is what was stored by this statement, so that the counts follow the reports exactly, whatever is sent
//     or tried twice.
//   - new_buckets: those that this process has not seen yet, so that a report is never without its bucket.
//   - bodies: those of the whole batch in one value, which is handed on much faster than an array of them.
//   - Rows that many statements touch are taken in the order of their keys, so that two writers do not wait for each
//     other in a circle.
//
// sqlSaveAgain is the same for a second attempt, when a report may be there already. It costs PostgreSQL much more: each row
// is then put in as if it might have to be taken back.
const (
	sqlSaveReports = saveBegin + saveEnd
	sqlSaveAgain   = saveBegin + `on conflict do nothing` + saveEnd
)

var (
	saveReports = newStatement(sqlSaveReports, "bodies")
	saveAgain   = newStatement(sqlSaveAgain, "bodies")
)

const saveBegin = `
with keys as (
	insert into report_keys (key, report_id)
	select distinct on (key) key, id from unnest(@key::bytea[], @id::uuid[]) as t (key, id) where key is not null order by key, id
	on conflict do nothing
	returning report_id
), stored as (
	insert into reports (
		rules, id, received, occurred, day, counted, system, system_key, bucket_id, unbucketed, rule, problem_type, title,
		executable, package, version, source_package, release, architecture, package_architecture, address_signature,
		proposed, complete, body)
	select @rules, id, received, occurred, day, counted, system, system_key, bucket_id, unbucketed, rule, problem_type, title,
		executable, package, version, source_package, release, architecture, package_architecture, address_signature,
		proposed, complete, substring(@bodies::bytea from body_at for body_length)
	from unnest(
		@id::uuid[], @received::timestamptz[], @occurred::timestamptz[], @day::date[], @counted::boolean[],
		@system::text[], @system_key::bigint[], @key::bytea[], @bucket_id::bytea[], @unbucketed::text[], @rule::text[],
		@problem_type::text[], @title::text[], @executable::text[], @package::text[], @version::text[],
		@source_package::text[], @release::text[], @architecture::text[], @package_architecture::text[],
		@address_signature::text[], @proposed::boolean[], @complete::boolean[], @body_at::integer[], @body_length::integer[]
	) as t (
		id, received, occurred, day, counted, system, system_key, key, bucket_id, unbucketed, rule,
		problem_type, title, executable, package, version, source_package, release, architecture, package_architecture,
		address_signature, proposed, complete, body_at, body_length
	)
	where key is null or id in (select report_id from keys)
	`

const saveEnd = `
	returning id
), work as (
	insert into uncounted (id, reports) select @work, array_agg(id) from stored having count(*) > 0
), new_buckets as (
	insert into buckets (id, head, signature, rule, provisional, problem_type, title, executable, package, source_package, changed)
	select distinct on (id) id, id, signature, rule, provisional, problem_type, title, executable, package, source_package, 0
	from unnest(
		@new_id::bytea[], @new_report::uuid[], @new_signature::text[], @new_rule::text[], @new_provisional::boolean[],
		@new_problem_type::text[], @new_title::text[], @new_executable::text[], @new_package::text[], @new_source_package::text[]
	) as n (id, report, signature, rule, provisional, problem_type, title, executable, package, source_package)
	where report in (select id from stored)
	order by id, report desc
	on conflict do nothing
)
select id from stored`

// sqlFirstReports finds the reports that were stored for these crashes before.
const sqlFirstReports = `select key, report_id from report_keys where key = any(@keys::bytea[])`

// batchArgs gives each argument of sqlSaveReports as one array over the batch; unseen are those of its reports whose
// buckets may be new. bodies are those of the batch, and at is where each begins.
func batchArgs(work [16]byte, batch, unseen []*pendingReport, bodies []byte, at []int32) pgx.NamedArgs {
	return pgx.NamedArgs{
		"work":                 work,
		"rules":                crash.RulesVersion,
		"id":                   each(batch, func(p *pendingReport) [16]byte { return p.ID }),
		"received":             each(batch, func(p *pendingReport) time.Time { return p.Received() }),
		"occurred":             each(batch, func(p *pendingReport) *time.Time { return p.occurred }),
		"day":                  each(batch, func(p *pendingReport) time.Time { return p.Day }),
		"counted":              each(batch, func(p *pendingReport) bool { return p.Counted }),
		"system":               each(batch, func(p *pendingReport) string { return string(p.System) }),
		"system_key":           each(batch, func(p *pendingReport) *int64 { return p.systemKey }),
		"key":                  each(batch, func(p *pendingReport) []byte { return p.duplicateKey }),
		"bucket_id":            each(batch, func(p *pendingReport) []byte { return p.bucketID() }),
		"unbucketed":           each(batch, func(p *pendingReport) string { return p.Grouping.Reason }),
		"rule":                 each(batch, func(p *pendingReport) string { return string(p.Grouping.Rule) }),
		"problem_type":         each(batch, func(p *pendingReport) string { return p.ProblemType }),
		"title":                each(batch, func(p *pendingReport) string { return p.Title }),
		"executable":           each(batch, func(p *pendingReport) string { return p.Executable }),
		"package":              each(batch, func(p *pendingReport) string { return p.Package }),
		"version":              each(batch, func(p *pendingReport) string { return p.Version }),
		"source_package":       each(batch, func(p *pendingReport) string { return p.SourcePackage }),
		"release":              each(batch, func(p *pendingReport) string { return string(p.Release) }),
		"architecture":         each(batch, func(p *pendingReport) string { return p.Architecture }),
		"package_architecture": each(batch, func(p *pendingReport) string { return p.PackageArchitecture }),
		"address_signature":    each(batch, func(p *pendingReport) string { return p.AddressSignature }),
		"proposed":             each(batch, func(p *pendingReport) bool { return p.Proposed }),
		"complete":             each(batch, func(p *pendingReport) bool { return p.Complete }),
		"bodies":               bodies,
		"body_at":              at,
		"body_length":          each(batch, func(p *pendingReport) int32 { return int32(len(p.body)) }), //nolint:gosec // far below
		"new_id":               each(unseen, func(p *pendingReport) []byte { return p.bucketID() }),
		"new_report":           each(unseen, func(p *pendingReport) [16]byte { return p.ID }),
		"new_signature":        each(unseen, func(p *pendingReport) string { return p.Grouping.Signature }),
		"new_rule":             each(unseen, func(p *pendingReport) string { return string(p.Grouping.Rule) }),
		"new_provisional":      each(unseen, func(p *pendingReport) bool { return p.Grouping.Provisional }),
		"new_problem_type":     each(unseen, func(p *pendingReport) string { return p.ProblemType }),
		"new_title":            each(unseen, func(p *pendingReport) string { return p.Title }),
		"new_executable":       each(unseen, func(p *pendingReport) string { return p.Executable }),
		"new_package":          each(unseen, func(p *pendingReport) string { return p.Package }),
		"new_source_package":   each(unseen, func(p *pendingReport) string { return p.SourcePackage }),
	}
}

func each[T any](batch []*pendingReport, value func(*pendingReport) T) []T {
	values := make([]T, len(batch))
	for i, p := range batch {
		values[i] = value(p)
	}
	return values
}

// joinBodies joins the bodies of a batch in buf, and tells where each begins, counted from one as SQL does.
func joinBodies(buf []byte, batch []*pendingReport) (bodies []byte, at []int32) {
	bodies, at = buf[:0], make([]int32, len(batch))
	for i, p := range batch {
		at[i] = int32(len(bodies) + 1) //nolint:gosec // a batch ends long before
		bodies = append(bodies, p.body...)
	}
	return bodies, at
}
