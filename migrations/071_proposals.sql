-- People's programs propose bugs, too. They wait among the candidates of rules.
alter table candidates alter column rule_id drop not null;
alter table candidates add column proposed_by text not null default '';
alter table candidates add check ((rule_id is null) = (proposed_by <> ''));
alter table candidates add check (rule_id is not null or not automatic);
create or replace view visible.candidates as select * from candidates
    where coalesce(bucket_id <> all (((select visible.hidden())::bytea[])), true);

comment on table candidates is 'Problems for which a rule or a person proposes a bug, or a rule files one.';
comment on column candidates.bucket_id is 'The problem when it was proposed.';
comment on column candidates.rule_id is 'The rule. Null: a person proposed it.';
comment on column candidates.proposed_by is 'Account name of the person who proposed it; empty: a rule did.';
comment on column candidates.why is 'Why it was proposed: a sentence of the rule, or one line of the person.';
comment on column candidates.machines is 'Number of machines at that time.';
comment on column candidates.created is 'When it was proposed.';
comment on column api_tokens.scopes is 'What it allows: read, read-private, triage, file, assist, admin.';
