-- Millions of reports have the same places in the same builds. The debugger names each once.
create table build_names (
	build_id text not null,
	place bigint not null,
	callee bigint not null,
	names jsonb not null,
	used timestamptz not null default now(),
	primary key (build_id, place, callee)
);
create index build_names_used on build_names (used);
comment on table build_names is 'What the debugger says about places in builds of which all files were found. Removed when not used for 90 days; the most recently used million stays.';
comment on column build_names.build_id is 'Build-id in lower-case hex digits.';
comment on column build_names.place is 'Offset from the start of the program or library.';
comment on column build_names.callee is 'Offset of the place in the same file that the code has called; -1: none. Functions between the two that ended with a jump depend on it.';
comment on column build_names.names is 'Functions at the place (at) and before it, those that ended with a jump (tail), each with source file and line, and the code before it.';
comment on column build_names.used is 'When a report had the place last, with an accuracy of a day.';
