-- Expiry of daily counts. Instant: new tables, and views.
create table expired_counts (
	single boolean     primary key default true check (single),
	before date        not null,
	at     timestamptz not null
);
comment on table expired_counts is 'Up to when daily counts have expired, in one row. No row: none have.';
comment on column expired_counts.single is 'Always true: limits the table to one row.';
comment on column expired_counts.before is 'Days before this one have expired: report_days, release_days, release_active and release_systems know nothing of them, bucket_days only where a problem is held or reports of such a day are stored.';
comment on column expired_counts.at is 'When it was set.';

create table bucket_expired (
	bucket_id            bytea  not null,
	release              text   not null,
	version              text   not null,
	architecture         text   not null,
	package_architecture text   not null,
	reports              bigint not null,
	proposed             bigint not null,
	first_day            date   not null,
	last_day             date   not null,
	primary key (bucket_id, release, version, architecture, package_architecture)
);
comment on table bucket_expired is 'Sums of the rows of bucket_days that have expired. With bucket_days they give bucket_versions. No foreign key; see bucket_releases.';
comment on column bucket_expired.bucket_id is 'The bucket.';
comment on column bucket_expired.release is 'The release; empty: none named.';
comment on column bucket_expired.version is 'Version of the package; empty: none named.';
comment on column bucket_expired.architecture is 'Architecture of the machine.';
comment on column bucket_expired.package_architecture is 'Architecture of the package.';
comment on column bucket_expired.reports is 'Number of counted reports.';
comment on column bucket_expired.proposed is 'Number of these whose package came from the proposed pocket.';
comment on column bucket_expired.first_day is 'First UTC day with such a report.';
comment on column bucket_expired.last_day is 'Last UTC day with such a report that has expired.';

create view visible.bucket_expired as select * from bucket_expired
    where coalesce(bucket_id <> all (((select visible.hidden())::bytea[])), true);
