-- mishap also comments on a bug once when its crash gets function names. Instant: it changes descriptions.
comment on table bug_comments is 'Comments that mishap wrote in the tracker: when a fixed bug was seen again, at most one per bug and version; when the functions of a crash got names, at most one per bug.';
comment on column bug_comments.version is 'The version that the comment is about. Empty: the comment gives the names of functions.';
comment on column bug_comments.bucket_id is 'The problem that the comment is about.';
comment on column bug_watch.comment is 'Whether mishap comments in the tracker by itself.';
