-- Which rounds a server has run, so that an instance knows whether what it has read before a failover or a restore still holds. Instant.
create table server_starts (
    id uuid not null default gen_random_uuid() primary key,
    started timestamptz not null,
    database oid not null,
    round bigint not null,
    unique (started, database)
);
comment on table server_starts is 'Starts of the database server, each written by the first round after it. What was read up to a round of one start is part of this database if that start is listed and no later one has a round up to it.';
comment on column server_starts.id is 'Random, so that copies of the database that went different ways differ.';
comment on column server_starts.started is 'When the server was started.';
comment on column server_starts.database is 'Oid of the database.';
comment on column server_starts.round is 'The first round after the start.';
