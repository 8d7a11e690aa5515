-- Embargoed problems. Tables of the schema visible have the same names as tables of mishap. They are
-- views that omit the problems in the setting mishap.hidden. The program puts that schema first in
-- the search path of a connection while it reads for somebody who must not see some problems, so
-- every statement gets the same answers as if these problems did not exist. Instant: the table is
-- new, and views have no rows of their own. A migration that changes the columns of a table must
-- create its view again; a test compares them.
create table embargoes (
    id          bigint      generated always as identity primary key,
    bucket_id   bytea       not null,
    person      text        not null,
    rule_id     bigint      references rules (id),
    reason      text        not null,
    at          timestamptz not null,
    lifted_by   text        not null default '',
    lifted_at   timestamptz
);
create unique index embargoes_standing on embargoes (bucket_id) where lifted_at is null;
create index embargoes_bucket on embargoes (bucket_id);
create index embargoes_rule on embargoes (rule_id) where rule_id is not null;

create trigger note_row after insert or delete on embargoes for each row execute function note_change();
create trigger note_update after update on embargoes for each row when (old.* is distinct from new.*) execute function note_change();

comment on table embargoes is 'Suspected security issues, which only people with the private right for the package may see. A row stands while lifted_at is null. A problem is embargoed if a row stands for any of its buckets. Rows are not deleted.';
comment on column embargoes.id is 'Number of the entry.';
comment on column embargoes.bucket_id is 'The bucket. If it was merged since, the entry counts for the problem that it belongs to now. No foreign key, as with triage.';
comment on column embargoes.person is 'Account name, or name of the rule; empty: mishap itself, which has moved reports of an embargoed bucket.';
comment on column embargoes.rule_id is 'The rule that set it. Null: a person, or mishap itself.';
comment on column embargoes.reason is 'Why; empty: not given.';
comment on column embargoes.at is 'When it began.';
comment on column embargoes.lifted_by is 'Account name of the person who lifted it; empty: it was not lifted.';
comment on column embargoes.lifted_at is 'When it was lifted. Null: it stands.';

create schema visible;
comment on schema visible is 'Views with the names of tables, without the problems in the setting mishap.hidden.';

create function visible.hidden() returns bytea[] language sql stable as $$
    select coalesce(nullif(current_setting('mishap.hidden', true), ''), '{}')::bytea[]
$$;
comment on function visible.hidden() is 'Ids of the buckets that the views omit.';

create view visible.assignments as select * from assignments
    where coalesce(bucket_id <> all (((select visible.hidden())::bytea[])), true);
create view visible.bucket_arrivals as select * from bucket_arrivals
    where coalesce(bucket_id <> all (((select visible.hidden())::bytea[])), true);
create view visible.bucket_bugs as select * from bucket_bugs
    where coalesce(bucket_id <> all (((select visible.hidden())::bytea[])), true);
create view visible.bucket_days as select * from bucket_days
    where coalesce(bucket_id <> all (((select visible.hidden())::bytea[])), true);
create view visible.bucket_releases as select * from bucket_releases
    where coalesce(bucket_id <> all (((select visible.hidden())::bytea[])), true);
create view visible.bucket_systems as select * from bucket_systems
    where coalesce(bucket_id <> all (((select visible.hidden())::bytea[])), true);
create view visible.bucket_travellers as select * from bucket_travellers
    where coalesce(bucket_id <> all (((select visible.hidden())::bytea[])), true);
create view visible.bucket_versions as select * from bucket_versions
    where coalesce(bucket_id <> all (((select visible.hidden())::bytea[])), true);
create view visible.buckets as select * from buckets
    where coalesce(id <> all (((select visible.hidden())::bytea[])), true);
create view visible.bug_comments as select * from bug_comments
    where coalesce(bucket_id <> all (((select visible.hidden())::bytea[])), true);
create view visible.candidates as select * from candidates
    where coalesce(bucket_id <> all (((select visible.hidden())::bytea[])), true);
