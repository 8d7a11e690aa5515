-- Merging ends the mutes of the problems that are merged into another one, rules evaluate only the mutes that have ended recently,
-- and the section in the description of a bug is updated once more when the bug is closed. Instant at any number of reports: triage
-- has one row for each decision of a person, bug_sections one for each bug.

alter table triage add column merged_by bigint references decisions (id);
create index triage_merged on triage (merged_by) where merged_by is not null;
create index triage_ended on triage (ended_at) where ended_at is not null;

alter table rule_progress add column at timestamptz;

comment on column triage.merged_by is
	'The merge that ended this mute; undoing that restores it. Null: no merge has ended it.';
comment on column triage.ended_at is
	'When a condition of the mute was met, another mute replaced it, or a merge ended it. Null: none of these.';
comment on column rule_progress.at is
	'When the last complete round began. Mutes that ended long before were evaluated. Null: no round since the upgrade.';

-- Sections of bugs that are closed already stay as they are.
alter table bug_sections add column final boolean not null default false;
update bug_sections set final = true where bug_number in (select number from bug_states where closed);
comment on column bug_sections.final is
	'Whether the section was updated after the bug was closed. A bug that is opened again has its section updated as before.';
