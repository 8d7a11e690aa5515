-- Whether refresh tokens outlast the session at the provider. Instant: a column with a constant default.
alter table identities add column refresh_offline boolean not null default false;
comment on column identities.refresh_offline is 'Whether the refresh token came with offline_access. If not, it is erased when the person signs out at the provider.';
