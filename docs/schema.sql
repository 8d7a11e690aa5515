-- The schema of the database, for reading. "make schema" generates it from the migrations; do not edit it.
-- It omits tern's table schema_version and the job queue's river_* tables.

CREATE TYPE occurrence AS (
	seen timestamp with time zone,
	version_key bytea,
	version text COLLATE pg_catalog."C"
);
COMMENT ON TYPE occurrence IS 'One crash as an event: when, and in which version. Rows compare column by column, so least() and greatest() find the oldest and the newest.';
COMMENT ON COLUMN occurrence.seen IS 'Time of the crash by the report''s own Date if that was believed, else time of arrival.';
COMMENT ON COLUMN occurrence.version_key IS 'Key that sorts as the package manager of the release compares versions; empty: not comparable.';
COMMENT ON COLUMN occurrence.version IS 'Version of the package; empty: the report names none.';

CREATE TYPE package_version AS (
	key bytea,
	version text COLLATE pg_catalog."C"
);
COMMENT ON TYPE package_version IS 'A package version with its sort key. Rows compare as the package manager of the release compares versions.';
COMMENT ON COLUMN package_version.key IS 'Key that sorts as the package manager of the release compares versions.';
COMMENT ON COLUMN package_version.version IS 'The version as reports write it.';

CREATE TYPE release_seen AS (
	key text COLLATE pg_catalog."C",
	release text COLLATE pg_catalog."C"
);
COMMENT ON TYPE release_seen IS 'A release with its sort key. Rows compare in the order of releases.';
COMMENT ON COLUMN release_seen.key IS 'Key that sorts as releases follow each other.';
COMMENT ON COLUMN release_seen.release IS 'Name of the release, such as Ubuntu 24.04.';

CREATE TYPE version_seen AS (
	key bytea,
	release_key text COLLATE pg_catalog."C",
	version text COLLATE pg_catalog."C",
	release text COLLATE pg_catalog."C"
);
COMMENT ON TYPE version_seen IS 'A package version and the release in which it was seen. Rows compare by version, then by release; text settles ties, so the result does not depend on the order of arrival.';
COMMENT ON COLUMN version_seen.key IS 'Key that sorts as the package manager of the release compares versions. Those of dpkg come before those of rpm, and those of pacman last.';
COMMENT ON COLUMN version_seen.release_key IS 'Key that sorts as releases follow each other.';
COMMENT ON COLUMN version_seen.version IS 'The version as reports write it.';
COMMENT ON COLUMN version_seen.release IS 'Name of the release.';

CREATE FUNCTION drop_audit_events(oldest timestamp with time zone, most integer) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    dropped bigint;
begin
    if oldest > now() - interval '30 days' then
        raise exception 'Records of the last 30 days stay in the audit log.' using errcode = 'insufficient_privilege';
    end if;
    perform set_config('mishap.dropping_audit_events', 'on', true);
    delete from audit_events where id in (
        select id from audit_events where at < oldest and action <> 'user.remove' order by at, id limit most);
    get diagnostics dropped = row_count;
    perform set_config('mishap.dropping_audit_events', '', true);
    return dropped;
end $$;

CREATE FUNCTION erase_from_audit_events(machine text, replacement text) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
	changed bigint;
begin
	perform set_config('mishap.erasing_machine', 'on', true);
	update audit_events set subject = case when subject = machine or length(machine) >= 16
			then replace(subject, machine, replacement) else subject end,
		detail = case when length(machine) >= 16 then replace(detail::text, machine, replacement)::jsonb else detail end,
		before = case when length(machine) >= 16 then replace(before::text, machine, replacement)::jsonb else before end,
		after = case when length(machine) >= 16 then replace(after::text, machine, replacement)::jsonb else after end,
		once = case when once is null then null else 'erased-' || id end
	where subject = machine or length(machine) >= 16 and (position(machine in subject) > 0
		or position(machine in detail::text) > 0 or position(machine in before::text) > 0
		or position(machine in after::text) > 0);
	get diagnostics changed = row_count;
	perform set_config('mishap.erasing_machine', '', true);
	return changed;
end $$;

CREATE FUNCTION note_archive_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
    insert into archive_changes (received, id) values (old.received, old.id);
    return null;
end
$$;
COMMENT ON FUNCTION note_archive_change() IS 'Notes a change of a report in a part that is being moved.';

CREATE FUNCTION note_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
    insert into changes default values on conflict do nothing;
    return null;
end $$;
COMMENT ON FUNCTION note_change() IS 'Adds the row of this transaction to changes, once.';

CREATE FUNCTION refuse_audit_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
declare
	named constant text[] := '{subject,detail,before,after,once}';
begin
	if tg_op = 'DELETE' and current_setting('mishap.dropping_audit_events', true) = 'on'
		and old.at < now() - interval '30 days' and old.action <> 'user.remove' then
		return old;
	end if;
	if tg_op = 'UPDATE' and current_setting('mishap.erasing_machine', true) = 'on'
		and to_jsonb(old) - named = to_jsonb(new) - named then
		return new;
	end if;
	raise exception 'Records of the audit log cannot be changed. The function drop_audit_events removes old ones.'
		using errcode = 'insufficient_privilege';
end $$;

CREATE FUNCTION system_digest(system text) RETURNS bytea
    LANGUAGE sql STABLE
    AS $$
	select sha256((select key from erasure_key) || convert_to('system:' || system, 'UTF8'))
$$;
COMMENT ON FUNCTION system_digest(system text) IS 'Digest of a machine; see erasures.digest.';

CREATE TABLE bug_places (
    place smallint NOT NULL,
    tracker text NOT NULL,
    project text NOT NULL,
    upstream boolean DEFAULT false NOT NULL,
    changes_until timestamp with time zone,
    CONSTRAINT bug_places_place_check CHECK (((place >= 0) AND (place <= 8191)))
);
COMMENT ON TABLE bug_places IS 'Where bugs are: projects whose bugs have their own numbers. Rows are never removed.';
COMMENT ON COLUMN bug_places.place IS 'Number of the place: the bits of a bug number from 40 upwards.';
COMMENT ON COLUMN bug_places.tracker IS 'Name of the tracker in the configuration.';
COMMENT ON COLUMN bug_places.project IS 'Project with its own numbers; empty: the tracker numbers all bugs.';
COMMENT ON COLUMN bug_places.upstream IS 'Whether bugs of upstream projects live there, as the configuration said last.';
COMMENT ON COLUMN bug_places.changes_until IS 'Time up to which the tracker was asked for changed bugs. Null: never.';

CREATE FUNCTION upstream_bug(number bigint) RETURNS boolean
    LANGUAGE sql STABLE
    RETURN COALESCE((SELECT bug_places.upstream FROM bug_places WHERE (bug_places.place = (upstream_bug.number >> 40))), false);

CREATE TABLE account_grants (
    id bigint NOT NULL,
    user_id bigint NOT NULL,
    role text NOT NULL,
    scope text NOT NULL,
    scope_name text NOT NULL,
    person text NOT NULL,
    created timestamp with time zone NOT NULL,
    embargoed boolean DEFAULT true NOT NULL,
    CONSTRAINT account_grants_check CHECK (((length(scope_name) <= 100) AND ((scope = 'everything'::text) = (scope_name = ''::text)))),
    CONSTRAINT account_grants_role_check CHECK ((role = ANY (ARRAY['triager'::text, 'private'::text]))),
    CONSTRAINT account_grants_scope_check CHECK ((scope = ANY (ARRAY['everything'::text, 'package'::text, 'set'::text, 'team'::text])))
);
COMMENT ON TABLE account_grants IS 'Rights that single accounts were given by hand, besides users.role.';
COMMENT ON COLUMN account_grants.id IS 'Number of the grant.';
COMMENT ON COLUMN account_grants.user_id IS 'The account.';
COMMENT ON COLUMN account_grants.role IS 'triager, or private: the right to private data.';
COMMENT ON COLUMN account_grants.scope IS 'As in group_grants.';
COMMENT ON COLUMN account_grants.scope_name IS 'As in group_grants.';
COMMENT ON COLUMN account_grants.person IS 'Account that added the grant; empty: the command line, or the upgrade.';
COMMENT ON COLUMN account_grants.created IS 'When it was added.';
COMMENT ON COLUMN account_grants.embargoed IS 'As in group_grants.';

ALTER TABLE account_grants ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME account_grants_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE api_tokens (
    id bigint NOT NULL,
    user_id bigint NOT NULL,
    hash bytea NOT NULL,
    name text NOT NULL,
    hint text NOT NULL,
    scopes text[] NOT NULL,
    created timestamp with time zone NOT NULL,
    expires timestamp with time zone NOT NULL,
    last_used timestamp with time zone,
    revoked timestamp with time zone,
    last_address text DEFAULT ''::text NOT NULL,
    warned timestamp with time zone,
    CONSTRAINT api_tokens_hash_check CHECK ((length(hash) = 32))
);
COMMENT ON TABLE api_tokens IS 'API tokens of accounts. The token itself is shown once and not stored.';
COMMENT ON COLUMN api_tokens.id IS 'Serial number.';
COMMENT ON COLUMN api_tokens.user_id IS 'The account.';
COMMENT ON COLUMN api_tokens.hash IS 'SHA-256 of the token.';
COMMENT ON COLUMN api_tokens.name IS 'Name that the person gave it.';
COMMENT ON COLUMN api_tokens.hint IS 'Last 8 characters of the token; of tokens made before 2026-11: the first 11, which begin with mishap_.';
COMMENT ON COLUMN api_tokens.scopes IS 'What it allows: read, read-private, triage, file, assist, admin.';
COMMENT ON COLUMN api_tokens.created IS 'When it was added.';
COMMENT ON COLUMN api_tokens.expires IS 'When it expires.';
COMMENT ON COLUMN api_tokens.last_used IS 'When it was used last, to the minute. Null: never.';
COMMENT ON COLUMN api_tokens.revoked IS 'When it was revoked. Null: it was not.';
COMMENT ON COLUMN api_tokens.last_address IS 'Address of the client that used it last; empty: unknown.';
COMMENT ON COLUMN api_tokens.warned IS 'When its owner was told that it expires soon. Null: not yet.';

ALTER TABLE api_tokens ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME api_tokens_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE applied_migrations (
    version integer NOT NULL,
    name text NOT NULL,
    checksum text NOT NULL,
    applied timestamp with time zone DEFAULT now() NOT NULL
);
COMMENT ON TABLE applied_migrations IS 'Migrations that were applied. Instances refuse a database whose rows differ from their own files.';
COMMENT ON COLUMN applied_migrations.version IS 'Number of the file.';
COMMENT ON COLUMN applied_migrations.name IS 'Name of the file.';
COMMENT ON COLUMN applied_migrations.checksum IS 'SHA-256 of the file, in hexadecimal.';
COMMENT ON COLUMN applied_migrations.applied IS 'When it was applied.';

CREATE TABLE archive_changes (
    received timestamp with time zone NOT NULL,
    id uuid NOT NULL
);
COMMENT ON TABLE archive_changes IS 'Reports that were changed or deleted in a part that is being moved, since they were copied.';
COMMENT ON COLUMN archive_changes.received IS 'As in reports.';
COMMENT ON COLUMN archive_changes.id IS 'As in reports.';

CREATE TABLE archive_facts (
    kind text NOT NULL,
    key text NOT NULL COLLATE pg_catalog."C",
    value jsonb,
    read timestamp with time zone,
    asked timestamp with time zone NOT NULL,
    next_read timestamp with time zone NOT NULL,
    failures integer DEFAULT 0 NOT NULL,
    failure text DEFAULT ''::text NOT NULL,
    CONSTRAINT archive_facts_kind_check CHECK ((kind = ANY (ARRAY['source'::text, 'binary'::text, 'version'::text, 'set'::text, 'person'::text])))
);
COMMENT ON TABLE archive_facts IS 'What the tracker said about the archive of the distribution, and what it has yet to be asked. Pages add questions; one background job reads the answers.';
COMMENT ON COLUMN archive_facts.kind IS 'source, binary, version, set or person; the meaning of key depends on it (crash.ArchiveKind).';
COMMENT ON COLUMN archive_facts.key IS 'Name of what was asked, such as a source package.';
COMMENT ON COLUMN archive_facts.value IS 'The answer. Null: the tracker knows no such thing or, while read is null, was not asked yet.';
COMMENT ON COLUMN archive_facts.read IS 'When the answer was read. Null: never.';
COMMENT ON COLUMN archive_facts.asked IS 'When a page or a request needed it last, to the day. Facts that were not needed for a month are deleted.';
COMMENT ON COLUMN archive_facts.next_read IS 'When the tracker is asked next.';
COMMENT ON COLUMN archive_facts.failures IS 'Number of failed readings since the last successful one.';
COMMENT ON COLUMN archive_facts.failure IS 'Why the last reading failed; empty: it succeeded.';

CREATE TABLE archive_moves (
    part text NOT NULL,
    archive text NOT NULL,
    back boolean NOT NULL,
    state text DEFAULT 'copying'::text NOT NULL,
    copied timestamp with time zone DEFAULT '0001-01-01 00:00:00+00'::timestamp with time zone NOT NULL,
    reports bigint DEFAULT 0 NOT NULL,
    started timestamp with time zone NOT NULL,
    CONSTRAINT archive_moves_state_check CHECK ((state = ANY (ARRAY['copying'::text, 'swapped'::text, 'dropped'::text])))
);
COMMENT ON TABLE archive_moves IS 'Parts of reports that are being moved to an archive server or back. A row is deleted when its move is finished.';
COMMENT ON COLUMN archive_moves.part IS 'Name of the table.';
COMMENT ON COLUMN archive_moves.archive IS 'Name of the archive.';
COMMENT ON COLUMN archive_moves.back IS 'False: to the archive; true: back from it.';
COMMENT ON COLUMN archive_moves.state IS 'copying: the source is still in use. swapped: the copy is in use, and the source remains to be dropped. dropped: retention has dropped the part here, and the table of the archive remains to be dropped.';
COMMENT ON COLUMN archive_moves.copied IS 'Reports that arrived before this time are copied.';
COMMENT ON COLUMN archive_moves.reports IS 'Number of reports that are copied.';
COMMENT ON COLUMN archive_moves.started IS 'When the move began.';

CREATE TABLE assignments (
    id bigint NOT NULL,
    bucket_id bytea NOT NULL,
    assignee text NOT NULL,
    person text NOT NULL,
    at timestamp with time zone NOT NULL,
    undone_by text,
    undone_at timestamp with time zone,
    CONSTRAINT assignments_assignee_check CHECK ((length(assignee) <= 100)),
    CONSTRAINT assignments_bucket_id_check CHECK ((length(bucket_id) = 20)),
    CONSTRAINT assignments_check CHECK (((undone_by IS NULL) = (undone_at IS NULL)))
);
COMMENT ON TABLE assignments IS 'Who takes care of problems, with the history. The newest row of a problem that was not undone counts, unless its bug has an assignee in the tracker.';
COMMENT ON COLUMN assignments.id IS 'Number of the assignment.';
COMMENT ON COLUMN assignments.bucket_id IS 'The problem at which it was made; problems merged with it show it too.';
COMMENT ON COLUMN assignments.assignee IS 'Name of an account, or ~ and a name in the tracker; empty: nobody.';
COMMENT ON COLUMN assignments.person IS 'Account name of the person who assigned it, or the name of a rule.';
COMMENT ON COLUMN assignments.at IS 'When it was assigned.';
COMMENT ON COLUMN assignments.undone_by IS 'Account name of the person who undid it. Null: it was not undone.';
COMMENT ON COLUMN assignments.undone_at IS 'When it was undone. Null: it was not undone.';

ALTER TABLE assignments ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME assignments_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE audit_events (
    id bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    person text NOT NULL,
    action text NOT NULL,
    subject text NOT NULL,
    detail jsonb DEFAULT '{}'::jsonb NOT NULL,
    kind text DEFAULT ''::text NOT NULL,
    via text DEFAULT ''::text NOT NULL,
    address text DEFAULT ''::text NOT NULL,
    request_id text DEFAULT ''::text NOT NULL,
    before jsonb,
    after jsonb,
    result text DEFAULT 'done'::text NOT NULL,
    reason text DEFAULT ''::text NOT NULL,
    once text,
    CONSTRAINT audit_events_kind_check CHECK ((kind = ANY (ARRAY[''::text, 'person'::text, 'token'::text, 'rule'::text, 'job'::text, 'command'::text, 'visitor'::text]))),
    CONSTRAINT audit_events_result_check CHECK ((result = ANY (ARRAY['done'::text, 'refused'::text])))
);
COMMENT ON TABLE audit_events IS 'Who did what. Triggers refuse changes; drop_audit_events() removes old rows. Rows hold no secrets. No foreign key: accounts can be removed, the record stays.';
COMMENT ON COLUMN audit_events.id IS 'Serial number.';
COMMENT ON COLUMN audit_events.at IS 'When it happened.';
COMMENT ON COLUMN audit_events.person IS 'Account name; empty: mishap itself, the command line, or a visitor.';
COMMENT ON COLUMN audit_events.action IS 'What was done, such as bug.create or tracker.connect.';
COMMENT ON COLUMN audit_events.subject IS 'What it was done to: a bucket id, an account name, the address of a tracker.';
COMMENT ON COLUMN audit_events.detail IS 'Further facts, depending on the action.';
COMMENT ON COLUMN audit_events.kind IS 'Who acted: a person in a browser, a token, a rule, a job of mishap, a command, or a visitor. Empty: unknown, before version 33.';
COMMENT ON COLUMN audit_events.via IS 'Name and first characters of the token, name of the rule or job, or system user of the command.';
COMMENT ON COLUMN audit_events.address IS 'Address of the client; empty: unknown or none.';
COMMENT ON COLUMN audit_events.request_id IS 'Id of the request, as in the log and in X-Request-ID, or the command.';
COMMENT ON COLUMN audit_events.before IS 'Values before a change; secrets appear as "changed".';
COMMENT ON COLUMN audit_events.after IS 'Values after a change; secrets appear as "changed".';
COMMENT ON COLUMN audit_events.result IS 'Whether it was done or refused.';
COMMENT ON COLUMN audit_events.reason IS 'Why it was refused: the code of the error.';
COMMENT ON COLUMN audit_events.once IS 'Key of records of which there is one an hour or minute, such as views of the same page. Null: each counts.';

ALTER TABLE audit_events ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME audit_events_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE backups (
    id bigint NOT NULL,
    taken timestamp with time zone NOT NULL,
    ended timestamp with time zone NOT NULL,
    place text NOT NULL,
    bytes bigint NOT NULL,
    reports bigint NOT NULL,
    verified timestamp with time zone,
    verify_problem text
);
COMMENT ON TABLE backups IS 'Complete backups that the command backup has written, for 400 days.';
COMMENT ON COLUMN backups.id IS 'Number of the backup.';
COMMENT ON COLUMN backups.taken IS 'The state of the database in the backup is that of this moment.';
COMMENT ON COLUMN backups.ended IS 'When the backup was complete.';
COMMENT ON COLUMN backups.place IS 'Folder of the backup on the machine where the command ran, or its address in object storage.';
COMMENT ON COLUMN backups.bytes IS 'Size of all its files.';
COMMENT ON COLUMN backups.reports IS 'Number of reports in it.';
COMMENT ON COLUMN backups.verified IS 'When the last verification of the backup ended. Null: it was never verified.';
COMMENT ON COLUMN backups.verify_problem IS 'Why the verified backup is not good. Empty: it is.';

ALTER TABLE backups ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME backups_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE bucket_arrivals (
    bucket_id bytea NOT NULL,
    at timestamp with time zone NOT NULL,
    round bigint NOT NULL
);
COMMENT ON TABLE bucket_arrivals IS 'When the first counted report of each bucket arrived. Written by the evaluation of rules.';
COMMENT ON COLUMN bucket_arrivals.bucket_id IS 'The bucket. No foreign key, as with counts.';
COMMENT ON COLUMN bucket_arrivals.at IS 'Arrival of the oldest report; 1970: before rules existed, or the bucket was split off or regrouped.';
COMMENT ON COLUMN bucket_arrivals.round IS 'Round (counting.round) up to which reports were counted when the row was stored.';

CREATE TABLE bucket_bodies (
    bucket_id bytea NOT NULL,
    month date NOT NULL,
    reports bigint NOT NULL,
    kept bigint NOT NULL,
    slots bytea DEFAULT '\x'::bytea NOT NULL,
    combinations bytea DEFAULT '\x'::bytea NOT NULL
)
WITH (fillfactor='80');
COMMENT ON TABLE bucket_bodies IS 'How many reports of a bucket arrived in a month, and of how many the body is stored. Only reports since counting.bodies_since. Written by rounds, read when reports are stored.';
COMMENT ON COLUMN bucket_bodies.bucket_id IS 'The bucket.';
COMMENT ON COLUMN bucket_bodies.month IS 'First day of the month of arrival, in UTC.';
COMMENT ON COLUMN bucket_bodies.reports IS 'Number of counted reports.';
COMMENT ON COLUMN bucket_bodies.kept IS 'Number of those with a body.';
COMMENT ON COLUMN bucket_bodies.slots IS 'Bits of the places for a hash of the machine that are taken. There are half as many as keep_bodies_per_problem says.';
COMMENT ON COLUMN bucket_bodies.combinations IS 'Hashes, of four bytes each, of the combinations of version, release and architecture that have a body.';

CREATE TABLE bucket_bugs (
    bucket_id bytea NOT NULL,
    bug_number bigint NOT NULL,
    how text NOT NULL,
    person text NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT bucket_bugs_how_check CHECK ((how = ANY (ARRAY['filed'::text, 'linked'::text])))
);
COMMENT ON TABLE bucket_bugs IS 'Which bucket has which bug.';
COMMENT ON COLUMN bucket_bugs.bucket_id IS 'The bucket.';
COMMENT ON COLUMN bucket_bugs.bug_number IS 'The bug.';
COMMENT ON COLUMN bucket_bugs.how IS 'filed (by mishap) or linked (by hand).';
COMMENT ON COLUMN bucket_bugs.person IS 'Account name of the person who filed or linked it; empty: mishap itself.';
COMMENT ON COLUMN bucket_bugs.at IS 'When it was filed or linked.';

CREATE TABLE bucket_days (
    bucket_id bytea NOT NULL,
    day date NOT NULL,
    release text NOT NULL,
    version text NOT NULL,
    architecture text NOT NULL,
    reports bigint NOT NULL,
    proposed bigint NOT NULL,
    changed bigint NOT NULL,
    package_architecture text NOT NULL
)
WITH (fillfactor='80');
COMMENT ON TABLE bucket_days IS 'Reports of a bucket by day and by what pages filter on. Written by rounds. No foreign key; see bucket_releases. No index on changed either: each update would then write to all indexes.';
COMMENT ON COLUMN bucket_days.bucket_id IS 'The bucket.';
COMMENT ON COLUMN bucket_days.day IS 'UTC day, as in reports.day.';
COMMENT ON COLUMN bucket_days.release IS 'The release; empty: none named.';
COMMENT ON COLUMN bucket_days.version IS 'Version of the package; empty: none named.';
COMMENT ON COLUMN bucket_days.architecture IS 'Architecture of the machine.';
COMMENT ON COLUMN bucket_days.reports IS 'Number of counted reports.';
COMMENT ON COLUMN bucket_days.proposed IS 'Number of these whose package came from the proposed pocket.';
COMMENT ON COLUMN bucket_days.changed IS 'Round that changed the row last.';
COMMENT ON COLUMN bucket_days.package_architecture IS 'Architecture of the package.';

CREATE TABLE bucket_expired (
    bucket_id bytea NOT NULL,
    release text NOT NULL,
    version text NOT NULL,
    architecture text NOT NULL,
    package_architecture text NOT NULL,
    reports bigint NOT NULL,
    proposed bigint NOT NULL,
    first_day date NOT NULL,
    last_day date NOT NULL
);
COMMENT ON TABLE bucket_expired IS 'Sums of the rows of bucket_days that have expired. With bucket_days they give bucket_versions. No foreign key; see bucket_releases.';
COMMENT ON COLUMN bucket_expired.bucket_id IS 'The bucket.';
COMMENT ON COLUMN bucket_expired.release IS 'The release; empty: none named.';
COMMENT ON COLUMN bucket_expired.version IS 'Version of the package; empty: none named.';
COMMENT ON COLUMN bucket_expired.architecture IS 'Architecture of the machine.';
COMMENT ON COLUMN bucket_expired.package_architecture IS 'Architecture of the package.';
COMMENT ON COLUMN bucket_expired.reports IS 'Number of counted reports.';
COMMENT ON COLUMN bucket_expired.proposed IS 'Number of these whose package came from the proposed pocket.';
COMMENT ON COLUMN bucket_expired.first_day IS 'First UTC day with such a report.';
COMMENT ON COLUMN bucket_expired.last_day IS 'Last UTC day with such a report that has expired.';

