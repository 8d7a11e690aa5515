-- Address signatures get names without cores. Jobs without a core have no store. Instant: no job has one yet, and
-- symbol_jobs has one row per core.
create index symbol_jobs_state on symbol_jobs (state, not_before);

comment on table symbol_jobs is 'Reports to symbolise, and what came of it: one row per core that a machine has sent, and one per version of a problem that is known by its addresses only. No foreign key: an id of reports is unique only together with its partition.';
comment on column symbol_jobs.store is 'Identity of the store that holds the core. Only instances that can read this store claim the job. Empty: there is no core, only an address signature; any instance claims the job.';
comment on column symbol_jobs.core_bytes is 'Size of the core in the store; 0: there is none.';
comment on column symbol_jobs.created is 'When the core arrived, or the addresses were found without names.';

-- Which builds mishap would have to know to symbolise a report.
create table unknown_builds (
    report_id    uuid not null references symbol_jobs on delete cascade,
    path         text not null,
    package      text not null,
    version      text not null,
    architecture text not null,
    primary key (report_id, path, package)
);
create index unknown_builds_path on unknown_builds (path);

comment on table unknown_builds is 'Programs and libraries of reports whose build is not known: of address signatures, and of cores that do not hold it. Learning it starts the job again.';
comment on column unknown_builds.report_id is 'The job.';
comment on column unknown_builds.path is 'Path of the file, as in builds.path.';
comment on column unknown_builds.package is 'Binary package that holds the file; empty: unknown.';
comment on column unknown_builds.version is 'Version of the package on the machine; empty: unknown.';
comment on column unknown_builds.architecture is 'Architecture of the file, in Debian''s words.';
