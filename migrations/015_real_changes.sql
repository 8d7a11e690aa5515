-- Only what pages, lists or files show counts as a change. Until now each poll of the tracker and some requests that only
-- read made instances forget all cached pages, since they set times such as next_read. This takes no time.
drop trigger note_change on archive_facts;
drop trigger note_change on bucket_bugs;
drop trigger note_change on bug_states;
drop trigger note_change on bugs;
drop trigger note_change on decisions;
drop trigger note_change on filings;
drop trigger note_change on note_texts;
drop trigger note_change on notes;

create trigger note_row after insert or delete on bucket_bugs for each row execute function note_change();
create trigger note_row after insert or delete on bug_states for each row execute function note_change();
create trigger note_row after insert or delete on bugs for each row execute function note_change();
create trigger note_row after insert or delete on decisions for each row execute function note_change();
create trigger note_row after insert or delete on filings for each row execute function note_change();
create trigger note_row after insert or delete on note_texts for each row execute function note_change();
create trigger note_row after insert or delete on notes for each row execute function note_change();

create trigger note_update after update on bucket_bugs for each row when (old.* is distinct from new.*) execute function note_change();
create trigger note_update after update on bugs for each row when (old.* is distinct from new.*) execute function note_change();
create trigger note_update after update on decisions for each row when (old.* is distinct from new.*) execute function note_change();
create trigger note_update after update on filings for each row when (old.* is distinct from new.*) execute function note_change();
create trigger note_update after update on note_texts for each row when (old.* is distinct from new.*) execute function note_change();
create trigger note_update after update on notes for each row when (old.* is distinct from new.*) execute function note_change();

-- The times of polls, and how many of them failed, are left out. Of the time at which a bug was read, pages show how long ago
-- it was; they are rendered anew often enough for that. Whether it was read at all makes a difference.
create trigger note_update after update on bug_states for each row when (
    to_jsonb(old) - '{read,next_read,failures}'::text[] is distinct from to_jsonb(new) - '{read,next_read,failures}'::text[]
    or (old.read is null) <> (new.read is null)
) execute function note_change();

-- A fact that was asked for and not read yet is the same as none.
create trigger note_insert after insert on archive_facts for each row when (new.read is not null) execute function note_change();
create trigger note_delete after delete on archive_facts for each row when (old.read is not null) execute function note_change();
create trigger note_update after update on archive_facts for each row when (
    to_jsonb(old) - '{read,asked,next_read,failures,failure}'::text[] is distinct from to_jsonb(new) - '{read,asked,next_read,failures,failure}'::text[]
    or (old.read is null) <> (new.read is null)
) execute function note_change();
