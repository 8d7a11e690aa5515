-- Since when a version is in use is a fact of the reports' own dates: an import, or machines that were offline, bring reports
-- of weeks ago on one day. Reports are counted by day for as long as their counts are kept; of older ones, only the arrival of
-- the first is known. On ten million reports this takes about a minute: all rows of report_days are read once.
alter table package_versions add column first_day date not null default (now() at time zone 'utc')::date;

update package_versions set first_day = (arrived at time zone 'utc')::date;

update package_versions as v set first_day = least(v.first_day, d.day)
from (select package, release, version, min(day) as day from report_days where reports > 0 group by package, release, version) as d
where v.package = d.package and v.release = d.release and v.version = d.version;
