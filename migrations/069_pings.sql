create table ping_days (
    day date not null,
    release text not null,
    architecture text not null,
    machines bigint not null,
    primary key (day, release, architecture)
);
comment on table ping_days is 'How many machines said that they are there, by UTC day: mishap-send says it once a day if it may. Nothing tells the machines apart. Each instance adds its counts every few seconds, so a crash loses those of the last ones. Rows are deleted after 400 days.';
comment on column ping_days.day is 'UTC day of arrival.';
comment on column ping_days.release is 'Release, as the machine names it; empty: of pairs of release and architecture beyond the first 200 of the day.';
comment on column ping_days.architecture is 'Architecture, as the machine names it; empty where the release is.';
comment on column ping_days.machines is 'Number of pings. A machine whose answer was lost says it twice.';
