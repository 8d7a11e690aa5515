-- The database schema as the migrations make it, for reading. Made by "make schema"; do not edit.
-- Left out are what others bring along: tern's table schema_version and the job queue's river_* tables.

CREATE TYPE occurrence AS (
	seen timestamp with time zone,
	version_key bytea,
	version text COLLATE pg_catalog."C"
);

CREATE TYPE package_version AS (
	key bytea,
	version text COLLATE pg_catalog."C"
);

CREATE TYPE release_seen AS (
	key text COLLATE pg_catalog."C",
	release text COLLATE pg_catalog."C"
);

CREATE TYPE version_seen AS (
	key bytea,
	release_key text COLLATE pg_catalog."C",
	version text COLLATE pg_catalog."C",
	release text COLLATE pg_catalog."C"
);

CREATE FUNCTION note_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
    insert into changes default values on conflict do nothing;
    return null;
end $$;

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
    CONSTRAINT api_tokens_hash_check CHECK ((length(hash) = 32))
);

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

CREATE TABLE audit_events (
    id bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    person text NOT NULL,
    action text NOT NULL,
    subject text NOT NULL,
    detail jsonb DEFAULT '{}'::jsonb NOT NULL
);

ALTER TABLE audit_events ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME audit_events_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE bucket_bugs (
    bucket_id bytea NOT NULL,
    bug_number bigint NOT NULL,
    how text NOT NULL,
    person text NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT bucket_bugs_how_check CHECK ((how = ANY (ARRAY['filed'::text, 'linked'::text])))
);

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

CREATE TABLE bucket_releases (
    bucket_id bytea NOT NULL,
    release text NOT NULL COLLATE pg_catalog."C",
    first_seen occurrence NOT NULL,
    last_seen occurrence NOT NULL,
    lowest_version package_version,
    highest_version package_version
)
WITH (fillfactor='80');

CREATE TABLE bucket_systems (
    bucket_id bytea NOT NULL,
    system bigint NOT NULL,
    release text NOT NULL,
    version text NOT NULL,
    reports bigint NOT NULL
);

CREATE TABLE bucket_travellers (
    bucket_id bytea NOT NULL,
    version text NOT NULL,
    system bigint NOT NULL,
    extra integer NOT NULL,
    CONSTRAINT bucket_travellers_extra_check CHECK ((extra > 0))
);

CREATE TABLE bucket_versions (
    bucket_id bytea NOT NULL,
    release text NOT NULL,
    version text NOT NULL,
    version_key bytea,
    reports bigint NOT NULL,
    systems bigint NOT NULL
)
WITH (fillfactor='80');

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

CREATE TABLE bug_comments (
    bug_number bigint NOT NULL,
    version text NOT NULL,
    bucket_id bytea NOT NULL,
    at timestamp with time zone NOT NULL,
    outcome text NOT NULL,
    words text DEFAULT ''::text NOT NULL,
    CONSTRAINT bug_comments_outcome_check CHECK ((outcome = ANY (ARRAY['sending'::text, 'sent'::text, 'refused'::text, 'unknown'::text])))
);

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

CREATE TABLE bug_templates (
    package text NOT NULL,
    problem_type text NOT NULL,
    body text NOT NULL,
    person text NOT NULL,
    changed timestamp with time zone NOT NULL
);

CREATE TABLE bug_watch (
    single boolean DEFAULT true NOT NULL,
    comment boolean DEFAULT false NOT NULL,
    changes_until timestamp with time zone,
    CONSTRAINT bug_watch_single_check CHECK (single)
);

CREATE TABLE bugs (
    number bigint NOT NULL,
    title text DEFAULT ''::text NOT NULL,
    url text NOT NULL
);

CREATE TABLE changes (
    id bigint NOT NULL,
    xact xid8 DEFAULT pg_current_xact_id() NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL
);

ALTER TABLE changes ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME changes_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE core_requests (
    report_id uuid NOT NULL,
    system text NOT NULL,
    requested timestamp with time zone DEFAULT now() NOT NULL,
    received timestamp with time zone
);

