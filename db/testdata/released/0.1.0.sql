SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

CREATE TYPE public.occurrence AS (
	seen timestamp with time zone,
	version_key bytea,
	version text COLLATE pg_catalog."C"
);

CREATE TYPE public.package_version AS (
	key bytea,
	version text COLLATE pg_catalog."C"
);

CREATE TYPE public.release_seen AS (
	key text COLLATE pg_catalog."C",
	release text COLLATE pg_catalog."C"
);

CREATE TYPE public.river_job_state AS ENUM (
    'available',
    'cancelled',
    'completed',
    'discarded',
    'pending',
    'retryable',
    'running',
    'scheduled'
);

CREATE TYPE public.version_seen AS (
	key bytea,
	release_key text COLLATE pg_catalog."C",
	version text COLLATE pg_catalog."C",
	release text COLLATE pg_catalog."C"
);

CREATE FUNCTION public.note_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
    insert into changes default values on conflict do nothing;
    return null;
end $$;

CREATE FUNCTION public.river_job_state_in_bitmask(bitmask bit, state public.river_job_state) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT CASE state
        WHEN 'available' THEN get_bit(bitmask, 7)
        WHEN 'cancelled' THEN get_bit(bitmask, 6)
        WHEN 'completed' THEN get_bit(bitmask, 5)
        WHEN 'discarded' THEN get_bit(bitmask, 4)
        WHEN 'pending'   THEN get_bit(bitmask, 3)
        WHEN 'retryable' THEN get_bit(bitmask, 2)
        WHEN 'running'   THEN get_bit(bitmask, 1)
        WHEN 'scheduled' THEN get_bit(bitmask, 0)
        ELSE 0
    END = 1;
$$;

SET default_tablespace = '';

CREATE TABLE public.api_tokens (
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
    CONSTRAINT api_tokens_hash_check CHECK ((length(hash) = 32))
);

