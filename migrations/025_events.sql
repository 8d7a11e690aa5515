-- Events that people and other programs are told about. The transaction that detects an event also stores who gets it, so
-- that a crash loses nothing and sends nothing twice.

create table events (
    id             bigint      generated always as identity primary key,
    edge           text        not null unique check (length(edge) between 1 and 300),
    kind           text        not null,
    at             timestamptz not null,
    bucket_id      bytea       check (length(bucket_id) = 20),
    title          text        not null,
    package        text        not null,
    source_package text        not null,
    release        text        not null,
    version        text        not null,
    machines       bigint      not null,
    text           text        not null,
    rule_id        bigint
);
create index events_bucket on events (bucket_id, id) where bucket_id is not null;
create index events_at on events (at);

create table notices (
    id       bigint      generated always as identity primary key,
    event_id bigint      not null references events (id) on delete cascade,
    user_id  bigint      not null references users (id) on delete cascade,
    reason   text        not null,
    at       timestamptz not null,
    read     timestamptz,
    unique (event_id, user_id)
);
create index notices_user on notices (user_id, id);
create index notices_unread on notices (user_id) where read is null;

create table endpoints (
    id           bigint      generated always as identity primary key,
    name         text        not null check (length(name) between 1 and 60),
    kind         text        not null check (kind in ('webhook', 'slack', 'mattermost', 'matrix')),
    url          text        not null,
    owner_id     bigint      references users (id) on delete set null,
    created      timestamptz not null,
    disabled     timestamptz,
    disabled_why text        not null default ''
);
create unique index endpoints_name on endpoints (lower(name));

create table deliveries (
    id          uuid        primary key default gen_random_uuid(),
    event_id    bigint      not null references events (id) on delete cascade,
    endpoint_id bigint      not null references endpoints (id) on delete cascade,
    created     timestamptz not null,
    state       text        not null default 'waiting' check (state in ('waiting', 'delivered', 'failed', 'summarised')),
    due         timestamptz not null,
    attempts    integer     not null default 0,
    unique (event_id, endpoint_id)
);
create index deliveries_due on deliveries (due) where state = 'waiting';
create index deliveries_endpoint on deliveries (endpoint_id, created);

comment on table events is 'Things that happened and that someone is told about, each once.';
comment on column events.id is 'Number of the event.';
comment on column events.edge is 'Identifies the change that caused the event, such as a rule, a problem and a version. The same change causes one event.';
comment on column events.kind is 'What happened; see crash.EventKinds.';
comment on column events.at is 'When it was detected.';
comment on column events.bucket_id is 'The problem. Null: the event is not about one problem.';
comment on column events.title is 'Title of the problem at that time, without private data, or a few words.';
comment on column events.package is 'Binary package of the problem; empty: none.';
comment on column events.source_package is 'Source package of the problem; empty: none.';
comment on column events.release is 'Release in which it happened; empty: all, or none.';
comment on column events.version is 'Package version in which it happened; empty: none.';
comment on column events.machines is 'Number of machines concerned; 0: unknown, or none.';
comment on column events.text is 'What happened, as one sentence without private data.';
comment on column events.rule_id is 'The rule that detected it. Null: none.';

comment on table notices is 'Events that a person is told about.';
comment on column notices.id is 'Number of the notice.';
comment on column notices.event_id is 'The event.';
comment on column notices.user_id is 'The account of the person.';
comment on column notices.reason is 'Why the person gets it, such as "you follow mesa".';
comment on column notices.at is 'When it was stored.';
comment on column notices.read is 'When the person read it. Null: not yet.';

comment on table endpoints is 'Addresses of other programs that are told about events.';
comment on column endpoints.id is 'Number of the endpoint.';
comment on column endpoints.name is 'Name that people gave it; unique, whatever the case.';
comment on column endpoints.kind is 'Format: webhook (Standard Webhooks), slack, mattermost or matrix.';
comment on column endpoints.url is 'Address, which may contain a secret.';
comment on column endpoints.owner_id is 'The account that is told when deliveries fail. Null: all administrators.';
comment on column endpoints.created is 'When it was added.';
comment on column endpoints.disabled is 'When it was switched off. Null: it is on.';
comment on column endpoints.disabled_why is 'Why it was switched off.';

comment on table deliveries is 'Events on their way to endpoints.';
comment on column deliveries.id is 'Identifies the delivery at the receiver; the same for all attempts.';
comment on column deliveries.event_id is 'The event.';
comment on column deliveries.endpoint_id is 'The receiver.';
comment on column deliveries.created is 'When it was stored.';
comment on column deliveries.state is 'waiting, delivered, failed (all attempts have failed) or summarised (another delivery mentions it).';
comment on column deliveries.due is 'When the next attempt is due.';
comment on column deliveries.attempts is 'Number of attempts so far.';