CREATE TABLE bucket_releases (
    bucket_id bytea NOT NULL,
    release text NOT NULL COLLATE pg_catalog."C",
    first_seen occurrence NOT NULL,
    last_seen occurrence NOT NULL,
    lowest_version package_version,
    highest_version package_version
)
WITH (fillfactor='80');
COMMENT ON TABLE bucket_releases IS 'First and last occurrence of a bucket in each release. Written by rounds. As with all counts of buckets there is no foreign key: rounds count only stored reports, whose buckets exist, and a check for each row would prolong the lock on counting.';
COMMENT ON COLUMN bucket_releases.bucket_id IS 'The bucket.';
COMMENT ON COLUMN bucket_releases.release IS 'The release; empty: the reports name none.';
COMMENT ON COLUMN bucket_releases.first_seen IS 'The oldest occurrence.';
COMMENT ON COLUMN bucket_releases.last_seen IS 'The newest occurrence.';
COMMENT ON COLUMN bucket_releases.lowest_version IS 'Lowest version. Null: no version is comparable.';
COMMENT ON COLUMN bucket_releases.highest_version IS 'Highest version. Null: no version is comparable.';

CREATE TABLE bucket_systems (
    bucket_id bytea NOT NULL,
    system bigint NOT NULL,
    release text NOT NULL,
    version text NOT NULL,
    reports bigint NOT NULL
);
COMMENT ON TABLE bucket_systems IS 'Machines of a bucket by release and package version; tells rounds which machines are new. No foreign key; see bucket_releases.';
COMMENT ON COLUMN bucket_systems.bucket_id IS 'The bucket.';
COMMENT ON COLUMN bucket_systems.system IS 'The machine, as in reports.system_key.';
COMMENT ON COLUMN bucket_systems.release IS 'The release; empty: none named.';
COMMENT ON COLUMN bucket_systems.version IS 'Version of the package; empty: none named.';
COMMENT ON COLUMN bucket_systems.reports IS 'Number of counted reports.';

CREATE TABLE bucket_travellers (
    bucket_id bytea NOT NULL,
    version text NOT NULL,
    system bigint NOT NULL,
    extra integer NOT NULL,
    CONSTRAINT bucket_travellers_extra_check CHECK ((extra > 0))
);
COMMENT ON TABLE bucket_travellers IS 'Machines that reported a bucket with one version from several releases. Subtracting them gives the distinct machines of a version without reading bucket_systems. No foreign key; see bucket_releases.';
COMMENT ON COLUMN bucket_travellers.bucket_id IS 'The bucket.';
COMMENT ON COLUMN bucket_travellers.version IS 'Version of the package.';
COMMENT ON COLUMN bucket_travellers.system IS 'The machine, as in reports.system_key.';
COMMENT ON COLUMN bucket_travellers.extra IS 'Number of releases beyond the first.';

CREATE TABLE bucket_versions (
    bucket_id bytea NOT NULL,
    release text NOT NULL,
    version text NOT NULL,
    version_key bytea,
    reports bigint NOT NULL,
    systems bigint NOT NULL
)
WITH (fillfactor='80');
COMMENT ON TABLE bucket_versions IS 'Reports of a bucket by release and package version. Written by rounds. No foreign key; see bucket_releases.';
COMMENT ON COLUMN bucket_versions.bucket_id IS 'The bucket.';
COMMENT ON COLUMN bucket_versions.release IS 'The release; empty: none named.';
COMMENT ON COLUMN bucket_versions.version IS 'Version of the package; empty: none named.';
COMMENT ON COLUMN bucket_versions.version_key IS 'Key that sorts as the package manager of the release compares versions. Null: not comparable.';
COMMENT ON COLUMN bucket_versions.reports IS 'Number of counted reports.';
COMMENT ON COLUMN bucket_versions.systems IS 'Number of distinct machines that sent them.';

CREATE TABLE buckets (
    id bytea NOT NULL,
    head bytea NOT NULL,
    signature text NOT NULL,
    rule text NOT NULL,
    provisional boolean NOT NULL,
    problem_type text NOT NULL,
    title text NOT NULL,
    name text DEFAULT ''::text NOT NULL,
    executable text NOT NULL,
    package text NOT NULL COLLATE pg_catalog."C",
    source_package text NOT NULL COLLATE pg_catalog."C",
    reports bigint DEFAULT 0 NOT NULL,
    systems bigint DEFAULT 0 NOT NULL,
    first_version version_seen,
    last_version version_seen,
    first_release release_seen,
    last_release release_seen,
    changed bigint NOT NULL,
    shrunk bigint DEFAULT 0 NOT NULL,
    CONSTRAINT buckets_id_check CHECK ((length(id) = 20))
)
WITH (fillfactor='80');
COMMENT ON TABLE buckets IS 'One row per signature. Stored with its first report; never deleted. The counts, first and last cover counted reports only. A bucket that was merged keeps its own counts. Package, title and the like are those of the report counted last.';
COMMENT ON COLUMN buckets.id IS 'SHA-1 of the signature.';
COMMENT ON COLUMN buckets.head IS 'The bucket that stands for the problem: its own id unless it was merged. No foreign key: merges, under the lock on counting, are the only writers after the first insert, and they read the head first.';
COMMENT ON COLUMN buckets.signature IS 'Text that identifies reports of the same fault.';
COMMENT ON COLUMN buckets.rule IS 'Name of the grouping rule that chose the signature.';
COMMENT ON COLUMN buckets.provisional IS 'Whether the signature has addresses instead of function names.';
COMMENT ON COLUMN buckets.problem_type IS 'The field ProblemType, such as Crash.';
COMMENT ON COLUMN buckets.title IS 'One line that describes the problem.';
COMMENT ON COLUMN buckets.name IS 'Name that a person gave the problem; empty: none.';
COMMENT ON COLUMN buckets.executable IS 'Path of the program that crashed; empty: unknown.';
COMMENT ON COLUMN buckets.package IS 'Binary package; empty: unknown.';
COMMENT ON COLUMN buckets.source_package IS 'Source package; empty: unknown.';
COMMENT ON COLUMN buckets.reports IS 'Number of counted reports.';
COMMENT ON COLUMN buckets.systems IS 'Number of distinct machines that sent them.';
COMMENT ON COLUMN buckets.first_version IS 'Lowest version seen. Null: no version is comparable.';
COMMENT ON COLUMN buckets.last_version IS 'Highest version seen. Null: no version is comparable.';
COMMENT ON COLUMN buckets.first_release IS 'Oldest release seen. Null: no report names one.';
COMMENT ON COLUMN buckets.last_release IS 'Newest release seen. Null: no report names one.';
COMMENT ON COLUMN buckets.changed IS 'Round (counting.round) that changed the row last; 0: not counted yet.';
COMMENT ON COLUMN buckets.shrunk IS 'Round that moved reports out of the bucket last, after which rows of bucket_days may be missing; 0: none.';

CREATE TABLE bug_comments (
    bug_number bigint NOT NULL,
    version text NOT NULL,
    bucket_id bytea NOT NULL,
    at timestamp with time zone NOT NULL,
    outcome text NOT NULL,
    words text DEFAULT ''::text NOT NULL,
    kind text DEFAULT 'again'::text NOT NULL,
    CONSTRAINT bug_comments_kind_check CHECK ((kind = ANY (ARRAY['again'::text, 'names'::text, 'quiet'::text, 'forwarded'::text]))),
    CONSTRAINT bug_comments_outcome_check CHECK ((outcome = ANY (ARRAY['sending'::text, 'sent'::text, 'refused'::text, 'unknown'::text])))
);
COMMENT ON TABLE bug_comments IS 'Comments that mishap wrote in the tracker: at most one per bug, kind and version.';
COMMENT ON COLUMN bug_comments.bug_number IS 'The bug.';
COMMENT ON COLUMN bug_comments.version IS 'again: the version that the comment is about. quiet: UTC day of the last report. forwarded: number of the other bug. names: empty.';
COMMENT ON COLUMN bug_comments.bucket_id IS 'The problem that the comment is about.';
COMMENT ON COLUMN bug_comments.at IS 'When sending began.';
COMMENT ON COLUMN bug_comments.outcome IS 'sending, sent, refused, or unknown. In each case it is not sent again.';
COMMENT ON COLUMN bug_comments.words IS 'Message of the tracker or the network; empty: none.';
COMMENT ON COLUMN bug_comments.kind IS 'again: a fixed bug was seen again; names: the functions of its crash got names; quiet: its problem is no longer reported; forwarded: its problem has a bug in the upstream project, or the other way round.';

CREATE TABLE bug_routes (
    line integer NOT NULL,
    package text NOT NULL,
    type text NOT NULL,
    release text NOT NULL,
    tracker text NOT NULL,
    target text NOT NULL
);
COMMENT ON TABLE bug_routes IS 'Where bugs go, in order: the first row that fits a problem decides. Without one, bugs go to the first tracker.';
COMMENT ON COLUMN bug_routes.line IS 'Position.';
COMMENT ON COLUMN bug_routes.package IS 'Name of a source package, in which * stands for any characters.';
COMMENT ON COLUMN bug_routes.type IS 'Problem type, such as Crash; empty: any.';
COMMENT ON COLUMN bug_routes.release IS 'Release of the newest report, in which * stands for any characters; empty: any.';
COMMENT ON COLUMN bug_routes.tracker IS 'Name of the tracker in the configuration.';
COMMENT ON COLUMN bug_routes.target IS 'Project or component in that tracker, which may contain {source}, {release} and {version}; empty: that of the configuration.';

CREATE TABLE bug_sections (
    bug_number bigint NOT NULL,
    hashes text[] DEFAULT '{}'::text[] NOT NULL,
    facts jsonb DEFAULT '{}'::jsonb NOT NULL,
    pending jsonb DEFAULT '{}'::jsonb NOT NULL,
    replace boolean DEFAULT false NOT NULL,
    attempt bigint DEFAULT 0 NOT NULL,
    next timestamp with time zone NOT NULL,
    written timestamp with time zone,
    stopped text DEFAULT ''::text NOT NULL,
    stopped_at timestamp with time zone,
    problem text DEFAULT ''::text NOT NULL,
    final boolean DEFAULT false NOT NULL,
    CONSTRAINT bug_sections_stopped_check CHECK ((stopped = ANY (ARRAY[''::text, 'changed'::text, 'removed'::text, 'foreign'::text])))
);
COMMENT ON TABLE bug_sections IS 'The section that mishap updates in the description of a bug. A bug filed with a section has no row until the first update.';
COMMENT ON COLUMN bug_sections.bug_number IS 'The bug.';
COMMENT ON COLUMN bug_sections.hashes IS 'SHA-256 of the texts that mishap sent and that may be in the description: the last one that is known to be there, and later ones with an unknown outcome. Empty: none.';
COMMENT ON COLUMN bug_sections.facts IS 'Facts in the text that was written last, which decide whether an update is worthwhile.';
COMMENT ON COLUMN bug_sections.pending IS 'The same, of the text that is being sent, or whose outcome is unknown.';
COMMENT ON COLUMN bug_sections.replace IS 'Whether a person asked for the section again: the next update replaces any present one.';
COMMENT ON COLUMN bug_sections.attempt IS 'Number of times that a text was sent. An instance sends only if no other has meanwhile.';
COMMENT ON COLUMN bug_sections.next IS 'When an update is due to be considered again.';
COMMENT ON COLUMN bug_sections.written IS 'When the tracker last confirmed a text. Null: never.';
COMMENT ON COLUMN bug_sections.stopped IS 'Why mishap no longer updates the section: changed or removed by someone, or foreign (not written by this database). Empty: it does.';
COMMENT ON COLUMN bug_sections.stopped_at IS 'When mishap noticed that. Null: it goes on.';
COMMENT ON COLUMN bug_sections.problem IS 'Why the last attempt failed; empty: it did not.';
COMMENT ON COLUMN bug_sections.final IS 'Whether the section was updated after the bug was closed. A bug that is opened again has its section updated as before.';

CREATE TABLE bug_states (
    number bigint NOT NULL,
    information_type text DEFAULT ''::text NOT NULL,
    private boolean DEFAULT false NOT NULL,
    hidden boolean DEFAULT false NOT NULL,
    duplicate_of bigint,
    closed boolean DEFAULT false NOT NULL,
    tasks jsonb DEFAULT '[]'::jsonb NOT NULL,
    fixes jsonb DEFAULT '[]'::jsonb NOT NULL,
    read timestamp with time zone,
    next_read timestamp with time zone NOT NULL,
    failures integer DEFAULT 0 NOT NULL,
    failure text DEFAULT ''::text NOT NULL
);
COMMENT ON TABLE bug_states IS 'What the tracker said about each bug when it was read last.';
COMMENT ON COLUMN bug_states.number IS 'The bug.';
COMMENT ON COLUMN bug_states.information_type IS 'The tracker''s information type, such as Public or Private; empty: not read yet.';
COMMENT ON COLUMN bug_states.private IS 'Whether the bug is private.';
COMMENT ON COLUMN bug_states.hidden IS 'Whether our account may not read the bug, or the bug is gone.';
COMMENT ON COLUMN bug_states.duplicate_of IS 'The bug that this one duplicates. Null: none.';
COMMENT ON COLUMN bug_states.closed IS 'Whether all its tasks on a distribution are complete, or all its tasks if there is none on a distribution. Of a duplicate: its own tasks.';
COMMENT ON COLUMN bug_states.tasks IS 'Its tasks: an array of crash.BugTask.';
COMMENT ON COLUMN bug_states.fixes IS 'Package versions that have the fix: an array of crash.BugFix.';
COMMENT ON COLUMN bug_states.read IS 'When it was read last. Null: never.';
COMMENT ON COLUMN bug_states.next_read IS 'When it is read next.';
COMMENT ON COLUMN bug_states.failures IS 'Number of failed readings since the last successful one.';
COMMENT ON COLUMN bug_states.failure IS 'Why the last reading failed; empty: it succeeded.';

CREATE TABLE bug_templates (
    package text NOT NULL,
    problem_type text NOT NULL,
    body text NOT NULL,
    person text NOT NULL,
    changed timestamp with time zone NOT NULL,
    tracker text DEFAULT ''::text NOT NULL
);
COMMENT ON TABLE bug_templates IS 'Texts of bugs that administrators changed; the built-in text is in the program. No foreign keys: packages and types are patterns.';
COMMENT ON COLUMN bug_templates.package IS 'Source package; empty: all.';
COMMENT ON COLUMN bug_templates.problem_type IS 'The field ProblemType; empty: all.';
COMMENT ON COLUMN bug_templates.body IS 'The template.';
COMMENT ON COLUMN bug_templates.person IS 'Account name of the person who changed it last.';
COMMENT ON COLUMN bug_templates.changed IS 'When it was changed last.';
COMMENT ON COLUMN bug_templates.tracker IS 'Name of the tracker whose bugs the template is for; empty: all.';

CREATE TABLE bug_watch (
    single boolean DEFAULT true NOT NULL,
    comment boolean DEFAULT false NOT NULL,
    changes_until timestamp with time zone,
    CONSTRAINT bug_watch_single_check CHECK (single)
);
COMMENT ON TABLE bug_watch IS 'How bugs in the tracker are followed, in one row.';
COMMENT ON COLUMN bug_watch.single IS 'Always true: limits the table to one row.';
COMMENT ON COLUMN bug_watch.comment IS 'Not used any more; see update_rules.';
COMMENT ON COLUMN bug_watch.changes_until IS 'Not used any more; see bug_places.';

CREATE TABLE bugs (
    number bigint NOT NULL,
    title text DEFAULT ''::text NOT NULL,
    url text NOT NULL
);
COMMENT ON TABLE bugs IS 'Bugs of the external tracker that a bucket has or had, and the bugs that these duplicate.';
COMMENT ON COLUMN bugs.number IS 'Number in the tracker.';
COMMENT ON COLUMN bugs.title IS 'Title; empty: not read yet.';
COMMENT ON COLUMN bugs.url IS 'Address of its page in the tracker.';

CREATE TABLE build_names (
    build_id text NOT NULL,
    place bigint NOT NULL,
    callee bigint NOT NULL,
    names jsonb NOT NULL,
    used timestamp with time zone DEFAULT now() NOT NULL
);
COMMENT ON TABLE build_names IS 'What the debugger says about places in builds of which all files were found. Removed when not used for 90 days; the most recently used million stays.';
COMMENT ON COLUMN build_names.build_id IS 'Build-id in lower-case hex digits.';
COMMENT ON COLUMN build_names.place IS 'Offset from the start of the program or library.';
COMMENT ON COLUMN build_names.callee IS 'Offset of the place in the same file that the code has called; -1: none. Functions between the two that ended with a jump depend on it.';
COMMENT ON COLUMN build_names.names IS 'Functions at the place (at) and before it, those that ended with a jump (tail), each with source file and line, and the code before it.';
COMMENT ON COLUMN build_names.used IS 'When a report had the place last, with an accuracy of a day.';

CREATE TABLE builds (
    path text NOT NULL,
    package text NOT NULL,
    version text NOT NULL,
    architecture text NOT NULL,
    build_id text NOT NULL,
    learned timestamp with time zone DEFAULT now() NOT NULL
);
COMMENT ON TABLE builds IS 'Which build of a program or library a package of a version holds, from packages that were added and from cores. Two builds under one key contradict each other: then neither counts.';
COMMENT ON COLUMN builds.path IS 'Path of the file, with /usr: /usr/lib/x86_64-linux-gnu/libc.so.6.';
COMMENT ON COLUMN builds.package IS 'Binary package.';
COMMENT ON COLUMN builds.version IS 'Version of the binary package.';
COMMENT ON COLUMN builds.architecture IS 'Architecture of the file, in Debian''s words.';
COMMENT ON COLUMN builds.build_id IS 'Build-id in lower-case hex digits.';
COMMENT ON COLUMN builds.learned IS 'When mishap learned it.';

CREATE TABLE candidates (
    id bigint NOT NULL,
    bucket_id bytea NOT NULL,
    rule_id bigint,
    automatic boolean NOT NULL,
    state text NOT NULL,
    why text NOT NULL,
    machines bigint NOT NULL,
    created timestamp with time zone NOT NULL,
    decided_by text DEFAULT ''::text NOT NULL,
    decided timestamp with time zone,
    reason text DEFAULT ''::text NOT NULL,
    failure text DEFAULT ''::text NOT NULL,
    proposed_by text DEFAULT ''::text NOT NULL,
    CONSTRAINT candidates_check CHECK (((rule_id IS NULL) = (proposed_by <> ''::text))),
    CONSTRAINT candidates_check1 CHECK (((rule_id IS NOT NULL) OR (NOT automatic))),
    CONSTRAINT candidates_state_check CHECK ((state = ANY (ARRAY['automatic'::text, 'filing'::text, 'waiting'::text, 'filed'::text, 'declined'::text])))
);
COMMENT ON TABLE candidates IS 'Problems for which a rule or a person proposes a bug, or a rule files one.';
COMMENT ON COLUMN candidates.id IS 'Number of the candidate.';
COMMENT ON COLUMN candidates.bucket_id IS 'The problem when it was proposed.';
COMMENT ON COLUMN candidates.rule_id IS 'The rule. Null: a person proposed it.';
COMMENT ON COLUMN candidates.automatic IS 'Whether the rule files the bug itself.';
COMMENT ON COLUMN candidates.state IS 'automatic (to be filed by the rule), filing (being handed over), waiting (for a person), filed, or declined.';
COMMENT ON COLUMN candidates.why IS 'Why it was proposed: a sentence of the rule, or one line of the person.';
COMMENT ON COLUMN candidates.machines IS 'Number of machines at that time.';
COMMENT ON COLUMN candidates.created IS 'When it was proposed.';
COMMENT ON COLUMN candidates.decided_by IS 'Account name of the person who decided, or name of the rule; empty: nobody yet.';
COMMENT ON COLUMN candidates.decided IS 'When it was decided. Null: not yet.';
COMMENT ON COLUMN candidates.reason IS 'Why it was declined; empty: no reason.';
COMMENT ON COLUMN candidates.failure IS 'Why no bug was filed, as a sentence; empty: none was tried, or it was.';
COMMENT ON COLUMN candidates.proposed_by IS 'Account name of the person who proposed it; empty: a rule did.';

ALTER TABLE candidates ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME candidates_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE changes (
    id bigint NOT NULL,
    xact xid8 DEFAULT pg_current_xact_id() NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL
);
COMMENT ON TABLE changes IS 'One row per recent transaction that changed something that pages show, besides counts. Caches are valid while these rows stay the same. Triggers add rows; old ones are deleted after an hour.';
COMMENT ON COLUMN changes.id IS 'Serial number.';
COMMENT ON COLUMN changes.xact IS 'The transaction. Times and serial numbers alone would not do: transactions become visible in another order.';
COMMENT ON COLUMN changes.at IS 'When the transaction began.';

ALTER TABLE changes ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME changes_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE closed_doors (
    door text NOT NULL,
    closed timestamp with time zone NOT NULL,
    closed_by text NOT NULL
);
COMMENT ON TABLE closed_doors IS 'Doors through which nothing is accepted.';
COMMENT ON COLUMN closed_doors.door IS 'Name of the door: whoopsie, abrt, sentry, minidump.';
COMMENT ON COLUMN closed_doors.closed IS 'When it was closed.';
COMMENT ON COLUMN closed_doors.closed_by IS 'Name of the account.';

CREATE TABLE core_requests (
    report_id uuid NOT NULL,
    system text NOT NULL,
    requested timestamp with time zone DEFAULT now() NOT NULL,
    received timestamp with time zone,
    problem bytea DEFAULT '\x'::bytea NOT NULL,
    version text DEFAULT ''::text NOT NULL
);
COMMENT ON TABLE core_requests IS 'Reports whose core dump a machine was asked for; no other core is accepted. No foreign key: an id of reports is unique only together with its partition.';
COMMENT ON COLUMN core_requests.report_id IS 'The report.';
COMMENT ON COLUMN core_requests.system IS 'The machine that was asked; empty: a machine without a hash.';
COMMENT ON COLUMN core_requests.requested IS 'When it was asked.';
COMMENT ON COLUMN core_requests.received IS 'When the core was on disk. Null: not yet.';
COMMENT ON COLUMN core_requests.problem IS 'What the core would name: id of the bucket that the report arrived in, or of one made from program and signal if it arrived in none. Empty: asked for by hand.';
COMMENT ON COLUMN core_requests.version IS 'Version of the package of the report.';

CREATE TABLE counting (
    single boolean DEFAULT true NOT NULL,
    round bigint NOT NULL,
    erasures bigint DEFAULT 0 NOT NULL,
    versions_changed bigint DEFAULT 0 NOT NULL,
    bodies_since timestamp with time zone,
    hours_since date NOT NULL,
    CONSTRAINT counting_single_check CHECK (single)
);
COMMENT ON TABLE counting IS 'The lock on counting, in one row. Rounds, merges, splits and all else that changes counts hold it, across all instances.';
COMMENT ON COLUMN counting.single IS 'Always true: limits the table to one row.';
COMMENT ON COLUMN counting.round IS 'Number of the last round. Rows that it changed carry it, so caches read only what is new.';
COMMENT ON COLUMN counting.erasures IS 'Number of times that an erasure has deleted problems or machines. Caches of rows are valid while it stays the same.';
COMMENT ON COLUMN counting.versions_changed IS 'Last round that changed package_versions. Caches of the versions in use are read again after it.';
COMMENT ON COLUMN counting.bodies_since IS 'When keep_bodies_per_problem was set for the first time: reports that arrived since count in bucket_bodies. Null: never.';
COMMENT ON COLUMN counting.hours_since IS 'First UTC day of which report_hours has all reports.';

