package db

import (
	"time"

	"github.com/jackc/pgx/v5"
)

// sqlSaveReports stores a batch and counts what is new in it, as one statement and so in one transaction and one round
// trip. It returns the ids of the reports that were stored now.
//
//   - keys: of several sendings of one crash the first wins, within the batch and across all units.
//   - stored, fresh: everything below counts only what was stored by this statement, so that the counts follow the
//     reports exactly, whatever is sent or tried twice.
//   - package_rows: most reports are of a version that is known, and then nothing is written.
//   - described: a bucket is described by its newest counted report; one of a test machine only when it comes first.
//   - Rows that many statements touch are taken in the order of their keys, so that two writers do not wait for each
//     other in a circle.
const sqlSaveReports = `
with input as materialized (
	select * from unnest(
		@id::uuid[], @received::timestamptz[], @occurred::timestamptz[], @seen::timestamptz[], @day::date[], @counted::boolean[],
		@system::text[], @system_key::bytea[], @key::bytea[],
		@bucket_id::bytea[], @signature::text[], @provisional::boolean[], @unbucketed::text[], @rule::text[],
		@problem_type::text[], @title::text[], @executable::text[], @package::text[], @version::text[], @version_key::bytea[],
		@source_package::text[], @release::text[], @release_key::text[], @architecture::text[], @package_architecture::text[],
		@address_signature::text[], @proposed::boolean[], @complete::boolean[], @body::bytea[]
	) as t (
		id, received, occurred, seen, day, counted, system, system_key, key,
		bucket_id, signature, provisional, unbucketed, rule,
		problem_type, title, executable, package, version, version_key,
		source_package, release, release_key, architecture, package_architecture,
		address_signature, proposed, complete, body
	)
), keys as (
	insert into report_keys (key, report_id)
	select distinct on (key) key, id from input where key is not null order by key, id
	on conflict do nothing
	returning report_id
), stored as (
	insert into reports (
		id, received, occurred, day, counted, system, bucket_id, unbucketed, rule, problem_type, title, executable,
		package, version, source_package, release, architecture, package_architecture, address_signature, proposed,
		complete, body)
	select id, received, occurred, day, counted, system, bucket_id, unbucketed, rule, problem_type, title, executable,
		package, version, source_package, release, architecture, package_architecture, address_signature, proposed,
		complete, body
	from input
	where key is null or id in (select report_id from keys)
	on conflict do nothing
	returning id
), fresh as materialized (
	select id, day, counted, system_key, bucket_id, signature, provisional, rule, problem_type, title, executable,
		package, source_package, version, version_key, release, architecture, proposed, seen, received,
		case when version_key is not null then row(version_key, release_key, version, release)::version_seen end as at_version,
		case when release <> '' then row(release_key, release)::release_seen end as at_release
	from input join stored using (id)
), counted as materialized (
	select * from fresh where counted and bucket_id is not null
), new_systems as (
	insert into bucket_systems (bucket_id, system)
	select distinct bucket_id, system_key from counted where system_key is not null order by bucket_id, system_key
	on conflict do nothing
	returning bucket_id
), described as (
	select distinct on (bucket_id)
		bucket_id, signature, rule, provisional, problem_type, title, executable, package, source_package
	from fresh where bucket_id is not null
	order by bucket_id, counted desc, title = '', id desc
), summed as (
	select bucket_id, count(*) as reports, min(seen) as first_seen, max(seen) as last_seen,
		(array_agg(at_version order by at_version) filter (where at_version is not null))[1] as first_version,
		(array_agg(at_version order by at_version desc) filter (where at_version is not null))[1] as last_version,
		(array_agg(at_release order by at_release) filter (where at_release is not null))[1] as first_release,
		(array_agg(at_release order by at_release desc) filter (where at_release is not null))[1] as last_release
	from counted group by bucket_id
), bucket_rows as (
	insert into buckets as b (
		id, signature, rule, provisional, problem_type, title, executable, package, source_package,
		reports, systems, first_seen, last_seen, first_version, last_version, first_release, last_release)
	select bucket_id, signature, rule, provisional, problem_type, title, executable, package, source_package,
		coalesce(reports, 0), coalesce(systems, 0), first_seen, last_seen, first_version, last_version, first_release, last_release
	from described
		left join summed using (bucket_id)
		left join (select bucket_id, count(*) as systems from new_systems group by bucket_id) as n using (bucket_id)
	order by bucket_id
	on conflict (id) do update set
		problem_type   = case when excluded.reports = 0 then b.problem_type else excluded.problem_type end,
		title          = case when excluded.reports = 0 or excluded.title = '' then b.title else excluded.title end,
		executable     = case when excluded.reports = 0 or excluded.executable = '' then b.executable else excluded.executable end,
		package        = case when excluded.reports = 0 or excluded.package = '' then b.package else excluded.package end,
		source_package = case when excluded.reports = 0 or excluded.source_package = '' then b.source_package else excluded.source_package end,
		reports        = b.reports + excluded.reports,
		systems        = b.systems + excluded.systems,
		first_seen     = least(b.first_seen, excluded.first_seen),
		last_seen      = greatest(b.last_seen, excluded.last_seen),
		first_version  = least(b.first_version, excluded.first_version),
		last_version   = greatest(b.last_version, excluded.last_version),
		first_release  = least(b.first_release, excluded.first_release),
		last_release   = greatest(b.last_release, excluded.last_release)
), version_rows as (
	insert into bucket_versions as b (bucket_id, release, version, version_key, reports)
	select bucket_id, release, version, version_key, count(*) from counted
	group by bucket_id, release, version, version_key order by bucket_id, release, version
	on conflict (bucket_id, release, version) do update set reports = b.reports + excluded.reports
), day_rows as (
	insert into bucket_days as b (bucket_id, day, release, version, architecture, reports)
	select bucket_id, day, release, version, architecture, count(*) from counted
	group by bucket_id, day, release, version, architecture order by bucket_id, day, release, version, architecture
	on conflict (bucket_id, day, release, version, architecture) do update set reports = b.reports + excluded.reports
), total_rows as (
	insert into bucket_day_totals as b (day, release, bucket_id, reports)
	select day, release, bucket_id, count(*) from counted
	group by day, release, bucket_id order by day, release, bucket_id
	on conflict (day, release, bucket_id) do update set reports = b.reports + excluded.reports
), report_rows as (
	insert into report_days as b (day, release, package, version, architecture, problem_type, proposed, reports)
	select day, release, package, version, architecture, problem_type, proposed, count(*) from fresh where counted
	group by day, release, package, version, architecture, problem_type, proposed
	order by day, release, package, version, architecture, problem_type, proposed
	on conflict (day, release, package, version, architecture, problem_type, proposed)
	do update set reports = b.reports + excluded.reports
), package_rows as (
	insert into package_versions as v (package, release, version, version_key, arrived)
	select package, release, version, version_key, min(received) from fresh as f
	where counted and package <> '' and version_key is not null and not exists (
		select from package_versions as v
		where v.package = f.package and v.release = f.release and v.version = f.version and v.arrived <= f.received)
	group by package, release, version, version_key order by package, release, version
	on conflict (package, release, version) do update set arrived = least(v.arrived, excluded.arrived)
), release_rows as (
	insert into releases (release)
	select distinct release from fresh where counted and release <> '' order by release
	on conflict do nothing
)
select id from stored`

