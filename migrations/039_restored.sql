-- A database that was restored from a backup may lack bugs that were filed after the backup was taken.
-- Instant.
alter table filing_writer add column restored timestamptz, add column backup_taken timestamptz;
comment on column filing_writer.restored is 'When the database was restored from a backup that was not compared with the tracker yet. No bug is filed meanwhile. Null: nothing is pending.';
comment on column filing_writer.backup_taken is 'When that backup was taken.';

create table lost_bugs (
	bucket_id  bytea   primary key check (length(bucket_id) = 20),
	bug_number bigint  not null
);
comment on table lost_bugs is 'Bugs of mishap for problems that a restored database lacked. If the problem returns, it is linked to the bug instead of filed again.';
comment on column lost_bugs.bucket_id is 'The bucket that the bug names.';
comment on column lost_bugs.bug_number is 'Number of the bug in the tracker.';