CREATE TABLE counting (
    single boolean DEFAULT true NOT NULL,
    round bigint NOT NULL,
    CONSTRAINT counting_single_check CHECK (single)
);

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

ALTER TABLE decisions ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME decisions_id_seq
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
    CONSTRAINT filing_attempts_action_check CHECK ((action = ANY (ARRAY['create'::text, 'search'::text, 'subscribe'::text])))
);

ALTER TABLE filing_attempts ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME filing_attempts_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE filing_writer (
    single boolean DEFAULT true NOT NULL,
    ended timestamp with time zone NOT NULL,
    rest interval NOT NULL,
    CONSTRAINT filing_writer_single_check CHECK (single)
);

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
    CONSTRAINT filings_check CHECK (((state = 'filed'::text) = (bug_number IS NOT NULL))),
    CONSTRAINT filings_check1 CHECK (((state <> 'filing'::text) OR ((unit IS NOT NULL) AND (claimed IS NOT NULL)))),
    CONSTRAINT filings_state_check CHECK ((state = ANY (ARRAY['queued'::text, 'filing'::text, 'uncertain'::text, 'filed'::text, 'refused'::text, 'abandoned'::text]))),
    CONSTRAINT filings_subscription_check CHECK ((subscription = ANY (ARRAY[''::text, 'due'::text, 'done'::text, 'failed'::text])))
);

ALTER TABLE filings ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME filings_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE follow_visits (
    user_id bigint NOT NULL,
    seen timestamp with time zone,
    last timestamp with time zone NOT NULL
);

CREATE TABLE followed (
    user_id bigint NOT NULL,
    kind text NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    since timestamp with time zone NOT NULL,
    CONSTRAINT followed_kind_check CHECK ((kind = ANY (ARRAY['package'::text, 'person'::text, 'set'::text])))
);

CREATE TABLE known_names (
    address_id bytea NOT NULL,
    bucket_id bytea NOT NULL,
    refused boolean DEFAULT false NOT NULL,
    fresh boolean DEFAULT true NOT NULL,
    CONSTRAINT known_names_address_id_check CHECK ((length(address_id) = 20))
);

CREATE TABLE note_texts (
    id bigint NOT NULL,
    note_id bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    person text NOT NULL,
    text text NOT NULL
);

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

ALTER TABLE notes ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME notes_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE oauth_credentials (
    tracker_url text NOT NULL,
    consumer_key text NOT NULL,
    token text NOT NULL,
    secret_sealed bytea NOT NULL,
    context text NOT NULL,
    person text NOT NULL,
    connected timestamp with time zone NOT NULL
);

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

CREATE TABLE package_versions (
    package text NOT NULL COLLATE pg_catalog."C",
    release text NOT NULL COLLATE pg_catalog."C",
    version text NOT NULL,
    version_key bytea NOT NULL,
    arrived timestamp with time zone NOT NULL,
    first_day date DEFAULT ((now() AT TIME ZONE 'utc'::text))::date NOT NULL
);

CREATE TABLE regroup_moves (
    run_id bigint NOT NULL,
    from_id bytea NOT NULL,
    to_id bytea NOT NULL,
    signature text NOT NULL,
    is_new boolean NOT NULL,
    reports bigint NOT NULL
);

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

CREATE TABLE release_days (
    day date NOT NULL,
    release text NOT NULL,
    architecture text NOT NULL,
    problem_type text NOT NULL,
    proposed boolean NOT NULL,
    reports bigint NOT NULL
)
WITH (fillfactor='80');

CREATE TABLE release_systems (
    release text NOT NULL,
    system bigint NOT NULL,
    from_day date NOT NULL,
    until_day date NOT NULL
)
WITH (fillfactor='80');

CREATE TABLE releases (
    release text NOT NULL
);

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

