-- The days of problems tell apart the architecture of the package, which differs from that of the machine for foreign packages
-- (i386 on amd64) and where a report names none: the parameter pkg_arch asks for it.
--
-- What is counted moves to where its reports, as far as they are stored, say that it belongs. Reports that retention has
-- dropped cannot say so; they count with the architecture of their machine, as before. On ten million reports this takes
-- some minutes: the days are written anew, and all reports are read once.
lock table bucket_days in access exclusive mode;

alter table bucket_days drop constraint bucket_days_pkey;
alter table bucket_days add column package_architecture text;

create temporary table foreign_days on commit drop as
    select bucket_id, day, release, version, architecture, package_architecture, count(*) as reports, count(*) filter (where proposed) as proposed
    from reports
    where counted and bucket_id is not null and package_architecture <> architecture
        and not exists (select from uncounted as u where reports.id = any(u.reports))
    group by bucket_id, day, release, version, architecture, package_architecture;

update bucket_days set package_architecture = architecture;

update bucket_days as d set reports = d.reports - f.reports, proposed = d.proposed - f.proposed
from (
    select bucket_id, day, release, version, architecture, sum(reports) as reports, sum(proposed) as proposed
    from foreign_days group by bucket_id, day, release, version, architecture
) as f
where f.bucket_id = d.bucket_id and f.day = d.day and f.release = d.release and f.version = d.version and f.architecture = d.architecture;

insert into bucket_days (bucket_id, day, release, version, architecture, package_architecture, reports, proposed, changed)
select f.bucket_id, f.day, f.release, f.version, f.architecture, f.package_architecture, f.reports, f.proposed, d.changed
from foreign_days as f
    join bucket_days as d on d.bucket_id = f.bucket_id and d.day = f.day and d.release = f.release and d.version = f.version
        and d.architecture = f.architecture and d.package_architecture = d.architecture;

delete from bucket_days where reports <= 0;

alter table bucket_days alter column package_architecture set not null;
alter table bucket_days add constraint bucket_days_pkey primary key (bucket_id, day, release, version, architecture, package_architecture);
