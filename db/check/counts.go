package check

// comparison compares a kind of stored counts with the reports. count names the kind for people.
type comparison struct{ count, sql string }

// compared returns a comparison of two queries with the columns key, n and day. The key is a text
// for people, and day is null for counts that do not depend on the day. A stored count may be
// larger than the recounted one if reports of its day may have been dropped.
func compared(count, stored, recounted string) comparison {
	return comparison{count, `
		with stored as materialized (` + stored + `), recounted as materialized (` + recounted + `),
		both_sides as materialized (
			select coalesce(s.key, r.key) as key, s.n as stored, r.n as recounted, coalesce(s.day, r.day) as day
			from stored as s full join recounted as r on r.key = s.key
		), wrong as materialized (
			select key, stored, recounted from both_sides
			where case when @dropped and (day is null or day < @exact::date) then coalesce(stored, 0) < coalesce(recounted, 0)
				else coalesce(stored, 0) <> coalesce(recounted, 0) end
		), numbers as (
			select (select count(*) from both_sides) as looked, (select count(*) from wrong) as differ
		)
		select w.key, w.stored::text, w.recounted::text, numbers.looked, numbers.differ
		from numbers left join (select * from wrong order by key limit @most) as w on true`}
}

const (
	ofBuckets = ` where (@everything or bucket_id in (select id from check_buckets))`
	ofReports = ` from check_reports where counted and bucket_id in (select id from check_buckets)`
	ofDays    = ` where (@everything or day = any(@days::date[]))`
	ofDay     = ` from check_reports where counted and (@everything or day = any(@days::date[]))`

	// notExpired excludes the days of which the counts have expired (expired_counts).
	notExpired = ` and day >= @before::date`

	bucketKey = `substr(encode(bucket_id, 'hex'), 1, 40)`
	cellKey   = bucketKey + ` || ' ' || release || ' · ' || version`
	travelKey = bucketKey + ` || ' ' || version || ' · ' || `
	dayKey    = bucketKey +
		` || ' ' || day || ' ' || release || ' · ' || version || ' · ' || architecture || ' · ' || package_architecture`
	reportKey = `package || ' ' || day || ' ' || release || ' · ' || version || ' · ' || architecture || ' · ' ||
		problem_type || ' ' || proposed`
	totalKey = `day || ' ' || release || ' · ' || architecture || ' · ' || problem_type || ' ' || proposed`
)

// recountedSpans computes the spans of release_systems from reports. Each day with a report starts
// a span of 90 days, and spans that overlap or touch become one.
const recountedSpans = `
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
	compared("reports of a problem by version, and the sum of its days",
		`select `+cellKey+` as key, reports as n, date 'infinity' as day from bucket_versions`+ofBuckets,
		`select `+cellKey+` as key, sum(reports)::bigint as n, date 'infinity' as day from (
			select bucket_id, release, version, reports from bucket_days
			union all select bucket_id, release, version, reports from bucket_expired
		) as d`+ofBuckets+` group by bucket_id, release, version`),
	compared("reports of a package by day",
		`select `+reportKey+` as key, reports as n, day from report_days`+ofDays+notExpired,
		`select `+reportKey+` as key, count(*) as n, day`+ofDay+notExpired+
			` group by day, release, package, version, architecture, problem_type, proposed`),
	compared("reports of a release by day",
		`select `+totalKey+` as key, reports as n, day from release_days`+ofDays+notExpired,
		`select `+totalKey+` as key, count(*) as n, day`+ofDay+notExpired+
			` group by day, release, architecture, problem_type, proposed`),
	compared("reports of a release by day, and the sum of its packages",
		`select `+totalKey+` as key, reports as n, date 'infinity' as day from release_days`+ofDays+notExpired,
		`select `+totalKey+` as key, sum(reports)::bigint as n, date 'infinity' as day from report_days`+ofDays+notExpired+
			` group by day, release, architecture, problem_type, proposed`),
	activityCheck,
}

// activityCheck compares the numbers of active machines by release and day. The stored numbers are
// sums of changes. Changes on days that have expired count as one on the first day that has not. A
// complete check computes the spans again from the reports. A sample does not contain all reports of a
// machine, so it uses the stored spans.
var activityCheck = comparison{"active machines of a release by day", `
	with again as materialized (` + recountedSpans + `), spans as materialized (
		select release, from_day, until_day from release_systems where not @everything
		union all select release, from_day, until_day from again where @everything
	), recounted as materialized (
		select release, greatest(day, @before::date) as day, sum(n) as n from (
			select release, from_day as day, 1 as n from spans union all select release, until_day + 1, -1 from spans
		) as c group by 1, 2
	), active as materialized (
		select release, greatest(day, @before::date) as day, sum(change) as change from release_active group by 1, 2
	), both_sides as materialized (
		select coalesce(s.release, r.release) as release, coalesce(s.day, r.day) as day,
			coalesce(s.change, 0) as stored, coalesce(r.n, 0) as recounted
		from active as s full join recounted as r on r.release = s.release and r.day = s.day
	), wrong as materialized (
		select release || ' ' || day as key, stored, recounted from both_sides
		where stored <> recounted and not (@dropped and @everything)
	)
	select w.key, w.stored::text, w.recounted::text, (select count(*) from both_sides), (select count(*) from wrong)
	from (select 1) as one left join (select * from wrong order by key limit @most) as w on true`}