CREATE TABLE decisions (
    id bigint NOT NULL,
    kind text NOT NULL,
    cause text NOT NULL,
    bucket_id bytea NOT NULL,
    other_id bytea,
    before text DEFAULT ''::text NOT NULL,
    after text DEFAULT ''::text NOT NULL,
    condition jsonb,
    person text NOT NULL,
    reason text NOT NULL,
    at timestamp with time zone NOT NULL,
    undone_by text DEFAULT ''::text NOT NULL,
    undone_at timestamp with time zone,
    looked_at bigint DEFAULT 0 NOT NULL,
    moved bigint DEFAULT 0 NOT NULL,
    received timestamp with time zone,
    report_id uuid,
    finished boolean DEFAULT true NOT NULL,
    CONSTRAINT decisions_cause_check CHECK ((cause = ANY (ARRAY['person'::text, 'symbolised'::text, 'regrouped'::text, 'emptied'::text]))),
    CONSTRAINT decisions_check CHECK (((other_id IS NULL) = (kind = 'renamed'::text))),
    CONSTRAINT decisions_check1 CHECK (((condition IS NOT NULL) = (kind = 'split'::text))),
    CONSTRAINT decisions_kind_check CHECK ((kind = ANY (ARRAY['merged'::text, 'renamed'::text, 'split'::text])))
);
COMMENT ON TABLE decisions IS 'What was decided about problems: merged (bucket_id into other_id), renamed (bucket_id), or split (reports that meet a condition moved from bucket_id to other_id). Undone decisions stay, for the history.';
COMMENT ON COLUMN decisions.id IS 'Serial number.';
COMMENT ON COLUMN decisions.kind IS 'merged, renamed or split.';
COMMENT ON COLUMN decisions.cause IS 'person; or mishap itself: symbolised (names of functions became known), regrouped (new rules), emptied (an undone split left no reports).';
COMMENT ON COLUMN decisions.bucket_id IS 'The problem that was merged, renamed, or split.';
COMMENT ON COLUMN decisions.other_id IS 'The problem merged into, or split off. Null for renamed.';
COMMENT ON COLUMN decisions.before IS 'Name before a rename; empty: none.';
COMMENT ON COLUMN decisions.after IS 'Name after a rename; empty: none.';
COMMENT ON COLUMN decisions.condition IS 'Condition that the reports of a split meet. Null for other kinds.';
COMMENT ON COLUMN decisions.person IS 'Account name; empty: mishap itself. No foreign key: accounts can be removed, the history stays.';
COMMENT ON COLUMN decisions.reason IS 'Reason as a sentence; may be empty.';
COMMENT ON COLUMN decisions.at IS 'When it was decided.';
COMMENT ON COLUMN decisions.undone_by IS 'Account name of the person who undid it; empty: in force.';
COMMENT ON COLUMN decisions.undone_at IS 'When it was undone. Null: in force.';
COMMENT ON COLUMN decisions.looked_at IS 'Of a split or its undoing: number of stored reports examined so far.';
COMMENT ON COLUMN decisions.moved IS 'Of a split or its undoing: number of stored reports moved so far.';
COMMENT ON COLUMN decisions.received IS 'Of a split: arrival of the report examined last. Null: start with the oldest.';
COMMENT ON COLUMN decisions.report_id IS 'Of a split: the report examined last. Null: start with the oldest. Not a reference: retention may drop the report.';
COMMENT ON COLUMN decisions.finished IS 'False while stored reports remain to be examined.';

ALTER TABLE decisions ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME decisions_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE deliveries (
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    event_id bigint NOT NULL,
    endpoint_id bigint NOT NULL,
    created timestamp with time zone NOT NULL,
    state text DEFAULT 'waiting'::text NOT NULL,
    due timestamp with time zone NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    payload text,
    summary uuid,
    resent integer DEFAULT 0 NOT NULL,
    CONSTRAINT deliveries_state_check CHECK ((state = ANY (ARRAY['waiting'::text, 'delivered'::text, 'failed'::text, 'summarised'::text])))
);
COMMENT ON TABLE deliveries IS 'Events on their way to endpoints.';
COMMENT ON COLUMN deliveries.id IS 'Identifies the delivery at the receiver; the same for all attempts.';
COMMENT ON COLUMN deliveries.event_id IS 'The event.';
COMMENT ON COLUMN deliveries.endpoint_id IS 'The receiver.';
COMMENT ON COLUMN deliveries.created IS 'When it was stored.';
COMMENT ON COLUMN deliveries.state IS 'waiting, delivered, failed (all attempts have failed) or summarised (another delivery mentions it).';
COMMENT ON COLUMN deliveries.due IS 'When the next attempt is due.';
COMMENT ON COLUMN deliveries.attempts IS 'Number of attempts so far.';
COMMENT ON COLUMN deliveries.payload IS 'Body of the request, the same for all attempts. Null: it was not sent yet.';
COMMENT ON COLUMN deliveries.summary IS 'The delivery that mentions this one. Null: none.';
COMMENT ON COLUMN deliveries.resent IS 'How often a person has sent it again.';

CREATE TABLE delivery_attempts (
    id bigint NOT NULL,
    delivery_id uuid NOT NULL,
    started timestamp with time zone NOT NULL,
    ended timestamp with time zone,
    status integer DEFAULT 0 NOT NULL,
    answer text DEFAULT ''::text NOT NULL,
    problem text DEFAULT ''::text NOT NULL
);
COMMENT ON TABLE delivery_attempts IS 'Requests that were sent for deliveries.';
COMMENT ON COLUMN delivery_attempts.id IS 'Number of the attempt.';
COMMENT ON COLUMN delivery_attempts.delivery_id IS 'The delivery.';
COMMENT ON COLUMN delivery_attempts.started IS 'When an instance began to send it.';
COMMENT ON COLUMN delivery_attempts.ended IS 'When the answer arrived or the attempt failed. Null: it has not ended.';
COMMENT ON COLUMN delivery_attempts.status IS 'HTTP status of the answer; 0: there was none.';
COMMENT ON COLUMN delivery_attempts.answer IS 'The first 2 kB of the answer.';
COMMENT ON COLUMN delivery_attempts.problem IS 'Why the attempt failed. Empty: it succeeded, or has not ended.';

ALTER TABLE delivery_attempts ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME delivery_attempts_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE door_days (
    door text NOT NULL,
    project bigint NOT NULL,
    day date NOT NULL,
    outcome text NOT NULL,
    reason text NOT NULL,
    requests bigint NOT NULL,
    last_seen timestamp with time zone NOT NULL
);
COMMENT ON TABLE door_days IS 'What came through each door, by UTC day. Each instance adds its counts every few seconds, so a crash loses those of the last ones. Rows are deleted after 90 days.';
COMMENT ON COLUMN door_days.door IS 'Name of the door.';
COMMENT ON COLUMN door_days.project IS 'Number of the project; 0: none, or it is not known.';
COMMENT ON COLUMN door_days.day IS 'UTC day of arrival.';
COMMENT ON COLUMN door_days.outcome IS 'stored, repeated, dropped, refused, failed; lost: the client says that it did not send it.';
COMMENT ON COLUMN door_days.reason IS 'Code of the reason of a refusal; empty: none.';
COMMENT ON COLUMN door_days.requests IS 'Number of requests; of lost: of reports.';
COMMENT ON COLUMN door_days.last_seen IS 'Time of the last one.';

CREATE TABLE door_keys (
    key text NOT NULL,
    project bigint NOT NULL,
    created timestamp with time zone NOT NULL,
    created_by text NOT NULL,
    revoked timestamp with time zone,
    last_used timestamp with time zone,
    CONSTRAINT door_keys_key_check CHECK ((key ~ '^[0-9a-f]{32}$'::text))
);
COMMENT ON TABLE door_keys IS 'Keys with which programs report. They permit nothing else, and the programs contain them, so they are readable.';
COMMENT ON COLUMN door_keys.key IS 'Public key: 32 hex digits.';
COMMENT ON COLUMN door_keys.project IS 'Project.';
COMMENT ON COLUMN door_keys.created IS 'When it was created.';
COMMENT ON COLUMN door_keys.created_by IS 'Name of the account.';
COMMENT ON COLUMN door_keys.revoked IS 'Since when it is refused; null: it is valid.';
COMMENT ON COLUMN door_keys.last_used IS 'When it was last accepted; written every few seconds.';

CREATE TABLE door_projects (
    number bigint NOT NULL,
    name text NOT NULL,
    source_package text NOT NULL,
    listed boolean NOT NULL,
    created timestamp with time zone NOT NULL,
    created_by text NOT NULL,
    CONSTRAINT door_projects_name_check CHECK ((name ~ '^[a-z0-9][a-z0-9._+-]{0,63}$'::text))
);
COMMENT ON TABLE door_projects IS 'Programs whose reports come with a key.';
COMMENT ON COLUMN door_projects.number IS 'Part of the address to which the program reports.';
COMMENT ON COLUMN door_projects.name IS 'Begins the signatures of its problems.';
COMMENT ON COLUMN door_projects.source_package IS 'Source package of its reports.';
COMMENT ON COLUMN door_projects.listed IS 'Whether its key is in the public list that DrKonqi reads.';
COMMENT ON COLUMN door_projects.created IS 'When it was created.';
COMMENT ON COLUMN door_projects.created_by IS 'Name of the account.';

ALTER TABLE door_projects ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME door_projects_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE dropped_months (
    month date NOT NULL,
    reports bigint NOT NULL,
    dropped timestamp with time zone NOT NULL
);
COMMENT ON TABLE dropped_months IS 'Months of arrival whose reports retention has dropped; their counts stay.';
COMMENT ON COLUMN dropped_months.month IS 'First day of the month, UTC.';
COMMENT ON COLUMN dropped_months.reports IS 'Number of reports that were dropped.';
COMMENT ON COLUMN dropped_months.dropped IS 'When they were dropped.';

CREATE TABLE marks (
    id bigint NOT NULL,
    bucket_id bytea NOT NULL,
    kind text NOT NULL,
    until jsonb,
    fixes jsonb,
    seen jsonb DEFAULT '{}'::jsonb NOT NULL,
    person text NOT NULL,
    reason text NOT NULL,
    at timestamp with time zone NOT NULL,
    undone_by text DEFAULT ''::text NOT NULL,
    undone_at timestamp with time zone,
    ended_at timestamp with time zone,
    ended_why text DEFAULT ''::text NOT NULL,
    replaced_by bigint,
    merged_by bigint,
    rule_id bigint,
    CONSTRAINT marks_ended_check CHECK (((kind = 'muted'::text) OR (ended_at IS NULL))),
    CONSTRAINT marks_fixes_check CHECK (((fixes IS NOT NULL) = (kind = 'fixed'::text))),
    CONSTRAINT marks_kind_check CHECK ((kind = ANY (ARRAY['muted'::text, 'wontfix'::text, 'fixed'::text, 'embargo'::text, 'hold'::text]))),
    CONSTRAINT marks_until_check CHECK (((until IS NOT NULL) = (kind = 'muted'::text)))
);
COMMENT ON TABLE marks IS 'What people, rules and mishap itself have decided about problems, beside the derived status. Rows are not deleted. A row stands while undone_at and ended_at are null, for the whole problem to which its bucket belongs.';
COMMENT ON COLUMN marks.id IS 'Number of the entry.';
COMMENT ON COLUMN marks.bucket_id IS 'The problem when it was decided. If it was merged since, the entry counts for the problem that it belongs to now. No foreign key, as with notes.';
COMMENT ON COLUMN marks.kind IS 'muted: lists hide the problem until a condition is met. wontfix: nobody intends to fix it. fixed: in the versions of fixes. embargo: only people with the private right for the package may see it. hold: nothing of its reports and core dumps is removed because of its age.';
COMMENT ON COLUMN marks.until IS 'Conditions of a mute, see crash.MuteUntil; any of them ends it. An empty object: until somebody unmutes it. Null: not a mute.';
COMMENT ON COLUMN marks.fixes IS 'Versions with the fix: an array of {release, version}. Null: not a fix. For each release, the last standing row of the problem counts.';
COMMENT ON COLUMN marks.seen IS 'Of a mute: highest version of the problem in each release when it was muted, for the condition newer. Of a fix: reports from each version with the fix, by release and version, when it was marked.';
COMMENT ON COLUMN marks.person IS 'Account name, or name of the rule; empty: mishap itself, which has moved reports of an embargoed or held problem.';
COMMENT ON COLUMN marks.reason IS 'Why; empty: not given.';
COMMENT ON COLUMN marks.at IS 'When it was decided.';
COMMENT ON COLUMN marks.undone_by IS 'Account name of the person who undid or lifted it; empty: nobody did.';
COMMENT ON COLUMN marks.undone_at IS 'When it was undone or lifted. Null: it was not.';
COMMENT ON COLUMN marks.ended_at IS 'When a condition of the mute was met, another mute replaced it, or a merge ended it. Null: none of these.';
COMMENT ON COLUMN marks.ended_why IS 'Sentence that says which condition was met; empty: none.';
COMMENT ON COLUMN marks.replaced_by IS 'The mute that replaced this one; undoing that restores this one. Null: not replaced.';
COMMENT ON COLUMN marks.merged_by IS 'The merge that ended this mute; undoing that restores it. Null: no merge has ended it.';
COMMENT ON COLUMN marks.rule_id IS 'The rule that set an embargo. Null: a person, mishap itself, or another kind.';

CREATE VIEW embargoes AS
 SELECT marks.id,
    marks.bucket_id,
    marks.person,
    marks.rule_id,
    marks.reason,
    marks.at,
    marks.undone_by AS lifted_by,
    marks.undone_at AS lifted_at
   FROM marks
  WHERE (marks.kind = 'embargo'::text);
COMMENT ON VIEW embargoes IS 'The embargoes among the marks, for instances of version 0.1.0 during an upgrade.';

CREATE TABLE endpoints (
    id bigint NOT NULL,
    name text NOT NULL,
    kind text NOT NULL,
    url text NOT NULL,
    owner_id bigint,
    created timestamp with time zone NOT NULL,
    disabled timestamp with time zone,
    disabled_why text DEFAULT ''::text NOT NULL,
    address text DEFAULT ''::text NOT NULL,
    channel text DEFAULT ''::text NOT NULL,
    secret text DEFAULT ''::text NOT NULL,
    previous_secret text DEFAULT ''::text NOT NULL,
    previous_until timestamp with time zone,
    per_minute integer DEFAULT 20 NOT NULL,
    last_success timestamp with time zone,
    success_status integer DEFAULT 0 NOT NULL,
    last_failure timestamp with time zone,
    failure_status integer DEFAULT 0 NOT NULL,
    failure_answer text DEFAULT ''::text NOT NULL,
    failures integer DEFAULT 0 NOT NULL,
    not_before timestamp with time zone,
    window_began timestamp with time zone,
    window_sent integer DEFAULT 0 NOT NULL,
    limited boolean DEFAULT false NOT NULL,
    claimed_by bigint,
    claimed timestamp with time zone,
    CONSTRAINT endpoints_kind_check CHECK ((kind = ANY (ARRAY['webhook'::text, 'slack'::text, 'mattermost'::text, 'matrix'::text]))),
    CONSTRAINT endpoints_name_check CHECK (((length(name) >= 1) AND (length(name) <= 60))),
    CONSTRAINT endpoints_per_minute_check CHECK (((per_minute >= 1) AND (per_minute <= 600)))
);
COMMENT ON TABLE endpoints IS 'Addresses of other programs that are told about events.';
COMMENT ON COLUMN endpoints.id IS 'Number of the endpoint.';
COMMENT ON COLUMN endpoints.name IS 'Name that people gave it; unique, whatever the case.';
COMMENT ON COLUMN endpoints.kind IS 'Format: webhook (Standard Webhooks), slack, mattermost or matrix.';
COMMENT ON COLUMN endpoints.url IS 'The part of the address that pages show: scheme and host, without secrets.';
COMMENT ON COLUMN endpoints.owner_id IS 'The account that is told when deliveries fail. Null: all administrators.';
COMMENT ON COLUMN endpoints.created IS 'When it was added.';
COMMENT ON COLUMN endpoints.disabled IS 'When it was switched off. Null: it is on.';
COMMENT ON COLUMN endpoints.disabled_why IS 'Why it was switched off.';
COMMENT ON COLUMN endpoints.address IS 'The whole address, encrypted with a key derived from the database password. Empty: none.';
COMMENT ON COLUMN endpoints.channel IS 'Matrix: id of the room. Mattermost: name of a channel; empty: that of the address.';
COMMENT ON COLUMN endpoints.secret IS 'Encrypted like address. webhook: the secret that signs. matrix: the access token. Otherwise empty.';
COMMENT ON COLUMN endpoints.previous_secret IS 'The secret before the last rotation, encrypted; it signs until previous_until.';
COMMENT ON COLUMN endpoints.previous_until IS 'When the previous secret ceases to sign. Null: there is none.';
COMMENT ON COLUMN endpoints.per_minute IS 'Maximum number of requests per minute; events beyond it are summarised.';
COMMENT ON COLUMN endpoints.last_success IS 'When the endpoint last accepted a delivery. Null: never.';
COMMENT ON COLUMN endpoints.success_status IS 'HTTP status of that answer.';
COMMENT ON COLUMN endpoints.last_failure IS 'When a delivery last failed. Null: never.';
COMMENT ON COLUMN endpoints.failure_status IS 'HTTP status of that answer; 0: there was none.';
COMMENT ON COLUMN endpoints.failure_answer IS 'The beginning of that answer, or why there was none.';
COMMENT ON COLUMN endpoints.failures IS 'Number of failed attempts since the last success.';
COMMENT ON COLUMN endpoints.not_before IS 'The endpoint gets nothing before this time. Null: at once.';
COMMENT ON COLUMN endpoints.window_began IS 'Beginning of the minute to which per_minute applies. Null: nothing was sent yet.';
COMMENT ON COLUMN endpoints.window_sent IS 'Number of requests since window_began.';
COMMENT ON COLUMN endpoints.limited IS 'Whether events were held back in that minute, which one summary will mention.';
COMMENT ON COLUMN endpoints.claimed_by IS 'Number of the instance that is sending to the endpoint. Null: none.';
COMMENT ON COLUMN endpoints.claimed IS 'When an instance last claimed the endpoint.';

ALTER TABLE endpoints ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME endpoints_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE erased_reports (
    digest bytea NOT NULL,
    erasure bigint NOT NULL,
    CONSTRAINT erased_reports_digest_check CHECK ((length(digest) = 32))
);
COMMENT ON TABLE erased_reports IS 'Digests of the keys of erased reports (report_keys.key), with erasure_key. Such a report is refused when it is sent again.';
COMMENT ON COLUMN erased_reports.digest IS 'The digest.';
COMMENT ON COLUMN erased_reports.erasure IS 'The erasure.';

CREATE TABLE erasure_key (
    single boolean DEFAULT true NOT NULL,
    key bytea NOT NULL,
    CONSTRAINT erasure_key_key_check CHECK ((length(key) = 32)),
    CONSTRAINT erasure_key_single_check CHECK (single)
);
COMMENT ON TABLE erasure_key IS 'The key of the digests of erased machines and reports, in one row. It is made once and never changes.';
COMMENT ON COLUMN erasure_key.single IS 'Always true: limits the table to one row.';
COMMENT ON COLUMN erasure_key.key IS 'Random key.';

CREATE TABLE erasures (
    id bigint NOT NULL,
    digest bytea NOT NULL,
    system text NOT NULL,
    blocked boolean NOT NULL,
    person text NOT NULL,
    via text NOT NULL,
    requested timestamp with time zone NOT NULL,
    until timestamp with time zone NOT NULL,
    finished timestamp with time zone,
    receipt jsonb DEFAULT '{}'::jsonb NOT NULL,
    touched bytea[] DEFAULT '{}'::bytea[] NOT NULL,
    CONSTRAINT erasures_digest_check CHECK ((length(digest) = 32))
);
COMMENT ON TABLE erasures IS 'Machines that were erased: the receipts, and what keeps the machines erased. Rows are not deleted.';
COMMENT ON COLUMN erasures.id IS 'Number of the erasure.';
COMMENT ON COLUMN erasures.digest IS 'Digest of the id of the machine, with erasure_key.';
COMMENT ON COLUMN erasures.system IS 'The machine while it is being erased. Empty: it is finished, or a restored backup has to be searched for the machine.';
COMMENT ON COLUMN erasures.blocked IS 'Whether new reports of the machine are refused.';
COMMENT ON COLUMN erasures.person IS 'Account name of the person who asked for it; empty: the command line.';
COMMENT ON COLUMN erasures.via IS 'Name of the token, or system user of the command; empty: a browser.';
COMMENT ON COLUMN erasures.requested IS 'When it was asked for.';
COMMENT ON COLUMN erasures.until IS 'Reports that arrived until then are erased. Later ones are new.';
COMMENT ON COLUMN erasures.finished IS 'When nothing was left. Null: it is running.';
COMMENT ON COLUMN erasures.receipt IS 'What was removed, in numbers (crash.ErasedCounts).';
COMMENT ON COLUMN erasures.touched IS 'Buckets that have lost reports, while it runs. Empty once it is finished.';

ALTER TABLE erasures ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME erasures_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE events (
    id bigint NOT NULL,
    edge text NOT NULL,
    kind text NOT NULL,
    at timestamp with time zone NOT NULL,
    bucket_id bytea,
    title text NOT NULL,
    package text NOT NULL,
    source_package text NOT NULL,
    release text NOT NULL,
    version text NOT NULL,
    machines bigint NOT NULL,
    text text NOT NULL,
    rule_id bigint,
    CONSTRAINT events_bucket_id_check CHECK ((length(bucket_id) = 20)),
    CONSTRAINT events_edge_check CHECK (((length(edge) >= 1) AND (length(edge) <= 300)))
);
COMMENT ON TABLE events IS 'Things that happened and that someone is told about, each once.';
COMMENT ON COLUMN events.id IS 'Number of the event.';
COMMENT ON COLUMN events.edge IS 'Identifies the change that caused the event, such as a rule, a problem and a version. The same change causes one event.';
COMMENT ON COLUMN events.kind IS 'What happened; see crash.EventKinds.';
COMMENT ON COLUMN events.at IS 'When it was detected.';
COMMENT ON COLUMN events.bucket_id IS 'The problem. Null: the event is not about one problem.';
COMMENT ON COLUMN events.title IS 'Title of the problem at that time, without private data, or a few words.';
COMMENT ON COLUMN events.package IS 'Binary package of the problem; empty: none.';
COMMENT ON COLUMN events.source_package IS 'Source package of the problem; empty: none.';
COMMENT ON COLUMN events.release IS 'Release in which it happened; empty: all, or none.';
COMMENT ON COLUMN events.version IS 'Package version in which it happened; empty: none.';
COMMENT ON COLUMN events.machines IS 'Number of machines concerned; 0: unknown, or none.';
COMMENT ON COLUMN events.text IS 'What happened, as one sentence without private data.';
COMMENT ON COLUMN events.rule_id IS 'The rule that detected it. Null: none.';

ALTER TABLE events ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME events_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE expired_counts (
    single boolean DEFAULT true NOT NULL,
    before date NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT expired_counts_single_check CHECK (single)
);
COMMENT ON TABLE expired_counts IS 'Up to when daily counts have expired, in one row. No row: none have.';
COMMENT ON COLUMN expired_counts.single IS 'Always true: limits the table to one row.';
COMMENT ON COLUMN expired_counts.before IS 'Days before this one have expired: report_days, release_days, release_active and release_systems know nothing of them, bucket_days only where a problem is held or reports of such a day are stored.';
COMMENT ON COLUMN expired_counts.at IS 'When it was set.';

CREATE TABLE filing_attempts (
    id bigint NOT NULL,
    filing_id bigint NOT NULL,
    action text NOT NULL,
    unit bigint NOT NULL,
    started timestamp with time zone NOT NULL,
    ended timestamp with time zone,
    outcome text DEFAULT ''::text NOT NULL,
    status integer DEFAULT 0 NOT NULL,
    request_id text DEFAULT ''::text NOT NULL,
    words text DEFAULT ''::text NOT NULL,
    account text DEFAULT ''::text NOT NULL,
    CONSTRAINT filing_attempts_action_check CHECK ((action = ANY (ARRAY['create'::text, 'search'::text, 'subscribe'::text])))
);
COMMENT ON TABLE filing_attempts IS 'Every call to the tracker for a filing, and the answer.';
COMMENT ON COLUMN filing_attempts.id IS 'Serial number.';
COMMENT ON COLUMN filing_attempts.filing_id IS 'The filing.';
COMMENT ON COLUMN filing_attempts.action IS 'create, search or subscribe.';
COMMENT ON COLUMN filing_attempts.unit IS 'The instance that made the call, as in filings.unit.';
COMMENT ON COLUMN filing_attempts.started IS 'When the call began.';
COMMENT ON COLUMN filing_attempts.ended IS 'When the answer came. Null: under way, or the instance died first.';
COMMENT ON COLUMN filing_attempts.outcome IS 'Outcome in one word, such as created, refused or unknown; empty: none yet.';
COMMENT ON COLUMN filing_attempts.status IS 'HTTP status of the answer; 0: none.';
COMMENT ON COLUMN filing_attempts.request_id IS 'The tracker''s own id of a failure; empty: none.';
COMMENT ON COLUMN filing_attempts.words IS 'Message of the tracker or the network, truncated; empty: none.';
COMMENT ON COLUMN filing_attempts.account IS 'Name at the tracker of the own account that made the call; empty: the application''s account.';

