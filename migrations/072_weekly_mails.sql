-- Weekly reports by mail.

create table weekly_mails (
    id      bigint      generated always as identity primary key,
    user_id bigint      not null references users (id) on delete cascade,
    scope   text        not null check (scope ~ '^(all|mine|package|set|team)$'),
    name    text        not null check (length(name) <= 100),
    created timestamptz not null,
    planned timestamptz not null,
    unique (user_id, scope, name)
);
comment on table weekly_mails is 'Weekly reports that people get by mail, at the hour and weekday of mail_settings.';
comment on column weekly_mails.id is 'Number of the subscription.';
comment on column weekly_mails.user_id is 'The account.';
comment on column weekly_mails.scope is 'all (packages), mine (what the person follows), package, set or team.';
comment on column weekly_mails.name is 'Name of the package, package set, person or team; empty: none is needed.';
comment on column weekly_mails.created is 'When the person subscribed.';
comment on column weekly_mails.planned is 'Time of the last report that was decided about, else of the subscription.';

alter table mails drop constraint mails_kind_check;
alter table mails add constraint mails_kind_check
    check (kind ~ '^(notice|summary|digest|confirm|test|weekly)$');
alter table mails add column weekly_id bigint references weekly_mails (id) on delete cascade;
alter table mails add column week date;
alter table mails add constraint mails_report_check
    check ((kind = 'weekly') = (weekly_id is not null and week is not null));
create index mails_weekly on mails (weekly_id) where weekly_id is not null;
comment on column mails.kind is
    'notice, summary, digest (daily or weekly), weekly (report), confirm or test.';
comment on column mails.weekly_id is 'The weekly report that it contains. Null: another kind.';
comment on column mails.week is 'First UTC day of the week of the report. Null: another kind.';
