-- The manual status of problems: muted, won't fix, fixed in a version. Instant: the table is new.
create table triage (
    id          bigint      generated always as identity primary key,
    bucket_id   bytea       not null,
    kind        text        not null check (kind in ('muted', 'wontfix', 'fixed')),
    until       jsonb,
    fixes       jsonb,
    seen        jsonb       not null default '{}',
    person      text        not null,
    reason      text        not null,
    at          timestamptz not null,
    undone_by   text        not null default '',
    undone_at   timestamptz,
    ended_at    timestamptz,
    ended_why   text        not null default '',
    replaced_by bigint      references triage (id),
    check ((until is not null) = (kind = 'muted')),
    check ((fixes is not null) = (kind = 'fixed')),
    check (kind = 'muted' or ended_at is null)
);
create index triage_bucket on triage (bucket_id);
create index triage_standing on triage (kind, bucket_id) where undone_at is null and ended_at is null;
create unique index triage_one_each on triage (bucket_id, kind)
    where kind <> 'fixed' and undone_at is null and ended_at is null;
create index triage_replaced on triage (replaced_by) where replaced_by is not null;

create trigger note_row after insert or delete on triage for each row execute function note_change();
create trigger note_update after update on triage for each row when (old.* is distinct from new.*) execute function note_change();

comment on table triage is 'What people and rules have decided about problems, beside the derived status: muted, won''t fix, fixed in a version. Rows are not deleted. A row stands while undone_at and ended_at are null.';
comment on column triage.id is 'Number of the entry.';
comment on column triage.bucket_id is 'The problem when it was decided. If it was merged since, the entry counts for the problem that it belongs to now. No foreign key, as with notes.';
comment on column triage.kind is 'muted: lists hide the problem until a condition is met. wontfix: nobody intends to fix it. fixed: in the versions of fixes.';
comment on column triage.until is 'Conditions of a mute, see crash.MuteUntil; any of them ends it. An empty object: until somebody unmutes it. Null: not a mute.';
comment on column triage.fixes is 'Versions with the fix: an array of {release, version}. Null: not a fix. For each release, the last standing row of the problem counts.';
comment on column triage.seen is 'Highest version of the problem in each release when it was muted, for the condition newer.';
comment on column triage.person is 'Account name, or name of the rule.';
comment on column triage.reason is 'Why; empty: not given.';
comment on column triage.at is 'When it was decided.';
comment on column triage.undone_by is 'Account name of the person who undid it; empty: it was not undone.';
comment on column triage.undone_at is 'When it was undone. Null: it was not.';
comment on column triage.ended_at is 'When a condition of the mute was met, or another mute replaced it. Null: neither.';
comment on column triage.ended_why is 'Sentence that says which condition was met; empty: none.';
comment on column triage.replaced_by is 'The mute that replaced this one; undoing that restores this one. Null: not replaced.';
