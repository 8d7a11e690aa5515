-- Reports, buckets and counts.
--
-- Everything that grows is found by bucket or by machine, keys come from content, and no statement needs two buckets
-- except in jobs that may be retried: this keeps the way to replicas and shards open.

-- One row per report. The id is a UUID of version 7 whose time is `received`, to the millisecond, so a report is found
-- by its id alone in one partition. Partitions are by month of arrival: retention drops them.
create table reports (
    id                   uuid        not null,
    received             timestamptz not null,
    occurred             timestamptz,           -- the report's own Date read as UTC; null: missing or unreadable
    day                  date        not null,  -- the UTC day it counts on
    counted              boolean     not null,  -- false: a test machine
    system               text        not null,  -- empty: a machine without an id
    system_key           bigint,                -- stands for the machine: the first 8 bytes of the sha256 of its name
    bucket_id            bytea,                 -- null: could not be bucketed
    unbucketed           text        not null default '',  -- why
    rule                 text        not null,
    rules                integer     not null,  -- version of the grouping rules that put it there
    problem_type         text        not null,
    title                text        not null,
    executable           text        not null,
    package              text        not null,
    version              text        not null,
    source_package       text        not null,
    release              text        not null,
    architecture         text        not null,
    package_architecture text        not null,
    address_signature    text        not null,
    proposed             boolean     not null,
    complete             boolean     not null,  -- has a stack, traceback or the like to read
    body                 bytea       not null,  -- the fields, each name and value behind its length, packed by S2
    primary key (received, id)
) partition by range (received);
alter table reports alter column body set storage external;
create index reports_bucket on reports (bucket_id, received desc, id desc) where bucket_id is not null;
create index reports_system on reports (system_key, received desc, id desc) where system_key is not null;
create index reports_nameless on reports (received desc, id desc) where system_key is null;

-- One row per crash that can be recognised when it is sent again. The key is the time of the crash by its own Date and a
-- hash of system, Date, ExecutablePath and ProcStatus: what happened at one time stands together in the index. Partitions
-- are by year of the crash (1970: no time that can be read), so that retention drops them too.
create table report_keys (
    key       bytea not null check (length(key) = 16),
    report_id uuid  not null,
    primary key (key)
) partition by range (key);

-- What is stored and not yet counted: one row for each transaction that stored reports, taken away by the round that
-- counts them.
create table uncounted (
    id      uuid        primary key,
    stored  timestamptz not null default now(),
    reports uuid[]      not null
);

-- Rounds of counting, and all else that changes counts, take turns over all units under the lock of this row. Rows of
-- buckets and bucket_days carry the number of the round that changed them last.
create table counting (
    single boolean primary key default true check (single),
    round  bigint  not null
);
insert into counting values (true, 0);

-- Where in the order of versions, and of releases, something was seen. Rows compare column by column, so least() and
-- greatest() keep the first and the last; ties are settled by text, so that the result does not hang on the order of
-- arrival. The keys sort as dpkg compares versions and as releases follow each other.
create type version_seen as (key bytea, release_key text collate "C", version text collate "C", release text collate "C");
create type release_seen as (key text collate "C", release text collate "C");

-- A bucket: all reports with one signature; the id is its sha1. Everything from `reports` to `last_release` speaks of
-- counted reports only, and is null or 0 where there is none; the descriptions above are those of the counted report that
-- was counted last. A bucket that was merged into another keeps its own counts, and has that one as its head.
create table buckets (
    id             bytea   primary key check (length(id) = 20),
    head           bytea   not null,            -- the bucket that stands for it in lists: its own id unless it was merged
    signature      text    not null,
    rule           text    not null,
    provisional    boolean not null,
    problem_type   text    not null,
    title          text    not null,
    name           text    not null default '', -- given by a person; empty: none
    executable     text    not null,
    package        text    collate "C" not null,
    source_package text    collate "C" not null,
    reports        bigint  not null default 0,
    systems        bigint  not null default 0,  -- distinct machines
    first_seen     timestamptz,
    last_seen      timestamptz,
    first_version  version_seen,                -- null: no version that dpkg can compare
    last_version   version_seen,
    first_release  release_seen,                -- null: no release
    last_release   release_seen,
    changed        bigint  not null             -- the round that changed it last
) with (fillfactor = 80);
create index buckets_head on buckets (head);
create index buckets_package on buckets (package);
create index buckets_source_package on buckets (source_package);
create index buckets_changed on buckets (changed);

-- Reports by bucket, release and package version: the versions × releases table.
create table bucket_versions (
    bucket_id   bytea  not null,
    release     text   not null,
    version     text   not null,
    version_key bytea,
    reports     bigint not null,
    systems     bigint not null,                -- distinct machines
    primary key (bucket_id, release, version)
) with (fillfactor = 80);

-- The machines of a bucket, by release and package version.
create table bucket_systems (
    bucket_id bytea  not null,
    system    bigint not null,
    release   text   not null,
    version   text   not null,
    reports   bigint not null,
    primary key (bucket_id, system, release, version)
);

-- Reports by bucket and day, split by what pages filter on. What has changed is found by the buckets that have: an index on
-- `changed` here would make each update of a row write to all indexes.
create table bucket_days (
    bucket_id    bytea  not null,
    day          date   not null,
    release      text   not null,
    version      text   not null,
    architecture text   not null,
    reports      bigint not null,
    proposed     bigint not null,               -- of these, from the proposed pocket
    changed      bigint not null,               -- the round that changed it last
    primary key (bucket_id, day, release, version, architecture)
) with (fillfactor = 80);

-- All reports of a day, bucketed or not.
create table report_days (
    package      text    collate "C" not null,
    day          date    not null,
    release      text    not null,
    version      text    not null,
    architecture text    not null,
    problem_type text    not null,
    proposed     boolean not null,
    reports      bigint  not null,
    primary key (package, day, release, version, architecture, problem_type, proposed)
) with (fillfactor = 80);

-- The same without package and version.
create table release_days (
    day          date    not null,
    release      text    not null,
    architecture text    not null,
    problem_type text    not null,
    proposed     boolean not null,
    reports      bigint  not null,
    primary key (day, release, architecture, problem_type, proposed)
) with (fillfactor = 80);

-- When a machine counts as active: from a day on which it sent a report to the 90th day, that one included, or longer when
-- it sent more. The spans of one machine and release neither overlap nor touch.
create table release_systems (
    release   text   not null,
    system    bigint not null,
    from_day  date   not null,
    until_day date   not null,                  -- included
    primary key (release, system, from_day)
) with (fillfactor = 80);

-- The same as changes: so many machines of a release are active on a day as the sum of all changes up to it.
create table release_active (
    release text   not null,
    day     date   not null,
    change  bigint not null,
    primary key (release, day)
) with (fillfactor = 80);

-- The releases that were ever seen, for the choice in filters.
create table releases (
    release text primary key
);

-- Months of arrival whose reports are no longer stored; what was counted of them stays.
create table dropped_months (
    month   date        primary key,            -- its first day
    reports bigint      not null,
    dropped timestamptz not null
);
