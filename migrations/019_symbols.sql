-- Cores are asked for, and symbolised by jobs. Instant: core_requests is empty, because no version
-- has asked for cores yet, and the other tables are new.
alter table core_requests
    add column problem bytea not null default '',
    add column version text  not null default '';
create index core_requests_problem on core_requests (problem, version, requested);

comment on column core_requests.problem is 'What the core would name: id of the bucket that the report arrived in, or of one made from program and signal if it arrived in none. Empty: asked for by hand.';
comment on column core_requests.version is 'Version of the package of the report.';

-- One row per core that has arrived.
create table symbol_jobs (
    report_id    uuid        primary key,
    problem      bytea       not null,
    version      text        not null,
    architecture text        not null,
    store        text        not null,
    core_bytes   bigint      not null,
    core_removed timestamptz,
    state        text        not null check (state in
        ('queued', 'running', 'done', 'partial', 'waiting', 'failed', 'expired')),
    reason       text        not null default '',
    pressed      timestamptz,
    pressed_by   text        not null default '',
    created      timestamptz not null default now(),
    attempt      integer     not null default 0,
    deaths       integer     not null default 0,
    tries        integer     not null default 0,
    lease        timestamptz,
    not_before   timestamptz,
    started      timestamptz,
    ended        timestamptz,
    missing      text[]      not null default '{}',
    modules      jsonb       not null default '[]',
    engine       text        not null default '',
    seconds      real        not null default 0,
    cpu_seconds  real        not null default 0,
    memory_bytes bigint      not null default 0
);
create index symbol_jobs_problem on symbol_jobs (problem, version);
create index symbol_jobs_open on symbol_jobs (store, created) where state in ('queued', 'running', 'waiting', 'partial');

comment on table symbol_jobs is 'Cores that machines have sent, and what came of symbolising them. No foreign key: an id of reports is unique only together with its partition.';
comment on column symbol_jobs.report_id is 'The report that the core belongs to.';
comment on column symbol_jobs.problem is 'As in core_requests.';
comment on column symbol_jobs.version is 'Version of the package of the report.';
comment on column symbol_jobs.architecture is 'Architecture of the core, in Debian''s words.';
comment on column symbol_jobs.store is 'Identity of the store that holds the core. Only instances that can read this store claim the job.';
comment on column symbol_jobs.core_bytes is 'Size of the core in the store.';
comment on column symbol_jobs.core_removed is 'When the core was removed from the store. Null: it is there.';
comment on column symbol_jobs.state is 'queued, running (until lease), done (the names are complete), partial (some are missing), waiting (files could not be fetched, or nothing has a name), failed (not tried again by itself), expired (the core was removed first).';
comment on column symbol_jobs.reason is 'Why the state is not done, as a sentence for people; empty: nothing to say.';
comment on column symbol_jobs.pressed is 'When a person asked to symbolise it now. Null: nobody has. Cleared when the job ends.';
comment on column symbol_jobs.pressed_by is 'Account name of the person who asked last; empty: nobody.';
comment on column symbol_jobs.created is 'When the core arrived.';
comment on column symbol_jobs.attempt is 'Number of times that an instance has claimed the job. A result counts only if this has not changed since.';
comment on column symbol_jobs.deaths is 'Number of claims whose instance died.';
comment on column symbol_jobs.tries is 'Number of tries that ended as partial or waiting; it decides when to try again.';
comment on column symbol_jobs.lease is 'Until when the claim of a running job holds; the instance prolongs it. Null: not running.';
comment on column symbol_jobs.not_before is 'When a partial or waiting job is tried again. Null: not by itself.';
comment on column symbol_jobs.started is 'When the latest try began.';
comment on column symbol_jobs.ended is 'When the latest try ended.';
comment on column symbol_jobs.missing is 'Files that were not found, as BUILD-ID/executable or BUILD-ID/debuginfo. Adding one of them starts the job again.';
comment on column symbol_jobs.modules is 'Programs and libraries of the process, with where their files were found or searched (crash.SymbolModule).';
comment on column symbol_jobs.engine is 'The debugger with its version.';
comment on column symbol_jobs.seconds is 'Time of the debugger in the latest try.';
comment on column symbol_jobs.cpu_seconds is 'Processor time of the debugger in the latest try.';
comment on column symbol_jobs.memory_bytes is 'Memory of the debugger in the latest try, at the most.';

-- Instances that symbolise.
create table symbol_workers (
    instance      bigint      primary key,
    store         text        not null,
    architectures text[]      not null,
    problem       text        not null,
    seen          timestamptz not null
);

comment on table symbol_workers is 'Instances that symbolise, or would if they could. Machines are asked for cores only while an instance can symbolise them. Rows of dead instances are removed after a day.';
comment on column symbol_workers.instance is 'Number of the instance.';
comment on column symbol_workers.store is 'Identity of the store whose cores it reads.';
comment on column symbol_workers.architectures is 'Architectures whose cores it can symbolise, in Debian''s words.';
comment on column symbol_workers.problem is 'Why it cannot symbolise, as a sentence for people; empty: it can.';
comment on column symbol_workers.seen is 'When the instance said so last; it does every minute.';