CREATE TABLE report_keys (
    key bytea NOT NULL,
    report_id uuid NOT NULL,
    CONSTRAINT report_keys_key_check CHECK ((length(key) = 16))
)
PARTITION BY RANGE (key);

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
    body bytea NOT NULL
)
PARTITION BY RANGE (received);
ALTER TABLE ONLY reports ALTER COLUMN body SET STORAGE EXTERNAL;

CREATE TABLE sessions (
    token text NOT NULL,
    data bytea NOT NULL,
    expiry timestamp with time zone NOT NULL,
    user_id bigint
);

CREATE TABLE sign_in_failures (
    key text NOT NULL,
    failures integer NOT NULL,
    last timestamp with time zone NOT NULL
);

CREATE TABLE split_sources (
    bucket_id bytea NOT NULL,
    decision_id bigint NOT NULL
);

CREATE TABLE uncounted (
    id uuid NOT NULL,
    stored timestamp with time zone DEFAULT now() NOT NULL,
    reports uuid[] NOT NULL
);

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

CREATE TABLE users (
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

ALTER TABLE users ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME users_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

ALTER TABLE ONLY api_tokens
    ADD CONSTRAINT api_tokens_pkey PRIMARY KEY (id);

ALTER TABLE ONLY applied_migrations
    ADD CONSTRAINT applied_migrations_pkey PRIMARY KEY (version);

ALTER TABLE ONLY archive_facts
    ADD CONSTRAINT archive_facts_pkey PRIMARY KEY (kind, key);

ALTER TABLE ONLY audit_events
    ADD CONSTRAINT audit_events_pkey PRIMARY KEY (id);

ALTER TABLE ONLY bucket_bugs
    ADD CONSTRAINT bucket_bugs_pkey PRIMARY KEY (bucket_id, bug_number);

ALTER TABLE ONLY bucket_days
    ADD CONSTRAINT bucket_days_pkey PRIMARY KEY (bucket_id, day, release, version, architecture, package_architecture);

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
    ADD CONSTRAINT bug_comments_pkey PRIMARY KEY (bug_number, version);

ALTER TABLE ONLY bug_states
    ADD CONSTRAINT bug_states_pkey PRIMARY KEY (number);

ALTER TABLE ONLY bug_templates
    ADD CONSTRAINT bug_templates_pkey PRIMARY KEY (package, problem_type);

ALTER TABLE ONLY bug_watch
    ADD CONSTRAINT bug_watch_pkey PRIMARY KEY (single);

ALTER TABLE ONLY bugs
    ADD CONSTRAINT bugs_pkey PRIMARY KEY (number);

ALTER TABLE ONLY changes
    ADD CONSTRAINT changes_pkey PRIMARY KEY (xact, at);

ALTER TABLE ONLY core_requests
    ADD CONSTRAINT core_requests_pkey PRIMARY KEY (report_id);

ALTER TABLE ONLY counting
    ADD CONSTRAINT counting_pkey PRIMARY KEY (single);

ALTER TABLE ONLY decisions
    ADD CONSTRAINT decisions_pkey PRIMARY KEY (id);

ALTER TABLE ONLY dropped_months
    ADD CONSTRAINT dropped_months_pkey PRIMARY KEY (month);

ALTER TABLE ONLY filing_attempts
    ADD CONSTRAINT filing_attempts_pkey PRIMARY KEY (id);

ALTER TABLE ONLY filing_writer
    ADD CONSTRAINT filing_writer_pkey PRIMARY KEY (single);

ALTER TABLE ONLY filings
    ADD CONSTRAINT filings_bucket_id_key UNIQUE (bucket_id);

ALTER TABLE ONLY filings
    ADD CONSTRAINT filings_pkey PRIMARY KEY (id);

ALTER TABLE ONLY follow_visits
    ADD CONSTRAINT follow_visits_pkey PRIMARY KEY (user_id);

ALTER TABLE ONLY followed
    ADD CONSTRAINT followed_pkey PRIMARY KEY (user_id, kind, name);

ALTER TABLE ONLY known_names
    ADD CONSTRAINT known_names_pkey PRIMARY KEY (address_id);

ALTER TABLE ONLY note_texts
    ADD CONSTRAINT note_texts_pkey PRIMARY KEY (id);

ALTER TABLE ONLY notes
    ADD CONSTRAINT notes_pkey PRIMARY KEY (id);

ALTER TABLE ONLY oauth_credentials
    ADD CONSTRAINT oauth_credentials_pkey PRIMARY KEY (tracker_url, consumer_key);

ALTER TABLE ONLY oauth_health
    ADD CONSTRAINT oauth_health_pkey PRIMARY KEY (tracker_url, consumer_key, token);

ALTER TABLE ONLY package_versions
    ADD CONSTRAINT package_versions_pkey PRIMARY KEY (package, release, version);

ALTER TABLE ONLY regroup_moves
    ADD CONSTRAINT regroup_moves_pkey PRIMARY KEY (run_id, from_id, to_id);

ALTER TABLE ONLY regroup_runs
    ADD CONSTRAINT regroup_runs_pkey PRIMARY KEY (id);

ALTER TABLE ONLY release_active
    ADD CONSTRAINT release_active_pkey PRIMARY KEY (release, day);

ALTER TABLE ONLY release_days
    ADD CONSTRAINT release_days_pkey PRIMARY KEY (day, release, architecture, problem_type, proposed);

ALTER TABLE ONLY release_systems
    ADD CONSTRAINT release_systems_pkey PRIMARY KEY (release, system, from_day);

ALTER TABLE ONLY releases
    ADD CONSTRAINT releases_pkey PRIMARY KEY (release);

ALTER TABLE ONLY report_days
    ADD CONSTRAINT report_days_pkey PRIMARY KEY (package, day, release, version, architecture, problem_type, proposed);

ALTER TABLE ONLY report_keys
    ADD CONSTRAINT report_keys_pkey PRIMARY KEY (key);

ALTER TABLE ONLY reports
    ADD CONSTRAINT reports_pkey PRIMARY KEY (received, id);

ALTER TABLE ONLY sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (token);

ALTER TABLE ONLY sign_in_failures
    ADD CONSTRAINT sign_in_failures_pkey PRIMARY KEY (key);

ALTER TABLE ONLY split_sources
    ADD CONSTRAINT split_sources_pkey PRIMARY KEY (bucket_id, decision_id);

ALTER TABLE ONLY uncounted
    ADD CONSTRAINT uncounted_pkey PRIMARY KEY (id);

ALTER TABLE ONLY unlinked_bugs
    ADD CONSTRAINT unlinked_bugs_pkey PRIMARY KEY (bucket_id, bug_number);

ALTER TABLE ONLY users
    ADD CONSTRAINT users_pkey PRIMARY KEY (id);

CREATE UNIQUE INDEX api_tokens_hash ON api_tokens USING btree (hash);

CREATE INDEX api_tokens_user ON api_tokens USING btree (user_id);

CREATE INDEX archive_facts_due ON archive_facts USING btree (next_read);

CREATE INDEX archive_facts_unread ON archive_facts USING btree (asked) WHERE (read IS NULL);

CREATE INDEX audit_events_subject ON audit_events USING btree (subject, at DESC);

CREATE INDEX bucket_bugs_at ON bucket_bugs USING btree (at);

CREATE INDEX bucket_bugs_number ON bucket_bugs USING btree (bug_number);

CREATE INDEX bucket_versions_version ON bucket_versions USING btree (version);

CREATE INDEX buckets_changed ON buckets USING btree (changed);

CREATE INDEX buckets_head ON buckets USING btree (head);

CREATE INDEX buckets_package ON buckets USING btree (package);

CREATE INDEX buckets_source_package ON buckets USING btree (source_package);

CREATE INDEX bug_states_due ON bug_states USING btree (next_read);

CREATE INDEX bug_states_master ON bug_states USING btree (duplicate_of) WHERE (duplicate_of IS NOT NULL);

CREATE INDEX decisions_bucket ON decisions USING btree (bucket_id);

CREATE UNIQUE INDEX decisions_merged ON decisions USING btree (bucket_id) WHERE ((kind = 'merged'::text) AND (undone_at IS NULL));

CREATE INDEX decisions_other ON decisions USING btree (other_id) WHERE (other_id IS NOT NULL);

CREATE UNIQUE INDEX decisions_split ON decisions USING btree (other_id) WHERE ((kind = 'split'::text) AND (undone_at IS NULL));

CREATE INDEX decisions_unfinished ON decisions USING btree (id) WHERE (NOT finished);

CREATE INDEX filing_attempts_filing ON filing_attempts USING btree (filing_id, id);

CREATE INDEX filings_ledger ON filings USING btree (created, id);

CREATE INDEX filings_line ON filings USING btree (created, id) WHERE (state = 'queued'::text);

CREATE INDEX filings_open ON filings USING btree (not_before) WHERE (state = ANY (ARRAY['queued'::text, 'filing'::text, 'uncertain'::text]));

CREATE INDEX filings_sending ON filings USING btree (id) WHERE (state = 'filing'::text);

CREATE INDEX filings_subscriptions ON filings USING btree (id) WHERE (subscription = 'due'::text);

CREATE INDEX known_names_fresh ON known_names USING btree (address_id) WHERE fresh;

CREATE INDEX note_texts_note ON note_texts USING btree (note_id, id);

CREATE INDEX notes_bucket ON notes USING btree (bucket_id);

CREATE INDEX package_versions_order ON package_versions USING btree (package, release, version_key DESC);

CREATE UNIQUE INDEX regroup_runs_running ON regroup_runs USING btree ((true)) WHERE (state = 'running'::text);

CREATE INDEX reports_bucket ON ONLY reports USING btree (bucket_id, received DESC, id DESC) WHERE (bucket_id IS NOT NULL);

CREATE INDEX reports_nameless ON ONLY reports USING btree (received DESC, id DESC) WHERE (system_key IS NULL);

CREATE INDEX reports_system ON ONLY reports USING btree (system_key, received DESC, id DESC) WHERE (system_key IS NOT NULL);

CREATE INDEX sessions_expiry ON sessions USING btree (expiry);

CREATE INDEX sessions_user ON sessions USING btree (user_id) WHERE (user_id IS NOT NULL);

CREATE UNIQUE INDEX users_name ON users USING btree (lower(name));

CREATE TRIGGER note_delete AFTER DELETE ON archive_facts FOR EACH ROW WHEN ((old.read IS NOT NULL)) EXECUTE FUNCTION note_change();

CREATE TRIGGER note_insert AFTER INSERT ON archive_facts FOR EACH ROW WHEN ((new.read IS NOT NULL)) EXECUTE FUNCTION note_change();

CREATE TRIGGER note_row AFTER INSERT OR DELETE ON bucket_bugs FOR EACH ROW EXECUTE FUNCTION note_change();

CREATE TRIGGER note_row AFTER INSERT OR DELETE ON bug_states FOR EACH ROW EXECUTE FUNCTION note_change();

CREATE TRIGGER note_row AFTER INSERT OR DELETE ON bugs FOR EACH ROW EXECUTE FUNCTION note_change();

CREATE TRIGGER note_row AFTER INSERT OR DELETE ON decisions FOR EACH ROW EXECUTE FUNCTION note_change();

CREATE TRIGGER note_row AFTER INSERT OR DELETE ON filings FOR EACH ROW EXECUTE FUNCTION note_change();

CREATE TRIGGER note_row AFTER INSERT OR DELETE ON note_texts FOR EACH ROW EXECUTE FUNCTION note_change();

CREATE TRIGGER note_row AFTER INSERT OR DELETE ON notes FOR EACH ROW EXECUTE FUNCTION note_change();

CREATE TRIGGER note_update AFTER UPDATE ON archive_facts FOR EACH ROW WHEN ((((to_jsonb(old.*) - '{read,asked,next_read,failures,failure}'::text[]) IS DISTINCT FROM (to_jsonb(new.*) - '{read,asked,next_read,failures,failure}'::text[])) OR ((old.read IS NULL) <> (new.read IS NULL)))) EXECUTE FUNCTION note_change();

CREATE TRIGGER note_update AFTER UPDATE ON bucket_bugs FOR EACH ROW WHEN ((old.* IS DISTINCT FROM new.*)) EXECUTE FUNCTION note_change();

CREATE TRIGGER note_update AFTER UPDATE ON bug_states FOR EACH ROW WHEN ((((to_jsonb(old.*) - '{read,next_read,failures}'::text[]) IS DISTINCT FROM (to_jsonb(new.*) - '{read,next_read,failures}'::text[])) OR ((old.read IS NULL) <> (new.read IS NULL)))) EXECUTE FUNCTION note_change();

CREATE TRIGGER note_update AFTER UPDATE ON bugs FOR EACH ROW WHEN ((old.* IS DISTINCT FROM new.*)) EXECUTE FUNCTION note_change();

CREATE TRIGGER note_update AFTER UPDATE ON decisions FOR EACH ROW WHEN ((old.* IS DISTINCT FROM new.*)) EXECUTE FUNCTION note_change();

CREATE TRIGGER note_update AFTER UPDATE ON filings FOR EACH ROW WHEN ((old.* IS DISTINCT FROM new.*)) EXECUTE FUNCTION note_change();

CREATE TRIGGER note_update AFTER UPDATE ON note_texts FOR EACH ROW WHEN ((old.* IS DISTINCT FROM new.*)) EXECUTE FUNCTION note_change();

CREATE TRIGGER note_update AFTER UPDATE ON notes FOR EACH ROW WHEN ((old.* IS DISTINCT FROM new.*)) EXECUTE FUNCTION note_change();

ALTER TABLE ONLY api_tokens
    ADD CONSTRAINT api_tokens_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE;

ALTER TABLE ONLY bucket_bugs
    ADD CONSTRAINT bucket_bugs_bug_number_fkey FOREIGN KEY (bug_number) REFERENCES bugs(number);

ALTER TABLE ONLY bug_comments
    ADD CONSTRAINT bug_comments_bug_number_fkey FOREIGN KEY (bug_number) REFERENCES bugs(number);

ALTER TABLE ONLY bug_states
    ADD CONSTRAINT bug_states_duplicate_of_fkey FOREIGN KEY (duplicate_of) REFERENCES bugs(number);

ALTER TABLE ONLY bug_states
    ADD CONSTRAINT bug_states_number_fkey FOREIGN KEY (number) REFERENCES bugs(number);

ALTER TABLE ONLY filing_attempts
    ADD CONSTRAINT filing_attempts_filing_id_fkey FOREIGN KEY (filing_id) REFERENCES filings(id);

ALTER TABLE ONLY filings
    ADD CONSTRAINT filings_bug_number_fkey FOREIGN KEY (bug_number) REFERENCES bugs(number);

ALTER TABLE ONLY follow_visits
    ADD CONSTRAINT follow_visits_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE;

ALTER TABLE ONLY followed
    ADD CONSTRAINT followed_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE;

ALTER TABLE ONLY note_texts
    ADD CONSTRAINT note_texts_note_id_fkey FOREIGN KEY (note_id) REFERENCES notes(id);

ALTER TABLE ONLY regroup_moves
    ADD CONSTRAINT regroup_moves_run_id_fkey FOREIGN KEY (run_id) REFERENCES regroup_runs(id);

ALTER TABLE ONLY sessions
    ADD CONSTRAINT sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE;

ALTER TABLE ONLY split_sources
    ADD CONSTRAINT split_sources_decision_id_fkey FOREIGN KEY (decision_id) REFERENCES decisions(id);

ALTER TABLE ONLY unlinked_bugs
    ADD CONSTRAINT unlinked_bugs_bug_number_fkey FOREIGN KEY (bug_number) REFERENCES bugs(number);
