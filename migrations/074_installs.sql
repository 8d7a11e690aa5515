-- Imported numbers of machines, for the machines without a crash. Instant.
create table installs (
    day          date        not null,
    release      text        not null check (release <> ''),
    architecture text        not null,
    package      text        not null,
    version      text        not null check ((version = '') = (package = '')),
    machines     bigint      not null check (machines >= 0),
    source       text        not null,
    imported     timestamptz not null,
    primary key (release, package, version, day, architecture)
);
create index installs_day on installs (day);
create trigger note_change after insert or delete on installs for each statement execute function note_change();
comment on table installs is 'Imported numbers of machines. An import replaces its days. Kept for 400 days.';
comment on column installs.day is 'UTC day of which the number is.';
comment on column installs.release is 'The release, as in reports.';
comment on column installs.architecture is 'Architecture of the machines; empty: all together.';
comment on column installs.package is 'Binary package; empty: the number is of the release.';
comment on column installs.version is 'Version of the package; empty where the package is.';
comment on column installs.machines is 'Number of machines.';
comment on column installs.source is 'Where the numbers come from, as the administrator says.';
comment on column installs.imported is 'When it was imported.';
