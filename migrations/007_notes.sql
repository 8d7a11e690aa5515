-- What people write down about problems. A note that was changed or taken away stays as it was, for the history.
create table notes (
    id         bigint      generated always as identity primary key,
    bucket_id  bytea       not null,              -- the problem that it was written at; those merged with it show it too
    written    timestamptz not null,              -- when it was written first
    person     text        not null               -- by whom
);
create index notes_bucket on notes (bucket_id);

-- Every text that a note had; the last counts. An empty one takes the note away.
create table note_texts (
    id      bigint      generated always as identity primary key,
    note_id bigint      not null references notes (id),
    at      timestamptz not null,
    person  text        not null,
    text    text        not null
);
create index note_texts_note on note_texts (note_id, id);
