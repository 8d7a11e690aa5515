-- Filing: bugs, intents, attempts, and the tracker's credentials.

-- Bugs of the external tracker that some bucket knows.
create table bugs (
    number bigint primary key,
    title  text   not null default '',
    url    text   not null
);

-- Which bucket has which bug.
create table bucket_bugs (
    bucket_id  bytea       not null,
    bug_number bigint      not null references bugs (number),
    how        text        not null check (how in ('filed', 'linked')),
    person     text        not null,
    at         timestamptz not null,
    primary key (bucket_id, bug_number)
);
create index bucket_bugs_number on bucket_bugs (bug_number);
create index bucket_bugs_at on bucket_bugs (at);

-- One intent per bucket: stored before the tracker is called. docs/filing.md draws the states. All times are this
-- database's, one clock for all units.
create table filings (
    id          bigint generated always as identity primary key,
    bucket_id   bytea       not null unique,
    state       text        not null check (state in ('queued', 'filing', 'uncertain', 'filed', 'refused', 'abandoned')),
    person      text        not null,
    target      text        not null,
    title       text        not null,
    description text        not null,
    tags        text[]      not null,
    marker      text        not null,
    edited      boolean     not null default false,  -- a person has gone over the text
    information_type text   not null default '',     -- who will see the bug; empty: as the tracker has it
    subscribe   boolean     not null default false,  -- the person wants the tracker's mail about it
    bug_number  bigint references bugs (number),
    problem     text        not null default '', -- stable word for what went wrong last; empty: nothing
    reason      text        not null default '', -- the same as a sentence
    attempts    integer     not null default 0,  -- how often it was sent, or may have been
    unit        bigint,                          -- the unit that sends it (filing) or searches for it (uncertain) now
    claimed     timestamptz,                     -- since when
    sent_from   timestamptz,                     -- no request for this filing left before: where a search starts
    settles     timestamptz,                     -- until then the tracker may be working on a request: no search before
    unsettled   boolean     not null default false, -- abandoned while uncertain: asked again, it is searched for first
    subscription text       not null default '' check (subscription in ('', 'due', 'done', 'failed')),
    created     timestamptz not null,
    updated     timestamptz not null,
    not_before  timestamptz not null,            -- when the next step is due
    check ((state = 'filed') = (bug_number is not null)),
    check (state <> 'filing' or (unit is not null and claimed is not null))
);
create index filings_open on filings (not_before) where state in ('queued', 'filing', 'uncertain');
create index filings_line on filings (created, id) where state = 'queued';
create index filings_sending on filings (id) where state = 'filing';
create index filings_ledger on filings (created, id);
create index filings_subscriptions on filings (id) where subscription = 'due';

-- One bug is sent at a time, over all units. The row is locked while it is decided whose turn it is, never during a call.
create table filing_writer (
    single boolean     primary key default true check (single),
    ended  timestamptz not null,                 -- when the last sending ended
    rest   interval    not null                  -- how long those who stood in line meanwhile wait after that
);
insert into filing_writer values (true, 'epoch', '0');

-- Every call to the tracker for a filing, and its answer.
create table filing_attempts (
    id         bigint generated always as identity primary key,
    filing_id  bigint      not null references filings (id),
    action     text        not null check (action in ('create', 'search', 'subscribe')),
    unit       bigint      not null,
    started    timestamptz not null,
    ended      timestamptz,                      -- null: under way, or the unit died before it knew
    outcome    text        not null default '',
    status     integer     not null default 0,   -- HTTP status of the answer; 0: none
    request_id text        not null default '',  -- the tracker's own id of a failure
    words      text        not null default ''   -- the tracker's words or the network's, cut
);
create index filing_attempts_filing on filing_attempts (filing_id, id);

-- The access token, so that a unit without one in its configuration works once any unit has been authorised.
create table oauth_credentials (
    tracker_url   text        not null,
    consumer_key  text        not null,
    token         text        not null,          -- its public half
    secret_sealed bytea       not null,          -- see db/seal.go; empty: forgotten on purpose
    context       text        not null,
    person        text        not null,          -- who connected; empty: it came from a unit's configuration
    connected     timestamptz not null,
    primary key (tracker_url, consumer_key)
);

-- How access tokens have fared with the tracker, those in configuration files included.
create table oauth_health (
    tracker_url   text        not null,
    consumer_key  text        not null,
    token         text        not null,
    account       text        not null,          -- the tracker's name of the account; empty: not asked yet
    last_success  timestamptz,
    last_error    text        not null,
    last_error_at timestamptz,
    dead          boolean     not null,          -- the tracker has said that it is no longer good
    primary key (tracker_url, consumer_key, token)
);
