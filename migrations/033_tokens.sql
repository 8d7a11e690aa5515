-- Where API tokens were used, warnings before they expire, service accounts, and second factors of local accounts. All
-- statements are instant: the new columns have constant defaults, and accounts and tokens are few.

alter table api_tokens
    add column last_address text        not null default '',
    add column warned       timestamptz;
comment on column api_tokens.hint is 'Last 8 characters of the token; of tokens made before 2026-11: the first 11, which begin with mishap_.';
comment on column api_tokens.scopes is 'What it allows: read, read-private, triage, file, upload, admin.';
comment on column api_tokens.last_address is 'Address of the client that used it last; empty: unknown.';
comment on column api_tokens.warned is 'When its owner was told that it expires soon. Null: not yet.';

alter table users
    add column service      boolean not null default false,
    add column owner_id     bigint  references users (id) on delete set null,
    add column owner_source text    not null default '' check (owner_source in ('', 'launchpad', 'oidc', 'proxy')),
    add column owner_group  text    not null default '' check (length(owner_group) <= 200),
    add constraint users_service_without_password check (not service or password_hash = '');
comment on column users.service is 'Whether it is the account of a program, which cannot sign in and only has API tokens.';
comment on column users.owner_id is 'Person who manages the tokens of a service account. Null: none.';
comment on column users.owner_source is 'Way of signing in that knows owner_group; empty: no group.';
comment on column users.owner_group is 'Group or team whose members manage the tokens of a service account; empty: none.';

create table second_factors (
    user_id   bigint      primary key references users (id) on delete cascade,
    secret    text        not null,
    created   timestamptz not null,
    confirmed timestamptz,
    last_step bigint      not null default 0
);
comment on table second_factors is 'Authenticator apps (TOTP, RFC 6238) of accounts with a password.';
comment on column second_factors.user_id is 'The account.';
comment on column second_factors.secret is 'The secret that the app shares, encrypted with a key from the database password.';
comment on column second_factors.created is 'When the secret was made.';
comment on column second_factors.confirmed is 'When the person first entered a code; signing in needs one since. Null: not yet.';
comment on column second_factors.last_step is 'Number of the period of 30 seconds whose code was used last, so that no code is accepted twice.';

create table recovery_codes (
    user_id bigint not null references second_factors (user_id) on delete cascade,
    hash    bytea  not null check (length(hash) = 32),
    primary key (user_id, hash)
);
comment on table recovery_codes is 'Codes that replace one code of the app. Each works once; a used one is deleted.';
comment on column recovery_codes.user_id is 'The account.';
comment on column recovery_codes.hash is 'SHA-256 of the code.';
