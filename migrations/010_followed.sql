-- What people follow, and since when something is new to them.
create table followed (
    user_id bigint      not null references users (id) on delete cascade,
    kind    text        not null check (kind in ('package', 'person', 'set')),
    name    text        collate "C" not null,  -- of a binary or source package; of a person or team of the tracker; of a package set
    since   timestamptz not null,
    primary key (user_id, kind, name)
);

-- When people looked at what they follow. Looks less than half an hour apart are one visit.
create table follow_visits (
    user_id  bigint      primary key references users (id) on delete cascade,
    seen     timestamptz,           -- the end of the visit before; what came later is new. Null: there was none
    last     timestamptz not null   -- the last look of this visit
);
