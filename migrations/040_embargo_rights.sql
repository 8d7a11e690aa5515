-- The upgrade to 036 gave the right to private data to everyone who had a role before. That right
-- also shows embargoed problems, which nobody decided. These grants lose that part until an
-- administrator confirms them. A summary to an endpoint waits while it includes an embargoed
-- problem. Instant: grants are few, and views have no rows of their own.
alter table group_grants add column embargoed boolean not null default true;
alter table account_grants add column embargoed boolean not null default true;

comment on column group_grants.embargoed is 'With private: the grant also shows embargoed problems. False: an upgrade gave the right, and no administrator has confirmed it.';
comment on column account_grants.embargoed is 'As in group_grants.';

-- A person or a command that grants private leaves a record; the upgrade left none.
update group_grants as g set embargoed = false
where role = 'private' and scope = 'everything' and not exists (
    select from audit_events as e where e.action = 'access.grant' and e.subject = g.source || ' ' || g.group_name
        and e.after ->> 'role' = 'private');
update account_grants as g set embargoed = false from users as u
where u.id = g.user_id and g.role = 'private' and scope = 'everything' and not exists (
    select from audit_events as e where e.action = 'access.grant' and lower(e.subject) = lower('account ' || u.name)
        and e.after ->> 'role' = 'private');

create or replace view visible.deliveries as select * from deliveries
    where not exists (
        select from events as p where p.id = deliveries.event_id and p.bucket_id = any (((select visible.hidden())::bytea[])))
    and not exists (
        select from deliveries as d join events as p on p.id = d.event_id
        where d.summary = deliveries.id and p.bucket_id = any (((select visible.hidden())::bytea[])));
