-- Rules that watch problems, what they have done, and the problems that they propose for filing. Reads all rows of
-- buckets once, which takes about a second for 100,000 problems; it does not read reports.

create table rules (
    id        bigint      generated always as identity primary key,
    name      text        not null check (length(name) between 1 and 80),
    scope     text        not null check (scope in ('everything', 'package', 'set', 'team')),
    names     text[]      not null default '{}',
    kind      text        not null,
    machines  bigint      not null default 1 check (machines between 1 and 1000000),
    weeks     integer     not null default 0 check (weeks between 0 and 52),
    actions   jsonb       not null,
    enabled   boolean     not null default true,
    author    text        not null,
    created   timestamptz not null,
    editor    text        not null,
    changed   timestamptz not null,
    since     timestamptz not null,
    prepared  boolean     not null default false,
    failure   text        not null default '',
    failed    timestamptz,
    deleted   timestamptz
);
create unique index rules_name on rules (lower(name)) where deleted is null;

create table rule_edges (
    bucket_id bytea       not null,
    rule_id   bigint      not null references rules (id),
    version   text        not null check (length(version) <= 300),
    at        timestamptz not null,
    held      timestamptz not null,
    outcome   text        not null check (outcome in ('done', 'before', 'muted', 'storm')),
    primary key (bucket_id, rule_id, version)
);
create index rule_edges_rule on rule_edges (rule_id, at);

create table bucket_arrivals (
    bucket_id bytea       primary key,
    at        timestamptz not null,
    round     bigint      not null
);
create index bucket_arrivals_round on bucket_arrivals (round);
create index bucket_arrivals_at on bucket_arrivals (at);

create table rule_progress (
    single   boolean primary key default true check (single),
    round    bigint  not null,
    decision bigint  not null,
    day      timestamptz
);

create table candidates (
    id         bigint      generated always as identity primary key,
    bucket_id  bytea       not null unique references buckets (id),
    rule_id    bigint      not null references rules (id),
    automatic  boolean     not null,
    state      text        not null check (state in ('automatic', 'filing', 'waiting', 'filed', 'declined')),
    why        text        not null,
    machines   bigint      not null,
    created    timestamptz not null,
    decided_by text        not null default '',
    decided    timestamptz,
    reason     text        not null default '',
    failure    text        not null default ''
);
create index candidates_state on candidates (state, created, id);
create index candidates_filed on candidates (decided) where automatic and state in ('filing', 'filed');

create index decisions_symbolised on decisions (id) where cause = 'symbolised';

comment on table rules is 'Rules: what happens to which problems, and what mishap then does.';
comment on column rules.id is 'Number of the rule.';
comment on column rules.name is 'Name that people gave it; unique among rules that are not deleted, whatever the case.';
comment on column rules.scope is 'everything, package, set (of packages) or team (a person or team of the tracker).';
comment on column rules.names is 'Patterns of packages, or names of sets or of people and teams; empty: everything.';
comment on column rules.kind is 'What happens; see crash.EventKinds.';
comment on column rules.machines is 'Least number of machines.';
comment on column rules.weeks is 'Of the kind quiet: number of weeks without a report.';
comment on column rules.actions is 'What mishap does; see Actions of package notify/rules.';
comment on column rules.enabled is 'Whether the rule is on.';
comment on column rules.author is 'Account name of the person who created it; mishap: shipped with the program.';
comment on column rules.created is 'When it was created.';
comment on column rules.editor is 'Account name of the person who changed it last.';
comment on column rules.changed is 'When it was changed last.';
comment on column rules.since is 'When its condition was changed or switched on last. It ignores what happened before.';
comment on column rules.prepared is 'Whether what held before since has been stored in rule_edges.';
comment on column rules.failure is 'Why an action failed last, as a sentence; empty: it did not, or has succeeded since.';
comment on column rules.failed is 'When an action failed last. Null: never.';
comment on column rules.deleted is 'When it was deleted. Null: it was not.';

comment on table rule_edges is 'What rules have seen, so that none acts on the same change twice. Rows are not deleted.';
comment on column rule_edges.bucket_id is 'The problem at that time; empty: not about one problem. No foreign key, as with counts.';
comment on column rule_edges.rule_id is 'The rule.';
comment on column rule_edges.version is 'Which change it was, such as a version or a day; empty: there is one for each problem.';
comment on column rule_edges.at is 'When the rule saw it.';
comment on column rule_edges.held is 'When the condition held last; of a storm: the arrival of the last problem.';
comment on column rule_edges.outcome is 'done; or nothing was done: before (older than the rule), muted, or storm (part of one).';

comment on table bucket_arrivals is 'When the first counted report of each bucket arrived. Written by the evaluation of rules.';
comment on column bucket_arrivals.bucket_id is 'The bucket. No foreign key, as with counts.';
comment on column bucket_arrivals.at is 'Arrival of the oldest report; 1970: before rules existed, or the bucket was split off or regrouped.';
comment on column bucket_arrivals.round is 'Round (counting.round) up to which reports were counted when the row was stored.';

comment on table rule_progress is 'How far rules have been evaluated.';
comment on column rule_progress.single is 'Always true: limits the table to one row.';
comment on column rule_progress.round is 'Last round (counting.round) whose changes were evaluated.';
comment on column rule_progress.decision is 'Last decision that was evaluated.';
comment on column rule_progress.day is 'Midnight (UTC) of the last day on which quiet problems were looked for. Null: none.';

comment on table candidates is 'Problems for which a rule proposes a bug, or files one.';
comment on column candidates.id is 'Number of the candidate.';
comment on column candidates.bucket_id is 'The problem when the rule proposed it.';
comment on column candidates.rule_id is 'The rule.';
comment on column candidates.automatic is 'Whether the rule files the bug itself.';
comment on column candidates.state is 'automatic (to be filed by the rule), filing (being handed over), waiting (for a person), filed, or declined.';
comment on column candidates.why is 'Why the rule proposed it, as a sentence.';
comment on column candidates.machines is 'Number of machines at that time.';
comment on column candidates.created is 'When the rule proposed it.';
comment on column candidates.decided_by is 'Account name of the person who decided, or name of the rule; empty: nobody yet.';
comment on column candidates.decided is 'When it was decided. Null: not yet.';
comment on column candidates.reason is 'Why it was declined; empty: no reason.';
comment on column candidates.failure is 'Why no bug was filed, as a sentence; empty: none was tried, or it was.';

insert into rule_progress (round, decision)
select round, coalesce((select max(id) from decisions), 0) from counting;

insert into bucket_arrivals (bucket_id, at, round)
select id, 'epoch', 0 from buckets where reports > 0;

insert into rules (name, scope, kind, machines, actions, author, created, editor, changed, since) values
    ('New problems', 'everything', 'new', 3, '{"followers": true}', 'mishap', now(), 'mishap', now(), 'epoch'),
    ('Regressions', 'everything', 'regressed', 1, '{"followers": true}', 'mishap', now(), 'mishap', now(), 'epoch'),
    ('Rising problems', 'everything', 'rising', 10, '{"followers": true}', 'mishap', now(), 'mishap', now(), 'epoch'),
    ('Refused bugs', 'everything', 'refused', 1, '{"administrators": true}', 'mishap', now(), 'mishap', now(), 'epoch'),
    ('Tracker credentials', 'everything', 'tracker', 1, '{"administrators": true}', 'mishap', now(), 'mishap', now(),
        'epoch');
