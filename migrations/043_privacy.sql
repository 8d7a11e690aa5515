-- Holds of problems, and runs over stored reports that check, drop or remove fields. Instant: the
-- tables are new.
create table holds (
    id          bigint      generated always as identity primary key,
    bucket_id   bytea       not null check (length(bucket_id) = 20),
    person      text        not null,
    reason      text        not null,
    at          timestamptz not null,
    lifted_by   text        not null default '',
    lifted_at   timestamptz
);
create unique index holds_standing on holds (bucket_id) where lifted_at is null;
create index holds_bucket on holds (bucket_id);

create trigger note_row after insert or delete on holds for each row execute function note_change();
create trigger note_update after update on holds for each row when (old.* is distinct from new.*) execute function note_change();

comment on table holds is 'Problems of whose reports and core dumps nothing is removed because of its age. A row stands while lifted_at is null. A problem is held if a row stands for any of its buckets. Rows are not deleted.';
comment on column holds.id is 'Number of the entry.';
comment on column holds.bucket_id is 'The bucket. If it was merged since, the entry counts for the problem that it belongs to now. No foreign key, as with triage.';
comment on column holds.person is 'Account name; empty: mishap itself, which has moved reports of a held problem.';
comment on column holds.reason is 'Why; empty: not given.';
comment on column holds.at is 'When it began.';
comment on column holds.lifted_by is 'Account name of the person who lifted it; empty: it was not lifted.';
comment on column holds.lifted_at is 'When it was lifted. Null: it stands.';

create view visible.holds as select * from holds
    where coalesce(bucket_id <> all (((select visible.hidden())::bytea[])), true);

create table privacy_runs (
    id          bigint      generated always as identity primary key,
    kind        text        not null check (kind in ('check', 'apply', 'expire')),
    person      text        not null,
    fields      text        not null,
    started     timestamptz not null,
    updated     timestamptz not null,
    until       timestamptz not null,
    received    timestamptz not null default '0001-01-01',
    report_id   uuid        not null default '00000000-0000-0000-0000-000000000000',
    estimate    bigint      not null,
    looked_at   bigint      not null default 0,
    secret      bigint      not null default 0,
    private     bigint      not null default 0,
    changed     bigint      not null default 0,
    held        bigint      not null default 0,
    found       jsonb       not null default '{}',
    finished    timestamptz
);
create unique index privacy_runs_running on privacy_runs ((true)) where finished is null;

comment on table privacy_runs is 'Runs over stored reports that compare their fields with the table of classes. At most one is unfinished.';
comment on column privacy_runs.id is 'Number of the run.';
comment on column privacy_runs.kind is 'check: only counts; apply: removes secret fields; expire: removes private fields of old reports.';
comment on column privacy_runs.person is 'Account that started it; empty: mishap itself, or the command line.';
comment on column privacy_runs.fields is 'Hash of the table of classes at its start. If the table has changed since, the run ends.';
comment on column privacy_runs.started is 'When it started.';
comment on column privacy_runs.updated is 'When it last made progress.';
comment on column privacy_runs.until is 'Only reports that arrived before this time are examined.';
comment on column privacy_runs.received is 'Arrival of the report examined last.';
comment on column privacy_runs.report_id is 'The report examined last. Not a reference: retention may drop the report.';
comment on column privacy_runs.estimate is 'Approximate number of reports at the start.';
comment on column privacy_runs.looked_at is 'Number of reports examined so far.';
comment on column privacy_runs.secret is 'Number of these that had secret fields.';
comment on column privacy_runs.private is 'Number of these that had private fields.';
comment on column privacy_runs.changed is 'Number of these that lost fields.';
comment on column privacy_runs.held is 'Number of these that would have lost fields, but belong to held problems.';
comment on column privacy_runs.found is 'Number of reports with each secret and each private field, by class and name; at most 200 names of a class.';
comment on column privacy_runs.finished is 'When it ended. Null: it has not.';
