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
    bucket_id            bytea,                 -- null: could not be bucketed
    unbucketed           text        not null default '',  -- why
    rule                 text        not null,
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
    body                 bytea       not null,  -- the fields: JSON object of texts, zstd
    primary key (received, id)
) partition by range (received);
alter table reports alter column body set storage external;
create index reports_bucket on reports (bucket_id, received desc, id desc) where bucket_id is not null;
create index reports_system on reports (system, received desc, id desc);

-- One row per crash that can be recognised when it is sent again: a hash of system, Date, ExecutablePath, ProcStatus.
create table report_keys (
    key       bytea primary key check (length(key) = 16),
    report_id uuid  not null
);

-- Where in the order of versions, and of releases, something was seen. Rows compare column by column, so least() and
-- greatest() keep the first and the last; ties are settled by text, so that the result does not hang on the order of
-- arrival. The keys sort as dpkg compares versions and as releases follow each other.
create type version_seen as (key bytea, release_key text collate "C", version text collate "C", release text collate "C");
create type release_seen as (key text collate "C", release text collate "C");

-- A bucket: all reports with one signature; the id is its sha1. Everything from `reports` on speaks of counted reports
-- only, and is null or 0 where there is none; the descriptions above are those of the counted report that was stored last.
create table buckets (
    id             bytea   primary key check (length(id) = 20),
    signature      text    not null,
    rule           text    not null,
    provisional    boolean not null,
    problem_type   text    not null,
    title          text    not null,
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
    last_release   release_seen
);
create index buckets_package on buckets (package);
create index buckets_source_package on buckets (source_package);

-- Distinct machines of a bucket; the machine by the first 16 bytes of the sha256 of its name.
create table bucket_systems (
    bucket_id bytea not null,
    system    bytea not null check (length(system) = 16),
    primary key (bucket_id, system)
);

-- Reports by bucket, release and package version: the versions × releases table.
create table bucket_versions (
    bucket_id   bytea  not null,
    release     text   not null,
    version     text   not null,
    version_key bytea,
    reports     bigint not null,
    primary key (bucket_id, release, version)
);

-- Reports by bucket and day, split by what pages filter on.
create table bucket_days (
    bucket_id    bytea  not null,
    day          date   not null,
    release      text   not null,
    version      text   not null,
    architecture text   not null,
    reports      bigint not null,
    primary key (bucket_id, day, release, version, architecture)
);

-- The same without version and architecture: what lists add up.
create table bucket_day_totals (
    day       date   not null,
    release   text   not null,
    bucket_id bytea  not null,
    reports   bigint not null,
    primary key (day, release, bucket_id)
);

-- All reports of a day, bucketed or not.
create table report_days (
    day          date    not null,
    release      text    not null,
    package      text    not null,
    version      text    not null,
    architecture text    not null,
    problem_type text    not null,
    proposed     boolean not null,
    reports      bigint  not null,
    primary key (day, release, package, version, architecture, problem_type, proposed)
);

-- The releases that were ever seen, for the choice in filters.
create table releases (
    release text primary key
);