ALTER TABLE filing_attempts ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME filing_attempts_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE filing_queues (
    tracker text NOT NULL,
    ended timestamp with time zone NOT NULL,
    rest interval NOT NULL,
    resumes timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL
);
COMMENT ON TABLE filing_queues IS 'The pauses between bugs that are sent to each tracker. The lock is the row of filing_writer.';
COMMENT ON COLUMN filing_queues.tracker IS 'Name of the tracker in the configuration.';
COMMENT ON COLUMN filing_queues.ended IS 'When the last sending ended.';
COMMENT ON COLUMN filing_queues.rest IS 'Pause after that for filings that were queued meanwhile.';
COMMENT ON COLUMN filing_queues.resumes IS 'Nothing is sent before, because the tracker asked for it.';

CREATE TABLE filing_writer (
    single boolean DEFAULT true NOT NULL,
    ended timestamp with time zone NOT NULL,
    rest interval NOT NULL,
    restored timestamp with time zone,
    backup_taken timestamp with time zone,
    CONSTRAINT filing_writer_single_check CHECK (single)
);
COMMENT ON TABLE filing_writer IS 'The lock on sending bugs, in one row: all instances together send one at a time. It is held while the next filing is chosen, never during a call.';
COMMENT ON COLUMN filing_writer.single IS 'Always true: limits the table to one row.';
COMMENT ON COLUMN filing_writer.ended IS 'Not used any more; see filing_queues.';
COMMENT ON COLUMN filing_writer.rest IS 'Not used any more; see filing_queues.';
COMMENT ON COLUMN filing_writer.restored IS 'When the database was restored from a backup that was not compared with the tracker yet. No bug is filed meanwhile. Null: nothing is pending.';
COMMENT ON COLUMN filing_writer.backup_taken IS 'When that backup was taken.';

CREATE TABLE filings (
    id bigint NOT NULL,
    bucket_id bytea NOT NULL,
    state text NOT NULL,
    person text NOT NULL,
    target text NOT NULL,
    title text NOT NULL,
    description text NOT NULL,
    tags text[] NOT NULL,
    marker text NOT NULL,
    edited boolean DEFAULT false NOT NULL,
    information_type text DEFAULT ''::text NOT NULL,
    subscribe boolean DEFAULT false NOT NULL,
    bug_number bigint,
    problem text DEFAULT ''::text NOT NULL,
    reason text DEFAULT ''::text NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    unit bigint,
    claimed timestamp with time zone,
    sent_from timestamp with time zone,
    settles timestamp with time zone,
    unsettled boolean DEFAULT false NOT NULL,
    subscription text DEFAULT ''::text NOT NULL,
    created timestamp with time zone NOT NULL,
    updated timestamp with time zone NOT NULL,
    not_before timestamp with time zone NOT NULL,
    own_user bigint DEFAULT 0 NOT NULL,
    sent_user bigint DEFAULT 0 NOT NULL,
    sent_as text DEFAULT ''::text NOT NULL,
    fallback text DEFAULT ''::text NOT NULL,
    tracker text DEFAULT 'launchpad'::text NOT NULL,
    project text DEFAULT ''::text NOT NULL,
    upstream boolean DEFAULT false NOT NULL,
    CONSTRAINT filings_check CHECK (((state = 'filed'::text) = (bug_number IS NOT NULL))),
    CONSTRAINT filings_check1 CHECK (((state <> 'filing'::text) OR ((unit IS NOT NULL) AND (claimed IS NOT NULL)))),
    CONSTRAINT filings_state_check CHECK ((state = ANY (ARRAY['queued'::text, 'filing'::text, 'uncertain'::text, 'filed'::text, 'refused'::text, 'abandoned'::text]))),
    CONSTRAINT filings_subscription_check CHECK ((subscription = ANY (ARRAY[''::text, 'due'::text, 'done'::text, 'failed'::text])))
);
COMMENT ON TABLE filings IS 'Intents, stored before the tracker is called: at most one per bucket, and one more for its upstream project. docs/filing.md draws the states. All times come from the clock of this database.';
COMMENT ON COLUMN filings.id IS 'Serial number.';
COMMENT ON COLUMN filings.bucket_id IS 'The bucket that the bug is for.';
COMMENT ON COLUMN filings.state IS 'queued, filing (being sent), uncertain (outcome unknown), filed, refused, or abandoned.';
COMMENT ON COLUMN filings.person IS 'Account name of the person who asked for it. No foreign key: accounts can be removed, the ledger stays.';
COMMENT ON COLUMN filings.target IS 'What the bug is filed against, as a path of the tracker: /ubuntu/+source/bash.';
COMMENT ON COLUMN filings.title IS 'Title of the bug.';
COMMENT ON COLUMN filings.description IS 'Description of the bug.';
COMMENT ON COLUMN filings.tags IS 'Tags of the bug.';
COMMENT ON COLUMN filings.marker IS 'Line of the description that names the problem; searches find the bug by it.';
COMMENT ON COLUMN filings.edited IS 'Whether a person edited the text.';
COMMENT ON COLUMN filings.information_type IS 'Who can see the bug, in the tracker''s term; empty: the tracker''s default.';
COMMENT ON COLUMN filings.subscribe IS 'Whether the person wants the tracker''s mail about the bug.';
COMMENT ON COLUMN filings.bug_number IS 'The bug. Null unless state is filed.';
COMMENT ON COLUMN filings.problem IS 'Stable code of the last failure; empty: none.';
COMMENT ON COLUMN filings.reason IS 'The last failure as a sentence; empty: none.';
COMMENT ON COLUMN filings.attempts IS 'How often the bug was sent, or may have been sent.';
COMMENT ON COLUMN filings.unit IS 'The instance that is sending the bug or searching for it. Null: none. No foreign key: an instance is a random number under an advisory lock, not a row.';
COMMENT ON COLUMN filings.claimed IS 'When an instance claimed the filing last. Null: never.';
COMMENT ON COLUMN filings.sent_from IS 'No request left before this time; searches start here. Null: nothing was sent.';
COMMENT ON COLUMN filings.settles IS 'Until then the tracker may still be working on a request, so searches wait. Null: nothing is unsettled.';
COMMENT ON COLUMN filings.unsettled IS 'Whether it was abandoned with an unknown outcome. Asked for again, it is searched for first.';
COMMENT ON COLUMN filings.subscription IS 'Subscribing the person to the filed bug: empty (not wanted), due, done, or failed.';
COMMENT ON COLUMN filings.created IS 'When it was asked for last; the order of the queue.';
COMMENT ON COLUMN filings.updated IS 'When the row was changed last.';
COMMENT ON COLUMN filings.not_before IS 'When the next step is due.';
COMMENT ON COLUMN filings.own_user IS 'The person whose own account at the tracker is to file the bug; 0: the application''s account. No foreign key: accounts can be removed, the ledger stays.';
COMMENT ON COLUMN filings.sent_user IS 'The person with whose own account the bug was sent last; 0: the application''s account, or never. No foreign key, as for own_user.';
COMMENT ON COLUMN filings.sent_as IS 'Name at the tracker of the own account with which the bug was sent last; empty: the application''s account, or never.';
COMMENT ON COLUMN filings.fallback IS 'Why the application''s account files the bug instead of the person''s own; empty: it does not.';
COMMENT ON COLUMN filings.tracker IS 'Name of the tracker in the configuration.';
COMMENT ON COLUMN filings.project IS 'Project with its own numbers that the bug is filed in; empty: the tracker numbers all bugs.';
COMMENT ON COLUMN filings.upstream IS 'Whether the bug is for the upstream project, besides the distribution''s bug.';

ALTER TABLE filings ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME filings_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE follow_marks (
    user_id bigint NOT NULL,
    kind text NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    bucket_id bytea NOT NULL,
    mark text NOT NULL,
    news text NOT NULL,
    at timestamp with time zone,
    CONSTRAINT follow_marks_bucket_id_check CHECK ((length(bucket_id) = 20)),
    CONSTRAINT follow_marks_kind_check CHECK ((kind = ANY (ARRAY['problem'::text, 'search'::text])))
);
COMMENT ON TABLE follow_marks IS 'What people have seen of the problems and searches that they follow, so that the next visit shows what is new.';
COMMENT ON COLUMN follow_marks.user_id IS 'The account.';
COMMENT ON COLUMN follow_marks.kind IS 'problem or search.';
COMMENT ON COLUMN follow_marks.name IS 'Id of the problem in hexadecimal digits, or number of the saved search.';
COMMENT ON COLUMN follow_marks.bucket_id IS 'The problem, or one that matches the search.';
COMMENT ON COLUMN follow_marks.mark IS 'State, bug, highest version and releases of a followed problem, as JSON; empty for a search.';
COMMENT ON COLUMN follow_marks.news IS 'What changed last, for people; empty: nothing yet.';
COMMENT ON COLUMN follow_marks.at IS 'When it changed, or when it first matched. Null: it was so when following began.';

CREATE TABLE follow_visits (
    user_id bigint NOT NULL,
    seen timestamp with time zone,
    last timestamp with time zone NOT NULL
);
COMMENT ON TABLE follow_visits IS 'When people looked at what they follow. Views less than half an hour apart are one visit.';
COMMENT ON COLUMN follow_visits.user_id IS 'The account.';
COMMENT ON COLUMN follow_visits.seen IS 'End of the previous visit; later problems are new. Null: nothing is new.';
COMMENT ON COLUMN follow_visits.last IS 'Last view of the current visit.';

CREATE TABLE followed (
    user_id bigint NOT NULL,
    kind text NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    since timestamp with time zone NOT NULL,
    CONSTRAINT followed_kind_check CHECK ((kind = ANY (ARRAY['package'::text, 'person'::text, 'set'::text, 'problem'::text, 'search'::text])))
);
COMMENT ON TABLE followed IS 'What people follow.';
COMMENT ON COLUMN followed.user_id IS 'The account.';
COMMENT ON COLUMN followed.kind IS 'package, person, set, problem or search.';
COMMENT ON COLUMN followed.name IS 'Name of a binary or source package, of a person or team in the tracker, or of a package set; id of a problem in hexadecimal digits; number of a saved search.';
COMMENT ON COLUMN followed.since IS 'When following began.';

CREATE TABLE group_grants (
    id bigint NOT NULL,
    source text NOT NULL,
    group_name text NOT NULL,
    role text NOT NULL,
    person text NOT NULL,
    created timestamp with time zone NOT NULL,
    scope text DEFAULT 'everything'::text NOT NULL,
    scope_name text DEFAULT ''::text NOT NULL,
    embargoed boolean DEFAULT true NOT NULL,
    CONSTRAINT group_grants_group_name_check CHECK (((length(group_name) >= 1) AND (length(group_name) <= 200))),
    CONSTRAINT group_grants_role_check CHECK ((role = ANY (ARRAY['viewer'::text, 'triager'::text, 'admin'::text, 'private'::text]))),
    CONSTRAINT group_grants_role_for_all CHECK (((scope = 'everything'::text) OR (role = ANY (ARRAY['triager'::text, 'private'::text])))),
    CONSTRAINT group_grants_scope_check CHECK ((scope = ANY (ARRAY['everything'::text, 'package'::text, 'set'::text, 'team'::text]))),
    CONSTRAINT group_grants_scope_name_check CHECK ((length(scope_name) <= 100)),
    CONSTRAINT group_grants_scope_name_given CHECK (((scope = 'everything'::text) = (scope_name = ''::text))),
    CONSTRAINT group_grants_source_check CHECK ((source = ANY (ARRAY['launchpad'::text, 'oidc'::text, 'proxy'::text])))
);
COMMENT ON TABLE group_grants IS 'Roles that members of a group have, and their right to private data.';
COMMENT ON COLUMN group_grants.id IS 'Number of the grant.';
COMMENT ON COLUMN group_grants.source IS 'Way of signing in that knows the group: launchpad, oidc or proxy.';
COMMENT ON COLUMN group_grants.group_name IS 'The group or team.';
COMMENT ON COLUMN group_grants.role IS 'Role of its members; private: the right to private data.';
COMMENT ON COLUMN group_grants.person IS 'Account that added the grant; empty: the command line.';
COMMENT ON COLUMN group_grants.created IS 'When it was added.';
COMMENT ON COLUMN group_grants.scope IS 'everything, package (or a pattern), set (of packages), or team (whose packages).';
COMMENT ON COLUMN group_grants.scope_name IS 'Package, pattern, set or team; empty: all packages.';
COMMENT ON COLUMN group_grants.embargoed IS 'With private: the grant also shows embargoed problems. False: an upgrade gave the right, and no administrator has confirmed it.';

ALTER TABLE group_grants ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME group_grants_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE VIEW holds AS
 SELECT marks.id,
    marks.bucket_id,
    marks.person,
    marks.reason,
    marks.at,
    marks.undone_by AS lifted_by,
    marks.undone_at AS lifted_at
   FROM marks
  WHERE (marks.kind = 'hold'::text);
COMMENT ON VIEW holds IS 'The holds among the marks, for instances of version 0.1.0 during an upgrade.';

CREATE VIEW hours_known AS
 SELECT counting.hours_since AS since
   FROM counting;
COMMENT ON VIEW hours_known IS 'First UTC day of which report_hours has all reports.';

CREATE TABLE identities (
    id bigint NOT NULL,
    user_id bigint NOT NULL,
    source text NOT NULL,
    issuer text NOT NULL,
    subject text NOT NULL,
    name text NOT NULL,
    created timestamp with time zone NOT NULL,
    last_sign_in timestamp with time zone NOT NULL,
    groups_read timestamp with time zone,
    refresh_token text DEFAULT ''::text NOT NULL,
    refresh_offline boolean DEFAULT false NOT NULL,
    CONSTRAINT identities_source_check CHECK ((source = ANY (ARRAY['launchpad'::text, 'oidc'::text, 'proxy'::text]))),
    CONSTRAINT identities_subject_check CHECK (((length(subject) >= 1) AND (length(subject) <= 500)))
);
COMMENT ON TABLE identities IS 'People as other sites and proxies identify them, and their accounts here.';
COMMENT ON COLUMN identities.id IS 'Number of the identity.';
COMMENT ON COLUMN identities.user_id IS 'The account.';
COMMENT ON COLUMN identities.source IS 'Way of signing in: launchpad (OpenID 2.0), oidc (OpenID Connect) or proxy (a header).';
COMMENT ON COLUMN identities.issuer IS 'Address of the site that identified the person; empty for a proxy.';
COMMENT ON COLUMN identities.subject IS 'The person at that site: an identifier that never changes, not a nickname.';
COMMENT ON COLUMN identities.name IS 'Nickname at that site at the last sign-in, for people to read.';
COMMENT ON COLUMN identities.created IS 'First sign-in.';
COMMENT ON COLUMN identities.last_sign_in IS 'Last sign-in.';
COMMENT ON COLUMN identities.groups_read IS 'When the site or the proxy stated the groups last; null: it has refused to state them again, so they do not count.';
COMMENT ON COLUMN identities.refresh_token IS 'Refresh token of OpenID Connect, encrypted; empty: the provider gave none.';
COMMENT ON COLUMN identities.refresh_offline IS 'Whether the refresh token came with offline_access. If not, it is erased when the person signs out at the provider.';

ALTER TABLE identities ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME identities_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE installs (
    day date NOT NULL,
    release text NOT NULL,
    architecture text NOT NULL,
    package text NOT NULL,
    version text NOT NULL,
    machines bigint NOT NULL,
    source text NOT NULL,
    imported timestamp with time zone NOT NULL,
    CONSTRAINT installs_check CHECK (((version = ''::text) = (package = ''::text))),
    CONSTRAINT installs_machines_check CHECK ((machines >= 0)),
    CONSTRAINT installs_release_check CHECK ((release <> ''::text))
);
COMMENT ON TABLE installs IS 'Imported numbers of machines. An import replaces its days. Kept for 400 days.';
COMMENT ON COLUMN installs.day IS 'UTC day of which the number is.';
COMMENT ON COLUMN installs.release IS 'The release, as in reports.';
COMMENT ON COLUMN installs.architecture IS 'Architecture of the machines; empty: all together.';
COMMENT ON COLUMN installs.package IS 'Binary package; empty: the number is of the release.';
COMMENT ON COLUMN installs.version IS 'Version of the package; empty where the package is.';
COMMENT ON COLUMN installs.machines IS 'Number of machines.';
COMMENT ON COLUMN installs.source IS 'Where the numbers come from, as the administrator says.';
COMMENT ON COLUMN installs.imported IS 'When it was imported.';

CREATE TABLE known_names (
    address_id bytea NOT NULL,
    bucket_id bytea NOT NULL,
    refused boolean DEFAULT false NOT NULL,
    fresh boolean DEFAULT true NOT NULL,
    CONSTRAINT known_names_address_id_check CHECK ((length(address_id) = 20))
);
COMMENT ON TABLE known_names IS 'The bucket with function names that an address signature belongs to. Learnt from reports that have both; the first stays. No foreign keys: address_id may have no bucket, and both are written in rounds.';
COMMENT ON COLUMN known_names.address_id IS 'SHA-1 of the address signature, which is the id of its provisional bucket.';
COMMENT ON COLUMN known_names.bucket_id IS 'The bucket whose signature has the names.';
COMMENT ON COLUMN known_names.refused IS 'True when a person undid the merge; it is not repeated.';
COMMENT ON COLUMN known_names.fresh IS 'True until a round has looked for a provisional bucket to merge.';

CREATE TABLE lost_bugs (
    bucket_id bytea NOT NULL,
    bug_number bigint NOT NULL,
    CONSTRAINT lost_bugs_bucket_id_check CHECK ((length(bucket_id) = 20))
);
COMMENT ON TABLE lost_bugs IS 'Bugs of problems that are not in the database: those that a restored database lacked, and those that people import. When the problem gets its first report, an imported bug is linked to it. When a person files the problem, it gets its bug instead of another.';
COMMENT ON COLUMN lost_bugs.bucket_id IS 'The bucket that the bug is about.';
COMMENT ON COLUMN lost_bugs.bug_number IS 'Number of the bug in the tracker.';

CREATE TABLE mail_key (
    id boolean DEFAULT true NOT NULL,
    key bytea NOT NULL,
    CONSTRAINT mail_key_id_check CHECK (id),
    CONSTRAINT mail_key_key_check CHECK ((length(key) = 32))
);
COMMENT ON TABLE mail_key IS 'The key that signs links in mails; at most one row. It is not sealed like the tokens of the tracker: links to unsubscribe never expire, so they must survive a new password of the database.';
COMMENT ON COLUMN mail_key.id IS 'Always true.';
COMMENT ON COLUMN mail_key.key IS 'Random key for HMAC-SHA-256.';

CREATE TABLE mail_settings (
    user_id bigint NOT NULL,
    address text DEFAULT ''::text NOT NULL,
    confirmed timestamp with time zone,
    pending text DEFAULT ''::text NOT NULL,
    mode text DEFAULT 'immediate'::text NOT NULL,
    hour smallint DEFAULT 8 NOT NULL,
    weekday smallint DEFAULT 1 NOT NULL,
    zone text DEFAULT 'UTC'::text NOT NULL,
    quiet_from smallint,
    quiet_to smallint,
    kinds_off text[] DEFAULT '{}'::text[] NOT NULL,
    CONSTRAINT mail_settings_address_check CHECK ((length(address) <= 254)),
    CONSTRAINT mail_settings_check CHECK (((quiet_from IS NULL) = (quiet_to IS NULL))),
    CONSTRAINT mail_settings_check1 CHECK (((address = ''::text) = (confirmed IS NULL))),
    CONSTRAINT mail_settings_hour_check CHECK (((hour >= 0) AND (hour <= 23))),
    CONSTRAINT mail_settings_mode_check CHECK ((mode = ANY (ARRAY['immediate'::text, 'daily'::text, 'weekly'::text, 'off'::text]))),
    CONSTRAINT mail_settings_pending_check CHECK ((length(pending) <= 254)),
    CONSTRAINT mail_settings_quiet_from_check CHECK (((quiet_from >= 0) AND (quiet_from <= 23))),
    CONSTRAINT mail_settings_quiet_to_check CHECK (((quiet_to >= 0) AND (quiet_to <= 23))),
    CONSTRAINT mail_settings_weekday_check CHECK (((weekday >= 0) AND (weekday <= 6)))
);
COMMENT ON TABLE mail_settings IS 'What each person has chosen for mail. No row: the person has no address, and gets no mail.';
COMMENT ON COLUMN mail_settings.user_id IS 'The account of the person.';
COMMENT ON COLUMN mail_settings.address IS 'Address that the person has confirmed; empty: none.';
COMMENT ON COLUMN mail_settings.confirmed IS 'When the address was confirmed. Null: there is none.';
COMMENT ON COLUMN mail_settings.pending IS 'Address to which a link was sent and that is not confirmed yet; empty: none.';
COMMENT ON COLUMN mail_settings.mode IS 'immediate (a mail for each notice), daily, weekly or off.';
COMMENT ON COLUMN mail_settings.hour IS 'Hour of the daily or weekly mail, in zone.';
COMMENT ON COLUMN mail_settings.weekday IS 'Day of the weekly mail; 0 is Sunday.';
COMMENT ON COLUMN mail_settings.zone IS 'Time zone of the hours, such as Europe/Paris.';
COMMENT ON COLUMN mail_settings.quiet_from IS 'Hour, in zone, from which immediate mail waits. Null: it never waits.';
COMMENT ON COLUMN mail_settings.quiet_to IS 'Hour, in zone, until which immediate mail waits.';
COMMENT ON COLUMN mail_settings.kinds_off IS 'Kinds of events that the person gets no mail about.';

CREATE TABLE mails (
    id bigint NOT NULL,
    user_id bigint NOT NULL,
    kind text NOT NULL,
    address text NOT NULL,
    created timestamp with time zone NOT NULL,
    due timestamp with time zone NOT NULL,
    state text DEFAULT 'waiting'::text NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    unit bigint,
    claimed timestamp with time zone,
    ended timestamp with time zone,
    reply text DEFAULT ''::text NOT NULL,
    weekly_id bigint,
    week date,
    CONSTRAINT mails_kind_check CHECK ((kind ~ '^(notice|summary|digest|confirm|test|weekly)$'::text)),
    CONSTRAINT mails_report_check CHECK (((kind = 'weekly'::text) = ((weekly_id IS NOT NULL) AND (week IS NOT NULL)))),
    CONSTRAINT mails_state_check CHECK ((state = ANY (ARRAY['waiting'::text, 'sending'::text, 'sent'::text, 'failed'::text, 'cancelled'::text])))
);
COMMENT ON TABLE mails IS 'Mails to send and sent. The row is written in the transaction that decides what the mail contains; its text is made from the notices when it is sent.';
COMMENT ON COLUMN mails.id IS 'Number of the mail. Its Message-ID contains it, so that a mail that is sent again is recognised.';
COMMENT ON COLUMN mails.user_id IS 'The account of the recipient, or of the person who asked for a test.';
COMMENT ON COLUMN mails.kind IS 'notice, summary, digest (daily or weekly), weekly (report), confirm or test.';
COMMENT ON COLUMN mails.address IS 'Address of the recipient at that time.';
COMMENT ON COLUMN mails.created IS 'When it was decided.';
COMMENT ON COLUMN mails.due IS 'When the next attempt is due.';
COMMENT ON COLUMN mails.state IS 'waiting, sending (an instance has claimed it), sent (the relay accepted it), failed (for good) or cancelled (the person changed their settings before).';
COMMENT ON COLUMN mails.attempts IS 'Number of attempts so far.';
COMMENT ON COLUMN mails.unit IS 'Instance that has claimed it last. Null: none has.';
COMMENT ON COLUMN mails.claimed IS 'When it was claimed last.';
COMMENT ON COLUMN mails.ended IS 'When it was sent, failed for good or was cancelled. Null: not yet.';
COMMENT ON COLUMN mails.reply IS 'Last reply of the relay, shortened, or why there was none; empty: no attempt yet.';
COMMENT ON COLUMN mails.weekly_id IS 'The weekly report that it contains. Null: another kind.';
COMMENT ON COLUMN mails.week IS 'First UTC day of the week of the report. Null: another kind.';

ALTER TABLE mails ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME mails_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

ALTER TABLE marks ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME marks_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE note_texts (
    id bigint NOT NULL,
    note_id bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    person text NOT NULL,
    text text NOT NULL
);
COMMENT ON TABLE note_texts IS 'Every text that a note has had; the last one is current.';
COMMENT ON COLUMN note_texts.id IS 'Serial number.';
COMMENT ON COLUMN note_texts.note_id IS 'The note.';
COMMENT ON COLUMN note_texts.at IS 'When this text was written.';
COMMENT ON COLUMN note_texts.person IS 'Account name of its author.';
COMMENT ON COLUMN note_texts.text IS 'The text; empty: the note was removed.';

