-- When groups were stated last, and the tokens by which providers state them again. Two columns with
-- constant defaults, and an update of one row per person.
alter table identities add column groups_read timestamptz, add column refresh_token text not null default '';
update identities set groups_read = last_sign_in;
comment on column identities.groups_read is 'When the site or the proxy stated the groups last; null: it has refused to state them again, so they do not count.';
comment on column identities.refresh_token is 'Refresh token of OpenID Connect, encrypted; empty: the provider gave none.';
comment on table user_groups is 'Groups of people as of identities.groups_read.';
