-- Several trackers. A bug's number, as all tables keep it, has the place where the bug is in the bits from 40 upwards. Place 0 is
-- the tracker of the keys tracker_…, so the bugs that are there already keep their numbers. Instant: few rows are changed.
create table bug_places (
    place    smallint    primary key check (place between 0 and 8191),
    tracker  text        not null,
    project  text        not null,
    upstream boolean     not null default false,
    changes_until timestamptz,
    unique (tracker, project)
);
comment on table bug_places is 'Where bugs are: projects whose bugs have their own numbers. Rows are never removed.';
comment on column bug_places.place is 'Number of the place: the bits of a bug number from 40 upwards.';
comment on column bug_places.tracker is 'Name of the tracker in the configuration.';
comment on column bug_places.project is 'Project with its own numbers; empty: the tracker numbers all bugs.';
comment on column bug_places.upstream is 'Whether bugs of upstream projects live there, as the configuration said last.';
comment on column bug_places.changes_until is 'Time up to which the tracker was asked for changed bugs. Null: never.';
insert into bug_places select 0, 'launchpad', '', false, changes_until from bug_watch;
comment on column bug_watch.changes_until is 'Not used any more; see bug_places.';

create function upstream_bug(number bigint) returns boolean language sql stable
    return coalesce((select upstream from bug_places where place = number >> 40), false);

-- A problem may have a second filing, in an upstream project's tracker.
alter table filings
    add column tracker  text    not null default 'launchpad',
    add column project  text    not null default '',
    add column upstream boolean not null default false,
    drop constraint filings_bucket_id_key,
    add constraint filings_bucket_upstream unique (bucket_id, upstream);
comment on table filings is 'Intents, stored before the tracker is called: at most one per bucket, and one more for its upstream project. docs/filing.md draws the states. All times come from the clock of this database.';
comment on column filings.tracker is 'Name of the tracker in the configuration.';
comment on column filings.project is 'Project with its own numbers that the bug is filed in; empty: the tracker numbers all bugs.';
comment on column filings.upstream is 'Whether the bug is for the upstream project, besides the distribution''s bug.';
drop view visible.filings;
create view visible.filings as select * from filings
    where coalesce(bucket_id <> all (((select visible.hidden())::bytea[])), true);

create table filing_queues (
    tracker text        primary key,
    ended   timestamptz not null,
    rest    interval    not null,
    resumes timestamptz not null default '-infinity'
);
comment on table filing_queues is 'The pauses between bugs that are sent to each tracker. The lock is the row of filing_writer.';
comment on column filing_queues.tracker is 'Name of the tracker in the configuration.';
comment on column filing_queues.ended is 'When the last sending ended.';
comment on column filing_queues.rest is 'Pause after that for filings that were queued meanwhile.';
comment on column filing_queues.resumes is 'Nothing is sent before, because the tracker asked for it.';
insert into filing_queues (tracker, ended, rest) select 'launchpad', ended, rest from filing_writer;
comment on column filing_writer.ended is 'Not used any more; see filing_queues.';
comment on column filing_writer.rest is 'Not used any more; see filing_queues.';
drop index filings_line, filings_sending;
create index filings_line on filings (tracker, created, id) where state = 'queued';
create index filings_sending on filings (tracker) where state = 'filing';
create index filing_attempts_sent on filing_attempts (started) where action = 'create';

-- Where the bugs of packages go.
create table bug_routes (
    line     integer primary key,
    package  text    not null,
    type     text    not null,
    release  text    not null,
    tracker  text    not null,
    target   text    not null
);
comment on table bug_routes is 'Where bugs go, in order: the first row that fits a problem decides. Without one, bugs go to the first tracker.';
comment on column bug_routes.line is 'Position.';
comment on column bug_routes.package is 'Name of a source package, in which * stands for any characters.';
comment on column bug_routes.type is 'Problem type, such as Crash; empty: any.';
comment on column bug_routes.release is 'Release of the newest report, in which * stands for any characters; empty: any.';
comment on column bug_routes.tracker is 'Name of the tracker in the configuration.';
comment on column bug_routes.target is 'Project or component in that tracker, which may contain {source}, {release} and {version}; empty: that of the configuration.';

alter table bug_templates add column tracker text not null default '';
alter table bug_templates drop constraint bug_templates_pkey;
alter table bug_templates add primary key (tracker, package, problem_type);
comment on column bug_templates.tracker is 'Name of the tracker whose bugs the template is for; empty: all.';

-- Calls of trackers that tell of changes, so that none is accepted twice.
create table tracker_calls (
    tracker text        not null,
    id      text        not null,
    at      timestamptz not null,
    primary key (tracker, id)
);
create index tracker_calls_at on tracker_calls (at);
comment on table tracker_calls is 'Calls by which trackers told of changes. A repeated one is refused. Removed after a week.';
comment on column tracker_calls.tracker is 'Name of the tracker in the configuration.';
comment on column tracker_calls.id is 'The tracker''s id of the call.';
comment on column tracker_calls.at is 'When it arrived.';