ALTER TABLE note_texts ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME note_texts_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE notes (
    id bigint NOT NULL,
    bucket_id bytea NOT NULL,
    written timestamp with time zone NOT NULL,
    person text NOT NULL
);
COMMENT ON TABLE notes IS 'Notes that people wrote about problems; the texts are in note_texts.';
COMMENT ON COLUMN notes.id IS 'Serial number.';
COMMENT ON COLUMN notes.bucket_id IS 'Head of the problem at that time. A note is shown with every problem that the bucket is part of.';
COMMENT ON COLUMN notes.written IS 'When it was first written.';
COMMENT ON COLUMN notes.person IS 'Account name of its first author.';

ALTER TABLE notes ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME notes_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE notices (
    id bigint NOT NULL,
    event_id bigint NOT NULL,
    user_id bigint NOT NULL,
    reason text NOT NULL,
    at timestamp with time zone NOT NULL,
    read timestamp with time zone,
    mail text DEFAULT 'waiting'::text NOT NULL,
    mail_id bigint,
    CONSTRAINT notices_mail_check CHECK ((mail = ANY (ARRAY['waiting'::text, 'held'::text, 'mailed'::text, 'none'::text])))
);
COMMENT ON TABLE notices IS 'Events that a person is told about.';
COMMENT ON COLUMN notices.id IS 'Number of the notice.';
COMMENT ON COLUMN notices.event_id IS 'The event.';
COMMENT ON COLUMN notices.user_id IS 'The account of the person.';
COMMENT ON COLUMN notices.reason IS 'Why the person gets it, such as "you follow mesa".';
COMMENT ON COLUMN notices.at IS 'When it was stored.';
COMMENT ON COLUMN notices.read IS 'When the person read it. Null: not yet.';
COMMENT ON COLUMN notices.mail IS 'waiting (for a decision), held (beyond the hourly limit, for the next summary), mailed (see mail_id) or none (the settings of the person say so).';
COMMENT ON COLUMN notices.mail_id IS 'The mail that contains it. Null: none.';

ALTER TABLE notices ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME notices_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE notification_stop (
    id boolean DEFAULT true NOT NULL,
    stopped timestamp with time zone NOT NULL,
    person text NOT NULL,
    CONSTRAINT notification_stop_id_check CHECK (id)
);
COMMENT ON TABLE notification_stop IS 'One row while a person has stopped all notifications: nothing leaves mishap. Otherwise empty.';
COMMENT ON COLUMN notification_stop.id IS 'Always true: there is at most one row.';
COMMENT ON COLUMN notification_stop.stopped IS 'When notifications were stopped.';
COMMENT ON COLUMN notification_stop.person IS 'Account name of the person who stopped them.';

CREATE TABLE oauth_credentials (
    tracker_url text NOT NULL,
    consumer_key text NOT NULL,
    token text NOT NULL,
    secret_sealed bytea NOT NULL,
    context text NOT NULL,
    person text NOT NULL,
    connected timestamp with time zone NOT NULL
);
COMMENT ON TABLE oauth_credentials IS 'The access token of each tracker and consumer key, shared by all instances. No foreign keys: trackers are part of the configuration.';
COMMENT ON COLUMN oauth_credentials.tracker_url IS 'Address of the tracker''s API.';
COMMENT ON COLUMN oauth_credentials.consumer_key IS 'OAuth consumer key.';
COMMENT ON COLUMN oauth_credentials.token IS 'Public half of the access token.';
COMMENT ON COLUMN oauth_credentials.secret_sealed IS 'Secret half, encrypted (db/seal.go); empty: deleted by a person.';
COMMENT ON COLUMN oauth_credentials.context IS 'The restriction that the tracker put on the token; empty: none.';
COMMENT ON COLUMN oauth_credentials.person IS 'Account name of the person who connected; empty: it came from the configuration of an instance.';
COMMENT ON COLUMN oauth_credentials.connected IS 'When it was stored.';

CREATE TABLE oauth_health (
    tracker_url text NOT NULL,
    consumer_key text NOT NULL,
    token text NOT NULL,
    account text NOT NULL,
    last_success timestamp with time zone,
    last_error text NOT NULL,
    last_error_at timestamp with time zone,
    dead boolean NOT NULL
);
COMMENT ON TABLE oauth_health IS 'Results of using each access token, including those in configuration files. No foreign key: tokens in files have no row in oauth_credentials.';
COMMENT ON COLUMN oauth_health.tracker_url IS 'Address of the tracker''s API.';
COMMENT ON COLUMN oauth_health.consumer_key IS 'OAuth consumer key.';
COMMENT ON COLUMN oauth_health.token IS 'Public half of the access token.';
COMMENT ON COLUMN oauth_health.account IS 'Name of the account in the tracker; empty: not asked yet.';
COMMENT ON COLUMN oauth_health.last_success IS 'When a call last succeeded. Null: never.';
COMMENT ON COLUMN oauth_health.last_error IS 'Message of the last failed call; empty: none.';
COMMENT ON COLUMN oauth_health.last_error_at IS 'When a call last failed. Null: never.';
COMMENT ON COLUMN oauth_health.dead IS 'Whether the tracker said that the token is invalid.';

CREATE TABLE old_addresses (
    path text NOT NULL,
    bucket_id bytea NOT NULL,
    CONSTRAINT old_addresses_bucket_id_check CHECK ((length(bucket_id) = 20)),
    CONSTRAINT old_addresses_path_check CHECK ((length(path) <= 100))
);
COMMENT ON TABLE old_addresses IS 'Addresses of problems in the crash trackers from which people have moved here. They redirect to the problem.';
COMMENT ON COLUMN old_addresses.path IS 'The path of the page, without a trailing slash.';
COMMENT ON COLUMN old_addresses.bucket_id IS 'The bucket that the page was about. It may not exist yet. A page may have been about several.';

CREATE TABLE openid_nonces (
    endpoint text NOT NULL,
    nonce text NOT NULL,
    at timestamp with time zone NOT NULL
);
COMMENT ON TABLE openid_nonces IS 'Answers of sign-in providers that were used, so that none is accepted twice. Old rows are deleted.';
COMMENT ON COLUMN openid_nonces.endpoint IS 'The provider.';
COMMENT ON COLUMN openid_nonces.nonce IS 'The nonce of the answer, or the id of a message that ends sessions.';
COMMENT ON COLUMN openid_nonces.at IS 'When it was used.';

CREATE TABLE own_tracker_accounts (
    user_id bigint NOT NULL,
    tracker_url text NOT NULL,
    consumer_key text NOT NULL,
    account text NOT NULL,
    token text NOT NULL,
    secret_sealed bytea NOT NULL,
    context text NOT NULL,
    preferred boolean DEFAULT true NOT NULL,
    connected timestamp with time zone NOT NULL,
    last_success timestamp with time zone,
    last_error text DEFAULT ''::text NOT NULL,
    last_error_at timestamp with time zone,
    broken boolean DEFAULT false NOT NULL
);
COMMENT ON TABLE own_tracker_accounts IS 'Access tokens for the accounts that people have at the tracker. Each row goes with the account of the person.';
COMMENT ON COLUMN own_tracker_accounts.user_id IS 'The person.';
COMMENT ON COLUMN own_tracker_accounts.tracker_url IS 'Address of the tracker''s API. No foreign key: trackers are part of the configuration.';
COMMENT ON COLUMN own_tracker_accounts.consumer_key IS 'OAuth consumer key.';
COMMENT ON COLUMN own_tracker_accounts.account IS 'Name of the account at the tracker; empty: not read yet, so nothing is filed with it.';
COMMENT ON COLUMN own_tracker_accounts.token IS 'Public half of the access token.';
COMMENT ON COLUMN own_tracker_accounts.secret_sealed IS 'Secret half, encrypted (db/seal.go).';
COMMENT ON COLUMN own_tracker_accounts.context IS 'The restriction that the tracker put on the token; empty: none.';
COMMENT ON COLUMN own_tracker_accounts.preferred IS 'Whether the person''s bugs are filed with it unless the person chooses otherwise.';
COMMENT ON COLUMN own_tracker_accounts.connected IS 'When it was stored.';
COMMENT ON COLUMN own_tracker_accounts.last_success IS 'When a call last succeeded. Null: never.';
COMMENT ON COLUMN own_tracker_accounts.last_error IS 'Message of the last failed call; empty: none.';
COMMENT ON COLUMN own_tracker_accounts.last_error_at IS 'When a call last failed. Null: never.';
COMMENT ON COLUMN own_tracker_accounts.broken IS 'Whether the tracker rejected the token or the account, so that the application files instead.';

CREATE TABLE package_versions (
    package text NOT NULL COLLATE pg_catalog."C",
    release text NOT NULL COLLATE pg_catalog."C",
    version text NOT NULL,
    version_key bytea NOT NULL,
    arrived timestamp with time zone NOT NULL,
    first_day date DEFAULT ((now() AT TIME ZONE 'utc'::text))::date NOT NULL
);
COMMENT ON TABLE package_versions IS 'Versions of packages that counted reports came from, by release. Written by rounds.';
COMMENT ON COLUMN package_versions.package IS 'Binary package.';
COMMENT ON COLUMN package_versions.release IS 'The release; empty: none named.';
COMMENT ON COLUMN package_versions.version IS 'The version.';
COMMENT ON COLUMN package_versions.version_key IS 'Key that sorts as the package manager of the release compares versions.';
COMMENT ON COLUMN package_versions.arrived IS 'When the first report with the version arrived.';
COMMENT ON COLUMN package_versions.first_day IS 'First UTC day with a counted report of the version.';

CREATE TABLE ping_days (
    day date NOT NULL,
    release text NOT NULL,
    architecture text NOT NULL,
    machines bigint NOT NULL
);
COMMENT ON TABLE ping_days IS 'How many machines said that they are there, by UTC day: mishap-send says it once a day if it may. Nothing tells the machines apart. Each instance adds its counts every few seconds, so a crash loses those of the last ones. Rows are deleted after 400 days.';
COMMENT ON COLUMN ping_days.day IS 'UTC day of arrival.';
COMMENT ON COLUMN ping_days.release IS 'Release, as the machine names it; empty: of pairs of release and architecture beyond the first 200 of the day.';
COMMENT ON COLUMN ping_days.architecture IS 'Architecture, as the machine names it; empty where the release is.';
COMMENT ON COLUMN ping_days.machines IS 'Number of pings. A machine whose answer was lost says it twice.';

CREATE TABLE privacy_runs (
    id bigint NOT NULL,
    kind text NOT NULL,
    person text NOT NULL,
    fields text NOT NULL,
    started timestamp with time zone NOT NULL,
    updated timestamp with time zone NOT NULL,
    until timestamp with time zone NOT NULL,
    received timestamp with time zone DEFAULT '0001-01-01 00:00:00+00'::timestamp with time zone NOT NULL,
    report_id uuid DEFAULT '00000000-0000-0000-0000-000000000000'::uuid NOT NULL,
    estimate bigint NOT NULL,
    looked_at bigint DEFAULT 0 NOT NULL,
    secret bigint DEFAULT 0 NOT NULL,
    private bigint DEFAULT 0 NOT NULL,
    changed bigint DEFAULT 0 NOT NULL,
    held bigint DEFAULT 0 NOT NULL,
    found jsonb DEFAULT '{}'::jsonb NOT NULL,
    finished timestamp with time zone,
    CONSTRAINT privacy_runs_kind_check CHECK ((kind = ANY (ARRAY['check'::text, 'apply'::text, 'expire'::text])))
);
COMMENT ON TABLE privacy_runs IS 'Runs over stored reports that compare their fields with the table of classes. At most one is unfinished.';
COMMENT ON COLUMN privacy_runs.id IS 'Number of the run.';
COMMENT ON COLUMN privacy_runs.kind IS 'check: only counts; apply: removes secret fields; expire: removes private fields of old reports.';
COMMENT ON COLUMN privacy_runs.person IS 'Account that started it; empty: mishap itself, or the command line.';
COMMENT ON COLUMN privacy_runs.fields IS 'Hash of the table of classes at its start. If the table has changed since, the run ends.';
COMMENT ON COLUMN privacy_runs.started IS 'When it started.';
COMMENT ON COLUMN privacy_runs.updated IS 'When it last made progress.';
COMMENT ON COLUMN privacy_runs.until IS 'Only reports that arrived before this time are examined.';
COMMENT ON COLUMN privacy_runs.received IS 'Arrival of the report examined last.';
COMMENT ON COLUMN privacy_runs.report_id IS 'The report examined last. Not a reference: retention may drop the report.';
COMMENT ON COLUMN privacy_runs.estimate IS 'Approximate number of reports at the start.';
COMMENT ON COLUMN privacy_runs.looked_at IS 'Number of reports examined so far.';
COMMENT ON COLUMN privacy_runs.secret IS 'Number of these that had secret fields.';
COMMENT ON COLUMN privacy_runs.private IS 'Number of these that had private fields.';
COMMENT ON COLUMN privacy_runs.changed IS 'Number of these that lost fields.';
COMMENT ON COLUMN privacy_runs.held IS 'Number of these that would have lost fields, but belong to held problems.';
COMMENT ON COLUMN privacy_runs.found IS 'Number of reports with each secret and each private field, by class and name; at most 200 names of a class.';
COMMENT ON COLUMN privacy_runs.finished IS 'When it ended. Null: it has not.';

ALTER TABLE privacy_runs ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME privacy_runs_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE problem_reads (
    user_id bigint NOT NULL,
    bucket_id bytea NOT NULL,
    reason text NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT problem_reads_reason_check CHECK ((reason = ANY (ARRAY['again'::text, 'new'::text, 'rising'::text, 'undecided'::text])))
);
COMMENT ON TABLE problem_reads IS 'Problems that a person has read, for the list of what is new since they last looked.';
COMMENT ON COLUMN problem_reads.user_id IS 'The account.';
COMMENT ON COLUMN problem_reads.bucket_id IS 'The problem as it was when it was read.';
COMMENT ON COLUMN problem_reads.reason IS 'Why it was in the list then. For another reason it is unread again.';
COMMENT ON COLUMN problem_reads.at IS 'When it was read.';

CREATE TABLE problem_tags (
    id bigint NOT NULL,
    bucket_id bytea NOT NULL,
    tag text NOT NULL COLLATE pg_catalog."C",
    person text NOT NULL,
    at timestamp with time zone NOT NULL,
    removed_by text,
    removed_at timestamp with time zone,
    CONSTRAINT problem_tags_bucket_id_check CHECK ((length(bucket_id) = 20)),
    CONSTRAINT problem_tags_check CHECK (((removed_by IS NULL) = (removed_at IS NULL))),
    CONSTRAINT problem_tags_tag_check CHECK ((tag ~ '^[a-z0-9][a-z0-9.+-]{0,39}$'::text))
);
COMMENT ON TABLE problem_tags IS 'Tags of problems, with those that were removed.';
COMMENT ON COLUMN problem_tags.id IS 'Serial number.';
COMMENT ON COLUMN problem_tags.bucket_id IS 'The problem that was tagged; problems merged with it show the tag too.';
COMMENT ON COLUMN problem_tags.tag IS 'The tag: a short word in lower case.';
COMMENT ON COLUMN problem_tags.person IS 'Account name of the person who added it, or the name of a rule.';
COMMENT ON COLUMN problem_tags.at IS 'When it was added.';
COMMENT ON COLUMN problem_tags.removed_by IS 'Account name of the person who removed it. Null: it was not removed.';
COMMENT ON COLUMN problem_tags.removed_at IS 'When it was removed. Null: it was not removed.';

ALTER TABLE problem_tags ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME problem_tags_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE recovery_codes (
    user_id bigint NOT NULL,
    hash bytea NOT NULL,
    CONSTRAINT recovery_codes_hash_check CHECK ((length(hash) = 32))
);
COMMENT ON TABLE recovery_codes IS 'Codes that replace one code of the app. Each works once; a used one is deleted.';
COMMENT ON COLUMN recovery_codes.user_id IS 'The account.';
COMMENT ON COLUMN recovery_codes.hash IS 'SHA-256 of the code.';

CREATE TABLE regroup_followed (
    run_id bigint NOT NULL,
    from_id bytea NOT NULL,
    version text NOT NULL,
    release text NOT NULL,
    architecture text NOT NULL,
    to_signature text NOT NULL,
    rule text NOT NULL,
    provisional boolean NOT NULL,
    reason text NOT NULL
);
COMMENT ON TABLE regroup_followed IS 'How a run of new grouping rules has grouped the last report with a body of a bucket, version, release and architecture. Reports without a body follow it. Rows are deleted at the end of the run.';
COMMENT ON COLUMN regroup_followed.run_id IS 'The run.';
COMMENT ON COLUMN regroup_followed.from_id IS 'Bucket of the report before the run.';
COMMENT ON COLUMN regroup_followed.version IS 'Version of the package.';
COMMENT ON COLUMN regroup_followed.release IS 'The release.';
COMMENT ON COLUMN regroup_followed.architecture IS 'Architecture of the machine.';
COMMENT ON COLUMN regroup_followed.to_signature IS 'Its new signature; empty: no rule applied.';
COMMENT ON COLUMN regroup_followed.rule IS 'The rule that applied.';
COMMENT ON COLUMN regroup_followed.provisional IS 'Whether the signature is provisional.';
COMMENT ON COLUMN regroup_followed.reason IS 'Why no rule applied; empty when one did.';

CREATE TABLE regroup_moves (
    run_id bigint NOT NULL,
    from_id bytea NOT NULL,
    to_id bytea NOT NULL,
    signature text NOT NULL,
    is_new boolean NOT NULL,
    reports bigint NOT NULL
);
COMMENT ON TABLE regroup_moves IS 'How many reports a run moves, or of a dry run would move, from one bucket to another. No foreign keys to buckets: an id may be empty, and the buckets of a dry run need not exist.';
COMMENT ON COLUMN regroup_moves.run_id IS 'The run.';
COMMENT ON COLUMN regroup_moves.from_id IS 'Bucket that the reports leave; empty: they had none.';
COMMENT ON COLUMN regroup_moves.to_id IS 'Bucket that they move to; empty: none.';
COMMENT ON COLUMN regroup_moves.signature IS 'Beginning of the signature of to_id.';
COMMENT ON COLUMN regroup_moves.is_new IS 'Whether to_id did not exist before the run.';
COMMENT ON COLUMN regroup_moves.reports IS 'Number of reports.';

CREATE TABLE regroup_runs (
    id bigint NOT NULL,
    rules integer NOT NULL,
    dry boolean NOT NULL,
    person text NOT NULL,
    state text NOT NULL,
    started timestamp with time zone NOT NULL,
    updated timestamp with time zone NOT NULL,
    estimate bigint NOT NULL,
    looked_at bigint DEFAULT 0 NOT NULL,
    moved bigint DEFAULT 0 NOT NULL,
    received timestamp with time zone,
    report_id uuid,
    waiting boolean DEFAULT false NOT NULL,
    CONSTRAINT regroup_runs_state_check CHECK ((state = ANY (ARRAY['running'::text, 'done'::text, 'stopped'::text])))
);
COMMENT ON TABLE regroup_runs IS 'Runs that apply new grouping rules to stored reports; at most one is running.';
COMMENT ON COLUMN regroup_runs.id IS 'Serial number.';
COMMENT ON COLUMN regroup_runs.rules IS 'Version of the rules that are applied.';
COMMENT ON COLUMN regroup_runs.dry IS 'Whether the run only counts what it would move.';
COMMENT ON COLUMN regroup_runs.person IS 'Account name of the person who started it; empty: the command line.';
COMMENT ON COLUMN regroup_runs.state IS 'running, done or stopped.';
COMMENT ON COLUMN regroup_runs.started IS 'When it was started.';
COMMENT ON COLUMN regroup_runs.updated IS 'When the row was changed last.';
COMMENT ON COLUMN regroup_runs.estimate IS 'Approximate number of stored reports at the start.';
COMMENT ON COLUMN regroup_runs.looked_at IS 'Number of reports examined so far.';
COMMENT ON COLUMN regroup_runs.moved IS 'Number of reports moved so far or, of a dry run, that it would move.';
COMMENT ON COLUMN regroup_runs.received IS 'Arrival of the report examined last. Null: start with the oldest.';
COMMENT ON COLUMN regroup_runs.report_id IS 'The report examined last. Null: start with the oldest. Not a reference: retention may drop the report.';
COMMENT ON COLUMN regroup_runs.waiting IS 'Whether the run waits because reports arrive faster than they are counted.';

ALTER TABLE regroup_runs ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME regroup_runs_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE release_active (
    release text NOT NULL,
    day date NOT NULL,
    change bigint NOT NULL
)
WITH (fillfactor='80');
COMMENT ON TABLE release_active IS 'Changes in the number of active machines. The number on a day is the sum of all changes up to that day. Follows from release_systems.';
COMMENT ON COLUMN release_active.release IS 'The release; empty: none named.';
COMMENT ON COLUMN release_active.day IS 'UTC day of the change.';
COMMENT ON COLUMN release_active.change IS 'Machines that become active on that day minus those that stop being active.';

CREATE TABLE release_days (
    day date NOT NULL,
    release text NOT NULL,
    architecture text NOT NULL,
    problem_type text NOT NULL,
    proposed boolean NOT NULL,
    reports bigint NOT NULL
)
WITH (fillfactor='80');
COMMENT ON TABLE release_days IS 'The sums of report_days over packages and versions. Written by rounds.';
COMMENT ON COLUMN release_days.day IS 'UTC day, as in reports.day.';
COMMENT ON COLUMN release_days.release IS 'The release; empty: none named.';
COMMENT ON COLUMN release_days.architecture IS 'Architecture of the machine.';
COMMENT ON COLUMN release_days.problem_type IS 'The field ProblemType.';
COMMENT ON COLUMN release_days.proposed IS 'Whether the package came from the proposed pocket.';
COMMENT ON COLUMN release_days.reports IS 'Number of counted reports.';

CREATE TABLE release_hours (
    release text NOT NULL,
    hour timestamp with time zone NOT NULL,
    reports bigint NOT NULL
)
WITH (fillfactor='80');
COMMENT ON TABLE release_hours IS 'The sums of report_hours over packages and versions.';
COMMENT ON COLUMN release_hours.release IS 'The release; empty: none named.';
COMMENT ON COLUMN release_hours.hour IS 'Beginning of the hour, as in report_hours.';
COMMENT ON COLUMN release_hours.reports IS 'Number of counted reports.';

CREATE TABLE release_systems (
    release text NOT NULL,
    system bigint NOT NULL,
    from_day date NOT NULL,
    until_day date NOT NULL,
    shared boolean DEFAULT false NOT NULL
)
WITH (fillfactor='80');
COMMENT ON TABLE release_systems IS 'Days on which a machine is active: from a day with a report to the 90th day, including both. Spans of one machine and release neither overlap nor touch. Written by rounds. No foreign key: releases lists names for filters and may lack the empty one.';
COMMENT ON COLUMN release_systems.release IS 'The release; empty: none named.';
COMMENT ON COLUMN release_systems.system IS 'The machine, as in reports.system_key.';
COMMENT ON COLUMN release_systems.from_day IS 'First day of the span.';
COMMENT ON COLUMN release_systems.until_day IS 'Last day of the span, included.';
COMMENT ON COLUMN release_systems.shared IS 'Whether the machine has spans in other releases, or had.';

CREATE TABLE releases (
    release text NOT NULL
);
COMMENT ON TABLE releases IS 'Every release that a counted report named, for filters.';
COMMENT ON COLUMN releases.release IS 'Name of the release, such as Ubuntu 24.04.';

CREATE TABLE report_days (
    package text NOT NULL COLLATE pg_catalog."C",
    day date NOT NULL,
    release text NOT NULL,
    version text NOT NULL,
    architecture text NOT NULL,
    problem_type text NOT NULL,
    proposed boolean NOT NULL,
    reports bigint NOT NULL
)
WITH (fillfactor='80');
COMMENT ON TABLE report_days IS 'All counted reports by day and package, with a bucket or without. Written by rounds.';
COMMENT ON COLUMN report_days.package IS 'Binary package; empty: unknown.';
COMMENT ON COLUMN report_days.day IS 'UTC day, as in reports.day.';
COMMENT ON COLUMN report_days.release IS 'The release; empty: none named.';
COMMENT ON COLUMN report_days.version IS 'Version of the package; empty: none named.';
COMMENT ON COLUMN report_days.architecture IS 'Architecture of the machine.';
COMMENT ON COLUMN report_days.problem_type IS 'The field ProblemType.';
COMMENT ON COLUMN report_days.proposed IS 'Whether the package came from the proposed pocket.';
COMMENT ON COLUMN report_days.reports IS 'Number of counted reports.';