create view visible.core_requests as select * from core_requests
    where coalesce(problem <> all (((select visible.hidden())::bytea[])), true);
create view visible.decisions as select * from decisions
    where coalesce(bucket_id <> all (((select visible.hidden())::bytea[])), true)
        and coalesce(other_id <> all (((select visible.hidden())::bytea[])), true);
create view visible.events as select * from events
    where coalesce(bucket_id <> all (((select visible.hidden())::bytea[])), true);
create view visible.filings as select * from filings
    where coalesce(bucket_id <> all (((select visible.hidden())::bytea[])), true);
create view visible.follow_marks as select * from follow_marks
    where coalesce(bucket_id <> all (((select visible.hidden())::bytea[])), true);
create view visible.known_names as select * from known_names
    where coalesce(address_id <> all (((select visible.hidden())::bytea[])), true)
        and coalesce(bucket_id <> all (((select visible.hidden())::bytea[])), true);
create view visible.notes as select * from notes
    where coalesce(bucket_id <> all (((select visible.hidden())::bytea[])), true);
create view visible.problem_tags as select * from problem_tags
    where coalesce(bucket_id <> all (((select visible.hidden())::bytea[])), true);
create view visible.regroup_moves as select * from regroup_moves
    where coalesce(from_id <> all (((select visible.hidden())::bytea[])), true)
        and coalesce(to_id <> all (((select visible.hidden())::bytea[])), true);
create view visible.reports as select * from reports
    where coalesce(bucket_id <> all (((select visible.hidden())::bytea[])), true);
create view visible.rule_edges as select * from rule_edges
    where coalesce(bucket_id <> all (((select visible.hidden())::bytea[])), true);
create view visible.split_sources as select * from split_sources
    where coalesce(bucket_id <> all (((select visible.hidden())::bytea[])), true);
create view visible.symbol_jobs as select * from symbol_jobs
    where coalesce(problem <> all (((select visible.hidden())::bytea[])), true);
create view visible.triage as select * from triage
    where coalesce(bucket_id <> all (((select visible.hidden())::bytea[])), true);
create view visible.unlinked_bugs as select * from unlinked_bugs
    where coalesce(bucket_id <> all (((select visible.hidden())::bytea[])), true);
create view visible.wanted_cores as select * from wanted_cores
    where coalesce(problem <> all (((select visible.hidden())::bytea[])), true);
create view visible.note_texts as select * from note_texts
    where not exists (select from notes as p where p.id = note_texts.note_id and p.bucket_id = any (((select visible.hidden())::bytea[])));
create view visible.notices as select * from notices
    where not exists (select from events as p where p.id = notices.event_id and p.bucket_id = any (((select visible.hidden())::bytea[])));
create view visible.deliveries as select * from deliveries
    where not exists (select from events as p where p.id = deliveries.event_id and p.bucket_id = any (((select visible.hidden())::bytea[])));
create view visible.delivery_attempts as select * from delivery_attempts
    where not exists (
        select from deliveries as d join events as p on p.id = d.event_id
        where d.id = delivery_attempts.delivery_id and p.bucket_id = any (((select visible.hidden())::bytea[])));
create view visible.filing_attempts as select * from filing_attempts
    where not exists (select from filings as p where p.id = filing_attempts.filing_id and p.bucket_id = any (((select visible.hidden())::bytea[])));
create view visible.unknown_builds as select * from unknown_builds
    where not exists (select from symbol_jobs as p where p.report_id = unknown_builds.report_id and p.problem = any (((select visible.hidden())::bytea[])));
create view visible.bug_sections as select * from bug_sections
    where not exists (select from bucket_bugs as l where l.bug_number = bug_sections.bug_number and l.bucket_id = any (((select visible.hidden())::bytea[])))
        or exists (select from bucket_bugs as l where l.bug_number = bug_sections.bug_number and l.bucket_id <> all (((select visible.hidden())::bytea[])));
