-- Rights for some packages, and the right to private data apart from the roles. Instant: grants and accounts are few. Everybody who
-- could read private data before keeps that right for all packages.

alter table group_grants
    add column scope      text not null default 'everything' check (scope in ('everything', 'package', 'set', 'team')),
    add column scope_name text not null default '' check (length(scope_name) <= 100);
alter table group_grants drop constraint group_grants_role_check;
alter table group_grants add constraint group_grants_role_check check (role in ('viewer', 'triager', 'admin', 'private'));
alter table group_grants add constraint group_grants_scope_name_given check ((scope = 'everything') = (scope_name = ''));
alter table group_grants add constraint group_grants_role_for_all check (scope = 'everything' or role in ('triager', 'private'));
alter table group_grants drop constraint group_grants_source_group_name_key;
create unique index group_grants_once on group_grants (source, group_name, scope, scope_name, (role = 'private'));

create table account_grants (
    id         bigint      generated always as identity primary key,
    user_id    bigint      not null references users (id) on delete cascade,
    role       text        not null check (role in ('triager', 'private')),
    scope      text        not null check (scope in ('everything', 'package', 'set', 'team')),
    scope_name text        not null check (length(scope_name) <= 100 and (scope = 'everything') = (scope_name = '')),
    person     text        not null,
    created    timestamptz not null,
    unique (user_id, scope, scope_name, role)
);

insert into group_grants (source, group_name, role, person, created)
select source, group_name, 'private', person, created from group_grants where role in ('viewer', 'triager', 'admin')
on conflict do nothing;

insert into account_grants (user_id, role, scope, scope_name, person, created)
select id, 'private', 'everything', '', '', created from users where role <> '';

comment on table group_grants is 'Roles that members of a group have, and their right to private data.';
comment on column group_grants.role is 'Role of its members; private: the right to private data.';
comment on column group_grants.scope is 'everything, package (or a pattern), set (of packages), or team (whose packages).';
comment on column group_grants.scope_name is 'Package, pattern, set or team; empty: all packages.';

comment on table account_grants is 'Rights that single accounts were given by hand, besides users.role.';
comment on column account_grants.id is 'Number of the grant.';
comment on column account_grants.user_id is 'The account.';
comment on column account_grants.role is 'triager, or private: the right to private data.';
comment on column account_grants.scope is 'As in group_grants.';
comment on column account_grants.scope_name is 'As in group_grants.';
comment on column account_grants.person is 'Account that added the grant; empty: the command line, or the upgrade.';
comment on column account_grants.created is 'When it was added.';