CREATE TABLE report_hours (
    package text NOT NULL,
    release text NOT NULL,
    hour timestamp with time zone NOT NULL,
    version text NOT NULL,
    reports bigint NOT NULL
)
WITH (fillfactor='80');
COMMENT ON TABLE report_hours IS 'Counted reports by hour: parts of report_days. Written by rounds, kept for 70 days.';
COMMENT ON COLUMN report_hours.package IS 'Binary package; empty: unknown.';
COMMENT ON COLUMN report_hours.release IS 'The release; empty: none named.';
COMMENT ON COLUMN report_hours.hour IS 'Hour of the crash, or of the arrival if that decides on the day.';
COMMENT ON COLUMN report_hours.version IS 'Version of the package; empty: none named.';
COMMENT ON COLUMN report_hours.reports IS 'Number of counted reports.';

CREATE TABLE report_keys (
    key bytea NOT NULL,
    report_id uuid NOT NULL,
    CONSTRAINT report_keys_key_check CHECK ((length(key) = 16))
)
PARTITION BY RANGE (key);
COMMENT ON TABLE report_keys IS 'One row per crash that can be recognised when it is sent again, partitioned by year of the crash. No foreign key to reports: an id is unique only together with its partition, and keys may outlive dropped reports.';
COMMENT ON COLUMN report_keys.key IS '16 bytes: the time of the crash, then a hash of the fields that identify it. Keys of one time are neighbours in the index.';
COMMENT ON COLUMN report_keys.report_id IS 'The report that was stored for this crash first.';

CREATE TABLE reports (
    id uuid NOT NULL,
    received timestamp with time zone NOT NULL,
    occurred timestamp with time zone,
    day date NOT NULL,
    counted boolean NOT NULL,
    system text NOT NULL,
    system_key bigint,
    bucket_id bytea,
    unbucketed text DEFAULT ''::text NOT NULL,
    rule text NOT NULL,
    rules integer NOT NULL,
    problem_type text NOT NULL,
    title text NOT NULL,
    executable text NOT NULL,
    package text NOT NULL,
    version text NOT NULL,
    source_package text NOT NULL,
    release text NOT NULL,
    architecture text NOT NULL,
    package_architecture text NOT NULL,
    address_signature text NOT NULL,
    proposed boolean NOT NULL,
    complete boolean NOT NULL,
    body bytea,
    quality smallint
)
PARTITION BY RANGE (received);
ALTER TABLE ONLY reports ALTER COLUMN body SET STORAGE EXTERNAL;
COMMENT ON TABLE reports IS 'One row per stored report, partitioned by month of arrival; retention drops whole partitions. No foreign key to buckets: every batch stores missing buckets before its reports, and a check would add a lookup and a row lock to each report.';
COMMENT ON COLUMN reports.id IS 'UUID of version 7. Its time is received, to the millisecond, so the id alone leads to the partition.';
COMMENT ON COLUMN reports.received IS 'When the report arrived.';
COMMENT ON COLUMN reports.occurred IS 'The report''s own Date, read as UTC. Null: missing or unreadable.';
COMMENT ON COLUMN reports.day IS 'UTC day on which the report counts: that of the crash if its Date was believed, else that of the arrival.';
COMMENT ON COLUMN reports.counted IS 'False for a test machine, whose reports are stored but not counted.';
COMMENT ON COLUMN reports.system IS 'Hash by which whoopsie identifies the machine; empty: none was sent.';
COMMENT ON COLUMN reports.system_key IS 'The machine as a number: the first 8 bytes of the SHA-256 of system. Null: a machine without a hash.';
COMMENT ON COLUMN reports.bucket_id IS 'Bucket of the report; see buckets.id. Splits and regrouping change it. Null: no grouping rule applied.';
COMMENT ON COLUMN reports.unbucketed IS 'Why the report has no bucket; empty when it has one.';
COMMENT ON COLUMN reports.rule IS 'Name of the grouping rule that chose the signature.';
COMMENT ON COLUMN reports.rules IS 'Version of the grouping rules that were applied; lower than the program''s: due for regrouping.';
COMMENT ON COLUMN reports.problem_type IS 'The field ProblemType, such as Crash.';
COMMENT ON COLUMN reports.title IS 'One line that describes the report for people.';
COMMENT ON COLUMN reports.executable IS 'Path of the program that crashed; empty: unknown.';
COMMENT ON COLUMN reports.package IS 'Binary package; empty: unknown.';
COMMENT ON COLUMN reports.version IS 'Version of the binary package; empty: unknown.';
COMMENT ON COLUMN reports.source_package IS 'Source package; empty: unknown.';
COMMENT ON COLUMN reports.release IS 'Distribution release, such as Ubuntu 24.04; empty: unknown.';
COMMENT ON COLUMN reports.architecture IS 'Architecture of the machine.';
COMMENT ON COLUMN reports.package_architecture IS 'Architecture of the package; that of the machine if the report names none.';
COMMENT ON COLUMN reports.address_signature IS 'Signature of modules and offsets, of a native crash; empty: none.';
COMMENT ON COLUMN reports.proposed IS 'Whether the package came from the proposed pocket.';
COMMENT ON COLUMN reports.complete IS 'Whether the report has a stack, a traceback or the text that its rule reads.';
COMMENT ON COLUMN reports.body IS 'All fields, each name and value after its length, compressed by S2. Stored outside the row and not compressed again. Null: not stored, because the problem had enough of that month.';
COMMENT ON COLUMN reports.quality IS 'Per cent of named functions; 1: none; 0: nothing; -1: no body; null: undecided.';

CREATE TABLE rule_edges (
    bucket_id bytea NOT NULL,
    rule_id bigint NOT NULL,
    version text NOT NULL,
    at timestamp with time zone NOT NULL,
    held timestamp with time zone NOT NULL,
    outcome text NOT NULL,
    CONSTRAINT rule_edges_outcome_check CHECK ((outcome = ANY (ARRAY['done'::text, 'before'::text, 'muted'::text, 'storm'::text]))),
    CONSTRAINT rule_edges_version_check CHECK ((length(version) <= 300))
);
COMMENT ON TABLE rule_edges IS 'What rules have seen, so that none acts on the same change twice. Rows are not deleted.';
COMMENT ON COLUMN rule_edges.bucket_id IS 'The problem at that time; empty: not about one problem. No foreign key, as with counts.';
COMMENT ON COLUMN rule_edges.rule_id IS 'The rule.';
COMMENT ON COLUMN rule_edges.version IS 'Which change it was, such as a version or a day; empty: there is one for each problem.';
COMMENT ON COLUMN rule_edges.at IS 'When the rule saw it.';
COMMENT ON COLUMN rule_edges.held IS 'When the condition held last; of a storm: the arrival of the last problem.';
COMMENT ON COLUMN rule_edges.outcome IS 'done; or nothing was done: before (older than the rule), muted, or storm (part of one).';

CREATE TABLE rule_progress (
    single boolean DEFAULT true NOT NULL,
    round bigint NOT NULL,
    decision bigint NOT NULL,
    day timestamp with time zone,
    at timestamp with time zone,
    CONSTRAINT rule_progress_single_check CHECK (single)
);
COMMENT ON TABLE rule_progress IS 'How far rules have been evaluated.';
COMMENT ON COLUMN rule_progress.single IS 'Always true: limits the table to one row.';
COMMENT ON COLUMN rule_progress.round IS 'Last round (counting.round) whose changes were evaluated.';
COMMENT ON COLUMN rule_progress.decision IS 'Last decision that was evaluated.';
COMMENT ON COLUMN rule_progress.day IS 'Midnight (UTC) of the last day on which quiet problems were looked for. Null: none.';
COMMENT ON COLUMN rule_progress.at IS 'When the last complete round began. Mutes that ended long before were evaluated. Null: no round since the upgrade.';

CREATE TABLE rules (
    id bigint NOT NULL,
    name text NOT NULL,
    scope text NOT NULL,
    names text[] DEFAULT '{}'::text[] NOT NULL,
    kind text NOT NULL,
    machines bigint DEFAULT 1 NOT NULL,
    weeks integer DEFAULT 0 NOT NULL,
    actions jsonb NOT NULL,
    enabled boolean DEFAULT true NOT NULL,
    author text NOT NULL,
    created timestamp with time zone NOT NULL,
    editor text NOT NULL,
    changed timestamp with time zone NOT NULL,
    since timestamp with time zone NOT NULL,
    prepared boolean DEFAULT false NOT NULL,
    failure text DEFAULT ''::text NOT NULL,
    failed timestamp with time zone,
    deleted timestamp with time zone,
    conditions jsonb DEFAULT '{}'::jsonb NOT NULL,
    CONSTRAINT rules_machines_check CHECK (((machines >= 1) AND (machines <= 1000000))),
    CONSTRAINT rules_name_check CHECK (((length(name) >= 1) AND (length(name) <= 80))),
    CONSTRAINT rules_scope_check CHECK ((scope = ANY (ARRAY['everything'::text, 'package'::text, 'set'::text, 'team'::text]))),
    CONSTRAINT rules_weeks_check CHECK (((weeks >= 0) AND (weeks <= 52)))
);
COMMENT ON TABLE rules IS 'Rules: what happens to which problems, and what mishap then does.';
COMMENT ON COLUMN rules.id IS 'Number of the rule.';
COMMENT ON COLUMN rules.name IS 'Name that people gave it; unique among rules that are not deleted, whatever the case.';
COMMENT ON COLUMN rules.scope IS 'everything, package, set (of packages) or team (a person or team of the tracker).';
COMMENT ON COLUMN rules.names IS 'Patterns of packages, or names of sets or of people and teams; empty: everything.';
COMMENT ON COLUMN rules.kind IS 'What happens; see crash.EventKinds.';
COMMENT ON COLUMN rules.machines IS 'Least number of machines.';
COMMENT ON COLUMN rules.weeks IS 'Of the kind quiet: number of weeks without a report.';
COMMENT ON COLUMN rules.actions IS 'What mishap does; see Actions of package notify/rules.';
COMMENT ON COLUMN rules.enabled IS 'Whether the rule is on.';
COMMENT ON COLUMN rules.author IS 'Account name of the person who created it; mishap: shipped with the program.';
COMMENT ON COLUMN rules.created IS 'When it was created.';
COMMENT ON COLUMN rules.editor IS 'Account name of the person who changed it last.';
COMMENT ON COLUMN rules.changed IS 'When it was changed last.';
COMMENT ON COLUMN rules.since IS 'When its condition was changed or switched on last. It ignores what happened before.';
COMMENT ON COLUMN rules.prepared IS 'Whether what held before since has been stored in rule_edges.';
COMMENT ON COLUMN rules.failure IS 'Why an action failed last, as a sentence; empty: it did not, or has succeeded since.';
COMMENT ON COLUMN rules.failed IS 'When an action failed last. Null: never.';
COMMENT ON COLUMN rules.deleted IS 'When it was deleted. Null: it was not.';
COMMENT ON COLUMN rules.conditions IS 'What else must hold, as rules.Conditions in Go; empty: nothing.';

ALTER TABLE rules ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME rules_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE saved_searches (
    id bigint NOT NULL,
    user_id bigint NOT NULL,
    name text NOT NULL,
    path text NOT NULL,
    shared boolean NOT NULL,
    created timestamp with time zone NOT NULL,
    deleted timestamp with time zone,
    CONSTRAINT saved_searches_name_check CHECK (((length(name) >= 1) AND (length(name) <= 60))),
    CONSTRAINT saved_searches_path_check CHECK (((path ~~ '/?%'::text) OR (path ~~ '/search?%'::text)))
);
COMMENT ON TABLE saved_searches IS 'Named searches: names for addresses of lists of problems.';
COMMENT ON COLUMN saved_searches.id IS 'Number in addresses of the search.';
COMMENT ON COLUMN saved_searches.user_id IS 'Who saved it.';
COMMENT ON COLUMN saved_searches.name IS 'Name that the person chose; unique among the live searches of the person, whatever the case.';
COMMENT ON COLUMN saved_searches.path IS 'Path and query of the list.';
COMMENT ON COLUMN saved_searches.shared IS 'Whether everyone who is signed in sees it.';
COMMENT ON COLUMN saved_searches.created IS 'When it was saved.';
COMMENT ON COLUMN saved_searches.deleted IS 'When it was deleted, which can be undone. Null: it is live.';

ALTER TABLE saved_searches ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME saved_searches_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE second_factors (
    user_id bigint NOT NULL,
    secret text NOT NULL,
    created timestamp with time zone NOT NULL,
    confirmed timestamp with time zone,
    last_step bigint DEFAULT 0 NOT NULL
);
COMMENT ON TABLE second_factors IS 'Authenticator apps (TOTP, RFC 6238) of accounts with a password.';
COMMENT ON COLUMN second_factors.user_id IS 'The account.';
COMMENT ON COLUMN second_factors.secret IS 'The secret that the app shares, encrypted with a key from the database password.';
COMMENT ON COLUMN second_factors.created IS 'When the secret was made.';
COMMENT ON COLUMN second_factors.confirmed IS 'When the person first entered a code; signing in needs one since. Null: not yet.';
COMMENT ON COLUMN second_factors.last_step IS 'Number of the period of 30 seconds whose code was used last, so that no code is accepted twice.';

CREATE TABLE server_starts (
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    started timestamp with time zone NOT NULL,
    database oid NOT NULL,
    round bigint NOT NULL
);
COMMENT ON TABLE server_starts IS 'Starts of the database server, each written by the first round after it. What was read up to a round of one start is part of this database if that start is listed and no later one has a round up to it.';
COMMENT ON COLUMN server_starts.id IS 'Random, so that copies of the database that went different ways differ.';
COMMENT ON COLUMN server_starts.started IS 'When the server was started.';
COMMENT ON COLUMN server_starts.database IS 'Oid of the database.';
COMMENT ON COLUMN server_starts.round IS 'The first round after the start.';

CREATE TABLE sessions (
    token text NOT NULL,
    data bytea NOT NULL,
    expiry timestamp with time zone NOT NULL,
    user_id bigint,
    identity_id bigint,
    provider_session text DEFAULT ''::text NOT NULL,
    created timestamp with time zone DEFAULT '1970-01-01 00:00:00+00'::timestamp with time zone NOT NULL,
    used timestamp with time zone DEFAULT '1970-01-01 00:00:00+00'::timestamp with time zone NOT NULL,
    address text DEFAULT ''::text NOT NULL,
    browser text DEFAULT ''::text NOT NULL
);
COMMENT ON TABLE sessions IS 'Browser sessions, as the session library stores them.';
COMMENT ON COLUMN sessions.token IS 'Hash of the token in the cookie.';
COMMENT ON COLUMN sessions.data IS 'Encoded values of the session.';
COMMENT ON COLUMN sessions.expiry IS 'When it expires; expired rows are deleted by a background task.';
COMMENT ON COLUMN sessions.user_id IS 'Account that is signed in. Null: none.';
COMMENT ON COLUMN sessions.identity_id IS 'The identity that signed in. Null: a name and password, or nobody yet.';
COMMENT ON COLUMN sessions.provider_session IS 'Session at the provider (sid of OpenID Connect); empty: unknown.';
COMMENT ON COLUMN sessions.created IS 'When the session began; 1970: unknown.';
COMMENT ON COLUMN sessions.used IS 'Last request, to within five minutes; 1970: unknown.';
COMMENT ON COLUMN sessions.address IS 'Address from which the person signed in; empty: unknown.';
COMMENT ON COLUMN sessions.browser IS 'Browser with which the person signed in; empty: unknown.';

CREATE TABLE sign_in_failures (
    key text NOT NULL,
    failures integer NOT NULL,
    last timestamp with time zone NOT NULL
);
COMMENT ON TABLE sign_in_failures IS 'Failed sign-ins, counted by account, address and known browser, for all instances together. No foreign key: visitors choose the names.';
COMMENT ON COLUMN sign_in_failures.key IS 'What is counted, such as name:ada or address:192.0.2.1.';
COMMENT ON COLUMN sign_in_failures.failures IS 'Failures since counting began.';
COMMENT ON COLUMN sign_in_failures.last IS 'Time of the last failure or, for limits that work as a queue, up to when the queue is filled.';

CREATE TABLE similar_weights (
    single boolean DEFAULT true NOT NULL,
    weights jsonb NOT NULL,
    learned timestamp with time zone NOT NULL,
    merges bigint NOT NULL,
    others bigint NOT NULL,
    CONSTRAINT similar_weights_merges_check CHECK ((merges >= 0)),
    CONSTRAINT similar_weights_others_check CHECK ((others >= 0)),
    CONSTRAINT similar_weights_single_check CHECK (single)
);
COMMENT ON TABLE similar_weights IS 'The weights by which problems are similar, in one row; no row: the built-in ones.';
COMMENT ON COLUMN similar_weights.single IS 'Always true: limits the table to one row.';
COMMENT ON COLUMN similar_weights.weights IS 'As similar.Weights in Go.';
COMMENT ON COLUMN similar_weights.learned IS 'When they were learned.';
COMMENT ON COLUMN similar_weights.merges IS 'Number of merges by people that they were learned from.';
COMMENT ON COLUMN similar_weights.others IS 'Number of undone merges and of splits that they were learned from.';

CREATE TABLE split_sources (
    bucket_id bytea NOT NULL,
    decision_id bigint NOT NULL
);
COMMENT ON TABLE split_sources IS 'The buckets whose reports the condition of a split is tested on, in rounds and for stored reports.';
COMMENT ON COLUMN split_sources.bucket_id IS 'The bucket.';
COMMENT ON COLUMN split_sources.decision_id IS 'The split.';

CREATE TABLE symbol_jobs (
    report_id uuid NOT NULL,
    problem bytea NOT NULL,
    version text NOT NULL,
    architecture text NOT NULL,
    store text NOT NULL,
    core_bytes bigint NOT NULL,
    core_removed timestamp with time zone,
    state text NOT NULL,
    reason text DEFAULT ''::text NOT NULL,
    pressed timestamp with time zone,
    pressed_by text DEFAULT ''::text NOT NULL,
    created timestamp with time zone DEFAULT now() NOT NULL,
    attempt integer DEFAULT 0 NOT NULL,
    deaths integer DEFAULT 0 NOT NULL,
    tries integer DEFAULT 0 NOT NULL,
    lease timestamp with time zone,
    not_before timestamp with time zone,
    started timestamp with time zone,
    ended timestamp with time zone,
    missing text[] DEFAULT '{}'::text[] NOT NULL,
    modules jsonb DEFAULT '[]'::jsonb NOT NULL,
    engine text DEFAULT ''::text NOT NULL,
    seconds real DEFAULT 0 NOT NULL,
    cpu_seconds real DEFAULT 0 NOT NULL,
    memory_bytes bigint DEFAULT 0 NOT NULL,
    CONSTRAINT symbol_jobs_state_check CHECK ((state = ANY (ARRAY['queued'::text, 'running'::text, 'done'::text, 'partial'::text, 'waiting'::text, 'failed'::text, 'expired'::text])))
);
COMMENT ON TABLE symbol_jobs IS 'Reports to symbolise, and what came of it: one row per core that a machine has sent, and one per version of a problem that is known by its addresses only. No foreign key: an id of reports is unique only together with its partition.';
COMMENT ON COLUMN symbol_jobs.report_id IS 'The report that the core belongs to.';
COMMENT ON COLUMN symbol_jobs.problem IS 'As in core_requests.';
COMMENT ON COLUMN symbol_jobs.version IS 'Version of the package of the report.';
COMMENT ON COLUMN symbol_jobs.architecture IS 'Architecture of the core, in Debian''s words.';
COMMENT ON COLUMN symbol_jobs.store IS 'Identity of the store that holds the core. Only instances that can read this store claim the job. Empty: there is no core, only an address signature; any instance claims the job.';
COMMENT ON COLUMN symbol_jobs.core_bytes IS 'Size of the core in the store; 0: there is none.';
COMMENT ON COLUMN symbol_jobs.core_removed IS 'When the core was removed from the store. Null: it is there.';
COMMENT ON COLUMN symbol_jobs.state IS 'queued, running (until lease), done (the names are complete), partial (some are missing), waiting (files could not be fetched, or nothing has a name), failed (not tried again by itself), expired (the core was removed first).';
COMMENT ON COLUMN symbol_jobs.reason IS 'Why the state is not done, as a sentence for people; empty: nothing to say.';
COMMENT ON COLUMN symbol_jobs.pressed IS 'When a person asked to symbolise it now. Null: nobody has. Cleared when the job ends.';
COMMENT ON COLUMN symbol_jobs.pressed_by IS 'Account name of the person who asked last; empty: nobody.';
COMMENT ON COLUMN symbol_jobs.created IS 'When the core arrived, or the addresses were found without names.';
COMMENT ON COLUMN symbol_jobs.attempt IS 'Number of times that an instance has claimed the job. A result counts only if this has not changed since.';
COMMENT ON COLUMN symbol_jobs.deaths IS 'Number of claims whose instance died.';
COMMENT ON COLUMN symbol_jobs.tries IS 'Number of tries that ended as partial or waiting; it decides when to try again.';
COMMENT ON COLUMN symbol_jobs.lease IS 'Until when the claim of a running job holds; the instance prolongs it. Null: not running.';
COMMENT ON COLUMN symbol_jobs.not_before IS 'When a partial or waiting job is tried again. Null: not by itself.';
COMMENT ON COLUMN symbol_jobs.started IS 'When the latest try began.';
COMMENT ON COLUMN symbol_jobs.ended IS 'When the latest try ended.';
COMMENT ON COLUMN symbol_jobs.missing IS 'Files that were not found, as BUILD-ID/executable or BUILD-ID/debuginfo. Adding one of them starts the job again.';
COMMENT ON COLUMN symbol_jobs.modules IS 'Programs and libraries of the process, with where their files were found or searched (crash.SymbolModule).';
COMMENT ON COLUMN symbol_jobs.engine IS 'The debugger with its version.';
COMMENT ON COLUMN symbol_jobs.seconds IS 'Time of the debugger in the latest try.';
COMMENT ON COLUMN symbol_jobs.cpu_seconds IS 'Processor time of the debugger in the latest try.';
COMMENT ON COLUMN symbol_jobs.memory_bytes IS 'Memory of the debugger in the latest try, at the most.';

CREATE TABLE symbol_workers (
    instance bigint NOT NULL,
    store text NOT NULL,
    architectures text[] NOT NULL,
    problem text NOT NULL,
    seen timestamp with time zone NOT NULL
);
COMMENT ON TABLE symbol_workers IS 'Instances that symbolise, or would if they could. Machines are asked for cores only while an instance can symbolise them. Rows of dead instances are removed after a day.';
COMMENT ON COLUMN symbol_workers.instance IS 'Number of the instance.';
COMMENT ON COLUMN symbol_workers.store IS 'Identity of the store whose cores it reads.';
COMMENT ON COLUMN symbol_workers.architectures IS 'Architectures whose cores it can symbolise, in Debian''s words.';
COMMENT ON COLUMN symbol_workers.problem IS 'Why it cannot symbolise, as a sentence for people; empty: it can.';
COMMENT ON COLUMN symbol_workers.seen IS 'When the instance said so last; it does every minute.';

CREATE TABLE tracker_calls (
    tracker text NOT NULL,
    id text NOT NULL,
    at timestamp with time zone NOT NULL
);
COMMENT ON TABLE tracker_calls IS 'Calls by which trackers told of changes. A repeated one is refused. Removed after a week.';
COMMENT ON COLUMN tracker_calls.tracker IS 'Name of the tracker in the configuration.';
COMMENT ON COLUMN tracker_calls.id IS 'The tracker''s id of the call.';
COMMENT ON COLUMN tracker_calls.at IS 'When it arrived.';

CREATE VIEW triage AS
 SELECT marks.id,
    marks.bucket_id,
    marks.kind,
    marks.until,
    marks.fixes,
    marks.seen,
    marks.person,
    marks.reason,
    marks.at,
    marks.undone_by,
    marks.undone_at,
    marks.ended_at,
    marks.ended_why,
    marks.replaced_by,
    marks.merged_by
   FROM marks
  WHERE (marks.kind = ANY (ARRAY['muted'::text, 'wontfix'::text, 'fixed'::text]));
COMMENT ON VIEW triage IS 'The decisions among the marks, for instances of version 0.1.0 during an upgrade.';

CREATE TABLE uncounted (
    id uuid NOT NULL,
    stored timestamp with time zone DEFAULT now() NOT NULL,
    reports uuid[] NOT NULL
);
COMMENT ON TABLE uncounted IS 'Reports that are stored and not counted yet: one row per transaction that stored some. The round that counts them deletes the row. No foreign key: the ids are an array, and retention may drop a report first.';
COMMENT ON COLUMN uncounted.id IS 'Random id, made by the instance that stored the reports.';
COMMENT ON COLUMN uncounted.stored IS 'When the transaction began. Rows older than ten seconds are counted by any instance.';
COMMENT ON COLUMN uncounted.reports IS 'Ids of the reports, up to 256.';

