-- Who takes care of a problem, and tags on problems. People can also follow problems and saved searches. This takes no time:
-- the new tables are empty, and the table followed is small.

create table assignments (
    id        bigint      generated always as identity primary key,
    bucket_id bytea       not null check (length(bucket_id) = 20),
    assignee  text        not null check (length(assignee) <= 100),
    person    text        not null,
    at        timestamptz not null,
    undone_by text,
    undone_at timestamptz,
    check ((undone_by is null) = (undone_at is null))
);
create index assignments_bucket on assignments (bucket_id, id);

create table problem_tags (
    id         bigint      generated always as identity primary key,
    bucket_id  bytea       not null check (length(bucket_id) = 20),
    tag        text        not null collate "C" check (tag ~ '^[a-z0-9][a-z0-9.+-]{0,39}$'),
    person     text        not null,
    at         timestamptz not null,
    removed_by text,
    removed_at timestamptz,
    check ((removed_by is null) = (removed_at is null))
);
create unique index problem_tags_bucket on problem_tags (bucket_id, tag) where removed_at is null;

-- Lists and pages show both.
create trigger note_row after insert or delete on assignments for each row execute function note_change();
create trigger note_row after insert or delete on problem_tags for each row execute function note_change();
create trigger note_update after update on assignments for each row when (old.* is distinct from new.*) execute function note_change();
create trigger note_update after update on problem_tags for each row when (old.* is distinct from new.*) execute function note_change();

alter table followed drop constraint followed_kind_check;
alter table followed add constraint followed_kind_check check (kind in ('package', 'person', 'set', 'problem', 'search'));

-- What people who follow problems and searches have seen of them.
create table follow_marks (
    user_id   bigint      not null,
    kind      text        not null check (kind in ('problem', 'search')),
    name      text        collate "C" not null,
    bucket_id bytea       not null check (length(bucket_id) = 20),
    mark      text        not null,
    news      text        not null,
    at        timestamptz,
    primary key (user_id, kind, name, bucket_id),
    foreign key (user_id, kind, name) references followed (user_id, kind, name) on delete cascade
);

comment on table assignments is 'Who takes care of problems, with the history. The newest row of a problem that was not undone counts, unless its bug has an assignee in the tracker.';
comment on column assignments.id is 'Number of the assignment.';
comment on column assignments.bucket_id is 'The problem at which it was made; problems merged with it show it too.';
comment on column assignments.assignee is 'Name of an account, or ~ and a name in the tracker; empty: nobody.';
comment on column assignments.person is 'Account name of the person who assigned it, or the name of a rule.';
comment on column assignments.at is 'When it was assigned.';
comment on column assignments.undone_by is 'Account name of the person who undid it. Null: it was not undone.';
comment on column assignments.undone_at is 'When it was undone. Null: it was not undone.';

comment on table problem_tags is 'Tags of problems, with those that were removed.';
comment on column problem_tags.id is 'Serial number.';
comment on column problem_tags.bucket_id is 'The problem that was tagged; problems merged with it show the tag too.';
comment on column problem_tags.tag is 'The tag: a short word in lower case.';
comment on column problem_tags.person is 'Account name of the person who added it, or the name of a rule.';
comment on column problem_tags.at is 'When it was added.';
comment on column problem_tags.removed_by is 'Account name of the person who removed it. Null: it was not removed.';
comment on column problem_tags.removed_at is 'When it was removed. Null: it was not removed.';

comment on column followed.kind is 'package, person, set, problem or search.';
comment on column followed.name is 'Name of a binary or source package, of a person or team in the tracker, or of a package set; id of a problem in hexadecimal digits; number of a saved search.';

comment on table follow_marks is 'What people have seen of the problems and searches that they follow, so that the next visit shows what is new.';
comment on column follow_marks.user_id is 'The account.';
comment on column follow_marks.kind is 'problem or search.';
comment on column follow_marks.name is 'Id of the problem in hexadecimal digits, or number of the saved search.';
comment on column follow_marks.bucket_id is 'The problem, or one that matches the search.';
comment on column follow_marks.mark is 'State, bug, highest version and releases of a followed problem, as JSON; empty for a search.';
comment on column follow_marks.news is 'What changed last, for people; empty: nothing yet.';
comment on column follow_marks.at is 'When it changed, or when it first matched. Null: it was so when following began.';
