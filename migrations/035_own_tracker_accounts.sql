-- People can file bugs under their own names. All statements are instant: the table is new, and the new columns have constant
-- defaults.

create table own_tracker_accounts (
    user_id       bigint      not null references users (id) on delete cascade,
    tracker_url   text        not null,
    consumer_key  text        not null,
    account       text        not null,
    token         text        not null,
    secret_sealed bytea       not null,
    context       text        not null,
    preferred     boolean     not null default true,
    connected     timestamptz not null,
    last_success  timestamptz,
    last_error    text        not null default '',
    last_error_at timestamptz,
    broken        boolean     not null default false,
    primary key (user_id, tracker_url, consumer_key)
);
comment on table own_tracker_accounts is 'Access tokens for the accounts that people have at the tracker. Each row goes with the account of the person.';
comment on column own_tracker_accounts.user_id is 'The person.';
comment on column own_tracker_accounts.tracker_url is 'Address of the tracker''s API. No foreign key: trackers are part of the configuration.';
comment on column own_tracker_accounts.consumer_key is 'OAuth consumer key.';
comment on column own_tracker_accounts.account is 'Name of the account at the tracker; empty: not read yet, so nothing is filed with it.';
comment on column own_tracker_accounts.token is 'Public half of the access token.';
comment on column own_tracker_accounts.secret_sealed is 'Secret half, encrypted (db/seal.go).';
comment on column own_tracker_accounts.context is 'The restriction that the tracker put on the token; empty: none.';
comment on column own_tracker_accounts.preferred is 'Whether the person''s bugs are filed with it unless the person chooses otherwise.';
comment on column own_tracker_accounts.connected is 'When it was stored.';
comment on column own_tracker_accounts.last_success is 'When a call last succeeded. Null: never.';
comment on column own_tracker_accounts.last_error is 'Message of the last failed call; empty: none.';
comment on column own_tracker_accounts.last_error_at is 'When a call last failed. Null: never.';
comment on column own_tracker_accounts.broken is 'Whether the tracker rejected the token or the account, so that the application files instead.';

alter table filings
    add column own_user  bigint not null default 0,
    add column sent_user bigint not null default 0,
    add column sent_as   text   not null default '',
    add column fallback  text   not null default '';
comment on column filings.own_user is 'The person whose own account at the tracker is to file the bug; 0: the application''s account. No foreign key: accounts can be removed, the ledger stays.';
comment on column filings.sent_user is 'The person with whose own account the bug was sent last; 0: the application''s account, or never. No foreign key, as for own_user.';
comment on column filings.sent_as is 'Name at the tracker of the own account with which the bug was sent last; empty: the application''s account, or never.';
comment on column filings.fallback is 'Why the application''s account files the bug instead of the person''s own; empty: it does not.';

alter table filing_attempts add column account text not null default '';
comment on column filing_attempts.account is 'Name at the tracker of the own account that made the call; empty: the application''s account.';
