-- Named searches of people: a name for the address of a list.
create table saved_searches (
    id      bigint generated always as identity primary key,
    user_id bigint      not null references users (id) on delete cascade,
    name    text        not null check (length(name) between 1 and 60),
    path    text        not null check (path like '/?%' or path like '/search?%'),
    shared  boolean     not null,
    created timestamptz not null,
    deleted timestamptz
);
create unique index saved_searches_name on saved_searches (user_id, lower(name)) where deleted is null;
create index saved_searches_shared on saved_searches (id) where shared and deleted is null;

comment on table saved_searches is 'Named searches: names for addresses of lists of problems.';
comment on column saved_searches.id is 'Number in addresses of the search.';
comment on column saved_searches.user_id is 'Who saved it.';
comment on column saved_searches.name is 'Name that the person chose; unique among the live searches of the person, whatever the case.';
comment on column saved_searches.path is 'Path and query of the list.';
comment on column saved_searches.shared is 'Whether everyone who is signed in sees it.';
comment on column saved_searches.created is 'When it was saved.';
comment on column saved_searches.deleted is 'When it was deleted, which can be undone. Null: it is live.';
