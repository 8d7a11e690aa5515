-- Removal of machines with everything that is known about them. Instant: new tables, one column with a
-- constant default, and functions.
alter table counting add column erasures bigint not null default 0;
comment on column counting.erasures is 'Number of times that an erasure has deleted problems or machines. Caches of rows are valid while it stays the same.';

create table erasure_key (
	single boolean primary key default true check (single),
	key    bytea   not null check (length(key) = 32)
);
comment on table erasure_key is 'The key of the digests of erased machines and reports, in one row. It is made once and never changes.';
comment on column erasure_key.single is 'Always true: limits the table to one row.';
comment on column erasure_key.key is 'Random key.';
insert into erasure_key (key) values (sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8')));

create table erasures (
	id        bigint      primary key generated always as identity,
	digest    bytea       not null check (length(digest) = 32),
	system    text        not null,
	blocked   boolean     not null,
	person    text        not null,
	via       text        not null,
	requested timestamptz not null,
	until     timestamptz not null,
	finished  timestamptz,
	receipt   jsonb       not null default '{}',
	touched   bytea[]     not null default '{}'
);
comment on table erasures is 'Machines that were erased: the receipts, and what keeps the machines erased. Rows are not deleted.';
comment on column erasures.id is 'Number of the erasure.';
comment on column erasures.digest is 'Digest of the id of the machine, with erasure_key.';
comment on column erasures.system is 'The machine while it is being erased. Empty: it is finished, or a restored backup has to be searched for the machine.';
comment on column erasures.blocked is 'Whether new reports of the machine are refused.';
comment on column erasures.person is 'Account name of the person who asked for it; empty: the command line.';
comment on column erasures.via is 'Name of the token, or system user of the command; empty: a browser.';
comment on column erasures.requested is 'When it was asked for.';
comment on column erasures.until is 'Reports that arrived until then are erased. Later ones are new.';
comment on column erasures.finished is 'When nothing was left. Null: it is running.';
comment on column erasures.receipt is 'What was removed, in numbers (crash.ErasedCounts).';
comment on column erasures.touched is 'Buckets that have lost reports, while it runs. Empty once it is finished.';
create unique index erasures_running on erasures (digest) where finished is null;
create index erasures_digest on erasures (digest);
create index erasures_blocked on erasures (digest) where blocked;

create table erased_reports (
	digest  bytea  primary key check (length(digest) = 32),
	erasure bigint not null references erasures (id)
);
comment on table erased_reports is 'Digests of the keys of erased reports (report_keys.key), with erasure_key. Such a report is refused when it is sent again.';
comment on column erased_reports.digest is 'The digest.';
comment on column erased_reports.erasure is 'The erasure.';

create function system_digest(system text) returns bytea language sql stable as $$
	select sha256((select key from erasure_key) || convert_to('system:' || system, 'UTF8'))
$$;
comment on function system_digest(text) is 'Digest of a machine; see erasures.digest.';

create or replace function refuse_audit_change() returns trigger language plpgsql as $$
declare
	named constant text[] := '{subject,detail,before,after,once}';
begin
	if tg_op = 'DELETE' and current_setting('mishap.dropping_audit_events', true) = 'on'
		and old.at < now() - interval '30 days' and old.action <> 'user.remove' then
		return old;
	end if;
	if tg_op = 'UPDATE' and current_setting('mishap.erasing_machine', true) = 'on'
		and to_jsonb(old) - named = to_jsonb(new) - named then
		return new;
	end if;
	raise exception 'Records of the audit log cannot be changed. The function drop_audit_events removes old ones.'
		using errcode = 'insufficient_privilege';
end $$;

-- erase_from_audit_events replaces the id of an erased machine. Who did what, and when, stays. It searches
-- within texts only for ids that are too long to be a word.
create function erase_from_audit_events(machine text, replacement text) returns bigint
	language plpgsql security definer set search_path to pg_catalog, pg_temp as $$
declare
	changed bigint;
begin
	perform set_config('mishap.erasing_machine', 'on', true);
	update public.audit_events set subject = case when subject = machine or length(machine) >= 16
			then replace(subject, machine, replacement) else subject end,
		detail = case when length(machine) >= 16 then replace(detail::text, machine, replacement)::jsonb else detail end,
		before = case when length(machine) >= 16 then replace(before::text, machine, replacement)::jsonb else before end,
		after = case when length(machine) >= 16 then replace(after::text, machine, replacement)::jsonb else after end,
		once = case when once is null then null else 'erased-' || id end
	where subject = machine or length(machine) >= 16 and (position(machine in subject) > 0
		or position(machine in detail::text) > 0 or position(machine in before::text) > 0
		or position(machine in after::text) > 0);
	get diagnostics changed = row_count;
	perform set_config('mishap.erasing_machine', '', true);
	return changed;
end $$;
revoke execute on function erase_from_audit_events(text, text) from public;
