-- What tells units that something they show has become another, besides counts (for these see counting.round).
--
-- Each transaction that changes any of the tables below leaves one row. Units keep lists and pages for as long as the rows
-- here are the same. A time or a number of a sequence would not do: transactions become visible in another order than they
-- are given these. Rows are taken away again when they are old.
create table changes (
    id   bigint      generated always as identity,
    xact xid8        not null default pg_current_xact_id(),
    at   timestamptz not null default now(),  -- when the transaction began
    primary key (xact, at)
);

create function note_change() returns trigger language plpgsql as $$
begin
    insert into changes default values on conflict do nothing;
    return null;
end $$;

create trigger note_change after insert or update or delete on archive_facts for each row execute function note_change();
create trigger note_change after insert or update or delete on bucket_bugs for each row execute function note_change();
create trigger note_change after insert or update or delete on bug_states for each row execute function note_change();
create trigger note_change after insert or update or delete on bugs for each row execute function note_change();
create trigger note_change after insert or update or delete on decisions for each row execute function note_change();
create trigger note_change after insert or update or delete on filings for each row execute function note_change();
create trigger note_change after insert or update or delete on note_texts for each row execute function note_change();
create trigger note_change after insert or update or delete on notes for each row execute function note_change();
