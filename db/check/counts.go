package check

// comparison compares one kind of count with the reports.
type comparison struct{ count, sql string }

// compared makes a comparison of two queries with the columns key, n and of a day (null: no day); text columns make a name
// of the key for people. A kept count of reports that may have been dropped must be at least what is left gives.
func compared(count, kept, recounted string) comparison {
	return comparison{count, `
		with kept as materialized (` + kept + `), recounted as materialized (` + recounted + `), both_sides as materialized (
			select coalesce(k.key, r.key) as key, k.n as kept, r.n as recounted, coalesce(k.day, r.day) as day
			from kept as k full join recounted as r on r.key = k.key
		), wrong as materialized (
			select key, kept, recounted from both_sides
			where case when @dropped and (day is null or day < @exact::date) then coalesce(kept, 0) < coalesce(recounted, 0)
				else coalesce(kept, 0) <> coalesce(recounted, 0) end
		), numbers as (
			select (select count(*) from both_sides) as looked, (select count(*) from wrong) as differ
		)
		select w.key, w.kept::text, w.recounted::text, numbers.looked, numbers.differ
		from numbers left join (select * from wrong order by key limit @most) as w on true`}
}

const (
	ofBuckets = ` where (@everything or bucket_id in (select id from check_buckets))`
	ofReports = ` from check_reports where counted and bucket_id in (select id from check_buckets)`
	ofDays    = ` where (@everything or day = any(@days::date[]))`
	ofDay     = ` from check_reports where counted and (@everything or day = any(@days::date[]))`

	bucketKey = `substr(encode(bucket_id, 'hex'), 1, 40)`
	cellKey   = bucketKey + ` || ' ' || release || ' · ' || version`
	travelKey = bucketKey + ` || ' ' || version || ' · ' || `
	dayKey    = bucketKey +
		` || ' ' || day || ' ' || release || ' · ' || version || ' · ' || architecture || ' · ' || package_architecture`
	reportKey = `package || ' ' || day || ' ' || release || ' · ' || version || ' · ' || architecture || ' · ' || problem_type || ' ' || proposed`
	totalKey  = `day || ' ' || release || ' · ' || architecture || ' · ' || problem_type || ' ' || proposed`
)

// Spans by the definition of release_systems: days with a report, each with the 89 that follow, joined where they touch.
const spansAgain = `
	select release, system_key, min(day) as from_day, max(day) + 89 as until_day
	from (
		select release, system_key, day, sum(case when day > before + 90 or before is null then 1 else 0 end)
			over (partition by release, system_key order by day) as island
		from (
			select release, system_key, day, lag(day) over (partition by release, system_key order by day) as before
			from (select distinct release, system_key, day from check_reports where counted and system_key is not null) as d
		) as l
	) as i group by release, system_key, island`

var comparisons = []comparison{
	compared("reports of a problem",
		`select `+bucketKey+
			` as key, reports as n, null::date as day from (select id as bucket_id, reports from buckets) as b`+ofBuckets,
		`select `+bucketKey+` as key, count(*) as n, null::date as day`+ofReports+` group by bucket_id`),
	compared("machines of a problem",
		`select `+bucketKey+
			` as key, systems as n, null::date as day from (select id as bucket_id, systems from buckets) as b`+ofBuckets,
		`select `+bucketKey+` as key, count(distinct system_key) as n, null::date as day`+ofReports+` group by bucket_id`),
	compared("reports of a problem by version",
		`select `+cellKey+` as key, reports as n, null::date as day from bucket_versions`+ofBuckets,
		`select `+cellKey+` as key, count(*) as n, null::date as day`+ofReports+` group by bucket_id, release, version`),
	compared("machines of a problem by version",
		`select `+cellKey+` as key, systems as n, null::date as day from bucket_versions`+ofBuckets,
		`select `+cellKey+` as key, count(distinct system_key) as n, null::date as day`+ofReports+
			` group by bucket_id, release, version`),
	compared("reports of a machine in a problem",
		`select `+cellKey+` || ' · ' || system as key, reports as n, null::date as day from bucket_systems`+ofBuckets,
		`select `+cellKey+` || ' · ' || system_key as key, count(*) as n, null::date as day`+ofReports+
			` and system_key is not null group by bucket_id, release, version, system_key`),
	compared("releases of a machine with a version of a problem, beyond the first",
		`select `+travelKey+`system as key, extra as n, null::date as day from bucket_travellers`+ofBuckets,
		`select `+travelKey+`system_key as key, count(distinct release) - 1 as n, null::date as day`+ofReports+
			` and system_key is not null group by bucket_id, version, system_key having count(distinct release) > 1`),
	compared("reports of a problem by day",
		`select `+dayKey+` as key, reports as n, day from bucket_days`+ofBuckets,
		`select `+dayKey+` as key, count(*) as n, day`+ofReports+
			` group by bucket_id, day, release, version, architecture, package_architecture`),
	compared("reports of a problem by day from the proposed pocket",
		`select `+dayKey+` as key, proposed as n, day from bucket_days`+ofBuckets,
		`select `+dayKey+` as key, count(*) filter (where proposed) as n, day`+ofReports+
			` group by bucket_id, day, release, version, architecture, package_architecture`),
	compared("reports of a package by day",
		`select `+reportKey+` as key, reports as n, day from report_days`+ofDays,
		`select `+reportKey+` as key, count(*) as n, day`+ofDay+
			` group by day, release, package, version, architecture, problem_type, proposed`),
	compared("reports of a release by day",
		`select `+totalKey+` as key, reports as n, day from release_days`+ofDays,
		`select `+totalKey+` as key, count(*) as n, day`+ofDay+
			` group by day, release, architecture, problem_type, proposed`),
	activityCheck,
}

// activityCheck compares the numbers of active machines by release and day: those kept, as sums of changes, and those that
// the spans give that follow from the reports. A sample of reports says nothing about them, so then the kept spans are added
// up instead of counted again.
var activityCheck = comparison{"active machines of a release by day", `
	with again as materialized (` + spansAgain + `), spans as materialized (
		select release, from_day, until_day from release_systems where not @everything
		union all select release, from_day, until_day from again where @everything
	), recounted as materialized (
		select release, day, sum(n) as n from (
			select release, from_day as day, 1 as n from spans union all select release, until_day + 1, -1 from spans
		) as c group by release, day
	), both_sides as materialized (
		select coalesce(k.release, r.release) as release, coalesce(k.day, r.day) as day, coalesce(k.change, 0) as kept, coalesce(r.n, 0) as recounted
		from release_active as k full join recounted as r on r.release = k.release and r.day = k.day
	), wrong as materialized (
		select release || ' ' || day as key, kept, recounted from both_sides where kept <> recounted and not (@dropped and @everything)
	)
	select w.key, w.kept::text, w.recounted::text, (select count(*) from both_sides), (select count(*) from wrong)
	from (select 1) as one left join (select * from wrong order by key limit @most) as w on true`}