create view visible.followed as select * from followed
    where kind <> 'problem' or name <> all (array(select encode(h, 'hex') from unnest(visible.hidden()) as h));
create view visible.audit_events as select * from audit_events
    where subject <> all (array(select encode(h, 'hex') from unnest(visible.hidden()) as h));

-- Sums without hidden problems. The reports of a bucket count for its package.
create view visible.hidden_days as
    select b.package, b.problem_type, d.day, d.release, d.version, d.architecture, p.proposed,
        sum(case when p.proposed then d.proposed else d.reports - d.proposed end)::bigint as reports
    from buckets as b join bucket_days as d on d.bucket_id = b.id cross join (values (true), (false)) as p (proposed)
    where b.id = any (((select visible.hidden())::bytea[]))
    group by b.package, b.problem_type, d.day, d.release, d.version, d.architecture, p.proposed;
comment on view visible.hidden_days is 'Reports of hidden problems, in the cells of report_days.';
create view visible.report_days as
    select d.package, d.day, d.release, d.version, d.architecture, d.problem_type, d.proposed,
        d.reports - coalesce(h.reports, 0) as reports
    from report_days as d left join visible.hidden_days as h
        on h.package = d.package and h.day = d.day and h.release = d.release and h.version = d.version
        and h.architecture = d.architecture and h.problem_type = d.problem_type and h.proposed = d.proposed
    where d.reports > coalesce(h.reports, 0);
create view visible.release_days as
    select d.day, d.release, d.architecture, d.problem_type, d.proposed, d.reports - coalesce(h.reports, 0) as reports
    from release_days as d left join (
        select day, release, architecture, problem_type, proposed, sum(reports)::bigint as reports
        from visible.hidden_days group by day, release, architecture, problem_type, proposed
    ) as h on h.day = d.day and h.release = d.release and h.architecture = d.architecture
        and h.problem_type = d.problem_type and h.proposed = d.proposed
    where d.reports > coalesce(h.reports, 0);
create view visible.package_versions as
    select v.package, v.release, v.version, v.version_key, v.arrived, coalesce(h.first_day, v.first_day) as first_day
    from package_versions as v left join lateral (
        select true as touched, (
            select min(d.day) from visible.report_days as d
            where d.package = v.package and d.release = v.release and d.version = v.version
        ) as first_day
        from visible.hidden_days as x
        where x.package = v.package and x.release = v.release and x.version = v.version limit 1
    ) as h on true
    where h.touched is null or h.first_day is not null;
create view visible.releases as
    select r.release from releases as r
    where not exists (select from visible.hidden_days as h where h.release = r.release)
        or exists (select from visible.release_days as d where d.release = r.release);
-- Machines that have sent reports of hidden problems only, and their spans. Others keep their spans.
create view visible.hidden_machines as
    select r.release, r.system, r.from_day, r.until_day
    from release_systems as r
    where r.system in (select s.system from bucket_systems as s where s.bucket_id = any (((select visible.hidden())::bytea[])))
        and not exists (
            select from reports as o where o.system_key = r.system and o.release = r.release and o.counted
                and coalesce(o.bucket_id <> all (((select visible.hidden())::bytea[])), true));
comment on view visible.hidden_machines is 'Days on which machines are active that are known through hidden problems only.';
create view visible.release_systems as
    select r.release, r.system, r.from_day, r.until_day from release_systems as r
    where not exists (
        select from visible.hidden_machines as h
        where h.release = r.release and h.system = r.system and h.from_day = r.from_day);
create view visible.release_active as
    select a.release, a.day, a.change - coalesce(h.change, 0) as change
    from release_active as a left join (
        select release, day, sum(change)::bigint as change from (
            select release, from_day as day, 1 as change from visible.hidden_machines
            union all select release, until_day + 1, -1 from visible.hidden_machines
        ) as c group by release, day
    ) as h on h.release = a.release and h.day = a.day
    where a.change <> coalesce(h.change, 0);
