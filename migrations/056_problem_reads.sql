-- Which problems a person has opened, so that the list of new ones begins with the others.
create table problem_reads (
    user_id   bigint      not null references users (id) on delete cascade,
    bucket_id bytea       not null references buckets (id) on delete cascade,
    reason    text        not null check (reason in ('again', 'new', 'rising', 'undecided')),
    at        timestamptz not null,
    primary key (user_id, bucket_id)
);

comment on table problem_reads is 'Problems that a person has read, for the list of what is new since they last looked.';
comment on column problem_reads.user_id is 'The account.';
comment on column problem_reads.bucket_id is 'The problem as it was when it was read.';
comment on column problem_reads.reason is 'Why it was in the list then. For another reason it is unread again.';
comment on column problem_reads.at is 'When it was read.';

create view visible.problem_reads as select * from problem_reads
    where coalesce(bucket_id <> all (((select visible.hidden())::bytea[])), true);
