-- Reports whose full text is not stored, because their problem has enough of that month (keep_bodies_per_problem). The column
-- is instant. The index is built for the months that are not over, during which their reports wait: about two seconds for a
-- million. Older months have all bodies, and need none.
alter table reports alter column body drop not null;
alter table counting add column bodies_since timestamptz;

create index reports_in_full on only reports (bucket_id, received desc, id desc) where body is not null;
do $$
declare part regclass;
begin
    for part in select c.oid::regclass from pg_inherits as i join pg_class as c on c.oid = i.inhrelid
        where i.inhparent = 'reports'::regclass and c.relkind = 'r' and c.relname >= 'reports_' || to_char(now(), 'YYYY_MM')
    loop
        execute format('create index %I on %s (bucket_id, received desc, id desc) where body is not null', part || '_in_full', part);
        execute format('alter index reports_in_full attach partition %I', part || '_in_full');
    end loop;
end $$;

create table bucket_bodies (
    bucket_id    bytea     not null,
    month        date      not null,
    reports      bigint    not null,
    kept         bigint    not null,
    slots        bytea     not null default '',
    combinations bytea     not null default '',
    primary key (bucket_id, month)
) with (fillfactor = 80);

-- How new grouping rules group reports with a body: those without follow them.
create table regroup_followed (
    run_id       bigint  not null references regroup_runs (id),
    from_id      bytea   not null,
    version      text    not null,
    release      text    not null,
    architecture text    not null,
    to_signature text    not null,
    rule         text    not null,
    provisional  boolean not null,
    reason       text    not null,
    primary key (run_id, from_id, version, release, architecture)
);

comment on column reports.body is 'All fields, each name and value after its length, compressed by S2. Stored outside the row and not compressed again. Null: not stored, because the problem had enough of that month.';
comment on column reports.quality is 'How much the report says about its crash. 0: nothing, or it has no body. 1: something, but no names of functions. 2 to 100: so many per cent of the functions have names. Null: not decided yet.';
comment on column counting.bodies_since is 'When keep_bodies_per_problem was set for the first time: reports that arrived since count in bucket_bodies. Null: never.';
comment on table bucket_bodies is 'How many reports of a bucket arrived in a month, and of how many the body is stored. Only reports since counting.bodies_since. Written by rounds, read when reports are stored.';
comment on column bucket_bodies.bucket_id is 'The bucket.';
comment on column bucket_bodies.month is 'First day of the month of arrival, in UTC.';
comment on column bucket_bodies.reports is 'Number of counted reports.';
comment on column bucket_bodies.kept is 'Number of those with a body.';
comment on column bucket_bodies.slots is 'Bits of the places for a hash of the machine that are taken. There are half as many as keep_bodies_per_problem says.';
comment on column bucket_bodies.combinations is 'Hashes, of four bytes each, of the combinations of version, release and architecture that have a body.';
comment on table regroup_followed is 'How a run of new grouping rules has grouped the last report with a body of a bucket, version, release and architecture. Reports without a body follow it. Rows are deleted at the end of the run.';
comment on column regroup_followed.run_id is 'The run.';
comment on column regroup_followed.from_id is 'Bucket of the report before the run.';
comment on column regroup_followed.version is 'Version of the package.';
comment on column regroup_followed.release is 'The release.';
comment on column regroup_followed.architecture is 'Architecture of the machine.';
comment on column regroup_followed.to_signature is 'Its new signature; empty: no rule applied.';
comment on column regroup_followed.rule is 'The rule that applied.';
comment on column regroup_followed.provisional is 'Whether the signature is provisional.';
comment on column regroup_followed.reason is 'Why no rule applied; empty when one did.';
