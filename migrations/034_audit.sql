-- The audit log: from where and on whose behalf, before and after, refusals, and protection from changes.
-- The columns are added at once. Checks and indexes take about ten seconds per million records, and no record is
-- written meanwhile.
alter table audit_events
    add column kind       text  not null default ''
        check (kind in ('', 'person', 'token', 'rule', 'job', 'command', 'visitor')),
    add column via        text  not null default '',
    add column address    text  not null default '',
    add column request_id text  not null default '',
    add column before     jsonb,
    add column after      jsonb,
    add column result     text  not null default 'done' check (result in ('done', 'refused')),
    add column reason     text  not null default '',
    add column once       text  unique;

comment on table audit_events is 'Who did what. Triggers refuse changes; drop_audit_events() removes old rows. Rows hold no secrets. No foreign key: accounts can be removed, the record stays.';
comment on column audit_events.person is 'Account name; empty: mishap itself, the command line, or a visitor.';
comment on column audit_events.kind is 'Who acted: a person in a browser, a token, a rule, a job of mishap, a command, or a visitor. Empty: unknown, before version 33.';
comment on column audit_events.via is 'Name and first characters of the token, name of the rule or job, or system user of the command.';
comment on column audit_events.address is 'Address of the client; empty: unknown or none.';
comment on column audit_events.request_id is 'Id of the request, as in the log and in X-Request-ID, or the command.';
comment on column audit_events.before is 'Values before a change; secrets appear as "changed".';
comment on column audit_events.after is 'Values after a change; secrets appear as "changed".';
comment on column audit_events.result is 'Whether it was done or refused.';
comment on column audit_events.reason is 'Why it was refused: the code of the error.';
comment on column audit_events.once is 'Key of records of which there is one an hour or minute, such as views of the same page. Null: each counts.';

create index audit_events_at on audit_events (at desc, id desc);
create index audit_events_who on audit_events ((case when person <> '' then person else via end), at desc, id desc);
create index audit_events_action on audit_events (action, at desc, id desc);
create index audit_events_address on audit_events (address, at desc, id desc) where address <> '';
create index audit_events_refused on audit_events (at desc, id desc) where result = 'refused';
drop index audit_events_subject;
create index audit_events_subject on audit_events (subject, at desc, id desc);
create index audit_events_removed on audit_events (lower(subject)) where action = 'user.remove';

-- The setting is no protection by itself: it only keeps other statements from deleting by mistake.
create function refuse_audit_change() returns trigger language plpgsql as $$
begin
    if tg_op = 'DELETE' and current_setting('mishap.dropping_audit_events', true) = 'on'
        and old.at < now() - interval '30 days' and old.action <> 'user.remove' then
        return old;
    end if;
    raise exception 'Records of the audit log cannot be changed. The function drop_audit_events removes old ones.'
        using errcode = 'insufficient_privilege';
end $$;
create trigger audit_events_append_only before update or delete on audit_events
    for each row execute function refuse_audit_change();
create trigger audit_events_no_truncate before truncate on audit_events
    for each statement execute function refuse_audit_change();

-- Names of removed accounts are never given to another person, so the records of removing them stay.
create function drop_audit_events(oldest timestamptz, most integer) returns bigint
    language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    dropped bigint;
begin
    if oldest > now() - interval '30 days' then
        raise exception 'Records of the last 30 days stay in the audit log.' using errcode = 'insufficient_privilege';
    end if;
    perform set_config('mishap.dropping_audit_events', 'on', true);
    delete from public.audit_events where id in (
        select id from public.audit_events where at < oldest and action <> 'user.remove' order by at, id limit most);
    get diagnostics dropped = row_count;
    perform set_config('mishap.dropping_audit_events', '', true);
    return dropped;
end $$;
revoke execute on function drop_audit_events(timestamptz, integer) from public;
