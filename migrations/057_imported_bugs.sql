-- Links that people import from another crash tracker before the problem has a report here. Instant.
comment on table lost_bugs is 'Bugs of problems that are not in the database: those that a restored database lacked, and those that people import. When the problem gets its first report, an imported bug is linked to it. When a person files the problem, it gets its bug instead of another.';
comment on column lost_bugs.bucket_id is 'The bucket that the bug is about.';
