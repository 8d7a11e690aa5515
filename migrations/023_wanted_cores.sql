-- A person can ask for a core of a problem, even if mishap would not ask by itself. Instant: the table is new.
create table wanted_cores (
    problem bytea       primary key references buckets (id),
    person  text        not null,
    asked   timestamptz not null default now()
);

comment on table wanted_cores is 'Problems that a person has asked a core for. The next machines that report them are asked, until one core has arrived; then the row goes.';
comment on column wanted_cores.problem is 'Id of the bucket that stood for the problem.';
comment on column wanted_cores.person is 'Account name of the person who asked.';
comment on column wanted_cores.asked is 'When the person asked. Requests before that do not count towards the limit of unanswered ones.';
