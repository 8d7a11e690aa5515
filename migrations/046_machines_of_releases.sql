-- A machine that was active in several releases counts once in numbers of several releases. Such machines are few, and
-- found by an index of their spans. Spans are also read by machine.
alter table release_systems add column shared boolean not null default false;
comment on column release_systems.shared is 'Whether the machine has spans in other releases, or had.';
update release_systems as s set shared = true
where s.system in (select system from release_systems group by system having min(release) <> max(release));
alter table release_systems drop constraint release_systems_pkey;
alter table release_systems add primary key (system, release, from_day);
create index release_systems_shared on release_systems (system) where shared;

create or replace view visible.release_systems as
    select r.release, r.system, r.from_day, r.until_day, r.shared from release_systems as r
    where not exists (
        select from visible.hidden_machines as h
        where h.release = r.release and h.system = r.system and h.from_day = r.from_day);
