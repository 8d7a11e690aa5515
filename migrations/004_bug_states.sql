-- After filing: what the tracker says of bugs, links that were taken back, what was said in the tracker.

-- What is known of each bug that some bucket has, and of the bugs that these repeat.
create table bug_states (
    number           bigint      primary key references bugs (number),
    information_type text        not null default '',
    private          boolean     not null default false,
    hidden           boolean     not null default false, -- our account may not read it, or it is gone
    duplicate_of     bigint      references bugs (number),
    closed           boolean     not null default false, -- as crash.BugReading.Closed has it; of a duplicate: its own
    tasks            jsonb       not null default '[]',
    fixes            jsonb       not null default '[]',
    read             timestamptz,                        -- when the tracker said so; null: never yet
    next_read        timestamptz not null,
    failures         integer     not null default 0,     -- since it was read last
    failure          text        not null default ''
);
create index bug_states_due on bug_states (next_read);
create index bug_states_master on bug_states (duplicate_of) where duplicate_of is not null;
insert into bug_states (number, next_read) select number, now() from bugs;

-- Links that a person took back: kept so that they can be put back, and so that searches know these bugs.
create table unlinked_bugs (
    bucket_id   bytea       not null,
    bug_number  bigint      not null references bugs (number),
    how         text        not null check (how in ('filed', 'linked')),
    person      text        not null,
    at          timestamptz not null,
    unlinked_by text        not null,
    unlinked_at timestamptz not null,
    primary key (bucket_id, bug_number)
);

-- Versions of packages that counted reports came from: which is the newest, and which were known at some moment.
create table package_versions (
    package     text        collate "C" not null,
    release     text        collate "C" not null,
    version     text        not null,
    version_key bytea       not null,
    arrived     timestamptz not null,  -- the first report that has it
    primary key (package, release, version)
);
create index package_versions_order on package_versions (package, release, version_key desc);
insert into package_versions (package, release, version, version_key, arrived)
select distinct d.package, d.release, d.version, k.version_key, now()
from report_days as d
    join (select distinct version, version_key from bucket_versions where version_key is not null) as k using (version)
where d.package <> '';

-- What mishap said in the tracker by itself: once for a bug and a version, whatever became of it.
create table bug_comments (
    bug_number bigint      not null references bugs (number),
    version    text        not null,
    bucket_id  bytea       not null,
    at         timestamptz not null,
    outcome    text        not null check (outcome in ('sending', 'sent', 'refused', 'unknown')),
    words      text        not null default '', -- the tracker's, or the network's
    primary key (bug_number, version)
);

-- How the tracker is followed; one row.
create table bug_watch (
    single        boolean     primary key default true check (single),
    comment       boolean     not null default false, -- say so in the tracker when a fixed bug is seen again
    changes_until timestamptz                         -- up to where the tracker was asked what changed
);
insert into bug_watch default values;
