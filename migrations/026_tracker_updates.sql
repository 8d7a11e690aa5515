-- What mishap writes in the tracker by itself, by source package: comments about problems that are seen again or quiet, and a
-- section in the descriptions of bugs. Takes milliseconds on ten million reports: bug_comments has one row for each comment
-- that mishap ever sent.

create table update_rules (
    pattern     text        primary key check (pattern ~ '^[a-z0-9+.*-]{1,128}$'),
    position    integer     not null,
    again       boolean     not null default false,
    quiet       boolean     not null default false,
    quiet_weeks integer     not null default 12 check (quiet_weeks between 1 and 260),
    section     boolean     not null default false,
    person      text        not null default '',
    changed     timestamptz
);
insert into update_rules (pattern, position, again) select '*', 0, comment from bug_watch;
-- Instances of the previous version may run until all are replaced. They no longer comment.
update bug_watch set comment = false;

alter table bug_comments add column kind text not null default 'again' check (kind in ('again', 'names', 'quiet'));
update bug_comments set kind = 'names' where version = '';
alter table bug_comments drop constraint bug_comments_pkey;
alter table bug_comments add primary key (bug_number, kind, version);

create table bug_sections (
    bug_number bigint      primary key references bugs (number),
    hashes     text[]      not null default '{}',
    facts      jsonb       not null default '{}',
    pending    jsonb       not null default '{}',
    replace    boolean     not null default false,
    attempt    bigint      not null default 0,
    next       timestamptz not null,
    written    timestamptz,
    stopped    text        not null default '' check (stopped in ('', 'changed', 'removed', 'foreign')),
    stopped_at timestamptz,
    problem    text        not null default ''
);

create trigger note_row after insert or delete on bug_comments for each row execute function note_change();
create trigger note_update after update on bug_comments for each row when (old.* is distinct from new.*)
    execute function note_change();
create trigger note_insert after insert on bug_sections for each row when (new.written is not null)
    execute function note_change();
-- Pages show when a section was written, whether it has stopped, and problems.
create trigger note_update after update on bug_sections for each row when (
    (old.written, old.stopped, old.stopped_at, old.problem) is distinct from
    (new.written, new.stopped, new.stopped_at, new.problem))
    execute function note_change();

comment on table update_rules is 'What mishap writes in the tracker by itself. The first pattern that matches a source package applies; * alone comes last and always exists.';
comment on column update_rules.pattern is 'Name of a source package, in which * stands for any characters.';
comment on column update_rules.position is 'Order of the patterns, lowest first.';
comment on column update_rules.again is 'Whether mishap comments on a fixed bug that is seen again, and on a bug whose crash gets function names.';
comment on column update_rules.quiet is 'Whether mishap comments on an open bug whose problem is no longer reported.';
comment on column update_rules.quiet_weeks is 'Number of weeks without a report after which it does.';
comment on column update_rules.section is 'Whether mishap updates a section in the descriptions of open bugs.';
comment on column update_rules.person is 'Account name of the person who changed the row; empty: nobody has.';
comment on column update_rules.changed is 'When it was changed. Null: never.';

comment on table bug_comments is 'Comments that mishap wrote in the tracker: at most one per bug, kind and version.';
comment on column bug_comments.kind is 'again: a fixed bug was seen again; names: the functions of its crash got names; quiet: its problem is no longer reported.';
comment on column bug_comments.version is 'again: the version that the comment is about. quiet: UTC day of the last report. names: empty.';
comment on column bug_watch.comment is 'Not used any more; see update_rules.';

comment on table bug_sections is 'The section that mishap updates in the description of a bug. A bug filed with a section has no row until the first update.';
comment on column bug_sections.bug_number is 'The bug.';
comment on column bug_sections.hashes is 'SHA-256 of the texts that mishap sent and that may be in the description: the last one that is known to be there, and later ones with an unknown outcome. Empty: none.';
comment on column bug_sections.facts is 'Facts in the text that was written last, which decide whether an update is worthwhile.';
comment on column bug_sections.pending is 'The same, of the text that is being sent, or whose outcome is unknown.';
comment on column bug_sections.replace is 'Whether a person asked for the section again: the next update replaces any present one.';
comment on column bug_sections.attempt is 'Number of times that a text was sent. An instance sends only if no other has meanwhile.';
comment on column bug_sections.next is 'When an update is due to be considered again.';
comment on column bug_sections.written is 'When the tracker last confirmed a text. Null: never.';
comment on column bug_sections.stopped is 'Why mishap no longer updates the section: changed or removed by someone, or foreign (not written by this database). Empty: it does.';
comment on column bug_sections.stopped_at is 'When mishap noticed that. Null: it goes on.';
comment on column bug_sections.problem is 'Why the last attempt failed; empty: it did not.';