// sqlFirstReports finds the reports that were stored for these crashes before.
const sqlFirstReports = `select key, report_id from report_keys where key = any(@keys::bytea[])`

// batchArgs gives each argument of sqlSaveReports as one array over the batch.
func batchArgs(batch []*pendingReport) pgx.NamedArgs {
	return pgx.NamedArgs{
		"id":                   each(batch, func(p *pendingReport) [16]byte { return p.ID }),
		"received":             each(batch, func(p *pendingReport) time.Time { return p.Received() }),
		"occurred":             each(batch, func(p *pendingReport) *time.Time { return p.occurred }),
		"seen":                 each(batch, func(p *pendingReport) time.Time { return p.seen }),
		"day":                  each(batch, func(p *pendingReport) time.Time { return p.Day }),
		"counted":              each(batch, func(p *pendingReport) bool { return p.Counted }),
		"system":               each(batch, func(p *pendingReport) string { return string(p.System) }),
		"system_key":           each(batch, func(p *pendingReport) []byte { return p.systemKey }),
		"key":                  each(batch, func(p *pendingReport) []byte { return p.duplicateKey }),
		"bucket_id":            each(batch, func(p *pendingReport) []byte { return p.bucketID }),
		"signature":            each(batch, func(p *pendingReport) string { return p.Grouping.Signature }),
		"provisional":          each(batch, func(p *pendingReport) bool { return p.Grouping.Provisional }),
		"unbucketed":           each(batch, func(p *pendingReport) string { return p.Grouping.Reason }),
		"rule":                 each(batch, func(p *pendingReport) string { return string(p.Grouping.Rule) }),
		"problem_type":         each(batch, func(p *pendingReport) string { return p.ProblemType }),
		"title":                each(batch, func(p *pendingReport) string { return p.Title }),
		"executable":           each(batch, func(p *pendingReport) string { return p.Executable }),
		"package":              each(batch, func(p *pendingReport) string { return p.Package }),
		"version":              each(batch, func(p *pendingReport) string { return p.Version }),
		"version_key":          each(batch, func(p *pendingReport) []byte { return p.versionKey }),
		"source_package":       each(batch, func(p *pendingReport) string { return p.SourcePackage }),
		"release":              each(batch, func(p *pendingReport) string { return string(p.Release) }),
		"release_key":          each(batch, func(p *pendingReport) string { return p.releaseKey }),
		"architecture":         each(batch, func(p *pendingReport) string { return p.Architecture }),
		"package_architecture": each(batch, func(p *pendingReport) string { return p.PackageArchitecture }),
		"address_signature":    each(batch, func(p *pendingReport) string { return p.AddressSignature }),
		"proposed":             each(batch, func(p *pendingReport) bool { return p.Proposed }),
		"complete":             each(batch, func(p *pendingReport) bool { return p.Complete }),
		"body":                 each(batch, func(p *pendingReport) []byte { return p.body }),
	}
}

func each[T any](batch []*pendingReport, value func(*pendingReport) T) []T {
	values := make([]T, len(batch))
	for i, p := range batch {
		values[i] = value(p)
	}
	return values
}
