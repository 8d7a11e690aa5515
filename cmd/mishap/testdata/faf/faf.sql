-- The tables of FAF 2.6 that hold its reports, stacks and bugs, with the columns that they have there (of bugs, only
-- some), and invented rows. {tracker} stands for the address of the tracker.
create table reports (
	id serial primary key, type varchar(64) not null, first_occurrence timestamp, last_occurrence timestamp,
	count integer not null, errname varchar(256), component_id integer not null, problem_id integer,
	max_certainty integer
);
create table reporthashes (
	hash varchar(64) not null, report_id integer not null references reports, primary key (hash, report_id)
);
create table reportbacktraces (
	id serial primary key, report_id integer not null references reports, crashfn varchar(1024),
	quality integer not null
);
create table reportbtthreads (
	id serial primary key, backtrace_id integer not null references reportbacktraces, number integer,
	crashthread boolean not null
);
create table symbols (
	id serial primary key, name varchar(32768) not null, nice_name varchar(32768), normalized_path varchar(512) not null,
	unique (name, normalized_path)
);
create table symbolsources (
	id serial primary key, symbol_id integer references symbols, build_id varchar(64), path varchar(512) not null,
	"offset" bigint not null, func_offset bigint, hash varchar(1024), source_path varchar(512), line_number integer,
	presrcline varchar(1024), srcline varchar(1024), postsrcline varchar(1024),
	retrace_fail_count integer not null default 0, unique (build_id, path, "offset")
);
create table reportbtframes (
	thread_id integer not null references reportbtthreads, "order" integer not null,
	symbolsource_id integer not null references symbolsources, inlined boolean not null, reliable boolean not null,
	primary key (thread_id, "order")
);
create table reportexecutables (
	report_id integer not null references reports, path varchar(512) not null, count integer not null,
	primary key (report_id, path)
);
create table bugtrackers (id serial primary key, name varchar(64) not null);
create table bzbugs (
	id serial primary key, summary varchar(256) not null, duplicate integer, private boolean not null,
	tracker_id integer not null references bugtrackers
);
create table reportbz (
	report_id integer not null references reports, bzbug_id integer not null references bzbugs,
	primary key (report_id, bzbug_id)
);
create table mantisbugs (
	id serial primary key, summary varchar(256) not null, external_id integer not null,
	tracker_id integer not null references bugtrackers, unique (external_id, tracker_id)
);
create table reportmantis (
	report_id integer not null references reports, mantisbug_id integer not null references mantisbugs,
	primary key (report_id, mantisbug_id)
);
create table reporturls (
	id serial primary key, report_id integer not null references reports, url varchar(1024) not null, saved timestamp
);

insert into reports (id, type, count, errname, component_id, problem_id) values
	(1, 'core', 9, '11', 1, 70), (2, 'core', 3, '6', 2, 71), (3, 'python', 2, 'ValueError', 3, 72),
	(4, 'kerneloops', 5, null, 4, 73), (5, 'java', 1, 'IllegalStateException', 5, null), (6, 'ruby', 1, 'NoMethodError', 6, null),
	(7, 'core', 1, '11', 1, null), (8, 'python', 1, 'error', 3, null), (9, 'kerneloops', 1, null, 4, null),
	(10, 'core', 1, '11', 1, null);
insert into reporthashes values ('98dae815e401c4c5b8f87c950f124778cad0415e', 1),
	('0a4d55a8d778e5022fab701977c5d840bbc486d0', 2);

-- Report 1 has an older backtrace, of lower quality, and a thread that did not crash.
insert into reportbacktraces (id, report_id, quality) values (1, 1, -40), (2, 1, -3), (3, 2, 0), (4, 3, 0), (5, 7, -9);
insert into reportbtthreads (id, backtrace_id, number, crashthread) values
	(1, 1, 1, true), (2, 2, 1, false), (3, 2, 2, true), (4, 3, 1, true), (5, 4, null, true), (6, 5, 1, true);
with frames (thread, place, name, nice, file, line) as (values
	(1, 10, 'wrong', null, '/usr/bin/tidewatch', null), (2, 10, 'poll', null, '/usr/lib64/libc.so.6', null),
	(3, 10, '_Z14tide_parse_rowPc', 'tide_parse_row(char*)', '/usr/bin/tidewatch', 88),
	(3, 20, 'tide_load', null, '/usr/bin/tidewatch', 41), (3, 30, 'on_open_clicked', null, '/usr/bin/tidewatch', null),
	(3, 40, '__libc_start_call_main', null, '/usr/lib64/libc.so.6', null), (3, 50, '_start', null, '/usr/bin/tidewatch', null),
	(4, 10, '__pthread_kill_implementation', null, '/usr/lib64/libc.so.6', null),
	(4, 20, 'raise', null, '/usr/lib64/libc.so.6', null), (4, 30, 'abort', null, '/usr/lib64/libc.so.6', null),
	(4, 40, 'buffer_take', null, '/usr/bin/quillpad', 120), (4, 50, 'pad_save', null, '/usr/bin/quillpad', 70),
	(4, 60, 'main', null, '/usr/bin/quillpad', 12),
	(5, 1, 'load', null, '/usr/lib/python3/dist-packages/harbor/io.py', 77), (5, 2, 'main', null, '/usr/bin/harbor-sync', 14),
	(5, 3, '<module>', null, '/usr/bin/harbor-sync', 20),
	(6, 10, '??', null, '/usr/bin/tidewatch', null), (6, 20, 'tide_load', null, '/usr/bin/tidewatch', null)
), numbered as (
	select *, row_number() over (order by thread, place) as id from frames
), named as (
	insert into symbols (name, nice_name, normalized_path) select distinct name, nice, file from frames
	returning id, name, normalized_path
), placed as (
	insert into symbolsources (id, symbol_id, build_id, path, "offset", line_number)
	select n.id, s.id, 'b' || n.id, n.file, 4096 + n.id, n.line
	from numbered as n join named as s on s.name = n.name and s.normalized_path = n.file
)
insert into reportbtframes (thread_id, "order", symbolsource_id, inlined, reliable)
select thread, place, id, false, true from numbered;

insert into reportexecutables values (1, '/usr/bin/tidewatch', 8), (1, '/usr/local/bin/tidewatch', 1),
	(2, '/usr/bin/quillpad', 3), (3, '/usr/lib/python3/dist-packages/harbor/io.py', 2), (7, '/usr/bin/tidewatch', 1);
insert into bugtrackers values (1, 'fedora-bugzilla'), (2, 'centos-mantisbt');
insert into bzbugs values (2244557, 'tidewatch crashes', null, false, 1);
insert into mantisbugs values (1, 'tidewatch crashes', 18123, 2);
insert into reportbz values (1, 2244557);
insert into reportmantis values (1, 1);
insert into reporturls (report_id, url) values (1, '{tracker}/bugs/2100007'), (1, 'seen at the harbour'),
	(2, '{tracker}/bugs/2100008'), (3, '{tracker}/bugs/2100009'), (4, '{tracker}/bugs/2100010');
