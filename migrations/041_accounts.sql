-- Service accounts, which belong to teams. Instant: the new columns have constant defaults, and accounts are few.

alter table users
    add column team_source text not null default '' check (team_source in ('', 'launchpad', 'oidc', 'proxy')),
    add column team        text not null default '' check (length(team) <= 200);
alter table users add constraint users_team_complete check ((team_source = '') = (team = ''));
alter table users add constraint users_service_without_password check (team = '' or password_hash = '');
create index users_team on users (team_source, team) where team <> '';
comment on column users.team_source is 'Of a service account: the way of signing in that knows its team; empty: the account of a person.';
comment on column users.team is 'Of a service account: the group that owns it; empty: the account of a person.';