CREATE TABLE unknown_builds (
    report_id uuid NOT NULL,
    path text NOT NULL,
    package text NOT NULL,
    version text NOT NULL,
    architecture text NOT NULL
);
COMMENT ON TABLE unknown_builds IS 'Programs and libraries of reports whose build is not known: of address signatures, and of cores that do not hold it. Learning it starts the job again.';
COMMENT ON COLUMN unknown_builds.report_id IS 'The job.';
COMMENT ON COLUMN unknown_builds.path IS 'Path of the file, as in builds.path.';
COMMENT ON COLUMN unknown_builds.package IS 'Binary package that holds the file; empty: unknown.';
COMMENT ON COLUMN unknown_builds.version IS 'Version of the package on the machine; empty: unknown.';
COMMENT ON COLUMN unknown_builds.architecture IS 'Architecture of the file, in Debian''s words.';

CREATE TABLE unlinked_bugs (
    bucket_id bytea NOT NULL,
    bug_number bigint NOT NULL,
    how text NOT NULL,
    person text NOT NULL,
    at timestamp with time zone NOT NULL,
    unlinked_by text NOT NULL,
    unlinked_at timestamp with time zone NOT NULL,
    CONSTRAINT unlinked_bugs_how_check CHECK ((how = ANY (ARRAY['filed'::text, 'linked'::text])))
);
COMMENT ON TABLE unlinked_bugs IS 'Links that a person removed, so that they can be restored and searches know these bugs.';
COMMENT ON COLUMN unlinked_bugs.bucket_id IS 'The bucket.';
COMMENT ON COLUMN unlinked_bugs.bug_number IS 'The bug.';
COMMENT ON COLUMN unlinked_bugs.how IS 'As in bucket_bugs.';
COMMENT ON COLUMN unlinked_bugs.person IS 'As in bucket_bugs.';
COMMENT ON COLUMN unlinked_bugs.at IS 'As in bucket_bugs.';
COMMENT ON COLUMN unlinked_bugs.unlinked_by IS 'Account name of the person who removed the link.';
COMMENT ON COLUMN unlinked_bugs.unlinked_at IS 'When the link was removed.';

CREATE TABLE update_rules (
    pattern text NOT NULL,
    "position" integer NOT NULL,
    again boolean DEFAULT false NOT NULL,
    quiet boolean DEFAULT false NOT NULL,
    quiet_weeks integer DEFAULT 12 NOT NULL,
    section boolean DEFAULT false NOT NULL,
    person text DEFAULT ''::text NOT NULL,
    changed timestamp with time zone,
    CONSTRAINT update_rules_pattern_check CHECK ((pattern ~ '^[a-z0-9+.*-]{1,128}$'::text)),
    CONSTRAINT update_rules_quiet_weeks_check CHECK (((quiet_weeks >= 1) AND (quiet_weeks <= 260)))
);
COMMENT ON TABLE update_rules IS 'What mishap writes in the tracker by itself. The first pattern that matches a source package applies; * alone comes last and always exists.';
COMMENT ON COLUMN update_rules.pattern IS 'Name of a source package, in which * stands for any characters.';
COMMENT ON COLUMN update_rules."position" IS 'Order of the patterns, lowest first.';
COMMENT ON COLUMN update_rules.again IS 'Whether mishap comments on a fixed bug that is seen again, and on a bug whose crash gets function names.';
COMMENT ON COLUMN update_rules.quiet IS 'Whether mishap comments on an open bug whose problem is no longer reported.';
COMMENT ON COLUMN update_rules.quiet_weeks IS 'Number of weeks without a report after which it does.';
COMMENT ON COLUMN update_rules.section IS 'Whether mishap updates a section in the descriptions of open bugs.';
COMMENT ON COLUMN update_rules.person IS 'Account name of the person who changed the row; empty: nobody has.';
COMMENT ON COLUMN update_rules.changed IS 'When it was changed. Null: never.';

CREATE TABLE user_groups (
    identity_id bigint NOT NULL,
    group_name text NOT NULL
);
COMMENT ON TABLE user_groups IS 'Groups of people as of identities.groups_read.';
COMMENT ON COLUMN user_groups.identity_id IS 'The person at the site that has the group.';
COMMENT ON COLUMN user_groups.group_name IS 'The group or team.';

CREATE TABLE users (
    id bigint NOT NULL,
    name text NOT NULL,
    role text NOT NULL,
    password_hash text NOT NULL,
    disabled boolean DEFAULT false NOT NULL,
    created timestamp with time zone NOT NULL,
    last_login timestamp with time zone,
    tracker_name text DEFAULT ''::text NOT NULL,
    team_source text DEFAULT ''::text NOT NULL,
    team text DEFAULT ''::text NOT NULL,
    CONSTRAINT users_role_check CHECK ((role = ANY (ARRAY[''::text, 'viewer'::text, 'triager'::text, 'admin'::text]))),
    CONSTRAINT users_service_without_password CHECK (((team = ''::text) OR (password_hash = ''::text))),
    CONSTRAINT users_team_check CHECK ((length(team) <= 200)),
    CONSTRAINT users_team_complete CHECK (((team_source = ''::text) = (team = ''::text))),
    CONSTRAINT users_team_source_check CHECK ((team_source = ANY (ARRAY[''::text, 'launchpad'::text, 'oidc'::text, 'proxy'::text])))
);
COMMENT ON TABLE users IS 'Accounts.';
COMMENT ON COLUMN users.id IS 'Serial number.';
COMMENT ON COLUMN users.name IS 'Name for signing in, unique regardless of case.';
COMMENT ON COLUMN users.role IS 'Role given by hand: viewer, triager, admin, or empty. Groups may give a higher one; see group_grants.';
COMMENT ON COLUMN users.password_hash IS 'argon2id hash of the password, as a PHC string; empty: the account has no password.';
COMMENT ON COLUMN users.disabled IS 'Whether the account may not sign in.';
COMMENT ON COLUMN users.created IS 'When it was added.';
COMMENT ON COLUMN users.last_login IS 'Last successful sign-in. Null: never.';
COMMENT ON COLUMN users.tracker_name IS 'Name of the person''s account in the tracker; empty: unknown.';
COMMENT ON COLUMN users.team_source IS 'Of a service account: the way of signing in that knows its team; empty: the account of a person.';
COMMENT ON COLUMN users.team IS 'Of a service account: the group that owns it; empty: the account of a person.';

ALTER TABLE users ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME users_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE wanted_cores (
    problem bytea NOT NULL,
    person text NOT NULL,
    asked timestamp with time zone DEFAULT now() NOT NULL
);
COMMENT ON TABLE wanted_cores IS 'Problems that a person has asked a core for. The next machines that report them are asked, until one core has arrived; then the row goes.';
COMMENT ON COLUMN wanted_cores.problem IS 'Id of the bucket that stood for the problem.';
COMMENT ON COLUMN wanted_cores.person IS 'Account name of the person who asked.';
COMMENT ON COLUMN wanted_cores.asked IS 'When the person asked. Requests before that do not count towards the limit of unanswered ones.';

CREATE TABLE weekly_mails (
    id bigint NOT NULL,
    user_id bigint NOT NULL,
    scope text NOT NULL,
    name text NOT NULL,
    created timestamp with time zone NOT NULL,
    planned timestamp with time zone NOT NULL,
    CONSTRAINT weekly_mails_name_check CHECK ((length(name) <= 100)),
    CONSTRAINT weekly_mails_scope_check CHECK ((scope ~ '^(all|mine|package|set|team)$'::text))
);
COMMENT ON TABLE weekly_mails IS 'Weekly reports that people get by mail, at the hour and weekday of mail_settings.';
COMMENT ON COLUMN weekly_mails.id IS 'Number of the subscription.';
COMMENT ON COLUMN weekly_mails.user_id IS 'The account.';
COMMENT ON COLUMN weekly_mails.scope IS 'all (packages), mine (what the person follows), package, set or team.';
COMMENT ON COLUMN weekly_mails.name IS 'Name of the package, package set, person or team; empty: none is needed.';
COMMENT ON COLUMN weekly_mails.created IS 'When the person subscribed.';
COMMENT ON COLUMN weekly_mails.planned IS 'Time of the last report that was decided about, else of the subscription.';

ALTER TABLE weekly_mails ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME weekly_mails_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

ALTER TABLE ONLY account_grants
    ADD CONSTRAINT account_grants_pkey PRIMARY KEY (id);

ALTER TABLE ONLY account_grants
    ADD CONSTRAINT account_grants_user_id_scope_scope_name_role_key UNIQUE (user_id, scope, scope_name, role);

ALTER TABLE ONLY api_tokens
    ADD CONSTRAINT api_tokens_pkey PRIMARY KEY (id);

ALTER TABLE ONLY applied_migrations
    ADD CONSTRAINT applied_migrations_pkey PRIMARY KEY (version);

ALTER TABLE ONLY archive_facts
    ADD CONSTRAINT archive_facts_pkey PRIMARY KEY (kind, key);

ALTER TABLE ONLY archive_moves
    ADD CONSTRAINT archive_moves_pkey PRIMARY KEY (part);

ALTER TABLE ONLY assignments
    ADD CONSTRAINT assignments_pkey PRIMARY KEY (id);

ALTER TABLE ONLY audit_events
    ADD CONSTRAINT audit_events_once_key UNIQUE (once);

ALTER TABLE ONLY audit_events
    ADD CONSTRAINT audit_events_pkey PRIMARY KEY (id);

ALTER TABLE ONLY backups
    ADD CONSTRAINT backups_pkey PRIMARY KEY (id);

ALTER TABLE ONLY bucket_arrivals
    ADD CONSTRAINT bucket_arrivals_pkey PRIMARY KEY (bucket_id);

ALTER TABLE ONLY bucket_bodies
    ADD CONSTRAINT bucket_bodies_pkey PRIMARY KEY (bucket_id, month);

ALTER TABLE ONLY bucket_bugs
    ADD CONSTRAINT bucket_bugs_pkey PRIMARY KEY (bucket_id, bug_number);

ALTER TABLE ONLY bucket_days
    ADD CONSTRAINT bucket_days_pkey PRIMARY KEY (bucket_id, day, release, version, architecture, package_architecture);

ALTER TABLE ONLY bucket_expired
    ADD CONSTRAINT bucket_expired_pkey PRIMARY KEY (bucket_id, release, version, architecture, package_architecture);

ALTER TABLE ONLY bucket_releases
    ADD CONSTRAINT bucket_releases_pkey PRIMARY KEY (bucket_id, release);

ALTER TABLE ONLY bucket_systems
    ADD CONSTRAINT bucket_systems_pkey PRIMARY KEY (bucket_id, system, release, version);

ALTER TABLE ONLY bucket_travellers
    ADD CONSTRAINT bucket_travellers_pkey PRIMARY KEY (bucket_id, version, system);

ALTER TABLE ONLY bucket_versions
    ADD CONSTRAINT bucket_versions_pkey PRIMARY KEY (bucket_id, release, version);

ALTER TABLE ONLY buckets
    ADD CONSTRAINT buckets_pkey PRIMARY KEY (id);

ALTER TABLE ONLY bug_comments
    ADD CONSTRAINT bug_comments_pkey PRIMARY KEY (bug_number, kind, version);

ALTER TABLE ONLY bug_places
    ADD CONSTRAINT bug_places_pkey PRIMARY KEY (place);

ALTER TABLE ONLY bug_places
    ADD CONSTRAINT bug_places_tracker_project_key UNIQUE (tracker, project);

ALTER TABLE ONLY bug_routes
    ADD CONSTRAINT bug_routes_pkey PRIMARY KEY (line);

ALTER TABLE ONLY bug_sections
    ADD CONSTRAINT bug_sections_pkey PRIMARY KEY (bug_number);

ALTER TABLE ONLY bug_states
    ADD CONSTRAINT bug_states_pkey PRIMARY KEY (number);

ALTER TABLE ONLY bug_templates
    ADD CONSTRAINT bug_templates_pkey PRIMARY KEY (tracker, package, problem_type);

ALTER TABLE ONLY bug_watch
    ADD CONSTRAINT bug_watch_pkey PRIMARY KEY (single);

ALTER TABLE ONLY bugs
    ADD CONSTRAINT bugs_pkey PRIMARY KEY (number);

ALTER TABLE ONLY build_names
    ADD CONSTRAINT build_names_pkey PRIMARY KEY (build_id, place, callee);

ALTER TABLE ONLY builds
    ADD CONSTRAINT builds_pkey PRIMARY KEY (path, architecture, package, version, build_id);

ALTER TABLE ONLY candidates
    ADD CONSTRAINT candidates_bucket_id_key UNIQUE (bucket_id);

ALTER TABLE ONLY candidates
    ADD CONSTRAINT candidates_pkey PRIMARY KEY (id);

ALTER TABLE ONLY changes
    ADD CONSTRAINT changes_pkey PRIMARY KEY (xact, at);

ALTER TABLE ONLY closed_doors
    ADD CONSTRAINT closed_doors_pkey PRIMARY KEY (door);

ALTER TABLE ONLY core_requests
    ADD CONSTRAINT core_requests_pkey PRIMARY KEY (report_id);

ALTER TABLE ONLY counting
    ADD CONSTRAINT counting_pkey PRIMARY KEY (single);

ALTER TABLE ONLY decisions
    ADD CONSTRAINT decisions_pkey PRIMARY KEY (id);

ALTER TABLE ONLY deliveries
    ADD CONSTRAINT deliveries_event_id_endpoint_id_key UNIQUE (event_id, endpoint_id);

ALTER TABLE ONLY deliveries
    ADD CONSTRAINT deliveries_pkey PRIMARY KEY (id);

ALTER TABLE ONLY delivery_attempts
    ADD CONSTRAINT delivery_attempts_pkey PRIMARY KEY (id);

ALTER TABLE ONLY door_days
    ADD CONSTRAINT door_days_pkey PRIMARY KEY (day, door, project, outcome, reason);

ALTER TABLE ONLY door_keys
    ADD CONSTRAINT door_keys_pkey PRIMARY KEY (key);

ALTER TABLE ONLY door_projects
    ADD CONSTRAINT door_projects_name_key UNIQUE (name);

ALTER TABLE ONLY door_projects
    ADD CONSTRAINT door_projects_pkey PRIMARY KEY (number);

ALTER TABLE ONLY dropped_months
    ADD CONSTRAINT dropped_months_pkey PRIMARY KEY (month);

ALTER TABLE ONLY endpoints
    ADD CONSTRAINT endpoints_pkey PRIMARY KEY (id);

ALTER TABLE ONLY erased_reports
    ADD CONSTRAINT erased_reports_pkey PRIMARY KEY (digest);

ALTER TABLE ONLY erasure_key
    ADD CONSTRAINT erasure_key_pkey PRIMARY KEY (single);

ALTER TABLE ONLY erasures
    ADD CONSTRAINT erasures_pkey PRIMARY KEY (id);

ALTER TABLE ONLY events
    ADD CONSTRAINT events_edge_key UNIQUE (edge);

ALTER TABLE ONLY events
    ADD CONSTRAINT events_pkey PRIMARY KEY (id);

ALTER TABLE ONLY expired_counts
    ADD CONSTRAINT expired_counts_pkey PRIMARY KEY (single);

ALTER TABLE ONLY filing_attempts
    ADD CONSTRAINT filing_attempts_pkey PRIMARY KEY (id);

ALTER TABLE ONLY filing_queues
    ADD CONSTRAINT filing_queues_pkey PRIMARY KEY (tracker);

ALTER TABLE ONLY filing_writer
    ADD CONSTRAINT filing_writer_pkey PRIMARY KEY (single);

ALTER TABLE ONLY filings
    ADD CONSTRAINT filings_bucket_upstream UNIQUE (bucket_id, upstream);

ALTER TABLE ONLY filings
    ADD CONSTRAINT filings_pkey PRIMARY KEY (id);

ALTER TABLE ONLY follow_marks
    ADD CONSTRAINT follow_marks_pkey PRIMARY KEY (user_id, kind, name, bucket_id);

ALTER TABLE ONLY follow_visits
    ADD CONSTRAINT follow_visits_pkey PRIMARY KEY (user_id);

ALTER TABLE ONLY followed
    ADD CONSTRAINT followed_pkey PRIMARY KEY (user_id, kind, name);

ALTER TABLE ONLY group_grants
    ADD CONSTRAINT group_grants_pkey PRIMARY KEY (id);

ALTER TABLE ONLY identities
    ADD CONSTRAINT identities_pkey PRIMARY KEY (id);

ALTER TABLE ONLY identities
    ADD CONSTRAINT identities_source_issuer_subject_key UNIQUE (source, issuer, subject);

ALTER TABLE ONLY installs
    ADD CONSTRAINT installs_pkey PRIMARY KEY (release, package, version, day, architecture);

ALTER TABLE ONLY known_names
    ADD CONSTRAINT known_names_pkey PRIMARY KEY (address_id);

ALTER TABLE ONLY lost_bugs
    ADD CONSTRAINT lost_bugs_pkey PRIMARY KEY (bucket_id);

ALTER TABLE ONLY mail_key
    ADD CONSTRAINT mail_key_pkey PRIMARY KEY (id);

ALTER TABLE ONLY mail_settings
    ADD CONSTRAINT mail_settings_pkey PRIMARY KEY (user_id);

ALTER TABLE ONLY mails
    ADD CONSTRAINT mails_pkey PRIMARY KEY (id);

ALTER TABLE ONLY marks
    ADD CONSTRAINT marks_pkey PRIMARY KEY (id);

ALTER TABLE ONLY note_texts
    ADD CONSTRAINT note_texts_pkey PRIMARY KEY (id);

ALTER TABLE ONLY notes
    ADD CONSTRAINT notes_pkey PRIMARY KEY (id);

ALTER TABLE ONLY notices
    ADD CONSTRAINT notices_event_id_user_id_key UNIQUE (event_id, user_id);

ALTER TABLE ONLY notices
    ADD CONSTRAINT notices_pkey PRIMARY KEY (id);

ALTER TABLE ONLY notification_stop
    ADD CONSTRAINT notification_stop_pkey PRIMARY KEY (id);

ALTER TABLE ONLY oauth_credentials
    ADD CONSTRAINT oauth_credentials_pkey PRIMARY KEY (tracker_url, consumer_key);

ALTER TABLE ONLY oauth_health
    ADD CONSTRAINT oauth_health_pkey PRIMARY KEY (tracker_url, consumer_key, token);

ALTER TABLE ONLY old_addresses
    ADD CONSTRAINT old_addresses_pkey PRIMARY KEY (path, bucket_id);

ALTER TABLE ONLY openid_nonces
    ADD CONSTRAINT openid_nonces_pkey PRIMARY KEY (endpoint, nonce);

ALTER TABLE ONLY own_tracker_accounts
    ADD CONSTRAINT own_tracker_accounts_pkey PRIMARY KEY (user_id, tracker_url, consumer_key);

ALTER TABLE ONLY package_versions
    ADD CONSTRAINT package_versions_pkey PRIMARY KEY (package, release, version);

ALTER TABLE ONLY ping_days
    ADD CONSTRAINT ping_days_pkey PRIMARY KEY (day, release, architecture);

ALTER TABLE ONLY privacy_runs
    ADD CONSTRAINT privacy_runs_pkey PRIMARY KEY (id);

ALTER TABLE ONLY problem_reads
    ADD CONSTRAINT problem_reads_pkey PRIMARY KEY (user_id, bucket_id);

ALTER TABLE ONLY problem_tags
    ADD CONSTRAINT problem_tags_pkey PRIMARY KEY (id);

ALTER TABLE ONLY recovery_codes
    ADD CONSTRAINT recovery_codes_pkey PRIMARY KEY (user_id, hash);

ALTER TABLE ONLY regroup_followed
    ADD CONSTRAINT regroup_followed_pkey PRIMARY KEY (run_id, from_id, version, release, architecture);

ALTER TABLE ONLY regroup_moves
    ADD CONSTRAINT regroup_moves_pkey PRIMARY KEY (run_id, from_id, to_id);

ALTER TABLE ONLY regroup_runs
    ADD CONSTRAINT regroup_runs_pkey PRIMARY KEY (id);

ALTER TABLE ONLY release_active
    ADD CONSTRAINT release_active_pkey PRIMARY KEY (release, day);

ALTER TABLE ONLY release_days
    ADD CONSTRAINT release_days_pkey PRIMARY KEY (day, release, architecture, problem_type, proposed);

ALTER TABLE ONLY release_hours
    ADD CONSTRAINT release_hours_pkey PRIMARY KEY (release, hour);

ALTER TABLE ONLY release_systems
    ADD CONSTRAINT release_systems_pkey PRIMARY KEY (system, release, from_day);

ALTER TABLE ONLY releases
    ADD CONSTRAINT releases_pkey PRIMARY KEY (release);

ALTER TABLE ONLY report_days
    ADD CONSTRAINT report_days_pkey PRIMARY KEY (package, day, release, version, architecture, problem_type, proposed);

ALTER TABLE ONLY report_hours
    ADD CONSTRAINT report_hours_pkey PRIMARY KEY (package, release, hour, version);

ALTER TABLE ONLY report_keys
    ADD CONSTRAINT report_keys_pkey PRIMARY KEY (key);

ALTER TABLE ONLY rule_edges
    ADD CONSTRAINT rule_edges_pkey PRIMARY KEY (bucket_id, rule_id, version);

ALTER TABLE ONLY rule_progress
    ADD CONSTRAINT rule_progress_pkey PRIMARY KEY (single);

ALTER TABLE ONLY rules
    ADD CONSTRAINT rules_pkey PRIMARY KEY (id);

ALTER TABLE ONLY saved_searches
    ADD CONSTRAINT saved_searches_pkey PRIMARY KEY (id);

ALTER TABLE ONLY second_factors
    ADD CONSTRAINT second_factors_pkey PRIMARY KEY (user_id);

ALTER TABLE ONLY server_starts
    ADD CONSTRAINT server_starts_pkey PRIMARY KEY (id);

ALTER TABLE ONLY server_starts
    ADD CONSTRAINT server_starts_started_database_key UNIQUE (started, database);

ALTER TABLE ONLY sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (token);

ALTER TABLE ONLY sign_in_failures
    ADD CONSTRAINT sign_in_failures_pkey PRIMARY KEY (key);

ALTER TABLE ONLY similar_weights
    ADD CONSTRAINT similar_weights_pkey PRIMARY KEY (single);

ALTER TABLE ONLY split_sources
    ADD CONSTRAINT split_sources_pkey PRIMARY KEY (bucket_id, decision_id);

ALTER TABLE ONLY symbol_jobs
    ADD CONSTRAINT symbol_jobs_pkey PRIMARY KEY (report_id);

ALTER TABLE ONLY symbol_workers
    ADD CONSTRAINT symbol_workers_pkey PRIMARY KEY (instance);

ALTER TABLE ONLY tracker_calls
    ADD CONSTRAINT tracker_calls_pkey PRIMARY KEY (tracker, id);

ALTER TABLE ONLY uncounted
    ADD CONSTRAINT uncounted_pkey PRIMARY KEY (id);

ALTER TABLE ONLY unknown_builds
    ADD CONSTRAINT unknown_builds_pkey PRIMARY KEY (report_id, path, package);

ALTER TABLE ONLY unlinked_bugs
    ADD CONSTRAINT unlinked_bugs_pkey PRIMARY KEY (bucket_id, bug_number);

ALTER TABLE ONLY update_rules
    ADD CONSTRAINT update_rules_pkey PRIMARY KEY (pattern);

ALTER TABLE ONLY user_groups
    ADD CONSTRAINT user_groups_pkey PRIMARY KEY (identity_id, group_name);

ALTER TABLE ONLY users
    ADD CONSTRAINT users_pkey PRIMARY KEY (id);

ALTER TABLE ONLY wanted_cores
    ADD CONSTRAINT wanted_cores_pkey PRIMARY KEY (problem);

ALTER TABLE ONLY weekly_mails
    ADD CONSTRAINT weekly_mails_pkey PRIMARY KEY (id);

ALTER TABLE ONLY weekly_mails
    ADD CONSTRAINT weekly_mails_user_id_scope_name_key UNIQUE (user_id, scope, name);

CREATE UNIQUE INDEX api_tokens_hash ON api_tokens USING btree (hash);

CREATE INDEX api_tokens_user ON api_tokens USING btree (user_id);

CREATE INDEX archive_facts_due ON archive_facts USING btree (next_read);

CREATE INDEX archive_facts_unread ON archive_facts USING btree (asked) WHERE (read IS NULL);

CREATE INDEX assignments_bucket ON assignments USING btree (bucket_id, id);

CREATE INDEX audit_events_action ON audit_events USING btree (action, at DESC, id DESC);

