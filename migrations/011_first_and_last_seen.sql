-- When a problem was first and last seen, with the version of the same report, by release.

-- An occurrence is what one report says: when its crash happened (or, where its own date does not count, when it arrived)
-- and in which version. Rows compare column by column, so least() and greatest() keep the oldest and the newest report. Of
-- reports of one time the lowest version counts as the first and the highest as the last, whichever arrived first.
create type occurrence as (seen timestamptz, version_key bytea, version text collate "C");
create type package_version as (key bytea, version text collate "C");

-- What the counted reports of a bucket from one release say. The facts of the whole bucket follow from its rows here.
create table bucket_releases (
    bucket_id       bytea      not null,
    release         text       collate "C" not null,  -- empty: the reports name none
    first_seen      occurrence not null,              -- the oldest report
    last_seen       occurrence not null,              -- the newest report
    lowest_version  package_version,                  -- null: no version that dpkg can compare
    highest_version package_version,
    primary key (bucket_id, release)
) with (fillfactor = 80);

-- The rows for what is counted already. This reads the table of reports twice, without the bodies. A million reports took
-- half a minute on two busy cores, so ten million take a few minutes.
create temporary table stored_ends on commit drop as
    with stored as (
        select bucket_id, release, version, case when (occurred at time zone 'UTC')::date = day then occurred else received end as seen
        from reports
        where counted and bucket_id is not null and id not in (select unnest(reports) from uncounted)
    ), spans as materialized (
        select bucket_id, release, min(seen) as first_seen, max(seen) as last_seen from stored group by bucket_id, release
    ), ends as (
        select s.bucket_id, s.release, row(s.seen, coalesce(v.version_key, ''), s.version)::occurrence as occurrence
        from spans
            join stored as s on s.bucket_id = spans.bucket_id and s.release = spans.release and s.seen in (spans.first_seen, spans.last_seen)
            left join bucket_versions as v on v.bucket_id = s.bucket_id and v.release = s.release and v.version = s.version
    )
    select bucket_id, release, (array_agg(occurrence order by occurrence))[1] as first_seen,
        (array_agg(occurrence order by occurrence desc))[1] as last_seen
    from ends group by bucket_id, release;

-- Where retention has dropped reports, the days on which they counted remain, with their versions.
create temporary table day_ends on commit drop as
    with spans as materialized (
        select bucket_id, release, min(day) as first_day, max(day) as last_day from bucket_days
        where exists (select from dropped_months)
        group by bucket_id, release
    ), ends as (
        select d.bucket_id, d.release, d.day, coalesce(v.version_key, '') as version_key, d.version
        from spans
            join bucket_days as d on d.bucket_id = spans.bucket_id and d.release = spans.release and d.day in (spans.first_day, spans.last_day)
            left join bucket_versions as v on v.bucket_id = d.bucket_id and v.release = d.release and v.version = d.version
    )
    select e.bucket_id, e.release, min(e.day) as first_day, max(e.day) as last_day,
        (array_agg(e.version_key order by e.day, e.version_key, e.version collate "C"))[1] as first_key,
        (array_agg(e.version order by e.day, e.version_key, e.version collate "C"))[1] as first_version,
        (array_agg(e.version_key order by e.day desc, e.version_key desc, e.version collate "C" desc))[1] as last_key,
        (array_agg(e.version order by e.day desc, e.version_key desc, e.version collate "C" desc))[1] as last_version
    from ends as e group by e.bucket_id, e.release;

insert into bucket_releases (bucket_id, release, first_seen, last_seen, lowest_version, highest_version)
    select v.bucket_id, v.release,
        case when s.first_seen is null or d.first_day < ((s.first_seen).seen at time zone 'UTC')::date
            then row(case when (b.first_seen at time zone 'UTC')::date = d.first_day then b.first_seen else coalesce(d.first_day::timestamp at time zone 'UTC', b.first_seen) end,
                coalesce(d.first_key, ''), coalesce(d.first_version, ''))::occurrence
            else s.first_seen end,
        case when s.last_seen is null or d.last_day > ((s.last_seen).seen at time zone 'UTC')::date
            then row(case when (b.last_seen at time zone 'UTC')::date = d.last_day then b.last_seen else coalesce(d.last_day::timestamp at time zone 'UTC', b.last_seen) end,
                coalesce(d.last_key, ''), coalesce(d.last_version, ''))::occurrence
            else s.last_seen end,
        v.lowest_version, v.highest_version
    from (
            select bucket_id, release,
                (array_agg(row(version_key, version)::package_version order by version_key, version collate "C")
                    filter (where version_key is not null))[1] as lowest_version,
                (array_agg(row(version_key, version)::package_version order by version_key desc, version collate "C" desc)
                    filter (where version_key is not null))[1] as highest_version
            from bucket_versions group by bucket_id, release
        ) as v
        join buckets as b on b.id = v.bucket_id
        left join stored_ends as s on s.bucket_id = v.bucket_id and s.release = v.release
        left join day_ends as d on d.bucket_id = v.bucket_id and d.release = v.release
    order by v.bucket_id, v.release;

alter table buckets drop column first_seen, drop column last_seen;

analyze bucket_releases;
