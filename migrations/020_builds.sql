-- Which builds the packages hold, so that address signatures get names without a core. Instant.
create table builds (
    path         text        not null,
    package      text        not null,
    version      text        not null,
    architecture text        not null,
    build_id     text        not null,
    learned      timestamptz not null default now(),
    primary key (path, architecture, package, version, build_id)
);

comment on table builds is 'Which build of a program or library a package of a version holds, from packages that were added and from cores. Two builds under one key contradict each other: then neither counts.';
comment on column builds.path is 'Path of the file, with /usr: /usr/lib/x86_64-linux-gnu/libc.so.6.';
comment on column builds.package is 'Binary package.';
comment on column builds.version is 'Version of the binary package.';
comment on column builds.architecture is 'Architecture of the file, in Debian''s words.';
comment on column builds.build_id is 'Build-id in lower-case hex digits.';
comment on column builds.learned is 'When mishap learned it.';
