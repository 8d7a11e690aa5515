-- People who sign in through another site or a proxy, and roles that come from their groups there. All statements are instant:
-- the new columns have constant defaults, and the accounts that the changed check reads are few.

alter table users drop constraint users_role_check;
alter table users add constraint users_role_check check (role in ('', 'viewer', 'triager', 'admin'));
comment on column users.role is 'Role given by hand: viewer, triager, admin, or empty. Groups may give a higher one; see group_grants.';
comment on column users.password_hash is 'argon2id hash of the password, as a PHC string; empty: the account has no password.';

create table identities (
    id           bigint      generated always as identity primary key,
    user_id      bigint      not null references users (id) on delete cascade,
    source       text        not null check (source in ('launchpad', 'oidc', 'proxy')),
    issuer       text        not null,
    subject      text        not null check (length(subject) between 1 and 500),
    name         text        not null,
    created      timestamptz not null,
    last_sign_in timestamptz not null,
    unique (source, issuer, subject)
);
create index identities_user on identities (user_id);

create table user_groups (
    identity_id bigint not null references identities (id) on delete cascade,
    group_name  text   not null,
    primary key (identity_id, group_name)
);

create table group_grants (
    id         bigint      generated always as identity primary key,
    source     text        not null check (source in ('launchpad', 'oidc', 'proxy')),
    group_name text        not null check (length(group_name) between 1 and 200),
    role       text        not null check (role in ('viewer', 'triager', 'admin')),
    person     text        not null,
    created    timestamptz not null,
    unique (source, group_name)
);

create table openid_nonces (
    endpoint text        not null,
    nonce    text        not null,
    at       timestamptz not null,
    primary key (endpoint, nonce)
);
create index openid_nonces_at on openid_nonces (at);

alter table sessions
    add column identity_id bigint      references identities (id) on delete cascade,
    add column provider_session text   not null default '',
    add column created     timestamptz not null default 'epoch',
    add column used        timestamptz not null default 'epoch',
    add column address     text        not null default '',
    add column browser     text        not null default '';
create index sessions_identity on sessions (identity_id) where identity_id is not null;

comment on table identities is 'People as other sites and proxies identify them, and their accounts here.';
comment on column identities.id is 'Number of the identity.';
comment on column identities.user_id is 'The account.';
comment on column identities.source is 'Way of signing in: launchpad (OpenID 2.0), oidc (OpenID Connect) or proxy (a header).';
comment on column identities.issuer is 'Address of the site that identified the person; empty for a proxy.';
comment on column identities.subject is 'The person at that site: an identifier that never changes, not a nickname.';
comment on column identities.name is 'Nickname at that site at the last sign-in, for people to read.';
comment on column identities.created is 'First sign-in.';
comment on column identities.last_sign_in is 'Last sign-in.';

comment on table user_groups is 'Groups of people as of their last sign-in.';
comment on column user_groups.identity_id is 'The person at the site that has the group.';
comment on column user_groups.group_name is 'The group or team.';

comment on table group_grants is 'Roles that members of a group have.';
comment on column group_grants.id is 'Number of the grant.';
comment on column group_grants.source is 'Way of signing in that knows the group: launchpad, oidc or proxy.';
comment on column group_grants.group_name is 'The group or team.';
comment on column group_grants.role is 'Role of its members.';
comment on column group_grants.person is 'Account that added the grant; empty: the command line.';
comment on column group_grants.created is 'When it was added.';

comment on table openid_nonces is 'Answers of sign-in providers that were used, so that none is accepted twice. Old rows are deleted.';
comment on column openid_nonces.endpoint is 'The provider.';
comment on column openid_nonces.nonce is 'The nonce of the answer, or the id of a message that ends sessions.';
comment on column openid_nonces.at is 'When it was used.';

comment on column sessions.identity_id is 'The identity that signed in. Null: a name and password, or nobody yet.';
comment on column sessions.provider_session is 'Session at the provider (sid of OpenID Connect); empty: unknown.';
comment on column sessions.created is 'When the session began; 1970: unknown.';
comment on column sessions.used is 'Last request, to within five minutes; 1970: unknown.';
comment on column sessions.address is 'Address from which the person signed in; empty: unknown.';
comment on column sessions.browser is 'Browser with which the person signed in; empty: unknown.';
