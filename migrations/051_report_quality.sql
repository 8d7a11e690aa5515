-- How much each report says about its crash, by which the representative report of a problem is chosen. The column is
-- instant; the indexes take a pass over reports. Mishap decides the quality of stored reports after the upgrade.
alter table reports add column quality smallint;
create index reports_quality on reports (bucket_id, quality desc, received desc, id desc) where quality > 0;
create index reports_undecided on reports (received, id) where quality is null;
comment on column reports.quality is 'How much the report says about its crash. 0: nothing. 1: something, but no names of functions. 2 to 100: so many per cent of the functions have names. Null: not decided yet.';
create or replace view visible.reports as select * from reports
    where coalesce(bucket_id <> all (((select visible.hidden())::bytea[])), true);
