-- Comments that name the upstream bug in the distribution's, and the other way round. Instant: the check reads a small table.
alter table bug_comments drop constraint bug_comments_kind_check,
    add constraint bug_comments_kind_check check (kind in ('again', 'names', 'quiet', 'forwarded'));
comment on column bug_comments.kind is 'again: a fixed bug was seen again; names: the functions of its crash got names; quiet: its problem is no longer reported; forwarded: its problem has a bug in the upstream project, or the other way round.';
comment on column bug_comments.version is 'again: the version that the comment is about. quiet: UTC day of the last report. forwarded: number of the other bug. names: empty.';
