-- People, their sessions, and what they did.

create table users (
    id            bigint generated always as identity primary key,
    name          text        not null,
    role          text        not null check (role in ('viewer', 'triager', 'admin')),
    password_hash text        not null,  -- argon2id, PHC string
    disabled      boolean     not null default false,
    created       timestamptz not null,
    last_login    timestamptz,
    tracker_name  text        not null default ''  -- of the person's account at the tracker; empty: not told
);
create unique index users_name on users (lower(name));

-- Sessions as scs keeps them; the token is stored hashed.
create table sessions (
    token   text        primary key,
    data    bytea       not null,
    expiry  timestamptz not null,
    user_id bigint references users (id) on delete cascade  -- for "log out everywhere"
);
create index sessions_expiry on sessions (expiry);
create index sessions_user on sessions (user_id) where user_id is not null;

-- Failed sign-ins by name and by address, so that all units slow down together.
create table sign_in_failures (
    key      text        primary key,  -- "name:ada" or "address:192.0.2.1"
    failures integer     not null,
    last     timestamptz not null
);

-- Who did what, for ever.
create table audit_events (
    id      bigint generated always as identity primary key,
    at      timestamptz not null,
    person  text        not null,  -- account name; empty: mishap itself
    action  text        not null,  -- "bug.create", "tracker.connect"
    subject text        not null,  -- what it was done to
    detail  jsonb       not null default '{}'
);
create index audit_events_subject on audit_events (subject, at desc);
