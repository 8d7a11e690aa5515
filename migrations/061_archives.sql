-- Parts of reports on other servers. A foreign table can be a part only while no index of the parent table is unique, so
-- each part gets a primary key of its own. Slow: this builds the key of each part anew, some two seconds for a million
-- reports, and reports wait meanwhile.
do $$
declare
    part text;
begin
    for part in select c.relname from pg_inherits as i join pg_class as c on c.oid = i.inhrelid
        where i.inhparent = 'reports'::regclass
    loop
        execute format('create unique index %I on %I (received, id)', part || '_key', part);
    end loop;
    alter table reports drop constraint reports_pkey;
    for part in select c.relname from pg_inherits as i join pg_class as c on c.oid = i.inhrelid
        where i.inhparent = 'reports'::regclass
    loop
        execute format('alter table %I add constraint %I primary key using index %I', part, part || '_pkey', part || '_key');
    end loop;
end
$$;

create table archive_moves (
    part    text        primary key,
    archive text        not null,
    back    boolean     not null,
    state   text        not null default 'copying' check (state in ('copying', 'swapped', 'dropped')),
    copied  timestamptz not null default '0001-01-01Z',
    reports bigint      not null default 0,
    started timestamptz not null
);
comment on table archive_moves is 'Parts of reports that are being moved to an archive server or back. A row is deleted when its move is finished.';
comment on column archive_moves.part is 'Name of the table.';
comment on column archive_moves.archive is 'Name of the archive.';
comment on column archive_moves.back is 'False: to the archive; true: back from it.';
comment on column archive_moves.state is 'copying: the source is still in use. swapped: the copy is in use, and the source remains to be dropped. dropped: retention has dropped the part here, and the table of the archive remains to be dropped.';
comment on column archive_moves.copied is 'Reports that arrived before this time are copied.';
comment on column archive_moves.reports is 'Number of reports that are copied.';
comment on column archive_moves.started is 'When the move began.';

-- Reports that were changed or deleted while their part is being copied. A trigger on the part writes it.
create table archive_changes (
    received timestamptz not null,
    id       uuid        not null
);
comment on table archive_changes is 'Reports that were changed or deleted in a part that is being moved, since they were copied.';
comment on column archive_changes.received is 'As in reports.';
comment on column archive_changes.id is 'As in reports.';

create function note_archive_change() returns trigger language plpgsql as $$
begin
    insert into public.archive_changes (received, id) values (old.received, old.id);
    return null;
end
$$;
comment on function note_archive_change() is 'Notes a change of a report in a part that is being moved.';
