-- Cores of reports that machines were asked for. No other core is accepted.
create table core_requests (
    report_id uuid        primary key,
    system    text        not null,             -- the machine that was asked; empty: a machine without an id
    requested timestamptz not null default now(),
    received  timestamptz                       -- null: not yet
);
