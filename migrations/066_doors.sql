-- Projects of programs that report through Sentry's libraries, their keys, and what came through which door. Instant.
create table door_projects (
    number bigint not null generated always as identity primary key,
    name text not null unique check (name ~ '^[a-z0-9][a-z0-9._+-]{0,63}$'),
    source_package text not null,
    listed boolean not null,
    created timestamptz not null,
    created_by text not null
);
comment on table door_projects is 'Programs whose reports come with a key.';
comment on column door_projects.number is 'Part of the address to which the program reports.';
comment on column door_projects.name is 'Begins the signatures of its problems.';
comment on column door_projects.source_package is 'Source package of its reports.';
comment on column door_projects.listed is 'Whether its key is in the public list that DrKonqi reads.';
comment on column door_projects.created is 'When it was created.';
comment on column door_projects.created_by is 'Name of the account.';
create table door_keys (
    key text not null primary key check (key ~ '^[0-9a-f]{32}$'),
    project bigint not null references door_projects (number),
    created timestamptz not null,
    created_by text not null,
    revoked timestamptz,
    last_used timestamptz
);
create index door_keys_project on door_keys (project);
comment on table door_keys is 'Keys with which programs report. They permit nothing else, and the programs contain them, so they are readable.';
comment on column door_keys.key is 'Public key: 32 hex digits.';
comment on column door_keys.project is 'Project.';
comment on column door_keys.created is 'When it was created.';
comment on column door_keys.created_by is 'Name of the account.';
comment on column door_keys.revoked is 'Since when it is refused; null: it is valid.';
comment on column door_keys.last_used is 'When it was last accepted; written every few seconds.';
create table closed_doors (
    door text not null primary key,
    closed timestamptz not null,
    closed_by text not null
);
comment on table closed_doors is 'Doors through which nothing is accepted.';
comment on column closed_doors.door is 'Name of the door: whoopsie, abrt, sentry, minidump.';
comment on column closed_doors.closed is 'When it was closed.';
comment on column closed_doors.closed_by is 'Name of the account.';
create table door_days (
    door text not null,
    project bigint not null,
    day date not null,
    outcome text not null,
    reason text not null,
    requests bigint not null,
    last_seen timestamptz not null,
    primary key (day, door, project, outcome, reason)
);
comment on table door_days is 'What came through each door, by UTC day. Each instance adds its counts every few seconds, so a crash loses those of the last ones. Rows are deleted after 90 days.';
comment on column door_days.door is 'Name of the door.';
comment on column door_days.project is 'Number of the project; 0: none, or it is not known.';
comment on column door_days.day is 'UTC day of arrival.';
comment on column door_days.outcome is 'stored, repeated, dropped, refused, failed; lost: the client says that it did not send it.';
comment on column door_days.reason is 'Code of the reason of a refusal; empty: none.';
comment on column door_days.requests is 'Number of requests; of lost: of reports.';
comment on column door_days.last_seen is 'Time of the last one.';
