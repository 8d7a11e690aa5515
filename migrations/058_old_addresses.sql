-- Addresses of problems in other crash trackers, which redirect. Instant.
create table old_addresses (
	path      text  not null check (length(path) <= 100),
	bucket_id bytea not null check (length(bucket_id) = 20),
	primary key (path, bucket_id)
);
comment on table old_addresses is 'Addresses of problems in the crash trackers from which people have moved here. They redirect to the problem.';
comment on column old_addresses.path is 'The path of the page, without a trailing slash.';
comment on column old_addresses.bucket_id is 'The bucket that the page was about. It may not exist yet. A page may have been about several.';
