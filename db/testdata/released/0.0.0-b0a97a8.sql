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
    changed bigint NOT NULL
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
    first_seen timestamp with time zone,
    last_seen timestamp with time zone,
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
    arrived timestamp with time zone NOT NULL
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

ALTER TABLE ONLY public.report_keys ATTACH PARTITION public.report_keys_2025 FOR VALUES FROM ('\x67748580') TO ('\x6955b900');

ALTER TABLE ONLY public.report_keys ATTACH PARTITION public.report_keys_2026 FOR VALUES FROM ('\x6955b900') TO ('\x6b36ec80');

ALTER TABLE ONLY public.reports ATTACH PARTITION public.reports_2026_11 FOR VALUES FROM ('2026-11-01 00:00:00+00') TO ('2026-12-01 00:00:00+00');

ALTER TABLE ONLY public.reports ATTACH PARTITION public.reports_2026_12 FOR VALUES FROM ('2026-12-01 00:00:00+00') TO ('2027-01-01 00:00:00+00');

ALTER TABLE ONLY public.river_job ALTER COLUMN id SET DEFAULT nextval('public.river_job_id_seq'::regclass);

ALTER TABLE ONLY public.river_notification ALTER COLUMN id SET DEFAULT nextval('public.river_notification_id_seq'::regclass);

INSERT INTO public.api_tokens OVERRIDING SYSTEM VALUE VALUES
	(1, 3, '\x7a4fe78ffd67d0267f26ba0ed375a0ce5741e2fbb78ad51101374590bb1088bd', 'my script', 'mishap_a5yb', '{read,file}', '2026-11-21 12:00:00+00', '2027-05-21 12:00:00+00', NULL, NULL);

INSERT INTO public.archive_facts VALUES
	('source', 'harbor', NULL, NULL, '2026-11-21 12:00:00+00', '2026-11-21 12:00:00+00', 0, ''),
	('person', 'ada-lovelace', '{"names": ["harbor"]}', '2026-11-21 12:00:00+00', '2026-11-21 12:00:00+00', '2026-11-21 13:00:00+00', 0, '');

INSERT INTO public.audit_events OVERRIDING SYSTEM VALUE VALUES
	(1, '2026-11-21 12:00:00+00', '', 'problem.merge', 'b3ffb9c204d4eaee8e9913abc981a745e9f99f99', '{"into": "ea4a4b4e488cf5453743adcbabef3ced40d80498", "cause": "symbolised", "reason": "A report with the same addresses has brought the names of the functions."}'),
	(2, '2026-11-21 12:00:00+00', '', 'user.add', 'bob', '{"role": "triager"}'),
	(3, '2026-11-21 12:00:00+00', '', 'user.add', 'cleo', '{"role": "viewer"}'),
	(4, '2026-11-21 12:00:00+00', '', 'user.add', 'ada', '{"role": "admin"}'),
	(5, '2026-11-21 12:00:00+00', 'ada', 'user.tracker-name', 'ada', '{"tracker_name": "ada-lovelace"}'),
	(6, '2026-11-21 12:00:00+00', 'ada', 'user.disable', 'cleo', '{}'),
	(7, '2026-11-21 12:00:00+00', 'ada', 'token.add', 'ada', '{"hint": "mishap_a5yb", "scopes": ["read", "file"]}'),
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
	(20, '2026-11-21 12:00:00+00', 'bob', 'bug.unlink', '20909a063b6845e6168427dbc1341585c9107850', '{"at": "2026-11-22T04:01:46.803389Z", "bug": 9, "how": "linked", "person": "bob"}'),
	(21, '2026-11-21 12:00:00+00', 'ada', 'template.save', 'harbor/', '{"body": "{description}"}'),
	(22, '2026-11-21 12:00:00+00', 'ada', 'tracker.connect', 'https://tracker.example', '{"token": "token", "context": "", "consumer_key": "mishap"}'),
	(23, '2026-11-21 12:00:00+00', 'ada', 'regroup.start', 'reports', '{"dry": true, "run": 1, "rules": 3}'),
	(24, '2026-11-21 12:00:00+00', 'ada', 'regroup.stop', 'reports', '{"run": 1}');

INSERT INTO public.bucket_bugs VALUES
	('\x585f1620d78fe7dfdce424a203b59e981ba59c13', 2100001, 'filed', '', '2026-11-22 04:01:46.788031+00'),
	('\x20909a063b6845e6168427dbc1341585c9107850', 7, 'linked', 'bob', '2026-11-22 04:01:46.799618+00'),
	('\x20909a063b6845e6168427dbc1341585c9107850', 8, 'linked', 'bob', '2026-11-22 04:01:46.801504+00');

INSERT INTO public.bucket_days VALUES
	('\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', '2026-11-05', 'Debian 13', 'not', 'amd64', 1, 0, 1),
	('\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', '2026-01-12', 'Ubuntu 9.10 derivative', '1.10', 'arm64', 1, 1, 2),
	('\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', '2026-11-21', 'Debian 13', '1.0-1', 'arm64', 1, 0, 3),
	('\xb802f384302cb24fbab0a44997e820bf2e8507bb', '2026-11-21', 'Debian 13', '1.10', 'amd64', 1, 1, 4),
	('\xb802f384302cb24fbab0a44997e820bf2e8507bb', '2026-06-05', 'Ubuntu 26.04', 'not', 'amd64', 1, 0, 5),
	('\x0ecf320a93475e8d81fcf2e44f5f690c49c8e085', '2026-08-20', 'Ubuntu 9.10 derivative', '2:0.9', 'amd64', 1, 1, 7),
	('\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', '2026-06-16', 'Debian 13', '2:0.9', 'arm64', 1, 1, 10),
	('\xb802f384302cb24fbab0a44997e820bf2e8507bb', '2026-07-18', 'Ubuntu 24.04', '1.0~rc1-1', 'amd64', 1, 0, 11),
	('\xed6859e7042fb4541ad109d3988899c8b03879c8', '2025-12-29', 'Ubuntu 9.10 derivative', 'not', 'arm64', 1, 1, 13),
	('\xad782ecdac770fc6eb9a62e44f90873fb97fb26b', '2026-01-24', 'Debian 13', '1.0-1', 'amd64', 1, 0, 15),
	('\x0ecf320a93475e8d81fcf2e44f5f690c49c8e085', '2026-11-21', 'Ubuntu 9.10 derivative', '1.0~rc1-1', 'arm64', 1, 1, 17),
	('\xad782ecdac770fc6eb9a62e44f90873fb97fb26b', '2026-01-25', 'Debian 13', '1.0~rc1-1', 'amd64', 1, 1, 18),
	('\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', '2026-06-04', 'Ubuntu 9.10 derivative', '2:0.9', 'arm64', 1, 1, 20),
	('\xad782ecdac770fc6eb9a62e44f90873fb97fb26b', '2026-10-14', 'Ubuntu 24.04', '2:0.9', 'amd64', 1, 1, 21),
	('\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', '2026-11-21', 'Ubuntu 24.04', '', 'amd64', 1, 1, 22),
	('\xed6859e7042fb4541ad109d3988899c8b03879c8', '2026-02-03', 'Ubuntu 26.04', '1.00-1', 'amd64', 1, 1, 24),
	('\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', '2026-11-04', 'Ubuntu 26.04', '1.00-1', 'arm64', 1, 1, 25),
	('\xed6859e7042fb4541ad109d3988899c8b03879c8', '2026-03-04', 'Ubuntu 24.04', 'not', 'amd64', 1, 0, 26),
	('\xb802f384302cb24fbab0a44997e820bf2e8507bb', '2026-09-02', 'Debian 13', '1.00-1', 'amd64', 1, 1, 27),
	('\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', '2026-06-28', 'Ubuntu 24.04', '1.0-1', 'amd64', 1, 1, 28),
	('\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', '2026-10-23', 'Ubuntu 26.04', '2:0.9', 'arm64', 1, 0, 29),
	('\xb802f384302cb24fbab0a44997e820bf2e8507bb', '2026-11-21', 'Ubuntu 26.04', 'not', 'arm64', 2, 2, 30),
	('\xad782ecdac770fc6eb9a62e44f90873fb97fb26b', '2026-06-16', '', '2:0.9', 'amd64', 1, 1, 35),
	('\xad782ecdac770fc6eb9a62e44f90873fb97fb26b', '2026-10-12', 'Ubuntu 26.04', '2:0.9', 'arm64', 1, 1, 38),
	('\x0ecf320a93475e8d81fcf2e44f5f690c49c8e085', '2026-09-03', 'Ubuntu 9.10 derivative', 'not', 'arm64', 1, 0, 39),
	('\xed6859e7042fb4541ad109d3988899c8b03879c8', '2026-05-27', '', '1.10', 'amd64', 1, 0, 40),
	('\x585f1620d78fe7dfdce424a203b59e981ba59c13', '2026-11-21', 'Ubuntu 24.04', '1.0-1', 'amd64', 1, 0, 42),
	('\x20909a063b6845e6168427dbc1341585c9107850', '2026-11-21', 'Ubuntu 24.04', '1.0-1', 'amd64', 1, 0, 43),
	('\xa2677c6f29f00463517a4d5f56b26ade0199978c', '2026-11-21', 'Ubuntu 24.04', '1.0-1', 'amd64', 1, 0, 44),
	('\xc0bbe80da45484ddfbb66d7af43af605e6b83a4a', '2026-11-21', 'Ubuntu 24.04', '1.0-1', 'amd64', 1, 0, 45),
	('\x6e51a0881b233d187984c9704cea4c959707cc78', '2026-11-21', 'Ubuntu 24.04', '1.0-1', 'amd64', 1, 0, 46),
	('\x3eb5e260977a13d2b5e92517a4edb18ecf3b9114', '2026-11-21', 'Ubuntu 24.04', '1.0-1', 'amd64', 5, 0, 50),
	('\x0ecf320a93475e8d81fcf2e44f5f690c49c8e085', '2026-11-21', 'Ubuntu 24.04', '1.0-1', 'amd64', 1, 0, 51),
	('\xb3ffb9c204d4eaee8e9913abc981a745e9f99f99', '2026-11-21', 'Ubuntu 24.04', '1.0-1', 'amd64', 1, 0, 52),
	('\xea4a4b4e488cf5453743adcbabef3ced40d80498', '2026-11-21', 'Ubuntu 24.04', '1.0-1', 'amd64', 1, 0, 53),
	('\xe5b7700d5ec2cc402f94d9e6f29c67973b952660', '2026-11-21', 'Ubuntu 24.04', '1.0-1', 'amd64', 3, 0, 58),
	('\x377cdfea17d7c7be6610e2ee0dce82162a25e3f4', '2026-11-21', 'Ubuntu 24.04', '1.0-1', 'arm64', 3, 0, 65);

INSERT INTO public.bucket_systems VALUES
	('\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', -3646974585513546264, 'Debian 13', '1.0-1', 1),
	('\xb802f384302cb24fbab0a44997e820bf2e8507bb', 7467868911663076974, 'Debian 13', '1.10', 1),
	('\xb802f384302cb24fbab0a44997e820bf2e8507bb', -3646974585513546264, 'Ubuntu 26.04', 'not', 1),
	('\x0ecf320a93475e8d81fcf2e44f5f690c49c8e085', 8624243251692164259, 'Ubuntu 9.10 derivative', '2:0.9', 1),
	('\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', 8624243251692164259, 'Debian 13', '2:0.9', 1),
	('\xb802f384302cb24fbab0a44997e820bf2e8507bb', 8624243251692164259, 'Ubuntu 24.04', '1.0~rc1-1', 1),
	('\xed6859e7042fb4541ad109d3988899c8b03879c8', -3646974585513546264, 'Ubuntu 9.10 derivative', 'not', 1),
	('\xad782ecdac770fc6eb9a62e44f90873fb97fb26b', 8624243251692164259, 'Debian 13', '1.0-1', 1),
	('\x0ecf320a93475e8d81fcf2e44f5f690c49c8e085', 7467868911663076974, 'Ubuntu 9.10 derivative', '1.0~rc1-1', 1),
	('\xad782ecdac770fc6eb9a62e44f90873fb97fb26b', -3646974585513546264, 'Ubuntu 24.04', '2:0.9', 1),
	('\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', 7467868911663076974, 'Ubuntu 24.04', '', 1),
	('\xed6859e7042fb4541ad109d3988899c8b03879c8', 8624243251692164259, 'Ubuntu 26.04', '1.00-1', 1),
	('\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', 7118926252799043119, 'Ubuntu 26.04', '1.00-1', 1),
	('\xed6859e7042fb4541ad109d3988899c8b03879c8', 7467868911663076974, 'Ubuntu 24.04', 'not', 1),
	('\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', 7118926252799043119, 'Ubuntu 24.04', '1.0-1', 1),
	('\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', 7467868911663076974, 'Ubuntu 26.04', '2:0.9', 1),
	('\xb802f384302cb24fbab0a44997e820bf2e8507bb', 8624243251692164259, 'Ubuntu 26.04', 'not', 1),
	('\xad782ecdac770fc6eb9a62e44f90873fb97fb26b', -3646974585513546264, 'Ubuntu 26.04', '2:0.9', 1),
	('\x0ecf320a93475e8d81fcf2e44f5f690c49c8e085', 8624243251692164259, 'Ubuntu 9.10 derivative', 'not', 1),
	('\xed6859e7042fb4541ad109d3988899c8b03879c8', -3646974585513546264, '', '1.10', 1),
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
	('\xad782ecdac770fc6eb9a62e44f90873fb97fb26b', '2:0.9', -3646974585513546264, 1);