CREATE INDEX audit_events_address ON audit_events USING btree (address, at DESC, id DESC) WHERE (address <> ''::text);

CREATE INDEX audit_events_at ON audit_events USING btree (at DESC, id DESC);

CREATE INDEX audit_events_refused ON audit_events USING btree (at DESC, id DESC) WHERE (result = 'refused'::text);

CREATE INDEX audit_events_removed ON audit_events USING btree (lower(subject)) WHERE (action = 'user.remove'::text);

CREATE INDEX audit_events_subject ON audit_events USING btree (subject, at DESC, id DESC);

CREATE INDEX audit_events_who ON audit_events USING btree ((
CASE
    WHEN (person <> ''::text) THEN person
    ELSE via
END), at DESC, id DESC);

CREATE INDEX bucket_arrivals_at ON bucket_arrivals USING btree (at);

CREATE INDEX bucket_arrivals_round ON bucket_arrivals USING btree (round);

CREATE INDEX bucket_bugs_at ON bucket_bugs USING btree (at);

CREATE INDEX bucket_bugs_number ON bucket_bugs USING btree (bug_number);

CREATE INDEX bucket_versions_version ON bucket_versions USING btree (version);

CREATE INDEX buckets_changed ON buckets USING btree (changed);

CREATE INDEX buckets_head ON buckets USING btree (head);

CREATE INDEX buckets_package ON buckets USING btree (package);

CREATE INDEX buckets_provisional ON buckets USING btree (changed, id) WHERE provisional;

CREATE INDEX buckets_source_package ON buckets USING btree (source_package);

CREATE INDEX bug_states_due ON bug_states USING btree (next_read);

CREATE INDEX bug_states_master ON bug_states USING btree (duplicate_of) WHERE (duplicate_of IS NOT NULL);

CREATE INDEX build_names_used ON build_names USING btree (used);

CREATE INDEX candidates_filed ON candidates USING btree (decided) WHERE (automatic AND (state = ANY (ARRAY['filing'::text, 'filed'::text])));

CREATE INDEX candidates_state ON candidates USING btree (state, created, id);

CREATE INDEX core_requests_problem ON core_requests USING btree (problem, version, requested);

CREATE INDEX decisions_bucket ON decisions USING btree (bucket_id);

CREATE UNIQUE INDEX decisions_merged ON decisions USING btree (bucket_id) WHERE ((kind = 'merged'::text) AND (undone_at IS NULL));

CREATE INDEX decisions_other ON decisions USING btree (other_id) WHERE (other_id IS NOT NULL);

CREATE UNIQUE INDEX decisions_split ON decisions USING btree (other_id) WHERE ((kind = 'split'::text) AND (undone_at IS NULL));

CREATE INDEX decisions_symbolised ON decisions USING btree (id) WHERE (cause = 'symbolised'::text);

CREATE INDEX decisions_unfinished ON decisions USING btree (id) WHERE (NOT finished);

CREATE INDEX deliveries_due ON deliveries USING btree (due) WHERE (state = 'waiting'::text);

CREATE INDEX deliveries_endpoint ON deliveries USING btree (endpoint_id, created);

CREATE INDEX deliveries_summary ON deliveries USING btree (summary) WHERE (summary IS NOT NULL);

CREATE INDEX deliveries_waiting ON deliveries USING btree (endpoint_id, created, id) WHERE (state = 'waiting'::text);

CREATE INDEX delivery_attempts_delivery ON delivery_attempts USING btree (delivery_id, id);

CREATE INDEX door_keys_project ON door_keys USING btree (project);

CREATE UNIQUE INDEX endpoints_name ON endpoints USING btree (lower(name));

CREATE INDEX erasures_blocked ON erasures USING btree (digest) WHERE blocked;

CREATE INDEX erasures_digest ON erasures USING btree (digest);

CREATE UNIQUE INDEX erasures_running ON erasures USING btree (digest) WHERE (finished IS NULL);

CREATE INDEX events_at ON events USING btree (at);

CREATE INDEX events_bucket ON events USING btree (bucket_id, id) WHERE (bucket_id IS NOT NULL);

CREATE INDEX filing_attempts_filing ON filing_attempts USING btree (filing_id, id);

CREATE INDEX filing_attempts_sent ON filing_attempts USING btree (started) WHERE (action = 'create'::text);

CREATE INDEX filings_ledger ON filings USING btree (created, id);

CREATE INDEX filings_line ON filings USING btree (tracker, created, id) WHERE (state = 'queued'::text);

CREATE INDEX filings_open ON filings USING btree (not_before) WHERE (state = ANY (ARRAY['queued'::text, 'filing'::text, 'uncertain'::text]));

CREATE INDEX filings_sending ON filings USING btree (tracker) WHERE (state = 'filing'::text);

CREATE INDEX filings_subscriptions ON filings USING btree (id) WHERE (subscription = 'due'::text);

CREATE UNIQUE INDEX group_grants_once ON group_grants USING btree (source, group_name, scope, scope_name, ((role = 'private'::text)));

CREATE INDEX identities_user ON identities USING btree (user_id);

CREATE INDEX installs_day ON installs USING btree (day);

CREATE INDEX known_names_fresh ON known_names USING btree (address_id) WHERE fresh;

CREATE INDEX mails_address ON mails USING btree (lower(address), created) WHERE (kind = ANY (ARRAY['confirm'::text, 'test'::text]));

CREATE INDEX mails_due ON mails USING btree (due, id) WHERE (state = ANY (ARRAY['waiting'::text, 'sending'::text]));

CREATE INDEX mails_ended ON mails USING btree (ended) WHERE (ended IS NOT NULL);

CREATE INDEX mails_user ON mails USING btree (user_id, created);

CREATE INDEX mails_weekly ON mails USING btree (weekly_id) WHERE (weekly_id IS NOT NULL);

CREATE INDEX marks_bucket ON marks USING btree (bucket_id);

CREATE INDEX marks_ended ON marks USING btree (ended_at) WHERE (ended_at IS NOT NULL);

CREATE INDEX marks_merged ON marks USING btree (merged_by) WHERE (merged_by IS NOT NULL);

CREATE UNIQUE INDEX marks_one_each ON marks USING btree (bucket_id, kind) WHERE ((kind <> 'fixed'::text) AND (undone_at IS NULL) AND (ended_at IS NULL));

CREATE INDEX marks_replaced ON marks USING btree (replaced_by) WHERE (replaced_by IS NOT NULL);

CREATE INDEX marks_rule ON marks USING btree (rule_id) WHERE (rule_id IS NOT NULL);

CREATE INDEX marks_standing ON marks USING btree (kind, bucket_id) WHERE ((undone_at IS NULL) AND (ended_at IS NULL));

CREATE INDEX note_texts_note ON note_texts USING btree (note_id, id);

CREATE INDEX notes_bucket ON notes USING btree (bucket_id);

CREATE INDEX notices_mail ON notices USING btree (mail_id) WHERE (mail_id IS NOT NULL);

CREATE INDEX notices_unread ON notices USING btree (user_id) WHERE (read IS NULL);

CREATE INDEX notices_user ON notices USING btree (user_id, id);

CREATE INDEX notices_waiting ON notices USING btree (user_id, id) WHERE (mail = ANY (ARRAY['waiting'::text, 'held'::text]));

CREATE INDEX openid_nonces_at ON openid_nonces USING btree (at);

CREATE INDEX package_versions_order ON package_versions USING btree (package, release, version_key DESC);

CREATE UNIQUE INDEX privacy_runs_running ON privacy_runs USING btree ((true)) WHERE (finished IS NULL);

CREATE UNIQUE INDEX problem_tags_bucket ON problem_tags USING btree (bucket_id, tag) WHERE (removed_at IS NULL);

CREATE UNIQUE INDEX regroup_runs_running ON regroup_runs USING btree ((true)) WHERE (state = 'running'::text);

CREATE INDEX release_systems_shared ON release_systems USING btree (system) WHERE shared;

CREATE INDEX reports_bucket ON ONLY reports USING btree (bucket_id, received DESC, id DESC) WHERE (bucket_id IS NOT NULL);

CREATE INDEX reports_in_full ON ONLY reports USING btree (bucket_id, received DESC, id DESC) WHERE (body IS NOT NULL);

CREATE INDEX reports_nameless ON ONLY reports USING btree (received DESC, id DESC) WHERE (system_key IS NULL);

CREATE INDEX reports_quality ON ONLY reports USING btree (bucket_id, quality DESC, received DESC, id DESC) WHERE (quality > 0);

CREATE INDEX reports_system ON ONLY reports USING btree (system_key, received DESC, id DESC) WHERE (system_key IS NOT NULL);

CREATE INDEX reports_undecided ON ONLY reports USING btree (received, id) WHERE (quality IS NULL);

CREATE INDEX rule_edges_rule ON rule_edges USING btree (rule_id, at);

CREATE UNIQUE INDEX rules_name ON rules USING btree (lower(name)) WHERE (deleted IS NULL);

CREATE UNIQUE INDEX saved_searches_name ON saved_searches USING btree (user_id, lower(name)) WHERE (deleted IS NULL);

CREATE INDEX saved_searches_shared ON saved_searches USING btree (id) WHERE (shared AND (deleted IS NULL));

CREATE INDEX sessions_expiry ON sessions USING btree (expiry);

CREATE INDEX sessions_identity ON sessions USING btree (identity_id) WHERE (identity_id IS NOT NULL);

CREATE INDEX sessions_user ON sessions USING btree (user_id) WHERE (user_id IS NOT NULL);

CREATE INDEX symbol_jobs_open ON symbol_jobs USING btree (store, created) WHERE (state = ANY (ARRAY['queued'::text, 'running'::text, 'waiting'::text, 'partial'::text]));

CREATE INDEX symbol_jobs_problem ON symbol_jobs USING btree (problem, version);

CREATE INDEX symbol_jobs_state ON symbol_jobs USING btree (state, not_before);

CREATE INDEX tracker_calls_at ON tracker_calls USING btree (at);

CREATE INDEX unknown_builds_path ON unknown_builds USING btree (path);

CREATE UNIQUE INDEX users_name ON users USING btree (lower(name));

CREATE INDEX users_team ON users USING btree (team_source, team) WHERE (team <> ''::text);

CREATE TRIGGER audit_events_append_only BEFORE DELETE OR UPDATE ON audit_events FOR EACH ROW EXECUTE FUNCTION refuse_audit_change();

CREATE TRIGGER audit_events_no_truncate BEFORE TRUNCATE ON audit_events FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change();

CREATE TRIGGER note_change AFTER INSERT OR DELETE ON installs FOR EACH STATEMENT EXECUTE FUNCTION note_change();

CREATE TRIGGER note_delete AFTER DELETE ON archive_facts FOR EACH ROW WHEN ((old.read IS NOT NULL)) EXECUTE FUNCTION note_change();

CREATE TRIGGER note_insert AFTER INSERT ON archive_facts FOR EACH ROW WHEN ((new.read IS NOT NULL)) EXECUTE FUNCTION note_change();

CREATE TRIGGER note_insert AFTER INSERT ON bug_sections FOR EACH ROW WHEN ((new.written IS NOT NULL)) EXECUTE FUNCTION note_change();

CREATE TRIGGER note_row AFTER INSERT OR DELETE ON assignments FOR EACH ROW EXECUTE FUNCTION note_change();

CREATE TRIGGER note_row AFTER INSERT OR DELETE ON bucket_bugs FOR EACH ROW EXECUTE FUNCTION note_change();

CREATE TRIGGER note_row AFTER INSERT OR DELETE ON bug_comments FOR EACH ROW EXECUTE FUNCTION note_change();

CREATE TRIGGER note_row AFTER INSERT OR DELETE ON bug_states FOR EACH ROW EXECUTE FUNCTION note_change();

CREATE TRIGGER note_row AFTER INSERT OR DELETE ON bugs FOR EACH ROW EXECUTE FUNCTION note_change();

CREATE TRIGGER note_row AFTER INSERT OR DELETE ON decisions FOR EACH ROW EXECUTE FUNCTION note_change();

CREATE TRIGGER note_row AFTER INSERT OR DELETE ON filings FOR EACH ROW EXECUTE FUNCTION note_change();

CREATE TRIGGER note_row AFTER INSERT OR DELETE ON marks FOR EACH ROW EXECUTE FUNCTION note_change();

CREATE TRIGGER note_row AFTER INSERT OR DELETE ON note_texts FOR EACH ROW EXECUTE FUNCTION note_change();

CREATE TRIGGER note_row AFTER INSERT OR DELETE ON notes FOR EACH ROW EXECUTE FUNCTION note_change();

CREATE TRIGGER note_row AFTER INSERT OR DELETE ON problem_tags FOR EACH ROW EXECUTE FUNCTION note_change();

CREATE TRIGGER note_update AFTER UPDATE ON archive_facts FOR EACH ROW WHEN ((((to_jsonb(old.*) - '{read,asked,next_read,failures,failure}'::text[]) IS DISTINCT FROM (to_jsonb(new.*) - '{read,asked,next_read,failures,failure}'::text[])) OR ((old.read IS NULL) <> (new.read IS NULL)))) EXECUTE FUNCTION note_change();

CREATE TRIGGER note_update AFTER UPDATE ON assignments FOR EACH ROW WHEN ((old.* IS DISTINCT FROM new.*)) EXECUTE FUNCTION note_change();

CREATE TRIGGER note_update AFTER UPDATE ON bucket_bugs FOR EACH ROW WHEN ((old.* IS DISTINCT FROM new.*)) EXECUTE FUNCTION note_change();

CREATE TRIGGER note_update AFTER UPDATE ON bug_comments FOR EACH ROW WHEN ((old.* IS DISTINCT FROM new.*)) EXECUTE FUNCTION note_change();

CREATE TRIGGER note_update AFTER UPDATE ON bug_sections FOR EACH ROW WHEN (((((old.written IS DISTINCT FROM new.written) OR (old.stopped IS DISTINCT FROM new.stopped)) OR (old.stopped_at IS DISTINCT FROM new.stopped_at)) OR (old.problem IS DISTINCT FROM new.problem))) EXECUTE FUNCTION note_change();

CREATE TRIGGER note_update AFTER UPDATE ON bug_states FOR EACH ROW WHEN ((((to_jsonb(old.*) - '{read,next_read,failures}'::text[]) IS DISTINCT FROM (to_jsonb(new.*) - '{read,next_read,failures}'::text[])) OR ((old.read IS NULL) <> (new.read IS NULL)))) EXECUTE FUNCTION note_change();

CREATE TRIGGER note_update AFTER UPDATE ON bugs FOR EACH ROW WHEN ((old.* IS DISTINCT FROM new.*)) EXECUTE FUNCTION note_change();

CREATE TRIGGER note_update AFTER UPDATE ON decisions FOR EACH ROW WHEN ((old.* IS DISTINCT FROM new.*)) EXECUTE FUNCTION note_change();

CREATE TRIGGER note_update AFTER UPDATE ON filings FOR EACH ROW WHEN ((old.* IS DISTINCT FROM new.*)) EXECUTE FUNCTION note_change();

CREATE TRIGGER note_update AFTER UPDATE ON marks FOR EACH ROW WHEN ((old.* IS DISTINCT FROM new.*)) EXECUTE FUNCTION note_change();

CREATE TRIGGER note_update AFTER UPDATE ON note_texts FOR EACH ROW WHEN ((old.* IS DISTINCT FROM new.*)) EXECUTE FUNCTION note_change();

CREATE TRIGGER note_update AFTER UPDATE ON notes FOR EACH ROW WHEN ((old.* IS DISTINCT FROM new.*)) EXECUTE FUNCTION note_change();

CREATE TRIGGER note_update AFTER UPDATE ON problem_tags FOR EACH ROW WHEN ((old.* IS DISTINCT FROM new.*)) EXECUTE FUNCTION note_change();

ALTER TABLE ONLY account_grants
    ADD CONSTRAINT account_grants_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE;

ALTER TABLE ONLY api_tokens
    ADD CONSTRAINT api_tokens_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE;

ALTER TABLE ONLY bucket_bugs
    ADD CONSTRAINT bucket_bugs_bucket_id_fkey FOREIGN KEY (bucket_id) REFERENCES buckets(id);

ALTER TABLE ONLY bucket_bugs
    ADD CONSTRAINT bucket_bugs_bug_number_fkey FOREIGN KEY (bug_number) REFERENCES bugs(number);

ALTER TABLE ONLY bug_comments
    ADD CONSTRAINT bug_comments_bucket_id_fkey FOREIGN KEY (bucket_id) REFERENCES buckets(id);

ALTER TABLE ONLY bug_comments
    ADD CONSTRAINT bug_comments_bug_number_fkey FOREIGN KEY (bug_number) REFERENCES bugs(number);

ALTER TABLE ONLY bug_sections
    ADD CONSTRAINT bug_sections_bug_number_fkey FOREIGN KEY (bug_number) REFERENCES bugs(number);

ALTER TABLE ONLY bug_states
    ADD CONSTRAINT bug_states_duplicate_of_fkey FOREIGN KEY (duplicate_of) REFERENCES bugs(number);

ALTER TABLE ONLY bug_states
    ADD CONSTRAINT bug_states_number_fkey FOREIGN KEY (number) REFERENCES bugs(number);

ALTER TABLE ONLY candidates
    ADD CONSTRAINT candidates_bucket_id_fkey FOREIGN KEY (bucket_id) REFERENCES buckets(id);

ALTER TABLE ONLY candidates
    ADD CONSTRAINT candidates_rule_id_fkey FOREIGN KEY (rule_id) REFERENCES rules(id);

ALTER TABLE ONLY decisions
    ADD CONSTRAINT decisions_bucket_id_fkey FOREIGN KEY (bucket_id) REFERENCES buckets(id);

ALTER TABLE ONLY decisions
    ADD CONSTRAINT decisions_other_id_fkey FOREIGN KEY (other_id) REFERENCES buckets(id);

ALTER TABLE ONLY deliveries
    ADD CONSTRAINT deliveries_endpoint_id_fkey FOREIGN KEY (endpoint_id) REFERENCES endpoints(id) ON DELETE CASCADE;

ALTER TABLE ONLY deliveries
    ADD CONSTRAINT deliveries_event_id_fkey FOREIGN KEY (event_id) REFERENCES events(id) ON DELETE CASCADE;

ALTER TABLE ONLY deliveries
    ADD CONSTRAINT deliveries_summary_fkey FOREIGN KEY (summary) REFERENCES deliveries(id) ON DELETE SET NULL;

ALTER TABLE ONLY delivery_attempts
    ADD CONSTRAINT delivery_attempts_delivery_id_fkey FOREIGN KEY (delivery_id) REFERENCES deliveries(id) ON DELETE CASCADE;

ALTER TABLE ONLY door_keys
    ADD CONSTRAINT door_keys_project_fkey FOREIGN KEY (project) REFERENCES door_projects(number);

ALTER TABLE ONLY endpoints
    ADD CONSTRAINT endpoints_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES users(id) ON DELETE SET NULL;

ALTER TABLE ONLY erased_reports
    ADD CONSTRAINT erased_reports_erasure_fkey FOREIGN KEY (erasure) REFERENCES erasures(id);

ALTER TABLE ONLY filing_attempts
    ADD CONSTRAINT filing_attempts_filing_id_fkey FOREIGN KEY (filing_id) REFERENCES filings(id);

ALTER TABLE ONLY filings
    ADD CONSTRAINT filings_bucket_id_fkey FOREIGN KEY (bucket_id) REFERENCES buckets(id);

ALTER TABLE ONLY filings
    ADD CONSTRAINT filings_bug_number_fkey FOREIGN KEY (bug_number) REFERENCES bugs(number);

ALTER TABLE ONLY follow_marks
    ADD CONSTRAINT follow_marks_user_id_kind_name_fkey FOREIGN KEY (user_id, kind, name) REFERENCES followed(user_id, kind, name) ON DELETE CASCADE;

ALTER TABLE ONLY follow_visits
    ADD CONSTRAINT follow_visits_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE;

ALTER TABLE ONLY followed
    ADD CONSTRAINT followed_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE;

ALTER TABLE ONLY identities
    ADD CONSTRAINT identities_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE;

ALTER TABLE ONLY mail_settings
    ADD CONSTRAINT mail_settings_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE;

ALTER TABLE ONLY mails
    ADD CONSTRAINT mails_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE;

ALTER TABLE ONLY mails
    ADD CONSTRAINT mails_weekly_id_fkey FOREIGN KEY (weekly_id) REFERENCES weekly_mails(id) ON DELETE CASCADE;

ALTER TABLE ONLY marks
    ADD CONSTRAINT marks_merged_by_fkey FOREIGN KEY (merged_by) REFERENCES decisions(id);

ALTER TABLE ONLY marks
    ADD CONSTRAINT marks_replaced_by_fkey FOREIGN KEY (replaced_by) REFERENCES marks(id);

ALTER TABLE ONLY marks
    ADD CONSTRAINT marks_rule_id_fkey FOREIGN KEY (rule_id) REFERENCES rules(id);

ALTER TABLE ONLY note_texts
    ADD CONSTRAINT note_texts_note_id_fkey FOREIGN KEY (note_id) REFERENCES notes(id);

ALTER TABLE ONLY notes
    ADD CONSTRAINT notes_bucket_id_fkey FOREIGN KEY (bucket_id) REFERENCES buckets(id);

ALTER TABLE ONLY notices
    ADD CONSTRAINT notices_event_id_fkey FOREIGN KEY (event_id) REFERENCES events(id) ON DELETE CASCADE;

ALTER TABLE ONLY notices
    ADD CONSTRAINT notices_mail_id_fkey FOREIGN KEY (mail_id) REFERENCES mails(id) ON DELETE SET NULL;

ALTER TABLE ONLY notices
    ADD CONSTRAINT notices_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE;

ALTER TABLE ONLY own_tracker_accounts
    ADD CONSTRAINT own_tracker_accounts_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE;

ALTER TABLE ONLY problem_reads
    ADD CONSTRAINT problem_reads_bucket_id_fkey FOREIGN KEY (bucket_id) REFERENCES buckets(id) ON DELETE CASCADE;

ALTER TABLE ONLY problem_reads
    ADD CONSTRAINT problem_reads_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE;

ALTER TABLE ONLY recovery_codes
    ADD CONSTRAINT recovery_codes_user_id_fkey FOREIGN KEY (user_id) REFERENCES second_factors(user_id) ON DELETE CASCADE;

ALTER TABLE ONLY regroup_followed
    ADD CONSTRAINT regroup_followed_run_id_fkey FOREIGN KEY (run_id) REFERENCES regroup_runs(id);

ALTER TABLE ONLY regroup_moves
    ADD CONSTRAINT regroup_moves_run_id_fkey FOREIGN KEY (run_id) REFERENCES regroup_runs(id);

ALTER TABLE ONLY rule_edges
    ADD CONSTRAINT rule_edges_rule_id_fkey FOREIGN KEY (rule_id) REFERENCES rules(id);

ALTER TABLE ONLY saved_searches
    ADD CONSTRAINT saved_searches_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE;

ALTER TABLE ONLY second_factors
    ADD CONSTRAINT second_factors_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE;

ALTER TABLE ONLY sessions
    ADD CONSTRAINT sessions_identity_id_fkey FOREIGN KEY (identity_id) REFERENCES identities(id) ON DELETE CASCADE;

ALTER TABLE ONLY sessions
    ADD CONSTRAINT sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE;

ALTER TABLE ONLY split_sources
    ADD CONSTRAINT split_sources_bucket_id_fkey FOREIGN KEY (bucket_id) REFERENCES buckets(id);

ALTER TABLE ONLY split_sources
    ADD CONSTRAINT split_sources_decision_id_fkey FOREIGN KEY (decision_id) REFERENCES decisions(id);

ALTER TABLE ONLY unknown_builds
    ADD CONSTRAINT unknown_builds_report_id_fkey FOREIGN KEY (report_id) REFERENCES symbol_jobs(report_id) ON DELETE CASCADE;

ALTER TABLE ONLY unlinked_bugs
    ADD CONSTRAINT unlinked_bugs_bucket_id_fkey FOREIGN KEY (bucket_id) REFERENCES buckets(id);

ALTER TABLE ONLY unlinked_bugs
    ADD CONSTRAINT unlinked_bugs_bug_number_fkey FOREIGN KEY (bug_number) REFERENCES bugs(number);

ALTER TABLE ONLY user_groups
    ADD CONSTRAINT user_groups_identity_id_fkey FOREIGN KEY (identity_id) REFERENCES identities(id) ON DELETE CASCADE;

ALTER TABLE ONLY wanted_cores
    ADD CONSTRAINT wanted_cores_problem_fkey FOREIGN KEY (problem) REFERENCES buckets(id);

ALTER TABLE ONLY weekly_mails
    ADD CONSTRAINT weekly_mails_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE;
