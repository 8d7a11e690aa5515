-- One table of marks instead of triage, embargoes and holds. Copies the embargoes and holds, which are few.
drop view visible.triage;
drop view visible.holds;

alter table triage rename to marks;
alter sequence triage_id_seq rename to marks_id_seq;
alter index triage_pkey rename to marks_pkey;
alter index triage_bucket rename to marks_bucket;
alter index triage_standing rename to marks_standing;
alter index triage_one_each rename to marks_one_each;
alter index triage_replaced rename to marks_replaced;
alter index triage_merged rename to marks_merged;
alter index triage_ended rename to marks_ended;
alter table marks rename constraint triage_check to marks_until_check;
alter table marks rename constraint triage_check1 to marks_fixes_check;
alter table marks rename constraint triage_check2 to marks_ended_check;
alter table marks rename constraint triage_replaced_by_fkey to marks_replaced_by_fkey;
alter table marks rename constraint triage_merged_by_fkey to marks_merged_by_fkey;
alter table marks drop constraint triage_kind_check;
alter table marks add constraint marks_kind_check check (kind in ('muted', 'wontfix', 'fixed', 'embargo', 'hold'));
alter table marks add column rule_id bigint references rules (id);

insert into marks (bucket_id, kind, person, rule_id, reason, at, undone_by, undone_at)
select bucket_id, 'embargo', person, rule_id, reason, at, lifted_by, lifted_at from embargoes order by id;
insert into marks (bucket_id, kind, person, reason, at, undone_by, undone_at)
select bucket_id, 'hold', person, reason, at, lifted_by, lifted_at from holds order by id;
drop table embargoes;
drop table holds;
create index marks_rule on marks (rule_id) where rule_id is not null;

create view visible.marks as select * from marks
    where coalesce(bucket_id <> all (((select visible.hidden())::bytea[])), true);

-- Instances of the previous version read and change these until they are restarted. They cannot set an embargo or a hold.
create view triage as select id, bucket_id, kind, until, fixes, seen, person, reason, at, undone_by, undone_at, ended_at,
    ended_why, replaced_by, merged_by from marks where kind in ('muted', 'wontfix', 'fixed');
create view embargoes as select id, bucket_id, person, rule_id, reason, at, undone_by as lifted_by, undone_at as lifted_at
    from marks where kind = 'embargo';
create view holds as select id, bucket_id, person, reason, at, undone_by as lifted_by, undone_at as lifted_at
    from marks where kind = 'hold';
create view visible.triage as select * from triage where coalesce(bucket_id <> all (((select visible.hidden())::bytea[])), true);
create view visible.holds as select * from holds where coalesce(bucket_id <> all (((select visible.hidden())::bytea[])), true);
comment on view triage is 'The decisions among the marks, for instances of version 0.1.0 during an upgrade.';
comment on view embargoes is 'The embargoes among the marks, for instances of version 0.1.0 during an upgrade.';
comment on view holds is 'The holds among the marks, for instances of version 0.1.0 during an upgrade.';

comment on table marks is 'What people, rules and mishap itself have decided about problems, beside the derived status. Rows are not deleted. A row stands while undone_at and ended_at are null, for the whole problem to which its bucket belongs.';
comment on column marks.kind is 'muted: lists hide the problem until a condition is met. wontfix: nobody intends to fix it. fixed: in the versions of fixes. embargo: only people with the private right for the package may see it. hold: nothing of its reports and core dumps is removed because of its age.';
comment on column marks.person is 'Account name, or name of the rule; empty: mishap itself, which has moved reports of an embargoed or held problem.';
comment on column marks.rule_id is 'The rule that set an embargo. Null: a person, mishap itself, or another kind.';
comment on column marks.undone_by is 'Account name of the person who undid or lifted it; empty: nobody did.';
comment on column marks.undone_at is 'When it was undone or lifted. Null: it was not.';