INSERT INTO public.bucket_versions VALUES
	('\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', 'Debian 13', 'not', NULL, 1, 0),
	('\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', 'Ubuntu 9.10 derivative', '1.10', '\x00020131650202313002020002', 1, 0),
	('\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', 'Debian 13', '1.0-1', '\x000201316502000202013102', 1, 1),
	('\xb802f384302cb24fbab0a44997e820bf2e8507bb', 'Debian 13', '1.10', '\x00020131650202313002020002', 1, 1),
	('\x0ecf320a93475e8d81fcf2e44f5f690c49c8e085', 'Ubuntu 9.10 derivative', '2:0.9', '\x013202006502013902020002', 1, 1),
	('\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', 'Debian 13', '2:0.9', '\x013202006502013902020002', 1, 1),
	('\xb802f384302cb24fbab0a44997e820bf2e8507bb', 'Ubuntu 24.04', '1.0~rc1-1', '\x00020131650200012e1f0201310202013102', 1, 1),
	('\xed6859e7042fb4541ad109d3988899c8b03879c8', 'Ubuntu 9.10 derivative', 'not', NULL, 1, 1),
	('\xad782ecdac770fc6eb9a62e44f90873fb97fb26b', 'Debian 13', '1.0-1', '\x000201316502000202013102', 1, 1),
	('\x0ecf320a93475e8d81fcf2e44f5f690c49c8e085', 'Ubuntu 9.10 derivative', '1.0~rc1-1', '\x00020131650200012e1f0201310202013102', 1, 1),
	('\xad782ecdac770fc6eb9a62e44f90873fb97fb26b', 'Debian 13', '1.0~rc1-1', '\x00020131650200012e1f0201310202013102', 1, 0),
	('\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', 'Ubuntu 9.10 derivative', '2:0.9', '\x013202006502013902020002', 1, 0),
	('\xad782ecdac770fc6eb9a62e44f90873fb97fb26b', 'Ubuntu 24.04', '2:0.9', '\x013202006502013902020002', 1, 1),
	('\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', 'Ubuntu 24.04', '', NULL, 1, 1),
	('\xed6859e7042fb4541ad109d3988899c8b03879c8', 'Ubuntu 26.04', '1.00-1', '\x000201316502000202013102', 1, 1),
	('\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', 'Ubuntu 26.04', '1.00-1', '\x000201316502000202013102', 1, 1),
	('\xed6859e7042fb4541ad109d3988899c8b03879c8', 'Ubuntu 24.04', 'not', NULL, 1, 1),
	('\xb802f384302cb24fbab0a44997e820bf2e8507bb', 'Debian 13', '1.00-1', '\x000201316502000202013102', 1, 0),
	('\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', 'Ubuntu 24.04', '1.0-1', '\x000201316502000202013102', 1, 1),
	('\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', 'Ubuntu 26.04', '2:0.9', '\x013202006502013902020002', 1, 1),
	('\xb802f384302cb24fbab0a44997e820bf2e8507bb', 'Ubuntu 26.04', 'not', NULL, 3, 2),
	('\xad782ecdac770fc6eb9a62e44f90873fb97fb26b', '', '2:0.9', '\x013202006502013902020002', 1, 0),
	('\xad782ecdac770fc6eb9a62e44f90873fb97fb26b', 'Ubuntu 26.04', '2:0.9', '\x013202006502013902020002', 1, 1),
	('\x0ecf320a93475e8d81fcf2e44f5f690c49c8e085', 'Ubuntu 9.10 derivative', 'not', NULL, 1, 1),
	('\xed6859e7042fb4541ad109d3988899c8b03879c8', '', '1.10', '\x00020131650202313002020002', 1, 1),
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
	('\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', '\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', 'one', 'duplicate-signature', false, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '', '/usr/bin/harbor-sync', 'harbor', 'harbor', 9, 4, '2026-01-12 12:43:50+00', '2026-11-21 12:00:00.527+00', '("\\x000201316502000202013102","debian 0213",1.0-1,"Debian 13")', '("\\x013202006502013902020002","ubuntu 0226 014",2:0.9,"Ubuntu 26.04")', '("debian 0213","Debian 13")', '("ubuntu 0226 014","Ubuntu 26.04")', 33, 0),
	('\xb802f384302cb24fbab0a44997e820bf2e8507bb', '\xb802f384302cb24fbab0a44997e820bf2e8507bb', 'three', 'duplicate-signature', false, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '', '/usr/bin/harbor-sync', 'harbor', 'harbor', 6, 3, '2026-06-05 12:56:36+00', '2026-11-21 12:00:00.903+00', '("\\x00020131650200012e1f0201310202013102","ubuntu 0224 014",1.0~rc1-1,"Ubuntu 24.04")', '("\\x00020131650202313002020002","debian 0213",1.10,"Debian 13")', '("debian 0213","Debian 13")', '("ubuntu 0226 014","Ubuntu 26.04")', 37, 0),
	('\xed6859e7042fb4541ad109d3988899c8b03879c8', '\xed6859e7042fb4541ad109d3988899c8b03879c8', 'four
lines ''quoted'' %41', 'duplicate-signature', false, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '', '/usr/bin/harbor-sync', 'harbor', 'harbor', 4, 3, '2025-12-29 12:56:24+00', '2026-05-27 12:56:24+00', '("\\x000201316502000202013102","ubuntu 0226 014",1.00-1,"Ubuntu 26.04")', '("\\x00020131650202313002020002","",1.10,"")', '("ubuntu 019 0210 derivative","Ubuntu 9.10 derivative")', '("ubuntu 0226 014","Ubuntu 26.04")', 40, 0),
	('\x0ecf320a93475e8d81fcf2e44f5f690c49c8e085', '\x0ecf320a93475e8d81fcf2e44f5f690c49c8e085', '/usr/bin/harbor-sync:ValueError:main', 'traceback', false, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '', '/usr/bin/harbor-sync', 'harbor', 'harbor', 4, 3, '2026-08-20 12:49:15+00', '2026-11-21 12:00:00.885+00', '("\\x00020131650200012e1f0201310202013102","ubuntu 019 0210 derivative",1.0~rc1-1,"Ubuntu 9.10 derivative")', '("\\x013202006502013902020002","ubuntu 019 0210 derivative",2:0.9,"Ubuntu 9.10 derivative")', '("ubuntu 019 0210 derivative","Ubuntu 9.10 derivative")', '("ubuntu 0224 014","Ubuntu 24.04")', 51, 0),
	('\xad782ecdac770fc6eb9a62e44f90873fb97fb26b', '\xad782ecdac770fc6eb9a62e44f90873fb97fb26b', 'two', 'duplicate-signature', false, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '', '/usr/bin/harbor-sync', 'harbor', 'harbor', 5, 2, '2026-01-24 12:56:38+00', '2026-10-14 12:59:15+00', '("\\x00020131650200012e1f0201310202013102","debian 0213",1.0~rc1-1,"Debian 13")', '("\\x013202006502013902020002","ubuntu 0226 014",2:0.9,"Ubuntu 26.04")', '("debian 0213","Debian 13")', '("ubuntu 0226 014","Ubuntu 26.04")', 38, 0),
	('\x3eb5e260977a13d2b5e92517a4edb18ecf3b9114', '\x585f1620d78fe7dfdce424a203b59e981ba59c13', '/usr/bin/harbor-sync:Error0:main', 'traceback', false, 'Crash', 'harbor-sync crashed with Error0 in main(): no', '', '/usr/bin/harbor-sync', 'harbor', 'harbor', 5, 5, '2026-11-21 12:00:00+00', '2026-11-21 12:00:00+00', '("\\x000201316502000202013102","ubuntu 0224 014",1.0-1,"Ubuntu 24.04")', '("\\x000201316502000202013102","ubuntu 0224 014",1.0-1,"Ubuntu 24.04")', '("ubuntu 0224 014","Ubuntu 24.04")', '("ubuntu 0224 014","Ubuntu 24.04")', 60, 0),
	('\x20909a063b6845e6168427dbc1341585c9107850', '\x20909a063b6845e6168427dbc1341585c9107850', '/usr/bin/harbor-sync:Error2:main', 'traceback', false, 'Crash', 'harbor-sync crashed with Error2 in main(): no', '', '/usr/bin/harbor-sync', 'harbor', 'harbor', 1, 1, '2026-11-21 12:00:00+00', '2026-11-21 12:00:00+00', '("\\x000201316502000202013102","ubuntu 0224 014",1.0-1,"Ubuntu 24.04")', '("\\x000201316502000202013102","ubuntu 0224 014",1.0-1,"Ubuntu 24.04")', '("ubuntu 0224 014","Ubuntu 24.04")', '("ubuntu 0224 014","Ubuntu 24.04")', 62, 0),
	('\xa2677c6f29f00463517a4d5f56b26ade0199978c', '\xa2677c6f29f00463517a4d5f56b26ade0199978c', '/usr/bin/harbor-sync:Error3:main', 'traceback', false, 'Crash', 'harbor-sync crashed with Error3 in main(): no', '', '/usr/bin/harbor-sync', 'harbor', 'harbor', 1, 1, '2026-11-21 12:00:00+00', '2026-11-21 12:00:00+00', '("\\x000201316502000202013102","ubuntu 0224 014",1.0-1,"Ubuntu 24.04")', '("\\x000201316502000202013102","ubuntu 0224 014",1.0-1,"Ubuntu 24.04")', '("ubuntu 0224 014","Ubuntu 24.04")', '("ubuntu 0224 014","Ubuntu 24.04")', 62, 0),
	('\x585f1620d78fe7dfdce424a203b59e981ba59c13', '\x585f1620d78fe7dfdce424a203b59e981ba59c13', '/usr/bin/harbor-sync:Error1:main', 'traceback', false, 'Crash', 'harbor-sync crashed with Error1 in main(): no', 'The sync falls over', '/usr/bin/harbor-sync', 'harbor', 'harbor', 1, 1, '2026-11-21 12:00:00+00', '2026-11-21 12:00:00+00', '("\\x000201316502000202013102","ubuntu 0224 014",1.0-1,"Ubuntu 24.04")', '("\\x000201316502000202013102","ubuntu 0224 014",1.0-1,"Ubuntu 24.04")', '("ubuntu 0224 014","Ubuntu 24.04")', '("ubuntu 0224 014","Ubuntu 24.04")', 63, 0),
	('\xc0bbe80da45484ddfbb66d7af43af605e6b83a4a', '\xc0bbe80da45484ddfbb66d7af43af605e6b83a4a', '/usr/bin/harbor-sync:Error4:main', 'traceback', false, 'Crash', 'harbor-sync crashed with Error4 in main(): no', '', '/usr/bin/harbor-sync', 'harbor', 'harbor', 1, 1, '2026-11-21 12:00:00+00', '2026-11-21 12:00:00+00', '("\\x000201316502000202013102","ubuntu 0224 014",1.0-1,"Ubuntu 24.04")', '("\\x000201316502000202013102","ubuntu 0224 014",1.0-1,"Ubuntu 24.04")', '("ubuntu 0224 014","Ubuntu 24.04")', '("ubuntu 0224 014","Ubuntu 24.04")', 45, 0),
	('\x6e51a0881b233d187984c9704cea4c959707cc78', '\x6e51a0881b233d187984c9704cea4c959707cc78', '/usr/bin/harbor-sync:Error5:main', 'traceback', false, 'Crash', 'harbor-sync crashed with Error5 in main(): no', '', '/usr/bin/harbor-sync', 'harbor', 'harbor', 1, 1, '2026-11-21 12:00:00+00', '2026-11-21 12:00:00+00', '("\\x000201316502000202013102","ubuntu 0224 014",1.0-1,"Ubuntu 24.04")', '("\\x000201316502000202013102","ubuntu 0224 014",1.0-1,"Ubuntu 24.04")', '("ubuntu 0224 014","Ubuntu 24.04")', '("ubuntu 0224 014","Ubuntu 24.04")', 46, 0),
	('\xea4a4b4e488cf5453743adcbabef3ced40d80498', '\xea4a4b4e488cf5453743adcbabef3ced40d80498', '/usr/bin/tide:11:parse:load', 'stacktrace', false, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '', '/usr/bin/harbor-sync', 'harbor', 'harbor', 1, 1, '2026-11-21 12:00:00+00', '2026-11-21 12:00:00+00', '("\\x000201316502000202013102","ubuntu 0224 014",1.0-1,"Ubuntu 24.04")', '("\\x000201316502000202013102","ubuntu 0224 014",1.0-1,"Ubuntu 24.04")', '("ubuntu 0224 014","Ubuntu 24.04")', '("ubuntu 0224 014","Ubuntu 24.04")', 53, 0),
	('\xb3ffb9c204d4eaee8e9913abc981a745e9f99f99', '\xea4a4b4e488cf5453743adcbabef3ced40d80498', '/usr/bin/tide:11:/usr/bin/tide+aa', 'address', true, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '', '/usr/bin/harbor-sync', 'harbor', 'harbor', 1, 1, '2026-11-21 12:00:00+00', '2026-11-21 12:00:00+00', '("\\x000201316502000202013102","ubuntu 0224 014",1.0-1,"Ubuntu 24.04")', '("\\x000201316502000202013102","ubuntu 0224 014",1.0-1,"Ubuntu 24.04")', '("ubuntu 0224 014","Ubuntu 24.04")', '("ubuntu 0224 014","Ubuntu 24.04")', 53, 0),
	('\x377cdfea17d7c7be6610e2ee0dce82162a25e3f4', '\x377cdfea17d7c7be6610e2ee0dce82162a25e3f4', '/usr/bin/tide:11:write:flush [architecture arm64]', 'stacktrace', false, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '', '/usr/bin/harbor-sync', 'harbor', 'harbor', 3, 3, '2026-11-21 12:00:00+00', '2026-11-21 12:00:00+00', '("\\x000201316502000202013102","ubuntu 0224 014",1.0-1,"Ubuntu 24.04")', '("\\x000201316502000202013102","ubuntu 0224 014",1.0-1,"Ubuntu 24.04")', '("ubuntu 0224 014","Ubuntu 24.04")', '("ubuntu 0224 014","Ubuntu 24.04")', 65, 0),
	('\xe5b7700d5ec2cc402f94d9e6f29c67973b952660', '\xe5b7700d5ec2cc402f94d9e6f29c67973b952660', '/usr/bin/tide:11:write:flush', 'stacktrace', false, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '', '/usr/bin/harbor-sync', 'harbor', 'harbor', 3, 3, '2026-11-21 12:00:00+00', '2026-11-21 12:00:00+00', '("\\x000201316502000202013102","ubuntu 0224 014",1.0-1,"Ubuntu 24.04")', '("\\x000201316502000202013102","ubuntu 0224 014",1.0-1,"Ubuntu 24.04")', '("ubuntu 0224 014","Ubuntu 24.04")', '("ubuntu 0224 014","Ubuntu 24.04")', 65, 65);

INSERT INTO public.bug_comments VALUES
	(7, '1.0-1', '\x20909a063b6845e6168427dbc1341585c9107850', '2026-11-22 04:01:46.814429+00', 'sending', '');

INSERT INTO public.bug_states VALUES
	(2100001, '', false, false, NULL, false, '[]', '[]', NULL, '2026-11-22 04:01:46.788031+00', 0, ''),
	(9, '', false, false, NULL, false, '[]', '[]', NULL, '2026-11-22 04:01:46.803389+00', 0, ''),
	(8, '', false, false, NULL, false, '[]', '[]', NULL, '2026-11-22 05:01:46.813316+00', 1, 'the tracker is away'),
	(7, 'Public', false, false, 8, false, '[{"Name": "harbor (Ubuntu)", "Closed": "0001-01-01T00:00:00Z", "Status": "Fix Released", "Target": "/ubuntu/+source/harbor", "Assignee": "", "Complete": false, "Milestone": "", "Importance": ""}]', '[]', '2026-11-22 04:01:46.812015+00', '2026-11-22 04:01:46.813504+00', 0, '');

INSERT INTO public.bug_templates VALUES
	('harbor', '', '{description}', 'ada', '2026-11-22 04:01:46.814748+00');

INSERT INTO public.bug_watch VALUES
	(true, false, '2026-11-21 12:00:00+00');

INSERT INTO public.bugs VALUES
	(2100001, '', ''),
	(8, 'It fell over 1', 'https://bugs.example/8'),
	(9, 'It fell over 2', 'https://bugs.example/9'),
	(7, 'It fell over', 'https://bugs.example/7');

INSERT INTO public.changes OVERRIDING SYSTEM VALUE VALUES
	(1, '12348', '2026-11-22 04:01:46.54869+00'),
	(2, '12369', '2026-11-22 04:01:46.721827+00'),
	(3, '12370', '2026-11-22 04:01:46.722389+00'),
	(4, '12371', '2026-11-22 04:01:46.723669+00'),
	(5, '12372', '2026-11-22 04:01:46.72493+00'),
	(6, '12373', '2026-11-22 04:01:46.725543+00'),
	(7, '12374', '2026-11-22 04:01:46.732542+00'),
	(8, '12375', '2026-11-22 04:01:46.760869+00'),
	(10, '12376', '2026-11-22 04:01:46.768818+00'),
	(11, '12377', '2026-11-22 04:01:46.769557+00'),
	(12, '12378', '2026-11-22 04:01:46.780829+00'),
	(13, '12379', '2026-11-22 04:01:46.788031+00'),
	(17, '12380', '2026-11-22 04:01:46.790807+00'),
	(18, '12381', '2026-11-22 04:01:46.791718+00'),
	(19, '12382', '2026-11-22 04:01:46.795382+00'),
	(20, '12383', '2026-11-22 04:01:46.796276+00'),
	(21, '12384', '2026-11-22 04:01:46.799618+00'),
	(24, '12385', '2026-11-22 04:01:46.801504+00'),
	(27, '12386', '2026-11-22 04:01:46.803389+00'),
	(30, '12387', '2026-11-22 04:01:46.808685+00'),
	(31, '12388', '2026-11-22 04:01:46.812015+00'),
	(33, '12389', '2026-11-22 04:01:46.813316+00'),
	(34, '12390', '2026-11-22 04:01:46.813504+00'),
	(35, '12393', '2026-11-22 04:01:46.819867+00'),
	(37, '12394', '2026-11-22 04:01:46.821124+00');

INSERT INTO public.counting VALUES
	(true, 65);

INSERT INTO public.decisions OVERRIDING SYSTEM VALUE VALUES
	(1, 'merged', 'symbolised', '\xb3ffb9c204d4eaee8e9913abc981a745e9f99f99', '\xea4a4b4e488cf5453743adcbabef3ced40d80498', '', '', NULL, '', 'A report with the same addresses has brought the names of the functions.', '2026-11-21 12:00:00+00', '', NULL, 0, 0, NULL, NULL, true),
	(2, 'merged', 'person', '\x3eb5e260977a13d2b5e92517a4edb18ecf3b9114', '\x585f1620d78fe7dfdce424a203b59e981ba59c13', '', '', NULL, 'ada', 'one fault', '2026-11-21 12:00:00+00', '', NULL, 0, 0, NULL, NULL, true),
	(3, 'merged', 'person', '\x20909a063b6845e6168427dbc1341585c9107850', '\xa2677c6f29f00463517a4d5f56b26ade0199978c', '', '', NULL, 'ada', 'one fault', '2026-11-21 12:00:00+00', 'bob', '2026-11-21 12:00:00+00', 0, 0, NULL, NULL, true),
	(4, 'renamed', 'person', '\x585f1620d78fe7dfdce424a203b59e981ba59c13', NULL, '', 'The sync falls over', NULL, 'ada', 'easier to remember', '2026-11-21 12:00:00+00', '', NULL, 0, 0, NULL, NULL, true),
	(5, 'split', 'person', '\xe5b7700d5ec2cc402f94d9e6f29c67973b952660', '\x377cdfea17d7c7be6610e2ee0dce82162a25e3f4', '', '', '{"terms": [{"field": "architecture", "value": "arm64"}]}', 'ada', 'they are different', '2026-11-21 12:00:00+00', '', NULL, 6, 3, '2026-11-21 12:00:00+00', '01a1fdfa-4600-7dc4-8b5a-7e69d488e38b', true);

INSERT INTO public.filing_attempts OVERRIDING SYSTEM VALUE VALUES
	(1, 1, 'create', 744287689697716807, '2026-11-22 04:01:46.780829+00', '2026-11-22 04:01:46.788031+00', '', 0, '', ''),
	(2, 2, 'create', 744287689697716807, '2026-11-22 04:01:46.791718+00', '2026-11-22 04:01:46.795382+00', '', 0, '', '');

INSERT INTO public.filing_writer VALUES
	(true, '2026-11-22 04:01:46.795615+00', '00:00:00');

INSERT INTO public.filings OVERRIDING SYSTEM VALUE VALUES
	(1, '\x585f1620d78fe7dfdce424a203b59e981ba59c13', 'filed', 'ada', '/ubuntu', 't', 'd', '{}', 'm', false, '', false, 2100001, '', '', 1, NULL, '2026-11-22 04:01:46.780829+00', '2026-11-22 04:01:46.780829+00', NULL, false, '', '2026-11-22 04:01:46.769557+00', '2026-11-22 04:01:46.788031+00', '2026-11-22 04:01:46.769557+00'),
	(2, '\xc0bbe80da45484ddfbb66d7af43af605e6b83a4a', 'refused', 'ada', '/ubuntu', 't', 'd', '{}', 'm', false, '', false, NULL, '', '', 1, NULL, '2026-11-22 04:01:46.791718+00', '2026-11-22 04:01:46.791718+00', NULL, false, '', '2026-11-22 04:01:46.790807+00', '2026-11-22 04:01:46.795382+00', '2026-11-22 04:01:46.795382+00'),
	(3, '\x6e51a0881b233d187984c9704cea4c959707cc78', 'queued', 'ada', '/ubuntu', 't', 'd', '{}', 'm', false, '', false, NULL, '', '', 0, NULL, NULL, NULL, NULL, false, '', '2026-11-22 04:01:46.796276+00', '2026-11-22 04:01:46.796276+00', '2026-11-22 04:01:46.796276+00');

INSERT INTO public.follow_visits VALUES
	(3, NULL, '2026-11-21 12:00:00+00');

INSERT INTO public.followed VALUES
	(3, 'package', 'harbor', '2026-11-21 12:00:00+00');

INSERT INTO public.known_names VALUES
	('\xb3ffb9c204d4eaee8e9913abc981a745e9f99f99', '\xea4a4b4e488cf5453743adcbabef3ced40d80498', false, false),
	('\xa6cc460a2cf7f041ba503197fbd9b8077163c433', '\xe5b7700d5ec2cc402f94d9e6f29c67973b952660', false, false);

INSERT INTO public.note_texts OVERRIDING SYSTEM VALUE VALUES
	(1, 1, '2026-11-21 12:00:00+00', 'ada', 'It needs a full disk.'),
	(2, 1, '2026-11-21 12:00:00+00', 'bob', 'It needs two full disks.');

INSERT INTO public.notes OVERRIDING SYSTEM VALUE VALUES
	(1, '\x585f1620d78fe7dfdce424a203b59e981ba59c13', '2026-11-21 12:00:00+00', 'ada');

INSERT INTO public.oauth_credentials VALUES
	('https://tracker.example', 'mishap', 'token', '\x01fa07226f3584fcc76c6f94323709be9eab6e9b04004d5199319a6e9e445c3b7b975b35f034aea39ce94e533e28d02cba5225', '', 'ada', '2026-11-22 04:01:46.821359+00');

INSERT INTO public.package_versions VALUES
	('harbor', 'Debian 13', '1.10', '\x00020131650202313002020002', '2026-11-21 12:00:00.903+00'),
	('harbor', 'Debian 13', '2:0.9', '\x013202006502013902020002', '2026-11-21 12:00:00.904+00'),
	('harbor', 'Ubuntu 24.04', '1.0~rc1-1', '\x00020131650200012e1f0201310202013102', '2026-11-21 12:00:00.874+00'),
	('harbor', 'Debian 13', '1.0-1', '\x000201316502000202013102', '2026-11-21 12:00:00.233+00'),
	('harbor', 'Ubuntu 9.10 derivative', '1.0~rc1-1', '\x00020131650200012e1f0201310202013102', '2026-11-21 12:00:00.885+00'),
	('harbor', 'Debian 13', '1.0~rc1-1', '\x00020131650200012e1f0201310202013102', '2026-11-21 12:00:00.981+00'),
	('harbor', 'Ubuntu 9.10 derivative', '2:0.9', '\x013202006502013902020002', '2026-11-21 12:00:00.225+00'),
	('harbor', 'Ubuntu 24.04', '2:0.9', '\x013202006502013902020002', '2026-11-21 12:00:00.647+00'),
	('harbor', 'Ubuntu 26.04', '1.00-1', '\x000201316502000202013102', '2026-11-21 12:00:00.057+00'),
	('harbor', 'Debian 13', '1.00-1', '\x000201316502000202013102', '2026-11-21 12:00:00.998+00'),
	('harbor', 'Ubuntu 26.04', '2:0.9', '\x013202006502013902020002', '2026-11-21 12:00:00.553+00'),
	('harbor', 'Ubuntu 26.04', '1.0-1', '\x000201316502000202013102', '2026-11-21 12:00:00.732+00'),
	('harbor', '', '2:0.9', '\x013202006502013902020002', '2026-11-21 12:00:00.199+00'),
	('harbor', 'Ubuntu 9.10 derivative', '1.10', '\x00020131650202313002020002', '2026-11-21 12:00:00.169+00'),
	('harbor', '', '1.10', '\x00020131650202313002020002', '2026-11-21 12:00:00.158+00'),
	('harbor', 'Ubuntu 24.04', '1.0-1', '\x000201316502000202013102', '2026-11-21 12:00:00+00');

INSERT INTO public.regroup_runs OVERRIDING SYSTEM VALUE VALUES
	(1, 3, true, 'ada', 'stopped', '2026-11-21 12:00:00+00', '2026-11-21 12:00:00+00', 59, 0, 0, NULL, NULL, false);

INSERT INTO public.release_active VALUES
	('Debian 13', '2026-11-21', 2),
	('Debian 13', '2027-02-19', -2),
	('Ubuntu 26.04', '2026-06-05', 1),
	('Ubuntu 26.04', '2026-09-03', -1),
	('', '2026-03-31', 1),
	('Ubuntu 9.10 derivative', '2026-08-20', 1),
	('Debian 13', '2026-06-16', 1),
	('Debian 13', '2026-09-14', -1),
	('Ubuntu 24.04', '2026-07-18', 1),
	('Ubuntu 24.04', '2026-10-16', -1),
	('Ubuntu 9.10 derivative', '2025-12-29', 1),
	('Ubuntu 9.10 derivative', '2026-08-03', 1),
	('Ubuntu 9.10 derivative', '2026-11-01', -1),
	('Debian 13', '2026-01-24', 1),
	('Debian 13', '2026-04-24', -1),
	('Ubuntu 9.10 derivative', '2026-11-21', 1),
	('Ubuntu 9.10 derivative', '2027-02-19', -1),
	('Ubuntu 24.04', '2026-10-14', 1),
	('Ubuntu 24.04', '2027-01-12', -1),
	('Ubuntu 26.04', '2026-02-03', 1),
	('Ubuntu 26.04', '2026-05-04', -1),
	('Ubuntu 26.04', '2026-11-04', 1),
	('Ubuntu 26.04', '2027-02-02', -1),
	('Ubuntu 24.04', '2026-03-04', 1),
	('Ubuntu 24.04', '2026-06-02', -1),
	('Ubuntu 24.04', '2026-06-28', 1),
	('Ubuntu 24.04', '2026-09-26', -1),
	('Ubuntu 26.04', '2026-10-23', 1),
	('Ubuntu 26.04', '2027-01-21', -1),
	('Ubuntu 26.04', '2026-11-21', 1),
	('Ubuntu 26.04', '2027-02-19', -1),
	('Ubuntu 26.04', '2026-01-24', 1),
	('Ubuntu 26.04', '2026-04-24', -1),
	('Ubuntu 9.10 derivative', '2026-03-29', 0),
	('Ubuntu 9.10 derivative', '2026-04-28', -1),
	('Ubuntu 26.04', '2026-10-12', 1),
	('Ubuntu 26.04', '2027-01-10', -1),
	('Ubuntu 9.10 derivative', '2026-11-18', 0),
	('Ubuntu 9.10 derivative', '2026-12-02', -1),
	('', '2026-06-29', 0),
	('', '2026-08-25', -1),
	('Ubuntu 24.04', '2026-11-21', 15),
	('Ubuntu 24.04', '2027-02-19', -15);

INSERT INTO public.release_days VALUES
	('2026-11-05', 'Debian 13', 'amd64', 'Crash', false, 1),
	('2026-01-12', 'Ubuntu 9.10 derivative', 'arm64', 'Crash', true, 1),
	('2026-11-21', 'Debian 13', 'arm64', 'Crash', false, 1),
	('2026-11-21', 'Debian 13', 'amd64', 'Crash', true, 1),
	('2026-06-05', 'Ubuntu 26.04', 'amd64', 'Crash', false, 1),
	('2026-03-31', '', 'arm64', 'Crash', true, 1),
	('2026-08-20', 'Ubuntu 9.10 derivative', 'amd64', 'Crash', true, 1),
	('2026-06-16', 'Debian 13', 'arm64', 'Crash', true, 1),
	('2026-07-18', 'Ubuntu 24.04', 'amd64', 'Crash', false, 1),
	('2025-12-29', 'Ubuntu 9.10 derivative', 'arm64', 'Crash', true, 1),
	('2026-08-03', 'Ubuntu 9.10 derivative', 'amd64', 'Crash', false, 1),
	('2026-01-24', 'Debian 13', 'amd64', 'Crash', false, 1),
	('2026-11-21', 'Ubuntu 9.10 derivative', 'arm64', 'Crash', true, 1),
	('2026-01-25', 'Debian 13', 'amd64', 'Crash', true, 1),
	('2026-06-04', 'Ubuntu 9.10 derivative', 'arm64', 'Crash', true, 1),
	('2026-10-14', 'Ubuntu 24.04', 'amd64', 'Crash', true, 1),
	('2026-11-21', 'Ubuntu 24.04', 'amd64', 'Crash', true, 1),
	('2026-02-03', 'Ubuntu 26.04', 'amd64', 'Crash', true, 1),
	('2026-11-04', 'Ubuntu 26.04', 'arm64', 'Crash', true, 1),
	('2026-03-04', 'Ubuntu 24.04', 'amd64', 'Crash', false, 1),
	('2026-09-02', 'Debian 13', 'amd64', 'Crash', true, 1),
	('2026-06-28', 'Ubuntu 24.04', 'amd64', 'Crash', true, 1),
	('2026-10-23', 'Ubuntu 26.04', 'arm64', 'Crash', false, 1),
	('2026-11-21', 'Ubuntu 26.04', 'arm64', 'Crash', true, 2),
	('2026-01-24', 'Ubuntu 26.04', 'arm64', 'Crash', true, 1),
	('2026-06-16', '', 'amd64', 'Crash', true, 1),
	('2026-01-28', 'Ubuntu 9.10 derivative', 'arm64', 'Crash', true, 1),
	('2026-10-12', 'Ubuntu 26.04', 'arm64', 'Crash', true, 1),
	('2026-09-03', 'Ubuntu 9.10 derivative', 'arm64', 'Crash', false, 1),
	('2026-05-27', '', 'amd64', 'Crash', false, 1),
	('2026-11-21', 'Ubuntu 24.04', 'amd64', 'Crash', false, 16),
	('2026-11-21', 'Ubuntu 24.04', 'arm64', 'Crash', false, 3);

INSERT INTO public.release_systems VALUES
	('Debian 13', -3646974585513546264, '2026-11-21', '2027-02-18'),
	('Debian 13', 7467868911663076974, '2026-11-21', '2027-02-18'),
	('Ubuntu 26.04', -3646974585513546264, '2026-06-05', '2026-09-02'),
	('Debian 13', 8624243251692164259, '2026-06-16', '2026-09-13'),
	('Ubuntu 24.04', 8624243251692164259, '2026-07-18', '2026-10-15'),
	('Ubuntu 9.10 derivative', 7118926252799043119, '2026-08-03', '2026-10-31'),
	('Debian 13', 8624243251692164259, '2026-01-24', '2026-04-23'),
	('Ubuntu 9.10 derivative', 7467868911663076974, '2026-11-21', '2027-02-18'),
	('Ubuntu 24.04', -3646974585513546264, '2026-10-14', '2027-01-11'),
	('Ubuntu 24.04', 7467868911663076974, '2026-11-21', '2027-02-18'),
	('Ubuntu 26.04', 8624243251692164259, '2026-02-03', '2026-05-03'),
	('Ubuntu 26.04', 7118926252799043119, '2026-11-04', '2027-02-01'),
	('Ubuntu 24.04', 7467868911663076974, '2026-03-04', '2026-06-01'),
	('Ubuntu 24.04', 7118926252799043119, '2026-06-28', '2026-09-25'),
	('Ubuntu 26.04', 7467868911663076974, '2026-10-23', '2027-01-20'),
	('Ubuntu 26.04', 8624243251692164259, '2026-11-21', '2027-02-18'),
	('Ubuntu 26.04', -3646974585513546264, '2026-01-24', '2026-04-23'),
	('Ubuntu 9.10 derivative', -3646974585513546264, '2025-12-29', '2026-04-27'),
	('Ubuntu 26.04', -3646974585513546264, '2026-10-12', '2027-01-09'),
	('Ubuntu 9.10 derivative', 8624243251692164259, '2026-08-20', '2026-12-01'),
	('', -3646974585513546264, '2026-03-31', '2026-08-24'),
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
	('Debian 13'),
	('Ubuntu 9.10 derivative'),
	('Ubuntu 26.04'),
	('Ubuntu 24.04');

INSERT INTO public.report_days VALUES
	('harbor', '2026-11-05', 'Debian 13', 'not', 'amd64', 'Crash', false, 1),
	('harbor', '2026-01-12', 'Ubuntu 9.10 derivative', '1.10', 'arm64', 'Crash', true, 1),
	('harbor', '2026-11-21', 'Debian 13', '1.0-1', 'arm64', 'Crash', false, 1),
	('harbor', '2026-11-21', 'Debian 13', '1.10', 'amd64', 'Crash', true, 1),
	('harbor', '2026-06-05', 'Ubuntu 26.04', 'not', 'amd64', 'Crash', false, 1),
	('harbor', '2026-03-31', '', 'not', 'arm64', 'Crash', true, 1),
	('harbor', '2026-08-20', 'Ubuntu 9.10 derivative', '2:0.9', 'amd64', 'Crash', true, 1),
	('harbor', '2026-06-16', 'Debian 13', '2:0.9', 'arm64', 'Crash', true, 1),
	('harbor', '2026-07-18', 'Ubuntu 24.04', '1.0~rc1-1', 'amd64', 'Crash', false, 1),
	('harbor', '2025-12-29', 'Ubuntu 9.10 derivative', 'not', 'arm64', 'Crash', true, 1),
	('harbor', '2026-08-03', 'Ubuntu 9.10 derivative', '1.10', 'amd64', 'Crash', false, 1),
	('harbor', '2026-01-24', 'Debian 13', '1.0-1', 'amd64', 'Crash', false, 1),
	('harbor', '2026-11-21', 'Ubuntu 9.10 derivative', '1.0~rc1-1', 'arm64', 'Crash', true, 1),
	('harbor', '2026-01-25', 'Debian 13', '1.0~rc1-1', 'amd64', 'Crash', true, 1),
	('harbor', '2026-06-04', 'Ubuntu 9.10 derivative', '2:0.9', 'arm64', 'Crash', true, 1),
	('harbor', '2026-10-14', 'Ubuntu 24.04', '2:0.9', 'amd64', 'Crash', true, 1),
	('harbor', '2026-11-21', 'Ubuntu 24.04', '', 'amd64', 'Crash', true, 1),
	('harbor', '2026-02-03', 'Ubuntu 26.04', '1.00-1', 'amd64', 'Crash', true, 1),
	('harbor', '2026-11-04', 'Ubuntu 26.04', '1.00-1', 'arm64', 'Crash', true, 1),
	('harbor', '2026-03-04', 'Ubuntu 24.04', 'not', 'amd64', 'Crash', false, 1),
	('harbor', '2026-09-02', 'Debian 13', '1.00-1', 'amd64', 'Crash', true, 1),
	('harbor', '2026-06-28', 'Ubuntu 24.04', '1.0-1', 'amd64', 'Crash', true, 1),
	('harbor', '2026-10-23', 'Ubuntu 26.04', '2:0.9', 'arm64', 'Crash', false, 1),
	('harbor', '2026-11-21', 'Ubuntu 26.04', 'not', 'arm64', 'Crash', true, 2),
	('harbor', '2026-01-24', 'Ubuntu 26.04', '1.0-1', 'arm64', 'Crash', true, 1),
	('harbor', '2026-06-16', '', '2:0.9', 'amd64', 'Crash', true, 1),
	('harbor', '2026-01-28', 'Ubuntu 9.10 derivative', '1.10', 'arm64', 'Crash', true, 1),
	('harbor', '2026-10-12', 'Ubuntu 26.04', '2:0.9', 'arm64', 'Crash', true, 1),
	('harbor', '2026-09-03', 'Ubuntu 9.10 derivative', 'not', 'arm64', 'Crash', false, 1),
	('harbor', '2026-05-27', '', '1.10', 'amd64', 'Crash', false, 1),
	('harbor', '2026-11-21', 'Ubuntu 24.04', '1.0-1', 'amd64', 'Crash', false, 16),
	('harbor', '2026-11-21', 'Ubuntu 24.04', '1.0-1', 'arm64', 'Crash', false, 3);

INSERT INTO public.report_keys_2025 VALUES
	('\x690f3a9403d39508ce36cc951a7a4b0f', '01a1fdfa-4987-77df-8c56-c70719a70e9a'),
	('\x69527a782f940625997e02df135ae703', '01a1fdfa-489a-7bd1-b378-728beb54f3bc'),
	('\x69526f8f5e38384949671bf4471fc81e', '01a1fdfa-4717-72c8-a590-d1561a874e2f'),
	('\x6900b77ff332818ff14cae5371854bb0', '01a1fdfa-480f-7b0e-a87c-fa10910ea2cd'),
	('\x6919c83ebeddecd60976d2787251896c', '01a1fdfa-463f-7a3e-96f9-33d69c909795'),
	('\x68fe0d69e5b4d0c73bc5d50665668b6d', '01a1fdfa-476f-7e6c-b678-2033c51a828e'),
	('\x692d8e658479bcf88a5fba52a991485d', '01a1fdfa-4973-7e19-86ee-b46ac9f2c27e');

INSERT INTO public.report_keys_2026 VALUES
	('\x6aec76c7c14a52c1692f48fdbe9af547', '01a1fdfa-46b7-7138-93a0-e265ca18da59'),
	('\x6964ec86f3fcbfb7344342f60ed0c33e', '01a1fdfa-474a-7839-accc-0dc7919a79c1'),
	('\x6a22c78475c272b9b31a3ad1cc01bf71', '01a1fdfa-4937-7cc7-8e7a-9f5965c7f1a5'),
	('\x69cbc4eb29ae36b69d7cbbd99d649300', '01a1fdfa-47d5-73ac-857e-e623668a1388'),
	('\x6a86f7cba4bc05331e10c3cff2a82bfd', '01a1fdfa-4931-7c77-a81c-7b3322c6a6a1'),
	('\x69c919157587b5d2060cd437252a1811', '01a1fdfa-46e7-7ee9-88b4-29a223e5a222'),
	('\x69db8d4b7c6b971a626325bef8267862', '01a1fdfa-4743-7847-8947-3a43f9965905'),
	('\x6a31466b28e00ef2eeb06275d2e8c75c', '01a1fdfa-4988-77a9-93e1-22d47ada3255'),
	('\x6a5b6c4973c863e725526a7479b12557', '01a1fdfa-496a-7410-9550-b41e525acc84'),
	('\x69e22212eb8180798e12433436aadcfa', '01a1fdfa-49e2-713e-bd91-bd45b8bd57a4'),
	('\x6a708a5591e958c67501af5b611ef8ad', '01a1fdfa-4832-71ee-a92b-78473f6a512e'),
	('\x6974c186b16e42da8f4f2672da315d45', '01a1fdfa-46e9-7e62-a3ca-021612dc9bd7'),
	('\x697611f8e4402bda526118bd3f6c3522', '01a1fdfa-49d5-7bbc-b3c1-09d63455439a'),
	('\x69f9e2571455291a53a422b05dbf90a3', '01a1fdfa-460c-75f9-9635-e2a8bec45a4d'),
	('\x6a21754a8a3bce75583e56c1ad4ac8e1', '01a1fdfa-46e1-7ccf-8dc3-97ba617bc2e8'),
	('\x6acf7ca3010e54bb71031fabcb3edb84', '01a1fdfa-4887-7e7f-9d54-117cc25c0fec'),
	('\x6981e77bab2ff9ccece0b051c9343ba8', '01a1fdfa-4996-767c-9313-82431b51cbf5'),
	('\x6aeb255da0275a27cc36881dfcb54263', '01a1fdfa-4639-7c34-b8e5-e1ecf939e751'),
	('\x69a8249caec4f6a566fc86a7ff0937b1', '01a1fdfa-4950-768c-bd75-a3225512d960'),
	('\x6a9810782679c917262a9901220fadea', '01a1fdfa-49e6-75f2-815d-809c31b3dac2'),
	('\x6a4118ab890160be62ad77c4c65a35e4', '01a1fdfa-4937-7b9e-902f-13a0a060d55b'),
	('\x6adb52d8e69208c239e6ea3effc2d6e7', '01a1fdfa-4829-776a-b132-e2609ed8d4af'),
	('\x6974c19fa38c73fa7a80583a7f83c1ad', '01a1fdfa-48dc-7017-93b8-45b3afa5abb4'),
	('\x69df7f8466e4d3fcc9b24d55a20d06c7', '01a1fdfa-47a4-7929-83b2-e07a7a4ca464'),
	('\x69e4c63bfe9b533341c574781e3afc4e', '01a1fdfa-495c-78d8-91b7-164efb611bd3'),
	('\x6a3146f5e79706a58c5528b99fb800c7', '01a1fdfa-46c7-7436-8785-062a6e7a9533'),
	('\x6979feb3a7a30627d39a3b5a46446e5a', '01a1fdfa-46a9-7b71-8842-7a76838259a3'),
	('\x6acccc613dfe009430ec815bf32c6884', '01a1fdfa-4992-75ec-b67d-df55c3141bc0'),
	('\x6a99684081dd6bb70885825b77434363', '01a1fdfa-4781-729b-b395-f257b2bd3af5'),
	('\x6a16e9f82225584f82b152bcf7cfc6a3', '01a1fdfa-469e-746d-a5db-5b54ff038814'),
	('\x6b0187c01a8deb576f274d000b703ce7', '01a1fdfa-4600-7148-9463-a1724ad923a9'),
	('\x6b0187c010754d6395c3cd2924579883', '01a1fdfa-4600-76d2-86cd-01e2e8b56d97'),
	('\x6b0187c01c61c35d5d8a6e42f0529404', '01a1fdfa-4600-7aec-ab20-7434ba7122d3'),
	('\x6b0187c066e5107ca5a543dedbaf8300', '01a1fdfa-4600-75ed-b778-0d18750a5007'),
	('\x6b0187c028d35c905732c3460bc80d08', '01a1fdfa-4600-7b34-b939-032fb604fe96'),
	('\x6b0187c07d5d016c57082d550b0c111b', '01a1fdfa-4600-7db7-bcb1-dc52b20bcff7'),
	('\x6b0187c0621b7184a2fa624f6fb54453', '01a1fdfa-4600-754a-b0c4-61c5ff3ca967'),
	('\x6b0187c0fbfae38e3b5938e6fa79a39a', '01a1fdfa-4600-7951-bb06-f8c8b3180013'),
	('\x6b0187c0105746be9c8150b52b6df425', '01a1fdfa-4600-7ede-8cfe-b5575983f715'),
	('\x6b0187c05b4db78973c7032971e173dc', '01a1fdfa-4600-7026-9c78-257d29423361'),
	('\x6b0187c04ad12b82ac39886a14e47220', '01a1fdfa-4600-7586-abd6-72d73e7b6471'),
	('\x6b0187c0f7c7d38afdce7b4242c74a60', '01a1fdfa-4600-7f92-a0cf-b7c846bd6e7a'),
	('\x6b0187c0febf95619dabc9cce624b4bd', '01a1fdfa-4600-7bc6-a0b1-4b1bdf293dee'),
	('\x6b0187c01de411b47ed986c80130b0d0', '01a1fdfa-4600-75d0-a1a9-975c647906c2'),
	('\x6b0187c083eb2264470f5b13e7f3cd1d', '01a1fdfa-4600-71e7-a735-42db907ce095'),
	('\x6b0187c0e14cded9b948a5683cb44670', '01a1fdfa-4600-7dc4-8b5a-7e69d488e38b'),
	('\x6b0187c0fbfc3bb782011bb7a3c985c9', '01a1fdfa-4600-74ec-8bd7-f1bd145d031f'),
	('\x6b0187c08bf11311bbb84ac10314280c', '01a1fdfa-4600-711a-8944-16e6e207e6df'),
	('\x6b0187c0170085521335ac7e3a2558c6', '01a1fdfa-4600-75d7-b030-ddadfc04050f');

INSERT INTO public.reports_2026_11 VALUES
	('01a1fdfa-46b7-7138-93a0-e265ca18da59', '2026-11-21 12:00:00.183+00', '2026-11-05 12:29:59+00', '2026-11-05', true, '', NULL, '\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', 'not', 'harbor', 'Debian 13', 'amd64', '', '', false, true, '\x01e302f0470e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e63075061636b61676514686172626f72206e6f7420612076657273696f6e0d536f757263650d2300060900a40d44697374726f52656c656173650944656269616e2031330a50726f63537461747573184e616d653a0909300567f0610a5069643a09300b50726f626c656d547970650543726173680c41726368697465637475726505616d6436340954726163656261636b6c54726163656261636b20286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520224edd00f061222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a044461746518546875204e6f762020352031323a32393a35392032303236124475706c69636174655369676e6174757265036f6e65'),
	('01a1fdfa-474a-7839-accc-0dc7919a79c1', '2026-11-21 12:00:00.33+00', '2026-01-12 12:43:50+00', '2026-01-12', true, '', NULL, '\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.10', 'harbor', 'Ubuntu 9.10 derivative', 'arm64', '', '', true, true, '\x018803f0680b50726f626c656d54797065054372617368075061636b6167650b686172626f7220312e31300d44697374726f52656c65617365165562756e747520392e313020646572697661746976650c4172636869746563747572650561726d36340954726163656261636b6c150aa820286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f0982f0582d73796e63222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a124475706c69636174655369676e6174757265036f6e650e45786563757461626c6550617468144e6800180d536f757263652d0400060900440a50726f63537461747573184e616d653a090918059af0450a5069643a09310444617465184d6f6e204a616e2031322031323a34333a3530203230323604546167731b6e6f626c65207061636b6167652d66726f6d2d70726f706f736564'),
	('01a1fdfa-47cc-75aa-9ccf-a5509ad50744', '2026-11-21 12:00:00.46+00', NULL, '2026-11-21', true, 'dog', -3646974585513546264, '\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.0-1', 'harbor', 'Debian 13', 'arm64', '', '', false, true, '\x01bd02f03e0b50726f626c656d547970650543726173680e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e63075061636b6167650c0914f06e20312e302d310d44697374726f52656c656173650944656269616e203133124475706c69636174655369676e6174757265036f6e650d536f757263655061636b61676506686172626f720c4172636869746563747572650561726d36340a50726f63537461747573184e616d653a091d89440a5069643a09320954726163656261636b6c150a8420286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520224eda00b0222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a'),
	('01a1fdfa-4987-77df-8c56-c70719a70e9a', '2026-11-21 12:00:00.903+00', '2025-11-08 12:41:56+00', '2026-11-21', true, 'ant', 7467868911663076974, '\xb802f384302cb24fbab0a44997e820bf2e8507bb', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.10', 'harbor', 'Debian 13', 'amd64', '', '', true, true, '\x01fd02f0770e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e63075061636b6167650b686172626f7220312e31300c41726368697465637475726505616d643634044461746518536174204e6f762020382031323a34313a35362032303235124475706c69636174655369676e6105372c74687265650d536f757263650d6400060900a40d44697374726f52656c656173650944656269616e2031330a50726f63537461747573184e616d653a09093005a8440a5069643a09330954726163656261636b6c150a8420286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520224ef900e4222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a04546167731b6e6f626c65207009cd402d66726f6d2d70726f706f7365640b5072011d286d54797065054372617368'),
	('01a1fdfa-4937-7cc7-8e7a-9f5965c7f1a5', '2026-11-21 12:00:00.823+00', '2026-06-05 12:56:36+00', '2026-06-05', true, 'dog', -3646974585513546264, '\xb802f384302cb24fbab0a44997e820bf2e8507bb', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', 'not', 'harbor', 'Ubuntu 26.04', 'amd64', '', '', false, true, '\x01e802d40b50726f626c656d54797065054372617368075061636b61676514686172626f72206e6f7420612076657273696f6e0d536f757263650d2300060900f03f0d44697374726f52656c656173650c5562756e74752032362e30340c41726368697465637475726505616d6436340a50726f63537461747573184e616d653a090946582d73796e630a5069643a09340954726163656261636b6c150aa820286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f09970551f055222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a124475706c69636174655369676e61747572650574687265650e45786563757461626c6550617468144e6a0074044461746518467269204a756e2020352031323a35363a33362032303236'),
	('01a1fdfa-47d5-73ac-857e-e623668a1388', '2026-11-21 12:00:00.469+00', '2026-03-31 12:58:19+00', '2026-03-31', true, 'dog', -3646974585513546264, NULL, 'The traceback has no exception and frames in a known form.', '', 3, 'Crash', 'harbor-sync crashed with nothing known', '/usr/bin/harbor-sync', 'harbor', 'not', 'harbor', '', 'arm64', '', '', true, true, '\x01f601e40d536f757263655061636b61676506686172626f720c4172636869746563747572650561726d36340a50726f63537461747573184e616d653a09092bf0542d73796e630a5069643a0935044461746518547565204d61722033312031323a35383a313920323032360b50726f626c656d547970650543726173680e45786563757461626c6550617468142f7573722f62696e2f1d5b00070d9a0014090050206e6f7420612076657273696f6e04546167731b6e01570420700928942d66726f6d2d70726f706f7365640954726163656261636b0d6e6f7468696e67206b6e6f776e'),
	('01a1fdfa-4931-7c77-a81c-7b3322c6a6a1', '2026-11-21 12:00:00.817+00', '2026-08-20 12:49:15+00', '2026-08-20', true, 'cat', 8624243251692164259, '\x0ecf320a93475e8d81fcf2e44f5f690c49c8e085', '', 'traceback', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '2:0.9', 'harbor', 'Ubuntu 9.10 derivative', 'amd64', '', '', true, true, '\x01f2026c075061636b6167650c686172626f7220323a302e390d536f757263650d1b00060900f0e50d44697374726f52656c65617365165562756e747520392e313020646572697661746976650c41726368697465637475726505616d643634044461746518546875204175672032302031323a34393a313520323032360b50726f626c656d547970650543726173680e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e630a50726f63537461747573184e616d653a09686172626f722d73796e630a5069643a09360954726163656261636b6c54726163656261636b20286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520224e6e00e4222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a04546167731b6e6f626c6520702941342d66726f6d2d70726f706f736564'),
	('01a1fdfa-46e7-7ee9-88b4-29a223e5a222', '2026-11-21 12:00:00.231+00', '2026-03-29 12:20:37+00', '2026-03-29', false, 'deadbeef01', -7411738264728770193, '\x0ecf320a93475e8d81fcf2e44f5f690c49c8e085', '', 'traceback', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', 'not', 'harbor', '', 'arm64', '', '', true, true, '\x01d502f0470e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e63075061636b61676514686172626f72206e6f7420612076657273696f6e0d536f757263650d2300060900900c4172636869746563747572650561726d36340a50726f63537461747573184e616d653a09092b0562440a5069643a09370954726163656261636b6c150a8420286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520224eb300f07d222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a0b50726f626c656d5479706505437261736804446174651853756e204d61722032392031323a32303a3337203230323604546167731b6e6f626c65207061636b6167652d66726f6d2d70726f706f736564'),
	('01a1fdfa-4743-7847-8947-3a43f9965905', '2026-11-21 12:00:00.323+00', '2026-04-12 12:17:15+00', '2026-04-12', false, 'deadbeef01', -7411738264728770193, '\x0ecf320a93475e8d81fcf2e44f5f690c49c8e085', '', 'traceback', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.0-1', 'harbor', 'Ubuntu 9.10 derivative', 'amd64', '', '', false, true, '\x01d102f03f0e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e63075061636b6167650c686172626f7220312e302d310d536f757263650d1b00060900280954726163656261636b6c150a8420286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520224e7400f0b8222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a04446174651853756e204170722031322031323a31373a313520323032360d44697374726f52656c65617365165562756e747520392e313020646572697661746976650c41726368697465637475726505616d6436340a50726f63537461747573184e616d653a09686172626f722d73796e630a5069643a09380b50726f626c656d54797065054372617368'),
	('01a1fdfa-4988-77a9-93e1-22d47ada3255', '2026-11-21 12:00:00.904+00', '2026-06-16 12:49:47+00', '2026-06-16', true, 'cat', 8624243251692164259, '\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '2:0.9', 'harbor', 'Debian 13', 'arm64', '', '', true, true, '\x01fc02f044124475706c69636174655369676e6174757265036f6e650b50726f626c656d54797065054372617368075061636b6167650c686172626f7220323a302e390d536f757263650d1b00060900a40d44697374726f52656c656173650944656269616e2031330a50726f63537461747573184e616d653a090930582d73796e630a5069643a09390954726163656261636b6c150aa820286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f1d51f057222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a044461746518547565204a756e2031362031323a34393a3437203230323604546167731b6e6f626c6520702906742d66726f6d2d70726f706f7365640e45786563757461626c6550617468144e9000480c4172636869746563747572650561726d3634'),
	('01a1fdfa-496a-7410-9550-b41e525acc84', '2026-11-21 12:00:00.874+00', '2026-07-18 12:06:33+00', '2026-07-18', true, 'cat', 8624243251692164259, '\xb802f384302cb24fbab0a44997e820bf2e8507bb', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.0~rc1-1', 'harbor', 'Ubuntu 24.04', 'amd64', '', '', false, true, '\x01e502c40b50726f626c656d54797065054372617368075061636b61676510686172626f7220312e307e7263312d310d536f757263650d1f00060900f0640d44697374726f52656c656173650c5562756e74752032342e30340c41726368697465637475726505616d643634044461746518536174204a756c2031382031323a30363a333320323032360e45786563757461626c6550617468142f7573722f62696e2f098a582d73796e630a50726f63537461747573194e616d653a0909880d1d4069643a0931300954726163656261636b6c150a8420286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520224e6f00f045222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a124475706c69636174655369676e6174757265057468726565'),
	('01a1fdfa-49e2-713e-bd91-bd45b8bd57a4', '2026-11-21 12:00:00.994+00', '2026-04-17 12:05:38+00', '2026-04-17', false, 'deadbeef01', -7411738264728770193, NULL, 'The traceback has no exception and frames in a known form.', '', 3, 'Crash', 'harbor-sync crashed with nothing known', '/usr/bin/harbor-sync', 'harbor', '1.0~rc1-1', 'harbor', 'Ubuntu 9.10 derivative', 'amd64', '', '', false, true, '\x01f701f0f60b50726f626c656d547970650543726173680e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e630d536f757263655061636b61676506686172626f720d44697374726f52656c65617365165562756e747520392e313020646572697661746976650a50726f63537461747573194e616d653a09686172626f722d73796e630a5069643a0931310954726163656261636b0d6e6f7468696e67206b6e6f776e075061636b61676510686172626f7220312e307e7263312d310c41726368697465637475726505616d643634044461746518467269204170722031372031323a30353a33382032303236'),
	('01a1fdfa-489a-7bd1-b378-728beb54f3bc', '2026-11-21 12:00:00.666+00', '2025-12-29 12:56:24+00', '2025-12-29', true, 'dog', -3646974585513546264, '\xed6859e7042fb4541ad109d3988899c8b03879c8', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', 'not', 'harbor', 'Ubuntu 9.10 derivative', 'arm64', '', '', true, true, '\x01a603f06d0444617465184d6f6e204465632032392031323a35363a3234203230323504546167731b6e6f626c65207061636b6167652d66726f6d2d70726f706f7365640e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e630954726163656261636b6c150a8420286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520224e4a00f06b222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a124475706c69636174655369676e617475726517666f75720a6c696e6573202771756f74656427202534310b50726f626c656d54797065054372617368075009ee0014097e50206e6f7420612076657273696f6e0d536f757263650d2300060900f05c0d44697374726f52656c65617365165562756e747520392e313020646572697661746976650c4172636869746563747572650561726d36340a50726f63537461747573194e616d653a09686172626f722d73796e630a5069643a093132'),
	('01a1fdfa-4832-71ee-a92b-78473f6a512e', '2026-11-21 12:00:00.562+00', '2026-08-03 12:32:21+00', '2026-08-03', true, 'bee', 7118926252799043119, NULL, 'The traceback has no exception and frames in a known form.', '', 3, 'Crash', 'harbor-sync crashed with nothing known', '/usr/bin/harbor-sync', 'harbor', '1.10', 'harbor', 'Ubuntu 9.10 derivative', 'amd64', '', '', false, true, '\x01f201f0f10d536f757263655061636b61676506686172626f720d44697374726f52656c65617365165562756e747520392e313020646572697661746976650954726163656261636b0d6e6f7468696e67206b6e6f776e0444617465184d6f6e204175672020332031323a33323a323120323032360c41726368697465637475726505616d6436340a50726f63537461747573194e616d653a09686172626f722d73796e630a5069643a0931330b50726f626c656d547970650543726173680e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e63075061636b6167650b686172626f7220312e3130'),
	('01a1fdfa-46e9-7e62-a3ca-021612dc9bd7', '2026-11-21 12:00:00.233+00', '2026-01-24 12:56:38+00', '2026-01-24', true, 'cat', 8624243251692164259, '\xad782ecdac770fc6eb9a62e44f90873fb97fb26b', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.0-1', 'harbor', 'Debian 13', 'amd64', '', '', false, true, '\x01dc02f04d0e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e630d44697374726f52656c656173650944656269616e2031330a50726f63537461747573194e616d653a091d35f03d0a5069643a0931340b50726f626c656d54797065054372617368075061636b6167650c686172626f7220312e302d310d536f757263655061636b616765060949740c41726368697465637475726505616d6436340954726163656261636b6c150a8420286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520224ed600f061222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a044461746518536174204a616e2032342031323a35363a33382032303236124475706c69636174655369676e61747572650374776f'),
	('01a1fdfa-4717-72c8-a590-d1561a874e2f', '2026-11-21 12:00:00.279+00', '2025-12-29 12:09:51+00', '2025-12-29', false, 'deadbeef01', -7411738264728770193, '\xed6859e7042fb4541ad109d3988899c8b03879c8', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', 'not', 'harbor', 'Ubuntu 24.04', 'arm64', '', '', true, true, '\x019c03f0750444617465184d6f6e204465632032392031323a30393a35312032303235124475706c69636174655369676e617475726517666f75720a6c696e6573202771756f74656427202534310e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e63075061636b616765140914f047206e6f7420612076657273696f6e04546167731b6e6f626c65207061636b6167652d66726f6d2d70726f706f7365640b50726f626c656d547970650543726173680d536f757263650d56000609008c0d44697374726f52656c656173650c5562756e74752032342e30340c417263686974656301c95c0561726d36340a50726f63537461747573194e616d653a0909465c2d73796e630a5069643a0931350954726163656261636b6c150a8420286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520224e0201b0222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a'),
	('01a1fdfa-4975-7801-b6da-34e384681951', '2026-11-21 12:00:00.885+00', NULL, '2026-11-21', true, 'ant', 7467868911663076974, '\x0ecf320a93475e8d81fcf2e44f5f690c49c8e085', '', 'traceback', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.0~rc1-1', 'harbor', 'Ubuntu 9.10 derivative', 'arm64', '', '', true, true, '\x01d902280954726163656261636b6c150af06b20286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f686172626f722d73796e63222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a075061636b6167651009414020312e307e7263312d310d536f757263650d1f000609007c0c4172636869746563747572650561726d363404546167731b6e6f626c652070092d402d66726f6d2d70726f706f7365640b5072011d686d547970650543726173680e45786563757461626c6550617468144ec500d80d44697374726f52656c65617365165562756e747520392e313020646572697661746976650a50726f63537461747573194e616d653a093d071c0a5069643a093136'),
	('01a1fdfa-49d5-7bbc-b3c1-09d63455439a', '2026-11-21 12:00:00.981+00', '2026-01-25 12:52:08+00', '2026-01-25', true, '', NULL, '\xad782ecdac770fc6eb9a62e44f90873fb97fb26b', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.0~rc1-1', 'harbor', 'Debian 13', 'amd64', '', '', true, true, '\x018103f04704546167731b6e6f626c65207061636b6167652d66726f6d2d70726f706f7365640d536f757263655061636b61676506686172626f720a50726f63537461747573194e616d653a0909185c2d73796e630a5069643a0931370954726163656261636b6c150aa820286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f1d52f06c222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a04446174651853756e204a616e2032352031323a35323a303820323032360b50726f626c656d547970650543726173680e45786563757461626c6550617468144e8100040750291b001009e7f04b20312e307e7263312d310d44697374726f52656c656173650944656269616e2031330c41726368697465637475726505616d643634124475706c69636174655369676e61747572650374776f'),
	('01a1fdfa-460c-75f9-9635-e2a8bec45a4d', '2026-11-21 12:00:00.012+00', '2026-05-05 12:28:07+00', '2026-05-05', false, 'deadbeef01', -7411738264728770193, '\xad782ecdac770fc6eb9a62e44f90873fb97fb26b', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.0-1', 'harbor', 'Ubuntu 9.10 derivative', 'arm64', '', '', true, true, '\x018a03f05a0e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e630d44697374726f52656c65617365165562756e747520392e313020646572697661746976650a50726f63537461747573194e616d653a091d42480a5069643a0931380954726163656261636b6c150a8420286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520224e9400f050222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a04546167731b6e6f626c65207061636b6167652d66726f6d2d70726f706f7365640b5072011d306d5479706505437261736807500928000c09c63020312e302d310d536f757263650d1b00060900f0470c4172636869746563747572650561726d3634044461746518547565204d61792020352031323a32383a30372032303236124475706c69636174655369676e61747572650374776f'),
	('01a1fdfa-46e1-7ccf-8dc3-97ba617bc2e8', '2026-11-21 12:00:00.225+00', '2026-06-04 12:53:30+00', '2026-06-04', true, '', NULL, '\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '2:0.9', 'harbor', 'Ubuntu 9.10 derivative', 'arm64', '', '', true, true, '\x018a03f489010d44697374726f52656c65617365165562756e747520392e31302064657269766174697665044461746518546875204a756e2020342031323a35333a3330203230323604546167731b6e6f626c65207061636b6167652d66726f6d2d70726f706f736564124475706c69636174655369676e6174757265036f6e650b50726f626c656d547970650543726173680e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e63075061636b6167650c686172626f7220323a302e390c4172636869746563747572650561726d36340a50726f63537461747573194e616d653a09686172626f722d73796e630a5069643a0931390954726163656261636b6c54726163656261636b20286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f686172626f722d73796e63222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a0d536f757263655061636b61676506686172626f72'),
	('01a1fdfa-4887-7e7f-9d54-117cc25c0fec', '2026-11-21 12:00:00.647+00', '2026-10-14 12:59:15+00', '2026-10-14', true, 'dog', -3646974585513546264, '\xad782ecdac770fc6eb9a62e44f90873fb97fb26b', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '2:0.9', 'harbor', 'Ubuntu 24.04', 'amd64', '', '', true, true, '\x018003f08c0c41726368697465637475726505616d643634044461746518576564204f63742031342031323a35393a31352032303236124475706c69636174655369676e61747572650374776f075061636b6167650c686172626f7220323a302e390a50726f63537461747573194e616d653a09686172626f722d73796e630a5069643a0932300954726163656261636b6c150aa820286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f09700552e4222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a04546167731b6e6f626c65207009bc402d66726f6d2d70726f706f7365640b5072011d686d547970650543726173680e45786563757461626c6550617468144e84001c0d536f757263655009520006290e680d44697374726f52656c656173650c5562756e74752032342e3034'),
	('01a1fdfa-480f-7b0e-a87c-fa10910ea2cd', '2026-11-21 12:00:00.527+00', '2025-10-28 12:30:55+00', '2026-11-21', true, 'ant', 7467868911663076974, '\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '', 'harbor', 'Ubuntu 24.04', 'amd64', '', '', true, true, '\x01fb02f47a0104546167731b6e6f626c65207061636b6167652d66726f6d2d70726f706f7365640e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e630d44697374726f52656c656173650c5562756e74752032342e30340c41726368697465637475726505616d6436340a50726f63537461747573194e616d653a09686172626f722d73796e630a5069643a093231044461746518547565204f63742032382031323a33303a35352032303235124475706c69636174655369676e6174757265036f6e650b50726f626c656d54797065054372617368075061636b61676507686172626f72200d536f757263655061636b61676506686172626f720954726163656261636b6c54726163656261636b20286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f686172626f722d73796e63222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a'),
	('01a1fdfa-463f-7a3e-96f9-33d69c909795', '2026-11-21 12:00:00.063+00', '2025-11-16 12:49:02+00', '2026-11-21', true, '', NULL, '\xb802f384302cb24fbab0a44997e820bf2e8507bb', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', 'not', 'harbor', 'Ubuntu 26.04', 'arm64', '', '', true, true, '\x018a03f06b0b50726f626c656d547970650543726173680e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e630954726163656261636b6c54726163656261636b20286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520224e4a00f051222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a04446174651853756e204e6f762031362031323a34393a3032203230323504546167731b6e01cfc0207061636b6167652d66726f6d2d70726f706f736564124475706c69636174655369676e61747572650574687265650750092f001409e354206e6f7420612076657273696f6e0d536f7572636550095200060923f03f0d44697374726f52656c656173650c5562756e74752032362e30340c4172636869746563747572650561726d36340a50726f63537461747573194e616d653a090946302d73796e630a5069643a093232'),
	('01a1fdfa-4996-767c-9313-82431b51cbf5', '2026-11-21 12:00:00.918+00', '2026-02-03 12:18:03+00', '2026-02-03', true, 'cat', 8624243251692164259, '\xed6859e7042fb4541ad109d3988899c8b03879c8', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.00-1', 'harbor', 'Ubuntu 26.04', 'amd64', '', '', true, true, '\x01950370075061636b6167650d686172626f7220312e30302d310d536f757263650d1c00060900900c41726368697465637475726505616d6436340a50726f63537461747573194e616d653a09092b5c2d73796e630a5069643a0932330954726163656261636b6c150aa820286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f1d52f04e222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a0b50726f626c656d547970650543726173680e45786563757461626c6550617468144e6300f0510d44697374726f52656c656173650c5562756e74752032362e3034044461746518547565204665622020332031323a31383a30332032303236124475706c69636174655369676e617475726517666f75720a01b26873202771756f746564272025343104546167731b6e6f626c652070297f342d66726f6d2d70726f706f736564'),
	('01a1fdfa-4639-7c34-b8e5-e1ecf939e751', '2026-11-21 12:00:00.057+00', '2026-11-04 12:30:21+00', '2026-11-04', true, 'bee', 7118926252799043119, '\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.00-1', 'harbor', 'Ubuntu 26.04', 'arm64', '', '', true, true, '\x018103f48001075061636b6167650d686172626f7220312e30302d310d536f757263655061636b61676506686172626f720d44697374726f52656c656173650c5562756e74752032362e30340954726163656261636b6c54726163656261636b20286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f686172626f722d73796e63222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a04546167731b6e6f626c65207061636b6167652d66726f6d2d70726f706f7365640b50726f626c656d547970650543726173680e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e630c4172636869746563747572650561726d36340a50726f63537461747573194e616d653a09686172626f722d73796e630a5069643a093234044461746518576564204e6f762020342031323a33303a32312032303236124475706c69636174655369676e6174757265036f6e65'),
	('01a1fdfa-4950-768c-bd75-a3225512d960', '2026-11-21 12:00:00.848+00', '2026-03-04 12:25:00+00', '2026-03-04', true, 'ant', 7467868911663076974, '\xed6859e7042fb4541ad109d3988899c8b03879c8', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', 'not', 'harbor', 'Ubuntu 24.04', 'amd64', '', '', false, true, '\x01fb02f47a010b50726f626c656d547970650543726173680e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e63075061636b61676514686172626f72206e6f7420612076657273696f6e0d536f757263655061636b61676506686172626f720d44697374726f52656c656173650c5562756e74752032342e30340c41726368697465637475726505616d6436340a50726f63537461747573194e616d653a09686172626f722d73796e630a5069643a093235044461746518576564204d61722020342031323a32353a303020323032360954726163656261636b6c54726163656261636b20286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f686172626f722d73796e63222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a124475706c69636174655369676e617475726517666f75720a6c696e6573202771756f7465642720253431'),
	('01a1fdfa-49e6-75f2-815d-809c31b3dac2', '2026-11-21 12:00:00.998+00', '2026-09-02 12:03:04+00', '2026-09-02', true, '', NULL, '\xb802f384302cb24fbab0a44997e820bf2e8507bb', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.00-1', 'harbor', 'Debian 13', 'amd64', '', '', true, true, '\x018003280954726163656261636b6c150af0b420286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f686172626f722d73796e63222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a044461746518576564205365702020322031323a30333a30342032303236124475706c69636174655369676e61747572650574687265650b50726f626c656d54797065054372617368075061636b6167650d098af06220312e30302d310d44697374726f52656c656173650944656269616e2031330c41726368697465637475726505616d64363404546167731b6e6f626c65207061636b6167652d66726f6d2d70726f706f7365640e45786563757461626c6550617468144efc001c0d536f757263655009400006098c440a50726f63537461747573194e616d653a090918302d73796e630a5069643a093236'),
	('01a1fdfa-4937-7b9e-902f-13a0a060d55b', '2026-11-21 12:00:00.823+00', '2026-06-28 12:50:51+00', '2026-06-28', true, 'bee', 7118926252799043119, '\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.0-1', 'harbor', 'Ubuntu 24.04', 'amd64', '', '', true, true, '\x018003f0a40e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e630c41726368697465637475726505616d64363404446174651853756e204a756e2032382031323a35303a3531203230323604546167731b6e6f626c65207061636b6167652d66726f6d2d70726f706f7365640b50726f626c656d54797065054372617368075061636b6167650c686172626f7220312e302d310d536f7572636550094300060993b00d44697374726f52656c656173650c5562756e74752032342e30340a50726f63537461747573194e616d653a09093305c6480a5069643a0932370954726163656261636b6c150a8420286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520224e1801f043222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a124475706c69636174655369676e6174757265036f6e65'),
	('01a1fdfa-4829-776a-b132-e2609ed8d4af', '2026-11-21 12:00:00.553+00', '2026-10-23 12:28:08+00', '2026-10-23', true, 'ant', 7467868911663076974, '\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '2:0.9', 'harbor', 'Ubuntu 26.04', 'arm64', '', '', false, true, '\x01df02f058124475706c69636174655369676e6174757265036f6e65075061636b6167650c686172626f7220323a302e390d44697374726f52656c656173650c5562756e74752032362e30340a50726f63537461747573194e616d653a090939dc2d73796e630a5069643a0932380b50726f626c656d547970650543726173680e45786563757461626c6550617468142f7573722f62696e2f1d3e180d536f757263650d9100060900200c417263686974656301b1400561726d36340954726163656261636b6c150a8420286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520224e7200f04a222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a044461746518467269204f63742032332031323a32383a30382032303236'),
	('01a1fdfa-476f-7e6c-b678-2033c51a828e', '2026-11-21 12:00:00.367+00', '2025-10-26 12:00:41+00', '2026-11-21', true, 'cat', 8624243251692164259, '\xb802f384302cb24fbab0a44997e820bf2e8507bb', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', 'not', 'harbor', 'Ubuntu 26.04', 'arm64', '', '', true, true, '\x018a03f4890104446174651853756e204f63742032362031323a30303a3431203230323504546167731b6e6f626c65207061636b6167652d66726f6d2d70726f706f736564124475706c69636174655369676e61747572650574687265650b50726f626c656d547970650543726173680e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e630d44697374726f52656c656173650c5562756e74752032362e30340954726163656261636b6c54726163656261636b20286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f686172626f722d73796e63222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a075061636b61676514686172626f72206e6f7420612076657273696f6e0d536f757263655061636b61676506686172626f720c4172636869746563747572650561726d36340a50726f63537461747573194e616d653a09686172626f722d73796e630a5069643a093239'),
	('01a1fdfa-48dc-7017-93b8-45b3afa5abb4', '2026-11-21 12:00:00.732+00', '2026-01-24 12:57:03+00', '2026-01-24', true, 'dog', -3646974585513546264, NULL, 'The traceback has no exception and frames in a known form.', '', 3, 'Crash', 'harbor-sync crashed with nothing known', '/usr/bin/harbor-sync', 'harbor', '1.0-1', 'harbor', 'Ubuntu 26.04', 'arm64', '', '', true, true, '\x018a02f409010b50726f626c656d547970650543726173680e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e630d44697374726f52656c656173650c5562756e74752032362e30340c4172636869746563747572650561726d36340a50726f63537461747573194e616d653a09686172626f722d73796e630a5069643a0933300954726163656261636b0d6e6f7468696e67206b6e6f776e044461746518536174204a616e2032342031323a35373a30332032303236075061636b6167650c686172626f7220312e302d310d536f757263655061636b61676506686172626f7204546167731b6e6f626c65207061636b6167652d66726f6d2d70726f706f736564'),
	('01a1fdfa-4973-7e19-86ee-b46ac9f2c27e', '2026-11-21 12:00:00.883+00', '2025-12-01 12:47:33+00', '2025-12-01', false, 'deadbeef01', -7411738264728770193, NULL, 'The traceback has no exception and frames in a known form.', '', 3, 'Crash', 'harbor-sync crashed with nothing known', '/usr/bin/harbor-sync', 'harbor', '1.10', 'harbor', 'Ubuntu 26.04', 'amd64', '', '', false, true, '\x01e801f0e70d44697374726f52656c656173650c5562756e74752032362e30340c41726368697465637475726505616d6436340a50726f63537461747573194e616d653a09686172626f722d73796e630a5069643a0933310954726163656261636b0d6e6f7468696e67206b6e6f776e0e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e630444617465184d6f6e204465632020312031323a34373a333320323032350b50726f626c656d54797065054372617368075061636b6167650b686172626f7220312e31300d536f757263655061636b61676506686172626f72'),
	('01a1fdfa-47a4-7929-83b2-e07a7a4ca464', '2026-11-21 12:00:00.42+00', '2026-04-15 12:07:32+00', '2026-04-15', false, 'deadbeef01', -7411738264728770193, '\xfe05bcdcdc4928012781a5f1a2a77cbb5398e106', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.10', 'harbor', 'Debian 13', 'amd64', '', '', false, true, '\x01db02f45a010d536f757263655061636b61676506686172626f720d44697374726f52656c656173650944656269616e2031330a50726f63537461747573194e616d653a09686172626f722d73796e630a5069643a093332124475706c69636174655369676e6174757265036f6e650b50726f626c656d547970650543726173680c41726368697465637475726505616d6436340954726163656261636b6c54726163656261636b20286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f686172626f722d73796e63222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a044461746518576564204170722031352031323a30373a333220323032360e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e63075061636b6167650b686172626f7220312e3130'),
	('01a1fdfa-495c-78d8-91b7-164efb611bd3', '2026-11-21 12:00:00.86+00', '2026-04-19 12:10:35+00', '2026-04-19', false, 'deadbeef01', -7411738264728770193, '\xad782ecdac770fc6eb9a62e44f90873fb97fb26b', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', 'not', 'harbor', '', 'arm64', '', '', true, true, '\x01ed02f041075061636b61676514686172626f72206e6f7420612076657273696f6e0c4172636869746563747572650561726d36340a50726f63537461747573194e616d653a0909395c2d73796e630a5069643a0933330954726163656261636b6c150aa820286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f098b0552f04e222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a0b50726f626c656d547970650543726173680e45786563757461626c6550617468144e6300380d536f757263655061636b6167650609cfa804446174651853756e204170722031392031323a31303a3335203230323604546167731b6e6f626c6520700938902d66726f6d2d70726f706f736564124475706c69636174655369676e61747572650374776f'),
	('01a1fdfa-46c7-7436-8785-062a6e7a9533', '2026-11-21 12:00:00.199+00', '2026-06-16 12:52:05+00', '2026-06-16', true, '', NULL, '\xad782ecdac770fc6eb9a62e44f90873fb97fb26b', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '2:0.9', 'harbor', '', 'amd64', '', '', true, true, '\x01e502d40e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e630a50726f63537461747573194e616d653a09321d004069643a0933340954726163656261636b6c150a8420286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520224e6f00f074222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a044461746518547565204a756e2031362031323a35323a3035203230323604546167731b6e6f626c65207061636b6167652d66726f6d2d70726f706f736564075061636b6167650c09ef3020323a302e390d536f757263650d1b00060900ec124475706c69636174655369676e61747572650374776f0c41726368697465637475726505616d6436340b50726f626c656d54797065054372617368'),
	('01a1fdfa-46a9-7b71-8842-7a76838259a3', '2026-11-21 12:00:00.169+00', '2026-01-28 12:18:59+00', '2026-01-28', true, 'dog', -3646974585513546264, NULL, 'The traceback has no exception and frames in a known form.', '', 3, 'Crash', 'harbor-sync crashed with nothing known', '/usr/bin/harbor-sync', 'harbor', '1.10', 'harbor', 'Ubuntu 9.10 derivative', 'arm64', '', '', true, true, '\x019302f412010c4172636869746563747572650561726d36340a50726f63537461747573194e616d653a09686172626f722d73796e630a5069643a0933350954726163656261636b0d6e6f7468696e67206b6e6f776e044461746518576564204a616e2032382031323a31383a3539203230323604546167731b6e6f626c65207061636b6167652d66726f6d2d70726f706f7365640b50726f626c656d547970650543726173680e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e63075061636b6167650b686172626f7220312e31300d536f757263655061636b61676506686172626f720d44697374726f52656c65617365165562756e747520392e31302064657269766174697665'),
	('01a1fdfa-48ec-75fe-ac9c-cb0fd234474b', '2026-11-21 12:00:00.748+00', NULL, '2026-11-21', false, 'deadbeef01', -7411738264728770193, '\xb802f384302cb24fbab0a44997e820bf2e8507bb', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '', 'harbor', 'Ubuntu 24.04', 'amd64', '', '', true, true, '\x01df02280954726163656261636b6c150af09d20286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f686172626f722d73796e63222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a124475706c69636174655369676e61747572650574687265650b50726f626c656d547970650543726173680e45786563757461626c6550617468144e7c0020075061636b616765070914b4200d44697374726f52656c656173650c5562756e74752032342e30340a50726f63537461747573194e616d653a09093405c4500a5069643a09333604546167731b6e6f626c652070095b502d66726f6d2d70726f706f7365640d536f757263650d7700060900480c41726368697465637475726505616d643634'),
	('01a1fdfa-4992-75ec-b67d-df55c3141bc0', '2026-11-21 12:00:00.914+00', '2026-10-12 12:02:41+00', '2026-10-12', true, 'dog', -3646974585513546264, '\xad782ecdac770fc6eb9a62e44f90873fb97fb26b', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '2:0.9', 'harbor', 'Ubuntu 26.04', 'arm64', '', '', true, true, '\x018003f47f010b50726f626c656d547970650543726173680d536f757263655061636b61676506686172626f720d44697374726f52656c656173650c5562756e74752032362e30340c4172636869746563747572650561726d36340a50726f63537461747573194e616d653a09686172626f722d73796e630a5069643a0933370954726163656261636b6c54726163656261636b20286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f686172626f722d73796e63222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a0444617465184d6f6e204f63742031322031323a30323a343120323032360e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e63075061636b6167650c686172626f7220323a302e3904546167731b6e6f626c65207061636b6167652d66726f6d2d70726f706f736564124475706c69636174655369676e61747572650374776f'),
	('01a1fdfa-4781-729b-b395-f257b2bd3af5', '2026-11-21 12:00:00.385+00', '2026-09-03 12:29:52+00', '2026-09-03', true, 'cat', 8624243251692164259, '\x0ecf320a93475e8d81fcf2e44f5f690c49c8e085', '', 'traceback', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', 'not', 'harbor', 'Ubuntu 9.10 derivative', 'arm64', '', '', false, true, '\x01da02f0b10d536f757263655061636b61676506686172626f720d44697374726f52656c65617365165562756e747520392e313020646572697661746976650b50726f626c656d547970650543726173680e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e63075061636b61676514686172626f72206e6f7420612076657273696f6e0c4172636869746563747572650561726d36340a50726f63537461747573194e616d653a0909a3054d480a5069643a0933380954726163656261636b6c150a8420286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520224e9f00f04a222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a044461746518546875205365702020332031323a32393a35322032303236'),
	('01a1fdfa-469e-746d-a5db-5b54ff038814', '2026-11-21 12:00:00.158+00', '2026-05-27 12:56:24+00', '2026-05-27', true, 'dog', -3646974585513546264, '\xed6859e7042fb4541ad109d3988899c8b03879c8', '', 'duplicate-signature', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.10', 'harbor', '', 'amd64', '', '', false, true, '\x01d702f06d0c41726368697465637475726505616d643634124475706c69636174655369676e617475726517666f75720a6c696e6573202771756f74656427202534310a50726f63537461747573194e616d653a09686172626f722d73796e630a5069643a0933390954726163656261636b6c150aa820286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f1d5208222c200184f06520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a044461746518576564204d61792032372031323a35363a323420323032360b50726f626c656d547970650543726173680e45786563757461626c6550617468144e810020075061636b6167650b09e72c20312e31300d536f757263650d1a1806686172626f72'),
	('01a1fdfa-4600-7148-9463-a1724ad923a9', '2026-11-21 12:00:00+00', '2026-11-21 12:00:00+00', '2026-11-21', true, 'machine 0', 960314294414211506, '\x3eb5e260977a13d2b5e92517a4edb18ecf3b9114', '', 'traceback', 3, 'Crash', 'harbor-sync crashed with Error0 in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.0-1', 'harbor', 'Ubuntu 24.04', 'amd64', '', '', false, true, '\x01b102f0700a50726f63537461747573065069643a09300e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e630d536f757263655061636b61676506686172626f720d44697374726f52656c656173650c5562756e74752032342e30340954726163656261636b68150a8420286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520224e7a00f061222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a4572726f72303a206e6f0a044461746518536174204e6f762032312031323a30303a303020323032360b50726f626c656d54797065054372617368075061636b6167650c09e76020312e302d310c41726368697465637475726505616d643634'),
	('01a1fdfa-4600-76d2-86cd-01e2e8b56d97', '2026-11-21 12:00:00+00', '2026-11-21 12:00:00+00', '2026-11-21', true, 'machine 0', 960314294414211506, '\x585f1620d78fe7dfdce424a203b59e981ba59c13', '', 'traceback', 3, 'Crash', 'harbor-sync crashed with Error1 in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.0-1', 'harbor', 'Ubuntu 24.04', 'amd64', '', '', false, true, '\x01b102f43001044461746518536174204e6f762032312031323a30303a303020323032360e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e630d536f757263655061636b61676506686172626f720c41726368697465637475726505616d6436340954726163656261636b6854726163656261636b20286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f686172626f722d73796e63222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a4572726f72313a206e6f0a0b50726f626c656d54797065054372617368075061636b6167650c686172626f7220312e302d310d44697374726f52656c656173650c5562756e74752032342e30340a50726f63537461747573065069643a0931'),
	('01a1fdfa-4600-7aec-ab20-7434ba7122d3', '2026-11-21 12:00:00+00', '2026-11-21 12:00:00+00', '2026-11-21', true, 'machine 0', 960314294414211506, '\x20909a063b6845e6168427dbc1341585c9107850', '', 'traceback', 3, 'Crash', 'harbor-sync crashed with Error2 in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.0-1', 'harbor', 'Ubuntu 24.04', 'amd64', '', '', false, true, '\x01b102f05e0b50726f626c656d54797065054372617368075061636b6167650c686172626f7220312e302d310d44697374726f52656c656173650c5562756e74752032342e30340a50726f63537461747573065069643a09320954726163656261636b68150aa820286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f0978f05b2d73796e63222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a4572726f72323a206e6f0a044461746518536174204e6f762032312031323a30303a303020323032360e45786563757461626c6550617468144e6b00180d536f757263650dfd00060900480c41726368697465637475726505616d643634'),
	('01a1fdfa-4600-75ed-b778-0d18750a5007', '2026-11-21 12:00:00+00', '2026-11-21 12:00:00+00', '2026-11-21', true, 'machine 0', 960314294414211506, '\xa2677c6f29f00463517a4d5f56b26ade0199978c', '', 'traceback', 3, 'Crash', 'harbor-sync crashed with Error3 in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.0-1', 'harbor', 'Ubuntu 24.04', 'amd64', '', '', false, true, '\x01b102f0970e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e630d536f757263655061636b61676506686172626f720d44697374726f52656c656173650c5562756e74752032342e30340c41726368697465637475726505616d6436340a50726f63537461747573065069643a0933044461746518536174204e6f762032312031323a30303a30302032303236070d6d000c09004020312e302d310954726163656261636b68150a8420286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520224ed200e8222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a4572726f72333a206e6f0a0b50726f626c656d54797065054372617368'),
	('01a1fdfa-4600-7b34-b939-032fb604fe96', '2026-11-21 12:00:00+00', '2026-11-21 12:00:00+00', '2026-11-21', true, 'machine 0', 960314294414211506, '\xc0bbe80da45484ddfbb66d7af43af605e6b83a4a', '', 'traceback', 3, 'Crash', 'harbor-sync crashed with Error4 in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.0-1', 'harbor', 'Ubuntu 24.04', 'amd64', '', '', false, true, '\x01b102f43001075061636b6167650c686172626f7220312e302d310d536f757263655061636b61676506686172626f72044461746518536174204e6f762032312031323a30303a303020323032360b50726f626c656d547970650543726173680e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e630d44697374726f52656c656173650c5562756e74752032342e30340c41726368697465637475726505616d6436340a50726f63537461747573065069643a09340954726163656261636b6854726163656261636b20286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f686172626f722d73796e63222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a4572726f72343a206e6f0a'),
	('01a1fdfa-4600-7db7-bcb1-dc52b20bcff7', '2026-11-21 12:00:00+00', '2026-11-21 12:00:00+00', '2026-11-21', true, 'machine 0', 960314294414211506, '\x6e51a0881b233d187984c9704cea4c959707cc78', '', 'traceback', 3, 'Crash', 'harbor-sync crashed with Error5 in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.0-1', 'harbor', 'Ubuntu 24.04', 'amd64', '', '', false, true, '\x01b102f430010b50726f626c656d547970650543726173680d44697374726f52656c656173650c5562756e74752032342e30340954726163656261636b6854726163656261636b20286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f686172626f722d73796e63222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a4572726f72353a206e6f0a0e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e63075061636b6167650c686172626f7220312e302d310d536f757263655061636b61676506686172626f720c41726368697465637475726505616d6436340a50726f63537461747573065069643a0935044461746518536174204e6f762032312031323a30303a30302032303236'),
	('01a1fdfa-4600-754a-b0c4-61c5ff3ca967', '2026-11-21 12:00:00+00', '2026-11-21 12:00:00+00', '2026-11-21', true, 'machine 10', -4608406449694850073, '\x3eb5e260977a13d2b5e92517a4edb18ecf3b9114', '', 'traceback', 3, 'Crash', 'harbor-sync crashed with Error0 in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.0-1', 'harbor', 'Ubuntu 24.04', 'amd64', '', '', false, true, '\x01b102f430010a50726f63537461747573065069643a09300954726163656261636b6854726163656261636b20286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f686172626f722d73796e63222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a4572726f72303a206e6f0a044461746518536174204e6f762032312031323a30303a303020323032360b50726f626c656d547970650543726173680e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e63075061636b6167650c686172626f7220312e302d310d44697374726f52656c656173650c5562756e74752032342e30340d536f757263655061636b61676506686172626f720c41726368697465637475726505616d643634'),
	('01a1fdfa-4600-7951-bb06-f8c8b3180013', '2026-11-21 12:00:00+00', '2026-11-21 12:00:00+00', '2026-11-21', true, 'machine 11', -3860108620367732908, '\x3eb5e260977a13d2b5e92517a4edb18ecf3b9114', '', 'traceback', 3, 'Crash', 'harbor-sync crashed with Error0 in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.0-1', 'harbor', 'Ubuntu 24.04', 'amd64', '', '', false, true, '\x01b102f430010d44697374726f52656c656173650c5562756e74752032342e30340954726163656261636b6854726163656261636b20286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f686172626f722d73796e63222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a4572726f72303a206e6f0a044461746518536174204e6f762032312031323a30303a303020323032360b50726f626c656d547970650543726173680e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e630c41726368697465637475726505616d6436340a50726f63537461747573065069643a0930075061636b6167650c686172626f7220312e302d310d536f757263655061636b61676506686172626f72'),
	('01a1fdfa-4600-7ede-8cfe-b5575983f715', '2026-11-21 12:00:00+00', '2026-11-21 12:00:00+00', '2026-11-21', true, 'machine 12', -7520849527226039753, '\x3eb5e260977a13d2b5e92517a4edb18ecf3b9114', '', 'traceback', 3, 'Crash', 'harbor-sync crashed with Error0 in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.0-1', 'harbor', 'Ubuntu 24.04', 'amd64', '', '', false, true, '\x01b102e4075061636b6167650c686172626f7220312e302d31044461746518536174204e6f762032312031323a30303a303020323032360d536f757263650d3900060900f04a0d44697374726f52656c656173650c5562756e74752032342e30340c41726368697465637475726505616d6436340a50726f63537461747573065069643a09300954726163656261636b68150aa820286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f0985f04f2d73796e63222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a4572726f72303a206e6f0a0b50726f626c656d547970650543726173680e45786563757461626c6550617468144e5f00'),
	('01a1fdfa-4600-7026-9c78-257d29423361', '2026-11-21 12:00:00+00', '2026-11-21 12:00:00+00', '2026-11-21', true, 'machine 13', 5416793321232141871, '\x3eb5e260977a13d2b5e92517a4edb18ecf3b9114', '', 'traceback', 3, 'Crash', 'harbor-sync crashed with Error0 in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.0-1', 'harbor', 'Ubuntu 24.04', 'amd64', '', '', false, true, '\x01b1026c075061636b6167650c686172626f7220312e302d310d536f757263650d1b00060900bc0c41726368697465637475726505616d6436340a50726f63537461747573065069643a09300954726163656261636b68150aa820286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f096af04f2d73796e63222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a4572726f72303a206e6f0a0b50726f626c656d547970650543726173680e45786563757461626c6550617468144e5f00e00d44697374726f52656c656173650c5562756e74752032342e3034044461746518536174204e6f762032312031323a30303a30302032303236');
INSERT INTO public.reports_2026_11 VALUES
	('01a1fdfa-4600-7586-abd6-72d73e7b6471', '2026-11-21 12:00:00+00', '2026-11-21 12:00:00+00', '2026-11-21', true, 'machine', -4899342218789532909, '\x0ecf320a93475e8d81fcf2e44f5f690c49c8e085', '', 'traceback', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.0-1', 'harbor', 'Ubuntu 24.04', 'amd64', '', '', false, true, '\x01c002f0bd0b50726f626c656d547970650543726173680c41726368697465637475726505616d643634044461746518536174204e6f762032312031323a30303a303020323032360e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e63075061636b6167650c686172626f7220312e302d310d536f757263655061636b61676506686172626f720d44697374726f52656c656173650c5562756e74752032342e30340a50726f63537461747573114e616d653a091d62280954726163656261636b6c150a8420286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520224eac00b0222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a'),
	('01a1fdfa-4600-7f92-a0cf-b7c846bd6e7a', '2026-11-21 12:00:00+00', '2026-11-21 12:00:00+00', '2026-11-21', true, 'machine 1', -4554613533220127328, '\xb3ffb9c204d4eaee8e9913abc981a745e9f99f99', '', 'address', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.0-1', 'harbor', 'Ubuntu 24.04', 'amd64', '', '/usr/bin/tide:11:/usr/bin/tide+aa', false, true, '\x01f402f03e0b50726f626c656d547970650543726173680e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e63075061636b6167650c09145020312e302d310d536f757263655061636b61676506091bf0630d44697374726f52656c656173650c5562756e74752032342e30340c41726368697465637475726505616d6436340954726163656261636b6c54726163656261636b20286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520224ea200cc222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a1a537461636b74017240416464726573735369676e617475726521155d1c746964653a31313a321100d02b61610a50726f63537461747573085069643a09316161044461746518536174204e6f762032312031323a30303a30302032303236'),
	('01a1fdfa-4600-7bc6-a0b1-4b1bdf293dee', '2026-11-21 12:00:00+00', '2026-11-21 12:00:00+00', '2026-11-21', true, 'machine 2', -8552116761582013424, '\xea4a4b4e488cf5453743adcbabef3ced40d80498', '', 'stacktrace', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.0-1', 'harbor', 'Ubuntu 24.04', 'amd64', '', '/usr/bin/tide:11:/usr/bin/tide+aa', false, true, '\x01fe02f0710e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e630d536f757263655061636b61676506686172626f720d44697374726f52656c656173650c5562756e74752032342e30340c41726368697465637475726505616d6436340954726163656261636b6c150a8420286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520224e8d00f048222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a1a537461636b7472616365416464726573735369676e617475726521155d1c746964653a31313a321100542b61610b50726f626c656d54797065054372617368072d03000c09007c20312e302d310a50726f63537461747573125069643a0932616170617273653a019474044461746518536174204e6f762032312031323a30303a30302032303236'),
	('01a1fdfa-4600-75d0-a1a9-975c647906c2', '2026-11-21 12:00:00+00', '2026-11-21 12:00:00+00', '2026-11-21', true, 'machine 20', -326343477004963435, '\xe5b7700d5ec2cc402f94d9e6f29c67973b952660', '', 'stacktrace', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.0-1', 'harbor', 'Ubuntu 24.04', 'amd64', '', '/usr/bin/tide:11:/usr/bin/tide+bb', false, true, '\x018003f47f010d536f757263655061636b61676506686172626f720c41726368697465637475726505616d6436340b50726f626c656d547970650543726173680e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e63075061636b6167650c686172626f7220312e302d310d44697374726f52656c656173650c5562756e74752032342e30340a50726f63537461747573145069643a093230626277726974653a666c7573680954726163656261636b6c54726163656261636b20286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f686172626f722d73796e63222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a044461746518536174204e6f762032312031323a30303a303020323032361a537461636b7472616365416464726573735369676e6174757265212f7573722f62696e2f746964653a31313a2f7573722f62696e2f746964652b6262'),
	('01a1fdfa-4600-7dc4-8b5a-7e69d488e38b', '2026-11-21 12:00:00+00', '2026-11-21 12:00:00+00', '2026-11-21', true, 'machine 22', 607877347802521158, '\xe5b7700d5ec2cc402f94d9e6f29c67973b952660', '', 'stacktrace', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.0-1', 'harbor', 'Ubuntu 24.04', 'amd64', '', '/usr/bin/tide:11:/usr/bin/tide+bb', false, true, '\x018003f06c0b50726f626c656d54797065054372617368075061636b6167650c686172626f7220312e302d310d44697374726f52656c656173650c5562756e74752032342e30340a50726f63537461747573145069643a093232626277726974653a666c7573680954726163656261636b6c150aa820286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f0986f06b2d73796e63222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a044461746518536174204e6f762032312031323a30303a303020323032361a537461636b7472616365416464726573735369676e617475726521157b1c746964653a31313a321100482b62620e45786563757461626c6550617468144eac00180d536f757263652d4c00060900480c41726368697465637475726505616d643634'),
	('01a1fdfa-4600-711a-8944-16e6e207e6df', '2026-11-21 12:00:00+00', '2026-11-21 12:00:00+00', '2026-11-21', true, 'machine 24', -720505204335836334, '\xe5b7700d5ec2cc402f94d9e6f29c67973b952660', '', 'stacktrace', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.0-1', 'harbor', 'Ubuntu 24.04', 'amd64', '', '/usr/bin/tide:11:/usr/bin/tide+bb', false, true, '\x018003f0af0b50726f626c656d547970650543726173680c41726368697465637475726505616d6436340a50726f63537461747573145069643a093234626277726974653a666c757368044461746518536174204e6f762032312031323a30303a303020323032361a537461636b7472616365416464726573735369676e6174757265212f7573722f62696e2f746964653a31313a2f7573722f62696e2f746964652b62620e45786563757461626c65506174681415314c686172626f722d73796e63075061636b6167650c09143020312e302d310d536f757263650d1b00060900940d44697374726f52656c656173650c5562756e74752032342e30340954726163656261636b6c150a8420286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520224e8f00b0222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a'),
	('01a1fdfa-4600-71e7-a735-42db907ce095', '2026-11-21 12:00:00+00', '2026-11-21 12:00:00+00', '2026-11-21', true, 'machine 21', -8063888576249931513, '\x377cdfea17d7c7be6610e2ee0dce82162a25e3f4', '', 'stacktrace', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.0-1', 'harbor', 'Ubuntu 24.04', 'arm64', '', '/usr/bin/tide:11:/usr/bin/tide+bb', false, true, '\x018003f08b0d44697374726f52656c656173650c5562756e74752032342e30340a50726f63537461747573145069643a093231626277726974653a666c757368044461746518536174204e6f762032312031323a30303a30302032303236075061636b6167650c686172626f7220312e302d310c4172636869746563747572650561726d36340954726163656261636b6c150aa820286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f095ee02d73796e63222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a1a537461636b74017240416464726573735369676e617475726521155d1c746964653a31313a321100902b62620b50726f626c656d547970650543726173680e45786563757461626c655061746814153209fe05a0180d536f757263652d181806686172626f72'),
	('01a1fdfa-4600-74ec-8bd7-f1bd145d031f', '2026-11-21 12:00:00+00', '2026-11-21 12:00:00+00', '2026-11-21', true, 'machine 23', 3095481748005705659, '\x377cdfea17d7c7be6610e2ee0dce82162a25e3f4', '', 'stacktrace', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.0-1', 'harbor', 'Ubuntu 24.04', 'arm64', '', '/usr/bin/tide:11:/usr/bin/tide+bb', false, true, '\x018003f47f010b50726f626c656d54797065054372617368075061636b6167650c686172626f7220312e302d310d536f757263655061636b61676506686172626f720d44697374726f52656c656173650c5562756e74752032342e30340c4172636869746563747572650561726d36340954726163656261636b6c54726163656261636b20286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f686172626f722d73796e63222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a044461746518536174204e6f762032312031323a30303a303020323032361a537461636b7472616365416464726573735369676e6174757265212f7573722f62696e2f746964653a31313a2f7573722f62696e2f746964652b62620e45786563757461626c6550617468142f7573722f62696e2f686172626f722d73796e630a50726f63537461747573145069643a093233626277726974653a666c757368'),
	('01a1fdfa-4600-75d7-b030-ddadfc04050f', '2026-11-21 12:00:00+00', '2026-11-21 12:00:00+00', '2026-11-21', true, 'machine 25', -7409291755749674535, '\x377cdfea17d7c7be6610e2ee0dce82162a25e3f4', '', 'stacktrace', 3, 'Crash', 'harbor-sync crashed with ValueError in main(): no', '/usr/bin/harbor-sync', 'harbor', '1.0-1', 'harbor', 'Ubuntu 24.04', 'arm64', '', '/usr/bin/tide:11:/usr/bin/tide+bb', false, true, '\x018003f073075061636b6167650c686172626f7220312e302d310a50726f63537461747573145069643a093235626277726974653a666c7573680954726163656261636b6c54726163656261636b20286d6f737420726563656e742063616c6c206c617374293a0a202046696c6520222f7573722f62696e2f096be02d73796e63222c206c696e6520332c20696e206d61696e0a202020206c6f616428290a56616c75654572726f723a206e6f0a1a537461636b74017240416464726573735369676e617475726521155d1c746964653a31313a321100902b62620b50726f626c656d547970650543726173680e45786563757461626c6550617468141532290b05a0180d536f757263652d2500060900f04b0d44697374726f52656c656173650c5562756e74752032342e30340c4172636869746563747572650561726d3634044461746518536174204e6f762032312031323a30303a30302032303236');

INSERT INTO public.river_job VALUES
	(1, 'available', 0, 25, NULL, '2026-11-22 04:01:46.727893+00', NULL, '2026-11-22 04:01:46.727893+00', 1, '{"decision": 5}', NULL, NULL, 'split', '{}', 'slow', '{}', NULL, NULL),
	(2, 'scheduled', 0, 25, NULL, '2026-11-22 04:01:46.770824+00', NULL, '2026-11-22 04:01:51.770773+00', 1, '{"filing": 1}', NULL, NULL, 'filing', '{}', 'default', '{}', NULL, NULL),
	(3, 'scheduled', 0, 25, NULL, '2026-11-22 04:01:46.791024+00', NULL, '2026-11-22 04:01:51.791+00', 1, '{"filing": 2}', NULL, NULL, 'filing', '{}', 'default', '{}', NULL, NULL),
	(4, 'scheduled', 0, 25, NULL, '2026-11-22 04:01:46.796513+00', NULL, '2026-11-22 04:01:51.796492+00', 1, '{"filing": 3}', NULL, NULL, 'filing', '{}', 'default', '{}', NULL, NULL),
	(5, 'available', 0, 25, NULL, '2026-11-22 04:01:46.824821+00', NULL, '2026-11-22 04:01:46.824821+00', 1, '{"run": 1}', NULL, NULL, 'regroup', '{}', 'slow', '{}', NULL, NULL);

INSERT INTO public.river_migration VALUES
	('main', 1, '2026-11-22 03:48:15.74495+00'),
	('main', 2, '2026-11-22 03:48:15.749938+00'),
	('main', 3, '2026-11-22 03:48:15.760534+00'),
	('main', 4, '2026-11-22 03:48:15.762159+00'),
	('main', 5, '2026-11-22 03:48:15.766722+00'),
	('main', 6, '2026-11-22 03:48:15.778049+00'),
	('main', 7, '2026-11-22 03:48:15.780791+00'),
	('main', 8, '2026-11-22 03:48:15.786357+00');

INSERT INTO public.schema_version VALUES
	(10);

INSERT INTO public.split_sources VALUES
	('\xe5b7700d5ec2cc402f94d9e6f29c67973b952660', 5);

INSERT INTO public.unlinked_bugs VALUES
	('\x20909a063b6845e6168427dbc1341585c9107850', 9, 'linked', 'bob', '2026-11-22 04:01:46.803389+00', 'bob', '2026-11-22 04:01:46.808685+00');

INSERT INTO public.users OVERRIDING SYSTEM VALUE VALUES
	(1, 'bob', 'triager', '$argon2id$v=19$m=19456,t=2,p=1$UoDdfBMbuQVEzCXQcgFQ3Q$wiOqbFTufwFSrrmdsEpaAQvt0IYMUPJA2MH19H4WXX8', false, '2026-11-21 12:00:00+00', NULL, ''),
	(3, 'ada', 'admin', '$argon2id$v=19$m=19456,t=2,p=1$9EqZEadtk9EHNRevF1uhNw$+9K2o2p2eW5vNQQS/7ptsMaS91uN0EPT2MCeuh6LPZk', false, '2026-11-21 12:00:00+00', NULL, 'ada-lovelace'),
	(2, 'cleo', 'viewer', '$argon2id$v=19$m=19456,t=2,p=1$ambUmW470EygINo48bnuSg$6xGNjoaq/HQZSQKbTqaDg+OVTIhKlnlmIh1zArXfl6w', true, '2026-11-21 12:00:00+00', NULL, '');

SELECT pg_catalog.setval('public.api_tokens_id_seq', 1, true);

SELECT pg_catalog.setval('public.audit_events_id_seq', 24, true);

SELECT pg_catalog.setval('public.changes_id_seq', 37, true);

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

ALTER TABLE ONLY public.archive_facts
    ADD CONSTRAINT archive_facts_pkey PRIMARY KEY (kind, key);

ALTER TABLE ONLY public.audit_events
    ADD CONSTRAINT audit_events_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.bucket_bugs
    ADD CONSTRAINT bucket_bugs_pkey PRIMARY KEY (bucket_id, bug_number);

ALTER TABLE ONLY public.bucket_days
    ADD CONSTRAINT bucket_days_pkey PRIMARY KEY (bucket_id, day, release, version, architecture);

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

CREATE TRIGGER note_change AFTER INSERT OR DELETE OR UPDATE ON public.archive_facts FOR EACH ROW EXECUTE FUNCTION public.note_change();

CREATE TRIGGER note_change AFTER INSERT OR DELETE OR UPDATE ON public.bucket_bugs FOR EACH ROW EXECUTE FUNCTION public.note_change();

CREATE TRIGGER note_change AFTER INSERT OR DELETE OR UPDATE ON public.bug_states FOR EACH ROW EXECUTE FUNCTION public.note_change();

CREATE TRIGGER note_change AFTER INSERT OR DELETE OR UPDATE ON public.bugs FOR EACH ROW EXECUTE FUNCTION public.note_change();

CREATE TRIGGER note_change AFTER INSERT OR DELETE OR UPDATE ON public.decisions FOR EACH ROW EXECUTE FUNCTION public.note_change();

CREATE TRIGGER note_change AFTER INSERT OR DELETE OR UPDATE ON public.filings FOR EACH ROW EXECUTE FUNCTION public.note_change();

CREATE TRIGGER note_change AFTER INSERT OR DELETE OR UPDATE ON public.note_texts FOR EACH ROW EXECUTE FUNCTION public.note_change();

CREATE TRIGGER note_change AFTER INSERT OR DELETE OR UPDATE ON public.notes FOR EACH ROW EXECUTE FUNCTION public.note_change();

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
