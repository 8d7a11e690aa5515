-- Reports by hour, for the first weeks of an update or release. Counts the reports of the last 70 days: some seconds
-- per million. Months in archives and dropped months are left out. Reports that instances of an earlier version count
-- after this are missing; "mishap check --repair" counts them.
create table report_hours (
    package text        not null,
    release text        not null,
    hour    timestamptz not null,
    version text        not null,
    reports bigint      not null,
    primary key (package, release, hour, version)
) with (fillfactor = 80);
create table release_hours (
    release text        not null,
    hour    timestamptz not null,
    reports bigint      not null,
    primary key (release, hour)
) with (fillfactor = 80);
alter table counting add column hours_since date;

comment on table report_hours is 'Counted reports by hour: parts of report_days. Written by rounds, kept for 70 days.';
comment on column report_hours.package is 'Binary package; empty: unknown.';
comment on column report_hours.release is 'The release; empty: none named.';
comment on column report_hours.hour is 'Hour of the crash, or of the arrival if that decides on the day.';
comment on column report_hours.version is 'Version of the package; empty: none named.';
comment on column report_hours.reports is 'Number of counted reports.';
comment on table release_hours is 'The sums of report_hours over packages and versions.';
comment on column release_hours.release is 'The release; empty: none named.';
comment on column release_hours.hour is 'Beginning of the hour, as in report_hours.';
comment on column release_hours.reports is 'Number of counted reports.';
comment on column counting.hours_since is 'First UTC day of which report_hours has all reports.';

insert into report_hours (package, release, hour, version, reports)
select package, release, date_trunc('hour',
    case when (occurred at time zone 'UTC')::date = day then occurred else received end, 'UTC') as hour,
    version, count(*)
from reports
where received >= now() - interval '71 days' and day >= (now() at time zone 'UTC')::date - 70 and counted
    and id not in (select unnest(u.reports) from uncounted as u)
group by package, release, hour, version;
insert into release_hours (release, hour, reports)
select release, hour, sum(reports) from report_hours group by release, hour;
update counting set hours_since = case when exists (select from buckets) or exists (select from report_days) then
    greatest((now() at time zone 'UTC')::date - 70,
        (select (max(month) + interval '1 month 1 day')::date from dropped_months))
    else '1970-01-01' end;
alter table counting alter column hours_since set not null;

-- The hours of hidden problems, from their reports. Days before the last dropped month are unknown to those who must
-- not see some problems.
create view visible.hidden_hours as
    select b.package, r.release, r.version, date_trunc('hour',
        case when (r.occurred at time zone 'UTC')::date = r.day then r.occurred else r.received end, 'UTC') as hour,
        count(*) as reports
    from buckets as b join reports as r on r.bucket_id = b.id
    where b.id = any (((select visible.hidden())::bytea[])) and r.counted and r.received >= now() - interval '72 days'
        and r.id not in (select unnest(u.reports) from uncounted as u)
    group by 1, 2, 3, 4;
comment on view visible.hidden_hours is 'Reports of hidden problems, in the cells of report_hours.';
create view visible.report_hours as
    select d.package, d.release, d.hour, d.version, d.reports - coalesce(h.reports, 0) as reports
    from report_hours as d left join visible.hidden_hours as h
        on h.package = d.package and h.release = d.release and h.hour = d.hour and h.version = d.version
    where d.reports > coalesce(h.reports, 0);
create view visible.release_hours as
    select d.release, d.hour, d.reports - coalesce(h.reports, 0) as reports
    from release_hours as d left join (
        select release, hour, sum(reports)::bigint as reports from visible.hidden_hours group by release, hour
    ) as h on h.release = d.release and h.hour = d.hour
    where d.reports > coalesce(h.reports, 0);
create view hours_known as select hours_since as since from counting;
comment on view hours_known is 'First UTC day of which report_hours has all reports.';
create view visible.hours_known as
    select greatest(hours_since,
        (select (max(month) + interval '1 month 1 day')::date from dropped_months)) as since
    from counting;
