-- What the column seen of a decision "fixed in" holds.
comment on column triage.seen is 'Of a mute: highest version of the problem in each release when it was muted, for the condition newer. Of a fix: reports from each version with the fix, by release and version, when it was marked.';
