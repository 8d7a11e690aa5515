-- Where API tokens were used, warnings before they expire, and second factors of accounts with a password. All statements are
-- instant: the new columns have constant defaults, and tokens are few.

alter table api_tokens
    add column last_address text        not null default '',
    add column warned       timestamptz;
comment on column api_tokens.hint is 'Last 8 characters of the token; of tokens made before 2026-11: the first 11, which begin with mishap_.';
comment on column api_tokens.scopes is 'What it allows: read, read-private, triage, file, upload, admin.';
comment on column api_tokens.last_address is 'Address of the client that used it last; empty: unknown.';
comment on column api_tokens.warned is 'When its owner was told that it expires soon. Null: not yet.';

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
