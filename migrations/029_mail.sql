-- Mail: the address and the choices of each person, the mails, and which mail a notice went into. New columns have constant
-- defaults, so this is instant at any size; notices that exist are at most a few thousand.

create table mail_settings (
    user_id    bigint      primary key references users (id) on delete cascade,
    address    text        not null default '' check (length(address) <= 254),
    confirmed  timestamptz,
    pending    text        not null default '' check (length(pending) <= 254),
    mode       text        not null default 'immediate' check (mode in ('immediate', 'daily', 'weekly', 'off')),
    hour       smallint    not null default 8 check (hour between 0 and 23),
    weekday    smallint    not null default 1 check (weekday between 0 and 6),
    zone       text        not null default 'UTC',
    quiet_from smallint    check (quiet_from between 0 and 23),
    quiet_to   smallint    check (quiet_to between 0 and 23),
    kinds_off  text[]      not null default '{}',
    check ((quiet_from is null) = (quiet_to is null)),
    check ((address = '') = (confirmed is null))
);

create table mails (
    id       bigint      generated always as identity primary key,
    user_id  bigint      not null references users (id) on delete cascade,
    kind     text        not null check (kind in ('notice', 'summary', 'digest', 'confirm', 'test')),
    address  text        not null,
    created  timestamptz not null,
    due      timestamptz not null,
    state    text        not null default 'waiting' check (state in ('waiting', 'sending', 'sent', 'failed', 'cancelled')),
    attempts integer     not null default 0,
    unit     bigint,
    claimed  timestamptz,
    ended    timestamptz,
    reply    text        not null default ''
);
create index mails_due on mails (due, id) where state in ('waiting', 'sending');
create index mails_user on mails (user_id, created);
create index mails_address on mails (lower(address), created) where kind in ('confirm', 'test');
create index mails_ended on mails (ended) where ended is not null;

alter table notices add column mail text not null default 'waiting' check (mail in ('waiting', 'held', 'mailed', 'none'));
alter table notices add column mail_id bigint references mails (id) on delete set null;
create index notices_waiting on notices (user_id, id) where mail in ('waiting', 'held');
create index notices_mail on notices (mail_id) where mail_id is not null;

create table mail_key (
    id  boolean primary key default true check (id),
    key bytea   not null check (length(key) = 32)
);

create table notification_stop (
    id      boolean     primary key default true check (id),
    stopped timestamptz not null,
    person  text        not null
);

comment on table mail_settings is 'What each person has chosen for mail. No row: the person has no address, and gets no mail.';
comment on column mail_settings.user_id is 'The account of the person.';
comment on column mail_settings.address is 'Address that the person has confirmed; empty: none.';
comment on column mail_settings.confirmed is 'When the address was confirmed. Null: there is none.';
comment on column mail_settings.pending is 'Address to which a link was sent and that is not confirmed yet; empty: none.';
comment on column mail_settings.mode is 'immediate (a mail for each notice), daily, weekly or off.';
comment on column mail_settings.hour is 'Hour of the daily or weekly mail, in zone.';
comment on column mail_settings.weekday is 'Day of the weekly mail; 0 is Sunday.';
comment on column mail_settings.zone is 'Time zone of the hours, such as Europe/Paris.';
comment on column mail_settings.quiet_from is 'Hour, in zone, from which immediate mail waits. Null: it never waits.';
comment on column mail_settings.quiet_to is 'Hour, in zone, until which immediate mail waits.';
comment on column mail_settings.kinds_off is 'Kinds of events that the person gets no mail about.';

comment on table mails is 'Mails to send and sent. The row is written in the transaction that decides what the mail contains; its text is made from the notices when it is sent.';
comment on column mails.id is 'Number of the mail. Its Message-ID contains it, so that a mail that is sent again is recognised.';
comment on column mails.user_id is 'The account of the recipient, or of the person who asked for a test.';
comment on column mails.kind is 'notice (one event), summary (events beyond the limit), digest (daily or weekly), confirm (link for a new address) or test.';
comment on column mails.address is 'Address of the recipient at that time.';
comment on column mails.created is 'When it was decided.';
comment on column mails.due is 'When the next attempt is due.';
comment on column mails.state is 'waiting, sending (an instance has claimed it), sent (the relay accepted it), failed (for good) or cancelled (the person changed their settings before).';
comment on column mails.attempts is 'Number of attempts so far.';
comment on column mails.unit is 'Instance that has claimed it last. Null: none has.';
comment on column mails.claimed is 'When it was claimed last.';
comment on column mails.ended is 'When it was sent, failed for good or was cancelled. Null: not yet.';
comment on column mails.reply is 'Last reply of the relay, shortened, or why there was none; empty: no attempt yet.';

comment on column notices.mail is 'waiting (for a decision), held (beyond the hourly limit, for the next summary), mailed (see mail_id) or none (the settings of the person say so).';
comment on column notices.mail_id is 'The mail that contains it. Null: none.';

comment on table mail_key is 'The key that signs links in mails; at most one row. It is not sealed like the tokens of the tracker: links to unsubscribe never expire, so they must survive a new password of the database.';
comment on column mail_key.id is 'Always true.';
comment on column mail_key.key is 'Random key for HMAC-SHA-256.';

comment on table notification_stop is 'One row while a person has stopped all notifications: nothing leaves mishap. Otherwise empty.';
comment on column notification_stop.id is 'Always true: there is at most one row.';
comment on column notification_stop.stopped is 'When notifications were stopped.';
comment on column notification_stop.person is 'Account name of the person who stopped them.';
