-- Complete backups, so that pages and metrics can show the age of the last one. Instant: a new table.
create table backups (
    id      bigint      generated always as identity primary key,
    taken   timestamptz not null,
    ended   timestamptz not null,
    place   text        not null,
    bytes   bigint      not null,
    reports bigint      not null
);
comment on table backups is 'Complete backups that the command backup has written, for 400 days.';
comment on column backups.id is 'Number of the backup.';
comment on column backups.taken is 'The state of the database in the backup is that of this moment.';
comment on column backups.ended is 'When the backup was complete.';
comment on column backups.place is 'Folder of the backup on the machine where the command ran, or its address in object storage.';
comment on column backups.bytes is 'Size of all its files.';
comment on column backups.reports is 'Number of reports in it.';
