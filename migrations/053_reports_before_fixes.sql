-- What decisions "fixed in" from before 049 lack: how many reports there were when they were made. Those of days up to that
-- of the decision count. Decisions are few.
update triage as t set seen = s.seen
from (
    select id, jsonb_object_agg(release, versions) as seen
    from (
        select f.id, d.release, jsonb_object_agg(d.version, d.reports) as versions
        from triage as f join buckets as b on b.id = f.bucket_id cross join lateral (
            select release, version, sum(reports)::bigint as reports from bucket_days
            where bucket_id in (select id from buckets where head = b.head) and day <= (f.at at time zone 'UTC')::date
            group by release, version having sum(reports) > 0
        ) as d
        where f.kind = 'fixed' and f.seen = '{}'
        group by f.id, d.release
    ) as releases
    group by id
) as s
where s.id = t.id;
