-- What is decided about problems after they were grouped: by people, who decide last, and by mishap itself when a stack
-- gets its names or the grouping rules change. A decision that was undone stays in the history.

-- The round in which reports were moved out of a bucket last: rows of its days may have gone then, so that who keeps them in
-- memory reads them all again.
alter table buckets add column shrunk bigint not null default 0;

-- merged: bucket_id counts under other_id, and its head is that one's. renamed: bucket_id is called after instead of before.
-- split: reports of the signatures in split_sources that meet the condition are in other_id; bucket_id is the problem that
-- they were taken out of.
create table decisions (
    id        bigint      generated always as identity primary key,
    kind      text        not null check (kind in ('merged', 'renamed', 'split')),
    cause     text        not null check (cause in ('person', 'symbolised', 'regrouped', 'emptied')),
    bucket_id bytea       not null,
    other_id  bytea,
    before    text        not null default '',
    after     text        not null default '',
    condition jsonb,
    person    text        not null,             -- account name; empty: mishap itself
    reason    text        not null,
    at        timestamptz not null,
    undone_by text        not null default '',
    undone_at timestamptz,                      -- null: it stands
    -- How far the reports that were there before have been looked through, for a split and for its undoing.
    looked_at bigint      not null default 0,
    moved     bigint      not null default 0,
    received  timestamptz,                      -- where to go on; null: from the start
    report_id uuid,
    finished  boolean     not null default true,
    check ((other_id is null) = (kind = 'renamed')),
    check ((condition is not null) = (kind = 'split'))
);
-- A bucket is merged into one other at a time, so that those who stand for others form trees.
create unique index decisions_merged on decisions (bucket_id) where kind = 'merged' and undone_at is null;
create unique index decisions_split on decisions (other_id) where kind = 'split' and undone_at is null;
create index decisions_bucket on decisions (bucket_id);
create index decisions_other on decisions (other_id) where other_id is not null;
create index decisions_unfinished on decisions (id) where not finished;

-- The signatures whose reports a standing split is asked about. One row for each, so that a round of counting finds out
-- with one look into a small table that there is nothing to ask.
create table split_sources (
    bucket_id   bytea  not null,
    decision_id bigint not null references decisions (id),
    primary key (bucket_id, decision_id)
);

-- Under which signature with names an address signature is known. The id is that of the provisional bucket, whether there
-- is one or not. The first name that became known stays.
create table known_names (
    address_id bytea   primary key check (length(address_id) = 20),
    bucket_id  bytea   not null,
    refused    boolean not null default false,  -- a person has taken it back
    fresh      boolean not null default true    -- the next round looks whether a provisional bucket is waiting for it
);
create index known_names_fresh on known_names (address_id) where fresh;

-- Runs of "mishap regroup". One at a time; the worker holds an advisory lock, so that a dead one is told from a live one.
create table regroup_runs (
    id        bigint generated always as identity primary key,
    rules     integer     not null,             -- version of the rules that are applied
    dry       boolean     not null,             -- nothing is moved
    person    text        not null,
    state     text        not null check (state in ('running', 'done', 'stopped')),
    started   timestamptz not null,
    updated   timestamptz not null,
    estimate  bigint      not null,             -- how many reports there are, about
    looked_at bigint      not null default 0,
    moved     bigint      not null default 0,
    received  timestamptz,                      -- where to go on; null: from the start
    report_id uuid,
    waiting   boolean     not null default false -- reports are arriving faster than they are counted
);
create unique index regroup_runs_running on regroup_runs ((true)) where state = 'running';

-- How many reports a run moves (or, dry, would move) from where to where. An empty id: in no bucket.
create table regroup_moves (
    run_id    bigint not null references regroup_runs (id),
    from_id   bytea  not null,
    to_id     bytea  not null,
    signature text   not null,                  -- of to_id, its beginning
    is_new    boolean not null,                 -- to_id was no bucket before the run
    reports   bigint not null,
    primary key (run_id, from_id, to_id)
);
