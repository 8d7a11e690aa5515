-- Results of "mishap restore --verify". Instant: new columns without values.
alter table backups add verified timestamptz, add verify_problem text;
comment on column backups.verified is 'When the last verification of the backup ended. Null: it was never verified.';
comment on column backups.verify_problem is 'Why the verified backup is not good. Empty: it is.';
