-- Deliveries to endpoints: secrets, limits and results of an endpoint; payload and attempts of a delivery; the switch that
-- stops all notifications. Instant: new columns have constant defaults, and endpoints and deliveries are new tables.

alter table endpoints
    add column address         text        not null default '',
    add column channel         text        not null default '',
    add column secret          text        not null default '',
    add column previous_secret text        not null default '',
    add column previous_until  timestamptz,
    add column per_minute      integer     not null default 20 check (per_minute between 1 and 600),
    add column last_success    timestamptz,
    add column success_status  integer     not null default 0,
    add column last_failure    timestamptz,
    add column failure_status  integer     not null default 0,
    add column failure_answer  text        not null default '',
    add column failures        integer     not null default 0,
    add column not_before      timestamptz,
    add column window_began    timestamptz,
    add column window_sent     integer     not null default 0,
    add column limited         boolean     not null default false,
    add column claimed_by      bigint,
    add column claimed         timestamptz;

alter table deliveries
    add column payload text,
    add column summary uuid    references deliveries (id) on delete set null,
    add column resent  integer not null default 0;
create index deliveries_waiting on deliveries (endpoint_id, created, id) where state = 'waiting';
create index deliveries_summary on deliveries (summary) where summary is not null;

create table delivery_attempts (
    id          bigint      generated always as identity primary key,
    delivery_id uuid        not null references deliveries (id) on delete cascade,
    started     timestamptz not null,
    ended       timestamptz,
    status      integer     not null default 0,
    answer      text        not null default '',
    problem     text        not null default ''
);
create index delivery_attempts_delivery on delivery_attempts (delivery_id, id);

comment on column endpoints.url is 'The part of the address that pages show: scheme and host, without secrets.';
comment on column endpoints.address is 'The whole address, encrypted with a key derived from the database password. Empty: none.';
comment on column endpoints.channel is 'Matrix: id of the room. Mattermost: name of a channel; empty: that of the address.';
comment on column endpoints.secret is 'Encrypted like address. webhook: the secret that signs. matrix: the access token. Otherwise empty.';
comment on column endpoints.previous_secret is 'The secret before the last rotation, encrypted; it signs until previous_until.';
comment on column endpoints.previous_until is 'When the previous secret ceases to sign. Null: there is none.';
comment on column endpoints.per_minute is 'Maximum number of requests per minute; events beyond it are summarised.';
comment on column endpoints.last_success is 'When the endpoint last accepted a delivery. Null: never.';
comment on column endpoints.success_status is 'HTTP status of that answer.';
comment on column endpoints.last_failure is 'When a delivery last failed. Null: never.';
comment on column endpoints.failure_status is 'HTTP status of that answer; 0: there was none.';
comment on column endpoints.failure_answer is 'The beginning of that answer, or why there was none.';
comment on column endpoints.failures is 'Number of failed attempts since the last success.';
comment on column endpoints.not_before is 'The endpoint gets nothing before this time. Null: at once.';
comment on column endpoints.window_began is 'Beginning of the minute to which per_minute applies. Null: nothing was sent yet.';
comment on column endpoints.window_sent is 'Number of requests since window_began.';
comment on column endpoints.limited is 'Whether events were held back in that minute, which one summary will mention.';
comment on column endpoints.claimed_by is 'Number of the instance that is sending to the endpoint. Null: none.';
comment on column endpoints.claimed is 'When an instance last claimed the endpoint.';

comment on column deliveries.payload is 'Body of the request, the same for all attempts. Null: it was not sent yet.';
comment on column deliveries.summary is 'The delivery that mentions this one. Null: none.';
comment on column deliveries.resent is 'How often a person has sent it again.';

comment on table delivery_attempts is 'Requests that were sent for deliveries.';
comment on column delivery_attempts.id is 'Number of the attempt.';
comment on column delivery_attempts.delivery_id is 'The delivery.';
comment on column delivery_attempts.started is 'When an instance began to send it.';
comment on column delivery_attempts.ended is 'When the answer arrived or the attempt failed. Null: it has not ended.';
comment on column delivery_attempts.status is 'HTTP status of the answer; 0: there was none.';
comment on column delivery_attempts.answer is 'The first 2 kB of the answer.';
comment on column delivery_attempts.problem is 'Why the attempt failed. Empty: it succeeded, or has not ended.';