ALTER TABLE public.api_tokens ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.api_tokens_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.applied_migrations (
    version integer NOT NULL,
    name text NOT NULL,
    checksum text NOT NULL,
    applied timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE public.archive_facts (
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

CREATE TABLE public.audit_events (
    id bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    person text NOT NULL,
    action text NOT NULL,
    subject text NOT NULL,
    detail jsonb DEFAULT '{}'::jsonb NOT NULL
);

ALTER TABLE public.audit_events ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.audit_events_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.bucket_bugs (
    bucket_id bytea NOT NULL,
    bug_number bigint NOT NULL,
    how text NOT NULL,
    person text NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT bucket_bugs_how_check CHECK ((how = ANY (ARRAY['filed'::text, 'linked'::text])))
);

CREATE TABLE public.bucket_days (
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

CREATE TABLE public.bucket_releases (
    bucket_id bytea NOT NULL,
    release text NOT NULL COLLATE pg_catalog."C",
    first_seen public.occurrence NOT NULL,
    last_seen public.occurrence NOT NULL,
    lowest_version public.package_version,
    highest_version public.package_version
)
WITH (fillfactor='80');

CREATE TABLE public.bucket_systems (
    bucket_id bytea NOT NULL,
    system bigint NOT NULL,
    release text NOT NULL,
    version text NOT NULL,
    reports bigint NOT NULL
);

CREATE TABLE public.bucket_travellers (
    bucket_id bytea NOT NULL,
    version text NOT NULL,
    system bigint NOT NULL,
    extra integer NOT NULL,
    CONSTRAINT bucket_travellers_extra_check CHECK ((extra > 0))
);

CREATE TABLE public.bucket_versions (
    bucket_id bytea NOT NULL,
    release text NOT NULL,
    version text NOT NULL,
    version_key bytea,
    reports bigint NOT NULL,
    systems bigint NOT NULL
)
WITH (fillfactor='80');

CREATE TABLE public.buckets (
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
    first_version public.version_seen,
    last_version public.version_seen,
    first_release public.release_seen,
    last_release public.release_seen,
    changed bigint NOT NULL,
    shrunk bigint DEFAULT 0 NOT NULL,
    CONSTRAINT buckets_id_check CHECK ((length(id) = 20))
)
WITH (fillfactor='80');

CREATE TABLE public.bug_comments (
    bug_number bigint NOT NULL,
    version text NOT NULL,
    bucket_id bytea NOT NULL,
    at timestamp with time zone NOT NULL,
    outcome text NOT NULL,
    words text DEFAULT ''::text NOT NULL,
    CONSTRAINT bug_comments_outcome_check CHECK ((outcome = ANY (ARRAY['sending'::text, 'sent'::text, 'refused'::text, 'unknown'::text])))
);

CREATE TABLE public.bug_states (
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

CREATE TABLE public.bug_templates (
    package text NOT NULL,
    problem_type text NOT NULL,
    body text NOT NULL,
    person text NOT NULL,
    changed timestamp with time zone NOT NULL
);

CREATE TABLE public.bug_watch (
    single boolean DEFAULT true NOT NULL,
    comment boolean DEFAULT false NOT NULL,
    changes_until timestamp with time zone,
    CONSTRAINT bug_watch_single_check CHECK (single)
);

CREATE TABLE public.bugs (
    number bigint NOT NULL,
    title text DEFAULT ''::text NOT NULL,
    url text NOT NULL
);

CREATE TABLE public.changes (
    id bigint NOT NULL,
    xact xid8 DEFAULT pg_current_xact_id() NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL
);

ALTER TABLE public.changes ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.changes_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.core_requests (
    report_id uuid NOT NULL,
    system text NOT NULL,
    requested timestamp with time zone DEFAULT now() NOT NULL,
    received timestamp with time zone
);

CREATE TABLE public.counting (
    single boolean DEFAULT true NOT NULL,
    round bigint NOT NULL,
    CONSTRAINT counting_single_check CHECK (single)
);

CREATE TABLE public.decisions (
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

ALTER TABLE public.decisions ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.decisions_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.dropped_months (
    month date NOT NULL,
    reports bigint NOT NULL,
    dropped timestamp with time zone NOT NULL
);

CREATE TABLE public.filing_attempts (
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
    CONSTRAINT filing_attempts_action_check CHECK ((action = ANY (ARRAY['create'::text, 'search'::text, 'subscribe'::text])))
);

ALTER TABLE public.filing_attempts ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.filing_attempts_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.filing_writer (
    single boolean DEFAULT true NOT NULL,
    ended timestamp with time zone NOT NULL,
    rest interval NOT NULL,
    CONSTRAINT filing_writer_single_check CHECK (single)
);

CREATE TABLE public.filings (
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
    CONSTRAINT filings_check CHECK (((state = 'filed'::text) = (bug_number IS NOT NULL))),
    CONSTRAINT filings_check1 CHECK (((state <> 'filing'::text) OR ((unit IS NOT NULL) AND (claimed IS NOT NULL)))),
    CONSTRAINT filings_state_check CHECK ((state = ANY (ARRAY['queued'::text, 'filing'::text, 'uncertain'::text, 'filed'::text, 'refused'::text, 'abandoned'::text]))),
    CONSTRAINT filings_subscription_check CHECK ((subscription = ANY (ARRAY[''::text, 'due'::text, 'done'::text, 'failed'::text])))
);

ALTER TABLE public.filings ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.filings_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.follow_visits (
    user_id bigint NOT NULL,
    seen timestamp with time zone,
    last timestamp with time zone NOT NULL
);

CREATE TABLE public.followed (
    user_id bigint NOT NULL,
    kind text NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    since timestamp with time zone NOT NULL,
    CONSTRAINT followed_kind_check CHECK ((kind = ANY (ARRAY['package'::text, 'person'::text, 'set'::text])))
);

CREATE TABLE public.known_names (
    address_id bytea NOT NULL,
    bucket_id bytea NOT NULL,
    refused boolean DEFAULT false NOT NULL,
    fresh boolean DEFAULT true NOT NULL,
    CONSTRAINT known_names_address_id_check CHECK ((length(address_id) = 20))
);

CREATE TABLE public.note_texts (
    id bigint NOT NULL,
    note_id bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    person text NOT NULL,
    text text NOT NULL
);

ALTER TABLE public.note_texts ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.note_texts_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.notes (
    id bigint NOT NULL,
    bucket_id bytea NOT NULL,
    written timestamp with time zone NOT NULL,
    person text NOT NULL
);

ALTER TABLE public.notes ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.notes_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.oauth_credentials (
    tracker_url text NOT NULL,
    consumer_key text NOT NULL,
    token text NOT NULL,
    secret_sealed bytea NOT NULL,
    context text NOT NULL,
    person text NOT NULL,
    connected timestamp with time zone NOT NULL
);

CREATE TABLE public.oauth_health (
    tracker_url text NOT NULL,
    consumer_key text NOT NULL,
    token text NOT NULL,
    account text NOT NULL,
    last_success timestamp with time zone,
    last_error text NOT NULL,
    last_error_at timestamp with time zone,
    dead boolean NOT NULL
);

CREATE TABLE public.package_versions (
    package text NOT NULL COLLATE pg_catalog."C",
    release text NOT NULL COLLATE pg_catalog."C",
    version text NOT NULL,
    version_key bytea NOT NULL,
    arrived timestamp with time zone NOT NULL,
    first_day date DEFAULT ((now() AT TIME ZONE 'utc'::text))::date NOT NULL
);

CREATE TABLE public.regroup_moves (
    run_id bigint NOT NULL,
    from_id bytea NOT NULL,
    to_id bytea NOT NULL,
    signature text NOT NULL,
    is_new boolean NOT NULL,
    reports bigint NOT NULL
);

CREATE TABLE public.regroup_runs (
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

ALTER TABLE public.regroup_runs ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.regroup_runs_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.release_active (
    release text NOT NULL,
    day date NOT NULL,
    change bigint NOT NULL
)
WITH (fillfactor='80');

CREATE TABLE public.release_days (
    day date NOT NULL,
    release text NOT NULL,
    architecture text NOT NULL,
    problem_type text NOT NULL,
    proposed boolean NOT NULL,
    reports bigint NOT NULL
)
WITH (fillfactor='80');

CREATE TABLE public.release_systems (
    release text NOT NULL,
    system bigint NOT NULL,
    from_day date NOT NULL,
    until_day date NOT NULL
)
WITH (fillfactor='80');

CREATE TABLE public.releases (
    release text NOT NULL
);

CREATE TABLE public.report_days (
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

CREATE TABLE public.report_keys (
    key bytea NOT NULL,
    report_id uuid NOT NULL,
    CONSTRAINT report_keys_key_check CHECK ((length(key) = 16))
)
PARTITION BY RANGE (key);

CREATE TABLE public.report_keys_1970 (
    key bytea NOT NULL,
    report_id uuid NOT NULL,
    CONSTRAINT report_keys_key_check CHECK ((length(key) = 16))
);

CREATE TABLE public.report_keys_2025 (
    key bytea NOT NULL,
    report_id uuid NOT NULL,
    CONSTRAINT report_keys_key_check CHECK ((length(key) = 16))
);

CREATE TABLE public.report_keys_2026 (
    key bytea NOT NULL,
    report_id uuid NOT NULL,
    CONSTRAINT report_keys_key_check CHECK ((length(key) = 16))
);

CREATE TABLE public.reports (
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
    body bytea NOT NULL
)
PARTITION BY RANGE (received);
ALTER TABLE ONLY public.reports ALTER COLUMN body SET STORAGE EXTERNAL;

CREATE TABLE public.reports_2026_11 (
    id uuid NOT NULL,
    received timestamp with time zone NOT NULL,
    occurred timestamp with time zone,
    day date NOT NULL,
    counted boolean NOT NULL,
    system text NOT NULL,
    system_key bigint,
    bucket_id bytea,
    unbucketed text DEFAULT NULL NOT NULL,
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
    body bytea NOT NULL
);
ALTER TABLE ONLY public.reports_2026_11 ALTER COLUMN body SET STORAGE EXTERNAL;

CREATE TABLE public.reports_2026_12 (
    id uuid NOT NULL,
    received timestamp with time zone NOT NULL,
    occurred timestamp with time zone,
    day date NOT NULL,
    counted boolean NOT NULL,
    system text NOT NULL,
    system_key bigint,
    bucket_id bytea,
    unbucketed text DEFAULT NULL NOT NULL,
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
    body bytea NOT NULL
);
ALTER TABLE ONLY public.reports_2026_12 ALTER COLUMN body SET STORAGE EXTERNAL;

CREATE TABLE public.river_job (
    id bigint NOT NULL,
    state public.river_job_state DEFAULT 'available'::public.river_job_state NOT NULL,
    attempt smallint DEFAULT 0 NOT NULL,
    max_attempts smallint DEFAULT 25 NOT NULL,
    attempted_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    finalized_at timestamp with time zone,
    scheduled_at timestamp with time zone DEFAULT now() NOT NULL,
    priority smallint DEFAULT 1 NOT NULL,
    args jsonb NOT NULL,
    attempted_by text[],
    errors jsonb[],
    kind text NOT NULL,
    metadata jsonb DEFAULT '{}'::jsonb NOT NULL,
    queue text DEFAULT 'default'::text NOT NULL,
    tags character varying(255)[] DEFAULT '{}'::character varying[] NOT NULL,
    unique_key bytea,
    unique_states bit(8),
    CONSTRAINT finalized_or_finalized_at_null CHECK ((((finalized_at IS NULL) AND (state <> ALL (ARRAY['cancelled'::public.river_job_state, 'completed'::public.river_job_state, 'discarded'::public.river_job_state]))) OR ((finalized_at IS NOT NULL) AND (state = ANY (ARRAY['cancelled'::public.river_job_state, 'completed'::public.river_job_state, 'discarded'::public.river_job_state]))))),
    CONSTRAINT kind_length CHECK (((char_length(kind) > 0) AND (char_length(kind) < 128))),
    CONSTRAINT max_attempts_is_positive CHECK ((max_attempts > 0)),
    CONSTRAINT priority_in_range CHECK (((priority >= 1) AND (priority <= 4))),
    CONSTRAINT queue_length CHECK (((char_length(queue) > 0) AND (char_length(queue) < 128)))
);

CREATE SEQUENCE public.river_job_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER SEQUENCE public.river_job_id_seq OWNED BY public.river_job.id;

CREATE UNLOGGED TABLE public.river_leader (
    elected_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    leader_id text NOT NULL,
    name text DEFAULT 'default'::text NOT NULL,
    CONSTRAINT leader_id_length CHECK (((char_length(leader_id) > 0) AND (char_length(leader_id) < 128))),
    CONSTRAINT name_length CHECK ((name = 'default'::text))
);

CREATE TABLE public.river_migration (
    line text NOT NULL,
    version bigint NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT line_length CHECK (((char_length(line) > 0) AND (char_length(line) < 128))),
    CONSTRAINT version_gte_1 CHECK ((version >= 1))
);

CREATE TABLE public.river_notification (
    id bigint NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    payload text NOT NULL,
    topic text NOT NULL,
    CONSTRAINT topic_length CHECK (((length(topic) > 0) AND (length(topic) < 128)))
);

CREATE SEQUENCE public.river_notification_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER SEQUENCE public.river_notification_id_seq OWNED BY public.river_notification.id;

CREATE TABLE public.river_queue (
    name text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    metadata jsonb DEFAULT '{}'::jsonb NOT NULL,
    paused_at timestamp with time zone,
    updated_at timestamp with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL
);

CREATE TABLE public.schema_version (
    version integer NOT NULL
);

CREATE TABLE public.sessions (
    token text NOT NULL,
    data bytea NOT NULL,
    expiry timestamp with time zone NOT NULL,
    user_id bigint
);

CREATE TABLE public.sign_in_failures (
    key text NOT NULL,
    failures integer NOT NULL,
    last timestamp with time zone NOT NULL
);

CREATE TABLE public.split_sources (
    bucket_id bytea NOT NULL,
    decision_id bigint NOT NULL
);

CREATE TABLE public.uncounted (
    id uuid NOT NULL,
    stored timestamp with time zone DEFAULT now() NOT NULL,
    reports uuid[] NOT NULL
);

CREATE TABLE public.unlinked_bugs (
    bucket_id bytea NOT NULL,
    bug_number bigint NOT NULL,
    how text NOT NULL,
    person text NOT NULL,
    at timestamp with time zone NOT NULL,
    unlinked_by text NOT NULL,
    unlinked_at timestamp with time zone NOT NULL,
    CONSTRAINT unlinked_bugs_how_check CHECK ((how = ANY (ARRAY['filed'::text, 'linked'::text])))
);

CREATE TABLE public.users (
    id bigint NOT NULL,
    name text NOT NULL,
    role text NOT NULL,
    password_hash text NOT NULL,
    disabled boolean DEFAULT false NOT NULL,
    created timestamp with time zone NOT NULL,
    last_login timestamp with time zone,
    tracker_name text DEFAULT ''::text NOT NULL,
    CONSTRAINT users_role_check CHECK ((role = ANY (ARRAY['viewer'::text, 'triager'::text, 'admin'::text])))
);

ALTER TABLE public.users ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.users_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

ALTER TABLE ONLY public.report_keys ATTACH PARTITION public.report_keys_1970 FOR VALUES FROM ('\x00000000') TO ('\x01e13380');

ALTER TABLE ONLY public.report_keys ATTACH PARTITION public.report_keys_2025 FOR VALUES FROM ('\x67748580') TO ('\x6955b900');

ALTER TABLE ONLY public.report_keys ATTACH PARTITION public.report_keys_2026 FOR VALUES FROM ('\x6955b900') TO ('\x6b36ec80');

ALTER TABLE ONLY public.reports ATTACH PARTITION public.reports_2026_11 FOR VALUES FROM ('2026-11-01 00:00:00+00') TO ('2026-12-01 00:00:00+00');

ALTER TABLE ONLY public.reports ATTACH PARTITION public.reports_2026_12 FOR VALUES FROM ('2026-12-01 00:00:00+00') TO ('2027-01-01 00:00:00+00');

ALTER TABLE ONLY public.river_job ALTER COLUMN id SET DEFAULT nextval('public.river_job_id_seq'::regclass);

ALTER TABLE ONLY public.river_notification ALTER COLUMN id SET DEFAULT nextval('public.river_notification_id_seq'::regclass);

INSERT INTO public.api_tokens OVERRIDING SYSTEM VALUE VALUES
	(1, 1, '\x58dd63b7e02793d73145ebe25d0df3209f390fb520517529b72d0ab1283449be', 'my script', 'mishap_j7ih', '{read,file}', '2026-11-21 12:00:00+00', '2027-05-21 12:00:00+00', NULL, NULL);

INSERT INTO public.applied_migrations VALUES
	(1, '001_reports.sql', 'cbf6d7b4aadd3435b215c8b378a1c8d1bc3546d9e202c171453acb770f8d58d3', '2026-11-22 06:53:02.651811+00'),
	(2, '002_people.sql', 'b5916460e28f5ca8f467bccfa891f404fe3947b25566519f4c2d8311135cc3da', '2026-11-22 06:53:02.711209+00'),
	(3, '003_filings.sql', '7aef20fb3cf3ac65e8fd69e20f1e31d7c3b385eb295044659eba651a2960a1a6', '2026-11-22 06:53:02.73833+00'),
	(4, '004_bug_states.sql', 'e5fc64acea22eaaa987160bc8e6ecd15125c9a378cf3e9c976d557ede75712b1', '2026-11-22 06:53:02.783276+00'),
	(5, '005_templates.sql', '7e276b6fec229ce55488f2e94f853d4fff007c3eac96a7196b1736ca905170f5', '2026-11-22 06:53:02.809968+00'),
	(6, '006_decisions.sql', '9f6bff86120dacd7f1c99f9066f2096a3a243f0d635b077123cbb42b0fd88cb7', '2026-11-22 06:53:02.815262+00'),
	(7, '007_notes.sql', '92518d7aa541ca40a4bf8bc06dbe4b1beac426beb719f0c8487fdda5a0435370', '2026-11-22 06:53:02.851623+00'),
	(8, '008_api.sql', '7b8239a338ea3993346b4d4ba31844c32cb7473de47421d2371d8309beea1b70', '2026-11-22 06:53:02.86631+00'),
	(9, '009_changes.sql', '4298f64afeb2efb050cc95e5c166322a2376add77df6b2da9c2923062477321e', '2026-11-22 06:53:02.888395+00'),
	(10, '010_followed.sql', '6c53d9cdaa0c8fa2296aa274bbfcb0e43f570210c5390f142eb3473d79b8b35b', '2026-11-22 06:53:02.895679+00'),
	(11, '011_first_and_last_seen.sql', '61718da6cd4522a209986516ef588fa4b816b8b4abd7e8cecb7317b66d8bc910', '2026-11-22 06:53:02.90369+00'),
	(12, '012_evidence.sql', '958697e42efae24c7a2d914c76e321201d4195a61f9f82347949a8ae89eec603', '2026-11-22 06:53:02.919172+00'),
	(13, '013_core_requests.sql', '4f33deb0a14a9da6fd518029a63b03e6d569b9d544d69dc2c6de9df80a51ca88', '2026-11-22 06:53:02.919587+00'),
	(14, '014_package_architecture.sql', '185352d4d01a7399b55e86737d4d3b7f119f94016b3d4072968b6b9e1ba4d689', '2026-11-22 06:53:02.92476+00'),
	(15, '015_real_changes.sql', '3958a32e8280becee4b6a058a605f147f35edee55eee35bb371e19e2ae83d494', '2026-11-22 06:53:02.931164+00'),
	(16, '016_version_first_day.sql', 'f8c0a313a9941a555895dea39d5a58307d489a96a5712db242841df8eb74ae61', '2026-11-22 06:53:02.933122+00');

INSERT INTO public.archive_facts VALUES
	('source', 'harbor', NULL, NULL, '2026-11-21 12:00:00+00', '2026-11-21 12:00:00+00', 0, ''),
	('person', 'ada-lovelace', '{"names": ["harbor"]}', '2026-11-21 12:00:00+00', '2026-11-21 12:00:00+00', '2026-11-21 13:00:00+00', 0, '');

INSERT INTO public.audit_events OVERRIDING SYSTEM VALUE VALUES
	(1, '2026-11-21 12:00:00+00', '', 'problem.merge', 'b3ffb9c204d4eaee8e9913abc981a745e9f99f99', '{"into": "ea4a4b4e488cf5453743adcbabef3ced40d80498", "cause": "symbolised", "reason": "A report with the same addresses has brought the names of the functions."}'),
	(2, '2026-11-21 12:00:00+00', '', 'user.add', 'ada', '{"role": "admin"}'),
	(3, '2026-11-21 12:00:00+00', '', 'user.add', 'bob', '{"role": "triager"}'),
	(4, '2026-11-21 12:00:00+00', '', 'user.add', 'cleo', '{"role": "viewer"}'),
	(5, '2026-11-21 12:00:00+00', 'ada', 'user.tracker-name', 'ada', '{"tracker_name": "ada-lovelace"}'),
	(6, '2026-11-21 12:00:00+00', 'ada', 'user.disable', 'cleo', '{}'),
	(7, '2026-11-21 12:00:00+00', 'ada', 'token.add', 'ada', '{"hint": "mishap_j7ih", "scopes": ["read", "file"]}'),
	(8, '2026-11-21 12:00:00+00', 'ada', 'problem.merge', '3eb5e260977a13d2b5e92517a4edb18ecf3b9114', '{"into": "585f1620d78fe7dfdce424a203b59e981ba59c13", "cause": "person", "reason": "one fault"}'),
	(9, '2026-11-21 12:00:00+00', 'ada', 'problem.merge', '20909a063b6845e6168427dbc1341585c9107850', '{"into": "a2677c6f29f00463517a4d5f56b26ade0199978c", "cause": "person", "reason": "one fault"}'),
	(10, '2026-11-21 12:00:00+00', 'bob', 'problem.unmerge', '20909a063b6845e6168427dbc1341585c9107850', '{"decision": 3}'),
	(11, '2026-11-21 12:00:00+00', 'ada', 'problem.rename', '585f1620d78fe7dfdce424a203b59e981ba59c13', '{"after": "The sync falls over", "before": ""}'),
	(12, '2026-11-21 12:00:00+00', 'ada', 'problem.split', 'e5b7700d5ec2cc402f94d9e6f29c67973b952660', '{"into": "377cdfea17d7c7be6610e2ee0dce82162a25e3f4", "reason": "they are different", "condition": "architecture arm64"}'),
	(13, '2026-11-21 12:00:00+00', 'ada', 'bug.create', '585f1620d78fe7dfdce424a203b59e981ba59c13', '{"filing": 1, "target": "/ubuntu"}'),
	(14, '2026-11-21 12:00:00+00', '', 'bug.filed', '585f1620d78fe7dfdce424a203b59e981ba59c13', '{"bug": 2100001, "filing": 1}'),
	(15, '2026-11-21 12:00:00+00', 'ada', 'bug.create', 'c0bbe80da45484ddfbb66d7af43af605e6b83a4a', '{"filing": 2, "target": "/ubuntu"}'),
	(16, '2026-11-21 12:00:00+00', 'ada', 'bug.create', '6e51a0881b233d187984c9704cea4c959707cc78', '{"filing": 3, "target": "/ubuntu"}'),
	(17, '2026-11-21 12:00:00+00', 'bob', 'bug.link', '20909a063b6845e6168427dbc1341585c9107850', '{"bug": 7}'),
	(18, '2026-11-21 12:00:00+00', 'bob', 'bug.link', '20909a063b6845e6168427dbc1341585c9107850', '{"bug": 8}'),
	(19, '2026-11-21 12:00:00+00', 'bob', 'bug.link', '20909a063b6845e6168427dbc1341585c9107850', '{"bug": 9}'),
	(20, '2026-11-21 12:00:00+00', 'bob', 'bug.unlink', '20909a063b6845e6168427dbc1341585c9107850', '{"at": "2026-11-22T06:59:50.005675Z", "bug": 9, "how": "linked", "person": "bob"}'),
	(21, '2026-11-21 12:00:00+00', 'ada', 'template.save', 'harbor/', '{"body": "{description}"}'),
	(22, '2026-11-21 12:00:00+00', 'ada', 'tracker.connect', 'https://tracker.example', '{"token": "token", "context": "", "consumer_key": "mishap"}'),
	(23, '2026-11-21 12:00:00+00', 'ada', 'regroup.start', 'reports', '{"dry": true, "run": 1, "rules": 3}'),
	(24, '2026-11-21 12:00:00+00', 'ada', 'regroup.stop', 'reports', '{"run": 1}');

INSERT INTO public.bucket_bugs VALUES
	('\x585f1620d78fe7dfdce424a203b59e981ba59c13', 2100001, 'filed', '', '2026-11-22 06:59:49.975716+00'),
	('\x20909a063b6845e6168427dbc1341585c9107850', 7, 'linked', 'bob', '2026-11-22 06:59:49.983961+00'),
	('\x20909a063b6845e6168427dbc1341585c9107850', 8, 'linked', 'bob', '2026-11-22 06:59:49.99259+00');

INSERT INTO public.bucket_days VALUES
	('\xb802f384302cb24fbab0a44997e820bf2e8507bb', '2026-05-02', '', '2:0.9', 'arm64', 1, 1, 2, 'i386'),
	('\xed6859e7042fb4541ad109d3988899c8b03879c8', '2026-11-21', 'Ubuntu 24.04', '1.00-1', 'amd64', 1, 1, 3, 'amd64'),
	('\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', '2025-11-25', 'Debian 13', '1.0-1', 'amd64', 1, 1, 4, ''),
	('\xad782ecdac770fc6eb9a62e44f90873fb97fb26b', '2026-06-11', '', '1.10', 'amd64', 1, 1, 6, ''),
	('\xed6859e7042fb4541ad109d3988899c8b03879c8', '2026-07-07', 'Ubuntu 9.10 derivative', 'not', 'arm64', 1, 1, 7, 'i386'),
	('\xed6859e7042fb4541ad109d3988899c8b03879c8', '2026-07-23', 'Ubuntu 26.04', '1.00-1', 'amd64', 1, 1, 9, 'i386'),
	('\xb802f384302cb24fbab0a44997e820bf2e8507bb', '2026-07-18', 'Ubuntu 9.10 derivative', '', 'arm64', 1, 0, 10, 'i386'),
	('\xad782ecdac770fc6eb9a62e44f90873fb97fb26b', '2026-10-15', 'Ubuntu 9.10 derivative', '1.0~rc1-1', 'amd64', 1, 0, 11, 'amd64'),
	('\xed6859e7042fb4541ad109d3988899c8b03879c8', '2026-11-21', 'Ubuntu 24.04', '', 'amd64', 1, 0, 13, ''),
	('\xb802f384302cb24fbab0a44997e820bf2e8507bb', '2026-08-20', 'Ubuntu 9.10 derivative', '1.0~rc1-1', 'arm64', 1, 1, 14, 'arm64'),
	('\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', '2026-07-06', '', '', 'amd64', 1, 1, 15, 'i386'),
	('\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', '2026-03-15', '', '', 'arm64', 1, 1, 16, 'arm64'),
	('\xad782ecdac770fc6eb9a62e44f90873fb97fb26b', '2026-03-12', 'Debian 13', '', 'arm64', 1, 1, 17, ''),
	('\x0ecf320a93475e8d81fcf2e44f5f690c49c8e085', '2026-06-15', 'Ubuntu 26.04', 'not', 'amd64', 1, 0, 18, ''),
	('\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', '2026-04-20', 'Ubuntu 26.04', '1.0-1', 'amd64', 1, 0, 19, ''),
	('\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', '2026-11-21', '', '1.10', 'amd64', 1, 1, 20, 'amd64'),
	('\xed6859e7042fb4541ad109d3988899c8b03879c8', '2025-12-30', 'Ubuntu 26.04', 'not', 'arm64', 1, 1, 21, 'arm64'),
	('\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', '2026-11-21', 'Ubuntu 26.04', '1.00-1', 'arm64', 1, 1, 22, ''),
	('\xb802f384302cb24fbab0a44997e820bf2e8507bb', '2026-03-31', 'Ubuntu 26.04', '1.0-1', 'arm64', 1, 1, 23, 'i386'),
	('\xad782ecdac770fc6eb9a62e44f90873fb97fb26b', '2026-11-21', '', '1.00-1', 'arm64', 1, 1, 24, 'i386'),
	('\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', '2026-03-01', 'Ubuntu 26.04', '2:0.9', 'amd64', 1, 1, 27, 'amd64'),
	('\x0ecf320a93475e8d81fcf2e44f5f690c49c8e085', '2026-04-02', 'Debian 13', '1.00-1', 'amd64', 1, 1, 28, 'i386'),
	('\xb802f384302cb24fbab0a44997e820bf2e8507bb', '2026-04-03', 'Debian 13', 'not', 'amd64', 1, 0, 29, 'amd64'),
	('\xad782ecdac770fc6eb9a62e44f90873fb97fb26b', '2026-09-12', '', 'not', 'arm64', 1, 0, 31, ''),
	('\xad782ecdac770fc6eb9a62e44f90873fb97fb26b', '2025-12-18', '', '1.0-1', 'arm64', 1, 1, 33, 'arm64'),
	('\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', '2026-11-21', 'Debian 13', '1.0-1', 'arm64', 1, 1, 34, 'arm64'),
	('\xed6859e7042fb4541ad109d3988899c8b03879c8', '2026-11-21', 'Ubuntu 24.04', '2:0.9', 'amd64', 1, 0, 35, ''),
	('\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', '2026-04-16', 'Debian 13', '', 'amd64', 1, 1, 37, 'amd64'),
	('\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', '2026-11-21', 'Ubuntu 24.04', '1.00-1', 'amd64', 1, 0, 38, 'amd64'),
	('\xb802f384302cb24fbab0a44997e820bf2e8507bb', '2026-11-21', 'Ubuntu 9.10 derivative', '1.0~rc1-1', 'amd64', 1, 0, 39, ''),
	('\xed6859e7042fb4541ad109d3988899c8b03879c8', '2026-11-01', 'Ubuntu 26.04', '1.0-1', 'arm64', 1, 0, 40, ''),
	('\x585f1620d78fe7dfdce424a203b59e981ba59c13', '2026-11-21', 'Ubuntu 24.04', '1.0-1', 'amd64', 1, 0, 42, ''),
	('\x20909a063b6845e6168427dbc1341585c9107850', '2026-11-21', 'Ubuntu 24.04', '1.0-1', 'amd64', 1, 0, 43, ''),
	('\xa2677c6f29f00463517a4d5f56b26ade0199978c', '2026-11-21', 'Ubuntu 24.04', '1.0-1', 'amd64', 1, 0, 44, ''),
	('\xc0bbe80da45484ddfbb66d7af43af605e6b83a4a', '2026-11-21', 'Ubuntu 24.04', '1.0-1', 'amd64', 1, 0, 45, ''),
	('\x6e51a0881b233d187984c9704cea4c959707cc78', '2026-11-21', 'Ubuntu 24.04', '1.0-1', 'amd64', 1, 0, 46, ''),
	('\x3eb5e260977a13d2b5e92517a4edb18ecf3b9114', '2026-11-21', 'Ubuntu 24.04', '1.0-1', 'amd64', 5, 0, 50, ''),
	('\x0ecf320a93475e8d81fcf2e44f5f690c49c8e085', '2026-11-21', 'Ubuntu 24.04', '1.0-1', 'amd64', 1, 0, 51, ''),
	('\xb3ffb9c204d4eaee8e9913abc981a745e9f99f99', '2026-11-21', 'Ubuntu 24.04', '1.0-1', 'amd64', 1, 0, 52, ''),
	('\xea4a4b4e488cf5453743adcbabef3ced40d80498', '2026-11-21', 'Ubuntu 24.04', '1.0-1', 'amd64', 1, 0, 53, ''),
	('\xe5b7700d5ec2cc402f94d9e6f29c67973b952660', '2026-11-21', 'Ubuntu 24.04', '1.0-1', 'amd64', 3, 0, 58, ''),
	('\x377cdfea17d7c7be6610e2ee0dce82162a25e3f4', '2026-11-21', 'Ubuntu 24.04', '1.0-1', 'arm64', 3, 0, 65, '');

INSERT INTO public.bucket_releases VALUES
	('\xb802f384302cb24fbab0a44997e820bf2e8507bb', '', '("2026-05-02 12:04:23+00","\\x013202006502013902020002",2:0.9)', '("2026-05-02 12:04:23+00","\\x013202006502013902020002",2:0.9)', '("\\x013202006502013902020002",2:0.9)', '("\\x013202006502013902020002",2:0.9)'),
	('\xed6859e7042fb4541ad109d3988899c8b03879c8', 'Ubuntu 9.10 derivative', '("2026-07-07 12:43:14+00","\\x",not)', '("2026-07-07 12:43:14+00","\\x",not)', NULL, NULL),
	('\xad782ecdac770fc6eb9a62e44f90873fb97fb26b', 'Ubuntu 9.10 derivative', '("2026-10-15 12:01:19+00","\\x00020131650200012e1f0201310202013102",1.0~rc1-1)', '("2026-10-15 12:01:19+00","\\x00020131650200012e1f0201310202013102",1.0~rc1-1)', '("\\x00020131650200012e1f0201310202013102",1.0~rc1-1)', '("\\x00020131650200012e1f0201310202013102",1.0~rc1-1)'),
	('\xad782ecdac770fc6eb9a62e44f90873fb97fb26b', 'Debian 13', '("2026-03-12 12:48:28+00","\\x","")', '("2026-03-12 12:48:28+00","\\x","")', NULL, NULL),
	('\x0ecf320a93475e8d81fcf2e44f5f690c49c8e085', 'Ubuntu 26.04', '("2026-06-15 12:15:35+00","\\x",not)', '("2026-06-15 12:15:35+00","\\x",not)', NULL, NULL),
	('\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', '', '("2026-03-15 12:24:27+00","\\x","")', '("2026-11-21 12:00:00.527+00","\\x00020131650202313002020002",1.10)', '("\\x00020131650202313002020002",1.10)', '("\\x00020131650202313002020002",1.10)'),
	('\xb802f384302cb24fbab0a44997e820bf2e8507bb', 'Ubuntu 26.04', '("2026-03-31 12:03:26+00","\\x000201316502000202013102",1.0-1)', '("2026-03-31 12:03:26+00","\\x000201316502000202013102",1.0-1)', '("\\x000201316502000202013102",1.0-1)', '("\\x000201316502000202013102",1.0-1)'),
	('\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', 'Ubuntu 26.04', '("2026-03-01 12:03:27+00","\\x013202006502013902020002",2:0.9)', '("2026-11-21 12:00:00.391+00","\\x000201316502000202013102",1.00-1)', '("\\x000201316502000202013102",1.0-1)', '("\\x013202006502013902020002",2:0.9)'),
	('\x0ecf320a93475e8d81fcf2e44f5f690c49c8e085', 'Debian 13', '("2026-04-02 12:58:31+00","\\x000201316502000202013102",1.00-1)', '("2026-04-02 12:58:31+00","\\x000201316502000202013102",1.00-1)', '("\\x000201316502000202013102",1.00-1)', '("\\x000201316502000202013102",1.00-1)'),
	('\xb802f384302cb24fbab0a44997e820bf2e8507bb', 'Debian 13', '("2026-04-03 12:53:23+00","\\x",not)', '("2026-04-03 12:53:23+00","\\x",not)', NULL, NULL),
	('\xad782ecdac770fc6eb9a62e44f90873fb97fb26b', '', '("2025-12-18 12:10:10+00","\\x000201316502000202013102",1.0-1)', '("2026-11-21 12:00:00.851+00","\\x000201316502000202013102",1.00-1)', '("\\x000201316502000202013102",1.0-1)', '("\\x00020131650202313002020002",1.10)'),
	('\xed6859e7042fb4541ad109d3988899c8b03879c8', 'Ubuntu 24.04', '("2026-11-21 12:00:00.165+00","\\x013202006502013902020002",2:0.9)', '("2026-11-21 12:00:00.911+00","\\x","")', '("\\x000201316502000202013102",1.00-1)', '("\\x013202006502013902020002",2:0.9)'),
	('\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', 'Debian 13', '("2025-11-25 12:50:35+00","\\x000201316502000202013102",1.0-1)', '("2026-11-21 12:00:00.568+00","\\x000201316502000202013102",1.0-1)', '("\\x000201316502000202013102",1.0-1)', '("\\x000201316502000202013102",1.0-1)'),
	('\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', 'Ubuntu 24.04', '("2026-11-21 12:00:00.824+00","\\x000201316502000202013102",1.00-1)', '("2026-11-21 12:00:00.824+00","\\x000201316502000202013102",1.00-1)', '("\\x000201316502000202013102",1.00-1)', '("\\x000201316502000202013102",1.00-1)'),
	('\xb802f384302cb24fbab0a44997e820bf2e8507bb', 'Ubuntu 9.10 derivative', '("2026-07-18 12:06:33+00","\\x","")', '("2026-11-21 12:00:00.451+00","\\x00020131650200012e1f0201310202013102",1.0~rc1-1)', '("\\x00020131650200012e1f0201310202013102",1.0~rc1-1)', '("\\x00020131650200012e1f0201310202013102",1.0~rc1-1)'),
	('\xed6859e7042fb4541ad109d3988899c8b03879c8', 'Ubuntu 26.04', '("2025-12-30 12:02:59+00","\\x",not)', '("2026-11-01 12:10:18+00","\\x000201316502000202013102",1.0-1)', '("\\x000201316502000202013102",1.0-1)', '("\\x000201316502000202013102",1.00-1)'),
	('\x585f1620d78fe7dfdce424a203b59e981ba59c13', 'Ubuntu 24.04', '("2026-11-21 12:00:00+00","\\x000201316502000202013102",1.0-1)', '("2026-11-21 12:00:00+00","\\x000201316502000202013102",1.0-1)', '("\\x000201316502000202013102",1.0-1)', '("\\x000201316502000202013102",1.0-1)'),
	('\x20909a063b6845e6168427dbc1341585c9107850', 'Ubuntu 24.04', '("2026-11-21 12:00:00+00","\\x000201316502000202013102",1.0-1)', '("2026-11-21 12:00:00+00","\\x000201316502000202013102",1.0-1)', '("\\x000201316502000202013102",1.0-1)', '("\\x000201316502000202013102",1.0-1)'),
	('\xa2677c6f29f00463517a4d5f56b26ade0199978c', 'Ubuntu 24.04', '("2026-11-21 12:00:00+00","\\x000201316502000202013102",1.0-1)', '("2026-11-21 12:00:00+00","\\x000201316502000202013102",1.0-1)', '("\\x000201316502000202013102",1.0-1)', '("\\x000201316502000202013102",1.0-1)'),
	('\xc0bbe80da45484ddfbb66d7af43af605e6b83a4a', 'Ubuntu 24.04', '("2026-11-21 12:00:00+00","\\x000201316502000202013102",1.0-1)', '("2026-11-21 12:00:00+00","\\x000201316502000202013102",1.0-1)', '("\\x000201316502000202013102",1.0-1)', '("\\x000201316502000202013102",1.0-1)'),
	('\x6e51a0881b233d187984c9704cea4c959707cc78', 'Ubuntu 24.04', '("2026-11-21 12:00:00+00","\\x000201316502000202013102",1.0-1)', '("2026-11-21 12:00:00+00","\\x000201316502000202013102",1.0-1)', '("\\x000201316502000202013102",1.0-1)', '("\\x000201316502000202013102",1.0-1)'),
	('\x3eb5e260977a13d2b5e92517a4edb18ecf3b9114', 'Ubuntu 24.04', '("2026-11-21 12:00:00+00","\\x000201316502000202013102",1.0-1)', '("2026-11-21 12:00:00+00","\\x000201316502000202013102",1.0-1)', '("\\x000201316502000202013102",1.0-1)', '("\\x000201316502000202013102",1.0-1)'),
	('\x0ecf320a93475e8d81fcf2e44f5f690c49c8e085', 'Ubuntu 24.04', '("2026-11-21 12:00:00+00","\\x000201316502000202013102",1.0-1)', '("2026-11-21 12:00:00+00","\\x000201316502000202013102",1.0-1)', '("\\x000201316502000202013102",1.0-1)', '("\\x000201316502000202013102",1.0-1)'),
	('\xb3ffb9c204d4eaee8e9913abc981a745e9f99f99', 'Ubuntu 24.04', '("2026-11-21 12:00:00+00","\\x000201316502000202013102",1.0-1)', '("2026-11-21 12:00:00+00","\\x000201316502000202013102",1.0-1)', '("\\x000201316502000202013102",1.0-1)', '("\\x000201316502000202013102",1.0-1)'),
	('\xea4a4b4e488cf5453743adcbabef3ced40d80498', 'Ubuntu 24.04', '("2026-11-21 12:00:00+00","\\x000201316502000202013102",1.0-1)', '("2026-11-21 12:00:00+00","\\x000201316502000202013102",1.0-1)', '("\\x000201316502000202013102",1.0-1)', '("\\x000201316502000202013102",1.0-1)'),
	('\x377cdfea17d7c7be6610e2ee0dce82162a25e3f4', 'Ubuntu 24.04', '("2026-11-21 12:00:00+00","\\x000201316502000202013102",1.0-1)', '("2026-11-21 12:00:00+00","\\x000201316502000202013102",1.0-1)', '("\\x000201316502000202013102",1.0-1)', '("\\x000201316502000202013102",1.0-1)'),
	('\xe5b7700d5ec2cc402f94d9e6f29c67973b952660', 'Ubuntu 24.04', '("2026-11-21 12:00:00+00","\\x000201316502000202013102",1.0-1)', '("2026-11-21 12:00:00+00","\\x000201316502000202013102",1.0-1)', '("\\x000201316502000202013102",1.0-1)', '("\\x000201316502000202013102",1.0-1)');

INSERT INTO public.bucket_systems VALUES
	('\xed6859e7042fb4541ad109d3988899c8b03879c8', 8624243251692164259, 'Ubuntu 24.04', '1.00-1', 1),
	('\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', 8624243251692164259, 'Debian 13', '1.0-1', 1),
	('\xed6859e7042fb4541ad109d3988899c8b03879c8', 7118926252799043119, 'Ubuntu 9.10 derivative', 'not', 1),
	('\xed6859e7042fb4541ad109d3988899c8b03879c8', 8624243251692164259, 'Ubuntu 26.04', '1.00-1', 1),
	('\xb802f384302cb24fbab0a44997e820bf2e8507bb', 8624243251692164259, 'Ubuntu 9.10 derivative', '', 1),
	('\xad782ecdac770fc6eb9a62e44f90873fb97fb26b', -3646974585513546264, 'Ubuntu 9.10 derivative', '1.0~rc1-1', 1),
	('\xed6859e7042fb4541ad109d3988899c8b03879c8', 8624243251692164259, 'Ubuntu 24.04', '', 1),
	('\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', 7467868911663076974, '', '', 1),
	('\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', 7118926252799043119, '', '', 1),
	('\xad782ecdac770fc6eb9a62e44f90873fb97fb26b', 7118926252799043119, 'Debian 13', '', 1),
	('\x0ecf320a93475e8d81fcf2e44f5f690c49c8e085', -3646974585513546264, 'Ubuntu 26.04', 'not', 1),
	('\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', 8624243251692164259, 'Ubuntu 26.04', '1.0-1', 1),
	('\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', 7467868911663076974, '', '1.10', 1),
	('\xad782ecdac770fc6eb9a62e44f90873fb97fb26b', -3646974585513546264, '', '1.00-1', 1),
	('\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', -3646974585513546264, 'Ubuntu 26.04', '2:0.9', 1),
	('\x0ecf320a93475e8d81fcf2e44f5f690c49c8e085', -3646974585513546264, 'Debian 13', '1.00-1', 1),
	('\xb802f384302cb24fbab0a44997e820bf2e8507bb', 7467868911663076974, 'Debian 13', 'not', 1),
	('\xad782ecdac770fc6eb9a62e44f90873fb97fb26b', -3646974585513546264, '', 'not', 1),
	('\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', -3646974585513546264, 'Debian 13', '1.0-1', 1),
	('\xed6859e7042fb4541ad109d3988899c8b03879c8', 7467868911663076974, 'Ubuntu 24.04', '2:0.9', 1),
	('\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', 7467868911663076974, 'Debian 13', '', 1),
	('\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', -3646974585513546264, 'Ubuntu 24.04', '1.00-1', 1),
	('\xb802f384302cb24fbab0a44997e820bf2e8507bb', 7467868911663076974, 'Ubuntu 9.10 derivative', '1.0~rc1-1', 2),
	('\xed6859e7042fb4541ad109d3988899c8b03879c8', -3646974585513546264, 'Ubuntu 26.04', '1.0-1', 1),
	('\x3eb5e260977a13d2b5e92517a4edb18ecf3b9114', 960314294414211506, 'Ubuntu 24.04', '1.0-1', 1),
	('\x585f1620d78fe7dfdce424a203b59e981ba59c13', 960314294414211506, 'Ubuntu 24.04', '1.0-1', 1),
	('\x20909a063b6845e6168427dbc1341585c9107850', 960314294414211506, 'Ubuntu 24.04', '1.0-1', 1),
	('\xa2677c6f29f00463517a4d5f56b26ade0199978c', 960314294414211506, 'Ubuntu 24.04', '1.0-1', 1),
	('\xc0bbe80da45484ddfbb66d7af43af605e6b83a4a', 960314294414211506, 'Ubuntu 24.04', '1.0-1', 1),
	('\x6e51a0881b233d187984c9704cea4c959707cc78', 960314294414211506, 'Ubuntu 24.04', '1.0-1', 1),
	('\x3eb5e260977a13d2b5e92517a4edb18ecf3b9114', -4608406449694850073, 'Ubuntu 24.04', '1.0-1', 1),
	('\x3eb5e260977a13d2b5e92517a4edb18ecf3b9114', -3860108620367732908, 'Ubuntu 24.04', '1.0-1', 1),
	('\x3eb5e260977a13d2b5e92517a4edb18ecf3b9114', -7520849527226039753, 'Ubuntu 24.04', '1.0-1', 1),
	('\x3eb5e260977a13d2b5e92517a4edb18ecf3b9114', 5416793321232141871, 'Ubuntu 24.04', '1.0-1', 1),
	('\x0ecf320a93475e8d81fcf2e44f5f690c49c8e085', -4899342218789532909, 'Ubuntu 24.04', '1.0-1', 1),
	('\xb3ffb9c204d4eaee8e9913abc981a745e9f99f99', -4554613533220127328, 'Ubuntu 24.04', '1.0-1', 1),
	('\xea4a4b4e488cf5453743adcbabef3ced40d80498', -8552116761582013424, 'Ubuntu 24.04', '1.0-1', 1),
	('\xe5b7700d5ec2cc402f94d9e6f29c67973b952660', -326343477004963435, 'Ubuntu 24.04', '1.0-1', 1),
	('\xe5b7700d5ec2cc402f94d9e6f29c67973b952660', 607877347802521158, 'Ubuntu 24.04', '1.0-1', 1),
	('\xe5b7700d5ec2cc402f94d9e6f29c67973b952660', -720505204335836334, 'Ubuntu 24.04', '1.0-1', 1),
	('\x377cdfea17d7c7be6610e2ee0dce82162a25e3f4', -8063888576249931513, 'Ubuntu 24.04', '1.0-1', 1),
	('\x377cdfea17d7c7be6610e2ee0dce82162a25e3f4', -7409291755749674535, 'Ubuntu 24.04', '1.0-1', 1),
	('\x377cdfea17d7c7be6610e2ee0dce82162a25e3f4', 3095481748005705659, 'Ubuntu 24.04', '1.0-1', 1);

INSERT INTO public.bucket_travellers VALUES
	('\xed6859e7042fb4541ad109d3988899c8b03879c8', '1.00-1', 8624243251692164259, 1),
	('\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', '1.0-1', 8624243251692164259, 1),
	('\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', '', 7467868911663076974, 1);

INSERT INTO public.bucket_versions VALUES
	('\xb802f384302cb24fbab0a44997e820bf2e8507bb', '', '2:0.9', '\x013202006502013902020002', 1, 0),
	('\xed6859e7042fb4541ad109d3988899c8b03879c8', 'Ubuntu 24.04', '1.00-1', '\x000201316502000202013102', 1, 1),
	('\xad782ecdac770fc6eb9a62e44f90873fb97fb26b', '', '1.10', '\x00020131650202313002020002', 1, 0),
	('\xed6859e7042fb4541ad109d3988899c8b03879c8', 'Ubuntu 9.10 derivative', 'not', NULL, 1, 1),
	('\xed6859e7042fb4541ad109d3988899c8b03879c8', 'Ubuntu 26.04', '1.00-1', '\x000201316502000202013102', 1, 1),
	('\xb802f384302cb24fbab0a44997e820bf2e8507bb', 'Ubuntu 9.10 derivative', '', NULL, 1, 1),
	('\xad782ecdac770fc6eb9a62e44f90873fb97fb26b', 'Ubuntu 9.10 derivative', '1.0~rc1-1', '\x00020131650200012e1f0201310202013102', 1, 1),
	('\xed6859e7042fb4541ad109d3988899c8b03879c8', 'Ubuntu 24.04', '', NULL, 1, 1),
	('\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', '', '', NULL, 2, 2),
	('\xad782ecdac770fc6eb9a62e44f90873fb97fb26b', 'Debian 13', '', NULL, 1, 1),
	('\x0ecf320a93475e8d81fcf2e44f5f690c49c8e085', 'Ubuntu 26.04', 'not', NULL, 1, 1),
	('\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', 'Ubuntu 26.04', '1.0-1', '\x000201316502000202013102', 1, 1),
	('\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', '', '1.10', '\x00020131650202313002020002', 1, 1),
	('\xed6859e7042fb4541ad109d3988899c8b03879c8', 'Ubuntu 26.04', 'not', NULL, 1, 0),
	('\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', 'Ubuntu 26.04', '1.00-1', '\x000201316502000202013102', 1, 0),
	('\xb802f384302cb24fbab0a44997e820bf2e8507bb', 'Ubuntu 26.04', '1.0-1', '\x000201316502000202013102', 1, 0),
	('\xad782ecdac770fc6eb9a62e44f90873fb97fb26b', '', '1.00-1', '\x000201316502000202013102', 1, 1),
	('\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', 'Ubuntu 26.04', '2:0.9', '\x013202006502013902020002', 1, 1),
	('\x0ecf320a93475e8d81fcf2e44f5f690c49c8e085', 'Debian 13', '1.00-1', '\x000201316502000202013102', 1, 1),
	('\xb802f384302cb24fbab0a44997e820bf2e8507bb', 'Debian 13', 'not', NULL, 1, 1),
	('\xad782ecdac770fc6eb9a62e44f90873fb97fb26b', '', 'not', NULL, 1, 1),
	('\xad782ecdac770fc6eb9a62e44f90873fb97fb26b', '', '1.0-1', '\x000201316502000202013102', 1, 0),
	('\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', 'Debian 13', '1.0-1', '\x000201316502000202013102', 2, 2),
	('\xed6859e7042fb4541ad109d3988899c8b03879c8', 'Ubuntu 24.04', '2:0.9', '\x013202006502013902020002', 1, 1),
	('\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', 'Debian 13', '', NULL, 1, 1),
	('\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', 'Ubuntu 24.04', '1.00-1', '\x000201316502000202013102', 1, 1),
	('\xb802f384302cb24fbab0a44997e820bf2e8507bb', 'Ubuntu 9.10 derivative', '1.0~rc1-1', '\x00020131650200012e1f0201310202013102', 2, 1),
	('\xed6859e7042fb4541ad109d3988899c8b03879c8', 'Ubuntu 26.04', '1.0-1', '\x000201316502000202013102', 1, 1),
	('\x585f1620d78fe7dfdce424a203b59e981ba59c13', 'Ubuntu 24.04', '1.0-1', '\x000201316502000202013102', 1, 1),
	('\x20909a063b6845e6168427dbc1341585c9107850', 'Ubuntu 24.04', '1.0-1', '\x000201316502000202013102', 1, 1),
	('\xa2677c6f29f00463517a4d5f56b26ade0199978c', 'Ubuntu 24.04', '1.0-1', '\x000201316502000202013102', 1, 1),
	('\xc0bbe80da45484ddfbb66d7af43af605e6b83a4a', 'Ubuntu 24.04', '1.0-1', '\x000201316502000202013102', 1, 1),
	('\x6e51a0881b233d187984c9704cea4c959707cc78', 'Ubuntu 24.04', '1.0-1', '\x000201316502000202013102', 1, 1),
	('\x3eb5e260977a13d2b5e92517a4edb18ecf3b9114', 'Ubuntu 24.04', '1.0-1', '\x000201316502000202013102', 5, 5),
	('\x0ecf320a93475e8d81fcf2e44f5f690c49c8e085', 'Ubuntu 24.04', '1.0-1', '\x000201316502000202013102', 1, 1),
	('\xb3ffb9c204d4eaee8e9913abc981a745e9f99f99', 'Ubuntu 24.04', '1.0-1', '\x000201316502000202013102', 1, 1),
	('\xea4a4b4e488cf5453743adcbabef3ced40d80498', 'Ubuntu 24.04', '1.0-1', '\x000201316502000202013102', 1, 1),
	('\xe5b7700d5ec2cc402f94d9e6f29c67973b952660', 'Ubuntu 24.04', '1.0-1', '\x000201316502000202013102', 3, 3),
	('\x377cdfea17d7c7be6610e2ee0dce82162a25e3f4', 'Ubuntu 24.04', '1.0-1', '\x000201316502000202013102', 3, 3);

INSERT INTO public.buckets VALUES
	('\xad782ecdac770fc6eb9a62e44f90873fb97fb26b', '\xad782ecdac770fc6eb9a62e44f90873fb97fb26b', 'two', 'duplicate-signature', false, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '', '/usr/bin/harbor-sync', 'harbor', 'harbor', 6, 2, '("\\x00020131650200012e1f0201310202013102","ubuntu 019 0210 derivative",1.0~rc1-1,"Ubuntu 9.10 derivative")', '("\\x00020131650202313002020002","",1.10,"")', '("debian 0213","Debian 13")', '("ubuntu 019 0210 derivative","Ubuntu 9.10 derivative")', 33, 0),
	('\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', '\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', 'one', 'duplicate-signature', false, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '', '/usr/bin/harbor-sync', 'harbor', 'harbor', 10, 4, '("\\x000201316502000202013102","debian 0213",1.0-1,"Debian 13")', '("\\x013202006502013902020002","ubuntu 0226 014",2:0.9,"Ubuntu 26.04")', '("debian 0213","Debian 13")', '("ubuntu 0226 014","Ubuntu 26.04")', 38, 0),
	('\xb802f384302cb24fbab0a44997e820bf2e8507bb', '\xb802f384302cb24fbab0a44997e820bf2e8507bb', 'three', 'duplicate-signature', false, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '', '/usr/bin/harbor-sync', 'harbor', 'harbor', 6, 2, '("\\x00020131650200012e1f0201310202013102","ubuntu 019 0210 derivative",1.0~rc1-1,"Ubuntu 9.10 derivative")', '("\\x013202006502013902020002","",2:0.9,"")', '("debian 0213","Debian 13")', '("ubuntu 0226 014","Ubuntu 26.04")', 39, 0),
	('\xed6859e7042fb4541ad109d3988899c8b03879c8', '\xed6859e7042fb4541ad109d3988899c8b03879c8', 'four
lines ''quoted'' %41', 'duplicate-signature', false, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '', '/usr/bin/harbor-sync', 'harbor', 'harbor', 7, 4, '("\\x000201316502000202013102","ubuntu 0224 014",1.00-1,"Ubuntu 24.04")', '("\\x013202006502013902020002","ubuntu 0224 014",2:0.9,"Ubuntu 24.04")', '("ubuntu 019 0210 derivative","Ubuntu 9.10 derivative")', '("ubuntu 0226 014","Ubuntu 26.04")', 40, 0),
	('\xc0bbe80da45484ddfbb66d7af43af605e6b83a4a', '\xc0bbe80da45484ddfbb66d7af43af605e6b83a4a', '/usr/bin/harbor-sync:Error4:main', 'traceback', false, 'Crash', 'harbor-sync crashed with Error4 in main(): no', '', '/usr/bin/harbor-sync', 'harbor', 'harbor', 1, 1, '("\\x000201316502000202013102","ubuntu 0224 014",1.0-1,"Ubuntu 24.04")', '("\\x000201316502000202013102","ubuntu 0224 014",1.0-1,"Ubuntu 24.04")', '("ubuntu 0224 014","Ubuntu 24.04")', '("ubuntu 0224 014","Ubuntu 24.04")', 45, 0),
	('\x6e51a0881b233d187984c9704cea4c959707cc78', '\x6e51a0881b233d187984c9704cea4c959707cc78', '/usr/bin/harbor-sync:Error5:main', 'traceback', false, 'Crash', 'harbor-sync crashed with Error5 in main(): no', '', '/usr/bin/harbor-sync', 'harbor', 'harbor', 1, 1, '("\\x000201316502000202013102","ubuntu 0224 014",1.0-1,"Ubuntu 24.04")', '("\\x000201316502000202013102","ubuntu 0224 014",1.0-1,"Ubuntu 24.04")', '("ubuntu 0224 014","Ubuntu 24.04")', '("ubuntu 0224 014","Ubuntu 24.04")', 46, 0),
	('\x0ecf320a93475e8d81fcf2e44f5f690c49c8e085', '\x0ecf320a93475e8d81fcf2e44f5f690c49c8e085', '/usr/bin/harbor-sync:ValueError:main', 'traceback', false, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '', '/usr/bin/harbor-sync', 'harbor', 'harbor', 3, 2, '("\\x000201316502000202013102","debian 0213",1.00-1,"Debian 13")', '("\\x000201316502000202013102","ubuntu 0224 014",1.0-1,"Ubuntu 24.04")', '("debian 0213","Debian 13")', '("ubuntu 0226 014","Ubuntu 26.04")', 51, 0),
	('\x3eb5e260977a13d2b5e92517a4edb18ecf3b9114', '\x585f1620d78fe7dfdce424a203b59e981ba59c13', '/usr/bin/harbor-sync:Error0:main', 'traceback', false, 'Crash', 'harbor-sync crashed with Error0 in main(): no', '', '/usr/bin/harbor-sync', 'harbor', 'harbor', 5, 5, '("\\x000201316502000202013102","ubuntu 0224 014",1.0-1,"Ubuntu 24.04")', '("\\x000201316502000202013102","ubuntu 0224 014",1.0-1,"Ubuntu 24.04")', '("ubuntu 0224 014","Ubuntu 24.04")', '("ubuntu 0224 014","Ubuntu 24.04")', 60, 0),
	('\x20909a063b6845e6168427dbc1341585c9107850', '\x20909a063b6845e6168427dbc1341585c9107850', '/usr/bin/harbor-sync:Error2:main', 'traceback', false, 'Crash', 'harbor-sync crashed with Error2 in main(): no', '', '/usr/bin/harbor-sync', 'harbor', 'harbor', 1, 1, '("\\x000201316502000202013102","ubuntu 0224 014",1.0-1,"Ubuntu 24.04")', '("\\x000201316502000202013102","ubuntu 0224 014",1.0-1,"Ubuntu 24.04")', '("ubuntu 0224 014","Ubuntu 24.04")', '("ubuntu 0224 014","Ubuntu 24.04")', 62, 0),
	('\xa2677c6f29f00463517a4d5f56b26ade0199978c', '\xa2677c6f29f00463517a4d5f56b26ade0199978c', '/usr/bin/harbor-sync:Error3:main', 'traceback', false, 'Crash', 'harbor-sync crashed with Error3 in main(): no', '', '/usr/bin/harbor-sync', 'harbor', 'harbor', 1, 1, '("\\x000201316502000202013102","ubuntu 0224 014",1.0-1,"Ubuntu 24.04")', '("\\x000201316502000202013102","ubuntu 0224 014",1.0-1,"Ubuntu 24.04")', '("ubuntu 0224 014","Ubuntu 24.04")', '("ubuntu 0224 014","Ubuntu 24.04")', 62, 0),
	('\x585f1620d78fe7dfdce424a203b59e981ba59c13', '\x585f1620d78fe7dfdce424a203b59e981ba59c13', '/usr/bin/harbor-sync:Error1:main', 'traceback', false, 'Crash', 'harbor-sync crashed with Error1 in main(): no', 'The sync falls over', '/usr/bin/harbor-sync', 'harbor', 'harbor', 1, 1, '("\\x000201316502000202013102","ubuntu 0224 014",1.0-1,"Ubuntu 24.04")', '("\\x000201316502000202013102","ubuntu 0224 014",1.0-1,"Ubuntu 24.04")', '("ubuntu 0224 014","Ubuntu 24.04")', '("ubuntu 0224 014","Ubuntu 24.04")', 63, 0),
	('\xea4a4b4e488cf5453743adcbabef3ced40d80498', '\xea4a4b4e488cf5453743adcbabef3ced40d80498', '/usr/bin/tide:11:parse:load', 'stacktrace', false, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '', '/usr/bin/harbor-sync', 'harbor', 'harbor', 1, 1, '("\\x000201316502000202013102","ubuntu 0224 014",1.0-1,"Ubuntu 24.04")', '("\\x000201316502000202013102","ubuntu 0224 014",1.0-1,"Ubuntu 24.04")', '("ubuntu 0224 014","Ubuntu 24.04")', '("ubuntu 0224 014","Ubuntu 24.04")', 53, 0),
	('\xb3ffb9c204d4eaee8e9913abc981a745e9f99f99', '\xea4a4b4e488cf5453743adcbabef3ced40d80498', '/usr/bin/tide:11:/usr/bin/tide+aa', 'address', true, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '', '/usr/bin/harbor-sync', 'harbor', 'harbor', 1, 1, '("\\x000201316502000202013102","ubuntu 0224 014",1.0-1,"Ubuntu 24.04")', '("\\x000201316502000202013102","ubuntu 0224 014",1.0-1,"Ubuntu 24.04")', '("ubuntu 0224 014","Ubuntu 24.04")', '("ubuntu 0224 014","Ubuntu 24.04")', 53, 0),
	('\x377cdfea17d7c7be6610e2ee0dce82162a25e3f4', '\x377cdfea17d7c7be6610e2ee0dce82162a25e3f4', '/usr/bin/tide:11:write:flush [architecture arm64]', 'stacktrace', false, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '', '/usr/bin/harbor-sync', 'harbor', 'harbor', 3, 3, '("\\x000201316502000202013102","ubuntu 0224 014",1.0-1,"Ubuntu 24.04")', '("\\x000201316502000202013102","ubuntu 0224 014",1.0-1,"Ubuntu 24.04")', '("ubuntu 0224 014","Ubuntu 24.04")', '("ubuntu 0224 014","Ubuntu 24.04")', 65, 0),
	('\xe5b7700d5ec2cc402f94d9e6f29c67973b952660', '\xe5b7700d5ec2cc402f94d9e6f29c67973b952660', '/usr/bin/tide:11:write:flush', 'stacktrace', false, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '', '/usr/bin/harbor-sync', 'harbor', 'harbor', 3, 3, '("\\x000201316502000202013102","ubuntu 0224 014",1.0-1,"Ubuntu 24.04")', '("\\x000201316502000202013102","ubuntu 0224 014",1.0-1,"Ubuntu 24.04")', '("ubuntu 0224 014","Ubuntu 24.04")', '("ubuntu 0224 014","Ubuntu 24.04")', 65, 65);

INSERT INTO public.bug_comments VALUES
	(7, '1.0-1', '\x20909a063b6845e6168427dbc1341585c9107850', '2026-11-22 06:59:50.027571+00', 'sending', '');

INSERT INTO public.bug_states VALUES
	(2100001, '', false, false, NULL, false, '[]', '[]', NULL, '2026-11-22 06:59:49.975716+00', 0, ''),
	(9, '', false, false, NULL, false, '[]', '[]', NULL, '2026-11-22 06:59:50.005675+00', 0, ''),
	(8, '', false, false, NULL, false, '[]', '[]', NULL, '2026-11-22 07:59:50.026188+00', 1, 'the tracker is away'),
	(7, 'Public', false, false, 8, false, '[{"Name": "harbor (Ubuntu)", "Closed": "0001-01-01T00:00:00Z", "Status": "Fix Released", "Target": "/ubuntu/+source/harbor", "Assignee": "", "Complete": false, "Milestone": "", "Importance": ""}]', '[]', '2026-11-22 06:59:50.018263+00', '2026-11-22 06:59:50.026625+00', 0, '');

INSERT INTO public.bug_templates VALUES
	('harbor', '', '{description}', 'ada', '2026-11-22 06:59:50.028027+00');

INSERT INTO public.bug_watch VALUES
	(true, false, '2026-11-21 12:00:00+00');

INSERT INTO public.bugs VALUES
	(2100001, '', ''),
	(8, 'It fell over 1', 'https://bugs.example/8'),
	(9, 'It fell over 2', 'https://bugs.example/9'),
	(7, 'It fell over', 'https://bugs.example/7');

INSERT INTO public.changes OVERRIDING SYSTEM VALUE VALUES
	(1, '23649', '2026-11-22 06:59:49.37712+00'),
	(2, '23670', '2026-11-22 06:59:49.892063+00'),
	(3, '23671', '2026-11-22 06:59:49.892664+00'),
	(4, '23672', '2026-11-22 06:59:49.893846+00'),
	(5, '23673', '2026-11-22 06:59:49.895156+00'),
	(6, '23674', '2026-11-22 06:59:49.895735+00'),
	(7, '23675', '2026-11-22 06:59:49.902166+00'),
	(8, '23676', '2026-11-22 06:59:49.923186+00'),
	(10, '23677', '2026-11-22 06:59:49.933769+00'),
	(11, '23678', '2026-11-22 06:59:49.934405+00'),
	(12, '23679', '2026-11-22 06:59:49.972035+00'),
	(13, '23680', '2026-11-22 06:59:49.975716+00'),
	(17, '23681', '2026-11-22 06:59:49.979666+00'),
	(18, '23682', '2026-11-22 06:59:49.9809+00'),
	(19, '23683', '2026-11-22 06:59:49.982291+00'),
	(20, '23684', '2026-11-22 06:59:49.983133+00'),
	(21, '23685', '2026-11-22 06:59:49.983961+00'),
	(24, '23686', '2026-11-22 06:59:49.99259+00'),
	(27, '23687', '2026-11-22 06:59:50.005675+00'),
	(30, '23688', '2026-11-22 06:59:50.013196+00'),
	(31, '23689', '2026-11-22 06:59:50.018263+00'),
	(33, '23690', '2026-11-22 06:59:50.026188+00'),
	(34, '23695', '2026-11-22 06:59:50.030768+00');

INSERT INTO public.counting VALUES
	(true, 65);

INSERT INTO public.decisions OVERRIDING SYSTEM VALUE VALUES
	(1, 'merged', 'symbolised', '\xb3ffb9c204d4eaee8e9913abc981a745e9f99f99', '\xea4a4b4e488cf5453743adcbabef3ced40d80498', '', '', NULL, '', 'A report with the same addresses has brought the names of the functions.', '2026-11-21 12:00:00+00', '', NULL, 0, 0, NULL, NULL, true),
	(2, 'merged', 'person', '\x3eb5e260977a13d2b5e92517a4edb18ecf3b9114', '\x585f1620d78fe7dfdce424a203b59e981ba59c13', '', '', NULL, 'ada', 'one fault', '2026-11-21 12:00:00+00', '', NULL, 0, 0, NULL, NULL, true),
	(3, 'merged', 'person', '\x20909a063b6845e6168427dbc1341585c9107850', '\xa2677c6f29f00463517a4d5f56b26ade0199978c', '', '', NULL, 'ada', 'one fault', '2026-11-21 12:00:00+00', 'bob', '2026-11-21 12:00:00+00', 0, 0, NULL, NULL, true),
	(4, 'renamed', 'person', '\x585f1620d78fe7dfdce424a203b59e981ba59c13', NULL, '', 'The sync falls over', NULL, 'ada', 'easier to remember', '2026-11-21 12:00:00+00', '', NULL, 0, 0, NULL, NULL, true),
	(5, 'split', 'person', '\xe5b7700d5ec2cc402f94d9e6f29c67973b952660', '\x377cdfea17d7c7be6610e2ee0dce82162a25e3f4', '', '', '{"terms": [{"field": "architecture", "value": "arm64"}]}', 'ada', 'they are different', '2026-11-21 12:00:00+00', '', NULL, 6, 3, '2026-11-21 12:00:00+00', '01a1fdfa-4600-7e79-ae8f-f7cead635768', true);

INSERT INTO public.filing_attempts OVERRIDING SYSTEM VALUE VALUES
	(1, 1, 'create', 2493358437800369240, '2026-11-22 06:59:49.972035+00', '2026-11-22 06:59:49.975716+00', '', 0, '', ''),
	(2, 2, 'create', 2493358437800369240, '2026-11-22 06:59:49.9809+00', '2026-11-22 06:59:49.982291+00', '', 0, '', '');

INSERT INTO public.filing_writer VALUES
	(true, '2026-11-22 06:59:49.982586+00', '00:00:00');

INSERT INTO public.filings OVERRIDING SYSTEM VALUE VALUES
	(1, '\x585f1620d78fe7dfdce424a203b59e981ba59c13', 'filed', 'ada', '/ubuntu', 't', 'd', '{}', 'm', false, '', false, 2100001, '', '', 1, NULL, '2026-11-22 06:59:49.972035+00', '2026-11-22 06:59:49.972035+00', NULL, false, '', '2026-11-22 06:59:49.934405+00', '2026-11-22 06:59:49.975716+00', '2026-11-22 06:59:49.934405+00'),
	(2, '\xc0bbe80da45484ddfbb66d7af43af605e6b83a4a', 'refused', 'ada', '/ubuntu', 't', 'd', '{}', 'm', false, '', false, NULL, '', '', 1, NULL, '2026-11-22 06:59:49.9809+00', '2026-11-22 06:59:49.9809+00', NULL, false, '', '2026-11-22 06:59:49.979666+00', '2026-11-22 06:59:49.982291+00', '2026-11-22 06:59:49.982291+00'),
	(3, '\x6e51a0881b233d187984c9704cea4c959707cc78', 'queued', 'ada', '/ubuntu', 't', 'd', '{}', 'm', false, '', false, NULL, '', '', 0, NULL, NULL, NULL, NULL, false, '', '2026-11-22 06:59:49.983133+00', '2026-11-22 06:59:49.983133+00', '2026-11-22 06:59:49.983133+00');

INSERT INTO public.follow_visits VALUES
	(1, NULL, '2026-11-21 12:00:00+00');

INSERT INTO public.followed VALUES
	(1, 'package', 'harbor', '2026-11-21 12:00:00+00');

INSERT INTO public.known_names VALUES
	('\xb3ffb9c204d4eaee8e9913abc981a745e9f99f99', '\xea4a4b4e488cf5453743adcbabef3ced40d80498', false, false),
	('\xa6cc460a2cf7f041ba503197fbd9b8077163c433', '\xe5b7700d5ec2cc402f94d9e6f29c67973b952660', false, false);

INSERT INTO public.note_texts OVERRIDING SYSTEM VALUE VALUES
	(1, 1, '2026-11-21 12:00:00+00', 'ada', 'It needs a full disk.'),
	(2, 1, '2026-11-21 12:00:00+00', 'bob', 'It needs two full disks.');

INSERT INTO public.notes OVERRIDING SYSTEM VALUE VALUES
	(1, '\x585f1620d78fe7dfdce424a203b59e981ba59c13', '2026-11-21 12:00:00+00', 'ada');

INSERT INTO public.oauth_credentials VALUES
	('https://tracker.example', 'mishap', 'token', '\x013dccabfbd7675de677bca5918e2b7f4433280efbfaf4112a5df943cf6bb22adaffacdbff843f856f0f7e8c77cfa7c078e5d7', '', 'ada', '2026-11-22 06:59:50.031274+00');

INSERT INTO public.package_versions VALUES
	('harbor', '', '2:0.9', '\x013202006502013902020002', '2026-11-21 12:00:00.64+00', '2026-05-02'),
	('harbor', 'Ubuntu 24.04', '1.00-1', '\x000201316502000202013102', '2026-11-21 12:00:00.502+00', '2026-11-21'),
	('harbor', 'Debian 13', '1.0-1', '\x000201316502000202013102', '2026-11-21 12:00:00.053+00', '2025-11-25'),
	('harbor', '', '1.10', '\x00020131650202313002020002', '2026-11-21 12:00:00.233+00', '2026-06-11'),
	('harbor', 'Debian 13', '2:0.9', '\x013202006502013902020002', '2026-11-21 12:00:00.456+00', '2026-09-10'),
	('harbor', 'Ubuntu 26.04', '1.00-1', '\x000201316502000202013102', '2026-11-21 12:00:00.391+00', '2026-07-23'),
	('harbor', '', '1.00-1', '\x000201316502000202013102', '2026-11-21 12:00:00.851+00', '2026-11-21'),
	('harbor', 'Ubuntu 26.04', '1.10', '\x00020131650202313002020002', '2026-11-21 12:00:00.252+00', '2026-10-06'),
	('harbor', 'Ubuntu 26.04', '2:0.9', '\x013202006502013902020002', '2026-11-21 12:00:00.011+00', '2026-03-01'),
	('harbor', 'Debian 13', '1.00-1', '\x000201316502000202013102', '2026-11-21 12:00:00.857+00', '2026-04-02'),
	('harbor', '', '1.0-1', '\x000201316502000202013102', '2026-11-21 12:00:00.924+00', '2025-12-18'),
	('harbor', 'Ubuntu 24.04', '2:0.9', '\x013202006502013902020002', '2026-11-21 12:00:00.165+00', '2026-11-21'),
	('harbor', 'Ubuntu 9.10 derivative', '1.00-1', '\x000201316502000202013102', '2026-11-21 12:00:00.446+00', '2026-11-21'),
	('harbor', 'Ubuntu 9.10 derivative', '1.0~rc1-1', '\x00020131650200012e1f0201310202013102', '2026-11-21 12:00:00.451+00', '2026-08-20'),
	('harbor', 'Ubuntu 26.04', '1.0-1', '\x000201316502000202013102', '2026-11-21 12:00:00.305+00', '2026-03-31'),
	('harbor', 'Ubuntu 24.04', '1.0-1', '\x000201316502000202013102', '2026-11-21 12:00:00+00', '2026-11-21');

INSERT INTO public.regroup_runs OVERRIDING SYSTEM VALUE VALUES
	(1, 3, true, 'ada', 'stopped', '2026-11-21 12:00:00+00', '2026-11-21 12:00:00+00', 59, 0, 0, NULL, NULL, false);

INSERT INTO public.release_active VALUES
	('Debian 13', '2025-11-25', 1),
	('Debian 13', '2026-02-23', -1),
	('Ubuntu 9.10 derivative', '2026-07-07', 1),
	('Ubuntu 9.10 derivative', '2026-10-05', -1),
	('Ubuntu 26.04', '2026-07-23', 1),
	('Ubuntu 26.04', '2026-10-21', -1),
	('Ubuntu 9.10 derivative', '2026-07-18', 1),
	('Ubuntu 9.10 derivative', '2026-10-16', -1),
	('Ubuntu 9.10 derivative', '2026-10-15', 1),
	('Debian 13', '2026-12-09', -1),
	('Ubuntu 9.10 derivative', '2026-08-20', 1),
	('Ubuntu 9.10 derivative', '2026-11-18', -1),
	('', '2026-07-06', 1),
	('', '2026-10-04', -1),
	('', '2026-03-15', 1),
	('', '2026-06-13', -1),
	('Debian 13', '2026-03-12', 1),
	('Debian 13', '2026-06-10', -1),
	('Ubuntu 26.04', '2026-06-15', 1),
	('Ubuntu 26.04', '2026-09-13', -1),
	('Ubuntu 26.04', '2026-04-20', 1),
	('Ubuntu 26.04', '2026-07-19', -1),
	('', '2027-02-19', -2),
	('Ubuntu 26.04', '2026-10-06', 1),
	('Ubuntu 26.04', '2026-03-01', 1),
	('Ubuntu 26.04', '2026-05-30', -1),
	('Debian 13', '2026-04-02', 1),
	('Debian 13', '2026-07-01', -1),
	('Debian 13', '2026-04-03', 1),
	('', '2026-09-12', 1),
	('', '2026-11-21', 1),
	('Debian 13', '2026-06-27', 1),
	('Debian 13', '2026-09-10', 0),
	('Debian 13', '2026-11-21', 1),
	('Debian 13', '2027-02-19', -1),
	('Ubuntu 9.10 derivative', '2027-01-13', 0),
	('Debian 13', '2026-07-02', 0),
	('Debian 13', '2026-07-15', -1),
	('Ubuntu 9.10 derivative', '2026-11-21', 1),
	('Ubuntu 9.10 derivative', '2027-02-19', -2),
	('Ubuntu 26.04', '2027-01-04', 0),
	('Ubuntu 26.04', '2027-01-30', -1),
	('Ubuntu 24.04', '2026-11-21', 17),
	('Ubuntu 24.04', '2027-02-19', -17);

INSERT INTO public.release_days VALUES
	('2026-05-02', '', 'arm64', 'Crash', true, 1),
	('2026-11-21', 'Ubuntu 24.04', 'amd64', 'Crash', true, 1),
	('2025-11-25', 'Debian 13', 'amd64', 'Crash', true, 1),
	('2026-06-11', '', 'amd64', 'Crash', true, 1),
	('2026-07-07', 'Ubuntu 9.10 derivative', 'arm64', 'Crash', true, 1),
	('2026-07-23', 'Ubuntu 26.04', 'amd64', 'Crash', true, 1),
	('2026-07-18', 'Ubuntu 9.10 derivative', 'arm64', 'Crash', false, 1),
	('2026-10-15', 'Ubuntu 9.10 derivative', 'amd64', 'Crash', false, 1),
	('2026-09-10', 'Debian 13', 'arm64', 'Crash', true, 1),
	('2026-08-20', 'Ubuntu 9.10 derivative', 'arm64', 'Crash', true, 1),
	('2026-07-06', '', 'amd64', 'Crash', true, 1),
	('2026-03-15', '', 'arm64', 'Crash', true, 1),
	('2026-03-12', 'Debian 13', 'arm64', 'Crash', true, 1),
	('2026-06-15', 'Ubuntu 26.04', 'amd64', 'Crash', false, 1),
	('2026-04-20', 'Ubuntu 26.04', 'amd64', 'Crash', false, 1),
	('2026-11-21', '', 'amd64', 'Crash', true, 1),
	('2025-12-30', 'Ubuntu 26.04', 'arm64', 'Crash', true, 1),
	('2026-11-21', 'Ubuntu 26.04', 'arm64', 'Crash', true, 1),
	('2026-03-31', 'Ubuntu 26.04', 'arm64', 'Crash', true, 1),
	('2026-11-21', '', 'arm64', 'Crash', true, 1),
	('2026-10-06', 'Ubuntu 26.04', 'amd64', 'Crash', true, 1),
	('2026-03-01', 'Ubuntu 26.04', 'amd64', 'Crash', true, 1),
	('2026-04-02', 'Debian 13', 'amd64', 'Crash', true, 1),
	('2026-04-03', 'Debian 13', 'amd64', 'Crash', false, 1),
	('2026-09-12', '', 'arm64', 'Crash', false, 1),
	('2026-06-27', 'Debian 13', 'arm64', 'Crash', true, 1),
	('2025-12-18', '', 'arm64', 'Crash', true, 1),
	('2026-11-21', 'Debian 13', 'arm64', 'Crash', true, 1),
	('2026-11-21', 'Ubuntu 9.10 derivative', 'amd64', 'Crash', true, 1),
	('2026-04-16', 'Debian 13', 'amd64', 'Crash', true, 1),
	('2026-11-21', 'Ubuntu 9.10 derivative', 'amd64', 'Crash', false, 1),
	('2026-11-01', 'Ubuntu 26.04', 'arm64', 'Crash', false, 1),
	('2026-11-21', 'Ubuntu 24.04', 'amd64', 'Crash', false, 19),
	('2026-11-21', 'Ubuntu 24.04', 'arm64', 'Crash', false, 3);

INSERT INTO public.release_systems VALUES
	('Ubuntu 24.04', 8624243251692164259, '2026-11-21', '2027-02-18'),
	('Debian 13', 8624243251692164259, '2025-11-25', '2026-02-22'),
	('Ubuntu 9.10 derivative', 7118926252799043119, '2026-07-07', '2026-10-04'),
	('Ubuntu 26.04', 8624243251692164259, '2026-07-23', '2026-10-20'),
	('Ubuntu 9.10 derivative', 8624243251692164259, '2026-07-18', '2026-10-15'),
	('Ubuntu 9.10 derivative', 7467868911663076974, '2026-08-20', '2026-11-17'),
	('', 7467868911663076974, '2026-07-06', '2026-10-03'),
	('', 7118926252799043119, '2026-03-15', '2026-06-12'),
	('Debian 13', 7118926252799043119, '2026-03-12', '2026-06-09'),
	('Ubuntu 26.04', -3646974585513546264, '2026-06-15', '2026-09-12'),
	('Ubuntu 26.04', 8624243251692164259, '2026-04-20', '2026-07-18'),
	('', 7467868911663076974, '2026-11-21', '2027-02-18'),
	('Ubuntu 26.04', -3646974585513546264, '2026-03-01', '2026-05-29'),
	('Debian 13', -3646974585513546264, '2026-04-02', '2026-06-30'),
	('', -3646974585513546264, '2026-09-12', '2027-02-18'),
	('Debian 13', 7118926252799043119, '2026-06-27', '2026-12-08'),
	('Debian 13', -3646974585513546264, '2026-11-21', '2027-02-18'),
	('Ubuntu 24.04', 7467868911663076974, '2026-11-21', '2027-02-18'),
	('Ubuntu 9.10 derivative', -3646974585513546264, '2026-10-15', '2027-02-18'),
	('Debian 13', 7467868911663076974, '2026-04-03', '2026-07-14'),
	('Ubuntu 24.04', -3646974585513546264, '2026-11-21', '2027-02-18'),
	('Ubuntu 9.10 derivative', 7467868911663076974, '2026-11-21', '2027-02-18'),
	('Ubuntu 26.04', -3646974585513546264, '2026-10-06', '2027-01-29'),
	('Ubuntu 24.04', 960314294414211506, '2026-11-21', '2027-02-18'),
	('Ubuntu 24.04', -4608406449694850073, '2026-11-21', '2027-02-18'),
	('Ubuntu 24.04', -3860108620367732908, '2026-11-21', '2027-02-18'),
	('Ubuntu 24.04', -7520849527226039753, '2026-11-21', '2027-02-18'),
	('Ubuntu 24.04', 5416793321232141871, '2026-11-21', '2027-02-18'),
	('Ubuntu 24.04', -4899342218789532909, '2026-11-21', '2027-02-18'),
	('Ubuntu 24.04', -4554613533220127328, '2026-11-21', '2027-02-18'),
	('Ubuntu 24.04', -8552116761582013424, '2026-11-21', '2027-02-18'),
	('Ubuntu 24.04', -326343477004963435, '2026-11-21', '2027-02-18'),
	('Ubuntu 24.04', -8063888576249931513, '2026-11-21', '2027-02-18'),
	('Ubuntu 24.04', 607877347802521158, '2026-11-21', '2027-02-18'),
	('Ubuntu 24.04', 3095481748005705659, '2026-11-21', '2027-02-18'),
	('Ubuntu 24.04', -720505204335836334, '2026-11-21', '2027-02-18'),
	('Ubuntu 24.04', -7409291755749674535, '2026-11-21', '2027-02-18');

INSERT INTO public.releases VALUES
	('Ubuntu 24.04'),
	('Debian 13'),
	('Ubuntu 9.10 derivative'),
	('Ubuntu 26.04');

INSERT INTO public.report_days VALUES
	('harbor', '2026-05-02', '', '2:0.9', 'arm64', 'Crash', true, 1),
	('harbor', '2026-11-21', 'Ubuntu 24.04', '1.00-1', 'amd64', 'Crash', true, 1),
	('harbor', '2025-11-25', 'Debian 13', '1.0-1', 'amd64', 'Crash', true, 1),
	('harbor', '2026-06-11', '', '1.10', 'amd64', 'Crash', true, 1),
	('harbor', '2026-07-07', 'Ubuntu 9.10 derivative', 'not', 'arm64', 'Crash', true, 1),
	('harbor', '2026-07-23', 'Ubuntu 26.04', '1.00-1', 'amd64', 'Crash', true, 1),
	('harbor', '2026-07-18', 'Ubuntu 9.10 derivative', '', 'arm64', 'Crash', false, 1),
	('harbor', '2026-10-15', 'Ubuntu 9.10 derivative', '1.0~rc1-1', 'amd64', 'Crash', false, 1),
	('harbor', '2026-09-10', 'Debian 13', '2:0.9', 'arm64', 'Crash', true, 1),
	('harbor', '2026-11-21', 'Ubuntu 24.04', '', 'amd64', 'Crash', false, 1),
	('harbor', '2026-08-20', 'Ubuntu 9.10 derivative', '1.0~rc1-1', 'arm64', 'Crash', true, 1),
	('harbor', '2026-07-06', '', '', 'amd64', 'Crash', true, 1),
	('harbor', '2026-03-15', '', '', 'arm64', 'Crash', true, 1),
	('harbor', '2026-03-12', 'Debian 13', '', 'arm64', 'Crash', true, 1),
	('harbor', '2026-06-15', 'Ubuntu 26.04', 'not', 'amd64', 'Crash', false, 1),
	('harbor', '2026-04-20', 'Ubuntu 26.04', '1.0-1', 'amd64', 'Crash', false, 1),
	('harbor', '2026-11-21', '', '1.10', 'amd64', 'Crash', true, 1),
	('harbor', '2025-12-30', 'Ubuntu 26.04', 'not', 'arm64', 'Crash', true, 1),
	('harbor', '2026-11-21', 'Ubuntu 26.04', '1.00-1', 'arm64', 'Crash', true, 1),
	('harbor', '2026-03-31', 'Ubuntu 26.04', '1.0-1', 'arm64', 'Crash', true, 1),
	('harbor', '2026-11-21', '', '1.00-1', 'arm64', 'Crash', true, 1),
	('harbor', '2026-10-06', 'Ubuntu 26.04', '1.10', 'amd64', 'Crash', true, 1),
	('harbor', '2026-03-01', 'Ubuntu 26.04', '2:0.9', 'amd64', 'Crash', true, 1),
	('harbor', '2026-04-02', 'Debian 13', '1.00-1', 'amd64', 'Crash', true, 1),
	('harbor', '2026-04-03', 'Debian 13', 'not', 'amd64', 'Crash', false, 1),
	('harbor', '2026-09-12', '', 'not', 'arm64', 'Crash', false, 1),
	('harbor', '2026-06-27', 'Debian 13', '', 'arm64', 'Crash', true, 1),
	('harbor', '2025-12-18', '', '1.0-1', 'arm64', 'Crash', true, 1),
	('harbor', '2026-11-21', 'Debian 13', '1.0-1', 'arm64', 'Crash', true, 1),
	('harbor', '2026-11-21', 'Ubuntu 24.04', '2:0.9', 'amd64', 'Crash', false, 1),
	('harbor', '2026-11-21', 'Ubuntu 9.10 derivative', '1.00-1', 'amd64', 'Crash', true, 1),
	('harbor', '2026-04-16', 'Debian 13', '', 'amd64', 'Crash', true, 1),
	('harbor', '2026-11-21', 'Ubuntu 24.04', '1.00-1', 'amd64', 'Crash', false, 1),
	('harbor', '2026-11-21', 'Ubuntu 9.10 derivative', '1.0~rc1-1', 'amd64', 'Crash', false, 1),
	('harbor', '2026-11-01', 'Ubuntu 26.04', '1.0-1', 'arm64', 'Crash', false, 1),
	('harbor', '2026-11-21', 'Ubuntu 24.04', '1.0-1', 'amd64', 'Crash', false, 16),
	('harbor', '2026-11-21', 'Ubuntu 24.04', '1.0-1', 'arm64', 'Crash', false, 3);

INSERT INTO public.report_keys_1970 VALUES
	('\x000000009283e35735606853f469d964', '01a1fdfa-4895-72ca-8b87-281621c6179b'),
	('\x00000000f3a6602db1e8a17b36afd878', '01a1fdfa-468a-766c-8f82-2617a0aeeb88'),
	('\x000000006b9e31c4c892170ed106b33f', '01a1fdfa-498f-775a-aad5-f29941a87967'),
	('\x0000000071f9602fbfd4aa8fed19dc93', '01a1fdfa-4787-73f2-85ce-ce6bfdc33f0e'),
	('\x000000005234dee2d3ba1d337b56a497', '01a1fdfa-4953-7c62-bb2c-3fd85d9ed6ec'),
	('\x000000003fd424f4856359060c7a9642', '01a1fdfa-4838-7818-9acb-49e97b219901'),
	('\x00000000aca89326f44dd0c6bdffc5bb', '01a1fdfa-46a5-7fc9-8683-86254690f968'),
	('\x000000003ff8358330e2a14c9ee5dee2', '01a1fdfa-47c3-7daf-80db-49eebc607c8b');

INSERT INTO public.report_keys_2025 VALUES
	('\x69089fbaea4a0a4335f13323a457d07e', '01a1fdfa-47f6-7ec9-8a67-b8b7022581d8'),
	('\x6925a61b90cad62c78dce462e52ac180', '01a1fdfa-4635-7d61-b52c-7dae17da81ba'),
	('\x693ea93d50d9cbfdf4aacab82ce911ac', '01a1fdfa-46cb-71b5-8e21-809f23a8fe3b'),
	('\x6900b77fc044dc44c3a3fc70566a6c93', '01a1fdfa-480f-79de-8044-50a29ca2eef3'),
	('\x6953bf73b333ecc283549efd462be7dc', '01a1fdfa-4693-7317-87fa-4910c8dcd184'),
	('\x6943ef228c9a74a8c9e2676e40cad831', '01a1fdfa-499c-735f-9880-704bad14d558'),
	('\x69133206de9c963cd7368a38de0bec15', '01a1fdfa-47be-767b-abff-3f64c7c81fde'),
	('\x68ff614426c2de71407c041bb3afaf16', '01a1fdfa-4938-7332-93b9-483bc0a61c97');

INSERT INTO public.report_keys_2026 VALUES
	('\x69f5e847c353376a1b4cf12e7055a1a6', '01a1fdfa-4880-7c43-90f5-2b1601391a75'),
	('\x6a2aada6551b3e5d2c304ff948317933', '01a1fdfa-46e9-7e3f-b441-fbcce659e587'),
	('\x6a4cf46251f149839fe197bc2ccd3932', '01a1fdfa-4757-7b19-b3cc-c49b97091126'),
	('\x6a6207cfe9241f1e40c62ef35bc54157', '01a1fdfa-48d6-7f75-9c72-02dd11709030'),
	('\x6a5b6c49811d4b975151662b929012ea', '01a1fdfa-496a-7820-840c-619f85f5c16a'),
	('\x6ad0c08f000e4522677996f37d7dccaf', '01a1fdfa-48cb-72ef-b336-f42409e546a3'),
	('\x6aa2a926833721dedd69611a24cd5080', '01a1fdfa-47c8-7fdd-b5b4-21eb6792ad97'),
	('\x6a86f6d991b578b64f643cc454b66334', '01a1fdfa-4982-7144-90bb-089da4507eb2'),
	('\x6a4b9fed8b8285c1c68abcdceaf39772', '01a1fdfa-4627-76fa-8dd4-0b387a7c7d2a'),
	('\x69b6a4fbf5a7bb81765c6e9f35cbce4b', '01a1fdfa-48ef-72b0-93da-5e148fcb3bb5'),
	('\x69b2b61c8067f81385d34a65fb44b2ff', '01a1fdfa-47d4-76b2-a278-02230e27de5a'),
	('\x6a2fece7d950a365d8b8d731add32a4f', '01a1fdfa-4877-7046-9806-d20023febe0c'),
	('\x69e616991d214b2b2999a48bfc76b485', '01a1fdfa-49bb-7e54-b248-c13da4db7020'),
	('\x69cbb80e30fba4571a96b39a18cf7e08', '01a1fdfa-491f-7e62-8bbd-24086aec25f7'),
	('\x6ac4e3afe3eafc5da08450a73aa2250c', '01a1fdfa-46fc-7983-a5b9-45c46f87de67'),
	('\x6a82fe9959f7c8884cacda4e78ff5571', '01a1fdfa-464a-74b7-9970-e46e7ff19de9'),
	('\x69a42b0f47b24006b6581c6255847663', '01a1fdfa-460b-7594-9164-ed44847a1ed9'),
	('\x69ce67f74981425cb5ed3baecfb5cf9b', '01a1fdfa-4959-7852-8fe7-a7fdd40d9be0'),
	('\x69cfb8431a4bb5999173579f4fa165e7', '01a1fdfa-46ff-7043-b43f-f88a42759b0b'),
	('\x69df7f848db8dde787dfeab0aa6f1db7', '01a1fdfa-47a4-7967-917e-2ba45effa671'),
	('\x6aa54676f820960baeaebefbae7c82bf', '01a1fdfa-47de-7ecb-901c-6cc7bf64af5b'),
	('\x6a3fbbd43296e775db9403d99986bacc', '01a1fdfa-47b2-73af-b7c6-87992cc88232'),
	('\x69e0d689f85e94e133215867b4f9ba6b', '01a1fdfa-4614-7a2f-86be-44de04e3dad6'),
	('\x6ae72c2aefa13120593b4d6e5a7cf60f', '01a1fdfa-4731-72c0-ba27-0e3e75ecc887'),
	('\x6b0187c040d2258f015f891ae39c2338', '01a1fdfa-4600-7c5b-aba4-feb601810067'),
	('\x6b0187c012bdee8cc07b86d266146d80', '01a1fdfa-4600-791d-8c5c-fc553b412e6e'),
	('\x6b0187c0990214bc63882b85b1bd5462', '01a1fdfa-4600-7c32-926c-bc5b729fece7'),
	('\x6b0187c004174db6ad3f846323a2885f', '01a1fdfa-4600-7615-aa2a-8ecbc7f436e3'),
	('\x6b0187c0b7953ff24c99ab6e7e92c888', '01a1fdfa-4600-7f98-9a8b-f2d9ca282e83'),
	('\x6b0187c0a55d330c4f3e07ea807978f2', '01a1fdfa-4600-7974-88b7-38c06664d043'),
	('\x6b0187c0bbe84b4b726552011590ce5a', '01a1fdfa-4600-7133-99f2-aad840603924'),
	('\x6b0187c0e3ba18ed2059a4fcc6b4e2ec', '01a1fdfa-4600-7aad-8203-c097899e7378'),
	('\x6b0187c09b70f4ce6c453d57335cecbd', '01a1fdfa-4600-7624-b1b9-5ba49f0ee604'),
	('\x6b0187c08ca01dde6d227bb865d2a37e', '01a1fdfa-4600-703b-8bd4-81007bb9e592'),
	('\x6b0187c021d98ecbcb8c40bac9769c6c', '01a1fdfa-4600-7763-8952-b31e5d2fd6a2'),
	('\x6b0187c01f2bf234928cf8e72e7a3126', '01a1fdfa-4600-77b5-92f9-2b172c954674'),
	('\x6b0187c0f033a4332255d6dc20eb0323', '01a1fdfa-4600-74c9-8315-752afec24e50'),
	('\x6b0187c090f54d5a75b13e70f9e2effc', '01a1fdfa-4600-7722-91ec-6b1ab16e461e'),
	('\x6b0187c069fccda6f7c3bbfa5e55d59e', '01a1fdfa-4600-722e-94bb-3fc6c956b6da'),
	('\x6b0187c035d00023dc1cb9420c7a3b90', '01a1fdfa-4600-747b-922a-839c52a495b6'),
	('\x6b0187c0b72fb95a8791cc602c25fb6f', '01a1fdfa-4600-7688-9196-6bac311a8d22'),
	('\x6b0187c0637a008c9245ed2fd26ae372', '01a1fdfa-4600-79b0-98fc-6e1529399e16'),
	('\x6b0187c03b116284098b0fe0084d5bda', '01a1fdfa-4600-7e79-ae8f-f7cead635768');

INSERT INTO public.reports_2026_11 VALUES
	('01a1fdfa-4895-72ca-8b87-281621c6179b', '2026-11-21 12:00:00.661+00', NULL, '2026-11-21', false, 'deadbeef01', -7411738264728770193, '\x0ecf320a93475e8d81fcf2e44f5f690c49c8e085', '', 'traceback', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', 'not', 'harbor', 'Debian 13', 'amd64', 'i386', '', false, true, '\x01c702f03e0b50726f626c656d547970650543726173680e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e63075061636b616765140914dc206e6f7420612076657273696f6e0d44697374726f52656c656173650944656269616e2031330a50726f63537461747573184e616d653a09093e302d73796e630a5069643a0930130d595c41726368697465637475726504693338360d536f757263650d1f0006093a000c2e27004005616d6436340954726163656261636b6c150a8420286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520224ee400b0222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a'),
	('01a1fdfa-4880-7c43-90f5-2b1601391a75', '2026-11-21 12:00:00.64+00', '2026-05-02 12:04:23+00', '2026-05-02', true, '', NULL, '\xb802f384302cb24fbab0a44997e820bf2e8507bb', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '2:0.9', 'harbor', '', 'arm64', 'i386', '', true, true, '\x01ff02b40b50726f626c656d54797065054372617368075061636b6167650c686172626f7220323a302e3904546167731b6e012bf08b207061636b6167652d66726f6d2d70726f706f7365640c4172636869746563747572650561726d3634044461746518536174204d61792020322031323a30343a32332032303236124475706c69636174655369676e61747572650574687265650e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e630d536f7572636550098a000609aa440a50726f63537461747573184e616d653a090918582d73796e630a5069643a09310954726163656261636b6c150a8420286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520224e8300f045222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a135061636b6167654172636869746563747572650469333836'),
	('01a1fdfa-47f6-7ec9-8a67-b8b7022581d8', '2026-11-21 12:00:00.502+00', '2025-11-03 12:27:38+00', '2026-11-21', true, 'cat', 8624243251692164259, '\xed6859e7042fb4541ad109d3988899c8b03879c8', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.00-1', 'harbor', 'Ubuntu 24.04', 'amd64', 'amd64', '', true, true, '\x01ae03f0760444617465184d6f6e204e6f762020332031323a32373a33382032303235135061636b61676541726368697465637475726505616d6436340b50726f626c656d547970650543726173680e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e63075061636b6167650d0914f06a20312e30302d310d44697374726f52656c656173650c5562756e74752032342e30340c41726368697465637475726505616d6436340954726163656261636b6c54726163656261636b20286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520224e8e00cc222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a04546167731b6e01f50420702916982d66726f6d2d70726f706f736564124475706c69636174655369676e617475726517666f75720a01645473202771756f74656427202534310d536f757263655009470006290d440a50726f63537461747573184e616d653a0909182c2d73796e630a5069643a0932'),
	('01a1fdfa-4635-7d61-b52c-7dae17da81ba', '2026-11-21 12:00:00.053+00', '2025-11-25 12:50:35+00', '2025-11-25', true, 'cat', 8624243251692164259, '\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.0-1', 'harbor', 'Debian 13', 'amd64', '', '', true, true, '\x0198036c075061636b6167650c686172626f7220312e302d310d536f757263650d1b000609004c0c41726368697465637475726505616d643634130d222e1a005007756e6b6e6f776e04546167731b6e6f626c65207009279c2d66726f6d2d70726f706f736564124475706c69636174655369676e6174757265036f6e650b50720134f0516d547970650543726173680d44697374726f52656c656173650944656269616e2031330a50726f63537461747573184e616d653a09686172626f722d73796e630a5069643a09330954726163656261636b6c150aa820286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f09fa0551f05a222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a044461746518547565204e6f762032352031323a35303a333520323032350e45786563757461626c6550617468144e6f00'),
	('01a1fdfa-468a-766c-8f82-2617a0aeeb88', '2026-11-21 12:00:00.138+00', NULL, '2026-11-21', false, 'deadbeef01', -7411738264728770193, '\xed6859e7042fb4541ad109d3988899c8b03879c8', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.10', 'harbor', 'Ubuntu 9.10 derivative', 'arm64', '', '', false, true, '\x01f902f0d90b50726f626c656d547970650543726173680d44697374726f52656c65617365165562756e747520392e313020646572697661746976650954726163656261636b6c54726163656261636b20286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f686172626f722d73796e63222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a135061636b61676541726368697465637475726507756e6b6e6f776e0e45786563757461626c6550617468144e6d0020075061636b6167650b09812c20312e31300d536f757263650d1a00060900000c2e62005c0561726d36340a50726f63537461747573184e616d653a09092bd82d73796e630a5069643a0934124475706c69636174655369676e617475726517666f75720a6c696e6573202771756f7465642720253431'),
	('01a1fdfa-46e9-7e3f-b441-fbcce659e587', '2026-11-21 12:00:00.233+00', '2026-06-11 12:44:22+00', '2026-06-11', true, '', NULL, '\xad782ecdac770fc6eb9a62e44f90873fb97fb26b', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.10', 'harbor', '', 'amd64', '', '', true, true, '\x01ff0268075061636b6167650b686172626f7220312e31300d536f757263650d1a000609003004546167731b6e6f626c6520700900ac2d66726f6d2d70726f706f7365640c41726368697465637475726505616d6436340954726163656261636b6c150aa820286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f0979f0762d73796e63222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a044461746518546875204a756e2031312031323a34343a32322032303236124475706c69636174655369676e61747572650374776f0e45786563757461626c6550617468144e8600440a50726f63537461747573184e616d653a09291c05a3200a5069643a09351350291d2e0e016407756e6b6e6f776e0b50726f626c656d54797065054372617368'),
	('01a1fdfa-4757-7b19-b3cc-c49b97091126', '2026-11-21 12:00:00.343+00', '2026-07-07 12:43:14+00', '2026-07-07', true, 'bee', 7118926252799043119, '\xed6859e7042fb4541ad109d3988899c8b03879c8', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', 'not', 'harbor', 'Ubuntu 9.10 derivative', 'arm64', 'i386', '', true, true, '\x01be03f0c1124475706c69636174655369676e617475726517666f75720a6c696e6573202771756f74656427202534310e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e630d536f757263655061636b61676506686172626f720d44697374726f52656c65617365165562756e747520392e313020646572697661746976650c4172636869746563747572650561726d3634044461746518547565204a756c2020372031323a34333a31342032303236135061636b6167652e3800f04504693338360b50726f626c656d54797065054372617368075061636b61676514686172626f72206e6f7420612076657273696f6e0a50726f63537461747573184e616d653a09092605d0440a5069643a09360954726163656261636b6c150a8420286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520224e2101f04d222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a04546167731b6e6f626c65207061636b6167652d66726f6d2d70726f706f736564'),
	('01a1fdfa-46cb-71b5-8e21-809f23a8fe3b', '2026-11-21 12:00:00.203+00', '2025-12-14 12:10:37+00', '2025-12-14', false, 'deadbeef01', -7411738264728770193, '\xb802f384302cb24fbab0a44997e820bf2e8507bb', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.00-1', 'harbor', 'Ubuntu 26.04', 'amd64', 'amd64', '', true, true, '\x019a03f03e0b50726f626c656d547970650543726173680e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e63075061636b6167650d09143420312e30302d310d536f757263650d1c00060900900c41726368697465637475726505616d6436340a50726f63537461747573184e616d653a09092b055b1c0a5069643a0937130d462e3e002803616c6c04546167731b6e01b40420700923f05e2d66726f6d2d70726f706f7365640d44697374726f52656c656173650c5562756e74752032362e30340954726163656261636b6c54726163656261636b20286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520224e0001f063222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a04446174651853756e204465632031342031323a31303a33372032303235124475706c69636174655369676e6174757265057468726565'),
	('01a1fdfa-48d6-7f75-9c72-02dd11709030', '2026-11-21 12:00:00.726+00', '2026-07-23 12:23:43+00', '2026-07-23', true, 'cat', 8624243251692164259, '\xed6859e7042fb4541ad109d3988899c8b03879c8', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.00-1', 'harbor', 'Ubuntu 26.04', 'amd64', 'i386', '', true, true, '\x01ad03f4ac01124475706c69636174655369676e617475726517666f75720a6c696e6573202771756f74656427202534310b50726f626c656d547970650543726173680e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e63075061636b6167650d686172626f7220312e30302d310d536f757263655061636b61676506686172626f720d44697374726f52656c656173650c5562756e74752032362e30340c41726368697465637475726505616d6436340954726163656261636b6c54726163656261636b20286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f686172626f722d73796e63222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a04546167731b6e6f626c65207061636b6167652d66726f6d2d70726f706f7365640a50726f63537461747573184e616d653a09686172626f722d73796e630a5069643a0938044461746518546875204a756c2032332031323a32333a34332032303236135061636b6167654172636869746563747572650469333836'),
	('01a1fdfa-496a-7820-840c-619f85f5c16a', '2026-11-21 12:00:00.874+00', '2026-07-18 12:06:33+00', '2026-07-18', true, 'cat', 8624243251692164259, '\xb802f384302cb24fbab0a44997e820bf2e8507bb', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '', 'harbor', 'Ubuntu 9.10 derivative', 'arm64', 'i386', '', false, true, '\x01fe02280954726163656261636b6c150af0a920286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f686172626f722d73796e63222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a044461746518536174204a756c2031382031323a30363a33332032303236124475706c69636174655369676e61747572650574687265650e45786563757461626c6550617468144e8800900c4172636869746563747572650561726d36340a50726f63537461747573184e616d653a091d30380a5069643a0939135061636b6167652e3e005c04693338360b50726f626c656d54797065054372617368070d2b000709461c200d536f757263650d4100060916900d44697374726f52656c65617365165562756e747520392e31302064657269766174697665'),
	('01a1fdfa-48cb-72ef-b336-f42409e546a3', '2026-11-21 12:00:00.715+00', '2026-10-15 12:01:19+00', '2026-10-15', true, 'dog', -3646974585513546264, '\xad782ecdac770fc6eb9a62e44f90873fb97fb26b', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.0~rc1-1', 'harbor', 'Ubuntu 9.10 derivative', 'amd64', 'amd64', '', false, true, '\x018703bc0a50726f63537461747573194e616d653a09686172626f722d73796e630a5069643a0931300954726163656261636b6c150aa820286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f1d52f0bf222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a044461746518546875204f63742031352031323a30313a313920323032360b50726f626c656d54797065054372617368075061636b61676510686172626f7220312e307e7263312d31135061636b61676541726368697465637475726505616d643634124475706c69636174655369676e61747572650374776f0e45786563757461626c6550617468142f7573722f62696e2f3d1d180d536f757263650d5b00062937dc0d44697374726f52656c65617365165562756e747520392e313020646572697661746976650c41726368697465637475726505616d643634'),
	('01a1fdfa-47c8-7fdd-b5b4-21eb6792ad97', '2026-11-21 12:00:00.456+00', '2026-09-10 12:57:10+00', '2026-09-10', true, 'bee', 7118926252799043119, NULL, 'The traceback has no exception and frames in a known form.', '', 3, 'Crash', 'harbor-sync crashed with nothing known', '/usr/bin/harbor-sync', 'harbor', '2:0.9', 'harbor', 'Debian 13', 'arm64', 'arm64', '', true, true, '\x019f02f06f0b50726f626c656d547970650543726173680e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e630d536f757263655061636b61676506686172626f720c4172636869746563747572650561726d36340a50726f63537461747573194e616d653a091d453c0a5069643a093131135061636b6167652e3f002803616c6c04546167731b6e019f0420700923382d66726f6d2d70726f706f736564070d39000c099af05320323a302e390d44697374726f52656c656173650944656269616e2031330954726163656261636b0d6e6f7468696e67206b6e6f776e044461746518546875205365702031302031323a35373a31302032303236'),
	('01a1fdfa-498f-775a-aad5-f29941a87967', '2026-11-21 12:00:00.911+00', NULL, '2026-11-21', true, 'cat', 8624243251692164259, '\xed6859e7042fb4541ad109d3988899c8b03879c8', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '', 'harbor', 'Ubuntu 24.04', 'amd64', '', '', false, true, '\x01ec02f46b01124475706c69636174655369676e617475726517666f75720a6c696e6573202771756f74656427202534310e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e630d44697374726f52656c656173650c5562756e74752032342e30340b50726f626c656d54797065054372617368075061636b61676507686172626f72200d536f757263655061636b61676506686172626f720c41726368697465637475726505616d6436340a50726f63537461747573194e616d653a09686172626f722d73796e630a5069643a0931320954726163656261636b6c54726163656261636b20286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f686172626f722d73796e63222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a135061636b61676541726368697465637475726507756e6b6e6f776e'),
	('01a1fdfa-4982-7144-90bb-089da4507eb2', '2026-11-21 12:00:00.898+00', '2026-08-20 12:45:13+00', '2026-08-20', true, 'ant', 7467868911663076974, '\xb802f384302cb24fbab0a44997e820bf2e8507bb', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.0~rc1-1', 'harbor', 'Ubuntu 9.10 derivative', 'arm64', 'arm64', '', true, true, '\x01a803bc0a50726f63537461747573194e616d653a09686172626f722d73796e630a5069643a0931330954726163656261636b6c150aa820286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f1d52f098222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a044461746518546875204175672032302031323a34353a3133203230323604546167731b6e6f626c65207061636b6167652d66726f6d2d70726f706f736564124475706c69636174655369676e61747572650574687265650b50726f626c656d5479706505437261736807500941001009fd4020312e307e7263312d310d536f757263650d1f00060900e00d44697374726f52656c65617365165562756e747520392e313020646572697661746976650c4172636869746563747572650561726d3634130d472e1a004c03616c6c0e45786563757461626c6550617468144e3901'),
	('01a1fdfa-4627-76fa-8dd4-0b387a7c7d2a', '2026-11-21 12:00:00.039+00', '2026-07-06 12:30:37+00', '2026-07-06', true, 'ant', 7467868911663076974, '\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '', 'harbor', '', 'amd64', 'i386', '', true, true, '\x01f902f058124475706c69636174655369676e6174757265036f6e650b50726f626c656d547970650543726173680a50726f63537461747573194e616d653a09686172626f722d73796e630a5069643a0931340954726163656261636b6c150aa820286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f1d52f05a222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a0444617465184d6f6e204a756c2020362031323a33303a333720323032360e45786563757461626c6550617468144e6f0020075061636b6167650709d51c200d536f757263650d1600060900200c417263686974656321261805616d643634130d382e1a0044046933383604546167731b6e6f626c6520700946342d66726f6d2d70726f706f736564'),
	('01a1fdfa-48ef-72b0-93da-5e148fcb3bb5', '2026-11-21 12:00:00.751+00', '2026-03-15 12:24:27+00', '2026-03-15', true, 'bee', 7118926252799043119, '\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '', 'harbor', '', 'arm64', 'arm64', '', true, true, '\x01f802f06d0e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e63075061636b61676507686172626f72200d536f757263655061636b61676506686172626f720c4172636869746563747572650561726d36340a50726f63537461747573194e616d653a0909410555200a5069643a093135130d5d2e3f00f06203616c6c124475706c69636174655369676e6174757265036f6e650b50726f626c656d547970650543726173680954726163656261636b6c54726163656261636b20286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520224ee800f057222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a04446174651853756e204d61722031352031323a32343a3237203230323604546167731b6e6f626c65207009e1342d66726f6d2d70726f706f736564'),
	('01a1fdfa-47d4-76b2-a278-02230e27de5a', '2026-11-21 12:00:00.468+00', '2026-03-12 12:48:28+00', '2026-03-12', true, 'bee', 7118926252799043119, '\xad782ecdac770fc6eb9a62e44f90873fb97fb26b', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '', 'harbor', 'Debian 13', 'arm64', '', '', true, true, '\x019403f0770a50726f63537461747573194e616d653a09686172626f722d73796e630a5069643a093136044461746518546875204d61722031322031323a34383a32382032303236135061636b61676541726368697465637475726507756e6b6e6f776e0e45786563757461626c6550617468142f7573722f62696e2f1d66380d536f757263655061636b61676506091a000c2e4e00400561726d36340954726163656261636b6c150aa820286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f1dd8f077222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a04546167731b6e6f626c65207061636b6167652d66726f6d2d70726f706f736564124475706c69636174655369676e61747572650374776f0b50726f626c656d54797065054372617368070de30007090060200d44697374726f52656c656173650944656269616e203133'),
	('01a1fdfa-4877-7046-9806-d20023febe0c', '2026-11-21 12:00:00.631+00', '2026-06-15 12:15:35+00', '2026-06-15', true, 'dog', -3646974585513546264, '\x0ecf320a93475e8d81fcf2e44f5f690c49c8e085', '', 'traceback', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', 'not', 'harbor', 'Ubuntu 26.04', 'amd64', '', '', false, true, '\x01ec02740c41726368697465637475726505616d6436340954726163656261636b6c150af0a020286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f686172626f722d73796e63222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a135061636b61676541726368697465637475726507756e6b6e6f776e0b50726f626c656d547970650543726173680e45786563757461626c6550617468144e7f00180d536f757263650d5800060999440a50726f63537461747573194e616d653a09091805b1f05d0a5069643a0931370444617465184d6f6e204a756e2031352031323a31353a33352032303236075061636b61676514686172626f72206e6f7420612076657273696f6e0d44697374726f52656c656173650c5562756e74752032362e3034'),
	('01a1fdfa-49bb-7e54-b248-c13da4db7020', '2026-11-21 12:00:00.955+00', '2026-04-20 12:05:45+00', '2026-04-20', true, 'cat', 8624243251692164259, '\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.0-1', 'harbor', 'Ubuntu 26.04', 'amd64', '', '', false, true, '\x01fb02f0cc135061636b61676541726368697465637475726507756e6b6e6f776e0e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e630d44697374726f52656c656173650c5562756e74752032362e30340444617465184d6f6e204170722032302031323a30353a34352032303236124475706c69636174655369676e6174757265036f6e650b50726f626c656d54797065054372617368075061636b6167650c686172626f7220312e302d310d536f757263655061636b61676506686172626f720c2ec5005c05616d6436340a50726f63537461747573194e616d653a091dbc480a5069643a0931380954726163656261636b6c150a8420286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520224e0e01b0222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a'),
	('01a1fdfa-480f-79de-8044-50a29ca2eef3', '2026-11-21 12:00:00.527+00', '2025-10-28 12:30:55+00', '2026-11-21', true, 'ant', 7467868911663076974, '\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.10', 'harbor', '', 'amd64', 'amd64', '', true, true, '\x01fe02b00b50726f626c656d54797065054372617368075061636b6167650b686172626f7220312e31300d536f757263650d1a0006090084124475706c69636174655369676e6174757265036f6e650954726163656261636b6c150aa820286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f095cf0412d73796e63222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a0e45786563757461626c6550617468144e5100900c41726368697465637475726505616d6436340a50726f63537461747573194e616d653a091d81980a5069643a093139044461746518547565204f63742032382031323a33303a35352032303235132d17465d001804546167731b6e21610420700925342d66726f6d2d70726f706f736564'),
	('01a1fdfa-4693-7317-87fa-4910c8dcd184', '2026-11-21 12:00:00.147+00', '2025-12-30 12:02:59+00', '2025-12-30', true, '', NULL, '\xed6859e7042fb4541ad109d3988899c8b03879c8', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', 'not', 'harbor', 'Ubuntu 26.04', 'arm64', 'arm64', '', true, true, '\x01b403f04604546167731b6e6f626c65207061636b6167652d66726f6d2d70726f706f7365640e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e630750093a00140914f08d206e6f7420612076657273696f6e0d44697374726f52656c656173650c5562756e74752032362e30340c4172636869746563747572650561726d36340a50726f63537461747573194e616d653a09686172626f722d73796e630a5069643a093230124475706c69636174655369676e617475726517666f75720a6c696e6573202771756f7465642720253431135009d52e6a001803616c6c0b507201f4446d547970650543726173680d536f757263650d30000609cb280954726163656261636b6c150aa820286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f09452524f04a222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a044461746518547565204465632033302031323a30323a35392032303235'),
	('01a1fdfa-4787-73f2-85ce-ce6bfdc33f0e', '2026-11-21 12:00:00.391+00', NULL, '2026-11-21', true, '', NULL, '\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.00-1', 'harbor', 'Ubuntu 26.04', 'arm64', '', '', true, true, '\x01ff02f03e0b50726f626c656d547970650543726173680e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e63075061636b6167650d09143420312e30302d310d536f757263650d1c00060900440a50726f63537461747573194e616d653a0909180548200a5069643a093231130d348041726368697465637475726507756e6b6e6f776e04546167731b6e6f626c6520700927a42d66726f6d2d70726f706f7365640d44697374726f52656c656173650c5562756e74752032362e30340c2e5100400561726d36340954726163656261636b6c150a8420286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520224e0501f043222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a124475706c69636174655369676e6174757265036f6e65'),
	('01a1fdfa-491f-7e62-8bbd-24086aec25f7', '2026-11-21 12:00:00.799+00', '2026-03-31 12:03:26+00', '2026-03-31', true, '', NULL, '\xb802f384302cb24fbab0a44997e820bf2e8507bb', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.0-1', 'harbor', 'Ubuntu 26.04', 'arm64', 'i386', '', true, true, '\x019b03f03f0e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e63075061636b6167650c686172626f7220312e302d310d536f757263650d1b00060900740c4172636869746563747572650561726d36340954726163656261636b6c150a8420286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520224e8700f057222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a044461746518547565204d61722033312031323a30333a3236203230323604546167731b6e6f626c65207009c2f0652d66726f6d2d70726f706f736564124475706c69636174655369676e61747572650574687265650b50726f626c656d547970650543726173680d44697374726f52656c656173650c5562756e74752032362e30340a50726f63537461747573194e616d653a093d56200a5069643a093232132d43404172636869746563747572650469333836'),
	('01a1fdfa-4953-7c62-bb2c-3fd85d9ed6ec', '2026-11-21 12:00:00.851+00', NULL, '2026-11-21', true, 'dog', -3646974585513546264, '\xad782ecdac770fc6eb9a62e44f90873fb97fb26b', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.00-1', 'harbor', '', 'arm64', 'i386', '', true, true, '\x01e102bc0a50726f63537461747573194e616d653a09686172626f722d73796e630a5069643a0932330954726163656261636b6c150aa820286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f1d52f0b4222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a04546167731b6e6f626c65207061636b6167652d66726f6d2d70726f706f7365640d536f757263655061636b61676506686172626f72124475706c69636174655369676e61747572650374776f135061636b61676541726368697465637475726504693338360b50726f626c656d547970650543726173680e45786563757461626c6550617468144ec9000407500991000d292f1c20312e30302d310c2e5e00140561726d3634'),
	('01a1fdfa-46fc-7983-a5b9-45c46f87de67', '2026-11-21 12:00:00.252+00', '2026-10-06 12:03:59+00', '2026-10-06', true, 'dog', -3646974585513546264, NULL, 'The traceback has no exception and frames in a known form.', '', 3, 'Crash', 'harbor-sync crashed with nothing known', '/usr/bin/harbor-sync', 'harbor', '1.10', 'harbor', 'Ubuntu 26.04', 'amd64', '', '', true, true, '\x01a502f0770e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e63075061636b6167650b686172626f7220312e31300d44697374726f52656c656173650c5562756e74752032362e30340c41726368697465637475726505616d6436340a50726f63537461747573194e616d653a09094b055f500a5069643a09323404546167731b6e6f626c65207009723c2d66726f6d2d70726f706f736564135009162e60008007756e6b6e6f776e0b50726f626c656d547970650543726173680d536f757263650d3400060971d40954726163656261636b0d6e6f7468696e67206b6e6f776e044461746518547565204f63742020362031323a30333a35392032303236'),
	('01a1fdfa-464a-74b7-9970-e46e7ff19de9', '2026-11-21 12:00:00.074+00', '2026-08-17 12:29:13+00', '2026-08-17', false, 'deadbeef01', -7411738264728770193, '\xad782ecdac770fc6eb9a62e44f90873fb97fb26b', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.0~rc1-1', 'harbor', '', 'arm64', '', '', false, true, '\x01e402f0760c4172636869746563747572650561726d36340a50726f63537461747573194e616d653a09686172626f722d73796e630a5069643a0932350954726163656261636b6c54726163656261636b20286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f1d52d0222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a135061636b6167652eb6006807756e6b6e6f776e0b50726f626c656d54797065054372617368070d2e0010096ff05720312e307e7263312d310444617465184d6f6e204175672031372031323a32393a31332032303236124475706c69636174655369676e61747572650374776f0e45786563757461626c6550617468142f7573722f62696e2f095e251f180d536f757263650d781806686172626f72'),
	('01a1fdfa-460b-7594-9164-ed44847a1ed9', '2026-11-21 12:00:00.011+00', '2026-03-01 12:03:27+00', '2026-03-01', true, 'dog', -3646974585513546264, '\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '2:0.9', 'harbor', 'Ubuntu 26.04', 'amd64', 'amd64', '', true, true, '\x019a03bc0a50726f63537461747573194e616d653a09686172626f722d73796e630a5069643a0932360954726163656261636b6c150aa820286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f1d52f099222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a135061636b61676541726368697465637475726505616d64363404546167731b6e6f626c65207061636b6167652d66726f6d2d70726f706f736564124475706c69636174655369676e6174757265036f6e650b50726f626c656d54797065054372617368075061636b6167650c09f73020323a302e390d536f757263650d7f0006091b6c0d44697374726f52656c656173650c5562756e74752032362e30340c4aa200b0446174651853756e204d61722020312031323a30333a323720323032360e45786563757461626c6550617468144e2b01'),
	('01a1fdfa-4959-7852-8fe7-a7fdd40d9be0', '2026-11-21 12:00:00.857+00', '2026-04-02 12:58:31+00', '2026-04-02', true, 'dog', -3646974585513546264, '\x0ecf320a93475e8d81fcf2e44f5f690c49c8e085', '', 'traceback', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.00-1', 'harbor', 'Debian 13', 'amd64', 'i386', '', true, true, '\x01800370075061636b6167650d686172626f7220312e30302d310d536f757263650d1c00060900280954726163656261636b6c150aa820286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f0945f0532d73796e63222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a0b50726f626c656d547970650543726173680e45786563757461626c6550617468144e6300f0750d44697374726f52656c656173650944656269616e2031330c41726368697465637475726505616d6436340a50726f63537461747573194e616d653a09686172626f722d73796e630a5069643a093237044461746518546875204170722020322031323a35383a33312032303236135061636b6167652e5d0044046933383604546167731b6e6f626c652070296a342d66726f6d2d70726f706f736564'),
	('01a1fdfa-46ff-7043-b43f-f88a42759b0b', '2026-11-21 12:00:00.255+00', '2026-04-03 12:53:23+00', '2026-04-03', true, 'ant', 7467868911663076974, '\xb802f384302cb24fbab0a44997e820bf2e8507bb', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', 'not', 'harbor', 'Debian 13', 'amd64', 'amd64', '', false, true, '\x01fe02f03e0d536f757263655061636b61676506686172626f720d44697374726f52656c656173650944656269616e2031330a50726f63537461747573194e616d653a0909305c2d73796e630a5069643a0932380954726163656261636b6c150aa820286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f1d52f06c222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a044461746518467269204170722020332031323a35333a323320323032360b50726f626c656d547970650543726173680e45786563757461626c6550617468144e810000072d170014090084206e6f7420612076657273696f6e0c41726368697465637475726505616d643634130d302e1a007003616c6c124475706c69636174655369676e6174757265057468726565'),
	('01a1fdfa-47a4-7967-917e-2ba45effa671', '2026-11-21 12:00:00.42+00', '2026-04-15 12:07:32+00', '2026-04-15', false, 'deadbeef01', -7411738264728770193, '\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '', 'harbor', 'Ubuntu 9.10 derivative', 'amd64', 'i386', '', false, true, '\x01fd02f47c010c41726368697465637475726505616d643634044461746518576564204170722031352031323a30373a333220323032360b50726f626c656d54797065054372617368075061636b61676507686172626f72200d44697374726f52656c65617365165562756e747520392e313020646572697661746976650a50726f63537461747573194e616d653a09686172626f722d73796e630a5069643a0932390954726163656261636b6c54726163656261636b20286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f686172626f722d73796e63222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a135061636b6167654172636869746563747572650469333836124475706c69636174655369676e6174757265036f6e650e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e630d536f757263655061636b61676506686172626f72'),
	('01a1fdfa-47de-7ecb-901c-6cc7bf64af5b', '2026-11-21 12:00:00.478+00', '2026-09-12 12:32:54+00', '2026-09-12', true, 'dog', -3646974585513546264, '\xad782ecdac770fc6eb9a62e44f90873fb97fb26b', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', 'not', 'harbor', '', 'arm64', '', '', false, true, '\x01e802f46701135061636b61676541726368697465637475726507756e6b6e6f776e0d536f757263655061636b61676506686172626f72044461746518536174205365702031322031323a33323a35342032303236124475706c69636174655369676e61747572650374776f0b50726f626c656d547970650543726173680e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e63075061636b61676514686172626f72206e6f7420612076657273696f6e0c4172636869746563747572650561726d36340a50726f63537461747573194e616d653a09686172626f722d73796e630a5069643a0933300954726163656261636b6c54726163656261636b20286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f686172626f722d73796e63222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a'),
	('01a1fdfa-47b2-73af-b7c6-87992cc88232', '2026-11-21 12:00:00.434+00', '2026-06-27 12:02:28+00', '2026-06-27', true, 'bee', 7118926252799043119, NULL, 'The traceback has no exception and frames in a known form.', '', 3, 'Crash', 'harbor-sync crashed with nothing known', '/usr/bin/harbor-sync', 'harbor', '', 'harbor', 'Debian 13', 'arm64', '', '', true, true, '\x019e02f41d010a50726f63537461747573194e616d653a09686172626f722d73796e630a5069643a093331044461746518536174204a756e2032372031323a30323a32382032303236135061636b61676541726368697465637475726507756e6b6e6f776e0d536f757263655061636b61676506686172626f720954726163656261636b0d6e6f7468696e67206b6e6f776e04546167731b6e6f626c65207061636b6167652d66726f6d2d70726f706f7365640b50726f626c656d547970650543726173680e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e63075061636b61676507686172626f72200d44697374726f52656c656173650944656269616e2031330c4172636869746563747572650561726d3634'),
	('01a1fdfa-499c-735f-9880-704bad14d558', '2026-11-21 12:00:00.924+00', '2025-12-18 12:10:10+00', '2025-12-18', true, '', NULL, '\xad782ecdac770fc6eb9a62e44f90873fb97fb26b', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.0-1', 'harbor', '', 'arm64', 'arm64', '', true, true, '\x01fd0298135061636b61676541726368697465637475726503616c6c124475706c69636174655369676e610517e474776f0b50726f626c656d547970650543726173680e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e63070d65000c09143020312e302d310d536f757263650d1b000609003004546167731b6e6f626c652070091a382d66726f6d2d70726f706f7365640c2ea9005c0561726d36340a50726f63537461747573194e616d653a09094c057b480a5069643a0933320954726163656261636b6c150aa820286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f099e0552f04a222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a044461746518546875204465632031382031323a31303a31302032303235'),
	('01a1fdfa-4838-7818-9acb-49e97b219901', '2026-11-21 12:00:00.568+00', NULL, '2026-11-21', true, 'dog', -3646974585513546264, '\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.0-1', 'harbor', 'Debian 13', 'arm64', 'arm64', '', true, true, '\x01f70298135061636b61676541726368697465637475726503616c6c124475706c69636174655369676e610517b46f6e650b50726f626c656d547970650543726173680d44697374726f52656c656173650944656269616e2031330c2e5200a80561726d36340e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e63070d90000c09143020312e302d310d536f757263650dab0006091b440a50726f63537461747573194e616d653a0909180547480a5069643a0933330954726163656261636b6c150a8420286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520224e9900cc222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a04546167731b6e212b04207009b6342d66726f6d2d70726f706f736564'),
	('01a1fdfa-46a5-7fc9-8683-86254690f968', '2026-11-21 12:00:00.165+00', NULL, '2026-11-21', true, 'ant', 7467868911663076974, '\xed6859e7042fb4541ad109d3988899c8b03879c8', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '2:0.9', 'harbor', 'Ubuntu 24.04', 'amd64', '', '', false, true, '\x01f102b40b50726f626c656d54797065054372617368075061636b6167650c686172626f7220323a302e390d536f757263650d1b00060900f0580d44697374726f52656c656173650c5562756e74752032342e30340a50726f63537461747573194e616d653a09686172626f722d73796e630a5069643a0933340e45786563757461626c6550617468142f7573722f62696e2f1d2c740c41726368697465637475726505616d6436340954726163656261636b6c150a8420286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520224e5d00b4222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a130dfd2e91008007756e6b6e6f776e124475706c69636174655369676e617475726517666f75720a015f3473202771756f7465642720253431'),
	('01a1fdfa-47be-767b-abff-3f64c7c81fde', '2026-11-21 12:00:00.446+00', '2025-11-11 12:54:30+00', '2026-11-21', true, 'dog', -3646974585513546264, NULL, 'The traceback has no exception and frames in a known form.', '', 3, 'Crash', 'harbor-sync crashed with nothing known', '/usr/bin/harbor-sync', 'harbor', '1.00-1', 'harbor', 'Ubuntu 9.10 derivative', 'amd64', '', '', true, true, '\x01b102f430010c41726368697465637475726505616d6436340954726163656261636b0d6e6f7468696e67206b6e6f776e135061636b61676541726368697465637475726507756e6b6e6f776e04546167731b6e6f626c65207061636b6167652d66726f6d2d70726f706f7365640d536f757263655061636b61676506686172626f720d44697374726f52656c65617365165562756e747520392e313020646572697661746976650a50726f63537461747573194e616d653a09686172626f722d73796e630a5069643a093335044461746518547565204e6f762031312031323a35343a333020323032350b50726f626c656d547970650543726173680e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e63075061636b6167650d686172626f7220312e30302d31'),
	('01a1fdfa-4614-7a2f-86be-44de04e3dad6', '2026-11-21 12:00:00.02+00', '2026-04-16 12:31:05+00', '2026-04-16', true, 'ant', 7467868911663076974, '\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '', 'harbor', 'Debian 13', 'amd64', 'amd64', '', true, true, '\x019003f07f124475706c69636174655369676e6174757265036f6e650b50726f626c656d547970650543726173680e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e63075061636b61676507686172626f72200d44697374726f52656c656173650944656269616e2031330954726163656261636b6c150a8420286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520224e7200f069222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a044461746518546875204170722031362031323a33313a30352032303236135061636b61676541726368697465637475726503616c6c0d536f757263650ddb00060900000c2e26005c05616d6436340a50726f63537461747573194e616d653a09092b251a500a5069643a09333604546167731b6e6f626c6520700952342d66726f6d2d70726f706f736564'),
	('01a1fdfa-4938-7332-93b9-483bc0a61c97', '2026-11-21 12:00:00.824+00', '2025-10-27 12:10:44+00', '2026-11-21', true, 'dog', -3646974585513546264, '\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.00-1', 'harbor', 'Ubuntu 24.04', 'amd64', 'amd64', '', false, true, '\x01fa02f06a0b50726f626c656d54797065054372617368075061636b6167650d686172626f7220312e30302d310c41726368697465637475726505616d643634124475706c69636174655369676e6174757265036f6e650e45786563757461626c6550617468142f7573722f62696e2f09502c2d73796e630d536f757263650d6a00060900b00d44697374726f52656c656173650c5562756e74752032342e30340a50726f63537461747573194e616d653a091d4d480a5069643a0933370954726163656261636b6c150a8420286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520224e9f00f064222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a0444617465184d6f6e204f63742032372031323a31303a34342032303235135061636b61676541726368697465637475726505616d643634'),
	('01a1fdfa-47c3-7daf-80db-49eebc607c8b', '2026-11-21 12:00:00.451+00', NULL, '2026-11-21', true, 'ant', 7467868911663076974, '\xb802f384302cb24fbab0a44997e820bf2e8507bb', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.0~rc1-1', 'harbor', 'Ubuntu 9.10 derivative', 'amd64', '', '', false, true, '\x01ed027c075061636b61676510686172626f7220312e307e7263312d310d536f757263650d1f00060900440a50726f63537461747573194e616d653a0909185c2d73796e630a5069643a0933380954726163656261636b6c150aa820286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f096a0552f067222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a124475706c69636174655369676e61747572650574687265650b50726f626c656d547970650543726173680e45786563757461626c6550617468144e7c00e00d44697374726f52656c65617365165562756e747520392e313020646572697661746976650c41726368697465637475726505616d643634132d322e1a001c07756e6b6e6f776e'),
	('01a1fdfa-4731-72c0-ba27-0e3e75ecc887', '2026-11-21 12:00:00.305+00', '2026-11-01 12:10:18+00', '2026-11-01', true, 'dog', -3646974585513546264, '\xed6859e7042fb4541ad109d3988899c8b03879c8', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.0-1', 'harbor', 'Ubuntu 26.04', 'arm64', '', '', false, true, '\x018f03f06d0d536f757263655061636b61676506686172626f720d44697374726f52656c656173650c5562756e74752032362e30340c4172636869746563747572650561726d3634135061636b61676541726368697465637475726507756e6b6e6f776e124475706c69636174655369676e610135a417666f75720a6c696e6573202771756f74656427202534310a50726f63537461747573194e616d653a09098d5c2d73796e630a5069643a0933390954726163656261636b6c150aa820286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f1d5208222c200184f06520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a04446174651853756e204e6f762020312031323a31303a313820323032360b50726f626c656d547970650543726173680e45786563757461626c6550617468144e810000072d74300c686172626f7220312e302d31'),
	('01a1fdfa-4600-7c5b-aba4-feb601810067', '2026-11-21 12:00:00+00', '2026-11-21 12:00:00+00', '2026-11-21', true, 'machine 0', 960314294414211506, '\x3eb5e260977a13d2b5e92517a4edb18ecf3b9114', '', 'traceback', 3, 'Crash', 'harbor-sync crashed with Error0 in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.0-1', 'harbor', 'Ubuntu 24.04', 'amd64', '', '', false, true, '\x01b102f430010d44697374726f52656c656173650c5562756e74752032342e30340c41726368697465637475726505616d6436340a50726f63537461747573065069643a09300954726163656261636b6854726163656261636b20286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f686172626f722d73796e63222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a4572726f72303a206e6f0a044461746518536174204e6f762032312031323a30303a303020323032360b50726f626c656d547970650543726173680e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e63075061636b6167650c686172626f7220312e302d310d536f757263655061636b61676506686172626f72'),
	('01a1fdfa-4600-791d-8c5c-fc553b412e6e', '2026-11-21 12:00:00+00', '2026-11-21 12:00:00+00', '2026-11-21', true, 'machine 0', 960314294414211506, '\x585f1620d78fe7dfdce424a203b59e981ba59c13', '', 'traceback', 3, 'Crash', 'harbor-sync crashed with Error1 in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.0-1', 'harbor', 'Ubuntu 24.04', 'amd64', '', '', false, true, '\x01b102f43001075061636b6167650c686172626f7220312e302d310d44697374726f52656c656173650c5562756e74752032342e30340954726163656261636b6854726163656261636b20286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f686172626f722d73796e63222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a4572726f72313a206e6f0a0b50726f626c656d547970650543726173680d536f757263655061636b61676506686172626f720c41726368697465637475726505616d6436340a50726f63537461747573065069643a0931044461746518536174204e6f762032312031323a30303a303020323032360e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e63'),
	('01a1fdfa-4600-7c32-926c-bc5b729fece7', '2026-11-21 12:00:00+00', '2026-11-21 12:00:00+00', '2026-11-21', true, 'machine 0', 960314294414211506, '\x20909a063b6845e6168427dbc1341585c9107850', '', 'traceback', 3, 'Crash', 'harbor-sync crashed with Error2 in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.0-1', 'harbor', 'Ubuntu 24.04', 'amd64', '', '', false, true, '\x01b102bc0c41726368697465637475726505616d6436340a50726f63537461747573065069643a09320954726163656261636b68150af08c20286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f686172626f722d73796e63222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a4572726f72323a206e6f0a044461746518536174204e6f762032312031323a30303a303020323032360e45786563757461626c6550617468144e6b00380d536f757263655061636b616765060985480b50726f626c656d54797065054372617368070d21000c09008020312e302d310d44697374726f52656c656173650c5562756e74752032342e3034'),
	('01a1fdfa-4600-7615-aa2a-8ecbc7f436e3', '2026-11-21 12:00:00+00', '2026-11-21 12:00:00+00', '2026-11-21', true, 'machine 0', 960314294414211506, '\xa2677c6f29f00463517a4d5f56b26ade0199978c', '', 'traceback', 3, 'Crash', 'harbor-sync crashed with Error3 in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.0-1', 'harbor', 'Ubuntu 24.04', 'amd64', '', '', false, true, '\x01b102280954726163656261636b68150af07f20286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f686172626f722d73796e63222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a4572726f72333a206e6f0a0b50726f626c656d547970650543726173680d536f757263655061636b616765060955f03f0a50726f63537461747573065069643a0933044461746518536174204e6f762032312031323a30303a303020323032360e45786563757461626c6550617468144ea40000070d63000c0900cc20312e302d310d44697374726f52656c656173650c5562756e74752032342e30340c41726368697465637475726505616d643634'),
	('01a1fdfa-4600-7f98-9a8b-f2d9ca282e83', '2026-11-21 12:00:00+00', '2026-11-21 12:00:00+00', '2026-11-21', true, 'machine 0', 960314294414211506, '\xc0bbe80da45484ddfbb66d7af43af605e6b83a4a', '', 'traceback', 3, 'Crash', 'harbor-sync crashed with Error4 in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.0-1', 'harbor', 'Ubuntu 24.04', 'amd64', '', '', false, true, '\x01b102f430010a50726f63537461747573065069643a09340b50726f626c656d547970650543726173680e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e630d536f757263655061636b61676506686172626f720d44697374726f52656c656173650c5562756e74752032342e30340954726163656261636b6854726163656261636b20286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f686172626f722d73796e63222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a4572726f72343a206e6f0a044461746518536174204e6f762032312031323a30303a30302032303236075061636b6167650c686172626f7220312e302d310c41726368697465637475726505616d643634'),
	('01a1fdfa-4600-7974-88b7-38c06664d043', '2026-11-21 12:00:00+00', '2026-11-21 12:00:00+00', '2026-11-21', true, 'machine 0', 960314294414211506, '\x6e51a0881b233d187984c9704cea4c959707cc78', '', 'traceback', 3, 'Crash', 'harbor-sync crashed with Error5 in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.0-1', 'harbor', 'Ubuntu 24.04', 'amd64', '', '', false, true, '\x01b102f430010d536f757263655061636b61676506686172626f720d44697374726f52656c656173650c5562756e74752032342e30340954726163656261636b6854726163656261636b20286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f686172626f722d73796e63222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a4572726f72353a206e6f0a044461746518536174204e6f762032312031323a30303a303020323032360b50726f626c656d547970650543726173680e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e63075061636b6167650c686172626f7220312e302d310c41726368697465637475726505616d6436340a50726f63537461747573065069643a0935'),
	('01a1fdfa-4600-7133-99f2-aad840603924', '2026-11-21 12:00:00+00', '2026-11-21 12:00:00+00', '2026-11-21', true, 'machine 10', -4608406449694850073, '\x3eb5e260977a13d2b5e92517a4edb18ecf3b9114', '', 'traceback', 3, 'Crash', 'harbor-sync crashed with Error0 in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.0-1', 'harbor', 'Ubuntu 24.04', 'amd64', '', '', false, true, '\x01b102f430010a50726f63537461747573065069643a09300954726163656261636b6854726163656261636b20286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f686172626f722d73796e63222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a4572726f72303a206e6f0a044461746518536174204e6f762032312031323a30303a303020323032360b50726f626c656d547970650543726173680e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e630c41726368697465637475726505616d643634075061636b6167650c686172626f7220312e302d310d536f757263655061636b61676506686172626f720d44697374726f52656c656173650c5562756e74752032342e3034'),
	('01a1fdfa-4600-7aad-8203-c097899e7378', '2026-11-21 12:00:00+00', '2026-11-21 12:00:00+00', '2026-11-21', true, 'machine 11', -3860108620367732908, '\x3eb5e260977a13d2b5e92517a4edb18ecf3b9114', '', 'traceback', 3, 'Crash', 'harbor-sync crashed with Error0 in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.0-1', 'harbor', 'Ubuntu 24.04', 'amd64', '', '', false, true, '\x01b102f430010e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e63075061636b6167650c686172626f7220312e302d310d536f757263655061636b61676506686172626f720c41726368697465637475726505616d6436340b50726f626c656d547970650543726173680d44697374726f52656c656173650c5562756e74752032342e30340a50726f63537461747573065069643a09300954726163656261636b6854726163656261636b20286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f686172626f722d73796e63222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a4572726f72303a206e6f0a044461746518536174204e6f762032312031323a30303a30302032303236'),
	('01a1fdfa-4600-7624-b1b9-5ba49f0ee604', '2026-11-21 12:00:00+00', '2026-11-21 12:00:00+00', '2026-11-21', true, 'machine 12', -7520849527226039753, '\x3eb5e260977a13d2b5e92517a4edb18ecf3b9114', '', 'traceback', 3, 'Crash', 'harbor-sync crashed with Error0 in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.0-1', 'harbor', 'Ubuntu 24.04', 'amd64', '', '', false, true, '\x01b102f05a0d536f757263655061636b61676506686172626f720d44697374726f52656c656173650c5562756e74752032342e30340b50726f626c656d547970650543726173680e45786563757461626c6550617468142f7573722f62696e2f094c142d73796e63070d60000c0900f06020312e302d310c41726368697465637475726505616d6436340a50726f63537461747573065069643a09300954726163656261636b6854726163656261636b20286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520224e8400f046222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a4572726f72303a206e6f0a044461746518536174204e6f762032312031323a30303a30302032303236'),
	('01a1fdfa-4600-703b-8bd4-81007bb9e592', '2026-11-21 12:00:00+00', '2026-11-21 12:00:00+00', '2026-11-21', true, 'machine 13', 5416793321232141871, '\x3eb5e260977a13d2b5e92517a4edb18ecf3b9114', '', 'traceback', 3, 'Crash', 'harbor-sync crashed with Error0 in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.0-1', 'harbor', 'Ubuntu 24.04', 'amd64', '', '', false, true, '\x01b102f05e0e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e630d536f757263655061636b61676506686172626f720d44697374726f52656c656173650c5562756e74752032342e30340954726163656261636b68150a8420286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520224e7a00f059222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a4572726f72303a206e6f0a044461746518536174204e6f762032312031323a30303a303020323032360b50726f626c656d54797065054372617368070dcd000c0900a820312e302d310c41726368697465637475726505616d6436340a50726f63537461747573065069643a0930');
INSERT INTO public.reports_2026_11 VALUES
	('01a1fdfa-4600-7763-8952-b31e5d2fd6a2', '2026-11-21 12:00:00+00', '2026-11-21 12:00:00+00', '2026-11-21', true, 'machine', -4899342218789532909, '\x0ecf320a93475e8d81fcf2e44f5f690c49c8e085', '', 'traceback', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.0-1', 'harbor', 'Ubuntu 24.04', 'amd64', '', '', false, true, '\x01c002f08a0b50726f626c656d547970650543726173680e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e630d536f757263655061636b61676506686172626f720d44697374726f52656c656173650c5562756e74752032342e30340c41726368697465637475726505616d6436340a50726f63537461747573114e616d653a091d6020075061636b6167650c09744020312e302d310954726163656261636b6c150a8420286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520224ebf00f04a222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a044461746518536174204e6f762032312031323a30303a30302032303236'),
	('01a1fdfa-4600-77b5-92f9-2b172c954674', '2026-11-21 12:00:00+00', '2026-11-21 12:00:00+00', '2026-11-21', true, 'machine 1', -4554613533220127328, '\xb3ffb9c204d4eaee8e9913abc981a745e9f99f99', '', 'address', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.0-1', 'harbor', 'Ubuntu 24.04', 'amd64', '', '/usr/bin/tide:11:/usr/bin/tide+aa', false, true, '\x01f402b80e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e630954726163656261636b6c150a8420286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520224e4a00f051222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a044461746518536174204e6f762032312031323a30303a303020323032361a537461636b74019a40416464726573735369676e617475726521157b1c746964653a31313a321100742b61610b50726f626c656d54797065054372617368075061636b6167650c09f83020312e302d310d536f757263650d1b00060900f0410d44697374726f52656c656173650c5562756e74752032342e30340c41726368697465637475726505616d6436340a50726f63537461747573085069643a09316161'),
	('01a1fdfa-4600-74c9-8315-752afec24e50', '2026-11-21 12:00:00+00', '2026-11-21 12:00:00+00', '2026-11-21', true, 'machine 2', -8552116761582013424, '\xea4a4b4e488cf5453743adcbabef3ced40d80498', '', 'stacktrace', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.0-1', 'harbor', 'Ubuntu 24.04', 'amd64', '', '/usr/bin/tide:11:/usr/bin/tide+aa', false, true, '\x01fe02f47d01075061636b6167650c686172626f7220312e302d310a50726f63537461747573125069643a0932616170617273653a6c6f61640954726163656261636b6c54726163656261636b20286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f686172626f722d73796e63222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a0b50726f626c656d547970650543726173680d536f757263655061636b61676506686172626f720d44697374726f52656c656173650c5562756e74752032342e30340c41726368697465637475726505616d643634044461746518536174204e6f762032312031323a30303a303020323032361a537461636b7472616365416464726573735369676e6174757265212f7573722f62696e2f746964653a31313a2f7573722f62696e2f746964652b61610e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e63'),
	('01a1fdfa-4600-7722-91ec-6b1ab16e461e', '2026-11-21 12:00:00+00', '2026-11-21 12:00:00+00', '2026-11-21', true, 'machine 20', -326343477004963435, '\xe5b7700d5ec2cc402f94d9e6f29c67973b952660', '', 'stacktrace', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.0-1', 'harbor', 'Ubuntu 24.04', 'amd64', '', '/usr/bin/tide:11:/usr/bin/tide+bb', false, true, '\x0180036c075061636b6167650c686172626f7220312e302d310d536f757263650d1b00060900740c41726368697465637475726505616d6436340954726163656261636b6c150aa820286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f0958e02d73796e63222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a1a537461636b74017240416464726573735369676e617475726521155d1c746964653a31313a321100902b62620b50726f626c656d547970650543726173680e45786563757461626c655061746814153209f805a0f0580d44697374726f52656c656173650c5562756e74752032342e30340a50726f63537461747573145069643a093230626277726974653a666c757368044461746518536174204e6f762032312031323a30303a30302032303236'),
	('01a1fdfa-4600-747b-922a-839c52a495b6', '2026-11-21 12:00:00+00', '2026-11-21 12:00:00+00', '2026-11-21', true, 'machine 22', 607877347802521158, '\xe5b7700d5ec2cc402f94d9e6f29c67973b952660', '', 'stacktrace', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.0-1', 'harbor', 'Ubuntu 24.04', 'amd64', '', '/usr/bin/tide:11:/usr/bin/tide+bb', false, true, '\x018003f47f010c41726368697465637475726505616d643634044461746518536174204e6f762032312031323a30303a303020323032360b50726f626c656d547970650543726173680d536f757263655061636b61676506686172626f720d44697374726f52656c656173650c5562756e74752032342e30340a50726f63537461747573145069643a093232626277726974653a666c7573680954726163656261636b6c54726163656261636b20286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f686172626f722d73796e63222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a1a537461636b7472616365416464726573735369676e6174757265212f7573722f62696e2f746964653a31313a2f7573722f62696e2f746964652b62620e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e63075061636b6167650c686172626f7220312e302d31'),
	('01a1fdfa-4600-79b0-98fc-6e1529399e16', '2026-11-21 12:00:00+00', '2026-11-21 12:00:00+00', '2026-11-21', true, 'machine 24', -720505204335836334, '\xe5b7700d5ec2cc402f94d9e6f29c67973b952660', '', 'stacktrace', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.0-1', 'harbor', 'Ubuntu 24.04', 'amd64', '', '/usr/bin/tide:11:/usr/bin/tide+bb', false, true, '\x018003f47f01075061636b6167650c686172626f7220312e302d310d536f757263655061636b61676506686172626f720d44697374726f52656c656173650c5562756e74752032342e30340c41726368697465637475726505616d6436340a50726f63537461747573145069643a093234626277726974653a666c7573680954726163656261636b6c54726163656261636b20286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f686172626f722d73796e63222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a0b50726f626c656d547970650543726173680e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e63044461746518536174204e6f762032312031323a30303a303020323032361a537461636b7472616365416464726573735369676e6174757265212f7573722f62696e2f746964653a31313a2f7573722f62696e2f746964652b6262'),
	('01a1fdfa-4600-722e-94bb-3fc6c956b6da', '2026-11-21 12:00:00+00', '2026-11-21 12:00:00+00', '2026-11-21', true, 'machine 21', -8063888576249931513, '\x377cdfea17d7c7be6610e2ee0dce82162a25e3f4', '', 'stacktrace', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.0-1', 'harbor', 'Ubuntu 24.04', 'arm64', '', '/usr/bin/tide:11:/usr/bin/tide+bb', false, true, '\x018003b40b50726f626c656d54797065054372617368075061636b6167650c686172626f7220312e302d310d536f757263650d1b00060900b01a537461636b7472616365416464726573735369676e6174757265212f7573722f62696e2f746964653a31313a321100482b62620e45786563757461626c6550617468141520095cf05d2d73796e630d44697374726f52656c656173650c5562756e74752032342e30340c4172636869746563747572650561726d36340a50726f63537461747573145069643a093231626277726974653a666c7573680954726163656261636b6c150a8420286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520224e9800f04a222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a044461746518536174204e6f762032312031323a30303a30302032303236'),
	('01a1fdfa-4600-7688-9196-6bac311a8d22', '2026-11-21 12:00:00+00', '2026-11-21 12:00:00+00', '2026-11-21', true, 'machine 23', 3095481748005705659, '\x377cdfea17d7c7be6610e2ee0dce82162a25e3f4', '', 'stacktrace', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.0-1', 'harbor', 'Ubuntu 24.04', 'arm64', '', '/usr/bin/tide:11:/usr/bin/tide+bb', false, true, '\x018003f0760d44697374726f52656c656173650c5562756e74752032342e30340c4172636869746563747572650561726d36340a50726f63537461747573145069643a093233626277726974653a666c757368044461746518536174204e6f762032312031323a30303a303020323032360954726163656261636b6c150af07e20286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f686172626f722d73796e63222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a1a537461636b7472616365416464726573735369676e617475726521155d1c746964653a31313a321100902b62620b50726f626c656d547970650543726173680e45786563757461626c65506174681415321da020075061636b6167650c09143020312e302d310d536f757263650d1b1806686172626f72'),
	('01a1fdfa-4600-7e79-ae8f-f7cead635768', '2026-11-21 12:00:00+00', '2026-11-21 12:00:00+00', '2026-11-21', true, 'machine 25', -7409291755749674535, '\x377cdfea17d7c7be6610e2ee0dce82162a25e3f4', '', 'stacktrace', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.0-1', 'harbor', 'Ubuntu 24.04', 'arm64', '', '/usr/bin/tide:11:/usr/bin/tide+bb', false, true, '\x018003f03e0b50726f626c656d547970650543726173680e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e63075061636b6167650c09145020312e302d310d536f757263655061636b61676506091bf0680c4172636869746563747572650561726d36340a50726f63537461747573145069643a093235626277726974653a666c7573680954726163656261636b6c54726163656261636b20286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520224ea700f081222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a0d44697374726f52656c656173650c5562756e74752032342e3034044461746518536174204e6f762032312031323a30303a303020323032361a537461636b7472616365416464726573735369676e617475726521353d1c746964653a31313a321100082b6262');

INSERT INTO public.river_job VALUES
	(1, 'available', 0, 25, NULL, '2026-11-22 06:59:49.898256+00', NULL, '2026-11-22 06:59:49.898256+00', 1, '{"decision": 5}', NULL, NULL, 'split', '{}', 'slow', '{}', NULL, NULL),
	(2, 'scheduled', 0, 25, NULL, '2026-11-22 06:59:49.945227+00', NULL, '2026-11-22 06:59:54.945168+00', 1, '{"filing": 1}', NULL, NULL, 'filing', '{}', 'default', '{}', NULL, NULL),
	(3, 'scheduled', 0, 25, NULL, '2026-11-22 06:59:49.980052+00', NULL, '2026-11-22 06:59:54.980028+00', 1, '{"filing": 2}', NULL, NULL, 'filing', '{}', 'default', '{}', NULL, NULL),
	(4, 'scheduled', 0, 25, NULL, '2026-11-22 06:59:49.983333+00', NULL, '2026-11-22 06:59:54.98332+00', 1, '{"filing": 3}', NULL, NULL, 'filing', '{}', 'default', '{}', NULL, NULL),
	(5, 'available', 0, 25, NULL, '2026-11-22 06:59:50.03498+00', NULL, '2026-11-22 06:59:50.03498+00', 1, '{"run": 1}', NULL, NULL, 'regroup', '{}', 'slow', '{}', NULL, NULL);

INSERT INTO public.river_migration VALUES
	('main', 1, '2026-11-22 06:53:02.937608+00'),
	('main', 2, '2026-11-22 06:53:02.944291+00'),
	('main', 3, '2026-11-22 06:53:02.968246+00'),
	('main', 4, '2026-11-22 06:53:02.969259+00'),
	('main', 5, '2026-11-22 06:53:02.975521+00'),
	('main', 6, '2026-11-22 06:53:03.00193+00'),
	('main', 7, '2026-11-22 06:53:03.004562+00'),
	('main', 8, '2026-11-22 06:53:03.014379+00');

INSERT INTO public.schema_version VALUES
	(16);

INSERT INTO public.split_sources VALUES
	('\xe5b7700d5ec2cc402f94d9e6f29c67973b952660', 5);

INSERT INTO public.unlinked_bugs VALUES
	('\x20909a063b6845e6168427dbc1341585c9107850', 9, 'linked', 'bob', '2026-11-22 06:59:50.005675+00', 'bob', '2026-11-22 06:59:50.013196+00');

INSERT INTO public.users OVERRIDING SYSTEM VALUE VALUES
	(2, 'bob', 'triager', '$argon2id$v=19$m=19456,t=2,p=1$LWo6LuVZmQq5HcTUlkhhzA$egsdVFfw+HoEu/+FJy8TToS/U9OWxnUPHnjXRlB/IMg', false, '2026-11-21 12:00:00+00', NULL, ''),
	(1, 'ada', 'admin', '$argon2id$v=19$m=19456,t=2,p=1$gCykk478sXKH57gBFLEb8g$Ub/8ZDZwMlqdSsnxx2NsjRoeHM0qX53HR9Udvpiy9os', false, '2026-11-21 12:00:00+00', NULL, 'ada-lovelace'),
	(3, 'cleo', 'viewer', '$argon2id$v=19$m=19456,t=2,p=1$vAX+1NpL7GufoghzhezMYg$O4ouiDGSevDD70gZZVE5+wMn7p9XFklC2LqBoLlNdAk', true, '2026-11-21 12:00:00+00', NULL, '');

SELECT pg_catalog.setval('public.api_tokens_id_seq', 1, true);

SELECT pg_catalog.setval('public.audit_events_id_seq', 24, true);

SELECT pg_catalog.setval('public.changes_id_seq', 34, true);

SELECT pg_catalog.setval('public.decisions_id_seq', 5, true);

SELECT pg_catalog.setval('public.filing_attempts_id_seq', 2, true);

SELECT pg_catalog.setval('public.filings_id_seq', 3, true);

SELECT pg_catalog.setval('public.note_texts_id_seq', 2, true);

SELECT pg_catalog.setval('public.notes_id_seq', 1, true);

SELECT pg_catalog.setval('public.regroup_runs_id_seq', 1, true);

SELECT pg_catalog.setval('public.river_job_id_seq', 5, true);

SELECT pg_catalog.setval('public.river_notification_id_seq', 1, false);

SELECT pg_catalog.setval('public.users_id_seq', 3, true);

ALTER TABLE ONLY public.api_tokens
    ADD CONSTRAINT api_tokens_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.applied_migrations
    ADD CONSTRAINT applied_migrations_pkey PRIMARY KEY (version);

ALTER TABLE ONLY public.archive_facts
    ADD CONSTRAINT archive_facts_pkey PRIMARY KEY (kind, key);

ALTER TABLE ONLY public.audit_events
    ADD CONSTRAINT audit_events_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.bucket_bugs
    ADD CONSTRAINT bucket_bugs_pkey PRIMARY KEY (bucket_id, bug_number);

ALTER TABLE ONLY public.bucket_days
    ADD CONSTRAINT bucket_days_pkey PRIMARY KEY (bucket_id, day, release, version, architecture, package_architecture);

ALTER TABLE ONLY public.bucket_releases
    ADD CONSTRAINT bucket_releases_pkey PRIMARY KEY (bucket_id, release);

ALTER TABLE ONLY public.bucket_systems
    ADD CONSTRAINT bucket_systems_pkey PRIMARY KEY (bucket_id, system, release, version);

ALTER TABLE ONLY public.bucket_travellers
    ADD CONSTRAINT bucket_travellers_pkey PRIMARY KEY (bucket_id, version, system);

ALTER TABLE ONLY public.bucket_versions
    ADD CONSTRAINT bucket_versions_pkey PRIMARY KEY (bucket_id, release, version);

ALTER TABLE ONLY public.buckets
    ADD CONSTRAINT buckets_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.bug_comments
    ADD CONSTRAINT bug_comments_pkey PRIMARY KEY (bug_number, version);

ALTER TABLE ONLY public.bug_states
    ADD CONSTRAINT bug_states_pkey PRIMARY KEY (number);

ALTER TABLE ONLY public.bug_templates
    ADD CONSTRAINT bug_templates_pkey PRIMARY KEY (package, problem_type);

ALTER TABLE ONLY public.bug_watch
    ADD CONSTRAINT bug_watch_pkey PRIMARY KEY (single);

ALTER TABLE ONLY public.bugs
    ADD CONSTRAINT bugs_pkey PRIMARY KEY (number);

ALTER TABLE ONLY public.changes
    ADD CONSTRAINT changes_pkey PRIMARY KEY (xact, at);

ALTER TABLE ONLY public.core_requests
    ADD CONSTRAINT core_requests_pkey PRIMARY KEY (report_id);

ALTER TABLE ONLY public.counting
    ADD CONSTRAINT counting_pkey PRIMARY KEY (single);

ALTER TABLE ONLY public.decisions
    ADD CONSTRAINT decisions_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.dropped_months
    ADD CONSTRAINT dropped_months_pkey PRIMARY KEY (month);

ALTER TABLE ONLY public.filing_attempts
    ADD CONSTRAINT filing_attempts_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.filing_writer
    ADD CONSTRAINT filing_writer_pkey PRIMARY KEY (single);

ALTER TABLE ONLY public.filings
    ADD CONSTRAINT filings_bucket_id_key UNIQUE (bucket_id);

ALTER TABLE ONLY public.filings
    ADD CONSTRAINT filings_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.follow_visits
    ADD CONSTRAINT follow_visits_pkey PRIMARY KEY (user_id);

ALTER TABLE ONLY public.followed
    ADD CONSTRAINT followed_pkey PRIMARY KEY (user_id, kind, name);

ALTER TABLE ONLY public.known_names
    ADD CONSTRAINT known_names_pkey PRIMARY KEY (address_id);

ALTER TABLE ONLY public.note_texts
    ADD CONSTRAINT note_texts_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.notes
    ADD CONSTRAINT notes_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.oauth_credentials
    ADD CONSTRAINT oauth_credentials_pkey PRIMARY KEY (tracker_url, consumer_key);

ALTER TABLE ONLY public.oauth_health
    ADD CONSTRAINT oauth_health_pkey PRIMARY KEY (tracker_url, consumer_key, token);

ALTER TABLE ONLY public.package_versions
    ADD CONSTRAINT package_versions_pkey PRIMARY KEY (package, release, version);

ALTER TABLE ONLY public.regroup_moves
    ADD CONSTRAINT regroup_moves_pkey PRIMARY KEY (run_id, from_id, to_id);

ALTER TABLE ONLY public.regroup_runs
    ADD CONSTRAINT regroup_runs_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.release_active
    ADD CONSTRAINT release_active_pkey PRIMARY KEY (release, day);

ALTER TABLE ONLY public.release_days
    ADD CONSTRAINT release_days_pkey PRIMARY KEY (day, release, architecture, problem_type, proposed);

ALTER TABLE ONLY public.release_systems
    ADD CONSTRAINT release_systems_pkey PRIMARY KEY (release, system, from_day);

ALTER TABLE ONLY public.releases
    ADD CONSTRAINT releases_pkey PRIMARY KEY (release);

ALTER TABLE ONLY public.report_days
    ADD CONSTRAINT report_days_pkey PRIMARY KEY (package, day, release, version, architecture, problem_type, proposed);

ALTER TABLE ONLY public.report_keys
    ADD CONSTRAINT report_keys_pkey PRIMARY KEY (key);

ALTER TABLE ONLY public.report_keys_1970
    ADD CONSTRAINT report_keys_1970_pkey PRIMARY KEY (key);

ALTER TABLE ONLY public.report_keys_2025
    ADD CONSTRAINT report_keys_2025_pkey PRIMARY KEY (key);

ALTER TABLE ONLY public.report_keys_2026
    ADD CONSTRAINT report_keys_2026_pkey PRIMARY KEY (key);

ALTER TABLE ONLY public.reports
    ADD CONSTRAINT reports_pkey PRIMARY KEY (received, id);

ALTER TABLE ONLY public.reports_2026_11
    ADD CONSTRAINT reports_2026_11_pkey PRIMARY KEY (received, id);

ALTER TABLE ONLY public.reports_2026_12
    ADD CONSTRAINT reports_2026_12_pkey PRIMARY KEY (received, id);

ALTER TABLE ONLY public.river_job
    ADD CONSTRAINT river_job_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.river_leader
    ADD CONSTRAINT river_leader_pkey PRIMARY KEY (name);

ALTER TABLE ONLY public.river_migration
    ADD CONSTRAINT river_migration_pkey1 PRIMARY KEY (line, version);

ALTER TABLE ONLY public.river_notification
    ADD CONSTRAINT river_notification_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.river_queue
    ADD CONSTRAINT river_queue_pkey PRIMARY KEY (name);

ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (token);

ALTER TABLE ONLY public.sign_in_failures
    ADD CONSTRAINT sign_in_failures_pkey PRIMARY KEY (key);

ALTER TABLE ONLY public.split_sources
    ADD CONSTRAINT split_sources_pkey PRIMARY KEY (bucket_id, decision_id);

ALTER TABLE ONLY public.uncounted
    ADD CONSTRAINT uncounted_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.unlinked_bugs
    ADD CONSTRAINT unlinked_bugs_pkey PRIMARY KEY (bucket_id, bug_number);

ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_pkey PRIMARY KEY (id);

CREATE UNIQUE INDEX api_tokens_hash ON public.api_tokens USING btree (hash);

CREATE INDEX api_tokens_user ON public.api_tokens USING btree (user_id);

CREATE INDEX archive_facts_due ON public.archive_facts USING btree (next_read);

CREATE INDEX archive_facts_unread ON public.archive_facts USING btree (asked) WHERE (read IS NULL);

CREATE INDEX audit_events_subject ON public.audit_events USING btree (subject, at DESC);

CREATE INDEX bucket_bugs_at ON public.bucket_bugs USING btree (at);

CREATE INDEX bucket_bugs_number ON public.bucket_bugs USING btree (bug_number);

CREATE INDEX bucket_versions_version ON public.bucket_versions USING btree (version);

CREATE INDEX buckets_changed ON public.buckets USING btree (changed);

CREATE INDEX buckets_head ON public.buckets USING btree (head);

CREATE INDEX buckets_package ON public.buckets USING btree (package);

CREATE INDEX buckets_source_package ON public.buckets USING btree (source_package);

CREATE INDEX bug_states_due ON public.bug_states USING btree (next_read);

CREATE INDEX bug_states_master ON public.bug_states USING btree (duplicate_of) WHERE (duplicate_of IS NOT NULL);

CREATE INDEX decisions_bucket ON public.decisions USING btree (bucket_id);

CREATE UNIQUE INDEX decisions_merged ON public.decisions USING btree (bucket_id) WHERE ((kind = 'merged'::text) AND (undone_at IS NULL));

CREATE INDEX decisions_other ON public.decisions USING btree (other_id) WHERE (other_id IS NOT NULL);

CREATE UNIQUE INDEX decisions_split ON public.decisions USING btree (other_id) WHERE ((kind = 'split'::text) AND (undone_at IS NULL));

CREATE INDEX decisions_unfinished ON public.decisions USING btree (id) WHERE (NOT finished);

CREATE INDEX filing_attempts_filing ON public.filing_attempts USING btree (filing_id, id);

CREATE INDEX filings_ledger ON public.filings USING btree (created, id);

CREATE INDEX filings_line ON public.filings USING btree (created, id) WHERE (state = 'queued'::text);

CREATE INDEX filings_open ON public.filings USING btree (not_before) WHERE (state = ANY (ARRAY['queued'::text, 'filing'::text, 'uncertain'::text]));

CREATE INDEX filings_sending ON public.filings USING btree (id) WHERE (state = 'filing'::text);

CREATE INDEX filings_subscriptions ON public.filings USING btree (id) WHERE (subscription = 'due'::text);

CREATE INDEX known_names_fresh ON public.known_names USING btree (address_id) WHERE fresh;

CREATE INDEX note_texts_note ON public.note_texts USING btree (note_id, id);

CREATE INDEX notes_bucket ON public.notes USING btree (bucket_id);

CREATE INDEX package_versions_order ON public.package_versions USING btree (package, release, version_key DESC);

CREATE UNIQUE INDEX regroup_runs_running ON public.regroup_runs USING btree ((true)) WHERE (state = 'running'::text);

CREATE INDEX reports_bucket ON ONLY public.reports USING btree (bucket_id, received DESC, id DESC) WHERE (bucket_id IS NOT NULL);

CREATE INDEX reports_2026_11_bucket_id_received_id_idx ON public.reports_2026_11 USING btree (bucket_id, received DESC, id DESC) WHERE (bucket_id IS NOT NULL);

CREATE INDEX reports_nameless ON ONLY public.reports USING btree (received DESC, id DESC) WHERE (system_key IS NULL);

CREATE INDEX reports_2026_11_received_id_idx ON public.reports_2026_11 USING btree (received DESC, id DESC) WHERE (system_key IS NULL);

CREATE INDEX reports_system ON ONLY public.reports USING btree (system_key, received DESC, id DESC) WHERE (system_key IS NOT NULL);

CREATE INDEX reports_2026_11_system_key_received_id_idx ON public.reports_2026_11 USING btree (system_key, received DESC, id DESC) WHERE (system_key IS NOT NULL);

CREATE INDEX reports_2026_12_bucket_id_received_id_idx ON public.reports_2026_12 USING btree (bucket_id, received DESC, id DESC) WHERE (bucket_id IS NOT NULL);

CREATE INDEX reports_2026_12_received_id_idx ON public.reports_2026_12 USING btree (received DESC, id DESC) WHERE (system_key IS NULL);

CREATE INDEX reports_2026_12_system_key_received_id_idx ON public.reports_2026_12 USING btree (system_key, received DESC, id DESC) WHERE (system_key IS NOT NULL);

CREATE INDEX river_job_args_index ON public.river_job USING gin (args);

CREATE INDEX river_job_kind ON public.river_job USING btree (kind);

CREATE INDEX river_job_metadata_index ON public.river_job USING gin (metadata);

CREATE INDEX river_job_prioritized_fetching_index ON public.river_job USING btree (state, queue, priority, scheduled_at, id);

CREATE INDEX river_job_state_and_finalized_at_index ON public.river_job USING btree (state, finalized_at) WHERE (finalized_at IS NOT NULL);

CREATE UNIQUE INDEX river_job_unique_idx ON public.river_job USING btree (unique_key) WHERE ((unique_key IS NOT NULL) AND (unique_states IS NOT NULL) AND public.river_job_state_in_bitmask(unique_states, state));

CREATE INDEX river_notification_created_at_idx ON public.river_notification USING btree (created_at);

CREATE INDEX river_notification_topic_id_idx ON public.river_notification USING btree (topic, id);

CREATE INDEX sessions_expiry ON public.sessions USING btree (expiry);

CREATE INDEX sessions_user ON public.sessions USING btree (user_id) WHERE (user_id IS NOT NULL);

CREATE UNIQUE INDEX users_name ON public.users USING btree (lower(name));

ALTER INDEX public.report_keys_pkey ATTACH PARTITION public.report_keys_1970_pkey;

ALTER INDEX public.report_keys_pkey ATTACH PARTITION public.report_keys_2025_pkey;

ALTER INDEX public.report_keys_pkey ATTACH PARTITION public.report_keys_2026_pkey;

ALTER INDEX public.reports_bucket ATTACH PARTITION public.reports_2026_11_bucket_id_received_id_idx;

ALTER INDEX public.reports_pkey ATTACH PARTITION public.reports_2026_11_pkey;

ALTER INDEX public.reports_nameless ATTACH PARTITION public.reports_2026_11_received_id_idx;

ALTER INDEX public.reports_system ATTACH PARTITION public.reports_2026_11_system_key_received_id_idx;

ALTER INDEX public.reports_bucket ATTACH PARTITION public.reports_2026_12_bucket_id_received_id_idx;

ALTER INDEX public.reports_pkey ATTACH PARTITION public.reports_2026_12_pkey;

ALTER INDEX public.reports_nameless ATTACH PARTITION public.reports_2026_12_received_id_idx;

ALTER INDEX public.reports_system ATTACH PARTITION public.reports_2026_12_system_key_received_id_idx;

CREATE TRIGGER note_delete AFTER DELETE ON public.archive_facts FOR EACH ROW WHEN ((old.read IS NOT NULL)) EXECUTE FUNCTION public.note_change();

CREATE TRIGGER note_insert AFTER INSERT ON public.archive_facts FOR EACH ROW WHEN ((new.read IS NOT NULL)) EXECUTE FUNCTION public.note_change();

CREATE TRIGGER note_row AFTER INSERT OR DELETE ON public.bucket_bugs FOR EACH ROW EXECUTE FUNCTION public.note_change();

CREATE TRIGGER note_row AFTER INSERT OR DELETE ON public.bug_states FOR EACH ROW EXECUTE FUNCTION public.note_change();

CREATE TRIGGER note_row AFTER INSERT OR DELETE ON public.bugs FOR EACH ROW EXECUTE FUNCTION public.note_change();

CREATE TRIGGER note_row AFTER INSERT OR DELETE ON public.decisions FOR EACH ROW EXECUTE FUNCTION public.note_change();

CREATE TRIGGER note_row AFTER INSERT OR DELETE ON public.filings FOR EACH ROW EXECUTE FUNCTION public.note_change();

CREATE TRIGGER note_row AFTER INSERT OR DELETE ON public.note_texts FOR EACH ROW EXECUTE FUNCTION public.note_change();

CREATE TRIGGER note_row AFTER INSERT OR DELETE ON public.notes FOR EACH ROW EXECUTE FUNCTION public.note_change();

CREATE TRIGGER note_update AFTER UPDATE ON public.archive_facts FOR EACH ROW WHEN ((((to_jsonb(old.*) - '{read,asked,next_read,failures,failure}'::text[]) IS DISTINCT FROM (to_jsonb(new.*) - '{read,asked,next_read,failures,failure}'::text[])) OR ((old.read IS NULL) <> (new.read IS NULL)))) EXECUTE FUNCTION public.note_change();

CREATE TRIGGER note_update AFTER UPDATE ON public.bucket_bugs FOR EACH ROW WHEN ((old.* IS DISTINCT FROM new.*)) EXECUTE FUNCTION public.note_change();

CREATE TRIGGER note_update AFTER UPDATE ON public.bug_states FOR EACH ROW WHEN ((((to_jsonb(old.*) - '{read,next_read,failures}'::text[]) IS DISTINCT FROM (to_jsonb(new.*) - '{read,next_read,failures}'::text[])) OR ((old.read IS NULL) <> (new.read IS NULL)))) EXECUTE FUNCTION public.note_change();

CREATE TRIGGER note_update AFTER UPDATE ON public.bugs FOR EACH ROW WHEN ((old.* IS DISTINCT FROM new.*)) EXECUTE FUNCTION public.note_change();

CREATE TRIGGER note_update AFTER UPDATE ON public.decisions FOR EACH ROW WHEN ((old.* IS DISTINCT FROM new.*)) EXECUTE FUNCTION public.note_change();

CREATE TRIGGER note_update AFTER UPDATE ON public.filings FOR EACH ROW WHEN ((old.* IS DISTINCT FROM new.*)) EXECUTE FUNCTION public.note_change();

CREATE TRIGGER note_update AFTER UPDATE ON public.note_texts FOR EACH ROW WHEN ((old.* IS DISTINCT FROM new.*)) EXECUTE FUNCTION public.note_change();

CREATE TRIGGER note_update AFTER UPDATE ON public.notes FOR EACH ROW WHEN ((old.* IS DISTINCT FROM new.*)) EXECUTE FUNCTION public.note_change();

ALTER TABLE ONLY public.api_tokens
    ADD CONSTRAINT api_tokens_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.bucket_bugs
    ADD CONSTRAINT bucket_bugs_bug_number_fkey FOREIGN KEY (bug_number) REFERENCES public.bugs(number);

ALTER TABLE ONLY public.bug_comments
    ADD CONSTRAINT bug_comments_bug_number_fkey FOREIGN KEY (bug_number) REFERENCES public.bugs(number);

ALTER TABLE ONLY public.bug_states
    ADD CONSTRAINT bug_states_duplicate_of_fkey FOREIGN KEY (duplicate_of) REFERENCES public.bugs(number);

ALTER TABLE ONLY public.bug_states
    ADD CONSTRAINT bug_states_number_fkey FOREIGN KEY (number) REFERENCES public.bugs(number);

ALTER TABLE ONLY public.filing_attempts
    ADD CONSTRAINT filing_attempts_filing_id_fkey FOREIGN KEY (filing_id) REFERENCES public.filings(id);

ALTER TABLE ONLY public.filings
    ADD CONSTRAINT filings_bug_number_fkey FOREIGN KEY (bug_number) REFERENCES public.bugs(number);

ALTER TABLE ONLY public.follow_visits
    ADD CONSTRAINT follow_visits_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.followed
    ADD CONSTRAINT followed_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.note_texts
    ADD CONSTRAINT note_texts_note_id_fkey FOREIGN KEY (note_id) REFERENCES public.notes(id);

ALTER TABLE ONLY public.regroup_moves
    ADD CONSTRAINT regroup_moves_run_id_fkey FOREIGN KEY (run_id) REFERENCES public.regroup_runs(id);

ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.split_sources
    ADD CONSTRAINT split_sources_decision_id_fkey FOREIGN KEY (decision_id) REFERENCES public.decisions(id);

ALTER TABLE ONLY public.unlinked_bugs
    ADD CONSTRAINT unlinked_bugs_bug_number_fkey FOREIGN KEY (bug_number) REFERENCES public.bugs(number);
