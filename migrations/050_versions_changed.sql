alter table counting add column versions_changed bigint not null default 0;
comment on column counting.versions_changed is 'Last round that changed package_versions. Caches of the versions in use are read again after it.';
