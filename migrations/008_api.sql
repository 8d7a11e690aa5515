-- What scripts sign in with, and what is known of the distribution's archive.

-- Tokens of people for the API. The token itself is shown once and not kept.
create table api_tokens (
    id        bigint generated always as identity primary key,
    user_id   bigint      not null references users (id) on delete cascade,
    hash      bytea       not null check (length(hash) = 32),  -- sha256 of the token
    name      text        not null,  -- what the person calls it
    hint      text        not null,  -- how it begins, to tell it from others
    scopes    text[]      not null,
    created   timestamptz not null,
    expires   timestamptz not null,
    last_used timestamptz,           -- to the minute
    revoked   timestamptz
);
create unique index api_tokens_hash on api_tokens (hash);
create index api_tokens_user on api_tokens (user_id);

-- What the tracker said about the distribution's archive, or is to be asked. Pages and the API only read it.
create table archive_facts (
    kind      text        not null check (kind in ('source', 'binary', 'version', 'set', 'person')),
    key       text        collate "C" not null,
    value     jsonb,                 -- null: there is no such thing, or, without a time in read, nothing is known yet
    read      timestamptz,
    asked     timestamptz not null,  -- when somebody wanted to know it last, to the day
    next_read timestamptz not null,
    failures  integer     not null default 0,
    failure   text        not null default '',
    primary key (kind, key)
);
create index archive_facts_due on archive_facts (next_read);
create index archive_facts_unread on archive_facts (asked) where read is null;

-- What came with a version (package-version-new-buckets) is looked for in all problems of a source package, of which there may
-- be thousands.
create index bucket_versions_version on bucket_versions (version);

-- Machines that reported a problem with one version from several releases: a machine that moved on, or a release that a version
-- was taken over into. With them the distinct machines of a version are told from bucket_versions, without going through all
-- machines of the problem.
create table bucket_travellers (
    bucket_id bytea   not null,
    version   text    not null,
    system    bigint  not null,
    extra     integer not null check (extra > 0),  -- releases beyond the first
    primary key (bucket_id, version, system)
);
